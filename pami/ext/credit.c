/* SPDX-License-Identifier: BSD-3-Clause */
/* EXT_quintorus_credit: the messages that return credits, and waiting for them. */
#include <string.h>

#include "pami/core/advance.h"
#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/ext/ext.h"
#include "pami/ext_credit.h"
#include "pami/p2p/receive.h"
#include "pami/p2p/send.h"

/* Progress calls of a waiting task poll so often. */
enum { POLLS = 16 };

static pami_quintorus_credit_t *credit_of(struct pami_context *ctx, pami_task_t task)
{
	return (void *)((char *)ctx->credit.first + ctx->credit.stride * task);
}

static void on_credits(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *pipe, size_t data_bytes,
		       pami_endpoint_t origin, pami_recv_t *recv)
{
	struct pami_context *ctx = pami_context_of(context);
	pami_quintorus_credit_t *c = credit_of(ctx, pami_endpoint_task(origin));
	uint32_t credits = 0;

	if (header_bytes == sizeof(credits))
		memcpy(&credits, header, sizeof(credits));
	/* If more came back than are out, no send would leave any more. */
	if (!credits || credits > c->used) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin), "it returns no credits");
		return;
	}
	pami_quintorus_credit_arrive(c, credits);
}

static pami_result_t credit_open(pami_context_t context, pami_quintorus_credit_t *first,
				 size_t stride, uint32_t limit)
{
	struct pami_context *ctx = pami_context_of(context);

	if (!pami_context_is_valid(context))
		return pami_fail(PAMI_INVAL, "no such context");
	if (!first || stride < sizeof(*first) || limit < 2)
		return pami_fail(PAMI_INVAL, "credits need a record for each task and a limit of 2 "
					     "or more");
	if (ctx->credit.first)
		return pami_fail(PAMI_INVAL, "the context has credits already");
	ctx->credit.first = first;
	ctx->credit.stride = stride;
	ctx->credit.limit = limit;
	pami_dispatch_install(ctx, PAMI_DISPATCH_CREDIT, on_credits, NULL);
	return PAMI_SUCCESS;
}

static void credit_settle(pami_context_t context, pami_task_t task)
{
	struct pami_context *ctx = pami_context_of(context);
	uint32_t credits;
	pami_send_t s = {.send = {.header = {&credits, sizeof(credits)},
				  .dispatch = PAMI_DISPATCH_CREDIT,
				  .dest = pami_endpoint(task, ctx->offset)}};

	credits = pami_quintorus_credit_carry(credit_of(ctx, task), UINT32_MAX);
	if (credits) /* It fails where the task has ended: then nobody wants them. */
		pami_send_message(ctx, &s);
}

static pami_result_t credit_wait(pami_context_t context, pami_task_t task, uint32_t cost)
{
	struct pami_context *ctx = pami_context_of(context);

	while (!pami_quintorus_credit_take(credit_of(ctx, task), ctx->credit.limit, cost)) {
		if (mu_task_is_unreachable(task))
			return PAMI_SHUTDOWN;
		pami_advance_wait(&context, 1, POLLS);
	}
	return PAMI_SUCCESS;
}

static const struct pami_ext_symbol credit_symbols[] = {
    {"open", (void *)credit_open, NULL},
    {"settle", (void *)credit_settle, NULL},
    {"wait", (void *)credit_wait, NULL},
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_credit = {PAMI_EXT_QUINTORUS_CREDIT, NULL, credit_symbols};
