/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric: there is one, the job's torus. Domains and event queues are opened on it. */
#ifndef OFI_CORE_FABRIC_H
#define OFI_CORE_FABRIC_H

#include <rdma/fabric.h>

#include "drivers/base/atomic.h"

struct ofi_fabric {
	struct fid_fabric fid;
	atomic_u32 users; /* open domains and event queues */
};

int ofi_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

/* Operations that the provider does not implement: each returns an error. */
int ofi_no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int ofi_no_control(struct fid *fid, int command, void *arg);
int ofi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif
