/* SPDX-License-Identifier: BSD-3-Clause */
/* Latency and bandwidth of contiguous put and get by size, beside PAMI alone; and the cost of
 * objects. */
#include <stdlib.h>
#include <string.h>

#include "bench/micro/armci_raw.h"

enum { MOST = 1 << 20 };

struct contig {
	struct abench *a;
	struct araw *raw;
	char *local;
	size_t bytes;
	unsigned window;
};

static void run_puts(void *arg, long count)
{
	struct contig *c = arg;

	while (count--)
		ARMCI_Put(c->local, c->a->mem[c->a->peer], (int)c->bytes, c->a->peer);
}

/* Put and wait until the data is in place. */
static void put_fence(void *arg, long count)
{
	struct contig *c = arg;

	while (count--) {
		ARMCI_Put(c->local, c->a->mem[c->a->peer], (int)c->bytes, c->a->peer);
		ARMCI_Fence(c->a->peer);
	}
}

static void run_gets(void *arg, long count)
{
	struct contig *c = arg;

	while (count--)
		ARMCI_Get(c->a->mem[c->a->peer], c->local, (int)c->bytes, c->a->peer);
}

static void put_stream(void *arg, long count)
{
	struct contig *c = arg;

	abench_stream(c->a, c->local, c->bytes, count, true);
}

static void get_stream(void *arg, long count)
{
	struct contig *c = arg;

	abench_stream(c->a, c->local, c->bytes, count, false);
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

static void run_adds(void *arg, long count)
{
	struct contig *c = arg;
	long old;

	while (count--)
		ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, c->a->mem[c->a->peer], 1, c->a->peer);
}

static void raw_add(void *arg, long count)
{
	struct contig *c = arg;

	araw_add(c->raw, count);
}

/* A variant, and the index of the variant that it is compared with (-1: none). */
struct contig_variant {
	struct abench_variant v;
	enum araw_mode mode;
	int beside;
};

struct contig_bench {
	const char *name;
	const struct contig_variant *variant;
	size_t variants, least, most;
	unsigned window;
};

/* The selected variants, at one size. */
struct contig_sweep {
	struct contig c;
	const struct contig_variant *variant[ABENCH_VARIANTS];
};

static void set_peer_mode(void *arg, size_t i)
{
	struct contig_sweep *s = arg;

	araw_set_peer_mode(s->c.raw, s->variant[i]->mode);
}

static void measure_size(struct contig_sweep *s, const struct contig_bench *b)
{
	struct bench_samples samples[ABENCH_VARIANTS] = {{0}};
	struct abench_variant v[ABENCH_VARIANTS];
	bool rate = b->window > 1;
	size_t n = 0, i, k;

	for (i = 0; i < b->variants; i++)
		if (abench_is_wanted(s->c.a, b->variant[i].v.name)) {
			s->variant[n] = &b->variant[i];
			v[n++] = b->variant[i].v;
		}
	abench_alternate(s->c.a, v, n, set_peer_mode, s, samples);
	for (i = 0; i < n; i++)
		for (k = 0; k < n && !s->c.a->is_virtual; k++)
			if (s->variant[i]->beside >= 0 &&
			    s->variant[k] == &b->variant[s->variant[i]->beside]) {
				char name[64];

				snprintf(name, sizeof(name), "%s / %s", v[i].name, v[k].name);
				abench_ratio(s->c.a, b->name, name, s->c.bytes, &samples[i],
					     &samples[k], rate);
			}
	for (i = 0; i < n; i++) {
		struct abench_time t = abench_time_of(&samples[i]);

		abench_row(s->c.a, b->name, v[i].name, s->c.bytes, rate ? "GB/s" : "us",
			   rate ? (double)s->c.bytes * 1e-9 : 1e6, rate, &t);
		bench_samples_free(&samples[i]);
	}
}

/* All variants use the same memory, regions and buffers. */
static int run_sweep(struct abench *a, const struct contig_bench *b)
{
	struct contig_sweep s = {.c = {.a = a, .window = b->window}};
	struct contig *c = &s.c;

	abench_open_memory(a, MOST + 64);
	c->local = abench_local(MOST + 64);
	c->raw = araw_open(a, c->local, MOST + 64);
	if (a->drives) {
		for (c->bytes = a->size ? a->size : b->least;
		     c->bytes <= (a->size ? a->size : b->most); c->bytes *= 2)
			measure_size(&s, b);
		araw_set_peer_mode(c->raw, ARAW_END);
	} else if (a->me == a->peer) {
		araw_serve(c->raw);
	}
	ARMCI_Barrier();
	araw_close(c->raw);
	ARMCI_Free_local(c->local);
	abench_close_memory(a);
	return 0;
}

int abench_latency(struct abench *a)
{
	static const struct contig_variant v[] = {{{"put", run_puts}, ARAW_ARMCI, -1},
						  {{"put+fence", put_fence}, ARAW_ARMCI, 3},
						  {{"get", run_gets}, ARAW_ARMCI, 4},
						  {{"PAMI rput", raw_put}, ARAW_PAMI, -1},
						  {{"PAMI rget", raw_get}, ARAW_PAMI, -1}};
	static const struct contig_bench b = {"latency", v, 5, 8, MOST, 1};

	return run_sweep(a, &b);
}

int abench_bandwidth(struct abench *a)
{
	static const struct contig_variant v[] = {{{"put", put_stream}, ARAW_ARMCI, 2},
						  {{"get", get_stream}, ARAW_ARMCI, 3},
						  {{"PAMI rput", raw_put}, ARAW_PAMI, -1},
						  {{"PAMI rget", raw_get}, ARAW_PAMI, -1}};
	static const struct contig_bench b = {"bandwidth", v, 4, 256, MOST, ABENCH_STREAM};

	return run_sweep(a, &b);
}

int abench_add(struct abench *a)
{
	static const struct contig_variant v[] = {{{"fetch-and-add", run_adds}, ARAW_ARMCI, 1},
						  {{"PAMI rmw", raw_add}, ARAW_PAMI, -1},
						  {{"get", run_gets}, ARAW_ARMCI, -1}};
	static const struct contig_bench b = {"add", v, 3, 8, 8, 1};

	return run_sweep(a, &b);
}

/* ---- bgq-t2 ---- */

static void allocate_and_free(void *arg, long count)
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
	allocate_and_free(p, 10);
	ARMCI_Barrier();
	begin = armci_timer();
	allocate_and_free(p, ROUNDS);
	if (a->drives)
		abench_number(a, "attributes", "malloc+free", 65536, "us",
			      (armci_timer() - begin) * 1e6 / ROUNDS);
	abench_open_memory(a, 4096);
	if (a->drives) {
		long misses = ARMCIX_Counter("region_misses"),
		     endpoints = ARMCIX_Counter("endpoints");

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
		abench_number(a, "attributes", "made", (size_t)ARMCIX_Counter("endpoints"),
			      "endpts", (double)(ARMCIX_Counter("endpoints") - endpoints));
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
