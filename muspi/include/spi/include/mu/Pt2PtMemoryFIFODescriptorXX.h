/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor of one kind as a class. */
#ifndef QT_SPI_INCLUDE_MU_PT2PTMEMORYFIFODESCRIPTORXX_H
#define QT_SPI_INCLUDE_MU_PT2PTMEMORYFIFODESCRIPTORXX_H

#ifdef __cplusplus

#include "spi/include/mu/DescriptorBaseXX.h"

class MUSPI_Pt2PtMemoryFIFODescriptor : public MUSPI_DescriptorBase
{
      public:
	MUSPI_Pt2PtMemoryFIFODescriptor() {}
	MUSPI_Pt2PtMemoryFIFODescriptor(MUSPI_Pt2PtMemoryFIFODescriptorInfo_t *info)
	{
		create(info);
	}
	int create(MUSPI_Pt2PtMemoryFIFODescriptorInfo_t *info)
	{
		return MUSPI_CreatePt2PtMemoryFIFODescriptor(this, info);
	}
};

#endif

#endif
