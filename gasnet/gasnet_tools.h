/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tools header of GASNet: timers, sleeps, atomics, thread keys, configuration strings, and the
 * macros that programs of its users expect. It needs no job and no threading mode.
 */
#ifndef _GASNET_TOOLS_H
#define _GASNET_TOOLS_H

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#define GASNETT_EXTERNC       extern "C"
#define GASNETT_BEGIN_EXTERNC extern "C" {
#define GASNETT_END_EXTERNC   }
#else
#define GASNETT_EXTERNC extern
#define GASNETT_BEGIN_EXTERNC
#define GASNETT_END_EXTERNC
#endif

GASNETT_BEGIN_EXTERNC

/* ---- compiler and platform ---- */

#define _STRINGIFY_HELPER(x) #x
#ifndef _STRINGIFY
#define _STRINGIFY(x) _STRINGIFY_HELPER(x)
#endif
#ifndef _CONCAT
#define _CONCAT_HELPER(a, b) a##b
#define _CONCAT(a, b)        _CONCAT_HELPER(a, b)
#endif
/* As the header of portable platforms has them. */
#ifndef PLATFORM_COMPILER_FAMILYNAME
#if defined(__clang__)
#define PLATFORM_COMPILER_FAMILYNAME  CLANG
#define PLATFORM_COMPILER_CLANG       1
#define PLATFORM_COMPILER_VERSION     PLATFORM_VERSION_INT(__clang_major__, __clang_minor__, 0)
#define PLATFORM_COMPILER_VERSION_STR __VERSION__
#else
#define PLATFORM_COMPILER_FAMILYNAME  GNU
#define PLATFORM_COMPILER_GNU         1
#define PLATFORM_COMPILER_VERSION     PLATFORM_VERSION_INT(__GNUC__, __GNUC_MINOR__, 0)
#define PLATFORM_COMPILER_VERSION_STR __VERSION__
#endif
#define PLATFORM_COMPILER_FAMILYID             1
#define PLATFORM_VERSION_INT(major, minor, pl) (((major) << 16) | ((minor) << 8) | (pl))
#define PLATFORM_COMPILER_VERSION_GT(a, b, c)                                                      \
	(PLATFORM_COMPILER_VERSION > PLATFORM_VERSION_INT(a, b, c))
#define PLATFORM_COMPILER_VERSION_GE(a, b, c)                                                      \
	(PLATFORM_COMPILER_VERSION >= PLATFORM_VERSION_INT(a, b, c))
#define PLATFORM_COMPILER_VERSION_EQ(a, b, c)                                                      \
	(PLATFORM_COMPILER_VERSION == PLATFORM_VERSION_INT(a, b, c))
#define PLATFORM_COMPILER_VERSION_LE(a, b, c)                                                      \
	(PLATFORM_COMPILER_VERSION <= PLATFORM_VERSION_INT(a, b, c))
#define PLATFORM_COMPILER_VERSION_LT(a, b, c)                                                      \
	(PLATFORM_COMPILER_VERSION < PLATFORM_VERSION_INT(a, b, c))
#define PLATFORM_OS_FAMILYNAME      LINUX
#define PLATFORM_OS_LINUX           1
#define PLATFORM_ARCH_FAMILYNAME    X86_64
#define PLATFORM_ARCH_X86_64        1
#define PLATFORM_ARCH_64            1
#define PLATFORM_ARCH_LITTLE_ENDIAN 1
#endif
#ifndef PRIuSZ
#define PRIuSZ "zu"
#define PRIxSZ "zx"
#define PRIdSZ "zd"
#endif
#ifndef if_pf
#define if_pf(cond) if (__builtin_expect(!!(cond), 0))
#define if_pt(cond) if (__builtin_expect(!!(cond), 1))
#endif
#define GASNETT_PREDICT_TRUE(x)        __builtin_expect(!!(x), 1)
#define GASNETT_PREDICT_FALSE(x)       __builtin_expect(!!(x), 0)
#define GASNETT_PREFETCH_READ_HINT(p)  __builtin_prefetch((p), 0)
#define GASNETT_PREFETCH_WRITE_HINT(p) __builtin_prefetch((p), 1)

#define GASNETT_INLINE(name)                    static inline
#define GASNETT_NEVER_INLINE(name, decl)        __attribute__((noinline)) decl
#define GASNETT_ALWAYS_INLINE(name)             static inline __attribute__((always_inline))
#define GASNETT_FORMAT_PRINTF(name, a, b, decl) __attribute__((format(printf, a, b))) decl
#define GASNETT_NORETURN                        __attribute__((noreturn))
#define GASNETT_NORETURNP(name)
#define GASNETT_MALLOC __attribute__((malloc))
#define GASNETT_MALLOCP(name)
#define GASNETT_PURE __attribute__((pure))
#define GASNETT_PUREP(name)
#define GASNETT_CONST __attribute__((const))
#define GASNETT_CONSTP(name)
#define GASNETT_WARN_UNUSED_RESULT                      __attribute__((warn_unused_result))
#define GASNETT_HOT                                     __attribute__((hot))
#define GASNETT_COLD                                    __attribute__((cold))
#define GASNETT_USED                                    __attribute__((used))
#define GASNETT_UNUSED                                  __attribute__((unused))
#define GASNETT_DEPRECATED                              __attribute__((deprecated))
#define GASNETT_RESTRICT                                __restrict__
#define GASNETT_CURRENT_FUNCTION                        __func__
#define GASNETT_FORMAT_PRINTF_FUNCPTR(name, a, b, decl) decl __attribute__((format(printf, a, b)))
#define GASNETT_FORMAT_PRINTF_FUNCPTR_ARG(name, a, b, decl)                                        \
	decl __attribute__((format(printf, a, b)))
#define gasnett_constant_p(x) __builtin_constant_p(x)
#define gasnett_unreachable() __builtin_unreachable()
#define gasnett_assume(cond)  ((cond) ? (void)0 : __builtin_unreachable())
/* These end the program. The second one does nothing without GASNET_DEBUG or GASNETT_DEBUG. */
#define gasnett_assert_always(cond)                                                                \
	(__builtin_expect(!!(cond), 1)                                                             \
	     ? (void)0                                                                             \
	     : gasnett_fatalerror("%s:%d: assertion failure: %s", __FILE__, __LINE__, #cond))
#if defined(GASNET_DEBUG) || defined(GASNETT_DEBUG)
#define gasnett_assert(cond) gasnett_assert_always(cond)
#ifndef GASNETT_DEBUG
#define GASNETT_DEBUG 1
#endif
#else
#define gasnett_assert(cond) ((void)0)
#define GASNETT_NDEBUG       1
#endif
/* A text that `strings` finds in the program. */
#define GASNETT_IDENT(name, text)                                                                  \
	extern char const name[];                                                                  \
	char const name[] __attribute__((used)) = text;                                            \
	extern char const name[]

#define GASNETT_PAGESIZE         4096
#define GASNETT_PAGESHIFT        12
#define GASNETT_CACHE_LINE_BYTES 64
#define GASNETT_MAX_THREADS      256
#define GASNETT_SYSTEM_TUPLE     "x86_64-pc-linux-gnu"
#define GASNETT_SYSTEM_NAME      "Quintorus"
#define GASNETT_CONFIG_STRING                                                                      \
	"RELEASE=2019.9.0,PTR=64bit,timers_native,membars_native,atomics_native"
#define GASNETT_RELEASE_VERSION_MAJOR 2019
#define GASNETT_RELEASE_VERSION_MINOR 9
#define GASNETT_RELEASE_VERSION_PATCH 0
/* Every function of this header serves several threads; a program may say that it has one. */
#if defined(GASNETT_THREAD_SINGLE) && defined(GASNETT_THREAD_SAFE)
#error "define at most one of GASNETT_THREAD_SINGLE and GASNETT_THREAD_SAFE"
#elif !defined(GASNETT_THREAD_SINGLE) && !defined(GASNETT_THREAD_SAFE)
#ifdef GASNET_SEQ
#define GASNETT_THREAD_SINGLE 1
#else
#define GASNETT_THREAD_SAFE 1
#endif
#endif
#ifdef GASNETT_THREAD_SINGLE
#define GASNETT_THREADMODEL     SEQ
#define GASNETT_THREADMODEL_STR "SEQ"
#else
#define GASNETT_THREADMODEL     PAR
#define GASNETT_THREADMODEL_STR "PAR"
#endif

/* Tracing does not exist; the arguments are not evaluated. */
#define GASNETT_TRACE_ENABLED                     0
#define GASNETT_TRACE_PRINTF(...)                 ((void)0)
#define GASNETT_TRACE_PRINTF_FORCE(...)           ((void)0)
#define GASNETT_TRACE_SETSOURCELINE(file, line)   ((void)0)
#define GASNETT_TRACE_GETSOURCELINE(pfile, pline) ((void)0)
#define GASNETT_TRACE_FREEZESOURCELINE()          ((void)0)
#define GASNETT_TRACE_UNFREEZESOURCELINE()        ((void)0)
#define GASNETT_TRACE_GETMASK()                   ""
#define GASNETT_TRACE_SETMASK(mask)               ((void)0)
#define GASNETT_STATS_GETMASK()                   ""
#define GASNETT_STATS_SETMASK(mask)               ((void)0)
#define GASNETT_STATS_INIT(cb, fmt)               ((void)0)

/* ---- time ---- */

/* Ticks of the clock of the job (virtual, if that is), else of the system's monotonic clock. A tick
 * is a nanosecond. */
typedef uint64_t gasnett_tick_t;
#define GASNETT_TICK_MIN ((gasnett_tick_t)0)
#define GASNETT_TICK_MAX ((gasnett_tick_t)-1)
gasnett_tick_t gasnett_ticks_now(void);
static inline uint64_t gasnett_ticks_to_ns(gasnett_tick_t ticks)
{
	return ticks;
}
static inline uint64_t gasnett_ticks_to_us(gasnett_tick_t ticks)
{
	return ticks / 1000;
}
/* The least difference of two readings, and the cost of a reading, in microseconds. */
double gasnett_tick_granularityus(void);
double gasnett_tick_overheadus(void);
#define gasnett_tick_granularity() gasnett_tick_granularityus()
#define gasnett_tick_overhead()    gasnett_tick_overheadus()
/* Nanoseconds since 1970. */
uint64_t gasnett_gettimeofday_us(void);
uint64_t gasnett_gettimeofday_ns(void);
/* Sleep. 0. */
int gasnett_nsleep(uint64_t ns);
void gasnett_sched_yield(void);
#define gasnett_spinloop_hint() __builtin_ia32_pause()

/* ---- the machine and the environment ---- */

int gasnett_cpu_count(void);
/* 0: unknown. */
uint64_t gasnett_getPhysMemSz(int failure_is_fatal);
const char *gasnett_gethostname(void);
char *gasnett_getenv(const char *name);
void gasnett_setenv(const char *name, const char *value);
void gasnett_unsetenv(const char *name);
char *gasnett_getenv_withdefault(const char *name, const char *standard);
int gasnett_getenv_yesno_withdefault(const char *name, int standard);
/* unit: bytes of a plain number, 0: the value is not a size. */
int64_t gasnett_getenv_int_withdefault(const char *name, int64_t standard, uint64_t unit);
double gasnett_getenv_dbl_withdefault(const char *name, double standard);
int gasnett_verboseenv(void);
/* Say the value of a variable on standard error, if gasnett_verboseenv(). */
void gasnett_envstr_display(const char *name, const char *value, int is_default);
void gasnett_envint_display(const char *name, int64_t value, int is_default, int is_size);
void gasnett_envdbl_display(const char *name, double value, int is_default);
/* A whole number with an optional unit (k, m, g, t). unit: bytes of a plain number, or 0. */
int64_t gasnett_parse_int(const char *text, uint64_t unit);
/* Write a number for people; is_size: with a unit. Returns buffer. */
char *gasnett_format_number(int64_t value, char *buffer, size_t bytes, int is_size);
const char *gasnett_performance_warning_str(void);
int gasnett_isLittleEndian(void);
uint64_t gasnett_checksum(void *p, size_t bytes);
/* How many bytes are 0; the second copies them, too. */
size_t gasnett_count0s(const void *src, size_t bytes);
size_t gasnett_count0s_copy(void *dst, const void *src, size_t bytes);
/* Private memory of whole pages; MAP_FAILED: there is none. */
void *gasnett_mmap(uintptr_t bytes);
int gasnett_maximize_rlimits(void);
int gasnett_maximize_rlimit(int resource, const char *name);
void gasnett_flush_streams(void);
void gasnett_fatalerror(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void gasnett_killmyprocess(int exitcode) __attribute__((noreturn));
int gasnett_print_backtrace(int fd);
int gasnett_print_backtrace_ifenabled(int fd);
void gasnett_backtrace_init(const char *program);
/* A program's own way to print a backtrace. It is not called: the library prints its own. */
typedef struct {
	const char *name;
	int (*fnp)(int fd);
	int threadsupport;
	int required;
} gasnett_backtrace_type_t;
extern gasnett_backtrace_type_t gasnett_backtrace_user;
/* Wait for a debugger to set *flag to 0. The second waits only with GASNET_FREEZE_ON_ERROR. */
void gasnett_freezeForDebuggerNow(volatile int *flag, const char *name);
void gasnett_freezeForDebuggerErr(void);
void gasnett_set_affinity(int rank);
typedef void (*gasnett_sighandlerfn_t)(int);
gasnett_sighandlerfn_t gasnett_reghandler(int sigtocatch, gasnett_sighandlerfn_t fp);

/* ---- memory order ---- */

#define gasnett_local_wmb()      __atomic_thread_fence(__ATOMIC_RELEASE)
#define gasnett_local_rmb()      __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define gasnett_local_mb()       __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define gasnett_compiler_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define gasnett_weak_wmb()       gasnett_local_wmb()
#define gasnett_weak_rmb()       gasnett_local_rmb()
#define gasnett_weak_mb()        gasnett_local_mb()

/* ---- atomics between threads of a process ---- */

#define GASNETT_ATOMIC_NONE         0
#define GASNETT_ATOMIC_REL          1
#define GASNETT_ATOMIC_ACQ          2
#define GASNETT_ATOMIC_ACQ_IF_TRUE  4
#define GASNETT_ATOMIC_ACQ_IF_FALSE 8
#define GASNETT_ATOMIC_MB           (GASNETT_ATOMIC_REL | GASNETT_ATOMIC_ACQ)
#define GASNETT_ATOMIC_WMB          GASNETT_ATOMIC_REL
#define GASNETT_ATOMIC_RMB          GASNETT_ATOMIC_ACQ
#define GASNETT_ATOMIC_RMB_IF_TRUE  GASNETT_ATOMIC_ACQ_IF_TRUE
#define GASNETT_ATOMIC_RMB_IF_FALSE GASNETT_ATOMIC_ACQ_IF_FALSE

/* Every order is at least as strong as its flags ask for. */
#define GEXI_ATOMICS(prefix, PREFIX, val_t, sgn_t)                                                 \
	typedef val_t prefix##_val_t;                                                              \
	typedef sgn_t prefix##_sval_t;                                                             \
	typedef struct {                                                                           \
		volatile val_t gexi_value;                                                         \
	} prefix##_t;                                                                              \
	static inline val_t prefix##_read(const prefix##_t *p, int flags)                          \
	{                                                                                          \
		(void)flags;                                                                       \
		return __atomic_load_n(&p->gexi_value, __ATOMIC_SEQ_CST);                          \
	}                                                                                          \
	static inline void prefix##_set(prefix##_t *p, val_t value, int flags)                     \
	{                                                                                          \
		(void)flags;                                                                       \
		__atomic_store_n(&p->gexi_value, value, __ATOMIC_SEQ_CST);                         \
	}                                                                                          \
	static inline void prefix##_increment(prefix##_t *p, int flags)                            \
	{                                                                                          \
		(void)flags;                                                                       \
		__atomic_fetch_add(&p->gexi_value, 1, __ATOMIC_SEQ_CST);                           \
	}                                                                                          \
	static inline void prefix##_decrement(prefix##_t *p, int flags)                            \
	{                                                                                          \
		(void)flags;                                                                       \
		__atomic_fetch_sub(&p->gexi_value, 1, __ATOMIC_SEQ_CST);                           \
	}                                                                                          \
	static inline int prefix##_decrement_and_test(prefix##_t *p, int flags)                    \
	{                                                                                          \
		(void)flags;                                                                       \
		return __atomic_sub_fetch(&p->gexi_value, 1, __ATOMIC_SEQ_CST) == 0;               \
	}                                                                                          \
	static inline val_t prefix##_add(prefix##_t *p, val_t value, int flags)                    \
	{                                                                                          \
		(void)flags;                                                                       \
		return __atomic_add_fetch(&p->gexi_value, value, __ATOMIC_SEQ_CST);                \
	}                                                                                          \
	static inline val_t prefix##_subtract(prefix##_t *p, val_t value, int flags)               \
	{                                                                                          \
		(void)flags;                                                                       \
		return __atomic_sub_fetch(&p->gexi_value, value, __ATOMIC_SEQ_CST);                \
	}                                                                                          \
	static inline val_t prefix##_swap(prefix##_t *p, val_t value, int flags)                   \
	{                                                                                          \
		(void)flags;                                                                       \
		return __atomic_exchange_n(&p->gexi_value, value, __ATOMIC_SEQ_CST);               \
	}                                                                                          \
	static inline int prefix##_compare_and_swap(prefix##_t *p, val_t expected, val_t value,    \
						    int flags)                                     \
	{                                                                                          \
		(void)flags;                                                                       \
		return __atomic_compare_exchange_n(&p->gexi_value, &expected, value, 0,            \
						   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
	}
GEXI_ATOMICS(gasnett_atomic, GASNETT_ATOMIC, uint32_t, int32_t)
GEXI_ATOMICS(gasnett_atomic32, GASNETT_ATOMIC32, uint32_t, int32_t)
GEXI_ATOMICS(gasnett_atomic64, GASNETT_ATOMIC64, uint64_t, int64_t)
GEXI_ATOMICS(gasnett_strongatomic, GASNETT_STRONGATOMIC, uint32_t, int32_t)
GEXI_ATOMICS(gasnett_strongatomic32, GASNETT_STRONGATOMIC32, uint32_t, int32_t)
GEXI_ATOMICS(gasnett_strongatomic64, GASNETT_STRONGATOMIC64, uint64_t, int64_t)
#undef GEXI_ATOMICS
#define gasnett_atomic_init(v)                                                                     \
	{                                                                                          \
		(uint32_t)(v)                                                                      \
	}
#define gasnett_atomic32_init(v)                                                                   \
	{                                                                                          \
		(uint32_t)(v)                                                                      \
	}
#define gasnett_atomic64_init(v)                                                                   \
	{                                                                                          \
		(uint64_t)(v)                                                                      \
	}
#define gasnett_atomic_signed(v)          ((int32_t)(v))
#define gasnett_atomic32_signed(v)        ((int32_t)(v))
#define gasnett_atomic64_signed(v)        ((int64_t)(v))
#define gasnett_strongatomic_init(v)      gasnett_atomic_init(v)
#define gasnett_strongatomic32_init(v)    gasnett_atomic32_init(v)
#define gasnett_strongatomic64_init(v)    gasnett_atomic64_init(v)
#define gasnett_strongatomic_signed(v)    gasnett_atomic_signed(v)
#define gasnett_strongatomic32_signed(v)  gasnett_atomic32_signed(v)
#define gasnett_strongatomic64_signed(v)  gasnett_atomic64_signed(v)
#define GASNETT_ATOMIC_MAX                UINT32_MAX
#define GASNETT_ATOMIC_SIGNED_MIN         INT32_MIN
#define GASNETT_ATOMIC_SIGNED_MAX         INT32_MAX
#define GASNETT_HAVE_ATOMIC_CAS           1
#define GASNETT_HAVE_ATOMIC_ADD_SUB       1
#define GASNETT_HAVE_STRONGATOMIC_CAS     1
#define GASNETT_HAVE_STRONGATOMIC_ADD_SUB 1

/* ---- values of each thread ---- */

#define GASNETT_THREADKEY_DECLARE(key)           extern __thread void *key
#define GASNETT_THREADKEY_DEFINE(key)            __thread void *key
#define gasnett_threadkey_get(key)               (key)
#define gasnett_threadkey_set(key, value)        ((void)((key) = (void *)(value)))
#define gasnett_threadkey_init(key)              ((void)0)
#define gasnett_threadkey_get_noinit(key)        (key)
#define gasnett_threadkey_set_noinit(key, value) ((void)((key) = (void *)(value)))

/* ---- mutexes and condition variables ---- */

typedef pthread_mutex_t gasnett_mutex_t;
#define GASNETT_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define gasnett_mutex_init(m)     pthread_mutex_init((m), NULL)
#define gasnett_mutex_destroy(m)  pthread_mutex_destroy(m)
#define gasnett_mutex_lock(m)     pthread_mutex_lock(m)
#define gasnett_mutex_unlock(m)   pthread_mutex_unlock(m)
#define gasnett_mutex_trylock(m)  pthread_mutex_trylock(m)
typedef pthread_cond_t gasnett_cond_t;
#define GASNETT_COND_INITIALIZER  PTHREAD_COND_INITIALIZER
#define gasnett_cond_init(c)      pthread_cond_init((c), NULL)
#define gasnett_cond_destroy(c)   pthread_cond_destroy(c)
#define gasnett_cond_signal(c)    pthread_cond_signal(c)
#define gasnett_cond_broadcast(c) pthread_cond_broadcast(c)
#define gasnett_cond_wait(c, m)   pthread_cond_wait((c), (m))
#ifdef PTHREAD_RWLOCK_INITIALIZER /* not in the strict modes of C */
typedef pthread_rwlock_t gasnett_rwlock_t;
#define GASNETT_RWLOCK_INITIALIZER  PTHREAD_RWLOCK_INITIALIZER
#define gasnett_rwlock_init(l)      pthread_rwlock_init((l), NULL)
#define gasnett_rwlock_destroy(l)   pthread_rwlock_destroy(l)
#define gasnett_rwlock_rdlock(l)    pthread_rwlock_rdlock(l)
#define gasnett_rwlock_wrlock(l)    pthread_rwlock_wrlock(l)
#define gasnett_rwlock_tryrdlock(l) pthread_rwlock_tryrdlock(l)
#define gasnett_rwlock_trywrlock(l) pthread_rwlock_trywrlock(l)
#define gasnett_rwlock_unlock(l)    pthread_rwlock_unlock(l)
#endif

GASNETT_END_EXTERNC

#endif
