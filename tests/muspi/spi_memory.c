/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory runs out now and then while two processes of a node send to each other: each put is done
 * once, each descriptor of a remote get runs once, and each packet of a message comes once and in
 * order. The sanitizers have an allocator of their own: with them nothing is refused.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/collective.h>
#include <spi/include/kernel/location.h>
#include <spi/include/l2/atomic.h>
#include <spi/include/mu/Classroute.h>
#include <spi/include/mu/InjFifo.h>
#include <spi/include/mu/RecFifo.h>

#define CHECK_WHO         "rank %u", Kernel_GetRank()
#define CHECK_END(status) exit(status)
#include "drivers/base/atomic.h"
#include "tests/harness/check_count.h"

enum { PUTS = 500, GETS = 40, MESSAGES = 20, SUMS = 200, PACKETS = 16, PACKET = 512 };

static atomic_u32 is_short, calls, denied;

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
void *__libc_memalign(size_t alignment, size_t bytes);

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t bytes)
{
	if (!atomic_load_relaxed(&is_short) ||
	    (atomic_fetch_add_relaxed(&calls, 1) * 2654435761u >> 30) == 0)
		return __libc_memalign(alignment, bytes);
	atomic_fetch_add_relaxed(&denied, 1);
	return NULL;
}
#endif

static MUSPI_InjFifoSubGroup_t inj; /* FIFO 1: for remote gets */
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_BaseAddressTableSubGroup_t own;
static unsigned char fifo[2][4096] __attribute__((aligned(64)));
static unsigned char rec_memory[2048] __attribute__((aligned(64)));
static unsigned char message[PACKETS * PACKET] __attribute__((aligned(64)));
static volatile uint64_t count __attribute__((aligned(64))); /* bytes of puts */
static volatile uint64_t sum __attribute__((aligned(64))), told __attribute__((aligned(64)));
static volatile uint64_t other __attribute__((aligned(64)));
static uint64_t place __attribute__((aligned(64))); /* of `one` in the other process */
static uint64_t one __attribute__((aligned(64))) = 1;
static uint32_t me;
static MUHWI_Destination_t here;

/* Of rank `of`: the subgroup that packets for its FIFOs and table are sent to first. */
#define SUBGROUP(of) ((of)*32u)
enum { SUM, COUNT, TOLD, ELSE, PLACE };

static void set_up(void)
{
	uint32_t ids[] = {0, 1, 2, 3, 4};
	Kernel_InjFifoAttributes_t ia[2] = {{0}, {.RemoteGet = 1}};
	Kernel_RecFifoAttributes_t ra = {0};
	Kernel_MemoryRegion_t region;

	me = Kernel_GetRank();
	REQUIRE(Kernel_ProcessCount() == 2 && Kernel_MyTcoord() == me);
	MUSPI_SetUpDestination(&here, 0, 0, 0, 0, 0);
	REQUIRE(!Kernel_AllocateInjFifos(SUBGROUP(me), &inj, 2, ids, ia));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, fifo, sizeof fifo));
	REQUIRE(!Kernel_InjFifoInit(&inj, 0, &region, 0, sizeof fifo[0] - 1));
	REQUIRE(!Kernel_InjFifoInit(&inj, 1, &region, sizeof fifo[0], sizeof fifo[1] - 1));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 2, ids, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!Kernel_AllocateRecFifos(SUBGROUP(me), &rec, 1, ids, &ra));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, rec_memory, sizeof rec_memory));
	REQUIRE(!Kernel_RecFifoInit(&rec, 0, &region, 0, sizeof rec_memory - 1));
	REQUIRE(!Kernel_RecFifoEnable(SUBGROUP(me) / 4, 1 << 15));
	REQUIRE(!Kernel_AllocateBaseAddressTable(SUBGROUP(me), &own, 5, ids, 0));
	MUSPI_SetBaseAddress(&own, PLACE, (uint64_t)&place);
	MUSPI_SetBaseAddress(&own, SUM,
			     MUSPI_GetAtomicAddress((uint64_t)&sum, MUHWI_ATOMIC_OPCODE_STORE_ADD));
	MUSPI_SetBaseAddress(
	    &own, COUNT, MUSPI_GetAtomicAddress((uint64_t)&count, MUHWI_ATOMIC_OPCODE_STORE_ADD));
	MUSPI_SetBaseAddress(
	    &own, TOLD, MUSPI_GetAtomicAddress((uint64_t)&told, MUHWI_ATOMIC_OPCODE_STORE_ADD));
	MUSPI_SetBaseAddress(
	    &own, ELSE, MUSPI_GetAtomicAddress((uint64_t)&other, MUHWI_ATOMIC_OPCODE_STORE_ADD));
}

/* Each takes one more FIFO when it is set up, which the other sees. */
static void wait_for_other(void)
{
	MUSPI_InjFifoSubGroup_t unused;
	Kernel_InjFifoAttributes_t ia = {0};
	uint32_t id = 7, n, ids[8];
	int is_there;

	REQUIRE(!Kernel_AllocateInjFifos(SUBGROUP(me), &unused, 1, &id, &ia));
	do {
		quintorus_mu_poll();
		REQUIRE(!Kernel_QueryInjFifos(SUBGROUP(!me), &n, ids));
		is_there = 1;
		while (n)
			is_there &= ids[--n] != id;
	} while (!is_there);
}

static void inject(MUHWI_Descriptor_t *d)
{
	while (MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), d) == UINT64_MAX)
		quintorus_mu_poll();
}

/* Add one to a word of the other's; the counter is that of `counter`. */
static void make_put(MUHWI_Descriptor_t *d, unsigned entry, uint32_t counter)
{
	MUSPI_Pt2PtDirectPutDescriptorInfo_t info = {0};

	info.Base.Payload_Address = (uint64_t)&one;
	info.Base.Message_Length = 8;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	info.Base.Dest = here;
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.DirectPut.Rec_Payload_Base_Address_Id = (uint16_t)(SUBGROUP(!me) * 8 + entry);
	info.DirectPut.Rec_Counter_Base_Address_Id = (uint16_t)(SUBGROUP(counter) * 8 + COUNT);
	REQUIRE(!MUSPI_CreatePt2PtDirectPutDescriptor(d, &info));
}

/* Wait until the other has done as much. */
static void meet(void)
{
	static uint64_t meetings;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));

	make_put(&d, TOLD, !me);
	MUSPI_SetRecCounterBaseAddressInfo(&d, SUBGROUP(!me) * 8 + ELSE, 0);
	inject(&d);
	meetings++;
	while (told < meetings)
		quintorus_mu_poll();
}

/* The payload goes to the other process, the counter is here. */
static void puts_are_done_once(void)
{
	MUHWI_Descriptor_t d __attribute__((aligned(64)));

	count = PUTS * 8;
	meet();
	make_put(&d, SUM, me);
	for (int i = 0; i < PUTS; i++)
		inject(&d);
	while (count)
		quintorus_mu_poll();
	meet();
	REQUIRE_EQ(sum, PUTS);
}

/* Eight descriptors each, which put back to the process that asks: more than the FIFO holds. */
static void gets_are_run_once(void)
{
	static MUHWI_Descriptor_t inner[8] __attribute__((aligned(64)));
	MUSPI_Pt2PtRemoteGetDescriptorInfo_t get = {0};
	MUHWI_Descriptor_t d __attribute__((aligned(64)));

	static uint64_t own_place __attribute__((aligned(64)));

	sum = 0;
	count = (uint64_t)GETS * 8 * 8;
	own_place = (uint64_t)&one;
	make_put(&d, PLACE, !me);
	MUSPI_SetRecCounterBaseAddressInfo(&d, SUBGROUP(!me) * 8 + ELSE, 0);
	d.Pa_Payload = (uint64_t)&own_place;
	inject(&d);
	meet();
	for (int i = 0; i < 8; i++) {
		make_put(&inner[i], SUM, me);
		inner[i].Pa_Payload = place;
		MUSPI_SetRecPayloadBaseAddressInfo(&inner[i], SUBGROUP(me) * 8 + SUM, 0);
	}
	get.Base.Payload_Address = (uint64_t)inner;
	get.Base.Message_Length = sizeof inner;
	get.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	get.Base.Dest = here;
	get.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	get.RemoteGet.Type = MUHWI_PACKET_TYPE_GET;
	get.RemoteGet.Rget_Inj_FIFO_Id = (uint16_t)(SUBGROUP(!me) * 8 + 1);
	REQUIRE(!MUSPI_CreatePt2PtRemoteGetDescriptor(&d, &get));
	for (int i = 0; i < GETS; i++)
		inject(&d);
	while (count)
		quintorus_mu_poll();
	meet();
	REQUIRE_EQ(sum, GETS * 8);
}

/* More than the other's FIFO holds, which it reads late. */
static void packets_come_once(void)
{
	MUSPI_Pt2PtMemoryFIFODescriptorInfo_t info = {0};
	MUHWI_Descriptor_t d __attribute__((aligned(64)));
	MUSPI_RecFifo_t *r = MUSPI_IdToRecFifo(0, &rec);
	uint32_t bytes;

	for (unsigned i = 0; i < PACKETS; i++)
		message[i * PACKET] = (unsigned char)i;
	info.Base.Payload_Address = (uint64_t)message;
	info.Base.Message_Length = sizeof message;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	info.Base.Dest = here;
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.MemFIFO.Rec_FIFO_Id = (uint16_t)(SUBGROUP(!me) * 4);
	REQUIRE(!MUSPI_CreatePt2PtMemoryFIFODescriptor(&d, &info));
	for (int i = 0; i < MESSAGES; i++)
		inject(&d);
	for (unsigned i = 0; i < MESSAGES * PACKETS; i++) {
		MUHWI_PacketHeader_t *h;

		while (!(h = MUSPI_getNextPacket(r, &bytes)))
			quintorus_mu_poll();
		REQUIRE_EQ(((unsigned char *)(h + 1))[0], i % PACKETS);
		MUSPI_syncRecFifoHwHead(r);
	}
	meet();
	REQUIRE(!MUSPI_getNextPacket(r, &bytes));
}

/* Each process adds to a sum over the nodes, that is to its own: the first has the route. */
static void contributions_go_on(void)
{
	MUSPI_CollectiveDirectPutDescriptorInfo_t info = {0};
	MUHWI_Descriptor_t d __attribute__((aligned(64)));
	static uint64_t in[PACKET / 8] __attribute__((aligned(64)));

	count = (uint64_t)SUMS * sizeof in;
	MUSPI_SetBaseAddress(&own, PLACE, (uint64_t)message);
	meet();
	info.Base.Payload_Address = (uint64_t)in;
	info.Base.Message_Length = sizeof in;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
	info.Collective.Op_Code = MUHWI_COLLECTIVE_OP_CODE_SIGNED_ADD;
	info.Collective.Word_Length = 8;
	info.Collective.Misc =
	    MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD | MUHWI_COLLECTIVE_TYPE_ALLREDUCE;
	info.DirectPut.Rec_Payload_Base_Address_Id = (uint16_t)(SUBGROUP(me) * 8 + PLACE);
	info.DirectPut.Rec_Counter_Base_Address_Id = (uint16_t)(SUBGROUP(me) * 8 + COUNT);
	for (uint64_t i = 0; i < SUMS; i++) {
		REQUIRE(!MUSPI_CreateCollectiveDirectPutDescriptor(&d, &info));
		inject(&d);
	}
	while (count)
		quintorus_mu_poll();
	meet();
}

int main(void)
{
	set_up();
	wait_for_other();
	atomic_store_relaxed(&is_short, 1);
	puts_are_done_once();
	gets_are_run_once();
	packets_come_once();
	contributions_go_on();
	atomic_store_relaxed(&is_short, 0);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	REQUIRE(atomic_load_relaxed(&denied) > 10);
#endif
	meet();
	return 0;
}
