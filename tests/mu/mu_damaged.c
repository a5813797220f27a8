/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A task writes into the ring and the lanes of another, as a wild pointer may: the other ends with
 * a line that says so, and reads nothing beyond them.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <time.h>

#include "mu/engine/lane.h"
#include "mu/process.h"
#include "mu/transport/transport.h"
#include "tests/harness/mu_job.h"

enum { READER, SICK };

static void (*damage)(struct mu_channel_area *a); /* what the sick task does */
static void owner_and_death(struct mu_channel_area *a);

static void receive_nothing(void *arg, uint32_t source, const unsigned char *soft,
			    const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	CHECK_EQ(bytes, UINT32_MAX); /* no message is sound */
}

static int run_task(const struct mu_job *job)
{
	time_t end = time(NULL) + 20;
	struct mu_channel *ch;

	if (job->task == SICK) {
		damage(mu_host_channel(mu_self.host, READER, 0));
		return 0;
	}
	REQUIRE_EQ(mu_channel_open(0, receive_nothing, NULL, &ch), 0);
	if (damage == owner_and_death) { /* the death is applied before a record is taken */
		mu_channel_allow_dispatch(ch, false);
		while (!mu_death_count() && time(NULL) < end)
			mu_poll_once(ch);
		for (int i = 0; i < 1000; i++)
			mu_poll_once(ch);
		mu_channel_allow_dispatch(ch, true);
	}
	while (time(NULL) < end)
		mu_poll_once(ch);
	return 0; /* it has not noticed */
}

/* The reader ends with status 1, and says why. */
static void ends(void (*how)(struct mu_channel_area *a), const char *part)
{
	struct mu_job_test t = {.shape = {{1, 1, 1, 1, 1}, 2, 0}, .tasks = 2, .body = run_task};
	int own = dup(2), fd = memfd_create("stderr", 0);
	char text[4096] = "";

	damage = how;
	REQUIRE(own >= 0 && fd >= 0);
	fflush(stderr);
	dup2(fd, 2);
	CHECK(mu_job_run(&t) != 0);
	fflush(stderr);
	dup2(own, 2);
	close(own);
	REQUIRE(pread(fd, text, sizeof text - 1, 0) > 0);
	close(fd);
	fputs(text, stderr);
	CHECK(strstr(text, part));
	CHECK(strstr(text, "is damaged: a process of the job has written"));
	CHECK(strstr(text, "a task ended with status 100"));
	CHECK(!strstr(text, "Sanitizer"));
}

/* Put a record into the reader's ring that names `bytes` and `lines`. */
static void put_record(struct mu_channel_area *a, uint32_t bytes, uint32_t tag, uint16_t lines)
{
	struct drv_ring *ring = mu_ring(mu_self.host, READER, 0);
	struct drv_ring_tx tx = {0};
	uint64_t position = 0;
	struct drv_ring_record *rec = drv_ring_reserve(ring, &tx, 0, &position);

	REQUIRE(rec && ring == &a->ring);
	rec->bytes = bytes;
	rec->tag = tag;
	memset(rec->header, 0, sizeof rec->header);
	drv_ring_publish(rec, (position & ~0xffffull) | lines);
}

static void bytes_of_a_record(struct mu_channel_area *a)
{
	put_record(a, UINT32_MAX, SICK, 1);
}

static void lines_of_a_record(struct mu_channel_area *a)
{
	put_record(a, 0, SICK, 0xff00);
}

static void no_lines(struct mu_channel_area *a)
{
	put_record(a, 0, SICK, 0);
}

static void length_of_a_pad(struct mu_channel_area *a)
{
	put_record(a, 1 << 30, SICK, DRV_RING_PAD);
}

static void source_of_a_record(struct mu_channel_area *a)
{
	put_record(a, 0, 1 << 30, 1);
}

static void put_in_lane(struct mu_channel_area *a, uint16_t bytes, uint64_t owner,
			enum drv_lane_kind kind, unsigned units)
{
	struct drv_lane *l = &a->lane[MU_LANES - 1];
	struct drv_lane_record *rec = drv_lane_at(l, 0);

	l->owner = owner;
	rec->bytes = bytes;
	atomic_store_release(&rec->flag, drv_lane_flag(0, kind, units));
	atomic_store_release(&a->ring.lanes_claimed, UINT32_MAX);
}

static void bytes_in_a_lane(struct mu_channel_area *a)
{
	put_in_lane(a, UINT16_MAX, 1, DRV_LANE_DATA, 1);
}

static void units_in_a_lane(struct mu_channel_area *a)
{
	put_in_lane(a, 8, 1, DRV_LANE_DATA, 0);
}

static void pad_in_a_lane(struct mu_channel_area *a)
{
	put_in_lane(a, 8, 1, DRV_LANE_PAD, 0);
}

static void kind_in_a_lane(struct mu_channel_area *a)
{
	put_in_lane(a, 8, 1, (enum drv_lane_kind)77, 3);
}

static void owner_of_a_lane(struct mu_channel_area *a)
{
	put_in_lane(a, 8, 1ull << 50, DRV_LANE_DATA, 1);
}

static void owner_and_death(struct mu_channel_area *a)
{
	owner_of_a_lane(a);
	mu_host_mark_task_ended(mu_self.host, SICK, MU_TASK_DIED);
}

static void damaged_rings_are_noticed(void)
{
	ends(bytes_of_a_record, "the ring");
	ends(lines_of_a_record, "the ring");
	ends(no_lines, "the ring");
	ends(length_of_a_pad, "the ring");
	ends(source_of_a_record, "the ring");
}

static void damaged_lanes_are_noticed(void)
{
	ends(bytes_in_a_lane, "a lane");
	ends(units_in_a_lane, "a lane");
	ends(pad_in_a_lane, "a lane");
	ends(kind_in_a_lane, "a lane");
	ends(owner_of_a_lane, "a lane");
	ends(owner_and_death, "a lane");
}

T_MAIN(T(damaged_rings_are_noticed), T(damaged_lanes_are_noticed))
