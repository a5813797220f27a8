/* SPDX-License-Identifier: BSD-3-Clause */
/* torus topo: draw a torus, and explain the path of a packet. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/assert.h"
#include "emu/class.h"
#include "emu/coord.h"
#include "emu/lines.h"
#include "emu/machine.h"
#include "emu/route.h"
#include "mu/channel/routing.h"
#include "tools/args.h"
#include "tools/cmd.h"
#include "tools/draw.h"
#include "tools/machine.h"

static const char doc[] =
    "Draw a torus, and explain the path of a packet from node FROM to node TO.\v"
    "A node is its number (A most significant, E least) or its coordinates A,B,C,D,E.\n"
    "\n"
    "Examples:\n"
    "  torus topo 4x4x4x8x2\n"
    "  torus topo 2x2x2x2x2 0 31\n"
    "  torus topo 4x4x4x8x2 0,0,0,0,0 1,0,2,7,1";

enum { VALUE_MACHINE, VALUE_HW };

static const struct argp_option options[] = {
    {"json", ARGS_JSON, 0, 0, "Print facts and path as JSON", 0},
    {"machine", ARGS_VALUE + VALUE_MACHINE, "FILE", 0, "Machine file, as for torus run", 0},
    {"hw", ARGS_VALUE + VALUE_HW, "NAME=VALUE,...", 0, "Rows of the machine that differ", 0},
    ARGS_OPTION_HELP,
    {0},
};

static int node_parse(const struct emu_shape *s, const char *text, uint32_t *node)
{
	if (!draw_parse_node(s, text, node))
		return 0;
	fprintf(stderr,
		"torus topo: no node '%s'; give 0 to %u, or A,B,C,D,E below %ux%ux%ux%ux%u\n", text,
		emu_shape_nodes(s) - 1, s->n[0], s->n[1], s->n[2], s->n[3], s->n[4]);
	return -EINVAL;
}

static uint32_t word_of(const struct emu_shape *s, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(s, node, &x);
	return emu_coord_word(&x);
}

/* ---- the path ---- */

#define HOPS_MAX (EMU_DIMS * 64)

struct path {
	uint32_t from, to;
	unsigned hints, hops;
	unsigned link[HOPS_MAX];
	uint32_t node[HOPS_MAX + 1];
};

static void path_find(const struct emu_route *r, struct path *p)
{
	const struct emu_shape *s = &r->shape;
	uint32_t to = word_of(s, p->to);

	emu_route_hints(r, word_of(s, p->from), to, 0, &p->hints);
	p->hops = 0;
	p->node[0] = p->from;
	while (p->hops < HOPS_MAX) {
		unsigned link =
		    emu_route_next(r, emu_route_undone(word_of(s, p->node[p->hops]), to), p->hints);

		if (link == EMU_HERE)
			break;
		p->link[p->hops] = link;
		p->node[p->hops + 1] = emu_node_neighbour(s, p->node[p->hops], link);
		p->hops++;
	}
}

/* Print why the packet takes this direction of dimension d. */
static void explain_dimension(const struct emu_shape *s, unsigned d, const struct path *p)
{
	struct emu_coord a, b;
	unsigned n = s->n[d], up, sum = 0;
	int plus = (int)(p->hints >> (8 - 2 * d) & 1);

	emu_node_coord(s, p->from, &a);
	emu_node_coord(s, p->to, &b);
	if (a.c[d] == b.c[d])
		return;
	for (int k = 0; k < EMU_DIMS; k++)
		sum += a.c[k];
	up = (b.c[d] + n - a.c[d]) % n;
	printf("  %c%c  from %u to %u of %u: ", 'A' + (int)d, plus ? '+' : '-', a.c[d], b.c[d], n);
	if (s->mesh >> d & 1)
		printf("no wrap in this dimension\n");
	else if (2 * up == n)
		printf("%u hop%s either way; the source's coordinates sum to %u, %s, so %s\n", up,
		       up > 1 ? "s" : "", sum, sum & 1 ? "odd" : "even", plus ? "plus" : "minus");
	else
		printf("%u hop%s, the other way %u\n", plus ? up : n - up,
		       (plus ? up : n - up) > 1 ? "s" : "", plus ? n - up : up);
}

static void path_explain(const struct emu_route *r, const struct path *p)
{
	char from[48], to[48];

	printf("\npacket from node %u %s to node %u %s: %u hops\n", p->from,
	       draw_node(&r->shape, p->from, from, sizeof from), p->to,
	       draw_node(&r->shape, p->to, to, sizeof to), p->hops);
	if (!p->hops)
		printf(
		    "  it stays in its node: the messaging unit delivers it to itself and uses no "
		    "link\n");
	for (int i = 0; i < EMU_DIMS; i++)
		explain_dimension(&r->shape, r->order[i], p);
	if (p->hops)
		printf("  order of dimensions (longest first): %c %c %c %c %c\n", 'A' + r->order[0],
		       'A' + r->order[1], 'A' + r->order[2], 'A' + r->order[3], 'A' + r->order[4]);
	for (unsigned i = 0; i < p->hops; i++)
		printf("  hop %2u  %c%c  %s -> %s\n", i + 1, 'A' + (int)emu_link_dim(p->link[i]),
		       emu_link_plus(p->link[i]) ? '+' : '-',
		       draw_node(&r->shape, p->node[i], from, sizeof from),
		       draw_node(&r->shape, p->node[i + 1], to, sizeof to));
}

/* Print the links of a mask: "A+ C-". */
static void print_links(unsigned links)
{
	for (; links; links &= links - 1) {
		unsigned l = (unsigned)__builtin_ctz(links);

		printf(" %c%c", 'A' + (int)emu_link_dim(l), emu_link_plus(l) ? '+' : '-');
	}
}

static void print_sets(const uint8_t *sets)
{
	for (int k = 0; k < EMU_DIMS && sets[k]; k++) {
		printf("%s", k ? ", then " : "");
		for (int d = 0; d < EMU_DIMS; d++)
			if (sets[k] >> d & 1)
				putchar('A' + d);
	}
}

/* Number of ways along which a dynamic packet may go: orders of its hops that the zone's sets
 * allow. */
static double count_ways(const struct emu_route *r, unsigned zone, const unsigned *hops)
{
	unsigned done = 0;
	double ways = 1;

	for (int k = 0; k < EMU_DIMS && r->zone[zone][k]; k++) {
		unsigned sum = 0, set = r->zone[zone][k] & ~done;

		/* Hops of a set may be mixed in any order: a multinomial coefficient. */
		for (int d = 0; d < EMU_DIMS; d++)
			for (unsigned i = 1; set >> d & 1 && i <= hops[d]; i++)
				ways = ways * ++sum / i;
		done |= set;
	}
	return ways;
}

/* Print what dynamic routing may choose at the first node, zone by zone, and what escapes take. */
static void path_explain_dynamic(const struct emu_route *r, const struct path *p,
				 const struct mu_routing *rule)
{
	uint32_t here = word_of(&r->shape, p->from), to = word_of(&r->shape, p->to);
	unsigned undone = emu_route_undone(here, to), hops[EMU_DIMS] = {0};
	struct emu_coord a = {.t = 0}, b = {.t = 0};

	emu_node_coord(&r->shape, p->from, &a);
	emu_node_coord(&r->shape, p->to, &b);
	for (unsigned i = 0; i < p->hops; i++)
		hops[emu_link_dim(p->link[i])]++;
	printf(
	    "  dynamic packets: any link below that has room for a packet, the one with most room "
	    "first; else the bubble channel over");
	print_links(1u << p->link[0]);
	printf("\n");
	for (unsigned z = 0; z < EMU_ZONES; z++) {
		printf("    zone %u  finishes ", z);
		print_sets(r->zone[z]);
		printf("; first hop");
		print_links(emu_route_candidates(r, z, undone, p->hints));
		printf("; %.0f way%s\n", count_ways(r, z, hops),
		       count_ways(r, z, hops) > 1 ? "s" : "");
	}
	for (uint64_t bytes = 65536; bytes <= 65537; bytes++) {
		unsigned choice = mu_routing_choose(rule, &a, &b, bytes);

		if (choice == MU_ROUTE_DETERMINISTIC)
			printf("  a rendezvous of %llu bytes is routed deterministically\n",
			       (unsigned long long)bytes);
		else
			printf("  a rendezvous of %llu bytes is routed dynamically in zone %u "
			       "(flexibility %.2f, %.2f to %.2f: zone %u)\n",
			       (unsigned long long)bytes, choice,
			       mu_routing_flexibility(&r->shape, &a, &b), rule->low, rule->high,
			       rule->in);
	}
}

/*
 * Print when the head of a packet reaches each node, and when a packet of 512 bytes is in memory.
 */
static void path_explain_time(const struct path *p, const struct emu_timing *t)
{
	double ns = t->mu_inject_ps / 1e3, wire = 552.0 * t->link_ps_per_byte / 1e3;

	printf("  time: 0 tail of the FIFO moves, %.0f ns head in the first router", ns);
	ns += p->hops * (t->hop_ps / 1e3);
	printf(", %.0f ns head at the target after %u hops of %.0f ns, %.0f ns last of 512 bytes",
	       ns, p->hops, t->hop_ps / 1e3, ns + wire);
	printf(", %.0f ns in memory\n", ns + wire + t->mu_receive_ps / 1e3);
}

static void print_tree(const struct emu_shape *s)
{
	struct emu_box box = {.low = {.t = 0}};
	struct emu_coord root, x = {.t = 0};
	unsigned depth = 0, first_depth;
	uint32_t n = emu_shape_nodes(s);
	ClassRoute_t c;
	char text[48];
	int first;

	for (int d = 0; d < EMU_DIMS; d++)
		box.high.c[d] = (uint8_t)(s->n[d] - 1);
	emu_class_root(&box, &root, &first);
	for (uint32_t i = 0; i < n; i++) {
		emu_node_coord(s, i, &x);
		first_depth = 0;
		for (int d = 0; d < EMU_DIMS; d++)
			first_depth += (unsigned)abs(x.c[d] - root.c[d]);
		depth = first_depth > depth ? first_depth : depth;
	}
	emu_class_build(&box, &root, &root, NULL, first, &c);
	printf("\nclass route of all nodes: root %s, depth %u, children of the root over",
	       draw_node(s, emu_coord_node(s, &root), text, sizeof text), depth);
	print_links(emu_class_links(c.input));
	printf("\ncolours of a rectangle broadcast: %u edge-disjoint trees; the root's lines:\n",
	       emu_lines_colours(s, &box));
	for (unsigned colour = 0; colour < emu_lines_colours(s, &box); colour++) {
		struct emu_lines l;

		emu_lines_at(s, &box, &root, &root, colour, &l);
		printf("  colour %u:", colour);
		for (unsigned i = 0; i < l.count; i++)
			printf(" %c%c %u hop%s", 'A' + l.to[i].link / 2,
			       l.to[i].link & 1 ? '+' : '-', l.to[i].hops,
			       l.to[i].hops > 1 ? "s" : "");
		printf("\n");
	}
}

/* ---- facts ---- */

struct facts {
	unsigned nodes, hops_max, links_cut;
	double hops_mean;
};

/* Distances in each dimension are independent: the mean of the sum is the sum of the means. */
static void facts_find(const struct emu_shape *s, struct facts *f)
{
	unsigned least = UINT32_MAX, cut;

	memset(f, 0, sizeof *f);
	f->nodes = emu_shape_nodes(s);
	for (int d = 0; d < EMU_DIMS; d++) {
		unsigned n = s->n[d], sum = 0;

		DRV_ASSERT(n);
		if (s->mesh >> d & 1) {
			f->hops_max += n - 1;
			f->hops_mean += (double)(n * n - 1) / (3 * n);
			cut = f->nodes / n;
		} else {
			for (unsigned i = 0; i < n; i++)
				sum += i < n - i ? i : n - i;
			f->hops_max += n / 2;
			f->hops_mean += (double)sum / n;
			cut = 2 * f->nodes / n;
		}
		least = n > 1 && cut < least ? cut : least;
	}
	f->links_cut = least < UINT32_MAX ? least : 0;
}

static void print_json(const struct emu_route *r, const struct facts *f, const struct path *p)
{
	const struct emu_shape *s = &r->shape;

	printf("{\"shape\": [%u, %u, %u, %u, %u], \"processes_per_node\": %u, \"nodes\": %u, "
	       "\"hops_max\": %u, "
	       "\"hops_mean\": %.3f, \"links_cut\": %u, \"order\": \"%c%c%c%c%c\"",
	       s->n[0], s->n[1], s->n[2], s->n[3], s->n[4], s->t, f->nodes, f->hops_max,
	       f->hops_mean, f->links_cut, 'A' + r->order[0], 'A' + r->order[1], 'A' + r->order[2],
	       'A' + r->order[3], 'A' + r->order[4]);
	if (p) {
		printf(", \"from\": %u, \"to\": %u, \"path\": [", p->from, p->to);
		for (unsigned i = 0; i < p->hops; i++)
			printf("%s{\"link\": \"%c%c\", \"node\": %u}", i ? ", " : "",
			       'A' + (int)emu_link_dim(p->link[i]),
			       emu_link_plus(p->link[i]) ? '+' : '-', p->node[i + 1]);
		printf("]");
	}
	printf("}\n");
}

static void print_text(const struct emu_route *r, const struct facts *f, const struct path *p,
		       const struct emu_machine *m)
{
	struct mu_routing rule;
	char err[64];

	struct emu_link_stat *links = calloc((size_t)f->nodes * EMU_LINKS, sizeof *links);
	const struct emu_shape *s = &r->shape;
	struct draw d;
	char text[48];

	emu_shape_print(s, text, sizeof text);
	printf("%s: %u node%s, %u task%s on each\n", text, f->nodes, f->nodes > 1 ? "s" : "", s->t,
	       s->t > 1 ? "s" : "");
	printf("  hops: at most %u, %.2f on average; links cut by the narrowest bisection: %u each "
	       "way\n\n",
	       f->hops_max, f->hops_mean, f->links_cut);
	if (!links)
		return;
	mu_routing_make(&rule, s, &m->hw, NULL, err, sizeof err);
	for (unsigned i = 0; p && i < p->hops; i++)
		links[p->node[i] * EMU_LINKS + p->link[i]].bytes = 1;
	draw_init(&d, s, links);
	d.plain = 1;
	draw_torus(stdout, &d);
	if (p) {
		path_explain(r, p);
		if (p->hops) {
			path_explain_dynamic(r, p, &rule);
			path_explain_time(p, &m->timing);
		}
	} else if (f->nodes > 1) {
		print_tree(s);
	}
	free(links);
}

int cmd_topo(int argc, char **argv)
{
	struct args args = {
	    .options = options, .words_doc = "AxBxCxDxE[xT] [FROM TO]", .doc = doc, .words_max = 3};
	struct emu_shape shape;
	struct emu_router_conf conf;
	struct machine machine;
	struct emu_route route;
	struct facts facts;
	struct path path;
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
	shape.mesh |= (uint8_t)emu_machine_mesh(&machine.m);
	emu_machine_router(&machine.m, &conf);
	emu_route_init_as(&route, &shape, &conf.routing);
	if (args.words == 3) {
		if (node_parse(&shape, args.word[1], &path.from) ||
		    node_parse(&shape, args.word[2], &path.to))
			return CMD_USAGE;
		path_find(&route, &path);
	}
	facts_find(&shape, &facts);
	if (args.json)
		print_json(&route, &facts, args.words == 3 ? &path : NULL);
	else
		print_text(&route, &facts, args.words == 3 ? &path : NULL, &machine.m);
	return 0;
}
