/* SPDX-License-Identifier: BSD-3-Clause */
/* The provider as libfabric sees it, its limits, and how its files log. */
#ifndef OFI_CORE_PROVIDER_H
#define OFI_CORE_PROVIDER_H

#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "pami/pami.h"

#define OFI_NAME          "quintorus"
#define OFI_VERSION       FI_VERSION(0, 1)
#define OFI_PROTOCOL      (FI_PROV_SPECIFIC | 0x5174u) /* "Qt" */
#define OFI_IOV_LIMIT     4u
#define OFI_QUEUE         1024u /* size of queues, as endpoints say; they have no bound */
#define OFI_INJECT_BYTES  448u
#define OFI_EAGER_BYTES   8192u /* A longer message is fetched by its receiver. */
#define OFI_SCALABLE_MAX  8u    /* transmit or receive contexts of a scalable endpoint */
#define OFI_MAX_BYTES     (1ull << 40)
#define OFI_ATOMIC_BYTES  448u /* operands and comparands of one atomic operation */
#define OFI_MR_BASIC_BITS (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

extern struct fi_provider ofi_provider;

/* One line; the format without its end of line. */
#define OFI_WARN(subsystem, format, ...)                                                           \
	FI_LOG(&ofi_provider, FI_LOG_WARN, subsystem, format "\n", ##__VA_ARGS__)
#define OFI_INFO(subsystem, format, ...)                                                           \
	FI_LOG(&ofi_provider, FI_LOG_INFO, subsystem, format "\n", ##__VA_ARGS__)

/* The negative libfabric error for a PAMI result; 0 for success. */
int ofi_error_of(pami_result_t result);

#endif
