/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of a context. A thread that finds it taken spins for a moment, then sleeps in the kernel
 * (through syscall(), which is not a cancellation point).
 * Source of the three states: Drepper, Futexes Are Tricky, mutex 2.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/lock.h"
#include "pami/core/macros.h"

#define SPINS 200 /* about 5 us, longer than most progress calls hold the lock */

static PAMI_COLD pami_result_t lock_slow(struct pami_context *ctx)
{
	/* The thread that held it when the process forked is not in the child. */
	if (mu_is_forked())
		return pami_fail_in("PAMI_Context_lock", PAMI_ERROR,
				    "called in a forked child of the process that joined the job");
	/* In virtual time the holder runs while this thread waits in mu_wait(). */
	while (mu_virtual) {
		const char *outer;

		if (pami_lock_try(&ctx->lock))
			return PAMI_SUCCESS;
		outer = mu_call_waits("PAMI_Context_lock");
		mu_wait(ctx->channel, 0, MU_IDLE_WAIT);
		mu_call_waits(outer);
	}
	for (int i = 0; i < SPINS; i++) {
		if (pami_lock_try(&ctx->lock))
			return PAMI_SUCCESS;
		drv_cpu_relax();
	}
	while (atomic_exchange_acquire(&ctx->lock.state, 2)) {
		mu_wake_self(); /* the holder may sleep in a progress call */
		syscall(SYS_futex, &ctx->lock.state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	}
	return PAMI_SUCCESS;
}

PAMI_COLD void pami_lock_wake(struct pami_lock *lock)
{
	syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	sched_yield(); /* so that this thread does not take the lock again before the sleeper does
			*/
}

PAMI_EXPORT pami_result_t PAMI_Context_lock(pami_context_t context)
{
	struct pami_context *ctx = pami_context_of(context);

	if (PAMI_UNLIKELY(!pami_context_is_valid(context)))
		return pami_fail_invalid(context);
	mu_charge(MU_COST_poll, 0); /* in virtual time, waits for this thread's turn */
	if (PAMI_LIKELY(pami_lock_try(&ctx->lock)))
		return PAMI_SUCCESS;
	return lock_slow(ctx);
}

PAMI_EXPORT pami_result_t PAMI_Context_trylock(pami_context_t context)
{
	struct pami_context *ctx = pami_context_of(context);

	if (PAMI_UNLIKELY(!pami_context_is_valid(context)))
		return pami_fail_invalid(context);
	mu_charge(MU_COST_poll, 0);
	if (PAMI_LIKELY(pami_lock_try(&ctx->lock)))
		return PAMI_SUCCESS;
	if (mu_virtual) {
		mu_call_polls(__func__);
		mu_wait(ctx->channel, 0, MU_IDLE_WAIT);
	} else {
		mu_wake_self(); /* as in lock_slow() */
	}
	return PAMI_EAGAIN;
}

PAMI_EXPORT pami_result_t PAMI_Context_unlock(pami_context_t context)
{
	if (PAMI_UNLIKELY(!pami_context_is_valid(context)))
		return pami_fail_invalid(context);
	mu_charge(MU_COST_poll, 0);
	pami_lock_release(&pami_context_of(context)->lock);
	if (mu_virtual)
		mu_wake_self(); /* threads of this task that wait for the lock */
	return PAMI_SUCCESS;
}
