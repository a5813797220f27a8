/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine of coll.h: starting operations, running and completing them. */
#include <malloc.h>
#include <stdlib.h>

#include "pami/coll_shm.h"
#include "pami/coll_state.h"

/* Operations one member may be ahead of others before it waits for them: bounds what they hold. */
#define UNSYNCED_MAX 128u

static const struct pami_algorithm_info gate = { .name = "gate", .step = pami_barrier_step };

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
	s->last.ended = UINT32_MAX; /* of nothing */
	ctx->coll = s;
	for (unsigned i = 0; i < RESERVE; i++) {
		struct pami_coll_recv *r = malloc(sizeof *r);

		if (!r)
			return -ENOMEM;
		pami_coll_recv_free(ctx, r);
	}
	return pami_coll_reserve(ctx);
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

void *pami_coll_buffer(struct pami_coll *c, size_t bytes)
{
	struct pami_coll_state *s = c->context->coll;

	for (unsigned i = 0; bytes >= SPARE_MIN && i < PAMI_COLL_SPARES; i++) {
		void *p = s->spare[i];

		if (p && malloc_usable_size(p) >= bytes) {
			s->spare[i] = NULL;
			return p;
		}
	}
	return malloc(bytes ? bytes : 1);
}

static void buffer_free(struct pami_coll_state *s, void *p)
{
	size_t bytes = p ? malloc_usable_size(p) : 0;

	for (unsigned i = 0; bytes >= SPARE_MIN && bytes <= SPARE_MAX && i < PAMI_COLL_SPARES; i++)
		if (!s->spare[i] || malloc_usable_size(s->spare[i]) < bytes) {
			void *smaller = s->spare[i];

			s->spare[i] = p;
			p = smaller;
			bytes = p ? malloc_usable_size(p) : 0;
		}
	free(p);
}

void pami_coll_buffers_free(struct pami_coll *c)
{
	struct pami_coll_state *s = c->context->coll;

	if (!inside(c, c->own))
		buffer_free(s, c->own);
	if (!inside(c, c->other))
		buffer_free(s, c->other);
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
	else {
		pami_shm_end(c);
		pami_far_end(c);
	}
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
		pami_coll_recv_free(c->context, r);
		c->outstanding--;
	}
}

int pami_coll_run(struct pami_coll *c)
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
	pami_coll_run(c);
	c->starting = 0;
}

void pami_coll_less(struct pami_coll *c, int result)
{
	if (result && !c->result)
		c->result = result;
	c->outstanding--;
	if (!c->outstanding || c->result)
		pami_coll_run(c);
}

int pami_coll_poll(struct pami_context *ctx)
{
	struct pami_coll_state *s = ctx->coll;
	struct pami_coll *c = s->poll, *next;
	int events = 0;

	if (c) {
		s->poll = NULL;
		s->poll_last = &s->poll;
		for (; c; c = next) {
			next = c->next_poll;
			c->polled = 0;
			events += pami_coll_run(c);
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
	if (!s->poll && !s->finished && !s->held)
		ctx->todo &= ~(unsigned)PAMI_TODO_COLL;
	return events;
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
	if ((m->unsynced + 1 >= UNSYNCED_MAX && !synchronises(type)) ||
	    !pami_short_start(ctx, g, m->shm, type, info, cmd))
		return 0;
	m->sequence++;
	count_unsynced(m, type);
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

/* What the algorithm's number names, for this context, into its `last`. */
static __attribute__((noinline)) pami_result_t look_up(struct pami_context *ctx, pami_algorithm_t algorithm)
{
	struct pami_coll_state *s = ctx->coll;
	uint32_t ended = __atomic_load_n(&ctx->client->geometries->ended, __ATOMIC_ACQUIRE);
	struct pami_geometry *g = pami_geometry_of(ctx->client, algorithm);
	unsigned type = algorithm >> 8 & 0xff, index = algorithm & 0xff;

	if (!g || type >= PAMI_XFER_COUNT || index >= pami_algorithms[type].count)
		return pami_fail(PAMI_INVAL, "not an algorithm of this client");
	if (ctx->offset >= g->offsets || g->member[ctx->offset].rank < 0)
		return pami_fail(PAMI_INVAL, "this context is no member of the geometry");
	s->last.algorithm = algorithm;
	s->last.ended = ended;
	s->last.geometry = g;
	s->last.member = &g->member[ctx->offset];
	s->last.info = &pami_algorithms[type].info[index];
	return PAMI_SUCCESS;
}

/* With an object, all that is no short lane. */
static __attribute__((noinline)) pami_result_t start_whole(struct pami_context *ctx, const pami_xfer_t *cmd)
{
	struct pami_geometry_member *member = ctx->coll->last.member;
	struct pami_geometry *g = ctx->coll->last.geometry;
	struct pami_coll *c = pami_coll_new(ctx);
	int rc;

	if (!c)
		return pami_result(-ENOMEM);
	c->geometry = g;
	c->topology = &g->topology;
	c->member = member;
	c->key = g->key;
	c->info = ctx->coll->last.info;
	c->type = (uint8_t)(cmd->algorithm >> 8);
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
	if (count_unsynced(member, c->type) && c->size > 1) {
		pami_coll_then(c, c->info);
		c->info = &gate;
	}
	pami_coll_start(c);
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Collective(pami_context_t context, pami_xfer_t *cmd)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_coll_state *s;
	pami_result_t rc;
	unsigned type;

	if (PAMI_UNLIKELY(!cmd || !pami_context_valid(context)))
		return pami_fail(PAMI_INVAL, "no context, or no parameters");
	s = ctx->coll;
	if (PAMI_UNLIKELY(cmd->algorithm != s->last.algorithm ||
	                  __atomic_load_n(&ctx->client->geometries->ended, __ATOMIC_ACQUIRE) != s->last.ended)) {
		rc = look_up(ctx, cmd->algorithm);
		if (rc != PAMI_SUCCESS)
			return rc;
	}
	/* Deaths that this context has not seen end the operation when it does. */
	if (PAMI_UNLIKELY(ctx->gone && pami_geometry_dead(s->last.geometry)))
		return pami_fail(PAMI_SHUTDOWN, "a member of the geometry is dead");
	type = cmd->algorithm >> 8 & 0xff;
	if (s->last.member->shm && may_be_short(type) &&
	    short_lane(ctx, s->last.geometry, s->last.member, type, s->last.info, cmd))
		return PAMI_SUCCESS;
	if (PAMI_UNLIKELY(type >= PAMI_XFER_AMBROADCAST))
		return pami_result(pami_am_start(ctx, s->last.geometry, s->last.member, type,
		                                 (uint32_t)(cmd->algorithm & 0xff), cmd));
	return start_whole(ctx, cmd);
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
			if (m->inbound)
				pami_inbound_forget(m->inbound);
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
	while (s->reserve) {
		struct coll_message *m = s->reserve;

		s->reserve = m->next;
		free(m);
	}
	for (unsigned i = 0; i < PAMI_COLL_SPARES; i++)
		free(s->spare[i]);
	free(s);
	ctx->coll = NULL;
}
