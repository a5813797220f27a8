/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_read and fi_write.
 *
 * Where remote addresses are the target's addresses (FI_MR_VIRT_ADDR, FI_MR_BASIC), a write is
 * PAMI_Put and a read PAMI_Get; PAMI checks the pages. Where they are offsets in a region that only
 * the target can find, the target is asked: it checks key, bounds and access, and then fetches what
 * is written or puts what is read. A write is complete when its data is in place.
 */
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofi/message/wire.h"

struct transfer {
	const struct iovec *iov;
	size_t count, bytes;
	fi_addr_t peer;
	uint64_t address, key, data;
	void *context;
	uint64_t flags; /* FI_READ or FI_WRITE, and the call's */
	bool silent;
};

static void on_done(pami_context_t context, void *cookie, pami_result_t result)
{
	ofi_request_end(cookie, ofi_error_of(result));
}

/* The target's side of a transfer that it carries out. */
struct served {
	struct ofi_ep *ep;
	pami_endpoint_t origin;
	uint64_t request, data, bytes;
	bool report; /* completion data for our queue */
};

static void report_data(struct ofi_ep *ep, uint64_t data, size_t bytes, pami_endpoint_t origin)
{
	struct ofi_completion *c = ep->receive.cq ? ofi_cq_claim(ep->receive.cq) : NULL;

	if (!c)
		return;
	c->entry = (struct fi_cq_tagged_entry){
	    .flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, .len = bytes, .data = data};
	c->source = origin;
	c->av = ep->av;
	ofi_cq_publish(ep->receive.cq);
}

static void on_served(pami_context_t context, void *cookie, pami_result_t result)
{
	struct served *s = cookie;
	int status = ofi_error_of(result);

	if (!status && s->report)
		report_data(s->ep, s->data, s->bytes, s->origin);
	ofi_post_finish(s->ep, s->origin, s->request, status);
	free(s);
}

static pami_result_t serve_request(struct ofi_ep *ep, const struct ofi_rma_request *q, void *memory,
				   struct served *s)
{
	pami_rma_t rma = {.dest = s->origin, .bytes = q->bytes, .cookie = s};
	pami_rma_addr_t addr = {.local = memory, .remote = (void *)(uintptr_t)q->local};

	if (q->write) {
		pami_get_simple_t get = {.rma = rma, .addr = addr};

		get.rma.done_fn = on_served;
		return PAMI_Get(ep->context, &get);
	}
	return PAMI_Put(ep->context, &(pami_put_simple_t){
					 .rma = rma, .addr = addr, .put = {.rdone_fn = on_served}});
}

void ofi_on_rma(pami_context_t context, void *slot, const void *header, size_t header_bytes,
		const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct ofi_ep *ep = ((struct ofi_slot *)slot)->ep;
	const struct ofi_rma_request *q = header;
	struct served *s;
	void *memory;

	if (!ep || header_bytes != sizeof *q)
		return;
	memory = ofi_mr_find(ep->domain, q->key, q->offset, q->bytes,
			     q->write ? FI_REMOTE_WRITE : FI_REMOTE_READ);
	s = memory ? malloc(sizeof *s) : NULL;
	if (!s) {
		ofi_post_finish(ep, origin, q->request, memory ? -FI_ENOMEM : -FI_EACCES);
		return;
	}
	*s = (struct served){.ep = ep,
			     .origin = origin,
			     .request = q->request,
			     .data = q->data,
			     .bytes = q->bytes,
			     .report = q->flags & OFI_WIRE_DATA};
	if (serve_request(ep, q, memory, s) != PAMI_SUCCESS)
		on_served(context, s, PAMI_ERROR);
}

void ofi_on_data(pami_context_t context, void *slot, const void *header, size_t header_bytes,
		 const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct ofi_ep *ep = ((struct ofi_slot *)slot)->ep;
	const struct ofi_data *d = header;

	if (ep && header_bytes == sizeof *d)
		report_data(ep, d->data, d->bytes, origin);
}

/* ---- the origin's side ---- */

static struct ofi_request *request_for(struct ofi_ep *ep, pami_endpoint_t peer,
				       const struct transfer *t)
{
	struct ofi_request *r = ofi_request_get(ep);

	if (!r)
		return NULL;
	r->peer = peer;
	r->context = t->context;
	r->flags = FI_RMA | (t->flags & (FI_READ | FI_WRITE));
	r->wants = !t->silent && ofi_wants(&ep->transmit, t->flags);
	r->cntr = ep->cntr[t->flags & FI_READ ? OFI_READS : OFI_WRITES];
	r->bytes = t->bytes;
	r->data = t->data;
	return r;
}

/* Return one piece of local memory for the transfer, or NULL if there is no memory. */
static void *local_memory(struct ofi_request *r, const struct transfer *t)
{
	if (t->count == 1 && !(t->flags & FI_INJECT))
		return t->iov[0].iov_base;
	r->bounce = malloc(t->bytes ? t->bytes : 1);
	if (!r->bounce)
		return NULL;
	if (t->flags & FI_WRITE) {
		ofi_gather(r->bounce, t->iov, t->count, t->bytes);
	} else {
		memcpy(r->result, t->iov, t->count * sizeof *t->iov);
		r->results = t->count;
	}
	return r->bounce;
}

static pami_result_t start_direct(struct ofi_ep *ep, struct ofi_request *r, void *local,
				  const struct transfer *t)
{
	pami_rma_t rma = {.dest = r->peer, .bytes = t->bytes, .cookie = r};
	pami_rma_addr_t addr = {.local = local, .remote = (void *)(uintptr_t)t->address};

	if (t->flags & FI_READ) {
		pami_get_simple_t get = {.rma = rma, .addr = addr};

		get.rma.done_fn = on_done;
		return PAMI_Get(ep->context, &get);
	}
	r->remote_data = t->flags & FI_REMOTE_CQ_DATA;
	return PAMI_Put(ep->context, &(pami_put_simple_t){
					 .rma = rma, .addr = addr, .put = {.rdone_fn = on_done}});
}

static pami_result_t start_asked(struct ofi_ep *ep, struct ofi_request *r, void *local,
				 const struct transfer *t)
{
	struct ofi_rma_request q = {.request = ofi_request_name(r),
				    .key = t->key,
				    .offset = t->address,
				    .bytes = t->bytes,
				    .local = (uint64_t)(uintptr_t)local,
				    .data = t->data,
				    .write = !(t->flags & FI_READ),
				    .flags = t->flags & FI_REMOTE_CQ_DATA ? OFI_WIRE_DATA : 0};

	r->answered_by_peer = true;
	return ofi_post(ep, r->peer, OFI_DISPATCH_RMA, &q, sizeof q) ? PAMI_ERROR : PAMI_SUCCESS;
}

static ssize_t start_transfer(struct ofi_handle *h, const struct transfer *t)
{
	struct ofi_ep *ep = h->ep;
	pami_endpoint_t peer = ofi_av_endpoint(ep->av, t->peer);
	struct ofi_request *r;
	pami_result_t result = PAMI_EAGAIN;
	void *local;

	if (peer == OFI_NO_ENDPOINT)
		return ofi_ep_no_peer(ep);
	if (t->bytes > OFI_MAX_BYTES)
		return -FI_EMSGSIZE;
	if (t->flags & FI_INJECT && t->bytes > OFI_INJECT_BYTES)
		return -FI_EINVAL;
	ofi_ep_lock(ep);
	r = request_for(ep, peer, t);
	local = r ? local_memory(r, t) : NULL;
	if (local || (r && !t->bytes))
		result = ep->domain->virtual_addr ? start_direct(ep, r, local, t)
						  : start_asked(ep, r, local, t);
	if (r && result != PAMI_SUCCESS)
		ofi_request_put(r);
	ofi_ep_unlock(ep);
	return ofi_error_of(result);
}

static ssize_t start_one(struct fid_ep *fid, const void *buf, size_t bytes, fi_addr_t peer,
			 uint64_t address, uint64_t key, uint64_t data, void *context,
			 uint64_t flags, bool silent)
{
	struct iovec v = {(void *)buf, bytes};
	struct transfer t = {.iov = &v,
			     .count = 1,
			     .bytes = bytes,
			     .peer = peer,
			     .address = address,
			     .key = key,
			     .data = data,
			     .context = context,
			     .flags = flags,
			     .silent = silent};

	return start_transfer(ofi_handle_of(fid), &t);
}

static ssize_t start_list(struct fid_ep *fid, const struct iovec *iov, size_t count, fi_addr_t peer,
			  uint64_t address, uint64_t key, uint64_t data, void *context,
			  uint64_t flags)
{
	struct transfer t = {.iov = iov,
			     .count = count,
			     .peer = peer,
			     .address = address,
			     .key = key,
			     .data = data,
			     .context = context,
			     .flags = flags};

	if (!ofi_is_list(iov, count))
		return -FI_EINVAL;
	t.bytes = ofi_iov_bytes(iov, count);
	return start_transfer(ofi_handle_of(fid), &t);
}

static ssize_t start_message(struct fid_ep *fid, const struct fi_msg_rma *m, uint64_t flags)
{
	if (!m || m->rma_iov_count != 1 || !m->rma_iov || !ofi_is_list(m->msg_iov, m->iov_count) ||
	    m->rma_iov[0].len != ofi_iov_bytes(m->msg_iov, m->iov_count))
		return -FI_EINVAL;
	return start_list(fid, m->msg_iov, m->iov_count, m->addr, m->rma_iov[0].addr,
			  m->rma_iov[0].key, m->data, m->context, flags);
}

static uint64_t default_flags(struct fid_ep *fid)
{
	return ofi_handle_of(fid)->transmit_flags & ~(FI_READ | FI_WRITE);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t bytes, void *desc, fi_addr_t peer,
			uint64_t address, uint64_t key, void *context)
{
	return start_one(fid, buf, bytes, peer, address, key, 0, context,
			 FI_READ | (default_flags(fid) & ~FI_INJECT), false);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t peer, uint64_t address, uint64_t key, void *context)
{
	return start_list(fid, iov, count, peer, address, key, 0, context,
			  FI_READ | (default_flags(fid) & ~FI_INJECT));
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *m, uint64_t flags)
{
	return start_message(fid, m,
			     FI_READ | (flags & ~(FI_INJECT | FI_WRITE | FI_REMOTE_CQ_DATA)));
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t bytes, void *desc,
			 fi_addr_t peer, uint64_t address, uint64_t key, void *context)
{
	return start_one(fid, buf, bytes, peer, address, key, 0, context,
			 FI_WRITE | default_flags(fid), false);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t peer, uint64_t address, uint64_t key, void *context)
{
	return start_list(fid, iov, count, peer, address, key, 0, context,
			  FI_WRITE | default_flags(fid));
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *m, uint64_t flags)
{
	return start_message(fid, m, FI_WRITE | (flags & ~FI_READ));
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t bytes, fi_addr_t peer,
			  uint64_t address, uint64_t key)
{
	return start_one(fid, buf, bytes, peer, address, key, 0, NULL, FI_WRITE | FI_INJECT, true);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t bytes, void *desc,
			     uint64_t data, fi_addr_t peer, uint64_t address, uint64_t key,
			     void *context)
{
	return start_one(fid, buf, bytes, peer, address, key, data, context,
			 FI_WRITE | FI_REMOTE_CQ_DATA | default_flags(fid), false);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t bytes, uint64_t data,
			      fi_addr_t peer, uint64_t address, uint64_t key)
{
	return start_one(fid, buf, bytes, peer, address, key, data, NULL,
			 FI_WRITE | FI_INJECT | FI_REMOTE_CQ_DATA, true);
}

struct fi_ops_rma ofi_rma_ops = {
    .size = sizeof(struct fi_ops_rma),
    .read = rma_read,
    .readv = rma_readv,
    .readmsg = rma_readmsg,
    .write = rma_write,
    .writev = rma_writev,
    .writemsg = rma_writemsg,
    .inject = rma_inject,
    .writedata = rma_writedata,
    .injectdata = rma_injectdata,
};
