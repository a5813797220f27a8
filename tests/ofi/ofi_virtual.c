/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI program in virtual time: round trips, neighbour exchange, collectives, one-sided; clocks
 * and sleeps. What it prints must be the same in every run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int me, tasks;
static int declared; /* computation takes what the program says, else what was measured */

#define CHECK_WHO "task %d", me
#include "tests/harness/check_count.h"

/* Half round trips between tasks 0 and 1. A round trip of a wire takes microseconds, a turn of the
 * simulator a hundred of them in real time. */
static void round_trips(void)
{
	static char text[32768];

	for (int bytes = 0; bytes <= 32768; bytes = bytes ? bytes * 8 : 8) {
		double start, us;

		MPI_Barrier(MPI_COMM_WORLD);
		start = MPI_Wtime();
		for (int i = 0; i < 20 && me < 2; i++) {
			if (!me)
				MPI_Send(text, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
			MPI_Recv(text, bytes, MPI_CHAR, !me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			if (me)
				MPI_Send(text, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
		}
		us = (MPI_Wtime() - start) / 40 * 1e6;
		if (!me)
			printf("%d bytes: %.3f us\n", bytes, us);
		CHECK(me || (us > 0.5 && (!declared || us < 3 + bytes / 500.0)));
	}
}

static void exchange_halo(void)
{
	enum { N = 512 };
	double row[N + 2];
	int left = (me + tasks - 1) % tasks, right = (me + 1) % tasks;

	for (int i = 1; i <= N; i++)
		row[i] = me;
	for (int step = 0; step < 5; step++) {
		MPI_Sendrecv(&row[1], 1, MPI_DOUBLE, left, 1, &row[N + 1], 1, MPI_DOUBLE, right, 1,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Sendrecv(&row[N], 1, MPI_DOUBLE, right, 2, &row[0], 1, MPI_DOUBLE, left, 2,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(row[0] == left + step && row[N + 1] == right + step);
		for (int i = 1; i <= N; i++)
			row[i]++;
	}
}

static void run_collectives(void)
{
	double in[1000], out[1000];
	int all[64];

	for (int i = 0; i < 1000; i++)
		in[i] = me + i;
	MPI_Allreduce(in, out, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < 1000; i++)
		CHECK(out[i] == tasks * (tasks - 1) / 2.0 + (double)tasks * i);
	MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < tasks; i++)
		CHECK(all[i] == i);
	MPI_Bcast(in, 1000, MPI_DOUBLE, tasks - 1, MPI_COMM_WORLD);
	CHECK(in[999] == tasks - 1 + 999);
}

static void one_sided(void)
{
	long *memory, one = 1, old, back = -1, mine = 100 + me;
	int next = (me + 1) % tasks;
	MPI_Win window;

	MPI_Win_allocate(16 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
			 &window);
	memset(memory, 0, 16 * sizeof(long));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, window);
	MPI_Put(&mine, 1, MPI_LONG, next, 1, 1, MPI_LONG, window);
	MPI_Win_flush(next, window);
	MPI_Get(&back, 1, MPI_LONG, next, 1, 1, MPI_LONG, window);
	for (int i = 0; i < 5; i++)
		MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, window);
	MPI_Win_flush_all(window);
	CHECK(back == mine && old >= 0 && old < 5 * tasks);
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(memory[1] == 100 + (me + tasks - 1) % tasks);
	CHECK(me || memory[0] == 5 * tasks);
	MPI_Win_free(&window);
}

static double clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double day_s(void)
{
	struct timeval t;

	gettimeofday(&t, NULL);
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/* Waits that nobody ends, up to a time: a second each of the clock that they name. */
static void timed_waits(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	double start = clock_s(CLOCK_MONOTONIC);
	struct timespec until;
	struct pollfd fd = {.events = POLLIN};
	int ends[2];
	sem_t none;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&mutex);
	CHECK(pthread_cond_timedwait(&condition, &mutex, &until) == ETIMEDOUT);
	pthread_mutex_unlock(&mutex);
	sem_init(&none, 0, 0);
	until.tv_sec++;
	CHECK(sem_timedwait(&none, &until) == -1 && errno == ETIMEDOUT);
	sem_destroy(&none);
	CHECK(!pipe(ends));
	fd.fd = ends[0];
	CHECK(poll(&fd, 1, 1000) == 0);
	CHECK(write(ends[1], "x", 1) == 1 && poll(&fd, 1, 1000) == 1);
	close(ends[0]);
	close(ends[1]);
	CHECK(fabs(clock_s(CLOCK_MONOTONIC) - start - 3) < 0.001);
}

/* An hour of sleep in no time; all clocks agree on how long it was. */
static void clocks_agree(void)
{
	struct timespec span = {600, 500}, until;
	double wtime = MPI_Wtime(), monotonic = clock_s(CLOCK_MONOTONIC), day = day_s();
	time_t began = time(NULL);

	sleep(1200);
	usleep(999999);
	nanosleep(&span, NULL);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 1800;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	CHECK(fabs(MPI_Wtime() - wtime - 3601) < 0.001);
	CHECK(fabs(clock_s(CLOCK_MONOTONIC) - monotonic - 3601) < 0.001);
	CHECK(fabs(day_s() - day - 3601) < 0.001);
	CHECK(time(NULL) - began >= 3600 && time(NULL) - began <= 3602);
	/* A loop on the clock ends. */
	for (monotonic = clock_s(CLOCK_MONOTONIC); clock_s(CLOCK_MONOTONIC) < monotonic + 0.0001;)
		;
	if (!me)
		printf("the clock says %.6f\n", clock_s(CLOCK_REALTIME));
}

#define PCONTROL_COMPUTE 0x5154

static void compute_unevenly(void)
{
	double start = MPI_Wtime(), sum = 0, all, s;

	for (int i = 1; i <= 300000 * (me + 1); i++)
		sum += 1.0 / i;
	MPI_Pcontrol(PCONTROL_COMPUTE, 0.5 * (me + 1));
	MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	s = MPI_Wtime() - start;
	if (!me)
		printf("the clock says %.9f s for a sum of %g\n", s, all);
	CHECK(declared ? fabs(s - 0.5 * tasks) < 0.0001 : s > 0.00001 && s < 10);
}

int main(int argc, char **argv)
{
	int all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &tasks);
	declared = argc > 1;
	round_trips();
	exchange_halo();
	run_collectives();
	one_sided();
	compute_unevenly();
	clocks_agree();
	timed_waits();
	MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	if (!me && !all)
		printf("PASS\n");
	return all != 0;
}
