/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: progress. One iteration looks at deferred completions, queued sends and held messages (one
 * word says whether there are any), posted work (another), and polls the messaging unit, which
 * calls pami_receive() and completion functions. Guarded by bench/pami_latency.
 */
#include <pthread.h>

#include "pami/state.h"

/* Only what is there now; a callback that makes progress itself goes on where we are. */
static int advance_told(struct pami_context *ctx)
{
	uint32_t last = ctx->told_last;
	int events = 0;

	for (; (int32_t)(last - ctx->told_first) > 0; events++) {
		struct pami_told t = ctx->told[ctx->told_first++ % PAMI_TOLD_MAX];

		mu_charge(MU_COST_complete, 1);
		t.fn(ctx, t.cookie, PAMI_SUCCESS);
	}
	if (ctx->told_first == ctx->told_last)
		ctx->todo &= ~(unsigned)PAMI_TODO_TOLD;
	return events;
}

/* Returns how many events; negative: enough for this time. */
static __attribute__((noinline)) int advance_todo(struct pami_context *ctx)
{
	int events = 0;

	if (ctx->todo & PAMI_TODO_TOLD) {
		events = advance_told(ctx);
		if (!(ctx->todo & ~(unsigned)PAMI_TODO_SHORT) && !mu_virtual && ++ctx->unpolled < 8)
			return -events;
	}
	if (ctx->todo & PAMI_TODO_DEFERRED) {
		struct pami_request *r = ctx->deferred;

		/* Only what is there now: a callback may defer more. */
		ctx->deferred = NULL;
		ctx->deferred_tail = &ctx->deferred;
		ctx->todo &= ~(unsigned)PAMI_TODO_DEFERRED;
		while (r) {
			struct pami_request *next = r->next;

			r->run(r, r->deferred_result);
			r = next;
			events++;
		}
		/* Who waits for these has them; the network gets its turn now and then. */
		if (!(ctx->todo & ~(unsigned)PAMI_TODO_SHORT) && !mu_virtual && ++ctx->unpolled < 8)
			return -events;
	}
	if (ctx->todo & PAMI_TODO_QUEUE)
		pami_queue_drain(ctx);
	if (ctx->todo & PAMI_TODO_HELD)
		events += (int)pami_inbound_release_held(ctx);
	if (ctx->todo & PAMI_TODO_COLL) {
		int found = pami_coll_poll(ctx);

		/* Collectives through shared memory need nothing of the MU; others get their turn. */
		if (found && !mu_virtual && ++ctx->unpolled < 8)
			return -(events + found);
		events += found;
	}
	return events;
}

int pami_advance_once(struct pami_context *ctx)
{
	int events = 0;

	ctx->depth++;
	if (PAMI_UNLIKELY(ctx->todo & PAMI_TODO_ANSWER) && pami_send_answers(ctx)) {
		mu_push(ctx->channel); /* nothing new comes in while somebody waits for the answer to what came */
		ctx->depth--;
		return 0;
	}
	if (ctx->todo & PAMI_TODO_SHORT) {
		events = pami_short_poll(ctx);
		if (events && ++ctx->unpolled < 8) { /* as below */
			ctx->depth--;
			return events;
		}
	}
	if (PAMI_UNLIKELY(ctx->todo & ~(unsigned)PAMI_TODO_SHORT)) {
		int found = advance_todo(ctx);

		if (found < 0) {
			ctx->depth--;
			return events - found;
		}
		events += found;
	}
	if (PAMI_UNLIKELY(pami_posted_any(&ctx->posted) || ctx->again))
		events += (int)pami_post_run(ctx);
	ctx->unpolled = 0;
	events += mu_poll_now(ctx->channel);
	ctx->depth--;
	return events;
}

/* After a round: yield or sleep when it found nothing, unless work asked to be called again. */
static void wait_after(struct pami_context *ctx, int events)
{
	mu_wait(ctx->channel, events + (ctx->again != NULL));
}

PAMI_EXPORT pami_result_t PAMI_Context_advance(pami_context_t context, size_t maximum)
{
	struct pami_context *ctx = pami_context_of(context);

	for (size_t i = 0; i < maximum; i++) {
		int events = pami_advance_once(ctx);

		wait_after(ctx, events);
		if (events)
			return PAMI_SUCCESS;
	}
	return pami_limits.idle;
}

PAMI_EXPORT pami_result_t PAMI_Context_advancev(pami_context_t context[], size_t count, size_t maximum)
{
	for (size_t i = 0; count && i < maximum; i++) {
		int events = 0;

		for (size_t c = 0; c < count; c++)
			events += pami_advance_once(pami_context_of(context[c]));
		wait_after(pami_context_of(context[0]), events);
		if (events)
			return PAMI_SUCCESS;
	}
	return pami_limits.idle;
}

/* One round over the contexts whose locks are free. */
static int trylock_round(pami_context_t context[], size_t count)
{
	int events = 0;

	for (size_t c = 0; c < count; c++) {
		struct pami_context *ctx = pami_context_of(context[c]);

		if (!pami_lock_try(ctx))
			continue;
		events += pami_advance_once(ctx);
		pami_lock_give(ctx);
	}
	return events;
}

PAMI_EXPORT pami_result_t PAMI_Context_trylock_advancev(pami_context_t context[], size_t count,
                                                        size_t maximum)
{
	pami_result_t result = pami_limits.idle;
	int state;

	/* Programs cancel their progress threads: not while a lock is held, even in their callbacks. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	for (size_t i = 0; count && i < maximum; i++) {
		int events = trylock_round(context, count);

		/* No lock is held while this thread waits. */
		mu_wait(pami_context_of(context[0])->channel, events);
		if (events) {
			result = PAMI_SUCCESS;
			break;
		}
	}
	pthread_setcancelstate(state, &state);
	return result;
}
