/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote atomics of GASNet-EX; gasnetex.h includes this.
 *
 * A domain is one data type and a set of operations over a team. Operations of one domain on the
 * same location are atomic with each other, and with nothing else. Targets are naturally aligned,
 * in the target's segment. *result_p is written by fetching operations only and valid once the
 * operation is complete. Categories of implicit operations: GEX_EC_RMW, but SET is GEX_EC_PUT and
 * GET is GEX_EC_GET.
 */
#ifndef _GASNET_RATOMIC_H
#define _GASNET_RATOMIC_H

#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gexi_ad *gex_AD_t;
#define GEX_AD_INVALID ((gex_AD_t)0)

/* Collective over tm. dt: I32 .. DBL; ops: a set of GEX_OP_*. */
void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags);
/* Collective; not a barrier. No operation of the domain may be in flight. */
void gex_AD_Destroy(gex_AD_t ad);
gex_TM_t gex_AD_QueryTM(gex_AD_t ad);
gex_DT_t gex_AD_QueryDT(gex_AD_t ad);
gex_OP_t gex_AD_QueryOps(gex_AD_t ad);
gex_Flags_t gex_AD_QueryFlags(gex_AD_t ad);
void *gex_AD_QueryCData(gex_AD_t ad);
void gex_AD_SetCData(gex_AD_t ad, const void *value);

#define GEXI_AD_DECLARE(name, type)                                                                \
	gex_Event_t gex_AD_OpNB_##name(gex_AD_t ad, type *result_p, gex_Rank_t rank, void *addr,   \
				       gex_OP_t op, type operand1, type operand2,                  \
				       gex_Flags_t flags);                                         \
	int gex_AD_OpNBI_##name(gex_AD_t ad, type *result_p, gex_Rank_t rank, void *addr,          \
				gex_OP_t op, type operand1, type operand2, gex_Flags_t flags);
GEXI_AD_DECLARE(I32, int32_t)
GEXI_AD_DECLARE(U32, uint32_t)
GEXI_AD_DECLARE(I64, int64_t)
GEXI_AD_DECLARE(U64, uint64_t)
GEXI_AD_DECLARE(FLT, float)
GEXI_AD_DECLARE(DBL, double)
#undef GEXI_AD_DECLARE

#ifdef __cplusplus
}
#endif
#endif
