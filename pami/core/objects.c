/* SPDX-License-Identifier: BSD-3-Clause */
/* Predefined objects. They are constant-initialised, so constructors of programs may use them. */
#include "pami/core/macros.h"
#include "pami/geometry/geometry.h"
#include "pami/type/type.h"

PAMI_EXPORT pami_client_t PAMI_CLIENT_NULL = NULL;
PAMI_EXPORT pami_type_t PAMI_TYPE_NULL = NULL;
PAMI_EXPORT pami_context_t PAMI_CONTEXT_NULL = NULL;
PAMI_EXPORT pami_geometry_t PAMI_GEOMETRY_NULL = NULL;
PAMI_EXPORT pami_algorithm_t PAMI_ALGORITHM_NULL = 0;
PAMI_EXPORT pami_endpoint_t PAMI_ENDPOINT_NULL = UINT32_MAX;
PAMI_EXPORT size_t PAMI_ALL_CONTEXTS = SIZE_MAX;

#define PIECE(n)                                                                                   \
	(struct pami_type_piece[1])                                                                \
	{                                                                                          \
		{                                                                                  \
			0, n, 1, n, 0                                                              \
		}                                                                                  \
	}
#define TYPE(e, n)                                                                                 \
	[PAMI_ELEMENT_##e] = {PAMI_TYPE_MAGIC, {1},   1, 1, 1, PAMI_ELEMENT_##e, n, n, n, n, 1, 1, \
			      PIECE(n),        {NULL}}
#define PAIR(v, i)                                                                                 \
	(2 * sizeof(union {                                                                        \
		 v value;                                                                          \
		 i index;                                                                          \
	 }))

struct pami_type pami_type_predefined[PAMI_ELEMENTS] = {
    TYPE(BYTE, 1),
    TYPE(SCHAR, 1),
    TYPE(UCHAR, 1),
    TYPE(SHORT, sizeof(short)),
    TYPE(USHORT, sizeof(short)),
    TYPE(INT, sizeof(int)),
    TYPE(UINT, sizeof(int)),
    TYPE(LONG, sizeof(long)),
    TYPE(ULONG, sizeof(long)),
    TYPE(LLONG, sizeof(long long)),
    TYPE(ULLONG, sizeof(long long)),
    TYPE(FLOAT, sizeof(float)),
    TYPE(DOUBLE, sizeof(double)),
    TYPE(LDOUBLE, sizeof(long double)),
    TYPE(LOGICAL1, 1),
    TYPE(LOGICAL2, 2),
    TYPE(LOGICAL4, 4),
    TYPE(LOGICAL8, 8),
    TYPE(CFLOAT, 2 * sizeof(float)),
    TYPE(CDOUBLE, 2 * sizeof(double)),
    TYPE(LOC_2INT, PAIR(int, int)),
    TYPE(LOC_2FLOAT, PAIR(float, float)),
    TYPE(LOC_2DOUBLE, PAIR(double, double)),
    TYPE(LOC_SHORT_INT, PAIR(short, int)),
    TYPE(LOC_FLOAT_INT, PAIR(float, int)),
    TYPE(LOC_DOUBLE_INT, PAIR(double, int)),
    TYPE(LOC_LONG_INT, PAIR(long, int)),
    TYPE(LOC_LDOUBLE_INT, PAIR(long double, int)),
};

#define NAME(public, e)                                                                            \
	PAMI_EXPORT pami_type_t PAMI_TYPE_##public = &pami_type_predefined[PAMI_ELEMENT_##e]
NAME(BYTE, BYTE);
NAME(SIGNED_CHAR, SCHAR);
NAME(UNSIGNED_CHAR, UCHAR);
NAME(SIGNED_SHORT, SHORT);
NAME(UNSIGNED_SHORT, USHORT);
NAME(SIGNED_INT, INT);
NAME(UNSIGNED_INT, UINT);
NAME(SIGNED_LONG, LONG);
NAME(UNSIGNED_LONG, ULONG);
NAME(SIGNED_LONG_LONG, LLONG);
NAME(UNSIGNED_LONG_LONG, ULLONG);
NAME(FLOAT, FLOAT);
NAME(DOUBLE, DOUBLE);
NAME(LONG_DOUBLE, LDOUBLE);
NAME(LOGICAL1, LOGICAL1);
NAME(LOGICAL2, LOGICAL2);
NAME(LOGICAL4, LOGICAL4);
NAME(LOGICAL8, LOGICAL8);
NAME(SINGLE_COMPLEX, CFLOAT);
NAME(DOUBLE_COMPLEX, CDOUBLE);
NAME(LOC_2INT, LOC_2INT);
NAME(LOC_2FLOAT, LOC_2FLOAT);
NAME(LOC_2DOUBLE, LOC_2DOUBLE);
NAME(LOC_SHORT_INT, LOC_SHORT_INT);
NAME(LOC_FLOAT_INT, LOC_FLOAT_INT);
NAME(LOC_DOUBLE_INT, LOC_DOUBLE_INT);
NAME(LOC_LONG_INT, LOC_LONG_INT);
NAME(LOC_LONGDOUBLE_INT, LOC_LDOUBLE_INT);

/* Not in pami.h; old binaries refer to it. */
extern pami_type_t PAMI_TYPE_LOGICAL;
NAME(LOGICAL, LOGICAL4);
