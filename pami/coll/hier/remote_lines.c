/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: barrier, and broadcast and allreduce of up to 56 bytes, of a geometry whose teams are on
 * several hosts (fabric express, real clock). Guarded by bench/micro/pami_coll.
 *
 * A team sends one line to each other team: the task that holds the port of the other host writes
 * it into that team's memory (mu_store_remote()). So no member over there has to run before its
 * neighbours see the line. Over here the member that arrives last sends it (of a broadcast: the
 * root), so no member waits for a leader.
 *
 * The area of a team, in the arena of its first member:
 *
 *   arrived            how many members have arrived at barriers and allreduces, over all turns
 *   there[teams]       the offset of `came` of each team in the segment of its host
 *   given[members]     one line for each member: its contribution to the current allreduce
 *   came[teams][64]    what each team sent in turn k, in line k % 64; complete when its number is
 *                      k + 1
 *
 * A barrier or allreduce ends when all teams have sent their line. All members have then completed
 * the turns before, so the lines of those are free. A broadcast proves nothing of the kind, so one
 * that would be the 63rd since the last such turn has a barrier before it. Members combine teams in
 * the order of their leaders, so all get the same bits.
 */
#include <stdlib.h>

#include "drivers/base/atomic.h"
#include "pami/coll/shm/shm.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/geometry/geometry.h"

#define SETUP        0x18000000u /* first step of the messages that set up the areas */
#define INLINE       56u
#define LINES        64u
#define TEAMS        8u
#define ADDRESS_NONE 0u

enum { ASK, ANSWER, ENTER, SPEAK, HEAR }; /* phases */

struct line {
	_Alignas(64) atomic_u64 number;
	unsigned char data[INLINE];
};

struct area {
	_Alignas(64) atomic_u64 arrived;
	_Alignas(64) uint64_t there[TEAMS];
	struct line line[]; /* given, then came */
};

/* At a member, touched by the thread of its context. */
struct pami_remote_lines {
	struct area *area;
	struct line *given, *came;
	uint32_t members, me, teams, team;
	bool owner, ready, failed;  /* as in struct pami_shm */
	uint64_t started, finished; /* turns handed out; completed here */
	uint64_t meetings;          /* turns that all members enter together, handed out */
	uint64_t free_at;           /* the turn after the last meeting */
	uint64_t there[TEAMS];
	uint32_t speaker[TEAMS]; /* a task of each team */
	uint32_t task[];         /* [members] */
};

struct lines_state {
	uint64_t turn;
	uint64_t turns;   /* to go; 2: a barrier comes before the broadcast */
	uint64_t meeting; /* the number of the barrier or allreduce */
	uint64_t address; /* of the area, during set-up */
	uint32_t cursor;
};

static struct lines_state *state_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct lines_state);
}

bool pami_remote_lines_usable(const struct pami_geometry *g)
{
	const struct mu_job *job = g->client->job;

	return g->teams && !job->virtual_clock && !job->fabric_torus &&
	       g->teams->leaders.size <= TEAMS;
}

static size_t area_bytes(const struct pami_remote_lines *r)
{
	return sizeof(struct area) + (r->members + r->teams * LINES) * sizeof(struct line);
}

static struct line *line_of(const struct pami_remote_lines *r, uint32_t team, uint64_t turn)
{
	return &r->came[team * LINES + turn % LINES];
}

static void attach_area(struct pami_remote_lines *r, void *at)
{
	r->area = at;
	r->given = r->area->line;
	r->came = r->given + r->members;
}

static struct pami_remote_lines *lines_new(const struct pami_coll *c)
{
	const struct pami_geometry *g = c->geometry;
	struct pami_remote_lines *r = calloc(1, sizeof *r + g->team_size * sizeof r->task[0]);

	if (!r)
		return NULL;
	r->members = g->team_size;
	r->me = (uint32_t)pami_team_index(g, (uint32_t)c->member->rank);
	r->teams = g->teams->leaders.size;
	r->team = g->teams->leader;
	for (uint32_t i = 0; i < r->members; i++)
		r->task[i] = pami_endpoint_task(pami_geometry_endpoint(g, g->team[i]));
	for (uint32_t t = 0; t < r->teams; t++)
		r->speaker[t] = pami_endpoint_task(pami_topology_endpoint(&g->teams->leaders, t));
	return r;
}

void pami_remote_lines_free(struct pami_remote_lines *r, bool keep_area)
{
	if (r && r->owner && !keep_area)
		mu_arena_free(r->area);
	free(r);
}

/* ---- Begin ---- */

/* Do all members enter this operation's turn together? */
static bool is_meeting(const struct pami_coll *c)
{
	return c->type != PAMI_XFER_BROADCAST;
}

/* The operation has failed. The turns after its own must go on. */
static void give_turns_back(struct pami_coll *c)
{
	struct pami_remote_lines *r = c->member->remote_lines;
	const struct lines_state *l = state_of(c);

	if (r->finished >= l->turn + l->turns)
		return;
	r->finished = l->turn + l->turns;
	mu_watch(c->context->channel, NULL, 0);
}

int pami_remote_lines_begin(struct pami_coll *c)
{
	struct pami_remote_lines *r = c->member->remote_lines;
	struct lines_state *l = state_of(c);

	if (c->bytes > INLINE ||
	    (c->type == PAMI_XFER_ALLREDUCE && !c->commutative && !c->geometry->teams->ordered))
		return pami_coll_replace(
		    c, pami_coll_named(c->type, c->type == PAMI_XFER_BROADCAST
						    ? "I0:BinomialTree:Shmem:P2P"
						    : "I0:RecursiveDoubling:Shmem:P2P"));
	if (PAMI_UNLIKELY(!r) && !(r = c->member->remote_lines = lines_new(c)))
		return -ENOMEM;
	*l = (struct lines_state){.turn = r->started, .turns = 1};
	if (!is_meeting(c) && r->started - r->free_at >= LINES - 2)
		l->turns = 2;
	if (is_meeting(c) || l->turns == 2) {
		l->meeting = r->meetings++;
		r->free_at = r->started + 1;
	}
	r->started += l->turns;
	c->on_error = give_turns_back;
	return 0;
}

/*
 * ---- Set-up, in the first operation: members learn where the areas are. A team without an area
 * sends no address, so that all teams know it ----
 */

static int setup_ask(struct pami_coll *c, struct pami_remote_lines *r)
{
	const struct pami_geometry *g = c->geometry;
	uint64_t *address = &state_of(c)->address;
	void *at;
	int rc = 0;

	if (r->me)
		return pami_coll_recv(c, g->team[0], SETUP, address, sizeof *address);
	at = mu_arena_alloc(area_bytes(r), 64);
	if (at) {
		memset(at, 0, area_bytes(r));
		r->owner = true;
		attach_area(r, at);
		r->there[r->team] = mu_arena_offset(r->came);
	}
	for (uint32_t t = 0; t < r->teams && !rc; t++) {
		uint32_t rank =
		    (uint32_t)pami_geometry_rank(g, pami_topology_endpoint(&g->teams->leaders, t));

		if (t == r->team)
			continue;
		rc = pami_coll_recv(c, rank, SETUP + 1, &r->there[t], sizeof r->there[t]);
		if (!rc)
			rc = pami_coll_send(c, rank, SETUP + 1, &r->there[r->team],
					    sizeof r->there[0]);
	}
	return rc;
}

static int setup_answer(struct pami_coll *c, struct pami_remote_lines *r)
{
	uint64_t *address = &state_of(c)->address;
	void *at = r->area;
	int rc = 0;

	if (r->me) {
		at = *address ? mu_arena_address(r->task[0], *address, area_bytes(r)) : NULL;
		if (*address && !at)
			return mu_task_is_unreachable(r->task[0]) ? -ESHUTDOWN : -EIO;
	} else {
		for (uint32_t t = 0; t < r->teams; t++)
			if (r->there[t] == ADDRESS_NONE)
				at = NULL;
		if (at)
			memcpy(r->area->there, r->there, sizeof r->there);
		*address = (uint64_t)(uintptr_t)at;
		for (uint32_t i = 1; i < r->members && !rc; i++)
			rc = pami_coll_send(c, c->geometry->team[i], SETUP, address,
					    sizeof *address);
	}
	r->failed = !at;
	if (at && r->me)
		attach_area(r, at);
	r->ready = true;
	return rc;
}

/* The operation goes on by messages, in the order of the turns. */
static PAMI_COLD int go_on_without(struct pami_coll *c, struct pami_remote_lines *r)
{
	r->finished = state_of(c)->turn + state_of(c)->turns;
	c->on_error = NULL;
	return pami_coll_begin_stage(c, &pami_algorithms[c->type].info[1]);
}

/* ---- A turn ---- */

/* All members of the team have arrived: combine their contributions in rank order. */
static void fold_team(struct pami_coll *c, struct pami_remote_lines *r, struct line *to)
{
	unsigned char sum[INLINE] __attribute__((aligned(64)));

	memcpy(sum, r->given[0].data, c->bytes);
	for (uint32_t i = 1; i < r->members; i++)
		pami_coll_apply(c, sum, r->given[i].data, c->bytes);
	memcpy(to->data, sum, c->bytes);
}

/* Returns true if this member arrived last, and sends the line of the team. */
static bool count_arrival(struct pami_coll *c, struct pami_remote_lines *r)
{
	if (c->type == PAMI_XFER_ALLREDUCE && c->bytes)
		memcpy(r->given[r->me].data, c->data, c->bytes);
	if (atomic_add_fetch_acq_rel(&r->area->arrived, 1) !=
	    r->members * (state_of(c)->meeting + 1))
		return false;
	if (c->type == PAMI_XFER_ALLREDUCE && c->bytes)
		fold_team(c, r, line_of(r, r->team, state_of(c)->turn));
	return true;
}

/* The same for every type of operation: the root of a broadcast sends its line. */
static bool enter_turn(struct pami_coll *c, struct pami_remote_lines *r)
{
	if (is_meeting(c) || state_of(c)->turns == 2)
		return count_arrival(c, r);
	if (c->root != c->rank)
		return false;
	if (c->bytes)
		memcpy(line_of(r, r->team, state_of(c)->turn)->data, c->data, c->bytes);
	return true;
}

/*
 * Send the team's line of this turn: first to the other teams, because that takes longer. Returns
 * false while there is no room for it.
 */
static bool send_line(struct pami_coll *c, struct pami_remote_lines *r)
{
	struct lines_state *l = state_of(c);
	struct line *own = line_of(r, r->team, l->turn);
	uint64_t line[8] = {l->turn + 1}, at;

	memcpy(line + 1, own->data, c->bytes);
	for (; l->cursor < r->teams; l->cursor++) {
		int rc = 0;

		if (l->cursor != r->team) {
			at = r->area->there[l->cursor] + (uint64_t)((char *)own - (char *)r->came);
			rc = mu_store_remote(c->context->channel, r->speaker[l->cursor], at, line);
		}
		if (rc == -EAGAIN)
			return false;
	}
	l->cursor = 0;
	atomic_store_release(&own->number, l->turn + 1);
	for (uint32_t i = 0; i < r->members; i++)
		if (i != r->me)
			mu_wake_task(r->task[i]);
	return true;
}

/* Has the line of a team come? If not, the thread's next sleep ends when it does. */
static bool await_line(struct pami_coll *c, struct pami_remote_lines *r, uint32_t team)
{
	uint64_t turn = state_of(c)->turn;
	atomic_u64 *number = &line_of(r, team, turn)->number;

	if (atomic_load_acquire(number) == turn + 1)
		return true;
	mu_watch(c->context->channel, ATOMIC_AT(number), turn + 1);
	return false;
}

static bool await_lines(struct pami_coll *c, struct pami_remote_lines *r)
{
	uint32_t *cursor = &state_of(c)->cursor;

	if (!is_meeting(c) && state_of(c)->turns == 1)
		return c->root == c->rank || await_line(c, r, pami_team_of(c->geometry, c->root));
	for (; *cursor < r->teams; ++*cursor)
		if (!await_line(c, r, *cursor))
			return false;
	return true;
}

static void deliver_result(struct pami_coll *c, struct pami_remote_lines *r)
{
	uint64_t turn = state_of(c)->turn;
	unsigned char sum[INLINE] __attribute__((aligned(64)));

	if (!c->bytes || c->type == PAMI_XFER_BARRIER)
		return;
	if (c->type == PAMI_XFER_BROADCAST) {
		if (c->root != c->rank)
			memcpy(c->data, line_of(r, pami_team_of(c->geometry, c->root), turn)->data,
			       c->bytes);
		return;
	}
	memcpy(sum, line_of(r, 0, turn)->data, c->bytes);
	for (uint32_t t = 1; t < r->teams; t++)
		pami_coll_apply(c, sum, line_of(r, t, turn)->data, c->bytes);
	memcpy(c->target, sum, c->bytes);
}

int pami_remote_lines_step(struct pami_coll *c)
{
	struct pami_remote_lines *r = c->member->remote_lines;
	struct lines_state *l = state_of(c);

	if (PAMI_UNLIKELY(c->phase < ENTER && !r->ready)) {
		if (l->turn) /* another operation sets them up */
			return PAMI_COLL_POLL;
		return c->phase == ASK ? setup_ask(c, r) : setup_answer(c, r);
	}
	if (c->phase <= ENTER) {
		c->phase = ENTER;
		if (r->finished != l->turn)
			return PAMI_COLL_POLL;
		if (PAMI_UNLIKELY(r->failed))
			return go_on_without(c, r);
	}
	for (;;) {
		if (c->phase == ENTER)
			c->phase = enter_turn(c, r) ? SPEAK : HEAR;
		if (c->phase == SPEAK) {
			if (!send_line(c, r))
				return PAMI_COLL_POLL;
			c->phase = HEAR;
		}
		if (!await_lines(c, r))
			return PAMI_COLL_POLL;
		if (l->turns == 1)
			break;
		/* The barrier is over. Now the broadcast. */
		l->turns = 1;
		l->cursor = 0;
		r->finished = ++l->turn;
		c->phase = ENTER;
	}
	deliver_result(c, r);
	r->finished = l->turn + 1;
	mu_watch(c->context->channel, NULL, 0);
	return PAMI_COLL_DONE;
}
