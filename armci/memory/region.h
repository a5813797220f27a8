/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: those of this process for others to ask for, and a cache of the others'. */
#ifndef ARMCI_REGION_H
#define ARMCI_REGION_H

#include "armci/memory/seg.h"

/* The owner's answer to ARMCI_REQUEST_REGION. */
struct armci_region_answer {
	uint64_t found;
	pami_memregion_t region;
};

/* 0 or FAIL6 (logged). */
int armci_region_init(void);
void armci_region_release(void);
/* Let other processes ask for the region of this segment of this process. 0 or FAIL6. */
int armci_region_publish(struct armci_seg *seg);
/* No process can ask for it any more when this returns. */
void armci_region_withhold(struct armci_seg *seg);
/* On SERVE: the region of this process's memory at va. */
void armci_region_serve(uint64_t va, struct armci_region_answer *answer);
/*
 * The region of a segment of proc, from the cache or from its owner. NULL: the owner has none, so
 * the transfer must do without. Valid until the next call.
 */
pami_memregion_t *armci_region_get(struct armci_seg *seg, int proc);
/* Take the segment's region out of the cache. */
void armci_region_evict(struct armci_seg *seg);

#endif
