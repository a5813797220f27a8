/* SPDX-License-Identifier: BSD-3-Clause */
/* What tasks wait for (enum mu_waits), and types of collectives, in words. */
#ifndef TOOLS_WAITS_H
#define TOOLS_WAITS_H

#include "pami/pami.h"

/* "get"; "allreduce"; "" if it is nothing or not known. */
const char *waits_name(unsigned what);
/* Of a type of collective, pami_xfer_type_t: "allreduce", "" if there is none. */
const char *collective_name(unsigned type);

#endif
