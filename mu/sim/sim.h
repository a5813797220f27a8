/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator of virtual time. It lives in the agent process of a job with the virtual clock (one
 * host, all nodes). It owns the routers and the MU engines of every node and decides which task
 * runs.
 *
 *   mu_host_create()         segment, clock MU_CLOCK_VIRTUAL, all tasks local
 *   mu_sim_create()          binds the caller to one processor: start the tasks after it
 *   fork and exec the tasks  with the environment of mu/segment/host.h (and MU_ENV_COSTS)
 *   mu_sim_run()             until every task has left; calls check() at least every 10 ms or so
 *   mu_sim_report()          virtual time, hash, rates
 *   mu_sim_destroy()
 *
 * One thread, that of the agent, makes all these calls.
 */
#ifndef MU_SIM_H
#define MU_SIM_H

#include <stdint.h>

#include "emu/world.h"
#include "mu/segment/host.h"

struct mu_sim;

struct mu_sim_conf {
	/*
	 * Called while the simulator waits for a task (after 1 ms, then at growing intervals up to
	 * 10 ms of real time) and every 10 ms or so while it works. It handles children and
	 * signals, and calls mu_sim_task_gone() for a task that has exited. Returns 0 to continue.
	 * Any other value makes mu_sim_run() return that value at once.
	 */
	int (*check)(void *arg);
	void *arg;
	/* Rows that differ from those of the host's machine: "hop_ns=35,zone0=AB/CDE", or NULL. */
	const char *hw;
	/* Deaths at virtual times: "kill=3@150.5,..." kills task 3 at 150.5 us; or NULL. */
	const char *script;
	/*
	 * A task that has used this much CPU time since its last library call is presumed to spin
	 * on memory. The other tasks then continue until an event changes its memory. 0:
	 * QUINTORUS_SPIN_MS, otherwise 10 s. (If a computation is mistaken for spinning, the run is
	 * not repeatable; the log says so.)
	 */
	uint32_t spin_ms;
	emu_world_trace_fn trace; /* called for each step of each packet; NULL: none */
	void *trace_arg;
	int no_pin; /* do not change the processor affinity (for tests) */
};

struct mu_sim_report {
	uint64_t time_ps;      /* virtual time of the last event */
	uint64_t hash;         /* hash of the event stream, for comparing two runs */
	int reproducible;      /* 0: the hash means nothing (the reason was logged) */
	uint64_t events;       /* events taken from the queue */
	uint64_t packets;      /* packets injected */
	uint64_t packet_hops;  /* links crossed by packets */
	uint64_t turns;        /* hand-overs to tasks */
	uint64_t spilled;      /* packets that found a reception ring full */
	uint64_t errors;       /* packets whose memory or target did not exist */
	double events_seconds; /* real time spent on events, tasks' own time excluded */
	double tasks_seconds;  /* real time spent in tasks and hand-overs */
};

/* -EINVAL (logged: host of another clock, tasks on other hosts, bad hw text), -ENOMEM. */
int mu_sim_create(struct mu_host *host, const struct mu_sim_conf *conf, struct mu_sim **sim);
void mu_sim_destroy(struct mu_sim *sim); /* NULL is fine */

/*
 * Wait until every task has attached or has ended; then run until every task has detached or has
 * ended and the network is empty. Returns 0, the result of check(), or -EDEADLK. The latter means
 * that nothing is under way and either each task is in a call that returns only after an event, or
 * all tasks only polled, without reading the clock, for QUINTORUS_DEADLOCK_S seconds (5; 0: for
 * ever) of real time and QUINTORUS_DEADLOCK_POLLS polls each (20,000), or for ten times as
 * long. The log then names the call in which each task is. The tasks still wait for their turn, so
 * the caller must end them.
 */
int mu_sim_run(struct mu_sim *sim);

/*
 * Report that the process of local task `local` has exited (how: MU_TASK_LEFT: with status 0). It
 * gets no more turns. In jobs with MU_ON_DEATH_ERROR the other tasks learn of it in virtual time.
 * Further calls for the same task have no effect.
 */
void mu_sim_task_gone(struct mu_sim *sim, uint32_t local, enum mu_task_end how);

void mu_sim_report(const struct mu_sim *sim, struct mu_sim_report *report);
/* Traffic of one link of one node (all zero in fabric express). */
void mu_sim_link_stat(const struct mu_sim *sim, uint32_t node, unsigned link,
		      struct emu_link_stat *stat);
void mu_sim_link_sum(const struct mu_sim *sim, uint32_t node, unsigned link,
		     struct emu_link_sum *sum);

#endif
