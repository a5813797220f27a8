/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads of each task call MPI at once (MPI_THREAD_MULTIPLE): blocking sends and receives
 * of all protocols, probes, synchronous sends, and collectives, each thread on a communicator of
 * its own and with tags of its own on the common one. Both clocks. With an argument also many short
 * messages at once, requests that another thread waits for, frees or cancels, and callbacks.
 *
 * usage: ofi_multiple [direct|indirect]: the way that short messages have to take.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "drivers/base/atomic.h"

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

/* ---- short messages ---- */

enum { TURNS = 60, ROW = 24, WORDS = 3, TAG = 100 };

static int extended, wants_direct;

/*
 * Rows of messages between the threads of two tasks, by calls that take different ways. Those of
 * one tag stay in order.
 */
static void exchange_rows(int thread)
{
	static int out[THREADS][ROW][WORDS], in[THREADS][ROW][WORDS];
	int partner = me ^ 1, wrong = 0, at_once = 0;

	for (int turn = 0; turn < TURNS; turn++) {
		MPI_Request r[2 * ROW];
		int late = turn % 3 == 1, from = turn % 2 ? partner : MPI_ANY_SOURCE;

		for (int i = 0; i < ROW && !late; i++)
			MPI_Irecv(in[thread][i], WORDS, MPI_INT, from, TAG + thread, MPI_COMM_WORLD,
				  &r[ROW + i]);
		for (int i = 0; i < ROW; i++) {
			for (int k = 0; k < WORDS; k++)
				out[thread][i][k] = word_of(me, thread, turn, i * WORDS + k);
			if (i % 5 == 4)
				MPI_Issend(out[thread][i], WORDS, MPI_INT, partner, TAG + thread,
					   MPI_COMM_WORLD, &r[i]);
			else
				MPI_Isend(out[thread][i], WORDS, MPI_INT, partner, TAG + thread,
					  MPI_COMM_WORLD, &r[i]);
			at_once += i && i % 5 < 4 && r[i] == r[i - 1];
		}
		for (int i = 0; i < ROW && late; i++)
			MPI_Irecv(in[thread][i], WORDS, MPI_INT, from, TAG + thread, MPI_COMM_WORLD,
				  &r[ROW + i]);
		MPI_Waitall(2 * ROW, r, MPI_STATUSES_IGNORE);
		for (int i = 0; i < ROW; i++)
			for (int k = 0; k < WORDS; k++)
				wrong += in[thread][i][k] !=
					 word_of(partner, thread, turn, i * WORDS + k);
	}
	CHECK(wrong == 0);
	CHECK(wants_direct ? at_once > TURNS * ROW / 3 : !at_once);
}

/* One thread posts a receive; the next one waits for it, or gives it back. */
static struct {
	MPI_Request request;
	int value;
	atomic_u32 posted;
} handed[THREADS][TURNS];

static void hand_over(int thread)
{
	int partner = me ^ 1, before = (thread + THREADS - 1) % THREADS, wrong = 0;

	for (int i = 0; i < TURNS; i++) {
		int out = word_of(me, thread, i, 1), flag;

		MPI_Irecv(&handed[thread][i].value, 1, MPI_INT, partner, 2 * TAG + thread,
			  MPI_COMM_WORLD, &handed[thread][i].request);
		atomic_store_release(&handed[thread][i].posted, 1);
		MPI_Send(&out, 1, MPI_INT, partner, 2 * TAG + thread, MPI_COMM_WORLD);
		while (!atomic_load_acquire(&handed[before][i].posted))
			MPI_Iprobe(partner, 3 * TAG, own[thread], &flag, MPI_STATUS_IGNORE);
		if (i % 8 == 7) {
			MPI_Request_free(&handed[before][i].request);
			continue;
		}
		MPI_Wait(&handed[before][i].request, MPI_STATUS_IGNORE);
		wrong += handed[before][i].value != word_of(partner, before, i, 1);
	}
	CHECK(wrong == 0);
}

/* A receive for which no message comes, and one that is cancelled while its message comes. */
static void cancel_receives(int thread)
{
	int partner = me ^ 1, in = -1, out = 7, cancelled;
	MPI_Request r;
	MPI_Status status;

	for (int i = 0; i < TURNS; i++) {
		MPI_Irecv(&in, 1, MPI_INT, partner, 4 * TAG + thread, MPI_COMM_WORLD, &r);
		MPI_Cancel(&r);
		MPI_Wait(&r, &status);
		MPI_Test_cancelled(&status, &cancelled);
		CHECK(cancelled);
		MPI_Irecv(&in, 1, MPI_INT, partner, 5 * TAG + thread, MPI_COMM_WORLD, &r);
		MPI_Send(&out, 1, MPI_INT, partner, 5 * TAG + thread, MPI_COMM_WORLD);
		MPI_Cancel(&r);
		MPI_Wait(&r, &status);
		MPI_Test_cancelled(&status, &cancelled);
		if (cancelled)
			MPI_Recv(&in, 1, MPI_INT, partner, 5 * TAG + thread, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		CHECK(in == 7);
	}
}

/* Collectives that do not block send their next messages when earlier ones have come. */
static void overlap_collectives(int thread)
{
	for (int i = 0; i < TURNS; i++) {
		int in[2] = {me + i, me + thread}, sum[2] = {0, 0}, root = i;
		MPI_Request r[3];

		MPI_Iallreduce(&in[0], &sum[0], 1, MPI_INT, MPI_SUM, own[thread], &r[0]);
		MPI_Ibcast(&root, 1, MPI_INT, i % tasks, own[thread], &r[1]);
		MPI_Iallreduce(&in[1], &sum[1], 1, MPI_INT, MPI_SUM, own[thread], &r[2]);
		MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
		CHECK(sum[0] == tasks * (tasks - 1) / 2 + tasks * i && root == i);
		CHECK(sum[1] == tasks * (tasks - 1) / 2 + tasks * thread);
	}
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
	if (extended) {
		exchange_rows(thread);
		hand_over(thread);
		cancel_receives(thread);
		overlap_collectives(thread);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int level, failed;

	extended = argc > 1;
	wants_direct = extended && !strcmp(argv[1], "direct");
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
