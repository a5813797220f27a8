/* SPDX-License-Identifier: BSD-3-Clause */
/* Hot: each packet of an allreduce passes here once a link. bench/micro/sim_rate measures it. */
#include "emu/combine.h"

#include <string.h>

#include "emu/hw_packet.h"

#define FLOATING(op) ((op) >= MUHWI_COLLECTIVE_OP_CODE_FLOATING_POINT_ADD)

bool emu_combine_is_valid(unsigned op, unsigned word, uint32_t bytes)
{
	if (op & ~0xf0u || (op >> 4 & 3) == 3 || word > 7 || bytes > 512)
		return 0;
	if (op > MUHWI_COLLECTIVE_OP_CODE_XOR && bytes % (4u << word))
		return 0;
	return !FLOATING(op) || word == 1;
}

static void combine_bitwise(unsigned op, unsigned char *t, const unsigned char *s, uint32_t bytes)
{
	uint64_t a, b;

	for (uint32_t i = 0; i < bytes; i += 8) {
		uint32_t n = bytes - i < 8 ? bytes - i : 8;

		a = b = 0;
		memcpy(&a, t + i, n);
		memcpy(&b, s + i, n);
		a = op == MUHWI_COLLECTIVE_OP_CODE_AND  ? a & b
		    : op == MUHWI_COLLECTIVE_OP_CODE_OR ? a | b
							: a ^ b;
		memcpy(t + i, &a, n);
	}
}

/* Compare words of `n` 32-bit limbs, the lowest limb first: true if a < b. */
static bool wide_is_less(const uint32_t *a, const uint32_t *b, unsigned n, int is_signed)
{
	for (unsigned i = n; i--;) {
		uint32_t x = a[i], y = b[i];

		if (is_signed && i == n - 1) {
			x ^= 1u << 31;
			y ^= 1u << 31;
		}
		if (x != y)
			return x < y;
	}
	return 0;
}

static unsigned wide_add(uint32_t *a, const uint32_t *b, unsigned n, int is_signed)
{
	uint32_t sign_a = a[n - 1] >> 31, sign_b = b[n - 1] >> 31;
	uint64_t carry = 0;

	for (unsigned i = 0; i < n; i++) {
		carry += (uint64_t)a[i] + b[i];
		a[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (is_signed)
		return sign_a == sign_b && a[n - 1] >> 31 != sign_a ? EMU_COMBINE_OVERFLOW : 0;
	return carry ? EMU_COMBINE_OVERFLOW : 0;
}

static unsigned combine_integer(unsigned op, unsigned word, unsigned char *t,
				const unsigned char *s, uint32_t bytes)
{
	int is_signed = op >= MUHWI_COLLECTIVE_OP_CODE_SIGNED_ADD;
	unsigned n = 1u << word, size = 4u << word, flags = 0;
	uint32_t a[128], b[128];

	for (uint32_t i = 0; i < bytes; i += size) {
		memcpy(a, t + i, size);
		memcpy(b, s + i, size);
		switch (op & 0x30) {
		case MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD & 0x30:
			flags |= wide_add(a, b, n, is_signed);
			memcpy(t + i, a, size);
			break;
		case MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_MIN & 0x30:
			if (wide_is_less(b, a, n, is_signed))
				memcpy(t + i, b, size);
			break;
		default:
			if (wide_is_less(a, b, n, is_signed))
				memcpy(t + i, b, size);
			break;
		}
	}
	return flags;
}

/* 64-bit words, the usual case, need no limbs. */
static unsigned combine_integer8(unsigned op, unsigned char *t, const unsigned char *s,
				 uint32_t bytes)
{
	unsigned flags = 0;

	for (uint32_t i = 0; i < bytes; i += 8) {
		int64_t a, b, sum;
		uint64_t usum;

		memcpy(&a, t + i, 8);
		memcpy(&b, s + i, 8);
		switch (op) {
		case MUHWI_COLLECTIVE_OP_CODE_SIGNED_ADD:
			flags |= __builtin_add_overflow(a, b, &sum) ? EMU_COMBINE_OVERFLOW : 0;
			a = sum;
			break;
		case MUHWI_COLLECTIVE_OP_CODE_SIGNED_MIN:
			a = b < a ? b : a;
			break;
		case MUHWI_COLLECTIVE_OP_CODE_SIGNED_MAX:
			a = a < b ? b : a;
			break;
		case MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD:
			flags |= __builtin_add_overflow((uint64_t)a, (uint64_t)b, &usum)
				     ? EMU_COMBINE_OVERFLOW
				     : 0;
			a = (int64_t)usum;
			break;
		case MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_MIN:
			a = (uint64_t)b < (uint64_t)a ? b : a;
			break;
		default:
			a = (uint64_t)a < (uint64_t)b ? b : a;
			break;
		}
		memcpy(t + i, &a, 8);
	}
	return flags;
}

static unsigned combine_floating(unsigned op, unsigned char *t, const unsigned char *s,
				 uint32_t bytes)
{
	const uint64_t nan = EMU_NAN;
	unsigned flags = 0;

	for (uint32_t i = 0; i < bytes; i += 8) {
		double a, b;

		memcpy(&a, t + i, 8);
		memcpy(&b, s + i, 8);
		if (op == MUHWI_COLLECTIVE_OP_CODE_FLOATING_POINT_ADD || a != a || b != b)
			a += b;
		else if (op == MUHWI_COLLECTIVE_OP_CODE_FLOATING_POINT_MIN ? b < a : a < b)
			a = b;
		if (a != a) {
			flags |= EMU_COMBINE_NAN;
			memcpy(t + i, &nan, 8);
		} else {
			memcpy(t + i, &a, 8);
		}
	}
	return flags;
}

unsigned emu_combine(unsigned op, unsigned word, void *target, const void *source, uint32_t bytes)
{
	if (op <= MUHWI_COLLECTIVE_OP_CODE_XOR) {
		combine_bitwise(op, target, source, bytes);
		return 0;
	}
	if (FLOATING(op))
		return combine_floating(op, target, source, bytes);
	return word == 1 ? combine_integer8(op, target, source, bytes)
			 : combine_integer(op, word, target, source, bytes);
}

unsigned emu_combine_alone(unsigned op, void *data, uint32_t bytes)
{
	const uint64_t nan = EMU_NAN;
	unsigned char *d = data;
	unsigned flags = 0;

	for (uint32_t i = 0; FLOATING(op) && i + 8 <= bytes; i += 8) {
		double a;

		memcpy(&a, d + i, 8);
		if (a != a) {
			flags |= EMU_COMBINE_NAN;
			memcpy(d + i, &nan, 8);
		}
	}
	return flags;
}
