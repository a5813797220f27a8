/* SPDX-License-Identifier: BSD-3-Clause */
/* What headers of the chip expect from the compiler. */
#ifndef QT_HWI_INCLUDE_COMMON_COMPILER_SUPPORT_H
#define QT_HWI_INCLUDE_COMMON_COMPILER_SUPPORT_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* A program may define its own before the first header. */
#ifndef __INLINE__
#define __INLINE__ static inline __attribute__((unused))
#endif
#ifndef __BEGIN_DECLS
#ifdef __cplusplus
#define __BEGIN_DECLS extern "C" {
#define __END_DECLS   }
#else
#define __BEGIN_DECLS
#define __END_DECLS
#endif
#endif
#define __LIKELY(x)   __builtin_expect(!!(x), 1)
#define __UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
