/* SPDX-License-Identifier: BSD-3-Clause */
/* Class routes. docs/hardware.md 8.1. */
#ifndef QT_HWI_INCLUDE_BQC_CLASSROUTE_H
#define QT_HWI_INCLUDE_BQC_CLASSROUTE_H

#include "emu/hw_class.h"
#include "hwi/include/common/compiler_support.h"

#define GET_CR_ROUTE_VC(cr) ((cr)->input & BGQ_CLASS_INPUT_VC_MASK)
#define SET_CR_ROUTE_VC(cr, vc)                                                                    \
	((cr)->input = (uint16_t)(((cr)->input & ~BGQ_CLASS_INPUT_VC_MASK) | (vc)))

#endif
