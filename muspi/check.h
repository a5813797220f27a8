/* SPDX-License-Identifier: BSD-3-Clause */
/* What hardware checks of a descriptor before it sends anything (docs/hardware.md 3.3). */
#ifndef MUSPI_CHECK_H
#define MUSPI_CHECK_H

#include "hwi/include/bqc/MU_Descriptor.h"

/* 0, or -EINVAL after the rule was counted and logged. */
int unit_check(const MUHWI_Descriptor_t *d);

#endif
