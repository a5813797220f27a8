/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that are not dispatched straight from one packet: those of several pieces, by
 * rendezvous, with an asynchronous receive, or for a dispatch id that is not set yet.
 *
 *   first piece --> collect the header --> dispatch --> store or fetch the data --> finish
 *                    \-> collect everything (immediate receive, or id not set) --> dispatch
 *
 * The pieces of one message arrive in order and before the next message of the same origin, so the
 * origin alone identifies a message in flight.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/base/copy.h"
#include "drivers/base/log.h"
#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/core/macros.h"
#include "pami/p2p/answer.h"
#include "pami/p2p/inbound.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/receive.h"
#include "pami/p2p/trace.h"
#include "pami/p2p/wire.h"
#include "pami/type/type.h"

static struct pami_inbound **find_bucket(struct pami_context *ctx, pami_endpoint_t origin)
{
	return &ctx->inbound.bucket[(origin ^ origin >> 6) % PAMI_INBOUND_BUCKETS];
}

static struct pami_inbound *find_message(struct pami_context *ctx, pami_endpoint_t origin)
{
	struct pami_inbound *in = *find_bucket(ctx, origin);

	while (in && in->origin != origin)
		in = in->next;
	return in;
}

static void unlink_inbound(struct pami_inbound *in)
{
	struct pami_inbound **at = find_bucket(in->context, in->origin);

	while (*at && *at != in)
		at = &(*at)->next;
	if (*at)
		*at = in->next;
	in->next = NULL;
}

static void free_inbound(struct pami_inbound *in)
{
	if (in->dispatched)
		pami_type_release(in->recv.type);
	free(in->header);
	free(in->data_buffer);
	free(in);
}

/* Allocate one buffer for the header and (with_data) the data at the next multiple of 16. */
static int alloc_buffer(struct pami_inbound *in, bool with_data)
{
	uint64_t at = (in->header_bytes + 15) & ~(uint64_t)15,
		 bytes = at + (with_data ? in->data_bytes : 0);

	if (at < in->header_bytes || bytes < at)
		return -ENOMEM;
	in->header = malloc(bytes ? bytes : 1); /* 16-byte aligned */
	if (!in->header)
		return -ENOMEM;
	if (with_data)
		in->data = in->header + at;
	return 0;
}

/* Does the dispatch function get header and data in one call? */
static bool is_immediate(const struct pami_inbound *in)
{
	const struct pami_dispatch *d = &in->context->dispatch[in->dispatch];

	return !d->asynchronous && in->kind != PAMI_WIRE_RTS &&
	       in->header_bytes + in->data_bytes <= pami_limits.immediate_max;
}

static pami_recv_t empty_recv(void)
{
	return (pami_recv_t){.type = PAMI_BYTES, .data_fn = pami_data_copy};
}

/* The hints of PAMI_Dispatch_set are promises that the user leaves members of recv unset. Set those
 * to their defaults. */
static void apply_hints(const struct pami_dispatch *d, pami_recv_t *recv)
{
	if (d->contiguous) {
		recv->type = PAMI_BYTES;
		recv->offset = 0;
	}
	if (d->copy || !recv->data_fn) { /* some programs clear the structure */
		recv->data_fn = pami_data_copy;
		recv->data_cookie = NULL;
	}
	if (!pami_type_is_usable(recv->type))
		recv->type = PAMI_BYTES;
}

/* Can the data be stored by a plain copy? */
static bool is_plain(const pami_recv_t *recv)
{
	return recv->data_fn == pami_data_copy && pami_type_is_contiguous(recv->type);
}

static bool is_stream_complete(const struct pami_inbound *in)
{
	return in->got == in->header_bytes + (in->kind == PAMI_WIRE_RTS ? 0 : in->data_bytes);
}

static int send_answers(struct pami_context *ctx)
{
	struct pami_inbound *in;

	while ((in = ctx->answers.inbound)) {
		if (in->token && !mu_task_is_unreachable(pami_endpoint_task(in->origin)) &&
		    pami_answer_try(ctx, in->origin, in->token, in->answer, NULL, 0) == -ENOMEM)
			return -ENOMEM;
		ctx->answers.inbound = in->next;
		free_inbound(in);
	}
	return 0;
}

/* Answer the origin, now or when there is memory for it, and free the message. */
static void answer_and_free(struct pami_inbound *in, int result)
{
	struct pami_context *ctx = in->context;

	in->answer = result;
	in->next = ctx->answers.inbound;
	ctx->answers.inbound = in;
	if (PAMI_UNLIKELY(send_answers(ctx)))
		ctx->todo |= PAMI_TODO_ANSWERS;
}

/* The message is complete, or failed (result): store buffered data, call the user's function, and
 * answer the origin. */
static void finish_message(struct pami_inbound *in, int result)
{
	struct pami_context *ctx = in->context;

	if (!result && in->error)
		result = in->error;
	if (!result && in->data_bytes && !in->data)
		result = -ENOMEM;
	if (pami_is_traced(ctx) && in->data_bytes)
		pami_trace_finish(ctx, in->origin, in->number, in->data_bytes);
	if (!result && in->data_bytes && !in->direct)
		pami_type_scatter(in->recv.type, in->recv.addr, in->recv.offset, in->data,
				  in->data_bytes, in->recv.data_fn, in->recv.data_cookie);
	if (in->recv.local_fn)
		in->recv.local_fn(ctx, in->recv.cookie,
				  pami_callback_result(in->recv.local_fn, result));
	answer_and_free(in, result);
}

/* A fence whose origin has messages in the held list. */
struct pami_held_fence {
	struct pami_held_fence *next;
	pami_endpoint_t origin;
	uint32_t token;
};

/* Are messages of this origin held? */
static bool has_held(const struct pami_context *ctx, pami_endpoint_t origin)
{
	const struct pami_inbound *in = ctx->held.first;

	while (in && in->origin != origin)
		in = in->next;
	return in != NULL;
}

static int answer_fences(struct pami_context *ctx)
{
	struct pami_held_fence **at = &ctx->held.fences, *f;

	while ((f = *at)) {
		if (has_held(ctx, f->origin)) {
			at = &f->next;
			continue;
		}
		if (!mu_task_is_unreachable(pami_endpoint_task(f->origin)) &&
		    pami_answer_try(ctx, f->origin, f->token, 0, NULL, 0) == -ENOMEM)
			return -ENOMEM;
		*at = f->next;
		free(f);
	}
	return 0;
}

int pami_inbound_send_answers(struct pami_context *ctx)
{
	int rc = send_answers(ctx);

	return rc ? rc : answer_fences(ctx);
}

static void get_done(struct mu_op *op, int result)
{
	finish_message(PAMI_CONTAINER(op, struct pami_inbound, op), result);
}

/* Choose where the data that is still to come goes: straight to the user, or (other layouts,
 * deferred messages) to a buffer. */
static void choose_target(struct pami_inbound *in)
{
	in->direct = !in->deferred && is_plain(&in->recv);
	if (in->direct)
		in->data = (unsigned char *)in->recv.addr + in->recv.offset;
	else if (in->data_bytes)
		in->data = in->data_buffer = malloc(in->data_bytes);
}

/* Rendezvous: get the data from the origin. */
static void fetch_data(struct pami_inbound *in)
{
	int rc = 0;

	if (!in->error)
		choose_target(in);
	in->op.done = get_done;
	if (in->data_bytes && in->data)
		rc = pami_queue_pull(in->context, in->origin, in->data, in->address, in->data_bytes,
				     &in->op);
	if (rc || !in->data_bytes || !in->data)
		finish_message(in, rc);
}

static void dispatch_immediate(struct pami_inbound *in)
{
	struct pami_context *ctx = in->context;
	struct pami_dispatch *d = &ctx->dispatch[in->dispatch];

	ctx->inbound.error = 0;
	d->set_fn(ctx, d->cookie, in->header, in->header_bytes, in->data, in->data_bytes,
		  in->origin, NULL);
	answer_and_free(in, ctx->inbound.error);
}

/* Call the dispatch function for an asynchronous receive. Then in->recv is set, or the message is
 * deferred. */
static void dispatch_receive(struct pami_inbound *in, void *header)
{
	struct pami_context *ctx = in->context;
	struct pami_dispatch *d = &ctx->dispatch[in->dispatch];

	in->recv = empty_recv();
	ctx->inbound.dispatching = in;
	ctx->inbound.error = 0;
	d->set_fn(ctx, d->cookie, header, in->header_bytes, NULL, in->data_bytes, in->origin,
		  &in->recv);
	ctx->inbound.dispatching = NULL;
	in->error = (int16_t)ctx->inbound.error;
	if (!in->deferred) {
		apply_hints(d, &in->recv);
		pami_type_retain(in->recv.type);
		in->dispatched = 1;
	}
}

/* Dispatch a message that needs no more pieces. */
static void dispatch_whole(struct pami_inbound *in, void *header)
{
	if (is_immediate(in)) {
		dispatch_immediate(in);
		return;
	}
	dispatch_receive(in, header);
	if (in->deferred)
		return; /* pami_inbound_resume() continues */
	if (in->kind == PAMI_WIRE_RTS)
		fetch_data(in);
	else
		finish_message(in, 0);
}

struct pami_inbound *pami_inbound_defer(struct pami_context *ctx)
{
	ctx->inbound.dispatching->deferred = 1;
	return ctx->inbound.dispatching;
}

void pami_inbound_resume(struct pami_inbound *in, const pami_recv_t *recv)
{
	in->recv = *recv;
	pami_type_retain(in->recv.type);
	in->dispatched = 1;
	in->deferred = 0;
	if (in->kind == PAMI_WIRE_RTS)
		fetch_data(in);
	else if (is_stream_complete(in) || in->lost)
		finish_message(in, in->lost ? -ESHUTDOWN : 0);
}

void pami_inbound_discard(struct pami_inbound *in)
{
	unlink_inbound(in);
	free_inbound(in);
}

/* Too many bytes are held: drop the message. Its origin gets an error if it waits for an answer. */
static PAMI_COLD void drop_unset(struct pami_inbound *in)
{
	struct pami_context *ctx = in->context;

	if (!ctx->held.dropped++)
		drv_error("context %u: a message of task %u is dropped: its dispatch id %u is not "
			  "set, and messages of %zu MiB wait for such ids already. Call "
			  "PAMI_Dispatch_set() on this context earlier, or raise "
			  "QUINTORUS_HELD (bytes). Further ones are counted, not logged",
			  ctx->offset, pami_endpoint_task(in->origin), in->dispatch,
			  pami_limits.held_max >> 20);
	answer_and_free(in, -ENOMEM);
}

static void hold_message(struct pami_inbound *in)
{
	struct pami_context *ctx = in->context;
	uint64_t bytes =
	    sizeof *in + in->header_bytes + (in->kind == PAMI_WIRE_RTS ? 0 : in->data_bytes);

	if (ctx->held.bytes + bytes > pami_limits.held_max) {
		drop_unset(in);
		return;
	}
	ctx->held.bytes += bytes;
	ctx->dispatch[in->dispatch].held++;
	in->next = NULL;
	*ctx->held.tail = in;
	ctx->held.tail = &in->next;
}

/* Messages for an id whose earlier messages are still held must wait behind them. */
static bool must_hold(const struct pami_dispatch *d)
{
	return !d->set_fn || d->held;
}

static void hold_or_dispatch(struct pami_inbound *in)
{
	if (must_hold(&in->context->dispatch[in->dispatch]))
		hold_message(in);
	else
		dispatch_whole(in, in->header);
}

/* Unlink and return the held messages whose id is set. Calls no function of the user, so no id
 * changes meanwhile. */
static struct pami_inbound *take_released(struct pami_context *ctx)
{
	struct pami_inbound *in = ctx->held.first, *first = NULL, **last = &first, *next;

	ctx->held.first = NULL;
	ctx->held.tail = &ctx->held.first;
	ctx->held.bytes = 0;
	for (; in; in = next) {
		next = in->next;
		in->next = NULL;
		if (ctx->dispatch[in->dispatch].set_fn) {
			*last = in;
			last = &in->next;
		} else {
			ctx->dispatch[in->dispatch].held--;
			hold_message(in);
		}
	}
	return first;
}

static PAMI_COLD void refuse_for_memory(struct pami_context *ctx, pami_endpoint_t origin,
					uint32_t token)
{
	pami_receive_refuse(ctx, pami_endpoint_task(origin), "no memory to receive it");
	if (token)
		pami_answer_send(ctx, origin, token, -ENOMEM, NULL, 0);
}

void pami_inbound_fence(struct pami_context *ctx, pami_endpoint_t origin, uint32_t token)
{
	struct pami_held_fence *f;

	if (PAMI_LIKELY(!has_held(ctx, origin))) {
		pami_answer_send(ctx, origin, token, 0, NULL, 0);
		return;
	}
	f = malloc(sizeof *f);
	if (!f) {
		refuse_for_memory(ctx, origin, token);
		return;
	}
	*f = (struct pami_held_fence){ctx->held.fences, origin, token};
	ctx->held.fences = f;
}

unsigned pami_inbound_release_held(struct pami_context *ctx)
{
	struct pami_inbound *in, *next;
	unsigned count = 0;

	ctx->todo &= ~(unsigned)PAMI_TODO_HELD;
	for (in = take_released(ctx); in; in = next, count++) {
		struct pami_dispatch *d = &ctx->dispatch[in->dispatch];

		next = in->next;
		in->next = NULL;
		if (!--d->held && !d->asynchronous)
			d->fn = d->set_fn; /* the last held message: open the hot path */
		dispatch_whole(in, in->header);
	}
	if (PAMI_UNLIKELY(answer_fences(ctx)))
		ctx->todo |= PAMI_TODO_ANSWERS;
	return count;
}

/* Hold a copy of one packet. */
static void hold_short(struct pami_context *ctx, pami_endpoint_t origin,
		       const struct pami_wire *wire, const unsigned char *header,
		       const unsigned char *data)
{
	struct pami_inbound *in = calloc(1, sizeof *in);

	if (in) {
		*in = (struct pami_inbound){.context = ctx,
					    .origin = origin,
					    .token = wire->token,
					    .dispatch = wire->dispatch,
					    .kind = wire->kind,
					    .whole = 1,
					    .header_bytes = wire->header,
					    .data_bytes = wire->data};
		if (!alloc_buffer(in, true)) {
			memcpy(in->header, header, wire->header);
			memcpy(in->data, data, wire->data);
			hold_message(in);
			return;
		}
		free(in);
	}
	refuse_for_memory(ctx, origin, wire->token);
}

void pami_inbound_short(struct pami_context *ctx, pami_endpoint_t origin,
			const struct pami_wire *wire, const unsigned char *header,
			const unsigned char *data)
{
	struct pami_dispatch *d = &ctx->dispatch[wire->dispatch];
	uint32_t token = wire->token;
	size_t bytes = wire->data;
	pami_recv_t recv;

	if (must_hold(d)) {
		hold_short(ctx, origin, wire, header, data);
		return;
	}
	ctx->inbound.error = 0;
	if (!d->asynchronous) {
		d->set_fn(ctx, d->cookie, header, wire->header, data, bytes, origin, NULL);
	} else {
		recv = empty_recv();
		d->set_fn(ctx, d->cookie, header, wire->header, NULL, bytes, origin, &recv);
		apply_hints(d, &recv);
		if (bytes)
			pami_type_scatter(recv.type, recv.addr, recv.offset, data, bytes,
					  recv.data_fn, recv.data_cookie);
		if (recv.local_fn)
			recv.local_fn(ctx, recv.cookie, PAMI_SUCCESS);
	}
	if (token)
		pami_answer_send(ctx, origin, token, ctx->inbound.error, NULL, 0);
}

/* Store the next bytes of the stream: first the header, then the data. Returns how many it took. */
static uint32_t store_bytes(struct pami_inbound *in, const unsigned char *from, uint32_t bytes)
{
	int in_header = in->got < in->header_bytes;
	unsigned char *base = in_header ? in->header : in->data;
	uint64_t at = in_header ? in->got : in->got - in->header_bytes;
	uint64_t left = (in_header ? in->header_bytes : in->data_bytes) - at;
	uint32_t taken = bytes < left ? bytes : (uint32_t)left;

	if (base && taken)
		drv_copy_words(base + at, from, taken);
	in->got += taken;
	return taken;
}

/* Take more bytes of a message in flight. */
static void add_bytes(struct pami_inbound *in, const unsigned char *payload, uint32_t bytes)
{
	uint32_t taken = 0;

	if (in->got < in->header_bytes)
		taken = store_bytes(in, payload, bytes);
	if (!in->whole && !in->called && in->got == in->header_bytes) {
		in->called = 1;
		dispatch_receive(in, in->header);
		if (!in->error)
			choose_target(in);
	}
	if (in->kind != PAMI_WIRE_RTS && in->got >= in->header_bytes)
		taken += store_bytes(in, payload + taken, bytes - taken);
	if (taken < bytes)
		pami_receive_refuse(in->context, pami_endpoint_task(in->origin),
				    "it is longer than its envelope says");
	if (!is_stream_complete(in))
		return;
	unlink_inbound(in);
	if (in->whole)
		hold_or_dispatch(in);
	else if (!in->deferred)
		finish_message(in, 0);
}

/*
 * The first piece: the envelope, then as much of header and data as fits. If it has the whole
 * header and nothing must be kept, the dispatch function gets the header in the packet.
 */
static void begin_message(struct pami_context *ctx, pami_endpoint_t origin,
			  const struct pami_wire *wire, const unsigned char *payload,
			  uint32_t bytes)
{
	const struct pami_wire_rts *rts = (const void *)payload;
	uint32_t fixed = wire->kind == PAMI_WIRE_RTS ? sizeof *rts : sizeof rts->envelope;
	struct pami_inbound *in, **at;
	int held, rts_complete;

	if (bytes < fixed || wire->dispatch >= PAMI_DISPATCH_IDS || find_message(ctx, origin)) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin),
				    "it begins in the middle of another message, or is malformed");
		return;
	}
	in = malloc(sizeof *in);
	if (!in) {
		refuse_for_memory(ctx, origin, wire->token);
		return;
	}
	*in = (struct pami_inbound){.context = ctx,
				    .origin = origin,
				    .token = wire->token,
				    .dispatch = wire->dispatch,
				    .kind = wire->kind,
				    .header_bytes = rts->envelope.header_bytes,
				    .data_bytes = rts->envelope.data_bytes};
	if (wire->kind == PAMI_WIRE_RTS)
		in->address = rts->address;
	if (pami_is_traced(ctx))
		in->number = ctx->trace->arriving;
	payload += fixed;
	bytes -= fixed;
	held = must_hold(&ctx->dispatch[wire->dispatch]);
	in->whole = held || is_immediate(in) || wire->kind == PAMI_WIRE_RTS;
	rts_complete = !held && wire->kind == PAMI_WIRE_RTS && bytes >= in->header_bytes;
	if (rts_complete) {
		dispatch_whole(in, (void *)(uintptr_t)payload);
		return;
	}
	if (!in->whole && bytes >= in->header_bytes) {
		in->got = in->header_bytes;
		in->called = 1;
		dispatch_receive(in, (void *)(uintptr_t)payload);
		if (!in->error)
			choose_target(in);
		payload += in->header_bytes;
		bytes -= (uint32_t)in->header_bytes;
	} else if (alloc_buffer(in, in->whole && in->kind != PAMI_WIRE_RTS)) {
		free(in);
		refuse_for_memory(ctx, origin, wire->token);
		return;
	}
	at = find_bucket(ctx, origin);
	in->next = *at;
	*at = in;
	add_bytes(in, payload, bytes);
}

void pami_inbound_piece(struct pami_context *ctx, uint32_t source, const struct pami_wire *wire,
			const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	pami_endpoint_t origin = pami_endpoint(source, wire->origin & 63);
	struct pami_inbound *in;

	if (!offset && wire->kind != PAMI_WIRE_EAGER_DATA) {
		begin_message(ctx, origin, wire, payload, bytes);
		return;
	}
	in = find_message(ctx, origin);
	if (in)
		add_bytes(in, payload, bytes);
	else
		pami_receive_refuse(ctx, source, "it continues a message that has not begun");
}

void pami_inbound_apply_deaths(struct pami_context *ctx)
{
	for (int i = 0; i < PAMI_INBOUND_BUCKETS; i++)
		for (struct pami_inbound *in = ctx->inbound.bucket[i], *next; in; in = next) {
			/* What free_inbound() frees below is not in the list any more. */
			/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
			next = in->next;
			if (!mu_task_is_unreachable(pami_endpoint_task(in->origin)))
				continue;
			unlink_inbound(in);
			in->token = 0;
			if (in->deferred)
				in->lost = 1; /* pami_inbound_resume() ends the receive */
			else if (in->called)
				finish_message(in, -ESHUTDOWN);
			else
				free_inbound(in);
			/* The callback may have changed the list, so start over. */
			next = ctx->inbound.bucket[i];
		}
}

void pami_inbound_free_all(struct pami_context *ctx)
{
	for (int i = 0; i < PAMI_INBOUND_BUCKETS; i++)
		while (ctx->inbound.bucket[i]) {
			struct pami_inbound *in = ctx->inbound.bucket[i];

			ctx->inbound.bucket[i] = in->next;
			free_inbound(in);
		}
	while (ctx->held.first) {
		struct pami_inbound *in = ctx->held.first;

		ctx->held.first = in->next;
		free_inbound(in);
	}
	ctx->held.tail = &ctx->held.first;
	while (ctx->answers.inbound) {
		struct pami_inbound *in = ctx->answers.inbound;

		ctx->answers.inbound = in->next;
		free_inbound(in);
	}
	while (ctx->held.fences) {
		struct pami_held_fence *f = ctx->held.fences;

		ctx->held.fences = f->next;
		free(f);
	}
}
