/* SPDX-License-Identifier: BSD-3-Clause */
/* An instruction of a loop: what loop_step.c and loop_vector.c share. */
#ifndef MU_VTIME_LOOP_INSN_H
#define MU_VTIME_LOOP_INSN_H

#include "mu/vtime/loop.h"

/* Bytes at most that libc keeps for a thread, from where fs points. */
#define MU_INSN_DESCRIPTOR 4096u

/* An instruction while it is decoded and carried out. */
struct insn {
	struct mu_loop *l;
	uint8_t rex;       /* 0: none */
	uint8_t size;      /* of operands: 1, 2, 4 or 8 bytes */
	uint8_t reg, rm;   /* register numbers; rm holds if the operand is no memory */
	uint8_t extension; /* the field "reg" without REX: a part of some opcodes */
	bool is_memory, uses_fs, has_66, is_locked, is_unknown;
	uint8_t prefix; /* that tells instructions on vectors apart: 0, 0x66, 0xf3 or 0xf2 */
	uint8_t second; /* number of the vector that is the first source */
	uint64_t address;
};

/* Ones in the bits of `size` bytes. */
static inline uint64_t mu_insn_mask(unsigned size)
{
	return size == 8 ? UINT64_MAX : (1ull << size * 8) - 1;
}

/* Memory as the loop has left it, and what it stores. */
uint64_t mu_insn_load(struct insn *i, uint64_t at, unsigned size);
void mu_insn_store(struct insn *i, uint64_t at, unsigned size, uint64_t value);
/* The next bytes of the instruction. */
uint64_t mu_insn_fetch(struct insn *i, unsigned size);
/* ModRM with what follows it. behind: bytes of immediate behind that, which an address that is
 * relative to the next instruction needs. */
void mu_insn_fetch_modrm(struct insn *i, unsigned behind);
/* The operand that is a register or memory. */
uint64_t mu_insn_get_rm(struct insn *i);
void mu_insn_set_rm(struct insn *i, uint64_t value);
/* The flags `defined` become those in `flags`. */
void mu_insn_set_flags(struct insn *i, uint32_t flags, uint32_t defined);

/* Is this opcode of two bytes, with this prefix, one of those in loop_vector.c? */
bool mu_insn_is_vector(uint8_t opcode, uint8_t prefix);
/* Carry one out, from ModRM on. */
void mu_insn_step_vector(struct insn *i, uint8_t opcode);
/* The same from the prefix of the newer encoding on. bytes: of the prefix, behind the first. */
void mu_insn_step_vex(struct insn *i, unsigned bytes);

#endif
