/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that spin: each of several threads of a node has a subgroup of its own, puts to the same
 * thread of the next node, and reads the counter of its own puts without a call until they have
 * come. A barrier of the threads is between the rounds.
 */
#include <pthread.h>
#include <string.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>

#define THREADS 3
#define ROUNDS  8
#define BYTES   600
#define NODES   64

static MUSPI_GIBarrier_t barrier;
static pthread_barrier_t threads;
static BG_CoordinateMapping_t map[NODES];
static uint64_t nodes;
static uint32_t rank;
static unsigned char from[THREADS][BYTES], to[THREADS][BYTES];
static volatile uint64_t counter[THREADS][8] __attribute__((aligned(64)));

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"

static unsigned char byte_of(uint32_t node, unsigned t, int round, unsigned at)
{
	return (unsigned char)(node * 31 + t * 7 + (unsigned)round + at);
}

static void meet(unsigned t)
{
	pthread_barrier_wait(&threads);
	if (!t)
		MUSPI_GIBarrierEnterAndWait(&barrier);
	pthread_barrier_wait(&threads);
}

static void make_put(MUHWI_Descriptor_t *d, unsigned t, uint32_t node)
{
	MUSPI_Pt2PtDirectPutDescriptorInfo_t info;

	memset(&info, 0, sizeof info);
	MUSPI_SetUpDestination(&info.Base.Dest, map[node].a, map[node].b, map[node].c, map[node].d,
			       map[node].e);
	info.Base.Torus_FIFO_Map = node == rank ? MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0
						: MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AM;
	info.Pt2Pt.Misc1 = MUHWI_PACKET_USE_DETERMINISTIC_ROUTING;
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.DirectPut.Rec_Payload_Base_Address_Id = (uint16_t)(t * 8);
	info.DirectPut.Rec_Counter_Base_Address_Id = (uint16_t)(t * 8 + 1);
	info.Base.Payload_Address = (uint64_t)from[t];
	info.Base.Message_Length = BYTES;
	REQUIRE(!MUSPI_CreatePt2PtDirectPutDescriptor(d, &info));
}

static void *run_thread(void *arg)
{
	unsigned t = (unsigned)(uintptr_t)arg;
	static unsigned char memory[THREADS][256] __attribute__((aligned(64)));
	uint32_t id[2] = {0, 1}, next = (rank + 1) % (uint32_t)nodes,
		 before = (uint32_t)((rank + nodes - 1) % nodes);
	MUSPI_BaseAddressTableSubGroup_t bases;
	Kernel_InjFifoAttributes_t attributes;
	Kernel_MemoryRegion_t region;
	MUSPI_InjFifoSubGroup_t inj;
	MUHWI_Descriptor_t d;

	memset(&attributes, 0, sizeof attributes);
	REQUIRE(!Kernel_AllocateInjFifos(t, &inj, 1, id, &attributes));
	REQUIRE(!Kernel_AllocateBaseAddressTable(t, &bases, 2, id, 0));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, memory[t], sizeof memory[t]));
	REQUIRE(!Kernel_InjFifoInit(&inj, 0, &region, (uint64_t)memory[t] - (uint64_t)region.BaseVa,
				    sizeof memory[t] - 1));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, id, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!MUSPI_SetBaseAddress(&bases, 0, (uint64_t)to[t]));
	REQUIRE(!MUSPI_SetBaseAddress(
	    &bases, 1,
	    MUSPI_GetAtomicAddress((uint64_t)counter[t], MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	make_put(&d, t, next);
	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < BYTES; i++)
			from[t][i] = byte_of(rank, t, round, i);
		counter[t][0] = BYTES;
		meet(t); /* all counters are set */
		while (MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), &d) == UINT64_MAX)
			;
		while (counter[t][0])
			;
		for (unsigned i = 0; i < BYTES; i++)
			if (to[t][i] != byte_of(before, t, round, i)) {
				CHECK(!"the bytes that came are those of the node before");
				break;
			}
		meet(t); /* all puts have left */
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	rank = Kernel_GetRank();
	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &nodes));
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	REQUIRE(!pthread_barrier_init(&threads, NULL, THREADS));
	for (uintptr_t t = 0; t < THREADS; t++)
		REQUIRE(!pthread_create(&thread[t], NULL, run_thread, (void *)t));
	for (int t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	return check_failures != 0;
}
