/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that algorithms share, and the step and begin functions that coll/list.c lists. */
#ifndef PAMI_COLL_ALGORITHMS_H
#define PAMI_COLL_ALGORITHMS_H

#include "pami/coll/coll.h"

/* An algorithm in which members talk to all others has this many partners under way at once. */
#define PAMI_COLL_WINDOW 8u

/*
 * Talk to all other members, a window in each phase. `talk` gets the distances 1 .. size - 1.
 * Returns PAMI_COLL_DONE in the phase after the last.
 */
static inline int pami_coll_talk_to_all(struct pami_coll *c,
					int (*talk)(struct pami_coll *c, uint32_t distance))
{
	uint64_t from = 1 + (uint64_t)c->phase * PAMI_COLL_WINDOW;
	int rc = 0;

	if (from >= c->size)
		return PAMI_COLL_DONE;
	for (uint64_t d = from; d < from + PAMI_COLL_WINDOW && d < c->size && !rc; d++)
		rc = talk(c, (uint32_t)d);
	return rc;
}

/* Return the member `distance` ranks after, or before, this one. */
static inline uint32_t pami_coll_rank_after(const struct pami_coll *c, uint64_t distance)
{
	return (uint32_t)((c->rank + distance) % c->size);
}

static inline uint32_t pami_coll_rank_before(const struct pami_coll *c, uint64_t distance)
{
	return (uint32_t)((c->rank + c->size - distance) % c->size);
}

/* Convert a rank to one counted from the root, and back. */
static inline uint32_t pami_coll_relative(const struct pami_coll *c, uint32_t rank)
{
	return rank >= c->root ? rank - c->root : rank + c->size - c->root;
}

static inline uint32_t pami_coll_absolute(const struct pami_coll *c, uint64_t relative)
{
	return (uint32_t)((relative + c->root) % c->size);
}

/*
 * Return the width of this member's subtree in a binomial tree. The subtree is that many relative
 * ranks from its own on, as far as there are members. A power of two.
 */
static inline uint64_t pami_coll_subtree(const struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank);
	uint64_t width = relative ? relative & -relative : 1;

	while (!relative && width < c->size)
		width *= 2;
	return width;
}

/* Return where part i begins if `bytes` are divided into `size` parts of whole elements. */
static inline size_t pami_coll_part(const struct pami_coll *c, size_t bytes, uint64_t i)
{
	uint64_t elements = c->element_bytes ? bytes / c->element_bytes : 0,
		 each = elements / c->size, more = elements % c->size;

	return (size_t)(each * i + (i < more ? i : more)) * c->element_bytes;
}

/* coll/p2p/barrier.c */
int pami_barrier_radix(struct pami_coll *c);
int pami_barrier_tree(struct pami_coll *c);

/* coll/p2p/broadcast.c */
int pami_broadcast_tree(struct pami_coll *c);
int pami_broadcast_flat(struct pami_coll *c);
int pami_broadcast_chain(struct pami_coll *c);
int pami_broadcast_ring_begin(struct pami_coll *c);
int pami_broadcast_ring(struct pami_coll *c);

/* coll/p2p/reduce.c: reduce, reduce_scatter, scan */
int pami_reduce_binomial(struct pami_coll *c);
int pami_reduce_linear(struct pami_coll *c);
int pami_scan_begin(struct pami_coll *c);
int pami_scan_doubling(struct pami_coll *c);
int pami_scan_linear(struct pami_coll *c);
int pami_reduce_scatter_pairwise_begin(struct pami_coll *c);
int pami_reduce_scatter_pairwise(struct pami_coll *c);
int pami_reduce_scatter_doubling(struct pami_coll *c);
int pami_reduce_scatter_halving_begin(struct pami_coll *c);
int pami_reduce_scatter_halving(struct pami_coll *c);

/* coll/p2p/allreduce.c */
int pami_reduction_begin(struct pami_coll *c); /* every reduction on messages */
int pami_allreduce_doubling(struct pami_coll *c);
int pami_allreduce_halving(struct pami_coll *c);
int pami_reduce_halving(struct pami_coll *c);
int pami_allreduce_ring_begin(struct pami_coll *c);
int pami_allreduce_ring(struct pami_coll *c);

/* coll/p2p/gather.c: gather, scatter */
int pami_gather_linear(struct pami_coll *c);
int pami_gather_binomial_begin(struct pami_coll *c);
int pami_gather_binomial(struct pami_coll *c);
int pami_scatter_linear(struct pami_coll *c);
int pami_scatter_binomial_begin(struct pami_coll *c);
int pami_scatter_binomial(struct pami_coll *c);

/* coll/p2p/allgather.c */
int pami_allgather_ring(struct pami_coll *c);
int pami_allgather_bruck_begin(struct pami_coll *c);
int pami_allgather_bruck(struct pami_coll *c);
int pami_allgather_linear(struct pami_coll *c);
int pami_allgather_doubling_begin(struct pami_coll *c);
int pami_allgather_doubling(struct pami_coll *c);

/* coll/p2p/alltoall.c */
int pami_alltoall_pairwise(struct pami_coll *c);
int pami_alltoall_linear(struct pami_coll *c);
int pami_alltoall_bruck_begin(struct pami_coll *c);
int pami_alltoall_bruck(struct pami_coll *c);

/* coll/hw/hw.c */
int pami_hw_begin(struct pami_coll *c);
int pami_hw_barrier(struct pami_coll *c);
int pami_hw_allreduce(struct pami_coll *c);
int pami_hw_reduce(struct pami_coll *c);
int pami_hw_broadcast_begin(struct pami_coll *c);
int pami_hw_broadcast(struct pami_coll *c);

/* coll/hw/rectangle.c */
bool pami_rectangle_usable(const struct pami_geometry *g);
int pami_rectangle_begin(struct pami_coll *c);
int pami_rectangle(struct pami_coll *c);

/* coll/shm/flat.c */
bool pami_shm_usable(const struct pami_geometry *g);
int pami_shm_barrier_begin(struct pami_coll *c);
int pami_shm_barrier(struct pami_coll *c);
int pami_shm_broadcast_begin(struct pami_coll *c);
int pami_shm_broadcast(struct pami_coll *c);
int pami_shm_allreduce_begin(struct pami_coll *c);
int pami_shm_allreduce(struct pami_coll *c);
int pami_shm_reduce_begin(struct pami_coll *c);
int pami_shm_reduce(struct pami_coll *c);
int pami_shm_allgather_begin(struct pami_coll *c);
int pami_shm_allgather(struct pami_coll *c);

/* coll/hier/node.c */
bool pami_node_usable(const struct pami_geometry *g);
bool pami_node_shm_usable(const struct pami_geometry *g);
int pami_node_begin(struct pami_coll *c);
int pami_node_start(struct pami_coll *c);
int pami_node_shm_begin(struct pami_coll *c);
int pami_node_shm_up(struct pami_coll *c);
/* Set what ranks, root and messages mean: all members, or those of this task's team. */
void pami_node_see_all(struct pami_coll *c);
void pami_node_see_team(struct pami_coll *c, uint32_t kind, uint32_t root);

/* coll/hier/parts.c */
int pami_parts_begin(struct pami_coll *c);
int pami_parts_step(struct pami_coll *c);

/* coll/hier/remote_lines.c */
bool pami_remote_lines_usable(const struct pami_geometry *g);
int pami_remote_lines_begin(struct pami_coll *c);
int pami_remote_lines_step(struct pami_coll *c);

#endif
