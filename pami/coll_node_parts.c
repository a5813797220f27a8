/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather, scatter, allgather and all-to-all of a geometry with several teams, for equal parts of little data: what
 * the members of a team have to say to those of another goes as one message.
 *
 *   up      each gives to its team's collector: the leader, or the root where it is of the team
 *   across  collectors exchange blocks: the parts of a team's members, in rank order
 *   down    each takes its share from the collector
 *
 * Up and down through the team's memory, in one turn (coll_shm.h), or by messages where there is none. c->at is the
 * state, c->length the bytes of a part.
 *
 *   own    what the collector gathered: gather, allgather: its team's block; all-to-all: a row of each of its
 *          members; scatter: what goes down
 *   other  what goes and comes across, blocks in the order of the teams; all-to-all: and behind it what goes down
 */
#include <stdlib.h>

#include "pami/coll_shm.h"

enum { UP, ACROSS, ARRIVED, DOWN, END };

static size_t row_bytes(const struct pami_coll *c)
{
	return c->length * c->geometry->size;
}

static uint32_t team_rank(const struct pami_coll *c, uint32_t i)
{
	return c->geometry->team[i];
}

static uint32_t collector(const struct pami_coll *c)
{
	int rooted = c->type == PAMI_XFER_GATHER || c->type == PAMI_XFER_SCATTER;
	int32_t root = rooted ? pami_team_index(c->geometry, c->whole_root) : -1;

	return root < 0 ? 0 : (uint32_t)root;
}

static int collects(const struct pami_coll *c)
{
	return team_rank(c, collector(c)) == (uint32_t)c->member->rank;
}

static int is_root(const struct pami_coll *c)
{
	return c->whole_root == (uint32_t)c->member->rank;
}

static const struct pami_team_order *order_of(const struct pami_coll *c)
{
	return c->geometry->teams->order;
}

static uint32_t mine(const struct pami_coll *c)
{
	return c->geometry->teams->leader;
}

/* Where the block of team t begins, in parts; and its parts. */
static uint32_t block_at(const struct pami_coll *c, uint32_t t)
{
	return order_of(c)->first[t];
}

static uint32_t block_parts(const struct pami_coll *c, uint32_t t)
{
	return order_of(c)->first[t + 1] - order_of(c)->first[t];
}

/* ---- Begin ---- */

static int buffers(struct pami_coll *c)
{
	size_t team = c->geometry->team_size, row = row_bytes(c), own, other;

	if (!collects(c))
		return 0;
	own = c->type == PAMI_XFER_ALLTOALL ? team * row : team * c->length;
	other = c->type == PAMI_XFER_ALLTOALL ? 3 * team * row : row;
	c->own = malloc(own + 1);
	c->other = malloc(other + 1);
	return c->own && c->other ? 0 : -ENOMEM;
}

int pami_node_parts_begin(struct pami_coll *c)
{
	size_t each = c->bytes / c->size;
	int rc;

	if (c->type == PAMI_XFER_ALLGATHERV || c->type == PAMI_XFER_ALLGATHERV_INT)
		return pami_node_v_begin(c);
	/* Longer parts travel alone: each byte crosses once as well. */
	if ((c->type == PAMI_XFER_ALLTOALL ? c->bytes : each) > PAMI_SHM_BULK) {
		c->info = pami_coll_named(c->type, "I0:Linear:-:P2P");
		return c->info->begin ? c->info->begin(c) : 0;
	}
	rc = pami_team_order_find(c->geometry);
	if (rc)
		return rc;
	c->whole_root = c->root;
	c->length = each;
	rc = buffers(c);
	return rc || c->geometry->team_size == 1 ? rc : pami_shm_join(c, 1);
}

/* There is no memory of the team, or no new one: with the buffers there are, so that no member ends alone. */
static int begin_again(struct pami_coll *c)
{
	c->length = c->bytes / c->geometry->size;
	return 0;
}

/* ---- Up ---- */

static const unsigned char *gives(const struct pami_coll *c)
{
	return c->type == PAMI_XFER_GATHER    ? c->data :
	       c->type == PAMI_XFER_ALLGATHER ? pami_vector_at(&c->recv, (uint32_t)c->member->rank) :
						pami_vector_at(&c->send, 0);
}

static size_t up_bytes(const struct pami_coll *c)
{
	return c->type == PAMI_XFER_ALLTOALL ? row_bytes(c) : c->length;
}

static int up_messages(struct pami_coll *c)
{
	size_t bytes = up_bytes(c);
	uint32_t to = collector(c);
	int rc = 0;

	pami_node_see_team(c, PAMI_COLL_UP, to);
	if (!collects(c))
		return pami_coll_send(c, to, 0, gives(c), bytes);
	for (uint32_t i = 0; i < c->geometry->team_size && !rc; i++)
		if (i != to)
			rc = pami_coll_recv(c, i, 0, c->own + i * bytes, bytes);
	return rc;
}

static int up_memory(struct pami_coll *c, struct pami_shm *s)
{
	size_t bytes = up_bytes(c);

	if (!collects(c)) {
		if (!pami_shm_slots_free(c, s, c->turn, 1))
			return PAMI_COLL_POLL;
		pami_shm_put(s, c->turn, gives(c), bytes);
		pami_shm_publish(s, c->turn);
		mu_wake_task(s->task[collector(c)]);
		return 0;
	}
	for (; c->peer < s->members; c->peer++) {
		if (c->peer == s->me)
			continue;
		if (!pami_shm_said(c, s, c->peer, c->turn))
			return PAMI_COLL_POLL;
		if (bytes)
			memcpy(c->own + c->peer * bytes, pami_shm_see(s, c->peer, c->turn, bytes), bytes);
	}
	c->peer = 0;
	return 0;
}

static int up(struct pami_coll *c, struct pami_shm *s)
{
	int rc = 0;

	if (c->type == PAMI_XFER_SCATTER)
		return 0;
	if (c->geometry->team_size > 1)
		rc = c->turns ? up_memory(c, s) : up_messages(c);
	if (!rc && collects(c) && up_bytes(c))
		memcpy(c->own + collector(c) * up_bytes(c), gives(c), up_bytes(c));
	return rc;
}

/* ---- Across ---- */

static int across_gather(struct pami_coll *c)
{
	uint32_t teams = c->geometry->teams->leaders.size;
	int rc = 0;

	if (!is_root(c))
		return pami_team_index(c->geometry, c->whole_root) >= 0 ?
			       0 :
			       pami_coll_send(c, c->whole_root, 0, c->own, c->geometry->team_size * c->length);
	for (uint32_t t = 0; t < teams && !rc; t++)
		if (t != mine(c))
			rc = pami_coll_recv(c, order_of(c)->rank[block_at(c, t)], 0, c->other + block_at(c, t) * c->length,
			                    block_parts(c, t) * c->length);
	return rc;
}

static int across_scatter(struct pami_coll *c)
{
	uint32_t teams = c->geometry->teams->leaders.size;
	int rc = 0;

	if (!is_root(c))
		return pami_team_index(c->geometry, c->whole_root) >= 0 ?
			       0 :
			       pami_coll_recv(c, c->whole_root, 0, c->own, c->geometry->team_size * c->length);
	for (uint32_t i = 0; c->length && i < c->geometry->size; i++)
		memcpy(c->other + i * c->length, pami_vector_at(&c->send, order_of(c)->rank[i]), c->length);
	for (uint32_t t = 0; t < teams && !rc; t++)
		if (t != mine(c))
			rc = pami_coll_send(c, order_of(c)->rank[block_at(c, t)], 0, c->other + block_at(c, t) * c->length,
			                    block_parts(c, t) * c->length);
	if (c->length)
		memcpy(c->own, c->other + block_at(c, mine(c)) * c->length, c->geometry->team_size * c->length);
	return rc;
}

/* All-to-all: what goes to team t, a row of parts for each of my team's members. */
static unsigned char *block_out(const struct pami_coll *c, uint32_t t)
{
	size_t parts = (size_t)c->geometry->team_size * block_parts(c, t);
	unsigned char *block = c->other + (size_t)c->geometry->team_size * block_at(c, t) * c->length, *to = block;

	for (uint32_t i = 0; i < c->geometry->team_size && c->length && parts; i++)
		for (uint32_t k = 0; k < block_parts(c, t); k++, to += c->length)
			memcpy(to, c->own + i * row_bytes(c) + order_of(c)->rank[block_at(c, t) + k] * c->length,
			       c->length);
	return block;
}

static unsigned char *block_in(const struct pami_coll *c, uint32_t t)
{
	size_t team = c->geometry->team_size;

	return c->type == PAMI_XFER_ALLTOALL ?
		       c->other + team * row_bytes(c) + team * block_at(c, t) * c->length :
		       c->other + block_at(c, t) * c->length;
}

/* Each leader with each other one, a window at a time. Returns > 0 when all is posted. */
static int across_exchange(struct pami_coll *c)
{
	uint32_t teams = c->geometry->teams->leaders.size, i;
	size_t team = c->geometry->team_size, each = c->type == PAMI_XFER_ALLTOALL ? team : 1;
	int rc = 0;

	for (i = 0; i < PAMI_COLL_WINDOW && c->peer + 1 < teams && !rc; i++) {
		uint32_t d = ++c->peer, to = (mine(c) + d) % teams, from = (mine(c) + teams - d) % teams;
		const unsigned char *out = c->type == PAMI_XFER_ALLTOALL ? block_out(c, to) : c->own;
		size_t out_bytes = c->type == PAMI_XFER_ALLTOALL ? team * block_parts(c, to) * c->length :
								   team * c->length;

		rc = pami_coll_send(c, order_of(c)->rank[block_at(c, to)], 0, out, out_bytes);
		rc = rc ? rc : pami_coll_recv(c, order_of(c)->rank[block_at(c, from)], 0, block_in(c, from),
		                              each * block_parts(c, from) * c->length);
	}
	return rc ? rc : c->peer + 1 >= teams;
}

/* Returns > 0 when all is posted. */
static int across(struct pami_coll *c)
{
	int rc;

	if (!collects(c))
		return 1;
	pami_node_see_all(c);
	c->kind = PAMI_COLL_ACROSS;
	if (c->type == PAMI_XFER_ALLGATHER || c->type == PAMI_XFER_ALLTOALL)
		return across_exchange(c);
	rc = c->type == PAMI_XFER_GATHER ? across_gather(c) : across_scatter(c);
	return rc ? rc : 1;
}

/* ---- What has arrived, to its places ---- */

static void arrived_parts(struct pami_coll *c)
{
	for (uint32_t t = 0; t < c->geometry->teams->leaders.size; t++)
		for (uint32_t k = 0; k < block_parts(c, t); k++) {
			const unsigned char *from = (t == mine(c) ? c->own : block_in(c, t)) + k * c->length;
			unsigned char *to = pami_vector_at(&c->recv, order_of(c)->rank[block_at(c, t) + k]);

			if (from != to)
				memcpy(to, from, c->length);
		}
}

/* Where rows for the members of my team are put together. */
static unsigned char *rows(const struct pami_coll *c)
{
	return c->other + 2 * c->geometry->team_size * row_bytes(c);
}

static void arrived_rows(struct pami_coll *c)
{
	uint32_t team = c->geometry->team_size;

	for (uint32_t t = 0; t < c->geometry->teams->leaders.size; t++) {
		const unsigned char *from = t == mine(c) ? block_out(c, t) : block_in(c, t);

		for (uint32_t k = 0; k < block_parts(c, t); k++)
			for (uint32_t i = 0; i < team; i++, from += c->length)
				memcpy(rows(c) + i * row_bytes(c) + order_of(c)->rank[block_at(c, t) + k] * c->length,
				       from, c->length);
	}
}

static void arrived(struct pami_coll *c)
{
	if (!collects(c) || !c->length)
		return;
	if (c->type == PAMI_XFER_ALLTOALL)
		arrived_rows(c);
	else if (c->type == PAMI_XFER_ALLGATHER || (c->type == PAMI_XFER_GATHER && is_root(c)))
		arrived_parts(c);
}

/* ---- Down ---- */

/* What goes down lies at `base`, `total` bytes; member i of the team takes `bytes` of it at `at`. */
struct share {
	unsigned char *base, *to;
	size_t total, at, bytes;
};

static struct share share_of(const struct pami_coll *c, uint32_t i)
{
	size_t team = c->geometry->team_size;
	struct share share;

	if (c->type == PAMI_XFER_ALLGATHER)
		share = (struct share){ NULL, pami_vector_at(&c->recv, 0), row_bytes(c), 0, row_bytes(c) };
	else if (c->type == PAMI_XFER_ALLTOALL)
		share = (struct share){ NULL, pami_vector_at(&c->recv, 0), team * row_bytes(c), i * row_bytes(c),
			                row_bytes(c) };
	else
		share = (struct share){ NULL, c->target, team * c->length, i * c->length, c->length };
	if (collects(c))
		share.base = c->type == PAMI_XFER_ALLGATHER ? share.to :
			     c->type == PAMI_XFER_ALLTOALL  ? rows(c) :
							      c->own;
	return share;
}

static int down_messages(struct pami_coll *c)
{
	uint32_t from = collector(c);
	int rc = 0;

	pami_node_see_team(c, PAMI_COLL_DOWN, from);
	for (uint32_t i = 0; collects(c) && i < c->geometry->team_size && !rc; i++) {
		struct share share = share_of(c, i);

		if (i != from)
			rc = pami_coll_send(c, i, 0, share.base + share.at, share.bytes);
	}
	if (!collects(c)) {
		struct share share = share_of(c, c->rank);

		rc = pami_coll_recv(c, from, 0, share.to, share.bytes);
	}
	return rc;
}

static int down_memory(struct pami_coll *c, struct pami_shm *s)
{
	struct share share = share_of(c, s->me);
	uint32_t from = collector(c);

	return from == s->me ? pami_shm_tell_down(c, s, share.base, share.total) :
			       pami_shm_hear_down(c, s, from, share.total, share.at, share.to, share.bytes);
}

static int down(struct pami_coll *c, struct pami_shm *s)
{
	struct share share;
	int rc = 0;

	if (c->type == PAMI_XFER_GATHER)
		return 0;
	if (c->geometry->team_size > 1)
		rc = c->turns ? down_memory(c, s) : down_messages(c);
	if (rc || !collects(c))
		return rc;
	share = share_of(c, collector(c));
	if (share.to && share.bytes && share.to != share.base)
		memcpy(share.to, share.base + share.at, share.bytes);
	return 0;
}

static int end(struct pami_coll *c, struct pami_shm *s)
{
	int fetched = c->type != PAMI_XFER_GATHER && c->turns && share_of(c, 0).total > PAMI_SHM_BULK;
	int rc = c->turns ? pami_shm_end_down(c, s, collector(c), fetched) : PAMI_COLL_DONE;

	if (rc == PAMI_COLL_DONE)
		pami_node_see_all(c);
	return rc;
}

static int parts(struct pami_coll *c, struct pami_shm *s)
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
	case ARRIVED:
		arrived(c);
		c->at++;
		return 0;
	case DOWN:
		rc = down(c, s);
		c->at += !rc;
		return rc;
	default:
		return end(c, s);
	}
}

static int parts_messages(struct pami_coll *c)
{
	return parts(c, NULL);
}

static const struct pami_algorithm_info by_messages = { .name = "messages", .step = parts_messages,
	                                                .begin = begin_again, .keeps = 1 };

int pami_node_parts(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc;

	if (!c->turns)
		return parts(c, NULL);
	rc = pami_shm_enter(c, &by_messages);
	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	c->phase = 3;
	return parts(c, s);
}
