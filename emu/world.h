/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole torus in virtual time, in one process: a router per node, links with their times and
 * credits, the event queue. Repeatable: same calls, same event stream, same hash.
 *
 * The user (mu/node_sim.c) shares the event queue: kinds from EMU_WORLD_KINDS up are its own. It
 * takes events one at a time and hands those below to emu_world_event(). An event of the user that
 * injects calls emu_world_inject(); routers move when no more event of that node and time waits
 * on a port below EMU_WORLD_PORT_STEP (emu_world_settle()).
 *
 *     while (emu_world_next(w, &e))
 *             if (e.kind >= EMU_WORLD_KINDS)
 *                     own(&e);
 *
 * Times. A packet's head leaves a router, is in the next one hop_ps later and may go on at once
 * (virtual cut-through), while its link stays busy for the packet's bytes. It is delivered when
 * its last byte is there. A freed slot is known to the neighbour credit_ps later.
 */
#ifndef EMU_WORLD_H
#define EMU_WORLD_H

#include <stdint.h>

#include "emu/router.h"
#include "emu/sched.h"
#include "emu/timing.h"

#define EMU_WORLD_KINDS     8
#define EMU_WORLD_PORT_STEP 2500 /* 0 .. 9 are links; the user's below inject, those above react */

struct emu_world;

struct emu_world_ops {
	/* The packet's last byte is out of its last router at `when` (>= now). The user owns it now. */
	void (*deliver)(void *arg, uint32_t node, uint32_t packet, uint64_t when);
	/* Injection queue `queue` of the node, which had refused, has room. May inject. */
	void (*room)(void *arg, uint32_t node, unsigned queue, uint64_t now);
	/* The status of a global interrupt at the node: three bits. NULL where none is set up. */
	void (*gi_status)(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now);
};

struct emu_world_conf {
	struct emu_shape shape;
	int express;                 /* no routers: latency by formula, no contention */
	struct emu_timing timing;
	struct emu_router_conf slots; /* zero: the router's default */
	uint32_t packets;            /* bound of the pool; 0: by the shape */
	const struct emu_world_ops *ops;
	void *arg;
};

/* -EINVAL (shape larger than EMU_SCHED_NODES), -ENOMEM. */
int emu_world_create(const struct emu_world_conf *conf, struct emu_world **w);
void emu_world_destroy(struct emu_world *w);

struct emu_sched *emu_world_sched(struct emu_world *w);
const struct emu_timing *emu_world_timing(const struct emu_world *w);
struct emu_packet *emu_world_pool(struct emu_world *w); /* constant address */

/* A packet from the pool (contents undefined), UINT32_MAX when it is exhausted; and back. */
uint32_t emu_world_packet_get(struct emu_world *w);
void emu_world_packet_put(struct emu_world *w, uint32_t packet);

/*
 * Give a packet (hdr, bytes, payload filled) to injection queue `queue` of `node` at the present
 * time. 0; -EAGAIN: the queue is full, ops->room follows; -EINVAL: a header that cannot be routed.
 */
int emu_world_inject(struct emu_world *w, uint32_t node, unsigned queue, uint32_t packet, uint64_t now);

/*
 * Class routes and global interrupts of a node, as emu/router.h. Collective packets go through
 * emu_world_inject() with queue EMU_INJECTIONS + route, on express too: they walk their tree.
 * -ENOMEM besides the router's results.
 */
int emu_world_class_set(struct emu_world *w, uint32_t node, unsigned route, const ClassRoute_t *c, int pass);
int emu_world_gi_set(struct emu_world *w, uint32_t node, unsigned route, const ClassRoute_t *c);
void emu_world_gi_preset(struct emu_world *w, uint32_t node, unsigned route, unsigned bits);
void emu_world_gi(struct emu_world *w, uint32_t node, unsigned route, unsigned bits, uint64_t now);

/* Take the next event, stepping routers that are due before it. 0: nothing is left, or an error. */
int emu_world_next(struct emu_world *w, struct emu_event *e);
/* Step the router that the last event touched if it is due, so that emu_sched_next() is true. */
void emu_world_settle(struct emu_world *w);

struct emu_world_stat {
	uint64_t hash;        /* of (time, node, port, sequence, kind, length, source, destination) */
	uint64_t packets;     /* injected */
	uint64_t delivered;
	uint64_t packet_hops;
	uint64_t time_ps;     /* of the last event taken */
	uint64_t events;
	uint32_t in_flight;   /* pool packets in use */
	uint64_t dropped;     /* collective packets that came where their route is not */
	int error;            /* 0; -ENOMEM: no room for an event, -EPROTO: a router broke its rule */
};
void emu_world_stat(const struct emu_world *w, struct emu_world_stat *stat);
void emu_world_link_stat(const struct emu_world *w, uint32_t node, unsigned link,
                         struct emu_link_stat *stat);
/* Mix one more event of the user's into the hash. */
void emu_world_hash(struct emu_world *w, uint64_t time, uint64_t what, uint64_t value);

#endif
