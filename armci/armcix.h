/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extensions of ARMCI: splitting groups, sets of mutexes on groups, compare-and-swap, counters, deaths.
 * proc is a world rank everywhere.
 */
#ifndef ARMCIX_H
#define ARMCIX_H

#include "armci.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Collective over the parent. Members of equal colour become one group, ordered by key, then by rank;
 * with a negative colour (MPI_UNDEFINED) the caller is a member of none. 0, or FAIL6: a member of the parent died; then
 * *out is as ARMCI_Group_create leaves it. If one dies during the call, or the parent was itself made while one died (so
 * that only some have it), others may wait for ever: after a death make groups from the world, by ARMCI_Group_create.
 */
int ARMCIX_Group_split(ARMCI_Group *parent, int color, int key, ARMCI_Group *out);
/* A group of the same members in the same order, with a communicator of its own. Collective over the parent. 0 or FAIL6. */
int ARMCIX_Group_dup(ARMCI_Group *parent, ARMCI_Group *out);

/* A set of mutexes; there may be any number of sets. */
typedef struct armcix_mutex_hdl_s *armcix_mutex_hdl_t;
/* Collective over the group. count: mutexes hosted here, 0 and more. NULL on failure, at every member; if one died,
 * perhaps not at every one. */
armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *g);
/* Collective over the group that made them. 0, FAIL for NULL, or FAIL6: a member died, and they go with
 * ARMCI_Finalize. */
int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t h);
/* As ARMCI_Lock, of a set; proc is a world rank, a member of the set's group. */
void ARMCIX_Lock_hdl(armcix_mutex_hdl_t h, int mutex, int proc);
/* 0: the lock was obtained; else somebody has it, or (FAIL6) proc died. Does not wait for it. */
int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t h, int mutex, int proc);
/* As ARMCI_Unlock, of a set. */
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t h, int mutex, int proc);

/*
 * Non-zero: proc died (torus run --on-death error) or left before the others, and everything with it fails. Calls that return nothing, a
 * lock, a fence, a barrier, say so on stderr only: this is how the program learns. 0 also for no such process.
 */
int ARMCIX_Is_dead(int proc);

/* Run the progress engine once, for own operations and for requests of others. */
void ARMCIX_Progress(void);

/*
 * Compute for that long without a call: in real time the processor is busy, in virtual time the clock
 * goes on. Others are answered meanwhile if progress is asynchronous (ARMCI_PROGRESS_THREAD).
 */
void ARMCIX_Compute(double seconds);
/* Non-zero under the virtual clock. */
int ARMCIX_Clock_is_virtual(void);

/*
 * Store desired at prem if what is there equals *ploc; *ploc gets what was there. op  ARMCI_SWAP: int,
 * or ARMCI_SWAP_LONG: long, of all three. Atomic against ARMCI_Rmw. Errors as ARMCI_Rmw.
 */
int ARMCIX_Compare_and_swap(int op, void *ploc, void *desired, void *prem, int proc);

/* What the library counted in this process since ARMCI_Init, by name (armci/counter.def); -1: no such counter. */
long ARMCIX_Counter(const char *name);
/* Names of counters, in order from 0; NULL past the last. */
const char *ARMCIX_Counter_name(int i);

#ifdef __cplusplus
}
#endif

#endif
