/* SPDX-License-Identifier: BSD-3-Clause */
/* emu/coord.c: shapes, neighbours, default shapes, mappings and map files. */
#include "emu/coord.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/t.h"

static char err[256];

static struct emu_shape parse_shape(const char *text)
{
	struct emu_shape s;

	REQUIRE_EQ(emu_shape_parse(text, &s, err, sizeof(err)), 0);
	return s;
}

static void check_refused(const char *text, const char *why)
{
	struct emu_shape s;

	err[0] = '\0';
	CHECK_EQ(emu_shape_parse(text, &s, err, sizeof(err)), -EINVAL);
	CHECK(strstr(err, why));
	if (!strstr(err, why))
		fprintf(stderr, "'%s': '%s' lacks '%s'\n", text, err, why);
}

static void shapes_parse_and_print(void)
{
	struct emu_shape s = parse_shape("2x3x4x5x6x7");
	char text[32];

	CHECK(s.n[0] == 2 && s.n[1] == 3 && s.n[2] == 4 && s.n[3] == 5 && s.n[4] == 6 && s.t == 7 &&
	      s.mesh == 0);
	emu_shape_print(&s, text, sizeof(text));
	CHECK_STR(text, "2x3x4x5x6x7");
	CHECK_EQ(parse_shape("1x1x1x1x64").t, 1);
	CHECK_EQ(emu_shape_nodes(&s), 720);
}

static void wrong_shapes_say_why(void)
{
	check_refused("", "expected a number");
	check_refused("2x2x2", "3 extents");
	check_refused("2x2x2x2x2x2x2", "more than six");
	check_refused("2x2x0x2x2", "C is 0");
	check_refused("2x2x2x2x65", "E is 65");
	check_refused("2x2x2x2x2x99999999999999999999", "T is");
	check_refused("2x2x-1x2x2", "expected a number at '-1x2x2'");
	check_refused("2x2x2x2x2x", "expected a number");
	check_refused("2,2,2,2,2", "expected 'x' at ',2,2,2,2'");
	check_refused("2x2x2x2x2 ", "expected 'x'");
}

static void nodes_and_words_go_both_ways(void)
{
	struct emu_shape s = parse_shape("3x2x1x4x2");

	for (uint32_t i = 0; i < emu_shape_nodes(&s); i++) {
		struct emu_coord x = {{0}, 0}, y = {{0}, 0};

		emu_node_coord(&s, i, &x);
		CHECK_EQ(emu_coord_node(&s, &x), i);
		emu_coord_from_word(emu_coord_word(&x), &y);
		CHECK_EQ(memcmp(x.c, y.c, EMU_DIMS), 0);
	}
	struct emu_coord top = {{2, 1, 0, 3, 1}, 0};
	CHECK_EQ(emu_coord_node(&s, &top), 47);
	CHECK_EQ(emu_coord_word(&top), 2u << 24 | 1u << 18 | 3u << 6 | 1u);
}

static void neighbours_are_mutual(void)
{
	struct emu_shape s = parse_shape("3x2x1x4x2");

	for (unsigned mesh = 0; mesh < 32; mesh++) {
		s.mesh = (uint8_t)mesh;
		for (uint32_t i = 0; i < emu_shape_nodes(&s); i++)
			for (unsigned l = 0; l < EMU_LINKS; l++) {
				uint32_t n = emu_node_neighbour(&s, i, l);

				CHECK(n == UINT32_MAX ||
				      emu_node_neighbour(&s, n, emu_link_opposite(l)) == i);
				CHECK(n == UINT32_MAX || emu_hops(&s, i, n) == (n == i ? 0 : 1));
			}
	}
	s.mesh = 0;
	CHECK_EQ(emu_node_neighbour(&s, 0, emu_link(0, 0)), 32); /* A- of 0 wraps to A = 2 */
	CHECK_EQ(emu_node_neighbour(&s, 0, emu_link(2, 1)), 0);  /* C is 1 */
	CHECK_EQ(emu_node_neighbour(&s, 0, emu_link(3, 1)), 2);
	s.mesh = 1;
	CHECK_EQ(emu_node_neighbour(&s, 0, emu_link(0, 0)), UINT32_MAX);
}

static void default_is(uint32_t nodes, const char *text)
{
	struct emu_shape s;
	char got[32];

	emu_shape_default(nodes, 1, &s);
	emu_shape_print(&s, got, sizeof(got));
	CHECK_STR(got, text);
}

static void default_shapes(void)
{
	struct emu_shape s;

	default_is(0, "1x1x1x1x1x1");
	default_is(1, "1x1x1x1x1x1");
	default_is(2, "2x1x1x1x1x1");
	default_is(6, "3x2x1x1x1x1");
	default_is(32, "2x2x2x2x2x1");
	default_is(128, "2x2x4x4x2x1");
	default_is(512, "4x4x4x4x2x1");
	default_is(1024, "4x4x4x8x2x1");
	default_is(49152, "8x12x16x16x2x1");
	default_is(98304, "16x12x16x16x2x1");
	default_is(61, "61x1x1x1x1x1");
	default_is(67, "17x2x2x1x1x1"); /* 68: 67 is a prime above 64 */
	for (uint32_t n = 1; n < 5000; n++) {
		emu_shape_default(n, 64, &s);
		CHECK(emu_shape_nodes(&s) >= n && emu_shape_nodes(&s) < n + 100 && s.t == 64);
	}
	emu_shape_default(UINT32_MAX, 1, &s);
	CHECK_EQ(emu_shape_nodes(&s), 1u << 30);
}

/* Spec 1.3 restated: stride of a letter is the product of the sizes of the letters right of it. */
static void letters_match_the_strides(void)
{
	static const char *const order[] = {"ABCDET", "TEDCBA", "TABCDE", "DACTEB"};
	struct emu_shape s = parse_shape("3x2x1x4x2x3");
	struct emu_coord x[144];
	const uint8_t size[] = {3, 2, 1, 4, 2, 3};

	for (int k = 0; k < 4; k++) {
		REQUIRE_EQ(emu_map_tasks(&s, order[k], 144, x, err, sizeof(err)), 0);
		for (unsigned task = 0; task < 144; task++) {
			unsigned stride = 1;

			for (int i = 5; i >= 0; i--) {
				unsigned l = order[k][i] == 'T' ? 5 : (unsigned)(order[k][i] - 'A');

				CHECK_EQ(task / stride % size[l],
					 l == 5 ? x[task].t : x[task].c[l]);
				stride *= size[l];
			}
		}
	}
	CHECK_EQ(emu_map_tasks(&s, NULL, 4, x, err, sizeof(err)), 0);
	CHECK(x[3].c[4] == 1 && x[3].t == 0);
	CHECK_EQ(emu_map_tasks(&s, "", 4, x, err, sizeof(err)), 0);
	CHECK_EQ(emu_map_tasks(&s, "ABCDET", 145, x, err, sizeof(err)), -ENOSPC);
	CHECK(strstr(err, "145 tasks"));
	CHECK_EQ(emu_map_tasks(&s, "ABCDEE", 4, x, err, sizeof(err)), -ENOENT);
	CHECK(strstr(err, "no permutation of ABCDET"));
}

static int map_file(const char *text, uint32_t count, struct emu_coord *x)
{
	struct emu_shape s = parse_shape("2x2x1x1x1x2");
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/map", t_dir());
	f = fopen(path, "w");
	REQUIRE(f);
	fputs(text, f);
	fclose(f);
	err[0] = '\0';
	return emu_map_tasks(&s, path, count, x, err, sizeof(err));
}

static void map_refused(const char *text, const char *why)
{
	struct emu_coord x[8];

	CHECK_EQ(map_file(text, 2, x), -EINVAL);
	CHECK(strstr(err, why));
	if (!strstr(err, why))
		fprintf(stderr, "'%s' lacks '%s'\n", err, why);
}

static void map_files(void)
{
	struct emu_coord x[8];

	CHECK_EQ(map_file("# all\n1 1 0 0 0 1\n\n  0 1 0 0 0 0  # second\r\n0\t0 0 0 0 0", 3, x),
		 0);
	CHECK(x[0].c[0] == 1 && x[0].c[1] == 1 && x[0].t == 1);
	CHECK(x[1].c[0] == 0 && x[1].c[1] == 1 && x[1].t == 0);
	CHECK_EQ(map_file("1 1 0 0 0 1\n0 0 0 0 0 0\n", 1, x), 0); /* more lines than tasks */
	CHECK_EQ(map_file("#mapping TEDCBA\n", 8, x), 0);
	CHECK(x[1].c[0] == 1 && x[4].t == 1);
	map_refused("0 0 0 0 0 0\n", "places 1 tasks, the job has 2");
	map_refused("0 0 0 0 0 0\n0 0 0 0 0\n", "map:2: expected six numbers");
	map_refused("0 0 0 0 0 0 0\n", "map:1: more than six");
	map_refused("0 0 0 0 0 x\n", "map:1: expected six numbers");
	map_refused("0 0 0 0 0 -1\n", "map:1: expected six numbers");
	map_refused("0 0 0 0 0 1.5\n", "map:1: expected six numbers");
	map_refused("\n0 2 0 0 0 0\n", "map:2: B is 2, the shape has 0 to 1");
	map_refused("0 0 0 0 0 0\n0 0 0 0 0 0\n", "map:2: this place is already taken");
	map_refused("#mapping ABCDEX\n", "found ABCDEX");
	map_refused("#mapping\n", "found nothing");
	map_refused("#mpmd 0-1 ./a\n", "map:1: #mpmd");
	map_refused("", "places 0 tasks");
}

T_MAIN(T(shapes_parse_and_print), T(wrong_shapes_say_why), T(nodes_and_words_go_both_ways),
       T(neighbours_are_mutual), T(default_shapes), T(letters_match_the_strides), T(map_files))
