/* SPDX-License-Identifier: BSD-3-Clause */
/* What all packet headers share. docs/hardware.md 2. */
#ifndef QT_HWI_INCLUDE_BQC_MU_PACKETCOMMON_H
#define QT_HWI_INCLUDE_BQC_MU_PACKETCOMMON_H

#include "emu/hw_packet.h"
#include "hwi/include/common/compiler_support.h"

#endif
