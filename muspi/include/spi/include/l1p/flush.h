/* SPDX-License-Identifier: BSD-3-Clause */
/* The prefetcher of the chip's L1 has nothing to flush here. */
#ifndef QT_SPI_INCLUDE_L1P_FLUSH_H
#define QT_SPI_INCLUDE_L1P_FLUSH_H

static inline __attribute__((unused)) void L1P_FlushRequests(void) {}

#endif
