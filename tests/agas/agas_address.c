/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic of global addresses, and the allocator of ranges. */
#include <string.h>

#include "agas/address/address.h"
#include "agas/memory/range.h"
#include "tests/harness/t.h"

static const struct agas_space four = {4, 12};

static void fields_of_addresses_are_right(void)
{
	const uint64_t base = 0x0000b00000008000, other = 0x0001b00000008000;

	CHECK_EQ(agas_address_make(3, true, 12, 0x5000), 0x0003b00000005000);
	CHECK_EQ(agas_address_make(5, false, 16, 0x30010), 0x0005400000030010);
	CHECK_EQ(agas_address_make(1, true, 0, 0), 0x0001800000000000);
	CHECK_EQ(agas_address_add(&four, base, 4096, 4096), 0x0001b00000008000);
	CHECK_EQ(agas_address_add(&four, base, 16384, 4096), 0x0000b00000009000);
	CHECK_EQ(agas_address_add(&four, base, 20488, 4096), 0x0001b00000009008);
	CHECK_EQ(agas_address_add(&four, base, -4096, 4096), 0x0003b00000007000);
	CHECK_EQ(agas_address_add(&four, other, 2999, 3000), 0x0001b00000008bb7);
	CHECK_EQ(agas_address_add(&four, other, 3000, 3000), 0x0002b00000008000);
	CHECK_EQ(agas_address_add(&four, other, 9000, 3000), 0x0000b00000009000);
}

static void size_classes_round_up(void)
{
	CHECK_EQ(agas_size_class(0), 3);
	CHECK_EQ(agas_size_class(8), 3);
	CHECK_EQ(agas_size_class(9), 4);
	CHECK_EQ(agas_size_class(4096), 12);
	CHECK_EQ(agas_size_class((uint64_t)1 << 31), 31);
	CHECK_EQ(agas_size_class(((uint64_t)1 << 31) + 1), 32);
}

/* There and back, and never into the padding. */
static void round_trips(void)
{
	int i, wrong = 0;

	for (i = 0; i < 200000; i++) {
		struct agas_space s = {1 + (uint32_t)drv_rng_below(t_rng(), 100), 12};
		uint32_t b = 1 + (uint32_t)drv_rng_below(t_rng(), 70000);
		uint32_t size = agas_size_class(b);
		bool cyclic = drv_rng_below(t_rng(), 2);
		uint64_t offset = (10000 + drv_rng_below(t_rng(), 1000)) << size;
		uint64_t start =
		    agas_address_make((uint32_t)drv_rng_below(t_rng(), s.ranks), cyclic, size,
				      offset + drv_rng_below(t_rng(), b));
		int64_t n = (int64_t)drv_rng_below(t_rng(), 100 * (uint64_t)b) - 50 * (int64_t)b;
		uint64_t there = agas_address_add(&s, start, n, b);

		wrong += agas_address_sub(&s, there, start, b) != n;
		wrong += agas_address_add(&s, there, -n, b) != start;
		wrong += agas_offset_of(&s, there) >= b;
		wrong += agas_home_of(&s, there) >= s.ranks;
		wrong += agas_is_linear(there);
		wrong += agas_key_of(&s, there) + agas_offset_of(&s, there) != there;
	}
	CHECK_EQ(wrong, 0);
}

static void linear_addresses_are_known(void)
{
	uint64_t gva = ((uint64_t)7 << 12) + 5;

	CHECK(agas_is_linear(gva));
	CHECK_EQ(agas_home_of(&four, gva), 3);
	CHECK_EQ(agas_key_of(&four, gva), 7 << 12);
	CHECK_EQ(agas_offset_of(&four, gva), 5);
	CHECK_EQ(agas_address_add(&four, gva, 4096, 4096), gva + 4096);
}

static void ranges_are_found_and_freed(void)
{
	enum { N = 4096 };
	static unsigned char used[N];
	struct agas_ranges r;
	uint64_t at[200], count[200], n = 0, taken = 0, k;
	int i, wrong = 0;

	memset(used, 0, sizeof(used));
	CHECK(agas_ranges_open(&r, 1, N - 1));
	for (i = 0; i < 100000; i++) {
		if (n < 200 && drv_rng_below(t_rng(), 2)) {
			uint64_t align = (uint64_t)1 << drv_rng_below(t_rng(), 5);

			count[n] = 1 + drv_rng_below(t_rng(), 60);
			if (!agas_ranges_take(&r, count[n], align, &at[n]))
				continue;
			wrong += at[n] % align != 0 || !at[n] || at[n] + count[n] > N;
			for (k = 0; k < count[n]; k++)
				wrong += used[at[n] + k]++ != 0;
			taken += count[n++];
		} else if (n) {
			uint64_t v = drv_rng_below(t_rng(), n);

			for (k = 0; k < count[v]; k++)
				used[at[v] + k]--;
			wrong += !agas_ranges_give(&r, at[v], count[v]);
			wrong += agas_ranges_give(&r, at[v], count[v]);
			taken -= count[v];
			at[v] = at[--n];
			count[v] = count[n];
		}
		wrong += agas_ranges_free(&r) != N - 1 - taken;
	}
	while (n--)
		agas_ranges_give(&r, at[n], count[n]);
	CHECK_EQ(r.count, 1);
	CHECK_EQ(wrong, 0);
	agas_ranges_close(&r);
}

T_MAIN(T(fields_of_addresses_are_right), T(size_classes_round_up), T(round_trips),
       T(linear_addresses_are_known), T(ranges_are_found_and_freed))
