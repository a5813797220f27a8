/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Global interrupts: barriers on route 0 and on routes of the program's own, which nobody leaves
 * before all have entered; nodes that program their part at different times, with no barrier in
 * between; single signals; an id that is freed and used for another tree; waits by loads alone.
 * usage: spi_gi [virtual]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spi/include/mu/GI.h>
#include <spi/include/mu/GIBarrier.h>

#define ROUNDS 20
#define CYCLES 1600u /* of a microsecond */

static uint64_t in __attribute__((aligned(64))), out __attribute__((aligned(64)));
static MUSPI_GIBarrier_t world;
static uint64_t rank;

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"
#include "tests/muspi/spi_part.h"

/* The greatest of all ranks' values, through collective route 0. */
static uint64_t max_of_all(uint64_t mine)
{
	MUSPI_CollectiveDirectPutDescriptorInfo_t info;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));

	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world)); /* all have read the last result */
	in = mine;
	counter = sizeof in;
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
	memset(&info, 0, sizeof info);
	info.Base.Payload_Address = (uint64_t)&in;
	info.Base.Message_Length = sizeof in;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
	info.Collective.Op_Code = MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_MAX;
	info.Collective.Word_Length = 8;
	info.Collective.Misc =
	    MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD | MUHWI_COLLECTIVE_TYPE_ALLREDUCE;
	info.DirectPut.Rec_Counter_Base_Address_Id = 1;
	MUSPI_CreateCollectiveDirectPutDescriptor(&d, &info);
	while (MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), &d) == (uint64_t)-1)
		;
	while (counter)
		quintorus_mu_poll();
	return out;
}

static void spend(uint64_t us)
{
	uint64_t from = GetTimeBase();

	while (GetTimeBase() - from < us * CYCLES)
		quintorus_mu_poll();
}

static int32_t wait_for_world(void *arg)
{
	(void)arg;
	return MUSPI_GIBarrierEnterAndWait(&world);
}

/* Nobody leaves a barrier before the last has entered; another one is last each time. The clocks
 * of nodes are one clock here. */
static void check_barrier(MUSPI_GIBarrier_t *b, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t entered, left;

		if (rank == i % ranks)
			spend(10);
		entered = GetTimeBase();
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(b));
		left = GetTimeBase();
		REQUIRE(max_of_all(entered) <= left);
	}
}

/* Each rank programs its part of route 5 after another time, writes at once, and waits for all. */
static void use_own_route(unsigned round)
{
	MUSPI_GIBarrier_t b;
	ClassRoute_t c;

	build_route((int)(round % 6) - 1, &c);
	spend(3 * ((rank + round) % ranks));
	REQUIRE(!Kernel_AllocateGlobalInterruptClassRoute(5, NULL));
	CHECK(Kernel_AllocateGlobalInterruptClassRoute(5, NULL) == EAGAIN);
	CHECK(!Kernel_CheckGlobalInterruptClassRoute(5, &c));
	REQUIRE(!Kernel_SetGlobalInterruptClassRoute(5, &c));
	if (round % 2) {
		REQUIRE(!MUSPI_GIBarrierInitMU(5, wait_for_world, NULL, 0));
	} else {
		REQUIRE(!MUSPI_GIBarrierInitMU1(5));
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
		REQUIRE(!MUSPI_GIBarrierInitMU2(5, 0));
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
	}
	REQUIRE(!MUSPI_GIBarrierInit(&b, 5));
	check_barrier(&b, 4);
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
	CHECK(!Kernel_SetEmptyGlobalInterruptClassRoute(5));
	CHECK(!Kernel_DeallocateGlobalInterruptClassRoute(5));
	CHECK(Kernel_DeallocateGlobalInterruptClassRoute(5) == EINVAL);
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
}

/* One rank raises a signal, all see it; one lowers it, all see that. Two at once: an OR. */
static void raise_signals(void)
{
	MUSPI_GI_t gi[3];
	ClassRoute_t c;

	build_route(-1, &c);
	REQUIRE(!Kernel_AllocateGlobalInterruptClassRoute(2, NULL));
	REQUIRE(!Kernel_SetGlobalInterruptClassRoute(2, &c));
	for (uint32_t id = 0; id < 3; id++) {
		REQUIRE(!MUSPI_GIInitMU(2, id, wait_for_world, NULL, 0));
		REQUIRE(!MUSPI_GIInit(&gi[id], 2, id));
	}
	CHECK(MUSPI_GIInit(&gi[0], 16, 0) == EINVAL && MUSPI_GIInit(&gi[0], 2, 3) == EINVAL);
	for (uint64_t from = 0; from < ranks && from < 4; from++) {
		MUSPI_GI_t *g = &gi[from % 3], *other = &gi[(from + 1) % 3];

		CHECK(MUSPI_GIPollForArrival(g) == -1 && !MUSPI_GIPollForClear(g));
		CHECK(MUSPI_GIPollForArrivalWithTimeout(g, 100) == -1);
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
		if (rank == from || rank == ranks - 1)
			REQUIRE(!MUSPI_GISend(g));
		while (MUSPI_GIPollForArrivalWithTimeout(g, 1000 * CYCLES))
			;
		CHECK(MUSPI_GIPollForArrival(other) == -1);
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
		if (rank == from)
			MUSPI_GISendClear(g);
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
		spend(20);
		if (from != ranks - 1)
			CHECK(!MUSPI_GIPollForArrival(g)); /* the last rank still raises it */
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
		if (rank == ranks - 1)
			MUSPI_GISendClear(g);
		while (MUSPI_GIPollForClearWithTimeout(g, 1000 * CYCLES))
			;
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
	}
	CHECK(!Kernel_DeallocateGlobalInterruptClassRoute(2));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
}

/* Barriers in pieces, as programs that have other work enter and poll them. */
static void poll_barrier(int is_virtual)
{
	int is_done = 0;

	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
	if (rank == ranks - 1)
		spend(30);
	REQUIRE(!MUSPI_GIBarrierEnter(&world));
	while (MUSPI_GIBarrierPoll(&world))
		;
	if (rank != ranks - 1) {
		REQUIRE(!MUSPI_GIBarrierEnter(&world));
		is_done =
		    !MUSPI_GIBarrierPoll(&world) || !MUSPI_GIBarrierPollWithTimeout(&world, 10);
		/* In real time the last task may have entered while this one was preempted. */
		CHECK(!is_done || !is_virtual);
	} else {
		spend(200);
		REQUIRE(!MUSPI_GIBarrierEnter(&world));
	}
	while (!is_done && MUSPI_GIBarrierPollWithTimeout(&world, 1000 * CYCLES))
		;
	REQUIRE(!MUSPI_GIBarrierEnter(&world));
	while (MUSPI_GIBarrierPollWithTimeout(&world, 1000 * CYCLES))
		;
}

/* Wait for the status register alone, by loads. */
static void load_register(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		REQUIRE(!MUSPI_GIBarrierEnter(&world));
		while (*world.statusRegPtr & world.state)
			;
		REQUIRE(!MUSPI_GIBarrierPoll(&world));
	}
}

static void set_up(void)
{
	uint32_t n, ids[16], user = 9;
	Kernel_GlobalInterruptClassRouteAttributes_t system = {.System = 1};

	rank = Kernel_GetRank();
	set_up_part(&out);
	REQUIRE(!Kernel_GetGlobalBarrierUserClassRouteId(&user) && user == 0);
	REQUIRE(!MUSPI_GIBarrierInit(&world, user));
	CHECK(MUSPI_GIBarrierInit(&world, 16) == EINVAL);
	CHECK(!Kernel_QueryGlobalInterruptClassRoutes(&n, ids, sizeof ids) && n == 13);
	CHECK(Kernel_QueryGlobalInterruptClassRoutes(&n, ids, 4) == EINVAL);
	CHECK(Kernel_AllocateGlobalInterruptClassRoute(6, &system) == EACCES);
	CHECK(Kernel_DeallocateGlobalInterruptClassRoute(0) == EINVAL);
	CHECK(!Kernel_ConfigureGIInterrupts(0, 0, KERNEL_GI_INTERRUPT_FLAG_DISABLE));
	CHECK(Kernel_ConfigureGIInterrupts(0, 0, KERNEL_GI_INTERRUPT_FLAG_ENABLE) == ENOTSUP);
	CHECK(Kernel_ConfigureGIInterrupts(16, 0, KERNEL_GI_INTERRUPT_FLAG_DISABLE) == EINVAL);
}

int main(int argc, char **argv)
{
	uint64_t from;

	set_up();
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
	from = GetTimeBase();
	for (int i = 0; i < ROUNDS; i++)
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&world));
	if (!rank)
		printf("barrier: %.2f us\n", (double)(GetTimeBase() - from) / CYCLES / ROUNDS);
	check_barrier(&world, ROUNDS);
	poll_barrier(argc > 1 && !strcmp(argv[1], "virtual"));
	for (unsigned round = 0; round < 6; round++)
		use_own_route(round);
	raise_signals();
	load_register();
	CHECK(!MUSPI_GIBarrierEnterAndWaitWithTimeout(&world, 60000000ull * CYCLES));
	return check_failures != 0;
}
