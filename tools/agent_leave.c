/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out whether all tasks of this host wait. After a task has ended with status 0 but without
 * leaving the job, this file finds out whether the others wait for it for ever (CTL_WATCH). In any
 * job it finds out, more slowly, whether no task makes progress any more (CTL_STALL).
 *
 * A task counts as waiting if, since the last check, its first thread has done nothing but poll in
 * vain for at least half of the time, no poll has found anything, no record has arrived, and the
 * process has used no more processor time than these polls and a third of a processor. A task that
 * computes, works with files, or gets messages does not count. Time that the first thread was ready
 * to run but had no processor counts for neither, so a busy machine hides no waiting task.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "tools/agent.h"

#define MS                1000000ull
#define STALL_LOOK_MAX_MS 5000

/* Return the processor time of a process so far; 0: not known. */
static uint64_t cpu_ns(pid_t pid)
{
	unsigned long user = 0, system = 0;
	char path[64], text[1024], *p;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	p = fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			 &system) != 2)
		user = system = 0;
	fclose(f);
	return (user + system) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Return how long the first thread of a process has been ready to run without a processor; 0: not
 * known. */
static uint64_t preempted_ns(pid_t pid)
{
	unsigned long long ran, delayed = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &ran, &delayed) != 2)
		delayed = 0;
	fclose(f);
	return delayed;
}

/* Return a number that changes with everything that the task receives. */
static uint64_t received_count(struct agent *a, uint32_t local)
{
	uint64_t n = atomic_load_relaxed(&mu_host_area(a->host, local)->found);

	for (uint32_t c = 0; c < a->host->channels; c++)
		n += atomic_load_relaxed(&mu_host_channel(a->host, local, c)->ring.tail);
	return n;
}

static bool has_waited(struct agent *a, uint32_t local, uint64_t elapsed_ns)
{
	const struct mu_task_area *area = mu_host_area(a->host, local);
	struct agent_task *t = &a->task[local];
	uint64_t waited = atomic_load_relaxed(&area->waited_ns);
	uint64_t received = received_count(a, local), cpu = cpu_ns(t->pid);
	uint64_t preempted = preempted_ns(t->pid), delay = preempted - t->preempted_ns;
	uint64_t own_ns = elapsed_ns > delay ? elapsed_ns - delay : 0;
	bool waits = atomic_load_acquire(&area->state) == MU_TASK_ATTACHED &&
		     waited - t->waited_ns >= own_ns / 2 && received == t->received &&
		     cpu - t->cpu_ns < waited - t->waited_ns + elapsed_ns / 3;

	t->preempted_ns = preempted;
	t->waited_ns = waited;
	t->received = received;
	t->cpu_ns = cpu;
	return waits;
}

uint64_t agent_watch_period_ns(const struct agent *a)
{
	uint64_t period = a->watch.stall_ns / 4;

	if (a->watch.limit_ns)
		return AGENT_WATCH_MS * MS;
	if (!period || a->sim)
		return 0;
	return period > STALL_LOOK_MAX_MS * MS ? STALL_LOOK_MAX_MS * MS : period;
}

/* Send a report when `waits` differs from what was reported before. */
static void report_change(struct agent *a, bool waits, bool *reported, uint32_t type)
{
	uint32_t report = (uint32_t)waits;

	if (*reported == waits)
		return;
	*reported = waits;
	ctl_send(&a->ctl, type, &report, sizeof report);
}

void agent_watch_check(struct agent *a)
{
	struct agent_watch *w = &a->watch;
	uint64_t now, elapsed, period = agent_watch_period_ns(a);
	bool all = true;

	if (!period || a->ending || !a->host)
		return;
	now = drv_clock_ns();
	elapsed = now - w->checked_ns;
	if (elapsed < period)
		return;
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->task[i].pid > 0)
			all &= has_waited(a, i, elapsed);
	w->checked_ns = now;
	if (!all)
		w->since_ns = now;
	if (w->limit_ns)
		report_change(a, now - w->since_ns >= w->limit_ns, &w->reported, CTL_WAITS);
	if (w->stall_ns)
		report_change(a, now - w->since_ns >= w->stall_ns, &w->stall_reported, CTL_STALLED);
}
