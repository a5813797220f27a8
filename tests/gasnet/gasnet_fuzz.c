/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs of GASNet-EX against a serial model: gasnet_fuzz [virtual]. QT_SEED is the seed.
 * QT_DIES names a process that kills itself on the way.
 *
 * Each process has a slice of every segment that only its own operations write, and a model of it.
 * Operations whose bytes overlap are not under way at the same time, so the model says what each
 * get and each fetching atomic returns. Active messages carry a number from which arguments and
 * payload follow, so their handlers check every byte; the counts of messages without a reply are
 * compared at the end. Now and then all processes make a random collective or a team, with other
 * operations under way.
 */
#include <signal.h>
#include <stdlib.h>

#include <gasnetex.h>

#include "tests/gasnet/gasnet_fuzz.h"

/* ---- puts, gets and transfers of pieces that are under way ---- */

enum how { BLOCKING, NB, NBI, REGION, HOWS };

static struct pending {
	int busy;
	enum how how;
	gex_Rank_t proc;
	size_t at, bytes; /* of the slice */
	size_t checked;   /* bytes that the buffer must have; 0: a put */
	gex_Event_t event;
	uint8_t buffer[WINDOW], expected[WINDOW];
} pending[PENDING];
static gex_Event_t region_event; /* of closed regions with busy operations */
static int region_open;

static void complete_pending(struct pending *p)
{
	REQUIRE(!memcmp(p->buffer, p->expected, p->checked));
	p->busy = 0;
	p->event = GEX_EVENT_INVALID;
}

static void complete_all(enum how how)
{
	for (int i = 0; i < PENDING; i++)
		if (pending[i].busy && pending[i].how == how)
			complete_pending(&pending[i]);
}

static void close_region(void)
{
	if (region_open)
		region_event = gex_NBI_EndAccessRegion(0);
	region_open = 0;
}

static void wait_region(void)
{
	close_region();
	gex_Event_Wait(region_event);
	region_event = GEX_EVENT_INVALID;
	complete_all(REGION);
}

/* Wait for explicit operations, *p among them, by a call chosen at random. */
static void wait_events(struct pending *p)
{
	gex_Event_t e[PENDING];
	uint32_t way = draw_below(5);

	for (int i = 0; i < PENDING; i++)
		e[i] =
		    pending[i].busy && pending[i].how == NB ? pending[i].event : GEX_EVENT_INVALID;
	if (way == 0) {
		gex_Event_WaitAll(e, PENDING, 0);
	} else if (way == 1) {
		while (e[p - pending] != GEX_EVENT_INVALID)
			gex_Event_WaitSome(e, PENDING, 0);
	} else if (way == 2) {
		while (gex_Event_Test(p->event))
			gasnet_AMPoll();
		e[p - pending] = GEX_EVENT_INVALID;
	} else if (way == 3) {
		while (gex_Event_TestAll(e, PENDING, 0))
			gasnet_AMPoll();
	} else {
		gex_Event_Wait(p->event);
		e[p - pending] = GEX_EVENT_INVALID;
	}
	for (int i = 0; i < PENDING; i++)
		if (pending[i].busy && pending[i].how == NB && e[i] == GEX_EVENT_INVALID)
			complete_pending(&pending[i]);
}

static void wait_pending(struct pending *p)
{
	if (p->how == REGION) {
		wait_region();
	} else if (p->how == NBI) {
		close_region(); /* no waiting for implicit operations inside */
		gex_NBI_Wait(GEX_EC_ALL, 0);
		complete_all(NBI);
	} else {
		wait_events(p);
	}
}

static void wait_long_messages(gex_Rank_t proc, size_t at, size_t bytes);

/* Wait for every operation that is under way in this part of the slice at proc. */
static void wait_overlapping(gex_Rank_t proc, size_t at, size_t bytes)
{
	for (int i = 0; i < PENDING; i++) {
		struct pending *p = &pending[i];

		if (p->busy && p->proc == proc && p->at < at + bytes && at < p->at + p->bytes)
			wait_pending(p);
	}
	wait_long_messages(proc, at, bytes);
}

static struct pending *start_pending(size_t bytes)
{
	struct pending *p = &pending[draw_below(PENDING)];

	if (p->busy)
		wait_pending(p);
	p->proc = draw_below(n);
	p->bytes = bytes;
	p->at = draw_below((uint32_t)(SLICE - bytes + 1));
	p->checked = 0;
	p->how = (enum how)draw_below(HOWS);
	wait_overlapping(p->proc, p->at, bytes);
	/* Inside a region every implicit operation belongs to it. */
	if (p->how == NBI && region_open)
		close_region();
	if (p->how == REGION && !region_open) {
		wait_region(); /* of the one before */
		gex_NBI_BeginAccessRegion(0);
		region_open = 1;
	}
	return p;
}

static void note_started(struct pending *p, gex_Event_t e)
{
	p->event = e;
	p->busy = 1;
	if (p->how == BLOCKING)
		complete_pending(p);
}

static gex_Event_t put_nb(struct pending *p, uint8_t *to)
{
	gex_Event_t lc, root, *how[] = {GEX_EVENT_NOW, GEX_EVENT_DEFER, &lc};
	uint32_t which = draw_below(3);

	root = gex_RMA_PutNB(team, p->proc, to, p->buffer, p->bytes, how[which], 0);
	if (which == 2 && draw_below(2)) {
		gex_Event_t same = gex_Event_QueryLeaf(root, GEX_EC_LC);

		REQUIRE(same == lc || lc == GEX_EVENT_INVALID);
	}
	if (which == 2)
		gex_Event_Wait(lc);
	if (which != 1) /* The source may be reused. */
		scramble_bytes(p->buffer, p->bytes);
	return root;
}

static void put_nbi(struct pending *p, uint8_t *to)
{
	gex_Event_t *how[] = {GEX_EVENT_NOW, GEX_EVENT_DEFER, GEX_EVENT_GROUP};
	uint32_t which = draw_below(3);

	CALL(gex_RMA_PutNBI(team, p->proc, to, p->buffer, p->bytes, how[which], 0));
	if (which == 2 && p->how == NBI)
		gex_NBI_Wait(GEX_EC_LC, 0);
	if (which == 0 || (which == 2 && p->how == NBI))
		scramble_bytes(p->buffer, p->bytes);
}

static void do_put(void)
{
	struct pending *p = start_pending(random_bytes(WINDOW));
	uint8_t *to = slice_of(p->proc) + p->at;
	gex_Event_t e = GEX_EVENT_INVALID;

	scramble_bytes(p->buffer, p->bytes);
	memcpy(model[p->proc] + p->at, p->buffer, p->bytes);
	if (p->how == BLOCKING)
		CALL(gex_RMA_PutBlocking(team, p->proc, to, p->buffer, p->bytes, 0));
	else if (p->how == NB)
		e = put_nb(p, to);
	else
		put_nbi(p, to);
	note_started(p, e);
}

static void do_get(void)
{
	struct pending *p = start_pending(random_bytes(WINDOW));
	uint8_t *from = slice_of(p->proc) + p->at;
	gex_Event_t e = GEX_EVENT_INVALID;

	p->checked = p->bytes;
	memset(p->buffer, 0xab, p->bytes);
	memcpy(p->expected, model[p->proc] + p->at, p->bytes);
	if (p->how == BLOCKING)
		CALL(gex_RMA_GetBlocking(team, p->buffer, p->proc, from, p->bytes, 0));
	else if (p->how == NB)
		e = gex_RMA_GetNB(team, p->buffer, p->proc, from, p->bytes, 0);
	else
		CALL(gex_RMA_GetNBI(team, p->buffer, p->proc, from, p->bytes, 0));
	note_started(p, e);
}

static void do_value(void)
{
	struct pending *p = start_pending(1 + draw_below(8));
	uint8_t *to = slice_of(p->proc) + p->at;
	gex_RMA_Value_t value = 0, old = 0;
	gex_Event_t e = GEX_EVENT_INVALID;

	memcpy(&old, model[p->proc] + p->at, p->bytes);
	REQUIRE(gex_RMA_GetBlockingVal(team, p->proc, to, p->bytes, 0) == old);
	scramble_bytes((uint8_t *)&value, p->bytes);
	memcpy(model[p->proc] + p->at, &value, p->bytes);
	if (p->how == BLOCKING)
		CALL(gex_RMA_PutBlockingVal(team, p->proc, to, value, p->bytes, 0));
	else if (p->how == NB)
		e = gex_RMA_PutNBVal(team, p->proc, to, value, p->bytes, 0);
	else
		CALL(gex_RMA_PutNBIVal(team, p->proc, to, value, p->bytes, 0));
	note_started(p, e);
}

#define RUN(p, name, ...)                                                                          \
	((p)->how == NB ? gex_VIS_##name##NB(__VA_ARGS__)                                          \
			: ((p)->how == BLOCKING ? gex_VIS_##name##Blocking(__VA_ARGS__)            \
						: gex_VIS_##name##NBI(__VA_ARGS__),                \
			   GEX_EVENT_INVALID))

/* A transfer of pieces between a window of the slice and the buffer. */
static struct pending *start_pieces(int is_put)
{
	struct pending *p = start_pending(WINDOW);

	scramble_bytes(p->buffer, WINDOW);
	p->checked = is_put ? 0 : WINDOW;
	memcpy(p->expected, p->buffer, WINDOW);
	return p;
}

static void do_strided(void)
{
	size_t levels = draw_below(RANDOM_LEVELS + 1), count[RANDOM_LEVELS],
	       bytes = 1 + draw_below(draw_below(3) ? 24 : 900), self_at, peer_at;
	ptrdiff_t self[RANDOM_LEVELS], peer[RANDOM_LEVELS];
	int is_put = (int)draw_below(2);
	struct pending *p = start_pieces(is_put);
	uint8_t *there = slice_of(p->proc) + p->at, *copy = model[p->proc] + p->at;

	random_counts(levels, count, bytes);
	self_at = random_strides(levels, count, bytes, self);
	peer_at = random_strides(levels, count, bytes, peer);
	if (is_put) {
		model_strided(copy + peer_at, peer, p->buffer + self_at, self, bytes, count,
			      levels);
		note_started(p, RUN(p, StridedPut, team, p->proc, there + peer_at, peer,
				    p->buffer + self_at, self, bytes, count, levels, 0));
	} else {
		model_strided(p->expected + self_at, self, copy + peer_at, peer, bytes, count,
			      levels);
		note_started(p, RUN(p, StridedGet, team, p->buffer + self_at, self, p->proc,
				    there + peer_at, peer, bytes, count, levels, 0));
	}
}

/* Lists stay valid until the operation completes. */
static gex_Memvec_t list_a[PENDING][RANDOM_PIECES], list_b[PENDING][RANDOM_PIECES];

static void do_lists(void)
{
	int is_put = (int)draw_below(2);
	struct pending *p = start_pieces(is_put);
	gex_Memvec_t *a = list_a[p - pending], *b = list_b[p - pending];
	uint8_t *there = slice_of(p->proc) + p->at, *copy = model[p->proc] + p->at;
	size_t total = draw_below(2) ? draw_below(400) : draw_below(20000);
	size_t na = random_list(a, p->buffer, total), nb = random_list(b, there, total);

	if (is_put) {
		model_lists(b, a, total, copy, p->buffer, there, p->buffer);
		note_started(p, RUN(p, VectorPut, team, p->proc, nb, b, na, a, 0));
	} else {
		model_lists(a, b, total, p->expected, copy, p->buffer, there);
		note_started(p, RUN(p, VectorGet, team, na, a, p->proc, nb, b, 0));
	}
}

/* Chunks at random places, `count` of `bytes` each: their addresses, and the same as a list. */
static void random_chunks(void **addr, gex_Memvec_t *list, uint8_t *at, size_t count, size_t bytes)
{
	size_t room = WINDOW / count - bytes;

	for (size_t i = 0; i < count; i++) {
		addr[i] = at + i * (WINDOW / count) + draw_below((uint32_t)room + 1);
		list[i] = (gex_Memvec_t){addr[i], bytes};
	}
	for (size_t i = count; i > 1; i--) { /* in any order */
		size_t k = draw_below((uint32_t)i);
		void *a = addr[k];

		addr[k] = addr[i - 1];
		addr[i - 1] = a;
		list[k].gex_addr = addr[k];
		list[i - 1].gex_addr = a;
	}
}

static void *index_a[PENDING][RANDOM_PIECES], *index_b[PENDING][RANDOM_PIECES];

/* The two sides may have chunks of different lengths. */
static void do_indexed(void)
{
	int is_put = (int)draw_below(2);
	struct pending *p = start_pieces(is_put);
	void **ia = index_a[p - pending], **ib = index_b[p - pending];
	gex_Memvec_t *a = list_a[p - pending], *b = list_b[p - pending];
	uint8_t *there = slice_of(p->proc) + p->at, *copy = model[p->proc] + p->at;
	size_t factor = 1 + draw_below(3), chunk = 1 + draw_below(draw_below(3) ? 32 : 900),
	       len_b = chunk * factor, most = WINDOW / len_b, nb, na;

	most = most < RANDOM_PIECES / 3 ? most : RANDOM_PIECES / 3;
	nb = 1 + draw_below((uint32_t)most);
	na = nb * factor;
	if (draw_below(2)) { /* the longer ones here */
		size_t n_of_a = na;

		na = nb;
		nb = n_of_a;
		len_b = chunk;
		chunk *= factor;
	}
	random_chunks(ia, a, p->buffer, na, chunk);
	random_chunks(ib, b, there, nb, len_b);
	if (is_put) {
		model_lists(b, a, na * chunk, copy, p->buffer, there, p->buffer);
		note_started(p, RUN(p, IndexedPut, team, p->proc, nb, ib, len_b, na, ia, chunk, 0));
	} else {
		model_lists(a, b, na * chunk, p->expected, copy, p->buffer, there);
		note_started(p, RUN(p, IndexedGet, team, na, ia, chunk, p->proc, nb, ib, len_b, 0));
	}
}

/* ---- active messages ---- */

enum { NONE, SHORT, MEDIUM, LONG, NEGOTIATED, NEGOTIATED_LONG, REPLIES };
enum { H_SHORT = 130, H_PAYLOAD = 150, H_SHORT_REPLY = 170, H_PAYLOAD_REPLY = 190 };

static struct message {
	volatile int busy;
	gex_Rank_t proc;
	uint32_t number, reply;
	size_t at, bytes; /* of a long request */
} messages[MESSAGES];
static uint64_t sent[TASKS]; /* without a reply */
static volatile uint64_t handled;

static uint32_t hash_of(uint32_t number, uint32_t i)
{
	uint32_t x = (number + 1) * 2654435761u ^ (i + 7) * 2246822519u;

	x ^= x >> 15;
	return (x * 3266489917u) ^ x >> 13;
}

static void fill_message(uint8_t *p, size_t bytes, uint32_t number)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(number * 31 + i * 7 + (i >> 8) * 13);
}

static int is_filled(const uint8_t *p, size_t bytes, uint32_t number)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != (uint8_t)(number * 31 + i * 7 + (i >> 8) * 13))
			return 0;
	return 1;
}

/* The first argument says what to reply, and which message it is; the second the length. */
static void make_args(gex_AM_Arg_t *a, unsigned slot, uint32_t reply, uint32_t number, size_t bytes)
{
	a[0] = (gex_AM_Arg_t)(slot | reply << 5 | number << 8);
	a[1] = (gex_AM_Arg_t)bytes;
	for (unsigned i = 2; i < 16; i++)
		a[i] = (gex_AM_Arg_t)hash_of(number, i);
}

static void check_message(const void *buf, size_t bytes, unsigned nargs, const gex_AM_Arg_t *a)
{
	uint32_t number = nargs ? (uint32_t)a[0] >> 8 : 0;

	REQUIRE(nargs < 2 || (size_t)a[1] == bytes);
	for (unsigned i = 2; i < nargs; i++)
		REQUIRE(a[i] == (gex_AM_Arg_t)hash_of(number, i));
	REQUIRE(is_filled(buf, bytes, number));
}

static size_t reply_bytes(uint32_t number)
{
	size_t bytes = hash_of(number, 20) % (hash_of(number, 21) % 8 ? 3000 : 60000);

	return bytes < gex_AM_LUBReplyMedium() ? bytes : gex_AM_LUBReplyMedium();
}

/* The arguments as the library's calls for every number of them take them. By value: a call that
 * waits runs handlers, which call this, too. */
struct words {
	uint64_t pair[8];
};
static struct words words_of(const gex_AM_Arg_t *a)
{
	struct words w;

	for (unsigned i = 0; i < 8; i++)
		w.pair[i] = gexi_am_pair(a[2 * i], a[2 * i + 1]);
	return w;
}

static void commit_reply(gex_AM_SrcDesc_t sd, int is_long, size_t bytes, void *dest, unsigned nargs,
			 const gex_AM_Arg_t *a)
{
	fill_message(gex_AM_SrcDescAddr(sd), bytes, (uint32_t)a[0] >> 8);
	gexi_am_commit(sd, is_long ? GEXI_AM_REPLY_LONG : GEXI_AM_REPLY_MEDIUM,
		       (gex_AM_Index_t)(H_PAYLOAD_REPLY + nargs), bytes, dest, nargs,
		       words_of(a).pair);
}

static void send_reply(gex_Token_t token, uint32_t what, gex_AM_Arg_t *a)
{
	static uint8_t payload[60000];
	gex_Token_Info_t info;
	uint32_t number = (uint32_t)a[0] >> 8, slot = (uint32_t)a[0] & 31;
	unsigned nargs = 1 + hash_of(number, 22) % 16;
	size_t bytes = what == SHORT ? 0 : reply_bytes(number);
	gex_AM_Index_t to =
	    (gex_AM_Index_t)((what == SHORT ? H_SHORT_REPLY : H_PAYLOAD_REPLY) + nargs);
	uint8_t *dest;

	gex_Token_Info(token, &info, GEX_TI_ALL);
	dest = base[info.gex_srcrank] + AT_LANDING + slot * LANDING;
	make_args(a, slot, what, number, bytes);
	if (what == MEDIUM || what == LONG)
		fill_message(payload, bytes, number);
	if (what == SHORT)
		gexi_am_reply_short(token, to, 0, nargs, words_of(a).pair);
	else if (what == MEDIUM)
		gexi_am_reply_medium(token, to, payload, bytes, GEX_EVENT_NOW, 0, nargs,
				     words_of(a).pair);
	else if (what == LONG)
		gexi_am_reply_long(token, to, payload, bytes, dest, GEX_EVENT_NOW, 0, nargs,
				   words_of(a).pair);
	else if (what == NEGOTIATED)
		commit_reply(
		    gex_AM_PrepareReplyMedium(token, NULL, bytes, bytes + 100, NULL, 0, nargs), 0,
		    bytes, NULL, nargs, a);
	else
		commit_reply(
		    gex_AM_PrepareReplyLong(token, NULL, bytes, bytes + 100, dest, NULL, 0, nargs),
		    1, bytes, dest, nargs, a);
}

static void split_words(gex_AM_Arg_t *a, const uint64_t *words, unsigned nargs)
{
	for (unsigned i = 0; i < nargs; i++)
		a[i] = (gex_AM_Arg_t)(words[i / 2] >> 32 * (i % 2));
}

static void on_request(gex_Token_t token, void *buf, size_t bytes, unsigned nargs,
		       const uint64_t *words)
{
	gex_AM_Arg_t a[16] = {0};

	split_words(a, words, nargs);
	check_message(buf, bytes, nargs, a);
	if (nargs && ((uint32_t)a[0] >> 5 & 7) != NONE)
		send_reply(token, (uint32_t)a[0] >> 5 & 7, a);
	else
		handled++;
}

static void on_reply(gex_Token_t token, void *buf, size_t bytes, unsigned nargs,
		     const uint64_t *words)
{
	struct message *m = &messages[(uint32_t)words[0] & 31];
	gex_Token_Info_t info;
	gex_AM_Arg_t a[16] = {0};

	split_words(a, words, nargs);
	gex_Token_Info(token, &info, GEX_TI_ALL);
	REQUIRE(((uint32_t)a[0] & 31) < MESSAGES && m->busy);
	REQUIRE(info.gex_srcrank == m->proc && !info.gex_is_req);
	REQUIRE(((uint32_t)a[0] >> 5 & 7) == m->reply && (uint32_t)a[0] >> 8 == m->number);
	REQUIRE(bytes == (m->reply == SHORT ? 0 : reply_bytes(m->number)));
	if (m->reply == LONG || m->reply == NEGOTIATED_LONG)
		REQUIRE(info.gex_is_long &&
			buf == base[me] + AT_LANDING + (m - messages) * LANDING);
	check_message(buf, bytes, nargs, a);
	m->busy = 0;
}

#define HANDLERS(m)                                                                                \
	static void short_##m(gex_Token_t token GEXI_AM_PARAMS_##m)                                \
	{                                                                                          \
		GEXI_AM_ARGS_##m on_request(token, NULL, 0, GEXI_AM_PASS_##m);                     \
	}                                                                                          \
	static void payload_##m(gex_Token_t token, void *buf, size_t bytes GEXI_AM_PARAMS_##m)     \
	{                                                                                          \
		GEXI_AM_ARGS_##m on_request(token, buf, bytes, GEXI_AM_PASS_##m);                  \
	}                                                                                          \
	static void short_reply_##m(gex_Token_t token GEXI_AM_PARAMS_##m)                          \
	{                                                                                          \
		GEXI_AM_ARGS_##m on_reply(token, NULL, 0, GEXI_AM_PASS_##m);                       \
	}                                                                                          \
	static void payload_reply_##m(gex_Token_t token, void *buf,                                \
				      size_t bytes GEXI_AM_PARAMS_##m)                             \
	{                                                                                          \
		GEXI_AM_ARGS_##m on_reply(token, buf, bytes, GEXI_AM_PASS_##m);                    \
	}
GEXI_AM_ARITIES(HANDLERS)
#define ENTRIES(m)                                                                                 \
	{H_SHORT + m, (gex_AM_Fn_t)short_##m, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, m},         \
	    {H_PAYLOAD + m, (gex_AM_Fn_t)payload_##m, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQUEST,   \
	     m},                                                                                   \
	    {H_SHORT_REPLY + m, (gex_AM_Fn_t)short_reply_##m,                                      \
	     GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, m},                                            \
	    {H_PAYLOAD_REPLY + m, (gex_AM_Fn_t)payload_reply_##m,                                  \
	     GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REPLY, m},
static gex_AM_Entry_t table[] = {GEXI_AM_ARITIES(ENTRIES)};

static void wait_message(const struct message *m)
{
	GASNET_BLOCKUNTIL(!m->busy);
}

static void wait_long_messages(gex_Rank_t proc, size_t at, size_t bytes)
{
	for (int i = 0; i < MESSAGES; i++) {
		struct message *m = &messages[i];

		if (m->busy && m->proc == proc && m->at < at + bytes && at < m->at + m->bytes)
			wait_message(m);
	}
}

/* An immediate call that had no effect is tried again after a poll. */
#define TRY(call)                                                                                  \
	do {                                                                                       \
		gex_Flags_t flags = draw_below(3) ? 0 : GEX_FLAG_IMMEDIATE;                        \
		int tries = 0;                                                                     \
                                                                                                   \
		while (call) {                                                                     \
			REQUIRE(flags == GEX_FLAG_IMMEDIATE);                                      \
			gasnet_AMPoll();                                                           \
			if (++tries == 50)                                                         \
				flags = 0;                                                         \
		}                                                                                  \
	} while (0)

static uint8_t payload[WINDOW];

static void request_fixed(struct message *m, uint32_t what, unsigned nargs, gex_AM_Arg_t *a)
{
	gex_Event_t lc, *how[] = {GEX_EVENT_NOW, &lc, GEX_EVENT_GROUP};
	uint32_t which = draw_below(3);
	gex_AM_Index_t to = (gex_AM_Index_t)(H_PAYLOAD + nargs);

	if (which == 2 && region_open)
		which = 0;
	fill_message(payload, m->bytes, m->number);
	if (what == LONG)
		TRY(gexi_am_request_long(team, m->proc, to, payload, m->bytes,
					 slice_of(m->proc) + m->at, how[which], flags, nargs,
					 words_of(a).pair));
	else
		TRY(gexi_am_request_medium(team, m->proc, to, payload, m->bytes, how[which], flags,
					   nargs, words_of(a).pair));
	if (which == 1)
		gex_Event_Wait(lc);
	if (which == 2)
		gex_NBI_Wait(GEX_EC_AM, 0);
	memset(payload, 0xcd, m->bytes);
}

static void request_negotiated(struct message *m, int is_long, unsigned nargs, gex_AM_Arg_t *a)
{
	gex_AM_SrcDesc_t sd = GEX_AM_SRCDESC_NO_OP;
	uint8_t *dest = slice_of(m->proc) + m->at;
	int is_mine = (int)draw_below(3) == 0;
	void *from = is_mine ? payload : NULL;
	gex_Event_t lc, *lc_opt = is_mine ? &lc : NULL;
	size_t most = m->bytes + draw_below(100);

	if (is_long)
		TRY((sd = gex_AM_PrepareRequestLong(team, m->proc, from, m->bytes, most, dest,
						    lc_opt, flags, nargs),
		     sd == GEX_AM_SRCDESC_NO_OP));
	else
		TRY((sd = gex_AM_PrepareRequestMedium(team, m->proc, from, m->bytes, most, lc_opt,
						      flags, nargs),
		     sd == GEX_AM_SRCDESC_NO_OP));
	REQUIRE(gex_AM_SrcDescSize(sd) >= m->bytes && gex_AM_SrcDescSize(sd) <= most);
	REQUIRE(!from || gex_AM_SrcDescAddr(sd) == from);
	fill_message(gex_AM_SrcDescAddr(sd), m->bytes, m->number);
	gexi_am_commit(sd, is_long ? GEXI_AM_REQUEST_LONG : GEXI_AM_REQUEST_MEDIUM,
		       (gex_AM_Index_t)(H_PAYLOAD + nargs), m->bytes, dest, nargs,
		       words_of(a).pair);
	if (is_mine) {
		gex_Event_Wait(lc);
		memset(payload, 0xcd, m->bytes);
	}
}

static void do_message(void)
{
	static uint32_t number;
	uint32_t what = SHORT + draw_below(REPLIES - SHORT);
	int is_long = what == LONG || what == NEGOTIATED_LONG;
	unsigned slot = draw_below(MESSAGES), nargs = draw_below(17);
	struct message *m = &messages[slot];
	gex_AM_Arg_t a[16] = {0};

	if (m->busy)
		wait_message(m);
	m->proc = draw_below(n);
	m->number = ++number & 0xffffff;
	m->reply = is_long ? SHORT + draw_below(REPLIES - SHORT) : draw_below(REPLIES);
	if (!nargs && (is_long || what != SHORT))
		nargs = 1;
	if (!nargs)
		m->reply = NONE;
	m->bytes = what == SHORT ? 0 : random_bytes(gex_AM_LUBRequestMedium());
	m->at = draw_below((uint32_t)(SLICE - m->bytes + 1));
	if (is_long)
		wait_overlapping(m->proc, m->at, m->bytes);
	make_args(a, slot, m->reply, m->number, m->bytes);
	m->busy = m->reply != NONE;
	sent[m->proc] += m->reply == NONE;
	if (is_long)
		fill_message(model[m->proc] + m->at, m->bytes, m->number);
	if (what == SHORT)
		TRY(gexi_am_request_short(team, m->proc, (gex_AM_Index_t)(H_SHORT + nargs), flags,
					  nargs, words_of(a).pair));
	else if (what == MEDIUM || what == LONG)
		request_fixed(m, what, nargs, a);
	else
		request_negotiated(m, is_long, nargs, a);
	if (!is_long)
		m->bytes = 0;
}

/* ---- what all processes do together: their random numbers are the same ---- */

static uint64_t common;
static uint32_t common_below(uint32_t limit)
{
	common = common * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(common >> 33) % limit;
}

static void check_reduce(gex_TM_t tm)
{
	uint64_t own[40], all[40];
	size_t count = 1 + common_below(40);
	gex_Rank_t members = gex_TM_QuerySize(tm);
	gex_Event_t e;

	for (size_t i = 0; i < count; i++)
		own[i] = i + gex_TM_QueryRank(tm);
	e = gex_Coll_ReduceToAllNB(tm, all, own, GEX_DT_U64, 8, count, GEX_OP_ADD, NULL, NULL, 0);
	while (gex_Event_Test(e))
		gasnet_AMPoll();
	for (size_t i = 0; i < count; i++)
		REQUIRE(all[i] == i * members + (uint64_t)members * (members - 1) / 2);
}

static void check_broadcast(gex_TM_t tm)
{
	static uint8_t data[9000];
	gex_Rank_t root = common_below(gex_TM_QuerySize(tm));
	size_t bytes = common_below(sizeof(data));
	uint32_t number = common_below(1000);

	if (gex_TM_QueryRank(tm) == root)
		fill_message(data, bytes, number);
	gex_Event_Wait(gex_Coll_BroadcastNB(tm, root, data, data, bytes, 0));
	REQUIRE(is_filled(data, bytes, number));
}

static void run_together(void)
{
	uint32_t what = common_below(5), colors = 1 + common_below(n);
	uint64_t before;
	gex_TM_t part;

	close_region();
	if (what == 0)
		run_barrier();
	else if (what == 1)
		check_reduce(team);
	else if (what == 2)
		check_broadcast(team);
	if (what < 3)
		return;
	gex_TM_Split(&part, team, (int)(me % colors), -(int)me, NULL, 0, 0);
	REQUIRE(gex_TM_TranslateRankToJobrank(part, gex_TM_QueryRank(part)) == me);
	REQUIRE(gex_TM_TranslateJobrankToRank(part, me) == gex_TM_QueryRank(part));
	before = common; /* parts differ in size, so their random numbers do, too */
	check_reduce(part);
	check_broadcast(part);
	gex_Event_Wait(gex_Coll_BarrierNB(part, 0));
	common = before;
	gex_TM_Destroy(part, NULL, 0);
}

/* ---- */

static void finish_all(void)
{
	wait_region();
	for (int i = 0; i < PENDING; i++)
		if (pending[i].busy)
			wait_pending(&pending[i]);
	for (int i = 0; i < MESSAGES; i++)
		wait_message(&messages[i]);
	finish_atomics();
	gex_NBI_Wait(GEX_EC_ALL, 0);
}

static void check_all(void)
{
	static uint8_t got[SLICE];
	uint64_t total[TASKS], own, mine[WORDS], all[WORDS];

	finish_all();
	gex_Event_Wait(gex_Coll_ReduceToAllNB(team, total, sent, GEX_DT_U64, 8, TASKS, GEX_OP_ADD,
					      NULL, NULL, 0));
	GASNET_BLOCKUNTIL(handled >= total[me]);
	run_barrier();
	REQUIRE(handled == total[me]);
	for (gex_Rank_t proc = 0; proc < n; proc++) {
		CALL(gex_RMA_GetBlocking(team, got, proc, slice_of(proc), SLICE, 0));
		REQUIRE(!memcmp(got, model[proc], SLICE));
		memcpy(mine, added[proc], sizeof(mine));
		gex_Event_Wait(gex_Coll_ReduceToAllNB(team, all, mine, GEX_DT_U64, 8, WORDS,
						      GEX_OP_ADD, NULL, NULL, 0));
		for (uint32_t w = 0; w < WORDS; w++) {
			own = gex_RMA_GetBlockingVal(team, proc, word_of(proc, me, w), 8, 0);
			REQUIRE(own == word_model[proc][w]);
			own = gex_RMA_GetBlockingVal(team, proc, word_of(proc, TASKS, w), 8, 0);
			REQUIRE(own == all[w]);
		}
	}
	run_barrier();
}

static void run_step(void)
{
	static void (*const kinds[])(void) = {do_put,     do_get,     do_value,   do_strided,
					      do_lists,   do_indexed, do_message, do_message,
					      do_message, do_atomic,  do_atomic};

	kinds[draw_below(sizeof(kinds) / sizeof(kinds[0]))]();
	if (!draw_below(8))
		gasnet_AMPoll();
	if (!draw_below(12) && region_open)
		close_region();
}

int main(int argc, char **argv)
{
	int is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	const char *text = getenv("QT_SEED"), *is_long = getenv("QT_LONG"),
		   *dies = getenv("QT_DIES");
	int steps = is_virtual ? 100 : 250, rounds = is_long && atoi(is_long) ? 200 : 4;
	gex_OP_t ops = 0;
	gex_Client_t client;
	gex_Segment_t segment;

	seed = text ? (uint32_t)atoi(text) : 1;
	CALL(gex_Client_Init(&client, &ep, &team, "fuzz", &argc, &argv, 0));
	me = gex_TM_QueryRank(team);
	n = gex_TM_QuerySize(team);
	REQUIRE(n <= TASKS);
	state = seed * 7919 + me * 104729 + 1;
	common = seed;
	CALL(gex_EP_RegisterHandlers(ep, table, sizeof(table) / sizeof(table[0])));
	CALL(gex_Segment_Attach(&segment, team, SEGMENT));
	memset(gex_Segment_QueryAddr(segment), 0, SEGMENT);
	for (gex_Rank_t proc = 0; proc < n; proc++) {
		void *at;

		CALL(gex_Segment_QueryBound(team, proc, &at, NULL, NULL));
		base[proc] = at;
	}
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		ops |= operations[i];
	gex_AD_Create(&domain, team, GEX_DT_U64, ops, 0);
	run_barrier();
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < steps; i++) {
			run_step();
			if (dies && me == (gex_Rank_t)atoi(dies) && !draw_below(100))
				raise(SIGKILL);
			if (i % 40 == 39)
				run_together();
		}
		check_all();
	}
	gex_AD_Destroy(domain);
	if (!me)
		printf("fuzz: all right with %u tasks, seed %u\n", n, seed);
	gasnet_exit(0);
	return 1;
}
