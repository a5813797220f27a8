/* SPDX-License-Identifier: BSD-3-Clause */
/* The counter of a channel's lanes: it sums lanes that have a producer, and reads no other. */
#define _GNU_SOURCE
#include "tests/harness/t.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mu/segment/host.h"

static int fd = -1;
static struct mu_channel_area *area;

/* A channel in memory that is like the segment's: a page exists once something has touched it. */
static void make_area(void)
{
	fd = memfd_create("lanes", MFD_CLOEXEC);
	REQUIRE(fd >= 0 && !ftruncate(fd, MU_CHANNEL_BYTES));
	area = mmap(NULL, MU_CHANNEL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(area != MAP_FAILED);
}

static void free_area(void)
{
	munmap(area, MU_CHANNEL_BYTES);
	close(fd);
}

static blkcnt_t count_blocks(void)
{
	struct stat st;

	REQUIRE(!fstat(fd, &st));
	return st.st_blocks;
}

static void claim_lane(unsigned i, uint64_t tail)
{
	area->ring.lanes_claimed |= 1u << i;
	area->lane[i].tail = tail;
}

static void unclaimed_lanes_do_not_count(void)
{
	make_area();
	CHECK_EQ(mu_host_lane_units(area), 0);
	claim_lane(0, 5);
	claim_lane(2, 70);
	area->lane[1].tail = 1000;
	area->lane[3].tail = 1000;
	CHECK_EQ(mu_host_lane_units(area), 75);
	claim_lane(MU_LANES - 1, 300);
	CHECK_EQ(mu_host_lane_units(area), 375);
	free_area();
}

static void unclaimed_lanes_stay_without_memory(void)
{
	blkcnt_t before;

	make_area();
	claim_lane(0, 5);
	claim_lane(2, 70);
	before = count_blocks();
	CHECK_EQ(mu_host_lane_units(area), 75);
	CHECK_EQ(count_blocks(), before);
	free_area();
}

T_MAIN(T(unclaimed_lanes_do_not_count), T(unclaimed_lanes_stay_without_memory))
