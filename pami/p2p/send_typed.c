/* SPDX-License-Identifier: BSD-3-Clause */
/* PAMI_Send_typed gathers the payload into one buffer and sends that like any other message. */
#include <stdlib.h>

#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/core/macros.h"
#include "pami/core/scratch.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/send.h"
#include "pami/type/type.h"

/* The gathered copy, and the user's events, while the message is in flight. */
struct gathered {
	pami_send_event_t events;
	unsigned char data[];
};

static void local_done(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gathered *g = cookie;
	pami_event_function fn = g->events.local_fn;
	void *user = g->events.cookie;

	if (!g->events.remote_fn)
		pami_scratch_free(g);
	if (fn)
		fn(context, user, result);
}

static void remote_done(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gathered *g = cookie;
	pami_event_function fn = g->events.remote_fn;
	void *user = g->events.cookie;

	pami_scratch_free(g);
	fn(context, user, result);
}

PAMI_EXPORT pami_result_t PAMI_Send_typed(pami_context_t context, pami_send_typed_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	pami_result_t result;
	struct gathered *g;
	pami_send_t s;
	size_t bytes;
	int rc;

	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid(context);
	bytes = p->send.data.iov_len;
	s = (pami_send_t){.send = p->send};
	if (pami_send_is_refused(__func__, ctx, p->send.dispatch, p->send.dest, &result))
		return result;
	if (pami_is_header_too_long(ctx, &p->send))
		return pami_fail(PAMI_INVAL, PAMI_HEADER_TOO_LONG);
	if (!pami_type_can_hold(p->typed.type, bytes) || bytes > SIZE_MAX - sizeof *g)
		return pami_fail(PAMI_INVAL, "not a complete type, or one without data");
	if (pami_is_no_buffer(&p->send.header) ||
	    (pami_type_is_contiguous(p->typed.type) && pami_is_no_buffer(&p->send.data)))
		return pami_fail(PAMI_INVAL, "the header or the data has no address");
	g = pami_scratch_alloc(ctx, sizeof *g + bytes);
	if (!g)
		return pami_result(-ENOMEM);
	g->events = p->events;
	pami_type_gather(p->typed.type, p->send.data.iov_base, p->typed.offset, g->data, bytes,
			 p->typed.data_fn ? p->typed.data_fn : pami_data_copy,
			 p->typed.data_cookie);
	mu_charge(MU_COST_copy_byte, bytes);
	s.send.data.iov_base = g->data;
	s.events = (pami_send_event_t){g, local_done, p->events.remote_fn ? remote_done : NULL};
	rc = pami_send_message(ctx, &s);
	if (rc)
		pami_scratch_free(g);
	if (PAMI_UNLIKELY(ctx->queue.bytes > pami_limits.queue_max))
		pami_queue_throttle(ctx);
	return pami_result(rc);
}
