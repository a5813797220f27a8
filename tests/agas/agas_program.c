/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call of agas.h, by all ranks: mapping, access, moves, pins, actions, errors, leaks. */
#include "tests/agas/agas_job.h"

static struct agas_stats read_stats(void)
{
	struct agas_stats s;

	agas_stats(&s, 0);
	return s;
}

static unsigned char pattern_byte(uint64_t seed, size_t i)
{
	return (unsigned char)(seed * 131 + i * 7 + (i >> 8));
}

/* ---- mapping ---- */

static int place_reversed(size_t i, size_t n, void *arg)
{
	return (int)((n - 1 - i) % (size_t) * (int *)arg);
}

static void owners_are_as_distributed(void)
{
	size_t n = 2 * (size_t)ranks + 1, run = (n + (size_t)ranks - 1) / (size_t)ranks, i;
	gva_t local = 0, cyclic = 0, blocked = 0, user = 0;
	struct agas_stats before = read_stats();

	if (me == ranks - 1) {
		local = agas_map(n * page);
		cyclic = agas_map_cyclic(n * page - 5);
		blocked = agas_map_blocked(n * page);
		user = agas_map_user(n * page, place_reversed, &ranks);
		CHECK(local && cyclic && blocked && user);
		for (i = 0; i < n; i++) {
			CHECK_EQ(agas_owner(local + i * page), me);
			CHECK_EQ(agas_home(cyclic + i * page), (cyclic / page + i) % (size_t)ranks);
		}
	}
	local = job_bcast(0) ? 0 : local;
	{
		/* Rank 0 passes the addresses on: the last rank hands them to it. */
		gva_t box = agas_map_all(4 * page, AGAS_CYCLIC),
		      list[4] = {local, cyclic, blocked, user};
		int wrong = 0;

		if (me == ranks - 1)
			agas_put(box, list, sizeof(list));
		agas_barrier();
		agas_get(list, box, sizeof(list));
		agas_barrier();
		for (i = 0; i < n; i++) {
			wrong += agas_try_pin(list[0] + i * page, NULL) != (me == ranks - 1);
			wrong += agas_try_pin(list[1] + i * page, NULL) !=
				 (agas_home(list[1] + i * page) == me);
			wrong += agas_try_pin(list[2] + i * page, NULL) != ((int)(i / run) == me);
			wrong += agas_try_pin(list[3] + i * page, NULL) !=
				 (place_reversed(i, n, &ranks) == me);
			for (int k = 0; k < 4; k++)
				if (agas_owner(list[k] + i * page) == me)
					agas_unpin(list[k] + i * page);
		}
		CHECK_EQ(wrong, 0);
		agas_barrier();
		if (me == 0) {
			for (int k = 0; k < 4; k++)
				CHECK_EQ(agas_unmap(list[k], n * page), 0);
			CHECK_EQ(agas_unmap(box, 4 * page), 0);
		}
		agas_barrier();
	}
	CHECK_EQ(read_stats().blocks, before.blocks);
	CHECK_EQ(read_stats().homes, before.homes);
}

/* ---- access ---- */

static void put_and_get_span_pages(void)
{
	size_t bytes = 5 * page + 77, i, wrong = 0;
	size_t share = bytes + 1000;
	gva_t base = agas_map_all(share * (size_t)ranks, AGAS_CYCLIC);
	unsigned char *from = malloc(bytes), *to = malloc(bytes);
	agas_req_t r;

	for (int round = 0; round < 3; round++) {
		int whom = (me + round) % ranks, from_whom = (me + 1) % ranks;

		for (i = 0; i < bytes; i++)
			from[i] = pattern_byte((uint64_t)(me * 3 + round), i);
		CHECK_EQ(agas_put(base + share * (size_t)whom + 13, from, bytes), 0);
		CHECK_EQ(agas_barrier(), 0);
		memset(to, 0, bytes);
		CHECK_EQ(agas_get_nb(to, base + share * (size_t)from_whom + 13, bytes, &r), 0);
		CHECK_EQ(agas_wait(&r), 0);
		whom = (from_whom - round + 3 * ranks) % ranks; /* who put there */
		for (i = 0; i < bytes; i++)
			wrong += to[i] != pattern_byte((uint64_t)(whom * 3 + round), i);
		CHECK_EQ(wrong, 0);
		CHECK_EQ(agas_barrier(), 0);
	}
	/* Nothing beside the range was touched. */
	CHECK_EQ(agas_get(to, base + share * (size_t)me, 13), 0);
	CHECK_EQ(agas_fence(), 0);
	for (i = 0; i < 13; i++)
		wrong += to[i];
	CHECK_EQ(wrong, 0);
	CHECK_EQ(agas_put(base, from, 0), 0);
	CHECK_EQ(agas_barrier(), 0);
	if (me == 0)
		CHECK_EQ(agas_unmap(base, share * (size_t)ranks), 0);
	CHECK_EQ(agas_barrier(), 0);
	free(from);
	free(to);
}

static void atomics_count(void)
{
	enum { TIMES = 100 };
	gva_t base = agas_map_all(page, AGAS_CYCLIC);
	uint64_t old, sum = 0;

	for (int i = 0; i < TIMES; i++) {
		CHECK_EQ(agas_fetch_add64(base, 3, &old), 0);
		CHECK_EQ(agas_fetch_xor64(base + 8, (uint64_t)1 << me, NULL), 0);
	}
	do
		CHECK_EQ(agas_compare_swap64(base + 16, sum, sum + 5, &old), 0);
	while (old != sum && (sum = old, 1));
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_get(&sum, base, 8), 0);
	CHECK_EQ(agas_fence(), 0);
	CHECK_EQ(sum, 3 * TIMES * ranks);
	CHECK_EQ(agas_get(&sum, base + 8, 8), 0);
	CHECK_EQ(agas_get(&old, base + 16, 8), 0);
	CHECK_EQ(agas_fence(), 0);
	CHECK_EQ(sum, 0);
	CHECK_EQ(old, 5 * ranks);
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_swap64(base + 24, (uint64_t)me + 1, &old), 0);
	CHECK(old <= (uint64_t)ranks);
	CHECK_EQ(agas_barrier(), 0);
	if (me == 0)
		CHECK_EQ(agas_unmap(base, page), 0);
	CHECK_EQ(agas_barrier(), 0);
}

/* ---- moves ---- */

/* Every mover, home, owner and target. One rank moves at a time; all others then look. */
static void moves_in_all_roles(void)
{
	size_t n = (size_t)ranks;
	gva_t base = agas_map_all(n * page, AGAS_CYCLIC);
	uint64_t v;

	for (int mover = 0; mover < ranks; mover++)
		for (int target = 0; target < ranks; target++) {
			gva_t at = base + (size_t)((mover + target) % ranks) * page;
			uint64_t stamp = (uint64_t)mover * 1000 + (uint64_t)target + 1;

			if (me == mover) {
				CHECK_EQ(agas_put(at + 8, &stamp, 8), 0);
				CHECK_EQ(agas_fence(), 0);
				CHECK_EQ(agas_remap(at, target), 0);
			}
			CHECK_EQ(agas_barrier(), 0);
			CHECK_EQ(agas_try_pin(at, NULL), me == target);
			if (me == target)
				agas_unpin(at);
			CHECK_EQ(agas_get(&v, at + 8, 8), 0);
			CHECK_EQ(agas_fence(), 0);
			CHECK_EQ(v, stamp);
			if (agas_home(at) == me)
				CHECK_EQ(agas_owner(at), target);
			CHECK_EQ(agas_barrier(), 0);
		}
	if (me == 0)
		CHECK_EQ(agas_unmap(base, n * page), 0);
	CHECK_EQ(agas_barrier(), 0);
}

/* All ranks move one block to themselves and elsewhere, and count in it meanwhile. */
static void many_movers(void)
{
	enum { TIMES = 40 };
	gva_t base = agas_map_all(page, AGAS_CYCLIC);
	uint64_t sum = 0;

	for (int i = 0; i < TIMES; i++) {
		CHECK_EQ(agas_fetch_add64(base + 40, 1, NULL), 0);
		CHECK_EQ(agas_remap(base, (int)drv_rng_below(&rng, (uint64_t)ranks)), 0);
	}
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_get(&sum, base + 40, 8), 0);
	CHECK_EQ(agas_fence(), 0);
	CHECK_EQ(sum, TIMES * ranks);
	CHECK_EQ(agas_barrier(), 0);
	if (me == 0)
		CHECK_EQ(agas_unmap(base, page), 0);
	CHECK_EQ(agas_barrier(), 0);
}

/* A reader whose entry is as old as can be takes at most three forwards. */
static void stale_reader(void)
{
	enum { MOVES = 1000 };
	gva_t base = agas_map_all(page, AGAS_CYCLIC);
	int reader = ranks - 1, places = ranks > 1 ? ranks - 1 : 1;
	struct agas_stats before, after;
	uint64_t v;

	CHECK_EQ(agas_get(&v, base, 8), 0);
	CHECK_EQ(agas_barrier(), 0);
	if (me == 0)
		for (int i = 0; i < MOVES; i++)
			CHECK_EQ(agas_remap(base, i % places), 0);
	CHECK_EQ(agas_barrier(), 0);
	agas_stats(&before, 1);
	CHECK_EQ(agas_barrier(), 0);
	if (me == reader) {
		CHECK_EQ(agas_get(&v, base, 8), 0);
		CHECK_EQ(agas_fence(), 0);
	}
	CHECK_EQ(agas_barrier(), 0);
	agas_stats(&after, 0);
	CHECK(after.most_hops <= 3);
	if (me == 0)
		CHECK_EQ(agas_unmap(base, page), 0);
	CHECK_EQ(agas_barrier(), 0);
}

static void pins_hold_the_block(void)
{
	gva_t base = agas_map_all(page, AGAS_CYCLIC);
	int owner = agas_home(base), next = (owner + 1) % ranks;
	uint64_t *at, v = 0;
	agas_req_t r;

	if (me == owner) {
		CHECK_EQ(agas_try_pin(base, (void **)&at), 1);
		CHECK_EQ(agas_try_pin(base, NULL), 1); /* twice */
		CHECK_EQ(agas_lva_to_gva(at), base);
		CHECK_EQ(agas_lva_to_gva((char *)at + page - 1), base + page - 1);
		CHECK_EQ(agas_lva_to_gva(&at), 0);
		CHECK_EQ(agas_remap_nb(base, next, &r), 0);
		/* The move arrives some time; from then on nobody pins any more. */
		while (ranks > 1 && agas_try_pin(base, NULL)) {
			agas_unpin(base);
			agas_progress();
		}
		CHECK(ranks == 1 || !agas_test(&r));
		at[5] = 4711;
		agas_unpin(base);
		CHECK(ranks == 1 || !agas_test(&r));
		if (ranks > 1)
			CHECK_EQ(agas_try_pin(base, NULL), 0); /* It is leaving. */
		CHECK_EQ(agas_lva_to_gva(at + 1), base + 8);
		agas_unpin(base);
		CHECK_EQ(agas_wait(&r), 0);
	}
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_get(&v, base + 40, 8), 0);
	CHECK_EQ(agas_fence(), 0);
	CHECK_EQ(v, 4711);
	CHECK_EQ(agas_barrier(), 0);
	if (me == 0)
		CHECK_EQ(agas_unmap(base, page), 0);
	CHECK_EQ(agas_barrier(), 0);
}

/* ---- actions ---- */

static int add_action, hop_action, resend_action, resends;

static int run_add(gva_t target, void *lva, const void *arg, size_t n, int source)
{
	uint64_t v;

	CHECK_EQ(n, sizeof(v));
	memcpy(&v, arg, sizeof(v));
	*(uint64_t *)lva += v;
	return AGAS_DONE;
}

/* Goes once round all pages. */
static int run_hop(gva_t target, void *lva, const void *arg, size_t n, int source)
{
	uint64_t a[3]; /* base, pages, hops left */

	memcpy(a, arg, sizeof(a));
	++*(uint64_t *)lva;
	if (!a[2]--)
		return AGAS_DONE;
	CHECK_EQ(agas_call(a[0] + (target - a[0] + page) % (a[1] * page), hop_action, a, sizeof(a)),
		 0);
	return AGAS_DONE;
}

static int run_resend(gva_t target, void *lva, const void *arg, size_t n, int source)
{
	if (resends++ < 3)
		return AGAS_RESEND;
	++*(uint64_t *)lva;
	return AGAS_DONE;
}

static void actions_run_where_the_block_is(void)
{
	enum { TIMES = 100, HOPS = 200 };
	size_t n = (size_t)ranks + 1, i;
	gva_t base = agas_map_all(n * page, AGAS_CYCLIC);
	uint64_t one = 1, sum = 0, a[3] = {base, n, HOPS}, *all = calloc(n, 8);

	for (i = 0; i < TIMES; i++) {
		CHECK_EQ(agas_call(base + 16, add_action, &one, sizeof(one)), 0);
		if (me == 0 && i % 10 == 0)
			CHECK_EQ(agas_remap(base, (int)(i / 10) % ranks), 0);
	}
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_get(&sum, base + 16, 8), 0);
	CHECK_EQ(agas_fence(), 0);
	CHECK_EQ(sum, TIMES * ranks);
	CHECK_EQ(agas_call(base + (size_t)me * page + 24, resend_action, NULL, 0), 0);
	if (me == 0)
		CHECK_EQ(agas_call(base, hop_action, a, sizeof(a)), 0);
	/* agas_call() returns when its own action has run; the calls that this action made may
	 * still be under way. */
	do {
		for (sum = i = 0; i < n; i++)
			CHECK_EQ(agas_get(&all[i], base + i * page, 8), 0);
		CHECK_EQ(agas_fence(), 0);
		for (i = 0; i < n; i++)
			sum += all[i];
	} while (sum < HOPS + 1 && !check_failures);
	CHECK_EQ(sum, HOPS + 1);
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_get(&sum, base + (size_t)me * page + 24, 8), 0);
	CHECK_EQ(agas_fence(), 0);
	CHECK_EQ(sum, 1);
	CHECK_EQ(agas_barrier(), 0);
	if (me == 0)
		CHECK_EQ(agas_unmap(base, n * page), 0);
	CHECK_EQ(agas_barrier(), 0);
	free(all);
}

/* ---- errors ---- */

static void errors_have_codes(void)
{
	gva_t base = agas_map_all(2 * page, AGAS_CYCLIC), gone = base + page;
	uint64_t v = 0;

	CHECK_EQ(agas_put(0, &v, 8), AGAS_EINVAL);
	CHECK_EQ(agas_get(&v, 5, 8), AGAS_EINVAL);
	CHECK_EQ(agas_put(((gva_t)1 << 42) - 4, &v, 8), AGAS_EINVAL);
	CHECK_EQ(agas_put((gva_t)60000 << 48 | (gva_t)12 << 42, &v, 8), AGAS_EINVAL);
	CHECK_EQ(agas_put(base, NULL, 8), AGAS_EINVAL);
	CHECK_EQ(agas_put(base, &v, SIZE_MAX), AGAS_EINVAL);
	CHECK_EQ(agas_remap(base, ranks), AGAS_EINVAL);
	CHECK_EQ(agas_remap(base, -1), AGAS_EINVAL);
	CHECK_EQ(agas_fetch_add64(base + 4, 1, NULL), AGAS_EINVAL);
	CHECK_EQ(agas_map(0), 0);
	CHECK_EQ(agas_map(SIZE_MAX), 0);
	/* Never mapped. */
	CHECK_EQ(agas_put(base + 100000 * page, &v, 8), 0);
	CHECK_EQ(agas_fence(), AGAS_EUNMAPPED);
	CHECK_EQ(agas_fence(), 0);
	CHECK_EQ(agas_remap(base + 100000 * page, me), AGAS_EUNMAPPED);
	CHECK_EQ(agas_fetch_add64(base + 100000 * page, 1, NULL), AGAS_EUNMAPPED);
	CHECK_EQ(agas_call(base, 999, NULL, 0), 0);
	CHECK_EQ(agas_fence(), AGAS_EACTION);
	CHECK_EQ(agas_barrier(), 0);
	/* Freed. */
	if (me == ranks - 1)
		CHECK_EQ(agas_unmap(gone, page), 0);
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_get(&v, gone, 8), 0);
	CHECK_EQ(agas_fence(), AGAS_EUNMAPPED);
	CHECK_EQ(agas_barrier(), 0);
	if (me == 0) {
		CHECK_EQ(agas_unmap(gone, page), AGAS_EUNMAPPED);
		CHECK_EQ(agas_unmap(base, page), 0);
	}
	CHECK_EQ(agas_barrier(), 0);
}

/* ---- freeing ---- */

/* Freeing waits for pins and finds blocks that have moved; the addresses come back. */
static void free_moved_and_pinned(void)
{
	size_t n = 3 * (size_t)ranks, i;
	struct agas_stats before = read_stats();
	gva_t base = agas_map_all(n * page, AGAS_BLOCKED), again;
	uint64_t *at = NULL;

	for (i = (size_t)me; i < n; i += (size_t)ranks)
		CHECK_EQ(agas_remap(base + i * page, (int)drv_rng_below(&rng, (uint64_t)ranks)), 0);
	CHECK_EQ(agas_barrier(), 0);
	if (me == ranks - 1)
		CHECK_EQ(agas_remap(base, me), 0);
	CHECK_EQ(agas_barrier(), 0);
	if (me == ranks - 1 && ranks > 1) {
		CHECK_EQ(agas_try_pin(base, (void **)&at), 1);
		*at = 1;
	}
	CHECK_EQ(agas_barrier(), 0);
	if (me == ranks - 1 && ranks > 1) {
		for (i = 0; i < 1000; i++)
			agas_progress();
		CHECK_EQ(*at, 1);
		agas_unpin(base);
	}
	if (me == 0) {
		CHECK_EQ(agas_unmap(base, n * page), 0);
		again = agas_map_blocked(n * page);
		CHECK_EQ(again, base); /* first fit */
		CHECK_EQ(agas_get(&n, again, 8), 0);
		CHECK_EQ(agas_fence(), 0);
		CHECK_EQ(n, 0);
		n = 3 * (size_t)ranks;
		CHECK_EQ(agas_unmap(again, n * page), 0);
	}
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(read_stats().blocks, before.blocks);
	CHECK_EQ(read_stats().homes, before.homes);
}

/* ---- balance ---- */

static void balance_moves_to_users(void)
{
	size_t n = 2 * (size_t)ranks, i;
	gva_t base = agas_map_all(n * page, AGAS_CYCLIC);
	uint64_t v = 0;
	int moved;

	CHECK(agas_balance(AGAS_BALANCE_COUNT, 1) >= 0);
	/* Each rank uses pages of its successor. */
	for (int round = 0; round < 10; round++)
		for (i = 0; i < n; i++)
			if (agas_home(base + i * page) == (me + 1) % ranks)
				CHECK_EQ(agas_put(base + i * page, &v, 8), 0);
	moved = agas_balance(AGAS_BALANCE_COUNT, 1);
	CHECK_EQ(moved, ranks > 1 ? 2 : 0);
	for (i = 0; i < n; i++)
		if (agas_home(base + i * page) == (me + 1) % ranks)
			CHECK_EQ(agas_owner(base + i * page), me);
	for (int policy = AGAS_BALANCE_LEAST; policy <= AGAS_BALANCE_RANDOM; policy++) {
		/* Rank 0 has all the load. */
		for (i = (size_t)me; i < n; i += (size_t)ranks)
			CHECK_EQ(agas_remap(base + i * page, 0), 0);
		CHECK_EQ(agas_barrier(), 0);
		for (i = 0; i < n; i++)
			CHECK_EQ(agas_put(base + i * page, &v, 8), 0);
		moved = agas_balance((enum agas_policy)policy, 1.4);
		if (me == 0 && ranks > 1)
			CHECK(moved > 0 && moved < (int)n);
		if (me != 0 && policy != AGAS_BALANCE_RANDOM)
			CHECK_EQ(moved, 0);
	}
	CHECK_EQ(agas_barrier(), 0);
	if (me == 0)
		CHECK_EQ(agas_unmap(base, n * page), 0);
	CHECK_EQ(agas_barrier(), 0);
}

int main(void)
{
	job_begin();
	add_action = agas_register(run_add);
	hop_action = agas_register(run_hop);
	resend_action = agas_register(run_resend);
	CHECK_EQ(agas_barrier(), 0);
	owners_are_as_distributed();
	put_and_get_span_pages();
	atomics_count();
	moves_in_all_roles();
	many_movers();
	stale_reader();
	pins_hold_the_block();
	actions_run_where_the_block_is();
	errors_have_codes();
	free_moved_and_pinned();
	balance_moves_to_users();
	return job_end();
}
