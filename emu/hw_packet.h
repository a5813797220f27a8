/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packet, byte by byte: 32-byte header (12 network, 20 messaging unit), 0 .. 512 bytes of
 * payload in chunks of 32. Datasheet: Blue Gene/Q MU_PacketCommon.h, MU_Pt2PtNetworkHeader.h,
 * MU_CollectiveNetworkHeader.h, MU_MessageUnitHeader.h (docs/hardware.md 2).
 *
 * Multi-byte fields are in host order and bit-fields are declared in reverse within their unit, so
 * that the documented masks fit Byte1/2/3/8 and Destination on a little-endian host. A raw header
 * never leaves for a host of another byte order (the wire's version field says which).
 */
#ifndef EMU_HW_PACKET_H
#define EMU_HW_PACKET_H

#include <assert.h>
#include <stdint.h>

#define MUHWI_PT2PT_DATA_PACKET_TYPE      0x55
#define MUHWI_COLLECTIVE_DATA_PACKET_TYPE 0x5a

#define MUHWI_PACKET_HEADER_SIZE_IN_BYTES      32
#define MUHWI_PACKET_MAX_PAYLOAD_SIZE_IN_BYTES 512

/* Byte 1 and byte 2: hint bits. */
#define MUHWI_PACKET_HINT_AM     0x80
#define MUHWI_PACKET_HINT_AP     0x40
#define MUHWI_PACKET_HINT_BM     0x20
#define MUHWI_PACKET_HINT_BP     0x10
#define MUHWI_PACKET_HINT_CM     0x08
#define MUHWI_PACKET_HINT_CP     0x04
#define MUHWI_PACKET_HINT_DM     0x02
#define MUHWI_PACKET_HINT_DP     0x01
#define MUHWI_PACKET_HINT_EM     0x80
#define MUHWI_PACKET_HINT_EP     0x40
#define MUHWI_PACKET_HINT_A_NONE 0
#define MUHWI_PACKET_HINT_B_NONE 0
#define MUHWI_PACKET_HINT_C_NONE 0
#define MUHWI_PACKET_HINT_D_NONE 0
#define MUHWI_PACKET_HINT_E_NONE 0

/* Byte 2. */
#define MUHWI_PACKET_ROUTE_TO_IO_NODE                       0x20
#define MUHWI_PACKET_DO_NOT_ROUTE_TO_IO_NODE                0
#define MUHWI_PACKET_RETURN_FROM_IO_NODE_USING_TORUS_PORT_6 0x08
#define MUHWI_PACKET_RETURN_FROM_IO_NODE_USING_TORUS_PORT_7 0x10
#define MUHWI_PACKET_RETURN_FROM_IO_NODE_USING_IO_PORT      0x18
#define MUHWI_PACKET_USE_DYNAMIC_ROUTING                    0x04
#define MUHWI_PACKET_USE_DETERMINISTIC_ROUTING              0
#define MUHWI_PACKET_DEPOSIT                                0x02
#define MUHWI_PACKET_DO_NOT_DEPOSIT                         0
#define MUHWI_PACKET_INTERRUPT_ON_PACKET_ARRIVAL            0x01
#define MUHWI_PACKET_DO_NOT_INTERRUPT_ON_PACKET_ARRIVAL     0

/* Byte 3. */
#define MUHWI_PACKET_VIRTUAL_CHANNEL_DYNAMIC           0x00
#define MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC     0x20
#define MUHWI_PACKET_VIRTUAL_CHANNEL_HIGH_PRIORITY     0x40
#define MUHWI_PACKET_VIRTUAL_CHANNEL_SYSTEM            0x60
#define MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD   0x80
#define MUHWI_PACKET_VIRTUAL_CHANNEL_USER_SUB_COMM     0xa0
#define MUHWI_PACKET_VIRTUAL_CHANNEL_SYSTEM_COLLECTIVE 0xc0
#define MUHWI_PACKET_ZONE_ROUTING_0                    0x00
#define MUHWI_PACKET_ZONE_ROUTING_1                    0x08
#define MUHWI_PACKET_ZONE_ROUTING_2                    0x10
#define MUHWI_PACKET_ZONE_ROUTING_3                    0x18
#define MUHWI_PACKET_STAY_ON_BUBBLE                    0x04
#define MUHWI_PACKET_DO_NOT_STAY_ON_BUBBLE             0
#define MUHWI_PACKET_ADDRESSED                         0x01 /* own: see emu/directory.h */

/* Byte 8. */
#define MUHWI_PACKET_TYPE_FIFO      0x00
#define MUHWI_PACKET_TYPE_PUT       0x40
#define MUHWI_PACKET_TYPE_GET       0x80
#define MUHWI_PACKET_TYPE_PACED_GET 0xc0

#define MUHWI_PACKET_DIRECT_PUT_IS_NOT_PACED 0
#define MUHWI_PACKET_DIRECT_PUT_IS_PACED     1

/* Collective header. */
#define MUHWI_COLLECTIVE_OP_CODE_AND                0x00
#define MUHWI_COLLECTIVE_OP_CODE_OR                 0x10
#define MUHWI_COLLECTIVE_OP_CODE_XOR                0x20
#define MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD       0x40
#define MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_MIN       0x50
#define MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_MAX       0x60
#define MUHWI_COLLECTIVE_OP_CODE_SIGNED_ADD         0x80
#define MUHWI_COLLECTIVE_OP_CODE_SIGNED_MIN         0x90
#define MUHWI_COLLECTIVE_OP_CODE_SIGNED_MAX         0xa0
#define MUHWI_COLLECTIVE_OP_CODE_FLOATING_POINT_ADD 0xc0
#define MUHWI_COLLECTIVE_OP_CODE_FLOATING_POINT_MIN 0xd0
#define MUHWI_COLLECTIVE_OP_CODE_FLOATING_POINT_MAX 0xe0
#define MUHWI_COLLECTIVE_TYPE_BROADCAST             0x00
#define MUHWI_COLLECTIVE_TYPE_ALLREDUCE             0x10
#define MUHWI_COLLECTIVE_TYPE_REDUCE                0x18

/* A<<24 | B<<18 | C<<12 | D<<6 | E. */
typedef struct MUHWI_Destination {
	union {
		struct {
			uint32_t E_Destination : 6;
			uint32_t D_Destination : 6;
			uint32_t C_Destination : 6;
			uint32_t B_Destination : 6;
			uint32_t A_Destination : 6;
			uint32_t Reserved2 : 2;
		};
		uint32_t Destination;
	} Destination;
} __attribute__((packed)) MUHWI_Destination_t;

typedef struct MUHWI_Pt2PtNetworkHeader {
	uint8_t Data_Packet_Type; /* 0 */
	uint8_t Hints;            /* 1: A- A+ B- B+ C- C+ D- D+ from the top */
	union {
		struct {
			uint8_t Interrupt : 1;
			uint8_t Deposit : 1;
			uint8_t Dynamic : 1;
			uint8_t Return_From_IO_Node : 2;
			uint8_t Route_To_IO_Node : 1;
			/* The names of the two bits contradict the macros, as on the chip. */
			uint8_t Hint_E_minus : 1;
			uint8_t Hint_E_plus : 1;
		};
		uint8_t Byte2;
	} Byte2;
	union {
		struct {
			uint8_t Reserved1 : 2;
			uint8_t Stay_On_Bubble : 1;
			uint8_t Zone_Routing_Id : 2;
			uint8_t Virtual_channel : 3;
		};
		uint8_t Byte3;
	} Byte3;
	MUHWI_Destination_t Destination; /* 4 */
	union {
		struct {
			uint8_t Size : 5; /* payload in chunks of 32 bytes, 0 .. 16 */
			uint8_t Reserved3 : 1;
			uint8_t Packet_Type : 2;
		};
		uint8_t Byte8;
	} Byte8;
	union {
		struct {
			uint16_t Reserved4;
			uint8_t Skip;
		} __attribute__((packed));
		uint8_t Injection_Info[3];
	} Injection_Info;
} __attribute__((packed)) MUHWI_Pt2PtNetworkHeader_t;

typedef struct MUHWI_CollectiveNetworkHeader {
	uint8_t Data_Packet_Type; /* 0 */
	union {
		struct {
			uint8_t Word_Length : 4;
			uint8_t OpCode : 4;
		};
		uint8_t Byte1;
	} Byte1;
	union {
		struct {
			uint8_t Interrupt : 1;
			uint8_t Reserved1 : 3;
			uint8_t Class_Route : 4;
		};
		uint8_t Byte2;
	} Byte2;
	union {
		struct {
			uint8_t Reserved2 : 3;
			uint8_t Collective_Type : 2;
			uint8_t Virtual_channel : 3;
		};
		uint8_t Byte3;
	} Byte3;
	MUHWI_Destination_t Destination;
	union {
		struct {
			uint8_t Size : 5;
			uint8_t Reserved3 : 1;
			uint8_t Packet_Type : 2;
		};
		uint8_t Byte8;
	} Byte8;
	union {
		struct {
			uint16_t Reserved4;
			uint8_t Skip;
		} __attribute__((packed));
		uint8_t Injection_Info[3];
	} Injection_Info;
} __attribute__((packed)) MUHWI_CollectiveNetworkHeader_t;

typedef struct MUHWI_MessageUnitHeader {
	union {
		struct {
			uint16_t Put_Offset_MSB : 5;
			uint16_t Unused1 : 1;
			uint16_t Rec_FIFO_Id : 9;
			uint16_t Reserved1 : 1;
			uint32_t Put_Offset_LSB; /* hardware adds 512 for each further packet */
			uint8_t Unused2[14];     /* bytes 18 .. 31 are for software */
		} __attribute__((packed)) Memory_FIFO;
		struct {
			uint16_t Put_Offset_MSB : 5;
			uint16_t Pacing : 1;
			uint16_t Rec_Payload_Base_Address_Id : 10;
			uint32_t Put_Offset_LSB;
			uint16_t Rec_Counter_Base_Address_Id : 10;
			uint16_t Unused1 : 6;
			uint16_t Valid_Bytes_In_Payload; /* 1 .. 512, set by hardware */
			/* Own extension, because addresses are virtual here: the offset has 47 bits
			 * (ten of them in this field), and bit 62 is a mark of its own. */
			uint16_t Put_Offset_Extra : 10; /* bits 37 .. 46 */
			uint16_t Put_Offset_Atomic : 1;
			uint16_t Is_Asking : 1; /* ours, between hosts: mu_desc_ask() */
			uint16_t Unused2 : 4;
			uint64_t Counter_Offset;
		} __attribute__((packed)) Direct_Put;
		struct {
			uint16_t Unused1 : 6;
			uint16_t Rget_Inj_FIFO_Id : 10;
			uint8_t Unused2[18];
		} __attribute__((packed)) Remote_Get;
	} Packet_Types;
} __attribute__((packed)) MUHWI_MessageUnitHeader_t;

typedef struct MUHWI_PacketHeader {
	union {
		MUHWI_Pt2PtNetworkHeader_t pt2pt;
		MUHWI_CollectiveNetworkHeader_t collective;
	} NetworkHeader;
	MUHWI_MessageUnitHeader_t messageUnitHeader;
} __attribute__((packed)) MUHWI_PacketHeader_t;

#ifndef __cplusplus
#define EMU_SIZE(type, n) _Static_assert(sizeof(type) == (n), #type " is " #n " bytes")
EMU_SIZE(MUHWI_Destination_t, 4);
EMU_SIZE(MUHWI_Pt2PtNetworkHeader_t, 12);
EMU_SIZE(MUHWI_CollectiveNetworkHeader_t, 12);
EMU_SIZE(MUHWI_MessageUnitHeader_t, 20);
EMU_SIZE(MUHWI_PacketHeader_t, 32);
#endif

#endif
