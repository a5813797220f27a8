/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast over up to ten edge-disjoint spanning trees of the whole torus, one a colour, by lines (packets
 * with the deposit bit), so that the root sends on all its links at once. Guarded by bench/coll_figures.
 *
 * Colour (d, sign): coordinates x are counted from the root, in direction `sign`; dimensions in the order d,
 * d + 1 ... (cyclic).
 *
 *   root                      its line in d: all nodes with x = (., 0, 0, 0, 0)
 *   a node with x_d > 0       what it got along dimension j, on along its lines in the dimensions after j
 *   x_d the last of its line  what it got, one hop on to x_d = 0 (but on the root's own line)
 *
 * Why no link is in two colours, say d and e, of one sign (other signs use other links). Dimension j of colour
 * d is used where x_d > 0 and x = 0 in the dimensions from j + 1 to d - 1 (cyclic), in d itself on the root's line.
 * Of d and e one, say d, comes first when counting from j + 1; then e's use of j needs x_d = 0. And the hop from the
 * last node of a ring to the first is in no line of any colour, and the closing hop of colour j only.
 */
#include <stdlib.h>

#include "pami/coll_algorithms.h"
#include "pami/coll_board.h"

#define COLOURS EMU_LINKS
/* Bytes after which a relay goes on: few fill the trees sooner, many cost it less. A share of a colour. */
#define NOTIFY_SHARE 96u
#define NOTIFY_MIN   4096u
#define NOTIFY_MAX   32768u
#define CHUNK   32768u /* most bytes of one descriptor */

struct colour {
	uint64_t from, bytes; /* part of the data */
	unsigned targets;
	struct {
		uint8_t link, one;
		uint64_t sent;
	} target[EMU_DIMS];
};

struct rectangle {
	unsigned colours;
	int root; /* the root's node */
	uint64_t notify;
	struct colour colour[COLOURS];
	uint64_t last[EMU_LINKS]; /* descriptor to wait for, by link */
};

int pami_rectangle_usable(const struct pami_geometry *g)
{
	const struct pami_hw *hw = g->hw;

	/* Lines have one user a node: the world. */
	return hw && hw->whole && hw->gi && !hw->id;
}

static void target_add(struct colour *k, unsigned link, int one)
{
	k->target[k->targets].link = (uint8_t)link;
	k->target[k->targets].one = (uint8_t)one;
	k->target[k->targets++].sent = 0;
}

/* Where this node, x from the root, sends what it gets of colour (d, plus). */
static void colour_targets(struct colour *k, const struct emu_shape *shape, const unsigned *x, unsigned d, unsigned plus)
{
	unsigned got = 0, others = 0; /* place in the order of the dimension it comes by; is another x > 0? */

	k->targets = 0;
	for (unsigned i = 1; i < EMU_DIMS; i++)
		if (x[(d + i) % EMU_DIMS]) {
			got = i;
			others = 1;
		}
	if (!x[d]) {
		if (!others)
			target_add(k, emu_link(d, plus), 0); /* the root */
		return;
	}
	for (unsigned i = got + 1; i < EMU_DIMS; i++)
		if (shape->n[(d + i) % EMU_DIMS] > 1)
			target_add(k, emu_link((d + i) % EMU_DIMS, plus), 0);
	if (others && x[d] == shape->n[d] - 1u)
		target_add(k, emu_link(d, plus), 1);
}

static struct rectangle *rectangle_new(const struct pami_coll *c)
{
	const struct emu_shape *shape = &c->context->client->job->shape;
	struct rectangle *r = calloc(1, sizeof *r);
	struct emu_coord root, here;
	uint64_t part, from = 0;
	unsigned dims = 0;

	if (!r)
		return NULL;
	mu_task_coord(pami_endpoint_task(pami_geometry_endpoint(c->geometry, c->root)), &root);
	mu_task_coord(c->context->client->job->task, &here);
	r->root = !memcmp(root.c, here.c, EMU_DIMS);
	for (unsigned d = 0; d < EMU_DIMS; d++)
		dims += shape->n[d] > 1;
	part = (c->bytes + 2 * dims - 1) / (2 * dims);
	part = (part + MU_PACKET_BYTES - 1) / MU_PACKET_BYTES * MU_PACKET_BYTES;
	r->notify = part / NOTIFY_SHARE / MU_PACKET_BYTES * MU_PACKET_BYTES;
	r->notify = r->notify < NOTIFY_MIN ? NOTIFY_MIN : r->notify > NOTIFY_MAX ? NOTIFY_MAX : r->notify;
	for (unsigned link = 0; link < EMU_LINKS; link++) {
		unsigned d = emu_link_dim(link), plus = emu_link_plus(link), x[EMU_DIMS];
		struct colour *k = &r->colour[r->colours];

		if (shape->n[d] < 2)
			continue;
		for (unsigned j = 0; j < EMU_DIMS; j++)
			x[j] = (unsigned)(plus ? here.c[j] + shape->n[j] - root.c[j] : root.c[j] + shape->n[j] - here.c[j]) %
			       shape->n[j];
		k->from = from < c->bytes ? from : c->bytes;
		k->bytes = c->bytes - k->from < part ? c->bytes - k->from : part;
		from += part;
		colour_targets(k, shape, x, d, plus);
		r->colours++;
	}
	return r;
}

static void expect(struct pami_coll *c, const struct rectangle *r)
{
	uint64_t bytes[COLOURS];

	for (unsigned i = 0; i < r->colours; i++)
		bytes[i] = r->root ? 0 : r->colour[i].bytes;
	mu_line_expect(c->context->channel, c->geometry->hw->id, c->data, r->colours, bytes, r->notify);
}

/* Send on what is here. Returns whether this colour is all here and sent. */
static int colour_go(struct pami_coll *c, struct rectangle *r, unsigned i)
{
	struct colour *k = &r->colour[i];
	uint64_t here = r->root ? k->bytes : k->bytes - mu_line_left(c->geometry->hw->id, i);
	int done = here == k->bytes;

	for (unsigned t = 0; t < k->targets; t++) {
		uint64_t *sent = &k->target[t].sent;

		while (*sent < here && (here == k->bytes || here - *sent >= r->notify / 2)) {
			uint64_t n = here - *sent < CHUNK ? here - *sent : CHUNK;
			unsigned link = k->target[t].link;

			if (mu_line_post(c->context->channel, c->geometry->hw->id, i, link, k->target[t].one,
			                 c->data + k->from + *sent, n, k->from + *sent, &r->last[link]))
				break; /* the FIFO is full */
			mu_charge(MU_COST_descriptor, 1);
			*sent += n;
		}
		done &= *sent == k->bytes;
	}
	return done;
}

static int go(struct pami_coll *c, struct rectangle *r)
{
	int done = 1;

	for (unsigned i = 0; i < r->colours; i++)
		done &= colour_go(c, r, i);
	for (unsigned link = 0; done && link < EMU_LINKS; link++)
		done = mu_line_done(link) >= r->last[link];
	return done;
}

int pami_rectangle(struct pami_coll *c)
{
	struct pami_hw *hw = c->geometry->hw;
	struct rectangle *r = (void *)c->own;
	int rc = 0;

	if (hw->me)
		return pami_board_follow(c);
	switch (c->phase) {
	case 0:
		r = rectangle_new(c);
		c->own = (void *)r;
		return r ? PAMI_COLL_WAIT : -ENOMEM;
	case 1:
		rc = pami_hw_turn(c);
		rc = rc || hw->locals == 1 ? rc : pami_board_fetch(c);
		if (rc)
			return rc;
		expect(c, r);
		pami_hw_gi_enter(c);
		return PAMI_COLL_WAIT;
	case 2:
		return pami_hw_gi_left(c) ? PAMI_COLL_WAIT : PAMI_COLL_POLL;
	case 3:
		if (!go(c, r))
			return PAMI_COLL_POLL;
		if (hw->locals > 1)
			pami_board_show(c);
		return PAMI_COLL_WAIT;
	default:
		if (hw->locals > 1)
			return pami_board_shown(c);
		hw->count.turn++;
		return PAMI_COLL_DONE;
	}
}
