/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class routes at work: a long allreduce by puts, in virtual time at the rate of the tree (the
 * routers combine, as for PAMI's collectives); a reduction whose result reaches one node only; a
 * route that one node programs last, when packets of the others are there; contributions that
 * differ, which some node's MU counts as class_mismatch. Prints what an allreduce takes.
 * usage: spi_tree [virtual]
 */
#include <stdio.h>
#include <stdlib.h>

#include <spi/include/mu/GIBarrier.h>

#define WORDS  32768u
#define ROUNDS 10
#define MHZ    1600.0

static uint64_t in[WORDS] __attribute__((aligned(64))), out[WORDS] __attribute__((aligned(64)));
static MUSPI_GIBarrier_t barrier;
static uint64_t sum;
static uint32_t rank;

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"
#include "tests/muspi/spi_part.h"

static void enter_barrier(void)
{
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
}

static void start_collective(unsigned route, unsigned op, unsigned type, uint64_t bytes,
			     const MUHWI_Destination_t *to)
{
	MUSPI_CollectiveDirectPutDescriptorInfo_t info;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));
	uint64_t s;

	memset(&info, 0, sizeof info);
	info.Base.Payload_Address = (uint64_t)in;
	info.Base.Message_Length = bytes;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
	if (to)
		info.Base.Dest = *to;
	info.Collective.Op_Code = (uint8_t)op;
	info.Collective.Word_Length = 8;
	info.Collective.Class_Route = (uint8_t)route;
	info.Collective.Misc = (uint8_t)(MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD | type);
	info.DirectPut.Rec_Counter_Base_Address_Id = 1;
	MUSPI_CreateCollectiveDirectPutDescriptor(&d, &info);
	while ((s = MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), &d)) == (uint64_t)-1)
		;
	while (!MUSPI_CheckDescComplete(MUSPI_IdToInjFifo(0, &inj), s))
		;
}

static void wait_for_bytes(void)
{
	while (counter)
		quintorus_mu_poll();
}

/* Ticks of one allreduce of so many bytes. */
static double allreduce(unsigned route, uint64_t bytes)
{
	uint64_t from;

	counter = bytes;
	enter_barrier();
	from = GetTimeBase();
	start_collective(route, MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD,
			 MUHWI_COLLECTIVE_TYPE_ALLREDUCE, bytes, NULL);
	wait_for_bytes();
	return (double)(GetTimeBase() - from);
}

static void set_up(void)
{
	rank = Kernel_GetRank();
	set_up_part(out);
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	for (uint64_t i = 0; i < ranks; i++)
		sum += i;
}

static void sum_words(unsigned route)
{
	double ticks;

	for (unsigned i = 0; i < WORDS; i++)
		in[i] = rank + i;
	memset(out, 0, sizeof out);
	ticks = allreduce(route, sizeof in);
	for (unsigned i = 0; i < WORDS; i++)
		REQUIRE(out[i] == sum + ranks * i);
	if (!rank)
		printf("allreduce of %zu bytes: %.0f MB/s\n", sizeof in, sizeof in / (ticks / MHZ));
	/* A link carries 1.8 GB/s of payload; each packet passes a router's adder at that rate. */
	if (getenv("SPI_TREE_RATE"))
		CHECK(sizeof in / (ticks / MHZ) > atof(getenv("SPI_TREE_RATE")));
}

static void time_short(void)
{
	double ticks = 0;

	in[0] = rank;
	for (int i = 0; i < ROUNDS; i++)
		ticks += allreduce(0, 8);
	REQUIRE(out[0] == sum);
	if (!rank)
		printf("allreduce of 8 bytes: %.2f us\n", ticks / ROUNDS / MHZ);
}

static void reduce_to(uint64_t target)
{
	MUHWI_Destination_t to;

	to.Destination.Destination = 0;
	to.Destination.A_Destination = map[target].a;
	to.Destination.B_Destination = map[target].b;
	to.Destination.C_Destination = map[target].c;
	to.Destination.D_Destination = map[target].d;
	to.Destination.E_Destination = map[target].e;
	memset(out, 0, sizeof out);
	counter = rank == target ? 1024 : 0;
	enter_barrier();
	start_collective(0, MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD, MUHWI_COLLECTIVE_TYPE_REDUCE,
			 1024, &to);
	wait_for_bytes();
	enter_barrier();
	for (unsigned i = 0; i < 128; i++)
		CHECK(out[i] == (rank == target ? sum + ranks * (in[i] - rank) : 0));
}

/* All nodes allocate a route over the job; the last rank programs its part when the others' packets
 * have had time to come. */
static void program_late(void)
{
	ClassRoute_t c;

	build_route(-1, &c);
	c.input |= BGQ_CLASS_INPUT_VC_SUBCOMM;
	for (int round = 0; round < 2; round++) {
		REQUIRE(!Kernel_AllocateCollectiveClassRoute(5));
		in[0] = rank + 7;
		counter = 8;
		enter_barrier();
		if (rank == ranks - 1) {
			uint64_t from = GetTimeBase();

			while (GetTimeBase() - from < 100 * 1600)
				quintorus_mu_poll();
		}
		REQUIRE(!Kernel_SetCollectiveClassRoute(5, &c));
		start_collective(5, MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD,
				 MUHWI_COLLECTIVE_TYPE_ALLREDUCE, 8, NULL);
		wait_for_bytes();
		REQUIRE(out[0] == sum + 7 * ranks);
		enter_barrier();
		REQUIRE(!Kernel_DeallocateCollectiveClassRoute(5));
		enter_barrier();
	}
}

/* The last rank asks for another operation than the rest. */
static void contribute_another(void)
{
	uint64_t before = quintorus_mu_refused("class_mismatch");

	counter = 8;
	in[0] = 1;
	enter_barrier();
	start_collective(0,
			 rank == ranks - 1 ? MUHWI_COLLECTIVE_OP_CODE_OR
					   : MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD,
			 MUHWI_COLLECTIVE_TYPE_ALLREDUCE, 8, NULL);
	wait_for_bytes();
	enter_barrier();
	in[0] = quintorus_mu_refused("class_mismatch") - before;
	allreduce(0, 8);
	CHECK((out[0] > 0) == (ranks > 1));
}

int main(void)
{
	set_up();
	sum_words(0);
	time_short();
	for (uint64_t i = 0; i < ranks && i < 4; i++)
		reduce_to(i);
	program_late();
	contribute_another();
	enter_barrier();
	return check_failures != 0;
}
