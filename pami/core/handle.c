/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the objects behind handles: slabs and a free list for each kind. */
#include "pami/core/handle.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"

#define SLABS         24
#define FIRST_OBJECTS 4 /* of the first slab; each further slab has twice as many */

/* A slab never moves and never goes, so readers need no lock. */
struct pool {
	void *free_list;
	size_t room;      /* bytes of an object */
	atomic_u32 slabs; /* those that exist */
	char *slab[SLABS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool pools[PAMI_HANDLE_KINDS];

static size_t room_of(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

static size_t slab_objects(uint32_t slab)
{
	return (size_t)FIRST_OBJECTS << slab;
}

/* A free object is linked through its last word, so its magic number stays readable. */
static void **link_of(void *handle, size_t room)
{
	return (void **)(void *)((char *)handle + room - sizeof(void *));
}

/* Under the lock. */
static void push_free(struct pool *p, void *handle)
{
	*link_of(handle, p->room) = p->free_list;
	p->free_list = handle;
}

/* Under the lock. Without memory the free list stays empty. */
static void add_slab(struct pool *p, size_t room)
{
	uint32_t n = atomic_load_relaxed(&p->slabs);
	size_t objects = slab_objects(n);
	char *slab = n < SLABS ? aligned_alloc(64, objects * room) : NULL;

	if (!slab)
		return;
	memset(slab, 0, objects * room);
	if (!n)
		p->room = room;
	p->slab[n] = slab;
	while (objects--)
		push_free(p, slab + objects * room);
	atomic_store_release(&p->slabs, n + 1);
}

void *pami_handle_new(enum pami_handle_kind kind, size_t bytes)
{
	struct pool *p = &pools[kind];
	size_t room = room_of(bytes);
	void *handle;

	pthread_mutex_lock(&lock);
	if (!p->free_list)
		add_slab(p, room);
	handle = p->free_list;
	if (handle)
		p->free_list = *link_of(handle, room);
	pthread_mutex_unlock(&lock);
	return handle ? memset(handle, 0, room) : NULL;
}

void pami_handle_free(enum pami_handle_kind kind, size_t bytes, void *handle)
{
	if (!handle)
		return;
	pthread_mutex_lock(&lock);
	push_free(&pools[kind], handle);
	pthread_mutex_unlock(&lock);
}

bool pami_handle_is_known(enum pami_handle_kind kind, const void *handle)
{
	const struct pool *p = &pools[kind];
	uint32_t slabs = atomic_load_acquire(&p->slabs);

	for (uint32_t i = 0; i < slabs; i++) {
		uintptr_t at = (uintptr_t)handle - (uintptr_t)p->slab[i];

		if (at < slab_objects(i) * p->room)
			return at % p->room == 0;
	}
	return false;
}
