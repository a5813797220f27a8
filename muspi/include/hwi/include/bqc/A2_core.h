/* SPDX-License-Identifier: BSD-3-Clause */
/* The A2 core; its calls are in A2_inlines.h. */
#ifndef QT_HWI_INCLUDE_BQC_A2_CORE_H
#define QT_HWI_INCLUDE_BQC_A2_CORE_H

#include "hwi/include/common/compiler_support.h"

#endif
