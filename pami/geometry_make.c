/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making and ending geometries: an agreement of the tasks, by messages between the first member
 * context of each (its home), which runs on that context's thread and tells the program on the
 * context it named. The messages of a making are matched by a hash of id and members, in order.
 */
#include <stdlib.h>
#include <string.h>

#include "pami/coll_hw.h"

struct make {
	pami_work_t start, end; /* posted to the home, to the program's context */
	struct pami_geometry *geometry;
	struct pami_context *home, *context;
	pami_event_function fn;
	void *cookie;
	pami_result_t result;
	int ending;
};

/* Everybody learns the largest number, and that all have come: in round k from the one 2^k before. */
static int agree_step(struct pami_coll *c)
{
	uint64_t distance = (uint64_t)1 << c->phase, heard;
	int rc;

	if (c->phase) {
		memcpy(&heard, c->fits, sizeof heard);
		if (heard > c->number)
			c->number = heard;
	}
	if (distance >= c->size)
		return PAMI_COLL_DONE;
	rc = pami_coll_send(c, (uint32_t)((c->rank + distance) % c->size), c->phase, &c->number, 8);
	return rc ? rc : pami_coll_recv(c, (uint32_t)((c->rank + c->size - distance) % c->size), c->phase,
	                                c->fits, 8);
}

static const struct pami_algorithm_info agree = { .name = "agree", .step = agree_step };

static pami_result_t tell(pami_context_t context, void *cookie)
{
	struct make *m = cookie;

	if (m->fn)
		m->fn(context, m->cookie, m->result);
	free(m);
	return PAMI_SUCCESS;
}

/* On the context the program named, if that is not the home. */
static int tell_elsewhere(struct make *m)
{
	if (m->context == m->home)
		return 0;
	pami_post(m->context, &m->end, tell, m);
	return 1;
}

/* With its class route, or without. */
static void made(pami_context_t context, void *cookie, pami_result_t result)
{
	struct make *m = cookie;

	if (!tell_elsewhere(m))
		tell(context, m);
}

static void agreed(struct pami_coll *c)
{
	struct make *m = c->user;
	struct pami_geometry *g = m->geometry;
	uint32_t *next = &g->client->geometries->next_number, seen = __atomic_load_n(next, __ATOMIC_RELAXED);

	m->result = pami_result(c->result);
	if (m->ending) {
		pami_geometry_free(g, c->context);
	} else if (c->result) { /* a member died: what others still say about it is dropped until it is destroyed */
		g->optimized = 0;
		pami_geometry_found(g, c->key, PAMI_GEOMETRY_FAILED);
		pami_coll_forget(c->context, c->key);
	} else {
		uint32_t number = (uint32_t)(c->number >> 1);

		while (seen <= number && !__atomic_compare_exchange_n(next, &seen, number + 1, 1, __ATOMIC_RELAXED,
		                                                      __ATOMIC_RELAXED))
			;
		g->optimized = 0;
		pami_geometry_found(g, (uint64_t)g->id << 32 | number, PAMI_GEOMETRY_READY);
		if (c->number & 1 && !g->homes && !pami_hw_update(g, m->home, 1, made, m))
			return; /* told when that is done */
	}
	if (tell_elsewhere(m))
		return;
	c->cb_done = m->fn;
	c->cookie = m->cookie;
	free(m);
}

static pami_result_t start(pami_context_t context, void *cookie)
{
	struct make *m = cookie;
	struct pami_geometry *g = m->geometry;
	struct pami_coll *c = pami_coll_new(context);

	if (!c)
		return PAMI_EAGAIN; /* posted: called again */
	c->geometry = g;
	c->topology = g->homes ? g->homes : &g->topology;
	c->size = c->topology->size;
	c->rank = (uint32_t)pami_topology_rank(c->topology, pami_endpoint(g->client->job->task, m->home->offset));
	c->kind = PAMI_COLL_GEOMETRY;
	c->sequence = (uint32_t)m->ending;
	c->key = m->ending ? g->key : pami_topology_hash(&g->topology) * 31 + g->id;
	c->type = PAMI_XFER_BARRIER;
	c->info = &agree;
	/* The lowest bit: a class route is wanted. Members may differ (the attribute may be unset): the largest decides. */
	if (!m->ending)
		c->number = (uint64_t)__atomic_fetch_add(&g->client->geometries->next_number, 1, __ATOMIC_RELAXED) << 1 |
			    (g->optimized != 0);
	c->done = agreed;
	if (__atomic_load_n(&g->state, __ATOMIC_ACQUIRE) == PAMI_GEOMETRY_FAILED) /* what was never made ends here alone */
		c->size = 1;
	else if (pami_geometry_dead(g))
		c->result = -ESHUTDOWN;
	c->user = m;
	pami_coll_start(c);
	return PAMI_SUCCESS;
}

static pami_result_t begin(struct pami_geometry *g, struct pami_context *ctx, int ending,
                           pami_event_function fn, void *cookie)
{
	const struct pami_topology *homes = g->homes ? g->homes : &g->topology;
	struct make *m = calloc(1, sizeof *m);

	if (!m)
		return pami_result(-ENOMEM);
	m->geometry = g;
	m->context = ctx;
	m->fn = fn;
	m->cookie = cookie;
	m->ending = ending;
	for (uint32_t i = 0; i < g->offsets && !m->home; i++)
		if (pami_topology_rank(homes, pami_endpoint(g->client->job->task, i)) >= 0)
			m->home = g->client->context[i];
	if (!m->home) {
		free(m);
		return pami_fail(PAMI_INVAL, "a member context was not created");
	}
	if (m->home == ctx && start(ctx, m) == PAMI_SUCCESS)
		return PAMI_SUCCESS;
	/* Another thread may be driving the home. */
	pami_post(m->home, &m->start, start, m);
	return PAMI_SUCCESS;
}

/* ---- Creating ---- */

struct place {
	uint32_t task, rank;
};

static int by_task(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->task != y->task ? (x->task > y->task) - (x->task < y->task) :
				    (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_rank(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Endpoints in any order: the one of lowest rank of each task. */
static int find_homes(struct pami_geometry *g)
{
	uint32_t n = g->topology.size, tasks = 0;
	struct place *p = malloc(n * sizeof *p);
	int rc = 0;

	g->homes = calloc(1, sizeof *g->homes);
	if (!p || !g->homes) {
		free(p);
		return -ENOMEM;
	}
	for (uint32_t r = 0; r < n; r++)
		p[r] = (struct place){ pami_endpoint_task(pami_geometry_endpoint(g, r)), r };
	qsort(p, n, sizeof *p, by_task);
	for (uint32_t i = 0; i < n; i++)
		if (!tasks || p[i].task != p[tasks - 1].task)
			p[tasks++] = p[i];
	qsort(p, tasks, sizeof *p, by_rank);
	for (uint32_t i = 0; i < tasks && !rc; i++)
		rc = pami_topology_add(g->homes, pami_geometry_endpoint(g, p[i].rank), 1, 0);
	free(p);
	return rc ? rc : pami_topology_end(g->homes, 1);
}

static int member_here(const struct pami_geometry *g)
{
	int here = 0;

	for (uint32_t i = 0; i < g->offsets; i++) {
		if (g->member[i].rank < 0)
			continue;
		if (!g->client->context[i])
			return 0;
		here = 1;
	}
	return here;
}

/* The topology is there; the rest, and the agreement. */
static pami_result_t create(struct pami_geometry *g, pami_geometry_t *geometry, struct pami_context *ctx,
                            int endpoints, pami_event_function fn, void *cookie, int rc)
{
	pami_result_t result;

	rc = rc ? rc : pami_geometry_settle(g);
	if (!rc && endpoints)
		rc = find_homes(g);
	if (rc) {
		pami_geometry_free(g, NULL);
		return rc == -EINVAL ? pami_fail(PAMI_INVAL, "the members are none, or one is there twice") :
				       pami_result(rc);
	}
	if (!member_here(g)) {
		pami_geometry_free(g, NULL);
		return pami_fail(PAMI_INVAL, "this task is no member, or its context was not created; tasks of "
		                             "the parent that are not members pass a NULL geometry pointer");
	}
	result = begin(g, ctx, 0, fn, cookie);
	if (result == PAMI_SUCCESS)
		*geometry = g;
	else
		pami_geometry_free(g, NULL);
	return result;
}

/* What all three creating functions check. Returns whether to go on; else *result is the answer. */
static int may_create(pami_client_t client, pami_configuration_t configuration[], size_t num_configs,
                      const pami_geometry_t *geometry, unsigned id, pami_context_t context,
                      pami_event_function fn, void *cookie, pami_result_t *result)
{
	if (!pami_client_valid(client) || !pami_context_valid(context) || !id || id > INT32_MAX) {
		*result = pami_fail(PAMI_INVAL, "no client, no context, or an id that is not positive");
		return 0;
	}
	for (size_t i = 0; i < num_configs; i++)
		if (configuration[i].name != PAMI_GEOMETRY_OPTIMIZE) {
			*result = pami_fail(PAMI_INVAL, "not an attribute of geometries");
			return 0;
		}
	if (!geometry)
		*result = pami_event_defer(pami_context_of(context), fn, NULL, cookie, 0);
	return geometry != NULL;
}

/* What the three creating functions are given; one of the arrays. */
struct members {
	const pami_geometry_range_t *slices;
	const pami_task_t *tasks;
	const pami_endpoint_t *endpoints;
	size_t count, offset; /* offset of tasks; PAMI_ALL_CONTEXTS: each stands for all its contexts */
};

static int add_tasks(struct pami_geometry *g, uint32_t task, uint32_t count, size_t offset)
{
	const struct pami_client *c = g->client;

	if (task >= c->job->tasks || count > c->job->tasks - task ||
	    (offset != PAMI_ALL_CONTEXTS && offset >= c->contexts))
		return -EINVAL;
	return pami_topology_add(&g->topology, pami_endpoint(task, offset == PAMI_ALL_CONTEXTS ? 0 : (uint32_t)offset),
	                         count, 64);
}

static int add_member(struct pami_geometry *g, struct pami_context *ctx, const struct members *m, size_t i)
{
	if (m->endpoints)
		return pami_endpoint_ok(ctx, m->endpoints[i]) ? pami_topology_add(&g->topology, m->endpoints[i], 1, 0) :
								-EINVAL;
	if (m->tasks)
		return add_tasks(g, m->tasks[i], 1, m->offset);
	return m->slices[i].hi < m->slices[i].lo ?
		       -EINVAL :
		       add_tasks(g, m->slices[i].lo, m->slices[i].hi - m->slices[i].lo + 1, m->offset);
}

static pami_result_t create_of(const struct members *m, pami_client_t client, pami_configuration_t configuration[],
                               size_t configurations, pami_geometry_t *geometry, pami_geometry_t parent, unsigned id,
                               pami_context_t context, pami_event_function fn, void *cookie)
{
	struct pami_context *ctx = context;
	int all = !m->endpoints && m->offset == PAMI_ALL_CONTEXTS, rc = 0;
	struct pami_geometry *g;
	pami_result_t result;

	if (!may_create(client, configuration, configurations, geometry, id, context, fn, cookie, &result))
		return result;
	if (!m->slices && !m->tasks && !m->endpoints)
		return pami_fail(PAMI_INVAL, "no members");
	if (all && parent)
		return pami_fail(PAMI_INVAL, "all contexts together with a parent");
	g = pami_geometry_alloc(client, id);
	if (!g)
		return pami_result(-ENOMEM);
	pami_topology_init(&g->topology);
	for (size_t i = 0; i < configurations; i++)
		g->optimized = configuration[i].value.intval != 0;
	for (size_t i = 0; i < m->count && !rc; i++)
		rc = add_member(g, ctx, m, i);
	rc = rc ? rc : pami_topology_end(&g->topology, all ? g->client->created : 1);
	return create(g, geometry, ctx, all || m->endpoints, fn, cookie, rc);
}

PAMI_EXPORT pami_result_t PAMI_Geometry_create_taskrange(
	pami_client_t client, size_t context_offset, pami_configuration_t configuration[], size_t num_configs,
	pami_geometry_t *geometry, pami_geometry_t parent, unsigned id, pami_geometry_range_t *task_slices,
	size_t slice_count, pami_context_t context, pami_event_function fn, void *cookie)
{
	struct members m = { .slices = task_slices, .count = slice_count, .offset = context_offset };

	return create_of(&m, client, configuration, num_configs, geometry, parent, id, context, fn, cookie);
}

PAMI_EXPORT pami_result_t PAMI_Geometry_create_tasklist(
	pami_client_t client, size_t context_offset, pami_configuration_t configuration[], size_t num_configs,
	pami_geometry_t *geometry, pami_geometry_t parent, unsigned id, pami_task_t *tasks, size_t task_count,
	pami_context_t context, pami_event_function fn, void *cookie)
{
	struct members m = { .tasks = tasks, .count = task_count, .offset = context_offset };

	return create_of(&m, client, configuration, num_configs, geometry, parent, id, context, fn, cookie);
}

PAMI_EXPORT pami_result_t PAMI_Geometry_create_endpointlist(
	pami_client_t client, pami_configuration_t configuration[], size_t num_configs,
	pami_geometry_t *geometry, unsigned id, pami_endpoint_t *endpoints, size_t endpoint_count,
	pami_context_t context, pami_event_function fn, void *cookie)
{
	struct members m = { .endpoints = endpoints, .count = endpoint_count };

	return create_of(&m, client, configuration, num_configs, geometry, PAMI_GEOMETRY_NULL, id, context, fn, cookie);
}

PAMI_EXPORT pami_result_t PAMI_Geometry_destroy(pami_client_t client, pami_geometry_t *geometry,
                                                pami_context_t context, pami_event_function fn, void *cookie)
{
	struct pami_geometry *g = geometry ? *geometry : NULL;
	pami_result_t result;

	if (!pami_client_valid(client) || !pami_context_valid(context) || !pami_geometry_valid(g) ||
	    g->client != client)
		return pami_fail(PAMI_INVAL, "no client, no context, or no geometry");
	if (!g->id)
		return pami_fail(PAMI_INVAL, "the world geometry is not destroyed by programs");
	if (__atomic_load_n(&g->state, __ATOMIC_ACQUIRE) == PAMI_GEOMETRY_MAKING)
		return pami_fail(PAMI_INVAL, "the geometry is not complete: wait for its callback");
	result = begin(g, pami_context_of(context), 1, fn, cookie);
	if (result == PAMI_SUCCESS)
		*geometry = PAMI_GEOMETRY_NULL;
	return result;
}
