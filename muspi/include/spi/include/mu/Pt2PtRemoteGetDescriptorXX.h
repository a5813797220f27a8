/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor of one kind as a class. */
#ifndef QT_SPI_INCLUDE_MU_PT2PTREMOTEGETDESCRIPTORXX_H
#define QT_SPI_INCLUDE_MU_PT2PTREMOTEGETDESCRIPTORXX_H

#ifdef __cplusplus

#include "spi/include/mu/DescriptorBaseXX.h"

class MUSPI_Pt2PtRemoteGetDescriptor : public MUSPI_DescriptorBase
{
      public:
	MUSPI_Pt2PtRemoteGetDescriptor() {}
	MUSPI_Pt2PtRemoteGetDescriptor(MUSPI_Pt2PtRemoteGetDescriptorInfo_t *info) { create(info); }
	int create(MUSPI_Pt2PtRemoteGetDescriptorInfo_t *info)
	{
		return MUSPI_CreatePt2PtRemoteGetDescriptor(this, info);
	}
};

#endif

#endif
