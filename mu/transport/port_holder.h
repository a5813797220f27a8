/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The holder of a host's driver port: carries records between this host's rings and the wires.
 * Runs in the agent, or in the host's only task (then inside its engine).
 */
#ifndef MU_TRANSPORT_PORT_HOLDER_H
#define MU_TRANSPORT_PORT_HOLDER_H

#include <poll.h>
#include <stdint.h>

#include "mu/segment/host.h"

struct mu_holder;

/* Payload of MU_RUN_STORE: a line and where it goes. */
struct mu_store {
	uint64_t at; /* offset in the segment, a multiple of 64 */
	uint64_t line[8];
};

/* Kinds of runs on a wire (also in the first header byte of outbound records of routers). */
#define MU_RUN_RECORD 1    /* a record for a task; tag = source */
#define MU_RUN_SHORTS 2    /* short messages from one task to one channel; tag = source */
#define MU_RUN_LINK   0xf1 /* a packet over a torus link; tag = node << 4 | link it comes in by */
#define MU_RUN_CREDIT 0xf2 /* credits for a torus link, 8 bytes */
#define MU_RUN_COLL   0xf3 /* credits of its class routes, 8 bytes */
#define MU_RUN_SIGNAL 0xf4 /* a global interrupt's state on it: route, bits */
#define MU_RUN_STORE                                                                               \
	0xf5 /* a line for the arenas of this host; tag = task there: struct mu_store */

#define MU_RUN_TOLD 0xf6 /* what a task tells all others; tag = task: struct mu_told */

/* Payload of MU_RUN_TOLD. It travels over each queue; a higher number is newer. */
struct mu_told {
	uint64_t word; /* of mu_announce() */
	uint64_t number;
};

/*
 * Open host->port, publish own_address and own_ready (also a failure, as negative errno, after a
 * logged line). Peers are connected as their addresses become ready. Not for one-host jobs.
 */
int mu_holder_open(struct mu_host *host, struct mu_holder **holder);
/* The same in a task that holds the port: a holder for each queue that host->port has, up to the
 * number of channels. Sets queue[], queues and queues_to of the process. */
struct mu_process;
int mu_holders_open(struct mu_process *p);
void mu_holders_close(struct mu_process *p, int timeout_ms);
/* Make progress until all frames of the n holders are acknowledged, or their receivers have ended;
 * at most timeout_ms. */
void mu_holders_wait_idle(struct mu_holder *const *holder, unsigned n, int timeout_ms);
/* The same for one holder, then close its port. NULL is allowed. */
void mu_holder_close(struct mu_holder *holder, int timeout_ms);

/* One round: outbound records to wires, frames to rings and routers. Returns work done, 0: none;
 * negative errno: the port is broken (logged). One thread at a time. */
int mu_holder_poll(struct mu_holder *holder);

/* Agent: poll until what tasks have handed in up to now is acknowledged. 0, -ETIMEDOUT (nothing
 * moves any more), or as poll. */
int mu_holder_drain(struct mu_holder *holder, int timeout_ms);

/*
 * Before sleeping: fill up to `max` (4 is enough) poll entries, set *timeout_ns (a second at most)
 * and return their number. Sleep in ppoll(), then call mu_holder_disarm() and poll again. Returns
 * -EAGAIN if there is work: do not sleep.
 */
int mu_holder_arm(struct mu_holder *holder, struct pollfd *fds, unsigned max, int64_t *timeout_ns);
void mu_holder_disarm(struct mu_holder *holder);

/* Write what wires and port have counted into the segment. Also done now and then by polls. */
void mu_holder_publish(struct mu_holder *holder);

/* Fabric torus: the routers that the holder steps; else NULL. */
struct mu_live *mu_holder_live(struct mu_holder *holder);

struct mu_channel;

/* Inside a task that holds the port (it holds the lock of the queue): the same round; records for
 * channel `ch` (NULL: none) are dispatched in place, the others go through the rings. */
int mu_holder_poll_for(struct mu_holder *holder, struct mu_channel *ch);
/* The caller is in a dispatch function of this round and exits: end the round, and take no run in
 * later ones. */
void mu_holder_abandon_round(struct mu_holder *holder);
/* One record to another host. range: a remote task named the payload's address; else NULL. */
struct mu_checked_range;
int mu_holder_send(struct mu_holder *holder, uint32_t host, uint32_t source, const void *header,
		   const void *payload, uint32_t bytes, struct mu_checked_range *range);
/*
 * A short message (m->bytes <= 512) of task `source` to a channel of a task on another host. It
 * joins the run before it where it can, and leaves as mu_holder_flush() says. 0, -EAGAIN: no room.
 */
struct mu_short;
int mu_holder_send_short(struct mu_holder *holder, uint32_t source, const struct mu_task_entry *to,
			 uint32_t channel, const struct mu_short *m);
/* A line for the host of `task`. 0, -EAGAIN: no room. */
int mu_holder_store(struct mu_holder *holder, uint32_t task, const struct mu_store *store);
void mu_holder_flush(struct mu_holder *holder);
/* The same for the records to one host. */
void mu_holder_flush_host(struct mu_holder *holder, uint32_t host);
/*
 * Send the announcements of tasks of this host (mu_announce()) to the other hosts, ahead of
 * everything that is sent to them afterwards. Each round of the holder does the same.
 */
void mu_holder_send_announcements(struct mu_holder *holder);

#endif
