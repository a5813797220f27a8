/* SPDX-License-Identifier: BSD-3-Clause */
/* The wakeup unit: a thread that executes ppc_wait() wakes when something it armed happens, or
 * earlier. docs/hardware.md 9. */
#ifndef QT_SPI_INCLUDE_WU_WAIT_H
#define QT_SPI_INCLUDE_WU_WAIT_H

#include "hwi/include/bqc/A2_inlines.h"
#include "hwi/include/common/compiler_support.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Wake this thread when a store changes the 64-byte line at pa; lines that differ in bits of `mask`
 * that are 0 count too. */
void WU_ArmWithAddress(uint64_t pa, uint64_t mask);
/* Wake this thread when the MU raises an interrupt of these subgroups of the core: 4 bits. */
void WU_ArmMU(uint64_t bits);
void WU_DisarmMU(uint64_t bits);
void WU_ArmMU_system(uint64_t bits);

#ifdef __cplusplus
}
#endif

#endif
