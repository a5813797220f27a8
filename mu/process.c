/* SPDX-License-Identifier: BSD-3-Clause */
/* The attached process, and what it knows about the tasks of its job (launch/attach.c fills it). */
#include "mu/process.h"

#include <errno.h>
#include <unistd.h>

#include "drivers/base/log.h"

struct mu_process mu_self;

int mu_is_forked(void)
{
	return mu_self.forked;
}

void mu_end_task(void)
{
	_exit(1);
}

void mu_end_damaged(const struct mu_channel *ch, const char *part)
{
	drv_error("context %u: %s in the shared memory of this host is damaged: a process of the "
		  "job has written to memory that is not its own. This task ends",
		  ch->index, part);
	mu_end_task();
}

uint32_t mu_task_group(uint32_t task)
{
	const struct mu_task_entry *e = &mu_self.entry[task];

	return mu_self.group_is_host ? e->host : e->node;
}

void mu_task_coord(uint32_t task, struct emu_coord *coord)
{
	struct mu_process *p = &mu_self;

	if (task >= p->host->tasks)
		return;
	emu_node_coord(&p->host->shape, p->entry[task].node, coord);
	coord->t = p->entry[task].t;
}

int mu_coord_task(const struct emu_coord *coord, uint32_t *task)
{
	struct mu_process *p = &mu_self;
	uint32_t found;

	for (int d = 0; d < EMU_DIMS; d++)
		if (coord->c[d] >= p->host->shape.n[d])
			return -ENOENT;
	found = mu_places_task(&p->places, emu_coord_node(&p->host->shape, coord), coord->t);
	if (found == UINT32_MAX)
		return -ENOENT;
	*task = found;
	return 0;
}

int mu_task_is_near(uint32_t task)
{
	return task < mu_self.tasks && mu_self.near[task];
}

int mu_task_is_on_own_node(uint32_t task)
{
	struct mu_process *p = &mu_self;

	return task < p->host->tasks && p->entry[task].node == p->job.node;
}
