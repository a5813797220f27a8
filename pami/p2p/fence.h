/* SPDX-License-Identifier: BSD-3-Clause */
/* Fences: what an operation does while a fence region is open (ctx->slow has PAMI_SLOW_FENCE). */
#ifndef PAMI_P2P_FENCE_H
#define PAMI_P2P_FENCE_H

#include "pami/pami.h"

struct pami_context;
struct pami_fence_group;

/* An operation to `dest` starts. The result is what pami_fence_operation_done() must get when it is
 * complete; NULL: out of memory, so the region's fences fail. */
struct pami_fence_group *pami_fence_add_operation(struct pami_context *ctx, pami_endpoint_t dest);
void pami_fence_operation_done(struct pami_fence_group *g);
/* A message to `dest` starts that `dest` handles in order: its completion need not be reported. */
void pami_fence_add_message(struct pami_context *ctx, pami_endpoint_t dest);
/* The context ends. */
void pami_fence_free(struct pami_context *ctx);

#endif
