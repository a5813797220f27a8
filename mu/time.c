/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/clock.h"
#include "mu/mu.h"
#include "mu/vtask.h"

int mu_virtual;

double mu_wtime(void)
{
	if (mu_virtual) {
		mu_charge_now(MU_COST_clock_read, 1);
		mu_vt_check();
		return (double)mu_vt_now_ps() * 1e-12;
	}
	return (double)drv_clock_ns() * 1e-9;
}

uint64_t mu_timebase(void)
{
	/* 1.6 ticks a nanosecond, as the chip's. */
	if (mu_virtual) {
		mu_charge_now(MU_COST_clock_read, 1);
		mu_vt_check();
		return mu_vt_now_ps() / 625;
	}
	return drv_clock_ns() * 8 / 5;
}
