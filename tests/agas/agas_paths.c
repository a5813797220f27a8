/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table lookups and messages of one put of 8 bytes, for each way that it can take, exactly.
 * With the directory in the network (--hw agas=hw-torus) there is one way, whatever the source
 * knows. QT_BY_UNIT=1: a unit carries out every put to another rank, in virtual time that of the
 * owner; 0: none does. QT_NEAR=1: in real time that of the source does, without a message.
 * QT_NEAR=owner: with the directory in software the same, where the source knows the owner.
 * With QUINTORUS_AGAS_LOCAL=off no rank looks anything up, and a put to its own block goes that
 * way, too.
 */
#include "tests/agas/agas_job.h"

enum { HOME, FIRST, SOURCE, LAST, RANKS };

static gva_t board, at;

/* Sum of the counts of all ranks since they began. */
static struct agas_stats sum_stats(void)
{
	struct agas_stats sum = {0}, one;
	size_t i;

	CHECK_EQ(agas_barrier(), 0);
	agas_stats(&one, 0);
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_put(board + (size_t)me * sizeof(one), &one, sizeof(one)), 0);
	CHECK_EQ(agas_barrier(), 0);
	for (int r = 0; r < RANKS; r++) {
		CHECK_EQ(agas_get(&one, board + (size_t)r * sizeof(one), sizeof(one)), 0);
		CHECK_EQ(agas_fence(), 0);
		for (i = 0; i < sizeof(one) / 8; i++)
			((uint64_t *)&sum)[i] += ((uint64_t *)&one)[i];
	}
	CHECK_EQ(agas_barrier(), 0);
	return sum;
}

static void count_from_here(void)
{
	struct agas_stats s;

	CHECK_EQ(agas_barrier(), 0);
	agas_stats(&s, 1);
	CHECK_EQ(agas_barrier(), 0);
}

static struct agas_stats put_by(int rank)
{
	uint64_t v = 1;

	count_from_here();
	if (me == rank) {
		CHECK_EQ(agas_put(at, &v, sizeof(v)), 0);
		CHECK_EQ(agas_fence(), 0);
	}
	return sum_stats();
}

static const char *by_unit;
static unsigned long_by_unit;
static bool is_near, is_near_if_known, goes_out;

/* `knows`: by its own records or from the home the source learns who owns the block. */
static void expect_stats(const char *what, const struct agas_stats *s, bool knows, unsigned lookups,
			 unsigned translations, unsigned messages, unsigned updates)
{
	unsigned long sent = s->requests + s->forwards + s->answers + s->queries;
	bool in_place = s->by_unit && !s->addressed;

	if (is_near_if_known && me == 0)
		CHECK_EQ(s->by_unit, knows);
	if (in_place && !is_near) {
		CHECK(knows);
		messages -= 2; /* the request and its answer */
	} else if (s->addressed || s->by_unit) {
		lookups = !goes_out;
		messages = is_near ? 0 : 2;
		updates = 0;
	}
	if (by_unit && s->addressed && me == 0)
		CHECK_EQ(s->by_unit, (uint64_t)atoi(by_unit));
	if (s->by_unit) { /* no software of the owner looks anything up, or answers */
		translations = 0;
		sent += !in_place;
	}
	if (me == 0 && (s->lookups != lookups || s->translations != translations ||
			sent != messages || s->updates != updates)) {
		check_failures++;
		fprintf(stderr,
			"%s: %lu lookups (+%lu), %lu messages, %lu updates; expected %u (+%u), %u, "
			"%u\n",
			what, (unsigned long)s->lookups, (unsigned long)s->translations, sent,
			(unsigned long)s->updates, lookups, translations, messages, updates);
	}
}

/* A put that is alone in flight goes in pieces, as a get does. */
static void put_long(void)
{
	unsigned char out[1000], back[1000] = {0};
	struct agas_stats s;

	for (unsigned i = 0; i < sizeof(out); i++)
		out[i] = (unsigned char)(i * 7);
	count_from_here();
	if (me == SOURCE) {
		CHECK_EQ(agas_put(at, out, sizeof(out)), 0);
		CHECK_EQ(agas_fence(), 0);
		CHECK_EQ(agas_get(back, at, sizeof(back)), 0);
		CHECK_EQ(agas_fence(), 0);
		CHECK(!memcmp(out, back, sizeof(out)));
	}
	s = sum_stats();
	if (by_unit && me == 0)
		CHECK_EQ(s.by_unit, is_near || is_near_if_known ? 2u : atoi(by_unit) ? 6u : 0u);
}

/* A put of many packets, which the unit fetches while it holds the block, if it carries out long
 * ones (QT_LONG_BY_UNIT=1). */
static void put_longer(void)
{
	static unsigned char out[2500], back[2500];
	struct agas_stats s;

	for (unsigned i = 0; i < sizeof(out); i++)
		out[i] = (unsigned char)(i * 11);
	count_from_here();
	if (me == SOURCE) {
		CHECK_EQ(agas_put(at + 8, out, sizeof(out)), 0);
		CHECK_EQ(agas_fence(), 0);
	}
	s = sum_stats();
	if (by_unit && me == 0) {
		CHECK_EQ(s.by_unit, (uint64_t)long_by_unit);
		CHECK_EQ(s.translations, (uint64_t)!long_by_unit);
	}
	if (me == SOURCE) {
		CHECK_EQ(agas_get(back, at + 8, sizeof(back)), 0);
		CHECK_EQ(agas_fence(), 0);
		CHECK(!memcmp(out, back, sizeof(out)));
	}
}

/* A payload that cannot be read ends the put with an error, and the block is not held any more. */
static void put_unreadable(void)
{
	void *nowhere = (void *)(uintptr_t)page;

	if (me == SOURCE) {
		CHECK_EQ(agas_put(at + 8, nowhere, 2500), 0);
		CHECK_EQ(agas_fence(), AGAS_EINVAL);
		CHECK_EQ(agas_remap(at, LAST), 0);
		CHECK_EQ(agas_remap(at, FIRST), 0);
	}
	CHECK_EQ(agas_barrier(), 0);
}

/* Atomic operations take the same way as puts, and a unit returns the value before. */
static void atomics(void)
{
	struct agas_stats s;
	uint64_t old = 0;

	count_from_here();
	if (me == SOURCE) {
		CHECK_EQ(agas_swap64(at + 1016, 40, NULL), 0);
		CHECK_EQ(agas_fetch_add64(at + 1016, 5, &old), 0);
		CHECK_EQ(old, 40);
		CHECK_EQ(agas_fetch_xor64(at + 1016, 7, &old), 0);
		CHECK_EQ(old, 45);
		CHECK_EQ(agas_compare_swap64(at + 1016, 45, 1, &old), 0);
		CHECK_EQ(old, 42);
		CHECK_EQ(agas_compare_swap64(at + 1016, 42, 1, &old), 0);
		CHECK_EQ(old, 42);
		CHECK_EQ(agas_swap64(at + 1016, 0, &old), 0);
		CHECK_EQ(old, 1);
	}
	s = sum_stats();
	if (by_unit && me == 0)
		CHECK_EQ(s.by_unit, atoi(by_unit) ? 6 : 0);
}

int main(void)
{
	const char *miss = getenv("QUINTORUS_AGAS_MISS"), *local = getenv("QUINTORUS_AGAS_LOCAL");
	const char *near = getenv("QT_NEAR");
	struct agas_stats s;
	gva_t base;

	is_near = near && !strcmp(near, "1");
	is_near_if_known = near && !strcmp(near, "owner");
	goes_out = local && !strcmp(local, "off");
	by_unit = getenv("QT_BY_UNIT");
	long_by_unit = getenv("QT_LONG_BY_UNIT") ? (unsigned)atoi(getenv("QT_LONG_BY_UNIT")) : 0;
	job_begin();
	if (ranks != RANKS) {
		fprintf(stderr, "this test needs 4 ranks\n");
		return 1;
	}
	board = agas_map_all(page, AGAS_CYCLIC);
	base = agas_map_all(RANKS * page, AGAS_CYCLIC);
	for (at = base; agas_home(at) != HOME; at += page)
		;
	s = put_by(HOME);
	expect_stats("here", &s, false, 1, 0, 0, 0);
	if (me == 0)
		CHECK_EQ(s.local, !goes_out);
	if (me == HOME)
		CHECK_EQ(agas_remap(at, FIRST), 0);
	s = put_by(HOME);
	expect_stats("from the home", &s, true, 1, 1, 2, 0);
	s = put_by(SOURCE);
	if (miss && !strcmp(miss, "query"))
		expect_stats("miss, query", &s, true, 2, 1, 4, 0);
	else
		expect_stats("miss, carry", &s, false, 2, 1, 3, 0);
	s = put_by(SOURCE);
	expect_stats("cached", &s, true, 1, 1, 2, 0);
	CHECK_EQ(s.hits + s.addressed + (is_near ? s.by_unit : 0), 1);
	put_long();
	put_longer();
	if (by_unit && !is_near &&
	    !is_near_if_known) /* a near put reads the payload as memcpy() does */
		put_unreadable();
	atomics();
	if (me == HOME)
		CHECK_EQ(agas_remap(at, LAST), 0);
	s = put_by(SOURCE);
	expect_stats("stale", &s, false, 2, 1, 3, 1);
	CHECK_EQ(s.stale + s.addressed + (is_near ? s.by_unit : 0), 1);
	/* LAST never was an owner of this one, and knows nothing. */
	for (at = base; agas_home(at) != FIRST; at += page)
		;
	if (me == SOURCE)
		agas_cache_teach(at, LAST);
	s = put_by(SOURCE);
	expect_stats("wrong, and unknown there", &s, false, 2, 1, 3, 0);
	/* The same where the home is not the owner any more. */
	if (me == FIRST)
		CHECK_EQ(agas_remap(at, HOME), 0);
	CHECK_EQ(agas_barrier(), 0);
	if (me == SOURCE)
		agas_cache_teach(at, LAST);
	s = put_by(SOURCE);
	expect_stats("wrong, via home", &s, false, 3, 1, 4, 0);
	return job_end();
}
