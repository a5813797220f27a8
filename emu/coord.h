/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coordinates of a 5D torus, and the mapping of tasks to them.
 *
 * Node index: A most significant, E least. Links: A- A+ B- B+ C- C+ D- D+ E- E+ = 0 .. 9.
 * All functions are pure. Source: docs/hardware.md 1.2, 1.3.
 */
#ifndef EMU_COORD_H
#define EMU_COORD_H

#include <stddef.h>
#include <stdint.h>

#define EMU_DIMS  5
#define EMU_LINKS 10

struct emu_shape {
	uint8_t n[EMU_DIMS]; /* nodes per dimension, 1 .. 64 */
	uint8_t t;           /* processes per node, 1 .. 64 */
	uint8_t mesh;        /* bit d set: dimension d does not wrap */
};

struct emu_coord {
	uint8_t c[EMU_DIMS];
	uint8_t t;
};

/* Link index of dimension d in direction plus (1) or minus (0), and back. */
static inline unsigned emu_link(unsigned d, unsigned plus)
{
	return 2 * d + plus;
}
static inline unsigned emu_link_dim(unsigned link)
{
	return link / 2;
}
static inline unsigned emu_link_plus(unsigned link)
{
	return link & 1;
}
static inline unsigned emu_link_opposite(unsigned link)
{
	return link ^ 1;
}

/* Destination word of MUHWI_Destination_t: A<<24 | B<<18 | C<<12 | D<<6 | E. */
static inline uint32_t emu_coord_word(const struct emu_coord *x)
{
	return (uint32_t)x->c[0] << 24 | (uint32_t)x->c[1] << 18 | (uint32_t)x->c[2] << 12 |
	       (uint32_t)x->c[3] << 6 | x->c[4];
}

static inline void emu_coord_from_word(uint32_t word, struct emu_coord *x)
{
	for (int d = 0; d < EMU_DIMS; d++)
		x->c[d] = word >> (6 * (4 - d)) & 63;
}

static inline uint32_t emu_shape_nodes(const struct emu_shape *s)
{
	uint32_t n = 1;

	for (int d = 0; d < EMU_DIMS; d++)
		n *= s->n[d];
	return n;
}

static inline uint32_t emu_coord_node(const struct emu_shape *s, const struct emu_coord *x)
{
	uint32_t i = 0;

	for (int d = 0; d < EMU_DIMS; d++)
		i = i * s->n[d] + x->c[d];
	return i;
}

static inline void emu_node_coord(const struct emu_shape *s, uint32_t node, struct emu_coord *x)
{
	for (int d = EMU_DIMS - 1; d >= 0; d--) {
		x->c[d] = (uint8_t)(node % s->n[d]);
		node /= s->n[d];
	}
}

/* Return the node index of the neighbour over `link`: the node itself in a dimension of 1,
 * UINT32_MAX over the edge of a mesh. */
uint32_t emu_node_neighbour(const struct emu_shape *s, uint32_t node, unsigned link);

/* Return the hops of a minimal path between two nodes. */
unsigned emu_hops(const struct emu_shape *s, uint32_t from, uint32_t to);

/* Parse "AxBxCxDxE[xT]"; an M after an extent, as in 4Mx4x4x4x2, makes a mesh of that dimension.
 * Returns 0, or -EINVAL with a sentence in err (what is wrong and what is expected). */
int emu_shape_parse(const char *text, struct emu_shape *s, char *err, size_t err_bytes);
int emu_shape_print(const struct emu_shape *s, char *text, size_t bytes);

/* Choose a shape for `nodes` nodes: a partition of the real machine where there is one, else
 * near-cubic. t: processes per node. */
void emu_shape_default(uint32_t nodes, uint32_t t, struct emu_shape *s);

/*
 * Compute the coordinates of tasks 0 .. count - 1. mapping: a permutation of ABCDET (the rightmost
 * letter varies fastest), or the path of a map file (docs/hardware.md 1.3: six integers a line,
 * # comments, #mapping). Returns 0, or with a sentence in err -EINVAL, -ENOENT, -ENOMEM, or -ENOSPC
 * (more tasks than slots).
 */
int emu_map_tasks(const struct emu_shape *s, const char *mapping, uint32_t count,
		  struct emu_coord *coords, char *err, size_t err_bytes);

#endif
