/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided operations. call: the public function, for the text of an error. */
#ifndef PAMI_P2P_RMA_H
#define PAMI_P2P_RMA_H

#include <stddef.h>
#include <stdint.h>

#include "pami/core/context.h"
#include "pami/core/macros.h"
#include "pami/p2p/fence.h"
#include "pami/p2p/request.h"
#include "pami/pami.h"

pami_result_t pami_put(const char *call, struct pami_context *ctx, const pami_rma_t *rma,
		       const void *local, uint64_t remote, pami_event_function rdone_fn);
pami_result_t pami_get(const char *call, struct pami_context *ctx, const pami_rma_t *rma,
		       void *local, uint64_t remote);
/* Let a new request end the operation `rma`: local completion, cookie, and the open fence. */
static PAMI_INLINE void pami_rma_fill_request(struct pami_context *ctx, struct pami_request *r,
					      const pami_rma_t *rma)
{
	r->local_fn = rma->done_fn;
	r->cookie = rma->cookie;
	r->awaited |= PAMI_REQUEST_LOCAL;
	if (PAMI_UNLIKELY(ctx->slow & PAMI_SLOW_FENCE))
		r->fence = pami_fence_add_operation(ctx, rma->dest);
}

/* Set the dispatch ids of typed puts and gets on a new context. */
void pami_rma_typed_install(struct pami_context *ctx);

/* The token of the typed get that begins with this header; 0: it is cut short. */
uint32_t pami_rma_typed_token(const void *header, size_t bytes);

#endif
