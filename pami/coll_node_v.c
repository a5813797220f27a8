/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather of unequal parts of a geometry with several teams: as coll_node_parts.c does equal ones. All members know
 * all lengths, so the blocks need no lengths with them. Gatherv, scatterv and all-to-allv would, a message more
 * each, and even with equal parts going in stages gains them nothing.
 *
 *   own    where each part begins in `other`, in the order of the teams; at the end: bytes of all
 *   other  all parts; the leader has them, those of its team as one block, then the others'; then they go down whole
 *
 * c->at is the state.
 */
#include <stdlib.h>

#include "pami/coll_shm.h"

enum { UP, ACROSS, DOWN, END };

static const struct pami_team_order *order_of(const struct pami_coll *c)
{
	return c->geometry->teams->order;
}

/* Where place k of the order begins. */
static size_t at(const struct pami_coll *c, uint32_t k)
{
	return ((const size_t *)(const void *)c->own)[k];
}

static size_t length(const struct pami_coll *c, uint32_t k)
{
	return at(c, k + 1) - at(c, k);
}

static size_t total(const struct pami_coll *c)
{
	return at(c, c->geometry->size);
}

/* The first place of my team. */
static uint32_t mine(const struct pami_coll *c)
{
	return order_of(c)->first[c->geometry->teams->leader];
}

static int leads(const struct pami_coll *c)
{
	return c->geometry->team[0] == (uint32_t)c->member->rank;
}

static const unsigned char *own_part(const struct pami_coll *c)
{
	return pami_vector_at(&c->recv, (uint32_t)c->member->rank);
}

static int buffers(struct pami_coll *c)
{
	uint32_t n = c->geometry->size;
	size_t *begin = malloc((n + 1) * sizeof *begin);

	c->own = (void *)begin;
	if (!begin)
		return -ENOMEM;
	begin[0] = 0;
	for (uint32_t k = 0; k < n; k++)
		begin[k + 1] = begin[k] + pami_vector_bytes(&c->recv, order_of(c)->rank[k]);
	c->other = malloc(begin[n] + 1);
	return c->other ? 0 : -ENOMEM;
}

/* ---- Up ---- */

static int up_messages(struct pami_coll *c)
{
	uint32_t me = (uint32_t)pami_team_index(c->geometry, (uint32_t)c->member->rank);
	int rc = 0;

	pami_node_see_team(c, PAMI_COLL_UP, 0);
	if (me)
		return pami_coll_send(c, 0, 0, own_part(c), length(c, mine(c) + me));
	for (uint32_t i = 1; i < c->geometry->team_size && !rc; i++)
		rc = pami_coll_recv(c, i, 0, c->other + at(c, mine(c) + i), length(c, mine(c) + i));
	return rc;
}

static int up_memory(struct pami_coll *c, struct pami_shm *s)
{
	if (s->me) {
		if (!pami_shm_slots_free(c, s, c->turn, 1))
			return PAMI_COLL_POLL;
		pami_shm_put(s, c->turn, own_part(c), length(c, mine(c) + s->me));
		pami_shm_publish(s, c->turn);
		mu_wake_task(s->task[0]);
		return 0;
	}
	for (c->peer = c->peer ? c->peer : 1; c->peer < s->members; c->peer++) {
		uint32_t k = mine(c) + c->peer;

		if (!pami_shm_said(c, s, c->peer, c->turn))
			return PAMI_COLL_POLL;
		if (length(c, k))
			memcpy(c->other + at(c, k), pami_shm_see(s, c->peer, c->turn, length(c, k)), length(c, k));
	}
	c->peer = 0;
	return 0;
}

static int up(struct pami_coll *c, struct pami_shm *s)
{
	int rc = 0;

	if (c->geometry->team_size > 1)
		rc = c->turns ? up_memory(c, s) : up_messages(c);
	if (!rc && leads(c) && length(c, mine(c)))
		memcpy(c->other + at(c, mine(c)), own_part(c), length(c, mine(c)));
	return rc;
}

/* ---- Across: leaders with each other, a window at a time. Returns > 0 when all is posted ---- */

static int across(struct pami_coll *c)
{
	uint32_t teams = c->geometry->teams->leaders.size, me = c->geometry->teams->leader;
	const uint32_t *first = order_of(c)->first, *rank = order_of(c)->rank;
	int rc = 0;

	if (!leads(c))
		return 1;
	pami_node_see_all(c);
	c->kind = PAMI_COLL_ACROSS;
	for (uint32_t i = 0; i < PAMI_COLL_WINDOW && c->peer + 1 < teams && !rc; i++) {
		uint32_t d = ++c->peer, to = (me + d) % teams, from = (me + teams - d) % teams;

		rc = pami_coll_send(c, rank[first[to]], 0, c->other + at(c, first[me]), at(c, first[me + 1]) - at(c, first[me]));
		rc = rc ? rc : pami_coll_recv(c, rank[first[from]], 0, c->other + at(c, first[from]),
		                              at(c, first[from + 1]) - at(c, first[from]));
	}
	return rc ? rc : c->peer + 1 >= teams;
}

/* ---- Down ---- */

static int down_messages(struct pami_coll *c)
{
	int rc = 0;

	pami_node_see_team(c, PAMI_COLL_DOWN, 0);
	if (!leads(c))
		return pami_coll_recv(c, 0, 0, c->other, total(c));
	for (uint32_t i = 1; i < c->geometry->team_size && !rc; i++)
		rc = pami_coll_send(c, i, 0, c->other, total(c));
	return rc;
}

static int down_memory(struct pami_coll *c, struct pami_shm *s)
{
	return s->me ? pami_shm_hear_down(c, s, 0, total(c), 0, c->other, total(c)) :
		       pami_shm_tell_down(c, s, c->other, total(c));
}

static int down(struct pami_coll *c, struct pami_shm *s)
{
	if (c->geometry->team_size == 1)
		return 0;
	return c->turns ? down_memory(c, s) : down_messages(c);
}

/* To their places; then who fetches from the leader's buffer is waited for there. */
static int end(struct pami_coll *c, struct pami_shm *s)
{
	int rc;

	for (; c->peer < c->geometry->size; c->peer++)
		if (length(c, c->peer))
			memcpy(pami_vector_at(&c->recv, order_of(c)->rank[c->peer]), c->other + at(c, c->peer),
			       length(c, c->peer));
	rc = c->turns ? pami_shm_end_down(c, s, 0, total(c) > PAMI_SHM_BULK) : PAMI_COLL_DONE;
	if (rc == PAMI_COLL_DONE)
		pami_node_see_all(c);
	return rc;
}

static int stages(struct pami_coll *c, struct pami_shm *s)
{
	int rc = 0;

	switch (c->at) {
	case UP:
		rc = up(c, s);
		c->at += !rc;
		return rc;
	case ACROSS:
		rc = across(c);
		c->at += rc > 0;
		return rc > 0 ? 0 : rc;
	case DOWN:
		rc = down(c, s);
		c->at += !rc;
		c->peer = 0;
		return rc;
	default:
		return end(c, s);
	}
}

static int stages_messages(struct pami_coll *c)
{
	return stages(c, NULL);
}

/* Where there is no memory of the team: with the buffers there are, as no member may end alone for want of new ones. */
static const struct pami_algorithm_info by_messages = { .name = "messages", .step = stages_messages, .keeps = 1 };

static int stages_memory(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc;

	if (!c->turns)
		return stages(c, NULL);
	rc = pami_shm_enter(c, &by_messages);
	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	c->phase = 3;
	return stages(c, s);
}

static const struct pami_algorithm_info in_stages = { .name = "allgatherv in stages", .step = stages_memory };

int pami_node_v_begin(struct pami_coll *c)
{
	size_t most = 0;
	int rc;

	for (uint32_t i = 0; i < c->size; i++) {
		size_t bytes = pami_vector_bytes(&c->recv, i);

		most = bytes > most ? bytes : most;
	}
	if (most > PAMI_SHM_BULK) {
		c->info = pami_coll_named(c->type, "I0:Linear:-:P2P");
		return c->info->begin ? c->info->begin(c) : 0;
	}
	rc = pami_team_order_find(c->geometry);
	if (rc)
		return rc;
	c->whole_root = c->root;
	c->info = &in_stages;
	rc = buffers(c);
	return rc || c->geometry->team_size == 1 ? rc : pami_shm_join(c, 1);
}
