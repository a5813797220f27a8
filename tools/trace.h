/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace: a file with each step of each packet of a run in virtual time. It is JSON in the trace
 * event format, which Perfetto and chrome://tracing open: a process for each node, a track for each
 * link, and arrows from step to step of a packet. Each step is one line, which trace_read() reads
 * back. Steps are in the order in which the simulator decided them, which is the same in every run.
 */
#ifndef TOOLS_TRACE_H
#define TOOLS_TRACE_H

#include <stdint.h>
#include <stdio.h>

#include "emu/world.h"

struct trace; /* being written */

/* 0 or a negative errno. shape NULL: there will be no steps, only messages. */
int trace_create(const char *path, const struct emu_shape *shape, struct trace **trace);
/* Append messages; their times count from origin_ps. */
struct messages;
void trace_messages(struct trace *trace, const struct messages *messages, uint64_t origin_ps);
/* Append a step; arg is the trace. */
void trace_write(void *arg, const struct emu_world_event *event);
/* Returns 0, or a negative errno if a write failed. NULL is fine. */
int trace_close(struct trace *trace);

struct trace_step {
	enum emu_world_step step;
	uint32_t node, port;
	uint64_t time_ps, duration_ps;
	uint32_t source, sequence; /* of the packet: its node, its number there */
	uint32_t bytes;            /* of payload */
	char to[32];               /* destination, "(0,0,1,0,0)" */
};

/* Read the next step. 1; 0: the end; -EPROTO: the file is no trace, or is cut short. */
int trace_read(FILE *f, struct trace_step *step);
/* "3.250 us  node 4 sends packet 2 of node 0 (512 bytes to (0,0,1,0,0)) over B+"; returns text. */
const char *trace_text(const struct trace_step *step, char *text, size_t bytes);

#endif
