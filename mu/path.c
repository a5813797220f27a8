/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of one piece of a message (header and payload) toward its destination. Hot: guarded by
 * bench/pami_latency and bench/pami_rate.
 *
 *   near                  straight into the target channel's ring: same host on express, same
 *                         node on torus (what PAMI calls the shm device)
 *   express, other host   into the open frame of the wire (we hold the port), else to the agent
 *   torus                 into this node's router
 */
#include <errno.h>

#include "mu/holder.h"
#include "mu/live.h"
#include "mu/process.h"

struct drv_ring *mu_ring(struct mu_host *host, uint32_t local, unsigned channel)
{
	struct drv_ring *r = &mu_host_channel(host, local, channel)->ring;

	/* The first sender may come before the owner; both write the same constant. */
	if (__builtin_expect(!__atomic_load_n(&r->lines, __ATOMIC_ACQUIRE), 0))
		__atomic_store_n(&r->lines, MU_RING_LINES, __ATOMIC_RELEASE);
	return r;
}

void mu_out_find(struct mu_channel *ch, struct mu_out *o, uint32_t local, unsigned channel)
{
	__atomic_store_n(&o->wake, mu_host_area(ch->p->host, local)->wake, __ATOMIC_RELAXED);
	/* The engine thread may be here at the same time, and writes the same. */
	__atomic_store_n(&o->ring, mu_ring(ch->p->host, local, channel), __ATOMIC_RELEASE);
}

int mu_deliver(struct mu_host *host, struct drv_ring_tx *tx, uint32_t local, unsigned channel,
               const MUHWI_PacketHeader_t *h, uint32_t source, const unsigned char *payload, uint32_t bytes)
{
	struct drv_ring *ring = mu_ring(host, local, channel);
	/* Where deaths are survived, the agent alone delivers. */
	struct drv_ring_claim *claim = host->on_death == MU_ON_DEATH_ERROR ? &host->agent_claim : NULL;
	uint64_t position;
	struct drv_ring_record *rec =
		drv_ring_reserve_claimed(ring, tx, bytes, &position, claim, mu_ring_name(host, ring));

	if (!rec)
		return -EAGAIN;
	rec->tag = source;
	memcpy(rec->header, h, 32);
	memcpy(rec->payload, payload, bytes);
	drv_ring_publish(rec, position);
	mu_host_wake(host, local, ring);
	return 0;
}

/* lane: ours beside this ring, or NULL. */
static int send_to_ring(struct mu_channel *ch, struct drv_ring *ring, struct drv_ring_tx *tx, struct drv_lane *lane,
                        const MUHWI_PacketHeader_t *h, const void *payload, uint32_t bytes, struct mu_look *look)
{
	struct mu_process *p = ch->p;
	uint64_t position;
	struct drv_ring_record *rec = drv_ring_reserve_claimed(ring, tx, bytes, &position, ch->claim_engine,
	                                                       mu_ring_name(p->host, ring));
	int rc = 0;

	if (!rec)
		return -EAGAIN;
	rec->tag = p->task;
	memcpy(rec->header, h, 32);
	if (look && bytes)
		rc = mu_copy_in(p, rec->payload, (uint64_t)(uintptr_t)payload, bytes, look);
	else if (bytes)
		memcpy(rec->payload, payload, bytes);
	if (rc)
		rec->header[0] = 0; /* the place is taken: a record of no type, skipped by the receiver */
	drv_ring_publish(rec, position);
	mu_lane_after(lane, position);
	return rc;
}

uint32_t mu_path_piece(struct mu_process *p, uint32_t task)
{
	uint32_t bytes;

	if (p->near[task])
		return MU_PIECE_BYTES;
	if (p->live)
		return MU_PACKET_BYTES;
	bytes = __atomic_load_n(&p->host->piece_bytes, __ATOMIC_RELAXED);
	return bytes < MU_PACKET_BYTES ? MU_PACKET_BYTES : bytes;
}

int mu_path_send(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h, const void *payload,
                 uint32_t bytes, struct mu_look *look)
{
	struct mu_process *p = ch->p;
	const struct mu_task_entry *e = &p->entry[task];
	int rc;

	if (__builtin_expect(p->near[task], 1)) {
		unsigned channel = mu_header_number(h) % p->channels;
		struct mu_out *o = mu_out(ch, e->local, channel);

		/* What answers remote gets has no order with messages, and another thread may send those meanwhile. */
		rc = send_to_ring(ch, o->ring, &p->tx[o - ch->out], look ? NULL : o->lane, h, payload, bytes, look);
		if (rc != -EAGAIN) {
			mu_traffic_add(ch, task, bytes, MU_SENT_BY_ENGINE);
			mu_out_wake(o);
		}
		return rc;
	}
	if (p->live)
		return mu_live_send(p->live, task, h, payload, bytes, look != NULL);
	if (p->holder) {
		if (!mu_hold(p, ch))
			return -EAGAIN;
		rc = mu_holder_send(p->holder, e->host, p->task, h, payload, bytes, look);
		mu_hold_end(p, ch);
		if (rc != -EAGAIN)
			mu_traffic_add(ch, task, bytes, MU_SENT_BY_ENGINE);
		return rc;
	}
	rc = send_to_ring(ch, mu_host_outbound(p->host), &p->outbound_tx, NULL, h, payload, bytes, look);
	if (rc != -EAGAIN) {
		mu_traffic_add(ch, task, bytes, MU_SENT_BY_ENGINE);
		drv_wake_ring(&p->host->agent_wake);
	}
	return rc;
}

void mu_path_flush(struct mu_process *p, struct mu_channel *ch)
{
	if (p->live)
		mu_live_poll(p->live);
	if (p->holder && mu_hold(p, ch)) {
		mu_holder_flush(p->holder);
		mu_hold_end(p, ch);
	}
}
