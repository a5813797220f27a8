/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that are killed at a certain step: in ARMCI_Init, in ARMCI_Finalize, while a group or
 * its memory is made, while holding an accumulate lock, during a copy for another process, while
 * waiting for a mutex, or halfway through a collection. The other processes must come to an end,
 * with an error where they needed the dead one, and must be able to work with each other.
 *
 *   armci_killed SCENARIO [STEP [POLLS]]
 *
 * Steps are calls of PAMI by the victim (process VICTIM), before and after each call. After the
 * step the victim polls POLLS times and dies. To kill it during a copy or an addition, the memory
 * past a page boundary is unmapped.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <armci.h>
#include <armcix.h>
#include <message.h>

#include "drivers/base/atomic.h"
#include "pami/ext_wait.h"
#include "pami/pami.h"
#include "tests/armci/armci_check.h"

enum { VICTIM = 2, BYTES = 1 << 20, PAGE = 4096, TAG = 5 };

static int me, n;
static void **memory;
static ARMCI_Group others; /* all processes but the victim, made while it lives */

/* ---- steps ---- */

static __thread int counted; /* the thread whose steps count */
static int step_last, polls_last, steps;

static void kill_self(int number)
{
	kill(getpid(), SIGKILL);
}

static void arm_death(int step, int polls)
{
	counted = 1;
	steps = 0;
	step_last = step;
	polls_last = polls;
}

static void count_step(void)
{
	if (counted && step_last && ++steps == step_last && !polls_last)
		kill_self(0);
}

static void count_poll(void)
{
	if (counted && step_last && steps >= step_last && polls_last-- <= 1)
		kill_self(0);
}

#define AROUND(name, parameters, arguments, after)                                                 \
	__attribute__((visibility("default"))) pami_result_t name parameters                       \
	{                                                                                          \
		static ATOMIC(__typeof__(&name)) real;                                             \
		pami_result_t rc;                                                                  \
                                                                                                   \
		if (!atomic_ptr_load_relaxed(&real))                                               \
			atomic_ptr_store_relaxed(&real,                                            \
						 (__typeof__(&name))dlsym(RTLD_NEXT, #name));      \
		if (!(after))                                                                      \
			count_step();                                                              \
		rc = atomic_ptr_load_relaxed(&real) arguments;                                     \
		if (after)                                                                         \
			count_poll();                                                              \
		else                                                                               \
			count_step();                                                              \
		return rc;                                                                         \
	}

AROUND(PAMI_Client_create, (const char *name, pami_client_t *c, pami_configuration_t q[], size_t k),
       (name, c, q, k), 0)
AROUND(PAMI_Context_createv,
       (pami_client_t c, pami_configuration_t q[], size_t k, pami_context_t *x, size_t m),
       (c, q, k, x, m), 0)
AROUND(PAMI_Collective, (pami_context_t c, pami_xfer_t *x), (c, x), 0)
AROUND(PAMI_Geometry_create_tasklist,
       (pami_client_t c, size_t o, pami_configuration_t q[], size_t k, pami_geometry_t *g,
	pami_geometry_t p, unsigned id, pami_task_t *t, size_t m, pami_context_t x,
	pami_event_function f, void *a),
       (c, o, q, k, g, p, id, t, m, x, f, a), 0)
AROUND(PAMI_Send, (pami_context_t c, pami_send_t *s), (c, s), 0)
AROUND(PAMI_Context_destroyv, (pami_context_t c[], size_t k), (c, k), 0)
AROUND(PAMI_Client_destroy, (pami_client_t * c), (c), 0)
AROUND(PAMI_Context_advance, (pami_context_t c, size_t k), (c, k), 1)
AROUND(PAMI_Context_advancev, (pami_context_t c[], size_t k, size_t m), (c, k, m), 1)

/* ---- what survivors must always be able to do ---- */
static pami_quintorus_advancev_fn wait_advancev;

static pami_result_t polled_wait(pami_context_t c[], size_t k, size_t m)
{
	pami_result_t rc = wait_advancev(c, k, m);

	count_poll();
	return rc;
}

__attribute__((visibility("default"))) void *PAMI_Extension_symbol(pami_extension_t extension,
								   const char *name)
{
	static __typeof__(&PAMI_Extension_symbol) real;
	void *symbol;

	if (!real)
		real =
		    (__typeof__(&PAMI_Extension_symbol))dlsym(RTLD_NEXT, "PAMI_Extension_symbol");
	symbol = real(extension, name);
	if (!symbol || strcmp(name, "advancev"))
		return symbol;
	wait_advancev = (pami_quintorus_advancev_fn)symbol;
	return (void *)(uintptr_t)polled_wait;
}

static int has_ended(int rc)
{
	return rc == 0 || rc == FAIL6;
}

static void *address_at(int proc, size_t offset)
{
	return (char *)memory[proc] + offset;
}

/* Wait until this process knows that the victim has died. */
static void until_dead(void)
{
	while (!ARMCIX_Is_dead(VICTIM))
		ARMCIX_Progress();
}

/* A list of all processes but the victim, which is or is not the last process. */
static int list_survivors(int *list)
{
	int i, k = 0;

	for (i = 0; i < n; i++)
		if (i != VICTIM)
			list[k++] = i;
	return k;
}

/* A group without the dead process can be made and used. */
static void good_group(ARMCI_Group *g)
{
	void *part[64];
	int sum = 1, rank = -1, next;

	CHECK(ARMCI_Group_rank(g, &rank) == 0 && rank >= 0);
	armci_msg_group_igop(&sum, 1, "+", g);
	CHECK(sum == n - 1);
	CHECK(ARMCI_Malloc_group(part, 4096, g) == 0);
	next = (rank + 1) % (n - 1);
	CHECK(ARMCI_PutValueInt(me + 100, part[next], ARMCI_Absolute_id(g, next)) == 0);
	ARMCI_GroupFence(g);
	armci_msg_group_barrier(g);
	CHECK(*(int *)part[rank] == ARMCI_Absolute_id(g, (rank + n - 2) % (n - 1)) + 100);
	CHECK(ARMCI_Free_group(part[rank], g) == 0);
}

/* A group with the dead process cannot be made or used. */
static void groups_of_the_dead_are_refused(void)
{
	int list[64], rank = 0, size = -1, x = 7, i;
	ARMCI_Group g, world;
	void *none[64];

	until_dead();
	for (i = 0; i < n; i++)
		list[i] = i;
	ARMCI_Group_create(n, list, &g);
	ARMCI_Group_size(&g, &size);
	CHECK(ARMCI_Group_rank(&g, &rank) != 0 && rank < 0 && size == 0);
	armci_msg_group_barrier(&g);
	armci_msg_group_igop(&x, 1, "+", &g);
	armci_msg_group_bcast_scope(SCOPE_ALL, &x, sizeof(x), VICTIM, &g);
	armci_msg_group_gop_scope(SCOPE_NODE, &x, 1, "+", ARMCI_INT, &g);
	CHECK(x == 7);
	CHECK(ARMCI_Malloc_group(none, 8, &g) == FAIL6 && ARMCI_Free_group(NULL, &g) == FAIL6);
	CHECK(ARMCIX_Create_mutexes_hdl(1, &g) == NULL);
	CHECK(ARMCIX_Group_dup(&g, &world) == FAIL6 && world.rank < 0);
	ARMCI_GroupFence(&g);
	ARMCI_Group_free(&g);
	ARMCI_Group_get_world(&world);
	CHECK(ARMCIX_Group_split(&world, 0, 0, &g) == FAIL6 && g.rank < 0);
	ARMCI_Group_free(&g);
}

/* ---- scenarios; each process runs all of it, the victim until it dies ---- */
static void go_on(void)
{
	int list[64];
	ARMCI_Group g;

	groups_of_the_dead_are_refused();
	ARMCI_Group_create(list_survivors(list), list, &g);
	good_group(&g);
	good_group(&others);
	ARMCI_Group_free(&g);
}

/* Make a page inaccessible. A copy that reaches it ends the process that copies. */
static void make_hole(void *from)
{
	struct sigaction s = {.sa_handler = kill_self};

	sigaction(SIGSEGV, &s, NULL);
	sigaction(SIGBUS, &s, NULL);
	if (mprotect(from, PAGE, PROT_NONE))
		abort();
}

/* The first page boundary at or after p. */
static char *page_at(void *p)
{
	return (char *)(((uintptr_t)p + PAGE - 1) / PAGE * PAGE);
}

static void wait_killed(void)
{
	for (;;)
		sleep(1);
}

/* The victim adds to the memory of process 0, and dies while it holds a lock of process 0. */
static void adder_dies_with_the_lock(void)
{
	char *source =
	    mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static double one = 1, many[4 * PAGE / 8];
	size_t i;

	armci_msg_barrier();
	if (me == VICTIM) {
		make_hole(source + PAGE);
		ARMCI_Acc(ARMCI_ACC_DBL, &one, source, address_at(0, 0), 2 * PAGE, 0);
		wait_killed();
	}
	for (i = 0; i < sizeof(many) / 8; i++)
		many[i] = 1;
	until_dead();
	CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &one, many, address_at(0, 0), sizeof(many), 0) == 0);
	ARMCI_AllFence();
	armci_msg_group_barrier(&others);
	for (i = 2 * PAGE / 8; me == 0 && i < sizeof(many) / 8; i++)
		CHECK(((double *)memory[0])[i] == n - 1);
	munmap(source, 2 * PAGE);
}

/*
 * Others add to the victim's memory: one by message, served under the victim's own lock, and a
 * neighbour directly.
 */
static void target_of_accumulates_dies(void)
{
	static double one = 1, many[4 * PAGE / 8];
	armci_hdl_t h;

	if (me == VICTIM)
		make_hole(page_at(memory[me]) + PAGE);
	armci_msg_barrier();
	if (me == VICTIM)
		wait_killed(); /* The library's threads serve. */
	ARMCI_INIT_HANDLE(&h);
	if (!ARMCI_Same_node(VICTIM)) {
		CHECK(has_ended(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, many, address_at(VICTIM, 0),
					    sizeof(many), VICTIM, &h)));
		CHECK(has_ended(ARMCI_Wait(&h)));
		ARMCI_Fence(VICTIM);
	}
	until_dead();
	CHECK(has_ended(
	    ARMCI_Acc(ARMCI_ACC_DBL, &one, many, address_at(VICTIM, 0), sizeof(many), VICTIM)));
	ARMCI_Fence(VICTIM);
}

/*
 * A long get that its owner carries out (QUINTORUS_ARMCI_ASSIST=always); the owner dies before it
 * ends.
 */
static void owner_dies_in_an_assisted_get(void)
{
	char *local = ARMCI_Malloc_local(BYTES);
	long offered;
	armci_hdl_t h;

	if (me == VICTIM)
		make_hole(page_at(memory[me]) + BYTES / 2);
	armci_msg_barrier();
	if (me == VICTIM)
		wait_killed();
	if (me)
		until_dead();
	offered = ARMCIX_Counter("assisted");
	ARMCI_INIT_HANDLE(&h);
	CHECK(has_ended(ARMCI_NbGet(address_at(VICTIM, 0), local, BYTES, VICTIM, &h)));
	CHECK(me || ARMCIX_Counter("assisted") > offered);
	while (!ARMCIX_Is_dead(VICTIM)) /* Make no progress here, so that the owner copies. */
		sched_yield();
	CHECK(ARMCI_Wait(&h) == FAIL6 || me);
	until_dead();
	ARMCI_Free_local(local);
}

/* The caller dies while owners copy for it. */
static void caller_dies_in_an_assisted_get(void)
{
	char *local = ARMCI_Malloc_local(BYTES);
	armci_hdl_t h;
	int i;

	armci_msg_barrier();
	if (me == VICTIM) {
		ARMCI_INIT_HANDLE(&h);
		for (i = 0; i < n; i++)
			if (i != me)
				ARMCI_NbGet(address_at(i, 0), local + i * (BYTES / 8), BYTES / 8, i,
					    &h);
		kill_self(0);
	}
	until_dead();
	ARMCI_Free_local(local);
}

/* Two processes wait for a mutex of process 0; the first of them dies. */
static void waiter_for_a_mutex_dies(void)
{
	CHECK(ARMCI_Create_mutexes(1) == 0);
	if (me == 0)
		ARMCI_Lock(0, 0);
	armci_msg_barrier();
	if (me == VICTIM) {
		arm_death(1, 4);
		steps = 1; /* The request is not a step, since the victim polls for the answer. */
		ARMCI_Lock(0, 0);
	}
	if (me == 0) {
		until_dead();
		ARMCI_Unlock(0, 0);
	}
	ARMCI_Lock(0, 0);
	ARMCI_Unlock(0, 0);
	armci_msg_group_barrier(&others);
}

/* The victim dies at any step of Lock, write, Unlock; the mutex that it held is passed on. */
static void holder_of_a_mutex_dies(int last, int polls)
{
	long v;
	int i;

	CHECK(ARMCI_Create_mutexes(1) == 0);
	armci_msg_barrier();
	if (me == VICTIM)
		arm_death(1, last * 10 + polls + 1), steps = 1;
	for (i = 0; i < 200; i++) {
		ARMCI_Lock(0, 1);
		CHECK(ARMCI_Get(address_at(1, 64), &v, 8, 1) == 0);
		v++;
		CHECK(ARMCI_Put(&v, address_at(1, 64), 8, 1) == 0);
		ARMCI_Unlock(0, 1);
	}
	if (me == VICTIM)
		kill_self(0);
	until_dead();
	armci_msg_group_barrier(&others);
	v = 0;
	CHECK(ARMCI_Get(address_at(1, 64), &v, 8, 1) == 0);
	CHECK(v >= 200 * (n - 1) && v <= 200 * n);
	armci_msg_group_barrier(&others);
}

/* A collection of puts, long enough for several messages; the victim dies between two of them. */
static void sender_of_a_collection_dies(int last, int polls)
{
	static long v[100000];
	armci_hdl_t h;
	size_t i, k = sizeof(v) / sizeof(v[0]), bad = 0;

	for (i = 0; i < k; i++)
		v[i] = (long)i + 1;
	armci_msg_barrier();
	if (me == VICTIM) {
		ARMCI_INIT_HANDLE(&h);
		ARMCI_SET_AGGREGATE_HANDLE(&h);
		arm_death(last, polls);
		for (i = 0; i < k; i++)
			ARMCI_NbPut(&v[(i * 7) % k], address_at(0, 8 * ((i * 7) % k)), 8, 0, &h);
		ARMCI_Wait(&h);
		ARMCI_Fence(0);
		kill_self(0);
	}
	until_dead();
	armci_msg_group_barrier(&others);
	for (i = 0; me == 0 && i < k; i++)
		bad += ((long *)memory[0])[i] != 0 && ((long *)memory[0])[i] != v[i];
	CHECK(bad == 0);
}

/* The receiver dies when half is sent; the sender's wait and fences must end. */
static void receiver_of_a_collection_dies(int last, int polls)
{
	static long v[100000];
	armci_hdl_t h;
	size_t i, k = sizeof(v) / sizeof(v[0]);

	armci_msg_barrier();
	if (me == VICTIM) {
		arm_death(1, last + polls / 8); /* a poll may be long */
		steps = 1;
		for (;;)
			ARMCIX_Progress();
	}
	ARMCI_INIT_HANDLE(&h);
	while (!ARMCIX_Is_dead(VICTIM)) {
		ARMCI_SET_AGGREGATE_HANDLE(&h);
		for (i = 0; i < k; i++)
			CHECK(has_ended(ARMCI_NbPut(&v[i], address_at(VICTIM, 8 * ((i * 7) % k)), 8,
						    VICTIM, &h)));
		CHECK(has_ended(ARMCI_Wait(&h)));
		ARMCI_Fence(VICTIM);
	}
	ARMCI_AllFence();
}

static void group_made(int last, int polls)
{
	int list[64], i, rank;
	ARMCI_Group g;

	for (i = 0; i < n; i++)
		list[i] = i;
	armci_msg_barrier();
	if (me == VICTIM)
		arm_death(last, polls);
	ARMCI_Group_create(n, list, &g);
	if (ARMCI_Group_rank(&g, &rank) == 0) { /* the victim died later */
		armci_msg_group_barrier(&g);
		ARMCI_Group_free(&g);
	}
	if (me == VICTIM)
		kill_self(0);
}

static void group_memory(int last, int polls)
{
	int list[64], i, rc;
	ARMCI_Group g;
	void *part[64];

	for (i = 0; i < n; i++)
		list[i] = i;
	ARMCI_Group_create(n, list, &g);
	armci_msg_barrier();
	if (me == VICTIM)
		arm_death(last, polls);
	rc = ARMCI_Malloc_group(part, 1000 * (me + 1), &g);
	CHECK(has_ended(rc));
	if (me == VICTIM)
		kill_self(0);
	if (!rc) {
		CHECK(ARMCI_PutValueInt(1, part[me ? 0 : 1], me ? 0 : 1) == 0);
		CHECK(has_ended(ARMCI_PutValueInt(1, part[VICTIM], VICTIM)));
		ARMCI_GroupFence(&g);
		CHECK(has_ended(ARMCI_Free_group(part[me], &g)));
	}
	ARMCI_Group_free(&g);
}

/* No part of the library is open, so the launcher's variable gives the task's number. */
static int is_victim(void)
{
	const char *task = getenv("QUINTORUS_TASK");

	return task && atoi(task) == VICTIM;
}

static void open_memory(void)
{
	volatile int *count_ready;
	int list[64];

	memory = calloc((size_t)n, sizeof(*memory));
	if (!memory)
		exit(1);
	REQUIRE(ARMCI_Malloc(memory, 2 * BYTES + sizeof(int)) == 0);
	memset(memory[me], 0, 2 * BYTES + sizeof(int));
	ARMCI_Barrier();
	ARMCI_Group_create(list_survivors(list), list, &others);
	/* The victim lives until every other process has ended these collectives. */
	count_ready = (volatile int *)((char *)memory[VICTIM] + 2 * BYTES);
	if (me != VICTIM)
		ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &list[0], (int *)count_ready, 1, VICTIM);
	while (me == VICTIM && *count_ready < n - 1)
		ARMCIX_Progress();
}

static int report_result(void)
{
	if (!check_failures)
		printf("survivor %d: right\n", me);
	fflush(stdout);
	return check_failures != 0;
}

/* ARMCI_Init returns an error, or ARMCI works and shows the death. */
static int start_job(int last, int polls)
{
	int list[64], rc;
	ARMCI_Group g;

	if (is_victim())
		arm_death(last, polls);
	rc = ARMCI_Init();
	me = armci_msg_me();
	n = armci_msg_nproc();
	if (is_victim()) {
		if (!rc && steps < last)
			printf("begun after %d steps\n", steps);
		fflush(stdout);
		kill_self(0);
	}
	if (rc) {
		me = atoi(getenv("QUINTORUS_TASK"));
		CHECK(rc == FAIL6 && ARMCI_Initialized() == 0);
		CHECK(ARMCI_Init() == FAIL6 && ARMCI_Finalize() == 0);
		report_result();
		return 3; /* The group is not made if ARMCI_Init failed at another process. */
	}
	ARMCI_Barrier();
	groups_of_the_dead_are_refused();
	/* The group is not made if the ARMCI_Init of another process failed. */
	ARMCI_Group_create(list_survivors(list), list, &g);
	if (g.rank >= 0)
		armci_msg_group_barrier(&g);
	ARMCI_Group_free(&g);
	ARMCI_Finalize();
	return report_result();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		void (*run_at)(int last, int polls);
	} scenarios[] = {
	    {"adder", adder_dies_with_the_lock, NULL},
	    {"added", target_of_accumulates_dies, NULL},
	    {"copied", owner_dies_in_an_assisted_get, NULL},
	    {"caller", caller_dies_in_an_assisted_get, NULL},
	    {"waiter", waiter_for_a_mutex_dies, NULL},
	    {"critical", NULL, holder_of_a_mutex_dies},
	    {"collection", NULL, sender_of_a_collection_dies},
	    {"collected", NULL, receiver_of_a_collection_dies},
	    {"group", NULL, group_made},
	    {"memory", NULL, group_memory},
	};
	const char *what = argc > 1 ? argv[1] : "";
	int last = argc > 2 ? atoi(argv[2]) : 0, polls = argc > 3 ? atoi(argv[3]) : 0, known;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "init"))
		return start_job(last, polls);
	if (ARMCI_Init())
		return 1;
	me = armci_msg_me();
	n = armci_msg_nproc();
	open_memory();
	known = !strcmp(what, "finalize");
	for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (!strcmp(what, scenarios[i].name)) {
			known = 1;
			if (scenarios[i].run)
				scenarios[i].run();
			else
				scenarios[i].run_at(last, polls);
			go_on();
		}
	if (!known || n <= VICTIM || n > 64) {
		fprintf(stderr, "armci_killed: '%s' is no scenario, or not enough processes\n",
			what);
		return 1;
	}
	if (me == VICTIM)
		arm_death(last, polls);
	ARMCI_Finalize();
	if (me == VICTIM) {
		if (steps < last)
			printf("ended after %d steps\n", steps);
		fflush(stdout);
		kill_self(0);
	}
	return report_result();
}
