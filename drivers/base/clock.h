/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only source of real time. Ticks are the processor's time-stamp counter where it is
 * invariant, else CLOCK_MONOTONIC nanoseconds; drv_clock_ns() is always CLOCK_MONOTONIC.
 */
#ifndef DRIVERS_BASE_CLOCK_H
#define DRIVERS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "drivers/base/atomic.h"

static inline uint64_t drv_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Read the tick counter, in about 10 ns. drv_clock_ticks_per_us() gives the unit. */
static inline uint64_t drv_clock_ticks(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return drv_clock_ns();
#endif
}

/* Return the rate. The first call measures it, which takes 1 ms. */
uint64_t drv_clock_ticks_per_us(void);

/*
 * Return nanoseconds computed from ticks. The origin is arbitrary, the rate is accurate to 1e-3,
 * and a call costs half of drv_clock_ns(). Never compare the result with drv_clock_ns(): after a
 * day of uptime the two may differ by a minute.
 */
static inline uint64_t drv_clock_fast_ns(void)
{
	static uint64_t scale; /* ns per tick, 32 fractional bits */

	uint64_t known = atomic_load_relaxed(&scale);

	if (__builtin_expect(!known, 0)) {
		known = (1000ull << 32) / drv_clock_ticks_per_us();
		atomic_store_relaxed(&scale, known);
	}
	return (uint64_t)((unsigned __int128)drv_clock_ticks() * known >> 32);
}

static inline void drv_cpu_relax(void)
{
#if defined(__x86_64__)
	_mm_pause();
#endif
}

#endif
