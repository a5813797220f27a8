/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-EX as test suites and runtime systems of others use it: the habits of a harness (a client
 * name in lower case, segments asked for of every rank, checks of tokens), tables of handlers
 * without casts and with trailing members left out, negotiated payload of no bytes, teams with
 * scratch memory, events in arrays with their leaves, and so on. It is valid C and C++, in every
 * threading mode; tests/gasnet/gasnet_modes.sh builds it in each.
 */
#include <assert.h>
#include <stdarg.h>

#include <gasnetex.h>

#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_tools.h>
#include <gasnet_vis.h>

#include "tests/guests/gex_guest.h"

/* ---- what a harness declares at file scope ---- */

GASNETT_IDENT(guest_IdentString_Mode, "$GuestMode: " GASNET_CONFIG_STRING " $");
GASNETT_IDENT(guest_IdentString_Compiler,
	      "$GuestCompiler: " _STRINGIFY(PLATFORM_COMPILER_FAMILYNAME)
		  PLATFORM_COMPILER_VERSION_STR);

GASNETT_FORMAT_PRINTF(say, 1, 2, static void say(const char *format, ...));
static void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
}

static void give_up(const char *why) GASNETT_NORETURN;
GASNETT_NORETURNP(give_up)
static void give_up(const char *why)
{
	say("%s\n", why);
	gasnet_exit(1);
}

GASNETT_NEVER_INLINE(add_up, static size_t add_up(const size_t *v, size_t count));
static size_t add_up(const size_t *v, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += v[i];
	return sum;
}
GASNETT_INLINE(page_up) uintptr_t page_up(uintptr_t n)
{
	return (n + GASNETT_PAGESIZE - 1) / GASNETT_PAGESIZE * GASNETT_PAGESIZE;
}
GASNETT_EXTERNC void callback_of_c(int);
GASNETT_BEGIN_EXTERNC
void callback_of_c(int x)
{
	(void)x;
}
GASNETT_END_EXTERNC

GASNETT_THREADKEY_DECLARE(own_number);
GASNETT_THREADKEY_DEFINE(own_number);
static gasnett_atomic_t arrivals = gasnett_atomic_init(0);
static gex_HSL_t file_lock = GEX_HSL_INITIALIZER;

static void tools(void)
{
	gasnett_tick_t start = gasnett_ticks_now(), end;
	size_t v[] = {1, 2, 3};
	char text[80];
	int line = 7;

	callback_of_c(1);
	CHECK(add_up(v, 3) == 6 && page_up(1) == GASNETT_PAGESIZE);
	if (GASNETT_MAX_THREADS < 1)
		give_up("no threads");
	line = (GASNETT_TRACE_SETSOURCELINE(__FILE__, __LINE__), line + 1);
	GASNETT_TRACE_PRINTF("line %i", line);
	CHECK(line == 8);
	snprintf(text, sizeof(text), "%" PRIuSZ " %s", sizeof(text), GASNETT_CURRENT_FUNCTION);
	CHECK(!strncmp(text, "80 ", 3));
	if_pf(sizeof(text) != 80) give_up("size");
	if_pt(1) line = 0;
	CHECK(strlen(GASNETT_SYSTEM_TUPLE) > 0 && strlen(GASNET_CONDUIT_NAME_STR) > 0 &&
	      strlen(_STRINGIFY(GASNET_CORE_NAME)) > 0 &&
	      strlen(_STRINGIFY(GASNET_CORE_VERSION)) > 0);
	CHECK(GASNET_ALIGNED_SEGMENTS == 0 || GASNET_ALIGNED_SEGMENTS == 1);
	CHECK(gasnett_tick_granularityus() >= 0 && gasnett_tick_overheadus() >= 0);
	CHECK(!gasnett_nsleep(1000000));
	end = gasnett_ticks_now();
	CHECK(gasnett_ticks_to_us(end - start) >= 1000 &&
	      gasnett_ticks_to_ns(end - start) >= 1000000);
	gasnett_sched_yield();
	CHECK(gasnett_cpu_count() >= 0 && strlen(gasnett_gethostname()) > 0);
	CHECK(gasnett_performance_warning_str() != NULL);
	(void)gasnett_verboseenv();
	gasnett_setenv("GEX_GUEST", "YES");
	CHECK(!strcmp(gasnett_getenv("GEX_GUEST"), "YES"));
	CHECK(gasnett_getenv_yesno_withdefault("GEX_GUEST", 0) == 1);
	CHECK(gasnett_getenv_yesno_withdefault("GEX_GUEST_NONE", 1) == 1);
	gasnett_setenv("GEX_GUEST", "n");
	CHECK(gasnett_getenv_yesno_withdefault("GEX_GUEST", 1) == 0);
	CHECK(gasnett_parse_int("64K", 1) == 65536 && gasnett_parse_int("2", 1024) == 2048 &&
	      gasnett_parse_int("0x10", 1) == 16 && gasnett_parse_int("-3", 0) == -3 &&
	      gasnett_parse_int("1.5 MB", 0) == 3 << 19);
	CHECK(gasnett_format_number(4096, text, sizeof(text), 1) == text && strchr(text, 'K'));
	CHECK(!strcmp(gasnett_format_number(17, text, sizeof(text), 0), "17"));
	CHECK(gasnett_threadkey_get(own_number) == NULL);
	gasnett_threadkey_set(own_number, &line);
	CHECK(gasnett_threadkey_get(own_number) == &line);
	gasnett_threadkey_set(own_number, NULL);
	gasnett_atomic_set(&arrivals, 2, GASNETT_ATOMIC_REL);
	gasnett_atomic_increment(&arrivals, 0);
	CHECK(gasnett_atomic_read(&arrivals, GASNETT_ATOMIC_ACQ) == 3);
	CHECK(
	    !gasnett_atomic_decrement_and_test(&arrivals, GASNETT_ATOMIC_REL | GASNETT_ATOMIC_ACQ));
	gasnett_atomic_set(&arrivals, 1, 0);
	CHECK(gasnett_atomic_decrement_and_test(&arrivals, 0));
	{
		int start_value = (int)ranks;
		gasnett_atomic_t counter = gasnett_atomic_init(start_value);

		CHECK(gasnett_atomic_read(&counter, 0) == (gasnett_atomic_val_t)ranks);
	}
}

/* ---- core: handlers ---- */

static volatile int pongs;
static volatile int auto_calls;
static gex_AM_Index_t auto_index[3];
static const char cookie[] = "cookie";
enum {
	hidx_ping_short = 201,
	hidx_ping_medium,
	hidx_ping_long,
	hidx_pong,
	hidx_pong_long,
	hidx_sink
};

static void ping_short(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
	gex_Token_Info_t info;
	gex_TI_t got = gex_Token_Info(token, &info, GEX_TI_SRCRANK | GEX_TI_EP);

	CHECK((got & (GEX_TI_SRCRANK | GEX_TI_EP)) == (GEX_TI_SRCRANK | GEX_TI_EP));
	CHECK(info.gex_srcrank == (gex_Rank_t)a && info.gex_ep == myep);
	gex_AM_ReplyShort(token, hidx_pong, 0, a, b);
}

static void ping_medium(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
	CHECK(nbytes == (size_t)b && all_bytes(buf, nbytes, (uint8_t)(a + 1)));
	gex_AM_ReplyShort2(token, hidx_pong, 0, a, b);
}

static void ping_long(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
	CHECK(buf == myseg && nbytes == (size_t)b && all_bytes(buf, nbytes, (uint8_t)(a + 1)));
	gex_AM_ReplyLong0(token, hidx_pong_long, buf, nbytes, other_half(base[a]), GEX_EVENT_NOW,
			  0);
}

static void pong(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
	(void)token, (void)b;
	CHECK((gex_Rank_t)a == rank);
	pongs++;
}

static void pong_long(gex_Token_t token, void *buf, size_t nbytes)
{
	(void)token;
	CHECK(buf == other_half(myseg) && all_bytes(buf, nbytes, (uint8_t)(rank + 1)));
	pongs++;
}

static void sink(gex_Token_t token, void *buf, size_t nbytes)
{
	(void)token, (void)buf, (void)nbytes;
	pongs++;
}

static void auto_short(gex_Token_t token)
{
	gex_Token_Info_t info;

	CHECK(gex_Token_Info(token, &info, GEX_TI_ALL) == GEX_TI_ALL);
	CHECK(info.gex_entry->gex_cdata == cookie && info.gex_entry->gex_nargs == 0 &&
	      info.gex_entry->gex_fnptr == (gex_AM_Fn_t)auto_short && info.gex_is_req &&
	      !info.gex_is_long && !strcmp(info.gex_entry->gex_name, "auto_short"));
	auto_calls++;
}

static gex_AM_Entry_t htable[] = {
    {hidx_ping_short, (gex_AM_Fn_t)ping_short, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 2, NULL,
     NULL},
    {hidx_ping_medium, (gex_AM_Fn_t)ping_medium, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 2, NULL,
     NULL},
    {hidx_ping_long, (gex_AM_Fn_t)ping_long, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG, 2, NULL, NULL},
    {hidx_pong, (gex_AM_Fn_t)pong, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_SHORT, 2, NULL, NULL},
    {hidx_pong_long, (gex_AM_Fn_t)pong_long, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_LONG, 0, NULL, NULL},
    {hidx_sink, (gex_AM_Fn_t)sink, GEX_FLAG_AM_REQREP | GEX_FLAG_AM_MEDLONG, 0, NULL, NULL},
};

/* Handlers may be registered in several calls; index 0 is given the highest that is free. */
static void register_more(void)
{
	gex_AM_Entry_t more[] = {
	    {0, (gex_AM_Fn_t)auto_short, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, cookie,
	     "auto_short"},
	    {254, (gex_AM_Fn_t)sink, GEX_FLAG_AM_REQREP | GEX_FLAG_AM_MEDLONG, 0, NULL, NULL},
	    {0, (gex_AM_Fn_t)auto_short, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, cookie,
	     "auto_short"},
	};
	gex_AM_Entry_t again[] = {{0, (gex_AM_Fn_t)auto_short,
				   GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, cookie,
				   "auto_short"}};

	GASNET_Safe(gex_EP_RegisterHandlers(myep, more, sizeof(more) / sizeof(gex_AM_Entry_t)));
	CHECK(more[0].gex_index == 255 && more[1].gex_index == 254 && more[2].gex_index == 253);
	CHECK(more[0].gex_cdata == cookie && more[2].gex_nargs == 0);
	GASNET_Safe(gex_EP_RegisterHandlers(myep, again, 1));
	CHECK(again[0].gex_index == 252);
	GASNET_Safe(gex_EP_RegisterHandlers(myep, NULL, 0));
	auto_index[0] = more[0].gex_index;
	auto_index[1] = more[2].gex_index;
	auto_index[2] = again[0].gex_index;
}

static void core(void)
{
	static uint8_t buf[1 << 16];
	gex_Rank_t peer = (rank + 1) % ranks;
	size_t maxmed, maxlong;

	register_more();
	barrier_all();
	for (int i = 0; i < 3; i++)
		GASNET_Safe(gex_AM_RequestShort0(myteam, peer, auto_index[i], 0));
	GASNET_BLOCKUNTIL(auto_calls == 3);
	maxmed = gex_AM_MaxRequestMedium(myteam, peer, GEX_EVENT_NOW, 0, 2);
	maxlong = gex_AM_MaxRequestLong(myteam, peer, GEX_EVENT_NOW, 0, 2);
	CHECK(gex_AM_MaxArgs() >= 16 && maxmed >= 512 && maxlong >= 512);
	for (unsigned a = 0; a <= gex_AM_MaxArgs(); a++) {
		CHECK(gex_AM_LUBRequestMedium() <=
			  gex_AM_MaxRequestMedium(myteam, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, a) &&
		      gex_AM_LUBReplyMedium() <=
			  gex_AM_MaxReplyMedium(myteam, peer, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC,
						a) &&
		      gex_AM_LUBRequestLong() <=
			  gex_AM_MaxRequestLong(myteam, peer, GEX_EVENT_GROUP,
						GEX_FLAG_AM_PREPARE_LEAST_CLIENT, a) &&
		      gex_AM_LUBReplyLong() <=
			  gex_AM_MaxReplyLong(myteam, peer, GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE, a));
		CHECK(!a || gex_AM_MaxRequestMedium(myteam, peer, GEX_EVENT_NOW, 0, a) <=
				gex_AM_MaxRequestMedium(myteam, peer, GEX_EVENT_NOW, 0, a - 1));
	}
	maxmed = maxmed < sizeof(buf) ? maxmed : sizeof(buf);
	maxlong = maxlong < sizeof(buf) ? maxlong : sizeof(buf);
	memset(buf, (int)(rank + 1), sizeof(buf));
	pongs = 0;
	GASNET_Safe(gex_AM_RequestShort(myteam, peer, hidx_ping_short, 0, (gex_AM_Arg_t)rank, 5));
	GASNET_BLOCKUNTIL(pongs == 1);
	for (size_t s = 0; s <= maxmed; s = s ? s * 2 : 1) {
		gex_Event_t lc;

		pongs = 0;
		GASNET_Safe(gex_AM_RequestMedium(myteam, peer, hidx_ping_medium, buf, s,
						 GEX_EVENT_NOW, 0, (gex_AM_Arg_t)rank,
						 (gex_AM_Arg_t)s));
		GASNET_Safe(gex_AM_RequestMedium2(myteam, peer, hidx_ping_medium, buf, s, &lc, 0,
						  (gex_AM_Arg_t)rank, (gex_AM_Arg_t)s));
		gex_Event_Wait(lc);
		GASNET_Safe(gex_AM_RequestMedium2(myteam, peer, hidx_ping_medium, buf, s,
						  GEX_EVENT_GROUP, 0, (gex_AM_Arg_t)rank,
						  (gex_AM_Arg_t)s));
		gex_NBI_Wait(GEX_EC_AM, 0);
		GASNET_BLOCKUNTIL(pongs == 3);
	}
	for (size_t s = 0; s <= maxlong; s = s ? s * 2 : 1) {
		pongs = 0;
		GASNET_Safe(gex_AM_RequestLong2(myteam, peer, hidx_ping_long, buf, s, base[peer],
						GEX_EVENT_NOW, 0, (gex_AM_Arg_t)rank,
						(gex_AM_Arg_t)s));
		GASNET_BLOCKUNTIL(pongs == 1);
		barrier_all();
	}
}

/* Negotiated payload: no bytes, exact sizes, a pool of client buffers, streams. */
static void negotiated(void)
{
	static uint8_t client[8192];
	gex_Rank_t peer = (rank + ranks - 1) % ranks;
	size_t sizes[] = {0, 1, 2, 4, 1000, 4096}, left;
	int sent = 0;

	pongs = 0;
	barrier_all();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		gex_AM_SrcDesc_t sd =
		    gex_AM_PrepareRequestMedium(myteam, peer, NULL, sizes[i], sizes[i], NULL, 0, 0);

		CHECK(sd != GEX_AM_SRCDESC_NO_OP && gex_AM_SrcDescSize(sd) == sizes[i] &&
		      gex_AM_SrcDescAddr(sd) != NULL && !((uintptr_t)gex_AM_SrcDescAddr(sd) & 7));
		memset(gex_AM_SrcDescAddr(sd), 1, sizes[i]);
		gex_AM_CommitRequestMedium0(sd, hidx_sink, sizes[i]);
		sd = gex_AM_PrepareRequestMedium(myteam, peer, client, sizes[i], sizes[i],
						 GEX_EVENT_GROUP, 0, 0);
		CHECK(gex_AM_SrcDescAddr(sd) == (void *)client);
		gex_AM_CommitRequestMedium0(sd, hidx_sink, 0);
		gex_NBI_Wait(GEX_EC_AM, 0);
		sd = gex_AM_PrepareRequestLong(myteam, peer, NULL, sizes[i], sizes[i],
					       other_half(base[peer]), NULL, 0, 0);
		gex_AM_CommitRequestLong(sd, hidx_sink, sizes[i], other_half(base[peer]));
		sent += 3;
	}
	for (left = 200000; left;) {
		gex_AM_SrcDesc_t sd =
		    gex_AM_PrepareRequestMedium(myteam, peer, NULL, 1, left, NULL, 0, 0);
		size_t got = gex_AM_SrcDescSize(sd);

		CHECK(got >= 1 && got <= left);
		memset(gex_AM_SrcDescAddr(sd), 2, got);
		gex_AM_CommitRequestMedium(sd, hidx_sink, got);
		left -= got;
	}
	barrier_all();
	GASNET_BLOCKUNTIL(pongs >= sent);
	barrier_all();
}

/* ---- puts, gets and their events ---- */

static void rma(void)
{
	enum { MANY = 300 };
	static uint64_t from[MANY], back[MANY];
	uint64_t *there = (uint64_t *)base[(rank + 1) % ranks];
	gex_Rank_t peer = (rank + 1) % ranks;
	gex_Event_t events[2 * MANY], region;
	size_t i;

	for (i = 0; i < MANY; i++)
		from[i] = rank * 1000 + i;
	for (i = 0; i < MANY; i++) /* Roots and leaves in one array, leaves behind. */
		events[i] =
		    gex_RMA_PutNB(myteam, peer, there + i, from + i, 8, &events[MANY + i], 0);
	gex_Event_WaitAll(events, 2 * MANY, 0);
	for (i = 0; i < 2 * MANY; i++)
		CHECK(events[i] == GEX_EVENT_INVALID);
	for (i = 0; i < MANY; i++) /* The same with "some", roots first. */
		events[i] =
		    gex_RMA_PutNB(myteam, peer, there + i, from, 2048, &events[MANY + i], 0);
	for (;;) {
		size_t open = 0;

		gex_Event_WaitSome(events, 2 * MANY, 0);
		for (i = 0; i < 2 * MANY; i++)
			open += events[i] != GEX_EVENT_INVALID;
		if (!open)
			break;
	}
	CHECK(!gex_Event_TestSome(events, 2 * MANY, 0) && !gex_Event_TestAll(events, 0, 0));
	for (i = 0; i < MANY; i++)
		gex_RMA_PutNBI(myteam, peer, there + i, from + i, 8, GEX_EVENT_DEFER, 0);
	gex_NBI_Wait(GEX_EC_PUT, 0);
	gex_NBI_BeginAccessRegion(0);
	for (i = 0; i < MANY; i++)
		gex_RMA_GetNBI(myteam, back + i, peer, there + i, 8, 0);
	region = gex_NBI_EndAccessRegion(0);
	while (gex_Event_Test(region) != GASNET_OK)
		gasnet_AMPoll();
	CHECK(!memcmp(back, from, sizeof(back)));
	CHECK(gex_RMA_GetBlockingVal(myteam, peer, there, sizeof(int), 0) ==
	      (gex_RMA_Value_t)from[0]);
	gex_Event_Wait(gex_RMA_PutNBVal(myteam, peer, there, 0x1122334455667788, 3, 0));
	CHECK(gex_RMA_GetBlockingVal(myteam, peer, there, 3, 0) == 0x667788);
	gex_RMA_PutNBIVal(myteam, peer, there, 9, SIZEOF_GEX_RMA_VALUE_T, 0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
	CHECK(gex_RMA_GetBlockingVal(myteam, peer, there, 8, 0) == 9);
	GASNET_Safe(gex_RMA_PutBlocking(myteam, peer, there + 1, from, 0, 0));
	barrier_all();
}

/* Random places and lengths, checked by getting back. */
static void random_rma(void)
{
	static uint8_t from[20000], back[20000];
	uint8_t *there = (uint8_t *)base[(rank + 1) % ranks];
	gex_Rank_t peer = (rank + 1) % ranks;

	srand(rank + 5);
	for (int i = 0; i < 300; i++) {
		size_t at = (size_t)rand() % 50000, bytes = (size_t)rand() % (i % 5 ? 100 : 20000);

		for (size_t j = 0; j < bytes; j++)
			from[j] = (uint8_t)(i + (int)j);
		if (i % 2)
			gex_Event_Wait(gex_RMA_PutNB(myteam, peer, there + at, from, bytes,
						     GEX_EVENT_DEFER, 0));
		else
			GASNET_Safe(gex_RMA_PutBlocking(myteam, peer, there + at, from, bytes, 0));
		memset(back, 0, bytes);
		GASNET_Safe(gex_RMA_GetBlocking(myteam, back, peer, there + at, bytes, 0));
		CHECK(!memcmp(from, back, bytes));
	}
	barrier_all();
}

/* ---- teams ---- */

static void teams(void)
{
	gex_TM_t row, all, alone, nobody = (gex_TM_t)&row;
	gex_Memvec_t scratch;
	size_t need;
	gex_AD_t ad;
	uint64_t got, sum = 0, one = rank + 1;
	void *memory;

	need = gex_TM_Split(&row, myteam, (int)rank / 2, (int)rank, 0, 0,
			    GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
	CHECK(need >= gex_TM_Split(&row, myteam, (int)rank / 2, (int)rank, 0, 0,
				   GEX_FLAG_TM_SCRATCH_SIZE_MIN));
	memory = other_half(myseg);
	gex_TM_Split(&row, myteam, (int)rank / 2, (int)rank, memory, need, 0);
	CHECK(gex_TM_QueryRank(row) == rank % 2 &&
	      gex_TM_QuerySize(row) == (rank / 2 * 2 + 1 < ranks ? 2u : 1u));
	CHECK(gex_TM_QueryCData(row) == NULL && gex_TM_QueryFlags(row) == 0 &&
	      gex_TM_QueryEP(row) == myep && gex_TM_QueryClient(row) == myclient);
	gex_TM_SetCData(row, &sum);
	CHECK(gex_TM_QueryCData(row) == &sum);
	for (gex_Rank_t r = 0; r < gex_TM_QuerySize(row); r++) {
		gex_Rank_t job = gex_TM_TranslateRankToJobrank(row, r);

		CHECK(job == rank / 2 * 2 + r && gex_TM_TranslateJobrankToRank(row, job) == r);
		CHECK(!gex_Segment_QueryBound(row, r, &memory, NULL, NULL) && memory == base[job]);
	}
	if (ranks > 2)
		CHECK(gex_TM_TranslateJobrankToRank(row, rank < 2 ? 2 : 0) == GEX_RANK_INVALID);
	gex_TM_Split(&all, row, 0, -(int)rank, other_half(myseg), need, 0); /* of a team */
	gex_TM_Split(&alone, myteam, (int)rank, 0, NULL, 0, 0);
	gex_TM_Split(rank % 2 ? NULL : &nobody, myteam, 0, 0, NULL, 0, 0);
	CHECK(gex_TM_QuerySize(alone) == 1);
	gex_Event_Wait(gex_Coll_BarrierNB(alone, 0));
	gex_Event_Wait(gex_Coll_BarrierNB(row, 0));
	gex_Event_Wait(gex_Coll_ReduceToAllNB(row, &got, &one, GEX_DT_U64, sizeof(one), 1,
					      GEX_OP_ADD, NULL, NULL, 0));
	for (gex_Rank_t r = 0; r < gex_TM_QuerySize(row); r++)
		sum += rank / 2 * 2 + r + 1;
	CHECK(got == sum);
	*(uint64_t *)myseg = 0;
	gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
	gex_AD_Create(&ad, row, GEX_DT_U64, GEX_OP_FADD | GEX_OP_GET, GEX_FLAG_AD_FAVOR_REMOTE);
	CHECK(gex_AD_QueryTM(ad) == row && gex_AD_QueryCData(ad) == NULL);
	gex_Event_Wait(gex_AD_OpNB_U64(ad, &got, 0, base[rank / 2 * 2], GEX_OP_FADD, one, 0, 0));
	gex_Event_Wait(gex_Coll_BarrierNB(row, 0));
	gex_Event_Wait(gex_AD_OpNB_U64(ad, &got, rank / 2 * 2, base[rank / 2 * 2], GEX_OP_GET, 0, 0,
				       GEX_FLAG_RANK_IS_JOBRANK));
	CHECK(got == sum);
	gex_AD_Destroy(ad);
	pongs = 0;
	barrier_all();
	GASNET_Safe(gex_AM_RequestShort2(all, gex_TM_QuerySize(all) - 1, hidx_ping_short, 0,
					 (gex_AM_Arg_t)rank, 0));
	GASNET_BLOCKUNTIL(pongs == 1);
	barrier_all();
	CHECK(gex_TM_Destroy(all, &scratch, GEX_FLAG_GLOBALLY_QUIESCED));
	CHECK(gex_TM_Destroy(row, &scratch, 0) && scratch.gex_addr == other_half(myseg) &&
	      scratch.gex_len == need);
	CHECK(!gex_TM_Destroy(alone, NULL, 0));
	if (rank % 2 == 0)
		CHECK(!gex_TM_Destroy(nobody, NULL, 0));
}

/* ---- locks ---- */

static void locks(void)
{
	gex_HSL_t lock;

	gex_HSL_Init(&lock);
	for (int i = 0; i < 10; i++) {
		gex_HSL_Lock(&lock);
		gex_HSL_Lock(&file_lock);
		CHECK(gex_HSL_Trylock(&file_lock) == GASNET_ERR_NOT_READY);
		gex_HSL_Unlock(&file_lock);
		gex_HSL_Unlock(&lock);
		CHECK(gex_HSL_Trylock(&lock) == GASNET_OK);
		gex_HSL_Unlock(&lock);
	}
	gex_HSL_Destroy(&lock);
}

/* ---- barriers ---- */

static int notify_and_wait(int id, int flags)
{
	int rc;

	gasnet_barrier_notify(id, flags);
	if (id % 2)
		return gasnet_barrier_wait(id, flags);
	do
		rc = gasnet_barrier_try(id, flags);
	while (rc == GASNET_ERR_NOT_READY);
	return rc;
}

static void barriers(void)
{
	gex_Event_t many[20];
	int id;

	for (int i = 0; i < 20; i++)
		many[i] = gex_Coll_BarrierNB(myteam, 0);
	gex_Event_WaitAll(many, 20, 0);
	for (int i = 0; i < 10; i++) {
		CHECK(notify_and_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) == GASNET_OK);
		CHECK(gasnet_barrier_result(&id) != 0);
		CHECK(notify_and_wait(i, 0) == GASNET_OK);
		CHECK(gasnet_barrier_result(&id) == 0 && id == i);
		/* Some name the barrier and others do not. */
		CHECK(notify_and_wait(7, (int)rank == i % (int)ranks ? GASNET_BARRIERFLAG_ANONYMOUS
								     : 0) == GASNET_OK);
		CHECK(gasnet_barrier(3, GASNET_BARRIERFLAG_UNNAMED) == GASNET_OK);
		CHECK(notify_and_wait(2, GASNET_BARRIERFLAG_MISMATCH) ==
		      GASNET_ERR_BARRIER_MISMATCH);
		CHECK(notify_and_wait(5, rank ? 0 : GASNET_BARRIERFLAG_MISMATCH) ==
		      GASNET_ERR_BARRIER_MISMATCH);
		if (ranks > 1)
			CHECK(notify_and_wait(rank ? 4 : 6, 0) == GASNET_ERR_BARRIER_MISMATCH);
	}
	barrier_all();
}

/* ---- atomics ---- */

#define TEST_TYPE(DT, T)                                                                           \
	do {                                                                                       \
		gex_AD_t ad;                                                                       \
		T old = 0, *target = (T *)base[(rank + 1) % ranks] + 64;                           \
		gex_Rank_t to = (rank + 1) % ranks;                                                \
                                                                                                   \
		gex_AD_Create(&ad, myteam, GEX_DT_##DT,                                            \
			      GEX_OP_SET | GEX_OP_GET | GEX_OP_FADD | GEX_OP_ADD | GEX_OP_FCAS |   \
				  GEX_OP_SWAP | GEX_OP_INC | GEX_OP_FMAX,                          \
			      0);                                                                  \
		CHECK(                                                                             \
		    !gex_AD_OpNBI_##DT(ad, NULL, to, target, GEX_OP_SET, 3, 0, GEX_FLAG_AD_REL));  \
		gex_NBI_Wait(GEX_EC_PUT, 0);                                                       \
		CHECK(!gex_AD_OpNBI_##DT(ad, NULL, to, target, GEX_OP_INC, 0, 0, 0));              \
		gex_NBI_Wait(GEX_EC_RMW, 0);                                                       \
		CHECK(                                                                             \
		    !gex_AD_OpNBI_##DT(ad, &old, to, target, GEX_OP_GET, 0, 0, GEX_FLAG_AD_ACQ));  \
		gex_NBI_Wait(GEX_EC_GET, 0);                                                       \
		CHECK(old == 4);                                                                   \
		gex_Event_Wait(gex_AD_OpNB_##DT(ad, &old, to, target, GEX_OP_FADD, 5, 0, 0));      \
		CHECK(old == 4);                                                                   \
		gex_Event_Wait(gex_AD_OpNB_##DT(ad, &old, to, target, GEX_OP_FCAS, 9, 20, 0));     \
		CHECK(old == 9);                                                                   \
		gex_Event_Wait(gex_AD_OpNB_##DT(ad, &old, to, target, GEX_OP_FMAX, 1, 0, 0));      \
		CHECK(old == 20);                                                                  \
		gex_Event_Wait(gex_AD_OpNB_##DT(ad, &old, to, target,                              \
						GEX_OP_TO_FETCHING(GEX_OP_SET), 1, 0, 0));         \
		CHECK(old == 20);                                                                  \
		barrier_all();                                                                     \
		gex_AD_Destroy(ad);                                                                \
	} while (0)

static void atomics(void)
{
	CHECK(GEX_OP_TO_NONFETCHING(GEX_OP_SWAP) == GEX_OP_SET &&
	      GEX_OP_TO_FETCHING(GEX_OP_CAS) == GEX_OP_FCAS);
	TEST_TYPE(I32, int32_t);
	TEST_TYPE(U32, uint32_t);
	TEST_TYPE(I64, int64_t);
	TEST_TYPE(U64, uint64_t);
	TEST_TYPE(FLT, float);
	TEST_TYPE(DBL, double);
}

/* ---- vector, indexed, strided ---- */

static void pieces(void)
{
	enum { COUNT = 50 };
	static uint8_t local[COUNT * 64], back[COUNT * 64];
	gex_Rank_t peer = (rank + 1) % ranks;
	uint8_t *there = (uint8_t *)base[peer];
	gex_Memvec_t list[COUNT], one[1];
	void *to[COUNT], *from[COUNT], *whole[1];
	ptrdiff_t remote[2] = {128, 1024}, own[2] = {64, 512};
	size_t count[2] = {8, 5};
	gex_Event_t e, leaf;

	for (size_t i = 0; i < sizeof(local); i++)
		local[i] = (uint8_t)(i * 3 + rank);
	for (size_t i = 0; i < COUNT; i++) {
		to[i] = there + 100 * i;
		from[i] = local + 64 * i;
		list[i].gex_addr = to[i];
		list[i].gex_len = 64;
	}
	one[0].gex_addr = local;
	one[0].gex_len = sizeof(local);
	whole[0] = back;
	gex_Event_Wait(gex_VIS_VectorPutNB(myteam, peer, COUNT, list, 1, one, 0));
	gex_VIS_IndexedGetNBI(myteam, 1, whole, sizeof(back), peer, COUNT, to, 64, 0);
	gex_NBI_Wait(GEX_EC_GET, 0);
	CHECK(!memcmp(back, local, sizeof(back)));
	e = gex_VIS_IndexedPutNB(myteam, peer, COUNT, to, 64, COUNT, from, 64,
				 GEX_FLAG_ENABLE_LEAF_LC);
	leaf = gex_Event_QueryLeaf(e, GEX_EC_LC);
	gex_Event_Wait(leaf);
	gex_Event_Wait(e);
	gex_VIS_VectorGetBlocking(myteam, 0, NULL, peer, 0, NULL, 0);
	gex_VIS_IndexedPutBlocking(myteam, peer, 0, NULL, 8, 0, NULL, 8, 0);
	gex_Event_Wait(
	    gex_VIS_StridedPutNB(myteam, peer, there, remote, local, own, 64, count, 2, 0));
	memset(back, 0, sizeof(back));
	gex_VIS_StridedGetBlocking(myteam, back, own, peer, there, remote, 64, count, 2, 0);
	for (size_t j = 0; j < count[1]; j++)
		for (size_t i = 0; i < count[0]; i++)
			CHECK(!memcmp(back + j * 512 + i * 64, local + j * 512 + i * 64, 64));
	gex_Event_Wait(
	    gex_VIS_StridedPutNB(myteam, peer, there, NULL, local, NULL, 64, NULL, 0, 0));
	gex_VIS_StridedPutNBI(myteam, peer, there, remote, local, own, 0, count, 2, 0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
	barrier_all();
}

/* ---- collectives ---- */

static void collectives(void)
{
	int64_t v[4], sum[4];
	double d = rank + 0.5, least;
	char text[32];

	for (int i = 0; i < 4; i++)
		v[i] = (int64_t)rank * (i + 1);
	gex_Event_Wait(gex_Coll_ReduceToAllNB(myteam, sum, v, GEX_DT_I64, sizeof(int64_t), 4,
					      GEX_OP_ADD, NULL, NULL, 0));
	for (int i = 0; i < 4; i++)
		CHECK(sum[i] == (int64_t)ranks * ((int64_t)ranks - 1) / 2 * (i + 1));
	gex_Event_Wait(gex_Coll_ReduceToAllNB(myteam, &least, &d, GEX_DT_DBL, sizeof(d), 1,
					      GEX_OP_MIN, NULL, NULL, 0));
	CHECK(least == 0.5);
	/* In place, and many at once. */
	gex_Event_Wait(gex_Coll_ReduceToAllNB(myteam, v, v, GEX_DT_I64, sizeof(int64_t), 4,
					      GEX_OP_MAX, NULL, NULL, 0));
	CHECK(v[3] == ((int64_t)ranks - 1) * 4);
	for (gex_Rank_t root = 0; root < ranks; root++) {
		snprintf(text, sizeof(text), "from %u", rank == root ? root : 99);
		gex_Event_Wait(gex_Coll_BroadcastNB(myteam, root, text, text, sizeof(text), 0));
		CHECK(!strncmp(text, "from ", 5) && (gex_Rank_t)atoi(text + 5) == root);
	}
}

/* ---- queries ---- */

static void queries(void)
{
	gex_RankInfo_t *info;
	gex_Rank_t count, index, sets, set, hosts, host;

	CHECK(rank == gex_System_QueryJobRank() && ranks == gex_System_QueryJobSize());
	gex_System_QueryHostInfo(&info, &count, &index);
	CHECK(info[index].gex_jobrank == rank);
	for (gex_Rank_t i = 1; i < count; i++)
		CHECK(info[i - 1].gex_jobrank < info[i].gex_jobrank);
	gex_System_QueryNbrhdInfo(NULL, &count, NULL);
	gex_System_QueryNbrhdInfo(&info, NULL, &index);
	CHECK(index < count && info[index].gex_jobrank == rank);
	gex_System_QueryMyPosition(&sets, &set, &hosts, &host);
	CHECK(set < sets && host < hosts && hosts <= sets && sets <= ranks);
	CHECK(gex_Client_QueryCData(myclient) == NULL && gex_EP_QueryCData(myep) == NULL &&
	      gex_Segment_QueryCData(mysegment) == NULL);
	gex_Client_SetCData(myclient, &rank);
	gex_EP_SetCData(myep, &ranks);
	gex_Segment_SetCData(mysegment, &base);
	CHECK(gex_Client_QueryCData(myclient) == &rank && gex_EP_QueryCData(myep) == &ranks &&
	      gex_Segment_QueryCData(mysegment) == &base);
	CHECK(gex_EP_QueryClient(myep) == myclient &&
	      gex_Segment_QueryClient(mysegment) == myclient &&
	      gex_EP_QuerySegment(myep) == mysegment && gex_Client_QueryFlags(myclient) == 0 &&
	      gex_EP_QueryFlags(myep) == 0 && gex_Segment_QueryFlags(mysegment) == 0);
	CHECK(!strcmp(gex_Client_QueryName(myclient), "guest"));
	CHECK(gex_Segment_QueryAddr(mysegment) == myseg &&
	      gex_Segment_QuerySize(mysegment) >= GUEST_SEGMENT);
	CHECK(gasnet_getMaxLocalSegmentSize() >= GUEST_SEGMENT &&
	      gasnet_getMaxGlobalSegmentSize() >= GUEST_SEGMENT);
	CHECK(!strcmp(gasnet_ErrorName(GASNET_ERR_BAD_ARG), "GASNET_ERR_BAD_ARG") &&
	      *gasnet_ErrorDesc(GASNET_OK));
	CHECK(gasnet_set_waitmode(GASNET_WAIT_BLOCK) == GASNET_OK);
	barrier_all();
	CHECK(gasnet_set_waitmode(GASNET_WAIT_SPIN) == GASNET_OK);
	barrier_all();
	CHECK(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK) == GASNET_OK);
}

int main(int argc, char **argv)
{
	GASNET_Safe(gex_Client_Init(&myclient, &myep, &myteam, "guest", &argc, &argv, 0));
	guest_attach();
	GASNET_Safe(gex_EP_RegisterHandlers(myep, htable, sizeof(htable) / sizeof(gex_AM_Entry_t)));
	GASNET_BEGIN_FUNCTION();
	barrier_all();
	CASE(tools, "the tools header");
	CASE(core, "handlers of every category, limits, automatic indices");
	CASE(negotiated, "negotiated payload");
	CASE(rma, "events in arrays, access regions, values");
	CASE(random_rma, "random places and lengths");
	CASE(teams, "teams with scratch memory, of teams, of one");
	CASE(locks, "handler-safe locks");
	CASE(barriers, "named, anonymous and mismatched barriers");
	CASE(atomics, "atomics of every type");
	CASE(pieces, "vector, indexed and strided transfers");
	CASE(collectives, "reductions and broadcasts");
	CASE(queries, "objects and positions");
	barrier_all();
	gasnet_exit(gasnett_atomic_read(&failed_checks, 0) != 0);
	return 0;
}
