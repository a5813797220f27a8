/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rec_fifo=strict in virtual time: a packet of software that finds its reception FIFO full waits in
 * the last router of its way, and the packets behind it with it, as on the chip. The task's next
 * turn lets the router try again.
 *
 * So packets and programs can wait for each other in a circle. If nothing but polls happens for
 * long, the run ends, and the log follows one packet from what it waits for to the next.
 */
#include <string.h>

#include "drivers/base/log.h"
#include "mu/hw/desc_build.h"
#include "mu/hw/raw_header.h"
#include "mu/process.h"
#include "mu/sim/state.h"
#include "mu/transport/circle.h"

/* A record may leave a gap before the end of the ring. */
#define GAP_LINES 32u
/* Rounds of polls of all tasks without another event: more than any time of the hardware. */
#define STUCK_ROUNDS 64u

void sim_strict_init(struct mu_sim *s)
{
	uint32_t lines = s->host->machine.hw.rec_fifo_bytes / DRV_RING_LINE;

	if (strcmp(s->host->machine.hw.rec_fifo, "strict"))
		return;
	s->strict_lines = lines < MU_RING_LINES - GAP_LINES ? lines : MU_RING_LINES - GAP_LINES;
}

/*
 * True if the packet needs room in a reception FIFO. Internal packets of the MU need none, nor do
 * those of the directory, which the unit may take or send on.
 */
static bool needs_room(const struct emu_packet *p)
{
	const MUHWI_PacketHeader_t *h = &p->hdr;

	if (mu_is_coll(h) || emu_is_addressed(p))
		return false;
	return mu_header_is_raw(h) ||
	       (mu_packet_type(h) == MUHWI_PACKET_TYPE_FIFO && !mu_header_is_internal(h));
}

static uint32_t lines_of(const struct emu_packet *p)
{
	return (p->bytes + DRV_RING_HEADER + DRV_RING_LINE - 1) / DRV_RING_LINE;
}

static bool is_full(struct mu_sim *s, uint32_t channel, uint32_t lines)
{
	const struct drv_ring *ring = &sim_area(s, channel)->ring;
	uint64_t used = atomic_load_relaxed(&ring->tail) - atomic_load_acquire(&ring->head);

	return used + s->channel[channel].coming + lines > s->strict_lines;
}

bool sim_accepts(void *arg, uint32_t node, uint32_t packet)
{
	struct mu_sim *s = arg;
	const struct emu_packet *p = &s->pool[packet];
	uint32_t channel, local, lines;

	if (!needs_room(p))
		return true;
	local = sim_find_target(s, node, &p->hdr, &channel);
	if (local == SIM_NONE || s->task[local].state == SIM_TASK_LEFT || s->task[local].dead)
		return true;
	lines = lines_of(p);
	if (!is_full(s, channel, lines)) {
		s->channel[channel].coming += lines;
		return true;
	}
	s->refusing += !s->channel[channel].refused;
	s->channel[channel].refused = lines;
	return false;
}

void sim_strict_arrived(struct mu_sim *s, uint32_t channel, const struct emu_packet *p)
{
	uint32_t lines = lines_of(p);

	/* A packet of before its task left was not counted. */
	if (needs_room(p) && s->channel[channel].coming >= lines)
		s->channel[channel].coming -= lines;
}

void sim_strict_retry(struct mu_sim *s, uint32_t local)
{
	const struct sim_task *t = &s->task[local];
	bool has_room = false;

	for (uint32_t k = local * s->channels; k < (local + 1) * s->channels; k++) {
		struct sim_channel *c = &s->channel[k];

		if (!c->refused || (is_full(s, k, c->refused) && t->state != SIM_TASK_LEFT))
			continue;
		c->refused = 0;
		s->refusing--;
		has_room = true;
	}
	if (has_room)
		emu_world_retry(s->world, t->node, t->now);
}

bool sim_strict_is_stuck(const struct mu_sim *s)
{
	return s->polls_in_row > (uint64_t)STUCK_ROUNDS * s->inside;
}

/* ---- the message ---- */

static bool find_head(void *arg, struct mu_queue_place at, struct mu_waiting *head)
{
	struct mu_sim *s = arg;

	if (!emu_world_blocked(s->world, at.node, at.queue, &head->wait))
		return false;
	head->task = s->pool[head->wait.packet].task;
	head->header = s->pool[head->wait.packet].hdr;
	return true;
}

static bool find_target(void *arg, uint32_t node, const MUHWI_PacketHeader_t *header,
			uint32_t *task, uint32_t *context)
{
	struct mu_sim *s = arg;
	uint32_t channel, local = sim_find_target(s, node, header, &channel);

	if (local == SIM_NONE)
		return false;
	*task = s->task[local].task;
	*context = channel % s->channels;
	return true;
}

static uint32_t find_node(void *arg, uint32_t task)
{
	return mu_host_entry(((struct mu_sim *)arg)->host, task)->node;
}

void sim_strict_log(struct mu_sim *s)
{
	const struct mu_waiting_net net = {&s->host->shape, s, find_head, find_target, find_node};
	uint32_t nodes = emu_shape_nodes(&s->host->shape);
	struct mu_queue_place at = {0, 0}, first;
	bool is_circle;

	while (at.node < nodes && !mu_find_waiting(&net, &at))
		at = (struct mu_queue_place){at.node + 1, 0};
	if (at.node == nodes)
		return;
	is_circle = mu_find_circle(&net, at, &first);
	drv_error(
	    "virtual clock: rec_fifo=strict: at %.3f us packets wait for reception FIFOs that "
	    "are full%s:",
	    (double)s->now * 1e-6, is_circle ? ", in a circle" : "");
	mu_log_waiting(&net, is_circle ? first : at, is_circle);
}
