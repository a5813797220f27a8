/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of a job that --html keeps while it runs: amounts over time, and how long packets
 * took.
 *
 * A history is a table of frames (equal intervals since the start) and columns (a link, a task, a
 * wire). An amount is added to the frame of its time. When the time is past the last frame, pairs
 * of frames are merged and the interval doubles, so memory is bounded, every amount is counted
 * once, and a run of any length has between HISTORY_FRAMES / 2 and HISTORY_FRAMES frames.
 *
 * Each agent keeps a history and sends it at the end (CTL_HISTORY); torus run adds them up.
 */
#ifndef TOOLS_HISTORY_H
#define TOOLS_HISTORY_H

#include <stdint.h>

#include "emu/coord.h"
#include "tools/ctl.h"
#include "tools/plan.h"

#define HISTORY_FRAMES  64
#define HISTORY_HOPS    64  /* times are kept by distance; longer ways count as the longest */
#define HISTORY_BUCKETS 816 /* of times: 16 for each power of two, below 2^54 ps */

struct history {
	uint64_t interval; /* of a frame: ps of the virtual clock, else ns */
	uint32_t columns, frames;
	uint64_t *frame[HISTORY_FRAMES]; /* [columns]; NULL: nothing */
	uint64_t *took[HISTORY_HOPS];    /* [HISTORY_BUCKETS] packets; NULL: none */
};

/* The columns of a job: links, then tasks, then wires. */
enum history_task_column { HISTORY_TASK_WAITED_NS, HISTORY_TASK_COLUMNS };
enum history_wire_column {
	HISTORY_WIRE_BYTES,
	HISTORY_WIRE_RESENT,
	HISTORY_WIRE_RTT_NS, /* sum of the samples of the round trip */
	HISTORY_WIRE_SAMPLES,
	HISTORY_WIRE_COLUMNS
};

static inline uint32_t history_task(const struct plan *p, uint32_t task)
{
	return emu_shape_nodes(&p->shape) * EMU_LINKS + task * HISTORY_TASK_COLUMNS;
}
static inline uint32_t history_wire(const struct plan *p, uint32_t host, uint32_t peer)
{
	return history_task(p, p->tasks) + (host * p->hosts + peer) * HISTORY_WIRE_COLUMNS;
}

/* Create a history, or return NULL if there is no memory. The interval of frames starts at 1 us of
 * virtual time, or at 50 ms. */
struct history *history_new(const struct plan *p);
void history_free(struct history *h); /* NULL is fine */

/* Add an amount at a time since the start. Without memory for a frame its amounts are lost. */
void history_add(struct history *h, uint64_t time, uint32_t column, uint64_t amount);
/* Count a packet that took this long over so many links. */
void history_took(struct history *h, unsigned hops, uint64_t ps, uint64_t packets);
/* The bucket of a time, and the shortest time of a bucket. */
unsigned history_bucket(uint64_t ps);
uint64_t history_bucket_ps(unsigned bucket);

void history_send(const struct history *h, struct ctl *c);
void history_take(struct history *h, struct ctl_msg *m);

#endif
