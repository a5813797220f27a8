/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of completed operations. */
#ifndef OFI_EVENT_CNTR_H
#define OFI_EVENT_CNTR_H

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include "ofi/core/domain.h"
#include "ofi/core/world.h"

struct ofi_ep;

struct ofi_cntr {
	struct fid_cntr fid;
	struct ofi_domain *domain;
	atomic_u64 good, bad;
	struct ofi_ep *ep[OFI_CONTEXTS];
	size_t eps;
	atomic_u32 users;
};

int ofi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		  void *context);
int ofi_cntr_attach(struct ofi_cntr *cntr, struct ofi_ep *ep);
void ofi_cntr_detach(struct ofi_cntr *cntr, struct ofi_ep *ep);

/* Count a completion. cntr may be NULL. Any thread. */
static inline void ofi_cntr_count(struct ofi_cntr *cntr, bool good)
{
	if (cntr)
		atomic_fetch_add_release(good ? &cntr->good : &cntr->bad, 1);
}

#endif
