/* SPDX-License-Identifier: BSD-3-Clause */
/* A domain: this process in the job. It counts one user of ofi_world. */
#ifndef OFI_CORE_DOMAIN_H
#define OFI_CORE_DOMAIN_H

#include <rdma/fi_domain.h>
#include <stdbool.h>

#include "ofi/core/fabric.h"
#include "ofi/core/lock.h"
#include "ofi/memory/mr.h"

struct ofi_domain {
	struct fid_domain fid;
	struct ofi_fabric *fabric;
	bool locks;        /* Several threads may use one object, so calls take its lock. */
	bool automatic;    /* FI_PROGRESS_AUTO for data: commthreads serve each context. */
	bool virtual_addr; /* Remote addresses are addresses of the target, not offsets. */
	struct ofi_mr_table regions;
	atomic_u32 users; /* open objects of this domain */
};

int ofi_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		    void *context);

#endif
