/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of MPI that need no more than the provider's message functions do not pass through
 * Open MPI's pml cm, its mtl ofi and libfabric's completion queue:
 *
 *   MPI_Send, MPI_Isend    up to the length of one packet, standard or ready   sent in the call
 *   MPI_Recv, MPI_Irecv    any length, any wildcards                           a request of ours
 *
 * Both only for data in one piece, on real clocks, for tasks of this job and for one thread at a
 * time. All other calls (synchronous and buffered sends, probes, persistent requests, other types)
 * go to pml cm as before. The two can be mixed, because the provider matches all messages alike and
 * the tags are those of mtl ofi:
 *
 *   | communicator, 18 bits or more | acknowledges | synchronous | tag of MPI, 32 bits |
 *                                34       33             32
 *
 * with the rank of the sender as completion data.
 */
#ifndef OFI_COLL_DIRECT_H
#define OFI_COLL_DIRECT_H

/* Put the functions in front of those that Open MPI has chosen, if these are pml cm's. */
void direct_install(void);

#endif
