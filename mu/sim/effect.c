/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effect of a packet where it arrives, in virtual time. Hot: bench/figures/virt_figures.
 *
 * Nothing here waits: a full ring or remote-get FIFO overflows into a list of the channel
 * (docs/hardware.md 4.4). Puts into private memory are gathered, see struct sim_pending.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "emu/combine.h"
#include "mu/hw/packetize.h"
#include "mu/process.h"
#include "mu/sim/state.h"
#include "mu/channel/class_route.h"
#include "mu/engine/engine.h"
#include "mu/hw/desc_build.h"
#include "mu/hw/raw_header.h"

/* Return what a packet does here. The task itself carries out raw packets. */
static unsigned effect_of(const MUHWI_PacketHeader_t *h)
{
	return mu_header_is_raw(h) ? MUHWI_PACKET_TYPE_FIFO : mu_packet_type(h);
}

/* Return the local task that has channel number `number` of a node, or SIM_NONE. */
static uint32_t find_task(const struct mu_sim *s, uint32_t node, unsigned number)
{
	unsigned t = number / s->channels;

	return t < s->host->shape.t ? s->task_at[node * s->host->shape.t + t] : SIM_NONE;
}

uint32_t sim_find_target(struct mu_sim *s, uint32_t node, const MUHWI_PacketHeader_t *h,
			 uint32_t *channel)
{
	const struct mu_node_class *k = mu_put_class(s->host, node, h);
	unsigned number = mu_header_number(h);
	uint32_t local;

	if (k) {
		*channel = atomic_load_relaxed(&k->owner);
		return *channel == MU_NO_OWNER ? SIM_NONE : *channel / s->channels;
	}
	local = find_task(s, node, number);
	*channel = local * s->channels + number % s->channels;
	return local;
}

static const char *const error_text[SIM_ERRORS] = {
    [SIM_ERROR_DESCRIPTOR] = "descriptor refused",
    [SIM_ERROR_PAYLOAD] = "payload",
    [SIM_ERROR_GET] = "address named by a remote get",
    [SIM_ERROR_PUT] = "address named by a put",
    [SIM_ERROR_ROUTE] = "a packet that cannot be routed",
    [SIM_ERROR_RGET_PAYLOAD] = "remote get whose payload is not 1 to 8 descriptors",
    [SIM_ERROR_ATOMIC] = "address named by an atomic",
    [SIM_ERROR_NOBODY] = "packet for a place without a task",
};

void sim_count_error(struct mu_sim *s, uint32_t local, enum sim_error what, int rc)
{
	s->errors++;
	if (!s->task[local].errors[what]++)
		drv_warn("virtual clock: task %u: %s: %s (counted from now on, not logged)",
			 s->task[local].task, error_text[what], strerror(-rc));
}

void sim_log_errors(const struct mu_sim *s)
{
	for (unsigned what = 0; what < SIM_ERRORS; what++) {
		uint64_t times = 0;
		uint32_t tasks = 0;

		for (uint32_t i = 0; i < s->locals; i++) {
			times += s->task[i].errors[what];
			tasks += s->task[i].errors[what] != 0;
		}
		if (times > tasks)
			drv_warn("virtual clock: %s: %llu times in all, of %u tasks",
				 error_text[what], (unsigned long long)times, tasks);
	}
}

/* Append a packet to a list linked through route.next. */
static void list_add(struct mu_sim *s, uint32_t *first, uint32_t *last, uint32_t packet)
{
	s->pool[packet].route.next = SIM_NONE;
	if (*first == SIM_NONE)
		*first = packet;
	else
		s->pool[*last].route.next = packet;
	*last = packet;
}

/* The remote-get FIFO is full: the descriptor waits behind it, as if a packet had brought it. */
static void keep_get(struct mu_sim *s, uint32_t channel, const MUHWI_Descriptor_t *d)
{
	struct sim_channel *c = &s->channel[channel];
	uint32_t packet = emu_world_packet_get(s->world);

	if (packet == SIM_NONE) {
		s->error = -ENOMEM;
		return;
	}
	memcpy(s->pool[packet].payload, d, sizeof *d);
	s->pool[packet].bytes = sizeof *d;
	list_add(s, &c->gets_first, &c->gets_last, packet);
}

void sim_report_access_error(struct mu_sim *s, uint32_t channel, uint32_t coords, unsigned number,
			     const MUHWI_PacketHeader_t *answer, int rc)
{
	struct mu_dest to = {coords, number};
	_Alignas(64) MUHWI_Descriptor_t d;

	mu_access_error_desc(&d, &to, channel % s->channels, answer, -rc);
	if (sim_rget_room(&s->channel[channel]))
		sim_rget_append(s, channel, (const unsigned char *)&d, 1);
	else
		keep_get(s, channel, &d);
}

void sim_on_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t when)
{
	struct mu_sim *s = arg;
	const struct emu_packet *p = &s->pool[packet];
	uint32_t channel, local = sim_find_target(s, node, &p->hdr, &channel);

	if (mu_is_coll(&p->hdr) && mu_header_is_raw(&p->hdr) &&
	    emu_world_coll_flags(s->world, node, mu_coll_route(&p->hdr)) & EMU_COMBINE_MISMATCH)
		mu_raw_mark_mismatch(&s->pool[packet].hdr);
	if (local != SIM_NONE && effect_of(&p->hdr) != MUHWI_PACKET_TYPE_GET) {
		s->task[local].direct++;
		s->task[local].arriving++;
	}
	if (emu_sched_push(emu_world_sched(s->world), when + s->timing->mu_receive_ps, node,
			   SIM_PORT_EFFECT, SIM_EFFECT, packet, 0))
		s->error = -ENOMEM;
}

static int ring_put(struct mu_sim *s, uint32_t channel, const struct emu_packet *p)
{
	struct drv_ring *ring = &sim_area(s, channel)->ring;
	struct drv_ring_record *r;
	uint64_t position;

	if (!ring->lines) /* its owner, which has not opened it yet, will use the same constant */
		drv_ring_init(ring, MU_RING_LINES);
	r = drv_ring_reserve(ring, &s->channel[channel].tx, p->bytes, &position);
	if (!r)
		return -EAGAIN;
	r->tag = p->task;
	memcpy(r->header, &p->hdr, 32);
	memcpy(r->payload, p->payload, p->bytes);
	drv_ring_publish(r, position);
	return 0;
}

int sim_effect_fifo(struct mu_sim *s, uint32_t channel, uint32_t packet)
{
	struct sim_channel *c = &s->channel[channel];
	uint32_t local = channel / s->channels;

	sim_spin_message(s, local, channel % s->channels);
	if (__builtin_expect(s->strict_lines, 0))
		sim_strict_arrived(s, channel, &s->pool[packet]);
	if (c->spill_first == SIM_NONE && !ring_put(s, channel, &s->pool[packet]))
		return 0;
	s->spilled++;
	s->task[channel / s->channels].spilled |= 1ull << channel % s->channels;
	list_add(s, &c->spill_first, &c->spill_last, packet);
	return 1;
}

unsigned sim_refill(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];
	unsigned moved = 0;

	for (uint64_t m = t->spilled; m; m &= m - 1) {
		uint32_t channel = local * s->channels + (uint32_t)__builtin_ctzll(m), i;
		struct sim_channel *c = &s->channel[channel];

		while ((i = c->spill_first) != SIM_NONE && !ring_put(s, channel, &s->pool[i])) {
			c->spill_first = s->pool[i].route.next;
			emu_world_packet_put(s->world, i);
			moved++;
		}
		if (c->spill_first == SIM_NONE)
			t->spilled &= ~(1ull << channel % s->channels);
	}
	return moved;
}

static void report_put_error(struct mu_sim *s, uint32_t channel, uint32_t source, uint32_t back,
			     int rc)
{
	const struct mu_task_entry *e = mu_host_entry(s->host, source);

	sim_count_error(s, channel / s->channels, SIM_ERROR_PUT, rc);
	if (source >= s->host->tasks)
		return;
	sim_report_access_error(s, channel, e->coords, e->t * s->channels + back % s->channels,
				NULL, rc);
}

void sim_write_pending_slow(struct mu_sim *s, uint32_t local)
{
	struct sim_pending *p = &s->task[local].pending;
	uint32_t bytes = p->bytes;
	int rc;

	p->bytes = 0;
	rc = s->task[local].state == SIM_TASK_LEFT ? 0
						   : sim_write(s, local, p->va, p->buffer, bytes);
	if (rc)
		report_put_error(s, p->channel, p->source, p->back, rc);
}

int sim_put_write(struct mu_sim *s, uint32_t channel, uint64_t to, const struct emu_packet *p)
{
	uint32_t local = channel / s->channels;
	uint32_t back = mu_header_origin_channel(&p->hdr);
	struct sim_pending *w = &s->task[local].pending;

	if (w->bytes && (to != w->va + w->bytes || w->bytes + p->bytes > SIM_PENDING_BYTES ||
			 w->channel != channel || w->source != p->task || w->back != back))
		sim_write_pending(s, local);
	if (mu_host_translate(s->host, local, to, p->bytes) ||
	    (!w->buffer && !(w->buffer = malloc(SIM_PENDING_BYTES))))
		return sim_write(s, local, to, p->payload, p->bytes);
	if (!w->bytes) {
		w->va = to;
		w->channel = channel;
		w->source = p->task;
		w->back = back;
	}
	memcpy(w->buffer + w->bytes, p->payload, p->bytes);
	w->bytes += p->bytes;
	return 0;
}

/* Does a put name what the library keeps in the segment (mu_host_is_kept())? */
static bool is_kept(const struct mu_sim *s, uint32_t local, uint64_t to, uint64_t bytes)
{
	if (!(to & MUHWI_ATOMIC_ADDRESS_INDICATOR))
		return mu_host_is_kept(s->host, local, to, bytes);
	bytes = (to & 7) == MUHWI_ATOMIC_OPCODE_STORE_TWIN ? 16 : 8;
	return mu_host_is_kept(s->host, local, to & ~(MUHWI_ATOMIC_ADDRESS_INDICATOR | 7), bytes);
}

/* Carry out a put. Returns true if a counter reached zero, since a task may wait for that. */
static int effect_put(struct mu_sim *s, uint32_t node, uint32_t channel, const struct emu_packet *p)
{
	uint32_t local = channel / s->channels;
	const MUHWI_PacketHeader_t *h = &p->hdr;
	struct mu_node_class *k = mu_put_class(s->host, node, h);
	uint64_t to = (k ? atomic_load_relaxed(&k->base) : sim_area(s, channel)->bat[0]) +
		      mu_put_offset(h),
		 value = 0;
	uint64_t counter = h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset;
	atomic_u64 *word = NULL;
	int rc;

	if (k && !atomic_load_relaxed(&k->base))
		return 0; /* mu_class_abandon() */
	if (!k && is_kept(s, local, to, p->bytes)) {
		rc = -EFAULT;
	} else if (to & MUHWI_ATOMIC_ADDRESS_INDICATOR) {
		sim_write_pending(s, local);
		memcpy(&value, p->payload, 8);
		rc = p->bytes != 8
			 ? -EINVAL
			 : sim_atomic(s, local, to & ~(MUHWI_ATOMIC_ADDRESS_INDICATOR | 7), to & 7,
				      value);
	} else {
		rc = sim_put_write(s, channel, to, p);
	}
	if (!rc && k) {
		uint64_t left;

		word = mu_class_counter(k, h);
		left = atomic_load_relaxed(word) - p->bytes;
		atomic_store_relaxed(word, left);
		if (k->notify && (left + p->bytes) / k->notify != left / k->notify)
			return 1;
	} else if (!rc && counter) {
		uint64_t va = (counter + sim_area(s, channel)->bat[0]) &
			      ~(MUHWI_ATOMIC_ADDRESS_INDICATOR | 7);

		word = mu_host_translate(s->host, local, va, 8);
		if (!word)
			sim_write_pending(s, local);
		rc = sim_atomic(s, local, va, counter & 7, -(uint64_t)p->bytes);
	}
	if (rc)
		report_put_error(s, channel, p->task, mu_header_origin_channel(h), rc);
	return word && !atomic_load_relaxed(word);
}

void sim_rget_append(struct mu_sim *s, uint32_t channel, const unsigned char *desc, uint32_t count)
{
	struct sim_channel *c = &s->channel[channel];

	if (!c->rget_when && !(c->rget_when = malloc(MU_RGET_SLOTS * sizeof *c->rget_when))) {
		s->error = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < count; i++, c->rget_tail++) {
		uint32_t slot = c->rget_tail % MU_RGET_SLOTS;

		MUHWI_Descriptor_t *d = &sim_area(s, channel)->rget_slot[slot];

		memcpy(d, desc + 64 * i, 64);
		c->rget_when[slot] = s->now + s->timing->mu_rget_ps + s->timing->mu_inject_ps;
		if (mu_desc_is_atomic(d)) {
			c->rget_when[slot] += s->timing->mu_atomic_ps;
			s->task[channel / s->channels].direct++;
		}
	}
	sim_rget_kick(s, channel);
}

/* Returns 1 if the packet stays in use, on a list. */
static int effect_get(struct mu_sim *s, uint32_t channel, uint32_t packet)
{
	struct sim_channel *c = &s->channel[channel];
	const struct emu_packet *p = &s->pool[packet];

	/* Report an error of an earlier put before this get runs. */
	sim_write_pending(s, channel / s->channels);
	if (!p->bytes || p->bytes % 64) {
		sim_count_error(s, channel / s->channels, SIM_ERROR_RGET_PAYLOAD, -EINVAL);
		return 0;
	}
	if (c->gets_first != SIM_NONE || sim_rget_room(c) < p->bytes / 64) {
		list_add(s, &c->gets_first, &c->gets_last, packet);
		return 1;
	}
	sim_rget_append(s, channel, p->payload, p->bytes / 64);
	return 0;
}

void sim_effect_event(struct mu_sim *s, const struct emu_event *e)
{
	struct emu_packet *p = &s->pool[e->arg];
	unsigned type = effect_of(&p->hdr);
	uint32_t channel, local = sim_find_target(s, emu_event_node(e), &p->hdr, &channel);
	bool is_put = type == MUHWI_PACKET_TYPE_PUT;
	int kept = 0, look = type == MUHWI_PACKET_TYPE_FIFO;

	if (local == SIM_NONE) {
		sim_count_error(s, mu_host_entry(s->host, p->task)->local, SIM_ERROR_NOBODY,
				-EHOSTUNREACH);
		emu_world_packet_put(s->world, e->arg);
		return;
	}
	if (type != MUHWI_PACKET_TYPE_GET) {
		s->task[local].direct--;
		s->task[local].arriving--;
	}
	if (s->task[local].state == SIM_TASK_LEFT ||
	    mu_host_task_end(s->host, p->task) == MU_TASK_DIED)
		s->dropped++;
	else if (type == MUHWI_PACKET_TYPE_GET)
		kept = effect_get(s, channel, e->arg);
	else if (is_put && __builtin_expect(sim_is_long_put(&p->hdr), 0)) {
		kept = sim_long_put_data(s, emu_event_node(e), channel, e->arg);
		look = kept || !s->task[local].arriving;
	} else if (is_put)
		look = effect_put(s, emu_event_node(e), channel, p) || !s->task[local].arriving;
	else
		kept = sim_effect_fifo(s, channel, e->arg);
	if (!kept)
		emu_world_packet_put(s->world, e->arg);
	/* Wake a task that waits for a long put after its last packet, not after each. */
	if (look)
		sim_wake(s, local);
	if (s->spins.tasks && type != MUHWI_PACKET_TYPE_GET)
		sim_spin_packet(s, local,
				type == MUHWI_PACKET_TYPE_FIFO ? SIM_TOUCH_COMES
				: look                         ? SIM_TOUCH_CHANGES
							       : 0);
}
