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
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/model/state_set.h"
#include "tests/model/turn_model.h"

static const char *const defect_names[DEFECTS] = {
    "none",           "no barrier",     "inside ignored",    "word ignored",
    "undo by store",  "no second look", "back by simulator", "no wake of the task",
    "no wake of go",  "no watch",       "no second phase",   "no wake of the stand-in",
    "serve at detach"};

struct conf conf;
struct state now;
bool used[64];
const char *violation;
static struct state_set reached = {.bytes = sizeof(struct state)};

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

/* The address sanitizer checks the code of a step; states near the beginning take all kinds of
 * steps. The build without it searches all states. */
#ifdef __SANITIZE_ADDRESS__
enum { STATES_MAX = 400000 };
#else
enum { STATES_MAX = INT_MAX };
#endif

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
	for (i = 0; i < reached.count && !violation && (i < STATES_MAX || conf.defect); i++) {
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
