/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private structures of the simulator. mu/sim/sim.c creates and runs it, mu/sim/turn.c gives turns
 * to tasks, mu/sim/spin.c preempts tasks that make no call, mu/sim/node.c is the MU of every node.
 *
 * Channel index: local task * channels per task + channel.
 */
#ifndef MU_SIM_STATE_H
#define MU_SIM_STATE_H

#include "emu/faults.h"
#include "emu/route.h"
#include "emu/world.h"
#include "mu/engine/pin.h"
#include "mu/sim/sim.h"
#include "mu/sim/spin.h"
#include "mu/vtime/vtask.h"

#define SIM_NONE UINT32_MAX

/*
 * Kinds of events of the simulator, and their ports at a node: at one time engines act before
 * routers, effects after them.
 */
enum {
	SIM_INJECT = EMU_WORLD_KINDS,
	SIM_RGET,
	SIM_EFFECT,
	SIM_RESUME,
	SIM_NODE,
	SIM_SIGNAL,
	SIM_STATUS,
	SIM_STORE,
	SIM_GONE,
	SIM_KILL,
	SIM_SERVE,
	SIM_LONG_PUT,
	SIM_SCRIPT
};
#define SIM_PORT_ENGINE 16   /* + engine number on the node, up to 2048 */
#define SIM_PORT_NODE   2080 /* + FIFO of the node */
#define SIM_PORT_SIGNAL 2120 /* + class route */
#define SIM_PORT_EFFECT 3000
#define SIM_PORT_STATUS 3100 /* + class route */
#define SIM_PORT_STORE  3200 /* + t */
#define SIM_PORT_KILL   3300 /* + t */
#define SIM_PORT_GONE   3400 /* + t */
#define SIM_PORT_SERVE  3500 /* + t */
#define SIM_PORT_SCRIPT 3600
#define SIM_PORT_RESUME 4032 /* + t */

enum sim_engine_state { SIM_ENGINE_IDLE, SIM_ENGINE_DUE, SIM_ENGINE_WAITS };

/* One injection engine: the descriptors of one FIFO that are pinned to it. */
struct sim_engine {
	uint64_t offset;  /* bytes of the descriptor at the head that have left */
	uint64_t free_at; /* time at which it can take the next packet */
	uint32_t packet;  /* a packet that the router has refused, or SIM_NONE */
	/* Next engine in the node's list of waiting engines: engine_id(), or SIM_WAITS_NODE | FIFO.
	 */
	uint32_t next;
	uint8_t state;
	unsigned char *stage; /* bytes of a message outside the segment that were read ahead */
	uint64_t stage_from;  /* position of its first byte in the message */
	uint32_t stage_bytes;
	/* Traced jobs: the packets of the descriptor at the head, and when the first one left. */
	struct sim_engine_trace {
		uint64_t since;
		uint32_t first, last, packets;
	} trace;
};

/*
 * The injection FIFO or the remote-get FIFO of a channel. Its descriptors go to several engines
 * (mu/engine/pin.h), each of which works in order; the head passes descriptors that are finished.
 */
#define SIM_SLOT_NONE 0xffffu
struct sim_fifo {
	struct sim_engine engine[MU_PINS];
	uint16_t first[MU_PINS], last[MU_PINS]; /* slots given to each engine, SIM_SLOT_NONE */
	uint16_t next[MU_INJ_SLOTS];
	uint8_t done[MU_INJ_SLOTS];
	uint32_t inside; /* slots given to engines that the head has not passed */
	uint32_t take;   /* the next slot to give to an engine */
};
_Static_assert(MU_INJ_SLOTS == MU_RGET_SLOTS, "one structure for both");

struct sim_channel {
	struct sim_fifo *fifo[2]; /* injection, remote gets; created at first use */
	struct drv_ring_tx tx;
	uint32_t spill_first, spill_last; /* list of packets that found the ring full, in order */
	uint32_t gets_first, gets_last;   /* list of remote gets that found their FIFO full */
	uint32_t rget_head, rget_tail;    /* descriptors, counting up */
	uint64_t *rget_when;              /* [MU_RGET_SLOTS] ready times; created at first use */
	/* rec_fifo=strict: ring lines of the packet that was refused last (0: none), and of those
	 * that were accepted and are not there yet. */
	uint32_t refused, coming;
};

/*
 * Bytes put into private memory of a task and not yet written there: one kernel call serves many
 * packets.
 */
struct sim_pending {
	uint64_t va;
	uint32_t bytes;
	uint32_t channel; /* its remote-get FIFO tells the initiator if the write fails */
	uint32_t source;  /* the task that put them, with its channel */
	uint32_t back;
	unsigned char *buffer; /* SIM_PENDING_BYTES; created at first use */
};
#define SIM_PENDING_BYTES 32768u

/* Errors of programs, counted for each task. */
enum sim_error {
	SIM_ERROR_DESCRIPTOR,
	SIM_ERROR_PAYLOAD,
	SIM_ERROR_GET,
	SIM_ERROR_PUT,
	SIM_ERROR_ROUTE,
	SIM_ERROR_RGET_PAYLOAD,
	SIM_ERROR_NOBODY,
	SIM_ERROR_ATOMIC,
	SIM_ERRORS
};

struct sim_task {
	uint8_t state;
	uint8_t t, gone;
	uint8_t dead;        /* it died before it detached; its engines read nothing any more */
	uint8_t news;        /* it is idle, and its next poll will find something */
	uint8_t how;         /* enum mu_task_end, as announced to the other tasks */
	uint16_t generation; /* generation of the RESUME event that is valid */
	uint32_t node, task;
	uint32_t direct;   /* events under way that will change its memory */
	uint32_t arriving; /* those of them that are packets */
	uint64_t now, resume_at;
	uint64_t poll, idle_since;
	uint64_t spilled; /* bitmap of channels with spilled packets */
	struct sim_pending pending;
	uint32_t errors[SIM_ERRORS];
	uint8_t blocked;     /* it is idle in a call that returns only after an event */
	uint8_t reads_clock; /* it is idle, and it has read the clock since its last poll */
	uint8_t is_in_loop;  /* IDLE: its polls are those of a loop that takes no messages */
	uint8_t syncs;       /* READY, but has no RESUME event: it waits for all tasks (turn.c) */
	struct sim_spin spin;
};

#define SIM_WAITS_NODE 0x80000000u

/* A store to a word that tasks of a node share, on its way to the L2. */
struct sim_store {
	struct mu_vt_store s;
	uint32_t local; /* the local task that stored */
	uint32_t next;  /* next free entry; SIM_NONE: the last */
};

struct sim_node {
	uint32_t waiting_first[EMU_INJECTIONS_ALL], waiting_last[EMU_INJECTIONS_ALL];
	struct sim_engine *fifo; /* [MU_NODE_FIFOS] FIFOs of the node; created at first use */
};

struct mu_sim {
	struct mu_host *host;
	struct mu_sim_conf conf;
	struct emu_world *world;
	struct emu_packet *pool;
	const struct emu_timing *timing;
	uint32_t locals, channels;
	struct sim_task *task;       /* [locals] */
	struct sim_channel *channel; /* [locals * channels] */
	struct sim_node *node;
	uint32_t *task_at; /* [nodes * T] local task, SIM_NONE */
	struct emu_route route;
	uint64_t now;
	uint32_t inside;     /* tasks that have joined and have not left */
	uint32_t idle;       /* those of them whose polls find nothing */
	uint32_t clock_idle; /* those of them that read the clock between polls */
	uint32_t syncing;    /* tasks inside that wait for all others */
	uint32_t engines;    /* engines that have something to do */
	struct sim_spins spins;
	uint32_t news;  /* number of idle tasks whose next poll will find something */
	uint64_t quiet; /* idle polls in a row while nothing was under way */
	uint64_t quiet_from_ns, deadlock_ns, deadlock_polls; /* real time; see is_deadlocked() */
	/* rec_fifo=strict: lines of a reception FIFO (0: it spills), FIFOs that refused a
	 * packet, and polls since the last event that was none. */
	uint32_t strict_lines, refusing;
	uint64_t polls_in_row;
	int unrepeatable;
	int signals; /* global interrupts are in use */
	int shares;  /* words that tasks of a node share are in use */
	struct emu_faults script;
	struct sim_store *store; /* [store_room] */
	uint32_t store_room, store_free;
	struct sim_long_put *long_put; /* records of mu/sim/long_put.c */
	uint32_t long_puts;            /* that were ever used */
	int world_class;               /* class route 0 is programmed */
	int error;
	uint64_t turns, spilled, errors, dropped;
	uint64_t check_at; /* ns */
	uint64_t task_ticks, all_ticks;
};

static inline struct mu_channel_area *sim_area(struct mu_sim *s, uint32_t channel)
{
	return mu_host_channel(s->host, channel / s->channels, channel % s->channels);
}

static inline void sim_task_set(struct sim_task *t, enum sim_task_state state)
{
	mu_turn_set(MU_TURN_TASK, &t->state, state, MU_TURN_BY_SIMULATOR);
}

/* Mark the task as not idle any more. */
static inline void sim_not_idle(struct mu_sim *s, struct sim_task *t)
{
	s->idle--;
	s->clock_idle -= t->reads_clock;
	s->news -= t->news;
	t->news = 0;
}

/* Resume the tasks that wait for all tasks if all are there. Call it when the number changes. */
void sim_sync_release(struct mu_sim *s);

static inline uint32_t sim_rget_room(const struct sim_channel *c)
{
	return MU_RGET_SLOTS - 1 - (c->rget_tail - c->rget_head);
}

/* sim/node.c */
/* Report that the injection FIFO of the channel may have new descriptors. */
void sim_inject_kick(struct mu_sim *s, uint32_t channel);
void sim_engine_event(struct mu_sim *s, const struct emu_event *e);
/* Report that the remote-get FIFO has new descriptors, from slot rget_tail - count on. */
void sim_rget_kick(struct mu_sim *s, uint32_t channel);
/* Report that FIFO `fifo` of a node may have new descriptors. */
void sim_node_kick(struct mu_sim *s, uint32_t node, unsigned fifo);
extern const struct emu_world_ops sim_world_ops, sim_world_strict_ops;

/*
 * sim/effect.c: the local task for whose memory or FIFO a packet is, or SIM_NONE. Sets *channel to
 * its channel (index in s->channel).
 */
/* mu/sim/trace.c: packet `number` of its node has left the engine. */
void sim_trace_packet(struct mu_sim *s, struct sim_engine *e, uint32_t number);
/* The engine is done with the descriptor at its head, in the injection FIFO of a channel. */
void sim_trace_descriptor(struct mu_sim *s, uint32_t channel, unsigned pin);
uint32_t sim_find_target(struct mu_sim *s, uint32_t node, const MUHWI_PacketHeader_t *h,
			 uint32_t *channel);

/* sim/strict.c: reception FIFOs that hold the network up when they are full. */
void sim_strict_init(struct mu_sim *s);
bool sim_accepts(void *arg, uint32_t node, uint32_t packet);
/* An accepted packet has arrived in its ring. */
void sim_strict_arrived(struct mu_sim *s, uint32_t channel, const struct emu_packet *p);
/* The task may have taken packets. */
void sim_strict_retry(struct mu_sim *s, uint32_t local);
/* True if packets wait for full FIFOs and nothing but polls has happened for long. */
bool sim_strict_is_stuck(const struct mu_sim *s);
/* Log which packet waits for which, round the circle if there is one. */
void sim_strict_log(struct mu_sim *s);

/* sim/coll.c */
/*
 * Program class route 0 on all nodes, as the kernel leaves it. This happens at its first use, since
 * it needs routers.
 */
void sim_set_world_class(struct mu_sim *s);
/* Carry out the requests of a task to its node: bits of mu_vt_area.node_dirty. */
void sim_node_requests(struct mu_sim *s, uint32_t local, uint64_t dirty);
void sim_gi_status(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now);
void sim_signal_event(struct mu_sim *s, const struct emu_event *e);
void sim_status_event(struct mu_sim *s, const struct emu_event *e);

/* sim/store.c */
void sim_store_requests(struct mu_sim *s, uint32_t local, struct mu_vt_area *vt);
void sim_store_event(struct mu_sim *s, const struct emu_event *e);

/* sim/effect.c */
void sim_on_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t when);
void sim_effect_event(struct mu_sim *s, const struct emu_event *e);
/* Deliver a packet to a reception FIFO. Returns 1 if the packet stays in use, on a list. */
int sim_effect_fifo(struct mu_sim *s, uint32_t channel, uint32_t packet);
/* Write the bytes of a put, at once or later; puts to consecutive addresses become one write. */
int sim_put_write(struct mu_sim *s, uint32_t channel, uint64_t to, const struct emu_packet *p);
/* Append descriptors to a remote-get FIFO, which has room. */
void sim_rget_append(struct mu_sim *s, uint32_t channel, const unsigned char *desc, uint32_t count);
/*
 * sim_count_error() counts an error of a program and logs the first of each kind of each task.
 * sim_log_errors() logs how many there were of those of which only the first was logged.
 * sim_report_access_error() reports to channel `number` of the node at `coords`, with a message of
 * `channel`, that memory it named does not exist; answer as for mu_access_error_desc().
 */
void sim_count_error(struct mu_sim *s, uint32_t local, enum sim_error what, int rc);
void sim_log_errors(const struct mu_sim *s);
void sim_report_access_error(struct mu_sim *s, uint32_t channel, uint32_t coords, unsigned number,
			     const MUHWI_PacketHeader_t *answer, int rc);
/* Write the pending bytes of a task. Call before it runs and before its memory is read. */
void sim_write_pending_slow(struct mu_sim *s, uint32_t local);
static inline void sim_write_pending(struct mu_sim *s, uint32_t local)
{
	if (s->task[local].pending.bytes)
		sim_write_pending_slow(s, local);
}
/* Move spilled packets into the rings of a task. Returns their number. */
unsigned sim_refill(struct mu_sim *s, uint32_t local);

/*
 * sim/memory.c: access to the memory of a task by its virtual addresses. Returns 0, -EFAULT,
 * -ESHUTDOWN or -EPERM.
 */
int sim_read(struct mu_sim *s, uint32_t local, void *to, uint64_t va, uint64_t bytes);
int sim_write(struct mu_sim *s, uint32_t local, uint64_t va, const void *from, uint64_t bytes);
/* Carry out a store with an operation (MUHWI_ATOMIC_OPCODE_STORE_...) on an 8-byte word. */
int sim_atomic(struct mu_sim *s, uint32_t local, uint64_t va, unsigned op, uint64_t value);
/* Carry out a load with an operation. *value becomes the previous value of the word. */
int sim_atomic_load(struct mu_sim *s, uint32_t local, uint64_t va, unsigned op, uint64_t *value);

/* sim/access.c: as in struct emu_directory_conf. */
void sim_access_expect(void *arg, uint32_t task, int change);
enum emu_arrival sim_access(void *arg, uint32_t task, uint64_t lease, struct emu_packet *p);

/* Let a packet with an access be its answer, from task `owner`. */
void sim_address_answer(struct mu_sim *s, struct emu_packet *p, uint32_t owner);

/*
 * sim/long_put.c: puts of several packets by the unit. sim_long_put_open() pins the block in *l and
 * makes a remote get of the packet; false: software carries out the put. sim_long_put_data() takes
 * a packet of such a put; it returns 1 if the packet stays in use. sim_long_put_fail() makes it one
 * whose bytes could not be read.
 */
bool sim_long_put_open(struct mu_sim *s, uint32_t local, uint64_t lease, struct emu_lease *l,
		       struct emu_packet *p);
bool sim_is_long_put(const MUHWI_PacketHeader_t *h);
void sim_long_put_fail(MUHWI_PacketHeader_t *h);
int sim_long_put_data(struct mu_sim *s, uint32_t node, uint32_t channel, uint32_t packet);
/* All have learnt that a source has ended; a task has left. */
void sim_long_put_death(struct mu_sim *s, uint32_t task);
void sim_long_put_event(struct mu_sim *s, const struct emu_event *e);
void sim_long_put_leave(struct mu_sim *s, uint32_t local);

/* sim/death.c */
/* Give the task no more turns. */
void sim_leave(struct mu_sim *s, uint32_t local);
/* Let the other tasks learn that the task has ended. Only the first call has an effect. */
void sim_announce_end(struct mu_sim *s, uint32_t local, enum mu_task_end how);
void sim_gone_event(struct mu_sim *s, const struct emu_event *e);
void sim_kill_event(struct mu_sim *s, const struct emu_event *e);
/* script.c */
/* Read the script before the world is made; push its events after it. 0 or an error, logged. */
int sim_script_read(struct mu_sim *s, const char *text);
int sim_script_start(struct mu_sim *s);
void sim_script_event(struct mu_sim *s, const struct emu_event *e);
void sim_report_cut_pair(struct mu_sim *s, uint32_t node, const struct emu_packet *p);

/* sim/turn.c */
int sim_join_all(struct mu_sim *s);
/* Memory of the task has changed. If its polls find nothing, let it poll again. */
void sim_wake(struct mu_sim *s, uint32_t local);
/* True if only idle polls are left: the tasks wait for one that spins, or for each other. */
int sim_is_nothing_under_way(const struct mu_sim *s);
/* Carry out the requests that the task, or its stand-in thread, has written into its area. */
void sim_take_requests(struct mu_sim *s, uint32_t local);
void sim_resume_at(struct mu_sim *s, uint32_t local, uint64_t time);
/* Return the CPU time of the process of a task in ns, or 0 if it cannot be read. */
uint64_t sim_cpu_ns(struct mu_sim *s, uint32_t local);
enum sim_waited { SIM_CHANGED, SIM_ENDED, SIM_STOPPED, SIM_BURNED };
/*
 * Wait while *word is `value`; until the task has ended; until check() returns other than 0
 * (*stop); or until the task has used `burn_ns` of CPU time meanwhile (0: no limit).
 */
enum sim_waited sim_wait_while(struct mu_sim *s, uint32_t local, uint32_t *word, uint32_t value,
			       uint64_t burn_ns, int *stop);
/*
 * sim/spin.c: wait until the task hands over, or is preempted because it waits in a loop for its
 * memory or makes no call for long (SIM_BURNED).
 */
enum sim_waited sim_spin_wait_turn(struct mu_sim *s, uint32_t local, int *stop);
/* Run the task until it hands over. Returns 0, the result of check(), or -EDEADLK. */
int sim_run_turn(struct mu_sim *s, const struct emu_event *e);

static inline pid_t sim_process(const struct mu_sim *s, uint32_t local)
{
	return (pid_t)atomic_load_relaxed(&mu_host_area(s->host, local)->pid);
}

/* Note that something happened at `when` to a task that may spin. */
static inline void sim_spin_touch(struct mu_sim *s, uint32_t local, uint64_t when, unsigned what)
{
	if (s->spins.tasks)
		sim_spin_touch_slow(s, local, when, what);
}

#endif
