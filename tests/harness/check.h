/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The assertions of all tests.
 *
 *	CHECK(condition)              the condition holds
 *	CHECK_EQ(value, expected)     two integers or pointers are equal; a failure prints both
 *	CHECK_STR(text, expected)     two strings are equal; a failure prints both
 *	CHECK_NEAR(x, expected, by)   two floating-point numbers differ by at most `by`
 *	CHECK_FAIL(format, ...)       fails with a message, as printf
 *
 * A failed CHECK is reported and the test goes on. REQUIRE, REQUIRE_EQ and REQUIRE_STR are the same
 * checks, but a failure ends the case, or the process if it is not the one that runs the cases.
 *
 * check_failed() says where failures go. Each kind of test program has its own:
 *   unit tests         harness/t.c          a failure belongs to the case; works in forked children
 *   jobs of PAMI       harness/pami_job.h   counted for each task
 *   programs of ARMCI  armci/armci_check.h  counted for each process
 *   guests             guests/guest.h       counted for each task
 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdbool.h>
#include <string.h>

#define CHECK_AT(is_fatal, condition, ...)                                                         \
	do {                                                                                       \
		if (!(condition))                                                                  \
			check_failed(__FILE__, __LINE__, is_fatal, __VA_ARGS__);                   \
	} while (0)

#define CHECK_IS_FLOAT(x)                                                                          \
	(__builtin_types_compatible_p(__typeof__((x)), double) ||                                  \
	 __builtin_types_compatible_p(__typeof__((x)), float))

#define CHECK_EQ_AT(is_fatal, value, expected)                                                     \
	do {                                                                                       \
		_Static_assert(!CHECK_IS_FLOAT(value) && !CHECK_IS_FLOAT(expected),                \
			       "CHECK_EQ compares integers and pointers");                         \
		long long check_a = (long long)(value), check_b = (long long)(expected);           \
		CHECK_AT(is_fatal, check_a == check_b, "%s is %lld, expected %lld", #value,        \
			 check_a, check_b);                                                        \
	} while (0)

#define CHECK_STR_AT(is_fatal, text, expected)                                                     \
	do {                                                                                       \
		const char *check_a = (text), *check_b = (expected);                               \
		bool check_differ = !check_a || !check_b || strcmp(check_a, check_b) != 0;         \
		CHECK_AT(is_fatal, !check_differ, "%s is \"%s\", expected \"%s\"", #text,          \
			 check_a ? check_a : "(NULL)", check_b ? check_b : "(NULL)");              \
	} while (0)

#define CHECK_NEAR(x, expected, by)                                                                \
	do {                                                                                       \
		double check_a = (x), check_b = (expected);                                        \
		CHECK_AT(false, check_a - check_b <= (by) && check_b - check_a <= (by),            \
			 "%s is %g, expected %g", #x, check_a, check_b);                           \
	} while (0)

#define CHECK(condition)            CHECK_AT(false, condition, "%s does not hold", #condition)
#define CHECK_EQ(value, expected)   CHECK_EQ_AT(false, value, expected)
#define CHECK_STR(text, expected)   CHECK_STR_AT(false, text, expected)
#define CHECK_FAIL(...)             check_failed(__FILE__, __LINE__, false, __VA_ARGS__)
#define REQUIRE(condition)          CHECK_AT(true, condition, "%s does not hold", #condition)
#define REQUIRE_EQ(value, expected) CHECK_EQ_AT(true, value, expected)
#define REQUIRE_STR(text, expected) CHECK_STR_AT(true, text, expected)

#endif
