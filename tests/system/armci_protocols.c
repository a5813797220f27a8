/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way things travel: the settings in the environment choose protocols, the library's counters tell.
 * Processes on nodes of their own. tests/system/armci_protocols.sh starts it.
 */
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

	CHECK(ARMCI_PutValueInt(7, mem[0][next], next) == 0 && ARMCI_GetValueInt(mem[0][next], next) == 7);
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
	CHECK(count("packed") - packed == 1);
}

int main(void)
{
	int rc;

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
	close_all();
	rc = check_report("protocols");
	ARMCI_Finalize();
	return rc;
}
