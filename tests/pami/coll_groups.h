/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The geometries of pami_collectives.c: the world, halves, a list backwards, endpoints of several
 * contexts, all contexts, a plane, one task. make_groups() makes them, destroy_groups() ends them.
 */
#ifndef TESTS_PAMI_COLL_GROUPS_H
#define TESTS_PAMI_COLL_GROUPS_H

#include <string.h>

#include "tests/harness/pami_job.h"

enum { CONTEXTS = 2, GEOMETRIES = 9, MEMBERS_MAX = 64 };

static struct group {
	const char *name;
	pami_geometry_t handle; /* NULL: this task is no member */
	uint32_t size;
	pami_endpoint_t member[MEMBERS_MAX];
	int32_t rank[CONTEXTS]; /* of this task's contexts, or -1 */
} groups[GEOMETRIES];
static int group_count;

static void advance_all(void)
{
	PAMI_Context_advancev(contexts, CONTEXTS, 50);
}

static size_t mixed_task(pami_endpoint_t e)
{
	pami_task_t task = 0;
	size_t offset = 0;

	PAMI_Endpoint_query(e, &task, &offset);
	return task;
}

static size_t mixed_offset(pami_endpoint_t e)
{
	pami_task_t task = 0;
	size_t offset = 0;

	PAMI_Endpoint_query(e, &task, &offset);
	return offset;
}

static struct group *group_new(const char *name)
{
	struct group *g = &groups[group_count++];

	memset(g, 0, sizeof *g);
	g->name = name;
	return g;
}

static void group_add(struct group *g, size_t task, size_t offset)
{
	if (g->size < MEMBERS_MAX)
		g->member[g->size++] = get_endpoint(task, offset);
}

static int group_here(struct group *g)
{
	int here = 0;

	for (int c = 0; c < CONTEXTS; c++) {
		g->rank[c] = -1;
		for (uint32_t i = 0; i < g->size; i++)
			if (g->member[i] == get_endpoint(me, (size_t)c))
				g->rank[c] = (int32_t)i;
		here |= g->rank[c] >= 0;
	}
	return here;
}

static int made;

static void on_made(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK(c == contexts[0] && cookie == &made);
	CHECK_EQ(result, PAMI_SUCCESS);
	made++;
}

static void wait_made(void)
{
	while (!made)
		advance_all();
	made = 0;
}

static void create_range(struct group *g, unsigned id, pami_geometry_range_t *slices, size_t count,
			 pami_geometry_t parent, size_t offset)
{
	int here = group_here(g);

	if (!here && !parent)
		return;
	CHECK_EQ(PAMI_Geometry_create_taskrange(client, offset, NULL, 0, here ? &g->handle : NULL,
						parent, id, slices, count, contexts[0], on_made,
						&made),
		 PAMI_SUCCESS);
	CHECK(!here || g->handle != PAMI_GEOMETRY_NULL);
	wait_made();
}

static void make_groups(void)
{
	static pami_geometry_range_t odd[MEMBERS_MAX], even[MEMBERS_MAX], plane[MEMBERS_MAX],
	    one[1], all[1];
	static pami_task_t list[MEMBERS_MAX];
	static pami_endpoint_t mixed[MEMBERS_MAX];
	size_t odds = 0, evens = 0, n = 0;
	struct group *g = group_new("world"), *h;
	pami_geometry_t world;

	PAMI_Geometry_world(client, &world);
	g->handle = world;
	for (size_t t = 0; t < tasks; t++)
		group_add(g, t, 0);
	group_here(g);
	/* Every second task: disjoint halves at the same time, each with its own id. */
	g = group_new("even");
	h = group_new("odd");
	for (size_t t = 0; t < tasks; t++) {
		pami_geometry_range_t r = {(pami_task_t)t, (pami_task_t)t};

		if (t % 2)
			odd[odds++] = r;
		else
			even[evens++] = r;
		group_add(t % 2 ? h : g, t, 0);
	}
	group_here(g);
	group_here(h);
	if (me % 2 == 0)
		create_range(g, 1, even, evens, PAMI_GEOMETRY_NULL, 0);
	else
		create_range(h, 2, odd, odds, PAMI_GEOMETRY_NULL, 0);
	if (!h->size)
		group_count--;
	/* The first half or more, backwards, from the world, other context. */
	g = group_new("list");
	for (size_t t = (tasks + 1) / 2 + (tasks > 3); t--;)
		list[n++] = (pami_task_t)t;
	for (size_t i = 0; i < n; i++)
		group_add(g, list[i], 1);
	CHECK_EQ(PAMI_Geometry_create_tasklist(client, 1, NULL, 0,
					       group_here(g) ? &g->handle : NULL, world, 3, list, n,
					       contexts[0], on_made, &made),
		 PAMI_SUCCESS);
	wait_made();
	/* Contexts in turn, and both of task 0. */
	g = group_new("endpoints");
	n = 0;
	for (size_t t = tasks; t--;)
		mixed[n++] = get_endpoint(t, t % CONTEXTS);
	mixed[n++] = get_endpoint(0, 1);
	for (size_t i = 0; i < n; i++)
		group_add(g, mixed_task(mixed[i]), mixed_offset(mixed[i]));
	group_here(g);
	CHECK_EQ(PAMI_Geometry_create_endpointlist(client, NULL, 0, &g->handle, 4, mixed, n,
						   contexts[0], on_made, &made),
		 PAMI_SUCCESS);
	wait_made();
	/* All contexts of all tasks. */
	g = group_new("contexts");
	all[0] = (pami_geometry_range_t){0, (pami_task_t)(tasks - 1)};
	for (size_t t = 0; t < tasks; t++)
		for (size_t c = 0; c < CONTEXTS; c++)
			group_add(g, t, c);
	create_range(g, 5, all, 1, PAMI_GEOMETRY_NULL, PAMI_ALL_CONTEXTS);
	/* A plane: pairs, each four tasks from the last. */
	g = group_new("plane");
	n = 0;
	for (size_t t = 0; t + 1 < tasks; t += 4) {
		plane[n++] = (pami_geometry_range_t){(pami_task_t)t, (pami_task_t)t + 1};
		group_add(g, t, 0);
		group_add(g, t + 1, 0);
	}
	if (!n) {
		plane[n++] = (pami_geometry_range_t){0, 0};
		group_add(g, 0, 0);
	}
	group_here(g);
	create_range(g, 7, plane, n, world, 0);
	/* One task. */
	g = group_new("one");
	one[0] = (pami_geometry_range_t){0, 0};
	group_add(g, 0, 0);
	group_here(g);
	create_range(g, 6, one, 1, PAMI_GEOMETRY_NULL, 0);
}

static void destroy_groups(void)
{
	for (int i = 1; i < group_count; i++)
		if (groups[i].handle) {
			CHECK_EQ(PAMI_Geometry_destroy(client, &groups[i].handle, contexts[0],
						       on_made, &made),
				 PAMI_SUCCESS);
			CHECK(groups[i].handle == PAMI_GEOMETRY_NULL);
			wait_made();
		}
}

#endif
