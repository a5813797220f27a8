/* SPDX-License-Identifier: BSD-3-Clause */
/* HOT: events and sets of implicit operations. The bench gex guards it. */
#include <stdlib.h>

#include "gasnet/core/event.h"

enum { EVENTS_AT_ONCE = 64, LIVE = 0x47455856, TAKEN = 0x74616b65, FREE = 0x66726565 };

static GEXI_COLD struct gexi_event *events_refill(struct gexi_thread *t)
{
	struct gexi_event *e = aligned_alloc(64, EVENTS_AT_ONCE * sizeof(*e));

	if (!e)
		gexi_die("no memory for %d more events", (int)EVENTS_AT_ONCE);
	for (int i = 0; i < EVENTS_AT_ONCE; i++) {
		e[i] = (struct gexi_event){.is_live = FREE, .next = t->free};
		t->free = &e[i];
	}
	return t->free;
}

struct gexi_event *gexi_event_new(void)
{
	struct gexi_thread *t = gexi_self();
	struct gexi_event *e = t->free;

	if (GEXI_UNLIKELY(!e))
		e = events_refill(t);
	t->free = e->next;
	e->is_live = LIVE;
	e->memory = NULL;
	atomic_store_relaxed(&e->pending, 0);
	atomic_store_relaxed(&e->local, 0);
	return e;
}

void gexi_event_free(struct gexi_event *e)
{
	struct gexi_thread *t = gexi_self();

	if (GEXI_UNLIKELY(e->memory != NULL))
		free(e->memory);
	e->is_live = FREE;
	e->next = t->free;
	t->free = e;
}

GEXI_COLD void gexi_check_lc_slow(const char *call, const gex_Event_t *lc_opt, unsigned allowed)
{
	static const char *const names[] = {"NULL", "GEX_EVENT_NOW", "GEX_EVENT_DEFER",
					    "GEX_EVENT_GROUP", "the address of a variable"};
	unsigned which = (uintptr_t)lc_opt < 4 ? (unsigned)(uintptr_t)lc_opt : 4;

	if (!(allowed >> which & 1))
		gexi_die("%s: lc_opt is %s, which this call does not allow", call, names[which]);
}

void gexi_operation_failed(const char *what, pami_result_t result)
{
	uint32_t t = 0;

	while (t < gexi_world.nproc && !(gexi_world.is_gone && gexi_world.is_gone(t)))
		t++;
	if (result == PAMI_SHUTDOWN && t < gexi_world.nproc)
		gexi_die("%s failed: process %u has died or left the job", what, t);
	gexi_die("%s failed: %s", what,
		 result == PAMI_SHUTDOWN ? "a process that it needs has died or left the job"
		 : result == PAMI_ENOMEM ? "no memory"
					 : "an address that it names is not mapped");
}

/*
 * Completions of one event run under the lock, except that the thread that opened an access region
 * adds to its event without the lock.
 */
void gexi_event_root(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_event *e = cookie;

	if (GEXI_UNLIKELY(result != PAMI_SUCCESS))
		gexi_operation_failed("an operation", result);
	atomic_fetch_sub_release(&e->pending, 1);
}

void gexi_event_local(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_event *e = cookie;

	if (GEXI_UNLIKELY(result != PAMI_SUCCESS))
		gexi_operation_failed("an operation", result);
	/* After the last pending one the event may be reused. */
	atomic_fetch_sub_release(&e->local, 1);
	atomic_fetch_sub_release(&e->pending, 1);
}

/* ---- implicit operations ---- */

static inline void count_done(struct gexi_thread *t, unsigned category, pami_result_t result)
{
	if (GEXI_UNLIKELY(result != PAMI_SUCCESS))
		gexi_operation_failed("an implicit operation", result);
	/* Only the holder of the lock writes. */
	atomic_store_release(&t->done[category], atomic_load_relaxed(&t->done[category]) + 1);
}
static void done_put(pami_context_t context, void *cookie, pami_result_t result)
{
	count_done(cookie, GEXI_EC_PUT, result);
}
static void done_get(pami_context_t context, void *cookie, pami_result_t result)
{
	count_done(cookie, GEXI_EC_GET, result);
}
static void done_rmw(pami_context_t context, void *cookie, pami_result_t result)
{
	count_done(cookie, GEXI_EC_RMW, result);
}
static void done_am(pami_context_t context, void *cookie, pami_result_t result)
{
	count_done(cookie, GEXI_EC_AM, result);
}
static void done_lc(pami_context_t context, void *cookie, pami_result_t result)
{
	count_done(cookie, GEXI_EC_LC, result);
}
const pami_event_function gexi_nbi_done[GEXI_EC_COUNT] = {done_put, done_get, done_rmw, done_am,
							  done_lc};

struct gexi_completion gexi_nbi_start(unsigned category)
{
	struct gexi_thread *t = gexi_self();

	if (GEXI_UNLIKELY(t->region != NULL)) {
		atomic_fetch_add_relaxed(&t->region->pending, 1);
		return (struct gexi_completion){gexi_event_root, t->region};
	}
	t->started[category]++;
	return (struct gexi_completion){gexi_nbi_done[category], t};
}

static GEXI_COLD void region_fail(void)
{
	gexi_die("gex_NBI_Test, gex_NBI_Wait: this thread has an open access region");
}

int gex_NBI_Test(gex_EC_t mask, gex_Flags_t flags)
{
	struct gexi_thread *t = gexi_self();

	gexi_check_may_call("gex_NBI_Test, gex_NBI_Wait");
	if (GEXI_UNLIKELY(t->region && gexi_world.is_debug))
		region_fail();
	for (unsigned c = 0; c < GEXI_EC_COUNT; c++)
		if (mask >> c & 1 && atomic_load_acquire(&t->done[c]) != t->started[c])
			return GASNET_ERR_NOT_READY;
	return GASNET_OK;
}

void gex_NBI_Wait(gex_EC_t mask, gex_Flags_t flags)
{
	while (gex_NBI_Test(mask, flags))
		gexi_poll_waiting();
}

void gex_NBI_BeginAccessRegion(gex_Flags_t flags)
{
	struct gexi_thread *t = gexi_self();

	if (t->region)
		gexi_die("gex_NBI_BeginAccessRegion: this thread has an open region; regions do "
			 "not nest");
	t->region = gexi_event_new();
	atomic_store_relaxed(&t->region->pending, 1); /* until its end */
}

gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags)
{
	struct gexi_thread *t = gexi_self();
	struct gexi_event *e = t->region;

	if (!e)
		gexi_die("gex_NBI_EndAccessRegion: this thread has no open region");
	t->region = NULL;
	if (atomic_fetch_sub_release(&e->pending, 1) == 1) {
		atomic_fence_acquire();
		gexi_event_free(e);
		return GEX_EVENT_INVALID;
	}
	return gexi_event_handle(e);
}

/* ---- tests and waits ---- */

static GEXI_COLD void event_fail(gex_Event_t event)
{
	if (event == GEX_EVENT_NO_OP)
		gexi_die("an event is GEX_EVENT_NO_OP: the operation was not started");
	gexi_die("%p is not an event, or it was consumed before", (void *)event);
}

static inline bool is_complete(gex_Event_t event)
{
	struct gexi_event *e = gexi_event_of(event);

	if (GEXI_UNLIKELY((uintptr_t)event < 64 || e->is_live != LIVE))
		event_fail(event);
	return !atomic_load_acquire((uintptr_t)event & GEXI_EVENT_LEAF ? &e->local : &e->pending);
}

static inline void consume_event(gex_Event_t event)
{
	if (!((uintptr_t)event & GEXI_EVENT_LEAF))
		gexi_event_free(gexi_event_of(event));
}

int gex_Event_Test(gex_Event_t event)
{
	gexi_check_may_call("gex_Event_Test, gex_Event_Wait");
	if (event == GEX_EVENT_INVALID)
		return GASNET_OK;
	if (!is_complete(event))
		return GASNET_ERR_NOT_READY;
	consume_event(event);
	return GASNET_OK;
}

/* The header has a macro of this name. */
void(gex_Event_Wait)(gex_Event_t event)
{
	while (gex_Event_Test(event))
		gexi_poll_waiting();
}

/*
 * Consume the complete entries of a list. A root takes its leaves in the list with it, also those
 * that were still pending when this looked at them. Returns how many entries are left; *found: were
 * there complete ones?
 */
static size_t consume_complete(gex_Event_t *events, size_t count, bool *found)
{
	struct gexi_event *taken = NULL, *e;
	size_t left = 0, leaves = 0;

	*found = false;
	for (size_t i = 0; i < count; i++) {
		bool is_leaf = (uintptr_t)events[i] & GEXI_EVENT_LEAF;

		if (events[i] == GEX_EVENT_INVALID)
			continue;
		e = gexi_event_of(events[i]);
		if (!(is_leaf && e->is_live == TAKEN) && !is_complete(events[i])) {
			left++;
			leaves += is_leaf;
			continue;
		}
		*found = true;
		events[i] = GEX_EVENT_INVALID;
		if (is_leaf)
			continue;
		e->is_live = TAKEN;
		e->next = taken;
		taken = e;
	}
	for (size_t i = 0; taken && leaves && i < count; i++)
		if ((uintptr_t)events[i] & GEXI_EVENT_LEAF &&
		    gexi_event_of(events[i])->is_live == TAKEN) {
			events[i] = GEX_EVENT_INVALID;
			left--;
		}
	while ((e = taken)) {
		taken = e->next;
		gexi_event_free(e);
	}
	return left;
}

int gex_Event_TestSome(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
	bool found;

	return consume_complete(events, count, &found) && !found ? GASNET_ERR_NOT_READY : GASNET_OK;
}

void gex_Event_WaitSome(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
	while (gex_Event_TestSome(events, count, flags))
		gexi_poll_waiting();
}

int gex_Event_TestAll(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
	bool found;

	return consume_complete(events, count, &found) ? GASNET_ERR_NOT_READY : GASNET_OK;
}

void gex_Event_WaitAll(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
	while (gex_Event_TestAll(events, count, flags))
		gexi_poll_waiting();
}

gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t category)
{
	struct gexi_event *e = gexi_event_of(root);

	if (root == GEX_EVENT_INVALID)
		return GEX_EVENT_INVALID;
	if (root == GEX_EVENT_NO_OP || e->is_live != LIVE)
		event_fail(root);
	return category == GEX_EC_LC || category == GEX_EC_AM ? gexi_event_leaf_handle(e) : root;
}
