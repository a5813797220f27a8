/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that waits without a call for a part of what a counter counts: two nodes put three
 * packets into each other's memory and wait until the counter shows them, although it is not zero
 * then, and then until the last byte of a second put is there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>

#define BYTES 1500u
#define MORE  1000u /* what the counter counts beyond the puts */

static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_BaseAddressTableSubGroup_t table;
static MUSPI_GIBarrier_t barrier;
static unsigned char inj_memory[1024] __attribute__((aligned(64)));
static unsigned char from[BYTES], to[BYTES];
static volatile uint64_t counter __attribute__((aligned(64)));
static BG_CoordinateMapping_t map[64];

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"

static void set_up(MUHWI_Descriptor_t *d, const BG_CoordinateMapping_t *peer)
{
	Kernel_InjFifoAttributes_t ia = {0};
	MUSPI_Pt2PtDirectPutDescriptorInfo_t info = {0};
	uint32_t ids[2] = {0, 1};
	Kernel_MemoryRegion_t region;

	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, 1, ids, &ia));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, inj_memory, sizeof inj_memory));
	REQUIRE(!Kernel_InjFifoInit(&inj, 0, &region,
				    (uint64_t)inj_memory - (uint64_t)region.BaseVa,
				    sizeof inj_memory - 1));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, ids, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!Kernel_AllocateBaseAddressTable(0, &table, 2, ids, 0));
	REQUIRE(!MUSPI_SetBaseAddress(&table, 0, (uint64_t)to));
	REQUIRE(!MUSPI_SetBaseAddress(
	    &table, 1, MUSPI_GetAtomicAddress((uint64_t)&counter, MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AP;
	info.Base.Payload_Address = (uint64_t)from;
	info.Base.Message_Length = BYTES;
	MUSPI_SetUpDestination(&info.Base.Dest, peer->a, peer->b, peer->c, peer->d, peer->e);
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.DirectPut.Rec_Counter_Base_Address_Id = 1;
	MUSPI_CreatePt2PtDirectPutDescriptor(d, &info);
}

int main(void)
{
	uint32_t rank = Kernel_GetRank();
	volatile unsigned char *last = &to[BYTES - 1];
	MUHWI_Descriptor_t d;
	uint64_t n = 0;

	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &n) && n == 2);
	set_up(&d, &map[1 - rank]);
	memset(from, 1, sizeof from);
	counter = 2 * BYTES + MORE;
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	REQUIRE(MUSPI_InjFifoInject(&inj._injfifos[0], &d) == 1);
	while (counter != BYTES + MORE)
		;
	CHECK(*last == 1);
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	from[BYTES - 1] = 2;
	REQUIRE(MUSPI_InjFifoInject(&inj._injfifos[0], &d) == 2);
	while (*last != 2)
		;
	while (counter != MORE)
		;
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	return check_failures != 0;
}
