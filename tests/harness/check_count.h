/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_failed() of programs without cases: it counts in check_failures and prints the first
 * failures. The file that includes this defines CHECK_WHO, the format and values (as printf) that
 * name the process, and may define CHECK_END(status), which a failed REQUIRE ends the process with,
 * and CHECK_COUNT(), if it is C++.
 */
#ifndef TESTS_CHECK_COUNT_H
#define TESTS_CHECK_COUNT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/harness/check.h"

#define CHECK_PRINTED 20
#ifndef CHECK_END
#define CHECK_END(status) exit(status)
#endif

#ifndef CHECK_COUNT /* add one to the failures, and give how many there were before */
#include "drivers/base/atomic.h"
static int check_failures;
#define CHECK_COUNT() atomic_fetch_add_relaxed(&check_failures, 1)
#endif

static inline void check_failed(const char *file, int line, bool is_fatal, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Any thread. A fatal failure ends the process. */
static inline void check_failed(const char *file, int line, bool is_fatal, const char *format, ...)
{
	char who[128], text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	snprintf(who, sizeof who, CHECK_WHO);
	if (CHECK_COUNT() < CHECK_PRINTED)
		fprintf(stderr, "%s, %s:%d: failed: %s\n", who, file, line, text);
	if (is_fatal)
		CHECK_END(1);
}

#endif
