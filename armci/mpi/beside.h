/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI in the same process. libarmci links no MPI: a glue module for the MPI found in the process
 * (mpi/beside_mpi.c, built once for each family) does what needs MPI's own header. This interface
 * passes a communicator as 8 bytes, whatever its type.
 */
#ifndef ARMCI_BESIDE_H
#define ARMCI_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

#define ARMCI_GLUE_ABI 2u

struct armci_glue {
	uint32_t abi;
	bool (*running)(void); /* between MPI_Init and MPI_Finalize */
	bool (*over)(void);    /* MPI_Finalize was called */
	/* level: an MPI_THREAD_ constant. 0: MPI is initialised. */
	int (*init)(int *argc, char ***argv, int level);
	void (*finalize)(void);
	void *null; /* MPI_COMM_NULL */
	/*
	 * Duplicate MPI_COMM_WORLD; collective. Returns false if its tasks are not the nproc
	 * processes of ARMCI.
	 */
	bool (*world)(int me, int nproc, void **comm);
	/* Does comm have all tasks in the order of MPI_COMM_WORLD? */
	bool (*is_world)(void *comm);
	/*
	 * Communicator of the members of `world` with these ranks, in that order; collective over
	 * them. NULL: MPI failed.
	 */
	void *(*create)(void *world, int n, const int *rank, int tag);
	void (*free)(void *comm);
};

/*
 * Find MPI, and initialise it if the program has not, unless torus run started the process. Before
 * the PAMI client is made.
 */
void armci_mpi_find(void);
/* Make the communicator of all processes; collective. */
void armci_mpi_open(void);
void armci_mpi_close(void);
/* Make the communicator of a new group; collective over its members. */
void *armci_mpi_comm(const int *world, int n, unsigned id);
void armci_mpi_comm_free(void *comm);
/* What the handle of a group without communicator holds. */
void *armci_mpi_null(void);

#endif
