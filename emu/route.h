/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way a packet goes: pure functions of shape, place, destination and hints. spec/mu.md 6.1 - 6.3.
 *
 * Hints here are ten bits as they lie in the header: (byte 1 << 2 | byte 2 >> 6), A- = 0x200,
 * A+ = 0x100 ... E- = 2, E+ = 1. Link masks have bit l for link l (A- = 1, A+ = 2 ...). Places are
 * destination words (emu_coord_word). Sets of dimensions have bit d for dimension d (A = 1 ... E = 16).
 */
#ifndef EMU_ROUTE_H
#define EMU_ROUTE_H

#include <stdint.h>

#include "emu/coord.h"
#include "emu/hw_packet.h"

#define EMU_ZONES 4
#define EMU_HERE  10 /* "next link" of a packet that has arrived */

/* Made once per shape. */
struct emu_route {
	struct emu_shape shape;
	uint8_t order[EMU_DIMS];           /* dimensions, first to last, of deterministic packets */
	uint8_t zone[EMU_ZONES][EMU_DIMS]; /* sets of dimensions, in turn; 0 = none */
	uint8_t rings; /* dimensions that wrap and have 3 nodes or more: bubble rule */
};

void emu_route_init(struct emu_route *r, const struct emu_shape *shape);

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
 * Directions for a packet at its source: explicit hints (0: none) are kept where a dimension is
 * needed, the rest is computed: the shorter way; at equal distance plus if the sum of the source's
 * five coordinates is even, else minus. Returns 0 and *hints with one bit per needed dimension, or
 *   -EINVAL  both signs of a dimension; a hint over the edge of a mesh; a destination outside the shape.
 */
int emu_route_hints(const struct emu_route *r, uint32_t from, uint32_t to, unsigned wanted,
		    unsigned *hints);

/* Dimensions in which two places differ. */
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

/* Next link of a deterministic packet: the first dimension in order that is undone, or EMU_HERE. */
static inline unsigned emu_route_next(const struct emu_route *r, unsigned undone, unsigned hints)
{
	for (int i = 0; i < EMU_DIMS; i++)
		if (undone >> r->order[i] & 1)
			return emu_route_link(r->order[i], hints);
	return EMU_HERE;
}

/*
 * The path of a deterministic packet without hints: visit(arg, node, link) for each link it crosses, from node
 * `from` on, until one returns not 0. Returns that, or 0.
 */
int emu_route_each(const struct emu_route *r, uint32_t from, uint32_t to,
		   int (*visit)(void *arg, uint32_t node, unsigned link), void *arg);

/* Links a dynamic packet may take (mask of links): the undone dimensions of the zone's first mask that
 * has any. */
static inline unsigned emu_route_candidates(const struct emu_route *r, unsigned zone, unsigned undone,
					    unsigned hints)
{
	unsigned links = 0, set = 0;

	for (int k = 0; k < EMU_DIMS && !set; k++)
		set = r->zone[zone][k] & undone;
	for (; set; set &= set - 1)
		links |= 1u << emu_route_link((unsigned)__builtin_ctz(set), hints);
	return links;
}

#endif
