/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state words of virtual time, and the one way to change them. The states and all changes
 * stand in vtime/turn.def.
 *
 * Writers: TURN and STANDIN have one writer in each state (turn.def says which), so a plain
 * store suffices; only the preemption by the simulator races with that writer, and is a compare and
 * swap. THREAD is written under the lock of the thread list, TASK by the simulator only.
 */
#ifndef MU_VTIME_TURN_H
#define MU_VTIME_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"

enum mu_turn_word { MU_TURN_TURN, MU_TURN_STANDIN, MU_TURN_THREAD, MU_TURN_TASK };
enum mu_turn_writer { MU_TURN_BY_TASK, MU_TURN_BY_STANDIN, MU_TURN_BY_SIMULATOR };

/* mu_vt_area.turn */
enum { MU_TURN_NOT_JOINED, MU_TURN_IS_TASK, MU_TURN_IS_SIMULATOR, MU_TURN_PREEMPTED };
/* mu_vt_area.serve */
enum {
	MU_STANDIN_ASLEEP,
	MU_STANDIN_RUNS,
	MU_STANDIN_STORES,
	MU_STANDIN_BLOCKED,
	MU_STANDIN_ENDS,
};
/* mu_vthread.state */
enum mu_vthread_state { MU_VTHREAD_AWAY, MU_VTHREAD_RUNS, MU_VTHREAD_READY, MU_VTHREAD_IDLE };
/* sim_task.state */
enum sim_task_state {
	SIM_TASK_OUT,
	SIM_TASK_READY,
	SIM_TASK_RUNS,
	SIM_TASK_SPINS,
	SIM_TASK_IDLE,
	SIM_TASK_LEFT,
};

struct mu_turn_move {
	enum mu_turn_word word;
	uint32_t from, to;
	enum mu_turn_writer writer;
	const char *text; /* "TURN: SIMULATOR to TASK by SIMULATOR: the simulator resumes ..." */
};
extern const struct mu_turn_move mu_turn_moves[];
extern const unsigned mu_turn_move_count;

/* The row of the table for this change, or -1. */
int mu_turn_move_find(enum mu_turn_word word, uint32_t from, uint32_t to,
		      enum mu_turn_writer writer);
/* Ends the process if the table has no such change: a bug of the library. */
void mu_turn_assert(enum mu_turn_word word, uint32_t from, uint32_t to, enum mu_turn_writer writer);

#if !defined __OPTIMIZE__ || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ ||        \
    defined MU_TURN_CHECKED
#undef MU_TURN_CHECKED
#define MU_TURN_CHECKED 1
#else
#define MU_TURN_CHECKED 0
#endif

/* The word becomes `to` (release). The caller is the only one who may write it now. */
static inline void mu_turn_store(enum mu_turn_word word, uint32_t *at, uint32_t to,
				 enum mu_turn_writer writer)
{
	if (MU_TURN_CHECKED)
		mu_turn_assert(word, atomic_load_relaxed(at), to, writer);
	atomic_store_release(at, to);
}

/* Change the word from one value to the other (sequentially consistent). Returns false if it had
 * another. */
static inline bool mu_turn_cas(enum mu_turn_word word, uint32_t *at, uint32_t from, uint32_t to,
			       enum mu_turn_writer writer)
{
	if (MU_TURN_CHECKED)
		mu_turn_assert(word, from, to, writer);
	return atomic_cas_seq_cst(at, &from, to);
}

/* A state that no other thread reads becomes `to`. */
static inline void mu_turn_set(enum mu_turn_word word, uint8_t *at, uint8_t to,
			       enum mu_turn_writer writer)
{
	if (MU_TURN_CHECKED)
		mu_turn_assert(word, *at, to, writer);
	*at = to;
}

#endif
