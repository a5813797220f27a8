/* SPDX-License-Identifier: BSD-3-Clause */
/* emu/class.c, emu/combine.c: what hardware refuses, trees over boxes and over any nodes, the
 * operations. */
#include "emu/class.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/combine.h"
#include "emu/hw_packet.h"
#include "tests/harness/t.h"

/* ---- Refusals, docs/hardware.md 8.1 ---- */

static int check_class(uint16_t input, uint16_t output)
{
	ClassRoute_t table[EMU_CLASSES] = {{0, 0}}, c = {input, output};

	return emu_class_check(table, 3, &c, 0);
}

static void refuses_each_error(void)
{
	ClassRoute_t table[EMU_CLASSES] = {{0, 0}};
	ClassRoute_t system = {
	    BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_LINK_AP | BGQ_CLASS_INPUT_VC_SYSTEM, 0};
	ClassRoute_t user = {BGQ_CLASS_INPUT_LINK_LOCAL, BGQ_CLASS_LINK_AP};
	ClassRoute_t sub = {BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_INPUT_VC_SUBCOMM,
			    BGQ_CLASS_LINK_AP};
	ClassRoute_t pass = {BGQ_CLASS_LINK_AM, BGQ_CLASS_LINK_AP};

	CHECK_EQ(check_class(0, 0), EMU_CLASS_OK);
	CHECK_EQ(check_class(BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_LINK_BM, BGQ_CLASS_LINK_AP),
		 EMU_CLASS_OK);
	CHECK_EQ(check_class(BGQ_CLASS_INPUT_LINK_LOCAL, BGQ_CLASS_LINK_AP | BGQ_CLASS_LINK_EM),
		 EMU_CLASS_OUTPUTS);
	CHECK_EQ(check_class(BGQ_CLASS_INPUT_LINK_LOCAL, BGQ_CLASS_INPUT_LINK_LOCAL),
		 EMU_CLASS_LOCAL_OUTPUT);
	CHECK_EQ(check_class(BGQ_CLASS_LINK_AM, BGQ_CLASS_LINK_AP), EMU_CLASS_NO_LOCAL);
	CHECK_EQ(emu_class_check(table, 3, &pass, 1), EMU_CLASS_OK);
	CHECK_EQ(check_class(BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_LINK_AP, BGQ_CLASS_LINK_AP),
		 EMU_CLASS_BOTH);
	table[15] = system;
	CHECK_EQ(emu_class_check(table, 3, &user, 0), EMU_CLASS_SHARED);
	CHECK_EQ(emu_class_check(table, 3, &sub, 0), EMU_CLASS_OK);
	CHECK_EQ(emu_class_check(table, 15, &user, 0), EMU_CLASS_OK); /* in the other's place */
}

static void refuses_each_gi_error(void)
{
	ClassRoute_t table[EMU_CLASSES] = {{0, 0}};
	ClassRoute_t ok = {BGQ_CLASS_LINK_AM, BGQ_CLASS_LINK_AP}; /* local is not asked for */
	ClassRoute_t two = {1, BGQ_CLASS_LINK_AP | BGQ_CLASS_LINK_AM}, local = {0, 1};
	ClassRoute_t both = {BGQ_CLASS_LINK_AP, BGQ_CLASS_LINK_AP};

	CHECK_EQ(emu_class_check_gi(table, 2, &ok), EMU_CLASS_OK);
	CHECK_EQ(emu_class_check_gi(table, 2, &two), EMU_CLASS_OUTPUTS);
	CHECK_EQ(emu_class_check_gi(table, 2, &local), EMU_CLASS_LOCAL_OUTPUT);
	CHECK_EQ(emu_class_check_gi(table, 2, &both), EMU_CLASS_GI_BOTH);
	table[10].input = BGQ_CLASS_LINK_AP;
	CHECK_EQ(emu_class_check_gi(table, 2, &ok), EMU_CLASS_GI_PAIR);
	CHECK_EQ(emu_class_check_gi(table, 3, &ok), EMU_CLASS_OK);
}

/* ---- Trees ---- */

/* One root; what one node calls its parent calls it its child; all hang together. Returns the
 * depth, -1. */
static int tree_ok(const struct emu_shape *s, const uint32_t *nodes, const ClassRoute_t *c,
		   uint32_t count)
{
	unsigned roots = 0;
	int depth = 0;

	for (uint32_t i = 0; i < count; i++) {
		unsigned down = emu_class_links(c[i].input), up = emu_class_links(c[i].output);
		uint32_t at = i;
		int steps = 0;

		roots += !up;
		if (up & (up - 1) || up & down)
			return -1;
		for (; down; down &= down - 1) {
			unsigned l = (unsigned)__builtin_ctz(down);
			uint32_t child = emu_node_neighbour(s, nodes[i], l), k = 0;

			while (k < count && nodes[k] != child)
				k++;
			if (k == count || c[k].output != emu_class_bit(emu_link_opposite(l)))
				return -1;
		}
		while (c[at].output) {
			unsigned l = (unsigned)__builtin_ctz(emu_class_links(c[at].output));
			uint32_t parent = emu_node_neighbour(s, nodes[at], l), k = 0;

			while (k < count && nodes[k] != parent)
				k++;
			if (k == count || !(c[k].input & emu_class_bit(emu_link_opposite(l))) ||
			    ++steps > 400)
				return -1;
			at = k;
		}
		depth = steps > depth ? steps : depth;
	}
	return roots == 1 ? depth : -1;
}

static void boxes_of_every_size(void)
{
	static const struct emu_shape shapes[] = {{{4, 3, 2, 1, 2}, 1, 0}, {{5, 1, 4, 3, 2}, 1, 0}};
	static uint32_t nodes[512];
	static ClassRoute_t c[512];
	unsigned boxes = 0;

	for (unsigned k = 0; k < 2; k++) {
		const struct emu_shape *s = &shapes[k];

		for (unsigned n = 0; n < 400; n++) {
			struct emu_box box = {{{0}, 0}, {{0}, 0}}, found;
			int order[5] = {0, 1, 2, 3, 4}, first, far = 0;
			struct emu_coord root, x;
			uint32_t count = 0;

			for (int d = 0; d < EMU_DIMS; d++) {
				unsigned a = (unsigned)drv_rng_below(t_rng(), s->n[d]);
				unsigned b = (unsigned)drv_rng_below(t_rng(), s->n[d]);
				int j = d + (int)drv_rng_below(t_rng(), (uint64_t)(EMU_DIMS - d)),
				    swap = order[d];

				box.low.c[d] = (uint8_t)(a < b ? a : b);
				box.high.c[d] = (uint8_t)(a < b ? b : a);
				order[d] = order[j];
				order[j] = swap;
			}
			emu_class_root(&box, &root, &first);
			if (n & 1)
				first = (int)drv_rng_below(t_rng(), 5);
			if (n & 2)
				for (int d = 0; d < EMU_DIMS; d++) /* clipped */
					root.c[d] = (uint8_t)drv_rng_below(t_rng(), s->n[d]);
			for (uint32_t i = 0; i < emu_shape_nodes(s); i++) {
				int inside = 1;

				emu_node_coord(s, i, &x);
				for (int d = 0; d < EMU_DIMS; d++)
					inside &= x.c[d] >= box.low.c[d] && x.c[d] <= box.high.c[d];
				if (!inside)
					continue;
				emu_class_build(&box, &root, &x, n & 4 ? order : NULL, first,
						&c[count]);
				nodes[count++] = i;
			}
			for (int d = 0; d < EMU_DIMS; d++) {
				int r = root.c[d] < box.low.c[d]    ? box.low.c[d]
					: root.c[d] > box.high.c[d] ? box.high.c[d]
								    : root.c[d];
				int a = r - box.low.c[d], b = box.high.c[d] - r;

				far += a > b ? a : b;
			}
			CHECK_EQ(tree_ok(s, nodes, c, count), far);
			CHECK(emu_class_is_box(s, nodes, count, &found));
			CHECK(!memcmp(found.low.c, box.low.c, 5) &&
			      !memcmp(found.high.c, box.high.c, 5));
			boxes++;
		}
	}
	CHECK_EQ(boxes, 800);
}

/* Any nodes that hang together: a walk by chance; with one far away they do not. */
static void spans_what_hangs_together(void)
{
	static const struct emu_shape s = {{5, 4, 3, 2, 2}, 1, 2};
	static uint32_t nodes[240];
	static ClassRoute_t c[240];
	unsigned trees = 0, apart = 0;

	for (unsigned n = 0; n < 200; n++) {
		uint32_t steps = 1 + (uint32_t)drv_rng_below(t_rng(), 60), count = 0;
		uint32_t at = (uint32_t)drv_rng_below(t_rng(), emu_shape_nodes(&s)), to;
		uint8_t in[240] = {0};
		unsigned depth = 0, same = 0;
		int rc = 0;

		while (steps--) {
			in[at] = 1;
			to =
			    emu_node_neighbour(&s, at, (unsigned)drv_rng_below(t_rng(), EMU_LINKS));
			at = to == UINT32_MAX ? at : to;
		}
		if (n % 4 == 0)
			in[drv_rng_below(t_rng(), 240)] = 1;
		for (uint32_t i = 0; i < 240; i++)
			if (in[i])
				nodes[count++] = i;
		for (uint32_t i = 0; i < count; i++) {
			unsigned d = 0;

			rc = emu_class_span(&s, nodes, count, nodes[i], &c[i], &d);
			if (i && rc == 0)
				same += d != depth;
			depth = d;
		}
		if (rc == -ENOTCONN) {
			apart++;
			CHECK_EQ(n % 4, 0);
			continue;
		}
		CHECK_EQ(rc, 0);
		CHECK_EQ(same, 0);
		CHECK_EQ(tree_ok(&s, nodes, c, count), (int)depth);
		trees++;
	}
	CHECK(trees > 140 && apart > 5);
	nodes[0] = 7;
	CHECK_EQ(emu_class_span(&s, nodes, 1, 8, &c[0], &(unsigned){0}), -EINVAL);
}

/* ---- Operations ---- */

static const unsigned ops[] = {0x00, 0x10, 0x20, 0x40, 0x50, 0x60,
			       0x80, 0x90, 0xa0, 0xc0, 0xd0, 0xe0};

static void twelve_operations(void)
{
	unsigned valid = 0;

	for (unsigned op = 0; op < 256; op++)
		valid += (unsigned)emu_combine_is_valid(op, 1, 64);
	CHECK_EQ(valid, 12);
	CHECK(!emu_combine_is_valid(0x40, 3, 40)); /* 32-byte words */
	CHECK(emu_combine_is_valid(0x40, 3, 64));
	CHECK(emu_combine_is_valid(0x10, 0, 3));   /* words do not matter to bits */
	CHECK(!emu_combine_is_valid(0xc0, 0, 64)); /* no single precision */
	CHECK(!emu_combine_is_valid(0xc0, 2, 64));
	CHECK(!emu_combine_is_valid(0x00, 8, 512));
	CHECK(!emu_combine_is_valid(0x00, 1, 513));
}

/* The integers as sign and 128-bit magnitude would be one way; here: a bit at a time. */
static int word_bit(const unsigned char *w, unsigned i)
{
	return w[i / 8] >> (i % 8) & 1;
}

static int word_below(const unsigned char *a, const unsigned char *b, unsigned bits, int is_signed)
{
	for (unsigned i = bits; i--;) {
		int x = word_bit(a, i), y = word_bit(b, i);

		if (x != y)
			return i == bits - 1 && is_signed ? x > y : x < y;
	}
	return 0;
}

static unsigned word_add(unsigned char *a, const unsigned char *b, unsigned bits, int is_signed)
{
	int carry = 0, before = 0;

	for (unsigned i = 0; i < bits; i++) {
		int sum = word_bit(a, i) + word_bit(b, i) + carry;

		a[i / 8] =
		    (unsigned char)((a[i / 8] & ~(1u << (i % 8))) | (unsigned)(sum & 1) << (i % 8));
		before = carry;
		carry = sum >> 1;
	}
	return (is_signed ? carry != before : carry) ? EMU_COMBINE_OVERFLOW : 0;
}

static unsigned model_operation(unsigned op, unsigned word, unsigned char *t,
				const unsigned char *s, uint32_t bytes)
{
	unsigned size = 4u << word, flags = 0;
	int is_signed = op >= 0x80;

	for (uint32_t i = 0; op < 0x30 && i < bytes; i++)
		t[i] = (unsigned char)(op == 0      ? t[i] & s[i]
				       : op == 0x10 ? t[i] | s[i]
						    : t[i] ^ s[i]);
	for (uint32_t i = 0; op >= 0x40 && i < bytes; i += size) {
		int below = word_below(s + i, t + i, size * 8, is_signed);

		if ((op & 0x30) == 0)
			flags |= word_add(t + i, s + i, size * 8, is_signed);
		else if ((op & 0x30) == 0x10 ? below
					     : word_below(t + i, s + i, size * 8, is_signed))
			memcpy(t + i, s + i, size);
	}
	return flags;
}

static void integers_agree_with_a_bit_at_a_time(void)
{
	unsigned char a[512], b[512], c[512];
	unsigned overflows = 0;

	for (unsigned n = 0; n < 2000; n++) {
		unsigned op = ops[n % 9], word = (unsigned)drv_rng_below(t_rng(), 8), flags;
		uint32_t bytes =
		    (4u << word) * (1 + (uint32_t)drv_rng_below(t_rng(), 512u / (4u << word)));

		for (unsigned i = 0; i < 512; i++) {
			a[i] = (unsigned char)drv_rng_below(t_rng(), n % 2 ? 256 : 2);
			b[i] = (unsigned char)drv_rng_below(t_rng(), n % 2 ? 256 : 2);
		}
		memcpy(c, a, 512);
		flags = emu_combine(op, word, a, b, bytes);
		overflows += flags != 0;
		CHECK_EQ(flags, model_operation(op, word, c, b, bytes));
		CHECK(!memcmp(a, c, 512)); /* what lies behind, too */
	}
	CHECK(overflows > 50);
}

static double combine_doubles(unsigned op, double a, double b, unsigned *flags)
{
	*flags = emu_combine(op, 1, &a, &b, 8);
	return a;
}

static void doubles_and_their_nans(void)
{
	const uint64_t nan = EMU_NAN;
	unsigned flags;
	double x, odd;
	uint64_t bits = 0xfff0000000000001ull;

	memcpy(&odd, &bits, 8);
	CHECK(combine_doubles(0xc0, 1.5, 2.25, &flags) == 3.75);
	CHECK(combine_doubles(0xd0, -1.5, 2.25, &flags) == -1.5);
	CHECK(combine_doubles(0xe0, -1.5, 2.25, &flags) == 2.25);
	CHECK_EQ(flags, 0);
	for (unsigned op = 0xc0; op <= 0xe0; op += 0x10) {
		x = combine_doubles(op, 1.0, odd, &flags);
		CHECK(!memcmp(&x, &nan, 8) && flags == EMU_COMBINE_NAN);
		x = combine_doubles(op, odd, 1.0, &flags);
		CHECK(!memcmp(&x, &nan, 8) && flags == EMU_COMBINE_NAN);
	}
	x = combine_doubles(0xc0, INFINITY, -INFINITY, &flags);
	CHECK(!memcmp(&x, &nan, 8) && flags == EMU_COMBINE_NAN);
	/* A broadcast: bits as they are with an integer operation, canonical with a floating one.
	 */
	x = odd;
	CHECK_EQ(emu_combine_alone(0x10, &x, 8), 0);
	CHECK(!memcmp(&x, &odd, 8));
	CHECK_EQ(emu_combine_alone(0xc0, &x, 8), EMU_COMBINE_NAN);
	CHECK(!memcmp(&x, &nan, 8));
}

T_MAIN(T(refuses_each_error), T(refuses_each_gi_error), T(boxes_of_every_size),
       T(spans_what_hangs_together), T(twelve_operations), T(integers_agree_with_a_bit_at_a_time),
       T(doubles_and_their_nans))
