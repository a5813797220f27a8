/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that have ended (torus run --on-death error): end the operations that wait for them.
 *
 * The agent marks the task in the host segment and wakes all tasks. The user thread of each channel
 * first takes everything that its ring held at that moment, because messages that the task sent
 * before it ended are valid. It then ends the operations in flight to the task with -ESHUTDOWN,
 * under the engine lock, so that no packet of the task is being processed. engine/receive.c drops
 * later packets that could touch memory which belongs to the user again. engine/inject.c retires
 * descriptors for the task.
 *
 * Fabric torus: a lost host takes its routers along. Tasks whose route, there or back, crosses it
 * count as unreachable for each other (mu_is_cut_off): packets are lost there and are not sent
 * again.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "mu/engine/engine.h"
#include "mu/engine/lane.h"
#include "mu/process.h"
#include "mu/transport/transport.h"

int mu_task_is_dead(uint32_t task)
{
	struct mu_process *p = &mu_self;

	return task < p->tasks &&
	       (mu_host_task_end(p->host, task) == MU_TASK_DIED || mu_is_cut_off(p, task));
}

int mu_has_lost_hosts(void)
{
	return mu_self.tasks && atomic_load_acquire(&mu_self.host->hosts_lost) != 0;
}

int mu_tasks_are_cut_off(uint32_t a, uint32_t b)
{
	struct mu_process *p = &mu_self;

	return mu_has_lost_hosts() && p->remote->is_cut && a < p->tasks && b < p->tasks &&
	       p->remote->is_cut(p, p->entry[a].node, p->entry[b].node);
}

/* A host is lost: mark the tasks that it cuts off from this one. */
static void cut_update(struct mu_process *p, uint32_t lost)
{
	atomic_u8 *cut;

	if (!p->remote->is_cut)
		return;
	mu_lock_acquire(&p->cut_lock);
	cut = atomic_ptr_load_relaxed(&p->cut);
	cut = cut ? cut : calloc(p->tasks, sizeof *cut);
	if (!cut)
		drv_error("a host is lost, and there is no memory to mark the tasks that it cuts "
			  "off: operations to them may never end");
	for (uint32_t i = 0; cut && i < p->tasks; i++)
		if (i != p->task && !atomic_load_relaxed(&cut[i]) &&
		    mu_tasks_are_cut_off(p->task, i))
			atomic_store_relaxed(&cut[i], 1);
	atomic_ptr_store_release(&p->cut, cut);
	atomic_store_release(&p->lost_seen, lost);
	mu_lock_release(&p->cut_lock);
}

int mu_task_is_unreachable(uint32_t task)
{
	return task < mu_self.tasks && mu_is_unreachable(&mu_self, task);
}

uint32_t mu_death_count(void)
{
	return mu_self.tasks ? atomic_load_acquire(&mu_self.host->deaths) : 0;
}

void mu_channel_on_death(struct mu_channel *ch, void (*fn)(void *arg))
{
	ch->death.notify = fn;
}

/* Is everything dispatched that arrived before the channel learnt of the death? */
static bool is_all_dispatched(struct mu_channel *ch)
{
	if ((int64_t)(ch->rx.ring.head - ch->death.ring_tail) < 0 &&
	    !drv_ring_is_ready(&ch->a->ring, &ch->rx.ring))
		mu_ring_skip_dead_claims(ch->p->host, &ch->a->ring, &ch->rx.ring);
	return (int64_t)(ch->rx.ring.head - ch->death.ring_tail) >= 0 &&
	       !mu_lane_has_record(ch, 1) && !mu_has_stored_records(ch);
}

static void end_flushes(struct mu_channel *ch)
{
	for (unsigned i = 0; i < MU_ACKS; i++) {
		struct mu_ack *a = &ch->completion.ack[i];

		uint32_t generation = atomic_load_acquire(&a->generation);

		if (!a->op || a->answered == generation ||
		    !mu_is_unreachable(ch->p, atomic_load_relaxed(&a->task)))
			continue;
		a->answered = generation; /* a late answer is ignored */
		mu_op_complete_later(ch, a->op, -ESHUTDOWN);
		a->op = NULL;
		DRV_ASSERT(ch->completion.acks_free < MU_ACKS);
		ch->completion.ack_free[ch->completion.acks_free++] = (uint16_t)i;
	}
}

/* The poll finds their counters at zero. */
static void end_gets(struct mu_channel *ch)
{
	for (unsigned i = 0; i < ch->completion.counters_busy; i++) {
		uint16_t c = ch->completion.counter_busy[i];

		if (!atomic_load_acquire(&ch->a->counter[c]) ||
		    !mu_is_unreachable(ch->p, ch->completion.counter_task[c]))
			continue;
		ch->completion.counter_error[c] = ESHUTDOWN;
		atomic_store_relaxed(&ch->a->counter[c], 0);
	}
}

int mu_apply_deaths(struct mu_channel *ch)
{
	uint32_t count = atomic_load_acquire(&ch->p->host->deaths);
	uint32_t lost = atomic_load_acquire(&ch->p->host->hosts_lost);

	mu_assert_engine(ch);
	if (lost != atomic_load_acquire(&ch->p->lost_seen))
		cut_update(ch->p, lost);
	if (count != ch->death.noted) {
		ch->death.noted = count;
		ch->death.ring_tail = atomic_load_acquire(&ch->a->ring.tail);
	}
	if (!is_all_dispatched(ch))
		return 0;
	end_flushes(ch);
	end_gets(ch);
	ch->death.applied = count;
	return 1;
}
