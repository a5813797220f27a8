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

static void only_start(void *arg, long count)
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

/* ---- what sending and receiving take of the processors ---- */

enum { GETS = 40, PATIENCE = 3, STREAM = 16 };

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

static void stream(void *arg, long count)
{
	struct overlap *o = arg;
	armci_hdl_t h[STREAM];
	long i;

	for (i = 0; i < STREAM; i++)
		ARMCI_INIT_HANDLE(&h[i]);
	for (i = 0; i < count; i++) {
		ARMCI_Wait(&h[i % STREAM]);
		ARMCI_NbGet(o->a->mem[o->a->peer], o->local, (int)o->bytes, o->a->peer, &h[i % STREAM]);
	}
	for (i = 0; i < STREAM; i++)
		ARMCI_Wait(&h[i]);
}

/* Processor time of this process for a get while the program sleeps: starting it, and the thread that
 * receives. */
static double receiving_takes(struct overlap *o, double bare)
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
 * What is left of the cores during a get, as a share of its time: where there are fewer than threads
 * with work, hardly more can be hidden. The sender is the slower end of a stream of gets, so its time is
 * the stream's.
 */
static void print_left(struct overlap *o, double bare)
{
	double receiving, sending, left;

	if (o->a->is_virtual || o->a->me == o->a->peer)
		return;
	receiving = receiving_takes(o, bare);
	sending = abench_measure(o->a, stream, o).median;
	left = (double)sysconf(_SC_NPROCESSORS_ONLN) * bare - receiving - sending;
	left = left > bare ? bare : left < 0 ? 0 : left;
	abench_number(o->a, "overlap", "receiving", o->bytes, "us", receiving * 1e6);
	abench_number(o->a, "overlap", "sending", o->bytes, "us", sending * 1e6);
	abench_number(o->a, "overlap", "left", o->bytes, "%", 100 * left / bare);
}

/* ---- what is hidden ---- */

/* With the delay, and with one that is next to nothing. */
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

/* How many times longer the whole is with a delay, both measured in turns; *bare: seconds without. */
static double longer(struct overlap *o, double delay, double *bare)
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
 * hidden: the longest delay that makes the whole no more than 2% longer (than with a call to compute
 * that computes nothing), by halving; as a share of the time without one. overlapped: of a computation
 * as long as the get, how much of the two ran beside each other. What the call itself takes of the
 * processor cannot be hidden.
 */
static void overlap_of(struct overlap *o)
{
	struct abench *a = o->a;
	double lo = 0, hi, start, bare, again, times;
	int i;

	o->delay = 0;
	bare = abench_measure(a, get_and_compute, o).median;
	times = longer(o, bare, &again);
	print_left(o, bare);
	only_start(o, 100);
	start = o->delay;
	hi = 1.2;
	for (i = 0; i < (a->is_virtual ? 8 : 7); i++) {
		double share = (lo + hi) / 2;

		if (longer(o, share * bare, &again) <= 1.02)
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
		overlap_of(&o);
	ARMCI_Barrier();
	ARMCI_Free_local(o.local);
	abench_close_memory(a);
	return 0;
}
