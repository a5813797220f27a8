/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps of the stand-in thread and of the simulator, for turn_model.c: mu/vtime/standin.c,
 * mu/sim/turn.c and mu/sim/spin.c.
 */
#include "tests/model/turn_model.h"

/* ---- the stand-in thread ---- */

bool standin_step(unsigned choice)
{
	if (!conf.standin || now.h.asleep || now.h.in_futex)
		return false;
	if (choice && now.h.pc != H_IN && now.h.pc != H_PROGRAM)
		return false;
	switch (now.h.pc) {
	case H_LOAD:
		now.h.value = (uint8_t)now.serve;
		now.h.calls = 0;
		now.h.stored = 0;
		return go_to(&now.h.pc, now.stop                       ? H_ENDED
					: now.serve == MU_STANDIN_RUNS ? H_ENTER
								       : H_FUTEX);
	case H_FUTEX:
	case H_OUT_FUTEX:
		if (now.serve == now.h.value && now.h.value != 0xff) {
			now.h.in_futex = 1;
			now.h.value = 0xff; /* when woken: load again */
		} else {
			now.h.pc = now.h.pc == H_FUTEX ? H_LOAD : H_ENTER;
		}
		return true;
	case H_ENTER:
		now.h.held = HELD_1;
		return go_to(&now.h.pc, H_ENTER_LOOK);
	case H_ENTER_LOOK:
		now.h.value = (uint8_t)now.serve;
		return go_to(&now.h.pc, now.serve == MU_STANDIN_RUNS ? H_IN : H_OUT);
	case H_OUT:
		flush_standin();
		now.h_inside = 0;
		return go_to(&now.h.pc, now.stop ? H_ENDED : H_WANTS);
	case H_WANTS:
		now.wants = 1;
		return go_to(&now.h.pc, H_OUT_FUTEX);
	case H_IN:
		if (choice > 1 || (choice && (now.h.stored || conf.simple)))
			return false;
		if (now.h.calls && !choice) {
			return go_to(&now.h.pc, H_DONE);
		}
		if (choice) {
			now.h.stored = 1;
			flush_standin();
			serve_store(MU_STANDIN_STORES, MU_TURN_BY_STANDIN);
			return go_to(&now.h.pc, H_STORE_LOAD);
		}
		now.h.held = HELD_0;
		return go_to(&now.h.pc, H_PROGRAM);
	case H_STORE_LOAD:
		now.h.value = (uint8_t)now.serve;
		return go_to(&now.h.pc, now.serve == MU_STANDIN_STORES ? H_STORE_FUTEX : H_STORED);
	case H_STORE_FUTEX:
		if (now.serve == MU_STANDIN_STORES && now.h.value != 0xff) {
			now.h.in_futex = 1;
			now.h.value = 0xff;
		} else {
			now.h.pc = H_STORE_LOAD;
		}
		return true;
	case H_STORED:
		now.h.held = HELD_0;
		return go_to(&now.h.pc, H_PROGRAM);
	case H_PROGRAM: /* the function of a message; it may sleep on a lock of the program */
		if (choice > 1)
			return false;
		if (choice) {
			if (now.h.slept || conf.simple)
				return false;
			flush_standin();
			now.h.slept = 1;
			now.h.asleep = 1;
			return true;
		}
		now.h.calls = 1;
		return go_to(&now.h.pc, H_ENTER);
	case H_DONE:
		flush_standin();
		serve_store(MU_STANDIN_ASLEEP, MU_TURN_BY_STANDIN);
		return go_to(&now.h.pc, H_LEAVE);
	case H_LEAVE:
		now.h_inside = 0;
		return go_to(&now.h.pc, H_LOAD);
	default:
		return false;
	}
}

/* ---- the simulator; its waits have timeouts, so it needs no wake-up ---- */

static bool leave_task(void)
{
	task_store(SIM_TASK_LEFT);
	return go_to(&now.s.pc, S_DONE);
}

bool simulator_step(unsigned choice)
{
	if (choice && now.s.pc != S_WAIT && now.s.pc != S_SPIN && now.s.pc != S_SERVE_WAIT)
		return false;
	switch (now.s.pc) {
	case S_JOIN:
		if (now.gone)
			return leave_task();
		if (now.turn == MU_TURN_NOT_JOINED)
			return false;
		now.pending = 0;
		task_store(SIM_TASK_READY);
		return go_to(&now.s.pc, S_RESUME);
	case S_RESUME:
		if (now.gone)
			return leave_task();
		task_store(SIM_TASK_RUNS);
		turn_store(MU_TURN_IS_TASK, MU_TURN_BY_SIMULATOR);
		return go_to(&now.s.pc, S_WAKE);
	case S_WAKE:
		if (conf.defect != NO_WAKE_TASK)
			wake_turn();
		return go_to(&now.s.pc, S_WAIT);
	case S_WAIT:
		if (choice == 0) {
			if (now.gone && now.turn == MU_TURN_IS_TASK)
				return leave_task();
			if (now.turn != MU_TURN_IS_SIMULATOR)
				return false;
			return go_to(&now.s.pc, S_ACT);
		}
		if (choice > 1 || now.s.preemptions >= conf.preemptions || now.gone ||
		    now.turn != MU_TURN_IS_TASK)
			return false;
		now.s.preemptions++;
		if (conf.defect == BACK_BY_SIMULATOR)
			now.back = 0;
		return go_to(&now.s.pc, S_PREEMPT);
	case S_PREEMPT:
		now.s.pc = S_WAIT;
		if (now.turn != MU_TURN_IS_TASK)
			return true;
		turn_store(MU_TURN_PREEMPTED, MU_TURN_BY_SIMULATOR);
		return go_to(&now.s.pc, S_BARRIER);
	case S_BARRIER:
		for (unsigned k = 0; k < conf.threads && conf.defect != NO_BARRIER; k++)
			flush_thread(k);
		return go_to(&now.s.pc, S_LOOK);
	case S_LOOK:
		if ((!now.inside || conf.defect == NO_LOOK_INSIDE) &&
		    (now.turn == MU_TURN_PREEMPTED || conf.defect == NO_LOOK_AT_WORD)) {
			task_store(SIM_TASK_SPINS);
			now.s.pc = S_SPIN;
		} else {
			now.s.pc = S_UNDO;
		}
		return true;
	case S_UNDO:
		if (now.turn == MU_TURN_PREEMPTED || conf.defect == NO_UNDO_CAS)
			turn_store(MU_TURN_IS_TASK, MU_TURN_BY_SIMULATOR);
		return go_to(&now.s.pc, S_UNDO_WAKE);
	case S_UNDO_WAKE:
		wake_turn();
		return go_to(&now.s.pc, S_WAIT);
	case S_SPIN:
		if (now.gone) {
			if (choice)
				return false;
			return leave_task();
		}
		if (choice == 0) {
			if (!now.back)
				return false;
			if (conf.defect == BACK_BY_SIMULATOR)
				now.back = 0;
			task_store(SIM_TASK_READY);
			return go_to(&now.s.pc, S_RESUME);
		}
		if (choice > 1 || !conf.standin || now.s.serves >= conf.serves ||
		    (now.s.serving && !now.wants))
			return false;
		now.s.serves++;
		now.s.then = S_SPIN;
		return go_to(&now.s.pc, S_SERVE);
	case S_SERVE:
		now.wants = 0;
		now.s.serving = 0;
		serve_store(MU_STANDIN_RUNS, MU_TURN_BY_SIMULATOR);
		return go_to(&now.s.pc, S_SERVE_WAKE);
	case S_SERVE_WAKE:
		if (conf.defect != NO_WAKE_STANDIN)
			wake_serve();
		return go_to(&now.s.pc, S_SERVE_WAIT);
	case S_SERVE_WAIT:
		if (now.gone) {
			if (choice)
				return false;
			return leave_task();
		}
		if (choice == 0) {
			if (now.serve == MU_STANDIN_RUNS)
				return false;
			if (now.serve == MU_STANDIN_STORES) {
				serve_store(MU_STANDIN_RUNS, MU_TURN_BY_SIMULATOR);
				now.s.pc = S_SERVE_WAKE;
			} else {
				now.s.pc = now.s.then;
			}
			return true;
		}
		if (choice > 1 || !now.h.asleep || now.serve != MU_STANDIN_RUNS)
			return false;
		return go_to(&now.s.pc, S_BLOCK);
	case S_BLOCK:
		now.s.pc = S_SERVE_WAIT;
		if (now.serve != MU_STANDIN_RUNS)
			return true;
		serve_store(MU_STANDIN_BLOCKED, MU_TURN_BY_SIMULATOR);
		return go_to(&now.s.pc, S_BLOCK_BARRIER);
	case S_BLOCK_BARRIER:
		if (conf.defect != NO_BARRIER)
			flush_standin();
		return go_to(&now.s.pc, S_BLOCK_LOOK);
	case S_BLOCK_LOOK:
		if ((!now.h_inside || conf.defect == NO_LOOK_INSIDE) &&
		    (now.serve == MU_STANDIN_BLOCKED || conf.defect == NO_LOOK_AT_WORD)) {
			if (now.serve != MU_STANDIN_BLOCKED)
				note_violation("the stand-in thread counts as blocked, but is not");
			now.s.serving = 1;
			now.s.pc = now.s.then;
		} else {
			now.s.pc = S_BLOCK_UNDO;
		}
		return true;
	case S_BLOCK_UNDO:
		if (now.serve == MU_STANDIN_BLOCKED || conf.defect == NO_UNDO_CAS)
			serve_store(MU_STANDIN_RUNS, MU_TURN_BY_SIMULATOR);
		return go_to(&now.s.pc, S_SERVE_WAKE);
	case S_ACT: /* what the task asked for */
		now.pending = 0;
		if (now.s.serving && now.wants && !now.gone &&
		    (now.request != REQUEST_DETACH || conf.defect == SERVE_AT_DETACH)) {
			now.s.then = S_ACTED;
			return go_to(&now.s.pc, S_SERVE);
		}
		return go_to(&now.s.pc, S_ACTED);
	case S_ACTED:
		if (now.request == REQUEST_DETACH || now.gone)
			return leave_task();
		task_store(now.request == REQUEST_RUN ? SIM_TASK_READY : SIM_TASK_IDLE);
		return go_to(&now.s.pc, S_RESUME);
	default:
		return false;
	}
}
