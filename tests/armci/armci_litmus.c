/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process may see of its own writes and of those of others, in small programs with known
 * outcomes. Each write and each read travels its own way: contiguous short and long, patches,
 * vectors, values, accumulates, swaps, with handles of every kind, collected.
 *
 *   armci_litmus [ROUNDS [SEED]]
 *
 * Values are below 128, so that only one byte of a word changes and half of a write is never
 * visible.
 */
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <armcix.h>
#include <message.h>

#include "drivers/base/rng.h"
#include "tests/armci/armci_check.h"

enum { BLOCK = 4096, WORDS = BLOCK / 8, PLACES = 8, LAST = 127 };

/* Both are written and read together. They are far enough apart not to be one piece. */
enum { FIRST = 100, SECOND = 102 };

static int me, n;
static void **mem;
static struct drv_rng rng, common; /* common: the same numbers at all processes */

static long *place_of(int proc, int number)
{
	return (long *)((char *)mem[proc] + (size_t)number * BLOCK);
}

static unsigned draw_below(unsigned bound)
{
	return (unsigned)drv_rng_below(&rng, bound);
}

/* ---- ways to write v; `was` is the old value, also written by this process ---- */

enum { WRITES = 11, READS = 9 };

static void add_value(int proc, long *at, long by, int way)
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
		CHECK(ARMCI_AccS(ARMCI_ACC_LNG, &one, two, &near, at + FIRST, &gap, count, 1,
				 proc) == 0);
		return;
	}
	CHECK(ARMCI_NbAccV(ARMCI_ACC_LNG, &one, &g, 1, proc, &h) == 0);
	CHECK(ARMCI_Wait(&h) == 0);
}

static void put_value(int proc, int number, long v, long was, int way)
{
	static long block[WORDS], two[2];
	static int gap = 16, near = 8;
	long *at = place_of(proc, number), other;
	void *from[2] = {&two[0], &two[1]}, *to[2] = {at + FIRST, at + SECOND};
	armci_giov_t g = {from, to, 8, 2};
	int count[2] = {8, 2};
	armci_hdl_t h;

	two[0] = two[1] = v;
	ARMCI_INIT_HANDLE(&h);
	switch (way) {
	case 0:
		CHECK(ARMCI_Put(two, at + FIRST, 8, proc) == 0 &&
		      ARMCI_Put(two, at + SECOND, 8, proc) == 0);
		break;
	case 1:
		CHECK(ARMCI_PutValueLong(v, at + FIRST, proc) == 0 &&
		      ARMCI_PutValueLong(v, at + SECOND, proc) == 0);
		break;
	case 2:
		CHECK(ARMCI_PutS(two, &near, at + FIRST, &gap, count, 1, proc) == 0);
		break;
	case 3:
		CHECK(ARMCI_PutV(&g, 1, proc) == 0);
		break;
	case 4:
		CHECK(ARMCI_NbPut(two, at + FIRST, 8, proc, &h) == 0 &&
		      ARMCI_NbPut(two, at + SECOND, 8, proc, &h) == 0);
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
		add_value(proc, at, v - was, way == 7);
		break;
	case 8:
		other = v;
		CHECK(ARMCI_Rmw(ARMCI_SWAP_LONG, &other, at + FIRST, 0, proc) == 0 && other == was);
		CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &other, at + SECOND, (int)(v - was),
				proc) == 0 &&
		      other == was);
		break;
	case 9: /* The memory around it stays as it is. */
		block[FIRST] = block[SECOND] = v;
		CHECK(ARMCI_Put(block, at, BLOCK, proc) == 0);
		block[FIRST] = block[SECOND] = 126; /* The buffer may be reused. */
		break;
	default:
		CHECK(ARMCI_NbPutV(&g, 1, proc, NULL) == 0 && ARMCI_WaitProc(proc) == 0);
	}
	two[0] = two[1] = 125;
}

static long get_value(int proc, int number, int way)
{
	static long block[WORDS];
	static int gap = 16, near = 8;
	long *at = place_of(proc, number), two[2] = {124, 123};
	void *from[2] = {at + FIRST, at + SECOND}, *to[2] = {&two[0], &two[1]};
	armci_giov_t g = {from, to, 8, 2};
	int count[2] = {8, 2};
	armci_hdl_t h;

	ARMCI_INIT_HANDLE(&h);
	switch (way) {
	case 0:
		CHECK(ARMCI_Get(at + SECOND, &two[1], 8, proc) == 0 &&
		      ARMCI_Get(at + FIRST, &two[0], 8, proc) == 0);
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
		CHECK(ARMCI_NbGet(at + FIRST, &two[0], 8, proc, &h) == 0 &&
		      ARMCI_NbGet(at + SECOND, &two[1], 8, proc, &h) == 0);
		CHECK(ARMCI_Wait(&h) == 0);
		break;
	case 5:
		ARMCI_SET_AGGREGATE_HANDLE(&h);
		CHECK(ARMCI_NbGet(at + FIRST, &two[0], 8, proc, &h) == 0 &&
		      ARMCI_NbGet(at + SECOND, &two[1], 8, proc, &h) == 0);
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
		CHECK(ARMCI_NbGetS(at + FIRST, &gap, two, &near, count, 1, proc, NULL) == 0 &&
		      ARMCI_WaitAll() == 0);
	}
	return two[0] < two[1] ? two[0] : two[1];
}

static void clear_places(void)
{
	ARMCI_Barrier();
	memset(mem[me], 0, PLACES * BLOCK);
	ARMCI_Barrier();
}

/* ---- the programs ---- */

/* A process sees the last one of its own writes, without a fence. */
static void own_writes_are_seen(int rounds)
{
	int to = (me + 1) % n, i, k, ways[4] = {0};
	long was = 0, seen;

	clear_places();
	for (i = 0; i < rounds * 4; i++) {
		k = 1 + (int)draw_below(3);
		while (k--) {
			long v = (long)draw_below(LAST);

			ways[k] = (int)draw_below(WRITES);
			put_value(to, 0, v, was, ways[k]);
			was = v;
		}
		ways[3] = (int)draw_below(READS);
		seen = get_value(to, 0, ways[3]);
		CHECK(seen == was);
		if (seen != was)
			fprintf(stderr,
				"process %d: %ld, not %ld: written by ways %d %d %d, read by %d\n",
				me, seen, was, ways[2], ways[1], ways[0], ways[3]);
	}
}

/* One process writes increasing values; the others never see a smaller one after a larger one. */
static void values_never_go_back(int rounds)
{
	int round, i;

	for (round = 0; round < rounds / 10 + 1; round++) {
		int writer = round % n, home = (int)drv_rng_below(&common, (uint64_t)n);
		long v = 0, before = 0;

		clear_places();
		if (me == writer) {
			for (i = 1; i < LAST; i++)
				put_value(home, 1, i, i - 1, (int)draw_below(WRITES));
			continue;
		}
		for (i = 0; i < LAST && v < LAST - 1; i++) {
			v = get_value(home, 1, (int)draw_below(READS));
			CHECK(v >= before);
			before = v;
		}
	}
}

/* Wait until the flag in own memory shows `round`; in real time without a call. */
static void await_flag(long round)
{
	volatile long *flag = place_of(me, 2) + FIRST;

	while (*flag < round)
		if (ARMCIX_Clock_is_virtual())
			ARMCIX_Progress();
		else
			sched_yield();
	atomic_fence_acquire();
}

/* Data, fence, flag: a process that sees the flag sees the data, wherever they are. */
static void fenced_data_is_seen_with_its_flag(int rounds)
{
	int round, writer, home, reader;
	long *value = calloc((size_t)n, sizeof(*value)), *flag = calloc((size_t)n, sizeof(*flag));

	clear_places();
	for (round = 0; value && flag && round < rounds; round++) {
		int told = (int)drv_rng_below(&common, 3);

		writer = (int)drv_rng_below(&common, (uint64_t)n);
		home = (int)drv_rng_below(&common, (uint64_t)n);
		reader = (int)drv_rng_below(&common, (uint64_t)n);
		value[home] = (value[home] + 1) % LAST;
		if (!value[home])
			clear_places(); /* It begins again: every process has seen the end. */
		flag[reader]++;
		if (me == writer) {
			long v = flag[reader];

			put_value(home, 3, value[home], value[home] ? value[home] - 1 : LAST - 1,
				  (int)draw_below(5));
			ARMCI_Fence(home);
			if (told == 0)
				CHECK(ARMCI_Put(&v, place_of(reader, 2) + FIRST, 8, reader) == 0);
			else if (told == 1)
				CHECK(ARMCI_Rmw(ARMCI_SWAP_LONG, &v, place_of(reader, 2) + FIRST, 0,
						reader) == 0);
			else
				CHECK(ARMCI_PutValueLong(v, place_of(reader, 2) + FIRST, reader) ==
				      0);
		}
		if (me == reader) {
			await_flag(flag[reader]);
			CHECK(get_value(home, 3, (int)draw_below(READS)) == value[home]);
		}
		ARMCI_Barrier();
	}
	free(value);
	free(flag);
}

/* Data, then a flag, to the same process: no fence. */
static void data_comes_before_its_flag(int rounds)
{
	int to = (me + 1) % n, from = (me + n - 1) % n, round, seen;

	clear_places();
	for (round = 1; round <= rounds; round++) {
		long v = round % LAST, was = (round - 1) % LAST, *here = place_of(me, 4);
		static char patch[1000];
		int near = 10, far = 20, count[2] = {10, 100};

		put_value(to, 4, v, was, (int)draw_below(WRITES));
		CHECK(armci_notify(to) == round);
		CHECK(armci_notify_wait(from, &seen) >= round && seen == round);
		CHECK(((volatile long *)here)[FIRST] == v && ((volatile long *)here)[SECOND] == v);
		armci_msg_barrier();
		memset(patch, (int)v, sizeof(patch));
		CHECK(ARMCI_PutS_flag(patch, &near, place_of(to, 5), &far, count, 1,
				      (int *)(place_of(to, 2) + FIRST), round, to) == 0);
		await_flag(round);
		CHECK(((volatile char *)place_of(me, 5))[0] == (char)v &&
		      ((volatile char *)place_of(me, 5))[99 * 20 + 9] == (char)v);
		armci_msg_barrier();
	}
}

/*
 * x = 1, fence, read y against y = 1, fence, read x: at least one process sees the other's write.
 */
static void crossed_writes_are_seen_by_one(int rounds)
{
	int round, x, y, result[2];

	for (round = 0; round < rounds; round++) {
		x = (int)drv_rng_below(&common, (uint64_t)n);
		y = (int)drv_rng_below(&common, (uint64_t)n);
		clear_places();
		result[0] = result[1] = 1;
		if (me < 2 && n > 1) {
			put_value(me ? y : x, 6 + me, 1, 0, (int)draw_below(WRITES));
			ARMCI_Fence(me ? y : x);
			result[me] = (int)get_value(me ? x : y, 7 - me, (int)draw_below(READS));
		}
		armci_msg_igop(result, 2, "min");
		CHECK(result[0] || result[1]);
	}
}

/* Writes under a mutex are visible to the next holder, without a fence by the program. */
static void locked_writes_are_seen(int rounds)
{
	int round, host = n / 2, home = n - 1;
	long v;

	clear_places();
	CHECK(ARMCI_Create_mutexes(me == host) == 0);
	for (round = 0; round < rounds / 10 + 2 && (long)n * round < LAST - n; round++) {
		ARMCI_Lock(0, host);
		v = get_value(home, 0, (int)draw_below(READS));
		put_value(home, 0, v + 1, v, (int)draw_below(WRITES));
		ARMCI_Unlock(0, host);
	}
	ARMCI_Barrier();
	CHECK(get_value(home, 0, 0) == (long)n * round);
	CHECK(ARMCI_Destroy_mutexes() == 0);
}

/* All processes fence and meet: then all see all writes. */
static void writes_are_seen_after_a_meeting(int rounds)
{
	int round, p;

	clear_places();
	for (round = 1; round <= rounds && round < LAST; round++) {
		for (p = 0; p < n && me < PLACES; p++)
			put_value((me + p) % n, me, round, round - 1, (int)draw_below(WRITES));
		ARMCI_AllFence();
		armci_msg_barrier();
		for (p = 0; p < n && p < PLACES; p++) {
			CHECK(get_value((me + p) % n, p, (int)draw_below(READS)) == round);
			CHECK(((volatile long *)place_of(me, p))[SECOND] == round);
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
	own_writes_are_seen(rounds);
	values_never_go_back(rounds);
	fenced_data_is_seen_with_its_flag(rounds);
	data_comes_before_its_flag(rounds);
	crossed_writes_are_seen_by_one(rounds);
	locked_writes_are_seen(rounds);
	writes_are_seen_after_a_meeting(rounds);
	ARMCI_Barrier();
	CHECK(ARMCI_Free(mem[me]) == 0);
	free(mem);
	if (me == 0)
		printf("%d rounds, seed %llu\n", rounds, (unsigned long long)seed);
	rc = check_report("litmus");
	ARMCI_Finalize();
	return rc;
}
