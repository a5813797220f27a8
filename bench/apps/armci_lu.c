/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LU without pivoting of a diagonally dominant matrix, with blocks distributed over a
 * two-dimensional grid of processes. Each step gets the blocks of row and column that it needs,
 * one-sided. The result is checked: L (U x) against A x.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/armci_job.h"

enum { BLOCK = 32, BYTES = BLOCK * BLOCK * 8 };

struct lu {
	struct abench *a;
	int blocks;        /* of a side */
	int pr, pc;        /* the grid of processes */
	int cols;          /* block columns that a process may have */
	double *row, *col; /* blocks (k, j) and (i, k) that a step fetches */
	double computed, flops;
};

static double element_at(int i, int j, int n)
{
	unsigned h = (unsigned)i * 2654435761u ^ (unsigned)j * 40503u;

	h ^= h >> 15;
	return i == j ? n : (double)(h * 2246822519u >> 8) / (1 << 24) - 0.5;
}

static int owner_of(const struct lu *l, int i, int j)
{
	return i % l->pr * l->pc + j % l->pc;
}

static double *block_at(const struct lu *l, int i, int j)
{
	size_t at = (size_t)(i / l->pr) * (size_t)l->cols + (size_t)(j / l->pc);

	return (double *)l->a->mem[owner_of(l, i, j)] + at * BLOCK * BLOCK;
}

static bool is_mine(const struct lu *l, int i, int j)
{
	return owner_of(l, i, j) == l->a->me;
}

/* In virtual time arithmetic costs what the program declares: 2 GFlop/s. */
static void count_flops(struct lu *l, double begin, double flops)
{
	if (l->a->is_virtual)
		ARMCIX_Compute(flops / 2e9);
	l->computed += armci_timer() - begin;
	l->flops += flops;
}

static void factor_block(double *d)
{
	int k, i, j;

	for (k = 0; k < BLOCK; k++)
		for (i = k + 1; i < BLOCK; i++) {
			d[i * BLOCK + k] /= d[k * BLOCK + k];
			for (j = k + 1; j < BLOCK; j++)
				d[i * BLOCK + j] -= d[i * BLOCK + k] * d[k * BLOCK + j];
		}
}

/* x = x U^-1 */
static void solve_right(double *x, const double *d)
{
	int i, j, k;

	for (i = 0; i < BLOCK; i++)
		for (j = 0; j < BLOCK; j++) {
			for (k = 0; k < j; k++)
				x[i * BLOCK + j] -= x[i * BLOCK + k] * d[k * BLOCK + j];
			x[i * BLOCK + j] /= d[j * BLOCK + j];
		}
}

/* x = L^-1 x, L with ones on its diagonal */
static void solve_left(double *x, const double *d)
{
	int i, j, k;

	for (i = 0; i < BLOCK; i++)
		for (k = 0; k < i; k++)
			for (j = 0; j < BLOCK; j++)
				x[i * BLOCK + j] -= d[i * BLOCK + k] * x[k * BLOCK + j];
}

static void update_block(double *restrict c, const double *restrict x, const double *restrict y)
{
	int i, j, k;

	for (i = 0; i < BLOCK; i++)
		for (k = 0; k < BLOCK; k++)
			for (j = 0; j < BLOCK; j++)
				c[i * BLOCK + j] -= x[i * BLOCK + k] * y[k * BLOCK + j];
}

static void run_step(struct lu *l, int k)
{
	static double diagonal[BLOCK * BLOCK];
	const double cube = (double)BLOCK * BLOCK * BLOCK;
	double begin;
	int i, j;

	if (is_mine(l, k, k)) {
		begin = armci_timer();
		factor_block(block_at(l, k, k));
		count_flops(l, begin, cube * 2 / 3);
	}
	ARMCI_Barrier();
	ARMCI_Get(block_at(l, k, k), diagonal, BYTES, owner_of(l, k, k));
	begin = armci_timer();
	for (i = k + 1; i < l->blocks; i++) {
		if (is_mine(l, i, k)) {
			solve_right(block_at(l, i, k), diagonal);
			l->flops += cube;
		}
		if (is_mine(l, k, i)) {
			solve_left(block_at(l, k, i), diagonal);
			l->flops += cube;
		}
	}
	count_flops(l, begin, 0);
	ARMCI_Barrier();
	for (i = k + 1; i < l->blocks; i++) {
		if (i % l->pr == l->a->me / l->pc)
			ARMCI_NbGet(block_at(l, i, k), l->col + (size_t)i * BLOCK * BLOCK, BYTES,
				    owner_of(l, i, k), NULL);
		if (i % l->pc == l->a->me % l->pc)
			ARMCI_NbGet(block_at(l, k, i), l->row + (size_t)i * BLOCK * BLOCK, BYTES,
				    owner_of(l, k, i), NULL);
	}
	ARMCI_WaitAll();
	begin = armci_timer();
	for (i = k + 1; i < l->blocks; i++)
		for (j = k + 1; j < l->blocks; j++)
			if (is_mine(l, i, j)) {
				update_block(block_at(l, i, j), l->col + (size_t)i * BLOCK * BLOCK,
					     l->row + (size_t)j * BLOCK * BLOCK);
				if (l->a->is_virtual)
					ARMCIX_Compute(2 * cube / 2e9);
				l->flops += 2 * cube;
			}
	l->computed += armci_timer() - begin;
	ARMCI_Barrier();
}

/* Compute y = part of the matrix times x, over all processes. part: 'U' or 'L'. */
static void multiply_part(struct lu *l, char part, const double *x, double *y, int n)
{
	int i, j, r, c;

	memset(y, 0, (size_t)n * 8);
	for (i = 0; i < l->blocks; i++)
		for (j = 0; j < l->blocks; j++) {
			const double *b = is_mine(l, i, j) ? block_at(l, i, j) : NULL;

			for (r = 0; b && r < BLOCK; r++)
				for (c = 0; c < BLOCK; c++) {
					int at = i * BLOCK + r, by = j * BLOCK + c;

					if (part == 'U' ? by >= at : by < at)
						y[at] += b[r * BLOCK + c] * x[by];
				}
		}
	armci_msg_dgop(y, n, "+");
	for (i = 0; part == 'L' && i < n; i++)
		y[i] += x[i];
}

/* Return the largest difference of L (U x) and A x, as a share of the largest element. */
static double compute_residual(struct lu *l, int n)
{
	double *x = malloc((size_t)n * 8), *y = malloc((size_t)n * 8), *z = malloc((size_t)n * 8),
	       worst = 0, largest = 0;
	int i, j;

	if (!x || !y || !z)
		abench_die("no memory for vectors of %d", n);
	for (i = 0; i < n; i++)
		x[i] = 1 + i % 7;
	multiply_part(l, 'U', x, y, n);
	multiply_part(l, 'L', y, z, n);
	for (i = l->a->me; i < n; i += l->a->n) {
		double sum = 0;

		for (j = 0; j < n; j++)
			sum += element_at(i, j, n) * x[j];
		worst = fmax(worst, fabs(sum - z[i]));
		largest = fmax(largest, fabs(sum));
	}
	armci_msg_dgop(&worst, 1, "max");
	armci_msg_dgop(&largest, 1, "max");
	free(x);
	free(y);
	free(z);
	return worst / largest;
}

static void fill_blocks(struct lu *l, int n)
{
	int i, j, r, c;

	for (i = 0; i < l->blocks; i++)
		for (j = 0; j < l->blocks; j++)
			for (r = 0; is_mine(l, i, j) && r < BLOCK; r++)
				for (c = 0; c < BLOCK; c++)
					block_at(l, i, j)[r * BLOCK + c] =
					    element_at(i * BLOCK + r, j * BLOCK + c, n);
}

int abench_lu(struct abench *a)
{
	struct lu l = {.a = a};
	int n = a->size ? (int)a->size : a->is_virtual ? 256 : 1024, k;
	double begin, total, error;

	n = (n + BLOCK - 1) / BLOCK * BLOCK;
	l.blocks = n / BLOCK;
	for (l.pr = (int)sqrt(a->n); a->n % l.pr; l.pr--)
		;
	l.pc = a->n / l.pr;
	l.cols = (l.blocks + l.pc - 1) / l.pc;
	abench_open_memory(a, (size_t)((l.blocks + l.pr - 1) / l.pr) * (size_t)l.cols * BYTES);
	l.row = abench_local((size_t)l.blocks * BYTES);
	l.col = abench_local((size_t)l.blocks * BYTES);
	fill_blocks(&l, n);
	ARMCI_Barrier();
	begin = armci_timer();
	for (k = 0; k < l.blocks; k++)
		run_step(&l, k);
	total = armci_timer() - begin;
	error = compute_residual(&l, n);
	armci_msg_dgop(&l.computed, 1, "+");
	armci_msg_dgop(&l.flops, 1, "+");
	if (a->drives) {
		abench_number(a, "lu", "total", (size_t)n, "s", total);
		abench_number(a, "lu", "computing", (size_t)n, "s", l.computed / a->n);
		abench_number(a, "lu", "rate", (size_t)n, "GF/s", l.flops / total * 1e-9);
		abench_number(a, "lu", error < 1e-12 ? "error ok" : "error BAD", (size_t)n, "",
			      error);
	}
	ARMCI_Free_local(l.row);
	ARMCI_Free_local(l.col);
	abench_close_memory(a);
	return error < 1e-12 ? 0 : 1;
}
