/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The injection side: descriptors of the program's FIFOs become sends of the channel. A FIFO is
 * strictly in order: a descriptor that goes to another engine or node waits for those before it.
 * Its head passes descriptors whose last packet has left, in order.
 */
#include <errno.h>
#include <stdlib.h>

#include "muspi/check.h"
#include "muspi/unit.h"

#include "emu/route.h"
#include "mu/hw/packetize.h"

#define PIN_LOCAL 10u
#define ROUND     16u /* descriptors of one FIFO before the next gets its turn */
/* Contributions that may wait for routers: the channel's other packets find room behind them. */
#define CONTRIBUTIONS 256u

static uint64_t ring_next(const struct unit_inj *f, uint64_t at)
{
	return at + 64 >= f->place.start + f->place.size ? f->place.start : at + 64;
}

static void update_space(struct unit_inj *f)
{
	uint64_t size = f->place.size, tail = atomic_load_acquire(&f->hw->pa_tail);
	uint64_t space = size / 64 - 1 - (tail + size - f->hw->pa_head) % size / 64;
	uint64_t limit = f->is_rget ? unit.threshold_rget : unit.threshold_inj;
	bool above = f->is_rget ? space >= limit : space > limit;

	atomic_store_release(&f->count->freeSpace, space);
	if (f->interrupts && limit && above != f->was_above && above != f->is_rget)
		unit_raise(f->id / 32, 1ull << (63 - f->id % 32));
	f->was_above = above;
}

/* The head passes what is done. */
static int retire_descriptors(struct unit_inj *f)
{
	int n = 0;

	while (f->count_flights) {
		struct unit_flight *e = &f->flight[f->first];

		if (e->parts)
			break;
		free(e->heap);
		e->heap = NULL;
		e->used = false;
		f->first = (f->first + 1) % UNIT_FLIGHTS;
		f->count_flights--;
		/* A program that sees the FIFO empty finds the descriptor counted. */
		atomic_store_release(&f->count->descCount, f->count->descCount + 1);
		atomic_store_release(&f->hw->pa_head, ring_next(f, f->hw->pa_head));
		n++;
	}
	if (n)
		update_space(f);
	return n;
}

static void on_sent(struct mu_op *op, int result)
{
	struct unit_flight *e = (struct unit_flight *)(void *)op;

	if (result == -EFAULT)
		unit_refuse(RULE_payload_memory, "a descriptor's payload: error",
			    (uint64_t)-result);
	unit.flights--;
	e->parts--;
	if (!e->parts)
		retire_descriptors(e->fifo);
}

struct copy {
	struct mu_op op;
	unsigned char data[];
};

static void on_copy_sent(struct mu_op *op, int result)
{
	(void)result;
	unit.flights--;
	free(op);
}

/* Make a descriptor that sends a copy of the data. Returns NULL if there is no memory. */
static struct copy *describe_copy(MUHWI_Descriptor_t *d, const MUHWI_PacketHeader_t *h,
				  const void *data, uint32_t bytes)
{
	struct copy *c = malloc(sizeof *c + bytes);

	if (!c)
		return NULL;
	memcpy(c->data, data, bytes);
	memset(d, 0, sizeof *d);
	d->PacketHeader = *h;
	d->Pa_Payload = (uint64_t)(uintptr_t)c->data;
	d->Message_Length = bytes;
	return c;
}

int unit_send_copy(uint32_t task, unsigned kind, const MUHWI_PacketHeader_t *h, const void *data,
		   uint32_t bytes)
{
	_Alignas(64) MUHWI_Descriptor_t d;
	struct emu_coord x;
	struct copy *c = describe_copy(&d, h, data, bytes);
	int rc;

	if (!c)
		return -EAGAIN;
	c->op.done = on_copy_sent;
	d.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	mu_task_coord(task, &x);
	d.PacketHeader.NetworkHeader.pt2pt.Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	d.Half_Word1.Interrupt = h->NetworkHeader.pt2pt.Byte2.Interrupt;
	d.PacketHeader.NetworkHeader.pt2pt.Hints = 0;
	d.PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 = 0;
	d.PacketHeader.NetworkHeader.pt2pt.Byte3.Byte3 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	d.PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination = emu_coord_word(&x);
	d.PacketHeader.NetworkHeader.pt2pt.Byte8.Size = 16;
	rc = mu_send_raw(unit.ch, task, unit.channel, &d, kind, PIN_LOCAL, &c->op);
	if (rc)
		free(c);
	else
		unit.flights++;
	return rc;
}

static void on_contribution_sent(struct mu_op *op, int result)
{
	unit.contributions--;
	on_copy_sent(op, result);
}

int unit_send_contribution(const MUHWI_PacketHeader_t *h, const void *data, uint32_t bytes)
{
	uint32_t word =
	    atomic_load_acquire(&unit.table->coll[h->NetworkHeader.collective.Byte2.Class_Route]);
	ClassRoute_t route = {(uint16_t)(word >> 16), (uint16_t)word};
	_Alignas(64) MUHWI_Descriptor_t d;
	struct copy *c;
	int rc;

	if (unit.contributions >= CONTRIBUTIONS || !(c = describe_copy(&d, h, data, bytes)))
		return -EAGAIN;
	c->op.done = on_contribution_sent;
	d.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
	d.Half_Word1.Interrupt = h->NetworkHeader.collective.Byte2.Interrupt;
	rc = mu_send_raw_collective(unit.ch, unit.channel, &d, &route, UNIT_RESULT, &c->op);
	if (rc) {
		free(c);
		return rc;
	}
	unit.contributions++;
	unit.flights++;
	return 0;
}

/* The engine that a map names, by link; the FIFO takes the bits of a map in turn. */
static unsigned choose_pin(struct unit_inj *f, uint64_t map)
{
	unsigned bits = (unsigned)__builtin_popcountll(map & 0xffc0), skip;

	map &= 0xffc0;
	if (!bits)
		return PIN_LOCAL;
	for (skip = f->turn % bits; skip; skip--)
		map &= map - 1;
	return 15u - (unsigned)__builtin_ctzll(map);
}

static unsigned subgroup_of(const MUHWI_PacketHeader_t *h)
{
	switch (mu_packet_type(h)) {
	case MUHWI_PACKET_TYPE_FIFO:
		return h->messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id / 4u;
	case MUHWI_PACKET_TYPE_PUT:
		return h->messageUnitHeader.Packet_Types.Direct_Put.Rec_Payload_Base_Address_Id /
		       8u;
	default:
		return h->messageUnitHeader.Packet_Types.Remote_Get.Rget_Inj_FIFO_Id / 8u;
	}
}

/* The task at a node that gets a packet first: it forwards what is another's. */
static int find_task(uint32_t word, const MUHWI_PacketHeader_t *h, uint32_t *task)
{
	struct emu_coord x;

	emu_coord_from_word(word, &x);
	x.t = (uint8_t)unit_owner_of(subgroup_of(h));
	if (!mu_coord_task(&x, task))
		return 0;
	x.t = 0;
	return mu_coord_task(&x, task);
}

/* Add 4-byte words to a checksum, but the first *skip; the last word is padded with zeros. */
static uint64_t add_words(uint64_t sum, const void *from, uint32_t bytes, unsigned *skip)
{
	for (uint32_t at = 0; at < bytes; at += 4) {
		uint32_t word = 0;

		if (*skip) {
			--*skip;
			continue;
		}
		memcpy(&word, (const char *)from + at, bytes - at < 4 ? bytes - at : 4);
		sum = sum * 31 + word;
	}
	return sum;
}

/* Add the packets of a message to the checksum of the network FIFO that carries them. */
static void add_checksum(unsigned index, const MUHWI_Descriptor_t *d)
{
	unsigned all = d->PacketHeader.NetworkHeader.pt2pt.Injection_Info.Skip;
	uint64_t at = 0;
	bool is_there;

	if (all >= (sizeof(MUHWI_PacketHeader_t) + MU_PACKET_PAYLOAD) / 4)
		return;
	is_there =
	    d->Message_Length && mu_is_buffer_mapped(unit.ch, d->Pa_Payload, d->Message_Length, 0);
	do {
		MUHWI_PacketHeader_t h;
		uint32_t bytes = mu_packetize(d, at, &h);
		unsigned skip = all;
		uint64_t sum = add_words(unit.sum[index], &h, sizeof h, &skip);

		if (is_there)
			sum = add_words(sum, (void *)(uintptr_t)(d->Pa_Payload + at), bytes, &skip);
		unit.sum[index] = sum;
		at += MU_PACKET_PAYLOAD;
	} while (at < d->Message_Length);
}

/* Send to a task; op completes. 0: sent, 1: refused, -EAGAIN. */
static int send_to_task(struct unit_inj *f, struct unit_flight *e, struct mu_op *op,
			const MUHWI_Descriptor_t *d, uint32_t task)
{
	int rc = mu_send_raw(unit.ch, task, unit.channel, d, UNIT_PLAIN, f->pin, op);

	if (rc)
		return rc == -EAGAIN ? rc : 1;
	e->parts++;
	unit.flights++;
	return 0;
}

/* The same to a node. */
static int send_to(struct unit_inj *f, struct unit_flight *e, struct mu_op *op,
		   const MUHWI_Descriptor_t *d, uint32_t word)
{
	uint32_t task;

	if (find_task(word, &d->PacketHeader, &task)) {
		unit_refuse(RULE_destination, "Destination", word);
		return 1;
	}
	return send_to_task(f, e, op, d, task);
}

/* The send of a descriptor to one node of a line. An operation is in flight once, so each has its
 * own. */
struct stop {
	struct mu_op op;
	struct unit_flight *flight;
};

static void on_stop_sent(struct mu_op *op, int result)
{
	struct unit_flight *e = ((struct stop *)(void *)op)->flight;

	free(op);
	on_sent(&e->op, result);
}

/* Send what d says to one node of a line. 0, or -EAGAIN. */
static int send_to_stop(struct unit_inj *f, struct unit_flight *e, MUHWI_Descriptor_t *d,
			uint32_t word)
{
	struct stop *stop = calloc(1, sizeof *stop);
	int rc;

	if (!stop)
		return -EAGAIN;
	stop->op.done = on_stop_sent;
	stop->flight = e;
	d->PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination = word;
	rc = send_to(f, e, &stop->op, d, word);
	if (rc)
		free(stop);
	return rc == -EAGAIN ? rc : 0;
}

/*
 * A deposited packet goes to each node on its line. Routers copy it, if there are any; they deliver
 * each copy to T 0 of its node, which is there on every node. Else each node gets its own packet.
 */
static int send_line(struct unit_inj *f, struct unit_flight *e, MUHWI_Descriptor_t *d)
{
	uint32_t to = d->PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination;
	uint32_t here = emu_coord_word(&unit.job->coord), nodes = emu_shape_nodes(&unit.job->shape);
	unsigned hints = (unsigned)d->PacketHeader.NetworkHeader.pt2pt.Hints << 2 |
			 d->PacketHeader.NetworkHeader.pt2pt.Byte2.Byte2 >> 6;
	unsigned link = 9u - (unsigned)__builtin_ctz(hints);
	uint32_t node = unit.job->node, task;
	struct emu_coord x;
	uint64_t step = 0;

	emu_coord_from_word(to, &x);
	x.t = 0;
	if (here != to && mu_routers_combine() && !mu_coord_task(&x, &task))
		return send_to_task(f, e, &e->op, d, task) == -EAGAIN ? -EAGAIN : 0;
	d->PacketHeader.NetworkHeader.pt2pt.Byte2.Deposit = 0;
	while (here != to && nodes--) {
		node = emu_node_neighbour(&unit.job->shape, node, link);
		if (node == UINT32_MAX)
			break;
		emu_node_coord(&unit.job->shape, node, &x);
		here = emu_coord_word(&x);
		if (step++ < f->sent)
			continue;
		if (send_to_stop(f, e, d, here))
			return -EAGAIN;
		f->sent++;
	}
	return 0;
}

/* Contribute the packets of a collective message. */
static int send_collective(struct unit_inj *f, const MUHWI_Descriptor_t *d)
{
	MUHWI_Descriptor_t model = *d;

	model.PacketHeader.NetworkHeader.collective.Byte2.Interrupt = 0;
	do {
		MUHWI_PacketHeader_t h;
		unsigned char data[MU_PACKET_PAYLOAD];
		uint64_t left = d->Message_Length - f->sent, value;
		uint32_t bytes = mu_packetize(&model, f->sent, &h);
		int rc;

		h.NetworkHeader.collective.Byte2.Interrupt =
		    left <= MU_PACKET_PAYLOAD && d->Half_Word1.Interrupt;
		memset(data, 0, sizeof data);
		if (d->Pa_Payload & MUHWI_ATOMIC_ADDRESS_INDICATOR) {
			if (unit_atomic_load(d->Pa_Payload, &value))
				unit_refuse(RULE_payload_memory, "Pa_Payload", d->Pa_Payload);
			memcpy(data, &value, sizeof value);
		} else if (bytes) {
			memcpy(data, (void *)(uintptr_t)(d->Pa_Payload + f->sent), bytes);
		}
		rc = unit_tree_contribute(&h, data, bytes);
		if (rc == -EAGAIN)
			return rc;
		f->sent += bytes;
	} while (f->sent < d->Message_Length);
	return 0;
}

static struct unit_flight *flight_next(struct unit_inj *f)
{
	struct unit_flight *e = &f->flight[(f->first + f->count_flights) % UNIT_FLIGHTS];

	if (!e->used) {
		*e = (struct unit_flight){.op = {.done = on_sent}, .fifo = f, .used = true};
		e->parts = 1; /* ours, until all is sent */
	}
	return e;
}

/* Take the 8 bytes at an atomic address: once, though the send may be tried again. */
static int load_atomic(struct unit_flight *e, MUHWI_Descriptor_t *d)
{
	if (!e->heap) {
		uint64_t value;

		if (unit_atomic_load(d->Pa_Payload, &value)) {
			unit_refuse(RULE_payload_memory, "Pa_Payload", d->Pa_Payload);
			return -EFAULT;
		}
		e->heap = malloc(sizeof value);
		if (!e->heap)
			return -EAGAIN;
		memcpy(e->heap, &value, sizeof value);
	}
	d->Pa_Payload = (uint64_t)(uintptr_t)e->heap;
	return 0;
}

/* Start a descriptor. 0: started, or refused; -EAGAIN: later. */
static int start_descriptor(struct unit_inj *f, const MUHWI_Descriptor_t *given)
{
	MUHWI_Descriptor_t d = *given;
	struct unit_flight *e;
	bool collective = mu_is_coll(&d.PacketHeader);
	uint32_t to = d.PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination;
	bool fresh = !f->flight[(f->first + f->count_flights) % UNIT_FLIGHTS].used;
	int rc = 0;

	if (fresh && unit_check(&d))
		d.Half_Word0.Prefetch_Only = 1; /* counted as done, and not sent */
	if (!d.Half_Word0.Prefetch_Only && !collective) {
		unsigned pin = choose_pin(f, d.Torus_FIFO_Map);

		if (to == emu_coord_word(&unit.job->coord))
			pin = PIN_LOCAL;
		if (f->count_flights && pin != f->pin)
			return -EAGAIN; /* what is ahead leaves first */
		f->pin = pin;
	} else if (f->count_flights) {
		return -EAGAIN;
	}
	e = flight_next(f);
	d.Half_Word0.Half_Word0 &= 1;
	if (d.Half_Word0.Prefetch_Only) {
		rc = 0;
	} else if (collective) {
		rc = send_collective(f, &d);
	} else {
		if (mu_packet_type(&d.PacketHeader) == MUHWI_PACKET_TYPE_PACED_GET)
			d.PacketHeader.NetworkHeader.pt2pt.Byte8.Packet_Type =
			    MUHWI_PACKET_TYPE_GET >> 6;
		if (d.Pa_Payload & MUHWI_ATOMIC_ADDRESS_INDICATOR)
			rc = load_atomic(e, &d);
		if (!rc && d.PacketHeader.NetworkHeader.pt2pt.Byte2.Deposit)
			rc = send_line(f, e, &d);
		else if (!rc)
			rc = send_to(f, e, &e->op, &d, to);
	}
	if (rc == -EAGAIN)
		return rc;
	if (!d.Half_Word0.Prefetch_Only)
		add_checksum(collective ? 14 : f->pin, &d);
	f->sent = 0;
	f->turn++;
	f->count_flights++;
	e->parts--;
	if (!e->parts)
		retire_descriptors(f);
	return 0;
}

static bool is_pointer_valid(const struct unit_inj *f, uint64_t at, const char *field)
{
	uint64_t offset = at - f->place.start;

	if (offset < f->place.size && offset % 64 == 0)
		return true;
	unit_refuse(offset < f->place.size ? RULE_fifo_align : RULE_fifo_range, field, at);
	return false;
}

/* The program can store anything to the registers of a FIFO. Returns false after a line. */
static bool are_registers_valid(const struct unit_inj *f, uint64_t tail)
{
	return unit_check_place(f->hw, &f->place) && is_pointer_valid(f, tail, "pa_tail") &&
	       is_pointer_valid(f, atomic_load_acquire(&f->hw->pa_head), "pa_head");
}

static int run_fifo(struct unit_inj *f)
{
	uint64_t tail = atomic_load_acquire(&f->hw->pa_tail);
	int n = 0;

	if (f->issue == tail)
		return 0;
	if (!are_registers_valid(f, tail)) {
		unit_activate(f, false);
		return 0;
	}
	if (f->interrupts)
		update_space(f); /* a fall that this round makes good is a crossing, too */
	while (f->issue != tail && f->count_flights < UNIT_FLIGHTS && n < (int)ROUND) {
		if (start_descriptor(f, (const MUHWI_Descriptor_t *)(uintptr_t)f->issue))
			break;
		f->issue = ring_next(f, f->issue);
		n++;
	}
	if (n)
		update_space(f);
	return n;
}

int unit_inject(void)
{
	int n = 0;

	for (uint32_t i = 0; i < unit.actives; i++)
		n += run_fifo(unit.inj[unit.active[i]]);
	return n;
}

void unit_activate(struct unit_inj *f, bool on)
{
	uint32_t i = 0;
	MUHWI_InjFifoStatus_t *s = unit_status(f->id / 32u);
	uint64_t bit = 1ull << (31 - f->id % 32);

	if (on == f->is_active)
		return;
	f->is_active = on;
	if (on) {
		/* Software may have rewound the FIFO. */
		f->issue = atomic_load_acquire(&f->hw->pa_head);
		f->sent = 0;
		if (!is_pointer_valid(f, f->issue, "pa_head")) {
			f->is_active = false;
			return;
		}
		unit.active[unit.actives++] = f->id;
		update_space(f);
		s->isEnabled |= bit;
		return;
	}
	while (i < unit.actives && unit.active[i] != f->id)
		i++;
	if (i < unit.actives)
		unit.active[i] = unit.active[--unit.actives];
	s->isEnabled &= ~bit;
}
