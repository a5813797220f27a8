/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI beside us. libarmci links none: a glue module for the MPI found in the process (beside_mpi.c, built once
 * for each) does what needs MPI's own header. A communicator is 8 bytes here, whatever it is there.
 */
#ifndef ARMCI_BESIDE_H
#define ARMCI_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

#define ARMCI_GLUE_ABI 1u

struct armci_glue {
	uint32_t abi;
	bool (*running)(void);            /* between MPI_Init and MPI_Finalize */
	bool (*over)(void);               /* MPI_Finalize was called */
	int (*init)(int *argc, char ***argv); /* 0: done */
	void (*finalize)(void);
	void *null;                       /* MPI_COMM_NULL */
	/* A communicator of ours with the tasks of MPI_COMM_WORLD; collective. False: it is not our world. */
	bool (*world)(int me, int nproc, void **comm);
	/* Is comm one of all tasks in the order of MPI_COMM_WORLD? */
	bool (*is_world)(void *comm);
	/* The members of `world` at `rank`, in that order; collective over them. NULL: could not. */
	void *(*create)(void *world, int n, const int *rank, int tag);
	void (*free)(void *comm);
};

/* Find MPI and, where mpirun or nobody started us, initialise it if the program did not. Before the client. */
void armci_mpi_find(void);
/* Communicator of all processes; collective. */
void armci_mpi_open(void);
void armci_mpi_close(void);
/* For a new group; collective over its members. */
void *armci_mpi_comm(const int *world, int n, unsigned id);
void armci_mpi_comm_free(void *comm);
/* What a handle of a group without communicator holds. */
void *armci_mpi_null(void);

#endif
