/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vtime/loop_insn.h: instructions on vector registers that hold one number, in the lower 8 bytes.
 * The others have no influence on it, nor on the flags.
 */
#include "mu/vtime/loop_insn.h"

#include <string.h>

#ifdef __x86_64__

static uint64_t get_vector(struct insn *i, unsigned n)
{
	if (!(i->l->vectors_known >> n & 1))
		i->is_unknown = true;
	return i->l->vector[n];
}

static void set_vector(struct insn *i, unsigned n, uint64_t value)
{
	i->l->vector[n] = value;
	i->l->vectors_known |= 1u << n;
}

static uint64_t get_vector_rm(struct insn *i, unsigned size)
{
	return (i->is_memory ? mu_insn_load(i, i->address, size) : get_vector(i, i->rm)) &
	       mu_insn_mask(size);
}

/* Zero, or not too small for its exponent: a processor may be told to take the others for zero. */
static double number_of(struct insn *i, uint64_t bits, unsigned size)
{
	uint64_t exponents = size == 4 ? 0x7f800000 : 0x7ff0000000000000;
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	if (!(bits & exponents) && (bits & (exponents - 1)) & mu_insn_mask(size) >> 1)
		i->is_unknown = true;
	memcpy(&f, &low, sizeof f);
	memcpy(&d, &bits, sizeof d);
	return size == 4 ? (double)f : d;
}

static void compare_numbers(struct insn *i, unsigned size)
{
	double a = number_of(i, get_vector(i, i->reg) & mu_insn_mask(size), size);
	double b = number_of(i, get_vector_rm(i, size), size);
	uint32_t f = 0;

	if (a < b)
		f = MU_LOOP_CF;
	else if (!(a > b))
		f = a == b ? MU_LOOP_ZF : MU_LOOP_ZF | MU_LOOP_PF | MU_LOOP_CF;
	mu_insn_set_flags(i, f, MU_LOOP_FLAGS);
}

/* The processor raises an exception, as the older encoding of most instructions asks for. */
static void refuse_unaligned(struct insn *i)
{
	if (i->is_memory && i->address & 15)
		i->is_unknown = true;
}

/* The lower 8 bytes of a sum or of a combination of bits do not depend on the others. */
static void combine_vectors(struct insn *i, uint8_t opcode)
{
	uint64_t a, b;

	if (!i->is_memory && i->rm == i->second && (opcode == 0x57 || opcode == 0xef)) {
		set_vector(i, i->reg, 0);
		return;
	}
	refuse_unaligned(i);
	a = get_vector(i, i->second);
	b = get_vector_rm(i, 8);
	switch (opcode) {
	case 0x54:
	case 0xdb:
		set_vector(i, i->reg, a & b);
		break;
	case 0x56:
	case 0xeb:
		set_vector(i, i->reg, a | b);
		break;
	case 0x57:
	case 0xef:
		set_vector(i, i->reg, a ^ b);
		break;
	default:
		set_vector(i, i->reg, a + b);
	}
}

/* Opcodes of two bytes that are one of these with one of its prefixes. */
bool mu_insn_is_vector(uint8_t opcode, uint8_t prefix)
{
	switch (opcode) {
	case 0x10:
		return true;
	case 0x11:
		return prefix >= 0xf2;
	case 0x28:
	case 0x2e:
	case 0x2f:
	case 0x54:
	case 0x56:
	case 0x57:
		return prefix < 0xf2;
	case 0x6f:
	case 0x7e:
		return prefix == 0x66 || prefix == 0xf3;
	case 0x6e:
	case 0xd4:
	case 0xd6:
	case 0xdb:
	case 0xeb:
	case 0xef:
		return prefix == 0x66;
	default:
		return false;
	}
}

static void step_vector(struct insn *i, uint8_t opcode)
{
	i->size = i->rex & 8 ? 8 : 4; /* of an operand that is no vector */
	mu_insn_fetch_modrm(i, 0);
	switch (opcode) {
	case 0x10:
		if (i->prefix == 0xf3 && i->is_memory)
			set_vector(i, i->reg, mu_insn_load(i, i->address, 4));
		else if (i->prefix == 0xf3)
			set_vector(i, i->reg,
				   (get_vector(i, i->second) & ~mu_insn_mask(4)) |
				       get_vector_rm(i, 4));
		else
			set_vector(i, i->reg, get_vector_rm(i, 8));
		break;
	case 0x11:
		if (i->is_memory)
			mu_insn_store(i, i->address, i->prefix == 0xf3 ? 4 : 8,
				      get_vector(i, i->reg));
		else
			i->is_unknown = true;
		break;
	case 0x28:
	case 0x6f:
		if (i->prefix != 0xf3)
			refuse_unaligned(i);
		set_vector(i, i->reg, get_vector_rm(i, 8));
		break;
	case 0x2e:
	case 0x2f:
		compare_numbers(i, i->prefix ? 8 : 4);
		break;
	case 0x6e:
		set_vector(i, i->reg, mu_insn_get_rm(i));
		break;
	case 0x7e:
		if (i->prefix == 0xf3)
			set_vector(i, i->reg, get_vector_rm(i, 8));
		else
			mu_insn_set_rm(i, get_vector(i, i->reg) & mu_insn_mask(i->size));
		break;
	case 0xd6:
		if (i->is_memory)
			mu_insn_store(i, i->address, 8, get_vector(i, i->reg));
		else
			set_vector(i, i->rm, get_vector(i, i->reg));
		break;
	default:
		combine_vectors(i, opcode);
	}
}

void mu_insn_step_vector(struct insn *i, uint8_t opcode)
{
	/* The field "reg" of ModRM: the first source is also the target. */
	i->second =
	    (uint8_t)((mu_loop_read(i->l, i->l->ip, 1, false) >> 3 & 7) | (i->rex & 4) << 1);
	step_vector(i, opcode);
}

/* The newer encoding, whose prefix of two or three bytes has the fields of REX, all but one of them
 * upside down. bytes: of the prefix, behind the first. */
void mu_insn_step_vex(struct insn *i, unsigned bytes)
{
	static const uint8_t prefixes[4] = {0, 0x66, 0xf3, 0xf2};
	uint8_t first = (uint8_t)mu_insn_fetch(i, 1), last = first, opcode;

	i->rex = (uint8_t)(0x40 | (~first >> 7 & 1) << 2);
	if (bytes == 2) {
		last = (uint8_t)mu_insn_fetch(i, 1);
		i->rex |= (uint8_t)((~first >> 6 & 1) << 1 | (~first >> 5 & 1) | last >> 7 << 3);
	}
	i->prefix = prefixes[last & 3];
	i->second = ~(last >> 3) & 15;
	opcode = (uint8_t)mu_insn_fetch(i, 1);
	if ((bytes == 2 && (first & 31) != 1) || last & 4 || !mu_insn_is_vector(opcode, i->prefix))
		i->is_unknown = true;
	else
		step_vector(i, opcode);
}

#endif
