/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent: the one process per host that belongs to the job and not to the user's program.
 *
 * It makes the host segment, starts the host's tasks, carries their output where that is wanted,
 * tells `torus run` who exited and how, hands port addresses on, runs the port and the wires (if
 * the host has more than one task) or the simulator (virtual clock), and leaves nothing behind.
 */
#ifndef TOOLS_AGENT_H
#define TOOLS_AGENT_H

#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "mu/holder.h"
#include "mu/host.h"
#include "mu/sim.h"
#include "tools/ctl.h"
#include "tools/plan.h"

#define AGENT_NO_PLAN     2           /* exit status: no plan came over the control channel */
#define AGENT_LINE_BYTES  65536       /* longer lines are cut */
#define AGENT_OUTPUT_ROOM (1u << 20)  /* output under way to torus run, per agent */
#define AGENT_STDIN_ROOM  65536u
#define AGENT_PING_MS     100
#define AGENT_SILENCE_MS  1000        /* a remote end that is silent for so long is dead */

/* One output stream of one task, when it goes through torus run. */
struct agent_stream {
	int fd; /* -1: not captured, or at its end */
	uint32_t bytes;
	char *line;
};

struct agent_task {
	uint32_t task;
	pid_t pid; /* 0: gone */
	struct agent_stream stream[2];
};

struct agent {
	struct plan plan;
	uint32_t self;
	int remote; /* control over pipes of ssh: heartbeats, and all output goes through it */
	struct ctl ctl;
	struct mu_host *host;
	int segment;
	struct agent_task *task; /* [locals] */
	uint32_t locals, alive;
	int signals;  /* signalfd: SIGCHLD */
	int starting; /* tasks whose exec failed write here; -1 when all are past it */
	int wake;     /* eventfd of host->agent_wake */
	int input;    /* stdin of task 0 when it is fed by us, else -1 */
	char *input_data; /* what task 0 has not taken yet */
	uint32_t input_bytes;
	int input_end;
	uint32_t output_room;
	struct mu_holder *holder;
	int holder_broken;
	struct mu_live *live; /* routers that we step: ours, or the holder's */
	struct mu_sim *sim; /* virtual clock */
	int address_sent;
	int ending;
	uint64_t kill_at_ns;           /* 0: not planned */
	uint64_t heard_ns, pinged_ns;  /* remote only */
	int paused;
	sigset_t mask;       /* the user's, for the tasks */
	struct rlimit files; /* the same */
};

/*
 * Be the agent; returns the exit status of the process. in and out carry the control channel,
 * parent is who started us. remote: see above. mask: signal mask that tasks shall have.
 */
int agent_main(int in, int out, pid_t parent, int remote, const sigset_t *mask);

/*
 * Wait up to timeout_ns (-1: until something happens) and handle what did. `extra` are further
 * descriptors that end the wait; somebody else looks at them.
 */
void agent_look(struct agent *a, int64_t timeout_ns, const struct pollfd *extra, unsigned extras);

/* agent_port.c: complete the port of this host in the plan. 0 or a negative errno after telling. */
int agent_port_choose(struct agent *a);

/* agent_sim.c: the virtual clock. Before the tasks start; then until they have left it. */
int agent_sim_open(struct agent *a);
void agent_sim_run(struct agent *a);
/* agent_routers.c: fabric torus, --on-death error, one host: step its routers until the job ends. */
int agent_routers_needed(const struct agent *a);
void agent_routers_run(struct agent *a);
/* Until no packet of a local task is in our routers, or for so long. */
void agent_routers_drain(struct agent *a, uint32_t local, int timeout_ms);
/* agent_links.c: send the traffic of this host's links. */
void agent_links_send(struct agent *a);

/* agent_spawn.c: start every local task; 0 or a negative errno after telling torus run. */
int agent_spawn(struct agent *a);
/* Tell torus run that this host cannot go on; exit status for the job and a sentence. */
void agent_fail(struct agent *a, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* agent_output.c: read what tasks wrote and send it on. */
int agent_output_open(struct agent *a, struct agent_task *t, int child_end[2]);
void agent_output_read(struct agent *a, uint32_t local, unsigned which);
/* The task has exited: read what it had written before, so that it is told first. */
void agent_output_drain(struct agent *a, uint32_t local);
int agent_output_open_count(const struct agent *a);
/* Feed task 0. */
void agent_input_put(struct agent *a, const void *data, size_t bytes);
void agent_input_flush(struct agent *a);

#endif
