/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posted work. Posting threads push onto a stack whose head is the only shared word; the advancing
 * thread takes the whole stack at once and turns it round, which keeps each thread's order.
 *
 * The links are kept in the user's pami_work_t, which may be misaligned: only the head is atomic,
 * and the object's words are read and written as bytes. An object is off every list and copied out
 * before its function is called.
 */
#include <string.h>

#include "pami/state.h"

struct work { /* what lies in a pami_work_t */
	struct pami_work *next;
	pami_work_function fn;
	void *cookie;
};
_Static_assert(sizeof(struct work) <= PAMI_WORK_SIZE_STATIC, "fits the user's object");

static struct pami_work *work_next(struct pami_work *w)
{
	struct pami_work *next;

	memcpy(&next, (char *)w + offsetof(struct work, next), sizeof next);
	return next;
}

static void work_link(struct pami_work *w, struct pami_work *next)
{
	memcpy((char *)w + offsetof(struct work, next), &next, sizeof next);
}

int pami_post_push(struct pami_work **head, void *object, pami_work_function fn, void *cookie)
{
	struct work fields = { __atomic_load_n(head, __ATOMIC_RELAXED), fn, cookie };
	struct pami_work *w = object;

	memcpy(w, &fields, sizeof fields);
	/* W1: the fields are visible to whoever takes the stack (R1). */
	while (!__atomic_compare_exchange_n(head, &fields.next, w, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		work_link(w, fields.next);
	return !fields.next;
}

PAMI_EXPORT pami_result_t PAMI_Context_post(pami_context_t context, pami_work_t *work,
                                            pami_work_function fn, void *cookie)
{
	struct pami_context *ctx = pami_context_of(context);

	if (!work || !fn)
		return pami_fail(PAMI_INVAL, "no work object, or no function");
	mu_charge(MU_COST_post, 1);
	/* Whoever made the stack non-empty has woken the advancing thread already. */
	if (pami_post_push(&ctx->posted, work, fn, cookie))
		mu_wake_self();
	return PAMI_SUCCESS;
}

/* Take what was posted, oldest first, behind what waits to be called again. */
static void take(struct pami_context *ctx)
{
	struct pami_work *w = __atomic_exchange_n(&ctx->posted, NULL, __ATOMIC_ACQUIRE); /* R1 */
	struct pami_work *list = NULL, *last = w;

	if (!w)
		return;
	while (w) {
		struct pami_work *next = work_next(w);

		work_link(w, list);
		list = w;
		w = next;
	}
	if (ctx->again)
		work_link(ctx->again_last, list);
	else
		ctx->again = list;
	ctx->again_last = last;
}

unsigned pami_post_run(struct pami_context *ctx)
{
	struct pami_work *w;
	unsigned done = 0;

	take(ctx);
	w = ctx->again;
	ctx->again = ctx->again_last = NULL;
	while (w) {
		struct work fields;

		memcpy(&fields, w, sizeof fields);
		mu_charge(MU_COST_post, 1);
		if (fields.fn(ctx, fields.cookie) != PAMI_EAGAIN) {
			done++;
		} else {
			work_link(w, NULL);
			if (ctx->again)
				work_link(ctx->again_last, w);
			else
				ctx->again = w;
			ctx->again_last = w;
		}
		w = fields.next;
	}
	return done;
}
