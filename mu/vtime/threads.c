/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: the turn between the threads of this process (vtime/vthread.h). One of them, the
 * turn holder, is in the library or computes; the others wait in vt_call_enter(), or sleep in the
 * program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/single_threaded.h>
#include <time.h>

#include "drivers/base/cpu.h"
#include "drivers/base/log.h"
#include "mu/process.h"
#include "mu/vtime/state.h"

#define STEP_PS 1000000u /* a thread among several lets others run at least this often */
/*
 * A thread that waits for the turn checks the turn holder after this long, then at growing
 * intervals.
 */
#define WATCH_NS      200000u
#define WATCH_MOST_NS 10000000u

/*
 * True if the list contains other threads. Called by the turn holder; another thread may add to the
 * list.
 */
static bool has_other_threads(const struct mu_vthread *t)
{
	return atomic_load_relaxed(&vt_state.list) != t || atomic_load_relaxed(&t->next);
}

/*
 * True if the program has several threads. libc also counts threads that are excluded, such as the
 * stand-in thread; if there are such threads, ask the kernel.
 */
bool vt_is_multithreaded(const struct mu_vthread *t)
{
	int more = !t->stands_in && has_other_threads(t);
	unsigned excluded;

	if (more || __libc_single_threaded)
		return more;
	excluded = mu_vthread_excluded();
	return !excluded ||
	       drv_count_threads(vt_state.list_fd) > 1 + vt_state.sanitizers + excluded;
}

/*
 * Return the thread in that state with the smallest clock. A thread that came while the simulator
 * had the turn has no clock yet (`late`), and is left out.
 */
static struct mu_vthread *find_least(enum mu_vthread_state state, const struct mu_vthread *but)
{
	struct mu_vthread *found = NULL;

	for (struct mu_vthread *t = vt_state.list; t; t = t->next)
		if (t != but && t->state == state && !t->late && (!found || t->now < found->now))
			found = t;
	return found;
}

/* Let all IDLE threads poll again, at `now` or later. Returns whether there are any. */
int vt_wake_idle_threads(uint64_t now)
{
	int some = 0;

	for (struct mu_vthread *t = vt_state.list; t; t = t->next)
		if (t->state == MU_VTHREAD_IDLE) {
			t->now = now > t->now ? now : t->now;
			vt_thread_set_state(t, MU_VTHREAD_READY);
			some = 1;
		}
	return some;
}

static void thread_run(struct mu_vthread *t)
{
	const struct mu_vthread *next = find_least(MU_VTHREAD_READY, t);

	vt_state.until = t->now + STEP_PS;
	if (next && next->now < vt_state.until)
		vt_state.until = next->now > t->now ? next->now : t->now + 1;
	t->look = (struct mu_vthread_look){0};
	vt_state.watch.is_due = 1;
	vt_thread_set_state(t, MU_VTHREAD_RUNS);
	atomic_store_release(&vt_state.holder, t);
	atomic_store_relaxed(&vt_state.phase, RUNNING);
	if (t == vt_self)
		return;
	atomic_store_release(&t->go, 1);
	vt_futex(&t->go, FUTEX_WAKE_PRIVATE, 1);
}

static bool are_threads_settled(void)
{
	int unsure = 0, settled;

	tsan_acquire_calls();
	settled = mu_vthread_are_settled(&vt_state.list, vt_state.spin_ns, &unsure);
	tsan_acquire_calls();

	if (settled && unsure)
		vt_state.vt->arg[MU_VT_ARG_UNSURE] = 1;
	return settled;
}

/*
 * Choose the next turn holder. The process has the turn, and no thread of it runs. `now` is the
 * clock of the thread that ran last. Returns true if the caller is chosen.
 */
static int choose_thread(uint64_t now)
{
	struct timespec nap = {0, 20000};
	struct mu_vthread *ready, *idler;

	mu_lock_acquire(&vt_state.lock);
	while (!are_threads_settled()) {
		mu_lock_release(&vt_state.lock);
		nanosleep(&nap, NULL);
		nap.tv_nsec = nap.tv_nsec < 500000 ? nap.tv_nsec * 2 : nap.tv_nsec;
		mu_lock_acquire(&vt_state.lock);
	}
	for (struct mu_vthread *t = vt_state.list; t; t = t->next)
		if (t->late && t->state == MU_VTHREAD_READY) {
			t->now = now > t->now ? now : t->now;
			t->late = 0;
		}
	ready = find_least(MU_VTHREAD_READY, NULL);
	idler = find_least(MU_VTHREAD_IDLE, NULL);
	if (!ready || ready->now >= vt_state.horizon) {
		/* Threads that make a call meanwhile are late: they wait for the next choice. */
		mu_lock_release(&vt_state.lock);
		if (ready && (!idler || ready->now <= idler->now))
			ready->now = vt_hand_over(MU_VT_RUN, ready->now);
		else
			vt_wake_idle_threads(vt_hand_over_idle(
			    idler, false, vt_state.flags | (ready ? MU_VT_WORKED : 0),
			    ready ? ready->now : UINT64_MAX));
		mu_lock_acquire(&vt_state.lock);
		ready = find_least(MU_VTHREAD_READY, NULL);
	}
	thread_run(ready);
	mu_lock_release(&vt_state.lock);
	return ready == vt_self;
}

/*
 * Take the turn from a holder that sleeps in the program, seems to compute without end, or has
 * ended, and choose the next holder. Returns true if the caller is chosen.
 */
static int take_over_turn(void)
{
	struct mu_vthread *t;

	if (!mu_lock_try(&vt_state.lock))
		return 0;
	t = vt_state.holder;
	/*
	 * Read the phase again after /proc: the holder may have made a call meanwhile, and may
	 * sleep in it because the simulator has preempted the process.
	 */
	if (!vt_is_joined() || !t || t == vt_self ||
	    atomic_load_relaxed(&vt_state.phase) != RUNNING || !are_threads_settled() ||
	    atomic_load_relaxed(&vt_state.phase) != RUNNING) {
		mu_lock_release(&vt_state.lock);
		return 0;
	}
	atomic_store_relaxed(&vt_state.holder, NULL);
	atomic_store_relaxed(&vt_state.phase, CHOOSING);
	if (t->news)
		vt_wake_idle_threads(t->now);
	t->news = 0;
	vt_thread_set_state(t, MU_VTHREAD_AWAY);
	mu_lock_release(&vt_state.lock);
	vt_turn_confirm(t); /* if the process is preempted, the stand-in thread may need the lock */
	return choose_thread(t->now);
}

static void wait_for_turn(void)
{
	struct timespec nap = {0, WATCH_NS};

	while (!atomic_load_acquire(&vt_self->go)) {
		if (!syscall(SYS_futex, &vt_self->go, FUTEX_WAIT_PRIVATE, 0, &nap, NULL, 0) ||
		    errno != ETIMEDOUT)
			continue;
		if (take_over_turn())
			return;
		nap.tv_nsec = nap.tv_nsec < WATCH_MOST_NS ? nap.tv_nsec * 2 : nap.tv_nsec;
	}
	atomic_store_relaxed(&vt_self->go, 0);
}

/* A thread that is not the turn holder makes a call: it waits until it is chosen. */
struct mu_vthread *vt_call_enter_slow(void)
{
	struct timespec nap = {0, 10000000};
	int cancel;

	/* If this thread were cancelled while it chooses, no thread would have the turn. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	mu_lock_acquire(&vt_state.lock);
	while (!vt_self &&
	       !(vt_self = mu_vthread_get(&vt_state.list, (pid_t)syscall(SYS_gettid)))) {
		mu_lock_release(&vt_state.lock);
		drv_error(
		    "virtual clock: no memory for a thread's clock: it waits until there is some");
		nanosleep(&nap, NULL);
		mu_lock_acquire(&vt_state.lock);
	}
	if (!vt_is_joined()) {
		mu_lock_release(&vt_state.lock);
	} else {
		vt_self->called = 1;
		vt_self->late = 1;
		vt_thread_set_state(vt_self, MU_VTHREAD_READY);
		mu_lock_release(&vt_state.lock);
		wait_for_turn();
	}
	pthread_setcancelstate(cancel, &cancel);
	return vt_is_joined() ? vt_self : NULL;
}

/* The turn holder becomes READY or IDLE, and waits until it is chosen again. */
void vt_yield_turn(struct mu_vthread *t, enum mu_vthread_state state)
{
	int cancel;

	mu_lock_acquire(&vt_state.lock);
	if (vt_state.holder != t) { /* another thread took the turn while this one slept */
		mu_lock_release(&vt_state.lock);
		vt_call_enter_slow();
		return;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	atomic_store_relaxed(&vt_state.holder, NULL);
	atomic_store_relaxed(&vt_state.phase, CHOOSING);
	if (state == MU_VTHREAD_IDLE && t->news) {
		vt_wake_idle_threads(t->now);
		t->news = 0;
	}
	vt_thread_set_state(t, state);
	mu_lock_release(&vt_state.lock);
	if (!choose_thread(t->now))
		wait_for_turn();
	pthread_setcancelstate(cancel, &cancel);
}
