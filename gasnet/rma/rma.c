/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: puts and gets. In memory that this process maps they are a copy, complete when the call
 * returns. Elsewhere they are PAMI's, which need no software of the target. The bench gex guards
 * it.
 */
#include <stdlib.h>
#include <string.h>

#include "gasnet/core/event.h"
#include "gasnet/core/team.h"

/*
 * Puts of at most so many bytes whose source the caller wants back are copied, with TGEX_LC=remote,
 * too. Each copy lives until PAMI has read it; a caller that has too many makes progress.
 */
enum { COPY_MAX = 512, COPIES_MAX = 128 };
struct gexi_copy {
	struct gexi_copy *next;
	_Alignas(16) char data[COPY_MAX];
};
static struct {
	struct gexi_copy *free; /* lock */
	atomic_u32 busy;
} copies;

static GEXI_COLD void rma_fail(const char *call, uint32_t task, pami_result_t rc)
{
	if (rc == PAMI_SHUTDOWN)
		gexi_die("%s cannot start: process %u has died or left the job", call, task);
	gexi_die("%s to process %u: PAMI refuses the operation", call, task);
}

/* Start a put; the lock is held. */
static inline void start_put(uint32_t task, void *dst, const void *src, size_t bytes,
			     pami_event_function local, pami_event_function remote, void *cookie)
{
	pami_put_simple_t p = {
	    .rma = {.dest = gexi_peer(task)->endpoint[GEXI_MAIN],
		    .bytes = bytes,
		    .cookie = cookie,
		    .done_fn = local},
	    .addr = {.local = (void *)(uintptr_t)src, .remote = dst},
	    .put = {.rdone_fn = remote},
	};
	pami_result_t rc = PAMI_Put(gexi_world.context[GEXI_MAIN], &p);

	if (GEXI_UNLIKELY(rc != PAMI_SUCCESS))
		rma_fail("a put", task, rc);
}

static inline void start_get(uint32_t task, void *dst, void *src, size_t bytes,
			     pami_event_function done, void *cookie)
{
	pami_get_simple_t p = {
	    .rma = {.dest = gexi_peer(task)->endpoint[GEXI_MAIN],
		    .bytes = bytes,
		    .cookie = cookie,
		    .done_fn = done},
	    .addr = {.local = dst, .remote = src},
	};
	pami_result_t rc = PAMI_Get(gexi_world.context[GEXI_MAIN], &p);

	if (GEXI_UNLIKELY(rc != PAMI_SUCCESS))
		rma_fail("a get", task, rc);
}

/* Put by a copy, which is complete at once. Returns false if the memory is not mapped here. */
static inline bool put_direct(uint32_t task, void *dst, const void *src, size_t bytes)
{
	char *to = gexi_local(gexi_peer(task), dst);

	if (!to || !bytes)
		return !bytes;
	gexi_spend_copy(bytes);
	memmove(to, src, bytes);
	atomic_fence_release();
	return true;
}

static inline bool get_direct(uint32_t task, void *dst, const void *src, size_t bytes)
{
	const char *from = gexi_local(gexi_peer(task), src);

	if (!from || !bytes)
		return !bytes;
	gexi_spend_copy(bytes);
	memmove(dst, from, bytes);
	return true;
}

/* As gexi_gives_up(), of a put that is copied if it is that short. */
static inline bool gives_up_put(gex_Flags_t flags, size_t bytes)
{
	if (GEXI_LIKELY(!(flags & GEX_FLAG_IMMEDIATE)))
		return false;
	return (gexi_world.env.imm && bytes <= COPY_MAX &&
		atomic_load_relaxed(&copies.busy) >= COPIES_MAX) ||
	       gexi_has_no_room();
}

/* ---- puts ---- */

static void put_and_wait(uint32_t task, void *dst, const void *src, size_t bytes)
{
	struct gexi_event *e = gexi_event_new();

	atomic_store_relaxed(&e->pending, 1);
	gexi_lock();
	start_put(task, dst, src, bytes, NULL, gexi_event_root, e);
	gexi_unlock();
	gexi_wait_zero(&e->pending);
	gexi_event_free(e);
}

int gex_RMA_PutBlocking(gex_TM_t tm, gex_Rank_t rank, void *dst, const void *src, size_t bytes,
			gex_Flags_t flags)
{
	uint32_t task = gexi_task_of(tm, rank);

	gexi_check_bounds(__func__, task, dst, bytes);
	gexi_check_local(__func__, src, bytes);
	gexi_check_may_call(__func__);
	if (put_direct(task, dst, src, bytes))
		return 0;
	if (gexi_gives_up(flags))
		return GASNET_ERR_NOT_READY;
	put_and_wait(task, dst, src, bytes);
	return 0;
}

/*
 * A put that the caller may wait for: of the local stage, if it has one, and of the whole. Local
 * completion is that of the whole in the reference form (TGEX_LC=remote).
 */
static struct gexi_event *put_event(uint32_t task, void *dst, const void *src, size_t bytes,
				    bool has_local)
{
	struct gexi_event *e = gexi_event_new();
	bool apart = has_local && gexi_world.env.lc;

	atomic_store_relaxed(&e->local, has_local);
	atomic_store_relaxed(&e->pending, 1 + apart);
	gexi_lock();
	start_put(task, dst, src, bytes, apart ? gexi_event_local : NULL,
		  has_local && !apart ? gexi_event_local : gexi_event_root, e);
	gexi_unlock();
	return e;
}

/* PAMI has read the copy of a source. */
static void release_copy(struct gexi_event *e, pami_result_t result)
{
	struct gexi_copy *c = e->copy;

	if (result != PAMI_SUCCESS)
		gexi_operation_failed("a put", result);
	c->next = copies.free;
	copies.free = c;
	atomic_fetch_sub_relaxed(&copies.busy, 1);
}

static void copy_read(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_event *e = cookie;

	release_copy(e, result);
	atomic_fetch_sub_release(&e->pending, 1);
}

/* The same for an implicit put: the last of its completions frees the event. */
static void copy_read_nbi(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_event *e = cookie;

	release_copy(e, result);
	if (atomic_fetch_sub_acq_rel(&e->pending, 1) == 1)
		gexi_event_free(e);
}

static void copied_remote_nbi(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_event *e = cookie;

	e->completion.fn(context, e->completion.cookie, result);
	if (atomic_fetch_sub_acq_rel(&e->pending, 1) == 1)
		gexi_event_free(e);
}

/* A put of a copy of the source; `remote` completes the event with it. */
static struct gexi_event *put_copy(uint32_t task, void *dst, const void *src, size_t bytes,
				   pami_event_function local, pami_event_function remote)
{
	struct gexi_event *e = gexi_event_new();
	struct gexi_copy *c;

	if (remote == copied_remote_nbi)
		e->completion = gexi_nbi_start(GEXI_EC_PUT);
	atomic_store_relaxed(&e->pending, 2);
	while (GEXI_UNLIKELY(atomic_load_relaxed(&copies.busy) >= COPIES_MAX))
		gexi_poll_waiting();
	gexi_lock();
	c = copies.free;
	if (GEXI_LIKELY(c != NULL))
		copies.free = c->next;
	else if (!(c = aligned_alloc(16, sizeof(*c))))
		gexi_die("no memory for a put");
	atomic_fetch_add_relaxed(&copies.busy, 1);
	e->copy = c;
	memcpy(c->data, src, bytes);
	start_put(task, dst, c->data, bytes, local, remote, e);
	gexi_unlock();
	return e;
}

gex_Event_t gex_RMA_PutNB(gex_TM_t tm, gex_Rank_t rank, void *dst, const void *src, size_t bytes,
			  gex_Event_t *lc_opt, gex_Flags_t flags)
{
	uint32_t task = gexi_task_of(tm, rank);
	struct gexi_event *e;

	gexi_check_bounds(__func__, task, dst, bytes);
	gexi_check_local(__func__, src, bytes);
	gexi_check_may_call(__func__);
	gexi_check_lc(__func__, lc_opt, GEXI_LC_NOW | GEXI_LC_DEFER | GEXI_LC_VARIABLE);
	if (put_direct(task, dst, src, bytes)) {
		if ((uintptr_t)lc_opt > (uintptr_t)GEX_EVENT_GROUP)
			*lc_opt = GEX_EVENT_INVALID;
		return GEX_EVENT_INVALID;
	}
	if (gives_up_put(flags, bytes))
		return GEX_EVENT_NO_OP;
	if (bytes <= COPY_MAX && lc_opt != GEX_EVENT_DEFER) {
		e = put_copy(task, dst, src, bytes, copy_read, gexi_event_root);
		if ((uintptr_t)lc_opt > (uintptr_t)GEX_EVENT_GROUP)
			*lc_opt = GEX_EVENT_INVALID;
		return gexi_event_handle(e);
	}
	e = put_event(task, dst, src, bytes, lc_opt != GEX_EVENT_DEFER);
	if (lc_opt == GEX_EVENT_NOW)
		gexi_wait_zero(&e->local);
	else if ((uintptr_t)lc_opt > (uintptr_t)GEX_EVENT_GROUP)
		*lc_opt = gexi_event_leaf_handle(e);
	return gexi_event_handle(e);
}

/* Completions of an implicit put whose local stage the caller waits for; cookie: an event. */
static void now_local(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_event *e = cookie;

	if (result != PAMI_SUCCESS)
		gexi_operation_failed("a put", result);
	atomic_fetch_sub_release(&e->local, 1);
}

/* The initiator frees the event after the local stage, or this function does, whichever comes
 * last. */
static void now_remote(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_event *e = cookie;

	e->completion.fn(context, e->completion.cookie, result);
	if (!gexi_world.env.lc)
		atomic_fetch_sub_release(&e->local, 1);
	if (atomic_fetch_sub_acq_rel(&e->pending, 1) == 1)
		gexi_event_free(e);
}

static void put_nbi_now(uint32_t task, void *dst, const void *src, size_t bytes)
{
	struct gexi_event *e = gexi_event_new();

	e->completion = gexi_nbi_start(GEXI_EC_PUT);
	atomic_store_relaxed(&e->local, 1);
	atomic_store_relaxed(&e->pending, 2); /* this call, and the put */
	gexi_lock();
	start_put(task, dst, src, bytes, gexi_world.env.lc ? now_local : NULL, now_remote, e);
	gexi_unlock();
	gexi_wait_zero(&e->local);
	if (atomic_fetch_sub_acq_rel(&e->pending, 1) == 1)
		gexi_event_free(e);
}

/* Completions of an implicit put with both stages in implicit sets; cookie: an event. */
static void group_local(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_event *e = cookie;

	e->completion_local.fn(context, e->completion_local.cookie, result);
	if (atomic_fetch_sub_acq_rel(&e->pending, 1) == 1)
		gexi_event_free(e);
}

static void group_remote(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_event *e = cookie;

	e->completion.fn(context, e->completion.cookie, result);
	if (!gexi_world.env.lc)
		e->completion_local.fn(context, e->completion_local.cookie, result);
	if (atomic_fetch_sub_acq_rel(&e->pending, 1) == 1)
		gexi_event_free(e);
}

static void put_nbi_group(uint32_t task, void *dst, const void *src, size_t bytes)
{
	struct gexi_event *e = gexi_event_new();

	e->completion = gexi_nbi_start(GEXI_EC_PUT);
	e->completion_local = gexi_nbi_start(GEXI_EC_LC);
	atomic_store_relaxed(&e->pending, gexi_world.env.lc ? 2 : 1);
	gexi_lock();
	start_put(task, dst, src, bytes, gexi_world.env.lc ? group_local : NULL, group_remote, e);
	gexi_unlock();
}

int gex_RMA_PutNBI(gex_TM_t tm, gex_Rank_t rank, void *dst, const void *src, size_t bytes,
		   gex_Event_t *lc_opt, gex_Flags_t flags)
{
	uint32_t task = gexi_task_of(tm, rank);
	struct gexi_completion done;

	gexi_check_bounds(__func__, task, dst, bytes);
	gexi_check_local(__func__, src, bytes);
	gexi_check_may_call(__func__);
	gexi_check_lc(__func__, lc_opt, GEXI_LC_NOW | GEXI_LC_DEFER | GEXI_LC_GROUP);
	if (put_direct(task, dst, src, bytes))
		return 0;
	if (gives_up_put(flags, bytes))
		return GASNET_ERR_NOT_READY;
	if (bytes <= COPY_MAX && lc_opt != GEX_EVENT_DEFER) {
		put_copy(task, dst, src, bytes, copy_read_nbi, copied_remote_nbi);
	} else if (lc_opt == GEX_EVENT_GROUP) {
		put_nbi_group(task, dst, src, bytes);
	} else if (lc_opt == GEX_EVENT_DEFER) {
		done = gexi_nbi_start(GEXI_EC_PUT);
		gexi_lock();
		start_put(task, dst, src, bytes, NULL, done.fn, done.cookie);
		gexi_unlock();
	} else {
		put_nbi_now(task, dst, src, bytes);
	}
	return 0;
}

/* ---- gets ---- */

int gex_RMA_GetBlocking(gex_TM_t tm, void *dst, gex_Rank_t rank, void *src, size_t bytes,
			gex_Flags_t flags)
{
	gex_Event_t e = gex_RMA_GetNB(tm, dst, rank, src, bytes, flags);

	if (GEXI_UNLIKELY(e == GEX_EVENT_NO_OP))
		return GASNET_ERR_NOT_READY;
	gex_Event_Wait(e);
	return 0;
}

gex_Event_t gex_RMA_GetNB(gex_TM_t tm, void *dst, gex_Rank_t rank, void *src, size_t bytes,
			  gex_Flags_t flags)
{
	uint32_t task = gexi_task_of(tm, rank);
	struct gexi_event *e;

	gexi_check_bounds(__func__, task, src, bytes);
	gexi_check_local(__func__, dst, bytes);
	gexi_check_may_call(__func__);
	if (get_direct(task, dst, src, bytes))
		return GEX_EVENT_INVALID;
	if (gexi_gives_up(flags))
		return GEX_EVENT_NO_OP;
	e = gexi_event_new();
	atomic_store_relaxed(&e->pending, 1);
	gexi_lock();
	start_get(task, dst, src, bytes, gexi_event_root, e);
	gexi_unlock();
	return gexi_event_handle(e);
}

int gex_RMA_GetNBI(gex_TM_t tm, void *dst, gex_Rank_t rank, void *src, size_t bytes,
		   gex_Flags_t flags)
{
	uint32_t task = gexi_task_of(tm, rank);
	struct gexi_completion done;

	gexi_check_bounds(__func__, task, src, bytes);
	gexi_check_local(__func__, dst, bytes);
	gexi_check_may_call(__func__);
	if (get_direct(task, dst, src, bytes))
		return 0;
	if (gexi_gives_up(flags))
		return GASNET_ERR_NOT_READY;
	done = gexi_nbi_start(GEXI_EC_GET);
	gexi_lock();
	start_get(task, dst, src, bytes, done.fn, done.cookie);
	gexi_unlock();
	return 0;
}

/* ---- by value: the low-order bytes, which come first on this machine ---- */

static void check_value_bytes(const char *call, size_t bytes)
{
	if (GEXI_UNLIKELY(bytes > sizeof(gex_RMA_Value_t)))
		gexi_die("%s: %zu bytes; a value has at most %zu", call, bytes,
			 sizeof(gex_RMA_Value_t));
}

gex_RMA_Value_t gex_RMA_GetBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *src, size_t bytes,
				       gex_Flags_t flags)
{
	gex_RMA_Value_t value = 0;

	check_value_bytes(__func__, bytes);
	/* No value says that nothing was started. */
	gex_RMA_GetBlocking(tm, &value, rank, src, bytes, flags & ~GEX_FLAG_IMMEDIATE);
	return value;
}

int gex_RMA_PutBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *dst, gex_RMA_Value_t value,
			   size_t bytes, gex_Flags_t flags)
{
	check_value_bytes(__func__, bytes);
	return gex_RMA_PutBlocking(tm, rank, dst, &value, bytes, flags);
}

gex_Event_t gex_RMA_PutNBVal(gex_TM_t tm, gex_Rank_t rank, void *dst, gex_RMA_Value_t value,
			     size_t bytes, gex_Flags_t flags)
{
	uint32_t task = gexi_task_of(tm, rank);
	struct gexi_event *e;

	check_value_bytes(__func__, bytes);
	gexi_check_bounds(__func__, task, dst, bytes);
	gexi_check_may_call(__func__);
	if (put_direct(task, dst, &value, bytes))
		return GEX_EVENT_INVALID;
	if (gexi_gives_up(flags))
		return GEX_EVENT_NO_OP;
	e = gexi_event_new();
	e->value = value; /* lives as long as PAMI reads it */
	/* PAMI reports local completion before the event may be reused. */
	atomic_store_relaxed(&e->local, 1);
	atomic_store_relaxed(&e->pending, 2);
	gexi_lock();
	start_put(task, dst, &e->value, bytes, gexi_event_local, gexi_event_root, e);
	gexi_unlock();
	return gexi_event_handle(e);
}

static void value_done(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_event *e = cookie;

	if (atomic_fetch_sub_acq_rel(&e->pending, 1) != 1)
		return;
	e->completion.fn(context, e->completion.cookie, result);
	gexi_event_free(e);
}

int gex_RMA_PutNBIVal(gex_TM_t tm, gex_Rank_t rank, void *dst, gex_RMA_Value_t value, size_t bytes,
		      gex_Flags_t flags)
{
	uint32_t task = gexi_task_of(tm, rank);
	struct gexi_event *e;

	check_value_bytes(__func__, bytes);
	gexi_check_bounds(__func__, task, dst, bytes);
	gexi_check_may_call(__func__);
	if (put_direct(task, dst, &value, bytes))
		return 0;
	if (gexi_gives_up(flags))
		return GASNET_ERR_NOT_READY;
	e = gexi_event_new();
	e->value = value;
	e->completion = gexi_nbi_start(GEXI_EC_PUT);
	atomic_store_relaxed(&e->pending, 2);
	gexi_lock();
	start_put(task, dst, &e->value, bytes, value_done, value_done, e);
	gexi_unlock();
	return 0;
}
