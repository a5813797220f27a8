/* SPDX-License-Identifier: BSD-3-Clause */
/* The published headers of libarmci as its own files include them: visible, and without MPI's. */
#ifndef ARMCI_API_H
#define ARMCI_API_H

#define ARMCI_NO_MPI_H 1
#pragma GCC visibility push(default)
#include "armci/armci.h"
#include "armci/armcix.h"
#include "armci/iterator.h"
#include "armci/parmci.h"
#pragma GCC visibility pop

/* Defines ARMCI_name as a weak alias of PARMCI_name, so that a tool may define ARMCI_name itself.
 */
#define ARMCI_ALIAS(name)                                                                          \
	extern __typeof__(PARMCI_##name) ARMCI_##name                                              \
	    __attribute__((weak, alias("PARMCI_" #name), visibility("default")))

#define ARMCI_LEVELS ARMCI_MAX_STRIDE_LEVEL

#endif
