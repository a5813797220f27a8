/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels of agas_nas share: arrays of a global address space, sums, random numbers. */
#ifndef BENCH_AGAS_NAS_H
#define BENCH_AGAS_NAS_H

#include <agas.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern struct nas {
	int me, ranks;
	size_t page;
	char class; /* S, W or A */
} nas;

/* These end the program with a message if they fail. */
void nas_barrier(void);
void nas_fence(void);
void nas_put(gva_t to, const void *from, size_t bytes);
void nas_get(void *to, gva_t from, size_t bytes);
/* Memory of this process, zeroed. */
void *nas_allocate(size_t bytes);

/* A run of whole pages for each rank, at the rank. */
struct nas_array {
	gva_t base;
	size_t run; /* bytes of a rank */
};
/* By all ranks: `bytes` bytes for each. */
struct nas_array nas_map(size_t bytes);
gva_t nas_at(const struct nas_array *a, int rank, size_t offset);

/*
 * By all ranks: what came before does not count. The description of the benchmarks lets a kernel
 * touch its memory and run one iteration first; EP has none.
 */
void nas_begin_clock(void);
/* In virtual time, what the program computes itself takes no time, so it says how much that is. */
void nas_charge(double operations);

/* The sums of n values (32 at most) over all ranks, at all ranks, in the order of the ranks. */
void nas_sum_all(double *value, int n);
double nas_sum(double value);

/* x = 5^13 x modulo 2^46: the next number, between 0 and 1; x after so many steps. */
double nas_random(uint64_t *x);
uint64_t nas_random_skip(uint64_t x, uint64_t steps);

/* Returns true if the relative error of a value is small enough. */
bool nas_is_near(double value, double expected, double error);

/* agas_nas_mg.c: multigrid. Returns true if the result is right. */
bool nas_run_mg(void);

#endif
