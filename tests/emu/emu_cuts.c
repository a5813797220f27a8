/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways around cut links, against a plain search over all choices of directions. */
#include "emu/cuts.h"
#include "emu/faults.h"

#include <errno.h>

#include "drivers/base/rng.h"
#include "tests/harness/t.h"

static uint32_t word_of(const struct emu_shape *s, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(s, node, &x);
	return emu_coord_word(&x);
}

/* Follow hints in the order of dimensions; returns whether the way is whole and ends at `to`. */
static int is_whole(const struct emu_cuts *c, uint32_t from, uint32_t to, unsigned hints)
{
	const struct emu_shape *s = &c->route->shape;

	for (int hops = 0; from != to && hops < 400; hops++) {
		unsigned link = emu_route_next(
		    c->route, emu_route_undone(word_of(s, from), word_of(s, to)), hints);

		if (emu_cuts_is_cut(c, from, link))
			return 0;
		from = emu_node_neighbour(s, from, link);
	}
	return from == to;
}

static int is_reachable(const struct emu_cuts *c, uint32_t from, uint32_t to)
{
	const struct emu_shape *s = &c->route->shape;

	for (unsigned wanted = 0; wanted < 1024; wanted++) {
		unsigned hints;

		if (!emu_route_hints(c->route, word_of(s, from), word_of(s, to), wanted, &hints) &&
		    is_whole(c, from, to, hints))
			return 1;
	}
	return 0;
}

/* Any way of a dynamic packet, at random: does it meet a cut link? */
static int meets_cut(const struct emu_cuts *c, uint32_t from, uint32_t to, unsigned hints,
		     struct drv_rng *rng)
{
	const struct emu_shape *s = &c->route->shape;

	while (from != to) {
		unsigned undone = emu_route_undone(word_of(s, from), word_of(s, to)), link;
		unsigned links = emu_route_candidates(c->route, 1, undone, hints);

		do
			link = (unsigned)drv_rng_below(rng, EMU_LINKS);
		while (!(links >> link & 1));
		if (emu_cuts_is_cut(c, from, link))
			return 1;
		from = emu_node_neighbour(s, from, link);
	}
	return 0;
}

static void every_pair(void)
{
	static const struct emu_shape shapes[] = {
	    {{4, 3, 2, 1, 1}, 1, 0}, {{4, 2, 1, 1, 2}, 1, 1}, {{3, 3, 1, 2, 1}, 1, 0}};
	unsigned around = 0, lost = 0, boxes = 0;

	for (unsigned k = 0; k < 3; k++) {
		struct emu_route route;
		struct emu_cuts c;
		struct drv_rng rng;
		uint32_t nodes = emu_shape_nodes(&shapes[k]);

		drv_rng_seed(&rng, t_seed() + k);
		emu_route_init(&route, &shapes[k]);
		REQUIRE_EQ(emu_cuts_init(&c, &route), 0);
		for (unsigned round = 0; round < 8; round++) {
			emu_cuts_set(&c, (uint32_t)drv_rng_below(&rng, nodes),
				     (unsigned)drv_rng_below(&rng, EMU_LINKS), true);
			for (uint32_t i = 0; i < nodes * nodes; i++) {
				uint32_t from = i / nodes, to = i % nodes;
				unsigned hints, natural;
				int rc = emu_cuts_route(&c, from, to, &hints);

				CHECK_EQ(rc, is_reachable(&c, from, to) ? 0 : -EHOSTUNREACH);
				lost += rc != 0;
				if (rc)
					continue;
				CHECK(is_whole(&c, from, to, hints));
				emu_route_hints(&route, word_of(&shapes[k], from),
						word_of(&shapes[k], to), 0, &natural);
				around += hints != natural;
				if (is_whole(&c, from, to, natural))
					CHECK_EQ(hints, natural);
				boxes += !emu_cuts_in_box(&c, from, to, natural);
				for (int n = 0; n < 4 && !emu_cuts_in_box(&c, from, to, natural);
				     n++)
					CHECK(!meets_cut(&c, from, to, natural, &rng));
			}
		}
		emu_cuts_fini(&c);
	}
	fprintf(stderr, "%u ways around, %u pairs lost, %u clean boxes\n", around, lost, boxes);
	CHECK(around > 20 && boxes > 1000);
}

static void cuts_are_counted(void)
{
	struct emu_shape s = {{4, 1, 1, 1, 1}, 1, 0};
	struct emu_route route;
	struct emu_cuts c;
	unsigned hints;

	emu_route_init(&route, &s);
	REQUIRE_EQ(emu_cuts_init(&c, &route), 0);
	CHECK(!emu_cuts_set(&c, 0, 2, true)); /* no link in a dimension of one */
	CHECK(emu_cuts_set(&c, 0, 1, true));
	CHECK(emu_cuts_set(&c, 1, 0, true)); /* the same link, a second fault */
	CHECK_EQ(c.count, 2);
	CHECK_EQ(emu_cuts_route(&c, 0, 1, &hints), 0);
	CHECK_EQ(hints, 0x200); /* three hops the other way */
	emu_cuts_set(&c, 2, 1, true);
	CHECK_EQ(emu_cuts_route(&c, 0, 1, &hints), -EHOSTUNREACH);
	CHECK_EQ(emu_cuts_route(&c, 0, 3, &hints), 0);
	emu_cuts_set(&c, 0, 1, false);
	CHECK(emu_cuts_is_cut(&c, 0, 1));
	emu_cuts_set(&c, 0, 1, false);
	CHECK(!emu_cuts_is_cut(&c, 1, 0));
	CHECK_EQ(emu_cuts_route(&c, 0, 1, &hints), 0);
	CHECK_EQ(hints, 0x100);
	emu_cuts_fini(&c);
}

static const struct emu_shape small = {{4, 3, 1, 1, 1}, 2, 0};

static int parse_faults(const char *text, struct emu_faults *f)
{
	char err[256] = "";
	int rc = emu_faults_parse(text, &small, 24, 2, 5, f, err, sizeof err);

	CHECK((rc == 0) == !err[0]);
	return rc;
}

static void scripts_are_read(void)
{
	static const char *const wrong[] = {"kill",
					    "kill=24@1",
					    "kill=-1@1",
					    "kill=1",
					    "kill=1@1-2",
					    "kill=link:0:1@1",
					    "cut=all@1",
					    "cut=link:12:0@1",
					    "cut=link:0:10@1",
					    "cut=node:12@1",
					    "cut=plane:5:0@1",
					    "cut=plane:0:4@1",
					    "cut=percent:101@1",
					    "cut=host:2@1",
					    "loss=2:all@1",
					    "loss=0.1@1",
					    "loss=0.1:all@2-1",
					    "loss=0.1:all@-1",
					    "loss=0.1:all@x",
					    "rate=0:all@0",
					    "kill=1@1;kill=2@1",
					    "seed=",
					    "burn=1@2",
					    "hosts=1:2@2"};
	struct emu_faults f;

	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (parse_faults(wrong[i], &f) != -EINVAL)
			CHECK_STR(wrong[i], "refused");
	REQUIRE_EQ(parse_faults("", &f), 0);
	CHECK(!f.count && !f.times);
	emu_faults_free(&f);
	REQUIRE_EQ(parse_faults(
		       "kill=3@2,seed=9,cut=hosts:0:1@1-2,delay=1.5:link:0:1@1,kill=host:1@0", &f),
		   0);
	CHECK_EQ(f.count, 4);
	CHECK_EQ(f.seed, 9);
	CHECK_EQ(f.times, 3);
	CHECK_EQ(emu_faults_passed(&f, 0), 1);
	CHECK_EQ(emu_faults_passed(&f, 999999), 1);
	CHECK_EQ(emu_faults_passed(&f, 1000000), 2);
	CHECK_EQ(emu_faults_passed(&f, UINT64_MAX), 3);
	CHECK(emu_faults_have(&f, EMU_FAULTS_TIMED) && emu_faults_have(&f, EMU_FAULTS_OF_LINKS));
	CHECK(!emu_faults_have(&f, EMU_FAULT_BIT(EMU_FAULT_CUT))); /* of wires alone */
	emu_faults_free(&f);
}

/* Both ends of a link agree about each fault; a fault ends. */
static void links_have_two_ends(void)
{
	static const char *const text =
	    "loss=0.1:link:4:2@0,dup=0.2:node:7@0-5,delay=2:plane:0:3@0,"
	    "rate=4:percent:40@0,reorder=0.05:all@3";
	static const uint64_t time[] = {0, 3000000, 5000000};
	struct emu_link_fault a, b;
	struct emu_faults f;
	unsigned slow = 0;

	REQUIRE_EQ(parse_faults(text, &f), 0);
	for (unsigned t = 0; t < 3; t++)
		for (uint32_t node = 0; node < 12; node++)
			for (unsigned link = 0; link < 4; link++) {
				uint32_t to = emu_node_neighbour(&small, node, link);

				emu_faults_of_link(&f, time[t], node, link, &a);
				emu_faults_of_link(&f, time[t], to, emu_link_opposite(link), &b);
				CHECK(a.errors == b.errors && a.dups == b.dups &&
				      a.delay_ps == b.delay_ps && a.ps_per_byte == b.ps_per_byte);
				CHECK_EQ(a.dups, t < 2 && (node == 7 || to == 7) ? 200000 : 0);
				CHECK(a.errors == (t ? 50000u : 0) ||
				      a.errors == (t ? 150000u : 100000u));
				slow += a.ps_per_byte == 250;
			}
	CHECK(slow > 10 && slow < 130);
	emu_faults_of_link(&f, 0, 4, 2, &a);
	CHECK_EQ(a.errors, 100000);
	emu_faults_of_link(&f, 0, 9, 1, &a);
	CHECK_EQ(a.delay_ps, 2000000);
	emu_faults_free(&f);
}

T_MAIN(T(every_pair), T(cuts_are_counted), T(scripts_are_read), T(links_have_two_ends))
