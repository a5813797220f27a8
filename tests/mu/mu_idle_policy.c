/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Idle policy on a simulated clock: a thread polls in vain, each poll takes POLL_NS, the program
 * spends `outside` between two polls, and a yield takes what the test says. No real time.
 */
#include "mu/progress/idle_policy.h"
#include "tests/harness/t.h"

#define POLL_NS 60

struct world {
	struct mu_idle_policy policy;
	struct mu_idle idle;
	uint64_t now, polls, outside, yield_cost, clock_cost;
	uint64_t spins, yields, naps, sleeps;
	uint64_t yields_ns, asleep_ns; /* time given away */
	uint64_t first_yield, first_nap, first_sleep, longest_sleep;
};

static void start_world(struct world *w, enum mu_idle_setting setting, int crowded, int port)
{
	*w = (struct world){.now = 1000000, .yield_cost = 250};
	mu_idle_policy_set(&w->policy, setting, crowded, port, 4);
}

static void note_first(uint64_t *at, uint64_t since)
{
	if (!*at)
		*at = since;
}

/* One poll that finds nothing, as mu_wait() and look() of mu/progress/idle.c do it. */
static enum mu_idle_action poll_once(struct world *w, unsigned how)
{
	enum mu_idle_action action;
	uint64_t before, since;

	if (w->idle.left) {
		w->now += w->clock_cost;
		mu_idle_entered(&w->idle, w->now);
	}
	w->now += POLL_NS;
	if (w->idle.entered) {
		w->now += w->clock_cost;
		mu_idle_finished(&w->idle, w->now);
	}
	if (++w->polls & (mu_idle_period(&w->idle) - 1)) {
		w->now += w->outside;
		return MU_IDLE_SPIN;
	}
	if (w->polls == mu_idle_period(&w->idle))
		w->idle.since = 0;
	before = w->now;
	action = mu_idle_decide(&w->policy, &w->idle, how, before);
	if (w->polls < mu_idle_period(&w->idle))
		w->polls = mu_idle_period(&w->idle);
	since = before - w->idle.since;
	if (action == MU_IDLE_SPIN) {
		w->spins++;
		w->now += w->outside;
		return action;
	}
	if (action == MU_IDLE_YIELD) {
		w->yields++;
		w->yields_ns += w->yield_cost;
		w->now += w->yield_cost;
		note_first(&w->first_yield, since + 1);
	} else {
		if (action == MU_IDLE_NAP) {
			w->naps++;
			note_first(&w->first_nap, since + 1);
		} else {
			w->sleeps++;
			note_first(&w->first_sleep, since + 1);
		}
		if (w->idle.sleep_ns > w->longest_sleep)
			w->longest_sleep = w->idle.sleep_ns;
		w->asleep_ns += w->idle.sleep_ns;
		w->now += w->idle.sleep_ns;
	}
	mu_idle_learn(&w->policy, &w->idle, action, before, w->now);
	w->now += w->outside;
	return action;
}

static void poll_for(struct world *w, unsigned how, uint64_t ns)
{
	for (uint64_t end = w->now + ns; w->now < end;)
		poll_once(w, how);
}

/* The program starts an operation, or a poll finds something. */
static void not_idle(struct world *w)
{
	w->polls = 0;
}

static void poll_with_a_core_spins(void)
{
	struct world w;

	start_world(&w, MU_IDLE_AUTO, 0, 0);
	poll_for(&w, MU_IDLE_POLL, MU_IDLE_SPIN_NS);
	CHECK_EQ(w.yields + w.naps + w.sleeps, 0);
	poll_for(&w, MU_IDLE_POLL, MU_IDLE_POLLS_NS / 2);
	CHECK_EQ(w.naps + w.sleeps, 0);
	/* It looks now and then whether another thread wants the core: under 5% of the time. */
	CHECK(w.yields > 0);
	CHECK(w.yields_ns * 20 < MU_IDLE_POLLS_NS / 2);
}

static void poll_that_follows_an_operation_costs_nothing(void)
{
	struct world w;

	start_world(&w, MU_IDLE_AUTO, 1, 0);
	for (int i = 0; i < 100000; i++) {
		not_idle(&w);
		poll_once(&w, MU_IDLE_POLL);
	}
	CHECK_EQ(w.yields + w.naps + w.sleeps, 0);
}

static void poll_in_a_crowd_yields_at_each_look(void)
{
	struct world w;

	start_world(&w, MU_IDLE_AUTO, 1, 0);
	w.yield_cost = 20000;
	for (int i = 0; i < 400; i++)
		poll_once(&w, MU_IDLE_POLL);
	CHECK_EQ(w.yields, 400 / MU_IDLE_LOOK);
	CHECK_EQ(w.naps + w.sleeps, 0);
}

/* However many tasks share a core: the spins after yields must not keep yields long. */
static void yields_of_pollers_do_not_feed_each_other(void)
{
	struct world w;

	start_world(&w, MU_IDLE_AUTO, 1, 0);
	w.yield_cost = 4000000; /* a computing thread, once */
	for (int i = 0; i < MU_IDLE_LOOK; i++)
		poll_once(&w, MU_IDLE_POLL);
	CHECK_EQ(w.yields, 1);
	/* 32 tasks on the core had the same: each now spins before its next yield. */
	CHECK(32 * (w.idle.yield_at - w.now) < MU_IDLE_SLICE_NS);
}

/* A ping-pong of polls beside a busy program: a yield finds out, then arrivals end naps. */
static void poll_beside_a_cpu_bound_thread_loses_few_slices(void)
{
	struct world w;

	start_world(&w, MU_IDLE_AUTO, 0, 0);
	w.yield_cost = 4000000;
	for (int message = 0; message < 20; message++) {
		for (int i = 0; i < 1000; i++)
			poll_once(&w, MU_IDLE_POLL);
		w.idle.since = 0; /* a message came */
	}
	/* One slice in 64 ms, not one for each message. */
	CHECK(w.yields >= 1 && w.yields_ns * 10 < w.now);
	CHECK(w.naps > 0);
	CHECK_EQ(w.sleeps, 0);
	CHECK(w.longest_sleep <= MU_IDLE_NAP_NS);
}

static void poll_with_other_work_beside_a_cpu_bound_thread_does_not_nap(void)
{
	struct world w;

	start_world(&w, MU_IDLE_AUTO, 0, 0);
	w.yield_cost = 4000000;
	w.outside = 1000;
	poll_for(&w, MU_IDLE_POLL, 1000000000u);
	CHECK_EQ(w.naps + w.sleeps, 0);
	/* It probes now and then whether the other thread is still there. */
	CHECK(w.yields_ns < 100000000u);
}

static void other_work_is_never_put_to_sleep(void)
{
	struct world w;

	start_world(&w, MU_IDLE_AUTO, 0, 0);
	w.outside = 1000; /* a microsecond of computing between two polls */
	poll_for(&w, MU_IDLE_POLL, 5000000000u);
	CHECK_EQ(w.naps + w.sleeps, 0);
	start_world(&w, MU_IDLE_AUTO, 1, 0);
	w.outside = 100000;
	w.yield_cost = 4000000;
	poll_for(&w, MU_IDLE_POLL | MU_IDLE_BELL, 5000000000u);
	CHECK_EQ(w.naps + w.sleeps, 0);
}

static void long_polls_nap_then_sleep(void)
{
	struct world w;
	uint64_t asleep;

	start_world(&w, MU_IDLE_AUTO, 0, 0);
	poll_for(&w, MU_IDLE_POLL, MU_IDLE_POLLS_LONG_NS - 1000000);
	CHECK(w.first_nap >= MU_IDLE_POLLS_NS);
	CHECK(w.first_nap < 2 * MU_IDLE_POLLS_NS);
	CHECK_EQ(w.sleeps, 0);
	CHECK(w.longest_sleep <= MU_IDLE_NAP_NS);
	/* Before a second has passed it loses at most half of its time. */
	CHECK(w.asleep_ns * 2 <= MU_IDLE_POLLS_LONG_NS);
	poll_for(&w, MU_IDLE_POLL, 1000000000);
	CHECK(w.first_sleep >= MU_IDLE_POLLS_LONG_NS);
	asleep = w.asleep_ns;
	poll_for(&w, MU_IDLE_POLL, 1000000000); /* now it uses under 1% of a core */
	CHECK(w.asleep_ns - asleep >= 990000000);
	/* An operation ends all that. */
	not_idle(&w);
	asleep = w.asleep_ns;
	poll_for(&w, MU_IDLE_POLL, MU_IDLE_POLLS_NS - 1000);
	CHECK_EQ(w.asleep_ns, asleep);
}

static void wait_spins_yields_then_sleeps(void)
{
	struct world w;
	uint64_t asleep;

	start_world(&w, MU_IDLE_AUTO, 0, 0);
	poll_for(&w, MU_IDLE_WAIT, 10000000);
	CHECK(w.first_yield > MU_IDLE_SPIN_NS && w.first_yield < 2 * MU_IDLE_SPIN_NS);
	CHECK(w.first_sleep > MU_IDLE_WAIT_NS && w.first_sleep < 2 * MU_IDLE_WAIT_NS);
	poll_for(&w, MU_IDLE_WAIT, 100000000);
	asleep = w.asleep_ns;
	poll_for(&w, MU_IDLE_WAIT, 1000000000);
	CHECK(w.asleep_ns - asleep >= 990000000);
	CHECK(w.longest_sleep >= MU_IDLE_SLEEP_MAX_NS);
	CHECK(w.longest_sleep < 2 * MU_IDLE_SLEEP_MAX_NS);
	start_world(&w, MU_IDLE_AUTO, 0, 1); /* an answer from another host takes longer */
	poll_for(&w, MU_IDLE_WAIT, 1000000);
	CHECK(w.first_yield > MU_IDLE_SPIN_PORT_NS);
}

/* A woken thread runs at once, one that yielded waits for the end of a slice. */
static void wait_beside_a_cpu_bound_thread_sleeps_instead_of_yielding(void)
{
	struct world w;

	start_world(&w, MU_IDLE_AUTO, 0, 0);
	w.yield_cost = 4000000;
	for (int i = 0; i < 1000; i++) { /* a message every 20 us */
		not_idle(&w);
		poll_for(&w, MU_IDLE_WAIT, 20000);
	}
	CHECK(w.sleeps > 100);
	CHECK(w.yields_ns * 8 < w.now);
}

static void work_that_asks_again_yields_and_never_sleeps(void)
{
	struct world w;

	for (int crowded = 0; crowded < 2; crowded++) {
		start_world(&w, MU_IDLE_AUTO, crowded, 0);
		w.yield_cost = 5000; /* others want the core */
		poll_for(&w, MU_IDLE_WAIT | MU_IDLE_AGAIN, 3000000000u);
		CHECK_EQ(w.naps + w.sleeps, 0);
		/* From the second yield on, each look yields. */
		CHECK(w.yields * MU_IDLE_LOOK * 2 > w.polls);
	}
}

static void crowd_naps_for_a_bell(void)
{
	struct world w;
	int i;

	start_world(&w, MU_IDLE_AUTO, 1, 0);
	w.yield_cost = 3000;
	for (i = 0; i < 100 && poll_once(&w, MU_IDLE_POLL | MU_IDLE_BELL) != MU_IDLE_NAP; i++)
		;
	CHECK_EQ(i + 1, MU_IDLE_BELL_LOOKS * MU_IDLE_LOOK);
	CHECK_EQ(w.longest_sleep, MU_IDLE_NAP_NS);
	start_world(&w, MU_IDLE_AUTO, 0, 0); /* with a core each it spins */
	for (i = 0; i < 100; i++)
		poll_once(&w, MU_IDLE_POLL | MU_IDLE_BELL);
	CHECK_EQ(w.naps, 0);
}

static void settings_choose_how_to_wait(void)
{
	struct world w;

	start_world(&w, MU_IDLE_ONLY_SPIN, 1, 0);
	poll_for(&w, MU_IDLE_WAIT, 100000000);
	CHECK_EQ(w.yields + w.naps + w.sleeps, 0);
	start_world(&w, MU_IDLE_NO_SLEEP, 1, 0);
	poll_for(&w, MU_IDLE_WAIT, 100000000);
	CHECK(w.yields > 0);
	CHECK_EQ(w.naps + w.sleeps, 0);
	start_world(&w, MU_IDLE_ALL_WAIT, 0, 0);
	poll_for(&w, MU_IDLE_POLL, 10000000);
	CHECK(w.first_sleep > 0 && w.first_sleep < 2 * MU_IDLE_WAIT_NS);
}

/* A loop around the call and the reading of clocks take as long as an empty poll. */
static void bare_polls_are_not_other_work(void)
{
	struct world w;

	start_world(&w, MU_IDLE_AUTO, 0, 0);
	w.outside = POLL_NS / 3;
	w.clock_cost = POLL_NS / 2;
	poll_for(&w, MU_IDLE_POLL, 2 * MU_IDLE_POLLS_LONG_NS);
	CHECK(w.naps && w.sleeps);
	CHECK(w.idle.outside_ns * 10 < w.idle.own_ns);
}

T_MAIN(T(poll_with_a_core_spins), T(poll_that_follows_an_operation_costs_nothing),
       T(poll_in_a_crowd_yields_at_each_look), T(yields_of_pollers_do_not_feed_each_other),
       T(poll_beside_a_cpu_bound_thread_loses_few_slices),
       T(poll_with_other_work_beside_a_cpu_bound_thread_does_not_nap),
       T(other_work_is_never_put_to_sleep), T(bare_polls_are_not_other_work),
       T(long_polls_nap_then_sleep), T(wait_spins_yields_then_sleeps),
       T(wait_beside_a_cpu_bound_thread_sleeps_instead_of_yielding),
       T(work_that_asks_again_yields_and_never_sleeps), T(crowd_naps_for_a_bell),
       T(settings_choose_how_to_wait))
