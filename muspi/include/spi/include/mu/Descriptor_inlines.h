/* SPDX-License-Identifier: BSD-3-Clause */
/* Setters of descriptors. Arguments that correspond to a macro of a header byte take its value.
 * docs/hardware.md 3. */
#ifndef QT_SPI_INCLUDE_MU_DESCRIPTOR_INLINES_H
#define QT_SPI_INCLUDE_MU_DESCRIPTOR_INLINES_H

#include <stdio.h>

#include "spi/include/mu/Descriptor.h"

static inline __attribute__((unused)) void MUSPI_SetUpDestination(MUHWI_Destination_t *to,
								  uint32_t a, uint32_t b,
								  uint32_t c, uint32_t d,
								  uint32_t e)
{
	to->Destination.Destination =
	    (a & 63) << 24 | (b & 63) << 18 | (c & 63) << 12 | (d & 63) << 6 | (e & 63);
}
static inline __attribute__((unused)) void MUSPI_DescriptorZeroOut(MUHWI_Descriptor_t *d)
{
	memset((void *)d, 0, sizeof *d);
}
static inline __attribute__((unused)) uint8_t MUSPI_DescriptorGetNumPacketChunks(uint64_t bytes)
{
	(void)bytes;
	return 16;
}
static inline __attribute__((unused)) void MUSPI_DescriptorDumpHex(char *title,
								   MUHWI_Descriptor_t *d)
{
	const uint32_t *word = (const uint32_t *)(const void *)d;
	int i;

	printf("%s\n", title);
	for (i = 0; i < 16; i += 4)
		printf("%02x: %08x %08x %08x %08x\n", i * 4, word[i], word[i + 1], word[i + 2],
		       word[i + 3]);
}

static inline __attribute__((unused)) void MUSPI_SetDataPacketType(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Data_Packet_Type = v;
}

static inline __attribute__((unused)) void MUSPI_SetMessageUnitPacketType(MUHWI_Descriptor_t *d,
									  uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 & ~0xc0u) |
		      ((unsigned)v & 0xc0u));
}

static inline __attribute__((unused)) void MUSPI_SetPrefetchOnly(MUHWI_Descriptor_t *d, uint32_t v)
{
	d->Half_Word0.Prefetch_Only = v & 1;
}

static inline __attribute__((unused)) void MUSPI_SetSize(MUHWI_Descriptor_t *d)
{
	d->PacketHeader.NetworkHeader.pt2pt.Byte8.Size = 16;
}

static inline __attribute__((unused)) void MUSPI_SetPayload(MUHWI_Descriptor_t *d, uint64_t pa,
							    uint64_t bytes)
{
	d->Pa_Payload = pa;
	d->Message_Length = bytes;
}

static inline __attribute__((unused)) void MUSPI_SetTorusInjectionFIFOMap(MUHWI_Descriptor_t *d,
									  uint64_t v)
{
	d->Torus_FIFO_Map = v;
}

static inline __attribute__((unused)) void MUSPI_SetDestination(MUHWI_Descriptor_t *d,
								MUHWI_Destination_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Destination = v;
}

static inline __attribute__((unused)) void MUSPI_SetBaseFields(MUHWI_Descriptor_t *d,
							       MUSPI_BaseDescriptorInfoFields_t *f)
{
	MUSPI_SetPrefetchOnly(d, f->Pre_Fetch_Only);
	MUSPI_SetSize(d);
	MUSPI_SetPayload(d, f->Payload_Address, f->Message_Length);
	MUSPI_SetTorusInjectionFIFOMap(d, f->Torus_FIFO_Map);
	MUSPI_SetDestination(d, f->Dest);
}

static inline __attribute__((unused)) void MUSPI_SetHintsABCD(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Hints = v;
}

static inline __attribute__((unused)) void MUSPI_SetHints(MUHWI_Descriptor_t *d, uint8_t abcd,
							  uint8_t e)
{
	d->PacketHeader.NetworkHeader.pt2pt.Hints = abcd;
	d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 & ~0xc0u) |
		      ((unsigned)e & 0xc0u));
}

static inline __attribute__((unused)) void MUSPI_SetPt2PtMisc1(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 = v;
}

static inline __attribute__((unused)) void MUSPI_SetRouteToIONode(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 & ~0x20u) |
		      ((unsigned)v & 0x20u));
}

static inline __attribute__((unused)) void MUSPI_SetReturnFromIONode(MUHWI_Descriptor_t *d,
								     uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 & ~0x18u) |
		      ((unsigned)v & 0x18u));
}

static inline __attribute__((unused)) void MUSPI_SetRouting(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 & ~0x04u) |
		      ((unsigned)v & 0x04u));
}

static inline __attribute__((unused)) void MUSPI_SetDeposit(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 & ~0x02u) |
		      ((unsigned)v & 0x02u));
}

static inline __attribute__((unused)) void MUSPI_SetPt2PtMisc2(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Byte3.Byte3 = v;
}

static inline __attribute__((unused)) void MUSPI_SetPt2PtVirtualChannel(MUHWI_Descriptor_t *d,
									uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Byte3.Byte3 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.pt2pt.Byte3.Byte3 & ~0xe0u) |
		      ((unsigned)v & 0xe0u));
}

static inline __attribute__((unused)) void MUSPI_SetZoneRouting(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Byte3.Byte3 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.pt2pt.Byte3.Byte3 & ~0x18u) |
		      ((unsigned)v & 0x18u));
}

static inline __attribute__((unused)) void MUSPI_SetStayOnBubble(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Byte3.Byte3 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.pt2pt.Byte3.Byte3 & ~0x04u) |
		      ((unsigned)v & 0x04u));
}

static inline __attribute__((unused)) void MUSPI_SetPt2PtSkip(MUHWI_Descriptor_t *d, uint16_t v)
{
	d->PacketHeader.NetworkHeader.pt2pt.Injection_Info.Skip = (uint8_t)v;
}

static inline __attribute__((unused)) void
MUSPI_SetPt2PtFields(MUHWI_Descriptor_t *d, MUSPI_Pt2PtDescriptorInfoFields_t *f)
{
	MUSPI_SetHintsABCD(d, f->Hints_ABCD);
	MUSPI_SetPt2PtMisc1(d, f->Misc1);
	MUSPI_SetPt2PtMisc2(d, f->Misc2);
	MUSPI_SetPt2PtSkip(d, f->Skip);
}

static inline __attribute__((unused)) void MUSPI_SetOpCode(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.collective.Byte1.Byte1 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.collective.Byte1.Byte1 & ~0xf0u) |
		      ((unsigned)v & 0xf0u));
}

static inline __attribute__((unused)) void MUSPI_SetWordLength(MUHWI_Descriptor_t *d,
							       uint16_t bytes)
{
	unsigned n = 0;

	while (n < 7 && (4u << n) < bytes)
		n++;
	d->PacketHeader.NetworkHeader.collective.Byte1.Byte1 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.collective.Byte1.Byte1 & ~0x0fu) |
		      ((unsigned)n & 0x0fu));
}

static inline __attribute__((unused)) void MUSPI_SetClassRoute(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.collective.Byte2.Class_Route = v & 15;
}

static inline __attribute__((unused)) void MUSPI_SetCollectiveMisc(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.collective.Byte3.Byte3 = v;
}

static inline __attribute__((unused)) void MUSPI_SetCollectiveVirtualChannel(MUHWI_Descriptor_t *d,
									     uint8_t v)
{
	d->PacketHeader.NetworkHeader.collective.Byte3.Byte3 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.collective.Byte3.Byte3 & ~0xe0u) |
		      ((unsigned)v & 0xe0u));
}

static inline __attribute__((unused)) void MUSPI_SetCollectiveType(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.NetworkHeader.collective.Byte3.Byte3 =
	    (uint8_t)((d->PacketHeader.NetworkHeader.collective.Byte3.Byte3 & ~0x18u) |
		      ((unsigned)v & 0x18u));
}

static inline __attribute__((unused)) void MUSPI_SetCollectiveSkip(MUHWI_Descriptor_t *d,
								   uint16_t v)
{
	d->PacketHeader.NetworkHeader.collective.Injection_Info.Skip = (uint8_t)v;
}

static inline __attribute__((unused)) void
MUSPI_SetCollectiveFields(MUHWI_Descriptor_t *d, MUSPI_CollectiveDescriptorInfoFields_t *f)
{
	MUSPI_SetOpCode(d, f->Op_Code);
	MUSPI_SetWordLength(d, f->Word_Length);
	MUSPI_SetClassRoute(d, f->Class_Route);
	MUSPI_SetCollectiveMisc(d, f->Misc);
	MUSPI_SetCollectiveSkip(d, f->Skip);
}

static inline __attribute__((unused)) void MUSPI_SetRecFIFOId(MUHWI_Descriptor_t *d, uint16_t v)
{
	d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id = v & 511;
}

static inline __attribute__((unused)) void MUSPI_SetRecPutOffset(MUHWI_Descriptor_t *d, uint64_t v)
{
	/* The 37 bits of the chip lie alike in both headers; a put has more of them here. */
	d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_LSB = (uint32_t)v;
	d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_MSB = v >> 32 & 31;
	if ((d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0) == MUHWI_PACKET_TYPE_PUT) {
		d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_Extra =
		    v >> 37 & 1023;
		d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_Atomic =
		    v >> 62 & 1;
	}
}

static inline __attribute__((unused)) void MUSPI_SetInterrupt(MUHWI_Descriptor_t *d, uint32_t v)
{
	d->Half_Word1.Interrupt = v & 1;
}

static inline __attribute__((unused)) void MUSPI_SetSoftwareBit(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Unused1 = v & 1;
}

static inline __attribute__((unused)) void MUSPI_SetSoftwareBytes(MUHWI_Descriptor_t *d, uint8_t *v)
{
	memcpy(d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, v, 14);
}

static inline __attribute__((unused)) void MUSPI_SetSoftwareByte(MUHWI_Descriptor_t *d,
								 uint8_t index, uint8_t v)
{
	d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Unused2[index] = v;
}

static inline __attribute__((unused)) void
MUSPI_SetMemoryFIFOFields(MUHWI_Descriptor_t *d, MUSPI_MemoryFIFODescriptorInfoFields_t *f)
{
	MUSPI_SetRecFIFOId(d, f->Rec_FIFO_Id);
	MUSPI_SetRecPutOffset(d, f->Rec_Put_Offset);
	MUSPI_SetInterrupt(d, f->Interrupt);
	MUSPI_SetSoftwareBit(d, f->SoftwareBit);
	MUSPI_SetSoftwareBytes(d, f->SoftwareBytes);
}

static inline __attribute__((unused)) void
MUSPI_SetRecPayloadBaseAddressInfo(MUHWI_Descriptor_t *d, uint16_t id, uint64_t offset)
{
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Rec_Payload_Base_Address_Id =
	    id & 1023;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_LSB = (uint32_t)offset;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_MSB =
	    offset >> 32 & 31;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_Extra =
	    offset >> 37 & 1023;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Put_Offset_Atomic =
	    offset >> 62 & 1;
}

static inline __attribute__((unused)) void
MUSPI_SetRecCounterBaseAddressInfo(MUHWI_Descriptor_t *d, uint16_t id, uint64_t offset)
{
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Rec_Counter_Base_Address_Id =
	    id & 1023;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset = offset;
}

static inline __attribute__((unused)) void MUSPI_SetPacing(MUHWI_Descriptor_t *d, uint8_t v)
{
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Pacing = v & 1;
}

static inline __attribute__((unused)) void
MUSPI_SetDirectPutFields(MUHWI_Descriptor_t *d, MUSPI_DirectPutDescriptorInfoFields_t *f)
{
	MUSPI_SetRecPayloadBaseAddressInfo(d, f->Rec_Payload_Base_Address_Id,
					   f->Rec_Payload_Offset);
	MUSPI_SetRecCounterBaseAddressInfo(d, f->Rec_Counter_Base_Address_Id,
					   f->Rec_Counter_Offset);
	MUSPI_SetPacing(d, f->Pacing);
}

static inline __attribute__((unused)) void MUSPI_SetRemoteGetInjFIFOId(MUHWI_Descriptor_t *d,
								       uint16_t v)
{
	d->PacketHeader.messageUnitHeader.Packet_Types.Remote_Get.Rget_Inj_FIFO_Id = v & 1023;
}

static inline __attribute__((unused)) void
MUSPI_SetRemoteGetFields(MUHWI_Descriptor_t *d, MUSPI_RemoteGetDescriptorInfoFields_t *f)
{
	MUSPI_SetMessageUnitPacketType(d, f->Type);
	MUSPI_SetRemoteGetInjFIFOId(d, f->Rget_Inj_FIFO_Id);
}

static inline __attribute__((unused)) int
MUSPI_CreatePt2PtMemoryFIFODescriptor(MUHWI_Descriptor_t *d,
				      MUSPI_Pt2PtMemoryFIFODescriptorInfo_t *info)
{
	MUSPI_DescriptorZeroOut(d);
	MUSPI_SetDataPacketType(d, MUHWI_PT2PT_DATA_PACKET_TYPE);
	MUSPI_SetMessageUnitPacketType(d, MUHWI_PACKET_TYPE_FIFO);
	MUSPI_SetBaseFields(d, &info->Base);
	MUSPI_SetPt2PtFields(d, &info->Pt2Pt);
	MUSPI_SetMemoryFIFOFields(d, &info->MemFIFO);
	return 0;
}

static inline __attribute__((unused)) int
MUSPI_CreatePt2PtDirectPutDescriptor(MUHWI_Descriptor_t *d,
				     MUSPI_Pt2PtDirectPutDescriptorInfo_t *info)
{
	MUSPI_DescriptorZeroOut(d);
	MUSPI_SetDataPacketType(d, MUHWI_PT2PT_DATA_PACKET_TYPE);
	MUSPI_SetMessageUnitPacketType(d, MUHWI_PACKET_TYPE_PUT);
	MUSPI_SetBaseFields(d, &info->Base);
	MUSPI_SetPt2PtFields(d, &info->Pt2Pt);
	MUSPI_SetDirectPutFields(d, &info->DirectPut);
	return 0;
}

static inline __attribute__((unused)) int
MUSPI_CreatePt2PtRemoteGetDescriptor(MUHWI_Descriptor_t *d,
				     MUSPI_Pt2PtRemoteGetDescriptorInfo_t *info)
{
	MUSPI_DescriptorZeroOut(d);
	MUSPI_SetDataPacketType(d, MUHWI_PT2PT_DATA_PACKET_TYPE);
	MUSPI_SetMessageUnitPacketType(d, MUHWI_PACKET_TYPE_GET);
	MUSPI_SetBaseFields(d, &info->Base);
	MUSPI_SetPt2PtFields(d, &info->Pt2Pt);
	MUSPI_SetRemoteGetFields(d, &info->RemoteGet);
	return 0;
}

static inline __attribute__((unused)) int
MUSPI_CreateCollectiveMemoryFIFODescriptor(MUHWI_Descriptor_t *d,
					   MUSPI_CollectiveMemoryFIFODescriptorInfo_t *info)
{
	MUSPI_DescriptorZeroOut(d);
	MUSPI_SetDataPacketType(d, MUHWI_COLLECTIVE_DATA_PACKET_TYPE);
	MUSPI_SetMessageUnitPacketType(d, MUHWI_PACKET_TYPE_FIFO);
	MUSPI_SetBaseFields(d, &info->Base);
	MUSPI_SetCollectiveFields(d, &info->Collective);
	MUSPI_SetMemoryFIFOFields(d, &info->MemFIFO);
	return 0;
}

static inline __attribute__((unused)) int
MUSPI_CreateCollectiveDirectPutDescriptor(MUHWI_Descriptor_t *d,
					  MUSPI_CollectiveDirectPutDescriptorInfo_t *info)
{
	MUSPI_DescriptorZeroOut(d);
	MUSPI_SetDataPacketType(d, MUHWI_COLLECTIVE_DATA_PACKET_TYPE);
	MUSPI_SetMessageUnitPacketType(d, MUHWI_PACKET_TYPE_PUT);
	MUSPI_SetBaseFields(d, &info->Base);
	MUSPI_SetCollectiveFields(d, &info->Collective);
	MUSPI_SetDirectPutFields(d, &info->DirectPut);
	return 0;
}

static inline __attribute__((unused)) int
MUSPI_CreateCollectiveRemoteGetDescriptor(MUHWI_Descriptor_t *d,
					  MUSPI_CollectiveRemoteGetDescriptorInfo_t *info)
{
	MUSPI_DescriptorZeroOut(d);
	MUSPI_SetDataPacketType(d, MUHWI_COLLECTIVE_DATA_PACKET_TYPE);
	MUSPI_SetMessageUnitPacketType(d, MUHWI_PACKET_TYPE_GET);
	MUSPI_SetBaseFields(d, &info->Base);
	MUSPI_SetCollectiveFields(d, &info->Collective);
	MUSPI_SetRemoteGetFields(d, &info->RemoteGet);
	return 0;
}

#include "quintorus_spi.h"

#endif
