/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptor builders, one per message kind. A destination is (node word, channel number on the
 * node). All point to point, deterministic; the router fills empty hints.
 */
#ifndef MU_DESC_H
#define MU_DESC_H

#include <string.h>

#include "mu/hw_desc.h"
#include "mu/packetize.h"

struct mu_dest {
	uint32_t coords; /* destination word */
	uint32_t number; /* T * channels + channel: FIFO and table number on that node */
};

/* Network half of a packet header; vc is a MUHWI_PACKET_VIRTUAL_CHANNEL_ value. */
static inline void mu_header_network(MUHWI_PacketHeader_t *h, uint32_t coords, unsigned type, unsigned vc)
{
	memset(h, 0, sizeof *h);
	h->NetworkHeader.pt2pt.Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	h->NetworkHeader.pt2pt.Byte3.Byte3 = (uint8_t)vc;
	h->NetworkHeader.pt2pt.Destination.Destination.Destination = coords;
	h->NetworkHeader.pt2pt.Byte8.Byte8 = (uint8_t)(type | 16);
	h->NetworkHeader.pt2pt.Injection_Info.Skip = 8;
}

static inline void mu_desc_begin(MUHWI_Descriptor_t *d, uint64_t payload, uint64_t bytes,
                                 const struct mu_dest *to, unsigned type, unsigned vc)
{
	d->Half_Word0.Half_Word0 = 0;
	d->Half_Word1.Half_Word1 = 0;
	d->Pa_Payload = payload;
	d->Message_Length = bytes;
	d->Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	mu_header_network(&d->PacketHeader, to->coords, type, vc);
}

/* Memory-FIFO message of `bytes` (0 allowed); soft: 14 bytes; internal: for the MU itself. */
static inline void mu_desc_fifo(MUHWI_Descriptor_t *d, uint64_t payload, uint64_t bytes,
                                const struct mu_dest *to, const void *soft, int internal)
{
	mu_desc_begin(d, payload, bytes, to, MUHWI_PACKET_TYPE_FIFO,
	              MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC);
	d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id = to->number & 511;
	d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Unused1 = internal & 1;
	memcpy(d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, soft, 14);
}

/*
 * The packet header of a short message (bytes <= 512, one packet, offset 0) to `coords` and `number`, built
 * in place: the one that mu_desc_fifo() and mu_packetize() make. soft: 14 bytes.
 */
static inline void mu_header_short(void *at, uint32_t coords, uint32_t number, uint32_t bytes, const void *soft)
{
	MUHWI_PacketHeader_t *h = at;
	uint64_t first = (uint64_t)MUHWI_PT2PT_DATA_PACKET_TYPE |
	                 (uint64_t)MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC << 24 | (uint64_t)coords << 32;
	uint64_t second = (uint64_t)(MUHWI_PACKET_TYPE_FIFO | ((bytes + 31) / 32)) | 136ull << 24 |
	                  (uint64_t)(number & 511) << (32 + 6);

	memcpy(at, &first, 8);
	memcpy((char *)at + 8, &second, 8);
	memset((char *)at + 16, 0, 2);
	memcpy(h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, soft, 14);
}

/*
 * Direct put of bytes > 0 to `remote` (through table entry 0 of the target, which is 0) and
 * minus the bytes to `counter` (an address in the target; 0: no counter is touched).
 * `back` (0 .. 63): the initiator's channel, told if the put cannot be done.
 */
static inline void mu_desc_put(MUHWI_Descriptor_t *d, uint64_t payload, uint64_t bytes,
                               const struct mu_dest *to, uint64_t remote, uint64_t counter, unsigned back)
{
	mu_desc_begin(d, payload, bytes, to, MUHWI_PACKET_TYPE_PUT, MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC);
	mu_put_offset_set(&d->PacketHeader, remote);
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Rec_Payload_Base_Address_Id = to->number & 1023;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Rec_Counter_Base_Address_Id = to->number & 1023;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Unused1 = back & 63;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset =
		counter ? counter | MUHWI_ATOMIC_ADDRESS_INDICATOR | MUHWI_ATOMIC_OPCODE_STORE_ADD : 0;
}

/* Remote get: `bytes` (64 .. 512, a multiple of 64) of descriptors at `payload`, run at the target. */
static inline void mu_desc_get(MUHWI_Descriptor_t *d, uint64_t payload, uint64_t bytes,
                               const struct mu_dest *to)
{
	mu_desc_begin(d, payload, bytes, to, MUHWI_PACKET_TYPE_GET, MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC);
	d->PacketHeader.messageUnitHeader.Packet_Types.Remote_Get.Rget_Inj_FIFO_Id = to->number & 1023;
}

/* Channel number on the node that a packet of any type addresses. */
static inline unsigned mu_header_number(const MUHWI_PacketHeader_t *h)
{
	switch (h->NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0) {
	case MUHWI_PACKET_TYPE_FIFO:
		return h->messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id;
	case MUHWI_PACKET_TYPE_PUT:
		return h->messageUnitHeader.Packet_Types.Direct_Put.Rec_Payload_Base_Address_Id;
	default:
		return h->messageUnitHeader.Packet_Types.Remote_Get.Rget_Inj_FIFO_Id;
	}
}

#endif
