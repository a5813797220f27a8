/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of all tasks call MPI, one at a time (MPI_THREAD_SERIALIZED), and wait for each other. In
 * virtual time results are right, and the run says that it has no hash.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 3, ROUNDS = 12, BYTES_MAX = 20000 };

static int me, tasks;

#define CHECK_WHO "task %d", me
#include "tests/harness/check_count.h"

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int next;       /* the thread whose turn it is */
	uint64_t order; /* a hash of the order in which threads came */
	int done;
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static pthread_mutex_t mpi = PTHREAD_MUTEX_INITIALIZER; /* one thread calls MPI at a time */

static void note_visit(int thread)
{
	pthread_mutex_lock(&shared.mutex);
	shared.order = shared.order * 31 + (uint64_t)thread + 1;
	shared.done++;
	pthread_mutex_unlock(&shared.mutex);
}

/* Threads pass a word around, each waits for its turn. */
static void wait_for_turn(int thread)
{
	pthread_mutex_lock(&shared.mutex);
	while (shared.next % THREADS != thread)
		pthread_cond_wait(&shared.changed, &shared.mutex);
	shared.next++;
	pthread_cond_broadcast(&shared.changed);
	pthread_mutex_unlock(&shared.mutex);
}

static void *talk(void *argument)
{
	int thread = (int)(intptr_t)argument;
	static char out[THREADS][BYTES_MAX], in[THREADS][BYTES_MAX];

	for (int i = 0; i < ROUNDS; i++) {
		int bytes = (i * 1777 + thread * 901) % BYTES_MAX;
		int to = (me + 1 + thread) % tasks, from = (me + 2 * tasks - 1 - thread) % tasks;
		MPI_Request both[2];
		int done = 0;

		out[thread][0] = (char)(thread * 16 + i);
		pthread_mutex_lock(&mpi);
		MPI_Irecv(in[thread], BYTES_MAX, MPI_CHAR, from, thread, MPI_COMM_WORLD, &both[0]);
		MPI_Isend(out[thread], bytes + 1, MPI_CHAR, to, thread, MPI_COMM_WORLD, &both[1]);
		pthread_mutex_unlock(&mpi);
		while (!done) {
			pthread_mutex_lock(&mpi);
			MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE);
			pthread_mutex_unlock(&mpi);
		}
		CHECK(in[thread][0] == (char)(thread * 16 + i));
		note_visit(thread);
		if (i % 4 == 3)
			wait_for_turn(thread);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	unsigned long long order[64], all = 0;
	int level, failed;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &tasks);
	CHECK(level == MPI_THREAD_SERIALIZED);
	for (intptr_t i = 1; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, talk, (void *)i));
	talk(NULL);
	for (int i = 1; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK(shared.done == THREADS * ROUNDS && shared.next == THREADS * (ROUNDS / 4));
	MPI_Allgather(&(unsigned long long){shared.order}, 1, MPI_UNSIGNED_LONG_LONG, order, 1,
		      MPI_UNSIGNED_LONG_LONG, MPI_COMM_WORLD);
	for (int i = 0; i < tasks; i++)
		all = all * 31 + order[i];
	if (!me)
		printf("order %llx\n", all);
	MPI_Allreduce(&check_failures, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	if (!me && !failed)
		printf("PASS\n");
	return failed != 0;
}
