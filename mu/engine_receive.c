/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reception engine: packet to dispatch, to memory, or to a remote-get FIFO. Hot: guarded by
 * bench/pami_latency and bench/pami_rate.
 *
 * A polling thread dispatches straight from the ring the packet came in. The engine thread may not
 * dispatch: it puts memory-FIFO packets into the reception FIFO, beyond that on a list, so that a
 * channel that nobody advances stalls nobody else; puts and gets it carries out.
 * Order: reception FIFO, then list, then ring.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/log.h"
#include "mu/process.h"

static int rec_create(struct mu_channel *ch)
{
	MUSPI_RecFifo_t *f = aligned_alloc(32, sizeof *f);
	uint32_t *sources = malloc(MU_REC_PACKETS * sizeof *sources);
	void *memory = aligned_alloc(64, MU_REC_BYTES);

	if (!f || !sources || !memory || mu_rec_fifo_init(f, &ch->rec_hw, memory, MU_REC_BYTES)) {
		free(f);
		free(sources);
		free(memory);
		return -ENOMEM;
	}
	ch->rec = f;
	ch->rec_source = sources;
	ch->rec_memory = memory;
	ch->rec_appended = 0;
	return 0;
}

static uint64_t rec_room(const struct mu_channel *ch)
{
	return (ch->rec_hw.pa_head - ch->rec_hw.pa_tail + MU_REC_BYTES - 1) % MU_REC_BYTES;
}

/* Cut into packets of 512; a record goes in whole or not at all. */
static int rec_store(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
                     const unsigned char *payload, uint32_t bytes)
{
	uint32_t packets = bytes ? (bytes + 511) / 512 : 1;
	uint64_t offset = mu_fifo_offset(h);

	if (!ch->rec && rec_create(ch))
		return -EAGAIN;
	if (rec_room(ch) < (uint64_t)packets * 32 + (bytes + 31) / 32 * 32)
		return -EAGAIN;
	for (uint32_t at = 0, i = 0; i < packets; i++, at += 512) {
		uint32_t n = bytes - at > 512 ? 512 : bytes - at;
		MUHWI_PacketHeader_t one = *h;

		one.messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_LSB = (uint32_t)(offset + at);
		one.messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_MSB = (offset + at) >> 32 & 31;
		one.NetworkHeader.pt2pt.Injection_Info.Reserved4 = (uint16_t)((32 - n % 32) % 32); /* pad */
		ch->rec_source[ch->rec_appended++ % MU_REC_PACKETS] = source;
		mu_rec_fifo_append(&ch->rec_hw, &one, payload + at, n);
	}
	return 0;
}

static int spill(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
                 const unsigned char *payload, uint32_t bytes)
{
	struct mu_spill *s;

	if (ch->spill_bytes > MU_SPILL_MAX || !(s = aligned_alloc(16, (sizeof *s + bytes + 15) & ~15ul)))
		return -EAGAIN;
	s->next = NULL;
	s->source = source;
	s->bytes = bytes;
	s->header = *h;
	memcpy(s->payload, payload, bytes);
	*ch->spill_last = s;
	ch->spill_last = &s->next;
	ch->spill_bytes += sizeof *s + bytes;
	return 0;
}

static int store(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
                 const unsigned char *payload, uint32_t bytes)
{
	if (!ch->spill_first && !rec_store(ch, h, source, payload, bytes))
		return 0;
	return spill(ch, h, source, payload, bytes);
}

/*
 * Of a task that died (or is cut off), after all that waits for it has ended: its last words were still on their way. Part of
 * a message perhaps, whose rest will not come.
 */
static int comes_late(const struct mu_channel *ch, uint32_t source)
{
	return mu_task_dead(source) && !mu_gone_news(ch);
}

static void dispatch_one(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
                         const unsigned char *payload, uint32_t bytes)
{
	if (__builtin_expect(ch->gone_seen, 0) && comes_late(ch, source))
		return;
	ch->receive(ch->arg, source, h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, payload, bytes,
	            mu_fifo_offset(h));
}

static void bad_packet(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source, const char *why)
{
	ch->bad++;
	drv_warn("channel %u: packet from task %u refused: %s (type %02x)", ch->index, source, why,
	         h->NetworkHeader.pt2pt.Byte8.Byte8);
}

static void receive_internal(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source)
{
	struct mu_internal m;

	memcpy(&m, h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, sizeof m);
	switch (m.kind) {
	case MU_INTERNAL_ACK:
		mu_ack_done(ch, &m);
		break;
	case MU_INTERNAL_FAULT:
		mu_fault_seen(ch, source, (int)m.error);
		break;
	default:
		bad_packet(ch, h, source, "unknown kind of internal packet");
	}
}

/*
 * An answer to a get of this channel: it goes where our own caller wanted it, so what is true of any memcpy into his
 * buffer will do. The pages of others' puts are looked at first, a system call each.
 */
enum { NOT_ASKED, ASKED, ASKED_ONCE }; /* ONCE: of a get that has ended, with an error: its buffer may be in use again */
static int asked_for(const struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint64_t to, uint32_t bytes)
{
	uint64_t counter = h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset;
	uint64_t at = (counter & ~(MUHWI_ATOMIC_ADDRESS_INDICATOR | 7)) - (uint64_t)(uintptr_t)ch->a->counter;

	if (!counter || at >= sizeof ch->a->counter)
		return NOT_ASKED;
	return __atomic_load_n(&ch->a->counter[at / 8], __ATOMIC_ACQUIRE) &&
	       to >= __atomic_load_n(&ch->counter_to[at / 8], __ATOMIC_RELAXED) &&
	       to + bytes <= __atomic_load_n(&ch->counter_end[at / 8], __ATOMIC_RELAXED) ? ASKED : ASKED_ONCE;
}

static void receive_put(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
                        const unsigned char *payload, uint32_t bytes)
{
	struct mu_node_class *k = mu_put_class(ch->p->host, ch->p->job.node, h);
	uint64_t to = mu_put_offset(h) + (k ? __atomic_load_n(&k->base, __ATOMIC_RELAXED) : 0);
	int rc, asked;

	if (!bytes || to + bytes < to) {
		bad_packet(ch, h, source, "direct put of nothing or across the end of memory");
		return;
	}
	/* The answer to a get of ours, which has ended or will end with an error: its buffer may be in use again. */
	if (h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset && mu_gone(ch->p, source))
		return;
	if (k && !__atomic_load_n(&k->base, __ATOMIC_RELAXED))
		return; /* mu_class_abandon() */
	asked = k ? NOT_ASKED : asked_for(ch, h, to, bytes);
	if (asked == ASKED_ONCE)
		return;
	rc = asked ? mu_copy_own(to, payload, bytes) : mu_copy_out(ch->p, to, payload, bytes);
	if (k) {
		/* Software that gave a place which is not there must not wait for ever. */
		if (rc)
			bad_packet(ch, h, source, "the place of a class route is not there");
		__atomic_fetch_sub(mu_class_counter(k, h), bytes, __ATOMIC_RELEASE);
		return;
	}
	if (rc)
		mu_fault_tell(ch, source, h->messageUnitHeader.Packet_Types.Direct_Put.Unused1, -rc);
	else if (h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset)
		mu_counter_sub(ch->p, h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset, bytes);
}

int mu_receive_record(struct mu_channel *ch, const MUHWI_PacketHeader_t *h, uint32_t source,
                      const unsigned char *payload, uint32_t bytes, int dispatch)
{
	if (__builtin_expect(h->NetworkHeader.pt2pt.Data_Packet_Type != MUHWI_PT2PT_DATA_PACKET_TYPE, 0) &&
	    !mu_is_coll(h)) {
		if (h->NetworkHeader.pt2pt.Data_Packet_Type)
			bad_packet(ch, h, source, "not a point-to-point packet");
		return 0;
	}
	switch (h->NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0) {
	case MUHWI_PACKET_TYPE_FIFO:
		if (__builtin_expect(h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused1, 0))
			receive_internal(ch, h, source);
		else if (dispatch)
			dispatch_one(ch, h, source, payload, bytes);
		else
			return store(ch, h, source, payload, bytes);
		return 0;
	case MUHWI_PACKET_TYPE_PUT:
		receive_put(ch, h, source, payload, bytes);
		return 0;
	case MUHWI_PACKET_TYPE_GET:
		if (!bytes || bytes % 64 || bytes > MU_PACKET_BYTES) {
			bad_packet(ch, h, source, "remote get whose payload is not 1 to 8 descriptors");
			return 0;
		}
		return mu_rget_append(ch, payload, bytes);
	default:
		bad_packet(ch, h, source, "packet type 3");
		return 0;
	}
}

/* Tell the initiator of a put or get that memory was not there; travels in order with acks. */
int mu_fault_tell(struct mu_channel *ch, uint32_t task, unsigned channel, int error)
{
	struct mu_internal m = { .kind = MU_INTERNAL_FAULT, .error = (uint32_t)error };
	const struct mu_task_entry *e;
	struct mu_dest to;
	MUHWI_Descriptor_t d;

	if (task >= ch->p->host->tasks)
		return -EINVAL;
	e = &ch->p->entry[task];
	to = (struct mu_dest){ e->coords, (uint32_t)e->t * ch->p->channels + channel % ch->p->channels };
	mu_desc_fifo(&d, 0, 0, &to, &m, 1);
	return mu_rget_append(ch, (const unsigned char *)&d, 64);
}

/* What was stored while nobody polled. */
static int drain_stored(struct mu_channel *ch)
{
	MUHWI_PacketHeader_t *h;
	struct mu_spill *s;
	uint32_t bytes;
	int n = 0;

	while (ch->rec && (h = MUSPI_getNextPacket(ch->rec, &bytes))) {
		uint32_t source = ch->rec_source[(ch->rec->numProcessed - 1) % MU_REC_PACKETS];

		dispatch_one(ch, h, source, (unsigned char *)h + 32,
		             bytes - 32 - h->NetworkHeader.pt2pt.Injection_Info.Reserved4);
		MUSPI_syncRecFifoHwHead(ch->rec);
		n++;
	}
	while ((s = ch->spill_first)) {
		ch->spill_first = s->next;
		if (!s->next)
			ch->spill_last = &ch->spill_first;
		ch->spill_bytes -= sizeof *s + s->bytes;
		dispatch_one(ch, &s->header, s->source, s->payload, s->bytes);
		free(s);
		n++;
	}
	return n;
}

int mu_engine_receive(struct mu_channel *ch, int budget, int dispatch)
{
	struct drv_ring *ring = &ch->a->ring;
	struct drv_ring_record *rec;
	int n = 0;

	if (dispatch && __builtin_expect(ch->rec != NULL || ch->spill_first, 0))
		n = drain_stored(ch);
	while (n < budget) {
		uint32_t lanes;

		rec = drv_ring_peek(ring, &ch->rx);
		/* What a lane held when this record was seen may come before it; all of it fits into the lane. */
		if ((lanes = mu_lanes(ch))) {
			int got = mu_lane_receive(ch, lanes, rec ? (int)DRV_LANE_UNITS : budget - n, dispatch);

			if (got < 0)
				break;
			n += got;
		}
		if (!rec || mu_receive_record(ch, (const MUHWI_PacketHeader_t *)rec->header, rec->tag, rec->payload,
		                      rec->bytes, dispatch))
			break;
		drv_ring_release(ring, &ch->rx, rec);
		n++;
	}
	if (!n)
		drv_ring_publish_head(ring, &ch->rx);
	return n;
}
