/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * torus run --mpi: PMI-1 for the tasks, so that MPICH (and MPIs of its kind) in a task knows the others.
 * A process of its own answers them over a socket pair for each; it dies with torus run.
 */
#ifndef TOOLS_PMI_H
#define TOOLS_PMI_H

#include <stdint.h>

#define PMI_TASKS_MAX 400u /* two descriptors for each, within the usual limit */

/* Before any agent starts. 0 or a negative errno. */
int pmi_start(uint32_t tasks);
/* In a task's process, before it runs its program: the environment. Does nothing without pmi_start(). */
void pmi_task_environment(uint32_t task);
/* Who has handed them on does not need the tasks' ends any more. */
void pmi_forget(void);

#endif
