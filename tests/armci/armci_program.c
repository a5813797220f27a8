/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls every function of libarmci with any number of processes. armci_program CASE ... runs the
 * named cases; without arguments, all cases that end well. tests/armci/armci.sh starts it.
 */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <armcix.h>

#include "tests/armci/armci_memory.h"

static int next, prev;

/* ---- cases ---- */

static void case_start(void)
{
	int i, sum = 1;
	double d = me, most = me;
	long l = me + 1;
	int word[3] = {me, -me, 7};

	CHECK(ARMCI_Initialized() != 0);
	CHECK(ARMCI_Init() == 0 && ARMCI_Finalize() == 0); /* Init and Finalize are counted. */
	CHECK(ARMCI_Initialized() != 0);
	ARMCI_Cleanup();
	armci_msg_igop(&sum, 1, "+");
	CHECK(sum == n);
	armci_msg_dgop(&d, 1, "+");
	CHECK(d == n * (n - 1) / 2.0);
	armci_msg_dgop(&most, 1, "max  trailing text");
	CHECK(most == n - 1);
	armci_msg_lgop(&l, 1, "*");
	for (i = 1; i <= n; i++)
		l = l % i ? -1 : l / i;
	CHECK(l == 1);
	armci_msg_igop(word, 3, "absmax");
	CHECK(word[0] == n - 1 && word[1] == n - 1 && word[2] == 7);
	for (i = 0; i < n; i++) {
		int v = me == i ? 1000 + i : 0;

		armci_msg_bcast(&v, (int)sizeof(v), i);
		CHECK(v == 1000 + i);
	}
	CHECK(armci_timer() <= armci_timer());
	armci_msg_barrier();
}

static void case_malloc(void)
{
	void *a[64], *b[64], *c[64];
	void *local = ARMCI_Malloc_local(1000), *none = ARMCI_Malloc_local(0);
	int i, round;

	CHECK(local && ARMCI_Free_local(local) == 0);
	CHECK(ARMCI_Free_local(none) == 0 && ARMCI_Free_local(NULL) == 0);
	CHECK(n <= 64);
	for (round = 0; round < 10; round++) {
		/* Only one process has memory. */
		CHECK(ARMCI_Malloc(a, me == 0 ? 100000 : 0) == 0);
		CHECK(ARMCI_Malloc(b, me == n - 1 ? 8 : 0) == 0);
		/* All processes have memory, of different lengths. */
		CHECK(ARMCI_Malloc(c, 16 * (me + 1)) == 0);
		for (i = 0; i < n; i++) {
			CHECK((a[i] != NULL) == (i == 0) && (b[i] != NULL) == (i == n - 1) &&
			      c[i] != NULL);
			CHECK((uintptr_t)c[i] % 16 == 0);
		}
		CHECK(ARMCI_PutValueInt(me + round, (int *)a[0] + me, 0) == 0);
		CHECK(ARMCI_PutValueInt(-me, (int *)c[next] + 3, next) == 0);
		ARMCI_Barrier();
		CHECK(ARMCI_GetValueInt((int *)a[0] + next, 0) == next + round);
		CHECK(((int *)c[me])[3] == -prev);
		ARMCI_Barrier();
		/* Free in any order; NULL where a process asked for nothing. */
		CHECK(ARMCI_Free(b[me]) == 0);
		CHECK(ARMCI_Free(a[me]) == 0);
		CHECK(ARMCI_Free(c[me]) == 0);
	}
	CHECK(ARMCI_Malloc(a, 0) == 0 && a[me] == NULL && ARMCI_Free(a[me]) == 0);
	CHECK(ARMCI_Malloc(NULL, 1) == FAIL);
	CHECK(ARMCI_Malloc(a, -1) == FAIL3);
}

static void case_contig(void)
{
	static const int sizes[] = {1,   2,   7,   8,   31,   32,   33,   63,    64,
				    127, 500, 512, 513, 1000, 4096, 4097, 65537, 1000003};
	size_t bytes = 2000000, i, k;
	char *out = malloc(bytes), *back = malloc(bytes),
	     *reg = ARMCI_Malloc_local((armci_size_t)bytes);

	CHECK(out && back && reg);
	memory_open(bytes);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int s = sizes[i];
		size_t at = i * 5 % 64; /* also at odd offsets */

		for (k = 0; k < (size_t)s; k++)
			out[k] = (char)(k * 7 + i + (size_t)me);
		memset(back, 0, (size_t)s);
		CHECK(ARMCI_Put(out, (char *)mem[next] + at, s, next) == 0);
		memset(out, 0xee, (size_t)s); /* Local completion: the buffer may be reused. */
		/* Order O1: no fence. */
		CHECK(ARMCI_Get((char *)mem[next] + at, back, s, next) == 0);
		for (k = 0; k < (size_t)s && back[k] == (char)(k * 7 + i + (size_t)me); k++)
			;
		CHECK(k == (size_t)s);
		memcpy(reg, back, (size_t)s);
		CHECK(ARMCI_Put(reg, (char *)mem[next] + at + 1, s, next) == 0);
		CHECK(ARMCI_Get((char *)mem[next] + at + 1, reg + 64, s, next) == 0);
		CHECK(!memcmp(reg + 64, back, (size_t)s));
		ARMCI_Barrier();
		CHECK(((char *)mem[me])[at + 1] == (char)(i + (size_t)prev));
		ARMCI_Barrier();
	}
	/* Transfer to the caller itself, and with the local side in ARMCI memory. */
	memset(mem[me], me + 1, 100);
	CHECK(ARMCI_Put(mem[me], (char *)mem[me] + 200, 100, me) == 0 &&
	      ((char *)mem[me])[299] == me + 1);
	CHECK(ARMCI_Put(mem[me], (char *)mem[next] + 1000, 100, next) == 0);
	ARMCI_Barrier();
	CHECK(((char *)mem[me])[1050] == prev + 1);
	/* wrong arguments */
	CHECK(ARMCI_Put(out, mem[next], 0, next) == 0);
	CHECK(ARMCI_Put(NULL, mem[next], 8, next) == FAIL);
	CHECK(ARMCI_Put(out, mem[next], -8, next) == FAIL3);
	CHECK(ARMCI_Put(out, mem[next], 8, n) == FAIL5 &&
	      ARMCI_Get(mem[next], out, 8, -1) == FAIL5);
	memory_close();
	ARMCI_Free_local(reg);
	free(out);
	free(back);
}

static void case_order(void)
{
	int i, got = 0;
	double one = 1, big[200], sum[200];
	int small = 0, k;

	memory_open(100000);
	/* Two puts to one place: the second one wins, and a get sees it. */
	for (i = 0; i < 500; i++) {
		ARMCI_PutValueInt(i, mem[next], next);
		ARMCI_PutValueInt(i + 1000, mem[next], next);
		ARMCI_Get(mem[next], &got, 4, next);
		CHECK(got == i + 1000);
	}
	/*
	 * Puts of many kinds, accumulates of many kinds and gets take effect in program order
	 * without a fence.
	 */
	for (i = 0; i < 50; i++) {
		int stride = 16, count[2] = {8, 200};
		void *from[200], *to[200];
		armci_giov_t g = {from, to, 8, 200};
		char *at = (char *)mem[next] + 512;

		for (k = 0; k < 200; k++) {
			big[k] = i + k;
			from[k] = &big[k];
			to[k] = at + 16 * k;
		}
		small = 8;
		ARMCI_PutS(big, &small, at, &stride, count, 1, next);
		ARMCI_AccV(ARMCI_ACC_DBL, &one, &g, 1, next);
		ARMCI_AccS(ARMCI_ACC_DBL, &one, big, &small, at, &stride, count, 1, next);
		ARMCI_Acc(ARMCI_ACC_DBL, &one, big, at, 8, next);
		ARMCI_GetS(at, &stride, sum, &small, count, 1, next);
		for (k = 0; k < 200; k++)
			CHECK(sum[k] == (k ? 3.0 : 4.0) * (i + k));
		ARMCI_Put(big + 3, at, 8, next);
		CHECK(ARMCI_GetValueDouble(at, next) == i + 3);
	}
	/* A read-modify-write sees a put, and a get sees the read-modify-write. */
	for (i = 0; i < 100; i++) {
		long old = 0;

		ARMCI_PutValueLong(i, (char *)mem[next] + 8, next);
		ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, (char *)mem[next] + 8, 5, next);
		CHECK(old == i && ARMCI_GetValueLong((char *)mem[next] + 8, next) == i + 5);
	}
	memory_close();
}

static void case_acc(void)
{
	int p, k, i = 2;
	long l = 3;
	float f = 0.5f, cf[2] = {1, 2};
	double d = 0.25, cd[2] = {2, -1};
	struct block {
		int i[64];
		long l[64];
		float f[64];
		double d[64];
		float complex c[64];
		double complex z[64];
		long x[64];
	} *mine = calloc(1, sizeof(*mine)), *there;

	memory_open(sizeof(*mine));
	for (k = 0; k < 64; k++) {
		mine->i[k] = k + me;
		mine->l[k] = mine->x[k] = k * 1000000007l + me;
		mine->f[k] = (float)(k + me);
		mine->d[k] = k + me;
		mine->c[k] = CMPLXF((float)k, (float)me);
		mine->z[k] = CMPLX(k, me);
	}
	for (p = 0; p < n; p++) { /* Every process puts to every process at once. */
		there = mem[p];
		CHECK(ARMCI_Acc(ARMCI_ACC_INT, &i, mine->i, there->i, sizeof(mine->i), p) == 0);
		CHECK(ARMCI_Acc(ARMCI_ACC_LNG, &l, mine->l, there->l, sizeof(mine->l), p) == 0);
		CHECK(ARMCI_Acc(ARMCI_ACC_FLT, &f, mine->f, there->f, sizeof(mine->f), p) == 0);
		CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &d, mine->d, there->d, sizeof(mine->d), p) == 0);
		CHECK(ARMCI_Acc(ARMCI_ACC_CPL, cf, mine->c, there->c, sizeof(mine->c), p) == 0);
		CHECK(ARMCI_Acc(ARMCI_ACC_DCP, cd, mine->z, there->z, sizeof(mine->z), p) == 0);
		CHECK(ARMCI_Acc(ARMCI_ACC_RA, NULL, mine->x, there->x, sizeof(mine->x), p) == 0);
	}
	ARMCI_Barrier();
	there = mem[me];
	for (k = 0; k < 64; k++) {
		int si = 0;
		long sl = 0, sx = 0;
		double sf = 0;
		double complex sc = 0, sz = 0;

		for (p = 0; p < n; p++) {
			si += 2 * (k + p);
			sl += 3 * (k * 1000000007l + p);
			sx ^= k * 1000000007l + p;
			sf += k + p;
			sc += CMPLX(1, 2) * CMPLX(k, p);
			sz += CMPLX(2, -1) * CMPLX(k, p);
		}
		CHECK(there->i[k] == si && there->l[k] == sl && there->x[k] == sx);
		CHECK(there->f[k] == (float)(0.5 * sf) && there->d[k] == 0.25 * sf);
		CHECK(there->c[k] == (float complex)sc && there->z[k] == sz);
	}
	CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &d, mine->d, there->d, 12, next) == FAIL3);
	CHECK(ARMCI_Acc(99, &d, mine->d, there->d, 8, next) == FAIL);
	memory_close();
	free(mine);
}

/* All processes accumulate to overlapping ranges of all shapes, long enough for many messages. */
static void case_overlap(void)
{
	enum { LEN = 60000 };
	double one = 1, *src = malloc(LEN * sizeof(double));
	int p, k, round, bad = 0;
	void **from = malloc(LEN / 4 * sizeof(void *)), **to = malloc(LEN / 4 * sizeof(void *));

	memory_open(LEN * sizeof(double));
	for (k = 0; k < LEN; k++)
		src[k] = 1;
	for (round = 0; round < 3; round++)
		for (p = 0; p < n; p++) {
			double *there = mem[(me + p) % n];
			int proc = (me + p) % n, stride[2] = {16, 16 * 1000},
			    count[3] = {8, 1000, LEN / 2000};
			armci_giov_t g = {from, to, 8, LEN / 4};

			CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &one, src, there, LEN * 8, proc) == 0);
			CHECK(ARMCI_AccS(ARMCI_ACC_DBL, &one, src, stride, there, stride, count, 2,
					 proc) == 0);
			for (k = 0; k < LEN / 4; k++) {
				from[k] = src + k;
				to[k] = there + 4 * k;
			}
			CHECK(ARMCI_AccV(ARMCI_ACC_DBL, &one, &g, 1, proc) == 0);
		}
	ARMCI_Barrier();
	for (k = 0; k < LEN; k++)
		bad += ((double *)mem[me])[k] != 3.0 * n * (1 + (k % 2 == 0) + (k % 4 == 0));
	CHECK(bad == 0);
	memory_close();
	free(src);
	free(from);
	free(to);
}

static void case_strided(void)
{
	enum { SIDE = 48 };
	int stride[2] = {SIDE, SIDE * SIDE}, dense[2] = {10, 10 * 6}, count[3] = {10, 6, 4},
	    zero[3] = {10, 0, 4};
	int back[2] = {-SIDE, SIDE * SIDE};
	char patch[240], got[240], all[240];
	int i, j, k;

	memory_open(SIDE * SIDE * SIDE);
	for (i = 0; i < 240; i++)
		patch[i] = (char)(i + me);
	CHECK(ARMCI_PutS(patch, dense, (char *)mem[next] + 5, stride, count, 2, next) == 0);
	CHECK(ARMCI_GetS((char *)mem[next] + 5, stride, got, dense, count, 2, next) == 0);
	CHECK(!memcmp(patch, got, 240));
	ARMCI_Barrier();
	for (i = 0; i < 4; i++)
		for (j = 0; j < 6; j++)
			for (k = 0; k < 10; k++)
				CHECK(((char *)mem[me])[5 + i * SIDE * SIDE + j * SIDE + k] ==
				      (char)(i * 60 + j * 10 + k + prev));
	CHECK(((char *)mem[me])[4] == 0 && ((char *)mem[me])[15] == 0);
	/* Negative strides: rows from the last to the first. */
	CHECK(ARMCI_GetS((char *)mem[next] + 5 + 5 * SIDE, back, all, dense, count, 2, next) == 0);
	for (i = 0; i < 4; i++)
		for (j = 0; j < 6; j++)
			CHECK(!memcmp(all + i * 60 + j * 10, patch + i * 60 + (5 - j) * 10, 10));
	ARMCI_Barrier();
	/* No levels, nothing to do, wrong arguments. */
	CHECK(ARMCI_PutS(patch, NULL, mem[next], NULL, count, 0, next) == 0);
	CHECK(ARMCI_PutS(patch, dense, mem[next], stride, zero, 2, next) == 0);
	CHECK(ARMCI_PutS(patch, dense, mem[next], stride, count, 9, next) == FAIL4);
	CHECK(ARMCI_PutS(patch, NULL, mem[next], stride, count, 2, next) == FAIL2);
	CHECK(ARMCI_GetS(mem[next], stride, NULL, dense, count, 2, next) == FAIL);
	CHECK(ARMCI_GetS(mem[next], stride, got, dense, count, 2, n) == FAIL5);
	count[1] = -1;
	CHECK(ARMCI_GetS(mem[next], stride, got, dense, count, 2, next) == FAIL3);
	memory_close();
}

/* Patches longer than a message, with pieces shorter and longer than the switch to RDMA. */
static void case_long_patches(void)
{
	static const int pieces[] = {8, 200, 1024, 5000, 300000};
	size_t bytes = 4000000, i, k;
	char *out = malloc(bytes), *got = malloc(bytes);

	memory_open(bytes);
	for (k = 0; k < bytes; k++)
		out[k] = (char)(k * 31 >> 4);
	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		int piece = pieces[i], far = 2 * piece,
		    count[2] = {piece, (int)(bytes / 2 / (size_t)piece)};
		armci_hdl_t h;

		memset(got, 0, bytes);
		ARMCI_INIT_HANDLE(&h);
		CHECK(ARMCI_NbPutS(out, &piece, mem[next], &far, count, 1, next, &h) == 0);
		CHECK(ARMCI_Wait(&h) == 0);
		CHECK(ARMCI_NbGetS(mem[next], &far, got, &piece, count, 1, next, &h) == 0);
		CHECK(ARMCI_Wait(&h) == 0);
		CHECK(!memcmp(got, out, (size_t)piece * (size_t)count[1]));
	}
	memory_close();
	free(out);
	free(got);
}

static void case_vector(void)
{
	enum { LEN = 3000 };
	void *src[LEN], *dst[LEN], *from[LEN], *to[LEN];
	double in[LEN], out[LEN];
	int k, p, bad;
	armci_giov_t put[3] = {
	    {src, dst, 8, LEN / 2}, {src, dst, 0, LEN}, {src + LEN / 2, dst + LEN / 2, 8, LEN / 2}};
	armci_giov_t get = {from, to, 8, LEN};
	void **second = calloc((size_t)n, sizeof(*second));

	memory_open(LEN * 16);
	CHECK(ARMCI_Malloc(second, LEN * 16) == 0); /* One call moves data of two allocations. */
	for (p = 0; p < n; p++) {
		for (k = 0; k < LEN; k++) {
			in[k] = me * 10000 + k;
			src[k] = &in[k];
			dst[k] = (char *)(k % 3 ? mem[p] : second[p]) + 16 * k;
			from[k] = dst[k];
			to[k] = &out[k];
		}
		if (p != next)
			continue;
		CHECK(ARMCI_PutV(put, 3, p) == 0);
		CHECK(ARMCI_GetV(&get, 1, p) == 0);
		for (bad = k = 0; k < LEN; k++)
			bad += out[k] != in[k];
		CHECK(bad == 0);
	}
	ARMCI_Barrier();
	for (bad = k = 0; k < LEN; k++)
		bad += ((double *)(k % 3 ? mem[me] : second[me]))[2 * k] != prev * 10000 + k;
	CHECK(bad == 0);
	CHECK(ARMCI_PutV(put, 0, next) == 0);
	CHECK(ARMCI_PutV(put, -1, next) == FAIL4);
	CHECK(ARMCI_GetV(&get, 1, n) == FAIL5);
	put[0].bytes = -1;
	CHECK(ARMCI_PutV(put, 1, next) == FAIL3);
	put[0].bytes = 8;
	put[0].src_ptr_array = NULL;
	CHECK(ARMCI_PutV(put, 1, next) == FAIL2);
	ARMCI_Barrier();
	CHECK(ARMCI_Free(second[me]) == 0);
	free(second);
	memory_close();
}

static void case_nonblocking(void)
{
	enum { FLOOD = 1024 };
	armci_hdl_t *h = calloc(FLOOD, sizeof(*h)), one;
	int *value = malloc(FLOOD * sizeof(int)), *got = calloc(FLOOD, sizeof(int)), k, bad, tests;

	memory_open(FLOOD * 16);
	for (k = 0; k < FLOOD; k++) { /* that many handles at once */
		value[k] = me * FLOOD + k;
		ARMCI_INIT_HANDLE(&h[k]);
		CHECK(ARMCI_NbPut(&value[k], (int *)mem[next] + k, 4, next, &h[k]) == 0);
	}
	for (k = 0; k < FLOOD; k++)
		CHECK(ARMCI_Wait(&h[k]) == 0 && ARMCI_Wait(&h[k]) == 0 && ARMCI_Test(&h[k]) == 0);
	ARMCI_INIT_HANDLE(&one);
	for (k = 0; k < FLOOD; k++) /* Many operations share one handle. */
		CHECK(ARMCI_NbGet((int *)mem[next] + k, &got[k], 4, next, &one) == 0);
	for (tests = 0; ARMCI_Test(&one); tests++)
		;
	for (bad = k = 0; k < FLOOD; k++)
		bad += got[k] != value[k];
	CHECK(bad == 0);
	/* The implicit handle, values, and a fence that completes them. */
	for (k = 0; k < 100; k++)
		CHECK(ARMCI_NbPutValueDouble(k + me, (double *)mem[next] + 1000 + k, next, NULL) ==
		      0);
	CHECK(ARMCI_NbPutValueInt(5, (char *)mem[next] + 4 * FLOOD, next, &one) == 0);
	CHECK(ARMCI_NbPutValueLong(6, (char *)mem[next] + 4 * FLOOD + 8, next, &one) == 0);
	CHECK(ARMCI_NbPutValueFloat(7, (char *)mem[next] + 4 * FLOOD + 16, next, &one) == 0);
	CHECK(ARMCI_Wait(&one) == 0 && ARMCI_WaitProc(next) == 0 && ARMCI_WaitAll() == 0);
	ARMCI_Fence(next);
	CHECK(ARMCI_GetValueInt((char *)mem[next] + 4 * FLOOD, next) == 5);
	CHECK(ARMCI_GetValueLong((char *)mem[next] + 4 * FLOOD + 8, next) == 6);
	CHECK(ARMCI_GetValueFloat((char *)mem[next] + 4 * FLOOD + 16, next) == 7);
	ARMCI_Barrier();
	for (k = 0; k < 100; k++)
		CHECK(((double *)mem[me])[1000 + k] == k + prev);
	CHECK(ARMCI_Wait(NULL) == 0 && ARMCI_Test(NULL) == 0);
	memory_close();
	free(h);
	free(value);
	free(got);
}

static void case_aggregate(void)
{
	enum { LEN = 1000 };
	double value[LEN], got[LEN];
	armci_hdl_t h;
	int k, bad;

	memory_open(LEN * 64);
	ARMCI_INIT_HANDLE(&h);
	ARMCI_SET_AGGREGATE_HANDLE(&h);
	for (k = 0; k < LEN; k++) {
		value[k] = me + k;
		if (k % 3)
			CHECK(ARMCI_NbPut(&value[k], (char *)mem[next] + 64 * k, 8, next, &h) == 0);
		else
			CHECK(ARMCI_NbPutValueDouble(value[k], (char *)mem[next] + 64 * k, next,
						     &h) == 0);
		CHECK(ARMCI_NbPutValueInt(k, (char *)mem[next] + 64 * k + 8, next, &h) == 0);
	}
	CHECK(ARMCI_Wait(&h) == 0);
	for (k = 0; k < LEN; k++)
		CHECK(ARMCI_NbGet((char *)mem[next] + 64 * k, &got[k], 8, next, &h) == 0);
	CHECK(ARMCI_GetValueDouble(mem[next], next) == me); /* while a collection is open */
	ARMCI_UNSET_AGGREGATE_HANDLE(&h);
	for (bad = k = 0; k < LEN; k++)
		bad += got[k] != value[k];
	CHECK(bad == 0);
	ARMCI_SET_AGGREGATE_HANDLE(&h);
	CHECK(ARMCI_NbPut(&value[5], mem[next], 8, next, &h) == 0);
	/* A transfer of the other direction is sent on its own. */
	CHECK(ARMCI_NbGet((char *)mem[next] + 640, got, 8, next, &h) == 0);
	ARMCI_Barrier(); /* This completes both. */
	CHECK(ARMCI_Test(&h) == 0 && got[0] == value[10]);
	CHECK(((double *)mem[me])[0] == prev + 5);
	for (bad = k = 0; k < LEN; k++)
		bad += ((int *)mem[me])[16 * k + 2] != k;
	CHECK(bad == 0);
	memory_close();
}

static void case_rmw(void)
{
	int p, k, rounds = 200, *seen = calloc((size_t)(n * rounds), sizeof(int)), tickets = 0;
	long swapped = -1;

	memory_open(64 * (size_t)n);
	for (k = 0; k < rounds; k++)
		for (p = 0; p < n; p++) {
			int old = -1;
			long lold = -1;

			CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &old, mem[p], 1, p) == 0);
			CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &lold, (long *)mem[p] + 1, -3,
					p) == 0);
			CHECK(old >= 0 && old < n * rounds && lold % 3 == 0 && lold <= 0);
			if (p == 0)
				seen[old]++; /* Each process draws different tickets. */
		}
	ARMCI_Barrier();
	CHECK(((int *)mem[me])[0] == n * rounds && ((long *)mem[me])[1] == -3l * n * rounds);
	armci_msg_igop(seen, n * rounds, "+");
	for (k = 0; k < n * rounds; k++)
		tickets += seen[k] == 1;
	CHECK(tickets == n * rounds);
	/* Swap: each value that was stored comes out once. */
	for (k = 0; k < 20; k++) {
		long v = 1 + me * 20 + k;
		int i = me;

		CHECK(ARMCI_Rmw(ARMCI_SWAP_LONG, &v, (long *)mem[0] + 2, 0, 0) == 0);
		CHECK(ARMCI_Rmw(ARMCI_SWAP, &i, (int *)mem[0] + 6, 99, 0) == 0 && i >= 0 && i < n);
		swapped += v;
	}
	ARMCI_Barrier();
	if (me == 0)
		swapped += ((long *)mem[0])[2];
	armci_msg_lgop(&swapped, 1, "+");
	CHECK(swapped == -n + 20l * n * (20l * n + 1) / 2);
	CHECK(ARMCI_Rmw(ARMCI_SWAP, NULL, mem[0], 0, 0) == FAIL &&
	      ARMCI_Rmw(ARMCI_SWAP, seen, mem[0], 0, n) == FAIL5);
	memory_close();
	free(seen);
}

static void case_mutex(void)
{
	int p, k, rounds = 30;

	memory_open(1024);
	CHECK(ARMCI_Create_mutexes(me % 2 ? 0 : 3) == 0); /* Some processes host no mutex. */
	for (k = 0; k < rounds; k++)
		for (p = 0; p < n; p += 2) {
			int m = k % 3, proc = (me / 2 * 2 + p) % n / 2 * 2;
			long v = 0;

			ARMCI_Lock(m, proc);
			ARMCI_Get((long *)mem[proc] + m, &v, 8, proc);
			v += me + 1;
			ARMCI_Put(&v, (long *)mem[proc] + m, 8, proc);
			ARMCI_Unlock(m, proc); /* No fence: Unlock must complete the write. */
		}
	ARMCI_Barrier();
	if (me % 2 == 0) {
		long *sum = mem[me];

		CHECK(sum[0] + sum[1] + sum[2] == (long)rounds * n * (n + 1) / 2);
	}
	CHECK(ARMCI_Destroy_mutexes() == 0);
	CHECK(ARMCI_Create_mutexes(1) == 0);
	ARMCI_Lock(0, me);
	ARMCI_Unlock(0, me);
	CHECK(ARMCI_Destroy_mutexes() == 0);
	memory_close();
}

/* The MU of process 0 gives and takes mutexes that nobody else wants. */
static void case_mutex_by_mu(void)
{
	enum { ROUNDS = 20 };
	long before = ARMCIX_Counter("locks_by_mu");
	int k;

	if (!getenv("QT_ATOMICS"))
		return;
	memory_open(8 * (size_t)n);
	CHECK(ARMCI_Create_mutexes(n) == 0);
	for (k = 0; k < ROUNDS; k++) {
		long v = 0;

		ARMCI_Lock(me, 0);
		ARMCI_Get((long *)mem[0] + me, &v, 8, 0);
		v++;
		ARMCI_Put(&v, (long *)mem[0] + me, 8, 0);
		ARMCI_Unlock(me, 0);
	}
	CHECK_EQ(ARMCIX_Counter("locks_by_mu") - before, ROUNDS);
	ARMCI_Barrier();
	for (k = 0; !me && k < n; k++)
		CHECK_EQ(((long *)mem[0])[k], ROUNDS);
	CHECK(ARMCI_Destroy_mutexes() == 0);
	memory_close();
}

/*
 * Process 0 computes without a call until the other processes are done with it. Their puts, gets,
 * packed gets and puts, accumulates, counters and mutexes of process 0 must all complete meanwhile.
 */
static void case_progress(void)
{
	enum { LEN = 500 };
	int *flag;
	double one = 1, src[LEN], got[LEN], spin = 1;
	void *from[LEN], *to[LEN];
	int k, old = 0;

	memory_open(LEN * 16 * (size_t)n + 64);
	CHECK(ARMCI_Create_mutexes(1) == 0);
	flag = (int *)((char *)mem[me] + LEN * 16 * (size_t)n);
	if (me == 0) {
		while (atomic_load_acquire(flag) < n - 1)
			spin = spin * 1.0000001 + 1e-9;
	} else {
		char *at = (char *)mem[0] + LEN * 16 * me;
		armci_giov_t put = {from, to, 8, LEN}, get = {to, from, 8, LEN};

		for (k = 0; k < LEN; k++) {
			src[k] = k + me;
			from[k] = &src[k];
			to[k] = at + 16 * k;
		}
		ARMCI_PutV(&put, 1, 0);
		ARMCI_AccV(ARMCI_ACC_DBL, &one, &put, 1, 0);
		for (k = 0; k < LEN; k++)
			from[k] = &got[k];
		ARMCI_GetV(&get, 1, 0);
		for (k = 0; k < LEN; k++)
			CHECK(got[k] == 2.0 * (k + me));
		ARMCI_Put(src, at, sizeof(src), 0);
		ARMCI_Acc(ARMCI_ACC_DBL, &one, src, at, sizeof(src), 0);
		ARMCI_Get(at, got, sizeof(got), 0);
		CHECK(got[7] == 2.0 * (7 + me));
		ARMCI_Lock(0, 0);
		ARMCI_Unlock(0, 0);
		ARMCI_Fence(0);
		ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &old, (char *)mem[0] + LEN * 16 * (size_t)n, 1, 0);
		CHECK(old >= 0 && old < n - 1);
	}
	CHECK(spin > 0);
	ARMCI_Barrier();
	CHECK(ARMCI_Destroy_mutexes() == 0);
	memory_close();
}

static const struct check_case cases[] = {
    {"start", case_start},
    {"malloc", case_malloc},
    {"contig", case_contig},
    {"order", case_order},
    {"acc", case_acc},
    {"overlap", case_overlap},
    {"strided", case_strided},
    {"long_patches", case_long_patches},
    {"vector", case_vector},
    {"nonblocking", case_nonblocking},
    {"aggregate", case_aggregate},
    {"rmw", case_rmw},
    {"mutex", case_mutex},
    {"mutex_by_mu", case_mutex_by_mu},
    {"progress", case_progress},
};

/* Calls that cannot return an error. */
static void crash_argument(const char *how)
{
	int list[2] = {me, me}, beyond = n, x = 0;
	ARMCI_Group g;

	if (!strcmp(how, "fence"))
		ARMCI_Fence(n);
	else if (!strcmp(how, "operation"))
		ARMCI_Rmw(99, &x, mem[0], 1, 0);
	else if (!strcmp(how, "odd-word"))
		ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &x, (char *)mem[0] + 1, 1, 0);
	else if (!strcmp(how, "group-twice"))
		ARMCI_Group_create(2, list, &g);
	else if (!strcmp(how, "group-rank"))
		ARMCI_Group_create(1, &beyond, &g);
	else if (!strcmp(how, "operator"))
		armci_msg_igop(&x, 1, "nonsense");
	else if (!strcmp(how, "notify"))
		armci_notify(-1);
}

/* Each of these cases must end the job with a message and a non-zero status. */
static void crash_job(const char *how)
{
	double d = 0;

	memory_open(64);
	if (me == n - 1) {
		if (!strcmp(how, "bad-address"))
			ARMCI_Get((char *)mem[0] + 60, &d, 8, 0);
		else if (!strcmp(how, "null-address"))
			ARMCI_Get(NULL, &d, 8, 0);
		else if (!strcmp(how, "error"))
			ARMCI_Error("on purpose", 0);
		else if (!strcmp(how, "free-twice"))
			ARMCI_Free(&d);
		else if (!strcmp(how, "mutex"))
			ARMCI_Lock(0, 0);
		else
			crash_argument(how);
	}
	ARMCI_Barrier();
	printf("still running after %s\n", how);
}

int main(int argc, char **argv)
{
	int rc;

	if (ARMCI_Init_args(&argc, &argv))
		return 1;
	me = armci_msg_me();
	n = armci_msg_nproc();
	next = (me + 1) % n;
	prev = (me + n - 1) % n;
	if (argc > 2 && !strcmp(argv[1], "crash")) {
		crash_job(argv[2]);
		ARMCI_Finalize();
		return 0;
	}
	rc = check_run(cases, sizeof(cases) / sizeof(cases[0]), argc > 1 ? argv[1] : NULL);
	ARMCI_Finalize();
	CHECK(ARMCI_Finalize() == 0 && ARMCI_Initialized() == 0);
	ARMCI_Cleanup();
	return rc;
}
