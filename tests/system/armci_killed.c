/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that are killed at a certain step: in ARMCI_Init, in ARMCI_Finalize, while a group or its memory is made,
 * with an accumulate's lock, in the middle of a copy for another, waiting for a mutex, half through a collection. The
 * others must come to an end, with an error where they needed the dead, and go on with each other.
 *
 *   armci_killed SCENARIO [STEP [POLLS]]
 *
 * Steps are calls of PAMI by the victim (process VICTIM), before and after each; it then polls POLLS times more and is
 * gone. Where it is in the middle of a copy or an addition, the memory behind it is missing.
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

#include "pami/pami.h"
#include "tests/system/armci_check.h"

enum { VICTIM = 2, BYTES = 1 << 20, PAGE = 4096, TAG = 5 };

static int me, n;
static void **memory;
static ARMCI_Group others; /* all but the victim, made while it lives */

/* ---- steps ---- */

static __thread int counted; /* the thread whose steps count */
static int step_last, polls_last, steps;

static void die(int number)
{
	kill(getpid(), SIGKILL);
}

static void arm(int step, int polls)
{
	counted = 1;
	steps = 0;
	step_last = step;
	polls_last = polls;
}

static void step(void)
{
	if (counted && step_last && ++steps == step_last && !polls_last)
		die(0);
}

static void polled(void)
{
	if (counted && step_last && steps >= step_last && polls_last-- <= 1)
		die(0);
}

#define AROUND(name, parameters, arguments, after)                                                      \
	__attribute__((visibility("default"))) pami_result_t name parameters                                                                   \
	{                                                                                               \
		static __typeof__(&name) real;                                                          \
		pami_result_t rc;                                                                       \
                                                                                                        \
		if (!__atomic_load_n(&real, __ATOMIC_RELAXED))                                          \
			__atomic_store_n(&real, (__typeof__(&name))dlsym(RTLD_NEXT, #name), __ATOMIC_RELAXED); \
		if (!(after))                                                                           \
			step();                                                                         \
		rc = real arguments;                                                                    \
		if (after)                                                                              \
			polled();                                                                       \
		else                                                                                    \
			step();                                                                         \
		return rc;                                                                              \
	}

AROUND(PAMI_Client_create, (const char *name, pami_client_t *c, pami_configuration_t q[], size_t k), (name, c, q, k), 0)
AROUND(PAMI_Context_createv, (pami_client_t c, pami_configuration_t q[], size_t k, pami_context_t *x, size_t m),
       (c, q, k, x, m), 0)
AROUND(PAMI_Collective, (pami_context_t c, pami_xfer_t *x), (c, x), 0)
AROUND(PAMI_Geometry_create_tasklist,
       (pami_client_t c, size_t o, pami_configuration_t q[], size_t k, pami_geometry_t *g, pami_geometry_t p, unsigned id,
	pami_task_t *t, size_t m, pami_context_t x, pami_event_function f, void *a),
       (c, o, q, k, g, p, id, t, m, x, f, a), 0)
AROUND(PAMI_Send, (pami_context_t c, pami_send_t *s), (c, s), 0)
AROUND(PAMI_Context_destroyv, (pami_context_t c[], size_t k), (c, k), 0)
AROUND(PAMI_Client_destroy, (pami_client_t *c), (c), 0)
AROUND(PAMI_Context_advance, (pami_context_t c, size_t k), (c, k), 1)
AROUND(PAMI_Context_advancev, (pami_context_t c[], size_t k, size_t m), (c, k, m), 1)

/* ---- what survivors can always do ---- */

static int ended(int rc)
{
	return rc == 0 || rc == FAIL6;
}

static void *at(int proc, size_t offset)
{
	return (char *)memory[proc] + offset;
}

/* Until it is known here that the victim is dead. */
static void until_dead(void)
{
	while (!ARMCIX_Is_dead(VICTIM))
		ARMCIX_Progress();
}

/* A list of all but the victim, which is the last process or is not. */
static int rest(int *list)
{
	int i, k = 0;

	for (i = 0; i < n; i++)
		if (i != VICTIM)
			list[k++] = i;
	return k;
}

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

/* With the dead there is no group any more, nor anything done with it. */
static void refused(void)
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

/* Without it there is. */
static void go_on(void)
{
	int list[64];
	ARMCI_Group g;

	refused();
	ARMCI_Group_create(rest(list), list, &g);
	good_group(&g);
	good_group(&others);
	ARMCI_Group_free(&g);
}

/* ---- scenarios; each process runs all of it, the victim until it is dead ---- */

/* A copy that ends in missing memory is the end of the process that does it, too. */
static void hole(void *from)
{
	struct sigaction s = {.sa_handler = die};

	sigaction(SIGSEGV, &s, NULL);
	sigaction(SIGBUS, &s, NULL);
	if (mprotect(from, PAGE, PROT_NONE))
		abort();
}

/* The first page boundary at or behind p. */
static char *page(void *p)
{
	return (char *)(((uintptr_t)p + PAGE - 1) / PAGE * PAGE);
}

static void wait_killed(void)
{
	for (;;)
		sleep(1);
}

/* The victim adds to 0's memory, and dies with 0's lock. */
static void adder(void)
{
	char *source = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static double one = 1, many[4 * PAGE / 8];
	size_t i;

	armci_msg_barrier();
	if (me == VICTIM) {
		hole(source + PAGE);
		ARMCI_Acc(ARMCI_ACC_DBL, &one, source, at(0, 0), 2 * PAGE, 0);
		wait_killed();
	}
	for (i = 0; i < sizeof(many) / 8; i++)
		many[i] = 1;
	until_dead();
	CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &one, many, at(0, 0), sizeof(many), 0) == 0);
	ARMCI_AllFence();
	armci_msg_group_barrier(&others);
	for (i = 2 * PAGE / 8; me == 0 && i < sizeof(many) / 8; i++)
		CHECK(((double *)memory[0])[i] == n - 1);
	munmap(source, 2 * PAGE);
}

/* Others add to the victim's memory: one by message, served with the victim's own lock, its neighbour directly. */
static void added(void)
{
	static double one = 1, many[4 * PAGE / 8];
	armci_hdl_t h;

	if (me == VICTIM)
		hole(page(memory[me]) + PAGE);
	armci_msg_barrier();
	if (me == VICTIM)
		wait_killed(); /* the library's threads serve */
	ARMCI_INIT_HANDLE(&h);
	if (!ARMCI_Same_node(VICTIM)) {
		CHECK(ended(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, many, at(VICTIM, 0), sizeof(many), VICTIM, &h)));
		CHECK(ended(ARMCI_Wait(&h)));
		ARMCI_Fence(VICTIM);
	}
	until_dead();
	CHECK(ended(ARMCI_Acc(ARMCI_ACC_DBL, &one, many, at(VICTIM, 0), sizeof(many), VICTIM)));
	ARMCI_Fence(VICTIM);
}

/* A long get that its owner carries out (QUINTORUS_ARMCI_ASSIST=always), and does not live to finish. */
static void copied(void)
{
	char *local = ARMCI_Malloc_local(BYTES);
	long offered;
	armci_hdl_t h;

	if (me == VICTIM)
		hole(page(memory[me]) + BYTES / 2);
	armci_msg_barrier();
	if (me == VICTIM)
		wait_killed();
	if (me)
		until_dead();
	offered = ARMCIX_Counter("assisted");
	ARMCI_INIT_HANDLE(&h);
	CHECK(ended(ARMCI_NbGet(at(VICTIM, 0), local, BYTES, VICTIM, &h)));
	CHECK(me || ARMCIX_Counter("assisted") > offered);
	while (!ARMCIX_Is_dead(VICTIM)) /* no progress here: the owner does it */
		sched_yield();
	CHECK(ARMCI_Wait(&h) == FAIL6 || me);
	until_dead();
	ARMCI_Free_local(local);
}

/* The caller dies while owners copy for it. */
static void caller(void)
{
	char *local = ARMCI_Malloc_local(BYTES);
	armci_hdl_t h;
	int i;

	armci_msg_barrier();
	if (me == VICTIM) {
		ARMCI_INIT_HANDLE(&h);
		for (i = 0; i < n; i++)
			if (i != me)
				ARMCI_NbGet(at(i, 0), local + i * (BYTES / 8), BYTES / 8, i, &h);
		die(0);
	}
	until_dead();
	ARMCI_Free_local(local);
}

/* Two wait for 0's mutex; the first of them dies. */
static void waiter(void)
{
	CHECK(ARMCI_Create_mutexes(1) == 0);
	if (me == 0)
		ARMCI_Lock(0, 0);
	armci_msg_barrier();
	if (me == VICTIM) {
		arm(1, 4); /* the request is no step: it polls for the answer */
		steps = 1;
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

/* Death in the middle of Lock, write, Unlock, at any step of it; what it held is passed on. */
static void critical(int last, int polls)
{
	long v;
	int i;

	CHECK(ARMCI_Create_mutexes(1) == 0);
	armci_msg_barrier();
	if (me == VICTIM)
		arm(1, last * 10 + polls + 1), steps = 1;
	for (i = 0; i < 200; i++) {
		ARMCI_Lock(0, 1);
		CHECK(ARMCI_Get(at(1, 64), &v, 8, 1) == 0);
		v++;
		CHECK(ARMCI_Put(&v, at(1, 64), 8, 1) == 0);
		ARMCI_Unlock(0, 1);
	}
	if (me == VICTIM)
		die(0);
	until_dead();
	armci_msg_group_barrier(&others);
	v = 0;
	CHECK(ARMCI_Get(at(1, 64), &v, 8, 1) == 0);
	CHECK(v >= 200 * (n - 1) && v <= 200 * n);
	armci_msg_group_barrier(&others);
}

/* A collection of puts, long enough for several messages; the victim dies between two of them. */
static void collection(int last, int polls)
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
		arm(last, polls);
		for (i = 0; i < k; i++)
			ARMCI_NbPut(&v[(i * 7) % k], at(0, 8 * ((i * 7) % k)), 8, 0, &h);
		ARMCI_Wait(&h);
		ARMCI_Fence(0);
		die(0);
	}
	until_dead();
	armci_msg_group_barrier(&others);
	for (i = 0; me == 0 && i < k; i++)
		bad += ((long *)memory[0])[i] != 0 && ((long *)memory[0])[i] != v[i];
	CHECK(bad == 0);
}

/* Half sent to one who dies: the sender's wait and fences end. */
static void collected(int last, int polls)
{
	static long v[100000];
	armci_hdl_t h;
	size_t i, k = sizeof(v) / sizeof(v[0]);

	armci_msg_barrier();
	if (me == VICTIM) { /* a poll may be long */
		arm(1, last + polls / 8);
		steps = 1;
		for (;;)
			ARMCIX_Progress();
	}
	ARMCI_INIT_HANDLE(&h);
	while (!ARMCIX_Is_dead(VICTIM)) {
		ARMCI_SET_AGGREGATE_HANDLE(&h);
		for (i = 0; i < k; i++)
			CHECK(ended(ARMCI_NbPut(&v[i], at(VICTIM, 8 * ((i * 7) % k)), 8, VICTIM, &h)));
		CHECK(ended(ARMCI_Wait(&h)));
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
		arm(last, polls);
	ARMCI_Group_create(n, list, &g);
	if (ARMCI_Group_rank(&g, &rank) == 0) { /* it died later */
		armci_msg_group_barrier(&g);
		ARMCI_Group_free(&g);
	}
	if (me == VICTIM)
		die(0);
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
		arm(last, polls);
	rc = ARMCI_Malloc_group(part, 1000 * (me + 1), &g);
	CHECK(ended(rc));
	if (me == VICTIM)
		die(0);
	if (!rc) {
		CHECK(ARMCI_PutValueInt(1, part[me ? 0 : 1], me ? 0 : 1) == 0);
		CHECK(ended(ARMCI_PutValueInt(1, part[VICTIM], VICTIM)));
		ARMCI_GroupFence(&g);
		CHECK(ended(ARMCI_Free_group(part[me], &g)));
	}
	ARMCI_Group_free(&g);
}

/* ---- start and end ---- */

/* Nothing at all is open: the task's number from the launcher. */
static int is_victim(void)
{
	const char *task = getenv("QUINTORUS_TASK");

	return task && atoi(task) == VICTIM;
}

static void open_memory(void)
{
	int list[64];

	memory = calloc((size_t)n, sizeof(*memory));
	if (!memory)
		exit(1);
	CHECK(ARMCI_Malloc(memory, 2 * BYTES) == 0);
	memset(memory[me], 0, 2 * BYTES);
	*(int *)memory[me] = 0;
	ARMCI_Group_create(rest(list), list, &others);
}

static int report(void)
{
	if (!check_failures)
		printf("survivor %d: right\n", me);
	fflush(stdout);
	return check_failures != 0;
}

/* An error, or an ARMCI in which the death shows. */
static int start(int last, int polls)
{
	int list[64], rc;
	ARMCI_Group g;

	if (is_victim())
		arm(last, polls);
	rc = ARMCI_Init();
	me = armci_msg_me();
	n = armci_msg_nproc();
	if (is_victim()) {
		if (!rc && steps < last)
			printf("begun after %d steps\n", steps);
		fflush(stdout);
		die(0);
	}
	if (rc) {
		me = atoi(getenv("QUINTORUS_TASK"));
		CHECK(rc == FAIL6 && ARMCI_Initialized() == 0);
		CHECK(ARMCI_Init() == FAIL6 && ARMCI_Finalize() == 0);
		report();
		return 3; /* who comes so far must not wait for us */
	}
	ARMCI_Barrier();
	refused();
	ARMCI_Group_create(rest(list), list, &g); /* it is not made if some other's ARMCI_Init failed */
	if (g.rank >= 0)
		armci_msg_group_barrier(&g);
	ARMCI_Group_free(&g);
	ARMCI_Finalize();
	return report();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		void (*run_at)(int last, int polls);
	} scenarios[] = {
	    {"adder", adder, NULL},	  {"added", added, NULL},	      {"copied", copied, NULL},
	    {"caller", caller, NULL},	  {"waiter", waiter, NULL},	      {"critical", NULL, critical},
	    {"collection", NULL, collection}, {"collected", NULL, collected}, {"group", NULL, group_made},
	    {"memory", NULL, group_memory},
	};
	const char *what = argc > 1 ? argv[1] : "";
	int last = argc > 2 ? atoi(argv[2]) : 0, polls = argc > 3 ? atoi(argv[3]) : 0, known;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "init"))
		return start(last, polls);
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
		fprintf(stderr, "armci_killed: '%s' is no scenario, or not enough processes\n", what);
		return 1;
	}
	if (me == VICTIM)
		arm(last, polls);
	ARMCI_Finalize();
	if (me == VICTIM) {
		if (steps < last)
			printf("ended after %d steps\n", steps);
		fflush(stdout);
		die(0);
	}
	return report();
}
