/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allocation is one INSTALL to every rank, which makes the home records and blocks that are its
 * own. Freeing is two rounds: every home frees its blocks, at their owners, and only then do all
 * ranks forget what they remember of blocks that have moved. The addresses are given back last, so
 * none is mapped again while a rank remembers it.
 */
#include <stdlib.h>
#include <string.h>

#include "agas/access/op.h"
#include "agas/access/serve.h"
#include "agas/memory/control.h"
#include "agas/move/move.h"
#include "drivers/base/log.h"

/* Owners of AGAS_USER in one message. */
#define OWNERS_MAX 8192u

/* ---- extents ---- */

uint64_t agas_extent_key(const struct agas_extent *e, uint64_t i)
{
	return agas_address_add(&agas_world.space, e->base, (int64_t)(i * e->user_bytes),
				e->user_bytes);
}

static uint32_t extent_owner(const struct agas_extent *e, uint64_t i, uint64_t key,
			     const uint32_t *owners, uint64_t first)
{
	uint64_t run = (e->count + agas_world.space.ranks - 1) / agas_world.space.ranks;

	switch ((enum agas_dist)e->dist) {
	case AGAS_LOCAL:
		return e->caller;
	case AGAS_BLOCKED:
		return (uint32_t)(i / run);
	case AGAS_USER:
		return owners[i - first];
	case AGAS_CYCLIC:
		break;
	}
	return agas_home_of(&agas_world.space, key);
}

uint8_t agas_extent_install(const struct agas_extent *e, const uint32_t *owners, uint64_t first,
			    uint64_t count)
{
	uint64_t i;

	for (i = first; i < first + count; i++) {
		uint64_t key = agas_extent_key(e, i);
		uint32_t owner = extent_owner(e, i, key, owners, first);

		if (owner == agas_world.me && !agas_block_install(key, e->attributes))
			return AGAS_WHY_MEMORY;
		if (agas_home_of(&agas_world.space, key) == agas_world.me &&
		    !agas_home_install(key, owner, i ? 0 : e->count, e->user_bytes))
			return AGAS_WHY_MEMORY;
	}
	return 0;
}

static void extent_forget(const struct agas_extent *e)
{
	uint64_t i;

	for (i = 0; i < e->count; i++) {
		uint64_t key = agas_extent_key(e, i);

		agas_block_forget(key);
		agas_cache_remove(agas_world.cache, key);
	}
}

/* ---- answers ---- */

static void send_answer(uint32_t source, uint64_t id, uint8_t error, uint64_t value)
{
	struct agas_control c = {.kind = AGAS_CONTROL_ANSWER, .error = error, .id = id};
	struct agas_op *op;

	c.e.base = value;
	if (source != agas_world.me) {
		agas_send(source, AGAS_DISPATCH_CONTROL, &c, sizeof(c), NULL, 0, NULL);
		return;
	}
	op = agas_op_find(id);
	if (!op || op->answered)
		return;
	if (op->value_to)
		*op->value_to += value;
	if (error)
		op->error = error;
	if (!--op->acks)
		agas_op_complete(op, 0);
}

/* ---- freeing, at a home ---- */

void agas_freeing_count_down(struct agas_freeing *f)
{
	if (--f->left)
		return;
	send_answer(f->source, f->id, f->why, f->moved);
	free(f);
}

static void extent_free_here(const struct agas_extent *e, uint32_t source, uint64_t id)
{
	struct agas_freeing *f = calloc(1, sizeof(*f));
	uint64_t i;

	if (!f) {
		send_answer(source, id, AGAS_WHY_MEMORY, 0);
		return;
	}
	*f = (struct agas_freeing){.source = source, .id = id, .left = 1};
	for (i = 0; i < e->count; i++) {
		uint64_t key = agas_extent_key(e, i);
		const struct agas_home *h;

		if (agas_home_of(&agas_world.space, key) != agas_world.me)
			continue;
		h = agas_home_find(key);
		f->moved += h && h->version;
		f->left++;
		if (!agas_home_free(key, f)) {
			f->left--;
			f->why = agas_home_why_unmapped(key);
		}
	}
	agas_freeing_count_down(f);
}

/* ---- messages ---- */

static struct agas_ranges *ranges_of(unsigned which)
{
	return which == AGAS_RANGE_PAGES  ? &agas_world.pages
	       : which == AGAS_RANGE_ROWS ? &agas_world.rows
					  : &agas_world.heap;
}

static void take_message(const struct agas_control *c, const void *payload, size_t bytes)
{
	uint64_t first = 0, moved = 0;
	uint8_t why = 0;

	switch ((enum agas_control_kind)c->kind) {
	case AGAS_CONTROL_RANGE:
		if (!agas_ranges_take(ranges_of(c->which), c->e.count, c->e.base, &first))
			why = AGAS_WHY_MEMORY;
		break;
	case AGAS_CONTROL_GIVE:
		if (!agas_ranges_give(ranges_of(c->which), c->e.base, c->e.count))
			drv_error("agas: a range of addresses came back that was not taken");
		return;
	case AGAS_CONTROL_INSTALL:
		why = agas_extent_install(&c->e, payload, c->first,
					  c->e.dist == AGAS_USER ? bytes / sizeof(uint32_t)
								 : c->e.count);
		break;
	case AGAS_CONTROL_FREE:
		extent_free_here(&c->e, c->source, c->id);
		return;
	case AGAS_CONTROL_FORGET:
		extent_forget(&c->e);
		break;
	case AGAS_CONTROL_ANSWER:
		send_answer(agas_world.me, c->id, c->error, c->e.base);
		return;
	}
	send_answer(c->source, c->id, why, first + moved);
}

struct arriving {
	struct agas_control c;
	size_t bytes;
	char payload[] __attribute__((aligned(16)));
};

static void payload_arrived(pami_context_t context, void *cookie, pami_result_t result)
{
	AGAS_HANDLER;
	struct arriving *a = cookie;

	if (result == PAMI_SUCCESS)
		take_message(&a->c, a->payload, a->bytes);
	free(a);
}

void agas_control_receive(pami_context_t context, void *cookie, const void *header,
			  size_t header_bytes, const void *data, size_t bytes,
			  pami_endpoint_t origin, pami_recv_t *recv)
{
	AGAS_HANDLER;
	struct arriving *a;
	struct agas_control c;

	memcpy(&c, header, sizeof(c));
	if (!recv) {
		take_message(&c, data, bytes);
		return;
	}
	recv->addr = NULL;
	a = malloc(sizeof(*a) + bytes);
	if (!a) {
		send_answer(c.source, c.id, AGAS_WHY_MEMORY, 0);
		return;
	}
	a->c = c;
	a->bytes = bytes;
	recv->addr = a->payload;
	recv->cookie = a;
	recv->local_fn = payload_arrived;
}

/* ---- the caller's side ---- */

/*
 * Send to one rank, or (to == ranks) to all, this one included. All answers end the operation: of
 * req, or with `then`. *value becomes the sum of what they say. Returns false if there is no memory
 * for the operation.
 */
static bool ask_start(struct agas_control *c, uint32_t to, const void *payload, size_t bytes,
		      uint64_t *value, agas_req_t *req, void (*then)(const struct agas_op *op),
		      void *arg)
{
	uint32_t ranks = agas_world.space.ranks, first = to == ranks ? 0 : to, r;
	uint32_t end = to == ranks ? ranks : to + 1;
	struct agas_op *op = agas_op_create(AGAS_OP_CONTROL, req);

	*value = 0; /* callers read it after an error, too */
	if (!op)
		return false;
	op->value_to = value;
	op->then = then;
	op->then_arg = arg;
	op->acks = end - first;
	op->sent_to = to;
	op->r.gva = c->e.base;
	c->source = agas_world.me;
	c->id = agas_op_id(op);
	for (r = first; r < end; r++)
		if (r != agas_world.me &&
		    !agas_send(r, AGAS_DISPATCH_CONTROL, c, sizeof(*c), payload, bytes, NULL)) {
			agas_op_complete(op, AGAS_WHY_LOST);
			return true;
		}
	if (agas_world.me >= first && agas_world.me < end)
		take_message(c, payload, bytes);
	return true;
}

/* The same, and wait for the answers. */
static int ask_ranks(struct agas_control *c, uint32_t to, const void *payload, size_t bytes,
		     uint64_t *value)
{
	agas_req_t req = {0};

	if (!ask_start(c, to, payload, bytes, value, &req, NULL, NULL))
		return AGAS_ENOMEM;
	return agas_req_wait(&req);
}

int agas_range_take(enum agas_ranges_of which, uint32_t keeper, uint64_t count, uint64_t align,
		    uint64_t *first)
{
	struct agas_control c = {.kind = AGAS_CONTROL_RANGE, .which = (uint8_t)which};

	c.e.count = count;
	c.e.base = align;
	if (keeper != agas_world.me)
		return ask_ranks(&c, keeper, NULL, 0, first);
	return agas_ranges_take(ranges_of(which), count, align, first) ? 0 : AGAS_ENOMEM;
}

void agas_range_give(enum agas_ranges_of which, uint32_t keeper, uint64_t first, uint64_t count)
{
	struct agas_control c = {.kind = AGAS_CONTROL_GIVE, .which = (uint8_t)which};

	c.e.base = first;
	c.e.count = count;
	if (keeper == agas_world.me)
		take_message(&c, NULL, 0);
	else
		agas_send(keeper, AGAS_DISPATCH_CONTROL, &c, sizeof(c), NULL, 0, NULL);
}

/* All homes, and at first all owners, are one rank. */
static bool is_private(const struct agas_extent *e)
{
	return e->dist == AGAS_LOCAL && !agas_is_linear(e->base);
}

int agas_extent_create(const struct agas_extent *e, const uint32_t *owners)
{
	uint32_t all = agas_world.space.ranks;
	struct agas_control c = {.kind = AGAS_CONTROL_INSTALL, .e = *e};
	uint64_t none;
	int rc = 0;

	if (is_private(e) && e->caller == agas_world.me) {
		rc = agas_extent_install(e, NULL, 0, e->count) ? AGAS_ENOMEM : 0;
	} else if (e->dist != AGAS_USER) {
		rc = ask_ranks(&c, is_private(e) ? e->caller : all, NULL, 0, &none);
	} else {
		for (; !rc && c.first < e->count; c.first += OWNERS_MAX) {
			uint64_t n = e->count - c.first;

			n = n < OWNERS_MAX ? n : OWNERS_MAX;
			rc = ask_ranks(&c, all, owners + c.first, n * sizeof(uint32_t), &none);
		}
	}
	if (rc)
		agas_extent_free(e);
	return rc;
}

/* ---- freeing, the caller's side ---- */

struct extent_freeing {
	struct agas_extent e;
	uint64_t value;
	int rc;
	void (*then)(void *arg, int rc);
	void *arg;
};

static void extent_free_end(struct extent_freeing *f, int rc)
{
	f->then(f->arg, rc);
	free(f);
}

static void extent_forgotten(const struct agas_op *op)
{
	struct extent_freeing *f = op->then_arg;

	extent_free_end(f, op->error ? AGAS_EDEAD : f->rc);
}

static void extent_freed(const struct agas_op *op)
{
	struct extent_freeing *f = op->then_arg;
	struct agas_control c = {.kind = AGAS_CONTROL_FORGET, .e = f->e};

	f->rc = op->error ? agas_error_of(op->error) : 0;
	/* Blocks of a local allocation that have never moved are known to their home only. */
	if (!f->value && is_private(&f->e))
		extent_free_end(f, f->rc);
	else if (!ask_start(&c, agas_world.space.ranks, NULL, 0, &f->value, NULL, extent_forgotten,
			    f))
		extent_free_end(f, AGAS_ENOMEM);
}

void agas_extent_free_start(const struct agas_extent *e, void (*then)(void *arg, int rc), void *arg)
{
	struct agas_control c = {.kind = AGAS_CONTROL_FREE, .e = *e};
	struct extent_freeing *f = calloc(1, sizeof(*f));
	uint32_t homes = agas_is_linear(e->base) || agas_is_cyclic(e->base)
			     ? agas_world.space.ranks
			     : agas_home_of(&agas_world.space, e->base);

	if (!f) {
		then(arg, AGAS_ENOMEM);
		return;
	}
	*f = (struct extent_freeing){.e = *e, .then = then, .arg = arg};
	if (!ask_start(&c, homes, NULL, 0, &f->value, NULL, extent_freed, f))
		extent_free_end(f, AGAS_ENOMEM);
}

static void note_end(void *arg, int rc)
{
	agas_req_t *req = arg;

	req->error = rc;
	req->pending = 0;
}

int agas_extent_free(const struct agas_extent *e)
{
	agas_req_t req = {.pending = 1};

	agas_extent_free_start(e, note_end, &req);
	return agas_req_wait(&req);
}
