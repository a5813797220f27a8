/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes: nothing a job starts may outlive it.
 *
 *   torus run ---> agent (one per host) ---> tasks ---> whatever they start
 *
 * Each arrow is tied by PR_SET_PDEATHSIG, so a killed parent takes its children along; torus run
 * and the agents are also "subreapers": grandchildren that lose their parent come to them, and are
 * killed when the job ends.
 */
#ifndef TOOLS_PROC_H
#define TOOLS_PROC_H

#include <sys/types.h>

/*
 * From now on orphans below this process become its children. Children it has already (of a shell
 * that became us by exec) are not the job's: the functions below leave them out.
 */
void proc_become_reaper(void);

/*
 * In a fresh child: get `sig` when the parent dies. Returns 0, or -ESRCH: the parent (who was
 * `parent` before the fork) is dead already.
 */
int proc_tie_to_parent(pid_t parent, int sig);

/* Up to max children of this process, adopted ones too; returns how many it found. */
int proc_children(pid_t *pids, int max);

/* SIGKILL and reap until no child is left or timeout_ms passed. Returns how many are left. */
int proc_children_end(int timeout_ms);

/* "signal 11, SIGSEGV (Segmentation fault)" */
const char *proc_signal_text(int sig, char *text, size_t bytes);

#endif
