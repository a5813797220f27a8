/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/endpoint/scalable.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "ofi/core/fabric.h"
#include "ofi/core/provider.h"

struct ofi_scalable {
	struct fid_ep fid;
	struct ofi_domain *domain;
	size_t first, count; /* contexts of ofi_world */
	atomic_u32 open;     /* transmit and receive contexts, and their aliases */
	struct fi_ops_cm cm;
	struct ofi_ep ep[OFI_SCALABLE_MAX];
};

void ofi_scalable_use(struct ofi_scalable *s)
{
	atomic_fetch_add_relaxed(&s->open, 1);
}

void ofi_scalable_put(struct ofi_scalable *s)
{
	atomic_fetch_sub_release(&s->open, 1);
}

static int scalable_close(struct fid *fid)
{
	struct ofi_scalable *s = (struct ofi_scalable *)fid;

	if (atomic_load_acquire(&s->open))
		return -FI_EBUSY;
	for (size_t i = 0; i < s->count; i++)
		ofi_ep_fini(&s->ep[i]);
	ofi_world_give(s->first, s->count);
	free(s);
	return 0;
}

/* Only the address vector belongs to the whole; queues are bound to the contexts. */
static int scalable_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct ofi_scalable *s = (struct ofi_scalable *)fid;
	int rc = 0;

	if (!other || other->fclass != FI_CLASS_AV)
		return -FI_EINVAL;
	for (size_t i = 0; i < s->count && !rc; i++)
		rc = ofi_ep_bind(&s->ep[i], other, flags);
	return rc;
}

static int scalable_control(struct fid *fid, int command, void *arg)
{
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static int open_context(struct fid_ep *fid, int index, size_t class, struct fid_ep **out,
			void *context, uint64_t transmit_flags, uint64_t receive_flags)
{
	struct ofi_scalable *s = (struct ofi_scalable *)fid;
	struct ofi_handle *h;

	if (index < 0 || (size_t)index >= s->count)
		return -FI_EINVAL;
	h = calloc(1, sizeof *h);
	if (!h)
		return -FI_ENOMEM;
	ofi_handle_init(h, &s->ep[index], class, context, NULL);
	h->transmit_flags = transmit_flags;
	h->receive_flags = receive_flags;
	h->of = s;
	ofi_scalable_use(s);
	*out = &h->fid;
	return 0;
}

static int open_tx(struct fid_ep *fid, int index, struct fi_tx_attr *attr, struct fid_ep **out,
		   void *context)
{
	return open_context(fid, index, FI_CLASS_TX_CTX, out, context, attr ? attr->op_flags : 0,
			    0);
}

static int open_rx(struct fid_ep *fid, int index, struct fi_rx_attr *attr, struct fid_ep **out,
		   void *context)
{
	return open_context(fid, index, FI_CLASS_RX_CTX, out, context, 0,
			    attr ? attr->op_flags : 0);
}

static ssize_t no_cancel(fid_t fid, void *context)
{
	return -FI_ENOENT;
}

static int no_getopt(fid_t fid, int level, int option, void *value, size_t *bytes)
{
	return -FI_ENOPROTOOPT;
}

static int no_setopt(fid_t fid, int level, int option, const void *value, size_t bytes)
{
	return -FI_ENOPROTOOPT;
}

static int scalable_getname(fid_t fid, void *address, size_t *bytes)
{
	return ofi_name_of(((struct ofi_scalable *)fid)->ep[0].self, address, bytes);
}

/* Contexts have queues, the whole has none. */
static ssize_t no_size_left(struct fid_ep *fid)
{
	return -FI_EOPBADSTATE;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = scalable_close,
    .bind = scalable_bind,
    .control = scalable_control,
    .ops_open = ofi_no_ops_open,
};

static struct fi_ops_ep ep_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = no_cancel,
    .getopt = no_getopt,
    .setopt = no_setopt,
    .tx_ctx = open_tx,
    .rx_ctx = open_rx,
    .rx_size_left = no_size_left,
    .tx_size_left = no_size_left,
};

int ofi_scalable_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		      void *context)
{
	size_t tx = info && info->ep_attr ? info->ep_attr->tx_ctx_cnt : 0;
	size_t rx = info && info->ep_attr ? info->ep_attr->rx_ctx_cnt : 0;
	size_t count = tx > rx ? tx : rx;
	struct ofi_scalable *s;
	int first;

	if (!count || count > OFI_SCALABLE_MAX)
		return -FI_EINVAL;
	first = ofi_world_take(count, info->caps & FI_TAGGED);
	if (first < 0)
		return first;
	s = calloc(1, sizeof *s);
	if (!s) {
		ofi_world_give((size_t)first, count);
		return -FI_ENOMEM;
	}
	s->domain = (struct ofi_domain *)domain;
	s->first = (size_t)first;
	s->count = count;
	for (size_t i = 0; i < count; i++)
		ofi_ep_init(&s->ep[i], s->domain, s->first + i, info);
	s->fid.fid.fclass = FI_CLASS_SEP;
	s->fid.fid.context = context;
	s->fid.fid.ops = &fid_ops;
	s->fid.ops = &ep_ops;
	s->cm = ofi_ep_cm;
	s->cm.getname = scalable_getname;
	s->fid.cm = &s->cm;
	*out = &s->fid;
	return 0;
}
