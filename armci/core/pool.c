/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Message buffers in a few sizes, kept for reuse. They are in shared memory where possible, so that
 * the messaging unit copies within a host without the kernel. Fresh pages from the heap would cost
 * more than the copy.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/limits.h"
#include "armci/core/pool.h"
#include "armci/core/world.h"
#include "armci/transfer/acc.h"
#include "drivers/base/atomic.h"

enum { CLASSES = 4, KEPT = 16, HEAD = 64 };

static const size_t class_bytes[CLASSES] = {4u << 10, 16u << 10, 72u << 10,
					    ARMCI_CHUNK_BYTES + (16u << 10)};

/* Precedes each buffer. */
struct head {
	struct head *next;
	int class; /* -1: from the heap */
};

static struct {
	atomic_u32 lock;
	struct head *free[CLASSES];
	atomic_i32 count[CLASSES];
} pool;

/* The caller holds the lock. Others read the count without it, and may see it a little late. */
static void count_add(int class, int n)
{
	atomic_store_relaxed(&pool.count[class], atomic_load_relaxed(&pool.count[class]) + n);
}

static struct head *buffer_create(size_t bytes, int class)
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
	if (class >= 0 && atomic_load_relaxed(&pool.count[class])) {
		armci_spin_lock(&pool.lock);
		h = pool.free[class];
		if (h) {
			pool.free[class] = h->next;
			count_add(class, -1);
		}
		armci_spin_unlock(&pool.lock);
	}
	if (!h)
		h = buffer_create(bytes, class);
	if (!h)
		armci_die("no memory for a message of %zu bytes", bytes);
	return (char *)h + HEAD;
}

static void buffer_free(struct head *h)
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
	if (class >= 0 && atomic_load_relaxed(&pool.count[class]) < KEPT) {
		armci_spin_lock(&pool.lock);
		h->next = pool.free[class];
		pool.free[class] = h;
		count_add(class, 1);
		armci_spin_unlock(&pool.lock);
		return;
	}
	buffer_free(h);
}

/* Buffers that came back after armci_pool_release() lost their memory with the client. */
void armci_pool_reset(void)
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
			buffer_free(h);
		}
	for (class = 0; class < CLASSES; class ++)
		atomic_store_relaxed(&pool.count[class], 0);
}
