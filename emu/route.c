/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/route.h"

#include <errno.h>
#include <string.h>

/* Nodes for a mesh, half of them for a torus: how far a packet may have to go. */
static unsigned effective(const struct emu_shape *s, unsigned d)
{
	return s->mesh >> d & 1 ? s->n[d] : s->n[d] / 2;
}

/* Longest first; equal tori keep the order A .. E, a mesh goes before an equal torus (spec/mu.md 6.2). */
static void order_init(struct emu_route *r)
{
	const struct emu_shape *s = &r->shape;

	for (uint8_t d = 0; d < EMU_DIMS; d++)
		r->order[d] = d;
	for (int i = 0; i < EMU_DIMS; i++)
		for (int j = i + 1; j < EMU_DIMS; j++) {
			uint8_t a = r->order[i], b = r->order[j];

			if (effective(s, b) < effective(s, a) ||
			    (effective(s, b) == effective(s, a) && !(s->mesh >> b & 1)))
				continue;
			r->order[i] = b;
			r->order[j] = a;
		}
}

void emu_route_init(struct emu_route *r, const struct emu_shape *shape)
{
	const unsigned all = (1u << EMU_DIMS) - 1, e = 1u << 4;
	int k = -1;

	memset(r, 0, sizeof(*r));
	r->shape = *shape;
	order_init(r);
	for (int d = 0; d < EMU_DIMS; d++)
		if (shape->n[d] > 2 && !(shape->mesh >> d & 1))
			r->rings |= (uint8_t)(1u << d);
	r->zone[1][0] = all;
	for (int i = 0; i < EMU_DIMS; i++) {
		unsigned d = r->order[i];

		if (i == 0 || effective(shape, d) != effective(shape, r->order[i - 1]))
			k++;
		r->zone[0][k] |= (uint8_t)(1u << d);
		r->zone[2][i] = (uint8_t)(1u << d);
		r->zone[3][i] = (uint8_t)(1u << d | e);
	}
}

int emu_route_hints(const struct emu_route *r, uint32_t from, uint32_t to, unsigned wanted, unsigned *hints)
{
	struct emu_coord a, b;
	unsigned sum = 0, result = 0;

	emu_coord_from_word(from, &a);
	emu_coord_from_word(to, &b);
	for (int d = 0; d < EMU_DIMS; d++)
		sum += a.c[d];
	for (unsigned d = 0; d < EMU_DIMS; d++) {
		unsigned n = r->shape.n[d], mesh = r->shape.mesh >> d & 1;
		unsigned pair = wanted >> (8 - 2 * d) & 3; /* 2 minus, 1 plus */

		if (b.c[d] >= n || pair == 3)
			return -EINVAL;
		if (a.c[d] == b.c[d])
			continue;
		if (mesh) {
			unsigned only = b.c[d] > a.c[d] ? 1 : 2;

			if (pair && pair != only)
				return -EINVAL;
			pair = only;
		} else if (!pair) {
			unsigned up = b.c[d] > a.c[d] ? (unsigned)b.c[d] - a.c[d] : b.c[d] + n - a.c[d];

			pair = 2 * up < n || (2 * up == n && sum % 2 == 0) ? 1 : 2;
		}
		result |= pair << (8 - 2 * d);
	}
	*hints = result;
	return 0;
}
