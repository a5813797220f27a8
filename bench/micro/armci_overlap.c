/* SPDX-License-Identifier: BSD-3-Clause */
/* armci-f19: a computation of growing length between a get and its wait. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench/armci_job.h"

enum { MIB = 1 << 20 };

struct overlap {
	struct abench *a;
	char *local;
	size_t bytes;
	double delay;
};

static void get_and_compute(void *arg, long count)
{
	struct overlap *o = arg;
	armci_hdl_t h;

	while (count--) {
		ARMCI_INIT_HANDLE(&h);
		ARMCI_NbGet(o->a->mem[o->a->peer], o->local, (int)o->bytes, o->a->peer, &h);
		if (o->delay > 0)
			ARMCIX_Compute(o->delay);
		ARMCI_Wait(&h);
	}
}

static void time_start(void *arg, long count)
{
	struct overlap *o = arg;
	double begin, spent = 0;
	armci_hdl_t h;
	long i;

	for (i = 0; i < count; i++) {
		ARMCI_INIT_HANDLE(&h);
		begin = armci_timer();
		ARMCI_NbGet(o->a->mem[o->a->peer], o->local, (int)o->bytes, o->a->peer, &h);
		spent += armci_timer() - begin;
		ARMCI_Wait(&h);
	}
	o->delay = spent / (double)count;
}

/* ---- processor time of sending and receiving ---- */

enum { GETS = 40, PATIENCE = 3 };

static double process_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sleep_for(double seconds)
{
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

	nanosleep(&t, NULL);
}

static void get_stream(void *arg, long count)
{
	struct overlap *o = arg;

	abench_stream(o->a, o->local, o->bytes, count, false);
}

/* Return the processor time that a get takes in this process while the program sleeps: starting it,
 * and the thread that receives. */
static double receive_seconds(struct overlap *o, double bare)
{
	double used = process_seconds();
	armci_hdl_t h;
	int i;

	for (i = 0; i < GETS; i++) {
		ARMCI_INIT_HANDLE(&h);
		ARMCI_NbGet(o->a->mem[o->a->peer], o->local, (int)o->bytes, o->a->peer, &h);
		sleep_for(PATIENCE * bare);
		ARMCI_Wait(&h);
	}
	return (process_seconds() - used) / GETS;
}

/*
 * Print the processor time that is left on the cores during a get, as a share of its time. With
 * fewer cores than threads with work, hardly more can be hidden. The sender is the slower end of a
 * stream of gets, so the time of a stream is that of its sender.
 */
static void print_left(struct overlap *o, double bare)
{
	double receiving, sending, left;

	if (o->a->is_virtual || o->a->me == o->a->peer)
		return;
	receiving = receive_seconds(o, bare);
	sending = abench_measure(o->a, get_stream, o).median;
	left = (double)sysconf(_SC_NPROCESSORS_ONLN) * bare - receiving - sending;
	left = left > bare ? bare : left < 0 ? 0 : left;
	abench_number(o->a, "overlap", "receiving", o->bytes, "us", receiving * 1e6);
	abench_number(o->a, "overlap", "sending", o->bytes, "us", sending * 1e6);
	abench_number(o->a, "overlap", "left", o->bytes, "%", 100 * left / bare);
}

/* ---- how much of a get is hidden ---- */

/* One variant computes for the delay, the other for a negligible time. */
static void with_delay(void *arg, long count)
{
	get_and_compute(arg, count);
}

static void without_delay(void *arg, long count)
{
	struct overlap bare = *(struct overlap *)arg;

	bare.delay = 1e-12;
	get_and_compute(&bare, count);
}

/* Return how many times longer get and computation take with a delay. The two are
 * measured in alternation. *bare: seconds without a delay. */
static double ratio_with_delay(struct overlap *o, double delay, double *bare)
{
	static const struct abench_variant v[] = {{"without", without_delay}, {"with", with_delay}};
	struct bench_samples s[2] = {{0}}, ratio = {0};
	double times;
	size_t i;

	o->delay = delay;
	abench_alternate(o->a, v, 2, NULL, o, s);
	for (i = 0; i < s[0].count; i++)
		bench_samples_add(&ratio, s[1].value[i] / s[0].value[i]);
	times = bench_quantile(&ratio, 0.5);
	*bare = bench_quantile(&s[0], 0.5);
	for (i = 0; i < 2; i++)
		bench_samples_free(&s[i]);
	bench_samples_free(&ratio);
	return times;
}

/*
 * hidden: the longest delay that makes the whole at most 2% longer than with a call that
 * computes nothing, found by halving, as a share of the time without a delay. overlapped: for a
 * computation as long as the get, the share of the two that overlapped. The processor time of the
 * call itself cannot be hidden.
 */
static void measure_overlap(struct overlap *o)
{
	struct abench *a = o->a;
	double lo = 0, hi, start, bare, again, times;
	int i;

	o->delay = 0;
	bare = abench_measure(a, get_and_compute, o).median;
	times = ratio_with_delay(o, bare, &again);
	print_left(o, bare);
	time_start(o, 100);
	start = o->delay;
	hi = 1.2;
	for (i = 0; i < (a->is_virtual ? 8 : 7); i++) {
		double share = (lo + hi) / 2;

		if (ratio_with_delay(o, share * bare, &again) <= 1.02)
			lo = share;
		else
			hi = share;
	}
	abench_number(a, "overlap", "total", o->bytes, "us", bare * 1e6);
	abench_number(a, "overlap", "hidden", o->bytes, "%", 100 * lo);
	abench_number(a, "overlap", "overlapped", o->bytes, "%", 100 * (2 - times));
	abench_number(a, "overlap", "call", o->bytes, "%", 100 * start / bare);
}

int abench_overlap(struct abench *a)
{
	struct overlap o = {.a = a};

	abench_open_memory(a, MIB);
	o.local = abench_local(MIB);
	for (o.bytes = a->size ? a->size : 1024; a->drives && o.bytes <= (a->size ? a->size : MIB);
	     o.bytes *= 4)
		measure_overlap(&o);
	ARMCI_Barrier();
	ARMCI_Free_local(o.local);
	abench_close_memory(a);
	return 0;
}
