/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchange layer of a lattice code: each node sends its ten faces to its ten neighbours by
 * puts, one injection FIFO a direction, with descriptors that are made once; it fills slots and
 * stores tails itself, and waits by spinning on one counter without a call. Then everybody sends to
 * everybody by remote gets of several descriptors.
 */
#include <stdio.h>
#include <stdlib.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>

#define FACES 10
#define WORDS 96 /* of a face: 768 bytes, two packets */

static MUSPI_InjFifoSubGroup_t inj[2];
static MUSPI_BaseAddressTableSubGroup_t bat;
static unsigned char fifo[FACES + 1][64 * 16] __attribute__((aligned(64)));
static uint64_t face_out[FACES][WORDS] __attribute__((aligned(64)));
static uint64_t face_in[FACES][WORDS] __attribute__((aligned(64)));
static uint64_t all_in[4096][8] __attribute__((aligned(64))), mine[8] __attribute__((aligned(64)));
static volatile uint64_t counter __attribute__((aligned(64)));
static MUHWI_Descriptor_t face_desc[FACES] __attribute__((aligned(64)));
static MUHWI_Descriptor_t get_payload[4096][2] __attribute__((aligned(64)));
static BG_CoordinateMapping_t map[4096];
static uint32_t rank, size[5], me[5];

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"

static MUSPI_InjFifo_t *fifo_of(int face)
{
	return MUSPI_IdToInjFifo(face % 8, &inj[face / 8]);
}

/* Return the rank of the node at these coordinates. */
static uint32_t rank_of(const uint32_t *c, uint64_t ranks)
{
	for (uint32_t i = 0; i < ranks; i++)
		if (map[i].a == c[0] && map[i].b == c[1] && map[i].c == c[2] && map[i].d == c[3] &&
		    map[i].e == c[4])
			return i;
	return UINT32_MAX;
}

static uint32_t neighbour_rank(int face, uint64_t ranks)
{
	uint32_t c[5];
	int d = face / 2;

	memcpy(c, me, sizeof c);
	c[d] = face & 1 ? (c[d] + 1) % size[d] : (c[d] + size[d] - 1) % size[d];
	return rank_of(c, ranks);
}

static void make_faces(uint64_t ranks)
{
	for (int i = 0; i < FACES; i++) {
		MUSPI_Pt2PtDirectPutDescriptorInfo_t info;
		uint32_t to = neighbour_rank(i, ranks);

		memset(&info, 0, sizeof info);
		info.Base.Payload_Address = (uint64_t)face_out[i];
		info.Base.Message_Length = sizeof face_out[i];
		info.Base.Torus_FIFO_Map = to == rank ? MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0
						      : MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AM >> i;
		MUSPI_SetUpDestination(&info.Base.Dest, map[to].a, map[to].b, map[to].c, map[to].d,
				       map[to].e);
		info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
		if (to != rank && i < 8)
			info.Pt2Pt.Hints_ABCD = (uint8_t)(0x80 >> i);
		else if (to != rank)
			info.Pt2Pt.Misc1 = (uint8_t)(0x80 >> (i - 8));
		info.DirectPut.Rec_Payload_Offset = sizeof face_in[0] * (uint64_t)(i ^ 1);
		info.DirectPut.Rec_Counter_Base_Address_Id = 1;
		REQUIRE(!MUSPI_CreatePt2PtDirectPutDescriptor(&face_desc[i], &info));
	}
}

static void sweep_faces(uint64_t ranks, uint64_t number)
{
	MUSPI_GIBarrier_t barrier;

	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	counter = sizeof face_in;
	for (int i = 0; i < FACES; i++)
		for (int k = 0; k < WORDS; k++)
			face_out[i][k] = number << 32 | rank << 8 | (uint32_t)i;
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	for (int i = 0; i < FACES; i++) { /* with the registers alone */
		MUSPI_InjFifo_t *f = fifo_of(i);
		char *at = f->_fifo.va_tail;

		memcpy(at, &face_desc[i], 64);
		at = at + 64 == (char *)f->_fifo.va_end ? f->_fifo.va_start : at + 64;
		f->_fifo.va_tail = at;
		ppc_msync();
		f->_fifo.hwfifo->pa_tail = (uint64_t)at;
	}
	while (counter)
		;
	for (int i = 0; i < FACES; i++) {
		uint64_t from = neighbour_rank(i, ranks);

		for (int k = 0; k < WORDS; k++)
			REQUIRE(face_in[i][k] == (number << 32 | from << 8 | (uint32_t)(i ^ 1)));
	}
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
}

/* Read 64 bytes of everybody: a put back, and another 0 bytes further that counts twice. */
static void gather_all(uint64_t ranks)
{
	MUSPI_GIBarrier_t barrier;

	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	for (int k = 0; k < 8; k++)
		mine[k] = rank * 1000 + (uint32_t)k;
	counter = 2 * sizeof mine * ranks;
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	for (uint32_t i = 0; i < ranks; i++) {
		MUSPI_Pt2PtDirectPutDescriptorInfo_t back;
		MUSPI_Pt2PtRemoteGetDescriptorInfo_t get;
		MUHWI_Descriptor_t d __attribute__((aligned(64)));
		uint64_t bit = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_PRIORITY;

		memset(&back, 0, sizeof back);
		/* The address of the other rank's `mine`, which exchange_addresses() brought. */
		back.Base.Payload_Address = all_in[i][0];
		back.Base.Message_Length = sizeof mine;
		back.Base.Torus_FIFO_Map = i == rank ? MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0
						     : MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AP;
		MUSPI_SetUpDestination(&back.Base.Dest, me[0], me[1], me[2], me[3], me[4]);
		back.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
		back.DirectPut.Rec_Payload_Base_Address_Id = 2;
		back.DirectPut.Rec_Payload_Offset = sizeof all_in[0] * i;
		back.DirectPut.Rec_Counter_Base_Address_Id = 1;
		MUSPI_CreatePt2PtDirectPutDescriptor(&get_payload[i][0], &back);
		get_payload[i][1] = get_payload[i][0];
		memset(&get, 0, sizeof get);
		get.Base.Payload_Address = (uint64_t)get_payload[i];
		get.Base.Message_Length = 128;
		get.Base.Torus_FIFO_Map = bit;
		MUSPI_SetUpDestination(&get.Base.Dest, map[i].a, map[i].b, map[i].c, map[i].d,
				       map[i].e);
		get.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_HIGH_PRIORITY;
		get.RemoteGet.Type = MUHWI_PACKET_TYPE_GET;
		get.RemoteGet.Rget_Inj_FIFO_Id = 10;
		MUSPI_CreatePt2PtRemoteGetDescriptor(&d, &get);
		while (MUSPI_InjFifoInject(fifo_of(0), &d) == (uint64_t)-1)
			;
	}
	while (counter)
		;
	for (uint32_t i = 0; i < ranks; i++)
		for (int k = 0; k < 8; k++)
			REQUIRE(all_in[i][k] == i * 1000 + (uint32_t)k);
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
}

/* Tell each rank the address of this rank's `mine`, by a put of 8 bytes. */
static void exchange_addresses(uint64_t ranks)
{
	static uint64_t address __attribute__((aligned(64)));
	MUSPI_GIBarrier_t barrier;

	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	address = (uint64_t)mine;
	counter = 8 * ranks;
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	for (uint32_t i = 0; i < ranks; i++) {
		MUSPI_Pt2PtDirectPutDescriptorInfo_t info;
		MUHWI_Descriptor_t d __attribute__((aligned(64)));

		memset(&info, 0, sizeof info);
		info.Base.Payload_Address = (uint64_t)&address;
		info.Base.Message_Length = 8;
		info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_PRIORITY;
		MUSPI_SetUpDestination(&info.Base.Dest, map[i].a, map[i].b, map[i].c, map[i].d,
				       map[i].e);
		info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
		info.DirectPut.Rec_Payload_Base_Address_Id = 2;
		info.DirectPut.Rec_Payload_Offset = sizeof all_in[0] * rank;
		info.DirectPut.Rec_Counter_Base_Address_Id = 1;
		MUSPI_CreatePt2PtDirectPutDescriptor(&d, &info);
		while (MUSPI_InjFifoInject(fifo_of(0), &d) == (uint64_t)-1)
			;
	}
	while (counter)
		;
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
}

int main(int argc, char **argv)
{
	uint32_t low[8] = {0, 1, 2, 3, 4, 5, 6, 7}, high[3] = {0, 1, 2};
	Kernel_InjFifoAttributes_t attributes[8];
	Kernel_MemoryRegion_t region;
	Personality_t p;
	uint64_t ranks;
	int sweeps = argc > 1 && argv[1][0] == 'v' ? 1 : 3;

	rank = Kernel_GetRank();
	REQUIRE(!Kernel_GetPersonality(&p, sizeof p));
	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &ranks));
	memcpy(size,
	       (uint32_t[]){p.Network_Config.Anodes, p.Network_Config.Bnodes,
			    p.Network_Config.Cnodes, p.Network_Config.Dnodes,
			    p.Network_Config.Enodes},
	       sizeof size);
	memcpy(me,
	       (uint32_t[]){p.Network_Config.Acoord, p.Network_Config.Bcoord,
			    p.Network_Config.Ccoord, p.Network_Config.Dcoord,
			    p.Network_Config.Ecoord},
	       sizeof me);
	memset(attributes, 0, sizeof attributes);
	REQUIRE(!Kernel_AllocateInjFifos(0, &inj[0], 8, low, attributes));
	attributes[2].RemoteGet = 1;
	REQUIRE(!Kernel_AllocateInjFifos(1, &inj[1], 3, high, attributes));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, fifo, sizeof fifo));
	for (uint32_t i = 0; i <= FACES; i++)
		REQUIRE(!Kernel_InjFifoInit(&inj[i / 8], i % 8, &region, i * sizeof fifo[0],
					    sizeof fifo[0] - 1));
	REQUIRE(!Kernel_InjFifoActivate(&inj[0], 8, low, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!Kernel_InjFifoActivate(&inj[1], 3, high, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!Kernel_AllocateBaseAddressTable(0, &bat, 3, low, 0));
	REQUIRE(!MUSPI_SetBaseAddress(&bat, 0, (uint64_t)face_in));
	REQUIRE(!MUSPI_SetBaseAddress(
	    &bat, 1, MUSPI_GetAtomicAddress((uint64_t)&counter, MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	REQUIRE(!MUSPI_SetBaseAddress(&bat, 2, (uint64_t)all_in));
	make_faces(ranks);
	for (int i = 0; i < sweeps; i++)
		sweep_faces(ranks, (uint64_t)i);
	exchange_addresses(ranks);
	gather_all(ranks);
	return 0;
}
