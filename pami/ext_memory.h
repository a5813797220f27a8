/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_memory: memory that the tasks of one host share. Puts and gets between two such
 * pieces on one host are one copy; neighbours may load and store each other's directly.
 *
 *     pami_extension_t e;
 *     if (PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_MEMORY, &e) == PAMI_SUCCESS) {
 *             pami_quintorus_alloc_fn alloc = (pami_quintorus_alloc_fn)PAMI_Extension_symbol(e, "alloc");
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
/* "free": what alloc gave, by the task that allocated it; NULL is fine. */
typedef void (*pami_quintorus_free_fn)(void *);
/*
 * "local": this process's address of [va, va + bytes) of that task's shared memory, for loads and
 * stores; NULL: not shared memory, not on this host, or the job's clock is virtual (where such
 * loads and stores would go unseen). Valid until the owner frees it.
 */
typedef void *(*pami_quintorus_local_fn)(pami_task_t task, void *va, size_t bytes);

#endif
