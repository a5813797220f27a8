/* SPDX-License-Identifier: BSD-3-Clause */
/* L2 atomics: operations on aligned words of 64 bits, executed at the shared cache.
 * docs/hardware.md 10.1. */
#ifndef QT_SPI_INCLUDE_L2_ATOMIC_H
#define QT_SPI_INCLUDE_L2_ATOMIC_H

#include "hwi/include/common/compiler_support.h"

#define L2_ATOMIC_OPCODE_LOAD                        0
#define L2_ATOMIC_OPCODE_LOAD_CLEAR                  1
#define L2_ATOMIC_OPCODE_LOAD_INCREMENT              2
#define L2_ATOMIC_OPCODE_LOAD_DECREMENT              3
#define L2_ATOMIC_OPCODE_LOAD_INCREMENT_BOUNDED      4
#define L2_ATOMIC_OPCODE_LOAD_DECREMENT_BOUNDED      5
#define L2_ATOMIC_OPCODE_LOAD_INCREMENT_IF_EQUAL     6
#define L2_ATOMIC_OPCODE_STORE                       0
#define L2_ATOMIC_OPCODE_STORE_TWIN                  1
#define L2_ATOMIC_OPCODE_STORE_ADD                   2
#define L2_ATOMIC_OPCODE_STORE_ADD_COHERENCE_ON_ZERO 3
#define L2_ATOMIC_OPCODE_STORE_OR                    4
#define L2_ATOMIC_OPCODE_STORE_XOR                   5
#define L2_ATOMIC_OPCODE_STORE_MAX                   6
#define L2_ATOMIC_OPCODE_STORE_MAX_SIGN_VALUE        7

/* What a bounded operation returns at its bound. */
#define L2_ATOMIC_AT_BOUND 0x8000000000000000ull

static inline __attribute__((unused)) uint64_t L2_AtomicLoad(volatile uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
static inline __attribute__((unused)) uint64_t L2_AtomicLoadClear(volatile uint64_t *p)
{
	return __atomic_exchange_n(p, 0, __ATOMIC_SEQ_CST);
}
static inline __attribute__((unused)) uint64_t L2_AtomicLoadIncrement(volatile uint64_t *p)
{
	return __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST);
}
static inline __attribute__((unused)) uint64_t L2_AtomicLoadDecrement(volatile uint64_t *p)
{
	return __atomic_fetch_sub(p, 1, __ATOMIC_SEQ_CST);
}
/* Add 1 unless p[0] == p[1]. */
static inline __attribute__((unused)) uint64_t L2_AtomicLoadIncrementBounded(volatile uint64_t *p)
{
	uint64_t was = __atomic_load_n(p, __ATOMIC_SEQ_CST);

	do {
		if (was == __atomic_load_n(p + 1, __ATOMIC_SEQ_CST))
			return L2_ATOMIC_AT_BOUND;
	} while (
	    !__atomic_compare_exchange_n(p, &was, was + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return was;
}
/* Subtract 1 unless p[0] == p[-1]. */
static inline __attribute__((unused)) uint64_t L2_AtomicLoadDecrementBounded(volatile uint64_t *p)
{
	uint64_t was = __atomic_load_n(p, __ATOMIC_SEQ_CST);

	do {
		if (was == __atomic_load_n(p - 1, __ATOMIC_SEQ_CST))
			return L2_ATOMIC_AT_BOUND;
	} while (
	    !__atomic_compare_exchange_n(p, &was, was - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return was;
}
/* Add 1 if p[0] == p[1]. */
static inline __attribute__((unused)) uint64_t L2_AtomicLoadIncrementIfEqual(volatile uint64_t *p)
{
	uint64_t was = __atomic_load_n(p, __ATOMIC_SEQ_CST);

	do {
		if (was != __atomic_load_n(p + 1, __ATOMIC_SEQ_CST))
			return L2_ATOMIC_AT_BOUND;
	} while (
	    !__atomic_compare_exchange_n(p, &was, was + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return was;
}
static inline __attribute__((unused)) void L2_AtomicStore(volatile uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}
/* If p[0] == p[1], store v in both. */
static inline __attribute__((unused)) void L2_AtomicStoreTwin(volatile uint64_t *p, uint64_t v)
{
	uint64_t was = __atomic_load_n(p + 1, __ATOMIC_SEQ_CST);

	if (__atomic_compare_exchange_n(p, &was, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		__atomic_store_n(p + 1, v, __ATOMIC_SEQ_CST);
}
static inline __attribute__((unused)) void L2_AtomicStoreAdd(volatile uint64_t *p, uint64_t v)
{
	__atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
static inline __attribute__((unused)) void L2_AtomicStoreAddCoherenceOnZero(volatile uint64_t *p,
									    uint64_t v)
{
	__atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
static inline __attribute__((unused)) void L2_AtomicStoreOr(volatile uint64_t *p, uint64_t v)
{
	__atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);
}
static inline __attribute__((unused)) void L2_AtomicStoreXor(volatile uint64_t *p, uint64_t v)
{
	__atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);
}
static inline __attribute__((unused)) void L2_AtomicStoreMax(volatile uint64_t *p, uint64_t v)
{
	uint64_t was = __atomic_load_n(p, __ATOMIC_SEQ_CST);

	while (was < v &&
	       !__atomic_compare_exchange_n(p, &was, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}
static inline __attribute__((unused)) void L2_AtomicStoreMaxSignValue(volatile uint64_t *p,
								      uint64_t v)
{
	uint64_t was = __atomic_load_n(p, __ATOMIC_SEQ_CST);

	/* Sign and magnitude, as floating point is: of two negatives the smaller magnitude. */
	while ((was >> 63 ? !(v >> 63) || v < was : !(v >> 63) && v > was) &&
	       !__atomic_compare_exchange_n(p, &was, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

#endif
