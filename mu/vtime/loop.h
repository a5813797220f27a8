/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a thread wait in a loop for its memory to change?
 *
 * mu_loop_is_waiting() carries out the instructions that follow, on a copy of the registers and
 * with stores kept aside, until the state of the thread repeats: then nothing but a change of its
 * memory from outside ends the loop. If a store was kept aside whose bytes are not in memory yet,
 * the thread has still to come to the loop, and is not said to wait. loop_step.c knows the
 * instructions of x86-64 that compilers make of such loops: loads, stores, integer arithmetic,
 * comparisons, also of floating-point numbers, jumps, calls of functions, fences, atomic operations
 * that store what is there, sched_yield() and sleeps for a time. A loop with another instruction
 * (another system call, a time-stamp counter, a whole vector) is not proved to wait, and neither is
 * a loop that counts its rounds.
 */
#ifndef MU_VTIME_LOOP_H
#define MU_VTIME_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#define MU_LOOP_STEPS 2048u /* instructions that are looked at */
/* System calls. */
#define MU_LOOP_YIELD           24u
#define MU_LOOP_NANOSLEEP       35u
#define MU_LOOP_CLOCK_NANOSLEEP 230u
#define MU_LOOP_WORDS           32u /* aligned words of 8 bytes that a loop stores into */

/* The bits of the flags register that instructions here read or write. */
enum {
	MU_LOOP_CF = 1 << 0,
	MU_LOOP_PF = 1 << 2,
	MU_LOOP_ZF = 1 << 6,
	MU_LOOP_SF = 1 << 7,
	MU_LOOP_OF = 1 << 11,
	MU_LOOP_FLAGS = MU_LOOP_CF | MU_LOOP_PF | MU_LOOP_ZF | MU_LOOP_SF | MU_LOOP_OF,
};

enum { MU_LOOP_RSP = 4 }; /* number of the stack pointer */

struct mu_loop_word {
	uint64_t at, value, mask; /* mask: the bits that were stored */
};

/* Memory that is not this process's own. read: `size` bytes at `at`, 1, 2, 4 or 8; is_load:
 * the loop loads them, so its course depends on them. */
struct mu_loop_memory {
	uint64_t (*read)(struct mu_loop_memory *m, uint64_t at, unsigned size, bool is_load);
};

/* A thread in the middle of a loop. Registers in the order of the machine: rax, rcx, rdx, rbx, rsp,
 * rbp, rsi, rdi, r8 to r15. */
struct mu_loop {
	struct mu_loop_memory *memory; /* NULL: of this process */
	uint64_t reg[16], ip, fs;      /* fs: base of the thread's own variables */
	uint32_t flags, known;         /* known: the flags that the last instructions defined */
	/* Vector registers: the lower 8 bytes, where one number is kept; known: a bit for each. */
	uint64_t vector[16];
	uint32_t vectors_known;
	uint32_t words;
	struct mu_loop_word word[MU_LOOP_WORDS];
};

/* Does the system call change nothing but registers and real time: sched_yield(), or a sleep for a
 * time? reg: as in struct mu_loop. x86-64. */
bool mu_loop_is_pause(uint64_t number, const uint64_t reg[16]);
/* The state behind it: the kernel leaves the address and the flags in two registers. */
void mu_loop_end_pause(struct mu_loop *l);
/* Read memory as the thread would; is_load: as in struct mu_loop_memory. */
uint64_t mu_loop_read(const struct mu_loop *l, uint64_t at, unsigned size, bool is_load);
/* Carry out one instruction. Returns false if loop_step.c does not know it; then the state is
 * undefined. Reads memory as the instruction would. */
bool mu_loop_step(struct mu_loop *l);
/*
 * Carry out instructions until a state repeats. Returns false if none does within MU_LOOP_STEPS, or
 * if the thread has not made all stores. On machines other than x86-64 it always returns false.
 */
bool mu_loop_is_waiting(struct mu_loop *l);

#endif
