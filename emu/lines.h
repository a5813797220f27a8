/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edge-disjoint spanning trees of a box, one a colour, made of lines (packets with the deposit bit): pure functions.
 *
 * On a whole torus without edges, up to ten colours (d, sign): coordinates x are counted from the root, in direction
 * `sign`; dimensions in the order d, d + 1 ... (cyclic).
 *
 *   root                      its line in d: all nodes with x = (., 0, 0, 0, 0)
 *   a node with x_d > 0       what it got along dimension j, on along its lines in the dimensions after j
 *   x_d the last of its line  what it got, one hop on to x_d = 0 (but on the root's own line)
 *
 * Why no link is in two colours, say d and e, of one sign (other signs use other links). Dimension j of colour
 * d is used where x_d > 0 and x = 0 in the dimensions from j + 1 to d - 1 (cyclic), in d itself on the root's line.
 * Of d and e one, say d, comes first when counting from j + 1; then e's use of j needs x_d = 0. And the hop from the
 * last node of a ring to the first is in no line of any colour, and the closing hop of colour j only.
 *
 * On any other box (of a mesh, or a part of a torus) a colour a dimension: at a corner no more links come in. x has a
 * sign, lines go both ways from x_j = 0 to the ends, and x_d = 0 gets it from the neighbour at x_d = 1 (or -1). The
 * same holds: lines go outward only, and the way back in dimension d is colour d's alone.
 */
#ifndef EMU_LINES_H
#define EMU_LINES_H

#include "emu/class.h"

#define EMU_LINES_COLOURS EMU_LINKS
#define EMU_LINES_MAX     (2 * EMU_DIMS)

/* Lines that start at a node: the next `hops` nodes over `link`. */
struct emu_lines {
	unsigned count;
	struct {
		uint8_t link, hops;
	} to[EMU_LINES_MAX];
};

/* How many colours there are; 0: the box is one node. */
unsigned emu_lines_colours(const struct emu_shape *shape, const struct emu_box *box);
/* Where `node` sends what it has of a colour (below that number). root and node lie in the box. */
void emu_lines_at(const struct emu_shape *shape, const struct emu_box *box, const struct emu_coord *root,
                  const struct emu_coord *node, unsigned colour, struct emu_lines *lines);

#endif
