/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PAMI_Send and whatever the hot path of send.c leaves over. Which protocol carries a message is
 * decided in pami_send_message() alone, by header + data bytes against pami_limits (and the id's use_rdma):
 *
 *   one packet      SHORT: copied by the messaging unit; complete here at once
 *   <= eager_max    EAGER: envelope, header and data in one message, copied up to stage_max; above
 *                   it the data goes from where it lies. Larger where the target shares memory with us
 *   more            RTS: the receiver fetches the data by RDMA read and answers DONE
 */
#include <stdlib.h>
#include <string.h>

#include "pami/state.h"

#define NEAR_WINDOW (1u << 20)

static PAMI_COLD int refuse(pami_result_t *result, pami_result_t why, const char *text)
{
	*result = pami_fail(why, text);
	return 1;
}

int pami_send_refused(struct pami_context *ctx, size_t dispatch, pami_endpoint_t dest,
                      pami_result_t *result)
{
	if (dispatch > PAMI_DISPATCH_ID_MAX)
		return refuse(result, PAMI_INVAL, "dispatch id above 1023");
	if (!ctx->dispatch[dispatch].send)
		return refuse(result, PAMI_INVAL, "dispatch id not set on this context");
	if (!pami_endpoint_ok(ctx, dest))
		return refuse(result, PAMI_INVAL, "no such endpoint");
	if ((ctx->dispatch[dispatch].send & PAMI_DISPATCH_SHMEM) &&
	    !mu_task_same_node(pami_endpoint_task(dest)))
		return refuse(result, PAMI_INVAL, "use_shmem is set and the task is on another node");
	return 0;
}

static struct pami_wire short_wire(const struct pami_context *ctx, const pami_send_immediate_t *s,
                                   uint32_t token)
{
	return (struct pami_wire){ .kind = PAMI_WIRE_SHORT, .origin = ctx->offset,
		                   .dispatch = (uint16_t)s->dispatch, .header = (uint16_t)s->header.iov_len,
		                   .data = (uint32_t)s->data.iov_len, .token = token };
}

static int aligned_fits(const pami_send_immediate_t *s)
{
	return ((s->header.iov_len + 7) & ~(size_t)7) + s->data.iov_len <= MU_PACKET_BYTES;
}

static size_t pack(void *to, const pami_send_immediate_t *s)
{
	if (s->header.iov_len)
		memcpy(to, s->header.iov_base, s->header.iov_len);
	if (s->data.iov_len)
		memcpy((char *)to + s->header.iov_len, s->data.iov_base, s->data.iov_len);
	return s->header.iov_len + s->data.iov_len;
}

/* One packet, queued if it must be. */
static int send_short(struct pami_context *ctx, const pami_send_immediate_t *s, uint32_t token)
{
	struct pami_wire wire = short_wire(ctx, s, token);
	unsigned char packed[MU_PACKET_BYTES];

	if (aligned_fits(s))
		return pami_queue_short(ctx, s->dest, &wire, s->header.iov_base, (uint32_t)s->header.iov_len,
		                        s->data.iov_base, (uint32_t)s->data.iov_len);
	wire.kind = PAMI_WIRE_SHORT_PACKED;
	return pami_queue_short(ctx, s->dest, &wire, packed, (uint32_t)pack(packed, s), NULL, 0);
}

int pami_send_try(struct pami_context *ctx, const pami_send_immediate_t *s)
{
	struct pami_wire wire = short_wire(ctx, s, 0);
	uint32_t task = pami_endpoint_task(s->dest), channel = pami_endpoint_channel(ctx, s->dest);
	unsigned char packed[MU_PACKET_BYTES];

	mu_charge(MU_COST_send_immediate, 1);
	if (s->header.iov_len + s->data.iov_len > MU_PACKET_BYTES)
		return pami_send_message(ctx, &(pami_send_t){ .send = *s });
	if (aligned_fits(s))
		return mu_send_short(ctx->channel, task, channel, &wire, s->header.iov_base,
		                     (uint32_t)s->header.iov_len, s->data.iov_base,
		                     (uint32_t)s->data.iov_len);
	wire.kind = PAMI_WIRE_SHORT_PACKED;
	return mu_send_short(ctx->channel, task, channel, &wire, packed, (uint32_t)pack(packed, s), NULL, 0);
}

static struct pami_request *new_request(struct pami_context *ctx, const pami_send_t *p)
{
	struct pami_request *r = pami_request_new(ctx);

	if (r) {
		r->local_fn = p->events.local_fn;
		r->remote_fn = p->events.remote_fn;
		r->cookie = p->events.cookie;
		r->answer = pami_request_answered;
		r->task = pami_endpoint_task(p->send.dest);
		r->op.done = pami_request_local_done;
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
		pami_request_defer(r, pami_request_local, 0);
	return rc;
}

/* `before` (bytes of fixed part), header and perhaps data in one buffer of the request, sent whole. */
static int send_staged(struct pami_context *ctx, const pami_send_immediate_t *s, struct pami_wire *wire,
                       const void *before, size_t before_bytes, int with_data, struct pami_request *r)
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
	bytes = before_bytes + pack(buffer + before_bytes, &part);
	mu_charge(MU_COST_copy_byte, bytes);
	r->buffer = buffer;
	return pami_queue_send(ctx, s->dest, wire, buffer, bytes, &r->op);
}

static void staged_head_done(struct mu_op *op, int result)
{
	pami_request_free(PAMI_CONTAINER(op, struct pami_request, op));
}

/* Fixed part and header without data: one packet where it fits, else staged in a request of its own. */
static int send_head(struct pami_context *ctx, const pami_send_immediate_t *s, struct pami_wire *wire,
                     const void *before, uint32_t before_bytes)
{
	struct pami_request *r;
	int rc;

	if (before_bytes + s->header.iov_len <= MU_PACKET_BYTES)
		return pami_queue_short(ctx, s->dest, wire, before, before_bytes, s->header.iov_base,
		                        (uint32_t)s->header.iov_len);
	r = pami_request_new(ctx);
	if (!r)
		return -ENOMEM;
	r->op.done = staged_head_done;
	rc = send_staged(ctx, s, wire, before, before_bytes, 0, r);
	if (rc)
		pami_request_free(r);
	return rc;
}

static int message_eager(struct pami_context *ctx, const pami_send_t *p, size_t total)
{
	const pami_send_immediate_t *s = &p->send;
	struct pami_wire_envelope envelope = { s->header.iov_len, s->data.iov_len };
	struct pami_wire wire = { .kind = PAMI_WIRE_EAGER, .origin = ctx->offset,
		                  .dispatch = (uint16_t)s->dispatch };
	struct pami_request *r = new_request(ctx, p);
	size_t stage = mu_task_near(pami_endpoint_task(s->dest)) ? pami_limits.near_stage_max : pami_limits.stage_max;
	int rc;

	if (!r)
		return -ENOMEM;
	mu_charge(MU_COST_send_immediate, 1);
	wire.token = p->events.remote_fn ? r->token : 0;
	if (total <= stage || !s->data.iov_len) {
		rc = send_staged(ctx, s, &wire, &envelope, sizeof envelope, 1, r);
	} else if (!(rc = pami_queue_reserve(ctx))) { /* where the head has gone, its data must follow */
		wire.kind = PAMI_WIRE_EAGER_HEAD;
		rc = send_head(ctx, s, &wire, &envelope, sizeof envelope);
		wire.kind = PAMI_WIRE_EAGER_DATA;
		if (!rc)
			rc = pami_queue_send(ctx, s->dest, &wire, s->data.iov_base, s->data.iov_len, &r->op);
	}
	if (rc)
		pami_request_free(r);
	return rc;
}

/* A near task has looked at all that had been sent when the request was made. */
static void near_seen(const struct pami_request *r)
{
	struct pami_near *n = r->context->near_sent ? &r->context->near_sent[r->task] : NULL;

	if (n && (int32_t)(r->bytes - n->seen) > 0)
		n->seen = r->bytes;
}

static void near_answered(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	near_seen(r);
	pami_request_free(r);
}

/* Ask a near task to tell when it has looked at all that was sent. Without memory it is not asked now. */
static void near_ask(struct pami_context *ctx, pami_endpoint_t dest, struct pami_near *n)
{
	struct pami_wire wire = { .kind = PAMI_WIRE_FENCE, .origin = ctx->offset };
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
static void rendezvous_answered(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	near_seen(r);
	pami_request_both(r, result);
}

static int message_rendezvous(struct pami_context *ctx, const pami_send_t *p)
{
	const pami_send_immediate_t *s = &p->send;
	struct pami_wire_rts rts = { .envelope = { s->header.iov_len, s->data.iov_len },
		                     .address = (uint64_t)(uintptr_t)s->data.iov_base };
	struct pami_wire wire = { .kind = PAMI_WIRE_RTS, .origin = ctx->offset,
		                  .dispatch = (uint16_t)s->dispatch };
	struct pami_request *r = new_request(ctx, p);
	int rc;

	if (!r)
		return -ENOMEM;
	mu_charge(MU_COST_send_immediate, 1);
	r->answer = rendezvous_answered;
	if (ctx->near_sent)
		r->bytes = ctx->near_sent[r->task].sent;
	if (ctx->slow & PAMI_SLOW_FENCE)
		r->fence = pami_fence_note(ctx, s->dest);
	wire.token = r->token;
	rc = send_head(ctx, s, &wire, &rts, sizeof rts);
	if (rc)
		pami_request_free(r);
	return rc;
}

/*
 * May so many bytes more wait at a near task? What is fetched waits at its origin, what is eager where it goes: past
 * this, one message is fetched, and its answer says that the target has looked at all before it. Halfway there it is
 * asked, so that one that keeps up never comes to that.
 */
static int near_takes(struct pami_context *ctx, pami_endpoint_t dest, size_t bytes)
{
	struct pami_near *n;

	if (!ctx->near_sent)
		ctx->near_sent = calloc(ctx->tasks, sizeof *ctx->near_sent);
	if (!ctx->near_sent)
		return 0;
	n = &ctx->near_sent[pami_endpoint_task(dest)];
	if (n->sent - n->asked >= NEAR_WINDOW / 2)
		near_ask(ctx, dest, n);
	if (n->sent - n->seen + bytes > NEAR_WINDOW)
		return 0;
	n->sent += (uint32_t)bytes;
	return 1;
}

/*
 * Does the target fetch this message of more than a packet? Two copies through a ring, one by each side, are
 * faster than one by the kernel; memory of the arena is copied once, directly.
 */
static int is_fetched(struct pami_context *ctx, const pami_send_t *p, size_t total)
{
	unsigned rdma = ctx->dispatch[p->send.dispatch].rdma;
	int near;

	if (total <= pami_limits.immediate_max) /* as it is received */
		return 0;
	if (rdma == PAMI_HINT_ENABLE || rdma == PAMI_HINT_DISABLE)
		return rdma == PAMI_HINT_ENABLE;
	/* A member may be many operations behind its team: what is long and early stays at its origin. */
	near = p->send.dispatch != PAMI_DISPATCH_COLL && mu_task_near(pami_endpoint_task(p->send.dest));
	if (total > (near ? pami_limits.near_eager_max : pami_limits.eager_max))
		return 1;
	if (total <= pami_limits.eager_max)
		return 0;
	return mu_arena_has(p->send.data.iov_base, p->send.data.iov_len) ||
	       !near_takes(ctx, p->send.dest, total);
}

int pami_send_message(struct pami_context *ctx, const pami_send_t *p)
{
	size_t total = p->send.header.iov_len + p->send.data.iov_len;

	if (PAMI_UNLIKELY(total < p->send.data.iov_len))
		return -EINVAL;
	if (PAMI_UNLIKELY(ctx->slow & PAMI_SLOW_FENCE))
		pami_fence_touch(ctx, p->send.dest);
	if (total <= MU_PACKET_BYTES)
		return message_short(ctx, p);
	if (p->events.local_fn || p->events.remote_fn)
		mu_charge(MU_COST_send, 1);
	return is_fetched(ctx, p, total) ? message_rendezvous(ctx, p) : message_eager(ctx, p, total);
}

PAMI_EXPORT pami_result_t PAMI_Send(pami_context_t context, pami_send_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	pami_result_t result;
	int rc;

	if (PAMI_UNLIKELY(p->send.dispatch > PAMI_DISPATCH_ID_MAX ||
	                  ctx->dispatch[p->send.dispatch].send != PAMI_DISPATCH_READY ||
	                  !pami_endpoint_ok(ctx, p->send.dest)) &&
	    pami_send_refused(ctx, p->send.dispatch, p->send.dest, &result))
		return result;
	rc = pami_send_message(ctx, p);
	if (PAMI_UNLIKELY(ctx->queue_bytes > pami_limits.queue_max))
		pami_queue_throttle(ctx);
	return pami_result(rc);
}

int pami_send_answer(struct pami_context *ctx, pami_endpoint_t dest, uint32_t token, int result, const void *payload,
                     uint32_t bytes)
{
	struct pami_wire wire = { .kind = PAMI_WIRE_DONE, .origin = ctx->offset,
		                  .dispatch = (uint16_t)-result, .token = token };

	return pami_queue_short(ctx, dest, &wire, payload, bytes, NULL, 0);
}

void pami_send_done(struct pami_context *ctx, pami_endpoint_t dest, uint32_t token, int result,
                    const void *payload, uint32_t bytes)
{
	int rc = pami_send_answer(ctx, dest, token, result, payload, bytes);
	struct pami_answer *a = &ctx->answer[ctx->answers];

	if (PAMI_LIKELY(!rc))
		return;
	if (rc != -ENOMEM || ctx->answers == PAMI_ANSWERS_MAX || bytes > sizeof a->payload) {
		pami_receive_refuse(ctx, pami_endpoint_task(dest), "an answer could not be sent");
		return;
	}
	*a = (struct pami_answer){ .dest = dest, .token = token, .result = result, .bytes = bytes };
	if (bytes)
		memcpy(&a->payload, payload, bytes);
	ctx->answers++;
	ctx->todo |= PAMI_TODO_ANSWER;
}

int pami_send_answers(struct pami_context *ctx)
{
	pami_queue_drain(ctx);
	for (; ctx->answers; ctx->answers--) {
		const struct pami_answer *a = &ctx->answer[ctx->answers - 1];

		if (pami_send_answer(ctx, a->dest, a->token, a->result, &a->payload, a->bytes) == -ENOMEM)
			return -EAGAIN;
	}
	if (pami_inbound_answer(ctx))
		return -EAGAIN;
	ctx->todo &= ~(unsigned)PAMI_TODO_ANSWER;
	return 0;
}
