/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather, scatter, allgather(v) and all-to-all of a geometry with several teams, in stages, for
 * small parts: all that the members of one team send to those of another travels as one message.
 *
 *   up      each member gives its part to the collector of its team: the root, in its own team,
 *           else the leader
 *   across  collectors exchange blocks: the parts of a team's members, in rank order
 *   down    each member takes its share from the collector
 *
 * Up and down go through the team's memory, in one turn (coll/shm/shm.h), or by messages where
 * there is none.
 *
 * Parts are equal, but for allgatherv, where all members know all lengths. Gatherv, scatterv and
 * all-to-allv would have to send the lengths first; even equal parts gain nothing from stages
 * there.
 */
#include "drivers/base/assert.h"
#include "pami/coll/shm/shm.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"

enum { UP, ACROSS, ARRIVED, DOWN, PLACED, END };

/*
 * Team order: all ranks, team after team (struct pami_team_order). `blocks` has all parts in team
 * order; allgatherv: at every member, else at collectors only.
 *
 * All-to-all: four areas of a row of parts for each member of the team: the rows that the members
 * gave, the blocks that go out, the blocks that come in, and the rows that go down.
 */
struct parts_state {
	unsigned char *blocks;
	size_t *place;     /* [size + 1] where each part begins in team order; NULL: equal parts */
	size_t part_bytes; /* of equal parts */
	uint32_t cursor;
	uint8_t step;
};

static struct parts_state *state_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct parts_state);
}

/* ---- Where things are ---- */

static bool is_allgatherv(const struct pami_coll *c)
{
	return c->type == PAMI_XFER_ALLGATHERV || c->type == PAMI_XFER_ALLGATHERV_INT;
}

static bool is_alltoall(const struct pami_coll *c)
{
	return c->type == PAMI_XFER_ALLTOALL;
}

static const struct pami_team_order *order_of(const struct pami_coll *c)
{
	return atomic_ptr_load_acquire(&c->geometry->teams->order);
}

static uint32_t teams_of(const struct pami_coll *c)
{
	return c->geometry->teams->leaders.size;
}

/* This member's team, among the leaders. */
static uint32_t own_team(const struct pami_coll *c)
{
	return c->geometry->teams->leader;
}

/* The index, in the team, of the member that collects. */
static uint32_t collector_index(const struct pami_coll *c)
{
	bool has_root = c->type == PAMI_XFER_GATHER || c->type == PAMI_XFER_SCATTER;
	int32_t root = has_root ? pami_team_index(c->geometry, c->whole_root) : -1;

	return root < 0 ? 0 : (uint32_t)root;
}

static bool is_collector(const struct pami_coll *c)
{
	return c->geometry->team[collector_index(c)] == (uint32_t)c->member->rank;
}

static bool is_root(const struct pami_coll *c)
{
	return c->whole_root == (uint32_t)c->member->rank;
}

static size_t row_bytes(const struct pami_coll *c)
{
	return state_of(c)->part_bytes * c->geometry->size;
}

/* Return where place k of the team order begins in the blocks. */
static size_t place_at(const struct pami_coll *c, uint32_t k)
{
	const struct parts_state *p = state_of(c);

	return p->place ? p->place[k] : k * p->part_bytes;
}

static size_t part_bytes(const struct pami_coll *c, uint32_t k)
{
	return place_at(c, k + 1) - place_at(c, k);
}

static unsigned char *part_of(const struct pami_coll *c, uint32_t k)
{
	return state_of(c)->blocks + place_at(c, k);
}

/* The first place of a team, its first rank, its block, and the bytes of the block. */
static uint32_t team_place(const struct pami_coll *c, uint32_t team)
{
	return order_of(c)->first[team];
}

static uint32_t team_rank(const struct pami_coll *c, uint32_t team)
{
	return order_of(c)->rank[team_place(c, team)];
}

static unsigned char *block_of(const struct pami_coll *c, uint32_t team)
{
	return part_of(c, team_place(c, team));
}

static size_t block_bytes(const struct pami_coll *c, uint32_t team)
{
	return place_at(c, team_place(c, team + 1)) - place_at(c, team_place(c, team));
}

/* All-to-all: the areas of `blocks`. */
enum { ROWS_UP, BLOCKS_OUT, BLOCKS_IN, ROWS_DOWN, AREAS };

static unsigned char *area_of(const struct pami_coll *c, unsigned area)
{
	return state_of(c)->blocks + area * c->geometry->team_size * row_bytes(c);
}

/* All-to-all: the block for, or from, another team. */
static unsigned char *area_block(const struct pami_coll *c, unsigned area, uint32_t team)
{
	return area_of(c, area) + c->geometry->team_size * place_at(c, team_place(c, team));
}

/* ---- Begin ---- */

static int get_buffers(struct pami_coll *c)
{
	struct parts_state *p = state_of(c);
	uint32_t n = c->geometry->size;
	size_t bytes = row_bytes(c);

	if (is_allgatherv(c)) {
		p->place = pami_coll_buffer(c, (n + 1) * sizeof *p->place);
		if (!p->place)
			return -ENOMEM;
		p->place[0] = 0;
		for (uint32_t k = 0; k < n; k++)
			p->place[k + 1] =
			    p->place[k] + pami_vector_bytes(&c->recv, order_of(c)->rank[k]);
		bytes = p->place[n];
	} else if (!is_collector(c)) {
		return 0;
	} else if (is_alltoall(c)) {
		bytes *= AREAS * c->geometry->team_size;
	}
	p->blocks = pami_coll_buffer(c, bytes);
	return p->blocks ? 0 : -ENOMEM;
}

/* The largest contribution that a member puts into the team's memory. */
static size_t largest_contribution(const struct pami_coll *c)
{
	size_t most = is_alltoall(c) ? c->bytes : c->bytes / c->size;

	for (uint32_t i = 0; is_allgatherv(c) && i < c->size; i++) {
		size_t bytes = pami_vector_bytes(&c->recv, i);

		most = !i || bytes > most ? bytes : most;
	}
	return most;
}

int pami_parts_begin(struct pami_coll *c)
{
	int rc;

	/* Longer parts travel alone: each byte crosses between hosts only once that way, too. */
	if (largest_contribution(c) > PAMI_SHM_BULK)
		return pami_coll_replace(c, pami_coll_named(c->type, "I0:Linear:-:P2P"));
	rc = pami_team_order_find(c->geometry);
	if (rc)
		return rc;
	c->whole_root = c->root;
	*state_of(c) = (struct parts_state){.part_bytes = c->bytes / c->size};
	rc = get_buffers(c);
	if (rc)
		return rc;
	/*
	 * If there is no team memory the operation continues with these buffers. If it got new
	 * ones, one member could fail alone, and the others would wait for it.
	 */
	pami_coll_buffers_keep(c);
	return c->geometry->team_size == 1 ? 0 : pami_shm_join(c, 1);
}

/* ---- Up ---- */

/* Return the contribution of this member. */
static const unsigned char *find_contribution(const struct pami_coll *c)
{
	if (c->type == PAMI_XFER_GATHER)
		return c->data;
	return is_alltoall(c) ? pami_vector_at(&c->send, 0)
			      : pami_vector_at(&c->recv, (uint32_t)c->member->rank);
}

/* Compute where the collector puts the contribution of member i of the team, and its bytes. */
static unsigned char *contribution_place(const struct pami_coll *c, uint32_t i)
{
	return is_alltoall(c) ? area_of(c, ROWS_UP) + i * row_bytes(c)
			      : part_of(c, team_place(c, own_team(c)) + i);
}

static size_t contribution_bytes(const struct pami_coll *c, uint32_t i)
{
	return is_alltoall(c) ? row_bytes(c) : part_bytes(c, team_place(c, own_team(c)) + i);
}

static int up_messages(struct pami_coll *c)
{
	uint32_t to = collector_index(c);
	int rc = 0;

	pami_node_see_team(c, PAMI_COLL_UP, to);
	if (!is_collector(c))
		return pami_coll_send(c, to, 0, find_contribution(c),
				      contribution_bytes(c, c->rank));
	for (uint32_t i = 0; i < c->geometry->team_size && !rc; i++)
		if (i != to)
			rc = pami_coll_recv(c, i, 0, contribution_place(c, i),
					    contribution_bytes(c, i));
	return rc;
}

static int up_memory(struct pami_coll *c, struct pami_shm *s)
{
	uint32_t *cursor = &state_of(c)->cursor;

	DRV_ASSERT(s);
	if (!is_collector(c)) {
		if (!pami_shm_speak(c, s, find_contribution(c), contribution_bytes(c, s->me)))
			return PAMI_COLL_POLL;
		mu_wake_task(s->task[collector_index(c)]);
		return 0;
	}
	for (; *cursor < s->members; ++*cursor) {
		size_t bytes = contribution_bytes(c, *cursor);

		if (*cursor == s->me)
			continue;
		if (!pami_shm_await_published(c, s, *cursor, c->turns.first))
			return PAMI_COLL_POLL;
		pami_shm_take(c, s, *cursor, bytes, 0, contribution_place(c, *cursor), bytes);
	}
	*cursor = 0;
	return 0;
}

static int pass_up(struct pami_coll *c, struct pami_shm *s)
{
	uint32_t me = collector_index(c);
	int rc = 0;

	if (c->type == PAMI_XFER_SCATTER)
		return 0;
	if (c->geometry->team_size > 1)
		rc = c->turns.count ? up_memory(c, s) : up_messages(c);
	if (!rc && is_collector(c) && contribution_bytes(c, me))
		memcpy(contribution_place(c, me), find_contribution(c), contribution_bytes(c, me));
	return rc;
}

/* ---- Across ---- */

/* Gather, scatter: the root exchanges blocks with all other collectors. */
static int across_root(struct pami_coll *c)
{
	bool gather = c->type == PAMI_XFER_GATHER;
	uint32_t own = own_team(c);
	int rc = 0;

	if (!is_root(c)) {
		if (gather)
			return pami_coll_send(c, c->whole_root, 0, block_of(c, own),
					      block_bytes(c, own));
		return pami_coll_recv(c, c->whole_root, 0, block_of(c, own), block_bytes(c, own));
	}
	for (uint32_t k = 0; !gather && k < c->geometry->size; k++)
		if (part_bytes(c, k))
			memcpy(part_of(c, k), pami_vector_at(&c->send, order_of(c)->rank[k]),
			       part_bytes(c, k));
	for (uint32_t t = 0; t < teams_of(c) && !rc; t++) {
		if (t == own)
			continue;
		rc = gather
			 ? pami_coll_recv(c, team_rank(c, t), 0, block_of(c, t), block_bytes(c, t))
			 : pami_coll_send(c, team_rank(c, t), 0, block_of(c, t), block_bytes(c, t));
	}
	return rc;
}

/* All-to-all: put the block for a team together: of each row the parts for that team's members. */
static unsigned char *pack_block(const struct pami_coll *c, uint32_t team)
{
	unsigned char *block = area_block(c, BLOCKS_OUT, team), *to = block;
	size_t each = state_of(c)->part_bytes;

	for (uint32_t i = 0; i < c->geometry->team_size && each; i++)
		for (uint32_t k = team_place(c, team); k < team_place(c, team + 1); k++, to += each)
			memcpy(to,
			       area_of(c, ROWS_UP) + i * row_bytes(c) + order_of(c)->rank[k] * each,
			       each);
	return block;
}

/* Allgather(v), all-to-all: each leader with each other. Returns > 0 when all is posted. */
static int across_exchange(struct pami_coll *c)
{
	uint32_t teams = teams_of(c), own = own_team(c), *cursor = &state_of(c)->cursor;
	size_t team = c->geometry->team_size;
	int rc = 0;

	for (uint32_t i = 0; i < PAMI_COLL_WINDOW && *cursor + 1 < teams && !rc; i++) {
		uint32_t d = ++*cursor, to = (own + d) % teams, from = (own + teams - d) % teams;

		if (is_alltoall(c)) {
			rc = pami_coll_send(c, team_rank(c, to), 0, pack_block(c, to),
					    team * block_bytes(c, to));
			rc = rc ? rc
				: pami_coll_recv(c, team_rank(c, from), 0,
						 area_block(c, BLOCKS_IN, from),
						 team * block_bytes(c, from));
		} else {
			rc = pami_coll_send(c, team_rank(c, to), 0, block_of(c, own),
					    block_bytes(c, own));
			rc = rc ? rc
				: pami_coll_recv(c, team_rank(c, from), 0, block_of(c, from),
						 block_bytes(c, from));
		}
	}
	return rc ? rc : *cursor + 1 >= teams;
}

/* Returns > 0 when all is posted. */
static int run_across(struct pami_coll *c)
{
	int rc;

	if (!is_collector(c))
		return 1;
	pami_node_see_all(c);
	c->kind = PAMI_COLL_ACROSS;
	if (c->type != PAMI_XFER_GATHER && c->type != PAMI_XFER_SCATTER)
		return across_exchange(c);
	rc = across_root(c);
	return rc ? rc : 1;
}

/* ---- What has arrived, to its places ---- */

static void place_parts(struct pami_coll *c)
{
	for (uint32_t k = 0; k < c->geometry->size; k++)
		if (part_bytes(c, k))
			memcpy(pami_vector_at(&c->recv, order_of(c)->rank[k]), part_of(c, k),
			       part_bytes(c, k));
}

static void place_rows(struct pami_coll *c)
{
	size_t each = state_of(c)->part_bytes;

	for (uint32_t t = 0; each && t < teams_of(c); t++) {
		const unsigned char *from =
		    t == own_team(c) ? pack_block(c, t) : area_block(c, BLOCKS_IN, t);

		for (uint32_t k = team_place(c, t); k < team_place(c, t + 1); k++)
			for (uint32_t i = 0; i < c->geometry->team_size; i++, from += each)
				memcpy(area_of(c, ROWS_DOWN) + i * row_bytes(c) +
					   order_of(c)->rank[k] * each,
				       from, each);
	}
}

/* The collector, after the exchange. */
static void place_arrived(struct pami_coll *c)
{
	if (!is_collector(c))
		return;
	if (is_alltoall(c))
		place_rows(c);
	else if (c->type == PAMI_XFER_ALLGATHER || (c->type == PAMI_XFER_GATHER && is_root(c)))
		place_parts(c);
}

/* ---- Down ---- */

/* The collector gives `total` bytes at `base`. Member i takes `bytes` of them, from `at` on. */
struct share {
	unsigned char *base, *to;
	size_t total, at, bytes;
};

static struct share share_of(const struct pami_coll *c, uint32_t i)
{
	size_t team = c->geometry->team_size, each = state_of(c)->part_bytes, row = row_bytes(c);
	struct share share = {.total = row, .bytes = row};

	switch (c->type) {
	case PAMI_XFER_ALLGATHER:
		share.base = share.to = pami_vector_at(&c->recv, 0);
		break;
	case PAMI_XFER_ALLGATHERV:
	case PAMI_XFER_ALLGATHERV_INT:
		share.base = share.to = state_of(c)->blocks;
		share.total = share.bytes = place_at(c, c->geometry->size);
		break;
	case PAMI_XFER_ALLTOALL:
		share.base = is_collector(c) ? area_of(c, ROWS_DOWN) : NULL;
		share.to = pami_vector_at(&c->recv, 0);
		share.total = team * row;
		share.at = i * row;
		break;
	default: /* scatter */
		share.base = is_collector(c) ? block_of(c, own_team(c)) : NULL;
		share.to = c->target;
		share.total = team * each;
		share.at = i * each;
		share.bytes = each;
	}
	return share;
}

static int down_messages(struct pami_coll *c)
{
	uint32_t from = collector_index(c);
	struct share share;
	int rc = 0;

	pami_node_see_team(c, PAMI_COLL_DOWN, from);
	if (!is_collector(c)) {
		share = share_of(c, c->rank);
		return pami_coll_recv(c, from, 0, share.to, share.bytes);
	}
	for (uint32_t i = 0; i < c->geometry->team_size && !rc; i++) {
		share = share_of(c, i);
		if (i != from)
			rc = pami_coll_send(c, i, 0, share.base + share.at, share.bytes);
	}
	return rc;
}

static int down_memory(struct pami_coll *c, struct pami_shm *s)
{
	uint32_t from = collector_index(c);
	struct share share;

	DRV_ASSERT(s);
	share = share_of(c, s->me);
	return from == s->me
		   ? pami_shm_speak_down(c, s, share.base, share.total)
		   : pami_shm_take_down(c, s, from, share.total, share.at, share.to, share.bytes);
}

static int pass_down(struct pami_coll *c, struct pami_shm *s)
{
	struct share share;
	int rc = 0;

	if (c->type == PAMI_XFER_GATHER)
		return 0;
	if (c->geometry->team_size > 1)
		rc = c->turns.count ? down_memory(c, s) : down_messages(c);
	if (rc || !is_collector(c))
		return rc;
	share = share_of(c, collector_index(c));
	if (share.to && share.bytes && share.to != share.base) {
		DRV_ASSERT(share.base);
		memcpy(share.to, share.base + share.at, share.bytes);
	}
	return 0;
}

static int finish_parts(struct pami_coll *c, struct pami_shm *s)
{
	bool fetched =
	    c->type != PAMI_XFER_GATHER && c->turns.count && share_of(c, 0).total > PAMI_SHM_BULK;
	int rc =
	    c->turns.count ? pami_shm_end_fetch(c, s, collector_index(c), fetched) : PAMI_COLL_DONE;

	if (rc == PAMI_COLL_DONE)
		pami_node_see_all(c);
	return rc;
}

/* ---- The steps ---- */

/* One step. The next call runs the next step when everything that this one posted is complete. */
static int run_step(struct pami_coll *c, struct pami_shm *s)
{
	struct parts_state *p = state_of(c);
	int rc = 0;

	switch (p->step) {
	case UP:
		rc = pass_up(c, s);
		break;
	case ACROSS:
		rc = run_across(c);
		if (!rc) /* there are more windows */
			return 0;
		rc = rc > 0 ? 0 : rc;
		break;
	case ARRIVED:
		place_arrived(c);
		break;
	case DOWN:
		rc = pass_down(c, s);
		break;
	case PLACED:
		if (is_allgatherv(c))
			place_parts(c);
		break;
	default:
		return finish_parts(c, s);
	}
	p->step += !rc;
	return rc;
}

static int step_messages(struct pami_coll *c)
{
	return run_step(c, NULL);
}

static const struct pami_algorithm_info by_messages = {.name = "parts, by messages",
						       .step = step_messages};

int pami_parts_step(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc;

	if (!c->turns.count)
		return run_step(c, NULL);
	rc = pami_shm_enter(c, &by_messages);
	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	return run_step(c, s);
}
