/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs with a thread for packets: it answers the requests of the node before by puts, while the
 * first thread waits for the answer to its own. Each way to wait is that of other programs; the
 * thread may not have made a call before it waits.
 * usage: spi_handlers WAY
 */
#define _DEFAULT_SOURCE /* usleep() */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/thread.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>
#include <spi/include/wu/wait.h>

#define ROUNDS 10
#define NODES  256
#define BIT    (1ull << 15) /* arrivals in reception FIFO 0 of the group */

enum { INJECTS_REQUESTS, INJECTS_ANSWERS, INJECTS_SUMS, INJECTION_FIFOS };

struct request {
	uint64_t from, number, unused[2];
};

static MUSPI_GIBarrier_t barrier;
static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_BaseAddressTableSubGroup_t bases;
static char inj_memory[INJECTION_FIFOS][1024] __attribute__((aligned(64)));
static char rec_memory[8192] __attribute__((aligned(64)));
static BG_CoordinateMapping_t map[NODES];
static uint64_t nodes;
static uint32_t rank;
static volatile uint64_t counter[2][8] __attribute__((aligned(64)));
static uint64_t answer, answers[ROUNDS], part, sum;
static volatile uint32_t served, wanted;
static const char *way;
static volatile int naps;

#define CHECK_WHO "rank %u, %s", Kernel_GetRank(), way
#include "tests/harness/check_count.h"

static uint64_t counts(unsigned n)
{
	return MUSPI_GetAtomicAddress((uint64_t)counter[n], MUHWI_ATOMIC_OPCODE_STORE_ADD);
}

static void set_up(void)
{
	uint32_t id[4] = {0, 1, 2, 3};
	Kernel_InjFifoAttributes_t ia[INJECTION_FIFOS] = {{0}};
	Kernel_RecFifoAttributes_t ra = {0};
	Kernel_RecFifoInterrupts_t on_arrival = {.Packet_Arrival = 1};
	Kernel_MemoryRegion_t region;

	rank = Kernel_GetRank();
	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &nodes));
	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, INJECTION_FIFOS, id, ia));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, inj_memory, sizeof inj_memory));
	for (uint32_t i = 0; i < INJECTION_FIFOS; i++)
		REQUIRE(!Kernel_InjFifoInit(&inj, i, &region, i * sizeof inj_memory[0],
					    sizeof inj_memory[0] - 1));
	REQUIRE(!Kernel_InjFifoActivate(&inj, INJECTION_FIFOS, id, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!Kernel_AllocateRecFifos(0, &rec, 1, id, &ra));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, rec_memory, sizeof rec_memory));
	REQUIRE(!Kernel_RecFifoInit(&rec, 0, &region, 0, sizeof rec_memory - 1));
	REQUIRE(!Kernel_ConfigureRecFifoInterrupts(&rec, 1, id, &on_arrival));
	REQUIRE(!Kernel_RecFifoEnable(0, BIT));
	REQUIRE(!Kernel_AllocateBaseAddressTable(0, &bases, 4, id, 0));
	REQUIRE(!MUSPI_SetBaseAddress(&bases, 0, (uint64_t)&answer));
	REQUIRE(!MUSPI_SetBaseAddress(&bases, 1, counts(0)));
	REQUIRE(!MUSPI_SetBaseAddress(&bases, 2, (uint64_t)&sum));
	REQUIRE(!MUSPI_SetBaseAddress(&bases, 3, counts(1)));
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
}

static void set_base(MUSPI_BaseDescriptorInfoFields_t *base, uint64_t to, void *from, uint64_t n)
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

static void ask(uint64_t to, struct request *what)
{
	MUSPI_Pt2PtMemoryFIFODescriptorInfo_t info = {.MemFIFO.Interrupt = 1};
	MUHWI_Descriptor_t d;

	set_base(&info.Base, to, what, sizeof *what);
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	REQUIRE(!MUSPI_CreatePt2PtMemoryFIFODescriptor(&d, &info));
	inject(INJECTS_REQUESTS, &d);
}

static void start_sum(void)
{
	MUSPI_CollectiveDirectPutDescriptorInfo_t info;
	MUHWI_Descriptor_t d;

	part = rank + 1;
	memset(&info, 0, sizeof info);
	info.Base.Payload_Address = (uint64_t)&part;
	info.Base.Message_Length = sizeof part;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
	info.Collective.Op_Code = MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD;
	info.Collective.Word_Length = 8;
	info.Collective.Misc =
	    MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD | MUHWI_COLLECTIVE_TYPE_ALLREDUCE;
	info.DirectPut.Rec_Payload_Base_Address_Id = 2;
	info.DirectPut.Rec_Counter_Base_Address_Id = 3;
	REQUIRE(!MUSPI_CreateCollectiveDirectPutDescriptor(&d, &info));
	inject(INJECTS_SUMS, &d);
}

/* ---- the thread for packets ---- */

static int answer_request(void *unused, MUHWI_PacketHeader_t *h, uint32_t bytes)
{
	const struct request *q = (const struct request *)(h + 1);
	MUSPI_Pt2PtDirectPutDescriptorInfo_t put = {.DirectPut.Rec_Counter_Base_Address_Id = 1};
	uint64_t *out = &answers[q->number];
	MUHWI_Descriptor_t d;

	(void)unused;
	REQUIRE_EQ(bytes, sizeof *h + sizeof *q);
	*out = 3 * q->number + q->from;
	set_base(&put.Base, q->from, out, sizeof *out);
	put.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	REQUIRE(!MUSPI_CreatePt2PtDirectPutDescriptor(&d, &put));
	inject(INJECTS_ANSWERS, &d);
	if (!strcmp(way, "sum"))
		start_sum();
	served++;
	return 0;
}

static void take_packets(uint64_t fifo, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	MUSPI_ClearInterrupts(&rec, BIT);
	while (MUSPI_RecFifoPoll((MUSPI_RecFifo_t *)fifo, 10))
		;
}

static int is_empty(const MUSPI_RecFifo_t *f)
{
	return *(volatile uint64_t *)&f->_fifo.hwfifo->pa_tail == (uint64_t)f->_fifo.va_head;
}

static void wait_for_packets(MUSPI_RecFifo_t *f)
{
	if (!strcmp(way, "load"))
		while (is_empty(f))
			;
	else if (!strcmp(way, "nap"))
		while (is_empty(f))
			usleep(50);
	else if (!strcmp(way, "interrupt"))
		while (!(*(volatile uint64_t *)&rec.groupStatus->InterruptStatus & BIT))
			;
	else if (!strcmp(way, "wait")) {
		WU_ArmMU(15);
		if (is_empty(f))
			ppc_wait();
	}
}

static void *serve(void *unused)
{
	MUSPI_RecFifo_t *f = MUSPI_IdToRecFifo(0, &rec);

	while (served < ROUNDS) {
		if (!strcmp(way, "barrier")) {
			while (wanted == served)
				;
			REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
			served++;
		} else if (!strcmp(way, "handler") || !strcmp(way, "sum")) {
			REQUIRE(!Kernel_CommThreadPoof());
		} else {
			wait_for_packets(f);
			take_packets((uint64_t)f, 0, 0, 0);
		}
	}
	return unused;
}

/* ---- the first thread ---- */

static void run_round(uint64_t i)
{
	static struct request what;

	if (!strcmp(way, "barrier")) {
		wanted++;
		while (served != wanted)
			;
		return;
	}
	counter[0][0] = sizeof answer;
	counter[1][0] = sizeof sum;
	what = (struct request){.from = rank, .number = i};
	ask((rank + 1) % nodes, &what);
	while (counter[0][0])
		if (naps) /* strcmp() here would use whole vectors */
			usleep(100);
	REQUIRE_EQ(answer, 3 * i + rank);
	if (strcmp(way, "sum"))
		return;
	while (counter[1][0])
		;
	REQUIRE_EQ(sum, nodes * (nodes + 1) / 2);
}

int main(int argc, char **argv)
{
	pthread_t server;

	way = argc > 1 ? argv[1] : "handler";
	naps = !strcmp(way, "nap");
	set_up();
	MUSPI_RegisterRecvFunction(answer_request, NULL, 0);
	REQUIRE(!Kernel_CommThreadInstallHandler(KERNEL_COMM_INT0, take_packets,
						 (uint64_t)MUSPI_IdToRecFifo(0, &rec), 0, 0, 0));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	REQUIRE(!pthread_create(&server, NULL, serve, NULL));
	for (uint64_t i = 0; i < ROUNDS; i++)
		run_round(i);
	REQUIRE(!pthread_join(server, NULL));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	return check_failures != 0;
}
