/* SPDX-License-Identifier: BSD-3-Clause */
/* Pure functions on class routes: which ones hardware refuses, and how a tree is laid over nodes.
 * Source: docs/hardware.md 8.1, 8.3. */
#ifndef EMU_CLASS_H
#define EMU_CLASS_H

#include <stdbool.h>

#include "emu/coord.h"
#include "emu/hw_class.h"

#define EMU_CLASSES 16

/* emu_class_bit() returns the bit of a link in a class route. emu_class_links() returns the links
 * (bit l: link l) of the mask of a class route. */
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

/*
 * The reasons for which hardware refuses a class route. The numbers are those of docs/hardware.md
 * 8.1.
 */
enum emu_class_error {
	EMU_CLASS_OK,
	EMU_CLASS_OUTPUTS,      /* more than one output link */
	EMU_CLASS_LOCAL_OUTPUT, /* the local bit is an output */
	EMU_CLASS_NO_LOCAL,     /* the local bit is missing in the input */
	EMU_CLASS_BOTH,         /* a link is both input and output */
	EMU_CLASS_SHARED,       /* a system route and a user-commworld route share a link */
	/* Global interrupts; 1 and 2 have the meaning above. */
	EMU_CLASS_GI_BOTH = 3,
	EMU_CLASS_GI_PAIR = 4, /* routes i and i + 8 share links */
};

/*
 * Check whether table[id] may become *c. table: the 16 routes of the node. pass: the node may
 * forward without contributing, so error 3 does not apply (our rule; the kernel does so for nodes
 * without processes). Returns an enum emu_class_error.
 */
int emu_class_check(const ClassRoute_t *table, unsigned id, const ClassRoute_t *c, int pass);
int emu_class_check_gi(const ClassRoute_t *table, unsigned id, const ClassRoute_t *c);

struct emu_box {
	struct emu_coord low, high; /* both corners belong to the box */
};

/*
 * Compute one node's part in the tree over a box: the links to its children and to its parent, no
 * local bit and no channel. The tree does not wrap. root is moved into the box. order: permutation
 * of dimensions (NULL: A .. E). first: position in `order` where the tree starts. The node must lie
 * in the box.
 */
void emu_class_build(const struct emu_box *box, const struct emu_coord *root,
		     const struct emu_coord *node, const int *order, int first, ClassRoute_t *c);

/* Choose the root of a box, its middle. *first: the last dimension with more than one node. */
void emu_class_root(const struct emu_box *box, struct emu_coord *root, int *first);

/*
 * Compute one node's part in a tree over the `count` nodes of `nodes` (ascending node numbers,
 * `node` among them). The tree is breadth first from the middle of a long path through them. All
 * nodes that pass the same list get parts of one tree. *depth: links from the root to the farthest
 * node. Returns 0; -ENOTCONN: links of the shape do not connect the nodes; -EINVAL: `node` is not
 * among them; -ENOMEM.
 */
int emu_class_span(const struct emu_shape *shape, const uint32_t *nodes, uint32_t count,
		   uint32_t node, ClassRoute_t *c, unsigned *depth);

/* True if the nodes (ascending) fill a box exactly; *box is then that box. */
bool emu_class_is_box(const struct emu_shape *shape, const uint32_t *nodes, uint32_t count,
		      struct emu_box *box);

#endif
