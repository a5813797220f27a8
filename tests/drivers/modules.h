/* SPDX-License-Identifier: BSD-3-Clause */
/* Which drivers were built: each is a module beside the library. */
#ifndef TESTS_DRIVERS_MODULES_H
#define TESTS_DRIVERS_MODULES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/harness/t.h"

static inline bool has_module(const char *name)
{
	const char *build = getenv("QT_BUILD");
	char path[512];

	snprintf(path, sizeof path, "%s/drivers/libqt_port_%s.so", build ? build : ".", name);
	return !access(path, R_OK);
}

#define NEEDS_MODULE(name)                                                                         \
	do {                                                                                       \
		if (!has_module(name))                                                             \
			T_SKIP("the " name " module was not built");                               \
	} while (0)

#endif
