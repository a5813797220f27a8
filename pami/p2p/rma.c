/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: put and get, by addresses or by memory regions, straight to the messaging unit's RDMA. The
 * bench pami_rdma guards it.
 */
#include "pami/p2p/rma.h"

#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/p2p/memregion.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/trace.h"

/*
 * Make the request of an operation that goes straight to the RDMA of the messaging unit. NULL:
 * there is nothing to start, and *result is what the call returns.
 */
static PAMI_INLINE struct pami_request *rma_begin(const char *call, struct pami_context *ctx,
						  const pami_rma_t *rma,
						  pami_event_function rdone_fn, enum mu_cost cost,
						  pami_result_t *result)
{
	struct pami_request *r;

	if (PAMI_UNLIKELY(!pami_endpoint_is_valid(ctx, rma->dest))) {
		*result = pami_fail_in(call, PAMI_INVAL, pami_endpoint_problem(ctx, rma->dest));
		return NULL;
	}
	if (PAMI_UNLIKELY(!rma->bytes)) {
		*result = pami_event_defer(ctx, rma->done_fn, rdone_fn, rma->cookie, 0);
		return NULL;
	}
	mu_charge(cost, 1);
	r = pami_request_new(ctx);
	if (!r) {
		*result = pami_result_in(call, -ENOMEM);
		return NULL;
	}
	r->op.done = pami_request_on_local_done;
	pami_rma_fill_request(ctx, r, rma);
	return r;
}

/* The operation was handed to the queue, which returned rc. */
static PAMI_INLINE pami_result_t rma_end(const char *call, struct pami_context *ctx,
					 struct pami_request *r, int rc)
{
	if (PAMI_UNLIKELY(rc))
		pami_request_free(r);
	if (PAMI_UNLIKELY(ctx->queue.bytes > pami_limits.queue_max))
		pami_queue_throttle(ctx);
	return pami_result_in(call, rc);
}

pami_result_t pami_put(const char *call, struct pami_context *ctx, const pami_rma_t *rma,
		       const void *local, uint64_t remote, pami_event_function rdone_fn)
{
	pami_result_t result;
	struct pami_request *r;

	if (pami_is_traced(ctx))
		return pami_trace_put(call, ctx, rma, local, remote, rdone_fn);
	r = rma_begin(call, ctx, rma, rdone_fn, MU_COST_put, &result);
	if (PAMI_UNLIKELY(!r))
		return result;
	r->remote_fn = rdone_fn;
	r->remote.done = pami_request_on_remote_done;
	if (rdone_fn || r->fence)
		r->awaited |= PAMI_REQUEST_REMOTE;
	return rma_end(call, ctx, r,
		       pami_queue_put(ctx, rma->dest, local, remote, rma->bytes, &r->op,
				      r->awaited & PAMI_REQUEST_REMOTE ? &r->remote : NULL));
}

pami_result_t pami_get(const char *call, struct pami_context *ctx, const pami_rma_t *rma,
		       void *local, uint64_t remote)
{
	pami_result_t result;
	struct pami_request *r;

	if (pami_is_traced(ctx))
		return pami_trace_get(call, ctx, rma, local, remote);
	r = rma_begin(call, ctx, rma, NULL, MU_COST_get, &result);
	if (PAMI_UNLIKELY(!r))
		return result;
	return rma_end(call, ctx, r,
		       pami_queue_get(ctx, rma->dest, local, remote, rma->bytes, &r->op));
}

PAMI_EXPORT pami_result_t PAMI_Put(pami_context_t context, pami_put_simple_t *p)
{
	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid(context);
	return pami_put(__func__, pami_context_of(context), &p->rma, p->addr.local,
			(uint64_t)(uintptr_t)p->addr.remote, p->put.rdone_fn);
}

PAMI_EXPORT pami_result_t PAMI_Get(pami_context_t context, pami_get_simple_t *p)
{
	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid(context);
	return pami_get(__func__, pami_context_of(context), &p->rma, p->addr.local,
			(uint64_t)(uintptr_t)p->addr.remote);
}

PAMI_EXPORT pami_result_t PAMI_Rput(pami_context_t context, pami_rput_simple_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_region_ends e;
	int rc;

	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid(context);
	rc = pami_region_resolve(ctx, &p->rma, &p->rdma, PAMI_REGION_WRITE, &e);
	if (PAMI_LIKELY(!rc) &&
	    PAMI_UNLIKELY(p->rma.bytes > e.local_room || p->rma.bytes > e.remote_room))
		rc = -ERANGE;
	if (PAMI_UNLIKELY(rc))
		return pami_region_fail(__func__, ctx, &p->rma, p->put.rdone_fn, rc);
	return pami_put(__func__, ctx, &p->rma, (void *)(uintptr_t)e.local, e.remote,
			p->put.rdone_fn);
}

/*
 * A get longer than its local region moves the bytes that fit, without an error: libraries truncate
 * messages that way. Source: MPICH 3.1.4, pamid, receives shorter than the message.
 */
static PAMI_COLD pami_result_t rget_truncated(const char *call, struct pami_context *ctx,
					      pami_rget_simple_t *p,
					      const struct pami_region_ends *e)
{
	pami_rma_t rma = p->rma;

	rma.bytes = e->local_room;
	return pami_get(call, ctx, &rma, (void *)(uintptr_t)e->local, e->remote);
}

PAMI_EXPORT pami_result_t PAMI_Rget(pami_context_t context, pami_rget_simple_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_region_ends e;
	int rc;

	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid(context);
	rc = pami_region_resolve(ctx, &p->rma, &p->rdma, PAMI_REGION_READ, &e);
	if (PAMI_LIKELY(!rc) && PAMI_UNLIKELY(p->rma.bytes > e.remote_room))
		rc = -ERANGE;
	if (PAMI_UNLIKELY(rc))
		return pami_region_fail(__func__, ctx, &p->rma, NULL, rc);
	if (PAMI_UNLIKELY(p->rma.bytes > e.local_room))
		return rget_truncated(__func__, ctx, p, &e);
	return pami_get(__func__, ctx, &p->rma, (void *)(uintptr_t)e.local, e.remote);
}
