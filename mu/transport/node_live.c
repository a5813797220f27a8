/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real clock, fabric torus: the routers of a host with the messaging units of its tasks plugged in.
 *
 *   mu_live_send()    packet --> router of the own node     (any task)
 *   deliver_packet()  router --> ring of the target channel (the thread that steps the router)
 *   send_remote()     router --> outbound ring --> agent --> wire --> mu_live_receive_run() of the
 *                     other host
 *
 * A node that no task sits on belongs to the host of the node before it.
 *
 * Any task of the host steps its routers, and so does the agent if it holds a port. In jobs that
 * survive the death of a task (torus run --on-death error) only the agent steps them, also with one
 * host, because a task that dies in a step would leave a router inconsistent. Tasks then only hand
 * over packets and signals and ring the agent, which also programs class routes for them. The
 * router of a dead task's node goes on; packets for the task are dropped.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "mu/transport/node_live.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "emu/combine.h"
#include "emu/live.h"
#include "mu/channel/class_route.h"
#include "mu/engine/memory.h"
#include "mu/hw/desc_build.h"
#include "mu/hw/raw_header.h"
#include "mu/process.h"
#include "mu/segment/places.h"
#include "mu/transport/circle.h"
#include "mu/transport/port_holder.h"
#include "mu/transport/transport.h"

#define POLL_BUDGET 256
#define FULL_NS     2000000000u /* of a reception FIFO, before a line says so */
#define CIRCLE_NS   2000000000u /* between two looks for a circle of packets */

struct mu_live {
	struct mu_host *host;
	struct mu_process *p;     /* NULL in the agent */
	struct mu_holder *holder; /* NULL in a task */
	struct emu_live *emu;
	struct drv_ring_tx *tx; /* [locals * channels] */
	struct drv_ring_tx outbound;
	struct mu_places places;
	uint16_t *owner;   /* [nodes] host */
	uint32_t *task_at; /* [locals] */
	uint32_t own_node; /* local index */
	struct emu_route route;
	bool steps;              /* this process steps routers; else the agent does */
	atomic_u64 circle_at_ns; /* look for a circle of packets then */
	atomic_u64 circle_hash;  /* of the one that was seen last; 0: none */
};

/* Does the packet count in mu_task_area.routed? */
static bool is_counted(const struct emu_packet *p)
{
	return !mu_is_coll(&p->hdr) && !p->hdr.NetworkHeader.pt2pt.Byte2.Deposit;
}

/* A packet leaves the routers of this host. The agent waits for the last packet of a task that has
 * ended (mu_live_has_packets_of()). */
static void note_departure(struct mu_live *l, const struct emu_packet *p)
{
	const struct mu_task_entry *e = mu_host_entry(l->host, p->task);

	if (mu_host_outlives_tasks(l->host) && e->host == l->host->host && is_counted(p))
		atomic_fetch_sub_relaxed(&mu_host_area(l->host, e->local)->routed, 1);
}

/* A packet or signal for the routers was made visible: wake the agent if it steps them. */
static void ring_agent(struct mu_live *l)
{
	if (!l->steps)
		drv_wake_ring(&l->host->agent_wake);
}

/* Host of every node. */
static void owners_fill(const struct emu_shape *s, uint32_t tasks, const uint32_t *node,
			const uint16_t *host, uint16_t *owner)
{
	uint32_t nodes = emu_shape_nodes(s);
	uint16_t last = 0;

	for (uint32_t i = 0; i < nodes; i++)
		owner[i] = UINT16_MAX;
	for (uint32_t i = 0; i < tasks; i++)
		owner[node[i]] = host[i];
	for (uint32_t i = 0; i < nodes; i++) {
		if (owner[i] == UINT16_MAX)
			owner[i] = last;
		last = owner[i];
	}
}

static uint16_t *owners_of_conf(const struct mu_host_conf *c)
{
	uint16_t *owner = malloc(emu_shape_nodes(&c->shape) * sizeof *owner);
	uint32_t *node = malloc(c->tasks * sizeof *node);

	if (!owner || !node) {
		free(owner);
		free(node);
		return NULL;
	}
	for (uint32_t i = 0; i < c->tasks; i++)
		node[i] = emu_coord_node(&c->shape, &c->coords[i]);
	owners_fill(&c->shape, c->tasks, node, c->task_host, owner);
	free(node);
	return owner;
}

static bool has_routers(const struct mu_host_conf *c)
{
	return c->fabric == MU_FABRIC_TORUS && c->clock == MU_CLOCK_REAL;
}

static uint32_t local_nodes(const struct mu_host_conf *c, const uint16_t *owner, uint32_t *list)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < emu_shape_nodes(&c->shape); i++)
		if (owner[i] == c->host) {
			if (list)
				list[n] = i;
			n++;
		}
	return n;
}

static void router_conf(const struct mu_host_conf *c, struct emu_router_conf *conf)
{
	struct emu_machine standard;

	emu_machine_default(&standard);
	emu_machine_router(c->machine ? c->machine : &standard, conf);
	conf->link_error_ps = 0;
	conf->seed = (uint32_t)c->seed;
}

uint64_t mu_host_routers_bytes(const struct mu_host_conf *c)
{
	struct emu_router_conf conf;
	uint16_t *owner;
	uint64_t bytes = 0;

	if (has_routers(c) && (owner = owners_of_conf(c))) {
		router_conf(c, &conf);
		bytes = emu_live_bytes(&c->shape, local_nodes(c, owner, NULL), &conf);
		free(owner);
	}
	return bytes;
}

/* Class route 0 spans all nodes, as the kernel leaves it. */
static int preset_world(struct mu_host *h)
{
	static const struct emu_live_ops none;
	struct emu_live *live =
	    h->world_class ? emu_live_open(mu_host_routers(h), &none, NULL) : NULL;
	int rc = h->world_class && !live ? -ENOMEM : 0;

	for (uint32_t i = 0; live && !rc && i < emu_live_local_nodes(live); i++) {
		ClassRoute_t c;

		mu_world_class(&h->shape, emu_live_node(live, i), &c);
		rc = emu_live_class_preset(
		    live, i, 0, &c, emu_gi_pack(EMU_GI_SYSTEM, 4) | emu_gi_pack(EMU_GI_PROGRAM, 4));
	}
	emu_live_close(live);
	return rc;
}

int mu_host_routers_init(struct mu_host *h, const struct mu_host_conf *c)
{
	struct emu_router_conf conf;
	uint16_t *owner;
	uint32_t *list, n;
	int rc = -ENOMEM;

	if (!has_routers(c))
		return 0;
	owner = owners_of_conf(c);
	list = malloc(emu_shape_nodes(&c->shape) * sizeof *list);
	if (owner && list) {
		n = local_nodes(c, owner, list);
		router_conf(c, &conf);
		rc = emu_live_init(mu_host_routers(h), h->routers_bytes, &c->shape, list, n, &conf);
		rc = rc ? rc : preset_world(h);
	}
	free(owner);
	free(list);
	return rc;
}

static int deliver_to(struct mu_live *l, uint32_t local, unsigned channel,
		      struct emu_packet *packet)
{
	struct mu_host *h = l->host;
	struct mu_task_area *area = mu_host_area(h, local);
	int rc;

	if (__builtin_expect(mu_host_task_end(h, l->task_at[local]) != MU_TASK_LIVES, 0))
		return 0; /* no reader: drop the packet */
	rc = mu_deliver(h, &l->tx[local * h->channels + channel], local, channel, &packet->hdr,
			packet->task, packet->payload, packet->bytes);
	if (rc != -EAGAIN)
		return rc;
	/* The owner steps its router when it has taken records. It may just have done so: try
	 * again. */
	atomic_store_seq_cst(&area->refused, 1);
	mu_host_wake_all(h, local);
	return mu_deliver(h, &l->tx[local * h->channels + channel], local, channel, &packet->hdr,
			  packet->task, packet->payload, packet->bytes);
}

/* A put through the node's table: for the task that owns the class route. */
static int deliver_class(struct mu_live *l, uint32_t local_node, const struct mu_node_class *k,
			 struct emu_packet *packet)
{
	uint32_t owner = atomic_load_acquire(&k->owner);

	if (owner < l->host->locals * l->host->channels)
		return deliver_to(l, owner / l->host->channels, owner % l->host->channels, packet);
	drv_warn("node %u: packet of task %u for a class route without an owner: dropped",
		 emu_live_node(l->emu, local_node), packet->task);
	return 0;
}

/* A program's half of a global interrupt has changed: any task of the node may wait for it. */
static void wake_programs(struct mu_live *l, uint32_t node)
{
	for (unsigned t = 0; t < l->host->shape.t; t++) {
		uint32_t task = mu_places_task(&l->places, node, t);

		if (task != UINT32_MAX)
			mu_host_wake_all(l->host, mu_host_entry(l->host, task)->local);
	}
}

static void gi_status(void *arg, uint32_t local_node, unsigned route, unsigned bits)
{
	struct mu_live *l = arg;
	uint32_t node = emu_live_node(l->emu, local_node);
	struct mu_node_area *n = mu_host_node(l->host, node);
	struct mu_node_class *k = &n->class[route];
	uint32_t owner = atomic_load_acquire(&k->owner);
	unsigned program = emu_gi_unpack(EMU_GI_PROGRAM, bits);

	atomic_store_release(&k->status, emu_gi_unpack(EMU_GI_SYSTEM, bits));
	atomic_fetch_add_seq_cst(&k->changes, 1);
	if (owner < l->host->locals * l->host->channels)
		mu_host_wake_all(l->host, owner / l->host->channels);
	if (program == atomic_load_relaxed((uint64_t *)&n->table.gi_status[route]))
		return;
	atomic_store_release((uint64_t *)&n->table.gi_status[route], program);
	wake_programs(l, node);
}

static int deliver_any(struct mu_live *l, uint32_t local_node, struct emu_packet *packet)
{
	struct mu_host *h = l->host;
	unsigned number = mu_header_number(&packet->hdr), t = number / h->channels;
	uint32_t node = emu_live_node(l->emu, local_node), task;
	const struct mu_node_class *k = mu_put_class(h, node, &packet->hdr);
	if (k)
		return deliver_class(l, local_node, k, packet);
	task = mu_places_task(&l->places, node, t);
	if (task == UINT32_MAX || packet->bytes > MU_PACKET_BYTES) {
		drv_warn("node %u: packet of task %u for T %u, where no task is: dropped", node,
			 packet->task, t);
		return 0;
	}
	return deliver_to(l, mu_host_entry(h, task)->local, number % h->channels, packet);
}

/* Have contributions to the result in this packet disagreed? Only packets of the MU's programs say
 * so. */
static bool has_mismatch(const struct mu_live *l, uint32_t local_node,
			 const MUHWI_PacketHeader_t *h)
{
	return mu_is_coll(h) && mu_header_is_raw(h) &&
	       emu_live_coll_flags(l->emu, local_node, mu_coll_route(h), 0) & EMU_COMBINE_MISMATCH;
}

static int deliver_packet(void *arg, uint32_t local_node, struct emu_packet *packet)
{
	struct mu_live *l = arg;
	bool differs = has_mismatch(l, local_node, &packet->hdr);
	int rc;

	if (differs)
		mu_raw_mark_mismatch(&packet->hdr);
	rc = deliver_any(l, local_node, packet);
	if (rc == -EAGAIN)
		return rc;
	if (differs)
		emu_live_coll_flags(l->emu, local_node, mu_coll_route(&packet->hdr),
				    EMU_COMBINE_MISMATCH);
	note_departure(l, packet);
	return rc;
}

/* Put a run for the host of node `to` into the outbound ring, in a task or in the agent. */
static int put_outbound(struct mu_live *l, uint32_t to, unsigned link, unsigned kind, const void *a,
			uint32_t an, const void *b, uint32_t bn, const void *c, uint32_t cn)
{
	uint64_t position;
	struct drv_ring_record *rec;
	uint32_t host = l->owner[to];

	if (mu_host_is_lost(l->host, host))
		return 0;
	rec = drv_ring_reserve(mu_host_outbound(l->host), &l->outbound, an + bn + cn, &position);
	if (!rec) {
		atomic_store_seq_cst(&l->host->outbound_refused, 1);
		drv_wake_ring(&l->host->agent_wake);
		return -EAGAIN;
	}
	rec->tag = to << 4 | link;
	rec->header[0] = (unsigned char)kind;
	memcpy(rec->header + 4, &host, 4);
	memcpy(rec->payload, a, an);
	if (bn)
		memcpy(rec->payload + an, b, bn);
	if (cn)
		memcpy(rec->payload + an + bn, c, cn);
	drv_ring_publish(rec, position);
	drv_wake_ring(&l->host->agent_wake);
	return 0;
}

static uint32_t neighbour_of(struct mu_live *l, uint32_t local_node, unsigned link)
{
	return emu_node_neighbour(&l->host->shape, emu_live_node(l->emu, local_node), link);
}

static int send_remote(void *arg, uint32_t local_node, unsigned link, unsigned vc,
		       const struct emu_packet *packet)
{
	struct mu_live *l = arg;
	struct emu_live_tag tag;
	int rc;

	emu_live_tag_of(packet, vc, &tag);
	rc =
	    put_outbound(l, neighbour_of(l, local_node, link), emu_link_opposite(link), MU_RUN_LINK,
			 &tag, sizeof tag, &packet->hdr, 32, packet->payload, packet->bytes);
	if (!rc)
		note_departure(l, packet);
	return rc;
}

static int credit_remote(void *arg, uint32_t local_node, unsigned link, uint64_t credits)
{
	struct mu_live *l = arg;

	return put_outbound(l, neighbour_of(l, local_node, link), emu_link_opposite(link),
			    MU_RUN_CREDIT, &credits, sizeof credits, NULL, 0, NULL, 0);
}

static int coll_credit_remote(void *arg, uint32_t local_node, unsigned link, uint64_t credits)
{
	struct mu_live *l = arg;

	return put_outbound(l, neighbour_of(l, local_node, link), emu_link_opposite(link),
			    MU_RUN_COLL, &credits, sizeof credits, NULL, 0, NULL, 0);
}

static int gi_remote(void *arg, uint32_t local_node, unsigned link, unsigned route, unsigned bits)
{
	struct mu_live *l = arg;
	unsigned char what[2] = {(unsigned char)route, (unsigned char)bits};

	return put_outbound(l, neighbour_of(l, local_node, link), emu_link_opposite(link),
			    MU_RUN_SIGNAL, what, sizeof what, NULL, 0, NULL, 0);
}

int mu_live_receive_run(struct mu_live *l, uint32_t host, unsigned kind, uint32_t tag,
			const unsigned char *payload, uint32_t bytes)
{
	uint32_t node = tag >> 4, local_node;
	struct emu_live_tag t;
	uint64_t credits;
	int rc = -EPROTO;

	if (node < emu_shape_nodes(&l->host->shape) && (tag & 15) < EMU_LINKS &&
	    (local_node = emu_live_local(l->emu, node)) != EMU_LIVE_NONE) {
		if (kind == MU_RUN_LINK && bytes >= sizeof t + 32) {
			memcpy(&t, payload, sizeof t);
			if (t.bytes == bytes - sizeof t - 32 && t.task < l->host->tasks)
				rc = emu_live_arrive_remote(l->emu, local_node, tag & 15, &t,
							    (const void *)(payload + sizeof t),
							    payload + sizeof t + 32);
		} else if (kind == MU_RUN_CREDIT && bytes == sizeof credits) {
			memcpy(&credits, payload, sizeof credits);
			rc = emu_live_credit_remote(l->emu, local_node, tag & 15, credits);
		} else if (kind == MU_RUN_COLL && bytes == sizeof credits) {
			memcpy(&credits, payload, sizeof credits);
			rc = emu_live_coll_credit_remote(l->emu, local_node, tag & 15, credits);
		} else if (kind == MU_RUN_SIGNAL && bytes == 2) {
			rc = emu_live_gi_remote(l->emu, local_node, tag & 15, payload[0],
						payload[1]);
		}
	}
	if (rc)
		drv_warn("link run from host %u for node %u link %u refused", host, node, tag & 15);
	return 0;
}

/* The agent has drained the outbound ring: routers that were refused may go on. */
static void kick_border(struct mu_live *l)
{
	for (uint32_t i = 0; i < emu_live_local_nodes(l->emu); i++)
		for (unsigned link = 0; link < EMU_LINKS; link++) {
			uint32_t to = neighbour_of(l, i, link);

			if (to != UINT32_MAX && l->owner[to] != l->host->host) {
				emu_live_kick(l->emu, i);
				break;
			}
		}
}

/* Program what the node's area asks for. 0, 1 .. 5, or -EAGAIN: another process steps the router.
 */
static int program_route(struct mu_live *l, uint32_t local_node, unsigned id, int *gi)
{
	const struct mu_node_class *k =
	    &mu_host_node(l->host, emu_live_node(l->emu, local_node))->class[id];
	int rc = 0;

	if (k->halves == MU_ROUTE_SIGNALS)
		return *gi = emu_live_gi_program(l->emu, local_node, id, &k->route);
	rc = *gi = emu_live_class_set(l->emu, local_node, id, &k->route, 0);
	if (rc || k->halves == MU_ROUTE_PACKETS)
		return rc;
	/* The router's lock is free again in a moment; the collective half must not stand alone. */
	do
		*gi = emu_live_gi_set(l->emu, local_node, id, &k->route);
	while (*gi == -EAGAIN && !atomic_load_relaxed(&l->host->ending));
	return 0;
}

/* Agent: program the class routes that tasks asked for. Returns how many. */
static int program_class_routes(struct mu_live *l)
{
	int n = 0;

	atomic_store_seq_cst(&l->host->class_asked, 0);
	for (uint32_t i = 0; i < emu_live_local_nodes(l->emu); i++)
		for (unsigned r = 0; r < MU_CLASSES; r++) {
			struct mu_node_class *k =
			    &mu_host_node(l->host, emu_live_node(l->emu, i))->class[r];

			if (!atomic_load_acquire(&k->asked))
				continue;
			k->result = program_route(l, i, r, &k->gi_result);
			atomic_store_release(&k->asked, 0);
			n++;
		}
	return n;
}

int mu_live_poll(struct mu_live *l)
{
	int n = 0;

	if (l->p && atomic_load_relaxed(&l->p->area->refused)) {
		atomic_store_seq_cst(&l->p->area->refused, 0);
		emu_live_kick(l->emu, l->own_node);
		ring_agent(l);
	}
	if (!l->steps)
		return 0;
	if (__builtin_expect(atomic_load_relaxed(&l->host->class_asked), 0))
		n = program_class_routes(l);
	if (!l->p && atomic_load_relaxed(&l->host->outbound_refused)) {
		atomic_store_seq_cst(&l->host->outbound_refused, 0);
		kick_border(l);
	}
	return n + emu_live_poll(l->emu, POLL_BUDGET);
}

int mu_live_has_work(struct mu_live *l)
{
	return l->steps &&
	       (emu_live_has_work(l->emu) || atomic_load_seq_cst(&l->host->class_asked));
}

int mu_live_has_packets_of(struct mu_live *l, uint32_t local)
{
	return atomic_load_relaxed(&mu_host_area(l->host, local)->routed) != 0;
}

void mu_live_task_ended(struct mu_live *l, uint32_t local)
{
	emu_live_reclaim(
	    l->emu, emu_live_local(l->emu, mu_host_entry(l->host, l->task_at[local])->node), local);
}

void mu_live_host_lost(struct mu_live *l, uint32_t host)
{
	for (uint32_t i = 0; i < emu_live_local_nodes(l->emu); i++)
		for (unsigned link = 0; link < EMU_LINKS; link++) {
			uint32_t to = neighbour_of(l, i, link);

			if (to != UINT32_MAX && l->owner[to] == host)
				emu_live_link_lost(l->emu, i, link);
		}
}

/* Is the host of the node behind `link` lost? */
static int is_neighbour_lost(void *arg, uint32_t node, unsigned link)
{
	struct mu_live *l = arg;

	return mu_host_is_lost(l->host, l->owner[emu_node_neighbour(&l->host->shape, node, link)]);
}

int mu_live_is_cut(struct mu_live *l, uint32_t a, uint32_t b)
{
	return emu_route_each(&l->route, a, b, is_neighbour_lost, l) ||
	       emu_route_each(&l->route, b, a, is_neighbour_lost, l);
}

/* Cut links leave no way to the packet's destination: the agent ends the job. The packet waits. */
static int report_parted(struct mu_live *l, const MUHWI_Pt2PtNetworkHeader_t *h)
{
	uint64_t none = 0, from = emu_live_node(l->emu, l->own_node);
	struct emu_coord x;

	emu_coord_from_word(h->Destination.Destination.Destination, &x);
	atomic_cas_seq_cst(&l->host->parted, &none,
			   1 + (from << 32 | emu_coord_node(&l->host->shape, &x)));
	return -EAGAIN;
}

/* Hand the filled packet over to the router. */
static int inject_packet(struct mu_live *l, unsigned queue, uint32_t packet)
{
	int rc, counted =
		    mu_host_outlives_tasks(l->host) && is_counted(emu_live_packet(l->emu, packet));
	MUHWI_Pt2PtNetworkHeader_t h;

	if (counted)
		atomic_fetch_add_relaxed(&l->p->area->routed, 1);
	h = emu_live_packet(l->emu, packet)->hdr.NetworkHeader.pt2pt;
	rc = emu_live_inject(l->emu, l->own_node, queue, packet);
	if (rc == -EHOSTUNREACH)
		rc = report_parted(l, &h);
	if (rc && counted)
		atomic_fetch_sub_relaxed(&l->p->area->routed, 1);
	ring_agent(l);
	return rc;
}

/* -EAGAIN: no room in the queue. `guarded`: the payload is at an address that a descriptor named.
 */
static int send_from(struct mu_live *l, unsigned queue, const MUHWI_PacketHeader_t *h,
		     const void *payload, uint32_t bytes, int guarded)
{
	struct emu_packet *packet;
	uint32_t index;
	int rc = 0;

	if (emu_live_alloc(l->emu, l->own_node, queue, &index))
		return -EAGAIN;
	packet = emu_live_packet(l->emu, index);
	packet->hdr = *h;
	packet->task = l->p->task;
	packet->bytes = bytes;
	if (guarded && bytes)
		rc = mu_copy_in(l->p, packet->payload, (uint64_t)(uintptr_t)payload, bytes, NULL);
	else if (bytes)
		memcpy(packet->payload, payload, bytes);
	if (rc) {
		emu_live_cancel(l->emu, l->own_node, queue, index);
		return rc;
	}
	return inject_packet(l, queue, index);
}

int mu_live_send(struct mu_live *l, uint32_t task, const MUHWI_PacketHeader_t *h,
		 const void *payload, uint32_t bytes, int guarded)
{
	int same_node = l->p->entry[task].node == l->p->job.node;

	unsigned queue = mu_header_number(h) & 1;

	if (h->NetworkHeader.pt2pt.Byte3.Byte3 >> 5 == EMU_VC_HIGH)
		queue = 2;
	return send_from(l, same_node ? 3 : queue, h, payload, bytes, guarded);
}

int mu_live_send_node(struct mu_live *l, const MUHWI_PacketHeader_t *h, const void *payload,
		      uint32_t bytes)
{
	return send_from(l, mu_is_coll(h) ? EMU_INJECTIONS + mu_coll_route(h) : mu_line_queue(h), h,
			 payload, bytes, 1);
}

/* Have the agent program it: a task that dies in between would leave the router locked. */
static int request_class_route(struct mu_live *l, unsigned id, int *gi)
{
	struct mu_node_class *k =
	    &mu_host_node(l->host, emu_live_node(l->emu, l->own_node))->class[id];

	atomic_store_release(&k->asked, 1);
	atomic_store_seq_cst(&l->host->class_asked, 1);
	ring_agent(l);
	while (atomic_load_acquire(&k->asked)) {
		if (atomic_load_relaxed(&l->host->ending))
			return -ESHUTDOWN;
		sched_yield();
	}
	*gi = k->gi_result;
	return k->result;
}

int mu_live_class_set(struct mu_live *l, unsigned id, int *gi)
{
	return l->steps ? program_route(l, l->own_node, id, gi) : request_class_route(l, id, gi);
}

void mu_live_gi(struct mu_live *l, unsigned id, enum emu_gi_user user, unsigned bits)
{
	emu_live_gi(l->emu, l->own_node, id, user, bits);
	ring_agent(l);
	mu_live_poll(l);
}

static int open_common(struct mu_host *h, struct mu_process *p, struct mu_holder *holder,
		       struct mu_live **live)
{
	static const struct emu_live_ops ops = {deliver_packet, send_remote,        credit_remote,
						NULL,           coll_credit_remote, gi_remote,
						gi_status};
	uint32_t nodes = emu_shape_nodes(&h->shape);
	struct mu_live *l = calloc(1, sizeof *l);
	uint32_t *node = malloc(h->tasks * sizeof *node);
	uint16_t *host = malloc(h->tasks * sizeof *host);
	struct emu_router_conf conf;
	int rc = -ENOMEM;

	if (!l || !node || !host)
		goto out;
	l->host = h;
	l->p = p;
	l->holder = holder;
	l->steps = !p || !mu_host_outlives_tasks(h);
	l->task_at = malloc((h->locals + 1) * sizeof *l->task_at);
	l->tx = calloc((size_t)h->locals * h->channels, sizeof *l->tx);
	l->owner = malloc(nodes * sizeof *l->owner);
	if (!l->tx || !l->owner || !l->task_at || mu_places_make(&l->places, h))
		goto out;
	for (uint32_t i = 0; i < h->tasks; i++) {
		const struct mu_task_entry *e = mu_host_entry(h, i);

		if (e->host == h->host)
			l->task_at[e->local] = i;
		node[i] = e->node;
		host[i] = e->host;
	}
	owners_fill(&h->shape, h->tasks, node, host, l->owner);
	emu_machine_router(&h->machine, &conf);
	emu_route_init_as(&l->route, &h->shape, &conf.routing);
	l->emu = emu_live_open(mu_host_routers(h), &ops, l);
	if (!l->emu) {
		rc = -EINVAL;
		goto out;
	}
	if (h->script[0] &&
	    emu_live_faults(l->emu, h->script, h->tasks, h->hosts, h->seed, h->start_ns)) {
		rc = -EINVAL;
		goto out;
	}
	if (p) {
		l->own_node = emu_live_local(l->emu, p->entry[p->task].node);
		emu_live_set_owner(l->emu, p->entry[p->task].local);
	}
	*live = l;
	l = NULL;
	rc = 0;
out:
	free(node);
	free(host);
	mu_live_close(l);
	return rc;
}

int mu_live_open(struct mu_host *host, struct mu_live **live)
{
	return open_common(host, &mu_self, NULL, live);
}

int mu_live_open_for(struct mu_host *host, struct mu_holder *holder, struct mu_live **live)
{
	int rc = open_common(host, NULL, holder, live);

	/* Hosts may have been lost before the routers were opened. */
	for (uint32_t i = 0; !rc && i < host->hosts; i++)
		if (mu_host_is_lost(host, i))
			mu_live_host_lost(*live, i);
	return rc;
}

void mu_live_close(struct mu_live *l)
{
	if (!l)
		return;
	emu_live_close(l->emu);
	free(l->tx);
	free(l->task_at);
	mu_places_free(&l->places);
	free(l->owner);
	free(l);
}

/* ---- rec_fifo=strict: what packets wait for ---- */

static bool find_head(void *arg, struct mu_queue_place at, struct mu_waiting *head)
{
	struct mu_live *l = arg;
	uint32_t local = emu_live_local(l->emu, at.node);
	const struct emu_packet *p;

	if (local == EMU_LIVE_NONE || !emu_live_blocked(l->emu, local, at.queue, &head->wait))
		return false;
	p = emu_live_packet(l->emu, head->wait.packet);
	head->task = p->task;
	head->header = p->hdr;
	return true;
}

static bool find_target(void *arg, uint32_t node, const MUHWI_PacketHeader_t *header,
			uint32_t *task, uint32_t *context)
{
	struct mu_live *l = arg;
	unsigned number = mu_header_number(header);

	if (mu_put_class(l->host, node, header))
		return false;
	*task = mu_places_task(&l->places, node, number / l->host->channels);
	*context = number % l->host->channels;
	return *task != UINT32_MAX;
}

static uint32_t find_node(void *arg, uint32_t task)
{
	return mu_host_entry(((struct mu_live *)arg)->host, task)->node;
}

static void look_for_circle(struct mu_live *l)
{
	struct mu_waiting_net net = {NULL, l, find_head, find_target, find_node};
	struct mu_queue_place at, first;
	uint64_t now = drv_clock_ns(), hash = 0, at_ns;

	if (!l)
		return;
	at_ns = atomic_load_relaxed(&l->circle_at_ns);
	if (now < at_ns || !atomic_cas_relaxed(&l->circle_at_ns, &at_ns, now + CIRCLE_NS) ||
	    atomic_load_relaxed(&l->host->circle_said))
		return;
	net.shape = &l->host->shape;
	at = (struct mu_queue_place){emu_live_node(l->emu, l->own_node), 0};
	if (mu_find_waiting(&net, &at) && mu_find_circle(&net, at, &first))
		hash = mu_hash_circle(&net, first);
	/* No hash: nothing is there, or other processes stepped a router at each try. */
	if (!hash)
		return;
	if (hash == atomic_load_relaxed(&l->circle_hash) &&
	    !atomic_exchange_relaxed(&l->host->circle_said, 1)) {
		drv_error("rec_fifo=strict: packets wait for reception FIFOs that are full, in a "
			  "circle:");
		mu_log_waiting(&net, first, true);
	}
	atomic_store_relaxed(&l->circle_hash, hash);
}

bool mu_live_note_full(struct mu_live *l, struct mu_full_watch *w, uint64_t taken)
{
	uint64_t now = drv_clock_ns();

	if (!w->since_ns || taken != w->taken) {
		w->since_ns = now;
		w->taken = taken;
		return false;
	}
	if (w->is_said)
		look_for_circle(l);
	if (w->is_said || now - w->since_ns <= FULL_NS)
		return false;
	w->is_said = true;
	return true;
}
