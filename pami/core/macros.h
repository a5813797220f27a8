/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiler attributes and macros that all files of pami/ use. */
#ifndef PAMI_CORE_MACROS_H
#define PAMI_CORE_MACROS_H

#include <stddef.h>

#define PAMI_LIKELY(x)   __builtin_expect(!!(x), 1)
#define PAMI_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* A function outside the hot path: never inlined, placed apart from hot code. */
#define PAMI_COLD __attribute__((noinline, cold))
/* A part of hot functions that has a name of its own. */
#define PAMI_INLINE inline __attribute__((always_inline))
#define PAMI_EXPORT __attribute__((visibility("default")))

/* The object of `type` whose member `field` is at `ptr`. */
#define PAMI_CONTAINER(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))

#endif
