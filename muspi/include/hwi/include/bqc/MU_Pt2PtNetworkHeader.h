/* SPDX-License-Identifier: BSD-3-Clause */
/* Network header of point-to-point packets. docs/hardware.md 2.3. */
#ifndef QT_HWI_INCLUDE_BQC_MU_PT2PTNETWORKHEADER_H
#define QT_HWI_INCLUDE_BQC_MU_PT2PTNETWORKHEADER_H

#include "hwi/include/bqc/MU_PacketCommon.h"

#endif
