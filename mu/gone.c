/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that are gone (torus run --on-death error): what waits for them ends.
 *
 * The agent marks a task in the host segment and wakes everybody. Each channel then, in its user's
 * thread, first takes everything that its ring held at that moment: what the task had sent before it
 * died counts. Then operations under way to it end with -ESHUTDOWN, under the engine lock, so that
 * no packet of it can be in work; later ones are dropped where they could touch memory that is the
 * user's again (engine_receive.c). Descriptors for it are retired by engine_inject.c.
 *
 * Fabric torus: a host that is lost takes routers along. Tasks between which a way, there or back, leads over
 * it count as gone for each other (mu_cut): packets are lost there, and none is sent again.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/log.h"
#include "mu/live.h"
#include "mu/process.h"

int mu_task_dead(uint32_t task)
{
	struct mu_process *p = &mu_self;

	return task < p->tasks && (mu_host_gone(p->host, task) == MU_TASK_DIED || mu_cut(p, task));
}

int mu_hosts_lost(void)
{
	return mu_self.tasks && __atomic_load_n(&mu_self.host->lost, __ATOMIC_ACQUIRE) != 0;
}

int mu_tasks_cut(uint32_t a, uint32_t b)
{
	struct mu_process *p = &mu_self;

	return mu_hosts_lost() && p->live && a < p->tasks && b < p->tasks &&
	       mu_live_cut(p->live, p->entry[a].node, p->entry[b].node);
}

/* A host is lost: whom do we not reach any more? */
static void cut_update(struct mu_process *p, uint32_t lost)
{
	uint8_t *cut;

	if (!p->live)
		return;
	mu_lock(&p->cut_lock);
	cut = p->cut ? p->cut : calloc(p->tasks, 1);
	if (!cut)
		drv_error("a host is lost: no memory to note which tasks are out of reach: waiting for them may not end");
	for (uint32_t i = 0; cut && i < p->tasks; i++)
		if (i != p->task && !cut[i] && mu_tasks_cut(p->task, i))
			__atomic_store_n(&cut[i], 1, __ATOMIC_RELAXED);
	__atomic_store_n(&p->cut, cut, __ATOMIC_RELEASE);
	__atomic_store_n(&p->lost_seen, lost, __ATOMIC_RELEASE);
	mu_unlock(&p->cut_lock);
}

int mu_task_gone(uint32_t task)
{
	return task < mu_self.tasks && mu_gone(&mu_self, task);
}

uint32_t mu_gone_count(void)
{
	return mu_self.tasks ? __atomic_load_n(&mu_self.host->gone, __ATOMIC_ACQUIRE) : 0;
}

void mu_channel_on_gone(struct mu_channel *ch, void (*fn)(void *arg))
{
	ch->on_gone = fn;
}

/* Nothing came before the news that is still to be dispatched. */
static int all_dispatched(struct mu_channel *ch)
{
	if ((int64_t)(ch->rx.head - ch->gone_tail) < 0 && !drv_ring_ready(&ch->a->ring, &ch->rx))
		mu_ring_heal(ch->p->host, &ch->a->ring, &ch->rx);
	return (int64_t)(ch->rx.head - ch->gone_tail) >= 0 && !mu_lane_ready(ch, 1) && !ch->spill_first &&
	       (!ch->rec || ch->rec_hw.pa_head == ch->rec_hw.pa_tail);
}

static void end_flushes(struct mu_channel *ch)
{
	for (unsigned i = 0; i < MU_ACKS; i++) {
		struct mu_ack *a = &ch->ack[i];

		if (!a->op || a->answered == a->generation || !mu_gone(ch->p, a->task))
			continue;
		a->answered = a->generation; /* an answer that still comes names nothing */
		mu_op_later(ch, a->op, -ESHUTDOWN);
		a->op = NULL;
		ch->ack_free[ch->acks_free++] = (uint16_t)i;
	}
}

/* The poll finds their counters at zero. */
static void end_gets(struct mu_channel *ch)
{
	for (unsigned i = 0; i < ch->counters_busy; i++) {
		uint16_t c = ch->counter_busy[i];

		if (!__atomic_load_n(&ch->a->counter[c], __ATOMIC_ACQUIRE) || !mu_gone(ch->p, ch->counter_task[c]))
			continue;
		ch->counter_op[c]->state[1] = ESHUTDOWN;
		__atomic_store_n(&ch->a->counter[c], 0, __ATOMIC_RELAXED);
	}
}

int mu_gone_sweep(struct mu_channel *ch)
{
	uint32_t count = __atomic_load_n(&ch->p->host->gone, __ATOMIC_ACQUIRE);
	uint32_t lost = __atomic_load_n(&ch->p->host->lost, __ATOMIC_ACQUIRE);

	if (lost != __atomic_load_n(&ch->p->lost_seen, __ATOMIC_ACQUIRE))
		cut_update(ch->p, lost);
	if (count != ch->gone_noted) {
		ch->gone_noted = count;
		ch->gone_tail = __atomic_load_n(&ch->a->ring.tail, __ATOMIC_ACQUIRE);
	}
	if (!all_dispatched(ch))
		return 0;
	end_flushes(ch);
	end_gets(ch);
	ch->gone_seen = count;
	return 1;
}
