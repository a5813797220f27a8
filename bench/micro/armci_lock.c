/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the lock of libarmci costs a call: a function that enters the library and leaves it, less
 * the same function without. Both are timed in alternating blocks of this process, alone and beside
 * another thread that calls once, each 10 ms, or each 0.1 ms. Linked with the library's inside
 * (armci/core/thread.h), since every public call does something else, too.
 *
 * usage: torus run -n 1 armci_lock [--json]
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "armci/core/thread.h"
#include "bench/bench.h"
#include "drivers/base/clock.h"
#include "armci/armci.h"

enum { BLOCKS = 41, CALLS = 200000 };

struct other {
	pthread_t thread;
	atomic_u32 has_called, stop;
	useconds_t pause; /* between two calls; 0: it calls once */
};

static __attribute__((noinline)) void call_empty(void)
{
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void call_locked(void)
{
	ARMCI_ENTER;

	__asm__ volatile("" ::: "memory");
}

/* Nanoseconds of one call. */
static double time_calls(void (*call)(void))
{
	uint64_t from = drv_clock_ns();

	for (int i = 0; i < CALLS; i++)
		call();
	return (double)(drv_clock_ns() - from) / CALLS;
}

static void *call_now_and_then(void *arg)
{
	struct other *o = arg;

	do {
		call_locked();
		atomic_store_release(&o->has_called, 1);
		usleep(o->pause ? o->pause : 1000);
	} while (o->pause && !atomic_load_acquire(&o->stop));
	while (!atomic_load_acquire(&o->stop))
		usleep(1000);
	return NULL;
}

static void measure_variant(enum bench_format format, const char *variant)
{
	struct bench_samples cost = {0};
	struct bench_row row = {.bench = "lock",
				.variant = variant,
				.unit = "ns",
				.from = 0,
				.to = -1,
				.hops = -1,
				.check = ""};

	for (int i = 0; i < BLOCKS; i++) {
		double locked = time_calls(call_locked), empty = time_calls(call_empty);

		if (i) /* the first warms up */
			bench_samples_add(&cost, locked - empty);
	}
	bench_row_value(&row, &cost);
	bench_out_row(format, &row);
	bench_samples_free(&cost);
}

static bool measure_beside(enum bench_format format, const char *variant, useconds_t pause)
{
	struct other o = {.pause = pause};

	if (pthread_create(&o.thread, NULL, call_now_and_then, &o))
		return false;
	while (!atomic_load_acquire(&o.has_called))
		usleep(100);
	measure_variant(format, variant);
	atomic_store_release(&o.stop, 1);
	pthread_join(o.thread, NULL);
	return true;
}

int main(int argc, char **argv)
{
	enum bench_format format =
	    argc > 1 && !strcmp(argv[1], "--json") ? BENCH_JSON : BENCH_TABLE;
	const char *facts[] = {NULL};
	bool is_whole;

	if (argc > 2 || (argc > 1 && format == BENCH_TABLE)) {
		fprintf(stderr, "usage: torus run -n 1 armci_lock [--json]\n");
		return 2;
	}
	if (ARMCI_Init())
		return 1;
	bench_out_begin(format, facts);
	measure_variant(format, "one thread");
	is_whole = measure_beside(format, "another called once", 0) &&
		   measure_beside(format, "another calls each 10 ms", 10000) &&
		   measure_beside(format, "another calls each 0.1 ms", 100);
	if (!is_whole)
		fprintf(stderr, "armci_lock: no thread could be started\n");
	ARMCI_Finalize();
	return is_whole ? 0 : 1;
}
