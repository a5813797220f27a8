/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine of collectives (coll/coll.h): starts, runs and completes operations. */
#include <assert.h>
#include <malloc.h>
#include <stdlib.h>

#include "drivers/base/atomic.h"
#include "pami/coll/shm/shm.h"
#include "pami/coll/state.h"
#include "pami/coll/progress.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/geometry/geometry.h"
#include "pami/p2p/inbound.h"
#include "pami/p2p/trace.h"

/*
 * A member may start this many operations in a row that do not wait for all members. The next one
 * has a barrier before it, which bounds the messages that slower members must keep.
 */
#define UNSYNCED_MAX 128u

static const struct pami_algorithm_info barrier_before = {.name = "barrier before",
							  .step = pami_barrier_step};

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
	s->last.ended = UINT32_MAX; /* never equal: the first call looks the algorithm up */
	ctx->coll = s;
	for (unsigned i = 0; i < RESERVE; i++) {
		struct pami_coll_recv *r = malloc(sizeof *r);

		if (!r)
			return -ENOMEM;
		pami_coll_recv_free(ctx, r);
	}
	return pami_coll_reserve(ctx);
}

void pami_coll_open(struct pami_context *ctx)
{
	ctx->coll->counts = mu_channel_counts(ctx->channel);
}

/* ---- Objects ---- */

/*
 * Clear up to `fits`, a cache line at a time. A call of memset costs more than all other
 * bookkeeping of a short operation, so the empty asm keeps the compiler from making one.
 */
static inline void clear_state(struct pami_coll *c)
{
	unsigned char *p = (unsigned char *)c, *end = p + offsetof(struct pami_coll, fits);

	_Static_assert(offsetof(struct pami_coll, fits) % 64 == 0, "whole lines");
	for (; p < end; p += 64) {
		memset(p, 0, 64);
		__asm__("" : "+r"(p));
	}
}

struct pami_coll *pami_coll_new(struct pami_context *ctx)
{
	struct pami_coll *c = ctx->coll->free_coll;

	if (PAMI_LIKELY(c != NULL))
		ctx->coll->free_coll = c->engine.next;
	else if (!(c = aligned_alloc(64, sizeof *c)))
		return NULL;
	clear_state(c);
	c->context = ctx;
	return c;
}

static void *heap_buffer(struct pami_coll_state *s, size_t bytes)
{
	for (unsigned i = 0; bytes >= SPARE_MIN && i < PAMI_COLL_SPARES; i++) {
		void *p = s->spare[i];

		if (p && malloc_usable_size(p) >= bytes) {
			s->spare[i] = NULL;
			return p;
		}
	}
	return malloc(bytes);
}

/* Free a buffer, or keep it for the next operation in place of a smaller one. */
static void heap_buffer_free(struct pami_coll_state *s, void *p)
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

void *pami_coll_buffer(struct pami_coll *c, size_t bytes)
{
	size_t used = c->engine.inline_used;
	void *p;

	if (bytes <= sizeof c->fits - used) {
		c->engine.inline_used = (uint8_t)((used + bytes + 15) & ~(size_t)15);
		return c->fits + used;
	}
	assert(c->engine.buffers < PAMI_COLL_BUFFERS);
	p = heap_buffer(c->context->coll, bytes);
	if (p)
		c->engine.buffer[c->engine.buffers++] = p;
	return p;
}

void pami_coll_buffers_keep(struct pami_coll *c)
{
	c->engine.buffers_kept = c->engine.buffers;
	c->engine.inline_kept = c->engine.inline_used;
}

void pami_coll_buffers_free(struct pami_coll *c)
{
	while (c->engine.buffers > c->engine.buffers_kept)
		heap_buffer_free(c->context->coll, c->engine.buffer[--c->engine.buffers]);
	c->engine.inline_used = c->engine.inline_kept;
}

void pami_coll_free(struct pami_coll *c)
{
	struct pami_coll_state *s = c->context->coll;

	pami_coll_arguments_free(c);
	c->engine.buffers_kept = 0;
	pami_coll_buffers_free(c);
	c->engine.next = s->free_coll;
	s->free_coll = c;
}

static void link_active(struct pami_coll *c)
{
	struct coll_chain *chain = &c->context->coll->active[bucket_of(c->key, c->sequence)];

	c->engine.next = NULL;
	*chain->last = c;
	chain->last = &c->engine.next;
	c->engine.linked = true;
}

static void unlink_active(struct pami_coll *c)
{
	struct coll_chain *chain = &c->context->coll->active[bucket_of(c->key, c->sequence)];
	struct pami_coll **at = &chain->first;

	while (*at != c)
		at = &(*at)->engine.next;
	*at = c->engine.next;
	if (chain->last == &c->engine.next)
		chain->last = at;
	c->engine.linked = false;
}

/* ---- Running ---- */

static void call_back(struct pami_coll *c)
{
	struct pami_context *ctx = c->context;
	pami_event_function fn;
	int result = c->result;
	void *cookie;

	if (c->done)
		c->done(c);
	if (c->engine.counted)
		pami_coll_count(&ctx->coll->counts[PAMI_COLL_COUNT_DONE]);
	fn = c->cb_done;
	cookie = c->cookie;
	pami_coll_free(c);
	if (fn) {
		mu_charge(MU_COST_complete, 1);
		fn(ctx, cookie, pami_callback_result(fn, result));
	}
}

/* Call the user back: at once from a progress call, else from the next one. */
static void finish_operation(struct pami_coll *c)
{
	struct pami_context *ctx = c->context;
	struct pami_coll_state *s = ctx->coll;

	if (!c->result)
		pami_coll_deliver(c);
	else if (c->on_error)
		c->on_error(c);
	if (c->engine.linked)
		unlink_active(c);
	if (ctx->depth && !c->engine.starting) {
		call_back(c);
		return;
	}
	c->engine.next_poll = NULL;
	*s->finished_last = c;
	s->finished_last = &c->engine.next_poll;
	ctx->todo |= PAMI_TODO_COLL;
}

static void poll_later(struct pami_coll *c)
{
	struct pami_coll_state *s = c->context->coll;

	if (c->engine.polled)
		return;
	c->engine.polled = true;
	c->engine.next_poll = NULL;
	*s->poll_last = c;
	s->poll_last = &c->engine.next_poll;
	c->context->todo |= PAMI_TODO_COLL;
}

/* The operation has failed: its posted receives wait for messages that may never come. */
static void cancel_receives(struct pami_coll *c)
{
	while (c->engine.posted) {
		struct pami_coll_recv *r = c->engine.posted;

		c->engine.posted = r->next;
		pami_coll_recv_free(c->context, r);
		c->engine.outstanding--;
	}
}

int pami_coll_run(struct pami_coll *c)
{
	if (c->engine.running)
		return 0;
	c->engine.running = true;
	for (;;) {
		int rc;

		if (PAMI_UNLIKELY(c->result))
			cancel_receives(c);
		if (c->engine.outstanding)
			break;
		rc = c->result ? c->result : c->info->step(c);
		if (rc == PAMI_COLL_POLL) {
			poll_later(c);
			break;
		}
		if (rc < 0 && !c->result)
			c->result = rc;
		if (rc == PAMI_COLL_DONE && c->engine.thens) {
			c->info = c->engine.then[--c->engine.thens];
			c->phase = 0;
			continue;
		}
		if (rc == PAMI_COLL_DONE || (c->result && !c->engine.outstanding)) {
			c->engine.running = false;
			finish_operation(c);
			return 1;
		}
		c->phase++;
	}
	c->engine.running = false;
	return 0;
}

int pami_coll_begin_stage(struct pami_coll *c, const struct pami_algorithm_info *info)
{
	int rc;

	pami_coll_push_stage(c, info);
	rc = info->begin ? info->begin(c) : 0;
	return rc ? rc : PAMI_COLL_DONE;
}

int pami_coll_replace(struct pami_coll *c, const struct pami_algorithm_info *info)
{
	c->info = info;
	return info->begin ? info->begin(c) : 0;
}

void pami_coll_start(struct pami_coll *c)
{
	link_active(c);
	c->engine.starting = true;
	pami_coll_run(c);
	c->engine.starting = false;
}

void pami_coll_complete_one(struct pami_coll *c, int result)
{
	if (result && !c->result)
		c->result = result;
	c->engine.outstanding--;
	if (!c->engine.outstanding || c->result)
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
			next = c->engine.next_poll;
			c->engine.polled = false;
			events += pami_coll_run(c);
		}
	}
	c = s->finished;
	if (c) {
		s->finished = NULL;
		s->finished_last = &s->finished;
		for (; c; c = next, events++) {
			next = c->engine.next_poll;
			call_back(c);
		}
	}
	if (PAMI_UNLIKELY(s->held != NULL))
		events += pami_am_poll(ctx);
	if (!s->poll && !s->finished && !s->held)
		ctx->todo &= ~(unsigned)PAMI_TODO_COLL;
	return events;
}

bool pami_coll_find_waits(const struct pami_context *ctx, unsigned *type, uint32_t *task)
{
	const struct pami_coll_state *s = ctx->coll;
	const struct pami_coll *c = NULL;

	if (s->shorts) {
		*type = s->shorts->op.type;
		*task = s->shorts->task[s->shorts->op.cursor];
		return true;
	}
	for (unsigned b = 0; b < BUCKETS; b++)
		if (s->active[b].first && (!c || s->active[b].first->sequence < c->sequence))
			c = s->active[b].first;
	if (!c)
		return false;
	*type = c->type;
	*task = MU_WAITS_ANYONE;
	if (c->engine.posted)
		*task =
		    pami_endpoint_task(pami_topology_endpoint(c->topology, c->engine.posted->rank));
	else if (c->engine.polled && c->awaited)
		*task = c->awaited - 1;
	return true;
}

/* ---- The call ---- */

/* True if completion of the operation here means that every member has entered it. */
static bool is_synchronising(unsigned type)
{
	switch (type) {
	case PAMI_XFER_BARRIER:
	case PAMI_XFER_ALLREDUCE:
	case PAMI_XFER_ALLGATHER:
	case PAMI_XFER_ALLTOALL:
		return true;
	default: /* parts may be empty, or data flows in one direction */
		return false;
	}
}

/* Count one more operation of the member. Returns true if a barrier must go before it. */
static bool count_unsynced(struct pami_geometry_member *m, unsigned type)
{
	m->unsynced =
	    is_synchronising(type) || m->unsynced + 1 >= UNSYNCED_MAX ? 0 : m->unsynced + 1;
	return !m->unsynced && !is_synchronising(type);
}

static bool may_be_short(unsigned type)
{
	return type == PAMI_XFER_BARRIER || type == PAMI_XFER_BROADCAST ||
	       type == PAMI_XFER_ALLREDUCE;
}

/* Returns true if the short lane (coll/shm/short.c) took the operation. */
static bool try_short_lane(struct pami_context *ctx, struct pami_geometry *g,
			   struct pami_geometry_member *m, unsigned type,
			   const struct pami_algorithm_info *info, const pami_xfer_t *cmd)
{
	if ((m->unsynced + 1 >= UNSYNCED_MAX && !is_synchronising(type)) ||
	    !pami_short_start(ctx, g, m->shm, type, info, cmd))
		return false;
	m->sequence++;
	count_unsynced(m, type);
	return true;
}

static int read_and_begin(struct pami_coll *c)
{
	int rc = pami_coll_arguments(c);

	if (rc)
		return rc;
	if (!c->info->step)
		c->info = pami_coll_choose(c->geometry, c->type, c->bytes);
	return c->info->begin ? c->info->begin(c) : 0;
}

/* Find what an algorithm number names, and remember it for the next call of this context. */
static __attribute__((noinline)) pami_result_t look_up(struct pami_context *ctx,
						       pami_algorithm_t algorithm)
{
	struct pami_coll_state *s = ctx->coll;
	uint32_t ended = atomic_load_acquire(&ctx->client->geometries->ended);
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

/* Start an operation that needs an object: every one that the short lane does not take. */
static __attribute__((noinline)) pami_result_t start_whole(struct pami_context *ctx,
							   const pami_xfer_t *cmd)
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
	c->engine.counted = true;
	mu_charge(MU_COST_send, 1);
	rc = read_and_begin(c);
	if (rc) {
		pami_coll_free(c);
		return pami_result(rc);
	}
	c->sequence = member->sequence++;
	if (count_unsynced(member, c->type) && c->size > 1) {
		pami_coll_push_stage(c, c->info);
		c->info = &barrier_before;
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

	mu_idle_reset();
	if (PAMI_UNLIKELY(!cmd || !pami_context_is_valid(context)))
		return pami_fail(PAMI_INVAL, "no context, or no parameters");
	s = ctx->coll;
	if (PAMI_UNLIKELY(cmd->algorithm != s->last.algorithm ||
			  atomic_load_acquire(&ctx->client->geometries->ended) != s->last.ended)) {
		if (pami_is_traced(ctx) && !ctx->trace->in_collective)
			return pami_trace_collective(ctx, cmd);
		rc = look_up(ctx, cmd->algorithm);
		if (rc != PAMI_SUCCESS)
			return rc;
	}
	/* A death that this context has not seen yet ends the operation as soon as it sees it. */
	if (PAMI_UNLIKELY(ctx->deaths.applied && pami_geometry_is_dead(s->last.geometry)))
		return pami_fail(PAMI_SHUTDOWN, "a member of the geometry is dead");
	type = cmd->algorithm >> 8 & 0xff;
	if (s->last.member->shm && may_be_short(type) &&
	    try_short_lane(ctx, s->last.geometry, s->last.member, type, s->last.info, cmd))
		rc = PAMI_SUCCESS;
	else if (PAMI_UNLIKELY(type >= PAMI_XFER_AMBROADCAST))
		rc = pami_result(pami_am_start(ctx, s->last.geometry, s->last.member, type,
					       (uint32_t)(cmd->algorithm & 0xff), cmd));
	else
		rc = start_whole(ctx, cmd);
	if (PAMI_LIKELY(rc == PAMI_SUCCESS))
		pami_coll_count(&s->counts[type]);
	return rc;
}

void pami_coll_drop(struct pami_context *ctx)
{
	struct pami_coll_state *s = ctx->coll;
	struct pami_coll *c;

	if (!s)
		return;
	for (unsigned b = 0; b < BUCKETS; b++) {
		while ((c = s->active[b].first)) {
			s->active[b].first = c->engine.next;
			c->result = -ESHUTDOWN;
			cancel_receives(c);
			pami_coll_free(c);
		}
		while (s->early[b]) {
			struct coll_message *m = s->early[b];

			s->early[b] = m->next;
			if (m->inbound)
				pami_inbound_discard(m->inbound);
			free(m);
		}
	}
	pami_am_drop(s->held);
	while ((c = s->finished)) {
		s->finished = c->engine.next_poll;
		pami_coll_free(c);
	}
	while ((c = s->free_coll)) {
		s->free_coll = c->engine.next;
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
