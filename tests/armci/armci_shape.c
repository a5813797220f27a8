/* SPDX-License-Identifier: BSD-3-Clause */
/* Strided shapes and accumulate kernels against plain loops. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "armci/core/api.h"
#include "armci/core/env.h"
#include "armci/core/limits.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/shape.h"
#include "tests/harness/t.h"

enum { SPAN = 1 << 16 };

static char left[SPAN], right[SPAN], model[SPAN], packed[SPAN], packed_model[SPAN];

/* A random patch whose pieces lie within SPAN bytes of the middle; strides of any sign, dense ones
 * often. */
static void shape_random(struct armci_shape *s)
{
	struct drv_rng *r = t_rng();
	int64_t room = SPAN / 8;
	int k;

	memset(s, 0, sizeof(*s));
	s->levels = (int)drv_rng_below(r, ARMCI_LEVELS + 1);
	s->count[0] = 1 + drv_rng_below(r, 24);
	s->local = left + SPAN / 2;
	s->remote = (uintptr_t)right + SPAN / 2;
	for (k = 1; k <= s->levels; k++) {
		int64_t dense =
		    k == 1 ? (int64_t)s->count[0] : s->lstride[k - 2] * (int64_t)s->count[k - 1];

		s->count[k] = 1 + drv_rng_below(r, 3);
		s->lstride[k - 1] = drv_rng_below(r, 2)
					? dense
					: (int64_t)drv_rng_below(r, (uint64_t)room) - room / 2;
		s->rstride[k - 1] = drv_rng_below(r, 2)
					? dense
					: (int64_t)drv_rng_below(r, (uint64_t)room) - room / 2;
		room /= 2;
	}
}

struct visit {
	size_t pieces, bytes;
	uint64_t sum;     /* of byte offsets: the same set of bytes gives the same sum */
	int64_t lo, hi;   /* of the remote side */
	int64_t llo, lhi; /* of the local side */
};

static void visit_piece(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	struct visit *v = arg;
	size_t i;

	v->pieces++;
	v->bytes += bytes;
	for (i = 0; i < bytes; i++) {
		int64_t l = local + i - left, r = (int64_t)(remote + i - (uintptr_t)right);

		v->sum += (uint64_t)(l * 1000003 + r) * 0x9e3779b97f4a7c15u ^ (uint64_t)(l * r);
		v->lo = r < v->lo ? r : v->lo;
		v->hi = r + 1 > v->hi ? r + 1 : v->hi;
		v->llo = l < v->llo ? l : v->llo;
		v->lhi = l + 1 > v->lhi ? l + 1 : v->lhi;
	}
}

/* Visit by recursion, as the specification words it. */
static void visit_plain(const struct armci_shape *s, int level, int64_t l, int64_t r,
			struct visit *v)
{
	size_t i;

	if (level == 0) {
		visit_piece(v, s->local + l, s->remote + (uintptr_t)r, s->count[0]);
		return;
	}
	for (i = 0; i < s->count[level]; i++)
		visit_plain(s, level - 1, l + (int64_t)i * s->lstride[level - 1],
			    r + (int64_t)i * s->rstride[level - 1], v);
}

static struct visit visit_none(void)
{
	return (struct visit){.lo = INT64_MAX, .hi = INT64_MIN, .llo = INT64_MAX, .lhi = INT64_MIN};
}

static void walk_visits_the_same(void)
{
	int i;

	for (i = 0; i < 3000; i++) {
		struct armci_shape s, t;
		struct visit plain = visit_none(), walked = visit_none(), merged = visit_none();
		int64_t lo, hi;

		shape_random(&s);
		visit_plain(&s, s.levels, 0, 0, &plain);
		armci_shape_walk(&s, visit_piece, &walked);
		t = s;
		CHECK(armci_shape_normalise(&t) == plain.bytes);
		armci_shape_walk(&t, visit_piece, &merged);
		armci_shape_extent(&s, &lo, &hi);
		CHECK(walked.pieces == plain.pieces && walked.sum == plain.sum &&
		      walked.bytes == plain.bytes);
		CHECK(merged.pieces <= plain.pieces && merged.sum == plain.sum &&
		      merged.bytes == plain.bytes);
		CHECK(lo + SPAN / 2 == plain.lo && hi + SPAN / 2 == plain.hi);
	}
}

static void dense_becomes_contiguous(void)
{
	struct armci_shape s = {
	    .levels = 3, .count = {8, 4, 1, 5}, .lstride = {8, 999, 32}, .rstride = {8, 777, 32}};

	CHECK(armci_shape_normalise(&s) == 160);
	CHECK(s.levels == 0 && s.count[0] == 160);
	s = (struct armci_shape){.levels = 1, .count = {8, 0}, .lstride = {8}, .rstride = {8}};
	CHECK(armci_shape_normalise(&s) == 0);
}

static void pack_and_unpack(void)
{
	int i, tried = 0;

	for (i = 0; i < SPAN; i++)
		left[i] = (char)drv_rng_next(t_rng());
	for (i = 0; i < 1000; i++) {
		struct armci_shape s;
		struct visit v = visit_none();
		int strides[ARMCI_LEVELS], count[ARMCI_LEVELS + 1], k;

		shape_random(&s);
		for (k = 0; k <= s.levels; k++)
			count[k] = (int)s.count[k];
		for (k = 0; k < s.levels; k++)
			strides[k] = (int)s.lstride[k];
		armci_shape_walk(&s, visit_piece, &v);
		if (v.bytes > SPAN || v.llo < 0 || v.lhi > SPAN)
			continue;
		tried++;
		armci_write_strided(s.local, s.levels, strides, count, packed);
		armci_shape_pack(&s, packed_model);
		CHECK(!memcmp(packed, packed_model, v.bytes));
		memcpy(model, left, SPAN);
		/* Copy it back where it came from. */
		armci_read_strided(s.local, s.levels, strides, count, packed);
		CHECK(!memcmp(model, left, SPAN));
	}
	CHECK(tried > 50);
}

static atomic_u32 stripes[ARMCI_STRIPES * 16];

/* Every type at every alignment over block borders, against scalar arithmetic. */
static void accumulate_adds(void)
{
	double scale[2] = {2, 3};
	int i;

	for (i = 0; i < 2000; i++) {
		struct drv_rng *r = t_rng();
		int op = ARMCI_ACC_INT + (int)drv_rng_below(r, 7);
		size_t element = armci_acc_element_bytes(op), n = drv_rng_below(r, 1200),
		       at = drv_rng_below(r, 9000), k;
		struct armci_acc acc;
		unsigned char wide[16];
		float single[2] = {2, 3};
		long whole = -3;
		int small = 5;

		/* Try every instruction set that this machine has. */
		if (!armci_acc_choose(ARMCI_SIMD_PLAIN + i % 3))
			armci_acc_choose(ARMCI_SIMD_PLAIN);
		memcpy(wide, scale, sizeof(scale));
		if (op == ARMCI_ACC_INT)
			memcpy(wide, &small, sizeof(small));
		else if (op == ARMCI_ACC_LNG)
			memcpy(wide, &whole, sizeof(whole));
		else if (op == ARMCI_ACC_FLT || op == ARMCI_ACC_CPL)
			memcpy(wide, single, sizeof(single));
		REQUIRE(armci_acc_set(&acc, op, wide));
		memset(left, 0, SPAN);
		for (k = 0; k < n; k++) { /* small whole numbers: exact in every type */
			long v = (long)drv_rng_below(r, 1000) - 500,
			     w = (long)drv_rng_below(r, 1000);
			char *s = right + at + k * element, *d = left + at / 2 + k * element;
			float f[2];
			double g[2];
			int a = (int)v;

			switch (op) {
			case ARMCI_ACC_INT:
				memcpy(s, &a, sizeof(a));
				memcpy(d, &small, sizeof(small));
				break;
			case ARMCI_ACC_LNG:
			case ARMCI_ACC_RA:
				memcpy(s, &v, sizeof(v));
				memcpy(d, &w, sizeof(w));
				break;
			case ARMCI_ACC_FLT:
			case ARMCI_ACC_CPL:
				f[0] = (float)v;
				f[1] = (float)w;
				memcpy(s, f, element);
				memcpy(d, f, element);
				break;
			default:
				g[0] = (double)v;
				g[1] = (double)w;
				memcpy(s, g, element);
				memcpy(d, g, element);
			}
		}
		memcpy(model, left, SPAN);
		armci_acc_locked(&acc, stripes, left + at / 2, (uintptr_t)(left + at / 2),
				 right + at, n * element);
		for (k = 0; k < n; k++) {
			const char *s = right + at + k * element;
			char *d = model + at / 2 + k * element;
			union {
				int i;
				long l;
				float f[2];
				double g[2];
			} x, y;
			float complex fc;
			double complex gc;

			memcpy(&x, d, element);
			memcpy(&y, s, element);
			switch (op) {
			case ARMCI_ACC_INT:
				x.i += small * y.i;
				break;
			case ARMCI_ACC_LNG:
				x.l += whole * y.l;
				break;
			case ARMCI_ACC_RA:
				x.l ^= y.l;
				break;
			case ARMCI_ACC_FLT:
				x.f[0] += single[0] * y.f[0];
				break;
			case ARMCI_ACC_DBL:
				x.g[0] += scale[0] * y.g[0];
				break;
			case ARMCI_ACC_CPL:
				fc = CMPLXF(x.f[0], x.f[1]) + CMPLXF(2, 3) * CMPLXF(y.f[0], y.f[1]);
				x.f[0] = crealf(fc);
				x.f[1] = cimagf(fc);
				break;
			default:
				gc = CMPLX(x.g[0], x.g[1]) + CMPLX(2, 3) * CMPLX(y.g[0], y.g[1]);
				x.g[0] = creal(gc);
				x.g[1] = cimag(gc);
			}
			memcpy(d, &x, element);
		}
		if (memcmp(model, left, SPAN))
			fprintf(stderr, "op %d, %zu elements at %zu\n", op, n, at);
		CHECK(!memcmp(model, left, SPAN));
	}
	for (i = 0; i < (int)(sizeof(stripes) / sizeof(stripes[0])); i++)
		CHECK(atomic_load_relaxed(&stripes[i]) == 0);
}

/* The wide kernels against the plain one on numbers that round: as near as one rounding less is. */
static void wide_is_plain(void)
{
	static double d[2][1001], s[1001];
	double a = 1.0 / 3;
	struct armci_acc acc;
	int simd, i;

	REQUIRE(armci_acc_set(&acc, ARMCI_ACC_DBL, &a));
	for (i = 0; i < 1001; i++) {
		s[i] = drv_rng_unit(t_rng());
		d[0][i] = d[1][i] = drv_rng_unit(t_rng());
	}
	for (simd = ARMCI_SIMD_AUTO; simd <= ARMCI_SIMD_AVX512; simd++) {
		if (!armci_acc_choose(simd)) {
			printf("# no %s here\n", simd == ARMCI_SIMD_AVX2 ? "avx2" : "avx512");
			continue;
		}
		armci_acc_plain(&acc, (char *)(d[1] + 1), (char *)(s + 1), 8000);
		armci_acc_choose(ARMCI_SIMD_PLAIN);
		armci_acc_plain(&acc, (char *)(d[0] + 1), (char *)(s + 1), 8000);
		for (i = 0; i < 1001; i++)
			CHECK(fabs(d[0][i] - d[1][i]) <= 4 * 2.3e-16 * d[0][i] * (simd + 1));
	}
	CHECK(armci_acc_choose(ARMCI_SIMD_AUTO) && armci_acc_name());
}

static void unknown_operations(void)
{
	struct armci_acc acc;
	double one = 1;

	CHECK(!armci_acc_set(&acc, ARMCI_ACC_OFF, &one));
	CHECK(!armci_acc_set(&acc, ARMCI_ACC_RA + 1, &one));
	CHECK(!armci_acc_set(&acc, ARMCI_ACC_DBL, NULL));
	CHECK(armci_acc_element_bytes(0) == 0 && armci_acc_element_bytes(ARMCI_ACC_DCP) == 16);
}

T_MAIN(T(walk_visits_the_same), T(dense_becomes_contiguous), T(pack_and_unpack), T(accumulate_adds),
       T(wide_is_plain), T(unknown_operations))
