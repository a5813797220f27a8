/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making and ending geometries: an agreement of the tasks. It runs on the context that the program
 * named, which may be the only one that the program advances. A task sends notes (mu.h) to another
 * task's anchor, which is its first member context. The thread that runs the engine of that channel
 * puts them on a list of the client, so the program need not advance the anchor. Notes are matched,
 * in order, by a hash of id and members.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "pami/coll/hw/hw.h"
#include "pami/core/client.h"
#include "pami/core/context.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/core/post.h"
#include "pami/geometry/geometry.h"
#include "pami/p2p/request.h"

struct make {
	pami_work_t start; /* posted to the program's context, or to the anchor */
	pami_work_t end;   /* posted back to the program's context */
	struct pami_geometry *geometry;
	struct pami_context *anchor, *context;
	pami_event_function fn;
	void *cookie;
	pami_result_t result;
	int ending;
	uint32_t round;
	bool sent;     /* the note of this round */
	uint32_t away; /* a member named a context that is not its anchor */
	/* The largest that a member proposed, times 2; + 1: a class route is wanted. */
	uint64_t number;
};

/* ---- Notes ---- */

int pami_geometry_note(void *context, uint32_t source, const void *note, uint32_t bytes)
{
	struct pami_context *ctx = context;
	struct pami_geometry_table *t = ctx->client->geometries;
	struct pami_geometry_note *n;

	if (bytes != sizeof *n)
		return 0;
	n = malloc(sizeof *n);
	if (!n)
		return -ENOMEM;
	memcpy(n, note, sizeof *n);
	n->next = NULL;
	pthread_mutex_lock(&t->lock);
	*t->notes_last = n;
	t->notes_last = &n->next;
	pthread_mutex_unlock(&t->lock);
	mu_wake_self(); /* another thread may wait for it */
	return 0;
}

/* Unlink the note *at. The caller holds the lock of the table. */
static struct pami_geometry_note *unlink_note(struct pami_geometry_table *t,
					      struct pami_geometry_note **at)
{
	struct pami_geometry_note *n = *at;

	*at = n->next;
	if (t->notes_last == &n->next)
		t->notes_last = at;
	return n;
}

void pami_geometry_forget_notes(struct pami_geometry_table *t, const uint64_t *key)
{
	pthread_mutex_lock(&t->lock);
	for (struct pami_geometry_note **at = &t->notes; *at;)
		if (!key || (*at)->key == *key)
			free(unlink_note(t, at));
		else
			at = &(*at)->next;
	pthread_mutex_unlock(&t->lock);
}

/* Send the note of this round. Returns 0, -EAGAIN or another error. */
static int send_note(struct pami_coll *c, struct make *m, uint32_t rank)
{
	pami_endpoint_t to = pami_topology_endpoint(c->topology, rank);
	struct pami_geometry_note n = {.key = c->key,
				       .number = m->number,
				       .rank = c->rank,
				       .round = m->round,
				       .ending = (uint32_t)m->ending,
				       .away = m->away};

	mu_charge(MU_COST_send_immediate, 1);
	return mu_send_note(c->context->channel, pami_endpoint_task(to),
			    pami_endpoint_channel(c->context, to), &n, sizeof n);
}

/* Returns true if the note of `rank` for this round has arrived, and applies it. */
static bool take_note_of(struct pami_coll *c, struct make *m, uint32_t rank)
{
	struct pami_geometry_table *t = m->geometry->client->geometries;
	struct pami_geometry_note *n = NULL;

	pthread_mutex_lock(&t->lock);
	for (struct pami_geometry_note **at = &t->notes; *at && !n; at = &(*at)->next)
		if ((*at)->key == c->key && (*at)->rank == rank && (*at)->round == m->round &&
		    (*at)->ending == (uint32_t)m->ending) {
			n = unlink_note(t, at);
			break;
		}
	pthread_mutex_unlock(&t->lock);
	if (!n)
		return false;
	if (n->number > m->number)
		m->number = n->number;
	m->away |= n->away;
	free(n);
	return true;
}

/* ---- The agreement ---- */

/*
 * Dissemination: in round k each task sends to the one 2^k after it. At the end all know the
 * largest number, and that all tasks take part.
 */
static int agree_step(struct pami_coll *c)
{
	struct make *m = c->user;

	if (m->anchor != c->context)
		mu_run_reception(m->anchor->channel);
	for (; (uint64_t)1 << m->round < c->size; m->round++, m->sent = false) {
		uint64_t distance = (uint64_t)1 << m->round;
		int rc = m->sent ? 0 : send_note(c, m, (uint32_t)((c->rank + distance) % c->size));

		if (rc)
			return rc == -EAGAIN ? PAMI_COLL_POLL : rc;
		m->sent = true;
		if (!take_note_of(c, m, (uint32_t)((c->rank + c->size - distance) % c->size)))
			return PAMI_COLL_POLL;
	}
	return PAMI_COLL_DONE;
}

static const struct pami_algorithm_info agree = {.name = "agree", .step = agree_step};

static pami_result_t call_back(pami_context_t context, void *cookie)
{
	struct make *m = cookie;

	if (m->fn)
		m->fn(context, m->cookie, m->result);
	free(m);
	return PAMI_SUCCESS;
}

/* The geometry has a class route, or goes without. Runs on the anchor, the program's context. */
static void on_made(pami_context_t context, void *cookie, pami_result_t result)
{
	call_back(context, cookie);
}

/* Runs on the anchor: only its thread may give the class route back. */
static pami_result_t end_at_anchor(pami_context_t context, void *cookie)
{
	struct make *m = cookie;

	pami_geometry_free(m->geometry, pami_context_of(context));
	pami_post(m->context, &m->end, call_back, m);
	return PAMI_SUCCESS;
}

static void on_agreed(struct pami_coll *c)
{
	struct make *m = c->user;
	struct pami_geometry *g = m->geometry;
	atomic_u32 *next = &g->client->geometries->next_number;
	uint32_t seen = atomic_load_relaxed(next);

	m->result = pami_callback_result(m->fn, c->result);
	if (c->result)
		pami_geometry_forget_notes(g->client->geometries, &c->key);
	if (m->ending && m->anchor != c->context && g->hw) {
		pami_post(m->anchor, &m->start, end_at_anchor, m);
		return;
	}
	if (m->ending) {
		pami_geometry_free(g, m->anchor == c->context ? c->context : NULL);
	} else if (c->result) {
		/* A member died. Messages for the geometry are dropped until it is destroyed. */
		g->optimized = false;
		pami_geometry_found(g, c->key, PAMI_GEOMETRY_FAILED);
	} else {
		uint32_t number = (uint32_t)(m->number >> 1);

		while (seen <= number && !atomic_cas_weak_relaxed(next, &seen, number + 1))
			;
		g->optimized = false;
		pami_geometry_found(g, (uint64_t)g->id << 32 | number, PAMI_GEOMETRY_READY);
		/* The homes agree on a class route, so the program must advance all of them. */
		if (m->number & 1 && !g->homes && !m->away &&
		    !pami_hw_update(g, m->anchor, 1, on_made, m))
			return; /* on_made() calls back */
	}
	c->cb_done = m->fn;
	c->cookie = m->cookie;
	free(m);
}

static pami_result_t start_agreement(pami_context_t context, void *cookie)
{
	struct make *m = cookie;
	struct pami_geometry *g = m->geometry;
	struct pami_coll *c = pami_coll_new(context);

	if (!c)
		return PAMI_EAGAIN; /* the posted work is called again */
	c->geometry = g;
	c->topology = g->homes ? g->homes : &g->topology;
	c->size = c->topology->size;
	c->rank = (uint32_t)pami_topology_rank(
	    c->topology, pami_endpoint(g->client->job->task, m->anchor->offset));
	c->kind = PAMI_COLL_GEOMETRY;
	c->sequence = (uint32_t)m->ending;
	c->key = m->ending ? g->key : pami_topology_hash(&g->topology) * 31 + g->id;
	c->type = PAMI_XFER_BARRIER;
	c->info = &agree;
	/* The lowest bit asks for a class route. If members differ, the largest number decides. */
	if (!m->ending)
		m->number =
		    (uint64_t)atomic_fetch_add_relaxed(&g->client->geometries->next_number, 1)
			<< 1 |
		    (g->optimized != 0);
	c->done = on_agreed;
	/* A geometry that was never made ends at each task alone. */
	if (atomic_load_acquire(&g->state) == PAMI_GEOMETRY_FAILED)
		c->size = 1;
	else if (pami_geometry_is_dead(g))
		c->result = -ESHUTDOWN;
	c->user = m;
	pami_coll_start(c);
	return PAMI_SUCCESS;
}

static pami_result_t begin_agreement(struct pami_geometry *g, struct pami_context *ctx, int ending,
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
	for (uint32_t i = 0; i < g->offsets && !m->anchor; i++)
		if (pami_topology_rank(homes, pami_endpoint(g->client->job->task, i)) >= 0)
			m->anchor = g->client->context[i];
	if (!m->anchor) {
		free(m);
		return pami_fail(PAMI_INVAL, "a member context was not created");
	}
	m->away = m->anchor != ctx;
	if (start_agreement(ctx, m) != PAMI_SUCCESS)
		pami_post(ctx, &m->start, start_agreement, m);
	return PAMI_SUCCESS;
}

/* ---- Creating ---- */

struct place {
	uint32_t task, rank;
};

static int by_task(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->task != y->task ? (x->task > y->task) - (x->task < y->task)
				  : (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_rank(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Find the anchor of each task: its endpoint of lowest rank. */
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
		p[r] = (struct place){pami_endpoint_task(pami_geometry_endpoint(g, r)), r};
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

static bool is_member_here(const struct pami_geometry *g)
{
	bool here = false;

	for (uint32_t i = 0; i < g->offsets; i++) {
		if (g->member[i].rank < 0)
			continue;
		if (!g->client->context[i])
			return false;
		here = true;
	}
	return here;
}

/* Complete a geometry whose topology is set, and begin the agreement. */
static pami_result_t begin_geometry(struct pami_geometry *g, pami_geometry_t *geometry,
				    struct pami_context *ctx, int endpoints, pami_event_function fn,
				    void *cookie, int rc)
{
	pami_result_t result;

	rc = rc ? rc : pami_geometry_settle(g);
	if (!rc && endpoints)
		rc = find_homes(g);
	if (rc) {
		pami_geometry_free(g, NULL);
		return rc == -EINVAL
			   ? pami_fail(PAMI_INVAL, "the members are none, or one is there twice")
			   : pami_result(rc);
	}
	if (!is_member_here(g)) {
		pami_geometry_free(g, NULL);
		return pami_fail(PAMI_INVAL,
				 "this task is no member, or its context was not created; tasks of "
				 "the parent that are not members pass a NULL geometry pointer");
	}
	result = begin_agreement(g, ctx, 0, fn, cookie);
	if (result == PAMI_SUCCESS)
		*geometry = g;
	else
		pami_geometry_free(g, NULL);
	return result;
}

/* The checks of all three functions. Returns true to go on; else *result is the result. */
static bool may_create(pami_client_t client, pami_configuration_t configuration[],
		       size_t num_configs, const pami_geometry_t *geometry, unsigned id,
		       pami_context_t context, pami_event_function fn, void *cookie,
		       pami_result_t *result)
{
	if (!pami_client_is_valid(client) || !pami_context_is_valid(context) || !id ||
	    id > INT32_MAX || (num_configs && !configuration)) {
		*result = pami_fail(
		    PAMI_INVAL,
		    "no client, no context, no attributes, or an id that is not positive");
		return false;
	}
	for (size_t i = 0; i < num_configs; i++)
		if (configuration[i].name != PAMI_GEOMETRY_OPTIMIZE) {
			*result = pami_fail(PAMI_INVAL, "not an attribute of geometries");
			return false;
		}
	if (!geometry)
		*result = pami_event_defer(pami_context_of(context), fn, NULL, cookie, 0);
	return geometry != NULL;
}

/* The members, as the three functions give them: one of the arrays. */
struct members {
	const pami_geometry_range_t *slices;
	const pami_task_t *tasks;
	const pami_endpoint_t *endpoints;
	/* `offset` is that of tasks; PAMI_ALL_CONTEXTS: each stands for all its contexts. */
	size_t count, offset;
};

static int add_tasks(struct pami_geometry *g, uint32_t task, uint32_t count, size_t offset)
{
	const struct pami_client *c = g->client;

	if (task >= c->job->tasks || count > c->job->tasks - task ||
	    (offset != PAMI_ALL_CONTEXTS && offset >= c->contexts))
		return -EINVAL;
	return pami_topology_add(
	    &g->topology, pami_endpoint(task, offset == PAMI_ALL_CONTEXTS ? 0 : (uint32_t)offset),
	    count, 64);
}

static int add_member(struct pami_geometry *g, struct pami_context *ctx, const struct members *m,
		      size_t i)
{
	if (m->endpoints)
		return pami_endpoint_is_valid(ctx, m->endpoints[i])
			   ? pami_topology_add(&g->topology, m->endpoints[i], 1, 0)
			   : -EINVAL;
	if (m->tasks)
		return add_tasks(g, m->tasks[i], 1, m->offset);
	return m->slices[i].hi < m->slices[i].lo
		   ? -EINVAL
		   : add_tasks(g, m->slices[i].lo, m->slices[i].hi - m->slices[i].lo + 1,
			       m->offset);
}

static pami_result_t create_of(const struct members *m, pami_client_t client,
			       pami_configuration_t configuration[], size_t configurations,
			       pami_geometry_t *geometry, pami_geometry_t parent, unsigned id,
			       pami_context_t context, pami_event_function fn, void *cookie)
{
	struct pami_context *ctx = context;
	int all = !m->endpoints && m->offset == PAMI_ALL_CONTEXTS, rc = 0;
	struct pami_geometry *g;
	pami_result_t result;

	if (!may_create(client, configuration, configurations, geometry, id, context, fn, cookie,
			&result))
		return result;
	if (!m->slices && !m->tasks && !m->endpoints)
		return pami_fail(PAMI_INVAL, "no members");
	g = pami_geometry_alloc(client, id);
	if (!g)
		return pami_result(-ENOMEM);
	pami_topology_init(&g->topology);
	for (size_t i = 0; i < configurations; i++)
		g->optimized = configuration[i].value.intval != 0;
	for (size_t i = 0; i < m->count && !rc; i++)
		rc = add_member(g, ctx, m, i);
	rc = rc ? rc : pami_topology_end(&g->topology, all ? g->client->created : 1);
	return begin_geometry(g, geometry, ctx, all || m->endpoints, fn, cookie, rc);
}

PAMI_EXPORT pami_result_t PAMI_Geometry_create_taskrange(
    pami_client_t client, size_t context_offset, pami_configuration_t configuration[],
    size_t num_configs, pami_geometry_t *geometry, pami_geometry_t parent, unsigned id,
    pami_geometry_range_t *task_slices, size_t slice_count, pami_context_t context,
    pami_event_function fn, void *cookie)
{
	struct members m = {.slices = task_slices, .count = slice_count, .offset = context_offset};

	mu_idle_reset();
	return create_of(&m, client, configuration, num_configs, geometry, parent, id, context, fn,
			 cookie);
}

PAMI_EXPORT pami_result_t PAMI_Geometry_create_tasklist(
    pami_client_t client, size_t context_offset, pami_configuration_t configuration[],
    size_t num_configs, pami_geometry_t *geometry, pami_geometry_t parent, unsigned id,
    pami_task_t *tasks, size_t task_count, pami_context_t context, pami_event_function fn,
    void *cookie)
{
	struct members m = {.tasks = tasks, .count = task_count, .offset = context_offset};

	mu_idle_reset();
	return create_of(&m, client, configuration, num_configs, geometry, parent, id, context, fn,
			 cookie);
}

PAMI_EXPORT pami_result_t PAMI_Geometry_create_endpointlist(
    pami_client_t client, pami_configuration_t configuration[], size_t num_configs,
    pami_geometry_t *geometry, unsigned id, pami_endpoint_t *endpoints, size_t endpoint_count,
    pami_context_t context, pami_event_function fn, void *cookie)
{
	struct members m = {.endpoints = endpoints, .count = endpoint_count};

	mu_idle_reset();
	return create_of(&m, client, configuration, num_configs, geometry, PAMI_GEOMETRY_NULL, id,
			 context, fn, cookie);
}

PAMI_EXPORT pami_result_t PAMI_Geometry_destroy(pami_client_t client, pami_geometry_t *geometry,
						pami_context_t context, pami_event_function fn,
						void *cookie)
{
	struct pami_geometry *g = geometry ? *geometry : NULL;
	pami_result_t result;

	mu_idle_reset();
	if (!pami_client_is_valid(client) || !pami_context_is_valid(context) ||
	    !pami_geometry_is_valid(g) || g->client != client)
		return pami_fail(PAMI_INVAL, "no client, no context, or no geometry");
	if (!g->id)
		return pami_fail(PAMI_INVAL, "the world geometry is not destroyed by programs");
	if (atomic_load_acquire(&g->state) == PAMI_GEOMETRY_MAKING)
		return pami_fail(PAMI_INVAL, "the geometry is not complete: wait for its callback");
	result = begin_agreement(g, pami_context_of(context), 1, fn, cookie);
	if (result == PAMI_SUCCESS)
		*geometry = PAMI_GEOMETRY_NULL;
	return result;
}
