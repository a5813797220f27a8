/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of ARMCI test programs: one allocation of all processes at a time. mem[p] is the part of
 * process p, cleared.
 */
#ifndef TESTS_SYSTEM_ARMCI_MEMORY_H
#define TESTS_SYSTEM_ARMCI_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "tests/armci/armci_check.h"

static int me, n;
static void **mem;

static void memory_open(size_t bytes)
{
	mem = calloc((size_t)n, sizeof(*mem));
	CHECK(mem && ARMCI_Malloc(mem, (armci_size_t)bytes) == 0);
	memset(mem[me], 0, bytes);
	ARMCI_Barrier();
}

static void memory_close(void)
{
	ARMCI_Barrier();
	CHECK(ARMCI_Free(mem[me]) == 0);
	free(mem);
}

#endif
