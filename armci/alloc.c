/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective and local memory: allocated, registered, and made known to every process. */
#include <stdlib.h>
#include <string.h>

#include "armci/state.h"
#include "drivers/base/log.h"

/* One collective allocation; the same id everywhere. */
struct armci_alloc {
	struct armci_alloc *next;
	uint64_t id;
	struct armci_seg seg[]; /* per process */
};

/* What each process tells the others. */
struct card {
	uint64_t va, bytes, failed;
	pami_memregion_t region;
};

static void *memory_get(size_t bytes)
{
	if (armci_world.memory.alloc)
		return armci_world.memory.alloc(bytes, 64);
	return aligned_alloc(64, (bytes + 63) & ~(size_t)63);
}

static void memory_put(void *p)
{
	if (armci_world.memory.free)
		armci_world.memory.free(p);
	else
		free(p);
}

static int region_create(void *p, size_t bytes, pami_memregion_t *region)
{
	size_t got = 0;

	if (PAMI_Memregion_create(armci_world.context[ARMCI_ORIGIN], p, bytes, &got, region) !=
	    PAMI_SUCCESS)
		return FAIL6;
	return got == bytes ? 0 : FAIL6;
}

static void region_destroy(pami_memregion_t *region)
{
	PAMI_Memregion_destroy(armci_world.context[ARMCI_ORIGIN], region);
}

/* My part: memory and region; card->failed tells. */
static void part_create(struct card *card, size_t bytes)
{
	void *p;

	memset(card, 0, sizeof(*card));
	if (!bytes)
		return;
	card->bytes = bytes;
	p = memory_get(bytes);
	if (p && !region_create(p, bytes, &card->region)) {
		card->va = (uint64_t)(uintptr_t)p;
		return;
	}
	if (p)
		memory_put(p);
	card->failed = 1;
	drv_error("armci: no memory for an allocation of %zu bytes", bytes);
}

static void part_destroy(struct card *card)
{
	if (!card->va)
		return;
	region_destroy(&card->region);
	memory_put((void *)(uintptr_t)card->va);
}

static void seg_set(struct armci_seg *s, int proc, const struct card *card)
{
	s->va = (uintptr_t)card->va;
	s->bytes = card->bytes;
	memcpy(&s->region, &card->region, sizeof(s->region));
	s->direct = armci_direct(proc, s->va, s->bytes);
	s->name = s->direct ? (uintptr_t)s->direct : s->va;
}

/* Cards of all, or NULL if somebody failed (then everybody sees so). */
static struct card *exchange(const struct card *mine)
{
	size_t n = (size_t)armci_world.nproc, i;
	struct card *all = malloc(n * sizeof(*all));

	if (!all)
		armci_die("no memory to exchange %zu addresses", n);
	armci_coll_allgather(mine, all, sizeof(*mine));
	for (i = 0; i < n; i++)
		if (all[i].failed) {
			free(all);
			return NULL;
		}
	return all;
}

int PARMCI_Malloc(void **ptrs, armci_size_t bytes)
{
	size_t n = (size_t)armci_world.nproc;
	struct armci_alloc *a;
	struct card mine, *all;
	bool used = false;
	int i;

	if (!ptrs)
		return FAIL;
	part_create(&mine, bytes > 0 ? (size_t)bytes : 0);
	a = calloc(1, sizeof(*a) + n * sizeof(a->seg[0]));
	if (!a || bytes < 0)
		mine.failed = 1;
	all = exchange(&mine);
	if (!all) {
		part_destroy(&mine);
		free(a);
		return bytes < 0 ? FAIL3 : FAIL6;
	}
	a->id = ++armci_world.next_alloc;
	for (i = 0; i < armci_world.nproc; i++) {
		ptrs[i] = NULL;
		if (!all[i].bytes)
			continue;
		used = true;
		seg_set(&a->seg[i], i, &all[i]);
		if (armci_map_add(&armci_world.map[i], &a->seg[i]))
			armci_die("no memory for the segment table");
		ptrs[i] = (void *)a->seg[i].name;
	}
	free(all);
	if (used) {
		a->next = armci_world.allocs;
		armci_world.allocs = a;
	} else {
		free(a); /* nobody holds a pointer to free it by */
	}
	return 0;
}
ARMCI_ALIAS(Malloc);

static void alloc_release(struct armci_alloc *a)
{
	struct armci_seg *mine = &a->seg[armci_world.me];
	int i;

	for (i = 0; i < armci_world.nproc; i++)
		if (a->seg[i].bytes)
			armci_map_remove(&armci_world.map[i], &a->seg[i]);
	if (mine->bytes) {
		region_destroy(&mine->region);
		memory_put((void *)mine->va);
	}
	free(a);
}

int PARMCI_Free(void *ptr)
{
	struct armci_alloc **p, *a;
	uint64_t id = 0, agreed;

	for (a = armci_world.allocs; ptr && a; a = a->next)
		if (a->seg[armci_world.me].bytes && a->seg[armci_world.me].name == (uintptr_t)ptr)
			id = a->id;
	if (ptr && !id)
		armci_die("ARMCI_Free of %p, which ARMCI_Malloc did not return", ptr);
	armci_fence_all();
	agreed = id;
	armci_coll_allreduce(&agreed, 1, sizeof(agreed), PAMI_TYPE_UNSIGNED_LONG, PAMI_DATA_MAX);
	if (id && id != agreed)
		armci_die("ARMCI_Free: processes free different allocations");
	for (p = &armci_world.allocs; *p && (*p)->id != agreed; p = &(*p)->next)
		;
	if (!*p) /* everybody passed NULL: nothing that can be named */
		return 0;
	a = *p;
	if (!id && a->seg[armci_world.me].bytes)
		armci_die("ARMCI_Free(NULL) where this process has %zu bytes",
			  a->seg[armci_world.me].bytes);
	*p = a->next;
	alloc_release(a);
	return 0;
}
ARMCI_ALIAS(Free);

void *PARMCI_Malloc_local(armci_size_t bytes)
{
	struct armci_seg *s;
	void *p;

	if (bytes < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	p = memory_get(bytes ? (size_t)bytes : 1);
	if (!s || !p)
		goto err_memory;
	s->name = s->va = (uintptr_t)p;
	s->bytes = bytes ? (size_t)bytes : 1;
	if (region_create(p, s->bytes, &s->region))
		goto err_memory;
	if (armci_map_add(&armci_world.local_map, s))
		goto err_region;
	return p;
err_region:
	region_destroy(&s->region);
err_memory:
	if (p)
		memory_put(p);
	free(s);
	return NULL;
}
ARMCI_ALIAS(Malloc_local);

int PARMCI_Free_local(void *ptr)
{
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
	region_destroy(&s->region);
	memory_put(ptr);
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
