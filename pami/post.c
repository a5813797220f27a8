/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posted work: an array of 2048 places that any thread takes with one bounded increment, and a list
 * under a lock for when it is full. Source: spec/mu.md 10.2.
 *
 *   consumed        produced            bound = consumed + 2048
 *      v               v                   v
 *   [ . w w w w w w w w . . . . . . . . . ]       an item is written after its place was taken:
 *                                                 a place that is still empty is looked at later
 * While the list holds anything everybody appends there, which keeps each thread's order; its items
 * are taken only after all places that were taken before it was looked at.
 *
 * The links are kept in the user's pami_work_t, which may be misaligned: its words are read and
 * written as bytes. An object is off every list and copied out before its function is called.
 */
#include <sched.h>
#include <string.h>

#include "pami/state.h"

struct work { /* what lies in a pami_work_t */
	struct pami_work *next;
	pami_work_function fn;
	void *cookie;
};
_Static_assert(sizeof(struct work) <= PAMI_WORK_SIZE_STATIC, "fits the user's object");

static void work_link(struct pami_work *w, struct pami_work *next)
{
	memcpy((char *)w + offsetof(struct work, next), &next, sizeof next);
}

void pami_posted_init(struct pami_posted *q)
{
	q->bound = PAMI_POSTED_PLACES;
	q->more_last = NULL;
}

/* Load-increment-bounded: a place, or 0: none is free. The bound only grows, so a stale one is safe. */
static int place_take(struct pami_posted *q, uint64_t *place)
{
	uint64_t at = __atomic_load_n(&q->produced, __ATOMIC_RELAXED);

	do {
		if (at == __atomic_load_n(&q->bound, __ATOMIC_ACQUIRE)) /* pairs with P2 */
			return 0;
	} while (!__atomic_compare_exchange_n(&q->produced, &at, at + 1, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	*place = at;
	return 1;
}

static void more_lock(struct pami_posted *q)
{
	for (unsigned i = 0; __atomic_exchange_n(&q->more_lock, 1, __ATOMIC_ACQUIRE); i++)
		if (i % 16 == 15)
			sched_yield();
}

static void more_unlock(struct pami_posted *q)
{
	__atomic_store_n(&q->more_lock, 0, __ATOMIC_RELEASE);
}

static PAMI_COLD void append(struct pami_posted *q, struct pami_work *w)
{
	more_lock(q);
	if (q->more_last)
		work_link(q->more_last, w);
	else
		__atomic_store_n(&q->more, w, __ATOMIC_RELAXED);
	q->more_last = w;
	more_unlock(q);
}

void pami_posted_push(struct pami_posted *q, void *object, pami_work_function fn, void *cookie)
{
	struct work fields = { NULL, fn, cookie };
	struct pami_work *w = object;
	uint64_t place;

	memcpy(w, &fields, sizeof fields);
	if (PAMI_LIKELY(!__atomic_load_n(&q->more, __ATOMIC_ACQUIRE) && place_take(q, &place)))
		__atomic_store_n(&q->item[place % PAMI_POSTED_PLACES], w, __ATOMIC_RELEASE); /* P1 */
	else
		append(q, w);
}

void pami_post(struct pami_context *ctx, void *object, pami_work_function fn, void *cookie)
{
	pami_posted_push(&ctx->posted, object, fn, cookie);
	mu_wake_channel(ctx->channel);
}

PAMI_EXPORT pami_result_t PAMI_Context_post(pami_context_t context, pami_work_t *work,
                                            pami_work_function fn, void *cookie)
{
	if (!work || !fn)
		return pami_fail(PAMI_INVAL, "no work object, or no function");
	mu_charge(MU_COST_post, 1);
	pami_post(pami_context_of(context), work, fn, cookie);
	return PAMI_SUCCESS;
}

int pami_post_pending(const void *context)
{
	return pami_posted_any(&((const struct pami_context *)context)->posted);
}

struct list {
	struct pami_work *first, *last;
};

static void list_add(struct list *l, struct pami_work *w)
{
	if (l->first)
		work_link(l->last, w);
	else
		l->first = w;
	l->last = w;
}

/* Items of the array up to the producers' count, or to a place not written yet. Returns all taken. */
static int take_places(struct pami_posted *q, struct list *l)
{
	uint64_t end = __atomic_load_n(&q->produced, __ATOMIC_ACQUIRE), at = q->consumed;

	for (; at != end; at++) {
		struct pami_work **item = &q->item[at % PAMI_POSTED_PLACES];
		struct pami_work *w = __atomic_load_n(item, __ATOMIC_ACQUIRE); /* pairs with P1 */

		if (!w)
			break;
		__atomic_store_n(item, NULL, __ATOMIC_RELAXED);
		list_add(l, w);
	}
	if (at != q->consumed) {
		__atomic_store_n(&q->consumed, at, __ATOMIC_RELAXED);
		__atomic_store_n(&q->bound, at + PAMI_POSTED_PLACES, __ATOMIC_RELEASE); /* P2: the places are empty */
	}
	return at == end;
}

static void take_more(struct pami_posted *q, struct list *l)
{
	more_lock(q);
	/* Whoever appended has items in the array before: all of them are counted by now. */
	if (take_places(q, l)) {
		if (l->first)
			work_link(l->last, q->more);
		else
			l->first = q->more;
		l->last = q->more_last;
		q->more_last = NULL;
		__atomic_store_n(&q->more, NULL, __ATOMIC_RELEASE);
	}
	more_unlock(q);
}

struct pami_work *pami_posted_take(struct pami_posted *q, struct pami_work **last)
{
	struct list l = { NULL, NULL };

	take_places(q, &l);
	if (PAMI_UNLIKELY(__atomic_load_n(&q->more, __ATOMIC_RELAXED) != NULL))
		take_more(q, &l);
	if (l.last)
		work_link(l.last, NULL);
	*last = l.last;
	return l.first;
}

/* What was posted goes behind what waits to be called again. */
static void take(struct pami_context *ctx)
{
	struct pami_work *last, *first = pami_posted_take(&ctx->posted, &last);

	if (!first)
		return;
	if (ctx->again)
		work_link(ctx->again_last, first);
	else
		ctx->again = first;
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
