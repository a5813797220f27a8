/* SPDX-License-Identifier: BSD-3-Clause */
/* What descriptors are made from, and the calls that make them. docs/hardware.md 3. */
#ifndef QT_SPI_INCLUDE_MU_DESCRIPTOR_H
#define QT_SPI_INCLUDE_MU_DESCRIPTOR_H

#include "hwi/include/bqc/MU_Descriptor.h"
#include "spi/include/mu/Fifo.h"

typedef struct MUSPI_BaseDescriptorInfoFields {
	uint32_t Pre_Fetch_Only;
	uint64_t Payload_Address;
	uint64_t Message_Length;
	uint64_t Torus_FIFO_Map;
	MUHWI_Destination_t Dest;
} MUSPI_BaseDescriptorInfoFields_t;

typedef struct MUSPI_Pt2PtDescriptorInfoFields {
	uint8_t Hints_ABCD;
	uint8_t Misc1; /* byte 2 of the header, with the hints of E */
	uint8_t Misc2; /* byte 3 */
	uint16_t Skip;
} MUSPI_Pt2PtDescriptorInfoFields_t;

typedef struct MUSPI_CollectiveDescriptorInfoFields {
	uint8_t Op_Code;
	uint16_t Word_Length; /* bytes */
	uint8_t Class_Route;  /* 0 .. 15 */
	uint8_t Misc;         /* byte 3 */
	uint16_t Skip;
} MUSPI_CollectiveDescriptorInfoFields_t;

typedef struct MUSPI_MemoryFIFODescriptorInfoFields {
	uint16_t Rec_FIFO_Id;
	uint64_t Rec_Put_Offset;
	uint32_t Interrupt;
	uint8_t SoftwareBit;
	uint8_t SoftwareBytes[14];
} MUSPI_MemoryFIFODescriptorInfoFields_t;

typedef struct MUSPI_DirectPutDescriptorInfoFields {
	uint16_t Rec_Payload_Base_Address_Id;
	uint64_t Rec_Payload_Offset;
	uint16_t Rec_Counter_Base_Address_Id;
	uint64_t Rec_Counter_Offset;
	uint8_t Pacing;
} MUSPI_DirectPutDescriptorInfoFields_t;

typedef struct MUSPI_RemoteGetDescriptorInfoFields {
	uint8_t Type; /* MUHWI_PACKET_TYPE_GET or _PACED_GET */
	uint16_t Rget_Inj_FIFO_Id;
} MUSPI_RemoteGetDescriptorInfoFields_t;

typedef struct MUSPI_Pt2PtMemoryFIFODescriptorInfo {
	MUSPI_BaseDescriptorInfoFields_t Base;
	MUSPI_Pt2PtDescriptorInfoFields_t Pt2Pt;
	MUSPI_MemoryFIFODescriptorInfoFields_t MemFIFO;
} MUSPI_Pt2PtMemoryFIFODescriptorInfo_t;

typedef struct MUSPI_Pt2PtDirectPutDescriptorInfo {
	MUSPI_BaseDescriptorInfoFields_t Base;
	MUSPI_Pt2PtDescriptorInfoFields_t Pt2Pt;
	MUSPI_DirectPutDescriptorInfoFields_t DirectPut;
} MUSPI_Pt2PtDirectPutDescriptorInfo_t;

typedef struct MUSPI_Pt2PtRemoteGetDescriptorInfo {
	MUSPI_BaseDescriptorInfoFields_t Base;
	MUSPI_Pt2PtDescriptorInfoFields_t Pt2Pt;
	MUSPI_RemoteGetDescriptorInfoFields_t RemoteGet;
} MUSPI_Pt2PtRemoteGetDescriptorInfo_t;

typedef struct MUSPI_CollectiveMemoryFIFODescriptorInfo {
	MUSPI_BaseDescriptorInfoFields_t Base;
	MUSPI_CollectiveDescriptorInfoFields_t Collective;
	MUSPI_MemoryFIFODescriptorInfoFields_t MemFIFO;
} MUSPI_CollectiveMemoryFIFODescriptorInfo_t;

typedef struct MUSPI_CollectiveDirectPutDescriptorInfo {
	MUSPI_BaseDescriptorInfoFields_t Base;
	MUSPI_CollectiveDescriptorInfoFields_t Collective;
	MUSPI_DirectPutDescriptorInfoFields_t DirectPut;
} MUSPI_CollectiveDirectPutDescriptorInfo_t;

typedef struct MUSPI_CollectiveRemoteGetDescriptorInfo {
	MUSPI_BaseDescriptorInfoFields_t Base;
	MUSPI_CollectiveDescriptorInfoFields_t Collective;
	MUSPI_RemoteGetDescriptorInfoFields_t RemoteGet;
} MUSPI_CollectiveRemoteGetDescriptorInfo_t;

#include "quintorus_spi.h"

#endif
