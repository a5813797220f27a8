/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rec_fifo=strict for FIFOs of registers: each node sends to the next more than FIFO and network
 * hold, and moves no head, so that all wait for each other in a circle. spi_full.sh reads the lines
 * that name the FIFOs. The program cannot end.
 */
#include <spi/include/kernel/MU.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"
#include "tests/muspi/spi_fifo.h"

#define SUBGROUP 1u
#define REC_FIFO (4 * SUBGROUP)
#define BYTES    (16u << 20)

static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_RecFifoSubGroup_t rec;
static unsigned char inj_memory[1024] __attribute__((aligned(64)));
static unsigned char rec_memory[4096] __attribute__((aligned(64)));
static unsigned char data[BYTES] __attribute__((aligned(64)));

int main(void)
{
	Kernel_InjFifoAttributes_t inj_attributes = {0};
	Kernel_RecFifoAttributes_t rec_attributes = {0};
	static MUSPI_Pt2PtMemoryFIFODescriptorInfo_t info;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));
	BG_CoordinateMapping_t map[64];
	MUSPI_GIBarrier_t barrier;
	uint64_t tasks, sequence;
	uint32_t id = 0, next;

	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &tasks));
	REQUIRE(!Kernel_AllocateInjFifos(SUBGROUP, &inj, 1, &id, &inj_attributes));
	REQUIRE(!Kernel_AllocateRecFifos(SUBGROUP, &rec, 1, &id, &rec_attributes));
	init_fifos(&inj, inj_memory, sizeof inj_memory, &rec, rec_memory, sizeof rec_memory);
	REQUIRE(!Kernel_RecFifoEnable(0, 1ull << (15 - REC_FIFO)));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	next = (Kernel_GetRank() + 1) % (uint32_t)tasks;
	MUSPI_SetUpDestination(&info.Base.Dest, map[next].a, map[next].b, map[next].c, map[next].d,
			       map[next].e);
	info.Base.Payload_Address = (uint64_t)data;
	info.Base.Message_Length = BYTES;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AP;
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.MemFIFO.Rec_FIFO_Id = REC_FIFO;
	REQUIRE(!MUSPI_CreatePt2PtMemoryFIFODescriptor(&d, &info));
	sequence = MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), &d);
	while (!MUSPI_CheckDescComplete(MUSPI_IdToInjFifo(0, &inj), sequence))
		;
	CHECK(!"all packets have found room");
	return 1;
}
