/* SPDX-License-Identifier: BSD-3-Clause */
/* Cache hints of the chip: nothing to do here. */
#ifndef QT_SPI_INCLUDE_MU_UTIL_H
#define QT_SPI_INCLUDE_MU_UTIL_H

#include "spi/include/mu/Fifo.h"

#define muspi_dcbt(va, inc)    ((void)(va), (void)(inc))
#define muspi_dcbt_l2(va, inc) ((void)(va), (void)(inc))
#define muspi_dcbz(va, inc)    ((void)(va), (void)(inc))

#endif
