/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop of a self-consistent field program: take the next task from a counter at process 0, get
 * a block of the density, compute, accumulate a block of the Fock matrix. --size: blocks along an
 * edge;
 * --steps: us of computation a task. The sum over the Fock matrix is checked.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/armci_job.h"

enum { SIDE = 28 }; /* of a block: 644 basis functions are 23 of them */

struct scf {
	struct abench *a;
	int blocks;
	double compute; /* seconds a task */
	size_t rows;    /* rows of blocks that each process holds */
	double counted; /* seconds spent at the counter */
	long tasks;
};

/* Rows of blocks are distributed. Memory has the density first, then the Fock matrix, then (process
 * 0) the counter. */
static double *block_at(const struct scf *s, int i, int j, bool fock)
{
	size_t order = (size_t)s->blocks * SIDE, matrix = s->rows * SIDE * order;

	return (double *)s->a->mem[i % s->a->n] + (fock ? matrix : 0) +
	       (size_t)(i / s->a->n) * SIDE * order + (size_t)j * SIDE;
}

static long *counter_at(const struct scf *s)
{
	size_t order = (size_t)s->blocks * SIDE, matrix = s->rows * SIDE * order;

	return (long *)((char *)s->a->mem[0] + 2 * matrix * sizeof(double));
}

static long next_task(struct scf *s)
{
	double begin = armci_timer();
	long t;

	ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &t, counter_at(s), 1, 0);
	s->counted += armci_timer() - begin;
	return t;
}

static void run_task(struct scf *s, long t, double *d)
{
	int i = (int)(t / s->blocks), j = (int)(t % s->blocks), k;
	int near = SIDE * 8, far = s->blocks * SIDE * 8, count[2] = {SIDE * 8, SIDE};
	double scale = 0.5;

	ARMCI_GetS(block_at(s, i, j, false), &far, d, &near, count, 1, i % s->a->n);
	for (k = 0; k < SIDE * SIDE; k++)
		d[k] *= 2;
	ARMCIX_Compute(s->compute);
	ARMCI_AccS(ARMCI_ACC_DBL, &scale, d, &near, block_at(s, j, i, true), &far, count, 1,
		   j % s->a->n);
	s->tasks++;
}

int abench_scf(struct abench *a)
{
	struct scf s = {.a = a, .blocks = a->size ? (int)a->size : a->is_virtual ? 8 : 23};
	double *d = abench_local(SIDE * SIDE * 8), begin, total, sum = 0, want = 0;
	size_t order = (size_t)s.blocks * SIDE, matrix, k;
	long t, most;

	s.compute = (a->steps ? (double)a->steps : 300) * 1e-6;
	s.rows = (size_t)((s.blocks + a->n - 1) / a->n);
	matrix = s.rows * SIDE * order;
	abench_open_memory(a, (2 * matrix + 8) * 8);
	for (k = 0; k < matrix; k++)
		((double *)a->mem[a->me])[k] = (double)(k % 17);
	for (t = a->me; t < s.blocks; t += a->n)
		for (k = 0; k < SIDE * order; k++)
			want += (double)(((size_t)(t / a->n) * SIDE * order + k) % 17);
	ARMCI_Barrier();
	begin = armci_timer();
	while ((t = next_task(&s)) < (long)s.blocks * s.blocks)
		run_task(&s, t, d);
	ARMCI_Barrier();
	total = armci_timer() - begin;
	for (k = 0; k < matrix; k++)
		sum += ((double *)a->mem[a->me])[matrix + k];
	armci_msg_dgop(&sum, 1, "+");
	armci_msg_dgop(&want, 1, "+");
	armci_msg_dgop(&s.counted, 1, "+");
	most = s.tasks;
	armci_msg_lgop(&most, 1, "max");
	if (a->drives) {
		abench_number(a, "scf", "total", (size_t)a->n, "ms", total * 1e3);
		abench_number(a, "scf", "counter", (size_t)a->n, "ms", s.counted / a->n * 1e3);
		abench_number(a, "scf", "most tasks", (size_t)a->n, "", (double)most);
		abench_number(a, "scf", sum == want ? "sum ok" : "sum BAD", (size_t)a->n, "", sum);
	}
	ARMCI_Free_local(d);
	abench_close_memory(a);
	return sum == want ? 0 : 1;
}
