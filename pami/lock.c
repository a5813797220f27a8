/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of a context: one word, 0 free, 1 taken, 2 taken and perhaps somebody sleeps. Spins a
 * little, then sleeps in the kernel (by syscall(), which is no cancellation point).
 * Source of the three states: Drepper, Futexes Are Tricky, mutex 2.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "pami/state.h"

#define SPINS 200 /* about 5 us: longer than most holders advance */

static PAMI_COLD void lock_slow(struct pami_context *ctx)
{
	while (mu_virtual) { /* who has it goes on while we look again and again */
		if (pami_lock_try(ctx))
			return;
		mu_wait(ctx->channel, 0);
	}
	for (int i = 0; i < SPINS; i++) {
		if (pami_lock_try(ctx))
			return;
		drv_cpu_relax();
	}
	while (__atomic_exchange_n(&ctx->lock, 2, __ATOMIC_ACQUIRE)) {
		mu_wake_self(); /* the holder may sleep in PAMI_Context_advance */
		syscall(SYS_futex, &ctx->lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	}
}

PAMI_COLD void pami_lock_wake(struct pami_context *ctx)
{
	syscall(SYS_futex, &ctx->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	sched_yield(); /* we may be about to take it again: let them have it */
}

PAMI_EXPORT pami_result_t PAMI_Context_lock(pami_context_t context)
{
	struct pami_context *ctx = pami_context_of(context);

	mu_charge(MU_COST_poll, 0); /* in virtual time, not before it is this thread's turn */
	if (PAMI_UNLIKELY(!pami_lock_try(ctx)))
		lock_slow(ctx);
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Context_trylock(pami_context_t context)
{
	struct pami_context *ctx = pami_context_of(context);

	mu_charge(MU_COST_poll, 0);
	if (PAMI_LIKELY(pami_lock_try(ctx)))
		return PAMI_SUCCESS;
	if (mu_virtual)
		mu_wait(ctx->channel, 0);
	else
		mu_wake_self(); /* as in lock_slow() */
	return PAMI_EAGAIN;
}

PAMI_EXPORT pami_result_t PAMI_Context_unlock(pami_context_t context)
{
	mu_charge(MU_COST_poll, 0);
	pami_lock_give(pami_context_of(context));
	if (mu_virtual)
		mu_wake_self(); /* those of our threads that wait for it */
	return PAMI_SUCCESS;
}
