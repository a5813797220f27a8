/* SPDX-License-Identifier: BSD-3-Clause */
/* The history of --html: every amount is counted once, whatever the time; the table of flights. */
#include <stdlib.h>

#include "tests/harness/t.h"
#include "tools/flights.h"
#include "tools/history.h"

static struct plan make_plan(void)
{
	return (struct plan){
	    .tasks = 2, .hosts = 2, .clock = MU_CLOCK_VIRTUAL, .shape = {{2, 1, 1, 1, 1}, 1, 0}};
}

static uint64_t sum_column(const struct history *h, uint32_t column)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < h->frames; i++)
		n += h->frame[i] ? h->frame[i][column] : 0;
	return n;
}

static void amounts_are_kept(void)
{
	struct plan p = make_plan();
	struct history *h = history_new(&p);
	uint64_t sum = 0;

	REQUIRE(h != NULL);
	for (uint64_t i = 0; i < 5000; i++) {
		history_add(h, i * 333333, i % 2 ? 3 : h->columns - 1, i);
		sum += i;
		CHECK(h->frames <= HISTORY_FRAMES);
	}
	CHECK(sum_column(h, 3) + sum_column(h, h->columns - 1) == sum);
	/* 1.67 ms: more than half of the frames are in use. */
	CHECK(h->frames > HISTORY_FRAMES / 2);
	CHECK(h->interval == 32 * 1000000);
	history_add(h, 5, h->columns, 1); /* no such column */
	history_add(h, UINT64_MAX, 3, 1); /* no such time */
	CHECK(sum_column(h, 3) + sum_column(h, h->columns - 1) == sum);
	history_free(h);
}

static void buckets_are_in_order(void)
{
	for (unsigned b = 0; b + 1 < HISTORY_BUCKETS; b++) {
		CHECK(history_bucket(history_bucket_ps(b)) == b);
		CHECK(history_bucket(history_bucket_ps(b + 1) - 1) == b);
	}
	CHECK(history_bucket(UINT64_MAX) == HISTORY_BUCKETS - 1);
}

static void flights_are_matched(void)
{
	struct flights f = {0};
	uint64_t since[512] = {0}; /* the plain form */
	uint64_t x = 1, under_way = 0;

	for (unsigned i = 0; i < 200000; i++) {
		unsigned k = (unsigned)(x >> 33) % 512;
		const struct flight *at = flights_find(&f, flight_key(k % 7, k));

		x = x * 6364136223846793005u + 1442695040888963407u;
		CHECK(since[k] ? at && at->since_ps == since[k] : !at);
		if (at) {
			flights_remove(&f, at);
			since[k] = 0;
			under_way--;
		} else {
			CHECK(!flights_add(&f, flight_key(k % 7, k), i + 1));
			since[k] = i + 1;
			under_way++;
		}
		CHECK(f.used == under_way && f.room <= 2048);
	}
	flights_free(&f);
}

T_MAIN(T(amounts_are_kept), T(buckets_are_in_order), T(flights_are_matched))
