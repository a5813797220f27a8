/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builders of descriptors, one for each kind of message. A destination is a node word and a channel
 * number on that node. All are point to point and deterministic; the router fills in empty hints.
 */
#ifndef MU_DESC_H
#define MU_DESC_H

#include <stdbool.h>
#include <string.h>

#include "mu/hw/desc.h"
#include "mu/hw/packetize.h"
#include "mu/hw/raw_header.h"

struct mu_dest {
	uint32_t coords; /* destination word of the node */
	uint32_t number; /* T * channels + channel: number of FIFO and table on that node */
};

/* Fill in the network half of a packet header; vc is a MUHWI_PACKET_VIRTUAL_CHANNEL_ value. */
static inline void mu_header_network(MUHWI_PacketHeader_t *h, uint32_t coords, unsigned type,
				     unsigned vc)
{
	memset(h, 0, sizeof *h);
	h->NetworkHeader.pt2pt.Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	h->NetworkHeader.pt2pt.Byte3.Byte3 = (uint8_t)vc;
	h->NetworkHeader.pt2pt.Destination.Destination.Destination = coords;
	h->NetworkHeader.pt2pt.Byte8.Byte8 = (uint8_t)(type | 16);
	h->NetworkHeader.pt2pt.Injection_Info.Skip = 8;
}

/*
 * Two fields that the hardware leaves to software. A memory-FIFO packet with the bit set is for the
 * MU itself, not for the user. A direct put contains the channel of its initiator; the target
 * reports to that channel if the put fails.
 */
static inline bool mu_header_is_internal(const MUHWI_PacketHeader_t *h)
{
	return h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused1;
}

static inline unsigned mu_header_origin_channel(const MUHWI_PacketHeader_t *h)
{
	return h->messageUnitHeader.Packet_Types.Direct_Put.Unused1;
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

/*
 * Build a memory-FIFO message of `bytes` (0 is allowed); soft: 14 bytes; internal: for the MU
 * itself.
 */
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
 * Copy the 14 software bytes of a short message that the caller has just written, by words as it
 * has written them (pami_wire_set_short()): a wider load would wait until those stores are done.
 */
static inline void mu_soft_copy(void *to, const void *soft)
{
	memcpy(to, soft, 4);
	memcpy((char *)to + 4, (const char *)soft + 4, 2);
	memcpy((char *)to + 6, (const char *)soft + 6, 8);
}

/*
 * Build in place the packet header of a short message (bytes <= 512, one packet, offset 0) to
 * `coords` and `number`: the same header that mu_desc_fifo() and mu_packetize() make. soft: 14
 * bytes.
 */
static inline void mu_header_short(void *at, uint32_t coords, uint32_t number, uint32_t bytes,
				   const void *soft)
{
	MUHWI_PacketHeader_t *h = at;
	uint64_t first = (uint64_t)MUHWI_PT2PT_DATA_PACKET_TYPE |
			 (uint64_t)MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC << 24 |
			 (uint64_t)coords << 32;
	uint64_t second = (uint64_t)(MUHWI_PACKET_TYPE_FIFO | ((bytes + 31) / 32)) | 136ull << 24 |
			  (uint64_t)(number & 511) << (32 + 6);

	memcpy(at, &first, 8);
	memcpy((char *)at + 8, &second, 8);
	memset((char *)at + 16, 0, 2);
	mu_soft_copy(h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, soft);
}

/*
 * Build a direct put of bytes > 0 to `remote` (through table entry 0 of the target, which is 0). It
 * subtracts the bytes from `counter` (an address in the target; 0: no counter). `back` (0 .. 63) is
 * the channel of the initiator that learns if the put fails.
 */
static inline void mu_desc_put(MUHWI_Descriptor_t *d, uint64_t payload, uint64_t bytes,
			       const struct mu_dest *to, uint64_t remote, uint64_t counter,
			       unsigned back)
{
	mu_desc_begin(d, payload, bytes, to, MUHWI_PACKET_TYPE_PUT,
		      MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC);
	mu_put_offset_set(&d->PacketHeader, remote);
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Rec_Payload_Base_Address_Id =
	    to->number & 1023;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Rec_Counter_Base_Address_Id =
	    to->number & 1023;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Unused1 = back & 63;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset =
	    counter ? counter | MUHWI_ATOMIC_ADDRESS_INDICATOR | MUHWI_ATOMIC_OPCODE_STORE_ADD : 0;
}

/*
 * Let a put without a counter ask its target for the acknowledgement of entry `index`, which then
 * needs no remote get. Only packets that no router sees may ask (mu_transport.takes_asking_puts):
 * the fields of the counter contain the entry.
 */
static inline void mu_desc_ask(MUHWI_Descriptor_t *d, uint16_t index, uint32_t generation)
{
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Is_Asking = 1;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset =
	    (uint64_t)generation << 16 | index;
}

/* Does this put ask? In one of a program of the MU's registers the bit means nothing. */
static inline bool mu_put_asks(const MUHWI_PacketHeader_t *h)
{
	return h->messageUnitHeader.Packet_Types.Direct_Put.Is_Asking && !mu_header_is_raw(h);
}

/* The last piece of a put asks: this is another one. */
static inline void mu_put_ask_later(MUHWI_PacketHeader_t *h)
{
	if (!mu_put_asks(h))
		return;
	h->messageUnitHeader.Packet_Types.Direct_Put.Is_Asking = 0;
	h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset = 0;
}

/*
 * Build a remote get: `bytes` (64 .. 512, a multiple of 64) of descriptors at `payload`, which the
 * target runs.
 */
static inline void mu_desc_get(MUHWI_Descriptor_t *d, uint64_t payload, uint64_t bytes,
			       const struct mu_dest *to)
{
	mu_desc_begin(d, payload, bytes, to, MUHWI_PACKET_TYPE_GET,
		      MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC);
	d->PacketHeader.messageUnitHeader.Packet_Types.Remote_Get.Rget_Inj_FIFO_Id =
	    to->number & 1023;
}

/* Change the channel of a descriptor; vc is a MUHWI_PACKET_VIRTUAL_CHANNEL_ value. */
static inline void mu_desc_set_channel(MUHWI_Descriptor_t *d, unsigned vc)
{
	uint8_t *byte = &d->PacketHeader.NetworkHeader.pt2pt.Byte3.Byte3;

	*byte = (uint8_t)((*byte & 0x1f) | vc);
	if (vc == MUHWI_PACKET_VIRTUAL_CHANNEL_HIGH_PRIORITY)
		d->Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_PRIORITY;
}

/* Return the channel number on the node that a packet of any type addresses. */
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
