/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets with the deposit bit: each node on the line receives a put and packets of a memory FIFO.
 * Both ends of each dimension send along it in turn; with an
 * argument only the first does.
 * usage: spi_line [virtual]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/RecFifo.h>

#define BYTES   1000u /* of the put: two packets */
#define PACKETS 3u    /* of the message */

static unsigned char data[2048] __attribute__((aligned(64))),
    results[2048] __attribute__((aligned(64)));
static unsigned char rec_memory[1 << 14] __attribute__((aligned(64)));
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_GIBarrier_t barrier;
static int here[5], nodes[5];

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"
#include "tests/muspi/spi_part.h"

static void set_up(void)
{
	uint32_t id = 0;
	Kernel_RecFifoAttributes_t ra = {0};
	Kernel_MemoryRegion_t region;

	set_up_part(results);
	REQUIRE(!Kernel_AllocateRecFifos(0, &rec, 1, &id, &ra));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, rec_memory, sizeof rec_memory));
	REQUIRE(!Kernel_RecFifoInit(&rec, 0, &region, 0, sizeof rec_memory - 1));
	REQUIRE(!Kernel_RecFifoEnable(0, 1 << 15));
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	here[0] = p.Network_Config.Acoord, nodes[0] = p.Network_Config.Anodes;
	here[1] = p.Network_Config.Bcoord, nodes[1] = p.Network_Config.Bnodes;
	here[2] = p.Network_Config.Ccoord, nodes[2] = p.Network_Config.Cnodes;
	here[3] = p.Network_Config.Dcoord, nodes[3] = p.Network_Config.Dnodes;
	here[4] = p.Network_Config.Ecoord, nodes[4] = p.Network_Config.Enodes;
}

/* The byte that the origin of this node's line sends first. */
static unsigned char first_byte(int dimension, int minus)
{
	unsigned x = (unsigned)(dimension * 2 + minus + 1);

	for (int i = 0; i < 5; i++)
		x = x * 5 + (i == dimension ? 0 : (unsigned)here[i]);
	return (unsigned char)x;
}

static void set_line(int dimension, int minus, MUSPI_BaseDescriptorInfoFields_t *base,
		     MUSPI_Pt2PtDescriptorInfoFields_t *pt2pt)
{
	int to[5];
	unsigned link = (unsigned)(2 * dimension + !minus);

	memcpy(to, here, sizeof to);
	to[dimension] = minus ? 0 : nodes[dimension] - 1;
	base->Payload_Address = (uint64_t)data;
	base->Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AM >> link;
	MUSPI_SetUpDestination(&base->Dest, (uint8_t)to[0], (uint8_t)to[1], (uint8_t)to[2],
			       (uint8_t)to[3], (uint8_t)to[4]);
	pt2pt->Misc1 = MUHWI_PACKET_DEPOSIT;
	if (link < 8)
		pt2pt->Hints_ABCD = (uint8_t)(0x80 >> link);
	else
		pt2pt->Misc1 |= minus ? MUHWI_PACKET_HINT_EM : MUHWI_PACKET_HINT_EP;
	pt2pt->Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
}

static void inject(MUHWI_Descriptor_t *d)
{
	while (MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), d) == (uint64_t)-1)
		;
}

static void send_both(int dimension, int minus)
{
	MUSPI_Pt2PtDirectPutDescriptorInfo_t put;
	MUSPI_Pt2PtMemoryFIFODescriptorInfo_t fifo;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));

	memset(&put, 0, sizeof put);
	memset(&fifo, 0, sizeof fifo);
	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(first_byte(dimension, minus) + i * 7);
	set_line(dimension, minus, &put.Base, &put.Pt2Pt);
	put.Base.Message_Length = BYTES;
	put.DirectPut.Rec_Counter_Base_Address_Id = 1;
	REQUIRE(!MUSPI_CreatePt2PtDirectPutDescriptor(&d, &put));
	inject(&d);
	set_line(dimension, minus, &fifo.Base, &fifo.Pt2Pt);
	fifo.Base.Message_Length = PACKETS * 512u;
	REQUIRE(!MUSPI_CreatePt2PtMemoryFIFODescriptor(&d, &fifo));
	inject(&d);
}

static void take_packet(unsigned number, unsigned char first)
{
	uint32_t bytes;
	MUHWI_PacketHeader_t *h;

	while (!(h = MUSPI_getNextPacket(MUSPI_IdToRecFifo(0, &rec), &bytes)))
		quintorus_mu_poll();
	CHECK_EQ(bytes, 512 + 32);
	CHECK_EQ(h->messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_LSB, 512 * number);
	for (unsigned i = 0; i < 512; i++)
		REQUIRE(((unsigned char *)(h + 1))[i] ==
			(unsigned char)(first + (512 * number + i) * 7));
	MUSPI_syncRecFifoHwHead(MUSPI_IdToRecFifo(0, &rec));
}

static void run_line(int dimension, int minus)
{
	bool is_origin = here[dimension] == (minus ? nodes[dimension] - 1 : 0);
	unsigned char first = first_byte(dimension, minus);
	uint32_t bytes;

	memset(results, 0, sizeof results);
	counter = is_origin ? 0 : BYTES;
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	if (is_origin)
		send_both(dimension, minus);
	while (counter)
		quintorus_mu_poll();
	for (unsigned i = 0; i < BYTES; i++)
		REQUIRE(results[i] == (is_origin ? 0 : (unsigned char)(first + i * 7)));
	for (unsigned i = BYTES; i < sizeof results; i++)
		REQUIRE(!results[i]);
	for (unsigned i = 0; i < PACKETS && !is_origin; i++)
		take_packet(i, first);
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	CHECK(!MUSPI_getNextPacket(MUSPI_IdToRecFifo(0, &rec), &bytes));
}

int main(int argc, char **argv)
{
	(void)argv;
	set_up();
	for (int d = 0; d < 5; d++)
		for (int minus = 0; minus < (argc > 1 ? 1 : 2) && nodes[d] > 1; minus++)
			run_line(d, minus);
	return check_failures != 0;
}
