/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PARMCI_ names. Each ARMCI_Xxx is a weak definition beside PARMCI_Xxx, so that a tool can
 * define ARMCI_Xxx itself, do its work and call PARMCI_Xxx. The library never calls its own ARMCI_
 * names.
 */
#ifndef PARMCI_H
#define PARMCI_H

#include "armci.h"

#endif
