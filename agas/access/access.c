/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the calls of the program that touch memory (bench: agas_bench). A call pins a block that is
 * here and copies it without taking the lock.
 */
#include <string.h>

#include "agas/access/network.h"
#include "agas/access/op.h"
#include "agas/access/serve.h"
#include "agas/core/world.h"
#include "agas/move/move.h"
#include "drivers/base/copy.h"

/* ---- put and get ---- */

static void used_here(struct agas_block *b)
{
	atomic_fetch_add_relaxed(&b->local_uses, 1);
	agas_block_release(b);
	AGAS_COUNT(lookups);
	AGAS_COUNT(local);
}

/* Returns true if an access looks first whether its block is here. An action must not wait, so its
 * accesses always do. */
static bool is_looked_for_here(void)
{
	return !agas_world.goes_out || agas_is_in_handler();
}

/* Count that a near access looked for its block. The messaging unit's look is not counted. */
static void count_lookup(void)
{
	if (is_looked_for_here())
		AGAS_COUNT(lookups);
}

/* Carry out the part of an access that lies in one block on this rank. Returns false if the block
 * is not here. */
static bool copy_here(enum agas_request_kind kind, gva_t gva, char *lva, size_t bytes)
{
	const struct agas_space *s = &agas_world.space;
	struct agas_block *b =
	    is_looked_for_here() ? agas_block_acquire(agas_key_of(s, gva)) : NULL;
	char *at;

	if (!b)
		return false;
	at = (char *)b->memory + agas_offset_of(s, gva);
	if (kind == AGAS_REQUEST_PUT)
		drv_copy_words(at, lva, bytes);
	else
		memcpy(lva, at, bytes);
	used_here(b);
	return true;
}

/* The same of a block that another rank of this host owns. */
static bool copy_near(enum agas_request_kind kind, gva_t gva, char *lva, size_t bytes)
{
	struct agas_request r = {.kind = (uint8_t)kind, .gva = gva, .bytes = (uint32_t)bytes};

	if (!agas_network_finds() || !agas_network_access(&r, lva, NULL, AGAS_NETWORK_ANY))
		return false;
	count_lookup();
	return true;
}

static int start_one(const char *call, enum agas_request_kind kind, gva_t gva, char *lva,
		     size_t bytes, agas_req_t *req)
{
	AGAS_LOCK;
	struct agas_op *op = agas_op_create(AGAS_OP_REQUEST, req);

	if (!op)
		return agas_fail(call, AGAS_ENOMEM, "no memory for one more operation");
	op->local = lva;
	op->r.kind = (uint8_t)kind;
	op->r.gva = gva;
	op->r.bytes = (uint32_t)bytes;
	agas_op_start(op);
	return 0;
}

static int start_access(const char *call, enum agas_request_kind kind, gva_t gva, char *lva,
			size_t bytes, agas_req_t *req)
{
	const struct agas_space *s = &agas_world.space;
	size_t piece = agas_network_piece(kind, bytes);
	int rc = agas_check(call, gva, bytes);

	if (!rc && !lva && bytes)
		return agas_fail(call, AGAS_EINVAL, "the local address is NULL");
	while (!rc && bytes) {
		uint64_t room = agas_block_bytes(s, gva) - agas_offset_of(s, gva);
		size_t n = bytes < room ? bytes : room;

		if (!copy_here(kind, gva, lva, n) && !copy_near(kind, gva, lva, n)) {
			n = n < piece ? n : piece;
			rc = start_one(call, kind, gva, lva, n, req);
		}
		gva += n;
		lva += n;
		bytes -= n;
	}
	return rc;
}

#pragma GCC visibility push(default)

int agas_put(gva_t gva, const void *lva, size_t bytes)
{
	return start_access(__func__, AGAS_REQUEST_PUT, gva, (char *)(uintptr_t)lva, bytes, NULL);
}

int agas_get(void *lva, const gva_t gva, size_t bytes)
{
	return start_access(__func__, AGAS_REQUEST_GET, gva, lva, bytes, NULL);
}

int agas_put_nb(gva_t gva, const void *lva, size_t bytes, agas_req_t *r)
{
	*r = (agas_req_t){0};
	return start_access(__func__, AGAS_REQUEST_PUT, gva, (char *)(uintptr_t)lva, bytes, r);
}

int agas_get_nb(void *lva, gva_t gva, size_t bytes, agas_req_t *r)
{
	*r = (agas_req_t){0};
	return start_access(__func__, AGAS_REQUEST_GET, gva, lva, bytes, r);
}

/* ---- completion ---- */

static int refuse_wait(const char *call)
{
	return agas_fail(call, AGAS_EINVAL, "an action must not wait");
}

void agas_progress(void)
{
	if (!agas_world.open || agas_is_in_handler())
		return;
	AGAS_LOCK;
	PAMI_Context_advance(agas_world.context, 16);
	agas_ops_poll();
}

int agas_test(agas_req_t *r)
{
	if (!agas_world.open)
		return 1;
	AGAS_LOCK;
	if (r->pending && !agas_is_in_handler()) {
		PAMI_Context_advance(agas_world.context, 16);
		agas_ops_poll();
	}
	return !r->pending;
}

int agas_wait(agas_req_t *r)
{
	int rc;

	if (!agas_world.open)
		return agas_fail(__func__, AGAS_ESTATE, "call agas_init() first");
	AGAS_LOCK;
	if (r->pending && agas_is_in_handler())
		return refuse_wait(__func__);
	rc = agas_req_wait(r);
	r->error = 0;
	return rc;
}

int agas_fence(void)
{
	int rc;

	if (!agas_world.open)
		return agas_fail(__func__, AGAS_ESTATE, "call agas_init() first");
	if (agas_is_in_handler())
		return refuse_wait(__func__);
	AGAS_LOCK;
	/* Serve other ranks here too, for a program that reads its own blocks in a loop and makes
	 * no other call. */
	if (agas_world.is_virtual || !agas_ops_count())
		PAMI_Context_advance(agas_world.context, 1);
	while (agas_ops_count())
		agas_poll();
	rc = agas_world.fence_error;
	agas_world.fence_error = 0;
	return rc;
}

int agas_barrier(void)
{
	int rc = agas_fence(), died;

	if (!agas_world.open || agas_is_in_handler())
		return rc;
	AGAS_LOCK;
	died = agas_coll_meet();
	if (died)
		return agas_fail(__func__, died, "ranks have died; the others have met");
	return rc;
}

/* ---- atomic operations ---- */

static int run_atomic(const char *call, enum agas_atomic kind, gva_t gva, uint64_t v,
		      uint64_t expected, uint64_t *old)
{
	int rc = agas_check(call, gva, 8);
	agas_req_t req = {0};
	struct agas_request r = {.kind = AGAS_REQUEST_ATOMIC,
				 .atomic = (uint8_t)kind,
				 .gva = gva,
				 .bytes = 8,
				 .operand = v,
				 .expected = expected};
	struct agas_block *b;
	struct agas_op *op;
	uint64_t value = 0;

	if (!rc && gva % 8)
		rc = agas_fail(call, AGAS_EINVAL, "the address is not a multiple of 8");
	if (rc)
		return rc;
	b = is_looked_for_here() ? agas_block_acquire(agas_key_of(&agas_world.space, gva)) : NULL;
	if (b) {
		char *at = (char *)b->memory + agas_offset_of(&agas_world.space, gva);

		value = agas_atomic_run(kind, (uint64_t *)(void *)at, v, expected);
		used_here(b);
	} else if (agas_network_finds() &&
		   agas_network_access(&r, NULL, &value, AGAS_NETWORK_ANY)) {
		count_lookup();
	} else {
		if (agas_is_in_handler())
			return refuse_wait(call);
		AGAS_LOCK;
		op = agas_op_create(AGAS_OP_REQUEST, &req);
		if (!op)
			return agas_fail(call, AGAS_ENOMEM, "no memory for one more operation");
		op->r = r;
		op->value_to = &value;
		agas_op_start(op);
		rc = agas_req_wait(&req);
	}
	if (old)
		*old = value;
	return rc;
}

int agas_fetch_xor64(gva_t gva, uint64_t v, uint64_t *old)
{
	return run_atomic(__func__, AGAS_ATOMIC_XOR, gva, v, 0, old);
}

int agas_fetch_add64(gva_t gva, uint64_t v, uint64_t *old)
{
	return run_atomic(__func__, AGAS_ATOMIC_ADD, gva, v, 0, old);
}

int agas_swap64(gva_t gva, uint64_t v, uint64_t *old)
{
	return run_atomic(__func__, AGAS_ATOMIC_SWAP, gva, v, 0, old);
}

int agas_compare_swap64(gva_t gva, uint64_t expected, uint64_t v, uint64_t *old)
{
	return run_atomic(__func__, AGAS_ATOMIC_CAS, gva, v, expected, old);
}

/* ---- blocks ---- */

int agas_remap_nb(gva_t gva, int pe, agas_req_t *r)
{
	*r = (agas_req_t){0};
	return agas_move_to(__func__, gva, pe, r);
}

int agas_remap(gva_t gva, int pe)
{
	agas_req_t r;
	int rc;

	if (agas_is_in_handler())
		return refuse_wait(__func__);
	r = (agas_req_t){0};
	rc = agas_move_to(__func__, gva, pe, &r);
	return rc ? rc : agas_wait(&r);
}

int agas_try_pin(gva_t gva, void **lva)
{
	struct agas_block *b;

	if (agas_check(__func__, gva, 1))
		return 0;
	b = agas_block_acquire(agas_key_of(&agas_world.space, gva));
	AGAS_COUNT(lookups);
	if (b && lva)
		*lva = (char *)b->memory + agas_offset_of(&agas_world.space, gva);
	return b != NULL;
}

void agas_unpin(gva_t gva)
{
	struct agas_block *b;

	if (agas_check(__func__, gva, 1))
		return;
	b = agas_block_find(agas_key_of(&agas_world.space, gva));
	if (!b || !agas_block_pins(b))
		agas_fail(__func__, AGAS_EINVAL, "the block is not pinned");
	else
		agas_block_release(b);
}

gva_t agas_lva_to_gva(const void *lva)
{
	if (!agas_world.open) {
		agas_fail(__func__, AGAS_ESTATE, "call agas_init() first");
		return 0;
	}
	AGAS_LOCK;
	return agas_address_of(lva);
}

int agas_home(gva_t gva)
{
	int rc = agas_check(__func__, gva, 1);

	return rc ? rc : (int)agas_home_of(&agas_world.space, gva);
}

int agas_owner(gva_t gva)
{
	uint64_t key = agas_key_of(&agas_world.space, gva);
	int rc = agas_check(__func__, gva, 1);
	struct agas_block *b;
	struct agas_party p;
	struct agas_cached c;

	if (rc)
		return rc;
	/* Without the lock where tables allow it: threads ask beside the one that works. */
	b = agas_block_find(key);
	if (b && agas_block_state(b) == AGAS_OWNED && atomic_load_acquire(&b->key) == key)
		return (int)agas_world.me;
	if (agas_cache_is_shared(agas_world.cache) &&
	    agas_home_of(&agas_world.space, key) != agas_world.me) {
		if (agas_cache_find(agas_world.cache, key, &c))
			return (int)c.owner;
		if (!b)
			return (int)agas_home_of(&agas_world.space, key);
	}
	AGAS_LOCK;
	p = agas_party_of(key);
	if (p.block && agas_block_state(p.block) == AGAS_OWNED)
		return (int)p.me;
	if (p.me == p.home_rank)
		return p.home ? (int)p.home->owner : AGAS_EUNMAPPED;
	if (agas_cache_find(agas_world.cache, key, &c))
		return (int)c.owner;
	return (int)(p.block ? p.block->owner : p.home_rank);
}

void agas_cache_forget(gva_t gva)
{
	if (agas_check(__func__, gva, 1))
		return;
	AGAS_LOCK;
	agas_cache_remove(agas_world.cache, agas_key_of(&agas_world.space, gva));
}

void agas_cache_teach(gva_t gva, int owner)
{
	uint64_t key = agas_key_of(&agas_world.space, gva);

	if (agas_check(__func__, gva, 1) || agas_check_rank(__func__, owner))
		return;
	AGAS_LOCK;
	agas_cache_remove(agas_world.cache, key);
	agas_cache_learn(key, (uint32_t)owner, 0);
}

#pragma GCC visibility pop
