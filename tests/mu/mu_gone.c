/* SPDX-License-Identifier: BSD-3-Clause */
/* mu_ring_skip_dead_claims(): a ring in which a task that died had taken space goes on; nobody
 * alive is skipped. */
#include <string.h>

#include "mu/process.h"
#include "mu/transport/transport.h"
#include "tests/harness/t.h"

enum { TASKS = 4, READER = 0 };

static struct mu_host *host;
static struct drv_ring *ring;
static struct drv_ring_rx rx;
static struct drv_ring_tx tx[TASKS];

static void begin_ring(void)
{
	struct emu_coord at[TASKS] = {0};
	uint16_t on[TASKS] = {0};
	struct mu_host_conf conf = {.job = 1,
				    .seed = 1,
				    .tasks = TASKS,
				    .hosts = 1,
				    .shape = {{1, 1, 1, 1, 1}, TASKS, 0},
				    .on_death = MU_ON_DEATH_ERROR,
				    .coords = at,
				    .task_host = on};
	int fd;

	for (uint8_t i = 0; i < TASKS; i++)
		at[i].t = i;
	REQUIRE_EQ(mu_host_create(&conf, &host, &fd), 0);
	ring = mu_ring(host, READER, 0);
	memset(&rx, 0, sizeof rx);
	memset(tx, 0, sizeof tx);
}

static struct drv_ring_claim *claim_of(unsigned task)
{
	return &mu_host_channel(host, task, task)->claim[MU_CLAIM_ENGINE].c;
}

static struct drv_ring_record *reserve_record(unsigned task, uint32_t bytes, uint64_t *position)
{
	return drv_ring_reserve_claimed(ring, &tx[task], bytes, position, claim_of(task),
					mu_ring_name(host, ring));
}

static void put_record(unsigned task, uint32_t bytes, uint32_t tag)
{
	uint64_t position;
	struct drv_ring_record *rec = reserve_record(task, bytes, &position);

	REQUIRE(rec);
	rec->tag = tag;
	memset(rec->payload, 0xff, bytes);
	drv_ring_publish(rec, position);
}

static void expect_record(uint32_t tag)
{
	struct drv_ring_record *rec = drv_ring_peek(ring, &rx);

	REQUIRE(rec);
	CHECK_EQ(rec->tag, tag);
	drv_ring_release(ring, &rx, rec);
}

static void dead_is_skipped_when_known(void)
{
	uint64_t position;

	begin_ring();
	put_record(1, 100, 1);
	reserve_record(2, 1000, &position);
	put_record(1, 100, 2);
	expect_record(1);
	CHECK(!drv_ring_peek(ring, &rx));
	CHECK(!mu_ring_skip_dead_claims(host, ring, &rx)); /* it may be slow */
	CHECK(mu_host_mark_task_ended(host, 2, MU_TASK_DIED));
	CHECK(!mu_host_mark_task_ended(host, 2, MU_TASK_LEFT));
	CHECK(mu_ring_skip_dead_claims(host, ring, &rx));
	expect_record(2);
	CHECK(!drv_ring_peek(ring, &rx));
	CHECK(!mu_ring_skip_dead_claims(host, ring, &rx));
	mu_host_unmap(host);
}

static void living_is_waited_for(void)
{
	struct drv_ring_record *rec;
	uint64_t position, other;

	begin_ring();
	rec = reserve_record(1, 10, &position);
	reserve_record(2, 10, &other); /* behind it, and dies */
	mu_host_mark_task_ended(host, 2, MU_TASK_DIED);
	CHECK(!mu_ring_skip_dead_claims(host, ring, &rx));
	rec->tag = 7;
	drv_ring_publish(rec, position);
	expect_record(7);
	CHECK(mu_ring_skip_dead_claims(host, ring, &rx));
	mu_host_unmap(host);
}

/* One that died trying to take what another took has the same claim. */
static void loser_does_not_count(void)
{
	struct drv_ring_record *rec;
	uint64_t position;

	begin_ring();
	rec = reserve_record(1, 10, &position);
	*claim_of(2) = *claim_of(1);
	claim_of(2)->end += 5;
	mu_host_mark_task_ended(host, 2, MU_TASK_DIED);
	CHECK(!mu_ring_skip_dead_claims(host, ring, &rx));
	drv_ring_publish(rec, position);
	rec->tag = 3;
	expect_record(3);
	put_record(1, 10, 4);
	expect_record(4);
	/* The winner dies too: the shorter claim. */
	reserve_record(1, 10, &position);
	*claim_of(2) = *claim_of(1);
	claim_of(2)->end += 5;
	put_record(3, 10, 5);
	mu_host_mark_task_ended(host, 1, MU_TASK_DIED);
	CHECK(mu_ring_skip_dead_claims(host, ring, &rx));
	expect_record(5);
	mu_host_unmap(host);
}

/* What a task that died wrote before may be anything: the reader does not clear lines for ever. */
static void damaged_claims_are_ignored(void)
{
	uint64_t position;

	begin_ring();
	reserve_record(1, 10, &position);
	claim_of(1)->end = UINT64_MAX / 4;
	mu_host_mark_task_ended(host, 1, MU_TASK_DIED);
	CHECK(!mu_ring_skip_dead_claims(host, ring, &rx));
	mu_host_unmap(host);
}

static void agent_is_waited_for(void)
{
	begin_ring();
	drv_ring_reserve_claimed(ring, &tx[0], 10, &(uint64_t){0}, &host->agent_claim,
				 mu_ring_name(host, ring));
	*claim_of(3) = host->agent_claim;
	mu_host_mark_task_ended(host, 3, MU_TASK_DIED);
	CHECK(!mu_ring_skip_dead_claims(host, ring, &rx));
	mu_host_unmap(host);
}

/* Everywhere in the ring, with pads, full and empty; the lines skipped hold what looks like flags.
 */
static void dead_claims_are_skipped_everywhere(void)
{
	uint64_t position;

	begin_ring();
	mu_host_mark_task_ended(host, 2, MU_TASK_DIED);
	for (uint32_t i = 0; i < 3 * MU_RING_LINES; i++) {
		uint32_t bytes = i * 37 % 3000;
		struct drv_ring_record *rec = reserve_record(2, bytes, &position);

		REQUIRE(rec);
		memset(rec->payload, 0xff, bytes);
		put_record(1, i * 11 % 200, i);
		while (!drv_ring_peek(ring, &rx))
			REQUIRE(mu_ring_skip_dead_claims(host, ring, &rx));
		expect_record(i);
	}
	drv_ring_publish_head(ring, &rx);
	CHECK_EQ(ring->head, ring->tail);
	mu_host_unmap(host);
}

/* Full: a producer that gives up has claimed nothing. */
static void who_gives_up_claims_nothing(void)
{
	uint64_t position;
	unsigned n = 0;

	begin_ring();
	while (reserve_record(2, 8000, &position))
		n++;
	CHECK(n > 10);
	CHECK_EQ(claim_of(2)->ring, 0);
	mu_host_unmap(host);
}

T_MAIN(T(dead_is_skipped_when_known), T(living_is_waited_for), T(loser_does_not_count),
       T(agent_is_waited_for), T(damaged_claims_are_ignored), T(dead_claims_are_skipped_everywhere),
       T(who_gives_up_claims_nothing))
