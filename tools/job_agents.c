/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting the agents: forked on this machine, through ssh on others. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/agent.h"
#include "tools/job.h"
#include "tools/proc.h"

/* In the child: an agent that keeps another agent's control channel open would hide our death. */
static void forget_the_others(struct job *j, uint32_t started)
{
	for (uint32_t i = 0; i < started; i++)
		ctl_close(&j->agent[i].ctl);
	close(j->signals);
}

/*
 * This process and what it starts keep to the host's part of the processors we may use: parts of equal size,
 * or, with more hosts than processors, one each in turn.
 */
static void bind_host(const struct plan *p, uint32_t host)
{
	unsigned hosts = 0, place = 0, usable, first, last, n = 0;
	cpu_set_t may, part;

	for (uint32_t i = 0; i < p->hosts; i++) {
		place = i == host ? hosts : place;
		hosts += p->host[i].kind != PLAN_HOST_SSH;
	}
	if (sched_getaffinity(0, sizeof may, &may))
		return;
	usable = (unsigned)CPU_COUNT(&may);
	first = usable < hosts ? place % usable : place * usable / hosts;
	last = usable < hosts ? first + 1 : (place + 1) * usable / hosts;
	CPU_ZERO(&part);
	for (unsigned c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &may) && n++ >= first && n <= last)
			CPU_SET(c, &part);
	if (sched_setaffinity(0, sizeof part, &part))
		fprintf(stderr, "torus run: --bind hosts: cannot bind host %u: %s; it runs anywhere\n", host, strerror(errno));
	else if (usable >= hosts)
		setenv(MU_ENV_BOUND, "1", 1);
}

static int start_here(struct job *j, uint32_t host)
{
	struct job_agent *a = &j->agent[host];
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	a->pid = fork();
	if (!a->pid) {
		forget_the_others(j, host);
		close(ends[0]);
		if (j->plan->bind)
			bind_host(j->plan, host);
		_exit(agent_main(ends[1], ends[1], parent, 0, &j->mask));
	}
	close(ends[1]);
	if (a->pid < 0) {
		close(ends[0]);
		return -errno;
	}
	ctl_init(&a->ctl, ends[0], ends[0]);
	return 0;
}

/* What the other machine's shell is to run: torus from the same place as here, unless told. */
static void remote_command(char *text, size_t bytes)
{
	const char *torus = getenv("QUINTORUS_REMOTE_TORUS");
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n < 0 ? 0 : n] = 0;
	snprintf(text, bytes, "exec '%s' agent", torus ? torus : n > 0 ? self : "torus");
}

static void ssh_exec(struct job *j, const char *name, int in, int out, pid_t parent)
{
	const char *ssh = getenv("QUINTORUS_SSH");
	char command[PATH_MAX + 32];

	if (proc_tie_to_parent(parent, SIGTERM))
		_exit(1);
	/* Out of reach of the terminal's signals: what they mean to the tasks is sent as a message. */
	setpgid(0, 0);
	dup2(in, 0);
	dup2(out, 1);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &j->mask, NULL);
	remote_command(command, sizeof command);
	ssh = ssh && *ssh ? ssh : "ssh";
	execlp(ssh, ssh, "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", name, command, (char *)NULL);
	fprintf(stderr, "torus run: cannot start %s: %s; install openssh-client or set QUINTORUS_SSH\n", ssh,
	        strerror(errno));
	_exit(127);
}

static int start_there(struct job *j, uint32_t host)
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
	a->remote = 1;
	a->pid = fork();
	if (!a->pid)
		ssh_exec(j, j->plan->host[host].name, in[0], out[1], parent);
	close(in[0]);
	close(out[1]);
	ctl_init(&a->ctl, out[0], in[1]);
	return a->pid < 0 ? -EAGAIN : 0;
}

int job_agents_start(struct job *j)
{
	unsetenv(MU_ENV_BOUND); /* of a job that this one is a task of */
	for (uint32_t i = 0; i < j->plan->hosts; i++) {
		int remote = j->plan->host[i].kind == PLAN_HOST_SSH;
		struct ctl_buf b = { 0 };
		int rc = remote ? start_there(j, i) : start_here(j, i);

		if (rc) {
			fprintf(stderr, "torus run: cannot start the agent of host %u: %s; raise ulimit -n and -u\n",
			        i, strerror(-rc));
			return -1;
		}
		plan_encode(j->plan, i, &b);
		ctl_send_buf(&j->agent[i].ctl, CTL_START, &b);
	}
	return 0;
}
