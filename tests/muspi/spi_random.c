/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors with random bits. Whatever a program writes into its injection FIFO, nothing crashes,
 * the FIFO goes on behind it, and sound messages between them arrive whole. Only the addresses are
 * chosen (good ones, and those of nothing), since any other address is the program's own memory.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>

#include "drivers/base/rng.h"

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"

static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_BaseAddressTableSubGroup_t bat;
static unsigned char fifo[2][4096] __attribute__((aligned(64)));
static unsigned char rec_memory[1 << 16] __attribute__((aligned(64)));

/* All that a sound address leads to; no message is longer than the ends. */
#define LONGEST (1u << 16)
static struct {
	unsigned char begin[LONGEST];
	MUHWI_Descriptor_t queued[8]; /* what gets put into a FIFO */
	unsigned char data[8192], target[1 << 16], end[2 * LONGEST];
} * memory;

static volatile uint64_t counter __attribute__((aligned(64))), sound __attribute__((aligned(64)));
static MUHWI_Destination_t here, other;
static MUHWI_Descriptor_t of_kind[4]; /* to a FIFO, a put, a get, a collective */
static struct drv_rng rng;
static MUSPI_GIBarrier_t barrier;

static uint64_t below(uint64_t n)
{
	return drv_rng_below(&rng, n);
}

static void take_packets(void)
{
	MUSPI_RecFifo_t *r = MUSPI_IdToRecFifo(0, &rec);
	uint32_t bytes;

	while (MUSPI_getNextPacket(r, &bytes)) {
		MUSPI_syncRecFifoHwHead(r);
	}
}

static void send_one(const MUHWI_Descriptor_t *d)
{
	MUSPI_InjFifo_t *at = MUSPI_IdToInjFifo(0, &inj);
	MUHWI_Descriptor_t copy __attribute__((aligned(64))) = *d;
	uint64_t sequence;

	while ((sequence = MUSPI_InjFifoInject(at, &copy)) == (uint64_t)-1)
		take_packets();
	while (!MUSPI_CheckDescComplete(at, sequence))
		take_packets();
}

static void set_up(void)
{
	uint32_t ids[8] = {0, 1, 2, 3, 4, 5, 6, 7};
	Kernel_InjFifoAttributes_t ia[2] = {{0}, {1, 0, 0, 0}};
	Kernel_RecFifoAttributes_t ra[1] = {{0}};
	MUSPI_Pt2PtMemoryFIFODescriptorInfo_t f = {{0}};
	MUSPI_Pt2PtDirectPutDescriptorInfo_t p = {{0}};
	MUSPI_Pt2PtRemoteGetDescriptorInfo_t g = {{0}};
	MUSPI_CollectiveMemoryFIFODescriptorInfo_t c = {{0}};
	Kernel_MemoryRegion_t region;
	Personality_t who;

	memory =
	    mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	REQUIRE(!Kernel_GetPersonality(&who, sizeof who));
	MUSPI_SetUpDestination(&here, who.Network_Config.Acoord, who.Network_Config.Bcoord, 0, 0,
			       0);
	MUSPI_SetUpDestination(&other, (who.Network_Config.Acoord + 1) % who.Network_Config.Anodes,
			       who.Network_Config.Bcoord, 0, 0, 0);
	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, 2, ids, ia));
	REQUIRE(!Kernel_AllocateRecFifos(0, &rec, 1, ids, ra));
	REQUIRE(!Kernel_AllocateBaseAddressTable(0, &bat, 4, ids, 0));
	Kernel_CreateMemoryRegion(&region, fifo, sizeof fifo);
	REQUIRE(!Kernel_InjFifoInit(&inj, 0, &region, 0, sizeof fifo[0] - 1));
	REQUIRE(!Kernel_InjFifoInit(&inj, 1, &region, sizeof fifo[0], sizeof fifo[0] - 1));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 2, ids, 1));
	Kernel_CreateMemoryRegion(&region, rec_memory, sizeof rec_memory);
	REQUIRE(!Kernel_RecFifoInit(&rec, 0, &region, 0, sizeof rec_memory - 1));
	REQUIRE(!Kernel_RecFifoEnable(0, 1 << 15));
	MUSPI_SetBaseAddress(&bat, 0, (uint64_t)memory->target);
	MUSPI_SetBaseAddress(
	    &bat, 1, MUSPI_GetAtomicAddress((uint64_t)&counter, MUHWI_ATOMIC_OPCODE_STORE_ADD));
	MUSPI_SetBaseAddress(
	    &bat, 2, MUSPI_GetAtomicAddress((uint64_t)&sound, MUHWI_ATOMIC_OPCODE_STORE_ADD));
	MUSPI_SetBaseAddress(&bat, 3, 4096); /* a place where nothing is mapped */

	f.Base.Payload_Address = (uint64_t)memory->data;
	f.Base.Message_Length = 64;
	f.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	f.Base.Dest = here;
	f.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	p.Base = g.Base = c.Base = f.Base;
	p.Pt2Pt = g.Pt2Pt = f.Pt2Pt;
	p.DirectPut.Rec_Counter_Base_Address_Id = 1;
	g.Base.Payload_Address = (uint64_t)memory->queued;
	g.RemoteGet.Type = MUHWI_PACKET_TYPE_GET;
	g.RemoteGet.Rget_Inj_FIFO_Id = 1;
	c.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
	c.Collective.Op_Code = MUHWI_COLLECTIVE_OP_CODE_OR;
	c.Collective.Word_Length = 4;
	c.Collective.Misc =
	    MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD | MUHWI_COLLECTIVE_TYPE_BROADCAST;
	MUSPI_CreatePt2PtMemoryFIFODescriptor(&of_kind[0], &f);
	MUSPI_CreatePt2PtDirectPutDescriptor(&of_kind[1], &p);
	MUSPI_CreatePt2PtRemoteGetDescriptor(&of_kind[2], &g);
	MUSPI_CreateCollectiveMemoryFIFODescriptor(&of_kind[3], &c);
}

/* An address where a read does no harm: this program's data, nothing, or out of range. */
static uint64_t some_source(void)
{
	static const uint64_t wrong[] = {
	    0, 1, 4096, 1ull << 46, (1ull << 47) - 8, 1ull << 47, UINT64_MAX, UINT64_MAX - 63};
	uint64_t way = below(4);

	if (way == 0)
		return wrong[below(sizeof wrong / sizeof *wrong)];
	if (way == 1)
		return (uint64_t)memory->queued + 64 * below(8);
	return (uint64_t)memory->data + below(2 * sizeof memory->data);
}

/* An offset behind a base: mostly into the target, else far off. */
static uint64_t some_offset(void)
{
	static const uint64_t wrong[] = {1ull << 45, 1ull << 46, (1ull << 47) - 8, 1ull << 58,
					 (1ull << 58) + 2};

	return below(4) ? below(sizeof memory->target) : wrong[below(sizeof wrong / sizeof *wrong)];
}

static void randomize(MUHWI_Descriptor_t *d, unsigned kind)
{
	static const uint64_t lengths[] = {0,   1,   8,    63,      64,         128,
					   512, 513, 1000, LONGEST, 1ull << 32, UINT64_MAX};
	unsigned char *bytes = (void *)d;
	uint64_t length = below(3) ? lengths[below(7)] : lengths[below(12)];

	*d = of_kind[kind];
	if (below(3) == 0) {
		d->PacketHeader.NetworkHeader.pt2pt.Destination = other;
		MUSPI_SetTorusInjectionFIFOMap(d, below(2) ? 0xffff : 0x8000 >> below(16));
	}
	for (uint64_t n = below(4); n; n--) {
		uint64_t at = below(64);

		bytes[at] = (unsigned char)(below(2) ? bytes[at] ^ 1u << below(8) : below(256));
	}
	/* A sound collective packet would wait for the other nodes: this route is not there. */
	d->PacketHeader.NetworkHeader.collective.Byte2.Class_Route =
	    d->PacketHeader.NetworkHeader.pt2pt.Data_Packet_Type ==
		    MUHWI_COLLECTIVE_DATA_PACKET_TYPE
		? 5
		: d->PacketHeader.NetworkHeader.collective.Byte2.Class_Route;
	/* The addresses last: random bits would make addresses of memory of this program. */
	d->Pa_Payload = some_source();
	d->Message_Length = length;
	if ((d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0) == 0x40) {
		MUSPI_SetRecPayloadBaseAddressInfo(d,
						   (uint32_t)(below(4)   ? 0
							      : below(4) ? 3
									 : 3 + below(1021)),
						   some_offset());
		MUSPI_SetRecCounterBaseAddressInfo(d, (uint32_t)(below(4) ? 1 : 3 + below(1021)),
						   0);
	}
}

static void send_sound(void)
{
	MUHWI_Descriptor_t d = of_kind[1];

	MUSPI_SetRecCounterBaseAddressInfo(&d, 2, 0);
	sound = 64;
	send_one(&d);
	while (sound)
		take_packets();
}

int main(int argc, char **argv)
{
	bool is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	const char *seed = getenv("QT_SEED"), *is_long = getenv("QT_LONG");
	unsigned rounds = is_virtual ? 2000 : 4000;

	if (is_long && atoi(is_long))
		rounds *= 20;
	set_up();
	drv_rng_seed(&rng, (seed ? strtoull(seed, NULL, 0) : 1) + Kernel_GetRank());
	for (unsigned i = 0; i < rounds; i++) {
		MUHWI_Descriptor_t d;

		for (unsigned k = 0; k < 8; k++)
			randomize(&memory->queued[k], (unsigned)below(4));
		randomize(&d, (unsigned)below(4));
		send_one(&d);
		if (i % 16 == 0)
			send_sound();
	}
	send_sound();
	/* Others may still send to this task, which has to take it. */
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	MUSPI_GIBarrierEnter(&barrier);
	while (MUSPI_GIBarrierPoll(&barrier))
		take_packets();
	return 0;
}
