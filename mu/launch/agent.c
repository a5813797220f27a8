/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent of a host under another launcher: `torus agent --host`. The first task of the host
 * starts it. It is a child of no task, keeps only standard error open, and ends when all tasks have
 * ended.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "drivers/base/settings.h"
#include "mu/launch/launch.h"
#include "mu/process.h"

#define BEGIN_S 5

/*
 * Paths relative to libpami in a build tree (build/pami/libpami.so) and in an installation (lib/,
 * lib/x86_64-linux-gnu/).
 */
static const char *const places[] = {"../tools/torus", "../bin/torus", "../../bin/torus"};

static int find_torus(char *path, size_t bytes)
{
	static const char here;
	const char *named = drv_setting_text(DRV_QUINTORUS_TORUS);
	Dl_info info;
	char *slash;

	if (named) {
		snprintf(path, bytes, "%s", named);
		return access(path, X_OK) ? -errno : 0;
	}
	if (!dladdr(&here, &info) || !info.dli_fname)
		return -ENOENT;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if ((size_t)snprintf(path, bytes, "%s", info.dli_fname) >= bytes ||
		    !(slash = strrchr(path, '/')))
			continue;
		snprintf(slash + 1, bytes - (size_t)(slash + 1 - path), "%s", places[i]);
		if (!access(path, X_OK))
			return 0;
	}
	return -ENOENT;
}

/* Runs in the child, where only signal-safe calls are allowed. Writes the error to `failed`. */
static void become_agent(const char *path, int segment, int life, int failed)
{
	char *argv[] = {(char *)"torus", (char *)"agent", (char *)"--host", NULL};
	int null = open("/dev/null", O_RDWR), error, grandchild;

	setsid();
	grandchild = fork();
	if (grandchild)
		_exit(grandchild < 0);
	/* Move the descriptors away from the numbers that they will get. */
	segment = fcntl(segment, F_DUPFD, 10);
	life = fcntl(life, F_DUPFD, 10);
	failed = fcntl(failed, F_DUPFD, 10);
	dup2(null, 0);
	dup2(null, 1);
	dup2(segment, 3);
	dup2(life, 4);
	dup2(failed, 5);
	fcntl(5, F_SETFD, FD_CLOEXEC);
	close_range(6, ~0u, 0);
	execv(path, argv);
	error = errno;
	if (write(5, &error, sizeof error) < 0)
		_exit(1);
	_exit(1);
}

int mu_launch_agent(int segment, int life)
{
	char path[PATH_MAX + 32];
	int failed[2], error = find_torus(path, sizeof path), status;
	pid_t child;

	if (error) {
		drv_error("launch: the program torus, which carries this host's port, is not where "
			  "it was installed "
			  "with libpami; set QUINTORUS_TORUS to its path");
		return error;
	}
	if (pipe2(failed, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child)
		become_agent(path, segment, life, failed[1]);
	close(failed[1]);
	error = child < 0 ? errno : 0;
	if (child > 0) {
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (read(failed[0], &error, sizeof error) != sizeof error)
			error = 0;
	}
	close(failed[0]);
	if (error)
		drv_error("launch: cannot start %s: %s", path, strerror(error));
	return -error;
}

int mu_launch_begin_agent(struct mu_host *host)
{
	struct timespec until;
	int rc;

	/* A task has the lock for a moment only (below). */
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += BEGIN_S;
	rc = pthread_mutex_clocklock(&host->agent_life, CLOCK_MONOTONIC, &until);
	if (rc)
		drv_error("torus agent --host: %s",
			  rc == ETIMEDOUT ? "another agent serves this host already"
			  : rc == EOWNERDEAD
			      ? "the agent of this host has died, and with it the job"
			      : strerror(rc));
	return -rc;
}

void mu_launch_check_agent(struct mu_host *host)
{
	int rc = pthread_mutex_trylock(&host->agent_life);

	if (!rc) /* the agent is only starting */
		pthread_mutex_unlock(&host->agent_life);
	if (rc != EOWNERDEAD)
		return;
	if (!atomic_exchange_acquire(&host->ending, 1))
		drv_error("launch: the agent of this host (torus agent --host), which carried its "
			  "messages to the other hosts, was killed or has failed; the tasks of "
			  "this host end");
	mu_end_task();
}
