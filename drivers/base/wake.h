/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping and waking across processes, free for the waker while nobody sleeps.
 *
 * A sleeper publishes that it sleeps, runs a process-wide barrier (membarrier, so that wakers
 * need none), looks at its condition once more and waits:
 *
 *     uint32_t seen = drv_wake_prepare(w);
 *     if (nothing_to_do())
 *             drv_wake_wait(w, seen, timeout_ns);
 *     drv_wake_finish(w);
 *
 * A waker makes its change visible, then calls drv_wake_ring(): one load of a line that nobody
 * writes while nobody sleeps. A word with an eventfd (>= 0, the same number in all processes of
 * the host, inherited) is woken through it, for sleepers in poll().
 */
#ifndef DRIVERS_BASE_WAKE_H
#define DRIVERS_BASE_WAKE_H

#include <stdint.h>

struct drv_wake {
	_Alignas(64) uint32_t sleepers; /* how many sleep; atomic */
	uint32_t seq;                   /* bumped by a waker that found a sleeper */
	int32_t eventfd;                /* -1: futex only */
};

/* Once per process that rings or waits; falls back to real fences where the kernel lacks it. */
void drv_wake_process_init(void);
/*
 * Instead: this process's wakers fence, which costs each ring some ns, and its sleepers need no barrier, which would stop
 * every other running thread of the machine's jobs for 10 us. For words that are rung by such processes only.
 */
void drv_wake_process_fences(void);

void drv_wake_init(struct drv_wake *w, int eventfd);
uint32_t drv_wake_prepare(struct drv_wake *w);
/* The same for several words with one barrier, which interrupts every running thread of the job. */
void drv_wake_prepare_all(struct drv_wake **w, uint32_t *seen, unsigned count);
/* Wait until rung or timeout_ns (< 0: for ever) has passed; spurious returns are normal. */
void drv_wake_wait(struct drv_wake *w, uint32_t seen, int64_t timeout_ns);
/* The same on several words at once (futex_waitv), count <= DRV_WAKE_WORDS. */
#define DRV_WAKE_WORDS 24
void drv_wake_wait_any(struct drv_wake **w, const uint32_t *seen, unsigned count, int64_t timeout_ns);
void drv_wake_finish(struct drv_wake *w);
/* Slow half of drv_wake_ring(). */
void drv_wake_now(struct drv_wake *w);

extern int drv_wake_needs_fence;

static inline void drv_wake_ring(struct drv_wake *w)
{
	__asm__ volatile("" ::: "memory");
	if (__builtin_expect(__atomic_load_n(&drv_wake_needs_fence, __ATOMIC_RELAXED), 0))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&w->sleepers, __ATOMIC_RELAXED) != 0, 0))
		drv_wake_now(w);
}

#endif
