/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of messages: a few sizes, kept for the next one. From shared memory, so that within a host the
 * messaging unit copies without the kernel; fresh pages from the heap cost more than the copy.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/state.h"

enum { CLASSES = 4, KEPT = 16, HEAD = 64 };

static const size_t class_bytes[CLASSES] = {4u << 10, 16u << 10, 72u << 10,
					    ARMCI_CHUNK_BYTES + (16u << 10)};

/* Before each buffer. */
struct head {
	struct head *next;
	int class; /* -1: of the heap */
};

static struct {
	uint32_t lock;
	struct head *free[CLASSES];
	int count[CLASSES];
} pool;

/* Under the lock; others look at it without, and may be wrong by a little. */
static void count_add(int class, int n)
{
	__atomic_store_n(&pool.count[class], pool.count[class] + n, __ATOMIC_RELAXED);
}

static struct head *fresh(size_t bytes, int class)
{
	struct head *h = NULL;

	if (class >= 0 && armci_world.memory.alloc)
		h = armci_world.memory.alloc(HEAD + class_bytes[class], 64);
	if (h) {
		h->class = class;
		return h;
	}
	h = aligned_alloc(64, (HEAD + bytes + 63) & ~(size_t)63);
	if (h)
		h->class = -1;
	return h;
}

void *armci_pool_get(size_t bytes)
{
	struct head *h = NULL;
	int class = 0;

	while (class < CLASSES && class_bytes[class] < bytes)
		class ++;
	if (class == CLASSES)
		class = -1;
	if (class >= 0 && __atomic_load_n(&pool.count[class], __ATOMIC_RELAXED)) {
		armci_spin_lock(&pool.lock);
		h = pool.free[class];
		if (h) {
			pool.free[class] = h->next;
			count_add(class, -1);
		}
		armci_spin_unlock(&pool.lock);
	}
	if (!h)
		h = fresh(bytes, class);
	if (!h)
		armci_die("no memory for a message of %zu bytes", bytes);
	return (char *)h + HEAD;
}

static void give_back(struct head *h)
{
	if (h->class < 0)
		free(h);
	else
		armci_world.memory.free(h);
}

void armci_pool_put(void *buffer)
{
	struct head *h;
	int class;

	if (!buffer)
		return;
	h = (struct head *)((char *)buffer - HEAD);
	class = h->class;
	if (class >= 0 && __atomic_load_n(&pool.count[class], __ATOMIC_RELAXED) < KEPT) {
		armci_spin_lock(&pool.lock);
		h->next = pool.free[class];
		pool.free[class] = h;
		count_add(class, 1);
		armci_spin_unlock(&pool.lock);
		return;
	}
	give_back(h);
}

/* What came back since: its memory went with the client. */
void armci_pool_forget(void)
{
	memset(&pool, 0, sizeof(pool));
}

void armci_pool_release(void)
{
	int class;

	for (class = 0; class < CLASSES; class ++)
		while (pool.free[class]) {
			struct head *h = pool.free[class];

			pool.free[class] = h->next;
			give_back(h);
		}
	for (class = 0; class < CLASSES; class ++)
		pool.count[class] = 0;
}
