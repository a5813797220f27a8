/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads of each task call MPI at once (MPI_THREAD_MULTIPLE): blocking sends and receives
 * of all protocols, probes, synchronous sends, and collectives, each thread on a communicator of
 * its own and with tags of its own on the common one. Both clocks.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 3, ROUNDS = 6, INTS = 20000 };

static int me, tasks;
static MPI_Comm own[THREADS];

#define CHECK_WHO "task %d", me
#include "tests/harness/check_count.h"

/* What word `at` of a message holds. */
static int word_of(int task, int thread, int round, int at)
{
	return task * 1000000 + thread * 100000 + round * 10000 + at;
}

/* Every second task receives first, since the long messages wait for their receivers. */
static void send_around(int thread, int round, int count)
{
	static int out[THREADS][INTS], in[THREADS][INTS];
	int to = (me + 1) % tasks, from = (me + tasks - 1) % tasks, got = 0, wrong = 0;
	MPI_Status status;

	for (int i = 0; i < count; i++)
		out[thread][i] = word_of(me, thread, round, i);
	if (me % 2 == 0)
		MPI_Send(out[thread], count, MPI_INT, to, thread, MPI_COMM_WORLD);
	MPI_Recv(in[thread], INTS, MPI_INT, MPI_ANY_SOURCE, thread, MPI_COMM_WORLD, &status);
	if (me % 2)
		MPI_Send(out[thread], count, MPI_INT, to, thread, MPI_COMM_WORLD);
	MPI_Get_count(&status, MPI_INT, &got);
	CHECK(got == count && status.MPI_SOURCE == from);
	for (int i = 0; i < count; i++)
		wrong += in[thread][i] != word_of(from, thread, round, i);
	CHECK(wrong == 0);
}

/* A synchronous send that the partner finds by a probe. */
static void probe_partner(int thread, int round)
{
	int partner = me ^ 1, out = word_of(me, thread, round, 7), in = 0, found = 0;
	MPI_Request request;
	MPI_Status status;

	MPI_Issend(&out, 1, MPI_INT, partner, 50 + thread, own[thread], &request);
	while (!found)
		MPI_Iprobe(MPI_ANY_SOURCE, 50 + thread, own[thread], &found, &status);
	CHECK(status.MPI_SOURCE == partner);
	MPI_Recv(&in, 1, MPI_INT, partner, 50 + thread, own[thread], MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(in == word_of(partner, thread, round, 7));
}

static void reduce(int thread, int count)
{
	static int in[THREADS][INTS], out[THREADS][INTS];
	int wrong = 0;

	for (int i = 0; i < count; i++)
		in[thread][i] = me + i + thread;
	MPI_Allreduce(in[thread], out[thread], count, MPI_INT, MPI_SUM, own[thread]);
	for (int i = 0; i < count; i++)
		wrong += out[thread][i] != tasks * (tasks - 1) / 2 + tasks * (i + thread);
	CHECK(wrong == 0);
	MPI_Barrier(own[thread]);
}

static void *run(void *argument)
{
	static const int counts[ROUNDS] = {1, 100, 130, 2000, INTS, 0};
	int thread = (int)(intptr_t)argument;

	for (int i = 0; i < ROUNDS; i++) {
		send_around(thread, i, counts[(i + thread) % ROUNDS]);
		probe_partner(thread, i);
		reduce(thread, counts[(i + 2 * thread) % ROUNDS]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int level, failed;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &tasks);
	CHECK(level == MPI_THREAD_MULTIPLE && tasks % 2 == 0);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
	for (intptr_t i = 1; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, run, (void *)i));
	run(NULL);
	for (int i = 1; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&own[i]);
	MPI_Allreduce(&check_failures, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	if (!me && !failed)
		printf("PASS\n");
	return failed != 0;
}
