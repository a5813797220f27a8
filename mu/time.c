/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/clock.h"
#include "mu/commthread.h"
#include "mu/mu.h"
#include "mu/vtask.h"

int mu_virtual;

/* A program that reads the clock is elsewhere: commthreads do what came by now. */
static void virtual_read(void)
{
	mu_charge_now(MU_COST_clock_read, 1);
	mu_vt_check();
	if (mu_self.comm.count && !mu_in_poll)
		mu_comm_virtual(&mu_self);
}

double mu_wtime(void)
{
	if (mu_virtual) {
		virtual_read();
		return (double)mu_vt_now_ps() * 1e-12;
	}
	return (double)drv_clock_ns() * 1e-9;
}

uint64_t mu_timebase(void)
{
	/* 1.6 ticks a nanosecond, as the chip's. */
	if (mu_virtual) {
		virtual_read();
		return mu_vt_now_ps() / 625;
	}
	return drv_clock_ns() * 8 / 5;
}
