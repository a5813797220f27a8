/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that die while operations of others with them are outstanding (torus run --on-death
 * error). Processes 0 and 1 survive. Each other process in turn is the victim of one scenario: it
 * is stopped, so that it answers nothing more, operations start, and then it is killed. Every call
 * must return, with an error where it can return one, and the survivors must still be able to work
 * with each other.
 *
 *   armci_death far|near   near: the victims' memory is mapped, where transfers need no answer
 *   armci_death time       virtual time: the launcher kills process 2 at any moment
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <armci.h>
#include <armcix.h>
#include <message.h>

#include "tests/armci/armci_check.h"

enum { WORDS = 1 << 17, TAG_GO = 7, TAG_NEVER = 8, TAG_PID = 9, PART = 1000 };

static void *memory[64];
static long *mine, *local;
static int me, near;
static pid_t pids[64];
static ARMCI_Group pair, trio; /* groups: the survivors; the survivors and process 3 */

static long *word_at(int proc, int word)
{
	return (long *)memory[proc] + word;
}

/* Check a call that needs the victim. With `near`, its memory still works. */
static int has_failed(int rc)
{
	return rc == FAIL6 || (near && rc == 0);
}

static int has_ended(int rc)
{
	return rc == FAIL6 || rc == 0;
}

/* ---- how victims die ---- */

static void await_stop(int victim)
{
	char path[64], line[256] = "", *state = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pids[victim]);
	kill(pids[victim], SIGSTOP);
	do {
		f = fopen(path, "r");
		if (f && fgets(line, sizeof(line), f))
			state = strrchr(line, ')');
		if (f)
			fclose(f);
	} while (f && state && state[2] != 'T');
}

/* The moment varies a little; the result must not depend on it. */
static void *kill_later(void *arg)
{
	struct timespec t = {0, 20 * 1000000};

	nanosleep(&t, NULL);
	kill(*(pid_t *)arg, SIGKILL);
	return NULL;
}

static void condemn_victim(int victim)
{
	int go = 0;
	pthread_t thread;

	if (me == 1) {
		armci_msg_rcv(TAG_GO, &go, sizeof(go), NULL, 0);
		return;
	}
	await_stop(victim);
	armci_msg_snd(TAG_GO, &go, sizeof(go), 1);
	if (pthread_create(&thread, NULL, kill_later, &pids[victim]))
		exit(1);
	pthread_detach(thread);
}

/* ---- scenarios ---- */

static void barriers_end(int v)
{
	ARMCI_Barrier();
	CHECK(ARMCIX_Is_dead(v));
	armci_msg_barrier();
}

static void reductions_end(int v)
{
	int x = 1;
	void *none[64];

	armci_msg_group_igop(&x, 1, "+", &trio);
	CHECK(ARMCIX_Is_dead(v));
	CHECK(ARMCI_Malloc(none, 64) == FAIL6);
}

/* Atomics of the MU need no software of the victim (QT_ATOMICS), so they may succeed. */
static void rmw_ends(int v)
{
	long old = 0, wanted = 1;
	int add = ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, word_at(v, 0), 1, v);
	int swap = ARMCIX_Compare_and_swap(ARMCI_SWAP_LONG, &old, &wanted, word_at(v, 0), v);

	CHECK(has_failed(add) || (getenv("QT_ATOMICS") && has_ended(add)));
	CHECK(has_failed(swap) || (getenv("QT_ATOMICS") && has_ended(swap)));
}

/* Pieces too short for RDMA travel by messages. */
static int move_strided(int get, int v, armci_hdl_t *h)
{
	int theirs[2] = {64, 6400}, ours[2] = {64, 6400}, count[3] = {16, 100, 10};

	if (get)
		return h ? ARMCI_NbGetS(word_at(v, 0), theirs, local, ours, count, 2, v, h)
			 : ARMCI_GetS(word_at(v, 0), theirs, local, ours, count, 2, v);
	return h ? ARMCI_NbPutS(local, ours, word_at(v, 0), theirs, count, 2, v, h)
		 : ARMCI_PutS(local, ours, word_at(v, 0), theirs, count, 2, v);
}

static void packed_get(int v)
{
	CHECK(has_failed(move_strided(1, v, NULL)));
}

static void packed_get_handle(int v)
{
	armci_hdl_t h, other;
	int i, rc;

	ARMCI_INIT_HANDLE(&h);
	ARMCI_INIT_HANDLE(&other);
	for (i = 0; i < 5; i++)
		has_ended(move_strided(1, v, &h));
	move_strided(1, 1 - me, &other);
	CHECK(has_failed(ARMCI_Wait(&h)));
	CHECK(ARMCI_Wait(&h) == 0); /* The failure is reported once. */
	CHECK(ARMCI_Wait(&other) == 0);
	move_strided(1, v, &h);
	while ((rc = ARMCI_Test(&h)) == 1)
		;
	CHECK(has_ended(rc));
	move_strided(1, v, NULL);
	move_strided(1, v, &h);
	CHECK(has_ended(ARMCI_WaitProc(v)));
}

static void packed_put(int v)
{
	CHECK(has_ended(move_strided(0, v, NULL)));
	ARMCI_Fence(v);
	CHECK(near || ARMCIX_Is_dead(v));
}

/* more than a target may leave unacknowledged */
static void accumulates_end(int v)
{
	double one = 1;
	armci_hdl_t h;
	int i;

	ARMCI_INIT_HANDLE(&h);
	for (i = 0; i < 8; i++)
		CHECK(has_ended(
		    ARMCI_NbAcc(ARMCI_ACC_DBL, &one, local, word_at(v, 0), WORDS * 8 / 2, v, &h)));
	CHECK(has_ended(ARMCI_Wait(&h)));
	CHECK(has_ended(ARMCI_Acc(ARMCI_ACC_DBL, &one, local, word_at(v, 0), 800, v)));
	CHECK(has_ended(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, local, word_at(v, 0), 800, v, NULL)));
	CHECK(has_ended(ARMCI_WaitAll()));
	CHECK(ARMCI_WaitAll() == 0);
	ARMCI_AllFence();
}

static void locks_end(int v)
{
	ARMCI_Lock(0, v); /* The victim's own mutex, which no process can lock any more. */
	CHECK(ARMCIX_Is_dead(v));
	ARMCI_Unlock(0, v);
}

static void held_lock_is_freed(int v)
{
	long old = 0;

	ARMCI_Lock(1, 0);
	ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, word_at(0, 1), 1, 0);
	ARMCI_Unlock(1, 0);
	CHECK(ARMCIX_Is_dead(v));
}

static void long_get(int v)
{
	armci_hdl_t h;

	ARMCI_INIT_HANDLE(&h);
	has_ended(ARMCI_NbGet(word_at(v, 0), local, WORDS * 8, v, &h));
	CHECK(has_ended(ARMCI_Wait(&h)));
}

static void contiguous_transfers_end(int v)
{
	armci_hdl_t h;

	ARMCI_INIT_HANDLE(&h);
	CHECK(has_ended(ARMCI_Put(local, word_at(v, 0), WORDS * 8, v)));
	CHECK(has_ended(ARMCI_NbPut(local, word_at(v, 0), 64, v, &h)));
	CHECK(has_ended(ARMCI_Wait(&h)));
	CHECK(has_ended(ARMCI_Get(word_at(v, 0), local, WORDS * 8, v)));
	ARMCI_Fence(v);
}

static void collected_puts_end(int v)
{
	armci_hdl_t h;
	int i;

	ARMCI_INIT_HANDLE(&h);
	ARMCI_SET_AGGREGATE_HANDLE(&h);
	for (i = 0; i < 100; i++)
		CHECK(has_ended(ARMCI_NbGet(word_at(v, i * 3), local + i, 8, v, &h)));
	CHECK(has_failed(ARMCI_Wait(&h)));
}

static void receives_end(int v)
{
	char letter[64];
	int bytes = 0;

	armci_msg_rcv(TAG_NEVER, letter, sizeof(letter), &bytes, v);
	CHECK(bytes == -1);
	armci_msg_snd(TAG_NEVER, local, WORDS * 8, v);
}

static void notifications_end(int v)
{
	int n;

	CHECK(armci_notify_wait(v, &n) == FAIL6);
	CHECK(armci_notify(v) == FAIL6);
}

static void (*const scenario[])(int) = {barriers_end,
					reductions_end,
					rmw_ends,
					packed_get,
					packed_get_handle,
					packed_put,
					accumulates_end,
					locks_end,
					held_lock_is_freed,
					long_get,
					contiguous_transfers_end,
					collected_puts_end,
					receives_end,
					notifications_end};
enum { SCENARIOS = sizeof(scenario) / sizeof(scenario[0]), HELD = 2 + 8 };

/* ---- the survivors work with each other ---- */

static void go_on(int round)
{
	int peer = 1 - me, sum = 1;
	double one = 1;
	long old, back = 0;

	armci_msg_group_barrier(&pair);
	CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, word_at(peer, WORDS - 1), 1, peer) == 0 &&
	      old == round);
	local[0] = round;
	CHECK(ARMCI_Put(local, word_at(peer, WORDS - 2), 8, peer) == 0);
	CHECK(ARMCI_Get(word_at(peer, WORDS - 2), &back, 8, peer) == 0 && back == round);
	CHECK(move_strided(1, peer, NULL) == 0);
	CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &one, local + PART, word_at(peer, PART), 8 * PART, peer) ==
	      0);
	ARMCI_Fence(peer);
	ARMCI_Lock(0, peer);
	ARMCI_Unlock(0, peer);
	ARMCI_AllFence();
	armci_msg_group_igop(&sum, 1, "+", &pair);
	CHECK(sum == 2);
	CHECK(ARMCI_WaitAll() == 0);
}

/* ---- virtual time ---- */

/* Run every call until it fails. Each survivor sees the death at its own time. */
static void until_dead(int v)
{
	int i;

	for (i = 0; i < 100000 && !ARMCIX_Is_dead(v); i++) {
		accumulates_end(v);
		move_strided(1, v, NULL);
		move_strided(0, v, NULL);
		ARMCI_Lock(0, v);
		ARMCI_Unlock(0, v);
		contiguous_transfers_end(v);
	}
	CHECK(ARMCIX_Is_dead(v));
	rmw_ends(v);
	packed_get(v);
	locks_end(v);
	barriers_end(v);
}

static void exchange_pids(void)
{
	int to, pid = (int)getpid();

	pids[me] = getpid();
	for (to = 0; to < 2; to++)
		if (to != me)
			armci_msg_snd(TAG_PID + me, &pid, sizeof(pid), to);
	for (to = 0; me < 2 && to < armci_msg_nproc(); to++)
		if (to != me) {
			armci_msg_rcv(TAG_PID + to, &pid, sizeof(pid), NULL, to);
			pids[to] = pid;
		}
}

int main(int argc, char **argv)
{
	int list[3] = {0, 1, 3}, in_time = argc > 1 && !strcmp(argv[1], "time"), v, n;

	if (ARMCI_Init())
		return 1;
	me = armci_msg_me();
	n = armci_msg_nproc();
	near = argc > 1 && !strcmp(argv[1], "near");
	if (n != (in_time ? 3 : SCENARIOS + 2)) {
		fprintf(stderr, "for %d processes\n", in_time ? 3 : SCENARIOS + 2);
		return 1;
	}
	CHECK(ARMCI_Malloc(memory, WORDS * 8) == 0);
	mine = memory[me];
	local = ARMCI_Malloc_local(WORDS * 8);
	memset(mine, 0, WORDS * 8);
	memset(local, 0, WORDS * 8);
	CHECK(ARMCI_Create_mutexes(2) == 0);
	if (!in_time && (me < 2 || me == 3))
		ARMCI_Group_create(3, list, &trio);
	if (me < 2)
		ARMCI_Group_create(2, list, &pair);
	if (me == HELD)
		ARMCI_Lock(1, 0);
	exchange_pids();
	ARMCI_Barrier();
	while (me >= 2) /* The library's threads serve the others. */
		if (in_time)
			ARMCIX_Progress();
		else
			pause();
	if (in_time) {
		until_dead(2);
		go_on(0);
	}
	for (v = 2; v < n && !in_time; v++) {
		int failures = check_failures;

		condemn_victim(v);
		scenario[v - 2](v);
		if (check_failures > failures)
			fprintf(stderr, "process %d: in scenario %d\n", me, v - 2);
		go_on(v - 2);
	}
	armci_msg_group_barrier(&pair);
	ARMCI_Destroy_mutexes();
	ARMCI_Free_local(local);
	ARMCI_Free(mine);
	ARMCI_Finalize();
	if (!check_failures)
		printf("survivor %d: right\n", me);
	return check_failures != 0;
}
