/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Harness of unit tests: cases with one registration line, assertions of check.h, results as TAP
 * (which `meson test` counts). CUnit runs the cases.
 *
 *	static void wrap_keeps_order(void)
 *	{
 *		CHECK_EQ(f(), 3);
 *	}
 *	T_MAIN(T(wrap_keeps_order), T(full_says_again))
 *
 * Command line: names of the cases to run (none: all), --list, --seed N. Each program prints its
 * seed; QT_SEED=N or --seed N repeats a run. stdout of the cases goes to stderr: TAP has its own.
 *
 * A case that cannot run here says T_SKIP("why") and is counted as skipped. If every case skips,
 * the exit status is 77.
 */
#ifndef TESTS_T_H
#define TESTS_T_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "drivers/base/rng.h"
#include "tests/harness/check.h"

struct t_case {
	const char *name;
	void (*run)(void);
};

int t_main(int argc, char **argv, const struct t_case *cases, unsigned count);

#define T(fn)                                                                                      \
	{                                                                                          \
#fn, fn                                                                            \
	}
#define T_MAIN(...)                                                                                \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		static const struct t_case cases[] = {__VA_ARGS__};                                \
                                                                                                   \
		return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));                \
	}

/* Leave this case (a void function) as skipped; format as printf. */
#define T_SKIP(...)                                                                                \
	do {                                                                                       \
		t_skip(__VA_ARGS__);                                                               \
		return;                                                                            \
	} while (0)
void t_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Seed of this run; and the case's own stream of chance, started afresh from it for each case. */
uint64_t t_seed(void);
struct drv_rng *t_rng(void);

/* True when long tests are wanted (QT_LONG=1). */
int t_long(void);
/* True when the minute of overload is wanted (QT_MINUTE=1, as tests/run does; QT_LONG=1). */
int t_minute(void);
/* True when built with a sanitizer (expect 10x time). */
int t_sanitized(void);

/* A directory of this program's own, removed with its contents at exit. */
const char *t_dir(void);

/*
 * Run fn in a forked child, which exits with its result, or with status 1 if that is 0 and a check
 * failed in the child. A failed REQUIRE ends the child with status 1. t_wait() returns the exit
 * status, or 128 + signal, and kills the child first if it does not end within `seconds`.
 */
pid_t t_child(int (*fn)(void *arg), void *arg);
int t_wait(pid_t pid, unsigned seconds);

/* Where the macros of check.h report: to the case, or on stderr in a forked child. Any thread. */
void check_failed(const char *file, int line, bool is_fatal, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Return how many checks have failed: in the running case, or in this child. */
int t_failures(void);

/* Shared anonymous memory (zeroed, page aligned) for parent and children; never NULL. */
void *t_shared(size_t bytes);

#endif
