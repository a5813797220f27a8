/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent: the one process per host that belongs to the job and not to the user's program.
 *
 * It makes the host segment and starts the tasks of the host. It forwards their output where the
 * job needs that, reports their exits to `torus run`, and passes port addresses on. It runs the
 * port and the wires (if the host has more than one task) or the simulator (virtual clock). At the
 * end it removes everything that the job created on the host.
 */
#ifndef TOOLS_AGENT_H
#define TOOLS_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "mu/transport/port_holder.h"
#include "mu/segment/host.h"
#include "mu/sim/sim.h"
#include "tools/ctl.h"
#include "tools/plan.h"

#define AGENT_NO_PLAN     2          /* exit status if no plan arrived over the control channel */
#define AGENT_LINE_BYTES  65536      /* longer lines are cut into pieces */
#define AGENT_OUTPUT_ROOM (1u << 20) /* bytes of output in flight to torus run, per agent */
#define AGENT_STDIN_ROOM  65536u

/* One output stream of one task, when it goes through torus run. */
struct agent_stream {
	int fd; /* -1: not captured, or at end of file */
	uint32_t bytes;
	char *line;
};

struct agent_task {
	uint32_t task;
	pid_t pid; /* 0: exited */
	struct agent_stream stream[2];
	/* Samples of the last check by agent_leave.c. */
	uint64_t waited_ns, received, cpu_ns, preempted_ns;
};

/* State of the check whether all tasks of this host wait for messages (agent_leave.c). */
struct agent_watch {
	/* Report when the tasks have waited for this long; 0: torus run has not asked. */
	uint64_t limit_ns;
	uint64_t checked_ns; /* time of the last check */
	uint64_t since_ns;   /* all tasks have waited since then */
	bool reported;
	uint64_t stall_ns; /* the same for CTL_STALLED; 0: not asked */
	bool stall_reported;
};

struct agent {
	struct plan plan;
	uint32_t self;
	/* The control channel is pipes of ssh: both ends send heartbeats, and all output goes
	 * through it. */
	bool is_remote;
	struct ctl ctl;
	struct mu_host *host;
	int segment;
	struct agent_task *task; /* [locals] */
	uint32_t locals, alive;
	int signals; /* signalfd: SIGCHLD */
	/* Tasks whose exec failed write to this pipe; -1 after all have passed exec. */
	int starting;
	int wake;         /* eventfd of host->agent_wake */
	int input;        /* pipe to stdin of task 0 where the agent feeds it, else -1 */
	char *input_data; /* bytes that task 0 has not read yet */
	uint32_t input_bytes;
	uint32_t input_room; /* bytes that torus run may still send */
	bool input_end;
	int64_t output_room; /* below 0 after a line that did not fit */
	struct mu_holder *holder;
	bool holder_broken;
	struct mu_live *live; /* routers that the agent steps: its own, or those of the holder */
	struct trace *trace;  /* NULL: none is written */
	struct mu_sim *sim;   /* NULL except with the virtual clock */
	bool address_sent;
	bool has_failures; /* a task ended with another status than 0 */
	bool ending;
	uint64_t kill_at_ns;      /* 0: not planned */
	bool paused;              /* torus run is suspended and sends no heartbeats */
	struct agent_watch watch; /* started by CTL_WATCH and CTL_STALL */
	/* agent_calls.c: the pipe of the child that looks where the tasks are, or -1. */
	int calls;
	pid_t calls_child;
	struct agent_faults *faults;   /* NULL: none in real time */
	struct agent_stats *stats;     /* NULL: there is no file */
	struct agent_history *history; /* NULL: without --html */
	char *calls_text;
	size_t calls_bytes;
	sigset_t mask;       /* the user's signal mask, for the tasks */
	struct rlimit files; /* the user's limit, for the tasks */
};

/*
 * Run the agent; returns the exit status of the process. in and out carry the control channel,
 * parent is the process that started the agent. is_remote: as in struct agent. mask: signal mask of
 * the tasks.
 */
int agent_main(int in, int out, pid_t parent, bool is_remote, const sigset_t *mask);

/*
 * Wait up to timeout_ns (-1: until something happens) for events, and handle them: children,
 * control messages, output, timers. `extra` lists more descriptors that end the wait; the caller
 * handles them.
 */
void agent_handle_events(struct agent *a, int64_t timeout_ns, const struct pollfd *extra,
			 unsigned extras);

/* agent_port.c: complete the port of this host in the plan. Returns 0, or a negative errno after
 * reporting the failure. */
int agent_port_choose(struct agent *a);

/*
 * agent_faults.c: what a script of faults (emu/faults.h) asks of the agent in real time: tasks and
 * hosts die, and pairs that lost each other end the job. Open: 0 or a negative errno, reported.
 */
int agent_faults_open(struct agent *a);
void agent_faults_check(struct agent *a);
uint64_t agent_faults_period_ns(const struct agent *a); /* of the checks; 0: none */
void agent_faults_close(struct agent *a);

/* agent_sim.c: the virtual clock. Open before the tasks start; run until they have exited. */
int agent_sim_open(struct agent *a);
void agent_sim_run(struct agent *a);
/* agent_routers.c: fabric torus with --on-death error on one host: step the routers until the job
 * ends. */
bool agent_has_to_step_routers(const struct agent *a);
void agent_routers_run(struct agent *a);
/* Step until no packet of the local task is in the routers, or until the timeout. */
void agent_routers_drain(struct agent *a, uint32_t local, int timeout_ms);
/*
 * agent_leave.c: a task has ended without leaving the job. Check, at most four times a second,
 * whether all other tasks of this host wait, and report a change to torus run.
 */
#define AGENT_WATCH_MS 250
void agent_watch_check(struct agent *a);
/* Return how often agent_leave.c has to run, in ms; 0: never. */
uint64_t agent_watch_period_ns(const struct agent *a);
/* agent_calls.c: find out in which call each task is, and send CTL_CALLED; read what the child
 * has found. */
void agent_calls_ask(struct agent *a);
void agent_calls_read(struct agent *a);
/* agent_links.c: call fn for each link with what this host knows of its traffic. Fabric express
 * follows the paths of all channels, so it costs more. */
typedef void (*agent_link_fn)(void *arg, uint32_t node, unsigned link,
			      const struct emu_link_stat *stat);
void agent_links_each(struct agent *a, agent_link_fn fn, void *arg);
/* Returns true if agent_links_each() is cheap enough to be called again and again while the job
 * runs. */
bool agent_links_are_cheap(const struct agent *a);
/* Send the traffic of the links to torus run. */
void agent_links_send(struct agent *a);

/*
 * agent_stats.c: the counters of this host, in a file of the run directory (tools/runs.h). Made
 * before the tasks start; a failure is logged and does no harm. The agent copies what tasks,
 * routers and wires have counted anyway into it, twice a second: nothing is added to their paths.
 */
#define AGENT_STATS_MS 500
void agent_stats_open(struct agent *a);
void agent_stats_sample(struct agent *a); /* if it is time */
void agent_stats_close(struct agent *a);

/* agent_history.c: what happens over time, for --html. Made before the tasks start, sent to torus
 * run at the end. A step comes from the simulator; samples are for the real clock. */
void agent_history_open(struct agent *a);
void agent_history_step(struct agent *a, const struct emu_world_event *e);
uint64_t agent_history_period_ns(const struct agent *a); /* of samples; 0: none are taken */
void agent_history_sample(struct agent *a);              /* if it is time */
void agent_history_close(struct agent *a);

/* agent_trace.c: what was recorded for --trace goes to torus run, or to the file. */
void agent_trace_close(struct agent *a);

/* agent_spawn.c: start every local task. Returns 0, or a negative errno after reporting the
 * failure. */
int agent_spawn(struct agent *a);
/* Report to torus run that this host cannot go on: exit status for the job, and a sentence. */
void agent_fail(struct agent *a, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* agent_output.c: read the output of tasks and send it to torus run. */
int agent_output_open(struct agent *a, struct agent_task *t, int child_end[2]);
void agent_output_read(struct agent *a, uint32_t local, unsigned which);
/* The task has exited: read the rest of its output, so that torus run gets it before the exit. */
void agent_output_drain(struct agent *a, uint32_t local);
int agent_output_open_count(const struct agent *a);
/* Pass input to task 0. Returns false if it is more than was asked for. */
bool agent_input_put(struct agent *a, const void *data, size_t bytes);
void agent_input_flush(struct agent *a);

#endif
