/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups. Each one is a PAMI geometry over the ORIGIN contexts of its members.
 *
 * The program's handle (ARMCI_Group) holds a slot and its generation, so a copy is as good as the
 * original, and every copy of a freed group is known to be stale. Only the members take part in
 * making a group: other processes return at once, and different processes may name different,
 * disjoint members in the same call.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/locality.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/group/coll.h"
#include "armci/group/group.h"
#include "armci/memory/alloc.h"
#include "armci/mpi/beside.h"
#include "drivers/base/log.h"

/* generation of slot 0 in a handle: a member had died */
enum { WORLD_ID = 1, NOT_MADE = 2 };

static struct {
	struct armci_group **group; /* [slot - 1]; NULL: free */
	uint64_t *generation;
	uint32_t count, space;
	ARMCI_Group parent; /* default parent of new groups */
} table;

/* 0 or FAIL6. */
static int wait_for_state(const volatile int *state)
{
	while (!*state)
		armci_poll();
	return *state < 0 ? FAIL6 : 0;
}

int armci_group_init(void)
{
	struct armci_group *g = calloc(1, sizeof(*g));
	int i;

	if (g)
		g->task = malloc((size_t)armci_world.nproc * sizeof(*g->task));
	if (!g || !g->task) {
		free(g);
		drv_error("armci: no memory for the group of all processes");
		return FAIL6;
	}
	g->users = 1;
	g->size = armci_world.nproc;
	g->rank = armci_world.me;
	for (i = 0; i < g->size; i++)
		g->task[i] = (pami_task_t)i;
	armci_world.all = g;
	ARMCI_Group_get_world(&table.parent);
	if (PAMI_Geometry_world(armci_world.client, &g->geometry) != PAMI_SUCCESS) {
		drv_error("armci: PAMI gives no geometry of all tasks");
		return FAIL6;
	}
	return armci_coll_init(g);
}

static void group_free(struct armci_group *g)
{
	free(g->alloc);
	free(g->task);
	free(g);
}

/* Local. Geometries that the program did not free end with the client. */
void armci_group_release_all(void)
{
	uint32_t i;

	for (i = 0; i < table.count; i++)
		if (table.group[i])
			group_free(table.group[i]);
	if (armci_world.all)
		group_free(armci_world.all);
	armci_world.all = NULL;
	free(table.group);
	free(table.generation);
	memset(&table, 0, sizeof(table));
}

static uint32_t slot_take(struct armci_group *g)
{
	uint32_t i;

	for (i = 0; i < table.count && table.group[i]; i++)
		;
	if (i == table.space) {
		uint32_t space = table.space ? table.space * 2 : 16;
		struct armci_group **groups = realloc(table.group, space * sizeof(*groups));
		uint64_t *generations =
		    groups ? realloc(table.generation, space * sizeof(*generations)) : NULL;

		table.group = groups ? groups : table.group;
		if (!generations)
			armci_die("no memory for %u groups", space);
		table.generation = generations;
		table.space = space;
	}
	if (i == table.count)
		table.generation[table.count++] = 0;
	table.group[i] = g;
	g->generation = ++table.generation[i];
	return i + 1;
}

static void log_not_made(const struct armci_group *g)
{
	int dead = armci_group_find_dead(g);

	if (dead >= 0)
		drv_error("armci: cannot make a group of %d processes: process %d of them has died "
			  "or left; leave it out",
			  g->size, dead);
	else
		drv_error("armci: cannot make a group of %d processes: the job lost a host that "
			  "connected some of them",
			  g->size);
}

/* Agree on the geometry with the other members. 0 or FAIL6. */
static int geometry_create(struct armci_group *g, unsigned id)
{
	volatile int state = 0;
	pami_result_t rc = PAMI_Geometry_create_tasklist(
	    armci_world.client, ARMCI_ORIGIN, NULL, 0, &g->geometry, NULL, id, g->task,
	    (size_t)g->size, armci_world.context[ARMCI_ORIGIN], armci_coll_set_state,
	    (void *)&state);

	if (rc != PAMI_SUCCESS && rc != PAMI_SHUTDOWN)
		armci_die("cannot make a group of %d processes (PAMI result %d): does the list "
			  "name a rank twice?",
			  g->size, (int)rc);
	if (rc != PAMI_SUCCESS || wait_for_state(&state)) {
		log_not_made(g);
		return FAIL6;
	}
	if (armci_coll_init(g))
		armci_die("PAMI has no collectives for a group of %d processes", g->size);
	return 0;
}

struct armci_group *armci_group_make(const int *world, int n, unsigned id)
{
	struct armci_group *g = calloc(1, sizeof(*g));
	int i;

	if (g)
		g->task = malloc((size_t)n * sizeof(*g->task));
	if (!g || !g->task)
		armci_die("no memory for a group of %d processes", n);
	g->users = 1;
	g->size = n;
	for (i = 0; i < n; i++) {
		g->task[i] = (pami_task_t)world[i];
		if (world[i] == armci_world.me)
			g->rank = i;
	}
	g->slot = slot_take(g);
	if (n == 1) /* The group needs no geometry, since it has nobody to talk to. */
		return g;
	if (!geometry_create(g, id))
		return g;
	armci_group_release(g);
	return NULL;
}

void armci_group_release(struct armci_group *g)
{
	volatile int state = 0;

	if (--g->users)
		return;
	if (g->node && g->node != g)
		armci_group_release(g->node);
	if (g->masters && g->masters != g)
		armci_group_release(g->masters);
	armci_mpi_comm_free(g->comm);
	if (g->geometry) {
		pami_result_t rc = PAMI_Geometry_destroy(armci_world.client, &g->geometry,
							 armci_world.context[ARMCI_ORIGIN],
							 armci_coll_set_state, (void *)&state);

		if (rc != PAMI_SUCCESS && rc != PAMI_SHUTDOWN)
			armci_die("PAMI cannot free a group");
		if (rc == PAMI_SUCCESS)
			/* It fails if a member died, which does not matter any more. */
			wait_for_state(&state);
	}
	table.group[g->slot - 1] = NULL;
	group_free(g);
}

struct armci_group *armci_group_world(const char *call)
{
	if (!armci_world.all)
		armci_die("%s: there are no processes", call + (*call == 'P' || *call == 'p'));
	return armci_world.all;
}

struct armci_group *armci_group_find(const ARMCI_Group *handle, const char *call)
{
	unsigned long slot, generation;

	if (!handle)
		armci_die("%s: the group is NULL", call);
	if (handle->rank < 0)
		return NULL;
	slot = handle->armci_private[0];
	generation = handle->armci_private[1];
	if (slot == 0 && generation == WORLD_ID)
		return armci_group_world(call);
	if (slot == 0 || slot > table.count || !table.group[slot - 1] ||
	    table.generation[slot - 1] != generation)
		armci_die("%s: the group was freed or never made", call);
	return table.group[slot - 1];
}

struct armci_group *armci_group_require(const ARMCI_Group *handle, const char *call)
{
	struct armci_group *g = armci_group_find(handle, call);

	if (!g && (handle->armci_private[0] || handle->armci_private[1] != NOT_MADE))
		armci_die("%s: this process is not a member of the group", call);
	if (!g)
		drv_error(
		    "armci: %s: the group was not made, because one of its processes had died; "
		    "make a group without it",
		    call);
	return g;
}

static void handle_set(ARMCI_Group *out, const struct armci_group *g)
{
	memset(out, 0, sizeof(*out));
	out->armci_comm_space = g && g->comm ? g->comm : armci_mpi_null();
	out->size = g ? g->size : 0;
	out->rank = g ? g->rank : -1;
	if (g) {
		out->armci_private[0] = g->slot;
		out->armci_private[1] = g->slot ? g->generation : WORLD_ID;
	}
}

/* Set the handle of a group that was not made. Returns FAIL6. */
static int handle_set_not_made(ARMCI_Group *out)
{
	handle_set(out, NULL);
	out->armci_private[1] = NOT_MADE;
	return FAIL6;
}

/* A positive number that all members of g compute alike: it depends on the groups made from g. */
static unsigned compute_id(struct armci_group *g)
{
	unsigned x = g->slot ? (unsigned)g->task[0] * 2654435761u + (unsigned)g->size : 1;

	return (x * 40503u + ++g->children) & 0x7fffffff ? (x * 40503u + g->children) & 0x7fffffff
							 : 1;
}

/*
 * List the members of the part of g that a scope names, in order; returns how many. SCOPE_NODE:
 * those in this process's domain. SCOPE_MASTERS: the lowest rank of each domain.
 */
static int list_scope(const struct armci_group *g, int scope, int *list)
{
	int n = 0, i, k;

	for (i = 0; i < g->size; i++) {
		int p = (int)g->task[i], first = armci_domain_first(p);

		if (scope == SCOPE_NODE) {
			if (first == armci_domain_first(armci_world.me))
				list[n++] = p;
			continue;
		}
		for (k = 0; k < n && armci_domain_first(list[k]) != first; k++)
			;
		if (k == n)
			list[n++] = p;
		else if (p < list[k])
			list[k] = p;
	}
	return n;
}

struct armci_group *armci_group_scope(struct armci_group *g, int scope)
{
	struct armci_group **kept = scope == SCOPE_NODE ? &g->node : &g->masters;
	bool member = false;
	int *list, n, i;

	if (scope == SCOPE_ALL || *kept)
		return scope == SCOPE_ALL ? g : *kept;
	if (scope != SCOPE_NODE && scope != SCOPE_MASTERS)
		armci_die("%d is not a scope of a collective (SCOPE_ALL ...)", scope);
	list = malloc((size_t)g->size * sizeof(*list));
	if (!list)
		armci_die("no memory for a list of %d processes", g->size);
	n = list_scope(g, scope, list);
	for (i = 0; i < n; i++)
		member |= list[i] == armci_world.me;
	if (member)
		*kept = n == g->size ? g : armci_group_make(list, n, scope == SCOPE_NODE ? 2 : 3);
	free(list);
	return member ? *kept : NULL;
}

/* ---- the published names ---- */

/* 0, or FAIL6: a member has died. */
static int create_child(int n, const int *pid_list, ARMCI_Group *out, ARMCI_Group *parent)
{
	struct armci_group *p = armci_group_require(parent, "ARMCI_Group_create_child"), *g;
	bool member = false;
	unsigned id;
	int *world, i;

	if (!p)
		return handle_set_not_made(out);
	if (n < 0 || n > p->size || (n && !pid_list))
		armci_die("ARMCI_Group_create_child: %d members of a parent of %d", n, p->size);
	world = malloc((size_t)(n ? n : 1) * sizeof(*world));
	if (!world)
		armci_die("no memory for a list of %d processes", n);
	for (i = 0; i < n; i++) {
		if (pid_list[i] < 0 || pid_list[i] >= p->size)
			armci_die("ARMCI_Group_create_child: the parent has no rank %d",
				  pid_list[i]);
		world[i] = (int)p->task[pid_list[i]];
		member |= world[i] == armci_world.me;
	}
	id = compute_id(p);
	g = member ? armci_group_make(world, n, id) : NULL;
	if (g)
		g->comm = armci_mpi_comm(world, n, id);
	free(world);
	if (member && !g)
		return handle_set_not_made(out);
	handle_set(out, g);
	return 0;
}

#pragma GCC visibility push(default)

void ARMCI_Group_get_world(ARMCI_Group *out)
{
	ARMCI_ENTER;
	handle_set(out, armci_world.all);
}

void ARMCI_Group_create_child(int n, int *pid_list, ARMCI_Group *out, ARMCI_Group *parent)
{
	ARMCI_ENTER;
	create_child(n, pid_list, out, parent);
}

void ARMCI_Group_create(int n, int *pid_list, ARMCI_Group *out)
{
	ARMCI_ENTER;
	create_child(n, pid_list, out, &table.parent);
}

void ARMCI_Group_free(ARMCI_Group *group)
{
	ARMCI_ENTER;
	struct armci_group *g = armci_group_find(group, "ARMCI_Group_free");

	if (!g || g == armci_world.all)
		return;
	if (table.parent.armci_private[0] == g->slot)
		ARMCI_Group_get_world(&table.parent);
	table.generation[g->slot - 1]++; /* Copies of the handle are stale from here on. */
	g->closed = true;
	armci_alloc_collect(g);
	armci_group_release(g);
}

int ARMCI_Group_rank(ARMCI_Group *group, int *rank)
{
	ARMCI_ENTER;
	if (!group || !rank)
		armci_die("ARMCI_Group_rank: the group, or the address of the rank, is NULL");
	*rank = group->rank;
	return group->rank < 0;
}

void ARMCI_Group_size(ARMCI_Group *group, int *size)
{
	ARMCI_ENTER;
	if (!group || !size)
		armci_die("ARMCI_Group_size: the group, or the address of the size, is NULL");
	*size = group->size;
}

void ARMCI_Group_set_default(ARMCI_Group *group)
{
	ARMCI_ENTER;
	armci_group_find(group, "ARMCI_Group_set_default");
	table.parent = *group;
}

void ARMCI_Group_get_default(ARMCI_Group *out)
{
	ARMCI_ENTER;
	*out = table.parent;
}

int ARMCI_Absolute_id(ARMCI_Group *group, int group_rank)
{
	ARMCI_ENTER;
	struct armci_group *g = armci_group_find(group, "ARMCI_Absolute_id");

	return !g || group_rank < 0 || group_rank >= g->size ? -1 : (int)g->task[group_rank];
}

/* ---- armcix.h ---- */

struct part {
	int color, key, rank;
};

static int compare_keys(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
				: (x->rank > y->rank) - (x->rank < y->rank);
}

int ARMCIX_Group_split(ARMCI_Group *parent, int color, int key, ARMCI_Group *out)
{
	ARMCI_ENTER;
	struct armci_group *p = armci_group_require(parent, "ARMCIX_Group_split");
	struct part own, *all;
	int *list, n = 0, i, rc;

	if (!p)
		return handle_set_not_made(out);
	own = (struct part){color, key, p->rank};
	all = malloc((size_t)p->size * sizeof(*all));
	list = malloc((size_t)p->size * sizeof(*list));
	if (!all || !list)
		armci_die("no memory to split a group of %d processes", p->size);
	if (armci_coll_allgather(p, &own, all, sizeof(own))) {
		compute_id(p); /* Count it, as the processes do for which it did not fail. */
		free(all);
		free(list);
		return handle_set_not_made(out);
	}
	qsort(all, (size_t)p->size, sizeof(*all), compare_keys);
	for (i = 0; i < p->size; i++)
		if (all[i].color == color && color >= 0)
			list[n++] = all[i].rank;
	rc = create_child(n, list, out, parent);
	free(all);
	free(list);
	return rc;
}

int ARMCIX_Group_dup(ARMCI_Group *parent, ARMCI_Group *out)
{
	ARMCI_ENTER;
	return ARMCIX_Group_split(parent, 0, 0, out);
}

#pragma GCC visibility pop
