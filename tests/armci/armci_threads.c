/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads of each process call ARMCI at the same time: every kind of transfer, fences,
 * waits, read-modify-write, mutexes, messages and local memory. One more thread allocates and frees
 * collectively meanwhile. Each thread has a slot of its own at every process, which it writes,
 * reads back and checks. Sums, counters and a counter behind a mutex are shared and checked at the
 * end.
 *
 *   armci_threads THREADS ROUNDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <armcix.h>

#include "tests/armci/armci_memory.h"

enum { SLOT = 1 << 15, SUMS = 64, PIECES = 8, PIECE = 48, TAG = 100 };

/* At every process, before the slots. */
struct shared {
	long counter;     /* ARMCI_Rmw */
	long guarded;     /* read and written under mutex 0 of this process */
	long swapped;     /* ARMCIX_Compare_and_swap */
	double sum[SUMS]; /* ARMCI_Acc, ARMCI_AccS */
};

struct worker {
	pthread_t thread;
	int number;
	unsigned seed;
};

static int threads, rounds;

static struct shared *shared_of(int proc)
{
	return mem[proc];
}

static char *slot_of(const struct worker *w, int proc)
{
	return (char *)mem[proc] + 4096 + (size_t)(me * threads + w->number) * SLOT;
}

/* Bytes that differ by process, thread and call. */
static void fill_bytes(struct worker *w, void *to, size_t bytes)
{
	unsigned char *p = to;
	size_t i;

	w->seed = w->seed * 1664525u + 1013904223u;
	for (i = 0; i < bytes; i++)
		p[i] = (unsigned char)((w->seed >> 16) + i * 7);
}

static void move_contiguous(struct worker *w, int proc, size_t bytes)
{
	static _Thread_local char out[SLOT], in[SLOT];
	char *slot = slot_of(w, proc);
	armci_hdl_t h, g;

	fill_bytes(w, out, bytes);
	CHECK(ARMCI_Put(out, slot, (int)bytes, proc) == 0);
	CHECK(ARMCI_Get(slot, in, (int)bytes, proc) == 0);
	CHECK(!memcmp(out, in, bytes));
	fill_bytes(w, out, bytes);
	ARMCI_INIT_HANDLE(&h);
	ARMCI_INIT_HANDLE(&g);
	CHECK(ARMCI_NbPut(out, slot, (int)bytes, proc, &h) == 0);
	CHECK(ARMCI_Wait(&h) == 0);
	ARMCI_Fence(proc);
	CHECK(ARMCI_NbGet(slot, in, (int)bytes, proc, &g) == 0);
	while (ARMCI_Test(&g) == 1)
		;
	CHECK(!memcmp(out, in, bytes));
}

/* PIECES pieces: small ones that travel packed, or long ones by RDMA. */
static void move_patches(struct worker *w, int proc, int piece)
{
	static _Thread_local char out[SLOT / 2], in[SLOT / 2];
	int local = piece, remote = 2 * piece, count[2] = {piece, PIECES}, i;
	void *from[PIECES], *to[PIECES], *back[PIECES];
	armci_giov_t put = {from, to, piece, PIECES}, get = {to, back, piece, PIECES};
	char *slot = slot_of(w, proc);
	armci_hdl_t h;

	fill_bytes(w, out, (size_t)(piece * PIECES));
	CHECK(ARMCI_PutS(out, &local, slot, &remote, count, 1, proc) == 0);
	CHECK(ARMCI_GetS(slot, &remote, in, &local, count, 1, proc) == 0);
	CHECK(!memcmp(out, in, (size_t)(piece * PIECES)));
	for (i = 0; i < PIECES; i++) {
		from[i] = out + i * piece;
		back[i] = in + i * piece;
		to[i] = slot + (PIECES - 1 - i) * 2 * piece;
	}
	fill_bytes(w, out, (size_t)(piece * PIECES));
	CHECK(ARMCI_PutV(&put, 1, proc) == 0);
	ARMCI_INIT_HANDLE(&h);
	CHECK(ARMCI_NbGetV(&get, 1, proc, &h) == 0);
	CHECK(ARMCI_Wait(&h) == 0);
	CHECK(!memcmp(out, in, (size_t)(piece * PIECES)));
}

static void put_collected(struct worker *w, int proc)
{
	long out[PIECES], in[PIECES];
	long *slot = (long *)slot_of(w, proc);
	armci_hdl_t h;
	int i;

	fill_bytes(w, out, sizeof(out));
	ARMCI_INIT_HANDLE(&h);
	ARMCI_SET_AGGREGATE_HANDLE(&h);
	for (i = 0; i < PIECES; i++)
		CHECK(ARMCI_NbPut(&out[i], &slot[2 * i], sizeof(long), proc, &h) == 0);
	CHECK(ARMCI_Wait(&h) == 0);
	ARMCI_UNSET_AGGREGATE_HANDLE(&h);
	for (i = 0; i < PIECES; i++)
		in[i] = ARMCI_GetValueLong(&slot[2 * i], proc);
	CHECK(!memcmp(out, in, sizeof(out)));
	CHECK(ARMCI_PutValueLong(in[0] + 1, slot, proc) == 0);
	CHECK(ARMCI_GetValueLong(slot, proc) == in[0] + 1);
	CHECK(ARMCI_NbPutValueLong(in[0] + 2, slot, proc, NULL) == 0);
	CHECK(ARMCI_WaitProc(proc) == 0);
	CHECK(ARMCI_GetValueLong(slot, proc) == in[0] + 2);
}

static void add_sums(struct worker *w, int proc)
{
	double one = 1.0, half = 0.5, data[SUMS];
	int stride = 2 * sizeof(double), dense = sizeof(double),
	    count[2] = {sizeof(double), SUMS / 2}, i;
	long old = -1, swap, seen;

	for (i = 0; i < SUMS; i++)
		data[i] = 2.0;
	CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &half, data, shared_of(proc)->sum, sizeof(data), proc) == 0);
	for (i = 0; i < SUMS; i++)
		data[i] = 1.0;
	CHECK(ARMCI_AccS(ARMCI_ACC_DBL, &one, data, &dense, shared_of(proc)->sum, &stride, count, 1,
			 proc) == 0);
	CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, &shared_of(proc)->counter, 1, proc) == 0);
	CHECK(old >= 0 && old < (long)n * threads * rounds);
	do {
		CHECK(ARMCI_Get(&shared_of(proc)->swapped, &seen, sizeof(seen), proc) == 0);
		old = seen;
		swap = seen + 1;
		CHECK(ARMCIX_Compare_and_swap(ARMCI_SWAP_LONG, &old, &swap,
					      &shared_of(proc)->swapped, proc) == 0);
	} while (old != seen);
}

static void count_guarded(struct worker *w, int proc)
{
	long value = -1;

	ARMCI_Lock(0, proc);
	CHECK(ARMCI_Get(&shared_of(proc)->guarded, &value, sizeof(value), proc) == 0);
	value++;
	CHECK(ARMCI_Put(&value, &shared_of(proc)->guarded, sizeof(value), proc) == 0);
	ARMCI_Unlock(0, proc);
}

/* Threads of equal number send around a ring of the processes. */
static void pass_messages(struct worker *w, int round)
{
	int out[2] = {me, round}, in[2] = {-1, -1}, bytes = 0;

	armci_msg_snd(TAG + w->number, out, sizeof(out), (me + 1) % n);
	armci_msg_rcv(TAG + w->number, in, sizeof(in), &bytes, (me + n - 1) % n);
	CHECK(bytes == sizeof(in) && in[0] == (me + n - 1) % n && in[1] == round);
}

/* Thread 0 alone: allocate and free while the other threads transfer. */
static void allocate_and_free(struct worker *w)
{
	void *part[64], *local = ARMCI_Malloc_local(4096);

	CHECK(local != NULL);
	CHECK(ARMCI_Malloc(part, 8192) == 0);
	memset(local, me + 1, 4096);
	CHECK(ARMCI_Put(local, part[(me + 1) % n], 4096, (me + 1) % n) == 0);
	ARMCI_Barrier();
	CHECK(*(char *)part[me] == (me + n - 1) % n + 1);
	CHECK(ARMCI_Free_local(local) == 0);
	ARMCI_AllFence();
	CHECK(ARMCI_WaitAll() == 0);
	CHECK(ARMCI_Free(part[me]) == 0);
}

/* Thread 1 waits in a call for something that thread 0 does only after many calls of its own. */
static void block_in_call(struct worker *w, int round)
{
	int word = round, i;

	if (threads < 2 || w->number > 1)
		return;
	if (w->number == 1) {
		armci_msg_rcv(TAG - 1, &word, sizeof(word), NULL, me);
		CHECK(word == round);
		return;
	}
	for (i = 0; i < n; i++) {
		move_contiguous(w, i, 64);
		move_patches(w, i, PIECE);
	}
	armci_msg_snd(TAG - 1, &word, sizeof(word), me);
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;
	int round, k;

	for (round = 0; round < rounds; round++) {
		block_in_call(w, round);
		for (k = 0; k < n; k++) {
			int proc = (me + k + w->number) % n;

			move_contiguous(w, proc, 64);
			move_contiguous(w, proc, SLOT);
			move_patches(w, proc, PIECE);
			move_patches(w, proc, 2048);
			put_collected(w, proc);
			add_sums(w, proc);
			count_guarded(w, proc);
		}
		pass_messages(w, round);
		if (w->number == 0 && round % 4 == 0)
			allocate_and_free(w);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker *worker;
	long all;
	int i;

	if (argc != 3 || (threads = atoi(argv[1])) < 1 || (rounds = atoi(argv[2])) < 1) {
		fprintf(stderr, "usage: armci_threads THREADS ROUNDS\n");
		return 2;
	}
	ARMCI_Init_thread(3 /* MPI_THREAD_MULTIPLE */);
	me = armci_msg_me();
	n = armci_msg_nproc();
	memory_open(4096 + (size_t)n * (size_t)threads * SLOT);
	CHECK(sizeof(struct shared) <= 4096 && ARMCI_Create_mutexes(1) == 0);
	worker = calloc((size_t)threads, sizeof(*worker));
	CHECK(worker != NULL);
	for (i = 0; i < threads; i++) {
		worker[i].number = i;
		worker[i].seed = (unsigned)(me * threads + i);
		CHECK(pthread_create(&worker[i].thread, NULL, run_worker, &worker[i]) == 0);
	}
	for (i = 0; i < threads; i++)
		pthread_join(worker[i].thread, NULL);
	free(worker);
	ARMCI_Barrier();
	all = (long)n * threads * rounds;
	CHECK(shared_of(me)->counter == all);
	CHECK(shared_of(me)->guarded == all);
	CHECK(shared_of(me)->swapped == all);
	for (i = 0; i < SUMS; i++)
		CHECK(shared_of(me)->sum[i] == (i % 2 ? (double)all : 2.0 * (double)all));
	CHECK(ARMCI_Destroy_mutexes() == 0);
	memory_close();
	i = check_report("armci_threads");
	ARMCI_Finalize();
	return i;
}
