/* SPDX-License-Identifier: BSD-3-Clause */
#include "agas/move/protocol.h"
#include "drivers/base/assert.h"

/* The model checker leaves out one line at a time, and must then find a violation. */
#ifndef AGAS_DEFECT
#define AGAS_DEFECT(line) 0
#endif

/* ---- small parts ---- */

static void queue_message(struct agas_party *p, struct agas_out *out, enum agas_move_kind kind,
			  uint32_t to, uint16_t version, uint32_t rank, uint8_t error)
{
	struct agas_move_msg m = {.key = p->key,
				  .peer = to,
				  .rank = rank,
				  .version = version,
				  .kind = (uint8_t)kind,
				  .error = error};

	if (!p->is_dead(to))
		out->send(out, &m);
}

static void waiters_add(struct agas_waiters *w, uint32_t rank, uint32_t token)
{
	DRV_ASSERT(w->count < w->room);
	if (w->count < w->room)
		w->at[w->count++] = (struct agas_waiter){rank, token};
}

static void waiters_remove_rank(struct agas_waiters *w, uint32_t rank)
{
	uint32_t i, kept = 0;

	for (i = 0; i < w->count; i++)
		if (w->at[i].rank != rank)
			w->at[kept++] = w->at[i];
	w->count = kept;
}

static uint32_t waiters_take_first(struct agas_waiters *w)
{
	uint32_t rank = w->at[0].rank, i;

	for (i = 1; i < w->count; i++)
		w->at[i - 1] = w->at[i];
	w->count--;
	return rank;
}

static enum agas_state state_of(const struct agas_party *p)
{
	return p->block ? agas_block_state(p->block) : AGAS_NONE;
}

/* ---- target ---- */

static void pull_end(struct agas_party *p, struct agas_out *out, uint8_t error)
{
	struct agas_block *b = p->block;
	uint32_t i;

	for (i = 0; i < b->waiters.count; i++) {
		struct agas_move_msg m = {.key = p->key,
					  .peer = b->waiters.at[i].rank,
					  .token = b->waiters.at[i].token,
					  .version = b->version,
					  .kind = AGAS_DONE_MOVER,
					  .error = error};

		if (!p->is_dead(m.peer))
			out->send(out, &m);
	}
	b->waiters.count = 0;
	b->pull = AGAS_PULL_NONE;
}

static void pull_abort(struct agas_party *p, struct agas_out *out, uint8_t error)
{
	struct agas_block *b = p->block;

	if (agas_block_state(b) == AGAS_INCOMING) {
		agas_block_set_state(b, AGAS_REMOTE);
		b->owner = p->home_rank;
	}
	pull_end(p, out, error);
	out->effects |= AGAS_ABORTED;
	out->error = error;
}

static void on_move(struct agas_party *p, const struct agas_move_msg *m, struct agas_out *out)
{
	struct agas_block *b = p->block;

	if (p->is_dead(m->peer))
		return;
	waiters_add(&b->waiters, m->peer, m->token);
	if (agas_block_state(b) == AGAS_OWNED && b->pull == AGAS_PULL_NONE) {
		pull_end(p, out, AGAS_WHY_NONE);
		return;
	}
	if (b->pull != AGAS_PULL_NONE)
		return;
	b->pull = AGAS_PULL_ASKED;
	if (p->is_dead(p->home_rank))
		pull_abort(p, out, AGAS_WHY_HOME_DEAD);
	else
		queue_message(p, out, AGAS_REBIND, p->home_rank, 0, 0, 0);
}

static void on_rebound(struct agas_party *p, const struct agas_move_msg *m, struct agas_out *out)
{
	struct agas_block *b = p->block;

	if (!b || b->pull != AGAS_PULL_ASKED)
		return;
	if (m->error) {
		pull_abort(p, out, m->error);
		return;
	}
	if (m->rank == p->me) { /* A move away from here was revoked meanwhile. */
		pull_end(p, out, AGAS_WHY_NONE);
		out->effects |= AGAS_KEPT;
		return;
	}
	b->pull = AGAS_PULL_BOUND;
	b->old = m->rank;
	b->version = m->version;
	b->owner = p->me;
	agas_block_set_state(b, AGAS_INCOMING);
	if (p->is_dead(m->rank)) {
		queue_message(p, out, AGAS_DONE_HOME, p->home_rank, m->version, 0, AGAS_WHY_LOST);
		pull_abort(p, out, AGAS_WHY_LOST);
		return;
	}
	queue_message(p, out, AGAS_ACQUIRE, m->rank, m->version, 0, 0);
}

static void on_data(struct agas_party *p, const struct agas_move_msg *m, struct agas_out *out)
{
	struct agas_block *b = p->block;

	if (state_of(p) != AGAS_INCOMING || b->version != m->version)
		return;
	b->memory = b->landing;
	b->landing = NULL;
	agas_block_set_state(b, AGAS_OWNED);
	queue_message(p, out, AGAS_DONE_HOME, p->home_rank, m->version, 0, 0);
	pull_end(p, out, AGAS_WHY_NONE);
	out->effects |= AGAS_ARRIVED;
}

/* ---- owner ---- */

static void release_block(struct agas_party *p, struct agas_out *out)
{
	struct agas_block *b = p->block;

	if (agas_block_state(b) == AGAS_DROPPING) {
		agas_block_set_state(b, AGAS_NONE);
		out->effects |= AGAS_RELEASED;
		queue_message(p, out, AGAS_DROPPED, p->home_rank, b->version, 0, 0);
		return;
	}
	agas_block_set_state(b, AGAS_REMOTE);
	queue_message(p, out, AGAS_DATA, b->owner, b->version, 0, 0);
}

/* No new pins from here on. Returns those that there are. */
static uint32_t close_block(struct agas_party *p, enum agas_state state)
{
	uint32_t pins = agas_block_set_state(p->block, state);

	return p->claim ? pins + p->claim(p->block) : pins;
}

static void on_acquire(struct agas_party *p, const struct agas_move_msg *m, struct agas_out *out)
{
	struct agas_block *b = p->block;

	/* A revoked move has another version. The home handles a dead target. */
	if (state_of(p) != AGAS_OWNED || (uint16_t)(b->version + 1) != m->version ||
	    p->is_dead(m->peer))
		return;
	b->owner = m->peer;
	b->version = m->version;
	if (!close_block(p, AGAS_MOVING_OUT) || AGAS_DEFECT(PINS))
		release_block(p, out);
}

static void on_revoke(struct agas_party *p, const struct agas_move_msg *m, struct agas_out *out)
{
	struct agas_block *b = p->block;
	enum agas_state s = state_of(p);

	if (s != AGAS_OWNED && s != AGAS_MOVING_OUT) {
		queue_message(p, out, AGAS_REVOKED, m->peer, m->version, 0, AGAS_WHY_LOST);
		return;
	}
	b->version = m->version;
	b->owner = p->me;
	agas_block_set_state(b, AGAS_OWNED);
	out->effects |= AGAS_KEPT;
	queue_message(p, out, AGAS_REVOKED, m->peer, m->version, 0, 0);
}

static void on_drop(struct agas_party *p, const struct agas_move_msg *m, struct agas_out *out)
{
	if (state_of(p) != AGAS_OWNED) {
		queue_message(p, out, AGAS_DROPPED, m->peer, m->version, 0, 0);
		return;
	}
	if (!close_block(p, AGAS_DROPPING))
		release_block(p, out);
}

void agas_move_drained(struct agas_party *p, struct agas_out *out)
{
	enum agas_state s = state_of(p);

	if ((s == AGAS_MOVING_OUT || s == AGAS_DROPPING) && !agas_block_pins(p->block) &&
	    !(s == AGAS_MOVING_OUT && p->is_dead(p->block->owner)))
		release_block(p, out);
}

/* ---- home ---- */

static void refuse_rebind(struct agas_party *p, struct agas_out *out, uint32_t target,
			  uint8_t error)
{
	queue_message(p, out, AGAS_REBOUND, target, 0, 0, error);
}

/* Begin the move to a target, or answer that there is nothing to move. Returns false if no move
 * began. */
static bool begin_move(struct agas_party *p, struct agas_out *out, uint32_t target)
{
	struct agas_home *h = p->home;

	if (p->is_dead(target))
		return false;
	if (p->is_dead(h->owner))
		h->lost = true;
	if (h->lost) {
		refuse_rebind(p, out, target, AGAS_WHY_LOST);
		return false;
	}
	if (h->owner == target) {
		queue_message(p, out, AGAS_REBOUND, target, h->version, target, 0);
		return false;
	}
	h->from = h->owner;
	h->owner = target;
	h->version++;
	h->moving = !AGAS_DEFECT(SERIAL);
	queue_message(p, out, AGAS_REBOUND, target, h->version, h->from, 0);
	return true;
}

static void begin_drop(struct agas_party *p, struct agas_out *out)
{
	struct agas_home *h = p->home;

	if (h->lost || p->is_dead(h->owner))
		out->effects |= AGAS_FREED;
	else
		queue_message(p, out, AGAS_DROP, h->owner, h->version, 0, 0);
}

/* The move under way has ended. */
static void next_move(struct agas_party *p, struct agas_out *out)
{
	struct agas_home *h = p->home;

	h->moving = h->revoking = false;
	if (h->freeing) {
		while (h->queue.count)
			refuse_rebind(p, out, waiters_take_first(&h->queue), AGAS_WHY_UNMAPPED);
		begin_drop(p, out);
		return;
	}
	while (h->queue.count && !begin_move(p, out, waiters_take_first(&h->queue)))
		;
}

static void on_rebind(struct agas_party *p, const struct agas_move_msg *m, struct agas_out *out)
{
	struct agas_home *h = p->home;

	if (p->is_dead(m->peer))
		return;
	if (!h || h->freeing)
		refuse_rebind(p, out, m->peer, AGAS_WHY_UNMAPPED);
	else if (h->moving)
		waiters_add(&h->queue, m->peer, 0);
	else
		begin_move(p, out, m->peer);
}

static void on_done(struct agas_party *p, const struct agas_move_msg *m, struct agas_out *out)
{
	struct agas_home *h = p->home;

	if (!h || !h->moving || h->version != m->version)
		return;
	h->lost |= m->error != 0;
	next_move(p, out);
}

static void on_revoked(struct agas_party *p, const struct agas_move_msg *m, struct agas_out *out)
{
	struct agas_home *h = p->home;

	if (!h || !h->revoking)
		return;
	h->version = m->version;
	if (m->error)
		h->lost = true;
	else
		h->owner = h->from;
	next_move(p, out);
}

void agas_move_free(struct agas_party *p, struct agas_out *out)
{
	p->home->freeing = true;
	if (!p->home->moving)
		begin_drop(p, out);
}

/* ---- events ---- */

void agas_move_step(struct agas_party *p, const struct agas_move_msg *m, struct agas_out *out)
{
	switch ((enum agas_move_kind)m->kind) {
	case AGAS_MOVE:
		on_move(p, m, out);
		break;
	case AGAS_REBIND:
		on_rebind(p, m, out);
		break;
	case AGAS_REBOUND:
		on_rebound(p, m, out);
		break;
	case AGAS_ACQUIRE:
		on_acquire(p, m, out);
		break;
	case AGAS_DATA:
		on_data(p, m, out);
		break;
	case AGAS_DONE_HOME:
		on_done(p, m, out);
		break;
	case AGAS_REVOKE:
		on_revoke(p, m, out);
		break;
	case AGAS_REVOKED:
		on_revoked(p, m, out);
		break;
	case AGAS_DROP:
		on_drop(p, m, out);
		break;
	case AGAS_DROPPED:
		if (p->home && p->home->freeing)
			out->effects |= AGAS_FREED;
		break;
	case AGAS_DONE_MOVER: /* the caller's own */
	case AGAS_MOVE_KINDS:
		break;
	}
}

/* The home's part of a death. */
static void home_death(struct agas_party *p, uint32_t dead, struct agas_out *out)
{
	struct agas_home *h = p->home;

	waiters_remove_rank(&h->queue, dead);
	if (!h->moving) {
		if (h->owner == dead && h->freeing)
			out->effects |= AGAS_FREED;
		h->lost |= h->owner == dead;
		return;
	}
	/* If the owner is dead, the target reports whether the data came. */
	if (!p->is_dead(h->owner))
		return;
	if (p->is_dead(h->from)) {
		h->lost = true;
		next_move(p, out);
	} else if (!h->revoking && !AGAS_DEFECT(REVOKE)) {
		h->revoking = true;
		queue_message(p, out, AGAS_REVOKE, h->from, (uint16_t)(h->version + 1), 0, 0);
	}
}

static void block_death(struct agas_party *p, uint32_t dead, struct agas_out *out)
{
	struct agas_block *b = p->block;
	enum agas_state s = agas_block_state(b);

	waiters_remove_rank(&b->waiters, dead);
	if (b->pull == AGAS_PULL_ASKED && p->home_rank == dead) {
		pull_abort(p, out, AGAS_WHY_HOME_DEAD);
	} else if (b->pull == AGAS_PULL_BOUND && b->old == dead) {
		queue_message(p, out, AGAS_DONE_HOME, p->home_rank, b->version, 0, AGAS_WHY_LOST);
		pull_abort(p, out, AGAS_WHY_LOST);
	}
	/* A rank whose block leaves may have asked to get it back: both can end with one death. */
	if (s == AGAS_MOVING_OUT && p->is_dead(b->owner) && p->is_dead(p->home_rank) &&
	    !(AGAS_DEFECT(ASKED_BACK) && out->effects & AGAS_ABORTED)) {
		b->owner = p->me; /* There is no home left that could revoke the move. */
		agas_block_set_state(b, AGAS_OWNED);
		out->effects |= AGAS_KEPT;
	} else if (s == AGAS_REMOTE && b->owner == dead) {
		b->owner = p->home_rank;
	}
}

void agas_move_death(struct agas_party *p, uint32_t dead, struct agas_out *out)
{
	if (p->block)
		block_death(p, dead, out);
	if (p->home)
		home_death(p, dead, out);
}

/* ---- the way of a request ---- */

static enum agas_route refuse_hop(struct agas_hop *hop, enum agas_why why)
{
	hop->error = (uint8_t)why;
	return AGAS_REFUSE;
}

static enum agas_route route_onwards(struct agas_hop *hop, uint32_t to)
{
	hop->to = to;
	hop->hops++;
	return AGAS_FORWARD;
}

static enum agas_route route_at_home(const struct agas_party *p, struct agas_hop *hop)
{
	const struct agas_home *h = p->home;

	if (!h || h->freeing)
		return refuse_hop(hop, AGAS_WHY_UNMAPPED);
	if (h->lost)
		return refuse_hop(hop, AGAS_WHY_LOST);
	if (p->is_dead(h->owner))
		return refuse_hop(hop, h->moving ? AGAS_WHY_RETRY : AGAS_WHY_LOST);
	if (h->owner == p->me)
		return refuse_hop(hop, AGAS_WHY_RETRY);
	return route_onwards(hop, h->owner);
}

enum agas_route agas_route_choose(const struct agas_party *p, struct agas_hop *hop)
{
	enum agas_state s = state_of(p);
	bool knows;

	hop->stale = false;
	if (s == AGAS_OWNED)
		return AGAS_DELIVER;
	if (s == AGAS_INCOMING)
		return AGAS_DEFECT(PARK) ? AGAS_DELIVER : AGAS_PARK;
	if (hop->hops >= AGAS_HOPS_MAX)
		return refuse_hop(hop, AGAS_WHY_LOOP);
	if (p->me == p->home_rank)
		return route_at_home(p, hop);
	knows = (s == AGAS_REMOTE || s == AGAS_MOVING_OUT) && p->block->owner != p->me &&
		!p->is_dead(p->block->owner);
	if (knows && (!(hop->flags & AGAS_HOP_MISLED) || AGAS_DEFECT(MISLED))) {
		hop->stale = true;
		hop->flags |= AGAS_HOP_MISLED;
		return route_onwards(hop, p->block->owner);
	}
	return p->is_dead(p->home_rank) ? refuse_hop(hop, AGAS_WHY_HOME_DEAD)
					: route_onwards(hop, p->home_rank);
}
