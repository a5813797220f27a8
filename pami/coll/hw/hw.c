/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithms on class routes and global interrupts, where each node has one member (several:
 * coll/hw/board.c). Short data is one packet, through the buffers of the board. Long data is a
 * direct put from the user's buffer to the user's buffer, which the hardware cuts into packets and
 * pipelines. Guarded by bench/figures/coll_figures.
 */
#include "pami/coll/algorithms.h"
#include "pami/coll/hw/board.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/geometry/geometry.h"

bool pami_hw_usable(const struct pami_geometry *g)
{
	return g->hw != NULL;
}

bool pami_hw_usable_gi(const struct pami_geometry *g)
{
	const struct pami_hw *hw = g->hw;

	return hw && hw->gi;
}

static struct mu_channel *channel_of(const struct pami_coll *c)
{
	return c->context->channel;
}

/* ---- What the hardware can do ---- */

const struct pami_hw_op pami_hw_or = {MUHWI_COLLECTIVE_OP_CODE_OR, 0, 0};

static bool is_integer_element(unsigned element, bool *is_signed, uint8_t *word)
{
	*is_signed = false;
	switch (element) {
	case PAMI_ELEMENT_INT:
		*is_signed = true; /* fall through */
	case PAMI_ELEMENT_UINT:
	case PAMI_ELEMENT_LOGICAL4:
		*word = 0;
		return true;
	case PAMI_ELEMENT_LONG:
	case PAMI_ELEMENT_LLONG:
		*is_signed = true; /* fall through */
	case PAMI_ELEMENT_ULONG:
	case PAMI_ELEMENT_ULLONG:
	case PAMI_ELEMENT_LOGICAL8:
		*word = 1;
		return true;
	default:
		return false;
	}
}

bool pami_hw_find_op(pami_data_function op, unsigned element, struct pami_hw_op *h)
{
	bool is_signed, is_integer = is_integer_element(element, &is_signed, &h->word);
	bool narrow = element <= PAMI_ELEMENT_USHORT || element == PAMI_ELEMENT_LOGICAL1 ||
		      element == PAMI_ELEMENT_LOGICAL2;

	h->logical = op == PAMI_DATA_LAND || op == PAMI_DATA_LOR || op == PAMI_DATA_LXOR;
	if (op == PAMI_DATA_BAND || op == PAMI_DATA_LAND)
		h->op = MUHWI_COLLECTIVE_OP_CODE_AND;
	else if (op == PAMI_DATA_BOR || op == PAMI_DATA_LOR)
		h->op = MUHWI_COLLECTIVE_OP_CODE_OR;
	else if (op == PAMI_DATA_BXOR || op == PAMI_DATA_LXOR)
		h->op = MUHWI_COLLECTIVE_OP_CODE_XOR;
	else
		h->op = 0xff;
	if (h->op != 0xff) { /* operations on bits do not depend on the word */
		h->word = 0;
		return h->logical ? is_integer : is_integer || narrow;
	}
	if (element == PAMI_ELEMENT_DOUBLE)
		h->word = 1;
	else if (!is_integer)
		return false;
	if (op == PAMI_DATA_SUM) /* the same for signed integers */
		h->op = element == PAMI_ELEMENT_DOUBLE ? MUHWI_COLLECTIVE_OP_CODE_FLOATING_POINT_ADD
						       : MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD;
	else if (op == PAMI_DATA_MIN || op == PAMI_DATA_MAX)
		h->op = (uint8_t)((element == PAMI_ELEMENT_DOUBLE
				       ? MUHWI_COLLECTIVE_OP_CODE_FLOATING_POINT_ADD
				   : is_signed ? MUHWI_COLLECTIVE_OP_CODE_SIGNED_ADD
					       : MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD) +
				  (op == PAMI_DATA_MIN ? 0x10 : 0x20));
	else
		return false;
	return true;
}

void pami_hw_logical(unsigned char *data, size_t bytes, unsigned element)
{
	size_t size = pami_type_predefined[element].data_size;

	for (size_t i = 0; i + size <= bytes; i += size) {
		uint64_t x = 0;

		memcpy(&x, data + i, size);
		x = x != 0;
		memcpy(data + i, &x, size);
	}
}

/* ---- Turns ---- */

int pami_hw_turn(const struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	int rc;

	if (hw->count.turn != pami_hw_state_of(c)->ticket)
		return PAMI_COLL_POLL;
	if (PAMI_LIKELY(hw->claimed || hw->me))
		return 0;
	rc = mu_class_claim(channel_of(c), hw->id); /* the world's route, at its first use */
	hw->claimed = !rc;
	return rc;
}

static void turn_done(struct pami_coll *c)
{
	pami_hw_of(c)->count.turn++;
}

/* The choice among software, for what class routes cannot do. All members decide alike. */
static int replace_by_software(struct pami_coll *c)
{
	return pami_coll_replace(c, pami_coll_choose_soft(c->geometry, c->type, c->bytes));
}

int pami_hw_begin(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_hw_op h = {0, 0, 0};
	int rc;

	if (!hw || (c->type != PAMI_XFER_BARRIER && !c->bytes))
		return replace_by_software(c);
	if ((c->type == PAMI_XFER_ALLREDUCE || c->type == PAMI_XFER_REDUCE) &&
	    (!pami_hw_find_op(c->op, c->element, &h) || (h.logical && c->bytes > PAMI_HW_SHORT)))
		return replace_by_software(c);
	*pami_hw_state_of(c) = (struct pami_hw_state){0};
	/* Fail, if at all, before others wait for this member: the caller may try again. */
	if (hw->locals > 1 && c->bytes > PAMI_HW_SHORT && (rc = pami_board_begin(c)))
		return rc;
	pami_hw_state_of(c)->ticket = hw->tickets++;
	return 0;
}

/* ---- Barrier ---- */

/* The three-state protocol of docs/hardware.md 8.6. */
static unsigned gi_next(unsigned state)
{
	return state == 1 ? 4 : state >> 1;
}

void pami_hw_gi_enter(struct pami_coll *c)
{
	mu_charge(MU_COST_gi_store, 1);
	mu_gi_write(channel_of(c), pami_hw_of(c)->id, gi_next(pami_hw_of(c)->count.state));
}

bool pami_hw_gi_is_over(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);

	if (mu_gi_read(channel_of(c), hw->id) & hw->count.state)
		return false;
	hw->count.state = (uint8_t)gi_next(hw->count.state);
	return true;
}

int pami_hw_barrier(struct pami_coll *c)
{
	int rc;

	if (pami_hw_of(c)->locals > 1)
		return pami_board_step(c);
	if (!c->phase) {
		rc = pami_hw_turn(c);
		if (rc)
			return rc;
		pami_hw_gi_enter(c);
		return PAMI_COLL_WAIT;
	}
	if (!pami_hw_gi_is_over(c))
		return PAMI_COLL_POLL;
	turn_done(c);
	return PAMI_COLL_DONE;
}

/* ---- Reductions ---- */

int pami_hw_post(struct pami_coll *c, const struct pami_hw_op *h, unsigned type,
		 const void *payload, size_t bytes, uint64_t offset)
{
	struct mu_coll_call call = {.op = h->op,
				    .type = (uint8_t)type,
				    .word = h->word,
				    .payload = payload,
				    .bytes = bytes,
				    .offset = offset};
	int first = !pami_hw_state_of(c)->sequence, rc;

	if (type == MUHWI_COLLECTIVE_TYPE_REDUCE)
		call.task = pami_endpoint_task(pami_geometry_endpoint(c->geometry, c->root));
	rc = mu_coll_post(channel_of(c), pami_hw_of(c)->id, &call, &pami_hw_state_of(c)->sequence);
	if (rc == -EAGAIN)
		return PAMI_COLL_POLL;
	mu_charge(first ? MU_COST_send_immediate : MU_COST_descriptor, 1);
	return rc;
}

static bool is_short(const struct pami_coll *c)
{
	return c->bytes <= PAMI_HW_SHORT;
}

static struct pami_board *board_of(const struct pami_coll *c)
{
	return mu_board(pami_hw_of(c)->id);
}

/* Return the contribution of this node to the class route. */
static const unsigned char *find_contribution(struct pami_coll *c, int logical)
{
	unsigned char *in = board_of(c)->in;

	if (!is_short(c))
		return c->data;
	memcpy(in, c->data, c->bytes);
	mu_charge(MU_COST_copy_byte, c->bytes);
	if (logical)
		pami_hw_logical(in, c->bytes, c->element);
	return in;
}

/* wants: the result comes to this node. type: MUHWI_COLLECTIVE_TYPE_. */
static int run_reduction(struct pami_coll *c, int wants, unsigned type)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_hw_op h = {0, 0, 0};
	int rc;

	pami_hw_find_op(c->op, c->element, &h);
	switch (c->phase) {
	case 0:
		rc = pami_hw_turn(c);
		if (rc)
			return rc;
		if (wants)
			mu_coll_expect(channel_of(c), hw->id,
				       is_short(c) ? board_of(c)->out[0] : c->target, c->bytes, 0);
		return pami_hw_post(c, &h, type, find_contribution(c, h.logical), c->bytes, 0);
	case 1:
		if (wants ? mu_coll_bytes_left(hw->id)
			  : mu_coll_done(hw->id) < pami_hw_state_of(c)->sequence)
			return PAMI_COLL_POLL;
		if (wants && is_short(c)) {
			memcpy(c->target, board_of(c)->out[0], c->bytes);
			mu_charge(MU_COST_copy_byte, c->bytes);
		}
		turn_done(c);
		return PAMI_COLL_DONE;
	default:
		return PAMI_COLL_DONE;
	}
}

int pami_hw_allreduce(struct pami_coll *c)
{
	return pami_hw_of(c)->locals > 1 ? pami_board_step(c)
					 : run_reduction(c, 1, MUHWI_COLLECTIVE_TYPE_ALLREDUCE);
}

int pami_hw_reduce(struct pami_coll *c)
{
	return pami_hw_of(c)->locals > 1
		   ? pami_board_step(c)
		   : run_reduction(c, c->rank == c->root, MUHWI_COLLECTIVE_TYPE_REDUCE);
}

/* ---- Broadcast ---- */

/* In one packet: all others give zeros. No member has to be ready before another sends. */
static int broadcast_short(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board *b = board_of(c);
	int rc;

	switch (c->phase) {
	case 0:
		rc = pami_hw_turn(c);
		if (rc)
			return rc;
		if (c->root == c->rank)
			memcpy(b->in, c->data, c->bytes);
		else
			memset(b->in, 0, c->bytes);
		mu_charge(MU_COST_copy_byte, c->bytes);
		mu_coll_expect(channel_of(c), hw->id, b->out[0], c->bytes, 0);
		return pami_hw_post(c, &pami_hw_or, MUHWI_COLLECTIVE_TYPE_ALLREDUCE, b->in,
				    c->bytes, 0);
	default:
		if (mu_coll_bytes_left(hw->id))
			return PAMI_COLL_POLL;
		if (c->root != c->rank)
			memcpy(c->data, b->out[0], c->bytes);
		mu_charge(MU_COST_copy_byte, c->bytes);
		turn_done(c);
		return PAMI_COLL_DONE;
	}
}

/* Long: the root sends after a barrier, when all members have given their buffers. */
static int broadcast_long(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);
	int rc;

	switch (c->phase) {
	case 0:
		rc = pami_hw_turn(c);
		if (rc)
			return rc;
		mu_coll_expect(channel_of(c), hw->id, c->data, c->bytes, 0);
		pami_hw_gi_enter(c);
		return PAMI_COLL_WAIT;
	case 1:
		return pami_hw_gi_is_over(c) ? PAMI_COLL_WAIT : PAMI_COLL_POLL;
	case 2:
		return c->root != c->rank
			   ? 0
			   : pami_hw_post(c, &pami_hw_or, MUHWI_COLLECTIVE_TYPE_BROADCAST, c->data,
					  c->bytes, 0);
	default:
		if (mu_coll_bytes_left(hw->id))
			return PAMI_COLL_POLL;
		turn_done(c);
		return PAMI_COLL_DONE;
	}
}

int pami_hw_broadcast(struct pami_coll *c)
{
	return pami_hw_of(c)->locals > 1 ? pami_board_step(c)
	       : is_short(c)             ? broadcast_short(c)
					 : broadcast_long(c);
}

int pami_hw_broadcast_begin(struct pami_coll *c)
{
	const struct pami_hw *hw = pami_hw_of(c);

	/* Long data needs the barrier, and so the interrupts. */
	if (hw && !hw->gi && c->bytes > PAMI_HW_SHORT)
		return replace_by_software(c);
	return pami_hw_begin(c);
}
