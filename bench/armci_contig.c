/* SPDX-License-Identifier: BSD-3-Clause */
/* Contiguous put and get: latency and bandwidth by size, with PAMI alone beside; and what objects cost.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/armci_raw.h"

enum { MOST = 1 << 20, STREAM = 16 };

struct contig {
	struct abench *a;
	struct araw *raw;
	char *local;
	size_t bytes;
	unsigned window;
};

static void put(void *arg, long count)
{
	struct contig *c = arg;

	while (count--)
		ARMCI_Put(c->local, c->a->mem[c->a->peer], (int)c->bytes, c->a->peer);
}

/* Until it is in place. */
static void put_fence(void *arg, long count)
{
	struct contig *c = arg;

	while (count--) {
		ARMCI_Put(c->local, c->a->mem[c->a->peer], (int)c->bytes, c->a->peer);
		ARMCI_Fence(c->a->peer);
	}
}

static void get(void *arg, long count)
{
	struct contig *c = arg;

	while (count--)
		ARMCI_Get(c->a->mem[c->a->peer], c->local, (int)c->bytes, c->a->peer);
}

static void stream(struct contig *c, long count, bool is_put)
{
	armci_hdl_t h[STREAM];
	long i;
	int k;

	for (k = 0; k < STREAM; k++)
		ARMCI_INIT_HANDLE(&h[k]);
	for (i = 0; i < count; i++) {
		ARMCI_Wait(&h[i % STREAM]);
		if (is_put)
			ARMCI_NbPut(c->local, c->a->mem[c->a->peer], (int)c->bytes, c->a->peer,
				    &h[i % STREAM]);
		else
			ARMCI_NbGet(c->a->mem[c->a->peer], c->local, (int)c->bytes, c->a->peer,
				    &h[i % STREAM]);
	}
	for (k = 0; k < STREAM; k++)
		ARMCI_Wait(&h[k]);
	if (is_put)
		ARMCI_Fence(c->a->peer);
}

static void put_stream(void *arg, long count)
{
	stream(arg, count, true);
}

static void get_stream(void *arg, long count)
{
	stream(arg, count, false);
}

static void raw_put(void *arg, long count)
{
	struct contig *c = arg;

	araw_run(c->raw, true, c->bytes, count, c->window);
}

static void raw_get(void *arg, long count)
{
	struct contig *c = arg;

	araw_run(c->raw, false, c->bytes, count, c->window);
}

struct variant {
	const char *name;
	abench_fn fn;
};

/* Variants are interleaved at each size, so that a slow moment of the machine hits all alike; but PAMI's
 * are measured behind ARMCI's, since the partner polls for one of them at a time. */
static void sweep(struct contig *c, const char *bench, const struct variant *v, size_t variants,
		  size_t least, bool rate)
{
	struct abench *a = c->a;
	size_t i;

	for (i = 0; i < variants && !abench_wanted(a, v[i].name); i++)
		;
	if (i == variants)
		return;
	for (c->bytes = a->size ? a->size : least; c->bytes <= (a->size ? a->size : MOST); c->bytes *= 2)
		for (i = 0; i < variants; i++)
			if (abench_wanted(a, v[i].name)) {
				struct abench_time t = abench_measure(a, v[i].fn, c);

				abench_row(a, bench, v[i].name, c->bytes, rate ? "GB/s" : "us",
					   rate ? (double)c->bytes * 1e-9 : 1e6, rate, &t);
			}
}

static int run(struct abench *a, const char *bench, const struct variant *v, size_t variants,
	       size_t least, unsigned window)
{
	struct contig c = {.a = a, .window = window};

	abench_open_memory(a, MOST + 64);
	c.local = abench_local(MOST + 64);
	c.raw = araw_open(a, c.local, MOST + 64);
	if (a->drives)
		sweep(&c, bench, v, variants - 2, least, window > 1);
	ARMCI_Barrier();
	if (a->me == a->peer && !a->drives)
		araw_serve(c.raw); /* the partner polls what is measured */
	if (a->drives) {
		sweep(&c, bench, v + variants - 2, 2, least, window > 1);
		araw_release(c.raw);
	}
	ARMCI_Barrier();
	araw_close(c.raw);
	ARMCI_Free_local(c.local);
	abench_close_memory(a);
	return 0;
}

int abench_latency(struct abench *a)
{
	static const struct variant v[] = {{"put", put},
					   {"put+fence", put_fence},
					   {"get", get},
					   {"PAMI rput", raw_put},
					   {"PAMI rget", raw_get}};

	return run(a, "latency", v, 5, 8, 1);
}

int abench_bandwidth(struct abench *a)
{
	static const struct variant v[] = {
	    {"put", put_stream}, {"get", get_stream}, {"PAMI rput", raw_put}, {"PAMI rget", raw_get}};

	return run(a, "bandwidth", v, 4, 256, STREAM);
}

/* ---- bgq-t2 ---- */

static void allocate(void *arg, long count)
{
	void **p = arg;

	while (count--) {
		ARMCI_Malloc(p, 1 << 16);
		ARMCI_Free(p[armci_msg_me()]);
	}
}

int abench_attributes(struct abench *a)
{
	void **p = calloc((size_t)a->n, sizeof(*p));
	enum { ROUNDS = 200 };
	double begin, first, again;
	int v;

	if (!p)
		abench_die("no memory");
	allocate(p, 10);
	ARMCI_Barrier();
	begin = armci_timer();
	allocate(p, ROUNDS);
	if (a->drives)
		abench_number(a, "attributes", "malloc+free", 65536, "us",
			      (armci_timer() - begin) * 1e6 / ROUNDS);
	abench_open_memory(a, 4096);
	if (a->drives) {
		long misses = ARMCIX_Counter("region_misses"), endpoints = ARMCIX_Counter("endpoints");

		begin = armci_timer();
		ARMCI_GetValueInt(a->mem[a->peer], a->peer);
		first = armci_timer() - begin;
		begin = armci_timer();
		ARMCI_GetValueInt(a->mem[a->peer], a->peer);
		again = armci_timer() - begin;
		abench_number(a, "attributes", "first get", 4, "us", first * 1e6);
		abench_number(a, "attributes", "next get", 4, "us", again * 1e6);
		abench_number(a, "attributes", "region", sizeof(double) * 8, "bytes", 64);
		abench_number(a, "attributes", "asked for",
			      (size_t)(ARMCIX_Counter("region_misses") - misses), "regions",
			      (double)(ARMCIX_Counter("region_misses") - misses));
		abench_number(a, "attributes", "made", (size_t)ARMCIX_Counter("endpoints"), "endpts",
			      (double)(ARMCIX_Counter("endpoints") - endpoints));
	}
	abench_close_memory(a);
	begin = armci_timer();
	for (v = 0; v < 100; v++) {
		void *q = ARMCI_Malloc_local(1 << 16);

		ARMCI_Free_local(q);
	}
	if (a->drives)
		abench_number(a, "attributes", "local+free", 65536, "us",
			      (armci_timer() - begin) * 1e6 / 100);
	free(p);
	return 0;
}
