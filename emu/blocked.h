/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes what the packets in a router wait for, for messages about a network in which nothing
 * moves. Pure functions that change nothing.
 */
#ifndef EMU_BLOCKED_H
#define EMU_BLOCKED_H

#include <stdbool.h>

#include "emu/router.h"

/* Queues of a router: (link, channel) in this order, then the injection queues. */
#define EMU_QUEUES               (EMU_LINKS * EMU_VCS + EMU_INJECTIONS)
#define EMU_QUEUE_OF(link, vc)   ((link)*EMU_VCS + (vc))
#define EMU_QUEUE_INJECTION(inj) (EMU_LINKS * EMU_VCS + (inj))

struct emu_blocked {
	uint32_t packet; /* head of the queue */
	bool here;       /* it waits for this node's MU; else for a slot of: */
	unsigned link, vc;
};

/* Describe what the head of queue q waits for. Returns false if the queue is empty or its head only
 * waits for time. A dynamic head waits for the channel to which it may escape. */
bool emu_router_blocked(const struct emu_router *r, unsigned q, struct emu_blocked *out);

#endif
