/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators as geometries. */
#include <stdlib.h>

#include "ofi/coll/coll.h"

#include "opal/runtime/opal_progress.h"

#define POLLS 16u /* of our context for each progress of all of Open MPI */

void coll_wait(const bool *done)
{
	for (unsigned i = 1; !*(volatile const bool *)done; i++) {
		if (i % POLLS)
			PAMI_Context_advance(coll_loan.context, 1);
		else
			opal_progress();
	}
}

static bool find_algorithms(struct coll_group *g)
{
	static const pami_xfer_type_t type[COLL_KINDS] = {
	    [COLL_BARRIER] = PAMI_XFER_BARRIER,
	    [COLL_BROADCAST] = PAMI_XFER_BROADCAST,
	    [COLL_REDUCE] = PAMI_XFER_REDUCE,
	    [COLL_ALLREDUCE] = PAMI_XFER_ALLREDUCE,
	};

	for (size_t i = 0; i < COLL_KINDS; i++)
		if (PAMI_Geometry_algorithms_query(g->geometry, type[i], &g->algorithm[i], NULL, 1,
						   NULL, NULL, 0) != PAMI_SUCCESS)
			return false;
	return true;
}

struct making {
	bool done;
	pami_result_t result;
};

static void on_made(pami_context_t context, void *cookie, pami_result_t result)
{
	struct making *m = cookie;

	m->result = result;
	m->done = true;
}

/* All members of the communicator are here. Its number is the same at all of them. */
static void make_geometry(struct coll_group *g, struct ompi_communicator_t *comm)
{
	pami_configuration_t optimize = {.name = PAMI_GEOMETRY_OPTIMIZE, .value = {.intval = 1}};
	size_t size = (size_t)ompi_comm_size(comm);
	struct making m = {.done = false};

	g->tasks = malloc(size * sizeof *g->tasks);
	if (!g->tasks)
		return;
	for (size_t i = 0; i < size; i++)
		g->tasks[i] = ompi_group_get_proc_name(comm->c_local_group, (int)i).vpid;
	if (PAMI_Geometry_create_tasklist(coll_loan.client, 0, &optimize, 1, &g->geometry, NULL,
					  comm->c_contextid + 1, g->tasks, size, coll_loan.context,
					  on_made, &m) != PAMI_SUCCESS) {
		g->geometry = NULL;
		return;
	}
	coll_wait(&m.done);
	if (m.result != PAMI_SUCCESS)
		g->geometry = NULL; /* A member died. The next message to it says so. */
}

const struct coll_group *coll_group_of(struct coll_module *m, struct ompi_communicator_t *comm)
{
	struct coll_group *g = m->group;

	if (!g) {
		g = calloc(1, sizeof *g);
		if (!g)
			return NULL;
		/* Copies of the world use one geometry: MPI has all members call in one order. */
		if (m->is_world)
			PAMI_Geometry_world(coll_loan.client, &g->geometry);
		else
			make_geometry(g, comm);
		if (g->geometry && !find_algorithms(g))
			g->geometry = NULL;
		m->group = g;
	}
	return g->geometry ? g : NULL;
}

static void on_ended(pami_context_t context, void *cookie, pami_result_t result)
{
	struct coll_group *g = cookie;

	free(g->tasks);
	free(g);
}

/* Members free a communicator at different times, and none waits for the others. */
void coll_group_end(struct coll_module *m)
{
	struct coll_group *g = m->group;
	int finalized = 0;

	m->group = NULL;
	if (!g)
		return;
	PMPI_Finalized(&finalized); /* The provider ends with all its geometries then. */
	if (finalized || m->is_world || !g->geometry ||
	    PAMI_Geometry_destroy(coll_loan.client, &g->geometry, coll_loan.context, on_ended, g) !=
		PAMI_SUCCESS)
		on_ended(NULL, g, PAMI_SUCCESS);
}
