/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of the port holder share: its state, and how a run lies on a wire. port_holder.c
 * sends, polls and sleeps; port_receive.c takes what the wires deliver; port_peers.c joins the
 * other hosts and tells them what tasks announce; port_open.c opens and closes.
 *
 * A run on a wire is a record, of which the tag is the source task: the 32-byte packet header, then
 * the payload. It stands for all packets of that stretch of the message; the first packet's header
 * travels.
 *
 * Short messages from one task to one channel that are handed in one behind the other share a run,
 * of which the tag is the source: 24 bytes each for 8 bytes of payload, where a record of its own
 * takes 64.
 *
 *   offset 0  u32 coordinates, u16 channel number, u16 0
 *          8  u16 bytes, 14 bytes of software's, payload padded to 8; the next one
 */
#ifndef MU_TRANSPORT_PORT_HOLDER_STATE_H
#define MU_TRANSPORT_PORT_HOLDER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/ring.h"
#include "drivers/wire.h"
#include "mu/engine/batch.h"
#include "mu/hw/desc_build.h"
#include "mu/segment/host.h"
#include "mu/segment/places.h"

#define RUN_HEAD    32u
#define SHORTS_HEAD 8u

struct shorts_head {
	uint32_t coords;
	uint16_t number, zero;
};
_Static_assert(sizeof(struct shorts_head) == SHORTS_HEAD, "head of a run of short messages");

/* For each host: the run of short messages that may still grow, how much of a received run was
 * taken, and the target of the last received run, since the next one mostly has the same. */
struct shorts {
	unsigned char *run; /* NULL: none; else where its payload begins */
	uint32_t source, coords, number;
	uint32_t grows; /* the message being written joins it */
	uint32_t taken; /* bytes of the run that is being offered; 0: it is new */
	bool has_target;
	struct shorts_head target;
	uint32_t target_task, target_channel;
};

/* What tasks of this host announce (mu_announce()), and how much of it each host was told. */
struct announced {
	uint32_t seen;  /* the number that all hosts know */
	uint32_t *told; /* [hosts] the number that each host knows */
	uint64_t *word; /* [hosts * locals] the word of each local task that each host knows */
};

struct mu_holder {
	struct mu_host *host;
	struct mu_process *p;           /* NULL in an agent */
	struct mu_queue *queue;         /* of p; its lock protects the holder */
	unsigned index, queues;         /* this is queue `index` of so many */
	struct drv_port *port, *faulty; /* NULL: no faults by script */
	struct drv_wires *wires;
	struct drv_ring_tx *tx; /* [locals * channels] */
	struct drv_ring_rx outbound;
	struct mu_places places;
	struct mu_places_last record_target; /* of the last record that came */
	uint32_t unconnected;                /* hosts whose address is not known yet */
	struct shorts *shorts;               /* [hosts] */
	uint64_t connected[MU_HOSTS_MAX / 64], dirty[MU_HOSTS_MAX / 64];
	uint64_t dropped[MU_HOSTS_MAX / 64]; /* hosts without a living task */
	uint32_t rounds;
	uint64_t bad;
	int armed, broken;
	bool exits; /* the process exits in a dispatch function: no run is taken any more */
	uint32_t deaths_seen;
	struct announced announced;
	atomic_u32 piece_bytes; /* largest payload of a record to all hosts that have this queue */
	struct drv_port_stat port_published;
	struct drv_wire_stat *published; /* [hosts] what mu_holder_publish() has added so far */
	struct mu_live *live;            /* agent, fabric torus */
};

/* Returns the task whose channel `number` is at these coordinates; UINT32_MAX: none. */
static inline uint32_t find_task_at(const struct mu_holder *h, uint32_t coords, unsigned number)
{
	return mu_places_task_at(&h->places, coords, number / h->host->channels);
}

/* Returns the task to which the header goes; UINT32_MAX: none. */
static inline uint32_t find_task(const struct mu_holder *h, const MUHWI_PacketHeader_t *header)
{
	return find_task_at(h, header->NetworkHeader.pt2pt.Destination.Destination.Destination,
			    mu_header_number(header));
}

/* Hand in the run that drv_wire_reserve() gave room for. */
static inline void commit_run(struct mu_holder *h, uint32_t host, uint32_t kind, uint32_t tag,
			      uint32_t bytes)
{
	drv_wire_commit(h->wires, host, kind, tag, bytes);
	h->shorts[host].run = NULL;
	h->dirty[host / 64] |= 1ull << host % 64;
}

/* port_peers.c: connect the hosts whose address is known by now. */
void mu_holder_connect_ready(struct mu_holder *h);
/* Tasks have ended, `deaths` so far: stop waiting for hosts without a living task. */
void mu_holder_drop_hosts(struct mu_holder *h, uint32_t deaths);
/* Stop waiting for hosts whose only task has ended: they acknowledge nothing. */
void mu_holder_drop_departed(struct mu_holder *h);
/* Add the address of the port to the list of this host's. 0 or a negative errno, logged. */
int mu_holder_list_address(struct mu_holder *h);
/* The list is complete (1), or the port failed (negative errno). */
void mu_holder_publish_address(struct mu_host *host, int ready);

/*
 * port_receive.c: deliver a run that came from a host; drv_wires_receive() calls it. arg: the
 * holder. Returns 0, or -EAGAIN: there is no room now, so the wire offers the run again.
 */
int mu_holder_take_run(void *arg, uint32_t host, uint32_t kind, uint32_t tag,
		       const unsigned char *payload, uint32_t bytes);

#endif
