/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program whose first wait is a loop on a register: it joins the job, and then enters barriers
 * over global interrupts by stores and loads alone, without a call that hands anything over.
 * usage: spi_first
 */
#include <spi/include/mu/GIBarrier.h>

#define ROUNDS 40

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"

int main(void)
{
	MUSPI_GIBarrier_t b;
	volatile uint64_t *control, *status;
	uint64_t state;

	REQUIRE(!MUSPI_GIBarrierInit(&b, 0));
	control = (volatile uint64_t *)b.controlRegPtr;
	status = (volatile uint64_t *)b.statusRegPtr;
	state = b.state;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t next = state == 1 ? 4 : state >> 1;

		*control = next;
		while (*status & state)
			;
		state = next;
	}
	b.state = state;
	CHECK(!MUSPI_GIBarrierEnterAndWait(&b));
	return check_failures != 0;
}
