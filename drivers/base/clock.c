/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/clock.h"

#include "drivers/base/atomic.h"

#define SAMPLES 8 /* of which the shortest counts */

/*
 * Both clocks at one moment. A thread that is preempted between the two reads would see a rate that
 * is wrong by any factor, so the reads that were closest together count.
 */
static void clock_sample(uint64_t *ns, uint64_t *ticks)
{
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < SAMPLES; i++) {
		uint64_t before = drv_clock_ticks(), now = drv_clock_ns(),
			 after = drv_clock_ticks();

		if (after - before < shortest) {
			shortest = after - before;
			*ns = now;
			*ticks = before + (after - before) / 2;
		}
	}
}

uint64_t drv_clock_ticks_per_us(void)
{
	static atomic_u64 rate;
	uint64_t known = atomic_load_relaxed(&rate);

	if (!known) {
		uint64_t ns0 = 0, t0 = 0, ns1 = 0, t1 = 0;

		clock_sample(&ns0, &t0);
		while (drv_clock_ns() - ns0 < 1000000)
			drv_cpu_relax();
		clock_sample(&ns1, &t1);
		known = ((t1 - t0) * 1000 + (ns1 - ns0) / 2) / (ns1 - ns0);
		if (!known)
			known = 1;
		atomic_store_relaxed(&rate, known);
	}
	return known;
}
