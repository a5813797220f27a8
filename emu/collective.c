/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot. The collective half of a router: class routes and global interrupts. docs/hardware.md 8.
 *
 *   children --+                                            parent
 *              +-> all heads there: combined by port --up-->   |
 *   local MU --+          (a broadcast goes up alone)          |
 *                                                              v
 *   children, local MU <--copies-- descending packet <--down-- from the parent, or, at the root,
 *                                                              what was combined
 *
 * Why it always ends, if the MU takes what is delivered: each class route has slots of its own on
 * each link, and within a route a link carries packets up or down, never both. Down: the descending
 * packet waits for slots at the children, these for their descending packets, and leaves for their
 * MU; a tree has no cycle. Up: a packet waits for its siblings (which the same call of software
 * sends, in the same order on all nodes of the route) and for a slot at the parent, or at the root
 * for the descending packet, which goes down. Routes share nothing but the time of a link.
 *
 * A floating sum has the same bits in every run and on all nodes, because each router combines
 * once, in the order of ports.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "emu/combine.h"
#include "emu/router_state.h"

#define SLOTS_DEFAULT 7
#define ROOT          COLL_PORTS

typedef MUHWI_CollectiveNetworkHeader_t header;

static const header *coll_header(const struct emu_packet *p)
{
	return &p->hdr.NetworkHeader.collective;
}

static inline unsigned op_of(const header *h)
{
	return h->Byte1.Byte1 & 0xf0;
}

static inline unsigned type_of(const header *h)
{
	return h->Byte3.Byte3 & MUHWI_COLLECTIVE_TYPE_REDUCE;
}

void emu_coll_init(struct emu_router *r, const struct emu_router_conf *conf)
{
	unsigned slots = conf && conf->coll_slots ? conf->coll_slots : SLOTS_DEFAULT;

	r->coll.slots = (uint8_t)(slots > 15 ? 15 : slots);
	for (int i = 0; i < EMU_CLASSES; i++) {
		r->coll.route[i].descending = EMU_NO_PACKET;
		r->coll.route[i].parent = ROOT;
		memset(r->coll.route[i].credits, r->coll.slots, EMU_LINKS);
		r->coll.gi[i].parent = ROOT;
	}
}

static uint16_t children_of(const ClassRoute_t *c)
{
	return (uint16_t)(emu_class_links(c->input) |
			  (c->input & BGQ_CLASS_INPUT_LINK_LOCAL ? 1u << COLL_LOCAL : 0));
}

static uint8_t parent_of(const ClassRoute_t *c)
{
	unsigned links = emu_class_links(c->output);

	return (uint8_t)(links ? (unsigned)__builtin_ctz(links) : ROOT);
}

static bool is_unset(const struct coll_route *k)
{
	return !k->route.input && !k->route.output;
}

/* Has the route been free so far, and did all that waits for it come over links that it has now? */
static bool has_early_packets(const struct coll_route *k, const ClassRoute_t *c)
{
	unsigned links = emu_class_links(c->input) | emu_class_links(c->output);

	return is_unset(k) && !(k->heads & ~links);
}

int emu_router_class_set(struct emu_router *r, unsigned route, const ClassRoute_t *c, int pass)
{
	ClassRoute_t table[EMU_CLASSES];
	struct coll_route *k;
	int rc;

	if (route >= EMU_CLASSES)
		return -EINVAL;
	k = &r->coll.route[route];
	for (int i = 0; i < EMU_CLASSES; i++)
		table[i] = r->coll.route[i].route;
	rc = emu_class_check(table, route, c, pass);
	if (rc)
		return rc;
	if (r->coll.busy >> route & 1 && !has_early_packets(k, c))
		return -EBUSY;
	k->route = *c;
	k->children = children_of(c);
	k->parent = parent_of(c);
	return 0;
}

ClassRoute_t emu_router_class(const struct emu_router *r, unsigned route)
{
	return r->coll.route[route % EMU_CLASSES].route;
}

bool emu_router_class_is_busy(const struct emu_router *r, unsigned route)
{
	return r->coll.busy >> route % EMU_CLASSES & 1;
}

unsigned emu_router_coll_flags(struct emu_router *r, unsigned route, unsigned clear)
{
	struct coll_route *k = &r->coll.route[route % EMU_CLASSES];
	unsigned flags = k->flags;

	k->flags &= (uint8_t)~clear;
	return flags;
}

/* ---- queues ---- */

static void push_packet(struct emu_router *r, struct emu_packet *pool, unsigned route,
			unsigned port, uint32_t packet)
{
	struct coll_route *k = &r->coll.route[route];
	struct queue *q = &k->queue[port];

	pool[packet].route.next = EMU_NO_PACKET;
	if (k->count[port]++)
		pool[q->tail].route.next = packet;
	else
		q->head = packet;
	q->tail = packet;
	k->heads |= (uint16_t)(1u << port);
	r->coll.busy |= (uint16_t)(1u << route);
}

/* Take the head of a port's queue, and return its slot to the neighbour. */
static uint32_t pop_head(struct step *s, unsigned route, unsigned port)
{
	struct coll_route *k = &s->r->coll.route[route];
	uint32_t packet = k->queue[port].head;

	assert(k->count[port] > 0);
	k->queue[port].head = s->pool[packet].route.next;
	if (!--k->count[port])
		k->heads &= (uint16_t) ~(1u << port);
	if (port < EMU_LINKS)
		s->ops->credit(s->arg, s->r->node, port, EMU_VCS + route, s->now);
	return packet;
}

int emu_coll_inject(struct emu_router *r, struct emu_packet *pool, uint32_t packet)
{
	static const uint16_t class_of_vc[8] = {[4] = BGQ_CLASS_INPUT_VC_USER,
						[5] = BGQ_CLASS_INPUT_VC_SUBCOMM,
						[6] = BGQ_CLASS_INPUT_VC_SYSTEM};
	struct emu_packet *p = &pool[packet];
	const header *h = coll_header(p);
	unsigned route = h->Byte2.Byte2 >> 4, vc = h->Byte3.Byte3 >> 5;
	struct coll_route *k = &r->coll.route[route];

	if (!(k->children >> COLL_LOCAL & 1) || p->bytes > sizeof(p->payload) || vc < 4 || vc > 6 ||
	    class_of_vc[vc] != (k->route.input & BGQ_CLASS_INPUT_VC_MASK) || type_of(h) == 0x08 ||
	    !emu_combine_is_valid(op_of(h), h->Byte1.Byte1 & 15, p->bytes))
		return -EINVAL;
	if (k->count[COLL_LOCAL] >= r->injection_slots)
		return -EAGAIN;
	p->route.hops = 0;
	p->route.vc = (uint8_t)(EMU_VCS + route);
	p->route.in = (uint8_t)(EMU_LINKS + EMU_INJECTIONS + route);
	p->route.source = r->node;
	p->route.sequence = r->sequence++;
	push_packet(r, pool, route, COLL_LOCAL, packet);
	return 0;
}

int emu_coll_arrive(struct emu_router *r, struct emu_packet *pool, unsigned link, unsigned route,
		    uint32_t packet)
{
	struct coll_route *k = &r->coll.route[route];

	/* A neighbour may be programmed first: its packet waits in its slot until this node is. */
	if (k->count[link] >= r->coll.slots ||
	    (!is_unset(k) && !(k->children >> link & 1) && k->parent != link) ||
	    coll_header(&pool[packet])->Data_Packet_Type != MUHWI_COLLECTIVE_DATA_PACKET_TYPE)
		return -EPROTO;
	pool[packet].route.vc = (uint8_t)(EMU_VCS + route);
	pool[packet].route.in = (uint8_t)link;
	if (__builtin_expect(r->sums, 0))
		emu_link_sum_add(&r->sum[link].received, &pool[packet]);
	push_packet(r, pool, route, link, packet);
	return 0;
}

int emu_coll_credit(struct emu_router *r, unsigned link, unsigned route)
{
	uint8_t *credits = &r->coll.route[route % EMU_CLASSES].credits[link];

	if (*credits < r->coll.slots)
		++*credits;
	return r->coll.wanted >> link & 1;
}

/* ---- up ---- */

static bool is_head_ready(struct step *s, const struct coll_route *k, unsigned port)
{
	uint64_t at = s->pool[k->queue[port].head].route.ready;

	if (at <= s->now)
		return true;
	s->r->coll.next = at < s->r->coll.next ? at : s->r->coll.next;
	return false;
}

/* Ports whose heads make the next packet up: one for a broadcast, else all children. 0: some are
 * missing. */
static unsigned ports_ready(struct step *s, const struct coll_route *k)
{
	unsigned at = 0, heads = k->heads & k->children;

	for (unsigned m = heads; m; m &= m - 1) {
		unsigned port = (unsigned)__builtin_ctz(m);

		if (!is_head_ready(s, k, port))
			continue;
		if (type_of(coll_header(&s->pool[k->queue[port].head])) ==
		    MUHWI_COLLECTIVE_TYPE_BROADCAST)
			return 1u << port;
		at |= 1u << port;
	}
	return at == k->children ? at : 0;
}

static bool headers_differ(const struct emu_packet *a, const struct emu_packet *b)
{
	/* Compare all but what the injection wrote (bytes 9 and 10, Reserved4). */
	return a->bytes != b->bytes || memcmp(&a->hdr, &b->hdr, 9) ||
	       memcmp((const char *)&a->hdr + 11, (const char *)&b->hdr + 11, 21);
}

/* Combine the heads of these ports, the local one first, then by link. Returns the packet that
 * holds the result. */
static uint32_t combine_heads(struct step *s, unsigned route, unsigned ports)
{
	struct coll_route *k = &s->r->coll.route[route];
	unsigned first = ports >> COLL_LOCAL & 1 ? COLL_LOCAL : (unsigned)__builtin_ctz(ports);
	uint32_t packet = pop_head(s, route, first);
	struct emu_packet *p = &s->pool[packet];
	const header *h = coll_header(p);

	if (type_of(h) == MUHWI_COLLECTIVE_TYPE_BROADCAST && first == COLL_LOCAL)
		k->flags |= (uint8_t)emu_combine_alone(op_of(h), p->payload, p->bytes);
	for (unsigned m = ports & ~(1u << first); m; m &= m - 1) {
		unsigned port = (unsigned)__builtin_ctz(m);
		struct emu_packet *q = &s->pool[k->queue[port].head];
		uint32_t bytes = q->bytes < p->bytes ? q->bytes : p->bytes;

		if (headers_differ(p, q))
			k->flags |= EMU_COMBINE_MISMATCH;
		k->flags |= (uint8_t)emu_combine(op_of(h), h->Byte1.Byte1 & 15, p->payload,
						 q->payload, bytes);
		s->ops->drop(s->arg, s->r->node, pop_head(s, route, port));
	}
	return packet;
}

/* ---- links ---- */

/* True if a packet of this route may go over the link now. */
static bool link_is_open(struct step *s, const struct coll_route *k, unsigned link,
			 bool yield_to_p2p)
{
	struct coll *c = &s->r->coll;
	struct link *out = &s->r->link[link];

	if (out->free_at > s->now) {
		c->next = out->free_at < c->next ? out->free_at : c->next;
		c->wanted |= (uint16_t)(1u << link);
		return false;
	}
	if (!k->credits[link]) {
		c->wanted |= (uint16_t)(1u << link);
		stat_add(&out->stat.stalls, 1);
		return false;
	}
	return !yield_to_p2p || !(c->last & s->r->wanted & 1u << link);
}

static bool is_sub_route(const ClassRoute_t *c)
{
	return (c->input & BGQ_CLASS_INPUT_VC_MASK) == BGQ_CLASS_INPUT_VC_SUBCOMM;
}

static void send_packet(struct step *s, unsigned route, unsigned link, uint32_t packet)
{
	struct emu_router *r = s->r;
	struct link *out = &r->link[link];
	uint32_t bytes = emu_packet_wire_bytes(&s->pool[packet]);
	uint64_t leaves = s->now;

	assert(r->coll.route[route].credits[link] > 0);
	r->coll.route[route].credits[link]--;
	r->coll.last |= (uint16_t)(1u << link);
	if (__builtin_expect(r->faulty, 0))
		leaves = emu_link_put(r, link, bytes, s->now, false);
	else
		out->free_at = s->now + (uint64_t)bytes * r->ps_per_byte;
	stat_add(&out->stat.on[is_sub_route(&r->coll.route[route].route) ? EMU_ON_CLASS_SUB
									 : EMU_ON_CLASS_WORLD],
		 1);
	stat_add(&out->stat.bytes, bytes);
	s->pool[packet].route.hops++;
	if (__builtin_expect(r->sums, 0))
		emu_link_sum_add(&r->sum[link].sent, &s->pool[packet]);
	s->ops->send(s->arg, r->node, link, EMU_VCS + route, packet, leaves);
}

/* ---- down ---- */

/* True if the descending packet is for the MU of this node too. */
static bool is_for_local_mu(const struct step *s, const struct coll_route *k)
{
	const header *h = coll_header(&s->pool[k->descending]);

	return type_of(h) != MUHWI_COLLECTIVE_TYPE_REDUCE ||
	       h->Destination.Destination.Destination == s->r->here;
}

static void descend_start(struct step *s, struct coll_route *k, uint32_t packet)
{
	assert(k->descending == EMU_NO_PACKET);
	k->descending = packet;
	k->down = k->children;
	if (!is_for_local_mu(s, k))
		k->down &= (uint16_t) ~(1u << COLL_LOCAL);
}

/* The packet to send to one of the remaining ports: the descending packet itself for the last, else
 * a copy. */
static uint32_t descend_packet(struct step *s, const struct coll_route *k)
{
	uint32_t packet = k->down & (k->down - 1) ? s->ops->copy(s->arg, s->r->node, k->descending)
						  : k->descending;

	s->starved |= packet == EMU_NO_PACKET;
	return packet;
}

static void descend_sent(struct coll_route *k, unsigned port)
{
	k->down &= (uint16_t) ~(1u << port);
	if (!k->down)
		k->descending = EMU_NO_PACKET;
}

static bool descend_step(struct step *s, unsigned route, bool yield_to_p2p)
{
	struct coll_route *k = &s->r->coll.route[route];
	bool moved = false;

	for (unsigned m = k->down & ~(1u << COLL_LOCAL); m; m &= m - 1) {
		unsigned link = (unsigned)__builtin_ctz(m);
		uint32_t packet;

		if (!link_is_open(s, k, link, yield_to_p2p))
			continue;
		packet = descend_packet(s, k);
		if (packet == EMU_NO_PACKET)
			return moved;
		descend_sent(k, link);
		send_packet(s, route, link, packet);
		moved = true;
	}
	if (k->down >> COLL_LOCAL & 1) {
		uint32_t packet = descend_packet(s, k);

		if (packet == EMU_NO_PACKET)
			return moved;
		if (s->ops->deliver(s->arg, s->r->node, packet, s->now)) {
			if (packet != k->descending)
				s->ops->drop(s->arg, s->r->node, packet);
			return moved;
		}
		descend_sent(k, COLL_LOCAL);
		moved = true;
	}
	return moved;
}

/* Drop a descending packet that has no port to go to (a reduction for another node, at a leaf). */
static void descend_drop(struct step *s, struct coll_route *k)
{
	s->ops->drop(s->arg, s->r->node, k->descending);
	k->descending = EMU_NO_PACKET;
}

static bool route_step(struct step *s, unsigned route, bool yield_to_p2p)
{
	struct coll_route *k = &s->r->coll.route[route];
	unsigned ports;
	bool moved = false, more = true;

	while (more) {
		more = false;
		if (k->descending != EMU_NO_PACKET)
			more = descend_step(s, route, yield_to_p2p);
		if (k->descending == EMU_NO_PACKET && k->parent != ROOT &&
		    k->heads >> k->parent & 1 && is_head_ready(s, k, k->parent)) {
			descend_start(s, k, pop_head(s, route, k->parent));
			more = true;
		}
		if (k->parent != ROOT) {
			if ((ports = ports_ready(s, k)) &&
			    link_is_open(s, k, k->parent, yield_to_p2p)) {
				send_packet(s, route, k->parent, combine_heads(s, route, ports));
				more = true;
			}
		} else if (k->descending == EMU_NO_PACKET && (ports = ports_ready(s, k))) {
			descend_start(s, k, combine_heads(s, route, ports));
			more = true;
		}
		if (k->descending != EMU_NO_PACKET && !k->down)
			descend_drop(s, k);
		moved |= more;
	}
	if (k->descending == EMU_NO_PACKET && !k->heads)
		s->r->coll.busy &= (uint16_t) ~(1u << route);
	return moved;
}

bool emu_coll_step(struct step *s, bool yield_to_p2p)
{
	struct coll *c = &s->r->coll;
	bool moved = false;

	c->wanted = 0;
	c->next = UINT64_MAX;
	for (unsigned m = c->busy; m; m &= m - 1)
		moved |= route_step(s, (unsigned)__builtin_ctz(m), yield_to_p2p);
	if (!c->busy)
		c->wanted = 0;
	return moved;
}

/* ---- global interrupts ---- */

static int check_gi(const struct emu_router *r, unsigned route, const ClassRoute_t *c)
{
	ClassRoute_t table[EMU_CLASSES];

	if (route >= EMU_CLASSES)
		return -EINVAL;
	for (int i = 0; i < EMU_CLASSES; i++)
		table[i] = r->coll.gi[i].route;
	return emu_class_check_gi(table, route, c);
}

int emu_router_gi_set(struct emu_router *r, unsigned route, const ClassRoute_t *c)
{
	int rc = check_gi(r, route, c);

	if (rc)
		return rc;
	r->coll.gi[route] =
	    (struct gi_route){.route = *c, .children = children_of(c), .parent = parent_of(c)};
	return 0;
}

void emu_router_gi_preset(struct emu_router *r, unsigned route, unsigned bits)
{
	struct gi_route *g = &r->coll.gi[route % EMU_CLASSES];

	g->local = g->up = g->status = bits & EMU_GI_ALL;
	for (unsigned m = g->children & ~(1u << COLL_LOCAL); m; m &= m - 1)
		g->in[__builtin_ctz(m)] = bits & EMU_GI_ALL;
}

static void gi_down(struct emu_router *r, unsigned route, unsigned bits, uint64_t now,
		    const struct emu_router_ops *ops, void *arg)
{
	struct gi_route *g = &r->coll.gi[route];

	if (bits == g->status)
		return;
	g->status = (uint8_t)bits;
	for (unsigned m = g->children & ~(1u << COLL_LOCAL); m; m &= m - 1)
		ops->gi(arg, r->node, (unsigned)__builtin_ctz(m), route, bits, now);
	ops->gi_status(arg, r->node, route, bits, now);
}

static void gi_up(struct emu_router *r, unsigned route, uint64_t now,
		  const struct emu_router_ops *ops, void *arg)
{
	struct gi_route *g = &r->coll.gi[route];
	unsigned up = g->children >> COLL_LOCAL & 1 ? g->local : 0;

	for (unsigned m = g->children & ~(1u << COLL_LOCAL); m; m &= m - 1)
		up |= g->in[__builtin_ctz(m)];
	if (g->parent == ROOT) {
		gi_down(r, route, up, now, ops, arg);
	} else if (up != g->up) {
		g->up = (uint8_t)up;
		ops->gi(arg, r->node, g->parent, route, up, now);
	}
}

int emu_router_gi_program(struct emu_router *r, unsigned route, const ClassRoute_t *c, uint64_t now,
			  const struct emu_router_ops *ops, void *arg)
{
	int rc = check_gi(r, route, c);
	struct gi_route *g;

	if (rc)
		return rc;
	g = &r->coll.gi[route];
	if (g->parent != ROOT && g->up)
		ops->gi(arg, r->node, g->parent, route, 0, now);
	g->up = 0;
	gi_down(r, route, 0, now, ops, arg);
	g->route = *c;
	g->children = children_of(c);
	g->parent = parent_of(c);
	if (g->parent != ROOT)
		gi_down(r, route, g->in[g->parent], now, ops, arg);
	gi_up(r, route, now, ops, arg);
	return 0;
}

void emu_router_gi(struct emu_router *r, unsigned route, unsigned mask, unsigned bits, uint64_t now,
		   const struct emu_router_ops *ops, void *arg)
{
	struct gi_route *g = &r->coll.gi[route % EMU_CLASSES];
	unsigned local = (g->local & ~mask) | (bits & mask & EMU_GI_ALL);

	if (g->local == local)
		return;
	g->local = (uint8_t)local;
	gi_up(r, route % EMU_CLASSES, now, ops, arg);
}

void emu_router_gi_arrive(struct emu_router *r, unsigned link, unsigned route, unsigned bits,
			  uint64_t now, const struct emu_router_ops *ops, void *arg)
{
	struct gi_route *g = &r->coll.gi[route % EMU_CLASSES];

	if (link >= EMU_LINKS)
		return;
	g->in[link] = bits & EMU_GI_ALL;
	if (g->parent == link) {
		gi_down(r, route % EMU_CLASSES, bits & EMU_GI_ALL, now, ops, arg);
	} else if (g->children >> link & 1) {
		gi_up(r, route % EMU_CLASSES, now, ops, arg);
	}
}

unsigned emu_router_gi_status(const struct emu_router *r, unsigned route)
{
	return r->coll.gi[route % EMU_CLASSES].status;
}
