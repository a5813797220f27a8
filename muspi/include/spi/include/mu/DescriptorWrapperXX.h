/* SPDX-License-Identifier: BSD-3-Clause */
/* All descriptor classes. */
#ifndef QT_SPI_INCLUDE_MU_DESCRIPTORWRAPPERXX_H
#define QT_SPI_INCLUDE_MU_DESCRIPTORWRAPPERXX_H

#include "spi/include/mu/Pt2PtMemoryFIFODescriptorXX.h"
#include "spi/include/mu/Pt2PtDirectPutDescriptorXX.h"
#include "spi/include/mu/Pt2PtRemoteGetDescriptorXX.h"
#include "spi/include/mu/CollectiveMemoryFIFODescriptorXX.h"
#include "spi/include/mu/CollectiveDirectPutDescriptorXX.h"
#include "spi/include/mu/CollectiveRemoteGetDescriptorXX.h"

#endif
