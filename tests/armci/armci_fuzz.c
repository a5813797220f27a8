/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations against a serial model: armci_fuzz [STEPS [SEED [deaths [PROCESS]]]].
 *
 * The memory of each process holds one private slice for each process. Only that process writes the
 * slice, so it keeps a model of it and checks every get (order O1: without a fence). After the
 * slices comes a shared part in which all processes accumulate small whole numbers and count. At
 * the end it is compared with the sum of what all processes say they added.
 *
 * deaths: one process, PROCESS or a random one, dies during an operation (torus run --on-death
 * error). Operations with it may fail and are not checked from then on; all others must match the
 * model. What it adds to others goes to a separate part, to which the others add too, and which is
 * not checked.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <armcix.h>

#include "drivers/base/rng.h"
#include "tests/armci/armci_check.h"

enum { SLICE = 300000, SHARED = 20000, COUNTERS = 16, PENDING = 6 };

struct pending {
	armci_hdl_t h;
	int busy, proc, get, piece;
	size_t at, bytes, far; /* distance of the pieces of a strided operation at the target */
	char *buffer;
};

static int me, n;
static void **mem;
static char **model;   /* [proc]: my slice of its memory */
static double **added; /* [proc]: what I accumulated into its shared part */
static long **counted; /* [proc]: what I added to its counters */
static struct pending pending[PENDING];
static struct drv_rng rng;
static unsigned long gets;
static int doomed = -1; /* the process that dies */
static ARMCI_Group others;

/* Is this the result of an operation with proc? 0; for the process that dies also FAIL6. */
static int is_expected(int rc, int proc)
{
	return rc == 0 || (rc == FAIL6 && proc == doomed);
}

static char *slice_of(int proc)
{
	return (char *)mem[proc] + (size_t)me * SLICE;
}

/* Part 1 is not checked. */
static double *shared_part(int proc, int part)
{
	return (double *)((char *)mem[proc] + (size_t)n * SLICE) +
	       (size_t)part * (SHARED + COUNTERS);
}

static double *shared_of(int proc)
{
	return shared_part(proc, 0);
}

static long *counter_at(int proc, int part)
{
	return (long *)(shared_part(proc, part) + SHARED);
}

static size_t draw_below(size_t bound)
{
	return (size_t)drv_rng_below(&rng, bound);
}

/* Mostly short, sometimes longer than a message. */
static size_t draw_length(size_t most)
{
	static const size_t scale[] = {16, 64, 600, 5000, 60000, SLICE};
	size_t s = scale[draw_below(draw_below(4) ? 4 : 6)];

	return 1 + draw_below(s < most ? s : most);
}

static void fill_random(char *p, size_t bytes)
{
	uint64_t x = drv_rng_next(&rng);
	size_t i;

	for (i = 0; i < bytes; i++)
		p[i] = (char)((x >> (i % 8 * 8)) + i);
}

static void finish_pending(struct pending *p)
{
	size_t i, pieces;

	if (!p->busy)
		return;
	if (draw_below(2))
		while (ARMCI_Test(&p->h) == 1)
			;
	CHECK(is_expected(ARMCI_Wait(&p->h), p->proc));
	p->busy = 0;
	if (!p->get || p->proc == doomed)
		return;
	gets++;
	pieces = p->bytes / (size_t)p->piece;
	for (i = 0; i < pieces; i++)
		CHECK(!memcmp(p->buffer + i * (size_t)p->piece, model[p->proc] + p->at + i * p->far,
			      (size_t)p->piece));
}

/*
 * Non-blocking operations are not ordered, so those to this target must be complete before it is
 * used again.
 */
static void settle_target(int proc)
{
	int i;

	for (i = 0; i < PENDING; i++)
		if (pending[i].proc == proc)
			finish_pending(&pending[i]);
}

static struct pending *take_slot(void)
{
	struct pending *p = &pending[draw_below(PENDING)];

	finish_pending(p);
	return p;
}

/* ---- one contiguous or strided transfer, blocking or not ---- */

static void run_transfer(int proc, int get, int blocking)
{
	struct pending *p = take_slot();
	size_t i, pieces;
	int near, far, count[2];

	p->proc = proc;
	p->get = get;
	p->piece = (int)draw_length(SLICE / 4);
	pieces = draw_below(2) ? 1 : 1 + draw_below(40);
	p->far = (size_t)p->piece + draw_below(200);
	if (pieces * p->far > SLICE)
		pieces = SLICE / p->far;
	p->bytes = pieces * (size_t)p->piece;
	p->at = draw_below(SLICE - pieces * p->far + 1);
	near = count[0] = p->piece;
	far = (int)p->far;
	count[1] = (int)pieces;
	if (!get) {
		fill_random(p->buffer, p->bytes);
		for (i = 0; i < pieces; i++)
			memcpy(model[proc] + p->at + i * p->far, p->buffer + i * (size_t)p->piece,
			       (size_t)p->piece);
	}
	ARMCI_INIT_HANDLE(&p->h);
	p->busy = 1;
	if (get && blocking)
		CHECK(is_expected(
		    ARMCI_GetS(slice_of(proc) + p->at, &far, p->buffer, &near, count, 1, proc),
		    proc));
	else if (get)
		CHECK(is_expected(ARMCI_NbGetS(slice_of(proc) + p->at, &far, p->buffer, &near,
					       count, 1, proc, &p->h),
				  proc));
	else if (blocking)
		CHECK(is_expected(
		    ARMCI_PutS(p->buffer, &near, slice_of(proc) + p->at, &far, count, 1, proc),
		    proc));
	else
		CHECK(is_expected(ARMCI_NbPutS(p->buffer, &near, slice_of(proc) + p->at, &far,
					       count, 1, proc, &p->h),
				  proc));
	if (blocking)
		finish_pending(p);
	if (blocking && !get)
		memset(p->buffer, 0x55,
		       /*
			* Local completion: overwriting the buffer would show if it were read later.
			*/
		       p->bytes);
}

/* ---- vectors: distinct places in any order ---- */

static void run_vector(int proc, int get)
{
	static void *here[4000], *there[4000];
	static char buffer[SLICE];
	size_t piece = 1 + draw_below(draw_below(4) ? 32 : 3000), count = 1 + draw_below(4000),
	       step, i;
	armci_giov_t g = {get ? there : here, get ? here : there, (int)piece, 0};

	if (count * piece > SLICE)
		count = SLICE / piece;
	step = SLICE / count;
	for (i = 0; i < count; i++) {
		size_t k = (i * 7919) % count; /* a permutation unless 7919 divides count */

		there[i] = slice_of(proc) + k * step;
		here[i] = buffer + i * piece;
	}
	if (count % 7919 == 0)
		return;
	g.ptr_array_len = (int)count;
	if (!get) {
		fill_random(buffer, count * piece);
		for (i = 0; i < count; i++)
			memcpy(model[proc] + ((char *)there[i] - slice_of(proc)), here[i], piece);
		CHECK(is_expected(ARMCI_PutV(&g, 1, proc), proc));
		memset(buffer, 0x55, count * piece);
		return;
	}
	CHECK(is_expected(ARMCI_GetV(&g, 1, proc), proc));
	gets++;
	for (i = 0; proc != doomed && i < count; i++)
		CHECK(!memcmp(here[i], model[proc] + ((char *)there[i] - slice_of(proc)), piece));
}

/* ---- the private slice as doubles: its owner accumulates, in order with its puts ---- */

static void private_acc(int proc)
{
	double scale = 2, value[64], old[64];
	size_t count = 1 + draw_below(64), at = 8 * draw_below(SLICE / 8 - count), i;

	for (i = 0; i < count; i++)
		value[i] = (double)draw_below(1000);
	CHECK(is_expected(ARMCI_Put(value, slice_of(proc) + at, (int)(count * 8), proc), proc));
	CHECK(is_expected(
	    ARMCI_Acc(ARMCI_ACC_DBL, &scale, value, slice_of(proc) + at, (int)(count * 8), proc),
	    proc));
	if (draw_below(2)) {
		CHECK(
		    is_expected(ARMCI_Get(slice_of(proc) + at, old, (int)(count * 8), proc), proc));
		for (i = 0; proc != doomed && i < count; i++)
			CHECK(old[i] == 3 * value[i]);
	}
	for (i = 0; i < count; i++)
		value[i] *= 3;
	memcpy(model[proc] + at, value, count * 8);
}

/* ---- the shared part ---- */

/* Which part to use: the process that dies must not change the first one. */
static int choose_part(void)
{
	return doomed >= 0 && (me == doomed || !draw_below(3));
}

static void shared_acc(int proc)
{
	static double value[SHARED];
	static void *here[SHARED], *there[SHARED];
	double scale = 1 + (double)draw_below(3);
	size_t count = draw_length(SHARED), at = draw_below(SHARED - count + 1),
	       step = 1 + draw_below(7), i;
	int near = 8, far = (int)(8 * step), blocks[2] = {8, (int)((count + step - 1) / step)};
	armci_giov_t g = {here, there, 8, blocks[1]};
	int part = choose_part();
	double *to = shared_part(proc, part) + at;

	for (i = 0; i < count; i++)
		value[i] = (double)draw_below(100);
	switch (draw_below(3)) {
	case 0:
		step = 1;
		CHECK(is_expected(
		    ARMCI_Acc(ARMCI_ACC_DBL, &scale, value, to, (int)(count * 8), proc), proc));
		break;
	case 1:
		CHECK(is_expected(
		    ARMCI_AccS(ARMCI_ACC_DBL, &scale, value, &near, to, &far, blocks, 1, proc),
		    proc));
		break;
	default:
		for (i = 0; i < (size_t)blocks[1]; i++) {
			here[i] = value + i;
			there[i] = to + i * step;
		}
		CHECK(is_expected(ARMCI_AccV(ARMCI_ACC_DBL, &scale, &g, 1, proc), proc));
	}
	for (i = 0; !part && i * step < count; i++)
		added[proc][at + i * step] += scale * value[i];
}

/* Boxes of doubles with three levels, one of the strides backward. */
static void shared_box(int proc)
{
	static double value[8 * 10 * 10];
	double scale = 2;
	int a = 1 + (int)draw_below(8), b = 1 + (int)draw_below(10), c = 1 + (int)draw_below(10), i,
	    j, k;
	int gap = a + (int)draw_below(4), plane = gap * b + (int)draw_below(30),
	    back = (int)draw_below(2);
	int near[2] = {8 * a, 8 * a * b}, far[2] = {8 * gap, back ? -8 * plane : 8 * plane},
	    blocks[3] = {8 * a, b, c};
	size_t span = (size_t)plane * (size_t)c, at = draw_below(SHARED - span);
	int part = choose_part();
	double *first = shared_part(proc, part), *to = first + at + (back ? plane * (c - 1) : 0);

	for (i = 0; i < a * b * c; i++)
		value[i] = (double)draw_below(100);
	CHECK(is_expected(ARMCI_AccS(ARMCI_ACC_DBL, &scale, value, near, to, far, blocks, 2, proc),
			  proc));
	for (k = 0; !part && k < c; k++)
		for (j = 0; j < b; j++)
			for (i = 0; i < a; i++)
				added[proc][(size_t)((to - first) + (back ? -plane : plane) * k +
						     gap * j + i)] +=
				    2 * value[(k * b + j) * a + i];
}

/*
 * All processes at the same step: a random partition into groups, with memory of different sizes
 * and none. Every member adds to random parts, and the sums are compared.
 */
static void group_round(struct drv_rng *common)
{
	int colour[64], list[64], size[64], count = 0, p, i;
	static int sum[64], total[64];
	void *part[64];
	ARMCI_Group g;
	int safe, rc;

	for (p = 0; p < n; p++) {
		colour[p] = (int)drv_rng_below(common, 3);
		size[p] = drv_rng_below(common, 3) ? 8 * (1 + (int)drv_rng_below(common, 1000)) : 0;
	}
	for (p = 0; p < n; p++)
		if (colour[p] == colour[me])
			list[count++] = p;
	safe = doomed < 0 || colour[me] != colour[doomed]; /* else it may fail at any step */
	ARMCI_Group_create(count, list, &g);
	CHECK(g.size == count || (!safe && g.rank < 0));
	rc = g.rank < 0 ? FAIL6 : ARMCI_Malloc_group(part, size[me], &g);
	CHECK(!rc || !safe);
	if (rc) {
		ARMCI_Group_free(&g);
		return;
	}
	if (size[me])
		memset(part[g.rank], 0, (size_t)size[me]);
	armci_msg_group_barrier(&g);
	memset(sum, 0, sizeof(sum));
	for (i = 0; i < 10; i++) {
		int v = (int)draw_below(100), one = 1, to = (int)draw_below((size_t)count), where;

		if (!size[list[to]])
			continue;
		where = (int)draw_below((size_t)size[list[to]] / 4);
		CHECK(is_expected(
		    ARMCI_Acc(ARMCI_ACC_INT, &one, &v, (int *)part[to] + where, 4, list[to]),
		    list[to]));
		sum[to] += v;
	}
	ARMCI_GroupFence(&g);
	armci_msg_group_barrier(&g);
	memcpy(total, sum, sizeof(sum));
	armci_msg_group_igop(total, count, "+", &g);
	for (i = 0; i < size[me] / 4; i++)
		total[g.rank] -= ((int *)part[g.rank])[i];
	CHECK(total[g.rank] == 0 || !safe);
	CHECK(ARMCI_Free_group(part[g.rank], &g) == 0 || !safe);
	ARMCI_Group_free(&g);
}

static void count_up(int proc)
{
	size_t which = draw_below(COUNTERS);
	int by = (int)draw_below(2000) - 1000, part = choose_part();
	long old;

	CHECK(is_expected(
	    ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, counter_at(proc, part) + which, by, proc),
	    proc));
	if (!part)
		counted[proc][which] += by;
}

static void run_step(void)
{
	int proc = (int)draw_below((size_t)n);

	switch (draw_below(13)) {
	case 0:
	case 1:
		settle_target(proc);
		run_transfer(proc, 0, 1);
		break;
	case 2:
	case 3:
		settle_target(proc);
		run_transfer(proc, 1, 1);
		break;
	case 4:
	case 5:
		settle_target(proc);
		run_transfer(proc, (int)draw_below(2), 0);
		break;
	case 6:
		settle_target(proc);
		run_vector(proc, (int)draw_below(2));
		break;
	case 7:
		settle_target(proc);
		private_acc(proc);
		break;
	case 8:
		shared_acc(proc);
		break;
	case 12:
		shared_box(proc);
		break;
	case 9:
		count_up(proc);
		break;
	case 10:
		if (draw_below(4) == 0)
			ARMCI_Fence(proc);
		break;
	default:
		if (draw_below(8) == 0)
			ARMCI_AllFence();
	}
}

/* ---- begin and end ---- */

static void open_all(void)
{
	int p;

	mem = calloc((size_t)n, sizeof(*mem));
	model = calloc((size_t)n, sizeof(*model));
	added = calloc((size_t)n, sizeof(*added));
	counted = calloc((size_t)n, sizeof(*counted));
	CHECK(ARMCI_Malloc(mem, (armci_size_t)n * SLICE + 2 * (SHARED + COUNTERS) * 8) == 0);
	memset(mem[me], 0, (size_t)n * SLICE + 2 * (SHARED + COUNTERS) * 8);
	for (p = 0; p < n; p++) {
		model[p] = calloc(1, SLICE);
		added[p] = calloc(SHARED, sizeof(double));
		counted[p] = calloc(COUNTERS, sizeof(long));
	}
	for (p = 0; p < PENDING; p++)
		pending[p] = (struct pending){
		    .proc = -1, .buffer = p % 2 ? malloc(SLICE) : ARMCI_Malloc_local(SLICE)};
	ARMCI_Barrier();
}

/* All live processes. */
static void meet_live(void)
{
	ARMCI_AllFence();
	armci_msg_group_barrier(&others);
}

static void check_all(void)
{
	char *got = malloc(SLICE);
	int p, k;

	for (p = 0; p < PENDING; p++)
		finish_pending(&pending[p]);
	for (p = 0; p < n; p++) {
		CHECK(is_expected(ARMCI_Get(slice_of(p), got, SLICE, p), p));
		CHECK(p == doomed || !memcmp(got, model[p], SLICE));
	}
	meet_live();
	for (p = 0; p < n; p++) {
		armci_msg_group_dgop(added[p], SHARED, "+", &others);
		armci_msg_group_lgop(counted[p], COUNTERS, "+", &others);
		for (k = 0; p == me && k < SHARED; k++)
			CHECK(shared_of(me)[k] == added[p][k]);
		for (k = 0; p == me && k < COUNTERS; k++)
			CHECK(counter_at(me, 0)[k] == counted[p][k]);
	}
	free(got);
	meet_live();
}

/* ---- death ---- */

static void *kill_later(void *arg)
{
	struct timespec t = {0, *(int *)arg * 1000000l};

	nanosleep(&t, NULL);
	kill(getpid(), SIGKILL);
	return NULL;
}

/* Choose the process that dies, soon. In virtual time the launcher kills it. */
static void doom_process(struct drv_rng *common)
{
	static int ms;
	pthread_t thread;

	ms = (int)drv_rng_below(common, 60);
	if (me != doomed || ARMCIX_Clock_is_virtual())
		return;
	if (pthread_create(&thread, NULL, kill_later, &ms))
		exit(1);
	pthread_detach(thread);
}

static void others_make(void)
{
	int list[1024], count = 0, p;

	for (p = 0; p < n && p < 1024; p++)
		if (p != doomed)
			list[count++] = p;
	if (me != doomed)
		ARMCI_Group_create(count, list, &others);
}

static int any_failed(void)
{
	int all = check_failures;

	armci_msg_group_igop(&all, 1, "+", &others);
	return all != 0;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 300, i, rc, first;
	struct drv_rng common; /* the same numbers at all processes */
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	if (ARMCI_Init())
		return 1;
	me = armci_msg_me();
	n = armci_msg_nproc();
	if (me == 0)
		printf("%d steps, seed %llu\n", steps, (unsigned long long)seed);
	drv_rng_seed(&rng, seed * 1000003 + (uint64_t)me);
	drv_rng_seed(&common, seed);
	if (argc > 3 && !strcmp(argv[3], "deaths"))
		doomed = argc > 4 ? atoi(argv[4]) : (int)drv_rng_below(&common, (uint64_t)n);
	open_all();
	others_make();
	if (doomed >= 0)
		doom_process(&common);
	for (i = 0; i < steps || (doomed >= 0 && !ARMCIX_Is_dead(doomed)); i++) {
		run_step();
		if (i % 25 == 24 && n <= 64 && i < steps)
			group_round(&common);
	}
	check_all();
	CHECK(steps < 100 || gets > 0);
	for (i = 0; i < PENDING; i += 2)
		ARMCI_Free_local(pending[i].buffer);
	for (i = 1; i < PENDING; i += 2)
		free(pending[i].buffer);
	CHECK(is_expected(ARMCI_Free(mem[me]), doomed));
	for (i = 0; i < n; i++) {
		free(model[i]);
		free(added[i]);
		free(counted[i]);
	}
	free(model);
	free(added);
	free(counted);
	free(mem);
	rc = any_failed();
	first = others.rank == 0;
	ARMCI_Finalize();
	if (first)
		printf("%s fuzz (%d processes)\n", rc ? "FAIL" : "PASS", n);
	return rc;
}
