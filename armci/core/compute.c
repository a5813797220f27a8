/* SPDX-License-Identifier: BSD-3-Clause */
/* Computation that a program declares, and the progress that other processes get meanwhile. */
#include "armci/core/thread.h"
#include "armci/core/world.h"

#pragma GCC visibility push(default)

/*
 * In real time this thread keeps the processor busy, and the thread that advances SERVE runs beside
 * it. In virtual time reading the clock models that; polling SERVE as well lets the clock skip
 * intervals in which nothing happens.
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
	armci_poll_briefly();
	if (armci_world.thread && !armci_world.is_virtual)
		PAMI_Context_trylock_advancev(&armci_world.context[ARMCI_SERVE], 1, 1);
}

#pragma GCC visibility pop
