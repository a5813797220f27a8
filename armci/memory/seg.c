/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the registered memory that an address lies in: a sorted table per process, and the last
 * hit.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/memory/region.h"
#include "armci/memory/seg.h"
#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"

/* Index of the first entry whose name is above. */
static uint32_t find_above(const struct armci_table *table, uintptr_t name)
{
	uint32_t lo = 0, hi = table ? table->count : 0;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (table->seg[mid]->name <= name)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct armci_table *table_create(uint32_t count)
{
	struct armci_table *table = malloc(sizeof(*table) + count * sizeof(table->seg[0]));

	if (table)
		table->count = count;
	return table;
}

/* Other threads may read the old table without a lock until this returns. */
static void table_replace(struct armci_map *map, struct armci_table *table)
{
	struct armci_table *old = atomic_ptr_load_relaxed(&map->table);

	DRV_ASSERT(armci_has_lock());
	atomic_ptr_store_release(&map->table, table);
	armci_read_drain();
	free(old);
}

int armci_map_add(struct armci_map *map, struct armci_seg *seg)
{
	const struct armci_table *old = atomic_ptr_load_relaxed(&map->table);
	uint32_t at = find_above(old, seg->name), count = old ? old->count : 0;
	struct armci_table *table = table_create(count + 1);

	DRV_ASSERT(old || !at);
	if (!table)
		return FAIL6;
	if (at)
		memcpy(table->seg, old->seg, at * sizeof(table->seg[0]));
	table->seg[at] = seg;
	if (at < count)
		memcpy(&table->seg[at + 1], &old->seg[at], (count - at) * sizeof(table->seg[0]));
	table_replace(map, table);
	return 0;
}

void armci_map_remove(struct armci_map *map, struct armci_seg *seg)
{
	const struct armci_table *old = atomic_ptr_load_relaxed(&map->table);
	uint32_t at = find_above(old, seg->name);
	struct armci_table *table = NULL;

	if (atomic_ptr_load_relaxed(&map->last) == seg)
		atomic_ptr_store_relaxed(&map->last, NULL);
	if (!at || old->seg[at - 1] != seg)
		return; /* It was never added. */
	if (old->count > 1) {
		table = table_create(old->count - 1);
		if (!table)
			armci_die("no memory for the segment table");
		memcpy(table->seg, old->seg, (at - 1) * sizeof(table->seg[0]));
		memcpy(&table->seg[at - 1], &old->seg[at],
		       (old->count - at) * sizeof(table->seg[0]));
	}
	table_replace(map, table);
}

void armci_map_release(struct armci_map *map)
{
	free(atomic_ptr_load_relaxed(&map->table));
	memset(map, 0, sizeof(*map));
}

static struct armci_seg *table_find(const struct armci_table *table, uintptr_t name, size_t bytes)
{
	uint32_t at = find_above(table, name);

	return at && armci_seg_holds(table->seg[at - 1], name, bytes) ? table->seg[at - 1] : NULL;
}

struct armci_seg *armci_map_find(struct armci_map *map, uintptr_t name, size_t bytes)
{
	struct armci_seg *seg = atomic_ptr_load_relaxed(&map->last);

	if (seg && armci_seg_holds(seg, name, bytes))
		return seg;
	seg = table_find(atomic_ptr_load_relaxed(&map->table), name, bytes);
	if (seg)
		atomic_ptr_store_release(&map->last, seg);
	return seg;
}

struct armci_seg *armci_map_read(const struct armci_map *map, uintptr_t name, size_t bytes)
{
	return table_find(atomic_ptr_load_acquire(&map->table), name, bytes);
}

struct armci_seg *armci_seg_find(int proc, uintptr_t name, size_t bytes)
{
	struct armci_seg *s = armci_map_find(&armci_world.map[proc], name, bytes);

	if (!s)
		armci_die("address %p (%zu bytes) of process %d is not in memory allocated with "
			  "ARMCI_Malloc",
			  (void *)name, bytes, proc);
	return s;
}

void armci_seg_release(struct armci_seg *seg)
{
	armci_region_evict(seg);
	free(seg->writes);
	seg->writes = NULL;
}

pami_memregion_t *armci_local_find(const void *p, size_t bytes, size_t *offset)
{
	struct armci_seg *s = armci_map_find(&armci_world.local_map, (uintptr_t)p, bytes);

	if (!s)
		s = armci_map_find(&armci_world.map[armci_world.me], (uintptr_t)p, bytes);
	if (!s || !s->own)
		return NULL;
	*offset = (uintptr_t)p - s->name;
	return s->own;
}
