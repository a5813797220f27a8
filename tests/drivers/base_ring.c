/* SPDX-License-Identifier: BSD-3-Clause */
/* drivers/base/ring.h: order, wrap, full, empty, pads; several producing processes. */
#include "drivers/base/ring.h"

#include <sched.h>
#include <stdlib.h>

#include "tests/harness/t.h"

static struct drv_ring *ring_create(uint32_t lines)
{
	struct drv_ring *r = t_shared(drv_ring_bytes(lines));

	drv_ring_init(r, lines);
	return r;
}

static int push_record(struct drv_ring *r, struct drv_ring_tx *tx, uint32_t tag, uint32_t bytes)
{
	uint64_t position;
	struct drv_ring_record *rec = drv_ring_reserve(r, tx, bytes, &position);

	if (!rec)
		return 0;
	rec->tag = tag;
	memset(rec->header, (int)(tag & 0xff), sizeof(rec->header));
	for (uint32_t i = 0; i < bytes; i++)
		rec->payload[i] = (unsigned char)(tag * 31 + i);
	drv_ring_publish(rec, position);
	return 1;
}

static int is_right(const struct drv_ring_record *rec, uint32_t bytes)
{
	if (rec->bytes != bytes || rec->header[0] != (rec->tag & 0xff))
		return 0;
	for (uint32_t i = 0; i < bytes; i++)
		if (rec->payload[i] != (unsigned char)(rec->tag * 31 + i))
			return 0;
	return 1;
}

static void empty_gives_nothing(void)
{
	struct drv_ring *r = ring_create(16);
	struct drv_ring_rx rx = {0};

	CHECK(!drv_ring_peek(r, &rx));
	CHECK(!drv_ring_peek(r, &rx));
}

static void full_refuses_and_recovers(void)
{
	struct drv_ring *r = ring_create(16);
	struct drv_ring_tx tx = {0};
	struct drv_ring_rx rx = {0};

	for (uint32_t i = 0; i < 16; i++)
		CHECK(push_record(r, &tx, i, 16));
	for (int i = 0; i < 3; i++)
		CHECK(!push_record(r, &tx, 99, 16));
	for (uint32_t i = 0; i < 16; i++) {
		struct drv_ring_record *rec = drv_ring_peek(r, &rx);

		REQUIRE(rec);
		CHECK(rec->tag == i && is_right(rec, 16));
		drv_ring_release(r, &rx, rec);
	}
	CHECK(!drv_ring_peek(r, &rx));
	drv_ring_publish_head(r, &rx);
	CHECK(push_record(r, &tx, 100, 16));
	CHECK(drv_ring_peek(r, &rx));
}

/* Random sizes, so that pads fall everywhere; checked against the list of what went in. */
static void wrap_keeps_order_and_bytes(void)
{
	enum { LAPS = 20000 };
	struct drv_ring *r = ring_create(64);
	struct drv_ring_tx tx = {0};
	struct drv_ring_rx rx = {0};
	uint32_t max = drv_ring_payload_max(r), in = 0, out = 0;
	uint32_t *bytes = calloc(LAPS, sizeof(*bytes));

	REQUIRE(bytes);
	while (out < LAPS) {
		if (in < LAPS && drv_rng_below(t_rng(), 2)) {
			bytes[in] = (uint32_t)drv_rng_below(t_rng(), max + 1);
			if (push_record(r, &tx, in, bytes[in]))
				in++;
			continue;
		}
		struct drv_ring_record *rec = drv_ring_peek(r, &rx);

		if (!rec) {
			drv_ring_publish_head(r, &rx);
			REQUIRE_EQ(in, out);
			if (in == LAPS)
				break;
			continue;
		}
		REQUIRE(out < in && rec->tag == out && is_right(rec, bytes[out]));
		drv_ring_release(r, &rx, rec);
		out++;
	}
	CHECK_EQ(out, LAPS);
	free(bytes);
}

enum { PRODUCERS = 4, EACH = 5000 };

static int run_producer(void *arg)
{
	struct drv_ring **ring = arg; /* [0] the ring, [1] our number */
	uint32_t self = (uint32_t)(uintptr_t)ring[1];
	struct drv_ring_tx tx = {0};

	for (uint32_t i = 0; i < EACH; i++)
		while (!push_record(ring[0], &tx, self << 24 | i, (self * 7 + i) % 200))
			sched_yield();
	return 0;
}

static void producers_keep_their_order(void)
{
	struct drv_ring *r = ring_create(256);
	struct drv_ring_rx rx = {0};
	uint32_t next[PRODUCERS] = {0};
	pid_t child[PRODUCERS];

	for (uintptr_t p = 0; p < PRODUCERS; p++)
		child[p] = t_child(run_producer, (struct drv_ring *[]){r, (struct drv_ring *)p});
	for (uint32_t n = 0; n < PRODUCERS * EACH;) {
		struct drv_ring_record *rec = drv_ring_peek(r, &rx);

		if (!rec) {
			drv_ring_publish_head(r, &rx);
			sched_yield();
			continue;
		}
		uint32_t p = rec->tag >> 24, i = rec->tag & 0xffffff;

		REQUIRE(p < PRODUCERS && i == next[p] && is_right(rec, (p * 7 + i) % 200));
		next[p]++;
		n++;
		drv_ring_release(r, &rx, rec);
	}
	for (int p = 0; p < PRODUCERS; p++)
		CHECK_EQ(t_wait(child[p], 20), 0);
	CHECK(!drv_ring_peek(r, &rx));
}

T_MAIN(T(empty_gives_nothing), T(full_refuses_and_recovers), T(wrap_keeps_order_and_bytes),
       T(producers_keep_their_order))
