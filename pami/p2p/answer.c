/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to tokens. The ones that find no memory wait in the context. */
#include <string.h>

#include "pami/core/context.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/p2p/answer.h"
#include "pami/p2p/inbound.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/receive.h"
#include "pami/p2p/wire.h"

int pami_answer_try(struct pami_context *ctx, pami_endpoint_t dest, uint32_t token, int result,
		    const void *payload, uint32_t bytes)
{
	struct pami_wire wire = {.kind = PAMI_WIRE_DONE,
				 .origin = ctx->offset,
				 .dispatch = (uint16_t)-result,
				 .token = token};

	return pami_queue_short(ctx, dest, &wire, payload, bytes, NULL, 0);
}

void pami_answer_send(struct pami_context *ctx, pami_endpoint_t dest, uint32_t token, int result,
		      const void *payload, uint32_t bytes)
{
	int rc = pami_answer_try(ctx, dest, token, result, payload, bytes);
	struct pami_answer *a = &ctx->answers.item[ctx->answers.count];

	if (PAMI_LIKELY(!rc))
		return;
	if (rc != -ENOMEM || ctx->answers.count == PAMI_ANSWERS_MAX || bytes > sizeof a->payload) {
		pami_receive_refuse(ctx, pami_endpoint_task(dest), "an answer could not be sent");
		return;
	}
	*a = (struct pami_answer){.dest = dest, .token = token, .result = result, .bytes = bytes};
	if (bytes)
		memcpy(&a->payload, payload, bytes);
	/* Without a place for the answer to another message, dispatch none. */
	if (++ctx->answers.count == PAMI_ANSWERS_MAX)
		mu_channel_allow_dispatch(ctx->channel, false);
	ctx->todo |= PAMI_TODO_ANSWERS;
}

int pami_answers_flush(struct pami_context *ctx)
{
	pami_queue_drain(ctx);
	for (; ctx->answers.count; ctx->answers.count--) {
		const struct pami_answer *a = &ctx->answers.item[ctx->answers.count - 1];

		if (pami_answer_try(ctx, a->dest, a->token, a->result, &a->payload, a->bytes) ==
		    -ENOMEM)
			return -EAGAIN;
	}
	if (pami_inbound_send_answers(ctx))
		return -EAGAIN;
	ctx->todo &= ~(unsigned)PAMI_TODO_ANSWERS;
	mu_channel_allow_dispatch(ctx->channel, true);
	return 0;
}
