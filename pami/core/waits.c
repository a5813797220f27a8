/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the process's first thread waits for, for torus top. The thread looks into its contexts when
 * it has waited for a millisecond, so waiting for less costs nothing.
 */
#include "pami/coll/progress.h"
#include "pami/core/advance.h"
#include "pami/core/context.h"
#include "pami/p2p/inbound.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/request.h"

/* What the context waits for most likely. Returns MU_WAITS_MESSAGE if it has nothing under way. */
static unsigned find_waits(const struct pami_context *ctx, uint32_t *task)
{
	enum mu_waits what = MU_WAITS_MESSAGE;
	unsigned type;

	*task = MU_WAITS_ANYONE;
	if (pami_coll_find_waits(ctx, &type, task))
		return MU_WAITS_COLLECTIVE + type;
	if (ctx->queue.first) {
		*task = pami_queue_first_task(ctx);
		return MU_WAITS_ROOM;
	}
	for (unsigned i = 0; i < PAMI_INBOUND_BUCKETS; i++)
		if (ctx->inbound.bucket[i]) {
			*task = pami_endpoint_task(ctx->inbound.bucket[i]->origin);
			return MU_WAITS_REST;
		}
	if (mu_channel_find_waits(ctx->channel, &what, task))
		return what;
	return pami_request_find_waits(ctx, task) ? MU_WAITS_ANSWER : MU_WAITS_MESSAGE;
}

void pami_waits_note(pami_context_t context[], size_t count, bool locked)
{
	unsigned what = MU_WAITS_MESSAGE;
	uint32_t task = MU_WAITS_ANYONE;

	for (size_t c = 0; c < count && what == MU_WAITS_MESSAGE; c++) {
		struct pami_context *ctx = pami_context_of(context[c]);

		if (locked && !pami_lock_try(&ctx->lock))
			continue;
		what = find_waits(ctx, &task);
		if (locked)
			pami_lock_release(&ctx->lock);
	}
	mu_note_waits(what, task);
}
