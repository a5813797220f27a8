/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gexbench: GASNet-EX beside what lies below it, in alternating blocks of one job of two tasks.
 *
 *   pingpong  half round trip of a short message: gex_AM_RequestShort2 and its reply, against
 *             PAMI_Send_immediate of as many bytes; where the tasks share memory, also against one
 *             cache line that goes back and forth
 *   rate      short messages in one direction, the same pair
 *   put       blocking puts of 1 MiB, against memcpy of as much private memory
 *   fetchadd  gex_AD_OpNB_U64(FADD) on the task's own segment, against the processor's instruction
 *
 * A pair ends after 41 blocks, or after 4 and 10 seconds. A block of pingpong has 400 rounds, or 10
 * where a round takes very long.
 *
 * usage: torus run -n 2 gexbench [WHAT] [--json]
 */
#define GASNET_SEQ 1 /* one thread calls the library */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "drivers/base/atomic.h"
#include "gasnet/gasnetex.h"
#include "pami/pami.h"

enum { BLOCKS = 41, BLOCKS_LEAST = 4, PAIR_SECONDS = 10 };
enum {
	ROUNDS_LEAST = 10,
	ROUNDS = 400,
	MESSAGES = 4000,
	PUTS = 20,
	PUT_BYTES = 1 << 20,
	ADDS = 100000
};
enum { H_PING = 200, H_PONG, H_COUNT };

static gex_TM_t team;
static gex_Rank_t me;
static volatile uint64_t pongs, counted;
static pami_context_t context;
static pami_endpoint_t partner;
static uint64_t rounds; /* of a block of pingpong */
static uint8_t *segment, *other_segment;

static void on_ping(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
	gex_AM_ReplyShort2(token, H_PONG, 0, a, b);
}

static void on_pong(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
	pongs++;
}

static void on_count(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
	counted++;
}

static void pami_send(size_t dispatch)
{
	uint64_t words[2] = {0, 0};
	pami_send_immediate_t s = {
	    .header = {words, sizeof(words)}, .dispatch = dispatch, .dest = partner};

	PAMI_Send_immediate(context, &s);
}

static void pami_on_ping(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
			 const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	pami_send(2);
}

static void pami_on_pong(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
			 const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	pongs++;
}

static void run_barrier(void)
{
	gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static double now_seconds(void)
{
	return (double)gasnett_ticks_now() * 1e-9;
}

/* ---- the pairs; each block returns its value on task 0 ---- */

/* Task 1 polls, as in the other block, until task 0 has sent it the last message. */
static double pingpong_gex(void)
{
	double start;

	pongs = counted = 0;
	run_barrier();
	start = now_seconds();
	for (uint64_t i = 1; me == 0 && i <= rounds; i++) {
		gex_AM_RequestShort2(team, 1, H_PING, 0, 1, 2);
		while (pongs < i)
			gasnet_AMPoll();
	}
	start = now_seconds() - start;
	if (me == 0)
		gex_AM_RequestShort2(team, 1, H_COUNT, 0, 1, 2);
	while (me && !counted)
		gasnet_AMPoll();
	run_barrier();
	return start / (double)rounds / 2 * 1e6;
}

static double pingpong_pami(void)
{
	double start;

	pongs = counted = 0;
	run_barrier();
	start = now_seconds();
	for (uint64_t i = 1; me == 0 && i <= rounds; i++) {
		pami_send(1);
		while (pongs < i)
			PAMI_Context_advance(context, 1);
	}
	start = now_seconds() - start;
	if (me == 0)
		pami_send(3);
	while (me && !counted)
		PAMI_Context_advance(context, 1);
	run_barrier();
	return start / (double)rounds / 2 * 1e6;
}

static void pami_on_count(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
			  const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	counted++;
}

static uint64_t *lines[2]; /* in the segment of each task; NULL: not mapped */
static uint64_t line_value;

/* What the processors allow: each task stores to a line that the other polls. */
static double pingpong_line(void)
{
	uint64_t last = line_value + rounds;
	double start;

	run_barrier();
	start = now_seconds();
	while (line_value < last) {
		line_value++;
		if (me == 0)
			atomic_store_release(lines[1], line_value);
		while (atomic_load_acquire(lines[me]) != line_value)
			;
		if (me)
			atomic_store_release(lines[0], line_value);
	}
	start = now_seconds() - start;
	run_barrier();
	return start / (double)rounds / 2 * 1e6;
}

static double rate_gex(void)
{
	double start;

	pongs = counted = 0;
	run_barrier();
	start = now_seconds();
	for (uint64_t i = 0; me == 0 && i < MESSAGES; i++)
		gex_AM_RequestShort2(team, 1, H_COUNT, 0, 1, 2);
	if (me == 0)
		gex_AM_RequestShort2(team, 1, H_PING, 0, 1, 2); /* answered after all others */
	while (me == 0 ? !pongs : counted < MESSAGES)
		gasnet_AMPoll();
	start = now_seconds() - start;
	run_barrier();
	return MESSAGES / start * 1e-6;
}

static double rate_pami(void)
{
	double start;

	pongs = counted = 0;
	run_barrier();
	start = now_seconds();
	for (uint64_t i = 0; me == 0 && i < MESSAGES; i++) {
		pami_send(3);
		if (i % 4 == 0)
			PAMI_Context_advance(context, 1);
	}
	if (me == 0)
		pami_send(1);
	while (me == 0 ? !pongs : counted < MESSAGES)
		PAMI_Context_advance(context, 1);
	start = now_seconds() - start;
	/* The answer to the last message is sent in the progress call that counts or a later one.
	 */
	for (int i = 0; me && i < 100; i++)
		PAMI_Context_advance(context, 1);
	run_barrier();
	return MESSAGES / start * 1e-6;
}

static uint8_t *source, *target;

static double put_gex(void)
{
	double start;

	run_barrier();
	start = now_seconds();
	for (int i = 0; me == 0 && i < PUTS; i++)
		gex_RMA_PutBlocking(team, 1, other_segment, source, PUT_BYTES, 0);
	start = now_seconds() - start;
	run_barrier();
	return (double)PUTS * PUT_BYTES / start * 1e-9;
}

static double put_memcpy(void)
{
	double start = now_seconds();

	for (int i = 0; me == 0 && i < PUTS; i++) {
		memcpy(target, source, PUT_BYTES);
		atomic_signal_fence_seq_cst();
	}
	start = now_seconds() - start;
	run_barrier();
	return (double)PUTS * PUT_BYTES / start * 1e-9;
}

static gex_AD_t domain;

static double add_gex(void)
{
	double start = now_seconds();
	uint64_t old;

	for (int i = 0; i < ADDS; i++)
		gex_Event_Wait(gex_AD_OpNB_U64(domain, &old, me, segment, GEX_OP_FADD, 1, 0, 0));
	return (now_seconds() - start) / ADDS * 1e9;
}

static double add_plain(void)
{
	double start = now_seconds();

	for (int i = 0; i < ADDS; i++)
		atomic_fetch_add_acq_rel((uint64_t *)(void *)segment, 1);
	return (now_seconds() - start) / ADDS * 1e9;
}

static const struct {
	const char *name, *unit;
	size_t bytes;
	double (*gex)(void), (*below)(void), (*line)(void);
} pairs[] = {
    {"pingpong", "us", 8, pingpong_gex, pingpong_pami, pingpong_line},
    {"rate", "M/s", 8, rate_gex, rate_pami, NULL},
    {"put", "GB/s", PUT_BYTES, put_gex, put_memcpy, NULL},
    {"fetchadd", "ns", 8, add_gex, add_plain, NULL},
};

static enum bench_format format = BENCH_TABLE;

static void print_row(const char *name, const char *variant, const char *unit, size_t bytes,
		      struct bench_samples *s)
{
	struct bench_row row = {.bench = name,
				.variant = variant,
				.bytes = bytes,
				.unit = unit,
				.from = 0,
				.to = 1,
				.hops = -1,
				.check = ""};

	bench_row_value(&row, s);
	bench_out_row(format, &row);
}

/* On a loaded machine, where each turn of a processor takes milliseconds, shorter and fewer blocks
 * have to do: task 0 says whether there is time for one more. */
static bool has_time(int blocks, double since)
{
	int more = blocks < BLOCKS_LEAST || now_seconds() - since < PAIR_SECONDS;

	gex_Event_Wait(gex_Coll_BroadcastNB(team, 0, &more, &more, sizeof(more), 0));
	return more;
}

static void choose_rounds(void)
{
	double us;

	rounds = ROUNDS_LEAST;
	us = pingpong_gex();
	rounds = us < 1e6 * PAIR_SECONDS / BLOCKS / 4 / ROUNDS ? ROUNDS : ROUNDS_LEAST;
	gex_Event_Wait(gex_Coll_BroadcastNB(team, 0, &rounds, &rounds, sizeof(rounds), 0));
}

static void run_pair(size_t p)
{
	struct bench_samples gex = {0}, below = {0}, ratio = {0}, line = {0}, of_line = {0};
	bool has_line = pairs[p].line && lines[0] && lines[1];
	double start = now_seconds();

	choose_rounds();
	for (int i = 0; i < BLOCKS && has_time(i, start); i++) {
		double a = pairs[p].gex(), b = pairs[p].below();
		double c = has_line ? pairs[p].line() : 0;

		if (!i)
			continue; /* the first warms up */
		bench_samples_add(&gex, a);
		bench_samples_add(&below, b);
		bench_samples_add(&ratio, a / b);
		if (has_line) {
			bench_samples_add(&line, c);
			bench_samples_add(&of_line, a / c);
		}
	}
	if (!me) {
		print_row(pairs[p].name, "gex", pairs[p].unit, pairs[p].bytes, &gex);
		print_row(pairs[p].name, "below", pairs[p].unit, pairs[p].bytes, &below);
		print_row(pairs[p].name, "gex / below", "ratio", pairs[p].bytes, &ratio);
	}
	if (!me && has_line) {
		print_row(pairs[p].name, "line", pairs[p].unit, pairs[p].bytes, &line);
		print_row(pairs[p].name, "gex / line", "ratio", pairs[p].bytes, &of_line);
	}
	bench_samples_free(&gex);
	bench_samples_free(&below);
	bench_samples_free(&ratio);
	bench_samples_free(&line);
	bench_samples_free(&of_line);
}

static bool open_pami(void)
{
	pami_dispatch_callback_function fn[] = {
	    {.p2p = pami_on_ping}, {.p2p = pami_on_pong}, {.p2p = pami_on_count}};
	pami_client_t client;

	if (PAMI_Client_create("below", &client, NULL, 0) != PAMI_SUCCESS ||
	    PAMI_Context_createv(client, NULL, 0, &context, 1) != PAMI_SUCCESS)
		return false;
	for (size_t i = 0; i < 3; i++)
		if (PAMI_Dispatch_set(context, i + 1, fn[i], NULL, (pami_dispatch_hint_t){0}) !=
		    PAMI_SUCCESS)
			return false;
	PAMI_Endpoint_create(client, 1 - me, 0, &partner);
	return true;
}

int main(int argc, char **argv)
{
	gex_AM_Entry_t table[] = {
	    {H_PING, (gex_AM_Fn_t)on_ping, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL,
	     "ping"},
	    {H_PONG, (gex_AM_Fn_t)on_pong, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2, NULL, "pong"},
	    {H_COUNT, (gex_AM_Fn_t)on_count, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL,
	     "count"},
	};
	const char *facts[] = {NULL}, *only = NULL;
	size_t found = 0;
	gex_Segment_t attached;
	gex_Client_t client;
	void *at, *mapped;
	gex_EP_t ep;

	if (gex_Client_Init(&client, &ep, &team, "gexbench", &argc, &argv, 0))
		return 1;
	me = gex_TM_QueryRank(team);
	if (gex_TM_QuerySize(team) != 2) {
		if (!me)
			fprintf(stderr, "gexbench needs two tasks: torus run -n 2 gexbench\n");
		gasnet_exit(2);
	}
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--json"))
			format = BENCH_JSON;
		else
			only = argv[i];
	for (size_t p = 0; p < sizeof(pairs) / sizeof(pairs[0]); p++)
		found += !only || !strcmp(only, pairs[p].name);
	if (!found) {
		if (!me)
			fprintf(stderr, "gexbench: %s is not pingpong, rate, put or fetchadd\n",
				only);
		gasnet_exit(2);
	}
	source = malloc(PUT_BYTES);
	target = malloc(PUT_BYTES);
	if (!source || !target || gex_EP_RegisterHandlers(ep, table, 3) ||
	    gex_Segment_Attach(&attached, team, 2 * PUT_BYTES) || !open_pami())
		gasnet_exit(1);
	bench_pin_to_core(me, 2);
	memset(source, 1, PUT_BYTES);
	memset(target, 2, PUT_BYTES);
	segment = gex_Segment_QueryAddr(attached);
	memset(segment, 0, 2 * PUT_BYTES);
	gex_Segment_QueryBound(team, 1 - me, &at, &mapped, NULL);
	other_segment = at;
	lines[me] = (uint64_t *)(void *)(segment + PUT_BYTES + 4096);
	lines[1 - me] = mapped ? (uint64_t *)mapped + (PUT_BYTES + 4096) / 8 : NULL;
	gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_FADD, 0);
	if (!me)
		bench_out_begin(format, facts);
	for (size_t p = 0; p < sizeof(pairs) / sizeof(pairs[0]); p++)
		if (!only || !strcmp(only, pairs[p].name))
			run_pair(p);
	run_barrier();
	gasnet_exit(0);
	return 1;
}
