/* SPDX-License-Identifier: BSD-3-Clause */
/* The rest of the interface by name: places, memory, L2 atomics, thresholds, interrupts, trees. */
#include <stdio.h>
#include <stdlib.h>

#include <hwi/include/bqc/nd_500_dcr.h>
#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/collective.h>
#include <spi/include/kernel/location.h>
#include <spi/include/kernel/thread.h>
#include <spi/include/l2/barrier.h>
#include <spi/include/l2/lock.h>
#include <spi/include/mu/Classroute.h>
#include <spi/include/mu/GI.h>
#include <spi/include/mu/InjFifo.h>
#include <spi/include/wu/wait.h>

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"

static void places_are_known(void)
{
	BG_CoordinateMapping_t map[64];
	BG_JobCoords_t job;
	Personality_t p;
	char mapping[64];
	uint32_t is_file = 9, rank = Kernel_GetRank(), count = Kernel_ProcessCount();
	uint64_t n, bytes;

	REQUIRE(!Kernel_GetPersonality(&p, sizeof p));
	REQUIRE(Kernel_GetPersonality(&p, sizeof p + 1) == EINVAL);
	REQUIRE(p.Kernel_Config.FreqMHz == 1600 && p.Version == PERSONALITY_VERSION);
	REQUIRE(ND_GET_TORUS(0, p.Network_Config.NetFlags));
	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &n));
	REQUIRE(n == (uint64_t)ND_TORUS_SIZE(p.Network_Config) * count);
	REQUIRE(Kernel_RanksToCoords(0, map, &n) == EINVAL);
	REQUIRE(map[rank].a == p.Network_Config.Acoord && map[rank].t == Kernel_MyTcoord());
	REQUIRE(!Kernel_JobCoords(&job) && job.shape.a == p.Network_Config.Anodes &&
		!job.isSubBlock);
	REQUIRE(!Kernel_GetMapping(sizeof mapping, mapping, &is_file) && !is_file);
	REQUIRE(!strcmp(mapping, "ABCDET") && Kernel_GetMapping(3, mapping, &is_file) == EINVAL);
	REQUIRE(Kernel_ProcessorCount() == 64 / count);
	REQUIRE(Kernel_ProcessorID() == Kernel_MyTcoord() * 64 / count);
	REQUIRE(Kernel_ProcessorCoreID() == Kernel_ProcessorID() / 4);
	REQUIRE(Kernel_PhysicalProcessorID() == Kernel_ProcessorCoreID());
	REQUIRE(Kernel_PhysicalHWThreadID() == Kernel_ProcessorThreadID());
	REQUIRE(Kernel_PhysicalHWThreadIndex() == Kernel_ProcessorID());
	REQUIRE(Kernel_BlockThreadId() % 68 == Kernel_ProcessorID());
	REQUIRE(popcnt64(Kernel_ThreadMask(0)) == 64 / count && Kernel_ThreadMask(0) & _BN(0));
	REQUIRE(Kernel_GetJobID() >= 0);
	REQUIRE(!Kernel_GetMemorySize(KERNEL_MEMSIZE_HEAP, &bytes) && bytes);
	REQUIRE(Kernel_GetMemorySize((enum KERNEL_MEMSIZETYPE)1, &bytes) == EINVAL);
	REQUIRE(ND_500_DCR__CTRL_CUTOFFS__A_PLUS_get(DCRReadUser(ND_500_DCR(CTRL_CUTOFFS))) ==
		(p.Network_Config.Acoord + 1u < p.Network_Config.Anodes
		     ? 1u
		     : p.Network_Config.Anodes - 1u));
}

static void memory_regions_translate(void)
{
	Kernel_MemoryRegion_t r, g;
	char room[100];
	size_t bytes;
	void *va;

	REQUIRE(!Kernel_CreateMemoryRegion(&r, room, sizeof room));
	REQUIRE(r.BaseVa == room && r.Bytes == sizeof room);
	REQUIRE(Kernel_CreateMemoryRegion(&r, NULL, 1) == 2);
	REQUIRE(!Kernel_CreateMemoryRegion(&r, room, sizeof room));
	REQUIRE(!Kernel_QueryMemoryRegion(&r, &va, &bytes) && va == room && bytes == sizeof room);
	REQUIRE(!Kernel_CreateGlobalMemoryRegion(&r, &g) && g.BaseVa == room);
	REQUIRE(!Kernel_Physical2Virtual(r.BasePa, &va) && va == room);
	REQUIRE(!Kernel_Physical2GlobalVirtual(r.BasePa, &va) && va == room);
	REQUIRE(!Kernel_DestroyMemoryRegion(&r));
	REQUIRE(!Kernel_L2AtomicsAllocate(room, sizeof room) && !Kernel_L2AtomicsBaseAddress());
}

static void l2_atomics_count(void)
{
	static volatile uint64_t w[4] __attribute__((aligned(64)));
	L2_Barrier_t barrier = L2_BARRIER_INITIALIZER;
	L2_Lock_t lock;
	volatile uint64_t *p = w + 1;

	L2_AtomicStore(p, 5);
	REQUIRE(L2_AtomicLoad(p) == 5 && L2_AtomicLoadClear(p) == 5 && *p == 0);
	REQUIRE(L2_AtomicLoadIncrement(p) == 0 && L2_AtomicLoadDecrement(p) == 1 && *p == 0);
	p[1] = 1;
	REQUIRE(L2_AtomicLoadIncrementBounded(p) == 0 &&
		L2_AtomicLoadIncrementBounded(p) == L2_ATOMIC_AT_BOUND);
	p[-1] = 0;
	REQUIRE(L2_AtomicLoadDecrementBounded(p) == 1 &&
		L2_AtomicLoadDecrementBounded(p) == L2_ATOMIC_AT_BOUND);
	p[1] = 0;
	REQUIRE(L2_AtomicLoadIncrementIfEqual(p) == 0 &&
		L2_AtomicLoadIncrementIfEqual(p) == L2_ATOMIC_AT_BOUND);
	L2_AtomicStoreTwin(p, 8);
	REQUIRE(p[0] == 1 && p[1] == 0);
	p[1] = 1;
	L2_AtomicStoreTwin(p, 8);
	REQUIRE(p[0] == 8 && p[1] == 8);
	L2_AtomicStoreAdd(p, 1);
	L2_AtomicStoreAddCoherenceOnZero(p, 1);
	L2_AtomicStoreOr(p, 1);
	L2_AtomicStoreXor(p, 3);
	REQUIRE(*p == 8);
	L2_AtomicStoreMax(p, 7);
	REQUIRE(*p == 8);
	L2_AtomicStoreMax(p, 9);
	REQUIRE(*p == 9);
	L2_AtomicStoreMaxSignValue(p, 1ull << 63 | 20);
	REQUIRE(*p == 9);
	*p = 1ull << 63 | 20;
	L2_AtomicStoreMaxSignValue(p, 1ull << 63 | 3);
	REQUIRE(*p == (1ull << 63 | 3));
	for (int i = 0; i < 3; i++)
		REQUIRE(L2_BarrierWithTicket(&barrier, 1) == 0);
	L2_Barrier(&barrier, 1);
	L2_LockInit(&lock);
	L2_LockAcquire(&lock);
	REQUIRE(L2_LockIsBusy(&lock) && L2_LockThreadsInLine(&lock) == 1 &&
		L2_LockTryAcquire(&lock));
	L2_LockRelease(&lock);
	REQUIRE(!L2_LockIsBusy(&lock) && !L2_LockTryAcquire(&lock));
	L2_LockReleaseNoSync(&lock);
	REQUIRE(Fetch_and_Add((uint64_t *)p, 1) == (1ull << 63 | 3));
	REQUIRE(LoadReserved(p) == (1ull << 63 | 4) && StoreConditional(p, 1) && *p == 1);
	REQUIRE(!StoreConditional(p, 2));
}

static int handled;
static void on_interrupt(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	handled += a == 1 && b == 2 && c == 3 && d == 4;
}

/* A FIFO of two slots, thresholds, and an interrupt on arrival. */
static void fifos_interrupt_on_arrival(void)
{
	static MUSPI_InjFifoSubGroup_t inj;
	static MUSPI_RecFifoSubGroup_t rec;
	static unsigned char two[128] __attribute__((aligned(64))),
	    room[576] __attribute__((aligned(32)));
	uint32_t sg = 64 / Kernel_ProcessCount() * Kernel_MyTcoord(), id = 3, n, ids[8],
		 group = sg / 4;
	Kernel_InjFifoAttributes_t ia = {0, 1, 0, 0};
	Kernel_RecFifoAttributes_t ra = {0, 0};
	Kernel_RecFifoInterrupts_t ints = {1, 1, 0};
	Kernel_InjFifoInterrupts_t iints = {1, 0};
	MUSPI_Pt2PtMemoryFIFODescriptorInfo_t info;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));
	Kernel_MemoryRegion_t r;
	Personality_t p;
	uint64_t t = 0, u = 4, bit;
	uint32_t bytes;

	REQUIRE(!Kernel_QueryInjFifos(sg, &n, ids) && n == 8 && ids[7] == 7);
	REQUIRE(!Kernel_QueryRecFifos(sg, &n, ids) && n == 4);
	REQUIRE(!Kernel_QueryBaseAddressTable(sg, &n, ids) && n == 8);
	REQUIRE(Kernel_QueryInjFifos(68, &n, ids) == EINVAL);
	REQUIRE(Kernel_AllocateInjFifos(sg, &inj, 1, &id, &ia) == EACCES);
	ia.System = 0;
	REQUIRE(Kernel_AllocateInjFifos(67, &inj, 1, &id, &ia) == EACCES);
	REQUIRE(!Kernel_AllocateInjFifos(sg, &inj, 1, &id, &ia));
	REQUIRE(!Kernel_QueryInjFifos(sg, &n, ids) && n == 7);
	REQUIRE(!Kernel_AllocateRecFifos(sg, &rec, 1, &id, &ra));
	Kernel_CreateMemoryRegion(&r, two, sizeof two);
	REQUIRE(!Kernel_InjFifoInit(&inj, id, &r, 0, sizeof two - 1));
	Kernel_CreateMemoryRegion(&r, room, sizeof room);
	REQUIRE(!Kernel_RecFifoInit(&rec, id, &r, 0, sizeof room - 1));
	REQUIRE(MUSPI_getSize(&MUSPI_IdToInjFifo(3, &inj)->_fifo) == 128);
	REQUIRE(MUSPI_getHwSize(&MUSPI_IdToInjFifo(3, &inj)->_fifo) == 128);
	REQUIRE(!Kernel_RecFifoEnable(group, 1u << (15 - (sg % 4 * 4 + 3))));
	REQUIRE(!Kernel_ConfigureRecFifoInterrupts(&rec, 1, &id, &ints));
	REQUIRE(!Kernel_ConfigureInjFifoInterrupts(&inj, 1, &id, &iints));
	REQUIRE(!Kernel_ConfigureRecFifoThreshold(17) && !Kernel_GetRecFifoThreshold(&t) &&
		t == 17);
	REQUIRE(!Kernel_ConfigureInjFifoThresholds(NULL, &u) &&
		!Kernel_GetInjFifoThresholds(NULL, &t) && t == 4);
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(inj.groupStatus->isEnabled >> (31 - (sg % 4 * 8 + 3)) & 1);
	REQUIRE(MUSPI_getHwFreeSpace(MUSPI_IdToInjFifo(3, &inj)) == 1);

	Kernel_GetPersonality(&p, sizeof p);
	memset(&info, 0, sizeof info);
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL1;
	MUSPI_SetUpDestination(&info.Base.Dest, p.Network_Config.Acoord, p.Network_Config.Bcoord,
			       p.Network_Config.Ccoord, p.Network_Config.Dcoord,
			       p.Network_Config.Ecoord);
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.MemFIFO.Rec_FIFO_Id = (uint16_t)(sg * 4 + 3);
	info.MemFIFO.Interrupt = 1;
	MUSPI_CreatePt2PtMemoryFIFODescriptor(&d, &info);
	Kernel_CommThreadInstallHandler(KERNEL_COMM_INT0, on_interrupt, 1, 2, 3, 4);
	for (int i = 0; i < 5; i++) {
		WU_ArmMU(15);
		while (MUSPI_InjFifoInject(MUSPI_IdToInjFifo(3, &inj), &d) == (uint64_t)-1)
			;
		bit = 1ull << (15 - (sg % 4 * 4 + 3));
		REQUIRE(!Kernel_CommThreadPoof());
		while (!(rec.groupStatus->InterruptStatus & bit))
			ppc_wait();
		while (!MUSPI_getNextPacket(MUSPI_IdToRecFifo(3, &rec), &bytes))
			quintorus_mu_poll();
		REQUIRE(bytes == 32);
		MUSPI_syncRecFifoHwHead(MUSPI_IdToRecFifo(3, &rec));
		MUSPI_ClearInterrupts(&rec, ~0ull);
		while (rec.groupStatus->InterruptStatus)
			quintorus_mu_poll();
	}
	REQUIRE(handled == 5);
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, KERNEL_INJ_FIFO_DEACTIVATE));
	REQUIRE(!Kernel_DeallocateInjFifos(&inj, 1, &id) &&
		!Kernel_DeallocateRecFifos(&rec, 1, &id));
	REQUIRE(!Kernel_QueryInjFifos(sg, &n, ids) && n == 8);
}

static void trees_are_allocated(void)
{
	CR_RECT_T world = {{{0, 0, 0, 0, 0}}, {{3, 3, 1, 0, 0}}}, box;
	CR_COORD_T root, root2, excluded[64], me = {{1, 2, 1, 0, 0}};
	ClassRoute_t c, s;
	uint32_t free_ids[3] = {1, 2, 5};
	void *env = NULL;
	int d0, n;

	MUSPI_PickWorldRoot(&world, NULL, &root, &d0);
	REQUIRE(root.coords[0] == 2 && root.coords[2] == 1 && d0 == 2);
	MUSPI_BuildNodeClassroute(&world, &root, &me, &world, NULL, d0, &c);
	REQUIRE(c.output && !(c.output & (c.output - 1)) && !(c.input & 1));
	MUSPI_BuildNodeClassrouteSparse(&world, &root, &me, &world, &me, 1, NULL, d0, &s);
	REQUIRE(!(s.input & 1) && (s.input & ~c.input) == 0);
	MUSPI_PickWorldRootPair(&world, NULL, &root, &root2, &d0);
	REQUIRE(root.coords[2] == 0 && root2.coords[2] == 1 && d0 == 2);
	MUSPI_MakeNpRect(&world, 7, &box, excluded, &n, &d0);
	REQUIRE(n == 1 && box.ur.coords[1] == 3 && box.ur.coords[2] == 1);
	REQUIRE(!MUSPI_InitClassrouteIds(free_ids, 3, 0, &env));
	REQUIRE(MUSPI_GetClassrouteIds(0, &world, &env) == (1u << 1 | 1u << 2 | 1u << 5));
	REQUIRE(MUSPI_SetClassrouteId(2, 0, &world, &env) == 1);
	REQUIRE(MUSPI_GetClassrouteIds(0, &world, &env) == (1u << 2 | CR_MATCH_RECT_FLAG));
	REQUIRE(MUSPI_SetClassrouteId(2, 0, &world, &env) == 0);
	REQUIRE(MUSPI_ReleaseClassrouteId(2, 0, &world, &env) == 0);
	REQUIRE(MUSPI_ReleaseClassrouteId(2, 0, &world, &env) == 1);
	free(env);
	REQUIRE(Kernel_AllocateCollectiveClassRoute(16) == EINVAL);
	REQUIRE(Kernel_SetCollectiveClassRoute(4, &c) == EINVAL);
}

static void checksums_can_be_cleared(void)
{
	uint64_t sum = 1;

	REQUIRE(!Kernel_ClearInjectionChecksum(10) && !Kernel_GetInjectionChecksum(10, &sum) &&
		!sum);
	REQUIRE(Kernel_GetInjectionChecksum(16, &sum) == EINVAL);
}

static MUSPI_InjFifoSubGroup_t sum_inj;
static MUSPI_BaseAddressTableSubGroup_t sum_bat;
static unsigned char sum_fifo[64 * 8] __attribute__((aligned(64)));
static uint64_t sum_in[128] __attribute__((aligned(64)));
static volatile uint64_t sum_counter __attribute__((aligned(64)));

/* Put 700 bytes, two packets, to the own node; the sum of LOCAL0 then. */
static uint64_t sum_of_put(const uint64_t *data, unsigned skip)
{
	MUSPI_Pt2PtDirectPutDescriptorInfo_t info;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));
	Personality_t p;
	uint64_t sum, sequence;

	REQUIRE(!Kernel_GetPersonality(&p, sizeof p));
	memset(&info, 0, sizeof info);
	info.Base.Payload_Address = (uint64_t)data;
	info.Base.Message_Length = 700;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	MUSPI_SetUpDestination(&info.Base.Dest, p.Network_Config.Acoord, p.Network_Config.Bcoord,
			       p.Network_Config.Ccoord, p.Network_Config.Dcoord,
			       p.Network_Config.Ecoord);
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.Pt2Pt.Skip = (uint16_t)skip;
	info.DirectPut.Rec_Payload_Base_Address_Id = (uint16_t)(8 * sum_bat.subgrpid);
	info.DirectPut.Rec_Counter_Base_Address_Id = (uint16_t)(8 * sum_bat.subgrpid + 1);
	MUSPI_CreatePt2PtDirectPutDescriptor(&d, &info);
	sum_counter = 700;
	REQUIRE(!Kernel_ClearInjectionChecksum(10));
	sequence = MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &sum_inj), &d);
	while (!MUSPI_CheckDescComplete(MUSPI_IdToInjFifo(0, &sum_inj), sequence) || sum_counter)
		quintorus_mu_poll();
	REQUIRE(!Kernel_GetInjectionChecksum(10, &sum));
	return sum;
}

/* The sum of a network FIFO is over the words of headers and payload that Skip leaves. */
static void checksums_cover_what_skip_leaves(void)
{
	uint64_t data[128], first;
	uint32_t ids[2] = {0, 1}, subgroup = Kernel_MyTcoord() * 64 / Kernel_ProcessCount() + 8;
	Kernel_InjFifoAttributes_t attributes;
	Kernel_MemoryRegion_t region;

	memset(&attributes, 0, sizeof attributes);
	for (int i = 0; i < 128; i++)
		data[i] = (uint64_t)i * 0x123456789ull;
	REQUIRE(!Kernel_AllocateInjFifos(subgroup, &sum_inj, 1, ids, &attributes));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, sum_fifo, sizeof sum_fifo));
	REQUIRE(!Kernel_InjFifoInit(&sum_inj, 0, &region,
				    (uint64_t)sum_fifo - (uint64_t)region.BaseVa,
				    sizeof sum_fifo - 1));
	REQUIRE(!Kernel_InjFifoActivate(&sum_inj, 1, ids, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!Kernel_AllocateBaseAddressTable(subgroup, &sum_bat, 2, ids, 0));
	REQUIRE(!MUSPI_SetBaseAddress(&sum_bat, 0, (uint64_t)sum_in));
	REQUIRE(!MUSPI_SetBaseAddress(
	    &sum_bat, 1,
	    MUSPI_GetAtomicAddress((uint64_t)&sum_counter, MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	first = sum_of_put(data, 8);
	REQUIRE(first && sum_of_put(data, 8) == first);
	REQUIRE(sum_of_put(data, 136) == 0);
	REQUIRE(sum_of_put(data, 0) != first);
	((char *)data)[699] ^= 1; /* in the last word of the second packet */
	REQUIRE(sum_of_put(data, 8) != first);
	((char *)data)[699] ^= 1;
	((char *)data)[700] ^= 1; /* behind it */
	REQUIRE(sum_of_put(data, 8) == first);
}

/* What a kernel call would find in its arguments: nothing there, too much, or one thing twice. */
static void wrong_arguments_are_refused(void)
{
	Kernel_InjFifoAttributes_t injection[8] = {{0}};
	Kernel_RecFifoAttributes_t reception[4] = {{0}};
	static MUSPI_BaseAddressTableSubGroup_t bat;
	uint32_t n, is_file, ids[8] = {3, 3}, two[2] = {3, 4};
	static MUSPI_InjFifoSubGroup_t inj;
	static MUSPI_RecFifoSubGroup_t rec;
	Kernel_MemoryRegion_t region;
	uint64_t count;
	char mapping[64];
	size_t bytes;
	void *va;

	REQUIRE(Kernel_QueryInjFifos(1, NULL, ids) == EINVAL);
	REQUIRE(Kernel_QueryRecFifos(1, &n, NULL) == EINVAL);
	REQUIRE(Kernel_AllocateInjFifos(1, NULL, 1, ids, injection) == EINVAL);
	REQUIRE(Kernel_AllocateInjFifos(1, &inj, 1, NULL, injection) == EINVAL);
	REQUIRE(Kernel_AllocateInjFifos(1, &inj, 1, ids, NULL) == EINVAL);
	REQUIRE(Kernel_AllocateInjFifos(1, &inj, 1u << 30, ids, injection) == EINVAL);
	REQUIRE(Kernel_AllocateRecFifos(1, NULL, 1, ids, reception) == EINVAL);
	REQUIRE(Kernel_AllocateRecFifos(1, &rec, 1u << 30, ids, reception) == EINVAL);
	REQUIRE(Kernel_AllocateBaseAddressTable(1, NULL, 1, ids, 0) == EINVAL);
	REQUIRE(Kernel_AllocateBaseAddressTable(1, &bat, 1, NULL, 0) == EINVAL);
	REQUIRE(!Kernel_AllocateInjFifos(1, &inj, 2, two, injection));
	REQUIRE(Kernel_InjFifoInit(&inj, 3, NULL, 0, 4095) == EINVAL);
	REQUIRE(Kernel_InjFifoInit(NULL, 3, &region, 0, 4095) == EINVAL);
	REQUIRE(Kernel_InjFifoActivate(&inj, 1, NULL, 1) == EINVAL);
	REQUIRE(Kernel_ConfigureInjFifoInterrupts(&inj, 1, ids, NULL) == EINVAL);
	REQUIRE(Kernel_DeallocateInjFifos(&inj, 2, ids) == EINVAL);
	REQUIRE(Kernel_DeallocateInjFifos(NULL, 1, ids) == EINVAL);
	REQUIRE(!Kernel_DeallocateInjFifos(&inj, 2, two));
	REQUIRE(Kernel_GetRecFifoThreshold(NULL) == EINVAL);
	REQUIRE(Kernel_QueryCollectiveClassRoutes(&n, NULL, 64) == EINVAL);
	REQUIRE(Kernel_RanksToCoords(1 << 20, NULL, &count) == EINVAL);
	REQUIRE(Kernel_JobCoords(NULL) == EINVAL);
	REQUIRE(Kernel_GetMapping(sizeof mapping, NULL, &is_file) == EINVAL);
	REQUIRE(Kernel_GetMapping(sizeof mapping, mapping, NULL) == EINVAL);
	REQUIRE(!Kernel_CreateMemoryRegion(&region, mapping, sizeof mapping));
	REQUIRE(Kernel_QueryMemoryRegion(&region, NULL, &bytes) == 2);
	REQUIRE(Kernel_QueryMemoryRegion(&region, &va, NULL) == 2);
	REQUIRE(Kernel_Physical2Virtual(mapping, NULL) == 2);
}

int main(void)
{
	uint64_t from = GetTimeBase();

	places_are_known();
	memory_regions_translate();
	l2_atomics_count();
	fifos_interrupt_on_arrival();
	trees_are_allocated();
	checksums_can_be_cleared();
	checksums_cover_what_skip_leaves();
	wrong_arguments_are_refused();
	Delay(100);
	REQUIRE(GetTimeBase() - from >= 100);
	return 0;
}
