/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mappings of ranks: for programs that include this header. Kernel_GetMapping() and
 * Kernel_RanksToCoords() answer for this job; MUSPI_PreCalculateMapOffsets(),
 * MUSPI_GenerateCoordinates() and MUSPI_GetMPMDData() are not there.
 */
#ifndef QT_SPI_INCLUDE_MU_RANKMAP_H
#define QT_SPI_INCLUDE_MU_RANKMAP_H

#include "quintorus_spi.h"

#endif
