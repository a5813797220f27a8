/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that found the injection FIFO full wait here, in the order they were started: while
 * the queue holds anything, everything queues behind it, so that messages between two endpoints
 * never pass each other. Progress calls drain it. The queue is bounded for callers outside
 * callbacks: beyond pami_limits.queue_max they push the network until it is short again.
 */
#include <stdlib.h>
#include <string.h>

#include "pami/state.h"

enum pending_kind { PENDING_SHORT, PENDING_SEND, PENDING_PUT, PENDING_GET, PENDING_FLUSH };

struct pami_pending {
	struct pami_pending *next;
	enum pending_kind kind;
	pami_endpoint_t dest;
	struct pami_wire wire;
	const void *local; /* SHORT: NULL, the payload follows */
	uint64_t remote;
	size_t bytes;
	struct mu_op *op, *op2;
	_Alignas(8) unsigned char payload[];
};

static int start(struct pami_context *ctx, const struct pami_pending *p)
{
	uint32_t task = pami_endpoint_task(p->dest), channel = pami_endpoint_channel(ctx, p->dest);

	switch (p->kind) {
	case PENDING_SHORT:
		return mu_send_short(ctx->channel, task, channel, &p->wire, p->payload, (uint32_t)p->bytes,
		                     NULL, 0);
	case PENDING_SEND:
		return mu_send(ctx->channel, task, channel, &p->wire, p->local, p->bytes, p->op);
	case PENDING_PUT:
		return mu_put(ctx->channel, task, channel, p->local, p->remote, p->bytes, p->op, p->op2);
	case PENDING_GET:
		return mu_get(ctx->channel, task, channel, (void *)(uintptr_t)p->local, p->remote, p->bytes,
		              p->op);
	case PENDING_FLUSH:
		return mu_flush(ctx->channel, task, channel, p->op);
	}
	return -EINVAL;
}

static PAMI_COLD int append(struct pami_context *ctx, const struct pami_pending *model, const void *a,
                            uint32_t an, const void *b, uint32_t bn)
{
	uint32_t gap = bn ? (8 - an % 8) % 8 : 0;
	size_t payload = model->kind == PENDING_SHORT ? an + gap + bn : 0;
	struct pami_pending *p = malloc(sizeof *p + payload);

	if (PAMI_UNLIKELY(!p) && model->kind == PENDING_SEND && model->wire.kind == PAMI_WIRE_EAGER_DATA) {
		p = ctx->queue_spare;
		ctx->queue_spare = NULL;
	}
	if (!p)
		return -ENOMEM;
	*p = *model;
	if (model->kind == PENDING_SHORT) {
		if (an)
			memcpy(p->payload, a, an);
		memset(p->payload + an, 0, gap);
		if (bn)
			memcpy(p->payload + an + gap, b, bn);
		p->bytes = payload;
	}
	p->next = NULL;
	*ctx->queue_tail = p;
	ctx->queue_tail = &p->next;
	ctx->queue_bytes += sizeof *p + payload;
	ctx->todo |= PAMI_TODO_QUEUE;
	ctx->slow |= PAMI_SLOW_QUEUE;
	return 0;
}

static int start_or_append(struct pami_context *ctx, const struct pami_pending *p)
{
	int rc = ctx->queue ? -EAGAIN : start(ctx, p);

	return PAMI_LIKELY(rc != -EAGAIN) ? rc : append(ctx, p, NULL, 0, NULL, 0);
}

int pami_queue_short(struct pami_context *ctx, pami_endpoint_t dest, const struct pami_wire *wire,
                     const void *a, uint32_t an, const void *b, uint32_t bn)
{
	int rc = -EAGAIN;

	if (!ctx->queue)
		rc = mu_send_short(ctx->channel, pami_endpoint_task(dest), pami_endpoint_channel(ctx, dest),
		                   wire, a, an, b, bn);
	if (PAMI_UNLIKELY(rc == -EAGAIN)) {
		struct pami_pending p = { .kind = PENDING_SHORT, .dest = dest, .wire = *wire };

		rc = append(ctx, &p, a, an, b, bn);
	}
	return rc;
}

int pami_queue_send(struct pami_context *ctx, pami_endpoint_t dest, const struct pami_wire *wire,
                    const void *payload, size_t bytes, struct mu_op *op)
{
	struct pami_pending p = { .kind = PENDING_SEND, .dest = dest, .wire = *wire, .local = payload,
		                  .bytes = bytes, .op = op };

	return start_or_append(ctx, &p);
}

int pami_queue_reserve(struct pami_context *ctx)
{
	if (PAMI_UNLIKELY(!ctx->queue_spare))
		ctx->queue_spare = malloc(sizeof *ctx->queue_spare);
	return ctx->queue_spare ? 0 : -ENOMEM;
}

int pami_queue_put(struct pami_context *ctx, pami_endpoint_t dest, const void *local, uint64_t remote,
                   size_t bytes, struct mu_op *local_op, struct mu_op *remote_op)
{
	struct pami_pending p = { .kind = PENDING_PUT, .dest = dest, .local = local, .remote = remote,
		                  .bytes = bytes, .op = local_op, .op2 = remote_op };

	return start_or_append(ctx, &p);
}

int pami_queue_get(struct pami_context *ctx, pami_endpoint_t dest, void *local, uint64_t remote,
                   size_t bytes, struct mu_op *op)
{
	struct pami_pending p = { .kind = PENDING_GET, .dest = dest, .local = local, .remote = remote,
		                  .bytes = bytes, .op = op };

	return start_or_append(ctx, &p);
}

int pami_queue_flush(struct pami_context *ctx, pami_endpoint_t dest, struct mu_op *op)
{
	struct pami_pending p = { .kind = PENDING_FLUSH, .dest = dest, .op = op };

	return start_or_append(ctx, &p);
}

static struct pami_pending *pop(struct pami_context *ctx)
{
	struct pami_pending *p = ctx->queue;

	ctx->queue = p->next;
	ctx->queue_bytes -= sizeof *p + (p->kind == PENDING_SHORT ? p->bytes : 0);
	if (!ctx->queue) {
		ctx->queue_tail = &ctx->queue;
		ctx->todo &= ~(unsigned)PAMI_TODO_QUEUE;
		ctx->slow &= (uint8_t)~PAMI_SLOW_QUEUE;
	}
	return p;
}

int pami_queue_drain(struct pami_context *ctx)
{
	while (ctx->queue) {
		struct pami_pending *p = ctx->queue;
		int rc = start(ctx, p);

		/* An error is told by callbacks: not outside progress calls. */
		if (rc == -EAGAIN || (rc && !ctx->depth))
			return rc;
		pop(ctx);
		if (rc && p->op)
			p->op->done(p->op, rc);
		if (rc && p->op2)
			p->op2->done(p->op2, rc);
		free(p);
	}
	return 0;
}

PAMI_COLD void pami_queue_throttle(struct pami_context *ctx)
{
	/* Where tasks have gone, what waits for them ends in progress calls only. */
	while (!ctx->depth && ctx->queue_bytes > pami_limits.queue_max && mu_gone_count() == ctx->gone) {
		if (pami_queue_drain(ctx) != -EAGAIN)
			return;
		mu_push(ctx->channel);
	}
}

void pami_queue_drop(struct pami_context *ctx)
{
	while (ctx->queue)
		free(pop(ctx));
	free(ctx->queue_spare);
	ctx->queue_spare = NULL;
}
