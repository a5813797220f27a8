/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: barrier, and broadcast and allreduce of up to 56 bytes, of a geometry whose teams are on several hosts (fabric
 * express, real clock). What a team has to say is one line that the holders of the ports write into the
 * memory of each other team (mu_store_far()): no task over there must run before its neighbours see it, and here
 * nobody waits for a leader: who comes last speaks for all. Guarded by bench/pami_coll.
 *
 * The area of a team, in its first member's arena:
 *
 *   arrived            members that have come to barriers and allreduces, over all turns
 *   there[teams]       where `came` of each team is in the segment of its host
 *   said[members]      a line each: the contribution to the allreduce that is under way
 *   came[teams][64]    what each team said in turn k, in line k % 64, complete when its number is k + 1
 *
 * A barrier or allreduce ends when all teams have spoken; then all members have ended the turns before, so
 * lines of those are free. Broadcasts say nothing of that kind: one that would be the 63rd since the last such
 * turn has a barrier before it. Teams are combined in the order of their leaders, so all get the same bits.
 */
#include <stdlib.h>

#include "pami/coll_shm.h"

#define SETUP  0x18000000u /* steps of messages */
#define INLINE 56u
#define LINES  64u
#define TEAMS  8u
#define ADDRESS_NONE 0u

enum { ASK, ANSWER, ENTER, SPEAK, HEAR }; /* phases */

struct line {
	_Alignas(64) uint64_t number;
	unsigned char data[INLINE];
};

struct area {
	_Alignas(64) uint64_t arrived;
	_Alignas(64) uint64_t there[TEAMS];
	struct line line[]; /* said, then came */
};

struct pami_far {
	struct area *area;
	struct line *said, *came;
	uint32_t members, me, teams, team;
	uint8_t owner, ready, failed;
	uint64_t started, finished; /* turns given out; over, here */
	uint64_t met;    /* turns that all members enter together, given out */
	uint64_t free_at; /* turn after the last of those */
	uint64_t there[TEAMS];
	uint32_t speaker[TEAMS]; /* a task of each team */
	uint32_t task[];         /* [members] */
};

int pami_far_usable(const struct pami_geometry *g)
{
	const struct mu_job *job = g->client->job;

	return g->teams && !job->virtual_clock && !job->fabric_torus && g->teams->leaders.size <= TEAMS;
}

static size_t area_bytes(const struct pami_far *f)
{
	return sizeof(struct area) + (f->members + f->teams * LINES) * sizeof(struct line);
}

static struct line *line_of(const struct pami_far *f, uint32_t team, uint64_t turn)
{
	return &f->came[team * LINES + turn % LINES];
}

static void attach(struct pami_far *f, void *at)
{
	f->area = at;
	f->said = f->area->line;
	f->came = f->said + f->members;
}

static struct pami_far *far_new(const struct pami_coll *c)
{
	const struct pami_geometry *g = c->geometry;
	struct pami_far *f = calloc(1, sizeof *f + g->team_size * sizeof f->task[0]);

	if (!f)
		return NULL;
	f->members = g->team_size;
	f->me = (uint32_t)pami_team_index(g, (uint32_t)c->member->rank);
	f->teams = g->teams->leaders.size;
	f->team = g->teams->leader;
	for (uint32_t i = 0; i < f->members; i++)
		f->task[i] = pami_endpoint_task(pami_geometry_endpoint(g, g->team[i]));
	for (uint32_t t = 0; t < f->teams; t++)
		f->speaker[t] = pami_endpoint_task(pami_topology_endpoint(&g->teams->leaders, t));
	return f;
}

void pami_far_free(struct pami_far *f, int keep_area)
{
	if (f && f->owner && !keep_area)
		mu_arena_free(f->area);
	free(f);
}

/* ---- Begin ---- */

static int meets(const struct pami_coll *c)
{
	return c->type != PAMI_XFER_BROADCAST;
}

int pami_far_begin(struct pami_coll *c)
{
	struct pami_far *f = c->member->far;

	if (c->bytes > INLINE ||
	    (c->type == PAMI_XFER_ALLREDUCE && !c->commutative && !c->geometry->teams->ordered)) {
		c->info = pami_coll_named(c->type, c->type == PAMI_XFER_BROADCAST ? "I0:BinomialTree:Shmem:P2P" :
		                                                                    "I0:RecursiveDoubling:Shmem:P2P");
		return c->info->begin ? c->info->begin(c) : 0;
	}
	if (PAMI_UNLIKELY(!f) && !(f = c->member->far = far_new(c)))
		return -ENOMEM;
	c->turn = f->started;
	c->far = !meets(c) && f->started - f->free_at >= LINES - 2 ? 2 : 1;
	if (meets(c) || c->far == 2) {
		c->number = f->met++;
		f->free_at = f->started + 1;
	}
	f->started += c->far;
	return 0;
}

/* ---- The first operation: where are the areas? No area, no address: then all teams know that some has none. ---- */

static int setup_ask(struct pami_coll *c, struct pami_far *f)
{
	const struct pami_geometry *g = c->geometry;
	void *at;
	int rc = 0;

	if (f->me)
		return pami_coll_recv(c, g->team[0], SETUP, c->there, sizeof c->there[0]);
	at = mu_arena_alloc(area_bytes(f), 64);
	if (at) {
		memset(at, 0, area_bytes(f));
		f->owner = 1;
		attach(f, at);
		f->there[f->team] = mu_arena_offset(f->came);
	}
	for (uint32_t t = 0; t < f->teams && !rc; t++) {
		uint32_t rank = (uint32_t)pami_geometry_rank(g, pami_topology_endpoint(&g->teams->leaders, t));

		if (t == f->team)
			continue;
		rc = pami_coll_recv(c, rank, SETUP + 1, &f->there[t], sizeof f->there[t]);
		if (!rc)
			rc = pami_coll_send(c, rank, SETUP + 1, &f->there[f->team], sizeof f->there[0]);
	}
	return rc;
}

static int setup_answer(struct pami_coll *c, struct pami_far *f)
{
	void *at = f->area;
	int rc = 0;

	if (f->me) {
		at = c->there[0] ? mu_arena_local(f->task[0], c->there[0], area_bytes(f)) : NULL;
		if (c->there[0] && !at)
			return -EIO;
	} else {
		for (uint32_t t = 0; t < f->teams; t++)
			if (f->there[t] == ADDRESS_NONE)
				at = NULL;
		if (at)
			memcpy(f->area->there, f->there, sizeof f->there);
		c->there[0] = (uint64_t)(uintptr_t)at;
		for (uint32_t i = 1; i < f->members && !rc; i++)
			rc = pami_coll_send(c, c->geometry->team[i], SETUP, c->there, sizeof c->there[0]);
	}
	f->failed = !at;
	if (at && f->me)
		attach(f, at);
	f->ready = 1;
	return rc;
}

/* In the order of the turns here, as everywhere. */
static PAMI_COLD int without_memory(struct pami_coll *c, struct pami_far *f)
{
	const struct pami_algorithm_info *instead = &pami_algorithms[c->type].info[1];
	int rc;

	f->finished = c->turn + c->far;
	c->far = 0;
	c->number = 0;
	pami_coll_then(c, instead);
	rc = instead->begin ? instead->begin(c) : 0;
	return rc ? rc : PAMI_COLL_DONE;
}

/* ---- A turn ---- */

/* All of the team are here: what they give, in rank order. */
static void fold(struct pami_coll *c, struct pami_far *f, struct line *to)
{
	unsigned char sum[INLINE] __attribute__((aligned(64)));

	memcpy(sum, f->said[0].data, c->bytes);
	for (uint32_t i = 1; i < f->members; i++)
		pami_coll_apply(c, sum, f->said[i].data, c->bytes);
	memcpy(to->data, sum, c->bytes);
}

/* Returns whether it is mine to speak for the team. */
static int arrive(struct pami_coll *c, struct pami_far *f)
{
	if (c->type == PAMI_XFER_ALLREDUCE && c->bytes)
		memcpy(f->said[f->me].data, c->data, c->bytes);
	if (__atomic_add_fetch(&f->area->arrived, 1, __ATOMIC_ACQ_REL) != f->members * (c->number + 1))
		return 0;
	if (c->type == PAMI_XFER_ALLREDUCE && c->bytes)
		fold(c, f, line_of(f, f->team, c->turn));
	return 1;
}

static int enter(struct pami_coll *c, struct pami_far *f)
{
	if (meets(c) || c->far == 2)
		return arrive(c, f);
	if (c->root != c->rank)
		return 0;
	if (c->bytes)
		memcpy(line_of(f, f->team, c->turn)->data, c->data, c->bytes);
	return 1;
}

/* What lies in the team's line of this turn: to the others first, whose way is longer. */
static int speak(struct pami_coll *c, struct pami_far *f)
{
	struct line *mine = line_of(f, f->team, c->turn);
	uint64_t line[8] = { c->turn + 1 }, at;

	memcpy(line + 1, mine->data, c->bytes);
	for (; c->peer < f->teams; c->peer++) {
		int rc = 0;

		if (c->peer != f->team) {
			at = f->area->there[c->peer] + (uint64_t)((char *)mine - (char *)f->came);
			rc = mu_store_far(c->context->channel, f->speaker[c->peer], at, line);
		}
		if (rc == -EAGAIN)
			return 0;
	}
	c->peer = 0;
	__atomic_store_n(&mine->number, c->turn + 1, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < f->members; i++)
		if (i != f->me)
			mu_wake_task(f->task[i]);
	return 1;
}

static int heard(struct pami_coll *c, struct pami_far *f, uint32_t team)
{
	uint64_t *number = &line_of(f, team, c->turn)->number;

	if (__atomic_load_n(number, __ATOMIC_ACQUIRE) == c->turn + 1)
		return 1;
	mu_watch(c->context->channel, number, c->turn + 1);
	return 0;
}

static int hear(struct pami_coll *c, struct pami_far *f)
{
	if (!meets(c) && c->far == 1)
		return c->root == c->rank || heard(c, f, pami_team_of(c->geometry, c->root));
	for (; c->peer < f->teams; c->peer++)
		if (!heard(c, f, c->peer))
			return 0;
	return 1;
}

static void result(struct pami_coll *c, struct pami_far *f)
{
	unsigned char sum[INLINE] __attribute__((aligned(64)));

	if (!c->bytes || c->type == PAMI_XFER_BARRIER)
		return;
	if (c->type == PAMI_XFER_BROADCAST) {
		if (c->root != c->rank)
			memcpy(c->data, line_of(f, pami_team_of(c->geometry, c->root), c->turn)->data, c->bytes);
		return;
	}
	memcpy(sum, line_of(f, 0, c->turn)->data, c->bytes);
	for (uint32_t t = 1; t < f->teams; t++)
		pami_coll_apply(c, sum, line_of(f, t, c->turn)->data, c->bytes);
	memcpy(c->target, sum, c->bytes);
}

int pami_far_step(struct pami_coll *c)
{
	struct pami_far *f = c->member->far;

	if (PAMI_UNLIKELY(c->phase < ENTER && !f->ready)) {
		if (c->turn) /* another one asks */
			return PAMI_COLL_POLL;
		return c->phase == ASK ? setup_ask(c, f) : setup_answer(c, f);
	}
	if (c->phase <= ENTER) {
		c->phase = ENTER;
		if (f->finished != c->turn)
			return PAMI_COLL_POLL;
		if (PAMI_UNLIKELY(f->failed))
			return without_memory(c, f);
	}
	for (;;) {
		if (c->phase == ENTER)
			c->phase = enter(c, f) ? SPEAK : HEAR;
		if (c->phase == SPEAK) {
			if (!speak(c, f))
				return PAMI_COLL_POLL;
			c->phase = HEAR;
		}
		if (!hear(c, f))
			return PAMI_COLL_POLL;
		if (c->far == 1)
			break;
		c->far = 1;
		c->peer = 0;
		f->finished = ++c->turn;
		c->phase = ENTER;
	}
	result(c, f);
	f->finished = c->turn + 1;
	mu_watch(c->context->channel, NULL, 0);
	return PAMI_COLL_DONE;
}

void pami_far_end(struct pami_coll *c)
{
	struct pami_far *f = c->far ? c->member->far : NULL;

	if (!f || f->finished >= c->turn + c->far)
		return;
	f->finished = c->turn + c->far;
	mu_watch(c->context->channel, NULL, 0);
}
