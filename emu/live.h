/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fabric torus in real time: the routers of one host's nodes in memory that its processes share.
 * Whoever polls steps them, one process a router at a time, under a try-lock.
 *
 *   task: alloc, fill, inject --> [inbox] --> router --+--> [inbox] of a neighbour on this host
 *   wire: arrive_remote ------------^                  +--> send_remote()   to another host   ops
 *                                                      +--> deliver()       to the local MU   ops
 *
 * An inbox is one word: a list that anybody pushes to and the holder of the router's lock takes whole.
 * Credits come back through one word a link. Packets are indices into a pool here; it is as
 * large as all credits and injection slots together, so nothing that was accepted ever waits for memory.
 * A bit per router says "look at me" (active); nothing is lost between a look and an unlock.
 *
 * All functions may be called by any thread of any process at any time, except where said. None
 * waits: a process that dies with a lock held stops that router (its job ends), not its pollers. Where
 * deaths are to be survived one process alone polls and programs class routes; the others only give
 * packets (alloc, inject, cancel) and signals, which a death in between leaves whole: emu_live_reclaim().
 */
#ifndef EMU_LIVE_H
#define EMU_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"
#include "emu/router.h"

#define EMU_LIVE_NONE UINT32_MAX

/* Bytes for `local_nodes` routers of the shape, their pool and tables; sparse: most is never touched. */
size_t emu_live_bytes(const struct emu_shape *shape, uint32_t local_nodes,
		      const struct emu_router_conf *conf);

/*
 * Once, before anybody opens it: mem is zeroed, 64-byte aligned, of emu_live_bytes(). nodes[local_nodes]
 * are the node indices on this host; local node i is nodes[i]. conf NULL: defaults. Returns 0, or
 * -EINVAL (a node outside the shape or twice, mem too small; logged).
 */
int emu_live_init(void *mem, size_t bytes, const struct emu_shape *shape, const uint32_t *nodes,
		  uint32_t local_nodes, const struct emu_router_conf *conf);

/* What a handle's polls call, with the lock of local_node's router held: alloc and inject are
 * allowed inside, poll is not useful there. */
struct emu_live_ops {
	/* 0: taken, the packet is free when it returns. -EAGAIN: no room; asked again at the router's
	 * next step, at the latest after emu_live_kick(local_node). Else: the packet is dropped and
	 * counted (emu_live_bad). */
	int (*deliver)(void *arg, uint32_t local_node, struct emu_packet *packet);
	/*
	 * A packet for the host that owns the neighbour over `link`, which calls
	 * emu_live_arrive_remote() for that node with the opposite link. 0: copied. -EAGAIN: it stays in
	 * its place; kick when there is room. NULL where all nodes are local.
	 */
	int (*send_remote)(void *arg, uint32_t local_node, unsigned link, unsigned vc,
			   const struct emu_packet *packet);
	/* Credits for that neighbour (16 bits a VC, VC 0 lowest): its host calls
	 * emu_live_credit_remote() with the opposite link. 0, or -EAGAIN: kept, and added to, until the
	 * next step or kick. */
	int (*credit_remote)(void *arg, uint32_t local_node, unsigned link, uint64_t credits);
	/* An injection queue of local_node that said -EAGAIN has room again. May be NULL. */
	void (*room)(void *arg, uint32_t local_node);
	/* Credits of class routes (4 bits each, route 0 lowest) and the bits of a global interrupt for that
	 * neighbour, whose host calls emu_live_coll_credit_remote(), emu_live_gi_remote(). As credit_remote. */
	int (*coll_credit_remote)(void *arg, uint32_t local_node, unsigned link, uint64_t credits);
	int (*gi_remote)(void *arg, uint32_t local_node, unsigned link, unsigned route, unsigned bits);
	/* The status of a global interrupt at local_node. May be NULL. */
	void (*gi_status)(void *arg, uint32_t local_node, unsigned route, unsigned bits);
};

struct emu_live; /* one per process (or thread): where it mapped mem, and its ops */

/* NULL: mem was not initialised, or no memory (logged). ops and arg are copied. */
struct emu_live *emu_live_open(void *mem, const struct emu_live_ops *ops, void *arg);
void emu_live_close(struct emu_live *live); /* NULL is fine */

uint32_t emu_live_local(const struct emu_live *live, uint32_t node); /* EMU_LIVE_NONE: not here */
uint32_t emu_live_node(const struct emu_live *live, uint32_t local_node);
uint32_t emu_live_local_nodes(const struct emu_live *live);
const struct emu_shape *emu_live_shape(const struct emu_live *live);

/*
 * A packet with a place in injection queue `queue` of the node; its first line (hdr, route) is zeroed.
 * -EAGAIN: 16 are in that queue already (poll; ops->room tells). Give it to emu_live_inject() or
 * emu_live_cancel(). Which queue: emu/router.h; the same for both.
 */
int emu_live_alloc(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t *packet);
struct emu_packet *emu_live_packet(struct emu_live *live, uint32_t packet);
/* hdr, bytes, payload and task are set. In order per (calling thread, node, queue). 0, or -EINVAL:
 * destination, hints or VC that cannot be (emu_router_inject); the packet is gone in both cases. Then
 * poll. */
int emu_live_inject(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t packet);
void emu_live_cancel(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t packet);
/* The number under which this handle takes places from now on (0 at first). */
void emu_live_owner(struct emu_live *live, uint32_t owner);
/* The process with that number has died: what it had taken of the node's injection places and not handed
 * over is free again. Only by the one process that polls. */
void emu_live_reclaim(struct emu_live *live, uint32_t local_node, uint32_t owner);

/*
 * Step routers that have something to do until none has (or another process holds those that do), at
 * most about `budget` router steps. Returns steps made; 0 = nothing to do. Idle cost: one load per 64
 * nodes.
 */
int emu_live_poll(struct emu_live *live, int budget);
/* True if some router waits to be stepped: do not sleep. */
int emu_live_busy(const struct emu_live *live);
/* The node's MU, or its way to other hosts, has room again. */
void emu_live_kick(struct emu_live *live, uint32_t local_node);

/* What travels beside header and payload when a packet goes to another host. */
struct emu_live_tag {
	uint32_t task, source, sequence;
	uint16_t bytes;
	uint8_t hops;
	uint8_t vc;
};

static inline void emu_live_tag_of(const struct emu_packet *p, unsigned vc, struct emu_live_tag *tag)
{
	*tag = (struct emu_live_tag){
	    p->task, p->route.source, p->route.sequence, (uint16_t)p->bytes, p->route.hops, (uint8_t)vc};
}

/*
 * A packet from another host for local_node over its link `link`; one caller at a time per link, in
 * order. payload: tag->bytes. -EPROTO: no such remote link, a header that cannot be, or more than was
 * credited (refused and counted in emu_live_bad()).
 */
int emu_live_arrive_remote(struct emu_live *live, uint32_t local_node, unsigned link,
			   const struct emu_live_tag *tag, const MUHWI_PacketHeader_t *hdr,
			   const void *payload);
/* Credits (16 bits a VC) from the host at the other end of local_node's link. -EPROTO as above. */
int emu_live_credit_remote(struct emu_live *live, uint32_t local_node, unsigned link, uint64_t credits);

/* As emu_live_credit_remote(), of class routes: 4 bits each. */
int emu_live_coll_credit_remote(struct emu_live *live, uint32_t local_node, unsigned link, uint64_t credits);
int emu_live_gi_remote(struct emu_live *live, uint32_t local_node, unsigned link, unsigned route, unsigned bits);
/* The host at the other end of that link is gone: whatever send_remote() takes from now on was lost, and the link
 * never lacks credits. Only by the one process that polls. */
void emu_live_link_lost(struct emu_live *live, uint32_t local_node, unsigned link);

/*
 * Class routes, as emu/router.h. Collective packets: alloc and inject with queue EMU_INJECTIONS + route.
 * The two that program also say -EAGAIN: the router is being stepped by another process, ask again.
 */
int emu_live_class_set(struct emu_live *live, uint32_t local_node, unsigned route, const ClassRoute_t *c,
		       int pass);
int emu_live_gi_set(struct emu_live *live, uint32_t local_node, unsigned route, const ClassRoute_t *c);
/* At the start, while nobody else has the memory open: both, and the signals of all members. */
int emu_live_class_preset(struct emu_live *live, uint32_t local_node, unsigned route, const ClassRoute_t *c,
			  unsigned bits);
/* The node's own bits of a global interrupt; one caller at a time per (node, route). Then poll. */
void emu_live_gi(struct emu_live *live, uint32_t local_node, unsigned route, unsigned bits);

/* Counters of a link as they are now. */
void emu_live_link_stat(const struct emu_live *live, uint32_t local_node, unsigned link,
			struct emu_link_stat *stat);
/* Packets and credits refused since init, on all nodes. */
uint64_t emu_live_bad(const struct emu_live *live);

#endif
