/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short names of mp3.h without MPI: rank and number of processes are known before ARMCI_Init.
 */
#include "armci/mp3.h"

#include <stdio.h>

#include "armci/armci.h"

int main(int argc, char **argv)
{
	int me = -1, n = -1, sum = 1;

	MP_INIT(argc, argv);
	MP_PROCS(&n);
	MP_MYID(&me);
	if (ARMCI_INIT(argc, argv) || me != armci_msg_me() || n != armci_msg_nproc())
		return 1;
	MP_BARRIER();
	armci_msg_igop(&sum, 1, "+");
	if (sum != n || MP_TIMER() <= 0)
		return 1;
	ARMCI_Finalize();
	MP_FINALIZE();
	printf("task %d of %d\n", me, n);
	return 0;
}
