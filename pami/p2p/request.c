/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: the state of operations in flight, with one free list a context. Messages carry a
 * request's number (token) instead of its address. An answer whose token names no live request is
 * dropped.
 */
#include <stdlib.h>
#include <string.h>

#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/p2p/fence.h"
#include "pami/p2p/request.h"

static PAMI_COLD int add_slab(struct pami_context *ctx)
{
	struct pami_request **table, *slab;
	uint32_t n = ctx->requests.slabs;

	if (n == PAMI_REQUEST_SLABS_MAX)
		return -ENOMEM;
	if (!(n & (n - 1))) { /* the table doubles at powers of two */
		table = realloc(ctx->requests.slab, (n ? 2 * (size_t)n : 1) * sizeof *table);
		if (!table)
			return -ENOMEM;
		ctx->requests.slab = table;
	}
	slab = calloc(PAMI_REQUEST_SLAB, sizeof *slab);
	if (!slab)
		return -ENOMEM;
	ctx->requests.slab[n] = slab;
	ctx->requests.slabs = n + 1;
	for (uint32_t i = PAMI_REQUEST_SLAB; i--;) {
		slab[i].context = ctx;
		slab[i].token = n * PAMI_REQUEST_SLAB + i + 1;
		slab[i].next = ctx->requests.free;
		ctx->requests.free = &slab[i];
	}
	return 0;
}

struct pami_request *pami_request_new(struct pami_context *ctx)
{
	struct pami_request *r;

	if (PAMI_UNLIKELY(!ctx->requests.free) && add_slab(ctx))
		return NULL;
	r = ctx->requests.free;
	ctx->requests.free = r->next;
	/* context and token stay. The caller and the MU fill op and remote. */
	memset(&r->run, 0, sizeof *r - offsetof(struct pami_request, run));
	r->awaited = PAMI_REQUEST_LIVE;
	return r;
}

void pami_request_free(struct pami_request *r)
{
	struct pami_context *ctx = r->context;

	if (r->fence)
		pami_fence_operation_done(r->fence);
	if (r->buffer)
		free(r->buffer);
	r->awaited = 0;
	r->next = ctx->requests.free;
	ctx->requests.free = r;
}

struct pami_request *pami_request_find(struct pami_context *ctx, uint32_t token)
{
	uint32_t i = token - 1;
	struct pami_request *r;

	if (i / PAMI_REQUEST_SLAB >= ctx->requests.slabs)
		return NULL;
	r = &ctx->requests.slab[i / PAMI_REQUEST_SLAB][i % PAMI_REQUEST_SLAB];
	return r->awaited & PAMI_REQUEST_LIVE ? r : NULL;
}

bool pami_request_find_waits(const struct pami_context *ctx, uint32_t *task)
{
	const unsigned open = PAMI_REQUEST_LOCAL | PAMI_REQUEST_REMOTE;

	for (uint32_t i = 0; i < ctx->requests.slabs; i++)
		for (uint32_t k = 0; k < PAMI_REQUEST_SLAB; k++) {
			const struct pami_request *r = &ctx->requests.slab[i][k];

			if ((r->awaited & PAMI_REQUEST_LIVE) && (r->awaited & open) && r->answer) {
				*task = r->task;
				return true;
			}
		}
	return false;
}

void pami_request_defer(struct pami_request *r, pami_request_fn run, int result)
{
	struct pami_context *ctx = r->context;

	r->run = run;
	r->deferred_result = result;
	r->next = NULL;
	*ctx->completion.deferred_tail = r;
	ctx->completion.deferred_tail = &r->next;
	ctx->todo |= PAMI_TODO_DEFERRED;
}

static void call_event(struct pami_request *r, pami_event_function fn, int result)
{
	if (fn) {
		mu_charge(MU_COST_complete, 1);
		fn(r->context, r->cookie, pami_callback_result(fn, result));
	}
}

void pami_request_complete_half(struct pami_request *r, unsigned half, int result)
{
	if (half == PAMI_REQUEST_REMOTE && (r->awaited & PAMI_REQUEST_LOCAL)) {
		r->awaited |= PAMI_REQUEST_EARLY;
		r->result = result;
		return;
	}
	r->awaited &= ~half;
	if (half == PAMI_REQUEST_LOCAL) {
		call_event(r, r->local_fn, result);
		if (r->awaited & PAMI_REQUEST_EARLY) {
			r->awaited &= ~(unsigned)PAMI_REQUEST_REMOTE;
			call_event(r, r->remote_fn, r->result);
		}
	} else {
		call_event(r, r->remote_fn, result);
	}
	if (!(r->awaited & (PAMI_REQUEST_LOCAL | PAMI_REQUEST_REMOTE)))
		pami_request_free(r);
}

void pami_request_complete_local(struct pami_request *r, int result)
{
	pami_request_complete_half(r, PAMI_REQUEST_LOCAL, result);
}

void pami_request_on_local_done(struct mu_op *op, int result)
{
	pami_request_complete_half(PAMI_CONTAINER(op, struct pami_request, op), PAMI_REQUEST_LOCAL,
				   result);
}

void pami_request_on_remote_done(struct mu_op *op, int result)
{
	pami_request_complete_half(PAMI_CONTAINER(op, struct pami_request, remote),
				   PAMI_REQUEST_REMOTE, result);
}

void pami_request_on_answer(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	if ((r->awaited & (PAMI_REQUEST_REMOTE | PAMI_REQUEST_EARLY)) == PAMI_REQUEST_REMOTE)
		pami_request_complete_half(r, PAMI_REQUEST_REMOTE, result);
}

void pami_request_complete_both(struct pami_request *r, int result)
{
	r->awaited |= PAMI_REQUEST_REMOTE | PAMI_REQUEST_EARLY;
	r->result = result;
	pami_request_complete_half(r, PAMI_REQUEST_LOCAL, result);
}

pami_result_t pami_event_defer(struct pami_context *ctx, pami_event_function local,
			       pami_event_function remote, void *cookie, int result)
{
	struct pami_request *r;

	if (!local && !remote)
		return PAMI_SUCCESS;
	r = pami_request_new(ctx);
	if (!r)
		return pami_result(-ENOMEM);
	r->local_fn = local;
	r->remote_fn = remote;
	r->cookie = cookie;
	r->awaited |= PAMI_REQUEST_LOCAL;
	pami_request_defer(r, pami_request_complete_both, result);
	return PAMI_SUCCESS;
}
