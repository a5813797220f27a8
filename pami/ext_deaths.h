/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_deaths: which tasks are gone (torus run --on-death error). PAMI ends its own operations with
 * PAMI_SHUTDOWN; what a program waits for, a reply to a message that was delivered, say, it ends itself.
 */
#ifndef PAMI_EXT_DEATHS_H
#define PAMI_EXT_DEATHS_H

#include "pami.h"

#define PAMI_EXT_QUINTORUS_DEATHS "EXT_quintorus_deaths"

typedef void (*pami_quintorus_death_fn)(pami_context_t, void *cookie);
/*
 * "watch": call fn from progress on the context each time that tasks have gone, when everything that had
 * arrived from them is dispatched and the library's own operations are ended. fn NULL: no longer. One function
 * a context; the context's lock is held. Deaths before this call are not told: ask. PAMI_INVAL: no such context.
 */
typedef pami_result_t (*pami_quintorus_watch_fn)(pami_context_t, pami_quintorus_death_fn fn, void *cookie);
/* "gone": non-zero if nothing more can be sent to the task. Any thread, while there is a client. */
typedef int (*pami_quintorus_gone_fn)(pami_task_t);

#endif
