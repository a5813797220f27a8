/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided MPI for the column beside ARMCI: bench/figures/armci_figures compiles it with mpicc and
 * starts it with mpirun, two processes.
 *
 * usage: mpi_rma put BYTES | get BYTES | putbw BYTES | getbw BYTES | sendbw BYTES | patch ROWS |
 * points | counter US | acc BYTES | overlap BYTES Prints one number: us (put until it is in place),
 * GB/s, GB/s, us a patch, us for 1000 doubles, us an add at a process that computes US at a time,
 * GB/s of 1 MiB, % hidden. Median of 5.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 5, MIB = 1 << 20, ORDER = 1024, POINTS = 1000, STREAM = 16 };

static int rank;
static MPI_Win win;
static char *local, *mine;

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Start one put to process 1, or one get from it. */
static void start_transfer(int put, int bytes)
{
	if (put)
		MPI_Put(local, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
	else
		MPI_Get(local, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
}

static void move_contiguous(int put, int bytes, long count)
{
	for (long i = 0; i < count; i++) {
		start_transfer(put, bytes);
		MPI_Win_flush(1, win);
	}
}

static void move_stream(int put, int bytes, long count)
{
	for (long i = 0; i < count; i++) {
		start_transfer(put, bytes);
		if (i % STREAM == STREAM - 1)
			MPI_Win_flush(1, win);
	}
	MPI_Win_flush(1, win);
}

static void move_patch(int rows, long count)
{
	MPI_Datatype there;

	MPI_Type_vector(rows, rows, ORDER, MPI_DOUBLE, &there);
	MPI_Type_commit(&there);
	for (long i = 0; i < count; i++) {
		MPI_Get(local, rows * rows, MPI_DOUBLE, 1, 0, 1, there, win);
		MPI_Win_flush(1, win);
	}
	MPI_Type_free(&there);
}

static void move_points(long count)
{
	for (long i = 0; i < count; i++) {
		for (int k = 0; k < POINTS; k++)
			MPI_Put(local + 16 * k, 1, MPI_DOUBLE, 1, 24 * k, 1, MPI_DOUBLE, win);
		MPI_Win_flush(1, win);
	}
}

static void run_accumulates(int bytes, long count)
{
	for (long i = 0; i < count; i++) {
		MPI_Accumulate(local, bytes / 8, MPI_DOUBLE, 1, 0, bytes / 8, MPI_DOUBLE, MPI_SUM,
			       win);
		MPI_Win_flush(1, win);
	}
}

static void spin_for(double seconds)
{
	double end = MPI_Wtime() + seconds;

	while (MPI_Wtime() < end)
		;
}

static const char *what;
static int number;
static double delay;

static void run_bench(long count)
{
	if (!strcmp(what, "put") || !strcmp(what, "get"))
		move_contiguous(*what == 'p', number, count);
	else if (!strcmp(what, "putbw") || !strcmp(what, "getbw"))
		move_stream(*what == 'p', number, count);
	else if (!strcmp(what, "patch"))
		move_patch(number, count);
	else if (!strcmp(what, "points"))
		move_points(count);
	else if (!strcmp(what, "acc"))
		run_accumulates(number, count);
	for (long i = 0; !strcmp(what, "overlap") && i < count; i++) {
		MPI_Request r;

		MPI_Rget(local, number, MPI_BYTE, 1, 0, number, MPI_BYTE, win, &r);
		if (delay > 0)
			spin_for(delay);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
}

static double time_bench(long count)
{
	double start = MPI_Wtime();

	run_bench(count);
	return MPI_Wtime() - start;
}

static double seconds_each(void)
{
	double s[REPETITIONS];
	long count = 1;

	run_bench(1);
	while (time_bench(count) < 5e-3)
		count *= 4;
	for (int i = 0; i < REPETITIONS; i++)
		s[i] = time_bench(count) / (double)count;
	qsort(s, REPETITIONS, sizeof(*s), compare_doubles);
	return s[REPETITIONS / 2];
}

static double measure_overlap(void)
{
	double bare = seconds_each(), lo = 0, hi = bare * 1.2;

	for (int i = 0; i < 7; i++) {
		delay = (lo + hi) / 2;
		if (seconds_each() <= bare * 1.02)
			lo = delay;
		else
			hi = delay;
	}
	return 100 * lo / bare;
}

/* Process 1 adds to a counter at process 0, which computes and calls MPI in between. */
static double measure_counter(void)
{
	const long adds = 300, one = 1;
	long old, finished = 0, zero = 0;
	double start = MPI_Wtime(), each = 0;

	if (rank == 1) {
		for (long i = 0; i < adds; i++) {
			MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win);
			MPI_Win_flush(0, win);
		}
		each = (MPI_Wtime() - start) * 1e6 / (double)adds;
		MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 8, MPI_SUM, win);
		MPI_Win_flush(0, win);
	}
	while (rank == 0 && !finished) {
		spin_for(number * 1e-6);
		MPI_Fetch_and_op(&zero, &finished, MPI_LONG, 0, 8, MPI_SUM, win);
		MPI_Win_flush(0, win);
	}
	MPI_Allreduce(MPI_IN_PLACE, &each, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return each;
}

static double measure_send(int bytes)
{
	const int count = 400;
	MPI_Request r[STREAM];
	MPI_Status s[STREAM];
	double start = MPI_Wtime();

	for (int i = 0; i < count / STREAM; i++) {
		for (int k = 0; k < STREAM; k++)
			if (rank == 0)
				MPI_Isend(local, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &r[k]);
			else
				MPI_Irecv(local, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r[k]);
		MPI_Waitall(STREAM, r, s);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return (double)bytes * count / (MPI_Wtime() - start) * 1e-9;
}

int main(int argc, char **argv)
{
	double value = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc < 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	what = argv[1];
	number = argc > 2 ? atoi(argv[2]) : 0;
	local = calloc(1, ORDER * ORDER * 8);
	MPI_Win_allocate(ORDER * ORDER * 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	memset(mine, 0, ORDER * ORDER * 8);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	if (!strcmp(what, "counter"))
		value = measure_counter();
	else if (!strcmp(what, "sendbw"))
		value = measure_send(number);
	else if (rank == 0)
		value = !strcmp(what, "overlap") ? measure_overlap() : seconds_each();
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_unlock_all(win);
	if (rank == 0 &&
	    (!strcmp(what, "counter") || !strcmp(what, "sendbw") || !strcmp(what, "overlap")))
		printf("%g\n", value);
	else if (rank == 0 && strstr(what, "bw"))
		printf("%g\n", number / value * 1e-9);
	else if (rank == 0)
		printf("%g\n", !strcmp(what, "acc") ? number / value * 1e-9 : value * 1e6);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
