/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: the 64 bytes of a pami_memregion_t, and their check. */
#ifndef PAMI_MEMREGION_H
#define PAMI_MEMREGION_H

#include <stdint.h>
#include <string.h>

#include "pami/core/context.h"
#include "pami/core/error.h"

#define PAMI_REGION_MAGIC 0x5152474eu
#define PAMI_REGION_READ  1u
#define PAMI_REGION_WRITE 2u

struct pami_region {
	uint32_t magic;
	uint32_t owner; /* task */
	uint64_t base;  /* address in the owner's memory */
	uint64_t bytes;
	uint32_t rights;
	uint32_t reserved;
	uint64_t code; /* of the fields above and the owner's secret */
	uint64_t unused[3];
};
_Static_assert(sizeof(struct pami_region) == PAMI_CLIENT_MEMREGION_SIZE_STATIC,
	       "fills the user's object");

_Static_assert(offsetof(struct pami_region, code) == 32,
	       "struct pami_region_cache holds the fields up to the code");

/* The code that a region made by client c on m->owner must have. */
uint64_t pami_region_compute_code(const struct pami_client *c, const struct pami_region *m);

/*
 * Check that `m` is a region of task `owner`, made by this client. 0; -EINVAL: not a region, or one
 * of another task; -EACCES: its owner did not make it. seen: the last region that passed.
 */
static inline int pami_region_check(struct pami_context *ctx, const struct pami_region *m,
				    uint32_t owner, uint64_t seen[5])
{
	if (PAMI_UNLIKELY(m->magic != PAMI_REGION_MAGIC || m->owner != owner))
		return -EINVAL;
	if (PAMI_LIKELY(!memcmp(seen, m, 5 * sizeof *seen)))
		return 0;
	if (m->code != pami_region_compute_code(ctx->client, m))
		return -EACCES;
	memcpy(seen, m, 5 * sizeof *seen);
	return 0;
}

/* Both ends of an operation: the address, and the bytes from there to the end of the region. */
struct pami_region_ends {
	uint64_t local, remote;
	uint64_t local_room, remote_room;
};

/* Check both regions and compute the ends. 0; -EINVAL and -EACCES as above, or -EACCES: the remote
 * region does not allow `right`; -ERANGE: the remote offset is beyond its region. */
static inline int pami_region_resolve(struct pami_context *ctx, const pami_rma_t *rma,
				      const pami_rdma_t *rdma, uint32_t right,
				      struct pami_region_ends *e)
{
	struct pami_region here, there;
	int rc;

	if (PAMI_UNLIKELY(!rdma->local.mr || !rdma->remote.mr))
		return -EINVAL;
	memcpy(&here, rdma->local.mr, sizeof here);
	memcpy(&there, rdma->remote.mr, sizeof there);
	rc = pami_region_check(ctx, &here, ctx->client->job->task, ctx->regions.own);
	rc =
	    rc ? rc
	       : pami_region_check(ctx, &there, pami_endpoint_task(rma->dest), ctx->regions.remote);
	if (PAMI_UNLIKELY(rc))
		return rc;
	if (PAMI_UNLIKELY(!(there.rights & right)))
		return -EACCES;
	if (PAMI_UNLIKELY(rdma->remote.offset > there.bytes))
		return -ERANGE;
	e->local = here.base + rdma->local.offset;
	e->remote = there.base + rdma->remote.offset;
	e->local_room = rdma->local.offset < here.bytes ? here.bytes - rdma->local.offset : 0;
	e->remote_room = there.bytes - rdma->remote.offset;
	return 0;
}

/* The result of a call whose regions failed with rc: PAMI_INVAL for -EINVAL. For other errors the
 * callbacks get the error and the call returns PAMI_SUCCESS. */
pami_result_t pami_region_fail(const char *call, struct pami_context *ctx, const pami_rma_t *rma,
			       pami_event_function rdone_fn, int rc);

#endif
