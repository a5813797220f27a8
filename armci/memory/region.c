/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions. An owner does not announce its region when memory is allocated: a process asks
 * for it by an active message when RDMA first needs it, and keeps it in a cache of bounded size. A
 * full cache evicts the least frequently used region. Source: Vishnu et al., section on memory
 * regions.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/counter.h"
#include "armci/core/env.h"
#include "armci/core/world.h"
#include "armci/memory/region.h"
#include "armci/memory/seg.h"
#include "armci/remote/am.h"
#include "drivers/base/assert.h"
#include "drivers/base/log.h"

struct armci_region {
	pami_memregion_t region;
	struct armci_seg *seg; /* NULL: the entry is free */
	uint64_t uses;
};

static struct {
	struct armci_region *entry;
	uint32_t count, used;
} cache;

/* This process's segments by address. SERVE reads the map, and changes hold SERVE's lock. */
static struct armci_map own;

int armci_region_init(void)
{
	cache.count = (uint32_t)armci_env.regions;
	cache.used = 0;
	cache.entry = cache.count ? calloc(cache.count, sizeof(*cache.entry)) : NULL;
	if (!cache.count || cache.entry)
		return 0;
	drv_error("armci: no memory for a cache of %u regions", cache.count);
	return FAIL6;
}

void armci_region_release(void)
{
	free(cache.entry);
	memset(&cache, 0, sizeof(cache));
	armci_map_release(&own);
}

int armci_region_publish(struct armci_seg *seg)
{
	int rc;

	armci_serve_lock();
	rc = armci_map_add(&own, seg);
	armci_serve_unlock();
	return rc;
}

void armci_region_withhold(struct armci_seg *seg)
{
	armci_serve_lock();
	armci_map_remove(&own, seg);
	armci_serve_unlock();
}

void armci_region_serve(uint64_t va, struct armci_region_answer *answer)
{
	struct armci_seg *seg = armci_map_find(&own, (uintptr_t)va, 1);

	memset(answer, 0, sizeof(*answer));
	if (!seg || !seg->own)
		return;
	answer->found = 1;
	memcpy(&answer->region, seg->own, sizeof(answer->region));
}

void armci_region_evict(struct armci_seg *seg)
{
	if (!seg->cached)
		return;
	seg->cached->seg = NULL;
	seg->cached = NULL;
	cache.used--;
}

/* A free entry, if need be after evicting the least frequently used one. */
static struct armci_region *entry_take(void)
{
	struct armci_region *least = NULL, *r;

	for (r = cache.entry; r < cache.entry + cache.count; r++) {
		if (!r->seg)
			break;
		if (!least || r->uses < least->uses)
			least = r;
	}
	if (r == cache.entry + cache.count) {
		ARMCI_COUNT(region_evictions);
		DRV_ASSERT(least);
		r = least;
		armci_region_evict(r->seg);
	}
	cache.used++;
	return r;
}

static pami_memregion_t *fetch_region(struct armci_seg *seg, int proc)
{
	struct armci_region_answer answer;
	struct armci_region *r;

	if (!cache.count || seg->regionless)
		return NULL;
	ARMCI_COUNT(region_misses);
	if (armci_am_request_region(seg->va, proc, &answer) || !answer.found) {
		seg->regionless = true;
		return NULL;
	}
	if (!seg->cached) { /* else another thread fetched it while this one waited */
		r = entry_take();
		memcpy(&r->region, &answer.region, sizeof(r->region));
		r->seg = seg;
		r->uses = 0;
		seg->cached = r;
	}
	return &seg->cached->region;
}

pami_memregion_t *armci_region_get(struct armci_seg *seg, int proc)
{
	if (proc == armci_world.me)
		return seg->own;
	if (!seg->cached)
		return fetch_region(seg, proc);
	seg->cached->uses++;
	return &seg->cached->region;
}
