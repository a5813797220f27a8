/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_wait: progress calls for a library that waits.
 *
 * PAMI_Context_advance() cannot know whether its caller waits or polls between other work, so it
 * does not sleep before the program has only polled for long. A library whose call cannot return
 * before an event uses these calls instead, and a task that waits there uses less than 1% of a
 * core.
 */
#ifndef PAMI_EXT_WAIT_H
#define PAMI_EXT_WAIT_H

#include "pami.h"

#define PAMI_EXT_QUINTORUS_WAIT "EXT_quintorus_wait"

/*
 * "advancev": as PAMI_Context_advancev(); a call that finds nothing yields or sleeps, for at most
 * 10 ms for each 16 tasks of the host. It still returns when nothing was found: call it in a loop.
 */
typedef pami_result_t (*pami_quintorus_advancev_fn)(pami_context_t context[], size_t count,
						    size_t maximum);
/* "room": not 0: a put, get or atomic of the messaging unit would start now; 0: it would wait in
 * memory behind others. The caller holds the context's lock, if there is any. */
typedef int (*pami_quintorus_room_fn)(pami_context_t context);

#endif
