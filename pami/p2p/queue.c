/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that find the injection FIFO full wait here, in the order they started. While the
 * queue is not empty, all later operations are queued behind it, so messages between two endpoints
 * never pass each other. Progress calls drain the queue. Callers outside callbacks may not exceed
 * pami_limits.queue_max: they push the network until the queue is shorter.
 */
#include <stdlib.h>
#include <string.h>

#include "mu/hw/atomic.h"
#include "pami/core/context.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/core/macros.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/trace.h"
#include "pami/p2p/wire.h"

enum pending_kind {
	PENDING_SHORT,
	PENDING_SEND,
	PENDING_PUT,
	PENDING_GET,
	PENDING_PULL,
	PENDING_FLUSH,
	PENDING_ATOMIC
};

struct pami_pending {
	struct pami_pending *next;
	enum pending_kind kind;
	pami_endpoint_t dest;
	struct pami_wire wire;
	const void *local; /* SHORT: NULL; the payload lies behind this struct */
	uint64_t remote;
	size_t bytes;
	struct mu_op *op, *op2;
	struct mu_atomic atomic;
	_Alignas(8) unsigned char payload[];
};

uint32_t pami_queue_first_task(const struct pami_context *ctx)
{
	return pami_endpoint_task(ctx->queue.first->dest);
}

static int start_pending(struct pami_context *ctx, const struct pami_pending *p)
{
	uint32_t task = pami_endpoint_task(p->dest), channel = pami_endpoint_channel(ctx, p->dest);

	switch (p->kind) {
	case PENDING_SHORT:
		return mu_send_short(ctx->channel, task, channel, &p->wire, p->payload,
				     (uint32_t)p->bytes, NULL, 0);
	case PENDING_SEND:
		return mu_send(ctx->channel, task, channel, &p->wire, p->local, p->bytes, p->op);
	case PENDING_PUT:
		return mu_put(ctx->channel, task, channel, p->local, p->remote, p->bytes, p->op,
			      p->op2);
	case PENDING_GET:
		return mu_get(ctx->channel, task, channel, (void *)(uintptr_t)p->local, p->remote,
			      p->bytes, p->op);
	case PENDING_PULL:
		return mu_pull(ctx->channel, task, channel, (void *)(uintptr_t)p->local, p->remote,
			       p->bytes, p->op);
	case PENDING_FLUSH:
		return mu_flush(ctx->channel, task, channel, p->op);
	case PENDING_ATOMIC:
		return mu_send_atomic(ctx->channel, task, channel, &p->atomic, p->op);
	}
	return -EINVAL;
}

static PAMI_COLD int append_pending(struct pami_context *ctx, const struct pami_pending *model,
				    const void *a, uint32_t an, const void *b, uint32_t bn)
{
	uint32_t gap = bn ? (8 - an % 8) % 8 : 0;
	size_t payload = model->kind == PENDING_SHORT ? an + gap + bn : 0;
	struct pami_pending *p = malloc(sizeof *p + payload);

	if (PAMI_UNLIKELY(!p) && model->kind == PENDING_SEND &&
	    model->wire.kind == PAMI_WIRE_EAGER_DATA) {
		p = ctx->queue.spare;
		ctx->queue.spare = NULL;
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
	*ctx->queue.tail = p;
	ctx->queue.tail = &p->next;
	ctx->queue.bytes += sizeof *p + payload;
	ctx->todo |= PAMI_TODO_QUEUE;
	ctx->slow |= PAMI_SLOW_QUEUE;
	return 0;
}

static int start_or_append(struct pami_context *ctx, const struct pami_pending *p)
{
	int rc = ctx->queue.first ? -EAGAIN : start_pending(ctx, p);

	return PAMI_LIKELY(rc != -EAGAIN) ? rc : append_pending(ctx, p, NULL, 0, NULL, 0);
}

/* The message cannot leave now, or the job is traced. */
static PAMI_COLD __attribute__((noinline)) int
queue_short_slow(struct pami_context *ctx, pami_endpoint_t dest, const struct pami_wire *wire,
		 const void *a, uint32_t an, const void *b, uint32_t bn)
{
	struct pami_pending p = {.kind = PENDING_SHORT, .dest = dest, .wire = *wire};

	if (pami_is_traced(ctx))
		return pami_trace_queue_short(ctx, dest, wire, a, an, b, bn);
	return append_pending(ctx, &p, a, an, b, bn);
}

int pami_queue_short(struct pami_context *ctx, pami_endpoint_t dest, const struct pami_wire *wire,
		     const void *a, uint32_t an, const void *b, uint32_t bn)
{
	int rc = -EAGAIN;

	/* PAMI_SLOW_QUEUE says that the queue is not empty. */
	if (PAMI_LIKELY(!(ctx->slow & (PAMI_SLOW_QUEUE | PAMI_SLOW_TRACE))))
		rc = mu_send_short(ctx->channel, pami_endpoint_task(dest),
				   pami_endpoint_channel(ctx, dest), wire, a, an, b, bn);
	return PAMI_UNLIKELY(rc == -EAGAIN) ? queue_short_slow(ctx, dest, wire, a, an, b, bn) : rc;
}

int pami_queue_send(struct pami_context *ctx, pami_endpoint_t dest, const struct pami_wire *wire,
		    const void *payload, size_t bytes, struct mu_op *op)
{
	struct pami_pending p = {.kind = PENDING_SEND,
				 .dest = dest,
				 .wire = *wire,
				 .local = payload,
				 .bytes = bytes,
				 .op = op};

	return start_or_append(ctx, &p);
}

int pami_queue_reserve(struct pami_context *ctx)
{
	if (PAMI_UNLIKELY(!ctx->queue.spare))
		ctx->queue.spare = malloc(sizeof *ctx->queue.spare);
	return ctx->queue.spare ? 0 : -ENOMEM;
}

int pami_queue_put(struct pami_context *ctx, pami_endpoint_t dest, const void *local,
		   uint64_t remote, size_t bytes, struct mu_op *local_op, struct mu_op *remote_op)
{
	struct pami_pending p = {.kind = PENDING_PUT,
				 .dest = dest,
				 .local = local,
				 .remote = remote,
				 .bytes = bytes,
				 .op = local_op,
				 .op2 = remote_op};

	return start_or_append(ctx, &p);
}

static int start_read(struct pami_context *ctx, enum pending_kind kind, pami_endpoint_t dest,
		      void *local, uint64_t remote, size_t bytes, struct mu_op *op)
{
	struct pami_pending p = {
	    .kind = kind, .dest = dest, .local = local, .remote = remote, .bytes = bytes, .op = op};

	return start_or_append(ctx, &p);
}

int pami_queue_get(struct pami_context *ctx, pami_endpoint_t dest, void *local, uint64_t remote,
		   size_t bytes, struct mu_op *op)
{
	return start_read(ctx, PENDING_GET, dest, local, remote, bytes, op);
}

int pami_queue_pull(struct pami_context *ctx, pami_endpoint_t dest, void *local, uint64_t remote,
		    size_t bytes, struct mu_op *op)
{
	return start_read(ctx, PENDING_PULL, dest, local, remote, bytes, op);
}

int pami_queue_flush(struct pami_context *ctx, pami_endpoint_t dest, struct mu_op *op)
{
	struct pami_pending p = {.kind = PENDING_FLUSH, .dest = dest, .op = op};

	return start_or_append(ctx, &p);
}

int pami_queue_atomic(struct pami_context *ctx, pami_endpoint_t dest,
		      const struct mu_atomic *atomic, struct mu_op *op)
{
	struct pami_pending p = {.kind = PENDING_ATOMIC, .dest = dest, .atomic = *atomic, .op = op};

	return start_or_append(ctx, &p);
}

static struct pami_pending *pop_pending(struct pami_context *ctx)
{
	struct pami_pending *p = ctx->queue.first;

	ctx->queue.first = p->next;
	ctx->queue.bytes -= sizeof *p + (p->kind == PENDING_SHORT ? p->bytes : 0);
	if (!ctx->queue.first) {
		ctx->queue.tail = &ctx->queue.first;
		ctx->todo &= ~(unsigned)PAMI_TODO_QUEUE;
		ctx->slow &= (uint8_t)~PAMI_SLOW_QUEUE;
	}
	return p;
}

int pami_queue_drain(struct pami_context *ctx)
{
	while (ctx->queue.first) {
		struct pami_pending *p = ctx->queue.first;
		int rc = start_pending(ctx, p);

		/* Callbacks report the error, and they run in progress calls only. */
		if (rc == -EAGAIN || (rc && !ctx->depth))
			return rc;
		pop_pending(ctx);
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
	/* After a death do not wait: operations to the dead task end in progress calls only. */
	while (!ctx->depth && ctx->queue.bytes > pami_limits.queue_max &&
	       mu_death_count() == ctx->deaths.applied) {
		if (pami_queue_drain(ctx) != -EAGAIN)
			return;
		mu_make_room(ctx->channel);
	}
}

void pami_queue_free_all(struct pami_context *ctx)
{
	while (ctx->queue.first)
		free(pop_pending(ctx));
	free(ctx->queue.spare);
	ctx->queue.spare = NULL;
}
