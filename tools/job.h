/* SPDX-License-Identifier: BSD-3-Clause */
/* A running job, as torus run sees it: its agents, its output, its end. */
#ifndef TOOLS_JOB_H
#define TOOLS_JOB_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "emu/router.h"
#include "tools/ctl.h"
#include "tools/out.h"
#include "tools/plan.h"

#define JOB_GRACE_MS       250  /* from SIGTERM to SIGKILL when a task failed */
#define JOB_GRACE_ASKED_MS 2000 /* the same when the user ended the job */
#define JOB_END_MS         3000 /* after that an agent that has not ended hangs, and is killed */
#define JOB_STATUS_TIMEOUT 124  /* as timeout(1) */

struct job_agent {
	pid_t pid; /* of the agent, or of the ssh that leads to it; 0: reaped */
	int remote;
	struct ctl ctl;
	int done;       /* said CTL_DONE: nothing of the host is left */
	int lost;       /* died without saying so */
	uint32_t *pids; /* of its tasks, in task order */
	uint32_t locals;
	uint32_t unpaid; /* bytes of output received and not yet written */
	char *address;  /* of its port, when known */
	char *port;     /* as it was opened */
	uint64_t heard_ns;
};

/* What the simulator said at its end. */
struct job_virtual {
	int known, reproducible;
	uint64_t ps, hash, events, packets, hops, events_ns, tasks_ns;
};

struct job {
	const struct plan *plan;
	struct job_agent *agent; /* [hosts] */
	uint8_t *gone;           /* [tasks] it was reported as gone */
	uint32_t running;        /* tasks not yet reported as gone */
	int signals;             /* signalfd */
	struct out out[2];       /* stdout, stderr of tasks, when they go through us */
	int status;              /* exit status: of the first task that failed */
	int failed, ending;
	int asked;               /* signal with which the user wants it to end, 0: none */
	uint64_t end_at_ns; /* by then all agents should be done; 0: not ending */
	uint64_t asked_ns, pinged_ns, timeout_at_ns, started_ns;
	int input_fd;            /* stdin when task 0 is on another machine, else -1 */
	uint32_t input_room;
	sigset_t mask;           /* as it was when we started */
	struct emu_link_stat *links; /* [nodes * EMU_LINKS], with plan->report */
	struct job_virtual virt;
	uint64_t ended_ns;
};

/* Run the job to its end; returns the exit status for torus run. timeout_s 0: none. */
int job_run(struct job *j, const struct plan *plan, double timeout_s);

/* job_agents.c: start them all; 0, or -1 after a message. */
int job_agents_start(struct job *j);

/* report.c: what ran where and what went over the links, to stderr. */
void job_report(const struct job *j);
/* The same, and the virtual clock's numbers, as one line of JSON. */
void job_report_json(const struct job *j);
/* Virtual clock: time and hash, one line to stderr. */
void job_report_virtual(const struct job *j);

#endif
