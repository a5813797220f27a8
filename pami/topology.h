/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ordered members of a geometry, kept as loops where they can be:
 *
 *   tasks 0 .. 999999, context 0          1 block, 1 loop     first 0, 1000000 x 64
 *   a plane of a torus, all contexts      1 block, 3 loops    16 x 1, 4 x 64, 8 x 4096
 *   anything else                         a plain list, and an index sorted by endpoint
 *
 * A member is an endpoint number (task * 64 + context offset); its rank is its place in the order.
 * Immutable once made: any thread may read.
 */
#ifndef PAMI_TOPOLOGY_H
#define PAMI_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#define PAMI_TOPOLOGY_LOOPS 8

struct pami_topology_loop {
	uint32_t count;
	int32_t stride; /* larger than everything inside it spans */
};

struct pami_topology_block {
	uint32_t first, base, members; /* endpoint of the lowest rank, that rank, how many */
	uint32_t loops;                /* loop[0] is the innermost */
	struct pami_topology_loop loop[PAMI_TOPOLOGY_LOOPS];
};

struct pami_topology {
	uint32_t size; /* members */
	uint32_t blocks, room;
	struct pami_topology_block *block; /* by base; NULL: list */
	uint32_t *list, *sorted;           /* endpoints by rank; ranks by endpoint */
};

/* Start empty, add members in rank order, end. Add returns 0 or -ENOMEM. */
void pami_topology_init(struct pami_topology *t);
/* `count` > 0 endpoints from `first`, `stride` apart. */
int pami_topology_add(struct pami_topology *t, uint32_t first, uint32_t count, int32_t stride);
/*
 * Fold blocks into loops, or into a list where that is smaller. `inner` > 1: each member stands
 * for that many consecutive endpoints. 0, -EINVAL: empty, or an endpoint twice; -ENOMEM.
 */
int pami_topology_end(struct pami_topology *t, uint32_t inner);
void pami_topology_fini(struct pami_topology *t);

/* rank: 0 .. size - 1. */
uint32_t pami_topology_endpoint(const struct pami_topology *t, uint32_t rank);
/* -1: not a member. */
int32_t pami_topology_rank(const struct pami_topology *t, uint32_t endpoint);
/* The same for equal members in equal order, however they were given. */
uint64_t pami_topology_hash(const struct pami_topology *t);
/* Heap memory held. */
size_t pami_topology_bytes(const struct pami_topology *t);

#endif
