/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of the collectives that contexts and progress calls use. */
#ifndef PAMI_COLL_PROGRESS_H
#define PAMI_COLL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "pami/pami.h"

struct pami_context;

/* Set up the collectives of a new context. Returns 0 or -ENOMEM. */
int pami_coll_init(struct pami_context *ctx);
/* The channel of the context is open. */
void pami_coll_open(struct pami_context *ctx);
/* Free the collectives of a context that ends. */
void pami_coll_drop(struct pami_context *ctx);
/* PAMI_TODO_COLL: run operations that poll memory, and deferred callbacks. Returns the number of
 * events. */
int pami_coll_poll(struct pami_context *ctx);
/* PAMI_TODO_SHORT: the same for short operations in shared memory. */
int pami_short_poll(struct pami_context *ctx);
/* The oldest operation under way: its type, and the task that it waits for (MU_WAITS_ANYONE: not
 * known). Returns false if there is none. */
bool pami_coll_find_waits(const struct pami_context *ctx, unsigned *type, uint32_t *task);
/* Dispatch function of the id PAMI_DISPATCH_COLL. */
void pami_coll_dispatch(pami_context_t context, void *cookie, const void *header_addr,
			size_t header_size, const void *pipe_addr, size_t data_size,
			pami_endpoint_t origin, pami_recv_t *recv);

#endif
