/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole-array arithmetic and matrix products. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/ga/ga_check.h"

#define SIDE 48

static int matrix(const char *name, double (*f)(int, int))
{
	int dims[2] = { SIDE, SIDE }, chunk[2] = { -1, -1 }, lo[2], hi[2], ld[1];
	int g = NGA_Create(C_DBL, 2, dims, (char *)name, chunk);
	double *at;

	expect(g, "create %s", name);
	NGA_Distribution(g, me, lo, hi);
	if (lo[0] >= 0 && lo[0] <= hi[0] && lo[1] <= hi[1]) {
		NGA_Access(g, lo, hi, &at, ld);
		for (int i = lo[0]; i <= hi[0]; i++)
			for (int j = lo[1]; j <= hi[1]; j++)
				at[(long)(i - lo[0]) * ld[0] + j - lo[1]] = f(i, j);
		NGA_Release_update(g, lo, hi);
	}
	GA_Sync();
	return g;
}

static double first(int i, int j)
{
	return (i * 7 + j * 3) % 11 - 5;
}

static double second(int i, int j)
{
	return (i * 5 + j * 13) % 17 - 8;
}

static void check(int g, double (*f)(int, int), const char *what)
{
	int lo[2] = { 0, 0 }, hi[2] = { SIDE - 1, SIDE - 1 }, ld[1] = { SIDE }, k = 0;
	double *x = malloc(SIDE * SIDE * sizeof *x);

	NGA_Get(g, lo, hi, x, ld);
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++)
			k += fabs(x[i * SIDE + j] - f(i, j)) > 1e-9 * (1 + fabs(f(i, j)));
	expect(!k, "%s: %d elements of %d are wrong", what, k, SIDE * SIDE);
	GA_Sync();
	free(x);
}

static double sum(int i, int j) { return 2 * first(i, j) - 3 * second(i, j); }
static double turned(int i, int j) { return first(j, i); }
static double middle(int i, int j) { return (first(i, j) + first(j, i)) / 2; }
static double product(int i, int j) { return first(i, j) * second(i, j); }
static double larger(int i, int j) { return fmax(first(i, j), second(i, j)); }
static double positive(int i, int j) { return fabs(first(i, j)); }
static double plus_two(int i, int j) { return first(i, j) + 2; }

void test_math(void)
{
	int a = matrix("a", first), b = matrix("b", second), c = GA_Duplicate(a, "c"), index[2];
	double two = 2, minus = -3, dot = 0, most = -1e9, x;

	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++) {
			dot += product(i, j);
			most = fmax(most, second(i, j));
		}
	expect(GA_Ddot(a, b) == dot, "dot");
	GA_Add(&two, a, &minus, b, c);
	check(c, sum, "add");
	GA_Transpose(a, c);
	check(c, turned, "transpose");
	GA_Copy(a, c);
	check(c, first, "copy");
	GA_Symmetrize(c);
	check(c, middle, "symmetrize");
	GA_Elem_multiply(a, b, c);
	check(c, product, "elementwise product");
	GA_Elem_maximum(a, b, c);
	check(c, larger, "elementwise maximum");
	GA_Copy(a, c);
	GA_Abs_value(c);
	check(c, positive, "absolute value");
	GA_Copy(a, c);
	GA_Add_constant(c, &two);
	check(c, plus_two, "add a constant");
	NGA_Select_elem(b, "max", &x, index);
	expect(x == most && second(index[0], index[1]) == most, "greatest element %g at %d,%d", x, index[0], index[1]);
	GA_Norm_infinity(a, &x);
	expect(x > 0, "norm");
	GA_Copy(a, c);
	NGA_Copy_patch('n', b, (int[]){ 3, 4 }, (int[]){ 20, 30 }, c, (int[]){ 11, 12 }, (int[]){ 28, 38 });
	NGA_Get(c, (int[]){ 11, 12 }, (int[]){ 11, 12 }, &x, &(int){ 1 });
	expect(x == second(3, 4), "copy of a patch");
	GA_Destroy(c);
	GA_Destroy(b);
	GA_Destroy(a);
}

static double times(int i, int j)
{
	double x = 0;

	for (int k = 0; k < SIDE; k++)
		x += first(i, k) * second(k, j);
	return x;
}

static double times_turned(int i, int j)
{
	double x = 0;

	for (int k = 0; k < SIDE; k++)
		x += first(k, i) * second(j, k);
	return 2 * x + first(i, j);
}

static double heavy(int i, int j)
{
	return (i + j) * 7 % 11 - 5 + (i == j ? 6 * SIDE : 0);
}

static double unit(int i, int j)
{
	return i == j;
}

/* ScaLAPACK, on GA's own communicator. */
static void invert(void)
{
	int a = matrix("symmetric", heavy), b = GA_Duplicate(a, "inverse"), c = GA_Duplicate(a, "product");

	GA_Copy(a, b);
	expect(GA_Spd_invert(b) == 0, "inverse");
	GA_Dgemm('n', 'n', SIDE, SIDE, SIDE, 1, a, b, 0, c);
	check(c, unit, "a matrix times its inverse");
	GA_Destroy(c);
	GA_Destroy(b);
	GA_Destroy(a);
}

void test_matrix(void)
{
	int a = matrix("a", first), b = matrix("b", second), c = matrix("c", first);
	int lo[2] = { 0, 0 }, hi[2] = { SIDE - 1, SIDE - 1 };
	double one = 1, zero = 0;

	GA_Dgemm('n', 'n', SIDE, SIDE, SIDE, 1, a, b, 0, c);
	check(c, times, "product");
	GA_Copy(a, c);
	GA_Dgemm('t', 't', SIDE, SIDE, SIDE, 2, a, b, 1, c);
	check(c, times_turned, "product of transposes");
	GA_Zero(c);
	NGA_Matmul_patch('n', 'n', &one, &zero, a, lo, hi, b, lo, hi, c, lo, hi);
	check(c, times, "product of patches");
	GA_Destroy(c);
	GA_Destroy(b);
	GA_Destroy(a);
	invert();
}
