/* SPDX-License-Identifier: BSD-3-Clause */
#include "pami/p2p/trace.h"

#include <errno.h>
#include <stdlib.h>

#include "mu/trace.h"
#include "pami/coll/state.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/geometry/geometry.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/receive.h"
#include "pami/p2p/rma.h"
#include "pami/p2p/send.h"

/* What an operation does when it completes: the program's own, and what the event needs. */
struct completion {
	pami_event_function fn[2]; /* local or only, remote */
	void *cookie;
	unsigned left; /* functions that have not run */
	struct mu_trace_event event;
};

int pami_trace_open(struct pami_context *ctx)
{
	size_t endpoints = (size_t)ctx->tasks * ctx->contexts;
	struct pami_trace *t;

	if (!mu_is_traced())
		return 0;
	t = calloc(1, sizeof *t);
	if (!t)
		return -ENOMEM;
	t->sent = calloc(endpoints, sizeof *t->sent);
	t->received = calloc(endpoints, sizeof *t->received);
	ctx->trace = t;
	ctx->slow |= PAMI_SLOW_TRACE;
	return t->sent && t->received ? 0 : -ENOMEM;
}

void pami_trace_close(struct pami_context *ctx)
{
	if (!ctx->trace)
		return;
	free(ctx->trace->sent);
	free(ctx->trace->received);
	free(ctx->trace);
	ctx->trace = NULL;
}

static uint32_t *count_of(const struct pami_context *ctx, uint32_t *counts, pami_endpoint_t e)
{
	return &counts[(size_t)pami_endpoint_task(e) * ctx->contexts + pami_endpoint_offset(e)];
}

/* ---- sending ---- */

/* Begin to measure a call that sends: what the context is before it. */
static struct mu_trace_event begin_send(const struct pami_context *ctx)
{
	return (struct mu_trace_event){
	    .begin = mu_trace_now(),
	    .descriptor = (uint32_t)mu_trace_descriptors(ctx->channel),
	    .how = ctx->queue.first ? MU_TRACE_QUEUED : MU_TRACE_AT_ONCE,
	    .kind = MU_TRACE_SEND,
	    .channel = (uint8_t)(ctx->base + ctx->offset),
	};
}

/* The call has sent a message: count and record it. */
static void end_send(const struct pami_context *ctx, struct mu_trace_event *e, pami_endpoint_t dest,
		     size_t dispatch, size_t bytes)
{
	uint64_t more = mu_trace_descriptors(ctx->channel) - e->descriptor;

	e->end = mu_trace_now();
	e->task = pami_endpoint_task(dest);
	e->peer = (uint8_t)pami_endpoint_channel(ctx, dest);
	e->number = (*count_of(ctx, ctx->trace->sent, dest))++;
	e->bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
	e->dispatch = (uint16_t)dispatch;
	e->descriptors = (uint16_t)more;
	if (e->descriptors)
		e->how = MU_TRACE_DESCRIPTOR;
	else if (ctx->queue.first)
		e->how = MU_TRACE_QUEUED;
	mu_trace_put(e);
}

pami_result_t pami_trace_send_immediate(struct pami_context *ctx, pami_send_immediate_t *p)
{
	struct mu_trace_event e = begin_send(ctx);
	pami_result_t result;

	ctx->slow &= (uint8_t)~PAMI_SLOW_TRACE;
	result = PAMI_Send_immediate(ctx, p);
	ctx->slow |= PAMI_SLOW_TRACE;
	if (result == PAMI_SUCCESS)
		end_send(ctx, &e, p->dest, p->dispatch, p->header.iov_len + p->data.iov_len);
	return result;
}

int pami_trace_queue_short(struct pami_context *ctx, pami_endpoint_t dest,
			   const struct pami_wire *wire, const void *a, uint32_t an, const void *b,
			   uint32_t bn)
{
	struct mu_trace_event e = begin_send(ctx);
	int rc;

	ctx->slow &= (uint8_t)~PAMI_SLOW_TRACE;
	rc = pami_queue_short(ctx, dest, wire, a, an, b, bn);
	ctx->slow |= PAMI_SLOW_TRACE;
	if (!rc && wire->kind == PAMI_WIRE_SHORT)
		end_send(ctx, &e, dest, wire->dispatch, (size_t)an + bn);
	return rc;
}

/* ---- completing ---- */

static void call_user_function(pami_context_t context, struct completion *c, unsigned which,
			       pami_result_t result)
{
	pami_event_function fn = c->fn[which];
	struct mu_trace_event e = c->event;
	void *cookie = c->cookie;

	if (e.kind == MU_TRACE_COLL) {
		e.end = mu_trace_now();
		mu_trace_put(&e);
	}
	if (!--c->left)
		free(c);
	if (e.kind != MU_TRACE_COLL)
		e.begin = mu_trace_now();
	if (fn)
		fn(context, cookie, result);
	if (e.kind != MU_TRACE_COLL) {
		e.end = mu_trace_now();
		e.how = which ? MU_TRACE_REMOTE : MU_TRACE_LOCAL;
		mu_trace_put(&e);
	}
}

static void complete_local(pami_context_t context, void *cookie, pami_result_t result)
{
	call_user_function(context, cookie, 0, result);
}

static void complete_remote(pami_context_t context, void *cookie, pami_result_t result)
{
	call_user_function(context, cookie, 1, result);
}

int pami_trace_send_message(struct pami_context *ctx, const pami_send_t *p)
{
	struct mu_trace_event e = begin_send(ctx);
	struct completion *c = NULL;
	pami_send_t send = *p;
	int rc;

	/* A collective's own functions are compared by address, so they stay. */
	if (p->send.dispatch <= PAMI_DISPATCH_ID_MAX && (p->events.local_fn || p->events.remote_fn))
		c = calloc(1, sizeof *c);
	if (c) {
		c->fn[0] = p->events.local_fn;
		c->fn[1] = p->events.remote_fn;
		c->cookie = p->events.cookie;
		c->left = (c->fn[0] != NULL) + (c->fn[1] != NULL);
		send.events.cookie = c;
		send.events.local_fn = c->fn[0] ? complete_local : NULL;
		send.events.remote_fn = c->fn[1] ? complete_remote : NULL;
	}
	ctx->slow &= (uint8_t)~PAMI_SLOW_TRACE;
	rc = pami_send_message(ctx, &send);
	ctx->slow |= PAMI_SLOW_TRACE;
	if (rc) {
		free(c);
		return rc;
	}
	end_send(ctx, &e, p->send.dest, p->send.dispatch,
		 p->send.header.iov_len + p->send.data.iov_len);
	if (c) {
		c->event = e;
		c->event.kind = MU_TRACE_COMPLETE;
	}
	return 0;
}

/* ---- one-sided operations ---- */

/*
 * Begin to measure the call of an operation that has these functions. Returns what stands in their
 * place, or NULL: there are none, or there is no memory and they are not measured.
 */
static struct completion *begin_operation(struct pami_context *ctx, struct mu_trace_event *e,
					  pami_endpoint_t dest, size_t bytes,
					  pami_event_function local_fn,
					  pami_event_function remote_fn, void *cookie)
{
	struct completion *c = NULL;
	enum mu_trace_how how = (enum mu_trace_how)e->how;

	*e = begin_send(ctx);
	e->kind = MU_TRACE_RDMA;
	e->how = (uint8_t)how;
	e->task = pami_endpoint_task(dest);
	e->peer = (uint8_t)pami_endpoint_channel(ctx, dest);
	e->number = ctx->trace->operations++;
	e->bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
	if (local_fn || remote_fn)
		c = calloc(1, sizeof *c);
	ctx->slow &= (uint8_t)~PAMI_SLOW_TRACE;
	if (!c)
		return NULL;
	c->fn[0] = local_fn;
	c->fn[1] = remote_fn;
	c->cookie = cookie;
	c->left = (local_fn != NULL) + (remote_fn != NULL);
	c->event = *e;
	c->event.kind = MU_TRACE_RDMA_DONE;
	return c;
}

static pami_result_t end_operation(struct pami_context *ctx, struct mu_trace_event *e,
				   struct completion *c, pami_result_t result)
{
	ctx->slow |= PAMI_SLOW_TRACE;
	if (result != PAMI_SUCCESS) {
		free(c); /* no function of an operation that is refused runs */
		return result;
	}
	e->end = mu_trace_now();
	e->descriptors = (uint16_t)(mu_trace_descriptors(ctx->channel) - e->descriptor);
	mu_trace_put(e);
	return result;
}

pami_result_t pami_trace_put(const char *call, struct pami_context *ctx, const pami_rma_t *rma,
			     const void *local, uint64_t remote, pami_event_function rdone_fn)
{
	struct mu_trace_event e = {.how = MU_TRACE_PUT};
	struct completion *c =
	    begin_operation(ctx, &e, rma->dest, rma->bytes, rma->done_fn, rdone_fn, rma->cookie);
	pami_rma_t measured = *rma;

	if (c) {
		measured.cookie = c;
		measured.done_fn = rma->done_fn ? complete_local : NULL;
		rdone_fn = rdone_fn ? complete_remote : NULL;
	}
	return end_operation(ctx, &e, c, pami_put(call, ctx, &measured, local, remote, rdone_fn));
}

pami_result_t pami_trace_get(const char *call, struct pami_context *ctx, const pami_rma_t *rma,
			     void *local, uint64_t remote)
{
	struct mu_trace_event e = {.how = MU_TRACE_GET};
	struct completion *c =
	    begin_operation(ctx, &e, rma->dest, rma->bytes, rma->done_fn, NULL, rma->cookie);
	pami_rma_t measured = *rma;

	if (c) {
		measured.cookie = c;
		measured.done_fn = complete_local;
	}
	return end_operation(ctx, &e, c, pami_get(call, ctx, &measured, local, remote));
}

pami_result_t pami_trace_rmw(struct pami_context *ctx, const pami_rmw_t *p)
{
	struct mu_trace_event e = {.how = MU_TRACE_ATOMIC};
	struct completion *c = begin_operation(ctx, &e, p->dest, 0, p->done_fn, NULL, p->cookie);
	pami_rmw_t measured = *p;

	if (c) {
		measured.cookie = c;
		measured.done_fn = complete_local;
	}
	return end_operation(ctx, &e, c, PAMI_Rmw(ctx, &measured));
}

pami_result_t pami_trace_collective(struct pami_context *ctx, const pami_xfer_t *cmd)
{
	struct completion *c = calloc(1, sizeof *c);
	pami_xfer_t copy = *cmd;
	pami_result_t result;

	if (!c)
		return pami_result(-ENOMEM);
	c->fn[0] = cmd->cb_done;
	c->cookie = cmd->cookie;
	c->left = 1;
	c->event = (struct mu_trace_event){.begin = mu_trace_now(),
					   .kind = MU_TRACE_COLL,
					   .channel = (uint8_t)(ctx->base + ctx->offset)};
	copy.cb_done = complete_local;
	copy.cookie = c;
	ctx->trace->in_collective = true;
	result = PAMI_Collective(ctx, &copy);
	ctx->trace->in_collective = false;
	if (result == PAMI_SUCCESS) {
		c->event.key = ctx->coll->last.geometry->key;
		c->event.number = ctx->coll->last.member->sequence - 1;
		c->event.task = cmd->algorithm >> 8 & 0xff;
	} else {
		free(c);
	}
	ctx->coll->last.ended = UINT32_MAX; /* the next call comes here, too */
	return result;
}

/* ---- receiving ---- */

static bool begins_message(const struct pami_wire *wire, uint64_t offset)
{
	if (offset || wire->origin & PAMI_WIRE_ADDRESSED)
		return false;
	switch ((enum pami_wire_kind)wire->kind) {
	case PAMI_WIRE_SHORT:
	case PAMI_WIRE_SHORT_PACKED:
	case PAMI_WIRE_EAGER:
	case PAMI_WIRE_EAGER_HEAD:
	case PAMI_WIRE_RTS:
		return true;
	case PAMI_WIRE_NONE:
	case PAMI_WIRE_EAGER_DATA:
	case PAMI_WIRE_DONE:
	case PAMI_WIRE_RMW:
	case PAMI_WIRE_FENCE:
	case PAMI_WIRE_KINDS:
		break;
	}
	return false;
}

void pami_trace_receive(void *arg, uint32_t source, const unsigned char *soft,
			const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	struct pami_context *ctx = arg;
	const struct pami_wire *wire = (const struct pami_wire *)soft;
	pami_endpoint_t origin = pami_endpoint(source, wire->origin & 63);
	struct mu_trace_event e = {.kind = MU_TRACE_RECEIVE,
				   .channel = (uint8_t)(ctx->base + ctx->offset)};

	if (!begins_message(wire, offset) || source >= ctx->tasks ||
	    pami_endpoint_offset(origin) >= ctx->contexts) {
		pami_receive(arg, source, soft, payload, bytes, offset);
		return;
	}
	e.task = source;
	e.peer = (uint8_t)pami_endpoint_channel(ctx, origin);
	e.number = (*count_of(ctx, ctx->trace->received, origin))++;
	e.bytes = bytes;
	e.dispatch = wire->dispatch;
	ctx->trace->arriving = e.number;
	e.begin = mu_trace_now();
	pami_receive(arg, source, soft, payload, bytes, offset);
	e.end = mu_trace_now();
	mu_trace_put(&e);
}

void pami_trace_finish(struct pami_context *ctx, pami_endpoint_t origin, uint32_t number,
		       uint64_t bytes)
{
	struct mu_trace_event e = {.kind = MU_TRACE_FINISH,
				   .channel = (uint8_t)(ctx->base + ctx->offset)};

	e.begin = e.end = mu_trace_now();
	e.task = pami_endpoint_task(origin);
	e.peer = (uint8_t)pami_endpoint_channel(ctx, origin);
	e.number = number;
	e.bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
	mu_trace_put(&e);
}
