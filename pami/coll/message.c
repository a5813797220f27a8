/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of collectives. Each is matched, by key, sequence, kind, step and rank, with a receive
 * that is posted, or it is kept until one is. Messages of operations that will not take place are
 * dropped: a member died, or the geometry ended.
 */
#include <stdlib.h>

#include "pami/coll/hw/hw.h"
#include "pami/coll/progress.h"
#include "pami/coll/shm/shm.h"
#include "pami/coll/state.h"
#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/core/macros.h"
#include "pami/geometry/geometry.h"
#include "pami/p2p/inbound.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/receive.h"
#include "pami/p2p/send.h"
#include "pami/p2p/wire.h"

const pami_recv_t pami_recv_into_nothing = {.type = PAMI_BYTES, .data_fn = pami_data_noop};

static void unlink_early(struct pami_coll_state *s, unsigned b, struct coll_message **at)
{
	struct coll_message *m = *at;

	*at = m->next;
	if (s->early_last[b] == &m->next)
		s->early_last[b] = at;
	s->early_bytes -= sizeof *m + (m->inbound ? 0 : m->bytes);
}

/* ---- Messages that no operation will receive ---- */

/* True if the key is that of a geometry with a dead member. */
static bool is_key_dead(struct pami_context *ctx, uint64_t key)
{
	struct pami_geometry *g = mu_death_count() ? pami_geometry_by_key(ctx->client, key) : NULL;

	return g && pami_geometry_is_dead(g);
}

/* Drop the early messages of one geometry; key NULL: of all geometries with a dead member. */
static void drop_early(struct pami_context *ctx, const uint64_t *key)
{
	struct pami_coll_state *s = ctx->coll;

	for (unsigned b = 0; b < BUCKETS; b++)
		for (struct coll_message **at = &s->early[b], *m; (m = *at);) {
			if (key ? m->header.key != *key : !is_key_dead(ctx, m->header.key)) {
				at = &m->next;
				continue;
			}
			unlink_early(s, b, at);
			if (m->inbound)
				pami_inbound_resume(m->inbound, &pami_recv_into_nothing);
			free(m);
		}
}

/* Return an operation of a geometry with a dead member that has not failed yet, or NULL. */
static struct pami_coll *find_unended(struct pami_coll_state *s)
{
	for (unsigned b = 0; b < BUCKETS; b++)
		for (struct pami_coll *c = s->active[b].first; c; c = c->engine.next)
			if (!c->result && c->geometry && pami_geometry_is_dead(c->geometry))
				return c;
	return NULL;
}

void pami_coll_apply_deaths(struct pami_context *ctx)
{
	struct pami_coll *c;

	drop_early(ctx, NULL);
	pami_short_apply_deaths(ctx);
	/* A callback may start and end operations, so search from the beginning each time. */
	while ((c = find_unended(ctx->coll))) {
		pami_hw_abandon(c->geometry, ctx);
		c->result = -ESHUTDOWN;
		if (!c->engine.polled) /* else the next poll runs it */
			pami_coll_run(c);
	}
}

void pami_coll_forget(struct pami_context *ctx, uint64_t key)
{
	drop_early(ctx, &key);
	pami_am_forget(ctx, key);
}

/* ---- Sending, receiving ---- */

void pami_coll_sent(pami_context_t context, void *cookie, pami_result_t result)
{
	int rc = result == PAMI_SUCCESS ? 0 : result == PAMI_SHUTDOWN ? -ESHUTDOWN : -EIO;

	pami_coll_complete_one(cookie, rc);
}

static void on_received(pami_context_t context, void *cookie, pami_result_t result)
{
	struct pami_coll_recv *r = cookie;
	struct pami_coll *c = r->coll;

	pami_coll_recv_free(context, r);
	pami_coll_sent(context, c, result);
}

int pami_coll_send(struct pami_coll *c, uint32_t rank, uint32_t step, const void *data,
		   size_t bytes)
{
	struct coll_header h = {c->key, c->sequence, c->rank, step, c->kind};
	pami_endpoint_t dest = pami_topology_endpoint(c->topology, rank);
	pami_send_t s;
	int rc;

	if (PAMI_LIKELY(sizeof h + bytes <= MU_PACKET_BYTES)) {
		struct pami_wire wire = {.kind = PAMI_WIRE_SHORT,
					 .origin = c->context->offset,
					 .dispatch = PAMI_DISPATCH_COLL,
					 .header = sizeof h,
					 .data = (uint32_t)bytes};

		mu_charge(MU_COST_send_immediate, 1);
		return pami_queue_short(c->context, dest, &wire, &h, sizeof h, data,
					(uint32_t)bytes);
	}
	s = (pami_send_t){.send = {.header = {&h, sizeof h},
				   .data = {(void *)(uintptr_t)data, bytes},
				   .dispatch = PAMI_DISPATCH_COLL,
				   .dest = dest},
			  .events = {.cookie = c, .local_fn = pami_coll_sent}};
	c->engine.outstanding++;
	rc = pami_send_message(c->context, &s);
	if (rc)
		c->engine.outstanding--;
	return rc;
}

static void get_done(struct mu_op *op, int result)
{
	pami_coll_complete_one(PAMI_CONTAINER(op, struct pami_coll, rdma), result);
}

int pami_coll_get(struct pami_coll *c, uint32_t rank, void *to, uint64_t from, size_t bytes)
{
	int rc;

	if (!bytes)
		return 0;
	c->rdma.done = get_done;
	c->engine.outstanding++;
	rc = pami_queue_get(c->context, pami_topology_endpoint(c->topology, rank), to, from, bytes,
			    &c->rdma);
	if (rc)
		c->engine.outstanding--;
	return rc;
}

static pami_recv_t recv_into(struct pami_coll_recv *r, void *data)
{
	return (pami_recv_t){.cookie = r,
			     .local_fn = on_received,
			     .addr = data,
			     .type = PAMI_BYTES,
			     .data_fn = pami_data_copy};
}

/* Unlink and return the early message that this receive matches, or NULL if there is none. */
static struct coll_message *take_early(struct pami_coll *c, uint32_t rank, uint32_t step)
{
	struct pami_coll_state *s = c->context->coll;
	unsigned b = bucket_of(c->key, c->sequence);

	for (struct coll_message **at = &s->early[b], *m; (m = *at); at = &m->next)
		if (m->header.key == c->key && m->header.sequence == c->sequence &&
		    m->header.rank == rank && m->header.step == step && m->header.kind == c->kind) {
			unlink_early(s, b, at);
			return m;
		}
	return NULL;
}

int pami_coll_reserve(struct pami_context *ctx)
{
	struct pami_coll_state *s = ctx->coll;

	while (s->reserves < RESERVE) {
		struct coll_message *m = malloc(RESERVE_BYTES);

		if (!m)
			return -ENOMEM;
		m->next = s->reserve;
		s->reserve = m;
		s->reserves++;
	}
	return 0;
}

static struct coll_message *message_new(struct pami_context *ctx, size_t all)
{
	struct pami_coll_state *s = ctx->coll;
	struct coll_message *m = malloc(all);

	if (PAMI_LIKELY(m != NULL)) {
		if (PAMI_UNLIKELY(s->reserves < RESERVE))
			(void)pami_coll_reserve(ctx);
		return m;
	}
	m = all <= RESERVE_BYTES ? s->reserve : NULL;
	if (m) {
		s->reserve = m->next;
		s->reserves--;
	}
	return m;
}

static struct pami_coll_recv *recv_new(struct pami_context *ctx)
{
	struct pami_coll_recv *r = ctx->coll->free_recv;

	if (PAMI_UNLIKELY(!r))
		return malloc(sizeof *r);
	ctx->coll->free_recv = r->next;
	return r;
}

int pami_coll_recv(struct pami_coll *c, uint32_t rank, uint32_t step, void *data, size_t bytes)
{
	struct coll_message *m = take_early(c, rank, step);
	struct pami_coll_recv *r;
	pami_recv_t recv;

	if (m && !m->inbound) {
		int rc = m->bytes == bytes ? 0 : -EPROTO;

		if (!rc && bytes)
			memcpy(data, m->data, bytes);
		free(m);
		return rc;
	}
	r = recv_new(c->context);
	if (!r)
		return -ENOMEM;
	*r = (struct pami_coll_recv){c->engine.posted, c, rank, step, data, bytes};
	c->engine.outstanding++;
	if (!m) {
		c->engine.posted = r;
		return 0;
	}
	recv = recv_into(r, data);
	if (m->bytes != bytes) { /* receive it into nothing: the operation ends with an error */
		recv.data_fn = pami_data_noop;
		c->result = -EPROTO;
	}
	pami_inbound_resume(m->inbound, &recv);
	free(m);
	return 0;
}

static struct pami_coll_recv *take_posted(struct pami_context *ctx, const struct coll_header *h)
{
	for (struct pami_coll *c = ctx->coll->active[bucket_of(h->key, h->sequence)].first; c;
	     c = c->engine.next) {
		if (c->key != h->key || c->sequence != h->sequence || c->kind != h->kind)
			continue;
		for (struct pami_coll_recv **at = &c->engine.posted, *r; (r = *at); at = &r->next)
			if (r->rank == h->rank && r->step == h->step) {
				*at = r->next;
				return r;
			}
	}
	return NULL;
}

static PAMI_COLD void keep_early(struct pami_context *ctx, const struct coll_header *h,
				 const void *data, size_t bytes, bool has_data,
				 pami_endpoint_t origin)
{
	struct pami_coll_state *s = ctx->coll;
	unsigned b = bucket_of(h->key, h->sequence);
	size_t all = sizeof(struct coll_message) + (has_data ? bytes : 0);
	struct coll_message *m =
	    s->early_bytes + all <= pami_limits.held_max ? message_new(ctx, all) : NULL;

	if (!m) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin),
				    "no room to keep a collective's message");
		return;
	}
	*m = (struct coll_message){.header = *h, .bytes = bytes};
	if (!has_data)
		m->inbound = pami_inbound_defer(ctx);
	else if (bytes)
		memcpy(m->data, data, bytes);
	s->early_bytes += all;
	*s->early_last[b] = m;
	s->early_last[b] = &m->next;
}

void pami_coll_dispatch(pami_context_t context, void *cookie, const void *header_addr,
			size_t header_size, const void *pipe_addr, size_t data_size,
			pami_endpoint_t origin, pami_recv_t *recv)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_coll_recv *r;
	struct coll_header h;
	struct pami_coll *c;

	if (header_size < sizeof h) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin), "not a collective's message");
		return;
	}
	memcpy(&h, header_addr, sizeof h);
	if (PAMI_UNLIKELY(h.kind == PAMI_COLL_AM)) {
		pami_am_receive(ctx, header_addr, header_size, pipe_addr, data_size, origin, recv);
		return;
	}
	r = take_posted(ctx, &h);
	if (!r && is_key_dead(ctx, h.key)) {
		if (recv)
			*recv = pami_recv_into_nothing;
		return;
	}
	if (!r) {
		keep_early(ctx, &h, pipe_addr, data_size, !recv, origin);
		return;
	}
	c = r->coll;
	if (PAMI_LIKELY(!recv)) {
		int rc = r->bytes == data_size ? 0 : -EPROTO; /* members disagree about the count */

		if (!rc && data_size)
			memcpy(r->data, pipe_addr, data_size);
		pami_coll_recv_free(ctx, r);
		pami_coll_complete_one(c, rc);
		return;
	}
	*recv = recv_into(r, r->data);
	if (r->bytes != data_size) {
		c->result = -EPROTO;
		recv->data_fn = pami_data_noop;
	}
}
