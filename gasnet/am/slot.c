/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: memory of messages that do not fit one packet.
 *
 * A slot lies in shared memory of the sender. Neighbours read the payload there and release the
 * slot, so a medium message between them is one copy, or none if the program assembles it there.
 * Where no slot is free, or the target does not map them, the payload lies in a private buffer that
 * PAMI sends.
 */
#include <stdlib.h>
#include <string.h>

#include "gasnet/am/am.h"

enum { SMALL_COUNT = 64, BIG_COUNT = 32, LOOK = 4 };
enum { CLASS_SMALL, CLASS_BIG, CLASS_OTHER };

static struct {
	char *base;
	unsigned next[2];
	struct gexi_buffer *free[2];
} pool;

static size_t big_bytes(void)
{
	return sizeof(struct gexi_slot) + ((gexi_world.env.medium_max + 63) & ~(size_t)63);
}

static size_t small_bytes(void)
{
	return sizeof(struct gexi_slot) + GEXI_BUFFER_SMALL;
}

size_t gexi_slots_bytes(void)
{
	return SMALL_COUNT * small_bytes() + BIG_COUNT * big_bytes();
}

void *gexi_slots_open(void)
{
	if (!gexi_world.alloc || gexi_world.is_virtual || !gexi_world.env.shm ||
	    gexi_world.env.nbrhd_max == 1)
		return NULL;
	pool.base = gexi_world.alloc(gexi_slots_bytes(), 64);
	if (!pool.base)
		return NULL; /* payloads then lie in private buffers */
	for (unsigned i = 0; i < SMALL_COUNT + BIG_COUNT; i++) {
		size_t at = i < SMALL_COUNT
				? i * small_bytes()
				: SMALL_COUNT * small_bytes() + (i - SMALL_COUNT) * big_bytes();
		struct gexi_slot *s = (struct gexi_slot *)(pool.base + at);

		atomic_store_relaxed(&s->busy, 0);
		s->offset = (uint32_t)at;
	}
	return pool.base;
}

struct gexi_slot *gexi_slot_take(size_t bytes)
{
	unsigned class = bytes <= GEXI_BUFFER_SMALL ? CLASS_SMALL : CLASS_BIG;
	unsigned count = class == CLASS_SMALL ? SMALL_COUNT : BIG_COUNT;
	size_t each = class == CLASS_SMALL ? small_bytes() : big_bytes();
	char *first = pool.base + (class == CLASS_SMALL ? 0 : SMALL_COUNT * small_bytes());

	if (!pool.base)
		return NULL;
	for (int i = 0; i < LOOK; i++) {
		unsigned at = pool.next[class]++ % count;
		struct gexi_slot *s = (struct gexi_slot *)(first + at * each);

		if (atomic_load_acquire(&s->busy))
			continue;
		atomic_store_relaxed(&s->busy, 1);
		return s;
	}
	return NULL;
}

void gexi_slot_release(struct gexi_slot *slot)
{
	atomic_store_release(&slot->busy, 0);
}

/* ---- private buffers ---- */

struct gexi_buffer *gexi_buffer_take(size_t bytes)
{
	unsigned class = bytes <= GEXI_BUFFER_SMALL           ? CLASS_SMALL
			 : bytes <= gexi_world.env.medium_max ? CLASS_BIG
							      : CLASS_OTHER;
	struct gexi_buffer *b = class == CLASS_OTHER ? NULL : pool.free[class];

	if (b) {
		pool.free[class] = b->next;
	} else {
		size_t room = class == CLASS_SMALL ? GEXI_BUFFER_SMALL
			      : class == CLASS_BIG ? gexi_world.env.medium_max
						   : bytes;

		b = aligned_alloc(64, (sizeof(*b) + room + 63) & ~(size_t)63);
		if (!b)
			gexi_die("no memory for a message of %zu bytes", bytes);
		b->size_class = class;
	}
	b->local.fn = NULL;
	return b;
}

void gexi_buffer_release(struct gexi_buffer *b)
{
	if (b->size_class == CLASS_OTHER) {
		free(b);
		return;
	}
	b->next = pool.free[b->size_class];
	pool.free[b->size_class] = b;
}

void gexi_buffer_sent(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_buffer *b = cookie;

	if (b->local.fn)
		b->local.fn(context, b->local.cookie, result);
	else if (result != PAMI_SUCCESS)
		gexi_operation_failed("an active message", result);
	gexi_buffer_release(b);
}
