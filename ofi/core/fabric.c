/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/core/fabric.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofi/core/domain.h"
#include "ofi/core/provider.h"
#include "ofi/event/cq.h"
#include "ofi/event/eq.h"

int ofi_no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	return -FI_ENOSYS;
}

int ofi_no_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

int ofi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return -FI_ENOSYS;
}

static int fabric_close(struct fid *fid)
{
	if (atomic_load_acquire(&((struct ofi_fabric *)fid)->users)) {
		OFI_WARN(FI_LOG_FABRIC, "fi_close of a fabric that still has open objects");
		return -FI_EBUSY;
	}
	free(fid);
	return 0;
}

static int no_passive(struct fid_fabric *f, struct fi_info *i, struct fid_pep **p, void *c)
{
	return -FI_ENOSYS;
}

static int no_wait_set(struct fid_fabric *f, struct fi_wait_attr *a, struct fid_wait **w)
{
	OFI_INFO(FI_LOG_FABRIC, "wait sets are not offered: wait for descriptors (FI_WAIT_FD)");
	return -FI_ENOSYS;
}

/* Returns -FI_EAGAIN if one of the queues has an entry already; else the program may wait for the
 * descriptors. */
static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	if (count < 0 || (count && !fids))
		return -FI_EINVAL;
	for (int i = 0; i < count; i++) {
		int rc = 0;

		if (!fids[i])
			return -FI_EINVAL;
		if (fids[i]->fclass == FI_CLASS_CQ)
			rc = ofi_cq_trywait((struct ofi_cq *)fids[i]);
		else if (fids[i]->fclass == FI_CLASS_EQ)
			rc = ofi_eq_trywait((struct ofi_eq *)fids[i]);
		else
			return -FI_EINVAL;
		if (rc)
			return rc;
	}
	return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = fabric_close,
    .bind = ofi_no_bind,
    .control = ofi_no_control,
    .ops_open = ofi_no_ops_open,
};

static struct fi_ops_fabric fabric_ops = {
    .size = sizeof(struct fi_ops_fabric),
    .domain = ofi_domain_open,
    .passive_ep = no_passive,
    .eq_open = ofi_eq_open,
    .wait_open = no_wait_set,
    .trywait = fabric_trywait,
};

int ofi_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	struct ofi_fabric *f;

	if (attr->name && strcmp(attr->name, OFI_NAME))
		return -FI_ENODATA;
	f = calloc(1, sizeof *f);
	if (!f)
		return -FI_ENOMEM;
	f->fid.fid.fclass = FI_CLASS_FABRIC;
	f->fid.fid.context = context;
	f->fid.fid.ops = &fid_ops;
	f->fid.ops = &fabric_ops;
	f->fid.api_version = attr->api_version;
	*fabric = &f->fid;
	return 0;
}
