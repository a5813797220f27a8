/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job of a few forked tasks on one host, for tests of mu/ without the launcher. Each task runs
 * body(task) and returns the number of failed checks.
 */
#ifndef TESTS_MU_JOB_H
#define TESTS_MU_JOB_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mu/segment/host.h"
#include "mu/mu.h"
#include "tests/harness/t.h"

struct mu_job_test {
	struct emu_shape shape;
	uint32_t tasks;
	enum mu_fabric fabric;
	int (*body)(const struct mu_job *job);
};

static int mu_job_task(uint32_t task, int fd, int (*body)(const struct mu_job *))
{
	const struct mu_job *job;
	char text[16];
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(text, sizeof text, "%d", fd);
	setenv(MU_ENV_SEGMENT, text, 1);
	snprintf(text, sizeof text, "%u", task);
	setenv(MU_ENV_TASK, text, 1);
	if (mu_attach(&job))
		return 100;
	rc = body(job);
	mu_detach();
	rc += t_failures();
	return rc > 99 ? 99 : rc;
}

/* Run it; 0 if every task ended with 0, else a negative number. */
static int mu_job_run(const struct mu_job_test *t)
{
	struct emu_coord coords[64];
	uint16_t hosts[64] = {0};
	struct mu_host_conf conf = {.job = 7,
				    .seed = 7,
				    .tasks = t->tasks,
				    .hosts = 1,
				    .shape = t->shape,
				    .fabric = t->fabric,
				    .coords = coords,
				    .task_host = hosts};
	struct mu_host *host;
	char err[128];
	pid_t pid[64];
	int fd, bad = 0;

	if (t->tasks > 64 ||
	    emu_map_tasks(&t->shape, "ABCDET", t->tasks, coords, err, sizeof err) ||
	    mu_host_create(&conf, &host, &fd))
		return -1;
	fflush(NULL);
	for (uint32_t i = 0; i < t->tasks; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(mu_job_task(i, fd, t->body));
	}
	for (uint32_t left = t->tasks; left; left--) {
		int status = -1;
		pid_t ended = waitpid(-1, &status, 0);

		if (!status)
			continue;
		fprintf(stderr, "a task ended with status %x\n", (unsigned)status);
		/* The others would wait for it. */
		for (uint32_t i = 0; !bad && i < t->tasks; i++)
			if (pid[i] != ended)
				kill(pid[i], SIGKILL);
		bad--;
	}
	mu_host_unmap(host);
	close(fd);
	return bad;
}

#endif
