/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages: what travels, and the parts of the module.
 *
 *     handlers.c   registered handlers, tokens, limits
 *     send.c       requests and replies with fixed payload
 *     np.c         prepare and commit
 *     receive.c    dispatch, handlers
 *     slot.c       payload in memory of the sender that its neighbours map; other buffers
 */
#ifndef GASNET_AM_AM_H
#define GASNET_AM_AM_H

#include "gasnet/core/event.h"

enum { GEXI_AM_ARGS_MAX = 16, GEXI_AM_LONG_MAX = 4 << 20 };

enum gexi_am_kind {
	GEXI_AM_SHORT = 0,
	GEXI_AM_MEDIUM = 1,
	GEXI_AM_LONG = 2,
	GEXI_AM_CATEGORY = 3, /* mask */
	GEXI_AM_REPLY = 4,
	GEXI_AM_SLOT = 8,   /* the payload is in a slot of the sender, at offset `where` */
	GEXI_AM_PLACED = 16 /* the payload is at its destination */
};

/*
 * Header of every message, in one word. In long messages and slots `where` follows, in medium and
 * long ones the arguments. A short message has its arguments as PAMI's data, a pair in each word.
 */
struct gexi_am_head {
	uint8_t kind;
	uint8_t index;
	uint8_t nargs;
	uint8_t credits; /* returned to the receiver */
	uint32_t bytes;  /* of payload */
};
enum { GEXI_AM_HEAD_MAX = 8 + 8 + 4 * GEXI_AM_ARGS_MAX + 8 };

struct gexi_token {
	uint32_t task; /* of the sender */
	const gex_AM_Entry_t *entry;
	bool is_request, is_long, has_replied;
};

/* ---- handlers.c ---- */
extern gex_AM_Entry_t gexi_handlers[256];
/* Their functions; NULL: none, or messages are checked against the entry. */
extern gex_AM_Fn_t gexi_plain_handlers[256];
void gexi_am_open(void);
/* Largest payload of a category of messages. */
static inline size_t gexi_am_max(unsigned category)
{
	return category == GEXI_AM_MEDIUM ? gexi_world.env.medium_max : (size_t)GEXI_AM_LONG_MAX;
}

/* ---- receive.c ---- */
void gexi_am_dispatch(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		      const void *pipe, size_t data_bytes, pami_endpoint_t origin,
		      pami_recv_t *recv);

/* ---- slot.c ---- */
struct gexi_slot {
	atomic_u32 busy; /* set by the owner, cleared by the receiver */
	uint32_t offset; /* in the owner's slots */
	char pad[56];
	char payload[];
};
/* The slots of this process, in memory that neighbours map; NULL if there are none. */
void *gexi_slots_open(void);
size_t gexi_slots_bytes(void);
/* Take a slot for this many bytes. Returns NULL if none is free. Lock. */
struct gexi_slot *gexi_slot_take(size_t bytes);
void gexi_slot_release(struct gexi_slot *slot);

/* A message whose payload is still arriving (receive.c). */
struct gexi_arrival {
	uint32_t task;
	struct gexi_am_head head;
	gex_AM_Arg_t args[GEXI_AM_ARGS_MAX];
	void *payload;
};

/*
 * A private buffer that holds a message. Its header ends where the data begins, and PAMI has room
 * in front of it ("framed" of EXT_quintorus_place).
 */
struct gexi_buffer {
	struct gexi_buffer *next;
	unsigned size_class;
	struct gexi_completion local; /* fn may be NULL */
	struct gexi_arrival arrival;  /* of a message that is received */
	_Alignas(64) unsigned char room[128];
	char data[];
};
_Static_assert(GEXI_AM_HEAD_MAX + PAMI_QUINTORUS_FRAME <= 128, "the room of a buffer");
_Static_assert(offsetof(struct gexi_buffer, data) % 64 == 0, "payloads begin a cache line");
_Static_assert(offsetof(struct gexi_buffer, data) == offsetof(struct gexi_buffer, room) + 128,
	       "the room ends where the data begins");
/* Return where a header of this many bytes, at most GEXI_AM_HEAD_MAX, stands before the data. */
static inline char *gexi_buffer_head(struct gexi_buffer *buffer, size_t bytes)
{
	return (char *)buffer->room + sizeof(buffer->room) - bytes;
}
/* The pool keeps buffers of this many bytes, and of the longest medium payload. */
enum { GEXI_BUFFER_SMALL = 4096 };
/* Take a buffer of this many bytes; ends the process if there is no memory. Lock. */
struct gexi_buffer *gexi_buffer_take(size_t bytes);
void gexi_buffer_release(struct gexi_buffer *buffer);
/* PAMI's local completion of a message from a buffer; cookie: the buffer. */
void gexi_buffer_sent(pami_context_t context, void *cookie, pami_result_t result);

/* ---- send.c ---- */
struct gexi_am_send {
	uint32_t task;
	unsigned kind;
	uint8_t index;
	unsigned nargs;
	const uint64_t *words; /* the arguments in pairs */
	uint64_t where;
	size_t bytes;
};
/* Length of the header of a medium message whose payload follows it. PAMI's memory in place starts
 * 8 bytes before a multiple of 16, so the payload is at one, where handlers expect it. */
static inline size_t gexi_am_medium_head(unsigned nargs)
{
	return ((sizeof(struct gexi_am_head) + 4 * nargs + 7) & ~(size_t)15) + 8;
}
/* Length of the header of a message that is not short: a multiple of 8. */
static inline size_t gexi_am_head_bytes(const struct gexi_am_send *s)
{
	if ((s->kind & (GEXI_AM_CATEGORY | GEXI_AM_SLOT)) == GEXI_AM_MEDIUM)
		return gexi_am_medium_head(s->nargs);
	return (sizeof(struct gexi_am_head) + sizeof(s->where) + 4 * s->nargs + 7) & ~(size_t)7;
}
/* Write the header of a message that is not short at `to`, which is 8-byte aligned. Returns its
 * length. Lock. */
size_t gexi_am_write_head(const struct gexi_am_send *s, void *to);
/* Send the message with its payload at src: at once, if it is short, else from *slot or *buffer,
 * where the payload lies already if one is not NULL. The lock is held. */
void gexi_am_send_inline(const struct gexi_am_send *s, const void *src, gex_Flags_t flags);
/* Send one packet with a header that is written already. The lock is held. */
void gexi_am_send_headed(uint32_t task, const uint64_t *head, size_t head_bytes, const void *src,
			 size_t bytes);
void gexi_am_send_slot(struct gexi_am_send *s, struct gexi_slot *slot);
void gexi_am_send_buffer(const struct gexi_am_send *s, struct gexi_buffer *buffer, const void *src);
/*
 * Send a medium or long message with its payload at src, and tell lc_opt. *wait: what a caller that
 * may not reuse src has to wait for, without the lock, and to free; or NULL. The lock is held.
 */
void gexi_am_send_payload(struct gexi_am_send *s, const void *src, gex_Event_t *lc_opt,
			  gex_Flags_t flags, struct gexi_event **wait);
/* End the process if a message is longer than allowed, or if a handler may not reply (again). */
void gexi_am_size_fail(const char *what, unsigned category, size_t bytes, unsigned nargs)
    __attribute__((noreturn, cold));
static inline void gexi_am_check(const char *what, unsigned category, size_t bytes, unsigned nargs)
{
	if (GEXI_UNLIKELY(nargs > GEXI_AM_ARGS_MAX || bytes > gexi_am_max(category)))
		gexi_am_size_fail(what, category, bytes, nargs);
}
void gexi_am_token_fail(const char *what, gex_Token_t token) __attribute__((noreturn, cold));
static inline void gexi_am_check_token(const char *what, gex_Token_t token)
{
	if (GEXI_UNLIKELY(!token->is_request || token->has_replied))
		gexi_am_token_fail(what, token);
	token->has_replied = true;
}
/* The values that lc_opt may have (gexi_check_lc). */
enum {
	GEXI_LC_REPLY = GEXI_LC_NOW | GEXI_LC_VARIABLE,
	GEXI_LC_REQUEST = GEXI_LC_REPLY | GEXI_LC_GROUP
};
/* Return the largest payload that travels with its header. */
static inline size_t gexi_am_inline_max(unsigned kind, unsigned nargs)
{
	size_t head = sizeof(struct gexi_am_head) + 4 * nargs;

	if ((kind & GEXI_AM_CATEGORY) == GEXI_AM_LONG)
		return gexi_world.immediate_max - ((head + 8 + 7) & ~(size_t)7);
	return gexi_world.immediate_max - gexi_am_medium_head(nargs);
}

/* ---- credits: how many requests a process may have at another that has not handled them ---- */

static inline unsigned gexi_credit_cost(unsigned kind, size_t bytes)
{
	return (kind & GEXI_AM_CATEGORY) == GEXI_AM_MEDIUM ? 1 + (unsigned)(bytes >> 11) : 1;
}
/* gexi_credit_take() for a peer with too few credits: waits until they come back. */
bool gexi_credit_take_slow(struct gexi_peer *p, unsigned cost, gex_Flags_t flags)
    __attribute__((cold));
/* Take credits for a request, waiting for them unless flags has GEX_FLAG_IMMEDIATE. Returns false
 * if there are none. The lock is held, and released while the call waits. */
static inline bool gexi_credit_take(struct gexi_peer *p, unsigned cost, gex_Flags_t flags)
{
	if (GEXI_UNLIKELY(!pami_quintorus_credit_take(&p->credit, gexi_world.env.credits, cost)))
		return gexi_credit_take_slow(p, cost, flags);
	return true;
}
/* Note that a request of that peer was handled: its credits are returned now or later. Lock. */
static inline void gexi_credit_return(uint32_t task, struct gexi_peer *p, unsigned cost)
{
	p->credit.owed += cost;
	if (GEXI_UNLIKELY(p->credit.owed >= gexi_world.credits_kept))
		gexi_world.settle(gexi_world.context[GEXI_MAIN], task);
}
/* What a message can carry. */
enum { GEXI_CREDITS_CARRIED = 255 };
static inline uint8_t gexi_credits_to_carry(struct gexi_peer *p)
{
	return (uint8_t)pami_quintorus_credit_carry(&p->credit, GEXI_CREDITS_CARRIED);
}

/*
 * Make the first word of a message's header (struct gexi_am_head), with the credits that it
 * carries. In a register, since a load of what narrower stores have just written waits for them.
 * Lock.
 */
static inline uint64_t gexi_am_head_word(struct gexi_peer *to, unsigned kind, unsigned index,
					 unsigned nargs, size_t bytes)
{
	return kind | index << 8 | nargs << 16 | (uint64_t)gexi_credits_to_carry(to) << 24 |
	       (uint64_t)bytes << 32;
}
_Static_assert(offsetof(struct gexi_am_head, kind) == 0 &&
		   offsetof(struct gexi_am_head, index) == 1 &&
		   offsetof(struct gexi_am_head, nargs) == 2 &&
		   offsetof(struct gexi_am_head, credits) == 3 &&
		   offsetof(struct gexi_am_head, bytes) == 4 && sizeof(struct gexi_am_head) == 8,
	       "the word of a header");

/* The number of words that hold so many arguments. */
static inline unsigned gexi_am_words(unsigned nargs)
{
	return (nargs + 1) / 2;
}

#endif
