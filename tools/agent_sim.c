/* SPDX-License-Identifier: BSD-3-Clause */
/* The agent as the home of the simulator. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "tools/agent.h"

/* The simulator calls this while it works and while a task runs: children, signals, torus run. */
static int check(void *arg)
{
	struct agent *a = arg;

	agent_look(a, 0, NULL, 0);
	return a->ending ? -ECANCELED : 0;
}

int agent_sim_open(struct agent *a)
{
	struct mu_sim_conf conf = { .check = check, .arg = a, .hw = a->plan.hw, .script = a->plan.script };
	int rc;

	if (a->plan.clock != MU_CLOCK_VIRTUAL)
		return 0;
	rc = mu_sim_create(a->host, &conf, &a->sim);
	if (rc)
		agent_fail(a, 1, "cannot start the simulator: %s", strerror(-rc));
	return rc;
}

void agent_sim_run(struct agent *a)
{
	struct mu_sim_report report;
	struct ctl_buf b = { 0 };
	int rc = mu_sim_run(a->sim);

	if (rc == -ECANCELED)
		return;
	if (rc) {
		agent_fail(a, 1, rc == -EDEADLK ? "nothing is under way, and every task waits (a deadlock), or spins for longer than it may (told above)" :
		                 "the simulator stopped: %s", strerror(-rc));
		return;
	}
	mu_sim_report(a->sim, &report);
	ctl_put_u64(&b, report.time_ps);
	ctl_put_u64(&b, report.hash);
	ctl_put_u64(&b, report.events);
	ctl_put_u64(&b, report.packets);
	ctl_put_u64(&b, report.packet_hops);
	ctl_put_u64(&b, (uint64_t)(report.events_seconds * 1e9));
	ctl_put_u64(&b, (uint64_t)(report.tasks_seconds * 1e9));
	ctl_put_u32(&b, (uint32_t)report.reproducible);
	ctl_send_buf(&a->ctl, CTL_VIRTUAL, &b);
}
