/* SPDX-License-Identifier: BSD-3-Clause */
/* Global interrupts: one bit of a class route that any node may raise. docs/hardware.md 8.6. */
#ifndef QT_SPI_INCLUDE_MU_GI_H
#define QT_SPI_INCLUDE_MU_GI_H

#include "spi/include/kernel/gi.h"
#include "spi/include/mu/Fifo.h"

typedef struct MUSPI_GI {
	uint64_t classRouteId;
	volatile uint64_t *controlRegPtr;
	volatile uint64_t *statusRegPtr;
	uint64_t mask;
} __attribute__((aligned(32))) MUSPI_GI_t;

typedef int32_t (*MUSPI_GIInitMUBarrierFunction_t)(void *);

#ifdef __cplusplus
extern "C" {
#endif

/* Clear the signal on all nodes of the route: barrier() is one by other means. 0, or -1: cycles
 * have passed (0: no limit). */
int32_t MUSPI_GIInitMU(uint32_t route, uint32_t id, MUSPI_GIInitMUBarrierFunction_t barrier,
		       void *param, uint64_t cycles);
/* 0, or EINVAL: route above 15 or id above 2. */
int32_t MUSPI_GIInit(MUSPI_GI_t *gi, uint32_t route, uint32_t id);
int32_t MUSPI_GISend(MUSPI_GI_t *gi);
int32_t MUSPI_GISendClear(MUSPI_GI_t *gi);
/* 0: some node (none) raises the signal; -1: not yet. */
int32_t MUSPI_GIPollForArrival(MUSPI_GI_t *gi);
int32_t MUSPI_GIPollForClear(MUSPI_GI_t *gi);
int32_t MUSPI_GIPollForArrivalWithTimeout(MUSPI_GI_t *gi, uint64_t cycles);
int32_t MUSPI_GIPollForClearWithTimeout(MUSPI_GI_t *gi, uint64_t cycles);

#ifdef __cplusplus
}
#endif

#include "quintorus_spi.h"

#endif
