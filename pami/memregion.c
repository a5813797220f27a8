/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions: a region is its 64 bytes and nothing else, so making one costs a few stores,
 * copies work on any task, and there is nothing to run out of. `code` is the owner's secret mixed
 * with the rest: what can be checked without keeping a table.
 */
#include <string.h>

#include "pami/memregion.h"
#include "pami/state.h"

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/*
 * The owner's secret is made from the job's, so that whoever starts an operation can check the region
 * before it leaves, on every path. It keeps mistakes out, not members of the job.
 */
uint64_t pami_region_code(const struct pami_client *c, const struct pami_region *m)
{
	uint64_t secret = mix(c->job->id + mix(c->job->seed + ((uint64_t)m->owner << 8 | c->slot)));

	return mix(mix(mix(secret ^ m->base) + m->bytes) ^ ((uint64_t)m->owner << 32 | m->rights));
}

PAMI_COLD pami_result_t pami_region_refused(struct pami_context *ctx, const pami_rma_t *rma,
                                            pami_event_function rdone_fn, int rc)
{
	if (rc == -EINVAL)
		return pami_fail(PAMI_INVAL, "not a memory region, or not of the destination task");
	return pami_event_defer(ctx, rma->done_fn, rdone_fn, rma->cookie, rc);
}

PAMI_EXPORT pami_result_t PAMI_Memregion_create(pami_context_t context, void *address, size_t bytes_in,
                                                size_t *bytes_out, pami_memregion_t *memregion)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_region m = { .magic = PAMI_REGION_MAGIC, .owner = ctx->client->job->task,
		                 .base = (uint64_t)(uintptr_t)address, .bytes = bytes_in,
		                 .rights = PAMI_REGION_READ | PAMI_REGION_WRITE };

	if (!memregion || !bytes_out)
		return pami_fail(PAMI_INVAL, "no place for the region or its length");
	m.code = pami_region_code(ctx->client, &m);
	memcpy(memregion, &m, sizeof m);
	*bytes_out = bytes_in;
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Memregion_destroy(pami_context_t context, pami_memregion_t *memregion)
{
	if (!memregion)
		return pami_fail(PAMI_INVAL, "no region");
	memset(memregion, 0, sizeof *memregion);
	return PAMI_SUCCESS;
}
