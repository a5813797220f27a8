/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of posted work (PAMI_Context_post): any thread appends, one thread at a time takes. */
#ifndef PAMI_CORE_POST_H
#define PAMI_CORE_POST_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "pami/pami.h"

struct pami_context;
struct pami_work; /* the user's pami_work_t, at any alignment */

#define PAMI_POSTED_PLACES 2048

/* core/post.c has a picture. */
struct pami_posted {
	_Alignas(64) atomic_u64 consumed; /* places emptied; written by the taking thread alone */
	atomic_u64 produced;              /* places taken; any thread increments it, up to bound */
	atomic_u64 bound;                 /* consumed + PAMI_POSTED_PLACES */
	/* The overflow list, oldest first, used while the array is full. more_lock protects it; any
	 * thread may ask whether it is empty. */
	ATOMIC(struct pami_work *) more;
	struct pami_work *more_last;
	atomic_u32 more_lock;
	_Alignas(64) ATOMIC(struct pami_work *) item[PAMI_POSTED_PLACES];
};

/* Any thread: is there work? */
static inline bool pami_posted_has_work(const struct pami_posted *q)
{
	return atomic_load_relaxed(&q->produced) != atomic_load_relaxed(&q->consumed) ||
	       atomic_ptr_load_relaxed(&q->more);
}

void pami_posted_init(struct pami_posted *q);
/* Any thread: append. */
void pami_posted_push(struct pami_posted *q, void *object, pami_work_function fn, void *cookie);
/* Take everything, as a list, oldest first; NULL if there was nothing. One thread at a time. */
struct pami_work *pami_posted_take(struct pami_posted *q, struct pami_work **last);

/* Any thread: post work to a context and wake its sleeper (PAMI_Context_post). */
void pami_post(struct pami_context *ctx, void *object, pami_work_function fn, void *cookie);
/* Any thread: does the context have posted work? For mu_channel_on_has_work(). */
int pami_post_has_work(const void *context);
/* The context's user thread: call posted work. Returns how many items are done; an item that
 * returns PAMI_EAGAIN is not, and is called again by the next call. */
unsigned pami_post_run(struct pami_context *ctx);

#endif
