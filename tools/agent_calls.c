/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out in which call each task of this host is. A child of the agent reads the stacks, because
 * libdw waits for the threads it stops; the agent goes on meanwhile, and packets with it. The child
 * writes "TASK words\n" for each task into a pipe. It has CALLS_CPU_S seconds of a processor, and
 * CALLS_S seconds where it gets less of one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/module.h"
#include "tools/agent.h"
#include "tools/proc.h"
#include "tools/stack.h"

#define CALLS_CPU_S 4
#define CALLS_S     7 /* less than JOB_CALLS_MS: what is known then still arrives in time */
#define WORDS_ROOM  600

/* Without libdw: describe where the task is by what /proc says. */
static void describe_plainly(pid_t pid, const char *why, char *text, size_t bytes)
{
	char path[64], wchan[64] = "";
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/wchan", (int)pid);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(wchan, sizeof wchan, f))
			wchan[0] = '\0';
		fclose(f);
	}
	if (!strcmp(wchan, "0") || !wchan[0])
		snprintf(text, bytes, "runs (its call is not known: %s)", why);
	else
		snprintf(text, bytes, "sleeps in the kernel's %s (its call is not known: %s)",
			 wchan, why);
}

/* The child: describe each task. */
static void describe_tasks(struct agent *a, int fd)
{
	char why[256] = "", text[WORDS_ROOM], line[WORDS_ROOM + 128], cause[256];
	stack_describe_fn describe;

	unsetenv("DEBUGINFOD_URLS"); /* libdw would ask the network for symbols */
	*(void **)&describe =
	    drv_module_symbol(STACK_MODULE, TOOLS_BUILD_MODULES, STACK_SYMBOL, why, sizeof why);
	for (uint32_t i = 0; i < a->locals; i++) {
		struct mu_task_area *area = mu_host_area(a->host, i);
		uint32_t state = atomic_load_acquire(&area->state);
		pid_t pid = a->task[i].pid;
		int n, rc;

		if (pid <= 0)
			continue;
		/* The program may run below a script. */
		if (state != MU_TASK_NONE && atomic_load_relaxed(&area->pid))
			pid = (pid_t)atomic_load_relaxed(&area->pid);
		rc = describe ? describe(pid, text, sizeof text) : -ENOENT;
		if (rc) {
			snprintf(cause, sizeof cause, "%.255s", describe ? text : why);
			describe_plainly(pid, cause, text, sizeof text);
		}
		for (char *c = text; *c; c++)
			if (*c == '\n')
				*c = ' ';
		n = snprintf(line, sizeof line, "%u %s%s\n", a->task[i].task,
			     state == MU_TASK_NONE       ? "has not joined the job: "
			     : state == MU_TASK_DETACHED ? "has left the job: "
							 : "",
			     text);
		if (write(fd, line, (size_t)n) != n)
			return;
	}
	if (write(fd, "end\n", 4) != 4)
		return;
}

void agent_calls_ask(struct agent *a)
{
	pid_t parent = getpid();
	int ends[2];

	if (a->calls >= 0)
		return; /* the answer to an earlier question is on its way */
	if (pipe2(ends, O_CLOEXEC)) {
		ctl_send(&a->ctl, CTL_CALLED, NULL, 0);
		return;
	}
	a->calls_child = fork();
	if (!a->calls_child) {
		setrlimit(RLIMIT_CPU, &(struct rlimit){CALLS_CPU_S, CALLS_CPU_S});
		alarm(CALLS_S);
		if (!proc_tie_to_parent(parent, SIGKILL))
			describe_tasks(a, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	a->calls = ends[0];
	a->calls_bytes = 0;
}

/* The child was ended: say so of the tasks that it did not come to, and let those run that it may
 * have stopped. */
static void add_missing(struct agent *a, struct ctl_buf *b, const bool *is_described)
{
	for (uint32_t i = 0; i < a->locals; i++) {
		if (a->task[i].pid <= 0)
			continue;
		kill(a->task[i].pid, SIGCONT);
		if (is_described && is_described[i])
			continue;
		ctl_put_u32(b, a->task[i].task);
		ctl_put_text(b, "not known: the machine was too busy to look at it");
	}
}

/* Find the place among the tasks of this host; a->locals: it is none. */
static uint32_t find_local(const struct agent *a, unsigned long task)
{
	uint32_t i = 0;

	while (i < a->locals && a->task[i].task != task)
		i++;
	return i;
}

/* The pipe has ended: tell torus run each whole line. */
static void calls_send(struct agent *a)
{
	bool is_whole = false, *is_described = calloc(a->locals + 1, sizeof *is_described);
	struct ctl_buf b = {0};
	char *next;

	for (char *line = a->calls_text;
	     line && (next = memchr(line, '\n', a->calls_bytes - (size_t)(line - a->calls_text)));
	     line = next + 1) {
		unsigned long task;
		char *words;

		*next = '\0';
		if (!strcmp(line, "end")) {
			is_whole = true;
			break;
		}
		task = strtoul(line, &words, 10);
		ctl_put_u32(&b, (uint32_t)task);
		ctl_put_text(&b, words + (*words == ' '));
		if (is_described)
			is_described[find_local(a, task)] = true;
	}
	if (!is_whole)
		add_missing(a, &b, is_described);
	ctl_send_buf(&a->ctl, CTL_CALLED, &b);
	free(is_described);
	free(a->calls_text);
	a->calls_text = NULL;
	a->calls_bytes = 0;
}

void agent_calls_read(struct agent *a)
{
	size_t room = a->calls_bytes + 65536;
	char *more = realloc(a->calls_text, room);
	ssize_t n = 0;

	if (more) {
		a->calls_text = more;
		n = read(a->calls, more + a->calls_bytes, room - a->calls_bytes);
		if (n < 0 && errno == EINTR)
			return;
	}
	if (n > 0) {
		a->calls_bytes += (size_t)n;
		return;
	}
	close(a->calls);
	a->calls = -1;
	/* With --on-death error nobody else reaps children while the job runs. */
	if (a->calls_child > 0)
		waitpid(a->calls_child, NULL, 0);
	calls_send(a);
}
