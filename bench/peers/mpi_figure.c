/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was published for MPI on Blue Gene/Q, measured by a plain MPI program. Prints lines
 * "name,tasks,bytes,value": us for latencies, MB/s for bandwidths, 1e6/s for rates.
 * usage: mpi_figure latency | rate PEERS | neighbours N | barrier | allreduce BYTES | bcast BYTES
 *        [multiple]: with MPI_THREAD_MULTIPLE
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM   5
#define TIMES  50
#define WINDOW 16
#define MIB    (1 << 20)

static int me, tasks;

static void measure_latency(void)
{
	double start = 0;
	char c = 0;

	for (int i = -WARM; i < TIMES; i++) {
		if (!i)
			start = MPI_Wtime();
		if (me == 0) {
			MPI_Send(&c, 0, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
			MPI_Recv(&c, 0, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else if (me == 1) {
			MPI_Recv(&c, 0, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(&c, 0, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
		}
	}
	if (!me)
		printf("latency,%d,0,%.3f\n", tasks, (MPI_Wtime() - start) / TIMES / 2 * 1e6);
}

/* Tasks 0 to n-1 are one node, whose sends count; each exchanges messages with partners on others.
 */
static void measure_rate(int n)
{
	int peers = (tasks - n) / n, rounds = 10;
	MPI_Request request[64];
	double start;
	char text[8] = {0}, in[64][8];

	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	for (int r = 0; r < rounds; r++) {
		int k = 0;

		/* Of `peers` partners, one after the other, so that the messages leave by many
		 * links. */
		for (int i = 0; i < WINDOW; i++)
			if (me < n)
				MPI_Irecv(in[i], 8, MPI_CHAR, n + me * peers + i % peers, 1,
					  MPI_COMM_WORLD, &request[k++]);
			else if (i % peers == (me - n) % peers)
				MPI_Irecv(in[i], 8, MPI_CHAR, (me - n) / peers, 1, MPI_COMM_WORLD,
					  &request[k++]);
		for (int i = 0; i < WINDOW; i++)
			if (me < n)
				MPI_Isend(text, 8, MPI_CHAR, n + me * peers + i % peers, 1,
					  MPI_COMM_WORLD, &request[k++]);
			else if (i % peers == (me - n) % peers)
				MPI_Isend(text, 8, MPI_CHAR, (me - n) / peers, 1, MPI_COMM_WORLD,
					  &request[k++]);
		MPI_Waitall(k, request, MPI_STATUSES_IGNORE);
	}
	if (!me)
		printf("rate,%d,8,%.4f\n", n,
		       1.0 * n * rounds * WINDOW / (MPI_Wtime() - start) * 1e-6);
}

/* Task 0 sends to and receives from tasks 1 to n. */
static void measure_neighbours(int n)
{
	char *out = calloc((size_t)n, MIB), *in = calloc((size_t)n, MIB);
	int times = 4;
	double start = 0;

	for (int r = -1; r < times; r++) {
		MPI_Request request[64];
		int k = 0;

		if (!r) {
			MPI_Barrier(MPI_COMM_WORLD);
			start = MPI_Wtime();
		}
		for (int i = 1; i <= (me ? 1 : n); i++)
			MPI_Irecv(in + (size_t)(i - 1) * MIB, MIB, MPI_CHAR, me ? 0 : i, 2,
				  MPI_COMM_WORLD, &request[k++]);
		for (int i = 1; i <= (me ? 1 : n); i++)
			MPI_Isend(out + (size_t)(i - 1) * MIB, MIB, MPI_CHAR, me ? 0 : i, 2,
				  MPI_COMM_WORLD, &request[k++]);
		MPI_Waitall(k, request, MPI_STATUSES_IGNORE);
	}
	if (!me)
		printf("neighbours,%d,%d,%.1f\n", n, MIB,
		       2.0 * n * times * MIB / (MPI_Wtime() - start) * 1e-6);
	free(out);
	free(in);
}

static void measure_collective(const char *name, int bytes)
{
	int times = bytes > 65536 ? 3 : 20;
	char *data = calloc(1, (size_t)bytes + 1);
	double *sum = calloc(1, (size_t)bytes + 1);
	double start = 0, us, most;

	for (int i = -2; i < times; i++) {
		if (!i) {
			MPI_Barrier(MPI_COMM_WORLD);
			start = MPI_Wtime();
		}
		if (*name == 'a')
			MPI_Allreduce(data, sum, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		else if (name[1] == 'c')
			MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
		else
			MPI_Barrier(MPI_COMM_WORLD);
	}
	us = (MPI_Wtime() - start) / times * 1e6;
	MPI_Reduce(&us, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (!me)
		printf("%s,%d,%d,%.3f\n", name, tasks, bytes, bytes > 8 ? bytes / most : most);
	free(sum);
	free(data);
}

int main(int argc, char **argv)
{
	int level, multiple = argc > 2 && !strcmp(argv[argc - 1], "multiple");
	int number = argc > 2 ? atoi(argv[2]) : 0;

	MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &tasks);
	if (argc < 2)
		fprintf(stderr, "mpi_figure: no name of a measurement\n");
	else if (!strcmp(argv[1], "latency"))
		measure_latency();
	else if (!strcmp(argv[1], "rate"))
		measure_rate(number);
	else if (!strcmp(argv[1], "neighbours"))
		measure_neighbours(number);
	else
		measure_collective(argv[1], number);
	MPI_Finalize();
	return argc < 2;
}
