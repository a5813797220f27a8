/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll sets: one call that makes progress on queues and counters and says which have news. */
#ifndef OFI_EVENT_POLL_H
#define OFI_EVENT_POLL_H

#include <rdma/fi_eq.h>

int ofi_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **set);

#endif
