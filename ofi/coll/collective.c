/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective calls. Those that PAMI cannot carry out go to the function that Open MPI had
 * chosen before.
 */
#include <limits.h>
#include <stdlib.h>

#include "ofi/coll/coll.h"

#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"

struct running {
	bool done;
	pami_result_t result;
};

static void on_done(pami_context_t context, void *cookie, pami_result_t result)
{
	struct running *r = cookie;

	r->result = result;
	r->done = true;
}

/* Run a collective to its end. OMPI_ERR_NOT_SUPPORTED: PAMI refused it, at all members alike. */
static int run_collective(const struct coll_group *g, enum coll_kind kind, pami_xfer_t *x)
{
	struct running r = {.done = false};

	x->cb_done = on_done;
	x->cookie = &r;
	x->algorithm = g->algorithm[kind];
	if (PAMI_Collective(coll_loan.context, x) != PAMI_SUCCESS)
		return OMPI_ERR_NOT_SUPPORTED;
	coll_wait(&r.done);
	return r.result == PAMI_SUCCESS ? OMPI_SUCCESS : OMPI_ERROR;
}

static pami_endpoint_t endpoint_of(const struct coll_group *g, int rank)
{
	pami_endpoint_t e = 0;

	PAMI_Endpoint_create(coll_loan.client, g->tasks ? g->tasks[rank] : (pami_task_t)rank, 0,
			     &e);
	return e;
}

/* ---- barrier, broadcast ---- */

int coll_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	const struct coll_group *g = coll_group_of(m, comm);
	pami_xfer_t x = {.algorithm = 0};

	return g ? run_collective(g, COLL_BARRIER, &x) : m->barrier(comm, m->barrier_of);
}

static int run_broadcast(const struct coll_group *g, char *data, size_t bytes, int root)
{
	pami_xfer_t x = {.cmd.xfer_broadcast = {endpoint_of(g, root), data, PAMI_TYPE_BYTE, bytes}};

	return run_collective(g, COLL_BROADCAST, &x);
}

/*
 * Broadcast through a copy. Only this member makes one, since the data of others may lie in one
 * piece.
 */
static int broadcast_packed(const struct coll_group *g, void *buffer, int count,
			    struct ompi_datatype_t *type, size_t bytes, int root, bool is_root)
{
	char *copy = malloc(bytes);
	int rc = OMPI_SUCCESS;

	if (!copy)
		return OMPI_ERR_OUT_OF_RESOURCE;
	if (is_root)
		rc = ompi_datatype_sndrcv(buffer, count, type, copy, (int)bytes, MPI_PACKED);
	if (rc == OMPI_SUCCESS)
		rc = run_broadcast(g, copy, bytes, root);
	if (rc == OMPI_SUCCESS && !is_root)
		rc = ompi_datatype_sndrcv(copy, (int)bytes, MPI_PACKED, buffer, count, type);
	free(copy);
	return rc;
}

int coll_bcast(void *buffer, int count, struct ompi_datatype_t *type, int root,
	       struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	const struct coll_group *g;
	ptrdiff_t low, extent;
	size_t bytes;

	ompi_datatype_type_size(type, &bytes);
	bytes *= (size_t)count;
	if (!bytes)
		return OMPI_SUCCESS;
	g = bytes > INT_MAX ? NULL : coll_group_of(m, comm);
	if (!g)
		return m->bcast(buffer, count, type, root, comm, m->bcast_of);
	if (!ompi_datatype_is_contiguous_memory_layout(type, count))
		return broadcast_packed(g, buffer, count, type, bytes, root,
					root == ompi_comm_rank(comm));
	ompi_datatype_get_true_extent(type, &low, &extent);
	return run_broadcast(g, (char *)buffer + low, bytes, root);
}

/* ---- reductions ---- */

static bool find_type(struct ompi_datatype_t *type, pami_type_t *found)
{
	const struct {
		MPI_Datatype mpi;
		size_t bytes;
		pami_type_t pami;
	} known[] = {
	    {MPI_DOUBLE, 8, PAMI_TYPE_DOUBLE},
	    {MPI_INT, 4, PAMI_TYPE_SIGNED_INT},
	    {MPI_LONG, 8, PAMI_TYPE_SIGNED_LONG},
	    {MPI_FLOAT, 4, PAMI_TYPE_FLOAT},
	    {MPI_UNSIGNED, 4, PAMI_TYPE_UNSIGNED_INT},
	    {MPI_UNSIGNED_LONG, 8, PAMI_TYPE_UNSIGNED_LONG},
	    {MPI_LONG_LONG, 8, PAMI_TYPE_SIGNED_LONG_LONG},
	    {MPI_UNSIGNED_LONG_LONG, 8, PAMI_TYPE_UNSIGNED_LONG_LONG},
	    {MPI_INT32_T, 4, PAMI_TYPE_SIGNED_INT},
	    {MPI_UINT32_T, 4, PAMI_TYPE_UNSIGNED_INT},
	    {MPI_INT64_T, 8, PAMI_TYPE_SIGNED_LONG},
	    {MPI_UINT64_T, 8, PAMI_TYPE_UNSIGNED_LONG},
	    {MPI_DOUBLE_PRECISION, 8, PAMI_TYPE_DOUBLE},
	    {MPI_INTEGER, 4, PAMI_TYPE_SIGNED_INT},
	    {MPI_REAL, 4, PAMI_TYPE_FLOAT},
	    {MPI_SHORT, 2, PAMI_TYPE_SIGNED_SHORT},
	    {MPI_UNSIGNED_SHORT, 2, PAMI_TYPE_UNSIGNED_SHORT},
	    {MPI_SIGNED_CHAR, 1, PAMI_TYPE_SIGNED_CHAR},
	    {MPI_UNSIGNED_CHAR, 1, PAMI_TYPE_UNSIGNED_CHAR},
	};
	size_t bytes;

	ompi_datatype_type_size(type, &bytes);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (type != known[i].mpi || bytes != known[i].bytes)
			continue;
		*found = known[i].pami;
		return true;
	}
	return false;
}

static bool find_function(struct ompi_op_t *op, pami_data_function *found)
{
	const struct {
		MPI_Op mpi;
		pami_data_function pami;
	} known[] = {
	    {MPI_SUM, PAMI_DATA_SUM},   {MPI_MAX, PAMI_DATA_MAX},   {MPI_MIN, PAMI_DATA_MIN},
	    {MPI_PROD, PAMI_DATA_PROD}, {MPI_LAND, PAMI_DATA_LAND}, {MPI_LOR, PAMI_DATA_LOR},
	    {MPI_LXOR, PAMI_DATA_LXOR}, {MPI_BAND, PAMI_DATA_BAND}, {MPI_BOR, PAMI_DATA_BOR},
	    {MPI_BXOR, PAMI_DATA_BXOR},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (op != known[i].mpi)
			continue;
		*found = known[i].pami;
		return true;
	}
	return false;
}

static char *given_buffer(const void *in)
{
	return in == MPI_IN_PLACE ? PAMI_IN_PLACE : (char *)(uintptr_t)in;
}

int coll_reduce(const void *in, void *out, int count, struct ompi_datatype_t *type,
		struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	const struct coll_group *g;
	int rc = OMPI_ERR_NOT_SUPPORTED;
	pami_data_function f;
	pami_type_t t;

	if (!count)
		return OMPI_SUCCESS;
	if (find_type(type, &t) && find_function(op, &f) && (g = coll_group_of(m, comm))) {
		pami_xfer_t x = {.cmd.xfer_reduce = {endpoint_of(g, root), given_buffer(in), t,
						     (size_t)count, out, t, (size_t)count, f, NULL,
						     1}};

		rc = run_collective(g, COLL_REDUCE, &x);
	}
	return rc != OMPI_ERR_NOT_SUPPORTED
		   ? rc
		   : m->reduce(in, out, count, type, op, root, comm, m->reduce_of);
}

int coll_allreduce(const void *in, void *out, int count, struct ompi_datatype_t *type,
		   struct ompi_op_t *op, struct ompi_communicator_t *comm,
		   mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	const struct coll_group *g;
	int rc = OMPI_ERR_NOT_SUPPORTED;
	pami_data_function f;
	pami_type_t t;

	if (!count)
		return OMPI_SUCCESS;
	if (find_type(type, &t) && find_function(op, &f) && (g = coll_group_of(m, comm))) {
		pami_xfer_t x = {.cmd.xfer_allreduce = {given_buffer(in), t, (size_t)count, out, t,
							(size_t)count, f, NULL, 1}};

		rc = run_collective(g, COLL_ALLREDUCE, &x);
	}
	return rc != OMPI_ERR_NOT_SUPPORTED
		   ? rc
		   : m->allreduce(in, out, count, type, op, comm, m->allreduce_of);
}
