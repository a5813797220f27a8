/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: the simulator. Lives in the agent process of a job with clock virtual (one host,
 * all nodes); owns the routers and the MU engines of every node, and decides which task runs.
 *
 *   mu_host_create()         segment, clock MU_CLOCK_VIRTUAL, all tasks local
 *   mu_sim_create()          pins the caller to one processor: start the tasks after it
 *   fork and exec the tasks  with the environment of mu/host.h (and MU_ENV_COSTS, if wanted)
 *   mu_sim_run()             until every task has left; calls check() at least every 10 ms or so
 *   mu_sim_report()          virtual time, hash, rates
 *   mu_sim_destroy()
 *
 * One thread (the agent's) makes all these calls. Source of the method: design.md, decisions 6, 7.
 */
#ifndef MU_SIM_H
#define MU_SIM_H

#include <stdint.h>

#include "emu/router.h"
#include "mu/host.h"

struct mu_sim;

struct mu_sim_conf {
	/*
	 * Called while the simulator waits for a task (after 1 ms, then at growing intervals up to 10 ms of real
	 * time) and every 10 ms or so while it works. Looks after children and signals: calls
	 * mu_sim_task_gone() for a task that has exited. Returns 0 to go on, else a negative errno
	 * (or any value of its own) with which mu_sim_run() then returns at once.
	 */
	int (*check)(void *arg);
	void *arg;
	/* Hardware times that differ from the machine's: "hop_ns=35,link_ps_per_byte=250", or NULL. */
	const char *hw;
	/* Deaths at virtual times: "kill=3@150.5,..." kills task 3 at 150.5 us; or NULL. */
	const char *script;
	/*
	 * A task that has burned so much CPU time since its last library call is presumed to spin on
	 * memory: the others go on until something touches it. 0: QUINTORUS_SPIN_MS, else 10 s (a
	 * computation that is taken for spinning makes the run unrepeatable; the log says so).
	 */
	uint32_t spin_ms;
	int no_pin; /* leave the processor affinity alone (tests) */
};

struct mu_sim_report {
	uint64_t time_ps;      /* virtual time of the last event */
	uint64_t hash;         /* of the event stream; compare two runs */
	int reproducible;      /* 0: the hash means nothing (reason was logged) */
	uint64_t events;       /* taken from the queue */
	uint64_t packets;      /* injected */
	uint64_t packet_hops;  /* links crossed by packets */
	uint64_t turns;        /* hand-overs to tasks */
	uint64_t spilled;      /* packets that found a reception ring full */
	uint64_t faults;       /* packets whose memory or target was not there */
	double events_seconds; /* real time spent on events, tasks' own time excluded */
	double tasks_seconds;  /* real time spent in tasks and hand-overs */
};

/* -EINVAL (logged: host of another clock, tasks on other hosts, bad hw text), -ENOMEM. */
int mu_sim_create(struct mu_host *host, const struct mu_sim_conf *conf, struct mu_sim **sim);
void mu_sim_destroy(struct mu_sim *sim); /* NULL is fine */

/*
 * Wait until every task has attached (or is gone), then run until every task has detached or is
 * gone and the network is empty. Returns 0, what check() returned, or -EDEADLK: every task polls,
 * nothing is under way and nobody looks at the clock (logged with each task's coordinates; the
 * tasks still wait for their turn: end them).
 */
int mu_sim_run(struct mu_sim *sim);

/*
 * The process of local task `local` has exited (how: MU_TASK_LEFT: with status 0): it takes no more turns. In jobs with
 * MU_ON_DEATH_ERROR the others are told, in virtual time. Repeating it is harmless.
 */
void mu_sim_task_gone(struct mu_sim *sim, uint32_t local, enum mu_task_end how);

void mu_sim_report(const struct mu_sim *sim, struct mu_sim_report *report);
/* Traffic of one link of one node (all zero in fabric express). */
void mu_sim_link_stat(const struct mu_sim *sim, uint32_t node, unsigned link,
                      struct emu_link_stat *stat);

#endif
