/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptor. docs/hardware.md 3. */
#ifndef QT_HWI_INCLUDE_BQC_MU_DESCRIPTOR_H
#define QT_HWI_INCLUDE_BQC_MU_DESCRIPTOR_H

#include "hwi/include/bqc/MU_PacketHeader.h"
#include "mu/hw/desc.h"

#endif
