/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time, the task's side: hand-over to the simulator. Called by mu/ only.
 *
 * The task has a clock of its own (picoseconds). It runs until it must wait or its clock passes the
 * horizon at a library call; then it writes its request into its mu_vt_area, gives the turn to the
 * simulator (futex) and waits for it. Everything that happens to its memory up to its resume time
 * has been done when it resumes. Any thread may call; one at a time runs in the library
 * (vtime/vthread.h). Outside virtual time the functions do nothing.
 */
#ifndef MU_VTASK_H
#define MU_VTASK_H

#include <stdbool.h>
#include <stdint.h>

#include "mu/segment/host.h"
#include "mu/mu.h"
#include "mu/vtime/turn.h"

struct mu_process;

enum mu_vt_request {
	MU_VT_ATTACH, /* first call: join, resume at time 0 */
	MU_VT_RUN,    /* passed the horizon: resume at now_ps */
	MU_VT_IDLE,   /* an empty poll: resume at the first event for this task, see mu_vt_idle() */
	MU_VT_DETACH, /* the process continues outside virtual time */
	MU_VT_SYNC,   /* mu_vt_sync(): resume when every task has asked for it */
};

/* mu_vt_area.arg. The simulator writes SELF, SIGNAL, STORE and SPIN when the task joins. */
enum {
	MU_VT_ARG_POLL_PS,   /* of MU_VT_IDLE: cost of an empty poll */
	MU_VT_ARG_FLAGS,     /* of MU_VT_IDLE: as below */
	MU_VT_ARG_SELF_PS,   /* from a tail store to its first effect on the task itself */
	MU_VT_ARG_SIGNAL_PS, /* the same from a store to a global-interrupt register */
	MU_VT_ARG_STORE_PS,  /* the same from mu_vt_store() */
	MU_VT_ARG_LIMIT_PS,  /* of MU_VT_IDLE: another thread of the process goes on then */
	MU_VT_ARG_UNSURE,    /* 1: a guess about a thread; the run may not be repeatable */
	MU_VT_ARG_REGISTERS, /* 1, of the task: it polls registers and memory as a matter of course
			      */
	MU_VT_ARG_WATCHED,   /* 1, of the task: it polls itself in loops on its memory (watch.c) */
	MU_VT_ARG_OTHERS,    /* of the task: threads of its process that are not the program's */
	MU_VT_ARG_SPIN_NS,   /* CPU time without a call before the task is preempted */
	MU_VT_ARGS
};
enum {
	MU_VT_WORKED = 1,  /* the task did something else since its last idle poll */
	MU_VT_CLOCK = 2,   /* it read the clock since */
	MU_VT_BLOCKED = 4, /* each of its threads is in a call that returns only after an event */
	MU_VT_LOOP = 8,    /* it is in a loop that takes no messages (watch.c) */
};

/* Waits until every task of the job has joined (or is gone). 0, or a negative errno (logged). */
int mu_vt_attach(struct mu_host *host, uint32_t local);
void mu_vt_detach(void);
/*
 * Injection FIFO of `channel` got a descriptor in slot `slot`; call before the tail store. awaited:
 * the end of the descriptor wakes a task that polls in vain.
 */
void mu_vt_inject(unsigned channel, unsigned slot, int awaited);
/* The task wrote to its node's area: to FIFO `what`, signal `what` - MU_NODE_SIGNALS, or class
 * route `what` - MU_NODE_ROUTES, which is programmed when the call returns. */
void mu_vt_node(unsigned what);
/*
 * A word of the segment becomes `value`, or is added to, when the store has reached the L2; `task`
 * (UINT32_MAX: all others of the node) then polls again if it is idle; after an addition only if
 * the sum is wake_at.
 */
void mu_vt_store(uint64_t *word, uint64_t value, int add, uint64_t wake_at, uint32_t task);
/* Hand over if the task's clock has passed its horizon. Call after the tail store, and often. */
void mu_vt_check(void);
/*
 * Let the clock of the calling thread advance, since the program computes or sleeps for this long.
 */
void mu_vt_spend(uint64_t ps);
/* The run may not be repeatable from here on: its hash means nothing. */
void mu_vt_doubt(void);
/*
 * on: the calling thread enters a call of another library, which may wait in a loop without a call
 * for what another thread of the process will do. So after a short time without a call the thread
 * is presumed to spin, and others of the process go on. 0: the thread leaves that call.
 */
void mu_vt_may_spin(int on);
/*
 * on: no other thread of the process gets the turn until the same call with 0, since the caller may
 * hold locks for which the others would wait in a loop. A caller that polls in vain many times
 * gives it up nevertheless.
 */
void mu_vt_keep_turn(int on);
/*
 * Wait until every task of the job that has not left is here; all resume at the latest time at
 * which one came. No packet moves and nothing enters the hash: it stands for services outside the
 * machine, such as a launcher's.
 */
void mu_vt_sync(void);
/*
 * A poll found nothing, and its cost was charged. Resumes half a poll after the first event for
 * this task (polls come at no particular phase); at the latest after a bounded time, so that loops
 * on PAMI_Wtime, and loops that count polls, continue (jump_of() in sim/turn.c).
 */
void mu_vt_idle(void);
/* Let the idle threads of the process poll again, since they were given work. */
void mu_vt_wake_threads(void);
/*
 * What a loop of the program that waits for its memory does in each round: it polls, as if it
 * called this. Before the first such loop; any thread.
 */
void mu_vt_poll_for_loops(void (*poll)(void));
uint64_t mu_vt_now_ps(void);
/*
 * Between these two the calling thread works for commthread `k`, which has a core of its own: time
 * passes on the clock of that commthread, from the later of its own time and now. No hand-over.
 *
 * The commthread sleeps once it has polled in vain `polls` times since it last had work
 * (UINT64_MAX: it never sleeps). Its polls are not carried out one by one, so the time since then
 * tells. If it sleeps, the first work that it finds costs commthread_wakeup: nothing that it does
 * is earlier.
 *
 * found: it had work, whether or not that was charged. mu_vt_side_end() returns how long it had
 * slept before that, in picoseconds; 0: it was awake, or still sleeps.
 */
void mu_vt_side_begin(unsigned k, uint64_t polls);
uint64_t mu_vt_side_end(unsigned k, bool found);
/* Commthread k was given a channel: it is awake now. */
void mu_vt_side_start(unsigned k);
/*
 * Commthreads serve these channels of the process, a bit each. With the first channel the process
 * gets a stand-in thread, which sleeps until the simulator preempts the process: then it calls
 * serve(p), which runs on the clocks of the commthreads and returns how much it found. Thread: one
 * at a time.
 */
void mu_vt_serve_channels(uint64_t channels, int (*serve)(struct mu_process *p),
			  struct mu_process *p);

#endif
