/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls to descriptors. A short message takes the lane, ring or wire directly if the injection FIFO
 * is empty. Hot: guarded by bench/micro/pami_latency and bench/micro/pami_rate.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/copy.h"
#include "emu/directory.h"
#include "emu/route.h"
#include "mu/channel/room.h"
#include "mu/channel/slot.h"
#include "mu/channel/pace.h"
#include "mu/engine/engine.h"
#include "mu/engine/lane.h"
#include "mu/engine/memory.h"
#include "mu/hw/desc_build.h"
#include "mu/process.h"
#include "mu/segment/traffic.h"
#include "mu/transport/port_holder.h"
#include "mu/transport/transport.h"
#include "mu/vtime/vtask.h"

static inline struct mu_dest dest_of(const struct mu_process *p, uint32_t task, uint32_t channel)
{
	const struct mu_task_entry *e = &p->entry[task];

	return (struct mu_dest){e->coords, (uint32_t)e->t * p->channels + channel};
}

static inline int bad_target(const struct mu_channel *ch, uint32_t task, uint32_t channel)
{
	return task >= ch->p->tasks || channel >= ch->p->channels;
}

/* 0, -EINVAL: there is no such channel, -ESHUTDOWN: its task has ended. */
static inline int target_check(const struct mu_channel *ch, uint32_t task, uint32_t channel)
{
	return bad_target(ch, task, channel)    ? -EINVAL
	       : mu_is_unreachable(ch->p, task) ? -ESHUTDOWN
						: 0;
}

/* Between near tasks the initiator's engine does puts and gets itself. */
static inline bool is_direct(const struct mu_channel *ch, uint32_t task)
{
	const struct mu_process *p = ch->p;

	return mu_is_copied_directly(p, task);
}

/*
 * If so, the engine is done with the lanes too, in whichever thread it ran. With QUINTORUS_MU=fifo
 * the answer is no, and everything becomes a descriptor.
 */
static inline int fifo_empty(const struct mu_channel *ch)
{
	return atomic_load_acquire(&ch->a->inj.pa_head) == ch->tx.idle_head;
}

/* Is there room for n descriptors? */
static int fifo_room(struct mu_channel *ch, uint64_t n)
{
	if (__builtin_expect(ch->tx.fifo.numInjected - ch->tx.retired + n >= MU_INJ_SLOTS, 0)) {
		/* A slot is free only after its operation was retired. */
		mu_retire_descriptors(ch);
		if (ch->tx.fifo.numInjected - ch->tx.retired + n >= MU_INJ_SLOTS)
			return 0;
	}
	if (ch->tx.fifo.freeSpace < n) {
		ch->tx.fifo.descCount = MUSPI_getHwDescCount(&ch->tx.fifo);
		ch->tx.fifo.freeSpace =
		    MU_INJ_SLOTS - 1 - (ch->tx.fifo.numInjected - ch->tx.fifo.descCount);
	}
	return ch->tx.fifo.freeSpace >= n;
}

bool mu_has_room(struct mu_channel *ch)
{
	return ch->completion.acks_free && ch->completion.counters_free && fifo_room(ch, 2);
}

/* The next slot; room was checked. */
static MUHWI_Descriptor_t *slot_next(struct mu_channel *ch, struct mu_slot **slot,
				     unsigned char **buffer)
{
	unsigned i = (unsigned)(ch->tx.fifo.numInjected % MU_INJ_SLOTS);
	void *d = NULL;

	DRV_ASSERT(ch->tx.fifo.freeSpace && !ch->tx.slot[i].op && !ch->tx.slot[i].heap);
	MUSPI_InjFifoNextDesc(&ch->tx.fifo, &d);
	*slot = &ch->tx.slot[i];
	**slot = (struct mu_slot){0};
	if (buffer)
		*buffer = ch->a->inj_payload[i];
	return d;
}

static void slot_publish(struct mu_channel *ch)
{
	const struct mu_clock_ops *clock = ch->p->clock;

	if (clock->note_descriptor)
		clock->note_descriptor(ch);
	MUSPI_InjFifoAdvanceDesc(&ch->tx.fifo);
	if (!ch->p->fifo_only)
		ch->tx.idle_head = (uint64_t)(uintptr_t)ch->tx.fifo._fifo.va_tail;
}

static void run_engine(struct mu_channel *ch)
{
	ch->p->clock->inject(ch);
}

int mu_slot_next(struct mu_channel *ch, uint32_t task, uint32_t channel, MUHWI_Descriptor_t **d,
		 struct mu_slot **slot)
{
	int rc = target_check(ch, task, channel);

	if (!rc && !fifo_room(ch, 1))
		rc = -EAGAIN;
	if (!rc)
		*d = slot_next(ch, slot, NULL);
	return rc;
}

void mu_slot_send(struct mu_channel *ch)
{
	slot_publish(ch);
	run_engine(ch);
}

static inline uint32_t round_up_8(uint32_t n)
{
	return (n + 7) & ~7u;
}

/* Ranks become destination words, and the packet gets its bit. */
static void address_prepare(const struct mu_channel *ch, struct emu_address *a,
			    MUHWI_Descriptor_t *d, const struct mu_dest *to)
{
	const struct mu_process *p = ch->p;
	uint32_t here = p->entry[p->task].coords;

	d->PacketHeader.NetworkHeader.pt2pt.Byte3.Byte3 |= MUHWI_PACKET_ADDRESSED;
	a->channel = (uint16_t)to->number;
	switch ((enum emu_address_kind)a->kind) {
	case EMU_ADDRESS_MESSAGE:
		a->at = to->coords;
		a->flags = 0;
		a->budget = EMU_ADDRESS_BUDGET;
		if (a->state != EMU_ACCESS_NONE)
			((struct emu_access *)(void *)a)->back =
			    (uint16_t)dest_of(p, p->task, ch->index).number;
		break;
	case EMU_ADDRESS_HOME:
		a->at = a->at < p->tasks ? p->entry[a->at].coords : EMU_ADDRESS_NOBODY;
		break;
	case EMU_ADDRESS_BIND:
		a->to = a->to < p->tasks ? p->entry[a->to].coords : here;
		a->at = here;
		break;
	case EMU_ADDRESS_ANSWER:
	case EMU_ADDRESS_UPDATE:
	case EMU_ADDRESS_KINDS:
		a->at = here;
		break;
	}
}

static int short_queue(struct mu_channel *ch, uint32_t task, uint32_t channel,
		       const struct mu_short *m, bool addressed)
{
	struct mu_dest to = dest_of(ch->p, task, channel);
	struct mu_slot *slot;
	unsigned char *buffer;
	MUHWI_Descriptor_t *d;
	void *heap = NULL;

	if (!fifo_room(ch, 1))
		return -EAGAIN;
	if (m->bytes > MU_SLOT_BYTES && !(heap = aligned_alloc(64, (m->bytes + 63) & ~63u)))
		return -EAGAIN;
	d = slot_next(ch, &slot, &buffer);
	slot->heap = heap;
	if (heap)
		buffer = heap;
	mu_short_copy(buffer, m);
	mu_desc_fifo(d, (uint64_t)(uintptr_t)buffer, m->bytes, &to, m->soft, 0);
	if (addressed)
		address_prepare(ch, (struct emu_address *)(void *)buffer, d, &to);
	slot_publish(ch);
	run_engine(ch);
	return 0;
}

static inline void short_header(unsigned char *at, const struct mu_process *p,
				const struct mu_task_entry *e, uint32_t channel, uint32_t bytes,
				const void *soft)
{
	mu_header_short(at, e->coords, (uint32_t)e->t * p->channels + channel, bytes, soft);
}

/* The start of a record's fixed part, whose flag is stored last. */
static inline void write_soft(unsigned char *at, uint32_t bytes, uint64_t soft6, uint64_t soft8)
{
	uint64_t bytes_soft6 = bytes | soft6 << 16;

	memcpy(at + offsetof(struct drv_lane_record, bytes), &bytes_soft6, 8);
	memcpy(at + 16, &soft8, 8);
}

_Static_assert(offsetof(struct drv_lane_record, bytes) == 8 && DRV_LANE_FIXED == 24,
	       "bytes and software bytes are two words");

/* The same from 14 bytes in memory; by words as mu_soft_copy(). */
static inline void copy_soft(unsigned char *at, uint32_t bytes, const unsigned char *soft)
{
	uint64_t soft8;
	uint32_t soft4;
	uint16_t soft2;

	memcpy(&soft4, soft, 4);
	memcpy(&soft2, soft + 4, 2);
	memcpy(&soft8, soft + 6, 8);
	write_soft(at, bytes, soft4 | (uint64_t)soft2 << 32, soft8);
}

/* To a near task, into its lane or its ring. -EAGAIN: there is no room. */
static inline int short_near(struct mu_channel *ch, uint32_t task, uint32_t channel,
			     const struct mu_short *m)
{
	struct mu_process *p = ch->p;
	const struct mu_task_entry *e = &p->entry[task];
	struct mu_near_path *o = mu_near_path(ch, e->local, channel);
	struct drv_lane *lane = o->lane;
	struct drv_lane_record *small = NULL;
	struct drv_ring_record *rec;
	uint64_t position;

	if (__builtin_expect(!lane || lane->after, 0))
		lane = mu_lane_get(ch, o);
	if (__builtin_expect(lane && (small = drv_lane_reserve(lane, m->bytes, &position)), 1)) {
		copy_soft((unsigned char *)small, m->bytes, m->soft);
		mu_short_copy(small->payload, m);
		drv_lane_publish(small, position);
	} else {
		rec = drv_ring_reserve_claimed(o->ring.plain, &p->tx[o - ch->tx.near], m->bytes,
					       &position, ch->tx.claim,
					       mu_ring_name(p->host, o->ring.plain));
		if (!rec)
			return -EAGAIN;
		rec->tag = p->task;
		short_header(rec->header, p, e, channel, m->bytes, m->soft);
		mu_short_copy(rec->payload, m);
		drv_ring_publish(rec, position);
		mu_lane_follow_ring(o->lane, position);
	}
	mu_near_path_wake(o);
	mu_traffic_add_packets(ch, task, 1, m->bytes, MU_SENT_BY_USER);
	return 0;
}

int mu_send_short(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *soft,
		  const void *a, uint32_t an, const void *b, uint32_t bn)
{
	struct mu_process *p = ch->p;
	struct mu_short m = {soft, a, b, an, bn, bn ? round_up_8(an) + bn : an};

	if (__builtin_expect(bad_target(ch, task, channel) || m.bytes > MU_PACKET_BYTES, 0))
		return -EINVAL;
	if (mu_is_unreachable(p, task))
		return -ESHUTDOWN;
	/* A message that stands behind descriptors in the FIFO must not overtake them. */
	if (__builtin_expect(fifo_empty(ch), 1)) {
		if (__builtin_expect(p->near[task], 1)) {
			if (!short_near(ch, task, channel, &m))
				return 0;
		} else if (!p->remote->send_short(ch, task, channel, &m)) {
			return 0;
		}
	}
	return short_queue(ch, task, channel, &m, false);
}

int mu_send_address(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *soft,
		    const void *a, uint32_t an, const void *b, uint32_t bn)
{
	struct mu_short m = {soft, a, b, an, bn, bn ? round_up_8(an) + bn : an};
	int rc;

	if (m.bytes > MU_PACKET_BYTES || an < sizeof(struct emu_address))
		return -EINVAL;
	rc = target_check(ch, task, channel);
	if (rc)
		return rc;
	if (!ch->p->clock->lead_address)
		return short_queue(ch, task, channel, &m, true);
	if (!ch->p->clock->lead_address(ch->p, a, &task))
		return 0;
	return mu_send_short(ch, task, channel, soft, a, an, b, bn);
}

/* The lane to a near task, if messages may leave at once and it has room; else NULL. */
static inline __attribute__((always_inline)) struct drv_lane_record *
lane_reserve(struct mu_channel *ch, uint32_t task, uint32_t channel, uint32_t bytes, uint64_t *flag,
	     struct mu_near_path **path)
{
	struct mu_process *p = ch->p;
	struct drv_lane *lane;

	if (__builtin_expect(bad_target(ch, task, channel) || mu_is_unreachable(p, task) ||
				 !p->near[task] || !fifo_empty(ch),
			     0))
		return NULL;
	*path = mu_near_path(ch, p->entry[task].local, channel);
	lane = (*path)->lane;
	if (__builtin_expect(!lane || lane->after, 0))
		lane = mu_lane_get(ch, *path);
	return __builtin_expect(lane != NULL, 1) ? drv_lane_reserve(lane, bytes, flag) : NULL;
}

unsigned char *mu_place_reserve(struct mu_channel *ch, uint32_t task, uint32_t channel,
				uint32_t bytes, struct mu_place *place, void **soft)
{
	struct drv_lane_record *rec = NULL;
	struct mu_near_path *o;

	if (bytes <= MU_PACKET_BYTES)
		rec = lane_reserve(ch, task, channel, bytes, &place->flag, &o);
	if (__builtin_expect(!rec, 0))
		return NULL;
	place->record = rec;
	place->path = o;
	place->task = task;
	*soft = rec->head;
	return rec->payload;
}

/* The stores to the record come one right after the other: the target polls its line. */
int mu_send_words(struct mu_channel *ch, uint32_t task, uint32_t channel, uint64_t soft6,
		  uint64_t soft8, uint64_t first, const uint64_t *more, uint32_t count)
{
	uint32_t bytes = 8 + count * 8;
	struct mu_near_path *o;
	uint64_t flag;
	struct drv_lane_record *rec = lane_reserve(ch, task, channel, bytes, &flag, &o);
	unsigned char *at = (unsigned char *)rec;

	if (__builtin_expect(!rec, 0))
		return -EAGAIN;
	write_soft(at, bytes, soft6, soft8);
	memcpy(at + DRV_LANE_FIXED, &first, 8);
	for (uint32_t i = 0; i < count; i++)
		memcpy(at + DRV_LANE_FIXED + 8 + (size_t)i * 8, &more[i], 8);
	drv_lane_publish(rec, flag);
	mu_near_path_wake(o);
	mu_traffic_add(ch, task, bytes, MU_SENT_BY_USER);
	return 0;
}

int mu_send_padded(struct mu_channel *ch, uint32_t task, uint32_t channel, uint64_t soft6,
		   uint64_t soft8, const uint64_t *words, uint32_t count, const void *data,
		   uint32_t bytes)
{
	uint32_t all = count * 8 + bytes;
	struct mu_near_path *o;
	uint64_t flag;
	struct drv_lane_record *rec = lane_reserve(ch, task, channel, all, &flag, &o);
	unsigned char *at = (unsigned char *)rec, *to;

	if (__builtin_expect(!rec, 0))
		return -EAGAIN;
	to = rec->payload + (size_t)count * 8;
	write_soft(at, all, soft6, soft8);
	for (uint32_t i = 0; i < count; i++)
		memcpy(rec->payload + (size_t)i * 8, &words[i], 8);
	drv_copy_fresh(to, data, bytes);
	drv_lane_publish(rec, flag);
	mu_near_path_wake(o);
	mu_traffic_add(ch, task, all, MU_SENT_BY_USER);
	return 0;
}

void *mu_place_soft(const struct mu_place *place)
{
	return ((struct drv_lane_record *)place->record)->head;
}

void mu_place_commit(struct mu_channel *ch, const struct mu_place *place, uint32_t bytes)
{
	struct drv_lane_record *rec = place->record;

	rec->bytes = (uint16_t)bytes;
	drv_lane_publish(rec, place->flag);
	mu_near_path_wake(place->path);
	mu_traffic_add(ch, place->task, bytes, MU_SENT_BY_USER);
}

int mu_send_note(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *note,
		 uint32_t bytes)
{
	struct mu_internal m = {.kind = MU_INTERNAL_NOTE};
	int rc = bytes > MU_SLOT_BYTES ? -EINVAL : target_check(ch, task, channel);
	struct mu_slot *slot;
	struct mu_dest to;
	unsigned char *buffer;
	MUHWI_Descriptor_t *d;

	if (rc)
		return rc;
	if (!fifo_room(ch, 1))
		return -EAGAIN;
	to = dest_of(ch->p, task, channel);
	d = slot_next(ch, &slot, &buffer);
	memcpy(buffer, note, bytes);
	mu_desc_fifo(d, (uint64_t)(uintptr_t)buffer, bytes, &to, &m, 1);
	slot_publish(ch);
	run_engine(ch);
	return 0;
}

int mu_store_remote(struct mu_channel *ch, uint32_t task, uint64_t at, const uint64_t line[8])
{
	struct mu_process *p = ch->p;
	struct mu_store store = {.at = at};
	int rc;

	if (task >= p->tasks || p->near[task])
		return -EINVAL;
	if (mu_is_unreachable(p, task))
		return -ESHUTDOWN;
	memcpy(store.line, line, sizeof store.line);
	rc = p->remote->store(ch, task, &store);
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
	run_engine(ch);
	return 0;
}

static inline uint16_t ack_index(const struct mu_channel *ch, const struct mu_ack *ack)
{
	return (uint16_t)(ack - ch->completion.ack);
}

/* A remote get that makes the target send an internal packet back, which completes `ack`:
 * everything before it is done then. */
static void flush_inject(struct mu_channel *ch, const struct mu_dest *to, const struct mu_ack *ack)
{
	struct mu_dest back = dest_of(ch->p, ch->p->task, ch->index);
	struct mu_internal m = {.kind = MU_INTERNAL_ACK,
				.index = ack_index(ch, ack),
				.generation = atomic_load_relaxed(&ack->generation)};
	struct mu_slot *slot;
	unsigned char *buffer;
	MUHWI_Descriptor_t *d = slot_next(ch, &slot, &buffer);

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
	if (!fifo_room(ch, 1) || !ch->completion.acks_free)
		return -EAGAIN;
	to = dest_of(ch->p, task, channel);
	flush_inject(ch, &to, mu_ack_take(ch, task, channel, op));
	run_engine(ch);
	return 0;
}

bool mu_has_atomic(const struct mu_atomic *a)
{
	return mu_atomic_is_offered(mu_self.atomics, a);
}

int mu_send_atomic(struct mu_channel *ch, uint32_t task, uint32_t channel,
		   const struct mu_atomic *a, struct mu_op *op)
{
	int rc = target_check(ch, task, channel);
	struct mu_internal_value m = {.kind = MU_INTERNAL_VALUE, .value = a->test};
	struct mu_dest to, back;
	struct mu_slot *slot;
	struct mu_ack *ack;
	unsigned char *buffer;
	MUHWI_Descriptor_t *d;

	if (rc)
		return rc;
	if (!fifo_room(ch, 1) || !ch->completion.acks_free)
		return -EAGAIN;
	to = dest_of(ch->p, task, channel);
	back = dest_of(ch->p, ch->p->task, ch->index);
	/* Its answer has an error of its own. */
	ack = mu_ack_take(ch, task, MU_NO_CHANNEL, op);
	m.index = ack_index(ch, ack);
	m.generation = (uint16_t)atomic_load_relaxed(&ack->generation);
	d = slot_next(ch, &slot, &buffer);
	mu_desc_fifo((MUHWI_Descriptor_t *)buffer, 0, 0, &back, &m, 1);
	mu_desc_set_atomic((MUHWI_Descriptor_t *)buffer, a);
	mu_desc_get(d, (uint64_t)(uintptr_t)buffer, 64, &to);
	slot_publish(ch);
	run_engine(ch);
	return 0;
}

/* Addresses travel in 47 bits, and nothing is mapped in the first page. */
#define ADDRESS_END   (1ull << 47)
#define ADDRESS_BEGIN 4096ull

static inline bool is_no_memory(uint64_t va, uint64_t bytes)
{
	return bytes > ADDRESS_END - ADDRESS_BEGIN ||
	       va - ADDRESS_BEGIN > ADDRESS_END - ADDRESS_BEGIN - bytes;
}

int mu_is_buffer_mapped(struct mu_channel *ch, uint64_t va, uint64_t bytes, int write)
{
	uint64_t first = va >> 12, last = (va + bytes - 1) >> 12, at = first;
	int few = last - first < MU_PAGES_KNOWN / 2;

	if (__builtin_expect(is_no_memory(va, bytes), 0))
		return 0;
	if (!ch->p->clock->reports_access_errors)
		return !mu_check_memory(va, bytes, write);
	/* The lowest bit of an entry: the page could be written, too. */
	while (few && at <= last &&
	       (ch->memory.page[at % MU_PAGES_KNOWN] | !write) == (at << 1 | 1))
		at++;
	if (few ? at > last
		: va >= ch->memory.from && va + bytes <= ch->memory.to &&
		      (!write || ch->memory.writable))
		return 1;
	if (mu_check_memory(va, bytes, write))
		return 0;
	for (at = first; few && at <= last; at++)
		ch->memory.page[at % MU_PAGES_KNOWN] = at << 1 | (write != 0);
	if (!few) {
		ch->memory.from = va;
		ch->memory.to = va + bytes;
		ch->memory.writable = write;
	}
	return 1;
}

/* The memory of a put or get is not mapped: the next poll calls the done functions with -EFAULT. */
static int fail_no_memory(struct mu_channel *ch, struct mu_op *op, struct mu_op *op2)
{
	mu_op_complete_later(ch, op, -EFAULT);
	mu_op_complete_later(ch, op2, -EFAULT);
	return 0;
}

int mu_put(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *local,
	   uint64_t remote, size_t bytes, struct mu_op *local_done, struct mu_op *remote_done)
{
	struct mu_process *p = ch->p;
	struct mu_slot *slot;
	struct mu_ack *ack;
	struct mu_dest to;
	MUHWI_Descriptor_t *d;
	bool asks;
	int direct, rc = target_check(ch, task, channel);

	if (rc || !bytes)
		return rc ? rc : -EINVAL;
	if (__builtin_expect(
		is_no_memory((uint64_t)(uintptr_t)local, bytes) || is_no_memory(remote, bytes), 0))
		return fail_no_memory(ch, local_done, remote_done);
	direct = is_direct(ch, task);
	if (direct && fifo_empty(ch)) {
		rc = mu_share_copy(ch, task, channel, (void *)(uintptr_t)local, remote, bytes, 1);

		if (rc != -EPERM) {
			mu_traffic_add(ch, task, bytes, MU_SENT_BY_USER);
			mu_op_complete_later(ch, local_done, rc);
			mu_op_complete_later(ch, remote_done, rc);
			return 0;
		}
		direct = 0;
		mu_cma_set_refused(p);
	}
	if (!fifo_room(ch, 2) || !ch->completion.acks_free)
		return -EAGAIN;
	if (!direct &&
	    __builtin_expect(!mu_is_buffer_mapped(ch, (uint64_t)(uintptr_t)local, bytes, 0), 0))
		return fail_no_memory(ch, local_done, remote_done);
	to = dest_of(p, task, channel);
	/* Another thread may run the put once it is published; an access error ends the flush. */
	ack = remote_done ? mu_ack_take(ch, task, channel, remote_done) : NULL;
	d = slot_next(ch, &slot, NULL);
	slot->op = local_done;
	mu_desc_put(d, (uint64_t)(uintptr_t)local, bytes, &to, remote, 0, ch->index);
	asks = ack && p->remote->takes_asking_puts && !p->near[task];
	if (asks)
		mu_desc_ask(d, ack_index(ch, ack), atomic_load_relaxed(&ack->generation));
	slot_publish(ch);
	if (ack && !asks)
		flush_inject(ch, &to, ack);
	run_engine(ch);
	return 0;
}

/*
 * Write the descriptors that the target runs for a get: one put back, or two between neighbours
 * along E, one for each link. Fabric torus chooses their way, for a piece that of the whole get.
 * Returns their bytes.
 */
static uint32_t write_answer(struct mu_channel *ch, uint32_t task, MUHWI_Descriptor_t *d,
			     uint64_t remote, uint64_t bytes, uint64_t whole, uint64_t local,
			     uint64_t counter)
{
	const struct mu_process *p = ch->p;
	struct mu_dest back = dest_of(p, p->task, ch->index);
	struct emu_coord from, to;
	uint64_t half = bytes / 2 & ~511ull;

	if (__builtin_expect(!p->job.fabric_torus || p->entry[task].coords == back.coords, 0)) {
		mu_desc_put(d, remote, bytes, &back, local, counter, ch->index);
		return 64;
	}
	emu_coord_from_word(p->entry[task].coords, &from);
	emu_coord_from_word(back.coords, &to);
	if (!half || !mu_routing_splits(&p->routing, &from, &to, bytes)) {
		mu_desc_put(d, remote, bytes, &back, local, counter, ch->index);
		mu_routing_apply(&p->routing, mu_routing_choose(&p->routing, &from, &to, whole), d);
		return 64;
	}
	mu_desc_put(&d[0], remote, half, &back, local, counter, ch->index);
	mu_desc_put(&d[1], remote + half, bytes - half, &back, local + half, counter, ch->index);
	emu_hints_set(&d[0].PacketHeader.NetworkHeader.pt2pt, emu_hint_of_link(8));
	emu_hints_set(&d[1].PacketHeader.NetworkHeader.pt2pt, emu_hint_of_link(9));
	return 128;
}

/* A counter for a get of so many bytes whose data comes to [first, end); there is a free one. */
static uint16_t counter_take(struct mu_channel *ch, uint32_t task, struct mu_op *done,
			     uint64_t first, uint64_t end, uint64_t bytes)
{
	uint16_t c = ch->completion.counter_free[--ch->completion.counters_free];
	ch->completion.counter_op[c] = done;
	ch->completion.counter_task[c] = task;
	ch->completion.counter_busy[ch->completion.counters_busy++] = c;
	ch->completion.counter_error[c] = 0;
	atomic_store_relaxed(&ch->completion.counter_to[c], first);
	atomic_store_relaxed(&ch->completion.counter_end[c], end);
	atomic_store_release(&ch->a->counter[c], bytes);
	return c;
}

/* Does fabric torus pace a get of so many bytes from a task? */
static bool is_paced(const struct mu_process *p, uint32_t task, uint64_t bytes)
{
	struct emu_coord from;

	if (!p->job.fabric_torus || bytes <= p->routing.pacing_bytes)
		return false;
	emu_coord_from_word(p->entry[task].coords, &from);
	return mu_routing_paces(&p->routing, &from, &p->job.coord, bytes);
}

/* whole: bytes of the get that this is a piece of. A get of `whole` itself may be paced. */
static int start_get(struct mu_channel *ch, uint32_t task, uint32_t channel, void *local,
		     uint64_t remote, size_t bytes, uint64_t whole, struct mu_op *done,
		     bool may_pass)
{
	struct mu_process *p = ch->p;
	struct mu_dest to;
	struct mu_slot *slot;
	unsigned char *buffer;
	MUHWI_Descriptor_t *d;
	uint32_t answer;
	uint16_t c;
	int rc = target_check(ch, task, channel);

	if (rc || !bytes)
		return rc ? rc : -EINVAL;
	if (__builtin_expect(
		is_no_memory((uint64_t)(uintptr_t)local, bytes) || is_no_memory(remote, bytes), 0))
		return fail_no_memory(ch, done, NULL);
	if (is_direct(ch, task) && fifo_empty(ch)) {
		rc = mu_share_copy(ch, task, channel, local, remote, bytes, 0);

		if (rc != -EPERM) {
			mu_traffic_add(ch, task, bytes, MU_FETCHED_BY_USER);
			mu_op_complete_later(ch, done, rc);
			return 0;
		}
		mu_cma_set_refused(p);
	}
	if (__builtin_expect(bytes == whole && is_paced(p, task, bytes), 0))
		return mu_pace_get(ch, task, channel, local, remote, bytes, done, may_pass);
	if (!fifo_room(ch, 1) || !ch->completion.counters_free)
		return -EAGAIN;
	/* The engine stores what arrives without checking again. */
	if (__builtin_expect(!mu_is_buffer_mapped(ch, (uint64_t)(uintptr_t)local, bytes, 1), 0))
		return fail_no_memory(ch, done, NULL);
	to = dest_of(p, task, channel);
	c = counter_take(ch, task, done, (uint64_t)(uintptr_t)local,
			 (uint64_t)(uintptr_t)local + bytes, bytes);
	d = slot_next(ch, &slot, &buffer);
	answer = write_answer(ch, task, (MUHWI_Descriptor_t *)buffer, remote, bytes, whole,
			      (uint64_t)(uintptr_t)local, (uint64_t)(uintptr_t)&ch->a->counter[c]);
	mu_desc_get(d, (uint64_t)(uintptr_t)buffer, answer, &to);
	if (may_pass && p->job.fabric_torus)
		mu_desc_set_channel(d, MUHWI_PACKET_VIRTUAL_CHANNEL_HIGH_PRIORITY);
	slot_publish(ch);
	run_engine(ch);
	return 0;
}

int mu_get(struct mu_channel *ch, uint32_t task, uint32_t channel, void *local, uint64_t remote,
	   size_t bytes, struct mu_op *done)
{
	return start_get(ch, task, channel, local, remote, bytes, bytes, done, false);
}

int mu_pace_get_piece(struct mu_channel *ch, uint32_t task, uint32_t channel, void *local,
		      uint64_t remote, size_t bytes, uint64_t whole, struct mu_op *done,
		      bool may_pass)
{
	return start_get(ch, task, channel, local, remote, bytes, whole, done, may_pass);
}

int mu_pull(struct mu_channel *ch, uint32_t task, uint32_t channel, void *local, uint64_t remote,
	    size_t bytes, struct mu_op *done)
{
	return start_get(ch, task, channel, local, remote, bytes, bytes, done, true);
}

/* Near memory is copied. -EPERM: it cannot be. */
static int copy_pieces(struct mu_channel *ch, uint32_t task, uint32_t channel,
		       const struct mu_get_piece *piece, unsigned count)
{
	int rc = 0;

	for (unsigned i = 0; i < count && !rc; i++) {
		rc = mu_share_copy(ch, task, channel, piece[i].local, piece[i].remote,
				   piece[i].bytes, 0);
		if (!rc)
			mu_traffic_add(ch, task, piece[i].bytes, MU_FETCHED_BY_USER);
	}
	return rc;
}

int mu_get_pieces(struct mu_channel *ch, uint32_t task, uint32_t channel,
		  const struct mu_get_piece *piece, unsigned count, struct mu_op *done)
{
	struct mu_process *p = ch->p;
	uint64_t first = UINT64_MAX, end = 0, bytes = 0, counter;
	struct mu_dest to, back;
	struct mu_slot *slot;
	MUHWI_Descriptor_t *d, *answer;
	struct emu_coord from, here;
	int rc = target_check(ch, task, channel);

	if (rc || !count || count > MU_GET_PIECES)
		return rc ? rc : -EINVAL;
	for (unsigned i = 0; i < count; i++) {
		uint64_t local = (uint64_t)(uintptr_t)piece[i].local;

		if (is_no_memory(local, piece[i].bytes) ||
		    is_no_memory(piece[i].remote, piece[i].bytes))
			return fail_no_memory(ch, done, NULL);
		first = local < first ? local : first;
		end = local + piece[i].bytes > end ? local + piece[i].bytes : end;
		bytes += piece[i].bytes;
	}
	if (is_direct(ch, task) && fifo_empty(ch)) {
		rc = copy_pieces(ch, task, channel, piece, count);
		if (rc != -EPERM) {
			mu_op_complete_later(ch, done, rc);
			return 0;
		}
		mu_cma_set_refused(p);
	}
	if (!fifo_room(ch, 1) || !ch->completion.counters_free)
		return -EAGAIN;
	for (unsigned i = 0; i < count; i++)
		if (!mu_is_buffer_mapped(ch, (uint64_t)(uintptr_t)piece[i].local, piece[i].bytes,
					 1))
			return fail_no_memory(ch, done, NULL);
	answer = aligned_alloc(64, count * sizeof(*answer));
	if (!answer)
		return -EAGAIN;
	to = dest_of(p, task, channel);
	back = dest_of(p, p->task, ch->index);
	counter =
	    (uint64_t)(uintptr_t)&ch->a->counter[counter_take(ch, task, done, first, end, bytes)];
	emu_coord_from_word(p->entry[task].coords, &from);
	emu_coord_from_word(back.coords, &here);
	for (unsigned i = 0; i < count; i++) {
		const struct mu_get_piece *g = &piece[i];

		mu_desc_put(&answer[i], g->remote, g->bytes, &back, (uint64_t)(uintptr_t)g->local,
			    counter, ch->index);
		if (p->job.fabric_torus && to.coords != back.coords)
			mu_routing_apply(&p->routing,
					 mu_routing_choose(&p->routing, &from, &here, g->bytes),
					 &answer[i]);
	}
	d = slot_next(ch, &slot, NULL);
	slot->heap = answer;
	mu_desc_get(d, (uint64_t)(uintptr_t)answer, (uint32_t)(count * sizeof(*answer)), &to);
	slot_publish(ch);
	run_engine(ch);
	return 0;
}
