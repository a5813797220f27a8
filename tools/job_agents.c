/* SPDX-License-Identifier: BSD-3-Clause */
/* Start the agents: by fork on this machine, through ssh on others. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/base/assert.h"
#include "drivers/base/settings.h"
#include "tools/agent.h"
#include "tools/job.h"
#include "tools/proc.h"

/* In the child: close the control channels of the other agents. An agent that kept one open would
 * hide the death of torus run. */
static void other_agents_close(struct job *j, uint32_t started)
{
	for (uint32_t i = 0; i < started; i++)
		ctl_close(&j->agent[i].ctl);
	close(j->signals);
}

/*
 * Bind this process and its children to the host's part of the usable processors. The parts have
 * equal size; with more hosts than processors, each host gets one processor, in turn.
 */
static void bind_host(const struct plan *p, uint32_t host)
{
	unsigned hosts = 0, place = 0, usable, first, last, n = 0;
	cpu_set_t may, part;

	for (uint32_t i = 0; i < p->hosts; i++) {
		place = i == host ? hosts : place;
		hosts += !plan_host_is_remote(&p->host[i]);
	}
	if (sched_getaffinity(0, sizeof may, &may))
		return;
	usable = (unsigned)CPU_COUNT(&may);
	DRV_ASSERT(usable);
	first = usable < hosts ? place % usable : place * usable / hosts;
	last = usable < hosts ? first + 1 : (place + 1) * usable / hosts;
	CPU_ZERO(&part);
	for (unsigned c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &may) && n++ >= first && n <= last)
			CPU_SET(c, &part);
	if (sched_setaffinity(0, sizeof part, &part))
		fprintf(stderr,
			"torus run: --bind hosts: cannot bind host %u: %s; it runs anywhere\n",
			host, strerror(errno));
	else if (usable >= hosts)
		setenv(MU_ENV_BOUND, "1", 1);
}

static int agent_fork(struct job *j, uint32_t host)
{
	struct job_agent *a = &j->agent[host];
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	a->pid = fork();
	if (!a->pid) {
		other_agents_close(j, host);
		close(ends[0]);
		if (j->plan->bind)
			bind_host(j->plan, host);
		_exit(agent_main(ends[1], ends[1], parent, false, &j->mask));
	}
	close(ends[1]);
	if (a->pid < 0) {
		close(ends[0]);
		return -errno;
	}
	ctl_init(&a->ctl, ends[0], ends[0]);
	return 0;
}

/* Write the command for the shell of the other machine: torus from the same path as here, unless a
 * setting names another. */
static void remote_command(char *text, size_t bytes)
{
	const char *torus = drv_setting_text(DRV_QUINTORUS_REMOTE_TORUS);
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n < 0 ? 0 : n] = 0;
	snprintf(text, bytes, "exec '%s' agent", torus ? torus : n > 0 ? self : "torus");
}

static void ssh_exec(const char *name, const char *command)
{
	const char *ssh = drv_setting_text(DRV_QUINTORUS_SSH);

	execlp(ssh, ssh, "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", name, command,
	       (char *)NULL);
	fprintf(stderr,
		"torus run: cannot start %s: %s; install openssh-client or set QUINTORUS_SSH\n",
		ssh, strerror(errno));
}

/* A step of one task, which may share its node with other steps of this allocation. Not
 * --unbuffered: that makes a terminal, which changes bytes; the agent ends its messages with lines
 * instead. */
static void srun_exec(const char *node, const char *command)
{
	execlp("srun", "srun", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist", node,
	       "--mpi=none", "--quiet", "sh", "-c", command, (char *)NULL);
	fprintf(stderr, "torus run: cannot start srun: %s; hosts slurm:NODE need Slurm\n",
		strerror(errno));
}

static void remote_exec(struct job *j, const struct plan_host *h, int in, int out, pid_t parent)
{
	char command[PATH_MAX + 32];

	if (proc_tie_to_parent(parent, SIGTERM))
		_exit(1);
	/* A process group of its own keeps the signals of the terminal away. Tasks get them as a
	 * message. */
	setpgid(0, 0);
	dup2(in, 0);
	dup2(out, 1);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &j->mask, NULL);
	remote_command(command, sizeof command);
	if (h->kind == PLAN_HOST_SLURM)
		srun_exec(h->name, command);
	else
		ssh_exec(h->name, command);
	_exit(127);
}

static int agent_start_remote(struct job *j, uint32_t host)
{
	struct job_agent *a = &j->agent[host];
	pid_t parent = getpid();
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC))
		return -errno;
	if (pipe2(out, O_CLOEXEC)) {
		close(in[0]);
		close(in[1]);
		return -errno;
	}
	a->is_remote = true;
	a->pid = fork();
	if (!a->pid)
		remote_exec(j, &j->plan->host[host], in[0], out[1], parent);
	close(in[0]);
	close(out[1]);
	ctl_init(&a->ctl, out[0], in[1]);
	return a->pid < 0 ? -EAGAIN : 0;
}

int job_agents_start(struct job *j)
{
	/* `torus run` may itself be a task of a job, and have inherited this. */
	unsetenv(MU_ENV_BOUND);
	for (uint32_t i = 0; i < j->plan->hosts; i++) {
		bool is_remote = plan_host_is_remote(&j->plan->host[i]);
		struct ctl_buf b = {0};
		int rc = is_remote ? agent_start_remote(j, i) : agent_fork(j, i);

		if (rc) {
			fprintf(stderr,
				"torus run: cannot start the agent of host %u: %s; raise ulimit -n "
				"and -u\n",
				i, strerror(-rc));
			return -1;
		}
		plan_encode(j->plan, i, &b);
		ctl_send_buf(&j->agent[i].ctl, CTL_START, &b);
	}
	return 0;
}
