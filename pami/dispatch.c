/* SPDX-License-Identifier: BSD-3-Clause */
/* Dispatch ids: registration and limits. */
#include "pami/query.h"
#include "pami/state.h"
#include "pami/type.h"

PAMI_EXPORT pami_result_t PAMI_Dispatch_set(pami_context_t context, size_t dispatch,
                                            pami_dispatch_callback_function fn, void *cookie,
                                            pami_dispatch_hint_t options)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_dispatch *d;

	if (!pami_context_valid(context) || dispatch > PAMI_DISPATCH_ID_MAX || !fn.p2p)
		return pami_fail(PAMI_INVAL, "no context, dispatch id above 1023, or no function");
	d = &ctx->dispatch[dispatch];
	if (d->set_fn)
		return pami_fail(PAMI_INVAL, "dispatch id set already");
	pami_dispatch_install(ctx, dispatch, fn.p2p, cookie);
	d->asynchronous = options.recv_immediate == PAMI_HINT_DISABLE;
	d->contiguous = options.recv_contiguous == PAMI_HINT_ENABLE;
	d->copy = options.recv_copy == PAMI_HINT_ENABLE;
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
	/* What was held goes first: until it is delivered the fast path stays closed. */
	if (d->held)
		ctx->todo |= PAMI_TODO_HELD;
	else
		d->fn = fn;
}

PAMI_EXPORT pami_result_t PAMI_Dispatch_query(pami_context_t context, size_t dispatch,
                                              pami_configuration_t configuration[], size_t num_configs)
{
	if (!pami_context_valid(context) || dispatch > PAMI_DISPATCH_ID_MAX)
		return pami_fail(PAMI_INVAL, "no context, or dispatch id above 1023");
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
			return pami_query_unknown();
		}
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Dispatch_update(pami_context_t context, size_t dispatch,
                                               pami_configuration_t configuration[], size_t num_configs)
{
	return pami_query_read_only(num_configs ? num_configs : 1);
}
