/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomic operations with the memory order in the name.
 *
 * A field that several threads or processes access is declared with one of the types below,
 *
 *	atomic_u32 stamp;              instead of   uint32_t stamp;
 *	ATOMIC(struct image *) image;  for pointers
 *
 * and is read and written only through the operations. A plain access (`p->stamp == 1`) does not
 * compile. So a reader of the struct sees which fields are shared, and a reader of an access sees
 * the order it has. The types have the size, alignment and representation of the plain ones: they
 * may lie in shared memory, and zero bytes initialise them.
 *
 * The operations take the address of such a field. They also take the address of a plain integer,
 * for memory that belongs to the user (a counter that a program names). The atomic_ptr_ forms take
 * the address of an ATOMIC(type *).
 *
 * relaxed: no order. acquire: later accesses stay behind. release: earlier accesses stay ahead.
 * acq_rel: both. seq_cst: as acq_rel, and one order that all threads agree on; the only one that
 * keeps a load behind an earlier store. Source: C11, 7.17.3; GCC manual, __atomic built-ins.
 */
#ifndef DRV_BASE_ATOMIC_H
#define DRV_BASE_ATOMIC_H

#include <stdint.h>

/* clang-format off */
#define ATOMIC(type) struct { type plain; }

typedef ATOMIC(uint8_t) atomic_u8;
typedef ATOMIC(uint16_t) atomic_u16;
typedef ATOMIC(uint32_t) atomic_u32;
typedef ATOMIC(uint64_t) atomic_u64;
typedef ATOMIC(int32_t) atomic_i32;
typedef ATOMIC(int64_t) atomic_i64;

/* The initialiser of a variable of such a type. */
#define ATOMIC_INIT(value) { (value) }

#if defined(__cppcheck__) /* cppcheck 2.10 cannot read _Generic */
#define ATOMIC_AT(p) ((uint64_t *)(void *)(p))
#else
/* The integer inside each of the types. A pointer to a plain integer stays as it is. */
#define ATOMIC_AT(p) _Generic((p), \
	atomic_u8 *: (uint8_t *)(void *)(p), const atomic_u8 *: (const uint8_t *)(const void *)(p), \
	atomic_u16 *: (uint16_t *)(void *)(p), const atomic_u16 *: (const uint16_t *)(const void *)(p), \
	atomic_u32 *: (uint32_t *)(void *)(p), const atomic_u32 *: (const uint32_t *)(const void *)(p), \
	atomic_u64 *: (uint64_t *)(void *)(p), const atomic_u64 *: (const uint64_t *)(const void *)(p), \
	atomic_i32 *: (int32_t *)(void *)(p), const atomic_i32 *: (const int32_t *)(const void *)(p), \
	atomic_i64 *: (int64_t *)(void *)(p), const atomic_i64 *: (const int64_t *)(const void *)(p), \
	default: (p))
#endif


#define atomic_load_relaxed(p) __atomic_load_n(ATOMIC_AT(p), __ATOMIC_RELAXED)
#define atomic_load_acquire(p) __atomic_load_n(ATOMIC_AT(p), __ATOMIC_ACQUIRE)
#define atomic_load_seq_cst(p) __atomic_load_n(ATOMIC_AT(p), __ATOMIC_SEQ_CST)

#define atomic_store_relaxed(p, v) __atomic_store_n(ATOMIC_AT(p), (v), __ATOMIC_RELAXED)
#define atomic_store_release(p, v) __atomic_store_n(ATOMIC_AT(p), (v), __ATOMIC_RELEASE)
#define atomic_store_seq_cst(p, v) __atomic_store_n(ATOMIC_AT(p), (v), __ATOMIC_SEQ_CST)

/* Store v and return the previous value. */
#define atomic_exchange_relaxed(p, v) __atomic_exchange_n(ATOMIC_AT(p), (v), __ATOMIC_RELAXED)
#define atomic_exchange_acquire(p, v) __atomic_exchange_n(ATOMIC_AT(p), (v), __ATOMIC_ACQUIRE)
#define atomic_exchange_release(p, v) __atomic_exchange_n(ATOMIC_AT(p), (v), __ATOMIC_RELEASE)
#define atomic_exchange_acq_rel(p, v) __atomic_exchange_n(ATOMIC_AT(p), (v), __ATOMIC_ACQ_REL)
#define atomic_exchange_seq_cst(p, v) __atomic_exchange_n(ATOMIC_AT(p), (v), __ATOMIC_SEQ_CST)

/*
 * Change the value. The fetch_ forms return the previous value, add_fetch and sub_fetch the new
 * one.
 */
#define atomic_fetch_add_relaxed(p, v) __atomic_fetch_add(ATOMIC_AT(p), (v), __ATOMIC_RELAXED)
#define atomic_fetch_add_acquire(p, v) __atomic_fetch_add(ATOMIC_AT(p), (v), __ATOMIC_ACQUIRE)
#define atomic_fetch_add_release(p, v) __atomic_fetch_add(ATOMIC_AT(p), (v), __ATOMIC_RELEASE)
#define atomic_fetch_add_acq_rel(p, v) __atomic_fetch_add(ATOMIC_AT(p), (v), __ATOMIC_ACQ_REL)
#define atomic_fetch_add_seq_cst(p, v) __atomic_fetch_add(ATOMIC_AT(p), (v), __ATOMIC_SEQ_CST)
#define atomic_fetch_sub_relaxed(p, v) __atomic_fetch_sub(ATOMIC_AT(p), (v), __ATOMIC_RELAXED)
#define atomic_fetch_sub_release(p, v) __atomic_fetch_sub(ATOMIC_AT(p), (v), __ATOMIC_RELEASE)
#define atomic_fetch_sub_acq_rel(p, v) __atomic_fetch_sub(ATOMIC_AT(p), (v), __ATOMIC_ACQ_REL)
#define atomic_fetch_or_relaxed(p, v) __atomic_fetch_or(ATOMIC_AT(p), (v), __ATOMIC_RELAXED)
#define atomic_fetch_or_release(p, v) __atomic_fetch_or(ATOMIC_AT(p), (v), __ATOMIC_RELEASE)
#define atomic_fetch_or_acq_rel(p, v) __atomic_fetch_or(ATOMIC_AT(p), (v), __ATOMIC_ACQ_REL)
#define atomic_fetch_or_seq_cst(p, v) __atomic_fetch_or(ATOMIC_AT(p), (v), __ATOMIC_SEQ_CST)
#define atomic_fetch_and_relaxed(p, v) __atomic_fetch_and(ATOMIC_AT(p), (v), __ATOMIC_RELAXED)
#define atomic_fetch_and_release(p, v) __atomic_fetch_and(ATOMIC_AT(p), (v), __ATOMIC_RELEASE)
#define atomic_fetch_and_acq_rel(p, v) __atomic_fetch_and(ATOMIC_AT(p), (v), __ATOMIC_ACQ_REL)
#define atomic_fetch_and_seq_cst(p, v) __atomic_fetch_and(ATOMIC_AT(p), (v), __ATOMIC_SEQ_CST)
#define atomic_add_fetch_relaxed(p, v) __atomic_add_fetch(ATOMIC_AT(p), (v), __ATOMIC_RELAXED)
#define atomic_add_fetch_release(p, v) __atomic_add_fetch(ATOMIC_AT(p), (v), __ATOMIC_RELEASE)
#define atomic_add_fetch_acq_rel(p, v) __atomic_add_fetch(ATOMIC_AT(p), (v), __ATOMIC_ACQ_REL)
#define atomic_sub_fetch_relaxed(p, v) __atomic_sub_fetch(ATOMIC_AT(p), (v), __ATOMIC_RELAXED)
#define atomic_sub_fetch_release(p, v) __atomic_sub_fetch(ATOMIC_AT(p), (v), __ATOMIC_RELEASE)
#define atomic_sub_fetch_acq_rel(p, v) __atomic_sub_fetch(ATOMIC_AT(p), (v), __ATOMIC_ACQ_REL)

/*
 * Compare and swap. If *p equals *expected, store v and return true. Otherwise set *expected to *p
 * and return false. A weak form may also fail for no reason, so use it in a loop.
 */
#define atomic_cas_relaxed(p, expected, v) \
	__atomic_compare_exchange_n(ATOMIC_AT(p), (expected), (v), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define atomic_cas_acquire(p, expected, v) \
	__atomic_compare_exchange_n(ATOMIC_AT(p), (expected), (v), 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
#define atomic_cas_release(p, expected, v) \
	__atomic_compare_exchange_n(ATOMIC_AT(p), (expected), (v), 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define atomic_cas_acq_rel(p, expected, v) \
	__atomic_compare_exchange_n(ATOMIC_AT(p), (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define atomic_cas_seq_cst(p, expected, v) \
	__atomic_compare_exchange_n(ATOMIC_AT(p), (expected), (v), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define atomic_cas_weak_relaxed(p, expected, v) \
	__atomic_compare_exchange_n(ATOMIC_AT(p), (expected), (v), 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define atomic_cas_weak_acquire(p, expected, v) \
	__atomic_compare_exchange_n(ATOMIC_AT(p), (expected), (v), 1, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
#define atomic_cas_weak_release(p, expected, v) \
	__atomic_compare_exchange_n(ATOMIC_AT(p), (expected), (v), 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define atomic_cas_weak_acq_rel(p, expected, v) \
	__atomic_compare_exchange_n(ATOMIC_AT(p), (expected), (v), 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define atomic_cas_weak_seq_cst(p, expected, v) \
	__atomic_compare_exchange_n(ATOMIC_AT(p), (expected), (v), 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/* The same operations for an ATOMIC(type *). */
#define atomic_ptr_load_relaxed(p) __atomic_load_n(&(p)->plain, __ATOMIC_RELAXED)
#define atomic_ptr_load_acquire(p) __atomic_load_n(&(p)->plain, __ATOMIC_ACQUIRE)
#define atomic_ptr_load_seq_cst(p) __atomic_load_n(&(p)->plain, __ATOMIC_SEQ_CST)
#define atomic_ptr_store_relaxed(p, v) __atomic_store_n(&(p)->plain, (v), __ATOMIC_RELAXED)
#define atomic_ptr_store_release(p, v) __atomic_store_n(&(p)->plain, (v), __ATOMIC_RELEASE)
#define atomic_ptr_store_seq_cst(p, v) __atomic_store_n(&(p)->plain, (v), __ATOMIC_SEQ_CST)
#define atomic_ptr_exchange_acquire(p, v) __atomic_exchange_n(&(p)->plain, (v), __ATOMIC_ACQUIRE)
#define atomic_ptr_exchange_acq_rel(p, v) __atomic_exchange_n(&(p)->plain, (v), __ATOMIC_ACQ_REL)
#define atomic_ptr_exchange_seq_cst(p, v) __atomic_exchange_n(&(p)->plain, (v), __ATOMIC_SEQ_CST)
#define atomic_ptr_cas_release(p, expected, v) \
	__atomic_compare_exchange_n(&(p)->plain, (expected), (v), 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define atomic_ptr_cas_acq_rel(p, expected, v) \
	__atomic_compare_exchange_n(&(p)->plain, (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define atomic_ptr_cas_seq_cst(p, expected, v) \
	__atomic_compare_exchange_n(&(p)->plain, (expected), (v), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/* Fences: order between threads without an access, or against the compiler alone. */
#define atomic_fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define atomic_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#define atomic_fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define atomic_signal_fence_seq_cst() __atomic_signal_fence(__ATOMIC_SEQ_CST)
/* clang-format on */

#endif
