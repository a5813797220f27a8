/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fabric torus in real time: the routers of one host's nodes, in memory that its processes share.
 * Each process that polls steps them; a try-lock lets one process at a time step a router.
 *
 *   task: alloc, fill, inject --> [inbox] --> router --+--> [inbox] of a neighbour on this host
 *   wire: arrive_remote ------------^                  +--> send_remote()   to another host   ops
 *                                                      +--> deliver()       to the local MU   ops
 *
 * An inbox is one word: the head of a list to which any thread pushes, and which the lock holder of
 * the router takes whole. Credits come back through one word a link. Packets are indices into a
 * pool. The pool is as large as all credits and injection slots together, so nothing that was
 * accepted ever waits for memory. A bit per router (active) says that the router has work; no work
 * is lost between a check and an unlock.
 *
 * Any thread of any process may call any function at any time, except where its comment says
 * otherwise. No function waits: a process that dies with a lock held stops that router (its job
 * ends), but not the pollers. A job that survives deaths lets one process alone poll and program
 * class routes; the others only hand over packets (alloc, inject, cancel) and signals. A death in
 * between leaves these whole, and emu_live_reclaim() frees what the dead process held.
 */
#ifndef EMU_LIVE_H
#define EMU_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/blocked.h"
#include "emu/coord.h"
#include "emu/router.h"

#define EMU_LIVE_NONE UINT32_MAX

/* Return the bytes for `local_nodes` routers of the shape, their pool and their tables. The memory
 * is sparse: most of it is never touched. */
size_t emu_live_bytes(const struct emu_shape *shape, uint32_t local_nodes,
		      const struct emu_router_conf *conf);

/*
 * Initialise the memory, once, before any process opens it. mem is zeroed, 64-byte aligned, of
 * emu_live_bytes(). nodes[local_nodes] are the node indices on this host; local node i is nodes[i].
 * conf NULL: defaults. Returns 0, or -EINVAL (a node is outside the shape or given twice, or mem is
 * too small; logged).
 */
int emu_live_init(void *mem, size_t bytes, const struct emu_shape *shape, const uint32_t *nodes,
		  uint32_t local_nodes, const struct emu_router_conf *conf);

/* The callbacks of a poll, which runs with the lock of the router of local_node held. A callback
 * may call alloc and inject. It should not poll. */
struct emu_live_ops {
	/* Deliver a packet to the MU. 0: taken; the packet is free after the return. -EAGAIN: no
	 * room; the next step of the router calls again, at the latest after
	 * emu_live_kick(local_node). Other: the packet is dropped and counted (emu_live_refused).
	 */
	int (*deliver)(void *arg, uint32_t local_node, struct emu_packet *packet);
	/*
	 * Send a packet to the host that owns the neighbour over `link`; that host calls
	 * emu_live_arrive_remote() for that node with the opposite link. 0: copied. -EAGAIN: the
	 * packet stays in its place; call emu_live_kick() when there is room. NULL where all nodes
	 * are local.
	 */
	int (*send_remote)(void *arg, uint32_t local_node, unsigned link, unsigned vc,
			   const struct emu_packet *packet);
	/* Send credits to that neighbour (16 bits a VC, VC 0 lowest); its host calls
	 * emu_live_credit_remote() with the opposite link. 0, or -EAGAIN: the credits are kept, and
	 * more added to them, until the next step or kick. */
	int (*credit_remote)(void *arg, uint32_t local_node, unsigned link, uint64_t credits);
	/* An injection queue of local_node for which an alloc returned -EAGAIN has room again. May
	 * be NULL. */
	void (*room)(void *arg, uint32_t local_node);
	/* Send credits of class routes (4 bits each, route 0 lowest), and the bits of a global
	 * interrupt, to that neighbour; its host calls emu_live_coll_credit_remote() and
	 * emu_live_gi_remote(). Results as credit_remote. */
	int (*coll_credit_remote)(void *arg, uint32_t local_node, unsigned link, uint64_t credits);
	int (*gi_remote)(void *arg, uint32_t local_node, unsigned link, unsigned route,
			 unsigned bits);
	/* The status of a global interrupt at local_node has changed. May be NULL. */
	void (*gi_status)(void *arg, uint32_t local_node, unsigned route, unsigned bits);
};

struct emu_live; /* a handle, one per process (or thread): the mapped memory and its callbacks */

/* Open the memory. NULL: mem was not initialised, or no memory (logged). ops and arg are copied. */
struct emu_live *emu_live_open(void *mem, const struct emu_live_ops *ops, void *arg);
void emu_live_close(struct emu_live *live); /* NULL is fine */

/*
 * Let faults of links happen (emu/faults.h; times count from start_ns of drv_clock_ns()). Every
 * handle that injects or polls calls it with the same arguments, before it does. Cuts: see
 * emu/cuts.h; where they begin or end while the job runs, all nodes must be local, and a node's
 * packets wait until those that took the old ways have arrived. With delays and rates a poll
 * reads the clock, and routers with packets that wait for a time count as work. Returns 0,
 * -EINVAL (logged) or -ENOMEM.
 */
int emu_live_faults(struct emu_live *live, const char *script, uint32_t tasks, uint32_t hosts,
		    uint64_t seed, uint64_t start_ns);

/* EMU_LIVE_NONE: the node is on another host. */
uint32_t emu_live_local(const struct emu_live *live, uint32_t node);
uint32_t emu_live_node(const struct emu_live *live, uint32_t local_node);
uint32_t emu_live_local_nodes(const struct emu_live *live);
const struct emu_shape *emu_live_shape(const struct emu_live *live);

/*
 * Allocate a packet, with a place in injection queue `queue` of the node. Its first line (hdr,
 * route) is zeroed. -EAGAIN: that queue has 16 packets already; poll, and ops->room reports when
 * there is room. Pass the packet to emu_live_inject() or emu_live_cancel(), with the same queue.
 * emu/router.h says which queue to use.
 */
int emu_live_alloc(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t *packet);
struct emu_packet *emu_live_packet(struct emu_live *live, uint32_t packet);
/* Inject a packet whose hdr, bytes, payload and task are set. Packets stay in order per (calling
 * thread, node, queue). Returns 0; -EINVAL: destination, hints or VC are invalid
 * (emu_router_inject); -EHOSTUNREACH: cut links leave no way. The packet is consumed in both cases.
 * Poll afterwards. */
int emu_live_inject(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t packet);
void emu_live_cancel(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t packet);
/* Set the owner number under which this handle takes places from now on (0 at first). */
void emu_live_set_owner(struct emu_live *live, uint32_t owner);
/* The process with that owner number has died: free the injection places of the node that it took
 * and did not hand over. Only the one process that polls may call this. */
void emu_live_reclaim(struct emu_live *live, uint32_t local_node, uint32_t owner);

/*
 * Step routers that have work until none has any (or another process holds the locks of those that
 * do), at most about `budget` router steps. Returns the steps made; 0: no work. Idle cost: one load
 * per 64 nodes.
 */
int emu_live_poll(struct emu_live *live, int budget);
/* True if some router has work: do not sleep. */
bool emu_live_has_work(const struct emu_live *live);
/*
 * Describe what the head of a queue of this router waits for (emu/blocked.h). Returns false if it
 * waits for nothing, or if other processes step the router whenever this one tries. The packet
 * stays where it is as long as it waits.
 */
bool emu_live_blocked(struct emu_live *live, uint32_t local_node, unsigned queue,
		      struct emu_blocked *out);
/* The MU of the node, or its link to other hosts, has room again: step the router. */
void emu_live_kick(struct emu_live *live, uint32_t local_node);

/* The fields that travel beside header and payload when a packet goes to another host. */
struct emu_live_tag {
	uint32_t task, source, sequence;
	uint16_t bytes;
	uint8_t hops;
	uint8_t vc;
};

static inline void emu_live_tag_of(const struct emu_packet *p, unsigned vc,
				   struct emu_live_tag *tag)
{
	*tag = (struct emu_live_tag){p->task,           p->route.source,
				     p->route.sequence, (uint16_t)p->bytes,
				     p->route.hops,     (uint8_t)vc};
}

/*
 * Accept a packet from another host for local_node over its link `link`. One caller at a time per
 * link, in order. payload: tag->bytes. Returns 0, or -EPROTO: the link is not a remote one, the
 * header is invalid, or the sender had no credit (refused, and counted in emu_live_refused()).
 */
int emu_live_arrive_remote(struct emu_live *live, uint32_t local_node, unsigned link,
			   const struct emu_live_tag *tag, const MUHWI_PacketHeader_t *hdr,
			   const void *payload);
/* Accept credits (16 bits a VC) from the host at the other end of the link of local_node. Returns
 * 0, or -EPROTO as above. */
int emu_live_credit_remote(struct emu_live *live, uint32_t local_node, unsigned link,
			   uint64_t credits);

/* As emu_live_credit_remote(), for class routes: 4 bits each. */
int emu_live_coll_credit_remote(struct emu_live *live, uint32_t local_node, unsigned link,
				uint64_t credits);
int emu_live_gi_remote(struct emu_live *live, uint32_t local_node, unsigned link, unsigned route,
		       unsigned bits);
/* The host at the other end of that link has died. Packets that send_remote() takes from now on are
 * lost, and the link never lacks credits. Only the one process that polls may call this. */
void emu_live_link_lost(struct emu_live *live, uint32_t local_node, unsigned link);

/*
 * Class routes, as in emu/router.h. For collective packets call alloc and inject with queue
 * EMU_INJECTIONS + route. The two functions that program a route also return -EAGAIN: another
 * process is stepping the router; call again.
 */
int emu_live_class_set(struct emu_live *live, uint32_t local_node, unsigned route,
		       const ClassRoute_t *c, int pass);
int emu_live_gi_set(struct emu_live *live, uint32_t local_node, unsigned route,
		    const ClassRoute_t *c);
/* Return the EMU_COMBINE_ bits of a class route in the node's router, and clear those in `clear`.
 * Only ops->deliver() may call it, for the node that it delivers to. */
unsigned emu_live_coll_flags(struct emu_live *live, uint32_t local_node, unsigned route,
			     unsigned clear);
/* Program both, and preset the signals of all members. Call it at the start, before another process
 * opens the memory. */
int emu_live_class_preset(struct emu_live *live, uint32_t local_node, unsigned route,
			  const ClassRoute_t *c, unsigned bits);
/* As emu_router_gi_program(). 0, 1 .. 5, or -EAGAIN as above. */
int emu_live_gi_program(struct emu_live *live, uint32_t local_node, unsigned route,
			const ClassRoute_t *c);
/* Set the three bits of a user of a global interrupt of the node itself. One caller at a time per
 * (node, route, user). Poll afterwards. */
void emu_live_gi(struct emu_live *live, uint32_t local_node, unsigned route, enum emu_gi_user user,
		 unsigned bits);

/* Read the counters of a link. */
void emu_live_link_stat(const struct emu_live *live, uint32_t local_node, unsigned link,
			struct emu_link_stat *stat);
void emu_live_link_sum(const struct emu_live *live, uint32_t local_node, unsigned link,
		       struct emu_link_sum *sum);
/* Return the packets and credits refused since init, on all nodes. */
uint64_t emu_live_refused(const struct emu_live *live);

#endif
