/* SPDX-License-Identifier: BSD-3-Clause */
/* Patches, chunks, collected transfers, overlap: what the shape of the data and the calls cost. */
#include <stdlib.h>
#include <string.h>

#include "bench/armci_job.h"

/* ---- armci-f18: an n x n patch of doubles out of ORDER x ORDER ---- */

enum { ORDER = 1024, MIB = 1 << 20, POINTS = 1000 };

struct patch {
	struct abench *a;
	double *local;
	int rows;
	size_t chunk;
	bool acc;
};

static void one_strided(void *arg, long count)
{
	struct patch *p = arg;
	int near = p->rows * 8, far = ORDER * 8, counts[2] = {p->rows * 8, p->rows};

	while (count--)
		ARMCI_GetS(p->a->mem[p->a->peer], &far, p->local, &near, counts, 1, p->a->peer);
}

static void many_gets(void *arg, long count)
{
	struct patch *p = arg;
	int i;

	while (count--) {
		for (i = 0; i < p->rows; i++)
			ARMCI_NbGet((double *)p->a->mem[p->a->peer] + i * ORDER, p->local + i * p->rows,
				    p->rows * 8, p->a->peer, NULL);
		ARMCI_WaitAll();
	}
}

/* One blocking get a row. */
static void row_by_row(void *arg, long count)
{
	struct patch *p = arg;
	int i;

	while (count--)
		for (i = 0; i < p->rows; i++)
			ARMCI_Get((double *)p->a->mem[p->a->peer] + i * ORDER, p->local + i * p->rows,
				  p->rows * 8, p->a->peer);
}

int abench_patch(struct abench *a)
{
	static const struct {
		const char *name;
		abench_fn fn;
	} v[] = {{"strided", one_strided}, {"n gets", many_gets}, {"n blocking gets", row_by_row}};
	struct patch p = {.a = a};
	size_t i;

	abench_open_memory(a, ORDER * ORDER * 8);
	p.local = abench_local(ORDER * ORDER * 8);
	for (p.rows = a->size ? (int)a->size : 4; a->drives && p.rows <= (a->size ? (int)a->size : 512);
	     p.rows *= 2)
		for (i = 0; i < 3; i++)
			if (abench_wanted(a, v[i].name)) {
				struct abench_time t = abench_measure(a, v[i].fn, &p);

				abench_row(a, "patch", v[i].name, (size_t)p.rows, "us", 1e6, false, &t);
			}
	ARMCI_Barrier();
	ARMCI_Free_local(p.local);
	abench_close_memory(a);
	return 0;
}

/* ---- bgq-f9, bgq-f11: 1 MiB in chunks of l0 bytes, twice as far apart at the target ---- */

static void chunks_move(struct patch *p, long count, int what)
{
	int near = (int)p->chunk, far = 2 * (int)p->chunk,
	    counts[2] = {(int)p->chunk, (int)(MIB / p->chunk)};
	void *there = p->a->mem[p->a->peer];
	double one = 1;

	while (count--) {
		if (what == 'p')
			ARMCI_PutS(p->local, &near, there, &far, counts, 1, p->a->peer);
		else if (what == 'g')
			ARMCI_GetS(there, &far, p->local, &near, counts, 1, p->a->peer);
		else
			ARMCI_AccS(ARMCI_ACC_DBL, &one, p->local, &near, there, &far, counts, 1,
				   p->a->peer);
	}
	ARMCI_Fence(p->a->peer);
}

static void chunks_put(void *arg, long count)
{
	chunks_move(arg, count, 'p');
}

static void chunks_get(void *arg, long count)
{
	chunks_move(arg, count, 'g');
}

static void chunks_acc(void *arg, long count)
{
	chunks_move(arg, count, 'a');
}

static void local_copy(void *arg, long count)
{
	struct patch *p = arg;

	while (count--) {
		memcpy((char *)p->local + MIB, p->local, MIB);
		__asm__ volatile("" ::: "memory");
	}
}

static int run_chunks(struct abench *a, bool acc)
{
	struct patch p = {.a = a};
	struct abench_time t;

	abench_open_memory(a, 2 * MIB);
	p.local = abench_local(2 * MIB);
	for (p.chunk = a->size ? a->size : 16; a->drives && p.chunk <= (a->size ? a->size : MIB);
	     p.chunk *= 4) {
		if (acc) {
			t = abench_measure(a, chunks_acc, &p);
			abench_row(a, "accumulate", "acc", p.chunk, "GB/s", MIB * 1e-9, true, &t);
			continue;
		}
		if (abench_wanted(a, "put")) {
			t = abench_measure(a, chunks_put, &p);
			abench_row(a, "chunks", "put", p.chunk, "GB/s", MIB * 1e-9, true, &t);
		}
		if (abench_wanted(a, "get")) {
			t = abench_measure(a, chunks_get, &p);
			abench_row(a, "chunks", "get", p.chunk, "GB/s", MIB * 1e-9, true, &t);
		}
	}
	if (a->drives && acc && !a->is_virtual) {
		t = abench_measure(a, local_copy, &p);
		abench_row(a, "accumulate", "memcpy", MIB, "GB/s", MIB * 1e-9, true, &t);
	}
	ARMCI_Barrier();
	ARMCI_Free_local(p.local);
	abench_close_memory(a);
	return 0;
}

int abench_chunks(struct abench *a)
{
	return run_chunks(a, false);
}

int abench_accumulate(struct abench *a)
{
	return run_chunks(a, true);
}

/* ---- armci-f20: 1000 doubles at every third place ---- */

struct points {
	struct abench *a;
	double *local;
	bool put;
};

static double *place(struct points *p, int i)
{
	return (double *)p->a->mem[p->a->peer] + 3 * i;
}

static void start(struct points *p, int i, armci_hdl_t *h)
{
	if (p->put)
		ARMCI_NbPut(p->local + 2 * i, place(p, i), 8, p->a->peer, h);
	else
		ARMCI_NbGet(place(p, i), p->local + 2 * i, 8, p->a->peer, h);
}

static void end(struct points *p)
{
	if (p->put)
		ARMCI_Fence(p->a->peer);
}

static void one_by_one(void *arg, long count)
{
	struct points *p = arg;
	int i;

	while (count--) {
		for (i = 0; i < POINTS; i++)
			start(p, i, NULL);
		ARMCI_WaitAll();
		end(p);
	}
}

static void aggregated(void *arg, long count)
{
	struct points *p = arg;
	armci_hdl_t h;
	int i;

	while (count--) {
		ARMCI_INIT_HANDLE(&h);
		ARMCI_SET_AGGREGATE_HANDLE(&h);
		for (i = 0; i < POINTS; i++)
			start(p, i, &h);
		ARMCI_Wait(&h);
		end(p);
	}
}

static void one_vector(void *arg, long count)
{
	static void *here[POINTS], *there[POINTS];
	struct points *p = arg;
	int i;

	while (count--) {
		armci_giov_t v = {p->put ? here : there, p->put ? there : here, 8, POINTS};

		for (i = 0; i < POINTS; i++) { /* the program fills its descriptor each time */
			here[i] = p->local + 2 * i;
			there[i] = place(p, i);
		}
		if (p->put)
			ARMCI_PutV(&v, 1, p->a->peer);
		else
			ARMCI_GetV(&v, 1, p->a->peer);
		end(p);
	}
}

int abench_aggregate(struct abench *a)
{
	static const struct {
		const char *name[2];
		abench_fn fn;
	} v[] = {{{"get each", "put each"}, one_by_one},
		 {{"get aggregate", "put aggregate"}, aggregated},
		 {{"get vector", "put vector"}, one_vector}};
	struct points p = {.a = a};
	int i, put;

	abench_open_memory(a, 3 * POINTS * 8);
	p.local = abench_local(2 * POINTS * 8);
	for (put = 0; a->drives && put < 2; put++)
		for (i = 0; i < 3; i++) {
			struct abench_time t;

			if (!abench_wanted(a, v[i].name[put]))
				continue;
			p.put = put;
			t = abench_measure(a, v[i].fn, &p);
			abench_row(a, "aggregate", v[i].name[put], POINTS, "us", 1e6, false, &t);
		}
	ARMCI_Barrier();
	ARMCI_Free_local(p.local);
	abench_close_memory(a);
	return 0;
}

/* ---- armci-f19: a computation of growing length between a get and its wait ---- */

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

/*
 * The longest delay that makes the whole no more than 2% longer (plus what a call to compute takes), by
 * halving; as a share of the time without one. What the call itself takes of the processor cannot be
 * hidden.
 */
static void overlap_of(struct overlap *o)
{
	struct abench *a = o->a;
	struct abench_time bare, with;
	double lo = 0, hi, start, floor;
	int i;

	o->delay = 0;
	bare = abench_measure(a, get_and_compute, o);
	only_start(o, 100);
	start = o->delay;
	o->delay = 1e-12;
	floor = abench_measure(a, get_and_compute, o).median;
	floor = floor > bare.median ? floor : bare.median;
	hi = bare.median * 1.2;
	for (i = 0; i < (a->is_virtual ? 8 : 7); i++) {
		o->delay = (lo + hi) / 2;
		with = abench_measure(a, get_and_compute, o);
		if (with.median <= floor * 1.02)
			lo = o->delay;
		else
			hi = o->delay;
	}
	abench_number(a, "overlap", "total", o->bytes, "us", bare.median * 1e6);
	abench_number(a, "overlap", "hidden", o->bytes, "%", 100 * lo / bare.median);
	abench_number(a, "overlap", "call", o->bytes, "%", 100 * start / bare.median);
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

/* ---- bgq-f10: everybody but process 0 adds to a counter there, while it computes or waits ---- */

int abench_counter(struct abench *a)
{
	long adds = a->size ? (long)a->size : a->is_virtual ? 20 : 500, old, i;
	double begin, mine, most, mean, compute = (double)a->steps * 1e-6, *sum;
	volatile long *finished;

	abench_open_memory(a, 64);
	sum = abench_local(2 * sizeof(*sum));
	finished = (volatile long *)((char *)a->mem[0] + 32);
	ARMCI_Barrier();
	begin = armci_timer();
	if (a->me == 0 && a->n > 1) {
		/* Its calls, one after each computation, are all the help that the others get without
		 * the thread; if it computes nothing it waits for them below. */
		for (old = 0; compute > 0 && __atomic_load_n(finished, __ATOMIC_ACQUIRE) < a->n - 1;) {
			ARMCIX_Compute(compute);
			ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, a->mem[0], 0, 0);
		}
	} else {
		for (i = 0; i < adds; i++)
			ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, a->mem[0], 1, 0);
	}
	mine = a->me || a->n == 1 ? (armci_timer() - begin) / (double)adds : 0;
	if (a->me && a->n > 1)
		ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, (char *)a->mem[0] + 32, 1, 0);
	most = mean = mine;
	armci_msg_dgop(&most, 1, "max");
	armci_msg_dgop(&mean, 1, "+");
	if (a->drives) {
		abench_number(a, "counter", "mean", (size_t)a->n, "us",
			      mean * 1e6 / (a->n > 1 ? a->n - 1 : 1));
		abench_number(a, "counter", "most", (size_t)a->n, "us", most * 1e6);
		if (*(long *)a->mem[0] != adds * (a->n > 1 ? a->n - 1 : 1))
			abench_die("counter: %ld, not %ld", *(long *)a->mem[0], adds * (a->n - 1));
	}
	ARMCI_Free_local(sum);
	abench_close_memory(a);
	return 0;
}
