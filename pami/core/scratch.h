/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of operations in flight. What is left when the context ends is freed with it. */
#ifndef PAMI_CORE_SCRATCH_H
#define PAMI_CORE_SCRATCH_H

#include <stddef.h>

struct pami_context;

/* Zeroed, 16-byte aligned. NULL: out of memory. */
void *pami_scratch_alloc(struct pami_context *ctx, size_t bytes);
/* p may be NULL. */
void pami_scratch_free(void *p);
/* The context ends: free everything. */
void pami_scratch_free_all(struct pami_context *ctx);

#endif
