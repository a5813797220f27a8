/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: making and destroying them. */
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "pami/state.h"

static void context_free(struct pami_context *ctx)
{
	for (uint32_t i = 0; i < ctx->request_slabs; i++) {
		for (int k = 0; k < PAMI_REQUEST_SLAB; k++)
			if (ctx->request_slab[i][k].awaited & PAMI_REQUEST_LIVE)
				free(ctx->request_slab[i][k].buffer);
		free(ctx->request_slab[i]);
	}
	free(ctx->request_slab);
	free(ctx->dispatch);
	free(ctx->near_sent);
	free(ctx);
}

static int context_create(struct pami_client *c, uint32_t offset, struct pami_context **out)
{
	struct pami_context *ctx = aligned_alloc(64, (sizeof *ctx + 63) & ~(size_t)63);
	int rc;

	if (!ctx)
		return -ENOMEM;
	memset(ctx, 0, sizeof *ctx);
	ctx->dispatch = calloc(PAMI_DISPATCH_IDS, sizeof *ctx->dispatch);
	if (!ctx->dispatch) {
		free(ctx);
		return -ENOMEM;
	}
	ctx->magic = PAMI_CONTEXT_MAGIC;
	ctx->client = c;
	ctx->tasks = c->job->tasks;
	ctx->contexts = c->contexts;
	ctx->base = c->base;
	ctx->offset = (uint8_t)offset;
	pami_posted_init(&ctx->posted);
	ctx->deferred_tail = &ctx->deferred;
	ctx->queue_tail = &ctx->queue;
	ctx->held_tail = &ctx->held;
	pami_dispatch_install(ctx, PAMI_DISPATCH_COLL, pami_coll_dispatch, NULL);
	pami_rma_typed_install(ctx);
	rc = pami_coll_init(ctx);
	rc = rc ? rc : mu_channel_open(c->base + offset, pami_receive, ctx, &ctx->channel);
	if (rc) {
		pami_coll_drop(ctx);
		context_free(ctx);
		return rc;
	}
	mu_channel_on_gone(ctx->channel, pami_gone);
	mu_channel_pending(ctx->channel, pami_post_pending);
	*out = ctx;
	return 0;
}

PAMI_EXPORT pami_result_t PAMI_Context_createv(pami_client_t client, pami_configuration_t configuration[],
                                               size_t num_configs, pami_context_t context[],
                                               size_t ncontexts)
{
	struct pami_client *c = client;
	int rc;

	if (!pami_client_valid(client) || !ncontexts || ncontexts > c->contexts || c->created)
		return pami_fail(PAMI_INVAL, "no client, too many contexts, or made before");
	for (size_t i = 0; i < ncontexts; i++) {
		rc = context_create(c, (uint32_t)i, &c->context[i]);
		if (rc)
			goto err_destroy;
		c->created++;
	}
	for (size_t i = 0; i < ncontexts; i++)
		context[i] = c->context[i];
	return PAMI_SUCCESS;

err_destroy:
	for (size_t i = 0; i < ncontexts; i++) {
		pami_context_t made = c->context[i];

		if (made)
			PAMI_Context_destroyv(&made, 1);
	}
	return pami_result(rc);
}

#define LEAVE_SECONDS 5 /* for a peer that takes nothing any more */

/* What the program did not wait for is dropped; what it was told is sent still leaves: from our
 * queue here, from the injection FIFO in mu_channel_close(). */
static void context_destroy(struct pami_context *ctx)
{
	struct pami_client *c = ctx->client;
	double until = mu_wtime() + LEAVE_SECONDS;

	pami_async_drop(ctx);
	while (ctx->queue && pami_queue_drain(ctx) == -EAGAIN && mu_wtime() < until)
		mu_push(ctx->channel);
	if (ctx->queue)
		drv_warn("context %u is destroyed with messages that its peers did not take", ctx->offset);
	pami_queue_drop(ctx);
	pami_coll_drop(ctx);
	pami_fence_drop(ctx);
	pami_inbound_drop(ctx);
	mu_channel_close(ctx->channel);
	pami_keep_drop(ctx);
	c->context[ctx->offset] = NULL;
	c->created--;
	ctx->magic = 0;
	context_free(ctx);
}

PAMI_EXPORT pami_result_t PAMI_Context_destroyv(pami_context_t *contexts, size_t ncontexts)
{
	for (size_t i = 0; i < ncontexts; i++)
		if (!pami_context_valid(contexts[i]))
			return pami_fail(PAMI_INVAL, "not a context");
	for (size_t i = 0; i < ncontexts; i++) {
		context_destroy(contexts[i]);
		contexts[i] = PAMI_CONTEXT_NULL;
	}
	return PAMI_SUCCESS;
}
