/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/clock.h"

#define CHILDREN_MAX 4096
#define FOREIGN_MAX  64

static pid_t foreign[FOREIGN_MAX];
static int foreigners;

void proc_become_reaper(void)
{
	foreigners = 0;
	foreigners = proc_children(foreign, FOREIGN_MAX);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static bool is_foreign(pid_t pid)
{
	for (int i = 0; i < foreigners; i++)
		if (foreign[i] == pid)
			return true;
	return false;
}

int proc_tie_to_parent(pid_t parent, int sig)
{
	prctl(PR_SET_PDEATHSIG, sig, 0, 0, 0);
	/* The parent may have died before the line above took effect. */
	return getppid() == parent ? 0 : -ESRCH;
}

/* Return the parent of a process from /proc/PID/stat. The name in it may contain spaces and
 * brackets. */
static pid_t parent_of(pid_t pid)
{
	char path[64], text[512], *p;
	int parent = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	p = fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
	if (p && sscanf(p + 1, " %*c %d", &parent) != 1)
		parent = -1;
	fclose(f);
	return parent;
}

static int children_by_scan(pid_t *pids, int max)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)) && n < max) {
		pid_t pid = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;

		if (pid && parent_of(pid) == getpid() && !is_foreign(pid))
			pids[n++] = pid;
	}
	if (d)
		closedir(d);
	return n;
}

/* Only the main thread of the tools starts processes, so its children are all. */
int proc_children(pid_t *pids, int max)
{
	char path[64];
	int n = 0, pid;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "re");
	if (!f)
		return children_by_scan(pids, max); /* kernel without CONFIG_PROC_CHILDREN */
	while (n < max && fscanf(f, "%d", &pid) == 1)
		if (!is_foreign(pid))
			pids[n++] = pid;
	fclose(f);
	return n;
}

int proc_children_end(int timeout_ms)
{
	static pid_t pids[CHILDREN_MAX];
	uint64_t until = drv_clock_ns() + (uint64_t)timeout_ms * 1000000u;
	struct timespec tick = {.tv_nsec = 200000};
	int n;

	/* Reaping a child makes its children those of this process: repeat until there are none. */
	while ((n = proc_children(pids, CHILDREN_MAX)) > 0) {
		for (int i = 0; i < n; i++)
			kill(pids[i], SIGKILL);
		for (int i = 0; i < n; i++)
			waitpid(pids[i], NULL, WNOHANG);
		if (drv_clock_ns() > until)
			return n;
		nanosleep(&tick, NULL);
	}
	return 0;
}

const char *proc_signal_text(int sig, char *text, size_t bytes)
{
	const char *name = sigabbrev_np(sig), *what = sigdescr_np(sig);

	snprintf(text, bytes, "signal %d, SIG%s (%s)", sig, name ? name : "?",
		 what ? what : "unknown");
	return text;
}

void proc_set_number(const char *name, long long number)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", number);
	setenv(name, text, 1);
}
