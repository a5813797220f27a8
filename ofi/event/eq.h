/* SPDX-License-Identifier: BSD-3-Clause */
/* Event queues: fi_eq_write() and insertions with FI_EVENT append to them. Any thread. */
#ifndef OFI_EVENT_EQ_H
#define OFI_EVENT_EQ_H

#include <rdma/fi_eq.h>

struct ofi_eq;

int ofi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		void *context);
/* Append an event. Returns 0, -FI_EINVAL if it has more than 256 bytes, or -FI_ENOMEM. */
int ofi_eq_put(struct ofi_eq *eq, uint32_t event, const void *data, size_t bytes);
/* Returns -FI_EAGAIN if the queue has events to read first. */
int ofi_eq_trywait(struct ofi_eq *eq);
/* An object that reports to the queue: until it releases it, fi_close returns -FI_EBUSY. */
void ofi_eq_use(struct ofi_eq *eq);
void ofi_eq_release(struct ofi_eq *eq);

#endif
