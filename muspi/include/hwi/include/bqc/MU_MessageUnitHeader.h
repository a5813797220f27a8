/* SPDX-License-Identifier: BSD-3-Clause */
/* The MU's part of a packet header. docs/hardware.md 2.5. */
#ifndef QT_HWI_INCLUDE_BQC_MU_MESSAGEUNITHEADER_H
#define QT_HWI_INCLUDE_BQC_MU_MESSAGEUNITHEADER_H

#include "hwi/include/bqc/MU_PacketCommon.h"

#endif
