/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Near tasks: pieces straight into the ring of the target channel. Same host on fabric express,
 * same node on fabric torus (what PAMI calls the shm device). Hot: guarded by
 * bench/micro/pami_latency and bench/micro/pami_rate. Short messages take a lane (engine/lane.h) in
 * channel/send.c.
 */
#include <errno.h>

#include "drivers/base/atomic.h"
#include "mu/engine/lane.h"
#include "mu/engine/memory.h"
#include "mu/hw/desc_build.h"
#include "mu/transport/transport.h"

struct drv_ring *mu_ring(struct mu_host *host, uint32_t local, unsigned channel)
{
	struct drv_ring *r = &mu_host_channel(host, local, channel)->ring;

	/* The first sender may come before the owner; both write the same constant. */
	if (__builtin_expect(!atomic_load_acquire(&r->lines), 0))
		atomic_store_release(&r->lines, MU_RING_LINES);
	return r;
}

void mu_near_path_find(struct mu_channel *ch, struct mu_near_path *path, uint32_t local,
		       unsigned channel)
{
	atomic_ptr_store_relaxed(&path->wake, mu_host_area(ch->p->host, local)->wake);
	/* The engine thread may be here at the same time, and writes the same. */
	atomic_ptr_store_release(&path->ring, mu_ring(ch->p->host, local, channel));
}

int mu_deliver(struct mu_host *host, struct drv_ring_tx *tx, uint32_t local, unsigned channel,
	       const MUHWI_PacketHeader_t *h, uint32_t source, const unsigned char *payload,
	       uint32_t bytes)
{
	struct drv_ring *ring = mu_ring(host, local, channel);
	/* Where a job survives deaths, only the agent delivers. */
	struct drv_ring_claim *claim = mu_host_claim(host, &host->agent_claim);
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

int mu_ring_send_piece(struct mu_channel *ch, struct drv_ring *ring, struct drv_ring_tx *tx,
		       struct drv_lane *lane, const MUHWI_PacketHeader_t *h, const void *payload,
		       uint32_t bytes, struct mu_checked_range *range)
{
	struct mu_process *p = ch->p;
	uint64_t position;
	struct drv_ring_record *rec = drv_ring_reserve_claimed(
	    ring, tx, bytes, &position, ch->engine.claim, mu_ring_name(p->host, ring));
	int rc = 0;

	if (!rec)
		return -EAGAIN;
	rec->tag = p->task;
	memcpy(rec->header, h, 32);
	if (range && bytes)
		rc = mu_copy_in(p, rec->payload, (uint64_t)(uintptr_t)payload, bytes, range);
	else if (bytes)
		memcpy(rec->payload, payload, bytes);
	/* The place is taken. A record of type 0 is skipped by the receiver. */
	if (rc)
		rec->header[0] = 0;
	drv_ring_publish(rec, position);
	mu_lane_follow_ring(lane, position);
	return rc;
}

int mu_near_send_piece(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h,
		       const void *payload, uint32_t bytes, struct mu_checked_range *range)
{
	struct mu_process *p = ch->p;
	unsigned channel = mu_header_number(h) % p->channels;
	struct mu_near_path *path = mu_near_path(ch, p->entry[task].local, channel);
	/* What answers a remote get has no order with messages, and another thread may send those
	 * through the lane meanwhile. */
	int rc = mu_ring_send_piece(ch, path->ring.plain, &p->tx[path - ch->tx.near],
				    range ? NULL : path->lane, h, payload, bytes, range);

	if (rc != -EAGAIN)
		mu_near_path_wake(path);
	return rc;
}
