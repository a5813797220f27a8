/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor of one kind as a class. */
#ifndef QT_SPI_INCLUDE_MU_PT2PTDIRECTPUTDESCRIPTORXX_H
#define QT_SPI_INCLUDE_MU_PT2PTDIRECTPUTDESCRIPTORXX_H

#ifdef __cplusplus

#include "spi/include/mu/DescriptorBaseXX.h"

class MUSPI_Pt2PtDirectPutDescriptor : public MUSPI_DescriptorBase
{
      public:
	MUSPI_Pt2PtDirectPutDescriptor() {}
	MUSPI_Pt2PtDirectPutDescriptor(MUSPI_Pt2PtDirectPutDescriptorInfo_t *info) { create(info); }
	int create(MUSPI_Pt2PtDirectPutDescriptorInfo_t *info)
	{
		return MUSPI_CreatePt2PtDirectPutDescriptor(this, info);
	}
};

#endif

#endif
