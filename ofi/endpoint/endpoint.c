/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/endpoint/endpoint.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofi/core/fabric.h"
#include "ofi/endpoint/scalable.h"
#include "ofi/message/receive.h"
#include "ofi/message/wire.h"

#define MIN_MULTI_RECV 64u

bool ofi_ep_is_dead(pami_endpoint_t peer)
{
	pami_task_t task;
	size_t offset;

	PAMI_Endpoint_query(peer, &task, &offset);
	return ofi_world.gone && ofi_world.gone(task);
}

/* ---- progress ---- */

void ofi_ep_progress(struct ofi_ep *ep)
{
	if (ep->locks)
		PAMI_Context_trylock_advancev(&ep->context, 1, 1);
	else
		PAMI_Context_advance(ep->context, 1);
}

void ofi_ep_wait(struct ofi_ep *ep)
{
	/* Sleep without the lock: a holder that sleeps would delay commthreads. */
	if (ep->locks)
		PAMI_Context_trylock_advancev(&ep->context, 1, 100);
	else
		ofi_world.wait(&ep->context, 1, 100);
}

int ofi_ep_go_automatic(struct ofi_ep *ep)
{
	int rc = 0;

	if (ep->enabled && !ep->automatic)
		rc = ofi_world_progress(ep->context, true);
	if (!rc)
		ep->automatic = ep->locks = true;
	return rc;
}

/* ---- completions of operations of ours ---- */

static void report_error(struct ofi_cq *cq, void *context, uint64_t flags, int status)
{
	struct fi_cq_err_entry e = {
	    .op_context = context, .flags = flags, .err = -status, .prov_errno = -status};

	if (cq)
		ofi_cq_put_error(cq, &e);
}

void ofi_ep_sent(struct ofi_ep *ep, struct ofi_cntr *cntr, void *context, uint64_t flags,
		 bool wants, int status)
{
	ofi_cntr_count(cntr, !status);
	if (status)
		report_error(ep->transmit.cq, context, flags, status);
	else if (wants)
		ofi_cq_put_own(ep->transmit.cq, context, flags);
}

/* ---- opening ---- */

static void on_death(pami_context_t context, void *slot)
{
	struct ofi_ep *ep = NULL;

	for (size_t i = 0; i < ofi_world.contexts && !ep; i++)
		if (ofi_world.slot[i].context == context)
			ep = ofi_world.slot[i].ep;
	if (!ep)
		return;
	ofi_flow_end_dead(ep);
	ofi_requests_end_dead(ep);
	ofi_receives_end_dead(ep);
}

static int set_dispatches(struct ofi_slot *slot)
{
	static const pami_dispatch_p2p_function function[OFI_DISPATCHES] = {
	    [OFI_DISPATCH_MESSAGE] = ofi_on_message, [OFI_DISPATCH_FINISH] = ofi_on_finish,
	    [OFI_DISPATCH_RMA] = ofi_on_rma,         [OFI_DISPATCH_ATOMIC] = ofi_on_atomic,
	    [OFI_DISPATCH_ANSWER] = ofi_on_answer,   [OFI_DISPATCH_DATA] = ofi_on_data,
	    [OFI_DISPATCH_FLOW] = ofi_on_flow,
	};

	for (size_t i = 0; i < OFI_DISPATCHES && !slot->dispatches; i++) {
		pami_dispatch_hint_t hints = {.recv_contiguous = PAMI_HINT_ENABLE,
					      .recv_copy = PAMI_HINT_ENABLE};
		pami_dispatch_callback_function f = {.p2p = function[i]};

		if (i == OFI_DISPATCH_MESSAGE)
			hints.queue_immediate = PAMI_HINT_DISABLE;
		if (PAMI_Dispatch_set(slot->context, i, f, slot, hints) != PAMI_SUCCESS)
			return -FI_EIO;
	}
	slot->dispatches = true;
	if (ofi_world.watch)
		ofi_world.watch(slot->context, on_death, NULL);
	return 0;
}

void ofi_ep_init(struct ofi_ep *ep, struct ofi_domain *domain, size_t offset,
		 const struct fi_info *info)
{
	memset(ep, 0, sizeof *ep);
	ep->slot = &ofi_world.slot[offset];
	ep->context = ep->slot->context;
	ep->domain = domain;
	ep->av = &ofi_av_none;
	ep->locks = domain->locks;
	ep->directed = info->caps & FI_DIRECTED_RECV;
	ep->min_multi_recv = MIN_MULTI_RECV;
	ep->short_bytes = ofi_world.immediate_bytes > sizeof(struct ofi_header)
			      ? ofi_world.immediate_bytes - sizeof(struct ofi_header)
			      : 0;
	PAMI_Endpoint_create(ofi_world.client, ofi_world.me, offset, &ep->self);
	ofi_match_init(&ep->tagged);
	ofi_match_init(&ep->untagged);
	ofi_flow_init(&ep->flow);
	atomic_fetch_add_relaxed(&domain->users, 1);
}

int ofi_ep_enable(struct ofi_ep *ep)
{
	int rc;

	if (ep->enabled)
		return 0;
	if (!ep->bound)
		return -FI_ENOAV;
	if (!ep->transmit.cq && !ep->receive.cq && !ep->cntr[OFI_SENDS] && !ep->cntr[OFI_RECEIVES])
		return -FI_ENOCQ;
	PAMI_Context_lock(ep->context);
	rc = set_dispatches(ep->slot);
	if (!rc)
		ep->slot->ep = ep;
	PAMI_Context_unlock(ep->context);
	if (!rc && (ep->automatic || ep->domain->automatic))
		rc = ofi_world_progress(ep->context, true);
	if (rc)
		return rc;
	ep->automatic |= ep->domain->automatic;
	ep->av = ep->bound;
	ep->enabled = true;
	return 0;
}

void ofi_ep_fini(struct ofi_ep *ep)
{
	if (ep->enabled && ep->automatic)
		ofi_world_progress(ep->context, false);
	PAMI_Context_lock(ep->context);
	ofi_receives_refuse(ep);
	ep->slot->ep = NULL;
	PAMI_Context_unlock(ep->context);
	if (ep->transmit.cq) {
		ofi_cq_detach(ep->transmit.cq, ep);
		atomic_fetch_sub_release(&ep->transmit.cq->users, 1);
	}
	if (ep->receive.cq) {
		ofi_cq_detach(ep->receive.cq, ep);
		atomic_fetch_sub_release(&ep->receive.cq->users, 1);
	}
	for (size_t i = 0; i < OFI_COUNTED; i++) {
		if (!ep->cntr[i])
			continue;
		ofi_cntr_detach(ep->cntr[i], ep);
		atomic_fetch_sub_release(&ep->cntr[i]->users, 1);
	}
	if (ep->bound)
		atomic_fetch_sub_release(&ep->bound->users, 1);
	ofi_receives_fini(ep);
	ofi_requests_fini(&ep->requests);
	ofi_flow_fini(&ep->flow);
	ofi_match_fini(&ep->tagged);
	ofi_match_fini(&ep->untagged);
	atomic_fetch_sub_release(&ep->domain->users, 1);
}

/* ---- binding ---- */

static int bind_side(struct ofi_ep *ep, struct ofi_side *side, struct ofi_cq *cq, uint64_t flags)
{
	int rc;

	if (side->cq && side->cq != cq)
		return -FI_EBUSY;
	rc = ofi_cq_attach(cq, ep);
	if (rc)
		return rc;
	if (!side->cq)
		atomic_fetch_add_relaxed(&cq->users, 1);
	side->cq = cq;
	side->selective = flags & FI_SELECTIVE_COMPLETION;
	return 0;
}

static int bind_cq(struct ofi_ep *ep, struct ofi_cq *cq, uint64_t flags)
{
	int rc = 0;

	if (cq->domain != ep->domain)
		return -FI_EINVAL;
	if (!(flags & (FI_TRANSMIT | FI_RECV)))
		return -FI_EBADFLAGS;
	if (flags & FI_TRANSMIT)
		rc = bind_side(ep, &ep->transmit, cq, flags);
	if (!rc && flags & FI_RECV)
		rc = bind_side(ep, &ep->receive, cq, flags);
	return rc;
}

static int bind_cntr(struct ofi_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	static const uint64_t flag[OFI_COUNTED] = {
	    [OFI_SENDS] = FI_SEND,
	    [OFI_RECEIVES] = FI_RECV,
	    [OFI_READS] = FI_READ,
	    [OFI_WRITES] = FI_WRITE,
	};
	int rc;

	if (cntr->domain != ep->domain)
		return -FI_EINVAL;
	if (!flags)
		return -FI_EBADFLAGS;
	for (size_t i = 0; i < OFI_COUNTED; i++)
		if (flags & flag[i] && ep->cntr[i] && ep->cntr[i] != cntr)
			return -FI_EBUSY;
	for (size_t i = 0; i < OFI_COUNTED; i++) {
		if (!(flags & flag[i]) || ep->cntr[i])
			continue;
		/* Only what is counted: the end of the endpoint detaches it. */
		rc = ofi_cntr_attach(cntr, ep);
		if (rc)
			return rc;
		ep->cntr[i] = cntr;
		atomic_fetch_add_relaxed(&cntr->users, 1);
	}
	return 0;
}

int ofi_ep_bind(struct ofi_ep *ep, struct fid *other, uint64_t flags)
{
	if (!other)
		return -FI_EINVAL;
	switch (other->fclass) {
	case FI_CLASS_AV:
		if (((struct ofi_av *)other)->domain != ep->domain)
			return -FI_EINVAL;
		if (ep->bound)
			return -FI_EBUSY;
		ep->bound = (struct ofi_av *)other;
		atomic_fetch_add_relaxed(&ep->bound->users, 1);
		return 0;
	case FI_CLASS_CQ:
		return bind_cq(ep, (struct ofi_cq *)other, flags);
	case FI_CLASS_CNTR:
		return bind_cntr(ep, (struct ofi_cntr *)other, flags);
	case FI_CLASS_EQ:
		return 0; /* An endpoint without connections has no events. */
	default:
		return -FI_EINVAL;
	}
}

/* ---- what the program calls ---- */

static int handle_close(struct fid *fid)
{
	struct ofi_handle *h = (struct ofi_handle *)fid;

	if (h->of) {
		ofi_scalable_put(h->of);
	} else if (h->alias) {
		atomic_fetch_sub_release(&h->ep->aliases, 1);
	} else {
		size_t offset = (size_t)(h->ep->slot - ofi_world.slot);

		if (atomic_load_acquire(&h->ep->aliases))
			return -FI_EBUSY;
		ofi_ep_fini(h->ep);
		ofi_world_give(offset, 1);
		free(h->ep);
	}
	free(h);
	return 0;
}

static int handle_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct ofi_handle *h = (struct ofi_handle *)fid;

	return ofi_ep_bind(h->ep, other, flags);
}

static int make_alias(struct ofi_handle *h, const struct fi_alias *a)
{
	struct ofi_handle *alias;

	if (!a || !a->fid)
		return -FI_EINVAL;
	alias = malloc(sizeof *alias);
	if (!alias)
		return -FI_ENOMEM;
	*alias = *h;
	alias->alias = true;
	if (h->of)
		ofi_scalable_use(h->of);
	else
		atomic_fetch_add_relaxed(&h->ep->aliases, 1);
	if (a->flags & FI_TRANSMIT)
		alias->transmit_flags = a->flags & ~FI_TRANSMIT;
	if (a->flags & FI_RECV)
		alias->receive_flags = a->flags & ~FI_RECV;
	*a->fid = &alias->fid.fid;
	return 0;
}

static int operation_flags(struct ofi_handle *h, uint64_t *flags, bool set)
{
	uint64_t side = flags ? *flags & (FI_TRANSMIT | FI_RECV) : 0;
	uint64_t *of = side == FI_TRANSMIT ? &h->transmit_flags : &h->receive_flags;

	if (side != FI_TRANSMIT && side != FI_RECV)
		return -FI_EINVAL;
	if (set)
		*of = *flags & ~side;
	else
		*flags = *of;
	return 0;
}

static int handle_control(struct fid *fid, int command, void *arg)
{
	struct ofi_handle *h = (struct ofi_handle *)fid;

	switch (command) {
	case FI_ENABLE:
		return ofi_ep_enable(h->ep);
	case FI_ALIAS:
		return make_alias(h, arg);
	case FI_GETOPSFLAG:
		return operation_flags(h, arg, false);
	case FI_SETOPSFLAG:
		return operation_flags(h, arg, true);
	default:
		return -FI_ENOSYS;
	}
}

static ssize_t handle_cancel(fid_t fid, void *context)
{
	return ofi_receive_cancel(((struct ofi_handle *)fid)->ep, context);
}

static int getopt_size(fid_t fid, int level, int option, void *value, size_t *bytes)
{
	const struct ofi_ep *ep = ((struct ofi_handle *)fid)->ep;
	size_t v;

	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	if (!value || !bytes)
		return -FI_EINVAL;
	switch (option) {
	case FI_OPT_MIN_MULTI_RECV:
		v = ep->min_multi_recv;
		break;
	case FI_OPT_CM_DATA_SIZE:
		v = 0;
		break;
	default:
		return -FI_ENOPROTOOPT;
	}
	if (*bytes < sizeof v)
		return -FI_ETOOSMALL;
	memcpy(value, &v, sizeof v);
	*bytes = sizeof v;
	return 0;
}

static int setopt_size(fid_t fid, int level, int option, const void *value, size_t bytes)
{
	struct ofi_ep *ep = ((struct ofi_handle *)fid)->ep;

	if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (!value || bytes != sizeof ep->min_multi_recv)
		return -FI_EINVAL;
	memcpy(&ep->min_multi_recv, value, bytes);
	return 0;
}

static int no_tx_ctx(struct fid_ep *e, int i, struct fi_tx_attr *a, struct fid_ep **t, void *c)
{
	return -FI_ENOSYS;
}

static int no_rx_ctx(struct fid_ep *e, int i, struct fi_rx_attr *a, struct fid_ep **r, void *c)
{
	return -FI_ENOSYS;
}

/* Operations wait in lists without a bound, so the whole queue is always left. */
static ssize_t size_left(struct fid_ep *fid)
{
	return ((struct ofi_handle *)fid)->ep->enabled ? (ssize_t)OFI_QUEUE : -FI_EOPBADSTATE;
}

int ofi_name_of(pami_endpoint_t endpoint, void *address, size_t *bytes)
{
	struct ofi_name name = {
	    .magic = OFI_NAME_MAGIC, .endpoint = endpoint, .job = ofi_world.job};
	size_t room = bytes ? *bytes : 0;

	if (!bytes)
		return -FI_EINVAL;
	*bytes = sizeof name;
	if (room < sizeof name)
		return -FI_ETOOSMALL;
	if (!address)
		return -FI_EINVAL;
	memcpy(address, &name, sizeof name);
	return 0;
}

static int handle_getname(fid_t fid, void *address, size_t *bytes)
{
	return ofi_name_of(((struct ofi_handle *)fid)->ep->self, address, bytes);
}

static int no_setname(fid_t fid, void *address, size_t bytes)
{
	return -FI_ENOSYS;
}

static int no_getpeer(struct fid_ep *ep, void *address, size_t *bytes)
{
	return -FI_ENOSYS;
}

static int no_connect(struct fid_ep *ep, const void *address, const void *data, size_t bytes)
{
	return -FI_ENOSYS;
}

static int no_listen(struct fid_pep *ep)
{
	return -FI_ENOSYS;
}

static int no_accept(struct fid_ep *ep, const void *data, size_t bytes)
{
	return -FI_ENOSYS;
}

static int no_reject(struct fid_pep *ep, fid_t handle, const void *data, size_t bytes)
{
	return -FI_ENOSYS;
}

static int no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	return -FI_ENOSYS;
}

static int no_join(struct fid_ep *ep, const void *address, uint64_t flags, struct fid_mc **mc,
		   void *context)
{
	return -FI_ENOSYS;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = handle_close,
    .bind = handle_bind,
    .control = handle_control,
    .ops_open = ofi_no_ops_open,
};

static struct fi_ops_ep ep_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = handle_cancel,
    .getopt = getopt_size,
    .setopt = setopt_size,
    .tx_ctx = no_tx_ctx,
    .rx_ctx = no_rx_ctx,
    .rx_size_left = size_left,
    .tx_size_left = size_left,
};

const struct fi_ops_cm ofi_ep_cm = {
    .size = sizeof(struct fi_ops_cm),
    .setname = no_setname,
    .getname = handle_getname,
    .getpeer = no_getpeer,
    .connect = no_connect,
    .listen = no_listen,
    .accept = no_accept,
    .reject = no_reject,
    .shutdown = no_shutdown,
    .join = no_join,
};

void ofi_handle_init(struct ofi_handle *h, struct ofi_ep *ep, size_t class, void *context,
		     const struct fi_info *info)
{
	h->ep = ep;
	h->fid.fid.fclass = class;
	h->fid.fid.context = context;
	h->fid.fid.ops = &fid_ops;
	h->fid.ops = &ep_ops;
	h->fid.cm = (struct fi_ops_cm *)&ofi_ep_cm;
	h->fid.msg = &ofi_msg_ops;
	h->fid.tagged = &ofi_tagged_ops;
	h->fid.rma = &ofi_rma_ops;
	h->fid.atomic = &ofi_atomic_ops;
	if (info && info->tx_attr)
		h->transmit_flags = info->tx_attr->op_flags;
	if (info && info->rx_attr)
		h->receive_flags = info->rx_attr->op_flags;
}

int ofi_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		      void *context)
{
	struct ofi_handle *h;
	struct ofi_ep *ep;
	int offset;

	if (!info || (info->ep_attr && info->ep_attr->type != FI_EP_RDM && info->ep_attr->type))
		return -FI_EINVAL;
	offset = ofi_world_take(1, info->caps & FI_TAGGED);
	if (offset < 0)
		return offset;
	h = calloc(1, sizeof *h);
	ep = calloc(1, sizeof *ep);
	if (!h || !ep) {
		free(h);
		free(ep);
		ofi_world_give((size_t)offset, 1);
		return -FI_ENOMEM;
	}
	ofi_ep_init(ep, (struct ofi_domain *)domain, (size_t)offset, info);
	ofi_handle_init(h, ep, FI_CLASS_EP, context, info);
	*out = &h->fid;
	return 0;
}
