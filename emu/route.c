/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/route.h"

#include <errno.h>
#include <string.h>

/* The effective length of a dimension, which is how far a packet may have to go: the nodes
 * of a mesh, half of them for a torus. */
static unsigned effective_length(const struct emu_shape *s, unsigned d)
{
	return s->mesh >> d & 1 ? s->n[d] : s->n[d] / 2;
}

/* The longest dimension first. Equal tori keep the order A .. E; a mesh goes before an equal torus
 * (docs/hardware.md 6.2). */
static void order_init(struct emu_route *r)
{
	const struct emu_shape *s = &r->shape;

	for (uint8_t d = 0; d < EMU_DIMS; d++)
		r->order[d] = d;
	for (int i = 0; i < EMU_DIMS; i++)
		for (int j = i + 1; j < EMU_DIMS; j++) {
			uint8_t a = r->order[i], b = r->order[j];

			if (effective_length(s, b) < effective_length(s, a) ||
			    (effective_length(s, b) == effective_length(s, a) &&
			     !(s->mesh >> b & 1)))
				continue;
			r->order[i] = b;
			r->order[j] = a;
		}
}

void emu_route_init(struct emu_route *r, const struct emu_shape *shape)
{
	emu_route_init_as(r, shape, NULL);
}

void emu_route_init_as(struct emu_route *r, const struct emu_shape *shape,
		       const struct emu_routing *routing)
{
	const unsigned all = (1u << EMU_DIMS) - 1, e = 1u << 4;
	int k = -1;

	memset(r, 0, sizeof(*r));
	r->shape = *shape;
	order_init(r);
	if (routing && routing->has_order)
		memcpy(r->order, routing->order, sizeof r->order);
	r->tie = routing ? routing->tie : EMU_TIE_PARITY;
	for (int d = 0; d < EMU_DIMS; d++)
		if (shape->n[d] > 2 && !(shape->mesh >> d & 1))
			r->rings |= (uint8_t)(1u << d);
	r->zone[1][0] = all;
	for (int i = 0; i < EMU_DIMS; i++) {
		unsigned d = r->order[i];

		if (i == 0 ||
		    effective_length(shape, d) != effective_length(shape, r->order[i - 1]))
			k++;
		r->zone[0][k] |= (uint8_t)(1u << d);
		r->zone[2][i] = (uint8_t)(1u << d);
		r->zone[3][i] = (uint8_t)(1u << d | e);
	}
	for (int z = 0; routing && z < EMU_ZONES; z++)
		if (routing->zone[z][0])
			memcpy(r->zone[z], routing->zone[z], sizeof r->zone[z]);
}

/* Return the direction for one dimension, 2 minus or 1 plus; 0: `wanted` is impossible. */
static unsigned choose_direction(const struct emu_route *r, unsigned d, unsigned from, unsigned to,
				 unsigned wanted, unsigned odd)
{
	unsigned n = r->shape.n[d];

	if (r->shape.mesh >> d & 1) {
		unsigned only = to > from ? 1 : 2;

		return !wanted || wanted == only ? only : 0;
	}
	if (wanted)
		return wanted;
	unsigned up = to > from ? to - from : to + n - from;
	if (r->tie != EMU_TIE_PARITY)
		odd = r->tie == EMU_TIE_MINUS;
	return 2 * up + odd <= n ? 1 : 2; /* odd sizes have no tie, and then `odd` never decides */
}

int emu_route_hints(const struct emu_route *r, uint32_t from, uint32_t to, unsigned wanted,
		    unsigned *hints)
{
	/* Parity of the sum of coordinates. */
	unsigned odd = (from >> 24 ^ from >> 18 ^ from >> 12 ^ from >> 6 ^ from) & 1;
	unsigned result = 0;

	if (wanted & wanted >> 1 & 0x155)
		return -EINVAL;
	for (unsigned set = emu_route_undone(from, to); set; set &= set - 1) {
		unsigned d = (unsigned)__builtin_ctz(set), shift = 6 * (4 - d),
			 b = to >> shift & 63, pair;

		if (b >= r->shape.n[d])
			return -EINVAL;
		pair =
		    choose_direction(r, d, from >> shift & 63, b, wanted >> (8 - 2 * d) & 3, odd);
		if (!pair)
			return -EINVAL;
		result |= pair << (8 - 2 * d);
	}
	*hints = result;
	return 0;
}

int emu_route_each(const struct emu_route *r, uint32_t from, uint32_t to,
		   int (*visit)(void *arg, uint32_t node, unsigned link), void *arg)
{
	struct emu_coord x;
	uint32_t here, end;
	unsigned hints;
	int rc = 0;

	emu_node_coord(&r->shape, from, &x);
	here = emu_coord_word(&x);
	emu_node_coord(&r->shape, to, &x);
	end = emu_coord_word(&x);
	if (emu_route_hints(r, here, end, 0, &hints))
		return 0;
	while (from != to && !rc) {
		unsigned link = emu_route_next(r, emu_route_undone(here, end), hints);

		rc = visit(arg, from, link);
		from = emu_node_neighbour(&r->shape, from, link);
		emu_node_coord(&r->shape, from, &x);
		here = emu_coord_word(&x);
	}
	return rc;
}
