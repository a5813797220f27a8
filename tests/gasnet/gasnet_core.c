/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core of GASNet-EX as programs use it: handlers of every arity and category, payloads of every
 * size, negotiated payload, puts and gets with each kind of local completion, access regions, teams
 * and barriers. Each task talks to all tasks, itself included.
 */
#include <gasnetex.h>

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t team;
static gex_Segment_t segment;
static gex_Rank_t me, n;
static int is_virtual;

#define CHECK_WHO         "process %u", me
#define CHECK_END(status) gasnet_exit(status)
#include "tests/harness/check_count.h"

#define CALL(call) REQUIRE((call) == GASNET_OK)

enum { SEGMENT = 4 << 20, PART = 1 << 18 };

static uint8_t *base_of(gex_Rank_t rank)
{
	void *owner;
	uintptr_t bytes;

	CALL(gex_Segment_QueryBound(team, rank, &owner, NULL, &bytes));
	REQUIRE(bytes >= SEGMENT && bytes % GASNET_PAGESIZE == 0);
	return owner;
}

/* Where a task may write in the segment of another one. */
static uint8_t *part_of(gex_Rank_t rank, gex_Rank_t of)
{
	return base_of(rank) + (size_t)PART * (of % (SEGMENT / PART));
}

static uint8_t pattern_byte(size_t i, unsigned seed)
{
	return (uint8_t)(i * 7 + seed * 13 + (i >> 8));
}

static void fill_pattern(uint8_t *p, size_t bytes, unsigned seed)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = pattern_byte(i, seed);
}

static int is_filled(const uint8_t *p, size_t bytes, unsigned seed)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != pattern_byte(i, seed))
			return 0;
	return 1;
}

/* ---- handlers ---- */

static volatile int replies, messages;
static uint8_t *reply_dest;
static gex_AM_Index_t hidx_auto;

enum {
	H_SHORT = 128,
	H_SHORT_REPLY = 145,
	H_MEDIUM = 162,
	H_MEDIUM_REPLY,
	H_LONG,
	H_LONG_REPLY,
	H_NP,
	H_NP_REPLY,
	H_COUNT,
	H_SINK
};

static void check_token(gex_Token_t token, int is_req, int is_long, gex_AM_Index_t index)
{
	gex_Token_Info_t info;
	gex_TI_t valid = gex_Token_Info(token, &info, GEX_TI_ALL);

	REQUIRE((valid & (GEX_TI_SRCRANK | GEX_TI_EP)) == (GEX_TI_SRCRANK | GEX_TI_EP));
	REQUIRE(info.gex_srcrank < n && info.gex_ep == ep);
	REQUIRE(info.gex_entry->gex_index == index);
	REQUIRE(!!info.gex_is_req == is_req && !!info.gex_is_long == is_long);
}

#define A(i)   gex_AM_Arg_t a##i
#define SUM(i) +(i + 1) * a##i
#define ARITY(m, params, args, sum)                                                                \
	static void short_reply_##m(gex_Token_t token params)                                      \
	{                                                                                          \
		check_token(token, 0, 0, H_SHORT_REPLY + m);                                       \
		REQUIRE(0 sum == 1000000 + m);                                                     \
		replies++;                                                                         \
	}                                                                                          \
	static void short_request_##m(gex_Token_t token params)                                    \
	{                                                                                          \
		check_token(token, 1, 0, H_SHORT + m);                                             \
		REQUIRE(0 sum == 1000000 + m);                                                     \
		messages++;                                                                        \
		CALL(gex_AM_ReplyShort##m(token, H_SHORT_REPLY + m, 0 args));                      \
	}
#define COMMA ,
#define P1    , A(0)
#define P2    P1, A(1)
#define P8    P2, A(2), A(3), A(4), A(5), A(6), A(7)
#define P15   P8, A(8), A(9), A(10), A(11), A(12), A(13), A(14)
#define P16   P15, A(15)
#define G1    , a0
#define G2    G1, a1
#define G8    G2, a2, a3, a4, a5, a6, a7
#define G15   G8, a8, a9, a10, a11, a12, a13, a14
#define G16   G15, a15
#define S1    SUM(0)
#define S2    S1 SUM(1)
#define S8    S2 SUM(2) SUM(3) SUM(4) SUM(5) SUM(6) SUM(7)
#define S15   S8 SUM(8) SUM(9) SUM(10) SUM(11) SUM(12) SUM(13) SUM(14)
#define S16   S15 SUM(15)
ARITY(1, P1, G1, S1)
ARITY(2, P2, G2, S2)
ARITY(8, P8, G8, S8)
ARITY(15, P15, G15, S15)
ARITY(16, P16, G16, S16)

static void medium_reply(gex_Token_t token, void *buf, size_t bytes, gex_AM_Arg_t seed)
{
	check_token(token, 0, 0, H_MEDIUM_REPLY);
	REQUIRE((uintptr_t)buf % 16 == 0);
	REQUIRE(is_filled(buf, bytes, (unsigned)seed));
	replies++;
}

/* Changes the payload and sends it back from where it lies. */
static void medium_request(gex_Token_t token, void *buf, size_t bytes, gex_AM_Arg_t seed)
{
	check_token(token, 1, 0, H_MEDIUM);
	REQUIRE((uintptr_t)buf % 16 == 0);
	REQUIRE(is_filled(buf, bytes, (unsigned)seed));
	messages++;
	fill_pattern(buf, bytes, (unsigned)seed + 1);
	CALL(gex_AM_ReplyMedium(token, H_MEDIUM_REPLY, buf, bytes, GEX_EVENT_NOW, 0, seed + 1));
}

static void long_reply(gex_Token_t token, void *buf, size_t bytes, gex_AM_Arg_t seed)
{
	check_token(token, 0, 1, H_LONG_REPLY);
	REQUIRE(buf == reply_dest && is_filled(buf, bytes, (unsigned)seed));
	replies++;
}

static void long_request(gex_Token_t token, void *buf, size_t bytes, gex_AM_Arg_t seed,
			 gex_AM_Arg_t hi, gex_AM_Arg_t lo, gex_AM_Arg_t from)
{
	void *dest = (void *)(uintptr_t)((uint64_t)(uint32_t)hi << 32 | (uint32_t)lo);

	check_token(token, 1, 1, H_LONG);
	REQUIRE(buf == part_of(me, (gex_Rank_t)from) && is_filled(buf, bytes, (unsigned)seed));
	messages++;
	CALL(gex_AM_ReplyLong1(token, H_LONG_REPLY, buf, bytes, dest, GEX_EVENT_NOW, 0, seed));
}

static void np_reply(gex_Token_t token, void *buf, size_t bytes, gex_AM_Arg_t seed,
		     gex_AM_Arg_t size)
{
	REQUIRE(bytes == (size_t)size && is_filled(buf, bytes, (unsigned)seed));
	replies++;
}

static void np_request(gex_Token_t token, void *buf, size_t bytes, gex_AM_Arg_t seed,
		       gex_AM_Arg_t size)
{
	gex_AM_SrcDesc_t sd;

	REQUIRE(bytes == (size_t)size && is_filled(buf, bytes, (unsigned)seed));
	messages++;
	sd = gex_AM_PrepareReplyMedium(token, NULL, bytes, bytes, NULL, 0, 2);
	REQUIRE(gex_AM_SrcDescSize(sd) == bytes && (uintptr_t)gex_AM_SrcDescAddr(sd) % 16 == 0);
	memcpy(gex_AM_SrcDescAddr(sd), buf, bytes);
	gex_AM_CommitReplyMedium2(sd, H_NP_REPLY, bytes, seed, size);
}

static void count_handler(gex_Token_t token)
{
	messages++;
}

static void sink_handler(gex_Token_t token, void *buf, size_t bytes)
{
	messages += bytes > 0 && ((uint8_t *)buf)[0] == ((uint8_t *)buf)[bytes - 1];
}

#define SHORTS(m)                                                                                  \
	{H_SHORT + m, (gex_AM_Fn_t)short_request_##m, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, m}, \
	{                                                                                          \
		H_SHORT_REPLY + m, (gex_AM_Fn_t)short_reply_##m,                                   \
		    GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, m                                       \
	}
static gex_AM_Entry_t table[] = {
    SHORTS(1),
    SHORTS(2),
    SHORTS(8),
    SHORTS(15),
    SHORTS(16),
    {H_MEDIUM, medium_request, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1},
    {H_MEDIUM_REPLY, medium_reply, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 1},
    {H_LONG, long_request, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 4},
    {H_LONG_REPLY, long_reply, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY, 1},
    {H_NP, np_request, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQUEST, 2},
    {H_NP_REPLY, np_reply, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 2},
    {H_SINK, sink_handler, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQREP, 0},
    {0, count_handler, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "counts"},
};

/* ---- tests ---- */

static void run_barrier(void)
{
	gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static void test_short(gex_Rank_t peer)
{
	replies = 0;
	CALL(gex_AM_RequestShort1(team, peer, H_SHORT + 1, 0, 1000001));
	CALL(gex_AM_RequestShort(team, peer, H_SHORT + 2, 0, 1000002 - 2 * 5, 5));
	CALL(gex_AM_RequestShort8(team, peer, H_SHORT + 8, 0, 1000008 - 2 * 4 - 8 * 9, 4, 0, 0, 0,
				  0, 0, 9));
	CALL(gex_AM_RequestShort15(team, peer, H_SHORT + 15, 0, 1000015 - 15 * -3, 0, 0, 0, 0, 0, 0,
				   0, 0, 0, 0, 0, 0, 0, -3));
	CALL(gex_AM_RequestShort16(team, peer, H_SHORT + 16, 0, 1000016 - 16 * 7, 0, 0, 0, 0, 0, 0,
				   0, 0, 0, 0, 0, 0, 0, 0, 7));
	GASNET_BLOCKUNTIL(replies == 5);
}

static const size_t sizes[] = {0,   1,    7,    8,    16,   400,  470,  480,  496,   511,  512,
			       513, 1000, 4000, 4096, 4097, 8191, 8192, 8193, 20000, 65472};

static void test_medium(gex_Rank_t peer)
{
	static uint8_t buf[1 << 17];
	const size_t max = gex_AM_MaxRequestMedium(team, peer, GEX_EVENT_NOW, 0, 1);

	REQUIRE(max >= 512 && gex_AM_LUBRequestMedium() <= max);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		gex_Event_t lc;

		if (sizes[s] > max)
			continue;
		replies = 0;
		fill_pattern(buf, sizes[s], (unsigned)s);
		CALL(gex_AM_RequestMedium1(team, peer, H_MEDIUM, buf, sizes[s], GEX_EVENT_NOW, 0,
					   (int)s));
		memset(buf, 0xee, sizes[s]);
		fill_pattern(buf + 65536, sizes[s], (unsigned)s + 100);
		CALL(gex_AM_RequestMedium1(team, peer, H_MEDIUM, buf + 65536, sizes[s], &lc, 0,
					   (int)s + 100));
		gex_Event_Wait(lc);
		memset(buf + 65536, 0xee, sizes[s]);
		GASNET_BLOCKUNTIL(replies == 2);
	}
}

static void test_long(gex_Rank_t peer)
{
	static uint8_t buf[PART];
	static const size_t more[] = {100000, 131072};

	reply_dest = part_of(me, peer) + PART / 2;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]) + 2; s++) {
		size_t bytes = s < 2 ? more[s] : sizes[s - 2];
		gex_Event_t lc = GEX_EVENT_INVALID;
		gex_Event_t *how[] = {GEX_EVENT_NOW, &lc, GEX_EVENT_GROUP};
		uint64_t dest = (uint64_t)(uintptr_t)reply_dest;

		for (int h = 0; h < 3; h++) {
			replies = 0;
			fill_pattern(buf, bytes, (unsigned)(s + 40 * h));
			/* Payload and answer of 131072 bytes just fit beside each other. */
			CALL(gex_AM_RequestLong4(team, peer, H_LONG, buf, bytes, part_of(peer, me),
						 how[h], 0, (int)(s + 40 * h), (int)(dest >> 32),
						 (int)dest, (int)me));
			if (h == 1)
				gex_Event_Wait(lc);
			if (h == 2)
				gex_NBI_Wait(GEX_EC_AM, 0);
			memset(buf, 0xdd, bytes);
			GASNET_BLOCKUNTIL(replies == 1);
		}
	}
}

static void test_negotiated(gex_Rank_t peer)
{
	static uint8_t buf[70000];
	size_t done = 0;

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		gex_AM_SrcDesc_t sd;
		gex_Event_t lc;
		size_t part = sizes[s] / 3;

		replies = 0;
		sd = gex_AM_PrepareRequestMedium(team, peer, NULL, sizes[s], sizes[s], NULL, 0, 2);
		REQUIRE(sd != GEX_AM_SRCDESC_NO_OP && gex_AM_SrcDescSize(sd) == sizes[s]);
		REQUIRE((uintptr_t)gex_AM_SrcDescAddr(sd) % 16 == 0);
		fill_pattern(gex_AM_SrcDescAddr(sd), sizes[s], (unsigned)s);
		gex_AM_CommitRequestMedium2(sd, H_NP, sizes[s], (int)s, (int)sizes[s]);
		/* fewer bytes than prepared */
		sd = gex_AM_PrepareRequestMedium(team, peer, NULL, part, sizes[s], NULL, 0, 2);
		fill_pattern(gex_AM_SrcDescAddr(sd), part, (unsigned)s);
		gex_AM_CommitRequestMedium(sd, H_NP, part, (int)s, (int)part);
		/* nothing of what was prepared */
		sd = gex_AM_PrepareRequestMedium(team, peer, NULL, sizes[s], sizes[s], NULL, 0, 2);
		gex_AM_CommitRequestMedium2(sd, H_NP, 0, (int)s, 0);
		sd = gex_AM_PrepareRequestMedium(team, peer, buf, sizes[s], sizes[s], &lc, 0, 2);
		REQUIRE(gex_AM_SrcDescAddr(sd) == buf);
		fill_pattern(buf, sizes[s], (unsigned)s + 9);
		gex_AM_CommitRequestMedium2(sd, H_NP, sizes[s], (int)s + 9, (int)sizes[s]);
		gex_Event_Wait(lc);
		memset(buf, 0, sizes[s]);
		sd = gex_AM_PrepareRequestLong(team, peer, NULL, 0, sizes[s], NULL, NULL, 0, 2);
		fill_pattern(gex_AM_SrcDescAddr(sd), sizes[s], (unsigned)s + 3);
		gex_AM_CommitRequestLong2(sd, H_NP, sizes[s], part_of(peer, me), (int)s + 3,
					  (int)sizes[s]);
		GASNET_BLOCKUNTIL(replies == 5);
	}
	replies = 0;
	for (int count = 0; done < 300000; count++) { /* streaming */
		gex_AM_SrcDesc_t sd =
		    gex_AM_PrepareRequestMedium(team, peer, NULL, 1, 300000 - done, NULL, 0, 2);
		size_t got = gex_AM_SrcDescSize(sd);

		REQUIRE(got >= 1 && got <= 300000 - done);
		fill_pattern(gex_AM_SrcDescAddr(sd), got, (unsigned)count);
		gex_AM_CommitRequestMedium2(sd, H_NP, got, count, (int)got);
		done += got;
		GASNET_BLOCKUNTIL(replies == count + 1);
	}
}

/* Prepared messages in bursts, so each has memory of its own until it is sent; every third is
 * shorter than prepared, and every other one may be refused. */
static void test_prepared_bursts(gex_Rank_t peer)
{
	unsigned seed = me + 1;

	for (int round = 0; round < 10; round++) {
		int sent = 0;

		replies = 0;
		for (int i = 0; i < 40; i++) {
			size_t bytes = 480 + (size_t)rand_r(&seed) % 3700;
			size_t used = i % 3 ? bytes : (size_t)rand_r(&seed) % (bytes + 1);
			gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(
			    team, peer, NULL, 1, bytes, NULL, i % 2 ? GEX_FLAG_IMMEDIATE : 0, 2);

			if (sd == GEX_AM_SRCDESC_NO_OP) {
				REQUIRE(i % 2);
				continue;
			}
			REQUIRE(gex_AM_SrcDescSize(sd) == bytes);
			fill_pattern(gex_AM_SrcDescAddr(sd), used, (unsigned)i);
			gex_AM_CommitRequestMedium2(sd, H_NP, used, i, (int)used);
			sent++;
		}
		GASNET_BLOCKUNTIL(replies == sent);
	}
}

static void test_rma(gex_Rank_t peer)
{
	static uint8_t buf[PART], back[PART];
	uint8_t *there = part_of(peer, me);
	static const size_t bytes[] = {0, 1, 3, 8, 63, 512, 513, 4096, 30000, 100000, PART};

	for (size_t s = 0; s < sizeof(bytes) / sizeof(bytes[0]); s++) {
		size_t b = bytes[s];
		gex_Event_t e[2], lc;

		fill_pattern(buf, b, 1);
		CALL(gex_RMA_PutBlocking(team, peer, there, buf, b, 0));
		CALL(gex_RMA_GetBlocking(team, back, peer, there, b, 0));
		REQUIRE(is_filled(back, b, 1));
		fill_pattern(buf, b, 2);
		e[0] = gex_RMA_PutNB(team, peer, there, buf, b, GEX_EVENT_NOW, 0);
		memset(buf, 0, b);
		gex_Event_Wait(e[0]);
		e[0] = gex_RMA_GetNB(team, back, peer, there, b, 0);
		while (gex_Event_Test(e[0]))
			gasnet_AMPoll();
		REQUIRE(is_filled(back, b, 2));
		fill_pattern(buf, b, 3);
		e[0] = gex_RMA_PutNB(team, peer, there, buf, b, &lc, 0);
		gex_Event_Wait(lc);
		memset(buf, 0, b);
		gex_Event_Wait(e[0]);
		CALL(gex_RMA_GetNBI(team, back, peer, there, b, 0));
		gex_NBI_Wait(GEX_EC_GET, 0);
		REQUIRE(is_filled(back, b, 3));
		fill_pattern(buf, b, 4);
		/* The put returns a root and a leaf event. */
		e[0] = gex_RMA_PutNB(team, peer, there, buf, b, &e[1], 0);
		gex_Event_WaitAll(e, 2, 0);
		REQUIRE(e[0] == GEX_EVENT_INVALID && e[1] == GEX_EVENT_INVALID);
		CALL(gex_RMA_GetBlocking(team, back, peer, there, b, 0));
		REQUIRE(is_filled(back, b, 4));
		for (int how = 0; how < 3; how++) {
			gex_Event_t *lcs[] = {GEX_EVENT_NOW, GEX_EVENT_DEFER, GEX_EVENT_GROUP};

			fill_pattern(buf, b, 5 + (unsigned)how);
			CALL(gex_RMA_PutNBI(team, peer, there, buf, b, lcs[how], 0));
			if (how == 2)
				gex_NBI_Wait(GEX_EC_LC, 0);
			if (how != 1)
				memset(buf, 0, b);
			gex_NBI_Wait(GEX_EC_ALL, 0);
			CALL(gex_RMA_GetBlocking(team, back, peer, there, b, 0));
			REQUIRE(is_filled(back, b, 5 + (unsigned)how));
		}
	}
	for (size_t b = 1; b <= sizeof(gex_RMA_Value_t); b++) {
		gex_RMA_Value_t v = (gex_RMA_Value_t)0x8877665544332211u,
				mask = b == 8 ? ~(gex_RMA_Value_t)0
					      : ((gex_RMA_Value_t)1 << 8 * b) - 1;

		CALL(gex_RMA_PutBlockingVal(team, peer, there + b, v, b, 0));
		REQUIRE(gex_RMA_GetBlockingVal(team, peer, there + b, b, 0) == (v & mask));
		gex_Event_Wait(gex_RMA_PutNBVal(team, peer, there + b, ~v, b, 0));
		REQUIRE(gex_RMA_GetBlockingVal(team, peer, there + b, b, 0) == (~v & mask));
		CALL(gex_RMA_PutNBIVal(team, peer, there + b, v + 1, b, 0));
		gex_NBI_Wait(GEX_EC_PUT, 0);
		REQUIRE(gex_RMA_GetBlockingVal(team, peer, there + b, b, 0) == ((v + 1) & mask));
	}
}

static void test_events(gex_Rank_t peer)
{
	enum { MANY = 200 };
	static uint64_t value[MANY], back[MANY];
	uint64_t *there = (uint64_t *)(void *)part_of(peer, me);
	gex_Event_t e[MANY], region;

	for (int i = 0; i < MANY; i++) {
		value[i] = (uint64_t)i * 3 + me;
		e[i] = i % 3
			   ? gex_RMA_PutNB(team, peer, &there[i], &value[i], 8, GEX_EVENT_DEFER, 0)
			   : GEX_EVENT_INVALID;
		if (i % 3 == 0)
			CALL(gex_RMA_PutNBI(team, peer, &there[i], &value[i], 8, GEX_EVENT_DEFER,
					    0));
	}
	gex_Event_WaitSome(e, MANY, 0);
	gex_Event_WaitAll(e, MANY, 0);
	CALL(gex_Event_TestAll(e, MANY, 0));
	CALL(gex_Event_TestSome(e, MANY, 0));
	gex_NBI_Wait(GEX_EC_PUT, 0);
	CALL(gex_NBI_Test(GEX_EC_ALL, 0));
	gex_NBI_BeginAccessRegion(0);
	for (int i = 0; i < MANY; i++)
		CALL(gex_RMA_GetNBI(team, &back[i], peer, &there[i], 8, 0));
	region = gex_NBI_EndAccessRegion(0);
	CALL(gex_NBI_Test(GEX_EC_ALL, 0));
	gex_Event_Wait(region);
	REQUIRE(!memcmp(back, value, sizeof(value)));
	gex_NBI_BeginAccessRegion(0);
	REQUIRE(gex_NBI_EndAccessRegion(0) == GEX_EVENT_INVALID);
}

/* The root may be waited for and the leaf never, or asked for again. */
static void test_root_first(gex_Rank_t peer)
{
	static uint8_t buf[30000];
	uint8_t *there = part_of(peer, me);

	for (int i = 0; i < 100; i++) {
		size_t bytes = i % 2 ? 8 : sizeof(buf);
		gex_Event_t leaf, root = gex_RMA_PutNB(team, peer, there, buf, bytes, &leaf, 0);

		if (root != GEX_EVENT_INVALID && leaf != GEX_EVENT_INVALID)
			REQUIRE(gex_Event_QueryLeaf(root, GEX_EC_LC) == leaf);
		gex_Event_Wait(root);
	}
}

/* Random puts whose source is overwritten as soon as it may be: the target has what it was. */
static void test_overwritten(gex_Rank_t peer, int rounds)
{
	enum { LONGEST = 3000 };
	static uint8_t source[LONGEST], model[PART], back[PART];
	gex_Event_t root[64] = {GEX_EVENT_INVALID}, leaf;
	uint8_t *there = part_of(peer, me);
	uint32_t x = 12345 + me;
	size_t at = 0;

	memset(model, 0, PART);
	CALL(gex_RMA_PutBlocking(team, peer, there, model, PART, 0));
	for (int i = 0; i < rounds; i++) {
		size_t bytes = 1 + (x >> 8) % (i % 3 ? 40 : LONGEST);

		x = x * 1664525 + 1013904223;
		if (at + bytes > PART) { /* No two puts in flight overlap. */
			gex_Event_WaitAll(root, 64, 0);
			gex_NBI_Wait(GEX_EC_ALL, 0);
			at = 0;
		}
		fill_pattern(source, bytes, (unsigned)i);
		memcpy(model + at, source, bytes);
		gex_Event_Wait(root[i % 64]);
		root[i % 64] = GEX_EVENT_INVALID;
		if (x >> 31) {
			root[i % 64] =
			    gex_RMA_PutNB(team, peer, there + at, source, bytes, &leaf, 0);
			gex_Event_Wait(leaf);
		} else if (x >> 30 & 1) {
			root[i % 64] =
			    gex_RMA_PutNB(team, peer, there + at, source, bytes, GEX_EVENT_NOW, 0);
		} else {
			CALL(gex_RMA_PutNBI(team, peer, there + at, source, bytes, GEX_EVENT_GROUP,
					    0));
			gex_NBI_Wait(GEX_EC_LC, 0);
		}
		memset(source, 0xee, bytes);
		at += bytes;
	}
	gex_Event_WaitAll(root, 64, 0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
	CALL(gex_RMA_GetBlocking(team, back, peer, there, PART, 0));
	REQUIRE(!memcmp(back, model, PART));
}

/* All tasks to all, with replies, more than anybody's credits. */
static void test_flood(int rounds)
{
	static uint8_t buf[6000];
	int sent = 0;

	run_barrier();
	replies = messages = 0;
	run_barrier(); /* Nobody sends before all have cleared their counts. */
	for (int i = 0; i < rounds; i++)
		for (gex_Rank_t r = 0; r < n; r++, sent++) {
			fill_pattern(buf, (size_t)(i * 37 % 6000), (unsigned)i);
			CALL(gex_AM_RequestMedium1(team, (me + r) % n, H_MEDIUM, buf, i * 37 % 6000,
						   GEX_EVENT_NOW, 0, i));
		}
	GASNET_BLOCKUNTIL(replies == sent);
	GASNET_BLOCKUNTIL(messages == sent);
	run_barrier();
}

/* Process 1 has no credits left: what would have to wait for them is refused and leaves no trace,
 * and what needs none, or another process, succeeds. Returns how many messages went there. */
static int test_refused_pieces(void)
{
	enum { PIECES = 16, EACH = 256 };
	static uint8_t source[PIECES * EACH];
	const char *packing = getenv("TGEX_VIS_AM");
	ptrdiff_t stride[] = {2 * EACH}, own[] = {EACH};
	size_t count[] = {PIECES};
	uint8_t *at = part_of(1, 0) + 4096;
	void *to[PIECES], *from[PIECES], *mapped;
	int sent = 0;

	for (int i = 0; i < PIECES; i++) {
		to[i] = at + 2 * EACH * i;
		from[i] = source + EACH * i;
	}
	CALL(gex_Segment_QueryBound(team, 1, NULL, &mapped, NULL));
	if (mapped || (packing && !strcmp(packing, "none")))
		return 0;
	CALL(gex_RMA_PutBlockingVal(team, 1, at, 0, 8, 0));
	/* That polled, so credits may have come. No call from here to the get makes progress. */
	memset(source, 1, sizeof(source));
	while (!gex_AM_RequestMedium0(team, 1, H_SINK, source, 4032, GEX_EVENT_NOW,
				      GEX_FLAG_IMMEDIATE))
		sent++;
	REQUIRE(gex_VIS_IndexedPutNB(team, 1, PIECES, to, EACH, PIECES, from, EACH,
				     GEX_FLAG_IMMEDIATE) == GEX_EVENT_NO_OP);
	REQUIRE(gex_VIS_IndexedPutNBI(team, 1, PIECES, to, EACH, PIECES, from, EACH,
				      GEX_FLAG_IMMEDIATE));
	REQUIRE(gex_VIS_StridedPutBlocking(team, 1, at, stride, source, own, EACH, count, 1,
					   GEX_FLAG_IMMEDIATE));
	gex_NBI_Wait(GEX_EC_ALL, 0);
	REQUIRE(gex_RMA_GetBlockingVal(team, 1, at, 8, 0) == 0);
	if (n > 2)
		CALL(gex_VIS_StridedPutBlocking(team, 2, part_of(2, 0) + 4096, stride, source, own,
						EACH, count, 1,
						getenv("TGEX_CREDITS") ? 0 : GEX_FLAG_IMMEDIATE));
	/* The messaging unit needs no software of process 1. */
	while (gex_RMA_PutBlocking(team, 1, at, source, 64, GEX_FLAG_IMMEDIATE))
		gasnet_AMPoll();
	REQUIRE(gex_RMA_GetBlockingVal(team, 1, at, 1, 0) == 1);
	return sent;
}

/* A task that does not poll stops immediate requests, and then takes all that were sent. */
static void test_immediate(void)
{
	static uint8_t buf[4032];
	static volatile int accepted;
	int refused = 0;

	if (n == 1)
		return;
	run_barrier();
	messages = 0;
	accepted = 0;
	run_barrier();
	if (me == 0) {
		for (int i = 0; i < 100000 && !refused; i++) {
			int rc = gex_AM_RequestMedium0(team, 1, H_SINK, buf, sizeof(buf),
						       GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE);

			accepted += !rc;
			refused += rc != 0;
			if (rc) {
				gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(
				    team, 1, NULL, 4032, 4032, NULL, GEX_FLAG_IMMEDIATE, 0);

				REQUIRE(sd == GEX_AM_SRCDESC_NO_OP);
			}
		}
		REQUIRE(refused == 1 && accepted > 0);
		accepted += test_refused_pieces();
		CALL(gex_RMA_PutBlockingVal(team, 1, part_of(1, 0), 1000 + (unsigned)accepted, 8,
					    0));
	}
	if (me == 1) {
		volatile uint64_t *there = (uint64_t *)(void *)part_of(1, 0);

		while (*there < 1000 || *there > 200000)
			gasnett_nsleep(1000000);
		accepted = (int)(*there - 1000);
		GASNET_BLOCKUNTIL(messages == accepted);
		*there = 0;
	}
	run_barrier();
}

static void test_teams(void)
{
	gex_TM_t half, reversed, none = GEX_TM_INVALID;

	REQUIRE(gex_TM_Split(NULL, team, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_MIN) > 0);
	gex_TM_Split(&half, team, (int)me % 2, (int)me, NULL, 0, 0);
	REQUIRE(gex_TM_QuerySize(half) == (n + 1 - me % 2) / 2 && gex_TM_QueryRank(half) == me / 2);
	REQUIRE(gex_TM_TranslateRankToJobrank(half, gex_TM_QueryRank(half)) == me);
	gex_TM_Split(&reversed, team, 7, -(int)me, NULL, 0, 0);
	REQUIRE(gex_TM_QueryRank(reversed) == n - 1 - me);
	REQUIRE(gex_TM_TranslateJobrankToRank(reversed, 0) == n - 1);
	gex_TM_Split(me ? &none : NULL, team, 1, 0, NULL, 0, 0);
	REQUIRE((none == GEX_TM_INVALID) == !me);
	for (int i = 0; i < 3; i++) {
		gex_Event_t e[3] = {gex_Coll_BarrierNB(half, 0), gex_Coll_BarrierNB(reversed, 0),
				    gex_Coll_BarrierNB(team, 0)};

		gex_Event_WaitAll(e, 3, 0);
	}
	messages = 0;
	run_barrier();
	CALL(gex_AM_RequestShort0(reversed, 0, hidx_auto, 0));
	if (me == n - 1)
		GASNET_BLOCKUNTIL(messages == (int)n);
	run_barrier();
	if (me)
		REQUIRE(!gex_TM_Destroy(none, NULL, 0));
	gex_TM_Destroy(half, NULL, 0);
	gex_TM_Destroy(reversed, NULL, 0);
}

static void test_barriers(void)
{
	int id;

	for (int i = 0; i < 20; i++) {
		CALL(gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS));
		gasnet_barrier_notify(i, 0);
		CALL(gasnet_barrier_wait(i, 0));
		REQUIRE(!gasnet_barrier_result(&id) && id == i);
		gasnet_barrier_notify(5, me % 2 ? 0 : GASNET_BARRIERFLAG_ANONYMOUS);
		while (gasnet_barrier_try(5, me % 2 ? 0 : GASNET_BARRIERFLAG_ANONYMOUS) ==
		       GASNET_ERR_NOT_READY)
			gasnett_sched_yield();
		if (n > 1) {
			gasnet_barrier_notify((int)me, 0);
			REQUIRE(gasnet_barrier_wait((int)me, 0) == GASNET_ERR_BARRIER_MISMATCH);
		}
	}
}

/* Copies in memory of the node take virtual time, and are complete at once. */
static void test_copy_time(gex_Rank_t neighbour)
{
	static uint8_t buf[PART];
	gasnett_tick_t start = gasnett_ticks_now();

	REQUIRE(gex_RMA_PutNB(team, neighbour, part_of(neighbour, me), buf, PART, GEX_EVENT_DEFER,
			      0) == GEX_EVENT_INVALID);
	REQUIRE(gasnett_ticks_to_ns(gasnett_ticks_now() - start) > PART / 64); /* 64 GB/s */
}

static void test_queries(void)
{
	const char *neighbours = getenv("NEIGHBOURS"); /* as many as each task has, itself one */
	gex_RankInfo_t *info;
	gex_Rank_t count, index, sets, set, hosts, host;
	void *local;

	gex_System_QueryNbrhdInfo(&info, &count, &index);
	REQUIRE(count >= 1 && index < count && info[index].gex_jobrank == me);
	REQUIRE(!neighbours || count == (gex_Rank_t)atoi(neighbours));
	if (is_virtual && count > 1)
		test_copy_time(info[(index + 1) % count].gex_jobrank);
	for (gex_Rank_t i = 0; i < count; i++) {
		CALL(gex_Segment_QueryBound(team, info[i].gex_jobrank, NULL, &local, NULL));
		REQUIRE(local != NULL || getenv("TGEX_SHM"));
	}
	gex_System_QueryHostInfo(&info, &hosts, &index);
	REQUIRE(hosts >= count && info[index].gex_jobrank == me);
	gex_System_QueryMyPosition(&sets, &set, NULL, NULL);
	REQUIRE(set < sets && sets <= n);
	gex_System_QueryMyPosition(NULL, NULL, &sets, &host);
	REQUIRE(host < sets);
	REQUIRE(gex_TM_QueryEP(team) == ep && gex_TM_QueryClient(team) == client);
	REQUIRE(gex_EP_QuerySegment(ep) == segment &&
		gex_Segment_QueryAddr(segment) == base_of(me));
	REQUIRE(!gex_TM_QueryCData(team));
	gex_TM_SetCData(team, &me);
	REQUIRE(gex_TM_QueryCData(team) == &me);
	REQUIRE(!strcmp(gex_Client_QueryName(client), "core"));
	REQUIRE(!strcmp(gasnet_ErrorName(GASNET_ERR_NOT_READY), "GASNET_ERR_NOT_READY"));
}

int main(int argc, char **argv)
{
	is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	CALL(gex_Client_Init(&client, &ep, &team, "core", &argc, &argv, 0));
	me = gex_TM_QueryRank(team);
	n = gex_TM_QuerySize(team);
	CALL(gex_EP_RegisterHandlers(ep, table, sizeof(table) / sizeof(table[0])));
	hidx_auto = table[sizeof(table) / sizeof(table[0]) - 1].gex_index;
	REQUIRE(hidx_auto == 255);
	REQUIRE(gasnet_getMaxGlobalSegmentSize() >= SEGMENT);
	CALL(gex_Segment_Attach(&segment, team, SEGMENT));
	CALL(gasnet_barrier(0, GASNET_BARRIERFLAG_UNNAMED));
	for (gex_Rank_t r = 0; r < n; r++) {
		gex_Rank_t peer = (me + r) % n;

		test_short(peer);
		test_medium(peer);
		test_long(peer);
		test_negotiated(peer);
		test_prepared_bursts(peer);
		run_barrier();
		test_rma(peer);
		test_events(peer);
		test_root_first(peer);
		test_overwritten(peer, (is_virtual ? 200 : 10000) / (int)n);
		run_barrier();
	}
	test_flood(is_virtual ? 30 : 300);
	test_immediate();
	test_teams();
	test_barriers();
	test_queries();
	run_barrier();
	if (!me)
		printf("core: all right with %u tasks\n", n);
	gasnet_exit(0);
	return 1;
}
