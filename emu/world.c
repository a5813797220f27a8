/* SPDX-License-Identifier: BSD-3-Clause */
/* Hot. Guarded by bench/sim_rate.c. */
#define _GNU_SOURCE
#include "emu/world.h"

#include "emu/class.h"
#include "emu/route.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ARRIVE, STEP, INJECT, DELIVER, SIGNAL };

#define CREDITS 2048u /* per node under way: 10 links x (4 VCs + 16 routes) x 7 slots at most; a power of two */
#define POOL_MIN (1u << 17) /* packets; virtual memory until used */
#define POOL_MAX (1u << 23)
#define NONE     UINT32_MAX

/* Tokens on their way to a node, in time order since credit_ps is constant: time << 9 | link << 5 | vc. */
struct credits {
	uint32_t head, tail;
	uint64_t at[CREDITS];
};

struct node {
	uint64_t step_at; /* time of the node's STEP event that counts; UINT64_MAX: none */
	uint32_t sequence;
	uint32_t refused; /* bit per injection queue */
	uint64_t free_at[EMU_LINKS]; /* when each link has sent what it sends */
	uint64_t taken_at[EMU_LINKS + EMU_INJECTIONS]; /* when the last packet for this node from there was in */
};

struct emu_world {
	struct emu_sched sched;
	struct emu_timing timing;
	struct emu_shape shape;
	uint32_t nodes;
	int express;
	const struct emu_world_ops *ops;
	void *arg;
	uint64_t now;
	uint32_t due; /* node to step before time goes on, or NONE */
	size_t router_bytes;
	unsigned char *routers;
	struct node *node;
	uint32_t (*neighbour)[EMU_LINKS];
	struct credits *credits;
	struct emu_packet *pool;
	uint32_t pool_room, pool_fresh, pool_free;
	struct emu_router_conf slots;
	uint64_t hash, packets, delivered, packet_hops, dropped;
	uint32_t in_flight;
	int error;
};

static inline struct emu_router *router(struct emu_world *w, uint32_t node)
{
	return (struct emu_router *)(w->routers + w->router_bytes * node);
}

static int map_pool(struct emu_world *w, uint32_t packets)
{
	uint64_t n = packets ? packets : (uint64_t)w->nodes * 512;
	void *m;

	if (!packets && n < POOL_MIN)
		n = POOL_MIN;
	if (!packets && n > POOL_MAX)
		n = POOL_MAX;
	m = mmap(NULL, n * sizeof *w->pool, PROT_READ | PROT_WRITE,
	         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED)
		return -ENOMEM;
	w->pool = m;
	w->pool_room = (uint32_t)n;
	w->pool_free = NONE;
	return 0;
}

static int make_routers(struct emu_world *w)
{
	unsigned slots = EMU_CLASSES * (w->slots.coll_slots ? w->slots.coll_slots : EMU_VC_SLOTS_DEFAULT);

	for (int v = 0; v < EMU_VCS; v++)
		slots += w->slots.slots[v] ? w->slots.slots[v] : EMU_VC_SLOTS_DEFAULT;
	if (slots * EMU_LINKS > CREDITS)
		return -EINVAL;
	w->router_bytes = emu_router_bytes();
	w->routers = aligned_alloc(64, w->router_bytes * w->nodes);
	w->neighbour = malloc(w->nodes * sizeof *w->neighbour);
	w->credits = calloc(w->nodes, sizeof *w->credits);
	if (!w->routers || !w->neighbour || !w->credits)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->nodes; i++) {
		emu_router_init(router(w, i), &w->shape, i, &w->slots, w->timing.link_ps_per_byte);
		for (unsigned l = 0; l < EMU_LINKS; l++)
			w->neighbour[i][l] = emu_node_neighbour(&w->shape, i, l);
	}
	return 0;
}

int emu_world_create(const struct emu_world_conf *conf, struct emu_world **out)
{
	struct emu_world *w;
	int rc = -ENOMEM;

	if (emu_shape_nodes(&conf->shape) > EMU_SCHED_NODES)
		return -EINVAL;
	w = calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	w->shape = conf->shape;
	w->nodes = emu_shape_nodes(&conf->shape);
	w->express = conf->express;
	w->timing = conf->timing;
	w->ops = conf->ops;
	w->arg = conf->arg;
	w->due = NONE;
	w->hash = 0x51543544;
	w->node = calloc(w->nodes, sizeof *w->node);
	if (!w->node || emu_sched_init(&w->sched, w->nodes * 64) || map_pool(w, conf->packets))
		goto err;
	for (uint32_t i = 0; i < w->nodes; i++)
		w->node[i].step_at = UINT64_MAX;
	w->slots = conf->slots;
	rc = w->express ? 0 : make_routers(w);
	if (rc)
		goto err;
	*out = w;
	return 0;
err:
	emu_world_destroy(w);
	return rc;
}

void emu_world_destroy(struct emu_world *w)
{
	if (!w)
		return;
	if (w->pool)
		munmap(w->pool, (size_t)w->pool_room * sizeof *w->pool);
	emu_sched_fini(&w->sched);
	free(w->credits);
	free(w->neighbour);
	free(w->routers);
	free(w->node);
	free(w);
}

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9fb21c651e98df25ull;
	return h ^ h >> 32;
}

/* Addresses and payload stay out: they differ from run to run. */
static inline void hash_packet(struct emu_world *w, uint64_t time, unsigned kind, uint32_t node,
                               unsigned port, const struct emu_packet *p)
{
	uint64_t h = mix(w->hash, time);

	h = mix(h, (uint64_t)node << 32 | port << 8 | kind);
	h = mix(h, (uint64_t)p->route.sequence << 32 | p->bytes);
	w->hash = mix(h, (uint64_t)p->route.source << 32 |
	                 p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination);
}

static inline int is_coll(const struct emu_packet *p)
{
	return p->hdr.NetworkHeader.pt2pt.Data_Packet_Type == MUHWI_COLLECTIVE_DATA_PACKET_TYPE;
}

/* Time from a packet's first byte to its last. */
static inline uint64_t serial_ps(const struct emu_world *w, const struct emu_packet *p, int local)
{
	return (uint64_t)emu_packet_wire_bytes(p) *
	       (local ? w->timing.local_ps_per_byte : w->timing.link_ps_per_byte);
}

void emu_world_hash(struct emu_world *w, uint64_t time, uint64_t what, uint64_t value)
{
	w->hash = mix(mix(mix(w->hash, time), what), value);
}

/* No memory for an event: the world stands still and says so. */
static void push(struct emu_world *w, uint64_t time, uint32_t node, uint32_t port, uint8_t kind,
                 uint32_t arg, uint16_t mark)
{
	if (__builtin_expect(emu_sched_push(&w->sched, time, node, port, kind, arg, mark) != 0, 0))
		w->error = -ENOMEM;
}

/* Have the node's router stepped at `time`, if not before. */
static inline void step_at(struct emu_world *w, uint32_t node, uint64_t time)
{
	if (time >= w->node[node].step_at)
		return;
	w->node[node].step_at = time;
	push(w, time, node, EMU_WORLD_PORT_STEP, STEP, 0, 0);
}

static void deliver(struct emu_world *w, uint32_t node, uint32_t packet, uint64_t when)
{
	w->delivered++;
	hash_packet(w, when, DELIVER, node, EMU_LINKS, &w->pool[packet]);
	w->ops->deliver(w->arg, node, packet, when);
}

/* What a router does to its surroundings. */

static void op_send(void *arg, uint32_t node, unsigned link, unsigned vc, uint32_t packet,
                    uint64_t now)
{
	struct emu_world *w = arg;
	uint32_t hop;

	w->packet_hops++;
	hash_packet(w, now, ARRIVE, node, link, &w->pool[packet]);
	w->node[node].free_at[link] = now + serial_ps(w, &w->pool[packet], 0);
	hop = vc < EMU_VCS ? w->timing.hop_ps : w->timing.coll_hop_ps;
	w->pool[packet].route.ready = now + hop;
	push(w, now + hop, w->neighbour[node][link], emu_link_opposite(link), ARRIVE,
	     packet, (uint16_t)vc);
}

static int op_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t now)
{
	struct emu_world *w = arg;
	const struct emu_packet *p = &w->pool[packet];
	uint64_t *taken = p->route.in < EMU_LINKS + EMU_INJECTIONS ? &w->node[node].taken_at[p->route.in] : NULL;

	/* Packets that waited behind another in one queue come out together: a short one overtakes no long one. */
	if (taken && *taken > now)
		now = *taken;
	now += serial_ps(w, p, p->route.source == node && !is_coll(p));
	if (taken)
		*taken = now;
	deliver(w, node, packet, now);
	return 0;
}

static void op_credit(void *arg, uint32_t node, unsigned link, unsigned vc, uint64_t now)
{
	struct emu_world *w = arg;
	uint32_t to = w->neighbour[node][link];
	struct credits *c = &w->credits[to];
	uint64_t at = now + w->timing.credit_ps;

	unsigned theirs = emu_link_opposite(link);

	c->at[c->tail++ % CREDITS] = at << 9 | theirs << 5 | vc;
	/* If nobody waits for that link, or it is busy longer, a later step takes the credit along. */
	if (emu_router_wanted(router(w, to)) >> theirs & 1 && w->node[to].free_at[theirs] <= at)
		step_at(w, to, at);
}

static uint32_t op_copy(void *arg, uint32_t node, uint32_t packet)
{
	struct emu_world *w = arg;
	uint32_t i = emu_world_packet_get(w);

	if (i == NONE)
		return EMU_NO_PACKET;
	memcpy(&w->pool[i], &w->pool[packet], offsetof(struct emu_packet, payload) + w->pool[packet].bytes);
	w->pool[i].route.in = EMU_IN_NONE;
	return i;
}

static void op_drop(void *arg, uint32_t node, uint32_t packet)
{
	emu_world_packet_put(arg, packet);
}

static void op_gi(void *arg, uint32_t node, unsigned link, unsigned route, unsigned bits, uint64_t now)
{
	struct emu_world *w = arg;

	emu_world_hash(w, now, (uint64_t)node << 32 | link << 8 | SIGNAL, route << 3 | bits);
	push(w, now + w->timing.gi_hop_ps, w->neighbour[node][link], emu_link_opposite(link), SIGNAL,
	     route << 3 | bits, 0);
}

static void op_gi_status(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now)
{
	struct emu_world *w = arg;

	w->ops->gi_status(w->arg, node, route, bits, now);
}

static const struct emu_router_ops router_ops = { op_send, op_deliver, op_credit,   op_copy,
						  op_drop, op_gi,      op_gi_status };

/* When a credit under way may free a packet that waits, if before `next`. */
static uint64_t credit_due(const struct node *n, const struct credits *c, unsigned wanted, uint64_t next)
{
	for (uint32_t i = c->head; wanted && i != c->tail; i++) {
		uint64_t x = c->at[i % CREDITS];
		unsigned link = x >> 5 & 15;

		if (x >> 9 >= next)
			break;
		if (wanted >> link & 1 && n->free_at[link] <= x >> 9)
			return x >> 9;
	}
	return next;
}

static void step(struct emu_world *w, uint32_t node)
{
	struct credits *c = &w->credits[node];
	struct node *n = &w->node[node];
	struct emu_router *r = router(w, node);
	uint64_t next;

	while (c->head != c->tail && c->at[c->head % CREDITS] >> 9 <= w->now) {
		uint64_t x = c->at[c->head++ % CREDITS];

		emu_router_credit(r, x >> 5 & 15, x & 31);
	}
	next = emu_router_step(r, w->pool, w->now, &router_ops, w);
	if (c->head == c->tail)
		c->head = c->tail = 0; /* the same cache lines again */
	else
		next = credit_due(n, c, emu_router_wanted(r), next);
	if (next != n->step_at) { /* an event made for another time is stale now */
		n->step_at = UINT64_MAX;
		if (next != UINT64_MAX)
			step_at(w, node, next);
	}
}

/* Step, then let whoever was refused try again; what they inject may move at once. */
static void step_due(struct emu_world *w)
{
	while (w->due != NONE) {
		uint32_t node = w->due;
		uint32_t refused = w->node[node].refused;

		w->due = NONE;
		step(w, node);
		w->node[node].refused = 0;
		for (; refused; refused &= refused - 1)
			w->ops->room(w->arg, node, (unsigned)__builtin_ctz(refused), w->now);
	}
}

void emu_world_settle(struct emu_world *w)
{
	const struct emu_event *e;

	if (w->due == NONE)
		return;
	e = emu_sched_peek(&w->sched);
	if (e && e->time == w->now && emu_event_node(e) == w->due &&
	    emu_event_port(e) < EMU_WORLD_PORT_STEP)
		return; /* more of this moment to come */
	step_due(w);
}

static void arrive(struct emu_world *w, const struct emu_event *e)
{
	uint32_t node = emu_event_node(e);

	if (!emu_router_arrive(router(w, node), w->pool, emu_event_port(e), e->mark, e->arg)) {
		w->due = node;
	} else if (e->mark >= EMU_VCS) { /* software programmed only half a tree */
		w->dropped++;
		emu_world_packet_put(w, e->arg);
	} else {
		w->error = -EPROTO; /* a router broke the credit rule */
	}
}

/* The event after this one: its memory is far away in a large torus. */
static inline void prefetch(struct emu_world *w)
{
	const struct emu_event *e = emu_sched_peek(&w->sched);
	uint32_t node;

	if (!e || w->express)
		return;
	node = emu_event_node(e);
	if (e->kind == ARRIVE)
		__builtin_prefetch(&w->pool[e->arg], 1);
	emu_router_prefetch(router(w, node), emu_event_port(e) % 16);
	__builtin_prefetch(&w->node[node], 1);
	__builtin_prefetch(&w->credits[node], 1);
}

int emu_world_next(struct emu_world *w, struct emu_event *e)
{
	emu_world_settle(w);
	if (w->error || !emu_sched_pop(&w->sched, e))
		return 0;
	w->now = e->time;
	prefetch(w);
	if (e->kind == ARRIVE) {
		arrive(w, e);
	} else if (e->kind == SIGNAL) {
		emu_router_gi_arrive(router(w, emu_event_node(e)), emu_event_port(e), e->arg >> 3, e->arg & 7, w->now,
				     &router_ops, w);
	} else if (e->kind == STEP && w->node[emu_event_node(e)].step_at == e->time) {
		w->due = emu_event_node(e);
		w->node[w->due].step_at = UINT64_MAX;
	}
	return 1;
}

/* Along a line: a copy at each node on the way, the packet at the last. */
static int deposit_express(struct emu_world *w, uint32_t node, uint32_t packet, uint64_t now)
{
	MUHWI_Pt2PtNetworkHeader_t *h = &w->pool[packet].hdr.NetworkHeader.pt2pt;
	uint32_t to = h->Destination.Destination.Destination;
	struct emu_route route;
	struct emu_coord x;
	unsigned hints, link;
	int rc;

	emu_route_init(&route, &w->shape);
	emu_node_coord(&w->shape, node, &x);
	rc = emu_route_hints(&route, emu_coord_word(&x), to, emu_hints_get(h), &hints);
	if (rc || !hints || hints & (hints - 1))
		return rc ? rc : -EINVAL;
	link = 9 - (unsigned)__builtin_ctz(hints);
	for (unsigned hops = 1;; hops++) {
		uint32_t copy = packet;

		node = emu_node_neighbour(&w->shape, node, link);
		emu_node_coord(&w->shape, node, &x);
		if (emu_coord_word(&x) != to && (copy = op_copy(w, node, packet)) == EMU_NO_PACKET)
			return -ENOMEM;
		w->packet_hops++;
		w->pool[copy].route.hops = (uint8_t)hops;
		deliver(w, node, copy, now + hops * (uint64_t)w->timing.hop_ps + serial_ps(w, &w->pool[copy], 0));
		if (copy == packet)
			return 0;
	}
}

static int inject_express(struct emu_world *w, uint32_t node, uint32_t packet, uint64_t now)
{
	struct emu_packet *p = &w->pool[packet];
	struct emu_coord x;
	uint32_t to, hops;

	emu_coord_from_word(p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination, &x);
	for (int d = 0; d < EMU_DIMS; d++)
		if (x.c[d] >= w->shape.n[d])
			return -EINVAL;
	if (p->hdr.NetworkHeader.pt2pt.Byte2.Deposit)
		return deposit_express(w, node, packet, now);
	to = emu_coord_node(&w->shape, &x);
	hops = emu_hops(&w->shape, node, to);
	w->packet_hops += hops;
	p->route.hops = (uint8_t)hops;
	deliver(w, to, packet, now + (uint64_t)hops * w->timing.hop_ps + serial_ps(w, p, !hops));
	return 0;
}

int emu_world_inject(struct emu_world *w, uint32_t node, unsigned queue, uint32_t packet, uint64_t now)
{
	struct emu_packet *p = &w->pool[packet];
	int rc;

	int direct = w->express && !is_coll(p);

	p->route.ready = now;
	if (!w->routers && is_coll(p))
		return -EINVAL;
	if (direct) {
		p->route.source = node;
		p->route.sequence = w->node[node].sequence++;
	} else {
		if (w->due != NONE && w->due != node)
			step_due(w);
		rc = emu_router_inject(router(w, node), w->pool, queue, packet);
		if (rc == -EAGAIN)
			w->node[node].refused |= 1u << queue;
		if (rc)
			return rc;
		w->due = node;
	}
	w->packets++;
	hash_packet(w, now, INJECT, node, EMU_LINKS + 1 + queue, p);
	return direct ? inject_express(w, node, packet, now) : 0;
}

int emu_world_class_set(struct emu_world *w, uint32_t node, unsigned route, const ClassRoute_t *c, int pass)
{
	int rc = w->routers ? 0 : make_routers(w);

	return rc ? rc : emu_router_class_set(router(w, node), route, c, pass);
}

int emu_world_gi_set(struct emu_world *w, uint32_t node, unsigned route, const ClassRoute_t *c)
{
	int rc = w->routers ? 0 : make_routers(w);

	return rc ? rc : emu_router_gi_set(router(w, node), route, c);
}

void emu_world_gi_preset(struct emu_world *w, uint32_t node, unsigned route, unsigned bits)
{
	emu_router_gi_preset(router(w, node), route, bits);
}

void emu_world_gi(struct emu_world *w, uint32_t node, unsigned route, unsigned bits, uint64_t now)
{
	if (w->routers)
		emu_router_gi(router(w, node), route, bits, now, &router_ops, w);
}

uint32_t emu_world_packet_get(struct emu_world *w)
{
	uint32_t p = w->pool_free;

	if (p != NONE)
		w->pool_free = w->pool[p].route.next;
	else if (w->pool_fresh < w->pool_room)
		p = w->pool_fresh++;
	else
		return NONE;
	w->in_flight++;
	return p;
}

void emu_world_packet_put(struct emu_world *w, uint32_t packet)
{
	w->pool[packet].route.next = w->pool_free;
	w->pool_free = packet;
	w->in_flight--;
}

struct emu_packet *emu_world_pool(struct emu_world *w)
{
	return w->pool;
}

struct emu_sched *emu_world_sched(struct emu_world *w)
{
	return &w->sched;
}

const struct emu_timing *emu_world_timing(const struct emu_world *w)
{
	return &w->timing;
}

void emu_world_stat(const struct emu_world *w, struct emu_world_stat *s)
{
	*s = (struct emu_world_stat){ .hash = w->hash, .packets = w->packets,
	                              .delivered = w->delivered, .packet_hops = w->packet_hops,
	                              .time_ps = w->now, .events = w->sched.taken,
	                              .in_flight = w->in_flight,
	                              .dropped = w->dropped, .error = w->error };
}

void emu_world_link_stat(const struct emu_world *w, uint32_t node, unsigned link,
                         struct emu_link_stat *stat)
{
	if (w->express || node >= w->nodes)
		memset(stat, 0, sizeof *stat);
	else
		*stat = *emu_router_link_stat(router((struct emu_world *)w, node), link);
}
