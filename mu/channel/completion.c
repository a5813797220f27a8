/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion: from answers, counters and descriptors that are done to the done functions of
 * operations. Hot: guarded by bench/micro/pami_latency and bench/micro/pami_rdma.
 */
#include <stdlib.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "mu/engine/engine.h"
#include "mu/engine/known_memory.h"

void mu_op_complete_later(struct mu_channel *ch, struct mu_op *op, int result)
{
	if (!op)
		return;
	op->state[0] = (uint64_t)(int64_t)result;
	DRV_ASSERT(!*ch->completion.done_last && ch->completion.done_last != &op->next);
	op->next = NULL;
	*ch->completion.done_last = op;
	ch->completion.done_last = &op->next;
}

struct mu_ack *mu_ack_take(struct mu_channel *ch, uint32_t task, uint32_t channel, struct mu_op *op)
{
	struct mu_ack *a = &ch->completion.ack[ch->completion.ack_free[--ch->completion.acks_free]];

	a->op = op;
	a->error = 0;
	a->channel = channel;
	a->injected = ch->tx.fifo.numInjected;
	atomic_store_relaxed(&a->task, task);
	atomic_store_release(&a->generation, atomic_load_relaxed(&a->generation) + 1);
	return a;
}

/*
 * Return the entry that waits for this answer, or NULL. mask: the bits of the generation that the
 * answer has.
 */
static struct mu_ack *find_ack(struct mu_channel *ch, uint32_t index, uint32_t generation,
			       uint32_t mask)
{
	if (index < MU_ACKS) {
		struct mu_ack *a = &ch->completion.ack[index];

		if ((atomic_load_acquire(&a->generation) & mask) == generation &&
		    (a->answered & mask) != generation)
			return a;
	}
	if (mu_death_count())
		return NULL; /* the answer of a task that has ended */
	ch->engine.refused++;
	drv_warn("channel %u: acknowledgement for entry %u, which waits for none: dropped",
		 ch->index, index);
	return NULL;
}

/*
 * The entry was answered. The engine thread may receive the answer while the user thread takes and
 * frees entries, so this only pushes the entry on a list.
 */
static void push_ack(struct mu_channel *ch, struct mu_ack *a)
{
	uint32_t head = atomic_load_relaxed(&ch->completion.acks_arrived);

	a->answered = atomic_load_relaxed(&a->generation);
	do
		a->next = head;
	/* Pairs with the exchange in complete_acks(). */
	while (!atomic_cas_weak_release(&ch->completion.acks_arrived, &head,
					(uint32_t)(a - ch->completion.ack) + 1u));
}

/* The target answered mu_flush(), or the second half of a put. */
void mu_ack_done(struct mu_channel *ch, const struct mu_internal *m)
{
	struct mu_ack *a = find_ack(ch, m->index, m->generation, UINT32_MAX);

	if (a)
		push_ack(ch, a);
}

/* The target answered mu_send_atomic(). */
void mu_value_done(struct mu_channel *ch, const struct mu_internal_value *m)
{
	struct mu_ack *a = find_ack(ch, m->index, m->generation, UINT16_MAX);

	if (!a)
		return;
	a->value = m->value;
	if (m->error)
		a->error = m->error;
	push_ack(ch, a);
}

static void complete_acks(struct mu_channel *ch)
{
	uint32_t at = atomic_exchange_acquire(&ch->completion.acks_arrived, 0), first = 0, next;

	for (; at; at = next) { /* reverse into the order of arrival */
		next = ch->completion.ack[at - 1].next;
		ch->completion.ack[at - 1].next = first;
		first = at;
	}
	for (at = first; at; at = next) {
		struct mu_ack *a = &ch->completion.ack[at - 1];

		next = a->next;
		if (a->op)
			a->op->state[1] = a->value;
		mu_op_complete_later(ch, a->op, -(int)a->error);
		a->op = NULL;
		DRV_ASSERT(ch->completion.acks_free < MU_ACKS);
		ch->completion.ack_free[ch->completion.acks_free++] = (uint16_t)(at - 1);
	}
}

/*
 * Memory that a put names is not there. Puts have no number, and answers of a channel arrive in the
 * order of its flushes, so the error belongs to the first flush of that channel that is in flight.
 */
void mu_access_error_record_put(struct mu_channel *ch, uint32_t task, uint32_t channel,
				uint64_t first, int error)
{
	struct mu_ack *found = NULL;

	/* Only the user thread ends operations: mark the entry. */
	for (unsigned i = 0; i < MU_ACKS; i++) {
		struct mu_ack *a = &ch->completion.ack[i];

		if (atomic_load_acquire(&a->generation) != a->answered && a->channel == channel &&
		    atomic_load_relaxed(&a->task) == task && a->injected >= first &&
		    (!found || a->injected < found->injected))
			found = a;
	}
	if (found)
		found->error = (uint32_t)error;
}

/* A get in flight whose memory is not there ends. Other pieces of it may have ended it before. */
void mu_access_error_record_get(struct mu_channel *ch, uint32_t task, uint32_t counter,
				uint32_t address, int error)
{
	uint32_t c = (counter - (uint32_t)(uintptr_t)ch->a->counter) / 8;

	if (c >= MU_COUNTERS || !atomic_load_acquire(&ch->a->counter[c]) ||
	    ch->completion.counter_task[c] != task ||
	    address - (uint32_t)atomic_load_relaxed(&ch->completion.counter_to[c]) >=
		atomic_load_relaxed(&ch->completion.counter_end[c]) -
		    atomic_load_relaxed(&ch->completion.counter_to[c]))
		return;
	ch->completion.counter_error[c] = error;
	atomic_store_release(&ch->a->counter[c], 0);
}

void mu_access_error_record(struct mu_channel *ch, uint32_t task,
			    const struct mu_internal_access_error *m)
{
	if (m->counter)
		mu_access_error_record_get(ch, task, m->counter & ~7u, m->address, m->error);
	else
		mu_access_error_record_put(ch, task, m->channel, 0, m->error);
}

/* Clean the slots of descriptors up to `done`. */
static void retire_up_to(struct mu_channel *ch, uint64_t done)
{
	while (ch->tx.retired < done) {
		struct mu_slot *s = &ch->tx.slot[ch->tx.retired % MU_INJ_SLOTS];

		mu_op_complete_later(ch, s->op, s->result);
		mu_op_complete_later(ch, s->op2, s->result);
		free(s->heap);
		*s = (struct mu_slot){0};
		ch->tx.retired++;
	}
}

/* Complete the operations of slots that engines finished, in that order; their payload stays until
 * the head has passed them. What was done before the engines began comes first. */
static void complete_early(struct mu_channel *ch, uint64_t done)
{
	uint32_t at = atomic_exchange_acquire(&ch->completion.done_early, 0), first = 0, next;
	uint64_t from = done;

	for (; at; at = next) { /* reverse into the order of completion */
		uint64_t number = ch->tx.retired + (at - 1 - ch->tx.retired) % MU_INJ_SLOTS;

		next = ch->tx.slot[at - 1].next;
		ch->tx.slot[at - 1].next = (uint16_t)first;
		first = at;
		from = number < from ? number : from;
	}
	retire_up_to(ch, from);
	for (at = first; at; at = next) {
		struct mu_slot *s = &ch->tx.slot[at - 1];

		next = s->next;
		mu_op_complete_later(ch, s->op, s->result);
		mu_op_complete_later(ch, s->op2, s->result);
		s->op = s->op2 = NULL;
	}
}

/* Clean the slots of descriptors that are done; the next poll calls their done functions. */
void mu_retire_descriptors(struct mu_channel *ch)
{
	uint64_t done = MUSPI_getHwDescCount(&ch->tx.fifo);

	DRV_ASSERT(done <= ch->tx.fifo.numInjected);
	/* After the count: a slot below it that an engine finished is in the list by now. */
	if (atomic_load_relaxed(&ch->completion.done_early))
		complete_early(ch, done);
	retire_up_to(ch, done);
}

static void complete_counters(struct mu_channel *ch)
{
	for (unsigned i = 0; i < ch->completion.counters_busy;) {
		uint16_t c = ch->completion.counter_busy[i];
		struct mu_op *op = ch->completion.counter_op[c];

		if (atomic_load_acquire(&ch->a->counter[c])) {
			i++;
			continue;
		}
		atomic_store_relaxed(&ch->completion.counter_end[c], 0);
		ch->completion.counter_busy[i] =
		    ch->completion.counter_busy[--ch->completion.counters_busy];
		ch->completion.counter_free[ch->completion.counters_free++] = c;
		DRV_ASSERT(ch->completion.counters_free + ch->completion.counters_busy ==
			   MU_COUNTERS);
		mu_op_complete_later(ch, op, -ch->completion.counter_error[c]);
	}
}

bool mu_channel_find_waits(const struct mu_channel *ch, enum mu_waits *what, uint32_t *task)
{
	const struct mu_channel_completion *c = &ch->completion;

	for (unsigned i = 0; i < c->counters_busy; i++) {
		*what = MU_WAITS_GET;
		*task = c->counter_task[c->counter_busy[i]];
		return true;
	}
	for (unsigned i = 0; c->acks_free < MU_ACKS && i < MU_ACKS; i++)
		if (c->ack[i].op) {
			*what = c->ack[i].channel == MU_NO_CHANNEL ? MU_WAITS_ATOMIC : MU_WAITS_PUT;
			*task = atomic_load_relaxed(&c->ack[i].task);
			return true;
		}
	return false;
}

atomic_u64 *mu_channel_counts(struct mu_channel *ch)
{
	return ch->a->software;
}

static inline __attribute__((always_inline)) void collect_completed(struct mu_channel *ch)
{
	if (ch->completion.counters_busy)
		complete_counters(ch);
	if (atomic_load_relaxed(&ch->completion.acks_arrived))
		complete_acks(ch);
}

void mu_collect_completed(struct mu_channel *ch)
{
	collect_completed(ch);
}

int mu_call_done_functions(struct mu_channel *ch)
{
	struct mu_op *op, *next;
	int n = 0;

	if (ch->tx.fifo.numInjected != ch->tx.retired)
		mu_retire_descriptors(ch);
	collect_completed(ch);
	if (!ch->completion.done_first)
		return 0;
	mu_known_end_run();
	op = ch->completion.done_first;
	ch->completion.done_first = NULL;
	ch->completion.done_last = &ch->completion.done_first;
	for (; op; op = next, n++) {
		next = op->next;
		op->done(op, (int)(int64_t)op->state[0]);
	}
	return n;
}
