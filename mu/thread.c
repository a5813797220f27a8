/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who works when nobody polls, and how waiting threads wait.
 *
 * A polling thread stamps its channel. The engine thread looks at the stamps every tick (50 us,
 * doubling while they move); a channel whose stamp stands still it runs itself, without
 * dispatching, and with nothing to do it sleeps on the process's wakeup region (records that
 * arrive, work that is posted). While a thread sleeps inside mu_poll() it leaves these to it.
 *
 * A thread whose polls find nothing spins, then yields, then sleeps on the same region, and at
 * most for a tick that bounds what it cannot see.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/holder.h"
#include "mu/live.h"
#include "mu/process.h"
#include "mu/wakeup.h"

#define TICK_MIN_NS   50000
#define TICK_MAX_NS   1000000
#define SPIN_US       10 /* where every task has a core; then it yields as well */
#define SLEEP_MIN_NS  1000000
#define SLEEP_MAX_NS  10000000  /* per 16 tasks of the host: waiting stays below 1% of a core */
#define ARMED_NS      100000000

static int64_t sleep_max(const struct mu_process *p)
{
	uint32_t share = (p->host->locals + 15) / 16;

	return SLEEP_MAX_NS * (int64_t)(share ? share : 1);
}

/* This thread runs background functions: their polls neither nest nor wait. */
static _Thread_local int background_running;

/* Has the word become what the channel waits for? */
static int watched_ready(struct mu_channel *ch)
{
	const uint64_t *word = __atomic_load_n(&ch->watch, __ATOMIC_ACQUIRE);

	return word && __atomic_load_n(word, __ATOMIC_ACQUIRE) >=
			       __atomic_load_n(&ch->watch_value, __ATOMIC_RELAXED);
}

/* Does any open channel have something to receive or to send? Engine locks are not needed: a
 * wrong "no" is excluded for what arrived before, a wrong "yes" costs one more poll. */
static int anything_ready(struct mu_process *p, int watches)
{
	int ready = 0;

	/* Held by whoever walks the channels: one that is being closed must not go away under us. */
	if (!mu_try(&p->channels_lock))
		return 1;
	for (unsigned i = 0; i < __atomic_load_n(&p->channels_open, __ATOMIC_ACQUIRE); i++) {
		struct mu_channel *ch = __atomic_load_n(&p->channel[i], __ATOMIC_ACQUIRE);

		ready |= ch && (drv_ring_ready(&ch->a->ring, &ch->rx) || (watches && watched_ready(ch)));
	}
	mu_unlock(&p->channels_lock);
	return ready || (p->live && mu_live_busy(p->live));
}

void mu_watch(struct mu_channel *ch, const uint64_t *word, uint64_t value)
{
	__atomic_store_n(&ch->watch_value, value, __ATOMIC_RELAXED);
	__atomic_store_n(&ch->watch, word, __ATOMIC_RELEASE);
}

void mu_wake_task(uint32_t task)
{
	struct mu_process *p = &mu_self;

	drv_wake_ring(&mu_host_area(p->host, p->entry[task].local)->wake);
}

/*
 * Sleep until a record or posted work comes, or a frame where we hold the port. posted: the posted
 * word as it was before the caller last looked at its queues, or NULL: it has none.
 */
static void sleep_on_wake(struct mu_process *p, const uint32_t *posted, int64_t ns)
{
	struct mu_wakeup region = { .count = 0 };

	mu_wakeup_watch(&region, &p->area->wake);
	mu_wakeup_watch(&region, &p->area->posted);
	mu_wakeup_arm(&region);
	if ((!posted || region.seen[1] == *posted) && !anything_ready(p, posted != NULL) && !p->host->ending) {
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
		} else if (!p->holder) {
			mu_wakeup_wait(&region, ns);
		}
	}
	mu_wakeup_disarm(&region);
}

void mu_wake_self(void)
{
	struct mu_process *p = &mu_self;

	if (!p->refs || p->virtual_clock)
		return;
	/* Unconditional: a thread between its last look at the queue and its sleep must notice. */
	__atomic_fetch_add(&p->area->posted.seq, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&p->area->posted.sleepers, __ATOMIC_SEQ_CST))
		drv_wake_now(&p->area->posted);
}

_Thread_local struct mu_idle_state mu_idle_state __attribute__((tls_model("initial-exec")));

void mu_idle(struct mu_channel *ch)
{
	struct mu_process *p = ch->p;
	struct mu_idle_state *idle = &mu_idle_state;
	uint64_t now;
	uint32_t seq;
	int old;

	if (p->forked || background_running || (p->backgrounds && mu_background_run(p)))
		return;
	if (!idle->count++) {
		idle->since = drv_clock_ticks();
		idle->sleep_ns = SLEEP_MIN_NS;
		idle->seq = __atomic_load_n(&p->area->posted.seq, __ATOMIC_ACQUIRE);
		drv_cpu_relax();
		return;
	}
	if (idle->count % (p->yields ? 4 : 32)) {
		drv_cpu_relax();
		return;
	}
	now = drv_clock_ticks();
	if (!p->yields && now - idle->since < SPIN_US * drv_clock_ticks_per_us())
		return; /* an answer from another host takes a few us; a yield costs a tenth of that */
	seq = __atomic_load_n(&p->area->posted.seq, __ATOMIC_ACQUIRE);
	if (now - idle->since < p->spin_us * drv_clock_ticks_per_us() || seq != idle->seq) {
		idle->seq = seq;
		sched_yield();
		return;
	}
	/* Looked at before the arming too: that costs a system call which stops the others for a moment. */
	if (mu_inject_pending(ch) || p->host->ending || anything_ready(p, 1)) {
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

int mu_background_add(int (*fn)(void *), void *arg)
{
	struct mu_process *p = &mu_self;
	int rc = -ENOSPC;

	mu_lock(&p->background_lock);
	if (p->backgrounds < MU_BACKGROUNDS) {
		p->background[p->backgrounds] = (struct mu_background){ fn, arg };
		__atomic_store_n(&p->backgrounds, p->backgrounds + 1, __ATOMIC_RELEASE);
		rc = 0;
	}
	mu_unlock(&p->background_lock);
	mu_wake_self();
	return rc;
}

void mu_background_remove(int (*fn)(void *), void *arg)
{
	struct mu_process *p = &mu_self;

	mu_lock(&p->background_lock);
	for (unsigned i = 0; i < p->backgrounds; i++)
		if (p->background[i].fn == fn && p->background[i].arg == arg) {
			p->background[i] = p->background[p->backgrounds - 1];
			__atomic_store_n(&p->backgrounds, p->backgrounds - 1, __ATOMIC_RELEASE);
			break;
		}
	mu_unlock(&p->background_lock);
}

/* Run them, unless they are being run. The functions cope with any thread. */
int mu_background_run(struct mu_process *p)
{
	int n = 0;

	if (!__atomic_load_n(&p->backgrounds, __ATOMIC_ACQUIRE) || background_running ||
	    !mu_try(&p->background_lock))
		return 0;
	background_running = 1;
	for (unsigned i = 0; i < p->backgrounds; i++)
		n += p->background[i].fn(p->background[i].arg) > 0;
	background_running = 0;
	mu_unlock(&p->background_lock);
	return n;
}

/* Engines of the channels nobody polls. */
static int run_channels(struct mu_process *p)
{
	int n = 0;

	mu_lock(&p->channels_lock);
	for (unsigned i = 0; i < __atomic_load_n(&p->channels_open, __ATOMIC_ACQUIRE); i++) {
		struct mu_channel *ch = __atomic_load_n(&p->channel[i], __ATOMIC_ACQUIRE);
		uint64_t stamp;

		if (!ch)
			continue;
		stamp = __atomic_load_n(&ch->stamp, __ATOMIC_RELAXED);
		if (stamp != ch->stamp_seen) {
			ch->stamp_seen = stamp;
			continue;
		}
		if (!mu_try(&ch->engine))
			continue;
		n += mu_engine_receive(ch, 64, 0);
		if (mu_inject_pending(ch))
			n += mu_engine_inject(ch);
		mu_unlock(&ch->engine);
	}
	mu_unlock(&p->channels_lock);
	return n;
}

static int stamps_moved(struct mu_process *p)
{
	int moved = 0;

	mu_lock(&p->channels_lock);
	for (unsigned i = 0; i < __atomic_load_n(&p->channels_open, __ATOMIC_ACQUIRE); i++) {
		struct mu_channel *ch = __atomic_load_n(&p->channel[i], __ATOMIC_ACQUIRE);

		if (ch && __atomic_load_n(&ch->stamp, __ATOMIC_RELAXED) != ch->stamp_seen)
			moved = 1;
	}
	mu_unlock(&p->channels_lock);
	return moved;
}

/*
 * Background functions, from the engine thread. Their polls stamp channels too: taken for somebody else's,
 * they would keep this thread ticking, and messages to a computing process waiting for the tick.
 */
static int run_background(struct mu_process *p)
{
	int n;

	if (!__atomic_load_n(&p->backgrounds, __ATOMIC_ACQUIRE))
		return 0;
	mu_lock(&p->channels_lock);
	for (unsigned i = 0; i < __atomic_load_n(&p->channels_open, __ATOMIC_ACQUIRE); i++) {
		struct mu_channel *ch = __atomic_load_n(&p->channel[i], __ATOMIC_ACQUIRE);

		if (ch)
			ch->stamp_before = __atomic_load_n(&ch->stamp, __ATOMIC_RELAXED);
	}
	mu_unlock(&p->channels_lock);
	n = mu_background_run(p);
	mu_lock(&p->channels_lock);
	for (unsigned i = 0; i < __atomic_load_n(&p->channels_open, __ATOMIC_ACQUIRE); i++) {
		struct mu_channel *ch = __atomic_load_n(&p->channel[i], __ATOMIC_ACQUIRE);

		if (ch)
			ch->stamp_seen += __atomic_load_n(&ch->stamp, __ATOMIC_RELAXED) - ch->stamp_before;
	}
	mu_unlock(&p->channels_lock);
	return n;
}

static int run_once(struct mu_process *p, int alone)
{
	/* First, so that messages are dispatched from where they arrived, not stored for later. */
	int n = run_background(p);

	n += run_channels(p);
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

static void *engine_thread(void *arg)
{
	struct mu_process *p = arg;
	int64_t tick = TICK_MIN_NS;
	uint64_t quiet_since = 0;

	while (!__atomic_load_n(&p->thread_stop, __ATOMIC_ACQUIRE)) {
		int there = __atomic_load_n(&p->waiting, __ATOMIC_RELAXED) != 0, moved = stamps_moved(p);
		int n = run_once(p, !moved && !there);

		if (n) {
			quiet_since = 0;
			sched_yield();
			continue;
		}
		if (moved || there) {
			struct timespec t = { 0, tick };

			clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
			tick = there ? TICK_MAX_NS * 10 : tick * 2 > TICK_MAX_NS ? TICK_MAX_NS : tick * 2;
			continue;
		}
		tick = TICK_MIN_NS;
		/* More often comes at once: look around a little before sleeping. */
		if (!p->yields) {
			uint64_t now = drv_clock_ticks();

			if (!quiet_since)
				quiet_since = now;
			if (now - quiet_since < 20 * drv_clock_ticks_per_us()) {
				drv_cpu_relax();
				continue;
			}
		}
		quiet_since = 0;
		if (anything_ready(p, 0))
			sched_yield();
		else
			sleep_on_wake(p, NULL, ARMED_NS);
	}
	return NULL;
}

int mu_thread_start(struct mu_process *p)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&p->thread, &attr, engine_thread, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (rc) {
		drv_error("engine thread: %s; raise ulimit -u", strerror(rc));
		return -rc;
	}
	p->thread_runs = 1;
	return 0;
}

void mu_thread_stop(struct mu_process *p)
{
	if (!p->thread_runs)
		return;
	__atomic_store_n(&p->thread_stop, 1, __ATOMIC_RELEASE);
	drv_wake_now(&p->area->wake);
	pthread_join(p->thread, NULL);
	p->thread_runs = 0;
}
