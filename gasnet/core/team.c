/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams and the collectives that the library itself uses (team.h). */
#include <stdlib.h>
#include <string.h>

#include "gasnet/core/team.h"

/* Bytes that a program may give as scratch memory; teams keep their state themselves. */
enum { SCRATCH_BYTES = 4096 };

void gexi_rank_fail(const struct gexi_team *team, gex_Rank_t rank)
{
	if (!team)
		gexi_die("the team is GEX_TM_INVALID");
	gexi_die("rank %u is not in a team of %u", rank, team->size);
}

static pami_algorithm_t find_algorithm(struct gexi_team *team, pami_xfer_type_t type)
{
	pami_metadata_t about;
	size_t n[2] = {0, 0};

	if (team->has_algorithm[type])
		return team->algorithm[type];
	if (PAMI_Geometry_algorithms_num(team->geometry, type, n) != PAMI_SUCCESS || !n[0] ||
	    PAMI_Geometry_algorithms_query(team->geometry, type, &team->algorithm[type], &about, 1,
					   NULL, NULL, 0) != PAMI_SUCCESS)
		gexi_die("this PAMI has no algorithm for collective %d", (int)type);
	team->has_algorithm[type] = true;
	return team->algorithm[type];
}

void gexi_collective_start(struct gexi_team *team, pami_xfer_type_t type, pami_xfer_t *x,
			   pami_event_function done, void *cookie)
{
	pami_result_t rc;

	gexi_check_may_call("a collective");
	if (!team->size)
		gexi_die("a collective: the team was destroyed");
	x->cb_done = done;
	x->cookie = cookie;
	x->algorithm = find_algorithm(team, type);
	rc = PAMI_Collective(gexi_world.context[GEXI_MAIN], x);
	if (rc != PAMI_SUCCESS)
		gexi_operation_failed("a collective", rc);
}

static void collective_done(pami_context_t context, void *cookie, pami_result_t result)
{
	if (result != PAMI_SUCCESS)
		gexi_operation_failed("a collective", result);
	atomic_store_release((atomic_u32 *)cookie, 0);
}

void gexi_collective_run(struct gexi_team *team, pami_xfer_type_t type, pami_xfer_t *x)
{
	atomic_u32 pending = ATOMIC_INIT(1);

	gexi_lock();
	gexi_collective_start(team, type, x, collective_done, &pending);
	gexi_unlock();
	gexi_wait_zero(&pending);
}

void gexi_allgather(struct gexi_team *team, const void *own, void *all, size_t bytes)
{
	pami_xfer_t x = {0};

	if (team->size == 1) {
		memcpy(all, own, bytes);
		return;
	}
	x.cmd.xfer_allgather = (pami_allgather_t){
	    .sndbuf = (char *)(uintptr_t)own,
	    .stype = PAMI_TYPE_BYTE,
	    .stypecount = bytes,
	    .rcvbuf = all,
	    .rtype = PAMI_TYPE_BYTE,
	    .rtypecount = bytes,
	};
	gexi_collective_run(team, PAMI_XFER_ALLGATHER, &x);
}

void gexi_barrier(struct gexi_team *team)
{
	pami_xfer_t x = {0};

	if (team->size > 1)
		gexi_collective_run(team, PAMI_XFER_BARRIER, &x);
}

/* ---- split and destroy ---- */

struct choice {
	int32_t color, key;
	uint32_t joins, rank;
};

static int compare_choices(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static struct gexi_team *destroyed; /* lock */

/* Return a team without members, or NULL. */
static struct gexi_team *new_team(void)
{
	struct gexi_team *team;

	gexi_lock();
	team = destroyed;
	if (team)
		destroyed = team->next;
	gexi_unlock();
	if (!team)
		return calloc(1, sizeof(*team));
	team->next = NULL;
	return team;
}

/* Make the team of the members that chose the color of this process. all: one choice for each rank
 * of the parent. */
static struct gexi_team *select_members(struct gexi_team *parent, struct choice *all)
{
	struct choice mine = all[parent->rank];
	struct gexi_team *team = new_team();
	uint32_t n = 0;

	for (uint32_t r = 0; r < parent->size; r++) {
		struct choice c = all[r];

		c.rank = r;
		if (c.joins && c.color == mine.color)
			all[n++] = c;
	}
	qsort(all, n, sizeof(*all), compare_choices);
	if (team)
		team->task = malloc(n * sizeof(*team->task));
	if (!team || !team->task)
		gexi_die("no memory for a team of %u", n);
	team->size = n;
	for (uint32_t i = 0; i < n; i++) {
		team->task[i] = gexi_task_of(parent, all[i].rank);
		if (all[i].rank == parent->rank)
			team->rank = i;
	}
	return team;
}

static void create_geometry(struct gexi_team *team, unsigned id)
{
	atomic_u32 pending = ATOMIC_INIT(1);
	pami_result_t rc;

	gexi_lock();
	rc = PAMI_Geometry_create_tasklist(
	    gexi_world.client, GEXI_MAIN, NULL, 0, &team->geometry, NULL, id, team->task,
	    team->size, gexi_world.context[GEXI_MAIN], collective_done, &pending);
	gexi_unlock();
	if (rc != PAMI_SUCCESS)
		gexi_operation_failed("gex_TM_Split", rc);
	gexi_wait_zero(&pending);
}

size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent, int color, int key, void *scratch_addr,
		    size_t scratch_size, gex_Flags_t flags)
{
	struct choice own = {.color = color, .key = key, .joins = new_tm_p != NULL}, *all;
	struct gexi_team *team = NULL;

	if (flags & (GEX_FLAG_TM_SCRATCH_SIZE_MIN | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED))
		return SCRATCH_BYTES;
	if (!parent)
		gexi_rank_fail(parent, 0);
	all = malloc(parent->size * sizeof(*all));
	if (!all)
		gexi_die("gex_TM_Split: no memory for %u choices", parent->size);
	gexi_allgather(parent, &own, all, sizeof(own));
	if (new_tm_p) {
		team = select_members(parent, all);
		team->flags = flags;
		if (scratch_addr)
			team->scratch = (gex_Memvec_t){scratch_addr, scratch_size};
		create_geometry(team, 1);
		*new_tm_p = team;
	}
	free(all);
	return 0;
}

int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags)
{
	atomic_u32 pending = ATOMIC_INIT(1);
	pami_result_t rc;
	int has_scratch;

	if (!tm || tm == gexi_world.team || !tm->size)
		gexi_die("gex_TM_Destroy: %s", !tm         ? "the team is GEX_TM_INVALID"
					       : !tm->size ? "the team was destroyed before"
							   : "the team of all processes stays");
	gexi_lock();
	rc = PAMI_Geometry_destroy(gexi_world.client, &tm->geometry, gexi_world.context[GEXI_MAIN],
				   collective_done, &pending);
	gexi_unlock();
	if (rc != PAMI_SUCCESS)
		gexi_operation_failed("gex_TM_Destroy", rc);
	gexi_wait_zero(&pending);
	has_scratch = tm->scratch.gex_addr != NULL;
	if (has_scratch && scratch_p)
		*scratch_p = tm->scratch;
	free(tm->task);
	/* The object stays, with no members, so that a later use is noticed, and is used again. */
	*tm = (struct gexi_team){0};
	gexi_lock();
	tm->next = destroyed;
	destroyed = tm;
	gexi_unlock();
	return has_scratch;
}

gex_Rank_t gex_TM_QueryRank(gex_TM_t tm)
{
	if (GEXI_UNLIKELY(!tm))
		gexi_rank_fail(tm, 0);
	return tm->rank;
}

gex_Rank_t gex_TM_QuerySize(gex_TM_t tm)
{
	if (GEXI_UNLIKELY(!tm))
		gexi_rank_fail(tm, 0);
	return tm->size;
}

gex_EP_t gex_TM_QueryEP(gex_TM_t tm)
{
	return &gexi_world.ep;
}

gex_Client_t gex_TM_QueryClient(gex_TM_t tm)
{
	return &gexi_world.the_client;
}

gex_Flags_t gex_TM_QueryFlags(gex_TM_t tm)
{
	return tm->flags;
}

void *gex_TM_QueryCData(gex_TM_t tm)
{
	return (void *)(uintptr_t)tm->cdata;
}

void gex_TM_SetCData(gex_TM_t tm, const void *value)
{
	tm->cdata = value;
}

gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t tm, gex_Rank_t rank)
{
	return gexi_task_of(tm, rank);
}

gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm, gex_Rank_t jobrank)
{
	if (!tm->task)
		return jobrank < tm->size ? jobrank : GEX_RANK_INVALID;
	for (uint32_t i = 0; i < tm->size; i++)
		if (tm->task[i] == jobrank)
			return i;
	return GEX_RANK_INVALID;
}
