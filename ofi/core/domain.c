/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/core/domain.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "ofi/core/av.h"
#include "ofi/core/fabric.h"
#include "ofi/core/provider.h"
#include "ofi/core/world.h"
#include "ofi/endpoint/endpoint.h"
#include "ofi/event/cntr.h"
#include "ofi/event/cq.h"
#include "ofi/event/poll.h"
#include "ofi/memory/atomic_op.h"

static int domain_close(struct fid *fid)
{
	struct ofi_domain *d = (struct ofi_domain *)fid;

	if (atomic_load_acquire(&d->users)) {
		OFI_WARN(FI_LOG_DOMAIN, "fi_close of a domain that still has open objects");
		return -FI_EBUSY;
	}
	ofi_mr_table_fini(&d->regions);
	ofi_world_close();
	atomic_fetch_sub_release(&d->fabric->users, 1);
	free(d);
	return 0;
}

static int no_shared_tx(struct fid_domain *d, struct fi_tx_attr *a, struct fid_stx **s, void *c)
{
	return -FI_ENOSYS;
}

static int no_shared_rx(struct fid_domain *d, struct fi_rx_attr *a, struct fid_ep **e, void *c)
{
	return -FI_ENOSYS;
}

static int query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
			struct fi_atomic_attr *attr, uint64_t flags)
{
	size_t size = ofi_atomic_size(type);
	bool compares = flags & FI_COMPARE_ATOMIC, fetches = flags & FI_FETCH_ATOMIC;

	if (!attr)
		return -FI_EINVAL;
	if (!ofi_atomic_can(type, op, compares, fetches))
		return -FI_EOPNOTSUPP;
	attr->size = size;
	attr->count = OFI_ATOMIC_BYTES / size / (compares ? 2 : 1);
	return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = domain_close,
    .bind = ofi_no_bind,
    .control = ofi_no_control,
    .ops_open = ofi_no_ops_open,
};

static struct fi_ops_domain domain_ops = {
    .size = sizeof(struct fi_ops_domain),
    .av_open = ofi_av_open,
    .cq_open = ofi_cq_open,
    .endpoint = ofi_endpoint_open,
    .scalable_ep = ofi_scalable_open,
    .cntr_open = ofi_cntr_open,
    .poll_open = ofi_poll_open,
    .stx_ctx = no_shared_tx,
    .srx_ctx = no_shared_rx,
    .query_atomic = query_atomic,
};

int ofi_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		    void *context)
{
	const struct fi_domain_attr *a = info ? info->domain_attr : NULL;
	struct ofi_domain *d;
	int rc;

	if (!a)
		return -FI_EINVAL;
	d = calloc(1, sizeof *d);
	if (!d)
		return -FI_ENOMEM;
	rc = ofi_world_open();
	if (rc) {
		free(d);
		return rc;
	}
	d->fid.fid.fclass = FI_CLASS_DOMAIN;
	d->fid.fid.context = context;
	d->fid.fid.ops = &fid_ops;
	d->fid.ops = &domain_ops;
	d->fid.mr = &ofi_mr_ops;
	d->fabric = (struct ofi_fabric *)fabric;
	atomic_fetch_add_relaxed(&d->fabric->users, 1);
	d->automatic = a->data_progress == FI_PROGRESS_AUTO;
	d->locks = d->automatic || a->threading != FI_THREAD_DOMAIN;
	d->virtual_addr = a->mr_mode == FI_MR_BASIC ||
			  (a->mr_mode != FI_MR_SCALABLE && a->mr_mode & FI_MR_VIRT_ADDR);
	ofi_mr_table_init(&d->regions, a->mr_mode == FI_MR_BASIC || (a->mr_mode != FI_MR_SCALABLE &&
								     a->mr_mode & FI_MR_PROV_KEY));
	*domain = &d->fid;
	return 0;
}
