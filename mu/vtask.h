/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time, the task's side: hand-over to the simulator. Called by mu/ only.
 *
 * The task has a clock of its own (picoseconds). It runs until it must wait or its clock passes
 * the horizon at a library call; then it writes its request into its mu_vt_area, gives the turn to
 * the simulator (futex) and waits for it. Everything that happens to its memory up to its resume
 * time has been done when it resumes. Any thread may call; of several one at a time is let in (vthread.h).
 */
#ifndef MU_VTASK_H
#define MU_VTASK_H

#include <stdint.h>

#include "mu/host.h"
#include "mu/mu.h"

struct mu_process;

enum mu_vt_request {
	MU_VT_ATTACH, /* first call: join, resume at time 0 */
	MU_VT_RUN,    /* passed the horizon: resume at now_ps */
	MU_VT_IDLE,   /* an empty poll: resume when something for this task happens (see mu_vt_idle) */
	MU_VT_DETACH, /* leaves; the process goes on outside virtual time */
};

/* mu_vt_area.turn */
enum mu_vt_turn {
	MU_VT_NOT_JOINED, /* as the segment starts */
	MU_VT_TASK,
	MU_VT_SIMULATOR,
	MU_VT_TAKEN, /* the task has not called for long, and time goes on without it */
};

/* mu_vt_area.serve: the turns of the thread that stands in for the commthreads. */
enum mu_vt_serve {
	MU_VT_SERVE_DONE,  /* it sleeps */
	MU_VT_SERVE_GO,    /* serve the channels */
	MU_VT_SERVE_STORE, /* not done: the simulator is to take what it started, then it goes on */
	MU_VT_SERVE_END,   /* it is to end */
	MU_VT_SERVE_WAIT,  /* not done, and the turn is the task's: it goes on when that is over */
};

/* mu_vt_area.arg: of MU_VT_IDLE; and what the simulator publishes. */
enum { MU_VT_ARG_POLL_PS, MU_VT_ARG_FLAGS, MU_VT_ARG_SELF_PS, MU_VT_ARG_SIGNAL_PS,
       MU_VT_ARG_STORE_PS, MU_VT_ARG_LIMIT_PS, MU_VT_ARG_UNSURE,
       MU_VT_ARG_SPIN_NS, MU_VT_ARGS };
enum {
	MU_VT_WORKED = 1, /* the task did something else since its last idle poll */
	MU_VT_CLOCK = 2,  /* it read the clock since */
};

/* Waits until every task of the job has joined (or is gone). 0, or a negative errno (logged). */
int mu_vt_attach(struct mu_host *host, uint32_t local);
void mu_vt_detach(void);
/*
 * Injection FIFO of `channel` got a descriptor in slot `slot`; call before the tail store. awaited:
 * somebody wants to know when it is done (others are noticed when the task polls anyway).
 */
void mu_vt_inject(unsigned channel, unsigned slot, int awaited);
/* Something of the node's area was written: a FIFO, MU_NODE_SIGNALS + signal, MU_NODE_ROUTES + class route; of the
 * last, it is programmed when the call returns. */
void mu_vt_node(unsigned what);
/*
 * A word of the segment becomes `value`, or is added to, when the store has reached the L2; `task` (UINT32_MAX: all
 * others of the node) is then had to look; after an addition only if the sum is wake_at.
 */
void mu_vt_store(uint64_t *word, uint64_t value, int add, uint64_t wake_at, uint32_t task);
/* Call after the tail store, and wherever control may be handed over. */
void mu_vt_check(void);
/*
 * A poll found nothing, and its cost was charged. Resumes half a poll after the first event for
 * this task (polls come at no particular phase); at the latest after a bounded jump, a number of
 * polls that grows with each idle one in a row (so loops on PAMI_Wtime, and loops that count, go on).
 */
void mu_vt_idle(void);
/* Work was given to another thread of the process: those that wait look again, from now on. */
void mu_vt_tell(void);
uint64_t mu_vt_now_ps(void);
/*
 * Between these the thread acts for commthread `k`, a core of its own beside the program's: time passes on
 * that core's clock, from now or from where it was, and nothing is handed over.
 */
void mu_vt_side_begin(unsigned k);
void mu_vt_side_end(unsigned k);
/*
 * Channels of the process that commthreads serve, a bit each. From the first on a thread stands by, asleep until the
 * simulator takes the turn from a thread of the program that does not call: then `serve` runs on it, with the
 * commthreads' clocks, and returns how much it found. Thread: one at a time.
 */
void mu_vt_serves(uint64_t channels, int (*serve)(struct mu_process *p), struct mu_process *p);

#endif
