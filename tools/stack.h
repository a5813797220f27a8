/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes in words where a process is, from outside: its memory is only read, and the process
 * need not cooperate. stack_dw.c does that with libdw (elfutils), as a module that is loaded when a
 * question comes: libqt_stack.so, symbol "stack_describe".
 */
#ifndef TOOLS_STACK_H
#define TOOLS_STACK_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Write one line: "PAMI_Context_advance, called by wait_all (solve.c:31), main (solve.c:60)", or
 * "computes in step (solve.c:12), called by ...". Threads besides the first follow if they are in a
 * call of the library. The process stands still for some milliseconds. Returns 0, or a negative
 * errno with the reason in text.
 */
typedef int (*stack_describe_fn)(pid_t pid, char *text, size_t bytes);

#define STACK_MODULE "stack"
#define STACK_SYMBOL "stack_describe"

#endif
