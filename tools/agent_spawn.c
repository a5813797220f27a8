/* SPDX-License-Identifier: BSD-3-Clause */
/* Start the tasks of a host, all at once: none waits for another. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/agent.h"
#include "tools/libraries.h"
#include "tools/pmi.h"
#include "tools/pmix_job.h"
#include "tools/proc.h"

void agent_fail(struct agent *a, int status, const char *format, ...)
{
	struct ctl_buf b = {0};
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	ctl_put_u32(&b, (uint32_t)status);
	ctl_put_text(&b, text);
	ctl_send_buf(&a->ctl, CTL_FAIL, &b);
}

/* The child, up to exec. It reports a failure through `failed`: task number and errno. */
static void task_run(struct agent *a, uint32_t local, pid_t parent, int in, const int out[2],
		     int failed)
{
	int report[2];

	if (proc_tie_to_parent(parent, SIGKILL))
		_exit(1);
	if (in >= 0)
		dup2(in, 0);
	if (out[0] >= 0) {
		dup2(out[0], 1);
		dup2(out[1], 2);
	}
	proc_set_number(MU_ENV_SEGMENT, a->segment);
	proc_set_number(MU_ENV_TASK, a->task[local].task);
	pmi_task_environment(a->task[local].task);
	pmix_job_environment(a->task[local].task);
	signal(SIGPIPE, SIG_DFL);
	setrlimit(RLIMIT_NOFILE, &a->files);
	sigprocmask(SIG_SETMASK, &a->mask, NULL);
	execvp(a->plan.argv[0], a->plan.argv);
	report[0] = (int)a->task[local].task;
	report[1] = errno;
	if (write(failed, report, sizeof report) < 0)
		_exit(126);
	_exit(errno == ENOENT ? 127 : 126);
}

/* Return the descriptor that task `local` reads from; -1: it inherits that of the agent. The caller
 * closes it after the fork. */
static int input_open(struct agent *a, uint32_t local, int *keep)
{
	int ends[2];

	*keep = -1;
	if (a->task[local].task)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (!a->is_remote)
		return -1;
	if (pipe2(ends, O_CLOEXEC))
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	*keep = ends[1];
	return ends[0];
}

static int spawn_one(struct agent *a, uint32_t local, int failed)
{
	struct agent_task *t = &a->task[local];
	int out[2] = {-1, -1}, keep, in, rc = 0;
	pid_t parent = getpid();

	if ((a->plan.tag || a->is_remote) && agent_output_open(a, t, out))
		return -errno;
	in = input_open(a, local, &keep);
	t->pid = fork();
	if (!t->pid)
		task_run(a, local, parent, in, out, failed);
	if (t->pid < 0) {
		rc = -errno;
		t->pid = 0;
	} else {
		a->alive++;
	}
	for (int i = 0; i < 2; i++)
		if (out[i] >= 0)
			close(out[i]);
	if (in >= 0)
		close(in);
	if (keep >= 0)
		a->input = keep;
	return rc;
}

int agent_spawn(struct agent *a)
{
	struct ctl_buf b = {0};
	int failed[2], rc = 0;

	if (pipe2(failed, O_CLOEXEC | O_NONBLOCK)) {
		agent_fail(a, 1, "cannot make a pipe: %s; raise ulimit -n", strerror(errno));
		return -EMFILE;
	}
	libraries_export();
	for (uint32_t i = 0; i < a->locals && !rc; i++) {
		rc = spawn_one(a, i, failed[1]);
		if (rc)
			agent_fail(a, 1, "cannot start task %u: %s; raise ulimit %s",
				   a->task[i].task, strerror(-rc), rc == -EMFILE ? "-n" : "-u");
	}
	pmi_close_ends();
	close(failed[1]);
	a->starting = failed[0];
	for (uint32_t i = 0; i < a->locals; i++)
		ctl_put_u32(&b, (uint32_t)a->task[i].pid);
	ctl_send_buf(&a->ctl, CTL_STARTED, &b);
	return rc;
}
