/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory behind segments: got, registered, described. */
#ifndef ARMCI_ALLOC_H
#define ARMCI_ALLOC_H

#include "armci/state.h"

/* Shared where it can be, registered where that works (else *region is NULL); NULL (logged): none. */
void *armci_memory_get(size_t bytes, pami_memregion_t **region);
void armci_memory_put(void *p, size_t bytes, pami_memregion_t *region);
/* The part [va, va + bytes) of proc as this process reaches it. */
void armci_seg_set(struct armci_seg *s, int proc, uint64_t va, uint64_t bytes);

#endif
