/* SPDX-License-Identifier: BSD-3-Clause */
#include "mu/lock.h"

#include <sched.h>

#include "drivers/base/clock.h"

void mu_lock_slow(struct mu_spinlock *lock)
{
	for (unsigned i = 0; !mu_lock_try(lock); i++) {
		if (i % 64 == 63)
			sched_yield();
		else
			drv_cpu_relax();
	}
}
