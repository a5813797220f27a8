/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARMCI as array libraries use it: parts of zero bytes, handles reused round and round, a test in a
 * loop, flags that a process spins on, a fence for each member, a counter at a process that
 * computes.
 */
#include <armci.h>

#include "tests/guests/guest.h"

static int me, nproc;

static void zero_bytes_here_and_there(void)
{
	void **p = calloc((size_t)nproc, sizeof *p), **q = calloc((size_t)nproc, sizeof *q);

	for (int i = 0; i < 5; i++) {
		/* Only the last process asks for memory, then only the first. */
		CHECK(!ARMCI_Malloc(p, me == nproc - 1 ? 8 : 0));
		CHECK(!ARMCI_Malloc(q, me == 0 ? 64 : 0));
		CHECK(!ARMCI_Free(p[me]));
		CHECK(!ARMCI_Free(q[me]));
	}
	CHECK(!ARMCI_Malloc(p, 0));
	CHECK(!ARMCI_Free(p[me]));
	free(p);
	free(q);
}

static void counter_of_the_last(void)
{
	void **p = calloc((size_t)nproc, sizeof *p);
	long mine = 0, got, sum;

	CHECK(!ARMCI_Malloc(p, me == nproc - 1 ? 8 : 0));
	if (me == nproc - 1)
		*(long *)p[me] = 0;
	ARMCI_Barrier();
	for (;;) {
		volatile double x = 1;

		ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &got, p[nproc - 1], 1, nproc - 1);
		if (got >= 300)
			break;
		mine++;
		for (int k = 0; k < 1000; k++)
			x = x * 1.0001;
	}
	sum = mine;
	armci_msg_lgop(&sum, 1, "+");
	CHECK(sum == 300);
	ARMCI_Barrier();
	ARMCI_Free(p[me]);
	free(p);
}

static void owner_computes(void)
{
	/* The counter's owner computes and calls nothing until all others are through. */
	void **p = calloc((size_t)nproc, sizeof *p);
	long got;

	CHECK(!ARMCI_Malloc(p, 128));
	((long *)p[me])[0] = ((long *)p[me])[1] = 0;
	ARMCI_Barrier();
	if (me == 0) {
		volatile long *finished = (long *)p[0] + 1;

		while (atomic_load_acquire(finished) < nproc - 1)
			;
		CHECK(((long *)p[0])[0] == 30L * (nproc - 1));
	} else {
		for (int i = 0; i < 30; i++)
			ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &got, p[0], 1, 0);
		ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &got, (long *)p[0] + 1, 1, 0);
	}
	ARMCI_Barrier();
	ARMCI_Free(p[me]);
	free(p);
}

static void patches_of_several_owners(void)
{
	/* Non-blocking for all owners but one, blocking for the last; handles are used again. */
	enum { N = 16, LINE = 20 };
	static armci_hdl_t handles[N];
	void **p = calloc((size_t)nproc, sizeof *p);
	double local[LINE][LINE], back[LINE][LINE];
	int ls[1] = {sizeof local[0]}, rs[1] = {LINE * sizeof(double)};
	int count[2] = {(LINE - nproc % LINE) * (int)sizeof(double), LINE - 3}, next = 0;

	CHECK(!ARMCI_Malloc(p, (armci_size_t)nproc * LINE * LINE * sizeof(double)));
	for (int i = 0; i < LINE * LINE; i++)
		local[i / LINE][i % LINE] = me * 1000 + i;
	for (int round = 0; round < 10; round++) {
		int used[64], n = 0;

		for (int k = 0; k < nproc; k++) {
			int to = (me + k) % nproc;
			double *there = (double *)p[to] + me * LINE * LINE;

			if (k == nproc - 1) {
				ARMCI_PutS(local, ls, there, rs, count, 1, to);
			} else {
				ARMCI_INIT_HANDLE(&handles[next]);
				ARMCI_NbPutS(local, ls, there, rs, count, 1, to, &handles[next]);
				used[n++] = next;
				next = (next + 1) % N;
			}
		}
		while (n-- > 0)
			ARMCI_Wait(&handles[used[n]]);
		for (int k = 0; k < nproc; k++) { /* no fence: earlier writes are seen */
			double *there = (double *)p[k] + me * LINE * LINE;

			memset(back, 0, sizeof back);
			ARMCI_GetS(there, rs, back, ls, count, 1, k);
			CHECK(back[3][2] == local[3][2]);
			CHECK(back[LINE - 4][0] == local[LINE - 4][0]);
		}
		local[3][2] += 1;
	}
	for (int k = 0; k < nproc; k++)
		ARMCI_Fence(k);
	armci_msg_barrier();
	ARMCI_Free(p[me]);
	free(p);
}

static void test_in_a_loop(void)
{
	void **p = calloc((size_t)nproc, sizeof *p);
	static char local[100000];

	CHECK(!ARMCI_Malloc(p, sizeof local));
	for (int i = 0; i < 20; i++) {
		armci_hdl_t h;
		volatile double x = 1;

		ARMCI_INIT_HANDLE(&h);
		ARMCI_NbGet(p[(me + 1) % nproc], local, sizeof local, (me + 1) % nproc, &h);
		while (ARMCI_Test(&h))
			for (int k = 0; k < 100; k++)
				x = x * 1.0001;
	}
	ARMCI_Barrier();
	ARMCI_Free(p[me]);
	free(p);
}

static void tests_of_nothing(void)
{
	armci_hdl_t h;

	ARMCI_INIT_HANDLE(&h);
	for (int i = 0; i < 2000; i++) {
		CHECK(ARMCI_Test(&h) == 0);
		CHECK(ARMCI_Wait(&h) == 0);
		ARMCI_WaitAll();
	}
	CHECK(ARMCI_Wait(NULL) == 0);
	CHECK(ARMCI_Test(NULL) == 0);
	for (int i = 0; i < 500; i++) {
		ARMCI_AllFence();
		for (int k = 0; k < nproc; k++)
			ARMCI_Fence(k);
	}
	ARMCI_Barrier();
}

static void spin_on_a_flag(void)
{
	/* Ghost cells: neighbours put and set a flag; the owner spins on it and calls nothing. */
	void **p = calloc((size_t)nproc, sizeof *p);
	double edge[50];
	int stride[1] = {sizeof(double)}, count[2] = {sizeof(double), 50},
	    dense[1] = {sizeof(double)};
	int right = (me + 1) % nproc;
	volatile int *flag;

	CHECK(!ARMCI_Malloc(p, 4096));
	flag = (int *)((char *)p[me] + 2048);
	*flag = 0;
	ARMCI_Barrier();
	for (int round = 1; round <= 20; round++) {
		for (int i = 0; i < 50; i++)
			edge[i] = round * 100 + i;
		ARMCI_PutS_flag(edge, dense, p[right], stride, count, 1,
				(int *)((char *)p[right] + 2048), round, right);
		while (atomic_load_acquire(flag) < round)
			;
		CHECK(((double *)p[me])[49] >= round * 100 + 49);
		ARMCI_Barrier();
	}
	ARMCI_Free(p[me]);
	free(p);
}

static void mutex_without_a_fence(void)
{
	void **p = calloc((size_t)nproc, sizeof *p);
	int v;

	CHECK(!ARMCI_Malloc(p, 64));
	CHECK(!ARMCI_Create_mutexes(me == 0 ? 1 : 0));
	*(int *)p[me] = 0;
	ARMCI_Barrier();
	for (int i = 0; i < 20; i++) {
		ARMCI_Lock(0, 0);
		ARMCI_Get(p[0], &v, sizeof v, 0);
		v++;
		ARMCI_Put(&v, p[0], sizeof v, 0);
		ARMCI_Unlock(0, 0);
	}
	ARMCI_Barrier();
	if (me == 0)
		CHECK(*(int *)p[0] == 20 * nproc);
	ARMCI_Barrier();
	ARMCI_Destroy_mutexes();
	ARMCI_Free(p[me]);
	free(p);
}

static void many_handles(void)
{
	enum { N = 1024 };
	static armci_hdl_t h[N];
	static long values[N];
	void **p = calloc((size_t)nproc, sizeof *p);
	int to = (me + 1) % nproc;

	CHECK(!ARMCI_Malloc(p, N * sizeof(long)));
	for (int i = 0; i < N; i++) {
		values[i] = i * 3 + me;
		ARMCI_INIT_HANDLE(&h[i]);
		ARMCI_NbPut(&values[i], (long *)p[to] + i, sizeof(long), to, &h[i]);
	}
	for (int i = N; i-- > 0;)
		ARMCI_Wait(&h[i]);
	for (int i = 0; i < N; i++) /* the implicit handle */
		ARMCI_NbPut(&values[i], (long *)p[to] + i, sizeof(long), to, NULL);
	ARMCI_WaitAll();
	ARMCI_Barrier();
	for (int i = 0; i < N; i++)
		CHECK(((long *)p[me])[i] == i * 3 + (me + nproc - 1) % nproc);
	ARMCI_Barrier();
	ARMCI_Free(p[me]);
	free(p);
}

static void groups_of_one_and_more(void)
{
	for (int i = 0; i < 10; i++) {
		ARMCI_Group g, halves;
		int *list = malloc((size_t)nproc * sizeof *list), n = 0, size = 0, x = 1;

		ARMCI_Group_create(1, &me, &g); /* each process another list */
		ARMCI_Group_size(&g, &size);
		CHECK(size == 1);
		for (int k = 0; k < 30; k++)
			armci_msg_group_barrier(&g);
		armci_msg_group_igop(&x, 1, "+", &g);
		CHECK(x == 1);
		for (int k = me % 2; k < nproc; k += 2)
			list[n++] = k;
		ARMCI_Group_create(n, list, &halves);
		armci_msg_group_igop(&x, 1, "+", &halves);
		CHECK(x == n);
		ARMCI_Group_free(&halves);
		ARMCI_Group_free(&g);
		free(list);
	}
	ARMCI_Barrier();
}

static void send_to_itself_first(void)
{
	char out[5000], in[5000];
	int n = 0;

	memset(out, me, sizeof out);
	armci_msg_snd(9, out, sizeof out, me);
	armci_msg_rcv(9, in, sizeof in, &n, me);
	CHECK(n == (int)sizeof in && !memcmp(in, out, sizeof in));
	armci_msg_snd(10, NULL, 0, (me + 1) % nproc);
	armci_msg_rcv(10, NULL, 0, NULL, (me + nproc - 1) % nproc);
	ARMCI_Barrier();
}

int main(int argc, char **argv)
{
	ARMCI_Set_shm_limit(1UL << 30);
	if (ARMCI_Init())
		return 1;
	me = armci_msg_me();
	nproc = armci_msg_nproc();

	CASE(zero_bytes_here_and_there, "Only some processes ask for memory, and all free it.");
	CASE(counter_of_the_last, "Work comes from a counter at the last process.");
	CASE(owner_computes, "A counter's owner spins on memory while the others count.");
	CASE(patches_of_several_owners,
	     "All owners but one without blocking, handles round and round.");
	CASE(test_in_a_loop, "A program computes between tests.");
	CASE(tests_of_nothing, "A program waits and fences with nothing under way.");
	CASE(spin_on_a_flag, "A process spins on a flag that its neighbour puts.");
	CASE(mutex_without_a_fence, "Lock, get, put and unlock, without a fence.");
	CASE(many_handles, "A thousand puts, each with a handle.");
	CASE(groups_of_one_and_more,
	     "A group for each process alone, made and freed again and again.");
	CASE(send_to_itself_first, "A process sends to itself before it receives.");

	ARMCI_Barrier();
	ARMCI_Finalize();
	ARMCI_Finalize(); /* a layer above ends once more */
	ARMCI_Cleanup();
	return check_failures != 0;
}
