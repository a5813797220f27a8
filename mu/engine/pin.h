/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pinning: the software of the chip had ten injection FIFOs a context, one for each direction, and
 * others for the own node (docs/hardware.md 13.3). Here a channel has one FIFO, whose descriptors
 * go to as many engines by the same rule, in both clocks. Each engine works strictly in order.
 */
#ifndef MU_ENGINE_PIN_H
#define MU_ENGINE_PIN_H

#include "emu/coord.h"
#include "emu/route.h"
#include "mu/hw/desc.h"
#include "mu/hw/raw_header.h"

#define MU_PINS      12u
#define MU_PIN_LOCAL 10u
#define MU_PIN_COLL  11u /* raw collective packets: they wait for other nodes */

/* The engine to which the destination of a descriptor is pinned, at the node `from`; fifos: of the
 * machine, 1 to 10. A raw descriptor names it. */
static inline unsigned mu_choose_pin(const struct emu_route *route, unsigned fifos,
				     const struct emu_coord *from, const MUHWI_Descriptor_t *d)
{
	const MUHWI_Pt2PtNetworkHeader_t *h = &d->PacketHeader.NetworkHeader.pt2pt;
	uint32_t here = emu_coord_word(from), word = h->Destination.Destination.Destination;
	struct emu_coord to;
	unsigned hints, sum = 0;

	if (mu_header_is_raw(&d->PacketHeader))
		return d->Half_Word0.Unused1 % MU_PINS;
	if (!emu_route_undone(here, word) ||
	    emu_route_hints(route, here, word, emu_hints_get(h), &hints))
		return MU_PIN_LOCAL;
	if (!(hints & (hints - 1)))
		return (9u - (unsigned)__builtin_ctz(hints)) % fifos;
	emu_coord_from_word(word, &to);
	for (int i = 0; i < EMU_DIMS; i++)
		sum += from->c[i] > to.c[i] ? (unsigned)(from->c[i] - to.c[i])
					    : (unsigned)(to.c[i] - from->c[i]);
	return sum % 10 % fifos;
}

#endif
