/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One router: ten links, local injection, local delivery, credits and counters. The router is a
 * pure state machine. The same code runs live (in memory that the tasks of a host share, under a
 * try-lock) and in virtual time (in the simulator), for fabric torus.
 *
 * It reads no clock, never sleeps, allocates nothing and does not know its caller. It holds indices
 * instead of pointers, because processes map the memory at different addresses. Packets are indices
 * into a pool that the caller owns. A router never copies a payload.
 *
 *        arrive(link, vc) --> [input queues: 10 links x VC] --+--> send(link, vc)   ops
 *                                                             |      (needs credit, link free)
 *        inject(queue)    --> [injection queues]            --+--> deliver()        ops
 *                                                                    (may refuse)
 *
 * The last part of this file declares collective packets (class routes) and global interrupts,
 * which emu/collective.c implements.
 *
 * Deadlock freedom: emu/vc.h. Directions: emu/route.h. Source: docs/hardware.md 6, 8.
 */
#ifndef EMU_ROUTER_H
#define EMU_ROUTER_H

#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"
#include "emu/hw_class.h"
#include "emu/hw_packet.h"
#include "emu/route.h"
#include "emu/vc.h"

/*
 * Local injection queues: 0 and 1 normal, 2 high priority, 3 local (to the node itself), and from
 * EMU_INJECTION_LINE one for each link, so that lines on different links do not wait for each
 * other.
 */
#define EMU_INJECTIONS      14
#define EMU_INJECTION_LINE  4
#define EMU_INJECTION_SLOTS 16 /* packets in each queue */
#define EMU_NO_PACKET       UINT32_MAX
/* Collective packets use one more queue per class route, numbered after the others. EMU_IN_NONE is
 * the route.in of a packet that was copied on the way down, or combined: it is in no queue. */
#define EMU_INJECTIONS_ALL (EMU_INJECTIONS + 16)
#define EMU_IN_NONE        0xff

/*
 * A packet in the pool; 576 bytes, 64-byte aligned. The router works on the first cache line only.
 * It reads hdr and writes route. At injection it fills in the hint bits of hdr, so that hdr and the
 * VC on which the packet arrives contain all that the next router needs.
 */
struct emu_packet {
	_Alignas(64) MUHWI_PacketHeader_t hdr;
	struct {
		/* Time from which the packet may move on (virtual clock: arrival of the head plus a
		 * hop). */
		uint64_t ready;
		uint32_t next; /* queue link, pool index */
		uint8_t hops;  /* links crossed so far */
		uint8_t vc,
		    /* Where the packet waits: VC, and input link (or EMU_LINKS + injection queue).
		     */
		    in;
		uint8_t flags;     /* free for the caller */
		uint32_t source;   /* source node, for counters, traces and the hash */
		uint32_t sequence; /* per source node */
	} route;
	/* Source task. The messaging unit sets and reads it; the router does not. */
	uint32_t task;
	/* Payload bytes in use, 0 .. 512. The time on a link follows from this, not from the Size
	 * of hdr. */
	uint32_t bytes;
	unsigned char payload[512];
};

/* Bytes on the wire: header, payload in chunks of 32, trailer of 8 (docs/hardware.md 2.1). */
static inline uint32_t emu_packet_wire_bytes(const struct emu_packet *p)
{
	return 32 + ((p->bytes + 31) & ~31u) + 8;
}

/* Parameters of a router. Functions that take a pointer accept NULL for the defaults. */
struct emu_router_conf {
	/* Packet slots (credits) per input VC, 2 .. 1000; 0: the default of 7 (VC 0: 126 chunks = 7
	 * full packets). */
	uint16_t slots[EMU_VCS];
	/* Slots of each class route on each link, 1 .. 15; 0: the default of 7. */
	uint8_t coll_slots;
	uint8_t injection_slots; /* packets in each injection queue, 1 .. 16; 0: 16 */
	/* Packets from links before one of injection, when both wait; has_share 0: 15. */
	uint8_t has_share, share;
	/* Packets in a million that a link corrupts, and how long the link then takes to send one
	 * again (0 live). The choice follows from seed, node, link and number of the packet. */
	uint32_t link_errors, link_error_ps, seed;
	uint8_t link_sums;          /* sum up the packets at both ends of each link */
	struct emu_routing routing; /* zero: the machine's rules */
	/* Tests only: entering a ring needs one slot instead of two, so the torus can deadlock. */
	uint8_t test_no_bubble;
};

struct emu_router; /* emu/router.c; sized by emu_router_bytes() */

/*
 * The callbacks of a router while it steps. `node` is the index given to emu_router_init(), `now`
 * the time given to emu_router_step(). A callback must not call the same router; it may call
 * others.
 */
struct emu_router_ops {
	/* Hand the packet to the link. The caller passes it to the neighbour, as
	 * emu_router_arrive(neighbour, opposite link, vc). The router has taken the credit and
	 * keeps the link busy for the packet's time on it. route.in still says where the packet
	 * came from. */
	void (*send)(void *arg, uint32_t node, unsigned link, unsigned vc, uint32_t packet,
		     uint64_t now);

	/* Hand the packet to the local MU. 0: taken. -EAGAIN: no room; the packet stays queued and
	 * the next step calls again. With virtual cut-through the head is here at `now`, and the
	 * last byte arrives (wire bytes * ps_per_byte) later. */
	int (*deliver)(void *arg, uint32_t node, uint32_t packet, uint64_t now);

	/* One slot of (input link, vc) is free again. The caller passes this to the neighbour on
	 * that link, as emu_router_credit(neighbour, opposite link, vc). */
	void (*credit)(void *arg, uint32_t node, unsigned link, unsigned vc, uint64_t now);

	/* The router calls the next four only where class routes are set; else they may be NULL.
	 * Return a packet with the same hdr, bytes, task, payload and route (but route.in is
	 * EMU_IN_NONE). EMU_NO_PACKET: none is available now; the next step calls again. */
	uint32_t (*copy)(void *arg, uint32_t node, uint32_t packet);

	/* The router combined the packet into another one. The packet is the caller's again. */
	void (*drop)(void *arg, uint32_t node, uint32_t packet);

	/* Pass the signal bits of a global interrupt (EMU_GI_ALL) to the neighbour, as
	 * emu_router_gi_arrive(neighbour, opposite link). Only the latest value counts. `now` is 0
	 * live. */
	void (*gi)(void *arg, uint32_t node, unsigned link, unsigned route, unsigned bits,
		   uint64_t now);

	/* The node's status of a global interrupt has changed. */
	void (*gi_status)(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now);

	/* The head of a queue is a packet to an address (emu/directory.h; its header has the bit).
	 * The caller may change its destination, hints and channel (hdr and route.vc). Returns the
	 * time that its look-up takes; the router calls again after it. NULL: the router treats
	 * such packets as all others. */
	uint64_t (*address)(void *arg, uint32_t node, uint32_t packet, uint64_t now);
};

size_t emu_router_bytes(void); /* a multiple of 64 */
/* Initialise a router in memory of emu_router_bytes(), 64-byte aligned. ps_per_byte: time of a byte
 * on a link in picoseconds; 0 live. */
void emu_router_init(struct emu_router *r, const struct emu_shape *shape, uint32_t node,
		     const struct emu_router_conf *conf, uint32_t ps_per_byte);

/*
 * The faults of a link out of this node (emu/faults.h). A link delivers each packet once and in
 * order, so what happens to a packet on it costs time: it is sent again after link_error_ps
 * (errors), or crosses the link twice (dups); and counts as an error.
 */
struct emu_link_fault {
	uint32_t errors, dups; /* packets in a million */
	uint32_t ps_per_byte;  /* the least time of a byte */
	uint64_t delay_ps;     /* each packet arrives so much later */
};
void emu_router_link_fault(struct emu_router *r, unsigned link, const struct emu_link_fault *f);
/* Return the time at which the link has sent its last packet. */
uint64_t emu_router_link_free_at(const struct emu_router *r, unsigned link);

/*
 * Queue a packet for injection. The caller sets hdr, bytes and route.ready. Explicit hints are
 * kept; the router fills in the others (emu_route_hints) and sets route.source and route.sequence.
 * Returns 0, or
 *   -EAGAIN  the queue is full
 *   -EINVAL  the destination is outside the shape, the hints contradict each other or the shape, or
 *            the VC is not a point-to-point channel
 */
int emu_router_inject(struct emu_router *r, struct emu_packet *pool, unsigned queue,
		      uint32_t packet);
/*
 * Accept a packet that came in over a link. The caller has set route.ready, and best calls this at
 * that time, so that the next step moves the packet. The credit protocol guarantees room. Returns
 * 0; -EPROTO if the neighbour sent without a credit; -EINVAL for link or vc out of range.
 */
int emu_router_arrive(struct emu_router *r, struct emu_packet *pool, unsigned link, unsigned vc,
		      uint32_t packet);
/* The neighbour over `link` has freed a slot of vc. Returns true if a packet waits for that link:
 * only then can a step now move anything new. */
int emu_router_credit(struct emu_router *r, unsigned link, unsigned vc);

/*
 * Move everything that can move at time `now`. Returns the next time at which something could move
 * by itself (a link falls free, or a packet becomes ready). UINT64_MAX: only an arrival, a credit
 * or room at the MU can change anything. Calling it more often than needed is harmless.
 *
 * Order at a link: high priority first, then system, then the rest. Among the rest, 15 packets from
 * other links pass for one from injection if both wait; each group is served round robin.
 */
uint64_t emu_router_step(struct emu_router *r, struct emu_packet *pool, uint64_t now,
			 const struct emu_router_ops *ops, void *arg);

/* Prefetch the cache lines that an arrival over `link` and the step after it access (a hint, useful
 * for large tori). */
void emu_router_prefetch(const struct emu_router *r, unsigned link);

/* True if anything is queued. */
int emu_router_busy(const struct emu_router *r);
/* Links (bit l: link l) for which a packet waits. After a live step these packets wait for a
 * credit. */
unsigned emu_router_wanted(const struct emu_router *r);

/*
 * What the packets of a link are counted by: the channels of the chip (docs/hardware.md 6.5). Class
 * routes have slots of their own here (emu/vc.h) and count for the channel of their class. A packet
 * to an address that a router has turned (emu/directory.h) travels on the system channel and counts
 * for EMU_ON_REDIRECT alone. A dynamic packet that escapes is deterministic on that link.
 */
enum emu_on {
	EMU_ON_DYNAMIC = EMU_VC_DYNAMIC,
	EMU_ON_DETERMINISTIC = EMU_VC_BUBBLE,
	EMU_ON_HIGH = EMU_VC_HIGH,
	EMU_ON_SYSTEM = EMU_VC_SYSTEM,
	EMU_ON_REDIRECT,
	EMU_ON_CLASS_WORLD, /* class routes of the user's world and of the system */
	EMU_ON_CLASS_SUB,   /* class routes of sub-communicators */
	EMU_ON_COUNT
};

/* "dynamic", "deterministic", "high_priority", "system", "redirect", "collective_world",
 * "collective_sub". */
const char *emu_on_name(unsigned on);

/* Counters of a link. queued_max counts it as input, the others as output. */
struct emu_link_stat {
	uint64_t packets;          /* the sum of on[]; fabric express knows this sum alone */
	uint64_t on[EMU_ON_COUNT]; /* by enum emu_on */
	uint64_t bytes;            /* on the wire: header, payload, 8 of trailer */
	/* Steps in which the link was free and a packet waited for a credit. */
	uint64_t stalls;
	uint32_t errors;     /* packets that the link had to send again */
	uint32_t queued_max; /* most packets that waited at once */
};
/* Any thread may call it. Each counter is read once, relaxed. */
void emu_router_link_stat(const struct emu_router *r, unsigned link, struct emu_link_stat *stat);

/*
 * Checksums of a link, where the conf asks for them: of the packets that this router sent over it
 * and of those that came in over it. A packet counts once, however often the link repeated it. The
 * neighbour's sum of what came equals ours of what was sent if nothing changed on the way.
 */
struct emu_link_end {
	uint64_t packets, sum;
};
struct emu_link_sum {
	struct emu_link_end sent, received;
};
const struct emu_link_sum *emu_router_link_sum(const struct emu_router *r, unsigned link);

/* ---- Class routes ---- */

/*
 * Program class route `route` (0 .. 15). c = {0, 0} frees it. pass: the node only forwards and does
 * not contribute (no local bit). Returns 0; 1 .. 5, the reason why hardware refuses the route
 * (emu/class.h); -EBUSY while packets of that route are in the router; -EINVAL: no such route.
 *
 * Packets then enter through emu_router_inject() with the header of a collective, in any queue;
 * those of one route stay in order. They go up to the root, where each router combines them port by
 * port (local, A-, A+ ... E+) with those of the children, and down again. Contributions whose
 * headers disagree are combined all the same, and flagged. emu_router_inject() returns for them
 *   -EAGAIN  16 packets wait already
 *   -EINVAL  no such route, no local bit, an undefined operation, or a channel not of the class
 */
int emu_router_class_set(struct emu_router *r, unsigned route, const ClassRoute_t *c, int pass);
ClassRoute_t emu_router_class(const struct emu_router *r, unsigned route);
/* EMU_COMBINE_ flags of the packets of a class route combined so far; the call clears those in
 * `clear`. */
unsigned emu_router_coll_flags(struct emu_router *r, unsigned route, unsigned clear);
/* Do packets of this class route wait here? */
bool emu_router_class_is_busy(const struct emu_router *r, unsigned route);

/*
 * Signals of global interrupts. The chip has three bits a route. Here the system (the libraries)
 * and programs that use the registers have three each, since both use route 0; a route carries
 * either side's bits without a look at the other's.
 */
enum emu_gi_user { EMU_GI_SYSTEM, EMU_GI_PROGRAM, EMU_GI_USERS };
#define EMU_GI_BITS 3u
#define EMU_GI_ALL  63u
static inline unsigned emu_gi_pack(enum emu_gi_user user, unsigned bits)
{
	return (bits & 7) << (EMU_GI_BITS * user);
}
static inline unsigned emu_gi_unpack(enum emu_gi_user user, unsigned all)
{
	return all >> (EMU_GI_BITS * user) & 7;
}

/* Program a route of global interrupts; as emu_router_class_set(). Setting one clears its signals.
 */
int emu_router_gi_set(struct emu_router *r, unsigned route, const ClassRoute_t *c);
/* Set the signals as if all members had given these bits long ago. Call it on all routers of the
 * tree before anything moves. Each branch of the tree must have a local contribution. */
void emu_router_gi_preset(struct emu_router *r, unsigned route, unsigned bits);
/*
 * The same for a route whose nodes are programmed at any time, in any order: signals that came over
 * a link before count, and freeing a route takes back what this node has signalled. The bits that
 * the node itself gives stay.
 */
int emu_router_gi_program(struct emu_router *r, unsigned route, const ClassRoute_t *c, uint64_t now,
			  const struct emu_router_ops *ops, void *arg);
/* Set the bits `mask` of the node itself; accept the bits of a neighbour. The router ignores a link
 * that is not in the route. */
void emu_router_gi(struct emu_router *r, unsigned route, unsigned mask, unsigned bits, uint64_t now,
		   const struct emu_router_ops *ops, void *arg);
void emu_router_gi_arrive(struct emu_router *r, unsigned link, unsigned route, unsigned bits,
			  uint64_t now, const struct emu_router_ops *ops, void *arg);
unsigned emu_router_gi_status(const struct emu_router *r, unsigned route);

#endif
