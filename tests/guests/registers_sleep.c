/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs of the MU's registers that sleep: a thread that handles interrupts serves the packets of
 * others, and the first thread waits for the answer in the wakeup unit. Each clears an interrupt
 * before it looks for the last time, so what comes later must wake it.
 */
#include <pthread.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/location.h>
#include <spi/include/kernel/thread.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/wu/wait.h>

#include "tests/guests/guest.h"

#define ROUNDS 40
#define BIT    (1ull << 15) /* arrivals in reception FIFO 0 of the group */

typedef struct {
	uint64_t from, number, unused[2];
} request_t;

static MUSPI_GIBarrier_t barrier;
static MUSPI_InjFifoSubGroup_t inj; /* FIFO 0: requests, FIFO 1: the server's answers */
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_BaseAddressTableSubGroup_t bat;
static char inj_memory[2][1024] __attribute__((aligned(64)));
static char rec_memory[8192] __attribute__((aligned(64)));
static BG_CoordinateMapping_t map[64];
static uint64_t ranks;
static volatile uint64_t counter __attribute__((aligned(64)));
static uint64_t answer __attribute__((aligned(64)));
static uint64_t answers[64] __attribute__((aligned(64)));
static uint32_t served, handled;

static void set_up(void)
{
	uint32_t ids[2] = {0, 1};
	Kernel_InjFifoAttributes_t ia[2] = {{0}};
	Kernel_RecFifoAttributes_t ra = {0};
	Kernel_RecFifoInterrupts_t on_arrival = {.Packet_Arrival = 1};
	Kernel_MemoryRegion_t region;

	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &ranks));
	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, 2, ids, ia));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, inj_memory, sizeof inj_memory));
	for (uint32_t i = 0; i < 2; i++)
		REQUIRE(!Kernel_InjFifoInit(&inj, i, &region, i * sizeof inj_memory[0],
					    sizeof inj_memory[0] - 1));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 2, ids, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!Kernel_AllocateRecFifos(0, &rec, 1, ids, &ra));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, rec_memory, sizeof rec_memory));
	REQUIRE(!Kernel_RecFifoInit(&rec, 0, &region, 0, sizeof rec_memory - 1));
	REQUIRE(!Kernel_ConfigureRecFifoInterrupts(&rec, 1, ids, &on_arrival));
	REQUIRE(!Kernel_RecFifoEnable(0, 1 << 15));
	REQUIRE(!Kernel_AllocateBaseAddressTable(0, &bat, 2, ids, 0));
	REQUIRE(!MUSPI_SetBaseAddress(&bat, 0, (uint64_t)&answer));
	REQUIRE(!MUSPI_SetBaseAddress(
	    &bat, 1, MUSPI_GetAtomicAddress((uint64_t)&counter, MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
}

static void set_base(MUSPI_BaseDescriptorInfoFields_t *base, uint32_t to, void *from, uint64_t n)
{
	base->Payload_Address = (uint64_t)from;
	base->Message_Length = n;
	base->Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_PRIORITY;
	MUSPI_SetUpDestination(&base->Dest, map[to].a, map[to].b, map[to].c, map[to].d, map[to].e);
}

static void inject(int fifo, MUHWI_Descriptor_t *d)
{
	while (MUSPI_InjFifoInject(MUSPI_IdToInjFifo(fifo, &inj), d) == UINT64_MAX)
		;
}

static void ask(uint32_t to, request_t *what)
{
	MUSPI_Pt2PtMemoryFIFODescriptorInfo_t info = {.MemFIFO.Interrupt = 1};
	MUHWI_Descriptor_t d;

	set_base(&info.Base, to, what, sizeof *what);
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	REQUIRE(!MUSPI_CreatePt2PtMemoryFIFODescriptor(&d, &info));
	inject(0, &d);
}

/* ---- one thread ---- */

/* The MU writes a packet, and after it the bit of its interrupt, which the program has cleared
 * before: by the call, or by a store to the register. */
static void clears_before_the_last_look(void)
{
	volatile MUHWI_RecFifoStatus_t *r = rec.groupStatus;
	MUSPI_RecFifo_t *f = MUSPI_IdToRecFifo(0, &rec);
	static request_t what;
	uint32_t bytes;

	for (int round = 0; round < ROUNDS; round++) {
		if (round % 2) {
			MUSPI_ClearInterrupts(&rec, BIT);
			CHECK(!(r->InterruptStatus & BIT));
		} else {
			r->ClearInterruptStatus = BIT;
			ppc_msync();
		}
		CHECK(!MUSPI_getNextPacket(f, &bytes));
		ask(Kernel_GetRank(), &what);
		while (!MUSPI_getNextPacket(f, &bytes))
			;
		MUSPI_syncRecFifoHwHead(f);
		/* The thread that stored the packet may be about to raise the bit, and may have no
		 * processor now. */
		for (double until = guest_now() + 20;
		     !(r->InterruptStatus & BIT) && guest_now() < until;)
			quintorus_mu_poll();
		REQUIRE(r->InterruptStatus & BIT);
	}
	MUSPI_ClearInterrupts(&rec, BIT);
}

/* ---- two threads ---- */

static int answer_request(void *unused, MUHWI_PacketHeader_t *h, uint32_t bytes)
{
	const request_t *q = (const request_t *)(h + 1);
	uint64_t *out = &answers[served++ % 64];
	MUSPI_Pt2PtDirectPutDescriptorInfo_t put = {.DirectPut.Rec_Counter_Base_Address_Id = 1};
	MUHWI_Descriptor_t d;

	(void)unused;
	REQUIRE_EQ(bytes, sizeof *h + sizeof *q);
	*out = 3 * q->number + q->from;
	set_base(&put.Base, (uint32_t)q->from, out, sizeof *out);
	put.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	REQUIRE(!MUSPI_CreatePt2PtDirectPutDescriptor(&d, &put));
	inject(1, &d);
	return 0;
}

static void handle_interrupt(uint64_t fifo, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	handled++;
	MUSPI_ClearInterrupts(&rec, BIT);
	while (MUSPI_RecFifoPoll((MUSPI_RecFifo_t *)fifo, 10))
		;
}

static void *serve(void *unused)
{
	while (served < ROUNDS)
		REQUIRE(!Kernel_CommThreadPoof());
	return unused;
}

static void serves_from_a_thread(void)
{
	static request_t what;
	uint32_t me = Kernel_GetRank(), next = (me + 1) % (uint32_t)ranks;
	pthread_t server;

	MUSPI_RegisterRecvFunction(answer_request, NULL, 0);
	REQUIRE(!Kernel_CommThreadInstallHandler(KERNEL_COMM_INT0, handle_interrupt,
						 (uint64_t)MUSPI_IdToRecFifo(0, &rec), 0, 0, 0));
	REQUIRE(!pthread_create(&server, NULL, serve, NULL));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	for (uint64_t i = 0; i < ROUNDS; i++) {
		counter = sizeof answer;
		what = (request_t){.from = me, .number = i};
		ask(next, &what);
		for (;;) {
			WU_ArmWithAddress((uint64_t)&counter, ~0x3full);
			if (!counter)
				break;
			ppc_wait();
		}
		REQUIRE_EQ(answer, 3 * i + me);
	}
	REQUIRE(!pthread_join(server, NULL));
	/* One packet at a time: a handler that runs much more often found interrupts it had
	 * cleared. */
	CHECK(handled <= 2 * ROUNDS);
	REQUIRE(!Kernel_CommThreadInstallHandler(KERNEL_COMM_INT0, NULL, 0, 0, 0, 0));
}

int main(int argc, char **argv)
{
	set_up();
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	CASE(clears_before_the_last_look, "clears an interrupt, and then finds its FIFO empty");
	CASE(serves_from_a_thread, "sleeps in a handler's thread, and in the wakeup unit");
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	if (!check_failures && !Kernel_GetRank())
		puts("ok");
	return check_failures != 0;
}
