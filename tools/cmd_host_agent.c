/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * torus agent --host: holds the port of one host in a job that mpirun or its like started
 * (mu/launch_agent.c). Descriptor 3 is the segment, 4 a pipe that closes when the last task has gone.
 * Who died and whom to kill is the launcher's business.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/holder.h"
#include "tools/cmd.h"

#define SEGMENT    3
#define LIFE       4
#define SPIN_NS    100000u
#define CONTROL_NS 200000u
#define HOLDER_FDS 4

struct host_agent {
	struct mu_host *host;
	struct mu_holder *holder;
	int rung; /* eventfd: host->agent_wake was rung while we slept */
	struct pollfd fd[HOLDER_FDS + 2];
};

/* Tasks cannot write into an eventfd of ours: turn the futex word into one. */
static void *ring(void *arg)
{
	struct host_agent *a = arg;
	uint64_t one = 1;
	uint32_t seen = 0; /* as the segment was made: tasks may have rung before this thread runs */

	for (;;) {
		uint32_t now;

		drv_wake_wait(&a->host->agent_wake, seen, -1);
		/* Looked at once: a second look could swallow a ring that came in between. */
		now = __atomic_load_n(&a->host->agent_wake.seq, __ATOMIC_ACQUIRE);
		if (now != seen && write(a->rung, &one, sizeof one) < 0)
			return NULL;
		seen = now;
	}
}

/* The tasks cannot go on: end them, and so the job. */
static void fail(struct host_agent *a, int error)
{
	drv_error("port '%s' failed: %s; the tasks of this host are ended", a->host->port, strerror(-error));
	__atomic_store_n(&a->host->ending, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < a->host->locals; i++) {
		struct mu_task_area *t = mu_host_area(a->host, i);

		for (unsigned k = 0; k < MU_WAKES; k++)
			drv_wake_now(&t->wake[k]);
		if (__atomic_load_n(&t->state, __ATOMIC_ACQUIRE) == MU_TASK_ATTACHED)
			kill((pid_t)t->pid, SIGTERM);
	}
}

/* Wait for whatever comes. Returns 0 when the last task has gone. */
static int look(struct host_agent *a, int n, int64_t timeout_ns)
{
	struct timespec ts = { .tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000 };
	uint64_t count;

	a->fd[n] = (struct pollfd){ .fd = LIFE, .events = POLLIN };
	a->fd[n + 1] = (struct pollfd){ .fd = a->rung, .events = POLLIN };
	if (ppoll(a->fd, (nfds_t)n + 2, timeout_ns < 0 ? NULL : &ts, NULL) <= 0)
		return 1;
	if (a->fd[n + 1].revents && read(a->rung, &count, sizeof count) < 0 && errno != EAGAIN)
		drv_warn("agent: eventfd: %s", strerror(errno));
	return !a->fd[n].revents;
}

static void run(struct host_agent *a)
{
	uint64_t looked = 0, worked = drv_clock_ns();
	int alive = 1;

	while (alive) {
		int n = mu_holder_poll(a->holder);
		uint64_t now = drv_clock_ns();

		if (n < 0) {
			fail(a, n);
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
			alive = look(a, n < 0 ? 0 : n, n < 0 ? 0 : timeout_ns);
			mu_holder_disarm(a->holder);
			looked = now;
		} else if (now - looked > CONTROL_NS) {
			alive = look(a, 0, 0);
			looked = now;
		}
	}
}

int cmd_host_agent(void)
{
	struct host_agent a = { 0 };
	pthread_t thread;
	sigset_t set;
	int rc;

	/* What is sent to the job is for its tasks; our end is theirs. */
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	prctl(PR_SET_NAME, "torus-agent");
	drv_log_name("agent");
	drv_wake_process_init();
	a.rung = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (a.rung < 0 || mu_host_map(SEGMENT, &a.host))
		return CMD_USAGE;
	if (pthread_create(&thread, NULL, ring, &a))
		return 1;
	rc = mu_holder_open(a.host, &a.holder);
	syscall(SYS_futex, &a.host->own_ready, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	if (rc) {
		drv_error("cannot open port '%s': %s", a.host->port, strerror(-rc));
		return 1;
	}
	run(&a);
	/* What the last task left in the ring is for others, who may wait for it. */
	mu_holder_drain(a.holder, 2000);
	mu_holder_close(a.holder, 0);
	return 0;
}
