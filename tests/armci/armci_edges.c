/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The edge cases of every call: nothing to move, all levels of patches, strides forward, backward
 * and zero, the same place many times, each wrong argument by itself. A wrong call is refused with
 * an error and has no effect.
 */
#include <stdlib.h>
#include <string.h>

#include <armcix.h>
#include <message.h>

#include "tests/armci/armci_memory.h"

static int next;

static double *own_word(int word)
{
	return (double *)mem[me] + word;
}

static double *word_of_next(int word)
{
	return (double *)mem[next] + word;
}

/* ---- all levels ---- */

enum { LEVELS = ARMCI_MAX_STRIDE_LEVEL, ITEMS = 1 << LEVELS };

/* A patch of n levels with two items each, strides in no order, some of them backward. */
static void move_levels(int n_levels, int backwards)
{
	static double source[ITEMS * 3], back[ITEMS * 3], sum[ITEMS * 3];
	int near[LEVELS], far[LEVELS], count[LEVELS + 1] = {8}, k, i, items = 1 << n_levels;
	double scale = 3, *first = word_of_next(0);
	armci_hdl_t h;

	for (k = 0; k < n_levels; k++) {
		near[k] = 8 << k;
		far[k] = 3 * (8 << k);
		count[k + 1] = 2;
		if (backwards >> k & 1) {
			first += far[k] / 8;
			far[k] = -far[k];
		}
	}
	for (i = 0; i < items; i++)
		source[i] = 1000 * n_levels + i;
	ARMCI_INIT_HANDLE(&h);
	CHECK(ARMCI_PutS(source, near, first, far, count, n_levels, next) == 0);
	CHECK(ARMCI_GetS(first, far, back, near, count, n_levels, next) == 0);
	CHECK(!memcmp(source, back, (size_t)items * 8));
	CHECK(ARMCI_AccS(ARMCI_ACC_DBL, &scale, source, near, first, far, count, n_levels, next) ==
	      0);
	CHECK(ARMCI_NbGetS(first, far, sum, near, count, n_levels, next, &h) == 0 &&
	      ARMCI_Wait(&h) == 0);
	for (i = 0; i < items; i++)
		CHECK(sum[i] == 4 * source[i]);
	for (i = 0; i < items; i++) { /* Check the pieces one by one. */
		double *p = first, v;

		for (k = 0; k < n_levels; k++)
			p += (i >> k & 1) * (far[k] / 8);
		v = ARMCI_GetValueDouble(p, next);
		CHECK(v == 4 * source[i]);
	}
	memset(back, 0, sizeof(back));
	armci_write_strided(sum, n_levels, near, count, (char *)back);
	CHECK(!memcmp(sum, back, (size_t)items * 8));
	memset(sum, 0, sizeof(sum));
	armci_read_strided(sum, n_levels, near, count, (char *)back);
	CHECK(!memcmp(sum, back, (size_t)items * 8));
}

static void all_levels(void)
{
	int n_levels;

	for (n_levels = 0; n_levels <= LEVELS; n_levels++) {
		move_levels(n_levels, 0);
		move_levels(n_levels, (1 << n_levels) - 1);
		move_levels(n_levels, 0xa5);
	}
	ARMCI_Barrier();
}

/* ---- the same place many times ---- */

static void overlapping_accumulates_add(void)
{
	enum { TIMES = 300 };
	static double ones[TIMES];
	double one = 1, half = 0.5;
	int near = 8, none = 0, some = 8, count[2] = {8, TIMES}, wide[2] = {32, 10}, i, k, want;
	void *from[TIMES], *to[TIMES];
	armci_giov_t g = {from, to, 8, TIMES};
	armci_hdl_t h;

	memset(mem[me], 0, 8192);
	ARMCI_Barrier();
	for (i = 0; i < TIMES; i++) {
		ones[i] = 1;
		from[i] = &ones[i];
		to[i] = word_of_next(0);
	}
	ARMCI_INIT_HANDLE(&h);
	CHECK(ARMCI_AccS(ARMCI_ACC_DBL, &one, ones, &near, word_of_next(0), &none, count, 1,
			 next) == 0);
	CHECK(ARMCI_AccV(ARMCI_ACC_DBL, &one, &g, 1, next) == 0);
	CHECK(ARMCI_NbAccV(ARMCI_ACC_DBL, &half, &g, 1, next, &h) == 0 && ARMCI_Wait(&h) == 0);
	CHECK(ARMCI_GetValueDouble(word_of_next(0), next) == 2.5 * TIMES);
	/* Rows of four words; each row starts one word after the previous one. */
	CHECK(ARMCI_AccS(ARMCI_ACC_DBL, &one, ones, &near, word_of_next(10), &some, wide, 1,
			 next) == 0);
	ARMCI_Fence(next);
	ARMCI_Barrier();
	for (k = 0; k < 13; k++) {
		want = k < 4 ? k + 1 : k > 9 ? 13 - k : 4;
		CHECK(*own_word(10 + k) == want);
	}
	CHECK(*own_word(9) == 0 && *own_word(23) == 0);
	/* One source for all pieces: a stride of zero at this side. */
	CHECK(ARMCI_PutS(&half, &none, word_of_next(100), &near, count, 1, next) == 0);
	ARMCI_Barrier();
	for (k = 0; k < TIMES; k++)
		CHECK(*own_word(100 + k) == 0.5);
	CHECK(*own_word(99) == 0 && *own_word(100 + TIMES) == 0);
	ARMCI_Barrier();
}

/* ---- nothing to move ---- */

static void empty_transfers_do_nothing(void)
{
	double v = 7, one = 1;
	int stride = 8, none[3][2] = {{0, 4}, {8, 0}, {0, 0}}, i;
	void *p[1] = {&v}, *q[1] = {word_of_next(0)};
	armci_giov_t put[3] = {{p, q, 0, 1}, {p, q, 8, 0}, {NULL, NULL, 0, 0}},
		     get[2] = {{q, p, 0, 1}, {q, p, 8, 0}};
	armci_hdl_t h;

	*own_word(0) = 3;
	ARMCI_Barrier();
	ARMCI_INIT_HANDLE(&h);
	CHECK(ARMCI_Put(&v, word_of_next(0), 0, next) == 0 &&
	      ARMCI_Get(word_of_next(0), &v, 0, next) == 0);
	CHECK(ARMCI_Put(NULL, NULL, 0, next) == 0 &&
	      ARMCI_Acc(ARMCI_ACC_DBL, &one, &v, word_of_next(0), 0, next) == 0);
	CHECK(ARMCI_NbPut(&v, word_of_next(0), 0, next, &h) == 0 &&
	      ARMCI_NbGet(word_of_next(0), &v, 0, next, &h) == 0);
	CHECK(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, &v, word_of_next(0), 0, next, NULL) == 0);
	for (i = 0; i < 3; i++) {
		CHECK(ARMCI_PutS(&v, &stride, word_of_next(0), &stride, none[i], 1, next) == 0);
		CHECK(ARMCI_GetS(word_of_next(0), &stride, &v, &stride, none[i], 1, next) == 0);
		CHECK(ARMCI_AccS(ARMCI_ACC_DBL, &one, &v, &stride, word_of_next(0), &stride,
				 none[i], 1, next) == 0);
		CHECK(ARMCI_NbPutS(&v, &stride, word_of_next(0), &stride, none[i], 1, next, &h) ==
		      0);
		CHECK(ARMCI_NbGetS(word_of_next(0), &stride, &v, &stride, none[i], 1, next, &h) ==
		      0);
		CHECK(ARMCI_NbAccS(ARMCI_ACC_DBL, &one, &v, &stride, word_of_next(0), &stride,
				   none[i], 1, next, &h) == 0);
	}
	CHECK(ARMCI_PutV(put, 3, next) == 0 && ARMCI_GetV(get, 2, next) == 0);
	CHECK(ARMCI_AccV(ARMCI_ACC_DBL, &one, put, 3, next) == 0 && ARMCI_PutV(NULL, 0, next) == 0);
	CHECK(ARMCI_NbPutV(put, 3, next, &h) == 0 && ARMCI_NbGetV(get, 2, next, &h) == 0);
	CHECK(ARMCI_NbAccV(ARMCI_ACC_DBL, &one, put, 3, next, &h) == 0);
	CHECK(ARMCI_Test(&h) == 0 && ARMCI_Wait(&h) == 0 && ARMCI_WaitProc(next) == 0);
	ARMCI_SET_AGGREGATE_HANDLE(&h);
	CHECK(ARMCI_NbPut(&v, word_of_next(0), 0, next, &h) == 0 && ARMCI_Test(&h) == 0 &&
	      ARMCI_Wait(&h) == 0);
	ARMCI_UNSET_AGGREGATE_HANDLE(&h);
	ARMCI_Copy(&v, &one, 0);
	armci_msg_igop(&stride, 0, "+");
	armci_msg_bcast(&stride, 0, 0);
	ARMCI_Barrier();
	CHECK(*own_word(0) == 3 && v == 7 && stride == 8 && one == 1);
	ARMCI_Barrier();
}

/* ---- wrong arguments ---- */

/* Each form with one process that does not exist, one negative length, one NULL address. */
static void wrong_scalars(void)
{
	static const int no_process[] = {-1, -1000, 1 << 20};
	double v = 7, one = 1, complex_one[2] = {1, 0};
	int stride = 8, count[2] = {8, 4}, bad[2] = {8, -4}, shorter[2] = {-8, 4}, flag = 0, k;
	void *p[2] = {&v, NULL}, *q[2] = {word_of_next(0), word_of_next(1)};
	armci_giov_t good = {p, q, 8, 1}, list = {p, q, 8, 2}, less = {p, q, 8, -1},
		     neg = {p, q, -8, 1};
	armci_hdl_t h;

	ARMCI_INIT_HANDLE(&h);
	for (k = 0; k < 4; k++) {
		int no = k < 3 ? no_process[k] : n;

		CHECK(ARMCI_Put(&v, word_of_next(0), 8, no) == FAIL5 &&
		      ARMCI_Get(word_of_next(0), &v, 8, no) == FAIL5);
		CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &one, &v, word_of_next(0), 8, no) == FAIL5);
		CHECK(ARMCI_PutS(&v, &stride, word_of_next(0), &stride, count, 1, no) == FAIL5);
		CHECK(ARMCI_GetS(word_of_next(0), &stride, &v, &stride, count, 1, no) == FAIL5);
		CHECK(ARMCI_AccS(ARMCI_ACC_DBL, &one, &v, &stride, word_of_next(0), &stride, count,
				 1, no) == FAIL5);
		CHECK(ARMCI_PutV(&good, 1, no) == FAIL5 && ARMCI_GetV(&good, 1, no) == FAIL5);
		CHECK(ARMCI_AccV(ARMCI_ACC_DBL, &one, &good, 1, no) == FAIL5);
		CHECK(ARMCI_NbPut(&v, word_of_next(0), 8, no, &h) == FAIL5 &&
		      ARMCI_NbGet(word_of_next(0), &v, 8, no, NULL) == FAIL5);
		CHECK(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, &v, word_of_next(0), 8, no, &h) == FAIL5);
		CHECK(ARMCI_NbPutS(&v, &stride, word_of_next(0), &stride, count, 1, no, &h) ==
		      FAIL5);
		CHECK(ARMCI_NbGetS(word_of_next(0), &stride, &v, &stride, count, 1, no, &h) ==
		      FAIL5);
		CHECK(ARMCI_NbAccS(ARMCI_ACC_DBL, &one, &v, &stride, word_of_next(0), &stride,
				   count, 1, no, &h) == FAIL5);
		CHECK(ARMCI_NbPutV(&good, 1, no, &h) == FAIL5 &&
		      ARMCI_NbGetV(&good, 1, no, &h) == FAIL5);
		CHECK(ARMCI_NbAccV(ARMCI_ACC_DBL, &one, &good, 1, no, &h) == FAIL5);
		CHECK(ARMCI_PutValueInt(1, word_of_next(0), no) == FAIL5 &&
		      ARMCI_PutValueLong(1, word_of_next(0), no) == FAIL5);
		CHECK(ARMCI_PutValueFloat(1, word_of_next(0), no) == FAIL5 &&
		      ARMCI_PutValueDouble(1, word_of_next(0), no) == FAIL5);
		CHECK(ARMCI_NbPutValueInt(1, word_of_next(0), no, &h) == FAIL5 &&
		      ARMCI_NbPutValueDouble(1, word_of_next(0), no, &h) == FAIL5);
		CHECK(ARMCI_Put_flag(&v, word_of_next(0), 8, (int *)word_of_next(1), 1, no) ==
		      FAIL5);
		CHECK(ARMCI_PutS_flag(&v, &stride, word_of_next(0), &stride, count, 1,
				      (int *)word_of_next(1), 1, no) == FAIL5);
		CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &flag, word_of_next(0), 1, no) == FAIL5);
		CHECK(ARMCI_WaitProc(no) == FAIL5);
		CHECK(ARMCIX_Is_dead(no) == 0);
	}
	CHECK(ARMCI_Put(&v, word_of_next(0), -1, next) == FAIL3 &&
	      ARMCI_NbGet(word_of_next(0), &v, -8, next, &h) == FAIL3);
	CHECK(ARMCI_PutS(&v, &stride, word_of_next(0), &stride, bad, 1, next) == FAIL3);
	CHECK(ARMCI_GetS(word_of_next(0), &stride, &v, &stride, shorter, 1, next) == FAIL3);
	CHECK(ARMCI_NbAccS(ARMCI_ACC_DBL, &one, &v, &stride, word_of_next(0), &stride, bad, 1, next,
			   &h) == FAIL3);
	CHECK(ARMCI_PutV(&neg, 1, next) == FAIL3 && ARMCI_GetV(&less, 1, next) == FAIL4 &&
	      ARMCI_PutV(&good, -1, next) == FAIL4);
	CHECK(ARMCI_PutV(NULL, 1, next) == FAIL && ARMCI_PutV(&list, 1, next) == FAIL);
	CHECK(ARMCI_PutS(&v, &stride, word_of_next(0), &stride, count, -1, next) == FAIL4);
	CHECK(ARMCI_GetS(word_of_next(0), &stride, &v, &stride, count, LEVELS + 1, next) == FAIL4);
	CHECK(ARMCI_PutS(&v, &stride, word_of_next(0), NULL, count, 1, next) == FAIL2);
	CHECK(ARMCI_PutS(&v, &stride, word_of_next(0), &stride, NULL, 1, next) == FAIL2);
	CHECK(ARMCI_Put(NULL, word_of_next(0), 8, next) == FAIL &&
	      ARMCI_NbPut(NULL, word_of_next(0), 8, next, &h) == FAIL);
	CHECK(ARMCI_Get(word_of_next(0), NULL, 8, next) == FAIL);
	/* kinds of accumulate */
	CHECK(ARMCI_Acc(ARMCI_ACC_OFF, &one, &v, word_of_next(0), 8, next) == FAIL);
	CHECK(ARMCI_Acc(ARMCI_ACC_RA + 1, &one, &v, word_of_next(0), 8, next) == FAIL);
	CHECK(ARMCI_Acc(ARMCI_ACC_DBL, NULL, &v, word_of_next(0), 8, next) == FAIL);
	CHECK(ARMCI_Acc(ARMCI_ACC_DCP, complex_one, &v, word_of_next(0), 8, next) == FAIL3);
	count[0] = 12;
	CHECK(ARMCI_AccS(ARMCI_ACC_DBL, &one, &v, &stride, word_of_next(0), &stride, count, 1,
			 next) == FAIL3);
	good.bytes = 6;
	CHECK(ARMCI_AccV(ARMCI_ACC_FLT, &one, &good, 1, next) == FAIL3);
	CHECK(ARMCI_Wait(&h) == 0 && ARMCI_WaitAll() == 0);
	CHECK(v == 7 && flag == 0);
}

/* A set with a NULL address after a valid one: the valid set is not moved either. */
static void wrong_later(void)
{
	double v = 7, one = 1;
	void *near[2] = {&v, NULL}, *far[2] = {word_of_next(0), word_of_next(1)};
	armci_giov_t put[2] = {{near, far, 8, 1}, {near, far, 8, 2}},
		     get[2] = {{far, near, 8, 1}, {far, near, 8, 2}};
	armci_hdl_t h;

	ARMCI_INIT_HANDLE(&h);
	CHECK(ARMCI_PutValueDouble(5, word_of_next(0), next) == 0);
	CHECK(ARMCI_PutV(put, 2, next) == FAIL && ARMCI_NbPutV(put, 2, next, &h) == FAIL);
	CHECK(ARMCI_AccV(ARMCI_ACC_DBL, &one, put, 2, next) == FAIL);
	CHECK(ARMCI_NbAccV(ARMCI_ACC_DBL, &one, put, 2, next, &h) == FAIL);
	CHECK(ARMCI_GetV(get, 2, next) == FAIL && ARMCI_NbGetV(get, 2, next, &h) == FAIL);
	CHECK(ARMCI_Wait(&h) == 0 && ARMCI_WaitAll() == 0);
	ARMCI_Fence(next);
	CHECK(v == 7 && ARMCI_GetValueDouble(word_of_next(0), next) == 5);
	ARMCI_Barrier();
}

/* Handles that name nothing: never set up, complete, copied before the wait. */
static void wrong_handles_are_refused(void)
{
	armci_hdl_t h, old, junk;
	double v = 9, got = 0;

	memset(&junk, 0x5a, sizeof(junk));
	CHECK(ARMCI_Wait(&junk) == 0 && ARMCI_Test(&junk) == 0);
	ARMCI_INIT_HANDLE(&h);
	CHECK(ARMCI_Wait(&h) == 0 && ARMCI_Test(&h) == 0);
	CHECK(ARMCI_NbPut(&v, word_of_next(600), 8, next, &h) == 0);
	old = h;
	CHECK(ARMCI_Wait(&h) == 0 && ARMCI_Wait(&old) == 0 && ARMCI_Test(&old) == 0);
	/* `old` does not name the new operation. */
	CHECK(ARMCI_NbGet(word_of_next(600), &got, 8, next, &h) == 0 && ARMCI_Wait(&old) == 0);
	CHECK(ARMCI_Wait(&h) == 0 && got == 9);
	CHECK(ARMCI_Wait(NULL) == 0 && ARMCI_Test(NULL) == 0);
}

/* Unlocking a mutex that the caller does not hold has no effect, here or at the owner. */
static void unlock_others(void)
{
	long old;

	CHECK(ARMCI_Create_mutexes(1) == 0);
	ARMCI_Unlock(0, next);
	ARMCI_Fence(next);
	ARMCI_Barrier();
	ARMCI_Lock(0, 0);
	ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, (long *)mem[0] + 5000, 1, 0);
	ARMCI_Unlock(0, 0);
	ARMCI_Barrier();
	CHECK(me || ((long *)mem[0])[5000] == n);
	CHECK(ARMCI_Destroy_mutexes() == 0);
}

static void calls_without_data(void)
{
	ARMCI_Group world;
	int count = 0, x = 1, rank = -7;
	void *p[64];

	CHECK(ARMCI_Create_mutexes(-1) != 0);
	CHECK(ARMCI_Create_mutexes(0) == 0 && ARMCI_Destroy_mutexes() == 0);
	CHECK(ARMCIX_Destroy_mutexes_hdl(NULL) == FAIL);
	CHECK(ARMCI_Malloc_local(-1) == NULL && ARMCI_Free_local(&x) == FAIL);
	CHECK(ARMCI_Malloc(NULL, 8) == FAIL && ARMCI_Malloc(p, -8) == FAIL3);
	ARMCI_Group_get_world(&world);
	CHECK(ARMCI_Malloc_group(p, -8, &world) == FAIL3);
	CHECK(ARMCI_Absolute_id(&world, n) == -1 && ARMCI_Absolute_id(&world, -1) == -1);
	CHECK(ARMCI_Group_rank(&world, &rank) == 0 && rank == me);
	ARMCI_Fence(me);
	ARMCI_AllFence();
	ARMCI_GroupFence(NULL);
	armci_msg_snd(1, &x, 0, me);
	armci_msg_rcv(1, NULL, 0, &count, me);
	CHECK(count == 0);
	CHECK(ARMCIX_Counter(NULL) == -1 && ARMCIX_Counter_name(-1) == NULL);
	ARMCI_Barrier();
}

int main(void)
{
	int rc;

	if (ARMCI_Init())
		return 1;
	me = armci_msg_me();
	n = armci_msg_nproc();
	next = (me + 1) % n;
	memory_open(1 << 20);
	all_levels();
	overlapping_accumulates_add();
	empty_transfers_do_nothing();
	wrong_scalars();
	wrong_later();
	wrong_handles_are_refused();
	unlock_others();
	calls_without_data();
	memory_close();
	rc = check_report("edges");
	ARMCI_Finalize();
	return rc;
}
