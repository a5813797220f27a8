/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages in every form: short, medium and long, with fixed and negotiated payload, with 0
 * to 16 arguments, payloads of all sizes up to the maximum, every kind of local completion, and
 * requests as well as replies. Then 100000 random messages in the whole job, each with a number,
 * so that a loss or a second delivery is seen. The form of a reply follows from arity and size of
 * the request, so both sides know it.
 */
#include <gasnetex.h>

#include "tests/gasnet/gasnet_random.h"

enum {
	ARITIES = 17,
	LONG_AREA = 4 << 20, /* for a request, and as much for the reply */
	WINDOW = 32,         /* random messages of a process that are under way */
	SLOT = 16 << 10,
	TASKS = 8,
	AT_SLOTS = 2 * LONG_AREA, /* of each process: for requests and for replies */
	SEGMENT = AT_SLOTS + 2 * TASKS * WINDOW * SLOT,
	RANDOM_MESSAGES = 100000
};

/* Handlers: one of each kind for each arity. */
enum { SHORT, MEDIUM, LONG, KINDS };
enum { H_REQUEST = 64, H_REPLY = H_REQUEST + KINDS * ARITIES, H_END = H_REPLY + KINDS * ARITIES };
#define REQUEST_INDEX(kind, m) ((gex_AM_Index_t)(H_REQUEST + (kind)*ARITIES + (m)))
#define REPLY_INDEX(kind, m)   ((gex_AM_Index_t)(H_REPLY + (kind)*ARITIES + (m)))

static uint8_t *base[TASKS];
static size_t longest[KINDS];
static uint8_t *buffer; /* LONG_AREA bytes */

/* ---- what arguments and payload must be ---- */

static gex_AM_Arg_t argument(int m, int i)
{
	return (gex_AM_Arg_t)(0x9e3779b9u * (uint32_t)(i + 1) * (uint32_t)(m + 3));
}

static uint64_t pattern_word(size_t i, unsigned key)
{
	return (i + 1) * 0x9e3779b97f4a7c15u + key * 1000003u;
}

static void fill_pattern(void *to, size_t bytes, unsigned key)
{
	uint8_t *p = to;
	size_t i;

	for (i = 0; i + 8 <= bytes; i += 8) {
		uint64_t w = pattern_word(i, key);

		memcpy(p + i, &w, 8);
	}
	for (; i < bytes; i++)
		p[i] = (uint8_t)pattern_word(i, key);
}

static int is_pattern(const void *at, size_t bytes, unsigned key)
{
	const uint8_t *p = at;
	size_t i;

	for (i = 0; i + 8 <= bytes; i += 8) {
		uint64_t w = pattern_word(i, key);

		if (memcmp(p + i, &w, 8) != 0)
			return 0;
	}
	for (; i < bytes; i++)
		if (p[i] != (uint8_t)pattern_word(i, key))
			return 0;
	return 1;
}

static unsigned key_of(int kind, int m, size_t bytes)
{
	return (unsigned)(kind * 100 + m) * 31u + (unsigned)bytes;
}

/* ---- the random messages ---- */

static int is_random;            /* else arguments and payload are those of the matrix */
static uint32_t *seen[TASKS];    /* bit of each number that came from that process */
static uint32_t *answered;       /* bit of each number that was answered */
static uint32_t total, received; /* numbers of this process; messages that came here */

static size_t random_size(uint32_t number)
{
	uint32_t x = number * 2654435761u;

	return x >> 28 == 0 ? x % SLOT : x >> 30 == 0 ? x % 3000 : x % 130;
}

static void note(uint32_t *bits, uint32_t number, const char *what)
{
	if (bits[number / 32] >> number % 32 & 1)
		CHECK_FAIL("%s %u came twice", what, number);
	bits[number / 32] |= 1u << number % 32;
}

/* ---- one table for all arities ---- */

/* clang-format off */
#define P_0
#define P_1  , gex_AM_Arg_t a0
#define P_2  P_1, gex_AM_Arg_t a1
#define P_3  P_2, gex_AM_Arg_t a2
#define P_4  P_3, gex_AM_Arg_t a3
#define P_5  P_4, gex_AM_Arg_t a4
#define P_6  P_5, gex_AM_Arg_t a5
#define P_7  P_6, gex_AM_Arg_t a6
#define P_8  P_7, gex_AM_Arg_t a7
#define P_9  P_8, gex_AM_Arg_t a8
#define P_10 P_9, gex_AM_Arg_t a9
#define P_11 P_10, gex_AM_Arg_t a10
#define P_12 P_11, gex_AM_Arg_t a11
#define P_13 P_12, gex_AM_Arg_t a12
#define P_14 P_13, gex_AM_Arg_t a13
#define P_15 P_14, gex_AM_Arg_t a14
#define P_16 P_15, gex_AM_Arg_t a15
#define N_0
#define N_1  , a0
#define N_2  N_1, a1
#define N_3  N_2, a2
#define N_4  N_3, a3
#define N_5  N_4, a4
#define N_6  N_5, a5
#define N_7  N_6, a6
#define N_8  N_7, a7
#define N_9  N_8, a8
#define N_10 N_9, a9
#define N_11 N_10, a10
#define N_12 N_11, a11
#define N_13 N_12, a12
#define N_14 N_13, a13
#define N_15 N_14, a14
#define N_16 N_15, a15
#define V_0(v)
#define V_1(v)  , (v)[0]
#define V_2(v)  V_1(v), (v)[1]
#define V_3(v)  V_2(v), (v)[2]
#define V_4(v)  V_3(v), (v)[3]
#define V_5(v)  V_4(v), (v)[4]
#define V_6(v)  V_5(v), (v)[5]
#define V_7(v)  V_6(v), (v)[6]
#define V_8(v)  V_7(v), (v)[7]
#define V_9(v)  V_8(v), (v)[8]
#define V_10(v) V_9(v), (v)[9]
#define V_11(v) V_10(v), (v)[10]
#define V_12(v) V_11(v), (v)[11]
#define V_13(v) V_12(v), (v)[12]
#define V_14(v) V_13(v), (v)[13]
#define V_15(v) V_14(v), (v)[14]
#define V_16(v) V_15(v), (v)[15]
#define EACH(form) form(0) form(1) form(2) form(3) form(4) form(5) form(6) form(7) form(8) form(9) form(10) form(11) \
	form(12) form(13) form(14) form(15) form(16)
/* clang-format on */

typedef const gex_AM_Arg_t *args_t;
struct arity { /* the calls with so many arguments */
	int (*request_short)(gex_Rank_t to, args_t v);
	int (*request_medium)(gex_Rank_t to, const void *p, size_t n, gex_Event_t *lc, args_t v);
	int (*request_long)(gex_Rank_t to, const void *p, size_t n, void *d, gex_Event_t *lc,
			    args_t v);
	int (*reply_short)(gex_Token_t t, args_t v);
	int (*reply_medium)(gex_Token_t t, const void *p, size_t n, gex_Event_t *lc, args_t v);
	int (*reply_long)(gex_Token_t t, const void *p, size_t n, void *d, gex_Event_t *lc,
			  args_t v);
	void (*commit_request_medium)(gex_AM_SrcDesc_t sd, size_t n, args_t v);
	void (*commit_request_long)(gex_AM_SrcDesc_t sd, size_t n, void *d, args_t v);
	void (*commit_reply_medium)(gex_AM_SrcDesc_t sd, size_t n, args_t v);
	void (*commit_reply_long)(gex_AM_SrcDesc_t sd, size_t n, void *d, args_t v);
};

static void on_message(gex_Token_t token, int is_request, int kind, void *buf, size_t bytes, int m,
		       args_t v);

/* clang-format off */
#define FORM(m) \
	static int request_short_##m(gex_Rank_t to, args_t v) \
	{ (void)v; return gex_AM_RequestShort##m(team, to, REQUEST_INDEX(SHORT, m), 0 V_##m(v)); } \
	static int request_medium_##m(gex_Rank_t to, const void *p, size_t b, gex_Event_t *lc, args_t v) \
	{ (void)v; return gex_AM_RequestMedium##m(team, to, REQUEST_INDEX(MEDIUM, m), p, b, lc, 0 V_##m(v)); } \
	static int request_long_##m(gex_Rank_t to, const void *p, size_t b, void *d, gex_Event_t *lc, args_t v) \
	{ (void)v; return gex_AM_RequestLong##m(team, to, REQUEST_INDEX(LONG, m), p, b, d, lc, 0 V_##m(v)); } \
	static int reply_short_##m(gex_Token_t t, args_t v) \
	{ (void)v; return gex_AM_ReplyShort##m(t, REPLY_INDEX(SHORT, m), 0 V_##m(v)); } \
	static int reply_medium_##m(gex_Token_t t, const void *p, size_t b, gex_Event_t *lc, args_t v) \
	{ (void)v; return gex_AM_ReplyMedium##m(t, REPLY_INDEX(MEDIUM, m), p, b, lc, 0 V_##m(v)); } \
	static int reply_long_##m(gex_Token_t t, const void *p, size_t b, void *d, gex_Event_t *lc, args_t v) \
	{ (void)v; return gex_AM_ReplyLong##m(t, REPLY_INDEX(LONG, m), p, b, d, lc, 0 V_##m(v)); } \
	static void commit_request_medium_##m(gex_AM_SrcDesc_t sd, size_t b, args_t v) \
	{ (void)v; gex_AM_CommitRequestMedium##m(sd, REQUEST_INDEX(MEDIUM, m), b V_##m(v)); } \
	static void commit_request_long_##m(gex_AM_SrcDesc_t sd, size_t b, void *d, args_t v) \
	{ (void)v; gex_AM_CommitRequestLong##m(sd, REQUEST_INDEX(LONG, m), b, d V_##m(v)); } \
	static void commit_reply_medium_##m(gex_AM_SrcDesc_t sd, size_t b, args_t v) \
	{ (void)v; gex_AM_CommitReplyMedium##m(sd, REPLY_INDEX(MEDIUM, m), b V_##m(v)); } \
	static void commit_reply_long_##m(gex_AM_SrcDesc_t sd, size_t b, void *d, args_t v) \
	{ (void)v; gex_AM_CommitReplyLong##m(sd, REPLY_INDEX(LONG, m), b, d V_##m(v)); } \
	static void on_short_request_##m(gex_Token_t t P_##m) \
	{ gex_AM_Arg_t v[] = {0 N_##m}; on_message(t, 1, SHORT, NULL, 0, m, v + 1); } \
	static void on_short_reply_##m(gex_Token_t t P_##m) \
	{ gex_AM_Arg_t v[] = {0 N_##m}; on_message(t, 0, SHORT, NULL, 0, m, v + 1); } \
	static void on_medium_request_##m(gex_Token_t t, void *buf, size_t b P_##m) \
	{ gex_AM_Arg_t v[] = {0 N_##m}; on_message(t, 1, MEDIUM, buf, b, m, v + 1); } \
	static void on_medium_reply_##m(gex_Token_t t, void *buf, size_t b P_##m) \
	{ gex_AM_Arg_t v[] = {0 N_##m}; on_message(t, 0, MEDIUM, buf, b, m, v + 1); } \
	static void on_long_request_##m(gex_Token_t t, void *buf, size_t b P_##m) \
	{ gex_AM_Arg_t v[] = {0 N_##m}; on_message(t, 1, LONG, buf, b, m, v + 1); } \
	static void on_long_reply_##m(gex_Token_t t, void *buf, size_t b P_##m) \
	{ gex_AM_Arg_t v[] = {0 N_##m}; on_message(t, 0, LONG, buf, b, m, v + 1); }
EACH(FORM)
#undef FORM
#define FORM(m) {request_short_##m, request_medium_##m, request_long_##m, reply_short_##m, reply_medium_##m, reply_long_##m, \
	commit_request_medium_##m, commit_request_long_##m, commit_reply_medium_##m, commit_reply_long_##m},
static const struct arity arity[ARITIES] = {EACH(FORM)};
#undef FORM
#define FORM(m) \
	{REQUEST_INDEX(SHORT, m), (gex_AM_Fn_t)on_short_request_##m, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, m}, \
	{REPLY_INDEX(SHORT, m), (gex_AM_Fn_t)on_short_reply_##m, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, m}, \
	{REQUEST_INDEX(MEDIUM, m), (gex_AM_Fn_t)on_medium_request_##m, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, m}, \
	{REPLY_INDEX(MEDIUM, m), (gex_AM_Fn_t)on_medium_reply_##m, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, m}, \
	{REQUEST_INDEX(LONG, m), (gex_AM_Fn_t)on_long_request_##m, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, m}, \
	{REPLY_INDEX(LONG, m), (gex_AM_Fn_t)on_long_reply_##m, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY, m},
static gex_AM_Entry_t table[] = {EACH(FORM)};
#undef FORM
/* clang-format on */

/* ---- replies, with fixed or negotiated payload ---- */

enum reply_form {
	FROM_BUFFER, /* of the request */
	FROM_COPY,   /* that is overwritten when the call returns */
	WITH_EVENT,  /* local completion by an event */
	LIBRARY,     /* negotiated, memory of the library */
	LIBRARY_LESS,
	CLIENT_NOW, /* negotiated, memory of the program */
	CLIENT_EVENT,
	REPLY_FORMS
};

static gex_Event_t left[4]; /* of replies; waited for outside of handlers */
static unsigned lefts;

static gex_Event_t *leave_event(void)
{
	unsigned i = lefts++ % 4;

	REQUIRE(left[i] == GEX_EVENT_INVALID);
	left[i] = GEX_EVENT_NO_OP; /* no event until the call stores one */
	return &left[i];
}

static void wait_left(void)
{
	gex_Event_WaitAll(left, 4, 0);
}

/* Reply to a request of the matrix. `scratch` lives until the event that was left is waited for. */
static void reply_payload(gex_Token_t token, int kind, void *buf, size_t bytes, int m, void *dest,
			  args_t v)
{
	static uint8_t *scratch;
	enum reply_form form = (enum reply_form)((bytes + (size_t)m) % REPLY_FORMS);
	unsigned key = key_of(kind, m, bytes) + 1;
	const struct arity *a = &arity[m];
	gex_Event_t *lc = GEX_EVENT_NOW;
	gex_AM_SrcDesc_t sd;
	void *from = buf;

	if (!scratch)
		REQUIRE((scratch = malloc(LONG_AREA)) != NULL);
	if (form == WITH_EVENT || form == CLIENT_EVENT)
		lc = leave_event();
	if (form <= WITH_EVENT) {
		if (form != FROM_BUFFER)
			from = scratch;
		fill_pattern(from, bytes, key);
		CALL(kind == MEDIUM ? a->reply_medium(token, from, bytes, lc, v)
				    : a->reply_long(token, from, bytes, dest, lc, v));
	} else {
		size_t most = form == LIBRARY_LESS && bytes < longest[kind] ? bytes + 1 : bytes;
		const void *client = form >= CLIENT_NOW ? scratch : NULL;

		lc = client ? lc : NULL;
		sd = kind == MEDIUM
			 ? gex_AM_PrepareReplyMedium(token, client, bytes, most, lc, 0, (unsigned)m)
			 : gex_AM_PrepareReplyLong(token, client, bytes, most, dest, lc, 0,
						   (unsigned)m);
		REQUIRE(gex_AM_SrcDescSize(sd) >= bytes && gex_AM_SrcDescSize(sd) <= most);
		REQUIRE(!client || gex_AM_SrcDescAddr(sd) == client);
		fill_pattern(gex_AM_SrcDescAddr(sd), bytes, key);
		if (kind == MEDIUM)
			a->commit_reply_medium(sd, bytes, v);
		else
			a->commit_reply_long(sd, bytes, dest, v);
	}
	if (form == FROM_COPY || form == CLIENT_NOW)
		memset(scratch, 0xee, bytes);
}

/* ---- handlers ---- */

static volatile int replies;
static int expected_kind, expected_m;
static size_t expected_bytes;

static void check_arguments(int m, args_t v)
{
	for (int i = 0; i < m; i++)
		REQUIRE(v[i] == argument(m, i));
}

static void on_random(gex_Token_t token, int is_request, int kind, void *buf, size_t bytes, int m,
		      args_t v, gex_Rank_t from)
{
	uint32_t number = (uint32_t)v[0];

	REQUIRE(number < total && v[1] == (gex_AM_Arg_t)~number);
	for (int i = 2; i < m; i++)
		REQUIRE(v[i] == (gex_AM_Arg_t)(number + (uint32_t)i));
	if (kind != SHORT) {
		CHECK_EQ(bytes, random_size(number));
		REQUIRE(is_pattern(buf, bytes, number + (is_request ? from : me)));
	}
	if (kind == LONG)
		REQUIRE((uint8_t *)buf == base[me] + AT_SLOTS +
					      SLOT * ((size_t)(is_request ? 0 : TASKS * WINDOW) +
						      from * WINDOW + number % WINDOW));
	if (!is_request) {
		note(answered, number, "answer");
		replies++;
		return;
	}
	note(seen[from], number, "message");
	received++;
	if (kind == SHORT)
		CALL(arity[m].reply_short(token, v));
	else if (kind == MEDIUM)
		CALL(arity[m].reply_medium(token, buf, bytes, GEX_EVENT_NOW, v));
	else
		CALL(arity[m].reply_long(
		    token, buf, bytes,
		    base[from] + AT_SLOTS +
			SLOT * ((size_t)TASKS * WINDOW + me * WINDOW + number % WINDOW),
		    GEX_EVENT_NOW, v));
}

static void on_message(gex_Token_t token, int is_request, int kind, void *buf, size_t bytes, int m,
		       args_t v)
{
	gex_Token_Info_t info;

	REQUIRE(gex_Token_Info(token, &info, GEX_TI_ALL) == GEX_TI_ALL);
	REQUIRE(info.gex_srcrank < n && !!info.gex_is_req == is_request &&
		!!info.gex_is_long == (kind == LONG) &&
		info.gex_entry->gex_index ==
		    (is_request ? REQUEST_INDEX(kind, m) : REPLY_INDEX(kind, m)));
	if (kind == MEDIUM) {
		REQUIRE((uintptr_t)buf % 16 == 0);
		REQUIRE(!is_request || gex_Token_MaxReplyMedium(token, GEX_EVENT_NOW, 0,
								(unsigned)m) == longest[kind]);
	}
	if (is_random) {
		on_random(token, is_request, kind, buf, bytes, m, v, info.gex_srcrank);
		return;
	}
	check_arguments(m, v);
	if (kind != SHORT && !is_pattern(buf, bytes, key_of(kind, m, bytes) + !is_request))
		CHECK_FAIL("payload of a %s of kind %d, %zu bytes, %d arguments",
			   is_request ? "request" : "reply", kind, bytes, m);
	if (kind == LONG)
		REQUIRE((uint8_t *)buf == base[me] + (is_request ? 0 : LONG_AREA));
	if (is_request && kind == SHORT) {
		CALL(arity[m].reply_short(token, v));
	} else if (is_request) {
		reply_payload(token, kind, buf, bytes, m, base[info.gex_srcrank] + LONG_AREA, v);
	} else {
		REQUIRE(kind == expected_kind && m == expected_m && bytes == expected_bytes);
		replies++;
	}
}

/* ---- the matrix ---- */

static void wait_reply(void)
{
	GASNET_BLOCKUNTIL(replies);
	wait_left();
	REQUIRE(replies == 1);
	replies = 0;
}

static void expect_reply(int kind, int m, size_t bytes)
{
	expected_kind = kind;
	expected_m = m;
	expected_bytes = bytes;
}

enum {
	FIXED_NOW,
	FIXED_GROUP,
	FIXED_EVENT,
	NP_LIBRARY,
	NP_LESS,
	NP_NOW,
	NP_GROUP,
	NP_EVENT,
	FORMS
};

/* One request of a form, its local completion, and its reply. */
static void send_one(gex_Rank_t to, int kind, int m, size_t bytes, int form)
{
	gex_Event_t lc = GEX_EVENT_NO_OP, *how = &lc; /* no event until the call stores one */
	size_t most = form == NP_LESS ? longest[kind] : bytes;
	const struct arity *a = &arity[m];
	gex_AM_Arg_t v[16];
	gex_AM_SrcDesc_t sd;
	void *from = buffer;

	for (int i = 0; i < 16; i++)
		v[i] = argument(m, i);
	if (form == FIXED_NOW || form == NP_NOW)
		how = GEX_EVENT_NOW;
	if (form == FIXED_GROUP || form == NP_GROUP)
		how = GEX_EVENT_GROUP;
	expect_reply(kind, m, bytes);
	if (form <= FIXED_EVENT) {
		fill_pattern(from, bytes, key_of(kind, m, bytes));
		CALL(kind == MEDIUM ? a->request_medium(to, from, bytes, how, v)
				    : a->request_long(to, from, bytes, base[to], how, v));
	} else {
		const void *client = form >= NP_NOW ? buffer : NULL;

		how = client ? how : NULL;
		sd = kind == MEDIUM ? gex_AM_PrepareRequestMedium(team, to, client, bytes, most,
								  how, 0, (unsigned)m)
				    : gex_AM_PrepareRequestLong(team, to, client, bytes, most,
								form == NP_LESS ? NULL : base[to],
								how, 0, (unsigned)m);
		REQUIRE(sd != GEX_AM_SRCDESC_NO_OP);
		REQUIRE(gex_AM_SrcDescSize(sd) >= bytes && gex_AM_SrcDescSize(sd) <= most);
		REQUIRE(client ? gex_AM_SrcDescAddr(sd) == client
			       : (uintptr_t)gex_AM_SrcDescAddr(sd) % 8 == 0);
		from = gex_AM_SrcDescAddr(sd);
		fill_pattern(from, bytes, key_of(kind, m, bytes));
		if (kind == MEDIUM)
			a->commit_request_medium(sd, bytes, v);
		else
			a->commit_request_long(sd, bytes, base[to], v);
	}
	if (how == &lc)
		gex_Event_Wait(lc);
	if (how == GEX_EVENT_GROUP)
		gex_NBI_Wait(GEX_EC_AM, 0);
	if (from == buffer)
		memset(buffer, 0xdd, bytes);
	wait_reply();
}

static void run_matrix(gex_Rank_t to, int few)
{
	static const size_t sizes[] = {0, 1, 7, 8, 511, 512, 513, SIZE_MAX};
	gex_AM_Arg_t v[16];

	for (int m = 0; m < ARITIES; m++) {
		for (int i = 0; i < 16; i++)
			v[i] = argument(m, i);
		expect_reply(SHORT, m, 0);
		CALL(arity[m].request_short(to, v));
		wait_reply();
		for (int kind = MEDIUM; kind < KINDS; kind++)
			for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
				size_t bytes = sizes[s] < longest[kind] ? sizes[s] : longest[kind];

				for (int form = 0; form < FORMS; form++) {
					/* Megabytes with each arity are a matter of time only. */
					if ((few || bytes > 1 << 20) && (m + form + (int)s) % 8)
						continue;
					send_one(to, kind, m, bytes, form);
				}
			}
	}
}

/* ---- random messages ---- */

static void send_random(uint32_t number)
{
	int kind = (int)draw_below(KINDS), m = 2 + (int)draw_below(ARITIES - 2);
	size_t bytes = random_size(number);
	gex_AM_Arg_t v[16] = {(gex_AM_Arg_t)number, (gex_AM_Arg_t)~number};
	gex_Rank_t to = draw_below(n);

	for (int i = 2; i < 16; i++)
		v[i] = (gex_AM_Arg_t)(number + (uint32_t)i);
	fill_pattern(buffer, bytes, number + me);
	if (kind == SHORT)
		CALL(arity[m].request_short(to, v));
	else if (kind == MEDIUM)
		CALL(arity[m].request_medium(to, buffer, bytes, GEX_EVENT_NOW, v));
	else
		CALL(arity[m].request_long(to, buffer, bytes,
					   base[to] + AT_SLOTS +
					       SLOT * ((size_t)me * WINDOW + number % WINDOW),
					   GEX_EVENT_NOW, v));
}

static int is_answered(uint32_t number)
{
	return answered[number / 32] >> number % 32 & 1;
}

static void run_random(uint32_t messages)
{
	uint64_t sum, all;

	total = messages / n;
	answered = calloc(total / 32 + 1, sizeof(*answered));
	REQUIRE(answered != NULL);
	for (gex_Rank_t r = 0; r < n; r++)
		REQUIRE((seen[r] = calloc(total / 32 + 1, sizeof(*seen[r]))) != NULL);
	is_random = 1;
	run_barrier();
	for (uint32_t i = 0; i < total; i++) {
		if (i >= WINDOW)
			GASNET_BLOCKUNTIL(is_answered(i - WINDOW));
		send_random(i);
	}
	GASNET_BLOCKUNTIL(replies >= (int)total);
	run_barrier();
	for (int i = 0; i < 100; i++) /* A second copy may be on its way. */
		gasnet_AMPoll();
	run_barrier();
	CHECK_EQ(replies, (int)total);
	sum = received;
	gex_Event_Wait(
	    gex_Coll_ReduceToAllNB(team, &all, &sum, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
	CHECK_EQ(all, (uint64_t)total * n);
	is_random = 0;
	run_barrier();
}

int main(int argc, char **argv)
{
	int is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	const char *text = getenv("QT_SEED"), *slow = getenv("QT_SCALE");
	int few = is_virtual || (slow && atoi(slow) > 1);
	gex_Client_t client;
	gex_Segment_t segment;
	void *at;

	seed = text ? (uint32_t)atoi(text) : 1;
	CALL(gex_Client_Init(&client, &ep, &team, "matrix", &argc, &argv, 0));
	me = gex_TM_QueryRank(team);
	n = gex_TM_QuerySize(team);
	state = seed * 7919 + me * 104729 + 1;
	REQUIRE(n <= TASKS && H_END <= 256);
	CALL(gex_EP_RegisterHandlers(ep, table, sizeof(table) / sizeof(table[0])));
	CALL(gex_Segment_Attach(&segment, team, SEGMENT));
	for (gex_Rank_t r = 0; r < n; r++) {
		CALL(gex_Segment_QueryBound(team, r, &at, NULL, NULL));
		base[r] = at;
	}
	longest[MEDIUM] = gex_AM_LUBRequestMedium();
	longest[LONG] = gex_AM_LUBRequestLong();
	REQUIRE(longest[LONG] >= 2 << 20 && longest[LONG] <= LONG_AREA && gex_AM_MaxArgs() == 16);
	REQUIRE((buffer = malloc(LONG_AREA)) != NULL);
	for (gex_Rank_t r = 0; r < n; r++) {
		run_barrier();
		run_matrix((me + r) % n, few);
	}
	run_barrier();
	run_random(is_virtual ? 2000 : few ? RANDOM_MESSAGES / 10 : RANDOM_MESSAGES);
	if (!me)
		printf("matrix: all right with %u tasks, seed %u\n", n, seed);
	gasnet_exit(check_failures != 0);
	return 1;
}
