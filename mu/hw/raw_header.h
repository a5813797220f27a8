/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Raw packets (mu/raw.h) while they travel: the id field names the channel, and Reserved4 holds a
 * mark, the kind, and the id that software wrote.
 */
#ifndef MU_HW_RAW_HEADER_H
#define MU_HW_RAW_HEADER_H

#include <stdbool.h>

#include "mu/hw/packetize.h"

#define MU_RAW_MARK       0x8000u
#define MU_RAW_KIND_SHIFT 10
#define MU_RAW_MISMATCH   1u /* in the kind of a collective packet */

static inline bool mu_header_is_raw(const MUHWI_PacketHeader_t *h)
{
	return h->NetworkHeader.pt2pt.Injection_Info.Reserved4 & MU_RAW_MARK;
}

static inline unsigned mu_raw_kind(const MUHWI_PacketHeader_t *h)
{
	return h->NetworkHeader.pt2pt.Injection_Info.Reserved4 >> MU_RAW_KIND_SHIFT & 31;
}

/* The id that software wrote. */
static inline unsigned mu_raw_id(const MUHWI_PacketHeader_t *h)
{
	return h->NetworkHeader.pt2pt.Injection_Info.Reserved4 & 1023;
}

/* Exchange the id field of a header; the result is what was there. */
static inline unsigned mu_raw_exchange_id(MUHWI_PacketHeader_t *h, unsigned id)
{
	unsigned was;

	switch (mu_packet_type(h)) {
	case MUHWI_PACKET_TYPE_FIFO:
		was = h->messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id;
		h->messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id = id & 511;
		break;
	case MUHWI_PACKET_TYPE_PUT:
		was = h->messageUnitHeader.Packet_Types.Direct_Put.Rec_Payload_Base_Address_Id;
		h->messageUnitHeader.Packet_Types.Direct_Put.Rec_Payload_Base_Address_Id =
		    id & 1023;
		break;
	default:
		was = h->messageUnitHeader.Packet_Types.Remote_Get.Rget_Inj_FIFO_Id;
		h->messageUnitHeader.Packet_Types.Remote_Get.Rget_Inj_FIFO_Id = id & 1023;
	}
	return was;
}

static inline void mu_raw_header_wrap(MUHWI_PacketHeader_t *h, unsigned kind, unsigned number)
{
	unsigned id = mu_raw_exchange_id(h, number);

	h->NetworkHeader.pt2pt.Injection_Info.Reserved4 =
	    (uint16_t)(MU_RAW_MARK | kind << MU_RAW_KIND_SHIFT | id);
}

/* A router found that the contributions to this packet differ: the next kind says so. */
static inline void mu_raw_mark_mismatch(MUHWI_PacketHeader_t *h)
{
	h->NetworkHeader.pt2pt.Injection_Info.Reserved4 |= MU_RAW_MISMATCH << MU_RAW_KIND_SHIFT;
}

static inline void mu_raw_header_unwrap(MUHWI_PacketHeader_t *h)
{
	mu_raw_exchange_id(h, mu_raw_id(h));
	h->NetworkHeader.pt2pt.Injection_Info.Reserved4 = 0;
}

#endif
