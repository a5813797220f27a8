/* SPDX-License-Identifier: BSD-3-Clause */
/* Short names over MPI that ARMCI's contributed programs use. */
#ifndef ARMCI_MP3_H
#define ARMCI_MP3_H

#include <mpi.h>

#define MP_INIT(argc, argv)    MPI_Init(&(argc), &(argv))
#define MP_FINALIZE()          MPI_Finalize()
#define MP_BARRIER()           MPI_Barrier(MPI_COMM_WORLD)
#define MP_PROCS(p)            MPI_Comm_size(MPI_COMM_WORLD, (p))
#define MP_MYID(p)             MPI_Comm_rank(MPI_COMM_WORLD, (p))
#define MP_TIMER()             MPI_Wtime()
#define ARMCI_INIT(argc, argv) ARMCI_Init()
#define GA_INIT(argc, argv)    GA_Initialize()

#endif
