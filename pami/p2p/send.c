/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: PAMI_Send_immediate, from the user's parameters to the messaging unit's FIFO. It takes no
 * lock, allocates nothing and copies once, into the packet. The benches pami_latency and pami_rate
 * guard it. p2p/send_message.c sends what does not fit one packet or cannot leave now.
 */
#include <string.h>

#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/core/macros.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/send.h"
#include "pami/p2p/trace.h"
#include "pami/p2p/wire.h"

static PAMI_COLD pami_result_t send_immediate_slow(struct pami_context *ctx,
						   pami_send_immediate_t *p)
{
	static const char call[] = "PAMI_Send_immediate";
	pami_send_t send = {.send = *p};
	size_t header = p->header.iov_len, data = p->data.iov_len;
	pami_result_t result;
	int rc;

	if (pami_is_traced(ctx))
		return pami_trace_send_immediate(ctx, p);
	if (pami_is_no_buffer(&p->header) || pami_is_no_buffer(&p->data))
		return pami_fail_in(call, PAMI_INVAL, "the header or the data has no address");
	if (header > pami_limits.immediate_max || data > pami_limits.immediate_max - header)
		return pami_fail_in(call, PAMI_INVAL,
				    "header and data exceed the limit of immediate sends");
	if (pami_send_is_refused(call, ctx, p->dispatch, p->dest, &result))
		return result;
	if (ctx->dispatch[p->dispatch].send & PAMI_DISPATCH_NO_QUEUE) {
		if (pami_queue_drain(ctx))
			return pami_fail_in(call, PAMI_EAGAIN, "the injection FIFO is full");
		rc = pami_send_try(ctx, p);
	} else {
		rc = pami_send_message(ctx, &send);
		pami_queue_throttle(ctx);
	}
	return pami_result_in(call, rc);
}

PAMI_EXPORT pami_result_t PAMI_Send_immediate(pami_context_t context, pami_send_immediate_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	size_t header, data;
	pami_endpoint_t dest;
	struct pami_wire wire;
	int rc;

	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid(context);
	header = p->header.iov_len;
	data = p->data.iov_len;
	dest = p->dest;
	if (PAMI_UNLIKELY(pami_is_no_buffer(&p->header) || pami_is_no_buffer(&p->data) ||
			  p->dispatch > PAMI_DISPATCH_ID_MAX || header > MU_PACKET_BYTES ||
			  data > MU_PACKET_BYTES ||
			  ((header + 7) & ~(size_t)7) + data > MU_PACKET_BYTES || ctx->slow ||
			  (ctx->dispatch[p->dispatch].send & ~PAMI_DISPATCH_NO_QUEUE) !=
			      PAMI_DISPATCH_READY ||
			  !pami_endpoint_is_valid(ctx, dest)))
		return send_immediate_slow(ctx, p);
	pami_wire_set_short(&wire, ctx->offset, (uint32_t)p->dispatch, (uint32_t)header,
			    (uint32_t)data);
	mu_charge(MU_COST_send_immediate, 1);
	rc = mu_send_short(ctx->channel, pami_endpoint_task(dest), pami_endpoint_channel(ctx, dest),
			   &wire, p->header.iov_base, (uint32_t)header, p->data.iov_base,
			   (uint32_t)data);
	if (PAMI_LIKELY(!rc))
		return PAMI_SUCCESS;
	if (rc == -EAGAIN)
		return send_immediate_slow(ctx, p);
	return pami_result(rc);
}
