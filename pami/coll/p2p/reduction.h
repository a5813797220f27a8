/* SPDX-License-Identifier: BSD-3-Clause */
/* The private state of all reductions on messages: coll/p2p/reduce.c, coll/p2p/allreduce.c. */
#ifndef PAMI_COLL_P2P_REDUCTION_H
#define PAMI_COLL_P2P_REDUCTION_H

#include "pami/coll/algorithms.h"

/* The state of a member in the binomial reduce. */
enum { PAMI_TREE_CLIMBING, PAMI_TREE_SENT, PAMI_TREE_OVER };

struct pami_reduction {
	unsigned char *sum; /* the partial result */
	unsigned char *in;  /* what arrives */
	uint8_t climb;      /* PAMI_TREE_: reduce, binomial */
	bool has_lower;     /* exclusive scan: target has data of lower ranks */
};

static inline struct pami_reduction *pami_reduction_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct pami_reduction);
}

#endif
