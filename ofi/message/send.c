/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot: fi_send, fi_tsend and their like. No bench guards it yet.
 *
 *   bytes             how                                        complete when
 *   up to 488         one immediate send                         the call returns
 *   up to 8192        PAMI_Send                                  PAMI has read the buffer
 *   more              an offer; the receiver fetches by PAMI_Get  the receiver says so
 *
 * A send with FI_DELIVERY_COMPLETE or FI_MATCH_COMPLETE is always an offer.
 */
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofi/message/receive.h"
#include "ofi/message/wire.h"

#define LATE (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

struct outgoing {
	const struct iovec *iov;
	size_t count, bytes;
	fi_addr_t to;
	struct ofi_header header;
	void *context;
	uint64_t flags;
	bool silent; /* fi_inject and its like: no completion */
};

/* ---- messages without data ---- */

static void on_posted(pami_context_t context, void *copy, pami_result_t result)
{
	free(copy);
}

int ofi_post(struct ofi_ep *ep, pami_endpoint_t to, enum ofi_dispatch id, const void *header,
	     size_t bytes)
{
	pami_send_t s = {.send = {.header = {(void *)header, bytes}, .dispatch = id, .dest = to}};
	pami_result_t result;

	if (bytes <= ofi_world.immediate_bytes)
		return ofi_error_of(PAMI_Send_immediate(ep->context, &s.send));
	s.events.cookie = s.send.header.iov_base = malloc(bytes);
	if (!s.events.cookie)
		return -FI_ENOMEM;
	memcpy(s.events.cookie, header, bytes);
	s.events.local_fn = on_posted;
	result = PAMI_Send(ep->context, &s);
	if (result != PAMI_SUCCESS)
		free(s.events.cookie);
	return ofi_error_of(result);
}

void ofi_post_finish(struct ofi_ep *ep, pami_endpoint_t to, uint64_t request, int status)
{
	struct ofi_finish f = {.request = request, .status = status};

	ofi_post(ep, to, OFI_DISPATCH_FINISH, &f, sizeof f);
}

void ofi_on_finish(pami_context_t context, void *slot, const void *header, size_t header_bytes,
		   const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct ofi_ep *ep = ((struct ofi_slot *)slot)->ep;
	const struct ofi_finish *f = header;
	struct ofi_request *r;

	if (!ep || header_bytes < sizeof *f)
		return;
	r = ofi_request_named(ep, f->request);
	if (r && r->peer == origin)
		ofi_request_end(r, f->status);
}

/* ---- the three ways ---- */

static int send_short(struct ofi_ep *ep, pami_endpoint_t to, const struct outgoing *o)
{
	pami_send_immediate_t s = {.header = {(void *)&o->header, sizeof o->header},
				   .dispatch = OFI_DISPATCH_MESSAGE,
				   .dest = to};
	char together[512];

	if (o->count == 1) {
		s.data = o->iov[0];
	} else if (o->bytes <= sizeof together) {
		s.data.iov_base = together;
		s.data.iov_len = ofi_gather(together, o->iov, o->count, sizeof together);
	} else {
		return -FI_EINVAL;
	}
	return ofi_error_of(PAMI_Send_immediate(ep->context, &s));
}

static void on_sent(pami_context_t context, void *cookie, pami_result_t result)
{
	ofi_request_end(cookie, ofi_error_of(result));
}

static struct ofi_request *request_for(struct ofi_ep *ep, pami_endpoint_t to,
				       const struct outgoing *o)
{
	struct ofi_request *r = ofi_request_get(ep);

	if (!r)
		return NULL;
	r->peer = to;
	r->context = o->context;
	r->flags = FI_SEND | (o->header.flags & OFI_WIRE_TAGGED ? FI_TAGGED : FI_MSG);
	r->wants = !o->silent && ofi_wants(&ep->transmit, o->flags);
	r->cntr = ep->cntr[OFI_SENDS];
	return r;
}

/* Return one piece of memory that lasts until the send is complete. */
static void *stable_data(struct ofi_request *r, const struct outgoing *o)
{
	if (o->count == 1 && !(o->flags & FI_INJECT))
		return o->iov[0].iov_base;
	r->bounce = malloc(o->bytes ? o->bytes : 1);
	if (r->bounce)
		ofi_gather(r->bounce, o->iov, o->count, o->bytes);
	return r->bounce;
}

static pami_result_t start_eager(struct ofi_ep *ep, struct ofi_request *r, void *data,
				 const struct outgoing *o)
{
	pami_send_t s = {
	    .send = {.header = {r->header, sizeof o->header},
		     .data = {data, o->bytes},
		     .dispatch = OFI_DISPATCH_MESSAGE,
		     .dest = r->peer},
	    .events = {.cookie = r, .local_fn = on_sent},
	};

	_Static_assert(sizeof r->header == sizeof o->header, "a header fits");
	memcpy(r->header, &o->header, sizeof r->header); /* PAMI may read it after this call. */
	return PAMI_Send(ep->context, &s);
}

static pami_result_t start_offer(struct ofi_ep *ep, struct ofi_request *r, void *data,
				 const struct outgoing *o)
{
	struct ofi_offer offer = {.header = o->header,
				  .address = (uint64_t)(uintptr_t)data,
				  .bytes = o->bytes,
				  .request = ofi_request_name(r)};
	pami_send_immediate_t s = {
	    .header = {&offer, sizeof offer}, .dispatch = OFI_DISPATCH_MESSAGE, .dest = r->peer};

	offer.header.flags |= OFI_WIRE_OFFER;
	r->answered_by_peer = true;
	return PAMI_Send_immediate(ep->context, &s);
}

static int send_long(struct ofi_ep *ep, pami_endpoint_t to, const struct outgoing *o, bool eager)
{
	struct ofi_request *r = request_for(ep, to, o);
	pami_result_t result;
	void *data;

	if (!r)
		return -FI_EAGAIN;
	data = stable_data(r, o);
	if (!data && o->bytes) {
		ofi_request_put(r);
		return -FI_EAGAIN;
	}
	result = eager ? start_eager(ep, r, data, o) : start_offer(ep, r, data, o);
	if (result != PAMI_SUCCESS)
		ofi_request_put(r);
	return ofi_error_of(result);
}

/* The receiver told us to hold: the data stays here until a receive takes the message. */
static int send_held(struct ofi_ep *ep, pami_endpoint_t to, const struct outgoing *o)
{
	struct ofi_request *r;
	void *data;
	int rc;

	if (ep->flow.copied > ep->flow.limit || !(r = request_for(ep, to, o)))
		return -FI_EAGAIN;
	data = stable_data(r, o);
	if (!data && o->bytes) {
		ofi_request_put(r);
		return -FI_EAGAIN;
	}
	r->copied = r->bounce ? sizeof *r + o->bytes : 0;
	ep->flow.copied += r->copied;
	rc = ofi_error_of(start_offer(ep, r, data, o));
	if (rc)
		ofi_request_put(r);
	return rc;
}

/*
 * A sender that never polls would not hear that it is to hold. In virtual time a poll without
 * traffic for this endpoint may last long, so none is made.
 */
#define UNPOLLED_MAX 64u

static ssize_t send_message(struct ofi_handle *h, const struct outgoing *o)
{
	struct ofi_ep *ep = h->ep;
	pami_endpoint_t to = ofi_av_endpoint(ep->av, o->to);
	int rc;

	if (__builtin_expect(to == OFI_NO_ENDPOINT || o->bytes > OFI_MAX_BYTES, 0))
		return to == OFI_NO_ENDPOINT ? ofi_ep_no_peer(ep) : -FI_EMSGSIZE;
	ofi_ep_lock(ep);
	if (++ep->unpolled == UNPOLLED_MAX) {
		ep->unpolled = 0;
		if (!ofi_world.is_virtual)
			PAMI_Context_advance(ep->context, 1);
	}
	if (__builtin_expect(ep->flow.holds.count, 0) && ofi_flow_is_held(&ep->flow, to)) {
		rc = o->flags & FI_INJECT && o->bytes > OFI_INJECT_BYTES ? -FI_EMSGSIZE
									 : send_held(ep, to, o);
	} else if (o->bytes <= ep->short_bytes && !(o->flags & LATE)) {
		rc = send_short(ep, to, o);
		if (!rc)
			ofi_ep_sent(ep, ep->cntr[OFI_SENDS], o->context,
				    FI_SEND |
					(o->header.flags & OFI_WIRE_TAGGED ? FI_TAGGED : FI_MSG),
				    !o->silent && ofi_wants(&ep->transmit, o->flags), 0);
	} else if (o->flags & FI_INJECT && o->bytes > OFI_INJECT_BYTES) {
		rc = -FI_EMSGSIZE;
	} else {
		rc = send_long(ep, to, o, o->bytes <= OFI_EAGER_BYTES && !(o->flags & LATE));
	}
	ofi_ep_unlock(ep);
	return rc;
}

/* ---- send calls ---- */

/*
 * The fast path of the most frequent case, without the descriptions that the other cases need.
 * Under the lock. Returns false if nothing was done.
 */
static inline bool send_at_once(struct ofi_ep *ep, pami_endpoint_t to, const void *buf,
				size_t bytes, const struct ofi_header *header, uint64_t flags,
				ssize_t *rc)
{
	pami_send_immediate_t s = {.header = {(void *)header, sizeof *header},
				   .data = {(void *)buf, bytes},
				   .dispatch = OFI_DISPATCH_MESSAGE,
				   .dest = to};

	if (__builtin_expect(bytes > ep->short_bytes || (flags & LATE) || ep->flow.holds.count ||
				 ep->unpolled + 1 == UNPOLLED_MAX,
			     0))
		return false;
	ep->unpolled++;
	*rc = ofi_error_of(PAMI_Send_immediate(ep->context, &s));
	return true;
}

int ofi_send_direct(struct ofi_ep *ep, pami_endpoint_t to, uint64_t tag, uint64_t data,
		    const void *buffer, size_t bytes)
{
	struct ofi_header h = {.tag = tag, .data = data, .flags = OFI_WIRE_TAGGED | OFI_WIRE_DATA};
	ssize_t rc;

	if (!send_at_once(ep, to, buffer, bytes, &h, 0, &rc))
		return -FI_EAGAIN;
	if (!rc)
		ofi_cntr_count(ep->cntr[OFI_SENDS], true);
	return (int)rc;
}

static ssize_t send_any(struct ofi_handle *h, const void *buf, size_t bytes, fi_addr_t to,
			const struct ofi_header *header, void *context, uint64_t flags, bool silent)
{
	struct iovec v = {(void *)buf, bytes};
	struct outgoing o = {.iov = &v,
			     .count = 1,
			     .bytes = bytes,
			     .to = to,
			     .header = *header,
			     .context = context,
			     .flags = flags,
			     .silent = silent};

	return send_message(h, &o);
}

static inline ssize_t send_one(struct fid_ep *fid, const void *buf, size_t bytes, fi_addr_t to,
			       struct ofi_header header, void *context, uint64_t flags, bool silent)
{
	struct ofi_handle *h = ofi_handle_of(fid);
	struct ofi_ep *ep = h->ep;
	pami_endpoint_t endpoint = ofi_av_endpoint(ep->av, to);
	bool sent = false;
	ssize_t rc = 0;

	if (__builtin_expect(endpoint != OFI_NO_ENDPOINT, 1)) {
		ofi_ep_lock(ep);
		sent = send_at_once(ep, endpoint, buf, bytes, &header, flags, &rc);
		if (sent && !rc)
			ofi_ep_sent(ep, ep->cntr[OFI_SENDS], context,
				    FI_SEND | (header.flags & OFI_WIRE_TAGGED ? FI_TAGGED : FI_MSG),
				    !silent && ofi_wants(&ep->transmit, flags), 0);
		ofi_ep_unlock(ep);
	}
	return sent ? rc : send_any(h, buf, bytes, to, &header, context, flags, silent);
}

static ssize_t send_list(struct fid_ep *fid, const struct iovec *iov, size_t count, fi_addr_t to,
			 struct ofi_header header, void *context, uint64_t flags)
{
	struct outgoing o = {.iov = iov,
			     .count = count,
			     .to = to,
			     .header = header,
			     .context = context,
			     .flags = flags};

	if (!ofi_is_list(iov, count))
		return -FI_EINVAL;
	o.bytes = ofi_iov_bytes(iov, count);
	return send_message(ofi_handle_of(fid), &o);
}

static struct ofi_header header_of(uint64_t tag, uint64_t data, uint32_t flags)
{
	return (struct ofi_header){.tag = tag, .data = data, .flags = flags};
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t bytes, void *desc, fi_addr_t to,
			void *context)
{
	return send_one(fid, buf, bytes, to, header_of(0, 0, 0), context,
			ofi_handle_of(fid)->transmit_flags, false);
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t to, void *context)
{
	return send_list(fid, iov, count, to, header_of(0, 0, 0), context,
			 ofi_handle_of(fid)->transmit_flags);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *m, uint64_t flags)
{
	bool data = flags & FI_REMOTE_CQ_DATA;

	if (!m)
		return -FI_EINVAL;
	return send_list(fid, m->msg_iov, m->iov_count, m->addr,
			 header_of(0, data ? m->data : 0, data ? OFI_WIRE_DATA : 0), m->context,
			 flags);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t bytes, fi_addr_t to)
{
	return send_one(fid, buf, bytes, to, header_of(0, 0, 0), NULL, FI_INJECT, true);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t bytes, void *desc,
			    uint64_t data, fi_addr_t to, void *context)
{
	return send_one(fid, buf, bytes, to, header_of(0, data, OFI_WIRE_DATA), context,
			ofi_handle_of(fid)->transmit_flags, false);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t bytes, uint64_t data,
			      fi_addr_t to)
{
	return send_one(fid, buf, bytes, to, header_of(0, data, OFI_WIRE_DATA), NULL, FI_INJECT,
			true);
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t bytes, void *desc,
			   fi_addr_t to, uint64_t tag, void *context)
{
	return send_one(fid, buf, bytes, to, header_of(tag, 0, OFI_WIRE_TAGGED), context,
			ofi_handle_of(fid)->transmit_flags, false);
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t to, uint64_t tag, void *context)
{
	return send_list(fid, iov, count, to, header_of(tag, 0, OFI_WIRE_TAGGED), context,
			 ofi_handle_of(fid)->transmit_flags);
}

static ssize_t tagged_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *m, uint64_t flags)
{
	bool data = flags & FI_REMOTE_CQ_DATA;

	if (!m)
		return -FI_EINVAL;
	return send_list(
	    fid, m->msg_iov, m->iov_count, m->addr,
	    header_of(m->tag, data ? m->data : 0, OFI_WIRE_TAGGED | (data ? OFI_WIRE_DATA : 0)),
	    m->context, flags);
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buf, size_t bytes, fi_addr_t to,
			     uint64_t tag)
{
	return send_one(fid, buf, bytes, to, header_of(tag, 0, OFI_WIRE_TAGGED), NULL, FI_INJECT,
			true);
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buf, size_t bytes, void *desc,
			       uint64_t data, fi_addr_t to, uint64_t tag, void *context)
{
	return send_one(fid, buf, bytes, to, header_of(tag, data, OFI_WIRE_TAGGED | OFI_WIRE_DATA),
			context, ofi_handle_of(fid)->transmit_flags, false);
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buf, size_t bytes, uint64_t data,
				 fi_addr_t to, uint64_t tag)
{
	return send_one(fid, buf, bytes, to, header_of(tag, data, OFI_WIRE_TAGGED | OFI_WIRE_DATA),
			NULL, FI_INJECT, true);
}

struct fi_ops_msg ofi_msg_ops = {
    .size = sizeof(struct fi_ops_msg),
    .recv = ofi_msg_recv,
    .recvv = ofi_msg_recvv,
    .recvmsg = ofi_msg_recvmsg,
    .send = msg_send,
    .sendv = msg_sendv,
    .sendmsg = msg_sendmsg,
    .inject = msg_inject,
    .senddata = msg_senddata,
    .injectdata = msg_injectdata,
};

struct fi_ops_tagged ofi_tagged_ops = {
    .size = sizeof(struct fi_ops_tagged),
    .recv = ofi_tagged_recv,
    .recvv = ofi_tagged_recvv,
    .recvmsg = ofi_tagged_recvmsg,
    .send = tagged_send,
    .sendv = tagged_sendv,
    .sendmsg = tagged_sendmsg,
    .inject = tagged_inject,
    .senddata = tagged_senddata,
    .injectdata = tagged_injectdata,
};
