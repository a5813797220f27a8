/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "drivers/base/copy.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/t.h"

enum { AREA = 8192, STEPS_MAX = 100000 };

static _Alignas(64) unsigned char from[AREA], to[AREA], expected[AREA];

static int copy_plain(void *t, const void *f, size_t bytes)
{
	drv_copy_words_plain(t, f, bytes);
	return 0;
}

static int copy_chosen(void *t, const void *f, size_t bytes)
{
	drv_copy_words(t, f, bytes);
	return 0;
}

static int copy_by_memcpy(void *t, const void *f, size_t bytes)
{
	/* Not a length that the compiler knows. */
	memcpy(t, f, *(volatile size_t *)&bytes);
	return 0;
}

/* What memcpy() copies, and not a byte more. */
static void compare(int (*copy)(void *, const void *, size_t))
{
	for (unsigned i = 0; i < AREA; i++)
		from[i] = (unsigned char)(1 + i * 7 + (i >> 8));
	for (unsigned n = 0; n < 700; n++)
		for (unsigned at = 0; at < 64; at += 1 + n % 5) {
			unsigned source = (unsigned)drv_rng_below(t_rng(), 64);

			memset(to, 0, 1024);
			memset(expected, 0, 1024);
			memcpy(expected + at, from + source, n);
			REQUIRE_EQ(copy(to + at, from + source, n), 0);
			REQUIRE(!memcmp(to, expected, 1024));
		}
	REQUIRE_EQ(copy(to, from, AREA), 0);
	REQUIRE(!memcmp(to, from, AREA));
}

static void plain_copies(void)
{
	compare(copy_plain);
	compare(copy_chosen);
}

static void wide_copies(void)
{
	if (drv_copy_words_wide(to, from, 0))
		T_SKIP("no AVX2 here");
	compare(drv_copy_words_wide);
}

/* Both forms for words that were just written: all lengths, no byte before or behind. */
static void fresh_words_are_copied(void)
{
	for (uint32_t n = 0; n <= 1024; n += 8)
		for (unsigned at = 8; at < 80; at += 8) {
			for (unsigned i = 0; i < n; i++)
				from[at + i] = (unsigned char)drv_rng_below(t_rng(), 256);
			memset(to, 0, 1200);
			memset(expected, 0, 1200);
			memcpy(expected + 88 - at, from + at, n);
			drv_copy_fresh(to + 88 - at, from + at, n);
			REQUIRE(!memcmp(to, expected, 1200));
			memset(to, 0, 1200);
			drv_copy_fresh_plain(to + 88 - at, from + at, n);
			REQUIRE(!memcmp(to, expected, 1200));
		}
}

/*
 * Run the copy in a child, instruction by instruction, and clear the 8 bytes at `word` after each
 * that has written them. Returns how often they were written, or -1 if processes cannot be traced.
 */
static int count_writes(int (*copy)(void *, const void *, size_t), size_t at, size_t bytes,
			const unsigned char *word)
{
	pid_t child = fork();
	int status, writes = 0;

	if (!child) {
		memset(from, 0x5a, bytes);
		memset(to, 0, sizeof to);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		raise(SIGSTOP);
		copy(to + at, from, bytes);
		raise(SIGSTOP);
		_exit(0);
	}
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	if (!WIFSTOPPED(status))
		return -1;
	for (int i = 0; i < STEPS_MAX; i++) {
		if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) ||
		    waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
		    WSTOPSIG(status) != SIGTRAP)
			break;
		if (!ptrace(PTRACE_PEEKDATA, child, word, NULL))
			continue;
		writes++;
		ptrace(PTRACE_POKEDATA, child, word, NULL);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return writes;
}

/* Each aligned word is written by one store; so is it with memcpy() only for some sizes. */
static void words_are_written_once(void)
{
	static const size_t sizes[] = {8, 16, 24, 64, 200, 512};
	int twice = 0;

	for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (size_t word = 0; word < sizes[s] / 8; word += 1 + sizes[s] / 128) {
			int writes = count_writes(copy_chosen, 8, sizes[s], to + 8 + 8 * word);

			if (writes < 0)
				T_SKIP("this process may not trace its children");
			REQUIRE_EQ(writes, 1);
			REQUIRE_EQ(count_writes(copy_plain, 8, sizes[s], to + 8 + 8 * word), 1);
			twice += count_writes(copy_by_memcpy, 8, sizes[s], to + 8 + 8 * word) > 1;
		}
	/* The count can be more than 1; another C library may write each once. */
	fprintf(stderr, "memcpy() has written %d words more than once\n", twice);
}

T_MAIN(T(plain_copies), T(wide_copies), T(fresh_words_are_copied), T(words_are_written_once))
