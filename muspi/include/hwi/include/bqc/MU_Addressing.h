/* SPDX-License-Identifier: BSD-3-Clause */
/* Base address tables and atomic addresses. docs/hardware.md 5. */
#ifndef QT_HWI_INCLUDE_BQC_MU_ADDRESSING_H
#define QT_HWI_INCLUDE_BQC_MU_ADDRESSING_H

#include "hwi/include/common/compiler_support.h"
#include "mu/hw/desc.h"
#include "mu/hw/regs.h"

/* A pointer to the entries of a subgroup. */
typedef MUHWI_BaseAddress_t *MUHWI_BaseAddressTable_t;

#endif
