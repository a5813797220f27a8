/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same measurements over whatever MPI is installed, for the column beside ours. bench/run
 * compiles it with mpicc and starts it with mpirun.
 *
 * usage: mpi latency BYTES | rate BYTES | put BYTES | get BYTES | send BYTES | putlat BYTES |
 *            getlat BYTES | self BYTES | start | barrier | allreduce BYTES | broadcast BYTES,
 *        each with "multiple" behind BYTES: under MPI_THREAD_MULTIPLE (one thread calls)
 * Prints one number: us, M/s, GB/s (put, get, send), us (putlat, getlat: with the flush; self: a
 * message to oneself), s, us (median of 7, or for collectives of 7 x some 20 ms).
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPETITIONS = 7, WINDOW = 64, DUE = 32, STREAM = 16 };

static int rank;

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double measure_latency(char *data, int bytes)
{
	const int trips = bytes > 65536 ? 200 : 10000;
	double start = MPI_Wtime();

	for (int i = 0; i < trips; i++) {
		if (rank == 0) {
			MPI_Send(data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
			MPI_Recv(data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(data, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(data, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
		}
	}
	return (MPI_Wtime() - start) * 0.5e6 / trips;
}

/* At most `window` messages in flight; the receiver answers each half of them with 8 bytes. */
static double measure_flood(char *data, int bytes, int window, int count)
{
	const int due = window / 2;
	MPI_Request *r = calloc((size_t)due, sizeof(*r));
	double start = MPI_Wtime();
	char answer[8] = {0};

	for (int b = 0; b < count / due; b++) {
		if (rank == 0) {
			for (int i = 0; i < due; i++)
				MPI_Isend(data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &r[i]);
			MPI_Waitall(due, r, MPI_STATUSES_IGNORE);
			if (b > 0)
				MPI_Recv(answer, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD,
					 MPI_STATUS_IGNORE);
		} else {
			for (int i = 0; i < due; i++)
				MPI_Irecv(data, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r[i]);
			MPI_Waitall(due, r, MPI_STATUSES_IGNORE);
			MPI_Send(answer, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
		}
	}
	if (rank == 0)
		MPI_Recv(answer, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	free(r);
	return (double)(count / due * due) / (MPI_Wtime() - start);
}

/* What a message to oneself takes: the layers of the MPI library without a network. */
static double measure_self(char *data, char *out, int bytes)
{
	const int count = 20000;
	double start = MPI_Wtime();
	MPI_Request r;

	for (int i = 0; i < count; i++) {
		MPI_Irecv(out, bytes, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &r);
		MPI_Send(data, bytes, MPI_BYTE, rank, 1, MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	return (MPI_Wtime() - start) * 1e6 / count;
}

/* Seconds for `count` puts or gets by process 0, at most `window` of them not flushed. */
static double one_sided(MPI_Win win, int is_put, char *data, int bytes, int window, int count)
{
	double start = MPI_Wtime();

	if (rank == 0) {
		MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
		for (int i = 0; i < count; i++) {
			if (is_put)
				MPI_Put(data, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
			else
				MPI_Get(data, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
			if (i % window == window - 1)
				MPI_Win_flush(1, win);
		}
		MPI_Win_unlock(1, win);
	}
	return MPI_Wtime() - start;
}

/* Run `count` collectives in a row so that no process can run ahead: broadcasts change their root.
 * Returns seconds. */
static double row_of(const char *what, char *data, char *out, int bytes, int size, int count)
{
	double start;

	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	for (int i = 0; i < count; i++) {
		if (!strcmp(what, "barrier"))
			MPI_Barrier(MPI_COMM_WORLD);
		else if (!strcmp(what, "allreduce"))
			MPI_Allreduce(data, out, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		else
			MPI_Bcast(data, bytes, MPI_BYTE, i % size, MPI_COMM_WORLD);
	}
	return MPI_Wtime() - start;
}

/* Return us each, over as many as take some 20 ms (task 0 decides how many). With more processes
 * than cores one can take far longer than a context switch. */
static double measure_collective(const char *what, char *data, char *out, int bytes, int size)
{
	static int count;

	for (int tried = 2; !count; tried *= 4) {
		double seconds = row_of(what, data, out, bytes, size, tried);
		int enough = seconds > 5e-3 ? (int)(tried * 20e-3 / seconds) + 1 : 0;

		MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
		count = enough;
	}
	return row_of(what, data, out, bytes, size, count) * 1e6 / count;
}

static int start_time(int size)
{
	const char *env = getenv("BENCH_START_NS");
	struct timespec t;
	char hello[8] = {0};

	if (rank != 0) {
		MPI_Send(hello, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
		return 0;
	}
	for (int i = 1; i < size; i++)
		MPI_Recv(hello, 8, MPI_BYTE, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	clock_gettime(CLOCK_MONOTONIC, &t);
	if (!env)
		return 1;
	printf("%.6f\n", (double)t.tv_sec + (double)t.tv_nsec * 1e-9 - strtod(env, NULL) * 1e-9);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int bytes = argc > 2 ? atoi(argv[2]) : 8, size, rc = 0;
	double value[REPETITIONS + 1];
	char *data, *out;
	int is_put = !strncmp(what, "put", 3), is_get = !strncmp(what, "get", 3);
	MPI_Win win = MPI_WIN_NULL;

	if (argc > 3 && !strcmp(argv[3], "multiple")) {
		int level;

		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	} else {
		MPI_Init(&argc, &argv);
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!strcmp(what, "start")) {
		rc = start_time(size);
		MPI_Finalize();
		return rc;
	}
	if (is_put || is_get)
		MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &data, &win);
	else
		data = calloc(1, (size_t)bytes + 8);
	out = calloc(1, (size_t)bytes + 8);
	for (int r = 0; r <= REPETITIONS; r++) {
		MPI_Barrier(MPI_COMM_WORLD);
		if (!strcmp(what, "latency"))
			value[r] = measure_latency(data, bytes);
		else if (!strcmp(what, "rate"))
			value[r] = measure_flood(data, bytes, WINDOW, 200000) * 1e-6;
		else if (!strcmp(what, "send"))
			value[r] = measure_flood(data, bytes, STREAM, 400) * bytes * 1e-9;
		else if (!strcmp(what, "self"))
			value[r] = measure_self(data, out, bytes);
		else if (!strcmp(what, "put") || !strcmp(what, "get"))
			value[r] =
			    bytes * 400e-9 / one_sided(win, is_put, data, bytes, STREAM, 400);
		else if (is_put || is_get)
			value[r] = one_sided(win, is_put, data, bytes, 1, 4000) * 1e6 / 4000;
		else
			value[r] = measure_collective(what, data, out, bytes, size);
	}
	qsort(value + 1, REPETITIONS, sizeof(*value), compare_doubles); /* [0] was the warm-up */
	if (rank == 0)
		printf("%.6g\n", value[1 + REPETITIONS / 2]);
	free(out);
	if (win != MPI_WIN_NULL)
		MPI_Win_free(&win);
	else
		free(data);
	MPI_Finalize();
	return 0;
}
