/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of torus topo as text, with a picture. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/draw.h"
#include "tools/topo.h"

static char letter_of(unsigned link)
{
	return (char)('A' + (int)emu_link_dim(link));
}

static char sign_of(unsigned link)
{
	return emu_link_plus(link) ? '+' : '-';
}

static const char *plural(double count)
{
	return count > 1 ? "s" : "";
}

/* Print the links of a mask: "A+ C-". */
static void print_links(FILE *f, unsigned links)
{
	for (; links; links &= links - 1) {
		unsigned l = (unsigned)__builtin_ctz(links);

		fprintf(f, " %c%c", letter_of(l), sign_of(l));
	}
}

/* ---- the path ---- */

/* Print why the packet takes this direction of a dimension. */
static void print_direction(FILE *f, const struct topo *t, const struct topo_direction *x)
{
	const char *way = emu_link_plus(x->link) ? "plus" : "minus";
	unsigned sum = 0;
	struct emu_coord a;

	fprintf(f, "  %c%c  from %u to %u of %u: ", letter_of(x->link), sign_of(x->link), x->from,
		x->to, t->route.shape.n[emu_link_dim(x->link)]);
	switch (x->reason) {
	case TOPO_MESH:
		fprintf(f, "no wrap in this dimension\n");
		break;
	case TOPO_SHORTER:
		fprintf(f, "%u hop%s, the other way %u\n", x->hops, plural(x->hops), x->other);
		break;
	case TOPO_PARITY:
		emu_node_coord(&t->route.shape, t->path.from, &a);
		for (int d = 0; d < EMU_DIMS; d++)
			sum += a.c[d];
		fprintf(f, "%u hop%s either way; the source's coordinates sum to %u, %s, so %s\n",
			x->hops, plural(x->hops), sum, sum & 1 ? "odd" : "even", way);
		break;
	case TOPO_TIE:
		fprintf(f, "%u hop%s either way; the machine's tie is %s\n", x->hops,
			plural(x->hops), way);
		break;
	}
}

static void print_path(FILE *f, const struct topo *t)
{
	const struct emu_shape *s = &t->route.shape;
	const uint8_t *order = t->route.order;
	const struct topo_path *p = &t->path;
	char from[48], to[48];

	fprintf(f, "\npacket from node %u %s to node %u %s: %u hops\n", p->from,
		draw_node(s, p->from, from, sizeof from), p->to, draw_node(s, p->to, to, sizeof to),
		p->hops);
	if (!p->hops) {
		fprintf(f, "  it stays in its node: the messaging unit delivers it to itself and "
			   "uses no link\n");
		return;
	}
	for (unsigned i = 0; i < p->directions; i++)
		print_direction(f, t, &p->direction[i]);
	fprintf(f, "  order of dimensions (%s): %c %c %c %c %c\n",
		strcmp(t->machine.hw.order, "auto") ? "row order of the machine" : "longest first",
		'A' + order[0], 'A' + order[1], 'A' + order[2], 'A' + order[3], 'A' + order[4]);
	for (unsigned i = 0; i < p->hops; i++)
		fprintf(f, "  hop %2u  %c%c  %s -> %s\n", i + 1, letter_of(p->link[i]),
			sign_of(p->link[i]), draw_node(s, p->node[i], from, sizeof from),
			draw_node(s, p->node[i + 1], to, sizeof to));
}

static void print_sets(FILE *f, const uint8_t *sets)
{
	for (int k = 0; k < EMU_DIMS && sets[k]; k++) {
		fprintf(f, "%s", k ? ", then " : "");
		for (int d = 0; d < EMU_DIMS; d++)
			if (sets[k] >> d & 1)
				fputc('A' + d, f);
	}
}

static void print_rendezvous(FILE *f, const struct topo_dynamic *y, unsigned i)
{
	fprintf(f, "  a rendezvous of %llu bytes is routed ",
		(unsigned long long)y->rendezvous[i].bytes);
	if (y->rendezvous[i].route == MU_ROUTE_DETERMINISTIC) {
		fprintf(f, "deterministically\n");
		return;
	}
	fprintf(f,
		"dynamically in zone %u (flexibility %.2f, %.2f to %.2f: ", y->rendezvous[i].route,
		y->flexibility, y->rule.low, y->rule.high);
	if (y->rule.in == MU_ROUTE_DETERMINISTIC)
		fprintf(f, "deterministic)\n");
	else
		fprintf(f, "zone %u)\n", y->rule.in);
}

static void print_dynamic(FILE *f, const struct topo_dynamic *y)
{
	fprintf(f, "  dynamic packets: any link below that has room for a packet, the one with "
		   "most room first; else the bubble channel over");
	print_links(f, 1u << y->escape);
	fputc('\n', f);
	for (unsigned z = 0; z < EMU_ZONES; z++) {
		fprintf(f, "    zone %u  finishes ", z);
		print_sets(f, y->zone[z].sets);
		fprintf(f, "; first hop");
		print_links(f, y->zone[z].links);
		fprintf(f, "; %.0f way%s\n", y->zone[z].ways, plural(y->zone[z].ways));
	}
	for (unsigned i = 0; i < 2; i++)
		print_rendezvous(f, y, i);
}

static void print_time(FILE *f, const struct topo_path *p)
{
	const struct topo_time *x = &p->time;

	fprintf(f,
		"  time: 0 tail of the FIFO moves, %.0f ns head in the first router, %.0f ns head "
		"at the target after %u hops of %.0f ns, %.0f ns last of 512 bytes, %.0f ns in "
		"memory\n",
		x->first_router, x->target, p->hops, x->hop, x->last_byte, x->memory);
}

/* ---- the tree ---- */

/* The whole tree: the rule, and for few nodes the link of each to its parent. */
static void print_members(FILE *f, const struct topo_tree *k)
{
	if (!k->dims)
		return;
	fprintf(f, "  up the tree a packet goes in dimension %c to the root's coordinate",
		"ABCDE"[k->order[0]]);
	for (unsigned i = 1; i < k->dims; i++)
		fprintf(f, ", then %c", "ABCDE"[k->order[i]]);
	fputc('\n', f);
	for (unsigned i = 0; i < k->members; i++) {
		const struct topo_member *m = &k->member[i];

		if (!i || m->level != m[-1].level)
			fprintf(f, "%s  level %u:", i ? "\n" : "", m->level);
		fprintf(f, " %u", m->node);
		print_links(f, 1u << m->link);
		if (i + 1 < k->members && m[1].level == m->level)
			fputc(',', f);
	}
	if (k->members)
		fputc('\n', f);
}

static void print_tree(FILE *f, const struct topo *t)
{
	const struct emu_shape *s = &t->route.shape;
	const struct topo_tree *k = &t->tree;
	char root[48], low[48], high[48];

	if (t->is_whole)
		fprintf(f, "\nclass route of all nodes");
	else
		fprintf(f, "\nclass route of the rectangle %s to %s",
			draw_node(s, emu_coord_node(s, &k->box.low), low, sizeof low),
			draw_node(s, emu_coord_node(s, &k->box.high), high, sizeof high));
	fprintf(f, ": root %s, depth %u, ",
		draw_node(s, emu_coord_node(s, &k->root), root, sizeof root), k->depth);
	fprintf(f, k->links ? "children of the root over" : "no children");
	print_links(f, k->links);
	fputc('\n', f);
	print_members(f, k);
	fprintf(f, "colours of a rectangle broadcast: %u edge-disjoint tree%s%s\n", k->colours,
		k->colours == 1 ? "" : "s", k->colours ? "; the root's lines:" : "");
	for (unsigned i = 0; i < k->colours; i++) {
		fprintf(f, "  colour %u:", i);
		for (unsigned l = 0; l < k->lines[i].count; l++) {
			print_links(f, 1u << k->lines[i].to[l].link);
			fprintf(f, " %u hop%s", k->lines[i].to[l].hops,
				plural(k->lines[i].to[l].hops));
		}
		fputc('\n', f);
	}
}

int topo_print_text(FILE *f, const struct topo *t)
{
	struct emu_link_stat *links = calloc((size_t)t->nodes * EMU_LINKS, sizeof *links);
	const struct emu_shape *s = &t->route.shape;
	struct draw d;
	char text[48];

	if (!links)
		return -ENOMEM;
	emu_shape_print(s, text, sizeof text);
	fprintf(f, "%s: %u node%s, %u task%s on each\n", text, t->nodes, plural(t->nodes), s->t,
		plural(s->t));
	fprintf(f,
		"  hops: at most %u, %.2f on average; links cut by the narrowest bisection: %u "
		"each way\n\n",
		t->hops_max, t->hops_mean, t->links_cut);
	for (unsigned i = 0; t->has_path && i < t->path.hops; i++)
		links[(size_t)t->path.node[i] * EMU_LINKS + t->path.link[i]].bytes = 1;
	draw_init(&d, s, links);
	d.plain = 1;
	draw_torus(f, &d);
	free(links);
	if (t->has_path) {
		print_path(f, t);
		if (t->path.hops) {
			print_dynamic(f, &t->path.dynamic);
			print_time(f, &t->path);
		}
	}
	if (t->has_tree)
		print_tree(f, t);
	return 0;
}
