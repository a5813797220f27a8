/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_atomics: which atomics the messaging units carry out, and atomics that are counted.
 *
 * PAMI_Rmw() uses the target's MU where the machine has the operation (torus run --hw mu_atomics);
 * then no software of the target takes part, so a library needs no thread that serves its own
 * atomics. Elsewhere PAMI_Rmw() needs the target's progress.
 */
#ifndef PAMI_EXT_ATOMICS_H
#define PAMI_EXT_ATOMICS_H

#include <stdint.h>

#include "pami.h"

#define PAMI_EXT_QUINTORUS_ATOMICS "EXT_quintorus_atomics"

/* "has": does every MU have this operation, on an aligned word of that type, with that operand? The
 * same in all tasks; constant while a client exists. Any thread. */
typedef int (*pami_quintorus_has_atomic_fn)(pami_atomic_t operation, pami_type_t type,
					    uint64_t value);
/*
 * "count": PAMI_Rmw() for many operations that complete as one set. The messaging unit stores the
 * old value and counts, as it counts the bytes of a put or get, so no function is called for each:
 * *count grows by one (release) once rmw->local is written, in this call or a progress call. No
 * two contexts count in the same word. rmw->done_fn is called only if the operation fails after
 * the call returned. PAMI_INVAL: the units do not have the operation ("has").
 */
typedef pami_result_t (*pami_quintorus_count_atomic_fn)(pami_context_t context, pami_rmw_t *rmw,
							uint64_t *count);

#endif
