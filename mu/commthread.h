/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool of commthreads, for mu/ only; others see mu_commthread_add() of mu.h. */
#ifndef MU_COMMTHREAD_H
#define MU_COMMTHREAD_H

#include "mu/process.h"

#define MU_TICK_MIN_NS 50000
#define MU_TICK_MAX_NS 1000000
#define MU_ARMED_NS    100000000 /* longest sleep of a thread that is woken by what comes */

/* Passes without result, and after how many to sleep. Zero it to start. */
struct mu_comm_passes {
	unsigned loops, limit;
};

void mu_comm_init(struct mu_process *p, unsigned cpus);
/* Thread k passes once over its channels. Returns what it found. */
int mu_comm_serve(struct mu_process *p, unsigned k);
/* 1: it has been idle long enough; 0: pass again (this paused a little). */
int mu_comm_may_sleep(struct mu_process *p, unsigned k, struct mu_comm_passes *at);
/* Where mu_commthread_pace() says so, and for less than most_ns: asleep, 1. */
int mu_comm_sleeps_by_time(struct mu_process *p, int64_t most_ns);
/* Sleep until something comes for its channels, at most ns. */
void mu_comm_sleep(struct mu_process *p, unsigned k, int64_t ns);
void mu_comm_slept(struct mu_process *p, struct mu_comm_passes *at, uint64_t ticks);
/* Something to do for thread k? Else *ns is lowered to when it must look again. */
int mu_comm_ready(struct mu_process *p, unsigned k, int64_t *ns);
int mu_comm_help(struct mu_process *p);
int mu_comm_virtual(struct mu_process *p);
int mu_comm_inside(void);
/* A thread of the library's own: all signals blocked. 0 or negative errno. */
int mu_comm_start(void *(*run)(void *), void *arg, pthread_t *thread);
/* All but the engine thread; p->thread_stop is set. */
void mu_comm_stop(struct mu_process *p);

/* thread.c: run a channel's engine without dispatching; anything for the channel to do? */
int mu_engine_alone(struct mu_channel *ch);
int mu_channel_ready(struct mu_channel *ch, int watches);

#endif
