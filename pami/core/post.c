/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posted work: an array of 2048 places, of which any thread takes one with one bounded increment,
 * and a list with a lock for the time that the array is full. Source: docs/hardware.md 10.2.
 *
 *   consumed        produced            bound = consumed + 2048
 *      v               v                   v
 *   [ . w w w w w w w w . . . . . . . . . ]       a thread writes the item after it took the
 *                                                 place; the taker stops at an empty place
 *
 * While the list is not empty all threads append to it, which keeps each thread's order. The taker
 * takes its items after all places that were taken before.
 *
 * The links lie in the user's pami_work_t, which may be misaligned, so its words are read and
 * written as bytes. An object is unlinked and copied before its function is called.
 */
#include <sched.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/core/post.h"

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
	atomic_store_relaxed(&q->bound, PAMI_POSTED_PLACES);
	q->more_last = NULL;
}

/* Take a place by a bounded increment. Returns false if none is free. The bound only grows, so a
 * stale one is safe. */
static bool take_place(struct pami_posted *q, uint64_t *place)
{
	uint64_t at = atomic_load_relaxed(&q->produced);

	do {
		if (at == atomic_load_acquire(&q->bound)) /* pairs with P2 */
			return false;
	} while (!atomic_cas_weak_acq_rel(&q->produced, &at, at + 1));
	*place = at;
	return true;
}

static void more_lock(struct pami_posted *q)
{
	for (unsigned i = 0; atomic_exchange_acquire(&q->more_lock, 1); i++)
		if (i % 16 == 15)
			sched_yield();
}

static void more_unlock(struct pami_posted *q)
{
	atomic_store_release(&q->more_lock, 0);
}

static PAMI_COLD void append_work(struct pami_posted *q, struct pami_work *w)
{
	more_lock(q);
	if (q->more_last)
		work_link(q->more_last, w);
	else
		atomic_ptr_store_relaxed(&q->more, w);
	q->more_last = w;
	more_unlock(q);
}

void pami_posted_push(struct pami_posted *q, void *object, pami_work_function fn, void *cookie)
{
	struct work fields = {NULL, fn, cookie};
	struct pami_work *w = object;
	uint64_t place;

	memcpy(w, &fields, sizeof fields);
	if (PAMI_LIKELY(!atomic_ptr_load_acquire(&q->more) && take_place(q, &place)))
		atomic_ptr_store_release(&q->item[place % PAMI_POSTED_PLACES], w); /* P1 */
	else
		append_work(q, w);
}

void pami_post(struct pami_context *ctx, void *object, pami_work_function fn, void *cookie)
{
	pami_posted_push(&ctx->posted, object, fn, cookie);
	mu_wake_channel(ctx->channel);
}

PAMI_EXPORT pami_result_t PAMI_Context_post(pami_context_t context, pami_work_t *work,
					    pami_work_function fn, void *cookie)
{
	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !work || !fn))
		return pami_fail_invalid(context);
	mu_charge(MU_COST_post, 1);
	pami_post(pami_context_of(context), work, fn, cookie);
	return PAMI_SUCCESS;
}

int pami_post_has_work(const void *context)
{
	return pami_posted_has_work(&((const struct pami_context *)context)->posted);
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

/* Move items of the array to the list, up to the producers' count or to a place that is not written
 * yet. True: up to the count. */
static bool take_places(struct pami_posted *q, struct list *l)
{
	uint64_t end = atomic_load_acquire(&q->produced), first = atomic_load_relaxed(&q->consumed),
		 at = first;

	for (; at != end; at++) {
		size_t place = at % PAMI_POSTED_PLACES;
		struct pami_work *w = atomic_ptr_load_acquire(&q->item[place]); /* pairs with P1 */

		if (!w)
			break;
		atomic_ptr_store_relaxed(&q->item[place], NULL);
		list_add(l, w);
	}
	if (at != first) {
		atomic_store_relaxed(&q->consumed, at);
		/* P2: the places are empty. */
		atomic_store_release(&q->bound, at + PAMI_POSTED_PLACES);
	}
	return at == end;
}

static void take_more(struct pami_posted *q, struct list *l)
{
	more_lock(q);
	/* Items in the array that an appending thread posted earlier are counted by now. */
	if (take_places(q, l)) {
		struct pami_work *more = atomic_ptr_load_relaxed(&q->more);

		if (l->first)
			work_link(l->last, more);
		else
			l->first = more;
		l->last = q->more_last;
		q->more_last = NULL;
		atomic_ptr_store_release(&q->more, NULL);
	}
	more_unlock(q);
}

struct pami_work *pami_posted_take(struct pami_posted *q, struct pami_work **last)
{
	struct list l = {NULL, NULL};

	take_places(q, &l);
	if (PAMI_UNLIKELY(atomic_ptr_load_relaxed(&q->more) != NULL))
		take_more(q, &l);
	if (l.last)
		work_link(l.last, NULL);
	*last = l.last;
	return l.first;
}

/* Append newly posted work to the work that is to be called again. */
static void take_posted(struct pami_context *ctx)
{
	struct pami_work *last, *first = pami_posted_take(&ctx->posted, &last);

	if (!first)
		return;
	if (ctx->retry.first)
		work_link(ctx->retry.last, first);
	else
		ctx->retry.first = first;
	ctx->retry.last = last;
}

unsigned pami_post_run(struct pami_context *ctx)
{
	struct pami_work *w;
	unsigned done = 0;

	take_posted(ctx);
	w = ctx->retry.first;
	ctx->retry.first = ctx->retry.last = NULL;
	while (w) {
		struct work fields;

		memcpy(&fields, w, sizeof fields);
		mu_charge(MU_COST_post, 1);
		if (fields.fn(ctx, fields.cookie) != PAMI_EAGAIN) {
			done++;
		} else {
			work_link(w, NULL);
			if (ctx->retry.first)
				work_link(ctx->retry.last, w);
			else
				ctx->retry.first = w;
			ctx->retry.last = w;
		}
		w = fields.next;
	}
	return done;
}
