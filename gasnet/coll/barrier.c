/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers: of teams, and the split-phase ones of GASNet-1 that have names. */
#include <stdint.h>

#include "gasnet/core/team.h"

gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags)
{
	struct gexi_event *e;
	pami_xfer_t x = {0};

	if (GEXI_UNLIKELY(!tm))
		gexi_rank_fail(tm, 0);
	atomic_fence_release();
	if (tm->size == 1)
		return GEX_EVENT_INVALID;
	e = gexi_event_new();
	atomic_store_relaxed(&e->pending, 1);
	gexi_lock();
	gexi_collective_start(tm, PAMI_XFER_BARRIER, &x, gexi_event_root, e);
	gexi_unlock();
	return gexi_event_handle(e);
}

/*
 * One named barrier at a time: an allreduce of the greatest and the least id of those that gave
 * one, and of the wish for a mismatch.
 */
enum { ID_MAX, ID_MIN_NEGATED, MISMATCH, WORDS };

static struct {
	atomic_u32 pending; /* 1: the allreduce is under way */
	bool is_notified;
	int id, flags; /* of this process */
	int last_id;
	bool last_is_named;
	int64_t own[WORDS], all[WORDS];
} named;

static void named_done(pami_context_t context, void *cookie, pami_result_t result)
{
	if (result != PAMI_SUCCESS)
		gexi_operation_failed("a barrier", result);
	atomic_store_release(&named.pending, 0);
}

void gasnet_barrier_notify(int id, int flags)
{
	bool is_named = !(flags & (GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_UNNAMED));
	pami_xfer_t x = {0};

	gexi_check_client("gasnet_barrier_notify");
	if (named.is_notified)
		gexi_die("gasnet_barrier_notify: the barrier before has no gasnet_barrier_wait");
	named.is_notified = true;
	named.id = id;
	named.flags = flags;
	named.own[ID_MAX] = is_named ? id : INT64_MIN;
	named.own[ID_MIN_NEGATED] = is_named ? -(int64_t)id : INT64_MIN;
	named.own[MISMATCH] = (flags & GASNET_BARRIERFLAG_MISMATCH) != 0;
	if (gexi_world.team->size == 1) {
		for (int i = 0; i < WORDS; i++)
			named.all[i] = named.own[i];
		return;
	}
	x.cmd.xfer_allreduce = (pami_allreduce_t){
	    .sndbuf = (char *)named.own,
	    .stype = PAMI_TYPE_SIGNED_LONG,
	    .stypecount = WORDS,
	    .rcvbuf = (char *)named.all,
	    .rtype = PAMI_TYPE_SIGNED_LONG,
	    .rtypecount = WORDS,
	    .op = PAMI_DATA_MAX,
	    .commutative = 1,
	};
	atomic_store_relaxed(&named.pending, 1);
	atomic_fence_release();
	gexi_lock();
	gexi_collective_start(gexi_world.team, PAMI_XFER_ALLREDUCE, &x, named_done, NULL);
	gexi_unlock();
}

static int named_finish(int id, int flags)
{
	bool any = named.all[ID_MAX] != INT64_MIN;

	named.is_notified = false;
	named.last_is_named = any;
	named.last_id = any ? (int)named.all[ID_MAX] : 0;
	if (named.all[MISMATCH] || (any && named.all[ID_MAX] != -named.all[ID_MIN_NEGATED]))
		return GASNET_ERR_BARRIER_MISMATCH;
	if (flags != named.flags || (named.own[ID_MAX] != INT64_MIN && id != named.id))
		return GASNET_ERR_BARRIER_MISMATCH; /* wait names another barrier than notify */
	return GASNET_OK;
}

static void check_notified(const char *call)
{
	if (!named.is_notified)
		gexi_die("%s: there was no gasnet_barrier_notify", call);
}

int gasnet_barrier_wait(int id, int flags)
{
	check_notified(__func__);
	gexi_wait_zero(&named.pending);
	return named_finish(id, flags);
}

int gasnet_barrier_try(int id, int flags)
{
	check_notified(__func__);
	gexi_poll();
	if (atomic_load_acquire(&named.pending))
		return GASNET_ERR_NOT_READY;
	return named_finish(id, flags);
}

int gasnet_barrier(int id, int flags)
{
	gasnet_barrier_notify(id, flags);
	return gasnet_barrier_wait(id, flags);
}

int gasnet_barrier_result(int *id)
{
	if (id)
		*id = named.last_id;
	return !named.last_is_named;
}
