/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: what an operation under way needs to know, one free list per context. A request has a
 * number (token) that travels in messages in place of its address; an answer with a token that
 * names no live request is dropped.
 */
#include <stdlib.h>
#include <string.h>

#include "pami/state.h"

static PAMI_COLD int add_slab(struct pami_context *ctx)
{
	struct pami_request **table, *slab;
	uint32_t n = ctx->request_slabs;

	if (n == PAMI_REQUEST_SLABS_MAX)
		return -ENOMEM;
	if (!(n & (n - 1))) { /* the table doubles at powers of two */
		table = realloc(ctx->request_slab, (n ? 2 * (size_t)n : 1) * sizeof *table);
		if (!table)
			return -ENOMEM;
		ctx->request_slab = table;
	}
	slab = calloc(PAMI_REQUEST_SLAB, sizeof *slab);
	if (!slab)
		return -ENOMEM;
	ctx->request_slab[n] = slab;
	ctx->request_slabs = n + 1;
	for (uint32_t i = PAMI_REQUEST_SLAB; i--;) {
		slab[i].context = ctx;
		slab[i].token = n * PAMI_REQUEST_SLAB + i + 1;
		slab[i].next = ctx->request_free;
		ctx->request_free = &slab[i];
	}
	return 0;
}

struct pami_request *pami_request_new(struct pami_context *ctx)
{
	struct pami_request *r;

	if (PAMI_UNLIKELY(!ctx->request_free) && add_slab(ctx))
		return NULL;
	r = ctx->request_free;
	ctx->request_free = r->next;
	ctx->outstanding++;
	/* The halves' operations are the MU's and their starter's to fill; context and token stay. */
	memset(&r->run, 0, sizeof *r - offsetof(struct pami_request, run));
	r->awaited = PAMI_REQUEST_LIVE;
	return r;
}

void pami_request_free(struct pami_request *r)
{
	struct pami_context *ctx = r->context;

	if (r->fence)
		pami_fence_group_done(r->fence);
	if (r->buffer)
		free(r->buffer);
	r->awaited = 0;
	r->next = ctx->request_free;
	ctx->request_free = r;
	ctx->outstanding--;
}

struct pami_request *pami_request_find(struct pami_context *ctx, uint32_t token)
{
	uint32_t i = token - 1;
	struct pami_request *r;

	if (i / PAMI_REQUEST_SLAB >= ctx->request_slabs)
		return NULL;
	r = &ctx->request_slab[i / PAMI_REQUEST_SLAB][i % PAMI_REQUEST_SLAB];
	return r->awaited & PAMI_REQUEST_LIVE ? r : NULL;
}

void pami_request_defer(struct pami_request *r, pami_request_fn run, int result)
{
	struct pami_context *ctx = r->context;

	r->run = run;
	r->deferred_result = result;
	r->next = NULL;
	*ctx->deferred_tail = r;
	ctx->deferred_tail = &r->next;
	ctx->todo |= PAMI_TODO_DEFERRED;
}

static void tell(struct pami_request *r, pami_event_function fn, int result)
{
	if (fn) {
		mu_charge(MU_COST_complete, 1);
		fn(r->context, r->cookie, pami_result(result));
	}
}

void pami_request_half(struct pami_request *r, unsigned half, int result)
{
	if (half == PAMI_REQUEST_REMOTE && (r->awaited & PAMI_REQUEST_LOCAL)) {
		r->awaited |= PAMI_REQUEST_EARLY;
		r->result = result;
		return;
	}
	r->awaited &= ~half;
	if (half == PAMI_REQUEST_LOCAL) {
		tell(r, r->local_fn, result);
		if (r->awaited & PAMI_REQUEST_EARLY) {
			r->awaited &= ~(unsigned)PAMI_REQUEST_REMOTE;
			tell(r, r->remote_fn, r->result);
		}
	} else {
		tell(r, r->remote_fn, result);
	}
	if (!(r->awaited & (PAMI_REQUEST_LOCAL | PAMI_REQUEST_REMOTE)))
		pami_request_free(r);
}

void pami_request_local(struct pami_request *r, int result)
{
	pami_request_half(r, PAMI_REQUEST_LOCAL, result);
}

void pami_request_local_done(struct mu_op *op, int result)
{
	pami_request_half(PAMI_CONTAINER(op, struct pami_request, op), PAMI_REQUEST_LOCAL, result);
}

void pami_request_remote_done(struct mu_op *op, int result)
{
	pami_request_half(PAMI_CONTAINER(op, struct pami_request, remote), PAMI_REQUEST_REMOTE, result);
}

void pami_request_answered(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	if ((r->awaited & (PAMI_REQUEST_REMOTE | PAMI_REQUEST_EARLY)) == PAMI_REQUEST_REMOTE)
		pami_request_half(r, PAMI_REQUEST_REMOTE, result);
}

void pami_request_both(struct pami_request *r, int result)
{
	r->awaited |= PAMI_REQUEST_REMOTE | PAMI_REQUEST_EARLY;
	r->result = result;
	pami_request_half(r, PAMI_REQUEST_LOCAL, result);
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
	pami_request_defer(r, pami_request_both, result);
	return PAMI_SUCCESS;
}

struct pami_kept {
	struct pami_kept *next, **at;
	_Alignas(16) unsigned char data[];
};

void *pami_keep(struct pami_context *ctx, size_t bytes)
{
	struct pami_kept *k = bytes < SIZE_MAX - sizeof *k ? calloc(1, sizeof *k + bytes) : NULL;

	if (!k)
		return NULL;
	k->next = ctx->kept;
	k->at = &ctx->kept;
	if (k->next)
		k->next->at = &k->next;
	ctx->kept = k;
	return k->data;
}

void pami_unkeep(void *p)
{
	struct pami_kept *k;

	if (!p)
		return;
	k = PAMI_CONTAINER(p, struct pami_kept, data);
	*k->at = k->next;
	if (k->next)
		k->next->at = k->at;
	free(k);
}

void pami_keep_drop(struct pami_context *ctx)
{
	while (ctx->kept)
		pami_unkeep(ctx->kept->data);
}
