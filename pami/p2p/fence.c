/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences. While a region is open every operation is recorded at its destination:
 *
 *   short, eager          The destination handles these messages in order. It is marked as touched,
 *                         and a fence sends it a FENCE message, whose answer follows all of them.
 *   rendezvous, put, get  They are counted in the destination's current group. A fence closes the
 *                         group and waits until its count is 0.
 *
 * Later operations go into new groups, so a fence never waits for operations started after it.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "pami/core/context.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/p2p/fence.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/request.h"
#include "pami/p2p/wire.h"

#define BUCKETS 256

struct fence_wait {
	/* Has the user's function; it is deferred when nothing is pending. */
	struct pami_request *request;
	uint32_t pending;
	int result; /* 0, or -ESHUTDOWN: a destination died */
};

struct fence_link {
	struct fence_link *next;
	struct fence_wait *wait;
};

struct pami_fence_group {
	struct pami_fence_group *next; /* older one of the same destination */
	struct fence_dest *dest;
	uint32_t region;
	uint32_t outstanding;     /* operations not complete */
	bool closed;              /* a fence waits; later operations need a new group */
	struct fence_link *links; /* fences that wait for the group */
};

struct fence_dest {
	struct fence_dest *next;
	pami_endpoint_t endpoint;
	uint32_t region; /* the last region with an operation to it */
	struct pami_fence_group *groups;
};

struct pami_fence {
	uint32_t region; /* number of the current or last region */
	bool open;
	bool lost; /* an operation could not be recorded for lack of memory: fences fail */
	struct fence_dest *bucket[BUCKETS];
};

/* Record an operation to `dest` in the current region. NULL: out of memory. */
static struct fence_dest *record_operation(struct pami_context *ctx, pami_endpoint_t dest)
{
	struct pami_fence *f = ctx->fence;
	struct fence_dest **at = &f->bucket[(dest ^ dest >> 6) % BUCKETS], *d;

	for (d = *at; d && d->endpoint != dest; d = d->next)
		;
	if (!d) {
		d = calloc(1, sizeof *d);
		if (!d) {
			f->lost = true;
			return NULL;
		}
		d->endpoint = dest;
		d->next = *at;
		*at = d;
	}
	d->region = f->region;
	return d;
}

void pami_fence_add_message(struct pami_context *ctx, pami_endpoint_t dest)
{
	record_operation(ctx, dest);
}

struct pami_fence_group *pami_fence_add_operation(struct pami_context *ctx, pami_endpoint_t dest)
{
	struct fence_dest *d = record_operation(ctx, dest);
	struct pami_fence_group *g = d ? d->groups : NULL;

	if (!d)
		return NULL;
	if (!g || g->closed || g->region != ctx->fence->region) {
		g = calloc(1, sizeof *g);
		if (!g) {
			ctx->fence->lost = true;
			return NULL;
		}
		g->dest = d;
		g->region = ctx->fence->region;
		g->next = d->groups;
		d->groups = g;
	}
	g->outstanding++;
	return g;
}

/* One thing less to wait for. */
static void wait_count_down(struct fence_wait *w)
{
	if (--w->pending)
		return;
	pami_request_defer(w->request, pami_request_complete_local, w->result);
	free(w);
}

static void group_free(struct pami_fence_group *g)
{
	struct pami_fence_group **at = &g->dest->groups;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	free(g);
}

void pami_fence_operation_done(struct pami_fence_group *g)
{
	if (--g->outstanding)
		return;
	while (g->links) {
		struct fence_link *l = g->links;

		g->links = l->next;
		wait_count_down(l->wait);
		free(l);
	}
	group_free(g);
}

static void fence_answered(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	struct fence_wait *w = r->user;

	pami_request_free(r);
	w->result = result ? result : w->result;
	wait_count_down(w);
}

/* Make `w` wait for all operations of this region to `d`. */
static int wait_for(struct pami_context *ctx, struct fence_dest *d, struct fence_wait *w)
{
	struct pami_wire wire = {.kind = PAMI_WIRE_FENCE, .origin = ctx->offset};
	struct pami_request *r = pami_request_new(ctx);
	int rc;

	if (!r)
		return -ENOMEM;
	r->answer = fence_answered;
	r->task = pami_endpoint_task(d->endpoint);
	r->user = w;
	wire.token = r->token;
	rc = pami_queue_short(ctx, d->endpoint, &wire, NULL, 0, NULL, 0);
	if (rc) {
		pami_request_free(r);
		if (rc != -ESHUTDOWN)
			return rc;
		/* The callback reports the result; operations in flight end by themselves. */
		w->result = rc;
	} else {
		w->pending++;
	}
	for (struct pami_fence_group *g = d->groups; g; g = g->next) {
		struct fence_link *l;

		if (g->region != ctx->fence->region)
			continue;
		l = malloc(sizeof *l);
		if (!l)
			return -ENOMEM;
		*l = (struct fence_link){g->links, w};
		g->links = l;
		g->closed = true;
		w->pending++;
	}
	return 0;
}

/* Fence the operations to one destination, or (any) to all. */
static pami_result_t start_fence(const char *call, struct pami_context *ctx, pami_event_function fn,
				 void *cookie, pami_endpoint_t target, bool any)
{
	struct pami_fence *f = ctx->fence;
	struct fence_wait *w;
	int rc = 0;

	if (!f || !f->open) {
		pami_accept_in(call,
			       "no fence region is open, so the fence waits for nothing; call "
			       "PAMI_Fence_begin before the operations to fence");
		return pami_event_defer(ctx, fn, NULL, cookie, 0);
	}
	if (f->lost)
		return pami_result_in(call, -ENOMEM);
	w = calloc(1, sizeof *w);
	if (!w || !(w->request = pami_request_new(ctx))) {
		free(w);
		return pami_result_in(call, -ENOMEM);
	}
	w->request->local_fn = fn;
	w->request->cookie = cookie;
	w->request->awaited |= PAMI_REQUEST_LOCAL;
	w->pending = 1; /* this function's own count, so that w is not freed before the end */
	for (int b = 0; b < BUCKETS && !rc; b++)
		for (struct fence_dest *d = f->bucket[b]; d && !rc; d = d->next)
			if (d->region == f->region && (any || d->endpoint == target))
				rc = wait_for(ctx, d, w);
	/* Answers may be in flight: the wait ends by itself, without the callback. */
	if (rc)
		w->request->local_fn = NULL;
	wait_count_down(w);
	return pami_result_in(call, rc);
}

PAMI_EXPORT pami_result_t PAMI_Fence_begin(pami_context_t context)
{
	struct pami_context *ctx = pami_context_of(context);

	if (PAMI_UNLIKELY(!pami_context_is_valid(context)))
		return pami_fail_invalid(context);
	if (!ctx->fence)
		ctx->fence = calloc(1, sizeof *ctx->fence);
	if (!ctx->fence)
		return pami_result(-ENOMEM);
	if (ctx->fence->open)
		return pami_fail(PAMI_INVAL, "a fence region is open already");
	ctx->fence->open = true;
	ctx->fence->lost = false;
	ctx->fence->region++;
	ctx->slow |= PAMI_SLOW_FENCE;
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Fence_end(pami_context_t context)
{
	struct pami_context *ctx = pami_context_of(context);

	if (PAMI_UNLIKELY(!pami_context_is_valid(context)))
		return pami_fail_invalid(context);
	if (!ctx->fence || !ctx->fence->open)
		return pami_fail(PAMI_INVAL, "no fence region is open");
	ctx->fence->open = false;
	ctx->slow &= (uint8_t)~PAMI_SLOW_FENCE;
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Fence_all(pami_context_t context, pami_event_function done_fn,
					 void *cookie)
{
	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context)))
		return pami_fail_invalid(context);
	return start_fence(__func__, pami_context_of(context), done_fn, cookie, 0, true);
}

PAMI_EXPORT pami_result_t PAMI_Fence_endpoint(pami_context_t context, pami_event_function done_fn,
					      void *cookie, pami_endpoint_t target)
{
	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context)))
		return pami_fail_invalid(context);
	if (!pami_endpoint_is_valid(pami_context_of(context), target))
		return pami_fail(PAMI_INVAL,
				 pami_endpoint_problem(pami_context_of(context), target));
	return start_fence(__func__, pami_context_of(context), done_fn, cookie, target, false);
}

void pami_fence_free(struct pami_context *ctx)
{
	for (int b = 0; ctx->fence && b < BUCKETS; b++)
		while (ctx->fence->bucket[b]) {
			struct fence_dest *d = ctx->fence->bucket[b];

			while (d->groups) {
				struct pami_fence_group *g = d->groups;

				while (g->links) {
					struct fence_link *l = g->links;

					g->links = l->next;
					free(l);
				}
				d->groups = g->next;
				free(g);
			}
			ctx->fence->bucket[b] = d->next;
			free(d);
		}
	free(ctx->fence);
	ctx->fence = NULL;
}

PAMI_EXPORT pami_result_t PAMI_Purge(pami_context_t context, pami_endpoint_t *dest, size_t count)
{
	if (!pami_context_is_valid(context) || (count && !dest))
		return pami_fail_invalid(context);
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Resume(pami_context_t context, pami_endpoint_t *dest, size_t count)
{
	if (!pami_context_is_valid(context) || (count && !dest))
		return pami_fail_invalid(context);
	return PAMI_SUCCESS;
}
