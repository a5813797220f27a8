/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptor, field by field: 64 bytes, what software hands to the messaging unit.
 * Datasheet: Blue Gene/Q MU_Descriptor.h (docs/hardware.md 3).
 *
 *   0 Half_Word0   bit 0 Prefetch_Only       24 Torus_FIFO_Map  injection FIFOs that may carry it
 *   4 Half_Word1   bit 0 Interrupt           32 PacketHeader    the model of every packet's header:
 *   8 Pa_Payload   address (owner's VA)                         Size 16, hints, destination, type
 * ... 16 Message_Length bytes
 */
#ifndef MU_HW_DESC_H
#define MU_HW_DESC_H

#include "emu/hw_packet.h"

#define MUHWI_DESCRIPTOR_PRE_FETCH_ONLY_NO                  0
#define MUHWI_DESCRIPTOR_PRE_FETCH_ONLY_YES                 1
#define MUHWI_DESCRIPTOR_INTERRUPT_ON_PACKET_ARRIVAL        1
#define MUHWI_DESCRIPTOR_DO_NOT_INTERRUPT_ON_PACKET_ARRIVAL 0

#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AM       0x8000ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AP       0x4000ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_BM       0x2000ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_BP       0x1000ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CM       0x0800ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CP       0x0400ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_DM       0x0200ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_DP       0x0100ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_EM       0x0080ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_EP       0x0040ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0   0x0020ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL1   0x0010ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_PRIORITY 0x0008ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_SYSTEM   0x0004ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER    0x0002ull
#define MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CSYSTEM  0x0001ull

/*
 * The mark of atomic addresses is bit 36 on the chip and bit 62 here (docs/hardware.md 5.1); the
 * operation is in the low 3 bits.
 */
#define MUHWI_ATOMIC_ADDRESS_INDICATOR (1ull << 62)

#define MUHWI_ATOMIC_OPCODE_LOAD                        0ull
#define MUHWI_ATOMIC_OPCODE_LOAD_CLEAR                  1ull
#define MUHWI_ATOMIC_OPCODE_LOAD_INCREMENT              2ull
#define MUHWI_ATOMIC_OPCODE_LOAD_DECREMENT              3ull
#define MUHWI_ATOMIC_OPCODE_LOAD_INCREMENT_BOUNDED      4ull
#define MUHWI_ATOMIC_OPCODE_LOAD_DECREMENT_BOUNDED      5ull
#define MUHWI_ATOMIC_OPCODE_LOAD_INCREMENT_IF_EQUAL     6ull
#define MUHWI_ATOMIC_OPCODE_STORE                       0ull
#define MUHWI_ATOMIC_OPCODE_STORE_TWIN                  1ull
#define MUHWI_ATOMIC_OPCODE_STORE_ADD                   2ull
#define MUHWI_ATOMIC_OPCODE_STORE_ADD_COHERENCE_ON_ZERO 3ull
#define MUHWI_ATOMIC_OPCODE_STORE_OR                    4ull
#define MUHWI_ATOMIC_OPCODE_STORE_XOR                   5ull
#define MUHWI_ATOMIC_OPCODE_STORE_MAX_UNSIGNED          6ull
#define MUHWI_ATOMIC_OPCODE_STORE_MAX_SIGNED            7ull

typedef struct MUHWI_Descriptor {
	union {
		struct {
			uint32_t Prefetch_Only : 1;
			uint32_t Unused1 : 31;
		};
		uint32_t Half_Word0;
	} Half_Word0;
	union {
		struct {
			uint32_t Interrupt : 1;
			uint32_t Unused2 : 31;
		};
		uint32_t Half_Word1;
	} Half_Word1;
	uint64_t Pa_Payload;
	uint64_t Message_Length;
	uint64_t Torus_FIFO_Map;
	MUHWI_PacketHeader_t PacketHeader;
} __attribute__((aligned(32))) MUHWI_Descriptor_t;

#ifndef __cplusplus
_Static_assert(sizeof(MUHWI_Descriptor_t) == 64, "a descriptor is 64 bytes");
#endif

#endif
