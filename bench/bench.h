/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts that all benches share: samples and their statistics, result rows as a table, CSV or
 * JSON lines, and the facts of the host, so that no number is printed without them. Independent of
 * PAMI.
 *
 * A row has the median over repetitions, and the smallest and largest. Where single events were
 * timed, their percentiles follow. Units are in the row: us, M/s (million messages a second), GB/s
 * (10^9 bytes a second), MiB, s.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum bench_format { BENCH_TABLE, BENCH_CSV, BENCH_JSON };

struct bench_samples {
	double *value;
	size_t count, room;
};

/* Add a sample. Exits with a message when out of memory. */
void bench_samples_add(struct bench_samples *s, double value);
void bench_samples_free(struct bench_samples *s);
/* Return the quantile q (0 .. 1, nearest rank), NAN without samples. Sorts the samples in place. */
double bench_quantile(struct bench_samples *s, double q);

struct bench_row {
	const char *bench;   /* "latency" */
	const char *variant; /* "immediate" */
	size_t bytes;        /* of payload in one operation */
	const char *unit;
	double value, low, high; /* median, smallest, largest of the repetitions */
	double percentile[4];    /* 50, 90, 99, 99.9 of single events; all 0: not measured */
	unsigned repetitions;
	int from, to, hops; /* tasks and torus hops; -1: does not apply */
	unsigned pairs;     /* pairs that ran at the same time; 0: does not apply */
	const char *check;  /* "ok", "BAD", or "" where data was not checked */
};

/* Set median and spread of the repetitions in the row. The caller frees the samples. */
void bench_row_value(struct bench_row *row, struct bench_samples *repetitions);
void bench_row_percentiles(struct bench_row *row, struct bench_samples *events);

/*
 * Print the facts (once, before the rows), then rows. `facts` is a NULL-terminated list of name,
 * value, name, value ... that are printed after those of the host.
 */
void bench_out_begin(enum bench_format format, const char *const *facts);
void bench_out_row(enum bench_format format, const struct bench_row *row);

/*
 * Bind this thread to the index-th of the cores it may use, if there are at least `count` of them:
 * two processes that spin on one core measure the scheduler.
 */
void bench_pin_to_core(unsigned index, unsigned count);

#endif
