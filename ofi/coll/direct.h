/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of MPI that need no more than the provider's message functions do not pass through
 * Open MPI's pml cm, its mtl ofi and libfabric's completion queue:
 *
 *   MPI_Send, MPI_Isend    up to the length of one packet, standard or ready   sent in the call
 *   MPI_Recv, MPI_Irecv    any length, any wildcards                           a request of ours
 *
 * Both only for data in one piece, on real clocks and for tasks of this job. All other calls
 * (synchronous and buffered sends, probes, persistent requests, other types) go to pml cm as
 * before. The two can be mixed, because the provider matches all messages alike and the tags are
 * those of mtl ofi:
 *
 *   | communicator, 18 bits or more | acknowledges | synchronous | tag of MPI, 32 bits |
 *                                34       33             32
 *
 * with the rank of the sender as completion data.
 *
 * Several threads (MPI_THREAD_MULTIPLE): the lock of the provider's context guards these calls and
 * the provider's own alike. A receive then is complete in two steps: the thread that polls, which
 * has the lock, puts the request in a list, and Open MPI's progress completes it without the lock,
 * since its callback may send or receive. A blocking receive has no callback and needs one step.
 */
#ifndef OFI_COLL_DIRECT_H
#define OFI_COLL_DIRECT_H

#define TAG_BITS         34
#define TAG_ACKNOWLEDGES (2ull << 32)
#define TAG_SYNCHRONOUS  (1ull << 32)

/* Put the functions in front of those that Open MPI has chosen, if these are pml cm's. */
void direct_install(void);

#endif
