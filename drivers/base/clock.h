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

static inline uint64_t drv_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Cheap, about 10 ns; unit is drv_clock_ticks_per_us(). */
static inline uint64_t drv_clock_ticks(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return drv_clock_ns();
#endif
}

/* Measured once (1 ms) at the first call, then constant. */
uint64_t drv_clock_ticks_per_us(void);

/*
 * Nanoseconds from the ticks: any origin, the rate good to 1e-3, half the price of drv_clock_ns(). Never to be
 * compared with that: after a day of uptime they may be a minute apart.
 */
static inline uint64_t drv_clock_fast_ns(void)
{
	static uint64_t scale; /* ns per tick, 32 fractional bits */

	uint64_t known = __atomic_load_n(&scale, __ATOMIC_RELAXED);

	if (__builtin_expect(!known, 0)) {
		known = (1000ull << 32) / drv_clock_ticks_per_us();
		__atomic_store_n(&scale, known, __ATOMIC_RELAXED);
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
