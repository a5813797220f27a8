/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/clock.h"

uint64_t drv_clock_ticks_per_us(void)
{
	static uint64_t rate;
	uint64_t known = __atomic_load_n(&rate, __ATOMIC_RELAXED);

	if (!known) {
		uint64_t ns0 = drv_clock_ns(), t0 = drv_clock_ticks(), ns1, t1;

		do {
			ns1 = drv_clock_ns();
			t1 = drv_clock_ticks();
		} while (ns1 - ns0 < 1000000);
		known = (t1 - t0) * 1000 / (ns1 - ns0);
		if (!known)
			known = 1;
		__atomic_store_n(&rate, known, __ATOMIC_RELAXED);
	}
	return known;
}
