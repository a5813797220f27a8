/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine thread: makes progress on channels that no thread polls. How threads of the program
 * wait is in idle.c; the constants are in idle_policy.h.
 *
 * Each poll stamps its channel. The engine thread checks the stamps every tick (50 us, doubling to
 * 1 ms while they move). It runs the engine of a channel that is polled less than every 10 us,
 * without dispatching; with more tasks than processors, of a channel that was not polled at all. It
 * leaves alone a channel whose engine another thread holds (for a tick that counts as polled) and
 * those of the commthreads, of which it is number 0. If no channel is polled it also serves the
 * port and the routers. With nothing to do it keeps polling for 20 us, then sleeps on the words
 * that arriving records ring. While a thread of the program sleeps inside mu_wait(), that thread
 * serves all this instead.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/cpu.h"
#include "drivers/base/log.h"
#include "mu/engine/engine.h"
#include "mu/launch/launch.h"
#include "mu/process.h"
#include "mu/progress/commthread.h"
#include "mu/progress/idle.h"
#include "mu/transport/transport.h"

#define AGENT_PERIOD_NS 100000000u /* between two looks whether the agent lives */

/*
 * Yield, and tell by its duration which thread ran. After a short while a partner gave the core
 * back: a thread that polls or waits as this one does, probably for this one, on this core even if
 * others are idle (the kernel does not migrate a thread that has just run). A CPU-bound thread
 * keeps the core for a time slice; yield to it as rarely as possible.
 */
enum ran { RAN_NONE, RAN_PARTNER, RAN_OTHER, RAN_SLICE };

static enum ran yield_timed(void)
{
	uint64_t before = drv_clock_ticks(), us = drv_clock_ticks_per_us(), took;

	sched_yield();
	took = drv_clock_ticks() - before;
	return took < MU_IDLE_PARTNER_NS / 1000 * us          ? RAN_NONE
	       : took < MU_SERVICE_PARTNER_MAX_NS / 1000 * us ? RAN_PARTNER
	       : took < MU_IDLE_SLICE_NS / 1000 * us          ? RAN_OTHER
							      : RAN_SLICE;
}

int mu_engine_run(struct mu_channel *ch)
{
	int n;

	if (!mu_lock_try(&ch->engine.lock))
		return 0;
	n = mu_engine_receive(ch, 64, 0);
	if (mu_has_pending_injection(ch))
		n += mu_engine_inject(ch);
	mu_lock_release(&ch->engine.lock);
	return n;
}

/*
 * Did a thread of the program poll this channel often enough in the last `ns`? A poll now and then,
 * between computations, is not enough: what arrives in between would wait for the next one.
 */
static bool is_polled(const struct mu_channel *ch, uint64_t ns)
{
	uint64_t polls = atomic_load_relaxed(&ch->progress.stamp) - ch->progress.stamp_seen;

	/* With more tasks than processors the next poll comes after all other tasks have run, and
	 * the engine thread would make that wait longer. */
	if (ch->p->yields)
		return polls != 0;
	/*
	 * A thread inside a poll sends much, or was preempted, perhaps by this thread: competing
	 * with it does not help. But a thread that stays there runs a long function of the program,
	 * which may even wait for what this thread is to deliver.
	 */
	if (mu_lock_is_held(&ch->engine.lock))
		return polls || ch->progress.still_ns + ns < MU_SERVICE_TICK_MAX_NS;
	return polls >= MU_SERVICE_POLLS_MIN && polls * MU_SERVICE_POLL_PERIOD_NS >= ns;
}

static void note_stamp(struct mu_channel *ch, uint64_t ns)
{
	uint64_t stamp = atomic_load_relaxed(&ch->progress.stamp);

	ch->progress.still_ns = stamp == ch->progress.stamp_seen ? ch->progress.still_ns + ns : 0;
	ch->progress.stamp_seen = stamp;
}

/* Run the engines of the channels that no thread polls. ns: time since the last tick. */
static int run_channels(struct mu_process *p, uint64_t ns)
{
	int n = 0;

	mu_lock_acquire(&p->channels_lock);
	for (unsigned i = 0; i < atomic_load_acquire(&p->channels_open); i++) {
		struct mu_channel *ch = atomic_ptr_load_acquire(&p->channel[i]);
		bool skip;

		if (!ch || atomic_load_relaxed(&ch->progress.owned))
			continue;
		skip = is_polled(ch, ns);
		note_stamp(ch, ns);
		if (!skip)
			n += mu_engine_run(ch);
	}
	mu_lock_release(&p->channels_lock);
	return n;
}

/* Is any channel polled? *held: a thread has held an engine for long, so records for that channel
 * stay where they are. */
static bool is_any_polled(struct mu_process *p, uint64_t ns, bool *held)
{
	bool polled = false;

	*held = false;
	mu_lock_acquire(&p->channels_lock);
	for (unsigned i = 0; i < atomic_load_acquire(&p->channels_open); i++) {
		struct mu_channel *ch = atomic_ptr_load_acquire(&p->channel[i]);

		if (!ch || atomic_load_relaxed(&ch->progress.owned))
			continue;
		if (is_polled(ch, ns))
			polled = true;
		else if (mu_lock_is_held(&ch->engine.lock))
			*held = true;
	}
	mu_lock_release(&p->channels_lock);
	return polled;
}

static int run_once(struct mu_process *p, int alone, uint64_t ns)
{
	int n = run_channels(p, ns);

	if (alone)
		n += p->remote->poll(p, NULL);
	p->remote->flush(p, NULL);
	return n;
}

struct engine {
	int64_t tick_ns;
	uint64_t next_ns;     /* time of the next tick */
	uint64_t last_ns;     /* time of the last tick */
	uint64_t quiet_since; /* ticks of the clock: it keeps polling since then; 0: it does not */
	unsigned stay;        /* rounds with work before the next yield */
	bool shared;          /* another thread wants this core: sleep at once when idle */
	bool alone;           /* no channel is polled: sleep until something arrives */
	bool held;            /* a thread has held a channel's engine for long */
	uint64_t agent_at_ns; /* look then whether the agent lives; UINT64_MAX: never */
};

/* One round of the engine thread. Returns the number of events. */
static int engine_round(struct mu_process *p, struct engine *e)
{
	uint64_t now = drv_clock_ns();
	bool waiting, polled;
	int n;

	if (now < e->next_ns)
		return 0;
	if (__builtin_expect(now >= e->agent_at_ns, 0)) {
		mu_launch_check_agent(p->host);
		e->agent_at_ns = now + AGENT_PERIOD_NS;
	}
	waiting = atomic_load_relaxed(&p->waiting) != 0;
	polled = is_any_polled(p, now - e->last_ns, &e->held);
	n = run_once(p, !polled && !waiting, now - e->last_ns);
	e->last_ns = now;
	e->alone = !polled && !waiting;
	if (n) {
		e->quiet_since = 0;
	} else if (e->alone) {
		e->tick_ns = MU_SERVICE_TICK_MIN_NS;
		if (atomic_load_relaxed(&p->comm.owned[0]))
			e->next_ns = now + MU_SERVICE_PASS_PERIOD_NS;
	} else {
		e->next_ns = now + (uint64_t)e->tick_ns;
		e->tick_ns = waiting                                   ? MU_SERVICE_TICK_MAX_NS * 10
			     : e->tick_ns * 2 > MU_SERVICE_TICK_MAX_NS ? MU_SERVICE_TICK_MAX_NS
								       : e->tick_ns * 2;
	}
	return n;
}

/* More events often follow at once: keep polling for a while before sleeping. */
static bool may_linger(struct mu_process *p, struct engine *e)
{
	uint64_t now;

	if (p->yields || e->shared || e->held)
		return false;
	now = drv_clock_ticks();
	if (!e->quiet_since)
		e->quiet_since = now;
	if (now - e->quiet_since >= MU_SERVICE_LINGER_NS / 1000 * drv_clock_ticks_per_us())
		return false;
	drv_cpu_relax();
	return true;
}

/* The round had events. A thread that waits for them may want this core. */
static void yield_after_work(struct mu_process *p, struct engine *e, int serves)
{
	enum ran ran;

	if (p->yields || !serves) {
		sched_yield();
	} else if (e->stay) {
		e->stay--;
	} else {
		ran = yield_timed();
		e->shared = ran != RAN_NONE;
		e->stay = ran >= RAN_OTHER ? MU_SERVICE_STAY_ROUNDS : 0;
	}
}

static void sleep_ns(int64_t ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void engine_sleep(struct mu_process *p, struct engine *e)
{
	int64_t left = (int64_t)(e->next_ns - drv_clock_ns()), ns = MU_SERVICE_SLEEP_MAX_NS;
	int unsent = 0;

	e->quiet_since = 0;
	if (atomic_load_relaxed(&p->comm.owned[0]) && mu_commthread_sleep_fixed(p, ns)) {
		mu_comm_count(&p->area->comm[0].sleeps, 1);
		e->next_ns = 0;
	} else if (e->alone) {
		e->next_ns = 0;
		/* The work may be for the channel whose engine is held: do not hurry. */
		if (e->held && mu_process_has_work(p, 0, &unsent)) {
			sleep_ns(MU_SERVICE_TICK_MIN_NS);
		} else if (mu_process_has_work(p, 0, &unsent) ||
			   mu_commthread_has_work(p, 0, &ns)) {
			sched_yield();
		} else {
			mu_comm_count(&p->area->comm[0].sleeps,
				      atomic_load_relaxed(&p->comm.owned[0]) != 0);
			mu_idle_sleep(p, NULL, MU_SERVICE_SLEEP_MAX_NS);
		}
	} else if (left > 0 && atomic_load_relaxed(&p->comm.owned[0])) {
		mu_commthread_sleep(p, 0, left);
	} else if (left > 0) {
		sleep_ns(left);
	}
}

static void *engine_thread(void *arg)
{
	struct mu_process *p = arg;
	struct engine e = {.tick_ns = MU_SERVICE_TICK_MIN_NS,
			   .agent_at_ns = mu_launch_has_agent(p->host) ? 0 : UINT64_MAX};
	struct mu_comm_passes at = {0};
	int bound = 0, spins;

	while (!atomic_load_acquire(&p->thread_stop)) {
		int serves = atomic_load_relaxed(&p->comm.owned[0]) != 0;
		/* Serve first, so that messages are dispatched from the ring and not stored. */
		int n = serves ? mu_commthread_run_pass(p, 0) : 0, again = n < 0;
		uint64_t before;

		if (serves && !bound++)
			drv_cpu_bind_service(p->share, p->sharers, 0);
		n = engine_round(p, &e) + (again ? 0 : n);
		if (n) {
			at.loops = 0;
			yield_after_work(p, &e, serves);
			continue;
		}
		if (again) {
			at.loops = 0;
			sched_yield();
			continue;
		}
		spins = atomic_load_relaxed(&p->comm.spins);
		if ((e.alone && may_linger(p, &e)) ||
		    (serves && (!e.shared || spins) && !mu_commthread_may_sleep(p, &at)))
			continue;
		before = drv_clock_fast_ns();
		engine_sleep(p, &e);
		if (serves)
			mu_commthread_adapt_passes(p, &at, drv_clock_fast_ns() - before);
	}
	return NULL;
}

int mu_engine_thread_start(struct mu_process *p)
{
	int rc = mu_service_thread_start(engine_thread, p, &p->thread);

	if (rc) {
		drv_error("cannot start the engine thread: %s; raise ulimit -u", strerror(-rc));
		return rc;
	}
	p->thread_runs = 1;
	return 0;
}

void mu_engine_thread_stop(struct mu_process *p)
{
	if (!p->thread_runs)
		return;
	atomic_store_release(&p->thread_stop, 1);
	drv_wake_now(&p->area->wake[0]);
	drv_wake_now(&p->area->wake[1]);
	mu_commthreads_stop(p);
	pthread_join(p->thread, NULL);
	p->thread_runs = 0;
}
