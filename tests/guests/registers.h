/* SPDX-License-Identifier: BSD-3-Clause */
/* What guest programs of the MU's registers share: one injection FIFO, and a partner. */
#ifndef TESTS_GUESTS_REGISTERS_H
#define TESTS_GUESTS_REGISTERS_H

#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/location.h>
#include <spi/include/mu/InjFifo.h>

#include "tests/guests/guest.h"

/* FIFO `id` of subgroup 0, on `bytes` bytes of memory. */
static inline void set_up_fifo(MUSPI_InjFifoSubGroup_t *inj, uint32_t id, void *memory,
			       size_t bytes)
{
	Kernel_InjFifoAttributes_t attributes = {0};
	Kernel_MemoryRegion_t region;

	REQUIRE(!Kernel_AllocateInjFifos(0, inj, 1, &id, &attributes));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, memory, bytes));
	REQUIRE(!Kernel_InjFifoInit(inj, id, &region, 0, bytes - 1));
	REQUIRE(!Kernel_InjFifoActivate(inj, 1, &id, KERNEL_INJ_FIFO_ACTIVATE));
}

/* Entry 0 is for payloads, entry 1 adds to counters. */
static inline void set_up_table(MUSPI_BaseAddressTableSubGroup_t *bat, void *payload,
				volatile void *counter)
{
	uint32_t entries[2] = {0, 1};

	REQUIRE(!Kernel_AllocateBaseAddressTable(0, bat, 2, entries, 0));
	REQUIRE(!MUSPI_SetBaseAddress(bat, 0, (uint64_t)payload));
	REQUIRE(!MUSPI_SetBaseAddress(
	    bat, 1, MUSPI_GetAtomicAddress((uint64_t)counter, MUHWI_ATOMIC_OPCODE_STORE_ADD)));
}

/* Address the partner, which is the task itself where the number of tasks is odd. */
static inline void address_partner(MUSPI_Pt2PtDirectPutDescriptorInfo_t *put)
{
	static BG_CoordinateMapping_t map[64];
	uint32_t me = Kernel_GetRank(), to;
	uint64_t ranks;

	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &ranks));
	to = ranks % 2 ? me : me ^ 1;
	put->Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_PRIORITY;
	MUSPI_SetUpDestination(&put->Base.Dest, map[to].a, map[to].b, map[to].c, map[to].d,
			       map[to].e);
	put->Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	put->DirectPut.Rec_Counter_Base_Address_Id = 1;
}

#endif
