/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work that a task is spared while it starts. libfabric searches the list of all symbols of the
 * kernel for one that InfiniBand's driver may have: some hundred thousand lines, which the kernel
 * writes anew for each task. Tasks in virtual time use no InfiniBand.
 */
#define _GNU_SOURCE
/* With it the function below would be fopen64, which libfabric does not call. */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ofi/vtime/virtual.h"

VIRTUAL_API FILE *fopen(const char *restrict path, const char *restrict mode)
{
	if (path && !strcmp(path, "/proc/kallsyms") &&
	    virtual_caller_of(__builtin_return_address(0)) == VIRTUAL_SERVICE) {
		errno = ENOENT;
		return NULL;
	}
	return ((__typeof__(&fopen))virtual_next("fopen", NULL))(path, mode);
}
