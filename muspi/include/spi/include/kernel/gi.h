/* SPDX-License-Identifier: BSD-3-Clause */
/* Class routes of global interrupts. docs/hardware.md 8. */
#ifndef QT_SPI_INCLUDE_KERNEL_GI_H
#define QT_SPI_INCLUDE_KERNEL_GI_H

#include <stddef.h>

#include "hwi/include/bqc/classroute.h"

typedef struct Kernel_GlobalInterruptClassRouteAttributes {
	uint32_t System : 1;
	uint32_t Unused : 31;
} Kernel_GlobalInterruptClassRouteAttributes_t;

typedef enum Kernel_GIInterruptFlag {
	KERNEL_GI_INTERRUPT_FLAG_DISABLE,
	KERNEL_GI_INTERRUPT_FLAG_ENABLE
} Kernel_GIInterruptFlag_t;

#ifdef __cplusplus
extern "C" {
#endif

int32_t Kernel_QueryGlobalInterruptClassRoutes(uint32_t *n, uint32_t *ids, size_t bytes);
/* 0, EINVAL, EAGAIN: taken, or EACCES: system was asked for. */
int32_t
Kernel_AllocateGlobalInterruptClassRoute(uint32_t id,
					 Kernel_GlobalInterruptClassRouteAttributes_t *attributes);
int32_t Kernel_DeallocateGlobalInterruptClassRoute(int32_t id);
/* 0; 1 .. 4: refused, see docs/hardware.md 8.1; EINVAL: not allocated. */
int32_t Kernel_CheckGlobalInterruptClassRoute(int32_t id, ClassRoute_t *route);
int32_t Kernel_SetGlobalInterruptClassRoute(int32_t id, ClassRoute_t *route);
int32_t Kernel_SetEmptyGlobalInterruptClassRoute(int32_t id);
/* ENOTSUP: status registers are polled here. */
int32_t Kernel_ConfigureGIInterrupts(uint32_t route, uint32_t id, Kernel_GIInterruptFlag_t flag);
int32_t Kernel_GetGlobalBarrierUserClassRouteId(uint32_t *id);

#ifdef __cplusplus
}
#endif

#endif
