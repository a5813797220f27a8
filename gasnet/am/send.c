/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: requests and replies with fixed payload. A short message, and a payload that fits one packet
 * with its header, goes to PAMI_Send_immediate as it is. The bench gex guards it.
 */
#include <string.h>

#include "gasnet/am/am.h"
#include "gasnet/core/team.h"

size_t gexi_am_write_head(const struct gexi_am_send *s, void *to)
{
	char *at = (char *)to + sizeof(struct gexi_am_head);

	*(uint64_t *)to =
	    gexi_am_head_word(gexi_peer(s->task), s->kind, s->index, s->nargs, s->bytes);
	if (s->kind & GEXI_AM_SLOT || (s->kind & GEXI_AM_CATEGORY) == GEXI_AM_LONG) {
		memcpy(at, &s->where, sizeof(s->where));
		at += sizeof(s->where);
	}
	for (unsigned i = 0; i < gexi_am_words(s->nargs); i++, at += sizeof(*s->words))
		memcpy(at, &s->words[i], sizeof(*s->words));
	return gexi_am_head_bytes(s);
}

static GEXI_COLD void send_failed(uint32_t task, pami_result_t rc)
{
	if (rc == PAMI_SHUTDOWN)
		gexi_die("an active message cannot be sent: process %u has died or left the job",
			 task);
	gexi_die("an active message to process %u cannot be sent (PAMI result %d)", task, (int)rc);
}

void gexi_am_send_headed(uint32_t task, const uint64_t *head, size_t head_bytes, const void *src,
			 size_t bytes)
{
	pami_send_immediate_t m = {
	    .header = {(void *)(uintptr_t)head, head_bytes},
	    .data = {(void *)(uintptr_t)src, bytes},
	    .dispatch = GEXI_DISPATCH_AM,
	    .dest = gexi_peer(task)->endpoint[GEXI_MAIN],
	};
	pami_result_t rc = PAMI_Send_immediate(gexi_world.context[GEXI_MAIN], &m);

	if (GEXI_UNLIKELY(rc != PAMI_SUCCESS))
		send_failed(task, rc);
}

void gexi_am_send_inline(const struct gexi_am_send *s, const void *src, gex_Flags_t flags)
{
	uint64_t head[(GEXI_AM_HEAD_MAX + 15) / 8];
	size_t head_bytes = gexi_am_write_head(s, head);

	gexi_am_send_headed(s->task, head, head_bytes, src, src ? s->bytes : 0);
}

void gexi_am_send_slot(struct gexi_am_send *s, struct gexi_slot *slot)
{
	s->kind |= GEXI_AM_SLOT;
	s->where = slot->offset;
	gexi_am_send_inline(s, NULL, 0);
}

void gexi_am_send_buffer(const struct gexi_am_send *s, struct gexi_buffer *b, const void *src)
{
	size_t head = gexi_am_head_bytes(s);
	pami_send_t m = {
	    .send = {.header = {gexi_buffer_head(b, head), head},
		     .data = {(void *)(uintptr_t)src, s->bytes},
		     .dispatch = GEXI_DISPATCH_AM,
		     .dest = gexi_peer(s->task)->endpoint[GEXI_MAIN]},
	    .events = {.cookie = b, .local_fn = gexi_buffer_sent},
	};
	pami_result_t rc;

	gexi_am_write_head(s, gexi_buffer_head(b, head));
	rc = src == b->data ? gexi_world.framed(gexi_world.context[GEXI_MAIN], &m)
			    : PAMI_Send(gexi_world.context[GEXI_MAIN], &m);
	if (GEXI_UNLIKELY(rc != PAMI_SUCCESS))
		send_failed(s->task, rc);
}

/* A short message that EXT_quintorus_place does not take: to another host, or no room now. */
static GEXI_COLD void send_short_slow(uint32_t task, uint64_t header, const uint64_t *words,
				      size_t count)
{
	gexi_am_send_headed(task, &header, sizeof(header), words, count * sizeof(*words));
}

/* A short message: its first word is PAMI's header, and its arguments are PAMI's data. Lock. */
static inline void send_short(const char *what, uint32_t task, unsigned kind, unsigned index,
			      unsigned nargs, const uint64_t *words)
{
	struct gexi_peer *peer = gexi_peer(task);
	uint64_t header;

	if (GEXI_UNLIKELY(nargs > GEXI_AM_ARGS_MAX))
		gexi_am_check(what, GEXI_AM_SHORT, 0, nargs);
	header = gexi_am_head_word(peer, kind, index, nargs, 0);
	if (GEXI_UNLIKELY(gexi_world.words(gexi_world.context[GEXI_MAIN], peer->endpoint[GEXI_MAIN],
					   GEXI_DISPATCH_AM, header, words,
					   gexi_am_words(nargs)) != PAMI_SUCCESS))
		send_short_slow(task, header, words, gexi_am_words(nargs));
}

/* ---- payloads ---- */

/* Send a payload so that the source may be reused when this returns. */
static inline void send_medium(struct gexi_am_send *s, const void *src, gex_Flags_t flags)
{
	struct gexi_slot *slot = NULL;
	struct gexi_buffer *b;

	if (GEXI_LIKELY(s->bytes <= gexi_am_inline_max(s->kind, s->nargs))) {
		gexi_am_send_inline(s, src, flags);
		return;
	}
	if (gexi_peer(s->task)->slots)
		slot = gexi_slot_take(s->bytes);
	if (slot) {
		memcpy(slot->payload, src, s->bytes);
		gexi_am_send_slot(s, slot);
		return;
	}
	b = gexi_buffer_take(s->bytes);
	memcpy(b->data, src, s->bytes);
	gexi_am_send_buffer(s, b, b->data);
}

/*
 * Send a long message. Where PAMI still reads the source when this returns, *local tells when it no
 * longer does; with local == NULL that does not happen. Returns true if PAMI still reads the
 * source.
 */
static bool send_long(struct gexi_am_send *s, const void *src, const struct gexi_completion *local)
{
	char *dest = gexi_local(gexi_peer(s->task), (void *)(uintptr_t)s->where);
	struct gexi_buffer *b;

	if (dest || !s->bytes) {
		if (s->bytes) {
			gexi_spend_copy(s->bytes);
			memmove(dest, src, s->bytes);
		}
		s->kind |= GEXI_AM_PLACED;
		gexi_am_send_inline(s, NULL, 0);
		return false;
	}
	if (s->bytes <= gexi_am_inline_max(s->kind, s->nargs)) {
		gexi_am_send_inline(s, src, 0);
		return false;
	}
	if (!local) {
		b = gexi_buffer_take(s->bytes);
		memcpy(b->data, src, s->bytes);
		gexi_am_send_buffer(s, b, b->data);
		return false;
	}
	b = gexi_buffer_take(0);
	b->local = *local;
	gexi_am_send_buffer(s, b, src);
	return true;
}

/* Send a long request with the local completion that the program asked for. Lock. */
static void send_long_request(struct gexi_am_send *s, const void *src, gex_Event_t *lc_opt,
			      struct gexi_event **wait)
{
	struct gexi_completion local;
	struct gexi_event *e;

	*wait = NULL;
	if (gexi_peer(s->task)->is_mapped || s->bytes <= gexi_am_inline_max(s->kind, s->nargs)) {
		send_long(s, src, NULL);
		if ((uintptr_t)lc_opt > (uintptr_t)GEX_EVENT_GROUP)
			*lc_opt = GEX_EVENT_INVALID;
		return;
	}
	if (lc_opt == GEX_EVENT_GROUP) {
		local = gexi_nbi_start(GEXI_EC_AM);
		send_long(s, src, &local);
		return;
	}
	e = gexi_event_new();
	atomic_store_relaxed(&e->pending, 1);
	local = (struct gexi_completion){gexi_event_root, e};
	send_long(s, src, &local);
	if ((uintptr_t)lc_opt > (uintptr_t)GEX_EVENT_GROUP)
		*lc_opt = gexi_event_handle(e);
	else
		*wait = e;
}

void gexi_am_send_payload(struct gexi_am_send *s, const void *src, gex_Event_t *lc_opt,
			  gex_Flags_t flags, struct gexi_event **wait)
{
	*wait = NULL;
	if ((s->kind & GEXI_AM_CATEGORY) == GEXI_AM_LONG && !(s->kind & GEXI_AM_REPLY)) {
		send_long_request(s, src, lc_opt, wait);
		return;
	}
	if ((s->kind & GEXI_AM_CATEGORY) == GEXI_AM_LONG)
		send_long(s, src, NULL); /* A handler does not wait, so the payload is copied. */
	else
		send_medium(s, src, flags);
	if ((uintptr_t)lc_opt > (uintptr_t)GEX_EVENT_GROUP)
		*lc_opt = GEX_EVENT_INVALID;
}

/* ---- what requests and replies share ---- */

void gexi_am_size_fail(const char *what, unsigned category, size_t bytes, unsigned nargs)
{
	if (nargs > GEXI_AM_ARGS_MAX)
		gexi_die("%s: %u arguments; the most is %d", what, nargs, (int)GEXI_AM_ARGS_MAX);
	gexi_die("%s: the payload of %zu bytes is longer than the limit, %zu", what, bytes,
		 gexi_am_max(category));
}

void gexi_am_token_fail(const char *what, gex_Token_t token)
{
	gexi_die("%s: %s", what,
		 token->is_request ? "this request has a reply; a handler replies once"
				   : "the handler of a reply does not reply");
}

static inline void request_poll(gex_Flags_t flags)
{
	if (!(flags & GEX_FLAG_IMMEDIATE))
		gexi_poll_sometimes(GEXI_POLL_EVERY);
}

static void wait_local(struct gexi_event *e)
{
	gexi_wait_zero(&e->pending);
	gexi_event_free(e);
}

/* ---- requests ---- */

int gexi_am_request_short(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t index, gex_Flags_t flags,
			  unsigned int nargs, const uint64_t *words)
{
	uint32_t task = gexi_task_of(tm, rank);

	gexi_check_may_call("gex_AM_RequestShort");
	gexi_lock();
	if (!gexi_credit_take(gexi_peer(task), 1, flags)) {
		gexi_unlock();
		return 1;
	}
	send_short("gex_AM_RequestShort", task, GEXI_AM_SHORT, index, nargs, words);
	request_poll(flags);
	gexi_unlock();
	return 0;
}

static int request_payload(struct gexi_am_send *s, const void *src, gex_Event_t *lc_opt,
			   gex_Flags_t flags)
{
	struct gexi_event *wait;

	gexi_lock();
	if (!gexi_credit_take(gexi_peer(s->task), gexi_credit_cost(s->kind, s->bytes), flags)) {
		gexi_unlock();
		return 1;
	}
	gexi_am_send_payload(s, src, lc_opt, flags, &wait);
	request_poll(flags);
	gexi_unlock();
	if (GEXI_UNLIKELY(wait != NULL))
		wait_local(wait);
	return 0;
}

int gexi_am_request_medium(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t index, const void *src,
			   size_t bytes, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int nargs,
			   const uint64_t *words)
{
	struct gexi_am_send s = {
	    gexi_task_of(tm, rank), GEXI_AM_MEDIUM, index, nargs, words, 0, bytes};

	gexi_am_check("gex_AM_RequestMedium", GEXI_AM_MEDIUM, bytes, nargs);
	gexi_check_lc("gex_AM_RequestMedium", lc_opt, GEXI_LC_REQUEST);
	gexi_check_may_call("gex_AM_RequestMedium");
	gexi_check_local("gex_AM_RequestMedium", src, bytes);
	return request_payload(&s, src, lc_opt, flags);
}

int gexi_am_request_long(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t index, const void *src,
			 size_t bytes, void *dest, gex_Event_t *lc_opt, gex_Flags_t flags,
			 unsigned int nargs, const uint64_t *words)
{
	struct gexi_am_send s = {gexi_task_of(tm, rank),    GEXI_AM_LONG, index, nargs, words,
				 (uint64_t)(uintptr_t)dest, bytes};

	gexi_am_check("gex_AM_RequestLong", GEXI_AM_LONG, bytes, nargs);
	gexi_check_lc("gex_AM_RequestLong", lc_opt, GEXI_LC_REQUEST);
	gexi_check_may_call("gex_AM_RequestLong");
	gexi_check_local("gex_AM_RequestLong", src, bytes);
	gexi_check_bounds("gex_AM_RequestLong", s.task, dest, bytes);
	return request_payload(&s, src, lc_opt, flags);
}

/* ---- replies: in handlers, so the lock is held ---- */

int gexi_am_reply_short(gex_Token_t token, gex_AM_Index_t index, gex_Flags_t flags,
			unsigned int nargs, const uint64_t *words)
{
	gexi_am_check_token("gex_AM_ReplyShort", token);
	send_short("gex_AM_ReplyShort", token->task, GEXI_AM_SHORT | GEXI_AM_REPLY, index, nargs,
		   words);
	return 0;
}

int gexi_am_reply_medium(gex_Token_t token, gex_AM_Index_t index, const void *src, size_t bytes,
			 gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int nargs,
			 const uint64_t *words)
{
	struct gexi_am_send s = {
	    token->task, GEXI_AM_MEDIUM | GEXI_AM_REPLY, index, nargs, words, 0, bytes};
	struct gexi_event *wait;

	gexi_am_check("gex_AM_ReplyMedium", GEXI_AM_MEDIUM, bytes, nargs);
	gexi_check_lc("gex_AM_ReplyMedium", lc_opt, GEXI_LC_REPLY);
	gexi_check_local("gex_AM_ReplyMedium", src, bytes);
	gexi_am_check_token("gex_AM_ReplyMedium", token);
	gexi_am_send_payload(&s, src, lc_opt, flags, &wait);
	return 0;
}

int gexi_am_reply_long(gex_Token_t token, gex_AM_Index_t index, const void *src, size_t bytes,
		       void *dest, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int nargs,
		       const uint64_t *words)
{
	struct gexi_am_send s = {token->task, GEXI_AM_LONG | GEXI_AM_REPLY, index, nargs,
				 words,       (uint64_t)(uintptr_t)dest,    bytes};
	struct gexi_event *wait;

	gexi_am_check("gex_AM_ReplyLong", GEXI_AM_LONG, bytes, nargs);
	gexi_check_lc("gex_AM_ReplyLong", lc_opt, GEXI_LC_REPLY);
	gexi_check_local("gex_AM_ReplyLong", src, bytes);
	gexi_check_bounds("gex_AM_ReplyLong", s.task, dest, bytes);
	gexi_am_check_token("gex_AM_ReplyLong", token);
	gexi_am_send_payload(&s, src, lc_opt, flags, &wait);
	return 0;
}
