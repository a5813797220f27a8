/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine of coll.h: starting operations, matching messages, completing. */
#include <stdlib.h>

#include "pami/coll_shm.h"

struct coll_header {
	uint64_t key;
	uint32_t sequence, rank, step, kind;
};

struct pami_coll_recv {
	struct pami_coll_recv *next;
	struct pami_coll *coll;
	uint32_t rank, step;
	void *data;
	size_t bytes;
};

/* Arrived before its receive was posted. */
struct coll_message {
	struct coll_message *next;
	struct coll_header header;
	struct pami_inbound *inbound; /* more than one packet; or NULL: data follows */
	size_t bytes;
	_Alignas(16) unsigned char data[];
};

#define BUCKETS 64u

struct coll_chain { /* oldest first */
	struct pami_coll *first, **last;
};

struct pami_coll_state {
	struct coll_chain active[BUCKETS];
	struct coll_message *early[BUCKETS], **early_last[BUCKETS];
	size_t early_bytes;
	struct pami_coll *poll, **poll_last;         /* to be stepped at each progress call */
	struct pami_shm *shorts;                     /* with an operation of the short lane */
	struct pami_coll *finished, **finished_last; /* callbacks to come */
	struct pami_coll *free_coll;
	struct pami_coll_recv *free_recv;
	struct pami_am_held *held;
};

/* Operations one member may be ahead of others before it waits for them: bounds what they hold. */
#define UNSYNCED_MAX 128u

static const struct pami_algorithm_info gate = { .name = "gate", .step = pami_barrier_step };

static int run(struct pami_coll *c);

static inline unsigned bucket(uint64_t key, uint32_t sequence)
{
	return (unsigned)((key ^ key >> 32) * 31 + sequence) % BUCKETS;
}

int pami_coll_init(struct pami_context *ctx)
{
	struct pami_coll_state *s = calloc(1, sizeof *s);

	if (!s)
		return -ENOMEM;
	for (unsigned i = 0; i < BUCKETS; i++) {
		s->active[i].last = &s->active[i].first;
		s->early_last[i] = &s->early[i];
	}
	s->poll_last = &s->poll;
	s->finished_last = &s->finished;
	ctx->coll = s;
	return 0;
}

/* ---- Objects ---- */

/* In lines: one call of memset costs more than the whole of a short operation's other bookkeeping. */
static inline void clear(struct pami_coll *c)
{
	unsigned char *p = (unsigned char *)c, *end = p + offsetof(struct pami_coll, fits);

	_Static_assert(offsetof(struct pami_coll, fits) % 64 == 0, "whole lines");
	for (; p < end; p += 64) {
		memset(p, 0, 64);
		__asm__("" : "+r"(p)); /* keeps the loop a loop */
	}
}

struct pami_coll *pami_coll_new(struct pami_context *ctx)
{
	struct pami_coll *c = ctx->coll->free_coll;

	if (PAMI_LIKELY(c != NULL))
		ctx->coll->free_coll = c->next;
	else if (!(c = aligned_alloc(64, sizeof *c)))
		return NULL;
	clear(c);
	c->context = ctx;
	return c;
}

static int inside(const struct pami_coll *c, const unsigned char *p)
{
	return (uintptr_t)p - (uintptr_t)c->fits < sizeof c->fits;
}

void pami_coll_buffers_free(struct pami_coll *c)
{
	if (!inside(c, c->own))
		free(c->own);
	if (!inside(c, c->other))
		free(c->other);
	c->own = c->other = NULL;
}

void pami_coll_free(struct pami_coll *c)
{
	struct pami_coll_state *s = c->context->coll;

	pami_coll_arguments_free(c);
	pami_coll_buffers_free(c);
	free(c->partial);
	c->next = s->free_coll;
	s->free_coll = c;
}

static void recv_free(struct pami_context *ctx, struct pami_coll_recv *r)
{
	r->next = ctx->coll->free_recv;
	ctx->coll->free_recv = r;
}

static void coll_link(struct pami_coll *c)
{
	struct coll_chain *chain = &c->context->coll->active[bucket(c->key, c->sequence)];

	c->next = NULL;
	*chain->last = c;
	chain->last = &c->next;
	c->linked = 1;
}

static void coll_unlink(struct pami_coll *c)
{
	struct coll_chain *chain = &c->context->coll->active[bucket(c->key, c->sequence)];
	struct pami_coll **at = &chain->first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (chain->last == &c->next)
		chain->last = at;
	c->linked = 0;
}

/* ---- Running ---- */

static void tell(struct pami_coll *c)
{
	struct pami_context *ctx = c->context;
	pami_event_function fn;
	int result = c->result;
	void *cookie;

	if (c->done)
		c->done(c); /* may say whom to tell */
	fn = c->cb_done;
	cookie = c->cookie;
	pami_coll_free(c);
	if (fn) {
		mu_charge(MU_COST_complete, 1);
		fn(ctx, cookie, pami_result(result));
	}
}

/* Tell the user: at once from progress, else from the next progress call. */
static void finish(struct pami_coll *c)
{
	struct pami_context *ctx = c->context;
	struct pami_coll_state *s = ctx->coll;

	if (!c->result)
		pami_coll_deliver(c);
	else
		pami_shm_end(c);
	if (c->linked)
		coll_unlink(c);
	if (ctx->depth && !c->starting) {
		tell(c);
		return;
	}
	c->next_poll = NULL;
	*s->finished_last = c;
	s->finished_last = &c->next_poll;
	ctx->todo |= PAMI_TODO_COLL;
}

static void poll_later(struct pami_coll *c)
{
	struct pami_coll_state *s = c->context->coll;

	if (c->polled)
		return;
	c->polled = 1;
	c->next_poll = NULL;
	*s->poll_last = c;
	s->poll_last = &c->next_poll;
	c->context->todo |= PAMI_TODO_COLL;
}

/* After an error: nobody needs to send what is still expected. */
static void cancel(struct pami_coll *c)
{
	while (c->posted) {
		struct pami_coll_recv *r = c->posted;

		c->posted = r->next;
		recv_free(c->context, r);
		c->outstanding--;
	}
}

/* Returns whether it came to its end. */
static int run(struct pami_coll *c)
{
	if (c->running)
		return 0;
	c->running = 1;
	for (;;) {
		int rc;

		if (PAMI_UNLIKELY(c->result))
			cancel(c);
		if (c->outstanding)
			break;
		rc = c->result ? c->result : c->info->step(c);
		if (rc == PAMI_COLL_POLL) {
			poll_later(c);
			break;
		}
		if (rc < 0 && !c->result)
			c->result = rc;
		if (rc == PAMI_COLL_DONE && c->thens) {
			c->info = c->then[--c->thens];
			c->phase = 0;
			continue;
		}
		if (rc == PAMI_COLL_DONE || (c->result && !c->outstanding)) {
			c->running = 0;
			finish(c);
			return 1;
		}
		c->phase++;
	}
	c->running = 0;
	return 0;
}

void pami_coll_start(struct pami_coll *c)
{
	coll_link(c);
	c->starting = 1;
	run(c);
	c->starting = 0;
}

void pami_coll_less(struct pami_coll *c, int result)
{
	if (result && !c->result)
		c->result = result;
	c->outstanding--;
	if (!c->outstanding || c->result)
		run(c);
}

int pami_coll_poll(struct pami_context *ctx)
{
	struct pami_coll_state *s = ctx->coll;
	struct pami_coll *c = s->poll, *next;
	int events = 0;

	if (s->shorts)
		events = pami_short_poll(ctx, &s->shorts);
	if (c) {
		s->poll = NULL;
		s->poll_last = &s->poll;
		for (; c; c = next) {
			next = c->next_poll;
			c->polled = 0;
			events += run(c);
		}
	}
	c = s->finished;
	if (c) {
		s->finished = NULL;
		s->finished_last = &s->finished;
		for (; c; c = next, events++) {
			next = c->next_poll;
			tell(c);
		}
	}
	if (PAMI_UNLIKELY(s->held != NULL))
		events += pami_am_poll(ctx);
	if (!s->shorts && !s->poll && !s->finished && !s->held)
		ctx->todo &= ~(unsigned)PAMI_TODO_COLL;
	return events;
}

/* One of those that a dead member leaves without end, not yet ended; NULL: none. */
static struct pami_coll *find_lost(struct pami_coll_state *s)
{
	for (unsigned b = 0; b < BUCKETS; b++)
		for (struct pami_coll *c = s->active[b].first; c; c = c->next)
			if (!c->result && c->geometry && pami_geometry_dead(c->geometry))
				return c;
	return NULL;
}

/* Data that nobody here will use: its sender must not wait for us for ever. */
static const pami_recv_t into_nothing = { .type = PAMI_BYTES, .data_fn = pami_data_noop };

static int is_lost(struct pami_context *ctx, uint64_t key)
{
	struct pami_geometry *g = mu_gone_count() ? pami_geometry_by_key(ctx->client, key) : NULL;

	return g && pami_geometry_dead(g);
}

/* What came early for operations that will not take place. */
static void drop_early(struct pami_context *ctx)
{
	struct pami_coll_state *s = ctx->coll;

	for (unsigned b = 0; b < BUCKETS; b++)
		for (struct coll_message **at = &s->early[b], *m; (m = *at);) {
			if (!is_lost(ctx, m->header.key)) {
				at = &m->next;
				continue;
			}
			*at = m->next;
			if (s->early_last[b] == &m->next)
				s->early_last[b] = at;
			s->early_bytes -= sizeof *m + (m->inbound ? 0 : m->bytes);
			if (m->inbound)
				pami_inbound_resume(m->inbound, &into_nothing);
			free(m);
		}
}

void pami_coll_gone(struct pami_context *ctx)
{
	struct pami_coll *c;

	drop_early(ctx);
	pami_short_gone(ctx, &ctx->coll->shorts);
	/* Callbacks may start and end others: from the beginning each time. */
	while ((c = find_lost(ctx->coll))) {
		c->result = -ESHUTDOWN;
		if (!c->polled) /* else its turn comes */
			run(c);
	}
}

/* ---- Messages ---- */

static void sent(pami_context_t context, void *cookie, pami_result_t result)
{
	pami_coll_less(cookie, result == PAMI_SUCCESS ? 0 : result == PAMI_SHUTDOWN ? -ESHUTDOWN : -EIO);
}

static void received(pami_context_t context, void *cookie, pami_result_t result)
{
	struct pami_coll_recv *r = cookie;
	struct pami_coll *c = r->coll;

	recv_free(context, r);
	sent(context, c, result);
}

int pami_coll_send(struct pami_coll *c, uint32_t rank, uint32_t step, const void *data, size_t bytes)
{
	struct coll_header h = { c->key, c->sequence, c->rank, step, c->kind };
	pami_endpoint_t dest = pami_topology_endpoint(c->topology, rank);
	pami_send_t s;
	int rc;

	if (PAMI_LIKELY(sizeof h + bytes <= MU_PACKET_BYTES)) {
		struct pami_wire wire = { .kind = PAMI_WIRE_SHORT, .origin = c->context->offset,
			                  .dispatch = PAMI_DISPATCH_COLL, .header = sizeof h,
			                  .data = (uint32_t)bytes };

		mu_charge(MU_COST_send_immediate, 1);
		return pami_queue_short(c->context, dest, &wire, &h, sizeof h, data, (uint32_t)bytes);
	}
	s = (pami_send_t){ .send = { .header = { &h, sizeof h }, .data = { (void *)(uintptr_t)data, bytes },
		                     .dispatch = PAMI_DISPATCH_COLL, .dest = dest },
		           .events = { .cookie = c, .local_fn = sent } };
	c->outstanding++;
	rc = pami_send_message(c->context, &s);
	if (rc)
		c->outstanding--;
	return rc;
}

static void got(struct mu_op *op, int result)
{
	pami_coll_less(PAMI_CONTAINER(op, struct pami_coll, get), result);
}

int pami_coll_get(struct pami_coll *c, uint32_t rank, void *to, uint64_t from, size_t bytes)
{
	int rc;

	if (!bytes)
		return 0;
	c->get.done = got;
	c->outstanding++;
	rc = pami_queue_get(c->context, pami_topology_endpoint(c->topology, rank), to, from, bytes, &c->get);
	if (rc)
		c->outstanding--;
	return rc;
}

int pami_coll_put(struct pami_coll *c, uint32_t rank, const void *from, uint64_t to, size_t bytes)
{
	int rc;

	if (!bytes)
		return 0;
	c->get.done = got;
	c->outstanding++;
	rc = pami_queue_put(c->context, pami_topology_endpoint(c->topology, rank), from, to, bytes, NULL, &c->get);
	if (rc)
		c->outstanding--;
	return rc;
}

static pami_recv_t recv_into(struct pami_coll_recv *r, void *data)
{
	return (pami_recv_t){ .cookie = r, .local_fn = received, .addr = data, .type = PAMI_BYTES,
		              .data_fn = pami_data_copy };
}

/* The message of a receive that came early, off the list; or NULL. */
static struct coll_message *take_early(struct pami_coll *c, uint32_t rank, uint32_t step)
{
	struct pami_coll_state *s = c->context->coll;
	unsigned b = bucket(c->key, c->sequence);

	for (struct coll_message **at = &s->early[b], *m; (m = *at); at = &m->next)
		if (m->header.key == c->key && m->header.sequence == c->sequence && m->header.rank == rank &&
		    m->header.step == step && m->header.kind == c->kind) {
			*at = m->next;
			if (s->early_last[b] == &m->next)
				s->early_last[b] = at;
			s->early_bytes -= sizeof *m + (m->inbound ? 0 : m->bytes);
			return m;
		}
	return NULL;
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
	for (struct pami_coll *c = ctx->coll->active[bucket(h->key, h->sequence)].first; c; c = c->next) {
		if (c->key != h->key || c->sequence != h->sequence || c->kind != h->kind)
			continue;
		for (struct pami_coll_recv **at = &c->posted, *r; (r = *at); at = &r->next)
			if (r->rank == h->rank && r->step == h->step) {
				*at = r->next;
				return r;
			}
	}
	return NULL;
}

static PAMI_COLD void keep(struct pami_context *ctx, const struct coll_header *h, const void *data,
                           size_t bytes, int here)
{
	struct pami_coll_state *s = ctx->coll;
	unsigned b = bucket(h->key, h->sequence);
	size_t all = sizeof(struct coll_message) + (here ? bytes : 0);
	struct coll_message *m = s->early_bytes + all <= pami_limits.held_max ? malloc(all) : NULL;

	if (!m) {
		pami_receive_refuse(ctx, h->rank, "no room to keep a collective's message");
		return;
	}
	*m = (struct coll_message){ .header = *h, .bytes = bytes };
	if (!here)
		m->inbound = pami_inbound_defer(ctx);
	else if (bytes)
		memcpy(m->data, data, bytes);
	s->early_bytes += all;
	*s->early_last[b] = m;
	s->early_last[b] = &m->next;
}

void pami_coll_dispatch(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                        const void *pipe_addr, size_t data_size, pami_endpoint_t origin,
                        pami_recv_t *recv)
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
	if (!r && is_lost(ctx, h.key)) {
		if (recv)
			*recv = into_nothing;
		return;
	}
	if (!r) {
		keep(ctx, &h, pipe_addr, data_size, !recv);
		return;
	}
	c = r->coll;
	if (PAMI_LIKELY(!recv)) {
		int rc = r->bytes == data_size ? 0 : -EPROTO; /* members disagree about the count */

		if (!rc && data_size)
			memcpy(r->data, pipe_addr, data_size);
		recv_free(ctx, r);
		pami_coll_less(c, rc);
		return;
	}
	*recv = recv_into(r, r->data);
	if (r->bytes != data_size) {
		c->result = -EPROTO;
		recv->data_fn = pami_data_noop;
	}
}

/* ---- The call ---- */

/* Does its completion here mean that every member has entered it? */
static int synchronises(unsigned type)
{
	switch (type) {
	case PAMI_XFER_BARRIER:
	case PAMI_XFER_ALLREDUCE:
	case PAMI_XFER_ALLGATHER:
	case PAMI_XFER_ALLTOALL:
		return 1;
	default: /* parts may be empty, data flows one way */
		return 0;
	}
}

/* Returns whether it is time to wait for everybody first. */
static int count_unsynced(struct pami_geometry_member *m, unsigned type)
{
	m->unsynced = synchronises(type) || m->unsynced + 1 >= UNSYNCED_MAX ? 0 : m->unsynced + 1;
	return !m->unsynced && !synchronises(type);
}

static int may_be_short(unsigned type)
{
	return type == PAMI_XFER_BARRIER || type == PAMI_XFER_BROADCAST || type == PAMI_XFER_ALLREDUCE;
}

static int short_lane(struct pami_context *ctx, struct pami_geometry *g, struct pami_geometry_member *m,
                      unsigned type, const struct pami_algorithm_info *info, const pami_xfer_t *cmd)
{
	struct pami_coll_state *s = ctx->coll;
	struct pami_shm **last = &s->shorts;

	if ((m->unsynced + 1 >= UNSYNCED_MAX && !synchronises(type)) ||
	    !pami_short_start(ctx, g, m, type, info, cmd))
		return 0;
	m->sequence++;
	count_unsynced(m, type);
	while (*last)
		last = &(*last)->now.next;
	m->shm->now.next = NULL;
	*last = m->shm;
	return 1;
}

static int begin(struct pami_coll *c)
{
	int rc = pami_coll_arguments(c);

	if (rc)
		return rc;
	if (!c->info->step)
		c->info = pami_coll_choose(c->geometry, c->type, c->bytes);
	return c->info->begin ? c->info->begin(c) : 0;
}

PAMI_EXPORT pami_result_t PAMI_Collective(pami_context_t context, pami_xfer_t *cmd)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_geometry_member *member;
	struct pami_geometry *g;
	struct pami_coll *c;
	unsigned type, index;
	int rc;

	if (!cmd || !pami_context_valid(context))
		return pami_fail(PAMI_INVAL, "no context, or no parameters");
	type = cmd->algorithm >> 8 & 0xff;
	index = cmd->algorithm & 0xff;
	g = pami_geometry_of(ctx->client, cmd->algorithm);
	if (!g || type >= PAMI_XFER_COUNT || index >= pami_algorithms[type].count)
		return pami_fail(PAMI_INVAL, "not an algorithm of this client");
	if (ctx->offset >= g->offsets || g->member[ctx->offset].rank < 0)
		return pami_fail(PAMI_INVAL, "this context is no member of the geometry");
	if (PAMI_UNLIKELY(pami_geometry_dead(g)))
		return pami_fail(PAMI_SHUTDOWN, "a member of the geometry is dead");
	member = &g->member[ctx->offset];
	if (PAMI_UNLIKELY(type >= PAMI_XFER_AMBROADCAST))
		return pami_result(pami_am_start(ctx, g, member, type, index, cmd));
	if (member->shm && may_be_short(type) && short_lane(ctx, g, member, type, &pami_algorithms[type].info[index], cmd))
		return PAMI_SUCCESS;
	c = pami_coll_new(ctx);
	if (!c)
		return pami_result(-ENOMEM);
	c->geometry = g;
	c->topology = &g->topology;
	c->member = member;
	c->key = g->key;
	c->info = &pami_algorithms[type].info[index];
	c->type = (uint8_t)type;
	c->rank = (uint32_t)member->rank;
	c->size = g->size;
	c->cb_done = cmd->cb_done;
	c->cookie = cmd->cookie;
	c->xfer = *cmd;
	mu_charge(MU_COST_send, 1);
	rc = begin(c);
	if (rc) {
		pami_coll_free(c);
		return pami_result(rc);
	}
	c->sequence = member->sequence++;
	if (count_unsynced(member, type) && c->size > 1) {
		pami_coll_then(c, c->info);
		c->info = &gate;
	}
	pami_coll_start(c);
	return PAMI_SUCCESS;
}

struct pami_am_held **pami_coll_held(struct pami_context *ctx)
{
	return &ctx->coll->held;
}

void pami_coll_forget(struct pami_context *ctx, uint64_t key)
{
	struct pami_coll_state *s = ctx->coll;

	for (unsigned b = 0; b < BUCKETS; b++)
		for (struct coll_message **at = &s->early[b], *m; (m = *at);) {
			if (m->header.key != key || m->inbound) {
				at = &m->next;
				continue;
			}
			*at = m->next;
			if (s->early_last[b] == &m->next)
				s->early_last[b] = at;
			s->early_bytes -= sizeof *m + m->bytes;
			free(m);
		}
}

void pami_coll_drop(struct pami_context *ctx)
{
	struct pami_coll_state *s = ctx->coll;
	struct pami_coll *c;

	if (!s)
		return;
	for (unsigned b = 0; b < BUCKETS; b++) {
		while ((c = s->active[b].first)) {
			s->active[b].first = c->next;
			c->result = -ESHUTDOWN;
			cancel(c);
			pami_coll_free(c);
		}
		while (s->early[b]) {
			struct coll_message *m = s->early[b];

			s->early[b] = m->next;
			free(m);
		}
	}
	pami_am_drop(s->held);
	while ((c = s->finished)) {
		s->finished = c->next_poll;
		pami_coll_free(c);
	}
	while ((c = s->free_coll)) {
		s->free_coll = c->next;
		free(c);
	}
	while (s->free_recv) {
		struct pami_coll_recv *r = s->free_recv;

		s->free_recv = r->next;
		free(r);
	}
	free(s);
	ctx->coll = NULL;
}
