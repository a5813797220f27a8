/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Global Arrays from OpenMP threads: each thread puts and gets patches of its own at every process,
 * all accumulate into the same patches and take tickets from one counter. A patch lies within the
 * part of one process: for others this library keeps lists of handles that threads must not share,
 * unless it was built for threads.
 *
 *   ga_threads THREADS ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>

#include <omp.h>

#include <mpi.h>

#include <ga.h>
#include <macdecls.h>

#include "drivers/base/atomic.h"

enum { COLUMNS = 96, ROWS_EACH = 4 };

static int me, n, threads, rounds, bad;

/* One count for all threads. */
static void expect_true(int ok, const char *what, int thread)
{
	if (ok)
		return;
#pragma omp critical
	if (bad++ < 20)
		printf("FAIL process %d of %d, thread %d: %s\n", me, n, thread, what);
}

/* What proc owns of the array, and in the second dimension `rows` rows from `first` on. */
static void part_of(int array, int proc, int first, int rows, int *lo, int *hi)
{
	NGA_Distribution(array, proc, lo, hi);
	lo[1] = first;
	hi[1] = first + rows - 1;
}

/*
 * Global Arrays keeps the handles of transfers in one static list, without a lock. Two threads at
 * once took the same, so that a get returned before its data had come. Such calls are critical.
 */
static void put_and_get(int array, int proc, int first, int round, int thread)
{
	double out[COLUMNS * ROWS_EACH], in[COLUMNS * ROWS_EACH];
	int lo[2], hi[2], ld = ROWS_EACH, count, i;

	part_of(array, proc, first, ROWS_EACH, lo, hi);
	count = (hi[0] - lo[0] + 1) * ROWS_EACH;
	for (i = 0; i < count; i++) {
		out[i] = i + 1000.0 * first + 0.5 * round;
		in[i] = -1;
	}
#pragma omp critical(handles)
	NGA_Put(array, lo, hi, out, &ld);
#pragma omp critical(handles)
	NGA_Get(array, lo, hi, in, &ld);
	for (i = 0; i < count && in[i] == out[i]; i++)
		;
	expect_true(i == count, "a get does not see the thread's own put", thread);
}

static void add_two(int array, int proc)
{
	double data[COLUMNS * ROWS_EACH], one = 1.0;
	int lo[2], hi[2], ld = ROWS_EACH, i;

	part_of(array, proc, 0, ROWS_EACH, lo, hi);
	for (i = 0; i < COLUMNS * ROWS_EACH; i++)
		data[i] = 2.0;
#pragma omp critical(handles)
	NGA_Acc(array, lo, hi, data, &ld, &one);
}

static void run_thread(int transfers, int sums, int counter, char *taken, int thread)
{
	int first = (me * threads + thread) * ROWS_EACH, zero = 0, round, proc;
	long ticket;

	for (round = 0; round < rounds; round++) {
		for (proc = 0; proc < n; proc++) {
			put_and_get(transfers, proc, first, round, thread);
			add_two(sums, proc);
		}
		ticket = NGA_Read_inc(counter, &zero, 1);
		if (ticket >= 0 && ticket < (long)n * threads * rounds)
			atomic_fetch_add_relaxed(&taken[ticket], 1);
		else
			expect_true(0, "a ticket out of range", thread);
	}
}

int main(int argc, char **argv)
{
	int dims[2], chunk[2] = {-1, ROWS_EACH}, one_element = 1, transfers, sums, counter,
		     provided, i, k;
	double *values, want;
	char *taken;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	rounds = argc > 2 ? atoi(argv[2]) : 20;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	GA_Initialize();
	MA_init(C_DBL, 100000, 100000);
	me = GA_Nodeid();
	n = GA_Nnodes();
	dims[0] = COLUMNS;
	dims[1] = n * threads * ROWS_EACH;
	chunk[1] = dims[1];
	transfers = NGA_Create(C_DBL, 2, dims, "transfers", chunk);
	dims[1] = ROWS_EACH;
	chunk[1] = ROWS_EACH;
	sums = NGA_Create(C_DBL, 2, dims, "sums", chunk);
	counter = NGA_Create(C_LONG, 1, &one_element, "counter", NULL);
	GA_Zero(transfers);
	GA_Zero(sums);
	GA_Zero(counter);
	taken = calloc((size_t)(n * threads * rounds), 1);
	values = malloc(COLUMNS * ROWS_EACH * sizeof(*values));
	GA_Sync();
#pragma omp parallel num_threads(threads)
	{
		if (omp_get_num_threads() != threads)
			expect_true(0, "OpenMP does not give the threads", omp_get_thread_num());
		run_thread(transfers, sums, counter, taken, omp_get_thread_num());
	}
	GA_Sync();
	MPI_Allreduce(MPI_IN_PLACE, taken, n * threads * rounds, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < n * threads * rounds && taken[i] == 1; i++)
		;
	expect_true(i == n * threads * rounds, "a ticket was given twice, or never", -1);
	{
		int lo[2] = {0, 0}, hi[2] = {COLUMNS - 1, ROWS_EACH - 1}, ld = ROWS_EACH;

		NGA_Get(sums, lo, hi, values, &ld);
	}
	want = 2.0 * n * threads * rounds;
	for (k = 0; k < COLUMNS * ROWS_EACH && values[k] == want; k++)
		;
	expect_true(k == COLUMNS * ROWS_EACH, "a sum is wrong", -1);
	MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	free(taken);
	free(values);
	GA_Destroy(counter);
	GA_Destroy(sums);
	GA_Destroy(transfers);
	GA_Terminate();
	if (!bad)
		printf("PASS %d of %d\n", me, n);
	MPI_Finalize();
	return bad != 0;
}
