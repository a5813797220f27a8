/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes (drivers/base/lane.h): short messages between near tasks beside the ring of the target channel. Hot:
 * guarded by bench/pami_rate.
 *
 * A channel has MU_LANES of them, for those who send to it first and often: one producer each, the thread
 * that uses the sending channel (or its engine, which runs while nobody else may send). The ring takes
 * what does not fit, everybody else, and all that is no short message. QUINTORUS_LANES=off: everything.
 */
#include <errno.h>

#include "mu/process.h"

static uint64_t lane_owner(const struct mu_channel *ch)
{
	return (uint64_t)ch->p->local * MU_CHANNELS_MAX + ch->index + 1;
}

/* A lane of ours from an earlier life of this channel, else one that is nobody's. */
static struct drv_lane *lane_claim(struct mu_channel *ch, struct drv_ring *ring)
{
	struct mu_channel_area *a = (void *)((char *)ring - offsetof(struct mu_channel_area, ring));
	uint64_t own = lane_owner(ch);

	for (unsigned i = 0; i < MU_LANES; i++) {
		uint64_t owner = 0;

		if (!__atomic_compare_exchange_n(&a->lane[i].owner, &owner, own, 0, __ATOMIC_ACQ_REL,
		                                 __ATOMIC_ACQUIRE) && owner != own)
			continue;
		/* Whatever is in the ring by now may be ours. */
		a->lane[i].after = __atomic_load_n(&a->ring.tail, __ATOMIC_ACQUIRE);
		__atomic_fetch_or(&a->ring.lanes, 1u << i, __ATOMIC_RELEASE);
		return &a->lane[i];
	}
	return MU_LANE_NONE;
}

struct drv_lane *mu_lane_get(struct mu_channel *ch, struct mu_out *o)
{
	struct drv_lane *l = o->lane;

	if (!ch->p->lanes || l == MU_LANE_NONE)
		return NULL;
	if (!mu_lane_is(l)) {
		if ((uintptr_t)l < MU_LANE_RECORDS) {
			o->lane = (struct drv_lane *)((uintptr_t)l + 1);
			return NULL;
		}
		l = o->lane = lane_claim(ch, o->ring);
		if (!mu_lane_is(l))
			return NULL;
	}
	/* While it is crowded the ring goes on taking all: going from one to the other costs a unit each time. */
	if (l->tail - l->head_seen > DRV_LANE_UNITS / 2) {
		l->head_seen = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE);
		if (l->tail - l->head_seen > DRV_LANE_UNITS * 3 / 4)
			return NULL;
	}
	return !l->after || drv_lane_bar(l) ? l : NULL;
}

static int lane_store(struct mu_channel *ch, uint32_t source, const struct drv_lane_record *rec)
{
	MUHWI_PacketHeader_t h = { 0 };

	h.NetworkHeader.pt2pt.Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	h.NetworkHeader.pt2pt.Byte8.Byte8 = (uint8_t)(MUHWI_PACKET_TYPE_FIFO | (rec->bytes + 31) / 32);
	memcpy(h.messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, rec->head, MU_SOFT_BYTES);
	return mu_receive_record(ch, &h, source, rec->payload, rec->bytes, 0);
}

static uint32_t lane_source(struct mu_channel *ch, unsigned i)
{
	uint64_t owner = __atomic_load_n(&ch->a->lane[i].owner, __ATOMIC_ACQUIRE);

	return ch->lane_source[i] = mu_host_task(ch->p->host, (uint32_t)((owner - 1) / MU_CHANNELS_MAX));
}

int mu_lane_receive(struct mu_channel *ch, uint32_t lanes, int budget, int dispatch)
{
	int all = 0;

	for (; lanes; lanes &= lanes - 1) {
		unsigned i = (unsigned)__builtin_ctz(lanes);
		struct drv_lane *l = &ch->a->lane[i];
		struct drv_lane_rx *rx = &ch->lane_rx[i];
		struct drv_lane_record *rec;
		uint32_t source = ch->lane_source[i];
		uint64_t flag;

		for (int n = 0; n < budget && (rec = drv_lane_peek(l, rx, ch->rx.head, &flag)); n++, all++) {
			if (__builtin_expect(source == UINT32_MAX, 0))
				source = lane_source(ch, i);
			if (__builtin_expect(dispatch, 1))
				ch->receive(ch->arg, source, rec->head, rec->payload, rec->bytes, 0);
			else if (lane_store(ch, source, rec))
				return -EAGAIN;
			drv_lane_release(l, rx, rec, flag);
		}
	}
	return all;
}

int mu_lane_ready(struct mu_channel *ch, int gone)
{
	for (uint32_t m = mu_lanes(ch); m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		if (drv_lane_ready(&ch->a->lane[i], &ch->lane_rx[i]) &&
		    (!gone || mu_gone(ch->p, ch->lane_source[i] == UINT32_MAX ? lane_source(ch, i) : ch->lane_source[i])))
			return 1;
	}
	return 0;
}

void mu_lane_open(struct mu_channel *ch)
{
	for (unsigned i = 0; i < MU_LANES; i++) {
		ch->lane_rx[i].head = ch->lane_rx[i].published = ch->a->lane[i].head;
		ch->lane_source[i] = UINT32_MAX;
	}
}

void mu_lane_close(struct mu_channel *ch)
{
	for (unsigned i = 0; i < MU_LANES; i++)
		if (ch->lane_rx[i].published != ch->lane_rx[i].head)
			drv_lane_publish_head(&ch->a->lane[i], &ch->lane_rx[i]);
}
