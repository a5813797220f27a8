/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes (drivers/base/lane.h): short messages between near tasks beside the ring of the target
 * channel. Hot: guarded by bench/micro/pami_rate.
 *
 * A channel has MU_LANES of them, for those who send to it first and often: one producer each, the
 * thread that uses the sending channel (or its engine, which runs while no other may send). The
 * ring takes what does not fit, all other senders, and all that is no short message.
 * QUINTORUS_LANES=off: everything.
 */
#include <errno.h>

#include "mu/engine/lane.h"
#include "drivers/base/atomic.h"
#include "mu/engine/engine.h"
#include "mu/engine/known_memory.h"
#include "mu/process.h"

static uint64_t lane_owner(const struct mu_channel *ch)
{
	return (uint64_t)ch->p->local * MU_CHANNELS_MAX + ch->index + 1;
}

/* A lane that this channel had in an earlier life, else one without a producer. */
static struct drv_lane *lane_claim(struct mu_channel *ch, struct drv_ring *ring)
{
	struct mu_channel_area *a = (void *)((char *)ring - offsetof(struct mu_channel_area, ring));
	uint64_t own = lane_owner(ch);

	for (unsigned i = 0; i < MU_LANES; i++) {
		uint64_t owner = 0;

		if (!atomic_cas_acq_rel(&a->lane[i].owner, &owner, own) && owner != own)
			continue;
		/* Records that this channel sent may be in the ring. */
		a->lane[i].after = atomic_load_acquire(&a->ring.tail);
		atomic_fetch_or_release(&a->ring.lanes_claimed, 1u << i);
		return &a->lane[i];
	}
	return NULL;
}

struct drv_lane *mu_lane_get(struct mu_channel *ch, struct mu_near_path *o)
{
	struct drv_lane *l = o->lane;

	if (!ch->p->uses_lanes || o->ring_records == MU_LANE_REFUSED)
		return NULL;
	if (!l) {
		if (o->ring_records < MU_LANE_RECORDS) {
			o->ring_records++;
			return NULL;
		}
		l = o->lane = lane_claim(ch, o->ring.plain);
		if (!l) {
			o->ring_records = MU_LANE_REFUSED;
			return NULL;
		}
	}
	/* While the lane is more than half full the ring takes all records: each change from one to
	 * the other costs a unit. */
	if (l->tail - l->head_seen > DRV_LANE_UNITS / 2) {
		l->head_seen = atomic_load_acquire(&l->head);
		if (l->tail - l->head_seen > DRV_LANE_UNITS * 3 / 4)
			return NULL;
	}
	return !l->after || drv_lane_put_after(l) ? l : NULL;
}

static int lane_store(struct mu_channel *ch, uint32_t source, const struct drv_lane_record *rec)
{
	MUHWI_PacketHeader_t h = {0};

	h.NetworkHeader.pt2pt.Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	h.NetworkHeader.pt2pt.Byte8.Byte8 =
	    (uint8_t)(MUHWI_PACKET_TYPE_FIFO | (rec->bytes + 31) / 32);
	memcpy(h.messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, rec->head, MU_SOFT_BYTES);
	return mu_receive_record(ch, &h, source, rec->payload, rec->bytes, 0);
}

static uint32_t lane_source(struct mu_channel *ch, unsigned i)
{
	uint64_t owner = atomic_load_acquire(&ch->a->lane[i].owner);

	return ch->rx.lane_source[i] =
		   mu_host_task(ch->p->host, (uint32_t)((owner - 1) / MU_CHANNELS_MAX));
}

int mu_lane_receive(struct mu_channel *ch, uint32_t lanes, int budget, int dispatch)
{
	int all = 0;

	for (; lanes; lanes &= lanes - 1) {
		unsigned i = (unsigned)__builtin_ctz(lanes);
		struct drv_lane *l = &ch->a->lane[i];
		struct drv_lane_rx *rx = &ch->rx.lane[i];
		struct drv_lane_record *rec;
		uint32_t source = ch->rx.lane_source[i];
		uint64_t flag;

		for (int n = 0; n < budget && (rec = drv_lane_peek(l, rx, ch->rx.ring.head, &flag));
		     n++, all++) {
			if (__builtin_expect(source == UINT32_MAX, 0))
				source = lane_source(ch, i);
			if (__builtin_expect(
				!drv_lane_is_sound(rx, rec, flag) || source == UINT32_MAX, 0))
				mu_end_damaged(ch, "a lane");
			if (dispatch && __builtin_expect(ch->rx.stopped, 0))
				return -EAGAIN;
			if (__builtin_expect(dispatch, 1)) {
				mu_known_end_run();
				ch->receive(ch->arg, source, rec->head, rec->payload, rec->bytes,
					    0);
			} else if (lane_store(ch, source, rec)) {
				return -EAGAIN;
			}
			drv_lane_release(l, rx, rec, flag);
		}
	}
	return all;
}

/* Not if nobody has the lane, which is damaged then: mu_lane_receive() says so. */
static bool is_of_unreachable(struct mu_channel *ch, unsigned i)
{
	uint32_t source = ch->rx.lane_source[i];

	if (source == UINT32_MAX)
		source = lane_source(ch, i);
	return source != UINT32_MAX && mu_is_unreachable(ch->p, source);
}

int mu_lane_has_record(struct mu_channel *ch, int gone)
{
	for (uint32_t m = mu_lanes_in_use(ch); m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		if (drv_lane_is_ready(&ch->a->lane[i], &ch->rx.lane[i]) &&
		    (!gone || is_of_unreachable(ch, i)))
			return 1;
	}
	return 0;
}

void mu_lane_open(struct mu_channel *ch)
{
	for (unsigned i = 0; i < MU_LANES; i++) {
		ch->rx.lane[i].head = ch->rx.lane[i].published = ch->a->lane[i].head;
		ch->rx.lane_source[i] = UINT32_MAX;
	}
}

void mu_lane_close(struct mu_channel *ch)
{
	for (unsigned i = 0; i < MU_LANES; i++)
		if (ch->rx.lane[i].published != ch->rx.lane[i].head)
			drv_lane_publish_head(&ch->a->lane[i], &ch->rx.lane[i]);
}
