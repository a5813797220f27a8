/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor of one kind as a class. */
#ifndef QT_SPI_INCLUDE_MU_COLLECTIVEDIRECTPUTDESCRIPTORXX_H
#define QT_SPI_INCLUDE_MU_COLLECTIVEDIRECTPUTDESCRIPTORXX_H

#ifdef __cplusplus

#include "spi/include/mu/DescriptorBaseXX.h"

class MUSPI_CollectiveDirectPutDescriptor : public MUSPI_DescriptorBase
{
      public:
	MUSPI_CollectiveDirectPutDescriptor() {}
	MUSPI_CollectiveDirectPutDescriptor(MUSPI_CollectiveDirectPutDescriptorInfo_t *info)
	{
		create(info);
	}
	int create(MUSPI_CollectiveDirectPutDescriptorInfo_t *info)
	{
		return MUSPI_CreateCollectiveDirectPutDescriptor(this, info);
	}
};

#endif

#endif
