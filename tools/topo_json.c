/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of torus topo as one object of JSON. */
#include "tools/topo.h"

/* Print a member whose value is a link's name: "link": "A+". */
static void print_link(FILE *f, const char *key, unsigned link)
{
	fprintf(f, "\"%s\": \"%c%c\"", key, 'A' + (int)emu_link_dim(link),
		emu_link_plus(link) ? '+' : '-');
}

static void print_coordinates(FILE *f, const char *key, const struct emu_coord *x)
{
	fprintf(f, "\"%s\": [%u, %u, %u, %u, %u]", key, x->c[0], x->c[1], x->c[2], x->c[3],
		x->c[4]);
}

/* Print the two members that name a node. */
static void print_node(FILE *f, const struct emu_shape *s, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(s, node, &x);
	fprintf(f, "\"node\": %u, ", node);
	print_coordinates(f, "coordinates", &x);
}

/* Print a set of dimensions (bit d: dimension d) as its letters. */
static void print_letters(FILE *f, unsigned set)
{
	fputc('"', f);
	for (int d = 0; d < EMU_DIMS; d++)
		if (set >> d & 1)
			fputc('A' + d, f);
	fputc('"', f);
}

static void print_facts(FILE *f, const struct topo *t)
{
	const struct emu_shape *s = &t->route.shape;
	const uint8_t *order = t->route.order;

	fprintf(f, "\"shape\": [%u, %u, %u, %u, %u], \"mesh\": ", s->n[0], s->n[1], s->n[2],
		s->n[3], s->n[4]);
	print_letters(f, s->mesh);
	fprintf(f,
		", \"processes_per_node\": %u, \"nodes\": %u, \"hops_max\": %u, "
		"\"hops_mean\": %.3f, \"links_cut\": %u, \"order\": \"%c%c%c%c%c\"",
		s->t, t->nodes, t->hops_max, t->hops_mean, t->links_cut, 'A' + order[0],
		'A' + order[1], 'A' + order[2], 'A' + order[3], 'A' + order[4]);
}

/* ---- the path ---- */

static void print_directions(FILE *f, const struct topo_path *p)
{
	static const char *const reason[] = {
	    [TOPO_MESH] = "mesh",
	    [TOPO_SHORTER] = "shorter",
	    [TOPO_PARITY] = "parity",
	    [TOPO_TIE] = "tie",
	};

	fprintf(f, "\"directions\": [");
	for (unsigned i = 0; i < p->directions; i++) {
		const struct topo_direction *x = &p->direction[i];

		fprintf(f, "%s{", i ? ", " : "");
		print_link(f, "link", x->link);
		fprintf(f, ", \"from\": %u, \"to\": %u, \"hops\": %u, \"other_hops\": ", x->from,
			x->to, x->hops);
		if (x->reason == TOPO_MESH)
			fprintf(f, "null");
		else
			fprintf(f, "%u", x->other);
		fprintf(f, ", \"reason\": \"%s\"}", reason[x->reason]);
	}
	fputc(']', f);
}

static void print_zone(FILE *f, const struct topo_zone *z)
{
	const char *comma = "";

	fprintf(f, "\"finishes\": [");
	for (int k = 0; k < EMU_DIMS && z->sets[k]; k++) {
		fprintf(f, "%s", k ? ", " : "");
		print_letters(f, z->sets[k]);
	}
	fprintf(f, "], \"first_hop\": [");
	for (unsigned l = 0; l < EMU_LINKS; l++)
		if (z->links >> l & 1) {
			fprintf(f, "%s\"%c%c\"", comma, 'A' + (int)emu_link_dim(l),
				emu_link_plus(l) ? '+' : '-');
			comma = ", ";
		}
	fprintf(f, "], \"ways\": %.0f", z->ways);
}

static void print_dynamic(FILE *f, const struct topo_dynamic *y)
{
	fprintf(f, "\"dynamic\": {");
	print_link(f, "escape", y->escape);
	fprintf(f, ", \"zones\": [");
	for (unsigned z = 0; z < EMU_ZONES; z++) {
		fprintf(f, "%s{\"zone\": %u, ", z ? ", " : "", z);
		print_zone(f, &y->zone[z]);
		fputc('}', f);
	}
	fprintf(f,
		"], \"flexibility\": %.3f, \"routing_low\": %.3f, \"routing_high\": %.3f, "
		"\"routing_in\": %u, \"routing_out\": %u, \"rendezvous\": [",
		y->flexibility, y->rule.low, y->rule.high, y->rule.in, y->rule.out);
	for (unsigned i = 0; i < 2; i++) {
		fprintf(f, "%s{\"bytes\": %llu, \"zone\": ", i ? ", " : "",
			(unsigned long long)y->rendezvous[i].bytes);
		if (y->rendezvous[i].route == MU_ROUTE_DETERMINISTIC)
			fprintf(f, "null}");
		else
			fprintf(f, "%u}", y->rendezvous[i].route);
	}
	fprintf(f, "]}");
}

static void print_path(FILE *f, const struct topo *t)
{
	const struct emu_shape *s = &t->route.shape;
	const struct topo_path *p = &t->path;
	const struct topo_time *x = &p->time;
	struct emu_coord a, b;

	emu_node_coord(s, p->from, &a);
	emu_node_coord(s, p->to, &b);
	fprintf(f, ", \"from\": %u, \"to\": %u, ", p->from, p->to);
	print_coordinates(f, "from_coordinates", &a);
	fprintf(f, ", ");
	print_coordinates(f, "to_coordinates", &b);
	fprintf(f, ", \"path\": [");
	for (unsigned i = 0; i < p->hops; i++) {
		fprintf(f, "%s{", i ? ", " : "");
		print_link(f, "link", p->link[i]);
		fprintf(f, ", ");
		print_node(f, s, p->node[i + 1]);
		fputc('}', f);
	}
	fprintf(f, "], ");
	print_directions(f, p);
	if (!p->hops) {
		fprintf(f, ", \"dynamic\": null, \"time_ns\": null");
		return;
	}
	fprintf(f, ", ");
	print_dynamic(f, &p->dynamic);
	fprintf(f,
		", \"time_ns\": {\"hop\": %.3f, \"first_router\": %.3f, \"target\": %.3f, "
		"\"last_byte\": %.3f, \"memory\": %.3f}",
		x->hop, x->first_router, x->target, x->last_byte, x->memory);
}

/* ---- the tree ---- */

static void print_members(FILE *f, const struct emu_shape *s, const struct topo_tree *k)
{
	fprintf(f, ", \"order\": \"");
	for (unsigned i = 0; i < k->dims; i++)
		fputc("ABCDE"[k->order[i]], f);
	fprintf(f, "\", \"nodes\": %s", k->is_listed ? "[" : "null");
	for (unsigned i = 0; i < k->members; i++) {
		const struct topo_member *m = &k->member[i];

		fprintf(f, "%s{", i ? ", " : "");
		print_node(f, s, m->node);
		fprintf(f, ", \"level\": %u, ", m->level);
		print_link(f, "link", m->link);
		fprintf(f, ", \"parent\": %u}", emu_node_neighbour(s, m->node, m->link));
	}
	if (k->is_listed)
		fputc(']', f);
}

static void print_class_route(FILE *f, const struct topo *t)
{
	const struct emu_shape *s = &t->route.shape;
	const struct topo_tree *k = &t->tree;
	uint32_t root = emu_coord_node(s, &k->root);
	const char *comma = "";

	fprintf(f, ", \"class_route\": {");
	print_coordinates(f, "low", &k->box.low);
	fprintf(f, ", ");
	print_coordinates(f, "high", &k->box.high);
	fprintf(f, ", \"root\": {");
	print_node(f, s, root);
	fprintf(f, "}, \"depth\": %u, \"children\": [", k->depth);
	for (unsigned l = 0; l < EMU_LINKS; l++)
		if (k->links >> l & 1) {
			fprintf(f, "%s{", comma);
			print_link(f, "link", l);
			fprintf(f, ", ");
			print_node(f, s, emu_node_neighbour(s, root, l));
			fputc('}', f);
			comma = ", ";
		}
	fputc(']', f);
	print_members(f, s, k);
	fputc('}', f);
}

static void print_colours(FILE *f, const struct topo_tree *k)
{
	fprintf(f, ", \"colours\": [");
	for (unsigned i = 0; i < k->colours; i++) {
		const struct emu_lines *at = &k->lines[i];

		fprintf(f, "%s{\"colour\": %u, \"lines\": [", i ? ", " : "", i);
		for (unsigned l = 0; l < at->count; l++) {
			fprintf(f, "%s{", l ? ", " : "");
			print_link(f, "link", at->to[l].link);
			fprintf(f, ", \"hops\": %u}", at->to[l].hops);
		}
		fprintf(f, "]}");
	}
	fputc(']', f);
}

void topo_print_json(FILE *f, const struct topo *t)
{
	fputc('{', f);
	print_facts(f, t);
	if (t->has_path)
		print_path(f, t);
	if (t->has_tree) {
		print_class_route(f, t);
		print_colours(f, &t->tree);
	}
	fprintf(f, "}\n");
}
