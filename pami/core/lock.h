/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock behind PAMI_Context_lock() and PAMI_Context_trylock_advancev(). */
#ifndef PAMI_CORE_LOCK_H
#define PAMI_CORE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "pami/core/macros.h"

struct pami_lock {
	atomic_u32 state; /* 0: free; 1: taken; 2: taken, and a thread may sleep on the word */
};

/* Wake one thread that sleeps on the lock, and yield so that it can take it. */
void pami_lock_wake(struct pami_lock *lock);

/* Take the lock if it is free. Returns true if it was taken. */
static inline bool pami_lock_try(struct pami_lock *lock)
{
	uint32_t free = 0;

	return atomic_cas_acquire(&lock->state, &free, 1);
}

static inline void pami_lock_release(struct pami_lock *lock)
{
	if (PAMI_UNLIKELY(atomic_exchange_release(&lock->state, 0) == 2))
		pami_lock_wake(lock);
}

#endif
