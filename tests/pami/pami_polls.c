/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A poll is not a wait: programs poll as a courtesy inside other work, so a call that finds nothing
 * yields or sleeps once at most, whatever its `maximum`, and a poll after an operation never does.
 * And a wait is not a spin: posted work that asks to be called again for ever does not keep the
 * core from other tasks.
 *
 * The test counts yields and sleeps instead of measuring time, which says little on a machine that
 * has other work; tests/guests/polls.c looks at the time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

#define ID       1
#define FOR_ALL  __attribute__((visibility("default")))
#define ALL_MAX  ((size_t)100000)
#define MESSAGES 4000

static int got;
static const char *idle; /* QUINTORUS_IDLE */

/* The library finds the next two functions before those of libc. */
static _Thread_local size_t yields;
static _Thread_local size_t sleeps; /* and calls that take a lock while they poll */

FOR_ALL int sched_yield(void)
{
	yields++;
	return (int)syscall(SYS_sched_yield);
}

/* A thread that sleeps in the library cannot be cancelled. */
FOR_ALL int pthread_setcancelstate(int state, int *old)
{
	static _Thread_local int (*next)(int, int *);

	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "pthread_setcancelstate");
	sleeps += state == PTHREAD_CANCEL_DISABLE;
	return next(state, old);
}

static bool is_idle_setting(const char *word)
{
	return idle && !strcmp(idle, word);
}

/* Since `before` there were at most `most` yields, but those that wait for a lock or for room. */
static void check_few(const char *what, size_t before, size_t most)
{
	if (yields - before > most)
		printf("task %zu of %zu: %s: %zu yields, at most %zu expected\n", me, tasks, what,
		       yields - before, most);
	CHECK(yields - before <= most);
}

static void count_message(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
			  const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	got++;
}

/*
 * With more tasks than cores a call of 1000 rounds would yield hundreds of times, and with a core
 * for each task a call of ALL_MAX rounds.
 */
static void calls_yield_once(const char *what, pami_result_t (*poll)(size_t), size_t maximum,
			     size_t count)
{
	size_t before;

	run_barrier();
	before = yields;
	for (size_t i = 0; i < count; i++)
		poll(maximum);
	check_few(what, before, 2 * count);
}

static pami_result_t advance_context(size_t maximum)
{
	return PAMI_Context_advance(context, maximum);
}

static pami_result_t advance_all(size_t maximum)
{
	return PAMI_Context_advancev(contexts, 1, maximum);
}

static pami_result_t trylock_advance(size_t maximum)
{
	return PAMI_Context_trylock_advancev(contexts, 1, maximum);
}

static void start_send(void)
{
	uint64_t header = me;
	pami_send_immediate_t s = {.dispatch = ID,
				   .dest = get_endpoint((me + 1) % tasks, 0),
				   .header = {.iov_base = &header, .iov_len = sizeof header}};

	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
}

static void start_message(void)
{
	uint64_t header = me;
	pami_send_t s = {.send = {.dispatch = ID,
				  .dest = get_endpoint((me + 1) % tasks, 0),
				  .header = {.iov_base = &header, .iov_len = sizeof header}}};

	CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
}

static char window[2][64];

static void start_put(void)
{
	pami_put_simple_t p = {.rma = {.dest = get_endpoint(me, 0), .bytes = sizeof window[0]},
			       .addr = {.local = window[0], .remote = window[1]}};

	CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
}

static void start_get(void)
{
	pami_get_simple_t p = {.rma = {.dest = get_endpoint(me, 0), .bytes = sizeof window[0]},
			       .addr = {.local = window[0], .remote = window[1]}};

	CHECK_EQ(PAMI_Get(context, &p), PAMI_SUCCESS);
}

static int64_t word;

static void start_atomic(void)
{
	static int64_t one = 1;
	pami_rmw_t r = {.dest = get_endpoint(me, 0),
			.remote = &word,
			.value = &one,
			.operation = PAMI_ATOMIC_ADD,
			.type = PAMI_TYPE_SIGNED_LONG_LONG};

	CHECK_EQ(PAMI_Rmw(context, &r), PAMI_SUCCESS);
}

/*
 * An operation ends a stretch of polls: task 0 polls once after each operation, which has no
 * callback and no answer. Without the operations every fourth of these polls would yield with more
 * tasks than cores, and about every 64th with a core for each task.
 */
static void operations_end_a_stretch(const char *what, void (*start_one)(void), int messages)
{
	size_t yielded, slept;

	run_barrier();
	yielded = yields;
	slept = sleeps;
	for (size_t i = 0; i < MESSAGES && !me; i++) {
		start_one();
		PAMI_Context_advance(context, 1);
	}
	if (!me) {
		check_few(what, yielded, MESSAGES / 200);
		CHECK_EQ(sleeps - slept, 0);
	}
	WAIT(!messages || me != 1 % tasks || got == MESSAGES);
	got = 0;
	run_barrier();
}

static bool is_polling;

static void *run_progress(void *arg)
{
	int old;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old);
	for (;;) {
		PAMI_Context_trylock_advancev(contexts, 1, ALL_MAX);
		atomic_store_release(&is_polling, true);
		pthread_testcancel();
	}
	return arg;
}

/*
 * Some are cancelled after a moment, some when they have done nothing but poll for long. With
 * QUINTORUS_IDLE=spin a call makes all its rounds, however many.
 */
static void cancelled_threads(size_t count)
{
	run_barrier();
	for (size_t i = 0; i < count; i++) {
		pthread_t t;

		atomic_store_release(&is_polling, false);
		CHECK_EQ(pthread_create(&t, NULL, run_progress, NULL), 0);
		while (!atomic_load_acquire(&is_polling))
			usleep(100);
		usleep(i % 4 ? 1000 : 100000);
		CHECK_EQ(pthread_cancel(t), 0);
		CHECK_EQ(pthread_join(t, NULL), 0);
		CHECK_EQ(PAMI_Context_trylock(context), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Context_unlock(context), PAMI_SUCCESS);
	}
}

static pami_result_t run_until(pami_context_t c, void *cookie)
{
	return *(volatile int *)cookie ? PAMI_SUCCESS : PAMI_EAGAIN;
}

/* The thread yields, as often as polls do that find nothing, and does not sleep: no wake-up
 * announces that such work may do something. */
static void work_that_runs_for_ever(size_t count)
{
	pami_work_t work;
	int over = 0;
	size_t yielded, slept = sleeps;

	CHECK_EQ(PAMI_Context_post(context, &work, run_until, &over), PAMI_SUCCESS);
	run_barrier();
	for (size_t i = 0; i < count; i++)
		run_barrier();
	yielded = yields;
	while (!is_idle_setting("spin") && yields - yielded < 10)
		PAMI_Context_advance(context, 1);
	CHECK_EQ(sleeps - slept, 0);
	over = 1;
	while (PAMI_Context_advance(context, 1) != PAMI_SUCCESS)
		;
}

int main(void)
{
	pami_dispatch_hint_t none = {0};

	idle = getenv("QUINTORUS_IDLE");
	job_begin(1);
	dispatch_set(context, ID, count_message, NULL, none);
	setvbuf(stdout, NULL, _IOLBF, 0);
	calls_yield_once("advance(ctx, 1)", advance_context, 1, 2000);
	if (!is_idle_setting("spin")) {
		calls_yield_once("advance(ctx, 1000)", advance_context, 1000, 100);
		calls_yield_once("advance(ctx, a large maximum)", advance_context, ALL_MAX, 20);
		calls_yield_once("advancev", advance_all, ALL_MAX, 20);
		calls_yield_once("trylock_advancev", trylock_advance, ALL_MAX, 20);
	}
	operations_end_a_stretch("PAMI_Send_immediate", start_send, 1);
	operations_end_a_stretch("PAMI_Send", start_message, 1);
	operations_end_a_stretch("PAMI_Put", start_put, 0);
	operations_end_a_stretch("PAMI_Get", start_get, 0);
	operations_end_a_stretch("PAMI_Rmw", start_atomic, 0);
	if (!is_idle_setting("spin"))
		cancelled_threads(4);
	work_that_runs_for_ever(500);
	/* Does this program count what the library does? */
	CHECK(is_idle_setting("spin") || yields);
	return job_end(1);
}
