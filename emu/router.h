/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One router: ten links, local injection, local delivery, credits and counters. A pure state
 * machine; the same code runs live (in memory that a host's tasks share, under a try-lock) and in
 * virtual time (in the simulator), for fabric torus.
 *
 * It reads no clock, never sleeps, allocates nothing, holds no pointers (indices only: the memory
 * is mapped at different addresses in different processes) and does not know who calls it.
 * Packets are indices into a pool that the caller owns; a router never copies a payload.
 *
 *        arrive(link, vc) --> [input queues: 10 links x VC] --+--> send(link, vc)   ops
 *                                                             |      (needs credit, link free)
 *        inject(queue)    --> [injection queues]            --+--> deliver()        ops (may refuse)
 *
 * Collective packets (class routes) and global interrupts: the last part of this file, emu/collective.c.
 *
 * Deadlock freedom: emu/vc.h. Directions: emu/route.h. Source: spec/mu.md 6, 8.
 */
#ifndef EMU_ROUTER_H
#define EMU_ROUTER_H

#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"
#include "emu/hw_class.h"
#include "emu/hw_packet.h"
#include "emu/vc.h"

#define EMU_INJECTIONS      14 /* local injection queues: 0, 1 normal, 2 high priority, 3 local (self), lines: */
#define EMU_INJECTION_LINE  4  /* + link: so that lines on different links do not wait for each other */
#define EMU_INJECTION_SLOTS 16 /* packets in each */
#define EMU_NO_PACKET       UINT32_MAX
/* Collective packets have a queue per class route behind these; route.in of one that was copied on the
 * way down, or combined: no queue. */
#define EMU_INJECTIONS_ALL (EMU_INJECTIONS + 16)
#define EMU_IN_NONE        0xff

/*
 * A packet in the pool; 576 bytes, 64-byte aligned. The router works on the first line only: it
 * reads hdr, writes route, and at injection fills in hdr's hint bits, so that hdr and the VC it
 * comes in on say all that the next router needs.
 */
struct emu_packet {
	_Alignas(64) MUHWI_PacketHeader_t hdr;
	struct {
		uint64_t ready;  /* time from which it may move on (virtual clock: head arrival + hop) */
		uint32_t next;   /* queue link, pool index */
		uint8_t hops;    /* links crossed so far */
		uint8_t vc, in;  /* where it waits: VC and input link (or EMU_LINKS + injection queue) */
		uint8_t flags;   /* the caller's */
		uint32_t source; /* source node, for counters, traces and the hash */
		uint32_t sequence; /* per source node */
	} route;
	uint32_t task;  /* the user's (MU): source task */
	uint32_t bytes; /* payload bytes in use, 0 .. 512: what counts on the link, not hdr's Size */
	unsigned char payload[512];
};

/* Bytes on the wire: header, payload in chunks of 32, trailer of 8 (spec/mu.md 2.1). */
static inline uint32_t emu_packet_wire_bytes(const struct emu_packet *p)
{
	return 32 + ((p->bytes + 31) & ~31u) + 8;
}

/* What a router starts with; NULL where asked for: the defaults. */
struct emu_router_conf {
	/* Packet slots (credits) per input VC, 2 .. 1000; 0: the default of 7 (VC 0: 126 chunks = 7 full
	 * packets). */
	uint16_t slots[EMU_VCS];
	uint8_t coll_slots;     /* of each class route on each link, 1 .. 15; 0: the default of 7 */
	uint8_t test_no_bubble; /* tests only: entering a ring needs one slot; deadlocks */
};

struct emu_router; /* emu/router.c; sized by emu_router_bytes() */

/*
 * What a router calls while it steps. node is the index given to init. now is the time given to step.
 * They must not call the same router; calling others is fine.
 *
 * send     hand the packet to the link; the caller brings it to the neighbour's arrive(), as
 *          arrive(neighbour, opposite link, vc). The router has taken the credit and keeps the
 *          link busy for the packet's time on it. packet's route.in still says where it came from.
 * deliver  to the local MU; 0 = taken, -EAGAIN = no room (stays queued, asked again next step).
 *          Virtual cut-through: its head is here at now, its last byte wire bytes * ps_per_byte later.
 * credit   one slot of (in link, vc) is free again: the caller brings it to the neighbour on that
 *          link, as emu_router_credit(neighbour, opposite link, vc).
 *
 * Only where class routes are set (else NULL is fine):
 * copy     a packet with the same hdr, bytes, task, payload and route (but route.in EMU_IN_NONE), or
 *          EMU_NO_PACKET: none to be had now, asked again next step.
 * drop     the packet was combined into another one: it is the caller's again.
 * gi       bring the three signal bits of a global interrupt to the neighbour's emu_router_gi_arrive
 *          (opposite link); only the latest value counts. `now` is 0 live.
 * gi_status  the node's status of a global interrupt has changed.
 */
struct emu_router_ops {
	void (*send)(void *arg, uint32_t node, unsigned link, unsigned vc, uint32_t packet,
		     uint64_t now);
	int (*deliver)(void *arg, uint32_t node, uint32_t packet, uint64_t now);
	void (*credit)(void *arg, uint32_t node, unsigned link, unsigned vc, uint64_t now);
	uint32_t (*copy)(void *arg, uint32_t node, uint32_t packet);
	void (*drop)(void *arg, uint32_t node, uint32_t packet);
	void (*gi)(void *arg, uint32_t node, unsigned link, unsigned route, unsigned bits, uint64_t now);
	void (*gi_status)(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now);
};

size_t emu_router_bytes(void); /* a multiple of 64 */
/* mem: emu_router_bytes(), 64-byte aligned. ps_per_byte: time on a link in picoseconds; 0 = live. */
void emu_router_init(struct emu_router *r, const struct emu_shape *shape, uint32_t node,
		     const struct emu_router_conf *conf, uint32_t ps_per_byte);

/*
 * Queue a packet for injection: hdr, bytes and route.ready set by the caller. Explicit hints are
 * kept, the others filled in (emu_route_hints). Sets route.source and route.sequence. Returns 0, or
 *   -EAGAIN  the queue is full
 *   -EINVAL  destination outside the shape, hints that cannot be, or not a point-to-point VC
 */
int emu_router_inject(struct emu_router *r, struct emu_packet *pool, unsigned queue, uint32_t packet);
/*
 * A packet came in over a link (route.ready set); best called when it is ready, so that the step after
 * it moves it. The credit protocol guarantees room: -EPROTO if it was broken; -EINVAL for link or vc out
 * of range.
 */
int emu_router_arrive(struct emu_router *r, struct emu_packet *pool, unsigned link, unsigned vc,
		      uint32_t packet);
/* The neighbour over `link` has a slot of vc free again. True if a packet waits for that link: only then
 * can a step after it move anything new. */
int emu_router_credit(struct emu_router *r, unsigned link, unsigned vc);

/*
 * Move everything that can move at time `now`. Returns the next time at which something could move
 * by itself (a link falls free, a packet becomes ready), UINT64_MAX if only an arrival, a credit
 * or room can change anything. Calling it more often than needed is harmless.
 *
 * Order at a link: high priority, system, then the rest; there traffic from other links against
 * injection 15 : 1, each round robin over its queues.
 */
uint64_t emu_router_step(struct emu_router *r, struct emu_packet *pool, uint64_t now,
			 const struct emu_router_ops *ops, void *arg);

/* Fetch what an arrival over `link` and the step after it will touch (a hint, for large tori). */
void emu_router_prefetch(const struct emu_router *r, unsigned link);

/* True if anything is queued. */
int emu_router_busy(const struct emu_router *r);
/* Links (bit l) for which a packet waits: after a live step, for want of a credit. */
unsigned emu_router_wanted(const struct emu_router *r);

/* Of a link as output; queued_max as input. Any thread may read (relaxed, 64 bits at a time). */
struct emu_link_stat {
	uint64_t packets, bytes; /* bytes on the wire: header, payload, 8 of trailer */
	uint64_t stalls;         /* steps in which the link was free and a packet waited for a credit */
	uint64_t queued_max;     /* packets waiting at once */
};
const struct emu_link_stat *emu_router_link_stat(const struct emu_router *r, unsigned link);

/* ---- Class routes ---- */

/*
 * Program class route `route` (0 .. 15; {0, 0}: free it). pass: the node only passes on (no local bit).
 * Returns 0; 1 .. 5: why hardware refuses it (emu/class.h); -EBUSY: packets of that route are in the
 * router; -EINVAL: no such route. Packets then enter through emu_router_inject() (any queue; those of a
 * route stay in order), with the header of a collective: up to the root, combined port by port (local,
 * A-, A+ ... E+) with those of the children, and down again.
 *   inject: -EAGAIN  16 wait already
 *           -EINVAL  no such route or no local bit, an operation that cannot be, a channel not of the class
 * Contributions that disagree in their headers are combined all the same, and flagged.
 */
int emu_router_class_set(struct emu_router *r, unsigned route, const ClassRoute_t *c, int pass);
ClassRoute_t emu_router_class(const struct emu_router *r, unsigned route);
/* EMU_COMBINE_ flags since the last call. */
unsigned emu_router_coll_flags(struct emu_router *r);

/* Global interrupts: the same for their routes. Setting one clears its signals. */
int emu_router_gi_set(struct emu_router *r, unsigned route, const ClassRoute_t *c);
/* As if all members had given these bits long ago: before anything moves, on all routers of the tree,
 * each of which has a local contribution in every branch. */
void emu_router_gi_preset(struct emu_router *r, unsigned route, unsigned bits);
/* The node's own three bits; and bits from a neighbour (ignored if the link is not of the route). */
void emu_router_gi(struct emu_router *r, unsigned route, unsigned bits, uint64_t now,
		   const struct emu_router_ops *ops, void *arg);
void emu_router_gi_arrive(struct emu_router *r, unsigned link, unsigned route, unsigned bits, uint64_t now,
			  const struct emu_router_ops *ops, void *arg);
unsigned emu_router_gi_status(const struct emu_router *r, unsigned route);

#endif
