/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine of coll.h: starting operations, matching messages, completing. */
#include <stdlib.h>
#include <string.h>

#include "pami/coll.h"
#include "pami/type.h"

struct coll_header {
	uint32_t key, sequence, rank, step;
};

struct pami_coll_recv {
	struct pami_coll_recv *next;
	struct pami_coll *coll;
	uint32_t rank, step;
	void *data;
	size_t bytes;
};

/* Arrived before its receive was posted. */
struct pami_coll_message {
	struct pami_coll_message *next;
	struct coll_header header;
	struct pami_inbound *inbound; /* more than one packet; or NULL: data follows */
	size_t bytes;
	_Alignas(16) unsigned char data[];
};

static void run(struct pami_coll *c);

static void unlink_coll(struct pami_coll *c)
{
	struct pami_coll **at = &c->context->colls;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
}

static void coll_free(struct pami_coll *c)
{
	while (c->posted) {
		struct pami_coll_recv *r = c->posted;

		c->posted = r->next;
		free(r);
	}
	free(c->own);
	free(c->other);
	free(c);
}

/* Tell the user: at once from progress, else from the next progress call. */
static void finish(struct pami_coll *c)
{
	struct pami_context *ctx = c->context;
	struct pami_request *r = c->request;

	if (!c->result && c->info->deliver)
		c->info->deliver(c);
	unlink_coll(c);
	r->local_fn = c->xfer.cb_done;
	r->cookie = c->xfer.cookie;
	if (ctx->depth)
		pami_request_half(r, PAMI_REQUEST_LOCAL, c->result);
	else
		pami_request_defer(r, pami_request_local, c->result);
	coll_free(c);
}

static void run(struct pami_coll *c)
{
	if (c->running)
		return;
	c->running = 1;
	while (!c->outstanding) {
		int rc = c->result ? c->result : c->info->step(c);

		c->phase++;
		if (rc < 0)
			c->result = rc;
		if (rc == PAMI_COLL_DONE || (c->result && !c->outstanding)) {
			finish(c);
			return;
		}
	}
	c->running = 0;
}

static void less(struct pami_coll *c, pami_result_t result)
{
	if (result != PAMI_SUCCESS)
		c->result = result == PAMI_SHUTDOWN ? -ESHUTDOWN : -EIO;
	c->outstanding--;
	if (!c->outstanding)
		run(c);
}

static void sent(pami_context_t context, void *cookie, pami_result_t result)
{
	less(cookie, result);
}

static void received(pami_context_t context, void *cookie, pami_result_t result)
{
	struct pami_coll_recv *r = cookie;
	struct pami_coll *c = r->coll;

	free(r);
	less(c, result);
}

int pami_coll_send(struct pami_coll *c, uint32_t rank, uint32_t step, const void *data, size_t bytes)
{
	struct coll_header h = { c->geometry->key, c->sequence, c->rank, step };
	pami_send_t s = { .send = { .header = { &h, sizeof h }, .data = { (void *)(uintptr_t)data, bytes },
		                    .dispatch = PAMI_DISPATCH_COLL,
		                    .dest = pami_geometry_endpoint(c->geometry, rank) } };
	int rc;

	if (sizeof h + bytes > MU_PACKET_BYTES) {
		s.events.local_fn = sent;
		s.events.cookie = c;
		c->outstanding++;
	}
	rc = pami_send_message(c->context, &s);
	if (rc && s.events.local_fn)
		c->outstanding--;
	return rc;
}

static pami_recv_t recv_into(struct pami_coll_recv *r, void *data)
{
	return (pami_recv_t){ .cookie = r, .local_fn = received, .addr = data, .type = PAMI_BYTES,
		              .data_fn = pami_data_copy };
}

/* The message of a receive that came early, off the list; or NULL. */
static struct pami_coll_message *take_unexpected(struct pami_coll *c, uint32_t rank, uint32_t step)
{
	struct pami_coll_message **at = &c->context->unexpected, *m;

	for (; (m = *at); at = &m->next)
		if (m->header.key == c->geometry->key && m->header.sequence == c->sequence &&
		    m->header.rank == rank && m->header.step == step) {
			*at = m->next;
			return m;
		}
	return NULL;
}

int pami_coll_recv(struct pami_coll *c, uint32_t rank, uint32_t step, void *data, size_t bytes)
{
	struct pami_coll_message *m = take_unexpected(c, rank, step);
	struct pami_coll_recv *r;
	pami_recv_t recv;

	if (m && !m->inbound) {
		int rc = m->bytes == bytes ? 0 : -EPROTO;

		if (!rc && bytes)
			memcpy(data, m->data, bytes);
		free(m);
		return rc;
	}
	r = malloc(sizeof *r);
	if (!r)
		return -ENOMEM;
	*r = (struct pami_coll_recv){ c->posted, c, rank, step, data, bytes };
	c->outstanding++;
	if (!m) {
		c->posted = r;
		return 0;
	}
	recv = recv_into(r, data);
	if (m->bytes != bytes) { /* take it anyway, into nothing: the operation ends with an error */
		recv.data_fn = pami_data_noop;
		c->result = -EPROTO;
	}
	pami_inbound_resume(m->inbound, &recv);
	free(m);
	return 0;
}

static struct pami_coll_recv *take_posted(struct pami_context *ctx, const struct coll_header *h)
{
	for (struct pami_coll *c = ctx->colls; c; c = c->next) {
		if (c->geometry->key != h->key || c->sequence != h->sequence)
			continue;
		for (struct pami_coll_recv **at = &c->posted, *r; (r = *at); at = &r->next)
			if (r->rank == h->rank && r->step == h->step) {
				*at = r->next;
				return r;
			}
	}
	return NULL;
}

static void keep(struct pami_context *ctx, const struct coll_header *h, const void *data, size_t bytes,
                 int here)
{
	struct pami_coll_message *m = malloc(sizeof *m + (here ? bytes : 0)), **at;

	if (!m) {
		pami_receive_refuse(ctx, h->rank, "no memory to keep a collective's message");
		return;
	}
	*m = (struct pami_coll_message){ .header = *h, .bytes = bytes };
	if (here)
		memcpy(m->data, data, bytes);
	else
		m->inbound = pami_inbound_defer(ctx);
	for (at = &ctx->unexpected; *at; at = &(*at)->next)
		;
	*at = m;
}

void pami_coll_dispatch(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                        const void *pipe_addr, size_t data_size, pami_endpoint_t origin,
                        pami_recv_t *recv)
{
	struct pami_context *ctx = pami_context_of(context);
	const struct coll_header *h = header_addr;
	struct pami_coll_recv *r;
	struct pami_coll *c;

	if (header_size != sizeof *h) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin), "not a collective's message");
		return;
	}
	r = take_posted(ctx, h);
	if (!r) {
		keep(ctx, h, pipe_addr, data_size, pipe_addr != NULL);
		return;
	}
	c = r->coll;
	if (r->bytes != data_size)
		c->result = -EPROTO; /* members disagree about the count: the operation ends with an error */
	if (pipe_addr) {
		if (r->bytes == data_size && data_size) /* a barrier's step has no buffer */
			memcpy(r->data, pipe_addr, data_size);
		free(r);
		less(c, PAMI_SUCCESS);
	} else {
		*recv = recv_into(r, r->data);
		if (r->bytes != data_size)
			recv->data_fn = pami_data_noop;
	}
}

PAMI_EXPORT pami_result_t PAMI_Collective(pami_context_t context, pami_xfer_t *cmd)
{
	struct pami_context *ctx = pami_context_of(context);
	const struct pami_algorithm_info *info;
	struct pami_geometry_member *member;
	struct pami_geometry *g;
	struct pami_coll *c;
	int rc = -ENOMEM;

	if (!cmd || !pami_context_valid(context))
		return pami_fail(PAMI_INVAL, "no context, or no parameters");
	info = pami_geometry_algorithm(ctx->client, cmd->algorithm, &g);
	if (!info)
		return pami_fail(PAMI_INVAL, "not an algorithm of this client");
	member = &g->member[ctx->offset];
	if (member->rank < 0)
		return pami_fail(PAMI_INVAL, "this context is no member of the geometry");
	c = calloc(1, sizeof *c);
	if (!c)
		return pami_result(rc);
	c->context = ctx;
	c->geometry = g;
	c->info = info;
	c->rank = (uint32_t)member->rank;
	c->size = g->size;
	c->xfer = *cmd;
	c->request = pami_request_new(ctx);
	if (!c->request)
		goto err_free;
	c->request->awaited |= PAMI_REQUEST_LOCAL;
	rc = info->prepare ? info->prepare(c) : 0;
	if (rc)
		goto err_request;
	c->sequence = member->sequence++;
	c->next = ctx->colls;
	ctx->colls = c;
	run(c);
	return PAMI_SUCCESS;

err_request:
	pami_request_free(c->request);
err_free:
	coll_free(c);
	return pami_result(rc);
}

void pami_coll_drop(struct pami_context *ctx)
{
	while (ctx->colls) {
		struct pami_coll *c = ctx->colls;

		ctx->colls = c->next;
		coll_free(c);
	}
	while (ctx->unexpected) {
		struct pami_coll_message *m = ctx->unexpected;

		ctx->unexpected = m->next;
		free(m);
	}
}
