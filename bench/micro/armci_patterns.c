/* SPDX-License-Identifier: BSD-3-Clause */
/* Patches, chunks and collected transfers: what the shape of the data and the number of calls cost.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "bench/armci_job.h"

/* ---- armci-f18: a patch of doubles out of ORDER x ORDER: n x n, or ROWS rows of some bytes ----
 */

enum { ORDER = 1024, MIB = 1 << 20, POINTS = 1000, ROWS = 128 };

struct patch {
	struct abench *a;
	double *local;
	int rows, row_bytes;
	size_t chunk;
	bool acc;
};

static void one_strided(void *arg, long count)
{
	struct patch *p = arg;
	int near = p->row_bytes, far = ORDER * 8, counts[2] = {p->row_bytes, p->rows};

	while (count--)
		ARMCI_GetS(p->a->mem[p->a->peer], &far, p->local, &near, counts, 1, p->a->peer);
}

static void *row_there(const struct patch *p, int i)
{
	return (double *)p->a->mem[p->a->peer] + i * ORDER;
}

static void *row_here(const struct patch *p, int i)
{
	return (char *)p->local + (size_t)i * (size_t)p->row_bytes;
}

static void many_gets(void *arg, long count)
{
	struct patch *p = arg;
	int i;

	while (count--) {
		for (i = 0; i < p->rows; i++)
			ARMCI_NbGet(row_there(p, i), row_here(p, i), p->row_bytes, p->a->peer,
				    NULL);
		ARMCI_WaitAll();
	}
}

/* One blocking get per row. */
static void row_by_row(void *arg, long count)
{
	struct patch *p = arg;
	int i;

	while (count--)
		for (i = 0; i < p->rows; i++)
			ARMCI_Get(row_there(p, i), row_here(p, i), p->row_bytes, p->a->peer);
}

/* The time of a get of one element: no strided get can take less. */
static void one_element(void *arg, long count)
{
	struct patch *p = arg;

	while (count--)
		ARMCI_Get(p->a->mem[p->a->peer], p->local, 8, p->a->peer);
}

/* Measure all variants of one patch; x is the "bytes" of the rows. */
static void patch_measure(struct patch *p, const char *bench, size_t x)
{
	static const struct abench_variant v[] = {{"strided", one_strided},
						  {"n gets", many_gets},
						  {"n blocking gets", row_by_row},
						  {"one get", one_element}};
	enum { VARIANTS = sizeof(v) / sizeof(v[0]) };
	struct bench_samples s[VARIANTS] = {{0}};
	struct abench_variant wanted[VARIANTS];
	size_t n = 0, i;

	for (i = 0; i < VARIANTS; i++)
		if (abench_is_wanted(p->a, v[i].name))
			wanted[n++] = v[i];
	abench_alternate(p->a, wanted, n, NULL, p, s);
	if (n == VARIANTS) {
		abench_ratio(p->a, bench, "n gets / strided", x, &s[1], &s[0], false);
		abench_ratio(p->a, bench, "n blocking gets / strided", x, &s[2], &s[0], false);
		abench_ratio(p->a, bench, "n gets / one get", x, &s[1], &s[3], false);
	}
	for (i = 0; i < n; i++) {
		struct abench_time t = abench_time_of(&s[i]);

		abench_row(p->a, bench, wanted[i].name, x, "us", 1e6, false, &t);
		bench_samples_free(&s[i]);
	}
}

static void patch_square(struct patch *p)
{
	struct abench *a = p->a;

	for (p->rows = a->size ? (int)a->size : 8; p->rows <= (a->size ? (int)a->size : 512);
	     p->rows *= 2) {
		p->row_bytes = p->rows * 8;
		patch_measure(p, "patch", (size_t)p->rows);
	}
}

static void patch_thin(struct patch *p)
{
	struct abench *a = p->a;

	p->rows = ROWS;
	for (p->row_bytes = a->size ? (int)a->size : 8;
	     p->row_bytes <= (a->size ? (int)a->size : 4096); p->row_bytes *= 2)
		patch_measure(p, "rows", (size_t)p->row_bytes);
}

static int run_patches(struct abench *a, void (*sweep)(struct patch *p))
{
	struct patch p = {.a = a};

	abench_open_memory(a, ORDER * ORDER * 8);
	p.local = abench_local(ORDER * ORDER * 8);
	if (a->drives)
		sweep(&p);
	ARMCI_Barrier();
	ARMCI_Free_local(p.local);
	abench_close_memory(a);
	return 0;
}

int abench_patch(struct abench *a)
{
	return run_patches(a, patch_square);
}

int abench_rows(struct abench *a)
{
	return run_patches(a, patch_thin);
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
		if (abench_is_wanted(a, "put")) {
			t = abench_measure(a, chunks_put, &p);
			abench_row(a, "chunks", "put", p.chunk, "GB/s", MIB * 1e-9, true, &t);
		}
		if (abench_is_wanted(a, "get")) {
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

static double *place_of(struct points *p, int i)
{
	return (double *)p->a->mem[p->a->peer] + 3 * i;
}

static void start_point(struct points *p, int i, armci_hdl_t *h)
{
	if (p->put)
		ARMCI_NbPut(p->local + 2 * i, place_of(p, i), 8, p->a->peer, h);
	else
		ARMCI_NbGet(place_of(p, i), p->local + 2 * i, 8, p->a->peer, h);
}

static void end_points(struct points *p)
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
			start_point(p, i, NULL);
		ARMCI_WaitAll();
		end_points(p);
	}
}

static void put_aggregated(void *arg, long count)
{
	struct points *p = arg;
	armci_hdl_t h;
	int i;

	while (count--) {
		ARMCI_INIT_HANDLE(&h);
		ARMCI_SET_AGGREGATE_HANDLE(&h);
		for (i = 0; i < POINTS; i++)
			start_point(p, i, &h);
		ARMCI_Wait(&h);
		end_points(p);
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
			there[i] = place_of(p, i);
		}
		if (p->put)
			ARMCI_PutV(&v, 1, p->a->peer);
		else
			ARMCI_GetV(&v, 1, p->a->peer);
		end_points(p);
	}
}

int abench_aggregate(struct abench *a)
{
	static const struct {
		const char *name[2];
		abench_fn fn;
	} v[] = {{{"get each", "put each"}, one_by_one},
		 {{"get aggregate", "put aggregate"}, put_aggregated},
		 {{"get vector", "put vector"}, one_vector}};
	struct points p = {.a = a};
	int i, put;

	abench_open_memory(a, 3 * POINTS * 8);
	p.local = abench_local(2 * POINTS * 8);
	for (put = 0; a->drives && put < 2; put++)
		for (i = 0; i < 3; i++) {
			struct abench_time t;

			if (!abench_is_wanted(a, v[i].name[put]))
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

/* ---- bgq-f10: every process but process 0 adds to a counter there, while it computes or waits
 * ---- */

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
		/* Without the progress thread, the calls of process 0, one after each computation,
		 * are the only progress for the others. If it computes nothing, it waits for them
		 * below. */
		for (old = 0; compute > 0 && atomic_load_acquire(finished) < a->n - 1;) {
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
