/* SPDX-License-Identifier: BSD-3-Clause */
/* What torus run does about each message of an agent: ends of tasks, failures, output, counts. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tools/agent.h"
#include "tools/job.h"
#include "tools/proc.h"

static void say_task_failed(struct job *j, uint32_t host, uint32_t task, int status,
			    const char *then)
{
	char who[256], where[160], text[128];

	snprintf(who, sizeof who, "task %u at %s on host %s", task,
		 plan_task_coords(j->plan, task, text, sizeof text),
		 plan_host_text(j->plan, host, where, sizeof where));
	if (WIFSIGNALED(status))
		job_print("torus run: %s was killed by %s%s; %s", who,
			  proc_signal_text(WTERMSIG(status), text, sizeof text),
			  WCOREDUMP(status) ? ", core dumped" : "", then);
	else
		job_print("torus run: %s ended with exit status %d; %s", who, WEXITSTATUS(status),
			  then);
}

/*
 * A task has ended with status 0, but without leaving the job. That is no failure if no other task
 * needs it any more. If all others have waited for messages for left_ms, they wait for it.
 */
static void task_left(struct job *j, uint32_t task)
{
	if (j->left || !j->left_ms)
		return;
	j->left = true;
	j->left_task = task;
	job_send_all(j, CTL_WATCH, j->left_ms);
}

/* A task has ended with status 0. If it was the only one of its host it held the port, and nobody
 * acknowledges frames there any more. */
static void report_departure(struct job *j, uint32_t task)
{
	uint32_t host = j->plan->task_host[task], tasks = 0;

	for (uint32_t i = 0; i < j->plan->tasks; i++)
		tasks += j->plan->task_host[i] == host;
	if (tasks == 1)
		job_send_all(j, CTL_DEPARTED, host);
}

static void host_waits(struct job *j, uint32_t host, struct ctl_msg *m)
{
	char where[160], text[128];
	uint32_t task = j->left_task, at;

	j->agent[host].waits = ctl_get_u32(m) != 0;
	if (!j->left || j->ending)
		return;
	for (uint32_t i = 0; i < j->plan->tasks; i++)
		if (!j->exited[i] && !j->agent[j->plan->task_host[i]].waits)
			return;
	at = j->plan->task_host[task];
	if (job_record_failure(j, 1))
		job_print(
		    "torus run: task %u at %s on host %s ended with exit status 0 without "
		    "finalizing, "
		    "and all other tasks have waited for messages for %u s since; the job is ended "
		    "(QUINTORUS_LEFT_WAIT=SECONDS sets the time, 0: for ever)",
		    task, plan_task_coords(j->plan, task, text, sizeof text),
		    plan_host_text(j->plan, at, where, sizeof where), j->left_ms / 1000);
}

/* ---- a job without progress ---- */

static void say_stall(struct job *j)
{
	if (j->ending)
		return;
	job_print(
	    "torus run: all tasks wait for messages, and none has come for %u s; the job goes on "
	    "(QUINTORUS_STALL=SECONDS sets the time, 0: never)",
	    j->stall_ms / 1000);
	job_calls_print(j);
}

static void host_stalls(struct job *j, uint32_t host, struct ctl_msg *m)
{
	j->agent[host].stalls = ctl_get_u32(m) != 0;
	if (j->stall_said || j->ending || j->left)
		return;
	for (uint32_t i = 0; i < j->plan->tasks; i++)
		if (!j->exited[i] && !j->agent[j->plan->task_host[i]].stalls)
			return;
	j->stall_said = job_calls_ask(j, JOB_CALLS_MS, say_stall);
}

static void task_exited(struct job *j, uint32_t host, struct ctl_msg *m)
{
	uint32_t task = ctl_get_u32(m);
	int status = (int)(ctl_get_u32(m) & 0xffff);
	int joined = (int)ctl_get_u32(m), code;

	if (m->bad || task >= j->plan->tasks || j->plan->task_host[task] != host) {
		job_agent_lost(j, host, "reported the end of a task that it does not have");
		return;
	}
	if (!j->running || j->exited[task])
		return;
	if (!WIFEXITED(status) && !WIFSIGNALED(status))
		status = W_EXITCODE(1, 0);
	code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	j->exited[task] = 1;
	j->running--;
	if (job_is_going_on(j)) {
		job_report_task_ended(j, task, status ? MU_TASK_DIED : MU_TASK_LEFT);
		if (status)
			say_task_failed(j, host, task, status,
					j->running ? "the others go on"
						   : "it was the last of the job");
		if (code && !j->status)
			j->status = code;
		if (!j->running)
			job_end(j, 0);
		return;
	}
	if (!status) {
		if (!j->running) {
			job_end(j, 0);
			return;
		}
		report_departure(j, task);
		if (joined)
			task_left(j, task);
		return;
	}
	if (!job_record_failure(j, code))
		return;
	/* The task died of the signal that the user sent: no message. */
	if (j->asked && WIFSIGNALED(status) && WTERMSIG(status) == j->asked)
		return;
	say_task_failed(j, host, task, status, "the job is ended");
}

static void host_failed(struct job *j, uint32_t host, struct ctl_msg *m)
{
	uint32_t status = ctl_get_u32(m);
	const char *text = ctl_get_text(m);
	char where[160];

	if (job_record_failure(j, status && status < 256 ? (int)status : 1))
		job_print("torus run: host %s: %s",
			  plan_host_text(j->plan, host, where, sizeof where), text);
}

static void host_address(struct job *j, uint32_t host, struct ctl_msg *m)
{
	const char *text = ctl_get_text(m), *port = ctl_get_text(m);

	if (m->bad || strlen(text) >= sizeof((struct mu_peer_host *)0)->address ||
	    strlen(port) >= sizeof((struct mu_host *)0)->opened) {
		job_agent_lost(j, host, "sent an address that is none");
		return;
	}
	if (j->agent[host].address)
		return;
	j->agent[host].address = strdup(text);
	j->agent[host].port = strdup(port);
	for (uint32_t i = 0; i < j->plan->hosts; i++) {
		struct ctl_buf b = {0};

		if (i == host || j->agent[i].lost)
			continue;
		ctl_put_u32(&b, host);
		ctl_put_text(&b, text);
		ctl_send_buf(&j->agent[i].ctl, CTL_ADDRESS, &b);
	}
}

static void task_output(struct job *j, uint32_t host, struct ctl_msg *m)
{
	uint32_t task = ctl_get_u32(m), which = ctl_get_u32(m), room;
	struct out *o = &j->out[which == 2];

	room = (uint32_t)(m->bytes - m->at);
	if (m->bad || task >= j->plan->tasks || j->plan->task_host[task] != host || which < 1 ||
	    which > 2) {
		job_agent_lost(j, host, "sent output of a task that it does not have");
		return;
	}
	/* An agent may exceed its room by a line. */
	if (j->agent[host].to_grant + (uint64_t)room > 2 * AGENT_OUTPUT_ROOM) {
		job_agent_lost(j, host, "sent more output than it was allowed");
		return;
	}
	if (j->plan->tag)
		out_put_tagged(o, task, (const char *)m->data + m->at, room);
	else
		out_put(o, m->data + m->at, room);
	out_flush(o);
	j->agent[host].to_grant += room;
}

static void link_sums(struct job *j, struct ctl_msg *m)
{
	uint32_t links = emu_shape_nodes(&j->plan->shape) * EMU_LINKS;

	if (!j->sums)
		j->sums = calloc(links, sizeof *j->sums);
	while (j->sums && m->at < m->bytes) {
		uint32_t node = ctl_get_u32(m), link = ctl_get_u32(m);
		struct emu_link_sum s;

		s.sent.packets = ctl_get_u64(m);
		s.sent.sum = ctl_get_u64(m);
		s.received.packets = ctl_get_u64(m);
		s.received.sum = ctl_get_u64(m);
		if (m->bad || node >= links / EMU_LINKS || link >= EMU_LINKS)
			return;
		j->sums[node * EMU_LINKS + link] = s;
	}
}

/* Task 0 has read some of its input. Its agent asks for no more than it has room for. */
static void add_input_room(struct job *j, uint32_t host, uint32_t bytes)
{
	if (host != j->plan->task_host[0])
		return;
	j->input_room =
	    bytes < AGENT_STDIN_ROOM - j->input_room ? j->input_room + bytes : AGENT_STDIN_ROOM;
}

/* Nothing of the job is left on the host. So its tasks have ended, or the job is to end. */
static void host_done(struct job *j, uint32_t host)
{
	for (uint32_t i = 0; i < j->plan->tasks && !j->ending; i++)
		if (j->plan->task_host[i] == host && !j->exited[i]) {
			job_agent_lost(j, host, "ended before its tasks");
			return;
		}
	j->agent[host].done = true;
}

static void take_trace(struct job *j, uint32_t host, struct ctl_msg *m)
{
	size_t most = (size_t)MESSAGES_MAX * j->plan->hosts;
	int rc = j->plan->trace[0] ? messages_take(&j->messages, host, most, m) : 0;

	if (rc)
		job_print("torus run: --trace: the messages of host %u are not in the file: %s",
			  host, strerror(-rc));
}

static void link_counts(struct job *j, struct ctl_msg *m)
{
	while (j->links && m->at < m->bytes) {
		uint32_t node = ctl_get_u32(m), link = ctl_get_u32(m);
		uint64_t packets = ctl_get_u64(m), bytes = ctl_get_u64(m);
		uint64_t errors = ctl_get_u64(m), count[EMU_ON_COUNT];
		struct emu_link_stat *s;

		for (unsigned on = 0; on < EMU_ON_COUNT; on++)
			count[on] = ctl_get_u64(m);
		if (m->bad || node >= emu_shape_nodes(&j->plan->shape) || link >= EMU_LINKS)
			return;
		s = &j->links[node * EMU_LINKS + link];
		s->packets += packets;
		s->bytes += bytes;
		s->errors += (uint32_t)errors;
		for (unsigned on = 0; on < EMU_ON_COUNT; on++)
			s->on[on] += count[on];
	}
}

static void virtual_report(struct job_virtual *v, struct ctl_msg *m)
{
	v->ps = ctl_get_u64(m);
	v->hash = ctl_get_u64(m);
	v->events = ctl_get_u64(m);
	v->packets = ctl_get_u64(m);
	v->hops = ctl_get_u64(m);
	v->events_ns = ctl_get_u64(m);
	v->tasks_ns = ctl_get_u64(m);
	v->reproducible = ctl_get_u32(m) != 0;
	v->known = !m->bad;
}

void job_handle_message(struct job *j, uint32_t host, struct ctl_msg *m)
{
	switch (m->type) {
	case CTL_STARTED:
		j->agent[host].has_started = true;
		break;
	case CTL_FAIL:
		host_failed(j, host, m);
		break;
	case CTL_OWN_ADDRESS:
		host_address(j, host, m);
		break;
	case CTL_EXIT:
		task_exited(j, host, m);
		break;
	case CTL_WAITS:
		host_waits(j, host, m);
		break;
	case CTL_STALLED:
		host_stalls(j, host, m);
		break;
	case CTL_CALLED:
		job_calls_take(j, host, m);
		break;
	case CTL_OUTPUT:
		task_output(j, host, m);
		break;
	case CTL_STDIN_ROOM:
		add_input_room(j, host, ctl_get_u32(m));
		break;
	case CTL_LINKS:
		link_counts(j, m);
		break;
	case CTL_SUMS:
		link_sums(j, m);
		break;
	case CTL_HISTORY:
		if (j->history)
			history_take(j->history, m);
		break;
	case CTL_TRACE:
		take_trace(j, host, m);
		break;
	case CTL_VIRTUAL:
		virtual_report(&j->virt, m);
		break;
	case CTL_DONE:
		host_done(j, host);
		break;
	default:
		break;
	}
}
