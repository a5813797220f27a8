/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DRV_ASSERT(condition): an invariant of the library itself, for example "the caller holds the
 * engine lock". Checked in builds without optimisation (-Dbuildtype=debug), under the address and
 * thread sanitizers, and where DRV_CHECKED is defined as 1; elsewhere the condition is compiled but
 * not evaluated. A failure prints the place and ends the process. clang-tidy takes the condition as
 * true, so an assertion also tells it what another file guarantees.
 *
 * Never for what a program, the environment or the network may cause: that gets an error.
 */
#ifndef DRV_BASE_ASSERT_H
#define DRV_BASE_ASSERT_H

#include <stdlib.h>

#include "drivers/base/log.h"

#ifndef DRV_CHECKED
#if !defined __OPTIMIZE__ || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define DRV_CHECKED 1
#else
#define DRV_CHECKED 0
#endif
#endif

#ifdef __clang_analyzer__
#define DRV_ASSERT(condition) ((condition) ? (void)0 : abort())
#else
#define DRV_ASSERT(condition)                                                                      \
	do {                                                                                       \
		if (DRV_CHECKED && __builtin_expect(!(condition), 0)) {                            \
			drv_error("%s:%d: %s: assertion failed: %s", __FILE__, __LINE__, __func__, \
				  #condition);                                                     \
			abort();                                                                   \
		}                                                                                  \
	} while (0)
#endif

#endif
