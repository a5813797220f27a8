/* SPDX-License-Identifier: BSD-3-Clause */
/* Dispatch ids: setting them, and their attributes. */
#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/core/macros.h"
#include "pami/core/query.h"
#include "pami/type/type.h"

PAMI_EXPORT pami_result_t PAMI_Dispatch_set(pami_context_t context, size_t dispatch,
					    pami_dispatch_callback_function fn, void *cookie,
					    pami_dispatch_hint_t options)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_dispatch *d;

	if (!pami_context_is_valid(context) || dispatch > PAMI_DISPATCH_ID_MAX || !fn.p2p)
		return pami_fail(PAMI_INVAL, "no context, dispatch id above 1023, or no function");
	d = &ctx->dispatch[dispatch];
	if (d->set_fn)
		return pami_fail(PAMI_INVAL, "the dispatch id is set already");
	pami_dispatch_install(ctx, dispatch, fn.p2p, cookie);
	d->asynchronous = options.recv_immediate == PAMI_HINT_DISABLE;
	d->contiguous = options.recv_contiguous == PAMI_HINT_ENABLE;
	d->copy = options.recv_copy == PAMI_HINT_ENABLE;
	d->short_headers = options.long_header == PAMI_HINT_DISABLE;
	if (options.use_shmem == PAMI_HINT_ENABLE)
		d->send |= PAMI_DISPATCH_SHMEM;
	if (options.queue_immediate == PAMI_HINT_DISABLE)
		d->send |= PAMI_DISPATCH_NO_QUEUE;
	d->rdma = options.use_rdma;
	if (d->asynchronous)
		d->fn = NULL;
	return PAMI_SUCCESS;
}

void pami_dispatch_install(struct pami_context *ctx, size_t dispatch, pami_dispatch_p2p_function fn,
			   void *cookie)
{
	struct pami_dispatch *d = &ctx->dispatch[dispatch];

	d->set_fn = fn;
	d->cookie = cookie;
	d->send = PAMI_DISPATCH_READY;
	/* Held messages are dispatched first, so the hot path stays closed until then. */
	if (d->held)
		ctx->todo |= PAMI_TODO_HELD;
	else
		d->fn = fn;
}

PAMI_EXPORT pami_result_t PAMI_Dispatch_query(pami_context_t context, size_t dispatch,
					      pami_configuration_t configuration[],
					      size_t num_configs)
{
	if (!pami_context_is_valid(context) || dispatch > PAMI_DISPATCH_ID_MAX ||
	    (num_configs && !configuration))
		return pami_fail(PAMI_INVAL,
				 "no context, dispatch id above 1023, or no attributes");
	for (size_t i = 0; i < num_configs; i++)
		switch ((int)configuration[i].name) {
		case PAMI_DISPATCH_RECV_IMMEDIATE_MAX:
		case PAMI_DISPATCH_SEND_IMMEDIATE_MAX:
			configuration[i].value.intval = pami_limits.immediate_max;
			break;
		case PAMI_DISPATCH_ATOM_SIZE_MAX:
			configuration[i].value.intval = PAMI_ATOM_MAX;
			break;
		default:
			return pami_fail_unknown_attribute(__func__);
		}
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Dispatch_update(pami_context_t context, size_t dispatch,
					       pami_configuration_t configuration[],
					       size_t num_configs)
{
	return pami_fail_read_only(__func__, num_configs ? num_configs : 1);
}
