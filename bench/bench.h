/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every bench shares: samples and their statistics, result rows as a table, CSV or JSON lines,
 * and the facts of the host, so that no number travels without them. Knows nothing of PAMI.
 *
 * A row is a median over repetitions with the smallest and largest beside it; where single events
 * were timed, their percentiles follow. Units are in the row: us, M/s (million messages a second),
 * GB/s (10^9 bytes a second), MiB, s.
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

/* Grows as needed; exits with a message when out of memory. */
void bench_samples_add(struct bench_samples *s, double value);
void bench_samples_free(struct bench_samples *s);
/* Sorts in place. q: 0 .. 1; nearest rank. NAN if there are none. */
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
	unsigned pairs;     /* pairs that ran at once; 0: does not apply */
	const char *check;  /* "ok", "BAD", or "" where data was not checked */
};

/* Median and spread of the repetitions into the row; the samples stay the caller's. */
void bench_row_value(struct bench_row *row, struct bench_samples *repetitions);
void bench_row_percentiles(struct bench_row *row, struct bench_samples *events);

/*
 * Print the facts (once, before the rows), then rows. `facts` is a NULL-terminated list of
 * name, value, name, value ... put beside what is read from the host itself.
 */
void bench_out_begin(enum bench_format format, const char *const *facts);
void bench_out_row(enum bench_format format, const struct bench_row *row);

#endif
