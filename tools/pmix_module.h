/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx server for the tasks of torus run --mpi: a module, since only it needs libpmix. */
#ifndef TOOLS_PMIX_MODULE_H
#define TOOLS_PMIX_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#define PMIX_SERVER_ABI 2u

struct pmix_server_module {
	uint32_t abi;
	/*
	 * Serve `tasks` processes of this machine; PMIx's own threads answer them from now on.
	 * Returns the environment of task 0, which the others share but for PMIX_RANK: an array of
	 * NAME=VALUE that ends with NULL; it belongs to the caller. NULL: an error, which *why
	 * names. apart: the tasks are told that each is on a host of its own.
	 */
	char **(*start)(uint32_t tasks, bool apart, const char **why);
};

#endif
