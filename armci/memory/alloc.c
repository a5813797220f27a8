/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective and local memory: allocated, registered, and announced to every member. */
#include <stdlib.h>
#include <string.h>

#include "armci/core/api.h"
#include "armci/core/env.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/group/coll.h"
#include "armci/group/group.h"
#include "armci/memory/alloc.h"
#include "armci/memory/region.h"
#include "armci/memory/seg.h"
#include "armci/transfer/op.h"
#include "drivers/base/assert.h"
#include "drivers/base/log.h"

#define GUARD_BYTES 64u
#define GUARD_BYTE  0xa5

/*
 * One collective allocation, in the same slot of the group at all members.
 *
 * ARMCI_Free only marks it, since members may call that at different times or not at all. The next
 * collective allocation of the group agrees on what all members have freed, and releases that
 * before it takes memory.
 */
struct armci_alloc {
	struct armci_alloc *next;
	struct armci_group *group;
	uint32_t slot;          /* in group->alloc */
	bool freed;             /* This process has freed its part. */
	struct armci_seg seg[]; /* [group->size] */
};

/*
 * One member's part, as it announces it to the others. They ask for its region when they need it
 * (memory/region.c).
 */
struct part {
	uint64_t va, bytes, failed;
};

static atomic_u64 shm_limit = ATOMIC_INIT(UINT64_MAX);
static uint64_t shm_used;

static void *memory_get(size_t bytes)
{
	size_t whole = bytes + (armci_env.debug_alloc ? GUARD_BYTES : 0);
	uint64_t limit = atomic_load_relaxed(&shm_limit);
	char *p;

	shm_used += bytes;
	if (armci_env.shm_limit < limit)
		limit = armci_env.shm_limit;
	if (shm_used > limit && shm_used - bytes <= limit)
		drv_warn("armci: process %d has allocated more shared memory than its limit of "
			 "%llu bytes",
			 armci_world.me, (unsigned long long)limit);
	if (armci_world.memory.alloc)
		p = armci_world.memory.alloc(whole, 64);
	else
		p = aligned_alloc(64, (whole + 63) & ~(size_t)63);
	if (p && armci_env.debug_alloc) {
		memset(p, 0, bytes);
		memset(p + bytes, GUARD_BYTE, GUARD_BYTES);
	}
	return p;
}

static void memory_put(void *p, size_t bytes)
{
	const unsigned char *guard = (const unsigned char *)p + bytes;
	size_t i;

	shm_used -= bytes;
	for (i = 0; armci_env.debug_alloc && i < GUARD_BYTES; i++)
		if (guard[i] != GUARD_BYTE)
			armci_die(
			    "the program wrote past the end of an allocation of %zu bytes at %p",
			    bytes, p);
	if (armci_world.memory.free)
		armci_world.memory.free(p);
	else
		free(p);
}

/* Returns NULL if no region could be made; transfers then work without one. */
static pami_memregion_t *region_create(void *p, size_t bytes)
{
	pami_memregion_t *r = malloc(sizeof(*r));
	size_t got = 0;

	if (r && PAMI_Memregion_create(armci_world.context[ARMCI_ORIGIN], p, bytes, &got, r) ==
		     PAMI_SUCCESS) {
		if (got == bytes)
			return r;
		PAMI_Memregion_destroy(armci_world.context[ARMCI_ORIGIN], r);
	}
	free(r);
	return NULL;
}

void *armci_memory_get(size_t bytes, pami_memregion_t **region)
{
	void *p = memory_get(bytes);

	if (p)
		*region = region_create(p, bytes);
	else
		drv_error("armci: no memory for an allocation of %zu bytes", bytes);
	return p;
}

void armci_memory_put(void *p, size_t bytes, pami_memregion_t *region)
{
	if (region)
		PAMI_Memregion_destroy(armci_world.context[ARMCI_ORIGIN], region);
	free(region);
	memory_put(p, bytes);
}

void armci_seg_set(struct armci_seg *s, int proc, uint64_t va, uint64_t bytes)
{
	s->va = (uintptr_t)va;
	s->bytes = bytes;
	s->direct = armci_mapped_at(proc, s->va, s->bytes);
	s->name = s->direct ? (uintptr_t)s->direct : s->va;
}

/*
 * Parts of all members. NULL: a member failed, which all then see, or one died (*died) and some
 * members may have all parts.
 */
static struct part *exchange_parts(struct armci_group *g, const struct part *own, bool *died)
{
	size_t n = (size_t)g->size, i;
	struct part *all = malloc(n * sizeof(*all));

	if (!all)
		armci_die("no memory to exchange %zu addresses", n);
	*died = armci_coll_allgather(g, own, all, sizeof(*own)) != 0;
	if (*died) {
		free(all);
		return NULL;
	}
	for (i = 0; i < n; i++)
		if (all[i].failed) {
			free(all);
			return NULL;
		}
	return all;
}

/* Keep memory that another member may write to until ARMCI_Finalize. */
static void memory_keep(uintptr_t p, size_t bytes, pami_memregion_t *region)
{
	struct armci_seg *s = calloc(1, sizeof(*s));

	if (!s)
		return; /* Without a segment it stays until the process ends. */
	s->name = s->va = p;
	s->bytes = bytes;
	s->own = region;
	if (armci_map_add(&armci_world.local_map, s))
		free(s);
}

static void alloc_release(struct armci_alloc *a)
{
	struct armci_seg *own = &a->seg[a->group->rank];
	struct armci_alloc **p;
	int i;

	for (p = &armci_world.allocs; *p != a; p = &(*p)->next)
		;
	*p = a->next;
	a->group->alloc[a->slot] = NULL;
	for (i = 0; i < a->group->size; i++)
		if (a->seg[i].bytes) {
			armci_map_remove(&armci_world.map[a->group->task[i]], &a->seg[i]);
			armci_seg_release(&a->seg[i]);
		}
	if (own->bytes) {
		armci_region_withhold(own);
		armci_memory_put((void *)own->va, own->bytes, own->own);
	}
	free(a);
}

/* Take the lowest free slot of the group, which is the same one at all members. */
static void slot_assign(struct armci_alloc *a)
{
	struct armci_group *g = a->group;
	uint32_t i, space;

	for (i = 0; i < g->alloc_space && g->alloc[i]; i++)
		;
	if (i == g->alloc_space) {
		space = i ? 2 * i : 64;
		g->alloc = realloc(g->alloc, space * sizeof(struct armci_alloc *));
		if (!g->alloc)
			armci_die("no memory for a table of %u allocations", space);
		memset(&g->alloc[i], 0, (space - i) * sizeof(struct armci_alloc *));
		g->alloc_space = space;
	}
	g->alloc[i] = a;
	a->slot = i;
}

int armci_alloc_collect(struct armci_group *g)
{
	size_t words = (g->alloc_space + 63) / 64;
	bool any = false;
	uint64_t *freed;
	uint32_t i;
	int rc;

	for (i = 0; i < g->alloc_space; i++)
		any |= g->alloc[i] != NULL;
	if (!any) /* Then no other member has any either. */
		return 0;
	freed = calloc(words, sizeof(*freed));
	if (!freed)
		armci_die("no memory to agree on %u allocations", g->alloc_space);
	for (i = 0; i < g->alloc_space; i++) {
		const struct armci_alloc *a = g->alloc[i];

		/*
		 * A member without a part cannot name the allocation, so it counts as freed there.
		 */
		if (a && (a->freed || !a->seg[g->rank].bytes))
			freed[i / 64] |= (uint64_t)1 << i % 64;
	}
	rc = armci_coll_allreduce(g, freed, words, sizeof(*freed), PAMI_TYPE_UNSIGNED_LONG,
				  PAMI_DATA_BAND);
	g->users++; /* Hold the group until its last allocation is released. */
	for (i = 0; !rc && i < g->alloc_space; i++)
		if (freed[i / 64] >> i % 64 & 1) {
			alloc_release(g->alloc[i]);
			armci_group_release(g);
		}
	free(freed);
	armci_group_release(g);
	return rc;
}

static int alloc_create(struct armci_group *g, void **ptrs, armci_size_t bytes)
{
	struct part own = {.bytes = bytes > 0 ? (uint64_t)bytes : 0}, *all;
	pami_memregion_t *region = NULL;
	struct armci_alloc *a;
	bool used = false, died;
	int i;

	if (!ptrs)
		return FAIL;
	if (armci_alloc_collect(g))
		return bytes < 0 ? FAIL3 : FAIL6;
	if (own.bytes)
		own.va = (uint64_t)(uintptr_t)armci_memory_get(own.bytes, &region);
	own.failed = own.bytes && !own.va;
	a = calloc(1, sizeof(*a) + (size_t)g->size * sizeof(a->seg[0]));
	if (!a || bytes < 0)
		own.failed = 1;
	all = exchange_parts(g, &own, &died);
	if (!all) {
		if (own.va && died)
			memory_keep((uintptr_t)own.va, own.bytes, region);
		else if (own.va)
			armci_memory_put((void *)(uintptr_t)own.va, own.bytes, region);
		free(a);
		return bytes < 0 ? FAIL3 : FAIL6;
	}
	DRV_ASSERT(a);
	a->group = g;
	for (i = 0; i < g->size; i++) {
		ptrs[i] = NULL;
		if (!all[i].bytes)
			continue;
		used = true;
		armci_seg_set(&a->seg[i], (int)g->task[i], all[i].va, all[i].bytes);
		if (armci_map_add(&armci_world.map[g->task[i]], &a->seg[i]))
			armci_die("no memory for the segment table");
		ptrs[i] = (void *)a->seg[i].name;
	}
	free(all);
	a->seg[g->rank].own = region;
	if (own.bytes && armci_region_publish(&a->seg[g->rank]))
		armci_die("no memory for the segment table");
	if (used) {
		slot_assign(a);
		g->users++;
		a->next = armci_world.allocs;
		armci_world.allocs = a;
	} else {
		free(a); /* No member has a pointer by which to free it. */
	}
	return 0;
}

/* The allocation in which this process's part begins at ptr, or NULL. */
static struct armci_alloc *alloc_find(const void *ptr)
{
	struct armci_alloc *a;

	for (a = armci_world.allocs; a; a = a->next)
		if (!a->freed && a->seg[a->group->rank].bytes &&
		    a->seg[a->group->rank].name == (uintptr_t)ptr)
			return a;
	return NULL;
}

/* Mark this process's part as freed. Local, unless the program has freed the group itself. */
static int alloc_destroy(struct armci_group *g, void *ptr)
{
	struct armci_alloc *a = ptr ? alloc_find(ptr) : NULL;

	if (ptr && !a)
		armci_die("ARMCI_Free: %p is not an address that ARMCI_Malloc returned", ptr);
	armci_fence_all();
	if (a) {
		a->freed = true;
		g = a->group;
		if (g->closed)
			return armci_alloc_collect(g);
	}
	/* A process that died does not free its part; ARMCI_Finalize releases the allocation. */
	return armci_group_find_dead(g) >= 0 ? FAIL6 : 0;
}

/* ---- the published names ---- */

int PARMCI_Malloc(void **ptrs, armci_size_t bytes)
{
	ARMCI_ENTER;
	return alloc_create(ARMCI_WORLD, ptrs, bytes);
}
ARMCI_ALIAS(Malloc);

int PARMCI_Free(void *ptr)
{
	ARMCI_ENTER;
	return alloc_destroy(ARMCI_WORLD, ptr);
}
ARMCI_ALIAS(Free);

/* Every device is ordinary memory. */
int PARMCI_Malloc_memdev(void **ptrs, armci_size_t bytes, const char *device)
{
	ARMCI_ENTER;
	return alloc_create(ARMCI_WORLD, ptrs, bytes);
}
ARMCI_ALIAS(Malloc_memdev);

/* Each member gets at least one byte, so that each has a pointer by which to free its part. */
int PARMCI_Malloc_group_memdev(void **ptrs, armci_size_t bytes, ARMCI_Group *group,
			       const char *device)
{
	ARMCI_ENTER;
	struct armci_group *g = armci_group_require(group, "ARMCI_Malloc_group_memdev");

	return g ? alloc_create(g, ptrs, bytes ? bytes : 1) : FAIL6;
}
ARMCI_ALIAS(Malloc_group_memdev);

int PARMCI_Free_memdev(void *ptr)
{
	ARMCI_ENTER;
	return alloc_destroy(ARMCI_WORLD, ptr);
}
ARMCI_ALIAS(Free_memdev);

#pragma GCC visibility push(default)

int ARMCI_Malloc_group(void **ptrs, armci_size_t bytes, ARMCI_Group *group)
{
	ARMCI_ENTER;
	struct armci_group *g = armci_group_require(group, "ARMCI_Malloc_group");

	return g ? alloc_create(g, ptrs, bytes) : FAIL6;
}

int ARMCI_Free_group(void *ptr, ARMCI_Group *group)
{
	ARMCI_ENTER;
	struct armci_group *g = armci_group_require(group, "ARMCI_Free_group");

	return g ? alloc_destroy(g, ptr) : FAIL6;
}

void ARMCI_Set_shm_limit(unsigned long bytes)
{
	atomic_store_relaxed(&shm_limit, bytes);
}

#pragma GCC visibility pop

void *PARMCI_Malloc_local(armci_size_t bytes)
{
	ARMCI_ENTER;
	size_t whole = bytes > 0 ? (size_t)bytes : 1;
	struct armci_seg *s = calloc(1, sizeof(*s));
	void *p = s && bytes >= 0 ? armci_memory_get(whole, &s->own) : NULL;

	if (!p) {
		free(s);
		return NULL;
	}
	s->name = s->va = (uintptr_t)p;
	s->bytes = whole;
	if (!armci_map_add(&armci_world.local_map, s))
		return p;
	armci_memory_put(p, whole, s->own);
	free(s);
	return NULL;
}
ARMCI_ALIAS(Malloc_local);

int PARMCI_Free_local(void *ptr)
{
	ARMCI_ENTER;
	struct armci_map *m = &armci_world.local_map;
	struct armci_seg *s;

	if (!ptr)
		return 0;
	s = armci_map_find(m, (uintptr_t)ptr, 1);
	if (!s || s->name != (uintptr_t)ptr)
		return FAIL;
	armci_map_remove(m, s);
	armci_memory_put(ptr, s->bytes, s->own);
	free(s);
	return 0;
}
ARMCI_ALIAS(Free_local);

void armci_alloc_release_all(void)
{
	struct armci_map *m = &armci_world.local_map;
	struct armci_table *t;

	while (armci_world.allocs)
		alloc_release(armci_world.allocs);
	while ((t = atomic_ptr_load_relaxed(&m->table)))
		PARMCI_Free_local((void *)t->seg[t->count - 1]->name);
	armci_map_release(m);
}
