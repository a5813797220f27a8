/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vtime/loop_step.c against the processor: a function with each instruction that it knows is
 * carried out in single steps, and after each step registers, flags and memory are what
 * mu_loop_step() said.
 * Which loops wait, and which do not.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "mu/vtime/loop.h"
#include "tests/harness/t.h"

#ifdef __x86_64__
#include "tests/mu/mu_loop_code.h"

#define TRAP_FLAG 0x100

static struct mu_loop said;  /* what the step that the processor now makes should give */
static struct mu_loop whole; /* what all steps should give */
static volatile int steps, has_said, failures, wholes;
static volatile uint64_t failed_at;

static void load_registers(struct mu_loop *l, const ucontext_t *c)
{
	static const int at[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				   REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
				   REG_R12, REG_R13, REG_R14, REG_R15};

	memset(l, 0, sizeof *l);
	for (int i = 0; i < 16; i++)
		l->reg[i] = (uint64_t)c->uc_mcontext.gregs[at[i]];
	l->ip = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
	l->flags = (uint32_t)c->uc_mcontext.gregs[REG_EFL] & MU_LOOP_FLAGS;
	l->known = MU_LOOP_FLAGS;
	__asm__("mov %%fs:0, %0" : "=r"(l->fs));
	l->vectors_known = 0xffff;
	for (int i = 0; i < 16; i++)
		memcpy(&l->vector[i], &c->uc_mcontext.fpregs->_xmm[i], sizeof l->vector[i]);
}

static bool is_as_said(const struct mu_loop *says, const struct mu_loop *is)
{
	bool same = says->ip == is->ip && !memcmp(says->reg, is->reg, sizeof is->reg) &&
		    !memcmp(says->vector, is->vector, sizeof is->vector) &&
		    !((says->flags ^ is->flags) & says->known);

	for (uint32_t i = 0; i < says->words; i++)
		same &=
		    !((*(uint64_t *)says->word[i].at ^ says->word[i].value) & says->word[i].mask) ||
		    says->word[i].at < is->reg[4]; /* below the stack */
	return same;
}

static void after_step(int signal, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	static uint64_t from;
	struct mu_loop is;

	(void)signal;
	(void)info;
	load_registers(&is, c);
	if (has_said && !is_as_said(&said, &is) && !failures++)
		failed_at = from;
	if (is.ip == (uint64_t)(uintptr_t)code_all_end) {
		c->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
		has_said = 0;
		wholes += is_as_said(&whole, &is);
		return;
	}
	/* Until the processor has come to the function, steps are not looked at. */
	if (has_said || is.ip == (uint64_t)(uintptr_t)code_all) {
		if (!has_said)
			for (whole = is; whole.ip != (uint64_t)(uintptr_t)code_all_end;)
				if (!mu_loop_step(&whole))
					break;
		from = is.ip;
		said = is;
		has_said = 1;
		steps++;
		if (!mu_loop_step(&said) && !failures++)
			failed_at = from;
	}
	c->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void steps_as_the_processor(void)
{
	struct sigaction a = {.sa_sigaction = after_step, .sa_flags = SA_SIGINFO}, old;
	uint64_t words[18];

	CHECK(!sigaction(SIGTRAP, &a, &old));
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 18; i++)
			words[i] = drv_rng_next(t_rng()) >> (drv_rng_next(t_rng()) & 31);
		steps = failures = has_said = wholes = 0;
		raise(SIGTRAP);
		code_all(words);
		CHECK(steps > 150);
		if (failures)
			fprintf(stderr,
				"%d steps differ; the first is that of the instruction %lu bytes "
				"behind code_all (round %d)\n",
				failures,
				(unsigned long)(failed_at - (uint64_t)(uintptr_t)code_all), round);
		CHECK_EQ(failures, 0);
		CHECK_EQ(wholes, 1);
		if (failures)
			break;
	}
	sigaction(SIGTRAP, &old, NULL);
}

/*
 * How a thread at the beginning of `code` is judged, and once it has made the stores of the loop.
 */
struct judged {
	bool at_first, in_loop;
};

static struct judged judge(const char *code, uint64_t *word)
{
	uint64_t stack[64] = {0};
	struct mu_loop start = {.ip = (uint64_t)(uintptr_t)code, .known = MU_LOOP_FLAGS}, l;
	struct judged j;

	start.reg[1] = 1000000; /* rcx */
	start.reg[4] = (uint64_t)(uintptr_t)&stack[32];
	start.reg[7] = (uint64_t)(uintptr_t)word;
	l = start;
	j.at_first = mu_loop_is_waiting(&l);
	for (uint32_t i = 0; i < l.words; i++) {
		uint64_t *at = (uint64_t *)(uintptr_t)l.word[i].at;

		*at = (*at & ~l.word[i].mask) | (l.word[i].value & l.word[i].mask);
	}
	l = start;
	j.in_loop = mu_loop_is_waiting(&l);
	return j;
}

static void loops_that_wait(void)
{
	static const struct {
		const char *code;
		bool stores;
	} loops[] = {{loop_plain, false},     {loop_compare, false},    {loop_yields, false},
		     {loop_fences, false},    {loop_stores, true},      {loop_calls, true},
		     {loop_array, false},     {loop_after_store, true}, {loop_sleeps, false},
		     {loop_toggles, false},   {loop_carries, false},    {loop_number, true},
		     {loop_adds_zero, false}, {loop_swaps_zero, false}, {loop_takes_lock, false}};

	/* Registers, global variables and the heap lie below the stack. */
	static uint64_t below[4];
	uint64_t above[4];

	for (unsigned i = 0; i < 2 * (sizeof loops / sizeof *loops); i++) {
		uint64_t *word = i % 2 ? below : above;
		const char *code = loops[i / 2].code;
		struct judged j;

		memset(word, 0, sizeof above);
		if (code != loop_after_store)
			CHECK(!judge(code, word).in_loop); /* what it waits for has come */
		word[0] = 0x4000000000000007;              /* no zero as a number either */
		j = judge(code, word);
		CHECK_EQ(j.at_first, !loops[i / 2].stores);
		CHECK(j.in_loop);
	}
}

static void loops_that_do_more(void)
{
	static const char *const loops[] = {
	    loop_sleeps_until, loop_exchanges, loop_counts,        loop_counts_in_memory,
	    loop_times,        loop_locks,     loop_asks,          loop_undefined,
	    loop_adds,         loop_swaps,     loop_unknown_vector};

	for (unsigned i = 0; i < sizeof loops / sizeof *loops; i++) {
		uint64_t word[4] = {7, 0, 0, 0};
		struct judged j = judge(loops[i], word);

		CHECK(!j.at_first && !j.in_loop);
	}
}

/* More words than the copy has room for are no fault. */
static void stores_of_many_words(void)
{
	static const unsigned char code[] = {0x48, 0x89, 0x07,       /* mov %rax, (%rdi) */
					     0x48, 0x83, 0xc7, 0x08, /* add $8, %rdi */
					     0xeb, 0xf7};            /* jmp back */
	uint64_t word[2 * MU_LOOP_WORDS] = {0};
	struct mu_loop l = {.ip = (uint64_t)(uintptr_t)code, .known = MU_LOOP_FLAGS};
	unsigned n = 0;

	l.reg[7] = (uint64_t)(uintptr_t)word;
	l.reg[0] = 9;
	while (mu_loop_step(&l))
		n++;
	CHECK_EQ(n, 3 * MU_LOOP_WORDS);
	CHECK_EQ(word[0], 0); /* stores are kept aside */
	CHECK_EQ(l.word[0].value, 9);
}

static const struct t_case cases[] = {T(steps_as_the_processor), T(loops_that_wait),
				      T(loops_that_do_more), T(stores_of_many_words)};
#else
static void no_machine_is_known(void)
{
	struct mu_loop l = {0};

	CHECK(!mu_loop_is_waiting(&l));
}

static const struct t_case cases[] = {T(no_machine_is_known)};
#endif

int main(int argc, char **argv)
{
	return t_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
