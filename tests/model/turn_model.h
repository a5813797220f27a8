/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of the search of turn_model.c, and what its steps do to the shared words. The steps of the
 * program's threads are in turn_model_task.c, those of the stand-in thread and of the simulator in
 * turn_model_sim.c.
 */
#ifndef TESTS_MODEL_TURN_MODEL_H
#define TESTS_MODEL_TURN_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "mu/vtime/turn.h"

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

extern struct conf conf;
extern struct state now;
extern bool used[64]; /* rows of the table that some step has used */
extern const char *violation;

/*
 * Make the step number `choice`, from 0, of thread i, the stand-in thread or the simulator. They
 * return false if there is no such step.
 */
bool thread_step(unsigned i, unsigned choice);
bool standin_step(unsigned choice);
bool simulator_step(unsigned choice);

/* ---- words ---- */

static inline void note_violation(const char *what)
{
	if (!violation)
		violation = what;
}

static inline void move_word(enum mu_turn_word word, uint32_t from, uint32_t to,
			     enum mu_turn_writer writer)
{
	int row = mu_turn_move_find(word, from, to, writer);

	if (row < 0)
		note_violation("a change that the table does not have");
	else
		used[row] = true;
}

static inline void turn_store(uint32_t to, enum mu_turn_writer writer)
{
	move_word(MU_TURN_TURN, now.turn, to, writer);
	now.turn = to;
}

static inline void serve_store(uint32_t to, enum mu_turn_writer writer)
{
	move_word(MU_TURN_STANDIN, now.serve, to, writer);
	now.serve = to;
}

static inline void thread_store(unsigned i, uint32_t to)
{
	move_word(MU_TURN_THREAD, now.t[i].state, to, MU_TURN_BY_TASK);
	now.t[i].state = to;
}

static inline void task_store(uint8_t to)
{
	move_word(MU_TURN_TASK, now.s.task, to, MU_TURN_BY_SIMULATOR);
	now.s.task = to;
}

static inline void flush_thread(unsigned i)
{
	if (now.t[i].held)
		now.inside = now.t[i].held == HELD_1;
	now.t[i].held = HELD_NONE;
}

static inline void flush_standin(void)
{
	if (now.h.held)
		now.h_inside = now.h.held == HELD_1;
	now.h.held = HELD_NONE;
}

/* The actor goes on there. A step was made. */
static inline bool go_to(uint8_t *pc, unsigned where)
{
	*pc = (uint8_t)where;
	return true;
}

static inline void wake_turn(void)
{
	for (unsigned k = 0; k < conf.threads; k++)
		if (now.t[k].pc == T_HAND_FUTEX || now.t[k].pc == T_BACK_FUTEX)
			now.t[k].in_futex = 0;
}

static inline void wake_serve(void)
{
	now.h.in_futex = 0;
}

#endif
