/* SPDX-License-Identifier: BSD-3-Clause */
/* The published headers of libgasnet as its own files include them: visible to programs. */
#ifndef GASNET_CORE_API_H
#define GASNET_CORE_API_H

#define GASNET_PAR 1 /* the inline parts serve any mode */
#pragma GCC visibility push(default)
#include "gasnet/gasnet.h"
#pragma GCC visibility pop

#define GEXI_LIKELY(x)   __builtin_expect(!!(x), 1)
#define GEXI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define GEXI_COLD        __attribute__((noinline, cold))

#endif
