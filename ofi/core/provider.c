/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry point that libfabric looks for in libquintorus-fi.so. */
#include "ofi/core/provider.h"

#include <rdma/fi_errno.h>
#include <stdio.h>

#include "ofi/core/fabric.h"
#include "ofi/core/info.h"

static void clean_up(void) {}

struct fi_provider ofi_provider = {
    .version = OFI_VERSION,
    .fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
    .name = OFI_NAME,
    .getinfo = ofi_getinfo,
    .fabric = ofi_fabric_open,
    .cleanup = clean_up,
};

int ofi_error_of(pami_result_t result)
{
	switch (result) {
	case PAMI_SUCCESS:
		return 0;
	case PAMI_EAGAIN:
		return -FI_EAGAIN;
	case PAMI_ENOMEM:
		return -FI_ENOMEM;
	case PAMI_SHUTDOWN:
		return -FI_EHOSTUNREACH;
	case PAMI_INVAL:
		return -FI_EINVAL;
	default:
		return -FI_EIO;
	}
}

FI_EXT_INI
{
	uint32_t version = fi_version();

	/* The structures of this interface grow within a major version and change between them. */
	if (FI_MAJOR(version) != FI_MAJOR_VERSION || version < FI_VERSION(1, 5)) {
		fprintf(
		    stderr,
		    "libquintorus-fi.so: built for libfabric %d.%d, and this is %u.%u: build it "
		    "again with this version's headers\n",
		    FI_MAJOR_VERSION, FI_MINOR_VERSION, FI_MAJOR(version), FI_MINOR(version));
		return NULL;
	}
	return &ofi_provider;
}
