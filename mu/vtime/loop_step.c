/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vtime/loop.h: one instruction after the other. The encoding is that of the manual of the
 * processor (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2): prefixes,
 * opcode, ModRM, SIB, displacement, immediate.
 */
#include "mu/vtime/loop_insn.h"

#include <stddef.h>

/*
 * The loop's own loads have read, or will read, the same bytes; no sanitizer needs to check them.
 */
#define READS_AS_PROGRAM __attribute__((no_sanitize("address", "thread", "undefined")))

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, R11 = 11 };

READS_AS_PROGRAM uint64_t mu_loop_read(const struct mu_loop *l, uint64_t at, unsigned size,
				       bool is_load)
{
	if (l->memory)
		return l->memory->read(l->memory, at, size, is_load);
	switch (size) {
	case 1:
		return *(const volatile uint8_t *)at;
	case 2:
		return *(const volatile uint16_t *)at;
	case 4:
		return *(const volatile uint32_t *)at;
	default:
		return *(const volatile uint64_t *)at;
	}
}

#ifdef __x86_64__

static int64_t sign_extend(uint64_t value, unsigned size)
{
	unsigned unused = 64 - size * 8;

	return (int64_t)(value << unused) >> unused;
}

/* ---- memory ---- */

static struct mu_loop_word *find_word(struct mu_loop *l, uint64_t at)
{
	for (uint32_t i = 0; i < l->words; i++)
		if (l->word[i].at == at)
			return &l->word[i];
	return NULL;
}

uint64_t mu_insn_load(struct insn *i, uint64_t at, unsigned size)
{
	uint64_t value = mu_loop_read(i->l, at, size, true);
	unsigned shift = (unsigned)(at & 7) * 8;
	const struct mu_loop_word *w;

	if (!i->l->words)
		return value;
	w = find_word(i->l, at & ~7ull);
	if (w)
		value = (value & ~(w->mask >> shift)) | (w->value & w->mask) >> shift;
	if ((at & 7) + size > 8) {
		w = find_word(i->l, (at & ~7ull) + 8);
		if (w)
			value = (value & ~(w->mask << (64 - shift))) | (w->value & w->mask)
									   << (64 - shift);
	}
	return value & mu_insn_mask(size);
}

static void store_bits(struct insn *i, uint64_t at, uint64_t value, uint64_t mask)
{
	struct mu_loop *l = i->l;
	struct mu_loop_word *w = find_word(l, at);

	if (!mask)
		return;
	if (!w) {
		if (l->words == MU_LOOP_WORDS) {
			i->is_unknown = true;
			return;
		}
		w = &l->word[l->words++];
		*w = (struct mu_loop_word){.at = at};
	}
	w->value = (w->value & ~mask) | (value & mask);
	w->mask |= mask;
}

void mu_insn_store(struct insn *i, uint64_t at, unsigned size, uint64_t value)
{
	unsigned shift = (unsigned)(at & 7) * 8;

	store_bits(i, at & ~7ull, value << shift, mu_insn_mask(size) << shift);
	if ((at & 7) + size > 8)
		store_bits(i, (at & ~7ull) + 8, value >> (64 - shift),
			   mu_insn_mask(size) >> (64 - shift));
}

/* ---- the bytes of the instruction ---- */

uint64_t mu_insn_fetch(struct insn *i, unsigned size)
{
	uint64_t value = mu_loop_read(i->l, i->l->ip, size, false);

	i->l->ip += size;
	return value;
}

static int64_t fetch_signed(struct insn *i, unsigned size)
{
	return sign_extend(mu_insn_fetch(i, size), size);
}

/* An immediate operand: of the operand's size, but 4 bytes with 8. */
static uint64_t fetch_immediate(struct insn *i)
{
	return (uint64_t)fetch_signed(i, i->size == 8 ? 4 : i->size) & mu_insn_mask(i->size);
}

void mu_insn_fetch_modrm(struct insn *i, unsigned behind)
{
	uint8_t m = (uint8_t)mu_insn_fetch(i, 1), mod = m >> 6;
	const uint64_t *reg = i->l->reg;

	i->extension = m >> 3 & 7;
	i->reg = (uint8_t)(i->extension | (i->rex & 4) << 1);
	i->rm = (uint8_t)((m & 7) | (i->rex & 1) << 3);
	i->is_memory = mod != 3;
	if (!i->is_memory)
		return;
	if ((m & 7) == 4) {
		uint8_t sib = (uint8_t)mu_insn_fetch(i, 1);
		unsigned index = (sib >> 3 & 7u) | (i->rex & 2u) << 2,
			 base = (sib & 7u) | (i->rex & 1u) << 3;

		i->address = index == 4 ? 0 : reg[index] << (sib >> 6);
		if ((sib & 7) == 5 && !mod)
			i->address += (uint64_t)fetch_signed(i, 4);
		else
			i->address += reg[base];
	} else if ((m & 7) == 5 && !mod) {
		int64_t displacement = fetch_signed(i, 4);

		i->address = i->l->ip + behind + (uint64_t)displacement;
	} else {
		i->address = reg[i->rm];
	}
	if (mod == 1)
		i->address += (uint64_t)fetch_signed(i, 1);
	else if (mod == 2)
		i->address += (uint64_t)fetch_signed(i, 4);
	if (i->uses_fs)
		i->address += i->l->fs;
}

/* ---- operands ---- */

/* Without REX, byte registers 4 to 7 are the second bytes of the first four. */
static bool is_second_byte(const struct insn *i, unsigned n, unsigned size)
{
	return size == 1 && !i->rex && n >= 4 && n < 8;
}

static uint64_t get_register(const struct insn *i, unsigned n, unsigned size)
{
	if (is_second_byte(i, n, size))
		return i->l->reg[n - 4] >> 8 & 0xff;
	return i->l->reg[n] & mu_insn_mask(size);
}

static void set_register(struct insn *i, unsigned n, unsigned size, uint64_t value)
{
	uint64_t *r = &i->l->reg[n];

	if (is_second_byte(i, n, size))
		i->l->reg[n - 4] = (i->l->reg[n - 4] & ~0xff00ull) | (value & 0xff) << 8;
	else if (size >= 4)
		*r = value & mu_insn_mask(size); /* 4 bytes clear the upper half */
	else
		*r = (*r & ~mu_insn_mask(size)) | (value & mu_insn_mask(size));
}

static uint64_t get_rm_sized(struct insn *i, unsigned size)
{
	return i->is_memory ? mu_insn_load(i, i->address, size) : get_register(i, i->rm, size);
}

uint64_t mu_insn_get_rm(struct insn *i)
{
	return get_rm_sized(i, i->size);
}

/*
 * An atomic operation may be a load, as an addition of 0, or fail, as an attempt to take a lock.
 * One that changes memory is left out: another thread may take part. In the thread's own descriptor
 * libc marks that the thread may be cancelled in the system call that follows.
 */
static void store_locked(struct insn *i, uint64_t value)
{
	if (i->address - i->l->fs < MU_INSN_DESCRIPTOR)
		mu_insn_store(i, i->address, i->size, value);
	else if (value != mu_insn_load(i, i->address, i->size))
		i->is_unknown = true;
}

void mu_insn_set_rm(struct insn *i, uint64_t value)
{
	if (i->is_locked)
		store_locked(i, value);
	else if (i->is_memory)
		mu_insn_store(i, i->address, i->size, value);
	else
		set_register(i, i->rm, i->size, value);
}

static void push(struct insn *i, uint64_t value)
{
	i->l->reg[RSP] -= 8;
	mu_insn_store(i, i->l->reg[RSP], 8, value);
}

static uint64_t pop(struct insn *i)
{
	uint64_t value = mu_insn_load(i, i->l->reg[RSP], 8);

	i->l->reg[RSP] += 8;
	return value;
}

/* ---- arithmetic ---- */

void mu_insn_set_flags(struct insn *i, uint32_t flags, uint32_t defined)
{
	i->l->flags = (i->l->flags & ~defined) | (flags & defined);
	i->l->known |= defined;
}

static void forget_flags(struct insn *i, uint32_t undefined)
{
	i->l->flags &= ~undefined;
	i->l->known &= ~undefined;
}

static uint32_t flags_of(const struct insn *i, uint64_t result)
{
	uint32_t f = 0;

	if (!(result & mu_insn_mask(i->size)))
		f |= MU_LOOP_ZF;
	if (result >> (i->size * 8 - 1) & 1)
		f |= MU_LOOP_SF;
	if (!(__builtin_popcountll(result & 0xff) & 1))
		f |= MU_LOOP_PF;
	return f;
}

enum { ADD, OR, ADC, SBB, AND, SUB, XOR, CMP };

/* Returns the result, and sets the flags. */
static uint64_t calculate(struct insn *i, unsigned what, uint64_t a, uint64_t b)
{
	uint64_t mask = mu_insn_mask(i->size), r = 0, carry = 0;
	uint32_t carries = 0;
	bool overflows = false;

	if (what == ADC || what == SBB) {
		carry = i->l->flags & MU_LOOP_CF;
		if (!(i->l->known & MU_LOOP_CF))
			i->is_unknown = true;
	}
	switch (what) {
	case ADD:
	case ADC:
		r = (a + b + carry) & mask;
		carries = carry ? r <= a : r < a;
		overflows = (~(a ^ b) & (a ^ r)) >> (i->size * 8 - 1) & 1;
		break;
	case SUB:
	case SBB:
	case CMP:
		r = (a - b - carry) & mask;
		carries = carry ? a <= b : a < b;
		overflows = ((a ^ b) & (a ^ r)) >> (i->size * 8 - 1) & 1;
		break;
	case OR:
		r = a | b;
		break;
	case AND:
		r = a & b;
		break;
	case XOR:
		r = a ^ b;
		break;
	default:
		i->is_unknown = true;
	}
	mu_insn_set_flags(i, flags_of(i, r) | carries | (overflows ? MU_LOOP_OF : 0),
			  MU_LOOP_FLAGS);
	return r;
}

enum { SHL = 4, SHR, SAL, SAR };

static void shift(struct insn *i, unsigned count)
{
	unsigned bits = i->size * 8u;
	uint64_t a = mu_insn_get_rm(i), r;
	uint32_t carries;

	count &= i->size == 8 ? 63 : 31;
	if (!count) { /* 4 bytes clear the upper half even if nothing is shifted */
		if (!i->is_memory)
			set_register(i, i->rm, i->size, a);
		return;
	}
	if (count >= bits || (i->extension != SHL && i->extension != SHR && i->extension != SAR)) {
		i->is_unknown = true;
		return;
	}
	if (i->extension == SHL) {
		r = a << count & mu_insn_mask(i->size);
		carries = a >> (bits - count) & 1;
	} else {
		r = i->extension == SHR ? a >> count : (uint64_t)(sign_extend(a, i->size) >> count);
		r &= mu_insn_mask(i->size);
		carries = a >> (count - 1) & 1;
	}
	mu_insn_set_rm(i, r);
	mu_insn_set_flags(i, flags_of(i, r) | carries, MU_LOOP_FLAGS & ~MU_LOOP_OF);
	forget_flags(i, MU_LOOP_OF);
}

/* The flags that a condition reads, by the upper three bits of its number. */
static const uint32_t condition_flags[8] = {MU_LOOP_OF,
					    MU_LOOP_CF,
					    MU_LOOP_ZF,
					    MU_LOOP_CF | MU_LOOP_ZF,
					    MU_LOOP_SF,
					    MU_LOOP_PF,
					    MU_LOOP_SF | MU_LOOP_OF,
					    MU_LOOP_ZF | MU_LOOP_SF | MU_LOOP_OF};

static bool holds_condition(struct insn *i, unsigned number)
{
	uint32_t reads = condition_flags[number >> 1 & 7], f = i->l->flags;
	bool sign_differs = !(f & MU_LOOP_SF) != !(f & MU_LOOP_OF), holds;

	if (reads & ~i->l->known)
		i->is_unknown = true;
	switch (number >> 1 & 7) {
	case 6:
		holds = sign_differs;
		break;
	case 7:
		holds = (f & MU_LOOP_ZF) || sign_differs;
		break;
	default:
		holds = f & reads;
	}
	return holds != (number & 1);
}

/* ---- opcodes ---- */

/* Opcodes 0x00 to 0x3d: eight operations in six forms each. */
static void step_arithmetic(struct insn *i, uint8_t opcode)
{
	unsigned what = opcode >> 3, form = opcode & 7;
	uint64_t r;

	if (form > 5) {
		i->is_unknown = true;
		return;
	}
	if (!(form & 1))
		i->size = 1;
	if (form >= 4) {
		r = calculate(i, what, get_register(i, RAX, i->size), fetch_immediate(i));
		if (what != CMP)
			set_register(i, RAX, i->size, r);
		return;
	}
	mu_insn_fetch_modrm(i, 0);
	if (form >= 2) {
		r = calculate(i, what, get_register(i, i->reg, i->size), mu_insn_get_rm(i));
		if (what != CMP)
			set_register(i, i->reg, i->size, r);
	} else {
		r = calculate(i, what, mu_insn_get_rm(i), get_register(i, i->reg, i->size));
		if (what != CMP)
			mu_insn_set_rm(i, r);
	}
}

static void step_arithmetic_immediate(struct insn *i, uint8_t opcode)
{
	unsigned bytes;
	uint64_t b, r;

	if (opcode == 0x80)
		i->size = 1;
	bytes = opcode == 0x81 ? (i->size == 8 ? 4 : i->size) : 1;
	mu_insn_fetch_modrm(i, bytes);
	b = (uint64_t)fetch_signed(i, bytes) & mu_insn_mask(i->size);
	r = calculate(i, i->extension, mu_insn_get_rm(i), b);
	if (i->extension != CMP)
		mu_insn_set_rm(i, r);
}

static void set_quotient(struct insn *i, uint64_t quotient, uint64_t rest)
{
	set_register(i, RAX, i->size, quotient);
	set_register(i, RDX, i->size, rest);
	forget_flags(i, MU_LOOP_FLAGS);
}

/* Loops that wait for room in a ring divide by its size. What the processor refuses is unknown. */
static void step_divide(struct insn *i, uint64_t by)
{
	uint64_t low = get_register(i, RAX, i->size), high = get_register(i, RDX, i->size);

	if (i->size < 4 || high >= by) {
		i->is_unknown = true;
	} else if (i->size == 4) {
		low |= high << 32;
		set_quotient(i, low / by, low % by);
	} else {
		unsigned __int128 whole = (unsigned __int128)high << 64 | low;

		set_quotient(i, (uint64_t)(whole / by), (uint64_t)(whole % by));
	}
}

/* The dividend fits the operand: what compilers make of a division of integers. */
static void step_divide_signed(struct insn *i, uint64_t by)
{
	int64_t low = sign_extend(get_register(i, RAX, i->size), i->size),
		b = sign_extend(by, i->size);
	uint64_t high = get_register(i, RDX, i->size);

	if (i->size < 4 || high != (low < 0 ? mu_insn_mask(i->size) : 0) || !b || b == -1)
		i->is_unknown = true;
	else
		set_quotient(i, (uint64_t)(low / b), (uint64_t)(low % b));
}

static void step_unary(struct insn *i, uint8_t opcode)
{
	uint64_t a;

	if (opcode == 0xf6)
		i->size = 1;
	/* The immediate of TEST is known to follow only once ModRM is read: look ahead. */
	mu_insn_fetch_modrm(i, (mu_loop_read(i->l, i->l->ip, 1, false) >> 3 & 7)
				   ? 0
				   : (i->size == 8 ? 4 : i->size));
	a = mu_insn_get_rm(i);
	switch (i->extension) {
	case 0:
		calculate(i, AND, a, fetch_immediate(i));
		break;
	case 2:
		mu_insn_set_rm(i, ~a & mu_insn_mask(i->size));
		break;
	case 3:
		mu_insn_set_rm(i, calculate(i, SUB, 0, a));
		break;
	case 6:
		step_divide(i, a);
		break;
	case 7:
		step_divide_signed(i, a);
		break;
	default:
		i->is_unknown = true;
	}
}

/* 0xfe and 0xff: increment, decrement, calls and jumps by a register. */
static void step_group5(struct insn *i, uint8_t opcode)
{
	uint32_t carry = i->l->flags & MU_LOOP_CF, carry_known = i->l->known & MU_LOOP_CF;

	if (opcode == 0xfe)
		i->size = 1;
	mu_insn_fetch_modrm(i, 0);
	if (i->extension <= 1) {
		mu_insn_set_rm(i, calculate(i, i->extension ? SUB : ADD, mu_insn_get_rm(i), 1));
		i->l->flags = (i->l->flags & ~(uint32_t)MU_LOOP_CF) | carry;
		i->l->known = (i->l->known & ~(uint32_t)MU_LOOP_CF) | carry_known;
	} else if (opcode == 0xff && (i->extension == 2 || i->extension == 4)) {
		uint64_t to = get_rm_sized(i, 8);

		if (i->extension == 2)
			push(i, i->l->ip);
		i->l->ip = to;
	} else {
		i->is_unknown = true;
	}
}

static void step_multiply(struct insn *i, uint64_t a, uint64_t b)
{
	set_register(i, i->reg, i->size, a * b);
	forget_flags(i, MU_LOOP_FLAGS);
}

static void step_extend(struct insn *i, uint8_t opcode)
{
	unsigned from = opcode & 1 ? 2 : 1;
	uint64_t value;

	mu_insn_fetch_modrm(i, 0);
	value = get_rm_sized(i, from);
	if (opcode & 8)
		value = (uint64_t)sign_extend(value, from);
	set_register(i, i->reg, i->size, value);
}

bool mu_loop_is_pause(uint64_t number, const uint64_t reg[16])
{
	return number == MU_LOOP_YIELD || number == MU_LOOP_NANOSLEEP ||
	       (number == MU_LOOP_CLOCK_NANOSLEEP && !(uint32_t)reg[RSI]);
}

void mu_loop_end_pause(struct mu_loop *l)
{
	l->reg[RAX] = 0;
	l->reg[RCX] = l->ip;
	l->reg[R11] = l->flags;
}

static void step_system_call(struct insn *i)
{
	if (mu_loop_is_pause(i->l->reg[RAX], i->l->reg))
		mu_loop_end_pause(i->l);
	else
		i->is_unknown = true;
}

/* Opcodes of two bytes, the first 0x0f. */
static void step_two_bytes(struct insn *i, bool is_f3)
{
	uint8_t opcode = (uint8_t)mu_insn_fetch(i, 1);
	uint64_t value;

	if (mu_insn_is_vector(opcode, i->prefix)) {
		mu_insn_step_vector(i, opcode);
		return;
	}
	if (is_f3) { /* ENDBR64 */
		i->is_unknown = opcode != 0x1e || mu_insn_fetch(i, 1) != 0xfa;
		return;
	}
	switch (opcode) {
	case 0x05:
		step_system_call(i);
		return;
	case 0x18: /* prefetch, and what older processors ignore */
	case 0x1f:
		mu_insn_fetch_modrm(i, 0);
		return;
	case 0xa3: /* BT */
	case 0xba:
		mu_insn_fetch_modrm(i, opcode == 0xba);
		if (opcode == 0xba ? i->extension != 4 : i->is_memory) {
			i->is_unknown = true;
			return;
		}
		value = opcode == 0xba ? mu_insn_fetch(i, 1) : get_register(i, i->reg, i->size);
		value = mu_insn_get_rm(i) >> (value & (i->size * 8u - 1)) & 1;
		mu_insn_set_flags(i, value ? MU_LOOP_CF : 0, MU_LOOP_CF);
		forget_flags(i, MU_LOOP_OF | MU_LOOP_SF | MU_LOOP_PF);
		return;
	case 0xae: /* fences; with the prefix 66, TPAUSE and others */
		mu_insn_fetch_modrm(i, 0);
		i->is_unknown = i->is_memory || i->extension < 5 || i->has_66;
		return;
	case 0xaf:
		mu_insn_fetch_modrm(i, 0);
		step_multiply(i, get_register(i, i->reg, i->size), mu_insn_get_rm(i));
		return;
	case 0xb6:
	case 0xb7:
	case 0xbe:
	case 0xbf:
		step_extend(i, opcode);
		return;
	default:
		break;
	}
	if (opcode >= 0xc8 && opcode <= 0xcf && i->size >= 4) {
		unsigned n = (opcode & 7u) | (i->rex & 1u) << 3;

		value = __builtin_bswap64(i->l->reg[n]);
		set_register(i, n, i->size, i->size == 8 ? value : value >> 32);
		return;
	}
	switch (opcode >> 4) {
	case 4: /* conditional move: 4 bytes clear the upper half even if nothing moves */
		mu_insn_fetch_modrm(i, 0);
		value = mu_insn_get_rm(i);
		set_register(i, i->reg, i->size,
			     holds_condition(i, opcode) ? value : get_register(i, i->reg, i->size));
		return;
	case 8: {
		int64_t by = fetch_signed(i, 4);

		if (holds_condition(i, opcode))
			i->l->ip += (uint64_t)by;
		return;
	}
	case 9:
		i->size = 1;
		mu_insn_fetch_modrm(i, 0);
		mu_insn_set_rm(i, holds_condition(i, opcode));
		return;
	default:
		i->is_unknown = true;
	}
}

static void step_move(struct insn *i, uint8_t opcode)
{
	if (!(opcode & 1))
		i->size = 1;
	if (opcode >= 0xc6) {
		unsigned bytes = i->size == 8 ? 4 : i->size;

		mu_insn_fetch_modrm(i, bytes);
		if (i->extension)
			i->is_unknown = true;
		else
			mu_insn_set_rm(i, fetch_immediate(i));
		return;
	}
	mu_insn_fetch_modrm(i, 0);
	if (opcode & 2)
		set_register(i, i->reg, i->size, mu_insn_get_rm(i));
	else
		mu_insn_set_rm(i, get_register(i, i->reg, i->size));
}

/* Opcodes of one byte that stand alone. */
static void step_others(struct insn *i, uint8_t opcode, bool is_f3)
{
	struct mu_loop *l = i->l;
	int64_t by;

	switch (opcode) {
	case 0x63: /* MOVSXD */
		mu_insn_fetch_modrm(i, 0);
		set_register(i, i->reg, i->size, (uint64_t)sign_extend(get_rm_sized(i, 4), 4));
		break;
	case 0x69:
		mu_insn_fetch_modrm(i, i->size == 8 ? 4 : i->size);
		step_multiply(i, mu_insn_get_rm(i), fetch_immediate(i));
		break;
	case 0x6b:
		mu_insn_fetch_modrm(i, 1);
		step_multiply(i, mu_insn_get_rm(i), (uint64_t)fetch_signed(i, 1));
		break;
	case 0x84:
	case 0x85: /* TEST */
		if (opcode == 0x84)
			i->size = 1;
		mu_insn_fetch_modrm(i, 0);
		calculate(i, AND, mu_insn_get_rm(i), get_register(i, i->reg, i->size));
		break;
	case 0x8d: /* LEA: the address itself, without the base of FS */
		i->uses_fs = false;
		mu_insn_fetch_modrm(i, 0);
		i->is_unknown = !i->is_memory;
		set_register(i, i->reg, i->size, i->address);
		break;
	case 0x90: /* NOP; with F3, PAUSE */
		i->is_unknown = i->rex & 1;
		break;
	case 0x98: /* the lower half of RAX, extended */
		set_register(i, RAX, i->size, (uint64_t)sign_extend(l->reg[RAX], i->size / 2u));
		break;
	case 0x99: /* RDX becomes the sign of RAX */
		set_register(i, RDX, i->size,
			     get_register(i, RAX, i->size) >> (i->size * 8 - 1) ? UINT64_MAX : 0);
		break;
	case 0xa8:
	case 0xa9:
		if (opcode == 0xa8)
			i->size = 1;
		calculate(i, AND, get_register(i, RAX, i->size), fetch_immediate(i));
		break;
	case 0xc0:
	case 0xc1:
		if (opcode == 0xc0)
			i->size = 1;
		mu_insn_fetch_modrm(i, 1);
		shift(i, (unsigned)mu_insn_fetch(i, 1));
		break;
	case 0xd0:
	case 0xd1:
		if (opcode == 0xd0)
			i->size = 1;
		mu_insn_fetch_modrm(i, 0);
		shift(i, 1);
		break;
	case 0xc3:
		l->ip = pop(i);
		break;
	case 0xc9: /* LEAVE */
		l->reg[RSP] = l->reg[RBP];
		l->reg[RBP] = pop(i);
		break;
	case 0xe8:
		by = fetch_signed(i, 4);
		push(i, l->ip);
		l->ip += (uint64_t)by;
		break;
	case 0xe9:
	case 0xeb:
		by = fetch_signed(i, opcode == 0xeb ? 1 : 4);
		l->ip += (uint64_t)by;
		break;
	default:
		i->is_unknown = true;
	}
	/* F3 changes what most instructions do; before RET it means nothing. */
	if (is_f3 && opcode != 0x90 && opcode != 0xc3)
		i->is_unknown = true;
}

/* Store, if `wanted` is there; RAX becomes what is there. */
static void step_compare_exchange(struct insn *i)
{
	uint64_t old, wanted = get_register(i, RAX, i->size);

	mu_insn_fetch_modrm(i, 0);
	old = mu_insn_get_rm(i);
	calculate(i, CMP, wanted, old);
	if (old == wanted)
		mu_insn_set_rm(i, get_register(i, i->reg, i->size));
	else
		set_register(i, RAX, i->size, old);
}

static void step_exchange_add(struct insn *i)
{
	uint64_t old;

	mu_insn_fetch_modrm(i, 0);
	old = mu_insn_get_rm(i);
	mu_insn_set_rm(i, calculate(i, ADD, old, get_register(i, i->reg, i->size)));
	set_register(i, i->reg, i->size, old);
}

/* With memory it is atomic, with the prefix and without. */
static void step_exchange(struct insn *i, uint8_t opcode)
{
	uint64_t old;

	if (opcode == 0x86)
		i->size = 1;
	mu_insn_fetch_modrm(i, 0);
	i->is_locked = true;
	if (!i->is_memory) {
		i->is_unknown = true;
		return;
	}
	old = mu_insn_get_rm(i);
	mu_insn_set_rm(i, get_register(i, i->reg, i->size));
	set_register(i, i->reg, i->size, old);
}

static void step_opcode(struct insn *i, uint8_t opcode, bool is_f3)
{
	unsigned n = (opcode & 7u) | (i->rex & 1u) << 3;

	if (opcode == 0x0f) {
		step_two_bytes(i, is_f3);
	} else if (is_f3) {
		step_others(i, opcode, true);
	} else if (opcode < 0x40) {
		step_arithmetic(i, opcode);
	} else if (opcode >= 0x50 && opcode <= 0x57 && i->size != 2) {
		push(i, i->l->reg[n]);
	} else if (opcode >= 0x58 && opcode <= 0x5f && i->size != 2) {
		i->l->reg[n] = pop(i);
	} else if (opcode >= 0x70 && opcode <= 0x7f) {
		int64_t by = fetch_signed(i, 1);

		if (holds_condition(i, opcode))
			i->l->ip += (uint64_t)by;
	} else if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83) {
		step_arithmetic_immediate(i, opcode);
	} else if ((opcode >= 0x88 && opcode <= 0x8b) || opcode == 0xc6 || opcode == 0xc7) {
		step_move(i, opcode);
	} else if (opcode >= 0xb0 && opcode <= 0xbf) {
		if (opcode < 0xb8)
			i->size = 1;
		set_register(i, n, i->size, mu_insn_fetch(i, i->size));
	} else if (opcode == 0xf6 || opcode == 0xf7) {
		step_unary(i, opcode);
	} else if (opcode == 0xfe || opcode == 0xff) {
		step_group5(i, opcode);
	} else if (opcode == 0x86 || opcode == 0x87) {
		step_exchange(i, opcode);
	} else {
		step_others(i, opcode, false);
	}
}

static void step_locked(struct insn *i, uint8_t opcode)
{
	uint8_t second = opcode == 0x0f ? (uint8_t)mu_insn_fetch(i, 1) : 0;

	i->is_locked = true;
	if ((second & 0xfe) == 0xb0 || (second & 0xfe) == 0xc0) {
		if (!(second & 1))
			i->size = 1;
		if (second < 0xc0)
			step_compare_exchange(i);
		else
			step_exchange_add(i);
	} else if (opcode < 0x38 && (opcode & 7) < 2) {
		step_arithmetic(i, opcode);
	} else if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83) {
		step_arithmetic_immediate(i, opcode);
	} else {
		i->is_unknown = true;
	}
	if (!i->is_memory)
		i->is_unknown = true;
}

/* A jump, call or return; next: the byte behind the opcode. */
static bool is_jump(uint8_t opcode, uint8_t next)
{
	return (opcode >= 0x70 && opcode <= 0x7f) || opcode == 0xc3 || opcode == 0xe8 ||
	       opcode == 0xe9 || opcode == 0xeb || (opcode == 0xff && (next >> 3 & 7) >= 2) ||
	       (opcode == 0x0f && next >= 0x80 && next <= 0x8f);
}

bool mu_loop_step(struct mu_loop *l)
{
	struct insn i = {.l = l, .size = 4};
	bool is_f3 = false, is_f2 = false, is_locked = false;
	uint8_t byte = (uint8_t)mu_insn_fetch(&i, 1);

	for (; byte == 0x66 || byte == 0x64 || byte == 0xf3 || byte == 0xf2 || byte == 0xf0;
	     byte = (uint8_t)mu_insn_fetch(&i, 1)) {
		is_locked |= byte == 0xf0;
		i.has_66 |= byte == 0x66;
		i.uses_fs |= byte == 0x64;
		is_f3 |= byte == 0xf3;
		is_f2 |= byte == 0xf2;
	}
	i.prefix = is_f3 ? 0xf3 : is_f2 ? 0xf2 : i.has_66 ? 0x66 : 0;
	if (byte == 0xc4 || byte == 0xc5) {
		if (i.prefix || is_locked)
			return false;
		mu_insn_step_vex(&i, byte == 0xc4 ? 2 : 1);
		return !i.is_unknown;
	}
	if (i.has_66)
		i.size = 2;
	if ((byte & 0xf0) == 0x40) {
		i.rex = byte;
		if (byte & 8)
			i.size = 8;
		byte = (uint8_t)mu_insn_fetch(&i, 1);
	}
	/* AMD's processors cut the address to 16 bits there, and Intel's do not. */
	if (i.has_66 && is_jump(byte, (uint8_t)mu_loop_read(l, l->ip, 1, false)))
		return false;
	if (is_f2 && (byte != 0x0f || is_f3 || is_locked ||
		      !mu_insn_is_vector((uint8_t)mu_loop_read(l, l->ip, 1, false), i.prefix)))
		return false;
	if (is_locked)
		step_locked(&i, byte);
	else
		step_opcode(&i, byte, is_f3);
	return !i.is_unknown;
}

#else

bool mu_loop_step(struct mu_loop *l)
{
	(void)l;
	return false;
}

#endif
