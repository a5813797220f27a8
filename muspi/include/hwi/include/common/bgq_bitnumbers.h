/* SPDX-License-Identifier: BSD-3-Clause */
/* Bits as the chip's documents number them: 0 is the most significant of 64. */
#ifndef QT_HWI_INCLUDE_COMMON_BGQ_BITNUMBERS_H
#define QT_HWI_INCLUDE_COMMON_BGQ_BITNUMBERS_H

#define _BN(b) (1ULL << (63 - (b)))

#endif
