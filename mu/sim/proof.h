/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is it proved, from outside, that a task waits in a loop for its memory to change?
 *
 * The process of the task has nothing of this in it, no signal handler and no timer. The simulator
 * stops its thread (ptrace(2)), reads the registers, carries out the instructions that follow on
 * copies (vtime/loop.h), and lets the thread continue. The words that the loop has read then decide
 * alone whether the task still waits. It works on x86-64, for a process whose program has one
 * thread, if the kernel allows the agent to trace it and nobody else does.
 */
#ifndef MU_SIM_PROOF_H
#define MU_SIM_PROOF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SIM_PROOF_WORDS 32u

/* What a loop reads. words: 0: nothing is proved. */
struct sim_proof {
	uint32_t words;
	struct {
		uint64_t at, value; /* the aligned 8 bytes at `at` */
		uint64_t mask;      /* those bits of them that the loop does not store itself */
	} word[SIM_PROOF_WORDS];
};

/*
 * Prove it, or return false. others: threads of the process that are not the program's. The caller
 * is the thread that calls for all processes; the call takes some 50 us and leaves the process
 * running.
 */
bool sim_proof_make(struct sim_proof *p, pid_t pid, unsigned others);
/* True if the loop's words are as they were, so that the task still waits. */
bool sim_proof_holds(const struct sim_proof *p, pid_t pid);

#endif
