/* SPDX-License-Identifier: BSD-3-Clause */
/* The agent runs the simulator. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "tools/agent.h"
#include "tools/trace.h"

/* The simulator calls this while it works and while a task runs: it handles children, signals and
 * torus run. */
static int handle_step(void *arg)
{
	struct agent *a = arg;

	agent_handle_events(a, 0, NULL, 0);
	/*
	 * When all tasks have ended with status 0, torus run ends the job, perhaps before the
	 * simulator has finished a large one. The report needs its end, so the simulator continues.
	 */
	return a->ending && (a->alive || a->has_failures) ? -ECANCELED : 0;
}

static void on_step(void *arg, const struct emu_world_event *e)
{
	struct agent *a = arg;

	if (a->trace)
		trace_write(a->trace, e);
	if (a->history)
		agent_history_step(a, e);
}

int agent_sim_open(struct agent *a)
{
	struct mu_sim_conf conf = {.check = handle_step, .arg = a, .script = a->plan.script};
	int rc;

	if (a->plan.clock != MU_CLOCK_VIRTUAL)
		return 0;
	if (a->plan.trace[0]) {
		rc = trace_create(a->plan.trace, &a->plan.shape, &a->trace);
		if (rc) {
			agent_fail(a, 1, "--trace %s: %s", a->plan.trace, strerror(-rc));
			return rc;
		}
	}
	if (a->plan.trace[0] || a->plan.html) {
		conf.trace = on_step;
		conf.trace_arg = a;
	}
	rc = mu_sim_create(a->host, &conf, &a->sim);
	if (rc)
		agent_fail(a, 1, "cannot start the simulator: %s", strerror(-rc));
	return rc;
}

void agent_sim_run(struct agent *a)
{
	struct mu_sim_report report;
	struct ctl_buf b = {0};
	int rc = mu_sim_run(a->sim);

	if (rc == -ECANCELED)
		return;
	if (rc) {
		agent_fail(a, 1,
			   rc == -EDEADLK
			       ? "no packet is in flight, and every task waits (a deadlock), or "
				 "spins for longer than the limit (named above)"
			       : "the simulator stopped: %s",
			   strerror(-rc));
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
