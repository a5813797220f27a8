/* SPDX-License-Identifier: BSD-3-Clause */
/* Network header of collective packets. docs/hardware.md 2.4. */
#ifndef QT_HWI_INCLUDE_BQC_MU_COLLECTIVENETWORKHEADER_H
#define QT_HWI_INCLUDE_BQC_MU_COLLECTIVENETWORKHEADER_H

#include "hwi/include/bqc/MU_PacketCommon.h"

#endif
