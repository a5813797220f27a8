/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet header: network and MU. docs/hardware.md 2. */
#ifndef QT_HWI_INCLUDE_BQC_MU_PACKETHEADER_H
#define QT_HWI_INCLUDE_BQC_MU_PACKETHEADER_H

#include "hwi/include/bqc/MU_PacketCommon.h"

#endif
