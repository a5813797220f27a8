/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of a packet: pure functions of shape, place, destination and hints. Source:
 * docs/hardware.md 6.1 to 6.3.
 *
 * Hints are ten bits in the order of the header: (byte 1 << 2 | byte 2 >> 6), A- = 0x200, A+ =
 * 0x100
 * ... E- = 2, E+ = 1. Link masks have bit l for link l (A- = 1, A+ = 2 ...). Places are destination
 * words (emu_coord_word). Sets of dimensions have bit d for dimension d (A = 1 ... E = 16).
 */
#ifndef EMU_ROUTE_H
#define EMU_ROUTE_H

#include <stdint.h>

#include "emu/coord.h"
#include "emu/hw_packet.h"

#define EMU_ZONES 4
#define EMU_HERE  10 /* the "next link" of a packet that has arrived */

/* Where both ways are equally long (docs/hardware.md 6.1). */
enum emu_tie { EMU_TIE_PARITY, EMU_TIE_PLUS, EMU_TIE_MINUS };

/*
 * The rules of routing that a machine may change. Zero: the rules of docs/hardware.md 6.1 to 6.3.
 */
struct emu_routing {
	uint8_t has_order, order[EMU_DIMS]; /* of deterministic packets */
	uint8_t tie;                        /* enum emu_tie */
	/* Sets of dimensions (bit d: dimension d); zone[z][0] 0: the default of that zone. */
	uint8_t zone[EMU_ZONES][EMU_DIMS];
};

/* The routing tables of a shape, constant after emu_route_init(). */
struct emu_route {
	struct emu_shape shape;
	/* The order in which deterministic packets finish the dimensions. */
	uint8_t order[EMU_DIMS];
	/* For each zone the sets of dimensions that a dynamic packet finishes one after the other;
	 * 0: none. */
	uint8_t zone[EMU_ZONES][EMU_DIMS];
	/* Dimensions that wrap and have 3 nodes or more: the bubble rule applies there. */
	uint8_t rings;
	uint8_t tie; /* enum emu_tie */
};

void emu_route_init(struct emu_route *r, const struct emu_shape *shape);
/* The same with changes of the routing; NULL changes nothing. */
void emu_route_init_as(struct emu_route *r, const struct emu_shape *shape,
		       const struct emu_routing *routing);

static inline unsigned emu_hints_get(const MUHWI_Pt2PtNetworkHeader_t *h)
{
	return (unsigned)h->Hints << 2 | h->Byte2.Byte2 >> 6;
}

static inline void emu_hints_set(MUHWI_Pt2PtNetworkHeader_t *h, unsigned hints)
{
	h->Hints = (uint8_t)(hints >> 2);
	h->Byte2.Byte2 = (uint8_t)((h->Byte2.Byte2 & 0x3f) | hints << 6);
}

static inline unsigned emu_hint_of_link(unsigned link)
{
	return 0x200u >> link;
}

/*
 * Compute the directions of a packet at its source. Explicit hints (0: none) are kept in the
 * dimensions where the packet has to move. The others get the shorter way; at equal distance plus
 * if the sum of the source's five coordinates is even, else minus. Returns 0, with one bit in
 * *hints per dimension to move in, or -EINVAL: both signs of a dimension, a hint over the edge of a
 * mesh, or a destination outside the shape.
 */
int emu_route_hints(const struct emu_route *r, uint32_t from, uint32_t to, unsigned wanted,
		    unsigned *hints);

/* Return the dimensions in which two places differ. */
static inline unsigned emu_route_undone(uint32_t here, uint32_t to)
{
	uint32_t x = here ^ to;

	return (x >> 24 & 63 ? 1u : 0) | (x >> 18 & 63 ? 2u : 0) | (x >> 12 & 63 ? 4u : 0) |
	       (x >> 6 & 63 ? 8u : 0) | (x & 63 ? 16u : 0);
}

static inline unsigned emu_route_link(unsigned d, unsigned hints)
{
	return emu_link(d, hints >> (8 - 2 * d) & 1);
}

/* Return the next link of a deterministic packet: that of the first dimension in order that is not
 * done, or EMU_HERE. */
static inline unsigned emu_route_next(const struct emu_route *r, unsigned undone, unsigned hints)
{
	for (int i = 0; i < EMU_DIMS; i++)
		if (undone >> r->order[i] & 1)
			return emu_route_link(r->order[i], hints);
	return EMU_HERE;
}

/*
 * Follow the path of a deterministic packet without hints from node `from` on: call
 * visit(arg, node, link) for each link it crosses, until a call returns other than 0. Returns that
 * value, or 0.
 */
int emu_route_each(const struct emu_route *r, uint32_t from, uint32_t to,
		   int (*visit)(void *arg, uint32_t node, unsigned link), void *arg);

/* Return the links (a mask) that a dynamic packet may take: those of the dimensions left in the
 * first set of the zone that has any left. */
static inline unsigned emu_route_candidates(const struct emu_route *r, unsigned zone,
					    unsigned undone, unsigned hints)
{
	unsigned links = 0, set = 0;

	for (int k = 0; k < EMU_DIMS && !set; k++)
		set = r->zone[zone][k] & undone;
	for (; set; set &= set - 1)
		links |= 1u << emu_route_link((unsigned)__builtin_ctz(set), hints);
	return links;
}

#endif
