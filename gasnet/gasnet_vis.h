/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector, indexed and strided transfers of GASNet-EX; gasnetex.h includes this.
 *
 * Vector: lists of (address, bytes). Indexed: lists of addresses of chunks of equal length. The two
 * sides are byte streams of equal length, and their entries need not correspond. Strided: for each
 * index vector i with i[d] < count[d], elemsz bytes from srcaddr + sum(i[d] * srcstrides[d]) to
 * dstaddr + sum(i[d] * dststrides[d]); strides are bytes, signed, in any order. Destinations must
 * not overlap. Lists and payload stay unchanged until the operation is complete; strides and counts
 * may be reused when the call returns. Suffixes: NB returns an event, NBI and Blocking an int.
 * GEX_FLAG_ENABLE_LEAF_LC (puts): local completion is visible apart, for NB through
 * gex_Event_QueryLeaf(root, GEX_EC_LC). GEX_FLAG_IMMEDIATE is accepted.
 */
#ifndef _GASNET_VIS_H
#define _GASNET_VIS_H

#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GEXI_VIS_DECLARE(type, suffix)                                                             \
	type gex_VIS_VectorPut##suffix(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,           \
				       gex_Memvec_t const dstlist[], size_t srccount,              \
				       gex_Memvec_t const srclist[], gex_Flags_t flags);           \
	type gex_VIS_VectorGet##suffix(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[], \
				       gex_Rank_t srcrank, size_t srccount,                        \
				       gex_Memvec_t const srclist[], gex_Flags_t flags);           \
	type gex_VIS_IndexedPut##suffix(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,          \
					void *const dstlist[], size_t dstlen, size_t srccount,     \
					void *const srclist[], size_t srclen, gex_Flags_t flags);  \
	type gex_VIS_IndexedGet##suffix(gex_TM_t tm, size_t dstcount, void *const dstlist[],       \
					size_t dstlen, gex_Rank_t srcrank, size_t srccount,        \
					void *const srclist[], size_t srclen, gex_Flags_t flags);  \
	type gex_VIS_StridedPut##suffix(                                                           \
	    gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr, const ptrdiff_t dststrides[],          \
	    void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[],      \
	    size_t stridelevels, gex_Flags_t flags);                                               \
	type gex_VIS_StridedGet##suffix(                                                           \
	    gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[], gex_Rank_t srcrank,          \
	    void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[],      \
	    size_t stridelevels, gex_Flags_t flags);
GEXI_VIS_DECLARE(gex_Event_t, NB)
GEXI_VIS_DECLARE(int, NBI)
GEXI_VIS_DECLARE(int, Blocking)
#undef GEXI_VIS_DECLARE

#define GEX_VIS_MAX_PEERCOMPLETION 256
/*
 * Run medium reply handler `handler` (no arguments) at the target of this thread's next VIS put
 * once its data is there, with a copy of bytes <= GEX_VIS_MAX_PEERCOMPLETION at src. 0: disarm.
 */
void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *src, size_t bytes,
				      gex_Flags_t flags);

#ifdef __cplusplus
}
#endif
#endif
