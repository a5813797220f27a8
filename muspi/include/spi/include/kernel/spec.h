/* SPDX-License-Identifier: BSD-3-Clause */
/* Constants of the kernel interface. */
#ifndef QT_SPI_INCLUDE_KERNEL_SPEC_H
#define QT_SPI_INCLUDE_KERNEL_SPEC_H

#include "hwi/include/common/compiler_support.h"

#define SIGMUNDFATAL  36
#define SIGMUFIFOFULL 37

#endif
