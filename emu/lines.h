/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edge-disjoint spanning trees of a box, one per colour, made of lines (packets with the deposit
 * bit). Pure functions.
 *
 * On a whole torus without edges there are up to ten colours (d, sign). Coordinates x count from
 * the root in direction `sign`. The dimensions have the cyclic order d, d + 1 ...
 *
 *   root                      sends its line in d: all nodes with x = (., 0, 0, 0, 0)
 *   a node with x_d > 0       forwards what it received along dimension j on its lines in the
 *                             dimensions after j
 *   the last node in x_d      forwards what it received one hop to x_d = 0 (not on the root's line)
 *
 * Why no link is in two colours, say d and e, of one sign (other signs use other links): Dimension
 * j of colour d is used where x_d > 0 and x = 0 in the dimensions from j + 1 to d - 1 (cyclic), in
 * d itself on the root's line. One of d and e, say d, comes first when counting from j + 1; then
 * the use of j by e needs x_d = 0. And the hop from the last node of a ring to the first is in no
 * line of any colour, but only in the closing hop of colour j.
 *
 * On any other box (of a mesh, or a part of a torus) there is one colour per dimension, because no
 * more links lead to a corner. There x has a sign, lines go both ways from x_j = 0 to the ends, and
 * x_d = 0 receives from the neighbour at x_d = 1 (or -1). The same argument holds: lines go outward
 * only, and only colour d uses the way back in dimension d.
 */
#ifndef EMU_LINES_H
#define EMU_LINES_H

#include "emu/class.h"

#define EMU_LINES_COLOURS EMU_LINKS
#define EMU_LINES_MAX     (2 * EMU_DIMS)

/* The lines that start at a node: each covers the next `hops` nodes over `link`. */
struct emu_lines {
	unsigned count;
	struct {
		uint8_t link, hops;
	} to[EMU_LINES_MAX];
};

/* Return the number of colours; 0: the box is one node. */
unsigned emu_lines_colours(const struct emu_shape *shape, const struct emu_box *box);
/* Compute where `node` sends what it has received of a colour (0 .. colours - 1). root and node lie
 * in the box. */
void emu_lines_at(const struct emu_shape *shape, const struct emu_box *box,
		  const struct emu_coord *root, const struct emu_coord *node, unsigned colour,
		  struct emu_lines *lines);

#endif
