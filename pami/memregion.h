/* SPDX-License-Identifier: BSD-3-Clause */
/* What the 64 bytes of a pami_memregion_t hold. */
#ifndef PAMI_MEMREGION_H
#define PAMI_MEMREGION_H

#include <stdint.h>
#include <string.h>

#include "pami/state.h"

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
	uint64_t code;   /* of the above, under a secret of the owner that members of the job know */
	uint64_t unused[3];
};
_Static_assert(sizeof(struct pami_region) == PAMI_CLIENT_MEMREGION_SIZE_STATIC, "fills the user's object");

_Static_assert(offsetof(struct pami_region, code) == 32, "what is remembered ends with the code");

/* The code of a region of one of this job's tasks, made by that client. */
uint64_t pami_region_code(const struct pami_client *c, const struct pami_region *m);

/*
 * Both ends' addresses. 0; -EINVAL: not regions, or the remote one is not of the destination task;
 * -EPERM: one its owner did not make, or not for this (right, bounds). Of the local region only the base
 * counts: programs read more than they registered.
 */
static inline int pami_region_pair(struct pami_context *ctx, const pami_rma_t *rma, const pami_rdma_t *rdma,
                                   uint32_t right, uint64_t *local, uint64_t *remote)
{
	struct pami_region here, there;

	if (!rdma->local.mr || !rdma->remote.mr)
		return -EINVAL;
	memcpy(&here, rdma->local.mr, sizeof here);
	memcpy(&there, rdma->remote.mr, sizeof there);
	if (here.magic != PAMI_REGION_MAGIC || there.magic != PAMI_REGION_MAGIC || there.owner != rma->dest >> 6)
		return -EINVAL;
	*local = here.base + rdma->local.offset;
	*remote = there.base + rdma->remote.offset;
	if (rdma->remote.offset > there.bytes || rma->bytes > there.bytes - rdma->remote.offset || !(there.rights & right))
		return -EPERM;
	if (PAMI_LIKELY(!memcmp(ctx->region_seen, &there, sizeof ctx->region_seen)))
		return 0; /* as the one before */
	if (there.code != pami_region_code(ctx->client, &there))
		return -EPERM;
	memcpy(ctx->region_seen, &there, sizeof ctx->region_seen);
	return 0;
}

/* What a call with such regions says: INVAL, or success, and the completion gets the error. */
pami_result_t pami_region_refused(struct pami_context *ctx, const pami_rma_t *rma, pami_event_function rdone_fn,
                                  int rc);

#endif
