/* SPDX-License-Identifier: BSD-3-Clause */
#include "mu/progress/idle_policy.h"

void mu_idle_policy_set(struct mu_idle_policy *policy, enum mu_idle_setting setting, int crowded,
			int port, uint32_t tasks)
{
	uint64_t groups = (tasks + 15u) / 16;

	policy->setting = setting;
	policy->crowded = crowded;
	policy->spin_ns = port ? MU_IDLE_SPIN_PORT_NS : MU_IDLE_SPIN_NS;
	policy->max_sleep_ns = MU_IDLE_SLEEP_MAX_NS * (groups ? groups : 1);
}

/*
 * One of mu_idle_period() gaps between polls is sampled, and the poll behind it. The gap includes
 * the way out of the library and back and a reading of the clock, which is as much as an empty poll
 * takes; what the polls leave of the whole does not. But a thread that was preempted in a gap or
 * poll without a sample was not outside. So the smaller of the two counts.
 */
uint64_t mu_idle_outside(const struct mu_idle *idle, uint64_t whole)
{
	uint64_t gaps = idle->gap * mu_idle_period(idle);
	uint64_t polls = idle->inside * mu_idle_period(idle);
	uint64_t rest = polls < whole ? whole - polls : 0;

	return gaps < rest ? gaps : rest;
}

static void account_time(struct mu_idle *idle, uint64_t now)
{
	uint64_t own = now - idle->looked;

	idle->own_ns += own;
	idle->outside_ns += mu_idle_outside(idle, own);
	idle->looked = now;
	idle->gap = idle->inside = 0;
}

static void start_stretch(struct mu_idle *idle, uint64_t now)
{
	idle->since = idle->looked = now;
	idle->gap = idle->inside = idle->entered = 0;
	idle->own_ns = idle->outside_ns = 0;
	idle->nap_at = 0;
	idle->looks = 0;
	idle->sleep_ns = MU_IDLE_SLEEP_MIN_NS;
}

static int is_core_wanted(const struct mu_idle_policy *policy, const struct mu_idle *idle)
{
	return policy->crowded || idle->shared;
}

/* The program spends half of its time or more outside the library. */
static int has_other_work(const struct mu_idle *idle)
{
	return idle->outside_ns * 2 >= idle->own_ns;
}

static enum mu_idle_action start_nap(struct mu_idle *idle)
{
	idle->sleep_ns = MU_IDLE_NAP_NS;
	return MU_IDLE_NAP;
}

static enum mu_idle_action yield_or_spin(const struct mu_idle *idle, uint64_t now)
{
	return now >= idle->yield_at ? MU_IDLE_YIELD : MU_IDLE_SPIN;
}

static enum mu_idle_action decide_wait(const struct mu_idle *idle, uint64_t now)
{
	if (now - idle->since >= MU_IDLE_WAIT_NS || now < idle->slice_until)
		return MU_IDLE_SLEEP;
	return yield_or_spin(idle, now);
}

static enum mu_idle_action decide_poll(const struct mu_idle_policy *policy, struct mu_idle *idle,
				       uint64_t now)
{
	/* Each yield would cost a slice again: a program with other work keeps its share of the
	 * core, and one without naps, which the first arrival ends. */
	if (now < idle->slice_until)
		return has_other_work(idle) || now - idle->since < policy->spin_ns
			   ? MU_IDLE_SPIN
			   : start_nap(idle);
	if (has_other_work(idle))
		return yield_or_spin(idle, now);
	if (idle->own_ns < MU_IDLE_POLLS_NS)
		return yield_or_spin(idle, now);
	if (now - idle->since >= MU_IDLE_POLLS_LONG_NS)
		return MU_IDLE_SLEEP;
	return now < idle->nap_at ? yield_or_spin(idle, now) : start_nap(idle);
}

enum mu_idle_action mu_idle_decide(const struct mu_idle_policy *policy, struct mu_idle *idle,
				   unsigned how, uint64_t now)
{
	if (policy->setting == MU_IDLE_ONLY_SPIN)
		return MU_IDLE_SPIN;
	if (!idle->since)
		start_stretch(idle, now);
	account_time(idle, now);
	idle->looks++;
	idle->left = now;
	idle->skip = is_core_wanted(policy, idle) ? 0 : MU_IDLE_LOOK_ALONE - MU_IDLE_LOOK;
	if (!is_core_wanted(policy, idle) && now - idle->since < policy->spin_ns)
		return MU_IDLE_SPIN;
	if (how & MU_IDLE_AGAIN || policy->setting == MU_IDLE_NO_SLEEP)
		return yield_or_spin(idle, now);
	if (policy->crowded && how & MU_IDLE_BELL && idle->looks >= MU_IDLE_BELL_LOOKS &&
	    !has_other_work(idle))
		return start_nap(idle);
	if (how & MU_IDLE_WAIT || policy->setting == MU_IDLE_ALL_WAIT)
		return decide_wait(idle, now);
	return decide_poll(policy, idle, now);
}

static void learn_yield(const struct mu_idle_policy *policy, struct mu_idle *idle, uint64_t cost,
			uint64_t after)
{
	int slice = cost >= MU_IDLE_SLICE_NS;

	idle->shared = cost >= MU_IDLE_PARTNER_NS;
	idle->slice_until = slice && !policy->crowded ? after + MU_IDLE_SLICE_WAIT_NS : 0;
	idle->yield_at = slice || !is_core_wanted(policy, idle) ? after + policy->spin_ns : 0;
}

void mu_idle_learn(const struct mu_idle_policy *policy, struct mu_idle *idle,
		   enum mu_idle_action action, uint64_t before, uint64_t after)
{
	if (action == MU_IDLE_YIELD) {
		learn_yield(policy, idle, after - before, after);
	} else if (action == MU_IDLE_NAP) {
		idle->nap_at = after + MU_IDLE_NAP_NS;
		idle->yield_at = after + policy->spin_ns;
		idle->sleep_ns = MU_IDLE_SLEEP_MIN_NS;
	} else if (action == MU_IDLE_SLEEP && idle->sleep_ns < policy->max_sleep_ns) {
		idle->sleep_ns *= 2;
	}
	idle->looked = idle->left = after;
}
