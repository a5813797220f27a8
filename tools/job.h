/* SPDX-License-Identifier: BSD-3-Clause */
/* A running job in torus run: its agents, its output, its end. */
#ifndef TOOLS_JOB_H
#define TOOLS_JOB_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "emu/router.h"
#include "tools/ctl.h"
#include "tools/history.h"
#include "tools/messages.h"
#include "tools/out.h"
#include "tools/plan.h"

#define JOB_GRACE_MS       250  /* from SIGTERM to SIGKILL when a task failed */
#define JOB_GRACE_ASKED_MS 2000 /* the same after the user ended the job */
#define JOB_END_MS         3000 /* after this time an agent that has not ended is killed */
#define JOB_STATUS_TIMEOUT 124  /* as timeout(1) */
#define JOB_CALLS_MS       8000 /* the longest wait for the answers to job_calls_ask() */

struct job;

struct job_agent {
	pid_t pid; /* of the agent, or of the ssh that leads to it; 0: reaped */
	bool is_remote;
	struct ctl ctl;
	bool done;         /* sent CTL_DONE: nothing of the job is left on its host */
	bool lost;         /* died without CTL_DONE */
	bool waits;        /* all its tasks wait for messages (CTL_WAITS) */
	bool stalls;       /* all its tasks have waited for the time of CTL_STALL */
	bool answers;      /* its answer to CTL_CALLS is on its way */
	bool has_started;  /* its tasks (CTL_STARTED) */
	bool is_late;      /* a line said that it has not answered yet */
	uint32_t to_grant; /* bytes of output received, but not yet granted again */
	char *address;     /* address of its port, when known */
	char *port;        /* specification of the port, as it was opened */
};

/* job_calls.c: a question to the agents where the tasks are. */
struct job_calls {
	char **words; /* [tasks], NULL where a task's place is not known; NULL before a question */
	void (*then)(struct job *j); /* what happens after the answers; NULL: nothing was asked */
	uint64_t until_ns;           /* no answer is waited for longer */
};

/* The report of the simulator at its end. */
struct job_virtual {
	bool known, reproducible;
	uint64_t ps, hash, events, packets, hops, events_ns, tasks_ns;
};

struct job {
	const struct plan *plan;
	struct job_agent *agent; /* [hosts] */
	uint8_t *exited;         /* [tasks] 1: the exit of the task was reported */
	uint32_t running;        /* tasks whose exit was not reported yet */
	int signals;             /* signalfd */
	struct out out[2];       /* stdout and stderr of tasks, where they go through torus run */
	int status;              /* exit status, that of the first task that failed */
	bool failed, ending;
	uint32_t left_task; /* the first task that ended with status 0 without leaving the job */
	bool left;          /* left_task is valid */
	uint32_t left_ms;   /* how long the others may wait then, in ms; 0: for ever */
	int asked;          /* signal with which the user asked to end the job, 0: none */
	uint64_t end_at_ns; /* all agents should end before this time; 0: the job is not ending */
	uint64_t asked_ns, timeout_at_ns, started_ns;
	int input_fd; /* stdin when task 0 is on another machine, else -1 */
	uint32_t input_room;
	sigset_t mask;               /* signal mask at the start of torus run */
	struct emu_link_stat *links; /* [nodes * EMU_LINKS], if plan_counts_links() */
	struct emu_link_sum *sums;   /* the same, if the links have checksums */
	struct history *history;     /* with plan->html */
	struct messages messages;    /* real clock, with plan->trace */
	struct job_virtual virt;
	uint64_t ended_ns;
	struct job_calls calls;
	uint32_t stall_ms; /* print a line when all tasks have waited for this long; 0: never */
	bool stall_said;
};

/* Run the job to its end. Returns the exit status of torus run. timeout_s 0: no limit. */
int job_run(struct job *j, const struct plan *plan, double timeout_s);

/* Print one line to stderr. */
void job_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Send a message that has one word to every agent that has not ended. */
void job_send_all(struct job *j, uint32_t type, uint32_t value);
/* End the job: tasks that still run get SIGTERM, and SIGKILL after grace_ms. */
void job_end(struct job *j, uint32_t grace_ms);
/* The first failure decides the exit status and ends the job; later ones are its consequences.
 * Returns true for the first. */
bool job_record_failure(struct job *j, int status);
/* An agent has died, or does not keep the protocol: end its part, or the job. `how` goes on from
 * "the agent of host X". */
void job_agent_lost(struct job *j, uint32_t host, const char *how);
/* Returns true if the job goes on without a task that ends now. */
bool job_is_going_on(const struct job *j);
/* The job goes on without a task: tell the other hosts. The host of the task has told its own
 * tasks. */
void job_report_task_ended(struct job *j, uint32_t task, enum mu_task_end how);

/* job_messages.c: do what the message of an agent asks for. */
void job_handle_message(struct job *j, uint32_t host, struct ctl_msg *m);

/* job_agents.c: start all agents. Returns 0, or -1 after a message. */
int job_agents_start(struct job *j);

/*
 * job_calls.c: ask every agent in which call each task is; `then` is called after the answers, or
 * after limit_ms (a host that has not answered by then is left out). Returns false, without asking,
 * if an earlier question is not answered yet.
 */
bool job_calls_ask(struct job *j, uint32_t limit_ms, void (*then)(struct job *j));
/* Take the answer of an agent. */
void job_calls_take(struct job *j, uint32_t host, struct ctl_msg *m);
/* Call `then` when all answers are here or the time is over. Returns how many ms to wait at most;
 * -1: nothing was asked. */
int job_calls_check(struct job *j, uint64_t now);
/* job_calls_known() returns true if the call of some task is known. job_calls_print() prints the
 * table of calls to stderr, and frees it. */
bool job_calls_known(const struct job *j);
void job_calls_print(struct job *j);
void job_calls_free(struct job *j);

/* report.c: print to stderr what ran where, and the traffic of the links. */
void job_report(const struct job *j);
/* Print the same, and the numbers of the virtual clock, as one object of JSON. */
void job_report_json(FILE *f, const struct job *j);
/* job_trace.c: write the trace, and what it cost. 0 or a negative errno. */
int job_trace_write(struct job *j);
/* page.c: write the page of --html. Returns 0 or a negative errno. */
int job_page_write(const struct job *j);
/* Virtual clock: print time and hash, one line to stderr. */
void job_report_virtual(const struct job *j);

#endif
