/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private structures of an attached process and its channels.
 *
 * Threads: a channel's software side belongs to the thread that uses the channel; its engine
 * (injection, reception) runs under channel->engine, taken by that thread while it polls, or by
 * the engine thread when nobody has polled for a while. Port and wires run under process->holding.
 */
#ifndef MU_PROCESS_H
#define MU_PROCESS_H

#include <pthread.h>
#include <sys/types.h>

#include "emu/route.h"
#include "emu/router.h"
#include "mu/desc.h"
#include "mu/host.h"
#include "mu/inj_fifo.h"
#include "mu/mu.h"
#include "mu/rec_fifo.h"

#define MU_PIECE_BYTES  8192u /* largest payload of one record in a ring */
#define MU_ACKS         512u  /* flushes under way per channel */
#define MU_FAULTS       64u   /* tasks that told of missing memory, between two polls; more count as all */
#define MU_REC_BYTES    (1u << 20) /* reception FIFO */
#define MU_REC_PACKETS  (MU_REC_BYTES / 32)
#define MU_SPILL_MAX    (256ull << 20) /* bytes of one channel's overflow list */

/* Software bytes of the MU's own memory-FIFO packets (software bit set). */
struct mu_internal {
	uint8_t kind;     /* enum mu_internal_kind */
	uint8_t channel;  /* fault: whose operation at the initiator */
	uint16_t index;   /* ack: entry of the initiator's table */
	uint32_t error;   /* positive errno */
	uint32_t generation;
	uint8_t pad[2];
} __attribute__((packed));
_Static_assert(sizeof(struct mu_internal) == MU_SOFT_BYTES, "fits the software bytes");

enum mu_internal_kind { MU_INTERNAL_ACK = 1, MU_INTERNAL_FAULT };

/* A record that found its FIFO full: kept in order on a list of the channel's own. */
struct mu_spill {
	struct mu_spill *next;
	uint32_t source, bytes;
	MUHWI_PacketHeader_t header;
	_Alignas(16) unsigned char payload[];
};

struct mu_ack {
	struct mu_op *op; /* owner's; NULL: free */
	uint32_t task;
	uint32_t generation; /* atomic; written by the owner, last: the engine may be another thread's */
	/* The engine's, as long as generation is another than answered. */
	uint32_t answered; /* the generation that was answered */
	uint32_t error;    /* positive errno; 0 */
	uint32_t next;     /* in the list of answers: index + 1, 0 ends it */
};

struct mu_slot {
	struct mu_op *op, *op2; /* told when the descriptor is done */
	void *heap;       /* payload buffer to free then */
	int result;
};

/* Engine's place in one injection FIFO. */
struct mu_inj_engine {
	uint64_t sent; /* bytes of the descriptor at head that have left */
};

/* A channel's way to a channel of its host. */
struct mu_out {
	struct drv_ring *ring; /* NULL: not used yet */
	struct drv_wake *wake; /* [MU_WAKES] of the other task */
	struct drv_lane *lane; /* ours there; up to MU_LANE_NONE: none, records it got */
};

struct mu_channel {
	struct mu_process *p;
	struct mu_channel_area *a;
	struct mu_traffic *traffic; /* NULL: not counted */
	unsigned index;
	mu_receive_fn receive;
	void *arg;
	/* Written before space in a ring of this host is taken; NULL: a death ends the job. */
	struct drv_ring_claim *claim_user, *claim_engine;
	uint32_t gone_seen;  /* the host's count for which everything was done */
	uint32_t gone_noted; /* the same, for which gone_tail was set */
	uint64_t gone_tail;  /* what the ring held when we learnt of it comes first */
	void (*on_gone)(void *arg);

	uint32_t engine;  /* lock: engine state below */
	uint32_t inside;  /* the using thread holds it and is in a callback */
	struct drv_ring_rx rx;
	struct drv_lane_rx lane_rx[MU_LANES];
	uint32_t lane_source[MU_LANES]; /* whose they are; UINT32_MAX: not looked at yet */
	struct mu_inj_engine inj_engine, rget_engine;
	MUSPI_RecFifo_t *rec; /* allocated when first needed */
	MUHWI_Fifo_t rec_hw;
	uint32_t *rec_source; /* [MU_REC_PACKETS] source task of each packet in rec, a ring */
	uint64_t rec_appended;
	void *rec_memory;
	struct mu_spill *spill_first, **spill_last;
	uint64_t spill_bytes;
	MUHWI_Descriptor_t *rget_more; /* remote-get descriptors beyond the FIFO, a ring */
	uint32_t rget_more_count, rget_more_size, rget_more_first;

	/* Software's side. */
	struct mu_out *out; /* [locals * channels] ways to channels of this host */
	MUSPI_InjFifo_t inj;
	uint64_t retired; /* descriptors whose slot was cleaned up */
	struct mu_op *done_first, **done_last; /* to be called at the next poll */
	struct mu_slot slot[MU_INJ_SLOTS];
	struct mu_op *counter_op[MU_COUNTERS];
	uint16_t counter_free[MU_COUNTERS], counter_busy[MU_COUNTERS], counters_free, counters_busy;
	uint32_t counter_task[MU_COUNTERS];
	uint64_t counter_to[MU_COUNTERS], counter_end[MU_COUNTERS]; /* our own memory that the get fills; 0: none */
	struct mu_ack ack[MU_ACKS];
	uint16_t ack_free[MU_ACKS], acks_free;
	uint32_t share_generation;
	struct {
		uint32_t task; /* UINT32_MAX: of any */
		int error;
	} fault[MU_FAULTS]; /* told by targets of gets, for the owner of the channel to end them */
	uint32_t faults, fault_lock;
	uint32_t acks_arrived; /* list, latest first: pushed by the engine, in any thread, taken by the poll */
	const uint64_t *watch; /* mu_watch(); any thread of the process may look */
	uint64_t watch_value;
	struct drv_wake *watch_bell; /* mu_watch_far(); else NULL; likewise */
	int (*pending)(const void *arg); /* software's own work; any thread of the process may ask */
	uint8_t owned; /* a commthread serves it now; atomic */
	uint32_t node_fifos; /* of its node that this channel's engine runs; bit per FIFO, atomic */
	_Alignas(64) uint64_t stamp; /* polls so far; read by the engine thread */
	uint64_t stamp_seen;         /* engine thread's */
	uint64_t still_ns;           /* likewise: the stamp stands still so long */
	uint64_t bad;                /* refused descriptors and packets */
};

/* A channel given to the commthreads (commthread.c). Under `running`, which is held while fn runs. */
struct mu_comm_entry {
	uint32_t running;
	uint8_t owner;     /* commthread */
	uint8_t shared;    /* idle threads of the program help */
	uint8_t kept_out;  /* the last call could not poll: somebody holds the context */
	struct mu_channel *ch;
	int (*fn)(void *); /* NULL: not given */
	void *arg;
	uint64_t stamp;    /* of the channel, as the owner left it */
	uint64_t look_at;  /* ns; stepped aside until then; 0: it serves */
	int64_t tick_ns;
};

struct mu_comm_thread {
	pthread_t thread;
	unsigned number;
	int runs;
};

struct mu_comm {
	uint32_t lock;   /* giving and taking back */
	unsigned max;    /* threads there may be */
	unsigned min_loops, max_loops;
	int64_t sleep_ns; /* 0: be woken; atomic */
	int spins;        /* never sleep; atomic */
	uint32_t count, shared; /* channels given; of them, those helped with */
	uint32_t wanted;        /* messages came for one that idle threads help with, in a poll of another */
	uint64_t mine[MU_COMMTHREADS]; /* channels of each thread; atomic */
	struct mu_comm_entry entry[MU_CHANNELS_MAX];
	struct mu_comm_thread thread[MU_COMMTHREADS]; /* [0] is the engine thread, and not in here */
};

struct mu_process {
	unsigned refs;
	int forked;
	int single; /* a job of one that we made */
	pid_t pid;
	int fd;
	struct mu_host *host;
	struct mu_task_entry *entry; /* [tasks] */
	struct mu_task_area *area;   /* own */
	uint32_t task, local, own_number;
	uint32_t tasks; /* of the job; 0 in a forked child, so that nothing can be sent */
	uint16_t own_host;
	uint8_t channels, virtual_clock;
	uint8_t *near; /* [tasks] reached through shared memory: same host on express, same node on torus */
	struct drv_ring_tx *tx;      /* [locals * channels] */
	struct mu_channel *channel[MU_CHANNELS_MAX];
	uint32_t channels_open;      /* highest index in use + 1 */
	uint32_t channels_lock;      /* held by the engine thread while it walks them */
	int cma_refused;             /* process_vm_* between tasks not permitted; atomic */

	struct mu_holder *holder;    /* MU_HOLDER_TASK: ours */
	uint32_t holding;            /* lock of holder */
	struct mu_channel *here;     /* dispatching from the wires, with the lock held, on this channel */
	uint64_t behind;             /* bit per channel that others help with, for which gets came meanwhile; under the lock */
	struct drv_ring_tx outbound_tx;
	struct mu_live *live;        /* fabric torus */
	uint8_t *cut;                /* [tasks] the way there or back leads over a lost host; NULL: no host is lost */
	uint32_t lost_seen, cut_lock;

	pthread_t thread;
	int thread_runs, thread_stop;
	uint32_t spin_us;            /* polls spin this long before they sleep */
	uint32_t yield_us;           /* and this long before they yield, where every task has a core */
	uint32_t sharers;            /* tasks that share the processors this one may use */
	int yields;                  /* more tasks than cores: an empty poll yields at once */
	int shares;                  /* large copies are done by both tasks (share.c) */
	int lanes;                   /* small messages to near tasks go through lanes (lane.c) */
	uint32_t waiting;            /* threads asleep in mu_poll() */
	struct mu_comm comm;

	struct mu_job job;
	size_t local_list[64];
	uint32_t *group_list; /* tasks of the group */
	uint32_t *task_of;           /* [nodes * T] task at that place, UINT32_MAX none */
};

extern struct mu_process mu_self;
extern __thread uint32_t mu_in_poll; /* virtual time: this thread is in a progress call */

/* Locks: a byte-sized try-lock with acquire and release. */
static inline int mu_try(uint32_t *lock)
{
	return !__atomic_load_n(lock, __ATOMIC_RELAXED) && !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);
}
void mu_lock_slow(uint32_t *lock);
static inline void mu_lock(uint32_t *lock)
{
	if (!mu_try(lock))
		mu_lock_slow(lock);
}
static inline void mu_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

static inline int mu_cma_refused(const struct mu_process *p)
{
	return __atomic_load_n(&p->cma_refused, __ATOMIC_RELAXED);
}
static inline void mu_cma_refuse(struct mu_process *p)
{
	__atomic_store_n(&p->cma_refused, 1, __ATOMIC_RELAXED);
}

/* The port's lock, which the thread that uses a channel has already while records are dispatched
 * on it from the wires. 0: somebody else has it. */
static inline int mu_hold(struct mu_process *p, const struct mu_channel *ch)
{
	return (ch && __atomic_load_n(&p->here, __ATOMIC_RELAXED) == ch) || mu_try(&p->holding);
}
static inline void mu_hold_end(struct mu_process *p, const struct mu_channel *ch)
{
	if (!ch || __atomic_load_n(&p->here, __ATOMIC_RELAXED) != ch)
		mu_unlock(&p->holding);
}

/* Is the task out of reach for good, since a host between us is lost? --on-death error, fabric torus. */
static inline int mu_cut(const struct mu_process *p, uint32_t task)
{
	const uint8_t *cut = __atomic_load_n(&p->cut, __ATOMIC_ACQUIRE);

	return __builtin_expect(cut != NULL, 0) && __atomic_load_n(&cut[task], __ATOMIC_RELAXED);
}

/* Has the task died or left, or is it out of reach? --on-death error only. */
static inline int mu_gone(const struct mu_process *p, uint32_t task)
{
	return __builtin_expect(__atomic_load_n(&p->entry[task].gone, __ATOMIC_ACQUIRE), 0) || mu_cut(p, task);
}

/* Is [va, va + bytes) of this process inside its mapping of the segment (safe to touch)? */
static inline int mu_in_segment(const struct mu_process *p, uint64_t va, uint64_t bytes)
{
	uint64_t off = va - (uint64_t)(uintptr_t)p->host;

	return off < p->host->bytes && bytes <= p->host->bytes - off;
}

/*
 * memory.c: copies that survive bad addresses. 0 or -EFAULT, -EPERM ...
 * One round of an engine that reads what a remote get names: [from, to) was found readable in this round. Pages are
 * looked at further than a piece needs, up to the end of what the get names, since one look at many is cheaper.
 */
struct mu_look {
	uint64_t end, from, to;
};
int mu_copy_in(struct mu_process *p, void *to, uint64_t from_va, uint64_t bytes, struct mu_look *look); /* own memory; look: or NULL */
void mu_copy_end(void); /* no copies any more: give back what they kept open */
int mu_copy_out(struct mu_process *p, uint64_t to_va, const void *from, uint64_t bytes); /* own memory */
int mu_copy_own(uint64_t to_va, const void *from, uint64_t bytes); /* named by our own caller: not looked at */
int mu_copy_to(struct mu_process *p, uint32_t local, uint64_t to_va, const void *from, uint64_t bytes);
int mu_copy_from(struct mu_process *p, uint32_t local, void *to, uint64_t from_va, uint64_t bytes);
/* share.c: the same as mu_copy_to (put) or mu_copy_from, the other task helping if it polls `channel`. */
int mu_share_copy(struct mu_channel *ch, uint32_t task, unsigned channel, void *mine, uint64_t theirs,
                  uint64_t bytes, int put);
void mu_share_help(struct mu_channel *ch);
void mu_counter_sub(struct mu_process *p, uint64_t counter, uint64_t bytes); /* in own memory */

/* Count `bytes` of payload that went to (or were fetched from) a task; packets are 512 bytes at most. */
static inline void mu_traffic_add(struct mu_channel *ch, uint32_t task, uint64_t bytes, enum mu_traffic_kind kind)
{
	uint64_t packets = bytes > MU_PACKET_BYTES ? (bytes + MU_PACKET_BYTES - 1) / MU_PACKET_BYTES : 1;
	struct mu_traffic *t = ch->traffic;

	if (!t)
		return;
	t += ch->p->entry[task].node;
	__atomic_store_n(&t->kind[kind].packets, t->kind[kind].packets + packets, __ATOMIC_RELAXED);
	__atomic_store_n(&t->kind[kind].bytes, t->kind[kind].bytes + packets * (32 + 8) + ((bytes + 31) & ~31ull),
	                 __ATOMIC_RELAXED);
}

/* engine_inject.c: run both injection FIFOs as far as they go; engine lock held. Returns work done. */
int mu_engine_inject(struct mu_channel *ch);
static inline int mu_fifo_pending(const MUHWI_Fifo_t *f)
{
	return __atomic_load_n(&f->pa_head, __ATOMIC_RELAXED) != __atomic_load_n(&f->pa_tail, __ATOMIC_RELAXED);
}
/* engine_node.c: the FIFOs of the node that are this channel's to run. */
int mu_engine_node(struct mu_channel *ch);
int mu_node_pending(struct mu_channel *ch);
/* Any thread may ask; the answer is certain under the engine lock. */
static inline int mu_inject_pending(struct mu_channel *ch)
{
	if (__builtin_expect(__atomic_load_n(&ch->node_fifos, __ATOMIC_RELAXED), 0) && mu_node_pending(ch))
		return 1;
	return mu_fifo_pending(&ch->a->inj) || mu_fifo_pending(&ch->a->rget) ||
	       __atomic_load_n(&ch->rget_more_count, __ATOMIC_RELAXED);
}
int mu_rget_append(struct mu_channel *ch, const unsigned char *desc, uint32_t bytes);

/* engine_receive.c: take up to `budget` records; dispatch: call receive functions, else store. */
int mu_engine_receive(struct mu_channel *ch, int budget, int dispatch);
/* One record, from wherever; 0, or -EAGAIN: no room (store mode only). */
int mu_receive_record(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
                      const unsigned char *payload, uint32_t bytes, int dispatch);
int mu_fault_tell(struct mu_channel *ch, uint32_t task, unsigned channel, int error);

/* gone.c: tasks have gone since the last look. Engine lock held by the thread that uses the channel, after a
 * round of reception. Returns whether all is done: on_gone is to be called. */
int mu_gone_sweep(struct mu_channel *ch);
static inline int mu_gone_news(const struct mu_channel *ch)
{
	return __builtin_expect(__atomic_load_n(&ch->p->host->gone, __ATOMIC_RELAXED) != ch->gone_seen, 0);
}

/* channel.c */
void mu_retire(struct mu_channel *ch);
void mu_inject_now(struct mu_channel *ch);
void mu_op_later(struct mu_channel *ch, struct mu_op *op, int result); /* queue its done */
void mu_ack_done(struct mu_channel *ch, const struct mu_internal *m);
void mu_fault_seen(struct mu_channel *ch, uint32_t task, int error);
/* Gets to those tasks end with the error. Thread: the channel's owner, also before it begins another get. */
void mu_faults_take(struct mu_channel *ch);

/*
 * lane.c: lanes of ours at other channels. Those who have sent a channel MU_LANE_RECORDS records get one, while
 * there are any.
 */
#define MU_LANE_RECORDS 8u
#define MU_LANE_NONE    ((struct drv_lane *)64) /* they are all taken */
static inline int mu_lane_is(const struct drv_lane *l)
{
	return (uintptr_t)l > (uintptr_t)MU_LANE_NONE;
}
/* No record fitted, or something is to be done first. The lane, ready for a record; or NULL: use the ring. */
struct drv_lane *mu_lane_get(struct mu_channel *ch, struct mu_out *o);
/* A record that was put into the ring comes before what follows in the lane. position: as published. */
static inline void mu_lane_after(struct drv_lane *l, uint64_t position)
{
	if (mu_lane_is(l))
		l->after = (position >> 16) - 1 + (position & 0xffff);
}
/* Receiving: up to `budget` records of each lane in `lanes`; -EAGAIN: no room to store one. */
int mu_lane_receive(struct mu_channel *ch, uint32_t lanes, int budget, int dispatch);
static inline uint32_t mu_lanes(const struct mu_channel *ch)
{
	return __atomic_load_n(&ch->a->ring.lanes, __ATOMIC_ACQUIRE);
}
/* Any thread: does a lane hold anything? gone: of a task that is gone. */
int mu_lane_ready(struct mu_channel *ch, int gone);
void mu_lane_open(struct mu_channel *ch);
void mu_lane_close(struct mu_channel *ch);

/* path.c: one piece toward its destination. look: of memory named by others, else NULL. 0, -EAGAIN: no room now, or negative errno. */
int mu_path_send(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h, const void *payload,
                 uint32_t bytes, struct mu_look *look);
void mu_path_flush(struct mu_process *p, struct mu_channel *ch); /* ch: ours, or NULL */
struct drv_ring *mu_ring(struct mu_host *host, uint32_t local, unsigned channel);
void mu_out_find(struct mu_channel *ch, struct mu_out *o, uint32_t local, unsigned channel);
static inline struct mu_out *mu_out(struct mu_channel *ch, uint32_t local, unsigned channel)
{
	struct mu_out *o = &ch->out[local * ch->p->channels + channel];

	if (__builtin_expect(!__atomic_load_n(&o->ring, __ATOMIC_ACQUIRE), 0))
		mu_out_find(ch, o, local, channel);
	return o;
}
/* Whoever serves the channel there shall look, if it sleeps. */
static inline void mu_out_wake(const struct mu_out *o)
{
	__asm__ volatile("" ::: "memory"); /* the record first */
	drv_wake_ring(&o->wake[__atomic_load_n(&o->ring->user, __ATOMIC_RELAXED) % MU_WAKES]);
}
uint32_t mu_path_piece(struct mu_process *p, uint32_t task); /* largest piece on that path */
/* A record for a local task, into its ring: the holder and the routers deliver with it. */
int mu_deliver(struct mu_host *host, struct drv_ring_tx *tx, uint32_t local, unsigned channel,
               const MUHWI_PacketHeader_t *h, uint32_t source, const unsigned char *payload, uint32_t bytes);

/* coll.c: a node's part in class route 0. */
void mu_world_class(const struct emu_shape *shape, uint32_t node, ClassRoute_t *c);

/* A put through a node's table: the class route it names, or NULL: a plain one. */
static inline struct mu_node_class *mu_put_class(struct mu_host *host, uint32_t node, const MUHWI_PacketHeader_t *h)
{
	unsigned id = h->messageUnitHeader.Packet_Types.Direct_Put.Rec_Payload_Base_Address_Id;

	if ((h->NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0) != MUHWI_PACKET_TYPE_PUT || id < MU_NODE_TABLE ||
	    id >= MU_NODE_TABLE + 2 * MU_CLASSES)
		return NULL;
	return &mu_host_node(host, node)->class[(id - MU_NODE_TABLE) / 2];
}

/* Injection queue of a packet along a line (its one hint bit is set). */
static inline unsigned mu_line_queue(const MUHWI_PacketHeader_t *h)
{
	unsigned hints = emu_hints_get(&h->NetworkHeader.pt2pt) & 0x3ff;

	return EMU_INJECTION_LINE + (hints ? 9u - (unsigned)__builtin_ctz(hints) : 0);
}

static inline uint64_t *mu_class_counter(struct mu_node_class *k, const MUHWI_PacketHeader_t *h)
{
	return &k->counter[(h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset >> 3) % MU_CLASS_COUNTERS];
}

/* thread.c */
int mu_thread_start(struct mu_process *p);
void mu_thread_stop(struct mu_process *p);
void mu_idle(struct mu_channel *ch); /* an empty poll: spin, yield or sleep */

/* How this thread's waiting goes, whichever channels it polls. */
struct mu_idle_state {
	uint32_t count; /* empty polls in a row */
	uint32_t seq;   /* the posted word as the last of them saw it */
	int shared;     /* a thread that waits too runs on this core: yield to it soon */
	int helping;    /* another channel is polled right behind ours: the port has been looked at */
	/* A thread that computes does, on robbed_cpu: sleep `robbed` times instead of yielding; robbed_last at first. */
	unsigned robbed, robbed_last;
	int robbed_cpu;
	uint64_t since; /* ticks */
	int64_t sleep_ns;
};
extern _Thread_local struct mu_idle_state mu_idle_state __attribute__((tls_model("initial-exec")));

static inline uint32_t mu_task_at(const struct mu_process *p, uint32_t coords, unsigned number)
{
	struct emu_coord x;
	uint32_t node;
	unsigned t = number / p->channels;

	emu_coord_from_word(coords, &x);
	for (int d = 0; d < EMU_DIMS; d++)
		if (x.c[d] >= p->host->shape.n[d])
			return UINT32_MAX;
	node = emu_coord_node(&p->host->shape, &x);
	return t < p->host->shape.t ? p->task_of[node * p->host->shape.t + t] : UINT32_MAX;
}

#endif
