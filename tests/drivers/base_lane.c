/* SPDX-License-Identifier: BSD-3-Clause */
/* drivers/base/lane.h: order, wrap, full, pads; order with the ring beside it; another process,
 * another thread. */
#include "drivers/base/atomic.h"
#include "drivers/base/lane.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "drivers/base/ring.h"
#include "tests/harness/t.h"

/* What one producer and one consumer share. */
struct pair {
	struct drv_lane lane;
	struct drv_ring *ring;
};

static struct pair *pair_create(void)
{
	struct pair *p = t_shared(sizeof(*p));

	p->ring = t_shared(drv_ring_bytes(256));
	drv_ring_init(p->ring, 256);
	return p;
}

static unsigned char byte_at(uint32_t number, uint32_t i)
{
	return (unsigned char)(number * 31 + i * 7 + 1);
}

static int push_record(struct drv_lane *l, uint32_t number, uint32_t bytes)
{
	uint64_t flag = 0;
	struct drv_lane_record *rec = drv_lane_reserve(l, bytes, &flag);

	if (!rec)
		return 0;
	memcpy(rec->head, &number, 4);
	for (uint32_t i = 0; i < bytes; i++)
		rec->payload[i] = byte_at(number, i);
	drv_lane_publish(rec, flag);
	return 1;
}

static int is_right(const struct drv_lane_record *rec, uint32_t number, uint32_t bytes)
{
	uint32_t is;

	memcpy(&is, rec->head, 4);
	if (rec->bytes != bytes || is != number)
		return 0;
	for (uint32_t i = 0; i < bytes; i++)
		if (rec->payload[i] != byte_at(number, i))
			return 0;
	return 1;
}

static void full_refuses_and_recovers(void)
{
	struct drv_lane *l = &pair_create()->lane;
	struct drv_lane_rx rx = {0};
	struct drv_lane_record *rec;
	uint64_t flag = 0;
	uint32_t n = 0, out = 0;

	CHECK(!drv_lane_peek(l, &rx, 0, &flag));
	while (push_record(l, n, 8))
		n++;
	CHECK_EQ(n, DRV_LANE_UNITS);
	CHECK(!push_record(l, n, 0));
	/* The consumer says so when a quarter is free. */
	while (!push_record(l, n, 8)) {
		rec = drv_lane_peek(l, &rx, 0, &flag);
		REQUIRE(rec);
		CHECK(is_right(rec, out, 8));
		drv_lane_release(l, &rx, rec, flag);
		out++;
	}
	CHECK_EQ(out, DRV_LANE_UNITS / 4);
}

/* Random sizes against the list of what went in; bytes that look like flags of later laps among
 * them. */
static void wrap_keeps_order_and_bytes(void)
{
	enum { RECORDS = 40000 };
	struct drv_lane *l = &pair_create()->lane;
	struct drv_lane_rx rx = {0};
	uint32_t in = 0, out = 0, *bytes = calloc(RECORDS, sizeof(*bytes));

	REQUIRE(bytes);
	while (out < RECORDS) {
		if (in < RECORDS && drv_rng_below(t_rng(), 2)) {
			bytes[in] = (uint32_t)drv_rng_below(
			    t_rng(), drv_rng_below(t_rng(), 2) ? 40 : DRV_LANE_PAYLOAD_MAX + 1);
			in += (uint32_t)push_record(l, in, bytes[in]);
			continue;
		}
		uint64_t flag = 0; /* gcc does not see that none is read without a record */
		struct drv_lane_record *rec = drv_lane_peek(l, &rx, 0, &flag);

		REQUIRE_EQ(rec != NULL, drv_lane_is_ready(l, &rx));
		REQUIRE_EQ(rec != NULL, in != out);
		if (!rec)
			continue;
		REQUIRE(is_right(rec, out, bytes[out]));
		drv_lane_release(l, &rx, rec, flag);
		out++;
	}
	free(bytes);
}

static void payload_is_no_flag(void)
{
	struct drv_lane *l = &pair_create()->lane;
	struct drv_lane_rx rx = {0};
	uint64_t flag = 0, words[(DRV_LANE_PAYLOAD_MAX) / 8];

	for (int lap = 0; lap < 50; lap++) {
		struct drv_lane_record *rec = drv_lane_reserve(l, sizeof(words), &flag);
		uint64_t at;

		REQUIRE(rec);
		/* Each word is the flag that its unit would have one lap on. */
		at = (flag >> 16) - 1;
		for (size_t i = 0; i < sizeof(words) / 8; i++)
			words[i] =
			    drv_lane_flag(at + (i + 3) / 4 + DRV_LANE_UNITS, DRV_LANE_DATA, 1);
		memcpy(rec->payload, words, sizeof(words));
		drv_lane_publish(rec, flag);
		rec = drv_lane_peek(l, &rx, 0, &flag);
		REQUIRE(rec && rec->bytes == sizeof(words) &&
			!memcmp(rec->payload, words, sizeof(words)));
		drv_lane_release(l, &rx, rec, flag);
		REQUIRE(!drv_lane_peek(l, &rx, 0, &flag));
	}
}

/*
 * One producer that chooses lane or ring at random, another that reserves in the ring and is slow
 * to publish; the consumer follows the rules on top of lane.h. The first one's numbers come in
 * order.
 */
enum { MIXED = 60000 };

static void ring_push(struct drv_ring *r, struct drv_ring_tx *tx, struct drv_lane *l,
		      uint32_t number)
{
	struct drv_ring_record *rec;
	uint64_t position;

	while (!(rec = drv_ring_reserve(r, tx, 8, &position)))
		sched_yield();
	rec->tag = number;
	if (!l)
		for (int i = 0; i < (int)(number % 3); i++)
			sched_yield(); /* taken, not there */
	drv_ring_publish(rec, position);
	if (l)
		l->after = (position >> 16) - 1 + (position & 0xffff);
}

static int produce_mixed(void *arg)
{
	struct pair *p = arg;
	struct drv_ring_tx tx = {0};

	for (uint32_t i = 0; i < MIXED; i++) {
		int lane = drv_rng_below(t_rng(), 8) != 0;

		if (lane && p->lane.after && !drv_lane_put_after(&p->lane))
			lane = 0;
		if (!lane || !push_record(&p->lane, i, i % 50))
			ring_push(p->ring, &tx, &p->lane, i);
	}
	return 0;
}

static int produce_ring(void *arg)
{
	struct pair *p = arg;
	struct drv_ring_tx tx = {0};

	for (uint32_t i = 0; i < MIXED / 8; i++)
		ring_push(p->ring, &tx, NULL, 1u << 31 | i);
	return 0;
}

static uint32_t take_lane(struct pair *p, struct drv_lane_rx *rx, struct drv_ring_rx *ring_rx,
			  uint32_t next)
{
	struct drv_lane_record *rec;
	uint64_t flag = 0;

	for (uint32_t n = 0;
	     n < DRV_LANE_UNITS && (rec = drv_lane_peek(&p->lane, rx, ring_rx->head, &flag)); n++) {
		REQUIRE(is_right(rec, next, next % 50));
		next++;
		drv_lane_release(&p->lane, rx, rec, flag);
	}
	return next;
}

static void order_with_the_ring(void)
{
	struct pair *p = pair_create();
	struct drv_ring_rx ring_rx = {0};
	struct drv_lane_rx rx = {0};
	uint32_t next = 0, others = 0, through_ring = 0;
	pid_t mixed = t_child(produce_mixed, p), other = t_child(produce_ring, p);

	while (next < MIXED || others < MIXED / 8) {
		struct drv_ring_record *rec = drv_ring_peek(p->ring, &ring_rx);

		next = take_lane(p, &rx, &ring_rx, next);
		if (!rec) {
			drv_ring_publish_head(p->ring, &ring_rx);
			sched_yield();
			continue;
		}
		if (rec->tag >> 31) {
			REQUIRE_EQ(rec->tag, 1u << 31 | others);
			others++;
		} else {
			REQUIRE_EQ(rec->tag, next);
			next++;
			through_ring++;
		}
		drv_ring_release(p->ring, &ring_rx, rec);
	}
	CHECK(through_ring > 0 && through_ring < MIXED);
	CHECK_EQ(t_wait(mixed, 20), 0);
	CHECK_EQ(t_wait(other, 20), 0);
}

/* A thread that only looks, while another takes: what a sleeper's last look and a death's look do.
 */
static struct drv_lane_rx looked_rx;
static int look_on, looks_ready;

static void *look_for_records(void *arg)
{
	struct pair *p = arg;

	while (atomic_load_acquire(&look_on))
		if (drv_lane_is_ready(&p->lane, &looked_rx))
			atomic_fetch_add_release(&looks_ready, 1);
	return NULL;
}

static int produce_all(void *arg)
{
	struct pair *p = arg;

	for (uint32_t i = 0; i < MIXED; i++)
		while (!push_record(&p->lane, i, i % 50))
			sched_yield();
	return 0;
}

static void a_look_from_another_thread(void)
{
	struct pair *p = pair_create();
	struct drv_ring_rx ring_rx = {0};
	pthread_t looker;
	pid_t child;
	int before;

	looked_rx = (struct drv_lane_rx){0};
	CHECK(!drv_lane_is_ready(&p->lane, &looked_rx));
	atomic_store_release(&look_on, 1);
	REQUIRE_EQ(pthread_create(&looker, NULL, look_for_records, p), 0);
	child = t_child(produce_all, p);
	for (uint32_t next = 0; next < MIXED; sched_yield())
		next = take_lane(p, &looked_rx, &ring_rx, next);
	CHECK_EQ(t_wait(child, 20), 0);
	CHECK(!drv_lane_is_ready(&p->lane, &looked_rx));
	before = atomic_load_acquire(&looks_ready);
	CHECK(push_record(&p->lane, 7, 8));
	while (atomic_load_acquire(&looks_ready) == before)
		sched_yield();
	atomic_store_release(&look_on, 0);
	CHECK_EQ(pthread_join(looker, NULL), 0);
}

T_MAIN(T(full_refuses_and_recovers), T(wrap_keeps_order_and_bytes), T(payload_is_no_flag),
       T(order_with_the_ring), T(a_look_from_another_thread))
