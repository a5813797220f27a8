/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test harness: CUnit cases, one registration line, results as TAP (what `meson test` counts).
 *
 *	static void wrap_keeps_order(void)
 *	{
 *		CU_ASSERT_EQUAL(f(), 3);
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

#include <CUnit/CUnit.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "drivers/base/rng.h"

struct t_case {
	const char *name;
	void (*run)(void);
};

int t_main(int argc, char **argv, const struct t_case *cases, unsigned count);

#define T(fn) {#fn, fn}
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
 * Run fn in a forked child. In the child use t_child_check(): it prints and exits with status 1 on
 * failure (CUnit's assertions would be lost with the child). t_wait() returns the exit status, or
 * 128 + signal, and kills the child first if it does not end within `seconds`.
 */
pid_t t_child(int (*fn)(void *arg), void *arg);
int t_wait(pid_t pid, unsigned seconds);
#define t_child_check(ok) t_child_check_at((ok) ? 1 : 0, #ok, __FILE__, __LINE__)
void t_child_check_at(int ok, const char *text, const char *file, int line);

/* Shared anonymous memory (zeroed, page aligned) for parent and children; never NULL. */
void *t_shared(size_t bytes);

#endif
