/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way transfers travel: settings in the environment choose protocols, and the library's
 * counters show the result. Each process is on a node of its own. tests/armci/armci_protocols.sh
 * starts it.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <armcix.h>

#include "tests/armci/armci_check.h"

enum { ALLOCS = 6, ROWS = 64, ROW = 40, FAR = 100 };

static int me, n, next;
static void **mem[ALLOCS];

static long count_of(const char *name)
{
	long v = ARMCIX_Counter(name);

	CHECK(v >= 0);
	return v;
}

static int is_set(const char *name, const char *value)
{
	const char *s = getenv(name);

	return s && !strcmp(s, value);
}

static void open_all(void)
{
	int k;

	for (k = 0; k < ALLOCS; k++) {
		mem[k] = calloc((size_t)n, sizeof(*mem[k]));
		CHECK(ARMCI_Malloc(mem[k], 100000) == 0);
		memset(mem[k][me], 0, 100000);
	}
	ARMCI_Barrier();
}

static void close_all(void)
{
	int k;

	ARMCI_Barrier();
	for (k = 0; k < ALLOCS; k++) {
		CHECK(ARMCI_Free(mem[k][me]) == 0);
		free(mem[k]);
	}
}

/* A process makes an endpoint for each process it contacts, not for every process. */
static void endpoints_are_made_on_demand(void)
{
	long before = count_of("endpoints");

	CHECK(ARMCI_PutValueInt(7, mem[0][next], next) == 0 &&
	      ARMCI_GetValueInt(mem[0][next], next) == 7);
	CHECK(count_of("endpoints") - before <= 1);
	before = count_of("endpoints");
	CHECK(ARMCI_GetValueInt(mem[0][next], next) == 7 && count_of("endpoints") == before);
}

/* The cache has room for two regions: the frequently used one stays while others are evicted. */
static void region_cache_keeps_what_is_used(void)
{
	long misses, evictions;
	int i, v;

	for (i = 0; i < 50; i++)
		ARMCI_GetValueInt(mem[0][next], next);
	misses = count_of("region_misses");
	evictions = count_of("region_evictions");
	for (i = 0; i < 40; i++) {
		v = 1 + i % (ALLOCS - 1);
		CHECK(ARMCI_PutValueInt(i, mem[v][next], next) == 0);
		CHECK(ARMCI_GetValueInt(mem[v][next], next) == i);
		ARMCI_GetValueInt(mem[0][next], next);
	}
	if (is_set("QUINTORUS_ARMCI_REGIONS", "2")) {
		CHECK(count_of("region_misses") - misses == 40);
		CHECK(count_of("region_evictions") - evictions >= 39);
	} else if (is_set("QUINTORUS_ARMCI_REGIONS", "0")) {
		CHECK(count_of("region_misses") == 0 && count_of("rdma") == 0 &&
		      count_of("plain") > 0);
	} else {
		CHECK(count_of("region_misses") - misses <= ALLOCS - 1 &&
		      count_of("region_evictions") == 0);
	}
}

/* Move the same patches by every method. */
static void every_method_moves_patches(void)
{
	static char src[ROWS * FAR * 3], back[ROWS * FAR * 3];
	int near[2] = {ROW, ROW * ROWS}, far[2] = {FAR, FAR * ROWS + 50},
	    counts[3] = {ROW, ROWS, 3};
	long rdma = count_of("rdma") + count_of("plain"), typed = count_of("typed"),
	     packed = count_of("packed");
	int i, k;

	for (i = 0; i < ROW * ROWS * 3; i++)
		src[i] = (char)(i * 31 + me);
	CHECK(ARMCI_PutS(src, near, mem[1][next], far, counts, 2, next) == 0);
	CHECK(ARMCI_GetS(mem[1][next], far, back, near, counts, 2, next) == 0);
	CHECK(!memcmp(src, back, ROW * ROWS * 3));
	ARMCI_Barrier();
	for (k = 0; k < 3; k++)
		for (i = 0; i < ROWS * ROW; i++)
			CHECK(((char *)mem[1][me])[k * far[1] + i / ROW * FAR + i % ROW] ==
			      (char)((k * ROWS * ROW + i) * 31 + (me + n - 1) % n));
	ARMCI_Barrier();
	rdma = count_of("rdma") + count_of("plain") - rdma;
	typed = count_of("typed") - typed;
	packed = count_of("packed") - packed;
	if (is_set("ARMCI_STRIDED_METHOD", "IOV"))
		CHECK(rdma == 2 * ROWS * 3 && typed == 0);
	else if (is_set("ARMCI_STRIDED_METHOD", "DIRECT"))
		CHECK(rdma == 0 && typed == 6 && packed == 0);
	else
		CHECK(rdma == 0 && typed == 0 && packed == 2);
	/* Dimensions that follow on each other are merged. */
	packed = count_of("packed") + count_of("typed");
	rdma = count_of("rdma") + count_of("plain");
	counts[0] = 10;
	near[0] = far[0] = 10;
	counts[1] = 1;
	near[1] = far[1] = 10;
	counts[2] = 50;
	CHECK(ARMCI_PutS(src, near, mem[1][next], far, counts, 2, next) == 0);
	CHECK(count_of("packed") + count_of("typed") == packed &&
	      count_of("rdma") + count_of("plain") == rdma + 1);
	ARMCI_Barrier();
}

/* C += A B: gets of A and B run while accumulates to C are outstanding. */
static void gets_run_beside_accumulates(void)
{
	static double a[64], b[64], c[4096];
	double one = 1;
	long forced = count_of("fences_forced"), avoided = count_of("fences_avoided");
	armci_hdl_t h[20];
	int i;

	for (i = 0; i < 20; i++) {
		ARMCI_INIT_HANDLE(&h[i]);
		CHECK(ARMCI_Get(mem[2][next], a, sizeof(a), next) == 0);
		CHECK(ARMCI_Get(mem[3][next], b, sizeof(b), next) == 0);
		CHECK(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, c, mem[4][next], sizeof(c), next, &h[i]) ==
		      0);
	}
	for (i = 0; i < 20; i++)
		CHECK(ARMCI_Wait(&h[i]) == 0);
	forced = count_of("fences_forced") - forced;
	avoided = count_of("fences_avoided") - avoided;
	if (getenv("QUINTORUS_ARMCI_ACC"))
		CHECK(count_of("acc_source") > 0);
	else if (is_set("QUINTORUS_ARMCI_CONFLICTS", "target"))
		CHECK(forced > 0 && avoided == 0);
	else
		CHECK(forced == 0 && avoided > 0);
	/* A get of C itself must see them. */
	c[0] = 2;
	CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &one, c, mem[4][next], sizeof(c), next) == 0);
	CHECK(ARMCI_Get(mem[4][next], a, sizeof(a), next) == 0 && a[0] == 2);
}

/* ---- location consistency: no fence, exact results, by whatever way each step travels ---- */

static const struct {
	int op;
	size_t bytes;
} types[] = {{ARMCI_ACC_INT, sizeof(int)},       {ARMCI_ACC_LNG, sizeof(long)},
	     {ARMCI_ACC_FLT, sizeof(float)},     {ARMCI_ACC_DBL, sizeof(double)},
	     {ARMCI_ACC_CPL, 2 * sizeof(float)}, {ARMCI_ACC_DCP, 2 * sizeof(double)}};

/* An element of the type with that real value. */
static void set_element(int op, void *p, long v)
{
	float f[2] = {(float)v, 0};
	double d[2] = {(double)v, 0};
	int i = (int)v;

	memset(p, 0, 16);
	if (op == ARMCI_ACC_INT)
		memcpy(p, &i, sizeof(i));
	else if (op == ARMCI_ACC_LNG)
		memcpy(p, &v, sizeof(v));
	else if (op == ARMCI_ACC_FLT || op == ARMCI_ACC_CPL)
		memcpy(p, f, sizeof(f));
	else
		memcpy(p, d, sizeof(d));
}

static void fill_elements(int op, size_t bytes, char *p, int elements, long v)
{
	char one[16];
	int i;

	set_element(op, one, v);
	for (i = 0; i < elements; i++)
		memcpy(p + (size_t)i * bytes, one, bytes);
}

/* Put, accumulate in three forms, put over a part, non-blocking calls that were waited for, get. */
static void order_holds_for_type(int op, size_t bytes)
{
	enum { SIDE = 12, ALL = SIDE * SIDE };
	static char a[ALL * 16], got[ALL * 16], want[ALL * 16];
	void *here[ALL], *there[ALL];
	char *at = (char *)mem[5][next] + 64, scale[16];
	int row = (int)bytes * SIDE, counts[2] = {row, SIDE}, i, round;
	armci_giov_t v = {here, there, (int)bytes, ALL};
	armci_hdl_t h;

	set_element(op, scale, 2);
	for (i = 0; i < ALL; i++) {
		here[i] = a + (size_t)i * bytes;
		there[i] = at + (size_t)((i * 5) % ALL) * bytes;
	}
	for (round = 0; round < 5; round++) {
		fill_elements(op, bytes, a, ALL, 7 + round);
		CHECK(ARMCI_Put(a, at, ALL * (int)bytes, next) == 0);
		fill_elements(op, bytes, a, ALL, 3);
		CHECK(ARMCI_Acc(op, scale, a, at, ALL * (int)bytes, next) == 0);
		CHECK(ARMCI_AccS(op, scale, a, &row, at, &row, counts, 1, next) == 0);
		CHECK(ARMCI_AccV(op, scale, &v, 1, next) == 0);
		CHECK(ARMCI_Get(at, got, ALL * (int)bytes, next) == 0);
		fill_elements(op, bytes, want, ALL, 7 + round + 18);
		CHECK(!memcmp(got, want, ALL * bytes));
		/*
		 * A put after accumulates, in small pieces, then read back by the same and other
		 * forms.
		 */
		counts[0] = (int)bytes;
		fill_elements(op, bytes, a, ALL, 100);
		ARMCI_INIT_HANDLE(&h);
		CHECK(ARMCI_NbPutS(a, &row, at, &row, counts, 1, next, &h) == 0 &&
		      ARMCI_Wait(&h) == 0);
		for (i = 0; i < SIDE; i++)
			fill_elements(op, bytes, want + (size_t)(i * SIDE) * bytes, 1, 100);
		CHECK(ARMCI_NbAccS(op, scale, a, &row, at, &row, counts, 1, next, &h) == 0 &&
		      ARMCI_Wait(&h) == 0);
		for (i = 0; i < SIDE; i++)
			fill_elements(op, bytes, want + (size_t)(i * SIDE) * bytes, 1, 300);
		counts[0] = row;
		CHECK(ARMCI_GetS(at, &row, got, &row, counts, 1, next) == 0 &&
		      !memcmp(got, want, ALL * bytes));
		fill_elements(op, bytes, got, ALL, 0);
		ARMCI_INIT_HANDLE(&h);
		CHECK(ARMCI_NbGet(at, got, ALL * (int)bytes, next, &h) == 0 && ARMCI_Wait(&h) == 0);
		CHECK(!memcmp(got, want, ALL * bytes));
	}
}

/* The counter sees the put before it, and the get sees the counter. */
static void litmus_rmw(void)
{
	long *at = (long *)mem[5][next], old, v;
	int i;

	for (i = 0; i < 50; i++) {
		v = 1000 * i;
		CHECK(ARMCI_Put(&v, at, sizeof(v), next) == 0);
		CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, at, 5, next) == 0 && old == v);
		CHECK(ARMCI_GetValueLong(at, next) == v + 5);
		CHECK(ARMCI_PutValueLong(-1, at, next) == 0);
		v = 77;
		CHECK(ARMCI_Rmw(ARMCI_SWAP_LONG, &v, at, 0, next) == 0 && v == -1);
	}
}

/* Open many handles at once. */
static void many_handles_complete(void)
{
	static armci_hdl_t h[2000];
	static int v[2000];
	int i;

	for (i = 0; i < 2000; i++) {
		v[i] = i;
		ARMCI_INIT_HANDLE(&h[i]);
		CHECK(ARMCI_NbPut(&v[i], (int *)mem[5][next] + i, sizeof(int), next, &h[i]) == 0);
	}
	for (i = 1999; i >= 0; i--)
		CHECK(ARMCI_Wait(&h[i]) == 0);
	CHECK(ARMCI_Get(mem[5][next], v, sizeof(v), next) == 0);
	for (i = 0; i < 2000; i++)
		CHECK(v[i] == i);
}

static void aggregates_join_small_puts(void)
{
	static double v[1000];
	long sends = count_of("aggregate_sends"), taken = count_of("aggregated"),
	     packed = count_of("packed");
	armci_hdl_t h;
	int i;

	ARMCI_INIT_HANDLE(&h);
	ARMCI_SET_AGGREGATE_HANDLE(&h);
	for (i = 0; i < 1000; i++) {
		v[i] = i;
		CHECK(ARMCI_NbPut(&v[i], (double *)mem[5][next] + 3 * i, 8, next, &h) == 0);
	}
	CHECK(count_of("packed") == packed);
	CHECK(ARMCI_Wait(&h) == 0);
	CHECK(count_of("aggregated") - taken == 1000 && count_of("aggregate_sends") - sends == 1);
	CHECK(count_of("packed") - packed == 1 || getenv("ARMCI_IOV_METHOD"));
}

/* Move the same vector by every method, and accumulate it, which every method must do right. */
static void every_method_moves_vectors(void)
{
	enum { PIECES = 100 };
	static double v[PIECES], back[PIECES];
	void *here[PIECES], *there[PIECES], *into[PIECES];
	armci_giov_t put = {here, there, 8, PIECES}, get = {there, into, 8, PIECES};
	long rdma = count_of("rdma") + count_of("plain"), packed = count_of("packed");
	double one = 1;
	int i;

	for (i = 0; i < PIECES; i++) {
		v[i] = me * 1000 + i;
		here[i] = &v[i];
		into[i] = &back[i];
		there[i] = (double *)mem[5][next] + (i * 7) % PIECES * 2;
	}
	CHECK(ARMCI_PutV(&put, 1, next) == 0 && ARMCI_GetV(&get, 1, next) == 0);
	CHECK(!memcmp(v, back, sizeof(v)));
	rdma = count_of("rdma") + count_of("plain") - rdma;
	packed = count_of("packed") - packed;
	if (is_set("ARMCI_IOV_METHOD", "CONSRV") || is_set("ARMCI_IOV_METHOD", "BATCHED"))
		CHECK(rdma == 2 * PIECES && packed == 0);
	else if (is_set("ARMCI_IOV_METHOD", "DIRECT"))
		CHECK(rdma == 0 && packed == 2 * 4); /* 30 at a time */
	else
		CHECK(rdma == 0 && packed == 2);
	CHECK(ARMCI_AccV(ARMCI_ACC_DBL, &one, &put, 1, next) == 0 &&
	      ARMCI_GetV(&get, 1, next) == 0);
	for (i = 0; i < PIECES; i++)
		CHECK(back[i] == 2 * v[i]);
	ARMCI_Barrier();
}

/* Long gets whose owner copies while the caller computes, or that the caller copies in the end. */
static void long_gets_are_assisted(void)
{
	enum { GETS = 100, BYTES = 90000 };
	int always =
	    is_set("QUINTORUS_ARMCI_ASSIST", "always") && next != me && !ARMCIX_Clock_is_virtual();
	long before = count_of("assisted");
	char *local[4];
	armci_hdl_t h[4];
	int i, k;

	for (k = 0; k < 4; k++) {
		local[k] = ARMCI_Malloc_local(BYTES);
		memset(mem[k][me], 10 * me + k + 1, BYTES);
	}
	ARMCI_Barrier();
	for (i = 0; i < GETS; i++) {
		for (k = 0; k < 4; k++) {
			memset(local[k], 0, BYTES);
			ARMCI_INIT_HANDLE(&h[k]);
			CHECK(ARMCI_NbGet(mem[k][next], local[k], BYTES, next, &h[k]) == 0);
		}
		if (i % 2)
			ARMCIX_Compute(20e-6);
		/* This process makes no call, so only the owner can have copied. */
		for (k = 0; always && i % 10 == 9 && k < 4; k++)
			while (((volatile char *)local[k])[BYTES - 1] != 10 * next + k + 1)
				sched_yield();
		for (k = 0; k < 4; k++) {
			CHECK(ARMCI_Wait(&h[k]) == 0);
			CHECK(local[k][0] == 10 * next + k + 1 &&
			      local[k][BYTES - 1] == 10 * next + k + 1 &&
			      !memcmp(local[k], local[k] + 1, BYTES - 1));
		}
	}
	if (always)
		CHECK(count_of("assisted") - before == 4 * GETS);
	if (!getenv("QUINTORUS_ARMCI_ASSIST"))
		CHECK(count_of("assisted") == before);
	ARMCI_Barrier();
	for (k = 0; k < 4; k++)
		ARMCI_Free_local(local[k]);
	memset(mem[0][me], 0, 100000);
	ARMCI_Barrier();
}

int main(void)
{
	int rc, i;

	if (ARMCI_Init())
		return 1;
	me = armci_msg_me();
	n = armci_msg_nproc();
	next = (me + 1) % n;
	open_all();
	endpoints_are_made_on_demand();
	region_cache_keeps_what_is_used();
	ARMCI_Barrier();
	every_method_moves_patches();
	gets_run_beside_accumulates();
	ARMCI_Barrier();
	aggregates_join_small_puts();
	every_method_moves_vectors();
	long_gets_are_assisted();
	for (i = 0; i < (int)(sizeof(types) / sizeof(types[0])); i++)
		order_holds_for_type(types[i].op, types[i].bytes);
	litmus_rmw();
	many_handles_complete();
	close_all();
	rc = check_report("protocols");
	ARMCI_Finalize();
	return rc;
}
