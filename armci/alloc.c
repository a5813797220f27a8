/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective and local memory: allocated, registered, and made known to every process. */
#include <stdlib.h>
#include <string.h>

#include "armci/alloc.h"
#include "armci/coll.h"
#include "drivers/base/log.h"

#define GUARD_BYTES 64u
#define GUARD_BYTE  0xa5

/* One collective allocation; the same id at all members. */
struct armci_alloc {
	struct armci_alloc *next;
	struct armci_group *group;
	uint64_t id;            /* counts in the group */
	struct armci_seg seg[]; /* per member */
};

/* What each process tells the others; its region they ask for when they need it (region.c). */
struct card {
	uint64_t va, bytes, failed;
};

static unsigned long shm_limit = ~0ul, shm_used; /* the limit may be set before ARMCI_Init */

static void *memory_get(size_t bytes)
{
	size_t whole = bytes + (armci_env.debug_alloc ? GUARD_BYTES : 0);
	char *p;

	shm_used += bytes;
	if (armci_env.shm_limit < shm_limit)
		shm_limit = armci_env.shm_limit;
	if (shm_used > shm_limit && shm_used - bytes <= shm_limit)
		drv_warn("armci: process %d has more than the limit of %lu bytes of shared memory",
			 armci_world.me, shm_limit);
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
			armci_die("memory behind an allocation of %zu bytes at %p was written to", bytes,
				  p);
	if (armci_world.memory.free)
		armci_world.memory.free(p);
	else
		free(p);
}

/* A region, or NULL: then transfers do without. */
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
	s->direct = armci_direct(proc, s->va, s->bytes);
	s->name = s->direct ? (uintptr_t)s->direct : s->va;
}

/* Cards of all members, or NULL if somebody failed (then everybody sees so) or died (some may have them all). */
static struct card *exchange(struct armci_group *g, const struct card *mine, bool *died)
{
	size_t n = (size_t)g->size, i;
	struct card *all = malloc(n * sizeof(*all));

	if (!all)
		armci_die("no memory to exchange %zu addresses", n);
	*died = armci_coll_allgather(g, mine, all, sizeof(*mine)) != 0;
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

/* Memory that another member may write to: it stays until ARMCI_Finalize. */
static void memory_keep(uintptr_t p, size_t bytes, pami_memregion_t *region)
{
	struct armci_seg *s = calloc(1, sizeof(*s));

	if (!s)
		return; /* it stays for good */
	s->name = s->va = p;
	s->bytes = bytes;
	s->own = region;
	if (armci_map_add(&armci_world.local_map, s))
		free(s);
}

static int alloc_create(struct armci_group *g, void **ptrs, armci_size_t bytes)
{
	struct card mine = {.bytes = bytes > 0 ? (uint64_t)bytes : 0}, *all;
	pami_memregion_t *region = NULL;
	struct armci_alloc *a;
	bool used = false, died;
	int i;

	if (!ptrs)
		return FAIL;
	if (mine.bytes)
		mine.va = (uint64_t)(uintptr_t)armci_memory_get(mine.bytes, &region);
	mine.failed = mine.bytes && !mine.va;
	a = calloc(1, sizeof(*a) + (size_t)g->size * sizeof(a->seg[0]));
	if (!a || bytes < 0)
		mine.failed = 1;
	all = exchange(g, &mine, &died);
	if (!all) {
		if (mine.va && died)
			memory_keep((uintptr_t)mine.va, mine.bytes, region);
		else if (mine.va)
			armci_memory_put((void *)(uintptr_t)mine.va, mine.bytes, region);
		free(a);
		return bytes < 0 ? FAIL3 : FAIL6;
	}
	a->id = ++g->next_alloc;
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
	if (mine.bytes && armci_region_offer(&a->seg[g->rank]))
		armci_die("no memory for the segment table");
	if (used) {
		g->users++;
		a->next = armci_world.allocs;
		armci_world.allocs = a;
	} else {
		free(a); /* nobody holds a pointer to free it by */
	}
	return 0;
}

static void alloc_release(struct armci_alloc *a)
{
	struct armci_seg *mine = &a->seg[a->group->rank];
	int i;

	for (i = 0; i < a->group->size; i++)
		if (a->seg[i].bytes) {
			armci_map_remove(&armci_world.map[a->group->task[i]], &a->seg[i]);
			armci_seg_release(&a->seg[i]);
		}
	if (mine->bytes) {
		armci_region_withdraw(mine);
		armci_memory_put((void *)mine->va, mine->bytes, mine->own);
	}
	free(a);
}

/* The allocation whose part of this process begins at ptr, or NULL. */
static struct armci_alloc *alloc_find(const void *ptr)
{
	struct armci_alloc *a;

	for (a = armci_world.allocs; a; a = a->next)
		if (a->seg[a->group->rank].bytes && a->seg[a->group->rank].name == (uintptr_t)ptr)
			return a;
	return NULL;
}

/*
 * Collective over g, unless this process's pointer says that the memory is another group's. The members
 * with memory tell the others which allocation is meant.
 */
static int alloc_destroy(struct armci_group *g, void *ptr)
{
	struct armci_alloc **p, *a = ptr ? alloc_find(ptr) : NULL;
	uint64_t id = a ? a->id : 0, agreed = id;

	if (ptr && !a)
		armci_die("ARMCI_Free of %p, which ARMCI_Malloc did not return", ptr);
	if (a)
		g = a->group;
	armci_fence_all();
	/* Others may still use what not all agree on: it goes with ARMCI_Finalize. */
	if (armci_coll_allreduce(g, &agreed, 1, sizeof(agreed), PAMI_TYPE_UNSIGNED_LONG, PAMI_DATA_MAX))
		return FAIL6;
	if (id && id != agreed)
		armci_die("ARMCI_Free: processes free different allocations");
	for (p = &armci_world.allocs; *p && ((*p)->id != agreed || (*p)->group != g); p = &(*p)->next)
		;
	if (!*p) /* everybody passed NULL: nothing that can be named */
		return 0;
	a = *p;
	if (!id && a->seg[g->rank].bytes)
		armci_die("ARMCI_Free(NULL) where this process has %zu bytes", a->seg[g->rank].bytes);
	*p = a->next;
	alloc_release(a);
	armci_group_put(g);
	return 0;
}

/* ---- the published names ---- */

int PARMCI_Malloc(void **ptrs, armci_size_t bytes)
{
	ARMCI_ENTER;
	return alloc_create(armci_world.all, ptrs, bytes);
}
ARMCI_ALIAS(Malloc);

int PARMCI_Free(void *ptr)
{
	ARMCI_ENTER;
	return alloc_destroy(armci_world.all, ptr);
}
ARMCI_ALIAS(Free);

/* Every device is ordinary memory. */
int PARMCI_Malloc_memdev(void **ptrs, armci_size_t bytes, const char *device)
{
	ARMCI_ENTER;
	return alloc_create(armci_world.all, ptrs, bytes);
}
ARMCI_ALIAS(Malloc_memdev);

/* A byte at least, so that every member has a pointer that says whose it is when it is freed. */
int PARMCI_Malloc_group_memdev(void **ptrs, armci_size_t bytes, ARMCI_Group *group, const char *device)
{
	ARMCI_ENTER;
	struct armci_group *g = armci_group_member(group, "ARMCI_Malloc_group_memdev");

	return g ? alloc_create(g, ptrs, bytes ? bytes : 1) : FAIL6;
}
ARMCI_ALIAS(Malloc_group_memdev);

int PARMCI_Free_memdev(void *ptr)
{
	ARMCI_ENTER;
	return alloc_destroy(armci_world.all, ptr);
}
ARMCI_ALIAS(Free_memdev);

#pragma GCC visibility push(default)

int ARMCI_Malloc_group(void **ptrs, armci_size_t bytes, ARMCI_Group *group)
{
	ARMCI_ENTER;
	struct armci_group *g = armci_group_member(group, "ARMCI_Malloc_group");

	return g ? alloc_create(g, ptrs, bytes) : FAIL6;
}

int ARMCI_Free_group(void *ptr, ARMCI_Group *group)
{
	ARMCI_ENTER;
	struct armci_group *g = armci_group_member(group, "ARMCI_Free_group");

	return g ? alloc_destroy(g, ptr) : FAIL6;
}

void ARMCI_Set_shm_limit(unsigned long bytes)
{
	shm_limit = bytes;
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
	uint32_t i;

	if (!ptr)
		return 0;
	for (i = 0; i < m->count && m->seg[i]->name != (uintptr_t)ptr; i++)
		;
	if (i == m->count)
		return FAIL;
	s = m->seg[i];
	armci_map_remove(m, s);
	armci_memory_put(ptr, s->bytes, s->own);
	free(s);
	return 0;
}
ARMCI_ALIAS(Free_local);

void armci_alloc_release_all(void)
{
	struct armci_map *m = &armci_world.local_map;

	while (armci_world.allocs) {
		struct armci_alloc *a = armci_world.allocs;

		armci_world.allocs = a->next;
		alloc_release(a);
	}
	while (m->count)
		PARMCI_Free_local((void *)m->seg[m->count - 1]->name);
	free(m->seg);
	memset(m, 0, sizeof(*m));
}
