/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read-modify-write. Arena memory of a near task is changed here and now with the processor's
 * atomics; for any other a message goes to the target context, executed there with the same
 * atomics: atomic whichever context executes it and whatever the target's own threads do.
 */
#include <string.h>

#include "pami/state.h"
#include "pami/type.h"

/* Operand bytes of a type, 0: none of those allowed. */
static unsigned operand_bytes(pami_type_t type)
{
	struct pami_type *t = type;

	if (t < &pami_type_predefined[PAMI_ELEMENT_INT] || t > &pami_type_predefined[PAMI_ELEMENT_ULLONG])
		return 0;
	return (unsigned)t->data_size;
}

static int operation_known(unsigned op)
{
	unsigned modify = op >> 2;

	if (op == PAMI_ATOMIC_FETCH)
		return 1;
	return modify >= 1 && modify <= 5 && op < 0x18;
}

static void rmw_answered(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	struct pami_wire_rmw_answer answer;

	if (!result && r->user && bytes >= sizeof answer) {
		memcpy(&answer, payload, sizeof answer);
		memcpy(r->user, &answer.old, r->bytes); /* low bytes first: little-endian hosts */
	}
	pami_request_half(r, PAMI_REQUEST_LOCAL, result);
}

static inline uint64_t modified(unsigned op, uint64_t old, uint64_t value)
{
	switch (op & 0x1c) {
	case PAMI_ATOMIC_SET:
		return value;
	case PAMI_ATOMIC_ADD:
		return old + value;
	case PAMI_ATOMIC_OR:
		return old | value;
	case PAMI_ATOMIC_AND:
		return old & value;
	case PAMI_ATOMIC_XOR:
		return old ^ value;
	default:
		return old; /* FETCH */
	}
}

#define EXECUTE(type)                                                                                  \
	static inline uint64_t execute_##type(type *at, unsigned op, type value, type test)                    \
	{                                                                                               \
		type old, new;                                                                          \
                                                                                                        \
		if (PAMI_LIKELY((op & ~1u) == PAMI_ATOMIC_ADD)) /* with and without FETCH */            \
			return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);                         \
		old = __atomic_load_n(at, __ATOMIC_ACQUIRE);                                            \
                                                                                                        \
		do {                                                                                    \
			if ((op & PAMI_ATOMIC_COMPARE) && old != test)                                  \
				return old;                                                             \
			new = (type)modified(op, old, value);                                           \
		} while (op != PAMI_ATOMIC_FETCH &&                                                     \
		         !__atomic_compare_exchange_n(at, &old, new, 0, __ATOMIC_ACQ_REL,              \
		                                      __ATOMIC_ACQUIRE));                              \
		return old;                                                                             \
	}
EXECUTE(uint32_t)
EXECUTE(uint64_t)

static inline uint64_t execute(const struct pami_wire_rmw_request *q, void *at)
{
	return q->bytes == 4 ? execute_uint32_t(at, q->operation, (uint32_t)q->value, (uint32_t)q->test) :
	                       execute_uint64_t(at, q->operation, q->value, q->test);
}

/* Operands, without a call. */
static inline uint64_t operand(const void *from, unsigned bytes)
{
	uint64_t v8 = 0;
	uint32_t v4;

	if (bytes == 8) {
		memcpy(&v8, from, 8);
		return v8;
	}
	memcpy(&v4, from, 4);
	return v4;
}

static inline void operand_store(void *to, uint64_t v8, unsigned bytes)
{
	uint32_t v4 = (uint32_t)v8;

	if (bytes == 8)
		memcpy(to, &v8, 8);
	else
		memcpy(to, &v4, 4);
}

/* done_fn is called by the next progress call, of what is done by then. */
static inline pami_result_t tell_later(struct pami_context *ctx, pami_event_function fn, void *cookie)
{
	if (!fn)
		return PAMI_SUCCESS;
	if (PAMI_UNLIKELY(ctx->told_last - ctx->told_first == PAMI_TOLD_MAX))
		return pami_event_defer(ctx, fn, NULL, cookie, 0);
	ctx->told[ctx->told_last++ % PAMI_TOLD_MAX] = (struct pami_told){ fn, cookie };
	ctx->todo |= PAMI_TODO_TOLD;
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Rmw(pami_context_t context, pami_rmw_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_wire wire = { .kind = PAMI_WIRE_RMW, .origin = ctx->offset };
	struct pami_wire_rmw_request request = { .address = (uint64_t)(uintptr_t)p->remote,
		                                 .bytes = (uint8_t)operand_bytes(p->type),
		                                 .operation = (uint8_t)p->operation };
	struct pami_request *r = NULL;
	void *at;
	int rc;

	if (!pami_endpoint_ok(ctx, p->dest))
		return pami_fail(PAMI_INVAL, "no such endpoint");
	if (!request.bytes || (unsigned)p->operation > 0xff || !operation_known((unsigned)p->operation))
		return pami_fail(PAMI_INVAL, "no such atomic operation, or not on this type");
	mu_charge(MU_COST_rmw, 1);
	if (p->operation != PAMI_ATOMIC_FETCH)
		request.value = operand(p->value, request.bytes);
	if (p->operation & PAMI_ATOMIC_COMPARE)
		request.test = operand(p->test, request.bytes);
	/* Arena memory of a near task: the processor does it here and now. */
	if (!(request.address & (request.bytes - 1u)) &&
	    (at = mu_arena_local_again(&ctx->near, pami_endpoint_task(p->dest), request.address, request.bytes))) {
		pami_result_t result = tell_later(ctx, p->done_fn, p->cookie);
		uint64_t old;

		if (PAMI_UNLIKELY(result))
			return result; /* nothing is changed */
		old = execute(&request, at);
		if (p->operation & PAMI_ATOMIC_FETCH)
			operand_store(p->local, old, request.bytes);
		return PAMI_SUCCESS;
	}
	r = pami_request_new(ctx);
	if (!r)
		return pami_result(-ENOMEM);
	r->local_fn = p->done_fn;
	r->cookie = p->cookie;
	r->user = p->operation & PAMI_ATOMIC_FETCH ? p->local : NULL;
	r->bytes = request.bytes;
	r->answer = rmw_answered;
	r->task = pami_endpoint_task(p->dest);
	r->awaited |= PAMI_REQUEST_LOCAL;
	wire.token = r->token;
	rc = pami_queue_short(ctx, p->dest, &wire, &request, sizeof request, NULL, 0);
	if (rc)
		pami_request_free(r);
	if (PAMI_UNLIKELY(ctx->queue_bytes > pami_limits.queue_max))
		pami_queue_throttle(ctx);
	return pami_result(rc);
}

void pami_rmw_receive(struct pami_context *ctx, pami_endpoint_t origin, const struct pami_wire *wire,
                      const unsigned char *payload, uint32_t bytes)
{
	struct pami_wire_rmw_request q;
	struct pami_wire_rmw_answer answer = { 0 };
	int result = 0;

	if (bytes < sizeof q) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin), "an atomic operation cut short");
		return;
	}
	memcpy(&q, payload, sizeof q);
	mu_charge(MU_COST_rmw, 1);
	if ((q.bytes != 4 && q.bytes != 8) || !operation_known(q.operation) || q.address % q.bytes)
		result = -EINVAL;
	else if (mu_reachable(q.address, q.bytes, 1))
		result = -EFAULT;
	else
		answer.old = execute(&q, (void *)(uintptr_t)q.address);
	if (q.operation & PAMI_ATOMIC_FETCH)
		pami_send_done(ctx, origin, wire->token, result, &answer, sizeof answer);
	else
		pami_send_done(ctx, origin, wire->token, result, NULL, 0);
}
