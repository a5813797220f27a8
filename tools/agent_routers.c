/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent steps the routers of its host: fabric torus in real time, where the job survives the
 * death of a task (mu/transport/node_live.c explains why). With several hosts the holder of the
 * port does it while it polls.
 */
#include <sched.h>
#include <string.h>

#include "drivers/base/clock.h"
#include "drivers/base/wake.h"
#include "mu/transport/node_live.h"
#include "tools/agent.h"

#define SPIN_NS    100000u /* poll this long after the last work, then sleep */
#define CONTROL_NS 200000u /* while polling, the agent handles other events this often */

bool agent_has_to_step_routers(const struct agent *a)
{
	return a->host->holder == MU_HOLDER_NONE && a->host->fabric == MU_FABRIC_TORUS &&
	       a->host->clock == MU_CLOCK_REAL && mu_host_outlives_tasks(a->host);
}

static void routers_sleep(struct agent *a)
{
	drv_wake_prepare(&a->host->agent_wake);
	agent_handle_events(a, mu_live_has_work(a->live) ? 0 : -1, NULL, 0);
	drv_wake_finish(&a->host->agent_wake);
}

void agent_routers_run(struct agent *a)
{
	uint64_t checked = 0, worked = drv_clock_ns();
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
			checked = drv_clock_ns();
		} else {
			sched_yield();
		}
		if (now - checked > CONTROL_NS) {
			agent_handle_events(a, 0, NULL, 0);
			checked = now;
		}
	}
}

void agent_routers_drain(struct agent *a, uint32_t local, int timeout_ms)
{
	uint64_t until = drv_clock_ns() + (uint64_t)timeout_ms * 1000000u;

	/* Routers that send packets to other hosts depend on their wires, and on credits that come
	 * over them. */
	while (mu_live_has_packets_of(a->live, local) && drv_clock_ns() < until) {
		int n = a->holder && !a->holder_broken ? mu_holder_poll(a->holder) : 0;

		/* Without a holder, without work, or with a broken port: step at least the routers
		 * of this host. */
		if (n <= 0)
			n = mu_live_poll(a->live);
		if (!n)
			sched_yield();
	}
}
