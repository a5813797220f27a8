/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A try-lock of four bytes. Most users give up when it is held, since the holder does their work
 * too; mu_lock_acquire() waits and yields. Threads of one process only, except for routers of a
 * host (emu/live.h), whose locks have owners that the agent can reclaim.
 */
#ifndef MU_LOCK_H
#define MU_LOCK_H

#include <stdbool.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"

struct mu_spinlock {
	atomic_u32 held;
};

static inline bool mu_lock_is_held(const struct mu_spinlock *lock)
{
	return atomic_load_relaxed(&lock->held) != 0;
}

/* True if the caller holds the lock now. */
static inline bool mu_lock_try(struct mu_spinlock *lock)
{
	return !mu_lock_is_held(lock) && !atomic_exchange_acquire(&lock->held, 1);
}

void mu_lock_slow(struct mu_spinlock *lock);
static inline void mu_lock_acquire(struct mu_spinlock *lock)
{
	if (!mu_lock_try(lock))
		mu_lock_slow(lock);
}

static inline void mu_lock_release(struct mu_spinlock *lock)
{
	DRV_ASSERT(mu_lock_is_held(lock));
	atomic_store_release(&lock->held, 0);
}

#endif
