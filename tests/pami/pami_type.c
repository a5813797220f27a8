/* SPDX-License-Identifier: BSD-3-Clause */
/* Types against a plain list of byte places: random nested types, gathers, scatters, transforms. */
#include "tests/harness/t.h"

#include <stdlib.h>
#include <string.h>

#include "pami/type/type.h"

#define PLACES 4000
#define MEMORY 40000
#define ORIGIN 10000 /* where base points: displacements may be negative */

/* The plain form: the place of each payload byte of one instance. */
struct plain {
	pami_type_t type;
	long place[PLACES];
	size_t count;
	long extent;
	size_t divisor; /* every piece is a multiple */
};

static size_t greatest_common_divisor(size_t a, size_t b)
{
	return b ? greatest_common_divisor(b, a % b) : a;
}

static int plain_build(struct plain *p, struct plain *sub)
{
	int steps = 1 + (int)drv_rng_below(t_rng(), 4);

	memset(p, 0, sizeof *p);
	REQUIRE_EQ(PAMI_Type_create(&p->type), PAMI_SUCCESS);
	for (int s = 0; s < steps; s++) {
		long offset = (long)drv_rng_below(t_rng(), 60) - 20,
		     stride = (long)drv_rng_below(t_rng(), 60) - 20;
		size_t bytes = 4 * drv_rng_below(t_rng(), 6), count = drv_rng_below(t_rng(), 5);
		size_t each;

		if (!drv_rng_below(t_rng(), 8)) /* lengths that have a loop of their own */
			bytes = drv_rng_below(t_rng(), 2) ? 32 : 64;
		each = sub ? sub->count : bytes;

		if (p->count + each * count > PLACES)
			break;
		CHECK_EQ(sub ? PAMI_Type_add_typed(p->type, sub->type, (size_t)offset, count,
						   (size_t)stride)
			     : PAMI_Type_add_simple(p->type, bytes, (size_t)offset, count,
						    (size_t)stride),
			 PAMI_SUCCESS);
		p->extent += offset;
		for (size_t i = 0; i < count; i++, p->extent += stride)
			for (size_t b = 0; b < each; b++)
				p->place[p->count++] = p->extent + (sub ? sub->place[b] : (long)b);
		if (count && each)
			p->divisor =
			    greatest_common_divisor(p->divisor, sub ? sub->divisor : bytes);
	}
	CHECK_EQ(PAMI_Type_complete(p->type, 4), PAMI_SUCCESS);
	return p->count != 0;
}

static long plain_place(const struct plain *p, size_t i)
{
	return ORIGIN + p->place[i % p->count] + (long)(i / p->count) * p->extent;
}

static int in_memory(const struct plain *p, size_t end)
{
	for (size_t i = 0; i < end; i++)
		if (plain_place(p, i) < 0 || plain_place(p, i) >= MEMORY)
			return 0;
	return 1;
}

static void gather_scatter_against_plain(void)
{
	static unsigned char memory[MEMORY], again[MEMORY], stream[PLACES * 3],
	    expected[PLACES * 3];
	static struct plain inner, outer;

	for (int round = 0; round < 400; round++) {
		struct plain *p = &inner;
		size_t offset, bytes;
		int ok = plain_build(&inner, NULL), nested = (int)drv_rng_below(t_rng(), 2);

		if (nested && ok) {
			ok = plain_build(&outer, &inner);
			p = &outer;
		}
		if (ok) {
			pami_configuration_t q[3] = {{.name = PAMI_TYPE_DATA_SIZE},
						     {.name = PAMI_TYPE_DATA_EXTENT},
						     {.name = PAMI_TYPE_ATOM_SIZE}};

			CHECK_EQ(PAMI_Type_query(p->type, q, 3), PAMI_SUCCESS);
			CHECK_EQ(q[0].value.intval, p->count);
			CHECK_EQ((long)q[1].value.intval, p->extent);
			CHECK_EQ(q[2].value.intval, 4);
			offset = 4 * drv_rng_below(t_rng(), p->count / 2 + 1);
			bytes = 4 * drv_rng_below(t_rng(), p->count / 2 + 1);
			if (in_memory(p, offset + bytes)) {
				for (int i = 0; i < MEMORY; i++)
					memory[i] = again[i] = (unsigned char)drv_rng_next(t_rng());
				pami_type_gather(p->type, memory + ORIGIN, offset, stream, bytes,
						 PAMI_DATA_COPY, NULL);
				for (size_t i = 0; i < bytes; i++)
					expected[i] = memory[plain_place(p, offset + i)];
				REQUIRE(!memcmp(stream, expected, bytes));
				for (size_t i = 0; i < bytes; i++) {
					stream[i] = (unsigned char)drv_rng_next(t_rng());
					again[plain_place(p, offset + i)] = stream[i];
				}
				pami_type_scatter(p->type, memory + ORIGIN, offset, stream, bytes,
						  PAMI_DATA_COPY, NULL);
				REQUIRE(!memcmp(memory, again, MEMORY));
			}
		}
		if (nested && p == &outer)
			PAMI_Type_destroy(&outer.type);
		PAMI_Type_destroy(&inner.type);
		CHECK(!inner.type);
	}
}

static void transform_between_layouts(void)
{
	int source[60], target[60], expected[60];
	pami_type_t threes, backwards;

	/* 1 of 3 ints; and ints from the end to the start */
	CHECK_EQ(PAMI_Type_create(&threes), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_typed(threes, PAMI_TYPE_SIGNED_INT, 0, 1, 12), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(threes, 4), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_create(&backwards), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_typed(backwards, PAMI_TYPE_SIGNED_INT, 0, 1, (size_t)-4),
		 PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(backwards, 4), PAMI_SUCCESS);
	for (int i = 0; i < 60; i++) {
		source[i] = i;
		target[i] = expected[i] = 100;
	}
	for (int i = 0; i < 15; i++)
		expected[59 - 2 - i] += source[3 * (i + 1)];
	CHECK_EQ(PAMI_Type_transform_data(source, threes, 4, &target[59], backwards, 8, 60,
					  PAMI_DATA_SUM, NULL),
		 PAMI_SUCCESS);
	CHECK(!memcmp(target, expected, sizeof target));
	/* Between a layout and a plain run, both ways. */
	for (int i = 0; i < 20; i++)
		expected[i] = source[3 * i];
	CHECK_EQ(PAMI_Type_transform_data(source, threes, 0, target, PAMI_TYPE_BYTE, 0, 80,
					  PAMI_DATA_COPY, NULL),
		 PAMI_SUCCESS);
	CHECK(!memcmp(target, expected, 80));
	for (int i = 0; i < 18; i++)
		expected[3 * (i + 2)] = target[i + 1];
	memcpy(source, target, 80);
	for (int i = 0; i < 60; i++)
		if (i < 6 || i % 3)
			expected[i] = target[i];
	CHECK_EQ(PAMI_Type_transform_data(source, PAMI_TYPE_BYTE, 4, target, threes, 8, 72,
					  PAMI_DATA_COPY, NULL),
		 PAMI_SUCCESS);
	CHECK(!memcmp(target, expected, sizeof target));
	PAMI_Type_destroy(&threes);
	PAMI_Type_destroy(&backwards);
}

/* Transforms whose sides overlap give what a copy in between would. */
static void transform_overlapping(void)
{
	static unsigned char memory[MEMORY], expected[MEMORY], between[PLACES];
	static struct plain a, b;

	for (int round = 0; round < 2000; round++) {
		size_t bytes, from = drv_rng_below(t_rng(), 8), to = drv_rng_below(t_rng(), 8),
			      shift = drv_rng_below(t_rng(), 9);
		/* A side, or both, may be a run of bytes. */
		int plain = (int)drv_rng_below(t_rng(), 4);
		pami_type_t s, d;

		plain_build(&a, NULL);
		plain_build(&b, NULL);
		s = plain & 1 ? PAMI_TYPE_BYTE : a.type;
		d = plain & 2 ? PAMI_TYPE_BYTE : b.type;
		bytes = a.count < b.count ? a.count : b.count;
		if (!bytes || !in_memory(&a, bytes + from) || !in_memory(&b, bytes + to))
			goto next;
		for (int i = 0; i < MEMORY; i++)
			memory[i] = (unsigned char)drv_rng_next(t_rng());
		memcpy(expected, memory, MEMORY);
		pami_type_gather(s, memory + ORIGIN, from, between, bytes, PAMI_DATA_COPY, NULL);
		pami_type_scatter(d, expected + ORIGIN + shift, to, between, bytes, PAMI_DATA_COPY,
				  NULL);
		CHECK_EQ(PAMI_Type_transform_data(memory + ORIGIN, s, from, memory + ORIGIN + shift,
						  d, to, bytes, PAMI_DATA_COPY, NULL),
			 PAMI_SUCCESS);
		REQUIRE(!memcmp(memory, expected, MEMORY));
	next:
		PAMI_Type_destroy(&a.type);
		PAMI_Type_destroy(&b.type);
	}
}

static void types_without_data(void)
{
	unsigned char source[16] = {1, 2, 3}, target[16] = {0}, zero[16] = {0};
	pami_type_t empty;

	CHECK_EQ(PAMI_Type_create(&empty), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_simple(empty, 0, 8, 0, 4), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(empty, 1), PAMI_SUCCESS);
	for (int side = 0; side < 3; side++)
		for (int sum = 0; sum < 2; sum++) {
			pami_type_t s = side == 1 ? PAMI_TYPE_BYTE : empty,
				    d = side == 0 ? PAMI_TYPE_BYTE : empty;
			pami_data_function fn = sum ? PAMI_DATA_SUM : PAMI_DATA_COPY;

			CHECK_EQ(PAMI_Type_transform_data(source, s, 0, target, d, 0, 3, fn, NULL),
				 PAMI_INVAL);
			CHECK_EQ(PAMI_Type_transform_data(source, s, 0, target, d, 0, 0, fn, NULL),
				 PAMI_SUCCESS);
		}
	pami_type_gather(empty, source, 0, target, 3, PAMI_DATA_COPY, NULL);
	pami_type_scatter(empty, target, 0, source, 3, PAMI_DATA_COPY, NULL);
	CHECK(!memcmp(target, zero, sizeof zero));
	CHECK_EQ(PAMI_Type_transform_data(source, PAMI_TYPE_BYTE, 0, target, PAMI_TYPE_BYTE, 0, 3,
					  NULL, NULL),
		 PAMI_INVAL);
	PAMI_Type_destroy(&empty);
}

static void images_come_back_and_nonsense_does_not(void)
{
	static struct plain p;
	static unsigned char memory[MEMORY], a[PLACES], b[PLACES], bad[100000];

	for (int round = 0; round < 100; round++) {
		pami_type_t copy = NULL;
		void *image, *again;
		size_t size;

		plain_build(&p, NULL);
		CHECK_EQ(PAMI_Type_serialize(p.type, &image, &size), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Type_serialize(p.type, &again, &size), PAMI_SUCCESS);
		CHECK_EQ(image, again);
		memcpy(bad, image, size);
		CHECK_EQ(PAMI_Type_deserialize(&copy, bad, size), PAMI_SUCCESS);
		memset(bad, 0x5a, size);
		if (in_memory(&p, p.count)) {
			for (int i = 0; i < MEMORY; i++)
				memory[i] = (unsigned char)drv_rng_next(t_rng());
			pami_type_gather(p.type, memory + ORIGIN, 0, a, p.count, PAMI_DATA_COPY,
					 NULL);
			pami_type_gather(copy, memory + ORIGIN, 0, b, p.count, PAMI_DATA_COPY,
					 NULL);
			CHECK(!memcmp(a, b, p.count));
		}
		PAMI_Type_destroy(&copy);
		/* A changed or cut image is refused, or is still a type that walks stay finite in.
		 */
		memcpy(bad, image, size);
		for (int k = 0; k < 3; k++)
			bad[drv_rng_below(t_rng(), size)] ^=
			    (unsigned char)(1 + drv_rng_below(t_rng(), 255));
		if (PAMI_Type_deserialize(&copy, bad, size) == PAMI_SUCCESS) {
			struct pami_cursor c;
			char *at;

			pami_cursor_start(&c, copy, memory, 4);
			for (int k = 0; k < 50; k++) {
				size_t n = pami_cursor_run(&c, &at);

				if (!n)
					break;
				pami_cursor_move(&c, n);
			}
			PAMI_Type_destroy(&copy);
		}
		CHECK_EQ(PAMI_Type_deserialize(&copy, image, drv_rng_below(t_rng(), 40)),
			 PAMI_INVAL);
		PAMI_Type_destroy(&p.type);
	}
}

static void misuse_is_refused(void)
{
	pami_type_t t = NULL, byte = PAMI_TYPE_BYTE;
	pami_configuration_t q = {.name = PAMI_TYPE_DATA_SIZE};

	CHECK_EQ(PAMI_Type_create(&t), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_query(t, &q, 1), PAMI_INVAL);
	CHECK_EQ(PAMI_Type_add_simple(t, 6, 0, 2, 10), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_typed(t, t, 0, 1, 1), PAMI_INVAL);
	CHECK_EQ(PAMI_Type_complete(t, 0), PAMI_INVAL);
	CHECK_EQ(PAMI_Type_complete(t, 4), PAMI_INVAL);
	CHECK_EQ(PAMI_Type_complete(t, 129), PAMI_INVAL);
	CHECK_EQ(PAMI_Type_complete(t, 3), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(t, 3), PAMI_INVAL);
	CHECK_EQ(PAMI_Type_add_simple(t, 1, 0, 1, 1), PAMI_INVAL);
	CHECK_EQ(PAMI_Type_destroy(&byte), PAMI_INVAL);
	CHECK_EQ(PAMI_Type_destroy(&t), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_destroy(&t), PAMI_INVAL);
	CHECK_EQ(PAMI_Type_query(PAMI_TYPE_LONG_DOUBLE, &q, 1), PAMI_SUCCESS);
	CHECK_EQ(q.value.intval, sizeof(long double));
}

static void predefined_sizes(void)
{
	struct {
		pami_type_t *type;
		size_t bytes;
	} want[] = {{&PAMI_TYPE_BYTE, 1},
		    {&PAMI_TYPE_SIGNED_CHAR, 1},
		    {&PAMI_TYPE_UNSIGNED_CHAR, 1},
		    {&PAMI_TYPE_SIGNED_SHORT, 2},
		    {&PAMI_TYPE_UNSIGNED_SHORT, 2},
		    {&PAMI_TYPE_SIGNED_INT, 4},
		    {&PAMI_TYPE_UNSIGNED_INT, 4},
		    {&PAMI_TYPE_SIGNED_LONG, 8},
		    {&PAMI_TYPE_UNSIGNED_LONG, 8},
		    {&PAMI_TYPE_SIGNED_LONG_LONG, 8},
		    {&PAMI_TYPE_UNSIGNED_LONG_LONG, 8},
		    {&PAMI_TYPE_FLOAT, 4},
		    {&PAMI_TYPE_DOUBLE, 8},
		    {&PAMI_TYPE_LONG_DOUBLE, 16},
		    {&PAMI_TYPE_LOGICAL1, 1},
		    {&PAMI_TYPE_LOGICAL2, 2},
		    {&PAMI_TYPE_LOGICAL4, 4},
		    {&PAMI_TYPE_LOGICAL8, 8},
		    {&PAMI_TYPE_SINGLE_COMPLEX, 8},
		    {&PAMI_TYPE_DOUBLE_COMPLEX, 16},
		    {&PAMI_TYPE_LOC_2INT, 8},
		    {&PAMI_TYPE_LOC_2FLOAT, 8},
		    {&PAMI_TYPE_LOC_2DOUBLE, 16},
		    {&PAMI_TYPE_LOC_SHORT_INT, 8},
		    {&PAMI_TYPE_LOC_FLOAT_INT, 8},
		    {&PAMI_TYPE_LOC_DOUBLE_INT, 16},
		    {&PAMI_TYPE_LOC_LONG_INT, 16},
		    {&PAMI_TYPE_LOC_LONGDOUBLE_INT, 32}};
	pami_data_function fn[] = {
	    PAMI_DATA_COPY, PAMI_DATA_NOOP, PAMI_DATA_MAX,    PAMI_DATA_MIN,   PAMI_DATA_SUM,
	    PAMI_DATA_PROD, PAMI_DATA_LAND, PAMI_DATA_LOR,    PAMI_DATA_LXOR,  PAMI_DATA_BAND,
	    PAMI_DATA_BOR,  PAMI_DATA_BXOR, PAMI_DATA_MAXLOC, PAMI_DATA_MINLOC};

	for (int i = 0; i < 28; i++) {
		pami_configuration_t q[3] = {{.name = PAMI_TYPE_DATA_SIZE},
					     {.name = PAMI_TYPE_DATA_EXTENT},
					     {.name = PAMI_TYPE_ATOM_SIZE}};

		CHECK_EQ(PAMI_Type_query(*want[i].type, q, 3), PAMI_SUCCESS);
		for (int k = 0; k < 3; k++)
			CHECK_EQ(q[k].value.intval, want[i].bytes);
		for (int k = 0; k < i; k++)
			CHECK((*want[i].type) != (*want[k].type));
	}
	for (int i = 0; i < 14; i++) {
		CHECK(fn[i] != NULL);
		for (int k = 0; k < i; k++)
			CHECK(fn[i] != fn[k]);
	}
}

T_MAIN(T(gather_scatter_against_plain), T(transform_between_layouts), T(transform_overlapping),
       T(types_without_data), T(images_come_back_and_nonsense_does_not), T(misuse_is_refused),
       T(predefined_sizes))
