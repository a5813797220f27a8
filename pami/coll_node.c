/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of a geometry with several teams (geometry_team.c), in stages: up to the leader of each team,
 * across among the leaders, down again.
 *
 * Within a team: through its memory (coll_shm.h, one turn for both stages) in real time, or by messages, in
 * virtual time and where there is no memory. Across: an algorithm on messages that sees the leaders as its
 * ranks. Both kinds may meet in one operation.
 */
#include <stdlib.h>

#include "pami/coll_shm.h"

static const struct pami_algorithm_info down_messages, down_memory;

int pami_node_usable(const struct pami_geometry *g)
{
	return g->teams != NULL;
}

int pami_node_shm_usable(const struct pami_geometry *g)
{
	return g->teams && !g->client->job->virtual_clock;
}

/* ---- What the operation sees as its ranks ---- */

void pami_node_see_all(struct pami_coll *c)
{
	c->topology = &c->geometry->topology;
	c->rank = (uint32_t)c->member->rank;
	c->size = c->geometry->size;
	c->root = c->whole_root;
	c->kind = PAMI_COLL_USER;
}

void pami_node_see_team(struct pami_coll *c, uint32_t kind, uint32_t root)
{
	c->topology = &c->geometry->teams->inside;
	c->rank = (uint32_t)pami_team_index(c->geometry, (uint32_t)c->member->rank);
	c->size = c->geometry->team_size;
	c->root = root;
	c->kind = kind;
}

static void see_leaders(struct pami_coll *c, uint32_t root)
{
	c->topology = &c->geometry->teams->leaders;
	c->rank = c->geometry->teams->leader;
	c->size = c->geometry->teams->leaders.size;
	c->root = root;
	c->kind = PAMI_COLL_ACROSS;
}

static int is_leader(const struct pami_coll *c)
{
	return c->geometry->team[0] == (uint32_t)c->member->rank;
}

static int is_root(const struct pami_coll *c)
{
	return c->whole_root == (uint32_t)c->member->rank;
}

static int has_root(const struct pami_coll *c)
{
	return c->type == PAMI_XFER_BROADCAST || c->type == PAMI_XFER_REDUCE;
}

/* Who of the team gives what goes down, or takes what comes up: the root, else the leader. */
static uint32_t speaker(const struct pami_coll *c)
{
	int32_t root = c->type == PAMI_XFER_BROADCAST ? pami_team_index(c->geometry, c->whole_root) : -1;

	return root < 0 ? 0 : (uint32_t)root;
}

/* ---- Across ---- */

static const struct pami_algorithm_info inner[PAMI_XFER_COUNT] = {
	[PAMI_XFER_BARRIER] = { .name = "across", .step = pami_barrier_step },
	[PAMI_XFER_BROADCAST] = { .name = "across", .step = pami_broadcast_tree, .param = 2 },
	[PAMI_XFER_REDUCE] = { .name = "across", .step = pami_reduce_binomial, .begin = pami_reduce_begin },
	[PAMI_XFER_ALLREDUCE] = { .name = "across", .step = pami_allreduce_doubling,
	                          .begin = pami_allreduce_begin },
};

/* The stage `info`, then `next`. Returns what the step function shall return. */
static int go_on(struct pami_coll *c, const struct pami_algorithm_info *info,
                 const struct pami_algorithm_info *next)
{
	int rc = 0;

	pami_coll_buffers_free(c);
	c->at = c->length = c->peer = 0;
	c->number = 0;
	if (next)
		pami_coll_then(c, next);
	if (info) {
		pami_coll_then(c, info);
		rc = info->begin ? info->begin(c) : 0;
	}
	return rc ? rc : PAMI_COLL_DONE;
}

/* What came up is at c->data (reductions: the team's result). */
static int go_across(struct pami_coll *c, const struct pami_algorithm_info *down)
{
	if (!is_leader(c))
		return go_on(c, NULL, down);
	see_leaders(c, has_root(c) ? pami_team_of(c->geometry, c->whole_root) : 0);
	return go_on(c, &inner[c->type], down);
}

/* Where the leader puts what its team has together: the result's place, or a buffer. */
static int place_for_team(struct pami_coll *c)
{
	if (c->target)
		return 0;
	c->partial = malloc(c->bytes ? c->bytes : 1);
	c->target = c->partial;
	return c->partial ? 0 : -ENOMEM;
}

/* Not here: long data (each part should travel alone), and operations whose order teams would break. */
static const char *elsewhere(const struct pami_coll *c)
{
	if (c->type == PAMI_XFER_ALLREDUCE && c->bytes > PAMI_SHM_BULK)
		return "I0:Rabenseifner:-:P2P";
	if (c->type == PAMI_XFER_ALLREDUCE && !c->commutative && !c->geometry->teams->ordered)
		return "I0:RecursiveDoubling:-:P2P";
	if (c->type == PAMI_XFER_REDUCE &&
	    (c->bytes > PAMI_SHM_BULK || (!c->commutative && !c->geometry->teams->ordered)))
		return "I0:BinomialTree:-:P2P";
	return NULL;
}

static int begin(struct pami_coll *c, int memory)
{
	const char *name = elsewhere(c);

	if (name) {
		c->info = pami_coll_named(c->type, name);
		return c->info->begin ? c->info->begin(c) : 0;
	}
	c->whole_root = c->root;
	if (is_leader(c) && (c->type == PAMI_XFER_REDUCE || c->type == PAMI_XFER_ALLREDUCE)) {
		int rc = place_for_team(c);

		if (rc)
			return rc;
	}
	return memory && c->geometry->team_size > 1 ? pami_shm_join(c, 1) : 0;
}

int pami_node_begin(struct pami_coll *c)
{
	return begin(c, 0);
}

int pami_node_shm_begin(struct pami_coll *c)
{
	return begin(c, 1);
}

/* ---- Within the team, by messages ---- */

static const struct pami_algorithm_info reduce_inside = { .name = "up", .step = pami_reduce_binomial,
	                                                  .begin = pami_reduce_begin };
static const struct pami_algorithm_info broadcast_inside = { .name = "down", .step = pami_broadcast_tree,
	                                                     .param = 4 };

static int across_messages_step(struct pami_coll *c)
{
	if (is_leader(c) && c->type != PAMI_XFER_BROADCAST)
		c->data = c->target;
	return go_across(c, &down_messages);
}

static const struct pami_algorithm_info across_messages = { .name = "across", .step = across_messages_step };

int pami_node_start(struct pami_coll *c)
{
	if (c->type == PAMI_XFER_BROADCAST && pami_team_index(c->geometry, c->whole_root) < 0)
		return go_on(c, NULL, &across_messages);
	pami_node_see_team(c, PAMI_COLL_UP, speaker(c));
	return go_on(c, c->type == PAMI_XFER_BROADCAST ? &broadcast_inside : &reduce_inside, &across_messages);
}

static int end_step(struct pami_coll *c)
{
	pami_node_see_all(c);
	return PAMI_COLL_DONE;
}

static const struct pami_algorithm_info end = { .name = "end", .step = end_step };

/* The result of a reduce goes from its team's leader to the root. */
static int reduced_down(struct pami_coll *c)
{
	int32_t root = pami_team_index(c->geometry, c->whole_root);
	int rc = 0;

	if (!c->phase) {
		pami_node_see_team(c, PAMI_COLL_DOWN, 0);
		if (root <= 0 || (!is_root(c) && !is_leader(c)))
			return 0;
		rc = is_root(c) ? pami_coll_recv(c, 0, 0, c->target, c->bytes) :
				  pami_coll_send(c, (uint32_t)root, 0, c->target, c->bytes);
		return rc;
	}
	return go_on(c, NULL, &end);
}

static int down_messages_step(struct pami_coll *c)
{
	if (c->type == PAMI_XFER_REDUCE)
		return reduced_down(c);
	if (c->type == PAMI_XFER_BROADCAST && pami_team_index(c->geometry, c->whole_root) >= 0)
		return go_on(c, NULL, &end);
	if (c->type == PAMI_XFER_ALLREDUCE)
		c->data = c->target;
	pami_node_see_team(c, PAMI_COLL_DOWN, 0);
	return go_on(c, &broadcast_inside, &end);
}

static const struct pami_algorithm_info down_messages = { .name = "down", .step = down_messages_step };

/* ---- Within the team, through its memory ---- */

static const struct pami_algorithm_info by_messages = { .name = "messages", .step = pami_node_start };

static int say(struct pami_coll *c, struct pami_shm *s, const void *data)
{
	if (!pami_shm_slots_free(c, s, c->turn, 1))
		return 0;
	if (c->bytes <= PAMI_SHM_BULK)
		pami_shm_put(s, c->turn, data, c->bytes);
	else
		pami_shm_address_out(s, c->turn, data, NULL);
	pami_shm_publish(s, c->turn);
	return 1;
}

/* The leader's target = everybody's data in rank order, as far as it is there; it is the first itself. */
static int fold_in(struct pami_coll *c, struct pami_shm *s)
{
	if (!c->peer) {
		if (c->bytes && c->target != c->data)
			memcpy(c->target, c->data, c->bytes);
		c->peer = 1;
	}
	for (; c->peer < s->members; c->peer++) {
		if (!pami_shm_said(c, s, c->peer, c->turn))
			return 0;
		if (c->type != PAMI_XFER_BARRIER)
			pami_coll_apply(c, c->target, pami_shm_see(s, c->peer, c->turn, c->bytes), c->bytes);
	}
	if (s->all_done < c->turn)
		s->all_done = c->turn;
	return 1;
}

static int combine_up(struct pami_coll *c, struct pami_shm *s)
{
	if (is_leader(c)) {
		c->phase = 3;
		if (!fold_in(c, s))
			return PAMI_COLL_POLL;
		c->data = c->target;
	} else {
		if (!say(c, s, c->data))
			return PAMI_COLL_POLL;
		mu_wake_task(s->task[0]);
	}
	return go_across(c, &down_memory);
}

/* The leader of the root's team hears the root before it goes across. */
static int broadcast_up(struct pami_coll *c, struct pami_shm *s)
{
	uint32_t from = speaker(c);

	if (c->phase == 2 && is_root(c) && !is_leader(c)) {
		if (!say(c, s, c->data))
			return PAMI_COLL_POLL;
		pami_shm_wake_others(s);
	}
	if (c->phase == 2 && is_leader(c) && from) {
		if (!pami_shm_said(c, s, from, c->turn))
			return PAMI_COLL_POLL;
		if (c->bytes > PAMI_SHM_BULK)
			return pami_coll_get(c, s->rank[from], c->data,
			                     pami_shm_address_in(pami_shm_slot_of(s, from, c->turn), 0), c->bytes);
		if (c->bytes)
			memcpy(c->data, pami_shm_see(s, from, c->turn, c->bytes), c->bytes);
	}
	return go_across(c, &down_memory);
}

int pami_node_shm_up(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc;

	if (c->geometry->team_size == 1) {
		if (c->type != PAMI_XFER_BARRIER && c->type != PAMI_XFER_BROADCAST) {
			if (c->bytes && c->target != c->data)
				memcpy(c->target, c->data, c->bytes);
			c->data = c->target;
		}
		return go_across(c, &end);
	}
	rc = pami_shm_enter(c, &by_messages);
	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	return c->type == PAMI_XFER_BROADCAST ? broadcast_up(c, s) : combine_up(c, s);
}

/* The speaker says it, and waits for those who fetch. */
static int speak(struct pami_coll *c, struct pami_shm *s)
{
	if (!c->phase) {
		/* The root that is no leader has spoken on the way up. */
		if (!(c->type == PAMI_XFER_BROADCAST && is_root(c) && !is_leader(c))) {
			if (!say(c, s, c->type == PAMI_XFER_BROADCAST ? c->data : c->target))
				return PAMI_COLL_POLL;
			pami_shm_ring(s);
		}
		c->phase = 1;
	}
	if (c->bytes > PAMI_SHM_BULK && !pami_shm_all_before(c, s, c->turn + 1))
		return PAMI_COLL_POLL;
	pami_shm_finished(c, s);
	return PAMI_COLL_DONE;
}

static int listen(struct pami_coll *c, struct pami_shm *s, uint32_t from)
{
	unsigned char *to = c->type == PAMI_XFER_BROADCAST ? c->data : c->target;
	int rc;

	if (!c->phase) {
		rc = pami_shm_hear_down(c, s, from, c->bytes, 0, to, c->bytes);
		if (rc || c->bytes > PAMI_SHM_BULK)
			return rc;
	}
	if (s->all_done < c->turn && c->type != PAMI_XFER_BROADCAST)
		s->all_done = c->turn;
	pami_shm_finished(c, s);
	if (c->bytes > PAMI_SHM_BULK)
		mu_wake_task(s->task[from]);
	return PAMI_COLL_DONE;
}

static int down_memory_step(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	uint32_t from = speaker(c);
	int over;

	pami_node_see_all(c);
	/* Has this member all that it shall get, and nothing to give? */
	over = c->type == PAMI_XFER_BROADCAST ? is_leader(c) && from :
	       c->type == PAMI_XFER_REDUCE    ? !(is_leader(c) && !is_root(c) &&
						  pami_team_index(c->geometry, c->whole_root) > 0) &&
							!(is_root(c) && !is_leader(c)) :
						0;
	if (over) {
		pami_shm_finished(c, s);
		if (c->bytes > PAMI_SHM_BULK)
			mu_wake_task(s->task[from]);
		return PAMI_COLL_DONE;
	}
	return from == s->me ? speak(c, s) : listen(c, s, from);
}

static const struct pami_algorithm_info down_memory = { .name = "down", .step = down_memory_step };
