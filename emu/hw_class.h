/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class routes: each node has 16 trees for collective packets and 16 for global interrupts, each a
 * mask of links. Datasheet: Blue Gene/Q classroute.h (docs/hardware.md 8.1).
 *
 * input: links of the children, the local contribution, and the class of virtual channel. output:
 * the one link to the parent, 0 at the root. {0, 0}: the route is free.
 */
#ifndef EMU_HW_CLASS_H
#define EMU_HW_CLASS_H

#include <stdint.h>

#define BGQ_COLL_CLASS_MAX_CLASSROUTES     16
#define BGQ_GI_CLASS_MAX_CLASSROUTES       16
#define BGQ_GI_CLASS_MAX_GI_PER_CLASSROUTE 3

#define BGQ_CLASS_INPUT_VC_USER    0
#define BGQ_CLASS_INPUT_VC_SYSTEM  0x1000
#define BGQ_CLASS_INPUT_VC_SUBCOMM 0x2000
#define BGQ_CLASS_INPUT_VC_MASK    0x3000
#define BGQ_CLASS_LINK_AM          0x800
#define BGQ_CLASS_LINK_AP          0x400
#define BGQ_CLASS_LINK_BM          0x200
#define BGQ_CLASS_LINK_BP          0x100
#define BGQ_CLASS_LINK_CM          0x80
#define BGQ_CLASS_LINK_CP          0x40
#define BGQ_CLASS_LINK_DM          0x20
#define BGQ_CLASS_LINK_DP          0x10
#define BGQ_CLASS_LINK_EM          0x08
#define BGQ_CLASS_LINK_EP          0x04
#define BGQ_CLASS_LINK_IO          0x02
#define BGQ_CLASS_INPUT_LINK_LOCAL 0x01

typedef struct ClassRoute {
	uint16_t input;
	uint16_t output;
} ClassRoute_t;

#endif
