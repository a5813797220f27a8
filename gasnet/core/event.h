/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events: one object for each explicit operation, and counters for implicit ones.
 *
 * A handle is the address of the object, with a tag for the local stage. Completions run under the
 * lock, inside progress calls; the program tests from any thread. An object is free again when its
 * root was consumed, and that is possible only after all its completions have run.
 *
 *     explicit   e = gexi_event_new(); e->pending = callbacks; pass gexi_event_root and e
 *     implicit   c = gexi_nbi_start(GEXI_EC_PUT); pass c.fn and c.cookie
 */
#ifndef GASNET_CORE_EVENT_H
#define GASNET_CORE_EVENT_H

#include "gasnet/core/thread.h"

struct gexi_completion {
	pami_event_function fn;
	void *cookie;
};

struct gexi_event {
	atomic_u32 pending; /* callbacks that will come, of all stages */
	atomic_u32 local;   /* of these, callbacks of the local stage */
	uint32_t is_live;
	struct gexi_event *next;
	gex_RMA_Value_t value; /* of a put by value */
	void *memory;          /* freed with the event, or NULL */
	void *result;          /* of a fetching atomic, or NULL */
	uint32_t result_bytes;
	struct gexi_copy *copy; /* of the source of a put (rma/) */
	/* The stages of an implicit operation with several stages complete these. */
	struct gexi_completion completion, completion_local;
} __attribute__((aligned(64)));

#define GEXI_EVENT_LEAF ((uintptr_t)2) /* tag of the local stage */

/* Create an event with nothing pending; ends the process if there is no memory. Any thread, no lock
 * needed. */
struct gexi_event *gexi_event_new(void);
void gexi_event_free(struct gexi_event *e);

static inline gex_Event_t gexi_event_handle(struct gexi_event *e)
{
	return e;
}
static inline gex_Event_t gexi_event_leaf_handle(struct gexi_event *e)
{
	return (gex_Event_t)((uintptr_t)e | GEXI_EVENT_LEAF);
}
/* Return the object of a handle of either stage. */
static inline struct gexi_event *gexi_event_of(gex_Event_t event)
{
	return (struct gexi_event *)((uintptr_t)event & ~(uintptr_t)63);
}

/* Completions for PAMI: of the whole operation, and of its local stage. cookie: the event. */
void gexi_event_root(pami_context_t context, void *cookie, pami_result_t result);
void gexi_event_local(pami_context_t context, void *cookie, pami_result_t result);

/* Count one more implicit operation of this thread; fn(context, cookie, result) completes it. */
struct gexi_completion gexi_nbi_start(unsigned category);
/* Completion functions of one category without a region; the cookie is the thread. */
extern const pami_event_function gexi_nbi_done[GEXI_EC_COUNT];
static inline void gexi_complete(struct gexi_completion c)
{
	c.fn(NULL, c.cookie, PAMI_SUCCESS);
}

/* An operation failed after its call returned: end the process with the reason. */
void gexi_operation_failed(const char *what, pami_result_t result) __attribute__((noreturn));

/* In debug builds of the program: end the process if lc_opt is none of those in the mask. */
enum {
	GEXI_LC_NONE = 1,
	GEXI_LC_NOW = 2,
	GEXI_LC_DEFER = 4,
	GEXI_LC_GROUP = 8,
	GEXI_LC_VARIABLE = 16
};
void gexi_check_lc_slow(const char *call, const gex_Event_t *lc_opt, unsigned allowed);
static inline void gexi_check_lc(const char *call, const gex_Event_t *lc_opt, unsigned allowed)
{
	if (GEXI_UNLIKELY(gexi_world.is_debug))
		gexi_check_lc_slow(call, lc_opt, allowed);
}

/* Wait until *pending is 0, making progress. The caller does not hold the lock. */
static inline void gexi_wait_zero(const atomic_u32 *pending)
{
	while (atomic_load_acquire(pending))
		gexi_poll_waiting();
}

#endif
