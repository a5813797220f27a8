/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of GASNet-EX; gasnetex.h includes this. All members of a team call them in the same
 * order. The event completes when the buffers of this process hold results and may be reused;
 * progress needs polls, not waits on the event.
 */
#ifndef _GASNET_COLL_H
#define _GASNET_COLL_H

#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reduces count elements: arg2[i] = arg1[i] op arg2[i]. cdata: of the call. */
typedef void (*gex_Coll_ReduceFn_t)(const void *arg1, void *arg2_and_out, size_t count,
				    const void *cdata);

/* Complete once all members have called. Several may be in flight. */
gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags);
/* bytes from src of root to dst of all members; src matters at the root only. */
gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
				 size_t bytes, gex_Flags_t flags);
/*
 * dst[i] = op over all members of src[i], for dt_cnt elements of dt_sz bytes. GEX_DT_USER needs
 * op GEX_OP_USER (commutative) or GEX_OP_USER_NC and user_op, with any dt_sz.
 */
gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt,
				   size_t dt_sz, size_t dt_cnt, gex_OP_t op,
				   gex_Coll_ReduceFn_t user_op, void *user_cdata,
				   gex_Flags_t flags);
/* The same with the result at root only; dst matters there only. */
gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
				   gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op,
				   gex_Coll_ReduceFn_t user_op, void *user_cdata,
				   gex_Flags_t flags);

#ifdef __cplusplus
}
#endif
#endif
