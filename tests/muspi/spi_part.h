/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs with class routes of their own set up: an injection FIFO, a counter for puts, and
 * the tree of all nodes. The file that includes this has REQUIRE() (tests/harness/check.h). */
#ifndef TESTS_MUSPI_SPI_PART_H
#define TESTS_MUSPI_SPI_PART_H

#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/collective.h>
#include <spi/include/mu/Classroute.h>
#include <spi/include/mu/InjFifo.h>

static MUSPI_InjFifoSubGroup_t inj; /* FIFO 0 */
static MUSPI_BaseAddressTableSubGroup_t bat;
static unsigned char inj_memory[64 * 8] __attribute__((aligned(64)));
static volatile uint64_t counter __attribute__((aligned(64)));
static Personality_t p;
static BG_CoordinateMapping_t map[4096];
static uint64_t ranks;

/* Base address 0 is that of the results of puts, 1 that of the counter. */
static void set_up_part(void *results)
{
	uint32_t id = 0, entries[2] = {0, 1};
	Kernel_InjFifoAttributes_t ia = {0};
	Kernel_MemoryRegion_t region;

	REQUIRE(!Kernel_GetPersonality(&p, sizeof p));
	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &ranks));
	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, 1, &id, &ia));
	REQUIRE(!Kernel_AllocateBaseAddressTable(0, &bat, 2, entries, 0));
	REQUIRE(!MUSPI_SetBaseAddress(&bat, 0, (uint64_t)results));
	REQUIRE(!MUSPI_SetBaseAddress(
	    &bat, 1, MUSPI_GetAtomicAddress((uint64_t)&counter, MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	Kernel_CreateMemoryRegion(&region, inj_memory, sizeof inj_memory);
	REQUIRE(!Kernel_InjFifoInit(&inj, 0, &region, 0, sizeof inj_memory - 1));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, KERNEL_INJ_FIFO_ACTIVATE));
}

/* This node's part of a tree over all nodes, by this dimension first; -1: that of the world. */
static __attribute__((unused)) void build_route(int first, ClassRoute_t *c)
{
	CR_COORD_T root, me = CR_COORD_INIT(p.Network_Config.Acoord, p.Network_Config.Bcoord,
					    p.Network_Config.Ccoord, p.Network_Config.Dcoord,
					    p.Network_Config.Ecoord);
	CR_RECT_T box;
	int d0;

	box.ll = (CR_COORD_T)CR_COORD_INIT(0, 0, 0, 0, 0);
	box.ur = (CR_COORD_T)CR_COORD_INIT(p.Network_Config.Anodes - 1, p.Network_Config.Bnodes - 1,
					   p.Network_Config.Cnodes - 1, p.Network_Config.Dnodes - 1,
					   p.Network_Config.Enodes - 1);
	MUSPI_PickWorldRoot(&box, NULL, &root, &d0);
	MUSPI_BuildNodeClassroute(&box, &root, &me, &box, NULL, first < 0 ? d0 : first, c);
	c->input |= BGQ_CLASS_INPUT_LINK_LOCAL;
}

#endif
