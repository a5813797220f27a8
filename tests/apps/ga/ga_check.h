/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the Global Arrays test share: element types as numbers, patches, chance. */
#ifndef GA_CHECK_H
#define GA_CHECK_H

#include <mpi.h>
#include <stdint.h>

#include <ga.h>
#include <macdecls.h>

#define DIMS 7

extern int me, n, bad;

/* Says what is wrong (the first twenty times) and remembers it. */
void expect_true(int ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint32_t draw_below(uint32_t below);  /* this process's own stream */
uint32_t draw_common(uint32_t below); /* the same stream in all processes */

struct type {
	int id;
	const char *name;
	int bytes;
};
extern const struct type types[];
extern const int type_count;

/* Elements as numbers: a complex one is v - (v / 2) i. */
void store_element(const struct type *t, void *buf, long i, double v);
double fetch_element(const struct type *t, const void *buf, long i);

/* A patch of an array: bounds, elements in a dense buffer, leading dimensions of that. */
struct patch {
	int ndim, lo[DIMS], hi[DIMS], ld[DIMS], len[DIMS];
	long count;
};
void patch_set(struct patch *p, int ndim, const int *lo, const int *hi);
void patch_random(struct patch *p, int ndim, const int *dims, uint32_t (*rng)(uint32_t));
/* Indices of element i of the patch; their number in an array of dims, row-major. */
void patch_index(const struct patch *p, long i, int *index);
long linear_index(int ndim, const int *dims, const int *index);

void test_transfers(void);
void test_distributions(void);
void test_ghosts(void);
void test_math(void);
void test_matrix(void);
void test_groups(void);
void test_mirrored(void);
void test_sharing(void);

#endif
