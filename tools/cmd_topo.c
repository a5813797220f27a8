/* SPDX-License-Identifier: BSD-3-Clause */
/* torus topo: draws a torus and explains which way a packet goes. */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/coord.h"
#include "emu/route.h"
#include "tools/cmd.h"
#include "tools/draw.h"

enum { KEY_JSON = 256, KEY_HELP };

static const char doc[] =
	"Draw a torus, and explain the path of a packet from node FROM to node TO.\v"
	"A node is its number (A most significant, E least) or its coordinates A,B,C,D,E.\n"
	"\n"
	"Examples:\n"
	"  torus topo 4x4x4x8x2\n"
	"  torus topo 2x2x2x2x2 0 31\n"
	"  torus topo 4x4x4x8x2 0,0,0,0,0 1,0,2,7,1";

static const struct argp_option options[] = {
	{ "json", KEY_JSON, 0, 0, "Facts and path as JSON", 0 },
	{ "help", KEY_HELP, 0, 0, "Print this", 0 },
	{ 0 },
};

struct wish {
	const char *word[3]; /* shape, from, to */
	unsigned words;
	int json, help;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct wish *w = state->input;

	switch (key) {
	case KEY_JSON:
		w->json = 1;
		return 0;
	case KEY_HELP:
		w->help = 1;
		return ECANCELED;
	case ARGP_KEY_ARG:
		if (w->words == 3)
			return EINVAL;
		w->word[w->words++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = { options, parse, "AxBxCxDxE[xT] [FROM TO]", doc };

static int node_parse(const struct emu_shape *s, const char *text, uint32_t *node)
{
	unsigned c[EMU_DIMS], n = emu_shape_nodes(s);
	char *end, rest;
	struct emu_coord x = { .t = 0 };

	if (sscanf(text, "%u,%u,%u,%u,%u%c", &c[0], &c[1], &c[2], &c[3], &c[4], &rest) == 5) {
		for (int d = 0; d < EMU_DIMS; d++) {
			if (c[d] >= s->n[d])
				goto wrong;
			x.c[d] = (uint8_t)c[d];
		}
		*node = emu_coord_node(s, &x);
		return 0;
	}
	*node = (uint32_t)strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && *node < n)
		return 0;
wrong:
	fprintf(stderr, "torus topo: no node '%s'; give 0 to %u, or A,B,C,D,E below %ux%ux%ux%ux%u\n", text, n - 1,
	        s->n[0], s->n[1], s->n[2], s->n[3], s->n[4]);
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
		unsigned link = emu_route_next(r, emu_route_undone(word_of(s, p->node[p->hops]), to), p->hints);

		if (link == EMU_HERE)
			break;
		p->link[p->hops] = link;
		p->node[p->hops + 1] = emu_node_neighbour(s, p->node[p->hops], link);
		p->hops++;
	}
}

/* Why this direction of dimension d. */
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
		printf("%u hop%s either way; the source's coordinates sum to %u, %s, so %s\n", up, up > 1 ? "s" : "", sum,
		       sum & 1 ? "odd" : "even", plus ? "plus" : "minus");
	else
		printf("%u hop%s, the other way %u\n", plus ? up : n - up, (plus ? up : n - up) > 1 ? "s" : "",
		       plus ? n - up : up);
}

static void path_explain(const struct emu_route *r, const struct path *p)
{
	char from[48], to[48];

	printf("\npacket from node %u %s to node %u %s: %u hops\n", p->from,
	       draw_node(&r->shape, p->from, from, sizeof from), p->to,
	       draw_node(&r->shape, p->to, to, sizeof to), p->hops);
	if (!p->hops)
		printf("  it stays in its node: the messaging unit hands it to itself, no link is used\n");
	for (int i = 0; i < EMU_DIMS; i++)
		explain_dimension(&r->shape, r->order[i], p);
	if (p->hops)
		printf("  order of dimensions (longest first): %c %c %c %c %c\n", 'A' + r->order[0], 'A' + r->order[1],
		       'A' + r->order[2], 'A' + r->order[3], 'A' + r->order[4]);
	for (unsigned i = 0; i < p->hops; i++)
		printf("  hop %2u  %c%c  %s -> %s\n", i + 1, 'A' + (int)emu_link_dim(p->link[i]),
		       emu_link_plus(p->link[i]) ? '+' : '-', draw_node(&r->shape, p->node[i], from, sizeof from),
		       draw_node(&r->shape, p->node[i + 1], to, sizeof to));
}

/* ---- facts ---- */

struct facts {
	unsigned nodes, hops_max, links_cut;
	double hops_mean;
};

/* Distances in each dimension are independent: the mean of the sum is the sum of the means. */
static void facts_find(const struct emu_shape *s, struct facts *f)
{
	unsigned longest = 1;

	memset(f, 0, sizeof *f);
	f->nodes = emu_shape_nodes(s);
	for (int d = 0; d < EMU_DIMS; d++) {
		unsigned n = s->n[d], sum = 0;

		for (unsigned i = 0; i < n; i++)
			sum += i < n - i ? i : n - i;
		f->hops_max += n / 2;
		f->hops_mean += (double)sum / n;
		longest = n > longest ? n : longest;
	}
	f->links_cut = longest > 1 ? 2 * f->nodes / longest : 0;
}

static void print_json(const struct emu_route *r, const struct facts *f, const struct path *p)
{
	const struct emu_shape *s = &r->shape;

	printf("{\"shape\": [%u, %u, %u, %u, %u], \"processes_per_node\": %u, \"nodes\": %u, \"hops_max\": %u, "
	       "\"hops_mean\": %.3f, \"links_cut\": %u, \"order\": \"%c%c%c%c%c\"", s->n[0], s->n[1], s->n[2], s->n[3],
	       s->n[4], s->t, f->nodes, f->hops_max, f->hops_mean, f->links_cut, 'A' + r->order[0], 'A' + r->order[1],
	       'A' + r->order[2], 'A' + r->order[3], 'A' + r->order[4]);
	if (p) {
		printf(", \"from\": %u, \"to\": %u, \"path\": [", p->from, p->to);
		for (unsigned i = 0; i < p->hops; i++)
			printf("%s{\"link\": \"%c%c\", \"node\": %u}", i ? ", " : "", 'A' + (int)emu_link_dim(p->link[i]),
			       emu_link_plus(p->link[i]) ? '+' : '-', p->node[i + 1]);
		printf("]");
	}
	printf("}\n");
}

static void print_text(const struct emu_route *r, const struct facts *f, const struct path *p)
{
	struct emu_link_stat *links = calloc((size_t)f->nodes * EMU_LINKS, sizeof *links);
	const struct emu_shape *s = &r->shape;
	struct draw d;
	char text[48];

	emu_shape_print(s, text, sizeof text);
	printf("%s: %u node%s, %u task%s on each\n", text, f->nodes, f->nodes > 1 ? "s" : "", s->t, s->t > 1 ? "s" : "");
	printf("  hops: at most %u, %.2f on average; links cut by the narrowest bisection: %u each way\n\n", f->hops_max,
	       f->hops_mean, f->links_cut);
	if (!links)
		return;
	for (unsigned i = 0; p && i < p->hops; i++)
		links[p->node[i] * EMU_LINKS + p->link[i]].bytes = 1;
	draw_init(&d, s, links);
	d.plain = 1;
	draw_torus(stdout, &d);
	if (p)
		path_explain(r, p);
	free(links);
}

int cmd_topo(int argc, char **argv)
{
	struct wish w = { .json = 0 };
	struct emu_shape shape;
	struct emu_route route;
	struct facts facts;
	struct path path;
	char err[512];
	int rc = argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &w);

	if (w.help) {
		argp_help(&argp, stdout, ARGP_HELP_STD_HELP, argv[0]);
		return 0;
	}
	if (rc || (w.words != 1 && w.words != 3)) {
		fprintf(stderr, "torus topo: give a shape, and perhaps two nodes, for example: "
		                "torus topo 2x2x2x2x2 0 31\n");
		return CMD_USAGE;
	}
	if (emu_shape_parse(w.word[0], &shape, err, sizeof err)) {
		fprintf(stderr, "torus topo: %s\n", err);
		return CMD_USAGE;
	}
	emu_route_init(&route, &shape);
	if (w.words == 3) {
		if (node_parse(&shape, w.word[1], &path.from) || node_parse(&shape, w.word[2], &path.to))
			return CMD_USAGE;
		path_find(&route, &path);
	}
	facts_find(&shape, &facts);
	(w.json ? print_json : print_text)(&route, &facts, w.words == 3 ? &path : NULL);
	return 0;
}
