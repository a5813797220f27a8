/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks in other network namespaces reach the PMIx server. It listens on the loopback of its own
 * namespace, which they lack, so a thread listens at the same address in theirs and passes on what
 * comes.
 */
#ifndef TOOLS_PMIX_RELAY_H
#define TOOLS_PMIX_RELAY_H

#include <stdbool.h>

#include "tools/plan.h"

/* Is there a host of the plan with a network namespace of its own? */
bool pmix_relay_is_needed(const struct plan *p);
/*
 * Listen at the server's address in each of those namespaces. env: the server's environment for
 * tasks, which has the address. 0, or a negative errno after saying what is wrong.
 */
int pmix_relay_open(const struct plan *p, char *const *env);
/* Pass on for ever. */
void pmix_relay_run(void) __attribute__((noreturn));

#endif
