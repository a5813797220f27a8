/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: from a packet in the reception FIFO to the return of the dispatch function. The benches
 * pami_latency and pami_rate guard it. A whole short message for an id that is set is dispatched
 * here; receive_other() and p2p/inbound.c handle everything else.
 */
#include "drivers/base/log.h"
#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/endpoint.h"
#include "pami/core/macros.h"
#include "pami/p2p/inbound.h"
#include "pami/p2p/receive.h"
#include "pami/p2p/request.h"
#include "pami/p2p/wire.h"

PAMI_COLD void pami_receive_refuse(struct pami_context *ctx, uint32_t source, const char *what)
{
	if (mu_task_is_unreachable(source))
		return; /* a task that died may leave parts of messages behind */
	if (!ctx->inbound.refused++)
		drv_warn("packet from task %u dropped: %s (counted from now on, not logged)",
			 source, what);
}

static void receive_answer(struct pami_context *ctx, uint32_t source, const struct pami_wire *wire,
			   const unsigned char *payload, uint32_t bytes)
{
	struct pami_request *r = pami_request_find(ctx, wire->token);

	if (r && r->answer && r->task == source)
		r->answer(r, -(int)wire->dispatch, payload, bytes);
	else
		pami_receive_refuse(ctx, source, "it answers a request that does not exist");
}

static __attribute__((noinline)) void receive_other(struct pami_context *ctx, uint32_t source,
						    const struct pami_wire *wire,
						    const unsigned char *payload, uint32_t bytes,
						    uint64_t offset)
{
	pami_endpoint_t origin = pami_endpoint(source, wire->origin & 63);
	size_t aligned = ((size_t)wire->header + 7) & ~(size_t)7;
	struct pami_wire copy;

	if (wire->kind == PAMI_WIRE_SHORT && wire->data == PAMI_WIRE_REST) {
		copy = *wire;
		copy.data = aligned < bytes ? (uint32_t)(bytes - aligned) : 0;
		wire = &copy;
	}
	if (offset)
		mu_charge(MU_COST_copy_byte, bytes);
	mu_charge(offset ? MU_COST_receive_piece : MU_COST_receive, 1);
	switch (wire->kind) {
	case PAMI_WIRE_SHORT:
	case PAMI_WIRE_SHORT_PACKED:
		if (wire->kind == PAMI_WIRE_SHORT_PACKED || !wire->data)
			aligned = wire->header;
		if (wire->dispatch >= PAMI_DISPATCH_IDS || aligned + wire->data > bytes)
			pami_receive_refuse(ctx, source,
					    "its lengths or dispatch id are impossible");
		else
			pami_inbound_short(ctx, origin, wire, payload, payload + aligned);
		break;
	case PAMI_WIRE_EAGER:
	case PAMI_WIRE_EAGER_HEAD:
	case PAMI_WIRE_EAGER_DATA:
	case PAMI_WIRE_RTS:
		pami_inbound_piece(ctx, source, wire, payload, bytes, offset);
		break;
	case PAMI_WIRE_DONE:
		receive_answer(ctx, source, wire, payload, bytes);
		break;
	case PAMI_WIRE_RMW:
		pami_rmw_receive(ctx, origin, wire, payload, bytes);
		break;
	case PAMI_WIRE_FENCE:
		pami_inbound_fence(ctx, origin, wire->token);
		break;
	default:
		pami_receive_refuse(ctx, source, "its kind is unknown");
	}
}

void pami_receive(void *arg, uint32_t source, const unsigned char *soft,
		  const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	struct pami_context *ctx = arg;
	const struct pami_wire *wire = (const struct pami_wire *)soft;

	if (PAMI_LIKELY(wire->kind == PAMI_WIRE_SHORT && wire->dispatch < PAMI_DISPATCH_IDS)) {
		const struct pami_dispatch *d = &ctx->dispatch[wire->dispatch];
		size_t header = wire->header, at = (header + 7) & ~(size_t)7;

		if (PAMI_LIKELY(d->fn && !wire->token &&
				(at + wire->data <= bytes || (!wire->data && header <= bytes)))) {
			mu_charge(MU_COST_receive, 1);
			d->fn(ctx, d->cookie, payload, header, payload + at, wire->data,
			      pami_endpoint(source, wire->origin & 63), NULL);
			return;
		}
	}
	receive_other(ctx, source, wire, payload, bytes, offset);
}
