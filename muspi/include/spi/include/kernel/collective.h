/* SPDX-License-Identifier: BSD-3-Clause */
/* Class routes of collectives: allocation, programming. docs/hardware.md 8. */
#ifndef QT_SPI_INCLUDE_KERNEL_COLLECTIVE_H
#define QT_SPI_INCLUDE_KERNEL_COLLECTIVE_H

#include <stddef.h>

#include "hwi/include/bqc/classroute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers that are free on the node. 0, or EINVAL: `bytes` of ids is too small. */
int32_t Kernel_QueryCollectiveClassRoutes(uint32_t *n, uint32_t *ids, size_t bytes);
/* 0, EINVAL: there is no such number, or EAGAIN: it is taken. */
int32_t Kernel_AllocateCollectiveClassRoute(uint32_t id);
int32_t Kernel_DeallocateCollectiveClassRoute(uint32_t id);
/* 0; 1 .. 5: refused, see docs/hardware.md 8.1; EINVAL: not allocated. {0, 0} frees the links. */
int32_t Kernel_SetCollectiveClassRoute(uint32_t id, ClassRoute_t *route);
/* Sum over the packets that this node injected. link: 0 .. 15, docs/hardware.md 7. 0, or EINVAL. */
int32_t Kernel_GetInjectionChecksum(uint64_t link, uint64_t *sum);
int32_t Kernel_ClearInjectionChecksum(uint64_t link);

#ifdef __cplusplus
}
#endif

#endif
