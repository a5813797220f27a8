/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program as others write it against the registers: two ranks exchange memory-FIFO messages and
 * puts, one polls the reception FIFO, the other spins on its counter. Includes only what such
 * programs include.
 */
#include <stdio.h>
#include <stdlib.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>

#define ROUNDS 20
#define LONG   5000

static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_BaseAddressTableSubGroup_t bat;
static unsigned char inj_memory[64 * 16] __attribute__((aligned(64)));
static unsigned char rec_memory[4096] __attribute__((aligned(64)));
static unsigned char from[LONG] __attribute__((aligned(64))), to[LONG] __attribute__((aligned(64)));
static volatile uint64_t counter __attribute__((aligned(64)));

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"
#include "tests/muspi/spi_fifo.h"

int main(void)
{
	uint32_t rank = Kernel_GetRank(), id = 0, other = rank ^ 1;
	int raw = getenv("SPI_RAW") != NULL;
	Kernel_InjFifoAttributes_t ia = {0};
	Kernel_RecFifoAttributes_t ra = {0};
	BG_CoordinateMapping_t map[512];
	MUSPI_Pt2PtMemoryFIFODescriptorInfo_t fi;
	MUSPI_Pt2PtDirectPutDescriptorInfo_t pi;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));
	MUSPI_GIBarrier_t barrier;
	uint32_t entries[2] = {0, 1};
	uint64_t ranks, sequence;
	MUSPI_InjFifo_t *f;
	MUSPI_RecFifo_t *r;
	uint32_t sg = 64 / Kernel_ProcessCount() * Kernel_MyTcoord();

	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &ranks));
	if (other >= ranks)
		other = rank;
	REQUIRE(!Kernel_AllocateInjFifos(sg, &inj, 1, &id, &ia));
	REQUIRE(!Kernel_AllocateRecFifos(sg, &rec, 1, &id, &ra));
	REQUIRE(!Kernel_AllocateBaseAddressTable(sg, &bat, 2, entries, 0));
	REQUIRE(!MUSPI_SetBaseAddress(&bat, 0, (uint64_t)to));
	REQUIRE(!MUSPI_SetBaseAddress(&bat, 1, (uint64_t)&counter));
	init_fifos(&inj, inj_memory, sizeof inj_memory, &rec, rec_memory, sizeof rec_memory);
	REQUIRE(!Kernel_RecFifoEnable(sg / 4, 1u << (15 - sg % 4 * 4)));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, KERNEL_INJ_FIFO_ACTIVATE));
	f = MUSPI_IdToInjFifo(0, &inj);
	r = MUSPI_IdToRecFifo(0, &rec);
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	counter = LONG;
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));

	memset(&fi, 0, sizeof fi);
	fi.Base.Payload_Address = (uint64_t)from;
	fi.Base.Torus_FIFO_Map =
	    other == rank || map[rank].a != map[other].a
		? MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AP | MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0
		: MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	MUSPI_SetUpDestination(&fi.Base.Dest, map[other].a, map[other].b, map[other].c,
			       map[other].d, map[other].e);
	fi.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	fi.MemFIFO.Rec_FIFO_Id = (uint16_t)(64 / Kernel_ProcessCount() * map[other].t * 4);
	fi.MemFIFO.SoftwareBytes[0] = 77;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		MUHWI_PacketHeader_t *h = NULL;
		uint32_t bytes = 0;

		if (rank > other)
			while (!(h = MUSPI_getNextPacket(r, &bytes)))
				;
		memset(from, (int)i, sizeof from);
		fi.Base.Message_Length = 8 + i * 20;
		MUSPI_CreatePt2PtMemoryFIFODescriptor(&d, &fi);
		if (raw) { /* with the registers alone */
			memcpy(f->_fifo.va_tail, &d, 64);
			f->_fifo.va_tail = (char *)f->_fifo.va_tail + 64;
			if (f->_fifo.va_tail == f->_fifo.va_end)
				f->_fifo.va_tail = f->_fifo.va_start;
			ppc_msync();
			f->_fifo.hwfifo->pa_tail = (uint64_t)f->_fifo.va_tail;
			while (f->hw_injfifo->descCount < i + 1)
				;
		} else {
			sequence = MUSPI_InjFifoInject(f, &d);
			REQUIRE(sequence == i + 1);
			while (!MUSPI_CheckDescComplete(f, sequence))
				;
		}
		if (!h) {
			if (raw)
				while (r->_fifo.hwfifo->pa_tail == r->_fifo.hwfifo->pa_head)
					;
			while (!(h = MUSPI_getNextPacket(r, &bytes)))
				;
		}
		REQUIRE(bytes == 32 + (8 + i * 20 + 31) / 32 * 32);
		REQUIRE(h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2[0] == 77);
		for (uint32_t k = 0; k < 8 + i * 20; k++)
			REQUIRE(((unsigned char *)(h + 1))[k] == i);
		MUSPI_syncRecFifoHwHead(r);
	}
	/* A put; the other side spins on its counter without a call. */
	for (uint32_t i = 0; i < LONG; i++)
		from[i] = (unsigned char)(i * 7 + rank);
	memset(&pi, 0, sizeof pi);
	pi.Base = fi.Base;
	pi.Base.Message_Length = LONG;
	pi.Pt2Pt = fi.Pt2Pt;
	pi.DirectPut.Rec_Payload_Base_Address_Id =
	    (uint16_t)(64 / Kernel_ProcessCount() * map[other].t * 8);
	pi.DirectPut.Rec_Counter_Base_Address_Id = pi.DirectPut.Rec_Payload_Base_Address_Id + 1;
	pi.DirectPut.Rec_Counter_Offset = MUSPI_GetAtomicOffsetFromBaseAddress(
	    &bat, 1, (uint64_t)&counter, MUHWI_ATOMIC_OPCODE_STORE_ADD);
	MUSPI_CreatePt2PtDirectPutDescriptor(&d, &pi);
	REQUIRE(MUSPI_InjFifoInject(f, &d) != (uint64_t)-1 || raw);
	while (counter)
		;
	for (uint32_t i = 0; i < LONG; i++)
		REQUIRE(to[i] == (unsigned char)(i * 7 + other));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	return 0;
}
