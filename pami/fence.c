/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences. While a region is open every operation leaves a mark at its destination:
 *
 *   messages the destination handles in order (short, eager)   the destination is "touched"; a fence
 *       sends it a FENCE message, whose answer comes after all of them
 *   rendezvous, put, get                                       are counted in the destination's
 *       present group; a fence closes the groups and waits for them to empty
 *
 * Later operations go into new groups, so a fence never waits for what was started after it.
 */
#include <stdlib.h>

#include "pami/state.h"

#define BUCKETS 256

struct fence_wait {
	struct pami_request *request; /* carries the user's function; deferred when nothing is pending */
	uint32_t pending;
	int result; /* 0, or -ESHUTDOWN: a destination is gone */
};

struct fence_link {
	struct fence_link *next;
	struct fence_wait *wait;
};

struct pami_fence_group {
	struct pami_fence_group *next; /* older one of the same destination */
	struct fence_dest *dest;
	uint32_t region;
	uint32_t outstanding;
	uint32_t closed;
	struct fence_link *links; /* fences waiting for it */
};

struct fence_dest {
	struct fence_dest *next;
	pami_endpoint_t endpoint;
	uint32_t region; /* last one it was touched in */
	struct pami_fence_group *groups;
};

struct pami_fence {
	uint32_t region; /* counts regions */
	uint8_t open;
	uint8_t lost;    /* an operation could not be noted: no memory */
	struct fence_dest *bucket[BUCKETS];
};

static struct fence_dest *touch(struct pami_context *ctx, pami_endpoint_t dest)
{
	struct pami_fence *f = ctx->fence;
	struct fence_dest **at = &f->bucket[(dest ^ dest >> 6) % BUCKETS], *d;

	for (d = *at; d && d->endpoint != dest; d = d->next)
		;
	if (!d) {
		d = calloc(1, sizeof *d);
		if (!d) {
			f->lost = 1;
			return NULL;
		}
		d->endpoint = dest;
		d->next = *at;
		*at = d;
	}
	d->region = f->region;
	return d;
}

void pami_fence_touch(struct pami_context *ctx, pami_endpoint_t dest)
{
	touch(ctx, dest);
}

struct pami_fence_group *pami_fence_note(struct pami_context *ctx, pami_endpoint_t dest)
{
	struct fence_dest *d = touch(ctx, dest);
	struct pami_fence_group *g = d ? d->groups : NULL;

	if (!d)
		return NULL;
	if (!g || g->closed || g->region != ctx->fence->region) {
		g = calloc(1, sizeof *g);
		if (!g) {
			ctx->fence->lost = 1;
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

static void wait_less(struct fence_wait *w)
{
	if (--w->pending)
		return;
	pami_request_defer(w->request, pami_request_local, w->result);
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

void pami_fence_group_done(struct pami_fence_group *g)
{
	if (--g->outstanding)
		return;
	while (g->links) {
		struct fence_link *l = g->links;

		g->links = l->next;
		wait_less(l->wait);
		free(l);
	}
	group_free(g);
}

static void fence_answered(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	struct fence_wait *w = r->user;

	pami_request_free(r);
	w->result = result ? result : w->result;
	wait_less(w);
}

/* Make `w` wait for everything of this region to `d`. */
static int wait_for(struct pami_context *ctx, struct fence_dest *d, struct fence_wait *w)
{
	struct pami_wire wire = { .kind = PAMI_WIRE_FENCE, .origin = ctx->offset };
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
		w->result = rc; /* told by the callback; what is under way ends by itself */
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
		*l = (struct fence_link){ g->links, w };
		g->links = l;
		g->closed = 1;
		w->pending++;
	}
	return 0;
}

/* A fence over one destination, or (any) all touched ones. */
static pami_result_t fence(struct pami_context *ctx, pami_event_function fn, void *cookie,
                           pami_endpoint_t target, int any)
{
	struct pami_fence *f = ctx->fence;
	struct fence_wait *w;
	int rc = 0;

	if (!f || !f->open)
		return pami_fail(PAMI_INVAL, "no fence region is open");
	if (f->lost)
		return pami_result(-ENOMEM);
	w = calloc(1, sizeof *w);
	if (!w || !(w->request = pami_request_new(ctx))) {
		free(w);
		return pami_result(-ENOMEM);
	}
	w->request->local_fn = fn;
	w->request->cookie = cookie;
	w->request->awaited |= PAMI_REQUEST_LOCAL;
	w->pending = 1; /* ours, given back below */
	for (int b = 0; b < BUCKETS && !rc; b++)
		for (struct fence_dest *d = f->bucket[b]; d && !rc; d = d->next)
			if (d->region == f->region && (any || d->endpoint == target))
				rc = wait_for(ctx, d, w);
	if (rc) {
		/* Answers may be under way: let the wait end by itself, but tell nobody. */
		w->request->local_fn = NULL;
	}
	wait_less(w);
	return pami_result(rc);
}

PAMI_EXPORT pami_result_t PAMI_Fence_begin(pami_context_t context)
{
	struct pami_context *ctx = pami_context_of(context);

	if (!ctx->fence)
		ctx->fence = calloc(1, sizeof *ctx->fence);
	if (!ctx->fence)
		return pami_result(-ENOMEM);
	if (ctx->fence->open)
		return pami_fail(PAMI_INVAL, "a fence region is open already");
	ctx->fence->open = 1;
	ctx->fence->lost = 0;
	ctx->fence->region++;
	ctx->slow |= PAMI_SLOW_FENCE;
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Fence_end(pami_context_t context)
{
	struct pami_context *ctx = pami_context_of(context);

	if (!ctx->fence || !ctx->fence->open)
		return pami_fail(PAMI_INVAL, "no fence region is open");
	ctx->fence->open = 0;
	ctx->slow &= (uint8_t)~PAMI_SLOW_FENCE;
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Fence_all(pami_context_t context, pami_event_function done_fn, void *cookie)
{
	return fence(pami_context_of(context), done_fn, cookie, 0, 1);
}

PAMI_EXPORT pami_result_t PAMI_Fence_endpoint(pami_context_t context, pami_event_function done_fn,
                                              void *cookie, pami_endpoint_t target)
{
	if (!pami_endpoint_ok(pami_context_of(context), target))
		return pami_fail(PAMI_INVAL, "no such endpoint");
	return fence(pami_context_of(context), done_fn, cookie, target, 0);
}

void pami_fence_drop(struct pami_context *ctx)
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
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Resume(pami_context_t context, pami_endpoint_t *dest, size_t count)
{
	return PAMI_SUCCESS;
}
