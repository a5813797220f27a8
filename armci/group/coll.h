/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking collectives over the members of a group, each one PAMI collective on context ORIGIN. All
 * members call in the same order. 0, or FAIL6 where a member has died (logged once for a group):
 * the collective may then have been done in part, and a group without the dead member works.
 */
#ifndef ARMCI_COLL_H
#define ARMCI_COLL_H

#include "armci/group/group.h"

/* Choose the algorithms of g->geometry. 0 or FAIL6 (logged). */
int armci_coll_init(struct armci_group *g);
int armci_coll_barrier(struct armci_group *g);
/* root is a world rank, a member. */
int armci_coll_bcast(struct armci_group *g, void *buf, size_t bytes, int root);
int armci_coll_allgather(struct armci_group *g, const void *own, void *all, size_t bytes);
/* In place. type and op are PAMI's. */
int armci_coll_allreduce(struct armci_group *g, void *x, size_t count, size_t element_bytes,
			 pami_type_t type, pami_data_function op);

/* A callback of PAMI: sets the int behind cookie to 1 for success, else to -1. */
void armci_coll_set_state(pami_context_t context, void *cookie, pami_result_t result);

#endif
