/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: the turn between this process and the simulator. The turn is a word in shared
 * memory (mu_vt_area.turn, vtime/turn.def). The side that holds the turn runs; the other side
 * sleeps on the word.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "mu/process.h"
#include "mu/vtime/cost.h"
#include "mu/vtime/state.h"

void vt_give_turn(struct mu_vt_area *vt, enum mu_vt_request request, uint64_t now)
{
	vt->request = request;
	vt->now_ps = now;
	mu_turn_store(MU_TURN_TURN, &vt->turn, MU_TURN_IS_SIMULATOR, MU_TURN_BY_TASK);
	vt_futex(&vt->turn, FUTEX_WAKE, 1);
}

/* Give the turn to the simulator and wait for it. Returns the time at which the process resumes. */
uint64_t vt_hand_over(enum mu_vt_request request, uint64_t now)
{
	struct mu_vt_area *vt = vt_state.vt;
	uint32_t phase = atomic_exchange_relaxed(&vt_state.phase, CHOOSING);

	vt_give_turn(vt, request, now);
	while (atomic_load_acquire(&vt->turn) != MU_TURN_IS_TASK)
		vt_futex(&vt->turn, FUTEX_WAIT, MU_TURN_IS_SIMULATOR);
	vt_state.horizon = vt->horizon_ps;
	vt_state.watch.is_due = 1;
	atomic_store_relaxed(&vt_state.phase, phase);
	return vt->now_ps;
}

/* True if each thread of the process waits in a call that returns only after an event. */
static bool is_process_blocked(const struct mu_vthread *alone)
{
	if (alone)
		return alone->blocked;
	for (const struct mu_vthread *t = vt_state.list; t; t = t->next)
		if (t->state != MU_VTHREAD_IDLE || !t->blocked)
			return false;
	return true;
}

/*
 * Hand over after an empty poll. idler: the thread whose clock is `now`; alone: the process has no
 * other thread.
 */
uint64_t vt_hand_over_idle(const struct mu_vthread *idler, bool alone, uint64_t flags,
			   uint64_t limit)
{
	if (is_process_blocked(alone ? idler : NULL))
		flags |= MU_VT_BLOCKED;
	if (idler->call != vt_state.call_written) {
		vt_state.call_written = idler->call;
		snprintf(vt_state.vt->call, sizeof vt_state.vt->call, "%s",
			 idler->call ? idler->call : "a poll");
	}
	vt_state.vt->arg[MU_VT_ARG_POLL_PS] = mu_cost_ps[MU_COST_poll];
	vt_state.vt->arg[MU_VT_ARG_FLAGS] = flags;
	vt_state.vt->arg[MU_VT_ARG_LIMIT_PS] = limit;
	vt_state.flags = 0;
	return vt_hand_over(MU_VT_IDLE, idler->now);
}

/*
 * The simulator has preempted this process. Wait until it resumes the process; the other threads
 * wait for this one meanwhile. `inside` and `turn` are accessed in the same order as in
 * vt_turn_confirm(), since the simulator may preempt the process again at once. `back` stays set
 * until the turn is certain, so that a simulator that preempts again sees it.
 */
void vt_turn_wait_back(struct mu_vthread *t)
{
	struct mu_vt_area *vt = vt_state.vt;
	uint32_t phase = atomic_exchange_relaxed(&vt_state.phase, CHOOSING), turn;

	vt->back_ps = t->now;
	vt_watch_count_miss();
	do {
		atomic_store_release(&vt->inside, 0);
		atomic_store_release(&vt->back, 1);
		vt_futex(&vt->back, FUTEX_WAKE, 1);
		while ((turn = atomic_load_acquire(&vt->turn)) != MU_TURN_IS_TASK)
			vt_futex(&vt->turn, FUTEX_WAIT, turn);
		atomic_store_relaxed(&vt->inside, 1);
		atomic_signal_fence_seq_cst();
	} while (atomic_load_acquire(&vt->turn) != MU_TURN_IS_TASK);
	atomic_store_relaxed(&vt->back, 0);
	atomic_load_acquire(&vt_state.standin.handed);
	t->now = vt->now_ps > t->now ? vt->now_ps : t->now;
	vt_state.horizon = vt->horizon_ps;
	/* A tail store may have come too late. */
	vt->dirty |=
	    atomic_load_relaxed(&mu_host_area(vt_state.host, vt_state.local)->channels_open);
	atomic_store_relaxed(&vt_state.phase, phase);
}

void vt_let_simulator_run(struct mu_vthread *t)
{
	if (t->stands_in)
		vt_standin_flush();
	else
		t->now = vt_hand_over(MU_VT_RUN, t->now);
}
