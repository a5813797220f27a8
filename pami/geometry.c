/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Geometries and their algorithm lists. An algorithm number is, from the top,
 * client slot + 1 << 40 | geometry key << 16 | transfer type << 8 | list << 7 | index.
 */
#include <stdlib.h>
#include <string.h>

#include "pami/coll.h"
#include "pami/query.h"

static const struct pami_algorithm_info *const always_works[] = { &pami_coll_barrier, &pami_coll_broadcast,
	                                                          &pami_coll_allreduce };

int pami_geometry_world_create(struct pami_client *client)
{
	struct pami_geometry *g = calloc(1, sizeof *g);

	if (!g)
		return -ENOMEM;
	g->client = client;
	g->size = client->job->tasks;
	g->member = calloc(client->contexts, sizeof *g->member);
	if (!g->member) {
		free(g);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < client->contexts; i++)
		g->member[i].rank = -1;
	g->member[0].rank = (int32_t)client->job->task;
	client->world = g;
	return 0;
}

void pami_geometry_world_destroy(struct pami_client *client)
{
	free(client->world->member);
	free(client->world);
	client->world = NULL;
}

pami_endpoint_t pami_geometry_endpoint(const struct pami_geometry *g, uint32_t rank)
{
	return g->endpoint ? g->endpoint[rank] : pami_endpoint(rank, 0);
}

int32_t pami_geometry_rank(const struct pami_geometry *g, pami_endpoint_t e)
{
	if (!g->endpoint)
		return !pami_endpoint_offset(e) && pami_endpoint_task(e) < g->size ?
			       (int32_t)pami_endpoint_task(e) :
			       -1;
	for (uint32_t i = 0; i < g->size; i++)
		if (g->endpoint[i] == e)
			return (int32_t)i;
	return -1;
}

static const struct pami_algorithm_info *find(unsigned type)
{
	for (size_t i = 0; i < sizeof always_works / sizeof *always_works; i++)
		if (always_works[i]->type == type)
			return always_works[i];
	return NULL;
}

const struct pami_algorithm_info *pami_geometry_algorithm(struct pami_client *client, pami_algorithm_t a,
                                                          struct pami_geometry **geometry)
{
	if (a >> 40 != client->slot + 1 || (a & 0xff) || (a >> 16 & 0xffffff) != client->world->key)
		return NULL;
	*geometry = client->world;
	return find(a >> 8 & 0xff);
}

PAMI_EXPORT pami_result_t PAMI_Geometry_world(pami_client_t client, pami_geometry_t *world_geometry)
{
	if (!pami_client_valid(client) || !world_geometry)
		return pami_fail(PAMI_INVAL, "no client, or no place for the geometry");
	*world_geometry = ((struct pami_client *)client)->world;
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Geometry_algorithms_num(pami_geometry_t geometry, pami_xfer_type_t coll_type,
                                                       size_t *lists_lengths)
{
	if (!geometry || !lists_lengths || (unsigned)coll_type >= PAMI_XFER_COUNT)
		return pami_fail(PAMI_INVAL, "no geometry, or no such collective");
	lists_lengths[0] = find(coll_type) != NULL;
	lists_lengths[1] = 0;
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Geometry_algorithms_query(pami_geometry_t geometry, pami_xfer_type_t colltype,
                                                         pami_algorithm_t *algs0, pami_metadata_t *mdata0,
                                                         size_t num0, pami_algorithm_t *algs1,
                                                         pami_metadata_t *mdata1, size_t num1)
{
	struct pami_geometry *g = geometry;
	const struct pami_algorithm_info *info;

	if (!g || (unsigned)colltype >= PAMI_XFER_COUNT)
		return pami_fail(PAMI_INVAL, "no geometry, or no such collective");
	info = find(colltype);
	if (!info || !num0)
		return PAMI_SUCCESS;
	if (algs0)
		algs0[0] = (pami_algorithm_t)(g->client->slot + 1) << 40 | (pami_algorithm_t)g->key << 16 |
			   (pami_algorithm_t)colltype << 8;
	if (mdata0) {
		memset(mdata0, 0, sizeof *mdata0);
		mdata0->name = (char *)(uintptr_t)info->name;
		mdata0->version = 1;
		mdata0->range_hi = mdata0->range_hi_perf = SIZE_MAX;
		mdata0->check_correct.values.alldtop = 1;
		mdata0->check_correct.values.inplace = 1;
	}
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Geometry_query(pami_geometry_t geometry, pami_configuration_t configuration[],
                                              size_t num_configs)
{
	if (!geometry)
		return pami_fail(PAMI_INVAL, "no geometry");
	for (size_t i = 0; i < num_configs; i++) {
		if (configuration[i].name != PAMI_GEOMETRY_OPTIMIZE)
			return pami_query_unknown();
		configuration[i].value.intval = 0; /* there are no hardware algorithms */
	}
	return PAMI_SUCCESS;
}

/* Asking for hardware algorithms is accepted; the lists stay as they are. */
PAMI_EXPORT pami_result_t PAMI_Geometry_update(pami_geometry_t geometry,
                                               pami_configuration_t configuration[], size_t num_configs,
                                               pami_context_t context, pami_event_function fn, void *cookie)
{
	if (!geometry || !pami_context_valid(context))
		return pami_fail(PAMI_INVAL, "no geometry, or no context");
	for (size_t i = 0; i < num_configs; i++)
		if (configuration[i].name != PAMI_GEOMETRY_OPTIMIZE)
			return pami_query_unknown();
	return pami_event_defer(pami_context_of(context), fn, NULL, cookie);
}
