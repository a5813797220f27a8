/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active-message collectives. The initiator sends a message to each member, which calls the
 * member's handler; members answer gathers and reductions with data. A member that does not know
 * the geometry yet, or has not set the dispatch, holds the message until it does.
 *
 * Answers are matched by the initiator's number of the operation and the member's rank.
 */
#include <stdlib.h>

#include "pami/coll/algorithms.h"
#include "pami/coll/state.h"
#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/core/macros.h"
#include "pami/geometry/geometry.h"
#include "pami/p2p/inbound.h"
#include "pami/p2p/receive.h"
#include "pami/p2p/send.h"

struct am_header { /* begins as every collective message does */
	uint64_t key;
	uint32_t sequence, rank, step, kind;
	uint32_t type, index;
	uint64_t dispatch;
	uint64_t data_bytes; /* of one member's part */
};

struct pami_am_entry {
	struct pami_am_entry *next;
	uint32_t type, index;
	uint64_t dispatch;
	pami_dispatch_callback_function fn;
	void *cookie;
};

struct pami_am_held {
	struct pami_am_held *next;
	struct pami_inbound *inbound; /* the data is still to come; NULL: it follows the header */
	pami_endpoint_t origin;
	size_t header_bytes, bytes;
	size_t all; /* bytes of this struct and what follows it */
	_Alignas(16) unsigned char header[];
};

PAMI_EXPORT pami_result_t PAMI_AMCollective_dispatch_set(
    pami_context_t context, pami_algorithm_t algorithm, size_t dispatch,
    pami_dispatch_callback_function fn, void *cookie, pami_collective_hint_t options)
{
	struct pami_context *ctx = pami_context_of(context);
	unsigned type = algorithm >> 8 & 0xff, index = algorithm & 0xff;
	struct pami_geometry *g;
	struct pami_am_entry *e;

	if (!pami_context_is_valid(context) || !fn.p2p)
		return pami_fail(PAMI_INVAL, "no context, or no function");
	g = pami_geometry_of(ctx->client, algorithm);
	if (!g || type < PAMI_XFER_AMBROADCAST || type > PAMI_XFER_AMREDUCE ||
	    index >= pami_algorithms[type].count || ctx->offset >= g->offsets ||
	    g->member[ctx->offset].rank < 0)
		return pami_fail(PAMI_INVAL,
				 "not an active-message algorithm of a geometry of this context");
	for (e = g->member[ctx->offset].am; e; e = e->next)
		if (e->type == type && e->index == index && e->dispatch == dispatch)
			break;
	if (!e) {
		e = calloc(1, sizeof *e);
		if (!e)
			return pami_result(-ENOMEM);
		e->next = g->member[ctx->offset].am;
		g->member[ctx->offset].am = e;
	}
	*e = (struct pami_am_entry){e->next, type, index, dispatch, fn, cookie};
	return PAMI_SUCCESS;
}

void pami_am_free(struct pami_geometry_member *m)
{
	while (m->am) {
		struct pami_am_entry *e = m->am;

		m->am = e->next;
		free(e);
	}
}

static struct pami_am_entry *find_entry(struct pami_context *ctx, const struct am_header *h,
					struct pami_geometry **geometry)
{
	struct pami_geometry *g = pami_geometry_by_key(ctx->client, h->key);
	struct pami_am_entry *e = g && ctx->offset < g->offsets ? g->member[ctx->offset].am : NULL;

	while (e && (e->type != h->type || e->index != h->index || e->dispatch != h->dispatch))
		e = e->next;
	*geometry = g;
	return e;
}

/* Does a member answer with data, to a message that has none? */
static bool is_answered(uint32_t type)
{
	return type == PAMI_XFER_AMGATHER || type == PAMI_XFER_AMREDUCE;
}

/* Set what the handler left unset. */
static void complete_recv(pami_recv_t *recv)
{
	if (!pami_type_is_usable(recv->type))
		recv->type = PAMI_BYTES;
	if (!recv->data_fn)
		recv->data_fn = pami_data_copy;
}

static pami_recv_t call_handler(struct pami_context *ctx, const struct pami_am_entry *e,
				struct pami_geometry *g, const struct am_header *h,
				const void *header, size_t header_bytes, pami_endpoint_t origin,
				pami_data_function *op)
{
	pami_recv_t recv = {.type = PAMI_BYTES, .data_fn = pami_data_copy};

	mu_charge(MU_COST_receive, 1);
	switch (h->type) {
	case PAMI_XFER_AMBROADCAST:
		e->fn.ambroadcast(ctx, e->cookie, header, header_bytes, NULL, h->data_bytes, origin,
				  g, &recv);
		break;
	case PAMI_XFER_AMSCATTER:
		e->fn.amscatter(ctx, e->cookie, header, header_bytes, NULL, h->data_bytes, origin,
				g, &recv);
		break;
	case PAMI_XFER_AMGATHER:
		e->fn.amgather(ctx, e->cookie, header, header_bytes, h->data_bytes, origin, g,
			       &recv);
		break;
	default:
		e->fn.amreduce(ctx, e->cookie, header, header_bytes, h->data_bytes, origin, g, op,
			       &recv);
	}
	complete_recv(&recv);
	return recv;
}

static void call_local_fn(struct pami_context *ctx, const pami_recv_t *recv, pami_result_t result)
{
	if (recv->local_fn)
		recv->local_fn(ctx, recv->cookie, result);
}

/* ---- At a member ---- */

static int answer_step(struct pami_coll *c)
{
	return c->phase ? PAMI_COLL_DONE : pami_coll_send(c, c->root, 0, c->data, c->bytes);
}

static const struct pami_algorithm_info answer_info = {.name = "answer", .step = answer_step};

/* Send the data that the handler named to the initiator. */
static void send_answer(struct pami_context *ctx, struct pami_geometry *g,
			const struct am_header *h, const pami_recv_t *send)
{
	struct pami_coll *c = pami_coll_new(ctx);

	if (c) {
		c->bytes = h->data_bytes;
		c->data = pami_coll_buffer(c, c->bytes);
	}
	if (!c || !c->data) {
		call_local_fn(ctx, send, pami_result(-ENOMEM));
		return;
	}
	if (c->bytes)
		pami_type_gather(send->type, send->addr, send->offset, c->data, c->bytes,
				 pami_data_copy, NULL);
	c->geometry = g;
	c->topology = &g->topology;
	c->key = h->key;
	c->kind = PAMI_COLL_AM_REPLY;
	c->sequence = h->sequence;
	c->rank = (uint32_t)g->member[ctx->offset].rank;
	c->root = h->rank;
	c->type = PAMI_XFER_BARRIER;
	c->info = &answer_info;
	c->cb_done = send->local_fn;
	c->cookie = send->cookie;
	pami_coll_start(c);
}

/*
 * Call the handler of a message. Its data lies at `data`, or it is still to come: then the function
 * sets *later to where it goes.
 */
static void deliver_message(struct pami_context *ctx, const struct pami_am_entry *e,
			    struct pami_geometry *g, const void *header, size_t header_bytes,
			    const void *data, pami_endpoint_t origin, pami_recv_t *later)
{
	struct am_header h;
	pami_data_function op = NULL;
	pami_recv_t recv;

	memcpy(&h, header, sizeof h);
	if (h.rank >= g->topology.size) { /* nobody to answer */
		pami_receive_refuse(ctx, pami_endpoint_task(origin), "its rank is not a member's");
		if (later)
			*later = pami_recv_into_nothing;
		return;
	}
	recv = call_handler(ctx, e, g, &h, (const char *)header + sizeof h, header_bytes - sizeof h,
			    origin, &op);
	if (is_answered(h.type)) {
		send_answer(ctx, g, &h, &recv);
	} else if (later) {
		*later = recv;
	} else {
		if (h.data_bytes)
			pami_type_scatter(recv.type, recv.addr, recv.offset, data, h.data_bytes,
					  recv.data_fn, recv.data_cookie);
		call_local_fn(ctx, &recv, PAMI_SUCCESS);
	}
}

static void hold_message(struct pami_context *ctx, const void *header, size_t header_bytes,
			 const void *data, size_t bytes, pami_endpoint_t origin, bool has_data)
{
	size_t at = (header_bytes + 15) & ~(size_t)15,
	       all = sizeof(struct pami_am_held) + at + (has_data ? bytes : 0);
	struct pami_coll_state *s = ctx->coll;
	struct pami_am_held *held =
				s->early_bytes + all <= pami_limits.held_max ? malloc(all) : NULL,
			    **last;

	if (!held) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin),
				    "no room to hold it until its dispatch is set");
		return;
	}
	*held = (struct pami_am_held){
	    .origin = origin, .header_bytes = header_bytes, .bytes = bytes, .all = all};
	memcpy(held->header, header, header_bytes);
	if (!has_data)
		held->inbound = pami_inbound_defer(ctx);
	else if (bytes)
		memcpy(held->header + at, data, bytes);
	for (last = &s->held; *last; last = &(*last)->next)
		;
	*last = held;
	s->early_bytes += all;
	ctx->todo |= PAMI_TODO_COLL;
}

void pami_am_receive(struct pami_context *ctx, const void *header, size_t header_bytes,
		     const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct pami_am_entry *e;
	struct pami_geometry *g;
	struct am_header h;

	if (header_bytes < sizeof h) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin),
				    "not an active-message collective");
		return;
	}
	memcpy(&h, header, sizeof h);
	if (bytes != (is_answered(h.type) ? 0 : h.data_bytes)) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin),
				    "an active-message collective of another length");
		if (recv)
			*recv = pami_recv_into_nothing;
		return;
	}
	/* No message overtakes one that is held. */
	e = ctx->coll->held ? NULL : find_entry(ctx, &h, &g);
	if (!e)
		hold_message(ctx, header, header_bytes, data, bytes, origin, !recv);
	else
		deliver_message(ctx, e, g, header, header_bytes, data, origin, recv);
}

int pami_am_poll(struct pami_context *ctx)
{
	struct pami_am_held **at = &ctx->coll->held, *held;
	int events = 0;

	while ((held = *at)) {
		struct pami_geometry *g;
		struct pami_am_entry *e;
		struct am_header h;
		pami_recv_t recv;

		memcpy(&h, held->header, sizeof h);
		e = find_entry(ctx, &h, &g);
		if (!e) {
			at = &held->next;
			continue;
		}
		*at = held->next;
		ctx->coll->early_bytes -= held->all;
		deliver_message(ctx, e, g, held->header, held->header_bytes,
				held->header + ((held->header_bytes + 15) & ~(size_t)15),
				held->origin, held->inbound ? &recv : NULL);
		if (held->inbound)
			pami_inbound_resume(held->inbound, &recv);
		free(held);
		events++;
		at = &ctx->coll->held; /* the handler may have ended a geometry */
	}
	return events;
}

void pami_am_drop(struct pami_am_held *held)
{
	while (held) {
		struct pami_am_held *next = held->next;

		if (held->inbound)
			pami_inbound_discard(held->inbound);
		free(held);
		held = next;
	}
}

void pami_am_forget(struct pami_context *ctx, uint64_t key)
{
	for (struct pami_am_held **at = &ctx->coll->held, *held; (held = *at);) {
		struct am_header h;

		memcpy(&h, held->header, sizeof h);
		if (h.key != key) {
			at = &held->next;
			continue;
		}
		*at = held->next;
		ctx->coll->early_bytes -= held->all;
		if (held->inbound)
			pami_inbound_resume(held->inbound, &pami_recv_into_nothing);
		free(held);
	}
}

/* ---- At the initiator ---- */

struct am { /* c->user */
	struct am_header header;
	size_t header_bytes, stride; /* of the user's headers; stride 0: one header for all */
	const unsigned char *headers;
	pami_recv_t own; /* what the own handler set; valid if called */
	bool called;
	unsigned char *message;           /* header, then the user's */
	unsigned char *contribution, *in; /* reduce: the initiator's, and what arrives */
};

static struct am *am_of(const struct pami_coll *c)
{
	return c->user;
}

static const void *header_for(struct am *a, uint32_t rank)
{
	memcpy(a->message, &a->header, sizeof a->header);
	if (a->header_bytes)
		memcpy(a->message + sizeof a->header, a->headers + rank * a->stride,
		       a->header_bytes);
	return a->message;
}

static int am_send(struct pami_coll *c, uint32_t rank, const void *data, size_t bytes)
{
	struct am *a = am_of(c);
	pami_send_t s = {.send = {.header = {(void *)(uintptr_t)header_for(a, rank),
					     sizeof a->header + a->header_bytes},
				  .data = {(void *)(uintptr_t)data, bytes},
				  .dispatch = PAMI_DISPATCH_COLL,
				  .dest = pami_geometry_endpoint(c->geometry, rank)},
			 .events = {.cookie = c, .local_fn = pami_coll_sent}};
	int rc;

	c->engine.outstanding++;
	rc = pami_send_message(c->context, &s);
	if (rc)
		c->engine.outstanding--;
	return rc;
}

/* Call the initiator's own handler. Returns 0, or -ENOENT if it is not set. */
static int am_self(struct pami_coll *c)
{
	struct am *a = am_of(c);
	struct pami_geometry *g;
	struct pami_am_entry *e = find_entry(c->context, &a->header, &g);

	if (!e)
		return -ENOENT;
	a->own = call_handler(
	    c->context, e, g, &a->header, (const char *)header_for(a, c->rank) + sizeof a->header,
	    a->header_bytes, pami_geometry_endpoint(c->geometry, c->rank), &c->op);
	a->called = true;
	return 0;
}

static void am_own_done(struct pami_coll *c)
{
	pami_coll_deliver(c);
	c->deliver_recv = false;
	c->cb_done = am_of(c)->own.local_fn;
	c->cookie = am_of(c)->own.cookie;
}

/* Copy the data that the own handler named to `to`. */
static void gather_own(struct pami_coll *c, unsigned char *to)
{
	const pami_recv_t *own = &am_of(c)->own;

	if (c->bytes)
		pami_type_gather(own->type, own->addr, own->offset, to, c->bytes, pami_data_copy,
				 NULL);
}

/* Send to the member `distance` ranks after the initiator. */
static int broadcast_one(struct pami_coll *c, uint32_t distance)
{
	return am_send(c, pami_coll_rank_after(c, distance), c->data, c->bytes);
}

static int scatter_one(struct pami_coll *c, uint32_t distance)
{
	uint32_t rank = pami_coll_rank_after(c, distance);

	return am_send(c, rank, pami_vector_at(&c->send, rank), c->bytes);
}

static int gather_one(struct pami_coll *c, uint32_t distance)
{
	uint32_t rank = pami_coll_rank_after(c, distance);
	int rc = pami_coll_recv(c, rank, 0, pami_vector_at(&c->recv, rank), c->bytes);

	return rc ? rc : am_send(c, rank, NULL, 0);
}

static int am_broadcast_step(struct pami_coll *c)
{
	return pami_coll_talk_to_all(c, broadcast_one);
}

/*
 * Call the own handler when all others are done. It does not run inside the call that starts the
 * operation. Returns PAMI_COLL_DONE when the handler has run.
 */
static int call_self_last(struct pami_coll *c, int (*talk)(struct pami_coll *c, uint32_t distance))
{
	int rc = pami_coll_talk_to_all(c, talk);

	if (rc != PAMI_COLL_DONE)
		return rc;
	if (pami_coll_is_starting(c))
		return PAMI_COLL_POLL;
	rc = am_self(c);
	return rc ? rc : PAMI_COLL_DONE;
}

static int am_scatter_step(struct pami_coll *c)
{
	const pami_recv_t *own = &am_of(c)->own;
	int rc = call_self_last(c, scatter_one);

	if (rc != PAMI_COLL_DONE)
		return rc;
	if (c->bytes)
		pami_type_scatter(own->type, own->addr, own->offset,
				  pami_vector_at(&c->send, c->rank), c->bytes, own->data_fn,
				  own->data_cookie);
	am_own_done(c);
	return PAMI_COLL_DONE;
}

static int am_gather_step(struct pami_coll *c)
{
	int rc = call_self_last(c, gather_one);

	if (rc != PAMI_COLL_DONE)
		return rc;
	gather_own(c, pami_vector_at(&c->recv, c->rank));
	am_own_done(c);
	return PAMI_COLL_DONE;
}

/* The own handler runs first, because it names the operation. */
static int am_reduce_begin(struct pami_coll *c)
{
	struct am *a = am_of(c);
	struct pami_type *t;
	int rc = am_self(c);

	if (rc)
		return rc;
	t = a->own.type;
	c->element = t->element != PAMI_ELEMENT_NONE && t->element != PAMI_ELEMENT_BYTE
			 ? t->element
			 : c->recv.type->element;
	if (!pami_data_is_valid(c->op, c->element))
		return -EINVAL;
	a->contribution = pami_coll_buffer(c, c->bytes);
	a->in = pami_coll_buffer(c, c->bytes);
	if (!a->contribution || !a->in)
		return -ENOMEM;
	gather_own(c, a->contribution);
	for (uint32_t i = 0; i < c->size && !rc; i++)
		if (i != c->rank)
			rc = am_send(c, i, NULL, 0);
	return rc;
}

/* Phase 1 + i receives the data of rank i, and phase 2 + i adds it: in rank order. */
static int am_reduce_step(struct pami_coll *c)
{
	const struct am *a = am_of(c);
	uint32_t next = c->phase - 1;

	if (!c->phase)
		return pami_coll_is_starting(c) ? PAMI_COLL_POLL : am_reduce_begin(c);
	if (next) { /* what the previous phase received */
		const unsigned char *in = next - 1 == c->rank ? a->contribution : a->in;

		if (next > 1)
			pami_coll_apply(c, c->target, in, c->bytes);
		else if (c->bytes)
			memcpy(c->target, in, c->bytes);
	}
	if (next == c->size) {
		am_own_done(c);
		return PAMI_COLL_DONE;
	}
	return next == c->rank ? 0 : pami_coll_recv(c, next, 0, a->in, c->bytes);
}

static void am_free(struct pami_coll *c)
{
	struct am *a = am_of(c);

	/* The operation failed. The own handler names the callback, so it is called even now. */
	if (c->result && c->type != PAMI_XFER_AMBROADCAST && (a->called || !am_self(c))) {
		c->cb_done = a->own.local_fn;
		c->cookie = a->own.cookie;
	}
	free(a->message);
	free(a);
}

static const struct pami_algorithm_info steps[] = {
    {.name = "ambroadcast", .step = am_broadcast_step},
    {.name = "amscatter", .step = am_scatter_step},
    {.name = "amgather", .step = am_gather_step},
    {.name = "amreduce", .step = am_reduce_step},
};

/* All headers are copied: the program may reuse them when the call returns. */
static struct am *am_new(const struct pami_coll *c, unsigned index)
{
	/* The fields used here are the first of all four structs. */
	const pami_amscatter_t *x = &c->xfer.cmd.xfer_amscatter;
	int each = c->type == PAMI_XFER_AMSCATTER || c->type == PAMI_XFER_AMGATHER;
	size_t copy = x->headerlen * (each ? c->size : 1);
	struct am *a = calloc(1, sizeof *a);

	if (!a)
		return NULL;
	a->message = malloc(sizeof a->header + x->headerlen + copy);
	if (!a->message) {
		free(a);
		return NULL;
	}
	a->header_bytes = x->headerlen;
	a->stride = each ? x->headerlen : 0;
	a->headers = a->message + sizeof a->header + x->headerlen;
	if (copy)
		memcpy(a->message + sizeof a->header + x->headerlen, x->headers, copy);
	a->header = (struct am_header){c->key,  c->sequence, c->rank,     0,       PAMI_COLL_AM,
				       c->type, index,       x->dispatch, c->bytes};
	return a;
}

int pami_am_start(struct pami_context *ctx, struct pami_geometry *g, struct pami_geometry_member *m,
		  pami_xfer_type_t type, uint32_t index, const pami_xfer_t *xfer)
{
	struct pami_coll *c = pami_coll_new(ctx);
	int rc;

	if (!c)
		return -ENOMEM;
	c->geometry = g;
	c->topology = &g->topology;
	c->member = m;
	c->key = g->key;
	c->kind = PAMI_COLL_AM_REPLY;
	c->rank = (uint32_t)m->rank;
	c->size = g->size;
	c->type = (uint8_t)type;
	c->xfer = *xfer;
	c->info = &steps[type - PAMI_XFER_AMBROADCAST];
	rc = pami_coll_arguments(c);
	if (rc)
		goto err_free;
	c->sequence = m->am_sequence;
	rc = -ENOMEM;
	c->user = am_new(c, index);
	if (!c->user)
		goto err_free;
	m->am_sequence++;
	c->done = am_free;
	if (type == PAMI_XFER_AMBROADCAST) { /* programs leave them unset in the other three */
		c->cb_done = xfer->cb_done;
		c->cookie = xfer->cookie;
	}
	pami_coll_start(c);
	return 0;

err_free:
	pami_coll_free(c);
	return rc;
}
