/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes: no process that a job starts outlives it.
 *
 *   torus run ---> agent (one per host) ---> tasks ---> processes that tasks start
 *
 * PR_SET_PDEATHSIG ties each child to its parent, so killing a parent ends its children. torus run
 * and the agents are also "subreapers": grandchildren that lose their parent become their children,
 * and are killed when the job ends.
 */
#ifndef TOOLS_PROC_H
#define TOOLS_PROC_H

#include <sys/types.h>

/*
 * Make this process the parent of orphans below it. Children that it already has (of a shell that
 * became torus run by exec) do not belong to the job: the functions below leave them out.
 */
void proc_become_reaper(void);

/*
 * Call this in a new child: it gets `sig` when its parent dies. Returns 0, or -ESRCH: the parent
 * (which was `parent` before the fork) is dead already.
 */
int proc_tie_to_parent(pid_t parent, int sig);

/* List up to max children of this process, adopted ones too. Returns how many it found. */
int proc_children(pid_t *pids, int max);

/* Kill (SIGKILL) and reap until no child is left or timeout_ms has passed. Returns how many are
 * left. */
int proc_children_end(int timeout_ms);

/* "signal 11, SIGSEGV (Segmentation fault)" */
const char *proc_signal_text(int sig, char *text, size_t bytes);

/* Set an environment variable to a number, also over an older value. */
void proc_set_number(const char *name, long long number);

#endif
