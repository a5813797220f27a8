/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gexfig: the programs behind the published figures of GASNet-EX (docs/references.md), one
 * measurement a run. bench/figures/gex_figures runs them with the switches TGEX_* and compares.
 *
 *   am    ping-pong of mediums with generated payload: fixed against negotiated, in turns
 *   imm   process 0 sends to processes that sleep: a static schedule against one that goes on to
 *         the next process when an immediate request fails, in turns
 *   lc    a flood of puts from outside the segment, each back after its local completion
 *   fadd  fetch-and-add on the other process: latency and throughput
 *   hot   fetch-and-add by all processes on one word of process 0
 *   vis   a flood of strided (--levels N) or indexed (--levels 0) puts, or gets (--get 1); with
 *         --levels A,B,... (3 and more), the transfers of each in turns, and where the target's
 *         memory is mapped, a plain loop that stores the same elements
 *
 * usage: torus run -n 2 gexfig WHAT [--sizes A,B,..] [--count N] [--rounds N] [--block N]
 *        [--levels N,..] [--element BYTES] [--get 1] [--finc 1 (fetch-and-increment)] [--json]
 */
#define GASNET_SEQ 1 /* one thread calls the library */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "gasnet/gasnet_coll.h"
#include "gasnet/gasnet_ratomic.h"
#include "gasnet/gasnet_vis.h"
#include "gasnet/gasnetex.h"

enum { SIZES = 40, LEVELS = 64, LAYOUTS = 8, IMM_BYTES = 4032, SLEEP_NS = 500000 };
enum { H_FIXED = 200, H_FIXED_BACK, H_NEGOTIATED, H_NEGOTIATED_BACK, H_COUNT };

static gex_TM_t team;
static gex_Rank_t me, nproc;
static volatile uint64_t replies, received;
static uint8_t *segment, *other_segment;
static size_t segment_bytes = 16 << 20;

static struct {
	size_t size[SIZES], sizes;
	size_t count, rounds, block, element, get, finc;
	size_t levels[LAYOUTS], layouts;
	enum bench_format format;
} option = {.rounds = 5, .element = 8, .layouts = 1, .format = BENCH_TABLE};

static void run_barrier(void)
{
	gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static double now_seconds(void)
{
	return (double)gasnett_ticks_now() * 1e-9;
}

static void print_row(const char *bench, const char *variant, const char *unit, size_t x,
		      struct bench_samples *s)
{
	struct bench_row row = {.bench = bench,
				.variant = variant,
				.bytes = x,
				.unit = unit,
				.from = 0,
				.to = -1,
				.hops = -1,
				.check = ""};

	bench_row_value(&row, s);
	if (!me)
		bench_out_row(option.format, &row);
	bench_samples_free(s);
}

static void *allocate_pages(size_t bytes)
{
	void *p = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);

	if (!p) {
		fprintf(stderr, "gexfig: no memory for %zu bytes\n", bytes);
		gasnet_exit(1);
	}
	memset(p, 1, bytes);
	return p;
}

/* ---- am ---- */

static uint8_t *payload;

/* Consecutive numbers, word by word. */
static __attribute__((noinline)) void generate_numbers(void *at, size_t bytes)
{
	static uint64_t next;
	uint64_t *word = at, last = next;

	for (size_t i = 0; i < bytes / 8; i++)
		word[i] = next++;
	memcpy((char *)at + bytes / 8 * 8, &last, bytes % 8);
}

static void on_fixed(gex_Token_t token, void *buf, size_t bytes)
{
	generate_numbers(payload, bytes);
	gex_AM_ReplyMedium0(token, H_FIXED_BACK, payload, bytes, GEX_EVENT_NOW, 0);
}

static void on_negotiated(gex_Token_t token, void *buf, size_t bytes)
{
	gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(token, NULL, bytes, bytes, NULL, 0, 0);

	generate_numbers(gex_AM_SrcDescAddr(sd), bytes);
	gex_AM_CommitReplyMedium0(sd, H_NEGOTIATED_BACK, bytes);
}

static void on_back(gex_Token_t token, void *buf, size_t bytes)
{
	replies++;
}

static void on_count(gex_Token_t token, void *buf, size_t bytes)
{
	received++;
}

static void send_fixed(size_t bytes)
{
	generate_numbers(payload, bytes);
	gex_AM_RequestMedium0(team, 1, H_FIXED, payload, bytes, GEX_EVENT_NOW, 0);
}

static void send_negotiated(size_t bytes)
{
	gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(team, 1, NULL, bytes, bytes, NULL, 0, 0);

	generate_numbers(gex_AM_SrcDescAddr(sd), bytes);
	gex_AM_CommitRequestMedium0(sd, H_NEGOTIATED, bytes);
}

/* MB/s of requests and replies; process 1 polls until process 0 says that it is done. */
static double run_pingpong(void (*send)(size_t bytes), size_t bytes)
{
	double start;

	replies = received = 0;
	run_barrier();
	start = now_seconds();
	for (uint64_t i = 1; me == 0 && i <= option.count; i++) {
		send(bytes);
		while (replies < i)
			gasnet_AMPoll();
	}
	start = now_seconds() - start;
	if (me == 0)
		gex_AM_RequestMedium0(team, 1, H_COUNT, payload, 0, GEX_EVENT_NOW, 0);
	while (me == 1 && !received)
		gasnet_AMPoll();
	run_barrier();
	return 2e-6 * (double)option.count * (double)(bytes ? bytes : 1) / start;
}

/* "fixed again" is the same call as "fixed": what differs between these two is noise. */
static void run_am(void)
{
	enum { FIXED, NEGOTIATED, AGAIN, SERIES };

	for (size_t s = 0; s < option.sizes; s++) {
		struct bench_samples rate[SERIES] = {{0}}, ratio = {0}, noise = {0};
		size_t bytes = option.size[s];

		for (size_t i = 0; i <= option.rounds; i++) {
			double r[SERIES];

			for (size_t k = 0; k < SERIES; k++) { /* each is the first in turn */
				size_t v = (i + k) % SERIES;

				r[v] = run_pingpong(v == NEGOTIATED ? send_negotiated : send_fixed,
						    bytes);
			}
			if (!i)
				continue; /* the first warms up */
			for (size_t v = 0; v < SERIES; v++)
				bench_samples_add(&rate[v], r[v]);
			bench_samples_add(&ratio, r[NEGOTIATED] / r[FIXED]);
			bench_samples_add(&noise, r[AGAIN] / r[FIXED]);
		}
		print_row("am", "fixed", "MB/s", bytes, &rate[FIXED]);
		print_row("am", "negotiated", "MB/s", bytes, &rate[NEGOTIATED]);
		print_row("am", "negotiated / fixed", "ratio", bytes, &ratio);
		print_row("am", "fixed again / fixed", "ratio", bytes, &noise);
		bench_samples_free(&rate[AGAIN]);
	}
}

/* ---- imm ---- */

static void sleep_and_receive(void)
{
	gex_Event_t done = gex_Coll_BarrierNB(team, 0);

	do {
		gasnett_nsleep(SLEEP_NS);
		gasnet_AMPoll();
	} while (gex_Event_Test(done));
}

static int send_to(gex_Rank_t to, gex_Flags_t flags)
{
	return gex_AM_RequestMedium0(team, to, H_COUNT, payload, IMM_BYTES, GEX_EVENT_NOW, flags);
}

static void send_static(size_t each, size_t block)
{
	for (size_t k = 0; k < each; k += block)
		for (gex_Rank_t to = 1; to < nproc; to++)
			for (size_t i = k; i < each && i < k + block; i++)
				send_to(to, 0);
}

/* After a failure: one poll, one more try, then the next process. */
static void send_adaptive(size_t each, size_t block)
{
	size_t *left = allocate_pages(nproc * sizeof(*left)), all = each * (nproc - 1);

	for (gex_Rank_t to = 1; to < nproc; to++)
		left[to] = each;
	while (all)
		for (gex_Rank_t to = 1; to < nproc; to++)
			for (size_t i = 0; i < block && left[to]; i++) {
				if (send_to(to, GEX_FLAG_IMMEDIATE)) {
					gasnet_AMPoll();
					if (send_to(to, GEX_FLAG_IMMEDIATE))
						break;
				}
				left[to]--;
				all--;
			}
	free(left);
}

/*
 * A receiver keeps up to half of the credits of process 0 until it sends something. What one
 * schedule leaves there the next would have less, so a message carries it back first.
 */
static void return_credits(void)
{
	if (me)
		gex_AM_RequestMedium0(team, 0, H_COUNT, payload, 0, GEX_EVENT_NOW, 0);
	while (!me && received < nproc - 1)
		gasnet_AMPoll();
	received = 0;
}

/* Seconds until process 0 has left the closing barrier. */
static double run_schedule(void (*send)(size_t each, size_t block), size_t each, size_t block)
{
	double start;

	return_credits();
	run_barrier();
	start = now_seconds();
	if (me) {
		sleep_and_receive();
	} else {
		send(each, block);
		run_barrier();
	}
	start = now_seconds() - start;
	while (me && received < each)
		gasnet_AMPoll();
	run_barrier();
	return start;
}

static void run_imm(void)
{
	struct bench_samples fixed = {0}, adaptive = {0}, gain = {0};
	size_t each, block;

	if (nproc < 2)
		return;
	each = option.count / (nproc - 1);
	each = each ? each : 1;
	block = option.block && option.block < each ? option.block : each;
	for (size_t i = 0; i < option.rounds; i++) {
		double a = run_schedule(send_static, each, block),
		       b = run_schedule(send_adaptive, each, block);

		bench_samples_add(&fixed, a * 1e3);
		bench_samples_add(&adaptive, b * 1e3);
		bench_samples_add(&gain, 100 * (a - b) / a);
	}
	print_row("imm", "static", "ms", nproc, &fixed);
	print_row("imm", "adaptive", "ms", nproc, &adaptive);
	print_row("imm", "gain", "%", nproc, &gain);
}

/* ---- lc ---- */

static void run_lc(void)
{
	uint8_t *source = allocate_pages(4 << 20);

	for (size_t s = 0; s < option.sizes; s++) {
		struct bench_samples rate = {0};
		size_t bytes = option.size[s], count = option.count;
		gex_Event_t *e;

		if (bytes > 65536) /* as many bytes as puts of 64 KiB */
			count = count * 65536 / bytes ? count * 65536 / bytes : 1;
		e = allocate_pages(count * sizeof(*e));
		for (size_t i = 0; i <= option.rounds; i++) {
			double start;

			run_barrier();
			start = now_seconds();
			for (size_t k = 0; me == 0 && k < count; k++)
				e[k] = gex_RMA_PutNB(team, 1, other_segment, source, bytes,
						     GEX_EVENT_NOW, 0);
			if (me == 0)
				gex_Event_WaitAll(e, count, 0);
			start = now_seconds() - start;
			run_barrier();
			if (i)
				bench_samples_add(&rate, 1e-6 * (double)(bytes * count) / start);
		}
		print_row("lc", "put", "MB/s", bytes, &rate);
		free(e);
	}
	free(source);
}

/* ---- fadd, hot ---- */

#define FADD(name, T)                                                                              \
	static void fadd_##name(void)                                                              \
	{                                                                                          \
		struct bench_samples latency = {0}, rate = {0};                                    \
		gex_OP_t op = option.finc ? GEX_OP_FINC : GEX_OP_FADD;                             \
		gex_AD_t ad;                                                                       \
		T old;                                                                             \
                                                                                                   \
		gex_AD_Create(&ad, team, GEX_DT_##name, op, 0);                                    \
		for (size_t i = 0; i <= option.rounds; i++) {                                      \
			double start, middle, end;                                                 \
                                                                                                   \
			run_barrier();                                                             \
			start = now_seconds();                                                     \
			for (size_t k = 0; me == 0 && k < option.count; k++)                       \
				gex_Event_Wait(                                                    \
				    gex_AD_OpNB_##name(ad, &old, 1, other_segment, op, 1, 0, 0));  \
			middle = now_seconds();                                                    \
			for (size_t k = 0; me == 0 && k < option.count; k++)                       \
				gex_AD_OpNBI_##name(ad, &old, 1, other_segment, op, 1, 0, 0);      \
			gex_NBI_Wait(GEX_EC_RMW, 0);                                               \
			end = now_seconds();                                                       \
			run_barrier();                                                             \
			if (!i)                                                                    \
				continue;                                                          \
			bench_samples_add(&latency,                                                \
					  (middle - start) / (double)option.count * 1e6);          \
			bench_samples_add(&rate, (double)option.count / (end - middle) * 1e-3);    \
		}                                                                                  \
		print_row("fadd", "latency " #name, "us", sizeof(T), &latency);                    \
		print_row("fadd", "throughput " #name, "kop/s", sizeof(T), &rate);                 \
		gex_AD_Destroy(ad);                                                                \
	}
FADD(U32, uint32_t)
FADD(U64, uint64_t)

static void run_hot(void)
{
	struct bench_samples rate = {0}, others = {0};
	double own, mine[2], sum[2]; /* of all processes, and of all but the owner of the word */
	void *word;
	uint64_t old;
	gex_AD_t ad;

	gex_Segment_QueryBound(team, 0, &word, NULL, NULL);
	gex_AD_Create(&ad, team, GEX_DT_U64, GEX_OP_FADD, 0);
	for (size_t i = 0; i <= option.rounds; i++) {
		run_barrier();
		own = now_seconds();
		for (size_t k = 0; k < option.count; k++)
			gex_AD_OpNBI_U64(ad, &old, 0, word, GEX_OP_FADD, 1, 0, 0);
		gex_NBI_Wait(GEX_EC_RMW, 0);
		run_barrier();
		own = (double)option.count / (now_seconds() - own) * 1e-3;
		mine[0] = own;
		mine[1] = me ? own : 0;
		gex_Event_Wait(gex_Coll_ReduceToAllNB(team, sum, mine, GEX_DT_DBL, sizeof(own), 2,
						      GEX_OP_ADD, NULL, NULL, 0));
		if (!i)
			continue;
		bench_samples_add(&rate, sum[0]);
		bench_samples_add(&others, sum[1]);
	}
	print_row("hot", "all", "kop/s", nproc, &rate);
	print_row("hot", "others", "kop/s", nproc, &others);
	gex_AD_Destroy(ad);
}

/* ---- vis ---- */

/*
 * Counts of `levels` dimensions for so many elements: each level but the last gets the largest
 * factor of what is left that is at most what is left divided by twice the levels behind it.
 */
static void make_counts(size_t elements, size_t levels, size_t count[])
{
	for (size_t d = 0; d + 1 < levels; d++) {
		size_t most = elements / (2 * (levels - 1 - d)), f = most ? most : 1;

		while (elements % f)
			f--;
		count[d] = f;
		elements /= f;
	}
	count[levels - 1] = elements;
}

struct layout {
	size_t levels; /* 0: a list of elements */
	size_t count[LEVELS];
	ptrdiff_t stride[LEVELS];
	void **from, **to;
	size_t elements;
};

static gex_Event_t start_get(const struct layout *l)
{
	if (!l->levels)
		return gex_VIS_IndexedGetNB(team, l->elements, l->from, option.element, 1,
					    l->elements, l->to, option.element, 0);
	return gex_VIS_StridedGetNB(team, segment, l->stride, 1, other_segment, l->stride,
				    option.element, l->count, l->levels, 0);
}

static gex_Event_t start_put(const struct layout *l)
{
	if (!l->levels)
		return gex_VIS_IndexedPutNB(team, 1, l->elements, l->to, option.element,
					    l->elements, l->from, option.element, 0);
	return gex_VIS_StridedPutNB(team, 1, other_segment, l->stride, segment, l->stride,
				    option.element, l->count, l->levels, 0);
}

static double run_flood(const struct layout *l, size_t bytes)
{
	enum { DEPTH = 64 };
	size_t count = option.count / bytes ? option.count / bytes : 1;
	gex_Event_t e[DEPTH];
	double start;

	run_barrier();
	start = now_seconds();
	for (size_t k = 0; me == 0 && k < count; k += DEPTH) {
		size_t n = count - k < DEPTH ? count - k : DEPTH;

		for (size_t i = 0; i < n; i++)
			e[i] = option.get ? start_get(l) : start_put(l);
		gex_Event_WaitAll(e, n, 0);
	}
	start = now_seconds() - start;
	run_barrier();
	return 1e-6 * (double)(count * bytes) / start;
}

static uint8_t *other_mapped; /* other_segment in this process, or NULL */

/* What the processor allows: one loop over the elements of a put. */
static __attribute__((noinline)) void store_elements(size_t elements, size_t bytes, size_t spread)
{
	const uint8_t *from = segment;
	uint8_t *to = other_mapped;

	if (bytes == 8) /* a move each */
		for (size_t i = 0; i < elements; i++, from += spread, to += spread)
			memcpy(to, from, 8);
	else
		for (size_t i = 0; i < elements; i++, from += spread, to += spread)
			memcpy(to, from, bytes);
}

static double run_plain(const struct layout *l, size_t bytes)
{
	size_t count = option.count / bytes ? option.count / bytes : 1;
	double start;

	run_barrier();
	start = now_seconds();
	for (size_t k = 0; me == 0 && k < count; k++) {
		store_elements(l->elements, option.element, 4 * option.element);
		__asm__ volatile("" : : : "memory"); /* each transfer is done */
	}
	start = now_seconds() - start;
	run_barrier();
	return 1e-6 * (double)(count * bytes) / start;
}

static void make_layout(struct layout *l, size_t levels, size_t elements)
{
	size_t spread = 4 * option.element; /* a quarter of each side is transferred */

	*l = (struct layout){.levels = levels, .elements = elements};
	l->from = allocate_pages(elements * sizeof(*l->from));
	l->to = allocate_pages(elements * sizeof(*l->to));
	for (size_t i = 0; i < elements; i++) {
		l->from[i] = segment + i * spread;
		l->to[i] = other_segment + i * spread;
	}
	if (levels)
		make_counts(elements, levels, l->count);
	for (size_t d = 0; d < levels; d++)
		l->stride[d] =
		    d ? l->stride[d - 1] * (ptrdiff_t)l->count[d - 1] : (ptrdiff_t)spread;
}

static void print_vis(size_t i, size_t bytes, struct bench_samples *rate)
{
	char name[32];

	if (i == option.layouts)
		snprintf(name, sizeof(name), "plain loop");
	else if (option.layouts > 1)
		snprintf(name, sizeof(name), "%s %zu", option.get ? "get" : "put",
			 option.levels[i]);
	else
		snprintf(name, sizeof(name), "%s", option.get ? "get" : "put");
	print_row("vis", name, "MB/s", bytes, rate);
}

static void run_vis(void)
{
	size_t series = option.layouts + (option.layouts > 1 && other_mapped && !option.get);
	static struct layout l[LAYOUTS];

	for (size_t s = 0; s < option.sizes; s++) {
		struct bench_samples rate[LAYOUTS + 1] = {{0}};
		size_t elements = option.size[s] / option.element;

		if (!elements || elements * 4 * option.element > segment_bytes)
			continue;
		for (size_t i = 0; i < option.layouts; i++)
			make_layout(&l[i], option.levels[i], elements);
		for (size_t round = 0; round <= option.rounds; round++)
			for (size_t k = 0; k < series; k++) { /* each is once the first */
				size_t i = (round + k) % series, bytes = elements * option.element;
				double r = i < option.layouts ? run_flood(&l[i], bytes)
							      : run_plain(&l[0], bytes);

				if (round)
					bench_samples_add(&rate[i], r);
			}
		for (size_t i = 0; i < series; i++)
			print_vis(i, option.size[s], &rate[i]);
		for (size_t i = 0; i < option.layouts; i++) {
			free(l[i].from);
			free(l[i].to);
		}
	}
}

/* ---- */

static void run_fadd(void)
{
	fadd_U32();
	fadd_U64();
}

static const struct {
	const char *name;
	void (*run)(void);
	size_t count;       /* of messages, puts, operations; vis: bytes in a block */
	gex_Rank_t procs;   /* 0: any number */
	size_t first, last; /* sizes: powers of two */
} figures[] = {
    {"am", run_am, 2000, 2, 0, 4096},   {"imm", run_imm, 400, 0, 1, 0},
    {"lc", run_lc, 500, 2, 1, 2 << 20}, {"fadd", run_fadd, 10000, 2, 1, 0},
    {"hot", run_hot, 5000, 0, 1, 0},    {"vis", run_vis, 1 << 20, 2, 16, 2 << 20},
};

static void fail_usage(const char *why, const char *what)
{
	if (!me)
		fprintf(stderr,
			"gexfig: %s %s (am, imm, lc, fadd, hot or vis; gex_figures.c says "
			"more)\n",
			why, what);
	gasnet_exit(2);
}

static void parse_levels(const char *text)
{
	char *at = (char *)(uintptr_t)text;

	for (option.layouts = 0; *at && option.layouts < LAYOUTS; at += *at == ',') {
		size_t levels = strtoull(at, &at, 0);

		if (levels > LEVELS || (*at && *at != ','))
			fail_usage("no numbers of dimensions:", text);
		option.levels[option.layouts++] = levels;
	}
}

static void parse_options(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
		size_t number = strtoull(value, NULL, 0);

		if (!strcmp(name, "--json")) {
			option.format = BENCH_JSON;
			continue;
		}
		if (!*value)
			fail_usage("no value for", name);
		i++;
		if (!strcmp(name, "--count"))
			option.count = number;
		else if (!strcmp(name, "--rounds"))
			option.rounds = number;
		else if (!strcmp(name, "--block"))
			option.block = number;
		else if (!strcmp(name, "--get"))
			option.get = number;
		else if (!strcmp(name, "--finc"))
			option.finc = number;
		else if (!strcmp(name, "--levels"))
			parse_levels(argv[i]);
		else if (!strcmp(name, "--element") && number)
			option.element = number;
		else if (!strcmp(name, "--sizes"))
			for (char *at = argv[i]; *at && option.sizes < SIZES; at += *at == ',')
				option.size[option.sizes++] = strtoull(at, &at, 0);
		else
			fail_usage("no such option, or a value out of range:", name);
	}
}

static void open_segment(gex_EP_t ep)
{
	gex_AM_Entry_t table[] = {
	    {H_FIXED, (gex_AM_Fn_t)on_fixed, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL,
	     "fixed"},
	    {H_FIXED_BACK, (gex_AM_Fn_t)on_back, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0, NULL,
	     "fixed back"},
	    {H_NEGOTIATED, (gex_AM_Fn_t)on_negotiated, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0,
	     NULL, "negotiated"},
	    {H_NEGOTIATED_BACK, (gex_AM_Fn_t)on_back, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0,
	     NULL, "negotiated back"},
	    {H_COUNT, (gex_AM_Fn_t)on_count, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL,
	     "count"},
	};
	gex_Segment_t attached;
	void *at, *mapped;

	payload = allocate_pages(gex_AM_LUBRequestMedium() > IMM_BYTES ? gex_AM_LUBRequestMedium()
								       : IMM_BYTES);
	if (gex_EP_RegisterHandlers(ep, table, sizeof(table) / sizeof(table[0])) ||
	    gex_Segment_Attach(&attached, team, segment_bytes))
		gasnet_exit(1);
	segment = gex_Segment_QueryAddr(attached);
	memset(segment, 0, segment_bytes);
	gex_Segment_QueryBound(team, nproc > 1 ? 1 : 0, &at, &mapped, NULL);
	other_segment = at;
	other_mapped = mapped;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *facts[] = {NULL};
	gex_Client_t client;
	size_t f = 0;
	gex_EP_t ep;

	if (gex_Client_Init(&client, &ep, &team, "gexfig", &argc, &argv, 0))
		return 1;
	me = gex_TM_QueryRank(team);
	nproc = gex_TM_QuerySize(team);
	while (f < sizeof(figures) / sizeof(figures[0]) && strcmp(figures[f].name, what))
		f++;
	if (f == sizeof(figures) / sizeof(figures[0]))
		fail_usage("no such measurement:", what);
	if (figures[f].procs && nproc != figures[f].procs)
		fail_usage("two processes (torus run -n 2) are needed for", what);
	option.count = figures[f].count;
	parse_options(argc, argv);
	if (!option.sizes)
		for (size_t x = figures[f].first; x <= figures[f].last; x = x ? 2 * x : 1)
			option.size[option.sizes++] = x;
	open_segment(ep);
	bench_pin_to_core(me, nproc);
	if (!me)
		bench_out_begin(option.format, facts);
	figures[f].run();
	run_barrier();
	gasnet_exit(0);
	return 1;
}
