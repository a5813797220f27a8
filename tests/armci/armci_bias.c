/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of the library and its bias, by the functions that every ARMCI call begins and ends
 * with: threads enter in bursts of random length, so that the bias goes from one to another; some
 * end while they have it, others come; one waits in ARMCI meanwhile. At no time are two inside.
 *
 *   armci_bias SECONDS
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <armcix.h>

#include "armci/core/thread.h"
#include "drivers/base/atomic.h"
#include "drivers/base/rng.h"

enum { THREADS = 3, LIVES = 4, BURST = 5000 };

static uint64_t counter; /* guarded by the lock alone */
static atomic_u32 inside, mistakes, biased, stop;
static atomic_u64 entered;

static void enter_once(void)
{
	ARMCI_ENTER;
	uint64_t seen = counter;

	if (atomic_fetch_add_relaxed(&inside, 1) || !armci_has_lock())
		atomic_fetch_add_relaxed(&mistakes, 1);
	if (atomic_ptr_load_relaxed(&armci_bias) == &armci_self)
		atomic_store_relaxed(&biased, 1);
	atomic_fetch_add_relaxed(&inside, -1u);
	counter = seen + 1;
}

static void *enter_often(void *arg)
{
	struct drv_rng rng;
	uint64_t n = 0;

	drv_rng_seed(&rng, (uint64_t)(uintptr_t)arg);
	for (int bursts = 0; bursts < 5 && !atomic_load_relaxed(&stop); bursts++) {
		uint64_t burst = 1 + drv_rng_below(&rng, drv_rng_below(&rng, 3) ? BURST : 10);

		for (uint64_t i = 0; i < burst; i++, n++)
			enter_once();
		if (!drv_rng_below(&rng, 3))
			usleep(1 + (unsigned)drv_rng_below(&rng, 2000));
		else
			sched_yield();
	}
	atomic_fetch_add_relaxed(&entered, n);
	return NULL;
}

/* Threads that come and go one after the other: a new thread must not end the bias before its turn.
 */
static void *make_threads(void *arg)
{
	uintptr_t seed = (uintptr_t)arg * LIVES;

	for (int i = 0; i < LIVES; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, enter_often, (void *)(seed + (uintptr_t)i)))
			abort();
		pthread_join(thread, NULL);
	}
	return NULL;
}

/* Waits for a message that this process sends to itself. */
static void *wait_in_armci(void *arg)
{
	int word = 0, bytes = 0;

	(void)arg;
	armci_msg_rcv(7, &word, sizeof word, &bytes, armci_msg_me());
	if (word != 42)
		atomic_fetch_add_relaxed(&mistakes, 1);
	return NULL;
}

static double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	double until = now_seconds() + (argc > 1 ? atof(argv[1]) : 1);
	uint64_t seed = 1, lives = 0;
	/* Asynchronous progress uses the only context too, so no thread may have the bias. */
	const char *contexts = getenv("QUINTORUS_ARMCI_CONTEXTS");
	bool may_bias = !contexts || strcmp(contexts, "1") != 0;

	if (ARMCI_Init_thread(3 /* MPI_THREAD_MULTIPLE */))
		return 1;
	do {
		pthread_t thread[THREADS], waiting;
		int word = 42;

		pthread_create(&waiting, NULL, wait_in_armci, NULL);
		for (int i = 0; i < THREADS; i++)
			pthread_create(&thread[i], NULL, make_threads, (void *)(uintptr_t)seed++);
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
		armci_msg_snd(7, &word, sizeof word, armci_msg_me());
		pthread_join(waiting, NULL);
		lives++;
	} while (now_seconds() < until || (may_bias && !atomic_load_relaxed(&biased)));
	ARMCI_Barrier();
	if (!may_bias && atomic_load_relaxed(&biased)) {
		fprintf(stderr, "a thread entered without the lock of the only context\n");
		return 1;
	}
	if (counter != atomic_load_relaxed(&entered) || atomic_load_relaxed(&mistakes)) {
		fprintf(stderr, "%llu of %llu entries counted, %u mistakes\n",
			(unsigned long long)counter,
			(unsigned long long)atomic_load_relaxed(&entered),
			atomic_load_relaxed(&mistakes));
		return 1;
	}
	printf("PASS: %llu entries of %llu threads\n", (unsigned long long)counter,
	       (unsigned long long)lives * THREADS * LIVES);
	ARMCI_Finalize();
	return 0;
}
