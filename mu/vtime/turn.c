/* SPDX-License-Identifier: BSD-3-Clause */
#include "mu/vtime/turn.h"

#include <stdlib.h>

#include "drivers/base/log.h"

/* The names of turn.def as values. */
#define TURN_NOT_JOINED MU_TURN_NOT_JOINED
#define TURN_TASK       MU_TURN_IS_TASK
#define TURN_SIMULATOR  MU_TURN_IS_SIMULATOR
#define TURN_PREEMPTED  MU_TURN_PREEMPTED
#define STANDIN_ASLEEP  MU_STANDIN_ASLEEP
#define STANDIN_RUNS    MU_STANDIN_RUNS
#define STANDIN_STORES  MU_STANDIN_STORES
#define STANDIN_BLOCKED MU_STANDIN_BLOCKED
#define STANDIN_ENDS    MU_STANDIN_ENDS
#define THREAD_AWAY     MU_VTHREAD_AWAY
#define THREAD_RUNS     MU_VTHREAD_RUNS
#define THREAD_READY    MU_VTHREAD_READY
#define THREAD_IDLE     MU_VTHREAD_IDLE
#define TASK_OUT        SIM_TASK_OUT
#define TASK_READY      SIM_TASK_READY
#define TASK_RUNS       SIM_TASK_RUNS
#define TASK_SPINS      SIM_TASK_SPINS
#define TASK_IDLE       SIM_TASK_IDLE
#define TASK_LEFT       SIM_TASK_LEFT

const struct mu_turn_move mu_turn_moves[] = {
#define MOVE(word, from, to, writer, meaning)                                                      \
	{MU_TURN_##word, word##_##from, word##_##to, MU_TURN_BY_##writer,                          \
	 #word ": " #from " to " #to " by " #writer ": " meaning},
#include "mu/vtime/turn.def"
#undef MOVE
};
const unsigned mu_turn_move_count = sizeof mu_turn_moves / sizeof *mu_turn_moves;

int mu_turn_move_find(enum mu_turn_word word, uint32_t from, uint32_t to,
		      enum mu_turn_writer writer)
{
	for (unsigned i = 0; i < mu_turn_move_count; i++) {
		const struct mu_turn_move *m = &mu_turn_moves[i];

		if (m->word == word && m->from == from && m->to == to && m->writer == writer)
			return (int)i;
	}
	return -1;
}

void mu_turn_assert(enum mu_turn_word word, uint32_t from, uint32_t to, enum mu_turn_writer writer)
{
	static const char *const words[] = {"TURN", "STANDIN", "THREAD", "TASK"},
				 *const writers[] = {"TASK", "STANDIN", "SIMULATOR"};

	if (mu_turn_move_find(word, from, to, writer) >= 0)
		return;
	drv_error("virtual clock: a bug: %s goes from state %u to %u by %s, which vtime/turn.def "
		  "does not have",
		  words[word], from, to, writers[writer]);
	abort();
}
