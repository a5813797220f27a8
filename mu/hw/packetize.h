/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a descriptor to the headers of its packets: the injection half of an engine, in both clocks.
 * Pure functions. Facts: docs/hardware.md 2.5, 3.2.
 */
#ifndef MU_PACKETIZE_H
#define MU_PACKETIZE_H

#include <errno.h>
#include <stdint.h>

#include "emu/hw_packet.h"
#include "mu/hw/desc.h"

#define MU_PACKET_PAYLOAD MUHWI_PACKET_MAX_PAYLOAD_SIZE_IN_BYTES

/*
 * Return the kind of a point-to-point packet: MUHWI_PACKET_TYPE_FIFO, _PUT or _GET (paced gets are
 * invalid).
 */
static inline unsigned mu_packet_type(const MUHWI_PacketHeader_t *h)
{
	return h->NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0;
}

static inline unsigned mu_coll_route(const MUHWI_PacketHeader_t *h)
{
	return h->NetworkHeader.collective.Byte2.Byte2 >> 4;
}

static inline int mu_is_coll(const MUHWI_PacketHeader_t *h)
{
	return h->NetworkHeader.pt2pt.Data_Packet_Type == MUHWI_COLLECTIVE_DATA_PACKET_TYPE;
}

/*
 * Check a descriptor from software or from a remote get as the datasheet demands (docs/hardware.md
 * 3.3). Returns 0 or -EINVAL.
 */
static inline int mu_desc_check(const MUHWI_Descriptor_t *d)
{
	unsigned type = mu_packet_type(&d->PacketHeader);

	if (d->PacketHeader.NetworkHeader.pt2pt.Data_Packet_Type != MUHWI_PT2PT_DATA_PACKET_TYPE ||
	    type == MUHWI_PACKET_TYPE_PACED_GET || !d->Torus_FIFO_Map ||
	    d->Message_Length > 1ull << 47)
		return -EINVAL;
	if (type == MUHWI_PACKET_TYPE_PUT && !d->Message_Length)
		return -EINVAL;
	if (type == MUHWI_PACKET_TYPE_GET && (!d->Message_Length || d->Message_Length % 64))
		return -EINVAL;
	return 0;
}

/*
 * The same for the FIFOs of a node: collective packets, or puts along a line, of at least one byte.
 */
static inline int mu_node_check(const MUHWI_Descriptor_t *d)
{
	if (!mu_is_coll(&d->PacketHeader) &&
	    (mu_desc_check(d) || !d->PacketHeader.NetworkHeader.pt2pt.Byte2.Deposit))
		return -EINVAL;
	return mu_packet_type(&d->PacketHeader) == MUHWI_PACKET_TYPE_PUT && d->Message_Length &&
		       d->Message_Length <= 1ull << 47
		   ? 0
		   : -EINVAL;
}

/* The same for a collective descriptor of software's own, in a FIFO of a channel. */
static inline int mu_coll_check(const MUHWI_Descriptor_t *d)
{
	return mu_packet_type(&d->PacketHeader) != MUHWI_PACKET_TYPE_PACED_GET &&
		       d->Message_Length <= MU_PACKET_PAYLOAD
		   ? 0
		   : -EINVAL;
}

/* Return the number of packets of a message of `bytes` bytes: at least one. */
static inline uint64_t mu_packet_count(uint64_t bytes)
{
	return bytes ? (bytes + MU_PACKET_PAYLOAD - 1) / MU_PACKET_PAYLOAD : 1;
}

/*
 * The offset of a direct put: 37 bits of the datasheet, ten further bits above them, the atomic
 * mark.
 */
static inline uint64_t mu_put_offset(const MUHWI_PacketHeader_t *h)
{
	uint64_t off = (uint64_t)h->messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_MSB << 32 |
		       h->messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_LSB |
		       (uint64_t)h->messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_Extra
			   << 37;

	if (h->messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_Atomic)
		off |= MUHWI_ATOMIC_ADDRESS_INDICATOR;
	return off;
}

static inline void mu_put_offset_set(MUHWI_PacketHeader_t *h, uint64_t off)
{
	h->messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_LSB = (uint32_t)off;
	h->messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_MSB = off >> 32 & 0x1f;
	h->messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_Extra = off >> 37 & 0x3ff;
	h->messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_Atomic =
	    (off & MUHWI_ATOMIC_ADDRESS_INDICATOR) != 0;
}

/* The offset of a memory-FIFO packet: 37 bits. */
static inline uint64_t mu_fifo_offset(const MUHWI_PacketHeader_t *h)
{
	return (uint64_t)h->messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_MSB << 32 |
	       h->messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_LSB;
}

static inline void mu_fifo_offset_set(MUHWI_PacketHeader_t *h, uint64_t off)
{
	h->messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_LSB = (uint32_t)off;
	h->messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_MSB = off >> 32 & 0x1f;
}

/*
 * Make the header of the packet with the bytes [offset, offset + result) of the message. offset is
 * below Message_Length (or 0), and a multiple of 512 unless the message is a put. Returns the bytes
 * of payload, 0 .. 512; Size counts them in chunks of 32, the last one padded.
 */
static inline uint32_t mu_packetize(const MUHWI_Descriptor_t *d, uint64_t offset,
				    MUHWI_PacketHeader_t *h)
{
	uint64_t left = d->Message_Length - offset;
	uint32_t bytes = left < MU_PACKET_PAYLOAD ? (uint32_t)left : MU_PACKET_PAYLOAD;
	int last = left <= MU_PACKET_PAYLOAD;

	*h = d->PacketHeader;
	h->NetworkHeader.pt2pt.Byte8.Size = (bytes + 31) / 32;
	switch (mu_packet_type(h)) {
	case MUHWI_PACKET_TYPE_FIFO:
		if (offset) /* software may use the field of a one-packet message */
			mu_fifo_offset_set(h, mu_fifo_offset(h) + offset);
		h->NetworkHeader.pt2pt.Byte2.Interrupt = last && d->Half_Word1.Interrupt;
		break;
	case MUHWI_PACKET_TYPE_PUT:
		if (offset) /* its bits lie in four fields */
			mu_put_offset_set(h, mu_put_offset(h) + offset);
		h->messageUnitHeader.Packet_Types.Direct_Put.Valid_Bytes_In_Payload =
		    (uint16_t)bytes;
		break;
	default:
		break;
	}
	return bytes;
}

#endif
