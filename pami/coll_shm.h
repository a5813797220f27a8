/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory of a geometry's members on one node: see coll_shm.c. */
#ifndef PAMI_COLL_SHM_H
#define PAMI_COLL_SHM_H

#include "pami/geometry.h"

/* The member's side of it, and on the member that made it the memory itself. NULL is fine. */
void pami_shm_free(struct pami_shm *shm, int keep_area);

#endif
