/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of geometries, the world geometry, attributes. */
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "pami/coll/coll.h"
#include "pami/coll/hw/hw.h"
#include "pami/coll/shm/shm.h"
#include "pami/core/client.h"
#include "pami/core/context.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/handle.h"
#include "pami/core/macros.h"
#include "pami/core/query.h"
#include "pami/geometry/geometry.h"
#include "pami/p2p/request.h"

/* ---- The table ---- */

static uint32_t chunk_of(uint32_t place, uint32_t *at)
{
	uint32_t chunk = 0, size = PAMI_GEOMETRY_CHUNK;

	while (place >= size) {
		place -= size;
		size *= 2;
		chunk++;
	}
	*at = place;
	return chunk;
}

/* Take a free place. Returns 0, -ENOSPC or -ENOMEM. */
static int take_place(struct pami_geometry_table *t, uint32_t *place)
{
	pami_geometry_entry *entries;
	uint32_t at, chunk;

	if (t->frees) {
		*place = t->free[--t->frees];
		return 0;
	}
	chunk = chunk_of(t->used, &at);
	if (chunk >= PAMI_GEOMETRY_CHUNKS)
		return -ENOSPC;
	if (!at) {
		size_t n = (size_t)PAMI_GEOMETRY_CHUNK << chunk;
		uint32_t *more = realloc(t->free, (t->room + n) * sizeof *more);

		if (!more)
			return -ENOMEM;
		t->free = more;
		t->room += (uint32_t)n;
		entries = calloc(n, sizeof *entries);
		t->generation[chunk] = calloc(n, sizeof *t->generation[chunk]);
		if (!entries || !t->generation[chunk]) {
			free(entries);
			free(t->generation[chunk]);
			t->generation[chunk] = NULL;
			return -ENOMEM;
		}
		atomic_ptr_store_release(&t->chunk[chunk], entries);
	}
	*place = t->used++;
	return 0;
}

static pami_geometry_entry *entry_of(struct pami_geometry_table *t, uint32_t place)
{
	uint32_t at, chunk = chunk_of(place, &at);

	return &atomic_ptr_load_relaxed(&t->chunk[chunk])[at];
}

struct pami_geometry *pami_geometry_alloc(struct pami_client *client, uint32_t id)
{
	struct pami_geometry_table *t = client->geometries;
	struct pami_geometry *g = pami_handle_new(PAMI_HANDLE_GEOMETRY, sizeof *g);
	uint32_t place, at, chunk;

	pthread_mutex_lock(&t->lock);
	if (!g || take_place(t, &place)) {
		pthread_mutex_unlock(&t->lock);
		pami_handle_free(PAMI_HANDLE_GEOMETRY, sizeof *g, g);
		return NULL;
	}
	chunk = chunk_of(place, &at);
	t->generation[chunk][at] = (uint16_t)(t->generation[chunk][at] % 4095 + 1);
	g->magic = PAMI_GEOMETRY_MAGIC;
	g->id = id;
	g->place = place;
	g->generation = t->generation[chunk][at];
	g->client = client;
	atomic_ptr_store_release(entry_of(t, place), g);
	pthread_mutex_unlock(&t->lock);
	return g;
}

void pami_geometry_found(struct pami_geometry *g, uint64_t key, unsigned state)
{
	pthread_mutex_t *lock = &g->client->geometries->lock;

	pthread_mutex_lock(lock);
	g->key = key;
	atomic_store_release(&g->state, (uint8_t)state);
	pthread_mutex_unlock(lock);
}

void pami_geometry_free(struct pami_geometry *g, struct pami_context *ctx)
{
	struct pami_geometry_table *t = g->client->geometries;

	pthread_mutex_lock(&t->lock);
	atomic_ptr_store_release(entry_of(t, g->place), NULL);
	atomic_fetch_add_release(&t->ended, 1);
	t->free[t->frees++] = g->place;
	pthread_mutex_unlock(&t->lock);
	for (uint32_t i = 0; g->member && i < g->offsets; i++) {
		pami_shm_free(g->member[i].shm, !g->id);
		/* Lines for a geometry with a dead member may still arrive. */
		pami_remote_lines_free(g->member[i].remote_lines,
				       !g->id || pami_geometry_is_dead(g));
		pami_am_free(&g->member[i]);
	}
	pami_hw_free(g, ctx);
	if (ctx)
		pami_coll_forget(ctx, g->key);
	pami_topology_fini(&g->topology);
	if (g->homes)
		pami_topology_fini(g->homes);
	free(g->homes);
	pami_teams_free(g);
	free(g->member);
	g->magic = 0;
	pami_handle_free(PAMI_HANDLE_GEOMETRY, sizeof *g, g);
}

struct pami_geometry *pami_geometry_of(struct pami_client *client, pami_algorithm_t a)
{
	uint32_t place = a >> 28 & 0xfffff, at, chunk;
	pami_geometry_entry *entries;
	struct pami_geometry *g;

	if (PAMI_UNLIKELY(a >> 48 != client->slot + 1))
		return NULL;
	chunk = chunk_of(place, &at);
	if (PAMI_UNLIKELY(chunk >= PAMI_GEOMETRY_CHUNKS))
		return NULL;
	entries = atomic_ptr_load_acquire(&client->geometries->chunk[chunk]);
	g = entries ? atomic_ptr_load_acquire(&entries[at]) : NULL;
	return g && g->generation == (a >> 16 & 0xfff) &&
		       atomic_load_acquire(&g->state) == PAMI_GEOMETRY_READY
		   ? g
		   : NULL;
}

struct pami_geometry *pami_geometry_by_key(struct pami_client *client, uint64_t key)
{
	struct pami_geometry_table *t = client->geometries;
	struct pami_geometry *found = NULL;

	pthread_mutex_lock(&t->lock);
	for (uint32_t place = 0; place < t->used && !found; place++) {
		struct pami_geometry *g = atomic_ptr_load_relaxed(entry_of(t, place));

		if (g && atomic_load_acquire(&g->state) != PAMI_GEOMETRY_MAKING && g->key == key)
			found = g;
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}

pami_algorithm_t pami_geometry_number(const struct pami_geometry *g, unsigned type, unsigned index)
{
	return (pami_algorithm_t)(g->client->slot + 1) << 48 | (pami_algorithm_t)g->place << 28 |
	       (pami_algorithm_t)g->generation << 16 | (pami_algorithm_t)type << 8 | index;
}

/* ---- Members ---- */

int pami_geometry_settle(struct pami_geometry *g)
{
	g->size = g->topology.size;
	g->offsets = g->client->contexts;
	g->member = calloc(g->offsets, sizeof *g->member);
	if (!g->member)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->offsets; i++)
		g->member[i].rank = pami_geometry_rank(g, pami_endpoint(g->client->job->task, i));
	return pami_teams_find(g);
}

/* ---- The world ---- */

int pami_geometry_world_create(struct pami_client *client)
{
	struct pami_geometry *g;
	int rc;

	client->geometries = calloc(1, sizeof *client->geometries);
	if (!client->geometries)
		return -ENOMEM;
	atomic_store_relaxed(&client->geometries->next_number, 1);
	client->geometries->notes_last = &client->geometries->notes;
	pthread_mutex_init(&client->geometries->lock, NULL);
	g = pami_geometry_alloc(client, 0);
	if (!g)
		return -ENOMEM;
	pami_topology_init(&g->topology);
	rc = pami_topology_add(&g->topology, 0, client->job->tasks, 64);
	rc = rc ? rc : pami_topology_end(&g->topology, 1);
	rc = rc ? rc : pami_geometry_settle(g);
	if (!rc)
		g->hw = pami_hw_world(g);
	g->optimized = g->hw != NULL;
	pami_geometry_found(g, 0, PAMI_GEOMETRY_READY);
	client->world = g;
	return rc;
}

void pami_geometry_world_destroy(struct pami_client *client)
{
	struct pami_geometry_table *t = client->geometries;

	for (uint32_t place = 0; t && place < t->used; place++) {
		struct pami_geometry *g = atomic_ptr_load_relaxed(entry_of(t, place));

		if (g)
			pami_geometry_free(g, NULL);
	}
	for (uint32_t i = 0; t && i < PAMI_GEOMETRY_CHUNKS; i++) {
		free(atomic_ptr_load_relaxed(&t->chunk[i]));
		free(t->generation[i]);
	}
	if (t) {
		pami_geometry_forget_notes(t, NULL);
		free(t->free);
		pthread_mutex_destroy(&t->lock);
	}
	free(t);
	client->geometries = NULL;
	client->world = NULL;
}

PAMI_EXPORT pami_result_t PAMI_Geometry_world(pami_client_t client, pami_geometry_t *world_geometry)
{
	if (!pami_client_is_valid(client) || !world_geometry)
		return pami_fail(PAMI_INVAL, "no client, or no place for the geometry");
	*world_geometry = ((struct pami_client *)client)->world;
	return PAMI_SUCCESS;
}

/* ---- Attributes ---- */

PAMI_EXPORT pami_result_t PAMI_Geometry_query(pami_geometry_t geometry,
					      pami_configuration_t configuration[],
					      size_t num_configs)
{
	struct pami_geometry *g = geometry;

	if (!pami_geometry_is_valid(geometry) || (num_configs && !configuration))
		return pami_fail(PAMI_INVAL, "no geometry, or no attributes");
	for (size_t i = 0; i < num_configs; i++) {
		if (configuration[i].name != PAMI_GEOMETRY_OPTIMIZE)
			return pami_fail_unknown_attribute(__func__);
		configuration[i].value.intval = g->optimized;
	}
	return PAMI_SUCCESS;
}

/* All members call it: they get or give back the class route together. `fn` tells when. */
PAMI_EXPORT pami_result_t PAMI_Geometry_update(pami_geometry_t geometry,
					       pami_configuration_t configuration[],
					       size_t num_configs, pami_context_t context,
					       pami_event_function fn, void *cookie)
{
	struct pami_geometry *g = geometry;
	struct pami_context *ctx = pami_context_of(context);
	int on = 0;

	if (!pami_geometry_is_valid(geometry) || !pami_context_is_valid(context) ||
	    (num_configs && !configuration))
		return pami_fail(PAMI_INVAL, "no geometry, no context, or no attributes");
	if (atomic_load_acquire(&g->state) != PAMI_GEOMETRY_READY)
		return pami_fail(PAMI_INVAL, "the geometry is not complete, or could not be made");
	for (size_t i = 0; i < num_configs; i++)
		if (configuration[i].name != PAMI_GEOMETRY_OPTIMIZE)
			return pami_fail_unknown_attribute(__func__);
	for (size_t i = 0; i < num_configs; i++)
		on = configuration[i].value.intval != 0;
	/* The world has its class route from the start, and keeps it. */
	if (!num_configs || !g->id || g->homes || ctx->offset >= g->offsets ||
	    g->member[ctx->offset].rank < 0)
		return pami_event_defer(ctx, fn, NULL, cookie, 0);
	return pami_result(pami_hw_update(g, ctx, on, fn, cookie));
}
