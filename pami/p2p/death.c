/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that died. The messaging unit ends puts, gets and sends in flight (mu/channel/death.c).
 * This file ends the halves of operations that wait for a message from a dead task, with
 * PAMI_SHUTDOWN.
 */
#include "drivers/base/atomic.h"
#include "pami/coll/coll.h"
#include "pami/core/context.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/geometry/geometry.h"
#include "pami/p2p/death.h"
#include "pami/p2p/inbound.h"
#include "pami/p2p/request.h"

static void end_requests(struct pami_context *ctx)
{
	/* Callbacks may add requests, but none that waits for a dead task. */
	uint32_t slabs = ctx->requests.slabs;

	for (uint32_t i = 0; i < slabs; i++)
		for (unsigned k = 0; k < PAMI_REQUEST_SLAB; k++) {
			struct pami_request *r = &ctx->requests.slab[i][k];

			if ((r->awaited & PAMI_REQUEST_LIVE) && r->answer &&
			    mu_task_is_unreachable(r->task))
				r->answer(r, -ESHUTDOWN, NULL, 0);
		}
}

void pami_apply_deaths(void *arg)
{
	struct pami_context *ctx = arg;

	ctx->deaths.applied = mu_death_count();
	/* Receives first: the end of a receive may complete a request. */
	pami_inbound_apply_deaths(ctx);
	end_requests(ctx);
	pami_coll_apply_deaths(ctx);
	if (ctx->deaths.notify)
		ctx->deaths.notify(ctx, ctx->deaths.cookie);
}

/* Are two members cut off from each other? All members must give the same answer, so each checks
 * all pairs. */
static bool has_cut_off_members(struct pami_geometry *g)
{
	if (!mu_has_lost_hosts())
		return false;
	for (uint32_t a = 0; a < g->size; a++)
		for (uint32_t b = 0; b < a; b++)
			if (mu_tasks_are_cut_off(pami_endpoint_task(pami_geometry_endpoint(g, a)),
						 pami_endpoint_task(pami_geometry_endpoint(g, b))))
				return true;
	return false;
}

int pami_geometry_is_dead(struct pami_geometry *g)
{
	uint32_t count = mu_death_count();

	if (!count)
		return 0;
	if (atomic_load_relaxed(&g->has_dead))
		return 1;
	if (count == atomic_load_relaxed(&g->dead_seen))
		return 0;
	for (uint32_t rank = 0; rank < g->size; rank++)
		if (mu_task_is_dead(pami_endpoint_task(pami_geometry_endpoint(g, rank)))) {
			atomic_store_relaxed(&g->has_dead, 1);
			return 1;
		}
	if (has_cut_off_members(g)) {
		atomic_store_relaxed(&g->has_dead, 1);
		return 1;
	}
	atomic_store_relaxed(&g->dead_seen, count);
	return 0;
}
