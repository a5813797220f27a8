/* SPDX-License-Identifier: BSD-3-Clause */
/* Communication threads. docs/hardware.md 9. */
#ifndef QT_SPI_INCLUDE_KERNEL_THREAD_H
#define QT_SPI_INCLUDE_KERNEL_THREAD_H

#include "hwi/include/common/compiler_support.h"

#define KERNEL_COMM_INT0     0
#define KERNEL_COMM_INT1     1
#define KERNEL_COMM_INT2     2
#define KERNEL_COMM_INT3     3
#define KERNEL_COMM_INT_GEA  4
#define KERNEL_COMM_NUM_INTS 5

#ifdef __cplusplus
extern "C" {
#endif

/* fn is called with the four arguments when the interrupt is pending, by a thread in
 * Kernel_CommThreadPoof() or in ppc_wait(). 0, or EINVAL. */
int32_t Kernel_CommThreadInstallHandler(int interrupt,
					void (*fn)(uint64_t, uint64_t, uint64_t, uint64_t),
					uint64_t a, uint64_t b, uint64_t c, uint64_t d);
/* Sleep until an interrupt was handled. 0. */
int32_t Kernel_CommThreadPoof(void);
int32_t Kernel_CommThreadDisableInterrupts(void);
int32_t Kernel_CommThreadEnableInterrupts(void);

#ifdef __cplusplus
}
#endif

#endif
