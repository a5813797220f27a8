/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of segments: allocated, registered and described. */
#ifndef ARMCI_ALLOC_H
#define ARMCI_ALLOC_H

#include "armci/memory/seg.h"

struct armci_group;

/*
 * Allocate memory that other processes map where that is possible, and register it. *region stays
 * NULL where registering fails. NULL (logged): there is no memory.
 */
void *armci_memory_get(size_t bytes, pami_memregion_t **region);
void armci_memory_put(void *p, size_t bytes, pami_memregion_t *region);
/* Describe [va, va + bytes) of proc as this process reaches it. */
void armci_seg_set(struct armci_seg *s, int proc, uint64_t va, uint64_t bytes);
/* Release what all members have freed. Collective. 0, or FAIL6: a member has died. */
int armci_alloc_collect(struct armci_group *g);
/* Release every allocation, at ARMCI_Finalize. */
void armci_alloc_release_all(void);
/* Release the memory of ARMCI_Memget, at ARMCI_Finalize (memory/memget.c). */
void armci_memget_release(void);

#endif
