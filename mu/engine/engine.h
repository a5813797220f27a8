/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines of a channel: descriptors to packets (inject.c, node.c), packets to dispatch or
 * memory (receive.c). All run under the channel's engine lock.
 */
#ifndef MU_ENGINE_ENGINE_H
#define MU_ENGINE_ENGINE_H

#include <stdint.h>

#include "drivers/base/clock.h"
#include "mu/engine/batch.h"
#include "mu/hw/desc_build.h"
#include "mu/process.h"

/* Software bytes of the MU's own memory-FIFO packets (software bit set). */
struct mu_internal {
	uint8_t kind; /* enum mu_internal_kind */
	uint8_t pad;
	uint16_t index; /* ack: entry of the initiator's table */
	uint32_t generation;
	uint8_t pad2[6];
} __attribute__((packed));
_Static_assert(sizeof(struct mu_internal) == MU_SOFT_BYTES, "fits the software bytes");

/* The same of the answer to an atomic. In the request `value` is the one to compare with. */
struct mu_internal_value {
	uint8_t kind;
	uint8_t error;       /* positive errno */
	uint16_t index;      /* entry of the initiator's table */
	uint16_t generation; /* its lower half */
	uint64_t value;
} __attribute__((packed));
_Static_assert(sizeof(struct mu_internal_value) == MU_SOFT_BYTES, "fits the software bytes");

/* The same of the report that memory which an operation names does not exist. */
struct mu_internal_access_error {
	uint8_t kind;
	uint8_t channel;  /* of the task that reports */
	uint16_t error;   /* positive errno */
	uint32_t counter; /* a get: lower half of its counter's address, and 1; 0: a put */
	uint32_t address; /* a get: lower half of the address where the data was to go */
	uint8_t pad[2];
} __attribute__((packed));
_Static_assert(sizeof(struct mu_internal_access_error) == MU_SOFT_BYTES, "fits the software bytes");

enum mu_internal_kind {
	MU_INTERNAL_ACK = 1,
	MU_INTERNAL_ACCESS_ERROR,
	MU_INTERNAL_NOTE,
	MU_INTERNAL_VALUE
};

/* The acknowledgement that a put asks for (mu_desc_ask()). */
static inline struct mu_internal mu_asked_ack(const MUHWI_PacketHeader_t *put)
{
	uint64_t entry = put->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset;

	return (struct mu_internal){.kind = MU_INTERNAL_ACK,
				    .index = (uint16_t)entry,
				    .generation = (uint32_t)(entry >> 16)};
}

/* Make sure that mu_rget_append() of `count` descriptors has room. 0 or -EAGAIN. */
int mu_rget_reserve(struct mu_channel *ch, uint32_t count);

/* Run both injection FIFOs as far as they go. Returns the number of descriptors done. */
int mu_engine_inject(struct mu_channel *ch);
/* The FIFOs of the node that this channel runs. */
int mu_engine_node(struct mu_channel *ch);
int mu_node_has_pending_injection(struct mu_channel *ch);

/* Append 1 to 8 descriptors to the remote-get FIFO. 0, or -EAGAIN: no memory for the overflow. */
int mu_rget_append(struct mu_channel *ch, const unsigned char *desc, uint32_t bytes);

/* Take up to `budget` records. dispatch: call the receive function, else store. Returns how many
 * were taken. */
int mu_engine_receive(struct mu_channel *ch, int budget, int dispatch);
/*
 * Does the process store messages before it dispatches them? In a task that holds the port, a
 * dispatch function may wait for what comes to another channel by a queue whose wires this thread
 * polls, and behind messages for the channel of that function. So dispatch functions are called
 * where no lock of a queue is held, no frame is lent and no record of a ring or a lane is open. A
 * task with one channel has nothing else to poll, and dispatches from the frame: it does not even
 * bring the payload to its processor if the function does not look at it.
 */
static inline bool mu_stores_first(const struct mu_process *p)
{
	return p->queues && atomic_load_relaxed(&p->channels_open) > 1;
}
/*
 * Is this a late packet of a task that died or is cut off? The operations with it have ended, and
 * the packet may be part of a message whose rest will not arrive.
 */
static inline bool mu_is_late(const struct mu_channel *ch, uint32_t source)
{
	return mu_task_is_dead(source) && !mu_has_new_deaths(ch);
}
/* Dispatch a short message, now. The caller has seen that software wants messages, and that none
 * waits to be dispatched. */
void mu_dispatch_short(struct mu_channel *ch, uint32_t source, const unsigned char *soft,
		       const unsigned char *payload, uint32_t bytes);
/* Does mu_receive_record() call a function of the software above even where it only stores? */
bool mu_calls_software(const MUHWI_PacketHeader_t *h);
/* The calling thread is in a dispatch function of the channel: store what waits in the ring, up to
 * the first record that calls software, which is in a function already. */
void mu_engine_store_inside(struct mu_channel *ch);
/* Do records wait in the reception FIFO, or in the list behind it? */
static inline bool mu_has_queued_records(const struct mu_channel *ch)
{
	return ch->rx.spill_first ||
	       (ch->rx.fifo && ch->rx.fifo_hw.pa_head != ch->rx.fifo_hw.pa_tail);
}
/* Do records that were taken without dispatching wait to be dispatched? */
static inline bool mu_has_stored_records(const struct mu_channel *ch)
{
	return mu_has_batch(ch) || mu_has_queued_records(ch);
}
/*
 * Has mu_engine_receive() anything to do? Each poll asks first: between hosts, where messages come
 * from the wire, the ring is mostly empty, and a message that is delivered must not wait for it.
 */
static inline bool mu_has_records(struct mu_channel *ch)
{
	return atomic_load_acquire(&ch->a->ring.lanes_claimed) || mu_has_stored_records(ch) ||
	       ch->rx.ring.published != ch->rx.ring.head ||
	       drv_ring_is_ready(&ch->a->ring, &ch->rx.ring);
}
/* One record, from any transport. 0, or -EAGAIN: no room (only where it would be stored). */
int mu_receive_record(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
		      const unsigned char *payload, uint32_t bytes, int dispatch);
/* Tell the initiator, `channel` of `task`, that memory which its put named was not there. error:
 * positive errno. 0, -EINVAL, or -EAGAIN: no memory. */
int mu_access_error_report(struct mu_channel *ch, uint32_t task, unsigned channel, int error);
/* Build this report, or that of a get. answer: header of the put that a get asked for; NULL: the
 * operation is a put. 0 or -EINVAL. */
int mu_access_error_build(struct mu_channel *ch, uint32_t task, unsigned channel,
			  const MUHWI_PacketHeader_t *answer, int error,
			  MUHWI_Descriptor_t *report);
/* The same of channel `from`, to a destination. */
void mu_access_error_desc(MUHWI_Descriptor_t *d, const struct mu_dest *to, unsigned from,
			  const MUHWI_PacketHeader_t *answer, int error);

enum mu_atomic_level mu_atomics_of(const struct mu_host *h);
/* Read the atomic of a descriptor, whose mark is set. Returns false if it is none that this MU
 * carries out.
 */
bool mu_atomic_read(enum mu_atomic_level level, const MUHWI_Descriptor_t *d, struct mu_atomic *a);
/* Turn the descriptor into that of the answer. rc: 0 or a negative errno. */
void mu_atomic_answer(MUHWI_Descriptor_t *d, uint64_t old, int rc);
/* Carry out the atomic of a descriptor at the head of the remote-get FIFO, in real time. */
void mu_engine_atomic(struct mu_channel *ch, MUHWI_Descriptor_t *d);

static inline int mu_fifo_has_descriptors(const MUHWI_Fifo_t *f)
{
	return atomic_load_relaxed(&f->pa_head) != atomic_load_relaxed(&f->pa_tail);
}

/* Any thread may ask. The answer is certain under the engine lock. */
static inline int mu_has_pending_injection(struct mu_channel *ch)
{
	if (__builtin_expect(atomic_load_relaxed(&ch->engine.node_fifos), 0) &&
	    mu_node_has_pending_injection(ch))
		return 1;
	return mu_fifo_has_descriptors(&ch->a->inj) || mu_fifo_has_descriptors(&ch->a->rget) ||
	       atomic_load_relaxed(&ch->rget.overflow_count);
}

/* A number that changes when descriptors of the channel have left. */
static inline uint64_t mu_injection_progress(struct mu_channel *ch)
{
	return atomic_load_relaxed(&ch->a->inj.pa_head) + atomic_load_relaxed(&ch->a->rget.pa_head);
}

/* A channel or process that ends gives up what has not left after so long without progress. */
#define MU_DRAIN_NS 30000000000u

/* A wait that goes on as long as something leaves the injection FIFOs now and then. */
struct mu_drain {
	uint64_t limit_ns; /* without progress */
	uint64_t since_ns, before;
};

/* progress: mu_injection_progress() of all channels concerned. */
static inline bool mu_may_drain(const struct mu_process *p, struct mu_drain *d, uint64_t progress)
{
	uint64_t now = drv_clock_ns();

	if (!d->since_ns || progress != d->before)
		d->since_ns = now;
	d->before = progress;
	return !atomic_load_relaxed(&p->host->ending) && now - d->since_ns < d->limit_ns;
}

/* Does this thread poll the channel, or is it in a dispatch function of it? It has the lock of the
 * engine then. */
static inline bool mu_is_in_poll_of(const struct mu_channel *ch)
{
	const struct mu_channel *polled = mu_polled_channel;

	while (polled && polled != ch)
		polled = polled->engine.outer;
	return polled != NULL;
}

#endif
