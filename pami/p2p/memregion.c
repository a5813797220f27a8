/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions. A region is nothing but its 64 bytes, so creating one costs a few stores, copies
 * work on any task, and nothing can run out. `code` mixes the owner's secret with the other fields,
 * so that a region can be checked without a table.
 */
#include <string.h>

#include "pami/core/client.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/p2p/memregion.h"
#include "pami/p2p/request.h"

static uint64_t mix_bits(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/*
 * The owner's secret is computed from the job's. So the task that starts an operation can check the
 * region, on every path. The code protects from mistakes, not from members of the job.
 */
uint64_t pami_region_compute_code(const struct pami_client *c, const struct pami_region *m)
{
	uint64_t secret =
	    mix_bits(c->job->id + mix_bits(c->job->seed + ((uint64_t)m->owner << 8 | c->slot)));

	return mix_bits(mix_bits(mix_bits(secret ^ m->base) + m->bytes) ^
			((uint64_t)m->owner << 32 | m->rights));
}

PAMI_COLD pami_result_t pami_region_fail(const char *call, struct pami_context *ctx,
					 const pami_rma_t *rma, pami_event_function rdone_fn,
					 int rc)
{
	if (rc == -EINVAL)
		return pami_fail_in(call, PAMI_INVAL,
				    "not a memory region, or not one of the destination task");
	if (!rma->done_fn && !rdone_fn)
		return pami_fail_errno(call, rc); /* no callback can report it */
	return pami_event_defer(ctx, rma->done_fn, rdone_fn, rma->cookie, rc);
}

PAMI_EXPORT pami_result_t PAMI_Memregion_create(pami_context_t context, void *address,
						size_t bytes_in, size_t *bytes_out,
						pami_memregion_t *memregion)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_region m;

	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !memregion || !bytes_out))
		return pami_fail_invalid(context);
	m = (struct pami_region){.magic = PAMI_REGION_MAGIC,
				 .owner = ctx->client->job->task,
				 .base = (uint64_t)(uintptr_t)address,
				 .bytes = bytes_in,
				 .rights = PAMI_REGION_READ | PAMI_REGION_WRITE};
	m.code = pami_region_compute_code(ctx->client, &m);
	memcpy(memregion, &m, sizeof m);
	*bytes_out = bytes_in;
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Memregion_destroy(pami_context_t context,
						 pami_memregion_t *memregion)
{
	if (!pami_context_is_valid(context) || !memregion)
		return pami_fail_invalid(context);
	memset(memregion, 0, sizeof *memregion);
	return PAMI_SUCCESS;
}
