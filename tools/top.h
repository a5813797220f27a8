/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of torus top: the counters of a job as tasks, links and wires with rates.
 *
 * 	runs.c (files) -> top_data.c (objects, rates) -> top_text.c (screen) or top_json.c
 */
#ifndef TOOLS_TOP_H
#define TOOLS_TOP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/router.h"
#include "tools/runs.h"

struct top_task {
	uint32_t task, state;
	double waits;      /* share of the time that the first thread waited, 0 to 1 */
	double receives;   /* bytes a second that came in, in whole lines and units */
	uint64_t received; /* the same, so far */
	uint64_t arena_bytes, injected, injecting;
	unsigned what;      /* enum mu_waits: what it waits for; 0: not known */
	uint32_t waits_for; /* the task that must act; UINT32_MAX: not known */
	uint32_t pid;
	uint64_t collectives, collectives_done; /* started without active messages, and over */
	uint64_t comm_events, comm_sleeps;      /* of its commthreads */
	double comm_busy;                       /* share of their passes, 0 to 1 */
	double comm_passes;                     /* so many in a second */
};

struct top_wire {
	uint32_t host, peer;
	bool connected;
	uint64_t tx_frames, rx_frames, tx_bytes, rx_bytes, resent, duplicates, out_of_order, bad;
	uint64_t rtt_ns, window;
	double tx_rate, rx_rate; /* bytes a second */
	double loss;             /* frames that were sent again, of those sent, in this interval */
};

struct top {
	struct runs_job job;
	struct emu_shape shape;
	uint32_t nodes;
	uint64_t at_ns, before_ns;  /* of the values, and of those that rates are relative to */
	uint64_t **before;          /* [hosts][rows] */
	struct top_task *task;      /* [tasks], those of this machine's hosts */
	uint32_t tasks, task_at;    /* task_at: the last one that was looked up */
	struct emu_link_stat *link; /* [nodes * EMU_LINKS] so far */
	struct emu_link_stat *rate; /* the same in a second */
	struct emu_link_stat channels, channel_rates; /* on[]: packets of all links, a second */
	bool has_links;
	struct top_wire *wire;
	uint32_t wires;
	struct {
		uint32_t task;
		char *text;
	} * call; /* [calls] what top_read_calls() found */
	uint32_t calls;
};

enum top_view { TOP_TORUS, TOP_TASKS, TOP_SOFTWARE, TOP_LINKS, TOP_WIRES, TOP_CALLS, TOP_VIEWS };

struct top_screen {
	enum top_view view; /* TOP_VIEWS: all of them, one below the other */
	bool totals;        /* so far, instead of in a second */
	bool packets;       /* links in packets instead of bytes */
	int sort;           /* by this column, 0 the first */
	int node;           /* picked: its links and tasks only; -1: none */
	unsigned columns, lines;
};

/* top_data.c. Open the job as runs_open() does; rates are averages since its start until
 * top_refresh() has seen a newer sample. 0, or a negative errno with why. */
int top_open(struct top *t, const char *which, char *why, size_t why_bytes);
int top_refresh(struct top *t);
void top_close(struct top *t);
/* Find out in which call each task of this machine is. Each stands still for some milliseconds, and
 * must be a process that this user may trace. 0, or a negative errno with why. */
int top_read_calls(struct top *t, char *why, size_t why_bytes);

void top_print(FILE *f, const struct top *t, const struct top_screen *s);
void top_print_json(FILE *f, const struct top *t);

#endif
