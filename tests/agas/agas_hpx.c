/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of agas_hpx.h: distributions, arithmetic, access, moves, freeing, and what is left
 * after. */
#include "tests/agas/agas_job.h"

/* The address of rank 0's allocation, at all ranks. */
static hpx_addr_t share_address(hpx_addr_t addr)
{
	return job_bcast(addr);
}

static hpx_addr_t place_backwards(uint32_t i, size_t n, size_t bsize)
{
	return HPX_THERE((n - 1 - i) % (size_t)ranks);
}

/* Every element is written by one rank and read by another. */
static void array_of(hpx_addr_t base, size_t n, uint32_t bsize)
{
	size_t bytes = n * bsize, i;
	unsigned char v;
	hpx_addr_t all = hpx_lco_and_new(0);

	for (i = (size_t)me; i < bytes; i += (size_t)ranks) {
		v = (unsigned char)(i * 7 + 3);
		CHECK_EQ(hpx_gas_memput_lsync(hpx_addr_add(base, (int64_t)i, bsize), &v, 1, all),
			 0);
	}
	CHECK_EQ(hpx_lco_wait(all), 0);
	CHECK_EQ(agas_barrier(), 0);
	for (i = (size_t)(me + 1) % (size_t)ranks; i < bytes; i += (size_t)ranks) {
		v = 0;
		CHECK_EQ(hpx_gas_memget_sync(&v, hpx_addr_add(base, (int64_t)i, bsize), 1), 0);
		CHECK_EQ(v, (unsigned char)(i * 7 + 3));
		CHECK_EQ(hpx_addr_sub(hpx_addr_add(base, (int64_t)i, bsize), base, bsize), i);
	}
	hpx_lco_delete_sync(all);
	CHECK_EQ(agas_barrier(), 0);
}

static void distributions_place_blocks(void)
{
	enum { N = 9, BSIZE = 50 };
	struct agas_stats before, after;
	hpx_addr_t a;

	agas_stats(&before, 0);
	for (int kind = 0; kind < 4; kind++) {
		a = HPX_NULL;
		if (me == 0)
			a = kind == 0   ? hpx_gas_calloc_local(N, BSIZE, 0)
			    : kind == 1 ? hpx_gas_calloc_cyclic(N, BSIZE, 0)
			    : kind == 2
				? hpx_gas_alloc_blocked(N, BSIZE, 4096)
				: hpx_gas_alloc_user(N, BSIZE, 0, place_backwards, HPX_GAS_ATTR_LB);
		a = share_address(a);
		CHECK(a != HPX_NULL);
		for (int i = 0; i < N; i++) {
			int owner = kind == 0   ? 0
				    : kind == 1 ? i % ranks
				    : kind == 2 ? i / ((N + ranks - 1) / ranks)
						: (N - 1 - i) % ranks;

			CHECK_EQ(hpx_gas_try_pin(hpx_addr_add(a, i * BSIZE, BSIZE), NULL),
				 owner == me);
		}
		array_of(a, N, BSIZE);
		/* The last block moves to everyone; then the array is as it was. */
		for (int r = 0; r < ranks; r++) {
			hpx_addr_t last = hpx_addr_add(a, (N - 1) * BSIZE, BSIZE);

			if (me == r) {
				hpx_addr_t moved = hpx_lco_future_new(0);

				hpx_gas_move(last, HPX_HERE, moved);
				CHECK_EQ(hpx_lco_wait(moved), 0);
				CHECK(hpx_gas_try_pin(last, NULL));
				hpx_lco_delete_sync(moved);
			}
			CHECK_EQ(agas_barrier(), 0);
		}
		array_of(a, N, BSIZE);
		if (me == ranks - 1)
			CHECK_EQ(hpx_gas_free_sync(a), 0);
		CHECK_EQ(agas_barrier(), 0);
		if (me == 0)
			CHECK_EQ(hpx_gas_free_sync(a), AGAS_EUNMAPPED);
		CHECK_EQ(agas_barrier(), 0);
	}
	agas_stats(&after, 0);
	CHECK_EQ(after.blocks, before.blocks);
	CHECK_EQ(after.homes, before.homes);
	CHECK_EQ(agas_barrier(), 0); /* No rank maps anew before all have looked. */
}

static void copies_and_pins(void)
{
	hpx_addr_t a = share_address(me == 0 ? hpx_gas_calloc_cyclic((size_t)ranks, 1000, 0) : 0);
	hpx_addr_t own = hpx_addr_add(a, me * 1000, 1000), next;
	char text[1000], back[1000] = "";
	char *at;

	next = hpx_addr_add(a, (me + 1) % ranks * 1000, 1000);
	CHECK(hpx_gas_try_pin(own, (void **)&at));
	snprintf(at, 1000, "block of %d", me);
	hpx_gas_unpin(own);
	CHECK_EQ(agas_barrier(), 0);
	if (me == 0)
		for (int i = ranks - 1; i > 0; i--)
			CHECK_EQ(hpx_gas_memcpy_sync(hpx_addr_add(a, i * 1000, 1000),
						     hpx_addr_add(a, (i - 1) * 1000, 1000), 1000),
				 0);
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(hpx_gas_memget_sync(back, next, 1000), 0);
	snprintf(text, 1000, "block of %d", (me + 1) % ranks ? (me + 1) % ranks - 1 : 0);
	CHECK_EQ(strcmp(text, back), 0);
	/* The range ends beyond the padded block. */
	CHECK_EQ(hpx_gas_memput_rsync(own, text, 1001 + 24), AGAS_EINVAL);
	CHECK_EQ(agas_barrier(), 0);
	if (me == 0)
		CHECK_EQ(hpx_gas_free_sync(hpx_addr_add(a, 1000, 1000)),
			 ranks > 1 ? AGAS_EINVAL : AGAS_EUNMAPPED);
	if (me == 0)
		hpx_gas_free(a, HPX_LCO_NONE);
	CHECK_EQ(agas_barrier(), 0);
}

/* Many small local blocks come and go; their addresses are used again. */
static void local_blocks(void)
{
	enum { N = 500 };
	hpx_addr_t a[N];
	uint64_t v, i;

	for (int round = 0; round < 3; round++) {
		for (i = 0; i < N; i++) {
			a[i] = hpx_gas_alloc_local(1, 1 + drv_rng_below(&rng, 500), 0);
			v = i;
			CHECK(a[i] && a[i] >> 48 == (uint64_t)me);
			CHECK_EQ(hpx_gas_memput_rsync(a[i], &v, 1), 0);
		}
		for (i = 0; i < N; i++) {
			v = 0;
			CHECK_EQ(hpx_gas_memget_sync(&v, a[i], 1), 0);
			CHECK_EQ(v, i & 255);
			CHECK_EQ(hpx_gas_free_sync(a[i]), 0);
		}
	}
	CHECK_EQ(hpx_gas_alloc_local(0, 8, 0), HPX_NULL);
	CHECK_EQ(hpx_gas_alloc_local(1, (size_t)1 << 32, 0), HPX_NULL);
	CHECK_EQ(hpx_gas_alloc_cyclic((size_t)1 << 40, 4096, 0), HPX_NULL);
	CHECK_EQ(agas_barrier(), 0);
}

int main(void)
{
	job_begin();
	distributions_place_blocks();
	copies_and_pins();
	local_blocks();
	return job_end();
}
