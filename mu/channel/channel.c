/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels: open, close, and the calls that the clock of the job decides on (mu/progress/clock.h).
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/channel/pace.h"
#include "mu/engine/engine.h"
#include "mu/engine/lane.h"
#include "mu/process.h"
#include "mu/progress/commthread.h"
#include "mu/progress/clock.h"
#include "mu/transport/transport.h"

static void channel_free(struct mu_channel *ch)
{
	struct mu_spill *s;

	while ((s = ch->rx.spill_first)) {
		ch->rx.spill_first = s->next;
		free(s);
	}
	for (unsigned i = 0; i < MU_INJ_SLOTS; i++)
		free(ch->tx.slot[i].heap);
	free(ch->rx.batch.memory);
	free(ch->rx.fifo);
	free(ch->rx.fifo_source);
	free(ch->rx.fifo_memory);
	free(ch->rget.overflow);
	free(ch->tx.near);
	mu_pace_free(ch->pace);
	free(ch);
}

int mu_channel_open(unsigned index, mu_receive_fn receive, void *arg, struct mu_channel **channel)
{
	struct mu_process *p = &mu_self;
	struct mu_channel *ch;
	int rc;

	if (!p->refs || !receive)
		return -EINVAL;
	if (index >= p->channels) {
		drv_error("channel %u: this job has %u channels per task", index, p->channels);
		return -EINVAL;
	}
	if (atomic_ptr_load_relaxed(&p->channel[index]))
		return -EBUSY;
	ch = aligned_alloc(64, (sizeof *ch + 63) & ~63ul);
	if (!ch)
		return -ENOMEM;
	memset(ch, 0, sizeof *ch);
	ch->tx.near = calloc((size_t)p->host->locals * p->channels, sizeof *ch->tx.near);
	if (!ch->tx.near) {
		free(ch);
		return -ENOMEM;
	}
	ch->p = p;
	ch->index = index;
	ch->receive = receive;
	ch->arg = arg;
	ch->a = mu_host_channel(p->host, p->local, index);
	ch->queues.own = &p->queue[p->queues ? index % p->queues : 0];
	ch->tx.claim = mu_host_claim(p->host, &ch->a->claim[MU_CLAIM_USER].c);
	ch->engine.claim = mu_host_claim(p->host, &ch->a->claim[MU_CLAIM_ENGINE].c);
	ch->traffic = mu_host_traffic(p->host, p->local, index);
	ch->rx.spill_last = &ch->rx.spill_first;
	ch->completion.done_last = &ch->completion.done_first;
	/* A second opening goes on where the first stopped reading. */
	ch->rx.ring.head = ch->rx.ring.published = mu_ring(p->host, p->local, index)->head;
	mu_lane_open(ch);
	rc = mu_inj_fifo_init(&ch->tx.fifo, &ch->a->inj, &ch->a->inj_hw, ch->a->inj_slot,
			      MU_INJ_SLOTS);
	if (!rc) {
		MUSPI_InjFifo_t unused;

		rc = mu_inj_fifo_init(&unused, &ch->a->rget, &ch->a->rget_hw, ch->a->rget_slot,
				      MU_RGET_SLOTS);
		ch->tx.idle_head = p->fifo_only ? 0 : ch->a->inj.pa_tail;
	}
	if (rc) {
		free(ch->tx.near);
		free(ch);
		return rc;
	}
	for (unsigned i = 0; i < MU_COUNTERS; i++)
		ch->completion.counter_free[i] = (uint16_t)(MU_COUNTERS - 1 - i);
	ch->completion.counters_free = MU_COUNTERS;
	for (unsigned i = 0; i < MU_ACKS; i++)
		ch->completion.ack_free[i] = (uint16_t)(MU_ACKS - 1 - i);
	ch->completion.acks_free = MU_ACKS;
	atomic_ptr_store_release(&p->channel[index], ch);
	if (index >= atomic_load_relaxed(&p->channels_open))
		atomic_store_release(&p->channels_open, index + 1);
	atomic_fetch_or_release(&p->area->channels_open, 1ull << index);
	*channel = ch;
	return 0;
}

/* Send what is in the injection FIFO before the channel closes. */
static void drain_injection(struct mu_channel *ch)
{
	struct mu_drain d = {.limit_ns = MU_DRAIN_NS};

	while (mu_has_pending_injection(ch) && mu_may_drain(ch->p, &d, mu_injection_progress(ch))) {
		mu_make_room(ch);
		sched_yield();
	}
}

void mu_channel_close(struct mu_channel *ch)
{
	struct mu_process *p;

	if (!ch)
		return;
	p = ch->p;
	if (p->forked) /* child_after_fork() locked the engine; the operations are the parent's */
		return;
	mu_commthread_remove(ch);
	drain_injection(ch);
	/* The engine thread may run the engine: lock it and never unlock. */
	atomic_ptr_store_release(&p->channel[ch->index], NULL);
	mu_lock_acquire(&ch->engine.lock);
	mu_lock_acquire(&p->channels_lock);
	mu_lock_release(&p->channels_lock);
	/* A thread that uses the port may have found the channel before and try its engine now. */
	for (unsigned q = 0; q < p->queues; q++) {
		mu_lock_acquire(&p->queue[q].lock);
		mu_lock_release(&p->queue[q].lock);
	}
	drv_ring_publish_head(&ch->a->ring, &ch->rx.ring);
	mu_lane_close(ch);
	atomic_fetch_and_release(&p->area->channels_open, ~(1ull << ch->index));
	channel_free(ch);
}

int mu_poll(struct mu_channel *ch)
{
	int n = mu_poll_once(ch);

	mu_wait(ch, n, MU_IDLE_WAIT);
	return n;
}

void mu_make_room(struct mu_channel *ch)
{
	ch->p->clock->make_room(ch);
}

void mu_run_reception(struct mu_channel *ch)
{
	ch->p->clock->receive(ch);
}

void mu_wake_channel(struct mu_channel *ch)
{
	ch->p->clock->wake_channel(ch);
}
