/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-EX, as Quintorus provides it: names, prototypes and rules of the API at level 0.8
 * (docs/references.md). This header declares clients, endpoints, teams, segments, events, active
 * messages and RMA; it includes gasnet_vis.h, gasnet_ratomic.h, gasnet_coll.h and gasnet_tools.h.
 *
 * Compile with exactly one of GASNET_SEQ (one thread calls the library), GASNET_PARSYNC (one at a
 * time) and GASNET_PAR (any number at once), and link with -lgasnet in each case. GASNET_DEBUG adds
 * checks of handlers, arities and segment bounds.
 *
 * Handlers run inside calls that make progress: gasnet_AMPoll, waits, requests. An error that a
 * call cannot return ends the process with a line on standard error that names the cause.
 */
#ifndef _GASNETEX_H
#define _GASNETEX_H

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(GASNET_SEQ) + defined(GASNET_PARSYNC) + defined(GASNET_PAR) != 1
#error "compile with exactly one of -DGASNET_SEQ, -DGASNET_PARSYNC and -DGASNET_PAR"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- versions and configuration ---- */

#define GASNET_RELEASE_VERSION_MAJOR 2019
#define GASNET_RELEASE_VERSION_MINOR 9
#define GASNET_RELEASE_VERSION_PATCH 0
#define GEX_SPEC_VERSION_MAJOR       0
#define GEX_SPEC_VERSION_MINOR       8
#define GASNET_SPEC_VERSION_MAJOR    1
#define GASNET_SPEC_VERSION_MINOR    8
#define GASNET_VERSION               1

#define GASNET_CONDUIT_QUINTORUS    1
#define GASNET_CONDUIT_NAME         QUINTORUS
#define GASNET_CONDUIT_NAME_STR     "QUINTORUS"
#define GASNET_CORE_NAME            QUINTORUS
#define GASNET_CORE_NAME_STR        "QUINTORUS"
#define GASNET_CORE_VERSION         0.1
#define GASNET_CORE_VERSION_STR     "0.1"
#define GASNET_EXTENDED_NAME        QUINTORUS
#define GASNET_EXTENDED_NAME_STR    "QUINTORUS"
#define GASNET_EXTENDED_VERSION     0.1
#define GASNET_EXTENDED_VERSION_STR "0.1"
#define GASNET_ALIGNED_SEGMENTS     0
#define GASNET_SEGMENT_FAST         1
#define GASNET_PSHM                 1
#define GASNET_NULL_ARGV_OK         1

#if defined(GASNET_SEQ)
#define GEXI_MODE          0
#define GASNETI_MODE_STR   "SEQ"
#define GASNET_MAX_THREADS 1
#elif defined(GASNET_PARSYNC)
#define GEXI_MODE          1
#define GASNETI_MODE_STR   "PARSYNC"
#define GASNET_MAX_THREADS 1
#else
#define GEXI_MODE          2
#define GASNETI_MODE_STR   "PAR"
#define GASNET_MAX_THREADS 256
#endif
#ifdef GASNET_DEBUG
#define GEXI_MODE_DEBUG   4
#define GASNETI_DEBUG_STR "debug"
#else
#define GEXI_MODE_DEBUG   0
#define GASNETI_DEBUG_STR "nodebug"
#ifndef GASNET_NDEBUG
#define GASNET_NDEBUG 1
#endif
#endif
#define GASNET_CONFIG_STRING                                                                       \
	"RELEASE=2019.9.0,SPEC=0.8,CONDUIT=QUINTORUS,THREADMODEL=" GASNETI_MODE_STR                \
	",SEGMENT=FAST,PTR=64bit,noalign,pshm," GASNETI_DEBUG_STR ",notrace,nostats"

#define GASNET_PAGESIZE 4096

/* ---- results ---- */

enum {
	GASNET_OK = 0,
	GASNET_ERR_NOT_INIT = 10001,
	GASNET_ERR_RESOURCE = 10002,
	GASNET_ERR_BAD_ARG = 10003,
	GASNET_ERR_NOT_READY = 10004,
	GASNET_ERR_BARRIER_MISMATCH = 10005
};
#define GASNET_OK                   0
#define GASNET_ERR_NOT_INIT         10001
#define GASNET_ERR_RESOURCE         10002
#define GASNET_ERR_BAD_ARG          10003
#define GASNET_ERR_NOT_READY        10004
#define GASNET_ERR_BARRIER_MISMATCH 10005

/* The name of a result, and what it means. Static texts. */
const char *gasnet_ErrorName(int result);
const char *gasnet_ErrorDesc(int result);

/* ---- types ---- */

typedef uint32_t gex_Rank_t;
#define GEX_RANK_INVALID ((gex_Rank_t)-1)
typedef struct gexi_client *gex_Client_t;
typedef struct gexi_ep *gex_EP_t;
typedef struct gexi_team *gex_TM_t;
typedef struct gexi_segment *gex_Segment_t;
typedef struct gexi_event *gex_Event_t;
typedef struct gexi_token *gex_Token_t;
typedef struct gexi_srcdesc *gex_AM_SrcDesc_t;
#define GEX_CLIENT_INVALID   ((gex_Client_t)0)
#define GEX_EP_INVALID       ((gex_EP_t)0)
#define GEX_TM_INVALID       ((gex_TM_t)0)
#define GEX_SEGMENT_INVALID  ((gex_Segment_t)0)
#define GEX_EVENT_INVALID    ((gex_Event_t)0)
#define GEX_EVENT_NO_OP      ((gex_Event_t)(uintptr_t)1)
#define GEX_AM_SRCDESC_NO_OP ((gex_AM_SrcDesc_t)0)
#define GEX_EVENT_NOW        ((gex_Event_t *)(uintptr_t)1)
#define GEX_EVENT_DEFER      ((gex_Event_t *)(uintptr_t)2)
#define GEX_EVENT_GROUP      ((gex_Event_t *)(uintptr_t)3)

typedef uint32_t gex_Flags_t;
typedef uint32_t gex_EC_t;
typedef uint32_t gex_TI_t;
typedef uint32_t gex_DT_t;
typedef uint32_t gex_OP_t;
typedef uint8_t gex_AM_Index_t;
typedef int32_t gex_AM_Arg_t;
/* Any handler, so that tables need no casts in C. */
#pragma GCC diagnostic push
#ifndef __cplusplus
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#endif
typedef void (*gex_AM_Fn_t)();
#pragma GCC diagnostic pop
typedef uintptr_t gex_RMA_Value_t;
#define SIZEOF_GEX_RMA_VALUE_T __SIZEOF_POINTER__
typedef struct {
	void *gex_addr;
	size_t gex_len;
} gex_Memvec_t;
typedef const struct {
	gex_Rank_t gex_jobrank;
} gex_RankInfo_t;

/* ---- flags ---- */

/* of communication */
#define GEX_FLAG_IMMEDIATE               (1u << 0)
#define GEX_FLAG_ENABLE_LEAF_LC          (1u << 1)
#define GEX_FLAG_AM_PREPARE_LEAST_CLIENT (1u << 2)
#define GEX_FLAG_AM_PREPARE_LEAST_ALLOC  (1u << 3)
#define GEX_FLAG_RANK_IS_JOBRANK         (1u << 4)
#define GEX_FLAG_SELF_SEG_UNKNOWN        0u
#define GEX_FLAG_SELF_SEG_SOME           (1u << 5)
#define GEX_FLAG_SELF_SEG_BOUND          (1u << 6)
#define GEX_FLAG_SELF_SEG_OFFSET         (1u << 7)
#define GEX_FLAG_PEER_SEG_UNKNOWN        0u
#define GEX_FLAG_PEER_SEG_SOME           (1u << 8)
#define GEX_FLAG_PEER_SEG_BOUND          (1u << 9)
#define GEX_FLAG_PEER_SEG_OFFSET         (1u << 10)
/* of atomics and atomic domains */
#define GEX_FLAG_AD_MY_RANK        (1u << 11)
#define GEX_FLAG_AD_MY_NBRHD       (1u << 12)
#define GEX_FLAG_AD_REL            (1u << 13)
#define GEX_FLAG_AD_ACQ            (1u << 14)
#define GEX_FLAG_AD_FAVOR_MY_RANK  (1u << 15)
#define GEX_FLAG_AD_FAVOR_MY_NBRHD (1u << 16)
#define GEX_FLAG_AD_FAVOR_REMOTE   (1u << 17)
/* of clients and teams */
#define GEX_FLAG_USES_GASNET1                (1u << 18)
#define GEX_FLAG_TM_SCRATCH_SIZE_MIN         (1u << 19)
#define GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED (1u << 20)
#define GEX_FLAG_TM_GLOBAL_SCRATCH           (1u << 21)
#define GEX_FLAG_TM_LOCAL_SCRATCH            (1u << 22)
#define GEX_FLAG_TM_SYMMETRIC_SCRATCH        (1u << 23)
#define GEX_FLAG_TM_NO_SCRATCH               (1u << 24)
/* The caller of gex_TM_Destroy() knows that no member uses the team any more. */
#define GEX_FLAG_GLOBALLY_QUIESCED (1u << 25)
/* of handlers */
#define GEX_FLAG_AM_SHORT   (1u << 0)
#define GEX_FLAG_AM_MEDIUM  (1u << 1)
#define GEX_FLAG_AM_LONG    (1u << 2)
#define GEX_FLAG_AM_MEDLONG (GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG)
#define GEX_FLAG_AM_REQUEST (1u << 3)
#define GEX_FLAG_AM_REPLY   (1u << 4)
#define GEX_FLAG_AM_REQREP  (GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_REPLY)

/* event categories */
#define GEX_EC_PUT (1u << 0)
#define GEX_EC_GET (1u << 1)
#define GEX_EC_RMW (1u << 2)
#define GEX_EC_AM  (1u << 3)
#define GEX_EC_LC  (1u << 4)
#define GEX_EC_ALL (GEX_EC_PUT | GEX_EC_GET | GEX_EC_RMW | GEX_EC_AM | GEX_EC_LC)

/* fields of gex_Token_Info_t */
#define GEX_TI_SRCRANK (1u << 0)
#define GEX_TI_EP      (1u << 1)
#define GEX_TI_ENTRY   (1u << 2)
#define GEX_TI_IS_REQ  (1u << 3)
#define GEX_TI_IS_LONG (1u << 4)
#define GEX_TI_ALL     (GEX_TI_SRCRANK | GEX_TI_EP | GEX_TI_ENTRY | GEX_TI_IS_REQ | GEX_TI_IS_LONG)

/* data types of atomics and reductions, one bit each */
#define GEX_DT_I32  (1u << 0)
#define GEX_DT_U32  (1u << 1)
#define GEX_DT_I64  (1u << 2)
#define GEX_DT_U64  (1u << 3)
#define GEX_DT_FLT  (1u << 4)
#define GEX_DT_DBL  (1u << 5)
#define GEX_DT_USER (1u << 6)

/* operations, one bit each; a fetching form is its plain form 16 bits higher */
#define GEX_OP_AND                (1u << 0)
#define GEX_OP_OR                 (1u << 1)
#define GEX_OP_XOR                (1u << 2)
#define GEX_OP_ADD                (1u << 3)
#define GEX_OP_SUB                (1u << 4)
#define GEX_OP_MULT               (1u << 5)
#define GEX_OP_MIN                (1u << 6)
#define GEX_OP_MAX                (1u << 7)
#define GEX_OP_INC                (1u << 8)
#define GEX_OP_DEC                (1u << 9)
#define GEX_OP_SET                (1u << 10)
#define GEX_OP_CAS                (1u << 11)
#define GEX_OP_USER               (1u << 12)
#define GEX_OP_USER_NC            (1u << 13)
#define GEX_OP_FAND               (GEX_OP_AND << 16)
#define GEX_OP_FOR                (GEX_OP_OR << 16)
#define GEX_OP_FXOR               (GEX_OP_XOR << 16)
#define GEX_OP_FADD               (GEX_OP_ADD << 16)
#define GEX_OP_FSUB               (GEX_OP_SUB << 16)
#define GEX_OP_FMULT              (GEX_OP_MULT << 16)
#define GEX_OP_FMIN               (GEX_OP_MIN << 16)
#define GEX_OP_FMAX               (GEX_OP_MAX << 16)
#define GEX_OP_FINC               (GEX_OP_INC << 16)
#define GEX_OP_FDEC               (GEX_OP_DEC << 16)
#define GEX_OP_SWAP               (GEX_OP_SET << 16)
#define GEX_OP_FCAS               (GEX_OP_CAS << 16)
#define GEX_OP_GET                (1u << 28)
#define GEX_OP_TO_FETCHING(op)    ((op) << 16)
#define GEX_OP_TO_NONFETCHING(op) ((op) >> 16)

/* ---- clients, endpoints, segments, teams ---- */

/* Lowest index that a program may register. */
#define GEX_AM_INDEX_BASE 64

/*
 * One handler. gex_index 0: the library assigns the highest free one and writes it back. gex_flags:
 * one category and one direction. gex_nargs: 0 .. gex_AM_MaxArgs(). gex_cdata, gex_name: the
 * program's, may be NULL.
 */
typedef struct {
	gex_AM_Index_t gex_index;
	gex_AM_Fn_t gex_fnptr;
	gex_Flags_t gex_flags;
	unsigned int gex_nargs;
	const void *gex_cdata;
	const char *gex_name;
} gex_AM_Entry_t;

int gexi_client_init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *name,
		     int *argc, char ***argv, gex_Flags_t flags, int mode);

/*
 * Join the job: the client, its endpoint, and the team of all processes. Collective, once in a
 * process, ends with a barrier. clientName: any text but "". argc, argv: may be NULL; unchanged.
 * GASNET_OK, GASNET_ERR_BAD_ARG, GASNET_ERR_RESOURCE, GASNET_ERR_NOT_INIT.
 */
static inline int gex_Client_Init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p,
				  const char *clientName, int *argc, char ***argv,
				  gex_Flags_t flags)
{
	return gexi_client_init(client_p, ep_p, tm_p, clientName, argc, argv, flags,
				GEXI_MODE | GEXI_MODE_DEBUG);
}

/*
 * Create this process's segment. Collective over tm, once, ends with a barrier. size: bytes, a
 * multiple of GASNET_PAGESIZE, at most gasnet_getMaxLocalSegmentSize(); may differ between
 * processes.
 */
int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size);
/* Register handlers. Local; may be called again. The table may be freed afterwards. */
int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t numentries);
/* End the job with this status. Any thread, also in handlers. Does not return. */
void gasnet_exit(int exitcode) __attribute__((noreturn));

gex_Rank_t gex_TM_QueryRank(gex_TM_t tm);
gex_Rank_t gex_TM_QuerySize(gex_TM_t tm);
gex_EP_t gex_TM_QueryEP(gex_TM_t tm);
gex_Client_t gex_TM_QueryClient(gex_TM_t tm);
gex_Flags_t gex_TM_QueryFlags(gex_TM_t tm);
void *gex_TM_QueryCData(gex_TM_t tm);
void gex_TM_SetCData(gex_TM_t tm, const void *value);
gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t tm, gex_Rank_t rank);
/* GEX_RANK_INVALID: not a member. */
gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm, gex_Rank_t jobrank);

/*
 * New teams of the members that name the same color, ranked by key, then by rank in the parent.
 * Collective over the parent; a member that passes new_tm_p == NULL joins none. scratch: not
 * needed, may be NULL. With GEX_FLAG_TM_SCRATCH_SIZE_MIN or _RECOMMENDED: only returns a size that
 * such memory may have. Else returns 0.
 */
size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent, int color, int key, void *scratch_addr,
		    size_t scratch_size, gex_Flags_t flags);
/* Destroy a team. Collective over it. Returns non-zero and fills *scratch_p if the team had scratch
 * memory. The team of all processes stays. */
int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags);

gex_Rank_t gex_System_QueryJobRank(void);
gex_Rank_t gex_System_QueryJobSize(void);
/* Processes that share memory with this one (nbrhd), or its machine (host): job ranks, ascending.
 * Outputs may be NULL; the array belongs to the library. */
void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *count_p,
			       gex_Rank_t *my_index_p);
void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *count_p, gex_Rank_t *my_index_p);
/* How many neighbourhoods and hosts the job has, and the numbers of this process's. */
void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_set_size, gex_Rank_t *nbrhd_set_rank,
				gex_Rank_t *host_set_size, gex_Rank_t *host_set_rank);

/* The segment of a process: its address there, the address in this process or NULL, its bytes.
 * Non-zero: it has none. Outputs may be NULL. */
int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
			   uintptr_t *size_p);
gex_Client_t gex_Segment_QueryClient(gex_Segment_t segment);
gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t segment);
void *gex_Segment_QueryAddr(gex_Segment_t segment);
uintptr_t gex_Segment_QuerySize(gex_Segment_t segment);
void *gex_Segment_QueryCData(gex_Segment_t segment);
void gex_Segment_SetCData(gex_Segment_t segment, const void *value);

gex_Flags_t gex_Client_QueryFlags(gex_Client_t client);
const char *gex_Client_QueryName(gex_Client_t client);
void *gex_Client_QueryCData(gex_Client_t client);
void gex_Client_SetCData(gex_Client_t client, const void *value);

gex_Client_t gex_EP_QueryClient(gex_EP_t ep);
gex_Flags_t gex_EP_QueryFlags(gex_EP_t ep);
gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep);
void *gex_EP_QueryCData(gex_EP_t ep);
void gex_EP_SetCData(gex_EP_t ep, const void *value);

/* Bytes: of this process, and the least of all processes. */
uintptr_t gasnet_getMaxLocalSegmentSize(void);
uintptr_t gasnet_getMaxGlobalSegmentSize(void);

/* The value of an environment variable, or NULL. */
char *gasnet_getenv(const char *name);

/* ---- progress ---- */

/* Make progress and run handlers. GASNET_OK. Any thread; not in handlers. */
int gasnet_AMPoll(void);
#define GASNET_WAIT_SPIN      0
#define GASNET_WAIT_BLOCK     1
#define GASNET_WAIT_SPINBLOCK 2
/* How waits wait: spin, sleep, or sleep after a spin. */
int gasnet_set_waitmode(int mode);
void gexi_poll_for_condition(void);
#define GASNET_BLOCKUNTIL(cond)                                                                    \
	do {                                                                                       \
		while (!(cond))                                                                    \
			gexi_poll_for_condition();                                                 \
		__atomic_thread_fence(__ATOMIC_ACQUIRE);                                           \
	} while (0)
#define GASNET_POLLWHILE(cond) GASNET_BLOCKUNTIL(!(cond))
/* For programs that hand a thread's data on; the library finds them itself. */
#define GASNET_BEGIN_FUNCTION()       ((void)0)
#define GASNET_GET_THREADINFO()       ((void *)0)
#define GASNET_POST_THREADINFO(value) ((void)(value))

/* ---- events ---- */

/* 0: complete, and the event is consumed. Not in handlers. Test does not poll; Wait does. */
int gex_Event_Test(gex_Event_t event);
void gex_Event_Wait(gex_Event_t event);
/* Most operations in memory of the node are complete when their call returns. */
static inline void gexi_event_wait(gex_Event_t event)
{
	if (event != GEX_EVENT_INVALID)
		gex_Event_Wait(event);
}
#define gex_Event_Wait(event) gexi_event_wait(event)
/* Complete entries become GEX_EVENT_INVALID; entries that are that are skipped. */
int gex_Event_TestSome(gex_Event_t *events, size_t count, gex_Flags_t flags);
void gex_Event_WaitSome(gex_Event_t *events, size_t count, gex_Flags_t flags);
int gex_Event_TestAll(gex_Event_t *events, size_t count, gex_Flags_t flags);
void gex_Event_WaitAll(gex_Event_t *events, size_t count, gex_Flags_t flags);
/* All implicit operations of this thread in the categories of mask. */
int gex_NBI_Test(gex_EC_t mask, gex_Flags_t flags);
void gex_NBI_Wait(gex_EC_t mask, gex_Flags_t flags);
/* Implicit operations between the two calls complete with the event that the second returns. */
void gex_NBI_BeginAccessRegion(gex_Flags_t flags);
gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags);
/* The event of one stage of a root: GEX_EC_LC. */
gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t category);

/* ---- RMA ---- */

/* dst and src of the other process lie in its segment; addresses of this process anywhere. */
int gex_RMA_PutBlocking(gex_TM_t tm, gex_Rank_t rank, void *dst, const void *src, size_t bytes,
			gex_Flags_t flags);
gex_Event_t gex_RMA_PutNB(gex_TM_t tm, gex_Rank_t rank, void *dst, const void *src, size_t bytes,
			  gex_Event_t *lc_opt, gex_Flags_t flags);
int gex_RMA_PutNBI(gex_TM_t tm, gex_Rank_t rank, void *dst, const void *src, size_t bytes,
		   gex_Event_t *lc_opt, gex_Flags_t flags);
int gex_RMA_GetBlocking(gex_TM_t tm, void *dst, gex_Rank_t rank, void *src, size_t bytes,
			gex_Flags_t flags);
gex_Event_t gex_RMA_GetNB(gex_TM_t tm, void *dst, gex_Rank_t rank, void *src, size_t bytes,
			  gex_Flags_t flags);
int gex_RMA_GetNBI(gex_TM_t tm, void *dst, gex_Rank_t rank, void *src, size_t bytes,
		   gex_Flags_t flags);
/* The low-order bytes (1 .. SIZEOF_GEX_RMA_VALUE_T) of a value. */
gex_RMA_Value_t gex_RMA_GetBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *src, size_t bytes,
				       gex_Flags_t flags);
int gex_RMA_PutBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *dst, gex_RMA_Value_t value,
			   size_t bytes, gex_Flags_t flags);
int gex_RMA_PutNBIVal(gex_TM_t tm, gex_Rank_t rank, void *dst, gex_RMA_Value_t value, size_t bytes,
		      gex_Flags_t flags);
gex_Event_t gex_RMA_PutNBVal(gex_TM_t tm, gex_Rank_t rank, void *dst, gex_RMA_Value_t value,
			     size_t bytes, gex_Flags_t flags);

/* ---- handler-safe locks ---- */

typedef struct {
	pthread_mutex_t gexi_mutex; /* GASNET_PAR */
	int gexi_is_held;           /* the other modes */
} gex_HSL_t;
#define GEX_HSL_INITIALIZER                                                                        \
	{                                                                                          \
		PTHREAD_MUTEX_INITIALIZER, 0                                                       \
	}
/* What debug builds of one thread do where a lock is taken twice, or released while it is free. */
void gexi_hsl_fail(const char *call, int is_held);
/* In debug builds of one thread: so many more locks are held. */
void gexi_hsl_count(int change);
#ifdef GASNET_PAR
/* A handler may take a lock, and releases it before it returns. */
static inline void gex_HSL_Init(gex_HSL_t *hsl)
{
	pthread_mutex_init(&hsl->gexi_mutex, NULL);
}
static inline void gex_HSL_Destroy(gex_HSL_t *hsl)
{
	pthread_mutex_destroy(&hsl->gexi_mutex);
}
static inline void gex_HSL_Lock(gex_HSL_t *hsl)
{
	pthread_mutex_lock(&hsl->gexi_mutex);
}
static inline void gex_HSL_Unlock(gex_HSL_t *hsl)
{
	pthread_mutex_unlock(&hsl->gexi_mutex);
}
/* GASNET_OK: taken. GASNET_ERR_NOT_READY: another thread has it. */
static inline int gex_HSL_Trylock(gex_HSL_t *hsl)
{
	return pthread_mutex_trylock(&hsl->gexi_mutex) ? GASNET_ERR_NOT_READY : GASNET_OK;
}
#else /* Handlers run in calls of the one thread that uses the library. */
static inline void gex_HSL_Init(gex_HSL_t *hsl)
{
	hsl->gexi_is_held = 0;
}
static inline void gex_HSL_Destroy(gex_HSL_t *hsl)
{
#ifdef GASNET_DEBUG
	if (hsl->gexi_is_held)
		gexi_hsl_fail("gex_HSL_Destroy", 1);
#endif
	(void)hsl;
}
static inline void gex_HSL_Lock(gex_HSL_t *hsl)
{
#ifdef GASNET_DEBUG
	if (hsl->gexi_is_held)
		gexi_hsl_fail("gex_HSL_Lock", 1);
	gexi_hsl_count(1);
#endif
	hsl->gexi_is_held = 1;
}
static inline void gex_HSL_Unlock(gex_HSL_t *hsl)
{
#ifdef GASNET_DEBUG
	if (!hsl->gexi_is_held)
		gexi_hsl_fail("gex_HSL_Unlock", 0);
	gexi_hsl_count(-1);
#endif
	hsl->gexi_is_held = 0;
}
static inline int gex_HSL_Trylock(gex_HSL_t *hsl)
{
	if (hsl->gexi_is_held)
		return GASNET_ERR_NOT_READY;
#ifdef GASNET_DEBUG
	gexi_hsl_count(1);
#endif
	hsl->gexi_is_held = 1;
	return GASNET_OK;
}
#endif

/* ---- barriers of GASNet-1 ---- */

#define GASNET_BARRIERFLAG_ANONYMOUS 1
#define GASNET_BARRIERFLAG_MISMATCH  2
#define GASNET_BARRIERFLAG_UNNAMED   4
#define GASNET_BARRIERFLAG_IMAGES    8
/* Over all processes. notify and wait (or try, until it is not GASNET_ERR_NOT_READY) make one
 * barrier, with equal id and flags in one process. */
void gasnet_barrier_notify(int id, int flags);
int gasnet_barrier_wait(int id, int flags);
int gasnet_barrier_try(int id, int flags);
int gasnet_barrier(int id, int flags);
/* Of the last barrier: its id if it was named, in *id. Non-zero: it was anonymous. */
int gasnet_barrier_result(int *id);

#ifdef __cplusplus
}
#endif

#include "gasnet_am.h"
#include "gasnet_tools.h"

#include "gasnet_coll.h"
#include "gasnet_ratomic.h"
#include "gasnet_vis.h"

#endif
