/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The serial model of the collectives' test: elements every task can compute, and operations on
 * them, written apart from the library's. Values are small enough that floating point is exact, so
 * results are compared bit by bit whatever the order.
 */
#ifndef TESTS_COLL_MODEL_H
#define TESTS_COLL_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	C_BYTE,
	C_SCHAR,
	C_UCHAR,
	C_SHORT,
	C_USHORT,
	C_INT,
	C_UINT,
	C_LONG,
	C_ULONG,
	C_LLONG,
	C_ULLONG,
	C_FLOAT,
	C_DOUBLE,
	C_LDOUBLE,
	C_L1,
	C_L2,
	C_L4,
	C_L8,
	C_CFLOAT,
	C_CDOUBLE,
	C_2INT,
	C_2FLOAT,
	C_2DOUBLE,
	C_SHORT_INT,
	C_FLOAT_INT,
	C_DOUBLE_INT,
	C_LONG_INT,
	C_LDOUBLE_INT,
	C_AFFINE,
	C_TYPES
};
enum {
	O_MAX,
	O_MIN,
	O_SUM,
	O_PROD,
	O_LAND,
	O_LOR,
	O_LXOR,
	O_BAND,
	O_BOR,
	O_BXOR,
	O_MAXLOC,
	O_MINLOC,
	O_AFFINE,
	O_OPS
};

struct affine { /* x -> a x + b; composing them depends on the order */
	uint32_t a, b;
};

static const size_t element_bytes[C_TYPES] = {1,
					      1,
					      1,
					      2,
					      2,
					      4,
					      4,
					      8,
					      8,
					      8,
					      8,
					      4,
					      8,
					      16,
					      1,
					      2,
					      4,
					      8,
					      8,
					      16,
					      8,
					      8,
					      16,
					      8,
					      8,
					      16,
					      16,
					      32,
					      sizeof(struct affine)};

static inline int model_valid(int type, int op)
{
	if (type == C_AFFINE || op == O_AFFINE)
		return type == C_AFFINE && op == O_AFFINE;
	if (type <= C_ULLONG)
		return op <= O_BXOR;
	if (type <= C_DOUBLE)
		return op <= O_BXOR;
	if (type <= C_LDOUBLE)
		return op <= O_PROD;
	if (type <= C_L8)
		return op >= O_LAND && op <= O_BXOR;
	if (type <= C_CDOUBLE)
		return op == O_SUM || op == O_PROD;
	return op >= O_MAXLOC;
}

/* The next valid pair after *type, *op; returns whether it went round. */
static inline int model_next_pair(int *type, int *op)
{
	int round = 0;

	do {
		if (++*op < O_OPS)
			continue;
		*op = 0;
		if (++*type == C_TYPES) {
			*type = 0;
			round = 1;
		}
	} while (!model_valid(*type, *op));
	return round;
}

static inline uint32_t model_hash(uint64_t seed, uint32_t a, uint32_t b, uint32_t i)
{
	uint64_t h =
	    seed * 0x9e3779b97f4a7c15u + a * 0xbf58476d1ce4e5b9u + b * 0x94d049bb133111ebu + i;

	h ^= h >> 31;
	h *= 0xd6e8feb86659fd93u;
	return (uint32_t)(h >> 32);
}

/* clang-format off */
#define SCALARS(X) \
	X(C_BYTE, unsigned char) X(C_SCHAR, signed char) X(C_UCHAR, unsigned char) \
	X(C_SHORT, short) X(C_USHORT, unsigned short) X(C_INT, int) X(C_UINT, unsigned) \
	X(C_LONG, long) X(C_ULONG, unsigned long) X(C_LLONG, long long) \
	X(C_ULLONG, unsigned long long)
#define FLOATS(X)    X(C_FLOAT, float) X(C_DOUBLE, double) X(C_LDOUBLE, long double)
#define LOGICALS(X)  X(C_L1, uint8_t) X(C_L2, uint16_t) X(C_L4, uint32_t) X(C_L8, uint64_t)
#define COMPLEXES(X) X(C_CFLOAT, float) X(C_CDOUBLE, double)
#define PAIRS(X) \
	X(C_2INT, int, int) X(C_2FLOAT, float, float) X(C_2DOUBLE, double, double) \
	X(C_SHORT_INT, short, int) X(C_FLOAT_INT, float, int) X(C_DOUBLE_INT, double, int) \
	X(C_LONG_INT, long, int) X(C_LDOUBLE_INT, long double, int)
/* clang-format on */

/* Element i that member a has for member b. */
static inline void model_element(int type, int op, uint64_t seed, uint32_t a, uint32_t b,
				 uint32_t i, unsigned char *out)
{
	uint32_t h = model_hash(seed, a, b, i);
	int v = op == O_PROD ? (h % 5 == 0 ? 2 : 1) : (int)(h % 7);

	memset(out, 0, element_bytes[type]);
	switch (type) {
#define X(name, c)                                                                                 \
	case name: {                                                                               \
		c x = (c)v;                                                                        \
		memcpy(out, &x, sizeof x);                                                         \
		break;                                                                             \
	}
		SCALARS(X)
		LOGICALS(X)
#undef X
#define X(name, c)                                                                                 \
	case name: {                                                                               \
		c x = (c)v;                                                                        \
		memcpy(out, &x, sizeof x > 10 ? 10 : sizeof x);                                    \
		break;                                                                             \
	}
		FLOATS(X)
#undef X
#define X(name, c)                                                                                 \
	case name: {                                                                               \
		c x[2] = {(c)v, (c)(op == O_PROD ? 0 : h % 3)};                                    \
		memcpy(out, x, sizeof x);                                                          \
		break;                                                                             \
	}
		COMPLEXES(X)
#undef X
#define X(name, c, d)                                                                              \
	case name: {                                                                               \
		struct pair {                                                                      \
			c v;                                                                       \
			d i;                                                                       \
		} x;                                                                               \
		memset(&x, 0, sizeof x);                                                           \
		x.v = (c)v;                                                                        \
		x.i = (d)(a + 1);                                                                  \
		memcpy(out, &x, sizeof x);                                                         \
		if (sizeof(c) == 16)                                                               \
			memset(out + 10, 0, 6);                                                    \
		break;                                                                             \
	}
		PAIRS(X)
#undef X
	case C_AFFINE: {
		struct affine x = {h | 1, h >> 7};

		memcpy(out, &x, sizeof x);
	}
	}
}

static inline void model_affine(struct affine *t, const struct affine *s)
{
	t->b = t->b * s->a + s->b;
	t->a *= s->a;
}

/* t = t op s */
static inline void model_apply(int type, int op, unsigned char *t, const unsigned char *s)
{
	if ((type == C_FLOAT || type == C_DOUBLE) && op >= O_BAND && op <= O_BXOR)
		type = type == C_FLOAT ? C_UINT : C_ULONG;
	switch (type) {
#define X(name, c)                                                                                 \
	case name: {                                                                               \
		c a, b;                                                                            \
		memcpy(&a, t, sizeof a);                                                           \
		memcpy(&b, s, sizeof b);                                                           \
		switch (op) {                                                                      \
		case O_MAX:                                                                        \
			a = a > b ? a : b;                                                         \
			break;                                                                     \
		case O_MIN:                                                                        \
			a = a < b ? a : b;                                                         \
			break;                                                                     \
		case O_SUM:                                                                        \
			a = (c)(a + b);                                                            \
			break;                                                                     \
		case O_PROD:                                                                       \
			a = (c)((uint64_t)a * (uint64_t)b);                                        \
			break;                                                                     \
		case O_LAND:                                                                       \
			a = (c)(a && b);                                                           \
			break;                                                                     \
		case O_LOR:                                                                        \
			a = (c)(a || b);                                                           \
			break;                                                                     \
		case O_LXOR:                                                                       \
			a = (c)(!a != !b);                                                         \
			break;                                                                     \
		case O_BAND:                                                                       \
			a = (c)(a & b);                                                            \
			break;                                                                     \
		case O_BOR:                                                                        \
			a = (c)(a | b);                                                            \
			break;                                                                     \
		case O_BXOR:                                                                       \
			a = (c)(a ^ b);                                                            \
			break;                                                                     \
		}                                                                                  \
		memcpy(t, &a, sizeof a);                                                           \
		break;                                                                             \
	}
		SCALARS(X)
		LOGICALS(X)
#undef X
#define X(name, c)                                                                                 \
	case name: {                                                                               \
		c a, b;                                                                            \
		memcpy(&a, t, sizeof a);                                                           \
		memcpy(&b, s, sizeof b);                                                           \
		a = op == O_MAX    ? (a > b ? a : b)                                               \
		    : op == O_MIN  ? (a < b ? a : b)                                               \
		    : op == O_SUM  ? a + b                                                         \
		    : op == O_LAND ? a && b                                                        \
		    : op == O_LOR  ? a || b                                                        \
		    : op == O_LXOR ? !a != !b                                                      \
				   : a * b;                                                        \
		memset(t, 0, sizeof a);                                                            \
		memcpy(t, &a, sizeof a > 10 ? 10 : sizeof a);                                      \
		break;                                                                             \
	}
		FLOATS(X)
#undef X
#define X(name, c)                                                                                 \
	case name: {                                                                               \
		c a[2], b[2], r[2];                                                                \
		memcpy(a, t, sizeof a);                                                            \
		memcpy(b, s, sizeof b);                                                            \
		r[0] = op == O_SUM ? a[0] + b[0] : a[0] * b[0] - a[1] * b[1];                      \
		r[1] = op == O_SUM ? a[1] + b[1] : a[0] * b[1] + a[1] * b[0];                      \
		memcpy(t, r, sizeof r);                                                            \
		break;                                                                             \
	}
		COMPLEXES(X)
#undef X
#define X(name, c, d)                                                                              \
	case name: {                                                                               \
		struct pair {                                                                      \
			c v;                                                                       \
			d i;                                                                       \
		} a, b;                                                                            \
		memcpy(&a, t, sizeof a);                                                           \
		memcpy(&b, s, sizeof b);                                                           \
		bool wins = op == O_MAXLOC ? b.v > a.v : b.v < a.v;                                \
		bool loses = op == O_MAXLOC ? a.v > b.v : a.v < b.v;                               \
		if (wins || (!loses && b.i < a.i))                                                 \
			memcpy(t, s, sizeof b);                                                    \
		break;                                                                             \
	}
		PAIRS(X)
#undef X
	case C_AFFINE: {
		struct affine a, b;

		memcpy(&a, t, sizeof a);
		memcpy(&b, s, sizeof b);
		model_affine(&a, &b);
		memcpy(t, &a, sizeof a);
	}
	}
}

/* Equal but for the unused bytes of an 80-bit number. */
static inline int model_equal(int type, const unsigned char *a, const unsigned char *b)
{
	if (type == C_LDOUBLE)
		return !memcmp(a, b, 10);
	if (type == C_LDOUBLE_INT)
		return !memcmp(a, b, 10) && !memcmp(a + 16, b + 16, 4);
	if (type == C_SHORT_INT)
		return !memcmp(a, b, 2) && !memcmp(a + 4, b + 4, 4);
	if (type == C_DOUBLE_INT || type == C_LONG_INT)
		return !memcmp(a, b, 12);
	return !memcmp(a, b, element_bytes[type]);
}

#endif
