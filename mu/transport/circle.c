/* SPDX-License-Identifier: BSD-3-Clause */
#include "mu/transport/circle.h"

#include <stdio.h>

#include "drivers/base/log.h"
#include "mu/hw/desc_build.h"
#include "mu/hw/raw_header.h"

#define MOST_STEPS 1000u /* of a chain that is followed */

static const char *name_of_channel(unsigned vc)
{
	static const char *const name[EMU_VCS] = {"dynamic", "deterministic", "high priority",
						  "system"};

	return vc < EMU_VCS ? name[vc] : "?";
}

static void print_coord(const struct emu_shape *shape, uint32_t node, char *to, size_t bytes)
{
	struct emu_coord x;

	emu_node_coord(shape, node, &x);
	snprintf(to, bytes, "(%u,%u,%u,%u,%u)", x.c[0], x.c[1], x.c[2], x.c[3], x.c[4]);
}

bool mu_find_waiting(const struct mu_waiting_net *net, struct mu_queue_place *at)
{
	struct mu_waiting head;

	for (; at->queue < EMU_QUEUES; at->queue++)
		if (net->find_head(net->arg, *at, &head) && head.wait.here)
			return true;
	return false;
}

/* The first injection queue of a task's node that holds a packet of it and cannot go on. */
static bool find_own_queue(const struct mu_waiting_net *net, uint32_t task,
			   struct mu_queue_place *at)
{
	struct mu_waiting head;

	at->node = net->find_node(net->arg, task);
	for (unsigned i = 0; i < EMU_INJECTIONS; i++) {
		at->queue = EMU_QUEUE_INJECTION(i);
		if (net->find_head(net->arg, *at, &head) && head.task == task)
			return true;
	}
	return false;
}

/* Packets for registers wait in turn for the MU of their task, which waits for one of its FIFOs. */
static void log_full(const char *here, const struct mu_waiting *head, uint32_t task,
		     uint32_t context)
{
	if (!mu_header_is_raw(&head->header))
		drv_error("  at %s a packet of task %u waits for the reception FIFO of context %u "
			  "of task %u, which is full",
			  here, head->task, context, task);
	else if (mu_packet_type(&head->header) == MUHWI_PACKET_TYPE_FIFO)
		drv_error("  at %s a packet of task %u for reception FIFO %u waits for the MU of "
			  "task %u, where a reception FIFO of the program is full",
			  here, head->task, mu_raw_id(&head->header), task);
	else
		drv_error("  at %s a packet of task %u waits for the MU of task %u, where a "
			  "reception FIFO of the program is full",
			  here, head->task, task);
}

static void log_slot(const struct mu_waiting_net *net, const char *here,
		     const struct mu_waiting *head, uint32_t to)
{
	char next[64];

	print_coord(net->shape, to, next, sizeof next);
	drv_error("  at %s a packet of task %u waits for a slot of channel %u (%s) over link %c%c "
		  "to %s",
		  here, head->task, head->wait.vc, name_of_channel(head->wait.vc),
		  "ABCDE"[head->wait.link / 2], "-+"[head->wait.link & 1], next);
}

/* Go on to what the head waits for, and log it if asked. Returns false at the end of the chain. */
static bool follow_waiting(const struct mu_waiting_net *net, struct mu_queue_place *at, bool logs)
{
	char here[64];
	struct mu_waiting head;
	uint32_t task, context;
	bool has_next;

	print_coord(net->shape, at->node, here, sizeof here);
	if (!net->find_head(net->arg, *at, &head))
		return false;
	if (!head.wait.here) {
		uint32_t to = emu_node_neighbour(net->shape, at->node, head.wait.link);

		if (logs)
			log_slot(net, here, &head, to);
		*at = (struct mu_queue_place){
		    to, EMU_QUEUE_OF(emu_link_opposite(head.wait.link), head.wait.vc)};
		return true;
	}
	if (!net->find_target(net->arg, at->node, &head.header, &task, &context))
		return false;
	has_next = find_own_queue(net, task, at);
	if (logs) {
		log_full(here, &head, task, context);
		drv_error(has_next ? "  task %u takes nothing from it, and its own packets wait"
				   : "  task %u takes nothing from it: does it advance that "
				     "context?",
			  task);
	}
	return has_next;
}

static bool is_same(struct mu_queue_place a, struct mu_queue_place b)
{
	return a.node == b.node && a.queue == b.queue;
}

/* Brent's algorithm. */
bool mu_find_circle(const struct mu_waiting_net *net, struct mu_queue_place at,
		    struct mu_queue_place *on)
{
	unsigned steps = 0, power = 1;

	for (*on = at; steps < MOST_STEPS && follow_waiting(net, &at, false);) {
		if (is_same(at, *on))
			return true;
		if (++steps == power) {
			*on = at;
			power *= 2;
		}
	}
	return false;
}

uint64_t mu_hash_circle(const struct mu_waiting_net *net, struct mu_queue_place on)
{
	struct mu_queue_place at = on;
	struct mu_waiting head;
	uint64_t sum = 0;

	/* A sum, so that the place where the circle was entered does not matter. */
	for (unsigned steps = 0; steps < MOST_STEPS; steps++) {
		if (!net->find_head(net->arg, at, &head))
			return 0;
		sum += ((uint64_t)at.node * EMU_QUEUES + at.queue) * 0x9e3779b97f4a7c15u ^
		       (uint64_t)head.wait.packet * 0xff51afd7ed558ccdu;
		if (!follow_waiting(net, &at, false))
			return 0;
		if (is_same(at, on))
			break;
	}
	return sum;
}

void mu_log_waiting(const struct mu_waiting_net *net, struct mu_queue_place at, bool is_circle)
{
	struct mu_queue_place first = at;

	for (unsigned steps = 0; steps < MOST_STEPS && follow_waiting(net, &at, true); steps++)
		if (is_circle && is_same(at, first)) {
			drv_error("  which is where this circle began");
			return;
		}
}
