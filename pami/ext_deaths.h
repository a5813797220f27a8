/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_deaths: which tasks have died or left (torus run --on-death error). PAMI ends its
 * own operations with PAMI_SHUTDOWN. A program that waits for something else, such as a reply to a
 * message that was delivered, learns of deaths here.
 */
#ifndef PAMI_EXT_DEATHS_H
#define PAMI_EXT_DEATHS_H

#include "pami.h"

#define PAMI_EXT_QUINTORUS_DEATHS "EXT_quintorus_deaths"

typedef void (*pami_quintorus_death_fn)(pami_context_t, void *cookie);
/*
 * "watch": progress calls on the context call fn each time that tasks have died, after they have
 * dispatched everything that had arrived from those tasks and ended the library's own operations.
 * fn NULL: stop. A context has one function, which runs under the context's lock. Deaths before
 * this call are not reported: ask with "gone". PAMI_INVAL: no such context.
 */
typedef pami_result_t (*pami_quintorus_watch_fn)(pami_context_t, pami_quintorus_death_fn fn,
						 void *cookie);
/* "gone": non-zero if nothing more can be sent to the task. Any thread, while there is a client. */
typedef int (*pami_quintorus_gone_fn)(pami_task_t);

#endif
