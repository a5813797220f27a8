/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels: open, close, completion, the poll. Hot: guarded by bench/pami_latency. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/commthread.h"
#include "mu/holder.h"
#include "mu/live.h"
#include "mu/process.h"
#include "mu/vtask.h"

static void channel_free(struct mu_channel *ch)
{
	struct mu_spill *s;

	while ((s = ch->spill_first)) {
		ch->spill_first = s->next;
		free(s);
	}
	for (unsigned i = 0; i < MU_INJ_SLOTS; i++)
		free(ch->slot[i].heap);
	free(ch->rec);
	free(ch->rec_source);
	free(ch->rec_memory);
	free(ch->rget_more);
	free(ch->out);
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
	if (p->channel[index])
		return -EBUSY;
	ch = aligned_alloc(64, (sizeof *ch + 63) & ~63ul);
	if (!ch)
		return -ENOMEM;
	memset(ch, 0, sizeof *ch);
	ch->out = calloc((size_t)p->host->locals * p->channels, sizeof *ch->out);
	if (!ch->out) {
		free(ch);
		return -ENOMEM;
	}
	ch->p = p;
	ch->index = index;
	ch->receive = receive;
	ch->arg = arg;
	ch->a = mu_host_channel(p->host, p->local, index);
	if (p->host->on_death == MU_ON_DEATH_ERROR) {
		ch->claim_user = &ch->a->claim[MU_CLAIM_USER].c;
		ch->claim_engine = &ch->a->claim[MU_CLAIM_ENGINE].c;
	}
	ch->traffic = mu_host_traffic(p->host, p->local, index);
	ch->spill_last = &ch->spill_first;
	ch->done_last = &ch->done_first;
	/* A second opening goes on where the first stopped reading. */
	ch->rx.head = ch->rx.published = mu_ring(p->host, p->local, index)->head;
	mu_lane_open(ch);
	rc = mu_inj_fifo_init(&ch->inj, &ch->a->inj, &ch->a->inj_hw, ch->a->inj_slot, MU_INJ_SLOTS);
	if (!rc) {
		MUSPI_InjFifo_t unused;

		rc = mu_inj_fifo_init(&unused, &ch->a->rget, &ch->a->rget_hw, ch->a->rget_slot, MU_RGET_SLOTS);
	}
	if (rc) {
		free(ch->out);
		free(ch);
		return rc;
	}
	for (unsigned i = 0; i < MU_COUNTERS; i++)
		ch->counter_free[i] = (uint16_t)(MU_COUNTERS - 1 - i);
	ch->counters_free = MU_COUNTERS;
	for (unsigned i = 0; i < MU_ACKS; i++)
		ch->ack_free[i] = (uint16_t)(MU_ACKS - 1 - i);
	ch->acks_free = MU_ACKS;
	__atomic_store_n(&p->channel[index], ch, __ATOMIC_RELEASE);
	if (index >= p->channels_open)
		__atomic_store_n(&p->channels_open, index + 1, __ATOMIC_RELEASE);
	__atomic_fetch_or(&p->area->channels_open, 1ull << index, __ATOMIC_RELEASE);
	*channel = ch;
	return 0;
}

/* Everything handed in must be beyond our help before the channel goes. */
static void drain(struct mu_channel *ch)
{
	uint64_t until = drv_clock_ns() + 5000000000u;

	while (mu_inject_pending(ch) && !ch->p->host->ending && drv_clock_ns() < until) {
		mu_push(ch);
		sched_yield();
	}
}

void mu_channel_close(struct mu_channel *ch)
{
	struct mu_process *p;

	if (!ch)
		return;
	p = ch->p;
	mu_commthread_remove(ch);
	drain(ch);
	/* The engine thread may be inside: take the engine for good. */
	__atomic_store_n(&p->channel[ch->index], NULL, __ATOMIC_RELEASE);
	mu_lock(&ch->engine);
	mu_lock(&p->channels_lock);
	mu_unlock(&p->channels_lock);
	/* Whoever uses the port may have found the channel just before, and try its engine yet. */
	mu_lock(&p->holding);
	mu_unlock(&p->holding);
	drv_ring_publish_head(&ch->a->ring, &ch->rx);
	mu_lane_close(ch);
	__atomic_fetch_and(&p->area->channels_open, ~(1ull << ch->index), __ATOMIC_RELEASE);
	channel_free(ch);
}

void mu_op_later(struct mu_channel *ch, struct mu_op *op, int result)
{
	if (!op)
		return;
	op->state[0] = (uint64_t)(int64_t)result;
	op->next = NULL;
	*ch->done_last = op;
	ch->done_last = &op->next;
}

/*
 * An answer to mu_flush(), or the second half of a put. The engine thread may be the one to get it,
 * while the owner takes and frees entries: it only puts it on a list.
 */
void mu_ack_done(struct mu_channel *ch, const struct mu_internal *m)
{
	struct mu_ack *a = m->index < MU_ACKS ? &ch->ack[m->index] : NULL;
	uint32_t head;

	if (!a || __atomic_load_n(&a->generation, __ATOMIC_ACQUIRE) != m->generation ||
	    a->answered == m->generation) {
		if (mu_gone_count())
			return; /* of a task that is gone */
		ch->bad++;
		drv_warn("channel %u: acknowledgement of nothing (entry %u)", ch->index, m->index);
		return;
	}
	a->answered = m->generation;
	head = __atomic_load_n(&ch->acks_arrived, __ATOMIC_RELAXED);
	do
		a->next = head;
	while (!__atomic_compare_exchange_n(&ch->acks_arrived, &head, m->index + 1u, 1, __ATOMIC_RELEASE,
	                                    __ATOMIC_RELAXED)); /* pairs with the exchange in take_acks() */
}

static void take_acks(struct mu_channel *ch)
{
	uint32_t at = __atomic_exchange_n(&ch->acks_arrived, 0, __ATOMIC_ACQUIRE), first = 0, next;

	for (; at; at = next) { /* into the order of arrival */
		next = ch->ack[at - 1].next;
		ch->ack[at - 1].next = first;
		first = at;
	}
	for (at = first; at; at = next) {
		struct mu_ack *a = &ch->ack[at - 1];

		next = a->next;
		mu_op_later(ch, a->op, -(int)a->error);
		a->op = NULL;
		ch->ack_free[ch->acks_free++] = (uint16_t)(at - 1);
	}
}

/* The target could not reach memory: all that is under way to it from here ends with that error. */
void mu_fault_seen(struct mu_channel *ch, uint32_t task, int error)
{
	uint32_t k = 0;

	/* The operations are the owner's, who need not be this thread. */
	for (unsigned i = 0; i < MU_ACKS; i++) {
		struct mu_ack *a = &ch->ack[i];

		if (__atomic_load_n(&a->generation, __ATOMIC_ACQUIRE) != a->answered &&
		    __atomic_load_n(&a->task, __ATOMIC_RELAXED) == task)
			a->error = (uint32_t)error;
	}
	mu_lock(&ch->fault_lock);
	while (k < ch->faults && ch->fault[k].task != task)
		k++;
	if (k == MU_FAULTS)
		ch->fault[--k].task = UINT32_MAX;
	else if (k == ch->faults)
		ch->fault[k].task = task;
	ch->fault[k].error = error;
	__atomic_store_n(&ch->faults, k < ch->faults ? ch->faults : k + 1, __ATOMIC_RELEASE);
	mu_unlock(&ch->fault_lock);
}

void mu_faults_take(struct mu_channel *ch)
{
	mu_lock(&ch->fault_lock);
	for (unsigned i = 0; i < ch->counters_busy; i++) {
		uint16_t c = ch->counter_busy[i];

		for (unsigned k = 0; k < ch->faults; k++)
			if (ch->counter_task[c] == ch->fault[k].task || ch->fault[k].task == UINT32_MAX) {
				ch->counter_op[c]->state[1] = (uint64_t)ch->fault[k].error;
				__atomic_store_n(&ch->a->counter[c], 0, __ATOMIC_RELAXED);
			}
	}
	__atomic_store_n(&ch->faults, 0, __ATOMIC_RELAXED);
	mu_unlock(&ch->fault_lock);
}

/* Take done descriptors off their slots; their operations are told at the next poll. */
void mu_retire(struct mu_channel *ch)
{
	uint64_t done = MUSPI_getHwDescCount(&ch->inj);

	while (ch->retired < done) {
		struct mu_slot *s = &ch->slot[ch->retired % MU_INJ_SLOTS];

		mu_op_later(ch, s->op, s->result);
		mu_op_later(ch, s->op2, s->result);
		free(s->heap);
		*s = (struct mu_slot){ 0 };
		ch->retired++;
	}
}

static void scan_counters(struct mu_channel *ch)
{
	for (unsigned i = 0; i < ch->counters_busy;) {
		uint16_t c = ch->counter_busy[i];
		struct mu_op *op = ch->counter_op[c];

		if (__atomic_load_n(&ch->a->counter[c], __ATOMIC_ACQUIRE)) {
			i++;
			continue;
		}
		__atomic_store_n(&ch->counter_end[c], 0, __ATOMIC_RELAXED);
		ch->counter_busy[i] = ch->counter_busy[--ch->counters_busy];
		ch->counter_free[ch->counters_free++] = c;
		mu_op_later(ch, op, op->state[1] ? -(int)op->state[1] : 0);
	}
}

/* Call done functions of what has completed. */
static int complete(struct mu_channel *ch)
{
	struct mu_op *op, *next;
	int n = 0;

	if (ch->inj.numInjected != ch->retired)
		mu_retire(ch);
	if (__builtin_expect(__atomic_load_n(&ch->faults, __ATOMIC_ACQUIRE), 0))
		mu_faults_take(ch);
	if (ch->counters_busy)
		scan_counters(ch);
	if (__atomic_load_n(&ch->acks_arrived, __ATOMIC_RELAXED))
		take_acks(ch);
	if (!ch->done_first)
		return 0;
	op = ch->done_first;
	ch->done_first = NULL;
	ch->done_last = &ch->done_first;
	for (; op; op = next, n++) {
		next = op->next;
		op->done(op, (int)(int64_t)op->state[0]);
	}
	return n;
}

/* Gets that came for channels which idle threads help with: answered before anything else, as this channel's are. */
static void run_behind(struct mu_process *p, uint64_t behind)
{
	int n = 0;

	for (; behind; behind &= behind - 1) {
		struct mu_comm_entry *e = &p->comm.entry[__builtin_ctzll(behind)];
		struct mu_channel *ch;

		if (!mu_try(&e->running))
			continue; /* its owner, or who helps, does it */
		ch = e->fn && mu_inject_pending(e->ch) && mu_try(&e->ch->engine) ? e->ch : NULL;
		mu_unlock(&e->running); /* its owner looks again soon where this is taken; the engine keeps it open */
		if (ch) {
			mu_engine_inject(ch);
			mu_unlock(&ch->engine);
			n++;
		}
	}
	if (n)
		mu_path_flush(p, NULL);
}

static int poll_port(struct mu_channel *ch)
{
	struct mu_process *p = ch->p;
	uint64_t behind = 0;
	int n = 0;

	if (p->holder && mu_try(&p->holding)) {
		n = mu_holder_poll_for(p->holder, ch);
		behind = p->behind;
		p->behind = 0;
		mu_unlock(&p->holding);
		if (behind)
			run_behind(p, behind);
	}
	if (p->live)
		n += mu_live_poll(p->live);
	return n > 0 ? n : 0;
}

__thread uint32_t mu_in_poll;

static int poll_virtual(struct mu_channel *ch)
{
	int n, gone = 0;

	mu_vt_check(); /* what has happened up to now is in memory */
	mu_in_poll++;
	n = mu_engine_receive(ch, 32, 1);
	if (mu_gone_news(ch))
		gone = mu_gone_sweep(ch);
	if (gone && ch->on_gone)
		ch->on_gone(ch->arg);
	n += gone + complete(ch);
	if (!n && ch->p->comm.count)
		n = mu_comm_virtual(ch->p);
	mu_in_poll--;
	return n;
}

void mu_wait(struct mu_channel *ch, int found)
{
	if (__builtin_expect(ch->p->virtual_clock, 0)) {
		if (!found) {
			mu_charge_now(MU_COST_poll, 1);
			mu_vt_idle();
		}
	} else if (found) {
		mu_idle_state.count = 0;
		/* Of this round, for a channel that others lend a hand: it need not wait for the next. */
		if (__builtin_expect(__atomic_load_n(&ch->p->comm.wanted, __ATOMIC_RELAXED), 0)) {
			__atomic_store_n(&ch->p->comm.wanted, 0, __ATOMIC_RELAXED);
			mu_comm_help(ch->p);
		}
	} else {
		mu_idle(ch);
	}
}

int mu_poll_now(struct mu_channel *ch)
{
	int n = 0, gone = 0;

	if (__builtin_expect(ch->p->virtual_clock, 0))
		return poll_virtual(ch);
	__atomic_store_n(&ch->stamp, ch->stamp + 1, __ATOMIC_RELAXED);
	if (mu_try(&ch->engine)) {
		ch->inside = 1;
		if ((ch->p->holder || ch->p->live) && !mu_idle_state.helping)
			n = poll_port(ch);
		n += mu_engine_receive(ch, 32, 1);
		if (mu_inject_pending(ch)) {
			n += mu_engine_inject(ch);
			mu_path_flush(ch->p, ch);
		}
		if (mu_gone_news(ch))
			gone = mu_gone_sweep(ch);
		ch->inside = 0;
		mu_unlock(&ch->engine);
	}
	if (__builtin_expect(__atomic_load_n(&ch->a->ring.asked, __ATOMIC_RELAXED) != 0, 0))
		mu_share_help(ch);
	if (gone && ch->on_gone)
		ch->on_gone(ch->arg);
	return n + gone + complete(ch);
}

int mu_poll(struct mu_channel *ch)
{
	int n = mu_poll_now(ch);

	mu_wait(ch, n);
	return n;
}

/* Run injection after software queued something, unless somebody else is at it. */
void mu_inject_now(struct mu_channel *ch)
{
	if (ch->p->virtual_clock)
		return;
	if (ch->inside) {
		mu_engine_inject(ch);
		mu_path_flush(ch->p, ch);
	} else if (mu_try(&ch->engine)) {
		mu_engine_inject(ch);
		mu_unlock(&ch->engine);
		mu_path_flush(ch->p, ch);
	}
}

/* Counters and entries for answers that are done with are free again; who waits is told by the next poll. */
static void reap(struct mu_channel *ch)
{
	if (__builtin_expect(__atomic_load_n(&ch->faults, __ATOMIC_ACQUIRE), 0))
		mu_faults_take(ch);
	if (ch->counters_busy)
		scan_counters(ch);
	if (__atomic_load_n(&ch->acks_arrived, __ATOMIC_RELAXED))
		take_acks(ch);
}

void mu_push(struct mu_channel *ch)
{
	if (ch->p->virtual_clock) {
		mu_charge_now(MU_COST_poll, 1);
		mu_vt_check();
		if (!ch->inside)
			mu_engine_receive(ch, 32, 0);
		reap(ch);
		return;
	}
	if (ch->inside) {
		mu_engine_inject(ch);
	} else if (mu_try(&ch->engine)) {
		/* Store, never dispatch: makes room at our side so that others can make room at theirs. */
		if (ch->p->holder && !__atomic_load_n(&ch->p->here, __ATOMIC_RELAXED) && mu_try(&ch->p->holding)) {
			mu_holder_poll_for(ch->p->holder, NULL);
			mu_unlock(&ch->p->holding);
		}
		mu_engine_receive(ch, 32, 0);
		mu_engine_inject(ch);
		mu_unlock(&ch->engine);
	}
	if (ch->p->live)
		mu_live_poll(ch->p->live);
	mu_path_flush(ch->p, ch);
	reap(ch);
}
