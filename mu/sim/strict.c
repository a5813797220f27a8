/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rec_fifo=strict in virtual time: a packet of software that finds its reception FIFO full waits in
 * the last router of its way, and the packets behind it with it, as on the chip. The task's next
 * turn lets the router try again.
 *
 * So packets and programs can wait for each other in a circle. If nothing but polls happens for
 * long, the run ends, and the log follows one packet from what it waits for to the next.
 */
#include <stdio.h>
#include <string.h>

#include "drivers/base/log.h"
#include "mu/hw/desc_build.h"
#include "mu/hw/raw_header.h"
#include "mu/process.h"
#include "mu/sim/state.h"

/* A record may leave a gap before the end of the ring. */
#define GAP_LINES 32u
/* Rounds of polls of all tasks without another event: more than any time of the hardware. */
#define STUCK_ROUNDS 64u
#define MOST_STEPS   1000u /* of a chain that is followed */

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

static const char *name_of_channel(unsigned vc)
{
	static const char *const name[EMU_VCS] = {"dynamic", "deterministic", "high priority",
						  "system"};

	return vc < EMU_VCS ? name[vc] : "?";
}

static void log_coord(const struct mu_sim *s, uint32_t node, char *to, size_t bytes)
{
	struct emu_coord x;

	emu_node_coord(&s->host->shape, node, &x);
	snprintf(to, bytes, "(%u,%u,%u,%u,%u)", x.c[0], x.c[1], x.c[2], x.c[3], x.c[4]);
}

/* The packet at the head of a queue of a node. */
struct place {
	uint32_t node;
	unsigned queue;
};

/* The first injection queue of a task's node that holds a packet of it and cannot go on. */
static bool find_own_queue(struct mu_sim *s, uint32_t local, struct place *at)
{
	struct emu_blocked b;

	at->node = s->task[local].node;
	for (unsigned i = 0; i < EMU_INJECTIONS; i++) {
		at->queue = EMU_QUEUE_INJECTION(i);
		if (emu_world_blocked(s->world, at->node, at->queue, &b) &&
		    s->pool[b.packet].task == s->task[local].task)
			return true;
	}
	return false;
}

/* Packets for registers wait in turn for the MU of their task, which waits for one of its FIFOs. */
static void log_full(struct mu_sim *s, const char *here, uint32_t packet, uint32_t channel,
		     uint32_t task)
{
	const MUHWI_PacketHeader_t *h = &s->pool[packet].hdr;
	uint32_t from = s->pool[packet].task;

	if (!mu_header_is_raw(h))
		drv_error("  at %s a packet of task %u waits for the reception FIFO of context %u "
			  "of task %u, which is full",
			  here, from, channel % s->channels, task);
	else if (mu_packet_type(h) == MUHWI_PACKET_TYPE_FIFO)
		drv_error("  at %s a packet of task %u for reception FIFO %u waits for the MU of "
			  "task %u, where a reception FIFO of the program is full",
			  here, from, mu_raw_id(h), task);
	else
		drv_error("  at %s a packet of task %u waits for the MU of task %u, where a "
			  "reception FIFO of the program is full",
			  here, from, task);
}

/* Go on to what the head waits for, and log it if asked. Returns false at the end of the chain. */
static bool follow_blocked(struct mu_sim *s, struct place *at, bool logs)
{
	char here[64], next[64];
	struct emu_blocked b;
	uint32_t channel, local;

	log_coord(s, at->node, here, sizeof here);
	if (!emu_world_blocked(s->world, at->node, at->queue, &b))
		return false;
	if (!b.here) {
		uint32_t to = emu_node_neighbour(&s->host->shape, at->node, b.link);

		log_coord(s, to, next, sizeof next);
		if (logs)
			drv_error("  at %s a packet of task %u waits for a slot of channel %u (%s) "
				  "over link %c%c to %s",
				  here, s->pool[b.packet].task, b.vc, name_of_channel(b.vc),
				  "ABCDE"[b.link / 2], "-+"[b.link & 1], next);
		*at = (struct place){to, EMU_QUEUE_OF(emu_link_opposite(b.link), b.vc)};
		return true;
	}
	local = sim_find_target(s, at->node, &s->pool[b.packet].hdr, &channel);
	if (local == SIM_NONE)
		return false;
	if (logs)
		log_full(s, here, b.packet, channel, s->task[local].task);
	if (find_own_queue(s, local, at)) {
		if (logs)
			drv_error("  task %u takes nothing from it, and its own packets wait",
				  s->task[local].task);
		return true;
	}
	if (logs)
		drv_error("  task %u takes nothing from it: does it advance that context?",
			  s->task[local].task);
	return false;
}

static bool is_same(struct place a, struct place b)
{
	return a.node == b.node && a.queue == b.queue;
}

/* Find a place to which following returns (Brent). Returns false if the chain ends. */
static bool find_circle(struct mu_sim *s, struct place at, struct place *on)
{
	unsigned steps = 0, power = 1;

	for (*on = at; steps < MOST_STEPS && follow_blocked(s, &at, false);) {
		if (is_same(at, *on))
			return true;
		if (++steps == power) {
			*on = at;
			power *= 2;
		}
	}
	return false;
}

void sim_strict_log(struct mu_sim *s)
{
	uint32_t nodes = emu_shape_nodes(&s->host->shape);
	struct place at = {0, 0}, first;
	struct emu_blocked b;
	bool is_circle;

	while (at.node < nodes && !(emu_world_blocked(s->world, at.node, at.queue, &b) && b.here))
		if (++at.queue == EMU_QUEUES)
			at = (struct place){at.node + 1, 0};
	if (at.node == nodes)
		return;
	is_circle = find_circle(s, at, &first);
	drv_error(
	    "virtual clock: rec_fifo=strict: at %.3f us packets wait for reception FIFOs that "
	    "are full%s:",
	    (double)s->now * 1e-6, is_circle ? ", in a circle" : "");
	if (is_circle)
		at = first;
	for (unsigned steps = 0; steps < MOST_STEPS && follow_blocked(s, &at, true); steps++)
		if (is_circle && is_same(at, first)) {
			drv_error("  which is where this circle began");
			return;
		}
}
