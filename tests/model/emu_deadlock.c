/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Overload with the smallest credits: every node keeps packets to every other node waiting, on
 * two slots a channel, in all kinds of traffic and timings. As long as anything is under way
 * something must move, and in the end all must have arrived. QT_MINUTE=1: a minute of the
 * node board, three seconds of each other shape.
 */
#include "drivers/base/clock.h"
#include "tests/harness/emu_net.h"
#include "tests/harness/t.h"

static const struct emu_router_conf smallest = {.slots = {2, 2, 2, 2}};
static const struct emu_router_conf no_bubble = {.slots = {2, 2, 2, 2}, .test_no_bubble = 1};

static struct emu_shape make_shape(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e)
{
	struct emu_shape s = {{(uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d, (uint8_t)e}, 1, 0};

	return s;
}

enum { DETERMINISTIC, DYNAMIC, STAYING, MIXED, LONG_WAY, LONG_WAY_DYNAMIC, KINDS };

/* One packet from every node to every other. The long way: all in the plus directions, up to n - 1
 * hops.
 */
static void add_all_to_all(struct net *n, int kind)
{
	const unsigned plus = 0x155, minus = 0x2aa;

	for (uint32_t k = 1; k < n->nodes; k++)
		for (uint32_t a = 0; a < n->nodes; a++) {
			unsigned vc = kind == DYNAMIC || kind == STAYING || kind == LONG_WAY_DYNAMIC
					  ? EMU_VC_DYNAMIC
					  : EMU_VC_BUBBLE;
			unsigned zone = (unsigned)drv_rng_below(&n->rng, EMU_ZONES), hints = 0;
			static const uint8_t queue[EMU_VCS] = {0, 1, 2, 3};

			if (kind == MIXED) {
				vc = (unsigned)drv_rng_below(&n->rng, EMU_VCS);
				hints = drv_rng_below(&n->rng, 4)   ? 0
					: drv_rng_below(&n->rng, 2) ? plus
								    : minus;
			} else if (kind >= LONG_WAY) {
				hints = plus;
			}
			if (n->shape.mesh)
				hints = 0; /* no way leads over an edge */
			n->stay = kind == STAYING || (kind == MIXED && drv_rng_below(&n->rng, 2));
			net_send(n, a, (a + k) % n->nodes, vc, zone, hints, queue[vc], 512);
		}
}

/* Keep the torus overloaded for a time, then drain it. False: stuck, or something came wrong. */
static int overload_torus(struct emu_shape s, const struct emu_router_conf *conf, int kind,
			  uint32_t ps_per_byte, uint64_t seed, uint64_t until_ns,
			  uint64_t *delivered)
{
	struct net *n = net_create(&s, conf, ps_per_byte);
	uint64_t full = (uint64_t)n->nodes * (n->nodes < 20 ? 100 : 4 * n->nodes);
	int ok;

	drv_rng_seed(&n->rng, seed);
	n->jitter_ps = drv_rng_below(&n->rng, 2) ? 200000 : 0;
	do {
		while (n->sent - n->delivered < full)
			add_all_to_all(n, kind);
		for (int i = 0; i < 200 && net_one(n); i++)
			;
	} while (n->events && drv_clock_ns() < until_ns);
	net_run(n);
	ok = n->delivered == n->sent && !n->wrong && !n->disordered;
	if (!ok && !conf->test_no_bubble)
		fprintf(
		    stderr,
		    "kind %d, seed %llu: %llu of %llu delivered, %llu wrong, %llu out of order\n",
		    kind, (unsigned long long)seed, (unsigned long long)n->delivered,
		    (unsigned long long)n->sent, (unsigned long long)n->wrong,
		    (unsigned long long)n->disordered);
	*delivered += n->delivered;
	net_destroy(n);
	return ok;
}

/* All kinds of traffic, with links that take time and links that take none. */
static void never_stuck(struct emu_shape s, unsigned long_seconds)
{
	uint64_t delivered = 0,
		 each = (t_minute() ? long_seconds * 1000000000ull : 750000000u) / (2 * KINDS);

	for (int kind = 0; kind < KINDS; kind++)
		for (uint32_t ps = 0; ps <= 500; ps += 500)
			CHECK(overload_torus(s, &smallest, kind, ps, t_seed() + ps + (unsigned)kind,
					     drv_clock_ns() + each, &delivered));
	fprintf(stderr, "%ux%ux%ux%ux%u: %llu packets delivered\n", s.n[0], s.n[1], s.n[2], s.n[3],
		s.n[4], (unsigned long long)delivered);
}

static void torus_of_twos(void)
{
	never_stuck(make_shape(2, 2, 2, 2, 2), 60);
}
static void torus_of_threes(void)
{
	never_stuck(make_shape(3, 3, 3, 1, 1), 3);
}
static void ring_of_four(void)
{
	never_stuck(make_shape(4, 1, 1, 1, 1), 3);
}
static void four_by_four(void)
{
	never_stuck(make_shape(4, 4, 1, 1, 1), 3);
}
static void ring_of_seven(void)
{
	never_stuck(make_shape(1, 7, 1, 1, 1), 3);
}
static void uneven_tori_are_never_stuck(void)
{
	never_stuck(make_shape(5, 2, 4, 1, 1), 3);
}
static void meshes_are_never_stuck(void)
{
	struct emu_shape s = make_shape(4, 3, 2, 1, 1);

	s.mesh = 1;
	never_stuck(s, 3);
	s.mesh = 7;
	never_stuck(s, 3);
}

/* The test can fail: without the bubble rule the same traffic closes a ring. */
static void stuck_without_the_bubble_rule(void)
{
	static const uint8_t sizes[][2] = {{4, 1}, {4, 4}, {7, 1}};

	for (int i = 0; i < 3; i++) {
		struct emu_shape s = make_shape(sizes[i][0], sizes[i][1], 1, 1, 1);
		uint64_t delivered = 0;
		int ok = 1;

		for (unsigned k = 0; k < 20 && ok; k++)
			ok = overload_torus(s, &no_bubble, LONG_WAY, 0, t_seed() + k,
					    drv_clock_ns() + 100000000, &delivered);
		fprintf(stderr, "%ux%u without bubbles: %s after %llu packets\n", s.n[0], s.n[1],
			ok ? "not stuck" : "stuck", (unsigned long long)delivered);
		CHECK(!ok);
	}
}

T_MAIN(T(torus_of_twos), T(torus_of_threes), T(ring_of_four), T(four_by_four), T(ring_of_seven),
       T(uneven_tori_are_never_stuck), T(meshes_are_never_stuck), T(stuck_without_the_bubble_rule))
