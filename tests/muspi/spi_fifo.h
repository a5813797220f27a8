/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a program's two FIFOs. The file that includes this has REQUIRE(). */
#ifndef TESTS_MUSPI_SPI_FIFO_H
#define TESTS_MUSPI_SPI_FIFO_H

#include <spi/include/kernel/MU.h>

/* Put FIFO 0 of each subgroup into this memory. */
static void init_fifos(MUSPI_InjFifoSubGroup_t *inj, void *inj_memory, size_t inj_bytes,
		       MUSPI_RecFifoSubGroup_t *rec, void *rec_memory, size_t rec_bytes)
{
	Kernel_MemoryRegion_t region;

	REQUIRE(!Kernel_CreateMemoryRegion(&region, inj_memory, inj_bytes));
	REQUIRE(!Kernel_InjFifoInit(inj, 0, &region, (uint64_t)inj_memory - (uint64_t)region.BaseVa,
				    inj_bytes - 1));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, rec_memory, rec_bytes));
	REQUIRE(!Kernel_RecFifoInit(rec, 0, &region, (uint64_t)rec_memory - (uint64_t)region.BaseVa,
				    rec_bytes - 1));
}

#endif
