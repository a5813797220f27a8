/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Glue to one MPI: compiled with its header, linked with nothing; MPI's functions are those that the
 * program brought along.
 */
#include <mpi.h>
#include <string.h>

#include "armci/beside.h"

_Static_assert(sizeof(MPI_Comm) <= sizeof(void *), "a communicator fits where armci.h keeps it");

static void *packed(MPI_Comm comm)
{
	void *p = NULL;

	memcpy(&p, &comm, sizeof(comm));
	return p;
}

static MPI_Comm unpacked(void *p)
{
	MPI_Comm comm;

	memcpy(&comm, &p, sizeof(comm));
	return comm;
}

static bool over(void)
{
	int flag = 0;

	return MPI_Finalized(&flag) == MPI_SUCCESS && flag;
}

static bool running(void)
{
	int flag = 0;

	return MPI_Initialized(&flag) == MPI_SUCCESS && flag && !over();
}

static int init(int *argc, char ***argv)
{
	return MPI_Init(argc, argv) == MPI_SUCCESS ? 0 : -1;
}

static void finalize(void)
{
	MPI_Finalize();
}

static bool world(int me, int nproc, void **comm)
{
	MPI_Comm mine;
	int rank, size;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank != me || size != nproc || MPI_Comm_dup(MPI_COMM_WORLD, &mine) != MPI_SUCCESS)
		return false;
	*comm = packed(mine);
	return true;
}

static bool is_world(void *comm)
{
	int result = MPI_UNEQUAL;

	return MPI_Comm_compare(unpacked(comm), MPI_COMM_WORLD, &result) == MPI_SUCCESS &&
	       (result == MPI_IDENT || result == MPI_CONGRUENT);
}

static void *create(void *all, int n, const int *rank, int tag)
{
	MPI_Group everybody, members;
	MPI_Comm comm;
	int rc;

	MPI_Comm_group(unpacked(all), &everybody);
	MPI_Group_incl(everybody, n, rank, &members);
	rc = MPI_Comm_create_group(unpacked(all), members, tag, &comm);
	MPI_Group_free(&members);
	MPI_Group_free(&everybody);
	return rc == MPI_SUCCESS ? packed(comm) : NULL;
}

static void comm_free(void *comm)
{
	MPI_Comm c = unpacked(comm);

	MPI_Comm_free(&c);
}

extern struct armci_glue armci_glue;
__attribute__((visibility("default"))) struct armci_glue armci_glue = {
	.abi = ARMCI_GLUE_ABI,
	.running = running,
	.over = over,
	.init = init,
	.finalize = finalize,
	.world = world,
	.is_world = is_world,
	.create = create,
	.free = comm_free,
};

/* No constant with Open MPI: the address of an object. */
__attribute__((constructor)) static void set_null(void)
{
	armci_glue.null = packed(MPI_COMM_NULL);
}
