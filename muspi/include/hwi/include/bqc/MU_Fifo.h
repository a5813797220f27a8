/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers of FIFOs. docs/hardware.md 4.2. */
#ifndef QT_HWI_INCLUDE_BQC_MU_FIFO_H
#define QT_HWI_INCLUDE_BQC_MU_FIFO_H

#include "hwi/include/common/compiler_support.h"
#include "mu/hw/regs.h"

#endif
