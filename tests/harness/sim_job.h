/* SPDX-License-Identifier: BSD-3-Clause */
/* A job in virtual time from within a test or bench: forked tasks and the simulator. */
#ifndef TESTS_SIM_JOB_H
#define TESTS_SIM_JOB_H

#include "mu/sim/sim.h"

struct sim_job {
	const char *shape; /* "2x2x1x1x1", with xT for several tasks a node */
	int express;       /* fabric */
	const char *hw, *costs;
	uint64_t seed;
	uint32_t spin_ms;
	int (*task)(void *arg, uint32_t task); /* in a child; its result is the exit status */
	void *arg;
	/* Out. */
	int rc;          /* of mu_sim_run() */
	unsigned failed; /* tasks that ended with another status than 0 */
	int status;      /* of the first of them */
	struct mu_sim_report report;
	struct mu_sim *sim; /* while tasks run */
	uint32_t tasks;
	/* Called in the simulator's process now and then while tasks run; may be NULL. */
	int (*watch)(struct sim_job *job);
	int *pid;
};

/* Run it to its end. 0, or a negative errno when it could not be started. Kills what is left. */
int sim_job_run(struct sim_job *job);

#endif
