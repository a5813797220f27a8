/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Glue to one MPI: compiled with its header, linked with nothing. The program brings MPI's
 * functions.
 */
#include <mpi.h>
#include <string.h>

#include "armci/mpi/beside.h"

_Static_assert(sizeof(MPI_Comm) <= sizeof(void *), "a communicator fits where armci.h keeps it");

static void *pack_comm(MPI_Comm comm)
{
	void *p = NULL;

	memcpy(&p, &comm, sizeof(comm));
	return p;
}

static MPI_Comm unpack_comm(void *p)
{
	MPI_Comm comm;

	memcpy(&comm, &p, sizeof(comm));
	return comm;
}

static bool is_finalized(void)
{
	int flag = 0;

	return MPI_Finalized(&flag) == MPI_SUCCESS && flag;
}

static bool is_initialized(void)
{
	int flag = 0;

	return MPI_Initialized(&flag) == MPI_SUCCESS && flag && !is_finalized();
}

static int init_mpi(int *argc, char ***argv, int level)
{
	int provided;

	return MPI_Init_thread(argc, argv, level, &provided) == MPI_SUCCESS ? 0 : -1;
}

static void finalize_mpi(void)
{
	MPI_Finalize();
}

static bool duplicate_world(int me, int nproc, void **comm)
{
	MPI_Comm duplicate;
	int rank, size;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank != me || size != nproc || MPI_Comm_dup(MPI_COMM_WORLD, &duplicate) != MPI_SUCCESS)
		return false;
	*comm = pack_comm(duplicate);
	return true;
}

static bool is_world(void *comm)
{
	int result = MPI_UNEQUAL;

	return MPI_Comm_compare(unpack_comm(comm), MPI_COMM_WORLD, &result) == MPI_SUCCESS &&
	       (result == MPI_IDENT || result == MPI_CONGRUENT);
}

static void *create_comm(void *all, int n, const int *rank, int tag)
{
	MPI_Group everybody, members;
	MPI_Comm comm;
	int rc;

	MPI_Comm_group(unpack_comm(all), &everybody);
	MPI_Group_incl(everybody, n, rank, &members);
	rc = MPI_Comm_create_group(unpack_comm(all), members, tag, &comm);
	MPI_Group_free(&members);
	MPI_Group_free(&everybody);
	return rc == MPI_SUCCESS ? pack_comm(comm) : NULL;
}

static void comm_free(void *comm)
{
	MPI_Comm c = unpack_comm(comm);

	MPI_Comm_free(&c);
}

extern struct armci_glue armci_glue;
__attribute__((visibility("default"))) struct armci_glue armci_glue = {
    .abi = ARMCI_GLUE_ABI,
    .running = is_initialized,
    .over = is_finalized,
    .init = init_mpi,
    .finalize = finalize_mpi,
    .world = duplicate_world,
    .is_world = is_world,
    .create = create_comm,
    .free = comm_free,
};

/* With Open MPI it is the address of an object, and so not a constant. */
__attribute__((constructor)) static void set_null(void)
{
	armci_glue.null = pack_comm(MPI_COMM_NULL);
}
