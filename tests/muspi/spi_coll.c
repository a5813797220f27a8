/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class routes as programs use them: barriers, an allreduce through route 0 into a reception FIFO
 * and by puts, a broadcast from each rank, and a route of its own over half of the nodes.
 */
#include <stdio.h>
#include <stdlib.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/collective.h>
#include <spi/include/mu/Classroute.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>

static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_BaseAddressTableSubGroup_t bat;
static unsigned char inj_memory[64 * 8] __attribute__((aligned(64)));
static unsigned char rec_memory[8192] __attribute__((aligned(64)));
static uint64_t in[256] __attribute__((aligned(64))), out[256] __attribute__((aligned(64)));
static volatile uint64_t counter __attribute__((aligned(64)));
static uint32_t rank;

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"

static void inject_descriptor(MUHWI_Descriptor_t *d)
{
	uint64_t s;

	while ((s = MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), d)) == (uint64_t)-1)
		;
	while (!MUSPI_CheckDescComplete(MUSPI_IdToInjFifo(0, &inj), s))
		;
}

static void run_collective(unsigned route, unsigned op, unsigned type, uint64_t bytes)
{
	MUSPI_CollectiveMemoryFIFODescriptorInfo_t info;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));

	memset(&info, 0, sizeof info);
	info.Base.Payload_Address = (uint64_t)in;
	info.Base.Message_Length = bytes;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
	info.Collective.Op_Code = (uint8_t)op;
	info.Collective.Word_Length = 8;
	info.Collective.Class_Route = (uint8_t)route;
	info.Collective.Misc = (uint8_t)(MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD | type);
	MUSPI_CreateCollectiveMemoryFIFODescriptor(&d, &info);
	inject_descriptor(&d);
}

static const uint64_t *next_payload(void)
{
	MUHWI_PacketHeader_t *h;
	uint32_t bytes;

	while (!(h = MUSPI_getNextPacket(MUSPI_IdToRecFifo(0, &rec), &bytes)))
		quintorus_mu_poll();
	MUSPI_syncRecFifoHwHead(MUSPI_IdToRecFifo(0, &rec));
	return (uint64_t *)(h + 1);
}

int main(void)
{
	uint32_t id = 0, ids[16], n, entries[2] = {0, 1};
	Kernel_InjFifoAttributes_t ia = {0};
	Kernel_RecFifoAttributes_t ra = {0};
	Kernel_MemoryRegion_t region;
	MUSPI_GIBarrier_t barrier, own;
	Personality_t p;
	uint64_t ranks, sum = 0;
	BG_CoordinateMapping_t map[4096];

	rank = Kernel_GetRank();
	REQUIRE(!Kernel_GetPersonality(&p, sizeof p));
	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &ranks));
	REQUIRE(ranks == (uint64_t)ND_TORUS_SIZE(p.Network_Config));
	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, 1, &id, &ia));
	REQUIRE(Kernel_AllocateInjFifos(0, &inj, 1, &id, &ia) == EAGAIN);
	REQUIRE(!Kernel_AllocateRecFifos(0, &rec, 1, &id, &ra));
	REQUIRE(!Kernel_AllocateBaseAddressTable(0, &bat, 2, entries, 0));
	REQUIRE(!MUSPI_SetBaseAddress(&bat, 0, (uint64_t)out));
	REQUIRE(!MUSPI_SetBaseAddress(
	    &bat, 1, MUSPI_GetAtomicAddress((uint64_t)&counter, MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	Kernel_CreateMemoryRegion(&region, inj_memory, sizeof inj_memory);
	REQUIRE(!Kernel_InjFifoInit(&inj, 0, &region, 0, sizeof inj_memory - 1));
	Kernel_CreateMemoryRegion(&region, rec_memory, sizeof rec_memory);
	REQUIRE(!Kernel_RecFifoInit(&rec, 0, &region, 0, sizeof rec_memory - 1));
	REQUIRE(!Kernel_RecFifoEnable(0, 1 << 15));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	counter = sizeof in;
	for (int i = 0; i < 10; i++)
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));

	/* Sums of ranks, packet by packet. */
	for (uint64_t i = 0; i < ranks; i++)
		sum += i;
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 256; i++)
			in[i] = rank + i + round;
		run_collective(0, MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD,
			       MUHWI_COLLECTIVE_TYPE_ALLREDUCE, 1024);
		for (unsigned packet = 0; packet < 2; packet++) {
			const uint64_t *v = next_payload();

			for (unsigned i = 0; i < 64; i++)
				REQUIRE(v[i] == sum + ranks * (packet * 64 + i + round));
		}
	}
	/* A broadcast from each rank in turn. */
	for (uint64_t root = 0; root < ranks && root < 4; root++) {
		if (rank == root) {
			in[0] = 1000 + root;
			run_collective(0, MUHWI_COLLECTIVE_OP_CODE_OR,
				       MUHWI_COLLECTIVE_TYPE_BROADCAST, 8);
		}
		REQUIRE(next_payload()[0] == 1000 + root);
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	}
	/* An allreduce of doubles by puts; the counter tells, without a call. */
	{
		MUSPI_CollectiveDirectPutDescriptorInfo_t info;
		MUHWI_Descriptor_t d __attribute__((aligned(64)));

		for (unsigned i = 0; i < 256; i++) {
			double v = rank * 0.5 + i;

			memcpy(&in[i], &v, 8);
		}
		memset(&info, 0, sizeof info);
		info.Base.Payload_Address = (uint64_t)in;
		info.Base.Message_Length = sizeof in;
		info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
		info.Collective.Op_Code = MUHWI_COLLECTIVE_OP_CODE_FLOATING_POINT_ADD;
		info.Collective.Word_Length = 8;
		info.Collective.Misc =
		    MUHWI_PACKET_VIRTUAL_CHANNEL_USER_SUB_COMM | MUHWI_COLLECTIVE_TYPE_ALLREDUCE;
		info.DirectPut.Rec_Counter_Base_Address_Id = 1;
		MUSPI_CreateCollectiveDirectPutDescriptor(&d, &info);
		inject_descriptor(&d);
		while (counter)
			;
		for (unsigned i = 0; i < 256; i++) {
			double v;

			memcpy(&v, &out[i], 8);
			REQUIRE(v == (double)sum * 0.5 + (double)i * (double)ranks);
		}
	}
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	/* A route over the nodes with A 0. */
	REQUIRE(!Kernel_QueryCollectiveClassRoutes(&n, ids, sizeof ids) && n == 13);
	if (p.Network_Config.Acoord == 0) {
		CR_RECT_T box;
		CR_COORD_T root,
		    me = CR_COORD_INIT(0, p.Network_Config.Bcoord, p.Network_Config.Ccoord,
				       p.Network_Config.Dcoord, p.Network_Config.Ecoord);
		ClassRoute_t c;
		int d0;
		uint64_t mine = 0, sum2 = 0;

		box.ll = (CR_COORD_T)CR_COORD_INIT(0, 0, 0, 0, 0);
		box.ur = (CR_COORD_T)CR_COORD_INIT(
		    0, p.Network_Config.Bnodes - 1, p.Network_Config.Cnodes - 1,
		    p.Network_Config.Dnodes - 1, p.Network_Config.Enodes - 1);
		MUSPI_PickWorldRoot(&box, NULL, &root, &d0);
		MUSPI_BuildNodeClassroute(&box, &root, &me, &box, NULL, d0, &c);
		c.input |= BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_INPUT_VC_SUBCOMM;
		REQUIRE(!Kernel_AllocateCollectiveClassRoute(3));
		REQUIRE(Kernel_AllocateCollectiveClassRoute(3) == EAGAIN);
		REQUIRE(!Kernel_SetCollectiveClassRoute(3, &c));
		REQUIRE(!Kernel_AllocateGlobalInterruptClassRoute(3, NULL));
		REQUIRE(!Kernel_SetGlobalInterruptClassRoute(3, &c));
		for (uint64_t i = 0; i < ranks; i++)
			if (map[i].a == 0) {
				sum2 += i;
				mine++;
			}
		in[0] = rank;
		run_collective(3, MUHWI_COLLECTIVE_OP_CODE_SIGNED_ADD,
			       MUHWI_COLLECTIVE_TYPE_ALLREDUCE, 8);
		REQUIRE(next_payload()[0] == sum2);
		/* The allreduces are the barriers that the initialisation asks for. */
		REQUIRE(!MUSPI_GIBarrierInitMU1(3));
		run_collective(3, MUHWI_COLLECTIVE_OP_CODE_SIGNED_ADD,
			       MUHWI_COLLECTIVE_TYPE_ALLREDUCE, 8);
		next_payload();
		REQUIRE(!MUSPI_GIBarrierInitMU2(3, 0));
		run_collective(3, MUHWI_COLLECTIVE_OP_CODE_SIGNED_ADD,
			       MUHWI_COLLECTIVE_TYPE_ALLREDUCE, 8);
		next_payload();
		REQUIRE(!MUSPI_GIBarrierInit(&own, 3));
		for (int i = 0; i < 5; i++)
			REQUIRE(!MUSPI_GIBarrierEnterAndWait(&own));
	}
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	return 0;
}
