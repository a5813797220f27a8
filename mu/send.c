/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages: from a call to a descriptor, or, where the FIFO is empty and the way free, straight
 * to the path. Hot: guarded by bench/pami_latency and bench/pami_rate.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/log.h"
#include "mu/holder.h"
#include "mu/live.h"
#include "mu/process.h"
#include "mu/vtask.h"

static inline struct mu_dest dest_of(const struct mu_process *p, uint32_t task, uint32_t channel)
{
	const struct mu_task_entry *e = &p->entry[task];

	return (struct mu_dest){ e->coords, (uint32_t)e->t * p->channels + channel };
}

static inline int bad_target(const struct mu_channel *ch, uint32_t task, uint32_t channel)
{
	return task >= ch->p->tasks || channel >= ch->p->channels;
}

/* 0, -EINVAL: there is no such channel, -ESHUTDOWN: its task is gone. */
static inline int target_check(const struct mu_channel *ch, uint32_t task, uint32_t channel)
{
	return bad_target(ch, task, channel) ? -EINVAL : mu_gone(ch->p, task) ? -ESHUTDOWN : 0;
}

/* Between near tasks the initiator's engine does puts and gets itself. */
static inline int is_direct(const struct mu_channel *ch, uint32_t task)
{
	const struct mu_process *p = ch->p;

	return p->near[task] && !mu_cma_refused(p);
}

/* Then the engine, in whichever thread it ran, is done with the lanes too. */
static inline int fifo_empty(const struct mu_channel *ch)
{
	const MUHWI_Fifo_t *f = &ch->a->inj;

	return __atomic_load_n(&f->pa_head, __ATOMIC_ACQUIRE) == __atomic_load_n(&f->pa_tail, __ATOMIC_RELAXED);
}

/* Is there room for n descriptors? */
static int fifo_room(struct mu_channel *ch, uint64_t n)
{
	if (__builtin_expect(ch->inj.numInjected - ch->retired + n >= MU_INJ_SLOTS, 0)) {
		mu_retire(ch); /* a slot is ours again only when its operation was taken off */
		if (ch->inj.numInjected - ch->retired + n >= MU_INJ_SLOTS)
			return 0;
	}
	if (ch->inj.freeSpace < n) {
		ch->inj.descCount = MUSPI_getHwDescCount(&ch->inj);
		ch->inj.freeSpace = MU_INJ_SLOTS - 1 - (ch->inj.numInjected - ch->inj.descCount);
	}
	return ch->inj.freeSpace >= n;
}

/* The next slot; room was checked. */
static MUHWI_Descriptor_t *slot_next(struct mu_channel *ch, struct mu_slot **slot, unsigned char **buffer)
{
	unsigned i = (unsigned)(ch->inj.numInjected % MU_INJ_SLOTS);
	void *d = NULL;

	MUSPI_InjFifoNextDesc(&ch->inj, &d);
	*slot = &ch->slot[i];
	**slot = (struct mu_slot){ 0 };
	if (buffer)
		*buffer = ch->a->inj_payload[i];
	return d;
}

static void slot_publish(struct mu_channel *ch)
{
	if (__builtin_expect(ch->p->virtual_clock, 0)) {
		unsigned i = (unsigned)(ch->inj.numInjected % MU_INJ_SLOTS);

		mu_vt_inject(ch->index, i, ch->slot[i].op || ch->slot[i].op2);
	}
	MUSPI_InjFifoAdvanceDesc(&ch->inj);
}

static void injected(struct mu_channel *ch)
{
	if (__builtin_expect(ch->p->virtual_clock, 0))
		mu_vt_check();
	else
		mu_inject_now(ch);
}

static inline uint32_t pad8(uint32_t n)
{
	return (n + 7) & ~7u;
}

/* A few words without a call. */
static inline void small_copy(unsigned char *to, const void *from, uint32_t n)
{
	if (n == 8)
		memcpy(to, from, 8);
	else if (n)
		memcpy(to, from, n);
}

static inline void short_copy(unsigned char *to, const void *a, uint32_t an, const void *b, uint32_t bn)
{
	small_copy(to, a, an);
	small_copy(to + pad8(an), b, bn);
}

static int short_queue(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *soft,
                       const void *a, uint32_t an, const void *b, uint32_t bn, uint32_t bytes)
{
	struct mu_dest to = dest_of(ch->p, task, channel);
	struct mu_slot *slot;
	unsigned char *buffer;
	MUHWI_Descriptor_t *d;
	void *heap = NULL;

	if (!fifo_room(ch, 1))
		return -EAGAIN;
	if (bytes > MU_SLOT_BYTES && !(heap = aligned_alloc(64, (bytes + 63) & ~63u)))
		return -EAGAIN;
	d = slot_next(ch, &slot, &buffer);
	slot->heap = heap;
	if (heap)
		buffer = heap;
	short_copy(buffer, a, an, b, bn);
	mu_desc_fifo(d, (uint64_t)(uintptr_t)buffer, bytes, &to, soft, 0);
	slot_publish(ch);
	injected(ch);
	return 0;
}

static inline void short_header(unsigned char *at, const struct mu_process *p, const struct mu_task_entry *e,
                                uint32_t channel, uint32_t bytes, const void *soft)
{
	mu_header_short(at, e->coords, (uint32_t)e->t * p->channels + channel, bytes, soft);
}

/* To a near task, into its lane or its ring. -EAGAIN: there is no room. */
static inline int short_near(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *soft, const void *a,
                             uint32_t an, const void *b, uint32_t bn, uint32_t bytes)
{
	struct mu_process *p = ch->p;
	const struct mu_task_entry *e = &p->entry[task];
	struct mu_out *o = mu_out(ch, e->local, channel);
	struct drv_lane *lane = o->lane;
	struct drv_lane_record *small = NULL;
	struct drv_ring_record *rec;
	uint64_t position;

	if (__builtin_expect(!mu_lane_is(lane) || lane->after, 0))
		lane = mu_lane_get(ch, o);
	if (__builtin_expect(lane && (small = drv_lane_reserve(lane, bytes, &position)), 1)) {
		memcpy(small->head, soft, MU_SOFT_BYTES);
		short_copy(small->payload, a, an, b, bn);
		drv_lane_publish(small, position);
	} else {
		rec = drv_ring_reserve_claimed(o->ring, &p->tx[o - ch->out], bytes, &position, ch->claim_user,
		                               mu_ring_name(p->host, o->ring));
		if (!rec)
			return -EAGAIN;
		rec->tag = p->task;
		short_header(rec->header, p, e, channel, bytes, soft);
		short_copy(rec->payload, a, an, b, bn);
		drv_ring_publish(rec, position);
		mu_lane_after(o->lane, position);
	}
	mu_out_wake(o);
	mu_traffic_add(ch, task, bytes, MU_SENT_BY_USER);
	return 0;
}

int mu_send_short(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *soft,
                  const void *a, uint32_t an, const void *b, uint32_t bn)
{
	struct mu_process *p = ch->p;
	uint32_t bytes = bn ? pad8(an) + bn : an;
	const struct mu_task_entry *e;

	if (__builtin_expect(bad_target(ch, task, channel) || bytes > MU_PACKET_BYTES, 0))
		return -EINVAL;
	e = &p->entry[task];
	if (mu_gone(p, task))
		return -ESHUTDOWN;
	if (__builtin_expect(p->near[task] && fifo_empty(ch), 1)) {
		if (!short_near(ch, task, channel, soft, a, an, b, bn, bytes))
			return 0;
	} else if (p->holder && fifo_empty(ch) && e->host != p->own_host && mu_hold(p, ch)) {
		unsigned char *at = mu_holder_short(p->holder, e->host, p->task, e->coords,
		                                    (uint32_t)e->t * p->channels + channel, bytes, soft);

		if (at) {
			short_copy(at, a, an, b, bn);
			mu_holder_short_commit(p->holder, e->host, bytes);
			mu_holder_flush(p->holder);
			mu_traffic_add(ch, task, bytes, MU_SENT_BY_USER);
		}
		mu_hold_end(p, ch);
		if (at)
			return 0;
	}
	return short_queue(ch, task, channel, soft, a, an, b, bn, bytes);
}

int mu_store_far(struct mu_channel *ch, uint32_t task, uint64_t at, const uint64_t line[8])
{
	struct mu_process *p = ch->p;
	struct mu_store store = { .at = at };
	struct drv_ring_record *rec;
	struct drv_ring *ring;
	uint64_t position;
	int rc;

	if (task >= p->tasks || p->near[task] || p->live || p->virtual_clock)
		return -EINVAL;
	if (mu_gone(p, task))
		return -ESHUTDOWN;
	memcpy(store.line, line, sizeof store.line);
	if (p->holder) {
		if (!mu_hold(p, ch))
			return -EAGAIN;
		rc = mu_holder_store(p->holder, task, &store);
		mu_holder_flush(p->holder);
		mu_hold_end(p, ch);
	} else {
		ring = mu_host_outbound(p->host);
		rec = drv_ring_reserve_claimed(ring, &p->outbound_tx, sizeof store, &position, ch->claim_user,
		                               mu_ring_name(p->host, ring));
		rc = rec ? 0 : -EAGAIN;
		if (rec) {
			rec->tag = task;
			memset(rec->header, 0, sizeof rec->header);
			rec->header[0] = MU_RUN_STORE;
			memcpy(rec->payload, &store, sizeof store);
			drv_ring_publish(rec, position);
			drv_wake_ring(&p->host->agent_wake);
		}
	}
	if (!rc)
		mu_traffic_add(ch, task, sizeof store.line, MU_SENT_BY_USER);
	return rc;
}

int mu_send(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *soft,
            const void *payload, size_t bytes, struct mu_op *op)
{
	struct mu_slot *slot;
	struct mu_dest to;
	MUHWI_Descriptor_t *d;
	int rc = target_check(ch, task, channel);

	if (rc)
		return rc;
	if (!fifo_room(ch, 1))
		return -EAGAIN;
	to = dest_of(ch->p, task, channel);
	d = slot_next(ch, &slot, NULL);
	slot->op = op;
	mu_desc_fifo(d, (uint64_t)(uintptr_t)payload, bytes, &to, soft, 0);
	slot_publish(ch);
	injected(ch);
	return 0;
}

/* A remote get that has the target send us an internal packet: everything before it is done then. */
static void flush_inject(struct mu_channel *ch, uint32_t task, const struct mu_dest *to, struct mu_op *op)
{
	uint16_t index = ch->ack_free[--ch->acks_free];
	struct mu_ack *ack = &ch->ack[index];
	struct mu_dest back = dest_of(ch->p, ch->p->task, ch->index);
	struct mu_internal m = { .kind = MU_INTERNAL_ACK, .index = index, .generation = ack->generation + 1 };
	struct mu_slot *slot;
	unsigned char *buffer;
	MUHWI_Descriptor_t *d = slot_next(ch, &slot, &buffer);

	ack->op = op;
	__atomic_store_n(&ack->task, task, __ATOMIC_RELAXED);
	ack->error = 0;
	__atomic_store_n(&ack->generation, m.generation, __ATOMIC_RELEASE);
	mu_desc_fifo((MUHWI_Descriptor_t *)buffer, 0, 0, &back, &m, 1);
	mu_desc_get(d, (uint64_t)(uintptr_t)buffer, 64, to);
	slot_publish(ch);
}

int mu_flush(struct mu_channel *ch, uint32_t task, uint32_t channel, struct mu_op *op)
{
	struct mu_dest to;
	int rc = target_check(ch, task, channel);

	if (rc)
		return rc;
	if (!fifo_room(ch, 1) || !ch->acks_free)
		return -EAGAIN;
	to = dest_of(ch->p, task, channel);
	flush_inject(ch, task, &to, op);
	injected(ch);
	return 0;
}

int mu_put(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *local, uint64_t remote,
           size_t bytes, struct mu_op *local_done, struct mu_op *remote_done)
{
	struct mu_process *p = ch->p;
	struct mu_slot *slot;
	struct mu_dest to;
	MUHWI_Descriptor_t *d;
	int direct, rc = target_check(ch, task, channel);

	if (rc || !bytes)
		return rc ? rc : -EINVAL;
	direct = is_direct(ch, task);
	if (direct && fifo_empty(ch)) {
		rc = mu_share_copy(ch, task, channel, (void *)(uintptr_t)local, remote, bytes, 1);

		if (rc != -EPERM) {
			mu_traffic_add(ch, task, bytes, MU_SENT_BY_USER);
			mu_op_later(ch, local_done, rc);
			mu_op_later(ch, remote_done, rc);
			return 0;
		}
		direct = 0;
		mu_cma_refuse(p);
	}
	if (!fifo_room(ch, 2) || !ch->acks_free)
		return -EAGAIN;
	to = dest_of(p, task, channel);
	d = slot_next(ch, &slot, NULL);
	slot->op = local_done;
	mu_desc_put(d, (uint64_t)(uintptr_t)local, bytes, &to, remote, 0, ch->index);
	slot_publish(ch);
	if (remote_done)
		flush_inject(ch, task, &to, remote_done);
	injected(ch);
	return 0;
}

int mu_get(struct mu_channel *ch, uint32_t task, uint32_t channel, void *local, uint64_t remote,
           size_t bytes, struct mu_op *done)
{
	struct mu_process *p = ch->p;
	struct mu_dest to, back;
	struct mu_slot *slot;
	unsigned char *buffer;
	MUHWI_Descriptor_t *d;
	uint16_t c;
	int rc = target_check(ch, task, channel);

	if (rc || !bytes)
		return rc ? rc : -EINVAL;
	if (is_direct(ch, task) && fifo_empty(ch)) {
		rc = mu_share_copy(ch, task, channel, local, remote, bytes, 0);

		if (rc != -EPERM) {
			mu_traffic_add(ch, task, bytes, MU_FETCHED_BY_USER);
			mu_op_later(ch, done, rc);
			return 0;
		}
		mu_cma_refuse(p);
	}
	if (!fifo_room(ch, 1) || !ch->counters_free)
		return -EAGAIN;
	to = dest_of(p, task, channel);
	back = dest_of(p, p->task, ch->index);
	if (__builtin_expect(__atomic_load_n(&ch->faults, __ATOMIC_ACQUIRE), 0))
		mu_faults_take(ch); /* told of those before this one */
	c = ch->counter_free[--ch->counters_free];
	ch->counter_op[c] = done;
	ch->counter_task[c] = task;
	ch->counter_busy[ch->counters_busy++] = c;
	done->state[1] = 0;
	__atomic_store_n(&ch->counter_to[c], (uint64_t)(uintptr_t)local, __ATOMIC_RELAXED);
	__atomic_store_n(&ch->counter_end[c], (uint64_t)(uintptr_t)local + bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&ch->a->counter[c], bytes, __ATOMIC_RELEASE);
	d = slot_next(ch, &slot, &buffer);
	mu_desc_put((MUHWI_Descriptor_t *)buffer, remote, bytes, &back, (uint64_t)(uintptr_t)local,
	            (uint64_t)(uintptr_t)&ch->a->counter[c], ch->index);
	mu_desc_get(d, (uint64_t)(uintptr_t)buffer, 64, &to);
	slot_publish(ch);
	injected(ch);
	return 0;
}
