/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extensions of ARMCI: splitting groups, sets of mutexes on groups, compare-and-swap, counters.
 * proc is a world rank everywhere.
 */
#ifndef ARMCIX_H
#define ARMCIX_H

#include "armci.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective over the parent. Members of equal colour become one group, ordered by key, then by rank;
 * with a negative colour (MPI_UNDEFINED) the caller is a member of none. 0. */
int ARMCIX_Group_split(ARMCI_Group *parent, int color, int key, ARMCI_Group *out);
int ARMCIX_Group_dup(ARMCI_Group *parent, ARMCI_Group *out);

/* Any number of sets; collective over the group. count: mutexes hosted here, may be 0. NULL on failure.
 * Rules as for ARMCI_Lock and ARMCI_Unlock. */
typedef struct armcix_mutex_hdl_s *armcix_mutex_hdl_t;
armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *g);
int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t h);
void ARMCIX_Lock_hdl(armcix_mutex_hdl_t h, int mutex, int proc);
/* 0: the lock was obtained. */
int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t h, int mutex, int proc);
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t h, int mutex, int proc);

/* Run the progress engine once. */
void ARMCIX_Progress(void);

/*
 * Compute for that long without a call: in real time the processor is busy, in virtual time the clock
 * goes on. Others are answered meanwhile if progress is asynchronous (ARMCI_PROGRESS_THREAD).
 */
void ARMCIX_Compute(double seconds);
int ARMCIX_Clock_is_virtual(void);

/*
 * Store desired at prem if what is there equals *ploc; *ploc gets what was there. op  ARMCI_SWAP: int,
 * or ARMCI_SWAP_LONG: long, of all three. Atomic against ARMCI_Rmw. 0 as ARMCI_Rmw.
 */
int ARMCIX_Compare_and_swap(int op, void *ploc, void *desired, void *prem, int proc);

/*
 * What the library counted in this process since ARMCI_Init, by name; -1: no such counter. Names, in
 * order, NULL past the last: ARMCIX_Counter_name.
 */
long ARMCIX_Counter(const char *name);
const char *ARMCIX_Counter_name(int i);

#ifdef __cplusplus
}
#endif

#endif
