/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor of one kind as a class. */
#ifndef QT_SPI_INCLUDE_MU_COLLECTIVEREMOTEGETDESCRIPTORXX_H
#define QT_SPI_INCLUDE_MU_COLLECTIVEREMOTEGETDESCRIPTORXX_H

#ifdef __cplusplus

#include "spi/include/mu/DescriptorBaseXX.h"

class MUSPI_CollectiveRemoteGetDescriptor : public MUSPI_DescriptorBase
{
      public:
	MUSPI_CollectiveRemoteGetDescriptor() {}
	MUSPI_CollectiveRemoteGetDescriptor(MUSPI_CollectiveRemoteGetDescriptorInfo_t *info)
	{
		create(info);
	}
	int create(MUSPI_CollectiveRemoteGetDescriptorInfo_t *info)
	{
		return MUSPI_CreateCollectiveRemoteGetDescriptor(this, info);
	}
};

#endif

#endif
