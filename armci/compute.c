/* SPDX-License-Identifier: BSD-3-Clause */
/* Computation that a program declares, and what ARMCI calls do for others meanwhile. */
#include "armci/state.h"

#pragma GCC visibility push(default)

/*
 * In real time the processor is busy here and whoever advances SERVE does so beside it. In virtual time
 * that is modelled where the clock is read; polling SERVE as well lets the clock jump over times in
 * which nothing happens.
 */
void ARMCIX_Compute(double seconds)
{
	double end = PAMI_Wtime(armci_world.client) + seconds;

	while (PAMI_Wtime(armci_world.client) < end)
		if (armci_world.is_virtual && armci_world.thread)
			PAMI_Context_trylock_advancev(&armci_world.context[ARMCI_SERVE], 1, 1);
}

int ARMCIX_Clock_is_virtual(void)
{
	return armci_world.is_virtual;
}

void ARMCIX_Progress(void)
{
	ARMCI_ENTER;
	armci_poll();
	if (armci_world.thread && !armci_world.is_virtual)
		PAMI_Context_trylock_advancev(&armci_world.context[ARMCI_SERVE], 1, 1);
}

#pragma GCC visibility pop
