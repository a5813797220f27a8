/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The injection engine: descriptors to packets. Hot: guarded by bench/micro/pami_rdma.
 *
 * Runs a channel's injection FIFO and its remote-get FIFO. A put or get between near tasks (same
 * host on express, same node on torus) is one copy, done here; everything else leaves in pieces by
 * mu_send_piece(). A FIFO whose head cannot leave now waits there; `sent` counts the bytes of the
 * head that have left. While the head is a long message, or a contribution to a class route, the
 * descriptors of a FIFO are pinned to several engines by their destinations (mu/engine/pin.h),
 * strictly in order each.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "mu/engine/engine.h"
#include "mu/engine/memory.h"
#include "mu/hw/desc_build.h"
#include "mu/hw/packetize.h"
#include "mu/hw/raw_header.h"
#include "mu/process.h"
#include "mu/segment/traffic.h"
#include "mu/trace.h"
#include "mu/transport/transport.h"

#define BUDGET_BYTES (1u << 20) /* pieces sent per call and FIFO before others get their turn */
#define LONG_BYTES   32768u     /* left of a message for which others do not wait */

/* A put to a task of this host: one copy. */
static int put_direct(struct mu_channel *ch, uint32_t task, const MUHWI_Descriptor_t *d)
{
	struct mu_process *p = ch->p;
	uint32_t local = p->entry[task].local;
	uint64_t counter = d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset;
	int rc = mu_copy_to(p, local, mu_put_offset(&d->PacketHeader),
			    (const void *)(uintptr_t)d->Pa_Payload, d->Message_Length);

	if (!rc)
		mu_traffic_add(ch, task, d->Message_Length, MU_SENT_BY_ENGINE);
	if (!rc && counter) {
		uint64_t va = counter & ~(MUHWI_ATOMIC_ADDRESS_INDICATOR | 7);
		uint64_t *word = mu_host_translate(p->host, local, va, 8);

		if (word)
			atomic_fetch_sub_release(word, d->Message_Length);
	}
	return rc;
}

/* Can this engine execute the descriptor, found in a remote get, instead of the target? */
static int get_is_direct(struct mu_channel *ch, const MUHWI_Descriptor_t *d)
{
	unsigned type = d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0;

	return mu_task_at(ch->p,
			  d->PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination,
			  mu_header_number(&d->PacketHeader)) == ch->p->task &&
	       (type == MUHWI_PACKET_TYPE_PUT ||
		(type == MUHWI_PACKET_TYPE_FIFO && !d->Message_Length && !mu_desc_is_atomic(d) &&
		 mu_header_is_internal(&d->PacketHeader)));
}

/* A get from a task of this host: one copy per descriptor it carries. -ENOTSUP: send it instead. */
static int get_direct(struct mu_channel *ch, uint32_t task, const MUHWI_Descriptor_t *outer)
{
	const MUHWI_Descriptor_t *inner = (const void *)(uintptr_t)outer->Pa_Payload;
	unsigned count = (unsigned)(outer->Message_Length / 64);
	struct mu_process *p = ch->p;
	int first = 0;

	if (outer->Message_Length > MU_PACKET_BYTES || outer->Pa_Payload % 32)
		return -ENOTSUP;
	for (unsigned i = 0; i < count; i++)
		if (!get_is_direct(ch, &inner[i]))
			return -ENOTSUP;
	for (unsigned i = 0; i < count; i++) {
		const MUHWI_PacketHeader_t *h = &inner[i].PacketHeader;
		int rc;

		if ((h->NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0) == MUHWI_PACKET_TYPE_FIFO) {
			struct mu_internal m;

			memcpy(&m, h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, sizeof m);
			mu_ack_done(ch, &m);
			continue;
		}
		rc = mu_copy_from(p, p->entry[task].local, (void *)(uintptr_t)mu_put_offset(h),
				  inner[i].Pa_Payload, inner[i].Message_Length);
		if (rc) {
			mu_access_error_record_get(
			    ch, task,
			    (uint32_t)h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset,
			    (uint32_t)mu_put_offset(h), -rc);
			first = first ? first : rc;
			continue;
		}
		mu_traffic_add(ch, task, inner[i].Message_Length, MU_FETCHED_BY_ENGINE);
		mu_counter_sub(p, h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset,
			       inner[i].Message_Length);
	}
	return first;
}

/*
 * The largest piece of a message to a task. The bytes of a put have an address each, so its pieces
 * fill the frames. Others are whole packets, as a reception FIFO has them.
 */
static uint32_t largest_piece(const struct mu_channel *ch, uint32_t task,
			      const MUHWI_Descriptor_t *d)
{
	uint32_t piece;

	if (d->Message_Length <= MU_PACKET_BYTES)
		return MU_PACKET_BYTES;
	piece = mu_piece_bytes(ch->p, task);
	return mu_packet_type(&d->PacketHeader) == MUHWI_PACKET_TYPE_PUT
		   ? piece
		   : piece / MU_PACKET_BYTES * MU_PACKET_BYTES;
}

/* The packets of a message that begin in the n bytes from `sent` on. */
static uint64_t count_packets(uint64_t sent, uint32_t n)
{
	return n ? mu_packet_count(sent + n) - (sent ? mu_packet_count(sent) : 0) : 1;
}

/* Send in pieces. 0: all pieces have left; -EAGAIN: call again later; else refused. */
static int send_pieces(struct mu_channel *ch, uint32_t task, const MUHWI_Descriptor_t *d,
		       struct mu_inj_engine *at, struct mu_checked_range *range, uint64_t *budget)
{
	uint32_t piece = largest_piece(ch, task, d);

	if (range)
		range->end = d->Pa_Payload + d->Message_Length;
	do {
		uint64_t left = d->Message_Length - at->sent;
		uint32_t n = left > piece ? piece : (uint32_t)left;
		MUHWI_PacketHeader_t h;
		int rc;

		if (!*budget)
			return -EAGAIN;
		/* The header of the first packet; those of the others differ in the offset. */
		mu_packetize(d, at->sent, &h);
		if (n < left && mu_packet_type(&h) == MUHWI_PACKET_TYPE_PUT)
			mu_put_ask_later(&h);
		rc = mu_send_piece(ch, task, &h,
				   (const void *)(uintptr_t)(d->Pa_Payload + at->sent), n, range);
		if (rc != -EAGAIN)
			mu_traffic_add_packets(ch, task, count_packets(at->sent, n), n,
					       MU_SENT_BY_ENGINE);
		if (rc)
			return rc;
		at->sent += n;
		*budget -= *budget > n ? n : *budget;
	} while (at->sent < d->Message_Length);
	return 0;
}

/* Does the descriptor contribute to a class route of a program (mu_send_raw_collective())? */
static bool is_contribution(const MUHWI_Descriptor_t *d)
{
	return mu_is_coll(&d->PacketHeader) && mu_header_is_raw(&d->PacketHeader);
}

/* One packet for the router of this node. -EAGAIN: the queue of its class route is full. */
static __attribute__((noinline)) int send_contribution(struct mu_channel *ch,
						       const MUHWI_Descriptor_t *d)
{
	const struct mu_node_ops *node = ch->p->remote->node;
	MUHWI_PacketHeader_t h;
	uint32_t bytes;

	if (!node || !node->send || mu_coll_check(d))
		return -EINVAL;
	bytes = mu_packetize(d, 0, &h);
	return node->send(ch->p, &h, (const void *)(uintptr_t)d->Pa_Payload, bytes);
}

static int desc_run(struct mu_channel *ch, const MUHWI_Descriptor_t *d, struct mu_inj_engine *at,
		    struct mu_checked_range *range, uint64_t *budget)
{
	struct mu_process *p = ch->p;
	unsigned type = d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0;
	uint32_t task;
	int rc = mu_desc_check(d);

	if (__builtin_expect(rc, 0))
		return is_contribution(d) ? send_contribution(ch, d) : rc;
	task =
	    mu_places_find(&p->places, &ch->target[range != NULL],
			   d->PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination,
			   mu_header_number(&d->PacketHeader), p->channels);
	if (task == UINT32_MAX)
		return -EHOSTUNREACH;
	if (mu_is_unreachable(p, task))
		return -ESHUTDOWN;
	if (mu_is_copied_directly(p, task) && !range && !at->sent &&
	    !mu_header_is_raw(&d->PacketHeader)) {
		rc = type == MUHWI_PACKET_TYPE_PUT   ? put_direct(ch, task, d)
		     : type == MUHWI_PACKET_TYPE_GET ? get_direct(ch, task, d)
						     : -ENOTSUP;
		if (rc == -EPERM) {
			drv_warn(
			    "process_vm_writev to task %u refused (ptrace protection): data goes "
			    "through the ring, slower; set kernel.yama.ptrace_scope=0",
			    task);
			mu_cma_set_refused(p);
		} else if (rc != -ENOTSUP) {
			return rc;
		}
	}
	if (type == MUHWI_PACKET_TYPE_PUT && p->near[task] && !range && !at->sent)
		atomic_store_relaxed(&p->puts_by_ring[task], 1);
	return send_pieces(ch, task, d, at, range, budget);
}

static void warn_refused(struct mu_channel *ch, const MUHWI_Descriptor_t *d, int rc, int from_get)
{
	ch->engine.refused++;
	drv_warn("channel %u: descriptor refused%s: type %02x length %llu: %s", ch->index,
		 from_get ? " (from a remote get)" : "",
		 d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0,
		 (unsigned long long)d->Message_Length, strerror(-rc));
}

static bool is_put(const MUHWI_Descriptor_t *d)
{
	return (d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0) == MUHWI_PACKET_TYPE_PUT;
}

/* Part of put `number` of the FIFO did not leave: the flush behind it ends with an error. */
static void record_put_error(struct mu_channel *ch, const MUHWI_Descriptor_t *d, uint64_t number,
			     int rc)
{
	uint32_t task = mu_task_at(
	    ch->p, d->PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination,
	    mu_header_number(&d->PacketHeader));

	if (task != UINT32_MAX)
		mu_access_error_record_put(
		    ch, task, mu_header_number(&d->PacketHeader) % ch->p->channels, number, -rc);
}

static inline uint64_t fifo_next(const MUHWI_Fifo_t *f, uint64_t at)
{
	return at + 64 == f->pa_start + f->size_1 + 1 ? f->pa_start : at + 64;
}

/* The engine is done with descriptor `number`, which it first looked at at `since`. */
static __attribute__((cold, noinline)) void trace_descriptor(const struct mu_channel *ch,
							     const MUHWI_Descriptor_t *d,
							     uint64_t number, uint64_t since)
{
	struct mu_trace_event e = {
	    .begin = since,
	    .end = mu_trace_now(),
	    .task = mu_task_at(
		ch->p, d->PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination,
		mu_header_number(&d->PacketHeader)),
	    .bytes = (uint32_t)d->Message_Length,
	    .descriptor = (uint32_t)number,
	    .kind = MU_TRACE_ENGINE,
	    .channel = (uint8_t)ch->index,
	};

	mu_trace_put(&e);
}

/* Head forward by one, wrapping, then the count (W2). */
static void fifo_retire(MUHWI_Fifo_t *f, MUHWI_InjFifo_t *hw)
{
	atomic_store_release(&f->pa_head, fifo_next(f, f->pa_head));
	atomic_store_release(&hw->descCount, hw->descCount + 1);
}

/* The head of the remote-get FIFO is done: the first that found the FIFO full gets its place. */
static void retire_get(struct mu_channel *ch)
{
	struct mu_channel_rget *g = &ch->rget;
	MUHWI_Fifo_t *f = &ch->a->rget;
	uint32_t waiting = atomic_load_relaxed(&g->overflow_count);

	fifo_retire(f, &ch->a->rget_hw);
	if (!waiting)
		return;
	memcpy((void *)(uintptr_t)f->pa_tail, &g->overflow[g->overflow_first], 64);
	g->overflow_first = (g->overflow_first + 1) & (g->overflow_size - 1);
	atomic_store_relaxed(&g->overflow_count, waiting - 1);
	atomic_store_relaxed(&f->pa_tail, fifo_next(f, f->pa_tail));
}

/* Descriptor `number` of the injection FIFO is done, or refused. */
static void end_descriptor(struct mu_channel *ch, const MUHWI_Descriptor_t *d, uint64_t number,
			   uint64_t since, int rc)
{
	if (__builtin_expect(ch->p->host->trace_at_pages, 0))
		trace_descriptor(ch, d, number, since);
	if (rc && rc != -EFAULT && rc != -ESHUTDOWN)
		warn_refused(ch, d, rc, 0);
	if (rc && rc != -ESHUTDOWN && is_put(d)) {
		record_put_error(ch, d, number, rc);
		if (mu_put_asks(&d->PacketHeader)) { /* the target does not know */
			struct mu_internal m = mu_asked_ack(&d->PacketHeader);

			mu_ack_done(ch, &m);
		}
	}
	ch->tx.slot[number % MU_INJ_SLOTS].result = rc;
}

/*
 * The data of a get cannot be read: its descriptor becomes the report to the initiator, whose
 * channel it names. So the report has a place even if there is no memory for more.
 */
static bool become_report(struct mu_channel *ch, MUHWI_Descriptor_t *d, int rc)
{
	uint32_t task = mu_task_at(
	    ch->p, d->PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination,
	    mu_header_number(&d->PacketHeader));
	MUHWI_Descriptor_t report;

	if (!is_put(d) ||
	    mu_access_error_build(ch, task, mu_header_origin_channel(&d->PacketHeader),
				  &d->PacketHeader, -rc, &report))
		return false;
	*d = report;
	return true;
}

/* A descriptor of the remote-get FIFO is done, or refused. Returns false if it has become another
 * one, which is to run next. */
static bool end_get(struct mu_channel *ch, MUHWI_Descriptor_t *d, int rc)
{
	if ((rc == -EFAULT || rc == -ENOMEM) && become_report(ch, d, rc))
		return false;
	if (rc && rc != -ESHUTDOWN)
		warn_refused(ch, d, rc, 1);
	return true;
}

/* ---- several engines ---- */

/* One of the two FIFOs of a channel, for code that serves both. */
struct fifo {
	MUHWI_Fifo_t *f;
	MUHWI_InjFifo_t *hw;
	MUHWI_Descriptor_t *slot;
	struct mu_pinned *pinned;
	struct mu_inj_engine *engine; /* while there is one */
	bool is_gets;
};

static struct fifo injection_fifo(struct mu_channel *ch)
{
	return (struct fifo){&ch->a->inj, &ch->a->inj_hw,  ch->a->inj_slot,
			     &ch->pinned, &ch->engine.inj, false};
}

static struct fifo get_fifo(struct mu_channel *ch)
{
	return (struct fifo){&ch->a->rget,     &ch->a->rget_hw,  ch->a->rget_slot,
			     &ch->pinned_gets, &ch->engine.rget, true};
}

static uint64_t count_descriptors(const MUHWI_Fifo_t *f)
{
	uint64_t size = f->size_1 + 1;

	return (atomic_load_acquire(&f->pa_tail) + size - f->pa_head) % size / 64;
}

/* Should the head, which has to wait, let those behind it pass? */
static bool holds_others_up(const MUHWI_Fifo_t *f, uint64_t sent)
{
	const MUHWI_Descriptor_t *d = (const void *)(uintptr_t)f->pa_head;

	return (d->Message_Length - sent >= LONG_BYTES || is_contribution(d)) &&
	       count_descriptors(f) > 1;
}

static unsigned choose_pin(const struct mu_channel *ch, const MUHWI_Descriptor_t *d)
{
	return mu_choose_pin(&ch->p->route, ch->p->host->machine.hw.pin_fifos, &ch->p->job.coord,
			     d);
}

/* Give the descriptors that are new in the FIFO to their engines. */
static void give_out(struct mu_channel *ch, const struct fifo *fifo)
{
	struct mu_pinned *m = fifo->pinned;
	uint64_t end = fifo->hw->descCount + count_descriptors(fifo->f);

	for (; m->take != end; m->take++) {
		uint16_t slot = (uint16_t)(m->take % MU_INJ_SLOTS);
		unsigned pin = choose_pin(ch, &fifo->slot[slot]);

		m->next[slot] = MU_SLOT_NONE;
		m->done[slot] = 0;
		if (m->first[pin] == MU_SLOT_NONE)
			m->first[pin] = slot;
		else
			m->next[m->last[pin]] = slot;
		m->last[pin] = slot;
		m->inside++;
	}
}

/* The head has to wait with a long message, and others stand behind it. */
static void pinned_begin(struct mu_channel *ch, const struct fifo *fifo)
{
	struct mu_pinned *m = fifo->pinned;
	unsigned pin = choose_pin(ch, (const void *)(uintptr_t)fifo->f->pa_head);

	for (unsigned i = 0; i < MU_PINS; i++) {
		m->first[i] = MU_SLOT_NONE;
		m->sent[i] = 0;
	}
	m->take = fifo->hw->descCount;
	m->sent[pin] = fifo->engine->sent;
	fifo->engine->sent = 0;
	if (!fifo->is_gets) {
		m->since = ch->engine.head_since;
		ch->engine.head_since = 0;
	}
	give_out(ch, fifo);
}

/* Tell the user thread that the operation of a slot is complete, maybe ahead of others. */
static void push_early(struct mu_channel *ch, uint16_t slot)
{
	uint32_t head = atomic_load_relaxed(&ch->completion.done_early);

	do
		ch->tx.slot[slot].next = (uint16_t)head;
	/* Pairs with the exchange in complete_early(). */
	while (!atomic_cas_weak_release(&ch->completion.done_early, &head, slot + 1u));
}

/* Returns false as end_get() does. */
static bool end_slot(struct mu_channel *ch, const struct fifo *fifo, uint16_t slot, int rc)
{
	uint64_t head = fifo->hw->descCount;

	if (fifo->is_gets)
		return end_get(ch, &fifo->slot[slot], rc);
	end_descriptor(ch, &fifo->slot[slot], head + (slot - head) % MU_INJ_SLOTS,
		       fifo->pinned->since, rc);
	push_early(ch, slot);
	return true;
}

static int run_engine(struct mu_channel *ch, const struct fifo *fifo, unsigned pin, uint64_t budget)
{
	struct mu_checked_range range = {0};
	struct mu_pinned *m = fifo->pinned;
	int n = 0;

	while (m->first[pin] != MU_SLOT_NONE) {
		uint16_t slot = m->first[pin];
		MUHWI_Descriptor_t *d = &fifo->slot[slot];
		struct mu_inj_engine at = {m->sent[pin]};
		int rc;

		if (fifo->is_gets && mu_desc_is_atomic(d))
			mu_engine_atomic(ch, d);
		rc = desc_run(ch, d, &at, fifo->is_gets ? &range : NULL, &budget);
		m->sent[pin] = at.sent;
		if (rc == -EAGAIN)
			break;
		m->sent[pin] = 0;
		if (!end_slot(ch, fifo, slot, rc))
			continue;
		m->first[pin] = m->next[slot];
		m->done[slot] = 1;
		n++;
	}
	return n;
}

static int run_engines(struct mu_channel *ch, const struct fifo *fifo)
{
	struct mu_pinned *m = fifo->pinned;
	unsigned busy = 0;
	int n = 0;

	give_out(ch, fifo);
	for (unsigned pin = 0; pin < MU_PINS; pin++)
		busy += m->first[pin] != MU_SLOT_NONE;
	for (unsigned pin = 0; pin < MU_PINS; pin++)
		n += run_engine(ch, fifo, pin, BUDGET_BYTES / (busy ? busy : 1));
	while (m->inside && m->done[fifo->hw->descCount % MU_INJ_SLOTS]) {
		m->inside--;
		if (fifo->is_gets)
			retire_get(ch);
		else
			fifo_retire(fifo->f, fifo->hw);
	}
	return n;
}

static __attribute__((noinline)) int go_on_engines(struct mu_channel *ch, struct fifo fifo)
{
	return run_engines(ch, &fifo);
}

static __attribute__((noinline)) int begin_engines(struct mu_channel *ch, struct fifo fifo)
{
	pinned_begin(ch, &fifo);
	return run_engines(ch, &fifo);
}

/* ---- one engine ---- */

static int run_injection(struct mu_channel *ch)
{
	MUHWI_Fifo_t *f = &ch->a->inj;
	bool is_traced = ch->p->host->trace_at_pages;
	uint64_t budget = BUDGET_BYTES;
	int n = 0;

	if (__builtin_expect(ch->pinned.inside, 0))
		return go_on_engines(ch, injection_fifo(ch));
	while (f->pa_head != atomic_load_acquire(&f->pa_tail)) { /* R1 */
		const MUHWI_Descriptor_t *d = (const void *)(uintptr_t)f->pa_head;
		int rc;

		if (__builtin_expect(is_traced, 0) && !ch->engine.head_since)
			ch->engine.head_since = mu_trace_now();
		rc = desc_run(ch, d, &ch->engine.inj, NULL, &budget);
		if (rc == -EAGAIN) {
			if (holds_others_up(f, ch->engine.inj.sent))
				n += begin_engines(ch, injection_fifo(ch));
			break;
		}
		end_descriptor(ch, d, ch->a->inj_hw.descCount, ch->engine.head_since, rc);
		ch->engine.head_since = 0;
		ch->engine.inj.sent = 0;
		fifo_retire(f, &ch->a->inj_hw);
		n++;
	}
	return n;
}

/* The engine owns both ends of the remote-get FIFO: only mu_rget_append() moves its tail. */
static int run_remote_gets(struct mu_channel *ch)
{
	MUHWI_Fifo_t *f = &ch->a->rget;
	uint64_t budget = BUDGET_BYTES;
	struct mu_checked_range range = {
	    0}; /* forgotten when we return to the program, which may unmap */
	int n = 0;

	if (__builtin_expect(ch->pinned_gets.inside, 0))
		return go_on_engines(ch, get_fifo(ch));
	while (f->pa_head != f->pa_tail) {
		MUHWI_Descriptor_t *d = (void *)(uintptr_t)f->pa_head;
		int rc;

		if (mu_desc_is_atomic(d))
			mu_engine_atomic(ch, d);
		rc = desc_run(ch, d, &ch->engine.rget, &range, &budget);
		if (rc == -EAGAIN) {
			if (holds_others_up(f, ch->engine.rget.sent))
				n += begin_engines(ch, get_fifo(ch));
			break;
		}
		ch->engine.rget.sent = 0;
		if (!end_get(ch, d, rc))
			continue;
		retire_get(ch);
		n++;
	}
	return n;
}

static int grow_overflow(struct mu_channel *ch)
{
	uint32_t size = ch->rget.overflow_size ? ch->rget.overflow_size * 2 : 256;
	MUHWI_Descriptor_t *m;

	if (size > 1u << 20 || !(m = aligned_alloc(64, (size_t)size * 64)))
		return -EAGAIN;
	for (uint32_t i = 0; i < atomic_load_relaxed(&ch->rget.overflow_count); i++)
		m[i] =
		    ch->rget.overflow[(ch->rget.overflow_first + i) & (ch->rget.overflow_size - 1)];
	free(ch->rget.overflow);
	ch->rget.overflow = m;
	ch->rget.overflow_size = size;
	ch->rget.overflow_first = 0;
	return 0;
}

/* Make sure that the FIFO, or the list behind it, has room for `count` descriptors. -EAGAIN: there
 * is no memory for the list. */
int mu_rget_reserve(struct mu_channel *ch, uint32_t count)
{
	const MUHWI_Fifo_t *f = &ch->a->rget;
	uint32_t waiting = atomic_load_relaxed(&ch->rget.overflow_count);
	uint64_t used = f->pa_tail - f->pa_head;

	if (f->pa_tail < f->pa_head)
		used += f->size_1 + 1;
	if (!waiting && used + (uint64_t)count * 64 <= f->size_1 - 63)
		return 0;
	return waiting + count > ch->rget.overflow_size ? grow_overflow(ch) : 0;
}

/*
 * Append 1 to 8 descriptors to the remote-get FIFO; what does not fit waits in a list of our own,
 * so that a reception engine never waits here (the chip's does). -EAGAIN: no memory for the list.
 */
int mu_rget_append(struct mu_channel *ch, const unsigned char *desc, uint32_t bytes)
{
	MUHWI_Fifo_t *f = &ch->a->rget;

	mu_assert_engine(ch);
	DRV_ASSERT(bytes % 64 == 0 && bytes <= MU_PACKET_BYTES);
	if (mu_rget_reserve(ch, bytes / 64)) /* all or nothing */
		return -EAGAIN;
	for (uint32_t at = 0; at < bytes; at += 64) {
		uint64_t next = fifo_next(f, f->pa_tail);

		if (atomic_load_relaxed(&ch->rget.overflow_count) || next == f->pa_head) {
			uint32_t i = (ch->rget.overflow_first +
				      atomic_load_relaxed(&ch->rget.overflow_count)) &
				     (ch->rget.overflow_size - 1);

			memcpy(&ch->rget.overflow[i], desc + at, 64);
			atomic_store_relaxed(&ch->rget.overflow_count,
					     atomic_load_relaxed(&ch->rget.overflow_count) + 1);
		} else {
			memcpy((void *)(uintptr_t)f->pa_tail, desc + at, 64);
			atomic_store_relaxed(&f->pa_tail, next); /* others look if it is empty */
		}
	}
	return 0;
}

int mu_engine_inject(struct mu_channel *ch)
{
	int n = 0;

	mu_assert_engine(ch);
	if (mu_fifo_has_descriptors(&ch->a->rget))
		n += run_remote_gets(ch);
	if (mu_fifo_has_descriptors(&ch->a->inj))
		n += run_injection(ch);
	if (__builtin_expect(atomic_load_relaxed(&ch->engine.node_fifos), 0))
		n += mu_engine_node(ch);
	return n;
}
