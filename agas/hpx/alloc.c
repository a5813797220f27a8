/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocation, freeing and arithmetic by the names of agas_hpx.h. */
#include <stdlib.h>
#include <string.h>

#include "agas/access/op.h"
#include "agas/core/world.h"
#include "agas/hpx/lco.h"
#include "agas/memory/control.h"
#include "drivers/base/log.h"

/* ---- allocation ---- */

static int check_alloc(const char *call, size_t n, size_t bsize, uint32_t boundary)
{
	if (!agas_world.open)
		return agas_fail(call, AGAS_ESTATE, "call agas_init() first");
	if (agas_is_in_handler())
		return agas_fail(call, AGAS_EINVAL, "an action must not wait");
	if (!n || !bsize || agas_size_class(bsize) > AGAS_SIZE_MAX)
		return agas_fail(call, AGAS_EINVAL, "no blocks, or blocks of 0 or over 2^31 bytes");
	if (n > AGAS_OFFSET_MASK >> agas_size_class(bsize))
		return agas_fail(call, AGAS_EINVAL, "more than a segment of 4 TiB");
	if (boundary & (boundary - 1))
		return agas_fail(call, AGAS_EINVAL, "the boundary is not a power of two");
	return 0;
}

/* Allocate from the segment of all ranks, or (AGAS_LOCAL) from that of rank `at`. */
static hpx_addr_t alloc_blocks(const char *call, size_t n, size_t bsize, uint32_t boundary,
			       enum agas_dist dist, uint32_t at, uint32_t attr,
			       const uint32_t *owners)
{
	uint32_t size = agas_size_class(bsize), ranks = agas_world.space.ranks;
	uint32_t keeper = dist == AGAS_LOCAL ? at : 0;
	uint64_t padded = (uint64_t)1 << size, rows, first;
	enum agas_ranges_of which = dist == AGAS_LOCAL ? AGAS_RANGE_LOCAL : AGAS_RANGE_ROWS;
	struct agas_extent e = {.count = n,
				.user_bytes = (uint32_t)bsize,
				.attributes = attr,
				.caller = at,
				.dist = (uint8_t)dist};

	AGAS_LOCK;
	if (dist != AGAS_LOCAL ? agas_world.deaths != 0 : agas_is_dead(at)) {
		agas_fail(call, AGAS_EDEAD,
			  "a rank has died, and some blocks would have their home there");
		return HPX_NULL;
	}
	rows = (dist == AGAS_LOCAL ? n : (n + ranks - 1) / ranks) * padded;
	if (agas_range_take(which, keeper, rows, boundary > padded ? boundary : padded, &first)) {
		agas_fail(call, AGAS_ENOMEM, "the segment has no such range free");
		return HPX_NULL;
	}
	e.base = agas_address_make(keeper, dist != AGAS_LOCAL, size, first);
	if (!agas_extent_create(&e, owners))
		return e.base;
	agas_range_give(which, keeper, first, rows);
	agas_fail(call, AGAS_ENOMEM, "some rank has no memory for its blocks, or has died");
	return HPX_NULL;
}

static hpx_addr_t alloc_user(const char *call, size_t n, size_t bsize, uint32_t boundary,
			     hpx_gas_dist_t dist, uint32_t attr)
{
	uint32_t *owners = malloc(n * sizeof(*owners));
	hpx_addr_t addr = HPX_NULL;
	size_t i;

	if (!owners) {
		agas_fail(call, AGAS_ENOMEM, "no memory for the list of owners");
		return HPX_NULL;
	}
	for (i = 0; i < n; i++) {
		owners[i] = agas_home_of(&agas_world.space, dist((uint32_t)i, n, bsize));
		if (agas_check_rank(call, (int)owners[i]))
			break;
	}
	if (i == n)
		addr =
		    alloc_blocks(call, n, bsize, boundary, AGAS_USER, agas_world.me, attr, owners);
	free(owners);
	return addr;
}

static hpx_addr_t alloc_at(const char *call, size_t n, size_t bsize, uint32_t boundary,
			   hpx_addr_t loc)
{
	uint32_t at;

	if (check_alloc(call, n, bsize, boundary))
		return HPX_NULL;
	if (agas_is_linear(loc)) {
		agas_fail(call, AGAS_EINVAL, "name the rank by HPX_THERE(rank)");
		return HPX_NULL;
	}
	at = agas_home_of(&agas_world.space, loc);
	if (agas_check_rank(call, (int)at))
		return HPX_NULL;
	return alloc_blocks(call, n, bsize, boundary, AGAS_LOCAL, at, HPX_GAS_ATTR_NONE, NULL);
}

static void alloc_at_async(const char *call, size_t n, size_t bsize, uint32_t boundary,
			   hpx_addr_t loc, hpx_addr_t lco)
{
	hpx_addr_t addr = alloc_at(call, n, bsize, boundary, loc);
	struct hpx_lco *l;

	if (!agas_world.open)
		return;
	AGAS_LOCK;
	if (agas_lco_find(call, lco, &l))
		return;
	agas_lco_set_value(l, &addr, sizeof(addr));
	agas_lco_input_done(l, addr ? 0 : AGAS_ENOMEM);
}

#pragma GCC visibility push(default)

int hpx_get_my_rank(void)
{
	return agas_pe();
}

int hpx_get_num_ranks(void)
{
	return agas_npes();
}

hpx_addr_t hpx_gas_alloc(size_t n, size_t bsize, uint32_t boundary, hpx_gas_dist_t dist,
			 uint32_t attr)
{
	enum agas_dist d = dist == HPX_GAS_DIST_LOCAL     ? AGAS_LOCAL
			   : dist == HPX_GAS_DIST_CYCLIC  ? AGAS_CYCLIC
			   : dist == HPX_GAS_DIST_BLOCKED ? AGAS_BLOCKED
							  : AGAS_USER;

	if (check_alloc(__func__, n, bsize, boundary))
		return HPX_NULL;
	if (!dist) {
		agas_fail(__func__, AGAS_EINVAL, "the distribution is NULL");
		return HPX_NULL;
	}
	if (d == AGAS_USER)
		return alloc_user(__func__, n, bsize, boundary, dist, attr);
	return alloc_blocks(__func__, n, bsize, boundary, d, agas_world.me, attr, NULL);
}

hpx_addr_t hpx_gas_alloc_user(size_t n, size_t bsize, uint32_t boundary, hpx_gas_dist_t dist,
			      uint32_t attr)
{
	return hpx_gas_alloc(n, bsize, boundary, dist, attr);
}

hpx_addr_t hpx_gas_calloc(size_t n, size_t bsize, uint32_t boundary, hpx_gas_dist_t dist,
			  uint32_t attr)
{
	return hpx_gas_alloc(n, bsize, boundary, dist, attr);
}

hpx_addr_t hpx_gas_alloc_local_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr)
{
	return hpx_gas_alloc(n, bsize, boundary, HPX_GAS_DIST_LOCAL, attr);
}

hpx_addr_t hpx_gas_calloc_local_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr)
{
	return hpx_gas_alloc_local_attr(n, bsize, boundary, attr);
}

hpx_addr_t hpx_gas_alloc_cyclic_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr)
{
	return hpx_gas_alloc(n, bsize, boundary, HPX_GAS_DIST_CYCLIC, attr);
}

hpx_addr_t hpx_gas_calloc_cyclic_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr)
{
	return hpx_gas_alloc_cyclic_attr(n, bsize, boundary, attr);
}

hpx_addr_t hpx_gas_alloc_blocked_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr)
{
	return hpx_gas_alloc(n, bsize, boundary, HPX_GAS_DIST_BLOCKED, attr);
}

hpx_addr_t hpx_gas_calloc_blocked_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr)
{
	return hpx_gas_alloc_blocked_attr(n, bsize, boundary, attr);
}

hpx_addr_t hpx_gas_alloc_local(size_t n, size_t bsize, uint32_t boundary)
{
	return hpx_gas_alloc(n, bsize, boundary, HPX_GAS_DIST_LOCAL, HPX_GAS_ATTR_NONE);
}

hpx_addr_t hpx_gas_calloc_local(size_t n, size_t bsize, uint32_t boundary)
{
	return hpx_gas_alloc_local(n, bsize, boundary); /* New blocks are zeroed anyway. */
}

hpx_addr_t hpx_gas_alloc_cyclic(size_t n, size_t bsize, uint32_t boundary)
{
	return hpx_gas_alloc(n, bsize, boundary, HPX_GAS_DIST_CYCLIC, HPX_GAS_ATTR_NONE);
}

hpx_addr_t hpx_gas_calloc_cyclic(size_t n, size_t bsize, uint32_t boundary)
{
	return hpx_gas_alloc_cyclic(n, bsize, boundary);
}

hpx_addr_t hpx_gas_alloc_blocked(size_t n, size_t bsize, uint32_t boundary)
{
	return hpx_gas_alloc(n, bsize, boundary, HPX_GAS_DIST_BLOCKED, HPX_GAS_ATTR_NONE);
}

hpx_addr_t hpx_gas_calloc_blocked(size_t n, size_t bsize, uint32_t boundary)
{
	return hpx_gas_alloc_blocked(n, bsize, boundary);
}

hpx_addr_t hpx_gas_alloc_local_at_sync(size_t n, size_t bsize, uint32_t boundary, hpx_addr_t loc)
{
	return alloc_at(__func__, n, bsize, boundary, loc);
}

void hpx_gas_alloc_local_at_async(size_t n, size_t bsize, uint32_t boundary, hpx_addr_t loc,
				  hpx_addr_t lco)
{
	alloc_at_async(__func__, n, bsize, boundary, loc, lco);
}

hpx_addr_t hpx_gas_calloc_local_at_sync(size_t n, size_t bsize, uint32_t boundary, hpx_addr_t loc)
{
	return alloc_at(__func__, n, bsize, boundary, loc);
}

void hpx_gas_calloc_local_at_async(size_t n, size_t bsize, uint32_t boundary, hpx_addr_t loc,
				   hpx_addr_t lco)
{
	alloc_at_async(__func__, n, bsize, boundary, loc, lco);
}

#pragma GCC visibility pop

/* ---- freeing ---- */

/* Freeing goes in steps, each of which begins when the answers of the one before have come. */
struct freeing {
	struct agas_extent e;
	uint64_t value;
	struct hpx_lco *lco;
	struct agas_req *req; /* of a caller that waits */
};

static void freeing_end(struct freeing *f, int rc)
{
	agas_lco_end(f->lco, rc);
	if (f->req) {
		f->req->error = rc;
		f->req->pending--;
	} else if (!f->lco && rc && !agas_world.fence_error) {
		agas_world.fence_error = rc;
	}
	free(f);
}

static void blocks_freed(void *arg, int rc)
{
	struct freeing *f = arg;
	bool cyclic = agas_is_cyclic(f->e.base);
	uint32_t ranks = agas_world.space.ranks;
	uint64_t rows = cyclic ? (f->e.count + ranks - 1) / ranks : f->e.count;

	if (!rc)
		agas_range_give(cyclic ? AGAS_RANGE_ROWS : AGAS_RANGE_LOCAL,
				cyclic ? 0 : f->e.caller, f->e.base & AGAS_OFFSET_MASK,
				rows * agas_block_bytes(&agas_world.space, f->e.base));
	freeing_end(f, rc);
}

/* The home of the first block has said what the allocation is. */
static void extent_found(const struct agas_op *op)
{
	struct freeing *f = op->then_arg;

	if (op->error) {
		freeing_end(f, agas_error_of(op->error));
		return;
	}
	f->e.count = f->value >> 32;
	f->e.user_bytes = (uint32_t)f->value;
	if (!f->e.count) {
		drv_warn("agas: freeing of %#llx: not the first block of an allocation",
			 (unsigned long long)f->e.base);
		freeing_end(f, AGAS_EINVAL);
		return;
	}
	agas_extent_free_start(&f->e, blocks_freed, f);
}

/* Returns an error if nothing was started. */
static int free_start(const char *call, hpx_addr_t addr, struct hpx_lco *lco, struct agas_req *req)
{
	int rc = agas_check(call, addr, 1);
	struct freeing *f;
	struct agas_op *op;

	if (!rc && agas_is_linear(addr))
		rc = agas_fail(call, AGAS_EINVAL, "agas_unmap() frees pages of agas_map");
	if (rc)
		return rc;
	f = calloc(1, sizeof(*f));
	op = f ? agas_op_create(AGAS_OP_REQUEST, NULL) : NULL;
	if (!op) {
		free(f);
		return agas_fail(call, AGAS_ENOMEM, "no memory for one more operation");
	}
	addr = agas_key_of(&agas_world.space, addr);
	*f = (struct freeing){.e.base = addr, .lco = lco, .req = req};
	f->e.caller = agas_home_of(&agas_world.space, addr);
	f->e.dist = agas_is_cyclic(addr) ? AGAS_CYCLIC : AGAS_LOCAL;
	agas_lco_begin(lco);
	op->r = (struct agas_request){.kind = AGAS_REQUEST_QUERY, .gva = addr};
	op->value_to = &f->value;
	op->then = extent_found;
	op->then_arg = f;
	agas_op_start(op);
	return 0;
}

#pragma GCC visibility push(default)

hpx_status_t hpx_gas_free_sync(hpx_addr_t addr)
{
	struct agas_req req = {.pending = 1};
	int rc = agas_check(__func__, addr, 1);

	if (rc)
		return rc;
	if (agas_is_in_handler())
		return agas_fail(__func__, AGAS_EINVAL, "an action must not wait");
	AGAS_LOCK;
	rc = free_start(__func__, addr, NULL, &req);
	return rc ? rc : agas_req_wait(&req);
}

void hpx_gas_free(hpx_addr_t addr, hpx_addr_t rsync)
{
	struct hpx_lco *lco;
	int rc;

	if (!agas_world.open) {
		agas_fail(__func__, AGAS_ESTATE, "call agas_init() first");
		return;
	}
	AGAS_LOCK;
	if (agas_lco_find(__func__, rsync, &lco))
		return;
	rc = free_start(__func__, addr, lco, NULL);
	if (rc)
		agas_lco_input_done(lco, rc);
}

hpx_addr_t hpx_addr_add(hpx_addr_t addr, int64_t bytes, uint32_t bsize)
{
	return agas_address_add(&agas_world.space, addr, bytes, bsize ? bsize : 1);
}

int64_t hpx_addr_sub(hpx_addr_t lhs, hpx_addr_t rhs, uint32_t bsize)
{
	return agas_address_sub(&agas_world.space, lhs, rhs, bsize ? bsize : 1);
}

#pragma GCC visibility pop
