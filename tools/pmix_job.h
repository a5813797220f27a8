/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * torus run --mpi, for Open MPI: a process that serves PMIx to the tasks (tools/pmix_module.c) and
 * dies with torus run, and the environment by which Open MPI in the tasks finds it and uses the
 * torus.
 */
#ifndef TOOLS_PMIX_JOB_H
#define TOOLS_PMIX_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/plan.h"

/*
 * Start the server, before any agent starts. is_virtual: the tasks also get the library that gives
 * them virtual clocks (ofi/vtime). Returns 0, or -ENOENT: there is no libpmix here, and
 * programs with Open MPI will not find each other (logged); -EPROTO: the server does not start and
 * has said why; other negative errno: it did not start.
 */
int pmix_job_start(const struct plan *p, bool is_virtual);
/* Is this child of the process the server? It lives as long as torus run. */
bool pmix_job_is_server(pid_t pid);
/* Set the environment in the process of a task. Does nothing without pmix_job_start(). */
void pmix_job_environment(uint32_t task);

#endif
