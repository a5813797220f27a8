/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who works when nobody polls, and how waiting threads wait.
 *
 * A polling thread stamps its channel. The engine thread looks at the stamps every tick (50 us, doubling to 1 ms while
 * they move). A channel polled less than every 10 us (where tasks outnumber processors: not at all) it runs itself,
 * without dispatching; it leaves alone one whose engine is taken (for a tick that counts as polled), and those of the commthreads, of which it is number 0
 * (commthread.c). Where no channel is polled it serves the port and the routers too. With nothing to do it looks around
 * for 20 us, then sleeps on the words that arriving records ring. Whoever sleeps inside mu_poll() is left these.
 *
 * A thread whose polls find nothing spins, then yields, timing each yield to tell who else wants its core, then sleeps on
 * the same words and that of posted work: 1 ms at first, later 10 ms (more with many tasks), which bounds what it cannot
 * see. Waiting for one word of another task, where tasks outnumber processors, it sleeps without the barrier (mu_watch_far()).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/base/cpu.h"
#include "drivers/base/log.h"
#include "mu/commthread.h"
#include "mu/holder.h"
#include "mu/live.h"
#include "mu/process.h"
#include "mu/vtask.h"
#include "mu/wakeup.h"

#define PASSES_NS     5000 /* while it passes over contexts as commthread 0: the engines as often */
#define SLEEP_MIN_NS  1000000
#define SLEEP_MAX_NS  10000000  /* per 16 tasks of the host: waiting stays below 1% of a core */
#define FAR_NS        1000000
#define FAR_WORDS     8
#define POLL_NS       10000 /* who polls less often than this computes */
#define POLLS_LEAST   4
#define PARTNER_MIN_US 2
#define PARTNER_MAX_US 100
#define STAY_ROUNDS   64
#define SLICE_MIN_US  1000
#define ROBBED_MIN    16
#define ROBBED_MAX    1024

static int64_t sleep_max(const struct mu_process *p)
{
	uint32_t share = (p->host->locals + 15) / 16;

	return SLEEP_MAX_NS * (int64_t)(share ? share : 1);
}

/* Has the word become what the channel waits for? */
static int watched_ready(struct mu_channel *ch)
{
	const uint64_t *word = __atomic_load_n(&ch->watch, __ATOMIC_ACQUIRE);

	return word && __atomic_load_n(word, __ATOMIC_ACQUIRE) >=
			       __atomic_load_n(&ch->watch_value, __ATOMIC_RELAXED);
}

static int work_pending(struct mu_channel *ch)
{
	int (*pending)(const void *) = __atomic_load_n(&ch->pending, __ATOMIC_ACQUIRE);

	return pending && pending(ch->arg);
}

/* Has the channel something to receive or to send? Engine locks are not needed: a wrong "no" is
 * excluded for what arrived before, a wrong "yes" costs one more poll. */
int mu_channel_ready(struct mu_channel *ch, int watches)
{
	return drv_ring_ready(&ch->a->ring, &ch->rx) || mu_lane_ready(ch, 0) || (watches && (watched_ready(ch) || work_pending(ch)));
}

/*
 * software: of the program's threads too, not of the engines alone. What is left to send on a channel that they help with
 * is theirs to go on with, as what is left on their own.
 */
static int anything_ready(struct mu_process *p, int software, int *unsent)
{
	int ready = 0;

	/* Held by whoever walks the channels: one that is being closed must not go away under us. */
	if (!mu_try(&p->channels_lock))
		return 1;
	for (unsigned i = 0; i < __atomic_load_n(&p->channels_open, __ATOMIC_ACQUIRE); i++) {
		struct mu_channel *ch = __atomic_load_n(&p->channel[i], __ATOMIC_ACQUIRE);

		ready |= ch && (software || !__atomic_load_n(&ch->owned, __ATOMIC_RELAXED)) &&
		         mu_channel_ready(ch, software);
		if (!ch || !mu_inject_pending(ch))
			continue;
		*unsent = 1;
		ready |= software && __atomic_load_n(&p->comm.entry[i].shared, __ATOMIC_RELAXED);
	}
	mu_unlock(&p->channels_lock);
	return ready || (p->live && mu_live_busy(p->live));
}

void mu_watch_far(struct mu_channel *ch, const uint64_t *word, uint64_t value, struct drv_wake *bell)
{
	mu_watch(ch, word, value);
	__atomic_store_n(&ch->watch_bell, bell, __ATOMIC_RELEASE);
}

void mu_watch(struct mu_channel *ch, const uint64_t *word, uint64_t value)
{
	__atomic_store_n(&ch->watch_bell, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&ch->watch_value, value, __ATOMIC_RELAXED);
	__atomic_store_n(&ch->watch, word, __ATOMIC_RELEASE);
}

void mu_wake_task(uint32_t task)
{
	struct mu_process *p = &mu_self;

	mu_host_wake_all(p->host, p->entry[task].local);
}

void mu_channel_pending(struct mu_channel *ch, int (*pending)(const void *arg))
{
	__atomic_store_n(&ch->pending, pending, __ATOMIC_RELEASE);
}

void mu_wake_channel(struct mu_channel *ch)
{
	struct mu_process *p = ch->p;

	if (__builtin_expect(p->virtual_clock, 0)) {
		mu_vt_tell();
		if (p->comm.count && !mu_in_poll)
			mu_comm_virtual(p);
		return;
	}
	mu_host_wake(p->host, p->local, &ch->a->ring);
}

/*
 * Sleep until a record or posted work comes, or a frame where we hold the port. posted: the posted
 * word as it was before the caller last looked at its queues; NULL: the engine thread, which serves
 * as commthread 0 too.
 */
static void sleep_on_wake(struct mu_process *p, const uint32_t *posted, int64_t ns)
{
	struct mu_wakeup region = { .count = 0 };
	int unsent = 0;
	uint32_t wakes = posted ? __atomic_load_n(&p->area->wakes, __ATOMIC_ACQUIRE) : 2;

	if (posted)
		mu_wakeup_watch(&region, &p->area->posted);
	for (uint32_t i = 0; i < wakes; i++)
		mu_wakeup_watch(&region, &p->area->wake[i]);
	mu_wakeup_arm(&region);
	if ((!posted || region.seen[0] == *posted) && !anything_ready(p, posted != NULL, &unsent) &&
	    !p->host->ending && (posted || !mu_comm_ready(p, 0, &ns))) {
		if (unsent && ns > MU_TICK_MIN_NS)
			ns = MU_TICK_MIN_NS; /* nobody tells when there is room at the other end */
		if (p->holder && mu_try(&p->holding)) {
			struct pollfd fds[4];
			int64_t limit = ns;
			int n = mu_holder_arm(p->holder, fds, 4, &limit);

			mu_unlock(&p->holding);
			if (n >= 0) {
				struct timespec t;

				if (limit < 0 || limit > ns)
					limit = ns;
				t = (struct timespec){ limit / 1000000000, limit % 1000000000 };
				ppoll(fds, (nfds_t)n, &t, NULL);
				if (mu_try(&p->holding)) {
					mu_holder_disarm(p->holder);
					mu_unlock(&p->holding);
				}
			}
		} else {
			/* Somebody polls the port, or was preempted by us while doing so: out of their way. */
			mu_wakeup_wait(&region, p->holder && ns > MU_TICK_MIN_NS ? MU_TICK_MIN_NS : ns);
		}
	}
	mu_wakeup_disarm(&region);
}

void mu_wake_self(void)
{
	struct mu_process *p = &mu_self;

	if (!p->refs)
		return;
	if (p->virtual_clock) {
		mu_vt_tell();
		return;
	}
	/* Unconditional: a thread between its last look at the queue and its sleep must notice. */
	__atomic_fetch_add(&p->area->posted.seq, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&p->area->posted.sleepers, __ATOMIC_SEQ_CST))
		drv_wake_now(&p->area->posted);
}

/*
 * What we wait for comes after a change or two of the process that runs: out of their way, without the
 * barrier of a proper sleep. Who writes the word fences; any other waker may miss us, once in a long while: for
 * the length of this sleep at most.
 */
static void sleep_lightly(struct mu_channel *ch, struct drv_wake *bell)
{
	struct mu_process *p = ch->p;
	struct drv_wake *w[FAR_WORDS] = { &p->area->posted, bell };
	uint32_t seen[FAR_WORDS], wakes = __atomic_load_n(&p->area->wakes, __ATOMIC_ACQUIRE), n = 2;
	int unsent = 0;

	for (uint32_t i = 0; i < wakes && n < FAR_WORDS; i++)
		w[n++] = &p->area->wake[i];
	for (uint32_t i = 0; i < n; i++) {
		seen[i] = __atomic_load_n(&w[i]->seq, __ATOMIC_ACQUIRE);
		__atomic_fetch_add(&w[i]->sleepers, 1, __ATOMIC_SEQ_CST);
	}
	if (!anything_ready(p, 1, &unsent) && !unsent && seen[0] == mu_idle_state.seq && !p->host->ending)
		drv_wake_wait_any(w, seen, n, FAR_NS);
	for (uint32_t i = 0; i < n; i++)
		drv_wake_finish(w[i]);
}

/*
 * Yields, and says who ran meanwhile. A partner gave the core back soon: it waits as we do, likely for what we do, on
 * this core though others may be idle (the kernel moves nobody who ran a moment ago). Who computes keeps the core for
 * a time slice and is not to be yielded to sooner than need be.
 */
enum { RAN_NOBODY, RAN_PARTNER, RAN_OTHER, RAN_ITS_SLICE };

/* spins_us: how long another such thread may keep the core before it yields. */
static int yield_to(uint64_t spins_us)
{
	uint64_t before = drv_clock_ticks(), us = drv_clock_ticks_per_us(), took;

	sched_yield();
	took = drv_clock_ticks() - before;
	return took < PARTNER_MIN_US * us ? RAN_NOBODY :
	       took < (spins_us + PARTNER_MAX_US) * us ? RAN_PARTNER :
	       took < SLICE_MIN_US * us   ? RAN_OTHER :
	                                    RAN_ITS_SLICE;
}

/*
 * Who computes has taken a whole time slice from us: a sleeper is woken at once, and where a core is free, so sleep
 * instead of yielding for a while, longer each time, or until that has brought us to another core.
 */
static void robbed(struct mu_idle_state *idle)
{
	idle->robbed_cpu = sched_getcpu();
	idle->robbed_last = idle->robbed_last * 2 > ROBBED_MAX ? ROBBED_MAX :
	                    idle->robbed_last              ? idle->robbed_last * 2 :
	                                                     ROBBED_MIN;
	idle->robbed = idle->robbed_last;
}

static int still_robbed(struct mu_idle_state *idle)
{
	if (!idle->robbed)
		return 0;
	if (sched_getcpu() != idle->robbed_cpu)
		idle->robbed = idle->robbed_last = 0;
	else
		idle->robbed--;
	return idle->robbed != 0;
}

_Thread_local struct mu_idle_state mu_idle_state __attribute__((tls_model("initial-exec")));

void mu_idle(struct mu_channel *ch)
{
	struct mu_process *p = ch->p;
	struct mu_idle_state *idle = &mu_idle_state;
	struct drv_wake *bell;
	uint64_t now;
	uint32_t seq;
	int old, unsent = 0;

	if (p->forked || mu_comm_inside() ||
	    (__atomic_load_n(&p->comm.shared, __ATOMIC_RELAXED) && mu_comm_help(p)))
		return;
	if (!idle->count++) {
		idle->since = drv_clock_ticks();
		idle->sleep_ns = SLEEP_MIN_NS;
		idle->seq = __atomic_load_n(&p->area->posted.seq, __ATOMIC_ACQUIRE);
		drv_cpu_relax();
		return;
	}
	if (idle->count % (p->yields || idle->shared ? 4 : 32)) {
		drv_cpu_relax();
		return;
	}
	/* Sooner than after three yields it would cost more than it gives. */
	bell = p->yields ? __atomic_load_n(&ch->watch_bell, __ATOMIC_ACQUIRE) : NULL;
	if (bell && idle->count >= 12 && !mu_inject_pending(ch) && !p->holder) {
		sleep_lightly(ch, bell);
		idle->seq = __atomic_load_n(&p->area->posted.seq, __ATOMIC_ACQUIRE);
		return;
	}
	now = drv_clock_ticks();
	if (!p->yields && !idle->shared && now - idle->since < p->yield_us * drv_clock_ticks_per_us())
		return;
	seq = __atomic_load_n(&p->area->posted.seq, __ATOMIC_ACQUIRE);
	if (seq != idle->seq ||
	    (!still_robbed(idle) && now - idle->since < p->spin_us * drv_clock_ticks_per_us())) {
		int who = yield_to(p->yields || idle->shared ? 0 : p->yield_us);

		idle->seq = seq;
		idle->shared = who == RAN_PARTNER;
		if (who == RAN_ITS_SLICE && !p->yields)
			robbed(idle);
		else if (who == RAN_NOBODY)
			idle->robbed_last = 0;
		return;
	}
	/* Looked at before the arming too: that costs a system call which stops the others for a moment. */
	if (mu_inject_pending(ch) || p->host->ending || anything_ready(p, 1, &unsent)) {
		sched_yield();
		return;
	}
	/* ppoll and sleep are cancellation points; a lock held by our caller must not be lost. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	__atomic_fetch_add(&p->waiting, 1, __ATOMIC_RELAXED);
	sleep_on_wake(p, &seq, idle->sleep_ns);
	__atomic_fetch_sub(&p->waiting, 1, __ATOMIC_RELAXED);
	pthread_setcancelstate(old, NULL);
	idle->seq = __atomic_load_n(&p->area->posted.seq, __ATOMIC_ACQUIRE);
	idle->count = 1; /* one more round of polls before the next sleep */
	if (idle->sleep_ns < sleep_max(p))
		idle->sleep_ns *= 2;
}

void mu_not_idle(void)
{
	mu_idle_state.count = 0;
}

int mu_engine_alone(struct mu_channel *ch)
{
	int n;

	if (!mu_try(&ch->engine))
		return 0;
	n = mu_engine_receive(ch, 64, 0);
	if (mu_inject_pending(ch))
		n += mu_engine_inject(ch);
	mu_unlock(&ch->engine);
	return n;
}

/*
 * Does a thread of the program poll this channel? A poll now and then, between computations, is not enough: what
 * arrives in between would wait for the next.
 */
static int polled(const struct mu_channel *ch, uint64_t ns)
{
	uint64_t polls = __atomic_load_n(&ch->stamp, __ATOMIC_RELAXED) - ch->stamp_seen;

	/* With more tasks than processors a poll may be a round of all of them away, and one more thread makes it longer. */
	if (ch->p->yields)
		return polls != 0;
	/*
	 * One inside a poll sends much, or has been interrupted, perhaps by us: competing with it helps nobody. But one
	 * that stays there runs a long function of the program, which may even wait for what we are to bring.
	 */
	if (__atomic_load_n(&ch->engine, __ATOMIC_RELAXED))
		return polls || ch->still_ns + ns < MU_TICK_MAX_NS;
	return polls >= POLLS_LEAST && polls * POLL_NS >= ns;
}

static void look_at(struct mu_channel *ch, uint64_t ns)
{
	uint64_t stamp = __atomic_load_n(&ch->stamp, __ATOMIC_RELAXED);

	ch->still_ns = stamp == ch->stamp_seen ? ch->still_ns + ns : 0;
	ch->stamp_seen = stamp;
}

/* Engines of the channels nobody polls; ns: since the last look. */
static int run_channels(struct mu_process *p, uint64_t ns)
{
	int n = 0;

	mu_lock(&p->channels_lock);
	for (unsigned i = 0; i < __atomic_load_n(&p->channels_open, __ATOMIC_ACQUIRE); i++) {
		struct mu_channel *ch = __atomic_load_n(&p->channel[i], __ATOMIC_ACQUIRE);
		int there;

		if (!ch || __atomic_load_n(&ch->owned, __ATOMIC_RELAXED))
			continue;
		there = polled(ch, ns);
		look_at(ch, ns);
		if (!there)
			n += mu_engine_alone(ch);
	}
	mu_unlock(&p->channels_lock);
	return n;
}

/* *held: a thread has been inside one for long, so what is there for it stays. */
static int any_polled(struct mu_process *p, uint64_t ns, int *held)
{
	int moved = 0;

	*held = 0;
	mu_lock(&p->channels_lock);
	for (unsigned i = 0; i < __atomic_load_n(&p->channels_open, __ATOMIC_ACQUIRE); i++) {
		struct mu_channel *ch = __atomic_load_n(&p->channel[i], __ATOMIC_ACQUIRE);

		if (!ch || __atomic_load_n(&ch->owned, __ATOMIC_RELAXED))
			continue;
		if (polled(ch, ns))
			moved = 1;
		else if (__atomic_load_n(&ch->engine, __ATOMIC_RELAXED))
			*held = 1;
	}
	mu_unlock(&p->channels_lock);
	return moved;
}

static int run_once(struct mu_process *p, int alone, uint64_t ns)
{
	int n = run_channels(p, ns);

	if (alone && p->holder && mu_try(&p->holding)) {
		int got = mu_holder_poll_for(p->holder, NULL);

		n += got > 0 ? got : 0;
		mu_unlock(&p->holding);
	}
	if (alone && p->live)
		n += mu_live_poll(p->live);
	mu_path_flush(p, NULL);
	return n;
}

/* The engine's round: who is there, what is left undone. Returns how much was done. */
struct engine {
	int64_t tick_ns;
	uint64_t next_ns;     /* when to look at the stamps again */
	uint64_t looked_ns;   /* when it last did */
	uint64_t quiet_since; /* ticks; looking around before sleeping; 0: not */
	unsigned stay;        /* rounds with work in which not to yield: who gets the core then keeps it */
	int shared;           /* another thread wants this core: no looking around */
	int alone;            /* nobody polls: sleep until something comes */
	int held;             /* but a thread is inside a channel's engine for long */
};

static int engine_round(struct mu_process *p, struct engine *e)
{
	uint64_t now = drv_clock_ns();
	int there, moved, n;

	if (now < e->next_ns)
		return 0;
	there = __atomic_load_n(&p->waiting, __ATOMIC_RELAXED) != 0;
	moved = any_polled(p, now - e->looked_ns, &e->held);
	n = run_once(p, !moved && !there, now - e->looked_ns);
	e->looked_ns = now;
	e->alone = !moved && !there;
	if (n) {
		e->quiet_since = 0;
	} else if (e->alone) {
		e->tick_ns = MU_TICK_MIN_NS;
		if (__atomic_load_n(&p->comm.mine[0], __ATOMIC_RELAXED))
			e->next_ns = now + PASSES_NS;
	} else {
		e->next_ns = now + (uint64_t)e->tick_ns;
		e->tick_ns = there                             ? MU_TICK_MAX_NS * 10 :
		             e->tick_ns * 2 > MU_TICK_MAX_NS ? MU_TICK_MAX_NS :
		                                               e->tick_ns * 2;
	}
	return n;
}

/* More often comes at once: look around a little before sleeping. */
static int look_around(struct mu_process *p, struct engine *e)
{
	uint64_t now;

	if (p->yields || e->shared || e->held)
		return 0;
	now = drv_clock_ticks();
	if (!e->quiet_since)
		e->quiet_since = now;
	if (now - e->quiet_since >= 20 * drv_clock_ticks_per_us())
		return 0;
	drv_cpu_relax();
	return 1;
}

/* Something was done: who waits for it may want this core. */
static void after_work(struct mu_process *p, struct engine *e, int serves)
{
	int who;

	if (p->yields || !serves) {
		sched_yield();
	} else if (e->stay) {
		e->stay--;
	} else {
		who = yield_to(0);
		e->shared = who != RAN_NOBODY;
		e->stay = who >= RAN_OTHER ? STAY_ROUNDS : 0;
	}
}

static void sleep_ns(int64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void engine_sleep(struct mu_process *p, struct engine *e)
{
	int64_t left = (int64_t)(e->next_ns - drv_clock_ns()), ns = MU_ARMED_NS;
	int unsent = 0;

	e->quiet_since = 0;
	if (__atomic_load_n(&p->comm.mine[0], __ATOMIC_RELAXED) && mu_comm_sleeps_by_time(p, ns)) {
		e->next_ns = 0;
	} else if (e->alone) {
		e->next_ns = 0;
		if (e->held && anything_ready(p, 0, &unsent)) /* perhaps for that channel: no need to be back at once */
			sleep_ns(MU_TICK_MIN_NS);
		else if (anything_ready(p, 0, &unsent) || mu_comm_ready(p, 0, &ns))
			sched_yield();
		else
			sleep_on_wake(p, NULL, MU_ARMED_NS);
	} else if (left > 0 && __atomic_load_n(&p->comm.mine[0], __ATOMIC_RELAXED)) {
		mu_comm_sleep(p, 0, left);
	} else if (left > 0) {
		sleep_ns(left);
	}
}

static void *engine_thread(void *arg)
{
	struct mu_process *p = arg;
	struct engine e = { .tick_ns = MU_TICK_MIN_NS };
	struct mu_comm_passes at = { 0 };
	int bound = 0, spins;

	while (!__atomic_load_n(&p->thread_stop, __ATOMIC_ACQUIRE)) {
		int serves = __atomic_load_n(&p->comm.mine[0], __ATOMIC_RELAXED) != 0;
		/* First, so that messages are dispatched from where they arrived, not stored for later. */
		int n = serves ? mu_comm_serve(p, 0) : 0;
		uint64_t before;

		if (serves && !bound++)
			drv_cpu_bind_service(p->local, p->sharers, 0);
		n += engine_round(p, &e);
		if (n) {
			at.loops = 0;
			after_work(p, &e, serves);
			continue;
		}
		spins = __atomic_load_n(&p->comm.spins, __ATOMIC_RELAXED);
		if ((e.alone && look_around(p, &e)) ||
		    (serves && (!e.shared || spins) && !mu_comm_may_sleep(p, 0, &at)))
			continue;
		before = drv_clock_ticks();
		engine_sleep(p, &e);
		if (serves)
			mu_comm_slept(p, &at, drv_clock_ticks() - before);
	}
	return NULL;
}

int mu_thread_start(struct mu_process *p)
{
	int rc = mu_comm_start(engine_thread, p, &p->thread);

	if (rc) {
		drv_error("engine thread: %s; raise ulimit -u", strerror(-rc));
		return rc;
	}
	p->thread_runs = 1;
	return 0;
}

void mu_thread_stop(struct mu_process *p)
{
	if (!p->thread_runs)
		return;
	__atomic_store_n(&p->thread_stop, 1, __ATOMIC_RELEASE);
	drv_wake_now(&p->area->wake[0]);
	drv_wake_now(&p->area->wake[1]);
	mu_comm_stop(p);
	pthread_join(p->thread, NULL);
	p->thread_runs = 0;
}
