/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages in a trace (tools/trace.h): what mu/trace.h recorded on all hosts, by time. A line
 * of the file is an event; Perfetto shows tasks as processes, and arrows along a message's way.
 */
#ifndef TOOLS_MESSAGES_H
#define TOOLS_MESSAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "mu/segment/host.h"
#include "mu/trace.h"
#include "tools/ctl.h"

/* The trace keeps at most so many events of a host: the latest of each ring. */
#define MESSAGES_MAX 500000u

struct message_event {
	struct mu_trace_event e; /* begin and end in ps */
	uint32_t host;
	uint32_t task; /* UINT32_MAX: the agent */
	uint32_t thread;
};

struct messages {
	struct message_event *at; /* by time, after messages_sort() */
	size_t count, room;
	uint64_t lost; /* events that were overwritten, or whose thread had no ring */
};

void messages_free(struct messages *s);
/* Add what was recorded in the segment; ps: of a unit of its times. 0 or -ENOMEM. */
int messages_collect(struct messages *s, struct mu_host *host, uint64_t ps);
/* The same from one side of a control channel to the other (CTL_TRACE). */
void messages_send(const struct messages *s, uint32_t host, struct ctl *c);
int messages_take(struct messages *s, uint32_t host, size_t most, struct ctl_msg *m);
void messages_sort(struct messages *s);
/*
 * Return the sends and receives of messages, *n of them, in the order of `compare`, whose arguments
 * point to elements of the array. The caller frees the array. NULL, and *n is 0: no memory.
 */
const struct message_event **messages_ends(const struct messages *s,
					   int (*compare)(const void *, const void *), size_t *n);
/*
 * Make the clocks of hosts agree: the fastest messages of a pair of hosts in both directions took
 * equally long. `own[host]` says that the host has the clock of torus run. error_ps: by how much
 * the clocks may still differ; UINT64_MAX: some host has no messages both ways, and is left as it
 * is.
 */
void messages_align(struct messages *s, const bool *own, uint32_t hosts, uint64_t *error_ps);
/* Write the lines. Times count from `origin_ps`. */
void messages_write(FILE *f, const struct messages *s, uint64_t origin_ps);
/* Read the events of a trace, by time. 0, -ENOMEM, or -EPROTO: not a whole trace. */
int messages_read(FILE *f, struct messages *s);
/* Measure what an event costs the thread that records it, in ns. */
double messages_cost_ns(void);

#endif
