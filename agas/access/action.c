/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "agas/access/action.h"
#include "agas/access/op.h"
#include "agas/access/serve.h"
#include "agas/core/world.h"

#define ACTIONS_MAX 1024

struct deferred {
	struct deferred *next;
	struct agas_request r;
	char payload[] __attribute__((aligned(16)));
};

static struct {
	agas_action_t fn[ACTIONS_MAX];
	uint32_t count;
	bool running;
	struct deferred *first, *last;
} actions;

/* Calls of actions that arrived while another action ran. */
static void run_deferred(void)
{
	struct deferred *d;

	while ((d = actions.first)) {
		actions.first = d->next;
		if (!actions.first)
			actions.last = NULL;
		agas_serve(&d->r, d->payload);
		free(d);
	}
}

uint8_t agas_action_run(const struct agas_request *r, void *at, const void *payload)
{
	AGAS_HANDLER;
	bool nested = actions.running;
	int result;

	if (r->action >= actions.count)
		return AGAS_WHY_ACTION;
	AGAS_COUNT(actions);
	actions.running = true;
	result = actions.fn[r->action](r->gva, at, payload, r->bytes, (int)r->source);
	actions.running = nested;
	if (!nested)
		run_deferred();
	return result == AGAS_RESEND ? AGAS_WHY_RETRY : AGAS_WHY_NONE;
}

bool agas_action_defer(const struct agas_request *r, const void *payload)
{
	struct deferred *d = actions.running ? malloc(sizeof(*d) + r->bytes) : NULL;

	if (!d)
		return false;
	d->next = NULL;
	d->r = *r;
	if (r->bytes)
		memcpy(d->payload, payload, r->bytes);
	if (actions.last)
		actions.last->next = d;
	else
		actions.first = d;
	actions.last = d;
	return true;
}

void agas_actions_release(void)
{
	struct deferred *d;

	while ((d = actions.first)) {
		actions.first = d->next;
		free(d);
	}
	memset(&actions, 0, sizeof(actions));
}

#pragma GCC visibility push(default)

int agas_register(agas_action_t fn)
{
	if (!agas_world.open)
		return agas_fail(__func__, AGAS_ESTATE, "call agas_init() first");
	AGAS_LOCK;
	if (!fn || actions.count == ACTIONS_MAX)
		return agas_fail(__func__, AGAS_EINVAL, "no function, or more than 1024 actions");
	actions.fn[actions.count] = fn;
	return (int)actions.count++;
}

size_t agas_call_max(void)
{
	return 65536;
}

int agas_call_nb(gva_t target, int action, const void *arg, size_t n, agas_req_t *r)
{
	int rc = agas_check(__func__, target, 1);
	struct agas_op *op;

	if (r)
		*r = (agas_req_t){0};
	if (rc)
		return rc;
	if (n > agas_call_max() || action < 0 || (n && !arg))
		return agas_fail(__func__, AGAS_EINVAL,
				 "no argument, too long an argument, or a negative action");
	AGAS_LOCK;
	op = agas_op_create(AGAS_OP_REQUEST, r);
	if (!op)
		return agas_fail(__func__, AGAS_ENOMEM, "no memory for one more operation");
	op->copy = malloc(n ? n : 1);
	if (!op->copy) {
		agas_op_complete(op, AGAS_WHY_MEMORY);
		return AGAS_ENOMEM;
	}
	if (n)
		memcpy(op->copy, arg, n);
	op->local = op->copy;
	op->r = (struct agas_request){.kind = AGAS_REQUEST_CALL,
				      .gva = target,
				      .bytes = (uint32_t)n,
				      .action = (uint32_t)action};
	agas_op_start(op);
	return 0;
}

int agas_call(gva_t target, int action, const void *arg, size_t n)
{
	return agas_call_nb(target, action, arg, n, NULL);
}

#pragma GCC visibility pop
