/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual time: the calls of the library (vtime/vtask.h). mu/vtime/README.md says how the files of
 * this folder fit. */
#define _GNU_SOURCE
#include "mu/vtime/vtask.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/single_threaded.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/cpu.h"
#include "drivers/base/log.h"
#include "drivers/base/settings.h"
#include "drivers/base/wake.h"
#include "mu/process.h"
#include "mu/vtime/cost.h"
#include "mu/vtime/state.h"

struct vt_state vt_state;
__thread struct mu_vthread *vt_self VT_TLS;

static __thread const char *polling_call, *waiting_call; /* mu_call_polls(), mu_call_waits() */

/* ---- attach, detach ---- */

/* A forked child is outside virtual time: the turn belongs to its parent. */
static void child_after_fork(void)
{
	vt_state.vt = NULL;
	vt_state.standin.runs = false;
	mu_virtual = 0;
}

int mu_vt_attach(struct mu_host *host, uint32_t local)
{
	static int fork_handler;
	const char *costs = drv_setting_text(DRV_QUINTORUS_COSTS);
	int rc = costs ? mu_cost_load(costs) : 0;

	if (rc)
		return rc;
	if (!fork_handler && !pthread_atfork(NULL, NULL, child_after_fork))
		fork_handler = 1;
	vt_self = mu_vthread_get(&vt_state.list, (pid_t)syscall(SYS_gettid));
	if (!vt_self) {
		drv_error("no memory for this thread's virtual clock");
		return -ENOMEM;
	}
	vt_self->called = 1;
	vt_thread_set_state(vt_self, MU_VTHREAD_RUNS);
	vt_self->now = 0;
	vt_state.holder = vt_self;
	vt_state.list_fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	vt_state.sanitizers = __libc_single_threaded && drv_count_threads(vt_state.list_fd)
				  ? drv_count_threads(vt_state.list_fd) - 1
				  : 0;
	drv_wake_process_init(); /* the simulator's barriers reach this process */
	vt_state.host = host;
	vt_state.local = local;
	vt_state.vt = &mu_host_area(host, local)->vt;
	vt_state.horizon = 0;
	vt_state.until = UINT64_MAX;
	vt_state.flags = MU_VT_WORKED;
	vt_state.vt->inside = 1;
	vt_publish_others();
	vt_watch_init();
	vt_self->now = vt_hand_over(MU_VT_ATTACH, 0);
	vt_call_leave(vt_self);
	/* A spinning thread is preempted earlier than the simulator preempts the whole process. */
	vt_state.spin_ns = vt_state.vt->arg[MU_VT_ARG_SPIN_NS] / 2;
	return 0;
}

void mu_vt_detach(void)
{
	struct mu_vthread *t = vt_call_enter();
	struct mu_vt_area *vt = vt_state.vt;

	if (!t)
		return;
	vt_state.left_ps = t->now;
	vt_give_turn(vt, MU_VT_DETACH, t->now);
	mu_lock_acquire(&vt_state.lock);
	atomic_store_relaxed(&vt_state.vt, NULL);
	mu_virtual = 0;
	for (t = vt_state.list; t; t = t->next)
		vt_watch_end(t);
	for (t = vt_state.list; t; t = t->next)
		if (t->state == MU_VTHREAD_READY || t->state == MU_VTHREAD_IDLE) {
			atomic_store_release(&t->go, 1);
			vt_futex(&t->go, FUTEX_WAKE_PRIVATE, 1);
		}
	mu_lock_release(&vt_state.lock);
	vt_standin_stop(vt);
	close(vt_state.list_fd);
}

/* ---- the calls of the library ---- */

static inline void mark_work(struct mu_vthread *t)
{
	vt_state.flags |= MU_VT_WORKED;
	t->worked = t->news = 1;
}

/* The thread is about to do work. If it does that for a commthread that sleeps, that one wakes up
 * first. */
static inline void wake_commthread(struct mu_vthread *t)
{
	if (t->side == MU_SIDE_SLEPT)
		t->now += mu_cost_ps[MU_COST_commthread_wakeup];
	if (t->side)
		t->side = MU_SIDE_WORKS;
}

void mu_charge_now(enum mu_cost cost, uint64_t times)
{
	struct mu_vthread *t = vt_call_enter();

	if (!t)
		return;
	t->now += mu_cost_ps[cost] * times;
	if (cost == MU_COST_clock_read) {
		vt_state.flags |= MU_VT_CLOCK;
	} else if (cost != MU_COST_poll) {
		wake_commthread(t);
		mark_work(t);
	}
	vt_call_leave(t);
}

/*
 * An effect of what the task starts may reach the task from `time` on, so it hands over before
 * that.
 */
static void lower_horizon(uint64_t time)
{
	if (time < vt_state.horizon)
		vt_state.horizon = time;
}

void mu_vt_inject(unsigned channel, unsigned slot, int awaited)
{
	struct mu_vthread *t = vt_call_enter();
	struct mu_channel_area *a;

	if (!t)
		return;
	wake_commthread(t);
	a = mu_host_channel(vt_state.host, vt_state.local, channel);
	a->when_ps[slot % MU_INJ_SLOTS] = t->now;
	a->awaited[slot % MU_INJ_SLOTS] = awaited != 0;
	vt_state.vt->dirty |= 1ull << channel;
	mark_work(t);
	lower_horizon(t->now + vt_state.vt->arg[MU_VT_ARG_SELF_PS]);
	vt_call_leave(t);
}

void mu_vt_node(unsigned what)
{
	struct mu_vthread *t = vt_call_enter();

	if (!t)
		return;
	wake_commthread(t);
	vt_state.vt->node_dirty |= 1ull << what;
	mark_work(t);
	if (what >= MU_NODE_ROUTES) {
		vt_let_simulator_run(t);
		vt_call_leave(t);
		return;
	}
	lower_horizon(
	    t->now +
	    vt_state.vt->arg[what < MU_NODE_SIGNALS ? MU_VT_ARG_SELF_PS : MU_VT_ARG_SIGNAL_PS]);
	mu_vt_check();
}

void mu_vt_store(uint64_t *word, uint64_t value, int add, uint64_t wake_at, uint32_t task)
{
	struct mu_vthread *t = vt_call_enter();
	struct mu_vt_area *vt = vt_state.vt;

	if (!t)
		return;
	wake_commthread(t);
	if (vt->stores == MU_VT_STORES)
		vt_let_simulator_run(t);
	vt->store[vt->stores++] =
	    (struct mu_vt_store){.at = (uint64_t)((char *)word - (char *)vt_state.host),
				 .value = value,
				 .wake_at = wake_at,
				 .when_ps = t->now,
				 .task = task,
				 .add = add != 0};
	mark_work(t);
	lower_horizon(t->now + vt->arg[MU_VT_ARG_STORE_PS]);
	mu_vt_check();
}

/* Empty polls that a thread may make before it gives up the turn that it keeps. */
#define KEPT_POLLS 64

enum vt_owed { OWES_NOTHING, OWES_CHECK, OWES_IDLE }; /* OWES_IDLE + n: n + 1 empty polls */

/* Put a hand-over off if the thread keeps the turn. */
static bool put_off(struct mu_vthread *t, enum vt_owed owed)
{
	if (!t->keeps || t->owes >= OWES_IDLE + KEPT_POLLS)
		return false;
	if (owed == OWES_IDLE && t->owes >= OWES_IDLE)
		t->owes++;
	else if (owed > t->owes)
		t->owes = (uint8_t)owed;
	return true;
}

void mu_vt_check(void)
{
	struct mu_vthread *t = vt_call_enter();
	bool is_due;

	if (!t)
		return;
	is_due =
	    !t->side && !t->stands_in && (t->now >= vt_state.until || t->now >= vt_state.horizon);
	if (is_due && !put_off(t, OWES_CHECK)) {
		if (t->now >= vt_state.until || vt_is_multithreaded(t))
			vt_yield_turn(t, MU_VTHREAD_READY);
		else
			vt_let_simulator_run(t);
	}
	vt_call_leave(t);
}

void mu_vt_spend(uint64_t ps)
{
	struct mu_vthread *t = vt_call_enter();

	if (!t)
		return;
	t->now += ps;
	mark_work(t);
	mu_vt_check();
}

void mu_vt_doubt(void)
{
	struct mu_vthread *t = vt_call_enter();

	if (!t)
		return;
	vt_state.vt->arg[MU_VT_ARG_UNSURE] = 1;
	vt_call_leave(t);
}

void mu_vt_may_spin(int on)
{
	struct mu_vthread *t = vt_call_enter();

	if (!t)
		return;
	atomic_store_relaxed(&t->may_spin, on != 0);
	vt_call_leave(t);
}

/* Carry out what keeping the turn has put off. from: the clock when that began. */
static void stop_keeping(struct mu_vthread *t, uint64_t from)
{
	uint8_t owed = t->owes;

	t->owes = OWES_NOTHING;
	/* Code that did not even poll has found a lock taken: another thread has to go on. */
	if (t->now == from) {
		mu_charge_now(MU_COST_poll, 1);
		owed = OWES_IDLE;
	}
	if (owed >= OWES_IDLE)
		mu_vt_idle();
	else if (owed)
		mu_vt_check();
}

void mu_vt_keep_turn(int on)
{
	struct mu_vthread *t = vt_call_enter();

	if (!t)
		return;
	if (on && !t->keeps++)
		t->kept_from = t->now;
	if (!on && t->keeps && --t->keeps == 0)
		stop_keeping(t, t->kept_from);
	vt_call_leave(t);
}

void mu_vt_sync(void)
{
	struct mu_vthread *t = vt_call_enter();

	if (!t)
		return;
	if (!t->side && !t->stands_in)
		t->now = vt_hand_over(MU_VT_SYNC, t->now);
	vt_call_leave(t);
}

void mu_vt_idle(void)
{
	struct timespec nap = {0, 1000000};
	struct mu_vthread *t = vt_call_enter();
	int worked;

	if (!t)
		return;
	if (t->side || t->stands_in) {
		vt_call_leave(t);
		/*
		 * The stand-in thread may wait for a thread of the program. The simulator sees it
		 * asleep, and lets that thread continue.
		 */
		if (t->stands_in)
			nanosleep(&nap, NULL);
		return;
	}
	if (put_off(t, OWES_IDLE)) {
		vt_call_leave(t);
		return;
	}
	/* The first empty poll costs no hand-over if nothing can have happened during it. */
	worked = t->worked;
	t->worked = 0;
	t->blocked = waiting_call != NULL;
	t->call = waiting_call ? waiting_call : polling_call;
	if (!worked || t->now >= vt_state.horizon) {
		if (vt_is_multithreaded(t))
			vt_yield_turn(t, MU_VTHREAD_IDLE);
		else
			t->now = vt_hand_over_idle(t, true, vt_state.flags, UINT64_MAX);
	}
	vt_call_leave(t);
}

void mu_call_polls(const char *name)
{
	polling_call = name;
}

const char *mu_call_waits(const char *name)
{
	const char *outer = waiting_call;

	waiting_call = name;
	return outer;
}

void mu_vt_wake_threads(void)
{
	struct mu_vthread *t = vt_call_enter();

	if (!t)
		return;
	if (vt_is_multithreaded(t)) {
		mu_lock_acquire(&vt_state.lock);
		/* The threads that woke are chosen at the next call of this thread. */
		if (vt_wake_idle_threads(t->now))
			vt_state.until = t->now;
		mu_lock_release(&vt_state.lock);
	}
	vt_call_leave(t);
}

/* How long has commthread k slept at `now`? See mu_vt_side_begin(). */
static uint64_t slept_ps(unsigned k, uint64_t polls, uint64_t now)
{
	uint64_t idle = now - vt_state.side_worked_ps[k], awake;

	if (__builtin_mul_overflow(polls, mu_cost_ps[MU_COST_poll], &awake) || idle <= awake)
		return 0;
	return idle - awake;
}

void mu_vt_side_begin(unsigned k, uint64_t polls)
{
	struct mu_vthread *t = vt_call_enter();

	if (!t)
		return;
	t->main_ps = t->now;
	if (vt_state.side_ps[k] > t->now)
		t->now = vt_state.side_ps[k];
	t->slept_ps = polls == UINT64_MAX ? 0 : slept_ps(k, polls, t->now);
	t->side = t->slept_ps ? MU_SIDE_SLEPT : MU_SIDE_POLLS;
	vt_call_leave(t);
}

uint64_t mu_vt_side_end(unsigned k, bool found)
{
	struct mu_vthread *t = vt_call_enter();
	uint64_t slept = 0;

	if (!t)
		return 0;
	if (found)
		wake_commthread(t);
	if (t->side == MU_SIDE_WORKS) {
		slept = t->slept_ps;
		vt_state.side_worked_ps[k] = t->now;
	}
	vt_state.side_ps[k] = t->now;
	if (t->stands_in && t->now > vt_state.standin.done_ps)
		vt_state.standin.done_ps = t->now;
	t->now = t->main_ps;
	t->side = MU_SIDE_NONE;
	vt_call_leave(t);
	return slept;
}

void mu_vt_side_start(unsigned k)
{
	struct mu_vthread *t = vt_call_enter();

	if (!t)
		return;
	/* Its clock may be ahead, and is not moved back. */
	if (vt_state.side_ps[k] < t->now)
		vt_state.side_ps[k] = t->now;
	vt_state.side_worked_ps[k] = vt_state.side_ps[k];
	vt_call_leave(t);
}

uint64_t mu_vt_now_ps(void)
{
	struct mu_vthread *t = vt_call_enter();
	uint64_t now = t ? t->now : vt_state.left_ps;

	if (t)
		vt_call_leave(t);
	return now;
}
