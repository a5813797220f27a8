/* SPDX-License-Identifier: BSD-3-Clause */
/* Folding of strided layouts: examples with known results, and properties of random layouts. */
#include <stdint.h>
#include <string.h>

#include "gasnet/vis/stride.h"
#include "tests/harness/t.h"

enum { LEVELS = 8, SPAN = 4096 };

static char self_memory[SPAN], peer_memory[SPAN];

struct example {
	size_t bytes, levels;
	size_t count[LEVELS];
	ptrdiff_t self[LEVELS], peer[LEVELS];
	size_t bytes_then, levels_then;
	size_t count_then[LEVELS];
	ptrdiff_t self_then[LEVELS], peer_then[LEVELS];
	ptrdiff_t self_moves, peer_moves; /* of the addresses */
};

static const struct example examples[] = {
    /* dimensions of one item */
    {8,
     4,
     {1, 4, 1, 3},
     {7777, 8, -500, 64},
     {1, 16, 2, 96},
     8,
     2,
     {4, 3},
     {8, 64},
     {16, 96},
     0,
     0},
    /* one side backwards, both sides backwards */
    {4, 1, {5}, {4}, {-4}, 4, 1, {5}, {-4}, {4}, 16, -16},
    {4, 1, {5}, {-4}, {-4}, 20, 0, {0}, {0}, {0}, -16, -16},
    /* transpose */
    {8, 2, {3, 4}, {8, 24}, {32, 8}, 8, 2, {4, 3}, {24, 8}, {8, 32}, 0, 0},
    /* part of a larger array, in order and not */
    {8, 3, {10, 3, 4}, {8, 80, 480}, {8, 80, 480}, 240, 1, {4}, {480}, {480}, 0, 0},
    {8, 3, {4, 10, 3}, {480, 8, 80}, {480, 8, 80}, 240, 1, {4}, {480}, {480}, 0, 0},
    /* packed source; dense on both sides */
    {8, 3, {10, 3, 4}, {8, 80, 240}, {8, 80, 480}, 240, 1, {4}, {240}, {480}, 0, 0},
    {8, 3, {10, 3, 4}, {8, 80, 240}, {8, 80, 240}, 960, 0, {0}, {0}, {0}, 0, 0},
    /* a chain without anything contiguous; one that folds on one side only */
    {8, 3, {2, 3, 5}, {32, 64, 192}, {64, 128, 384}, 8, 1, {30}, {32}, {64}, 0, 0},
    {8, 2, {2, 3}, {32, 64}, {64, 160}, 8, 2, {2, 3}, {32, 64}, {64, 160}, 0, 0},
    /* repeated source of a get; empty */
    {8, 2, {4, 3}, {8, 64}, {0, 8}, 8, 2, {4, 3}, {8, 64}, {0, 8}, 0, 0},
    {8, 2, {4, 0}, {8, 64}, {8, 64}, 0, 0, {0}, {0}, {0}, 0, 0},
};

static void set_stride(struct gexi_stride *s, struct gexi_dimension *dim, const struct example *e)
{
	*s = (struct gexi_stride){.bytes = e->bytes,
				  .levels = e->levels,
				  .self = self_memory + SPAN / 2,
				  .peer = peer_memory + SPAN / 2,
				  .dim = dim};
	for (size_t d = 0; d < e->levels; d++)
		dim[d] = (struct gexi_dimension){e->count[d], e->self[d], e->peer[d]};
}

static void check_examples(bool described)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		const struct example *e = &examples[i];
		struct gexi_dimension dim[LEVELS];
		struct gexi_stride s;

		set_stride(&s, dim, e);
		if (described)
			gexi_stride_describe(&s, e->count, e->self, e->peer, e->levels);
		gexi_stride_fold(&s);
		CHECK_EQ(s.bytes, e->bytes_then);
		CHECK_EQ(s.levels, e->levels_then);
		for (size_t d = 0; d < s.levels && d < LEVELS; d++) {
			CHECK_EQ(dim[d].count, e->count_then[d]);
			CHECK_EQ(dim[d].self, e->self_then[d]);
			CHECK_EQ(dim[d].peer, e->peer_then[d]);
		}
		if (!s.bytes)
			continue;
		CHECK_EQ(s.self - (self_memory + SPAN / 2), e->self_moves);
		CHECK_EQ(s.peer - (peer_memory + SPAN / 2), e->peer_moves);
	}
}

static void examples_fold_as_known(void)
{
	check_examples(false);
	check_examples(true); /* the dimensions were folded before, as far as their order allows */
}

/* An order-independent sum over all pairs of bytes, by recursion over the dimensions. */
static uint64_t sum_pairs(const struct gexi_stride *s, size_t levels, ptrdiff_t self,
			  ptrdiff_t peer)
{
	uint64_t sum = 0;

	if (!s->bytes)
		return 0;
	if (!levels) {
		for (size_t b = 0; b < s->bytes; b++) {
			uint64_t x = (uint64_t)(self + (ptrdiff_t)b) * 1000003u ^
				     (uint64_t)(peer + (ptrdiff_t)b);

			x *= 0x9e3779b97f4a7c15u;
			sum += x ^ x >> 29;
		}
		return sum;
	}
	for (size_t i = 0; i < s->dim[levels - 1].count; i++)
		sum += sum_pairs(s, levels - 1, self + (ptrdiff_t)i * s->dim[levels - 1].self,
				 peer + (ptrdiff_t)i * s->dim[levels - 1].peer);
	return sum;
}

static uint64_t sum_of(const struct gexi_stride *s)
{
	return sum_pairs(s, s->levels, s->self - self_memory, s->peer - peer_memory);
}

static void random_layout(struct gexi_stride *s, struct gexi_dimension *dim)
{
	struct drv_rng *r = t_rng();
	ptrdiff_t dense;

	*s = (struct gexi_stride){.bytes = 1 + drv_rng_below(r, 9),
				  .levels = drv_rng_below(r, 6),
				  .self = self_memory + SPAN / 2,
				  .peer = peer_memory + SPAN / 2,
				  .dim = dim};
	dense = (ptrdiff_t)s->bytes;
	for (size_t d = 0; d < s->levels; d++) {
		dim[d].count = drv_rng_below(r, 40) ? 1 + drv_rng_below(r, 4) : 0;
		dim[d].self = drv_rng_below(r, 2) ? dense : (ptrdiff_t)drv_rng_below(r, 60) - 30;
		dim[d].peer = drv_rng_below(r, 2) ? dense : (ptrdiff_t)drv_rng_below(r, 60) - 30;
		dense *= (ptrdiff_t)(dim[d].count ? dim[d].count : 1);
	}
}

/* Describe the layout anew from lists of counts and strides. */
static void describe_again(struct gexi_stride *s, struct gexi_dimension *dim)
{
	ptrdiff_t self[LEVELS], peer[LEVELS];
	size_t count[LEVELS];

	for (size_t d = 0; d < s->levels; d++) {
		count[d] = dim[d].count;
		self[d] = dim[d].self;
		peer[d] = dim[d].peer;
	}
	gexi_stride_describe(s, count, self, peer, s->levels);
}

static void folding_keeps_all_pairs(void)
{
	for (int i = 0; i < 20000; i++) {
		struct gexi_dimension dim[LEVELS], again[LEVELS];
		struct gexi_stride s, t;
		uint64_t before;

		random_layout(&s, dim);
		before = 0;
		for (size_t d = 0; d < s.levels; d++)
			before |= !dim[d].count;
		before = before ? 0 : sum_of(&s);
		if (i % 2) {
			describe_again(&s, dim);
			REQUIRE_EQ(sum_of(&s), before);
		}
		gexi_stride_fold(&s);
		REQUIRE_EQ(sum_of(&s), before);
		for (size_t d = 0; d < s.levels; d++) {
			REQUIRE(dim[d].count > 1 && dim[d].peer >= 0);
			REQUIRE(!d || dim[d - 1].peer <= dim[d].peer);
		}
		t = s;
		t.dim = again;
		memcpy(again, dim, sizeof(dim));
		gexi_stride_fold(&t); /* once more changes nothing */
		REQUIRE_EQ(t.levels, s.levels);
		REQUIRE_EQ(t.bytes, s.bytes);
		REQUIRE(!memcmp(again, dim, s.levels * sizeof(*dim)));
	}
}

T_MAIN(T(examples_fold_as_known), T(folding_keeps_all_pairs))
