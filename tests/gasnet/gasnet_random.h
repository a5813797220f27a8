/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the random tests of libgasnet share: checks, random numbers, and random vector and strided
 * transfers with their model, which moves byte by byte. Include after gasnetex.h.
 */
#ifndef TESTS_GASNET_RANDOM_H
#define TESTS_GASNET_RANDOM_H

static gex_EP_t ep;
static gex_TM_t team;
static gex_Rank_t me, n;
static uint32_t seed;

#define CHECK_WHO         "process %u (seed %u)", me, seed
#define CHECK_END(status) gasnet_exit(status)
#include "tests/harness/check_count.h"

#define CALL(call) REQUIRE((call) == GASNET_OK)

enum { RANDOM_LEVELS = 5, RANDOM_PIECES = 300 };

static uint32_t state;
static inline uint32_t draw_below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return limit ? state % limit : 0;
}

static inline void run_barrier(void)
{
	gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

/* Random entries without overlap in one half: returns their number, `total` bytes in all. */
static inline size_t random_list(gex_Memvec_t *v, uint8_t *base, size_t total)
{
	size_t used = 0, at = 0, count = 0;

	while (used < total) {
		size_t left = total - used,
		       bytes = draw_below(4) ? draw_below(60) : draw_below(3000);

		if (bytes > left || count == RANDOM_PIECES - 1)
			bytes = left;
		at += draw_below(20);
		v[count++] = (gex_Memvec_t){base + at, bytes};
		at += bytes;
		used += bytes;
	}
	return count;
}

/* The model: byte by byte, from one list to the other. */
static inline void model_lists(const gex_Memvec_t *d, const gex_Memvec_t *s, size_t total,
			       uint8_t *dbase, const uint8_t *sbase, const uint8_t *dreal,
			       const uint8_t *sreal)
{
	size_t di = 0, si = 0, dat = 0, sat = 0;

	for (size_t i = 0; i < total; i++) {
		while (dat == d[di].gex_len)
			di++, dat = 0;
		while (sat == s[si].gex_len)
			si++, sat = 0;
		dbase[(uint8_t *)d[di].gex_addr - dreal + dat++] =
		    sbase[(uint8_t *)s[si].gex_addr - sreal + sat++];
	}
}

/* Counts of elements in each dimension, such that all of them together have at most 6000 bytes. */
static inline void random_counts(size_t levels, size_t count[], size_t bytes)
{
	size_t total = bytes;

	for (size_t d = 0; d < levels; d++) {
		count[d] = 1 + draw_below(5);
		if (total * count[d] > 6000)
			count[d] = 1;
		total *= count[d];
	}
}

/* Strides of a dense or sparse layout, dimensions in random order, some walked backwards. */
static inline size_t random_strides(size_t levels, const size_t count[], size_t bytes,
				    ptrdiff_t stride[])
{
	size_t order[RANDOM_LEVELS], extent = bytes, start = 0;

	for (size_t d = 0; d < levels; d++)
		order[d] = d;
	for (size_t d = levels; d > 1; d--) {
		size_t with = draw_below((uint32_t)d), x = order[d - 1];

		if (draw_below(2))
			continue;
		order[d - 1] = order[with];
		order[with] = x;
	}
	for (size_t i = 0; i < levels; i++) {
		size_t d = order[i];

		extent += draw_below(3) ? 0 : draw_below(9);
		stride[d] = (ptrdiff_t)extent;
		extent *= count[d];
		if (!draw_below(4)) {
			start += (size_t)stride[d] * (count[d] - 1);
			stride[d] = -stride[d];
		}
	}
	return start;
}

static inline void model_strided(uint8_t *dst, const ptrdiff_t ds[], const uint8_t *src,
				 const ptrdiff_t ss[], size_t bytes, const size_t count[],
				 size_t levels)
{
	if (!levels) {
		memcpy(dst, src, bytes);
		return;
	}
	for (size_t i = 0; i < count[levels - 1]; i++)
		model_strided(dst + (ptrdiff_t)i * ds[levels - 1], ds,
			      src + (ptrdiff_t)i * ss[levels - 1], ss, bytes, count, levels - 1);
}

#endif
