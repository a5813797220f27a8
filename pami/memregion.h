/* SPDX-License-Identifier: BSD-3-Clause */
/* What the 64 bytes of a pami_memregion_t hold. */
#ifndef PAMI_MEMREGION_H
#define PAMI_MEMREGION_H

#include <stdint.h>
#include <string.h>

#include "pami/pami.h"

#define PAMI_REGION_MAGIC 0x5152474eu
#define PAMI_REGION_READ  1u
#define PAMI_REGION_WRITE 2u

struct pami_region {
	uint32_t magic;
	uint32_t owner;  /* task */
	uint64_t base;   /* address in the owner's memory */
	uint64_t bytes;
	uint32_t rights;
	uint32_t reserved;
	uint64_t code;   /* of the above, under a secret of the owner */
	uint64_t unused[3];
};
_Static_assert(sizeof(struct pami_region) == PAMI_CLIENT_MEMREGION_SIZE_STATIC, "fills the user's object");

/* Address of (region, offset); 0: not a region. */
static inline int pami_region_address(const pami_rma_mr_t *at, uint32_t *owner, uint64_t *address)
{
	struct pami_region m;

	if (!at->mr)
		return 0;
	memcpy(&m, at->mr, sizeof m);
	*owner = m.owner;
	*address = m.base + at->offset;
	return m.magic == PAMI_REGION_MAGIC;
}

/* Both ends' addresses; 0: not regions, or the remote one is not of the destination task. */
static inline int pami_region_pair(const pami_rma_t *rma, const pami_rdma_t *rdma, uint64_t *local,
                                   uint64_t *remote)
{
	uint32_t here, there;

	return pami_region_address(&rdma->local, &here, local) &&
	       pami_region_address(&rdma->remote, &there, remote) && there == rma->dest >> 6;
}

#endif
