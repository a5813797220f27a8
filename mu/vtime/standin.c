/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: the thread that stands in for the commthreads of this process while the simulator
 * has preempted it (sim/spin.h), since then no thread of the program makes a call that could do
 * their work. Its word is mu_vt_area.serve (STANDIN in vtime/turn.def). It sleeps until the
 * simulator lets it run; it then serves the channels and sleeps again. It is in no list of threads
 * and never holds the turn.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "mu/process.h"
#include "mu/raw.h"
#include "mu/vtime/cost.h"
#include "mu/vtime/state.h"
#include "mu/vtime/vtask.h"

#define SERVE_PASSES 64

/* The same for the stand-in thread, which waits until the simulator lets it run. Returns NULL if
 * the thread should end.
 */
struct mu_vthread *vt_standin_enter(struct mu_vthread *t)
{
	struct mu_vt_area *vt = vt_state.standin.vt;
	uint32_t serve;

	for (;;) {
		atomic_store_relaxed(&vt->serve_inside, 1);
		atomic_signal_fence_seq_cst();
		serve = atomic_load_acquire(&vt->serve);
		if (serve == MU_STANDIN_RUNS)
			return t;
		atomic_store_release(&vt->serve_inside, 0);
		if (!vt_is_joined() || atomic_load_acquire(&vt_state.standin.stop))
			return NULL;
		atomic_store_release(&vt->serve_wants, 1);
		vt_futex(&vt->serve, FUTEX_WAIT, serve);
		atomic_load_acquire(&vt->inside);
		t->now = vt->serve_ps > t->now ? vt->serve_ps : t->now;
	}
}

/* Called by the stand-in thread: let the simulator act on what it has started, and continue. */
void vt_standin_flush(void)
{
	struct mu_vt_area *vt = vt_state.vt;

	mu_turn_store(MU_TURN_STANDIN, &vt->serve, MU_STANDIN_STORES, MU_TURN_BY_STANDIN);
	vt_futex(&vt->serve, FUTEX_WAKE, 1);
	while (atomic_load_acquire(&vt->serve) == MU_STANDIN_STORES)
		vt_futex(&vt->serve, FUTEX_WAIT, MU_STANDIN_STORES);
}

/*
 * Serve the channels once. The number of passes is bounded, so that virtual time advances before
 * work that asks to be called again is called again.
 */
static void standin_serve(struct mu_vt_area *vt)
{
	struct mu_vthread *t = &vt_state.standin.thread;
	int n = 1, found = 0;

	/* Order: everything that the threads of the program did in calls precedes this. */
	atomic_load_acquire(&vt->inside);
	t->now = vt->serve_ps + mu_cost_ps[MU_COST_poll];
	vt_state.standin.done_ps = vt->serve_ps;
	for (int i = 0; i < SERVE_PASSES && n; i++) {
		n = vt_state.standin.serve(vt_state.standin.p);
		found |= n;
	}
	if (!vt_standin_enter(t))
		return;
	vt->serve_ps = found ? vt_state.standin.done_ps : vt->serve_ps;
	vt->serve_found = found != 0;
	vt->serve_more = n != 0;
	tsan_release_call();
	atomic_store_release(&vt_state.standin.handed, 1);
	mu_turn_store(MU_TURN_STANDIN, &vt->serve, MU_STANDIN_ASLEEP, MU_TURN_BY_STANDIN);
	vt_futex(&vt->serve, FUTEX_WAKE, 1);
	atomic_store_release(&vt->serve_inside, 0);
}

static void *standin_main(void *arg)
{
	struct mu_vt_area *vt = arg;
	pid_t tid = (pid_t)syscall(SYS_gettid);

	vt_self = &vt_state.standin.thread;
	mu_vthread_exclude(tid, true);
	vt->serve_tid = (uint32_t)tid;
	atomic_store_release(&vt_state.standin.thread.tid, tid);
	vt_futex((uint32_t *)&vt_state.standin.thread.tid, FUTEX_WAKE_PRIVATE, 1);
	for (;;) {
		uint32_t serve = atomic_load_acquire(&vt->serve);

		if (atomic_load_acquire(&vt_state.standin.stop)) {
			mu_vthread_exclude(tid, false);
			return NULL;
		}
		if (serve == MU_STANDIN_RUNS)
			standin_serve(vt);
		else
			vt_futex(&vt->serve, FUTEX_WAIT, serve);
	}
}

static void standin_start(struct mu_vt_area *vt)
{
	int rc;

	vt_state.standin.stop = 0;
	vt_state.standin.thread = (struct mu_vthread){.stands_in = 1, .called = 1};
	vt_state.standin.vt = vt;
	/* The new thread must be excluded before any thread reads /proc. */
	mu_lock_acquire(&vt_state.lock);
	rc = mu_service_thread_start(standin_main, vt, &vt_state.standin.pthread);
	while (!rc && !atomic_load_acquire(&vt_state.standin.thread.tid))
		vt_futex((uint32_t *)&vt_state.standin.thread.tid, FUTEX_WAIT_PRIVATE, 0);
	mu_lock_release(&vt_state.lock);
	if (rc) {
		drv_warn("virtual clock: no thread for asynchronous progress (%s): "
			 "messages for a task that spins without a call are not served",
			 strerror(-rc));
		return;
	}
	vt_state.standin.runs = true;
}

void vt_standin_stop(struct mu_vt_area *vt)
{
	if (!vt_state.standin.runs)
		return;
	atomic_store_release(&vt_state.standin.stop, 1);
	mu_turn_store(MU_TURN_STANDIN, &vt->serve, MU_STANDIN_ENDS, MU_TURN_BY_TASK);
	vt_futex(&vt->serve, FUTEX_WAKE, 1);
	pthread_join(vt_state.standin.pthread, NULL);
	vt_state.standin.runs = false;
}

void mu_vt_serve_channels(uint64_t channels, int (*serve)(struct mu_process *p),
			  struct mu_process *p)
{
	struct mu_vthread *t = vt_call_enter();

	if (!t)
		return;
	vt_state.standin.serve = serve;
	vt_state.standin.p = p;
	if (channels && !vt_state.standin.runs)
		standin_start(vt_state.vt);
	vt_state.vt->serves = vt_state.standin.runs ? channels : 0;
	vt_call_leave(t);
}
