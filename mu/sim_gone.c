/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: tasks that end. One leaves when it detaches; one that ends before died. It does so in its turn, at a
 * point of its program, or at a time a script names: both are the same in every run. Ended by somebody else it makes the run
 * unrepeatable.
 *
 * With MU_ON_DEATH_ERROR all tasks hear of it GONE_NEWS_PS later (mu/gone.c does the rest). What the task had handed
 * to the network by then arrives; what its engines had yet to read from its memory is lost.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "mu/sim_state.h"

#define GONE_NEWS_PS 100000000u /* 100 us, as if a kernel noticed it and told all nodes */
#define KILL_US_MAX  1000000000.0

static void list_drop(struct mu_sim *s, uint32_t *first)
{
	while (*first != SIM_NONE) {
		uint32_t i = *first;

		*first = s->pool[i].route.next;
		emu_world_packet_put(s->world, i);
	}
}

void sim_leave(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];

	if (t->state == SIM_TASK_LEFT)
		return;
	t->pending.bytes = 0; /* nobody looks at its memory any more */
	t->spilled = 0;
	for (uint32_t c = 0; c < s->channels; c++) {
		list_drop(s, &s->channel[local * s->channels + c].spill_first);
		list_drop(s, &s->channel[local * s->channels + c].gets_first);
	}
	if (t->state == SIM_TASK_IDLE)
		sim_not_idle(s, t);
	if (t->state == SIM_TASK_SPINS)
		s->spinning--;
	if (t->state != SIM_TASK_OUT)
		s->inside--;
	t->state = SIM_TASK_LEFT;
	t->generation++;
	s->quiet = 0;
}

void sim_gone_tell(struct mu_sim *s, uint32_t local, enum mu_task_end how)
{
	struct sim_task *t = &s->task[local];

	if (t->how != MU_TASK_LIVES || s->host->on_death != MU_ON_DEATH_ERROR)
		return;
	t->how = (uint8_t)how;
	s->engines++; /* something is under way */
	if (emu_sched_push(emu_world_sched(s->world), s->now + GONE_NEWS_PS, t->node, SIM_PORT_GONE + t->t, SIM_GONE,
	                   local, 0))
		s->error = -ENOMEM;
}

void sim_gone_event(struct mu_sim *s, const struct emu_event *e)
{
	s->engines--;
	mu_host_task_gone(s->host, s->task[e->arg].task, s->task[e->arg].how);
	emu_world_hash(s->world, s->now, SIM_GONE, s->task[e->arg].task);
	for (uint32_t i = 0; i < s->locals; i++)
		sim_wake(s, i);
}

static void ended(struct mu_sim *s, uint32_t local, enum mu_task_end how)
{
	struct sim_task *t = &s->task[local];

	t->gone = 1;
	t->dead = t->state != SIM_TASK_LEFT;
	sim_leave(s, local);
	sim_gone_tell(s, local, how);
}

void mu_sim_task_gone(struct mu_sim *s, uint32_t local, enum mu_task_end how)
{
	const struct sim_task *t = &s->task[local];

	if (t->gone)
		return;
	if (t->state == SIM_TASK_READY || t->state == SIM_TASK_IDLE)
		s->unrepeatable = 1; /* it died at some moment of real time */
	ended(s, local, how);
}

/* ---- The script ---- */

void sim_kill_event(struct mu_sim *s, const struct emu_event *e)
{
	pid_t pid = (pid_t)mu_host_area(s->host, e->arg)->pid;

	s->engines--;
	if (s->task[e->arg].state == SIM_TASK_LEFT || s->task[e->arg].gone)
		return;
	if (pid > 1 && kill(pid, SIGKILL))
		drv_warn("virtual clock: task %u cannot be killed: %s", s->task[e->arg].task, strerror(errno));
	ended(s, e->arg, MU_TASK_DIED);
}

/* kill=TASK@MICROSECONDS,... */
int sim_script(struct mu_sim *s, const char *text)
{
	while (text && *text) {
		unsigned long task;
		uint32_t local;
		double us = -1;
		char *end = NULL;

		if (!strncmp(text, "kill=", 5)) {
			task = strtoul(text + 5, &end, 10);
			if (end > text + 5 && *end == '@')
				us = strtod(end + 1, &end);
		}
		if (!(us >= 0 && us <= KILL_US_MAX) || !end || (*end && *end != ',') || task >= s->host->tasks) {
			drv_error("virtual clock: fault '%s': give kill=TASK@MICROSECONDS,... (task below %u)", text,
			          s->host->tasks);
			return -EINVAL;
		}
		local = mu_host_entry(s->host, (uint32_t)task)->local;
		s->engines++;
		if (emu_sched_push(emu_world_sched(s->world), (uint64_t)(us * 1e6), s->task[local].node,
		                   SIM_PORT_KILL + s->task[local].t, SIM_KILL, local, 0))
			return -ENOMEM;
		text = *end ? end + 1 : end;
	}
	return 0;
}
