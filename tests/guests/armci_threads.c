/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARMCI from all threads of a process, as array libraries call it from parallel loops: each thread
 * puts, gets, accumulates and counts for itself, and no thread takes a lock around it.
 */
#include <armci.h>
#include <pthread.h>

#include "tests/guests/guest.h"

#define NTHREADS 4
#define ROWS     64
#define COLS     32

static int me, nproc;
static void **array, **counters;

static double *cell_at(int proc, int row)
{
	return (double *)array[proc] + row * COLS;
}

/* What libraries write as a parallel for: the body gets its thread's number. */
static void run_parallel(void *(*body)(void *))
{
	pthread_t t[NTHREADS];

	for (long i = 0; i < NTHREADS; i++)
		if (pthread_create(&t[i], NULL, body, (void *)i))
			exit(1);
	for (int i = 0; i < NTHREADS; i++)
		pthread_join(t[i], NULL);
}

static void *put_and_get_rows(void *arg)
{
	long t = (long)arg;

	for (int round = 0; round < 20; round++)
		for (int row = (int)t; row < ROWS; row += NTHREADS) {
			int to = (me + 1 + round) % nproc;
			double out[COLS], in[COLS];

			/* Each process has lines of its own at each target: a part of the columns.
			 */
			int lo = me * COLS / nproc, n = (me + 1) * COLS / nproc - lo;

			if (!n)
				continue;
			for (int i = 0; i < n; i++)
				out[i] = me * 1000 + row + round * 0.5;
			ARMCI_Put(out, cell_at(to, row) + lo, n * (int)sizeof(double), to);
			ARMCI_Get(cell_at(to, row) + lo, in, n * (int)sizeof(double), to);
			for (int i = 0; i < n; i++)
				CHECK(in[i] == out[i]);
		}
	return NULL;
}

static void rows_by_threads(void)
{
	run_parallel(put_and_get_rows);
	ARMCI_Barrier();
}

static void *nonblocking_rows(void *arg)
{
	long t = (long)arg;

	for (int round = 0; round < 6; round++) {
		armci_hdl_t handle[4];
		double out[4][COLS], in[COLS];
		int to = (me + 1) % nproc, lo = me * COLS / nproc, n = (me + 1) * COLS / nproc - lo;

		if (!n)
			break;
		for (int k = 0; k < 4; k++) {
			int row = (int)t + k * NTHREADS;

			for (int i = 0; i < n; i++)
				out[k][i] = row + round + me;
			ARMCI_INIT_HANDLE(&handle[k]);
			ARMCI_NbPut(out[k], cell_at(to, row) + lo, n * (int)sizeof(double), to,
				    &handle[k]);
		}
		for (int k = 0; k < 4; k++)
			ARMCI_Wait(&handle[k]);
		for (int k = 0; k < 4; k++) {
			int row = (int)t + k * NTHREADS;

			ARMCI_INIT_HANDLE(&handle[0]);
			ARMCI_NbGet(cell_at(to, row) + lo, in, n * (int)sizeof(double), to,
				    &handle[0]);
			ARMCI_Wait(&handle[0]);
			CHECK(in[0] == row + round + me);
		}
	}
	return NULL;
}

static void nonblocking_by_threads(void)
{
	run_parallel(nonblocking_rows);
	ARMCI_Barrier();
}

static void *accumulate_ones(void *arg)
{
	(void)arg;
	for (int i = 0; i < 25; i++) {
		double one[COLS], scale = 1;
		int strides[1] = {COLS * (int)sizeof(double)}, local[1] = {0};
		int count[2] = {COLS * (int)sizeof(double), 1};

		for (int k = 0; k < COLS; k++)
			one[k] = 1;
		for (int p = 0; p < nproc; p++)
			ARMCI_AccS(ARMCI_ACC_DBL, &scale, one, local, cell_at(p, 0), strides, count,
				   1, p);
	}
	return NULL;
}

static void accumulate_by_threads(void)
{
	memset(array[me], 0, ROWS * COLS * sizeof(double));
	ARMCI_Barrier();
	run_parallel(accumulate_ones);
	ARMCI_Barrier();
	for (int i = 0; i < COLS; i++)
		CHECK(cell_at(me, 0)[i] == 25.0 * NTHREADS * nproc);
	ARMCI_Barrier();
}

static long tickets;

static void *draw_tickets(void *arg)
{
	long mine = 0, ticket = 0;

	(void)arg;
	for (;;) {
		ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &ticket, counters[0], 1, 0);
		if (ticket >= 1000)
			break;
		mine++;
	}
	atomic_fetch_add_seq_cst(&tickets, mine);
	return NULL;
}

static void tasks_from_a_counter(void)
{
	long sum;

	*(long *)counters[me] = 0;
	tickets = 0;
	ARMCI_Barrier();
	run_parallel(draw_tickets);
	sum = tickets;
	armci_msg_lgop(&sum, 1, "+");
	CHECK(sum == 1000);
	ARMCI_Barrier();
}

static void *fence_and_flag(void *arg)
{
	long t = (long)arg;

	for (int i = 0; i < 20; i++) {
		double x = i;
		int to = (me + 1) % nproc;

		ARMCI_Put(&x, cell_at(to, (int)t) + me % COLS, sizeof x, to);
		if (t % 2)
			ARMCI_Fence(to);
		else
			ARMCI_AllFence();
	}
	return NULL;
}

static void fences_by_threads(void)
{
	run_parallel(fence_and_flag);
	ARMCI_Barrier();
}

int main(int argc, char **argv)
{
	ARMCI_Init_args(&argc, &argv);
	me = armci_msg_me();
	nproc = armci_msg_nproc();
	array = malloc((size_t)nproc * sizeof *array);
	counters = malloc((size_t)nproc * sizeof *counters);
	if (ARMCI_Malloc(array, ROWS * COLS * sizeof(double)) || ARMCI_Malloc(counters, 64))
		ARMCI_Error("no memory", 1);
	ARMCI_Barrier();

	CASE(rows_by_threads, "All threads of a parallel loop put and get rows.");
	CASE(nonblocking_by_threads, "Each thread has handles of its own and waits for them.");
	CASE(accumulate_by_threads, "All threads accumulate into the same patch.");
	CASE(tasks_from_a_counter, "All threads draw their work from one counter.");
	CASE(fences_by_threads, "Threads fence while others put.");

	ARMCI_Barrier();
	ARMCI_Free(array[me]);
	ARMCI_Free(counters[me]);
	ARMCI_Finalize();
	free(array);
	free(counters);
	return check_failures != 0;
}
