/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In real time a task carries out accesses of blocks that another task of its host owns by itself:
 * lease and block lie in memory that both have mapped (mu/segment/lease.h). That is so in all modes
 * of the directory: whatever led the task here, only the lease decides. These are the steps of such
 * an access and of the owner, on one word, the slot. The model checker
 * (tests/model/agas_move.c) runs these very functions.
 *
 *	the task                           the owner, whose block is to leave or to be freed
 *	enter: the slot names the lease    state of the lease: no longer OWNED
 *	read the lease: OWNED?             claim: each slot that names the lease is a pin now
 *	if so, access                      END: release the pin, if the slot is claimed
 *	leave: the slot is free,           death of the task: the same
 *	  or it is claimed -> END
 *
 * Enter comes before the read and the state before the claim, in one order for all. So the task
 * sees that the block is to leave, or the owner sees the slot, or both. As long as a slot is
 * claimed, the lease has a pin, and the block stays. A task may die at any step: its slot says
 * whether the owner has a pin to release, and the owner frees the slot with the same
 * compare-and-swap that decides it, so the pin is released once, whether END arrives or not.
 */
#ifndef EMU_NEAR_ACCESS_H
#define EMU_NEAR_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "emu/directory.h"

/* The model checker leaves out one line at a time, and must then find a violation. */
#ifndef EMU_DEFECT
#define EMU_DEFECT(line) 0
#endif

#define EMU_NEAR_CLAIMED (1ull << 63)

/* Name the lease. Returns false if the slot is in use. */
static inline bool emu_near_enter(atomic_u64 *slot, uint64_t name)
{
	uint64_t old = 0;

	return atomic_cas_seq_cst(slot, &old, EMU_DEFECT(NEAR_ENTER) ? 0 : name);
}

/* May the block be accessed until emu_near_leave()? */
static inline bool emu_near_may_access(const struct emu_lease *l)
{
	return atomic_load_seq_cst(&l->word) >> 32 == EMU_BIND_OWNED || EMU_DEFECT(NEAR_STATE);
}

/* Returns false if the owner has claimed the slot: send END, which frees it. */
static inline bool emu_near_leave(atomic_u64 *slot, uint64_t name)
{
	return atomic_cas_seq_cst(slot, &name, 0);
}

/* The owner has changed the state of the lease. Returns true if the slot is a pin now. */
static inline bool emu_near_claim(atomic_u64 *slot, uint64_t name)
{
	return atomic_load_seq_cst(slot) == name && !EMU_DEFECT(NEAR_CLAIM) &&
	       atomic_cas_seq_cst(slot, &name, name | EMU_NEAR_CLAIMED);
}

/* The task has sent END, or has died. Returns true if the owner has a pin to release. */
static inline bool emu_near_release(atomic_u64 *slot, uint64_t name)
{
	name |= EMU_NEAR_CLAIMED;
	return atomic_cas_seq_cst(slot, &name, 0);
}

#endif
