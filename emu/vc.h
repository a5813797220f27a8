/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual channels and the bubble rule: why a full torus cannot deadlock. docs/hardware.md 6.5.
 *
 * Every input (link, VC) of a router is a queue of packet slots. The sender of a link holds one
 * credit for each slot that it knows to be free at the far end. It takes one when it sends, and
 * gets it back when the packet has left that queue. Slots are whole packets: a packet never holds
 * more than one slot and one passage.
 *
 * On VC 1, 2 and 3 a packet follows dimension order, never reverses, and obeys the bubble rule:
 *
 *     going straight on in a ring   needs 1 free slot in the next queue
 *     entering a ring               needs 2 (from injection, from another dimension, from VC 0)
 *
 * (In meshes and dimensions of 1 or 2 nodes no ring can close, so a packet needs 1 slot there.)
 *
 * 1. A ring (one dimension, one sign, one VC) always has a free slot somewhere. Going on moves
 *    the free slot one queue back. Leaving adds one. Entering takes one, but only where there were
 *    two, so one is left. A credit in flight to its sender, and a slot reserved for a packet on the
 *    link, only make senders more careful.
 * 2. Suppose nothing can ever move, and some packet is on VC 1. Take the last dimension, in routing
 *    order, in which a VC 1 queue holds a packet. If a head there wants to leave its ring, it is to
 *    be delivered, or to enter a later dimension whose queues are all empty: it can. So all heads
 *    of that ring want to go on. Walk back from the free slot of step 1 to the first queue that is
 *    not empty: its head can move. That contradicts the assumption, so VC 1 is empty.
 * 3. Then the queues of VC 1 are all free, and a head on VC 0 (dynamic) can escape: it requests
 *    VC 1 in its deterministic direction, by the entering rule, whenever its VC 0 directions have
 *    no credit. A packet that returns from VC 1 to VC 0 only empties a ring. So VC 0 is empty too.
 *    VC 2 and VC 3 are like VC 1 with slots of their own, so answers pass requests.
 * 4. So something can move while anything is queued. Every move follows the hints, and no way is
 *    longer than its ring, so each packet arrives after finitely many moves.
 *
 * The proof needs an MU that takes delivered packets sooner or later (docs/hardware.md 4.5), and at
 * least two slots a queue. It does not promise fairness: packets that keep a ring full can keep a
 * new packet out.
 */
#ifndef EMU_VC_H
#define EMU_VC_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/hw_packet.h"

enum { EMU_VC_DYNAMIC, EMU_VC_BUBBLE, EMU_VC_HIGH, EMU_VC_SYSTEM, EMU_VCS };

/*
 * Channels of a link: those above, then one for each class route. The chip gives all class routes
 * of a class one channel, and deadlocks if nodes use routes that share links in different orders
 * (docs/hardware.md 8.5). Here each route has slots of its own, so a route depends on no other;
 * emu/collective.c says why each collective ends.
 */
#define EMU_CHANNELS (EMU_VCS + 16)

#define EMU_VC_SLOTS_DEFAULT 7
#define EMU_VC_SLOTS_MIN     2

/*
 * Return the channel on which a packet starts; >= EMU_VCS: not a point-to-point channel. A packet
 * of channel 0 without the dynamic bit has no escape there, so it starts on channel 1.
 */
static inline unsigned emu_vc_start(const MUHWI_Pt2PtNetworkHeader_t *h)
{
	unsigned vc = h->Byte3.Byte3 >> 5;

	return vc == EMU_VC_DYNAMIC && !(h->Byte2.Byte2 & MUHWI_PACKET_USE_DYNAMIC_ROUTING)
		   ? EMU_VC_BUBBLE
		   : vc;
}

/* True if the packet may choose its way at a node where it waits on channel vc. */
static inline bool emu_vc_is_dynamic(const MUHWI_Pt2PtNetworkHeader_t *h, unsigned vc)
{
	return emu_vc_start(h) == EMU_VC_DYNAMIC &&
	       (vc == EMU_VC_DYNAMIC || !(h->Byte3.Byte3 & MUHWI_PACKET_STAY_ON_BUBBLE));
}

#endif
