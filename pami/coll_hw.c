/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithms on class routes and global interrupts. Short ones are one packet, through buffers of ours;
 * long ones are direct puts from where the data lies to where it is wanted, cut into packets and
 * pipelined by the hardware. Guarded by bench/coll_figures.
 */
#include "pami/coll_hw.h"

#include <stdlib.h>

#include "pami/coll_algorithms.h"

#define UP   0x10000000u /* steps: member to leader, leader to member */
#define DOWN 0x10000001u

int pami_hw_usable(const struct pami_geometry *g)
{
	return g->hw != NULL;
}

int pami_hw_usable_gi(const struct pami_geometry *g)
{
	const struct pami_hw *hw = g->hw;

	return hw && hw->gi;
}

static struct pami_hw *hw_of(const struct pami_coll *c)
{
	return c->geometry->hw;
}

static struct mu_channel *channel_of(const struct pami_coll *c)
{
	return c->context->channel;
}

static int leads(const struct pami_hw *hw)
{
	return !hw->me;
}

/* ---- What hardware can do ---- */

struct hw_op {
	uint8_t op, word, logical;
};

static int integer_of(unsigned element, int *is_signed, uint8_t *word)
{
	*is_signed = 0;
	switch (element) {
	case PAMI_ELEMENT_INT:
		*is_signed = 1; /* fall through */
	case PAMI_ELEMENT_UINT:
	case PAMI_ELEMENT_LOGICAL4:
		*word = 0;
		return 1;
	case PAMI_ELEMENT_LONG:
	case PAMI_ELEMENT_LLONG:
		*is_signed = 1; /* fall through */
	case PAMI_ELEMENT_ULONG:
	case PAMI_ELEMENT_ULLONG:
	case PAMI_ELEMENT_LOGICAL8:
		*word = 1;
		return 1;
	default:
		return 0;
	}
}

/* The operation on the class route for op and element; 0: there is none. */
static int hw_op(pami_data_function op, unsigned element, struct hw_op *h)
{
	int is_signed, is_integer = integer_of(element, &is_signed, &h->word);
	int narrow = element <= PAMI_ELEMENT_USHORT || element == PAMI_ELEMENT_LOGICAL1 ||
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
	if (h->op != 0xff) { /* bits know no words */
		h->word = 0;
		return h->logical ? is_integer : is_integer || narrow;
	}
	if (element == PAMI_ELEMENT_DOUBLE)
		h->word = 1;
	else if (!is_integer)
		return 0;
	if (op == PAMI_DATA_SUM) /* wraps alike for signed */
		h->op = element == PAMI_ELEMENT_DOUBLE ? MUHWI_COLLECTIVE_OP_CODE_FLOATING_POINT_ADD :
							 MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD;
	else if (op == PAMI_DATA_MIN || op == PAMI_DATA_MAX)
		h->op = (uint8_t)((element == PAMI_ELEMENT_DOUBLE ? MUHWI_COLLECTIVE_OP_CODE_FLOATING_POINT_ADD :
				   is_signed			  ? MUHWI_COLLECTIVE_OP_CODE_SIGNED_ADD :
								    MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD) +
				  (op == PAMI_DATA_MIN ? 0x10 : 0x20));
	else
		return 0;
	return 1;
}

/* Logical operations are bit operations on 0 and 1. */
static void to_logical(unsigned char *data, size_t bytes, unsigned element)
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

/* May the leader go on? 0, PAMI_COLL_POLL, or an error. */
int pami_hw_turn(const struct pami_coll *c)
{
	struct pami_hw *hw = hw_of(c);
	int rc;

	if (hw->turn != c->number)
		return PAMI_COLL_POLL;
	if (PAMI_LIKELY(hw->claimed))
		return 0;
	rc = mu_class_claim(channel_of(c), hw->id); /* the world's, at its first use */
	hw->claimed = !rc;
	return rc;
}

static void turn_done(struct pami_coll *c)
{
	hw_of(c)->turn++;
}

/* The software's choice instead, for what class routes cannot do; the same on all members. */
static int instead(struct pami_coll *c)
{
	c->info = pami_coll_choose_soft(c->geometry, c->type, c->bytes);
	return c->info->begin ? c->info->begin(c) : 0;
}

int pami_hw_begin(struct pami_coll *c)
{
	struct pami_hw *hw = hw_of(c);
	struct hw_op h = { 0, 0, 0 };

	if (!hw || (c->type != PAMI_XFER_BARRIER && !c->bytes))
		return instead(c);
	if ((c->type == PAMI_XFER_ALLREDUCE || c->type == PAMI_XFER_REDUCE) &&
	    (!hw_op(c->op, c->element, &h) || (h.logical && c->bytes > PAMI_HW_SHORT)))
		return instead(c);
	c->number = hw->tickets++;
	return 0;
}

/* ---- The node's members ---- */

/* Room for the contributions of the other members of this node, and for their sum. */
static int room(struct pami_coll *c)
{
	const struct pami_hw *hw = hw_of(c);

	if (hw->locals > 1 && c->bytes && !c->own)
		c->own = malloc(c->bytes * hw->locals);
	return hw->locals > 1 && c->bytes && !c->own ? -ENOMEM : 0;
}

/* Leader: hear from all others; each one's data (with: bytes of it) behind the other in own. */
static int hear(struct pami_coll *c, size_t bytes)
{
	const struct pami_hw *hw = hw_of(c);
	int rc = bytes ? room(c) : 0;

	for (uint32_t i = 1; i < hw->locals && !rc; i++)
		rc = pami_coll_recv(c, hw->local[i], UP, bytes ? c->own + i * bytes : NULL, bytes);
	return rc;
}

/* Leader: tell all others. */
static int tell(struct pami_coll *c, const void *data, size_t bytes)
{
	const struct pami_hw *hw = hw_of(c);
	int rc = 0;

	for (uint32_t i = 1; i < hw->locals && !rc; i++)
		rc = pami_coll_send(c, hw->local[i], DOWN, data, bytes);
	return rc;
}

/* What the node gives: its members' contributions in rank order, in `to` (or in own, where that is NULL). */
static const unsigned char *combine(struct pami_coll *c, unsigned char *to, int logical)
{
	const struct pami_hw *hw = hw_of(c);

	if (!to && hw->locals == 1)
		return c->data;
	to = to ? to : c->own;
	memcpy(to, c->data, c->bytes);
	mu_charge(MU_COST_copy_byte, c->bytes);
	for (uint32_t i = 1; i < hw->locals; i++) {
		pami_coll_apply(c, to, c->own + i * c->bytes, c->bytes);
		mu_charge(MU_COST_copy_byte, c->bytes);
	}
	if (logical)
		to_logical(to, c->bytes, c->element);
	return to;
}

/* ---- Barrier ---- */

/* The three-state protocol of spec/mu.md 8.6. */
static unsigned gi_next(const struct pami_hw *hw)
{
	return hw->state == 1 ? 4 : hw->state >> 1;
}

void pami_hw_gi_enter(struct pami_coll *c)
{
	mu_charge(MU_COST_gi_store, 1);
	mu_gi_write(channel_of(c), hw_of(c)->id, gi_next(hw_of(c)));
}

int pami_hw_gi_left(struct pami_coll *c)
{
	struct pami_hw *hw = hw_of(c);

	if (mu_gi_read(channel_of(c), hw->id) & hw->state)
		return 0;
	hw->state = (uint8_t)gi_next(hw);
	return 1;
}

int pami_hw_barrier(struct pami_coll *c)
{
	struct pami_hw *hw = hw_of(c);
	int rc;

	if (!leads(hw)) {
		if (c->phase)
			return PAMI_COLL_DONE;
		rc = pami_coll_send(c, hw->local[0], UP, NULL, 0);
		return rc ? rc : pami_coll_recv(c, hw->local[0], DOWN, NULL, 0);
	}
	switch (c->phase) {
	case 0:
		return hear(c, 0);
	case 1:
		rc = pami_hw_turn(c);
		if (rc)
			return rc;
		pami_hw_gi_enter(c);
		return PAMI_COLL_WAIT;
	case 2:
		if (!pami_hw_gi_left(c))
			return PAMI_COLL_POLL;
		turn_done(c);
		rc = tell(c, NULL, 0);
		return rc ? rc : PAMI_COLL_DONE;
	default:
		return PAMI_COLL_DONE;
	}
}

/* ---- Reductions ---- */

/* Inject; -EAGAIN is a poll. */
static int post(struct pami_coll *c, const struct hw_op *h, unsigned type, uint32_t task, const void *payload,
                size_t bytes)
{
	struct mu_coll_call call = { .op = h->op, .type = (uint8_t)type, .word = h->word, .task = task,
				     .payload = payload, .bytes = bytes };
	int rc = mu_coll_post(channel_of(c), hw_of(c)->id, &call, &c->turns);

	if (rc == -EAGAIN)
		return PAMI_COLL_POLL;
	mu_charge(MU_COST_send_immediate, 1);
	return rc;
}

static int is_short(const struct pami_coll *c)
{
	return c->bytes <= PAMI_HW_SHORT;
}

static uint32_t root_task(const struct pami_coll *c)
{
	return pami_endpoint_task(pami_geometry_endpoint(c->geometry, c->root));
}

static int root_is_here(const struct pami_coll *c)
{
	const struct pami_hw *hw = hw_of(c);

	for (uint32_t i = 0; i < hw->locals; i++)
		if (hw->local[i] == c->root)
			return 1;
	return 0;
}

/* Where the class route puts the result at this leader. */
static unsigned char *landing(struct pami_coll *c)
{
	return is_short(c) ? hw_of(c)->out : c->target ? c->target : c->own;
}

/* A member that does not lead: its part up, the result (if it gets one) down. */
static int follow(struct pami_coll *c, int wants)
{
	const struct pami_hw *hw = hw_of(c);
	int rc;

	if (c->phase)
		return PAMI_COLL_DONE;
	rc = pami_coll_send(c, hw->local[0], UP, c->data, c->bytes);
	if (!rc && wants)
		rc = pami_coll_recv(c, hw->local[0], DOWN, c->target, c->bytes);
	return rc;
}

/* The leader of a node: wants: a result comes to this node; all: to every node. */
static int lead(struct pami_coll *c, int wants, int all)
{
	struct pami_hw *hw = hw_of(c);
	struct hw_op h = { 0, 0, 0 };
	const unsigned char *data;
	int rc;

	hw_op(c->op, c->element, &h);
	switch (c->phase) {
	case 0:
		return hear(c, c->bytes);
	case 1:
		rc = pami_hw_turn(c);
		if (rc)
			return rc;
		data = combine(c, is_short(c) ? hw->in : NULL, h.logical);
		if (wants)
			mu_coll_expect(channel_of(c), hw->id, landing(c), c->bytes);
		return post(c, &h, all ? MUHWI_COLLECTIVE_TYPE_ALLREDUCE : MUHWI_COLLECTIVE_TYPE_REDUCE,
			    all ? 0 : root_task(c), data, c->bytes);
	case 2:
		if (wants ? mu_coll_left(hw->id) : mu_coll_done(hw->id) < c->turns)
			return PAMI_COLL_POLL;
		turn_done(c);
		if (!wants)
			return PAMI_COLL_DONE;
		data = landing(c);
		if (is_short(c)) { /* the buffer is the next operation's now */
			if (c->target)
				memcpy(c->target, data, c->bytes);
			mu_charge(MU_COST_copy_byte, c->bytes);
			if (!c->target || hw->locals > 1) {
				rc = room(c);
				if (rc)
					return rc;
			}
			if (hw->locals > 1)
				data = memcpy(c->own, data, c->bytes);
		}
		if (all)
			rc = tell(c, data, c->bytes);
		else
			rc = c->root == c->rank ? 0 : pami_coll_send(c, c->root, DOWN, data, c->bytes);
		return rc;
	default:
		return PAMI_COLL_DONE;
	}
}

int pami_hw_allreduce(struct pami_coll *c)
{
	return leads(hw_of(c)) ? lead(c, 1, 1) : follow(c, 1);
}

int pami_hw_reduce(struct pami_coll *c)
{
	return leads(hw_of(c)) ? lead(c, root_is_here(c), 0) : follow(c, c->rank == c->root);
}

/* ---- Broadcast ---- */

static const struct hw_op or_op = { MUHWI_COLLECTIVE_OP_CODE_OR, 0, 0 };

/* In one packet: all others give zeros. Nobody needs to say that it is ready. */
static int broadcast_short(struct pami_coll *c, int here)
{
	struct pami_hw *hw = hw_of(c);
	int rc;

	switch (c->phase) {
	case 0:
		return here && c->root != c->rank ? pami_coll_recv(c, c->root, UP, c->data, c->bytes) : 0;
	case 1:
		rc = pami_hw_turn(c);
		if (rc)
			return rc;
		if (here)
			memcpy(hw->in, c->data, c->bytes);
		else
			memset(hw->in, 0, c->bytes);
		mu_charge(MU_COST_copy_byte, c->bytes);
		mu_coll_expect(channel_of(c), hw->id, hw->out, c->bytes);
		return post(c, &or_op, MUHWI_COLLECTIVE_TYPE_ALLREDUCE, 0, hw->in, c->bytes);
	case 2:
		if (mu_coll_left(hw->id))
			return PAMI_COLL_POLL;
		if (!here)
			memcpy(c->data, hw->out, c->bytes);
		mu_charge(MU_COST_copy_byte, c->bytes);
		turn_done(c);
		rc = 0;
		for (uint32_t i = 1; i < hw->locals && !rc; i++)
			if (hw->local[i] != c->root)
				rc = pami_coll_send(c, hw->local[i], DOWN, c->data, c->bytes);
		return rc;
	default:
		return PAMI_COLL_DONE;
	}
}

/* Long: the root's node sends once all have given their places, which a barrier says. */
static int broadcast_long(struct pami_coll *c, int here)
{
	struct pami_hw *hw = hw_of(c);
	int rc;

	switch (c->phase) {
	case 0:
		return here && c->root != c->rank ? pami_coll_recv(c, c->root, UP, c->data, c->bytes) : 0;
	case 1:
		rc = pami_hw_turn(c);
		if (rc)
			return rc;
		mu_coll_expect(channel_of(c), hw->id, c->data, c->bytes);
		pami_hw_gi_enter(c);
		return PAMI_COLL_WAIT;
	case 2:
		return pami_hw_gi_left(c) ? PAMI_COLL_WAIT : PAMI_COLL_POLL;
	case 3:
		return here ? post(c, &or_op, MUHWI_COLLECTIVE_TYPE_BROADCAST, 0, c->data, c->bytes) : 0;
	case 4:
		if (mu_coll_left(hw->id))
			return PAMI_COLL_POLL;
		turn_done(c);
		rc = 0;
		for (uint32_t i = 1; i < hw->locals && !rc; i++)
			if (hw->local[i] != c->root)
				rc = pami_coll_send(c, hw->local[i], DOWN, c->data, c->bytes);
		return rc;
	default:
		return PAMI_COLL_DONE;
	}
}

int pami_hw_broadcast(struct pami_coll *c)
{
	const struct pami_hw *hw = hw_of(c);
	int here = root_is_here(c);

	if (leads(hw))
		return is_short(c) ? broadcast_short(c, here) : broadcast_long(c, here);
	if (c->phase)
		return PAMI_COLL_DONE;
	return c->rank == c->root ? pami_coll_send(c, hw->local[0], UP, c->data, c->bytes) :
				    pami_coll_recv(c, hw->local[0], DOWN, c->data, c->bytes);
}

int pami_hw_broadcast_begin(struct pami_coll *c)
{
	const struct pami_hw *hw = hw_of(c);

	/* Long ones need interrupts to say that all are ready (the data may come at once then). */
	if (hw && !hw->gi && c->bytes > PAMI_HW_SHORT)
		return instead(c);
	return pami_hw_begin(c);
}
