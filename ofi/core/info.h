/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares what a program asks for with what the provider offers. */
#ifndef OFI_CORE_INFO_H
#define OFI_CORE_INFO_H

#include <rdma/fabric.h>

/* fi_getinfo() of the provider. Returns -FI_ENODATA if the provider lacks something that the hints
 * ask for; the log (FI_LOG_LEVEL=info) says what. */
int ofi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info);

#endif
