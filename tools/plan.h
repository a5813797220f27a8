/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a job: everything `torus run` decides before it starts a process. torus run makes it
 * from the command line and sends it to each agent; it is constant from then on.
 *
 * Hosts carry contiguous blocks of nodes (emu/part.h). A task runs on the host of its node.
 */
#ifndef TOOLS_PLAN_H
#define TOOLS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"
#include "mu/segment/host.h"
#include "tools/ctl.h"
#include "tools/fault.h"

#define PLAN_TASKS_MAX 65536u
#define PLAN_ERR_BYTES 512

enum plan_host_kind { PLAN_HOST_LOCAL, PLAN_HOST_NETNS, PLAN_HOST_SSH, PLAN_HOST_SLURM };

enum plan_report { PLAN_REPORT_NONE, PLAN_REPORT_TEXT, PLAN_REPORT_JSON };

struct plan_host {
	enum plan_host_kind kind;
	char name[128]; /* "" for local */
	char port[256]; /* driver port; "" if none is needed, or if the agent chooses it */
};

struct plan {
	uint32_t tasks, hosts;
	struct plan_host *host; /* [hosts] */
	struct emu_shape shape;
	enum mu_clock clock;
	enum mu_fabric fabric;
	enum mu_on_death on_death;
	uint32_t silence_ms; /* another machine that sends no heartbeat for so long is dead */
	uint64_t job, seed;
	enum drv_seal_kind seal; /* protection of frames between hosts */
	unsigned char key[DRV_SEAL_KEY_BYTES];
	struct emu_coord *coords; /* [tasks] */
	uint16_t *task_host;      /* [tasks] */
	char capture[256];        /* file in which ports record their frames, absolute, or "" */
	char trace[256];          /* virtual clock: file for the steps of packets, or "" */
	/* File for the page of --html, or NULL; agents get "" where there is one. */
	const char *html;
	char mapping[256];               /* permutation or path of a map file, as given */
	char script[FAULT_SCRIPT_BYTES]; /* faults (emu/faults.h), or "" */
	char *hw;   /* rows of the machine that differ, "name=value,...", or NULL */
	bool bind;  /* divide the processors among the hosts of this machine; not sent to agents */
	bool tag;   /* output goes through torus run, line by line, with the number of the task */
	int report; /* enum plan_report */
	char *directory;
	char **argv; /* the program, NULL-terminated */
	uint32_t argc;
	bool owned; /* plan_decode() allocated argv, hw and directory */
};

/* The options of the user. 0, NULL and "": not given. */
struct plan_request {
	uint32_t tasks;
	const char *shape, *mapping, *hosts, *fault;
	int fabric, clock; /* -1: not given */
	int seal;          /* enum drv_seal_kind; -1: not given */
	bool bind;
	uint8_t mesh; /* dimensions that do not wrap, besides those that the shape marks */
	enum mu_on_death on_death;
};

/* Returns true if the host is another machine, or is treated as one. */
static inline bool plan_host_is_remote(const struct plan_host *h)
{
	return h->kind == PLAN_HOST_SSH || h->kind == PLAN_HOST_SLURM;
}

/* Returns true if torus run wants the traffic of each link at the end. */
static inline bool plan_counts_links(const struct plan *p)
{
	return p->report || p->html;
}

/* Fill tasks, hosts, shape, fabric, clock, coords and task_host from the request. Returns 0, or
 * -EINVAL with one sentence in err: what is wrong and how to fix it. */
int plan_make(struct plan *p, const struct plan_request *w, char *err);
void plan_free(struct plan *p);

/*
 * Parse a list of hosts: "local", "netns:NAME", "ssh:HOST", each with an optional "=PORT". ';'
 * separates them; ',' does too where no port is given (ports contain commas). Returns the number of
 * hosts, or -EINVAL with a sentence in err. The caller frees *hosts.
 */
int plan_hosts_parse(const char *text, struct plan_host **hosts, char *err);

/* Print a host for messages: "local", "netns a", "ssh node7". Returns text. */
const char *plan_host_text(const struct plan *p, uint32_t host, char *text, size_t bytes);
/* Print the coordinates of a task, A to E and T: "(0,0,1,0,0,3)". Returns text. */
const char *plan_task_coords(const struct plan *p, uint32_t task, char *text, size_t bytes);

void plan_encode(const struct plan *p, uint32_t host, struct ctl_buf *b);
/* Returns 0, or -EPROTO: not a plan of this version. Free with plan_free() either way. */
int plan_decode(struct plan *p, uint32_t *host, struct ctl_msg *m);

#endif
