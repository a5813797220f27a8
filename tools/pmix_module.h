/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx server for the tasks of torus run --mpi: a module, since only it needs libpmix. */
#ifndef TOOLS_PMIX_MODULE_H
#define TOOLS_PMIX_MODULE_H

#include <stdint.h>

#define PMIX_SERVER_ABI 3u
/* The name of a host in the job's description and in the environment of its tasks. */
#define PMIX_HOST_FORMAT "quintorus%u"

struct pmix_server_module {
	uint32_t abi;
	/*
	 * Serve `tasks` processes of this machine; PMIx's own threads answer them from now on.
	 * host[task], below `hosts`, is the host that a task is told to be on; each has a task.
	 * Returns the environment of task 0, which the others share but for PMIX_RANK and
	 * PMIX_HOSTNAME: an array of NAME=VALUE that ends with NULL; it belongs to the caller.
	 * NULL: an error, which *why names.
	 */
	char **(*start)(uint32_t tasks, uint32_t hosts, const uint32_t host[], const char **why);
};

#endif
