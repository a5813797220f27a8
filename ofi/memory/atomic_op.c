/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/memory/atomic_op.h"

#include <complex.h>
#include <rdma/fi_atomic.h>
#include <stdint.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "ofi/core/lock.h"

typedef float complex float_complex;
typedef double complex double_complex;
typedef long double complex long_double_complex;
typedef long double long_double;
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

#define ELEMENT_MAX 32u

/* One element of each type: value = op(value, operand, comparand). */
typedef void (*step_fn)(void *value, const void *operand, const void *comparand, enum fi_op op);

#define LOAD(type, name, from)                                                                     \
	type name = 0;                                                                             \
	if (from)                                                                                  \
	memcpy(&name, from, sizeof name)

#define STEP_COMMON(v, a, c)                                                                       \
	case FI_SUM:                                                                               \
		v += a;                                                                            \
		break;                                                                             \
	case FI_PROD:                                                                              \
		v *= a;                                                                            \
		break;                                                                             \
	case FI_LOR:                                                                               \
		v = v != 0 || a != 0;                                                              \
		break;                                                                             \
	case FI_LAND:                                                                              \
		v = v != 0 && a != 0;                                                              \
		break;                                                                             \
	case FI_LXOR:                                                                              \
		v = (v != 0) != (a != 0);                                                          \
		break;                                                                             \
	case FI_ATOMIC_WRITE:                                                                      \
		v = a;                                                                             \
		break;                                                                             \
	case FI_CSWAP:                                                                             \
		v = c == v ? a : v;                                                                \
		break;                                                                             \
	case FI_CSWAP_NE:                                                                          \
		v = c != v ? a : v;                                                                \
		break;

#define STEP_ORDERED(v, a, c)                                                                      \
	case FI_MIN:                                                                               \
		v = a < v ? a : v;                                                                 \
		break;                                                                             \
	case FI_MAX:                                                                               \
		v = a > v ? a : v;                                                                 \
		break;                                                                             \
	case FI_CSWAP_LE:                                                                          \
		v = c <= v ? a : v;                                                                \
		break;                                                                             \
	case FI_CSWAP_LT:                                                                          \
		v = c < v ? a : v;                                                                 \
		break;                                                                             \
	case FI_CSWAP_GE:                                                                          \
		v = c >= v ? a : v;                                                                \
		break;                                                                             \
	case FI_CSWAP_GT:                                                                          \
		v = c > v ? a : v;                                                                 \
		break;

#define STEP_BITS(v, a, c)                                                                         \
	case FI_BOR:                                                                               \
		v |= a;                                                                            \
		break;                                                                             \
	case FI_BAND:                                                                              \
		v &= a;                                                                            \
		break;                                                                             \
	case FI_BXOR:                                                                              \
		v ^= a;                                                                            \
		break;                                                                             \
	case FI_MSWAP:                                                                             \
		v = (a & c) | (v & ~c);                                                            \
		break;

#define NOTHING(v, a, c)

#define DEFINE_STEP(type, ordered, bits)                                                           \
	static void step_##type(void *value, const void *operand, const void *comparand,           \
				enum fi_op op)                                                     \
	{                                                                                          \
		LOAD(type, v, value);                                                              \
		LOAD(type, a, operand);                                                            \
		LOAD(type, c, comparand);                                                          \
		switch (op) {                                                                      \
			STEP_COMMON(v, a, c)                                                       \
			ordered(v, a, c) bits(v, a, c) default : break;                            \
		}                                                                                  \
		memcpy(value, &v, sizeof v);                                                       \
	}

/* Unsigned types do the work of signed ones where both give the same bits; order needs the sign. */
DEFINE_STEP(int8_t, STEP_ORDERED, STEP_BITS)
DEFINE_STEP(uint8_t, STEP_ORDERED, STEP_BITS)
DEFINE_STEP(int16_t, STEP_ORDERED, STEP_BITS)
DEFINE_STEP(uint16_t, STEP_ORDERED, STEP_BITS)
DEFINE_STEP(int32_t, STEP_ORDERED, STEP_BITS)
DEFINE_STEP(uint32_t, STEP_ORDERED, STEP_BITS)
DEFINE_STEP(int64_t, STEP_ORDERED, STEP_BITS)
DEFINE_STEP(uint64_t, STEP_ORDERED, STEP_BITS)
DEFINE_STEP(int128, STEP_ORDERED, STEP_BITS)
DEFINE_STEP(uint128, STEP_ORDERED, STEP_BITS)
DEFINE_STEP(float, STEP_ORDERED, NOTHING)
DEFINE_STEP(double, STEP_ORDERED, NOTHING)
DEFINE_STEP(long_double, STEP_ORDERED, NOTHING)
DEFINE_STEP(float_complex, NOTHING, NOTHING)
DEFINE_STEP(double_complex, NOTHING, NOTHING)
DEFINE_STEP(long_double_complex, NOTHING, NOTHING)

enum kind { INTEGER, REAL, COMPLEX };

static const struct {
	size_t bytes;
	enum kind kind;
	step_fn step;
} types[] = {
    [FI_INT8] = {1, INTEGER, step_int8_t},
    [FI_UINT8] = {1, INTEGER, step_uint8_t},
    [FI_INT16] = {2, INTEGER, step_int16_t},
    [FI_UINT16] = {2, INTEGER, step_uint16_t},
    [FI_INT32] = {4, INTEGER, step_int32_t},
    [FI_UINT32] = {4, INTEGER, step_uint32_t},
    [FI_INT64] = {8, INTEGER, step_int64_t},
    [FI_UINT64] = {8, INTEGER, step_uint64_t},
    [FI_FLOAT] = {sizeof(float), REAL, step_float},
    [FI_DOUBLE] = {sizeof(double), REAL, step_double},
    [FI_FLOAT_COMPLEX] = {sizeof(float_complex), COMPLEX, step_float_complex},
    [FI_DOUBLE_COMPLEX] = {sizeof(double_complex), COMPLEX, step_double_complex},
    [FI_LONG_DOUBLE] = {sizeof(long double), REAL, step_long_double},
    [FI_LONG_DOUBLE_COMPLEX] = {sizeof(long_double_complex), COMPLEX, step_long_double_complex},
    [FI_INT128] = {16, INTEGER, step_int128},
    [FI_UINT128] = {16, INTEGER, step_uint128},
};

#define TYPES (sizeof types / sizeof types[0])

size_t ofi_atomic_size(enum fi_datatype type)
{
	return (size_t)type < TYPES ? types[type].bytes : 0;
}

static bool is_compare(enum fi_op op)
{
	return op >= FI_CSWAP && op <= FI_MSWAP;
}

bool ofi_atomic_can(enum fi_datatype type, enum fi_op op, bool compares, bool fetches)
{
	if (!ofi_atomic_size(type) || (unsigned)op >= FI_ATOMIC_OP_LAST)
		return false;
	if (is_compare(op) != compares || (op == FI_ATOMIC_READ && !fetches))
		return false;
	switch (types[type].kind) {
	case INTEGER:
		return true;
	case REAL:
		return op != FI_BOR && op != FI_BAND && op != FI_BXOR && op != FI_MSWAP;
	case COMPLEX:
		return op == FI_SUM || op == FI_PROD || op == FI_LOR || op == FI_LAND ||
		       op == FI_LXOR || op == FI_ATOMIC_READ || op == FI_ATOMIC_WRITE ||
		       op == FI_CSWAP || op == FI_CSWAP_NE;
	}
	return false;
}

/* Elements for which the processor has no atomic instruction. */
static struct ofi_lock wide_lock = {.used = true};

static void step_wide(char *target, const void *operand, const void *comparand, char *old,
		      size_t bytes, step_fn step, enum fi_op op)
{
	ofi_lock(&wide_lock);
	memcpy(old, target, bytes);
	step(target, operand, comparand, op);
	ofi_unlock(&wide_lock);
}

/* The same for N bytes by compare and swap, so that it is atomic beside PAMI_Rmw(), too. */
#define DEFINE_SWAP(bits)                                                                          \
	static void step_##bits(void *target, const void *operand, const void *comparand,          \
				void *old, step_fn step, enum fi_op op)                            \
	{                                                                                          \
		uint##bits##_t *at = target, before = atomic_load_relaxed(at), after;              \
                                                                                                   \
		do {                                                                               \
			after = before;                                                            \
			step(&after, operand, comparand, op);                                      \
		} while (!atomic_cas_weak_acq_rel(at, &before, after));                            \
		memcpy(old, &before, sizeof before);                                               \
	}
DEFINE_SWAP(8)
DEFINE_SWAP(16)
DEFINE_SWAP(32)
DEFINE_SWAP(64)

static void step_one(char *target, const char *operand, const char *comparand, char *old,
		     enum fi_datatype type, enum fi_op op)
{
	step_fn step = types[type].step;
	size_t bytes = types[type].bytes;

	switch ((uintptr_t)target % bytes ? 0 : bytes) {
	case 1:
		step_8(target, operand, comparand, old, step, op);
		break;
	case 2:
		step_16(target, operand, comparand, old, step, op);
		break;
	case 4:
		step_32(target, operand, comparand, old, step, op);
		break;
	case 8:
		step_64(target, operand, comparand, old, step, op);
		break;
	default: /* too long for one instruction, or not aligned */
		step_wide(target, operand, comparand, old, bytes, step, op);
		break;
	}
}

void ofi_atomic_apply(void *target, const void *operand, const void *comparand, void *result,
		      size_t count, enum fi_datatype type, enum fi_op op)
{
	size_t bytes = types[type].bytes;
	char old[ELEMENT_MAX];

	for (size_t i = 0; i < count; i++) {
		size_t at = i * bytes;

		step_one((char *)target + at, operand ? (const char *)operand + at : NULL,
			 comparand ? (const char *)comparand + at : NULL, old, type, op);
		if (result)
			memcpy((char *)result + at, old, bytes);
	}
}
