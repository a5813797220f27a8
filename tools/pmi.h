/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * torus run --mpi: PMI-1 for the tasks, so that MPICH (or an MPI of its kind) in a task finds the
 * others. A separate process answers each task over a socket pair, and dies with torus run.
 */
#ifndef TOOLS_PMI_H
#define TOOLS_PMI_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PMI_TASKS_MAX 400u /* two descriptors for each task, within the usual limit */

/* Start the server, before any agent starts. Returns 0 or a negative errno. */
int pmi_start(uint32_t tasks);
/* Is this child of the process the server? It lives as long as torus run. */
bool pmi_is_server(pid_t pid);
/* Set the environment in the process of a task, before it runs its program. Does nothing without
 * pmi_start(). */
void pmi_task_environment(uint32_t task);
/* Close the tasks' ends in this process, after its children have inherited them. */
void pmi_close_ends(void);

#endif
