/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * torus agent --host: hold the port of one host in a job that mpirun or its like started
 * (mu/launch/agent.c). Descriptor 3 is the segment, 4 a pipe that closes when the last task has
 * ended. The launcher, not this agent, watches and kills the tasks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/launch/launch.h"
#include "mu/transport/port_holder.h"
#include "tools/cmd.h"

#define SEGMENT    3
#define LIFE       4
#define SPIN_NS    100000u
#define CONTROL_NS 200000u
#define HOLDER_FDS 4

struct host_agent {
	struct mu_host *host;
	struct mu_holder *holder;
	int wake_fd; /* eventfd: host->agent_wake was signalled while the agent slept */
	struct pollfd fd[HOLDER_FDS + 2];
};

/* Tasks cannot write to an eventfd of this process. This thread turns the futex word into one. */
static void *wake_forward(void *arg)
{
	struct host_agent *a = arg;
	uint64_t one = 1;
	/* The initial value of the segment: tasks may have signalled before this thread runs. */
	uint32_t seen = 0;

	for (;;) {
		uint32_t now;

		drv_wake_wait(&a->host->agent_wake, seen, -1);
		/* Read the word once: a second read could miss a signal that came in between. */
		now = atomic_load_acquire(&a->host->agent_wake.seq);
		if (now != seen && write(a->wake_fd, &one, sizeof one) < 0)
			return NULL;
		seen = now;
	}
}

/* End the tasks, and so the job: they cannot communicate any more. */
static void fail_host(struct host_agent *a, int error)
{
	drv_error("port '%s' failed: %s; the tasks of this host are ended", a->host->port,
		  strerror(-error));
	atomic_store_seq_cst(&a->host->ending, 1);
	for (uint32_t i = 0; i < a->host->locals; i++) {
		struct mu_task_area *t = mu_host_area(a->host, i);

		for (unsigned k = 0; k < MU_WAKES; k++)
			drv_wake_now(&t->wake[k]);
		if (atomic_load_acquire(&t->state) == MU_TASK_ATTACHED)
			kill((pid_t)atomic_load_relaxed(&t->pid), SIGTERM);
	}
}

/* Wait for events. Returns false when the last task has ended. */
static bool wait_for_events(struct host_agent *a, int n, int64_t timeout_ns)
{
	struct timespec ts = {.tv_sec = timeout_ns / 1000000000,
			      .tv_nsec = timeout_ns % 1000000000};
	uint64_t count;

	a->fd[n] = (struct pollfd){.fd = LIFE, .events = POLLIN};
	a->fd[n + 1] = (struct pollfd){.fd = a->wake_fd, .events = POLLIN};
	if (ppoll(a->fd, (nfds_t)n + 2, timeout_ns < 0 ? NULL : &ts, NULL) <= 0)
		return true;
	if (a->fd[n + 1].revents && read(a->wake_fd, &count, sizeof count) < 0 && errno != EAGAIN)
		drv_warn("agent: eventfd: %s", strerror(errno));
	return !a->fd[n].revents;
}

static void serve_port(struct host_agent *a)
{
	uint64_t checked = 0, worked = drv_clock_ns();
	bool alive = true;

	while (alive) {
		int n = mu_holder_poll(a->holder);
		uint64_t now = drv_clock_ns();

		if (n < 0) {
			fail_host(a, n);
			return;
		}
		if (n > 0)
			worked = now;
		else if (now - worked <= SPIN_NS)
			sched_yield();
		if (now - worked > SPIN_NS) {
			int64_t timeout_ns = -1;

			n = mu_holder_arm(a->holder, a->fd, HOLDER_FDS, &timeout_ns);
			if (n == -EAGAIN)
				continue;
			alive = wait_for_events(a, n < 0 ? 0 : n, n < 0 ? 0 : timeout_ns);
			mu_holder_disarm(a->holder);
			checked = now;
		} else if (now - checked > CONTROL_NS) {
			alive = wait_for_events(a, 0, 0);
			checked = now;
		}
	}
}

static const char starts[] = "; the first task of a host under mpirun starts this command";

/* With anything but the reading end of a pipe the agent would end at once, or never. */
static bool check_life(void)
{
	struct stat st;

	if (!fstat(LIFE, &st) && S_ISFIFO(st.st_mode) &&
	    (fcntl(LIFE, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return true;
	drv_error("torus agent --host: descriptor %d is not the reading end of a pipe%s", LIFE,
		  starts);
	return false;
}

int cmd_host_agent(void)
{
	struct host_agent a = {0};
	pthread_t thread;
	sigset_t set;
	int rc;

	/* Signals to the job are for its tasks. The agent ends when the tasks have ended. */
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	prctl(PR_SET_NAME, "torus-agent");
	drv_log_name("agent");
	drv_wake_process_init();
	a.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (a.wake_fd < 0) {
		drv_error("torus agent --host: no event descriptor: %s; raise ulimit -n",
			  strerror(errno));
		return 1;
	}
	if (!check_life() || mu_host_map(SEGMENT, &a.host))
		return CMD_USAGE;
	if (a.host->holder != MU_HOLDER_AGENT) {
		drv_error("torus agent --host: the host of this segment needs no agent%s", starts);
		return CMD_USAGE;
	}
	if (mu_launch_begin_agent(a.host))
		return 1;
	if (pthread_create(&thread, NULL, wake_forward, &a))
		return 1;
	rc = mu_holder_open(a.host, &a.holder);
	syscall(SYS_futex, &a.host->own_ready, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	if (rc) {
		drv_error("cannot open port '%s': %s", a.host->port, strerror(-rc));
		return 1;
	}
	serve_port(&a);
	/* Other hosts may wait for what the last task left in the ring. */
	mu_holder_drain(a.holder, 2000);
	mu_holder_close(a.holder, 0);
	return 0;
}
