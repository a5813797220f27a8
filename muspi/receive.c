/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reception side: a packet to its reception FIFO, to memory and a counter, or to a remote-get
 * FIFO. Any thread that runs the engine of the channel comes here, with the memory lock.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/log.h"
#include "mu/hw/packetize.h"
#include "mu/hw/rec_append.h"
#include "muspi/put.h"
#include "muspi/unit.h"
#include "spi/include/l2/atomic.h"

#define ADDRESS_END (1ull << 47)
#define PAGES_KNOWN 1024u
#define OP_BITS     (MUHWI_ATOMIC_ADDRESS_INDICATOR | 7ull)

/* ---- lists ---- */

static struct unit_packet *make_packet(uint32_t bytes)
{
	return aligned_alloc(16, (sizeof(struct unit_packet) + bytes + 15) & ~15ul);
}

static int add_packet(struct unit_list *list, struct unit_packet *p, uint32_t source,
		      const MUHWI_PacketHeader_t *h, const void *payload, uint32_t bytes)
{
	if (!p)
		return -EAGAIN;
	p->next = NULL;
	p->source = source;
	p->bytes = bytes;
	p->header = *h;
	memcpy(p->payload, payload, bytes);
	if (!list->first)
		list->last = &list->first;
	*list->last = p;
	list->last = &p->next;
	return 0;
}

int unit_list_add(struct unit_list *list, uint32_t source, const MUHWI_PacketHeader_t *h,
		  const void *payload, uint32_t bytes)
{
	return add_packet(list, make_packet(bytes), source, h, payload, bytes);
}

/*
 * Empty packets, for when there is no memory: what was done with the first part of a packet cannot
 * be taken back, so the others must find a place. Memory locked.
 */
static struct unit_packet *reserve;
static unsigned reserved;

/* Have so many. 0, or -EAGAIN. */
static int reserve_packets(unsigned count)
{
	while (reserved < count) {
		struct unit_packet *p = make_packet(MU_PACKET_PAYLOAD);

		if (!p)
			return -EAGAIN;
		p->next = reserve;
		reserve = p;
		reserved++;
	}
	return 0;
}

/* Memory locked; as unit_list_add(). A packet of 512 bytes or less may take one of the reserve. */
static int list_add(struct unit_list *list, uint32_t source, const MUHWI_PacketHeader_t *h,
		    const void *payload, uint32_t bytes)
{
	struct unit_packet *p = make_packet(bytes);

	if (!p && bytes <= MU_PACKET_PAYLOAD && (p = reserve)) {
		reserve = p->next;
		reserved--;
	}
	return add_packet(list, p, source, h, payload, bytes);
}

struct unit_packet *unit_list_take(struct unit_list *list)
{
	struct unit_packet *p = list->first;

	if (p && !(list->first = p->next))
		list->last = &list->first;
	return p;
}

/* ---- memory of the program ---- */

/* Pages that could be written. A program that unmaps one and names it again dies of SIGSEGV. */
static uint64_t page_known[PAGES_KNOWN];

void unit_forget_pages(void)
{
	memset(page_known, 0, sizeof page_known);
}

static int is_writable(uint64_t at, uint64_t bytes)
{
	if (at < 4096 || at >= ADDRESS_END || bytes > ADDRESS_END - at)
		return 0;
	for (uint64_t page = at >> 12; page <= (at + bytes - 1) >> 12; page++) {
		if (page_known[page % PAGES_KNOWN] == page)
			continue;
		if (mu_check_memory(page << 12, 1, 1))
			return 0;
		page_known[page % PAGES_KNOWN] = page;
	}
	return 1;
}

int unit_atomic_load(uint64_t address, uint64_t *value)
{
	volatile uint64_t *p = (volatile uint64_t *)(uintptr_t)(address & ~OP_BITS);

	if (!is_writable((uint64_t)(uintptr_t)p, 16))
		return -EFAULT;
	switch (address & 7) {
	case L2_ATOMIC_OPCODE_LOAD:
		*value = L2_AtomicLoad(p);
		break;
	case L2_ATOMIC_OPCODE_LOAD_CLEAR:
		*value = L2_AtomicLoadClear(p);
		break;
	case L2_ATOMIC_OPCODE_LOAD_INCREMENT:
		*value = L2_AtomicLoadIncrement(p);
		break;
	case L2_ATOMIC_OPCODE_LOAD_DECREMENT:
		*value = L2_AtomicLoadDecrement(p);
		break;
	case L2_ATOMIC_OPCODE_LOAD_INCREMENT_BOUNDED:
		*value = L2_AtomicLoadIncrementBounded(p);
		break;
	case L2_ATOMIC_OPCODE_LOAD_DECREMENT_BOUNDED:
		*value = L2_AtomicLoadDecrementBounded(p);
		break;
	default:
		*value = L2_AtomicLoadIncrementIfEqual(p);
	}
	return 0;
}

static int atomic_store_op(uint64_t address, uint64_t value)
{
	volatile uint64_t *p = (volatile uint64_t *)(uintptr_t)(address & ~OP_BITS);

	if (!is_writable((uint64_t)(uintptr_t)p, 8))
		return -EFAULT;
	switch (address & 7) {
	case L2_ATOMIC_OPCODE_STORE:
		L2_AtomicStore(p, value);
		break;
	case L2_ATOMIC_OPCODE_STORE_TWIN:
		if (!is_writable((uint64_t)(uintptr_t)p, 16))
			return -EFAULT;
		L2_AtomicStoreTwin(p, value);
		break;
	case L2_ATOMIC_OPCODE_STORE_ADD:
	case L2_ATOMIC_OPCODE_STORE_ADD_COHERENCE_ON_ZERO:
		L2_AtomicStoreAdd(p, value);
		break;
	case L2_ATOMIC_OPCODE_STORE_OR:
		L2_AtomicStoreOr(p, value);
		break;
	case L2_ATOMIC_OPCODE_STORE_XOR:
		L2_AtomicStoreXor(p, value);
		break;
	case L2_ATOMIC_OPCODE_STORE_MAX:
		L2_AtomicStoreMax(p, value);
		break;
	default:
		L2_AtomicStoreMaxSignValue(p, value);
	}
	return 0;
}

/* ---- packets ---- */

/* Hand a packet to the process of this node that has the resource. */
static int forward_packet(unsigned t, uint32_t source, const MUHWI_PacketHeader_t *h,
			  const unsigned char *payload, uint32_t bytes)
{
	(void)t; /* the pump asks again */
	return unit_work_add(UNIT_PLAIN, source, h, payload, bytes);
}

static struct unit_rec *get_rec(unsigned id)
{
	struct unit_rec *r = unit.rec[id];

	if (!r && (r = calloc(1, sizeof *r))) {
		r->id = (uint16_t)id;
		r->waits.last = &r->waits.first;
		unit.rec[id] = r;
	}
	return r;
}

/* The program can store anything to the registers of a FIFO: one that is found damaged is disabled.
 * `now`: what they say, read once. */
static bool are_registers_valid(struct unit_rec *r, MUHWI_Fifo_t *now)
{
	const struct unit_place *place = &r->place;
	bool is_tail_bad;

	now->pa_start = r->hw->pa_start;
	now->size_1 = r->hw->size_1;
	now->pa_head = atomic_load_acquire(&r->hw->pa_head);
	now->pa_tail = r->hw->pa_tail;
	if (!unit_check_place(now, place))
		return false;
	is_tail_bad = now->pa_tail - place->start >= place->size || now->pa_tail % 32;
	if (!is_tail_bad && now->pa_head - place->start < place->size && now->pa_head % 32 == 0)
		return true;
	unit_refuse(RULE_rec_range, is_tail_bad ? "pa_tail" : "pa_head",
		    is_tail_bad ? now->pa_tail : now->pa_head);
	return false;
}

static uint64_t rec_room(const struct unit_rec *r)
{
	uint64_t size = r->place.size;

	return (atomic_load_acquire(&r->hw->pa_head) + size - r->hw->pa_tail + size - 1) % size;
}

static bool is_below_threshold(const struct unit_rec *r)
{
	return rec_room(r) / 32 < unit.threshold_rec;
}

static int rec_append(struct unit_rec *r, const MUHWI_PacketHeader_t *h, const void *payload,
		      uint32_t bytes)
{
	/* The program may have made room since the last packet. */
	bool was_below = r->was_below && is_below_threshold(r);
	MUHWI_Fifo_t hw;
	int rc;

	if (!are_registers_valid(r, &hw)) {
		r->is_enabled = false;
		return -EAGAIN;
	}
	rc = mu_rec_fifo_append(&hw, h, payload, bytes);
	if (rc)
		return rc;
	atomic_store_release(&r->hw->pa_tail, hw.pa_tail);
	if (h->NetworkHeader.pt2pt.Byte2.Interrupt && r->on_arrival)
		unit_raise(r->id / 16u, 1ull << (15 - r->id % 16));
	r->was_below = is_below_threshold(r);
	if (r->on_threshold && r->was_below && !was_below)
		unit_raise(r->id / 16u, 1ull << (31 - r->id % 16));
	return 0;
}

/*
 * A strict FIFO is full, and what follows waits in the network. Say so once if that lasts. In
 * virtual time the simulator says what waits for what.
 */
static void note_full(struct unit_rec *r)
{
	const uint8_t *c = unit.job->coord.c;

	if (!unit.job->virtual_clock && mu_note_full(&r->full, r->hw->pa_head))
		drv_warn("rec_fifo=strict: at (%u,%u,%u,%u,%u) reception FIFO %u is full for 2 s, "
			 "and packets wait in the network: does the program move pa_head? "
			 "(Fabric torus with one host, or virtual time: a circle will be named)",
			 c[0], c[1], c[2], c[3], c[4], r->id);
}

/* may_refuse: -EAGAIN if there is no room and FIFOs are strict. */
static int receive_fifo(uint32_t source, const MUHWI_PacketHeader_t *h,
			const unsigned char *payload, uint32_t bytes, bool may_refuse)
{
	unsigned id = h->messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id, owner;
	struct unit_rec *r;

	if (id >= MU_TABLE_REC || id >= 4 * UNIT_USERS) {
		unit_refuse(id >= MU_TABLE_REC ? RULE_rec_id : RULE_rec_system, "Rec_FIFO_Id", id);
		return 0;
	}
	owner = atomic_load_acquire(&unit.table->rec[id]);
	if (owner && owner != unit.job->coord.t + 1u)
		return forward_packet(owner - 1, source, h, payload, bytes);
	r = get_rec(id);
	if (!r)
		return -EAGAIN;
	if (!r->waits.first && r->is_enabled && r->is_set && !rec_append(r, h, payload, bytes))
		return 0;
	if (!r->is_enabled || !r->is_set)
		unit_refuse(RULE_rec_enabled, "Rec_FIFO_Id", id);
	else
		atomic_fetch_add_relaxed(&unit.refused[RULE_rec_full], 1);
	if (unit.is_strict && may_refuse && r->is_enabled && r->is_set) {
		note_full(r);
		return -EAGAIN;
	}
	if (list_add(&r->waits, source, h, payload, bytes))
		return -EAGAIN;
	unit.waiting++;
	return 0;
}

/* The entry's value. 0: mine; 1: another process's; negative: refused. */
static int base_of(unsigned id, const char *field, uint64_t *base)
{
	unsigned owner;

	if (id >= 8 * UNIT_USERS) {
		unit_refuse(id >= MU_TABLE_BAT ? RULE_bat_id : RULE_bat_system, field, id);
		return -EINVAL;
	}
	owner = atomic_load_acquire(&unit.table->bat[id]);
	if (!owner) {
		unit_refuse(RULE_bat_owner, field, id);
		return -EINVAL;
	}
	if (owner != unit.job->coord.t + 1u)
		return 1;
	*base = atomic_load_acquire((uint64_t *)(void *)(unit_page(id / 8) + 0x400) + id % 8);
	return 0;
}

/* The payload is visible. The counter's entry may be that of another process of the node. */
static int count_down(uint32_t source, const MUHWI_PacketHeader_t *h, uint32_t bytes)
{
	uint64_t base, at;
	int whose =
	    base_of(h->messageUnitHeader.Packet_Types.Direct_Put.Rec_Counter_Base_Address_Id,
		    "Rec_Counter_Base_Address_Id", &base);

	if (whose > 0)
		return unit_work_add(UNIT_COUNT, source, h, &bytes, sizeof bytes);
	if (whose < 0)
		return 0;
	at = base + h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset;
	if (!(at & MUHWI_ATOMIC_ADDRESS_INDICATOR))
		unit_refuse(RULE_counter_atomic, "counter", at);
	else if (atomic_store_op(at, -(uint64_t)bytes))
		unit_refuse(RULE_counter_memory, "counter", at);
	return 0;
}

static int receive_put(uint32_t source, const MUHWI_PacketHeader_t *h, const unsigned char *payload,
		       uint32_t bytes)
{
	uint64_t base, offset = mu_put_offset(h), to, value;
	int whose =
	    base_of(h->messageUnitHeader.Packet_Types.Direct_Put.Rec_Payload_Base_Address_Id,
		    "Rec_Payload_Base_Address_Id", &base);

	if (whose > 0)
		return forward_packet(0, source, h, payload, bytes);
	if (whose < 0)
		return 0;
	to = base + offset;
	if (to & MUHWI_ATOMIC_ADDRESS_INDICATOR) {
		if (bytes != 8) {
			unit_refuse(RULE_put_atomic, "bytes", bytes);
			return 0;
		}
		memcpy(&value, payload, sizeof value);
		if (atomic_store_op(to, value)) {
			unit_refuse(RULE_put_memory, "address", to);
			return 0;
		}
	} else if (to >= ADDRESS_END) {
		unit_refuse(RULE_put_overflow, "address", to);
		return 0;
	} else if (bytes > ADDRESS_END - to) {
		unit_refuse(RULE_put_cross, "address", to);
		return 0;
	} else if (!is_writable(to, bytes)) {
		unit_refuse(RULE_put_memory, "address", to);
		return 0;
	} else {
		unit_put_bytes(to, payload, bytes);
	}
	return count_down(source, h, bytes);
}

/* A tail that is not in the FIFO keeps descriptors out; the pump names it. */
static bool rget_append(struct unit_inj *f, const unsigned char *desc)
{
	uint64_t tail = f->hw->pa_tail, next = tail + 64;

	if (tail - f->place.start >= f->place.size || tail % 64 ||
	    !unit_is_in_place(f->hw, &f->place))
		return false;
	if (next >= f->place.start + f->place.size)
		next = f->place.start;
	if (next == atomic_load_acquire(&f->hw->pa_head))
		return false;
	memcpy((void *)(uintptr_t)tail, desc, 64);
	atomic_store_release(&f->hw->pa_tail, next);
	return true;
}

static int receive_get(uint32_t source, const MUHWI_PacketHeader_t *h, const unsigned char *payload,
		       uint32_t bytes)
{
	unsigned id = h->messageUnitHeader.Packet_Types.Remote_Get.Rget_Inj_FIFO_Id, owner;
	struct unit_inj *f;

	if (id >= 8 * UNIT_USERS) {
		unit_refuse(id >= MU_TABLE_INJ ? RULE_get_id : RULE_get_system, "Rget_Inj_FIFO_Id",
			    id);
		return 0;
	}
	owner = atomic_load_acquire(&unit.table->inj[id]);
	if (owner && owner != unit.job->coord.t + 1u)
		return forward_packet(owner - 1, source, h, payload, bytes);
	f = unit.inj[id];
	if (!f || !f->is_set || !f->is_rget) {
		unit_refuse(RULE_get_fifo, "Rget_Inj_FIFO_Id", id);
		return 0;
	}
	if (!f->is_active)
		unit_refuse(RULE_get_active, "Rget_Inj_FIFO_Id", id);
	for (uint32_t at = 0; at < bytes; at += 64) {
		if (!f->waits.first && rget_append(f, payload + at))
			continue;
		atomic_fetch_add_relaxed(&unit.refused[RULE_get_full], 1);
		if (list_add(&f->waits, source, h, payload + at, 64))
			drv_error("MU: no memory for a remote get of task %u: dropped", source);
		else
			unit.waiting++;
	}
	unit_wake();
	return 0;
}

int unit_receive(uint32_t source, const MUHWI_PacketHeader_t *h, const unsigned char *payload,
		 uint32_t bytes, bool may_refuse)
{
	/* A put may have to hand on its count, a get the descriptors that find no room. */
	if (reserve_packets(mu_packet_type(h) == MUHWI_PACKET_TYPE_GET ? (bytes + 63) / 64 : 1))
		return -EAGAIN;
	switch (mu_packet_type(h)) {
	case MUHWI_PACKET_TYPE_FIFO:
		return receive_fifo(source, h, payload, bytes, may_refuse);
	case MUHWI_PACKET_TYPE_PUT:
		return receive_put(source, h, payload, bytes);
	default:
		return receive_get(source, h, payload, bytes);
	}
}

int unit_work_add(unsigned kind, uint32_t source, const MUHWI_PacketHeader_t *h,
		  const void *payload, uint32_t bytes)
{
	int rc = list_add(&unit.work, source, h, payload, bytes);

	if (rc)
		return rc;
	/* The kind stands where the chip keeps its own notes. */
	((struct unit_packet *)(void *)((char *)unit.work.last -
					offsetof(struct unit_packet, next)))
	    ->header.NetworkHeader.pt2pt.Injection_Info.Reserved4 = (uint16_t)kind;
	unit_wake();
	return 0;
}

/* A piece of a memory-FIFO message: packets of 512. All of them are taken, or none (strict, or
 * without memory), since the caller repeats the whole piece. */
static int receive_pieces(uint32_t source, const MUHWI_PacketHeader_t *h,
			  const unsigned char *payload, uint32_t bytes)
{
	uint32_t at = 0;

	if (reserve_packets(bytes / MU_PACKET_PAYLOAD + 1))
		return -EAGAIN;
	do {
		uint32_t n = bytes - at > MU_PACKET_PAYLOAD ? MU_PACKET_PAYLOAD : bytes - at;
		MUHWI_PacketHeader_t one = *h;
		int rc;

		one.NetworkHeader.pt2pt.Byte8.Size = (n + 31) / 32;
		if (at)
			mu_fifo_offset_set(&one, mu_fifo_offset(h) + at);
		if (at + n < bytes)
			one.NetworkHeader.pt2pt.Byte2.Interrupt = 0;
		rc = receive_fifo(source, &one, payload + at, n, !at);
		if (rc)
			return rc;
		at += n;
	} while (at < bytes);
	return 0;
}

/* A put of which another process of this node received the payload. */
static int receive_count(uint32_t source, const MUHWI_PacketHeader_t *h,
			 const unsigned char *payload, uint32_t bytes)
{
	uint32_t count;

	if (bytes != sizeof count)
		return 0;
	memcpy(&count, payload, sizeof count);
	return count_down(source, h, count);
}

/* What a class route delivers to this node. */
static int receive_result(uint32_t source, unsigned kind, const MUHWI_PacketHeader_t *h,
			  const unsigned char *payload, uint32_t bytes)
{
	int rc = unit_receive(source, h, payload, bytes, true);

	if (!rc && kind == UNIT_RESULT_MISMATCH)
		unit_refuse(RULE_class_mismatch, "Class_Route",
			    h->NetworkHeader.collective.Byte2.Class_Route);
	return rc;
}

int unit_on_raw(void *arg, uint32_t source, unsigned kind, const MUHWI_PacketHeader_t *h,
		const unsigned char *payload, uint32_t bytes)
{
	int rc;

	(void)arg;
	mu_lock_acquire(&unit.memory);
	if (kind == UNIT_TREE)
		rc = unit_work_add(kind, source, h, payload, bytes);
	else if (kind == UNIT_COUNT)
		rc = receive_count(source, h, payload, bytes);
	else if (kind != UNIT_PLAIN)
		rc = receive_result(source, kind, h, payload, bytes);
	else if (mu_packet_type(h) == MUHWI_PACKET_TYPE_FIFO)
		rc = receive_pieces(source, h, payload, bytes);
	else
		rc = unit_receive(source, h, payload, bytes, true);
	mu_lock_release(&unit.memory);
	return rc;
}

int unit_refill(void)
{
	struct unit_packet *p;
	int n = 0;

	mu_lock_acquire(&unit.memory);
	for (unsigned i = 0; i < MU_TABLE_REC; i++) {
		struct unit_rec *r = unit.rec[i];

		if (!r || !r->waits.first || !r->is_set || !r->is_enabled)
			continue;
		while ((p = r->waits.first) && !rec_append(r, &p->header, p->payload, p->bytes)) {
			free(unit_list_take(&r->waits));
			unit.waiting--;
			n++;
		}
	}
	for (unsigned i = 0; i < MU_TABLE_INJ; i++) {
		struct unit_inj *f = unit.inj[i];

		if (!f || !f->waits.first || !f->is_set)
			continue;
		while ((p = f->waits.first) && rget_append(f, p->payload)) {
			free(unit_list_take(&f->waits));
			unit.waiting--;
			n++;
		}
	}
	mu_lock_release(&unit.memory);
	return n;
}
