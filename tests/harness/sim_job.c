/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tests/harness/sim_job.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mu/vtime/cost.h"

static void reap_children(struct sim_job *j, int block)
{
	for (uint32_t i = 0; i < j->tasks; i++) {
		int status;

		if (j->pid[i] <= 0 || waitpid(j->pid[i], &status, block ? 0 : WNOHANG) != j->pid[i])
			continue;
		j->pid[i] = 0;
		if (status) {
			j->status = j->failed ? j->status : status;
			j->failed++;
		}
		mu_sim_task_gone(j->sim, i, status ? MU_TASK_DIED : MU_TASK_LEFT);
	}
}

static int check_children(void *arg)
{
	struct sim_job *j = arg;

	reap_children(j, 0);
	if (j->failed)
		return -ECANCELED;
	return j->watch ? j->watch(j) : 0;
}

static void run_child(struct sim_job *j, uint32_t task, int fd)
{
	char number[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	snprintf(number, sizeof number, "%d", fd);
	setenv(MU_ENV_SEGMENT, number, 1);
	snprintf(number, sizeof number, "%u", task);
	setenv(MU_ENV_TASK, number, 1);
	if (j->costs)
		setenv(MU_ENV_COSTS, j->costs, 1);
	fflush(NULL);
	_exit(j->task(j->arg, task));
}

static int make_host(struct sim_job *j, struct mu_host **host, int *fd)
{
	struct emu_coord *coords;
	struct mu_host_conf c = {.job = 1, .seed = j->seed, .hosts = 1, .clock = MU_CLOCK_VIRTUAL};
	uint16_t *hosts;
	char err[200];
	int rc;

	if (emu_shape_parse(j->shape, &c.shape, err, sizeof err)) {
		fprintf(stderr, "%s\n", err);
		return -EINVAL;
	}
	if (!c.shape.t)
		c.shape.t = 1;
	c.fabric = j->express ? MU_FABRIC_EXPRESS : MU_FABRIC_TORUS;
	c.tasks = j->tasks = emu_shape_nodes(&c.shape) * c.shape.t;
	coords = calloc(c.tasks, sizeof *coords);
	hosts = calloc(c.tasks, sizeof *hosts);
	rc = emu_map_tasks(&c.shape, "ABCDET", c.tasks, coords, err, sizeof err);
	c.coords = coords;
	c.task_host = hosts;
	if (!rc)
		rc = mu_host_create(&c, host, fd);
	free(coords);
	free(hosts);
	return rc;
}

int sim_job_run(struct sim_job *j)
{
	struct mu_sim_conf conf = {
	    .check = check_children, .arg = j, .hw = j->hw, .spin_ms = j->spin_ms};
	struct mu_host *host;
	cpu_set_t all;
	int fd, rc = make_host(j, &host, &fd);

	if (rc)
		return rc;
	j->failed = 0;
	j->pid = calloc(j->tasks, sizeof *j->pid);
	sched_getaffinity(0, sizeof all, &all);
	rc = mu_sim_create(host, &conf, &j->sim);
	if (rc)
		goto out;
	fflush(NULL);
	for (uint32_t i = 0; i < j->tasks; i++) {
		j->pid[i] = fork();
		if (!j->pid[i])
			run_child(j, i, fd);
	}
	j->rc = mu_sim_run(j->sim);
	if (j->rc)
		for (uint32_t i = 0; i < j->tasks; i++)
			if (j->pid[i] > 0)
				kill(j->pid[i], SIGKILL);
	mu_sim_report(j->sim, &j->report);
	if (j->rc) {
		unsigned failed = j->failed;
		int status = j->status;

		reap_children(j, 1); /* killed by us: does not count */
		j->failed = failed;
		j->status = status;
	} else {
		reap_children(j, 1);
	}
	mu_sim_destroy(j->sim);
	j->sim = NULL;
	sched_setaffinity(0, sizeof all, &all);
out:
	free(j->pid);
	mu_host_unmap(host);
	close(fd);
	return rc;
}
