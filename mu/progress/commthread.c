/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commthreads: the pool of threads that run functions for channels given to them. The engine thread
 * is number 0. Further threads start when there are more channels than threads, up to
 * PAMI_MAX_COMMTHREADS. Source: docs/hardware.md 9.
 *
 * A channel has one owner. Its ring names the owner's wakeup word (ring.user), so a message wakes
 * that thread and no other. An owner passes over its channels. After some passes that found nothing
 * (PAMI_COMMTHREAD_MIN_LOOPS to _MAX_LOOPS; more after sleeps that were short) it arms its word,
 * checks once more and sleeps.
 *
 * Stepping aside: each poll stamps its channel. If the stamp differs from the one that the owner
 * left, a thread of the program polls the channel. The owner then leaves the channel alone for a
 * tick (50 us, doubling to 1 ms while the stamp moves), and messages to the channel wake no thread.
 *
 * In virtual time the process's own thread runs the functions, on a clock of the commthread's own,
 * where it reads the clock, posts work or makes an empty poll. A stand-in thread does it while that
 * thread neither calls nor lets virtual time advance (mu/vtime/standin.c). Whether the commthread
 * would sleep follows from the same number of passes, and the time that so many would take; if it
 * would, its next work costs a wakeup (commthread_wakeup in mu/vtime/cost.def).
 */
#define _GNU_SOURCE
#include "mu/progress/commthread.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/cpu.h"
#include "drivers/base/log.h"
#include "drivers/base/settings.h"
#include "mu/engine/engine.h"
#include "mu/engine/known_memory.h"
#include "mu/process.h"
#include "mu/progress/idle.h"
#include "mu/progress/wakeup.h"
#include "mu/vtime/vtask.h"

_Thread_local int mu_commthread_call_depth __attribute__((tls_model("initial-exec")));

void mu_commthreads_init(struct mu_process *p, unsigned cpus)
{
	struct mu_comm *c = &p->comm;
	unsigned normal = p->clock->commthreads(p, cpus);

	c->max = drv_setting_is_set(DRV_PAMI_MAX_COMMTHREADS)
		     ? (unsigned)drv_setting_number(DRV_PAMI_MAX_COMMTHREADS)
		     : normal;
	if (c->max > MU_COMMTHREADS)
		c->max = MU_COMMTHREADS;
	c->min_loops = (unsigned)drv_setting_number(DRV_PAMI_COMMTHREAD_MIN_LOOPS);
	c->max_loops = (unsigned)drv_setting_number(DRV_PAMI_COMMTHREAD_MAX_LOOPS);
	if (c->max_loops < c->min_loops)
		c->max_loops = c->min_loops;
	atomic_store_relaxed(&c->sleep_ns, (int64_t)drv_setting_number(DRV_PAMI_COMMTHREAD_SLEEP));
}

/* Set the wakeup word that senders to the channel ring, and whether a commthread serves it. */
static void set_wake_target(struct mu_comm_entry *e, unsigned wake, int owned)
{
	atomic_store_relaxed(&e->ch->progress.owned, (uint8_t)owned);
	atomic_store_release(&e->ch->a->ring.user, wake);
}

static int call_function(struct mu_comm_entry *e)
{
	int n;

	mu_commthread_call_depth++;
	n = e->fn(e->arg);
	mu_commthread_call_depth--;
	return n;
}

/* Leave the channel to the program's threads for a tick. */
static void step_aside(struct mu_comm_entry *e, uint64_t now)
{
	if (!e->serve_at) {
		set_wake_target(e, 0, 0);
		atomic_store_relaxed(&e->tick_ns, MU_SERVICE_TICK_MIN_NS);
	} else if (atomic_load_relaxed(&e->tick_ns) < MU_SERVICE_TICK_MAX_NS) {
		atomic_store_relaxed(&e->tick_ns, atomic_load_relaxed(&e->tick_ns) * 2);
	}
	e->serve_at = now + (uint64_t)atomic_load_relaxed(&e->tick_ns);
}

/* Serve one channel of thread k. The caller holds e->running. Returns as
 * mu_commthread_run_pass(). */
static int serve_channel(struct mu_process *p, unsigned k, struct mu_comm_entry *e)
{
	struct mu_channel *ch = e->ch;
	uint64_t stamp;
	int n, again;

	if (!e->fn)
		return 0;
	if (e->serve_at && drv_clock_ns() < e->serve_at)
		return 0;
	stamp = atomic_load_relaxed(&ch->progress.stamp);
	if (stamp != e->stamp) {
		e->stamp = stamp;
		mu_comm_count(&p->area->comm[k].aside, !e->serve_at);
		step_aside(e, drv_clock_ns());
		return 0;
	}
	if (e->serve_at) {
		e->serve_at = 0;
		set_wake_target(e, k + 1, 1);
	}
	n = call_function(e);
	again = n < 0;
	n = again ? 0 : n;
	e->stamp = atomic_load_relaxed(&ch->progress.stamp);
	/* The function could not poll because another thread holds the context. Run the engine
	 * without dispatching. */
	e->kept_out = e->stamp == stamp;
	if (e->kept_out)
		n += mu_engine_run(ch);
	return n ? n : -again;
}

int mu_commthread_run_pass(struct mu_process *p, unsigned k)
{
	uint64_t owned = atomic_load_acquire(&p->comm.owned[k]);
	struct mu_comm_counts *counts = &p->area->comm[k];
	int n = 0, again = 0;

	for (; owned; owned &= owned - 1) {
		struct mu_comm_entry *e = &p->comm.entry[__builtin_ctzll(owned)];

		if (mu_lock_try(&e->running)) {
			int found = serve_channel(p, k, e);

			n += found > 0 ? found : 0;
			again |= found < 0;
			mu_lock_release(&e->running);
		}
	}
	mu_comm_count(&counts->passes, 1);
	if (n) {
		mu_comm_count(&counts->busy, 1);
		mu_comm_count(&counts->events, (uint64_t)n);
	}
	return n ? n : -again;
}

static bool any_channel_has_work(struct mu_process *p, unsigned k, int64_t *ns)
{
	uint64_t owned = atomic_load_acquire(&p->comm.owned[k]), now = drv_clock_ns();
	bool found = false;

	for (; owned && !found; owned &= owned - 1) {
		struct mu_comm_entry *e = &p->comm.entry[__builtin_ctzll(owned)];
		int64_t until = *ns;

		if (!mu_lock_try(&e->running)) {
			/* Another thread helps, or removes the channel. */
			until = atomic_load_relaxed(&e->tick_ns);
			until = until < MU_SERVICE_TICK_MIN_NS ? MU_SERVICE_TICK_MIN_NS : until;
		} else {
			/* No wake-up announces that the context is unlocked, nor that the target
			 * has room. */
			if (e->fn && e->serve_at)
				until = e->serve_at > now ? (int64_t)(e->serve_at - now) : 0;
			else if (e->fn && e->kept_out)
				until = MU_SERVICE_TICK_MIN_NS * 4;
			else if (e->fn && !(found = mu_channel_has_work(e->ch, true)) &&
				 mu_has_pending_injection(e->ch))
				until = MU_SERVICE_TICK_MIN_NS;
			mu_lock_release(&e->running);
		}
		if (until < *ns)
			*ns = until;
	}
	return found;
}

bool mu_commthread_has_work(struct mu_process *p, unsigned k, int64_t *ns)
{
	return atomic_load_relaxed(&p->comm.owned[k]) && any_channel_has_work(p, k, ns);
}

bool mu_commthread_sleep_fixed(struct mu_process *p, int64_t most_ns)
{
	int64_t ns = atomic_load_relaxed(&p->comm.sleep_ns);
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	if (!ns || ns >= most_ns)
		return false;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	return true;
}

void mu_commthread_sleep(struct mu_process *p, unsigned k, int64_t ns)
{
	struct mu_wakeup region = {.count = 0};

	if (mu_commthread_sleep_fixed(p, ns)) {
		mu_comm_count(&p->area->comm[k].sleeps, 1);
		return;
	}
	/* Check before arming, which costs a barrier in every process. */
	if (mu_commthread_has_work(p, k, &ns))
		return;
	mu_wakeup_watch(&region, &p->area->wake[k + 1]);
	mu_wakeup_arm(&region);
	if (!mu_commthread_has_work(p, k, &ns) && !atomic_load_acquire(&p->thread_stop) && ns > 0) {
		mu_comm_count(&p->area->comm[k].sleeps, 1);
		mu_wakeup_wait(&region, ns);
	}
	mu_wakeup_disarm(&region);
}

/* After how many passes that found nothing does the thread sleep? UINT_MAX: it never does. */
static unsigned passes_before_sleep(struct mu_comm *c, struct mu_comm_passes *at)
{
	if (!at->limit)
		at->limit = c->min_loops;
	return atomic_load_relaxed(&c->spins) ? UINT_MAX : at->limit;
}

bool mu_commthread_may_sleep(struct mu_process *p, struct mu_comm_passes *at)
{
	unsigned limit = passes_before_sleep(&p->comm, at);
	bool spins = limit == UINT_MAX;

	if (++at->loops < limit || spins) {
		if ((p->yields || spins) && at->loops % 4 == 0)
			sched_yield();
		else
			drv_cpu_relax();
		return false;
	}
	at->loops = 0;
	return true;
}

void mu_commthread_adapt_passes(struct mu_process *p, struct mu_comm_passes *at, uint64_t ns)
{
	struct mu_comm *c = &p->comm;

	if (ns < MU_SERVICE_SLEEP_SHORT_NS)
		at->limit = at->limit > c->max_loops / 2 ? c->max_loops : at->limit * 2;
	else
		at->limit = at->limit / 2 < c->min_loops ? c->min_loops : at->limit / 2;
}

static void *run_commthread(void *arg)
{
	struct mu_comm_thread *t = arg;
	struct mu_process *p = &mu_self;
	struct mu_comm_passes at = {0};

	drv_cpu_bind_service(p->share, p->sharers, t->number);
	while (!atomic_load_acquire(&p->thread_stop)) {
		int found = mu_commthread_run_pass(p, t->number);
		uint64_t before;

		if (found) {
			at.loops = 0;
			if (p->yields || found < 0)
				sched_yield();
			continue;
		}
		if (!mu_commthread_may_sleep(p, &at))
			continue;
		before = drv_clock_fast_ns();
		mu_commthread_sleep(p, t->number, MU_SERVICE_SLEEP_MAX_NS);
		mu_commthread_adapt_passes(p, &at, drv_clock_fast_ns() - before);
	}
	return NULL;
}

void mu_commthread_set_pace(int64_t ns)
{
	struct mu_comm *c = &mu_self.comm;

	atomic_store_relaxed(&c->spins, ns == 0);
	atomic_store_relaxed(&c->sleep_ns, ns > 0 ? ns : 0);
}

int mu_service_thread_start(void *(*run)(void *), void *arg, pthread_t *thread)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 << 10);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

/* The thread with the fewest channels; the lowest number of several. */
static unsigned choose_thread(const struct mu_comm *c)
{
	unsigned best = 0, best_count = 65;

	for (unsigned k = 0; k < c->max; k++) {
		unsigned count = (unsigned)__builtin_popcountll(atomic_load_relaxed(&c->owned[k]));

		if (count < best_count) {
			best = k;
			best_count = count;
		}
	}
	return best;
}

int mu_commthread_start(struct mu_process *p, unsigned k)
{
	struct mu_comm_thread *t = &p->comm.thread[k];
	int rc = 0;

	if (k && !t->runs) {
		t->number = k;
		rc = mu_service_thread_start(run_commthread, t, &t->thread);
		t->runs = !rc;
	}
	if (!rc && atomic_load_relaxed(&p->area->wakes) < k + 2)
		atomic_store_release(&p->area->wakes, k + 2);
	return rc;
}

int mu_commthread_add(struct mu_channel *ch, int (*fn)(void *), void *arg, int shared)
{
	struct mu_process *p = ch->p;
	struct mu_comm *c = &p->comm;
	struct mu_comm_entry *e = &c->entry[ch->index];
	unsigned k;
	int rc;

	if (!c->max)
		return -EOPNOTSUPP;
	mu_known_share();
	mu_lock_acquire(&c->lock);
	k = choose_thread(c);
	rc = p->clock->start_commthread(p, k);
	if (rc && k) { /* the engine thread serves instead */
		drv_warn("commthread %u cannot start: %s; %u threads serve instead", k,
			 strerror(-rc), k);
		c->max = k;
		k = 0;
		rc = p->clock->start_commthread(p, k);
	}
	if (!rc) {
		mu_lock_acquire(&e->running);
		e->ch = ch;
		e->fn = fn;
		e->arg = arg;
		e->owner = (uint8_t)k;
		atomic_store_relaxed(&e->shared, shared != 0);
		e->serve_at = 0;
		e->kept_out = false;
		e->stamp = atomic_load_relaxed(&ch->progress.stamp);
		set_wake_target(e, k + 1, 1);
		mu_lock_release(&e->running);
		atomic_fetch_add_release(&c->count, 1);
		atomic_fetch_add_release(&c->shared, shared != 0);
		atomic_fetch_or_release(&c->owned[k], 1ull << ch->index);
	}
	mu_lock_release(&c->lock);
	if (!rc)
		p->clock->note_channels(p, k, true);
	return rc;
}

void mu_commthread_remove(struct mu_channel *ch)
{
	struct mu_comm *c = &ch->p->comm;
	struct mu_comm_entry *e = &c->entry[ch->index];

	mu_lock_acquire(&c->lock);
	if (atomic_load_relaxed(&c->owned[e->owner]) >> ch->index & 1) {
		atomic_fetch_and_release(&c->owned[e->owner], ~(1ull << ch->index));
		mu_lock_acquire(&e->running); /* wait until fn does not run */
		e->fn = NULL;
		set_wake_target(e, 0, 0);
		atomic_fetch_sub_release(&c->count, 1);
		atomic_fetch_sub_release(&c->shared, atomic_load_relaxed(&e->shared));
		atomic_store_relaxed(&e->shared, 0);
		mu_lock_release(&e->running);
	}
	mu_lock_release(&c->lock);
	ch->p->clock->note_channels(ch->p, e->owner, false);
}

unsigned mu_commthread_max(void)
{
	return mu_self.comm.max;
}

int mu_commthread_help_shared(struct mu_process *p, bool all)
{
	int n = 0, again = 0;

	if (mu_commthread_call_depth)
		return 0;
	for (unsigned i = 0; i < atomic_load_acquire(&p->channels_open); i++) {
		struct mu_comm_entry *e = &p->comm.entry[i];

		if (!atomic_load_relaxed(&e->shared) || (!all && !mu_channel_has_mail(i)) ||
		    !mu_lock_try(&e->running))
			continue;
		if (e->fn) {
			int found;

			/* This thread's own poll has just served the port. */
			mu_idle_thread.helping = 1;
			found = call_function(e);
			mu_idle_thread.helping = 0;
			n += found > 0 ? found : 0;
			again |= found < 0;
		}
		mu_lock_release(&e->running);
	}
	return n ? n : -again;
}

/*
 * Virtual time: how many polls in vain does thread k make before it sleeps? UINT64_MAX: it does not
 * sleep. A pass is a poll of each of its channels.
 */
static uint64_t polls_before_sleep(struct mu_comm *c, unsigned k)
{
	uint64_t owned = atomic_load_relaxed(&c->owned[k]);
	unsigned passes = passes_before_sleep(c, &c->virtual_passes[k]);

	if (passes == UINT_MAX || c->virtual_again & owned)
		return UINT64_MAX;
	return (uint64_t)passes * (unsigned)__builtin_popcountll(owned);
}

/* Virtual time: serve one channel as its thread would. Returns whether it found something, or asks
 * to be called again. */
static bool serve_virtual(struct mu_process *p, unsigned channel)
{
	struct mu_comm *c = &p->comm;
	struct mu_comm_entry *e = &c->entry[channel];
	unsigned k = e->owner;
	uint64_t slept_ps;
	int n;

	mu_vt_side_begin(k, polls_before_sleep(c, k));
	n = e->fn ? call_function(e) : 0;
	slept_ps = mu_vt_side_end(k, n != 0);
	if (slept_ps)
		mu_commthread_adapt_passes(p, &c->virtual_passes[k], slept_ps / 1000);
	c->virtual_again &= ~(1ull << channel);
	if (n < 0)
		c->virtual_again |= 1ull << channel;
	return n != 0;
}

int mu_commthread_serve_all(struct mu_process *p)
{
	uint64_t all = 0;
	int n = 0;

	if (mu_commthread_call_depth)
		return 0;
	for (unsigned k = 0; k < p->comm.max; k++)
		all |= atomic_load_relaxed(&p->comm.owned[k]);
	for (; all; all &= all - 1) {
		struct mu_comm_entry *e = &p->comm.entry[__builtin_ctzll(all)];

		int found;

		if (!mu_lock_try(&e->running))
			continue;
		found = serve_virtual(p, (unsigned)__builtin_ctzll(all));
		n += found;
		mu_comm_count(&p->area->comm[e->owner].passes, 1);
		mu_comm_count(&p->area->comm[e->owner].busy, (uint64_t)found);
		mu_comm_count(&p->area->comm[e->owner].events, (uint64_t)found);
		mu_lock_release(&e->running);
	}
	return n;
}

void mu_commthreads_stop(struct mu_process *p)
{
	for (unsigned k = 1; k < MU_COMMTHREADS; k++)
		if (p->comm.thread[k].runs) {
			drv_wake_now(&p->area->wake[k + 1]);
			pthread_join(p->comm.thread[k].thread, NULL);
			p->comm.thread[k].runs = false;
		}
}
