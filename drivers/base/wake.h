/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping and waking across processes. It costs a waker almost nothing while no thread sleeps.
 *
 * A sleeper announces that it sleeps, runs a process-wide barrier (membarrier, so that wakers need
 * none), checks its condition once more and waits:
 *
 *     uint32_t seen = drv_wake_prepare(w);
 *     if (nothing_to_do())
 *             drv_wake_wait(w, seen, timeout_ns);
 *     drv_wake_finish(w);
 *
 * A waker makes its change visible, then calls drv_wake_ring(): one load of a cache line that is
 * not written while no thread sleeps. A word may have an eventfd (>= 0, inherited, the same number
 * in all processes of the host); then wakers also write to it, for sleepers in poll().
 */
#ifndef DRIVERS_BASE_WAKE_H
#define DRIVERS_BASE_WAKE_H

#include <stdint.h>
#include "drivers/base/atomic.h"

struct drv_wake {
	_Alignas(64) uint32_t sleepers; /* number of sleepers */
	uint32_t seq;                   /* incremented by a waker that found a sleeper */
	int32_t eventfd;                /* -1: futex only */
};

/*
 * Call once in each process that wakes or sleeps. Without membarrier in the kernel, wakers use
 * fences.
 */
void drv_wake_process_init(void);
/*
 * The alternative to drv_wake_process_init(): the wakers of this process use fences, which cost
 * each call of drv_wake_ring() some ns. Its sleepers then need no barrier, which would stop every
 * other running thread of the jobs on this machine for 10 us. Only for words that such processes
 * wake.
 */
void drv_wake_process_fences(void);

void drv_wake_init(struct drv_wake *w, int eventfd);
uint32_t drv_wake_prepare(struct drv_wake *w);
/*
 * The same for several words with one barrier. A barrier interrupts every running thread of the
 * job.
 */
void drv_wake_prepare_all(struct drv_wake **w, uint32_t *seen, unsigned count);
/* Wait until woken or until timeout_ns has passed (< 0: no limit). The call may return early. */
void drv_wake_wait(struct drv_wake *w, uint32_t seen, int64_t timeout_ns);
/* The same for several words at once (futex_waitv); count <= DRV_WAKE_WORDS. */
#define DRV_WAKE_WORDS 24
void drv_wake_wait_any(struct drv_wake **w, const uint32_t *seen, unsigned count,
		       int64_t timeout_ns);
void drv_wake_finish(struct drv_wake *w);
/* The slow part of drv_wake_ring(): wakes the sleepers of the word. */
void drv_wake_now(struct drv_wake *w);

extern int drv_wake_needs_fence;

static inline void drv_wake_ring(struct drv_wake *w)
{
	__asm__ volatile("" ::: "memory");
	if (__builtin_expect(atomic_load_relaxed(&drv_wake_needs_fence), 0))
		atomic_fence_seq_cst();
	if (__builtin_expect(atomic_load_relaxed(&w->sleepers) != 0, 0))
		drv_wake_now(w);
}

#endif
