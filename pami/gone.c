/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that are gone: what waits for an answer of theirs ends with PAMI_SHUTDOWN. Puts, gets and
 * sends under way are ended by the messaging unit (mu/gone.c); here follow those halves of
 * operations that would end with a message from the other side.
 */
#include "pami/coll.h"
#include "pami/geometry.h"
#include "pami/state.h"

static void end_requests(struct pami_context *ctx)
{
	uint32_t slabs = ctx->request_slabs; /* callbacks may start more, but nothing with those who are gone */

	for (uint32_t i = 0; i < slabs; i++)
		for (unsigned k = 0; k < PAMI_REQUEST_SLAB; k++) {
			struct pami_request *r = &ctx->request_slab[i][k];

			if ((r->awaited & PAMI_REQUEST_LIVE) && r->answer && mu_task_gone(r->task))
				r->answer(r, -ESHUTDOWN, NULL, 0);
		}
}

void pami_gone(void *arg)
{
	struct pami_context *ctx = arg;

	ctx->gone = mu_gone_count();
	/* First: a receive may be the last step of a request. */
	pami_inbound_gone(ctx);
	end_requests(ctx);
	pami_coll_gone(ctx);
	if (ctx->on_deaths)
		ctx->on_deaths(ctx, ctx->deaths_cookie);
}

/* Do two members not reach each other any more? All members must give the same answer, so each looks at all pairs. */
static int parted(struct pami_geometry *g)
{
	if (!mu_hosts_lost())
		return 0;
	for (uint32_t a = 0; a < g->size; a++)
		for (uint32_t b = 0; b < a; b++)
			if (mu_tasks_cut(pami_endpoint_task(pami_geometry_endpoint(g, a)),
			                 pami_endpoint_task(pami_geometry_endpoint(g, b))))
				return 1;
	return 0;
}

int pami_geometry_dead(struct pami_geometry *g)
{
	uint32_t count = mu_gone_count();

	if (!count)
		return 0;
	if (__atomic_load_n(&g->dead, __ATOMIC_RELAXED))
		return 1;
	if (count == __atomic_load_n(&g->dead_seen, __ATOMIC_RELAXED))
		return 0;
	for (uint32_t rank = 0; rank < g->size; rank++)
		if (mu_task_dead(pami_endpoint_task(pami_geometry_endpoint(g, rank)))) {
			__atomic_store_n(&g->dead, 1, __ATOMIC_RELAXED);
			return 1;
		}
	if (parted(g)) {
		__atomic_store_n(&g->dead, 1, __ATOMIC_RELAXED);
		return 1;
	}
	__atomic_store_n(&g->dead_seen, count, __ATOMIC_RELAXED);
	return 0;
}
