/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations against a serial model: armci_fuzz [STEPS [SEED [deaths [PROCESS]]]].
 *
 * The memory of each process holds one private slice per process, which only that process writes, so
 * that it can keep a model of it and check every get (order O1: without a fence); then a shared part
 * where everybody accumulates small whole numbers and counts, compared at the end with the sum of what
 * all say they added.
 *
 * deaths: one process, PROCESS or a random one, dies in the middle of something (torus run --on-death error). What touches it may fail, and then
 * is checked no more; all else must be as the model says. What it adds to others goes to a part of its own, which the
 * others add to, too, and which nobody checks.
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
#include "tests/system/armci_check.h"

enum { SLICE = 300000, SHARED = 20000, COUNTERS = 16, PENDING = 6 };

struct pending {
	armci_hdl_t h;
	int busy, proc, get, piece;
	size_t at, bytes, far; /* of a strided one: distance of its pieces at the target */
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

/* Of an operation with proc: 0; with the doomed one also FAIL6. */
static int fine(int rc, int proc)
{
	return rc == 0 || (rc == FAIL6 && proc == doomed);
}

static char *slice(int proc)
{
	return (char *)mem[proc] + (size_t)me * SLICE;
}

/* Part 1: what nobody checks. */
static double *shared_part(int proc, int part)
{
	return (double *)((char *)mem[proc] + (size_t)n * SLICE) + (size_t)part * (SHARED + COUNTERS);
}

static double *shared(int proc)
{
	return shared_part(proc, 0);
}

static long *counter(int proc, int part)
{
	return (long *)(shared_part(proc, part) + SHARED);
}

static size_t below(size_t bound)
{
	return (size_t)drv_rng_below(&rng, bound);
}

/* Mostly short, sometimes longer than a message. */
static size_t length(size_t most)
{
	static const size_t scale[] = {16, 64, 600, 5000, 60000, SLICE};
	size_t s = scale[below(below(4) ? 4 : 6)];

	return 1 + below(s < most ? s : most);
}

static void fill(char *p, size_t bytes)
{
	uint64_t x = drv_rng_next(&rng);
	size_t i;

	for (i = 0; i < bytes; i++)
		p[i] = (char)((x >> (i % 8 * 8)) + i);
}

static void finish(struct pending *p)
{
	size_t i, pieces;

	if (!p->busy)
		return;
	if (below(2))
		while (ARMCI_Test(&p->h) == 1)
			;
	CHECK(fine(ARMCI_Wait(&p->h), p->proc));
	p->busy = 0;
	if (!p->get || p->proc == doomed)
		return;
	gets++;
	pieces = p->bytes / (size_t)p->piece;
	for (i = 0; i < pieces; i++)
		CHECK(!memcmp(p->buffer + i * (size_t)p->piece, model[p->proc] + p->at + i * p->far,
			      (size_t)p->piece));
}

/* Non-blocking operations are not ordered: those to this target must be over before it is touched again.
 */
static void settle(int proc)
{
	int i;

	for (i = 0; i < PENDING; i++)
		if (pending[i].proc == proc)
			finish(&pending[i]);
}

static struct pending *slot(void)
{
	struct pending *p = &pending[below(PENDING)];

	finish(p);
	return p;
}

/* ---- one contiguous or strided transfer, blocking or not ---- */

static void transfer(int proc, int get, int blocking)
{
	struct pending *p = slot();
	size_t i, pieces;
	int near, far, count[2];

	p->proc = proc;
	p->get = get;
	p->piece = (int)length(SLICE / 4);
	pieces = below(2) ? 1 : 1 + below(40);
	p->far = (size_t)p->piece + below(200);
	if (pieces * p->far > SLICE)
		pieces = SLICE / p->far;
	p->bytes = pieces * (size_t)p->piece;
	p->at = below(SLICE - pieces * p->far + 1);
	near = count[0] = p->piece;
	far = (int)p->far;
	count[1] = (int)pieces;
	if (!get) {
		fill(p->buffer, p->bytes);
		for (i = 0; i < pieces; i++)
			memcpy(model[proc] + p->at + i * p->far, p->buffer + i * (size_t)p->piece,
			       (size_t)p->piece);
	}
	ARMCI_INIT_HANDLE(&p->h);
	p->busy = 1;
	if (get && blocking)
		CHECK(fine(ARMCI_GetS(slice(proc) + p->at, &far, p->buffer, &near, count, 1, proc), proc));
	else if (get)
		CHECK(fine(ARMCI_NbGetS(slice(proc) + p->at, &far, p->buffer, &near, count, 1, proc, &p->h), proc));
	else if (blocking)
		CHECK(fine(ARMCI_PutS(p->buffer, &near, slice(proc) + p->at, &far, count, 1, proc), proc));
	else
		CHECK(fine(ARMCI_NbPutS(p->buffer, &near, slice(proc) + p->at, &far, count, 1, proc, &p->h), proc));
	if (blocking)
		finish(p);
	if (blocking && !get)
		memset(p->buffer, 0x55, p->bytes); /* locally complete: reading it later would be seen */
}

/* ---- vectors: distinct places in any order ---- */

static void vector(int proc, int get)
{
	static void *here[4000], *there[4000];
	static char buffer[SLICE];
	size_t piece = 1 + below(below(4) ? 32 : 3000), count = 1 + below(4000), step, i;
	armci_giov_t g = {get ? there : here, get ? here : there, (int)piece, 0};

	if (count * piece > SLICE)
		count = SLICE / piece;
	step = SLICE / count;
	for (i = 0; i < count; i++) {
		size_t k = (i * 7919) % count; /* a permutation unless 7919 divides count */

		there[i] = slice(proc) + k * step;
		here[i] = buffer + i * piece;
	}
	if (count % 7919 == 0)
		return;
	g.ptr_array_len = (int)count;
	if (!get) {
		fill(buffer, count * piece);
		for (i = 0; i < count; i++)
			memcpy(model[proc] + ((char *)there[i] - slice(proc)), here[i], piece);
		CHECK(fine(ARMCI_PutV(&g, 1, proc), proc));
		memset(buffer, 0x55, count * piece);
		return;
	}
	CHECK(fine(ARMCI_GetV(&g, 1, proc), proc));
	gets++;
	for (i = 0; proc != doomed && i < count; i++)
		CHECK(!memcmp(here[i], model[proc] + ((char *)there[i] - slice(proc)), piece));
}

/* ---- the private slice as doubles: accumulates of the owner of the slice, in order with its puts ----
 */

static void private_acc(int proc)
{
	double scale = 2, value[64], old[64];
	size_t count = 1 + below(64), at = 8 * below(SLICE / 8 - count), i;

	for (i = 0; i < count; i++)
		value[i] = (double)below(1000);
	CHECK(fine(ARMCI_Put(value, slice(proc) + at, (int)(count * 8), proc), proc));
	CHECK(fine(ARMCI_Acc(ARMCI_ACC_DBL, &scale, value, slice(proc) + at, (int)(count * 8), proc), proc));
	if (below(2)) {
		CHECK(fine(ARMCI_Get(slice(proc) + at, old, (int)(count * 8), proc), proc));
		for (i = 0; proc != doomed && i < count; i++)
			CHECK(old[i] == 3 * value[i]);
	}
	for (i = 0; i < count; i++)
		value[i] *= 3;
	memcpy(model[proc] + at, value, count * 8);
}

/* ---- the shared part ---- */

/* Which one: the doomed must leave the first as it is. */
static int choose_part(void)
{
	return doomed >= 0 && (me == doomed || !below(3));
}

static void shared_acc(int proc)
{
	static double value[SHARED];
	static void *here[SHARED], *there[SHARED];
	double scale = 1 + (double)below(3);
	size_t count = length(SHARED), at = below(SHARED - count + 1), step = 1 + below(7), i;
	int near = 8, far = (int)(8 * step), blocks[2] = {8, (int)((count + step - 1) / step)};
	armci_giov_t g = {here, there, 8, blocks[1]};
	int part = choose_part();
	double *to = shared_part(proc, part) + at;

	for (i = 0; i < count; i++)
		value[i] = (double)below(100);
	switch (below(3)) {
	case 0:
		step = 1;
		CHECK(fine(ARMCI_Acc(ARMCI_ACC_DBL, &scale, value, to, (int)(count * 8), proc), proc));
		break;
	case 1:
		CHECK(fine(ARMCI_AccS(ARMCI_ACC_DBL, &scale, value, &near, to, &far, blocks, 1, proc), proc));
		break;
	default:
		for (i = 0; i < (size_t)blocks[1]; i++) {
			here[i] = value + i;
			there[i] = to + i * step;
		}
		CHECK(fine(ARMCI_AccV(ARMCI_ACC_DBL, &scale, &g, 1, proc), proc));
	}
	for (i = 0; !part && i * step < count; i++)
		added[proc][at + i * step] += scale * value[i];
}

/* Boxes of doubles, three levels, one of the strides backwards. */
static void shared_box(int proc)
{
	static double value[8 * 10 * 10];
	double scale = 2;
	int a = 1 + (int)below(8), b = 1 + (int)below(10), c = 1 + (int)below(10), i, j, k;
	int gap = a + (int)below(4), plane = gap * b + (int)below(30), back = (int)below(2);
	int near[2] = {8 * a, 8 * a * b}, far[2] = {8 * gap, back ? -8 * plane : 8 * plane},
	    blocks[3] = {8 * a, b, c};
	size_t span = (size_t)plane * (size_t)c, at = below(SHARED - span);
	int part = choose_part();
	double *first = shared_part(proc, part), *to = first + at + (back ? plane * (c - 1) : 0);

	for (i = 0; i < a * b * c; i++)
		value[i] = (double)below(100);
	CHECK(fine(ARMCI_AccS(ARMCI_ACC_DBL, &scale, value, near, to, far, blocks, 2, proc), proc));
	for (k = 0; !part && k < c; k++)
		for (j = 0; j < b; j++)
			for (i = 0; i < a; i++)
				added[proc][(size_t)((to - first) + (back ? -plane : plane) * k +
						     gap * j + i)] += 2 * value[(k * b + j) * a + i];
}

/*
 * Everybody, at the same step: a random partition into groups; memory of different sizes, some none;
 * every member adds to random parts, and the sums are compared.
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
		int v = (int)below(100), one = 1, to = (int)below((size_t)count), where;

		if (!size[list[to]])
			continue;
		where = (int)below((size_t)size[list[to]] / 4);
		CHECK(fine(ARMCI_Acc(ARMCI_ACC_INT, &one, &v, (int *)part[to] + where, 4, list[to]), list[to]));
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
	size_t which = below(COUNTERS);
	int by = (int)below(2000) - 1000, part = choose_part();
	long old;

	CHECK(fine(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, counter(proc, part) + which, by, proc), proc));
	if (!part)
		counted[proc][which] += by;
}

static void step(void)
{
	int proc = (int)below((size_t)n);

	switch (below(13)) {
	case 0:
	case 1:
		settle(proc);
		transfer(proc, 0, 1);
		break;
	case 2:
	case 3:
		settle(proc);
		transfer(proc, 1, 1);
		break;
	case 4:
	case 5:
		settle(proc);
		transfer(proc, (int)below(2), 0);
		break;
	case 6:
		settle(proc);
		vector(proc, (int)below(2));
		break;
	case 7:
		settle(proc);
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
		if (below(4) == 0)
			ARMCI_Fence(proc);
		break;
	default:
		if (below(8) == 0)
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

/* All who live. */
static void meet(void)
{
	ARMCI_AllFence();
	armci_msg_group_barrier(&others);
}

static void check_all(void)
{
	char *got = malloc(SLICE);
	int p, k;

	for (p = 0; p < PENDING; p++)
		finish(&pending[p]);
	for (p = 0; p < n; p++) {
		CHECK(fine(ARMCI_Get(slice(p), got, SLICE, p), p));
		CHECK(p == doomed || !memcmp(got, model[p], SLICE));
	}
	meet();
	for (p = 0; p < n; p++) {
		armci_msg_group_dgop(added[p], SHARED, "+", &others);
		armci_msg_group_lgop(counted[p], COUNTERS, "+", &others);
		for (k = 0; p == me && k < SHARED; k++)
			CHECK(shared(me)[k] == added[p][k]);
		for (k = 0; p == me && k < COUNTERS; k++)
			CHECK(counter(me, 0)[k] == counted[p][k]);
	}
	free(got);
	meet();
}

/* ---- death ---- */

static void *executioner(void *arg)
{
	struct timespec t = {0, *(int *)arg * 1000000l};

	nanosleep(&t, NULL);
	kill(getpid(), SIGKILL);
	return NULL;
}

/* Who dies, and soon; in virtual time the launcher kills it. */
static void doom(struct drv_rng *common)
{
	static int ms;
	pthread_t thread;

	ms = (int)drv_rng_below(common, 60);
	if (me != doomed || ARMCIX_Clock_is_virtual())
		return;
	if (pthread_create(&thread, NULL, executioner, &ms))
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
	struct drv_rng common; /* the same numbers everywhere */
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
		doom(&common);
	for (i = 0; i < steps || (doomed >= 0 && !ARMCIX_Is_dead(doomed)); i++) {
		step();
		if (i % 25 == 24 && n <= 64 && i < steps)
			group_round(&common);
	}
	check_all();
	CHECK(steps < 100 || gets > 0);
	for (i = 0; i < PENDING; i += 2)
		ARMCI_Free_local(pending[i].buffer);
	for (i = 1; i < PENDING; i += 2)
		free(pending[i].buffer);
	CHECK(fine(ARMCI_Free(mem[me]), doomed));
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
