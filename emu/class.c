/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINKS 0xffcu /* the ten torus links */
#define VC(c) ((c)->input & BGQ_CLASS_INPUT_VC_MASK)

static int count_bits(unsigned x)
{
	return __builtin_popcount(x);
}

static unsigned links_of(const ClassRoute_t *c)
{
	return (c->input | c->output) & LINKS;
}

static bool is_free(const ClassRoute_t *c)
{
	return !c->input && !c->output;
}

/* Commworld (user) and system routes share one virtual channel, so they must not share a link. */
static bool routes_collide(const ClassRoute_t *a, const ClassRoute_t *b)
{
	int system = (VC(a) == BGQ_CLASS_INPUT_VC_SYSTEM) + (VC(b) == BGQ_CLASS_INPUT_VC_SYSTEM);
	int user = (VC(a) == BGQ_CLASS_INPUT_VC_USER) + (VC(b) == BGQ_CLASS_INPUT_VC_USER);

	return system == 1 && user == 1 && links_of(a) & links_of(b);
}

int emu_class_check(const ClassRoute_t *table, unsigned id, const ClassRoute_t *c, int pass)
{
	if (is_free(c))
		return EMU_CLASS_OK;
	if (count_bits(c->output & ~BGQ_CLASS_INPUT_LINK_LOCAL) > 1)
		return EMU_CLASS_OUTPUTS;
	if (c->output & BGQ_CLASS_INPUT_LINK_LOCAL)
		return EMU_CLASS_LOCAL_OUTPUT;
	if (!pass && !(c->input & BGQ_CLASS_INPUT_LINK_LOCAL))
		return EMU_CLASS_NO_LOCAL;
	if (c->input & c->output & LINKS)
		return EMU_CLASS_BOTH;
	for (unsigned i = 0; i < EMU_CLASSES; i++)
		if (i != id && !is_free(&table[i]) && routes_collide(c, &table[i]))
			return EMU_CLASS_SHARED;
	return EMU_CLASS_OK;
}

int emu_class_check_gi(const ClassRoute_t *table, unsigned id, const ClassRoute_t *c)
{
	const ClassRoute_t *twin = &table[(id + 8) % EMU_CLASSES];

	if (count_bits(c->output & ~BGQ_CLASS_INPUT_LINK_LOCAL) > 1)
		return EMU_CLASS_OUTPUTS;
	if (c->output & BGQ_CLASS_INPUT_LINK_LOCAL)
		return EMU_CLASS_LOCAL_OUTPUT;
	if (c->input & c->output & LINKS)
		return EMU_CLASS_GI_BOTH;
	return links_of(c) & links_of(twin) ? EMU_CLASS_GI_PAIR : EMU_CLASS_OK;
}

/* ---- trees over a box ---- */

static int limit_to(int x, int low, int high)
{
	return x < low ? low : x > high ? high : x;
}

void emu_class_build(const struct emu_box *box, const struct emu_coord *root,
		     const struct emu_coord *node, const int *order, int first, ClassRoute_t *c)
{
	*c = (ClassRoute_t){0, 0};
	for (int i = 0; i < EMU_DIMS; i++) {
		int at = (first + i) % EMU_DIMS, d = order ? order[at] : at;
		int r = limit_to(root->c[d], box->low.c[d], box->high.c[d]), x = node->c[d];

		if (x <= r && x > box->low.c[d])
			c->input |= emu_class_bit(emu_link((unsigned)d, 0));
		if (x >= r && x < box->high.c[d])
			c->input |= emu_class_bit(emu_link((unsigned)d, 1));
		if (x != r) {
			c->output = emu_class_bit(emu_link((unsigned)d, x < r));
			return;
		}
	}
}

void emu_class_root(const struct emu_box *box, struct emu_coord *root, int *first)
{
	memset(root, 0, sizeof *root);
	*first = 0;
	for (int d = 0; d < EMU_DIMS; d++) {
		int n = box->high.c[d] - box->low.c[d] + 1;

		root->c[d] = (uint8_t)(box->low.c[d] + n / 2);
		if (n > 1)
			*first = d;
	}
}

bool emu_class_is_box(const struct emu_shape *shape, const uint32_t *nodes, uint32_t count,
		      struct emu_box *box)
{
	uint64_t room = 1;

	for (uint32_t i = 0; i < count; i++) {
		struct emu_coord x;

		emu_node_coord(shape, nodes[i], &x);
		x.t = 0;
		if (!i)
			box->low = box->high = x;
		for (int d = 0; d < EMU_DIMS; d++) {
			box->low.c[d] = x.c[d] < box->low.c[d] ? x.c[d] : box->low.c[d];
			box->high.c[d] = x.c[d] > box->high.c[d] ? x.c[d] : box->high.c[d];
		}
	}
	for (int d = 0; count && d < EMU_DIMS; d++)
		room *= (uint64_t)(box->high.c[d] - box->low.c[d] + 1);
	return count && room == count;
}

/* ---- trees over any connected nodes ---- */

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t index_of(const uint32_t *nodes, uint32_t count, uint32_t node)
{
	const uint32_t *at =
	    node == UINT32_MAX ? NULL : bsearch(&node, nodes, count, sizeof node, compare_numbers);

	return at ? (uint32_t)(at - nodes) : UINT32_MAX;
}

/* Breadth-first search from `root`. Sets the link to the parent of each node (EMU_LINKS: the root),
 * and `order`, the nodes in the order in which the search reached them. Returns how many it
 * reached. */
static uint32_t search_breadth_first(const struct emu_shape *shape, const uint32_t *nodes,
				     uint32_t count, uint32_t root, uint8_t *parent,
				     uint32_t *order)
{
	uint32_t reached = 0;

	memset(parent, 0xff, count);
	parent[root] = EMU_LINKS;
	order[reached++] = root;
	for (uint32_t i = 0; i < reached; i++)
		for (unsigned l = 0; l < EMU_LINKS; l++) {
			uint32_t k =
			    index_of(nodes, count, emu_node_neighbour(shape, nodes[order[i]], l));

			if (k == UINT32_MAX || parent[k] != 0xff)
				continue;
			parent[k] = (uint8_t)emu_link_opposite(l);
			order[reached++] = k;
		}
	return reached;
}

int emu_class_span(const struct emu_shape *shape, const uint32_t *nodes, uint32_t count,
		   uint32_t node, ClassRoute_t *c, unsigned *depth)
{
	uint32_t me = index_of(nodes, count, node), *order = malloc(count * sizeof *order);
	uint8_t *parent = malloc(count);
	int rc = me == UINT32_MAX ? -EINVAL : 0;
	uint32_t root = 0, steps = 0, last;

	if (!order || !parent) {
		rc = -ENOMEM;
		goto out;
	}
	/* Search from any node for the farthest one, and from that one for the farthest again. The
	 * root is the middle of the path between the two. */
	for (int turn = 0; turn < 2 && !rc; turn++)
		if (search_breadth_first(shape, nodes, count, root, parent, order) < count)
			rc = -ENOTCONN;
		else
			root = order[count - 1];
	if (rc)
		goto out;
	for (uint32_t k = root; parent[k] < EMU_LINKS; steps++)
		k = index_of(nodes, count, emu_node_neighbour(shape, nodes[k], parent[k]));
	for (steps /= 2; steps; steps--)
		root = index_of(nodes, count, emu_node_neighbour(shape, nodes[root], parent[root]));
	search_breadth_first(shape, nodes, count, root, parent, order);
	*c = (ClassRoute_t){0, 0};
	if (parent[me] < EMU_LINKS)
		c->output = emu_class_bit(parent[me]);
	for (unsigned l = 0; l < EMU_LINKS; l++) {
		uint32_t k = index_of(nodes, count, emu_node_neighbour(shape, node, l));

		if (k != UINT32_MAX && k != me && parent[k] == emu_link_opposite(l))
			c->input |= emu_class_bit(l);
	}
	last = order[count - 1];
	for (*depth = 0; parent[last] < EMU_LINKS; ++*depth)
		last = index_of(nodes, count, emu_node_neighbour(shape, nodes[last], parent[last]));
out:
	free(order);
	free(parent);
	return rc;
}
