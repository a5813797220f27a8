/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a job: everything `torus run` decides before anything is started. Made from the
 * command line, sent whole to each agent, constant from then on.
 *
 * Hosts carry contiguous blocks of nodes (emu/part.h); a task lies where its node lies.
 */
#ifndef TOOLS_PLAN_H
#define TOOLS_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"
#include "mu/host.h"
#include "tools/ctl.h"

#define PLAN_TASKS_MAX 65536u
#define PLAN_ERR_BYTES 512

enum plan_host_kind { PLAN_HOST_LOCAL, PLAN_HOST_NETNS, PLAN_HOST_SSH };

enum plan_report { PLAN_REPORT_NONE, PLAN_REPORT_TEXT, PLAN_REPORT_JSON };

struct plan_host {
	enum plan_host_kind kind;
	char name[128]; /* "" for local */
	char port[256]; /* driver port, "" if none is needed, or if the agent is to choose */
};

struct plan {
	uint32_t tasks, hosts;
	struct plan_host *host; /* [hosts] */
	struct emu_shape shape;
	enum mu_clock clock;
	enum mu_fabric fabric;
	enum mu_on_death on_death;
	uint64_t job, seed;
	enum drv_seal_kind seal;  /* of frames between hosts */
	unsigned char key[DRV_SEAL_KEY_BYTES];
	struct emu_coord *coords; /* [tasks] */
	uint16_t *task_host;      /* [tasks] */
	char mapping[256];        /* permutation or map file, as given */
	char script[256];         /* virtual clock: deaths, "kill=TASK@MICROSECONDS,...", or "" */
	char *hw;                 /* virtual clock: hardware times, "name=value,...", or NULL */
	int bind;                 /* hosts of this machine share its processors out; not sent to agents */
	int tag;                  /* output goes through torus run, line by line, with the task's number */
	int report;               /* enum plan_report */
	char *directory;
	char **argv;              /* the program, NULL-terminated */
	uint32_t argc;
	int owned;                /* argv, hw, directory are ours to free (decoded) */
};

/* What the user said; 0, NULL and "" mean "not said". */
struct plan_wish {
	uint32_t tasks;
	const char *shape, *mapping, *hosts, *fault;
	int fabric, clock; /* -1: not said */
	int seal;          /* enum drv_seal_kind, -1: not said */
	int bind;
	enum mu_on_death on_death;
};

/*
 * Fill tasks, hosts, shape, fabric, clock, coords, task_host from the wish. Returns 0, or -EINVAL
 * with one sentence in err: what is wrong and how it is right.
 */
int plan_make(struct plan *p, const struct plan_wish *w, char *err);
void plan_free(struct plan *p);

/*
 * "local", "netns:NAME", "ssh:HOST", each with "=PORT" behind it if wanted. Separated by ';', or
 * by ',' where no port is given (ports have commas of their own). Returns the number of hosts, or
 * -EINVAL with a sentence in err. *hosts is the caller's to free.
 */
int plan_hosts_parse(const char *text, struct plan_host **hosts, char *err);

/* "local", "netns a", "ssh node7": for messages. Returns text. */
const char *plan_host_text(const struct plan *p, uint32_t host, char *text, size_t bytes);
/* "(0,0,1,0,0,3)": A to E and T. Returns text. */
const char *plan_task_coords(const struct plan *p, uint32_t task, char *text, size_t bytes);

void plan_encode(const struct plan *p, uint32_t host, struct ctl_buf *b);
/* 0 or -EPROTO: not a plan of this version. Free with plan_free() either way. */
int plan_decode(struct plan *p, uint32_t *host, struct ctl_msg *m);

#endif
