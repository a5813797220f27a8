/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of GASNet-1, for programs that still use them, on top of gasnetex.h. Calls of both may
 * be mixed; gasnet_QueryGexObjects() gives the objects of gasnet_init() and gasnet_attach().
 */
#ifndef _GASNET_H
#define _GASNET_H

#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef gex_Rank_t gasnet_node_t;
typedef gex_AM_Index_t gasnet_handler_t;
typedef gex_AM_Arg_t gasnet_handlerarg_t;
typedef gex_Token_t gasnet_token_t;
typedef gex_Event_t gasnet_handle_t;
typedef gex_RMA_Value_t gasnet_register_value_t;
#define SIZEOF_GASNET_REGISTER_VALUE_T SIZEOF_GEX_RMA_VALUE_T
#define GASNET_INVALID_HANDLE          GEX_EVENT_INVALID
#define GASNET_MAXNODES                ((gasnet_node_t)-2)
typedef gex_HSL_t gasnet_hsl_t;
#define GASNET_HSL_INITIALIZER     GEX_HSL_INITIALIZER
#define gasnet_hsl_init(hsl)       gex_HSL_Init(hsl)
#define gasnet_hsl_destroy(hsl)    gex_HSL_Destroy(hsl)
#define gasnet_hsl_lock(hsl)       gex_HSL_Lock(hsl)
#define gasnet_hsl_unlock(hsl)     gex_HSL_Unlock(hsl)
#define gasnet_hsl_trylock(hsl)    gex_HSL_Trylock(hsl)
#define gasnet_hold_interrupts()   ((void)0)
#define gasnet_resume_interrupts() ((void)0)

typedef struct {
	gasnet_handler_t index; /* 128 .. 255, or 0: the library assigns one */
	gex_AM_Fn_t fnptr;      /* any handler, so that tables need no casts in C */
} gasnet_handlerentry_t;
typedef struct {
	void *addr;
	uintptr_t size;
} gasnet_seginfo_t;
typedef struct {
	gasnet_node_t host;
	gasnet_node_t supernode;
	intptr_t offset;
} gasnet_nodeinfo_t;

int gexi_init(int *argc, char ***argv, int mode);
/* The team of all processes, once the job is joined. */
gex_TM_t gexi_world_team(void);

/* Join the job. */
static inline int gasnet_init(int *argc, char ***argv)
{
	return gexi_init(argc, argv, GEXI_MODE | GEXI_MODE_DEBUG);
}
/* Register handlers, create the segment (segsize 0: none), and wait for all. Indices that were 0
 * are written back. */
int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
		  uintptr_t minheapoffset);
/* Outputs may be NULL. */
void gasnet_QueryGexObjects(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p,
			    gex_Segment_t *segment_p);
/* Segments of the first numentries processes. */
int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int numentries);
int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int numentries);

static inline gasnet_node_t gasnet_mynode(void)
{
	return gex_System_QueryJobRank();
}
static inline gasnet_node_t gasnet_nodes(void)
{
	return gex_System_QueryJobSize();
}

/* ---- active messages ---- */

static inline size_t gasnet_AMMaxArgs(void)
{
	return gex_AM_MaxArgs();
}
static inline size_t gasnet_AMMaxMedium(void)
{
	return gex_AM_LUBRequestMedium();
}
static inline size_t gasnet_AMMaxLongRequest(void)
{
	return gex_AM_LUBRequestLong();
}
static inline size_t gasnet_AMMaxLongReply(void)
{
	return gex_AM_LUBReplyLong();
}
static inline int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *srcindex)
{
	gex_Token_Info_t info;

	gex_Token_Info(token, &info, GEX_TI_SRCRANK);
	*srcindex = info.gex_srcrank;
	return GASNET_OK;
}

/* clang-format off */
#define gasnet_AMRequestShort(...)     GEXI_CAT(gasnet_AMRequestShort, GEXI_AM_COUNT_2(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMRequestMedium(...)    GEXI_CAT(gasnet_AMRequestMedium, GEXI_AM_COUNT_4(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMRequestLong(...)      GEXI_CAT(gasnet_AMRequestLong, GEXI_AM_COUNT_5(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMRequestLongAsync(...) GEXI_CAT(gasnet_AMRequestLongAsync, GEXI_AM_COUNT_5(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMReplyShort(...)       GEXI_CAT(gasnet_AMReplyShort, GEXI_AM_COUNT_2(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMReplyMedium(...)      GEXI_CAT(gasnet_AMReplyMedium, GEXI_AM_COUNT_4(__VA_ARGS__))(__VA_ARGS__)
#define gasnet_AMReplyLong(...)        GEXI_CAT(gasnet_AMReplyLong, GEXI_AM_COUNT_5(__VA_ARGS__))(__VA_ARGS__)

#define GEXI_AM_FORM(n) static inline int gasnet_AMRequestShort##n(gasnet_node_t dest, gasnet_handler_t handler GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_request_short(gexi_world_team(), dest, handler, 0, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline int gasnet_AMRequestMedium##n(gasnet_node_t dest, gasnet_handler_t handler, void *src, size_t bytes GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_request_medium(gexi_world_team(), dest, handler, src, bytes, GEX_EVENT_NOW, 0, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline int gasnet_AMRequestLong##n(gasnet_node_t dest, gasnet_handler_t handler, void *src, size_t bytes, void *addr GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_request_long(gexi_world_team(), dest, handler, src, bytes, addr, GEX_EVENT_NOW, 0, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline int gasnet_AMRequestLongAsync##n(gasnet_node_t dest, gasnet_handler_t handler, void *src, size_t bytes, void *addr GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_request_long(gexi_world_team(), dest, handler, src, bytes, addr, GEX_EVENT_GROUP, 0, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline int gasnet_AMReplyShort##n(gasnet_token_t token, gasnet_handler_t handler GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_reply_short(token, handler, 0, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline int gasnet_AMReplyMedium##n(gasnet_token_t token, gasnet_handler_t handler, void *src, size_t bytes GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_reply_medium(token, handler, src, bytes, GEX_EVENT_NOW, 0, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline int gasnet_AMReplyLong##n(gasnet_token_t token, gasnet_handler_t handler, void *src, size_t bytes, void *addr GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_reply_long(token, handler, src, bytes, addr, GEX_EVENT_NOW, 0, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
/* clang-format on */

/* ---- puts and gets ---- */

static inline void gasnet_put(gasnet_node_t node, void *dest, void *src, size_t bytes)
{
	gex_RMA_PutBlocking(gexi_world_team(), node, dest, src, bytes, 0);
}
static inline void gasnet_get(void *dest, gasnet_node_t node, void *src, size_t bytes)
{
	gex_RMA_GetBlocking(gexi_world_team(), dest, node, src, bytes, 0);
}
#define gasnet_put_bulk gasnet_put
#define gasnet_get_bulk gasnet_get
static inline gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, void *src, size_t bytes)
{
	return gex_RMA_PutNB(gexi_world_team(), node, dest, src, bytes, GEX_EVENT_NOW, 0);
}
static inline gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, void *src,
						 size_t bytes)
{
	return gex_RMA_PutNB(gexi_world_team(), node, dest, src, bytes, GEX_EVENT_DEFER, 0);
}
static inline gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, void *src, size_t bytes)
{
	return gex_RMA_GetNB(gexi_world_team(), dest, node, src, bytes, 0);
}
#define gasnet_get_nb_bulk gasnet_get_nb
static inline void gasnet_put_nbi(gasnet_node_t node, void *dest, void *src, size_t bytes)
{
	gex_RMA_PutNBI(gexi_world_team(), node, dest, src, bytes, GEX_EVENT_NOW, 0);
}
static inline void gasnet_put_nbi_bulk(gasnet_node_t node, void *dest, void *src, size_t bytes)
{
	gex_RMA_PutNBI(gexi_world_team(), node, dest, src, bytes, GEX_EVENT_DEFER, 0);
}
static inline void gasnet_get_nbi(void *dest, gasnet_node_t node, void *src, size_t bytes)
{
	gex_RMA_GetNBI(gexi_world_team(), dest, node, src, bytes, 0);
}
#define gasnet_get_nbi_bulk gasnet_get_nbi
static inline void gasnet_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value,
				  size_t bytes)
{
	gex_RMA_PutBlockingVal(gexi_world_team(), node, dest, value, bytes, 0);
}
static inline gasnet_handle_t gasnet_put_nb_val(gasnet_node_t node, void *dest,
						gasnet_register_value_t value, size_t bytes)
{
	return gex_RMA_PutNBVal(gexi_world_team(), node, dest, value, bytes, 0);
}
static inline void gasnet_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t value,
				      size_t bytes)
{
	gex_RMA_PutNBIVal(gexi_world_team(), node, dest, value, bytes, 0);
}
static inline gasnet_register_value_t gasnet_get_val(gasnet_node_t node, void *src, size_t bytes)
{
	return gex_RMA_GetBlockingVal(gexi_world_team(), node, src, bytes, 0);
}
/* A get of a value that was started; gasnet_wait_syncnb_valget() returns the value. */
typedef struct gexi_valget *gasnet_valget_handle_t;
gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, void *src, size_t bytes);
gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle);

/* Fill memory of a process with bytes of one value. */
void gasnet_memset(gasnet_node_t node, void *dest, int value, size_t bytes);
gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int value, size_t bytes);
void gasnet_memset_nbi(gasnet_node_t node, void *dest, int value, size_t bytes);

#define gasnet_wait_syncnb(handle)              gex_Event_Wait(handle)
#define gasnet_wait_syncnb_all(handles, count)  gex_Event_WaitAll((handles), (count), 0)
#define gasnet_wait_syncnb_some(handles, count) gex_Event_WaitSome((handles), (count), 0)
#define gasnet_wait_syncnbi_gets()              gex_NBI_Wait(GEX_EC_GET, 0)
#define gasnet_wait_syncnbi_puts()              gex_NBI_Wait(GEX_EC_PUT, 0)
#define gasnet_wait_syncnbi_all()               gex_NBI_Wait(GEX_EC_ALL, 0)
/* These make progress, which the tests of GASNet-EX do not: programs repeat them without a poll. */
#define gasnet_try_syncnb(handle) ((void)gasnet_AMPoll(), gex_Event_Test(handle))
#define gasnet_try_syncnb_all(handles, count)                                                      \
	((void)gasnet_AMPoll(), gex_Event_TestAll((handles), (count), 0))
#define gasnet_try_syncnb_some(handles, count)                                                     \
	((void)gasnet_AMPoll(), gex_Event_TestSome((handles), (count), 0))
#define gasnet_try_syncnbi_gets()       ((void)gasnet_AMPoll(), gex_NBI_Test(GEX_EC_GET, 0))
#define gasnet_try_syncnbi_puts()       ((void)gasnet_AMPoll(), gex_NBI_Test(GEX_EC_PUT, 0))
#define gasnet_try_syncnbi_all()        ((void)gasnet_AMPoll(), gex_NBI_Test(GEX_EC_ALL, 0))
#define gasnet_begin_nbi_accessregion() gex_NBI_BeginAccessRegion(0)
#define gasnet_end_nbi_accessregion()   gex_NBI_EndAccessRegion(0)

#ifdef __cplusplus
}
#endif
#endif
