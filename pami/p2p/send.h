/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending a message. */
#ifndef PAMI_P2P_SEND_H
#define PAMI_P2P_SEND_H

#include <stdbool.h>

#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/pami.h"

/* Send a message by the protocol of its size. The id is not checked. 0 or a negative errno. */
int pami_send_message(struct pami_context *ctx, const pami_send_t *p);
/* "framed" of EXT_quintorus_place (pami/ext_place.h). */
pami_result_t pami_send_framed(pami_context_t context, pami_send_t *p);
/* Send one immediate message without queueing it. -EAGAIN: the FIFO is full. */
int pami_send_try(struct pami_context *ctx, const pami_send_immediate_t *s);
/* Is a send on this id to this endpoint an error? Then *result is what the public function `call`
 * returns. */
bool pami_send_is_refused(const char *call, struct pami_context *ctx, size_t dispatch,
			  pami_endpoint_t dest, pami_result_t *result);

/* Is the header longer than the hint long_header allows? The dispatch id must be set. */
static inline bool pami_is_header_too_long(const struct pami_context *ctx,
					   const pami_send_immediate_t *s)
{
	return s->header.iov_len > pami_limits.immediate_max &&
	       ctx->dispatch[s->dispatch].short_headers;
}
#define PAMI_HEADER_TOO_LONG                                                                       \
	"the header is longer than PAMI_DISPATCH_RECV_IMMEDIATE_MAX, and the dispatch id was set " \
	"with long_header = PAMI_HINT_DISABLE"

#endif
