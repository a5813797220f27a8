/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs of the MU's registers with several processes on each node, as old ones had them: a page
 * of shared memory for each node, a barrier of its processes beside that of the nodes, a counter
 * there that the puts of all of them count down, words that all tasks change by the MU, and a class
 * route for each.
 */
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/collective.h>
#include <spi/include/kernel/location.h>
#include <spi/include/l2/atomic.h>
#include <spi/include/l2/barrier.h>
#include <spi/include/mu/Classroute.h>
#include <spi/include/mu/GIBarrier.h>

#include "tests/guests/guest.h"

#define ROUNDS 10
#define BYTES  1536u
#define BASE   0u /* entries of the first process: counters */
#define OWN(t) ((t)*64u / processes * 8u)

struct words {
	volatile uint64_t sum, bits, parity, most, ticket, seat, seats;
};
struct page {
	L2_Barrier_t barrier;
	volatile uint64_t counter __attribute__((aligned(64)));
};

static struct page *node;
static MUSPI_GIBarrier_t gi;
static MUSPI_InjFifoSubGroup_t inj; /* FIFO 1: for remote gets */
static MUSPI_BaseAddressTableSubGroup_t counters, own;
static char fifo[2][4096] __attribute__((aligned(64)));
static unsigned char sent[BYTES] __attribute__((aligned(64)));
static unsigned char arrived[BYTES] __attribute__((aligned(64)));
static struct words words __attribute__((aligned(128)));
static volatile uint64_t done __attribute__((aligned(64))); /* bytes of puts to this process */
static uint64_t drawn[2] __attribute__((aligned(64)));
static uint64_t address[64] __attribute__((aligned(64))); /* of the words of each rank */
static BG_CoordinateMapping_t map[64];
static uint64_t ranks;
static uint32_t me, t, processes;

static void enter_barrier(void)
{
	L2_Barrier(&node->barrier, (int)processes);
	if (!t)
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&gi));
	L2_Barrier(&node->barrier, (int)processes);
}

static void map_page(void)
{
	char name[64];
	int fd;

	snprintf(name, sizeof name, "/guest-%d-%u.%u.%u.%u.%u", Kernel_GetJobID(), map[me].a,
		 map[me].b, map[me].c, map[me].d, map[me].e);
	fd = shm_open(name, O_CREAT | O_RDWR, 0600);
	REQUIRE(fd >= 0 && !ftruncate(fd, sizeof *node));
	node = mmap(NULL, sizeof *node, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(node != MAP_FAILED);
	close(fd);
	L2_Barrier(&node->barrier, (int)processes);
	if (!t)
		shm_unlink(name);
}

static void set_up(void)
{
	uint32_t ids[4] = {0, 1, 2, 3}, shared[] = {7};
	Kernel_InjFifoAttributes_t ia[2] = {{0}, {.RemoteGet = 1}};
	Kernel_MemoryRegion_t region;

	me = Kernel_GetRank();
	t = Kernel_MyTcoord();
	processes = Kernel_ProcessCount();
	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &ranks));
	map_page();
	REQUIRE(!Kernel_AllocateInjFifos(OWN(t) / 8, &inj, 2, ids, ia));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, fifo, sizeof fifo));
	REQUIRE(!Kernel_InjFifoInit(&inj, 0, &region, 0, sizeof fifo[0] - 1));
	REQUIRE(!Kernel_InjFifoInit(&inj, 1, &region, sizeof fifo[0], sizeof fifo[1] - 1));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 2, ids, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!Kernel_AllocateBaseAddressTable(OWN(t) / 8, &own, 4, ids, 0));
	REQUIRE(!MUSPI_SetBaseAddress(&own, 0, (uint64_t)arrived));
	REQUIRE(!MUSPI_SetBaseAddress(
	    &own, 1, MUSPI_GetAtomicAddress((uint64_t)&done, MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	REQUIRE(!MUSPI_SetBaseAddress(&own, 2, (uint64_t)address));
	REQUIRE(!MUSPI_SetBaseAddress(&own, 3, MUSPI_GetAtomicAddress((uint64_t)&words, 0)));
	if (t)
		return;
	REQUIRE(!Kernel_AllocateBaseAddressTable(BASE, &counters, 1, shared, 0));
	REQUIRE(!MUSPI_SetBaseAddress(
	    &counters, 7,
	    MUSPI_GetAtomicAddress((uint64_t)&node->counter, MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	REQUIRE(!MUSPI_GIBarrierInit(&gi, 0));
}

static void set_base(MUSPI_BaseDescriptorInfoFields_t *base, uint32_t to, uint64_t from, uint64_t n)
{
	base->Payload_Address = from;
	base->Message_Length = n;
	base->Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_PRIORITY;
	MUSPI_SetUpDestination(&base->Dest, map[to].a, map[to].b, map[to].c, map[to].d, map[to].e);
}

static void make_put(MUHWI_Descriptor_t *d, uint32_t to, unsigned entry, uint64_t offset,
		     uint64_t from, unsigned bytes)
{
	MUSPI_Pt2PtDirectPutDescriptorInfo_t info = {0};

	set_base(&info.Base, to, from, bytes);
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.DirectPut.Rec_Payload_Base_Address_Id = (uint16_t)(OWN(map[to].t) + entry);
	info.DirectPut.Rec_Payload_Offset = offset;
	info.DirectPut.Rec_Counter_Base_Address_Id = (uint16_t)(OWN(map[to].t) + 1);
	REQUIRE(!MUSPI_CreatePt2PtDirectPutDescriptor(d, &info));
}

static void inject(MUHWI_Descriptor_t *d)
{
	while (MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), d) == UINT64_MAX)
		;
}

/* The payload goes to the process with the same T, the counter belongs to the first. */
static void counts_for_the_node(void)
{
	uint32_t to = 0, from = 0;

	for (uint32_t i = 1; i <= ranks; i++) /* the next with my T, and the last before me */
		if (map[(me + i) % ranks].t == t && !to)
			to = (me + i) % (uint32_t)ranks + 1;
	for (uint32_t i = 1; i <= ranks; i++)
		if (map[(me + ranks - i) % ranks].t == t && !from)
			from = (me + (uint32_t)ranks - i) % (uint32_t)ranks + 1;
	for (int round = 0; round < ROUNDS; round++) {
		MUHWI_Descriptor_t d;
		unsigned wrong = 0;

		memset(sent, (int)me + round, sizeof sent);
		if (!t)
			node->counter = processes * BYTES;
		enter_barrier();
		make_put(&d, to - 1, 0, 0, (uint64_t)sent, BYTES);
		MUSPI_SetRecCounterBaseAddressInfo(&d, 7, 0);
		inject(&d);
		while (node->counter)
			;
		for (unsigned i = 0; i < BYTES; i++)
			wrong += arrived[i] != (unsigned char)(from - 1 + (unsigned)round);
		REQUIRE_EQ(wrong, 0);
		enter_barrier();
	}
}

/* All ranks change four words of one rank by puts of 8 bytes. */
static void changes_words_of_another(void)
{
	static uint64_t value[4] __attribute__((aligned(64)));
	uint64_t sum = ranks * (ranks + 1) / 2, bits = 0, parity = 0;

	for (uint64_t i = 0; i < ranks; i++) {
		bits |= 1ull << i;
		parity ^= 0x1111 * (i + 1);
	}
	for (uint32_t target = 0; target < ranks; target++) {
		static const struct {
			uint64_t offset;
			unsigned op;
		} word[] = {
		    {offsetof(struct words, sum), L2_ATOMIC_OPCODE_STORE_ADD},
		    {offsetof(struct words, bits), L2_ATOMIC_OPCODE_STORE_OR},
		    {offsetof(struct words, parity), L2_ATOMIC_OPCODE_STORE_XOR},
		    {offsetof(struct words, most), L2_ATOMIC_OPCODE_STORE_MAX},
		};

		memset((void *)&words, 0, sizeof words);
		done = me == target ? ranks * sizeof value : 0;
		enter_barrier();
		value[0] = me + 1;
		value[1] = 1ull << me;
		value[2] = 0x1111 * (me + 1);
		value[3] = 5 + me * 7 % ranks;
		for (int i = 0; i < 4; i++) {
			MUHWI_Descriptor_t d;

			make_put(&d, target, 3, word[i].offset | word[i].op, (uint64_t)&value[i],
				 8);
			inject(&d);
		}
		while (done)
			;
		if (me == target) {
			REQUIRE_EQ(words.sum, sum);
			REQUIRE_EQ(words.bits, bits);
			REQUIRE_EQ(words.parity, parity);
			CHECK(words.most >= 5 && words.most < 5 + ranks);
		}
		enter_barrier();
	}
}

/* A remote get of a put whose payload is an L2 load: the MU at the other end adds one. */
static void draws_tickets(void)
{
	static MUHWI_Descriptor_t loads[2] __attribute__((aligned(64)));
	uint64_t mine = (uint64_t)&words;
	MUHWI_Descriptor_t d;

	done = ranks * 8;
	enter_barrier();
	for (uint32_t i = 0; i < ranks; i++) {
		make_put(&d, i, 2, me * 8, (uint64_t)&mine, 8);
		inject(&d);
	}
	while (done)
		;
	for (uint32_t target = 0; target < ranks; target++) {
		MUSPI_Pt2PtRemoteGetDescriptorInfo_t get = {.RemoteGet.Type = MUHWI_PACKET_TYPE_GET,
							    .RemoteGet.Rget_Inj_FIFO_Id =
								(uint16_t)(OWN(map[target].t) + 1)};

		words.ticket = words.seat = 0;
		words.seats = ranks / 2;
		done = sizeof drawn;
		MUSPI_SetBaseAddress(&own, 0, (uint64_t)drawn);
		enter_barrier();
		make_put(&loads[0], me, 0, 0,
			 MUSPI_GetAtomicAddress(address[target] + offsetof(struct words, ticket),
						L2_ATOMIC_OPCODE_LOAD_INCREMENT),
			 8);
		make_put(&loads[1], me, 0, 8,
			 MUSPI_GetAtomicAddress(address[target] + offsetof(struct words, seat),
						L2_ATOMIC_OPCODE_LOAD_INCREMENT_BOUNDED),
			 8);
		set_base(&get.Base, target, (uint64_t)loads, sizeof loads);
		get.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_HIGH_PRIORITY;
		REQUIRE(!MUSPI_CreatePt2PtRemoteGetDescriptor(&d, &get));
		inject(&d);
		while (done)
			;
		CHECK(drawn[0] < ranks);
		CHECK(drawn[1] < ranks / 2 || drawn[1] == L2_ATOMIC_AT_BOUND);
		enter_barrier();
		REQUIRE(me != target || (words.ticket == ranks && words.seat == ranks / 2));
		enter_barrier();
	}
	MUSPI_SetBaseAddress(&own, 0, (uint64_t)arrived);
}

/*
 * Each process has a class route of its own over all nodes, with a root of its own, and is done
 * when its last result is there: it passes no barrier before it exits.
 */
static void reduces_and_leaves(void)
{
	static uint64_t in[64] __attribute__((aligned(64))), out[64] __attribute__((aligned(64)));
	MUSPI_CollectiveDirectPutDescriptorInfo_t info = {0};
	CR_RECT_T world = {0};
	CR_COORD_T here, root;
	ClassRoute_t route;
	Personality_t p;
	uint64_t sum = 0, nodes = ranks / processes;
	int first;

	REQUIRE(!Kernel_GetPersonality(&p, sizeof p));
	world.ur = (CR_COORD_T)CR_COORD_INIT(
	    p.Network_Config.Anodes - 1, p.Network_Config.Bnodes - 1, p.Network_Config.Cnodes - 1,
	    p.Network_Config.Dnodes - 1, p.Network_Config.Enodes - 1);
	here = (CR_COORD_T)CR_COORD_INIT(map[me].a, map[me].b, map[me].c, map[me].d, map[me].e);
	MUSPI_PickWorldRoot(&world, NULL, &root, &first);
	root.coords[0] = t % p.Network_Config.Anodes;
	MUSPI_BuildNodeClassroute(&world, &root, &here, &world, NULL, first, &route);
	route.input |= BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_INPUT_VC_SUBCOMM;
	REQUIRE(!Kernel_AllocateCollectiveClassRoute(1 + t));
	REQUIRE(!Kernel_SetCollectiveClassRoute(1 + t, &route));
	MUSPI_SetBaseAddress(&own, 0, (uint64_t)out);
	for (uint64_t i = 0; i < ranks; i++)
		sum += map[i].t == t ? i : 0;
	info.Base.Payload_Address = (uint64_t)in;
	info.Base.Message_Length = sizeof in;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
	info.Collective.Op_Code = MUHWI_COLLECTIVE_OP_CODE_SIGNED_ADD;
	info.Collective.Word_Length = 8;
	info.Collective.Class_Route = (uint8_t)(1 + t);
	info.Collective.Misc =
	    MUHWI_PACKET_VIRTUAL_CHANNEL_USER_SUB_COMM | MUHWI_COLLECTIVE_TYPE_ALLREDUCE;
	info.DirectPut.Rec_Payload_Base_Address_Id = (uint16_t)OWN(t);
	info.DirectPut.Rec_Counter_Base_Address_Id = (uint16_t)(OWN(t) + 1);
	for (uint64_t round = 0; round < ROUNDS * (1 + t); round++) {
		MUHWI_Descriptor_t d;

		for (uint64_t i = 0; i < 64; i++)
			in[i] = me + i * round;
		done = sizeof out;
		REQUIRE(!MUSPI_CreateCollectiveDirectPutDescriptor(&d, &info));
		inject(&d);
		while (done)
			;
		for (uint64_t i = 0; i < 64; i++)
			REQUIRE_EQ(out[i], sum + nodes * i * round);
	}
}

/* The last process gives up, and the others of its node wait for what it does not send. */
static void fail_alone(void)
{
	if (t == processes - 1)
		exit(3);
	done = 8;
	while (done)
		;
}

/* The last process has finished, and the others wait for what nobody sends. */
static void wait_for_nothing(void)
{
	if (t == processes - 1)
		exit(0);
	done = 8;
	while (done)
		;
}

int main(int argc, char **argv)
{
	set_up();
	enter_barrier();
	if (argc > 1 && !strcmp(argv[1], "one_waits"))
		wait_for_nothing();
	if (argc > 1 && !strcmp(argv[1], "one_fails"))
		fail_alone();
	CASE(counts_for_the_node, "a counter of one process counts the puts to all of its node");
	CASE(changes_words_of_another, "puts of all ranks add, or, xor and max words of one");
	CASE(draws_tickets, "fetches and adds by remote gets of atomic addresses");
	CASE(reduces_and_leaves, "has a class route for each process, and exits without a barrier");
	if (!check_failures && !me)
		puts("ok");
	return check_failures != 0;
}
