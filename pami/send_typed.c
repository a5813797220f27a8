/* SPDX-License-Identifier: BSD-3-Clause */
/* PAMI_Send_typed: the payload is gathered into one buffer, which is then sent as any other. */
#include <stdlib.h>

#include "pami/state.h"
#include "pami/type.h"

/* The user's events while the gathered copy is under way. */
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
		pami_unkeep(g);
	if (fn)
		fn(context, user, result);
}

static void remote_done(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gathered *g = cookie;
	pami_event_function fn = g->events.remote_fn;
	void *user = g->events.cookie;

	pami_unkeep(g);
	fn(context, user, result);
}

PAMI_EXPORT pami_result_t PAMI_Send_typed(pami_context_t context, pami_send_typed_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	size_t bytes = p->send.data.iov_len;
	pami_send_t s = { .send = p->send };
	pami_result_t result;
	struct gathered *g;
	int rc;

	if (pami_send_refused(ctx, p->send.dispatch, p->send.dest, &result))
		return result;
	if (!pami_type_takes(p->typed.type, bytes) || bytes > SIZE_MAX - sizeof *g)
		return pami_fail(PAMI_INVAL, "not a complete type, or one without data");
	g = pami_keep(ctx, sizeof *g + bytes);
	if (!g)
		return pami_result(-ENOMEM);
	g->events = p->events;
	pami_type_gather(p->typed.type, p->send.data.iov_base, p->typed.offset, g->data, bytes,
	                 p->typed.data_fn ? p->typed.data_fn : pami_data_copy, p->typed.data_cookie);
	mu_charge(MU_COST_copy_byte, bytes);
	s.send.data.iov_base = g->data;
	s.events = (pami_send_event_t){ g, local_done, p->events.remote_fn ? remote_done : NULL };
	rc = pami_send_message(ctx, &s);
	if (rc)
		pami_unkeep(g);
	if (PAMI_UNLIKELY(ctx->queue_bytes > pami_limits.queue_max))
		pami_queue_throttle(ctx);
	return pami_result(rc);
}
