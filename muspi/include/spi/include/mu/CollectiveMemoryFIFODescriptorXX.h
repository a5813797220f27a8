/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor of one kind as a class. */
#ifndef QT_SPI_INCLUDE_MU_COLLECTIVEMEMORYFIFODESCRIPTORXX_H
#define QT_SPI_INCLUDE_MU_COLLECTIVEMEMORYFIFODESCRIPTORXX_H

#ifdef __cplusplus

#include "spi/include/mu/DescriptorBaseXX.h"

class MUSPI_CollectiveMemoryFIFODescriptor : public MUSPI_DescriptorBase
{
      public:
	MUSPI_CollectiveMemoryFIFODescriptor() {}
	MUSPI_CollectiveMemoryFIFODescriptor(MUSPI_CollectiveMemoryFIFODescriptorInfo_t *info)
	{
		create(info);
	}
	int create(MUSPI_CollectiveMemoryFIFODescriptorInfo_t *info)
	{
		return MUSPI_CreateCollectiveMemoryFIFODescriptor(this, info);
	}
};

#endif

#endif
