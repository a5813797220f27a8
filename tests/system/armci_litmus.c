/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process may see of the writes of others and its own, in small programs with known outcomes, where each write
 * and each read goes a way of its own: contiguous short and long, patches, vectors, values, accumulates, swaps, with
 * handles of every kind, collected.
 *
 *   armci_litmus [ROUNDS [SEED]]
 *
 * Values are below 128, so that only one byte of a word ever changes and no half of a write can be seen.
 */
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <armcix.h>
#include <message.h>

#include "drivers/base/rng.h"
#include "tests/system/armci_check.h"

enum { BLOCK = 4096, WORDS = BLOCK / 8, PLACES = 8, LAST = 127 };

/* Both written and read together; far enough from each other not to be one piece. */
enum { FIRST = 100, SECOND = 102 };

static int me, n;
static void **mem;
static struct drv_rng rng, common; /* common: the same numbers everywhere */

static long *place(int proc, int number)
{
	return (long *)((char *)mem[proc] + (size_t)number * BLOCK);
}

static unsigned below(unsigned bound)
{
	return (unsigned)drv_rng_below(&rng, bound);
}

/* ---- ways to write v; was: what is there, written by this process too ---- */

enum { WRITES = 11, READS = 9 };

static void add(int proc, long *at, long by, int way)
{
	static int gap = 16, near = 8;
	static long two[2], one = 1;
	void *from[2] = {&two[0], &two[1]}, *to[2] = {at + FIRST, at + SECOND};
	armci_giov_t g = {from, to, 8, 2};
	int count[2] = {8, 2};
	armci_hdl_t h;

	two[0] = two[1] = by;
	ARMCI_INIT_HANDLE(&h);
	if (way) {
		CHECK(ARMCI_AccS(ARMCI_ACC_LNG, &one, two, &near, at + FIRST, &gap, count, 1, proc) == 0);
		return;
	}
	CHECK(ARMCI_NbAccV(ARMCI_ACC_LNG, &one, &g, 1, proc, &h) == 0);
	CHECK(ARMCI_Wait(&h) == 0);
}

static void put(int proc, int number, long v, long was, int way)
{
	static long block[WORDS], two[2];
	static int gap = 16, near = 8;
	long *at = place(proc, number), other;
	void *from[2] = {&two[0], &two[1]}, *to[2] = {at + FIRST, at + SECOND};
	armci_giov_t g = {from, to, 8, 2};
	int count[2] = {8, 2};
	armci_hdl_t h;

	two[0] = two[1] = v;
	ARMCI_INIT_HANDLE(&h);
	switch (way) {
	case 0:
		CHECK(ARMCI_Put(two, at + FIRST, 8, proc) == 0 && ARMCI_Put(two, at + SECOND, 8, proc) == 0);
		break;
	case 1:
		CHECK(ARMCI_PutValueLong(v, at + FIRST, proc) == 0 && ARMCI_PutValueLong(v, at + SECOND, proc) == 0);
		break;
	case 2:
		CHECK(ARMCI_PutS(two, &near, at + FIRST, &gap, count, 1, proc) == 0);
		break;
	case 3:
		CHECK(ARMCI_PutV(&g, 1, proc) == 0);
		break;
	case 4:
		CHECK(ARMCI_NbPut(two, at + FIRST, 8, proc, &h) == 0 && ARMCI_NbPut(two, at + SECOND, 8, proc, &h) == 0);
		CHECK(ARMCI_Wait(&h) == 0);
		break;
	case 5:
		ARMCI_SET_AGGREGATE_HANDLE(&h);
		CHECK(ARMCI_NbPut(two, at + FIRST, 8, proc, &h) == 0);
		CHECK(ARMCI_NbPutValueLong(v, at + SECOND, proc, &h) == 0);
		CHECK(ARMCI_Wait(&h) == 0);
		break;
	case 6:
	case 7:
		add(proc, at, v - was, way == 7);
		break;
	case 8:
		other = v;
		CHECK(ARMCI_Rmw(ARMCI_SWAP_LONG, &other, at + FIRST, 0, proc) == 0 && other == was);
		CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &other, at + SECOND, (int)(v - was), proc) == 0 && other == was);
		break;
	case 9: /* all around it, as it is */
		block[FIRST] = block[SECOND] = v;
		CHECK(ARMCI_Put(block, at, BLOCK, proc) == 0);
		block[FIRST] = block[SECOND] = 126; /* ours again */
		break;
	default:
		CHECK(ARMCI_NbPutV(&g, 1, proc, NULL) == 0 && ARMCI_WaitProc(proc) == 0);
	}
	two[0] = two[1] = 125;
}

static long get(int proc, int number, int way)
{
	static long block[WORDS];
	static int gap = 16, near = 8;
	long *at = place(proc, number), two[2] = {124, 123};
	void *from[2] = {at + FIRST, at + SECOND}, *to[2] = {&two[0], &two[1]};
	armci_giov_t g = {from, to, 8, 2};
	int count[2] = {8, 2};
	armci_hdl_t h;

	ARMCI_INIT_HANDLE(&h);
	switch (way) {
	case 0:
		CHECK(ARMCI_Get(at + SECOND, &two[1], 8, proc) == 0 && ARMCI_Get(at + FIRST, &two[0], 8, proc) == 0);
		break;
	case 1:
		two[1] = ARMCI_GetValueLong(at + SECOND, proc);
		two[0] = ARMCI_GetValueLong(at + FIRST, proc);
		break;
	case 2:
		CHECK(ARMCI_GetS(at + FIRST, &gap, two, &near, count, 1, proc) == 0);
		break;
	case 3:
		CHECK(ARMCI_GetV(&g, 1, proc) == 0);
		break;
	case 4:
		CHECK(ARMCI_NbGet(at + FIRST, &two[0], 8, proc, &h) == 0 && ARMCI_NbGet(at + SECOND, &two[1], 8, proc, &h) == 0);
		CHECK(ARMCI_Wait(&h) == 0);
		break;
	case 5:
		ARMCI_SET_AGGREGATE_HANDLE(&h);
		CHECK(ARMCI_NbGet(at + FIRST, &two[0], 8, proc, &h) == 0 && ARMCI_NbGet(at + SECOND, &two[1], 8, proc, &h) == 0);
		CHECK(ARMCI_Wait(&h) == 0);
		break;
	case 6:
		CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &two[1], at + SECOND, 0, proc) == 0);
		CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &two[0], at + FIRST, 0, proc) == 0);
		break;
	case 7:
		CHECK(ARMCI_Get(at, block, BLOCK, proc) == 0);
		two[0] = block[FIRST];
		two[1] = block[SECOND];
		break;
	default:
		CHECK(ARMCI_NbGetS(at + FIRST, &gap, two, &near, count, 1, proc, NULL) == 0 && ARMCI_WaitAll() == 0);
	}
	return two[0] < two[1] ? two[0] : two[1];
}

static void clear(void)
{
	ARMCI_Barrier();
	memset(mem[me], 0, PLACES * BLOCK);
	ARMCI_Barrier();
}

/* ---- the programs ---- */

/* A process sees its own writes, the last of them, without a fence. */
static void own(int rounds)
{
	int to = (me + 1) % n, i, k, ways[4] = {0};
	long was = 0, seen;

	clear();
	for (i = 0; i < rounds * 4; i++) {
		k = 1 + (int)below(3);
		while (k--) {
			long v = (long)below(LAST);

			ways[k] = (int)below(WRITES);
			put(to, 0, v, was, ways[k]);
			was = v;
		}
		ways[3] = (int)below(READS);
		seen = get(to, 0, ways[3]);
		CHECK(seen == was);
		if (seen != was)
			fprintf(stderr, "process %d: %ld, not %ld: written by ways %d %d %d, read by %d\n", me, seen, was,
				ways[2], ways[1], ways[0], ways[3]);
	}
}

/* One writes upwards, the others never see it go down. */
static void upwards(int rounds)
{
	int round, i;

	for (round = 0; round < rounds / 10 + 1; round++) {
		int writer = round % n, home = (int)drv_rng_below(&common, (uint64_t)n);
		long v = 0, before = 0;

		clear();
		if (me == writer) {
			for (i = 1; i < LAST; i++)
				put(home, 1, i, i - 1, (int)below(WRITES));
			continue;
		}
		for (i = 0; i < LAST && v < LAST - 1; i++) {
			v = get(home, 1, (int)below(READS));
			CHECK(v >= before);
			before = v;
		}
	}
}

/* Until the flag in my own memory shows round; in real time without a call. */
static void await(long round)
{
	volatile long *flag = place(me, 2) + FIRST;

	while (*flag < round)
		if (ARMCIX_Clock_is_virtual())
			ARMCIX_Progress();
		else
			sched_yield();
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Data, fence, flag: who sees the flag sees the data, at whomever they are. */
static void message(int rounds)
{
	int round, writer, home, reader;
	long *value = calloc((size_t)n, sizeof(*value)), *flag = calloc((size_t)n, sizeof(*flag));

	clear();
	for (round = 0; value && flag && round < rounds; round++) {
		int told = (int)drv_rng_below(&common, 3);

		writer = (int)drv_rng_below(&common, (uint64_t)n);
		home = (int)drv_rng_below(&common, (uint64_t)n);
		reader = (int)drv_rng_below(&common, (uint64_t)n);
		value[home] = (value[home] + 1) % LAST;
		if (!value[home])
			clear(); /* begins again from below: everybody has seen the end */
		flag[reader]++;
		if (me == writer) {
			long v = flag[reader];

			put(home, 3, value[home], value[home] ? value[home] - 1 : LAST - 1, (int)below(5));
			ARMCI_Fence(home);
			if (told == 0)
				CHECK(ARMCI_Put(&v, place(reader, 2) + FIRST, 8, reader) == 0);
			else if (told == 1)
				CHECK(ARMCI_Rmw(ARMCI_SWAP_LONG, &v, place(reader, 2) + FIRST, 0, reader) == 0);
			else
				CHECK(ARMCI_PutValueLong(v, place(reader, 2) + FIRST, reader) == 0);
		}
		if (me == reader) {
			await(flag[reader]);
			CHECK(get(home, 3, (int)below(READS)) == value[home]);
		}
		ARMCI_Barrier();
	}
	free(value);
	free(flag);
}

/* Data and what tells of them to the same process: no fence. */
static void together(int rounds)
{
	int to = (me + 1) % n, from = (me + n - 1) % n, round, seen;

	clear();
	for (round = 1; round <= rounds; round++) {
		long v = round % LAST, was = (round - 1) % LAST, *here = place(me, 4);
		static char patch[1000];
		int near = 10, far = 20, count[2] = {10, 100};

		put(to, 4, v, was, (int)below(WRITES));
		CHECK(armci_notify(to) == round);
		CHECK(armci_notify_wait(from, &seen) >= round && seen == round);
		CHECK(((volatile long *)here)[FIRST] == v && ((volatile long *)here)[SECOND] == v);
		armci_msg_barrier();
		memset(patch, (int)v, sizeof(patch));
		CHECK(ARMCI_PutS_flag(patch, &near, place(to, 5), &far, count, 1, (int *)(place(to, 2) + FIRST), round, to) == 0);
		await(round);
		CHECK(((volatile char *)place(me, 5))[0] == (char)v && ((volatile char *)place(me, 5))[99 * 20 + 9] == (char)v);
		armci_msg_barrier();
	}
}

/* x = 1, fence, y?  beside  y = 1, fence, x?: not both may miss the other's. */
static void crossed(int rounds)
{
	int round, x, y, result[2];

	for (round = 0; round < rounds; round++) {
		x = (int)drv_rng_below(&common, (uint64_t)n);
		y = (int)drv_rng_below(&common, (uint64_t)n);
		clear();
		result[0] = result[1] = 1;
		if (me < 2 && n > 1) {
			put(me ? y : x, 6 + me, 1, 0, (int)below(WRITES));
			ARMCI_Fence(me ? y : x);
			result[me] = (int)get(me ? x : y, 7 - me, (int)below(READS));
		}
		armci_msg_igop(result, 2, "min");
		CHECK(result[0] || result[1]);
	}
}

/* Under a mutex everybody's writes to anybody are seen, without a fence of the program's. */
static void locked(int rounds)
{
	int round, host = n / 2, home = n - 1;
	long v;

	clear();
	CHECK(ARMCI_Create_mutexes(me == host) == 0);
	for (round = 0; round < rounds / 10 + 2 && (long)n * round < LAST - n; round++) {
		ARMCI_Lock(0, host);
		v = get(home, 0, (int)below(READS));
		put(home, 0, v + 1, v, (int)below(WRITES));
		ARMCI_Unlock(0, host);
	}
	ARMCI_Barrier();
	CHECK(get(home, 0, 0) == (long)n * round);
	CHECK(ARMCI_Destroy_mutexes() == 0);
}

/* All fence, then meet: all see all. */
static void met(int rounds)
{
	int round, p;

	clear();
	for (round = 1; round <= rounds && round < LAST; round++) {
		for (p = 0; p < n && me < PLACES; p++)
			put((me + p) % n, me, round, round - 1, (int)below(WRITES));
		ARMCI_AllFence();
		armci_msg_barrier();
		for (p = 0; p < n && p < PLACES; p++) {
			CHECK(get((me + p) % n, p, (int)below(READS)) == round);
			CHECK(((volatile long *)place(me, p))[SECOND] == round);
		}
		ARMCI_Barrier();
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 40, rc;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	if (ARMCI_Init())
		return 1;
	me = armci_msg_me();
	n = armci_msg_nproc();
	mem = calloc((size_t)n, sizeof(*mem));
	CHECK(mem && ARMCI_Malloc(mem, PLACES * BLOCK) == 0);
	drv_rng_seed(&rng, seed * 1000003 + (uint64_t)me);
	drv_rng_seed(&common, seed);
	own(rounds);
	upwards(rounds);
	message(rounds);
	together(rounds);
	crossed(rounds);
	locked(rounds);
	met(rounds);
	ARMCI_Barrier();
	CHECK(ARMCI_Free(mem[me]) == 0);
	free(mem);
	if (me == 0)
		printf("%d rounds, seed %llu\n", rounds, (unsigned long long)seed);
	rc = check_report("litmus");
	ARMCI_Finalize();
	return rc;
}
