/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows nothing of this tree: C and C++, built with pkg-config libarmci. */
#include <armci.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	int me, tasks, right;
	void **memory;
	double value;

	if (ARMCI_Init())
		return 2;
	me = armci_msg_me();
	tasks = armci_msg_nproc();
	right = (me + 1) % tasks;
	memory = (void **)calloc((size_t)tasks, sizeof(*memory));
	if (!memory || ARMCI_Malloc(memory, sizeof(double)))
		return 3;
	value = 100 + me;
	if (ARMCI_Put(&value, memory[right], sizeof(value), right))
		return 4;
	ARMCI_Barrier();
	if (*(double *)memory[me] != 100 + (me + tasks - 1) % tasks)
		return 5;
	printf("task %d of %d has %g\n", me, tasks, *(double *)memory[me]);
	ARMCI_Barrier();
	ARMCI_Free(memory[me]);
	free(memory);
	return ARMCI_Finalize();
}
