/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_memory: memory that the tasks of one host share. A put or get between two such
 * buffers on one host is one copy. Tasks of the host may also load and store directly.
 *
 *     pami_extension_t e;
 *     if (PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_MEMORY, &e) == PAMI_SUCCESS) {
 *             pami_quintorus_alloc_fn alloc =
 *                     (pami_quintorus_alloc_fn)PAMI_Extension_symbol(e, "alloc");
 *             double *x = alloc(n * sizeof *x, 64);
 *     }
 */
#ifndef PAMI_EXT_MEMORY_H
#define PAMI_EXT_MEMORY_H

#include <stddef.h>

#include "pami.h"

#define PAMI_EXT_QUINTORUS_MEMORY "EXT_quintorus_memory"

/* "alloc": bytes > 0, align a power of two. NULL: the arena is full. Any thread. */
typedef void *(*pami_quintorus_alloc_fn)(size_t bytes, size_t align);
/* "free": free memory of "alloc"; only the task that allocated it may call. NULL is allowed. */
typedef void (*pami_quintorus_free_fn)(void *);
/*
 * "local": the address in this process of [va, va + bytes) of that task's shared memory, for loads
 * and stores. NULL: not shared memory, not on this host, or the job's clock is virtual, which
 * cannot see such loads and stores. Valid until the owner frees the memory.
 */
typedef void *(*pami_quintorus_local_fn)(pami_task_t task, void *va, size_t bytes);
/*
 * "node": the same for a task of this torus node only, and in virtual time, too. There the caller
 * spends the time that loads and stores take (EXT_quintorus_virtual, "spend") before it makes them.
 */
typedef void *(*pami_quintorus_node_fn)(pami_task_t task, void *va, size_t bytes);

#endif
