/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools from which the queues of a DPDK port take their buffers. */
#define _GNU_SOURCE
#include "drivers/port_dpdk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

/*
 * A stack of buffers without a lock, for the pool of a memif's queue. The thread that uses the port
 * takes and frees all buffers: EAL's thread has none, since this driver of memif copies frames.
 */
struct dpdk_stack {
	unsigned count;
	void *object[];
};

static int stack_alloc(struct rte_mempool *pool)
{
	pool->pool_data = calloc(1, sizeof(struct dpdk_stack) + pool->size * sizeof(void *));
	return pool->pool_data ? 0 : -ENOMEM;
}

static void stack_free(struct rte_mempool *pool)
{
	free(pool->pool_data);
}

static int stack_enqueue(struct rte_mempool *pool, void *const *object, unsigned n)
{
	struct dpdk_stack *s = pool->pool_data;

	for (unsigned i = 0; i < n; i++)
		s->object[s->count++] = object[i];
	return 0;
}

static int stack_dequeue(struct rte_mempool *pool, void **object, unsigned n)
{
	struct dpdk_stack *s = pool->pool_data;

	if (n > s->count)
		return -ENOBUFS;
	for (unsigned i = 0; i < n; i++)
		object[i] = s->object[--s->count];
	return 0;
}

static unsigned stack_count(const struct rte_mempool *pool)
{
	return ((const struct dpdk_stack *)pool->pool_data)->count;
}

static const struct rte_mempool_ops stack_ops = {.name = "quintorus_stack",
						 .alloc = stack_alloc,
						 .free = stack_free,
						 .enqueue = stack_enqueue,
						 .dequeue = stack_dequeue,
						 .get_count = stack_count};
RTE_MEMPOOL_REGISTER_OPS(stack_ops);

struct rte_mempool *dpdk_pool_create(struct dpdk_device *d, unsigned queue,
				     struct drv_port_why *why)
{
	const char *ops = d->kind == DPDK_MEMIF ? stack_ops.name : "stack";
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	if (!d->mbuf_bytes)
		d->mbuf_bytes = ((d->mtu + 64 + 1023) & ~1023u) + RTE_PKTMBUF_HEADROOM;
	snprintf(name, sizeof name, "qt%.18s.%c", d->name, 'a' + (int)queue);
	pool = rte_pktmbuf_pool_create_by_ops(name, d->mbufs, 0, 0, (uint16_t)d->mbuf_bytes,
					      SOCKET_ID_ANY, ops);
	if (!pool)
		pool = rte_pktmbuf_pool_create(name, d->mbufs, 64, 0, (uint16_t)d->mbuf_bytes,
					       SOCKET_ID_ANY);
	if (!pool)
		drv_port_fail(why, -ENOMEM,
			      "no memory for %u buffers of %u bytes (%s); close other "
			      "ports of this process, or take fewer queues",
			      d->mbufs, d->mbuf_bytes, rte_strerror(rte_errno));
	return pool;
}
