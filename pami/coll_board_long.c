/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: long data of several members of a node, in slices: while one is on the class route the next is summed and the
 * one before is copied. Guarded by bench/coll_figures.
 *
 *   the leader     hears all (reductions), or waits for all nodes (broadcast) -- go -->
 *   everybody      sums its share of slice after slice, as the ring has room; a broadcast's root copies it there
 *   the leader     hands full slices to the MU; frees what it has read; says how much has arrived
 *   who wants it   copies from the leader's memory up to there, then says so
 */
#include <stdlib.h>

#include "pami/coll_board_state.h"

#define SLICE_MIN 8192u
#define SLICES    64u /* about so many, between the bounds */
#define SHARE     64u /* a member sums a multiple of this, a line */

struct slices {
	uint64_t count, bytes;  /* of the ring; of each */
	uint64_t mine;          /* those this member has given its part of */
	uint64_t posted, freed; /* leader */
	uint64_t sequence[PAMI_BOARD_RING];
	uint64_t shown, pulled; /* bytes said to be here; copied from the leader */
	uint64_t pulling;       /* bytes it is about to copy; 0: none */
	uint64_t got, got_sum;  /* of them; of the share of the member it adds next */
	uint32_t next;          /* that member's index */
	uint32_t pullers;
	uint8_t sums, ring;     /* this member fills the ring; somebody does */
	unsigned char other[];  /* another member's share */
};

static uint64_t slice_bytes(uint64_t bytes)
{
	uint64_t n = (bytes / SLICES + 511) & ~511ull;

	return n < SLICE_MIN ? SLICE_MIN : n > PAMI_SLICE_MAX ? PAMI_SLICE_MAX : n;
}

static int is_broadcast(const struct pami_coll *c)
{
	return c->type == PAMI_XFER_BROADCAST;
}

static struct slices *slices_new(const struct pami_coll *c, uint32_t root)
{
	const struct pami_hw *hw = pami_hw_of(c);
	uint64_t bytes = slice_bytes(c->bytes);
	struct slices *l = malloc(sizeof *l + bytes / hw->locals + 2 * SHARE);
	int root_follows = root && root < hw->locals;

	if (!l)
		return NULL;
	memset(l, 0, sizeof *l);
	l->bytes = bytes;
	l->ring = !is_broadcast(c) || root_follows;
	l->sums = !is_broadcast(c) || (root_follows && root == hw->me);
	l->count = l->ring ? (c->bytes + bytes - 1) / bytes : 0;
	l->pullers = c->type == PAMI_XFER_REDUCE ? (uint32_t)root_follows : hw->locals - 1 - (uint32_t)(is_broadcast(c) && root_follows);
	return l;
}

/* Does the result come to this node? */
static int wants_here(const struct pami_coll *c, uint32_t root)
{
	return c->type != PAMI_XFER_REDUCE || root < pami_hw_of(c)->locals;
}

int pami_board_begin(struct pami_coll *c)
{
	uint32_t root = c->type == PAMI_XFER_ALLREDUCE ? 0 : pami_board_root_place(c);

	c->own = (void *)slices_new(c, root);
	if (!c->own)
		return -ENOMEM;
	if (pami_hw_of(c)->me || is_broadcast(c) || c->target || !wants_here(c, root))
		return 0;
	c->other = malloc(c->bytes); /* the leader's, on the way to a root here */
	return c->other ? 0 : -ENOMEM;
}

static int pulls(const struct pami_coll *c, uint32_t root)
{
	const struct pami_hw *hw = pami_hw_of(c);

	return hw->me && (c->type == PAMI_XFER_ALLREDUCE || (c->type == PAMI_XFER_REDUCE) == (root == hw->me));
}

static unsigned char *ring(struct pami_coll *c, uint64_t slice)
{
	return (unsigned char *)pami_board_member(pami_board_of(c), c->context->client->job->shape.t) +
	       slice % PAMI_BOARD_RING * PAMI_SLICE_MAX;
}

static uint64_t length(const struct pami_coll *c, const struct slices *l, uint64_t slice)
{
	uint64_t left = c->bytes - slice * l->bytes;

	return left < l->bytes ? left : l->bytes;
}

/* ---- Into the ring ---- */

/* Returns whether it is all there. */
static int sum_share(struct pami_coll *c, struct slices *l, unsigned char *to, uint64_t bytes)
{
	const struct pami_hw *hw = pami_hw_of(c);
	uint64_t lines = (bytes + SHARE - 1) / SHARE, share = (lines + hw->locals - 1) / hw->locals * SHARE;
	uint64_t from = share * hw->me, at = l->mine * l->bytes, n;

	n = from >= bytes ? 0 : bytes - from < share ? bytes - from : share;
	for (; l->next < hw->locals && n; l->next++) {
		uint32_t i = l->next;
		uint64_t theirs = pami_board_member(pami_board_of(c), i)->slot[c->number % PAMI_BOARD_TURNS].address;

		if (i == hw->me) {
			if (!i)
				memcpy(to + from, c->data + at + from, n);
		} else if (!pami_board_read(c, i, i ? l->other : to + from, theirs + at + from, n, &l->got_sum)) {
			return 0;
		}
		if (i)
			pami_coll_apply(c, to + from, i == hw->me ? c->data + at + from : l->other, n);
		mu_charge(MU_COST_copy_byte, n);
	}
	l->next = 0;
	return 1;
}

/* As many slices as there is room for. Returns whether it was some. */
static int fill(struct pami_coll *c, struct slices *l)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	int some = 0;

	while (l->sums && l->mine < l->count) {
		uint64_t k = hw->count.slices + l->mine, n = length(c, l, l->mine);

		if (k >= PAMI_BOARD_RING && !pami_board_is(c, &b->freed, k + 1 - PAMI_BOARD_RING))
			break;
		if (is_broadcast(c)) {
			memcpy(ring(c, k), c->data + l->mine * l->bytes, n);
			mu_charge(MU_COST_copy_byte, n);
		} else if (!sum_share(c, l, ring(c, k), n)) {
			break;
		}
		if (hw->me)
			mu_node_add(c->context->channel, &b->summed[k % PAMI_BOARD_RING].v,
			            is_broadcast(c) ? hw->locals - 1 : 1, (k / PAMI_BOARD_RING + 1) * (hw->locals - 1),
			            hw->task[0]);
		l->mine++;
		some = 1;
	}
	return some;
}

/* ---- Leader ---- */

/* To and from the class route. Returns whether something moved. */
static int drive(struct pami_coll *c, struct slices *l, const struct pami_hw_op *h, unsigned type, int wants)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	int some = 0, rc;

	while (l->posted < l->count && (is_broadcast(c) || l->posted < l->mine)) {
		uint64_t k = hw->count.slices + l->posted;

		if (!pami_board_is(c, &b->summed[k % PAMI_BOARD_RING], (k / PAMI_BOARD_RING + 1) * (hw->locals - 1)))
			break;
		rc = pami_hw_post(c, h, type, ring(c, k), length(c, l, l->posted), l->posted * l->bytes);
		if (rc)
			break; /* the FIFO is full */
		l->sequence[k % PAMI_BOARD_RING] = c->turn;
		l->posted++;
		some = 1;
	}
	while (l->freed < l->posted &&
	       mu_coll_done(hw->id) >= l->sequence[(hw->count.slices + l->freed) % PAMI_BOARD_RING]) {
		l->freed++;
		some = 1;
		mu_node_store(c->context->channel, &b->freed.v, hw->count.slices + l->freed, MU_NODE_ALL);
	}
	if (wants && l->pullers) {
		uint64_t here = c->bytes - mu_coll_left(hw->id);

		if (here > l->shown && (here == c->bytes || here - l->shown >= l->bytes)) {
			l->shown = here;
			some = 1;
			mu_node_store(c->context->channel, &b->arrived.v, hw->count.arrived + here, MU_NODE_ALL);
		}
	}
	return some;
}

static int finish(struct pami_coll *c, const struct slices *l)
{
	struct pami_hw *hw = pami_hw_of(c);

	hw->count.slices += l->count;
	hw->count.taken += l->pullers;
	if (l->pullers)
		hw->count.arrived += c->bytes;
	return pami_board_finish(c);
}

static int lead_on(struct pami_coll *c, uint32_t root, int wants)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct slices *l = (void *)c->own;
	struct pami_hw_op h = pami_hw_or;
	unsigned type = is_broadcast(c)		       ? MUHWI_COLLECTIVE_TYPE_BROADCAST :
			c->type == PAMI_XFER_REDUCE ? MUHWI_COLLECTIVE_TYPE_REDUCE :
						      MUHWI_COLLECTIVE_TYPE_ALLREDUCE;
	int rc;

	if (!is_broadcast(c))
		pami_hw_op(c->op, c->element, &h);
	if (is_broadcast(c) && !root && !c->turn) { /* all at once, from its own memory */
		rc = pami_hw_post(c, &h, type, c->data, c->bytes, 0);
		if (rc)
			return rc;
	}
	pami_board_serve(c);
	while (fill(c, l) | drive(c, l, &h, type, wants))
		;
	if (l->freed < l->count || (wants && mu_coll_left(hw->id)) ||
	    (is_broadcast(c) && !root && mu_coll_done(hw->id) < c->turn) ||
	    (l->pullers && !pami_board_is(c, &pami_board_of(c)->taken, hw->count.taken + l->pullers)))
		return PAMI_COLL_POLL;
	return finish(c, l);
}

static int lead(struct pami_coll *c, uint32_t root)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	int wants = wants_here(c, root);
	unsigned char *to = is_broadcast(c) ? c->data : c->target;
	const struct slices *l = (void *)c->own;

	switch (c->phase) {
	case 0:
		if (!is_broadcast(c) && !pami_board_heard(c))
			return PAMI_COLL_POLL;
		to = to ? to : c->other;
		pami_board_member(b, 0)->slot[c->number % PAMI_BOARD_TURNS].address = (uint64_t)(uintptr_t)c->data;
		b->from = (uint64_t)(uintptr_t)to;
		if (wants)
			mu_coll_expect(c->context->channel, hw->id, to, c->bytes, l->pullers ? l->bytes : 0);
		if (is_broadcast(c))
			pami_hw_gi_enter(c);
		return PAMI_COLL_WAIT;
	case 1:
		if (is_broadcast(c) && !pami_hw_gi_left(c))
			return PAMI_COLL_POLL;
		mu_node_store(c->context->channel, &b->go.v, c->number + 1, MU_NODE_ALL);
		return PAMI_COLL_WAIT;
	default:
		return lead_on(c, root, wants);
	}
}

/* ---- The others ---- */

/* Copy what has come. Returns whether it was some. */
static int pull(struct pami_coll *c, struct slices *l)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	uint64_t here = mu_node_load(&b->arrived.v) - hw->count.arrived, n = here - l->pulled;

	if (here > c->bytes || !n) /* of the operation before; nothing new */
		return 0;
	if (!l->pulling)
		l->pulling = n < PAMI_SLICE_MAX ? n : PAMI_SLICE_MAX;
	if (!pami_board_read(c, 0, (is_broadcast(c) ? c->data : c->target) + l->pulled, b->from + l->pulled, l->pulling,
	                     &l->got))
		return 0;
	mu_charge(MU_COST_copy_byte, l->pulling);
	l->pulled += l->pulling;
	l->pulling = 0;
	return 1;
}

static void pulled(struct pami_coll *c, const struct slices *l)
{
	struct pami_hw *hw = pami_hw_of(c);

	mu_node_add(c->context->channel, &pami_board_of(c)->taken.v, 1, hw->count.taken + l->pullers, hw->task[0]);
}

static int follow_on(struct pami_coll *c, uint32_t root)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	struct slices *l = (void *)c->own;
	int wants = pulls(c, root);

	pami_board_serve(c);
	while (fill(c, l) | (wants && pull(c, l)))
		;
	if (l->sums && l->mine < l->count)
		return PAMI_COLL_POLL; /* the word to sleep on is `freed` */
	if (wants && l->pulled < c->bytes) {
		if (!hw->asked)
			mu_watch(c->context->channel, &b->arrived.v, hw->count.arrived + l->pulled + 1);
		return PAMI_COLL_POLL;
	}
	/* Others may still read this member's data. */
	if (!wants && !is_broadcast(c) && !pami_board_is(c, &b->freed, hw->count.slices + l->count))
		return PAMI_COLL_POLL;
	if (wants)
		pulled(c, l);
	return finish(c, l);
}

static int follow(struct pami_coll *c, uint32_t root)
{
	struct pami_board *b = pami_board_of(c);

	switch (c->phase) {
	case 0:
		if (!is_broadcast(c)) {
			if (!pami_board_free(c))
				return PAMI_COLL_POLL;
			pami_board_member(b, pami_hw_of(c)->me)->slot[c->number % PAMI_BOARD_TURNS].address =
				(uint64_t)(uintptr_t)c->data;
			pami_board_up(c);
		}
		return PAMI_COLL_WAIT;
	case 1:
		return pami_board_is(c, &b->go, c->number + 1) ? PAMI_COLL_WAIT : PAMI_COLL_POLL;
	default:
		return follow_on(c, root);
	}
}

int pami_board_long(struct pami_coll *c, uint32_t root)
{
	return pami_hw_of(c)->me ? follow(c, root) : lead(c, root);
}

/* ---- A broadcast that goes another way between the leaders ---- */

/* Members that copy from the leader. */
static uint32_t pullers(const struct pami_coll *c)
{
	uint32_t root = pami_board_root_place(c), others = pami_hw_of(c)->locals - 1;

	return root && root <= others ? others - 1 : others;
}

int pami_board_fetch(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	uint32_t root = pami_board_root_place(c);
	unsigned k = c->number % PAMI_BOARD_TURNS;

	if (!root || root >= hw->locals)
		return 0;
	if (!pami_board_is(c, &pami_board_member(b, root)->slot[k].said, c->number + 1) ||
	    !pami_board_read(c, root, c->data, pami_board_member(b, root)->slot[k].address, c->bytes, &c->there[0]))
		return PAMI_COLL_POLL;
	mu_charge(MU_COST_copy_byte, c->bytes);
	mu_node_store(c->context->channel, &b->go.v, c->number + 1, hw->task[root]);
	return 0;
}

void pami_board_show(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);

	b->from = (uint64_t)(uintptr_t)c->data;
	if (pullers(c))
		mu_node_store(c->context->channel, &b->arrived.v, hw->count.arrived + c->bytes, MU_NODE_ALL);
}

/* The same counts at all members. */
static int spread(struct pami_coll *c)
{
	struct slices l = { .pullers = pullers(c) };

	return finish(c, &l);
}

int pami_board_shown(struct pami_coll *c)
{
	uint32_t n = pullers(c);

	pami_board_serve(c);
	if (n && !pami_board_is(c, &pami_board_of(c)->taken, pami_hw_of(c)->count.taken + n))
		return PAMI_COLL_POLL;
	return spread(c);
}

static int follow_shown(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct slices *l = (void *)c->own;

	if (!pami_board_is(c, &pami_board_of(c)->arrived, hw->count.arrived + c->bytes))
		return PAMI_COLL_POLL;
	while (pull(c, l))
		;
	if (l->pulled < c->bytes)
		return PAMI_COLL_POLL;
	pulled(c, l);
	return spread(c);
}

int pami_board_follow(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	struct pami_board_member *m = pami_board_member(b, hw->me);
	unsigned k = c->number % PAMI_BOARD_TURNS;
	int rc = pami_hw_turn(c);

	if (rc)
		return rc;
	if (c->rank != c->root)
		return follow_shown(c);
	if (!c->phase) {
		if (!pami_board_free(c))
			return PAMI_COLL_POLL;
		m->slot[k].address = (uint64_t)(uintptr_t)c->data;
		mu_node_store(c->context->channel, &m->slot[k].said.v, c->number + 1, hw->task[0]);
		return PAMI_COLL_WAIT;
	}
	pami_board_serve(c);
	return pami_board_is(c, &b->go, c->number + 1) ? spread(c) : PAMI_COLL_POLL;
}
