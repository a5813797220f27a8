/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A descriptor whose effect the program has seen is done: neighbours play ping-pong through FIFOs
 * of one free slot. Each injection finds the slot free, and each descriptor is done when its answer
 * has come, although the program looks once only.
 * usage: spi_done [rounds]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>
#include <spi/include/mu/RecFifo.h>

static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_GIBarrier_t barrier;
static unsigned char inj_memory[128] __attribute__((aligned(64)));
static unsigned char rec_memory[1 << 12] __attribute__((aligned(64)));
static BG_CoordinateMapping_t map[64];

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"
#include "tests/muspi/spi_fifo.h"

static int on_packet(void *arg, MUHWI_PacketHeader_t *h, uint32_t bytes)
{
	(void)arg, (void)h, (void)bytes;
	return 0;
}

static void set_up(MUHWI_Descriptor_t *d, const BG_CoordinateMapping_t *to)
{
	Kernel_InjFifoAttributes_t ia = {0};
	Kernel_RecFifoAttributes_t ra = {0};
	MUSPI_Pt2PtMemoryFIFODescriptorInfo_t info = {0};
	uint32_t id = 0;

	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, 1, &id, &ia));
	REQUIRE(!Kernel_AllocateRecFifos(0, &rec, 1, &id, &ra));
	init_fifos(&inj, inj_memory, sizeof inj_memory, &rec, rec_memory, sizeof rec_memory);
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!Kernel_RecFifoEnable(0, 0x8000));
	MUSPI_RegisterRecvFunction(on_packet, NULL, 0);
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AP;
	MUSPI_SetUpDestination(&info.Base.Dest, to->a, to->b, to->c, to->d, to->e);
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	MUSPI_CreatePt2PtMemoryFIFODescriptor(d, &info);
}

/* Without a call, so that the MU's own thread does the work. */
static void wait_for_packet(MUSPI_RecFifo_t *f)
{
	volatile MUHWI_Fifo_t *hw = f->_fifo.hwfifo;

	while (hw->pa_tail == hw->pa_head)
		;
	while (!MUSPI_RecFifoPoll(f, 1))
		;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	uint32_t rank = Kernel_GetRank();
	MUHWI_Descriptor_t d;
	uint64_t n = 0;

	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &n) && n == 2);
	set_up(&d, &map[1 - rank]);
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t seq = 0;

		if (!rank)
			REQUIRE((seq = MUSPI_InjFifoInject(&inj._injfifos[0], &d)) == i + 1);
		wait_for_packet(&rec._recfifos[0]);
		if (rank)
			REQUIRE(MUSPI_InjFifoInject(&inj._injfifos[0], &d) == i + 1);
		else
			REQUIRE(MUSPI_CheckDescComplete(&inj._injfifos[0], seq));
	}
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	return check_failures != 0;
}
