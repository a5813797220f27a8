/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A channel: one injection FIFO, one remote-get FIFO, one reception ring, and the operations that
 * are under way on them. PAMI has one for each context.
 *
 * Each part of struct mu_channel says which thread may touch it:
 *
 *   user thread   the thread of the program (or the commthread) that uses the channel. One at a
 *                 time: PAMI's context lock, or the program, sees to that.
 *   engine        the holder of engine.lock: the user thread while it polls or sends, else the
 *                 engine thread, if no thread has polled for a while.
 *   any           every thread of the process; the fields are atomic.
 */
#ifndef MU_CHANNEL_CHANNEL_H
#define MU_CHANNEL_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "mu/engine/pin.h"
#include "mu/hw/inj_fifo.h"
#include "mu/hw/rec_fifo.h"
#include "mu/lock.h"
#include "mu/mu.h"
#include "mu/raw.h"
#include "mu/segment/host.h"
#include "mu/segment/places.h"
#include "mu/transport/circle.h"

#define MU_PIECE_BYTES 8192u /* largest payload of one record in a ring */
#define MU_ACKS        512u  /* flushes in flight per channel */
#define MU_NO_CHANNEL  UINT32_MAX
#define MU_PAGES_KNOWN 1024u      /* power of two */
#define MU_REC_BYTES   (1u << 20) /* reception FIFO */
#define MU_REC_PACKETS (MU_REC_BYTES / 32)
#define MU_SPILL_MAX   (256ull << 20) /* bytes of one channel's overflow list */

struct mu_process;
struct mu_internal;

typedef int (*mu_has_work_fn)(const void *arg);

/* A record that found the reception FIFO full. The list keeps the order of arrival. */
struct mu_spill {
	struct mu_spill *next;
	uint32_t source, bytes;
	MUHWI_PacketHeader_t header;
	_Alignas(16) unsigned char payload[];
};

/* A flush in flight: an entry is free, or waits for the target's answer. */
struct mu_ack {
	struct mu_op *op;  /* user thread; NULL: the entry is free */
	atomic_u32 task;   /* target */
	uint32_t channel;  /* of the target; MU_NO_CHANNEL: an atomic */
	uint64_t injected; /* descriptors in the FIFO before this one, or before its put */
	/* The user thread writes it last, since another thread may run the engine. */
	atomic_u32 generation;
	/* Engine, as long as `generation` differs from `answered`. */
	uint32_t answered; /* generation that was answered */
	uint32_t error;    /* positive errno; 0: none */
	uint32_t next;     /* in the list of answers: index + 1; 0 ends it */
	uint64_t value;    /* of an atomic: the old value */
};

/* What completes when the descriptor in an injection slot is done. */
struct mu_slot {
	struct mu_op *op, *op2;
	void *heap; /* payload buffer to free then */
	int result;
	uint16_t next; /* engine: in the list done_early: index + 1; 0 ends it */
};

/* The engine's place in one injection FIFO. */
struct mu_inj_engine {
	uint64_t sent; /* bytes of the descriptor at the head that have left */
};

/*
 * Engine: the injection or remote-get FIFO while a long message is at its head. The descriptors in
 * it are given to the engines to which their destinations are pinned, so that none waits for the
 * long message of another engine. The head passes those that are done, in order.
 */
#define MU_SLOT_NONE 0xffffu
struct mu_pinned {
	uint32_t inside;        /* slots that were given out and that the head has not passed */
	uint64_t take;          /* the next descriptor to give out, counted as descCount */
	uint64_t since;         /* injection in traced jobs: when the first was given out */
	uint64_t sent[MU_PINS]; /* bytes of the first descriptor that have left */
	uint16_t first[MU_PINS], last[MU_PINS]; /* slots given to each engine, or MU_SLOT_NONE */
	uint16_t next[MU_INJ_SLOTS];
	uint8_t done[MU_INJ_SLOTS];
};
_Static_assert(MU_INJ_SLOTS == MU_RGET_SLOTS, "one structure for both FIFOs");

/*
 * Memory that other tasks name, as far as it was found to be there in one round of an engine
 * (mu/engine/memory.h). A round ends before the program runs, since that may unmap memory.
 */
struct mu_checked_range {
	uint64_t end;      /* remote gets: the end of what the get names */
	uint64_t from, to; /* [from, to) is there */
	uint32_t asked;    /* puts: short pieces of this round whose pages were asked for */
	bool is_writable;  /* the range can be written, too */
	bool is_odd;       /* memory of this round was not plain: do not ask again */
};

/* The way from this channel to one channel of its host. */
struct mu_near_path {
	ATOMIC(struct drv_ring *) ring; /* NULL: not used yet */
	ATOMIC(struct drv_wake *) wake; /* [MU_WAKES] of the other task */
	struct drv_lane *lane;          /* user thread: our lane there; NULL: none */
	/* User thread: records that went through the ring because there is no lane. At
	 * MU_LANE_RECORDS the channel claims one; MU_LANE_REFUSED: all were taken. */
	uint32_t ring_records;
};

/* Engine: what injects and who may. */
struct mu_channel_engine {
	struct mu_spinlock lock;
	uint32_t in_callback; /* the user thread holds the lock and may be in a callback */
	/* User thread: the channel in whose callback it began to poll this one; NULL: none. */
	struct mu_channel *outer;
	struct mu_inj_engine inj, rget;
	atomic_u32 node_fifos; /* bitmap: FIFOs of the node that this channel's engine runs */
	/* Written before the engine takes space in a ring of this host; NULL: a death ends the
	 * job. */
	struct drv_ring_claim *claim;
	uint64_t refused; /* descriptors and packets */
	/* Traced jobs: when the engine first saw the descriptor at the head; 0: not yet. */
	uint64_t head_since;
};

/* Engine: messages that came from the wires (engine/batch.h). */
struct mu_batch {
	unsigned char *memory; /* allocated when first needed */
	uint32_t first, end;   /* bytes; equal: it is empty */
	uint32_t taken;        /* bytes of the first record, if that is a run of short messages */
};

/* Engine: reception. A record goes from the ring or a lane to the receive function. Between hosts,
 * and where the engine may not dispatch, it goes to the batch, to the reception FIFO or beyond it
 * to the spill list. */
struct mu_channel_rx {
	struct drv_ring_rx ring;
	struct mu_checked_range written; /* puts of this round */
	/* The round of the port holder that `written` is of, and its queue in the upper half. */
	uint64_t written_round;
	bool stopped; /* user thread: software wants no message now, mu_channel_allow_dispatch() */
	struct drv_lane_rx lane[MU_LANES];
	uint32_t lane_source[MU_LANES]; /* source task; UINT32_MAX: not known yet */
	struct mu_batch batch;
	MUSPI_RecFifo_t *fifo; /* allocated when first needed */
	MUHWI_Fifo_t fifo_hw;
	uint32_t *fifo_source; /* [MU_REC_PACKETS] source task of each packet, a ring */
	uint64_t fifo_appended;
	struct mu_full_watch full; /* rec_fifo=strict */
	void *fifo_memory;
	struct mu_spill *spill_first, **spill_last;
	uint64_t spill_bytes;
};

/* Engine: remote-get descriptors that did not fit the remote-get FIFO, a ring. */
struct mu_channel_rget {
	MUHWI_Descriptor_t *overflow;
	atomic_u32 overflow_count; /* any thread may ask whether it is 0 */
	uint32_t overflow_size, overflow_first;
};

/* User thread: sending. */
struct mu_channel_tx {
	/* Written before the user thread takes space in a ring of this host; NULL: a death ends
	 * the job. */
	struct drv_ring_claim *claim;
	struct mu_near_path *near; /* [locals * channels] */
	/* The head of the FIFO when it is empty, which is its tail; 0 with QUINTORUS_MU=fifo. */
	uint64_t idle_head;
	MUSPI_InjFifo_t fifo;
	uint64_t retired; /* descriptors whose slot was cleaned up */
	struct mu_slot slot[MU_INJ_SLOTS];
	uint32_t share_generation;
};

/* User thread: operations in flight and those to be completed at the next poll. The engine hands
 * answers over through the atomic fields. */
struct mu_channel_completion {
	struct mu_op *done_first, **done_last; /* called at the next poll */
	struct mu_op *counter_op[MU_COUNTERS];
	uint16_t counter_free[MU_COUNTERS], counter_busy[MU_COUNTERS], counters_free, counters_busy;
	uint32_t counter_task[MU_COUNTERS];
	/* Positive errno; written by the engine before it zeroes the counter. */
	int counter_error[MU_COUNTERS];
	/* [counter_to, counter_end) is own memory that the get fills; end 0: none. */
	atomic_u64 counter_to[MU_COUNTERS], counter_end[MU_COUNTERS];
	struct mu_ack ack[MU_ACKS];
	uint16_t ack_free[MU_ACKS], acks_free;
	/* List of answered flushes, latest first. The engine pushes, the poll takes all. */
	atomic_u32 acks_arrived;
	/* The same for slots that are done before the head of the FIFO passes them. */
	atomic_u32 done_early;
};

/* User thread: what this channel did about tasks that died. */
struct mu_channel_death {
	uint32_t applied;   /* the host's count of deaths for which all is done */
	uint32_t noted;     /* the count for which ring_tail was set */
	uint64_t ring_tail; /* records up to here arrived before the channel learnt of the death */
	void (*notify)(void *arg);
};

/* Any: what a thread that is about to sleep checks. */
struct mu_channel_watch {
	ATOMIC(const uint64_t *) word; /* mu_watch() */
	atomic_u64 value;
	ATOMIC(struct drv_wake *) bell;  /* mu_watch_remote(); else NULL */
	ATOMIC(mu_has_work_fn) has_work; /* software's own work; NULL: none */
};

/* Any: who serves the channel. */
struct mu_channel_progress {
	atomic_u8 owned;               /* a commthread serves it now */
	_Alignas(64) atomic_u64 stamp; /* polls so far; the engine thread reads it */
	uint64_t stamp_seen;           /* engine thread */
	uint64_t still_ns;             /* engine thread: for how long the stamp did not move */
};

/* The queues of the port that this task holds, as the channel sees them (transport/wire.c). */
#define MU_QUEUES_MAX DRV_PORT_QUEUES_MAX
struct mu_queue;
struct mu_channel_queues {
	struct mu_queue *own; /* constant */
	/* Bitmap of other queues into whose wires the engine wrote since the last flush. Any. */
	atomic_u32 dirty;
	/* User thread: */
	uint32_t looks;               /* polls that had other queues to think of */
	uint32_t busy;                /* so many polls more look at the orphans every time */
	uint32_t orphans;             /* bitmap of queues that no thread polled lately */
	uint32_t seen[MU_QUEUES_MAX]; /* their polls when this channel last counted */
};

/* User thread: mu_is_buffer_mapped(): own memory that existed. */
struct mu_channel_memory {
	uint64_t page[MU_PAGES_KNOWN]; /* number of a page, then a bit: it could be written, too */
	uint64_t from, to;             /* a range of many pages */
	int writable;                  /* so could the range */
};

struct mu_pace;
struct mu_channel {
	struct mu_process *p;
	struct mu_channel_area *a;  /* in the host segment: FIFOs, counters, ring, lanes */
	struct mu_traffic *traffic; /* NULL: not counted */
	unsigned index;
	mu_receive_fn receive;
	void *arg;
	mu_note_fn on_note; /* under the engine's lock, as on_raw */
	mu_raw_fn on_raw;
	struct mu_channel_engine engine;
	struct mu_pinned pinned, pinned_gets; /* of the injection and the remote-get FIFO */
	struct mu_channel_rx rx;
	struct mu_channel_rget rget;
	struct mu_channel_tx tx;
	struct mu_channel_completion completion;
	struct mu_channel_death death;
	struct mu_channel_watch watch;
	struct mu_channel_progress progress;
	struct mu_channel_memory memory;
	struct mu_channel_queues queues;
	struct mu_pace *pace; /* user thread; NULL: no get was paced yet */
	/* Engine: where descriptors go, [1] those of the remote-get FIFO. */
	struct mu_places_last target[2];
};

/* Free the slots of descriptors that are done and queue their operations for completion. */
void mu_retire_descriptors(struct mu_channel *ch);
/* User thread: complete counters and flushes that are done, which frees their table entries; the
 * next poll calls the done functions. */
void mu_collect_completed(struct mu_channel *ch);
/* User thread: call the done functions of operations that have completed. Returns how many. */
int mu_call_done_functions(struct mu_channel *ch);
/* Queue the operation's done function for the next poll. op may be NULL. */
void mu_op_complete_later(struct mu_channel *ch, struct mu_op *op, int result);
/* User thread: an entry for the answer of a channel of `task`, which completes op. One must be
 * free. The next descriptor, or the one behind the put that comes next, asks for the answer. */
struct mu_ack *mu_ack_take(struct mu_channel *ch, uint32_t task, uint32_t channel,
			   struct mu_op *op);
/* Engine: a flush, or an atomic, was answered. */
void mu_ack_done(struct mu_channel *ch, const struct mu_internal *m);
struct mu_internal_value;
void mu_value_done(struct mu_channel *ch, const struct mu_internal_value *m);
/*
 * Engine: memory that an operation names does not exist at `task`; error: positive errno.
 * mu_access_error_record: `task` has reported it in message `m`.
 * mu_access_error_record_put: the first flush in flight to that channel, of those that were
 * injected from descriptor `first` on, ends with the error.
 * mu_access_error_record_get: so does the get with that counter, if its data goes to that address
 * (lower halves).
 */
struct mu_internal_access_error;
void mu_access_error_record(struct mu_channel *ch, uint32_t task,
			    const struct mu_internal_access_error *m);
void mu_access_error_record_put(struct mu_channel *ch, uint32_t task, uint32_t channel,
				uint64_t first, int error);
void mu_access_error_record_get(struct mu_channel *ch, uint32_t task, uint32_t counter,
				uint32_t address, int error);

/* death.c: tasks have died or left since the last call. Engine lock held by the user thread, after
 * a round of reception. True if all is done: the caller calls death.notify then. */
int mu_apply_deaths(struct mu_channel *ch);

#endif
