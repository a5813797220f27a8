/* SPDX-License-Identifier: BSD-3-Clause */
/* Mapping and unmapping of linear pages. */
#include <stdlib.h>
#include <string.h>

#include "agas/core/world.h"
#include "agas/memory/control.h"

static uint64_t pages_of(gva_t gva, size_t size)
{
	uint32_t shift = agas_world.space.page_shift;

	return ((gva + size - 1) >> shift) - (gva >> shift) + 1;
}

static struct agas_extent extent_of(uint64_t first_page, uint64_t count, enum agas_dist dist)
{
	return (struct agas_extent){.base = first_page << agas_world.space.page_shift,
				    .count = count,
				    .user_bytes = 1u << agas_world.space.page_shift,
				    .caller = agas_world.me,
				    .dist = (uint8_t)dist};
}

/* 0 or an error. */
static int check_map(const char *call, size_t size)
{
	if (!agas_world.open)
		return agas_fail(call, AGAS_ESTATE, "call agas_init() first");
	if (agas_is_in_handler())
		return agas_fail(call, AGAS_EINVAL, "an action must not wait");
	if (!size || size > (uint64_t)1 << AGAS_OFFSET_BITS)
		return agas_fail(call, AGAS_EINVAL,
				 "the size is 0 or larger than the address space of 4 TiB");
	if (agas_world.deaths)
		return agas_fail(
		    call, AGAS_EDEAD,
		    "a rank has died, and some of the pages would have their home there");
	return 0;
}

static gva_t map_blocks(const char *call, size_t size, enum agas_dist dist, const uint32_t *owners)
{
	uint64_t count, first;
	struct agas_extent e;

	AGAS_LOCK;
	count = pages_of(0, size);
	if (agas_range_take(AGAS_RANGE_PAGES, 0, count, 1, &first)) {
		agas_fail(call, AGAS_ENOMEM, "the address space has no such range free");
		return 0;
	}
	e = extent_of(first, count, dist);
	if (!agas_extent_create(&e, owners))
		return e.base;
	agas_range_give(AGAS_RANGE_PAGES, 0, first, count);
	agas_fail(call, AGAS_ENOMEM, "some rank has no memory for its blocks, or has died");
	return 0;
}

#pragma GCC visibility push(default)

gva_t agas_map(size_t size)
{
	return check_map(__func__, size) ? 0 : map_blocks(__func__, size, AGAS_LOCAL, NULL);
}

gva_t agas_map_cyclic(size_t size)
{
	return check_map(__func__, size) ? 0 : map_blocks(__func__, size, AGAS_CYCLIC, NULL);
}

gva_t agas_map_blocked(size_t size)
{
	return check_map(__func__, size) ? 0 : map_blocks(__func__, size, AGAS_BLOCKED, NULL);
}

gva_t agas_map_user(size_t size, int (*owner)(size_t i, size_t n, void *arg), void *arg)
{
	uint32_t *owners;
	size_t i, n;
	gva_t gva = 0;

	if (check_map(__func__, size))
		return 0;
	n = pages_of(0, size);
	owners = malloc(n * sizeof(*owners));
	if (!owners) {
		agas_fail(__func__, AGAS_ENOMEM, "no memory for the list of owners");
		return 0;
	}
	for (i = 0; i < n; i++) {
		int rank = owner(i, n, arg);

		if (agas_check_rank(__func__, rank))
			break;
		owners[i] = (uint32_t)rank;
	}
	if (i == n)
		gva = map_blocks(__func__, size, AGAS_USER, owners);
	free(owners);
	return gva;
}

gva_t agas_map_all(size_t size, enum agas_dist dist)
{
	struct {
		uint64_t first;
		int64_t rc;
	} found = {0, 0};
	struct agas_extent e;
	uint64_t count;
	int rc = check_map(__func__, size);

	if (rc)
		return 0;
	if (dist != AGAS_CYCLIC && dist != AGAS_BLOCKED) {
		agas_fail(
		    __func__, AGAS_EINVAL,
		    "dist must be AGAS_CYCLIC or AGAS_BLOCKED; the other two are of one caller: "
		    "agas_map(), agas_map_user()");
		return 0;
	}
	AGAS_LOCK;
	count = pages_of(0, size);
	if (agas_world.me == 0)
		found.rc = agas_range_take(AGAS_RANGE_PAGES, 0, count, 1, &found.first);
	if (agas_coll_bcast(&found, sizeof(found), 0) || found.rc) {
		agas_fail(__func__, AGAS_ENOMEM, "the address space has no such range free");
		return 0;
	}
	e = extent_of(found.first, count, dist);
	rc = agas_extent_install(&e, NULL, 0, count);
	/* Wait, so that no rank uses the pages before all ranks have installed their part. */
	if (agas_coll_barrier() || rc) {
		agas_fail(__func__, AGAS_ENOMEM, "no memory for the blocks, or a rank has died");
		return 0;
	}
	return e.base;
}

int agas_unmap(gva_t gva, size_t size)
{
	int rc = agas_check(__func__, gva, size);
	struct agas_extent e;
	uint64_t first;

	if (rc)
		return rc;
	if (agas_is_in_handler())
		return agas_fail(__func__, AGAS_EINVAL, "an action must not wait");
	if (!size || !agas_is_linear(gva))
		return agas_fail(__func__, AGAS_EINVAL,
				 "the size is 0, or not an address of agas_map");
	AGAS_LOCK;
	first = gva >> agas_world.space.page_shift;
	e = extent_of(first, pages_of(gva, size), AGAS_CYCLIC);
	rc = agas_extent_free(&e);
	if (rc)
		return agas_fail(__func__, rc, agas_error_text(rc));
	agas_range_give(AGAS_RANGE_PAGES, 0, first, e.count);
	return 0;
}

#pragma GCC visibility pop
