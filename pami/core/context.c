/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating and destroying contexts. */
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "pami/coll/progress.h"
#include "pami/core/client.h"
#include "pami/core/advance.h"
#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/core/post.h"
#include "pami/core/scratch.h"
#include "pami/ext/async.h"
#include "pami/geometry/geometry.h"
#include "pami/p2p/absent.h"
#include "pami/p2p/death.h"
#include "pami/p2p/fence.h"
#include "pami/p2p/inbound.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/receive.h"
#include "pami/p2p/request.h"
#include "pami/p2p/rma.h"
#include "pami/p2p/trace.h"

struct pami_context pami_contexts[PAMI_CHANNELS_MAX + 1];

const char *pami_endpoint_problem(const struct pami_context *ctx, pami_endpoint_t e)
{
	return pami_endpoint_task(e) < ctx->tasks && pami_endpoint_offset(e) < ctx->contexts
		   ? PAMI_NEVER_MADE
		   : "no such endpoint";
}

static void context_free(struct pami_context *ctx)
{
	for (uint32_t i = 0; i < ctx->requests.slabs; i++) {
		for (int k = 0; k < PAMI_REQUEST_SLAB; k++)
			if (ctx->requests.slab[i][k].awaited & PAMI_REQUEST_LIVE)
				free(ctx->requests.slab[i][k].buffer);
		free(ctx->requests.slab[i]);
	}
	free(ctx->requests.slab);
	free(ctx->dispatch);
	free(ctx->near_flow);
	pami_trace_close(ctx);
	ctx->magic = 0;
}

static int context_create(struct pami_client *c, uint32_t offset, struct pami_context **out)
{
	struct pami_context *ctx = &pami_contexts[c->base + offset];
	int rc;

	memset(ctx, 0, sizeof *ctx);
	ctx->dispatch = calloc(PAMI_DISPATCH_IDS, sizeof *ctx->dispatch);
	if (!ctx->dispatch)
		return -ENOMEM;
	ctx->magic = PAMI_CONTEXT_MAGIC;
	ctx->client = c;
	ctx->tasks = c->job->tasks;
	ctx->contexts = c->contexts;
	ctx->base = c->base;
	/* Words of others could be about an earlier client in the same place. */
	ctx->never = c->remade ? NULL : mu_announced_words();
	ctx->offset = (uint8_t)offset;
	pami_posted_init(&ctx->posted);
	ctx->completion.deferred_tail = &ctx->completion.deferred;
	ctx->queue.tail = &ctx->queue.first;
	ctx->held.tail = &ctx->held.first;
	pami_dispatch_install(ctx, PAMI_DISPATCH_COLL, pami_coll_dispatch, NULL);
	pami_rma_typed_install(ctx);
	rc = pami_coll_init(ctx);
	rc = rc ? rc : pami_trace_open(ctx);
	rc = rc ? rc
		: mu_channel_open(c->base + offset,
				  pami_is_traced(ctx) ? pami_trace_receive : pami_receive, ctx,
				  &ctx->channel);
	if (rc) {
		pami_coll_drop(ctx);
		context_free(ctx);
		return rc;
	}
	pami_coll_open(ctx);
	mu_channel_on_death(ctx->channel, pami_apply_deaths);
	mu_channel_on_note(ctx->channel, pami_geometry_note);
	mu_channel_on_has_work(ctx->channel, pami_post_has_work);
	*out = ctx;
	return 0;
}

PAMI_EXPORT pami_result_t PAMI_Context_createv(pami_client_t client,
					       pami_configuration_t configuration[],
					       size_t num_configs, pami_context_t context[],
					       size_t ncontexts)
{
	struct pami_client *c = client;
	int rc;

	if (!pami_client_is_valid(client) || !context || !ncontexts || ncontexts > c->contexts ||
	    c->created)
		return pami_fail(
		    PAMI_INVAL,
		    "no client, no array for the handles, too many contexts, or the client has its "
		    "contexts already");
	for (size_t i = 0; i < ncontexts; i++) {
		rc = context_create(c, (uint32_t)i, &c->context[i]);
		if (rc)
			goto err_destroy;
		c->created++;
	}
	for (size_t i = 0; i < ncontexts; i++)
		context[i] = c->context[i];
	pami_absent_announce(c);
	c->remade = true;
	return PAMI_SUCCESS;

err_destroy:
	for (size_t i = 0; i < ncontexts; i++) {
		pami_context_t made = c->context[i];

		if (made)
			pami_context_destroy(made);
	}
	return pami_result(rc);
}

/*
 * How long the queue may drain without progress, in case a peer does not take messages any more. A
 * peer whose functions for messages take long makes no room meanwhile.
 */
#define DRAIN_SECONDS 30

static void drain_queue(struct pami_context *ctx)
{
	double until = mu_wtime() + DRAIN_SECONDS;
	const void *first;

	while ((first = ctx->queue.first) && pami_queue_drain(ctx) == -EAGAIN &&
	       mu_wtime() < until) {
		if (ctx->queue.first != first)
			until = mu_wtime() + DRAIN_SECONDS;
		mu_make_room(ctx->channel);
	}
	if (ctx->queue.first)
		drv_warn("context %u is destroyed with messages that its peers did not take",
			 ctx->offset);
}

/*
 * Operations that the program did not wait for are dropped. Messages whose local completion was
 * reported still leave: those in the queue here, those in the injection FIFO in mu_channel_close().
 */
void pami_context_destroy(struct pami_context *ctx)
{
	struct pami_client *c = ctx->client;

	if (mu_is_forked()) { /* everything but the handle belongs to the parent */
		c->context[ctx->offset] = NULL;
		c->created--;
		ctx->magic = 0;
		return;
	}
	pami_async_end(ctx);
	drain_queue(ctx);
	if (c->created == 1)
		pami_absent_close(c);
	pami_queue_free_all(ctx);
	pami_coll_drop(ctx);
	pami_fence_free(ctx);
	pami_inbound_free_all(ctx);
	mu_channel_close(ctx->channel);
	pami_scratch_free_all(ctx);
	c->context[ctx->offset] = NULL;
	c->created--;
	context_free(ctx);
}

bool pami_context_is_in_callback(const struct pami_context *ctx)
{
	return pami_is_advancing(ctx) && !mu_is_forked();
}

PAMI_EXPORT pami_result_t PAMI_Context_destroyv(pami_context_t *contexts, size_t ncontexts)
{
	if (ncontexts == 1 && pami_is_context(contexts)) {
		if (pami_context_is_in_callback((struct pami_context *)(void *)contexts))
			return pami_fail(PAMI_INVAL, PAMI_IN_CALLBACK);
		pami_context_destroy((struct pami_context *)(void *)contexts);
		return pami_accept("the argument is a context; pass the address of the handle, "
				   "which is then set to PAMI_CONTEXT_NULL");
	}
	if (!contexts)
		return pami_fail(PAMI_INVAL, "no contexts");
	for (size_t i = 0; i < ncontexts; i++)
		if (!pami_context_is_valid(contexts[i]))
			return pami_fail(PAMI_INVAL, "not a context");
		else if (pami_context_is_in_callback(contexts[i]))
			return pami_fail(PAMI_INVAL, PAMI_IN_CALLBACK);
	for (size_t i = 0; i < ncontexts; i++) {
		pami_context_destroy(contexts[i]);
		contexts[i] = PAMI_CONTEXT_NULL;
	}
	return PAMI_SUCCESS;
}
