/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "drivers/base/atomic.h"
#include "drivers/base/wake.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int drv_wake_needs_fence = 1;

void drv_wake_process_init(void)
{
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0))
		atomic_store_relaxed(&drv_wake_needs_fence, 0);
}

void drv_wake_process_fences(void)
{
	atomic_store_relaxed(&drv_wake_needs_fence, 1);
}

void drv_wake_init(struct drv_wake *w, int eventfd)
{
	w->sleepers = 0;
	w->seq = 0;
	w->eventfd = eventfd;
}

void drv_wake_prepare_all(struct drv_wake **w, uint32_t *seen, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		seen[i] = atomic_load_acquire(&w[i]->seq);
		atomic_fetch_add_seq_cst(&w[i]->sleepers, 1);
	}
	/*
	 * From here on every registered process sees the sleeper, or this thread sees its change.
	 */
	if (!atomic_load_relaxed(&drv_wake_needs_fence))
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
	atomic_fence_seq_cst();
}

uint32_t drv_wake_prepare(struct drv_wake *w)
{
	uint32_t seen;

	drv_wake_prepare_all(&w, &seen, 1);
	return seen;
}

void drv_wake_finish(struct drv_wake *w)
{
	atomic_fetch_sub_release(&w->sleepers, 1);
}

static struct timespec deadline_after(int64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ns / 1000000000;
	t.tv_nsec += ns % 1000000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

void drv_wake_wait(struct drv_wake *w, uint32_t seen, int64_t timeout_ns)
{
	struct timespec until = deadline_after(timeout_ns < 0 ? 0 : timeout_ns);

	syscall(SYS_futex, &w->seq, FUTEX_WAIT_BITSET, seen, timeout_ns < 0 ? NULL : &until, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

void drv_wake_wait_any(struct drv_wake **w, const uint32_t *seen, unsigned count,
		       int64_t timeout_ns)
{
	struct futex_waitv v[DRV_WAKE_WORDS];
	struct timespec until = deadline_after(timeout_ns < 0 ? 0 : timeout_ns);

	for (unsigned i = 0; i < count && i < DRV_WAKE_WORDS; i++)
		v[i] = (struct futex_waitv){
		    .val = seen[i], .uaddr = (uintptr_t)&w[i]->seq, .flags = FUTEX_32};
	if (syscall(SYS_futex_waitv, v, count, 0, timeout_ns < 0 ? NULL : &until, CLOCK_MONOTONIC) <
		0 &&
	    errno == ENOSYS)
		drv_wake_wait(w[0], seen[0],
			      timeout_ns < 0 || timeout_ns > 1000000 ? 1000000 : timeout_ns);
}

void drv_wake_now(struct drv_wake *w)
{
	atomic_fetch_add_release(&w->seq, 1);
	syscall(SYS_futex, &w->seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	if (w->eventfd >= 0) {
		uint64_t one = 1;

		if (write(w->eventfd, &one, sizeof one) < 0)
			return; /* full: it is readable already; closed: its sleeper also wakes by
				   time-out */
	}
}
