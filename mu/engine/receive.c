/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reception engine: packet to dispatch, to memory, or to a remote-get FIFO. Hot: guarded by
 * bench/micro/pami_latency and bench/micro/pami_rate.
 *
 * A polling thread dispatches straight from the ring the packet came in. The engine thread may not
 * dispatch: it puts memory-FIFO packets into the reception FIFO, beyond that on a list, so that a
 * channel that no thread advances stalls no other; puts and gets it carries out.
 * Order: reception FIFO, then list, then ring.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "mu/channel/class_route.h"
#include "mu/engine/engine.h"
#include "mu/engine/known_memory.h"
#include "mu/engine/lane.h"
#include "mu/engine/memory.h"
#include "mu/hw/desc_build.h"
#include "mu/hw/raw_header.h"
#include "mu/process.h"
#include "mu/transport/node_live.h"

static int rec_create(struct mu_channel *ch)
{
	MUSPI_RecFifo_t *f = aligned_alloc(32, sizeof *f);
	uint32_t *sources = malloc(MU_REC_PACKETS * sizeof *sources);
	void *memory = aligned_alloc(64, MU_REC_BYTES);

	if (!f || !sources || !memory ||
	    mu_rec_fifo_init(f, &ch->rx.fifo_hw, memory, MU_REC_BYTES)) {
		free(f);
		free(sources);
		free(memory);
		return -ENOMEM;
	}
	ch->rx.fifo = f;
	ch->rx.fifo_source = sources;
	ch->rx.fifo_memory = memory;
	ch->rx.fifo_appended = 0;
	return 0;
}

static uint64_t rec_room(const struct mu_channel *ch)
{
	return (ch->rx.fifo_hw.pa_head - ch->rx.fifo_hw.pa_tail + MU_REC_BYTES - 1) % MU_REC_BYTES;
}

/* Cut into packets of 512; a record goes in whole or not at all. */
static int rec_store(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
		     const unsigned char *payload, uint32_t bytes)
{
	uint32_t packets = bytes ? (bytes + 511) / 512 : 1;
	uint64_t offset = mu_fifo_offset(h);

	if (!ch->rx.fifo && rec_create(ch))
		return -EAGAIN;
	if (rec_room(ch) < (uint64_t)packets * 32 + (bytes + 31) / 32 * 32 ||
	    (ch->p->strict_bytes && MU_REC_BYTES - rec_room(ch) > ch->p->strict_bytes))
		return -EAGAIN;
	for (uint32_t at = 0, i = 0; i < packets; i++, at += 512) {
		uint32_t n = bytes - at > 512 ? 512 : bytes - at;
		MUHWI_PacketHeader_t one = *h;

		one.messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_LSB =
		    (uint32_t)(offset + at);
		one.messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_MSB =
		    (offset + at) >> 32 & 31;
		/* The padding, in bytes. */
		one.NetworkHeader.pt2pt.Injection_Info.Reserved4 = (uint16_t)((32 - n % 32) % 32);
		ch->rx.fifo_source[ch->rx.fifo_appended++ % MU_REC_PACKETS] = source;
		mu_rec_fifo_append(&ch->rx.fifo_hw, &one, payload + at, n);
	}
	return 0;
}

static int spill_record(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
			const unsigned char *payload, uint32_t bytes)
{
	struct mu_spill *s;

	if (ch->rx.spill_bytes > MU_SPILL_MAX ||
	    !(s = aligned_alloc(16, (sizeof *s + bytes + 15) & ~15ul)))
		return -EAGAIN;
	DRV_ASSERT(!*ch->rx.spill_last);
	s->next = NULL;
	s->source = source;
	s->bytes = bytes;
	s->header = *h;
	memcpy(s->payload, payload, bytes);
	*ch->rx.spill_last = s;
	ch->rx.spill_last = &s->next;
	ch->rx.spill_bytes += sizeof *s + bytes;
	return 0;
}

/* rec_fifo=strict: the FIFO is full, and what follows waits in the ring and then in the network.
 * Say so once if that lasts. */
static void note_full(struct mu_channel *ch)
{
	uint64_t taken = ch->rx.fifo ? ch->rx.fifo->numProcessed : 0;

	if (mu_live_note_full(ch->p->live, &ch->rx.full, taken))
		drv_warn("rec_fifo=strict: the reception FIFO of context %u is full for 2 s, and "
			 "packets wait in the network: does this task advance that context? "
			 "(Fabric torus with one host, or virtual time: a circle will be named)",
			 ch->index);
}

static int store_record(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
			const unsigned char *payload, uint32_t bytes)
{
	if (ch->p->queues && !ch->p->strict_bytes &&
	    mu_batch_put(ch, source, h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2,
			 mu_fifo_offset(h), payload, bytes))
		return 0;
	if (!ch->rx.spill_first && !rec_store(ch, h, source, payload, bytes))
		return 0;
	if (__builtin_expect(ch->p->strict_bytes, 0)) {
		note_full(ch);
		return -EAGAIN;
	}
	return spill_record(ch, h, source, payload, bytes);
}

static void dispatch_one(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
			 const unsigned char *payload, uint32_t bytes)
{
	if (__builtin_expect(ch->death.applied, 0) && mu_is_late(ch, source))
		return;
	mu_known_end_run();
	ch->receive(ch->arg, source, h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, payload,
		    bytes, mu_fifo_offset(h));
	mu_forget_checks(&ch->rx.written);
}

void mu_dispatch_short(struct mu_channel *ch, uint32_t source, const unsigned char *soft,
		       const unsigned char *payload, uint32_t bytes)
{
	mu_assert_engine(ch);
	if (__builtin_expect(ch->death.applied, 0) && mu_is_late(ch, source))
		return;
	mu_known_end_run();
	ch->receive(ch->arg, source, soft, payload, bytes, 0);
	mu_forget_checks(&ch->rx.written);
}

static void refuse_packet(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
			  const char *why)
{
	ch->engine.refused++;
	drv_warn("channel %u: packet from task %u refused: %s (type %02x)", ch->index, source, why,
		 h->NetworkHeader.pt2pt.Byte8.Byte8);
}

/* 0, or negative: keep the packet for later. */
static int receive_internal(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
			    const unsigned char *payload, uint32_t bytes)
{
	struct mu_internal m;

	memcpy(&m, h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, sizeof m);
	switch (m.kind) {
	case MU_INTERNAL_ACK:
		mu_ack_done(ch, &m);
		break;
	case MU_INTERNAL_ACCESS_ERROR:
		mu_access_error_record(ch, source,
				       (const struct mu_internal_access_error *)(const void *)
					   h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2);
		break;
	case MU_INTERNAL_VALUE:
		mu_value_done(ch, (const struct mu_internal_value *)(const void *)
				      h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2);
		break;
	case MU_INTERNAL_NOTE:
		mu_forget_checks(&ch->rx.written);
		mu_known_end_run();
		return ch->on_note ? ch->on_note(ch->arg, source, payload, bytes) : -EAGAIN;
	default:
		refuse_packet(ch, h, source, "unknown kind of internal packet");
	}
	return 0;
}

/*
 * Is a put the answer to a get of this channel? Such data goes to a buffer of this program, so an
 * unchecked memcpy() is as safe as one of the program's own. The pages of other puts are checked
 * first, with a system call each. GET_ENDED: the get has ended with an error, so its buffer may be
 * in use again.
 */
enum get_state { GET_NONE, GET_IN_FLIGHT, GET_ENDED };
static enum get_state get_state_of(const struct mu_channel *ch, const MUHWI_PacketHeader_t *h,
				   uint64_t to, uint32_t bytes)
{
	uint64_t counter = h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset;
	uint64_t at =
	    (counter & ~(MUHWI_ATOMIC_ADDRESS_INDICATOR | 7)) - (uint64_t)(uintptr_t)ch->a->counter;

	if (!counter || at >= sizeof ch->a->counter)
		return GET_NONE;
	return atomic_load_acquire(&ch->a->counter[at / 8]) &&
		       to >= atomic_load_relaxed(&ch->completion.counter_to[at / 8]) &&
		       to + bytes <= atomic_load_relaxed(&ch->completion.counter_end[at / 8])
		   ? GET_IN_FLIGHT
		   : GET_ENDED;
}

/* Channel `channel` of a task, as the target of an answer. */
static struct mu_dest answer_to(const struct mu_channel *ch, uint32_t task, unsigned channel)
{
	const struct mu_task_entry *e = &ch->p->entry[task];

	return (struct mu_dest){e->coords,
				(uint32_t)e->t * ch->p->channels + channel % ch->p->channels};
}

/* A put that asks (mu_desc_ask()). 0, or negative: keep the packet for later. */
static int receive_asking_put(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
			      const unsigned char *payload, uint32_t bytes)
{
	uint64_t to = mu_put_offset(h);
	struct mu_internal m = mu_asked_ack(h);
	struct mu_dest back;
	MUHWI_Descriptor_t answer;
	int rc;

	if (source >= ch->p->tasks || !bytes || to + bytes < to) {
		refuse_packet(ch, h, source, "asking put of nothing or across the end of memory");
		return 0;
	}
	/* What follows cannot be taken back: the report of an error, then the acknowledgement. */
	if (mu_rget_reserve(ch, 2))
		return -EAGAIN;
	rc = mu_copy_out(ch->p, to, payload, bytes, &ch->rx.written);
	if (rc)
		mu_access_error_report(ch, source, mu_header_origin_channel(h), -rc);
	back = answer_to(ch, source, mu_header_origin_channel(h));
	mu_desc_fifo(&answer, 0, 0, &back, &m, 1);
	return mu_rget_append(ch, (const unsigned char *)&answer, 64);
}

/* 0, or negative: keep the packet for later. */
static int receive_put(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
		       const unsigned char *payload, uint32_t bytes)
{
	struct mu_node_class *k = mu_put_class(ch->p->host, ch->p->job.node, h);
	uint64_t to = mu_put_offset(h) + (k ? atomic_load_relaxed(&k->base) : 0);
	enum get_state get;
	int rc;

	if (!bytes || to + bytes < to) {
		refuse_packet(ch, h, source, "direct put of nothing or across the end of memory");
		return 0;
	}
	/* The answer to a get from a task that has ended: the get has ended or will end with an
	 * error, so its buffer may be in use again. */
	if (h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset &&
	    mu_is_unreachable(ch->p, source))
		return 0;
	if (k && !atomic_load_relaxed(&k->base))
		return 0; /* mu_class_abandon() */
	get = k ? GET_NONE : get_state_of(ch, h, to, bytes);
	if (get == GET_ENDED)
		return 0;
	/* The place of a class route may be in memory that the library keeps for itself. */
	rc = get || (k && mu_is_in_segment(ch->p, to, bytes))
		 ? mu_copy_own(to, payload, bytes)
		 : mu_copy_out(ch->p, to, payload, bytes, &ch->rx.written);
	if (k) {
		/* Count even if the memory is not mapped: software must not wait for ever. */
		if (rc)
			refuse_packet(ch, h, source, "the place of a class route is not there");
		atomic_fetch_sub_release(mu_class_counter(k, h), bytes);
		return 0;
	}
	/* Without the report the acknowledgement that follows would say that the data is there. */
	if (rc)
		return mu_access_error_report(ch, source, mu_header_origin_channel(h), -rc) ==
			       -EAGAIN
			   ? -EAGAIN
			   : 0;
	if (h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset)
		mu_counter_sub(ch->p, h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset,
			       bytes);
	return 0;
}

/* 0, or negative: keep the packet for later. */
static int receive_raw(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
		       const unsigned char *payload, uint32_t bytes)
{
	MUHWI_PacketHeader_t plain = *h;

	if (__builtin_expect(!ch->on_raw, 0)) {
		if (!ch->on_note) /* opened a moment ago: mu_channel_on_raw() may follow */
			return -EAGAIN;
		refuse_packet(ch, h, source,
			      "it is for the registers of the MU, which this program does not use");
		return 0;
	}
	mu_raw_header_unwrap(&plain);
	mu_forget_checks(&ch->rx.written);
	mu_known_end_run();
	return ch->on_raw(ch->arg, source, mu_raw_kind(h), &plain, payload, bytes);
}

int mu_receive_record(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
		      const unsigned char *payload, uint32_t bytes, int dispatch)
{
	mu_assert_engine(ch);
	if (__builtin_expect(
		h->NetworkHeader.pt2pt.Data_Packet_Type != MUHWI_PT2PT_DATA_PACKET_TYPE, 0) &&
	    !mu_is_coll(h)) {
		if (h->NetworkHeader.pt2pt.Data_Packet_Type)
			refuse_packet(ch, h, source, "not a point-to-point packet");
		return 0;
	}
	if (__builtin_expect(mu_header_is_raw(h), 0))
		return receive_raw(ch, h, source, payload, bytes);
	switch (h->NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0) {
	case MUHWI_PACKET_TYPE_FIFO:
		if (__builtin_expect(mu_header_is_internal(h), 0))
			return receive_internal(ch, h, source, payload, bytes);
		else if (dispatch && __builtin_expect(!ch->rx.stopped, 1))
			dispatch_one(ch, h, source, payload, bytes);
		else
			return store_record(ch, h, source, payload, bytes);
		return 0;
	case MUHWI_PACKET_TYPE_PUT:
		if (mu_put_asks(h))
			return receive_asking_put(ch, h, source, payload, bytes);
		return receive_put(ch, h, source, payload, bytes);
	case MUHWI_PACKET_TYPE_GET:
		if (!bytes || bytes % 64 || bytes > MU_PACKET_BYTES) {
			refuse_packet(ch, h, source,
				      "remote get whose payload is not 1 to 8 descriptors");
			return 0;
		}
		return mu_rget_append(ch, payload, bytes);
	default:
		refuse_packet(ch, h, source, "packet type 3");
		return 0;
	}
}

void mu_access_error_desc(MUHWI_Descriptor_t *d, const struct mu_dest *to, unsigned from,
			  const MUHWI_PacketHeader_t *answer, int error)
{
	struct mu_internal_access_error m = {
	    .kind = MU_INTERNAL_ACCESS_ERROR, .channel = (uint8_t)from, .error = (uint16_t)error};

	if (answer) {
		m.counter =
		    (uint32_t)answer->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset | 1;
		m.address = (uint32_t)mu_put_offset(answer);
	}
	mu_desc_fifo(d, 0, 0, to, &m, 1);
}

int mu_access_error_build(struct mu_channel *ch, uint32_t task, unsigned channel,
			  const MUHWI_PacketHeader_t *answer, int error, MUHWI_Descriptor_t *report)
{
	struct mu_dest to;

	if (task >= ch->p->host->tasks)
		return -EINVAL;
	to = answer_to(ch, task, channel);
	mu_access_error_desc(report, &to, ch->index, answer, error);
	return 0;
}

/* The report travels in order with acknowledgements. */
int mu_access_error_report(struct mu_channel *ch, uint32_t task, unsigned channel, int error)
{
	MUHWI_Descriptor_t d;
	int rc = mu_access_error_build(ch, task, channel, NULL, error, &d);

	return rc ? rc : mu_rget_append(ch, (const unsigned char *)&d, 64);
}

/* Dispatch a packet of the reception FIFO. Returns false if there is none. */
static bool dispatch_from_fifo(struct mu_channel *ch)
{
	MUHWI_PacketHeader_t *h;
	uint32_t bytes, source;

	if (!ch->rx.fifo || !(h = MUSPI_getNextPacket(ch->rx.fifo, &bytes)))
		return false;
	source = ch->rx.fifo_source[(ch->rx.fifo->numProcessed - 1) % MU_REC_PACKETS];
	dispatch_one(ch, h, source, (unsigned char *)h + 32,
		     bytes - 32 - h->NetworkHeader.pt2pt.Injection_Info.Reserved4);
	MUSPI_syncRecFifoHwHead(ch->rx.fifo);
	return true;
}

static bool dispatch_from_spill(struct mu_channel *ch)
{
	struct mu_spill *s = ch->rx.spill_first;

	if (!s)
		return false;
	ch->rx.spill_first = s->next;
	if (!s->next)
		ch->rx.spill_last = &ch->rx.spill_first;
	DRV_ASSERT(ch->rx.spill_bytes >= sizeof *s + s->bytes);
	ch->rx.spill_bytes -= sizeof *s + s->bytes;
	dispatch_one(ch, &s->header, s->source, s->payload, s->bytes);
	free(s);
	return true;
}

/*
 * Dispatch what was stored. A dispatch function that polls another channel may store more here: in
 * the batch while FIFO and list are empty, in the FIFO while the list is. So each is read to its
 * end before the next record of the following one.
 */
static int dispatch_stored(struct mu_channel *ch)
{
	int n = mu_has_batch(ch) ? mu_batch_dispatch(ch) : 0;

	while (!ch->rx.stopped && (dispatch_from_fifo(ch) || dispatch_from_spill(ch)))
		n += 1 + (mu_has_batch(ch) ? mu_batch_dispatch(ch) : 0);
	return n;
}

void mu_channel_allow_dispatch(struct mu_channel *ch, bool allowed)
{
	ch->rx.stopped = !allowed;
}

void mu_channel_on_note(struct mu_channel *ch, mu_note_fn fn)
{
	mu_lock_acquire(&ch->engine.lock);
	ch->on_note = fn;
	mu_lock_release(&ch->engine.lock);
}

/* The next record of the ring, or NULL. */
static inline struct drv_ring_record *peek_ring(struct mu_channel *ch)
{
	struct drv_ring_record *rec = drv_ring_peek(&ch->a->ring, &ch->rx.ring);

	if (rec &&
	    __builtin_expect(
		!drv_ring_is_sound(&ch->a->ring, &ch->rx.ring, rec) || rec->tag >= ch->p->tasks, 0))
		mu_end_damaged(ch, "the ring");
	return rec;
}

/* Take records from lanes and ring. Returns how many. */
static int take_records(struct mu_channel *ch, int budget, int dispatch, int n)
{
	struct drv_ring *ring = &ch->a->ring;
	struct drv_ring_record *rec;

	while (n < budget && !(dispatch && ch->rx.stopped)) {
		uint32_t lanes;

		rec = peek_ring(ch);
		/* What a lane held when this record was seen may come before it; all of it fits
		 * into the lane. */
		if ((lanes = mu_lanes_in_use(ch))) {
			int got = mu_lane_receive(ch, lanes, rec ? (int)DRV_LANE_UNITS : budget - n,
						  dispatch);

			mu_forget_checks(&ch->rx.written);
			if (got < 0)
				break;
			n += got;
		}
		if (!rec || mu_receive_record(ch, (const MUHWI_PacketHeader_t *)rec->header,
					      rec->tag, rec->payload, rec->bytes, dispatch))
			break;
		drv_ring_release(ring, &ch->rx.ring, rec);
		n++;
	}
	if (!n)
		drv_ring_publish_head(ring, &ch->rx.ring);
	return n;
}

int mu_engine_receive(struct mu_channel *ch, int budget, int dispatch)
{
	int n = 0;

	mu_assert_engine(ch);
	mu_forget_checks(&ch->rx.written);
	if (dispatch && __builtin_expect(mu_stores_first(ch->p), 0) && !ch->rx.stopped) {
		n = take_records(ch, budget, 0, 0);
		return n + dispatch_stored(ch);
	}
	if (dispatch && __builtin_expect(mu_has_stored_records(ch), 0))
		n = dispatch_stored(ch);
	return take_records(ch, budget, dispatch, n);
}

bool mu_calls_software(const MUHWI_PacketHeader_t *h)
{
	return mu_header_is_raw(h) ||
	       (mu_packet_type(h) == MUHWI_PACKET_TYPE_FIFO && mu_header_is_internal(h));
}

void mu_engine_store_inside(struct mu_channel *ch)
{
	struct drv_ring *ring = &ch->a->ring;
	struct drv_ring_record *rec;

	mu_assert_engine(ch);
	/* Records in the ring may have to wait for those in a lane. */
	while (!mu_lanes_in_use(ch) && (rec = peek_ring(ch))) {
		const MUHWI_PacketHeader_t *h = (const void *)rec->header;

		if (mu_calls_software(h) ||
		    mu_receive_record(ch, h, rec->tag, rec->payload, rec->bytes, 0))
			return;
		drv_ring_release(ring, &ch->rx.ring, rec);
	}
}
