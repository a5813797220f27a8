/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exhaustive search of the hand-over of turns in virtual time: one process of the program (one or
 * two threads, perhaps a stand-in thread) and the simulator, in every order of their steps. A step
 * is one access to a word that another actor may access meanwhile, or one section under the lock of
 * the thread list. The steps follow mu/vtime/handover.c, threads.c and standin.c, mu/sim/turn.c and
 * mu/sim/spin.c; each change of a state word is looked up in the table mu/vtime/turn.def, and
 * refused if it is not there.
 *
 * Processors hold back a store of `inside` until a barrier, the writer's next store, or any other
 * moment (x86 and ARM; that is why the simulator has all processors pass a barrier).
 *
 * Only at the end no step is possible, else the search found a lost wake-up or a lost turn. In each
 * state at most one of these acts: a thread inside a call, the stand-in thread inside a call, the
 * simulator. The process may die at each step. Every row of the table must be used.
 *
 * Planted defects: the same search with one line of the protocol left out must find a violation.
 *
 *   usage: turn_model [--trace]
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mu/vtime/turn.h"
#include "tests/model/state_set.h"

#define THREADS 2

enum defect {
	NO_DEFECT,
	NO_BARRIER,        /* preempt: the simulator does not have the processors pass a barrier */
	NO_LOOK_INSIDE,    /* preempt: it does not look at `inside` */
	NO_LOOK_AT_WORD,   /* preempt: it does not look at the word again */
	NO_UNDO_CAS,       /* preempt: it undoes with a plain store */
	NO_SECOND_LOOK,    /* turn_wait_back: TASK, once seen, is believed */
	BACK_BY_SIMULATOR, /* `back` is cleared by the simulator when it preempts */
	NO_WAKE_TASK,      /* the simulator resumes without a wake-up */
	NO_WAKE_GO,        /* a thread is chosen without a wake-up */
	NO_WATCH,          /* no thread takes the turn from a holder that sleeps or has ended */
	NO_SECOND_PHASE,   /* look_after: `phase` is not looked at again after /proc */
	NO_WAKE_STANDIN,   /* the stand-in thread is resumed without a wake-up */
	SERVE_AT_DETACH,   /* the simulator resumes the stand-in thread of a task that detaches */
	DEFECTS
};
static const char *const defect_names[DEFECTS] = {
    "none",           "no barrier",     "inside ignored",    "word ignored",
    "undo by store",  "no second look", "back by simulator", "no wake of the task",
    "no wake of go",  "no watch",       "no second phase",   "no wake of the stand-in",
    "serve at detach"};

struct conf {
	const char *name;
	unsigned threads, calls, sleeps, preemptions, serves, early_ends;
	bool standin, death;
	bool simple; /* the stand-in thread never stores, nor sleeps in the program */
	enum defect defect;
};

/* Where a thread is. */
/* clang-format off */
enum {
	T_JOIN, T_PROGRAM, T_ENTER, T_SLOW, T_WAIT, T_WAIT_FUTEX, T_LOOK, T_TAKE, T_KEEP,
	T_KEEP_LOOK, T_BACK, T_BACK_WAKE, T_BACK_LOAD, T_BACK_FUTEX, T_BACK_KEEP,
	T_BACK_AGAIN, T_IN, T_LEAVE, T_CHOOSE, T_HAND, T_HAND_LOAD,
	T_HAND_FUTEX, T_RUN, T_WAKE_GO, T_DETACH, T_DETACH_ALL,
	T_STANDIN_END, T_STANDIN_JOIN, T_ENDED
};
/* Where the stand-in thread is. */
enum {
	H_LOAD, H_FUTEX, H_ENTER, H_ENTER_LOOK, H_OUT, H_WANTS, H_OUT_FUTEX, H_IN, H_STORE_LOAD, H_STORE_FUTEX, H_STORED, H_PROGRAM, H_DONE, H_LEAVE,
	H_ENDED
};
/* Where the simulator is. */
enum {
	S_JOIN, S_RESUME, S_WAKE, S_WAIT, S_PREEMPT, S_BARRIER, S_LOOK, S_UNDO, S_UNDO_WAKE,
	S_SPIN, S_SERVE, S_SERVE_WAKE, S_SERVE_WAIT, S_BLOCK, S_BLOCK_BARRIER, S_BLOCK_LOOK,
	S_BLOCK_UNDO, S_ACT, S_ACTED, S_DONE
};
/* clang-format on */
enum { REQUEST_RUN, REQUEST_IDLE, REQUEST_DETACH };
enum { RUNNING, CHOOSING };
enum { HELD_NONE, HELD_0, HELD_1 }; /* a store of `inside` that others do not see yet */
#define NOBODY 7

struct state {
	struct {
		uint8_t pc, value, go, calls, sleeps, asleep, in_futex, detaches, held, saved, ends,
		    chooses;
		uint32_t state; /* THREAD */
	} t[THREADS];
	struct {
		uint8_t pc, value, asleep, in_futex, held, calls, slept, stored;
	} h;
	struct {
		uint8_t pc, then, preemptions, serves, serving;
		uint8_t task; /* TASK */
	} s;
	uint8_t inside, back, wants, h_inside, request, runs, phase, attached, stop, gone;
	uint8_t pending; /* a request that the simulator has not taken */
	uint32_t turn, serve;
};

static struct conf conf;
static struct state now;
static struct state_set reached = {.bytes = sizeof(struct state)};
static bool used[64];
static const char *violation;

/* ---- words ---- */

static void note_violation(const char *what)
{
	if (!violation)
		violation = what;
}

static void move_word(enum mu_turn_word word, uint32_t from, uint32_t to,
		      enum mu_turn_writer writer)
{
	int row = mu_turn_move_find(word, from, to, writer);

	if (row < 0)
		note_violation("a change that the table does not have");
	else
		used[row] = true;
}

static void turn_store(uint32_t to, enum mu_turn_writer writer)
{
	move_word(MU_TURN_TURN, now.turn, to, writer);
	now.turn = to;
}

static void serve_store(uint32_t to, enum mu_turn_writer writer)
{
	move_word(MU_TURN_STANDIN, now.serve, to, writer);
	now.serve = to;
}

static void thread_store(unsigned i, uint32_t to)
{
	move_word(MU_TURN_THREAD, now.t[i].state, to, MU_TURN_BY_TASK);
	now.t[i].state = to;
}

static void task_store(uint8_t to)
{
	move_word(MU_TURN_TASK, now.s.task, to, MU_TURN_BY_SIMULATOR);
	now.s.task = to;
}

static void flush_thread(unsigned i)
{
	if (now.t[i].held)
		now.inside = now.t[i].held == HELD_1;
	now.t[i].held = HELD_NONE;
}

static void flush_standin(void)
{
	if (now.h.held)
		now.h_inside = now.h.held == HELD_1;
	now.h.held = HELD_NONE;
}

/* The actor goes on there. A step was made. */
static bool go_to(uint8_t *pc, unsigned where)
{
	*pc = (uint8_t)where;
	return true;
}

/* ---- the process ---- */

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

static void wake_turn(void)
{
	for (unsigned k = 0; k < conf.threads; k++)
		if (now.t[k].pc == T_HAND_FUTEX || now.t[k].pc == T_BACK_FUTEX)
			now.t[k].in_futex = 0;
}

static void wake_serve(void)
{
	now.h.in_futex = 0;
}

/*
 * Steps of one thread. `choice` counts the alternatives from 0. Returns false if there is no such
 * step.
 */
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

static bool thread_step(unsigned i, unsigned choice)
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

/* ---- the stand-in thread ---- */

static bool standin_step(unsigned choice)
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

static bool simulator_step(unsigned choice)
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

/* ---- the process as a whole, and the processors ---- */

static bool other_step(unsigned choice)
{
	bool all = true;

	if (choice < THREADS) { /* a store becomes visible */
		if (!now.t[choice].held)
			return false;
		flush_thread(choice);
		return true;
	}
	if (choice == THREADS) {
		if (!now.h.held)
			return false;
		flush_standin();
		return true;
	}
	if (choice == THREADS + 2) { /* the program lets go of the lock between two calls */
		for (unsigned k = 0; k < conf.threads; k++)
			if (now.h.asleep && now.t[k].pc == T_PROGRAM && !now.t[k].asleep) {
				now.h.asleep = 0;
				return true;
			}
		return false;
	}
	if (choice > THREADS + 2 || now.gone)
		return false;
	for (unsigned k = 0; k < conf.threads; k++)
		all &= now.t[k].pc == T_ENDED;
	if (!all && (!conf.death || now.s.pc == S_DONE))
		return false; /* after the last thread the process ends; before, it may die */
	now.gone = 1;
	for (unsigned k = 0; k < conf.threads; k++) {
		flush_thread(k);
		memset(&now.t[k], 0, sizeof now.t[k]);
		now.t[k].pc = T_ENDED;
	}
	flush_standin();
	memset(&now.h, 0, sizeof now.h);
	return go_to(&now.h.pc, H_ENDED);
}

static bool make_step(unsigned actor, unsigned choice)
{
	if (actor < THREADS)
		return actor < conf.threads && thread_step(actor, choice);
	if (actor == THREADS)
		return standin_step(choice);
	if (actor == THREADS + 1)
		return simulator_step(choice);
	return other_step(choice);
}

static bool is_simulator_acting(void)
{
	return now.s.pc == S_SPIN || now.s.pc == S_SERVE || now.s.pc == S_ACT ||
	       now.s.pc == S_ACTED || now.s.pc == S_RESUME;
}

static void check_state(void)
{
	unsigned acting = is_simulator_acting() && now.s.task != SIM_TASK_OUT;

	for (unsigned k = 0; k < conf.threads; k++)
		acting += now.t[k].pc == T_IN;
	acting += conf.standin && now.h.pc == H_IN;
	if (acting > 1)
		note_violation("two run");
}

static bool is_end(void)
{
	return now.gone && now.s.pc == S_DONE;
}

/* ---- the search ---- */

static void print_state(uint32_t i)
{
	const struct state *s = state_set_get(&reached, i);

	printf(
	    "  T0 at %u%s T1 at %u%s H at %u S at %u: turn %u serve %u inside %u back %u runs %u "
	    "phase %u\n",
	    s->t[0].pc, s->t[0].in_futex ? "z" : "", s->t[1].pc, s->t[1].in_futex ? "z" : "",
	    s->h.pc, s->s.pc, s->turn, s->serve, s->inside, s->back, s->runs, s->phase);
}

/* Returns what is wrong, or NULL. */
static const char *search_states(const struct conf *c, bool trace)
{
	uint32_t i;

	conf = *c;
	state_set_clear(&reached);
	violation = NULL;
	memset(&now, 0, sizeof now);
	now.runs = NOBODY;
	for (unsigned k = conf.threads; k < THREADS; k++)
		now.t[k].pc = T_ENDED;
	if (!conf.standin)
		now.h.pc = H_ENDED;
	state_set_add(&reached, &now, 0);
	for (i = 0; i < reached.count && !violation; i++) {
		bool any = false, has_ended;

		for (unsigned actor = 0; actor < THREADS + 3 && !violation; actor++)
			for (unsigned choice = 0; choice < 5 && !violation; choice++) {
				memcpy(&now, state_set_get(&reached, i), sizeof now);
				has_ended = now.t[0].pc == T_ENDED;
				if (!make_step(actor, choice))
					continue;
				/* Death does not excuse a state in which nothing else can happen.
				 */
				any |= actor < THREADS + 2 || choice != THREADS + 1 ||
				       !conf.death || has_ended;
				check_state();
				state_set_add(&reached, &now, i);
			}
		memcpy(&now, state_set_get(&reached, i), sizeof now);
		if (!any && !is_end())
			note_violation("nobody can go on: a lost wake-up, or a lost turn");
	}
	if (violation && trace)
		for (uint32_t k = i ? i - 1 : 0, n = 0; n < 200; k = reached.parent[k], n++) {
			print_state(k);
			if (!k)
				break;
		}
	printf("%-28s %9u states: %s\n", c->name, reached.count, violation ? violation : "right");
	return violation;
}

int main(int argc, char **argv)
{
	static const struct conf confs[] = {
	    {"one thread", .threads = 1, .calls = 3, .preemptions = 3, .death = true},
	    {"one thread, stand-in", .threads = 1, .calls = 2, .preemptions = 2, .serves = 2,
	     .standin = true, .death = true},
	    {"two threads", .threads = 2, .calls = 2, .sleeps = 1, .preemptions = 1},
	    {"two threads, one may end", .threads = 2, .calls = 1, .preemptions = 1,
	     .early_ends = 1, .death = true},
	    {"two threads, stand-in", .threads = 2, .calls = 1, .preemptions = 1, .serves = 1,
	     .standin = true, .simple = true},
	};
	/* Which case finds a defect. */
	static const struct {
		enum defect defect;
		unsigned conf;
	} defects[] = {
	    {NO_BARRIER, 0},     {NO_LOOK_INSIDE, 0},    {NO_LOOK_AT_WORD, 1}, {NO_UNDO_CAS, 0},
	    {NO_SECOND_LOOK, 0}, {BACK_BY_SIMULATOR, 0}, {NO_WAKE_TASK, 0},    {NO_WAKE_GO, 2},
	    {NO_WATCH, 2},       {NO_SECOND_PHASE, 2},   {NO_WAKE_STANDIN, 1}, {SERVE_AT_DETACH, 1},
	};
	setvbuf(stdout, NULL, _IOLBF, 0);
	bool trace = argc > 1 && !strcmp(argv[1], "--trace");
	int bad = 0;

	for (unsigned i = 0; i < sizeof confs / sizeof *confs; i++)
		bad |= search_states(&confs[i], trace) != NULL;
	for (unsigned i = 0; i < mu_turn_move_count; i++)
		if (!used[i]) {
			printf("never used: %s\n", mu_turn_moves[i].text);
			bad = 1;
		}
	for (unsigned i = 0; i < sizeof defects / sizeof *defects; i++) {
		struct conf c = confs[defects[i].conf];

		c.name = defect_names[defects[i].defect];
		c.defect = defects[i].defect;
		c.death = false;
		if (!search_states(&c, false)) {
			printf("the defect '%s' is not found\n", c.name);
			bad = 1;
		}
	}
	return bad;
}
