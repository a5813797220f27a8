/* SPDX-License-Identifier: BSD-3-Clause */
/* Every pair of a 3x2x1x4x2 torus: one packet at a time, followed at the counters of all links. */
#include "tests/harness/emu_net.h"
#include "tests/harness/t.h"

static struct emu_shape torus = {{3, 2, 1, 4, 2}, 1, 0};

static uint64_t count_sent(const struct emu_router *r, unsigned link)
{
	struct emu_link_stat stat;

	emu_router_link_stat(r, link, &stat);
	return stat.packets;
}

static void count_packets(struct net *n, uint64_t *packets)
{
	for (uint32_t i = 0; i < n->nodes; i++)
		for (unsigned l = 0; l < EMU_LINKS; l++)
			packets[i * EMU_LINKS + l] = count_sent(net_router(n, i), l);
}

/*
 * The links that counted one more packet make a path from a to b of minimal length: from each node
 * of it exactly one link was used, no other link at all.
 */
static int is_minimal_path(struct net *n, uint32_t a, uint32_t b, const uint64_t *before,
			   const uint64_t *after)
{
	unsigned used = 0, walked = 0;
	uint32_t at = a;

	for (uint32_t i = 0; i < n->nodes * EMU_LINKS; i++)
		used += (unsigned)(after[i] - before[i]);
	while (at != b && walked <= used) {
		unsigned l = 0;

		while (l < EMU_LINKS && after[at * EMU_LINKS + l] == before[at * EMU_LINKS + l])
			l++;
		if (l == EMU_LINKS)
			return 0;
		at = emu_node_neighbour(&n->shape, at, l);
		walked++;
	}
	return at == b && walked == used && used == emu_hops(&n->shape, a, b);
}

static void send_all_pairs(unsigned vc, unsigned zone)
{
	struct net *n = net_create(&torus, NULL, 500);
	uint64_t before[48 * EMU_LINKS], after[48 * EMU_LINKS], total = 0, hops = 0;

	count_packets(n, before);
	for (uint32_t a = 0; a < n->nodes; a++)
		for (uint32_t b = 0; b < n->nodes; b++) {
			net_send(n, a, b, vc, zone, 0, 0, 512);
			net_run(n);
			count_packets(n, after);
			CHECK(is_minimal_path(n, a, b, before, after));
			memcpy(before, after, sizeof(before));
			hops += emu_hops(&torus, a, b);
		}
	for (uint32_t i = 0; i < n->nodes * EMU_LINKS; i++)
		total += after[i];
	CHECK_EQ(total, hops);
	CHECK_EQ(n->delivered, 48 * 48);
	CHECK_EQ(n->wrong, 0);
	net_destroy(n);
}

static void deterministic_routes_are_shortest(void)
{
	send_all_pairs(EMU_VC_BUBBLE, 0);
}
static void high_priority(void)
{
	send_all_pairs(EMU_VC_HIGH, 0);
}
static void dynamic_in_every_zone(void)
{
	for (unsigned z = 0; z < EMU_ZONES; z++)
		send_all_pairs(EMU_VC_DYNAMIC, z);
}

/* The tie rule spreads all pairs evenly: both directions of a dimension of even size carry the
 * same. */
static void ties_are_spread(void)
{
	struct net *n = net_create(&torus, NULL, 500);
	uint64_t sum[EMU_LINKS] = {0};

	for (uint32_t a = 0; a < n->nodes; a++)
		for (uint32_t b = 0; b < n->nodes; b++)
			net_send(n, a, b, EMU_VC_BUBBLE, 0, 0, 0, 512);
	net_run(n);
	for (uint32_t i = 0; i < n->nodes; i++)
		for (unsigned l = 0; l < EMU_LINKS; l++)
			sum[l] += count_sent(net_router(n, i), l);
	for (unsigned d = 0; d < EMU_DIMS; d++)
		CHECK_EQ(sum[2 * d], sum[2 * d + 1]);
	CHECK_EQ(sum[4], 0); /* C is 1 */
	net_destroy(n);
}

T_MAIN(T(deterministic_routes_are_shortest), T(high_priority), T(dynamic_in_every_zone),
       T(ties_are_spread))
