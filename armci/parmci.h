/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PARMCI_ names. ARMCI_Xxx is a weak definition beside PARMCI_Xxx: a tool defines ARMCI_Xxx itself,
 * does its work and calls PARMCI_Xxx. The library never calls its own ARMCI_ names.
 */
#ifndef PARMCI_H
#define PARMCI_H

#include "armci.h"

#endif
