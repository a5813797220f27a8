/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast over edge-disjoint spanning trees (emu/lines.h), one for each colour, by lines: packets
 * with the deposit bit. So the root sends on many links at once. Guarded by
 * bench/figures/coll_figures.
 */
#include <stdlib.h>

#include "emu/lines.h"
#include "pami/coll/algorithms.h"
#include "pami/coll/hw/board.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/geometry/geometry.h"

#define COLOURS EMU_LINES_COLOURS
/*
 * A relay sends on when so many bytes have arrived: fewer fill the trees sooner, more cost it less.
 * A share of the bytes of a colour, within bounds.
 */
#define NOTIFY_SHARE 96u
#define NOTIFY_MIN   4096u
#define NOTIFY_MAX   32768u
#define CHUNK        32768u /* bytes of one descriptor at most */

struct colour {
	uint64_t from, bytes; /* part of the data */
	struct emu_lines lines;
	uint64_t sent[EMU_LINES_MAX];
};

struct rectangle {
	unsigned colours;
	bool root; /* this is the root's node */
	uint64_t notify;
	struct colour colour[COLOURS];
	uint64_t last[EMU_LINKS]; /* descriptor to wait for, by link */
};

/*
 * The lines of a node have one user: the channel of the first context of its first task. So a
 * geometry may use them if that is its leader at each node.
 */
static bool owns_lines(const struct pami_geometry *g)
{
	const struct mu_job *job = g->client->job;
	uint32_t *first = calloc(job->nodes, sizeof *first); /* 1: a rank on that node was seen */
	bool owns = first != NULL;

	for (uint32_t r = 0; r < g->size && owns; r++) {
		pami_endpoint_t e = pami_geometry_endpoint(g, r);
		struct emu_coord x;
		uint32_t node;

		mu_task_coord(pami_endpoint_task(e), &x);
		node = emu_coord_node(&job->shape, &x);
		owns = first[node] || (!x.t && e == pami_endpoint(pami_endpoint_task(e), 0));
		first[node] = 1;
	}
	free(first);
	return owns;
}

bool pami_rectangle_usable(const struct pami_geometry *g)
{
	struct pami_hw *hw = g->hw;

	if (!hw || !hw->gi || !hw->boxed ||
	    emu_lines_colours(&g->client->job->shape, &hw->box) < 2 || g->client->slot)
		return false;
	if (hw->lines == PAMI_LINES_UNKNOWN)
		hw->lines = owns_lines(g) ? PAMI_LINES_YES : PAMI_LINES_NO;
	return hw->lines == PAMI_LINES_YES;
}

static struct rectangle *rectangle_new(struct pami_coll *c)
{
	const struct emu_shape *shape = &c->context->client->job->shape;
	const struct emu_box *box = &c->geometry->hw->box;
	struct rectangle *r = pami_coll_buffer(c, sizeof *r);
	struct emu_coord root, here;
	uint64_t part, from = 0;

	if (!r)
		return NULL;
	memset(r, 0, sizeof *r);
	mu_task_coord(pami_endpoint_task(pami_geometry_endpoint(c->geometry, c->root)), &root);
	mu_task_coord(c->context->client->job->task, &here);
	r->root = !memcmp(root.c, here.c, EMU_DIMS);
	r->colours = emu_lines_colours(shape, box);
	part = (c->bytes + r->colours - 1) / r->colours;
	part = (part + MU_PACKET_BYTES - 1) / MU_PACKET_BYTES * MU_PACKET_BYTES;
	r->notify = part / NOTIFY_SHARE / MU_PACKET_BYTES * MU_PACKET_BYTES;
	r->notify = r->notify < NOTIFY_MIN   ? NOTIFY_MIN
		    : r->notify > NOTIFY_MAX ? NOTIFY_MAX
					     : r->notify;
	for (unsigned i = 0; i < r->colours; i++, from += part) {
		struct colour *k = &r->colour[i];

		k->from = from < c->bytes ? from : c->bytes;
		k->bytes = c->bytes - k->from < part ? c->bytes - k->from : part;
		emu_lines_at(shape, box, &root, &here, i, &k->lines);
	}
	return r;
}

static void expect_data(struct pami_coll *c, const struct rectangle *r)
{
	uint64_t bytes[COLOURS];

	for (unsigned i = 0; i < r->colours; i++)
		bytes[i] = r->root ? 0 : r->colour[i].bytes;
	mu_line_expect(c->context->channel, c->geometry->hw->id, c->data, r->colours, bytes,
		       r->notify);
}

/* Send on what has arrived. Returns true if this colour is complete and sent. */
static bool relay_colour(struct pami_coll *c, struct rectangle *r, unsigned i)
{
	struct colour *k = &r->colour[i];
	uint64_t here = r->root ? k->bytes : k->bytes - mu_line_bytes_left(c->geometry->hw->id, i);
	bool done = here == k->bytes;

	for (unsigned t = 0; t < k->lines.count; t++) {
		uint64_t *sent = &k->sent[t];

		while (*sent < here && (here == k->bytes || here - *sent >= r->notify / 2)) {
			uint64_t n = here - *sent < CHUNK ? here - *sent : CHUNK;
			unsigned link = k->lines.to[t].link;

			if (mu_line_post(c->context->channel, c->geometry->hw->id, i, link,
					 k->lines.to[t].hops, c->data + k->from + *sent, n,
					 k->from + *sent, &r->last[link]))
				break; /* the FIFO is full */
			mu_charge(MU_COST_descriptor, 1);
			*sent += n;
		}
		done &= *sent == k->bytes;
	}
	return done;
}

/* Returns true if all colours are complete, and the MU has read what this node sends. */
static bool relay_all(struct pami_coll *c, struct rectangle *r)
{
	bool done = true;

	for (unsigned i = 0; i < r->colours; i++)
		done &= relay_colour(c, r, i);
	for (unsigned link = 0; done && link < EMU_LINKS; link++)
		done = mu_line_done(link) >= r->last[link];
	return done;
}

int pami_rectangle_begin(struct pami_coll *c)
{
	struct pami_hw_state *state = pami_hw_state_of(c);
	struct pami_hw *hw = pami_hw_of(c);
	int rc;

	if (!hw || !c->bytes)
		return pami_hw_begin(c); /* which takes the choice among software */
	*state = (struct pami_hw_state){0};
	if (hw->me) {
		rc = pami_board_begin(c);
		if (rc)
			return rc;
	} else if (!(state->rectangle = rectangle_new(c))) {
		return -ENOMEM;
	}
	state->ticket = hw->tickets++;
	return 0;
}

int pami_rectangle(struct pami_coll *c)
{
	struct pami_hw *hw = c->geometry->hw;
	struct rectangle *r = pami_hw_state_of(c)->rectangle;
	int rc = 0;

	if (hw->me)
		return pami_board_follow(c);
	switch (c->phase) {
	case 0:
		rc = pami_hw_turn(c);
		rc = rc || hw->locals == 1 ? rc : pami_board_fetch(c);
		if (rc)
			return rc;
		expect_data(c, r);
		pami_hw_gi_enter(c);
		return PAMI_COLL_WAIT;
	case 1:
		return pami_hw_gi_is_over(c) ? PAMI_COLL_WAIT : PAMI_COLL_POLL;
	case 2:
		if (!relay_all(c, r))
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
