/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole-array arithmetic and matrix products. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/apps/ga/ga_check.h"

#define SIDE 48

static int make_matrix(const char *name, double (*f)(int, int))
{
	int dims[2] = {SIDE, SIDE}, chunk[2] = {-1, -1}, lo[2], hi[2], ld[1];
	int g = NGA_Create(C_DBL, 2, dims, (char *)name, chunk);
	double *at;

	expect_true(g, "create %s", name);
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

static double first_at(int i, int j)
{
	return (i * 7 + j * 3) % 11 - 5;
}

static double second_at(int i, int j)
{
	return (i * 5 + j * 13) % 17 - 8;
}

static void check_matrix(int g, double (*f)(int, int), const char *what)
{
	int lo[2] = {0, 0}, hi[2] = {SIDE - 1, SIDE - 1}, ld[1] = {SIDE}, k = 0;
	double *x = malloc(SIDE * SIDE * sizeof *x);

	NGA_Get(g, lo, hi, x, ld);
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++)
			k += fabs(x[i * SIDE + j] - f(i, j)) > 1e-9 * (1 + fabs(f(i, j)));
	expect_true(!k, "%s: %d elements of %d are wrong", what, k, SIDE * SIDE);
	GA_Sync();
	free(x);
}

static double sum_at(int i, int j)
{
	return 2 * first_at(i, j) - 3 * second_at(i, j);
}
static double turned_at(int i, int j)
{
	return first_at(j, i);
}
static double middle_at(int i, int j)
{
	return (first_at(i, j) + first_at(j, i)) / 2;
}
static double product_at(int i, int j)
{
	return first_at(i, j) * second_at(i, j);
}
static double larger_at(int i, int j)
{
	return fmax(first_at(i, j), second_at(i, j));
}
static double positive_at(int i, int j)
{
	return fabs(first_at(i, j));
}
static double plus_two(int i, int j)
{
	return first_at(i, j) + 2;
}

void test_math(void)
{
	int a = make_matrix("a", first_at), b = make_matrix("b", second_at),
	    c = GA_Duplicate(a, "c"), index[2];
	double two = 2, minus = -3, dot = 0, most = -1e9, x;

	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++) {
			dot += product_at(i, j);
			most = fmax(most, second_at(i, j));
		}
	expect_true(GA_Ddot(a, b) == dot, "dot");
	GA_Add(&two, a, &minus, b, c);
	check_matrix(c, sum_at, "add");
	GA_Transpose(a, c);
	check_matrix(c, turned_at, "transpose");
	GA_Copy(a, c);
	check_matrix(c, first_at, "copy");
	GA_Symmetrize(c);
	check_matrix(c, middle_at, "symmetrize");
	GA_Elem_multiply(a, b, c);
	check_matrix(c, product_at, "elementwise product");
	GA_Elem_maximum(a, b, c);
	check_matrix(c, larger_at, "elementwise maximum");
	GA_Copy(a, c);
	GA_Abs_value(c);
	check_matrix(c, positive_at, "absolute value");
	GA_Copy(a, c);
	GA_Add_constant(c, &two);
	check_matrix(c, plus_two, "add a constant");
	NGA_Select_elem(b, "max", &x, index);
	expect_true(x == most && second_at(index[0], index[1]) == most,
		    "greatest element %g at %d,%d", x, index[0], index[1]);
	GA_Norm_infinity(a, &x);
	expect_true(x > 0, "norm");
	GA_Copy(a, c);
	NGA_Copy_patch('n', b, (int[]){3, 4}, (int[]){20, 30}, c, (int[]){11, 12}, (int[]){28, 38});
	NGA_Get(c, (int[]){11, 12}, (int[]){11, 12}, &x, &(int){1});
	expect_true(x == second_at(3, 4), "copy of a patch");
	GA_Destroy(c);
	GA_Destroy(b);
	GA_Destroy(a);
}

static double times_at(int i, int j)
{
	double x = 0;

	for (int k = 0; k < SIDE; k++)
		x += first_at(i, k) * second_at(k, j);
	return x;
}

static double times_turned(int i, int j)
{
	double x = 0;

	for (int k = 0; k < SIDE; k++)
		x += first_at(k, i) * second_at(j, k);
	return 2 * x + first_at(i, j);
}

static double heavy_at(int i, int j)
{
	return (i + j) * 7 % 11 - 5 + (i == j ? 6 * SIDE : 0);
}

static double unit_at(int i, int j)
{
	return i == j;
}

/* ScaLAPACK, on GA's own communicator. */
static void inverses_are_right(void)
{
	int a = make_matrix("symmetric", heavy_at), b = GA_Duplicate(a, "inverse"),
	    c = GA_Duplicate(a, "product");

	GA_Copy(a, b);
	expect_true(GA_Spd_invert(b) == 0, "inverse");
	GA_Dgemm('n', 'n', SIDE, SIDE, SIDE, 1, a, b, 0, c);
	check_matrix(c, unit_at, "a matrix times its inverse");
	GA_Destroy(c);
	GA_Destroy(b);
	GA_Destroy(a);
}

void test_matrix(void)
{
	int a = make_matrix("a", first_at), b = make_matrix("b", second_at),
	    c = make_matrix("c", first_at);
	int lo[2] = {0, 0}, hi[2] = {SIDE - 1, SIDE - 1};
	double one = 1, zero = 0;

	GA_Dgemm('n', 'n', SIDE, SIDE, SIDE, 1, a, b, 0, c);
	check_matrix(c, times_at, "product");
	GA_Copy(a, c);
	GA_Dgemm('t', 't', SIDE, SIDE, SIDE, 2, a, b, 1, c);
	check_matrix(c, times_turned, "product of transposes");
	GA_Zero(c);
	NGA_Matmul_patch('n', 'n', &one, &zero, a, lo, hi, b, lo, hi, c, lo, hi);
	check_matrix(c, times_at, "product of patches");
	GA_Destroy(c);
	GA_Destroy(b);
	GA_Destroy(a);
	inverses_are_right();
}
