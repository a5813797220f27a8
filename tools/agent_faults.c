/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the faults by script that the agent carries out in real time: deaths, and the end of
 * a job in which a pair of hosts has lost each other for good.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "emu/faults.h"
#include "tools/agent.h"
#include "tools/draw.h"

#define PERIOD_NS 2000000u

struct agent_faults {
	struct emu_faults script;
	bool *done; /* [script.count] */
	bool parted;
};

int agent_faults_open(struct agent *a)
{
	struct plan *p = &a->plan;
	struct agent_faults *f;
	char err[400];
	int rc;

	if (!p->script[0] || p->clock == MU_CLOCK_VIRTUAL)
		return 0;
	f = calloc(1, sizeof *f);
	rc = f ? emu_faults_parse(p->script, &p->shape, p->tasks, p->hosts, p->seed, &f->script,
				  err, sizeof err)
	       : -ENOMEM;
	if (!rc) {
		f->done = calloc(f->script.count + 1, sizeof *f->done);
		rc = f->done ? 0 : -ENOMEM;
	}
	a->faults = f;
	if (rc == -ENOMEM)
		agent_fail(a, 1, "no memory for the faults");
	else if (rc)
		agent_fail(a, 1, "%s", err);
	return rc;
}

void agent_faults_close(struct agent *a)
{
	if (!a->faults)
		return;
	emu_faults_free(&a->faults->script);
	free(a->faults->done);
	free(a->faults);
	a->faults = NULL;
}

uint64_t agent_faults_period_ns(const struct agent *a)
{
	return a->faults ? PERIOD_NS : 0;
}

/* Carry out the fault if it is due. Returns whether it is done. */
static bool kill_tasks(struct agent *a, const struct emu_fault *x)
{
	if (x->place == EMU_FAULT_AT_HOST) {
		if (x->at == a->self) {
			drv_warn("host %u dies: the fault script", a->self);
			kill(getpid(), SIGKILL); /* its tasks die with it */
		}
		return true;
	}
	if (a->starting >= 0 || !a->alive)
		return false; /* a task that is not there yet cannot die */
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->task[i].pid &&
		    (x->place == EMU_FAULT_AT_TASK
			 ? a->task[i].task == x->at
			 : mu_host_entry(a->host, a->task[i].task)->node == x->at))
			kill(a->task[i].pid, SIGKILL);
	return true;
}

/* Each agent at an end of a wire that is cut for good reports that. */
static void part_hosts(struct agent *a, const struct emu_fault *x)
{
	if (x->place == EMU_FAULT_AT_HOSTS ? x->at == a->self || x->other == a->self
					   : x->at == a->self) {
		if (x->place == EMU_FAULT_AT_HOSTS)
			agent_fail(a, 1,
				   "hosts %u and %u lost each other: the fault script cuts "
				   "the wire between them for good",
				   x->at, x->other);
		else
			agent_fail(a, 1,
				   "host %u and all others lost each other: the fault script "
				   "cuts its wires for good",
				   x->at);
	}
}

static void report_parted(struct agent *a, uint64_t pair)
{
	char from[64], to[64];

	a->faults->parted = true;
	agent_fail(a, 1, "nodes %s and %s lost each other: cut links leave no way between them",
		   draw_node(&a->plan.shape, (uint32_t)((pair - 1) >> 32), from, sizeof from),
		   draw_node(&a->plan.shape, (uint32_t)(pair - 1), to, sizeof to));
}

void agent_faults_check(struct agent *a)
{
	struct agent_faults *f = a->faults;
	uint64_t ps, pair;

	if (!f || a->ending)
		return;
	ps = (drv_clock_ns() - a->host->start_ns) * 1000;
	pair = atomic_load_relaxed(&a->host->parted);
	if (pair && !f->parted)
		report_parted(a, pair);
	for (uint32_t i = 0; i < f->script.count; i++) {
		const struct emu_fault *x = &f->script.fault[i];

		if (f->done[i] || ps < x->at_ps)
			continue;
		f->done[i] = true;
		if (x->kind == EMU_FAULT_KILL)
			f->done[i] = kill_tasks(a, x);
		else if (x->kind == EMU_FAULT_CUT && x->place >= EMU_FAULT_AT_HOST &&
			 x->end_ps == UINT64_MAX)
			part_hosts(a, x);
	}
}
