/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of agas_hpx.h. */
#include <stdlib.h>
#include <string.h>

#include "agas/access/op.h"
#include "agas/core/world.h"
#include "agas/memory/control.h"
#include "agas/move/move.h"

struct hpx_lco {
	struct agas_req req;
};

/* The fence completes the operations of calls that name no LCO. */
static struct agas_req *req_of(hpx_lco_t lco)
{
	return lco ? &lco->req : NULL;
}

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

static hpx_addr_t alloc_blocks(const char *call, size_t n, size_t bsize, uint32_t boundary,
			       enum agas_dist dist, uint32_t attr, const uint32_t *owners)
{
	uint32_t size = agas_size_class(bsize), ranks = agas_world.space.ranks;
	uint64_t padded = (uint64_t)1 << size, rows, first;
	enum agas_ranges_of which = dist == AGAS_LOCAL ? AGAS_RANGE_LOCAL : AGAS_RANGE_ROWS;
	struct agas_extent e = {.count = n,
				.user_bytes = (uint32_t)bsize,
				.attributes = attr,
				.caller = agas_world.me,
				.dist = (uint8_t)dist};

	AGAS_LOCK;
	if (dist != AGAS_LOCAL && agas_world.deaths) {
		agas_fail(call, AGAS_EDEAD,
			  "a rank has died, and some blocks would have their home there");
		return HPX_NULL;
	}
	rows = (dist == AGAS_LOCAL ? n : (n + ranks - 1) / ranks) * padded;
	if (agas_range_take(which, rows, boundary > padded ? boundary : padded, &first)) {
		agas_fail(call, AGAS_ENOMEM, "the segment has no such range free");
		return HPX_NULL;
	}
	e.base = agas_address_make(dist == AGAS_LOCAL ? agas_world.me : 0, dist != AGAS_LOCAL, size,
				   first);
	if (!agas_extent_create(&e, owners))
		return e.base;
	agas_range_give(which, which == AGAS_RANGE_LOCAL ? agas_world.me : 0, first, rows);
	agas_fail(call, AGAS_ENOMEM, "some rank has no memory for its blocks, or has died");
	return HPX_NULL;
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

hpx_addr_t hpx_gas_alloc(size_t n, size_t bsize, uint32_t boundary, hpx_gas_dist_type_t dist,
			 uint32_t attr)
{
	if (check_alloc(__func__, n, bsize, boundary))
		return HPX_NULL;
	if (dist == HPX_GAS_DIST_USER) {
		agas_fail(__func__, AGAS_EINVAL, "hpx_gas_alloc_user() takes the function");
		return HPX_NULL;
	}
	return alloc_blocks(__func__, n, bsize, boundary, (enum agas_dist)dist, attr, NULL);
}

hpx_addr_t hpx_gas_alloc_user(size_t n, size_t bsize, uint32_t boundary, hpx_gas_dist_t dist,
			      uint32_t attr)
{
	hpx_addr_t addr = HPX_NULL;
	uint32_t *owners;
	size_t i;

	if (check_alloc(__func__, n, bsize, boundary))
		return HPX_NULL;
	owners = malloc(n * sizeof(*owners));
	if (!owners) {
		agas_fail(__func__, AGAS_ENOMEM, "no memory for the list of owners");
		return HPX_NULL;
	}
	for (i = 0; i < n; i++) {
		owners[i] = (uint32_t)(dist((uint32_t)i, n, bsize) >> 48);
		if (agas_check_rank(__func__, (int)owners[i]))
			break;
	}
	if (i == n)
		addr = alloc_blocks(__func__, n, bsize, boundary, AGAS_USER, attr, owners);
	free(owners);
	return addr;
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

/* ---- freeing ---- */

/* Ask the home of the first block about the allocation. Returns 0 or an error. */
static int extent_find(hpx_addr_t addr, struct agas_extent *e)
{
	struct agas_req req = {0};
	struct agas_op *op = agas_op_create(AGAS_OP_REQUEST, &req);
	uint64_t value = 0;
	int rc;

	if (!op)
		return AGAS_ENOMEM;
	op->r = (struct agas_request){.kind = AGAS_REQUEST_QUERY, .gva = addr};
	op->value_to = &value;
	agas_op_start(op);
	rc = agas_req_wait(&req);
	if (rc || !(value >> 32))
		return rc ? rc : AGAS_EINVAL;
	*e = (struct agas_extent){.base = addr,
				  .count = value >> 32,
				  .user_bytes = (uint32_t)value,
				  .caller = agas_home_of(&agas_world.space, addr),
				  .dist = agas_is_cyclic(addr) ? AGAS_CYCLIC : AGAS_LOCAL};
	return 0;
}

hpx_status_t hpx_gas_free_sync(hpx_addr_t addr)
{
	int rc = agas_check(__func__, addr, 1);
	struct agas_extent e;
	uint64_t rows;

	if (rc)
		return rc;
	if (agas_is_in_handler())
		return agas_fail(__func__, AGAS_EINVAL, "an action must not wait");
	AGAS_LOCK;
	rc = extent_find(addr, &e);
	if (rc == AGAS_EINVAL)
		return agas_fail(__func__, rc, "not the first block of an allocation");
	if (!rc)
		rc = agas_extent_free(&e);
	if (rc)
		return agas_fail(__func__, rc, agas_error_text(rc));
	rows = agas_is_cyclic(addr)
		   ? (e.count + agas_world.space.ranks - 1) / agas_world.space.ranks
		   : e.count;
	agas_range_give(agas_is_cyclic(addr) ? AGAS_RANGE_ROWS : AGAS_RANGE_LOCAL,
			agas_is_cyclic(addr) ? 0 : e.caller, addr & AGAS_OFFSET_MASK,
			rows * agas_block_bytes(&agas_world.space, addr));
	return 0;
}

void hpx_gas_free(hpx_addr_t addr, hpx_lco_t rsync)
{
	int rc = hpx_gas_free_sync(addr);

	if (rsync && rc && !rsync->req.error)
		rsync->req.error = rc;
}

/* ---- completion ---- */

hpx_lco_t hpx_lco_new(void)
{
	return calloc(1, sizeof(struct hpx_lco));
}

hpx_status_t hpx_lco_wait(hpx_lco_t lco)
{
	return agas_wait(&lco->req);
}

void hpx_lco_delete(hpx_lco_t lco)
{
	if (lco)
		agas_wait(&lco->req);
	free(lco);
}

/* ---- access ---- */

bool hpx_gas_try_pin(hpx_addr_t addr, void **local)
{
	if (local)
		return agas_try_pin(addr, local);
	if (!agas_try_pin(addr, NULL))
		return false;
	agas_unpin(addr); /* The caller asked only whether the block is here. */
	return true;
}

void hpx_gas_unpin(hpx_addr_t addr)
{
	agas_unpin(addr);
}

static hpx_status_t start_transfer(const char *call, enum agas_request_kind kind, hpx_addr_t gva,
				   void *local, size_t size, struct agas_req *req, bool copy)
{
	int rc = agas_check(call, gva, size);
	struct agas_op *op;

	if (rc || !size)
		return rc;
	AGAS_LOCK;
	op = agas_op_create(AGAS_OP_REQUEST, req);
	if (!op)
		return agas_fail(call, AGAS_ENOMEM, "no memory for one more operation");
	op->local = local;
	if (copy) {
		op->local = op->copy = malloc(size);
		if (!op->copy) {
			agas_op_complete(op, AGAS_WHY_MEMORY);
			return AGAS_ENOMEM;
		}
		memcpy(op->copy, local, size);
	}
	op->r.kind = (uint8_t)kind;
	op->r.gva = gva;
	op->r.bytes = (uint32_t)size;
	agas_op_start(op);
	return 0;
}

hpx_status_t hpx_gas_memput(hpx_addr_t to, const void *from, size_t size, hpx_lco_t lsync,
			    hpx_lco_t rsync)
{
	/* The library copies the data, so the source is free at once and lsync has nothing to wait
	 * for. */
	return start_transfer(__func__, AGAS_REQUEST_PUT, to, (void *)(uintptr_t)from, size,
			      req_of(rsync), true);
}

hpx_status_t hpx_gas_memput_lsync(hpx_addr_t to, const void *from, size_t size, hpx_lco_t rsync)
{
	return start_transfer(__func__, AGAS_REQUEST_PUT, to, (void *)(uintptr_t)from, size,
			      req_of(rsync), true);
}

hpx_status_t hpx_gas_memput_rsync(hpx_addr_t to, const void *from, size_t size)
{
	struct agas_req req = {0};
	int rc = start_transfer(__func__, AGAS_REQUEST_PUT, to, (void *)(uintptr_t)from, size, &req,
				false);

	return rc ? rc : agas_wait(&req);
}

hpx_status_t hpx_gas_memget(void *to, hpx_addr_t from, size_t size, hpx_lco_t lsync)
{
	return start_transfer(__func__, AGAS_REQUEST_GET, from, to, size, req_of(lsync), false);
}

hpx_status_t hpx_gas_memget_sync(void *to, hpx_addr_t from, size_t size)
{
	struct agas_req req = {0};
	int rc = start_transfer(__func__, AGAS_REQUEST_GET, from, to, size, &req, false);

	return rc ? rc : agas_wait(&req);
}

hpx_status_t hpx_gas_memcpy(hpx_addr_t to, hpx_addr_t from, size_t size, hpx_lco_t sync)
{
	void *buffer = malloc(size ? size : 1);
	int rc;

	if (!buffer)
		return agas_fail(__func__, AGAS_ENOMEM, "no memory for the data on its way");
	rc = hpx_gas_memget_sync(buffer, from, size);
	if (!rc)
		rc = hpx_gas_memput(to, buffer, size, HPX_LCO_NONE, sync);
	free(buffer);
	return rc;
}

hpx_status_t hpx_gas_memcpy_sync(hpx_addr_t to, hpx_addr_t from, size_t size)
{
	struct hpx_lco lco = {{0}};
	int rc = hpx_gas_memcpy(to, from, size, &lco);

	return rc ? rc : agas_wait(&lco.req);
}

void hpx_gas_move(hpx_addr_t src, hpx_addr_t dst, hpx_lco_t lco)
{
	agas_move_to(__func__, src, (int)agas_home_of(&agas_world.space, dst), req_of(lco));
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
