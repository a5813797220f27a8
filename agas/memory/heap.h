/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of blocks and of their records. Where tasks of a host access each other's blocks by
 * themselves (access/network.h) it comes from this task's arena, which they have mapped; else, and
 * when the arena is full, from malloc(). Under the library's lock.
 */
#ifndef AGAS_MEMORY_HEAP_H
#define AGAS_MEMORY_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "pami/pami.h"

/* Use the arena. Returns false, and uses malloc(), if there is none. */
bool agas_heap_open(pami_client_t client);
/* Everything that came from the arena is given back. PAMI's client still exists. */
void agas_heap_close(void);

/* Memory at a multiple of `align`, a power of two up to 4096. Returns NULL if there is none. */
void *agas_heap_alloc(size_t bytes, size_t align);
/* Also of malloc(), and NULL. */
void agas_heap_free(void *memory);

#endif
