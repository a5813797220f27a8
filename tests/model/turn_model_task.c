/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of the program's threads, for turn_model.c: mu/vtime/handover.c and threads.c. */
#include "tests/model/turn_model.h"

/* The other threads of the program sleep on something of the program until the next call ends. */
static void call_ended(unsigned i)
{
	for (unsigned k = 0; k < conf.threads; k++)
		if (k != i)
			now.t[k].asleep = 0;
	now.h.asleep = 0;
}

/* By /proc: asleep in the kernel, or not there. */
static bool is_settled(unsigned i)
{
	return now.t[i].pc == T_ENDED || now.t[i].asleep || now.t[i].in_futex;
}

/* All threads but those that wait in a call. */
static bool are_others_settled(unsigned but)
{
	for (unsigned k = 0; k < conf.threads; k++)
		if (k != but && now.t[k].state != MU_VTHREAD_READY &&
		    now.t[k].state != MU_VTHREAD_IDLE && !is_settled(k))
			return false;
	return true;
}

static bool program_step(unsigned i, unsigned choice)
{
	unsigned other = 1 - i;

	if (now.t[i].asleep)
		return false;
	switch (choice) {
	case 0: /* the next call; the last of thread 0 detaches */
		if (now.t[i].calls < conf.calls) {
			now.t[i].calls++;
		} else if (i || !now.attached) {
			flush_thread(i);
			now.t[i].pc = T_ENDED;
			call_ended(i);
			return true;
		} else {
			now.t[i].detaches = 1;
		}
		return go_to(&now.t[i].pc, now.attached ? T_ENTER : T_PROGRAM);
	case 1: /* sleep until another thread has made a call */
		if (conf.threads < 2 || now.t[i].sleeps >= conf.sleeps || now.t[other].asleep ||
		    now.t[other].pc == T_ENDED)
			return false;
		now.t[i].sleeps++;
		now.t[i].asleep = 1;
		flush_thread(i);
		return true;
	case 2: /* end, without a word */
		if (!conf.early_ends || now.t[i].ends)
			return false;
		flush_thread(i);
		now.t[i].pc = T_ENDED;
		call_ended(i);
		return true;
	}
	return false;
}

static void choose_step(unsigned i, unsigned next)
{
	thread_store(next, MU_VTHREAD_RUNS);
	now.runs = (uint8_t)next;
	now.phase = RUNNING;
	if (next == i) {
		now.t[i].pc = T_KEEP;
		return;
	}
	now.t[next].go = 1;
	now.t[i].value = (uint8_t)next;
	now.t[i].pc = T_WAKE_GO;
}

static bool call_step(unsigned i, unsigned choice)
{
	switch (choice) {
	case 0:
		if (now.t[i].detaches) {
			return go_to(&now.t[i].pc, T_DETACH);
		}
		return go_to(&now.t[i].pc, T_LEAVE);
	case 1:
	case 2:
		if (now.t[i].detaches)
			return false;
		if (conf.threads == 1) {
			now.request = choice == 1 ? REQUEST_RUN : REQUEST_IDLE;
			return go_to(&now.t[i].pc, T_HAND);
		}
		if (now.runs != i) {
			return go_to(&now.t[i].pc, T_SLOW);
		}
		now.runs = NOBODY;
		now.phase = CHOOSING;
		thread_store(i, choice == 1 ? MU_VTHREAD_READY : MU_VTHREAD_IDLE);
		return go_to(&now.t[i].pc, T_CHOOSE);
	}
	return false;
}

/* The holder left: hand over to the simulator, or choose a thread that is ready. */
static bool choice_step(unsigned i, unsigned choice)
{
	bool ready = false;

	if (!are_others_settled(i) && now.t[i].state != MU_VTHREAD_RUNS)
		return false;
	for (unsigned k = 0; k < conf.threads; k++)
		ready |= now.t[k].state == MU_VTHREAD_READY;
	if (choice == 0) {
		now.request = ready ? REQUEST_RUN : REQUEST_IDLE;
		return go_to(&now.t[i].pc, T_HAND);
	}
	if (choice > conf.threads || now.t[choice - 1].state != MU_VTHREAD_READY)
		return false;
	choose_step(i, choice - 1);
	return true;
}

/* The turn is certain: go on in the call, or choose the next turn holder. */
static void keep_turn(unsigned i)
{
	now.t[i].pc = now.t[i].chooses ? T_CHOOSE : T_IN;
	now.t[i].chooses = 0;
}

bool thread_step(unsigned i, unsigned choice)
{
	if (now.t[i].in_futex) {
		/* Only the wait for `go` has a timeout: it looks after the holder. */
		if (choice || now.t[i].pc != T_WAIT_FUTEX || conf.defect == NO_WATCH ||
		    now.phase != RUNNING || now.runs == i || now.runs == NOBODY || !now.attached)
			return false;
		now.t[i].in_futex = 0;
		return go_to(&now.t[i].pc, T_LOOK);
	}
	switch (now.t[i].pc) {
	case T_PROGRAM:
		return program_step(i, choice);
	case T_IN:
		return call_step(i, choice);
	case T_CHOOSE:
		return choice_step(i, choice);
	case T_RUN: /* after the simulator: any thread that is ready */
		if (choice >= conf.threads || now.t[choice].state != MU_VTHREAD_READY)
			return false;
		choose_step(i, choice);
		return true;
	default:
		break;
	}
	if (choice)
		return false;
	switch (now.t[i].pc) {
	case T_JOIN:
		if (i) {
			return go_to(&now.t[i].pc, T_PROGRAM);
		}
		thread_store(0, MU_VTHREAD_RUNS);
		now.runs = 0;
		now.inside = 1;
		now.request = REQUEST_RUN;
		now.phase = RUNNING;
		return go_to(&now.t[i].pc, T_HAND);
	case T_ENTER:
		return go_to(&now.t[i].pc, !now.attached   ? T_PROGRAM
					   : now.runs == i ? T_KEEP
							   : T_SLOW);
	case T_SLOW:
		if (!now.attached) {
			return go_to(&now.t[i].pc, T_PROGRAM);
		}
		flush_thread(i);
		thread_store(i, MU_VTHREAD_READY);
		return go_to(&now.t[i].pc, T_WAIT);
	case T_WAIT:
		if (now.t[i].go) {
			now.t[i].go = 0;
			now.t[i].pc = now.attached ? T_KEEP : T_PROGRAM;
		} else {
			now.t[i].pc = T_WAIT_FUTEX;
		}
		return true;
	case T_WAIT_FUTEX:
		if (now.t[i].go)
			now.t[i].pc = T_WAIT;
		else
			now.t[i].in_futex = 1;
		return true;
	case T_LOOK: /* phase was RUNNING; /proc takes a while */
		return go_to(&now.t[i].pc, T_TAKE);
	case T_TAKE:
		if (!now.attached || now.runs == i || now.runs == NOBODY || !is_settled(now.runs) ||
		    !are_others_settled(i) ||
		    (now.phase != RUNNING && conf.defect != NO_SECOND_PHASE)) {
			return go_to(&now.t[i].pc, T_WAIT);
		}
		thread_store(now.runs, MU_VTHREAD_AWAY);
		now.runs = NOBODY;
		now.phase = CHOOSING;
		now.t[i].chooses = 1;
		return go_to(&now.t[i].pc, T_KEEP);
	case T_KEEP:
		if (now.runs != i && now.attached && !now.t[i].chooses)
			note_violation("a thread that is not the turn holder goes on in a call");
		now.t[i].held = HELD_1;
		return go_to(&now.t[i].pc, T_KEEP_LOOK);
	case T_KEEP_LOOK:
		if (now.turn == MU_TURN_IS_TASK) {
			keep_turn(i);
			return true;
		}
		now.t[i].pc = T_BACK;
		now.t[i].saved = now.phase;
		now.phase = CHOOSING;
		return true;
	case T_BACK:
		flush_thread(i);
		now.inside = 0;
		return go_to(&now.t[i].pc, T_BACK_WAKE);
	case T_BACK_WAKE:
		now.back = 1; /* the simulator looks now and then: it needs no wake-up here */
		return go_to(&now.t[i].pc, T_BACK_LOAD);
	case T_BACK_LOAD:
	case T_HAND_LOAD:
		now.t[i].value = (uint8_t)now.turn;
		if (now.turn == MU_TURN_IS_TASK && now.t[i].pc == T_HAND_LOAD && now.pending)
			note_violation("a hand-over that the simulator did not take");
		if (now.turn != MU_TURN_IS_TASK)
			now.t[i].pc = now.t[i].pc == T_BACK_LOAD ? T_BACK_FUTEX : T_HAND_FUTEX;
		else if (now.t[i].pc == T_BACK_LOAD)
			now.t[i].pc = T_BACK_KEEP;
		else if (now.t[i].state == MU_VTHREAD_RUNS && now.runs == i)
			now.t[i].pc = T_IN;
		else {
			for (unsigned k = 0; k < conf.threads; k++)
				if (now.t[k].state == MU_VTHREAD_IDLE)
					thread_store(k, MU_VTHREAD_READY);
			now.t[i].pc = T_RUN;
		}
		if (now.t[i].pc == T_IN) {
			now.phase = now.t[i].saved;
			now.attached = 1;
		}
		return true;
	case T_BACK_FUTEX:
		if (now.turn == now.t[i].value)
			now.t[i].in_futex = 1;
		now.t[i].pc = now.t[i].in_futex ? T_BACK_FUTEX : T_BACK_LOAD;
		/* When it is woken, its compare fails and it loads again. */
		if (now.t[i].in_futex)
			now.t[i].value = MU_TURN_NOT_JOINED;
		return true;
	case T_HAND_FUTEX:
		if (now.t[i].value == MU_TURN_IS_SIMULATOR && now.turn == MU_TURN_IS_SIMULATOR)
			now.t[i].in_futex = 1;
		now.t[i].pc = now.t[i].in_futex ? T_HAND_FUTEX : T_HAND_LOAD;
		if (now.t[i].in_futex)
			now.t[i].value = MU_TURN_NOT_JOINED;
		return true;
	case T_BACK_KEEP:
		now.t[i].held = HELD_1;
		return go_to(&now.t[i].pc, T_BACK_AGAIN);
	case T_BACK_AGAIN:
		if (now.turn != MU_TURN_IS_TASK && conf.defect != NO_SECOND_LOOK) {
			return go_to(&now.t[i].pc, T_BACK);
		}
		flush_thread(i);
		if (conf.defect != BACK_BY_SIMULATOR)
			now.back = 0;
		now.phase = now.t[i].saved;
		keep_turn(i);
		return true;
	case T_LEAVE:
		now.t[i].held = HELD_0;
		now.t[i].pc = T_PROGRAM;
		call_ended(i);
		return true;
	case T_HAND:
		flush_thread(i);
		now.t[i].saved = now.phase;
		now.phase = CHOOSING;
		now.pending = 1;
		turn_store(MU_TURN_IS_SIMULATOR, MU_TURN_BY_TASK);
		return go_to(&now.t[i].pc, T_HAND_LOAD);
	case T_WAKE_GO:
		if (conf.defect != NO_WAKE_GO)
			now.t[now.t[i].value].in_futex = 0;
		return go_to(&now.t[i].pc, T_WAIT);
	case T_DETACH:
		flush_thread(i);
		now.request = REQUEST_DETACH;
		turn_store(MU_TURN_IS_SIMULATOR, MU_TURN_BY_TASK);
		return go_to(&now.t[i].pc, T_DETACH_ALL);
	case T_DETACH_ALL:
		now.attached = 0;
		for (unsigned k = 0; k < conf.threads; k++)
			if (now.t[k].state == MU_VTHREAD_READY ||
			    now.t[k].state == MU_VTHREAD_IDLE) {
				now.t[k].go = 1;
				now.t[k].in_futex = 0;
			}
		call_ended(i);
		return go_to(&now.t[i].pc, T_STANDIN_END);
	case T_STANDIN_END:
		if (!conf.standin) {
			return go_to(&now.t[i].pc, T_PROGRAM);
		}
		now.stop = 1;
		serve_store(MU_STANDIN_ENDS, MU_TURN_BY_TASK);
		wake_serve();
		return go_to(&now.t[i].pc, T_STANDIN_JOIN);
	case T_STANDIN_JOIN:
		if (now.h.pc != H_ENDED)
			return false;
		return go_to(&now.t[i].pc, T_PROGRAM);
	default:
		return false;
	}
}
