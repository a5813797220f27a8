/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rec_fifo=strict: packets that wait for reception FIFOs that are full, and for each other. Follows
 * one packet from what it waits for to the next, and logs that. Both clocks use it: the simulator
 * when nothing but polls happens, a task in real time when a FIFO has been full for long.
 */
#ifndef MU_TRANSPORT_CIRCLE_H
#define MU_TRANSPORT_CIRCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/blocked.h"
#include "emu/coord.h"
#include "mu/hw/desc.h"

/* A reception FIFO that was found full; zeroed at first. */
struct mu_full_watch {
	uint64_t since_ns, taken; /* full since then, when software had taken so much from it */
	bool is_said;
};

/* The packet at the head of a queue (emu/blocked.h) of a node. */
struct mu_queue_place {
	uint32_t node;
	unsigned queue;
};

struct mu_waiting {
	struct emu_blocked wait;
	uint32_t task; /* that sent the packet */
	MUHWI_PacketHeader_t header;
};

struct mu_waiting_net {
	const struct emu_shape *shape;
	void *arg;
	/* Describe the head of the queue. Returns false if none is there, or if it waits only for
	 * time. */
	bool (*find_head)(void *arg, struct mu_queue_place at, struct mu_waiting *head);
	/* The task, and its context, that a packet is for which waits for the MU of this node.
	 * Returns false if there is none. */
	bool (*find_target)(void *arg, uint32_t node, const MUHWI_PacketHeader_t *header,
			    uint32_t *task, uint32_t *context);
	/* The node of that task, of which find_head() is asked next. */
	uint32_t (*find_node)(void *arg, uint32_t task);
};

/* The first queue of this node, at or behind at->queue, whose head waits for the MU of the node. */
bool mu_find_waiting(const struct mu_waiting_net *net, struct mu_queue_place *at);
/* Find a place to which following from `at` returns. Returns false if the chain ends. */
bool mu_find_circle(const struct mu_waiting_net *net, struct mu_queue_place at,
		    struct mu_queue_place *on);
/* A number that differs, almost surely, if other packets wait in the circle. */
uint64_t mu_hash_circle(const struct mu_waiting_net *net, struct mu_queue_place on);
/* Log what waits for what, from `at` to the end of the chain or, in a circle, back to it. */
void mu_log_waiting(const struct mu_waiting_net *net, struct mu_queue_place at, bool is_circle);

#endif
