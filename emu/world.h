/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole torus in virtual time, in one process: a router for each node, links with their times and
 * credits, and the event queue. Repeatable: the same calls give the same event stream and hash.
 *
 * The user (mu/sim/node.c) shares the event queue; kinds from EMU_WORLD_KINDS up belong to it.
 * emu_world_next() handles the kinds below and returns every event. If an event of the user
 * injects, the user calls emu_world_inject(). A router steps once no event of its node and time
 * waits on a port below EMU_WORLD_PORT_STEP (emu_world_settle()).
 *
 *     while (emu_world_next(w, &e))
 *             if (e.kind >= EMU_WORLD_KINDS)
 *                     handle(&e);
 *
 * Times. The head of a packet leaves a router, is in the next one hop_ps later and may continue at
 * once (virtual cut-through), while the link stays busy for the bytes of the packet. The packet is
 * delivered when its last byte has arrived. The neighbour learns of a free slot credit_ps later.
 */
#ifndef EMU_WORLD_H
#define EMU_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/directory.h"
#include "emu/blocked.h"
#include "emu/router.h"
#include "emu/sched.h"
#include "emu/timing.h"

#define EMU_WORLD_KINDS 8
/*
 * Ports 0 .. 9 are links. Events of the user inject on ports below this one and react on ports
 * above.
 */
#define EMU_WORLD_PORT_STEP 2500

struct emu_world;

struct emu_world_ops {
	/*
	 * The last byte of the packet leaves its last router at `when` (>= now). The user owns the
	 * packet now.
	 */
	void (*deliver)(void *arg, uint32_t node, uint32_t packet, uint64_t when);
	/*
	 * Injection queue `queue` of the node, which had refused a packet, has room. The user may
	 * inject.
	 */
	void (*room)(void *arg, uint32_t node, unsigned queue, uint64_t now);
	/* The status of a global interrupt at the node: three bits. NULL if none is set up. */
	void (*gi_status)(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now);
	/*
	 * May the packet be delivered now? If not it stays in its router until emu_world_retry().
	 * NULL: always. On express packets do not wait.
	 */
	bool (*accepts)(void *arg, uint32_t node, uint32_t packet);
};

/* A step of a packet's way, for a trace. The hash covers the same steps. */
enum emu_world_step { EMU_STEP_INJECT, EMU_STEP_SEND, EMU_STEP_DELIVER };

struct emu_world_event {
	enum emu_world_step step;
	uint32_t node;
	/* SEND: link; INJECT: injection queue; DELIVER: 0. */
	unsigned port;
	uint64_t time_ps;
	uint64_t duration_ps; /* SEND: from the first byte to the last; else 0 */
	const struct emu_packet *packet;
};

typedef void (*emu_world_trace_fn)(void *arg, const struct emu_world_event *event);

struct emu_world_conf {
	struct emu_shape shape;
	int express; /* no routers: latency by formula, no contention */
	struct emu_timing timing;
	struct emu_router_conf slots; /* zero: the default of the router */
	uint32_t packets;             /* packets in the pool at most; 0: by the shape */
	const struct emu_world_ops *ops;
	void *arg;
	emu_world_trace_fn trace; /* called for each step; NULL: none */
	void *trace_arg;
	bool cuts; /* emu_world_cut() will be called */
	/* Tables for packets to addresses (emu/directory.h); `nodes` is ignored. Packets that a
	 * table turns do not go around cuts. */
	struct emu_directory_conf directory;
};

/* -EINVAL (shape larger than EMU_SCHED_NODES), -ENOMEM. */
int emu_world_create(const struct emu_world_conf *conf, struct emu_world **w);
void emu_world_destroy(struct emu_world *w);

/*
 * Cut a link in both directions, or take back one cut of it. Packets that are injected from then on
 * go around it; collective packets, lines (deposit) and fabric express do not know of cuts. Returns
 * 0, -ENOMEM, or -EINVAL: there is no such link, or the conf announced no cuts.
 */
int emu_world_cut(struct emu_world *w, uint32_t node, unsigned link, bool cut);
/*
 * Set the faults of a link, from now on: emu_router_link_fault(). Has no effect on fabric express,
 * which has no links.
 */
void emu_world_link_fault(struct emu_world *w, uint32_t node, unsigned link,
			  const struct emu_link_fault *f);

/*
 * Inject an answer of the unit of a node, as the answer to a remote get, which the unit has decided
 * to send at `now`. For packets that were delivered.
 */
void emu_world_answer(struct emu_world *w, uint32_t node, uint32_t packet, uint64_t now);

struct emu_sched *emu_world_sched(struct emu_world *w);
/* Return the directory; NULL if the conf asked for none. */
struct emu_directory *emu_world_directory(struct emu_world *w);
const struct emu_timing *emu_world_timing(const struct emu_world *w);
struct emu_packet *emu_world_pool(struct emu_world *w); /* constant address */

/*
 * Take a packet from the pool (contents undefined; UINT32_MAX if it is exhausted), or return one.
 */
uint32_t emu_world_packet_get(struct emu_world *w);
void emu_world_packet_put(struct emu_world *w, uint32_t packet);

/*
 * Give a packet (hdr, bytes, payload filled in) to injection queue `queue` of `node` at the present
 * time. Returns 0; -EAGAIN: the queue is full and ops->room follows; -EINVAL: the header cannot be
 * routed.
 */
int emu_world_inject(struct emu_world *w, uint32_t node, unsigned queue, uint32_t packet,
		     uint64_t now);

/*
 * Class routes and global interrupts of a node, as in emu/router.h. Collective packets go through
 * emu_world_inject() with queue EMU_INJECTIONS + route, also on express: they follow their tree.
 * -ENOMEM in addition to the results of the router.
 */
int emu_world_class_set(struct emu_world *w, uint32_t node, unsigned route, const ClassRoute_t *c,
			int pass);
/* Do packets of the route wait at the node? Once it is programmed, emu_world_retry(). */
bool emu_world_class_is_busy(struct emu_world *w, uint32_t node, unsigned route);
/* EMU_COMBINE_ bits of a class route since the last call for it. */
unsigned emu_world_coll_flags(struct emu_world *w, uint32_t node, unsigned route);
int emu_world_gi_set(struct emu_world *w, uint32_t node, unsigned route, const ClassRoute_t *c);
void emu_world_gi_preset(struct emu_world *w, uint32_t node, unsigned route, unsigned bits);
int emu_world_gi_program(struct emu_world *w, uint32_t node, unsigned route, const ClassRoute_t *c,
			 uint64_t now);
void emu_world_gi(struct emu_world *w, uint32_t node, unsigned route, unsigned mask, unsigned bits,
		  uint64_t now);

/* The node's MU may have room for packets that it refused: step its router at `now`. */
void emu_world_retry(struct emu_world *w, uint32_t node, uint64_t now);
/* Call emu_router_blocked() for the node's router. */
bool emu_world_blocked(struct emu_world *w, uint32_t node, unsigned queue, struct emu_blocked *out);

/*
 * Take the next event, after stepping the routers that are due before it. Returns 0 at the end, or
 * after an error.
 */
int emu_world_next(struct emu_world *w, struct emu_event *e);
/* Step the router that the last event touched if it is due, so that emu_sched_next() is correct. */
void emu_world_settle(struct emu_world *w);

struct emu_world_stat {
	uint64_t hash; /* hash of (time, node, port, sequence, kind, length, source, destination) */
	uint64_t packets; /* packets injected */
	uint64_t delivered;
	uint64_t packet_hops;
	uint64_t time_ps; /* time of the last event taken */
	uint64_t events;
	uint32_t in_flight; /* pool packets in use */
	uint32_t signals;   /* global interrupts' signals on links */
	uint64_t dropped; /* collective packets that arrived where their route is not programmed */
	int error; /* 0; -ENOMEM: no room for an event, -EPROTO: a router violated its rule */
};
void emu_world_stat(const struct emu_world *w, struct emu_world_stat *stat);
void emu_world_link_stat(const struct emu_world *w, uint32_t node, unsigned link,
			 struct emu_link_stat *stat);
/* As emu_router_link_sum(); fabric express has no links: zero. */
void emu_world_link_sum(const struct emu_world *w, uint32_t node, unsigned link,
			struct emu_link_sum *sum);
/* Mix an event of the user into the hash. */
void emu_world_hash(struct emu_world *w, uint64_t time, uint64_t what, uint64_t value);

#endif
