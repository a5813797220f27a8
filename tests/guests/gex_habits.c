/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * More habits of programs of GASNet: loops that test and never poll, transfers of no bytes at any
 * address, tens of thousands of operations in flight, collectives of overlapping teams at once,
 * limits asked for in every way, and the rest of the tools header. It is valid C and C++.
 */
#include <gasnet.h>

#include <sys/mman.h>

#include <gasnet_tools.h>

#include "tests/guests/gex_guest.h"

/* ---- what programs ask the preprocessor ---- */

#if !PLATFORM_OS_LINUX || !PLATFORM_ARCH_64 || PLATFORM_COMPILER_VERSION_LT(3, 0, 0)
#error "the platform's macros"
#endif
#if defined(GASNET_DEBUG) == defined(GASNET_NDEBUG) ||                                             \
    defined(GASNETT_DEBUG) == defined(GASNETT_NDEBUG)
#error "exactly one of debug and no debug"
#endif
#if defined(GASNETT_THREAD_SAFE) == defined(GASNETT_THREAD_SINGLE)
#error "exactly one threading model of the tools"
#endif
#if GASNET_SPEC_VERSION_MAJOR < 1 || GEX_SPEC_VERSION_MAJOR != 0 || GEX_SPEC_VERSION_MINOR < 8 ||  \
    GASNET_RELEASE_VERSION_MAJOR < 2019 || SIZEOF_GEX_RMA_VALUE_T < 4 || GASNET_PAGESIZE % 4096
#error "versions and sizes"
#endif
#if !GASNET_SEGMENT_FAST || defined(GASNET_SEGMENT_EVERYTHING) || GASNET_ALIGNED_SEGMENTS ||       \
    GASNET_OK != 0 || GEX_AM_INDEX_BASE > 128
#error "configuration"
#endif

static void use_format(const char *format, ...) GASNETT_UNUSED;
static void use_format(const char *format, ...)
{
	(void)format;
}
static GASNETT_FORMAT_PRINTF_FUNCPTR(printer, 1, 2,
				     void (*printer)(const char *, ...)) = use_format;
GASNETT_MALLOC GASNETT_WARN_UNUSED_RESULT static void *get_memory(size_t bytes);
GASNETT_MALLOCP(get_memory)
static void *get_memory(size_t bytes)
{
	return gasnett_mmap(bytes);
}
GASNETT_PURE static int twice(int x);
GASNETT_PUREP(twice)
GASNETT_CONSTP(twice)
static int twice(int x)
{
	return 2 * x;
}

static gasnett_rwlock_t rwlock = GASNETT_RWLOCK_INITIALIZER;
static gasnett_mutex_t mutex = GASNETT_MUTEX_INITIALIZER;
static gasnett_cond_t cond = GASNETT_COND_INITIALIZER;

#define TEST_ATOMIC(prefix, big)                                                                   \
	do {                                                                                       \
		prefix##_t a = prefix##_init(5);                                                   \
                                                                                                   \
		CHECK(prefix##_read(&a, 0) == 5);                                                  \
		prefix##_set(&a, (prefix##_val_t)(big), GASNETT_ATOMIC_REL);                       \
		CHECK(prefix##_add(&a, 2, GASNETT_ATOMIC_ACQ) == (prefix##_val_t)(big) + 2);       \
		CHECK(prefix##_subtract(&a, 3, 0) == (prefix##_val_t)(big)-1);                     \
		CHECK(!prefix##_compare_and_swap(&a, 7, 8, GASNETT_ATOMIC_ACQ_IF_TRUE));           \
		CHECK(prefix##_compare_and_swap(&a, (prefix##_val_t)(big)-1, 1,                    \
						GASNETT_ATOMIC_REL | GASNETT_ATOMIC_ACQ));         \
		CHECK(prefix##_swap(&a, 2, GASNETT_ATOMIC_MB) == 1);                               \
		prefix##_increment(&a, 0);                                                         \
		prefix##_decrement(&a, 0);                                                         \
		CHECK(!prefix##_decrement_and_test(&a, 0) && prefix##_decrement_and_test(&a, 0));  \
		prefix##_decrement(&a, 0);                                                         \
		CHECK(prefix##_signed(prefix##_read(&a, 0)) == -1);                                \
	} while (0)

static void tools(void)
{
	unsigned char bytes[] = {0, 1, 0, 2, 0, 3}, copy[sizeof(bytes)];
	static volatile int frozen = 0;
	size_t page = GASNETT_PAGESIZE;
	char text[32];
	void *p;

	TEST_ATOMIC(gasnett_atomic, 1000);
	TEST_ATOMIC(gasnett_atomic32, 0x7ffffffe);
	TEST_ATOMIC(gasnett_atomic64, (uint64_t)1 << 40);
	TEST_ATOMIC(gasnett_strongatomic, 1000);
	TEST_ATOMIC(gasnett_strongatomic32, 0x7ffffffe);
	TEST_ATOMIC(gasnett_strongatomic64, (uint64_t)1 << 40);
	CHECK(!gasnett_rwlock_rdlock(&rwlock) && !gasnett_rwlock_tryrdlock(&rwlock));
	CHECK(gasnett_rwlock_trywrlock(&rwlock) != 0);
	gasnett_rwlock_unlock(&rwlock);
	gasnett_rwlock_unlock(&rwlock);
	CHECK(!gasnett_rwlock_wrlock(&rwlock) && gasnett_rwlock_tryrdlock(&rwlock) != 0);
	gasnett_rwlock_unlock(&rwlock);
	gasnett_mutex_lock(&mutex);
	CHECK(gasnett_mutex_trylock(&mutex) != 0);
	gasnett_cond_broadcast(&cond);
	gasnett_mutex_unlock(&mutex);
	p = get_memory(4 * page);
	CHECK(p != MAP_FAILED && !((uintptr_t)p % page));
	CHECK(gasnett_count0s(p, 4 * page) == 4 * page);
	munmap(p, 4 * page);
	CHECK(gasnett_count0s_copy(copy, bytes, sizeof(bytes)) == 3 && copy[3] == 2);
	CHECK(gasnett_checksum(bytes, 6) == gasnett_checksum(copy, 6) && gasnett_isLittleEndian());
	gasnett_assert(twice(2) == 4);
	gasnett_assert_always(twice(3) == 6);
	gasnett_assume(page > 0);
	CHECK(!gasnett_constant_p(rank) || ranks > 0);
	CHECK(GASNETT_PREDICT_TRUE(page != 0) && !GASNETT_PREDICT_FALSE(page == 0));
	GASNETT_PREFETCH_READ_HINT(bytes);
	GASNETT_PREFETCH_WRITE_HINT(copy);
	printer("%d", 1);
	gasnett_local_wmb();
	gasnett_local_rmb();
	gasnett_local_mb();
	gasnett_compiler_fence();
	gasnett_spinloop_hint();
	gasnett_envint_display("GEX_GUEST_ENV", 4096, 1, 1);
	gasnett_envdbl_display("GEX_GUEST_ENV", 0.5, 1);
	gasnett_envstr_display("GEX_GUEST_ENV", NULL, 0);
	gasnett_freezeForDebuggerNow(&frozen, "frozen");
	gasnett_freezeForDebuggerErr();
	gasnett_backtrace_init("guest");
	gasnett_backtrace_user.name = "NONE";
	CHECK(gasnett_print_backtrace_ifenabled(2) != 0);
	CHECK(gasnett_getPhysMemSz(0) > 0 && gasnett_tick_granularity() > 0 &&
	      gasnett_tick_overhead() > 0);
	CHECK(gasnett_gettimeofday_us() > 1000000 && GASNETT_TICK_MAX > GASNETT_TICK_MIN);
	gasnett_set_affinity((int)rank);
	gasnett_setenv("GEX_GUEST_INT", "3M");
	CHECK(gasnett_getenv_int_withdefault("GEX_GUEST_INT", 7, 1) == 3 << 20);
	CHECK(gasnett_getenv_int_withdefault("GEX_GUEST_NONE", 7, 1) == 7);
	CHECK(!strcmp(gasnett_getenv_withdefault("GEX_GUEST_NONE", "x"), "x"));
	gasnett_unsetenv("GEX_GUEST_INT");
	CHECK(gasnett_getenv("GEX_GUEST_INT") == NULL);
	CHECK(strstr(gasnett_format_number(3 << 20, text, sizeof(text), 1), "3 MB") != NULL);
	CHECK(strstr(GASNETT_CONFIG_STRING, "RELEASE=") && strlen(GASNETT_THREADMODEL_STR) == 3);
	CHECK(strstr(GASNET_CONFIG_STRING, GASNET_CONDUIT_NAME_STR) != NULL);
}

/* ---- handlers ---- */

enum { hidx_ask = 200, hidx_answer, hidx_limits, hidx_limits_answer, hidx_data };
static volatile int answers, empty_messages;
static const unsigned all_flags[] = {0, GEX_FLAG_IMMEDIATE, GEX_FLAG_AM_PREPARE_LEAST_CLIENT,
				     GEX_FLAG_AM_PREPARE_LEAST_ALLOC};

static void ask(gex_Token_t token)
{
	gex_AM_ReplyShort0(token, hidx_answer, 0);
}

static void answer(gex_Token_t token)
{
	(void)token;
	answers++;
}

static void data(gex_Token_t token, void *buf, size_t bytes)
{
	(void)token, (void)buf;
	if (bytes)
		answers++;
	else
		empty_messages++;
}

/* The limits of replies as the replying side sees them, which the asking side compares. */
static void limits(gex_Token_t token, gex_AM_Arg_t nargs, gex_AM_Arg_t which)
{
	gex_Event_t event, *lc[] = {NULL, GEX_EVENT_NOW, &event};
	size_t medium = gex_Token_MaxReplyMedium(token, lc[which % 3], all_flags[which / 3],
						 (unsigned)nargs),
	       big = gex_Token_MaxReplyLong(token, lc[which % 3], all_flags[which / 3],
					    (unsigned)nargs);

	gex_AM_ReplyShort(token, hidx_limits_answer, 0, nargs, which, (gex_AM_Arg_t)medium,
			  (gex_AM_Arg_t)big);
}

static void limits_answer(gex_Token_t token, gex_AM_Arg_t nargs, gex_AM_Arg_t which,
			  gex_AM_Arg_t medium, gex_AM_Arg_t big)
{
	gex_Event_t event, *lc[] = {NULL, GEX_EVENT_NOW, &event};
	gex_Token_Info_t info;

	gex_Token_Info(token, &info, GEX_TI_SRCRANK);
	CHECK(gex_AM_MaxReplyMedium(myteam, info.gex_srcrank, lc[which % 3], all_flags[which / 3],
				    (unsigned)nargs) == (size_t)medium);
	CHECK(gex_AM_MaxReplyLong(myteam, info.gex_srcrank, lc[which % 3], all_flags[which / 3],
				  (unsigned)nargs) == (size_t)big);
	answers++;
}

static gex_AM_Entry_t htable[] = {
    {hidx_ask, (gex_AM_Fn_t)ask, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, NULL},
    {hidx_answer, (gex_AM_Fn_t)answer, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_SHORT, 0, NULL, NULL},
    {hidx_limits, (gex_AM_Fn_t)limits, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 2, NULL, NULL},
    {hidx_limits_answer, (gex_AM_Fn_t)limits_answer, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_SHORT, 4, NULL,
     NULL},
    {hidx_data, (gex_AM_Fn_t)data, GEX_FLAG_AM_REQREP | GEX_FLAG_AM_MEDLONG, 0, NULL, NULL},
};

static void limit_queries(void)
{
	gex_Event_t event, *lc[] = {NULL, GEX_EVENT_NOW, GEX_EVENT_GROUP, &event};
	size_t before[4] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
	gex_Rank_t peer = (rank + 1) % ranks;

	for (unsigned a = 0; a <= gex_AM_MaxArgs(); a++)
		for (unsigned i = 0; i < 4; i++)
			for (unsigned f = 0; f < 4; f++) {
				size_t now[] = {
				    gex_AM_MaxRequestMedium(myteam, peer, lc[i], all_flags[f], a),
				    gex_AM_MaxReplyMedium(myteam, peer, lc[i], all_flags[f], a),
				    gex_AM_MaxRequestLong(myteam, peer, lc[i], all_flags[f], a),
				    gex_AM_MaxReplyLong(myteam, peer, lc[i], all_flags[f], a)};
				size_t least[] = {gex_AM_LUBRequestMedium(),
						  gex_AM_LUBReplyMedium(), gex_AM_LUBRequestLong(),
						  gex_AM_LUBReplyLong()};

				CHECK(gex_AM_MaxRequestLong(myteam, GEX_RANK_INVALID, lc[i],
							    all_flags[f], a) <= now[2]);
				for (unsigned k = 0; k < 4; k++) {
					CHECK(now[k] >= least[k] && least[k] >= 512);
					CHECK(i || f || now[k] <= before[k]);
					if (!i && !f)
						before[k] = now[k];
				}
			}
	answers = 0;
	for (gex_AM_Arg_t a = 0; a <= (gex_AM_Arg_t)gex_AM_MaxArgs(); a++)
		for (gex_AM_Arg_t w = 0; w < 12; w++)
			GASNET_Safe(gex_AM_RequestShort2(myteam, peer, hidx_limits, 0, a, w));
	GASNET_BLOCKUNTIL(answers == 12 * ((int)gex_AM_MaxArgs() + 1));
	barrier_all();
}

/* ---- loops without a poll ---- */

static void no_polls(void)
{
	gex_Rank_t peer = (rank + 1) % ranks;
	static uint64_t there[64], from[64];
	gasnet_handle_t h[3];

	for (int i = 0; i < 20; i++) {
		h[0] = gasnet_get_nb_bulk(there, peer, base[peer], sizeof(there));
		while (gasnet_try_syncnb(h[0]) != GASNET_OK)
			;
		h[0] = gasnet_put_nb_bulk(peer, other_half(base[peer]), from, sizeof(from));
		h[1] = GASNET_INVALID_HANDLE;
		h[2] = gasnet_get_nb(there, peer, base[peer], 8);
		while (gasnet_try_syncnb_some(h, 3) != GASNET_OK)
			;
		while (gasnet_try_syncnb_all(h, 3) != GASNET_OK)
			;
		gasnet_get_nbi(there, peer, base[peer], sizeof(there));
		gasnet_put_nbi_bulk(peer, other_half(base[peer]), from, sizeof(from));
		while (gasnet_try_syncnbi_gets() != GASNET_OK)
			;
		while (gasnet_try_syncnbi_puts() != GASNET_OK)
			;
		while (gasnet_try_syncnbi_all() != GASNET_OK)
			;
	}
	/* Requests of each kind let the answers in. */
	for (int kind = 0; kind < 4; kind++) {
		answers = 0;
		GASNET_Safe(gex_AM_RequestShort0(myteam, peer, hidx_ask, 0));
		while (!answers) {
			gex_AM_SrcDesc_t sd;

			if (kind == 0) {
				gex_AM_RequestShort0(myteam, peer, hidx_ask, 0);
			} else if (kind == 1) {
				gex_AM_RequestMedium0(myteam, peer, hidx_data, from, 8,
						      GEX_EVENT_NOW, 0);
			} else if (kind == 2) {
				sd = gex_AM_PrepareRequestMedium(myteam, peer, NULL, 8, 8, NULL, 0,
								 0);
				memset(gex_AM_SrcDescAddr(sd), 0, 8);
				gex_AM_CommitRequestMedium0(sd, hidx_data, 8);
			} else {
				gex_AM_RequestLong0(myteam, peer, hidx_data, from, 8,
						    other_half(base[peer]), GEX_EVENT_NOW, 0);
			}
		}
		barrier_all();
	}
}

/* ---- nothing to transfer ---- */

static void nothing(void)
{
	gex_Rank_t peer = (rank + 1) % ranks;
	char *past = (char *)base[peer] + GUEST_SEGMENT, byte = 1;
	size_t zero[3] = {0, 5, 0};
	ptrdiff_t stride[3] = {1 << 30, 8, -8};
	void *end[1] = {past};
	void *own[1] = {&byte};
	gex_Event_t e, lc;

	GASNET_Safe(gex_RMA_PutBlocking(myteam, peer, past, &byte, 0, 0));
	GASNET_Safe(gex_RMA_PutBlocking(myteam, peer, NULL, NULL, 0, 0));
	GASNET_Safe(gex_RMA_GetBlocking(myteam, NULL, peer, NULL, 0, 0));
	e = gex_RMA_PutNB(myteam, peer, NULL, NULL, 0, &lc, 0);
	gex_Event_Wait(lc);
	gex_Event_Wait(e);
	gex_Event_Wait(gex_RMA_GetNB(myteam, NULL, peer, past, 0, 0));
	gex_RMA_PutNBI(myteam, peer, NULL, NULL, 0, GEX_EVENT_GROUP, 0);
	gex_RMA_GetNBI(myteam, NULL, peer, NULL, 0, 0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
	gex_Event_Wait(
	    gex_VIS_StridedPutNB(myteam, peer, past, stride, &byte, stride, 1, zero, 3, 0));
	gex_Event_Wait(gex_VIS_StridedGetNB(myteam, NULL, NULL, peer, NULL, NULL, 0, NULL, 0, 0));
	gex_Event_Wait(gex_VIS_IndexedPutNB(myteam, peer, 1, end, 0, 1, own, 0, 0));
	gasnet_put(peer, past, &byte, 0);
	gasnet_memset(peer, past, 1, 0);
	GASNET_Safe(gex_AM_RequestMedium0(myteam, peer, hidx_data, NULL, 0, GEX_EVENT_NOW, 0));
	GASNET_Safe(gex_AM_RequestLong0(myteam, peer, hidx_data, NULL, 0, NULL, GEX_EVENT_NOW, 0));
	GASNET_Safe(gex_AM_RequestLong0(myteam, peer, hidx_data, NULL, 0, past, &lc, 0));
	gex_Event_Wait(lc);
	GASNET_BLOCKUNTIL(empty_messages == 3);
	CHECK(!gex_Event_Test(GEX_EVENT_INVALID) && !gex_Event_TestAll(NULL, 0, 0));
	gex_Event_WaitSome(NULL, 0, 0);
	e = (gex_NBI_BeginAccessRegion(0), gex_NBI_EndAccessRegion(0));
	gex_Event_Wait(e);
	barrier_all();
}

/* ---- many in flight ---- */

static void many(void)
{
	enum { MANY = 20000, FEW = 4000 };
	gex_Event_t *events = (gex_Event_t *)malloc(MANY * sizeof(gex_Event_t));
	gex_Rank_t peer = (rank + 1) % ranks;
	uint64_t *there = (uint64_t *)base[peer], *own = (uint64_t *)myseg, value, got[FEW];
	gex_AD_t ad;

	memset(myseg, 0, GUEST_SEGMENT);
	barrier_all();
	for (int i = 0; i < MANY; i++) {
		value = (uint64_t)i + 1;
		events[i] = gex_RMA_PutNB(myteam, peer, there + i, &value, 8, GEX_EVENT_NOW, 0);
	}
	gex_Event_WaitAll(events, MANY, 0);
	barrier_all();
	for (int i = 0; i < MANY; i++)
		if (own[i] != (uint64_t)i + 1) {
			CHECK(own[i] == (uint64_t)i + 1);
			break;
		}
	barrier_all();
	gex_AD_Create(&ad, myteam, GEX_DT_U64, GEX_OP_FADD, 0);
	own[0] = 0;
	barrier_all();
	for (int i = 0; i < FEW; i++)
		events[i] = gex_AD_OpNB_U64(ad, &got[i], peer, there, GEX_OP_FADD, 1, 0, 0);
	gex_Event_WaitAll(events, FEW, 0);
	for (int i = 0; i < FEW; i++)
		gex_AD_OpNBI_U64(ad, &value, peer, there, GEX_OP_FADD, 1, 0, 0);
	gex_NBI_Wait(GEX_EC_RMW, 0);
	value = 0;
	for (int i = 0; i < FEW; i++)
		value += got[i];
	CHECK(value == (uint64_t)FEW * (FEW - 1) / 2);
	barrier_all();
	CHECK(own[0] == 2 * FEW);
	gex_AD_Destroy(ad);
	free(events);
}

/* ---- teams that overlap, with collectives of all at once ---- */

static void add_pairs(const void *arg1, void *arg2_and_out, size_t count, const void *cdata)
{
	const int16_t *a = (const int16_t *)arg1;
	int16_t *b = (int16_t *)arg2_and_out;

	CHECK(cdata == &ranks);
	for (size_t i = 0; i < 2 * count; i++)
		b[i] = (int16_t)(a[i] + b[i]);
}

static void overlapping(void)
{
	enum { TEAMS = 4, COUNT = 700 };
	static double in[TEAMS][COUNT], out[TEAMS][COUNT];
	int16_t pairs[6] = {(int16_t)rank, 1, 2, 3, 4, (int16_t)(rank * 2)}, sums[6];
	gex_Event_t e[3 * TEAMS + 1];
	gex_TM_t team[TEAMS];
	gex_Rank_t all = ranks * (ranks - 1) / 2;

	for (int t = 0; t < TEAMS; t++) {
		/* Halves, all in reverse, parity, each alone. */
		int color = t == 0   ? -(int)(rank < ranks / 2)
			    : t == 1 ? INT_MIN
			    : t == 2 ? (int)(rank % 2)
				     : (int)rank;

		gex_TM_Split(&team[t], myteam, color, t == 1 ? -(int)rank : 7, NULL, 0, 0);
		for (int i = 0; i < COUNT; i++)
			in[t][i] = t + i;
	}
	CHECK(gex_TM_QueryRank(team[1]) == ranks - 1 - rank && gex_TM_QuerySize(team[3]) == 1);
	for (int t = 0; t < TEAMS; t++) {
		e[t] = gex_Coll_BarrierNB(team[t], 0);
		e[TEAMS + t] =
		    gex_Coll_ReduceToAllNB(team[t], out[t], in[t], GEX_DT_DBL, sizeof(double),
					   COUNT, GEX_OP_ADD, NULL, NULL, 0);
		e[2 * TEAMS + t] = gex_Coll_BarrierNB(team[t], 0);
	}
	e[3 * TEAMS] = gex_Coll_ReduceToAllNB(myteam, sums, pairs, GEX_DT_USER, 4, 3, GEX_OP_USER,
					      add_pairs, &ranks, 0);
	gex_Event_WaitAll(e, 3 * TEAMS + 1, 0);
	for (int t = 0; t < TEAMS; t++)
		for (int i = 0; i < COUNT; i++)
			CHECK(out[t][i] == (double)gex_TM_QuerySize(team[t]) * (t + i));
	if (ranks > 1)
		CHECK(sums[0] == (int16_t)all && sums[1] == (int16_t)ranks &&
		      sums[4] == (int16_t)(4 * ranks) && sums[5] == (int16_t)(2 * all));
	gex_Event_Wait(gex_Coll_ReduceToOneNB(team[1], 0, out[0], in[1], GEX_DT_DBL, sizeof(double),
					      COUNT, GEX_OP_MAX, NULL, NULL, 0));
	if (!gex_TM_QueryRank(team[1]))
		CHECK(out[0][9] == 10);
	for (int t = TEAMS - 1; t >= 0; t--)
		gex_TM_Destroy(team[t], NULL, GEX_FLAG_GLOBALLY_QUIESCED);
	barrier_all();
}

int main(int argc, char **argv)
{
	GASNET_Safe(gex_Client_Init(&myclient, &myep, &myteam, "habits", &argc, &argv,
				    GEX_FLAG_USES_GASNET1));
	guest_attach();
	GASNET_Safe(gex_EP_RegisterHandlers(myep, htable, sizeof(htable) / sizeof(gex_AM_Entry_t)));
	GASNET_BEGIN_FUNCTION();
	GASNET_POST_THREADINFO(GASNET_GET_THREADINFO());
	barrier_all();
	CASE(tools, "the rest of the tools header");
	CASE(limit_queries, "limits with every flag, seen from both sides");
	CASE(no_polls, "loops that test or send, and never poll");
	CASE(nothing, "transfers of no bytes, at any address");
	CASE(many, "tens of thousands of operations in flight");
	CASE(overlapping, "collectives of overlapping teams at once");
	barrier_all();
	gasnet_exit(gasnett_atomic_read(&failed_checks, 0) != 0);
	return 0;
}
