/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the chip's caches, and alignment to them. */
#ifndef QT_HWI_INCLUDE_COMMON_BGQ_ALIGNMENT_H
#define QT_HWI_INCLUDE_COMMON_BGQ_ALIGNMENT_H

#define L1_CACHE_LINE_SIZE  64
#define L1D_CACHE_LINE_SIZE 64
#define L2_CACHE_LINE_SIZE  128

#define ALIGN_L1_DIRTYBIT __attribute__((aligned(8)))
#define ALIGN_QUADWORD    __attribute__((aligned(16)))
#define ALIGN_QPX_VECTOR  __attribute__((aligned(32)))
#define ALIGN_L1_CACHE    __attribute__((aligned(64)))
#define ALIGN_L1D_CACHE   __attribute__((aligned(64)))
#define ALIGN_L2_CACHE    __attribute__((aligned(128)))

#endif
