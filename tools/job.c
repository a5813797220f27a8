/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/job.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "drivers/base/settings.h"
#include "tools/agent.h"
#include "tools/pmi.h"
#include "tools/pmix_job.h"
#include "tools/proc.h"

#define MS 1000000ull

/* Reads of 64 KiB or more: a dead agent has left no more than a pipe holds. */
#define REST_READS 1024u
/* Times QUINTORUS_SILENCE before a line says that a host does not answer. */
#define LATE_TIMES      4
#define CALLS_SIGNAL_MS 3000 /* the longest wait for answers before a signal is passed on */

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

void job_print(const char *format, ...)
{
	char text[2048];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof text - 1, format, ap);
	va_end(ap);
	if (n > (int)sizeof text - 2)
		n = sizeof text - 2;
	text[n++] = '\n';
	if (write(2, text, (size_t)n) < 0)
		return; /* stderr is closed, so there is no reader */
}

/* ---- the end ---- */

void job_send_all(struct job *j, uint32_t type, uint32_t value)
{
	for (uint32_t i = 0; i < j->plan->hosts; i++)
		if (!j->agent[i].lost && !j->agent[i].done)
			ctl_send(&j->agent[i].ctl, type, &value, sizeof value);
}

void job_end(struct job *j, uint32_t grace_ms)
{
	uint64_t end_at_ns = drv_clock_ns() + (grace_ms + JOB_END_MS) * MS;

	/* A user who repeats a signal does not put the end off. */
	if (!j->ending || end_at_ns < j->end_at_ns)
		j->end_at_ns = end_at_ns;
	j->ending = true;
	job_send_all(j, CTL_END, grace_ms);
}

bool job_record_failure(struct job *j, int status)
{
	if (j->failed)
		return 0;
	j->failed = true;
	j->status = status;
	job_end(j, j->asked ? JOB_GRACE_ASKED_MS : JOB_GRACE_MS);
	return 1;
}

bool job_is_going_on(const struct job *j)
{
	return j->plan->on_death == MU_ON_DEATH_ERROR && !j->asked && !j->ending;
}

void job_report_task_ended(struct job *j, uint32_t task, enum mu_task_end how)
{
	uint32_t word[2] = {task, how};

	for (uint32_t i = 0; i < j->plan->hosts; i++)
		if (i != j->plan->task_host[task] && !j->agent[i].lost && !j->agent[i].done)
			ctl_send(&j->agent[i].ctl, CTL_GONE, word, sizeof word);
}

/* ---- agents ---- */

/* Kill the processes that the tasks of a dead agent left: this process is their nearest reaper. */
static void strays_kill(struct job *j)
{
	static pid_t pids[4096];
	int n = proc_children(pids, 4096);

	for (int i = 0; i < n; i++) {
		uint32_t k = 0;

		while (k < j->plan->hosts && j->agent[k].pid != pids[i])
			k++;
		if (k == j->plan->hosts)
			kill(pids[i], SIGKILL);
	}
}

/* A host without an agent has no tasks any more. Returns how many tasks are left on other hosts. */
static uint32_t host_tasks_ended(struct job *j, uint32_t host)
{
	if (j->plan->fabric == MU_FABRIC_TORUS)
		job_send_all(j, CTL_LOST, host);
	for (uint32_t i = 0; i < j->plan->tasks; i++) {
		if (j->plan->task_host[i] != host || j->exited[i])
			continue;
		j->exited[i] = 1;
		j->running--;
		job_report_task_ended(j, i, MU_TASK_DIED);
	}
	return j->running;
}

void job_agent_lost(struct job *j, uint32_t host, const char *how)
{
	struct job_agent *a = &j->agent[host];
	char where[160];

	if (a->done || a->lost)
		return;
	a->lost = true;
	if (job_is_going_on(j) && host_tasks_ended(j, host)) {
		job_print(
		    "torus run: the agent of host %s %s, and with it its tasks; the others go on",
		    plan_host_text(j->plan, host, where, sizeof where), how);
		j->status = j->status ? j->status : 1;
	} else if (job_record_failure(j, 1))
		job_print("torus run: the agent of host %s %s; the job is ended",
			  plan_host_text(j->plan, host, where, sizeof where), how);
	if (a->is_remote && a->pid > 0)
		kill(a->pid, SIGTERM);
}

/* Handle the messages that have arrived. Nonzero at the end of the stream. */
static int agent_read(struct job *j, uint32_t host)
{
	struct job_agent *a = &j->agent[host];
	struct ctl_msg m;
	int rc = ctl_receive(&a->ctl), taken;

	while ((taken = ctl_next(&a->ctl, &m)) > 0 && !a->lost)
		job_handle_message(j, host, &m);
	if (taken < 0)
		job_agent_lost(
		    j, host,
		    "sent a message outside the protocol; install the same torus on every host, "
		    "and let the shell there print nothing at login");
	return rc;
}

static void agent_readable(struct job *j, uint32_t host)
{
	/* The exit status of a child says more than the end of its stream: reap_children() is
	 * called next. */
	if (agent_read(j, host) && !j->agent[host].pid)
		job_agent_lost(j, host, "has died");
}

static void agent_reaped(struct job *j, uint32_t host, int status)
{
	struct job_agent *a = &j->agent[host];
	char text[256], name[128];

	a->pid = 0;
	/* Read the rest of its messages. Another process may have the stream, and fill it. */
	for (unsigned reads = 0; !a->ctl.broken && !a->lost && reads < REST_READS; reads++) {
		struct pollfd p = {.fd = a->ctl.in, .events = POLLIN};

		if (poll(&p, 1, 0) <= 0)
			break;
		agent_read(j, host);
	}
	if (WIFSIGNALED(status))
		snprintf(text, sizeof text, "was killed by %s",
			 proc_signal_text(WTERMSIG(status), name, sizeof name));
	else
		snprintf(text, sizeof text, "ended too early with exit status %d",
			 WEXITSTATUS(status));
	job_agent_lost(j, host, text);
}

/* Tasks that need it again get an error; those that do not go on. */
static void report_server(const char *what, int status)
{
	char name[128];

	if (WIFSIGNALED(status))
		job_print(
		    "torus run: the process that serves %s to the tasks was killed by %s: MPI "
		    "in a task that needs it again fails",
		    what, proc_signal_text(WTERMSIG(status), name, sizeof name));
	else
		job_print("torus run: the process that serves %s to the tasks ended with exit "
			  "status %d: MPI in a task that needs it again fails",
			  what, WEXITSTATUS(status));
}

static void reap_children(struct job *j)
{
	int status, strays = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		uint32_t i = 0;

		while (i < j->plan->hosts && j->agent[i].pid != pid)
			i++;
		if (i < j->plan->hosts)
			agent_reaped(j, i, status);
		else if (pmi_is_server(pid) || pmix_job_is_server(pid))
			report_server(pmi_is_server(pid) ? "PMI-1" : "PMIx", status);
		strays = 1;
	}
	if (strays)
		strays_kill(j);
}

/* ---- signals, time, input ---- */

/* Print the tasks that have not ended: "task 2", "tasks 0, 3 and 5 more". */
static const char *running_text(const struct job *j, char *text, size_t bytes)
{
	uint32_t shown = 0;
	size_t n = (size_t)snprintf(text, bytes, j->running == 1 ? "task" : "tasks");

	for (uint32_t i = 0; i < j->plan->tasks && shown < 8; i++)
		if (!j->exited[i])
			n += (size_t)snprintf(text + n, bytes - n, "%s %u", shown++ ? "," : "", i);
	if (j->running > shown)
		snprintf(text + n, bytes - n, " and %u more", j->running - shown);
	return text;
}

static void end_after_timeout(struct job *j)
{
	char text[160];

	if (!j->running || !job_record_failure(j, JOB_STATUS_TIMEOUT))
		return;
	job_print(
	    "torus run: the job took longer than --timeout allows; it is ended; still running: %s",
	    running_text(j, text, sizeof text));
	job_calls_print(j);
}

/* The tasks are asked before the signal reaches them. */
static void pass_signal(struct job *j)
{
	uint32_t value = (uint32_t)j->asked;

	if (job_calls_known(j))
		job_print("torus run: where the tasks were when SIG%s came:",
			  sigabbrev_np(j->asked));
	job_calls_print(j);
	j->asked_ns = drv_clock_ns();
	job_send_all(j, CTL_SIGNAL, value);
}

static void say_places(struct job *j)
{
	if (job_calls_known(j))
		job_print("torus run: where the tasks are after SIG%s:", sigabbrev_np(j->asked));
	job_calls_print(j);
}

static void user_signal(struct job *j, const struct signalfd_siginfo *info)
{
	int sig = (int)info->ssi_signo, from_terminal = info->ssi_code == SI_KERNEL;
	uint32_t value = (uint32_t)sig;
	char text[160];

	if (sig != SIGUSR1 && sig != SIGUSR2) {
		if (j->asked) { /* a second signal kills the job */
			if (job_record_failure(j, 128 + sig))
				job_print("torus run: killed the job after a second signal; still "
					  "running: "
					  "%s",
					  running_text(j, text, sizeof text));
			job_end(j, 0);
			return;
		}
		j->asked = sig;
		j->asked_ns = drv_clock_ns();
		if (job_calls_ask(j, CALLS_SIGNAL_MS, from_terminal ? say_places : pass_signal) &&
		    !from_terminal)
			return;
	}
	/* A terminal has sent the signal to every process of its group. Tasks that had not started
	 * yet missed it. */
	for (uint32_t i = 0; i < j->plan->hosts; i++)
		if (j->agent[i].is_remote || !from_terminal || !j->agent[i].has_started)
			ctl_send(&j->agent[i].ctl, CTL_SIGNAL, &value, sizeof value);
}

/*
 * The user suspended the job from the keyboard. The terminal has stopped the processes of this
 * machine. Stop the tasks of other machines, and tell the agents there to expect no heartbeats
 * until the job goes on.
 */
static void suspend_job(struct job *j)
{
	for (int on = 1; on >= 0; on--) {
		uint32_t paused = (uint32_t)on, sig = on ? SIGSTOP : SIGCONT;

		for (uint32_t i = 0; i < j->plan->hosts; i++) {
			struct job_agent *a = &j->agent[i];

			if (!a->is_remote || a->lost)
				continue;
			ctl_send(&a->ctl, CTL_PAUSE, &paused, sizeof paused);
			ctl_send(&a->ctl, CTL_SIGNAL, &sig, sizeof sig);
		}
		if (on)
			kill(getpid(), SIGSTOP);
	}
}

static void signals_read(struct job *j)
{
	struct signalfd_siginfo info;

	while (read(j->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			reap_children(j);
		else if (info.ssi_signo == SIGTSTP)
			suspend_job(j);
		else
			user_signal(j, &info);
	}
}

/* The other machine, or a shell there, may take long, or for ever. */
static void say_late(struct job *j, uint32_t host)
{
	struct job_agent *a = &j->agent[host];
	char where[160];

	if (a->is_late || !ctl_is_silent(&a->ctl, LATE_TIMES * j->plan->silence_ms))
		return;
	a->is_late = true;
	job_print("torus run: host %s has not answered for %g s; still waiting; does a shell start "
		  "there? (Ctrl-C twice ends the job)",
		  plan_host_text(j->plan, host, where, sizeof where),
		  LATE_TIMES * j->plan->silence_ms / 1e3);
}

/* Returns true if there is an agent to exchange heartbeats with. */
static bool exchange_heartbeats(struct job *j, uint64_t now)
{
	bool has_remote = false;
	char how[64];

	for (uint32_t i = 0; i < j->plan->hosts; i++) {
		struct job_agent *a = &j->agent[i];

		has_remote |= a->is_remote;
		if (!a->is_remote || a->done || a->lost)
			continue;
		ctl_exchange_heartbeats(&a->ctl, now);
		/* Until its first message, ssh is still connecting. */
		if (!a->ctl.has_heard) {
			say_late(j, i);
		} else if (ctl_is_silent(&a->ctl, j->plan->silence_ms) ||
			   ctl_is_stuck(&a->ctl, j->plan->silence_ms)) {
			snprintf(how, sizeof how, "%s for %g s",
				 ctl_is_silent(&a->ctl, j->plan->silence_ms) ? "is silent"
									     : "reads nothing",
				 j->plan->silence_ms / 1e3);
			job_agent_lost(j, i, how);
		}
	}
	return has_remote;
}

/*
 * Kill an agent that does not end: it is stopped, or stuck in a driver. If all tasks have
 * succeeded, the job has succeeded nevertheless.
 */
static void agent_kill(struct job *j, uint32_t host)
{
	struct job_agent *a = &j->agent[host];
	char where[160];

	if (a->pid > 0)
		kill(a->pid, SIGKILL);
	if (j->failed || j->running) {
		job_agent_lost(j, host, "does not end and was killed");
		return;
	}
	a->lost = true;
	job_print(
	    "torus run: the agent of host %s did not end in %u s and was killed; all tasks had "
	    "ended "
	    "before",
	    plan_host_text(j->plan, host, where, sizeof where), JOB_END_MS / 1000);
}

static int agents_end_check(struct job *j, uint64_t now, int left)
{
	/* An agent is not stuck while its output waits for a slow reader. */
	if (out_pending(&j->out[0]) + out_pending(&j->out[1]))
		j->end_at_ns = now + JOB_END_MS * MS;
	if (now < j->end_at_ns) {
		int ms = (int)((j->end_at_ns - now) / MS) + 1;

		return left < 0 || ms < left ? ms : left;
	}
	for (uint32_t i = 0; i < j->plan->hosts; i++) {
		if (j->agent[i].done || j->agent[i].lost)
			continue;
		agent_kill(j, i);
	}
	strays_kill(j);
	return left;
}

/* Handle timers. Returns the time until the next one is due, in ms; -1: none. */
static int run_timers(struct job *j)
{
	uint64_t now = drv_clock_ns();
	int left = -1, calls_ms;

	if (exchange_heartbeats(j, now))
		left = CTL_PING_MS;
	if (j->asked_ns && !j->ending && !j->calls.then) {
		int64_t ms = 1000 - (int64_t)((now - j->asked_ns) / MS);

		if (ms <= 0) {
			job_print(
			    "torus run: SIG%s was passed on to the tasks; once more kills them",
			    sigabbrev_np(j->asked));
			j->asked_ns = 0;
		} else if (left < 0 || ms < left) {
			left = (int)ms;
		}
	}
	calls_ms = job_calls_check(j, now);
	if (calls_ms >= 0 && (left < 0 || calls_ms < left))
		left = calls_ms;
	if (j->ending)
		left = agents_end_check(j, now, left);
	if (j->timeout_at_ns && !j->failed) {
		int64_t ms = ((int64_t)(j->timeout_at_ns - now) + 999999) / (int64_t)MS;

		if (ms <= 0) {
			if (job_calls_ask(j, JOB_CALLS_MS, end_after_timeout))
				left = 0;
		} else if (left < 0 || ms < left) {
			left = ms < 1000000 ? (int)ms : 1000000;
		}
	}
	return left;
}

/* Forward stdin to task 0 on another machine, as much as the agent granted. */
static void input_read(struct job *j)
{
	struct job_agent *a = &j->agent[j->plan->task_host[0]];
	char data[16384];
	ssize_t n;

	/* A background process must not read from the terminal. */
	if (isatty(j->input_fd) && tcgetpgrp(j->input_fd) != getpgrp())
		return;
	n = read(j->input_fd, data, j->input_room < sizeof data ? j->input_room : sizeof data);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	ctl_send(&a->ctl, CTL_STDIN, data, n > 0 ? (size_t)n : 0);
	j->input_room -= n > 0 ? (uint32_t)n : 0;
	if (n <= 0)
		j->input_fd = -1;
}

/* Output of an agent was written: grant the agent as many bytes again. */
static void output_grant(struct job *j)
{
	if (out_pending(&j->out[0]) + out_pending(&j->out[1]))
		return;
	for (uint32_t i = 0; i < j->plan->hosts; i++) {
		struct job_agent *a = &j->agent[i];

		if (!a->to_grant)
			continue;
		ctl_send(&a->ctl, CTL_OUTPUT_ROOM, &a->to_grant, sizeof a->to_grant);
		a->to_grant = 0;
	}
}

/* Has a write of what the tasks print failed? A program whose reader has gone ends silently. */
static void output_check(struct job *j)
{
	int error = j->out[0].error;

	if (error && job_record_failure(j, error == EPIPE ? 128 + SIGPIPE : 1) && error != EPIPE)
		job_print("torus run: cannot write what the tasks print: %s", strerror(error));
}

/* ---- the loop ---- */

static void handle_events(struct job *j, struct pollfd *fds)
{
	unsigned n = 0, hosts = j->plan->hosts;
	int timeout_ms = run_timers(j);
	struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

	for (unsigned i = 0; i < hosts; i++) {
		struct job_agent *a = &j->agent[i];
		bool is_dead = a->lost || a->ctl.broken;

		fds[n++] = (struct pollfd){.fd = is_dead ? -1 : a->ctl.in, .events = POLLIN};
		fds[n++] = (struct pollfd){.fd = !is_dead && ctl_pending(&a->ctl) ? a->ctl.out : -1,
					   .events = POLLOUT};
	}
	fds[n++] = (struct pollfd){.fd = j->signals, .events = POLLIN};
	for (unsigned i = 0; i < 2; i++)
		fds[n++] = (struct pollfd){.fd = out_pending(&j->out[i]) ? j->out[i].fd : -1,
					   .events = POLLOUT};
	fds[n++] =
	    (struct pollfd){.fd = j->input_room && !j->ending ? j->input_fd : -1, .events = POLLIN};
	if (ctl_poll(fds, n, timeout_ms < 0 ? NULL : &timeout) <= 0)
		return;
	for (unsigned i = 0; i < hosts; i++) {
		if (fds[2 * i].revents)
			agent_readable(j, i);
		if (fds[2 * i + 1].revents)
			ctl_flush(&j->agent[i].ctl);
	}
	for (unsigned i = 0; i < 2; i++)
		if (fds[2 * hosts + 1 + i].revents)
			out_flush(&j->out[i]);
	output_check(j);
	if (fds[2 * hosts + 3].revents)
		input_read(j);
	output_grant(j);
	if (fds[2 * hosts].revents)
		signals_read(j);
}

static bool is_over(const struct job *j)
{
	for (uint32_t i = 0; i < j->plan->hosts; i++)
		if (!j->agent[i].done && !j->agent[i].lost)
			return 0;
	return 1;
}

static void signals_open(struct job *j)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (unsigned i = 0; i < sizeof forwarded / sizeof forwarded[0]; i++)
		sigaddset(&set, forwarded[i]);
	for (uint32_t i = 0; i < j->plan->hosts; i++)
		if (plan_host_is_remote(&j->plan->host[i]))
			sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_BLOCK, &set, &j->mask);
	signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would hide exit statuses */
	signal(SIGPIPE, SIG_IGN);
	j->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Write the output of the tasks before any report of torus run. */
static void output_drain(struct job *j)
{
	while (out_pending(&j->out[0]) + out_pending(&j->out[1])) {
		struct pollfd p[2] = {{.fd = out_pending(&j->out[0]) ? 1 : -1, .events = POLLOUT},
				      {.fd = out_pending(&j->out[1]) ? 2 : -1, .events = POLLOUT}};

		poll(p, 2, -1);
		out_flush(&j->out[0]);
		out_flush(&j->out[1]);
	}
}

static void close_all(struct job *j)
{
	for (uint32_t i = 0; i < j->plan->hosts; i++) {
		ctl_close(&j->agent[i].ctl);
		free(j->agent[i].address);
		free(j->agent[i].port);
	}
	if (proc_children_end(2000))
		drv_warn("torus run: a process of the job does not die");
	free(j->out[0].data);
	free(j->out[1].data);
	free(j->agent);
	free(j->exited);
	job_calls_free(j);
	free(j->links);
	free(j->sums);
	history_free(j->history);
	messages_free(&j->messages);
	close(j->signals);
}

/* A file that the user asked for is not whole: the job has failed, if it has not already. */
static void report_cut_file(struct job *j, const char *what, const char *file, int error)
{
	if (!j->status)
		job_record_failure(j, 1);
	job_print("torus run: --%s %s: %s; the file is cut short", what, file, strerror(error));
}

static void page_write(struct job *j)
{
	int rc = j->plan->html ? job_page_write(j) : 0;

	if (rc)
		report_cut_file(j, "html", j->plan->html, -rc);
}

static void trace_write_real(struct job *j)
{
	int rc = j->plan->trace[0] && j->plan->clock == MU_CLOCK_REAL ? job_trace_write(j) : 0;

	if (rc)
		report_cut_file(j, "trace", j->plan->trace, -rc);
}

int job_run(struct job *j, const struct plan *plan, double timeout_s)
{
	struct pollfd *fds = calloc(2 * plan->hosts + 8, sizeof *fds);

	memset(j, 0, sizeof *j);
	j->plan = plan;
	j->running = plan->tasks;
	j->stall_ms = (uint32_t)drv_setting_number(DRV_QUINTORUS_STALL) * 1000;
	j->left_ms = (uint32_t)drv_setting_number(DRV_QUINTORUS_LEFT_WAIT) * 1000;
	j->out[0].fd = 1;
	j->out[1].fd = 2;
	j->input_fd = plan_host_is_remote(&plan->host[plan->task_host[0]]) ? 0 : -1;
	j->input_room = AGENT_STDIN_ROOM;
	j->started_ns = drv_clock_ns();
	j->timeout_at_ns = timeout_s > 0 ? j->started_ns + (uint64_t)(timeout_s * 1e9) : 0;
	j->agent = calloc(plan->hosts, sizeof *j->agent);
	if (plan->html)
		j->history = history_new(plan);
	if (plan_counts_links(plan))
		j->links =
		    calloc((size_t)emu_shape_nodes(&plan->shape) * EMU_LINKS, sizeof *j->links);
	j->exited = calloc(plan->tasks, 1);
	if (!fds || !j->agent || !j->exited || (plan_counts_links(plan) && !j->links) ||
	    (plan->html && !j->history)) {
		job_print("torus run: out of memory");
		free(fds);
		return 1;
	}
	for (uint32_t i = 0; i < plan->hosts; i++)
		j->agent[i].ctl.in = j->agent[i].ctl.out = -1;
	signals_open(j);
	proc_become_reaper();
	if (job_agents_start(j)) {
		j->failed = true;
		j->status = 1;
		for (uint32_t i = 0; i < plan->hosts; i++)
			j->agent[i].lost = true;
	}
	pmi_close_ends();
	if (j->stall_ms && !j->failed)
		job_send_all(j, CTL_STALL, j->stall_ms);
	while (!is_over(j))
		handle_events(j, fds);
	j->ended_ns = drv_clock_ns();
	output_drain(j);
	output_check(j);
	if (plan->report == PLAN_REPORT_TEXT)
		job_report(j);
	if (plan->report == PLAN_REPORT_JSON) {
		job_report_json(stderr, j);
		fputc('\n', stderr);
	} else if (j->virt.known) {
		job_report_virtual(j);
	}
	page_write(j);
	trace_write_real(j);
	close_all(j);
	free(fds);
	return j->status;
}
