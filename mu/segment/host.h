/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host segment: one memfd for each host and job. The agent (or simulator) creates it, the tasks
 * inherit it and map it (map.c) at any address. It is sparse, and contains offsets, never pointers.
 *
 *   0             struct mu_host        facts of the job, written by the agent before tasks start
 *   tasks_at      struct mu_task_entry  for each task of the job: coordinates, host
 *   announced_at  words                 for each task of the job: what it announces to all others
 *                                       (mu_announce())
 *   areas_at      task areas            for each local task: struct mu_task_area, then its channels
 *   outbound_at   ring                  records for other hosts, where the agent holds the port
 *   routers_at    routers               routers, links, packet pool (fabric torus, real clock):
 *                                       emu/live.h
 *   traffic_at    struct mu_traffic     what each channel sent to each node (fabric express, real
 *                                       clock)
 *   nodes_at      struct mu_node_area   what belongs to a node and not to a task: class routes,
 *                                       collective FIFOs
 *   boards_at     boards                what the tasks of a node share for each class route:
 *                                       mu/segment/board.h
 *   arenas_at     arenas                for each local task: EXT_quintorus_memory, ARMCI_Malloc
 *
 * A channel is what a PAMI context uses: registers, one injection FIFO, one remote-get FIFO, a
 * reception ring, counters. Channel c of task t is reception FIFO, table entries and remote-get
 * FIFO number T * channels + c of its node.
 */
#ifndef MU_HOST_H
#define MU_HOST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "drivers/base/lane.h"
#include "drivers/base/ring.h"
#include "drivers/base/wake.h"
#include "drivers/port.h"
#include "drivers/seal.h"
#include "emu/coord.h"
#include "emu/hw_class.h"
#include "emu/machine.h"
#include "mu/hw/desc.h"
#include "mu/hw/regs.h"
#include "mu/segment/board.h"
#include "mu/segment/node_table.h"

#define MU_HOST_MAGIC    0x51543544u /* "QT5D" */
#define MU_HOST_VERSION  14u
#define MU_CHANNELS_MAX  64 /* channels of a task at most */
#define MU_HOSTS_MAX     256
#define MU_ADDRESS_BYTES 512 /* addresses of all queues of a port, as text */
#define MU_COMMTHREADS   15  /* commthreads of a task at most */
#define MU_WAKES         (MU_COMMTHREADS + 1)

enum mu_clock { MU_CLOCK_REAL, MU_CLOCK_VIRTUAL };
enum mu_fabric { MU_FABRIC_EXPRESS, MU_FABRIC_TORUS };
/* The process that holds the driver port and the wires of this host. */
enum mu_holder_kind { MU_HOLDER_NONE, MU_HOLDER_TASK, MU_HOLDER_AGENT };

/* What the death of a task causes: the end of the job, or errors from operations that need it. */
enum mu_on_death { MU_ON_DEATH_END, MU_ON_DEATH_ERROR };
/* How a task of a job with MU_ON_DEATH_ERROR has ended. LEFT: exit status 0; DIED: any other end.
 */
enum mu_task_end { MU_TASK_LIVES, MU_TASK_LEFT, MU_TASK_DIED };

enum mu_task_state { MU_TASK_NONE, MU_TASK_ATTACHED, MU_TASK_DETACHED };

struct mu_task_entry {
	uint32_t node;   /* node index in the shape */
	uint32_t coords; /* destination word */
	uint16_t host;
	uint8_t t;       /* process index on the node */
	atomic_u8 ended; /* enum mu_task_end; the agent writes it, with MU_ON_DEATH_ERROR only */
	uint32_t local;  /* index among its host's tasks, in task order */
};

#define MU_SCRIPT_BYTES 8192u

#define MU_VT_STORES     8u
#define MU_VT_CALL_BYTES 48u

/* Virtual time: hand-over between one task and the simulator (mu/vtime/handover.c, mu/sim/node.c).
 */
struct mu_vt_area {
	_Alignas(64) uint32_t turn; /* futex: mu_turn of vtime/turn.h */
	uint32_t request;           /* why the task handed over: enum mu_vt_request */
	uint64_t now_ps;     /* the task's time when it handed over, its resume time on return */
	uint64_t horizon_ps; /* the task may run up to here without handing over */
	uint64_t dirty;      /* channels whose injection FIFO was written since the hand-over */
	uint64_t arg[11];    /* enum in mu/vtime/vtask.h */
	/* Parts of its node that it changed: bit f FIFO, 32 + r signal, 48 + r class route r. */
	uint64_t node_dirty;
	/*
	 * Preemption of a task that makes no call, and the turns of its commthreads meanwhile
	 * (mu/vtime/handover.c, mu/sim/spin.c).
	 */
	/* A thread of the task is in a call, so the task keeps the turn. */
	_Alignas(64) uint32_t inside;
	uint32_t back;     /* futex: the preempted task waits in a call; written by the task only */
	uint64_t back_ps;  /* clock of that task */
	uint64_t serves;   /* bitmap of channels that the stand-in thread can serve */
	uint64_t serve_ps; /* time at which that thread begins, then at which it ended */
	uint32_t serve;    /* futex: state of the stand-in thread, vtime/turn.h */
	uint32_t serve_tid;    /* thread id of the stand-in thread */
	uint32_t serve_inside; /* the stand-in thread is in a call */
	uint32_t serve_wants;  /* it is in a call, and waits for its turn to continue */
	uint32_t serve_found;  /* it has finished, and it did something */
	uint32_t serve_more;   /* it has finished, but must run again even if nothing arrives */
	char call[MU_VT_CALL_BYTES]; /* name of the call in which the task found nothing to do */
	uint32_t stores;             /* entries of store */
	struct mu_vt_store {
		uint64_t at, value, wake_at, when_ps; /* at: offset of the word in the segment */
		uint32_t task; /* task to wake; UINT32_MAX: all others of the node */
		uint32_t add;  /* nonzero: add, and wake only if the sum is wake_at */
	} store[MU_VT_STORES];
};

/* What one commthread has done, for display; the thread that serves its channels writes it. */
struct mu_comm_counts {
	_Alignas(64) atomic_u64 passes; /* over its channels */
	atomic_u64 busy;                /* passes that found something */
	atomic_u64 events;              /* what they found */
	atomic_u64 aside;               /* times that it left a channel to the program's threads */
	atomic_u64 sleeps;
};

/* One task of this host. Unless a field says otherwise the task writes it and others read it. */
struct mu_task_area {
	atomic_u32 pid;
	atomic_u32 state; /* enum mu_task_state */
	/* Address of the segment in this task: VA = map_base + offset. 0: it has not attached. */
	atomic_u64 map_base;
	atomic_u64 channels_open; /* bitmap; senders do not wait for it, rings keep the records */
	/* A router found a ring of this task full and sets it. The task clears it and steps its
	 * router when it has taken records. */
	atomic_u32 refused;
	/* Fabric torus, MU_ON_DEATH_ERROR: packets of this task in routers of this host. Tasks and
	 * agent count. */
	atomic_u32 routed;
	/*
	 * A sender rings one of these words after it made a record visible. The ring of the channel
	 * names the word (ring.user): [0] for channels of the program's threads and of the engine
	 * thread, [k + 1] for those of commthread k.
	 */
	struct drv_wake wake[MU_WAKES];
	atomic_u32 wakes;       /* number of them in use; only grows */
	struct drv_wake posted; /* the task's own threads ring it after posting work to a context */
	_Alignas(64) struct mu_vt_area vt;
	_Alignas(64) atomic_u64 arena_used; /* bytes, for display */
	atomic_u64 arena_mapped;            /* bytes of its own arena that this task has mapped */
	/* Real clock. The agent decides from these two whether the task waits
	 * (tools/agent_leave.c). waited_ns: time that the task's first thread has spent in polls
	 * that found nothing, with yields and sleeps; only grows. found: how many stretches of
	 * empty polls began after a poll that found something. */
	atomic_u64 waited_ns;
	atomic_u64 found;
	/* What the first thread waited for when it last looked (mu_note_waits()), in the stretch
	 * that waits_found counts: enum mu_waits, and 1 + the task that must act; 0: not known. */
	atomic_u64 waits_found;
	atomic_u32 waits, waits_for;
	struct mu_comm_counts comm[MU_COMMTHREADS];
};

#define MU_AREA_HEAD       0x10000u /* bytes before the first channel */
#define MU_CHANNEL_BYTES   0x100000u
#define MU_SOFTWARE_COUNTS 32u
#define MU_INJ_SLOTS       1024u /* descriptors of the injection FIFO; one stays unused */
#define MU_RGET_SLOTS      1024u
#define MU_SLOT_BYTES      128u /* payload buffer beside each injection slot */
#define MU_COUNTERS        512u
#define MU_RING_LINES      4096u /* 256 KiB */
#define MU_LANES           8u    /* of a channel, each for one sending channel */
/* 2 MiB: records of the tasks of this host for other hosts, if the agent holds the port. */
#define MU_OUTBOUND_LINES 32768u

/* The threads of a channel's process that may be between drv_ring_reserve() and
 * drv_ring_publish(): the user thread, and the thread that holds the engine. */
enum mu_claimer { MU_CLAIM_USER, MU_CLAIM_ENGINE, MU_CLAIMS };

/*
 * A copy between private memories that two tasks execute together (engine/share.c). It lies in the
 * area of the channel that started it.
 */
struct mu_share {
	_Alignas(64) atomic_u64 next, done;
	atomic_u64 mine, theirs; /* addresses: in the initiator, in the other task */
	atomic_u64 bytes, chunk;
	atomic_u32 task; /* the other task */
	atomic_i32 put, error;
};

/* Registers and memory of one channel. */
struct mu_channel_area {
	MUHWI_Fifo_t inj; /* injection FIFO */
	MUHWI_InjFifo_t inj_hw;
	MUHWI_Fifo_t rget; /* remote-get FIFO: the engine writes its tail */
	MUHWI_InjFifo_t rget_hw;
	uint64_t bat[8]; /* base address table: entry 0 is 0, all memory */
	/* Counts of the software above, which the user thread of the channel writes, for display:
	 * pami/coll/state.h. */
	_Alignas(64) atomic_u64 software[MU_SOFTWARE_COUNTS];
	_Alignas(4096) atomic_u64 counter[MU_COUNTERS]; /* reception counters */
	uint64_t when_ps[MU_INJ_SLOTS]; /* virtual clock: time of each slot's tail store */
	uint8_t awaited[MU_INJ_SLOTS];  /* virtual clock: software waits for its completion */
	_Alignas(4096) MUHWI_Descriptor_t inj_slot[MU_INJ_SLOTS];
	MUHWI_Descriptor_t rget_slot[MU_RGET_SLOTS];
	unsigned char inj_payload[MU_INJ_SLOTS][MU_SLOT_BYTES];
	/* The space in any ring of the host that this channel's senders are about to take. */
	struct {
		_Alignas(64) struct drv_ring_claim c;
	} claim[MU_CLAIMS];
	struct mu_share share;
	struct drv_lane lane[MU_LANES];      /* those in use: ring.lanes_claimed */
	_Alignas(4096) struct drv_ring ring; /* reception ring, MU_RING_LINES follow */
};

_Static_assert(sizeof(struct mu_channel_area) + MU_RING_LINES * DRV_RING_LINE <= MU_CHANNEL_BYTES,
	       "fits its place");

/*
 * What belongs to a node: class routes with their table entries, and injection FIFOs for collective
 * packets and for the lines of the rectangle broadcast. One task of the node, the owner, uses a
 * class route.
 */
#define MU_CLASSES    16
#define MU_NODE_FIFOS 26 /* one for each class route, then one for each link */
#define MU_NODE_SLOTS 32 /* descriptors of each */
/* Table entries 512 + 2r and 513 + 2r: base address of payload, and counter, of class route r. */
#define MU_NODE_TABLE   512
#define MU_NODE_SIGNALS 32
#define MU_NODE_ROUTES  48
#define MU_NO_OWNER     UINT32_MAX

struct mu_node_fifo {
	_Alignas(64) atomic_u64 tail; /* descriptors submitted; the owner writes it */
	/* The channel whose engine runs the FIFO: local task * channels + channel. */
	atomic_u32 channel;
	_Alignas(64) atomic_u64 head; /* descriptors completed; the engine writes it */
	/* Bytes of the descriptor at the head that have left; written by the engine. */
	uint64_t sent;
	uint64_t when_ps[MU_NODE_SLOTS];
	uint8_t awaited[MU_NODE_SLOTS]; /* virtual clock: software waits for its completion */
	_Alignas(64) MUHWI_Descriptor_t slot[MU_NODE_SLOTS];
};

#define MU_CLASS_COUNTERS 16 /* by Counter_Offset / 8 */

/* The halves of a class route. MU_ROUTE_PAMI: PAMI has both. A program may have either. */
#define MU_ROUTE_PACKETS 1u
#define MU_ROUTE_SIGNALS 2u
#define MU_ROUTE_BOTH    3u
#define MU_ROUTE_PAMI    4u

/* What one user of a global interrupt gives. */
struct mu_node_control {
	atomic_u32 bits;   /* three */
	atomic_u32 writes; /* number of stores so far */
	uint64_t when_ps;  /* virtual clock: time of the last store */
	uint32_t taken;    /* virtual clock: `writes` that the simulator has seen */
};

struct mu_node_class {
	/* Bytes still to come: [0] for the class route, the others for lines. */
	_Alignas(64) atomic_u64 counter[MU_CLASS_COUNTERS];
	uint64_t notify;  /* virtual clock: wake the owner when a counter passes a multiple of it */
	atomic_u64 base;  /* target of payload, an address of the owner */
	atomic_u32 owner; /* local task * channels + channel, or MU_NO_OWNER */
	/* PAMI's half of the global interrupt; the router or the simulator writes it. A program's
	 * is in the node's table. */
	atomic_u32 status;
	/* By user; the owner writes that of EMU_GI_SYSTEM, T 0's MU that of EMU_GI_PROGRAM. */
	struct mu_node_control control[EMU_GI_USERS];
	atomic_u64 changes; /* number of changes of status so far */
	/* A request to program halves of the route, and its results. writer: the task whose request
	 * it is, + 1; 0: there is none. */
	atomic_u32 writer;
	ClassRoute_t route;
	uint32_t halves;
	int32_t result, gi_result;
	atomic_u32 asked; /* asks the agent to program it (fabric torus, MU_ON_DEATH_ERROR) */
};

struct mu_node_area {
	/* Halves of each class route that are taken: MU_ROUTE_ bits; 0: free. */
	atomic_u8 user[MU_CLASSES];
	struct mu_node_class class[MU_CLASSES];
	struct mu_node_fifo fifo[MU_NODE_FIFOS];
	struct mu_node_table table;
};

/* What the wire to a host, and the port below all wires, have counted. The holder of the port
 * writes them now and then and before it sleeps (mu_holder_publish()), for display. */
struct mu_wire_counts {
	atomic_u64 tx_frames, tx_bytes, rx_frames, rx_bytes;
	atomic_u64 resent, duplicates, out_of_order, bad_frames, acks_bare, restarts;
	atomic_u64 rtt_ns, window, connected;
};

struct mu_port_counts {
	atomic_u64 tx_frames, tx_bytes, rx_frames, rx_bytes, tx_busy, rx_dropped;
};

struct mu_peer_host {
	struct mu_wire_counts wire;
	/* Addresses of the queues of its port, with commas; the agent of this host writes them. */
	char address[MU_ADDRESS_BYTES];
	atomic_u32 ready; /* futex: 1 when address is valid */
	/* Its only task has ended, so nobody receives frames there; the agent of this host writes
	 * it. */
	atomic_u32 departed;
	atomic_u32 lost; /* fabric torus, MU_ON_DEATH_ERROR: the host is lost, with its routers */
};

struct mu_host {
	uint32_t magic, version;
	uint64_t bytes; /* of the segment */
	uint64_t job;   /* random job number */
	uint64_t seed;  /* seed of all random numbers in this job */
	uint32_t tasks; /* tasks of the job */
	uint32_t hosts;
	uint32_t host;   /* number of this host */
	uint32_t locals; /* tasks on this host */
	struct emu_shape shape;
	struct emu_machine machine; /* constant once tasks run */
	/* What the directory in the network counted: the simulator, or this host's tasks. */
	struct emu_directory_stat directory;
	uint8_t clock, fabric, holder;
	uint8_t world_class; /* class route 0 spans all nodes */
	uint8_t channels;    /* of each task: a power of two, 512 / T at most */
	/* Offsets in 4 KiB pages. */
	uint32_t tasks_at_pages, announced_at_pages, areas_at_pages, outbound_at_pages,
	    routers_at_pages, arenas_at_pages;
	uint64_t area_bytes, arena_bytes; /* per local task */
	uint64_t routers_bytes;
	uint32_t nodes_at_pages, boards_at_pages;
	uint32_t traffic_at_pages;
	uint64_t traffic_bytes; /* per local task; 0: nothing is counted there */
	/* mu/segment/directory.h; entries, powers of two or 0. */
	uint32_t directory_at_pages, directory_homes, directory_cached, directory_units;
	uint64_t directory_slots; /* bytes from there to the slots of mu/segment/lease.h */
	uint32_t trace_at_pages;  /* mu/trace.h; 0: the job is not traced */
	uint8_t seal;             /* enum drv_seal_kind of frames between hosts */
	unsigned char key[DRV_SEAL_KEY_BYTES]; /* key of the job */
	char port[256];                        /* driver port of this host, "" if none is needed */
	char opened[384];                      /* the port as its holder opened it, for people */
	char capture[256];        /* file in which the port records its frames; "": none */
	atomic_u32 capture_error; /* errno of a write to that file */
	char mapping[256];
	/* Faults (emu/faults.h), "": none. Their times count from start_ns, of drv_clock_ns(). */
	char script[MU_SCRIPT_BYTES];
	uint64_t start_ns;
	/* Fabric torus, real clock: 1 + (from << 32 | to) of nodes that cut links parted, or 0. The
	 * agent then ends the job. */
	atomic_u64 parted;
	/* Largest payload of one record to other hosts; the port holder updates it. */
	atomic_u32 piece_bytes;
	atomic_u32 outbound_refused; /* a router found the outbound ring full */
	atomic_u32 circle_said;      /* a circle of packets was logged */
	atomic_u32 class_asked;      /* some mu_node_class.asked is set */
	atomic_u32 ending;           /* the job ends: no thread waits any more */
	/* The holder writes the addresses of the queues of its port, with commas, when it is open.
	 */
	char own_address[MU_ADDRESS_BYTES];
	atomic_u32 own_ready; /* futex, 1 when it is valid; negative errno: the port did not open */
	/* Tasks ring it after an outbound record, the holder after own_ready. The agent sets its
	 * eventfd. */
	struct drv_wake agent_wake;
	/* Robust. The agent of a host under another launcher holds it as long as it lives, so a
	 * task that gets it knows that the agent has died. */
	pthread_mutex_t agent_life;
	/* MU_ON_DEATH_ERROR: tasks that have ended plus (fabric torus) hosts that are lost, of the
	 * whole job. Each poll reads it. */
	_Alignas(64) atomic_u32 deaths;
	atomic_u32 hosts_lost;
	/* Number of changes of the words at announced_at by tasks of this host. The port holder
	 * sends the words to the other hosts after a change. */
	atomic_u32 announcements;
	struct mu_port_counts port_counts;
	uint8_t on_death;                  /* enum mu_on_death; constant */
	struct drv_ring_claim agent_claim; /* of the agent, in the ring of some channel */
	_Alignas(64) struct mu_peer_host peer[MU_HOSTS_MAX];
};

/* Does the job go on without tasks that die? */
static inline bool mu_host_outlives_tasks(const struct mu_host *host)
{
	return host->on_death == MU_ON_DEATH_ERROR;
}

/* The claim that a sender writes before it takes space in a ring; NULL: a death ends the job. */
static inline struct drv_ring_claim *mu_host_claim(const struct mu_host *host,
						   struct drv_ring_claim *claim)
{
	return mu_host_outlives_tasks(host) ? claim : NULL;
}

/*
 * Fabric express counts what would have crossed links: for each channel and other node, packets
 * and bytes on the wire, headers and trailers included. tools/agent_links.c walks the paths. Each
 * field has one writer: the user thread of the channel, or the thread that holds its engine.
 */
enum mu_traffic_kind {
	MU_SENT_BY_USER,
	MU_FETCHED_BY_USER,
	MU_SENT_BY_ENGINE,
	MU_FETCHED_BY_ENGINE
};
struct mu_traffic {
	struct {
		atomic_u64 packets, bytes;
	} kind[4];
};

/* What torus run (or a launcher) decides; arrays are copied. */
struct mu_host_conf {
	uint64_t job, seed;
	uint32_t tasks, hosts, host;
	struct emu_shape shape;
	enum mu_clock clock;
	enum mu_fabric fabric;
	enum mu_on_death on_death;
	const struct emu_coord *coords;    /* [tasks], c and t */
	const uint16_t *task_host;         /* [tasks] */
	enum drv_seal_kind seal;           /* of frames between hosts */
	const unsigned char *key;          /* [DRV_SEAL_KEY_BYTES]; NULL with DRV_SEAL_NONE */
	const char *port;                  /* "" or NULL: none (one host) */
	const char *capture;               /* file for frames, "" or NULL: none */
	const char *mapping;               /* text, for PAMI's and MUSPI's queries */
	const char *script;                /* faults, or NULL */
	bool trace;                        /* make room for what mu/trace.h records */
	const struct emu_machine *machine; /* NULL: Blue Gene/Q */
};

/*
 * Agent: create the segment. Sets *fd (close-on-exec off, to be inherited) and *host. The port
 * holder is MU_HOLDER_NONE with one host, the only task of a host on fabric express, otherwise the
 * agent. Returns 0, or -EINVAL, -ENOMEM, -EMFILE, each logged.
 */
int mu_host_create(const struct mu_host_conf *conf, struct mu_host **host, int *fd);
/*
 * Map an inherited segment and check magic, version and size. Returns 0, -EBADF, -EPROTO or
 * -ENOMEM, logged. A process maps of each arena only the part that it uses, from its start
 * (mu_host_map_arena()); the rest needs no address space.
 */
int mu_host_map(int fd, struct mu_host **host);
void mu_host_unmap(struct mu_host *host);

/* map.c, for the two functions above. Returns NULL with the cause in errno. */
void *mu_host_map_view(int fd);
void mu_host_unmap_view(struct mu_host *h);

/*
 * Map the first `bytes` of the arena of a local task in this process. Returns false if the kernel
 * refused. Any thread; cheap if they are mapped already.
 */
bool mu_host_map_arena(struct mu_host *h, uint32_t local, uint64_t bytes);
/* Return how many bytes of that arena this process has mapped. */
uint64_t mu_host_arena_mapped(struct mu_host *h, uint32_t local);
/* Map [off, off + bytes) of the segment. Returns false if the kernel refused, or the range lies
 * outside. */
bool mu_host_map_range(struct mu_host *h, uint64_t off, uint64_t bytes);
/* True if all of the range is mapped. */
bool mu_host_is_mapped(struct mu_host *h, uint64_t off, uint64_t bytes);

/* The environment of a task: QUINTORUS_SEGMENT=<fd>, QUINTORUS_TASK=<task>. Returns 0 / -ENOMEM. */
#define MU_ENV_SEGMENT "QUINTORUS_SEGMENT"
#define MU_ENV_TASK    "QUINTORUS_TASK"
/* Set if the tasks of this host do not share their processors with the tasks of another host. */
#define MU_ENV_BOUND "QUINTORUS_BOUND"

static inline struct mu_task_entry *mu_host_entry(struct mu_host *h, uint32_t task)
{
	return (struct mu_task_entry *)((char *)h + (uint64_t)h->tasks_at_pages * 4096) + task;
}

/* [tasks] words that tasks tell all others. A task writes its own; the port holder writes those of
 * tasks of other hosts. */
static inline atomic_u64 *mu_host_announced(struct mu_host *h)
{
	return (atomic_u64 *)(void *)((char *)h + (uint64_t)h->announced_at_pages * 4096);
}

static inline struct mu_task_area *mu_host_area(struct mu_host *h, uint32_t local)
{
	return (struct mu_task_area *)((char *)h + (uint64_t)h->areas_at_pages * 4096 +
				       h->area_bytes * local);
}

static inline struct mu_channel_area *mu_host_channel(struct mu_host *h, uint32_t local,
						      uint32_t channel)
{
	return (struct mu_channel_area *)((char *)mu_host_area(h, local) + MU_AREA_HEAD +
					  (uint64_t)MU_CHANNEL_BYTES * channel);
}

/* Returns the units that short messages took in the lanes of the channel. Only lanes that have a
 * producer are read: reading memory of the segment that no task has written would allocate it. */
static inline uint64_t mu_host_lane_units(const struct mu_channel_area *ch)
{
	uint32_t claimed = atomic_load_relaxed(&ch->ring.lanes_claimed);
	uint64_t units = 0;

	for (unsigned i = 0; i < MU_LANES; i++)
		if (claimed >> i & 1)
			units += atomic_load_relaxed(&ch->lane[i].tail);
	return units;
}

/* Wake the thread that serves the channel of this ring of task `local`. Costs one load if no thread
 * sleeps. */
static inline void mu_host_wake(struct mu_host *h, uint32_t local, const struct drv_ring *ring)
{
	__asm__ volatile("" ::: "memory"); /* the record first */
	drv_wake_ring(&mu_host_area(h, local)->wake[atomic_load_relaxed(&ring->user) % MU_WAKES]);
}

/* Wake every thread of this task that sleeps. */
static inline void mu_host_wake_all(struct mu_host *h, uint32_t local)
{
	struct mu_task_area *a = mu_host_area(h, local);

	for (uint32_t i = 0; i < atomic_load_relaxed(&a->wakes); i++)
		drv_wake_ring(&a->wake[i]);
}

/*
 * The same, and also wakes a thread between its last check and publishing that it sleeps: the
 * thread re-reads posted.seq before it blocks (progress/idle.c). Needed because a channel watches
 * one word, while its task may wait for several.
 */
static inline void mu_host_wake_waiters(struct mu_host *h, uint32_t local)
{
	atomic_fetch_add_seq_cst(&mu_host_area(h, local)->posted.seq, 1);
	mu_host_wake_all(h, local);
}

static inline struct mu_node_area *mu_host_node(struct mu_host *h, uint32_t node)
{
	return (struct mu_node_area *)((char *)h + (uint64_t)h->nodes_at_pages * 4096) + node;
}

static inline void *mu_host_board(struct mu_host *h, uint32_t node, unsigned id)
{
	return (char *)h + (uint64_t)h->boards_at_pages * 4096 +
	       ((uint64_t)node * MU_CLASSES + id) * mu_board_bytes(h->shape.t);
}

/* Offset of the arenas, which lie behind all that the library keeps in the segment. */
static inline uint64_t mu_host_arenas_at(const struct mu_host *h)
{
	return (uint64_t)h->arenas_at_pages * 4096;
}

static inline char *mu_host_arena(struct mu_host *h, uint32_t local)
{
	return (char *)h + mu_host_arenas_at(h) + h->arena_bytes * local;
}

static inline void *mu_host_directory(struct mu_host *h)
{
	return (char *)h + (uint64_t)h->directory_at_pages * 4096;
}

/* Return the ring of records of this host's tasks for other hosts. The agent empties it. */
static inline struct mu_trace_area *mu_host_trace(struct mu_host *h)
{
	return (struct mu_trace_area *)((char *)h + (uint64_t)h->trace_at_pages * 4096);
}

static inline struct drv_ring *mu_host_outbound(struct mu_host *h)
{
	return (struct drv_ring *)((char *)h + (uint64_t)h->outbound_at_pages * 4096);
}

/* Fabric torus, real clock: the routers of this host (mu/transport/node_live.c); 0 bytes otherwise.
 */
uint64_t mu_host_routers_bytes(const struct mu_host_conf *conf);
int mu_host_routers_init(struct mu_host *h, const struct mu_host_conf *conf);
static inline void *mu_host_routers(struct mu_host *h)
{
	return (char *)h + (uint64_t)h->routers_at_pages * 4096;
}

/* Return the name of a ring in a claim: unique, and not 0. */
static inline uint64_t mu_ring_name(const struct mu_host *h, const struct drv_ring *ring)
{
	return (uint64_t)((const char *)ring - (const char *)h);
}

/* Fabric torus: true if that host is lost, with its routers. */
static inline int mu_host_is_lost(const struct mu_host *h, uint32_t host)
{
	return __builtin_expect(atomic_load_acquire(&h->peer[host].lost) != 0, 0);
}

/* Return enum mu_task_end of a task. */
static inline unsigned mu_host_task_end(struct mu_host *h, uint32_t task)
{
	return atomic_load_acquire(&mu_host_entry(h, task)->ended);
}
/* Agent: record that a task has ended. Wakes no task. Returns 0 if it was recorded before. */
int mu_host_mark_task_ended(struct mu_host *h, uint32_t task, enum mu_task_end how);
/* Agent, fabric torus: record that a host is lost. Otherwise the same. */
int mu_host_mark_lost(struct mu_host *h, uint32_t host);
/* Agent: record that the only task of a host has ended, so that nobody receives frames there. No
 * effect if there is no such host. Wakes no task. */
void mu_host_mark_departed(struct mu_host *h, uint32_t host);

/*
 * For the reader of a ring of this host that finds no record although space was reserved. If only
 * tasks that have ended reserved the space, no record will ever appear there: skip it and return 1.
 * Else return 0: a living task may have reserved it, and the reader waits.
 */
int mu_ring_skip_dead_claims(struct mu_host *h, struct drv_ring *ring, struct drv_ring_rx *rx);

/* Return the traffic of a channel with each node, [nodes], or NULL if it is not counted. */
static inline struct mu_traffic *mu_host_traffic(struct mu_host *h, uint32_t local,
						 uint32_t channel)
{
	return !h->traffic_bytes
		   ? NULL
		   : (struct mu_traffic *)((char *)h + (uint64_t)h->traffic_at_pages * 4096 +
					   h->traffic_bytes * local) +
			 (size_t)channel * emu_shape_nodes(&h->shape);
}

/* Has local task `local` attached, so that others may copy from and to its memory? */
static inline bool mu_host_has_attached(struct mu_host *h, uint32_t local)
{
	return atomic_load_acquire(&mu_host_area(h, local)->map_base) != 0;
}

/*
 * Return the address in this process of `bytes` at virtual address va of local task `local`, or
 * NULL if they are not in the segment, or the task has not attached.
 */
static inline void *mu_host_translate(struct mu_host *h, uint32_t local, uint64_t va,
				      uint64_t bytes)
{
	uint64_t base = atomic_load_relaxed(&mu_host_area(h, local)->map_base), off = va - base;

	return base && off < h->bytes && mu_host_map_range(h, off, bytes) ? (char *)h + off : NULL;
}

/*
 * Is any of `bytes` at virtual address va of local task `local` in the part of the segment that the
 * library keeps for itself, which is all but the arenas? Nothing that another task puts goes there:
 * it would harm every task of the host. Precondition: va + bytes does not wrap.
 */
static inline bool mu_host_is_kept(struct mu_host *h, uint32_t local, uint64_t va, uint64_t bytes)
{
	uint64_t base = atomic_load_relaxed(&mu_host_area(h, local)->map_base);

	return base && va < base + mu_host_arenas_at(h) && va + bytes > base;
}

/* Return the task number of local task `local`, or UINT32_MAX. entry->local is the reverse. */
uint32_t mu_host_task(struct mu_host *h, uint32_t local);

#endif
