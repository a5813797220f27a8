/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ordered members of a geometry, stored as loops where that is possible:
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
	int32_t stride; /* larger than the span of the loops inside it */
};

struct pami_topology_block {
	uint32_t first, base; /* the endpoint of the lowest rank, and that rank */
	uint32_t members;
	uint32_t loops; /* loop[0] is the innermost */
	struct pami_topology_loop loop[PAMI_TOPOLOGY_LOOPS];
};

struct pami_topology {
	uint32_t size; /* members */
	uint32_t blocks, room;
	struct pami_topology_block *block; /* by base; NULL: list */
	uint32_t *list, *sorted;           /* endpoints by rank; ranks by endpoint */
};

/* Begin empty, add members in rank order, then end. Add returns 0 or -ENOMEM. */
void pami_topology_init(struct pami_topology *t);
/* `count` > 0 endpoints from `first`, `stride` apart. */
int pami_topology_add(struct pami_topology *t, uint32_t first, uint32_t count, int32_t stride);
/*
 * Fold blocks into loops, or into a list where that is smaller. `inner` > 1: each member stands for
 * that many consecutive endpoints. Returns 0; -EINVAL if it is empty or has an endpoint twice;
 * -ENOMEM.
 */
int pami_topology_end(struct pami_topology *t, uint32_t inner);
void pami_topology_fini(struct pami_topology *t);

/* The endpoint of a rank, 0 .. size - 1. */
uint32_t pami_topology_endpoint(const struct pami_topology *t, uint32_t rank);
/* The rank of an endpoint; -1: it is no member. */
int32_t pami_topology_rank(const struct pami_topology *t, uint32_t endpoint);
/* A hash of the members in order; it does not depend on how the caller added them. */
uint64_t pami_topology_hash(const struct pami_topology *t);
/* Bytes of heap memory in use. */
size_t pami_topology_bytes(const struct pami_topology *t);

#endif
