/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vtime/loop_step.c against the processor, with random machine code.
 *
 * A traced child carries out random instructions one by one, mu_loop_step() the same. After
 * each sequence registers, flags and memory agree. Before the child runs, all memory that
 * mu_loop_step() did not load is overwritten, so a load that it missed makes a difference.
 *
 * QT_STEPS: so many sequences, by hand; QT_SEED repeats a run.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mu/vtime/loop.h"
#include "tests/harness/t.h"

#ifdef __x86_64__

#define CODE_BYTES 4096u
#define DATA_BYTES 4096u
#define STEPS_MOST 24u

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R12 = 12, R13, R14, R15 };

static bool has_avx;
/* Shared with the child, at the same address: first code, then data. */
static unsigned char *area;
/* A copy of the data, as it is before the child runs. */
static unsigned char before[DATA_BYTES];
static unsigned char is_loaded[DATA_BYTES]; /* the aligned word of this byte was loaded */

static uint64_t random_bits(void)
{
	return drv_rng_next(t_rng());
}

static unsigned random_below(unsigned n)
{
	return (unsigned)(random_bits() % n);
}

static uint64_t code_at(void)
{
	return (uint64_t)(uintptr_t)area;
}

static uint64_t data_at(void)
{
	return code_at() + CODE_BYTES;
}

/* ---- random code ---- */

static unsigned char *emit_number(unsigned char *c, uint64_t value, unsigned bytes)
{
	memcpy(c, &value, bytes);
	return c + bytes;
}

/*
 * ModRM and what follows it. A memory operand has its address from a register that points to the
 * middle of the data and is never written (RSP, RBP, RDI, R12, R13), with an index that is small
 * (RSI, R14), from the instruction pointer, or from FS.
 */
static unsigned char *emit_modrm(unsigned char *c, unsigned char *rex, unsigned reg, bool *needs_fs)
{
	static const unsigned char bases[] = {RSP, RBP, RDI, R12, R13};
	unsigned base = bases[random_below(5)], mod = 1 + random_below(2), kind = random_below(12);
	int32_t displacement = (int32_t)random_below(200) - 100;

	*rex |= (unsigned char)((reg & 8) >> 1);
	reg &= 7;
	if (kind < 5) { /* a register; those that hold addresses are left alone */
		static const unsigned char free_ones[] = {0, 1, 2, 3, 8, 9, 10, 11, 15};
		unsigned rm = free_ones[random_below(9)];

		*rex |= rm >> 3;
		*c++ = (unsigned char)(0xc0 | reg << 3 | (rm & 7));
		return c;
	}
	if (kind == 5) { /* from the instruction pointer; the displacement is set afterwards */
		*c++ = (unsigned char)(reg << 3 | 5);
		return emit_number(c, CODE_BYTES + 512 + random_below(2000), 4);
	}
	if (kind == 6) { /* without a base, from FS */
		*needs_fs = true;
		*c++ = (unsigned char)(reg << 3 | 4);
		*c++ = 0x25;
		return emit_number(c, random_below(256), 4);
	}
	*rex |= base >> 3;
	if (kind < 9 || (base & 7) == 4) {
		unsigned index = random_below(3) == 0 ? 4 : random_below(2) ? RSI : R14;

		*rex |= (unsigned char)(index >> 3 << 1);
		if ((base & 7) != 5 && random_below(4) == 0)
			mod = 0;
		*c++ = (unsigned char)(mod << 6 | reg << 3 | 4);
		*c++ = (unsigned char)(random_below(4) << 6 | (index & 7) << 3 | (base & 7));
	} else {
		if ((base & 7) != 5 && random_below(4) == 0)
			mod = 0;
		*c++ = (unsigned char)(mod << 6 | reg << 3 | (base & 7));
	}
	if (mod)
		c = emit_number(c, (uint64_t)(int64_t)displacement, mod == 1 ? 1 : 4);
	return c;
}

/* A register that may be written. As a byte without REX, 4 to 7 are AH to BH. */
static unsigned random_register(void)
{
	static const unsigned char free_ones[] = {0, 1, 2, 3, 8, 9, 10, 11, 15};

	return free_ones[random_below(9)];
}

/* Opcodes with ModRM; 0x0f00: of two bytes; immediate: -1: as the operand, at most 4 bytes. */
static const struct form {
	uint16_t opcode;
	int8_t immediate;
	int8_t extension; /* -1: a register */
} forms[] = {
    {0x00, 0, -1},   {0x01, 0, -1},   {0x02, 0, -1},   {0x03, 0, -1},   {0x08, 0, -1},
    {0x09, 0, -1},   {0x0a, 0, -1},   {0x0b, 0, -1},   {0x10, 0, -1},   {0x11, 0, -1},
    {0x19, 0, -1},   {0x20, 0, -1},   {0x21, 0, -1},   {0x22, 0, -1},   {0x23, 0, -1},
    {0x28, 0, -1},   {0x29, 0, -1},   {0x2a, 0, -1},   {0x2b, 0, -1},   {0x30, 0, -1},
    {0x31, 0, -1},   {0x32, 0, -1},   {0x33, 0, -1},   {0x38, 0, -1},   {0x39, 0, -1},
    {0x3a, 0, -1},   {0x3b, 0, -1},   {0x63, 0, -1},   {0x69, -1, -1},  {0x6b, 1, -1},
    {0x80, 1, -2},   {0x81, -1, -2},  {0x83, 1, -2},   {0x84, 0, -1},   {0x85, 0, -1},
    {0x86, 0, -1},   {0x87, 0, -1},   {0x88, 0, -1},   {0x89, 0, -1},   {0x8a, 0, -1},
    {0x8b, 0, -1},   {0x8d, 0, -1},   {0xc0, 1, -2},   {0xc1, 1, -2},   {0xc6, 1, 0},
    {0xc7, -1, 0},   {0xd0, 0, -2},   {0xd1, 0, -2},   {0xd2, 0, -2},   {0xd3, 0, -2},
    {0xf6, 1, 0},    {0xf7, -1, 0},   {0xf6, 0, 2},    {0xf7, 0, 2},    {0xf6, 0, 3},
    {0xf7, 0, 3},    {0xf7, 0, 4},    {0xf6, 0, 6},    {0xf7, 0, 6},    {0xf7, 0, 6},
    {0xf7, 0, 7},    {0xfe, 0, 0},    {0xfe, 0, 1},    {0xff, 0, 0},    {0xff, 0, 1},
    {0xff, 0, 6},    {0x0f18, 0, 1},  {0x0fae, 0, -2}, {0x0f1f, 0, 0},  {0x0f40, 0, -3},
    {0x0f90, 0, -3}, {0x0fa3, 0, -1}, {0x0fa5, 0, -1}, {0x0fab, 0, -1}, {0x0faf, 0, -1},
    {0x0fb6, 0, -1}, {0x0fb7, 0, -1}, {0x0fbe, 0, -1}, {0x0fbf, 0, -1}, {0x0fba, 1, 4},
    {0x0fba, 1, 5},  {0x0fbc, 0, -1}, {0x0fbd, 0, -1}, {0x0fb8, 0, -1}, {0x0fc1, 0, -1},
    {0x0f10, 0, -1}, {0x0f6f, 0, -1}, {0x0f7e, 0, -1}, {0x0fd6, 0, -1},
};

/* Opcodes without ModRM, with their immediate; -1: as above, -2: all of the operand. */
static const struct plain {
	uint8_t opcode, registers; /* of the first so many numbers of registers */
	int immediate;
} plains[] = {
    {0x04, 1, 1}, {0x05, 1, -1}, {0x0c, 1, 1}, {0x0d, 1, -1}, {0x24, 1, 1}, {0x25, 1, -1},
    {0x2c, 1, 1}, {0x2d, 1, -1}, {0x34, 1, 1}, {0x35, 1, -1}, {0x3c, 1, 1}, {0x3d, 1, -1},
    {0x50, 4, 0}, {0x58, 4, 0},  {0x98, 1, 0}, {0x99, 1, 0},  {0xa8, 1, 1}, {0xa9, 1, -1},
    {0xb0, 4, 1}, {0xb8, 4, -2}, {0xb4, 4, 1}, {0x90, 1, 0},  {0x90, 4, 0}, {0xf5, 1, 0},
    {0x9c, 1, 0}, {0xf8, 1, 0},
};

static unsigned char *emit_plain(unsigned char *c, unsigned char rex, bool is_16)
{
	const struct plain *p = &plains[random_below(sizeof plains / sizeof *plains)];
	int bytes = p->immediate;

	if (bytes == -1)
		bytes = is_16 && !(rex & 8) ? 2 : 4;
	else if (bytes == -2)
		bytes = rex & 8 ? 8 : is_16 ? 2 : 4;
	if (p->registers > 1 && rex)
		rex |= (unsigned char)random_below(2);
	if (rex & 1 && p->registers == 1)
		rex &= 0xfe;
	if (p->opcode == 0xb4) /* AH to BH need no REX; with one, they are RSP to RDI */
		rex = 0;
	if (rex)
		*c++ = rex;
	*c++ = (unsigned char)(p->opcode + random_below(p->registers));
	return emit_number(c, random_bits(), (unsigned)bytes);
}

/* Swap bytes, a short jump forward, a call of the next instruction. */
static unsigned char *emit_other(unsigned char *c)
{
	unsigned kind = random_below(8);

	if (kind < 5) {
		*c++ = (unsigned char)(0x70 | random_below(16));
		return emit_number(c, random_below(10), 1);
	}
	if (kind == 5) {
		*c++ = 0x0f;
		*c++ = (unsigned char)(0x80 | random_below(16));
		return emit_number(c, random_below(10), 4);
	}
	if (kind == 6) {
		*c++ = 0xe8;
		return emit_number(c, random_below(4), 4);
	}
	*c++ = random_below(2) ? 0x48 : 0x40;
	*c++ = 0x0f;
	*c++ = (unsigned char)(0xc8 | random_below(4));
	return c;
}

/* Instructions on vectors that hold one number, in both encodings. */
static unsigned char *emit_vector(unsigned char *c)
{
	static const struct {
		unsigned char prefix, opcode;
	} ones[] = {{0, 0x10},    {0x66, 0x10}, {0xf3, 0x10}, {0xf2, 0x10}, {0xf3, 0x11},
		    {0xf2, 0x11}, {0, 0x28},    {0x66, 0x28}, {0, 0x2e},    {0x66, 0x2e},
		    {0, 0x2f},    {0x66, 0x2f}, {0x66, 0x54}, {0, 0x56},    {0, 0x57},
		    {0x66, 0x57}, {0xf3, 0x6f}, {0x66, 0x6e}, {0x66, 0x7e}, {0xf3, 0x7e},
		    {0x66, 0xd4}, {0x66, 0xd6}, {0x66, 0xdb}, {0x66, 0xeb}, {0x66, 0xef}};
	unsigned n = random_below(sizeof ones / sizeof *ones), reg = random_below(16);
	unsigned opcode = ones[n].opcode, second = random_below(16);
	unsigned char rest[16], *end, rex = 0, prefix = ones[n].prefix;
	bool needs_fs = false, is_new = has_avx && random_below(2);

	end = emit_modrm(rest, &rex, reg, &needs_fs);
	if (is_new && needs_fs)
		return c;
	if (opcode == 0x6e || opcode == 0x7e)
		rex |= random_below(2) ? 8 : 0;
	if (!is_new) {
		if (needs_fs)
			*c++ = 0x64;
		if (prefix)
			*c++ = prefix;
		if (rex)
			*c++ = 0x40 | rex;
		*c++ = 0x0f;
	} else {
		bool has_second = opcode >= 0xd4 ? opcode != 0xd6
						 : (opcode >= 0x54 && opcode <= 0x57) ||
						       ((opcode == 0x10 || opcode == 0x11) &&
							prefix >= 0xf2 && rest[0] >> 6 == 3);
		unsigned last = (has_second ? ~second & 15 : 15) << 3 | (prefix == 0x66   ? 1
									 : prefix == 0xf3 ? 2
									 : prefix == 0xf2 ? 3
											  : 0);

		if (rex & 11 || random_below(3) == 0) {
			*c++ = 0xc4;
			*c++ = (unsigned char)((~rex & 7) << 5 | 1);
			*c++ = (unsigned char)((rex & 8) << 4 | last);
		} else {
			*c++ = 0xc5;
			*c++ = (unsigned char)((rex & 4 ? 0 : 0x80) | last);
		}
	}
	*c++ = (unsigned char)opcode;
	memcpy(c, rest, (size_t)(end - rest));
	return c + (end - rest);
}

/* Atomic operations; what changes memory is not known. */
static unsigned char *emit_locked(unsigned char *c)
{
	static const unsigned char opcodes[] = {0x00, 0x01, 0x09, 0x21, 0x31, 0x29, 0xb0,
						0xb1, 0xc0, 0xc1, 0x83, 0x87, 0x86};
	unsigned opcode = opcodes[random_below(sizeof opcodes)];
	unsigned char rest[16], *end, rex = 0;
	bool needs_fs = false;

	end =
	    emit_modrm(rest, &rex, opcode == 0x83 ? random_below(7) : random_register(), &needs_fs);
	if (rest[0] >> 6 == 3 || needs_fs)
		return c;
	rex |= random_below(2) ? 8 : 0;
	if (opcode < 0x86 || opcode > 0x87)
		*c++ = 0xf0;
	if (rex)
		*c++ = 0x40 | rex;
	if (opcode >= 0xb0)
		*c++ = 0x0f;
	*c++ = (unsigned char)opcode;
	memcpy(c, rest, (size_t)(end - rest));
	c += end - rest;
	if (opcode == 0x83)
		*c++ = random_below(2) ? 0 : 0xff;
	return c;
}

static unsigned char *emit_instruction(unsigned char *c)
{
	unsigned kind = random_below(12);
	bool is_16 = random_below(5) == 0, needs_fs = false;
	unsigned char rest[16], *end, rex = 0;
	const struct form *f = &forms[random_below(sizeof forms / sizeof *forms)];
	unsigned opcode = f->opcode, reg = random_register(), bytes;

	if (kind == 0)
		return emit_other(c);
	if (kind == 10)
		return emit_vector(c);
	if (kind == 11)
		return random_below(3) ? emit_vector(c) : emit_locked(c);
	if (random_below(3))
		rex = random_below(2) ? 0x48 : 0x40;
	if (kind == 1 || kind == 2) {
		if (is_16)
			*c++ = 0x66;
		return emit_plain(c, rex, is_16);
	}
	if (f->extension >= 0)
		reg = (unsigned)f->extension;
	else if (f->extension == -2)
		reg = random_below(8);
	else if (f->extension == -3)
		opcode |= random_below(16);
	end = emit_modrm(rest, &rex, reg, &needs_fs);
	if (rex)
		rex |= 0x40;
	bytes = f->immediate >= 0 ? (unsigned)f->immediate : is_16 && !(rex & 8) ? 2 : 4;
	if (is_16)
		*c++ = 0x66;
	if (needs_fs || random_below(50) == 0)
		*c++ = 0x64;
	if (random_below(60) == 0)
		*c++ = random_below(2) ? 0xf3 : 0xf2;
	if (rex)
		*c++ = rex;
	if (opcode > 0xff)
		*c++ = 0x0f;
	*c++ = (unsigned char)opcode;
	memcpy(c, rest, (size_t)(end - rest));
	return emit_number(c + (end - rest), random_bits(), bytes);
}

/* ---- one state for both ---- */

/* Numbers at which arithmetic has its borders, now and then. */
static uint64_t random_value(void)
{
	static const uint64_t special[] = {
	    0,         1,          UINT64_MAX, 0x7f,       0x80,
	    0x7fff,    0x8000,     0x7fffffff, 1 << 8,     0x80000000,
	    INT64_MAX, 1ull << 63, 0xff,       0xffffffff, 0xffffffff00000000u,
	    0xffff};

	if (random_below(3) == 0)
		return special[random_below(16)];
	return random_bits() >> random_below(64);
}

static void random_state(struct user_regs_struct *u)
{
	unsigned long long *const value[] = {&u->rax, &u->rcx, &u->rdx, &u->rbx, &u->r8,
					     &u->r9,  &u->r10, &u->r11, &u->r15};
	unsigned long long *const address[] = {&u->rsp, &u->rbp, &u->rdi, &u->r12, &u->r13};

	for (unsigned i = 0; i < 9; i++)
		*value[i] = random_value();
	for (unsigned i = 0; i < 5; i++)
		*address[i] = data_at() + 1024 + random_below(2048);
	u->rsp &= ~7ull;
	u->rsi = random_below(16);
	u->r14 = random_below(16);
	u->rip = code_at();
	u->fs_base = data_at() + 512 + random_below(1024);
	u->eflags = (u->eflags & ~(unsigned long long)(MU_LOOP_FLAGS | 0x100)) |
		    (random_bits() & MU_LOOP_FLAGS);
	u->orig_rax = UINT64_MAX;
}

/* Any bits, or numbers that compare well. */
static void random_vectors(struct user_fpregs_struct *f)
{
	static const uint64_t numbers[] = {0,          0x3ff0000000000000, 0xbff0000000000000,
					   0x3f800000, 0x7ff8000000000001, 0x7f800000,
					   1,          0x8000000000000000};

	for (unsigned i = 0; i < 32; i++) {
		uint64_t v = random_below(2) ? numbers[random_below(8)] : random_bits();

		memcpy(&f->xmm_space[2 * i], &v, 8);
	}
}

static void load_vectors(struct mu_loop *l, const struct user_fpregs_struct *f)
{
	l->vectors_known = 0xffff;
	for (unsigned i = 0; i < 16; i++)
		memcpy(&l->vector[i], &f->xmm_space[4 * i], 8);
}

static void load_state(struct mu_loop *l, const struct user_regs_struct *u)
{
	*l =
	    (struct mu_loop){.reg = {u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
				     u->r8, u->r9, u->r10, u->r11, u->r12, u->r13, u->r14, u->r15},
			     .ip = u->rip,
			     .fs = u->fs_base,
			     .flags = (uint32_t)u->eflags & MU_LOOP_FLAGS,
			     .known = MU_LOOP_FLAGS};
}

static bool has_wandered; /* the code has left the area, or reads or writes outside of the data */

static uint64_t read_area(struct mu_loop_memory *m, uint64_t at, unsigned size, bool is_load)
{
	uint64_t value = 0;

	(void)m;
	if (is_load ? at - data_at() > DATA_BYTES - size : at - code_at() > CODE_BYTES - size) {
		has_wandered = true;
		return 0;
	}
	memcpy(&value, (const void *)(uintptr_t)at, size);
	if (is_load)
		for (uint64_t b = at & ~7ull; b < at + size; b++)
			is_loaded[b - data_at()] = 1;
	return value;
}

static struct mu_loop_memory the_area = {read_area};

static bool is_in_area(const struct mu_loop *l)
{
	for (uint32_t i = 0; i < l->words; i++)
		if (l->word[i].at - data_at() >= DATA_BYTES)
			return false;
	return !has_wandered && l->ip - code_at() < CODE_BYTES;
}

/* ---- steps ---- */

static pid_t start_traced(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status));
	return pid;
}

static void end_child(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void fill_data(void)
{
	for (unsigned i = 0; i < DATA_BYTES; i += 8) {
		uint64_t v = random_value();

		memcpy(area + CODE_BYTES + i, &v, 8);
	}
}

/* What no load has read becomes something else. */
static void change_unread(void)
{
	unsigned char *data = area + CODE_BYTES;

	for (unsigned i = 0; i < DATA_BYTES; i += 8)
		if (!is_loaded[i]) {
			uint64_t v = random_bits();

			memcpy(data + i, &v, 8);
		}
	memcpy(before, data, DATA_BYTES);
}

/* Is the memory as it was before, with what was said to be stored? */
static bool is_memory_as_said(const struct mu_loop *said)
{
	for (uint32_t i = 0; i < said->words; i++) {
		const struct mu_loop_word *w = &said->word[i];
		uint64_t v;

		memcpy(&v, before + (w->at - data_at()), 8);
		v = (v & ~w->mask) | (w->value & w->mask);
		memcpy(before + (w->at - data_at()), &v, 8);
	}
	return !memcmp(before, area + CODE_BYTES, DATA_BYTES);
}

static void report(const struct mu_loop *said, const struct mu_loop *is, unsigned steps)
{
	if (t_failures() > 3)
		return;
	fprintf(stderr, "%u steps of:", steps);
	for (unsigned i = 0; i < 48; i++)
		fprintf(stderr, " %02x", area[i]);
	fprintf(stderr, "\nip +%llx, is +%llx; flags %x, are %x, known %x\n",
		(unsigned long long)(said->ip - code_at()),
		(unsigned long long)(is->ip - code_at()), said->flags, is->flags, said->known);
	for (unsigned i = 0; i < 16; i++)
		if (said->reg[i] != is->reg[i])
			fprintf(stderr, "register %u: %llx, is %llx\n", i,
				(unsigned long long)said->reg[i], (unsigned long long)is->reg[i]);
	for (unsigned i = 0; i < 16; i++)
		if (said->vector[i] != is->vector[i])
			fprintf(stderr, "vector %u: %llx, is %llx\n", i,
				(unsigned long long)said->vector[i],
				(unsigned long long)is->vector[i]);
}

/* One sequence. Returns the number of instructions. */
static unsigned run_sequence(pid_t pid, const struct user_regs_struct *base,
			     struct user_fpregs_struct f)
{
	struct user_regs_struct u = *base;
	struct mu_loop said, next, is;
	unsigned char *c = area;
	unsigned steps = 0, most = 1 + random_below(STEPS_MOST);
	int status = 0;

	for (unsigned i = 0; i < most; i++)
		c = emit_instruction(c);
	memset(c, 0x06, 32); /* no instruction */
	fill_data();
	memset(is_loaded, 0, sizeof is_loaded);
	random_state(&u);
	random_vectors(&f);
	load_state(&said, &u);
	load_vectors(&said, &f);
	said.memory = &the_area;
	has_wandered = false;
	for (next = said; steps < most && mu_loop_step(&next) && is_in_area(&next); said = next)
		steps++;
	if (!steps)
		return 0;
	change_unread();
	REQUIRE_EQ(ptrace(PTRACE_SETREGS, pid, NULL, &u), 0);
	REQUIRE_EQ(ptrace(PTRACE_SETFPREGS, pid, NULL, &f), 0);
	for (unsigned i = 0; i < steps; i++) {
		REQUIRE_EQ(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		REQUIRE_EQ(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			break;
	}
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	REQUIRE_EQ(ptrace(PTRACE_GETREGS, pid, NULL, &u), 0);
	REQUIRE_EQ(ptrace(PTRACE_GETFPREGS, pid, NULL, &f), 0);
	load_state(&is, &u);
	load_vectors(&is, &f);
	if (memcmp(said.vector, is.vector, sizeof is.vector) || said.ip != is.ip ||
	    memcmp(said.reg, is.reg, sizeof is.reg) || ((said.flags ^ is.flags) & said.known) ||
	    !is_memory_as_said(&said)) {
		CHECK(!"the processor agrees");
		report(&said, &is, steps);
	}
	return steps;
}

static unsigned wanted(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

static void steps_agree(void)
{
	pid_t pid = start_traced();
	struct user_regs_struct base;
	struct user_fpregs_struct vectors;
	unsigned n = wanted("QT_STEPS", t_sanitized() ? 4000 : 20000), steps = 0;

	has_avx = __builtin_cpu_supports("avx");
	REQUIRE_EQ(ptrace(PTRACE_GETREGS, pid, NULL, &base), 0);
	REQUIRE_EQ(ptrace(PTRACE_GETFPREGS, pid, NULL, &vectors), 0);
	for (unsigned i = 0; i < n && t_failures() < 4; i++)
		steps += run_sequence(pid, &base, vectors);
	CHECK(steps > n); /* most instructions are known */
	end_child(pid);
}

/* ---- loops ---- */

static void prepare(void)
{
	void *m = mmap(NULL, CODE_BYTES + DATA_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	REQUIRE(m != MAP_FAILED);
	area = m;
}

static const struct t_case cases[] = {T(steps_agree)};
#else
static void prepare(void) {}

static void no_machine_is_known(void)
{
	struct mu_loop l = {0};

	CHECK(!mu_loop_step(&l));
}

static const struct t_case cases[] = {T(no_machine_is_known)};
#endif

int main(int argc, char **argv)
{
	prepare();
	return t_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
