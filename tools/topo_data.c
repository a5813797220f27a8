/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of torus topo. */
#include <string.h>

#include "drivers/base/assert.h"
#include "tools/topo.h"

/* Distances in each dimension are independent: the mean of the sum is the sum of the means. */
static void find_facts(struct topo *t)
{
	const struct emu_shape *s = &t->route.shape;
	unsigned least = UINT32_MAX, cut;

	t->nodes = emu_shape_nodes(s);
	for (int d = 0; d < EMU_DIMS; d++) {
		unsigned n = s->n[d], sum = 0;

		DRV_ASSERT(n);
		if (s->mesh >> d & 1) {
			t->hops_max += n - 1;
			t->hops_mean += (double)(n * n - 1) / (3 * n);
			cut = t->nodes / n;
		} else {
			for (unsigned i = 0; i < n; i++)
				sum += i < n - i ? i : n - i;
			t->hops_max += n / 2;
			t->hops_mean += (double)sum / n;
			cut = 2 * t->nodes / n;
		}
		least = n > 1 && cut < least ? cut : least;
	}
	t->links_cut = least < UINT32_MAX ? least : 0;
}

void topo_init(struct topo *t, const struct emu_shape *shape, const struct emu_machine *machine)
{
	struct emu_shape s = *shape;
	struct emu_router_conf conf;

	memset(t, 0, sizeof *t);
	t->machine = *machine;
	s.mesh |= (uint8_t)emu_machine_mesh(machine);
	emu_machine_router(machine, &conf);
	emu_route_init_as(&t->route, &s, &conf.routing);
	find_facts(t);
}

/* ---- the path ---- */

static uint32_t word_of(const struct emu_shape *s, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(s, node, &x);
	return emu_coord_word(&x);
}

static void find_hops(const struct emu_route *r, struct topo_path *p)
{
	const struct emu_shape *s = &r->shape;
	uint32_t to = word_of(s, p->to);

	emu_route_hints(r, word_of(s, p->from), to, 0, &p->hints);
	p->node[0] = p->from;
	while (p->hops < TOPO_HOPS_MAX) {
		unsigned link =
		    emu_route_next(r, emu_route_undone(word_of(s, p->node[p->hops]), to), p->hints);

		if (link == EMU_HERE)
			break;
		p->link[p->hops] = link;
		p->node[p->hops + 1] = emu_node_neighbour(s, p->node[p->hops], link);
		p->hops++;
	}
}

static void find_directions(const struct emu_route *r, struct topo_path *p)
{
	struct emu_coord a, b;

	emu_node_coord(&r->shape, p->from, &a);
	emu_node_coord(&r->shape, p->to, &b);
	for (int i = 0; i < EMU_DIMS; i++) {
		unsigned d = r->order[i], n = r->shape.n[d], up = (b.c[d] + n - a.c[d]) % n;
		struct topo_direction *x = &p->direction[p->directions];

		if (a.c[d] == b.c[d])
			continue;
		p->directions++;
		x->link = emu_route_link(d, p->hints);
		x->from = a.c[d];
		x->to = b.c[d];
		x->hops = emu_link_plus(x->link) ? up : n - up;
		x->other = n - x->hops;
		x->reason = r->shape.mesh >> d & 1     ? TOPO_MESH
			    : x->hops != x->other      ? TOPO_SHORTER
			    : r->tie == EMU_TIE_PARITY ? TOPO_PARITY
						       : TOPO_TIE;
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

/* Find what dynamic routing may choose at the first node, zone by zone, and what escapes take. */
static void find_dynamic(const struct topo *t, struct topo_path *p)
{
	const struct emu_route *r = &t->route;
	unsigned undone = emu_route_undone(word_of(&r->shape, p->from), word_of(&r->shape, p->to));
	struct emu_coord a = {.t = 0}, b = {.t = 0};
	struct topo_dynamic *y = &p->dynamic;
	unsigned hops[EMU_DIMS] = {0};
	char err[64];

	emu_node_coord(&r->shape, p->from, &a);
	emu_node_coord(&r->shape, p->to, &b);
	for (unsigned i = 0; i < p->hops; i++)
		hops[emu_link_dim(p->link[i])]++;
	y->escape = p->link[0];
	for (unsigned z = 0; z < EMU_ZONES; z++) {
		memcpy(y->zone[z].sets, r->zone[z], sizeof y->zone[z].sets);
		y->zone[z].links = emu_route_candidates(r, z, undone, p->hints);
		y->zone[z].ways = count_ways(r, z, hops);
	}
	mu_routing_make(&y->rule, &r->shape, &t->machine.hw, NULL, err, sizeof err);
	y->flexibility = mu_routing_flexibility(&r->shape, &a, &b);
	for (unsigned i = 0; i < 2; i++) {
		y->rendezvous[i].bytes = y->rule.bytes + i;
		y->rendezvous[i].route =
		    mu_routing_choose(&y->rule, &a, &b, y->rendezvous[i].bytes);
	}
}

static void find_time(const struct emu_timing *m, struct topo_path *p)
{
	struct topo_time *x = &p->time;

	x->hop = m->hop_ps / 1e3;
	x->first_router = m->mu_inject_ps / 1e3;
	x->target = x->first_router + p->hops * x->hop;
	/* 512 bytes of payload are 552 on a link. */
	x->last_byte = x->target + 552.0 * m->link_ps_per_byte / 1e3;
	x->memory = x->last_byte + m->mu_receive_ps / 1e3;
}

void topo_find_path(struct topo *t, uint32_t from, uint32_t to)
{
	struct topo_path *p = &t->path;

	memset(p, 0, sizeof *p);
	t->has_path = true;
	p->from = from;
	p->to = to;
	find_hops(&t->route, p);
	find_directions(&t->route, p);
	if (!p->hops)
		return;
	find_dynamic(t, p);
	find_time(&t->machine.timing, p);
}

/* ---- the tree ---- */

/* The next node of the box by number. Returns false behind the last. */
static bool step_in_box(const struct emu_box *box, struct emu_coord *x)
{
	for (int d = EMU_DIMS - 1; d >= 0; d--) {
		if (x->c[d] < box->high.c[d]) {
			x->c[d]++;
			return true;
		}
		x->c[d] = box->low.c[d];
	}
	return false;
}

/* List the nodes of a level, 1 or more. */
static void list_level(const struct emu_shape *s, struct topo_tree *k, int first, unsigned level)
{
	struct emu_coord x = k->box.low;

	do {
		struct topo_member *m = &k->member[k->members];
		unsigned away = 0;
		ClassRoute_t c;

		for (int d = 0; d < EMU_DIMS; d++)
			away += (unsigned)abs(x.c[d] - k->root.c[d]);
		if (away != level)
			continue;
		emu_class_build(&k->box, &k->root, &x, NULL, first, &c);
		m->node = emu_coord_node(s, &x);
		m->level = level;
		m->link = (unsigned)__builtin_ctz(emu_class_links(c.output));
		k->members++;
	} while (step_in_box(&k->box, &x));
}

static void find_members(const struct emu_shape *s, struct topo_tree *k, int first)
{
	uint64_t nodes = 1;

	for (int i = 0; i < EMU_DIMS; i++) {
		int d = (first + i) % EMU_DIMS, extent = k->box.high.c[d] - k->box.low.c[d] + 1;

		nodes *= (unsigned)extent;
		if (extent > 1)
			k->order[k->dims++] = (uint8_t)d;
	}
	k->is_listed = nodes <= TOPO_TREE_NODES;
	for (unsigned level = 1; k->is_listed && level <= k->depth; level++)
		list_level(s, k, first, level);
}

void topo_find_tree(struct topo *t, const struct emu_box *box)
{
	const struct emu_shape *s = &t->route.shape;
	struct topo_tree *k = &t->tree;
	ClassRoute_t c;
	int first;

	memset(k, 0, sizeof *k);
	t->has_tree = t->is_whole = true;
	k->box = *box;
	emu_class_root(box, &k->root, &first);
	for (int d = 0; d < EMU_DIMS; d++) {
		unsigned down = k->root.c[d] - box->low.c[d], up = box->high.c[d] - k->root.c[d];

		/* The tree does not wrap, so a corner of the box is farthest from the root. */
		k->depth += down > up ? down : up;
		t->is_whole &= down + up + 1 == s->n[d];
	}
	emu_class_build(box, &k->root, &k->root, NULL, first, &c);
	k->links = emu_class_links(c.input);
	find_members(s, k, first);
	k->colours = emu_lines_colours(s, box);
	for (unsigned i = 0; i < k->colours; i++)
		emu_lines_at(s, box, &k->root, &k->root, i, &k->lines[i]);
}
