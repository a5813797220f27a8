/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving half of the port holder: runs from the wires to the rings of this host's tasks, or
 * in place where the holder is the task itself. port_holder_state.h has their layout. Hot where a
 * task holds the port: guarded by bench/micro/pami_latency and bench/micro/pami_rate.
 */
#include "mu/transport/port_holder_state.h"

#include <errno.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "drivers/wire.h"
#include "mu/engine/engine.h"
#include "mu/engine/memory.h"
#include "mu/process.h"
#include "mu/transport/node_live.h"
#include "mu/transport/port_holder.h"
#include "mu/transport/transport.h"

/*
 * Does no earlier record wait in the ring? The tail decides, not whether the first record is
 * complete: a record that another thread is still writing may have others behind it.
 */
static bool is_ring_drained(struct mu_channel *ch)
{
	return atomic_load_acquire(&ch->a->ring.tail) == atomic_load_relaxed(&ch->rx.ring.head);
}

/* What was found in an earlier round may have been unmapped since. */
static void begin_round(const struct mu_holder *h, struct mu_channel *ch)
{
	uint64_t round = (uint64_t)h->index << 32 | h->rounds;

	if (ch->rx.written_round == round)
		return;
	ch->rx.written_round = round;
	mu_forget_checks(&ch->rx.written);
}

/* How this thread has the engine of a channel for which a record has come. */
enum engine_hold {
	HOLD_NONE,   /* it has not: another thread has, or a commthread owns the channel */
	HOLD_POLL,   /* it polls the channel */
	HOLD_INSIDE, /* it is in a dispatch function of the channel, and polls another */
	HOLD_LOCK    /* it has just taken the lock */
};

static inline enum engine_hold hold_engine(const struct mu_holder *h, struct mu_channel *ch)
{
	if (ch == atomic_ptr_load_relaxed(&h->queue->dispatching))
		return HOLD_POLL;
	/* No other thread can make room in that channel's ring, behind which what comes for others
	 * would wait. */
	if (mu_is_in_poll_of(ch))
		return HOLD_INSIDE;
	return !atomic_load_relaxed(&ch->progress.owned) && mu_lock_try(&ch->engine.lock)
		   ? HOLD_LOCK
		   : HOLD_NONE;
}

static inline void end_hold(struct mu_holder *h, struct mu_channel *ch, enum engine_hold hold,
			    bool has_stored)
{
	if (hold != HOLD_LOCK)
		return;
	mu_lock_release(&ch->engine.lock);
	if (has_stored && atomic_load_relaxed(&h->p->comm.entry[ch->index].shared)) {
		atomic_store_relaxed(&h->p->comm.wanted, 1);
		h->queue->pending_gets |= 1ull << ch->index;
	}
}

/* May a record for this channel be dispatched from the frame? */
static inline bool is_dispatched_at_once(const struct mu_holder *h, enum engine_hold hold)
{
	return hold == HOLD_POLL && !mu_stores_first(h->p);
}

/* Does nothing wait in the ring, behind which what comes now would have to follow? */
static inline bool is_next(struct mu_channel *ch, enum engine_hold hold)
{
	if (hold == HOLD_INSIDE && !is_ring_drained(ch))
		mu_engine_store_inside(ch);
	return is_ring_drained(ch);
}

/*
 * A task that holds the port takes records for itself without the detour through its ring: it
 * dispatches or stores messages, and carries out the rest. Returns 0; -EBUSY: the record has to
 * go through the ring; -EAGAIN: there is no room.
 */
static int take_in_place(struct mu_holder *h, struct mu_channel *ch,
			 const MUHWI_PacketHeader_t *header, uint32_t source,
			 const unsigned char *payload, uint32_t bytes)
{
	enum engine_hold hold = hold_engine(h, ch);
	bool at_once = is_dispatched_at_once(h, hold);
	int rc = -EBUSY;

	if (hold == HOLD_NONE || (hold == HOLD_INSIDE && mu_calls_software(header)) ||
	    (at_once && mu_has_stored_records(ch)))
		return rc;
	if (is_next(ch, hold)) {
		begin_round(h, ch);
		rc = mu_receive_record(ch, header, source, payload, bytes, at_once);
	}
	end_hold(h, ch, hold, !rc);
	return rc;
}

/* The same for a run of short messages. Returns false if each has to be delivered by itself. */
static bool take_shorts(struct mu_holder *h, struct mu_channel *ch, uint32_t source,
			const unsigned char *run, uint32_t bytes)
{
	enum engine_hold hold = hold_engine(h, ch);
	bool has_stored;

	if (hold == HOLD_NONE || is_dispatched_at_once(h, hold))
		return false;
	has_stored =
	    !h->p->strict_bytes && is_next(ch, hold) && mu_batch_put_shorts(ch, source, run, bytes);
	end_hold(h, ch, hold, has_stored);
	return has_stored;
}

/*
 * May a short message for this channel be dispatched from the frame? Asked before each, since the
 * function of the last one may have changed it. ch: the channel that this thread polls, or NULL.
 */
static inline bool is_short_dispatched(const struct mu_holder *h, struct mu_channel *ch)
{
	return ch && is_ring_drained(ch) && !mu_has_stored_records(ch) && !ch->rx.stopped &&
	       is_dispatched_at_once(h, HOLD_POLL);
}

static int drop_run(struct mu_holder *h, const char *why)
{
	if (!h->bad++)
		drv_warn("wire: a record that %s was dropped (further ones are counted)", why);
	return 0;
}

/* Deliver a record to a channel of a task of this host. 0, or -EAGAIN. */
static int deliver_record(struct mu_holder *h, uint32_t task, unsigned channel,
			  const MUHWI_PacketHeader_t *header, uint32_t source,
			  const unsigned char *payload, uint32_t bytes)
{
	uint32_t local;

	if (h->p) {
		struct mu_channel *ch = atomic_ptr_load_acquire(&h->p->channel[channel]);
		int rc = ch ? take_in_place(h, ch, header, source, payload, bytes) : -EBUSY;

		if (rc != -EBUSY)
			return rc;
	}
	local = mu_host_entry(h->host, task)->local;
	return mu_deliver(h->host, &h->tx[local * h->host->channels + channel], local, channel,
			  header, source, payload, bytes);
}

/* Find the channel that the head of a run names. Returns false if no task here has it. */
static bool find_target(const struct mu_holder *h, struct shorts *s, const struct shorts_head *head)
{
	uint32_t task = find_task_at(h, head->coords, head->number);

	if (task == UINT32_MAX || mu_host_entry(h->host, task)->host != h->host->host)
		return false;
	s->has_target = true;
	s->target = *head;
	s->target_task = task;
	s->target_channel = head->number % h->host->channels;
	return true;
}

static int on_shorts(struct mu_holder *h, uint32_t host, uint32_t source, const unsigned char *run,
		     uint32_t run_bytes)
{
	struct shorts *s = &h->shorts[host];
	uint32_t at = s->taken ? s->taken : SHORTS_HEAD;
	struct mu_channel *own = NULL;
	struct shorts_head head;
	MUHWI_PacketHeader_t header;

	s->taken = 0;
	if (run_bytes < SHORTS_HEAD || source >= h->host->tasks)
		return drop_run(h, "names no task");
	memcpy(&head, run, sizeof head);
	if ((!s->has_target || memcmp(&head, &s->target, sizeof head) != 0) &&
	    !find_target(h, s, &head))
		return drop_run(h, "fits no task here");
	if (mu_host_task_end(h->host, s->target_task))
		return 0;
	if (h->p && at < run_bytes) {
		struct mu_channel *ch = atomic_ptr_load_acquire(&h->p->channel[s->target_channel]);

		if (ch && take_shorts(h, ch, source, run + at, run_bytes - at))
			return 0;
		if (ch == atomic_ptr_load_relaxed(&h->queue->dispatching))
			own = ch;
	}
	while (at < run_bytes) {
		uint16_t bytes = UINT16_MAX;

		if (run_bytes - at >= MU_SHORT_HEAD)
			memcpy(&bytes, run + at, 2);
		if (bytes > MU_PACKET_BYTES || bytes > run_bytes - at - MU_SHORT_HEAD)
			return drop_run(h, "is cut short");
		if (__builtin_expect(is_short_dispatched(h, own), 1)) {
			mu_dispatch_short(own, source, run + at + 2, run + at + MU_SHORT_HEAD,
					  bytes);
			at += mu_short_bytes(bytes);
			continue;
		}
		mu_header_short(&header, head.coords, head.number, bytes, run + at + 2);
		if (deliver_record(h, s->target_task, s->target_channel, &header, source,
				   run + at + MU_SHORT_HEAD, bytes)) {
			s->taken = at; /* the wire offers the run again */
			return -EAGAIN;
		}
		at += mu_short_bytes(bytes);
	}
	return 0;
}

static int on_record(struct mu_holder *h, uint32_t source, const unsigned char *run,
		     uint32_t run_bytes)
{
	const MUHWI_PacketHeader_t *header = (const void *)run;
	uint32_t number, task;

	if (run_bytes < RUN_HEAD)
		return drop_run(h, "is cut short");
	number = mu_header_number(header);
	task = mu_places_find(&h->places, &h->record_target,
			      header->NetworkHeader.pt2pt.Destination.Destination.Destination,
			      number, h->host->channels);
	if (source >= h->host->tasks || task == UINT32_MAX ||
	    mu_host_entry(h->host, task)->host != h->host->host)
		return drop_run(h, "fits no task here");
	if (mu_host_task_end(h->host, task))
		return 0; /* no reader: drop the record */
	return deliver_record(h, task, number & (h->host->channels - 1u), header, source,
			      run + RUN_HEAD, run_bytes - RUN_HEAD);
}

/*
 * The tasks of this host wait for the line together. The holder writes it, the first word last, so
 * that no task has to run before the others see it.
 */
static int on_store(struct mu_holder *h, uint32_t task, const unsigned char *payload,
		    uint32_t bytes)
{
	struct mu_host *host = h->host;
	uint64_t first = mu_host_arenas_at(host), room = host->arena_bytes * host->locals, *to;
	struct mu_store s;

	if (bytes != sizeof s || task >= host->tasks ||
	    mu_host_entry(host, task)->host != host->host)
		return drop_run(h, "is no line for here");
	memcpy(&s, payload, sizeof s);
	if (s.at % 64 || s.at - first >= room || !mu_host_map_range(host, s.at, sizeof s.line))
		return drop_run(h, "is a line for where no arena is");
	to = (uint64_t *)(void *)((char *)host + s.at);
	memcpy(to + 1, s.line + 1, sizeof s.line - sizeof s.line[0]);
	atomic_store_release(to, s.line[0]);
	for (uint32_t i = 0; i < host->locals; i++)
		mu_host_wake_waiters(host, i);
	return 0;
}

static int on_announced(struct mu_holder *h, uint32_t host, uint32_t task,
			const unsigned char *payload, uint32_t bytes)
{
	struct mu_told told;
	uint32_t number;

	if (bytes != sizeof told || task >= h->host->tasks ||
	    mu_host_entry(h->host, task)->host != host)
		return drop_run(h, "tells nothing of a task of its host");
	memcpy(&told, payload, sizeof told);
	number = (uint32_t)told.number;
	if (h->p) /* an older word may come later, on another queue */
		mu_lock_acquire(&h->p->told_lock);
	if (!h->p || (int32_t)(number - h->p->told[task]) > 0) {
		atomic_store_release(&mu_host_announced(h->host)[task], told.word);
		if (h->p)
			h->p->told[task] = number;
	}
	if (h->p)
		mu_lock_release(&h->p->told_lock);
	return 0;
}

int mu_holder_take_run(void *arg, uint32_t host, uint32_t kind, uint32_t tag,
		       const unsigned char *payload, uint32_t bytes)
{
	struct mu_holder *h = arg;

	if (__builtin_expect(h->exits, 0))
		return -EAGAIN;
	if (kind == MU_RUN_RECORD)
		return on_record(h, tag, payload, bytes);
	if (kind == MU_RUN_SHORTS)
		return on_shorts(h, host, tag, payload, bytes);
	if (kind == MU_RUN_STORE)
		return on_store(h, tag, payload, bytes);
	if (kind == MU_RUN_TOLD)
		return on_announced(h, host, tag, payload, bytes);
	if (h->live)
		return mu_live_receive_run(h->live, host, kind, tag, payload, bytes);
	if (!h->bad++)
		drv_warn("wire: a run of unknown kind %u from host %u was dropped", kind, host);
	return 0;
}

void mu_holder_abandon_round(struct mu_holder *h)
{
	DRV_ASSERT(mu_lock_is_held(&h->queue->lock));
	h->exits = true;
	drv_wires_abandon_poll(h->wires);
	atomic_ptr_store_relaxed(&h->queue->dispatching, NULL);
}
