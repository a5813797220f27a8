/* SPDX-License-Identifier: BSD-3-Clause */
/* emu/part.c: every node has one host; blocks are even; nodes follow their tasks. */
#include "emu/part.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/t.h"

static struct emu_shape make_shape(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e)
{
	struct emu_shape s = {{(uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d, (uint8_t)e}, 1, 0};

	return s;
}

static void blocks_are_even(void)
{
	for (uint32_t hosts = 1; hosts <= 64; hosts++) {
		struct emu_shape s = make_shape(2, 5, 1, 3, 2);
		uint16_t host_of[60];
		uint32_t nodes[60], total = 0, least = 60, most = 0;

		emu_part_blocks(&s, hosts, host_of);
		for (uint32_t h = 0; h < hosts; h++) {
			uint32_t k = emu_part_nodes(&s, host_of, (uint16_t)h, nodes);

			total += k;
			least = k < least ? k : least;
			most = k > most ? k : most;
		}
		CHECK_EQ(total, 60);
		CHECK(most - least <= (hosts <= 5 ? 12 : 1)); /* a slice of B is 12 nodes */
		CHECK(hosts > 60 || least > 0);
	}
}

static void halves_of_a_cube(void)
{
	struct emu_shape s = make_shape(2, 2, 2, 1, 1);
	uint16_t host_of[8];

	emu_part_blocks(&s, 2, host_of);
	for (uint32_t i = 0; i < 8; i++)
		CHECK_EQ(host_of[i], i / 4);
}

static void nodes_follow_their_tasks(void)
{
	struct emu_shape s = make_shape(8, 1, 1, 1, 1);
	struct emu_coord x[3] = {{{0}, 0}, {{4}, 0}, {{0}, 1}};
	uint16_t host[3] = {5, 2, 5}, host_of[8], want[8] = {5, 5, 5, 2, 2, 2, 5, 5};
	char err[128];

	CHECK_EQ(emu_part_by_tasks(&s, 3, x, host, host_of, err, sizeof(err)), 0);
	CHECK(host_of[0] == 5 && host_of[1] == 5 && host_of[7] == 5 && host_of[3] == 2 &&
	      host_of[5] == 2);
	/* 2 and 6 are as near to one host as to the other: the lowest index wins. */
	CHECK_EQ(memcmp(host_of, want, sizeof(want)), 0);
	host[2] = 2;
	CHECK_EQ(emu_part_by_tasks(&s, 3, x, host, host_of, err, sizeof(err)), -EINVAL);
	CHECK(strstr(err, "hosts 5 and 2"));
	x[1].c[0] = 8;
	CHECK_EQ(emu_part_by_tasks(&s, 3, x, host, host_of, err, sizeof(err)), -EINVAL);
	CHECK(strstr(err, "outside the shape"));
	CHECK_EQ(emu_part_by_tasks(&s, 0, x, host, host_of, err, sizeof(err)), -EINVAL);
}

T_MAIN(T(blocks_are_even), T(halves_of_a_cube), T(nodes_follow_their_tasks))
