/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast and reductions. Predefined types and operations are PAMI's; a reduction by the
 * program's own function gathers the contributions and folds them, in the order of the ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "gasnet/core/team.h"

/* Create the event that the collective's completion function completes. */
static gex_Event_t start_collective(gex_TM_t tm, pami_xfer_type_t type, pami_xfer_t *x,
				    void *memory)
{
	struct gexi_event *e = gexi_event_new();

	e->memory = memory;
	atomic_store_relaxed(&e->pending, 1);
	gexi_lock();
	gexi_collective_start(tm, type, x, gexi_event_root, e);
	gexi_unlock();
	return gexi_event_handle(e);
}

gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
				 size_t bytes, gex_Flags_t flags)
{
	pami_endpoint_t from = gexi_member(tm, root);
	pami_xfer_t x = {.cmd.xfer_broadcast = {
			     .root = from, .buf = dst, .type = PAMI_TYPE_BYTE, .typecount = bytes}};

	if (tm->rank == root && bytes)
		memmove(dst, src, bytes);
	if (!bytes || tm->size == 1)
		return GEX_EVENT_INVALID;
	return start_collective(tm, PAMI_XFER_BROADCAST, &x, NULL);
}

static pami_type_t type_of(gex_DT_t dt)
{
	switch (dt) {
	case GEX_DT_I32:
		return PAMI_TYPE_SIGNED_INT;
	case GEX_DT_U32:
		return PAMI_TYPE_UNSIGNED_INT;
	case GEX_DT_I64:
		return PAMI_TYPE_SIGNED_LONG;
	case GEX_DT_U64:
		return PAMI_TYPE_UNSIGNED_LONG;
	case GEX_DT_FLT:
		return PAMI_TYPE_FLOAT;
	case GEX_DT_DBL:
		return PAMI_TYPE_DOUBLE;
	default:
		gexi_die("%#x is not a data type of reductions", dt);
	}
}

static pami_data_function operation_of(gex_OP_t op)
{
	switch (op) {
	case GEX_OP_ADD:
		return PAMI_DATA_SUM;
	case GEX_OP_MULT:
		return PAMI_DATA_PROD;
	case GEX_OP_MIN:
		return PAMI_DATA_MIN;
	case GEX_OP_MAX:
		return PAMI_DATA_MAX;
	case GEX_OP_AND:
		return PAMI_DATA_BAND;
	case GEX_OP_OR:
		return PAMI_DATA_BOR;
	case GEX_OP_XOR:
		return PAMI_DATA_BXOR;
	default:
		gexi_die("%#x is not an operation of reductions", op);
	}
}

/* ---- by a function of the program ---- */

struct fold {
	struct gexi_event *event;
	char *all; /* one contribution for each rank */
	void *dst; /* NULL: no result here */
	size_t bytes, count, members;
	gex_Coll_ReduceFn_t fn;
	const void *cdata;
};

static void fold_gathered(pami_context_t context, void *cookie, pami_result_t result)
{
	struct fold *f = cookie;
	char *last = f->all + (f->members - 1) * f->bytes;

	for (size_t i = f->members - 1; result == PAMI_SUCCESS && f->dst && i-- > 0;)
		f->fn(f->all + i * f->bytes, last, f->count, f->cdata);
	if (f->dst)
		memcpy(f->dst, last, f->bytes);
	gexi_event_root(context, f->event, result);
}

static gex_Event_t reduce_user(gex_TM_t tm, void *dst, const void *src, size_t bytes, size_t count,
			       gex_Coll_ReduceFn_t fn, const void *cdata)
{
	struct gexi_event *e = gexi_event_new();
	struct fold *f = malloc(sizeof(*f) + 64 + bytes * tm->size);
	pami_xfer_t x = {0};

	if (!f || !fn)
		gexi_die("a reduction: %s", f ? "no function of the program" : "no memory");
	*f = (struct fold){.event = e,
			   .all = (char *)(((uintptr_t)(f + 1) + 63) & ~(uintptr_t)63),
			   .dst = dst,
			   .bytes = bytes,
			   .count = count,
			   .members = tm->size,
			   .fn = fn,
			   .cdata = cdata};
	e->memory = f;
	atomic_store_relaxed(&e->pending, 1);
	x.cmd.xfer_allgather = (pami_allgather_t){
	    .sndbuf = (char *)(uintptr_t)src,
	    .stype = PAMI_TYPE_BYTE,
	    .stypecount = bytes,
	    .rcvbuf = f->all,
	    .rtype = PAMI_TYPE_BYTE,
	    .rtypecount = bytes,
	};
	gexi_lock();
	gexi_collective_start(tm, PAMI_XFER_ALLGATHER, &x, fold_gathered, f);
	gexi_unlock();
	return gexi_event_handle(e);
}

/* Start a reduction to the member `root`, or to all where root is GEX_RANK_INVALID. */
static gex_Event_t reduce(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, gex_DT_t dt,
			  size_t bytes, size_t count, gex_OP_t op, gex_Coll_ReduceFn_t user_op,
			  const void *user_cdata)
{
	bool is_to_all = root == GEX_RANK_INVALID, has_result = is_to_all || tm->rank == root;
	pami_xfer_t x = {0};
	void *unused = NULL;
	pami_reduce_t r;

	if (tm->size == 1 || !count) {
		memmove(dst, src, bytes);
		return GEX_EVENT_INVALID;
	}
	if (dt == GEX_DT_USER || op & (GEX_OP_USER | GEX_OP_USER_NC))
		return reduce_user(tm, has_result ? dst : NULL, src, bytes, count, user_op,
				   user_cdata);
	if (!has_result) {
		unused = malloc(bytes); /* The program's dst matters at the root only. */
		if (!unused)
			gexi_die("gex_Coll_ReduceToOneNB: no memory for %zu bytes", bytes);
		dst = unused;
	}
	r = (pami_reduce_t){
	    .root = is_to_all ? 0 : gexi_member(tm, root),
	    .sndbuf = (char *)(uintptr_t)src,
	    .stype = type_of(dt),
	    .stypecount = count,
	    .rcvbuf = dst,
	    .rtype = type_of(dt),
	    .rtypecount = count,
	    .op = operation_of(op),
	    .commutative = 1,
	};
	if (!is_to_all) {
		x.cmd.xfer_reduce = r;
		return start_collective(tm, PAMI_XFER_REDUCE, &x, unused);
	}
	x.cmd.xfer_allreduce =
	    (pami_allreduce_t){r.sndbuf,     r.stype, r.stypecount, r.rcvbuf,     r.rtype,
			       r.rtypecount, r.op,    NULL,         r.commutative};
	return start_collective(tm, PAMI_XFER_ALLREDUCE, &x, NULL);
}

gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt,
				   size_t dt_sz, size_t dt_cnt, gex_OP_t op,
				   gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags)
{
	if (GEXI_UNLIKELY(!tm))
		gexi_rank_fail(tm, 0);
	return reduce(tm, GEX_RANK_INVALID, dst, src, dt, dt_sz * dt_cnt, dt_cnt, op, user_op,
		      user_cdata);
}

gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
				   gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op,
				   gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags)
{
	gexi_member(tm, root); /* ends the process if there is no such member */
	return reduce(tm, root, dst, src, dt, dt_sz * dt_cnt, dt_cnt, op, user_op, user_cdata);
}
