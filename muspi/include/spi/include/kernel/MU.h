/* SPDX-License-Identifier: BSD-3-Clause */
/* FIFOs and base address tables of the MU: allocation. docs/hardware.md 4. Results: 0, or a
 * positive errno. */
#ifndef QT_SPI_INCLUDE_KERNEL_MU_H
#define QT_SPI_INCLUDE_KERNEL_MU_H

#include "spi/include/kernel/memory.h"
#include "spi/include/mu/Addressing.h"
#include "spi/include/mu/InjFifo.h"
#include "spi/include/mu/RecFifo.h"

#define KERNEL_INJ_FIFO_ACTIVATE                    1
#define KERNEL_INJ_FIFO_DEACTIVATE                  0
#define KERNEL_SUBGROUP_INTERRUPTS_GO_TO_GEA        1
#define KERNEL_SUBGROUP_INTERRUPTS_DO_NOT_GO_TO_GEA 0

typedef struct Kernel_InjFifoAttributes {
	uint32_t RemoteGet : 1; /* gets of other nodes may put descriptors into it */
	uint32_t System : 1;
	uint32_t Priority : 1; /* no effect: engines take FIFOs in turn */
	uint32_t Unused : 29;
} Kernel_InjFifoAttributes_t;

typedef struct Kernel_RecFifoAttributes {
	uint32_t System : 1;
	uint32_t Unused : 31;
} Kernel_RecFifoAttributes_t;

typedef struct Kernel_InjFifoInterrupts {
	uint32_t Threshold_Crossing : 1;
	uint32_t Unused : 31;
} Kernel_InjFifoInterrupts_t;

typedef struct Kernel_RecFifoInterrupts {
	uint32_t Threshold_Crossing : 1;
	uint32_t Packet_Arrival : 1;
	uint32_t Unused : 30;
} Kernel_RecFifoInterrupts_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Local ids that are free in a subgroup (0 .. 67). */
int32_t Kernel_QueryInjFifos(uint32_t subgroup, uint32_t *n, uint32_t *ids);
int32_t Kernel_QueryRecFifos(uint32_t subgroup, uint32_t *n, uint32_t *ids);
int32_t Kernel_QueryBaseAddressTable(uint32_t subgroup, uint32_t *n, uint32_t *ids);

/* All n or none. EAGAIN: one is taken; EACCES: system was asked for, or a subgroup of the system's
 * (66, 67); EINVAL. */
int32_t Kernel_AllocateInjFifos(uint32_t subgroup, MUSPI_InjFifoSubGroup_t *sg, uint32_t n,
				uint32_t *ids, Kernel_InjFifoAttributes_t *attributes);
int32_t Kernel_AllocateRecFifos(uint32_t subgroup, MUSPI_RecFifoSubGroup_t *sg, uint32_t n,
				uint32_t *ids, Kernel_RecFifoAttributes_t *attributes);
int32_t Kernel_AllocateBaseAddressTable(uint32_t subgroup, MUSPI_BaseAddressTableSubGroup_t *sg,
					uint32_t n, uint32_t *ids, uint32_t system);
int32_t Kernel_DeallocateInjFifos(MUSPI_InjFifoSubGroup_t *sg, uint32_t n, uint32_t *ids);
int32_t Kernel_DeallocateRecFifos(MUSPI_RecFifoSubGroup_t *sg, uint32_t n, uint32_t *ids);
int32_t Kernel_DeallocateBaseAddressTable(MUSPI_BaseAddressTableSubGroup_t *sg, uint32_t n,
					  uint32_t *ids);

/* start: offset in the region, aligned to 64 (reception: 32); size_1 + 1 bytes, a multiple of it,
 * at least 128 (remote gets and reception: 576). EINVAL else. */
int32_t Kernel_InjFifoInit(MUSPI_InjFifoSubGroup_t *sg, uint32_t id, Kernel_MemoryRegion_t *region,
			   uint64_t start, uint64_t size_1);
int32_t Kernel_RecFifoInit(MUSPI_RecFifoSubGroup_t *sg, uint32_t id, Kernel_MemoryRegion_t *region,
			   uint64_t start, uint64_t size_1);
int32_t Kernel_InjFifoActivate(MUSPI_InjFifoSubGroup_t *sg, uint32_t n, uint32_t *ids, uint32_t on);
/* FIFO f (0 .. 15) of the group is bit 15 - f. */
int32_t Kernel_RecFifoEnable(uint32_t group, uint64_t bits);
int32_t Kernel_RecFifoDisable(uint32_t group, uint64_t bits);

/* Thresholds of the node: descriptors; chunks of 32 bytes for reception. */
int32_t Kernel_ConfigureInjFifoInterrupts(MUSPI_InjFifoSubGroup_t *sg, uint32_t n, uint32_t *ids,
					  Kernel_InjFifoInterrupts_t *interrupts);
int32_t Kernel_ConfigureRecFifoInterrupts(MUSPI_RecFifoSubGroup_t *sg, uint32_t n, uint32_t *ids,
					  Kernel_RecFifoInterrupts_t *interrupts);
int32_t Kernel_GetInjFifoThresholds(uint64_t *normal, uint64_t *rget);
int32_t Kernel_ConfigureInjFifoThresholds(uint64_t *normal, uint64_t *rget);
int32_t Kernel_GetRecFifoThreshold(uint64_t *threshold);
int32_t Kernel_ConfigureRecFifoThreshold(uint64_t threshold);

/* Without effect. */
int32_t Kernel_Configure_MU_GEA(uint32_t subgroup, uint64_t gea);
int32_t Kernel_MU_TermCheck(void);
int32_t Kernel_DropPacketsOnLink(uint32_t a, uint32_t b, uint32_t c);
/* Declared for programs that define them. */
int32_t Kernel_GetNDExpectedTokens(uint32_t a, uint32_t b, uint32_t *tokens);
int32_t Kernel_GetNDExpectedTokensDCR(uint32_t a, uint64_t *tokens);

#ifdef __cplusplus
}
#endif

#include "quintorus_spi.h"

#endif
