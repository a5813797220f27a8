/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: barriers and few bytes on a class route, with several members on a node, and the functions
 * on boards that other algorithms use. Guarded by bench/figures/coll_figures.
 */
#include "drivers/base/atomic.h"
#include "pami/coll/hw/board_state.h"
#include "pami/core/macros.h"

/* ---- Turns ---- */

/* The leader writes what all others read; the others write what only the leader reads. */
bool pami_board_await_place(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	uint64_t least = UINT64_MAX, n = pami_hw_state_of(c)->ticket;

	if (n < hw->all_done + PAMI_BOARD_TURNS)
		return true;
	for (uint32_t i = hw->me ? 0 : 1; i < (hw->me ? 1 : hw->locals); i++) {
		struct pami_word *done = &pami_board_member(b, i)->done;
		uint64_t d = pami_word_load(done);

		if (n >= d + PAMI_BOARD_TURNS) {
			atomic_store_seq_cst(&b->stalled.v, 1);
			mu_watch(c->context->channel, ATOMIC_AT(&done->v),
				 n + 1 - PAMI_BOARD_TURNS);
			d = atomic_load_seq_cst(&done->v);
		}
		if (n >= d + PAMI_BOARD_TURNS)
			return false;
		least = d < least ? d : least;
	}
	hw->all_done = least;
	return true;
}

/*
 * Members rarely wait for `done`, so the plain store takes no virtual time. Only a stalled member
 * needs the store that is charged, and that wakes it.
 */
int pami_board_finish(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	struct pami_word *done = &pami_board_member(b, hw->me)->done;

	hw->count.turn++;
	atomic_store_seq_cst(&done->v, hw->count.turn);
	if (PAMI_UNLIKELY(atomic_load_seq_cst(&b->stalled.v))) {
		atomic_store_seq_cst(&b->stalled.v, 0);
		pami_word_store(c, done, hw->count.turn, MU_NODE_ALL);
	}
	mu_watch(c->context->channel, NULL, 0);
	return PAMI_COLL_DONE;
}

bool pami_board_await(struct pami_coll *c, struct pami_word *w, uint64_t value)
{
	if (pami_word_load(w) >= value)
		return true;
	mu_watch(c->context->channel, ATOMIC_AT(&w->v), value);
	return false;
}

void pami_board_up(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	unsigned k = pami_hw_state_of(c)->ticket % PAMI_BOARD_TURNS;

	hw->count.up[k]++;
	pami_word_add(c, &pami_board_of(c)->up[k], 1, hw->count.up[k] * (hw->locals - 1),
		      hw->task[0]);
}

bool pami_board_await_parts(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	unsigned k = pami_hw_state_of(c)->ticket % PAMI_BOARD_TURNS;

	if (!pami_board_await(c, &pami_board_of(c)->up[k],
			      (hw->count.up[k] + 1) * (hw->locals - 1)))
		return false;
	hw->count.up[k]++;
	return true;
}

/* ---- Barrier ---- */

static int barrier_lead(struct pami_coll *c)
{
	switch (c->phase) {
	case 0:
		if (!pami_board_await_parts(c))
			return PAMI_COLL_POLL;
		pami_hw_gi_enter(c);
		return PAMI_COLL_WAIT;
	default:
		if (!pami_hw_gi_is_over(c))
			return PAMI_COLL_POLL;
		pami_word_store(c, &pami_board_of(c)->down, pami_hw_state_of(c)->ticket + 1,
				MU_NODE_ALL);
		return pami_board_finish(c);
	}
}

static int barrier_follow(struct pami_coll *c)
{
	if (!c->phase) {
		if (!pami_board_await_place(c))
			return PAMI_COLL_POLL;
		pami_board_up(c);
		return PAMI_COLL_WAIT;
	}
	return pami_board_await(c, &pami_board_of(c)->down, pami_hw_state_of(c)->ticket + 1)
		   ? pami_board_finish(c)
		   : PAMI_COLL_POLL;
}

/* ---- Few bytes ---- */

/* A copy costs whole lines of the L2. */
static void charge_lines(size_t bytes)
{
	mu_charge(MU_COST_copy_byte, (bytes + 63) & ~(size_t)63);
}

static unsigned char *slot_address(struct pami_coll *c, uint32_t i)
{
	return pami_board_member(pami_board_of(c), i)
	    ->slot[pami_hw_state_of(c)->ticket % PAMI_BOARD_TURNS]
	    .data;
}

static unsigned char *result_address(struct pami_coll *c)
{
	return pami_board_of(c)->out[pami_hw_state_of(c)->ticket % PAMI_BOARD_TURNS];
}

/* in = all parts of this node combined, in rank order. */
static void combine_parts(struct pami_coll *c, int logical)
{
	const struct pami_hw *hw = pami_hw_of(c);
	unsigned char *in = pami_board_of(c)->in;

	memcpy(in, c->data, c->bytes);
	charge_lines(c->bytes);
	for (uint32_t i = 1; i < hw->locals; i++) {
		pami_coll_apply(c, in, slot_address(c, i), c->bytes);
		charge_lines(c->bytes);
	}
	if (logical)
		pami_hw_logical(in, c->bytes, c->element);
}

/* in = the root's data, or zeros. Returns false while the root has not given it. */
static bool bring_root_data(struct pami_coll *c, uint32_t root)
{
	struct pami_board *b = pami_board_of(c);

	if (root && root < pami_hw_of(c)->locals &&
	    !pami_board_await(c,
			      &pami_board_member(b, root)
				   ->slot[pami_hw_state_of(c)->ticket % PAMI_BOARD_TURNS]
				   .said,
			      pami_hw_state_of(c)->ticket + 1))
		return false;
	if (root >= pami_hw_of(c)->locals)
		memset(b->in, 0, c->bytes);
	else
		memcpy(b->in, root ? slot_address(c, root) : c->data, c->bytes);
	charge_lines(c->bytes);
	return true;
}

/* root: its index among the members here; hw->locals: it is on another node. */
static int short_lead(struct pami_coll *c, uint32_t root)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	int reduce = c->type == PAMI_XFER_REDUCE, broadcast = c->type == PAMI_XFER_BROADCAST;
	int wants = !reduce || root < hw->locals, rc;
	unsigned char *to = broadcast ? c->data : c->target;
	struct pami_hw_op h = pami_hw_or;

	if (!broadcast)
		pami_hw_find_op(c->op, c->element, &h);
	switch (c->phase) {
	case 0:
		if (!pami_board_await_place(c) ||
		    !(broadcast ? bring_root_data(c, root) : pami_board_await_parts(c)))
			return PAMI_COLL_POLL;
		if (!broadcast)
			combine_parts(c, h.logical);
		if (wants)
			mu_coll_expect(c->context->channel, hw->id, result_address(c), c->bytes, 0);
		return PAMI_COLL_WAIT;
	case 1:
		return pami_hw_post(
		    c, &h, reduce ? MUHWI_COLLECTIVE_TYPE_REDUCE : MUHWI_COLLECTIVE_TYPE_ALLREDUCE,
		    b->in, c->bytes, 0);
	default:
		rc = wants ? mu_coll_bytes_left(hw->id) != 0
			   : mu_coll_done(hw->id) < pami_hw_state_of(c)->sequence;
		if (rc)
			return PAMI_COLL_POLL;
		if (!reduce || (wants && root))
			pami_word_store(c, &b->down, pami_hw_state_of(c)->ticket + 1,
					reduce ? hw->task[root] : MU_NODE_ALL);
		if (wants && to && !(broadcast && !root)) {
			memcpy(to, result_address(c), c->bytes);
			charge_lines(c->bytes);
		}
		return pami_board_finish(c);
	}
}

static int short_follow(struct pami_coll *c, uint32_t root)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board_member *m = pami_board_member(pami_board_of(c), hw->me);
	int broadcast = c->type == PAMI_XFER_BROADCAST, gives = !broadcast || root == hw->me;
	int takes = broadcast ? !gives : c->type == PAMI_XFER_ALLREDUCE || root == hw->me;

	if (!c->phase && gives) {
		if (!pami_board_await_place(c))
			return PAMI_COLL_POLL;
		memcpy(slot_address(c, hw->me), c->data, c->bytes);
		charge_lines(c->bytes);
		if (broadcast)
			pami_word_store(
			    c, &m->slot[pami_hw_state_of(c)->ticket % PAMI_BOARD_TURNS].said,
			    pami_hw_state_of(c)->ticket + 1, hw->task[0]);
		else
			pami_board_up(c);
		if (!takes)
			return pami_board_finish(c);
	}
	if (!c->phase)
		return PAMI_COLL_WAIT;
	if (!pami_board_await(c, &pami_board_of(c)->down, pami_hw_state_of(c)->ticket + 1))
		return PAMI_COLL_POLL;
	memcpy(broadcast ? c->data : c->target, result_address(c), c->bytes);
	charge_lines(c->bytes);
	return pami_board_finish(c);
}

/* ---- The step ---- */

uint32_t pami_board_root_index(const struct pami_coll *c)
{
	const struct pami_hw *hw = pami_hw_of(c);
	uint32_t i = 0;

	while (i < hw->locals && hw->local[i] != c->root)
		i++;
	return i;
}

int pami_board_step(struct pami_coll *c)
{
	int rc = pami_hw_turn(c);
	uint32_t root;

	if (rc)
		return rc;
	if (c->type == PAMI_XFER_BARRIER)
		return pami_hw_of(c)->me ? barrier_follow(c) : barrier_lead(c);
	root = c->type == PAMI_XFER_ALLREDUCE ? 0 : pami_board_root_index(c);
	if (c->bytes > PAMI_HW_SHORT)
		return pami_board_long(c, root);
	return pami_hw_of(c)->me ? short_follow(c, root) : short_lead(c, root);
}
