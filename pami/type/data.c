/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predefined data functions on the predefined types: macros make one loop for each valid pair
 * of pami.h, and a table finds it. Buffers may have any alignment.
 */
#include <string.h>

#include "drivers/base/log.h"
#include "pami/type/type.h"

enum op {
	OP_MAX,
	OP_MIN,
	OP_SUM,
	OP_PROD,
	OP_LAND,
	OP_LOR,
	OP_LXOR,
	OP_BAND,
	OP_BOR,
	OP_BXOR,
	OP_MAXLOC,
	OP_MINLOC,
	OPS
};

typedef void (*loop)(void *target, const void *source, size_t count);

#define LOOP(name, type, expression)                                                               \
	static void name(void *target, const void *source, size_t count)                           \
	{                                                                                          \
		struct item {                                                                      \
			type v;                                                                    \
		} __attribute__((packed, may_alias));                                              \
		struct item *t = target;                                                           \
		const struct item *s = source;                                                     \
                                                                                                   \
		for (size_t i = 0; i < count; i++) {                                               \
			type a = t[i].v, b = s[i].v;                                               \
                                                                                                   \
			t[i].v = (type)(expression);                                               \
		}                                                                                  \
	}

#define LOOPS_ORDER(n, type)                                                                       \
	LOOP(n##_max, type, a > b ? a : b)                                                         \
	LOOP(n##_min, type, a < b ? a : b)                                                         \
	LOOP(n##_sum, type, a + b)                                                                 \
	LOOP(n##_prod, type, a *b)
#define LOOPS_LOGIC(n, type)                                                                       \
	LOOP(n##_land, type, a &&b)                                                                \
	LOOP(n##_lor, type, a || b)                                                                \
	LOOP(n##_lxor, type, !a != !b)                                                             \
	LOOP(n##_band, type, a &b)                                                                 \
	LOOP(n##_bor, type, a | b)                                                                 \
	LOOP(n##_bxor, type, a ^ b)

/* Signed sums and products wrap, because they are computed in the unsigned type. */
#define LOOPS_SIGNED(n, type, wide)                                                                \
	LOOP(n##_max, type, a > b ? a : b)                                                         \
	LOOP(n##_min, type, a < b ? a : b)                                                         \
	LOOP(n##_sum, type, (wide)a + (wide)b)                                                     \
	LOOP(n##_prod, type, (wide)a *(wide)b)                                                     \
	LOOPS_LOGIC(n, type)
#define LOOPS_UNSIGNED(n, type, wide)                                                              \
	LOOP(n##_max, type, a > b ? a : b)                                                         \
	LOOP(n##_min, type, a < b ? a : b)                                                         \
	LOOP(n##_sum, type, (wide)a + (wide)b)                                                     \
	LOOP(n##_prod, type, (wide)a *(wide)b)                                                     \
	LOOPS_LOGIC(n, type)

LOOPS_SIGNED(i8, signed char, unsigned)
LOOPS_UNSIGNED(u8, unsigned char, unsigned)
LOOPS_SIGNED(i16, short, unsigned)
LOOPS_UNSIGNED(u16, unsigned short, unsigned)
LOOPS_SIGNED(i32, int, unsigned)
LOOPS_UNSIGNED(u32, unsigned, unsigned)
LOOPS_SIGNED(i64, long, unsigned long)
LOOPS_UNSIGNED(u64, unsigned long, unsigned long)
LOOPS_ORDER(f32, float)
LOOPS_ORDER(f64, double)
LOOPS_ORDER(f80, long double)

/* As in C, a value other than 0 is true, also a NaN. The result is 1 or 0. */
#define LOOPS_TRUTH(n, type)                                                                       \
	LOOP(n##_land, type, a &&b)                                                                \
	LOOP(n##_lor, type, a || b)                                                                \
	LOOP(n##_lxor, type, !a != !b)
LOOPS_TRUTH(f32, float)
LOOPS_TRUTH(f64, double)

#define LOOPS_COMPLEX(n, type)                                                                     \
	static void n##_sum(void *target, const void *source, size_t count)                        \
	{                                                                                          \
		struct item {                                                                      \
			type re, im;                                                               \
		} __attribute__((packed, may_alias));                                              \
		struct item *t = target;                                                           \
		const struct item *s = source;                                                     \
                                                                                                   \
		for (size_t i = 0; i < count; i++) {                                               \
			t[i].re += s[i].re;                                                        \
			t[i].im += s[i].im;                                                        \
		}                                                                                  \
	}                                                                                          \
	static void n##_prod(void *target, const void *source, size_t count)                       \
	{                                                                                          \
		struct item {                                                                      \
			type re, im;                                                               \
		} __attribute__((packed, may_alias));                                              \
		struct item *t = target;                                                           \
		const struct item *s = source;                                                     \
                                                                                                   \
		for (size_t i = 0; i < count; i++) {                                               \
			type re = t[i].re * s[i].re - t[i].im * s[i].im;                           \
                                                                                                   \
			t[i].im = t[i].re * s[i].im + t[i].im * s[i].re;                           \
			t[i].re = re;                                                              \
		}                                                                                  \
	}
LOOPS_COMPLEX(c32, float)
LOOPS_COMPLEX(c64, double)

/* Pairs { value, index } in C struct layout. If values are equal, the lower index wins. */
#define LOOP_LOC(name, type, index, better)                                                        \
	static void name(void *target, const void *source, size_t count)                           \
	{                                                                                          \
		struct pair {                                                                      \
			type v;                                                                    \
			index i;                                                                   \
		};                                                                                 \
		char *t = target;                                                                  \
		const char *s = source;                                                            \
                                                                                                   \
		for (size_t k = 0; k < count;                                                      \
		     k++, t += sizeof(struct pair), s += sizeof(struct pair)) {                    \
			struct pair a, b;                                                          \
                                                                                                   \
			memcpy(&a, t, sizeof a);                                                   \
			memcpy(&b, s, sizeof b);                                                   \
			if (b.v better a.v || (b.v == a.v && b.i < a.i))                           \
				memcpy(t, s, sizeof b);                                            \
		}                                                                                  \
	}
#define LOOPS_LOC(n, type, index)                                                                  \
	LOOP_LOC(n##_maxloc, type, index, >)                                                       \
	LOOP_LOC(n##_minloc, type, index, <)
LOOPS_LOC(l2i, int, int)
LOOPS_LOC(l2f, float, float)
LOOPS_LOC(l2d, double, double)
LOOPS_LOC(lsi, short, int)
LOOPS_LOC(lfi, float, int)
LOOPS_LOC(ldi, double, int)
LOOPS_LOC(lli, long, int)
LOOPS_LOC(lLi, long double, int)

#define ROW_ORDER(n)                                                                               \
	[OP_MAX] = n##_max, [OP_MIN] = n##_min, [OP_SUM] = n##_sum, [OP_PROD] = n##_prod
#define ROW_LOGIC(n)                                                                               \
	[OP_LAND] = n##_land, [OP_LOR] = n##_lor, [OP_LXOR] = n##_lxor, [OP_BAND] = n##_band,      \
	[OP_BOR] = n##_bor, [OP_BXOR] = n##_bxor
/* `bits`: the unsigned integer as wide as the element. */
#define ROW_FLOAT(n, bits)                                                                         \
	ROW_ORDER(n), [OP_LAND] = n##_land, [OP_LOR] = n##_lor, [OP_LXOR] = n##_lxor,              \
		      [OP_BAND] = bits##_band, [OP_BOR] = bits##_bor, [OP_BXOR] = bits##_bxor
#define ROW_LOC(n) [OP_MAXLOC] = n##_maxloc, [OP_MINLOC] = n##_minloc

static const loop table[PAMI_ELEMENTS][OPS] = {
    [PAMI_ELEMENT_BYTE] = {ROW_ORDER(u8), ROW_LOGIC(u8)},
    [PAMI_ELEMENT_SCHAR] = {ROW_ORDER(i8), ROW_LOGIC(i8)},
    [PAMI_ELEMENT_UCHAR] = {ROW_ORDER(u8), ROW_LOGIC(u8)},
    [PAMI_ELEMENT_SHORT] = {ROW_ORDER(i16), ROW_LOGIC(i16)},
    [PAMI_ELEMENT_USHORT] = {ROW_ORDER(u16), ROW_LOGIC(u16)},
    [PAMI_ELEMENT_INT] = {ROW_ORDER(i32), ROW_LOGIC(i32)},
    [PAMI_ELEMENT_UINT] = {ROW_ORDER(u32), ROW_LOGIC(u32)},
    [PAMI_ELEMENT_LONG] = {ROW_ORDER(i64), ROW_LOGIC(i64)},
    [PAMI_ELEMENT_ULONG] = {ROW_ORDER(u64), ROW_LOGIC(u64)},
    [PAMI_ELEMENT_LLONG] = {ROW_ORDER(i64), ROW_LOGIC(i64)},
    [PAMI_ELEMENT_ULLONG] = {ROW_ORDER(u64), ROW_LOGIC(u64)},
    [PAMI_ELEMENT_FLOAT] = {ROW_FLOAT(f32, u32)},
    [PAMI_ELEMENT_DOUBLE] = {ROW_FLOAT(f64, u64)},
    [PAMI_ELEMENT_LDOUBLE] = {ROW_ORDER(f80)},
    [PAMI_ELEMENT_LOGICAL1] = {ROW_LOGIC(u8)},
    [PAMI_ELEMENT_LOGICAL2] = {ROW_LOGIC(u16)},
    [PAMI_ELEMENT_LOGICAL4] = {ROW_LOGIC(u32)},
    [PAMI_ELEMENT_LOGICAL8] = {ROW_LOGIC(u64)},
    [PAMI_ELEMENT_CFLOAT] = {[OP_SUM] = c32_sum, [OP_PROD] = c32_prod},
    [PAMI_ELEMENT_CDOUBLE] = {[OP_SUM] = c64_sum, [OP_PROD] = c64_prod},
    [PAMI_ELEMENT_LOC_2INT] = {ROW_LOC(l2i)},
    [PAMI_ELEMENT_LOC_2FLOAT] = {ROW_LOC(l2f)},
    [PAMI_ELEMENT_LOC_2DOUBLE] = {ROW_LOC(l2d)},
    [PAMI_ELEMENT_LOC_SHORT_INT] = {ROW_LOC(lsi)},
    [PAMI_ELEMENT_LOC_FLOAT_INT] = {ROW_LOC(lfi)},
    [PAMI_ELEMENT_LOC_DOUBLE_INT] = {ROW_LOC(ldi)},
    [PAMI_ELEMENT_LOC_LONG_INT] = {ROW_LOC(lli)},
    [PAMI_ELEMENT_LOC_LDOUBLE_INT] = {ROW_LOC(lLi)},
};

void pami_data_copy(void *target, void *source, size_t bytes, void *cookie)
{
	if (bytes)
		memmove(target, source, bytes);
}

void pami_data_noop(void *target, void *source, size_t bytes, void *cookie) {}

/* The library recognises these functions by address. A call fails, because they cannot know the
 * type; each has its own text, so the compiler cannot merge them. */
static void log_call(const char *name)
{
	drv_error("the program called PAMI_DATA_%s; pass it to a PAMI function instead", name);
}
/* clang-format off */
#define NAME(op) static void data_##op(void *target, void *source, size_t bytes, void *cookie) { log_call(#op); }
NAME(MAX) NAME(MIN) NAME(SUM) NAME(PROD)
NAME(LAND) NAME(LOR) NAME(LXOR) NAME(BAND) NAME(BOR) NAME(BXOR)
NAME(MAXLOC) NAME(MINLOC)
    /* clang-format on */

    static const pami_data_function names[OPS] = {
	data_MAX,  data_MIN,  data_SUM, data_PROD, data_LAND,   data_LOR,
	data_LXOR, data_BAND, data_BOR, data_BXOR, data_MAXLOC, data_MINLOC,
};

#define DATA(op) __attribute__((visibility("default"))) pami_data_function PAMI_DATA_##op
DATA(COPY) = pami_data_copy;
DATA(NOOP) = pami_data_noop;
DATA(MAX) = data_MAX;
DATA(MIN) = data_MIN;
DATA(SUM) = data_SUM;
DATA(PROD) = data_PROD;
DATA(LAND) = data_LAND;
DATA(LOR) = data_LOR;
DATA(LXOR) = data_LXOR;
DATA(BAND) = data_BAND;
DATA(BOR) = data_BOR;
DATA(BXOR) = data_BXOR;
DATA(MAXLOC) = data_MAXLOC;
DATA(MINLOC) = data_MINLOC;

static int find_op(pami_data_function fn)
{
	for (int op = 0; op < OPS; op++)
		if (names[op] == fn)
			return op;
	return -1;
}

bool pami_data_is_valid(pami_data_function fn, unsigned element)
{
	int op = find_op(fn);

	return fn && (op < 0 || (element < PAMI_ELEMENTS && table[element][op]));
}

void pami_data_apply(pami_data_function fn, unsigned element, void *target, const void *source,
		     size_t bytes, void *cookie)
{
	int op;

	if (fn == pami_data_copy) {
		pami_data_copy(target, (void *)(uintptr_t)source, bytes, cookie);
		return;
	}
	op = find_op(fn);
	if (op < 0)
		fn(target, (void *)(uintptr_t)source, bytes, cookie);
	else if (element < PAMI_ELEMENTS && table[element][op])
		table[element][op](target, source, bytes / pami_type_predefined[element].atom);
	else
		drv_error("a PAMI_DATA function is not defined for the type it was used with; the "
			  "data is lost");
}
