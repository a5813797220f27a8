/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/armci_job.h"

void abench_die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	ARMCI_Error("bench", 1);
	abort();
}

static size_t parse_number(const char *text)
{
	char *end;
	size_t v = strtoull(text, &end, 0);

	if (end == text || (*end && !strchr("kKmM", *end)))
		abench_die("'%s' is not a number", text);
	return v << (*end == 0 ? 0 : *end == 'k' || *end == 'K' ? 10 : 20);
}

/* The library's own threads exist already and stay free. Within a host the numbers are steadier
 * then; between hosts the threads that serve the wire meet a process that cannot move away. */
static void pin_process(const struct abench *a)
{
	if (!a->is_virtual)
		bench_pin_to_core((unsigned)a->me, (unsigned)a->n);
}

void abench_open(struct abench *a, int argc, char **argv)
{
	int i;

	memset(a, 0, sizeof(*a));
	a->me = armci_msg_me();
	a->n = armci_msg_nproc();
	a->peer = a->n > 1 ? 1 : 0;
	a->drives = a->me == 0;
	a->is_virtual = ARMCIX_Clock_is_virtual();
	a->repetitions = a->is_virtual ? 1 : 7;
	a->seconds = a->is_virtual ? 0.3e-3 : 10e-3;
	for (i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			a->format = BENCH_JSON;
		else if (!strcmp(argv[i], "--pin"))
			pin_process(a);
		else if (!strcmp(argv[i], "--csv"))
			a->format = BENCH_CSV;
		else if (!strcmp(argv[i], "--only") && i + 1 < argc)
			a->only = argv[++i];
		else if (!strcmp(argv[i], "--size") && i + 1 < argc)
			a->size = parse_number(argv[++i]);
		else if (!strcmp(argv[i], "--steps") && i + 1 < argc)
			a->steps = parse_number(argv[++i]);
		else if (!strcmp(argv[i], "--repetitions") && i + 1 < argc)
			a->repetitions = (unsigned)parse_number(argv[++i]);
		else if (!strcmp(argv[i], "--peer") && i + 1 < argc)
			a->peer = (int)parse_number(argv[++i]);
		else
			abench_die("'%s' is no option: --json --csv --pin --only VARIANT --size N "
				   "--steps N "
				   "--repetitions N --peer RANK",
				   argv[i]);
	}
	if (a->peer >= a->n)
		abench_die("there is no process %d", a->peer);
}

void abench_open_memory(struct abench *a, size_t bytes)
{
	a->mem = calloc((size_t)a->n, sizeof(*a->mem));
	if (!a->mem || ARMCI_Malloc(a->mem, (armci_size_t)bytes))
		abench_die("no memory of %zu bytes", bytes);
	memset(a->mem[a->me], 0, bytes);
	ARMCI_Barrier();
}

void abench_close_memory(struct abench *a)
{
	ARMCI_Barrier();
	ARMCI_Free(a->mem[a->me]);
	free(a->mem);
	a->mem = NULL;
}

void *abench_local(size_t bytes)
{
	void *p = ARMCI_Malloc_local((armci_size_t)bytes);

	if (!p)
		abench_die("no memory of %zu bytes", bytes);
	return memset(p, 0, bytes);
}

void abench_stream(struct abench *a, void *local, size_t bytes, long count, bool is_put)
{
	armci_hdl_t h[ABENCH_STREAM];
	long i;

	for (i = 0; i < ABENCH_STREAM; i++)
		ARMCI_INIT_HANDLE(&h[i]);
	for (i = 0; i < count; i++) {
		armci_hdl_t *next = &h[i % ABENCH_STREAM];

		ARMCI_Wait(next);
		if (is_put)
			ARMCI_NbPut(local, a->mem[a->peer], (int)bytes, a->peer, next);
		else
			ARMCI_NbGet(a->mem[a->peer], local, (int)bytes, a->peer, next);
	}
	for (i = 0; i < ABENCH_STREAM; i++)
		ARMCI_Wait(&h[i]);
	if (is_put)
		ARMCI_Fence(a->peer);
}

bool abench_is_wanted(const struct abench *a, const char *variant)
{
	return !a->only || !strcmp(a->only, variant);
}

static double time_call(abench_fn fn, void *arg, long count)
{
	double begin = armci_timer();

	fn(arg, count);
	return armci_timer() - begin;
}

/* Return how many operations take the time of a repetition. */
static long count_of(abench_fn fn, void *arg, double wanted)
{
	long count = 1;
	double seconds;

	fn(arg, 1); /* the first call exchanges regions and touches pages */
	while ((seconds = time_call(fn, arg, count)) < wanted / 2 && count < 1L << 24)
		count = seconds > wanted / 16 ? (long)((double)count * wanted / seconds) + 1
					      : count * 8;
	return count;
}

struct abench_time abench_time_of(struct bench_samples *s)
{
	struct abench_time t = {.median = bench_quantile(s, 0.5),
				.low = bench_quantile(s, 0),
				.high = bench_quantile(s, 1),
				.repetitions = (unsigned)s->count};

	return t;
}

struct abench_time abench_measure(struct abench *a, abench_fn fn, void *arg)
{
	struct bench_samples s = {0};
	struct abench_time t;
	long count = count_of(fn, arg, a->seconds);
	unsigned i;

	for (i = 0; i < a->repetitions; i++)
		bench_samples_add(&s, time_call(fn, arg, count) / (double)count);
	t = abench_time_of(&s);
	bench_samples_free(&s);
	return t;
}

void abench_alternate(struct abench *a, const struct abench_variant *v, size_t variants,
		      void (*before)(void *arg, size_t i), void *arg, struct bench_samples s[])
{
	long count[ABENCH_VARIANTS];
	unsigned round;
	size_t k, i;

	if (variants > ABENCH_VARIANTS)
		abench_die("%zu variants", variants);
	for (i = 0; i < variants; i++) {
		if (before)
			before(arg, i);
		count[i] = count_of(v[i].fn, arg, a->seconds / (a->is_virtual ? 1 : 4));
	}
	for (round = 0; round < a->repetitions; round++)
		for (k = 0; k < variants; k++) {
			i = round % 2 ? variants - 1 - k : k;
			if (before)
				before(arg, i);
			time_call(v[i].fn, arg, count[i] / 16 + 1);
			bench_samples_add(&s[i],
					  time_call(v[i].fn, arg, count[i]) / (double)count[i]);
		}
}

void abench_ratio(struct abench *a, const char *bench, const char *variant, size_t x,
		  const struct bench_samples *ours, const struct bench_samples *theirs,
		  bool inverse)
{
	struct bench_samples s = {0};
	struct abench_time t;
	size_t i;

	for (i = 0; i < ours->count && i < theirs->count; i++)
		bench_samples_add(&s, inverse ? theirs->value[i] / ours->value[i]
					      : ours->value[i] / theirs->value[i]);
	t = (struct abench_time){bench_quantile(&s, 0.5), bench_quantile(&s, 0.25),
				 bench_quantile(&s, 0.75), (unsigned)s.count};
	abench_row(a, bench, variant, x, "x", 1, false, &t);
	bench_samples_free(&s);
}

void abench_row(struct abench *a, const char *bench, const char *variant, size_t x,
		const char *unit, double scale, bool inverse, const struct abench_time *t)
{
	struct bench_row r = {.bench = bench,
			      .variant = variant,
			      .bytes = x,
			      .unit = unit,
			      .value = inverse ? scale / t->median : t->median * scale,
			      .low = inverse ? scale / t->high : t->low * scale,
			      .high = inverse ? scale / t->low : t->high * scale,
			      .repetitions = t->repetitions,
			      .from = 0,
			      .to = a->peer,
			      .hops = -1,
			      .check = ""};

	bench_out_row(a->format, &r);
}

void abench_number(struct abench *a, const char *bench, const char *variant, size_t x,
		   const char *unit, double value)
{
	struct abench_time t = {value, value, value, 1};

	abench_row(a, bench, variant, x, unit, 1, false, &t);
}
