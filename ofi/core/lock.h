/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A short lock for what several endpoints share: completion queues, counters, registrations.
 *
 * An object that only one thread may use (FI_THREAD_DOMAIN) opens its lock with `used` false; then
 * taking it costs a load. No thread calls PAMI while it holds one.
 */
#ifndef OFI_CORE_LOCK_H
#define OFI_CORE_LOCK_H

#include <sched.h>
#include <stdbool.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"

struct ofi_lock {
	atomic_u32 taken;
	bool used;
};

/* Not inlined, so that callers need no registers for it. */
static __attribute__((noinline, unused)) void ofi_lock_wait(struct ofi_lock *l)
{
	for (unsigned i = 1; atomic_exchange_acquire(&l->taken, 1); i++) {
		if (i % 64)
			drv_cpu_relax();
		else
			sched_yield();
	}
}

static inline void ofi_lock(struct ofi_lock *l)
{
	if (l->used && atomic_exchange_acquire(&l->taken, 1))
		ofi_lock_wait(l);
}

static inline void ofi_unlock(struct ofi_lock *l)
{
	if (l->used)
		atomic_store_release(&l->taken, 0);
}

#endif
