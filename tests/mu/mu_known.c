/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run of polls remembers of memory (mu/engine/known_memory.h), at invented times. That a
 * program may unmap what is remembered: the body `remember` of mu_messages.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "mu/engine/known_memory.h"
#include "mu/process.h"
#include "tests/harness/t.h"

enum { AT = 0x100000, PAGE = 4096, GAP = 20, POLL = 200 };

static struct mu_channel some_channel;
static uint64_t now;

static void start(void)
{
	mu_self.clock = &mu_clock_real;
	mu_polled_channel = &some_channel;
	mu_known_prepare();
	mu_known_start(&mu_self);
	mu_known.most_ns = 100;
	mu_known.least_ns = 400;
	mu_learn_memory(AT, AT + PAGE, true); /* from now on polls are watched */
	now = mu_known.asked;
}

/* Polls, each `gap` after the last. The last one has begun. */
static void poll_for(uint64_t ns, uint64_t gap)
{
	for (uint64_t until = now + ns; now < until; now += POLL) {
		mu_known_leave(now);
		now += gap;
		mu_known_enter(now);
	}
}

static void long_run_remembers(void)
{
	start();
	CHECK(mu_known.is_watched);
	poll_for(MU_KNOWN_RUN_NS / 2, GAP);
	mu_learn_memory(AT, AT + PAGE, true);
	CHECK(!mu_knows_memory(AT, 8, false));
	poll_for(MU_KNOWN_RUN_NS, GAP);
	mu_learn_memory(AT, AT + PAGE, true);
	mu_learn_memory(AT + 4 * PAGE, AT + 5 * PAGE, false);
	poll_for(10 * POLL, GAP);
	CHECK(mu_knows_memory(AT, PAGE, true));
	CHECK(mu_knows_memory(AT + 8, 8, false));
	CHECK(!mu_knows_memory(AT - 8, 16, false));
	CHECK(!mu_knows_memory(AT + PAGE - 8, 16, false));
	CHECK(!mu_knows_memory(AT + PAGE, 8, false));
	CHECK(!mu_knows_memory(AT + 8, UINT64_MAX, false));
	CHECK(mu_knows_memory(AT + 4 * PAGE, 8, false));
	CHECK(!mu_knows_memory(AT + 4 * PAGE, 8, true));
	mu_learn_memory(AT + 4 * PAGE, AT + 5 * PAGE, true); /* it was asked for as well */
	CHECK(mu_knows_memory(AT + 4 * PAGE, 8, true));
	mu_known_leave(now);
	CHECK(!mu_knows_memory(AT, 8, false)); /* a call of the program is no poll */
}

static void remember_one(void)
{
	start();
	poll_for(2 * MU_KNOWN_RUN_NS, GAP);
	mu_learn_memory(AT, AT + PAGE, true);
	CHECK(mu_knows_memory(AT, 8, true));
}

static void long_gap_forgets(void)
{
	remember_one();
	mu_known_leave(now);
	mu_known_enter(now + 101);
	CHECK(!mu_knows_memory(AT, 8, false));
	mu_learn_memory(AT, AT + PAGE, true); /* the new run is too short */
	CHECK(!mu_knows_memory(AT, 8, false));
}

static void function_of_the_program_forgets(void)
{
	remember_one();
	mu_known_end_run(); /* the poll calls one */
	CHECK(!mu_knows_memory(AT, 8, false));
	mu_known_leave(now);
	mu_known_enter(now + 1);
	CHECK(!mu_knows_memory(AT, 8, false));
}

/* The function polls, too, and remembers; then it unmaps, returns, and the outer poll ends. */
static void polls_inside_a_function_forget(void)
{
	remember_one();
	mu_known_end_run();
	mu_known_enter(now);
	poll_for(2 * MU_KNOWN_RUN_NS, GAP);
	mu_learn_memory(AT, AT + PAGE, true);
	CHECK(mu_knows_memory(AT, 8, true));
	mu_known_leave(now);
	now += 2000; /* it unmaps */
	mu_known_leave(now);
	mu_known_enter(now + 1);
	CHECK(!mu_knows_memory(AT, 8, false));
}

/* A signal handler of the program may have unmapped what is remembered. */
static void long_poll_forgets(void)
{
	remember_one();
	now = mu_known.entered + 399;
	mu_known_leave(now);
	now += GAP;
	mu_known_enter(now);
	CHECK(mu_knows_memory(AT, 8, true));
	now = mu_known.entered + 400;
	mu_known_leave(now);
	now += GAP;
	mu_known_enter(now);
	CHECK(!mu_knows_memory(AT, 8, true));
	mu_learn_memory(AT, AT + PAGE, true); /* it goes on being a long run */
	CHECK(mu_knows_memory(AT, 8, true));
}

/* A context goes to a thread of the library, within less time than unmapping takes. */
static void threads_of_the_library_forbid_it(void)
{
	remember_one();
	mu_known_leave(now);
	mu_known_share();
	now += GAP;
	mu_known_enter(now);
	CHECK(!mu_knows_memory(AT, 8, true));
}

static void *wait_for_end(void *pipe)
{
	char c;

	return (void *)(intptr_t)read(((int *)pipe)[0], &c, 1);
}

static pthread_t thread;
static int end[2];

static void start_thread(void)
{
	REQUIRE_EQ(pipe(end), 0);
	REQUIRE_EQ(pthread_create(&thread, NULL, wait_for_end, end), 0);
}

static void end_thread(void)
{
	CHECK_EQ(write(end[1], "", 1), 1);
	pthread_join(thread, NULL);
}

static void other_threads_forbid_it(void)
{
	start();
	start_thread();
	poll_for(2 * MU_KNOWN_RUN_NS, GAP);
	mu_learn_memory(AT, AT + PAGE, true);
	CHECK(!mu_knows_memory(AT, 8, false));
	start(); /* the task joins the job when the process has two threads */
	poll_for(2 * MU_KNOWN_RUN_NS, GAP);
	mu_learn_memory(AT, AT + PAGE, true);
	CHECK(!mu_known.is_watched);
	CHECK(!mu_knows_memory(AT, 8, false));
	end_thread();
}

/* A signal handler may have started a thread. */
static void thread_of_a_handler_forbids_it(void)
{
	remember_one();
	start_thread();
	now += MU_KNOWN_START * mu_known.least_ns;
	mu_known_leave(now);
	now += GAP;
	mu_known_enter(now);
	mu_learn_memory(AT, AT + PAGE, true);
	CHECK(!mu_knows_memory(AT, 8, false));
	end_thread();
}

static void polls_are_not_watched_for_ever(void)
{
	remember_one();
	poll_for(MU_KNOWN_IDLE_NS + POLL, GAP);
	CHECK(!mu_known.is_watched);
	CHECK(!mu_knows_memory(AT, 8, false));
}

static void more_ranges_than_places(void)
{
	start();
	poll_for(2 * MU_KNOWN_RUN_NS, GAP);
	for (unsigned i = 0; i < 3 * MU_KNOWN_RANGES; i++) {
		mu_learn_memory(AT + 2 * PAGE * i, AT + 2 * PAGE * i + PAGE, true);
		CHECK(mu_knows_memory(AT + 2 * PAGE * i, 8, true));
		CHECK(!mu_knows_memory(AT + 2 * PAGE * i + PAGE, 8, true));
	}
	CHECK(!mu_knows_memory(AT, 8, true));
}

T_MAIN(T(long_run_remembers), T(long_gap_forgets), T(function_of_the_program_forgets),
       T(polls_inside_a_function_forget), T(long_poll_forgets), T(threads_of_the_library_forbid_it),
       T(other_threads_forbid_it), T(thread_of_a_handler_forbids_it),
       T(polls_are_not_watched_for_ever), T(more_ranges_than_places))
