/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links that are cut, and ways around them. A cut link takes no packet that starts after the cut;
 * what is under way passes. Deterministic packets go around by their hints, which may lead the long
 * way round a ring: they still finish the dimensions in order and never turn back, so the argument
 * of emu/vc.h holds. A dynamic packet stays dynamic if no cut link lies in the box of its minimal
 * ways; else it becomes deterministic.
 */
#ifndef EMU_CUTS_H
#define EMU_CUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/hw_packet.h"
#include "emu/route.h"

struct emu_cuts {
	const struct emu_route *route;
	uint32_t nodes;
	uint16_t *cuts;  /* [nodes * EMU_LINKS]: how many faults cut the link */
	uint32_t *links; /* [count] node * EMU_LINKS + link */
	uint32_t count;
};

/* Returns 0 or -ENOMEM. The route must outlive the cuts. */
int emu_cuts_init(struct emu_cuts *c, const struct emu_route *route);
void emu_cuts_fini(struct emu_cuts *c); /* zeroed memory is fine */

/* Cut both directions of a link, or (cut false) take back one cut. A link over the edge of a mesh,
 * or of a dimension of one node, is ignored. Returns whether there was a link. */
bool emu_cuts_set(struct emu_cuts *c, uint32_t node, unsigned link, bool cut);
bool emu_cuts_is_cut(const struct emu_cuts *c, uint32_t node, unsigned link);

/*
 * Find hints for a deterministic packet: those of emu_route_hints() if that way is whole, else the
 * shortest other choice of directions. Returns 0, or -EHOSTUNREACH: the two nodes have lost each
 * other.
 */
int emu_cuts_route(const struct emu_cuts *c, uint32_t from, uint32_t to, unsigned *hints);

/*
 * Give the header of a packet that is injected at `from` hints that avoid cut links. A dynamic
 * packet that might meet one becomes deterministic. 0, or -EHOSTUNREACH. A destination outside the
 * shape is left to the router, which refuses it.
 */
int emu_cuts_apply(const struct emu_cuts *c, uint32_t from, MUHWI_Pt2PtNetworkHeader_t *h);

/* May a dynamic packet with these hints meet a cut link? */
bool emu_cuts_in_box(const struct emu_cuts *c, uint32_t from, uint32_t to, unsigned hints);

#endif
