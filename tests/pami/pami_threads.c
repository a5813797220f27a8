/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process with several threads in virtual time: each has a clock of its own, they meet where
 * threads meet (locks, conditions, barriers, joins, posted work), and a run can be repeated.
 * pami_threads.sh compares runs; in real time the same program checks the same answers.
 */
#include <pthread.h>
#include <sched.h>

#include "tests/harness/pami_job.h"

#define THREADS 4
#define ROUNDS  40

enum { ID_PING = 1, ID_COUNT };

struct side {
	size_t k;
	volatile unsigned pings;
	pthread_t thread;
};
static struct side sides[THREADS];

static void on_ping(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct side *s = cookie;

	CHECK(c == contexts[s->k]);
	s->pings++;
}

static void send_to(size_t task, size_t k, unsigned dispatch)
{
	uint32_t word = 1;
	pami_send_immediate_t s = {
	    .header = {&word, sizeof word}, .dispatch = dispatch, .dest = get_endpoint(task, k)};

	CHECK_EQ(PAMI_Send_immediate(contexts[k], &s), PAMI_SUCCESS);
}

/* Tasks answer each other in pairs, each pair of threads over a context of its own. */
static void *run_pings(void *arg)
{
	struct side *s = arg;
	size_t other = me ^ 1;

	for (unsigned i = 0; i < ROUNDS && other < tasks; i++) {
		if (!(me & 1))
			send_to(other, s->k, ID_PING);
		while (s->pings <= i)
			PAMI_Context_advance(contexts[s->k], 10);
		if (me & 1)
			send_to(other, s->k, ID_PING);
	}
	return NULL;
}

static double time_pings(size_t threads)
{
	double start, us;

	for (size_t k = 0; k < THREADS; k++)
		sides[k] = (struct side){.k = k};
	run_barrier();
	start = PAMI_Wtime(client);
	for (size_t k = 1; k < threads; k++)
		CHECK_EQ(pthread_create(&sides[k].thread, NULL, run_pings, &sides[k]), 0);
	run_pings(&sides[0]);
	for (size_t k = 1; k < threads; k++)
		pthread_join(sides[k].thread, NULL);
	us = (PAMI_Wtime(client) - start) * 1e6;
	run_barrier();
	return us;
}

/* ---- A queue behind a mutex and conditions; the consumer sends what it gets ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static unsigned queued, made, counted;

static void on_count(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	counted++;
}

static void *run_producer(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		while (queued == 3)
			pthread_cond_wait(&empty, &mutex);
		queued++;
		made++;
		pthread_cond_signal(&full);
		pthread_mutex_unlock(&mutex);
		PAMI_Wtime(client);
	}
	return NULL;
}

static void queue_keeps_every_item(void)
{
	pthread_t producer[2];

	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&producer[i], NULL, run_producer, NULL), 0);
	for (unsigned i = 0; i < 2 * ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		while (!queued)
			pthread_cond_wait(&full, &mutex);
		queued--;
		pthread_cond_signal(&empty);
		pthread_mutex_unlock(&mutex);
		send_to((me + 1) % tasks, 0, ID_COUNT);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(producer[i], NULL);
	CHECK_EQ(made, 2 * ROUNDS);
	WAIT(counted == 2 * ROUNDS);
	run_barrier();
}

/* ---- All threads at one context under its lock; a barrier of threads in each round ---- */

static pthread_barrier_t line;
static unsigned turns, together;

static pami_result_t take_turn(pami_context_t c, void *cookie)
{
	turns++;
	return PAMI_SUCCESS;
}

static void *post_in_step(void *arg)
{
	static pami_work_t work[THREADS][ROUNDS];
	struct side *s = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&line);
		PAMI_Context_post(contexts[0], &work[s->k][i], take_turn, NULL);
		PAMI_Context_lock(contexts[0]);
		together++;
		PAMI_Context_advance(contexts[0], 1);
		PAMI_Context_unlock(contexts[0]);
	}
	return NULL;
}

static void contending_posts_all_run(void)
{
	pthread_barrier_init(&line, NULL, THREADS);
	for (size_t k = 1; k < THREADS; k++)
		CHECK_EQ(pthread_create(&sides[k].thread, NULL, post_in_step, &sides[k]), 0);
	post_in_step(&sides[0]);
	for (size_t k = 1; k < THREADS; k++)
		pthread_join(sides[k].thread, NULL);
	WAIT(turns == THREADS * ROUNDS);
	CHECK_EQ(together, THREADS * ROUNDS);
	pthread_barrier_destroy(&line);
	run_barrier();
}

/* ---- Threads that come and go, some without a call; one that ends with the turn in its hand ----
 */

static volatile unsigned touched;

static void *come_and_go(void *arg)
{
	uintptr_t k = (uintptr_t)arg;

	if (k % 3 == 0)
		return NULL;
	if (k % 3 == 1)
		PAMI_Wtime(client);
	/* Each yield costs a time slice of every busy process on the processor. */
	for (int i = 0; i < 10; i++)
		sched_yield();
	atomic_add_fetch_relaxed(&touched, 1);
	send_to(me, k % THREADS, ID_PING);
	return NULL;
}

static void coming_and_going(void)
{
	pthread_t thread[THREADS];

	for (size_t k = 0; k < THREADS; k++)
		sides[k] = (struct side){.k = k};
	for (int wave = 0; wave < 3; wave++) {
		for (uintptr_t k = 0; k < THREADS; k++)
			CHECK_EQ(pthread_create(&thread[k], NULL, come_and_go, (void *)(k + 1)), 0);
		for (size_t k = 0; k < THREADS; k++)
			pthread_join(thread[k], NULL);
	}
	CHECK_EQ(touched, 9);
	for (size_t k = 0; k < THREADS; k++)
		while (sides[k].pings < 3u * (k != 3))
			PAMI_Context_advance(contexts[k], 10);
	run_barrier();
}

int main(int argc, char **argv)
{
	int is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	double one, all;

	job_begin(THREADS);
	for (size_t k = 0; k < THREADS; k++) {
		dispatch_set(contexts[k], ID_PING, on_ping, &sides[k], (pami_dispatch_hint_t){0});
		dispatch_set(contexts[k], ID_COUNT, on_count, NULL, (pami_dispatch_hint_t){0});
	}
	one = time_pings(1);
	all = time_pings(THREADS);
	if (is_virtual && (me ^ 1) < tasks) {
		CHECK(all > one * 0.9);
		/* The waits overlap; one after the other would take 4 times as long. */
		CHECK(all < one * 2);
	}
	queue_keeps_every_item();
	contending_posts_all_run();
	coming_and_going();
	return job_end(THREADS);
}
