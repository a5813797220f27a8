/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot: ofi_on_message() takes a message in, ofi_receive() posts a receive.
 *
 *                    a receive waits                      no receive waits
 *   short            copied into its buffer               copied; HERE
 *   longer, eager    PAMI stores it in its buffer         PAMI stores it; ARRIVING, then HERE
 *   offered          fetched into its buffer              REMOTE, fetched when a receive takes it
 */
#include "ofi/message/receive.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "ofi/message/wire.h"

#define INLINE_BYTES              128u
#define OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

struct ofi_recv {
	struct ofi_posted posted;
	struct iovec iov[OFI_IOV_LIMIT];
	size_t count, room;
	void *context;
	quintorus_fi_received_fn done; /* takes the outcome; NULL: the queue does */
	uint64_t flags;                /* of its completion: FI_RECV and FI_TAGGED or FI_MSG */
	bool wants, multi;
	bool claimed;     /* It takes a message that a probe has claimed. */
	bool retired;     /* It takes no more messages. */
	bool held;        /* A function below reads it after a completion. */
	size_t used;      /* multi: bytes given to messages */
	unsigned pending; /* messages that are not complete */
	struct ofi_recv *next_free;
};

enum state { HERE, ARRIVING, REMOTE };

struct ofi_message {
	struct ofi_arrived arrived;
	struct ofi_ep *ep;
	struct ofi_recv *recv; /* that takes it */
	enum state state;
	bool discarded;
	uint32_t flags; /* OFI_WIRE_* */
	uint64_t data;
	size_t bytes;              /* as sent */
	size_t take;               /* of them go to the receive */
	size_t kept;               /* memory that it uses while no receive takes it */
	char *at;                  /* of the receive's memory; NULL: scattered */
	char *buffer;              /* here, or where it arrives; inline_bytes, or allocated */
	uint64_t address, request; /* REMOTE */
	struct ofi_message *next_free;
	char inline_bytes[INLINE_BYTES];
};

/* ---- objects ---- */

static struct ofi_recv *recv_get(struct ofi_ep *ep)
{
	struct ofi_recv *r = ep->free_recv;

	if (r)
		ep->free_recv = r->next_free;
	else if ((r = malloc(sizeof *r)))
		r->held = false; /* as that of a receive that has ended */
	return r;
}

static void recv_put(struct ofi_ep *ep, struct ofi_recv *r)
{
	r->next_free = ep->free_recv;
	ep->free_recv = r;
}

static struct ofi_message *message_get(struct ofi_ep *ep)
{
	struct ofi_message *m = ep->free_message;

	if (m)
		ep->free_message = m->next_free;
	else
		m = malloc(sizeof *m);
	if (!m)
		return NULL;
	m->ep = ep;
	m->recv = NULL;
	m->buffer = NULL;
	m->at = NULL;
	m->discarded = false;
	m->kept = 0;
	return m;
}

static void message_put(struct ofi_message *m)
{
	struct ofi_ep *ep = m->ep;

	if (m->buffer != m->inline_bytes)
		free(m->buffer);
	m->next_free = ep->free_message;
	ep->free_message = m;
	if (m->kept)
		ofi_flow_drop(ep, m->kept);
}

/* No receive takes it now; `bytes` of its data are here, or will be. */
static void message_keep(struct ofi_message *m, size_t bytes)
{
	ofi_match_arrive(m->flags & OFI_WIRE_TAGGED ? &m->ep->tagged : &m->ep->untagged,
			 &m->arrived);
	m->kept = sizeof *m + (bytes > INLINE_BYTES ? bytes : 0);
	ofi_flow_keep(m->ep, m->arrived.source, m->kept);
}

/* Return memory for a whole message that no receive has taken, or that does not fit its receive. */
static bool message_buffer(struct ofi_message *m, size_t bytes)
{
	m->buffer = bytes <= INLINE_BYTES ? m->inline_bytes : malloc(bytes);
	return m->buffer;
}

static struct ofi_match *match_of(struct ofi_ep *ep, bool tagged)
{
	return tagged ? &ep->tagged : &ep->untagged;
}

/* ---- completion of receives ---- */

struct outcome {
	uint64_t tag, data;
	uint32_t flags, source;
	size_t sent, stored;
	char *at;
	int status; /* 0 or a negative error */
};

static __attribute__((noinline)) void report_error(struct ofi_ep *ep, const struct ofi_recv *r,
						   const struct outcome *o, uint64_t flags)
{
	struct fi_cq_err_entry e = {.op_context = r->context,
				    .flags = flags,
				    .len = o->stored,
				    .buf = o->at,
				    .data = o->data,
				    .tag = o->tag,
				    .olen = o->sent - o->stored,
				    .err = o->status ? -o->status : FI_ETRUNC};

	e.prov_errno = e.err;
	if (ep->receive.cq)
		ofi_cq_put_error(ep->receive.cq, &e);
	if (!o->status && flags & FI_TAGGED && !r->claimed && ep->unanswered)
		ep->unanswered(ep, o->source, o->tag);
}

static inline void report_success(struct ofi_ep *ep, const struct ofi_recv *r,
				  const struct outcome *o, uint64_t flags)
{
	struct ofi_completion *c = ofi_cq_claim(ep->receive.cq);

	if (!c)
		return;
	c->entry = (struct fi_cq_tagged_entry){.op_context = r->context,
					       .flags = flags,
					       .len = o->stored,
					       .buf = o->at,
					       .data = o->data,
					       .tag = o->tag};
	c->source = o->source;
	c->av = ep->av;
	ofi_cq_publish(ep->receive.cq);
}

static inline void call_done(const struct ofi_recv *r, const struct outcome *o)
{
	struct quintorus_fi_received received = {.tag = o->tag,
						 .data = o->data,
						 .source = o->source,
						 .status = o->status,
						 .sent = o->sent,
						 .stored = o->stored};

	r->done(r->context, &received);
}

static inline void report_outcome(struct ofi_ep *ep, const struct ofi_recv *r,
				  const struct outcome *o, uint64_t flags)
{
	if (r->done)
		call_done(r, o);
	else if (o->status || o->sent > o->stored)
		report_error(ep, r, o, flags);
	else if (r->wants || (flags & FI_MULTI_RECV && ep->receive.cq))
		report_success(ep, r, o, flags);
}

/* Inlined, so that the outcome is not built in memory (event/cq.h says why). */
static inline __attribute__((always_inline)) void
complete_receive(struct ofi_ep *ep, struct ofi_recv *r, const struct outcome *o)
{
	uint64_t flags = r->flags | (o->flags & OFI_WIRE_DATA ? FI_REMOTE_CQ_DATA : 0);
	bool last = !--r->pending && r->retired;

	if (r->multi && last)
		flags |= FI_MULTI_RECV;
	ofi_cntr_count(ep->cntr[OFI_RECEIVES], !o->status && o->sent <= o->stored);
	report_outcome(ep, r, o, flags);
	if (last && !r->held)
		recv_put(ep, r);
}

/* Release r->held. Returns true if the receive still exists and waits for messages. */
static bool release_held(struct ofi_ep *ep, struct ofi_recv *r)
{
	r->held = false;
	if (r->retired && !r->pending)
		recv_put(ep, r);
	else
		return !r->retired;
	return false;
}

static void complete_message(struct ofi_message *m, int status)
{
	struct outcome o = {.tag = m->arrived.tag,
			    .data = m->data,
			    .flags = m->flags,
			    .source = m->arrived.source,
			    .sent = m->bytes,
			    .stored = status ? 0 : m->take,
			    .at = m->at,
			    .status = status};

	complete_receive(m->ep, m->recv, &o);
	message_put(m);
}

/*
 * Give `bytes` of a receive's memory to a message. Returns how many it gets, and where they are if
 * they are in one piece. The receive is retired when it takes no more messages.
 */
static size_t claim_bytes(struct ofi_ep *ep, struct ofi_recv *r, size_t bytes, char **at)
{
	size_t take = bytes < r->room - r->used ? bytes : r->room - r->used;

	*at = r->count == 1 ? (char *)r->iov[0].iov_base + r->used : NULL;
	r->pending++;
	if (r->multi)
		r->used += take;
	r->retired = !r->multi || r->room - r->used < ep->min_multi_recv;
	return take;
}

static void store_bytes(const struct ofi_recv *r, char *at, const void *from, size_t bytes)
{
	DRV_ASSERT(from || !bytes);
	if (!at)
		ofi_scatter(r->iov, r->count, from, bytes);
	else if (bytes)
		memcpy(at, from, bytes);
}

/* ---- messages whose data is still at their sender ---- */

/*
 * The process of a sender has gone, and the job does not report deaths: its launcher ends the job
 * and says which task died of what. Give it time for that, once, since an error here would make
 * MPI end the job first with an internal error.
 */
static void wait_for_launcher(void)
{
	static const struct timespec most = {.tv_nsec = 500000000};
	static atomic_u32 has_waited;

	if (!atomic_exchange_relaxed(&has_waited, 1))
		nanosleep(&most, NULL);
}

static void on_fetched(pami_context_t context, void *cookie, pami_result_t result)
{
	struct ofi_message *m = cookie;
	int status = ofi_error_of(result);

	if (result == PAMI_SHUTDOWN && !ofi_ep_is_dead(m->arrived.source))
		wait_for_launcher();
	if (!status && m->buffer)
		ofi_scatter(m->recv->iov, m->recv->count, m->buffer, m->take);
	ofi_post_finish(m->ep, m->arrived.source, m->request, status);
	complete_message(m, status);
}

/* Fetch what the receive takes of an offered message. */
static void fetch_message(struct ofi_message *m)
{
	char *local = m->at;
	pami_get_simple_t get;
	pami_result_t result;

	if (!local && m->take) {
		m->buffer = malloc(m->take);
		local = m->buffer;
	}
	if (!m->take || !local) {
		on_fetched(m->ep->context, m, m->take ? PAMI_ENOMEM : PAMI_SUCCESS);
		return;
	}
	get = (pami_get_simple_t){
	    .rma = {.dest = m->arrived.source,
		    .bytes = m->take,
		    .cookie = m,
		    .done_fn = on_fetched},
	    .addr = {.local = local, .remote = (void *)(uintptr_t)m->address},
	};
	result = PAMI_Get(m->ep->context, &get);
	if (result != PAMI_SUCCESS)
		on_fetched(m->ep->context, m, result);
}

/* PAMI has stored a message that one packet could not carry. */
static void on_stored(pami_context_t context, void *cookie, pami_result_t result)
{
	struct ofi_message *m = cookie;
	int status = ofi_error_of(result);

	m->state = HERE;
	if (m->discarded) {
		message_put(m);
	} else if (m->recv) {
		if (!status && m->buffer)
			store_bytes(m->recv, m->at, m->buffer, m->take);
		complete_message(m, status);
	} else if (status) { /* The sender has died before a receive took the message. */
		ofi_match_forget(match_of(m->ep, m->flags & OFI_WIRE_TAGGED), &m->arrived);
		message_put(m);
	}
}

/* ---- arrival ---- */

/* Deliver a message that a receive has taken; the message is in no list. */
static void deliver_message(struct ofi_message *m, struct ofi_recv *r)
{
	m->recv = r;
	m->take = claim_bytes(m->ep, r, m->bytes, &m->at);
	switch (m->state) {
	case HERE:
		store_bytes(r, m->at, m->buffer, m->take);
		complete_message(m, 0);
		break;
	case ARRIVING:
		break; /* on_stored() */
	case REMOTE:
		fetch_message(m);
		break;
	}
}

static struct ofi_recv *take_recv(struct ofi_ep *ep, const struct ofi_header *h,
				  pami_endpoint_t origin)
{
	struct ofi_posted *p =
	    ofi_match_take(match_of(ep, h->flags & OFI_WIRE_TAGGED), h->tag, origin);

	return p ? OF(p, struct ofi_recv, posted) : NULL;
}

/* After a claim a receive for several messages stays. */
static void keep_multi(struct ofi_ep *ep, const struct ofi_header *h, struct ofi_recv *r)
{
	ofi_match_post_again(match_of(ep, h->flags & OFI_WIRE_TAGGED), &r->posted);
}

static void receive_short(struct ofi_ep *ep, struct ofi_recv *r, const struct ofi_header *h,
			  const void *data, size_t bytes, pami_endpoint_t origin)
{
	struct outcome o = {
	    .tag = h->tag, .data = h->data, .flags = h->flags, .source = origin, .sent = bytes};

	o.stored = claim_bytes(ep, r, bytes, &o.at);
	store_bytes(r, o.at, data, o.stored);
	if (!r->retired)
		keep_multi(ep, h, r);
	complete_receive(ep, r, &o);
}

static struct ofi_message *new_message(struct ofi_ep *ep, const struct ofi_header *h, size_t bytes,
				       pami_endpoint_t origin)
{
	struct ofi_message *m = message_get(ep);

	if (!m)
		return NULL;
	m->arrived.tag = h->tag;
	m->arrived.source = origin;
	m->flags = h->flags;
	m->data = h->data;
	m->bytes = bytes;
	return m;
}

static void log_drop(const char *why)
{
	OFI_WARN(FI_LOG_EP_DATA, "a message is dropped: %s", why);
}

static void keep_short(struct ofi_ep *ep, const struct ofi_header *h, const void *data,
		       size_t bytes, pami_endpoint_t origin)
{
	struct ofi_message *m = new_message(ep, h, bytes, origin);

	if (!m || !message_buffer(m, bytes)) {
		log_drop("out of memory");
		if (m)
			message_put(m);
		return;
	}
	DRV_ASSERT(data || !bytes);
	m->state = HERE;
	if (bytes)
		memcpy(m->buffer, data, bytes);
	message_keep(m, bytes);
}

static void receive_eager(struct ofi_ep *ep, const struct ofi_header *h, size_t bytes,
			  pami_endpoint_t origin, pami_recv_t *recv)
{
	struct ofi_message *m = new_message(ep, h, bytes, origin);
	struct ofi_recv *r;

	if (!m) {
		log_drop("out of memory");
		return;
	}
	m->state = ARRIVING;
	r = take_recv(ep, h, origin);
	if (r) {
		deliver_message(m, r);
		if (!r->retired)
			keep_multi(ep, h, r);
	}
	if ((!r || m->take < bytes || !m->at) && !message_buffer(m, bytes)) {
		log_drop("out of memory");
		if (r)
			complete_message(m, -FI_ENOMEM);
		else
			message_put(m);
		return;
	}
	if (!r)
		message_keep(m, bytes);
	recv->cookie = m;
	recv->local_fn = on_stored;
	recv->addr = m->buffer ? m->buffer : m->at;
}

static void receive_offer(struct ofi_ep *ep, const struct ofi_offer *o, pami_endpoint_t origin)
{
	struct ofi_message *m = new_message(ep, &o->header, o->bytes, origin);
	struct ofi_recv *r;

	if (!m) {
		ofi_post_finish(ep, origin, o->request, -FI_ENOMEM);
		return;
	}
	m->state = REMOTE;
	m->address = o->address;
	m->request = o->request;
	r = take_recv(ep, &o->header, origin);
	if (!r) {
		message_keep(m, 0);
		return;
	}
	r->held = true;
	deliver_message(m, r);
	if (release_held(ep, r))
		keep_multi(ep, &o->header, r);
}

void ofi_on_message(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct ofi_ep *ep = ((struct ofi_slot *)cookie)->ep;
	const struct ofi_header *h = header;
	struct ofi_recv *r;

	if (!ep || header_bytes < sizeof *h) {
		log_drop("the endpoint is closed");
		return;
	}
	if (h->flags & OFI_WIRE_OFFER) {
		if (header_bytes == sizeof(struct ofi_offer))
			receive_offer(ep, header, origin);
		return;
	}
	if (!data && recv) {
		receive_eager(ep, h, bytes, origin, recv);
		return;
	}
	r = take_recv(ep, h, origin);
	if (r)
		receive_short(ep, r, h, data, bytes, origin);
	else
		keep_short(ep, h, data, bytes, origin);
}

/* ---- what the program asks for ---- */

static void fill_recv(struct ofi_ep *ep, struct ofi_recv *r, const struct ofi_wanted *w,
		      pami_endpoint_t source)
{
	r->posted.tag = w->tag;
	r->posted.ignore = w->ignore;
	r->posted.source = source;
	r->count = w->count;
	for (size_t i = 0; i < w->count; i++)
		r->iov[i] = w->iov[i];
	r->room = w->count == 1 ? w->iov->iov_len : ofi_iov_bytes(w->iov, w->count);
	r->context = w->context;
	r->done = NULL;
	r->flags = FI_RECV | (w->flags & (FI_TAGGED | FI_MSG));
	r->wants = ofi_wants(&ep->receive, w->flags);
	r->multi = w->flags & FI_MULTI_RECV;
	r->claimed = w->flags & FI_CLAIM;
	r->retired = false;
	r->used = 0;
	r->pending = 0;
}

static void discard_message(struct ofi_message *m)
{
	if (m->state == REMOTE)
		ofi_post_finish(m->ep, m->arrived.source, m->request, 0);
	if (m->state == ARRIVING)
		m->discarded = true;
	else
		message_put(m);
}

static void report_no_message(struct ofi_cq *cq, const struct ofi_wanted *w, uint64_t flags)
{
	struct fi_cq_err_entry e = {.op_context = w->context,
				    .flags = flags,
				    .tag = w->tag,
				    .err = FI_ENOMSG,
				    .prov_errno = FI_ENOMSG};

	ofi_cq_put_error(cq, &e);
}

static void report_peek(struct ofi_ep *ep, const struct ofi_wanted *w, const struct ofi_message *m)
{
	uint64_t flags = FI_RECV | (w->flags & (FI_TAGGED | FI_MSG));
	struct ofi_completion *c;

	if (!m) {
		report_no_message(ep->receive.cq, w, flags);
		return;
	}
	c = ofi_cq_claim(ep->receive.cq);
	if (!c)
		return;
	flags |= m->flags & OFI_WIRE_DATA ? FI_REMOTE_CQ_DATA : 0;
	c->entry = (struct fi_cq_tagged_entry){.op_context = w->context,
					       .flags = flags,
					       .len = m->bytes,
					       .data = m->data,
					       .tag = m->arrived.tag};
	c->source = m->arrived.source;
	c->av = ep->av;
	ofi_cq_publish(ep->receive.cq);
}

static ssize_t peek_message(struct ofi_ep *ep, const struct ofi_wanted *w, pami_endpoint_t source)
{
	struct ofi_match *match = match_of(ep, w->flags & FI_TAGGED);
	struct ofi_posted p = {.tag = w->tag, .ignore = w->ignore, .source = source};
	struct ofi_arrived *a = ofi_match_find(match, &p);
	struct ofi_message *m = a ? OF(a, struct ofi_message, arrived) : NULL;

	if (!ep->receive.cq)
		return -FI_ENOCQ;
	if (w->flags & FI_CLAIM && !w->context)
		return -FI_EINVAL;
	report_peek(ep, w, m);
	if (!m || !(w->flags & (FI_CLAIM | FI_DISCARD)))
		return 0;
	ofi_match_forget(match, a);
	if (w->flags & FI_DISCARD)
		discard_message(m);
	else
		((struct fi_context *)w->context)->internal[0] = m;
	return 0;
}

/* Receive or discard the message that an earlier peek claimed under this context. */
static ssize_t take_claimed(struct ofi_ep *ep, const struct ofi_wanted *w, pami_endpoint_t source)
{
	struct ofi_message *m = w->context ? ((struct fi_context *)w->context)->internal[0] : NULL;
	struct ofi_recv *r;

	if (!m)
		return -FI_EINVAL;
	((struct fi_context *)w->context)->internal[0] = NULL; /* It is taken once. */
	if (w->flags & FI_DISCARD) {
		discard_message(m);
		if (ofi_wants(&ep->receive, w->flags))
			ofi_cq_put_own(ep->receive.cq, w->context, FI_RECV | FI_TAGGED);
		return 0;
	}
	r = recv_get(ep);
	if (!r) {
		((struct fi_context *)w->context)->internal[0] = m;
		return -FI_EAGAIN;
	}
	fill_recv(ep, r, w, source);
	r->multi = false;
	if (ep->unanswered)
		ep->unanswered(ep, m->arrived.source, m->arrived.tag);
	deliver_message(m, r);
	return 0;
}

/* Give the receive the messages that are here, and post it if it then takes more. */
static void match_or_post(struct ofi_ep *ep, struct ofi_match *match, struct ofi_recv *r)
{
	struct ofi_arrived *a;

	if (__builtin_expect(!match->arrived_count, 1)) {
		ofi_match_post(match, &r->posted);
		return;
	}
	r->held = true;
	while (!r->retired && (a = ofi_match_find(match, &r->posted))) {
		ofi_match_forget(match, a);
		deliver_message(OF(a, struct ofi_message, arrived), r);
	}
	if (release_held(ep, r))
		ofi_match_post(match, &r->posted);
}

static ssize_t post_receive(struct ofi_ep *ep, const struct ofi_wanted *w, pami_endpoint_t source)
{
	struct ofi_recv *r = recv_get(ep);

	if (!r)
		return -FI_EAGAIN;
	fill_recv(ep, r, w, source);
	match_or_post(ep, match_of(ep, w->flags & FI_TAGGED), r);
	return 0;
}

int ofi_receive_direct(struct ofi_ep *ep, pami_endpoint_t source, uint64_t tag, uint64_t ignore,
		       void *buffer, size_t bytes, quintorus_fi_received_fn done, void *cookie)
{
	struct ofi_recv *r = recv_get(ep);

	if (!r)
		return -FI_EAGAIN;
	r->posted.tag = tag;
	r->posted.ignore = ignore;
	r->posted.source = source;
	r->iov[0] = (struct iovec){buffer, bytes};
	r->count = 1;
	r->room = bytes;
	r->context = cookie;
	r->done = done;
	r->flags = FI_RECV | FI_TAGGED;
	r->wants = r->multi = r->retired = false;
	r->used = 0;
	r->pending = 0;
	match_or_post(ep, &ep->tagged, r);
	return 0;
}

ssize_t ofi_receive(struct ofi_ep *ep, const struct ofi_wanted *w)
{
	pami_endpoint_t source = OFI_ANY_SOURCE;
	ssize_t rc;

	if (ep->directed && w->source != FI_ADDR_UNSPEC) {
		source = ofi_av_endpoint(ep->av, w->source);
		if (source == OFI_NO_ENDPOINT)
			return ofi_ep_no_peer(ep);
	}
	if (!ofi_is_list(w->iov, w->count) || (w->flags & FI_MULTI_RECV && w->count != 1))
		return -FI_EINVAL;
	ofi_ep_lock(ep);
	if (w->flags & FI_PEEK)
		rc = peek_message(ep, w, source);
	else if (w->flags & FI_CLAIM)
		rc = take_claimed(ep, w, source);
	else
		rc = post_receive(ep, w, source);
	ofi_ep_unlock(ep);
	return rc;
}

/* ---- the end of receives ---- */

static void end_posted(struct ofi_ep *ep, struct ofi_match *match, struct ofi_recv *r, int status)
{
	struct outcome o = {.tag = r->posted.tag, .source = OFI_NO_ENDPOINT, .status = status};

	ofi_match_remove(match, &r->posted);
	r->retired = true;
	r->pending++;
	complete_receive(ep, r, &o);
}

static bool cancel_in(struct ofi_ep *ep, struct ofi_match *match, const void *context)
{
	for (struct ofi_link *l = match->posted.next; l != &match->posted; l = l->next) {
		struct ofi_recv *r = OF(l, struct ofi_recv, posted.all);

		if (r->context == context) {
			end_posted(ep, match, r, -FI_ECANCELED);
			return true;
		}
	}
	return false;
}

ssize_t ofi_receive_cancel(struct ofi_ep *ep, void *context)
{
	bool found;

	ofi_ep_lock(ep);
	found = cancel_in(ep, &ep->tagged, context) || cancel_in(ep, &ep->untagged, context);
	ofi_ep_unlock(ep);
	return found ? 0 : -FI_ENOENT;
}

static void end_dead_in(struct ofi_ep *ep, struct ofi_match *match)
{
	struct ofi_link *next;

	for (struct ofi_link *l = match->posted.next; l != &match->posted; l = next) {
		struct ofi_recv *r = OF(l, struct ofi_recv, posted.all);

		next = l->next;
		if (r->posted.source != OFI_ANY_SOURCE && ofi_ep_is_dead(r->posted.source))
			end_posted(ep, match, r, -FI_EHOSTUNREACH);
	}
}

void ofi_receives_end_dead(struct ofi_ep *ep)
{
	end_dead_in(ep, &ep->tagged);
	end_dead_in(ep, &ep->untagged);
}

static void refuse_offers_in(struct ofi_match *match)
{
	for (struct ofi_link *l = match->arrived.next; l != &match->arrived; l = l->next) {
		struct ofi_message *m = OF(l, struct ofi_message, arrived.all);

		if (m->state == REMOTE)
			ofi_post_finish(m->ep, m->arrived.source, m->request, -FI_EHOSTUNREACH);
	}
}

void ofi_receives_refuse(struct ofi_ep *ep)
{
	refuse_offers_in(&ep->tagged);
	refuse_offers_in(&ep->untagged);
}

static void free_lists(struct ofi_match *match)
{
	struct ofi_link *l, *next;

	for (l = match->posted.next; l != &match->posted; l = next) {
		next = l->next;
		free(OF(l, struct ofi_recv, posted.all));
	}
	for (l = match->arrived.next; l != &match->arrived; l = next) {
		struct ofi_message *m = OF(l, struct ofi_message, arrived.all);

		next = l->next;
		if (m->buffer != m->inline_bytes)
			free(m->buffer);
		free(m);
	}
}

void ofi_receives_fini(struct ofi_ep *ep)
{
	free_lists(&ep->tagged);
	free_lists(&ep->untagged);
	while (ep->free_recv) {
		struct ofi_recv *r = ep->free_recv;

		ep->free_recv = r->next_free;
		free(r);
	}
	while (ep->free_message) {
		struct ofi_message *m = ep->free_message;

		ep->free_message = m->next_free;
		free(m);
	}
}

/* ---- receive calls ---- */

static ssize_t receive_call(struct fid_ep *fid, const struct iovec *iov, size_t count,
			    fi_addr_t source, uint64_t tag, uint64_t ignore, void *context,
			    uint64_t flags)
{
	struct ofi_wanted w = {.iov = iov,
			       .count = count,
			       .tag = tag,
			       .ignore = ignore,
			       .source = source,
			       .context = context,
			       .flags = flags};

	return ofi_receive(ofi_handle_of(fid)->ep, &w);
}

ssize_t ofi_msg_recv(struct fid_ep *fid, void *buf, size_t bytes, void *desc, fi_addr_t source,
		     void *context)
{
	struct iovec v = {buf, bytes};

	return receive_call(fid, &v, 1, source, 0, 0, context,
			    FI_MSG | ofi_handle_of(fid)->receive_flags);
}

ssize_t ofi_msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t source, void *context)
{
	return receive_call(fid, iov, count, source, 0, 0, context,
			    FI_MSG | ofi_handle_of(fid)->receive_flags);
}

ssize_t ofi_msg_recvmsg(struct fid_ep *fid, const struct fi_msg *m, uint64_t flags)
{
	if (!m)
		return -FI_EINVAL;
	return receive_call(fid, m->msg_iov, m->iov_count, m->addr, 0, 0, m->context,
			    FI_MSG | flags);
}

ssize_t ofi_tagged_recv(struct fid_ep *fid, void *buf, size_t bytes, void *desc, fi_addr_t source,
			uint64_t tag, uint64_t ignore, void *context)
{
	struct iovec v = {buf, bytes};

	return receive_call(fid, &v, 1, source, tag, ignore, context,
			    FI_TAGGED | ofi_handle_of(fid)->receive_flags);
}

ssize_t ofi_tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t source, uint64_t tag, uint64_t ignore, void *context)
{
	return receive_call(fid, iov, count, source, tag, ignore, context,
			    FI_TAGGED | ofi_handle_of(fid)->receive_flags);
}

ssize_t ofi_tagged_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *m, uint64_t flags)
{
	if (!m)
		return -FI_EINVAL;
	return receive_call(fid, m->msg_iov, m->iov_count, m->addr, m->tag, m->ignore, m->context,
			    FI_TAGGED | flags);
}
