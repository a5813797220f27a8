/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: tasks that end. A task that detaches has left; a task that ends before has died. It
 * dies during its turn, at a point of its program, or at a time that a script gives; both are the
 * same in every run. If something outside the run ends it, the run is not repeatable.
 *
 * With MU_ON_DEATH_ERROR all tasks learn of the death DEATH_NEWS_PS later (mu/channel/death.c does
 * the rest). What the task had given to the network by then arrives; what its engines had not yet
 * read from its memory is lost.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "mu/sim/state.h"

#define DEATH_NEWS_PS                                                                              \
	100000000u /* 100 us, as if a kernel noticed the death and reported it to all nodes */

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
	sim_long_put_leave(s, local);
	t->pending.bytes = 0; /* its memory is not read any more */
	t->spilled = 0;
	for (uint32_t c = 0; c < s->channels; c++) {
		list_drop(s, &s->channel[local * s->channels + c].spill_first);
		list_drop(s, &s->channel[local * s->channels + c].gets_first);
	}
	if (t->state == SIM_TASK_IDLE)
		sim_not_idle(s, t);
	sim_spin_leave(s, local);
	if (t->state != SIM_TASK_OUT)
		s->inside--;
	s->syncing -= t->syncs;
	t->syncs = 0;
	sim_task_set(t, SIM_TASK_LEFT);
	t->generation++;
	s->quiet = 0;
	sim_sync_release(s);
}

void sim_announce_end(struct mu_sim *s, uint32_t local, enum mu_task_end how)
{
	struct sim_task *t = &s->task[local];

	if (t->how != MU_TASK_LIVES || !mu_host_outlives_tasks(s->host))
		return;
	t->how = (uint8_t)how;
	s->engines++; /* counts as something under way */
	if (emu_sched_push(emu_world_sched(s->world), s->now + DEATH_NEWS_PS, t->node,
			   SIM_PORT_GONE + t->t, SIM_GONE, local, 0))
		s->error = -ENOMEM;
}

void sim_gone_event(struct mu_sim *s, const struct emu_event *e)
{
	s->engines--;
	mu_host_mark_task_ended(s->host, s->task[e->arg].task, s->task[e->arg].how);
	emu_world_hash(s->world, s->now, SIM_GONE, s->task[e->arg].task);
	sim_long_put_death(s, s->task[e->arg].task);
	for (uint32_t i = 0; i < s->locals; i++)
		sim_wake(s, i);
}

static void end_task(struct mu_sim *s, uint32_t local, enum mu_task_end how)
{
	struct sim_task *t = &s->task[local];

	t->gone = 1;
	t->dead = t->state != SIM_TASK_LEFT;
	sim_leave(s, local);
	sim_announce_end(s, local, how);
}

void mu_sim_task_gone(struct mu_sim *s, uint32_t local, enum mu_task_end how)
{
	const struct sim_task *t = &s->task[local];

	if (t->gone)
		return;
	if (t->state == SIM_TASK_READY || t->state == SIM_TASK_IDLE)
		s->unrepeatable = 1; /* it died at a moment of real time */
	end_task(s, local, how);
}

void sim_kill_event(struct mu_sim *s, const struct emu_event *e)
{
	pid_t pid = sim_process(s, e->arg);

	s->engines--;
	if (s->task[e->arg].state == SIM_TASK_LEFT || s->task[e->arg].gone)
		return;
	if (pid > 1 && kill(pid, SIGKILL))
		drv_warn("virtual clock: task %u cannot be killed: %s", s->task[e->arg].task,
			 strerror(errno));
	end_task(s, e->arg, MU_TASK_DIED);
}
