/* SPDX-License-Identifier: BSD-3-Clause */
/* The teams of a geometry: members of one group reach each other cheaply (mu_task_group()). */
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/geometry/geometry.h"

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* This task's team: all members of the geometry that belong to tasks of this task's group. */
static int find_team(struct pami_geometry *g)
{
	const struct mu_job *job = g->client->job;
	size_t room = (size_t)job->group_tasks * g->offsets;

	if (room > g->size)
		room = g->size;
	g->team = malloc(room * sizeof *g->team);
	if (!g->team)
		return -ENOMEM;
	for (uint32_t t = 0; t < job->group_tasks; t++)
		for (uint32_t o = 0; o < g->offsets; o++) {
			int32_t rank = pami_geometry_rank(g, pami_endpoint(job->group_list[t], o));

			if (rank >= 0)
				g->team[g->team_size++] = (uint32_t)rank;
		}
	qsort(g->team, g->team_size, sizeof *g->team, by_number);
	g->one_team = g->size > 1 && g->team_size == g->size && !job->virtual_clock;
	return 0;
}

static uint32_t group_of(const struct pami_geometry *g, uint32_t rank)
{
	return mu_task_group(pami_endpoint_task(pami_geometry_endpoint(g, rank)));
}

/* Find the lowest rank of each team, in rank order, and whether ranks of a team are consecutive. */
static int find_leaders(struct pami_geometry *g, struct pami_teams *t)
{
	uint32_t before = UINT32_MAX, mine = group_of(g, g->team[0]);
	uint8_t *seen = calloc(g->client->job->groups, 1);
	int rc = seen ? 0 : -ENOMEM;

	t->ordered = true;
	for (uint32_t r = 0; r < g->size && !rc; r++) {
		uint32_t group = group_of(g, r);

		if (!seen[group]) {
			if (group == mine)
				t->leader = t->leaders.size;
			rc = pami_topology_add(&t->leaders, pami_geometry_endpoint(g, r), 1, 0);
		} else if (group != before) {
			t->ordered = false;
		}
		seen[group] = 1;
		before = group;
	}
	free(seen);
	return rc ? rc : pami_topology_end(&t->leaders, 1);
}

static int find_inside(struct pami_geometry *g, struct pami_teams *t)
{
	int rc = 0;

	for (uint32_t i = 0; i < g->team_size && !rc; i++)
		rc = pami_topology_add(&t->inside, pami_geometry_endpoint(g, g->team[i]), 1, 0);
	return rc ? rc : pami_topology_end(&t->inside, 1);
}

void pami_teams_free(struct pami_geometry *g)
{
	free(g->team);
	if (!g->teams)
		return;
	pami_topology_fini(&g->teams->leaders);
	pami_topology_fini(&g->teams->inside);
	free(atomic_ptr_load_relaxed(&g->teams->order));
	free(g->teams);
	g->teams = NULL;
}

int pami_team_order_find(struct pami_geometry *g)
{
	uint32_t teams = g->teams->leaders.size, *team;
	struct pami_team_order *o = atomic_ptr_load_acquire(&g->teams->order), *none = NULL;

	if (o)
		return 0;
	o = calloc(1, sizeof *o + (teams + 1 + (size_t)g->size) * sizeof *o->rank);
	team = malloc(g->size * sizeof *team);
	if (!o || !team) {
		free(o);
		free(team);
		return -ENOMEM;
	}
	o->first = (uint32_t *)(void *)(o + 1);
	o->rank = o->first + teams + 1;
	for (uint32_t r = 0; r < g->size; r++) {
		team[r] = pami_team_of(g, r);
		o->first[team[r] + 1]++;
	}
	for (uint32_t t = 0; t < teams; t++)
		o->first[t + 1] += o->first[t];
	for (uint32_t r = 0; r < g->size; r++)
		o->rank[o->first[team[r]]++] = r;
	for (uint32_t t = teams; t;
	     t--) /* the loop above moved each entry to the beginning of the next team */
		o->first[t] = o->first[t - 1];
	o->first[0] = 0;
	free(team);
	if (!atomic_ptr_cas_acq_rel(&g->teams->order, &none, o))
		free(o); /* the thread of another context was first */
	return 0;
}

int pami_teams_find(struct pami_geometry *g)
{
	int rc = find_team(g);

	/* One team; or no task of the job shares a group, and no task has two members. */
	if (rc || !g->team_size || g->team_size == g->size ||
	    (g->client->job->groups >= g->client->job->tasks && g->size <= g->client->job->tasks))
		return rc;
	g->teams = calloc(1, sizeof *g->teams);
	if (!g->teams)
		return -ENOMEM;
	pami_topology_init(&g->teams->leaders);
	pami_topology_init(&g->teams->inside);
	rc = find_leaders(g, g->teams);
	rc = rc ? rc : find_inside(g, g->teams);
	if (!rc && g->teams->leaders.size == g->size) {
		struct pami_teams *t = g->teams;

		pami_topology_fini(&t->leaders);
		pami_topology_fini(&t->inside);
		free(t);
		g->teams = NULL;
	}
	return rc;
}

uint32_t pami_team_of(const struct pami_geometry *g, uint32_t rank)
{
	uint32_t group = group_of(g, rank), i = 0;

	while (mu_task_group(pami_endpoint_task(pami_topology_endpoint(&g->teams->leaders, i))) !=
	       group)
		i++;
	return i;
}

int32_t pami_team_index(const struct pami_geometry *g, uint32_t rank)
{
	const uint32_t *at = bsearch(&rank, g->team, g->team_size, sizeof rank, by_number);

	return at ? (int32_t)(at - g->team) : -1;
}
