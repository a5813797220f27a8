/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: PAMI_Send_immediate, from the user's parameters to the messaging unit's FIFO. No lock, no
 * allocation, no copy but the one into the packet. Guarded by bench/pami_latency and
 * bench/pami_rate. What does not fit one packet, or cannot leave now, is in send_message.c.
 */
#include <string.h>

#include "pami/state.h"

static PAMI_COLD pami_result_t send_immediate_slow(struct pami_context *ctx,
                                                   const pami_send_immediate_t *p)
{
	pami_send_t send = { .send = *p };
	size_t header = p->header.iov_len, data = p->data.iov_len;
	pami_result_t result;
	int rc;

	if (header > pami_limits.immediate_max || data > pami_limits.immediate_max - header)
		return pami_fail(PAMI_INVAL, "header and data exceed the limit of immediate sends");
	if (pami_send_refused(ctx, p->dispatch, p->dest, &result))
		return result;
	if (ctx->dispatch[p->dispatch].send & PAMI_DISPATCH_NO_QUEUE) {
		if (pami_queue_drain(ctx))
			return pami_fail(PAMI_EAGAIN, "the injection FIFO is full");
		rc = pami_send_try(ctx, p);
	} else {
		rc = pami_send_message(ctx, &send);
		pami_queue_throttle(ctx);
	}
	return pami_result(rc);
}

PAMI_EXPORT pami_result_t PAMI_Send_immediate(pami_context_t context, pami_send_immediate_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	size_t header = p->header.iov_len, data = p->data.iov_len;
	pami_endpoint_t dest = p->dest;
	struct pami_wire wire;
	int rc;

	if (PAMI_UNLIKELY(p->dispatch > PAMI_DISPATCH_ID_MAX || header > MU_PACKET_BYTES ||
	                  data > MU_PACKET_BYTES || ((header + 7) & ~(size_t)7) + data > MU_PACKET_BYTES ||
	                  ctx->slow || ctx->dispatch[p->dispatch].send != PAMI_DISPATCH_READY ||
	                  !pami_endpoint_ok(ctx, dest)))
		return send_immediate_slow(ctx, p);
	wire.kind = PAMI_WIRE_SHORT;
	wire.origin = ctx->offset;
	wire.dispatch = (uint16_t)p->dispatch;
	wire.header = (uint16_t)header;
	wire.data = (uint32_t)data;
	wire.token = 0;
	mu_charge(MU_COST_send_immediate, 1);
	rc = mu_send_short(ctx->channel, pami_endpoint_task(dest), pami_endpoint_channel(ctx, dest), &wire,
	                   p->header.iov_base, (uint32_t)header, p->data.iov_base, (uint32_t)data);
	if (PAMI_LIKELY(!rc))
		return PAMI_SUCCESS;
	if (rc == -EAGAIN)
		return send_immediate_slow(ctx, p);
	return pami_result(rc);
}
