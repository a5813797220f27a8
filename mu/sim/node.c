/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node in virtual time: a router of emu/world with the engines of the MU attached. This file is
 * the injection side; mu/sim/effect.c is the reception side. Hot: bench/figures/virt_figures.
 *
 *   tail store --mu_inject--> engine: packet by packet --> router ... router --mu_receive--> effect
 *
 * An effect is what software sees: a record in the ring, bytes in memory and a counter, or
 * descriptors in a remote-get FIFO, which an engine then runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/assert.h"
#include "drivers/base/log.h"
#include "mu/hw/packetize.h"
#include "mu/hw/raw_header.h"
#include "mu/process.h"
#include "mu/sim/state.h"
#include "mu/channel/class_route.h"
#include "mu/engine/engine.h"
#include "mu/hw/desc_build.h"

#define STAGE_BYTES   16384u /* bytes of a message in private memory that are read ahead */
#define POOL_RETRY_PS 1000000u

/* The FIFO from which an engine takes its descriptors. */
struct source {
	struct sim_engine *e;
	uint32_t channel;
	int rget;
	unsigned pin;
	struct sim_fifo *f;        /* a FIFO of a channel; NULL: a FIFO of a node */
	struct mu_node_fifo *fifo; /* a FIFO of a node */
	unsigned fifo_number;
};

static inline struct source source_of(struct mu_sim *s, uint32_t channel, int rget, unsigned pin)
{
	struct sim_fifo *f = s->channel[channel].fifo[rget];

	return (struct source){&f->engine[pin], channel, rget, pin, f, NULL, 0};
}

static inline struct source source_of_node(struct mu_sim *s, uint32_t node, unsigned fifo)
{
	struct mu_node_fifo *f = &mu_host_node(s->host, node)->fifo[fifo];

	return (struct source){
	    &s->node[node].fifo[fifo], atomic_load_relaxed(&f->channel), 0, 0, NULL, f, fifo};
}

/* The entry of an engine in the list of waiting engines of its node; and the reverse. */
static inline uint32_t engine_id(struct source from)
{
	return from.fifo ? SIM_WAITS_NODE | from.fifo_number
			 : (from.channel * MU_PINS + from.pin) << 1 | (from.rget != 0);
}

static inline struct source source_of_id(struct mu_sim *s, uint32_t node, uint32_t id)
{
	return id & SIM_WAITS_NODE ? source_of_node(s, node, id & 31)
				   : source_of(s, (id >> 1) / MU_PINS, id & 1, (id >> 1) % MU_PINS);
}

static inline uint32_t slot_at(const MUHWI_Fifo_t *f, uint64_t at)
{
	return (uint32_t)((at - f->pa_start) / 64) % MU_INJ_SLOTS;
}

static inline uint64_t inj_used(const MUHWI_Fifo_t *f)
{
	return ((f->pa_tail - f->pa_head) / 64) % MU_INJ_SLOTS;
}

/* Return the descriptor at the head and the time from which it may leave, or NULL. */
static const MUHWI_Descriptor_t *get_head(struct mu_sim *s, struct source from, uint64_t *ready)
{
	struct mu_channel_area *a = sim_area(s, from.channel);
	uint32_t i;

	if (from.fifo) {
		uint64_t head = atomic_load_relaxed(&from.fifo->head);

		if (head == atomic_load_acquire(&from.fifo->tail))
			return NULL;
		i = head % MU_NODE_SLOTS;
		*ready = from.fifo->when_ps[i] + s->timing->mu_inject_ps;
		return &from.fifo->slot[i];
	}
	DRV_ASSERT(from.f);
	i = from.f->first[from.pin];
	if (i == SIM_SLOT_NONE)
		return NULL;
	if (from.rget) {
		*ready = s->channel[from.channel].rget_when[i];
		return &a->rget_slot[i];
	}
	*ready = a->when_ps[i] + s->timing->mu_inject_ps;
	return &a->inj_slot[i];
}

/*
 * Copy the simulator's counters into the registers of the remote-get FIFO, once its channel is
 * open.
 */
static void rget_registers(struct mu_sim *s, uint32_t channel)
{
	struct mu_channel_area *a = sim_area(s, channel);
	struct sim_channel *c = &s->channel[channel];

	if (!a->rget.pa_start)
		return;
	a->rget.pa_head = a->rget.pa_start + c->rget_head % MU_RGET_SLOTS * 64ull;
	a->rget.pa_tail = a->rget.pa_start + c->rget_tail % MU_RGET_SLOTS * 64ull;
}

static void engine_schedule(struct mu_sim *s, struct source from, uint64_t ready)
{
	const struct sim_task *t = &s->task[from.channel / s->channels];
	uint32_t port = SIM_PORT_ENGINE +
			2 * ((uint32_t)t->t * s->channels + from.channel % s->channels) +
			(from.rget != 0);
	uint64_t at = ready > from.e->free_at ? ready : from.e->free_at;

	if (at < s->now)
		at = s->now;
	unsigned kind = from.rget ? SIM_RGET : SIM_INJECT;

	if (from.fifo) {
		port = SIM_PORT_NODE + from.fifo_number;
		kind = SIM_NODE;
	}
	if (emu_sched_push(emu_world_sched(s->world), at, t->node, port, (uint8_t)kind,
			   from.channel, (uint16_t)(from.fifo ? from.fifo_number : from.pin)))
		s->error = -ENOMEM;
}

/* Schedule the engine for the descriptor at its head, or leave it idle. */
static void engine_next(struct mu_sim *s, struct source from)
{
	uint64_t ready;
	int due = get_head(s, from, &ready) != NULL, was = from.e->state != SIM_ENGINE_IDLE;

	from.e->state = due ? SIM_ENGINE_DUE : SIM_ENGINE_IDLE;
	if (due)
		engine_schedule(s, from, ready);
	if (due != was) {
		s->engines += due ? 1u : -1u;
		if (!from.rget)
			s->task[from.channel / s->channels].direct += due ? 1u : -1u;
	}
}

static struct sim_fifo *get_fifo(struct mu_sim *s, uint32_t channel, int rget)
{
	struct sim_fifo **f = &s->channel[channel].fifo[rget];

	if (*f)
		return *f;
	*f = calloc(1, sizeof **f);
	if (!*f) {
		s->error = -ENOMEM;
		return NULL;
	}
	for (unsigned p = 0; p < MU_PINS; p++) {
		(*f)->engine[p].packet = SIM_NONE;
		(*f)->first[p] = SIM_SLOT_NONE;
	}
	return *f;
}

/* Give the next slot of a FIFO to the engine to which its destination is pinned. */
static void assign_slot(struct mu_sim *s, uint32_t channel, int rget, const MUHWI_Descriptor_t *d)
{
	struct sim_fifo *f = s->channel[channel].fifo[rget];
	uint16_t slot = (uint16_t)f->take;
	struct emu_coord here;
	struct source from;
	unsigned pin;

	emu_node_coord(&s->host->shape, s->task[channel / s->channels].node, &here);
	pin = mu_choose_pin(&s->route, s->host->machine.hw.pin_fifos, &here, d);
	from = source_of(s, channel, rget, pin);

	f->next[slot] = SIM_SLOT_NONE;
	f->done[slot] = 0;
	if (f->first[pin] == SIM_SLOT_NONE)
		f->first[pin] = slot;
	else
		f->next[f->last[pin]] = slot;
	f->last[pin] = slot;
	f->inside++;
	f->take = (f->take + 1) % MU_INJ_SLOTS;
	if (from.e->state == SIM_ENGINE_IDLE)
		engine_next(s, from);
}

void sim_inject_kick(struct mu_sim *s, uint32_t channel)
{
	struct mu_channel_area *a = sim_area(s, channel);
	struct sim_fifo *f = get_fifo(s, channel, 0);

	s->quiet = 0;
	if (!f)
		return;
	if (!f->inside) /* the channel may have been reopened */
		f->take = slot_at(&a->inj, a->inj.pa_head);
	while (f->take != slot_at(&a->inj, a->inj.pa_tail))
		assign_slot(s, channel, 0, &a->inj_slot[f->take]);
}

void sim_node_kick(struct mu_sim *s, uint32_t node, unsigned fifo)
{
	struct sim_node *n = &s->node[node];
	struct source from;

	s->quiet = 0;
	if (!n->fifo) {
		n->fifo = calloc(MU_NODE_FIFOS, sizeof *n->fifo);
		if (!n->fifo) {
			s->error = -ENOMEM;
			return;
		}
		for (unsigned i = 0; i < MU_NODE_FIFOS; i++)
			n->fifo[i].packet = SIM_NONE;
	}
	from = source_of_node(s, node, fifo);
	if (from.e->state == SIM_ENGINE_IDLE)
		engine_next(s, from);
}

void sim_rget_kick(struct mu_sim *s, uint32_t channel)
{
	struct sim_fifo *f = get_fifo(s, channel, 1);

	rget_registers(s, channel);
	while (f && f->take != s->channel[channel].rget_tail % MU_RGET_SLOTS)
		assign_slot(s, channel, 1, &sim_area(s, channel)->rget_slot[f->take]);
}

/*
 * The engine has finished its slot. The head of the FIFO moves past finished slots. Returns whether
 * a task waits for the end of one of them.
 */
static int pass_done_slots(struct mu_sim *s, struct source from)
{
	struct mu_channel_area *a = sim_area(s, from.channel);
	struct sim_channel *c = &s->channel[from.channel];
	struct sim_fifo *f = from.f;
	uint16_t slot = f->first[from.pin];
	int awaited = 0;

	f->first[from.pin] = f->next[slot];
	f->done[slot] = 1;
	for (; f->inside; f->inside--) {
		slot = (uint16_t)((f->take + MU_INJ_SLOTS - f->inside) % MU_INJ_SLOTS);
		if (!f->done[slot])
			break;
		if (from.rget) {
			c->rget_head++;
			a->rget_hw.descCount++;
			continue;
		}
		awaited |= a->awaited[slot] || inj_used(&a->inj) > MU_INJ_SLOTS / 2;
		a->inj.pa_head = a->inj.pa_head + 64 == a->inj.pa_start + a->inj.size_1 + 1
				     ? a->inj.pa_start
				     : a->inj.pa_head + 64;
		a->inj_hw.descCount++;
	}
	return awaited;
}

/* Finish the descriptor at the head; software can then see that it is complete. */
static void head_done(struct mu_sim *s, struct source from)
{
	uint32_t local = from.channel / s->channels;
	int awaited;

	from.e->offset = 0;
	from.e->stage_bytes = 0;
	if (from.fifo) {
		uint64_t head = atomic_load_relaxed(&from.fifo->head);

		awaited = from.fifo->awaited[head % MU_NODE_SLOTS];
		atomic_store_release(&from.fifo->head, head + 1);
		if (awaited)
			sim_wake(s, local);
		return;
	}
	if (from.rget) {
		pass_done_slots(s, from);
		rget_registers(s, from.channel);
		return;
	}
	if (from.e->trace.packets)
		sim_trace_descriptor(s, from.channel, from.pin);
	sim_spin_touch(s, local, s->now, SIM_TOUCH_CHANGES);
	if (pass_done_slots(s, from))
		sim_wake(s, local);
}

/* ---- packets ---- */

static int read_payload(struct mu_sim *s, struct source from, const MUHWI_Descriptor_t *d,
			uint32_t bytes, unsigned char *to)
{
	uint32_t local = from.channel / s->channels;
	struct sim_engine *e = from.e;
	uint64_t va = d->Pa_Payload + e->offset, left = d->Message_Length - e->offset;
	int rc;

	if (d->Pa_Payload & MUHWI_ATOMIC_ADDRESS_INDICATOR) {
		uint64_t value;

		if (d->Message_Length != 8)
			return -EINVAL;
		sim_write_pending(s, local);
		rc =
		    sim_atomic_load(s, local, d->Pa_Payload & ~(MUHWI_ATOMIC_ADDRESS_INDICATOR | 7),
				    d->Pa_Payload & 7, &value);
		memcpy(to, &value, 8);
		return rc;
	}
	if (left <= MU_PACKET_PAYLOAD && !e->stage_bytes) {
		sim_write_pending(s, local);
		return sim_read(s, local, to, va, bytes);
	}
	if (e->offset - e->stage_from + bytes > e->stage_bytes || !e->stage_bytes) {
		if (mu_host_translate(s->host, local, va, bytes))
			return sim_read(s, local, to, va, bytes);
		if (!e->stage && !(e->stage = malloc(STAGE_BYTES)))
			return -ENOMEM;
		sim_write_pending(s, local);
		e->stage_from = e->offset;
		e->stage_bytes = left < STAGE_BYTES ? (uint32_t)left : STAGE_BYTES;
		rc = sim_read(s, local, e->stage, va, e->stage_bytes);
		if (rc) {
			e->stage_bytes = 0;
			/* Perhaps only the end of the window cannot be read. */
			return sim_read(s, local, to, va, bytes);
		}
	}
	memcpy(to, e->stage + (e->offset - e->stage_from), bytes);
	return 0;
}

static uint32_t node_of(const struct mu_sim *s, const MUHWI_PacketHeader_t *h)
{
	struct emu_coord x;

	emu_coord_from_word(h->NetworkHeader.pt2pt.Destination.Destination.Destination, &x);
	for (int d = 0; d < EMU_DIMS; d++)
		if (x.c[d] >= s->host->shape.n[d])
			return SIM_NONE;
	return emu_coord_node(&s->host->shape, &x);
}

/* The payload cannot be read. Report that to the target, whose software waits for it. */
static void report_read_error(struct mu_sim *s, struct source from, const MUHWI_Descriptor_t *d,
			      int rc)
{
	const MUHWI_PacketHeader_t *h = &d->PacketHeader;
	unsigned back = mu_header_origin_channel(h) % s->channels;

	sim_count_error(s, from.channel / s->channels,
			rc != -EFAULT ? SIM_ERROR_DESCRIPTOR
			: from.rget   ? SIM_ERROR_GET
				      : SIM_ERROR_PAYLOAD,
			rc);
	if (from.rget && mu_packet_type(h) == MUHWI_PACKET_TYPE_PUT)
		sim_report_access_error(
		    s, from.channel, h->NetworkHeader.pt2pt.Destination.Destination.Destination,
		    mu_header_number(h) / s->channels * s->channels + back, h, rc);
}

/* Check the descriptor at the head before its first packet is made. 0 or a negative errno. */
static int check_descriptor(struct mu_sim *s, struct source from, const MUHWI_Descriptor_t *d)
{
	if (from.fifo)
		return mu_node_check(d);
	if (!mu_is_coll(&d->PacketHeader) || !mu_header_is_raw(&d->PacketHeader))
		return mu_desc_check(d);
	sim_set_world_class(s);
	return mu_coll_check(d);
}

/* Make the next packet of the descriptor. Returns 0, -EAGAIN if no packet is free, or the error. */
static int make_packet(struct mu_sim *s, struct source from, const MUHWI_Descriptor_t *d)
{
	struct emu_packet *p;
	uint32_t i;
	int rc = from.e->offset ? 0 : check_descriptor(s, from, d);

	if (s->task[from.channel / s->channels].dead)
		return -ESHUTDOWN;
	if (!rc && !mu_is_coll(&d->PacketHeader) && node_of(s, &d->PacketHeader) == SIM_NONE)
		rc = -EHOSTUNREACH;
	if (rc)
		return rc;
	i = emu_world_packet_get(s->world);
	if (i == SIM_NONE)
		return -EAGAIN;
	p = &s->pool[i];
	p->bytes = mu_packetize(d, from.e->offset, &p->hdr);
	p->task = s->task[from.channel / s->channels].task;
	rc = p->bytes ? read_payload(s, from, d, p->bytes, p->payload) : 0;
	if (rc && sim_is_long_put(&p->hdr)) { /* the unit that asked has to learn of it */
		sim_count_error(s, from.channel / s->channels, SIM_ERROR_GET, rc);
		sim_long_put_fail(&p->hdr);
		from.e->offset = d->Message_Length - p->bytes;
		rc = 0;
	}
	if (rc) {
		emu_world_packet_put(s->world, i);
		return rc;
	}
	from.e->packet = i;
	return 0;
}

/*
 * Choose the injection queue: local, high priority, or that of the direction to which the
 * destination is pinned.
 */
static unsigned choose_queue(const struct mu_sim *s, uint32_t node, unsigned pin,
			     const MUHWI_PacketHeader_t *h)
{
	if (mu_is_coll(h))
		return EMU_INJECTIONS + mu_coll_route(h);
	if (h->NetworkHeader.pt2pt.Byte2.Deposit)
		return mu_line_queue(h);
	if (node_of(s, h) == node)
		return 3;
	if ((h->NetworkHeader.pt2pt.Byte3.Byte3 & 0xe0) ==
	    MUHWI_PACKET_VIRTUAL_CHANNEL_HIGH_PRIORITY)
		return 2;
	return EMU_INJECTION_LINE + pin % EMU_LINKS;
}

static void wait_for_room(struct mu_sim *s, struct source from, uint32_t node, unsigned queue)
{
	struct sim_node *n = &s->node[node];
	uint32_t id = engine_id(from);

	from.e->state = SIM_ENGINE_WAITS;
	from.e->next = SIM_NONE;
	if (n->waiting_first[queue] == SIM_NONE) {
		n->waiting_first[queue] = id;
	} else {
		uint32_t last = n->waiting_last[queue];

		source_of_id(s, node, last).e->next = id;
	}
	n->waiting_last[queue] = id;
}

/*
 * Give the packet to the router. Returns 0 if the engine continues, or -EAGAIN if it must wait for
 * room.
 */
static int send_packet(struct mu_sim *s, struct source from, const MUHWI_Descriptor_t *d)
{
	uint32_t node = s->task[from.channel / s->channels].node, i = from.e->packet;
	struct emu_packet *p = &s->pool[i];
	uint32_t bytes = p->bytes, wire = emu_packet_wire_bytes(p);
	uint64_t step = (uint64_t)wire * s->timing->mu_ps_per_byte;
	int rc =
	    emu_world_inject(s->world, node, choose_queue(s, node, from.pin, &p->hdr), i, s->now);

	if (rc == -EAGAIN)
		return rc;
	if (rc) {
		if (rc == -EHOSTUNREACH)
			sim_report_cut_pair(s, node, p);
		sim_count_error(s, from.channel / s->channels, SIM_ERROR_ROUTE, rc);
		emu_world_packet_put(s->world, i);
	} else if (__builtin_expect(s->host->trace_at_pages, 0) && from.f && !from.rget) {
		sim_trace_packet(s, from.e, p->route.sequence);
	}
	from.e->packet = SIM_NONE;
	from.e->free_at =
	    s->now + (step > s->timing->mu_packet_ps ? step : s->timing->mu_packet_ps);
	from.e->offset += bytes;
	if (from.e->offset >= d->Message_Length)
		head_done(s, from);
	return 0;
}

/* Move remote gets that found their FIFO full into it. */
static void refill_gets(struct mu_sim *s, uint32_t channel)
{
	struct sim_channel *c = &s->channel[channel];
	uint32_t i;

	while ((i = c->gets_first) != SIM_NONE && sim_rget_room(c) >= s->pool[i].bytes / 64) {
		c->gets_first = s->pool[i].route.next;
		sim_rget_append(s, channel, s->pool[i].payload, s->pool[i].bytes / 64);
		emu_world_packet_put(s->world, i);
	}
}

/*
 * Carry out the atomic at the head of a remote-get FIFO, once; its descriptor becomes that of the
 * answer. The owner of the memory does not run now.
 */
static void run_atomic(struct mu_sim *s, uint32_t local, MUHWI_Descriptor_t *d)
{
	struct mu_atomic a;
	uint64_t old = 0, next;
	bool writes = false;
	int rc = -EINVAL;

	s->task[local].direct--;
	if (s->task[local].dead)
		return; /* make_packet() drops the descriptor */
	sim_write_pending(s, local);
	if (mu_atomic_read(mu_atomics_of(s->host), d, &a))
		rc = mu_host_is_kept(s->host, local, a.address, a.bytes)
			 ? -EFAULT
			 : sim_read(s, local, &old, a.address, a.bytes);
	if (!rc)
		next = mu_atomic_next(&a, old, &writes);
	if (writes)
		rc = sim_write(s, local, a.address, &next, a.bytes);
	if (rc)
		sim_count_error(s, local, SIM_ERROR_ATOMIC, rc);
	mu_atomic_answer(d, old, rc);
	if (rc || !writes)
		return;
	sim_wake(s, local);
	sim_spin_touch(s, local, s->now, SIM_TOUCH_CHANGES);
}

static void engine_run(struct mu_sim *s, struct source from)
{
	uint32_t node = s->task[from.channel / s->channels].node;
	uint64_t ready;
	const MUHWI_Descriptor_t *d = get_head(s, from, &ready);
	int rc = 0;

	if (from.rget && d && mu_desc_is_atomic(d))
		run_atomic(s, from.channel / s->channels,
			   &sim_area(s, from.channel)->rget_slot[from.f->first[from.pin]]);

	if (d && from.e->packet == SIM_NONE) {
		rc = make_packet(s, from, d);
		if (rc == -EAGAIN) {
			engine_schedule(s, from, s->now + POOL_RETRY_PS);
			return;
		}
		if (rc) {
			from.e->free_at = s->now + s->timing->mu_packet_ps;
			if (!s->task[from.channel / s->channels].dead)
				report_read_error(s, from, d, rc);
			head_done(s, from);
		}
	}
	if (d && !rc && send_packet(s, from, d)) {
		wait_for_room(s, from, node,
			      choose_queue(s, node, from.pin, &s->pool[from.e->packet].hdr));
		return;
	}
	engine_next(s, from);
	if (from.rget && s->channel[from.channel].gets_first != SIM_NONE)
		refill_gets(s, from.channel);
}

void sim_engine_event(struct mu_sim *s, const struct emu_event *e)
{
	engine_run(s, e->kind == SIM_NODE ? source_of_node(s, emu_event_node(e), e->mark)
					  : source_of(s, e->arg, e->kind == SIM_RGET, e->mark));
}

static void on_room(void *arg, uint32_t node, unsigned queue, uint64_t now)
{
	struct mu_sim *s = arg;
	struct sim_node *n = &s->node[node];
	uint32_t id;

	s->now = now;
	while ((id = n->waiting_first[queue]) != SIM_NONE) {
		struct source from = source_of_id(s, node, id);
		uint64_t ready;

		if (send_packet(s, from, get_head(s, from, &ready)))
			return; /* the engine stays first in the list */
		n->waiting_first[queue] = from.e->next;
		engine_next(s, from);
	}
}

const struct emu_world_ops sim_world_ops = {
    .deliver = sim_on_deliver, .room = on_room, .gi_status = sim_gi_status};
const struct emu_world_ops sim_world_strict_ops = {
    .deliver = sim_on_deliver, .accepts = sim_accepts, .room = on_room, .gi_status = sim_gi_status};
