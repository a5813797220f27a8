/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent as the one who steps its host's routers: fabric torus in real time, where the job survives the
 * death of a task (mu/node_live.c says why). With several hosts the holder of the port does it on its way.
 */
#include <sched.h>
#include <string.h>

#include "drivers/base/clock.h"
#include "drivers/base/wake.h"
#include "mu/live.h"
#include "tools/agent.h"

#define SPIN_NS    100000u /* poll this long after the last work, then sleep */
#define CONTROL_NS 200000u /* while polling, the descriptors are looked at this often */

int agent_routers_needed(const struct agent *a)
{
	return a->host->holder == MU_HOLDER_NONE && a->host->fabric == MU_FABRIC_TORUS &&
	       a->host->clock == MU_CLOCK_REAL && a->host->on_death == MU_ON_DEATH_ERROR;
}

static void routers_sleep(struct agent *a)
{
	drv_wake_prepare(&a->host->agent_wake);
	agent_look(a, mu_live_busy(a->live) ? 0 : -1, NULL, 0);
	drv_wake_finish(&a->host->agent_wake);
}

void agent_routers_run(struct agent *a)
{
	uint64_t looked = 0, worked = drv_clock_ns();
	int rc = mu_live_open_for(a->host, NULL, &a->live);

	if (rc) {
		agent_fail(a, 1, "cannot open the routers of this host: %s", strerror(-rc));
		return;
	}
	while (!(a->ending && !a->alive)) {
		int n = mu_live_poll(a->live);
		uint64_t now = drv_clock_ns();

		if (n > 0) {
			worked = now;
		} else if (now - worked > SPIN_NS) {
			routers_sleep(a);
			looked = drv_clock_ns();
		} else {
			sched_yield();
		}
		if (now - looked > CONTROL_NS) {
			agent_look(a, 0, NULL, 0);
			looked = now;
		}
	}
}

void agent_routers_drain(struct agent *a, uint32_t local, int timeout_ms)
{
	uint64_t until = drv_clock_ns() + (uint64_t)timeout_ms * 1000000u;

	/* Routers that pass packets to other hosts wait for their wires, and for credits that come over them. */
	while (mu_live_holds(a->live, local) && drv_clock_ns() < until) {
		int n = a->holder && !a->holder_broken ? mu_holder_poll(a->holder) : 0;

		if (n <= 0) /* no holder, nothing to do, or a port that broke: then within this host at least */
			n = mu_live_poll(a->live);
		if (!n)
			sched_yield();
	}
}
