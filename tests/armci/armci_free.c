/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARMCI_Free by all members, by one of them alone, in different orders, and with parts of no bytes.
 * Other processes can still read and write memory that one process has not freed. The next
 * allocation reuses memory that all have freed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/armci/armci_check.h"

static int me, n;

enum { BYTES = 1 << 16, LARGE = 4 << 20, ROUNDS = 40 };

/* Every process in turn writes to every part of p and reads it back. */
static void use_parts(void **p, int mark)
{
	int proc, turn, value;

	for (turn = 0; turn < n; turn++) {
		for (proc = 0; turn == me && proc < n; proc++) {
			CHECK(ARMCI_PutValueInt(mark + me, (char *)p[proc] + 4 * me, proc) == 0);
			ARMCI_Fence(proc);
			value = ARMCI_GetValueInt((char *)p[proc] + 4 * me, proc);
			CHECK(value == mark + me);
		}
		armci_msg_barrier();
	}
	for (proc = 0; proc < n; proc++)
		CHECK(((int *)p[me])[proc] == mark + proc);
	armci_msg_barrier();
}

/*
 * The habit under test: one process frees, and no other process calls ARMCI_Free or waits for it.
 */
static void by_one(int who)
{
	void *p[64], *next[64];

	CHECK(ARMCI_Malloc(p, BYTES) == 0);
	use_parts(p, 100);
	if (me == who)
		CHECK(ARMCI_Free(p[me]) == 0);
	use_parts(p, 200); /* No other process knows. */
	CHECK(ARMCI_Malloc(next, BYTES) == 0);
	CHECK(n == 1 || next[me] != p[me]);
	if (n > 1)
		use_parts(p, 300);
	use_parts(next, 400);
	if (me != who)
		CHECK(ARMCI_Free(p[me]) == 0);
	CHECK(ARMCI_Free(next[me]) == 0);
}

/* Only one process has memory, so only that one has a pointer to free. */
static void by_the_only_one(void)
{
	int root = n - 1, round;
	void *p[64];

	for (round = 0; round < ROUNDS; round++) {
		CHECK(ARMCI_Malloc(p, me == root ? LARGE : 0) == 0);
		CHECK(ARMCI_PutValueInt(round, (int *)p[root] + me, root) == 0);
		ARMCI_Barrier();
		CHECK(me != root || ((int *)p[root])[round % n] == round);
		ARMCI_Barrier();
		if (me == root)
			CHECK(ARMCI_Free(p[me]) == 0);
	}
}

/* Each process frees in an order of its own, with NULL for parts of no bytes. */
static void in_any_order(void)
{
	void *p[4][64];
	int i, k;

	for (i = 0; i < 4; i++)
		CHECK(ARMCI_Malloc(p[i], (me + i) % 3 ? BYTES : 0) == 0);
	ARMCI_Barrier();
	for (i = 0; i < 4; i++) {
		k = (i + me) % 4;
		CHECK(ARMCI_Free(p[k][me]) == 0);
	}
}

/* Memory that all have freed is reused: addresses repeat. */
static void addresses_repeat(ARMCI_Group *g)
{
	void *seen[ROUNDS], *p[64];
	int rank = me, round, i, different = 0;

	if (g)
		ARMCI_Group_rank(g, &rank);

	for (round = 0; round < ROUNDS; round++) {
		CHECK((g ? ARMCI_Malloc_group(p, LARGE, g) : ARMCI_Malloc(p, LARGE)) == 0);
		seen[round] = p[rank];
		for (i = 0; seen[i] != p[rank]; i++)
			;
		different += i == round;
		((char *)p[rank])[LARGE - 1] = 1;
		CHECK((g ? ARMCI_Free_group(p[rank], g) : ARMCI_Free(p[rank])) == 0);
	}
	CHECK(different <= 4);
}

static void of_groups(void)
{
	int list[64], i;
	void *p[64];
	ARMCI_Group g;

	for (i = 0; i < n; i++)
		list[i] = n - 1 - i;
	ARMCI_Group_create(n, list, &g);
	addresses_repeat(&g);
	CHECK(ARMCI_Malloc_group(p, BYTES, &g) == 0);
	ARMCI_Barrier();
	ARMCI_Group_free(&g); /* The memory of the freed group remains. */
	CHECK(ARMCI_PutValueInt(me, p[(me + 1) % n], n - 1 - (me + 1) % n) == 0);
	ARMCI_Barrier();
	CHECK(*(int *)p[n - 1 - me] == (n - 1 - me + n - 1) % n);
	ARMCI_Barrier();
	CHECK(ARMCI_Free(p[n - 1 - me]) == 0);
}

int main(int argc, char **argv)
{
	int failed, who;
	void *p[64];

	ARMCI_Init();
	me = armci_msg_me();
	n = armci_msg_nproc();
	for (who = 0; who < n; who++)
		by_one(who);
	by_the_only_one();
	in_any_order();
	addresses_repeat(NULL);
	of_groups();
	CHECK(ARMCI_Malloc(p, BYTES) == 0);
	if (me == 0) /* Process 0 alone frees, as the last call before Finalize. */
		CHECK(ARMCI_Free(p[me]) == 0);
	failed = check_report("armci_free");
	ARMCI_Finalize();
	return failed;
}
