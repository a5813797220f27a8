/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The small functions of the interface, each called once and looked at: setters of descriptors
 * touch their field and no other, FIFOs are filled and emptied by hand and through functions,
 * addresses, thresholds, interrupts and waits. One process, which sends to itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/location.h>
#include <spi/include/kernel/thread.h>
#include <spi/include/l2/lock.h>
#include <spi/include/mu/Addressing.h>
#include <spi/include/mu/Classroute.h>
#include <spi/include/mu/InjFifo.h>
#include <spi/include/mu/RecFifo.h>
#include <spi/include/wu/wait.h>

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"

#define REC_BYTES 4096u

static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_BaseAddressTableSubGroup_t bat;
static unsigned char inj_memory[64 * 8] __attribute__((aligned(64)));
static unsigned char rec_memory[REC_BYTES] __attribute__((aligned(64)));
static unsigned char data[512] __attribute__((aligned(64)));
static MUHWI_Destination_t self;

/* ---- setters ---- */

/* Run a setter on a descriptor of zeros and on one of ones: only the bits of `field` may change. */
#define SETS(call, field)                                                                          \
	do {                                                                                       \
		MUHWI_Descriptor_t d, old, mask;                                                   \
		for (int fill = 0; fill < 256; fill += 255) {                                      \
			memset((void *)&d, fill, sizeof d);                                        \
			memset((void *)&mask, 0, sizeof mask);                                     \
			old = d;                                                                   \
			call;                                                                      \
			{                                                                          \
				MUHWI_Descriptor_t *m = &mask;                                     \
				field;                                                             \
			}                                                                          \
			CHECK(differs_within(&d, &old, &mask));                                    \
		}                                                                                  \
	} while (0)

static int differs_within(const MUHWI_Descriptor_t *a, const MUHWI_Descriptor_t *b,
			  const MUHWI_Descriptor_t *mask)
{
	const unsigned char *x = (const void *)a, *y = (const void *)b, *m = (const void *)mask;

	for (unsigned i = 0; i < sizeof *a; i++)
		if ((x[i] ^ y[i]) & ~m[i])
			return 0;
	return 1;
}

#define PT2PT(d)  ((d)->PacketHeader.NetworkHeader.pt2pt)
#define COLL(d)   ((d)->PacketHeader.NetworkHeader.collective)
#define MEM(d)    ((d)->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO)
#define PUT(d)    ((d)->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put)
#define RGET(d)   ((d)->PacketHeader.messageUnitHeader.Packet_Types.Remote_Get)
#define ALL(what) memset((void *)&(what), 255, sizeof(what))

static void network_setters(void)
{
	MUHWI_Destination_t to;

	MUSPI_SetUpDestination(&to, 1, 2, 3, 4, 1);
	SETS(MUSPI_SetSize(&d); CHECK(PT2PT(&d).Byte8.Size == 16), PT2PT(m).Byte8.Size = 31);
	SETS(MUSPI_SetPayload(&d, 77, 99);
	     CHECK(d.Pa_Payload == 77 && d.Message_Length == 99), ALL(m->Pa_Payload);
	     ALL(m->Message_Length));
	SETS(MUSPI_SetDestination(&d, to);
	     CHECK(PT2PT(&d).Destination.Destination.Destination == 0x1083101),
	     ALL(PT2PT(m).Destination));
	SETS(MUSPI_SetInterrupt(&d, 1); CHECK(d.Half_Word1.Interrupt), m->Half_Word1.Interrupt = 1);
	SETS(MUSPI_SetInterrupt(&d, 0);
	     CHECK(!d.Half_Word1.Interrupt), m->Half_Word1.Interrupt = 1);
	SETS(MUSPI_SetPt2PtMisc1(&d, MUHWI_PACKET_HINT_EP | MUHWI_PACKET_DEPOSIT);
	     CHECK(PT2PT(&d).Byte2.Byte2 == 0x42), PT2PT(m).Byte2.Byte2 = 255);
	SETS(MUSPI_SetRouteToIONode(&d, 0x20);
	     CHECK(PT2PT(&d).Byte2.Byte2 & 0x20), PT2PT(m).Byte2.Byte2 = 0x20);
	SETS(MUSPI_SetReturnFromIONode(&d, 0x10);
	     CHECK((PT2PT(&d).Byte2.Byte2 & 0x18) == 0x10), PT2PT(m).Byte2.Byte2 = 0x18);
	SETS(MUSPI_SetRouting(&d, MUHWI_PACKET_USE_DYNAMIC_ROUTING);
	     CHECK(PT2PT(&d).Byte2.Dynamic), PT2PT(m).Byte2.Byte2 = 0x04);
	SETS(MUSPI_SetRouting(&d, MUHWI_PACKET_USE_DETERMINISTIC_ROUTING);
	     CHECK(!PT2PT(&d).Byte2.Dynamic), PT2PT(m).Byte2.Byte2 = 0x04);
	SETS(MUSPI_SetPt2PtMisc2(&d, 0x5c);
	     CHECK(PT2PT(&d).Byte3.Byte3 == 0x5c), PT2PT(m).Byte3.Byte3 = 255);
	SETS(MUSPI_SetZoneRouting(&d, MUHWI_PACKET_ZONE_ROUTING_2);
	     CHECK(PT2PT(&d).Byte3.Zone_Routing_Id == 2), PT2PT(m).Byte3.Byte3 = 0x18);
	SETS(MUSPI_SetStayOnBubble(&d, MUHWI_PACKET_STAY_ON_BUBBLE);
	     CHECK(PT2PT(&d).Byte3.Stay_On_Bubble), PT2PT(m).Byte3.Byte3 = 0x04);
	SETS(MUSPI_SetPt2PtSkip(&d, 136);
	     CHECK(PT2PT(&d).Injection_Info.Skip == 136), PT2PT(m).Injection_Info.Skip = 255);
	SETS(MUSPI_SetWordLength(&d, 512);
	     CHECK((COLL(&d).Byte1.Byte1 & 15) == 7), COLL(m).Byte1.Byte1 = 15);
	SETS(MUSPI_SetWordLength(&d, 4);
	     CHECK(!(COLL(&d).Byte1.Byte1 & 15)), COLL(m).Byte1.Byte1 = 15);
	SETS(MUSPI_SetCollectiveMisc(&d, 0xb8);
	     CHECK(COLL(&d).Byte3.Byte3 == 0xb8), COLL(m).Byte3.Byte3 = 255);
	SETS(MUSPI_SetCollectiveType(&d, MUHWI_COLLECTIVE_TYPE_REDUCE);
	     CHECK((COLL(&d).Byte3.Byte3 & 0x18) == 0x18), COLL(m).Byte3.Byte3 = 0x18);
	SETS(MUSPI_SetCollectiveSkip(&d, 8);
	     CHECK(COLL(&d).Injection_Info.Skip == 8), COLL(m).Injection_Info.Skip = 255);
}

static void unit_setters(void)
{
	uint8_t bytes[14] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};

	SETS(MUSPI_SetSoftwareBit(&d, 1); CHECK(MEM(&d).Unused1), MEM(m).Unused1 = 1);
	SETS(MUSPI_SetSoftwareBytes(&d, bytes);
	     CHECK(!memcmp(MEM(&d).Unused2, bytes, 14)), ALL(MEM(m).Unused2));
	SETS(MUSPI_SetSoftwareByte(&d, 13, 0x5a);
	     CHECK(MEM(&d).Unused2[13] == 0x5a), MEM(m).Unused2[13] = 255);
	SETS(MUSPI_SetPacing(&d, 1); CHECK(PUT(&d).Pacing), PUT(m).Pacing = 1);
	SETS(MUSPI_SetPacing(&d, 0); CHECK(!PUT(&d).Pacing), PUT(m).Pacing = 1);
}

/* Each group of fields sets what its members say, and nothing else. */
static void groups_of_fields(void)
{
	MUSPI_BaseDescriptorInfoFields_t base = {.Pre_Fetch_Only = 1,
						 .Payload_Address = 0x1234,
						 .Message_Length = 777,
						 .Torus_FIFO_Map = 0x8000};
	MUSPI_Pt2PtDescriptorInfoFields_t p2p = {
	    .Hints_ABCD = 0x80, .Misc1 = 0x44, .Misc2 = 0x20, .Skip = 8};
	MUSPI_CollectiveDescriptorInfoFields_t coll = {
	    .Op_Code = 0x40, .Word_Length = 8, .Class_Route = 9, .Misc = 0x90, .Skip = 136};
	MUSPI_MemoryFIFODescriptorInfoFields_t mem = {.Rec_FIFO_Id = 270,
						      .Rec_Put_Offset = 0x1f00000002ull,
						      .Interrupt = 1,
						      .SoftwareBit = 1,
						      .SoftwareBytes = "software byte"};
	MUSPI_DirectPutDescriptorInfoFields_t put = {.Rec_Payload_Base_Address_Id = 543,
						     .Rec_Payload_Offset = 0x7fff12345678ull,
						     .Rec_Counter_Base_Address_Id = 542,
						     .Rec_Counter_Offset = 64,
						     .Pacing = 1};
	MUSPI_RemoteGetDescriptorInfoFields_t get = {.Type = MUHWI_PACKET_TYPE_GET,
						     .Rget_Inj_FIFO_Id = 541};

	MUSPI_SetUpDestination(&base.Dest, 1, 1, 1, 1, 1);
	SETS(MUSPI_SetBaseFields(&d, &base);
	     CHECK(d.Half_Word0.Prefetch_Only && d.Pa_Payload == 0x1234 &&
		   d.Message_Length == 777 && d.Torus_FIFO_Map == 0x8000 &&
		   PT2PT(&d).Byte8.Size == 16 &&
		   PT2PT(&d).Destination.Destination.Destination ==
		       base.Dest.Destination.Destination),
	     m->Half_Word0.Prefetch_Only = 1;
	     ALL(m->Pa_Payload); ALL(m->Message_Length); ALL(m->Torus_FIFO_Map);
	     PT2PT(m).Byte8.Size = 31; ALL(PT2PT(m).Destination));
	SETS(MUSPI_SetPt2PtFields(&d, &p2p);
	     CHECK(PT2PT(&d).Hints == 0x80 && PT2PT(&d).Byte2.Byte2 == 0x44 &&
		   PT2PT(&d).Byte3.Byte3 == 0x20 && PT2PT(&d).Injection_Info.Skip == 8),
	     PT2PT(m).Hints = 255;
	     PT2PT(m).Byte2.Byte2 = 255; PT2PT(m).Byte3.Byte3 = 255;
	     PT2PT(m).Injection_Info.Skip = 255);
	SETS(MUSPI_SetCollectiveFields(&d, &coll);
	     CHECK(COLL(&d).Byte1.Byte1 == 0x41 && COLL(&d).Byte2.Class_Route == 9 &&
		   COLL(&d).Byte3.Byte3 == 0x90 && COLL(&d).Injection_Info.Skip == 136),
	     COLL(m).Byte1.Byte1 = 255;
	     COLL(m).Byte2.Class_Route = 15; COLL(m).Byte3.Byte3 = 255;
	     COLL(m).Injection_Info.Skip = 255);
	{ /* the offset's field depends on the kind of the packet: zeros are a memory FIFO's */
		MUHWI_Descriptor_t d;

		MUSPI_DescriptorZeroOut(&d);
		MUSPI_SetMemoryFIFOFields(&d, &mem);
		CHECK(MEM(&d).Rec_FIFO_Id == 270 && MEM(&d).Put_Offset_MSB == 0x1f &&
		      MEM(&d).Put_Offset_LSB == 2 && d.Half_Word1.Interrupt && MEM(&d).Unused1 &&
		      !memcmp(MEM(&d).Unused2, mem.SoftwareBytes, 14));
	}
	SETS(MUSPI_SetDirectPutFields(&d, &put);
	     CHECK(PUT(&d).Rec_Payload_Base_Address_Id == 543 &&
		   PUT(&d).Rec_Counter_Base_Address_Id == 542 && PUT(&d).Counter_Offset == 64 &&
		   PUT(&d).Pacing && PUT(&d).Put_Offset_LSB == 0x12345678),
	     ALL(PUT(m)));
	SETS(MUSPI_SetRemoteGetFields(&d, &get);
	     CHECK(RGET(&d).Rget_Inj_FIFO_Id == 541 &&
		   (PT2PT(&d).Byte8.Byte8 & 0xc0) == MUHWI_PACKET_TYPE_GET),
	     RGET(m).Rget_Inj_FIFO_Id = 1023;
	     PT2PT(m).Byte8.Byte8 = 0xc0);
}

static void descriptors_are_made(void)
{
	MUSPI_CollectiveRemoteGetDescriptorInfo_t info;
	MUHWI_Descriptor_t d, zero;

	memset((void *)&zero, 0, sizeof zero);
	memset((void *)&d, 255, sizeof d);
	MUSPI_DescriptorZeroOut(&d);
	CHECK(!memcmp((void *)&d, (void *)&zero, sizeof d));
	CHECK(MUSPI_DescriptorGetNumPacketChunks(1) == 16);
	memset(&info, 0, sizeof info);
	info.Collective.Class_Route = 3;
	info.RemoteGet.Type = MUHWI_PACKET_TYPE_GET;
	info.RemoteGet.Rget_Inj_FIFO_Id = 17;
	memset((void *)&d, 255, sizeof d);
	CHECK(!MUSPI_CreateCollectiveRemoteGetDescriptor(&d, &info));
	CHECK(COLL(&d).Data_Packet_Type == MUHWI_COLLECTIVE_DATA_PACKET_TYPE &&
	      COLL(&d).Byte2.Class_Route == 3 && RGET(&d).Rget_Inj_FIFO_Id == 17 &&
	      (PT2PT(&d).Byte8.Byte8 & 0xc0) == MUHWI_PACKET_TYPE_GET && !d.Message_Length);
	MUSPI_DescriptorDumpHex((char *)"a descriptor:", &d);
	MUSPI_assert(d.Torus_FIFO_Map == 0);
}

/* ---- FIFOs ---- */

static void set_up(void)
{
	uint32_t id = 0, entries[2] = {0, 1};
	Kernel_InjFifoAttributes_t ia = {0};
	Kernel_RecFifoAttributes_t ra = {0};
	Kernel_MemoryRegion_t region;
	Personality_t p;

	REQUIRE(!Kernel_GetPersonality(&p, sizeof p));
	MUSPI_SetUpDestination(&self, p.Network_Config.Acoord, p.Network_Config.Bcoord,
			       p.Network_Config.Ccoord, p.Network_Config.Dcoord,
			       p.Network_Config.Ecoord);
	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, 1, &id, &ia));
	REQUIRE(!Kernel_AllocateRecFifos(0, &rec, 1, &id, &ra));
	REQUIRE(!Kernel_AllocateBaseAddressTable(0, &bat, 2, entries, 0));
	Kernel_CreateMemoryRegion(&region, inj_memory, sizeof inj_memory);
	REQUIRE(!Kernel_InjFifoInit(&inj, 0, &region, 0, sizeof inj_memory - 1));
	Kernel_CreateMemoryRegion(&region, rec_memory, sizeof rec_memory);
	REQUIRE(!Kernel_RecFifoInit(&rec, 0, &region, 0, sizeof rec_memory - 1));
	REQUIRE(!Kernel_RecFifoEnable(0, 1 << 15));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, KERNEL_INJ_FIFO_ACTIVATE));
}

static void make_message(MUHWI_Descriptor_t *d, unsigned function, uint64_t bytes)
{
	MUSPI_Pt2PtMemoryFIFODescriptorInfo_t info;

	memset(&info, 0, sizeof info);
	info.Base.Payload_Address = (uint64_t)data;
	info.Base.Message_Length = bytes;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	info.Base.Dest = self;
	info.Pt2Pt.Misc1 = MUHWI_PACKET_USE_DETERMINISTIC_ROUTING;
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.MemFIFO.SoftwareBytes[0] = (uint8_t)function;
	MUSPI_CreatePt2PtMemoryFIFODescriptor(d, &info);
}

static void wait_for(MUSPI_InjFifo_t *f, uint64_t sequence)
{
	while (!MUSPI_CheckDescComplete(f, sequence))
		;
}

static void send_messages(unsigned n, unsigned function, uint64_t bytes)
{
	MUHWI_Descriptor_t d __attribute__((aligned(64)));
	MUSPI_InjFifo_t *f = MUSPI_IdToInjFifo(0, &inj);
	uint64_t sequence = 0;

	make_message(&d, function, bytes);
	while (n--)
		while ((sequence = MUSPI_InjFifoInject(f, &d)) == (uint64_t)-1)
			;
	wait_for(f, sequence);
}

static void pointers_of_a_fifo(void)
{
	MUSPI_Fifo_t copy = MUSPI_IdToRecFifo(0, &rec)->_fifo;

	CHECK(MUSPI_getStartVa(&copy) == rec_memory && MUSPI_getHeadVa(&copy) == rec_memory);
	CHECK(MUSPI_getTailVa(&copy) == rec_memory &&
	      MUSPI_getEndVa(&copy) == rec_memory + REC_BYTES);
	CHECK(MUSPI_getStartPa(&copy) == (uint64_t)rec_memory);
	CHECK(MUSPI_getHwStart(&copy) == (uint64_t)rec_memory);
	CHECK(MUSPI_getHwHead(&copy) == MUSPI_getHwTail(&copy));
	MUSPI_setHeadVa(&copy, rec_memory + 64);
	MUSPI_setTailVa(&copy, rec_memory + 96);
	CHECK(MUSPI_getHeadVa(&copy) == rec_memory + 64 &&
	      MUSPI_getTailVa(&copy) == rec_memory + 96);
}

/* Descriptors in place and several at once: sequence numbers, counts and free space. */
static void fill_in_place(void)
{
	MUHWI_Descriptor_t d[3] __attribute__((aligned(64)));
	MUSPI_InjFifo_t *f = MUSPI_IdToInjFifo(0, &inj);
	uint64_t before = MUSPI_getNumInjected(f), s;
	void *slot[8];

	CHECK(MUSPI_InjFifoNextDesc(f, slot) == before + 1);
	make_message(slot[0], 0, 32);
	CHECK(MUSPI_InjFifoAdvanceDesc(f) == before + 1);
	CHECK(MUSPI_InjFifoNextDescMultiple(f, 2, slot) == before + 2);
	make_message(slot[0], 0, 32);
	make_message(slot[1], 0, 32);
	CHECK(MUSPI_InjFifoAdvanceDescMultiple(f, 2) == before + 3);
	for (int i = 0; i < 3; i++)
		make_message(&d[i], 0, 32);
	CHECK(MUSPI_InjFifoInjectMultiple(f, d, 0) == (uint64_t)-1);
	while ((s = MUSPI_InjFifoInjectMultiple(f, d, 3)) == (uint64_t)-1)
		;
	CHECK(s == before + 6 && MUSPI_getNumInjected(f) == before + 6);
	CHECK(MUSPI_InjFifoNextDescMultiple(f, 8, slot) == (uint64_t)-1); /* it holds seven */
	wait_for(f, s);
	CHECK(MUSPI_getDescCountFromShadow(f) >= s);
	CHECK(MUSPI_InjFifoNextDescMultipleNoCheck(f, 7, slot) == s + 1);
	CHECK(slot[2] == inj_memory); /* the ring wraps */
	while (MUSPI_getHwFreeSpace(f) != 7)
		quintorus_mu_poll();
	CHECK(MUSPI_InjFifoNextDescMultiple(f, 7, slot) == s + 1);
	CHECK(MUSPI_getFreeSpaceFromShadow(f) == 7);
}

static unsigned called[3];
static const unsigned char zeros[28];

static int on_packet(void *param, MUHWI_PacketHeader_t *h, uint32_t bytes)
{
	called[(uintptr_t)param]++;
	CHECK(bytes == (h->NetworkHeader.pt2pt.Byte8.Size + 1u) * 32);
	bytes -= 32;
	if (bytes == 128) { /* of 100: the last chunk is padded with zeros */
		CHECK(!memcmp((unsigned char *)(h + 1) + 100, zeros, 28));
		bytes = 100;
	}
	CHECK(!memcmp(h + 1, data, bytes));
	return 0;
}

static uint32_t poll_for(uint32_t (*poll)(MUSPI_RecFifo_t *, uint32_t), uint32_t n)
{
	uint32_t got = 0;

	while (got < n)
		got += poll(MUSPI_IdToRecFifo(0, &rec), n - got);
	return got;
}

static void packets_go_to_functions(void)
{
	MUSPI_RecFifo_t *f = MUSPI_IdToRecFifo(0, &rec);
	uint64_t before = f->numProcessed;
	int32_t id;

	MUSPI_RegisterRecvFunction(on_packet, (void *)0, 0);
	id = MUSPI_RegisterReceiveFunction(on_packet, (void *)1);
	CHECK(id == 1);
	CHECK(poll_for(MUSPI_RecFifoPoll, 6) == 6); /* those of fill_in_place() */
	CHECK(called[0] == 6);
	for (unsigned round = 0; round < 12; round++) { /* more than the ring holds */
		send_messages(2, round % 2, 512);
		CHECK(poll_for(round % 3 ? MUSPI_RecFifoPollWrap : MUSPI_RecFifoPoll, 2) == 2);
	}
	CHECK(called[0] == 18 && called[1] == 12 && f->numProcessed - before == 30);
	send_messages(3, 0, 100);
	while (called[2] < 3)
		MUSPI_RecFifoExamplePoll(f, on_packet, (void *)2);
	CHECK(!MUSPI_DeRegisterReceiveFunction(1) && MUSPI_DeRegisterReceiveFunction(1) == -1);
	CHECK(MUSPI_RegisterReceiveFunction(on_packet, (void *)1) == 1); /* it is free again */
}

/* Packet by packet around the ring: no packet is split unless the call says so. */
static void take_by_hand(void)
{
	MUSPI_RecFifo_t *f = MUSPI_IdToRecFifo(0, &rec);
	unsigned wrapped = 0;

	for (unsigned i = 0; i < 20; i++) {
		uint32_t wrap = 7, bytes = 0, there;
		MUHWI_PacketHeader_t *h;

		CHECK(!MUSPI_getAvailableBytes(f, &wrap) && wrap == 7);
		send_messages(1, 0, 512);
		while (!(there = MUSPI_getAvailableBytes(f, &wrap)))
			;
		wrapped += wrap == 1;
		h = wrap || there < 544 ? MUSPI_getNextPacketWrap(f, &bytes)
					: MUSPI_getNextPacketOptimized(f, &bytes);
		CHECK(bytes == 544 && !memcmp(h + 1, data, 512));
		if (i % 2)
			MUSPI_syncRecFifoHwHead(f);
		else
			MUSPI_setHwHead(&f->_fifo,
					(uint64_t)((unsigned char *)f->_fifo.va_head - rec_memory));
	}
	CHECK(wrapped > 0);
}

/* ---- addresses ---- */

static void addresses_and_offsets(void)
{
	uint64_t at = (uint64_t)data;
	uint32_t entry = 1;

	CHECK(!MUSPI_SetBaseAddress(&bat, 0, at));
	CHECK(MUSPI_GetBaseAddress(&bat, 0) == at);
	CHECK(MUSPI_GetOffsetFromBaseAddress(&bat, 0, at + 40) == 40);
	CHECK(!Kernel_DeallocateBaseAddressTable(&bat, 1, &entry));
	CHECK(MUSPI_SetBaseAddress(&bat, 1, at) == EPERM);
	CHECK(Kernel_DeallocateBaseAddressTable(&bat, 1, &entry) == EINVAL);
	CHECK(!Kernel_AllocateBaseAddressTable(0, &bat, 1, &entry, 0));
	CHECK(!MUSPI_SetBaseAddress(&bat, 1, at));
}

/* ---- waits ---- */

static unsigned handled;

static void on_interrupt(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	handled++;
	CHECK(a == 1 && b == 2 && c == 3 && d == 4);
}

/* A packet with the interrupt bit raises the status, which wakes; clearing it ends that. */
static void interrupts_wake(void)
{
	uint64_t bit = 1ull << 15; /* IBM bit 48: FIFO 0 of the group */
	Kernel_RecFifoInterrupts_t on = {.Packet_Arrival = 1};
	volatile uint64_t *status = &rec.groupStatus->InterruptStatus;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));
	MUSPI_InjFifo_t *f = MUSPI_IdToInjFifo(0, &inj);
	uint32_t id = 0;

	REQUIRE(!Kernel_ConfigureRecFifoInterrupts(&rec, 1, &id, &on));
	make_message(&d, 0, 32);
	MUSPI_SetInterrupt(&d, 1);
	for (int round = 0; round < 2; round++) {
		if (round)
			WU_ArmMU_system(8);
		else
			WU_ArmMU(8);
		CHECK(!(*status & bit));
		MUSPI_InjFifoInject(f, &d);
		while (!(*status & bit))
			ppc_wait();
		WU_DisarmMU(8);
		CHECK(!Kernel_CommThreadDisableInterrupts());
		CHECK(!Kernel_CommThreadEnableInterrupts());
		CHECK(!Kernel_CommThreadInstallHandler(0, on_interrupt, 1, 2, 3, 4));
		CHECK(!Kernel_CommThreadPoof()); /* the status still stands */
		CHECK(handled == 1u + (unsigned)round);
		CHECK(MUSPI_GetClearInterruptsStatusPtr(&rec) ==
		      &rec.groupStatus->ClearInterruptStatus);
		MUSPI_ClearInterruptsDirect(MUSPI_GetClearInterruptsStatusPtr(&rec), bit);
		while (*status & bit)
			quintorus_mu_poll();
	}
	CHECK(poll_for(MUSPI_RecFifoPoll, 2) == 2);
	CHECK(!Kernel_CommThreadInstallHandler(0, NULL, 0, 0, 0, 0));
}

static void clear_status(volatile uint64_t *status)
{
	MUSPI_ClearInterrupts(&rec, ~0ull);
	while (*status)
		quintorus_mu_poll();
}

static void wait_for_status(volatile uint64_t *status, uint64_t bit)
{
	while (!(*status & bit))
		ppc_wait();
	CHECK(*status == bit);
	clear_status(status);
}

/* Injection: free space rises above the threshold. Remote gets, reception: it falls below. */
static void thresholds_raise(void)
{
	static unsigned char gets[576] __attribute__((aligned(64)));
	volatile uint64_t *status = &rec.groupStatus->InterruptStatus;
	Kernel_InjFifoInterrupts_t on = {.Threshold_Crossing = 1};
	Kernel_RecFifoInterrupts_t rec_on = {.Threshold_Crossing = 1}, rec_off = {0};
	Kernel_InjFifoAttributes_t remote = {.RemoteGet = 1};
	MUHWI_Descriptor_t d[6] __attribute__((aligned(64))), get __attribute__((aligned(64)));
	MUSPI_Pt2PtRemoteGetDescriptorInfo_t info;
	MUSPI_InjFifo_t *f = MUSPI_IdToInjFifo(0, &inj);
	uint64_t four = 4, three = 3, one = 1, s;
	uint32_t id = 0, rget = 1;
	Kernel_MemoryRegion_t region;

	for (int i = 0; i < 6; i++)
		make_message(&d[i], 0, 32);
	REQUIRE(!Kernel_ConfigureRecFifoInterrupts(&rec, 1, &id, &rec_off));
	REQUIRE(!Kernel_ConfigureInjFifoThresholds(&four, &three));
	REQUIRE(!Kernel_ConfigureInjFifoInterrupts(&inj, 1, &id, &on));
	wait_for(f, MUSPI_InjFifoInject(f, d)); /* six free: above all the time */
	CHECK(poll_for(MUSPI_RecFifoPoll, 1) == 1 && !*status);
	for (int round = 0; round < 3; round++) {
		while ((s = MUSPI_InjFifoInjectMultiple(f, d, 5)) == (uint64_t)-1)
			;
		wait_for(f, s);
		wait_for_status(status, 1ull << 63);
		CHECK(poll_for(MUSPI_RecFifoPoll, 5) == 5);
	}
	REQUIRE(!Kernel_ConfigureInjFifoThresholds(&one, NULL)); /* never again: not below one */
	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, 1, &rget, &remote));
	Kernel_CreateMemoryRegion(&region, gets, sizeof gets);
	REQUIRE(!Kernel_InjFifoInit(&inj, rget, &region, 0, sizeof gets - 1));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &rget, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!Kernel_ConfigureInjFifoInterrupts(&inj, 1, &rget, &on));
	memset(&info, 0, sizeof info);
	info.Base.Payload_Address = (uint64_t)d;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	info.Base.Dest = self;
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_HIGH_PRIORITY;
	info.RemoteGet.Type = MUHWI_PACKET_TYPE_GET;
	info.RemoteGet.Rget_Inj_FIFO_Id = 1;
	for (unsigned n = 2; n <= 6; n += 4) { /* six free of eight; then two */
		info.Base.Message_Length = n * sizeof *d;
		MUSPI_CreatePt2PtRemoteGetDescriptor(&get, &info);
		wait_for(f, MUSPI_InjFifoInject(f, &get));
		CHECK(poll_for(MUSPI_RecFifoPoll, n) == n);
		if (n == 6)
			wait_for_status(status, 1ull << 62);
		CHECK(!*status);
	}
	/* 127 chunks are free, and 110 with a packet of 512. */
	REQUIRE(!Kernel_ConfigureRecFifoThreshold(115));
	REQUIRE(!Kernel_ConfigureRecFifoInterrupts(&rec, 1, &id, &rec_on));
	for (int round = 0; round < 3; round++) {
		send_messages(1, 0, 512);
		wait_for_status(status, 1ull << 31);
		CHECK(poll_for(MUSPI_RecFifoPoll, 1) == 1 && !*status);
	}
	REQUIRE(!Kernel_ConfigureRecFifoInterrupts(&rec, 1, &id, &rec_off));
}

/* A counter that a put takes to zero wakes the thread that armed its line. */
static void addresses_wake(void)
{
	static volatile uint64_t line[8] __attribute__((aligned(64)));
	MUSPI_Pt2PtDirectPutDescriptorInfo_t info;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));

	line[0] = 8;
	CHECK(!MUSPI_SetBaseAddress(
	    &bat, 1, MUSPI_GetAtomicAddress((uint64_t)line, MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	memset(&info, 0, sizeof info);
	info.Base.Payload_Address = (uint64_t)data + 256;
	info.Base.Message_Length = 8;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	info.Base.Dest = self;
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.DirectPut.Rec_Counter_Base_Address_Id = 1;
	MUSPI_CreatePt2PtDirectPutDescriptor(&d, &info);
	WU_ArmWithAddress((uint64_t)line, ~63ull);
	MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), &d);
	while (line[0])
		ppc_wait();
	CHECK(!memcmp(data, data + 256, 8));
}

static void locks_try(void)
{
	L2_Lock_t lock;

	L2_LockInit(&lock);
	L2_LockAcquireNoSync(&lock);
	CHECK(L2_LockTryAcquireNoSync(&lock) && L2_LockThreadsInLine(&lock) == 1);
	L2_LockRelease(&lock);
	CHECK(!L2_LockTryAcquireNoSync(&lock) && L2_LockIsBusy(&lock));
	L2_LockRelease(&lock);
	CHECK(!L2_LockIsBusy(&lock));
}

/* ---- what does little here, and says so ---- */

static void calls_of_the_kernel(void)
{
	CHECK(!Kernel_RecFifoDisable(0, 1 << 15)); /* nothing happens: the FIFO goes on */
	send_messages(1, 0, 32);
	CHECK(poll_for(MUSPI_RecFifoPoll, 1) == 1);
	CHECK(!Kernel_Configure_MU_GEA(0, 0) && Kernel_Configure_MU_GEA(68, 0) == EINVAL);
	CHECK(!Kernel_MU_TermCheck());
	CHECK(Kernel_DropPacketsOnLink(0, 0, 0) == ENOTSUP);
}

/* A rectangle of four nodes out of a world of 4x2x2x1x1, by an order of dimensions. */
static void rectangles_are_found(void)
{
	CR_RECT_T world, box;
	CR_COORD_T excluded[32];
	int dims[5] = {1, 0, 2, 3, 4}, n = 0, d0 = -1, nodes = 1;

	world.ll = (CR_COORD_T)CR_COORD_INIT(0, 0, 0, 0, 0);
	world.ur = (CR_COORD_T)CR_COORD_INIT(3, 1, 1, 0, 0);
	memset(&box, 0, sizeof box);
	MUSPI_MakeNpRectMap(&world, 4, dims, &box, excluded, &n, &d0);
	for (int i = 0; i < 5; i++)
		nodes *= (int)(box.ur.coords[i] - box.ll.coords[i] + 1);
	CHECK(nodes - n == 4);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 7 + i / 256);
	network_setters();
	unit_setters();
	groups_of_fields();
	descriptors_are_made();
	set_up();
	pointers_of_a_fifo();
	fill_in_place();
	packets_go_to_functions();
	take_by_hand();
	addresses_and_offsets();
	interrupts_wake();
	thresholds_raise();
	addresses_wake();
	locks_try();
	calls_of_the_kernel();
	rectangles_are_found();
	return check_failures != 0;
}
