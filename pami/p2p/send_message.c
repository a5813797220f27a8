/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PAMI_Send, and immediate sends that the hot path of p2p/send.c does not handle. Only
 * pami_send_message() chooses the protocol, by header + data bytes, pami_limits and the id's hint
 * use_rdma:
 *
 *   one packet     SHORT   the messaging unit copies it; it is complete here at once
 *   <= eager_max   EAGER   envelope, header and data are one message, copied up to stage_max bytes;
 *                          longer data is sent from the user's buffer. The limits are other ones
 *                          for a target that shares memory with us. Of a framed message nothing
 *                          is copied: its header and data lie together, behind room for the
 *                          envelope.
 *   more           RTS     the receiver fetches the data by RDMA read and answers DONE
 */
#include <stdlib.h>
#include <string.h>

#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/core/macros.h"
#include "pami/p2p/fence.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/request.h"
#include "pami/p2p/send.h"
#include "pami/p2p/trace.h"
#include "pami/p2p/wire.h"

/* Eager bytes beyond eager_max that may be on their way to one near task. */
#define NEAR_WINDOW (1u << 20)

/* Bytes of long eager messages to one near task. All three only grow, and wrap. */
struct pami_near_flow {
	uint32_t sent;
	uint32_t asked; /* `sent` when we last asked the task how far it is */
	uint32_t seen;  /* bytes that the task has received */
};

PAMI_COLD bool pami_send_is_refused(const char *call, struct pami_context *ctx, size_t dispatch,
				    pami_endpoint_t dest, pami_result_t *result)
{
	const char *why = NULL;

	if (dispatch > PAMI_DISPATCH_ID_MAX)
		why = "dispatch id above 1023";
	else if (!ctx->dispatch[dispatch].send)
		why = "dispatch id not set on this context";
	else if (!pami_endpoint_is_valid(ctx, dest))
		why = pami_endpoint_problem(ctx, dest);
	else if ((ctx->dispatch[dispatch].send & PAMI_DISPATCH_SHMEM) &&
		 !mu_task_is_on_own_node(pami_endpoint_task(dest)))
		why = "use_shmem is set and the task is on another node";
	if (why)
		*result = pami_fail_in(call, PAMI_INVAL, why);
	return why != NULL;
}

static struct pami_wire short_wire(const struct pami_context *ctx, const pami_send_immediate_t *s,
				   uint32_t token)
{
	return (struct pami_wire){.kind = PAMI_WIRE_SHORT,
				  .origin = ctx->offset,
				  .dispatch = (uint16_t)s->dispatch,
				  .header = (uint16_t)s->header.iov_len,
				  .data = (uint32_t)s->data.iov_len,
				  .token = token};
}

/* Does the message fit one packet with its data at a multiple of 8? */
static bool fits_aligned(const pami_send_immediate_t *s)
{
	return ((s->header.iov_len + 7) & ~(size_t)7) + s->data.iov_len <= MU_PACKET_BYTES;
}

/* Copy header and data to `to`, without a gap. Returns how many bytes. */
static size_t pack_parts(void *to, const pami_send_immediate_t *s)
{
	if (s->header.iov_len)
		memcpy(to, s->header.iov_base, s->header.iov_len);
	if (s->data.iov_len)
		memcpy((char *)to + s->header.iov_len, s->data.iov_base, s->data.iov_len);
	return s->header.iov_len + s->data.iov_len;
}

/* Send one packet, or queue it. */
static int send_short(struct pami_context *ctx, const pami_send_immediate_t *s, uint32_t token)
{
	struct pami_wire wire = short_wire(ctx, s, token);
	unsigned char packed[MU_PACKET_BYTES];

	if (fits_aligned(s))
		return pami_queue_short(ctx, s->dest, &wire, s->header.iov_base,
					(uint32_t)s->header.iov_len, s->data.iov_base,
					(uint32_t)s->data.iov_len);
	wire.kind = PAMI_WIRE_SHORT_PACKED;
	return pami_queue_short(ctx, s->dest, &wire, packed, (uint32_t)pack_parts(packed, s), NULL,
				0);
}

int pami_send_try(struct pami_context *ctx, const pami_send_immediate_t *s)
{
	struct pami_wire wire = short_wire(ctx, s, 0);
	uint32_t task = pami_endpoint_task(s->dest), channel = pami_endpoint_channel(ctx, s->dest);
	unsigned char packed[MU_PACKET_BYTES];

	mu_charge(MU_COST_send_immediate, 1);
	if (s->header.iov_len + s->data.iov_len > MU_PACKET_BYTES)
		return pami_send_message(ctx, &(pami_send_t){.send = *s});
	if (fits_aligned(s))
		return mu_send_short(ctx->channel, task, channel, &wire, s->header.iov_base,
				     (uint32_t)s->header.iov_len, s->data.iov_base,
				     (uint32_t)s->data.iov_len);
	wire.kind = PAMI_WIRE_SHORT_PACKED;
	return mu_send_short(ctx->channel, task, channel, &wire, packed,
			     (uint32_t)pack_parts(packed, s), NULL, 0);
}

static struct pami_request *new_request(struct pami_context *ctx, const pami_send_t *p)
{
	struct pami_request *r = pami_request_new(ctx);

	if (r) {
		r->local_fn = p->events.local_fn;
		r->remote_fn = p->events.remote_fn;
		r->cookie = p->events.cookie;
		r->answer = pami_request_on_answer;
		r->task = pami_endpoint_task(p->send.dest);
		r->op.done = pami_request_on_local_done;
		r->awaited |= PAMI_REQUEST_LOCAL | (p->events.remote_fn ? PAMI_REQUEST_REMOTE : 0);
	}
	return r;
}

static int message_short(struct pami_context *ctx, const pami_send_t *p)
{
	struct pami_request *r = NULL;
	int rc;

	if (p->events.local_fn || p->events.remote_fn) {
		mu_charge(MU_COST_send, 1);
		r = new_request(ctx, p);
		if (!r)
			return -ENOMEM;
	}
	mu_charge(MU_COST_send_immediate, 1);
	rc = send_short(ctx, &p->send, r && p->events.remote_fn ? r->token : 0);
	if (rc && r)
		pami_request_free(r);
	else if (r)
		pami_request_defer(r, pami_request_complete_local, 0);
	return rc;
}

/* Copy the fixed part `before`, the header and (with_data) the data to a buffer of the request, and
 * send it. */
static int send_staged(struct pami_context *ctx, const pami_send_immediate_t *s,
		       struct pami_wire *wire, const void *before, size_t before_bytes,
		       bool with_data, struct pami_request *r)
{
	pami_send_immediate_t part = *s;
	unsigned char *buffer;
	size_t bytes;

	if (!with_data)
		part.data.iov_len = 0;
	buffer = malloc(before_bytes + part.header.iov_len + part.data.iov_len);
	if (!buffer)
		return -ENOMEM;
	memcpy(buffer, before, before_bytes);
	bytes = before_bytes + pack_parts(buffer + before_bytes, &part);
	mu_charge(MU_COST_copy_byte, bytes);
	r->buffer = buffer;
	return pami_queue_send(ctx, s->dest, wire, buffer, bytes, &r->op);
}

static void staged_head_done(struct mu_op *op, int result)
{
	pami_request_free(PAMI_CONTAINER(op, struct pami_request, op));
}

/* Send the fixed part and the header: as one packet if they fit, else staged in a request of their
 * own. */
static int send_head(struct pami_context *ctx, const pami_send_immediate_t *s,
		     struct pami_wire *wire, const void *before, uint32_t before_bytes)
{
	struct pami_request *r;
	int rc;

	if (before_bytes + s->header.iov_len <= MU_PACKET_BYTES)
		return pami_queue_short(ctx, s->dest, wire, before, before_bytes,
					s->header.iov_base, (uint32_t)s->header.iov_len);
	r = pami_request_new(ctx);
	if (!r)
		return -ENOMEM;
	r->op.done = staged_head_done;
	rc = send_staged(ctx, s, wire, before, before_bytes, false, r);
	if (rc)
		pami_request_free(r);
	return rc;
}

static int message_eager(struct pami_context *ctx, const pami_send_t *p, size_t total,
			 bool is_framed)
{
	const pami_send_immediate_t *s = &p->send;
	struct pami_wire_envelope envelope = {s->header.iov_len, s->data.iov_len};
	struct pami_wire wire = {
	    .kind = PAMI_WIRE_EAGER, .origin = ctx->offset, .dispatch = (uint16_t)s->dispatch};
	struct pami_request *r = new_request(ctx, p);
	size_t stage = mu_task_is_near(pami_endpoint_task(s->dest)) ? pami_limits.near_stage_max
								    : pami_limits.stage_max;
	int rc;

	if (!r)
		return -ENOMEM;
	mu_charge(MU_COST_send_immediate, 1);
	wire.token = p->events.remote_fn ? r->token : 0;
	if (is_framed) {
		char *first = (char *)s->header.iov_base - sizeof envelope;

		memcpy(first, &envelope, sizeof envelope);
		rc = pami_queue_send(ctx, s->dest, &wire, first, sizeof envelope + total, &r->op);
	} else if (total <= stage || !s->data.iov_len) {
		rc = send_staged(ctx, s, &wire, &envelope, sizeof envelope, true, r);
		/* The data must follow the head without fail, so reserve its place first. */
	} else if (!(rc = pami_queue_reserve(ctx))) {
		wire.kind = PAMI_WIRE_EAGER_HEAD;
		rc = send_head(ctx, s, &wire, &envelope, sizeof envelope);
		wire.kind = PAMI_WIRE_EAGER_DATA;
		if (!rc)
			rc = pami_queue_send(ctx, s->dest, &wire, s->data.iov_base, s->data.iov_len,
					     &r->op);
	}
	if (rc)
		pami_request_free(r);
	return rc;
}

/* The answer says that the near task has received all that was sent before the request. */
static void near_update_seen(const struct pami_request *r)
{
	struct pami_near_flow *n = r->context->near_flow ? &r->context->near_flow[r->task] : NULL;

	if (n && (int32_t)(r->bytes - n->seen) > 0)
		n->seen = r->bytes;
}

static void near_answered(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	near_update_seen(r);
	pami_request_free(r);
}

/* Ask a near task to answer when it has received all that was sent so far. Without memory, a later
 * send asks. */
static void near_ask(struct pami_context *ctx, pami_endpoint_t dest, struct pami_near_flow *n)
{
	struct pami_wire wire = {.kind = PAMI_WIRE_FENCE, .origin = ctx->offset};
	struct pami_request *r = pami_request_new(ctx);

	if (!r)
		return;
	r->answer = near_answered;
	r->task = pami_endpoint_task(dest);
	r->bytes = n->sent;
	wire.token = r->token;
	if (pami_queue_short(ctx, dest, &wire, NULL, 0, NULL, 0))
		pami_request_free(r);
	else
		n->asked = n->sent;
}

/* The target has fetched the data (or failed to): both halves are complete. */
static void rendezvous_answered(struct pami_request *r, int result, const void *payload,
				uint32_t bytes)
{
	near_update_seen(r);
	pami_request_complete_both(r, result);
}

static int message_rendezvous(struct pami_context *ctx, const pami_send_t *p)
{
	const pami_send_immediate_t *s = &p->send;
	struct pami_wire_rts rts = {.envelope = {s->header.iov_len, s->data.iov_len},
				    .address = (uint64_t)(uintptr_t)s->data.iov_base};
	struct pami_wire wire = {
	    .kind = PAMI_WIRE_RTS, .origin = ctx->offset, .dispatch = (uint16_t)s->dispatch};
	struct pami_request *r = new_request(ctx, p);
	int rc;

	if (!r)
		return -ENOMEM;
	mu_charge(MU_COST_send_immediate, 1);
	r->answer = rendezvous_answered;
	if (ctx->near_flow)
		r->bytes = ctx->near_flow[r->task].sent;
	if (ctx->slow & PAMI_SLOW_FENCE)
		r->fence = pami_fence_add_operation(ctx, s->dest);
	wire.token = r->token;
	rc = send_head(ctx, s, &wire, &rts, sizeof rts);
	if (rc)
		pami_request_free(r);
	return rc;
}

/*
 * Is there room in the window of a near task for an eager message of so many bytes? If so, count
 * them. If not, the message goes by rendezvous, so its data waits here, and its answer says that
 * the target has received everything before it. At half the window the target is asked how far it
 * is, so a target that keeps up never closes the window.
 */
static bool near_has_room(struct pami_context *ctx, pami_endpoint_t dest, size_t bytes)
{
	struct pami_near_flow *n;

	if (!ctx->near_flow)
		ctx->near_flow = calloc(ctx->tasks, sizeof *ctx->near_flow);
	if (!ctx->near_flow)
		return false;
	n = &ctx->near_flow[pami_endpoint_task(dest)];
	if (n->sent - n->asked >= NEAR_WINDOW / 2)
		near_ask(ctx, dest, n);
	if (n->sent - n->seen + bytes > NEAR_WINDOW)
		return false;
	n->sent += (uint32_t)bytes;
	return true;
}

/*
 * Does this message of more than one packet go by rendezvous? On one host two copies through a
 * ring, one by each side, are faster than one copy by the kernel. Arena memory needs a single
 * direct copy, so the target fetches it.
 */
static bool needs_rendezvous(struct pami_context *ctx, const pami_send_t *p, size_t total)
{
	unsigned rdma = ctx->dispatch[p->send.dispatch].rdma;
	bool near;

	if (total <= pami_limits.immediate_max) /* the receiver dispatches it at once */
		return false;
	if (rdma == PAMI_HINT_ENABLE || rdma == PAMI_HINT_DISABLE)
		return rdma == PAMI_HINT_ENABLE;
	/* A member may be many operations behind the others of its geometry, so the long data of
	 * collectives waits at its origin. */
	near = p->send.dispatch != PAMI_DISPATCH_COLL &&
	       mu_task_is_near(pami_endpoint_task(p->send.dest));
	if (total > (near ? pami_limits.near_eager_max : pami_limits.eager_max))
		return true;
	if (total <= pami_limits.eager_max)
		return false;
	return mu_is_arena_memory(p->send.data.iov_base, p->send.data.iov_len) ||
	       !near_has_room(ctx, p->send.dest, total);
}

/* Is the memory mapped? A copy from memory that is not would raise SIGSEGV here or in the engine.
 */
static bool is_mapped(struct pami_context *ctx, const struct iovec *v)
{
	return !v->iov_len ||
	       mu_is_buffer_mapped(ctx->channel, (uint64_t)(uintptr_t)v->iov_base, v->iov_len, 0);
}

/* A fence counts the message, or the job is traced. Returns true if the message was sent, with the
 * result in *rc. */
static PAMI_COLD __attribute__((noinline)) bool send_slow(struct pami_context *ctx,
							  const pami_send_t *p, int *rc)
{
	if (pami_is_traced(ctx)) {
		*rc = pami_trace_send_message(ctx, p);
		return true;
	}
	pami_fence_add_message(ctx, p->send.dest);
	return false;
}

static int send_message(struct pami_context *ctx, const pami_send_t *p, bool is_framed)
{
	size_t total = p->send.header.iov_len + p->send.data.iov_len;
	int rc;

	if (PAMI_UNLIKELY(total < p->send.data.iov_len))
		return -EINVAL;
	if (PAMI_UNLIKELY(ctx->slow & (PAMI_SLOW_FENCE | PAMI_SLOW_TRACE)) &&
	    send_slow(ctx, p, &rc))
		return rc;
	if (total <= MU_PACKET_BYTES)
		return message_short(ctx, p);
	if (p->events.local_fn || p->events.remote_fn)
		mu_charge(MU_COST_send, 1);
	/* Data that goes by rendezvous is checked when it is fetched. */
	if (PAMI_UNLIKELY(!is_mapped(ctx, &p->send.header)))
		return -EFAULT;
	if (needs_rendezvous(ctx, p, total))
		return message_rendezvous(ctx, p);
	return PAMI_LIKELY(is_mapped(ctx, &p->send.data)) ? message_eager(ctx, p, total, is_framed)
							  : -EFAULT;
}

int pami_send_message(struct pami_context *ctx, const pami_send_t *p)
{
	return send_message(ctx, p, false);
}

/* Check the parameters of the public function `call`, and send. */
static inline __attribute__((always_inline)) pami_result_t
check_and_send(const char *call, pami_context_t context, pami_send_t *p, bool is_framed)
{
	struct pami_context *ctx = pami_context_of(context);
	pami_result_t result;
	int rc;

	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid_in(call, context);
	if (PAMI_UNLIKELY(pami_is_no_buffer(&p->send.header) || pami_is_no_buffer(&p->send.data)))
		return pami_fail_in(call, PAMI_INVAL, "the header or the data has no address");
	if (PAMI_UNLIKELY(p->send.dispatch > PAMI_DISPATCH_ID_MAX ||
			  ctx->dispatch[p->send.dispatch].send != PAMI_DISPATCH_READY ||
			  !pami_endpoint_is_valid(ctx, p->send.dest)) &&
	    pami_send_is_refused(call, ctx, p->send.dispatch, p->send.dest, &result))
		return result;
	if (PAMI_UNLIKELY(pami_is_header_too_long(ctx, &p->send)))
		return pami_fail_in(call, PAMI_INVAL, PAMI_HEADER_TOO_LONG);
	rc = send_message(ctx, p, is_framed);
	if (PAMI_UNLIKELY(ctx->queue.bytes > pami_limits.queue_max))
		pami_queue_throttle(ctx);
	return pami_result_in(call, rc);
}

PAMI_EXPORT pami_result_t PAMI_Send(pami_context_t context, pami_send_t *p)
{
	return check_and_send(__func__, context, p, false);
}

pami_result_t pami_send_framed(pami_context_t context, pami_send_t *p)
{
	static const char call[] = "\"framed\" of EXT_quintorus_place";

	if (PAMI_UNLIKELY(p && (char *)p->send.header.iov_base + p->send.header.iov_len !=
				   p->send.data.iov_base))
		return pami_fail_in(call, PAMI_INVAL,
				    "the data does not begin where the header ends");
	return check_and_send(call, context, p, true);
}
