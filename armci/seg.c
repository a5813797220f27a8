/* SPDX-License-Identifier: BSD-3-Clause */
/* Which registered memory an address lies in: a sorted table per process, with the last hit kept. */
#include <stdlib.h>
#include <string.h>

#include "armci/state.h"

/* First entry whose name is above. */
static uint32_t upper(const struct armci_map *map, uintptr_t name)
{
	uint32_t lo = 0, hi = map->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (map->seg[mid]->name <= name)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int armci_map_add(struct armci_map *map, struct armci_seg *seg)
{
	uint32_t at;

	if (map->count == map->space) {
		uint32_t space = map->space ? map->space * 2 : 8;
		struct armci_seg **grown = realloc(map->seg, space * sizeof(*grown));

		if (!grown)
			return FAIL6;
		map->seg = grown;
		map->space = space;
	}
	at = upper(map, seg->name);
	memmove(&map->seg[at + 1], &map->seg[at], (map->count - at) * sizeof(*map->seg));
	map->seg[at] = seg;
	map->count++;
	return 0;
}

void armci_map_remove(struct armci_map *map, struct armci_seg *seg)
{
	uint32_t at = upper(map, seg->name);

	if (map->last == seg)
		map->last = NULL;
	if (!at || map->seg[at - 1] != seg)
		return; /* was never added */
	memmove(&map->seg[at - 1], &map->seg[at], (map->count - at) * sizeof(*map->seg));
	map->count--;
}

static inline bool holds(const struct armci_seg *s, uintptr_t name, size_t bytes)
{
	return name >= s->name && bytes <= s->bytes && name - s->name <= s->bytes - bytes;
}

struct armci_seg *armci_map_find(struct armci_map *map, uintptr_t name, size_t bytes)
{
	uint32_t at;

	if (map->last && holds(map->last, name, bytes))
		return map->last;
	at = upper(map, name);
	if (!at || !holds(map->seg[at - 1], name, bytes))
		return NULL;
	return map->last = map->seg[at - 1];
}

struct armci_seg *armci_seg_find(int proc, uintptr_t name, size_t bytes)
{
	struct armci_seg *s = armci_map_find(&armci_world.map[proc], name, bytes);

	if (!s)
		armci_die(
		    "address %p (%zu bytes) of process %d is not in memory allocated with ARMCI_Malloc",
		    (void *)name, bytes, proc);
	return s;
}

void armci_seg_release(struct armci_seg *seg)
{
	armci_region_forget(seg);
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
