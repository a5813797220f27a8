/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extensions of ARMCI: splitting groups, sets of mutexes on groups, compare-and-swap, counters, and
 * deaths. proc is a world rank everywhere.
 */
#ifndef ARMCIX_H
#define ARMCIX_H

#include "armci.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Collective over the parent. Members of equal colour become one group, ordered by key, then by
 * rank. A caller with a negative colour (MPI_UNDEFINED) becomes a member of none. 0, or FAIL6: a
 * member of the parent died; *out is then as ARMCI_Group_create leaves it. If a member dies during
 * the call, or the parent was made while one died (so that only some processes have it), other
 * processes may wait for ever. After a death, make groups from the world with ARMCI_Group_create.
 */
int ARMCIX_Group_split(ARMCI_Group *parent, int color, int key, ARMCI_Group *out);
/* A group of the same members in the same order, with a communicator of its own. Collective over
 * the parent. 0 or FAIL6. */
int ARMCIX_Group_dup(ARMCI_Group *parent, ARMCI_Group *out);

/* A set of mutexes; there may be any number of sets. */
typedef struct armcix_mutex_hdl_s *armcix_mutex_hdl_t;
/*
 * Collective over the group. count (0 or more) mutexes are hosted here. NULL on failure, at every
 * member; if a member died, perhaps not at every one.
 */
armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *g);
/*
 * Collective over the group that made them. 0, FAIL for NULL, or FAIL6: a member died, and
 * ARMCI_Finalize releases them.
 */
int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t h);
/* As ARMCI_Lock, for a mutex of a set. proc is a world rank, a member of the set's group. */
void ARMCIX_Lock_hdl(armcix_mutex_hdl_t h, int mutex, int proc);
/*
 * 0: the caller holds the lock. Non-zero: another process holds it, or (FAIL6) proc died. Does not
 * wait for the lock.
 */
int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t h, int mutex, int proc);
/* As ARMCI_Unlock, for a mutex of a set. */
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t h, int mutex, int proc);

/*
 * Non-zero: proc died (torus run --on-death error) or left before the others, and every operation
 * with it fails. Calls that return nothing (lock, fence, barrier) report that on stderr only; with
 * this call the program can ask. 0 also if there is no such process.
 */
int ARMCIX_Is_dead(int proc);

/* Run the progress engine once, for this process's operations and for requests of others. */
void ARMCIX_Progress(void);

/*
 * Compute for that long without a call: in real time the processor is busy, in virtual time the
 * clock advances. Requests of others are answered meanwhile if progress is asynchronous
 * (ARMCI_PROGRESS_THREAD).
 */
void ARMCIX_Compute(double seconds);
/* Non-zero if the job runs in virtual time. */
int ARMCIX_Clock_is_virtual(void);

/*
 * Store *desired at prem if prem holds *ploc; *ploc receives what prem held. op is ARMCI_SWAP (all
 * three are int) or ARMCI_SWAP_LONG (long). Atomic against ARMCI_Rmw. Errors as ARMCI_Rmw.
 */
int ARMCIX_Compare_and_swap(int op, void *ploc, void *desired, void *prem, int proc);

/*
 * The value of a counter of this process since ARMCI_Init, by name (armci/core/counter.def); -1:
 * there is no such counter.
 */
long ARMCIX_Counter(const char *name);
/* The names of the counters, in order from 0; NULL past the last. */
const char *ARMCIX_Counter_name(int i);

#ifdef __cplusplus
}
#endif

#endif
