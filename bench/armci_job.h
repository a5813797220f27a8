/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts that the ARMCI benches share: memory at a peer, timing, rows. Process 0 measures
 * against process 1 (`peer`), unless a bench documents otherwise; the others wait in a barrier. A
 * failure ends the job.
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
	size_t size;      /* size parameter of the bench; 0: its default */
	size_t steps;     /* a second parameter */
	unsigned repetitions;
	double seconds; /* length of one repetition */
	void **mem;     /* set by abench_open_memory() */
};

/* Read the command line after the name of the bench. ARMCI is initialised. */
void abench_open(struct abench *a, int argc, char **argv);
/* Collective. Allocate and clear that much memory in every process; a->mem[p] as from ARMCI_Malloc.
 */
void abench_open_memory(struct abench *a, size_t bytes);
void abench_close_memory(struct abench *a);
void *
abench_local(size_t bytes); /* cleared memory of ARMCI_Malloc_local(); ends the job on failure */
void abench_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Put or get `count` times between local and the peer, ABENCH_STREAM operations in flight. Puts are
 * in place when it returns. */
enum { ABENCH_STREAM = 16 };
void abench_stream(struct abench *a, void *local, size_t bytes, long count, bool is_put);
bool abench_is_wanted(const struct abench *a, const char *variant);

/*
 * Time fn(arg, count), which does `count` operations. Returns the seconds for one operation:
 * median, smallest and largest over the repetitions. Each repetition is long enough to be timed (in
 * virtual time: one short repetition).
 */
typedef void (*abench_fn)(void *arg, long count);
struct abench_time {
	double median, low, high;
	unsigned repetitions;
};
struct abench_time abench_measure(struct abench *a, abench_fn fn, void *arg);
/*
 * Time several variants in alternating blocks (in order, then in reverse), so that changes on the
 * machine affect all of them. s[i] gets the seconds of an operation of v[i] in each round.
 * before(arg, i), if not NULL, runs before each block of v[i] and is not timed.
 */
struct abench_variant {
	const char *name;
	abench_fn fn;
};
enum { ABENCH_VARIANTS = 8 };
void abench_alternate(struct abench *a, const struct abench_variant *v, size_t variants,
		      void (*before)(void *arg, size_t i), void *arg, struct bench_samples s[]);
/* Return median, smallest and largest of s. Sorts s. */
struct abench_time abench_time_of(struct bench_samples *s);
/* Print a row with the ratios of two variants in each round: median and quartiles. Call it before
 * abench_time_of(), which sorts. */
void abench_ratio(struct abench *a, const char *bench, const char *variant, size_t x,
		  const struct bench_samples *ours, const struct bench_samples *theirs,
		  bool inverse);
/* Print a row; x is its "bytes". scale: from seconds to the unit (1e6: us); inverse: scale /
 * seconds. */
void abench_row(struct abench *a, const char *bench, const char *variant, size_t x,
		const char *unit, double scale, bool inverse, const struct abench_time *t);
/* Print a row of one number. */
void abench_number(struct abench *a, const char *bench, const char *variant, size_t x,
		   const char *unit, double value);

/* The benches. Every process calls them. Return 0, or the exit status of the process. */
int abench_latency(struct abench *a);    /* armci-t1, bgq-f4, f6 */
int abench_bandwidth(struct abench *a);  /* armci-f14, bgq-f5, f7 */
int abench_add(struct abench *a);        /* bgq-f10, to a process that waits */
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
