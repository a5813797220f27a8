/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors that all query and update functions share. call: name of the public function. */
#ifndef PAMI_CORE_QUERY_H
#define PAMI_CORE_QUERY_H

#include "pami/pami.h"

/* PAMI_INVAL: the object has no attribute of that name. */
pami_result_t pami_fail_unknown_attribute(const char *call);
/* PAMI_INVAL unless num_configs is 0: no attribute of the object can be changed. */
pami_result_t pami_fail_read_only(const char *call, size_t num_configs);

#endif
