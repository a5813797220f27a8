/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event queue of virtual time. Events leave in the order (time, node, port, sequence), so that
 * every run is the same; the sequence is the order of pushing.
 *
 * A 4-ary heap of 24-byte events in one array. It allocates only when it grows, never in the steady
 * state. One thread. Hot: bench/micro/sim_rate.c.
 */
#ifndef EMU_SCHED_H
#define EMU_SCHED_H

#include <stdint.h>

#define EMU_SCHED_NODES         (1u << 18)
#define EMU_SCHED_PORTS         (1u << 12)
#define EMU_SCHED_SEQUENCE_BITS 34 /* it wraps; it only orders events of one (time, node, port) */

struct emu_event {
	uint64_t time;  /* ps */
	uint64_t order; /* node, port, sequence, most significant first */
	uint32_t arg;   /* for the user, as the next two */
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

static inline uint32_t emu_event_node(const struct emu_event *e)
{
	return (uint32_t)(e->order >> 46);
}
static inline uint32_t emu_event_port(const struct emu_event *e)
{
	return e->order >> 34 & 0xfff;
}

/* room: events to start with; the queue grows by doubling. Returns 0 or -ENOMEM. */
int emu_sched_init(struct emu_sched *s, uint32_t room);
void emu_sched_fini(struct emu_sched *s);

/*
 * Push an event. node < EMU_SCHED_NODES, port < EMU_SCHED_PORTS. Returns 0, or -ENOMEM without a
 * change.
 */
int emu_sched_push(struct emu_sched *s, uint64_t time, uint32_t node, uint32_t port, uint8_t kind,
		   uint32_t arg, uint16_t mark);

/* Take the first event. Returns 0 if there is none. */
int emu_sched_pop(struct emu_sched *s, struct emu_event *e);

/* Return the first event, or NULL. It is valid until the next push or pop. */
static inline const struct emu_event *emu_sched_peek(const struct emu_sched *s)
{
	return s->count ? s->heap : 0;
}

/* Return the time of the first event, or UINT64_MAX if there is none. */
static inline uint64_t emu_sched_next(const struct emu_sched *s)
{
	return s->count ? s->heap[0].time : UINT64_MAX;
}

#endif
