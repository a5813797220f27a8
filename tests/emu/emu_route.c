/* SPDX-License-Identifier: BSD-3-Clause */
/* emu/route.c against a plain search, the cut-offs of the spec, and by hand. */
#include "emu/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/t.h"

#define NODES_MAX 1024

static struct emu_shape make_shape(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
				   unsigned mesh)
{
	struct emu_shape s = {
	    {(uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d, (uint8_t)e}, 1, (uint8_t)mesh};

	return s;
}

static uint32_t node_word(const struct emu_shape *s, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(s, node, &x);
	return emu_coord_word(&x);
}

static void search_distances(const struct emu_shape *s, uint32_t from, uint32_t *distance)
{
	uint32_t queue[NODES_MAX], head = 0, tail = 0;

	memset(distance, 0xff, NODES_MAX * sizeof(*distance));
	distance[from] = 0;
	queue[tail++] = from;
	while (head != tail) {
		uint32_t i = queue[head++];

		for (unsigned l = 0; l < EMU_LINKS; l++) {
			uint32_t k = emu_node_neighbour(s, i, l);

			if (k != UINT32_MAX && distance[k] == UINT32_MAX) {
				distance[k] = distance[i] + 1;
				queue[tail++] = k;
			}
		}
	}
}

/* Deterministic: as long as the search says, dimensions in order. Returns the links walked. */
static void walk_route(const struct emu_route *r, uint32_t from, uint32_t to, unsigned hints,
		       uint32_t distance)
{
	uint32_t at = from, hops = 0;
	int position = -1;

	for (;;) {
		unsigned link = emu_route_next(
		    r, emu_route_undone(node_word(&r->shape, at), node_word(&r->shape, to)), hints);
		int i = 0;

		if (link == EMU_HERE)
			break;
		while (r->order[i] != emu_link_dim(link))
			i++;
		CHECK(i >= position);
		position = i;
		at = emu_node_neighbour(&r->shape, at, link);
		REQUIRE(at != UINT32_MAX);
		REQUIRE(++hops <= 64 * EMU_DIMS);
	}
	CHECK_EQ(at, to);
	CHECK_EQ(hops, distance);
}

/* Dynamic: every link offered, at every node of a random walk, is one nearer; all in the zone's
 * first unfinished set. */
static void wander_route(const struct emu_route *r, unsigned zone, uint32_t from, uint32_t to,
			 unsigned hints)
{
	uint32_t at = from;

	while (at != to) {
		unsigned undone =
		    emu_route_undone(node_word(&r->shape, at), node_word(&r->shape, to));
		unsigned links = emu_route_candidates(r, zone, undone, hints), chosen = 0;
		unsigned left = emu_hops(&r->shape, at, to);

		REQUIRE(links != 0);
		if (zone == 1)
			CHECK_EQ(__builtin_popcount(links), __builtin_popcount(undone));
		if (zone == 2)
			CHECK_EQ(links, 1u << emu_route_next(r, undone, hints));
		for (unsigned l = 0, seen = 0; l < EMU_LINKS; l++)
			if (links >> l & 1) {
				uint32_t k = emu_node_neighbour(&r->shape, at, l);

				REQUIRE(k != UINT32_MAX && emu_hops(&r->shape, k, to) == left - 1);
				if (drv_rng_below(t_rng(), ++seen) == 0)
					chosen = l;
			}
		at = emu_node_neighbour(&r->shape, at, chosen);
	}
}

static void shape_is_minimal(struct emu_shape s)
{
	struct emu_route r;
	uint32_t distance[NODES_MAX], nodes = emu_shape_nodes(&s);

	emu_route_init(&r, &s);
	for (uint32_t a = 0; a < nodes; a++) {
		search_distances(&s, a, distance);
		for (uint32_t b = 0; b < nodes; b++) {
			unsigned hints;

			REQUIRE_EQ(
			    emu_route_hints(&r, node_word(&s, a), node_word(&s, b), 0, &hints), 0);
			CHECK_EQ(emu_hops(&s, a, b), distance[b]);
			walk_route(&r, a, b, hints, distance[b]);
			for (unsigned z = 0; z < EMU_ZONES; z++)
				wander_route(&r, z, a, b, hints);
		}
	}
}

static void every_small_shape_is_minimal(void)
{
	static const uint8_t sizes[][EMU_DIMS] = {
	    {1, 1, 1, 1, 1}, {2, 1, 1, 1, 1}, {3, 1, 1, 1, 1}, {1, 4, 1, 1, 1},
	    {1, 1, 5, 1, 1}, {1, 1, 1, 6, 1}, {1, 1, 1, 1, 7}, {3, 2, 1, 4, 2},
	    {2, 2, 2, 2, 2}, {5, 3, 2, 1, 4}, {4, 4, 3, 1, 2}, {1, 5, 5, 1, 3},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (unsigned mesh = 0; mesh < 32; mesh += i < 7 ? 1 : 5)
			shape_is_minimal(make_shape(sizes[i][0], sizes[i][1], sizes[i][2],
						    sizes[i][3], sizes[i][4], mesh));
}

/* The cut-offs of docs/hardware.md 6.1, literally, for the sizes where they are minimal (even, 1,
 * and meshes).
 */
static int by_cutoffs(unsigned n, int mesh, unsigned sum, int c, int d)
{
	int a = (int)n / 2, b = a > 1 ? a - 1 : 0, top = (int)n - 1;
	int up = sum % 2 ? c + b : c + a, down = sum % 2 ? c - a : c - b;
	int plus = mesh || up > top ? top : up, minus = mesh || down < 0 ? 0 : down;

	return d > c ? (d <= plus) : !(d >= minus);
}

static void hints_follow_the_cutoffs(void)
{
	for (unsigned n = 2; n <= 16; n += 2)
		for (int mesh = 0; mesh < 2; mesh++)
			for (unsigned odd = 0; odd < 2; odd++) {
				struct emu_shape s = make_shape(2, 1, n, 1, 1, mesh ? 4 : 0);
				struct emu_route r;

				emu_route_init(&r, &s);
				for (unsigned c = 0; c < n; c++)
					for (unsigned d = 0; d < n; d++) {
						struct emu_coord x = {{(uint8_t)odd, 0, (uint8_t)c,
								       0, 0},
								      0},
								 y = x;
						unsigned hints, want;

						y.c[2] = (uint8_t)d;
						CHECK_EQ(emu_route_hints(&r, emu_coord_word(&x),
									 emu_coord_word(&y), 0,
									 &hints),
							 0);
						want = by_cutoffs(n, mesh, odd + c, (int)c, (int)d)
							   ? emu_hint_of_link(5)
							   : emu_hint_of_link(4);
						CHECK_EQ(hints, c == d ? 0 : want);
					}
			}
}

static void hint_bits_are_the_datasheets(void)
{
	static const uint8_t bits[EMU_LINKS][2] = {
	    {MUHWI_PACKET_HINT_AM, 0}, {MUHWI_PACKET_HINT_AP, 0}, {MUHWI_PACKET_HINT_BM, 0},
	    {MUHWI_PACKET_HINT_BP, 0}, {MUHWI_PACKET_HINT_CM, 0}, {MUHWI_PACKET_HINT_CP, 0},
	    {MUHWI_PACKET_HINT_DM, 0}, {MUHWI_PACKET_HINT_DP, 0}, {0, MUHWI_PACKET_HINT_EM},
	    {0, MUHWI_PACKET_HINT_EP},
	};

	for (unsigned l = 0; l < EMU_LINKS; l++) {
		MUHWI_Pt2PtNetworkHeader_t h;

		memset(&h, 0, sizeof(h));
		h.Byte2.Byte2 = MUHWI_PACKET_USE_DYNAMIC_ROUTING;
		emu_hints_set(&h, emu_hint_of_link(l));
		CHECK_EQ(h.Hints, bits[l][0]);
		CHECK_EQ(h.Byte2.Byte2, bits[l][1] | MUHWI_PACKET_USE_DYNAMIC_ROUTING);
		CHECK_EQ(emu_hints_get(&h), emu_hint_of_link(l));
		CHECK_EQ(emu_route_link(emu_link_dim(l), emu_hint_of_link(l)), l);
	}
}

static void explicit_hints_are_kept(void)
{
	struct emu_shape s = make_shape(4, 2, 5, 1, 1, 4);
	struct emu_coord a = {{0, 0, 2, 0, 0}, 0}, b = {{1, 1, 2, 0, 0}, 0},
			 c = {{0, 0, 4, 0, 0}, 0}, out = {{0, 2, 0, 0, 0}, 0};
	uint32_t from = emu_coord_word(&a), to = emu_coord_word(&b), up = emu_coord_word(&c);
	unsigned hints, am = emu_hint_of_link(0), ap = emu_hint_of_link(1),
			bm = emu_hint_of_link(2), bp = emu_hint_of_link(3),
			cm = emu_hint_of_link(4), cp = emu_hint_of_link(5),
			em = emu_hint_of_link(8);
	struct emu_route r;

	emu_route_init(&r, &s);
	CHECK(emu_route_hints(&r, from, to, 0, &hints) == 0 && hints == (ap | bp));
	/* The route is the long way if the caller says so. */
	CHECK(emu_route_hints(&r, from, to, am, &hints) == 0 && hints == (am | bp));
	CHECK(emu_route_hints(&r, from, to, bm, &hints) == 0 && hints == (ap | bm));
	/* Nothing is left to go in E. */
	CHECK(emu_route_hints(&r, from, to, em | bm, &hints) == 0 && hints == (ap | bm));
	CHECK_EQ(emu_route_hints(&r, from, to, am | ap, &hints), -EINVAL);
	CHECK_EQ(emu_route_hints(&r, from, from, cm | cp, &hints), -EINVAL);
	CHECK(emu_route_hints(&r, from, up, cp, &hints) == 0 && hints == cp);
	CHECK_EQ(emu_route_hints(&r, from, up, cm, &hints), -EINVAL); /* over the mesh's edge */
	CHECK_EQ(emu_route_hints(&r, from, emu_coord_word(&out), 0, &hints), -EINVAL);
	CHECK_EQ(emu_route_hints(&r, from, 63u << 24, 0, &hints), -EINVAL);
}

static void order_is(struct emu_shape s, const char *want)
{
	struct emu_route r;

	emu_route_init(&r, &s);
	for (int i = 0; i < EMU_DIMS; i++)
		CHECK_EQ("ABCDE"[r.order[i]], want[i]);
}

static void longest_dimension_first(void)
{
	order_is(make_shape(2, 2, 2, 2, 2, 0), "ABCDE");
	order_is(make_shape(4, 4, 4, 8, 2, 0), "DBCAE"); /* an exchange sort: A and D swap places */
	order_is(make_shape(4, 4, 4, 4, 2, 0), "ABCDE");
	order_is(make_shape(2, 3, 4, 5, 6, 0), "EDCBA"); /* effective 1 1 2 2 3 */
	/* A mesh of 4 comes before a torus of 4 (effective length 2). */
	order_is(make_shape(4, 1, 1, 4, 1, 8), "DACBE");
	/* Of equal effective lengths, the mesh comes first. */
	order_is(make_shape(4, 1, 1, 2, 1, 8), "DACBE");
}

static void zone_masks(void)
{
	struct emu_shape s = make_shape(4, 4, 8, 2, 2, 0);
	struct emu_route r;

	emu_route_init(&r, &s);
	order_is(s, "CBADE");
	CHECK(r.zone[0][0] == 4 && r.zone[0][1] == 3 && r.zone[0][2] == 24 && r.zone[0][3] == 0);
	CHECK(r.zone[1][0] == 31 && r.zone[1][1] == 0);
	for (int i = 0; i < EMU_DIMS; i++) {
		CHECK_EQ(r.zone[2][i], 1u << r.order[i]);
		CHECK_EQ(r.zone[3][i], 1u << r.order[i] | 16);
	}
	CHECK_EQ(r.rings, 7);
}

T_MAIN(T(every_small_shape_is_minimal), T(hints_follow_the_cutoffs),
       T(hint_bits_are_the_datasheets), T(explicit_hints_are_kept), T(longest_dimension_first),
       T(zone_masks))
