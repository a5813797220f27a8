/* SPDX-License-Identifier: BSD-3-Clause */
/* emu/lines.c: each colour reaches every node of its box once, from what has reached it; no link
 * has two colours. */
#include "emu/lines.h"

#include <string.h>

#include "tests/harness/t.h"

enum { NODES = 1024 };

static uint32_t next_in(const struct emu_shape *s, const struct emu_box *box, uint32_t node,
			unsigned link, int *inside)
{
	struct emu_coord x;

	node = emu_node_neighbour(s, node, link);
	if (node == UINT32_MAX) {
		*inside = 0;
		return 0;
	}
	emu_node_coord(s, node, &x);
	for (int d = 0; d < EMU_DIMS; d++)
		*inside &= x.c[d] >= box->low.c[d] && x.c[d] <= box->high.c[d];
	return node;
}

/* One colour from one root: fills used. Returns how many nodes have it, or 0 where something is
 * wrong. */
static uint32_t flood_colour(const struct emu_shape *s, const struct emu_box *box,
			     const struct emu_coord *root, unsigned colour, uint16_t *used)
{
	static uint32_t queue[NODES];
	static uint8_t has[NODES];
	uint32_t head = 0, tail = 0;

	memset(has, 0, sizeof has);
	queue[tail++] = emu_coord_node(s, root);
	has[queue[0]] = 1;
	while (head < tail) {
		struct emu_lines l;
		struct emu_coord x;

		emu_node_coord(s, queue[head], &x);
		emu_lines_at(s, box, root, &x, colour, &l);
		for (unsigned i = 0; i < l.count; i++) {
			uint32_t at = queue[head];

			for (unsigned hop = 0; hop < l.to[i].hops; hop++) {
				uint16_t bit = (uint16_t)(1u << l.to[i].link);
				int inside = 1;

				if (used[at] & bit)
					return 0;
				used[at] |= bit;
				at = next_in(s, box, at, l.to[i].link, &inside);
				if (!inside || has[at])
					return 0;
				has[at] = 1;
				queue[tail++] = at;
			}
		}
		head++;
	}
	return tail;
}

/* All colours from every root of the box. */
static int box_ok(const struct emu_shape *s, const struct emu_box *box, unsigned colours)
{
	static uint16_t used[NODES];
	uint32_t nodes = emu_shape_nodes(s), count = 1;

	for (int d = 0; d < EMU_DIMS; d++)
		count *= box->high.c[d] - box->low.c[d] + 1u;
	if (emu_lines_colours(s, box) != colours)
		return 0;
	for (uint32_t r = 0; r < nodes; r++) {
		struct emu_coord root;
		int inside = 1;

		emu_node_coord(s, r, &root);
		for (int d = 0; d < EMU_DIMS; d++)
			inside &= root.c[d] >= box->low.c[d] && root.c[d] <= box->high.c[d];
		memset(used, 0, sizeof used);
		for (unsigned k = 0; inside && k < colours; k++)
			if (flood_colour(s, box, &root, k, used) != count)
				return 0;
	}
	return 1;
}

static struct emu_shape shape_of(const char *text)
{
	struct emu_shape s;
	char err[256];

	REQUIRE(!emu_shape_parse(text, &s, err, sizeof err));
	return s;
}

static struct emu_box whole_box(const struct emu_shape *s)
{
	struct emu_box b;

	emu_node_coord(s, 0, &b.low);
	emu_node_coord(s, emu_shape_nodes(s) - 1, &b.high);
	return b;
}

static void whole_torus(void)
{
	static const struct {
		const char *text;
		unsigned colours;
	} t[] = {
	    {"2x2x2x2x2", 10}, {"4x3x2x1x3", 8}, {"5x1x1x1x1", 2},
	    {"3x1x4x1x1", 4},  {"1x1x1x1x1", 0},
	};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct emu_shape s = shape_of(t[i].text);
		struct emu_box b = whole_box(&s);

		CHECK(box_ok(&s, &b, t[i].colours));
	}
}

static void lines_cover_meshes(void)
{
	static const struct {
		const char *text;
		unsigned mesh, colours;
	} t[] = {
	    {"3x3x3x1x1", 7, 3},
	    {"4x3x2x2x1", 1, 4},
	    {"2x2x2x2x2", 31, 5},
	    {"4x4x1x1x3", 16, 3},
	};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct emu_shape s = shape_of(t[i].text);
		struct emu_box b = whole_box(&s);

		s.mesh = (uint8_t)t[i].mesh;
		CHECK(box_ok(&s, &b, t[i].colours));
	}
}

/* Every box of a torus. */
static void lines_cover_parts(void)
{
	struct emu_shape s = shape_of("3x4x2x1x3");
	unsigned checked = 0;

	for (uint32_t low = 0; low < emu_shape_nodes(&s); low++)
		for (uint32_t high = low; high < emu_shape_nodes(&s); high++) {
			struct emu_box b;
			unsigned dims = 0, whole = 1;
			int is_box = 1;

			emu_node_coord(&s, low, &b.low);
			emu_node_coord(&s, high, &b.high);
			for (int d = 0; d < EMU_DIMS; d++) {
				is_box &= b.low.c[d] <= b.high.c[d];
				dims += b.high.c[d] > b.low.c[d];
				whole &= b.high.c[d] - b.low.c[d] + 1 == s.n[d];
			}
			if (!is_box)
				continue;
			checked++;
			CHECK(box_ok(&s, &b, whole ? 2 * dims : dims));
		}
	CHECK_EQ(checked, 6 * 10 * 3 * 6);
}

T_MAIN(T(whole_torus), T(lines_cover_meshes), T(lines_cover_parts))
