/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arena of the task in the host segment: memory that other tasks of the host may access
 * directly.
 *
 * Chunks are in a list in private memory, ordered by address; allocation is first fit, and adjacent
 * free chunks are merged. Allocation is rare (ARMCI_Malloc), so the code is simple. The pages of a
 * large freed chunk go back to the kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "drivers/base/assert.h"
#include "mu/engine/memory.h"
#include "mu/process.h"
#include "mu/segment/arena_node.h"

struct chunk {
	struct chunk *next;
	uint64_t at, bytes; /* offset in the arena */
	int used;
};

static struct mu_spinlock arena_lock;
static struct chunk *chunks;
static struct mu_host *chunks_of; /* a later attachment starts with an empty list */

#define ALIGN_MIN 64u

static struct chunk *chunk_new(uint64_t at, uint64_t bytes, struct chunk *next)
{
	struct chunk *c = malloc(sizeof *c);

	if (c)
		*c = (struct chunk){next, at, bytes, 0};
	return c;
}

static void reset_chunks(struct mu_process *p)
{
	while (chunks) {
		struct chunk *next = chunks->next;

		free(chunks);
		chunks = next;
	}
	chunks = chunk_new(0, p->host->arena_bytes, NULL);
	chunks_of = p->host;
}

/* Cut [at, at + bytes) out of the free chunk c. Returns 0 or -ENOMEM. */
static int cut_chunk(struct chunk *c, uint64_t at, uint64_t bytes)
{
	uint64_t end = c->at + c->bytes;
	struct chunk *after = NULL, *mine = c;

	DRV_ASSERT(!c->used && at >= c->at && at + bytes <= end);
	if (at + bytes < end && !(after = chunk_new(at + bytes, end - at - bytes, c->next)))
		return -ENOMEM;
	if (at > c->at) {
		mine = chunk_new(at, bytes, after ? after : c->next);
		if (!mine) {
			free(after);
			return -ENOMEM;
		}
		c->bytes = at - c->at;
		c->next = mine;
	} else {
		c->bytes = bytes;
		if (after)
			c->next = after;
	}
	mine->used = 1;
	return 0;
}

void *mu_arena_alloc(size_t bytes, size_t align)
{
	struct mu_process *p = &mu_self;
	char *found = NULL;

	if (!p->refs || (align & (align - 1)) || bytes > p->host->arena_bytes)
		return NULL;
	bytes = (bytes + ALIGN_MIN - 1) & ~(size_t)(ALIGN_MIN - 1);
	if (!bytes)
		bytes = ALIGN_MIN;
	if (align < ALIGN_MIN)
		align = ALIGN_MIN;
	mu_lock_acquire(&arena_lock);
	if (chunks_of != p->host || !chunks)
		reset_chunks(p);
	for (struct chunk *c = chunks; c && !found; c = c->next) {
		uint64_t at = (c->at + align - 1) & ~(uint64_t)(align - 1);

		if (!c->used && at + bytes <= c->at + c->bytes &&
		    mu_host_map_arena(p->host, p->local, at + bytes) && !cut_chunk(c, at, bytes))
			found = mu_host_arena(p->host, p->local) + at;
	}
	if (found) {
		atomic_fetch_add_relaxed(&p->area->arena_used, bytes);
		atomic_store_release(&p->area->arena_mapped,
				     mu_host_arena_mapped(p->host, p->local));
	}
	mu_lock_release(&arena_lock);
	return found;
}

void mu_arena_free(void *ptr)
{
	struct mu_process *p = &mu_self;
	struct chunk *c, *before = NULL;
	uint64_t at;

	if (!p->refs || !ptr)
		return;
	at = (uint64_t)((char *)ptr - mu_host_arena(p->host, p->local));
	mu_lock_acquire(&arena_lock);
	for (c = chunks; c && c->at != at; c = c->next)
		before = c;
	if (c && c->used && chunks_of == p->host) {
		c->used = 0;
		atomic_fetch_sub_relaxed(&p->area->arena_used, c->bytes);
		if (c->bytes >= 1 << 20)
			madvise((char *)ptr + 4095 - ((uintptr_t)ptr + 4095) % 4096,
				(c->bytes - 4096) & ~4095ul, MADV_REMOVE);
		if (c->next && !c->next->used) {
			struct chunk *gone = c->next;

			c->bytes += gone->bytes;
			c->next = gone->next;
			free(gone);
		}
		if (before && !before->used) {
			before->bytes += c->bytes;
			before->next = c->next;
			free(c);
		}
	}
	mu_lock_release(&arena_lock);
}

/* Fill the window of a task whose segment this process has mapped. */
static void fill_window(struct mu_process *p, uint32_t task, struct mu_window *w)
{
	uint64_t first, base, mapped;
	uint32_t local;

	if (mu_is_unreachable(p, task))
		return;
	local = p->entry[task].local;
	base = atomic_load_relaxed(&mu_host_area(p->host, local)->map_base);
	if (!base)
		return;
	first = mu_host_arenas_at(p->host) + p->host->arena_bytes * local;
	mapped = atomic_load_acquire(&mu_host_area(p->host, local)->arena_mapped);
	if (!mu_host_map_arena(p->host, local, mapped))
		return;
	w->first = base + first;
	w->bytes = mapped;
	w->room = p->host->arena_bytes;
	w->delta = (uint64_t)(uintptr_t)p->host - base;
}

void mu_arena_window_update(uint32_t task, struct mu_window *w)
{
	struct mu_process *p = &mu_self;

	*w = (struct mu_window){.task = task, .deaths = mu_death_count()};
	if (p->refs && task < p->host->tasks && p->near[task])
		fill_window(p, task, w);
}

void *mu_arena_address_of_node(uint32_t task, uint64_t va, size_t bytes)
{
	struct mu_process *p = &mu_self;
	struct mu_window w = {0};

	if (!p->refs || task >= p->host->tasks || p->entry[task].host != p->host->host ||
	    p->entry[task].node != p->entry[p->task].node)
		return NULL;
	fill_window(p, task, &w);
	return va - w.first < w.bytes && bytes <= w.bytes - (va - w.first)
		   ? (void *)(uintptr_t)(va + w.delta)
		   : NULL;
}

void *mu_arena_address(uint32_t task, uint64_t va, size_t bytes)
{
	struct mu_window w = {0};

	return mu_arena_address_cached(&w, task, va, bytes);
}

uint64_t mu_arena_offset(const void *p)
{
	return (uint64_t)((const char *)p - (const char *)mu_self.host);
}

int mu_is_arena_memory(const void *at, size_t bytes)
{
	return mu_self.refs && mu_is_in_segment(&mu_self, (uint64_t)(uintptr_t)at, bytes);
}
