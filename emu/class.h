/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class routes as pure functions: what hardware refuses, and how a tree is laid over nodes.
 * Source: spec/mu.md 8.1, 8.3.
 */
#ifndef EMU_CLASS_H
#define EMU_CLASS_H

#include "emu/coord.h"
#include "emu/hw_class.h"

#define EMU_CLASSES 16

/* Bit of a link in a class route, and the links (bit l: link l) of a class route's mask. */
static inline uint16_t emu_class_bit(unsigned link)
{
	return (uint16_t)(BGQ_CLASS_LINK_AM >> link);
}

static inline unsigned emu_class_links(uint16_t mask)
{
	unsigned links = 0;

	for (unsigned l = 0; l < EMU_LINKS; l++)
		links |= mask & emu_class_bit(l) ? 1u << l : 0;
	return links;
}

/* Why a class route is refused: the numbers of spec/mu.md 8.1. */
enum emu_class_error {
	EMU_CLASS_OK,
	EMU_CLASS_OUTPUTS,      /* more than one output link */
	EMU_CLASS_LOCAL_OUTPUT, /* local among the outputs */
	EMU_CLASS_NO_LOCAL,     /* local missing in the input */
	EMU_CLASS_BOTH,         /* a link both input and output */
	EMU_CLASS_SHARED,       /* a link shared by a system and a user-commworld route */
	/* Global interrupts: 1 and 2 as above. */
	EMU_CLASS_GI_BOTH = 3,
	EMU_CLASS_GI_PAIR = 4,  /* routes i and i + 8 share links */
};

/*
 * May table[id] become *c? table: the node's 16 routes. pass: a node may be passed through without
 * taking part (error 3 is not looked for; ours, as the kernel does for nodes without processes).
 */
int emu_class_check(const ClassRoute_t *table, unsigned id, const ClassRoute_t *c, int pass);
int emu_class_check_gi(const ClassRoute_t *table, unsigned id, const ClassRoute_t *c);

struct emu_box {
	struct emu_coord low, high; /* both belong to it */
};

/*
 * One node's part in the tree over a box, which does not wrap: links of the children and to the parent,
 * nothing else. root is clipped into the box. order: permutation of dimensions (NULL: A .. E); first:
 * position in it where the walk starts. The node must lie in the box.
 */
void emu_class_build(const struct emu_box *box, const struct emu_coord *root, const struct emu_coord *node,
                     const int *order, int first, ClassRoute_t *c);

/* Root of a box: the middle; *first: the last dimension of more than one node. */
void emu_class_root(const struct emu_box *box, struct emu_coord *root, int *first);

/*
 * One node's part in a tree over the `count` nodes of `nodes` (ascending node numbers, `node` among
 * them): breadth first from the middle of a long way through them. 0; -ENOTCONN: they do not hang
 * together over links of the shape; -EINVAL: `node` is none of them; -ENOMEM. All nodes that give the
 * same list get parts of one tree. *depth: links from the root to the farthest node.
 */
int emu_class_span(const struct emu_shape *shape, const uint32_t *nodes, uint32_t count, uint32_t node,
                   ClassRoute_t *c, unsigned *depth);

/* The box that the nodes (ascending) fill exactly: 1, else 0. */
int emu_class_is_box(const struct emu_shape *shape, const uint32_t *nodes, uint32_t count, struct emu_box *box);

#endif
