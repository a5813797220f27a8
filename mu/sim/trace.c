/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traced jobs (mu/trace.h) in virtual time: which packets an engine made of a descriptor, so that a
 * message is linked with its packets. A step of a packet is traced by emu/world.c.
 */
#include "mu/sim/state.h"
#include "mu/trace.h"

void sim_trace_packet(struct mu_sim *s, struct sim_engine *e, uint32_t number)
{
	if (!e->trace.packets++) {
		e->trace.since = s->now;
		e->trace.first = number;
	}
	e->trace.last = number;
}

/* Returns the number of the descriptor in a slot: how many were in the FIFO before it. */
static uint64_t number_of(const struct mu_channel_area *a, const struct sim_fifo *f, uint32_t slot)
{
	uint32_t head = (f->take + MU_INJ_SLOTS - f->inside) % MU_INJ_SLOTS;

	return a->inj_hw.descCount + (slot + MU_INJ_SLOTS - head) % MU_INJ_SLOTS;
}

/* Returns the task to which packets with this header went, or UINT32_MAX. */
static uint32_t find_task(struct mu_sim *s, const MUHWI_PacketHeader_t *h)
{
	struct emu_coord to;
	uint32_t local, channel;

	if (mu_is_coll(h))
		return UINT32_MAX;
	emu_coord_from_word(h->NetworkHeader.pt2pt.Destination.Destination.Destination, &to);
	local = sim_find_target(s, emu_coord_node(&s->host->shape, &to), h, &channel);
	return local == SIM_NONE ? UINT32_MAX : s->task[local].task;
}

void sim_trace_descriptor(struct mu_sim *s, uint32_t channel, unsigned pin)
{
	const struct sim_task *t = &s->task[channel / s->channels];
	const struct mu_channel_area *a = sim_area(s, channel);
	struct sim_fifo *f = s->channel[channel].fifo[0];
	struct sim_engine *e = &f->engine[pin];
	const MUHWI_Descriptor_t *d = &a->inj_slot[f->first[pin]];
	struct mu_trace_event event = {
	    .begin = e->trace.since,
	    .end = s->now,
	    .key = (uint64_t)e->trace.first << 32 | e->trace.last,
	    .task = find_task(s, &d->PacketHeader),
	    .number = t->task,
	    .bytes = d->Message_Length > UINT32_MAX ? UINT32_MAX : (uint32_t)d->Message_Length,
	    .descriptor = (uint32_t)number_of(a, f, f->first[pin]),
	    .dispatch = (uint16_t)t->node,
	    .descriptors =
		(uint16_t)(e->trace.packets < UINT16_MAX ? e->trace.packets : UINT16_MAX),
	    .kind = MU_TRACE_ENGINE,
	    .channel = (uint8_t)(channel % s->channels),
	};

	e->trace.packets = 0;
	mu_trace_put_for(s->host, UINT32_MAX, &event);
}
