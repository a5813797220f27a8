/* SPDX-License-Identifier: BSD-3-Clause */
/* A ticket lock over L2 atomics. */
#ifndef QT_SPI_INCLUDE_L2_LOCK_H
#define QT_SPI_INCLUDE_L2_LOCK_H

#include "hwi/include/bqc/A2_inlines.h"
#include "spi/include/l2/atomic.h"
#include "spi/include/mu/Fifo.h"

typedef struct {
	volatile uint64_t ticket;  /* the next to be given */
	volatile uint64_t serving; /* the one that holds the lock */
} __attribute__((aligned(32))) L2_Lock_t;

static inline __attribute__((unused)) void L2_LockInit(L2_Lock_t *lock)
{
	lock->ticket = 0;
	lock->serving = 0;
}
static inline __attribute__((unused)) void L2_LockAcquireNoSync(L2_Lock_t *lock)
{
	uint64_t mine = L2_AtomicLoadIncrement(&lock->ticket);

	while (L2_AtomicLoad(&lock->serving) != mine)
		quintorus_mu_poll();
}
static inline __attribute__((unused)) void L2_LockAcquire(L2_Lock_t *lock)
{
	L2_LockAcquireNoSync(lock);
	isync();
}
/* 0: locked now. */
static inline __attribute__((unused)) uint64_t L2_LockTryAcquireNoSync(L2_Lock_t *lock)
{
	return L2_AtomicLoadIncrementIfEqual(&lock->ticket) == L2_ATOMIC_AT_BOUND;
}
static inline __attribute__((unused)) uint64_t L2_LockTryAcquire(L2_Lock_t *lock)
{
	return L2_LockTryAcquireNoSync(lock);
}
static inline __attribute__((unused)) void L2_LockReleaseNoSync(L2_Lock_t *lock)
{
	(void)L2_AtomicLoadIncrement(&lock->serving);
}
static inline __attribute__((unused)) void L2_LockRelease(L2_Lock_t *lock)
{
	ppc_msync();
	L2_LockReleaseNoSync(lock);
}
static inline __attribute__((unused)) uint64_t L2_LockIsBusy(L2_Lock_t *lock)
{
	return L2_AtomicLoad(&lock->ticket) != L2_AtomicLoad(&lock->serving);
}
/* Threads that hold the lock or wait for it. */
static inline __attribute__((unused)) int64_t L2_LockThreadsInLine(L2_Lock_t *lock)
{
	return (int64_t)(L2_AtomicLoad(&lock->ticket) - L2_AtomicLoad(&lock->serving));
}

#endif
