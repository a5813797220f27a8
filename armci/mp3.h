/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short names over MPI that ARMCI's contributed programs use. Where the compiler finds no mpi.h,
 * they stand for ARMCI's own message layer, so that such programs run under `torus run` alone.
 */
#ifndef ARMCI_MP3_H
#define ARMCI_MP3_H

#if defined(__has_include) && !defined(ARMCI_NO_MPI_H)
#if __has_include(<mpi.h>)
#define ARMCI_MP3_MPI 1
#endif
#endif

#ifdef ARMCI_MP3_MPI
#include <mpi.h>
#define MP_INIT(argc, argv) MPI_Init(&(argc), &(argv))
#define MP_FINALIZE()       MPI_Finalize()
#define MP_BARRIER()        MPI_Barrier(MPI_COMM_WORLD)
#define MP_PROCS(p)         MPI_Comm_size(MPI_COMM_WORLD, (p))
#define MP_MYID(p)          MPI_Comm_rank(MPI_COMM_WORLD, (p))
#define MP_TIMER()          MPI_Wtime()
#else
#include "message.h"
#define MP_INIT(argc, argv) armci_msg_init(&(argc), &(argv))
#define MP_FINALIZE()       armci_msg_finalize()
#define MP_BARRIER()        armci_msg_barrier()
#define MP_PROCS(p)         ((void)(*(p) = armci_msg_nproc()))
#define MP_MYID(p)          ((void)(*(p) = armci_msg_me()))
#define MP_TIMER()          armci_timer()
#endif

#define ARMCI_INIT(argc, argv) ARMCI_Init()
#define GA_INIT(argc, argv)    GA_Initialize()

#endif
