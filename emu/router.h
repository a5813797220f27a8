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
 *        inject(fifo)     --> [injection queues]            --+--> deliver()        ops (may refuse)
 *
 * Deadlock freedom: dimension order on VC 1 with the bubble rule (going on in a ring needs one
 * free slot at the next node, entering a ring needs two); high priority (VC 2) alike; dynamic
 * packets (VC 0) may escape to VC 1. spec/mu.md 6.
 */
#ifndef EMU_ROUTER_H
#define EMU_ROUTER_H

#include <stdint.h>

#include "emu/coord.h"
#include "emu/hw_packet.h"

#define EMU_VCS        4 /* 0 dynamic, 1 deterministic (bubble), 2 high priority, 3 system */
#define EMU_INJECTIONS 4 /* local injection queues: 0, 1 normal, 2 high priority, 3 local (self) */

/* A packet in the pool; 576 bytes, 64-byte aligned. The router reads hdr and writes route only. */
struct emu_packet {
	_Alignas(64) MUHWI_PacketHeader_t hdr;
	struct {
		uint64_t ready;     /* time from which it may move on (virtual clock: head arrival + hop) */
		uint32_t next;      /* queue link, pool index */
		uint8_t hops;       /* links crossed so far */
		uint8_t vc, in;     /* where it waits: VC and input link (or injection) */
		uint8_t flags;
		uint32_t source;    /* source node, for counters, traces and the hash */
		uint32_t sequence;  /* per source node */
	} route;
	uint32_t task;  /* the user's (MU): source task */
	uint32_t bytes; /* payload bytes in use, 0 .. 512 */
	unsigned char payload[512];
};

/* Credits a router starts with, per input VC: packet slots. Bubble VCs need at least 2. */
struct emu_router_conf {
	uint16_t slots[EMU_VCS]; /* default 7 each (VC 0: 126 chunks = 7 full packets) */
};

struct emu_router; /* emu/router.c; sized by emu_router_bytes() */

/*
 * What a router calls while it steps. node is the index given to init. now is the time given to step.
 *
 * send     hand the packet to the link; the caller brings it to the neighbour's arrive(). The
 *          router has taken the credit and keeps the link busy for the packet's time on it.
 * deliver  to the local MU; 0 = taken, -EAGAIN = no room (stays queued, asked again next step).
 * credit   one slot of (in link, vc) is free again: the caller brings it to the neighbour on that
 *          link, as emu_router_credit(neighbour, opposite link, vc).
 */
struct emu_router_ops {
	void (*send)(void *arg, uint32_t node, unsigned link, unsigned vc, uint32_t packet, uint64_t now);
	int (*deliver)(void *arg, uint32_t node, uint32_t packet, uint64_t now);
	void (*credit)(void *arg, uint32_t node, unsigned link, unsigned vc, uint64_t now);
};

size_t emu_router_bytes(void);
/* mem: emu_router_bytes(), 64-byte aligned. Times (wire time per byte) in picoseconds; 0 = live. */
void emu_router_init(struct emu_router *r, const struct emu_shape *shape, uint32_t node,
                     const struct emu_router_conf *conf, uint32_t ps_per_byte);

/* Queue a packet for injection (route.ready set by the caller); 0 or -EAGAIN (queue of 16 is full). */
int emu_router_inject(struct emu_router *r, struct emu_packet *pool, unsigned queue, uint32_t packet);
/* A packet came in over a link; the credit protocol guarantees room. -EPROTO if it does not. */
int emu_router_arrive(struct emu_router *r, struct emu_packet *pool, unsigned link, unsigned vc,
                      uint32_t packet);
void emu_router_credit(struct emu_router *r, unsigned link, unsigned vc);

/*
 * Move everything that can move at time `now`. Returns the next time at which something could move
 * by itself (a link falls free, a packet becomes ready), UINT64_MAX if only an arrival, a credit
 * or room can change anything.
 */
uint64_t emu_router_step(struct emu_router *r, struct emu_packet *pool, uint64_t now,
                         const struct emu_router_ops *ops, void *arg);

/* True if anything is queued. */
int emu_router_busy(const struct emu_router *r);

struct emu_link_stat {
	uint64_t packets, bytes; /* bytes on the wire: header, payload, 8 of trailer */
	uint64_t stalls;         /* steps in which a packet waited for a credit */
	uint32_t queued_max;
};
const struct emu_link_stat *emu_router_link_stat(const struct emu_router *r, unsigned link);

#endif
