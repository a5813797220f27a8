/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of software costs (mu/vtime/cost.def) as this process uses it in virtual time. */
#ifndef MU_COST_H
#define MU_COST_H

#include <stdint.h>

#include "mu/mu.h"

#define MU_ENV_COSTS "QUINTORUS_COSTS" /* file of rows "name ns", overrides */

extern uint64_t mu_cost_ps[MU_COSTS];

/*
 * Override rows from a file: lines "name nanoseconds", fractions allowed, # starts a comment.
 * Returns 0, -ENOENT ..., or -EINVAL; logged with file and line. Then nothing is changed.
 */
int mu_cost_load(const char *path);

/* Return the cost of a row in picoseconds; 0: there is no such row. */
uint64_t mu_cost_of(const char *name);

/* Return the name of row i, or NULL past the end, with its cost and source, for lists. */
const char *mu_cost_row(unsigned i, uint64_t *ps, const char **source);

#endif
