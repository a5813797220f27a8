/* SPDX-License-Identifier: BSD-3-Clause */
/* HOT: from PAMI's dispatch to the handler. The bench gex guards it. */
#include <string.h>

#include "gasnet/am/am.h"

typedef gex_AM_Arg_t A;

/* clang-format off */
#define ARGS_0
#define ARGS_1 , a[0]
#define ARGS_2 ARGS_1, a[1]
#define ARGS_3 ARGS_2, a[2]
#define ARGS_4 ARGS_3, a[3]
#define ARGS_5 ARGS_4, a[4]
#define ARGS_6 ARGS_5, a[5]
#define ARGS_7 ARGS_6, a[6]
#define ARGS_8 ARGS_7, a[7]
#define ARGS_9 ARGS_8, a[8]
#define ARGS_10 ARGS_9, a[9]
#define ARGS_11 ARGS_10, a[10]
#define ARGS_12 ARGS_11, a[11]
#define ARGS_13 ARGS_12, a[12]
#define ARGS_14 ARGS_13, a[13]
#define ARGS_15 ARGS_14, a[14]
#define ARGS_16 ARGS_15, a[15]
#define TYPES_0
#define TYPES_1 , A
#define TYPES_2 TYPES_1, A
#define TYPES_3 TYPES_2, A
#define TYPES_4 TYPES_3, A
#define TYPES_5 TYPES_4, A
#define TYPES_6 TYPES_5, A
#define TYPES_7 TYPES_6, A
#define TYPES_8 TYPES_7, A
#define TYPES_9 TYPES_8, A
#define TYPES_10 TYPES_9, A
#define TYPES_11 TYPES_10, A
#define TYPES_12 TYPES_11, A
#define TYPES_13 TYPES_12, A
#define TYPES_14 TYPES_13, A
#define TYPES_15 TYPES_14, A
#define TYPES_16 TYPES_15, A
#define EACH_ARITY(form) form(0) form(1) form(2) form(3) form(4) form(5) form(6) form(7) form(8) \
	form(9) form(10) form(11) form(12) form(13) form(14) form(15) form(16)

static inline void call_short(gex_AM_Fn_t fn, struct gexi_token *token, unsigned nargs, const A *a)
{
	switch (nargs) {
#define FORM(n) case n: ((void (*)(gex_Token_t TYPES_##n))fn)(token ARGS_##n); break;
	EACH_ARITY(FORM)
#undef FORM
	default: break; /* dispatch has checked the number */
	}
}

static inline void call_payload(gex_AM_Fn_t fn, struct gexi_token *token, void *buf,
				size_t bytes, unsigned nargs, const A *a)
{
	switch (nargs) {
#define FORM(n)                                                                                    \
	case n:                                                                                    \
		((void (*)(gex_Token_t, void *, size_t TYPES_##n))fn)(token, buf, bytes ARGS_##n); \
		break;
	EACH_ARITY(FORM)
#undef FORM
	default: break; /* dispatch has checked the number */
	}
}
/* clang-format on */

static GEXI_COLD void handler_fail(const struct gexi_am_head *h, uint32_t task, const char *why)
{
	const gex_AM_Entry_t *e = &gexi_handlers[h->index];

	gexi_die("a%s message of process %u for handler %u%s%s with %u arguments: %s",
		 (h->kind & GEXI_AM_CATEGORY) == GEXI_AM_SHORT    ? " short"
		 : (h->kind & GEXI_AM_CATEGORY) == GEXI_AM_MEDIUM ? " medium"
								  : " long",
		 task, h->index, e->gex_name ? " " : "", e->gex_name ? e->gex_name : "", h->nargs,
		 why);
}

/* In debug builds of the program: does the message match the registration? */
static GEXI_COLD void check_entry(const struct gexi_am_head *h, uint32_t task)
{
	const gex_AM_Entry_t *e = &gexi_handlers[h->index];
	unsigned category = 1u << (h->kind & GEXI_AM_CATEGORY);

	if (!e->gex_flags)
		return; /* registered by gasnet_attach() */
	if (e->gex_nargs != h->nargs)
		handler_fail(h, task, "it was registered with another number");
	if (e->gex_flags & (GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG) && !(e->gex_flags & category))
		handler_fail(h, task, "it was registered for other categories");
	if (e->gex_flags & GEX_FLAG_AM_REQREP &&
	    !(e->gex_flags & (h->kind & GEXI_AM_REPLY ? GEX_FLAG_AM_REPLY : GEX_FLAG_AM_REQUEST)))
		handler_fail(h, task, "it was registered for the other direction");
}

static inline const gex_AM_Entry_t *find_handler(uint32_t task, const struct gexi_am_head *h)
{
	const gex_AM_Entry_t *e = &gexi_handlers[h->index];

	if (GEXI_UNLIKELY(!e->gex_fnptr))
		handler_fail(h, task, "no such handler is registered here");
	if (GEXI_UNLIKELY(gexi_world.is_debug))
		check_entry(h, task);
	return e;
}

/* A handler of a medium or long message. */
static void run_handler(uint32_t task, const struct gexi_am_head *h, const A *args, void *payload)
{
	const gex_AM_Entry_t *e = find_handler(task, h);
	bool is_request = !(h->kind & GEXI_AM_REPLY);
	struct gexi_token token = {.task = task,
				   .entry = e,
				   .is_request = is_request,
				   .is_long = (h->kind & GEXI_AM_CATEGORY) == GEXI_AM_LONG};
	struct gexi_thread *self = gexi_self();
	int held = GEXI_UNLIKELY(gexi_world.is_debug) ? gexi_hsl_held() : 0;

	if (is_request) /* A reply may carry them. */
		gexi_peer(task)->credit.owed += gexi_credit_cost(h->kind, h->bytes);
	self->depth++;
	call_payload(e->gex_fnptr, &token, payload, h->bytes, h->nargs, args);
	self->depth--;
	if (GEXI_UNLIKELY(gexi_world.is_debug))
		gexi_check_handler_end_slow(h->index, held);
	if (is_request)
		gexi_credit_return(task, gexi_peer(task), 0);
}

/* A handler of a short message. */
static __attribute__((noinline)) void run_short(uint32_t task, struct gexi_peer *peer,
						const struct gexi_am_head *h, const A *a)
{
	const gex_AM_Entry_t *e = find_handler(task, h);
	bool is_request = !(h->kind & GEXI_AM_REPLY);
	struct gexi_token token = {.task = task, .entry = e, .is_request = is_request};
	struct gexi_thread *self = gexi_self();
	int held = GEXI_UNLIKELY(gexi_world.is_debug) ? gexi_hsl_held() : 0;

	peer->credit.owed += is_request; /* A reply may carry it. */
	self->depth++;
	call_short(e->gex_fnptr, &token, h->nargs, a);
	self->depth--;
	if (GEXI_UNLIKELY(gexi_world.is_debug))
		gexi_check_handler_end_slow(h->index, held);
	if (is_request)
		gexi_credit_return(task, peer, 0);
}

/* The same for two arguments and a handler that is registered, without the checks. */
static inline void run_short_2(uint32_t task, struct gexi_peer *peer, gex_AM_Fn_t fn,
			       const struct gexi_am_head *h, const A *a)
{
	bool is_request = !(h->kind & GEXI_AM_REPLY);
	struct gexi_token token = {
	    .task = task, .entry = &gexi_handlers[h->index], .is_request = is_request};
	struct gexi_thread *self = gexi_self();

	self->depth++;
	if (is_request)
		peer->credit.owed++;
	((void (*)(gex_Token_t, A, A))fn)(&token, a[0], a[1]);
	self->depth--;
	if (is_request)
		gexi_credit_return(task, peer, 0);
}

static void on_arrived(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_buffer *b = cookie;
	const struct gexi_arrival *a = &b->arrival;

	if (result != PAMI_SUCCESS)
		gexi_operation_failed("receiving an active message", result);
	run_handler(a->task, &a->head, a->args, a->payload);
	gexi_buffer_release(b);
}

static void receive_later(uint32_t task, const struct gexi_am_head *h, const A *args, void *dest,
			  pami_recv_t *recv)
{
	bool is_long = (h->kind & GEXI_AM_CATEGORY) == GEXI_AM_LONG;
	struct gexi_buffer *b = gexi_buffer_take(is_long ? 0 : h->bytes);
	struct gexi_arrival *a = &b->arrival;

	a->task = task;
	a->head = *h;
	memcpy(a->args, args, h->nargs * sizeof(*args));
	a->payload = is_long ? dest : b->data;
	recv->addr = a->payload;
	recv->local_fn = on_arrived;
	recv->cookie = b;
}

/* A short payload, in memory of the network. Handlers expect alignment for any type. */
static void receive_medium(uint32_t task, const struct gexi_am_head *h, const A *args,
			   const void *pipe)
{
	_Alignas(16) unsigned char copy[1024];
	void *payload = (void *)(uintptr_t)pipe;
	struct gexi_buffer *b = NULL;

	if (GEXI_UNLIKELY((uintptr_t)pipe & 15)) {
		if (GEXI_UNLIKELY(h->bytes > sizeof(copy)))
			b = gexi_buffer_take(h->bytes);
		payload = memcpy(b ? (void *)b->data : copy, pipe, h->bytes);
	}
	run_handler(task, h, args, payload);
	if (GEXI_UNLIKELY(b != NULL))
		gexi_buffer_release(b);
}

/* Receive a message that is not short, or that has not arrived whole. */
static __attribute__((noinline)) void dispatch_payload(uint32_t task, struct gexi_am_head head,
						       const void *header, const void *pipe,
						       pami_recv_t *recv)
{
	const struct gexi_am_head *h = &head;
	struct gexi_peer *peer = gexi_peer(task);
	const uint64_t *where = (const uint64_t *)header + 1;
	bool has_where = h->kind & GEXI_AM_SLOT || (h->kind & GEXI_AM_CATEGORY) == GEXI_AM_LONG;
	const A *args = (const A *)(where + has_where);
	void *dest = has_where ? (void *)(uintptr_t)*where : NULL;
	struct gexi_slot *slot;

	if (GEXI_UNLIKELY(h->nargs > GEXI_AM_ARGS_MAX ||
			  (h->kind & GEXI_AM_CATEGORY) == GEXI_AM_SHORT))
		handler_fail(h, task, "the message is damaged");
	if (GEXI_UNLIKELY(recv != NULL)) {
		receive_later(task, h, args, dest, recv);
		return;
	}
	switch (h->kind & (GEXI_AM_CATEGORY | GEXI_AM_SLOT)) {
	case GEXI_AM_MEDIUM | GEXI_AM_SLOT:
		slot = (struct gexi_slot *)(peer->slots + (uintptr_t)dest);
		run_handler(task, h, args, slot->payload);
		gexi_slot_release(slot);
		break;
	case GEXI_AM_MEDIUM:
		receive_medium(task, h, args, pipe);
		break;
	case GEXI_AM_LONG | GEXI_AM_SLOT: /* not sent */
	case GEXI_AM_LONG:
		if (!(h->kind & GEXI_AM_PLACED) && h->bytes)
			/* A long message says where its payload goes (has_where). */
			/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
			memcpy(dest, pipe, h->bytes);
		run_handler(task, h, args, dest);
		break;
	default:
		handler_fail(h, task, "the message is damaged");
	}
}

void gexi_am_dispatch(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		      const void *pipe, size_t data_bytes, pami_endpoint_t origin,
		      pami_recv_t *recv)
{
	/* Work on a copy: the handler may send, and then the network may reuse the header's
	 * memory. */
	struct gexi_am_head h = *(const struct gexi_am_head *)header;
	uint32_t task = origin >> 6; /* pami_endpoint_t: the task above 6 bits of context */
	struct gexi_peer *peer = gexi_peer(task);
	gex_AM_Fn_t fn = gexi_plain_handlers[h.index];

	pami_quintorus_credit_arrive(&peer->credit, h.credits);
	if (GEXI_LIKELY(h.nargs == 2 && !(h.kind & ~(unsigned)GEXI_AM_REPLY) && fn && !recv))
		run_short_2(task, peer, fn, &h, pipe);
	else if ((h.kind & ~(unsigned)GEXI_AM_REPLY) == GEXI_AM_SHORT && !recv &&
		 h.nargs <= GEXI_AM_ARGS_MAX)
		run_short(task, peer, &h, pipe);
	else
		dispatch_payload(task, h, header, pipe, recv);
}

/* ---- credits ---- */

bool gexi_credit_take_slow(struct gexi_peer *p, unsigned cost, gex_Flags_t flags)
{
	if (flags & GEX_FLAG_IMMEDIATE && gexi_world.env.imm)
		return false;
	while (!pami_quintorus_credit_has(&p->credit, gexi_world.env.credits, cost) &&
	       !gexi_self()->depth) {
		gexi_unlock();
		gexi_poll_waiting();
		gexi_lock();
	}
	p->credit.used += cost;
	return true;
}
