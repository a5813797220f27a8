/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/event/cntr.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "ofi/core/fabric.h"
#include "ofi/endpoint/endpoint.h"

static void poll_endpoints(struct ofi_cntr *c)
{
	for (size_t i = 0; i < c->eps; i++)
		ofi_ep_progress(c->ep[i]);
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	struct ofi_cntr *c = (struct ofi_cntr *)fid;

	poll_endpoints(c);
	return atomic_load_acquire(&c->good);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	struct ofi_cntr *c = (struct ofi_cntr *)fid;

	poll_endpoints(c);
	return atomic_load_acquire(&c->bad);
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	atomic_fetch_add_release(&((struct ofi_cntr *)fid)->good, value);
	return 0;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	atomic_store_release(&((struct ofi_cntr *)fid)->good, value);
	return 0;
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	atomic_fetch_add_release(&((struct ofi_cntr *)fid)->bad, value);
	return 0;
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	atomic_store_release(&((struct ofi_cntr *)fid)->bad, value);
	return 0;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct ofi_cntr *c = (struct ofi_cntr *)fid;
	uint64_t bad = atomic_load_acquire(&c->bad);
	double end = PAMI_Wtime(ofi_world.client) + timeout / 1e3;

	for (;;) {
		if (cntr_read(fid) >= threshold)
			return 0;
		if (atomic_load_acquire(&c->bad) != bad)
			return -FI_EAVAIL;
		if (timeout >= 0 && PAMI_Wtime(ofi_world.client) >= end)
			return -FI_ETIMEDOUT;
		if (c->eps == 1)
			ofi_ep_wait(c->ep[0]);
	}
}

static int cntr_close(struct fid *fid)
{
	struct ofi_cntr *c = (struct ofi_cntr *)fid;

	if (atomic_load_acquire(&c->users))
		return -FI_EBUSY;
	atomic_fetch_sub_release(&c->domain->users, 1);
	free(c);
	return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = cntr_close,
    .bind = ofi_no_bind,
    .control = ofi_no_control,
    .ops_open = ofi_no_ops_open,
};

static struct fi_ops_cntr cntr_ops = {
    .size = sizeof(struct fi_ops_cntr),
    .read = cntr_read,
    .readerr = cntr_readerr,
    .add = cntr_add,
    .set = cntr_set,
    .wait = cntr_wait,
    .adderr = cntr_adderr,
    .seterr = cntr_seterr,
};

int ofi_cntr_attach(struct ofi_cntr *c, struct ofi_ep *ep)
{
	for (size_t i = 0; i < c->eps; i++)
		if (c->ep[i] == ep)
			return 0;
	if (c->eps == OFI_CONTEXTS)
		return -FI_EMFILE;
	c->ep[c->eps++] = ep;
	return 0;
}

void ofi_cntr_detach(struct ofi_cntr *c, struct ofi_ep *ep)
{
	for (size_t i = 0; i < c->eps; i++)
		if (c->ep[i] == ep)
			c->ep[i] = c->ep[--c->eps];
}

int ofi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **out,
		  void *context)
{
	struct ofi_cntr *c;

	if (attr && attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
	    attr->wait_obj != FI_WAIT_YIELD)
		return -FI_ENOSYS;
	c = calloc(1, sizeof *c);
	if (!c)
		return -FI_ENOMEM;
	c->domain = (struct ofi_domain *)domain;
	c->fid.fid.fclass = FI_CLASS_CNTR;
	c->fid.fid.context = context;
	c->fid.fid.ops = &fid_ops;
	c->fid.ops = &cntr_ops;
	atomic_fetch_add_relaxed(&c->domain->users, 1);
	*out = &c->fid;
	return 0;
}
