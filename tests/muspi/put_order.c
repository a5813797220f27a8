/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * muspi/put.h in single steps of the processor: when the end of a put changes, all before it is
 * there, whatever the size and the alignment.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <ucontext.h>

#include "muspi/put.h"
#include "tests/harness/t.h"

#define MOST 512u /* bytes of a packet */

static unsigned char from[MOST], to[MOST + 16] __attribute__((aligned(64)));

static bool is_copy(uint32_t at, uint32_t bytes)
{
	return !memcmp(to + at, from, bytes) && !to[at + bytes] && (!at || !to[at - 1]);
}

static void sizes_and_places(void)
{
	for (uint32_t bytes = 1; bytes <= MOST; bytes++)
		for (uint32_t at = 0; at < 8; at++) {
			memset(from, (int)(bytes % 255 + 1), sizeof from);
			memset(to, 0, sizeof to);
			unit_put_bytes((uint64_t)(uintptr_t)&to[at], from, bytes);
			REQUIRE(is_copy(at, bytes));
		}
}

#ifdef __x86_64__
#define TRAP_FLAG 0x100

static volatile int steps, early;
static volatile uint32_t put_at, put_bytes;
static volatile int is_stepping;

/* No call: the C library's functions may use what the interrupted copy uses. */
static void after_step(int signal, siginfo_t *info, void *context)
{
	const volatile unsigned char *copy = &to[put_at];
	ucontext_t *c = context;

	(void)signal;
	(void)info;
	steps++;
	if (copy[put_bytes - 1])
		for (uint32_t i = 0; i + 1 < put_bytes; i++)
			early += !copy[i];
	if (is_stepping)
		c->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	else
		c->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void the_end_comes_last(void)
{
	static const uint32_t sizes[] = {1, 2, 3, 4, 7, 8, 12, 15, 16, 31, 64, 100, 129, 255, 512};
	struct sigaction a = {.sa_sigaction = after_step, .sa_flags = SA_SIGINFO}, old;

	REQUIRE(!sigaction(SIGTRAP, &a, &old));
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (uint32_t at = 0; at < 8; at++) {
			memset(from, 1, sizeof from);
			memset(to, 0, sizeof to);
			put_at = at;
			put_bytes = sizes[i];
			steps = early = 0;
			is_stepping = 1;
			raise(SIGTRAP);
			unit_put_bytes((uint64_t)(uintptr_t)&to[at], from, sizes[i]);
			is_stepping = 0;
			raise(SIGTRAP);
			REQUIRE(steps > 10);
			REQUIRE_EQ(early, 0);
			REQUIRE(is_copy(at, sizes[i]));
		}
	sigaction(SIGTRAP, &old, NULL);
}

static const struct t_case cases[] = {T(sizes_and_places), T(the_end_comes_last)};
#else
static const struct t_case cases[] = {T(sizes_and_places)};
#endif

int main(int argc, char **argv)
{
	return t_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
