/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mca_coll_quintorus.so, a component of Open MPI: barrier, broadcast, reduce and allreduce of a
 * communicator by the collectives of PAMI, that is by class routes and global interrupts where the
 * network has them.
 *
 * A communicator's geometry is made when the first of these calls needs it, which all members make.
 * Calls that PAMI cannot carry out (operations of the user, types of several parts in a reduction)
 * go to the component that Open MPI would have chosen without this one. All members decide alike,
 * by values that are the same at all of them: bytes, operation, type of the elements.
 *
 * Collectives are for one thread at a time: with MPI_THREAD_MULTIPLE the component offers none. It
 * then has messages alone (direct.h), and in virtual time replaces the blocking send of Open MPI
 * (component.c).
 */
#ifndef OFI_COLL_COLL_H
#define OFI_COLL_COLL_H

#include <stdbool.h>

#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/coll.h"

#include "ofi/endpoint/lend.h"

enum coll_kind { COLL_BARRIER, COLL_BROADCAST, COLL_REDUCE, COLL_ALLREDUCE, COLL_KINDS };

/* The members of a communicator for PAMI. */
struct coll_group {
	pami_geometry_t geometry; /* NULL: PAMI could make none */
	pami_algorithm_t algorithm[COLL_KINDS];
	pami_task_t *tasks; /* by rank; NULL: rank and task are the same number */
};

/* The state of this component for one communicator. */
struct coll_module {
	mca_coll_base_module_t super;
	bool is_world;            /* its ranks are the tasks of the job */
	struct coll_group *group; /* NULL: not needed yet */
	/* The functions that Open MPI had chosen before. */
	mca_coll_base_module_barrier_fn_t barrier;
	mca_coll_base_module_bcast_fn_t bcast;
	mca_coll_base_module_reduce_fn_t reduce;
	mca_coll_base_module_allreduce_fn_t allreduce;
	mca_coll_base_module_t *barrier_of, *bcast_of, *reduce_of, *allreduce_of;
};
OBJ_CLASS_DECLARATION(coll_module);

extern struct quintorus_fi_loan coll_loan;

/* Return the communicator's group, made now if there is none; NULL: PAMI could make none. */
const struct coll_group *coll_group_of(struct coll_module *m, struct ompi_communicator_t *comm);
/* Release the group of a communicator that ends. */
void coll_group_end(struct coll_module *m);
/* Make progress until *done is set. */
void coll_wait(const bool *done);

int coll_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_bcast(void *buffer, int count, struct ompi_datatype_t *type, int root,
	       struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_reduce(const void *in, void *out, int count, struct ompi_datatype_t *type,
		struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		mca_coll_base_module_t *module);
int coll_allreduce(const void *in, void *out, int count, struct ompi_datatype_t *type,
		   struct ompi_op_t *op, struct ompi_communicator_t *comm,
		   mca_coll_base_module_t *module);

#endif
