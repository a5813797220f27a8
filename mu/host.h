/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host segment: one memfd per host and job, made by the agent (or simulator), inherited by the
 * tasks, mapped whole (it is sparse) at any address. Offsets, never pointers, inside.
 *
 *   0          struct mu_host        facts of the job, written by the agent before tasks start
 *   tasks_at   struct mu_task_entry  one per task of the job: coordinates, host
 *   areas_at   task areas            one per local task: struct mu_task_area, then its channels
 *   routers_at routers, links, packet pool (fabric torus, real clock): emu/live.h
 *   traffic_at what each channel sent to each node (fabric express, real clock)
 *   nodes_at   what belongs to a node and not to a task: class routes, collective FIFOs
 *   boards_at  what the tasks of a node share for each class route: mu/board.h
 *   arenas_at  arenas                one per local task: EXT_quintorus_memory, ARMCI_Malloc
 *
 * A channel is what a PAMI context owns: registers, one injection FIFO, one remote-get FIFO, a
 * reception ring, counters. Channel c of task t is reception FIFO, table entries and remote-get
 * FIFO number T * channels + c of its node.
 */
#ifndef MU_HOST_H
#define MU_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "drivers/base/lane.h"
#include "drivers/base/ring.h"
#include "drivers/base/wake.h"
#include "drivers/port.h"
#include "drivers/seal.h"
#include "emu/coord.h"
#include "emu/hw_class.h"
#include "mu/board.h"
#include "mu/hw_desc.h"
#include "mu/hw_regs.h"

#define MU_HOST_MAGIC    0x51543544u /* "QT5D" */
#define MU_HOST_VERSION  4u
#define MU_CHANNELS_MAX  64 /* per task */
#define MU_HOSTS_MAX     256
#define MU_COMMTHREADS   15  /* most per task */
#define MU_WAKES         (MU_COMMTHREADS + 1)

enum mu_clock { MU_CLOCK_REAL, MU_CLOCK_VIRTUAL };
enum mu_fabric { MU_FABRIC_EXPRESS, MU_FABRIC_TORUS };
/* Who holds the driver port and the wires of this host. */
enum mu_holder_kind { MU_HOLDER_NONE, MU_HOLDER_TASK, MU_HOLDER_AGENT };

/* What the death of a task means: the end of the job, or an error for those who need it. */
enum mu_on_death { MU_ON_DEATH_END, MU_ON_DEATH_ERROR };
/* How a task of a job with MU_ON_DEATH_ERROR has ended: exit status 0, or anything else. */
enum mu_task_end { MU_TASK_LIVES, MU_TASK_LEFT, MU_TASK_DIED };

enum mu_task_state { MU_TASK_NONE, MU_TASK_ATTACHED, MU_TASK_DETACHED };

struct mu_task_entry {
	uint32_t node;   /* node index in the shape */
	uint32_t coords; /* destination word */
	uint16_t host;
	uint8_t t;       /* process index on the node */
	uint8_t gone;    /* enum mu_task_end; written by the agent, with MU_ON_DEATH_ERROR only */
	uint32_t local;  /* index among its host's tasks, in task order */
};

#define MU_VT_STORES 8u

/* Virtual time: hand-over between one task and the simulator (mu/vtask.c, mu/node_sim.c). */
struct mu_vt_area {
	_Alignas(64) uint32_t turn; /* futex: enum mu_vt_turn */
	uint32_t request;           /* why the task handed over: enum mu_vt_request */
	uint64_t now_ps;            /* the task's time when it handed over, its resume time on return */
	uint64_t horizon_ps;        /* the task may run up to here without handing over */
	uint64_t dirty;             /* channels whose injection FIFO was written since the hand-over */
	uint64_t arg[8];            /* enum in mu/vtask.h */
	uint64_t node_dirty;        /* of its node's area: bit f FIFO f, 32 + r signal r, 48 + r class route r */
	/* Taking the turn from a task that does not call, and its commthreads' turns meanwhile (mu/vtask.c). */
	_Alignas(64) uint32_t inside; /* a thread of its own is in a call: the turn stays with the task */
	uint32_t back;              /* futex: one whose turn was taken calls, and waits */
	uint64_t back_ps;           /* its clock */
	uint64_t serves;            /* bit per channel that a thread stands by to serve */
	uint64_t serve_ps;          /* when that thread begins, and when it was done */
	uint32_t serve;             /* futex: enum mu_vt_serve */
	uint32_t serve_tid;         /* of that thread */
	uint32_t serve_inside;      /* that thread is in a call */
	uint32_t serve_wants;       /* it is in a call, and waits for its turn to go on */
	uint32_t serve_found;       /* done, and it did something */
	uint32_t serve_more;        /* done, but it wants to be called again, though nothing comes */
	uint32_t stores;            /* entries of store */
	struct mu_vt_store {
		uint64_t at, value, wake_at, when_ps; /* at: offset of the word in the segment */
		uint32_t task; /* woken; UINT32_MAX: all others of the node */
		uint32_t add;  /* and then only if the sum is wake_at */
	} store[MU_VT_STORES];
};

struct mu_task_area {
	uint32_t pid;
	uint32_t state;          /* enum mu_task_state */
	uint64_t map_base;       /* where this task mapped the segment: its VA = map_base + offset */
	uint64_t channels_open;  /* bit per channel; senders wait for nothing, records are kept */
	uint32_t refused;        /* a router found a ring of ours full: kick it when we have taken something */
	uint32_t routed;         /* fabric torus, MU_ON_DEATH_ERROR: packets of ours in routers of this host */
	/*
	 * Rung after a record for this task was made visible: which of them, the channel's ring says
	 * (ring.user). [0]: channels of the program's threads and the engine thread; [k + 1]: those of
	 * commthread k.
	 */
	struct drv_wake wake[MU_WAKES];
	uint32_t wakes;          /* how many of them are in use; only grows */
	struct drv_wake posted;  /* its own threads: work was posted to one of its contexts */
	_Alignas(64) uint64_t stamp; /* bumped by polling threads, read by its engine thread */
	struct mu_vt_area vt;
	_Alignas(64) uint64_t arena_used; /* bytes, for display */
};

#define MU_AREA_HEAD     0x10000u /* bytes before the first channel */
#define MU_CHANNEL_BYTES 0x100000u
#define MU_INJ_SLOTS     1024u /* descriptors of the injection FIFO; one stays unused */
#define MU_RGET_SLOTS    1024u
#define MU_SLOT_BYTES    128u  /* payload buffer beside each injection slot */
#define MU_COUNTERS      512u
#define MU_RING_LINES    4096u /* 256 KiB */
#define MU_LANES         8u    /* of those who send most to a channel, one each */
#define MU_OUTBOUND_LINES 32768u /* 2 MiB: the tasks' records for other hosts, where the agent holds */

/* Who of a channel's process may be between drv_ring_reserve() and drv_ring_publish(). */
enum mu_claimer { MU_CLAIM_USER, MU_CLAIM_ENGINE, MU_CLAIMS };

/* A copy between private memories that both tasks work at (share.c); of the channel that initiates it. */
struct mu_share {
	_Alignas(64) uint64_t next, done;
	uint64_t mine, theirs, bytes, chunk;
	uint32_t task; /* the other one */
	int32_t put, error;
};

/* Registers and memory of one channel, in the host segment. */
struct mu_channel_area {
	MUHWI_Fifo_t inj;         /* injection FIFO */
	MUHWI_InjFifo_t inj_hw;
	MUHWI_Fifo_t rget;        /* remote-get FIFO: the engine writes its tail */
	MUHWI_InjFifo_t rget_hw;
	uint64_t bat[8];          /* base address table: entry 0 is 0, all memory */
	_Alignas(4096) uint64_t counter[MU_COUNTERS]; /* reception counters; atomic */
	uint64_t when_ps[MU_INJ_SLOTS]; /* virtual clock: time of each slot's tail store */
	_Alignas(4096) MUHWI_Descriptor_t inj_slot[MU_INJ_SLOTS];
	MUHWI_Descriptor_t rget_slot[MU_RGET_SLOTS];
	unsigned char inj_payload[MU_INJ_SLOTS][MU_SLOT_BYTES];
	struct {
		_Alignas(64) struct drv_ring_claim c;
	} claim[MU_CLAIMS]; /* what this channel's senders are about to take, in any ring of the host */
	struct mu_share share;
	struct drv_lane lane[MU_LANES]; /* those in use: ring.lanes */
	_Alignas(4096) struct drv_ring ring; /* reception ring, MU_RING_LINES follow */
};

_Static_assert(sizeof(struct mu_channel_area) + MU_RING_LINES * DRV_RING_LINE <= MU_CHANNEL_BYTES, "fits its place");

/*
 * What belongs to a node: class routes and their table entries, injection FIFOs of collective packets and of the
 * lines of the rectangle broadcast. A class route is used by one task of the node, its owner.
 */
#define MU_CLASSES      16
#define MU_NODE_FIFOS   26  /* one a class route, then one a link */
#define MU_NODE_SLOTS   32  /* descriptors of each */
#define MU_NODE_TABLE   512 /* table entries 512 + 2r: base of payload, 513 + 2r: counter, of class route r */
#define MU_NODE_SIGNALS 32
#define MU_NODE_ROUTES  48
#define MU_NO_OWNER     UINT32_MAX

struct mu_node_fifo {
	_Alignas(64) uint64_t tail; /* descriptors given, by the owner */
	uint32_t channel;           /* whose engine runs it: local task * channels + channel */
	_Alignas(64) uint64_t head; /* done; the engine's */
	uint64_t sent;              /* bytes of the one at the head that have left */
	uint64_t when_ps[MU_NODE_SLOTS];
	_Alignas(64) MUHWI_Descriptor_t slot[MU_NODE_SLOTS];
};

#define MU_CLASS_COUNTERS 16 /* by Counter_Offset / 8 */

struct mu_node_class {
	_Alignas(64) uint64_t counter[MU_CLASS_COUNTERS]; /* of bytes, falling: of the class route, then of lines */
	uint64_t notify;               /* virtual clock: have the owner look when a counter passes a multiple of it */
	uint64_t base;                 /* where payload goes, an address of the owner */
	uint32_t owner;                /* local task * channels + channel, MU_NO_OWNER */
	uint32_t status, control;      /* global interrupt: three bits each */
	uint64_t when_ps;              /* virtual clock: of the last store to control */
	uint64_t changes;              /* of status, so far */
	ClassRoute_t route;
	int32_t result, gi_result;     /* of programming it */
	uint32_t asked;                /* the agent is to program it (fabric torus, MU_ON_DEATH_ERROR) */
};

struct mu_node_area {
	uint32_t used; /* bit per class route that somebody has; atomic */
	struct mu_node_class class[MU_CLASSES];
	struct mu_node_fifo fifo[MU_NODE_FIFOS];
};

struct mu_peer_host {
	char address[DRV_PORT_ADDRESS_BYTES]; /* of its port; written by our agent */
	uint32_t ready;                       /* futex: 1 when address is valid */
	uint32_t lost;                        /* fabric torus, MU_ON_DEATH_ERROR: it is gone, with its routers */
};

struct mu_host {
	uint32_t magic, version;
	uint64_t bytes;   /* of the segment */
	uint64_t job;     /* random job number */
	uint64_t seed;    /* of all chance in this job */
	uint32_t tasks;   /* of the job */
	uint32_t hosts;
	uint32_t host;    /* this one */
	uint32_t locals;  /* tasks on this host */
	struct emu_shape shape;
	uint8_t clock, fabric, holder;
	uint8_t world_class; /* class route 0 spans all nodes */
	uint8_t channels; /* per task: power of two, 512 / T at most */
	/* Offsets in 4 KiB pages. */
	uint32_t tasks_at_pages, areas_at_pages, outbound_at_pages, routers_at_pages, arenas_at_pages;
	uint64_t area_bytes, arena_bytes; /* per local task */
	uint64_t routers_bytes;
	uint32_t nodes_at_pages, boards_at_pages;
	uint32_t traffic_at_pages;
	uint64_t traffic_bytes; /* per local task; 0: nothing is counted there */
	uint8_t seal;     /* enum drv_seal_kind: of frames between hosts */
	unsigned char key[DRV_SEAL_KEY_BYTES]; /* of the job */
	char port[256];   /* driver port of this host, "" if none is needed */
	char mapping[256];
	uint32_t piece_bytes; /* largest payload of one record to other hosts; the holder keeps it right */
	uint32_t outbound_refused; /* a router found the outbound ring full */
	uint32_t class_asked;      /* some mu_node_class.asked is set */
	uint32_t ending;  /* set when the job ends: nobody waits any more */
	char own_address[DRV_PORT_ADDRESS_BYTES]; /* written by the holder when its port is open */
	uint32_t own_ready;                       /* futex, 1 when valid; negative errno: could not open */
	struct drv_wake agent_wake; /* rung for the agent (which sets its eventfd): outbound records, own_ready */
	_Alignas(64) uint32_t gone; /* tasks and (fabric torus) hosts that are gone, of the whole job; MU_ON_DEATH_ERROR.
				     * Read at each poll */
	uint32_t lost;              /* of these, hosts */
	uint8_t on_death;           /* enum mu_on_death; constant */
	struct drv_ring_claim agent_claim;  /* of the holder, in the ring of some channel */
	_Alignas(64) struct mu_peer_host peer[MU_HOSTS_MAX];
};

/*
 * Fabric express counts what would have crossed links: per channel and other node, packets and
 * bytes on the wire (headers and trailers too). Whoever asks walks the paths (tools/agent_links.c).
 * Each field has one writer: the thread that uses the channel, or who holds its engine.
 */
enum mu_traffic_kind { MU_SENT_BY_USER, MU_FETCHED_BY_USER, MU_SENT_BY_ENGINE, MU_FETCHED_BY_ENGINE };
struct mu_traffic {
	struct {
		uint64_t packets, bytes;
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
	const struct emu_coord *coords; /* [tasks], c and t */
	const uint16_t *task_host;      /* [tasks] */
	enum drv_seal_kind seal;        /* of frames between hosts; key: [DRV_SEAL_KEY_BYTES], NULL with NONE */
	const unsigned char *key;
	const char *port;               /* "" or NULL: none (one host) */
	const char *mapping;            /* text, for PAMI's and MUSPI's queries */
};

/*
 * Agent: make the segment. On success *fd (close-on-exec off, to be inherited) and *host. The
 * holder is: nobody with one host; the sole task of the host; else the agent.
 * Errors: -EINVAL (logged: what), -ENOMEM, -EMFILE.
 */
int mu_host_create(const struct mu_host_conf *conf, struct mu_host **host, int *fd);
/* Map an inherited segment; checks magic, version and size. */
int mu_host_map(int fd, struct mu_host **host);
void mu_host_unmap(struct mu_host *host);

/* The environment of a task: QUINTORUS_SEGMENT=<fd>, QUINTORUS_TASK=<task>. Returns 0 / -ENOMEM. */
#define MU_ENV_SEGMENT "QUINTORUS_SEGMENT"
#define MU_ENV_TASK    "QUINTORUS_TASK"
#define MU_ENV_BOUND   "QUINTORUS_BOUND" /* this host's tasks have the processors they may use to themselves */

static inline struct mu_task_entry *mu_host_entry(struct mu_host *h, uint32_t task)
{
	return (struct mu_task_entry *)((char *)h + (uint64_t)h->tasks_at_pages * 4096) + task;
}

static inline struct mu_task_area *mu_host_area(struct mu_host *h, uint32_t local)
{
	return (struct mu_task_area *)((char *)h + (uint64_t)h->areas_at_pages * 4096 +
	                               h->area_bytes * local);
}

static inline struct mu_channel_area *mu_host_channel(struct mu_host *h, uint32_t local, uint32_t channel)
{
	return (struct mu_channel_area *)((char *)mu_host_area(h, local) + MU_AREA_HEAD +
	                                  (uint64_t)MU_CHANNEL_BYTES * channel);
}

/* Whoever serves the channel of this ring of task `local` shall look: one load if nobody sleeps. */
static inline void mu_host_wake(struct mu_host *h, uint32_t local, const struct drv_ring *ring)
{
	__asm__ volatile("" ::: "memory"); /* the record first */
	drv_wake_ring(&mu_host_area(h, local)->wake[__atomic_load_n(&ring->user, __ATOMIC_RELAXED) % MU_WAKES]);
}

/* Whoever it is, of all that sleep in this task. */
static inline void mu_host_wake_all(struct mu_host *h, uint32_t local)
{
	struct mu_task_area *a = mu_host_area(h, local);

	for (uint32_t i = 0; i < __atomic_load_n(&a->wakes, __ATOMIC_RELAXED); i++)
		drv_wake_ring(&a->wake[i]);
}

/*
 * And who looked before the store and has not yet said that it sleeps: it looks at `posted` last (thread.c). A channel
 * watches one word, and its task may wait for several.
 */
static inline void mu_host_wake_surely(struct mu_host *h, uint32_t local)
{
	__atomic_fetch_add(&mu_host_area(h, local)->posted.seq, 1, __ATOMIC_SEQ_CST);
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

static inline char *mu_host_arena(struct mu_host *h, uint32_t local)
{
	return (char *)h + (uint64_t)h->arenas_at_pages * 4096 + h->arena_bytes * local;
}

/* Records of this host's tasks for other hosts; drained by the agent (holder MU_HOLDER_AGENT). */
static inline struct drv_ring *mu_host_outbound(struct mu_host *h)
{
	return (struct drv_ring *)((char *)h + (uint64_t)h->outbound_at_pages * 4096);
}

/* Fabric torus, real clock: the routers of this host (mu/node_live.c); 0 bytes otherwise. */
uint64_t mu_host_routers_bytes(const struct mu_host_conf *conf);
int mu_host_routers_init(struct mu_host *h, const struct mu_host_conf *conf);
static inline void *mu_host_routers(struct mu_host *h)
{
	return (char *)h + (uint64_t)h->routers_at_pages * 4096;
}

/* What stands for a ring in a claim: any number that is its own and not 0. */
static inline uint64_t mu_ring_name(const struct mu_host *h, const struct drv_ring *ring)
{
	return (uint64_t)((const char *)ring - (const char *)h);
}

/* Fabric torus: is that host gone, with its routers? */
static inline int mu_host_lost(const struct mu_host *h, uint32_t host)
{
	return __builtin_expect(__atomic_load_n(&h->peer[host].lost, __ATOMIC_ACQUIRE) != 0, 0);
}

/* enum mu_task_end of a task. */
static inline unsigned mu_host_gone(struct mu_host *h, uint32_t task)
{
	return __atomic_load_n(&mu_host_entry(h, task)->gone, __ATOMIC_ACQUIRE);
}
/* Agent: a task is gone. Idempotent; does not wake anybody. Returns whether it was news. */
int mu_host_task_gone(struct mu_host *h, uint32_t task, enum mu_task_end how);
/* Agent, fabric torus: a host is lost, with its routers. The same. */
int mu_host_set_lost(struct mu_host *h, uint32_t host);

/*
 * The reader of a ring of this host finds nothing, yet space in it was reserved: if a task that is
 * gone reserved it, that will never change, and the reader goes on behind it. Returns whether it
 * did. A task that lives and may have reserved it instead is waited for.
 */
int mu_ring_heal(struct mu_host *h, struct drv_ring *ring, struct drv_ring_rx *rx);

/* Traffic of a channel with each node, [nodes]. NULL: not counted. */
static inline struct mu_traffic *mu_host_traffic(struct mu_host *h, uint32_t local, uint32_t channel)
{
	return !h->traffic_bytes ? NULL :
	       (struct mu_traffic *)((char *)h + (uint64_t)h->traffic_at_pages * 4096 +
	                             h->traffic_bytes * local) + (size_t)channel * emu_shape_nodes(&h->shape);
}

/* Our address of `bytes` at virtual address va of local task `local`, or NULL: not in the segment. */
static inline void *mu_host_translate(struct mu_host *h, uint32_t local, uint64_t va, uint64_t bytes)
{
	uint64_t off = va - mu_host_area(h, local)->map_base;

	return off < h->bytes && bytes <= h->bytes - off ? (char *)h + off : NULL;
}

/* Task number of local task `local` (the l-th with our host number), and back through entry->local. */
uint32_t mu_host_task(struct mu_host *h, uint32_t local);

#endif
