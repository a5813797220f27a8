/* SPDX-License-Identifier: BSD-3-Clause */
/* The step and begin functions of all algorithms, for the lists of coll_list.c. */
#ifndef PAMI_COLL_ALGORITHMS_H
#define PAMI_COLL_ALGORITHMS_H

#include "pami/coll.h"

/* Window of algorithms that talk to everybody: sends and receives under way at once. */
#define PAMI_COLL_WINDOW 8u

static inline uint32_t pami_coll_relative(const struct pami_coll *c, uint32_t rank)
{
	return rank >= c->root ? rank - c->root : rank + c->size - c->root;
}

static inline uint32_t pami_coll_absolute(const struct pami_coll *c, uint64_t relative)
{
	return (uint32_t)((relative + c->root) % c->size);
}

/* coll_barrier.c */
int pami_barrier_radix(struct pami_coll *c);
int pami_barrier_tree(struct pami_coll *c);

/* coll_broadcast.c */
int pami_broadcast_tree(struct pami_coll *c);
int pami_broadcast_flat(struct pami_coll *c);
int pami_broadcast_chain(struct pami_coll *c);
int pami_broadcast_ring_begin(struct pami_coll *c);
int pami_broadcast_ring(struct pami_coll *c);

/* coll_reduce.c: reduce, reduce_scatter, scan */
int pami_reduce_begin(struct pami_coll *c);
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

/* coll_allreduce.c */
int pami_allreduce_begin(struct pami_coll *c);
int pami_allreduce_doubling(struct pami_coll *c);
int pami_allreduce_halving_begin(struct pami_coll *c);
int pami_allreduce_halving(struct pami_coll *c);
int pami_reduce_halving(struct pami_coll *c);
int pami_allreduce_ring_begin(struct pami_coll *c);
int pami_allreduce_ring(struct pami_coll *c);

/* coll_gather.c: gather, scatter */
int pami_gather_linear(struct pami_coll *c);
int pami_gather_binomial_begin(struct pami_coll *c);
int pami_gather_binomial(struct pami_coll *c);
int pami_scatter_linear(struct pami_coll *c);
int pami_scatter_binomial_begin(struct pami_coll *c);
int pami_scatter_binomial(struct pami_coll *c);

/* coll_allgather.c */
int pami_allgather_ring(struct pami_coll *c);
int pami_allgather_bruck_begin(struct pami_coll *c);
int pami_allgather_bruck(struct pami_coll *c);
int pami_allgather_linear(struct pami_coll *c);
int pami_allgather_doubling_begin(struct pami_coll *c);
int pami_allgather_doubling(struct pami_coll *c);

/* coll_alltoall.c */
int pami_alltoall_pairwise(struct pami_coll *c);
int pami_alltoall_linear(struct pami_coll *c);
int pami_alltoall_bruck_begin(struct pami_coll *c);
int pami_alltoall_bruck(struct pami_coll *c);

/* coll_hw.c */
int pami_hw_begin(struct pami_coll *c);
int pami_hw_barrier(struct pami_coll *c);
int pami_hw_allreduce(struct pami_coll *c);
int pami_hw_reduce(struct pami_coll *c);
int pami_hw_broadcast_begin(struct pami_coll *c);
int pami_hw_broadcast(struct pami_coll *c);

/* coll_rectangle.c */
int pami_rectangle_usable(const struct pami_geometry *g);
int pami_rectangle_begin(struct pami_coll *c);
int pami_rectangle(struct pami_coll *c);

/* coll_shm.c, coll_shm_data.c */
int pami_shm_usable(const struct pami_geometry *g);
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

/* coll_node.c */
int pami_node_usable(const struct pami_geometry *g);
int pami_node_shm_usable(const struct pami_geometry *g);
int pami_node_begin(struct pami_coll *c);
int pami_node_start(struct pami_coll *c);
int pami_node_shm_begin(struct pami_coll *c);
int pami_node_shm_up(struct pami_coll *c);
/* What ranks, root and messages mean: all members, or those of this task's team. */
void pami_node_see_all(struct pami_coll *c);
void pami_node_see_team(struct pami_coll *c, uint32_t kind, uint32_t root);

/* coll_far.c: few bytes */
int pami_far_usable(const struct pami_geometry *g);
int pami_far_begin(struct pami_coll *c);
int pami_far_step(struct pami_coll *c);

/* coll_node_parts.c */
int pami_node_parts_begin(struct pami_coll *c);
int pami_node_parts(struct pami_coll *c);
/* coll_node_v.c: the same for allgatherv. */
int pami_node_v_begin(struct pami_coll *c);

#endif
