/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commthreads: the pool of threads that run functions for channels given to them. The engine thread
 * is number 0; others start when more channels are given than there are threads, up to
 * PAMI_MAX_COMMTHREADS. Source: spec/mu.md 9.
 *
 * A channel has one owner, whose wakeup word its ring names (ring.user): a message wakes that thread
 * and no other. An owner passes over its channels; after some passes that found nothing (from
 * PAMI_COMMTHREAD_MIN_LOOPS to _MAX_LOOPS, more while sleeping did not pay) it arms its word, looks
 * once more and sleeps.
 *
 * Stepping aside: polls stamp a channel. Where the stamp is not as the owner left it, a thread of the
 * program polls: the owner leaves the channel alone for a tick (50 us, doubling to 1 ms while the
 * stamp moves), and messages to it wake nobody.
 *
 * In virtual time the process's own thread runs the functions where it reads the clock, posts, or
 * polls in vain, on a clock of the commthread's own. One thread stands in for that while it neither
 * calls nor lets virtual time go on (mu/vtask.c).
 */
#define _GNU_SOURCE
#include "mu/commthread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "drivers/base/clock.h"
#include "drivers/base/cpu.h"
#include "drivers/base/log.h"
#include "mu/vtask.h"
#include "mu/wakeup.h"

#define SHORT_SLEEP_US 20 /* a sleep shorter than this was not worth it: pass more often before the next */

static _Thread_local int inside __attribute__((tls_model("initial-exec"))); /* this thread runs such a function: its polls neither nest nor wait */

int mu_comm_inside(void)
{
	return inside;
}

static uint64_t knob(const char *name, uint64_t lo, uint64_t hi, uint64_t normal)
{
	const char *text = getenv(name);
	char *end;
	uint64_t value;

	if (!text || !*text)
		return normal;
	value = strtoull(text, &end, 0);
	if (*end || *text == '-' || value < lo || value > hi) {
		drv_warn("%s is \"%s\": it must be a number from %llu to %llu; using %llu", name, text,
		         (unsigned long long)lo, (unsigned long long)hi, (unsigned long long)normal);
		return normal;
	}
	return value;
}

void mu_comm_init(struct mu_process *p, unsigned cpus)
{
	struct mu_comm *c = &p->comm;
	uint32_t t = p->host->shape.t;
	uint64_t normal;

	/* The chip had 64 hardware threads a node, one of them the program's. */
	if (p->virtual_clock)
		normal = t < 64 ? 64 / t - 1 : 0;
	else
		normal = cpus / (p->sharers ? p->sharers : 1);
	normal = normal < 2 ? 1 : p->virtual_clock ? normal : normal - 1;
	if (normal > MU_COMMTHREADS)
		normal = MU_COMMTHREADS;
	c->max = (unsigned)knob("PAMI_MAX_COMMTHREADS", 0, 63, normal);
	if (c->max > MU_COMMTHREADS)
		c->max = MU_COMMTHREADS;
	c->min_loops = (unsigned)knob("PAMI_COMMTHREAD_MIN_LOOPS", 1, UINT32_MAX / 4, 10);
	c->max_loops = (unsigned)knob("PAMI_COMMTHREAD_MAX_LOOPS", 1, UINT32_MAX / 4, 100);
	if (c->max_loops < c->min_loops)
		c->max_loops = c->min_loops;
	c->sleep_ns = (int64_t)knob("PAMI_COMMTHREAD_SLEEP", 2000, 1000000000, 0);
}

/* What the channel's ring tells senders: whom to wake. */
static void point(struct mu_comm_entry *e, unsigned wake, int owned)
{
	__atomic_store_n(&e->ch->owned, (uint8_t)owned, __ATOMIC_RELAXED);
	__atomic_store_n(&e->ch->a->ring.user, wake, __ATOMIC_RELEASE);
}

static int call(struct mu_comm_entry *e)
{
	int n;

	inside++;
	n = e->fn(e->arg);
	inside--;
	return n;
}

/* Leave the channel to the program's threads; look again in a tick. */
static void step_aside(struct mu_comm_entry *e, uint64_t now)
{
	if (!e->look_at) {
		point(e, 0, 0);
		__atomic_store_n(&e->tick_ns, MU_TICK_MIN_NS, __ATOMIC_RELAXED);
	} else if (e->tick_ns < MU_TICK_MAX_NS) {
		__atomic_store_n(&e->tick_ns, e->tick_ns * 2, __ATOMIC_RELAXED);
	}
	e->look_at = now + (uint64_t)e->tick_ns;
}

/* One channel of this thread; its entry is locked. */
static int serve_one(struct mu_process *p, unsigned k, struct mu_comm_entry *e)
{
	struct mu_channel *ch = e->ch;
	uint64_t stamp;
	int n;

	if (!e->fn)
		return 0;
	if (e->look_at && drv_clock_ns() < e->look_at)
		return 0;
	stamp = __atomic_load_n(&ch->stamp, __ATOMIC_RELAXED);
	if (stamp != e->stamp) {
		e->stamp = stamp;
		step_aside(e, drv_clock_ns());
		return 0;
	}
	if (e->look_at) {
		e->look_at = 0;
		point(e, k + 1, 1);
	}
	n = call(e);
	e->stamp = __atomic_load_n(&ch->stamp, __ATOMIC_RELAXED);
	/* Whoever holds the context's lock does not poll: what the MU can do alone goes on. */
	e->kept_out = e->stamp == stamp;
	if (e->kept_out)
		n += mu_engine_alone(ch);
	return n;
}

int mu_comm_serve(struct mu_process *p, unsigned k)
{
	uint64_t mine = __atomic_load_n(&p->comm.mine[k], __ATOMIC_ACQUIRE);
	int n = 0;

	for (; mine; mine &= mine - 1) {
		struct mu_comm_entry *e = &p->comm.entry[__builtin_ctzll(mine)];

		if (mu_try(&e->running)) {
			n += serve_one(p, k, e);
			mu_unlock(&e->running);
		}
	}
	return n;
}

/* Has thread k something to do? When not, it may sleep up to *ns, which is lowered where it must look. */
static int ready(struct mu_process *p, unsigned k, int64_t *ns)
{
	uint64_t mine = __atomic_load_n(&p->comm.mine[k], __ATOMIC_ACQUIRE), now = drv_clock_ns();
	int found = 0;

	for (; mine && !found; mine &= mine - 1) {
		struct mu_comm_entry *e = &p->comm.entry[__builtin_ctzll(mine)];
		int64_t until = *ns;

		if (!mu_try(&e->running)) {
			until = __atomic_load_n(&e->tick_ns, __ATOMIC_RELAXED); /* somebody helps, or takes it away */
			until = until < MU_TICK_MIN_NS ? MU_TICK_MIN_NS : until;
		} else {
			if (e->fn && e->look_at)
				until = e->look_at > now ? (int64_t)(e->look_at - now) : 0;
			else if (e->fn && e->kept_out)
				until = MU_TICK_MIN_NS * 4; /* nobody tells when a lock is given back */
			else if (e->fn && !(found = mu_channel_ready(e->ch, 1)) && mu_inject_pending(e->ch))
				until = MU_TICK_MIN_NS; /* nor when there is room at the other end */
			mu_unlock(&e->running);
		}
		if (until < *ns)
			*ns = until;
	}
	return found;
}

int mu_comm_ready(struct mu_process *p, unsigned k, int64_t *ns)
{
	return __atomic_load_n(&p->comm.mine[k], __ATOMIC_RELAXED) && ready(p, k, ns);
}

int mu_comm_sleeps_by_time(struct mu_process *p, int64_t most_ns)
{
	int64_t ns = __atomic_load_n(&p->comm.sleep_ns, __ATOMIC_RELAXED);
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	if (!ns || ns >= most_ns)
		return 0;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	return 1;
}

void mu_comm_sleep(struct mu_process *p, unsigned k, int64_t ns)
{
	struct mu_wakeup region = { .count = 0 };

	if (mu_comm_sleeps_by_time(p, ns))
		return;
	if (mu_comm_ready(p, k, &ns)) /* before arming, which costs a barrier in every process */
		return;
	mu_wakeup_watch(&region, &p->area->wake[k + 1]);
	mu_wakeup_arm(&region);
	if (!mu_comm_ready(p, k, &ns) && !__atomic_load_n(&p->thread_stop, __ATOMIC_ACQUIRE) && ns > 0)
		mu_wakeup_wait(&region, ns);
	mu_wakeup_disarm(&region);
}

int mu_comm_may_sleep(struct mu_process *p, unsigned k, struct mu_comm_passes *at)
{
	struct mu_comm *c = &p->comm;
	int spins = __atomic_load_n(&c->spins, __ATOMIC_RELAXED);

	if (!at->limit)
		at->limit = c->min_loops;
	if (++at->loops < at->limit || spins) {
		if ((p->yields || spins) && at->loops % 4 == 0)
			sched_yield();
		else
			drv_cpu_relax();
		return 0;
	}
	at->loops = 0;
	return 1;
}

void mu_comm_slept(struct mu_process *p, struct mu_comm_passes *at, uint64_t ticks)
{
	struct mu_comm *c = &p->comm;

	if (ticks < SHORT_SLEEP_US * drv_clock_ticks_per_us())
		at->limit = at->limit > c->max_loops / 2 ? c->max_loops : at->limit * 2;
	else
		at->limit = at->limit / 2 < c->min_loops ? c->min_loops : at->limit / 2;
}

static void *commthread(void *arg)
{
	struct mu_comm_thread *t = arg;
	struct mu_process *p = &mu_self;
	struct mu_comm_passes at = { 0 };

	drv_cpu_bind_service(p->local, p->sharers, t->number);
	while (!__atomic_load_n(&p->thread_stop, __ATOMIC_ACQUIRE)) {
		uint64_t before;

		if (mu_comm_serve(p, t->number)) {
			at.loops = 0;
			if (p->yields)
				sched_yield();
			continue;
		}
		if (!mu_comm_may_sleep(p, t->number, &at))
			continue;
		before = drv_clock_ticks();
		mu_comm_sleep(p, t->number, MU_ARMED_NS);
		mu_comm_slept(p, &at, drv_clock_ticks() - before);
	}
	return NULL;
}

void mu_commthread_pace(int64_t ns)
{
	struct mu_comm *c = &mu_self.comm;

	__atomic_store_n(&c->spins, ns == 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->sleep_ns, ns > 0 ? ns : 0, __ATOMIC_RELAXED);
}

int mu_comm_start(void *(*run)(void *), void *arg, pthread_t *thread)
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

/* The thread with the fewest channels, one that does not run yet before a second channel each. */
static unsigned choose(const struct mu_comm *c)
{
	unsigned best = 0, best_count = 65;

	for (unsigned k = 0; k < c->max; k++) {
		unsigned count = (unsigned)__builtin_popcountll(c->mine[k]);

		if (count < best_count) {
			best = k;
			best_count = count;
		}
	}
	return best;
}

/* In virtual time one thread stands in for all, where the program's own cannot. */
static void tell_virtual(struct mu_process *p)
{
	uint64_t all = 0;

	for (unsigned k = 0; k < p->comm.max; k++)
		all |= __atomic_load_n(&p->comm.mine[k], __ATOMIC_RELAXED);
	if (p->virtual_clock)
		mu_vt_serves(all, mu_comm_virtual, p);
}

static int thread_needed(struct mu_process *p, unsigned k)
{
	struct mu_comm_thread *t = &p->comm.thread[k];
	int rc = 0;

	if (p->virtual_clock)
		return 0;
	if (k && !t->runs) {
		t->number = k;
		rc = mu_comm_start(commthread, t, &t->thread);
		t->runs = !rc;
	}
	if (!rc && p->area->wakes < k + 2)
		__atomic_store_n(&p->area->wakes, k + 2, __ATOMIC_RELEASE);
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
	mu_lock(&c->lock);
	k = choose(c);
	rc = thread_needed(p, k);
	if (rc && k) { /* no further thread: the engine thread is there */
		drv_warn("commthread %u: %s; fewer serve", k, strerror(-rc));
		c->max = k;
		k = 0;
		rc = thread_needed(p, k);
	}
	if (!rc) {
		mu_lock(&e->running);
		e->ch = ch;
		e->fn = fn;
		e->arg = arg;
		e->owner = (uint8_t)k;
		__atomic_store_n(&e->shared, shared != 0, __ATOMIC_RELAXED);
		e->look_at = 0;
		e->kept_out = 0;
		e->stamp = __atomic_load_n(&ch->stamp, __ATOMIC_RELAXED);
		point(e, k + 1, 1);
		mu_unlock(&e->running);
		__atomic_fetch_add(&c->count, 1, __ATOMIC_RELEASE);
		__atomic_fetch_add(&c->shared, shared != 0, __ATOMIC_RELEASE);
		__atomic_fetch_or(&c->mine[k], 1ull << ch->index, __ATOMIC_RELEASE);
		if (!p->virtual_clock) {
			drv_wake_now(&p->area->wake[k + 1]);
			drv_wake_now(&p->area->wake[0]); /* the engine thread: no longer its channel, or now more so */
		}
	}
	mu_unlock(&c->lock);
	tell_virtual(p);
	return rc;
}

void mu_commthread_remove(struct mu_channel *ch)
{
	struct mu_comm *c = &ch->p->comm;
	struct mu_comm_entry *e = &c->entry[ch->index];

	mu_lock(&c->lock);
	if (c->mine[e->owner] >> ch->index & 1) {
		__atomic_fetch_and(&c->mine[e->owner], ~(1ull << ch->index), __ATOMIC_RELEASE);
		mu_lock(&e->running); /* until it is not running */
		e->fn = NULL;
		point(e, 0, 0);
		__atomic_fetch_sub(&c->count, 1, __ATOMIC_RELEASE);
		__atomic_fetch_sub(&c->shared, e->shared, __ATOMIC_RELEASE);
		__atomic_store_n(&e->shared, 0, __ATOMIC_RELAXED);
		mu_unlock(&e->running);
	}
	mu_unlock(&c->lock);
	tell_virtual(ch->p);
}

unsigned mu_commthreads(void)
{
	return mu_self.comm.max;
}

/* An idle thread of the program lends a hand where that was asked for; the owner then steps aside. */
int mu_comm_help(struct mu_process *p)
{
	int n = 0;

	if (inside)
		return 0;
	for (unsigned i = 0; i < __atomic_load_n(&p->channels_open, __ATOMIC_ACQUIRE); i++) {
		struct mu_comm_entry *e = &p->comm.entry[i];

		if (!__atomic_load_n(&e->shared, __ATOMIC_RELAXED) || !mu_try(&e->running))
			continue;
		if (e->fn) {
			mu_idle_state.helping = 1; /* our own poll, a moment ago, looked at the port */
			n += call(e);
			mu_idle_state.helping = 0;
		}
		mu_unlock(&e->running);
	}
	return n;
}

int mu_comm_virtual(struct mu_process *p)
{
	uint64_t all = 0;
	int n = 0;

	if (inside)
		return 0;
	for (unsigned k = 0; k < p->comm.max; k++)
		all |= p->comm.mine[k];
	for (; all; all &= all - 1) {
		struct mu_comm_entry *e = &p->comm.entry[__builtin_ctzll(all)];

		if (!mu_try(&e->running))
			continue;
		mu_vt_side_begin(e->owner);
		n += e->fn ? call(e) : 0;
		mu_vt_side_end(e->owner);
		mu_unlock(&e->running);
	}
	return n;
}

void mu_comm_stop(struct mu_process *p)
{
	for (unsigned k = 1; k < MU_COMMTHREADS; k++)
		if (p->comm.thread[k].runs) {
			drv_wake_now(&p->area->wake[k + 1]);
			pthread_join(p->comm.thread[k].thread, NULL);
			p->comm.thread[k].runs = 0;
		}
}
