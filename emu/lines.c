/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/lines.h"

static unsigned box_extent(const struct emu_box *box, unsigned d)
{
	return box->high.c[d] - box->low.c[d] + 1u;
}

/* True if the box is all nodes of a torus without edges. */
static bool is_whole_torus(const struct emu_shape *s, const struct emu_box *box)
{
	for (unsigned d = 0; d < EMU_DIMS; d++)
		if (box_extent(box, d) != s->n[d] || (s->n[d] > 1 && s->mesh >> d & 1))
			return 0;
	return 1;
}

unsigned emu_lines_colours(const struct emu_shape *shape, const struct emu_box *box)
{
	unsigned dims = 0;

	for (unsigned d = 0; d < EMU_DIMS; d++)
		dims += box_extent(box, d) > 1;
	return is_whole_torus(shape, box) ? 2 * dims : dims;
}

static void line_add(struct emu_lines *l, unsigned link, unsigned hops)
{
	if (!hops)
		return;
	l->to[l->count].link = (uint8_t)link;
	l->to[l->count++].hops = (uint8_t)hops;
}

/* Return the position, in the order of colour d, of the dimension over which this node receives; 0:
 * the node is on the root's line. */
static unsigned received_by(const int *x, unsigned d)
{
	unsigned received = 0;

	for (unsigned i = 1; i < EMU_DIMS; i++)
		if (x[(d + i) % EMU_DIMS])
			received = i;
	return received;
}

static void lines_in_torus(struct emu_lines *l, const struct emu_shape *shape, const int *x,
			   unsigned d, unsigned plus)
{
	unsigned received = received_by(x, d);

	if (!x[d]) {
		if (!received)
			line_add(l, emu_link(d, plus), shape->n[d] - 1u); /* the root */
		return;
	}
	for (unsigned i = received + 1; i < EMU_DIMS; i++)
		line_add(l, emu_link((d + i) % EMU_DIMS, plus), shape->n[(d + i) % EMU_DIMS] - 1u);
	if (received && x[d] == shape->n[d] - 1)
		line_add(l, emu_link(d, plus), 1);
}

/* down[], up[]: how far the box extends from the root. */
static void lines_in_box(struct emu_lines *l, const int *x, const unsigned *down,
			 const unsigned *up, unsigned d)
{
	int near = up[d] ? 1 : -1;
	unsigned received = received_by(x, d);

	if (!x[d] && received)
		return;
	if (!x[d]) { /* the root */
		line_add(l, emu_link(d, 1), up[d]);
		line_add(l, emu_link(d, 0), down[d]);
		return;
	}
	for (unsigned i = received + 1; i < EMU_DIMS; i++) {
		unsigned j = (d + i) % EMU_DIMS;

		line_add(l, emu_link(j, 1), up[j]);
		line_add(l, emu_link(j, 0), down[j]);
	}
	if (received && x[d] == near)
		line_add(l, emu_link(d, near < 0), 1);
}

void emu_lines_at(const struct emu_shape *shape, const struct emu_box *box,
		  const struct emu_coord *root, const struct emu_coord *node, unsigned colour,
		  struct emu_lines *lines)
{
	unsigned down[EMU_DIMS], up[EMU_DIMS], whole = (unsigned)is_whole_torus(shape, box), d = 0;
	unsigned nth = whole ? colour / 2 : colour, plus = colour & 1;
	int x[EMU_DIMS];

	while (box_extent(box, d) < 2 || nth--)
		d++;
	for (unsigned j = 0; j < EMU_DIMS; j++) {
		int n = shape->n[j], away = node->c[j] - root->c[j];

		down[j] = (unsigned)(root->c[j] - box->low.c[j]);
		up[j] = (unsigned)(box->high.c[j] - root->c[j]);
		x[j] = !whole ? away : ((plus ? away : -away) + n) % n;
	}
	lines->count = 0;
	if (whole)
		lines_in_torus(lines, shape, x, d, plus);
	else
		lines_in_box(lines, x, down, up, d);
}
