/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: several members of a node on a class route; barriers, few bytes, and what other algorithms need of a board.
 * Guarded by bench/coll_figures.
 */
#include "pami/coll_board_state.h"

/* ---- Turns ---- */

/* May what belongs to this operation's place of TURNS be written: has everybody who might read the last one finished? */
int pami_board_free(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	uint64_t least = UINT64_MAX, n = c->number;

	if (n < hw->all_done + PAMI_BOARD_TURNS)
		return 1;
	for (uint32_t i = hw->me ? 0 : 1; i < (hw->me ? 1 : hw->locals); i++) {
		uint64_t *done = &pami_board_member(b, i)->done.v, d = mu_node_load(done);

		if (n >= d + PAMI_BOARD_TURNS) {
			__atomic_store_n(&b->stalled.v, 1, __ATOMIC_SEQ_CST);
			mu_watch(c->context->channel, done, n + 1 - PAMI_BOARD_TURNS);
			d = __atomic_load_n(done, __ATOMIC_SEQ_CST);
		}
		if (n >= d + PAMI_BOARD_TURNS)
			return 0;
		least = d < least ? d : least;
	}
	hw->all_done = least;
	return 1;
}

/* This member has finished its operation. A store that nobody waits for needs no time of its own. */
int pami_board_finish(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	uint64_t *done = &pami_board_member(b, hw->me)->done.v;

	hw->count.turn++;
	__atomic_store_n(done, hw->count.turn, __ATOMIC_SEQ_CST);
	if (PAMI_UNLIKELY(__atomic_load_n(&b->stalled.v, __ATOMIC_SEQ_CST))) {
		__atomic_store_n(&b->stalled.v, 0, __ATOMIC_SEQ_CST);
		mu_node_store(c->context->channel, done, hw->count.turn, MU_NODE_ALL);
	}
	mu_watch(c->context->channel, NULL, 0);
	return PAMI_COLL_DONE;
}

/* Is the word `value` or more? If not, it is what to sleep on. */
int pami_board_is(struct pami_coll *c, const struct pami_word *w, uint64_t value)
{
	if (mu_node_load(&w->v) >= value)
		return 1;
	mu_watch(c->context->channel, &w->v, value);
	return 0;
}

/* Member: its part of this operation is there. */
void pami_board_up(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	unsigned k = c->number % PAMI_BOARD_TURNS;

	hw->count.up[k]++;
	mu_node_add(c->context->channel, &pami_board_of(c)->up[k].v, 1, hw->count.up[k] * (hw->locals - 1), hw->task[0]);
}

/* Leader: so are those of all others. */
int pami_board_heard(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	unsigned k = c->number % PAMI_BOARD_TURNS;

	if (!pami_board_is(c, &pami_board_of(c)->up[k], (hw->count.up[k] + 1) * (hw->locals - 1)))
		return 0;
	hw->count.up[k]++;
	return 1;
}

/* ---- Barrier ---- */

static int barrier_lead(struct pami_coll *c)
{
	switch (c->phase) {
	case 0:
		if (!pami_board_heard(c))
			return PAMI_COLL_POLL;
		pami_hw_gi_enter(c);
		return PAMI_COLL_WAIT;
	default:
		if (!pami_hw_gi_left(c))
			return PAMI_COLL_POLL;
		mu_node_store(c->context->channel, &pami_board_of(c)->down.v, c->number + 1, MU_NODE_ALL);
		return pami_board_finish(c);
	}
}

static int barrier_follow(struct pami_coll *c)
{
	if (!c->phase) {
		if (!pami_board_free(c))
			return PAMI_COLL_POLL;
		pami_board_up(c);
		return PAMI_COLL_WAIT;
	}
	return pami_board_is(c, &pami_board_of(c)->down, c->number + 1) ? pami_board_finish(c) : PAMI_COLL_POLL;
}

/* ---- Few bytes ---- */

/* Bytes of a line of the L2, at the least. */
static void charge_lines(size_t bytes)
{
	mu_charge(MU_COST_copy_byte, (bytes + 63) & ~(size_t)63);
}

static unsigned char *slot(struct pami_coll *c, uint32_t i)
{
	return pami_board_member(pami_board_of(c), i)->slot[c->number % PAMI_BOARD_TURNS].data;
}

static unsigned char *out(struct pami_coll *c)
{
	return pami_board_of(c)->out[c->number % PAMI_BOARD_TURNS];
}

/* in = everybody's part, in rank order. */
static void sum(struct pami_coll *c, int logical)
{
	const struct pami_hw *hw = pami_hw_of(c);
	unsigned char *in = pami_board_of(c)->in;

	memcpy(in, c->data, c->bytes);
	charge_lines(c->bytes);
	for (uint32_t i = 1; i < hw->locals; i++) {
		pami_coll_apply(c, in, slot(c, i), c->bytes);
		charge_lines(c->bytes);
	}
	if (logical)
		pami_hw_logical(in, c->bytes, c->element);
}

/* in = the root's data, or zeros. */
static int bring(struct pami_coll *c, uint32_t root)
{
	struct pami_board *b = pami_board_of(c);

	if (root && root < pami_hw_of(c)->locals &&
	    !pami_board_is(c, &pami_board_member(b, root)->slot[c->number % PAMI_BOARD_TURNS].said, c->number + 1))
		return 0;
	if (root >= pami_hw_of(c)->locals)
		memset(b->in, 0, c->bytes);
	else
		memcpy(b->in, root ? slot(c, root) : c->data, c->bytes);
	charge_lines(c->bytes);
	return 1;
}

/* root: its place among the members here; locals: it is elsewhere. */
static int short_lead(struct pami_coll *c, uint32_t root)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = pami_board_of(c);
	int reduce = c->type == PAMI_XFER_REDUCE, broadcast = c->type == PAMI_XFER_BROADCAST;
	int wants = !reduce || root < hw->locals, rc;
	unsigned char *to = broadcast ? c->data : c->target;
	struct pami_hw_op h = pami_hw_or;

	if (!broadcast)
		pami_hw_op(c->op, c->element, &h);
	switch (c->phase) {
	case 0:
		if (!pami_board_free(c) || !(broadcast ? bring(c, root) : pami_board_heard(c)))
			return PAMI_COLL_POLL;
		if (!broadcast)
			sum(c, h.logical);
		if (wants)
			mu_coll_expect(c->context->channel, hw->id, out(c), c->bytes, 0);
		return PAMI_COLL_WAIT;
	case 1:
		return pami_hw_post(c, &h, reduce ? MUHWI_COLLECTIVE_TYPE_REDUCE : MUHWI_COLLECTIVE_TYPE_ALLREDUCE, b->in,
		                    c->bytes, 0);
	default:
		rc = wants ? mu_coll_left(hw->id) != 0 : mu_coll_done(hw->id) < c->turn;
		if (rc)
			return PAMI_COLL_POLL;
		if (!reduce || (wants && root))
			mu_node_store(c->context->channel, &b->down.v, c->number + 1,
			              reduce ? hw->task[root] : MU_NODE_ALL);
		if (wants && to && !(broadcast && !root)) {
			memcpy(to, out(c), c->bytes);
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
		if (!pami_board_free(c))
			return PAMI_COLL_POLL;
		memcpy(slot(c, hw->me), c->data, c->bytes);
		charge_lines(c->bytes);
		if (broadcast)
			mu_node_store(c->context->channel, &m->slot[c->number % PAMI_BOARD_TURNS].said.v, c->number + 1,
			              hw->task[0]);
		else
			pami_board_up(c);
		if (!takes)
			return pami_board_finish(c);
	}
	if (!c->phase)
		return PAMI_COLL_WAIT;
	if (!pami_board_is(c, &pami_board_of(c)->down, c->number + 1))
		return PAMI_COLL_POLL;
	memcpy(broadcast ? c->data : c->target, out(c), c->bytes);
	charge_lines(c->bytes);
	return pami_board_finish(c);
}

/* ---- The choice ---- */

uint32_t pami_board_root_place(const struct pami_coll *c)
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
	root = c->type == PAMI_XFER_ALLREDUCE ? 0 : pami_board_root_place(c);
	if (c->bytes > PAMI_HW_SHORT)
		return pami_board_long(c, root);
	return pami_hw_of(c)->me ? short_follow(c, root) : short_lead(c, root);
}
