/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that are gone (torus run --on-death error): what waits for them ends.
 *
 * The agent marks a task in the host segment and wakes everybody. Each channel then, in its user's
 * thread, first takes everything that its ring held at that moment: what the task had sent before it
 * died counts. Then operations under way to it end with -ESHUTDOWN, under the engine lock, so that
 * no packet of it can be in work; later ones are dropped where they could touch memory that is the
 * user's again (engine_receive.c). Descriptors for it are retired by engine_inject.c.
 */
#include <errno.h>

#include "mu/process.h"

int mu_task_dead(uint32_t task)
{
	struct mu_process *p = &mu_self;

	return task < p->tasks && mu_host_gone(p->host, task) == MU_TASK_DIED;
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
