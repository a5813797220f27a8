/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read-modify-write. Arena memory of a task on this host is changed inside the call, with the
 * processor's atomics. Otherwise the target's MU carries the operation out where the machine has it
 * (--hw mu_atomics), else a message goes to the target context. All use the same atomics, so
 * operations are atomic whichever way they take and whatever the target's threads do.
 */
#include <string.h>

#include "drivers/base/atomic.h"
#include "pami/core/context.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/core/macros.h"
#include "pami/p2p/answer.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/receive.h"
#include "pami/p2p/request.h"
#include "pami/p2p/trace.h"
#include "pami/p2p/wire.h"
#include "pami/type/type.h"
#include "mu/hw/atomic.h"

/* Operand bytes of a type; 0: the type is not allowed. */
static unsigned operand_bytes(pami_type_t type)
{
	struct pami_type *t = type;

	if (t < &pami_type_predefined[PAMI_ELEMENT_INT] ||
	    t > &pami_type_predefined[PAMI_ELEMENT_ULLONG])
		return 0;
	return (unsigned)t->data_size;
}

static bool is_known_operation(unsigned op)
{
	return op == PAMI_ATOMIC_FETCH || (op >= PAMI_ATOMIC_SET && op < 0x18);
}

static void rmw_answered(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	struct pami_wire_rmw_answer answer;

	if (!result && r->user && bytes < sizeof answer) {
		result = -EPROTO;
	} else if (!result && r->user) {
		memcpy(&answer, payload, sizeof answer);
		memcpy(r->user, &answer.old, r->bytes); /* low bytes first: little-endian hosts */
	}
	pami_request_complete_half(r, PAMI_REQUEST_LOCAL, result);
}

/* PAMI numbers its operations as the MU does, above two bits that say what is wanted of them. */
static inline uint8_t mu_operation_of(unsigned operation)
{
	return (uint8_t)(operation >> 2 |
			 (operation & PAMI_ATOMIC_COMPARE ? MU_ATOMIC_COMPARE : 0));
}

static inline struct mu_atomic atomic_of(const struct pami_wire_rmw_request *q)
{
	return (struct mu_atomic){
	    .op = mu_operation_of(q->operation),
	    .bytes = q->bytes,
	    .fetch = q->operation & PAMI_ATOMIC_FETCH,
	    .address = q->address,
	    .value = q->value,
	    .test = q->test,
	};
}
_Static_assert(PAMI_ATOMIC_SET >> 2 == MU_ATOMIC_SET && PAMI_ATOMIC_ADD >> 2 == MU_ATOMIC_ADD &&
		   PAMI_ATOMIC_OR >> 2 == MU_ATOMIC_OR && PAMI_ATOMIC_AND >> 2 == MU_ATOMIC_AND &&
		   PAMI_ATOMIC_XOR >> 2 == MU_ATOMIC_XOR,
	       "operations of PAMI and of the MU have the same numbers");

/* The target's MU has carried it out. */
static void on_mu_done(struct mu_op *op, int result)
{
	struct pami_request *r = (struct pami_request *)op; /* op is its first member */

	if (!result && r->user)
		memcpy(r->user, &op->state[1], r->bytes); /* low bytes first */
	pami_request_on_local_done(op, result);
}
_Static_assert(offsetof(struct pami_request, op) == 0, "a request begins with its operation");

/* The same for an operation that is counted. A failure is its function's. */
static void on_mu_counted(struct mu_op *op, int result)
{
	struct pami_request *r = (struct pami_request *)op;
	uint64_t *count = r->count;

	if (result) {
		pami_request_on_local_done(op, result);
		return;
	}
	r->local_fn = NULL; /* So this charges no completion. */
	on_mu_done(op, 0);
	atomic_store_release(count, atomic_load_relaxed(count) + 1);
}

/* Read an operand of 4 or 8 bytes. Compiles without a call of memcpy(). */
static inline uint64_t read_operand(const void *from, unsigned bytes)
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

/* The operation is complete. Call fn in the next progress call. */
static inline pami_result_t note_completion(struct pami_context *ctx, pami_event_function fn,
					    void *cookie)
{
	if (!fn)
		return PAMI_SUCCESS;
	if (PAMI_UNLIKELY(ctx->completion.notes_end - ctx->completion.notes_first ==
			  PAMI_COMPLETION_NOTES))
		return pami_event_defer(ctx, fn, NULL, cookie, 0);
	ctx->completion.note[ctx->completion.notes_end++ % PAMI_COMPLETION_NOTES] =
	    (struct pami_completion_note){fn, cookie};
	ctx->todo |= PAMI_TODO_NOTES;
	return PAMI_SUCCESS;
}

int pami_rmw_is_by_mu(pami_atomic_t operation, pami_type_t type, uint64_t value)
{
	struct pami_wire_rmw_request q = {
	    .operation = (uint8_t)operation, .bytes = (uint8_t)operand_bytes(type), .value = value};
	struct mu_atomic atomic = atomic_of(&q);

	return q.bytes && is_known_operation((unsigned)operation) && mu_has_atomic(&atomic);
}

/* The word is no arena memory of this host: the target's MU carries the operation out, or its
 * software. count: as in start_rmw(). */
static __attribute__((noinline)) pami_result_t rmw_start(struct pami_context *ctx,
							 const pami_rmw_t *p,
							 const struct mu_atomic *atomic,
							 uint64_t *count)
{
	bool is_by_mu = !(atomic->address & (atomic->bytes - 1u)) && mu_has_atomic(atomic);
	struct pami_request *r;
	int rc;

	if (count && !is_by_mu)
		return pami_fail_in("EXT_quintorus_atomics count", PAMI_INVAL,
				    "the messaging units do not have this operation");
	r = pami_request_new(ctx);
	if (!r)
		return pami_result_in("PAMI_Rmw", -ENOMEM);
	r->local_fn = p->done_fn;
	r->cookie = p->cookie;
	r->user = atomic->fetch ? p->local : NULL;
	r->bytes = atomic->bytes;
	r->awaited |= PAMI_REQUEST_LOCAL;
	if (is_by_mu) {
		r->count = count;
		r->op.done = count ? on_mu_counted : on_mu_done;
		rc = pami_queue_atomic(ctx, p->dest, atomic, &r->op);
	} else {
		struct pami_wire wire = {
		    .kind = PAMI_WIRE_RMW, .origin = ctx->offset, .token = r->token};
		struct pami_wire_rmw_request request = {.address = atomic->address,
							.value = atomic->value,
							.test = atomic->test,
							.bytes = atomic->bytes,
							.operation = (uint8_t)p->operation};

		r->answer = rmw_answered;
		r->task = pami_endpoint_task(p->dest);
		rc = pami_queue_short(ctx, p->dest, &wire, &request, sizeof request, NULL, 0);
	}
	if (rc)
		pami_request_free(r);
	if (PAMI_UNLIKELY(ctx->queue.bytes > pami_limits.queue_max))
		pami_queue_throttle(ctx);
	return pami_result_in("PAMI_Rmw", rc);
}

/* count: NULL, or where a complete operation counts instead of its function. */
static inline __attribute__((always_inline)) pami_result_t start_rmw(pami_context_t context,
								     pami_rmw_t *p, uint64_t *count)
{
	const char *call = count ? "EXT_quintorus_atomics count" : "PAMI_Rmw";
	struct pami_context *ctx = pami_context_of(context);
	struct mu_atomic atomic;
	pami_result_t result;
	unsigned operation;
	uint64_t old;
	void *at;

	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid_in(call, context);
	if (PAMI_UNLIKELY(!pami_endpoint_is_valid(ctx, p->dest)))
		return pami_fail_in(call, PAMI_INVAL, pami_endpoint_problem(ctx, p->dest));
	if (pami_is_traced(ctx) && !count)
		return pami_trace_rmw(ctx, p);
	operation = (unsigned)p->operation;
	atomic.bytes = (uint8_t)operand_bytes(p->type);
	if (PAMI_UNLIKELY(!atomic.bytes || !is_known_operation(operation)))
		return pami_fail_in(call, PAMI_INVAL,
				    "no such atomic operation, or not on this type");
	if (PAMI_UNLIKELY((operation != PAMI_ATOMIC_FETCH && pami_is_no_address(p->value)) ||
			  ((operation & PAMI_ATOMIC_COMPARE) && pami_is_no_address(p->test)) ||
			  ((operation & PAMI_ATOMIC_FETCH) && pami_is_no_address(p->local))))
		return pami_fail_in(call, PAMI_INVAL,
				    "no value, no value to compare with, or no place for "
				    "the old value");
	mu_charge(MU_COST_rmw, 1);
	atomic.op = mu_operation_of(operation);
	atomic.fetch = operation & PAMI_ATOMIC_FETCH;
	atomic.address = (uint64_t)(uintptr_t)p->remote;
	atomic.value = operation == PAMI_ATOMIC_FETCH ? 0 : read_operand(p->value, atomic.bytes);
	atomic.test = operation & PAMI_ATOMIC_COMPARE ? read_operand(p->test, atomic.bytes) : 0;
	at = atomic.address & (atomic.bytes - 1u)
		 ? NULL
		 : mu_arena_address_cached(&ctx->rmw_window, pami_endpoint_task(p->dest),
					   atomic.address, atomic.bytes);
	if (!at)
		return rmw_start(ctx, p, &atomic, count);
	result = count ? PAMI_SUCCESS : note_completion(ctx, p->done_fn, p->cookie);
	if (PAMI_UNLIKELY(result))
		return result; /* nothing is changed */
	old = mu_atomic_apply(&atomic, at);
	if (atomic.fetch)
		operand_store(p->local, old, atomic.bytes);
	if (count)
		atomic_store_release(count, atomic_load_relaxed(count) + 1);
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Rmw(pami_context_t context, pami_rmw_t *p)
{
	return start_rmw(context, p, NULL);
}

pami_result_t pami_rmw_count(pami_context_t context, pami_rmw_t *p, uint64_t *count)
{
	if (!count)
		return pami_fail_in("EXT_quintorus_atomics count", PAMI_INVAL,
				    "no address of a count");
	return start_rmw(context, p, count);
}

static uint64_t execute_rmw(const struct pami_wire_rmw_request *q)
{
	struct mu_atomic atomic = atomic_of(q);

	return mu_atomic_apply(&atomic, (void *)(uintptr_t)q->address);
}

void pami_rmw_receive(struct pami_context *ctx, pami_endpoint_t origin,
		      const struct pami_wire *wire, const unsigned char *payload, uint32_t bytes)
{
	struct pami_wire_rmw_request q;
	struct pami_wire_rmw_answer answer = {0};
	int result = 0;

	if (bytes < sizeof q) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin),
				    "its atomic operation is cut short");
		return;
	}
	memcpy(&q, payload, sizeof q);
	mu_charge(MU_COST_rmw, 1);
	if ((q.bytes != 4 && q.bytes != 8) || !is_known_operation(q.operation) ||
	    q.address % q.bytes)
		result = -EINVAL;
	else if (mu_check_memory(q.address, q.bytes, 1))
		result = -EFAULT;
	else
		answer.old = execute_rmw(&q);
	if (q.operation & PAMI_ATOMIC_FETCH)
		pami_answer_send(ctx, origin, wire->token, result, &answer, sizeof answer);
	else
		pami_answer_send(ctx, origin, wire->token, result, NULL, 0);
}
