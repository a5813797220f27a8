/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profiler: it defines ARMCI_ names that call the library's PARMCI_ ones, and each call counts
 * once.
 */
#include "tests/armci/armci_check.h"

#include <parmci.h>

static int inits, finalizes, barriers, gets, puts_done;

int ARMCI_Init(void)
{
	inits++;
	return PARMCI_Init();
}

int ARMCI_Finalize(void)
{
	finalizes++;
	return PARMCI_Finalize();
}

void ARMCI_Barrier(void)
{
	barriers++;
	PARMCI_Barrier();
}

int ARMCI_Get(void *src, void *dst, int bytes, int proc)
{
	gets++;
	return PARMCI_Get(src, dst, bytes, proc);
}

int ARMCI_Put(void *src, void *dst, int bytes, int proc)
{
	puts_done++;
	return PARMCI_Put(src, dst, bytes, proc);
}

int main(void)
{
	void *mem[64];
	int next, value = 5, rc, i;

	ARMCI_Init();
	next = (armci_msg_me() + 1) % armci_msg_nproc();
	ARMCI_Malloc(mem, 64);
	ARMCI_Barrier();
	for (i = 0; i < 3; i++)
		ARMCI_Put(&value, mem[next], sizeof(value), next);
	ARMCI_PutValueInt(6, (int *)mem[next] + 1,
			  /* The library's own use of put does not go through the profiler. */
			  next);
	value = 0;
	ARMCI_Get(mem[next], &value, sizeof(value), next);
	CHECK(value == 5 && ARMCI_GetValueInt((int *)mem[next] + 1, next) == 6);
	ARMCI_Free(mem[armci_msg_me()]);
	CHECK(inits == 1 && barriers == 1 && puts_done == 3 && gets == 1 && finalizes == 0);
	rc = check_report("weak");
	ARMCI_Finalize();
	return rc | (finalizes != 1);
}
