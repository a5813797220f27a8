/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the answer of a get, or of a rendezvous, is routed on fabric torus: deterministically, or
 * dynamically in one of the zones. The rule is that of the chip's software (docs/hardware.md 13.6);
 * the machine file and PAMI_ROUTING change it. Pure functions.
 */
#ifndef MU_ROUTING_H
#define MU_ROUTING_H

#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"
#include "emu/machine.h"
#include "mu/hw/desc.h"

#define MU_ROUTE_DETERMINISTIC 4u /* else a zone, 0 to 3 */

struct mu_routing {
	uint64_t bytes; /* transfers of at most so many are deterministic */
	double low, high;
	/* A zone or MU_ROUTE_DETERMINISTIC, for a flexibility within low..high and for others. */
	uint8_t in, out;
	uint8_t small; /* of transfers of at most `bytes` */
	uint8_t stay_on_bubble;
	uint64_t e_split_bytes;
	uint64_t pacing_bytes; /* gets of more are paced; UINT64_MAX: none is */
	uint32_t pacing_piece, pacing_window;
	struct emu_shape shape;
};

/*
 * Fill in the rule for a machine of that shape. text: PAMI_ROUTING, or NULL:
 * [size][,[small][,[low:high][,[in][,[out]]]]], where small, in and out are 0 to 4. Returns 0, or
 * -EINVAL with a sentence in err; then the rule is that without the text.
 */
int mu_routing_make(struct mu_routing *r, const struct emu_shape *shape,
		    const struct emu_hardware *hw, const char *text, char *err, size_t err_bytes);

/* The sum over A to D of hops / the most hops of that dimension: 0 to 4. */
double mu_routing_flexibility(const struct emu_shape *shape, const struct emu_coord *a,
			      const struct emu_coord *b);

/* A zone, or MU_ROUTE_DETERMINISTIC. */
unsigned mu_routing_choose(const struct mu_routing *r, const struct emu_coord *from,
			   const struct emu_coord *to, uint64_t bytes);

/* Are these neighbours along E, with two links between them over which a transfer of so many bytes
 * is split? */
int mu_routing_splits(const struct mu_routing *r, const struct emu_coord *from,
		      const struct emu_coord *to, uint64_t bytes);

/* Is a get of so many bytes paced? It leads over more than four links, or along two dimensions. */
int mu_routing_paces(const struct mu_routing *r, const struct emu_coord *from,
		     const struct emu_coord *to, uint64_t bytes);

/* Write the choice into the header of a descriptor. */
void mu_routing_apply(const struct mu_routing *r, unsigned choice, MUHWI_Descriptor_t *d);

#endif
