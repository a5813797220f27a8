/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class routes of the own node, for PAMI: collective packets, global interrupts, lines.
 *
 * One task of a node, the owner, uses a class route, through one of its channels and that channel's
 * thread. All nodes of the route make the same calls in the same order. Progress: mu_poll() on that
 * channel.
 *
 * 1. mu_class_claim(id) on every node of the route. If one fails, all release and try another id.
 * 2. mu_class_set(ch, id, part) programs the node's part of the tree. A barrier by other means.
 * 3. mu_gi_write(ch, id, 4), then wait until mu_gi_read(ch, id) == 4. A barrier by other means. The
 *    route is ready.
 * 4. mu_class_release(ch, id), after a barrier, with nothing in flight.
 *
 * Source: docs/hardware.md 8. Class route 0 spans all nodes and is ready from the start
 * (mu_class_has_world()).
 */
#ifndef MU_COLL_H
#define MU_COLL_H

#include <stdint.h>

#include "emu/hw_class.h"
#include "emu/route.h"
#include "emu/router.h"
#include "mu/mu.h"
#include "mu/segment/host.h"

/* Keep a half of an id (MU_ROUTE_PACKETS or MU_ROUTE_SIGNALS) for a program's own route; PAMI then
 * does not claim the id. False: it is taken. */
bool mu_class_reserve(unsigned id, unsigned half);
void mu_class_unreserve(unsigned id, unsigned half);
/* Bitmap of the class routes of whose halves nobody has one of these, on this node; 0 without
 * routers. */
unsigned mu_class_find_free(unsigned halves);
/* Does class route 0 span the job? Every node needs a task and a router. */
int mu_class_has_world(void);
/* Claim an id for this channel: 0, or -EBUSY. Class route 0 exists already; the claim makes this
 * channel its user on the node. */
int mu_class_claim(struct mu_channel *ch, unsigned id);
/*
 * Program. 0; 1 .. 5: refused (emu/class.h); -EBUSY, -EAGAIN: packets of it are still there, the
 * router is at work, or another task of the node programs the route: poll and ask again. *gi: the
 * result for the global interrupt of the same number, which may be refused where the other was not
 * (4: ids i and i + 8 share links).
 */
int mu_class_set(struct mu_channel *ch, unsigned id, const ClassRoute_t *route, int *gi);
/* As mu_class_set(), for these halves. The signals alone are those of a program, whose nodes are
 * programmed in any order (emu_router_gi_program()); the result is then *gi. */
int mu_class_set_halves(struct mu_channel *ch, unsigned id, unsigned halves,
			const ClassRoute_t *route, int *gi);
/* Free both and give the id back. 0, or -EBUSY, -EAGAIN as above. */
int mu_class_release(struct mu_channel *ch, unsigned id);

/*
 * A member has died: what is under way on the route will never be complete. Nothing more lands in
 * our memory or is sent. The id is not given back: packets of it stay in the routers.
 */
void mu_class_abandon(struct mu_channel *ch, unsigned id);

/* Say where direct puts of this route land here, and that `bytes` of them are expected. The thread
 * that polls is asked to look again when the last is here, and whenever about `notify` (or 0) more
 * have come. */
void mu_coll_expect(struct mu_channel *ch, unsigned id, void *base, uint64_t bytes,
		    uint64_t notify);
/* Bytes still to come (acquire). */
uint64_t mu_coll_bytes_left(unsigned id);

struct mu_coll_call {
	uint8_t op, type; /* MUHWI_COLLECTIVE_OP_CODE_, MUHWI_COLLECTIVE_TYPE_ */
	uint8_t word;  /* exponent: words of 4 << word bytes, a divisor of bytes where the operation
			  adds */
	uint32_t task; /* reduce: on whose node the result is wanted */
	const void *payload;
	uint64_t bytes, offset; /* > 0; where in the target */
};
/*
 * Hand a message in, as direct puts of 512 bytes; payload is read until mu_coll_done(id) >=
 * *sequence (NULL: do not care). -EAGAIN: the FIFO is full; poll and ask again.
 */
int mu_coll_post(struct mu_channel *ch, unsigned id, const struct mu_coll_call *call,
		 uint64_t *sequence);
uint64_t mu_coll_done(unsigned id);

/*
 * Lines: a put to the next `hops` (1 or more, of that ring or mesh) nodes over `link`. It lands
 * where class route `id` expects it and counts in its counter 1 + `colour`; one channel of a node
 * uses lines. mu_line_expect: `colours` (up to 15) counters at once, and who polls is asked to look
 * again whenever about `notify` bytes have come.
 */
void mu_line_expect(struct mu_channel *ch, unsigned id, void *base, unsigned colours,
		    const uint64_t *bytes, uint64_t notify);
uint64_t mu_line_bytes_left(unsigned id, unsigned colour);
int mu_line_post(struct mu_channel *ch, unsigned id, unsigned colour, unsigned link, unsigned hops,
		 const void *payload, uint64_t bytes, uint64_t offset, uint64_t *sequence);
uint64_t mu_line_done(unsigned link);

/* Three bits. Reading also has a thread that then waits in mu_poll() on this channel woken by a
 * change. */
void mu_gi_write(struct mu_channel *ch, unsigned id, unsigned bits);
/* The three bits of a program that uses the registers; one task of the node calls it. False: they
 * were so already. What comes is in the node's table (gi_status). */
bool mu_gi_write_for_program(struct mu_channel *ch, unsigned id, unsigned bits);
unsigned mu_gi_read(struct mu_channel *ch, unsigned id);

/* channel/class_route.c: a node's part in class route 0. */
void mu_world_class(const struct emu_shape *shape, uint32_t node, ClassRoute_t *c);

/* A put through a node's table: the class route it names, or NULL: a plain one. */
static inline struct mu_node_class *mu_put_class(struct mu_host *host, uint32_t node,
						 const MUHWI_PacketHeader_t *h)
{
	unsigned id = h->messageUnitHeader.Packet_Types.Direct_Put.Rec_Payload_Base_Address_Id;

	if ((h->NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0) != MUHWI_PACKET_TYPE_PUT ||
	    id < MU_NODE_TABLE || id >= MU_NODE_TABLE + 2 * MU_CLASSES)
		return NULL;
	return &mu_host_node(host, node)->class[(id - MU_NODE_TABLE) / 2];
}

/* Injection queue of a packet along a line (its one hint bit is set). */
static inline unsigned mu_line_queue(const MUHWI_PacketHeader_t *h)
{
	unsigned hints = emu_hints_get(&h->NetworkHeader.pt2pt) & 0x3ff;

	return EMU_INJECTION_LINE + (hints ? 9u - (unsigned)__builtin_ctz(hints) : 0);
}

static inline atomic_u64 *mu_class_counter(struct mu_node_class *k, const MUHWI_PacketHeader_t *h)
{
	return &k->counter[(h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset >> 3) %
			   MU_CLASS_COUNTERS];
}

#endif
