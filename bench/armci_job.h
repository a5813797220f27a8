/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ARMCI benches share: memory at a partner, timing, rows. Process 0 measures against process
 * 1 (`peer`), unless a bench says otherwise; the others wait in a barrier. Failures end the job.
 */
#ifndef BENCH_ARMCI_JOB_H
#define BENCH_ARMCI_JOB_H

#include <stdbool.h>

#include <armcix.h>

#include "bench/bench.h"

struct abench {
	int me, n, peer;
	bool drives; /* process 0 */
	bool is_virtual;
	enum bench_format format;
	const char *only; /* only this variant, or NULL */
	size_t size;      /* a number for the bench; 0: its own default */
	size_t steps;     /* another */
	unsigned repetitions;
	double seconds; /* of one repetition */
	void **mem;     /* of abench_open_memory() */
};

/* ARMCI is up. Reads the command line behind the bench's name. */
void abench_open(struct abench *a, int argc, char **argv);
/* Collective: that much memory everywhere, cleared; a->mem[p] as ARMCI_Malloc gives it. */
void abench_open_memory(struct abench *a, size_t bytes);
void abench_close_memory(struct abench *a);
void *abench_local(size_t bytes); /* ARMCI_Malloc_local, cleared, or the job ends */
void abench_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
bool abench_wanted(const struct abench *a, const char *variant);

/*
 * Time fn(arg, count), which does `count` operations: seconds for one, median, least, most over the
 * repetitions, each long enough to be timed (in virtual time: one, short).
 */
typedef void (*abench_fn)(void *arg, long count);
struct abench_time {
	double median, low, high;
	unsigned repetitions;
};
struct abench_time abench_measure(struct abench *a, abench_fn fn, void *arg);
/*
 * The same for several, in blocks that alternate (there and back), so that what a machine does in the
 * meantime happens to all of them: s[i] gets the seconds of an operation of v[i] in each round.
 * before(arg, i), if given, is called ahead of each block of v[i], and does not count.
 */
struct abench_variant {
	const char *name;
	abench_fn fn;
};
enum { ABENCH_VARIANTS = 8 };
void abench_alternate(struct abench *a, const struct abench_variant *v, size_t variants,
		      void (*before)(void *arg, size_t i), void *arg, struct bench_samples s[]);
/* Median, least, most of s, which it sorts. */
struct abench_time abench_time_of(struct bench_samples *s);
/* A row: the rounds' ratios of two variants, median and quartiles. Ahead of abench_time_of(). */
void abench_ratio(struct abench *a, const char *bench, const char *variant, size_t x,
		  const struct bench_samples *ours, const struct bench_samples *theirs, bool inverse);
/* A row on stdout; x is the row's "bytes". scale: of seconds to unit (1e6: us); inverse: scale /
 * seconds. */
void abench_row(struct abench *a, const char *bench, const char *variant, size_t x, const char *unit,
		double scale, bool inverse, const struct abench_time *t);
/* A row of one number. */
void abench_number(struct abench *a, const char *bench, const char *variant, size_t x, const char *unit,
		   double value);

/* The benches: 0, or the process's exit status. Every process calls. */
int abench_latency(struct abench *a);    /* armci-t1, bgq-f4, f6 */
int abench_bandwidth(struct abench *a);  /* armci-f14, bgq-f5, f7 */
int abench_add(struct abench *a);        /* bgq-f10, at a process that waits */
int abench_attributes(struct abench *a); /* bgq-t2 */
int abench_patch(struct abench *a);      /* armci-f18 */
int abench_rows(struct abench *a);       /* armci-f18, many short rows */
int abench_chunks(struct abench *a);     /* bgq-f9 */
int abench_overlap(struct abench *a);    /* armci-f19 */
int abench_aggregate(struct abench *a);  /* armci-f20 */
int abench_counter(struct abench *a);    /* bgq-f10 */
int abench_accumulate(struct abench *a); /* bgq-f11 */
int abench_lu(struct abench *a);         /* bgq-f12 */
int abench_lattice(struct abench *a);    /* bgq-f13 */
int abench_scf(struct abench *a);        /* bgq-f14 */
int abench_mg(struct abench *a);         /* armci-f21 */

#endif
