/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that are not dispatched straight from one packet: of several pieces, by rendezvous,
 * asynchronous, or for a dispatch id that is not set yet.
 *
 *   first piece --> collect the header --> dispatch --> store or fetch the data --> finish
 *                    \-> collect everything (immediate receive, or id not set) --> dispatch
 *
 * The pieces of one message arrive in order and before the next message of the same origin, so a
 * message under way is found by its origin alone.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "pami/state.h"
#include "pami/type.h"

static struct pami_inbound **bucket(struct pami_context *ctx, pami_endpoint_t origin)
{
	return &ctx->inbound[(origin ^ origin >> 6) % PAMI_INBOUND_BUCKETS];
}

static struct pami_inbound *find(struct pami_context *ctx, pami_endpoint_t origin)
{
	struct pami_inbound *in = *bucket(ctx, origin);

	while (in && in->origin != origin)
		in = in->next;
	return in;
}

static void unlink_inbound(struct pami_inbound *in)
{
	struct pami_inbound **at = bucket(in->context, in->origin);

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

/* One buffer for the header and, if asked for, the data behind it at the next multiple of 16. */
static int get_buffer(struct pami_inbound *in, int with_data)
{
	uint64_t at = (in->header_bytes + 15) & ~(uint64_t)15, bytes = at + (with_data ? in->data_bytes : 0);

	if (at < in->header_bytes || bytes < at)
		return -ENOMEM;
	in->header = malloc(bytes ? bytes : 1); /* 16-byte aligned */
	if (!in->header)
		return -ENOMEM;
	if (with_data)
		in->data = in->header + at;
	return 0;
}

static int immediate(const struct pami_inbound *in)
{
	const struct pami_dispatch *d = &in->context->dispatch[in->dispatch];

	return !d->asynchronous && in->kind != PAMI_WIRE_RTS &&
	       in->header_bytes + in->data_bytes <= pami_limits.immediate_max;
}

static pami_recv_t empty_recv(void)
{
	return (pami_recv_t){ .type = PAMI_BYTES, .data_fn = pami_data_copy };
}

/* The user's promises (section 9.1): members they leave unset count as the defaults. */
static void apply_hints(const struct pami_dispatch *d, pami_recv_t *recv)
{
	if (d->contiguous) {
		recv->type = PAMI_BYTES;
		recv->offset = 0;
	}
	if (d->copy || !recv->data_fn) { /* programs clear the whole structure */
		recv->data_fn = pami_data_copy;
		recv->data_cookie = NULL;
	}
	if (!pami_type_usable(recv->type))
		recv->type = PAMI_BYTES;
}

static int plain(const pami_recv_t *recv)
{
	return recv->data_fn == pami_data_copy && pami_type_contiguous(recv->type);
}

static int stream_complete(const struct pami_inbound *in)
{
	return in->got == in->header_bytes + (in->kind == PAMI_WIRE_RTS ? 0 : in->data_bytes);
}

static int send_answers(struct pami_context *ctx)
{
	struct pami_inbound *in;

	while ((in = ctx->unanswered)) {
		if (in->token && !mu_task_gone(pami_endpoint_task(in->origin)) &&
		    pami_send_answer(ctx, in->origin, in->token, in->answer, NULL, 0) == -ENOMEM)
			return -ENOMEM;
		ctx->unanswered = in->next;
		free_inbound(in);
	}
	return 0;
}

/* The last of a message: its origin is told, now or when there is memory for it. */
static void answer(struct pami_inbound *in, int result)
{
	struct pami_context *ctx = in->context;

	in->answer = result;
	in->next = ctx->unanswered;
	ctx->unanswered = in;
	if (PAMI_UNLIKELY(send_answers(ctx)))
		ctx->todo |= PAMI_TODO_ANSWER;
}

/* The message is here, whole or not at all: store what was buffered, tell both sides. */
static void finish(struct pami_inbound *in, int result)
{
	struct pami_context *ctx = in->context;

	if (!result && in->refusal)
		result = in->refusal;
	if (!result && in->data_bytes && !in->data)
		result = -ENOMEM;
	if (!result && in->data_bytes && !in->direct)
		pami_type_scatter(in->recv.type, in->recv.addr, in->recv.offset, in->data, in->data_bytes,
		                  in->recv.data_fn, in->recv.data_cookie);
	if (in->recv.local_fn)
		in->recv.local_fn(ctx, in->recv.cookie, pami_result(result));
	answer(in, result);
}

struct pami_held_fence {
	struct pami_held_fence *next;
	pami_endpoint_t origin;
	uint32_t token;
};

static int is_held(const struct pami_context *ctx, pami_endpoint_t origin)
{
	const struct pami_inbound *in = ctx->held;

	while (in && in->origin != origin)
		in = in->next;
	return in != NULL;
}

static int answer_fences(struct pami_context *ctx)
{
	struct pami_held_fence **at = &ctx->held_fence, *f;

	while ((f = *at)) {
		if (is_held(ctx, f->origin)) {
			at = &f->next;
			continue;
		}
		if (!mu_task_gone(pami_endpoint_task(f->origin)) &&
		    pami_send_answer(ctx, f->origin, f->token, 0, NULL, 0) == -ENOMEM)
			return -ENOMEM;
		*at = f->next;
		free(f);
	}
	return 0;
}

int pami_inbound_answer(struct pami_context *ctx)
{
	int rc = send_answers(ctx);

	return rc ? rc : answer_fences(ctx);
}

static void get_done(struct mu_op *op, int result)
{
	finish(PAMI_CONTAINER(op, struct pami_inbound, op), result);
}

/* Where data that is still to come goes: to the user, or (other layouts, deferred) into a buffer. */
static void choose_target(struct pami_inbound *in)
{
	in->direct = !in->deferred && plain(&in->recv);
	if (in->direct)
		in->data = (unsigned char *)in->recv.addr + in->recv.offset;
	else if (in->data_bytes)
		in->data = in->data_buffer = malloc(in->data_bytes);
}

static void fetch(struct pami_inbound *in)
{
	int rc = 0;

	if (!in->refusal)
		choose_target(in);
	in->op.done = get_done;
	if (in->data_bytes && in->data)
		rc = pami_queue_get(in->context, in->origin, in->data, in->address, in->data_bytes, &in->op);
	if (rc || !in->data_bytes || !in->data)
		finish(in, rc);
}

static void dispatch_immediate(struct pami_inbound *in)
{
	struct pami_context *ctx = in->context;
	struct pami_dispatch *d = &ctx->dispatch[in->dispatch];

	ctx->refusal = 0;
	d->set_fn(ctx, d->cookie, in->header, in->header_bytes, in->data, in->data_bytes, in->origin, NULL);
	answer(in, ctx->refusal);
}

/* Call the dispatch function for an asynchronous receive; afterwards in->recv is complete, or the
 * message deferred. */
static void dispatch_receive(struct pami_inbound *in, void *header)
{
	struct pami_context *ctx = in->context;
	struct pami_dispatch *d = &ctx->dispatch[in->dispatch];

	in->recv = empty_recv();
	ctx->dispatching = in;
	ctx->refusal = 0;
	d->set_fn(ctx, d->cookie, header, in->header_bytes, NULL, in->data_bytes, in->origin, &in->recv);
	ctx->dispatching = NULL;
	in->refusal = (int16_t)ctx->refusal;
	if (!in->deferred) {
		apply_hints(d, &in->recv);
		pami_type_retain(in->recv.type);
		in->dispatched = 1;
	}
}

/* A message that needs no more pieces, its header at `header`. */
static void dispatch_whole(struct pami_inbound *in, void *header)
{
	if (immediate(in)) {
		dispatch_immediate(in);
		return;
	}
	dispatch_receive(in, header);
	if (in->deferred)
		return; /* pami_inbound_resume() goes on */
	if (in->kind == PAMI_WIRE_RTS)
		fetch(in);
	else
		finish(in, 0);
}

struct pami_inbound *pami_inbound_defer(struct pami_context *ctx)
{
	ctx->dispatching->deferred = 1;
	return ctx->dispatching;
}

void pami_inbound_resume(struct pami_inbound *in, const pami_recv_t *recv)
{
	in->recv = *recv;
	pami_type_retain(in->recv.type);
	in->dispatched = 1;
	in->deferred = 0;
	if (in->kind == PAMI_WIRE_RTS)
		fetch(in);
	else if (stream_complete(in) || in->lost)
		finish(in, in->lost ? -ESHUTDOWN : 0);
}

void pami_inbound_forget(struct pami_inbound *in)
{
	unlink_inbound(in);
	free_inbound(in);
}

/* More is sent to ids that are not set than we keep: this message ends here, with an error where somebody is told. */
static PAMI_COLD void hold_refused(struct pami_inbound *in)
{
	struct pami_context *ctx = in->context;

	if (!ctx->unheld++)
		drv_error("context %u: a message of task %u for dispatch id %u, which is not set, is dropped, as %zu MiB wait for "
		          "such ids already; call PAMI_Dispatch_set() for it on this context before so much is sent, or set "
		          "QUINTORUS_HELD, in bytes (further ones are counted, not logged)",
		          ctx->offset, pami_endpoint_task(in->origin), in->dispatch, pami_limits.held_max >> 20);
	answer(in, -ENOMEM);
}

static void hold(struct pami_inbound *in)
{
	struct pami_context *ctx = in->context;
	uint64_t bytes = sizeof *in + in->header_bytes + (in->kind == PAMI_WIRE_RTS ? 0 : in->data_bytes);

	if (ctx->held_bytes + bytes > pami_limits.held_max) {
		hold_refused(in);
		return;
	}
	ctx->held_bytes += bytes;
	ctx->dispatch[in->dispatch].held++;
	in->next = NULL;
	*ctx->held_tail = in;
	ctx->held_tail = &in->next;
}

static int must_hold(const struct pami_dispatch *d)
{
	return !d->set_fn || d->held;
}

static void hold_or_dispatch(struct pami_inbound *in)
{
	if (must_hold(&in->context->dispatch[in->dispatch]))
		hold(in);
	else
		dispatch_whole(in, in->header);
}

/* Held messages whose id is set, off the list; what stays is held again. Nobody is called: the ids stay as they are. */
static struct pami_inbound *take_released(struct pami_context *ctx)
{
	struct pami_inbound *in = ctx->held, *first = NULL, **last = &first, *next;

	ctx->held = NULL;
	ctx->held_tail = &ctx->held;
	ctx->held_bytes = 0;
	for (; in; in = next) {
		next = in->next;
		in->next = NULL;
		if (ctx->dispatch[in->dispatch].set_fn) {
			*last = in;
			last = &in->next;
		} else {
			ctx->dispatch[in->dispatch].held--;
			hold(in);
		}
	}
	return first;
}

static PAMI_COLD void no_memory(struct pami_context *ctx, pami_endpoint_t origin, uint32_t token)
{
	pami_receive_refuse(ctx, pami_endpoint_task(origin), "no memory to receive it");
	if (token)
		pami_send_done(ctx, origin, token, -ENOMEM, NULL, 0);
}

void pami_inbound_fence(struct pami_context *ctx, pami_endpoint_t origin, uint32_t token)
{
	struct pami_held_fence *f;

	if (PAMI_LIKELY(!is_held(ctx, origin))) {
		pami_send_done(ctx, origin, token, 0, NULL, 0);
		return;
	}
	f = malloc(sizeof *f);
	if (!f) {
		no_memory(ctx, origin, token);
		return;
	}
	*f = (struct pami_held_fence){ ctx->held_fence, origin, token };
	ctx->held_fence = f;
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
			d->fn = d->set_fn; /* the last one: the fast path is open */
		dispatch_whole(in, in->header);
	}
	if (PAMI_UNLIKELY(answer_fences(ctx)))
		ctx->todo |= PAMI_TODO_ANSWER;
	return count;
}

/* A copy of one packet, to be held. */
static void hold_short(struct pami_context *ctx, pami_endpoint_t origin, const struct pami_wire *wire,
                       const unsigned char *header, const unsigned char *data)
{
	struct pami_inbound *in = calloc(1, sizeof *in);

	if (in) {
		*in = (struct pami_inbound){ .context = ctx, .origin = origin, .token = wire->token,
			                     .dispatch = wire->dispatch, .kind = wire->kind, .whole = 1,
			                     .header_bytes = wire->header, .data_bytes = wire->data };
		if (!get_buffer(in, 1)) {
			memcpy(in->header, header, wire->header);
			memcpy(in->data, data, wire->data);
			hold(in);
			return;
		}
		free(in);
	}
	no_memory(ctx, origin, wire->token);
}

void pami_inbound_short(struct pami_context *ctx, pami_endpoint_t origin, const struct pami_wire *wire,
                        const unsigned char *header, const unsigned char *data)
{
	struct pami_dispatch *d = &ctx->dispatch[wire->dispatch];
	uint32_t token = wire->token;
	size_t bytes = wire->data;
	pami_recv_t recv;

	if (must_hold(d)) {
		hold_short(ctx, origin, wire, header, data);
		return;
	}
	ctx->refusal = 0;
	if (!d->asynchronous) {
		d->set_fn(ctx, d->cookie, header, wire->header, data, bytes, origin, NULL);
	} else {
		recv = empty_recv();
		d->set_fn(ctx, d->cookie, header, wire->header, NULL, bytes, origin, &recv);
		apply_hints(d, &recv);
		if (bytes)
			pami_type_scatter(recv.type, recv.addr, recv.offset, data, bytes, recv.data_fn,
			                  recv.data_cookie);
		if (recv.local_fn)
			recv.local_fn(ctx, recv.cookie, PAMI_SUCCESS);
	}
	if (token)
		pami_send_done(ctx, origin, token, ctx->refusal, NULL, 0);
}

/* Put the next bytes of the stream where they belong: first header, then data. */
static uint32_t store(struct pami_inbound *in, const unsigned char *from, uint32_t bytes)
{
	int in_header = in->got < in->header_bytes;
	unsigned char *base = in_header ? in->header : in->data;
	uint64_t at = in_header ? in->got : in->got - in->header_bytes;
	uint64_t left = (in_header ? in->header_bytes : in->data_bytes) - at;
	uint32_t taken = bytes < left ? bytes : (uint32_t)left;

	if (base && taken)
		memcpy(base + at, from, taken);
	in->got += taken;
	return taken;
}

/* More of a message under way. */
static void go_on(struct pami_inbound *in, const unsigned char *payload, uint32_t bytes)
{
	uint32_t taken = 0;

	if (in->got < in->header_bytes)
		taken = store(in, payload, bytes);
	if (!in->whole && !in->called && in->got == in->header_bytes) {
		in->called = 1;
		dispatch_receive(in, in->header);
		if (!in->refusal)
			choose_target(in);
	}
	if (in->kind != PAMI_WIRE_RTS && in->got >= in->header_bytes)
		taken += store(in, payload + taken, bytes - taken);
	if (taken < bytes)
		pami_receive_refuse(in->context, pami_endpoint_task(in->origin), "longer than its envelope says");
	if (!stream_complete(in))
		return;
	unlink_inbound(in);
	if (in->whole)
		hold_or_dispatch(in);
	else if (!in->deferred)
		finish(in, 0);
}

/*
 * The first piece: envelope, then as much of header and data as fits. Where the header is there
 * and nothing need be kept, the dispatch function sees it where it lies.
 */
static void begin(struct pami_context *ctx, pami_endpoint_t origin, const struct pami_wire *wire,
                  const unsigned char *payload, uint32_t bytes)
{
	const struct pami_wire_rts *rts = (const void *)payload;
	uint32_t fixed = wire->kind == PAMI_WIRE_RTS ? sizeof *rts : sizeof rts->envelope;
	struct pami_inbound *in, **at;
	int held, rts_complete;

	if (bytes < fixed || wire->dispatch >= PAMI_DISPATCH_IDS || find(ctx, origin)) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin), "it begins in the middle of another, or cannot be");
		return;
	}
	in = malloc(sizeof *in);
	if (!in) {
		no_memory(ctx, origin, wire->token);
		return;
	}
	*in = (struct pami_inbound){ .context = ctx, .origin = origin, .token = wire->token,
		                     .dispatch = wire->dispatch, .kind = wire->kind,
		                     .header_bytes = rts->envelope.header_bytes,
		                     .data_bytes = rts->envelope.data_bytes };
	if (wire->kind == PAMI_WIRE_RTS)
		in->address = rts->address;
	payload += fixed;
	bytes -= fixed;
	held = must_hold(&ctx->dispatch[wire->dispatch]);
	in->whole = held || immediate(in) || wire->kind == PAMI_WIRE_RTS;
	rts_complete = !held && wire->kind == PAMI_WIRE_RTS && bytes >= in->header_bytes;
	if (rts_complete) {
		dispatch_whole(in, (void *)(uintptr_t)payload);
		return;
	}
	if (!in->whole && bytes >= in->header_bytes) {
		in->got = in->header_bytes;
		in->called = 1;
		dispatch_receive(in, (void *)(uintptr_t)payload);
		if (!in->refusal)
			choose_target(in);
		payload += in->header_bytes;
		bytes -= (uint32_t)in->header_bytes;
	} else if (get_buffer(in, in->whole && in->kind != PAMI_WIRE_RTS)) {
		free(in);
		no_memory(ctx, origin, wire->token);
		return;
	}
	at = bucket(ctx, origin);
	in->next = *at;
	*at = in;
	go_on(in, payload, bytes);
}

void pami_inbound_piece(struct pami_context *ctx, uint32_t source, const struct pami_wire *wire,
                        const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	pami_endpoint_t origin = pami_endpoint(source, wire->origin & 63);
	struct pami_inbound *in;

	if (!offset && wire->kind != PAMI_WIRE_EAGER_DATA) {
		begin(ctx, origin, wire, payload, bytes);
		return;
	}
	in = find(ctx, origin);
	if (in)
		go_on(in, payload, bytes);
	else
		pami_receive_refuse(ctx, source, "a piece of a message that has not begun");
}

void pami_inbound_gone(struct pami_context *ctx)
{
	for (int i = 0; i < PAMI_INBOUND_BUCKETS; i++)
		for (struct pami_inbound *in = ctx->inbound[i], *next; in; in = next) {
			next = in->next;
			if (!mu_task_gone(pami_endpoint_task(in->origin)))
				continue;
			unlink_inbound(in);
			in->token = 0;
			if (in->deferred)
				in->lost = 1; /* pami_inbound_resume() ends it */
			else if (in->called)
				finish(in, -ESHUTDOWN);
			else
				free_inbound(in);
			next = ctx->inbound[i]; /* the callback may have done anything */
		}
}

void pami_inbound_drop(struct pami_context *ctx)
{
	for (int i = 0; i < PAMI_INBOUND_BUCKETS; i++)
		while (ctx->inbound[i]) {
			struct pami_inbound *in = ctx->inbound[i];

			ctx->inbound[i] = in->next;
			free_inbound(in);
		}
	while (ctx->held) {
		struct pami_inbound *in = ctx->held;

		ctx->held = in->next;
		free_inbound(in);
	}
	ctx->held_tail = &ctx->held;
	while (ctx->unanswered) {
		struct pami_inbound *in = ctx->unanswered;

		ctx->unanswered = in->next;
		free_inbound(in);
	}
	while (ctx->held_fence) {
		struct pami_held_fence *f = ctx->held_fence;

		ctx->held_fence = f->next;
		free(f);
	}
}
