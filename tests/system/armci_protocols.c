/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way things travel: the settings in the environment choose protocols, the library's counters
 * tell. Processes on nodes of their own. tests/system/armci_protocols.sh starts it.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <armcix.h>

#include "tests/system/armci_check.h"

enum { ALLOCS = 6, ROWS = 64, ROW = 40, FAR = 100 };

static int me, n, next;
static void **mem[ALLOCS];

static long count(const char *name)
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

/* An endpoint for each partner talked to, not for each process. */
static void endpoints(void)
{
	long before = count("endpoints");

	CHECK(ARMCI_PutValueInt(7, mem[0][next], next) == 0 &&
	      ARMCI_GetValueInt(mem[0][next], next) == 7);
	CHECK(count("endpoints") - before <= 1);
	before = count("endpoints");
	CHECK(ARMCI_GetValueInt(mem[0][next], next) == 7 && count("endpoints") == before);
}

/* Two regions fit: the hot one stays while others come and go. */
static void regions(void)
{
	long misses, evictions;
	int i, v;

	for (i = 0; i < 50; i++)
		ARMCI_GetValueInt(mem[0][next], next);
	misses = count("region_misses");
	evictions = count("region_evictions");
	for (i = 0; i < 40; i++) {
		v = 1 + i % (ALLOCS - 1);
		CHECK(ARMCI_PutValueInt(i, mem[v][next], next) == 0);
		CHECK(ARMCI_GetValueInt(mem[v][next], next) == i);
		ARMCI_GetValueInt(mem[0][next], next);
	}
	if (is_set("QUINTORUS_ARMCI_REGIONS", "2")) {
		CHECK(count("region_misses") - misses == 40);
		CHECK(count("region_evictions") - evictions >= 39);
	} else if (is_set("QUINTORUS_ARMCI_REGIONS", "0")) {
		CHECK(count("region_misses") == 0 && count("rdma") == 0 && count("plain") > 0);
	} else {
		CHECK(count("region_misses") - misses <= ALLOCS - 1 && count("region_evictions") == 0);
	}
}

/* The same patches by every method. */
static void strided(void)
{
	static char src[ROWS * FAR * 3], back[ROWS * FAR * 3];
	int near[2] = {ROW, ROW * ROWS}, far[2] = {FAR, FAR * ROWS + 50}, counts[3] = {ROW, ROWS, 3};
	long rdma = count("rdma") + count("plain"), typed = count("typed"), packed = count("packed");
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
	rdma = count("rdma") + count("plain") - rdma;
	typed = count("typed") - typed;
	packed = count("packed") - packed;
	if (is_set("ARMCI_STRIDED_METHOD", "IOV"))
		CHECK(rdma == 2 * ROWS * 3 && typed == 0);
	else if (is_set("ARMCI_STRIDED_METHOD", "DIRECT"))
		CHECK(rdma == 0 && typed == 6 && packed == 0);
	else
		CHECK(rdma == 0 && typed == 0 && packed == 2);
	/* dimensions that follow on each other are one */
	packed = count("packed") + count("typed");
	rdma = count("rdma") + count("plain");
	counts[0] = 10;
	near[0] = far[0] = 10;
	counts[1] = 1;
	near[1] = far[1] = 10;
	counts[2] = 50;
	CHECK(ARMCI_PutS(src, near, mem[1][next], far, counts, 2, next) == 0);
	CHECK(count("packed") + count("typed") == packed && count("rdma") + count("plain") == rdma + 1);
	ARMCI_Barrier();
}

/* C += A B: gets of A and B with accumulates to C under way. */
static void conflicts(void)
{
	static double a[64], b[64], c[4096];
	double one = 1;
	long forced = count("fences_forced"), avoided = count("fences_avoided");
	armci_hdl_t h[20];
	int i;

	for (i = 0; i < 20; i++) {
		ARMCI_INIT_HANDLE(&h[i]);
		CHECK(ARMCI_Get(mem[2][next], a, sizeof(a), next) == 0);
		CHECK(ARMCI_Get(mem[3][next], b, sizeof(b), next) == 0);
		CHECK(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, c, mem[4][next], sizeof(c), next, &h[i]) == 0);
	}
	for (i = 0; i < 20; i++)
		CHECK(ARMCI_Wait(&h[i]) == 0);
	forced = count("fences_forced") - forced;
	avoided = count("fences_avoided") - avoided;
	if (getenv("QUINTORUS_ARMCI_ACC"))
		CHECK(count("acc_source") > 0);
	else if (is_set("QUINTORUS_ARMCI_CONFLICTS", "target"))
		CHECK(forced > 0 && avoided == 0);
	else
		CHECK(forced == 0 && avoided > 0);
	/* but one of C itself must see them */
	c[0] = 2;
	CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &one, c, mem[4][next], sizeof(c), next) == 0);
	CHECK(ARMCI_Get(mem[4][next], a, sizeof(a), next) == 0 && a[0] == 2);
}

/* ---- location consistency: no fence, exact results, whatever way each step travels ---- */

static const struct {
	int op;
	size_t bytes;
} types[] = {{ARMCI_ACC_INT, sizeof(int)},       {ARMCI_ACC_LNG, sizeof(long)},
	     {ARMCI_ACC_FLT, sizeof(float)},     {ARMCI_ACC_DBL, sizeof(double)},
	     {ARMCI_ACC_CPL, 2 * sizeof(float)}, {ARMCI_ACC_DCP, 2 * sizeof(double)}};

/* Element of a type with that real value. */
static void set(int op, void *p, long v)
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

static void fill(int op, size_t bytes, char *p, int elements, long v)
{
	char one[16];
	int i;

	set(op, one, v);
	for (i = 0; i < elements; i++)
		memcpy(p + (size_t)i * bytes, one, bytes);
}

/* Put, accumulate in three forms, put over a part, non-blocking ones that were waited for, get. */
static void litmus(int op, size_t bytes)
{
	enum { SIDE = 12, ALL = SIDE * SIDE };
	static char a[ALL * 16], got[ALL * 16], want[ALL * 16];
	void *here[ALL], *there[ALL];
	char *at = (char *)mem[5][next] + 64, scale[16];
	int row = (int)bytes * SIDE, counts[2] = {row, SIDE}, i, round;
	armci_giov_t v = {here, there, (int)bytes, ALL};
	armci_hdl_t h;

	set(op, scale, 2);
	for (i = 0; i < ALL; i++) {
		here[i] = a + (size_t)i * bytes;
		there[i] = at + (size_t)((i * 5) % ALL) * bytes;
	}
	for (round = 0; round < 5; round++) {
		fill(op, bytes, a, ALL, 7 + round);
		CHECK(ARMCI_Put(a, at, ALL * (int)bytes, next) == 0);
		fill(op, bytes, a, ALL, 3);
		CHECK(ARMCI_Acc(op, scale, a, at, ALL * (int)bytes, next) == 0);
		CHECK(ARMCI_AccS(op, scale, a, &row, at, &row, counts, 1, next) == 0);
		CHECK(ARMCI_AccV(op, scale, &v, 1, next) == 0);
		CHECK(ARMCI_Get(at, got, ALL * (int)bytes, next) == 0);
		fill(op, bytes, want, ALL, 7 + round + 18);
		CHECK(!memcmp(got, want, ALL * bytes));
		/* a put behind accumulates, in small pieces, then read back by the same and other forms
		 */
		counts[0] = (int)bytes;
		fill(op, bytes, a, ALL, 100);
		ARMCI_INIT_HANDLE(&h);
		CHECK(ARMCI_NbPutS(a, &row, at, &row, counts, 1, next, &h) == 0 && ARMCI_Wait(&h) == 0);
		for (i = 0; i < SIDE; i++)
			fill(op, bytes, want + (size_t)(i * SIDE) * bytes, 1, 100);
		CHECK(ARMCI_NbAccS(op, scale, a, &row, at, &row, counts, 1, next, &h) == 0 &&
		      ARMCI_Wait(&h) == 0);
		for (i = 0; i < SIDE; i++)
			fill(op, bytes, want + (size_t)(i * SIDE) * bytes, 1, 300);
		counts[0] = row;
		CHECK(ARMCI_GetS(at, &row, got, &row, counts, 1, next) == 0 &&
		      !memcmp(got, want, ALL * bytes));
		fill(op, bytes, got, ALL, 0);
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

/* As many handles as anybody uses, all open at once. */
static void flood(void)
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

static void aggregates(void)
{
	static double v[1000];
	long sends = count("aggregate_sends"), taken = count("aggregated"), packed = count("packed");
	armci_hdl_t h;
	int i;

	ARMCI_INIT_HANDLE(&h);
	ARMCI_SET_AGGREGATE_HANDLE(&h);
	for (i = 0; i < 1000; i++) {
		v[i] = i;
		CHECK(ARMCI_NbPut(&v[i], (double *)mem[5][next] + 3 * i, 8, next, &h) == 0);
	}
	CHECK(count("packed") == packed);
	CHECK(ARMCI_Wait(&h) == 0);
	CHECK(count("aggregated") - taken == 1000 && count("aggregate_sends") - sends == 1);
	CHECK(count("packed") - packed == 1 || getenv("ARMCI_IOV_METHOD"));
}

/* The same vector by every method, and accumulated, which no method may spoil. */
static void vectors(void)
{
	enum { PIECES = 100 };
	static double v[PIECES], back[PIECES];
	void *here[PIECES], *there[PIECES], *into[PIECES];
	armci_giov_t put = {here, there, 8, PIECES}, get = {there, into, 8, PIECES};
	long rdma = count("rdma") + count("plain"), packed = count("packed");
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
	rdma = count("rdma") + count("plain") - rdma;
	packed = count("packed") - packed;
	if (is_set("ARMCI_IOV_METHOD", "CONSRV") || is_set("ARMCI_IOV_METHOD", "BATCHED"))
		CHECK(rdma == 2 * PIECES && packed == 0);
	else if (is_set("ARMCI_IOV_METHOD", "DIRECT"))
		CHECK(rdma == 0 && packed == 2 * 4); /* 30 at a time */
	else
		CHECK(rdma == 0 && packed == 2);
	CHECK(ARMCI_AccV(ARMCI_ACC_DBL, &one, &put, 1, next) == 0 && ARMCI_GetV(&get, 1, next) == 0);
	for (i = 0; i < PIECES; i++)
		CHECK(back[i] == 2 * v[i]);
	ARMCI_Barrier();
}

/* Long gets whose owner copies while the caller computes, or that the caller does after all. */
static void assisted(void)
{
	enum { GETS = 100, BYTES = 90000 };
	int always = is_set("QUINTORUS_ARMCI_ASSIST", "always") && next != me && !ARMCIX_Clock_is_virtual();
	long before = count("assisted");
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
		/* No call of ours, so that it can but be the owner who copies. */
		for (k = 0; always && i % 10 == 9 && k < 4; k++)
			while (((volatile char *)local[k])[BYTES - 1] != 10 * next + k + 1)
				sched_yield();
		for (k = 0; k < 4; k++) {
			CHECK(ARMCI_Wait(&h[k]) == 0);
			CHECK(local[k][0] == 10 * next + k + 1 && local[k][BYTES - 1] == 10 * next + k + 1 &&
			      !memcmp(local[k], local[k] + 1, BYTES - 1));
		}
	}
	if (always)
		CHECK(count("assisted") - before == 4 * GETS);
	if (!getenv("QUINTORUS_ARMCI_ASSIST"))
		CHECK(count("assisted") == before);
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
	endpoints();
	regions();
	ARMCI_Barrier();
	strided();
	conflicts();
	ARMCI_Barrier();
	aggregates();
	vectors();
	assisted();
	for (i = 0; i < (int)(sizeof(types) / sizeof(types[0])); i++)
		litmus(types[i].op, types[i].bytes);
	litmus_rmw();
	flood();
	close_all();
	rc = check_report("protocols");
	ARMCI_Finalize();
	return rc;
}
