/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier, broadcast, reduce and allreduce of a geometry with several teams (geometry/team.c), in
 * stages: up to the leader of each team, across among the leaders, and down again.
 *
 * Within a team the data goes through its memory (coll/shm/shm.h, one turn for both stages), or by
 * messages in virtual time and where there is no memory. Between the leaders runs an algorithm on
 * messages that sees the leaders as its ranks. Teams with memory and teams without may meet in one
 * operation.
 */
#include "pami/coll/shm/shm.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"

struct node_state { /* of the stage up, through memory */
	uint32_t cursor;
	bool taken; /* the leader has read the root's data */
};

static struct node_state *state_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct node_state);
}

static const struct pami_algorithm_info down_messages, down_memory;

bool pami_node_usable(const struct pami_geometry *g)
{
	return g->teams != NULL;
}

bool pami_node_shm_usable(const struct pami_geometry *g)
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

static bool is_leader(const struct pami_coll *c)
{
	return c->geometry->team[0] == (uint32_t)c->member->rank;
}

static bool is_root(const struct pami_coll *c)
{
	return c->whole_root == (uint32_t)c->member->rank;
}

static bool has_root(const struct pami_coll *c)
{
	return c->type == PAMI_XFER_BROADCAST || c->type == PAMI_XFER_REDUCE;
}

/*
 * The index, in the team, of the member that gives the data that goes down: the root of a broadcast
 * in its own team, else the leader.
 */
static uint32_t speaker_index(const struct pami_coll *c)
{
	int32_t root =
	    c->type == PAMI_XFER_BROADCAST ? pami_team_index(c->geometry, c->whole_root) : -1;

	return root < 0 ? 0 : (uint32_t)root;
}

/* ---- Across ---- */

static const struct pami_algorithm_info inner[PAMI_XFER_COUNT] = {
    [PAMI_XFER_BARRIER] = {.name = "across", .step = pami_barrier_step},
    [PAMI_XFER_BROADCAST] = {.name = "across", .step = pami_broadcast_tree, .param = 2},
    [PAMI_XFER_REDUCE] = {.name = "across",
			  .step = pami_reduce_binomial,
			  .begin = pami_reduction_begin},
    [PAMI_XFER_ALLREDUCE] = {.name = "across",
			     .step = pami_allreduce_doubling,
			     .begin = pami_reduction_begin},
};

/*
 * Continue with the stage `info`, then `next`; either may be NULL. Returns the result for the step
 * function.
 */
static int go_on(struct pami_coll *c, const struct pami_algorithm_info *info,
		 const struct pami_algorithm_info *next)
{
	pami_coll_buffers_free(c);
	if (next)
		pami_coll_push_stage(c, next);
	return info ? pami_coll_begin_stage(c, info) : PAMI_COLL_DONE;
}

/* Continue among the leaders with c->data, which for reductions is the result of the team. */
static int go_across(struct pami_coll *c, const struct pami_algorithm_info *down)
{
	if (!is_leader(c))
		return go_on(c, NULL, down);
	see_leaders(c, has_root(c) ? pami_team_of(c->geometry, c->whole_root) : 0);
	return go_on(c, &inner[c->type], down);
}

/* The leader combines the data of its team in the place of the result, else in a buffer. */
static int place_for_team(struct pami_coll *c)
{
	if (c->target)
		return 0;
	c->target = pami_coll_buffer(c, c->bytes);
	pami_coll_buffers_keep(c); /* it outlives the stages */
	return c->target ? 0 : -ENOMEM;
}

/*
 * The algorithm that runs instead for long data, whose parts should travel alone, and for
 * operations that are not commutative where teams are no neighbours in rank order. NULL: stages are
 * fine.
 */
static const char *find_replacement(const struct pami_coll *c)
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

static int begin_stages(struct pami_coll *c, bool memory)
{
	const char *name = find_replacement(c);

	if (name)
		return pami_coll_replace(c, pami_coll_named(c->type, name));
	*state_of(c) = (struct node_state){0};
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
	return begin_stages(c, false);
}

int pami_node_shm_begin(struct pami_coll *c)
{
	return begin_stages(c, true);
}

/* ---- Within the team, by messages ---- */

static const struct pami_algorithm_info reduce_inside = {
    .name = "up", .step = pami_reduce_binomial, .begin = pami_reduction_begin};
static const struct pami_algorithm_info broadcast_inside = {
    .name = "down", .step = pami_broadcast_tree, .param = 4};

static int across_messages_step(struct pami_coll *c)
{
	if (is_leader(c) && c->type != PAMI_XFER_BROADCAST)
		c->data = c->target;
	return go_across(c, &down_messages);
}

static const struct pami_algorithm_info across_messages = {.name = "across",
							   .step = across_messages_step};

int pami_node_start(struct pami_coll *c)
{
	if (c->type == PAMI_XFER_BROADCAST && pami_team_index(c->geometry, c->whole_root) < 0)
		return go_on(c, NULL, &across_messages);
	pami_node_see_team(c, PAMI_COLL_UP, speaker_index(c));
	return go_on(c, c->type == PAMI_XFER_BROADCAST ? &broadcast_inside : &reduce_inside,
		     &across_messages);
}

static int end_step(struct pami_coll *c)
{
	pami_node_see_all(c);
	return PAMI_COLL_DONE;
}

static const struct pami_algorithm_info end = {.name = "end", .step = end_step};

/* The leader of the root's team sends the result of a reduce to the root. */
static int send_reduced(struct pami_coll *c)
{
	int32_t root = pami_team_index(c->geometry, c->whole_root);
	int rc = 0;

	if (!c->phase) {
		pami_node_see_team(c, PAMI_COLL_DOWN, 0);
		if (root <= 0 || (!is_root(c) && !is_leader(c)))
			return 0;
		rc = is_root(c) ? pami_coll_recv(c, 0, 0, c->target, c->bytes)
				: pami_coll_send(c, (uint32_t)root, 0, c->target, c->bytes);
		return rc;
	}
	return go_on(c, NULL, &end);
}

static int down_messages_step(struct pami_coll *c)
{
	if (c->type == PAMI_XFER_REDUCE)
		return send_reduced(c);
	if (c->type == PAMI_XFER_BROADCAST && pami_team_index(c->geometry, c->whole_root) >= 0)
		return go_on(c, NULL, &end);
	if (c->type == PAMI_XFER_ALLREDUCE)
		c->data = c->target;
	pami_node_see_team(c, PAMI_COLL_DOWN, 0);
	return go_on(c, &broadcast_inside, &end);
}

static const struct pami_algorithm_info down_messages = {.name = "down",
							 .step = down_messages_step};

/* ---- Within the team, through its memory ---- */

static const struct pami_algorithm_info by_messages = {.name = "messages", .step = pami_node_start};

static int combine_up(struct pami_coll *c, struct pami_shm *s)
{
	if (is_leader(c)) {
		if (!pami_shm_fold(c, s, c->target, &state_of(c)->cursor))
			return PAMI_COLL_POLL;
		pami_shm_note_done(s, c->turns.first);
		c->data = c->target;
	} else {
		if (!pami_shm_speak(c, s, c->data, c->bytes))
			return PAMI_COLL_POLL;
		mu_wake_task(s->task[0]);
	}
	return go_across(c, &down_memory);
}

/* The leader of the root's team reads the root's data before it goes across. */
static int broadcast_up(struct pami_coll *c, struct pami_shm *s)
{
	uint32_t from = speaker_index(c);
	int rc;

	if (is_root(c) && !is_leader(c)) {
		if (!pami_shm_speak(c, s, c->data, c->bytes))
			return PAMI_COLL_POLL;
		pami_shm_wake_others(s);
	} else if (is_leader(c) && from && !state_of(c)->taken) {
		if (!pami_shm_await_published(c, s, from, c->turns.first))
			return PAMI_COLL_POLL;
		state_of(c)->taken = true;
		rc = pami_shm_take(c, s, from, c->bytes, 0, c->data, c->bytes);
		if (rc || pami_coll_is_waiting(c))
			return rc;
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

/* Phase 0: the speaker publishes the data. Then it waits until all that read it in place have. */
static int speak_down(struct pami_coll *c, struct pami_shm *s)
{
	bool broadcast = c->type == PAMI_XFER_BROADCAST;

	/* A root that is not the leader has published on the way up. */
	if (!c->phase && !(broadcast && is_root(c) && !is_leader(c))) {
		int rc = pami_shm_speak_down(c, s, broadcast ? c->data : c->target, c->bytes);

		if (rc)
			return rc;
	}
	c->phase = 1;
	return pami_shm_end_fetch(c, s, s->me, c->bytes > PAMI_SHM_BULK);
}

static int take_down(struct pami_coll *c, struct pami_shm *s, uint32_t from)
{
	bool broadcast = c->type == PAMI_XFER_BROADCAST;
	int rc;

	if (!c->phase) {
		rc = pami_shm_take_down(c, s, from, c->bytes, 0, broadcast ? c->data : c->target,
					c->bytes);
		if (rc || c->bytes > PAMI_SHM_BULK)
			return rc;
	}
	if (!broadcast)
		pami_shm_note_done(s, c->turns.first);
	return pami_shm_end_fetch(c, s, from, c->bytes > PAMI_SHM_BULK);
}

/* True if this member has everything that it gets, and gives nothing on the way down. */
static bool has_no_way_down(const struct pami_coll *c)
{
	bool sends_to_root;

	switch (c->type) {
	case PAMI_XFER_BROADCAST:
		return is_leader(c) && speaker_index(c);
	case PAMI_XFER_REDUCE:
		sends_to_root = is_leader(c) && pami_team_index(c->geometry, c->whole_root) > 0;
		return !sends_to_root && !(is_root(c) && !is_leader(c));
	default:
		return false;
	}
}

static int down_memory_step(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	uint32_t from = speaker_index(c);

	pami_node_see_all(c);
	if (has_no_way_down(c))
		return pami_shm_end_fetch(c, s, from, c->bytes > PAMI_SHM_BULK);
	return from == s->me ? speak_down(c, s) : take_down(c, s, from);
}

static const struct pami_algorithm_info down_memory = {.name = "down", .step = down_memory_step};
