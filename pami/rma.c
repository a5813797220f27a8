/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: put and get, by addresses or by memory regions, straight onto the messaging unit's RDMA.
 * Guarded by bench/pami_rdma.
 */
#include "pami/memregion.h"
#include "pami/state.h"

pami_result_t pami_put(struct pami_context *ctx, const pami_rma_t *rma, const void *local, uint64_t remote,
                       pami_event_function rdone_fn)
{
	struct pami_request *r;
	int rc;

	if (PAMI_UNLIKELY(!pami_endpoint_ok(ctx, rma->dest)))
		return pami_fail(PAMI_INVAL, "no such endpoint");
	if (PAMI_UNLIKELY(!rma->bytes))
		return pami_event_defer(ctx, rma->done_fn, rdone_fn, rma->cookie, 0);
	mu_charge(MU_COST_put, 1);
	r = pami_request_new(ctx);
	if (!r)
		return pami_result(-ENOMEM);
	r->local_fn = rma->done_fn;
	r->remote_fn = rdone_fn;
	r->cookie = rma->cookie;
	r->op.done = pami_request_local_done;
	r->remote.done = pami_request_remote_done;
	r->awaited |= PAMI_REQUEST_LOCAL;
	if (PAMI_UNLIKELY(ctx->slow & PAMI_SLOW_FENCE))
		r->fence = pami_fence_note(ctx, rma->dest);
	if (rdone_fn || r->fence)
		r->awaited |= PAMI_REQUEST_REMOTE;
	rc = pami_queue_put(ctx, rma->dest, local, remote, rma->bytes, &r->op,
	                    r->awaited & PAMI_REQUEST_REMOTE ? &r->remote : NULL);
	if (PAMI_UNLIKELY(rc))
		pami_request_free(r);
	if (PAMI_UNLIKELY(ctx->queue_bytes > pami_limits.queue_max))
		pami_queue_throttle(ctx);
	return pami_result(rc);
}

pami_result_t pami_get(struct pami_context *ctx, const pami_rma_t *rma, void *local, uint64_t remote)
{
	struct pami_request *r;
	int rc;

	if (PAMI_UNLIKELY(!pami_endpoint_ok(ctx, rma->dest)))
		return pami_fail(PAMI_INVAL, "no such endpoint");
	if (PAMI_UNLIKELY(!rma->bytes))
		return pami_event_defer(ctx, rma->done_fn, NULL, rma->cookie, 0);
	mu_charge(MU_COST_get, 1);
	r = pami_request_new(ctx);
	if (!r)
		return pami_result(-ENOMEM);
	r->local_fn = rma->done_fn;
	r->cookie = rma->cookie;
	r->op.done = pami_request_local_done;
	r->awaited |= PAMI_REQUEST_LOCAL;
	if (PAMI_UNLIKELY(ctx->slow & PAMI_SLOW_FENCE))
		r->fence = pami_fence_note(ctx, rma->dest);
	rc = pami_queue_get(ctx, rma->dest, local, remote, rma->bytes, &r->op);
	if (PAMI_UNLIKELY(rc))
		pami_request_free(r);
	if (PAMI_UNLIKELY(ctx->queue_bytes > pami_limits.queue_max))
		pami_queue_throttle(ctx);
	return pami_result(rc);
}

PAMI_EXPORT pami_result_t PAMI_Put(pami_context_t context, pami_put_simple_t *p)
{
	return pami_put(pami_context_of(context), &p->rma, p->addr.local,
	                (uint64_t)(uintptr_t)p->addr.remote, p->put.rdone_fn);
}

PAMI_EXPORT pami_result_t PAMI_Get(pami_context_t context, pami_get_simple_t *p)
{
	return pami_get(pami_context_of(context), &p->rma, p->addr.local,
	                (uint64_t)(uintptr_t)p->addr.remote);
}

PAMI_EXPORT pami_result_t PAMI_Rput(pami_context_t context, pami_rput_simple_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	uint64_t local, remote;
	int rc = pami_region_pair(ctx, &p->rma, &p->rdma, PAMI_REGION_WRITE, &local, &remote);

	if (PAMI_UNLIKELY(rc))
		return pami_region_refused(ctx, &p->rma, p->put.rdone_fn, rc);
	return pami_put(ctx, &p->rma, (void *)(uintptr_t)local, remote, p->put.rdone_fn);
}

PAMI_EXPORT pami_result_t PAMI_Rget(pami_context_t context, pami_rget_simple_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	uint64_t local, remote;
	int rc = pami_region_pair(ctx, &p->rma, &p->rdma, PAMI_REGION_READ, &local, &remote);

	if (PAMI_UNLIKELY(rc))
		return pami_region_refused(ctx, &p->rma, NULL, rc);
	return pami_get(ctx, &p->rma, (void *)(uintptr_t)local, remote);
}
