/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions of others: not told to everybody when memory is allocated, but asked for (an active
 * message to the owner) when RDMA first needs one, and kept in a cache of bounded size. When it is full
 * the least frequently used one makes room. Source: Vishnu et al., section on memory regions.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/am.h"
#include "armci/coll.h"
#include "drivers/base/log.h"

struct armci_region {
	pami_memregion_t region;
	struct armci_seg *seg; /* NULL: free */
	uint64_t uses;
};

static struct {
	struct armci_region *entry;
	uint32_t count, used;
} cache;

/* Mine, by address: read by SERVE, changed under its lock. */
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
	free(own.seg);
	memset(&own, 0, sizeof(own));
}

/* Memory of mine that others may ask for. */
int armci_region_offer(struct armci_seg *seg)
{
	int rc;

	armci_serve_lock();
	rc = armci_map_add(&own, seg);
	armci_serve_unlock();
	return rc;
}

void armci_region_withdraw(struct armci_seg *seg)
{
	armci_serve_lock();
	armci_map_remove(&own, seg);
	armci_serve_unlock();
}

void armci_region_serve(uint64_t va, struct armci_region_card *card)
{
	struct armci_seg *seg = armci_map_find(&own, (uintptr_t)va, 1);

	memset(card, 0, sizeof(*card));
	if (!seg || !seg->own)
		return;
	card->found = 1;
	memcpy(&card->region, seg->own, sizeof(card->region));
}

void armci_region_forget(struct armci_seg *seg)
{
	if (!seg->cached)
		return;
	seg->cached->seg = NULL;
	seg->cached = NULL;
	cache.used--;
}

/* A free entry; the least frequently used one if there is none. */
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
		r = least;
		armci_region_forget(r->seg);
	}
	cache.used++;
	return r;
}

static pami_memregion_t *miss(struct armci_seg *seg, int proc)
{
	struct armci_region_card card;
	struct armci_region *r;

	if (!cache.count || seg->regionless)
		return NULL;
	ARMCI_COUNT(region_misses);
	if (armci_am_region(seg->va, proc, &card) || !card.found) {
		seg->regionless = true;
		return NULL;
	}
	if (!seg->cached) { /* else: came while we waited */
		r = entry_take();
		memcpy(&r->region, &card.region, sizeof(r->region));
		r->seg = seg;
		r->uses = 0;
		seg->cached = r;
	}
	return &seg->cached->region;
}

pami_memregion_t *armci_region_of(struct armci_seg *seg, int proc)
{
	if (proc == armci_world.me)
		return seg->own;
	if (!seg->cached)
		return miss(seg, proc);
	seg->cached->uses++;
	return &seg->cached->region;
}
