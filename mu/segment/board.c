/* SPDX-License-Identifier: BSD-3-Clause */
/* Words and memory that the tasks of a node share. Hot: bench/figures/coll_figures. */
#include "mu/segment/board.h"

#include <errno.h>

#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "mu/engine/memory.h"
#include "mu/process.h"
#include "mu/progress/clock.h"

void *mu_board(unsigned id)
{
	return mu_host_board(mu_self.host, mu_self.job.node, id % MU_CLASSES);
}

static void wake_task(const struct mu_process *p, uint32_t task)
{
	mu_host_wake_waiters(p->host, p->entry[task].local);
}

void mu_board_wake(const struct mu_process *p, uint32_t task)
{
	if (task != MU_NODE_ALL) {
		wake_task(p, task);
		return;
	}
	for (uint32_t i = 0; i < p->job.local_tasks; i++)
		if (p->job.local_list[i] != p->task)
			wake_task(p, (uint32_t)p->job.local_list[i]);
}

void mu_node_store(struct mu_channel *ch, uint64_t *word, uint64_t value, uint32_t task)
{
	mu_charge(MU_COST_node_store, 1);
	ch->p->clock->store(ch->p, word, value, task);
}

void mu_node_add(struct mu_channel *ch, uint64_t *word, uint64_t value, uint64_t wake_at,
		 uint32_t task)
{
	mu_charge(MU_COST_node_store, 1);
	ch->p->clock->add(ch->p, word, value, wake_at, task);
}

int mu_node_read(uint32_t task, void *to, uint64_t va, size_t bytes)
{
	static int warned;
	struct mu_process *p = &mu_self;
	int rc;

	if (task == p->task)
		return mu_copy_in(p, to, va, bytes, NULL);
	rc = mu_copy_from(p, p->entry[task].local, to, va, bytes);
	if (rc == -EPERM && !atomic_exchange_relaxed(&warned, 1))
		drv_warn("reading memory of task %u refused (ptrace protection): its data goes "
			 "through shared memory, slower; "
			 "set kernel.yama.ptrace_scope to 0 or 1",
			 task);
	return rc;
}
