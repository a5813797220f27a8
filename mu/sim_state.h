/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private structures of the simulator. mu/sim.c makes and runs it, mu/sim_turn.c hands turns to
 * tasks, mu/sim_spin.c takes them from those that do not call, mu/node_sim.c is the MU of every node.
 *
 * Channel index: local task * channels per task + channel.
 */
#ifndef MU_SIM_STATE_H
#define MU_SIM_STATE_H

#include "emu/route.h"
#include "emu/world.h"
#include "mu/sim.h"
#include "mu/vtask.h"

#define SIM_NONE UINT32_MAX

/* Events of ours and their ports at a node: engines act before the routers step, effects after. */
enum { SIM_INJECT = EMU_WORLD_KINDS, SIM_RGET, SIM_EFFECT, SIM_RESUME, SIM_NODE, SIM_SIGNAL, SIM_STATUS,
       SIM_STORE, SIM_GONE, SIM_KILL, SIM_SERVE };
#define SIM_PORT_ENGINE 16 /* + engine number on the node, up to 2048 */
#define SIM_PORT_NODE   2080 /* + FIFO of the node */
#define SIM_PORT_SIGNAL 2120 /* + class route */
#define SIM_PORT_EFFECT 3000
#define SIM_PORT_STATUS 3100 /* + class route */
#define SIM_PORT_STORE  3200 /* + t */
#define SIM_PORT_KILL   3300 /* + t */
#define SIM_PORT_GONE   3400 /* + t */
#define SIM_PORT_SERVE  3500 /* + t */
#define SIM_PORT_RESUME 4032 /* + t */

enum sim_engine_state { SIM_ENGINE_IDLE, SIM_ENGINE_DUE, SIM_ENGINE_WAITS };

/* One injection engine: descriptors of one FIFO that are pinned to it. */
struct sim_engine {
	uint64_t offset;  /* bytes of the descriptor at the head that have left */
	uint64_t free_at; /* when it can take the next packet */
	uint32_t packet;  /* made, and refused by the router; SIM_NONE */
	uint32_t next;    /* in its node's list of waiting engines: see engine_id(), or SIM_WAITS_NODE | FIFO */
	uint8_t state;
	unsigned char *stage; /* what was read ahead of a message outside the segment */
	uint64_t stage_from;  /* its first byte is this byte of the message */
	uint32_t stage_bytes;
};

/*
 * A channel's injection FIFO or its remote-get FIFO. The chip's software pins destinations to ten FIFOs, one a
 * direction, and others to the own node (spec/mu.md 13.3); here a channel has one, whose descriptors go to as many
 * engines by the same rule. Each is strictly in order; the FIFO's head passes those that are done.
 */
#define SIM_PINS      11u
#define SIM_PIN_LOCAL 10u
#define SIM_SLOT_NONE 0xffffu
struct sim_fifo {
	struct sim_engine engine[SIM_PINS];
	uint16_t first[SIM_PINS], last[SIM_PINS]; /* slots given to each, SIM_SLOT_NONE */
	uint16_t next[MU_INJ_SLOTS];
	uint8_t done[MU_INJ_SLOTS];
	uint32_t inside; /* slots given and not passed by the head */
	uint32_t take;   /* the next slot to give */
};
_Static_assert(MU_INJ_SLOTS == MU_RGET_SLOTS, "one structure for both");

struct sim_channel {
	struct sim_fifo *fifo[2]; /* injection, remote gets; made when first used */
	struct drv_ring_tx tx;
	uint32_t spill_first, spill_last; /* packets that found the ring full, in order */
	uint32_t gets_first, gets_last;   /* remote gets that found their FIFO full */
	uint32_t rget_head, rget_tail;    /* descriptors, counting up */
	uint64_t *rget_when;              /* [MU_RGET_SLOTS] ready times; made when first used */
};

enum sim_task_state {
	SIM_TASK_OUT,
	SIM_TASK_READY,
	SIM_TASK_RUNS,
	SIM_TASK_SPINS, /* runs, and seems to wait for memory to change: the others go on */
	SIM_TASK_IDLE,
	SIM_TASK_LEFT,
};

/* Bytes put into a task's private memory and not written there yet: one kernel call for many packets. */
struct sim_pending {
	uint64_t va;
	uint32_t bytes;
	uint32_t channel;     /* whose remote-get FIFO tells the initiator if they cannot be written */
	uint32_t source;      /* task that put them, and its channel */
	uint32_t back;
	unsigned char *buffer; /* SIM_PENDING_BYTES; made when first used */
};
#define SIM_PENDING_BYTES 32768u

/* What programs do wrong. */
enum sim_fault { SIM_FAULT_DESCRIPTOR, SIM_FAULT_PAYLOAD, SIM_FAULT_GET, SIM_FAULT_PUT, SIM_FAULT_ROUTE,
	         SIM_FAULT_RGET_PAYLOAD, SIM_FAULT_NOBODY, SIM_FAULTS };

struct sim_task {
	uint8_t state;
	uint8_t t, gone;
	uint8_t dead;        /* it ended before it left: its engines read nothing any more */
	uint8_t news;        /* it polls in vain, but will find something */
	uint8_t how;         /* enum mu_task_end, as the others are told */
	uint16_t generation; /* of the RESUME event that counts */
	uint32_t node, task;
	uint32_t direct;     /* events under way that touch its memory by themselves */
	uint32_t arriving;   /* of these, packets */
	uint64_t now, resume_at;
	uint64_t poll, idle_since;
	uint64_t spilled;    /* channels with spilled packets */
	struct sim_pending pending;
	uint32_t faults[SIM_FAULTS];
	/* Of one that does not call for long (sim_spin.c). */
	uint8_t touched;     /* SIM_TOUCH_... */
	uint8_t unseen;      /* packets of a long put that it was not given time to notice */
	uint8_t serving;     /* the thread that stands in for them is not done: it sleeps on something of the program's */
	uint8_t again_due;   /* a SIM_SERVE event is under way */
	uint8_t spun_well;   /* it was once rightly taken to wait for its memory */
	uint8_t computes;    /* once wrongly */
	uint8_t told;
	uint8_t reads_clock; /* where it polls in vain: others than messages end that, too */
	uint8_t sampled;     /* what memory it uses is being found out */
	uint32_t again;      /* times it was served in a row though nothing came */
	uint32_t unanswered; /* messages for channels that nobody serves */
	uint64_t touched_at;
	uint64_t spin_from;  /* CPU time, ns, when it was taken to spin */
};

#define SIM_WAITS_NODE 0x80000000u

/* A store to a word that tasks of a node share, on its way to the L2. */
struct sim_store {
	struct mu_vt_store s;
	uint32_t local; /* who stored */
	uint32_t next;  /* free ones; SIM_NONE ends */
};

struct sim_node {
	uint32_t waiting_first[EMU_INJECTIONS_ALL], waiting_last[EMU_INJECTIONS_ALL];
	struct sim_engine *fifo; /* [MU_NODE_FIFOS] of the node; made when first used */
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
	uint32_t *task_at;           /* [nodes * T] local task, SIM_NONE */
	struct emu_route route;
	uint64_t now;
	uint32_t inside;   /* tasks that have joined and not left */
	uint32_t idle;     /* of these, those that poll in vain */
	uint32_t engines;  /* that have something to do */
	uint32_t spinning; /* tasks in that state */
	uint32_t touched;  /* of these */
	uint32_t news;     /* idle tasks that will find something */
	uint32_t quiet;    /* idle polls in a row while nothing at all was under way */
	int unrepeatable;
	int signals;       /* global interrupts are in use */
	int shares;        /* so are words that tasks of a node share */
	struct sim_store *store; /* [store_room] */
	uint32_t store_room, store_free;
	int world_class;   /* class route 0 is programmed */
	int error;
	uint64_t turns, spilled, faults, dropped;
	uint64_t spin_ns, spin_limit_ns;
	uint64_t check_at;           /* ns */
	uint64_t task_ticks, all_ticks;
};

static inline struct mu_channel_area *sim_area(struct mu_sim *s, uint32_t channel)
{
	return mu_host_channel(s->host, channel / s->channels, channel % s->channels);
}

/* It polls in vain no more. */
static inline void sim_not_idle(struct mu_sim *s, struct sim_task *t)
{
	s->idle--;
	s->news -= t->news;
	t->news = 0;
}

static inline uint32_t sim_rget_room(const struct sim_channel *c)
{
	return MU_RGET_SLOTS - 1 - (c->rget_tail - c->rget_head);
}

/* node_sim.c */
/* The channel's injection FIFO may have new descriptors. */
void sim_inject_kick(struct mu_sim *s, uint32_t channel);
void sim_engine_event(struct mu_sim *s, const struct emu_event *e);
/* The channel's remote-get FIFO has new descriptors, from slot rget_tail - count on. */
void sim_rget_kick(struct mu_sim *s, uint32_t channel);
/* FIFO `fifo` of a node may have new descriptors. */
void sim_node_kick(struct mu_sim *s, uint32_t node, unsigned fifo);
extern const struct emu_world_ops sim_world_ops;

/* sim_coll.c */
/* What a task did to its node's area: bits of mu_vt_area.node_dirty. */
void sim_node_requests(struct mu_sim *s, uint32_t local, uint64_t dirty);
void sim_gi_status(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now);
void sim_signal_event(struct mu_sim *s, const struct emu_event *e);
void sim_status_event(struct mu_sim *s, const struct emu_event *e);

/* sim_store.c */
void sim_store_requests(struct mu_sim *s, uint32_t local, struct mu_vt_area *vt);
void sim_store_event(struct mu_sim *s, const struct emu_event *e);

/* sim_effect.c */
void sim_on_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t when);
void sim_effect_event(struct mu_sim *s, const struct emu_event *e);
/* Append descriptors to a remote-get FIFO; there is room. */
void sim_rget_append(struct mu_sim *s, uint32_t channel, const unsigned char *desc, uint32_t count);
/* Count something a program did wrong, and log the first of its kind of each task; and tell channel `number` of the node at `coords`
 * that memory it named was not there, with a message of `channel`. */
void sim_fault(struct mu_sim *s, uint32_t local, enum sim_fault what, int rc);
void sim_faults_say(const struct mu_sim *s); /* how many, where only the first was logged */
void sim_fault_tell(struct mu_sim *s, uint32_t channel, uint32_t coords, unsigned number, int rc);
/* Write what is pending for a task: before it runs, or its memory is read. */
void sim_settle_slow(struct mu_sim *s, uint32_t local);
static inline void sim_settle(struct mu_sim *s, uint32_t local)
{
	if (s->task[local].pending.bytes)
		sim_settle_slow(s, local);
}
/* Move spilled packets into the rings of a task; returns how many. */
unsigned sim_refill(struct mu_sim *s, uint32_t local);

/* sim_memory.c: memory of a task, by its virtual addresses. 0 or -EFAULT, -ESHUTDOWN, -EPERM. */
int sim_read(struct mu_sim *s, uint32_t local, void *to, uint64_t va, uint64_t bytes);
int sim_write(struct mu_sim *s, uint32_t local, uint64_t va, const void *from, uint64_t bytes);
/* A store with an operation (MUHWI_ATOMIC_OPCODE_STORE_...) on an 8-byte word. */
int sim_atomic(struct mu_sim *s, uint32_t local, uint64_t va, unsigned op, uint64_t value);
/* A load with an operation; *value is what was there before. */
int sim_atomic_load(struct mu_sim *s, uint32_t local, uint64_t va, unsigned op, uint64_t *value);

/* sim_gone.c */
/* The task takes no more turns. */
void sim_leave(struct mu_sim *s, uint32_t local);
/* Have the others told that it is gone; once. */
void sim_gone_tell(struct mu_sim *s, uint32_t local, enum mu_task_end how);
void sim_gone_event(struct mu_sim *s, const struct emu_event *e);
void sim_kill_event(struct mu_sim *s, const struct emu_event *e);
int sim_script(struct mu_sim *s, const char *text);

/* sim_turn.c */
int sim_join_all(struct mu_sim *s);
/* Something in the task's memory changed now: if it polls in vain, have it look. */
void sim_wake(struct mu_sim *s, uint32_t local);
/* True if only idle polls are left, of tasks that wait for one that spins or for each other. */
int sim_nothing_under_way(const struct mu_sim *s);
/* What the task, or the thread that stands in for its commthreads, wrote into its area. */
void sim_requests(struct mu_sim *s, uint32_t local);
void sim_resume_at(struct mu_sim *s, uint32_t local, uint64_t time);
/* CPU time of a task's process, ns; 0 if it cannot be read. */
uint64_t sim_cpu_ns(struct mu_sim *s, uint32_t local);
enum sim_waited { SIM_CHANGED, SIM_ENDED, SIM_STOPPED, SIM_BURNED };
/*
 * Wait while *word is `value`; until the task is gone; until check() says stop (*stop); or until the
 * task has burned `burn_ns` of CPU time meanwhile (0: however long it takes).
 */
enum sim_waited sim_wait_while(struct mu_sim *s, uint32_t local, uint32_t *word, uint32_t value, uint64_t burn_ns,
                               int *stop);
/* Its turn: run it until it hands over. Not 0: what check() said, or -EDEADLK. */
int sim_turn(struct mu_sim *s, const struct emu_event *e);

/* sim_spin.c; results as sim_turn(). */
/* CPU time without a call after which a task is taken to spin. */
uint64_t sim_spin_ns(const struct mu_sim *s, uint32_t local);
/* Take the turn from a task that burned so much. Returns 0 if it is in a call: it goes on having it. */
int sim_spin_begin(struct mu_sim *s, uint32_t local);
/* Something happened to it at `when`: if it spins, sim_spin_touched() has it served, and gives it time to notice. */
enum { SIM_TOUCH_COMES = 1, /* something for its commthreads */ SIM_TOUCH_CHANGES = 2 /* or for its own eyes */ };
void sim_touch_slow(struct mu_sim *s, uint32_t local, uint64_t when, unsigned what);
static inline void sim_touch(struct mu_sim *s, uint32_t local, uint64_t when, unsigned what)
{
	if (s->spinning)
		sim_touch_slow(s, local, when, what);
}
/* A packet has done what it does to a task; what: of the two above; 0: more of its kind are under way. */
void sim_spin_packet(struct mu_sim *s, uint32_t local, unsigned what);
int sim_spin_touched(struct mu_sim *s);
/* Nothing is under way but the polls of some that look at the clock: has enough time been given to who may compute? */
int sim_spin_overdue(struct mu_sim *s);
/* Tasks that spun and came back by themselves; block: wait a little for each. */
int sim_spin_late(struct mu_sim *s, int block);
void sim_serve_event(struct mu_sim *s, const struct emu_event *e);
/* The thread that stands in for its commthreads slept on something of the program's: it goes on, if it can. */
int sim_serve_rest(struct mu_sim *s, uint32_t local);

#endif
