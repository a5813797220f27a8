/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/cuts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/vc.h"

int emu_cuts_init(struct emu_cuts *c, const struct emu_route *route)
{
	uint32_t nodes = emu_shape_nodes(&route->shape);

	*c = (struct emu_cuts){.route = route, .nodes = nodes};
	c->cuts = calloc((size_t)nodes * EMU_LINKS, sizeof *c->cuts);
	c->links = calloc((size_t)nodes * EMU_LINKS, sizeof *c->links);
	if (c->cuts && c->links)
		return 0;
	emu_cuts_fini(c);
	return -ENOMEM;
}

void emu_cuts_fini(struct emu_cuts *c)
{
	free(c->cuts);
	free(c->links);
	memset(c, 0, sizeof *c);
}

static void set_one(struct emu_cuts *c, uint32_t node, unsigned link, bool cut)
{
	uint32_t at = node * EMU_LINKS + link;

	if (cut && !c->cuts[at]++) {
		c->links[c->count++] = at;
	} else if (!cut && c->cuts[at] && !--c->cuts[at]) {
		for (uint32_t i = 0; i < c->count; i++)
			if (c->links[i] == at) {
				c->links[i] = c->links[--c->count];
				break;
			}
	}
}

bool emu_cuts_set(struct emu_cuts *c, uint32_t node, unsigned link, bool cut)
{
	uint32_t to = emu_node_neighbour(&c->route->shape, node, link);

	if (to == UINT32_MAX || to == node)
		return false;
	set_one(c, node, link, cut);
	set_one(c, to, emu_link_opposite(link), cut);
	return true;
}

bool emu_cuts_is_cut(const struct emu_cuts *c, uint32_t node, unsigned link)
{
	return c->cuts[node * EMU_LINKS + link] != 0;
}

static uint32_t word_of(const struct emu_cuts *c, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(&c->route->shape, node, &x);
	return emu_coord_word(&x);
}

/* Follow the deterministic way. Returns its hops, 0 if it meets a cut link. */
static unsigned count_whole_hops(const struct emu_cuts *c, uint32_t from, uint32_t to,
				 unsigned hints)
{
	uint32_t end = word_of(c, to);
	unsigned hops = 0;

	for (; from != to; hops++) {
		unsigned link =
		    emu_route_next(c->route, emu_route_undone(word_of(c, from), end), hints);

		if (emu_cuts_is_cut(c, from, link))
			return 0;
		from = emu_node_neighbour(&c->route->shape, from, link);
	}
	return hops;
}

int emu_cuts_route(const struct emu_cuts *c, uint32_t from, uint32_t to, unsigned *hints)
{
	uint32_t a = word_of(c, from), b = word_of(c, to);
	unsigned undone = emu_route_undone(a, b), best = UINT32_MAX;

	if (emu_route_hints(c->route, a, b, 0, hints))
		return -EHOSTUNREACH;
	if (!undone || count_whole_hops(c, from, to, *hints))
		return 0;
	for (unsigned plus = 0; plus < 1u << EMU_DIMS; plus++) {
		unsigned wanted = 0, tried, hops;

		if (plus & ~undone)
			continue;
		for (unsigned d = 0; d < EMU_DIMS; d++)
			if (undone >> d & 1)
				wanted |= (plus >> d & 1 ? 1u : 2u) << (8 - 2 * d);
		if (emu_route_hints(c->route, a, b, wanted, &tried))
			continue; /* the link leads over the edge of a mesh */
		hops = count_whole_hops(c, from, to, tried);
		if (hops && hops < best) {
			best = hops;
			*hints = tried;
		}
	}
	return best == UINT32_MAX ? -EHOSTUNREACH : 0;
}

bool emu_cuts_in_box(const struct emu_cuts *c, uint32_t from, uint32_t to, unsigned hints)
{
	const struct emu_shape *s = &c->route->shape;
	struct emu_coord a, b, x;

	emu_node_coord(s, from, &a);
	emu_node_coord(s, to, &b);
	for (uint32_t i = 0; i < c->count; i++) {
		unsigned link = c->links[i] % EMU_LINKS, d;

		if (!(hints & emu_hint_of_link(link)))
			continue;
		emu_node_coord(s, c->links[i] / EMU_LINKS, &x);
		for (d = 0; d < EMU_DIMS; d++) {
			unsigned n = s->n[d];
			bool plus = hints & emu_hint_of_link(emu_link(d, 1));
			unsigned way = plus ? b.c[d] + n - a.c[d] : a.c[d] + n - b.c[d];
			unsigned at = plus ? x.c[d] + n - a.c[d] : a.c[d] + n - x.c[d];

			/* In its own dimension the link must start before the target. */
			if (at % n + (d == emu_link_dim(link)) > way % n)
				break;
		}
		if (d == EMU_DIMS)
			return true;
	}
	return false;
}

int emu_cuts_apply(const struct emu_cuts *c, uint32_t from, MUHWI_Pt2PtNetworkHeader_t *h)
{
	const struct emu_shape *s = &c->route->shape;
	unsigned hints;
	struct emu_coord x;
	uint32_t to;
	int rc;

	emu_coord_from_word(h->Destination.Destination.Destination, &x);
	for (int d = 0; d < EMU_DIMS; d++)
		if (x.c[d] >= s->n[d])
			return 0;
	to = emu_coord_node(s, &x);
	rc = to == from ? 0 : emu_cuts_route(c, from, to, &hints);
	if (rc || to == from)
		return rc;
	if (emu_vc_start(h) == EMU_VC_DYNAMIC && emu_cuts_in_box(c, from, to, hints)) {
		h->Byte2.Byte2 &= (uint8_t)~MUHWI_PACKET_USE_DYNAMIC_ROUTING;
		h->Byte3.Virtual_channel = EMU_VC_BUBBLE;
	}
	emu_hints_set(h, hints);
	return 0;
}
