/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAMI_QUERY_H
#define PAMI_QUERY_H

#include "pami/pami.h"

/* PAMI_INVAL, with its text: an attribute of no name, or of another kind of object. */
pami_result_t pami_query_unknown(void);
/* What the update functions answer: PAMI_INVAL unless num_configs is 0. */
pami_result_t pami_query_read_only(size_t num_configs);

#endif
