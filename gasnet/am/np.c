/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Negotiated payload: prepare, commit.
 *
 * Fast form: prepare hands out the memory that the message is sent from, a slot which the neighbour
 * reads, or a buffer with room for the header in front. A short payload is assembled aside and
 * copied into the packet, as a fixed one is: assembled in the packet it took up to 1.7 times as
 * long, since the receiver polls the packet's first lines and each store fetches them again.
 * Reference form (TGEX_NPAM=ref): prepare allocates, and commit sends as with fixed payload, which
 * copies.
 */
#include <stdlib.h>
#include <string.h>

#include "gasnet/am/am.h"
#include "gasnet/core/team.h"

enum { INLINE_BYTES = 512 };

_Static_assert(offsetof(struct gexi_srcdesc, addr) == offsetof(struct gexi_srcdesc_start, addr) &&
		   offsetof(struct gexi_srcdesc, bytes) ==
		       offsetof(struct gexi_srcdesc_start, bytes),
	       "what gex_AM_SrcDescAddr() and gex_AM_SrcDescSize() read");

static GEXI_COLD void open_fail(const char *what)
{
	gexi_die("%s: this thread has prepared a message that is not committed", what);
}

static inline struct gexi_srcdesc *desc_open(const char *what, unsigned kind)
{
	struct gexi_srcdesc *sd = &gexi_self()->srcdesc[kind & GEXI_AM_REPLY ? 1 : 0];

	if (GEXI_UNLIKELY(sd->is_open))
		open_fail(what);
	if (!(kind & GEXI_AM_REPLY))
		gexi_check_may_call(what);
	sd->kind = kind;
	return sd;
}

static GEXI_COLD void allocate_inline(struct gexi_thread *self)
{
	self->inline_payload = aligned_alloc(64, INLINE_BYTES);
	if (!self->inline_payload)
		gexi_die("no memory for prepared messages");
	memset(self->inline_payload, 0, INLINE_BYTES);
}

/* Get memory of the library for a payload that is not sent as part of a packet. Lock. */
static __attribute__((noinline)) void allocate_payload(struct gexi_srcdesc *sd)
{
	if (!gexi_world.env.npam) {
		sd->addr = aligned_alloc(64, (sd->bytes + 64) & ~(size_t)63);
		if (!sd->addr)
			gexi_die("no memory for a prepared message of %zu bytes", sd->bytes);
		sd->memory = GEXI_SRCDESC_MALLOC;
		return;
	}
	sd->slot = (sd->kind & GEXI_AM_CATEGORY) == GEXI_AM_MEDIUM && gexi_peer(sd->task)->slots
		       ? gexi_slot_take(sd->bytes)
		       : NULL;
	if (sd->slot) {
		sd->addr = sd->slot->payload;
		sd->memory = GEXI_SRCDESC_SLOT;
		return;
	}
	sd->buffer = gexi_buffer_take(sd->bytes);
	sd->addr = sd->buffer->data;
	sd->memory = GEXI_SRCDESC_BUFFER;
}

static GEXI_COLD void range_fail(const char *what, size_t least, size_t most)
{
	gexi_die("%s: least is %zu, most is %zu", what, least, most);
}

static inline __attribute__((always_inline)) gex_AM_SrcDesc_t
prepare_message(const char *what, struct gexi_srcdesc *sd, const void *client_buf, size_t least,
		size_t most, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned nargs)
{
	size_t max = gexi_am_max(sd->kind & GEXI_AM_CATEGORY);
	struct gexi_thread *self = gexi_self();

	gexi_am_check(what, sd->kind & GEXI_AM_CATEGORY, least, nargs);
	gexi_check_lc(what, lc_opt,
		      !client_buf                ? GEXI_LC_NONE
		      : sd->kind & GEXI_AM_REPLY ? GEXI_LC_REPLY
						 : GEXI_LC_REQUEST);
	if (GEXI_UNLIKELY(least > most))
		range_fail(what, least, most);
	sd->bytes = most < max ? most : max;
	sd->nargs = nargs;
	sd->lc_opt = lc_opt;
	sd->flags = flags;
	if (!(sd->kind & GEXI_AM_REPLY)) {
		sd->cost = gexi_credit_cost(sd->kind, sd->bytes);
		gexi_lock();
		if (!(flags & GEX_FLAG_IMMEDIATE)) /* Between prepare and commit nobody polls. */
			gexi_poll_sometimes(GEXI_POLL_EVERY);
		if (!gexi_credit_take(gexi_peer(sd->task), sd->cost, flags)) {
			gexi_unlock();
			return GEX_AM_SRCDESC_NO_OP;
		}
	}
	if (client_buf) {
		sd->addr = (void *)(uintptr_t)client_buf;
		sd->memory = GEXI_SRCDESC_CLIENT;
	} else if (GEXI_LIKELY(gexi_world.env.npam && sd->bytes <= INLINE_BYTES &&
			       sd->bytes <= gexi_am_inline_max(sd->kind, nargs))) {
		if (GEXI_UNLIKELY(!self->inline_payload))
			allocate_inline(self);
		sd->addr = self->inline_payload;
		sd->memory = GEXI_SRCDESC_INLINE;
	} else {
		allocate_payload(sd);
	}
	if (!(sd->kind & GEXI_AM_REPLY))
		gexi_unlock();
	sd->is_open = true;
	return sd;
}

/*
 * Choose memory that is ready for a medium message of `most` bytes: the thread's own for what
 * travels with its header, else the buffer that the last commit has kept. Returns NULL if there is
 * none.
 */
static inline __attribute__((always_inline)) void *
choose_ready_memory(struct gexi_srcdesc *sd, const struct gexi_thread *self, unsigned kind,
		    size_t most, unsigned nargs)
{
	struct gexi_buffer *b = sd->spare;

	if (most <= INLINE_BYTES - sizeof(struct gexi_am_head)) {
		sd->memory = GEXI_SRCDESC_INLINE;
		return most <= gexi_am_inline_max(kind, nargs) ? self->inline_payload : NULL;
	}
	if (!b || most > GEXI_BUFFER_SMALL || most > gexi_am_max(GEXI_AM_MEDIUM) ||
	    most + sizeof(struct gexi_am_head) <= gexi_world.immediate_max ||
	    gexi_peer(sd->task)->slots)
		return NULL;
	sd->memory = GEXI_SRCDESC_BUFFER;
	return b->data;
}

/*
 * Prepare a medium message in memory that is ready. The program writes the payload next, and what
 * comes before it delays the message; what comes behind it, the processor does while the payload's
 * stores drain. So this does the least, and commit gets the next buffer. Returns false, and nothing
 * has happened, if prepare_message() has to do it: a message for other memory, one that has to poll
 * or wait first, and modes with more checks or a lock.
 */
static inline __attribute__((always_inline)) bool
prepare_quickly(struct gexi_srcdesc *sd, unsigned kind, const void *client_buf, size_t least,
		size_t most, gex_Flags_t flags, unsigned nargs)
{
	struct gexi_thread *self = gexi_self();
	bool polls = !(kind & GEXI_AM_REPLY) && !(flags & GEX_FLAG_IMMEDIATE);
	void *ready;

	if (GEXI_UNLIKELY(client_buf || least > most || nargs > GEXI_AM_ARGS_MAX ||
			  gexi_world.is_debug || gexi_world.is_par ||
			  (polls && !((self->injections + 1) % GEXI_POLL_EVERY))))
		return false;
	ready = choose_ready_memory(sd, self, kind, most, nargs);
	if (!ready)
		return false;
	if (!(kind & GEXI_AM_REPLY)) {
		sd->cost = gexi_credit_cost(kind, most);
		if (!pami_quintorus_credit_take(&gexi_peer(sd->task)->credit,
						gexi_world.env.credits, sd->cost))
			return false;
	}
	self->injections += polls;
	sd->addr = ready;
	sd->bytes = most;
	sd->nargs = nargs;
	if (sd->memory == GEXI_SRCDESC_BUFFER) {
		sd->buffer = sd->spare;
		sd->spare = NULL;
	}
	sd->is_open = true;
	return true;
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank, const void *client_buf,
					     size_t least, size_t most, gex_Event_t *lc_opt,
					     gex_Flags_t flags, unsigned int nargs)
{
	struct gexi_srcdesc *sd = desc_open(__func__, GEXI_AM_MEDIUM);

	sd->dest = NULL;
	sd->task = gexi_task_of(tm, rank);
	if (prepare_quickly(sd, GEXI_AM_MEDIUM, client_buf, least, most, flags, nargs))
		return sd;
	return prepare_message(__func__, sd, client_buf, least, most, lc_opt, flags, nargs);
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *client_buf, size_t least,
					   size_t most, gex_Event_t *lc_opt, gex_Flags_t flags,
					   unsigned int nargs)
{
	struct gexi_srcdesc *sd = desc_open(__func__, GEXI_AM_MEDIUM | GEXI_AM_REPLY);

	gexi_am_check_token(__func__, token);
	sd->dest = NULL;
	sd->task = token->task;
	if (prepare_quickly(sd, GEXI_AM_MEDIUM | GEXI_AM_REPLY, client_buf, least, most, flags,
			    nargs))
		return sd;
	return prepare_message(__func__, sd, client_buf, least, most, lc_opt, flags, nargs);
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank, const void *client_buf,
					   size_t least, size_t most, void *dest,
					   gex_Event_t *lc_opt, gex_Flags_t flags,
					   unsigned int nargs)
{
	struct gexi_srcdesc *sd = desc_open(__func__, GEXI_AM_LONG);

	sd->dest = dest;
	sd->task = gexi_task_of(tm, rank);
	return prepare_message(__func__, sd, client_buf, least, most, lc_opt, flags, nargs);
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *client_buf, size_t least,
					 size_t most, void *dest, gex_Event_t *lc_opt,
					 gex_Flags_t flags, unsigned int nargs)
{
	struct gexi_srcdesc *sd = desc_open(__func__, GEXI_AM_LONG | GEXI_AM_REPLY);

	gexi_am_check_token(__func__, token);
	sd->dest = dest;
	sd->task = token->task;
	return prepare_message(__func__, sd, client_buf, least, most, lc_opt, flags, nargs);
}

void gexi_srcdesc_fail(const char *call)
{
	gexi_die("%s: the message is GEX_AM_SRCDESC_NO_OP", call);
}

/* Send a medium message from its slot, or a long one from its buffer. Lock. */
static void commit_allocated(struct gexi_srcdesc *sd, struct gexi_am_send *s)
{
	struct gexi_event *wait;

	if (sd->memory == GEXI_SRCDESC_SLOT) {
		gexi_am_send_slot(s, sd->slot);
	} else if (sd->memory == GEXI_SRCDESC_BUFFER && !gexi_peer(s->task)->is_mapped &&
		   s->bytes) {
		gexi_am_send_buffer(s, sd->buffer, sd->buffer->data);
	} else {
		/* The payload is short, or was copied to a mapped destination, so nothing reads it
		 * after the call. */
		gexi_am_send_payload(s, sd->addr, GEX_EVENT_NOW, sd->flags, &wait);
		if (sd->memory == GEXI_SRCDESC_BUFFER)
			gexi_buffer_release(sd->buffer);
	}
}

/*
 * Send a medium payload that lies in the thread's memory for short ones. Nothing behind it in that
 * memory is the program's, so whole words are copied. Lock.
 */
static inline void commit_inline(const struct gexi_srcdesc *sd, unsigned index, size_t bytes,
				 const uint64_t *words)
{
	struct gexi_peer *peer = gexi_peer(sd->task);
	size_t count = gexi_am_medium_head(sd->nargs) / 8;
	uint64_t head[(GEXI_AM_HEAD_MAX + 15) / 8];

	head[0] = gexi_am_head_word(peer, sd->kind, index, sd->nargs, bytes);
	head[count - 1] = count > 1 ? 0 : head[0];
	for (unsigned i = 0; i < gexi_am_words(sd->nargs); i++)
		head[1 + i] = words[i];
	if (GEXI_UNLIKELY(gexi_world.padded(gexi_world.context[GEXI_MAIN],
					    peer->endpoint[GEXI_MAIN], GEXI_DISPATCH_AM, head,
					    count, sd->addr, bytes) != PAMI_SUCCESS))
		gexi_am_send_headed(sd->task, head, count * 8, sd->addr, bytes);
}

static GEXI_COLD void commit_fail(gex_AM_SrcDesc_t sd, unsigned kind, size_t bytes, unsigned nargs)
{
	static const char what[] = "gex_AM_Commit";

	if (!sd || !sd->is_open)
		gexi_die("%s: the message is not prepared", what);
	if (sd->kind != kind)
		gexi_die("%s: the message was prepared for another category or direction", what);
	if (bytes > sd->bytes)
		gexi_die("%s: %zu bytes; gex_AM_SrcDescSize is %zu", what, bytes, sd->bytes);
	gexi_die("%s: %u arguments; %u were prepared", what, nargs, sd->nargs);
}

/* Send a medium payload from the buffer that prepare handed out. */
static inline void commit_buffer(struct gexi_srcdesc *sd, unsigned index, size_t bytes,
				 const uint64_t *words)
{
	struct gexi_am_send s = {sd->task, sd->kind, index, sd->nargs, words, 0, bytes};

	gexi_lock();
	if (!(s.kind & GEXI_AM_REPLY)) /* The target returns what the message costs. */
		gexi_peer(s.task)->credit.used -= sd->cost - gexi_credit_cost(s.kind, bytes);
	gexi_am_send_buffer(&s, sd->buffer, sd->buffer->data);
	if (!sd->spare && !gexi_world.is_par)
		sd->spare = gexi_buffer_take(GEXI_BUFFER_SMALL);
	gexi_unlock();
	sd->is_open = false;
}

/* Commit a message that is long, or in a slot or memory of the program. */
static __attribute__((noinline)) void commit_other(gex_AM_SrcDesc_t sd, gex_AM_Index_t index,
						   size_t bytes, void *dest, const uint64_t *words)
{
	struct gexi_event *wait = NULL;
	unsigned kind = sd->kind;
	struct gexi_am_send s = {sd->task, kind,
				 index,    sd->nargs,
				 words,    kind & GEXI_AM_LONG ? (uint64_t)(uintptr_t)dest : 0,
				 bytes};

	if (kind & GEXI_AM_LONG)
		gexi_check_bounds("gex_AM_Commit", sd->task, dest, bytes);
	if (GEXI_UNLIKELY(gexi_world.is_debug && sd->dest && sd->dest != dest))
		gexi_die("gex_AM_Commit: the destination is %p; %p was prepared", dest, sd->dest);
	gexi_lock();
	if (!(kind & GEXI_AM_REPLY)) /* The target returns what the message costs. */
		gexi_peer(s.task)->credit.used -= sd->cost - gexi_credit_cost(kind, bytes);
	if (sd->memory == GEXI_SRCDESC_CLIENT || sd->memory == GEXI_SRCDESC_MALLOC)
		gexi_am_send_payload(&s, sd->addr,
				     sd->memory == GEXI_SRCDESC_CLIENT ? sd->lc_opt : NULL,
				     sd->flags, &wait);
	else
		commit_allocated(sd, &s);
	gexi_unlock();
	if (wait) {
		gexi_wait_zero(&wait->pending);
		gexi_event_free(wait);
	}
	if (sd->memory == GEXI_SRCDESC_MALLOC)
		free(sd->addr);
	sd->is_open = false;
}

void gexi_am_commit(gex_AM_SrcDesc_t sd, unsigned kind, gex_AM_Index_t index, size_t bytes,
		    void *dest, unsigned nargs, const uint64_t *words)
{
	if (GEXI_UNLIKELY(!sd || !sd->is_open || sd->kind != kind || bytes > sd->bytes ||
			  nargs != sd->nargs))
		commit_fail(sd, kind, bytes, nargs);
	if (sd->memory == GEXI_SRCDESC_BUFFER && !(kind & GEXI_AM_LONG)) {
		commit_buffer(sd, index, bytes, words);
		return;
	}
	if (sd->memory != GEXI_SRCDESC_INLINE || kind & GEXI_AM_LONG) {
		commit_other(sd, index, bytes, dest, words);
		return;
	}
	gexi_lock(); /* Such a message costs one credit, whatever its length. */
	commit_inline(sd, index, bytes, words);
	gexi_unlock();
	sd->is_open = false;
}
