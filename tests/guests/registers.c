/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs of the MU's registers wait by loads of registers and memory, without a call: they spin,
 * also where there are more tasks than processors.
 */
#include <spi/include/kernel/location.h>
#include <spi/include/mu/GIBarrier.h>

#include "tests/guests/guest.h"

#define ROUNDS 100

static MUSPI_GIBarrier_t barrier;

static void loads_the_status(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		REQUIRE(!MUSPI_GIBarrierEnter(&barrier));
		while (*barrier.statusRegPtr & barrier.state)
			;
		REQUIRE(!MUSPI_GIBarrierPoll(&barrier));
	}
}

static void stores_the_control(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t next = barrier.state == 1 ? 4 : barrier.state >> 1;

		ppc_msync();
		*barrier.controlRegPtr = next;
		while (*barrier.statusRegPtr & barrier.state)
			;
		barrier.state = next;
	}
}

int main(int argc, char **argv)
{
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	CASE(loads_the_status, "enters barriers by calls and waits by loads");
	CASE(stores_the_control, "enters barriers by stores and waits by loads");
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	if (!check_failures && !Kernel_GetRank())
		puts("ok");
	return check_failures != 0;
}
