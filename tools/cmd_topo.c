/* SPDX-License-Identifier: BSD-3-Clause */
/* torus topo: draw a torus, and explain the path of a packet and the tree of a class route. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/args.h"
#include "tools/cmd.h"
#include "tools/draw.h"
#include "tools/machine.h"
#include "tools/topo.h"

static const char doc[] =
    "Draw a torus, and explain the path of a packet from node FROM to node TO; without a path, "
    "the tree of the class route and the colours of a rectangle broadcast.\v"
    "A node is its number (A most significant, E least) or its coordinates A,B,C,D,E.\n"
    "\n"
    "Examples:\n"
    "  torus topo 4x4x4x8x2\n"
    "  torus topo 2x2x2x2x2 0 31\n"
    "  torus topo 4x4x4x8x2 0,0,0,0,0 1,0,2,7,1\n"
    "  torus topo 4x4x4x8x2 --rectangle 0,0,0,0,0:3,1,3,3,0";

enum { VALUE_MACHINE, VALUE_HW, VALUE_RECTANGLE };

static const struct argp_option options[] = {
    {"json", ARGS_JSON, 0, 0, "Print all but the picture as JSON", 0},
    {"machine", ARGS_VALUE + VALUE_MACHINE, "FILE", 0, "Machine file, as for torus run", 0},
    {"hw", ARGS_VALUE + VALUE_HW, "NAME=VALUE,...", 0, "Rows of the machine that differ", 0},
    {"rectangle", ARGS_VALUE + VALUE_RECTANGLE, "LOW:HIGH", 0,
     "The tree and the colours of the nodes between these two corners, instead of all nodes", 0},
    ARGS_OPTION_HELP,
    {0},
};

static int parse_node(const struct emu_shape *s, const char *text, uint32_t *node)
{
	if (!draw_parse_node(s, text, node))
		return 0;
	fprintf(stderr,
		"torus topo: no node '%s'; give 0 to %u, or A,B,C,D,E below %ux%ux%ux%ux%u\n", text,
		emu_shape_nodes(s) - 1, s->n[0], s->n[1], s->n[2], s->n[3], s->n[4]);
	return -EINVAL;
}

/* Read two corners with a colon between them. Returns 0, or -EINVAL after printing why. */
static int parse_rectangle(const struct emu_shape *s, const char *text, struct emu_box *box)
{
	const char *colon = strchr(text, ':');
	uint32_t low, high;
	char first[64];

	if (!colon || colon - text >= (ptrdiff_t)sizeof first) {
		fprintf(stderr,
			"torus topo: --rectangle %s: give two nodes, LOW:HIGH, for example "
			"0,0,0,0,0:1,1,0,0,0\n",
			text);
		return -EINVAL;
	}
	memcpy(first, text, (size_t)(colon - text));
	first[colon - text] = 0;
	if (parse_node(s, first, &low) || parse_node(s, colon + 1, &high))
		return -EINVAL;
	emu_node_coord(s, low, &box->low);
	emu_node_coord(s, high, &box->high);
	for (int d = 0; d < EMU_DIMS; d++)
		if (box->low.c[d] > box->high.c[d]) {
			fprintf(stderr,
				"torus topo: --rectangle %s: %c goes from %u to %u; no coordinate "
				"of LOW may exceed that of HIGH\n",
				text, 'A' + d, box->low.c[d], box->high.c[d]);
			return -EINVAL;
		}
	return 0;
}

/* Find what the arguments behind the shape ask for. Returns 0, or -EINVAL after printing why. */
static int find_all(struct topo *t, const struct args *a)
{
	const struct emu_shape *s = &t->route.shape;
	struct emu_box box = {.low = {.t = 0}};
	uint32_t from, to;

	if (a->words == 3) {
		if (parse_node(s, a->word[1], &from) || parse_node(s, a->word[2], &to))
			return -EINVAL;
		topo_find_path(t, from, to);
	}
	if (a->value[VALUE_RECTANGLE]) {
		if (parse_rectangle(s, a->value[VALUE_RECTANGLE], &box))
			return -EINVAL;
		topo_find_tree(t, &box);
	} else if (a->words == 1 && t->nodes > 1) {
		for (int d = 0; d < EMU_DIMS; d++)
			box.high.c[d] = (uint8_t)(s->n[d] - 1);
		topo_find_tree(t, &box);
	}
	return 0;
}

int cmd_topo(int argc, char **argv)
{
	struct args args = {
	    .options = options, .words_doc = "AxBxCxDxE[xT] [FROM TO]", .doc = doc, .words_max = 3};
	struct emu_shape shape;
	struct machine machine;
	struct topo topo;
	char err[512];
	int rc = args_parse(&args, argc, argv);

	if (rc > 0)
		return 0;
	if (rc || (args.words != 1 && args.words != 3)) {
		fprintf(stderr, "torus topo: give a shape, and perhaps two nodes, for example: "
				"torus topo 2x2x2x2x2 0 31\n");
		return CMD_USAGE;
	}
	if (emu_shape_parse(args.word[0], &shape, err, sizeof err)) {
		fprintf(stderr, "torus topo: %s\n", err);
		return CMD_USAGE;
	}
	if (machine_make(&machine, args.value[VALUE_MACHINE], args.value[VALUE_HW], err,
			 sizeof err)) {
		fprintf(stderr, "torus topo: %s\n", err);
		return CMD_USAGE;
	}
	topo_init(&topo, &shape, &machine.m);
	if (find_all(&topo, &args))
		return CMD_USAGE;
	if (args.json)
		topo_print_json(stdout, &topo);
	else if (topo_print_text(stdout, &topo)) {
		fprintf(stderr, "torus topo: no memory to draw %u nodes; --json needs none\n",
			topo.nodes);
		return 1;
	}
	return 0;
}
