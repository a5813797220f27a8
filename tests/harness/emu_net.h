/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A torus of routers in one process for tests: a heap of events in (time, number) order, links with
 * a hop time, packets that check themselves. Plain on purpose: what the routers do is judged here.
 *
 *	struct net *n = net_create(&shape, &conf, ps_per_byte);
 *	net_send(n, from, to, ...);      queued at the source without bound
 *	net_run(n);                      until no event is left
 *	n->delivered == n->sent          else it is stuck: a deadlock
 */
#ifndef TESTS_EMU_NET_H
#define TESTS_EMU_NET_H

#include <stdlib.h>
#include <string.h>

#include "drivers/base/rng.h"
#include "emu/route.h"
#include "emu/router.h"

enum net_kind { NET_ARRIVE, NET_CREDIT, NET_STEP, NET_GI, NET_USER };

struct net_event {
	uint64_t time, number;
	uint32_t node, packet;
	uint8_t kind, link, vc;
};

struct net_source { /* packets that wait for room in an injection queue, a ring */
	uint32_t *packet;
	uint32_t head, tail, size;
};

struct net {
	struct emu_shape shape;
	uint32_t nodes;
	uint64_t now, hop_ps, jitter_ps;
	struct drv_rng rng;
	char *routers;
	size_t router_bytes;
	struct emu_packet *pool;
	uint32_t pool_count, free_head;
	struct net_event *heap;
	uint32_t events, heap_size;
	uint64_t number;
	uint64_t *last_arrival;    /* [node * links + link]: links keep order */
	uint64_t *step_at;         /* [node] pending step, UINT64_MAX none */
	struct net_source *source; /* [node * EMU_INJECTIONS + queue] */
	uint64_t sent, delivered, hops, wrong, disordered, refused;
	int stay;                /* dynamic packets are sent with stay-on-bubble */
	unsigned refuse_percent; /* of deliveries are refused at first */
	uint64_t hash;
	uint32_t *last_sequence; /* [(from * nodes + to) * EMU_INJECTIONS + queue], deterministic
				    packets */
	void (*on_deliver)(struct net *n, uint32_t node, struct emu_packet *p);
	/* Collective packets, those with the deposit bit, signals; what a test scheduled with
	 * net_user(). */
	void (*on_coll)(struct net *n, uint32_t node, struct emu_packet *p);
	void (*on_gi)(struct net *n, uint32_t node, unsigned route, unsigned bits);
	void (*on_user)(struct net *n, uint32_t node, uint32_t what);
	uint32_t in_use; /* packets */
	void *arg;
};

static inline struct emu_router *net_router(struct net *n, uint32_t node)
{
	return (struct emu_router *)(n->routers + n->router_bytes * node);
}

static inline int net_before(const struct net_event *a, const struct net_event *b)
{
	return a->time != b->time ? a->time < b->time : a->number < b->number;
}

static void net_event(struct net *n, uint64_t time, enum net_kind kind, uint32_t node,
		      unsigned link, unsigned vc, uint32_t packet)
{
	struct net_event e = {time,          n->number++,   node,       packet,
			      (uint8_t)kind, (uint8_t)link, (uint8_t)vc};
	uint32_t i;

	if (n->events == n->heap_size) {
		n->heap_size = n->heap_size ? 2 * n->heap_size : 1024;
		n->heap = realloc(n->heap, n->heap_size * sizeof(*n->heap));
	}
	for (i = n->events++; i && net_before(&e, &n->heap[(i - 1) / 2]); i = (i - 1) / 2)
		n->heap[i] = n->heap[(i - 1) / 2];
	n->heap[i] = e;
}

static struct net_event net_first(struct net *n)
{
	struct net_event top = n->heap[0], last = n->heap[--n->events];
	uint32_t i = 0, k;

	while ((k = 2 * i + 1) < n->events) {
		k += k + 1 < n->events && net_before(&n->heap[k + 1], &n->heap[k]);
		if (!net_before(&n->heap[k], &last))
			break;
		n->heap[i] = n->heap[k];
		i = k;
	}
	n->heap[i] = last;
	return top;
}

static void net_hash(struct net *n, uint64_t x)
{
	n->hash = (n->hash ^ x) * 0x9e3779b97f4a7c15u;
	n->hash ^= n->hash >> 29;
}

static void net_want_step(struct net *n, uint32_t node, uint64_t time)
{
	if (time >= n->step_at[node])
		return;
	n->step_at[node] = time;
	net_event(n, time, NET_STEP, node, 0, 0, 0);
}

static uint64_t net_delay(struct net *n)
{
	return n->hop_ps + (n->jitter_ps ? drv_rng_below(&n->rng, n->jitter_ps) : 0);
}

static void net_ops_send(void *arg, uint32_t node, unsigned link, unsigned vc, uint32_t packet,
			 uint64_t now)
{
	struct net *n = arg;
	uint32_t to = emu_node_neighbour(&n->shape, node, link);
	unsigned in = emu_link_opposite(link);
	uint64_t *last, time = now + net_delay(n);

	if (to == UINT32_MAX || to == node) {
		n->wrong++;
		return;
	}
	last = &n->last_arrival[to * EMU_LINKS + in];
	*last = time = time < *last ? *last : time;
	n->hops++;
	net_event(n, time, NET_ARRIVE, to, in, vc, packet);
}

static void net_ops_credit(void *arg, uint32_t node, unsigned link, unsigned vc, uint64_t now)
{
	struct net *n = arg;

	net_event(n, now + net_delay(n), NET_CREDIT, emu_node_neighbour(&n->shape, node, link),
		  emu_link_opposite(link), vc, 0);
}

static void net_free(struct net *n, uint32_t packet)
{
	n->pool[packet].route.next = n->free_head;
	n->free_head = packet;
	n->in_use--;
}

/* Right node; a minimal way unless it was told where to go (task 1); in order if deterministic with
 * the same (computed) hints. */
static int net_ops_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t now)
{
	struct net *n = arg;
	struct emu_packet *p = &n->pool[packet];
	uint32_t to, queue;

	int coll =
	    p->hdr.NetworkHeader.pt2pt.Data_Packet_Type == MUHWI_COLLECTIVE_DATA_PACKET_TYPE ||
	    p->hdr.NetworkHeader.pt2pt.Byte2.Deposit;

	if (n->refuse_percent && drv_rng_below(&n->rng, 100) < n->refuse_percent) {
		n->refused++;
		net_want_step(n, node, now + 1000000);
		return -11;
	}
	if (coll) {
		n->on_coll(n, node, p);
		net_free(n, packet);
		return 0;
	}
	memcpy(&to, p->payload, sizeof(to));
	memcpy(&queue, p->payload + 4, sizeof(queue));
	if (to != node ||
	    (p->task == 0 && p->route.hops != emu_hops(&n->shape, p->route.source, node)))
		n->wrong++;
	if (emu_vc_start(&p->hdr.NetworkHeader.pt2pt) != EMU_VC_DYNAMIC && p->task == 0 &&
	    n->last_sequence) {
		uint32_t *last = &n->last_sequence[((uint64_t)p->route.source * n->nodes + node) *
						       EMU_INJECTIONS +
						   queue];

		if (p->route.sequence + 1 <= *last)
			n->disordered++;
		*last = p->route.sequence + 1;
	}
	if (n->on_deliver)
		n->on_deliver(n, node, p);
	net_hash(n, now);
	net_hash(n, (uint64_t)node << 32 | p->route.source);
	net_hash(n, (uint64_t)p->route.sequence << 8 | p->route.hops);
	n->delivered++;
	net_free(n, packet);
	return 0;
}

/* The pool does not grow here: routers hold its address. None left: asked again soon. */
static uint32_t net_ops_copy(void *arg, uint32_t node, uint32_t packet)
{
	struct net *n = arg;
	uint32_t i = n->free_head;

	if (i == EMU_NO_PACKET) {
		net_want_step(n, node, n->now + 100000);
		return i;
	}
	n->free_head = n->pool[i].route.next;
	n->in_use++;
	n->pool[i] = n->pool[packet];
	n->pool[i].route.in = EMU_IN_NONE;
	return i;
}

static void net_ops_drop(void *arg, uint32_t node, uint32_t packet)
{
	net_free(arg, packet);
}

static void net_ops_gi(void *arg, uint32_t node, unsigned link, unsigned route, unsigned bits,
		       uint64_t now)
{
	struct net *n = arg;
	uint32_t to = emu_node_neighbour(&n->shape, node, link);
	unsigned in = emu_link_opposite(link);
	uint64_t *last = &n->last_arrival[to * EMU_LINKS + in], time = now + net_delay(n);

	*last = time = time < *last ? *last : time;
	net_event(n, time, NET_GI, to, in, route, bits);
}

static void net_ops_gi_status(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now)
{
	struct net *n = arg;

	if (n->on_gi)
		n->on_gi(n, node, route, bits);
}

static const struct emu_router_ops net_ops = {net_ops_send,     net_ops_deliver, net_ops_credit,
					      net_ops_copy,     net_ops_drop,    net_ops_gi,
					      net_ops_gi_status};

static struct net *net_create(const struct emu_shape *shape, const struct emu_router_conf *conf,
			      uint32_t ps_per_byte)
{
	struct net *n = calloc(1, sizeof(*n));

	n->shape = *shape;
	n->nodes = emu_shape_nodes(shape);
	n->hop_ps = 40000;
	n->router_bytes = emu_router_bytes();
	n->routers = aligned_alloc(64, n->router_bytes * n->nodes);
	n->last_arrival = calloc((size_t)n->nodes * EMU_LINKS, 8);
	n->step_at = malloc((size_t)n->nodes * 8);
	memset(n->step_at, 0xff, (size_t)n->nodes * 8);
	n->source = calloc((size_t)n->nodes * EMU_INJECTIONS, sizeof(*n->source));
	if (n->nodes <= 1024)
		n->last_sequence = calloc((size_t)n->nodes * n->nodes * EMU_INJECTIONS, 4);
	n->free_head = EMU_NO_PACKET;
	drv_rng_seed(&n->rng, 1);
	for (uint32_t i = 0; i < n->nodes; i++)
		emu_router_init(net_router(n, i), shape, i, conf, ps_per_byte);
	return n;
}

static void net_destroy(struct net *n)
{
	for (uint32_t i = 0; i < n->nodes * EMU_INJECTIONS; i++)
		free(n->source[i].packet);
	free(n->source);
	free(n->last_sequence);
	free(n->step_at);
	free(n->last_arrival);
	free(n->heap);
	free(n->pool);
	free(n->routers);
	free(n);
}

/* A packet of the pool, header zeroed; the pool grows, so pointers last until the next call. */
static uint32_t net_packet(struct net *n)
{
	if (n->free_head == EMU_NO_PACKET) {
		uint32_t count = n->pool_count ? 2 * n->pool_count : 1024;
		struct emu_packet *pool = aligned_alloc(64, count * sizeof(*pool));

		if (n->pool)
			memcpy(pool, n->pool, n->pool_count * sizeof(*pool));
		free(n->pool);
		n->pool = pool;
		for (uint32_t i = count; i-- > n->pool_count;) {
			pool[i].route.next = n->free_head;
			n->free_head = i;
		}
		n->pool_count = count;
	}
	uint32_t i = n->free_head;
	n->free_head = n->pool[i].route.next;
	n->in_use++;
	memset(&n->pool[i], 0, 64);
	return i;
}

/* vc as in the header's byte 3 (code, not shifted); hints 0: computed. */
static inline void net_send(struct net *n, uint32_t from, uint32_t to, unsigned vc, unsigned zone,
			    unsigned hints, unsigned queue, uint32_t bytes)
{
	uint32_t i = net_packet(n);
	struct emu_packet *p = &n->pool[i];
	MUHWI_Pt2PtNetworkHeader_t *h = &p->hdr.NetworkHeader.pt2pt;
	struct net_source *s = &n->source[from * EMU_INJECTIONS + queue];
	struct emu_coord x;

	emu_node_coord(&n->shape, to, &x);
	h->Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	h->Destination.Destination.Destination = emu_coord_word(&x);
	h->Byte3.Byte3 =
	    (uint8_t)(vc << 5 | zone << 3 | (n->stay ? MUHWI_PACKET_STAY_ON_BUBBLE : 0));
	h->Byte2.Byte2 = vc == EMU_VC_DYNAMIC ? MUHWI_PACKET_USE_DYNAMIC_ROUTING : 0;
	emu_hints_set(h, hints);
	p->task = hints != 0;
	p->bytes = bytes;
	memcpy(p->payload, &to, 4);
	memcpy(p->payload + 4, &queue, 4);
	if (s->tail - s->head == s->size) {
		uint32_t size = s->size ? 2 * s->size : 64;
		uint32_t *packet = malloc(size * sizeof(*packet));

		for (uint32_t k = s->head; k != s->tail; k++)
			packet[k & (size - 1)] = s->packet[k & (s->size - 1)];
		free(s->packet);
		s->packet = packet;
		s->size = size;
	}
	s->packet[s->tail++ & (s->size - 1)] = i;
	n->sent++;
	net_want_step(n, from, n->now);
}

/* Move waiting packets into the router's injection queues. */
static int net_inject(struct net *n, uint32_t node)
{
	int some = 0;

	for (unsigned q = 0; q < EMU_INJECTIONS; q++) {
		struct net_source *s = &n->source[node * EMU_INJECTIONS + q];

		for (; s->head != s->tail; s->head++) {
			uint32_t i = s->packet[s->head & (s->size - 1)];
			int rc;

			n->pool[i].route.ready = n->now;
			rc = emu_router_inject(net_router(n, node), n->pool, q, i);
			if (rc == -11)
				break;
			if (rc)
				n->wrong++;
			some = 1;
		}
	}
	return some;
}

static void net_step(struct net *n, uint32_t node)
{
	uint64_t next;

	n->step_at[node] = UINT64_MAX;
	net_inject(n, node);
	next = emu_router_step(net_router(n, node), n->pool, n->now, &net_ops, n);
	if (net_inject(n, node)) /* room has come */
		next = emu_router_step(net_router(n, node), n->pool, n->now, &net_ops, n);
	if (next != UINT64_MAX)
		net_want_step(n, node, next);
}

/* Handle the first event. False if there is none. */
static int net_one(struct net *n)
{
	struct net_event e;

	if (!n->events)
		return 0;
	e = net_first(n);
	n->now = e.time;
	net_hash(n, e.time);
	net_hash(n, (uint64_t)e.node << 32 | (uint64_t)e.kind << 16 | (uint64_t)e.link << 8 | e.vc);
	if (e.kind == NET_ARRIVE) {
		n->pool[e.packet].route.ready = e.time;
		if (emu_router_arrive(net_router(n, e.node), n->pool, e.link, e.vc, e.packet))
			n->wrong++;
	} else if (e.kind == NET_CREDIT) {
		if (!emu_router_credit(net_router(n, e.node), e.link, e.vc))
			return 1;
	} else if (e.kind == NET_GI) {
		emu_router_gi_arrive(net_router(n, e.node), e.link, e.vc, e.packet, e.time,
				     &net_ops, n);
		return 1;
	} else if (e.kind == NET_USER) {
		n->on_user(n, e.node, e.packet);
		return 1;
	} else if (n->step_at[e.node] != e.time) {
		return 1; /* superseded */
	}
	net_step(n, e.node);
	return 1;
}

static inline void net_user(struct net *n, uint64_t time, uint32_t node, uint32_t what)
{
	net_event(n, time, NET_USER, node, 0, 0, what);
}

static inline void net_run(struct net *n)
{
	while (net_one(n))
		;
}

#endif
