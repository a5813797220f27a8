/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_virtual: virtual time, for a library that stands between a program and its clocks.
 *
 * It can be opened before a client exists, with NULL as the client. Any thread may call; outside
 * virtual time the functions do nothing.
 */
#ifndef PAMI_EXT_VIRTUAL_H
#define PAMI_EXT_VIRTUAL_H

#include <stdint.h>

#include "pami.h"

#define PAMI_EXT_QUINTORUS_VIRTUAL "EXT_quintorus_virtual"

/* "is_on": nonzero while the process is in virtual time, from its first client to its last. */
typedef int (*pami_quintorus_virtual_is_on_fn)(void);
/*
 * "read": the clock of the calling thread, in picoseconds since the job began; 0 before, the last
 * time after. as_program: reading takes time, and others may run, as at PAMI_Wtime().
 */
typedef uint64_t (*pami_quintorus_virtual_read_fn)(int as_program);
/* "spend": the program computes or sleeps for so many picoseconds. */
typedef void (*pami_quintorus_virtual_spend_fn)(uint64_t ps);
/* "sync": wait for all tasks that have not left, without a packet; all resume at the same time. */
typedef void (*pami_quintorus_virtual_sync_fn)(void);
/* "cost": the software cost of that name in picoseconds (torus run --costs); 0: there is none. */
typedef uint64_t (*pami_quintorus_virtual_cost_fn)(const char *name);
/* "doubt": the run may not be repeatable, so its hash means nothing, and the report says so. */
typedef void (*pami_quintorus_virtual_doubt_fn)(void);
/*
 * "may_spin": nonzero: the calling thread enters a call of a library that may wait for another
 * thread in a loop without a call of PAMI. After a short time without one, other threads go on. 0:
 * it leaves that call.
 */
typedef void (*pami_quintorus_virtual_may_spin_fn)(int on);
/*
 * "keep_turn": nonzero: the calling thread enters code that takes locks and polls; no other thread
 * of the process goes on until the same call with 0.
 */
typedef void (*pami_quintorus_virtual_keep_turn_fn)(int on);
/*
 * "exclude": a thread of the process (its kernel number) serves some library and never calls PAMI:
 * whether it runs does not matter to virtual time. 0: it ends. At most 32.
 */
typedef void (*pami_quintorus_virtual_exclude_fn)(int tid, int on);

#endif
