/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress. */
#ifndef PAMI_CORE_ADVANCE_H
#define PAMI_CORE_ADVANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "pami/pami.h"

struct pami_context;

/* Poll everything of the context once. Returns the number of events. */
int pami_advance_once(struct pami_context *ctx);
/* Is the calling thread in a callback of the context? */
bool pami_is_advancing(const struct pami_context *ctx);
/* The calling thread has waited for long with these contexts: note for what (mu_waits_is_due()).
 * locked: their locks must be taken. */
void pami_waits_note(pami_context_t context[], size_t count, bool locked);
/* As PAMI_Context_advancev(), for a caller that cannot go on without an event: it may sleep
 * (ext_wait.h). */
pami_result_t pami_advance_wait(pami_context_t context[], size_t count, size_t maximum);

#endif
