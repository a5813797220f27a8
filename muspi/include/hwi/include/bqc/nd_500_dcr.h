/* SPDX-License-Identifier: BSD-3-Clause */
/* The one register of the network that programs read: cut-offs. docs/hardware.md 6.1. */
#ifndef QT_HWI_INCLUDE_BQC_ND_500_DCR_H
#define QT_HWI_INCLUDE_BQC_ND_500_DCR_H

#include "hwi/include/common/compiler_support.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ten fields of six bits: A .. E plus, then A .. E minus. Any other register reads as 0. */
uint64_t quintorus_mu_cut_offs(void);
#define ND_500_DCR(name)         ND_500_DCR__##name
#define ND_500_DCR__CTRL_CUTOFFS 1
static inline __attribute__((unused)) uint64_t DCRReadUser(uint64_t reg)
{
	return reg == ND_500_DCR__CTRL_CUTOFFS ? quintorus_mu_cut_offs() : 0;
}
#define QT_ND_FIELD(x, last)                     (((x) >> (63 - (last))) & 63)
#define ND_500_DCR__CTRL_CUTOFFS__A_PLUS_get(x)  QT_ND_FIELD(x, 7)
#define ND_500_DCR__CTRL_CUTOFFS__B_PLUS_get(x)  QT_ND_FIELD(x, 13)
#define ND_500_DCR__CTRL_CUTOFFS__C_PLUS_get(x)  QT_ND_FIELD(x, 19)
#define ND_500_DCR__CTRL_CUTOFFS__D_PLUS_get(x)  QT_ND_FIELD(x, 25)
#define ND_500_DCR__CTRL_CUTOFFS__E_PLUS_get(x)  QT_ND_FIELD(x, 31)
#define ND_500_DCR__CTRL_CUTOFFS__A_MINUS_get(x) QT_ND_FIELD(x, 39)
#define ND_500_DCR__CTRL_CUTOFFS__B_MINUS_get(x) QT_ND_FIELD(x, 45)
#define ND_500_DCR__CTRL_CUTOFFS__C_MINUS_get(x) QT_ND_FIELD(x, 51)
#define ND_500_DCR__CTRL_CUTOFFS__D_MINUS_get(x) QT_ND_FIELD(x, 57)
#define ND_500_DCR__CTRL_CUTOFFS__E_MINUS_get(x) QT_ND_FIELD(x, 63)

#ifdef __cplusplus
}
#endif

#endif
