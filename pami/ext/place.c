/* SPDX-License-Identifier: BSD-3-Clause */
/* HOT: EXT_quintorus_place. The bench gexbench guards it. */
#include <stddef.h>
#include <string.h>

#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/endpoint.h"
#include "pami/core/macros.h"
#include "pami/ext/ext.h"
#include "pami/ext_place.h"
#include "pami/p2p/send.h"
#include "pami/p2p/wire.h"

_Static_assert(sizeof(struct pami_wire_envelope) <= PAMI_QUINTORUS_FRAME, "fits before the header");
_Static_assert(sizeof(struct mu_place) <= sizeof(((pami_quintorus_place_t *)0)->reserved),
	       "a place keeps the MU's part");

static struct mu_place *mu_part(pami_quintorus_place_t *p)
{
	return (struct mu_place *)(void *)p->reserved;
}

static pami_result_t reserve_place(pami_context_t context, pami_quintorus_place_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	size_t header, data, at;
	unsigned char *payload;
	struct pami_wire *wire;
	void *soft;

	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return PAMI_EAGAIN;
	header = p->header_bytes;
	data = p->data_bytes;
	at = (header + 7) & ~(size_t)7;
	if (PAMI_UNLIKELY(header > MU_PACKET_BYTES || data > MU_PACKET_BYTES ||
			  at + data > MU_PACKET_BYTES || p->dispatch > PAMI_DISPATCH_ID_MAX ||
			  ctx->slow || ctx->dispatch[p->dispatch].send != PAMI_DISPATCH_READY ||
			  !pami_endpoint_is_valid(ctx, p->dest)))
		return PAMI_EAGAIN;
	payload = mu_place_reserve(ctx->channel, pami_endpoint_task(p->dest),
				   pami_endpoint_channel(ctx, p->dest), (uint32_t)(at + data),
				   mu_part(p), &soft);
	if (PAMI_UNLIKELY(!payload))
		return PAMI_EAGAIN;
	wire = soft;
	wire->kind = PAMI_WIRE_SHORT;
	wire->origin = ctx->offset;
	wire->dispatch = (uint16_t)p->dispatch;
	wire->header = (uint16_t)header;
	wire->data = (uint32_t)data;
	wire->token = 0;
	p->header = payload;
	p->data = payload + at;
	return PAMI_SUCCESS;
}

static void commit_place(pami_context_t context, pami_quintorus_place_t *p, size_t data_bytes)
{
	struct pami_context *ctx = pami_context_of(context);
	size_t at = (p->header_bytes + 7) & ~(size_t)7;

	if (PAMI_UNLIKELY(data_bytes < p->data_bytes)) {
		struct pami_wire *wire = mu_place_soft(mu_part(p));

		wire->data = (uint32_t)data_bytes;
	}
	mu_place_commit(ctx->channel, mu_part(p), (uint32_t)(at + data_bytes));
}

/* Can a message leave in place from this context? */
static inline bool can_send(pami_context_t context, pami_endpoint_t dest, size_t dispatch)
{
	struct pami_context *ctx = pami_context_of(context);

	return PAMI_LIKELY(pami_context_is_valid(context) && dispatch <= PAMI_DISPATCH_ID_MAX &&
			   !ctx->slow && ctx->dispatch[dispatch].send == PAMI_DISPATCH_READY &&
			   pami_endpoint_is_valid(ctx, dest));
}

/* The first bytes of struct pami_wire: kind, origin, dispatch, header. data and token follow. */
static inline uint64_t wire_start(const struct pami_context *ctx, size_t dispatch, size_t header)
{
	return PAMI_WIRE_SHORT | (uint64_t)ctx->offset << 8 | (uint64_t)dispatch << 16 |
	       (uint64_t)header << 32;
}

static pami_result_t send_words(pami_context_t context, pami_endpoint_t dest, size_t dispatch,
				uint64_t header, const uint64_t *data, size_t count)
{
	struct pami_context *ctx = pami_context_of(context);

	mu_idle_reset();
	if (PAMI_UNLIKELY(count >= MU_PACKET_BYTES / 8 || !can_send(context, dest, dispatch)))
		return PAMI_EAGAIN;
	return mu_send_words(ctx->channel, pami_endpoint_task(dest),
			     pami_endpoint_channel(ctx, dest),
			     wire_start(ctx, dispatch, sizeof(header)), count * 8, header, data,
			     (uint32_t)count)
		   ? PAMI_EAGAIN
		   : PAMI_SUCCESS;
}

static pami_result_t send_padded(pami_context_t context, pami_endpoint_t dest, size_t dispatch,
				 const uint64_t *header, size_t count, const void *data,
				 size_t data_bytes)
{
	struct pami_context *ctx = pami_context_of(context);

	mu_idle_reset();
	if (PAMI_UNLIKELY(!count || count > MU_PACKET_BYTES / 8 ||
			  data_bytes > MU_PACKET_BYTES - count * 8 ||
			  !can_send(context, dest, dispatch)))
		return PAMI_EAGAIN;
	return mu_send_padded(ctx->channel, pami_endpoint_task(dest),
			      pami_endpoint_channel(ctx, dest),
			      wire_start(ctx, dispatch, count * 8), data_bytes, header,
			      (uint32_t)count, data, (uint32_t)data_bytes)
		   ? PAMI_EAGAIN
		   : PAMI_SUCCESS;
}
_Static_assert(offsetof(struct pami_wire, data) == 6 && offsetof(struct pami_wire, header) == 4 &&
		   offsetof(struct pami_wire, dispatch) == 2 &&
		   offsetof(struct pami_wire, origin) == 1 && sizeof(struct pami_wire) == 14,
	       "words of a packet's software bytes");

static const struct pami_ext_symbol place_symbols[] = {
    {"reserve", (void *)reserve_place, NULL},   {"commit", (void *)commit_place, NULL},
    {"words", (void *)send_words, NULL},        {"padded", (void *)send_padded, NULL},
    {"framed", (void *)pami_send_framed, NULL}, {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_place = {PAMI_EXT_QUINTORUS_PLACE, NULL, place_symbols};
