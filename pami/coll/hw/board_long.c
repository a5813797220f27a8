/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: long data of several members of a node, in slices: while one is on the class route, the next
 * is combined and the one before is copied. Guarded by bench/figures/coll_figures.
 *
 *   leader   waits for the parts of all members (reductions), or for all nodes (broadcast)  --go-->
 *   member   combines its share of slice after slice, as the ring has room; the root of a broadcast
 *            copies its data there
 *   leader   hands full slices to the MU; frees those it has read; publishes how much has arrived
 *   member   copies the result from the leader's memory up to there, then counts itself in `taken`
 */
#include "pami/coll/hw/board_state.h"
#include "pami/core/error.h"

#define SLICE_MIN 8192u
#define SLICES    64u /* the number of slices, where the bounds of a slice allow it */
#define SHARE     64u /* a share is a multiple of this, a line */

struct board_slices {
	uint64_t count, bytes;  /* slices that go through the ring; bytes of each */
	uint64_t mine;          /* slices to which this member has given its share */
	uint64_t posted, freed; /* leader: slices */
	uint64_t sequence[PAMI_BOARD_RING];
	uint64_t shown;   /* leader: bytes of the result that it has announced */
	uint64_t pulled;  /* bytes of the result that this member has copied */
	uint64_t pulling; /* bytes that it is about to copy; 0: none */
	uint64_t got;     /* bytes of those that pami_board_read() has brought */
	uint64_t got_sum; /* the same for the share of member `next` */
	uint32_t next;    /* the member whose share is added next */
	uint32_t pullers;
	bool sums;             /* this member fills the ring */
	bool ring;             /* some member does */
	unsigned char other[]; /* another member's share */
};

static uint64_t slice_bytes(uint64_t bytes)
{
	uint64_t n = (bytes / SLICES + 511) & ~511ull;

	return n < SLICE_MIN ? SLICE_MIN : n > PAMI_SLICE_MAX ? PAMI_SLICE_MAX : n;
}

static bool is_broadcast(const struct pami_coll *c)
{
	return c->type == PAMI_XFER_BROADCAST;
}

static struct board_slices *slices_new(struct pami_coll *c, uint32_t root)
{
	const struct pami_hw *hw = pami_hw_of(c);
	uint64_t bytes = slice_bytes(c->bytes);
	struct board_slices *l = pami_coll_buffer(c, sizeof *l + bytes / hw->locals + 2 * SHARE);
	int root_follows = root && root < hw->locals;

	if (!l)
		return NULL;
	memset(l, 0, sizeof *l);
	l->bytes = bytes;
	l->ring = !is_broadcast(c) || root_follows;
	l->sums = !is_broadcast(c) || (root_follows && root == hw->me);
	l->count = l->ring ? (c->bytes + bytes - 1) / bytes : 0;
	l->pullers = c->type == PAMI_XFER_REDUCE
			 ? (uint32_t)root_follows
			 : hw->locals - 1 - (uint32_t)(is_broadcast(c) && root_follows);
	return l;
}

/* True if the result comes to this node. */
static bool is_wanted_here(const struct pami_coll *c, uint32_t root)
{
	return c->type != PAMI_XFER_REDUCE || root < pami_hw_of(c)->locals;
}

int pami_board_begin(struct pami_coll *c)
{
	uint32_t root = c->type == PAMI_XFER_ALLREDUCE ? 0 : pami_board_root_index(c);

	pami_hw_state_of(c)->slices = slices_new(c, root);
	if (!pami_hw_state_of(c)->slices)
		return -ENOMEM;
	if (pami_hw_of(c)->me || is_broadcast(c) || c->target || !is_wanted_here(c, root))
		return 0;
	/* The leader's place for the result on its way to a root here. */
	pami_hw_state_of(c)->result = pami_coll_buffer(c, c->bytes);
	return pami_hw_state_of(c)->result ? 0 : -ENOMEM;
}

/* True if this member copies the result from the leader. */
static bool has_to_pull(const struct pami_coll *c, uint32_t root)
{
	const struct pami_hw *hw = pami_hw_of(c);

	return hw->me && (c->type == PAMI_XFER_ALLREDUCE ||
			  (c->type == PAMI_XFER_REDUCE) == (root == hw->me));
}

static unsigned char *ring_slot(struct pami_coll *c, uint64_t slice)
{
	return (unsigned char *)pami_board_member(pami_board_of(c),
						  c->context->client->job->shape.t) +
	       slice % PAMI_BOARD_RING * PAMI_SLICE_MAX;
}

static uint64_t slice_length(const struct pami_coll *c, const struct board_slices *l,
			     uint64_t slice)
{
	uint64_t left = c->bytes - slice * l->bytes;

	return left < l->bytes ? left : l->bytes;
}

/* ---- Into the ring ---- */

/* Combine this member's share of a slice. Returns true when it is complete. */
static bool sum_share(struct pami_coll *c, struct board_slices *l, unsigned char *to,
		      uint64_t bytes)
{
	const struct pami_hw *hw = pami_hw_of(c);
	uint64_t lines = (bytes + SHARE - 1) / SHARE,
		 share = (lines + hw->locals - 1) / hw->locals * SHARE;
	uint64_t from = share * hw->me, at = l->mine * l->bytes, n;

	n = from >= bytes ? 0 : bytes - from < share ? bytes - from : share;
	for (; l->next < hw->locals && n; l->next++) {
		uint32_t i = l->next;
		uint64_t theirs = pami_board_member(pami_board_of(c), i)
				      ->slot[pami_hw_state_of(c)->ticket % PAMI_BOARD_TURNS]
				      .address;

		if (i == hw->me) {
			if (!i)
				memcpy(to + from, c->data + at + from, n);
		} else if (!pami_board_read(c, i, i ? l->other : to + from, theirs + at + from, n,
					    &l->got_sum)) {
			return false;
		}
		if (i)
			pami_coll_apply(c, to + from, i == hw->me ? c->data + at + from : l->other,
					n);
		mu_charge(MU_COST_copy_byte, n);
	}
	l->next = 0;
	return true;
}

/* Fill as many slices as there is room for. Returns true if it filled some. */
static bool fill_slices(struct pami_coll *c, struct board_slices *l)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	bool some = false;

	while (l->sums && l->mine < l->count) {
		uint64_t k = hw->count.slices + l->mine, n = slice_length(c, l, l->mine);

		if (k >= PAMI_BOARD_RING &&
		    !pami_board_await(c, &b->freed, k + 1 - PAMI_BOARD_RING))
			break;
		if (is_broadcast(c)) {
			memcpy(ring_slot(c, k), c->data + l->mine * l->bytes, n);
			mu_charge(MU_COST_copy_byte, n);
		} else if (!sum_share(c, l, ring_slot(c, k), n)) {
			break;
		}
		if (hw->me)
			pami_word_add(c, &b->summed[k % PAMI_BOARD_RING],
				      is_broadcast(c) ? hw->locals - 1 : 1,
				      (k / PAMI_BOARD_RING + 1) * (hw->locals - 1), hw->task[0]);
		l->mine++;
		some = true;
	}
	return some;
}

/* ---- Leader ---- */

/* Move data to and from the class route. Returns true if something moved. */
static bool drive_route(struct pami_coll *c, struct board_slices *l, const struct pami_hw_op *h,
			unsigned type, int wants)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	bool some = false;
	int rc;

	while (l->posted < l->count && (is_broadcast(c) || l->posted < l->mine)) {
		uint64_t k = hw->count.slices + l->posted;

		if (!pami_board_await(c, &b->summed[k % PAMI_BOARD_RING],
				      (k / PAMI_BOARD_RING + 1) * (hw->locals - 1)))
			break;
		rc = pami_hw_post(c, h, type, ring_slot(c, k), slice_length(c, l, l->posted),
				  l->posted * l->bytes);
		if (rc)
			break; /* the FIFO is full */
		l->sequence[k % PAMI_BOARD_RING] = pami_hw_state_of(c)->sequence;
		l->posted++;
		some = true;
	}
	while (l->freed < l->posted &&
	       mu_coll_done(hw->id) >=
		   l->sequence[(hw->count.slices + l->freed) % PAMI_BOARD_RING]) {
		l->freed++;
		some = true;
		pami_word_store(c, &b->freed, hw->count.slices + l->freed, MU_NODE_ALL);
	}
	if (wants && l->pullers) {
		uint64_t here = c->bytes - mu_coll_bytes_left(hw->id);

		if (here > l->shown && (here == c->bytes || here - l->shown >= l->bytes)) {
			l->shown = here;
			some = true;
			pami_word_store(c, &b->arrived, hw->count.arrived + here, MU_NODE_ALL);
		}
	}
	return some;
}

static int finish_slices(struct pami_coll *c, const struct board_slices *l)
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
	struct board_slices *l = pami_hw_state_of(c)->slices;
	struct pami_hw_op h = pami_hw_or;
	unsigned type = is_broadcast(c)               ? MUHWI_COLLECTIVE_TYPE_BROADCAST
			: c->type == PAMI_XFER_REDUCE ? MUHWI_COLLECTIVE_TYPE_REDUCE
						      : MUHWI_COLLECTIVE_TYPE_ALLREDUCE;
	int rc;

	if (!is_broadcast(c))
		pami_hw_find_op(c->op, c->element, &h);
	/* The leader is the root, so it sends all at once, from its own memory. */
	if (is_broadcast(c) && !root && !pami_hw_state_of(c)->sequence) {
		rc = pami_hw_post(c, &h, type, c->data, c->bytes, 0);
		if (rc)
			return rc;
	}
	pami_board_serve(c);
	while (fill_slices(c, l) | drive_route(c, l, &h, type, wants))
		;
	if (l->freed < l->count || (wants && mu_coll_bytes_left(hw->id)) ||
	    (is_broadcast(c) && !root && mu_coll_done(hw->id) < pami_hw_state_of(c)->sequence) ||
	    (l->pullers &&
	     !pami_board_await(c, &pami_board_of(c)->taken, hw->count.taken + l->pullers)))
		return PAMI_COLL_POLL;
	return finish_slices(c, l);
}

static int run_leader(struct pami_coll *c, uint32_t root)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	int wants = is_wanted_here(c, root);
	unsigned char *to = is_broadcast(c) ? c->data : c->target;
	const struct board_slices *l = pami_hw_state_of(c)->slices;

	switch (c->phase) {
	case 0:
		if (!is_broadcast(c) && !pami_board_await_parts(c))
			return PAMI_COLL_POLL;
		to = to ? to : pami_hw_state_of(c)->result;
		pami_board_member(b, 0)
		    ->slot[pami_hw_state_of(c)->ticket % PAMI_BOARD_TURNS]
		    .address = (uint64_t)(uintptr_t)c->data;
		b->from = (uint64_t)(uintptr_t)to;
		if (wants)
			mu_coll_expect(c->context->channel, hw->id, to, c->bytes,
				       l->pullers ? l->bytes : 0);
		if (is_broadcast(c))
			pami_hw_gi_enter(c);
		return PAMI_COLL_WAIT;
	case 1:
		if (is_broadcast(c) && !pami_hw_gi_is_over(c))
			return PAMI_COLL_POLL;
		pami_word_store(c, &b->go, pami_hw_state_of(c)->ticket + 1, MU_NODE_ALL);
		return PAMI_COLL_WAIT;
	default:
		return lead_on(c, root, wants);
	}
}

/* ---- The others ---- */

/* Copy what has arrived at the leader. Returns true if it copied some. */
static bool pull_slices(struct pami_coll *c, struct board_slices *l)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	uint64_t here = pami_word_load(&b->arrived) - hw->count.arrived, n = here - l->pulled;

	/* The count is that of the operation before, or there is nothing new. */
	if (here > c->bytes || !n)
		return false;
	if (!l->pulling)
		l->pulling = n < PAMI_SLICE_MAX ? n : PAMI_SLICE_MAX;
	if (!pami_board_read(c, 0, (is_broadcast(c) ? c->data : c->target) + l->pulled,
			     b->from + l->pulled, l->pulling, &l->got))
		return false;
	mu_charge(MU_COST_copy_byte, l->pulling);
	l->pulled += l->pulling;
	l->pulling = 0;
	return true;
}

/* Count this member in: it has the result. */
static void report_taken(struct pami_coll *c, const struct board_slices *l)
{
	struct pami_hw *hw = pami_hw_of(c);

	pami_word_add(c, &pami_board_of(c)->taken, 1, hw->count.taken + l->pullers, hw->task[0]);
}

static int follow_on(struct pami_coll *c, uint32_t root)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	struct board_slices *l = pami_hw_state_of(c)->slices;
	int wants = has_to_pull(c, root);

	pami_board_serve(c);
	while (fill_slices(c, l) | (wants && pull_slices(c, l)))
		;
	if (l->sums && l->mine < l->count)
		return PAMI_COLL_POLL; /* the word to sleep on is `freed` */
	if (wants && l->pulled < c->bytes) {
		if (!hw->request)
			mu_watch(c->context->channel, ATOMIC_AT(&b->arrived.v),
				 hw->count.arrived + l->pulled + 1);
		return PAMI_COLL_POLL;
	}
	/* Other members may still read this member's data. */
	if (!wants && !is_broadcast(c) &&
	    !pami_board_await(c, &b->freed, hw->count.slices + l->count))
		return PAMI_COLL_POLL;
	if (wants)
		report_taken(c, l);
	return finish_slices(c, l);
}

static int run_follower(struct pami_coll *c, uint32_t root)
{
	struct pami_board *b = pami_board_of(c);

	switch (c->phase) {
	case 0:
		if (!is_broadcast(c)) {
			if (!pami_board_await_place(c))
				return PAMI_COLL_POLL;
			pami_board_member(b, pami_hw_of(c)->me)
			    ->slot[pami_hw_state_of(c)->ticket % PAMI_BOARD_TURNS]
			    .address = (uint64_t)(uintptr_t)c->data;
			pami_board_up(c);
		}
		return PAMI_COLL_WAIT;
	case 1:
		return pami_board_await(c, &b->go, pami_hw_state_of(c)->ticket + 1)
			   ? PAMI_COLL_WAIT
			   : PAMI_COLL_POLL;
	default:
		return follow_on(c, root);
	}
}

int pami_board_long(struct pami_coll *c, uint32_t root)
{
	return pami_hw_of(c)->me ? run_follower(c, root) : run_leader(c, root);
}

/* ---- A broadcast that uses other hardware between the leaders ---- */

/* Return how many members copy from the leader. */
static uint32_t count_pullers(const struct pami_coll *c)
{
	uint32_t root = pami_board_root_index(c), others = pami_hw_of(c)->locals - 1;

	return root && root <= others ? others - 1 : others;
}

int pami_board_fetch(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	uint32_t root = pami_board_root_index(c);
	unsigned k = pami_hw_state_of(c)->ticket % PAMI_BOARD_TURNS;

	if (!root || root >= hw->locals)
		return 0;
	if (!pami_board_await(c, &pami_board_member(b, root)->slot[k].said,
			      pami_hw_state_of(c)->ticket + 1) ||
	    !pami_board_read(c, root, c->data, pami_board_member(b, root)->slot[k].address,
			     c->bytes, &pami_hw_state_of(c)->fetched))
		return PAMI_COLL_POLL;
	mu_charge(MU_COST_copy_byte, c->bytes);
	pami_word_store(c, &b->go, pami_hw_state_of(c)->ticket + 1, hw->task[root]);
	return 0;
}

void pami_board_show(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);

	b->from = (uint64_t)(uintptr_t)c->data;
	if (count_pullers(c))
		pami_word_store(c, &b->arrived, hw->count.arrived + c->bytes, MU_NODE_ALL);
}

/* Finish; the counts become the same at all members. */
static int finish_shown(struct pami_coll *c)
{
	struct board_slices l = {.pullers = count_pullers(c)};

	return finish_slices(c, &l);
}

int pami_board_shown(struct pami_coll *c)
{
	uint32_t n = count_pullers(c);

	pami_board_serve(c);
	if (n && !pami_board_await(c, &pami_board_of(c)->taken, pami_hw_of(c)->count.taken + n))
		return PAMI_COLL_POLL;
	return finish_shown(c);
}

static int follow_shown(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct board_slices *l = pami_hw_state_of(c)->slices;

	if (!pami_board_await(c, &pami_board_of(c)->arrived, hw->count.arrived + c->bytes))
		return PAMI_COLL_POLL;
	while (pull_slices(c, l))
		;
	if (l->pulled < c->bytes)
		return PAMI_COLL_POLL;
	report_taken(c, l);
	return finish_shown(c);
}

int pami_board_follow(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	struct pami_board_member *m = pami_board_member(b, hw->me);
	unsigned k = pami_hw_state_of(c)->ticket % PAMI_BOARD_TURNS;
	int rc = pami_hw_turn(c);

	if (rc)
		return rc;
	if (c->rank != c->root)
		return follow_shown(c);
	if (!c->phase) {
		if (!pami_board_await_place(c))
			return PAMI_COLL_POLL;
		m->slot[k].address = (uint64_t)(uintptr_t)c->data;
		pami_word_store(c, &m->slot[k].said, pami_hw_state_of(c)->ticket + 1, hw->task[0]);
		return PAMI_COLL_WAIT;
	}
	pami_board_serve(c);
	return pami_board_await(c, &b->go, pami_hw_state_of(c)->ticket + 1) ? finish_shown(c)
									    : PAMI_COLL_POLL;
}
