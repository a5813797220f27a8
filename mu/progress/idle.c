/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a thread waits: reads the clock, yields and sleeps as idle_policy.c says. A sleeping thread
 * is woken by the words that arriving records ring, and by that of posted work; a sleep has an end
 * (at most 10 ms, more with many tasks), which bounds what the thread cannot see.
 */
#define _GNU_SOURCE
#include "mu/progress/idle.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/settings.h"
#include "mu/engine/engine.h"
#include "mu/engine/known_memory.h"
#include "mu/engine/lane.h"
#include "mu/process.h"
#include "mu/progress/commthread.h"
#include "mu/progress/wakeup.h"
#include "mu/transport/transport.h"
#include "mu/progress/clock.h"

#define NAP_WORDS 8

_Thread_local uint32_t mu_idle_polls __attribute__((tls_model("initial-exec")));
_Thread_local struct mu_idle_thread mu_idle_thread __attribute__((tls_model("initial-exec")));

void mu_idle_setup(struct mu_process *p, int crowded)
{
	mu_idle_policy_set(&p->idle, (enum mu_idle_setting)drv_setting_choice(DRV_QUINTORUS_IDLE),
			   crowded, p->remote->holds_port, p->host->locals);
}

/* Has the watched word the value that the channel waits for? */
static bool is_watched_word_ready(struct mu_channel *ch)
{
	const uint64_t *word = atomic_ptr_load_acquire(&ch->watch.word);

	return word && atomic_load_acquire(word) >= atomic_load_relaxed(&ch->watch.value);
}

static bool has_software_work(struct mu_channel *ch)
{
	int (*pending)(const void *) = atomic_ptr_load_acquire(&ch->watch.has_work);

	return pending && pending(ch->arg);
}

/* Needs no engine lock: the answer is never false for a record that arrived before the call, and a
 * wrong "true" costs one more poll. */
bool mu_channel_has_work(struct mu_channel *ch, bool with_watches)
{
	return drv_ring_is_ready(&ch->a->ring, &ch->rx.ring) || mu_lane_has_record(ch, 0) ||
	       (with_watches && (is_watched_word_ready(ch) || has_software_work(ch)));
}

int mu_process_has_work(struct mu_process *p, int software, int *unsent)
{
	int ready = 0;

	/* The lock keeps channels open. If another thread holds it, poll again. */
	if (!mu_lock_try(&p->channels_lock))
		return 1;
	for (unsigned i = 0; i < atomic_load_acquire(&p->channels_open); i++) {
		struct mu_channel *ch = atomic_ptr_load_acquire(&p->channel[i]);

		ready |= ch && (software || !atomic_load_relaxed(&ch->progress.owned)) &&
			 mu_channel_has_work(ch, software);
		if (!ch || !mu_has_pending_injection(ch))
			continue;
		*unsent = 1;
		ready |= software && atomic_load_relaxed(&p->comm.entry[i].shared);
	}
	mu_lock_release(&p->channels_lock);
	return ready || p->remote->has_work(p);
}

void mu_watch_remote(struct mu_channel *ch, const uint64_t *word, uint64_t value,
		     struct drv_wake *bell)
{
	mu_watch(ch, word, value);
	atomic_ptr_store_release(&ch->watch.bell, bell);
}

void mu_watch(struct mu_channel *ch, const uint64_t *word, uint64_t value)
{
	atomic_ptr_store_relaxed(&ch->watch.bell, NULL);
	atomic_store_relaxed(&ch->watch.value, value);
	atomic_ptr_store_release(&ch->watch.word, word);
}

void mu_wake_task(uint32_t task)
{
	struct mu_process *p = &mu_self;

	mu_host_wake_all(p->host, p->entry[task].local);
}

void mu_channel_on_has_work(struct mu_channel *ch, int (*pending)(const void *arg))
{
	atomic_ptr_store_release(&ch->watch.has_work, pending);
}

void mu_idle_sleep(struct mu_process *p, const uint32_t *posted, int64_t ns)
{
	struct mu_wakeup region = {.count = 0};
	int unsent = 0;
	uint32_t wakes = posted ? atomic_load_acquire(&p->area->wakes) : 2;

	if (posted)
		mu_wakeup_watch(&region, &p->area->posted);
	for (uint32_t i = 0; i < wakes; i++)
		mu_wakeup_watch(&region, &p->area->wake[i]);
	mu_wakeup_arm(&region);
	if ((!posted || region.seen[0] == *posted) &&
	    !mu_process_has_work(p, posted != NULL, &unsent) &&
	    !atomic_load_relaxed(&p->host->ending) &&
	    (posted || !mu_commthread_has_work(p, 0, &ns))) {
		if (unsent && ns > MU_SERVICE_TICK_MIN_NS)
			ns = MU_SERVICE_TICK_MIN_NS; /* no wake-up announces room there */
		p->remote->sleep(p, &region, ns);
	}
	mu_wakeup_disarm(&region);
}

void mu_wake_self(void)
{
	struct mu_process *p = &mu_self;

	if (atomic_load_relaxed(&p->refs))
		p->clock->wake_threads(p);
}

/*
 * Publish how long the task's first thread has done nothing but poll in vain, for
 * tools/agent_leave.c: spins, yields and sleeps count, time outside the library does not.
 */
static void note_waited(struct mu_process *p, int new_stretch, uint64_t now)
{
	struct mu_idle_thread *t = &mu_idle_thread;
	uint64_t whole = now - t->noted, looked = now - t->idle.looked;
	uint64_t outside = mu_idle_outside(&t->idle, looked);

	if (!t->first_thread)
		t->first_thread = gettid() == p->pid ? 1 : 2;
	if (t->first_thread != 1)
		return;
	if (!new_stretch && outside < whole)
		atomic_store_relaxed(&p->area->waited_ns,
				     atomic_load_relaxed(&p->area->waited_ns) + whole - outside);
	t->noted = now;
}

#define WAITS_FIRST_NS 1000000u   /* of waiting before the first note of a stretch */
#define WAITS_AGAIN_NS 100000000u /* from one note to the next */

bool mu_waits_is_due(void)
{
	struct mu_idle_thread *t = &mu_idle_thread;

	if (t->first_thread != 1 || t->noted - t->stretch_at < WAITS_FIRST_NS ||
	    (t->described_at && t->noted - t->described_at < WAITS_AGAIN_NS))
		return false;
	t->described_at = t->noted;
	return true;
}

void mu_note_waits(unsigned what, uint32_t task)
{
	struct mu_task_area *a = mu_self.area;

	atomic_store_relaxed(&a->waits, what);
	atomic_store_relaxed(&a->waits_for, task == MU_WAITS_ANYONE ? 0 : task + 1);
	atomic_store_release(&a->waits_found, atomic_load_relaxed(&a->found));
}

/*
 * Sleep without the barrier that makes this sleeper visible to all wakers at once. The writer of a
 * word with a bell fences; another waker may, rarely, miss the sleeper, which then wakes at the end
 * of its time. bell: or NULL.
 */
static void take_nap(struct mu_process *p, struct drv_wake *bell, uint32_t posted, int64_t ns)
{
	struct drv_wake *w[NAP_WORDS] = {&p->area->posted};
	uint32_t seen[NAP_WORDS], wakes = atomic_load_acquire(&p->area->wakes), n = 1;
	int unsent = 0;

	if (bell)
		w[n++] = bell;
	for (uint32_t i = 0; i < wakes && n < NAP_WORDS; i++)
		w[n++] = &p->area->wake[i];
	for (uint32_t i = 0; i < n; i++) {
		seen[i] = atomic_load_acquire(&w[i]->seq);
		atomic_fetch_add_seq_cst(&w[i]->sleepers, 1);
	}
	if (!mu_process_has_work(p, 1, &unsent) && !unsent && seen[0] == posted &&
	    !atomic_load_relaxed(&p->host->ending))
		drv_wake_wait_any(w, seen, n, ns);
	for (uint32_t i = 0; i < n; i++)
		drv_wake_finish(w[i]);
}

/*
 * Nap or sleep. Returns false if there was work, so the thread did not sleep. ppoll() and
 * nanosleep() are cancellation points, and a cancellation here would lose a lock that the caller
 * holds: disable it.
 */
static bool sleep_if_idle(struct mu_channel *ch, enum mu_idle_action action, struct drv_wake *bell,
			  uint32_t posted)
{
	struct mu_process *p = ch->p;
	int64_t ns = (int64_t)mu_idle_thread.idle.sleep_ns;
	int unsent = 0, old;

	/* Check before arming too: its barrier stops the other tasks for a moment. */
	if (mu_has_pending_injection(ch) || atomic_load_relaxed(&p->host->ending) ||
	    mu_process_has_work(p, 1, &unsent))
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	atomic_fetch_add_relaxed(&p->waiting, 1);
	if (action == MU_IDLE_NAP && !p->remote->holds_port)
		take_nap(p, bell, posted, ns);
	else
		mu_idle_sleep(p, &posted, ns);
	atomic_fetch_sub_relaxed(&p->waiting, 1);
	pthread_setcancelstate(old, NULL);
	return true;
}

/* Returns 1 if the thread yielded or slept. *now: before; then after. */
static int apply_policy_at(struct mu_channel *ch, unsigned how, uint64_t *now)
{
	struct mu_process *p = ch->p;
	struct mu_idle_thread *t = &mu_idle_thread;
	struct drv_wake *bell = p->idle.crowded ? atomic_ptr_load_acquire(&ch->watch.bell) : NULL;
	uint32_t posted = atomic_load_acquire(&p->area->posted.seq);
	uint64_t before = *now;
	int new_stretch = mu_idle_polls == mu_idle_period(&t->idle);
	enum mu_idle_action action;

	if (new_stretch) {
		atomic_store_relaxed(&p->area->found, atomic_load_relaxed(&p->area->found) + 1);
		t->idle.since = 0;
		t->stretch_at = before;
		t->described_at = 0;
	}
	if (bell)
		how |= MU_IDLE_BELL;
	note_waited(p, new_stretch, before);
	action = mu_idle_decide(&p->idle, &t->idle, how, before);
	/* The period may have grown: only the first look of a stretch comes after one period. */
	if (mu_idle_polls < mu_idle_period(&t->idle))
		mu_idle_polls = mu_idle_period(&t->idle);
	if (action == MU_IDLE_SPIN) {
		drv_cpu_relax();
		return 0;
	}
	if (action != MU_IDLE_YIELD && mu_channel_has_work(ch, 1))
		return 0;
	/* Work may have been posted after the last poll of the queues: then poll again. */
	if (action != MU_IDLE_YIELD &&
	    (posted != t->posted || !sleep_if_idle(ch, action, bell, posted)))
		action = MU_IDLE_YIELD;
	t->posted = atomic_load_acquire(&p->area->posted.seq);
	if (action == MU_IDLE_YIELD) {
		before = drv_clock_fast_ns();
		sched_yield();
	}
	*now = drv_clock_fast_ns();
	mu_idle_learn(&p->idle, &t->idle, action, before, *now);
	return 1;
}

/* Apply the policy, at one of mu_idle_period() empty polls. Returns 1 if the thread yielded or
 * slept. */
static __attribute__((noinline)) int apply_policy(struct mu_channel *ch, unsigned how)
{
	uint64_t now = drv_clock_fast_ns();
	int rested;

	if (__builtin_expect(mu_known.is_watched, 0))
		mu_known_enter(now);
	rested = apply_policy_at(ch, how, &now);
	if (__builtin_expect(mu_known.is_inside, 0))
		mu_known_leave(now);
	return rested;
}

int mu_idle(struct mu_channel *ch, unsigned how)
{
	struct mu_process *p = ch->p;
	int helped;

	if (p->forked || mu_is_in_commthread_call())
		return 0;
	if (atomic_load_relaxed(&p->comm.shared)) {
		/* Serving a channel takes four locks, which is about half of an empty poll. So a
		 * channel without mail is served in one of MU_IDLE_LOOK polls. The polls after
		 * which the thread may sleep or yield are among them. */
		helped = mu_commthread_help_shared(p, (mu_idle_polls + 1) % MU_IDLE_LOOK == 0);
		if (helped > 0)
			return 0;
		if (helped < 0)
			how |= MU_IDLE_AGAIN;
	}
	if (mu_idle_thread.idle.entered)
		mu_idle_finished(&mu_idle_thread.idle, drv_clock_fast_ns());
	/* No pause instruction here: the poll that the caller makes next takes longer than one. */
	if (++mu_idle_polls & (mu_idle_period(&mu_idle_thread.idle) - 1))
		return 0;
	return apply_policy(ch, how);
}
