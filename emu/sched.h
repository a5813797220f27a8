/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event queue of virtual time. Events leave in the order (time, node, port, sequence), so that
 * a run is the same run every time; sequence is the order of pushing.
 *
 * A 4-ary heap of 24-byte events in one array: allocates only when it grows, never in steady
 * state. One thread. Guarded by bench/sim_rate.c.
 */
#ifndef EMU_SCHED_H
#define EMU_SCHED_H

#include <stdint.h>

#define EMU_SCHED_NODES (1u << 18)
#define EMU_SCHED_PORTS (1u << 12)
#define EMU_SCHED_SEQUENCE_BITS 34 /* wraps: breaks ties of one (time, node, port) only */

struct emu_event {
	uint64_t time;  /* ps */
	uint64_t order; /* node, port, sequence, most significant first */
	uint32_t arg;   /* the user's, as are the next two */
	uint16_t mark;
	uint8_t kind;
	uint8_t extra;
};

struct emu_sched {
	struct emu_event *heap;
	uint32_t count, room;
	uint64_t sequence; /* events pushed so far */
	uint64_t taken;
};

static inline uint32_t emu_event_node(const struct emu_event *e) { return (uint32_t)(e->order >> 46); }
static inline uint32_t emu_event_port(const struct emu_event *e) { return e->order >> 34 & 0xfff; }

/* room: events to start with (it grows by doubling). 0 or -ENOMEM. */
int emu_sched_init(struct emu_sched *s, uint32_t room);
void emu_sched_fini(struct emu_sched *s);

/* node < EMU_SCHED_NODES, port < EMU_SCHED_PORTS. 0 or -ENOMEM (nothing changed). */
int emu_sched_push(struct emu_sched *s, uint64_t time, uint32_t node, uint32_t port, uint8_t kind,
                   uint32_t arg, uint16_t mark);

/* Take the first event; 0 if there is none. */
int emu_sched_pop(struct emu_sched *s, struct emu_event *e);

/* The first event, or NULL; valid until the next push or pop. */
static inline const struct emu_event *emu_sched_peek(const struct emu_sched *s)
{
	return s->count ? s->heap : 0;
}

/* Time of the first event, UINT64_MAX if there is none. */
static inline uint64_t emu_sched_next(const struct emu_sched *s)
{
	return s->count ? s->heap[0].time : UINT64_MAX;
}

#endif
