/* SPDX-License-Identifier: BSD-3-Clause */
/* The torus in virtual time. Hot: bench/micro/sim_rate.c. */
#define _GNU_SOURCE
#include "emu/world.h"

#include "drivers/base/assert.h"
#include "emu/class.h"
#include "emu/route.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/cuts.h"

enum { ARRIVE, STEP, INJECT, DELIVER, SIGNAL, ADDRESSED };

/* Marks of events ADDRESSED: has arrived, inject it again, carry out the access. */
enum { MARK_ARRIVED, MARK_RESEND, MARK_ACCESS };
#define PORT_ADDRESSED (EMU_WORLD_PORT_STEP + 1) /* of events ADDRESSED */
#define RESEND_PS      1000000u /* the injection queue was full: try again after this time */
#define VISITED        1        /* route.flags: the packet was looked up at this node */

#define CREDITS  2048u      /* credits under way to a node, at least; a power of two */
#define POOL_MIN (1u << 17) /* packets; virtual memory until used */
#define POOL_MAX (1u << 23)
#define NONE     UINT32_MAX

/*
 * Credits in flight to a node: time << 9 | link << 5 | vc. They are ordered by time, since each
 * takes credit_ps.
 */
struct credits {
	uint32_t head, tail;
	uint64_t at[]; /* [credit_mask + 1] */
};

struct node {
	uint64_t step_at; /* time of the valid STEP event of the node; UINT64_MAX: none */
	uint32_t sequence;
	uint32_t in_flight; /* packets of the node under way, without collective ones and lines */
	/* Of these, how many must arrive before the node injects again: after a cut its packets
	 * take other ways, and may not pass those before. */
	uint32_t hold;
	uint32_t refused;            /* a bit for each injection queue that refused a packet */
	uint64_t free_at[EMU_LINKS]; /* time at which each link has sent its current packet */
	/* For each port: the time at which its last packet for this node had arrived. */
	uint64_t taken_at[EMU_LINKS + EMU_INJECTIONS];
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
	uint32_t due; /* node to step before time advances, or NONE */
	size_t router_bytes;
	unsigned char *routers;
	struct node *node;
	uint32_t (*neighbour)[EMU_LINKS];
	unsigned char *credits; /* struct credits, one for each node */
	size_t credits_bytes;
	uint32_t credit_mask;
	struct emu_packet *pool;
	uint32_t pool_room, pool_fresh, pool_free;
	struct emu_router_conf slots;
	struct emu_directory *directory;
	struct emu_route route; /* for cuts and the directory */
	struct emu_cuts cuts;
	bool has_cuts; /* some may come: packets of each node are counted */
	bool has_link_faults;
	uint64_t hash, packets, delivered, packet_hops, dropped;
	uint32_t in_flight;
	uint32_t signals; /* of global interrupts, on links */
	int error;
	emu_world_trace_fn trace;
	void *trace_arg;
};

static inline struct emu_router *router_of(struct emu_world *w, uint32_t node)
{
	return (struct emu_router *)(w->routers + w->router_bytes * node);
}

static inline struct credits *credits_of(struct emu_world *w, uint32_t node)
{
	return (struct credits *)(w->credits + w->credits_bytes * node);
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
	unsigned slots =
	    EMU_CLASSES * (w->slots.coll_slots ? w->slots.coll_slots : EMU_VC_SLOTS_DEFAULT);

	for (int v = 0; v < EMU_VCS; v++)
		slots += w->slots.slots[v] ? w->slots.slots[v] : EMU_VC_SLOTS_DEFAULT;
	w->credit_mask = CREDITS - 1;
	while (slots * EMU_LINKS > w->credit_mask + 1)
		w->credit_mask = 2 * w->credit_mask + 1;
	w->credits_bytes = sizeof(struct credits) + (w->credit_mask + 1) * sizeof(uint64_t);
	w->router_bytes = emu_router_bytes();
	w->routers = aligned_alloc(64, w->router_bytes * w->nodes);
	w->neighbour = malloc(w->nodes * sizeof *w->neighbour);
	w->credits = calloc(w->nodes, w->credits_bytes);
	if (!w->routers || !w->neighbour || !w->credits)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->nodes; i++) {
		emu_router_init(router_of(w, i), &w->shape, i, &w->slots,
				w->timing.link_ps_per_byte);
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
	w->trace = conf->trace;
	w->trace_arg = conf->trace_arg;
	w->due = NONE;
	w->hash = 0x51543544;
	w->node = calloc(w->nodes, sizeof *w->node);
	if (!w->node || emu_sched_init(&w->sched, w->nodes * 64) || map_pool(w, conf->packets))
		goto err;
	for (uint32_t i = 0; i < w->nodes; i++)
		w->node[i].step_at = UINT64_MAX;
	w->slots = conf->slots;
	w->has_cuts = conf->cuts && !conf->express;
	if (conf->directory.mode != EMU_DIRECTORY_NONE) {
		struct emu_directory_conf tables = conf->directory;

		tables.nodes = w->nodes;
		w->directory = emu_directory_create(&tables);
		if (!w->directory)
			goto err;
		emu_route_init_as(&w->route, &w->shape, &w->slots.routing);
	}
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
	emu_cuts_fini(&w->cuts);
	emu_directory_destroy(w->directory);
	free(w->credits);
	free(w->neighbour);
	free(w->routers);
	free(w->node);
	free(w);
}

static inline uint64_t hash_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9fb21c651e98df25ull;
	return h ^ h >> 32;
}

static void trace_packet(struct emu_world *w, uint64_t time, unsigned kind, uint32_t node,
			 unsigned port, const struct emu_packet *p)
{
	struct emu_world_event e = {.node = node, .time_ps = time, .packet = p};

	if (kind == INJECT) {
		e.step = EMU_STEP_INJECT;
		e.port = port - EMU_LINKS - 1;
	} else if (kind == DELIVER) {
		e.step = EMU_STEP_DELIVER;
	} else {
		e.step = EMU_STEP_SEND;
		e.port = port;
		e.duration_ps = (uint64_t)emu_packet_wire_bytes(p) * w->timing.link_ps_per_byte;
	}
	w->trace(w->trace_arg, &e);
}

/* Mix a packet into the hash, without addresses and payload, which differ from run to run. */
static inline void hash_packet(struct emu_world *w, uint64_t time, unsigned kind, uint32_t node,
			       unsigned port, const struct emu_packet *p)
{
	uint64_t h = hash_mix(w->hash, time);

	if (__builtin_expect(w->trace != NULL, 0))
		trace_packet(w, time, kind, node, port, p);
	h = hash_mix(h, (uint64_t)node << 32 | port << 8 | kind);
	h = hash_mix(h, (uint64_t)p->route.sequence << 32 | p->bytes);
	w->hash = hash_mix(h, (uint64_t)p->route.source << 32 |
				  p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination);
}

static inline bool is_coll(const struct emu_packet *p)
{
	return p->hdr.NetworkHeader.pt2pt.Data_Packet_Type == MUHWI_COLLECTIVE_DATA_PACKET_TYPE;
}

/* Return the time from the first byte of a packet to its last. */
static inline uint64_t serial_ps(const struct emu_world *w, const struct emu_packet *p, int local)
{
	return (uint64_t)emu_packet_wire_bytes(p) *
	       (local ? w->timing.local_ps_per_byte : w->timing.link_ps_per_byte);
}

void emu_world_hash(struct emu_world *w, uint64_t time, uint64_t what, uint64_t value)
{
	w->hash = hash_mix(hash_mix(hash_mix(w->hash, time), what), value);
}

/* Push an event. If there is no memory for it, set w->error, which stops the simulation. */
static void push_event(struct emu_world *w, uint64_t time, uint32_t node, uint32_t port,
		       uint8_t kind, uint32_t arg, uint16_t mark)
{
	if (__builtin_expect(emu_sched_push(&w->sched, time, node, port, kind, arg, mark) != 0, 0))
		w->error = -ENOMEM;
}

/* Schedule a step of the node's router at `time`, unless it steps earlier. */
static inline void schedule_step(struct emu_world *w, uint32_t node, uint64_t time)
{
	if (time >= w->node[node].step_at)
		return;
	w->node[node].step_at = time;
	push_event(w, time, node, EMU_WORLD_PORT_STEP, STEP, 0, 0);
}

/* Collective packets and lines do not go around cuts. */
static inline bool is_counted(const struct emu_packet *p)
{
	return !is_coll(p) && !p->hdr.NetworkHeader.pt2pt.Byte2.Deposit;
}

static inline void note_arrival(struct emu_world *w, uint32_t source)
{
	struct node *n = &w->node[source];

	DRV_ASSERT(n);
	n->in_flight--;
	if (__builtin_expect(n->hold, 0) && !--n->hold)
		schedule_step(w, source, w->now); /* engines whose packets were refused try again */
}

/* Hand a packet to software: it is at the messaging unit of its destination. */
static void deliver_to_software(struct emu_world *w, uint32_t node, uint32_t packet, uint64_t when)
{
	w->delivered++;
	if (__builtin_expect(w->has_cuts, 0) && is_counted(&w->pool[packet]))
		note_arrival(w, w->pool[packet].route.source);
	hash_packet(w, when, DELIVER, node, EMU_LINKS, &w->pool[packet]);
	w->ops->deliver(w->arg, node, packet, when);
}

static void deliver_packet(struct emu_world *w, uint32_t node, uint32_t packet, uint64_t when)
{
	if (__builtin_expect(w->directory != NULL, 0) && emu_is_addressed(&w->pool[packet]))
		push_event(w,
			   when + (emu_address_of(&w->pool[packet])->kind == EMU_ADDRESS_MESSAGE
				       ? w->timing.address_unit_ps
				       : 0),
			   node, PORT_ADDRESSED, ADDRESSED, packet, 0);
	else
		deliver_to_software(w, node, packet, when);
}

/* ---- packets to addresses ---- */

static uint32_t word_of(const struct emu_world *w, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(&w->shape, node, &x);
	return emu_coord_word(&x);
}

/* Compute the hints of a packet whose destination has changed at this node. */
static void set_hints(struct emu_world *w, uint32_t here, struct emu_packet *p)
{
	MUHWI_Pt2PtNetworkHeader_t *h = &p->hdr.NetworkHeader.pt2pt;
	unsigned hints;

	emu_hints_set(h, 0);
	if (!emu_route_hints(&w->route, here, h->Destination.Destination.Destination, 0, &hints))
		emu_hints_set(h, hints);
}

static uint64_t op_address(void *arg, uint32_t node, uint32_t packet, uint64_t now)
{
	struct emu_world *w = arg;
	struct emu_packet *p = &w->pool[packet];
	bool injected = p->route.in >= EMU_LINKS;
	uint32_t here;

	if (!w->directory || p->route.flags & VISITED || !emu_is_addressed(p))
		return 0;
	p->route.flags |= VISITED;
	here = word_of(w, node);
	if (emu_directory_visit(w->directory, node, here, p, injected, now)) {
		set_hints(w, here, p);
		if (!injected &&
		    emu_route_undone(
			here, p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination)) {
			emu_directory_turn(w->directory, p);
			p->route.vc = EMU_VC_SYSTEM;
		}
	}
	if (emu_address_of(p)->kind != EMU_ADDRESS_MESSAGE)
		return 0; /* an answer or update teaches the router in passing */
	return injected ? 0 : w->timing.address_router_ps;
}

/* Inject a packet again after a table has changed its destination. */
static void resend_packet(struct emu_world *w, uint32_t node, uint32_t packet)
{
	MUHWI_Pt2PtNetworkHeader_t *h = &w->pool[packet].hdr.NetworkHeader.pt2pt;

	emu_hints_set(h, 0);
	h->Byte3.Virtual_channel = EMU_VC_BUBBLE;
	if (emu_world_inject(w, node, 0, packet, w->now))
		push_event(w, w->now + RESEND_PS, node, PORT_ADDRESSED, ADDRESSED, packet,
			   MARK_RESEND);
}

void emu_world_answer(struct emu_world *w, uint32_t node, uint32_t packet, uint64_t now)
{
	push_event(w, now + w->timing.mu_rget_ps + w->timing.mu_inject_ps, node, PORT_ADDRESSED,
		   ADDRESSED, packet, MARK_RESEND);
}

static void handle_addressed(struct emu_world *w, const struct emu_event *e)
{
	uint32_t node = emu_event_node(e);
	struct emu_packet *p = &w->pool[e->arg];

	switch (e->mark == MARK_RESEND ? EMU_ARRIVAL_RESEND
		: e->mark == MARK_ACCESS
		    ? emu_directory_access(w->directory, node, word_of(w, node), p)
		    : emu_directory_arrive(w->directory, node, word_of(w, node), p, w->now)) {
	case EMU_ARRIVAL_ACCESS:
		push_event(w, w->now + w->timing.mu_receive_ps, node, PORT_ADDRESSED, ADDRESSED,
			   e->arg, MARK_ACCESS);
		return;
	case EMU_ARRIVAL_WAIT:
		push_event(w, w->now + w->timing.address_wait_ps, node, PORT_ADDRESSED, ADDRESSED,
			   e->arg, MARK_ACCESS);
		return;
	case EMU_ARRIVAL_DELIVER:
		deliver_to_software(w, node, e->arg, w->now);
		return;
	case EMU_ARRIVAL_TAKEN:
		if (w->has_cuts && is_counted(p))
			note_arrival(w, p->route.source);
		emu_world_hash(w, w->now, (uint64_t)node << 32 | ADDRESSED,
			       emu_address_of(p)->version);
		emu_world_packet_put(w, e->arg);
		return;
	case EMU_ARRIVAL_RESEND:
		if (w->has_cuts && is_counted(p) && e->mark != MARK_RESEND)
			note_arrival(w, p->route.source);
		if (e->mark == MARK_ACCESS) /* the answer leaves as that to a remote get does */
			emu_world_answer(w, node, e->arg, w->now);
		else
			resend_packet(w, node, e->arg);
		return;
	}
}

/* ---- the operations of a router on its neighbours and its node ---- */

static void op_send(void *arg, uint32_t node, unsigned link, unsigned vc, uint32_t packet,
		    uint64_t now)
{
	struct emu_world *w = arg;
	uint32_t hop;

	w->packet_hops++;
	hash_packet(w, now, ARRIVE, node, link, &w->pool[packet]);
	w->node[node].free_at[link] = __builtin_expect(w->has_link_faults, 0)
					  ? emu_router_link_free_at(router_of(w, node), link)
					  : now + serial_ps(w, &w->pool[packet], 0);
	hop = vc < EMU_VCS ? w->timing.hop_ps : w->timing.coll_hop_ps;
	w->pool[packet].route.ready = now + hop;
	w->pool[packet].route.flags = 0;
	push_event(w, now + hop, w->neighbour[node][link], emu_link_opposite(link), ARRIVE, packet,
		   (uint16_t)vc);
}

static int op_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t now)
{
	struct emu_world *w = arg;
	const struct emu_packet *p = &w->pool[packet];
	uint64_t *taken =
	    p->route.in < EMU_LINKS + EMU_INJECTIONS ? &w->node[node].taken_at[p->route.in] : NULL;

	if (__builtin_expect(w->ops->accepts != NULL, 0) && !w->ops->accepts(w->arg, node, packet))
		return -EAGAIN;
	/*
	 * Packets that waited behind each other in one queue leave together: a short one does not
	 * overtake a long one.
	 */
	if (taken && *taken > now)
		now = *taken;
	now += serial_ps(w, p, p->route.source == node && !is_coll(p));
	if (taken)
		*taken = now;
	deliver_packet(w, node, packet, now);
	return 0;
}

static void op_credit(void *arg, uint32_t node, unsigned link, unsigned vc, uint64_t now)
{
	struct emu_world *w = arg;
	uint32_t to = w->neighbour[node][link];
	struct credits *c = credits_of(w, to);
	uint64_t at = now + w->timing.credit_ps;

	unsigned theirs = emu_link_opposite(link);

	c->at[c->tail++ & w->credit_mask] = at << 9 | theirs << 5 | vc;
	/*
	 * If no packet waits for that link, or the link is busy for longer, a later step takes in
	 * the credit.
	 */
	if (emu_router_wanted(router_of(w, to)) >> theirs & 1 && w->node[to].free_at[theirs] <= at)
		schedule_step(w, to, at);
}

static uint32_t op_copy(void *arg, uint32_t node, uint32_t packet)
{
	struct emu_world *w = arg;
	uint32_t i = emu_world_packet_get(w);

	if (i == NONE)
		return EMU_NO_PACKET;
	memcpy(&w->pool[i], &w->pool[packet],
	       offsetof(struct emu_packet, payload) + w->pool[packet].bytes);
	w->pool[i].route.in = EMU_IN_NONE;
	return i;
}

static void op_drop(void *arg, uint32_t node, uint32_t packet)
{
	emu_world_packet_put(arg, packet);
}

static void op_gi(void *arg, uint32_t node, unsigned link, unsigned route, unsigned bits,
		  uint64_t now)
{
	struct emu_world *w = arg;

	emu_world_hash(w, now, (uint64_t)node << 32 | link << 8 | SIGNAL, route << 6 | bits);
	w->signals++;
	push_event(w, now + w->timing.gi_hop_ps, w->neighbour[node][link], emu_link_opposite(link),
		   SIGNAL, route << 6 | bits, 0);
}

static void op_gi_status(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now)
{
	struct emu_world *w = arg;

	w->ops->gi_status(w->arg, node, route, bits, now);
}

static const struct emu_router_ops router_ops = {op_send, op_deliver, op_credit,    op_copy,
						 op_drop, op_gi,      op_gi_status, op_address};

/* Return the time, if before `next`, at which a credit in flight may free a packet that waits. */
static uint64_t next_credit_time(const struct node *n, const struct credits *c, uint32_t mask,
				 unsigned wanted, uint64_t next)
{
	for (uint32_t i = c->head; wanted && i != c->tail; i++) {
		uint64_t x = c->at[i & mask];
		unsigned link = x >> 5 & 15;

		if (x >> 9 >= next)
			break;
		if (wanted >> link & 1 && n->free_at[link] <= x >> 9)
			return x >> 9;
	}
	return next;
}

static void step_router(struct emu_world *w, uint32_t node)
{
	struct credits *c = credits_of(w, node);
	struct node *n = &w->node[node];
	struct emu_router *r = router_of(w, node);
	uint64_t next;

	while (c->head != c->tail && c->at[c->head & w->credit_mask] >> 9 <= w->now) {
		uint64_t x = c->at[c->head++ & w->credit_mask];

		emu_router_credit(r, x >> 5 & 15, x & 31);
	}
	next = emu_router_step(r, w->pool, w->now, &router_ops, w);
	if (c->head == c->tail)
		c->head = c->tail = 0; /* use the same cache lines again */
	else
		next = next_credit_time(n, c, w->credit_mask, emu_router_wanted(r), next);
	if (next != n->step_at) { /* an event made for another time is no longer valid */
		n->step_at = UINT64_MAX;
		if (next != UINT64_MAX)
			schedule_step(w, node, next);
	}
}

/*
 * Step the router, then let the engines whose packets it refused try again; they may inject at
 * once.
 */
static void step_due_router(struct emu_world *w)
{
	while (w->due != NONE) {
		uint32_t node = w->due;
		uint32_t refused = w->node[node].refused;

		w->due = NONE;
		step_router(w, node);
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
		return; /* more events of this moment follow */
	step_due_router(w);
}

void emu_world_retry(struct emu_world *w, uint32_t node, uint64_t now)
{
	schedule_step(w, node, now > w->now ? now : w->now);
}

bool emu_world_blocked(struct emu_world *w, uint32_t node, unsigned queue, struct emu_blocked *out)
{
	return !w->express && emu_router_blocked(router_of(w, node), queue, out);
}

static void handle_arrival(struct emu_world *w, const struct emu_event *e)
{
	uint32_t node = emu_event_node(e);

	if (!emu_router_arrive(router_of(w, node), w->pool, emu_event_port(e), e->mark, e->arg)) {
		w->due = node;
	} else if (e->mark >= EMU_VCS) { /* software has programmed only part of a tree */
		w->dropped++;
		emu_world_packet_put(w, e->arg);
	} else {
		w->error = -EPROTO; /* a router violated the credit rule */
	}
}

/* Prefetch the memory of the next event, which in a large torus is not in a cache. */
static inline void prefetch_next(struct emu_world *w)
{
	const struct emu_event *e = emu_sched_peek(&w->sched);
	uint32_t node;

	if (!e || w->express)
		return;
	node = emu_event_node(e);
	if (e->kind == ARRIVE)
		__builtin_prefetch(&w->pool[e->arg], 1);
	emu_router_prefetch(router_of(w, node), emu_event_port(e) % 16);
	__builtin_prefetch(&w->node[node], 1);
	__builtin_prefetch(credits_of(w, node), 1);
}

int emu_world_next(struct emu_world *w, struct emu_event *e)
{
	emu_world_settle(w);
	if (w->error || !emu_sched_pop(&w->sched, e))
		return 0;
	w->now = e->time;
	prefetch_next(w);
	if (e->kind == ARRIVE) {
		handle_arrival(w, e);
	} else if (e->kind == SIGNAL) {
		w->signals--;
		emu_router_gi_arrive(router_of(w, emu_event_node(e)), emu_event_port(e),
				     e->arg >> 6, e->arg & EMU_GI_ALL, w->now, &router_ops, w);
	} else if (e->kind == STEP && w->node[emu_event_node(e)].step_at == e->time) {
		w->due = emu_event_node(e);
		w->node[w->due].step_at = UINT64_MAX;
	} else if (e->kind == ADDRESSED) {
		handle_addressed(w, e);
	}
	return 1;
}

/* Deliver along a line: a copy at each node on the way, the packet itself at the last. */
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
		deliver_packet(w, node, copy,
			       now + hops * (uint64_t)w->timing.hop_ps +
				   serial_ps(w, &w->pool[copy], 0));
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
	deliver_packet(w, to, packet,
		       now + (uint64_t)hops * w->timing.hop_ps + serial_ps(w, p, !hops));
	return 0;
}

int emu_world_cut(struct emu_world *w, uint32_t node, unsigned link, bool cut)
{
	if (!w->has_cuts)
		return -EINVAL;
	if (!w->cuts.cuts) {
		emu_route_init_as(&w->route, &w->shape, &w->slots.routing);
		if (emu_cuts_init(&w->cuts, &w->route))
			return -ENOMEM;
	}
	if (!emu_cuts_set(&w->cuts, node, link, cut))
		return -EINVAL;
	for (uint32_t i = 0; i < w->nodes; i++)
		w->node[i].hold = w->node[i].in_flight;
	return 0;
}

void emu_world_link_fault(struct emu_world *w, uint32_t node, unsigned link,
			  const struct emu_link_fault *f)
{
	if (w->express || !w->routers)
		return;
	w->has_link_faults = true;
	emu_router_link_fault(router_of(w, node), link, f);
}

int emu_world_inject(struct emu_world *w, uint32_t node, unsigned queue, uint32_t packet,
		     uint64_t now)
{
	struct emu_packet *p = &w->pool[packet];
	int rc;

	int direct = w->express && !is_coll(p);

	p->route.ready = now;
	p->route.flags = 0;
	if (!w->routers && is_coll(p))
		return -EINVAL;
	if (__builtin_expect(w->directory != NULL, 0) && !is_coll(p) && emu_is_addressed(p))
		now = p->route.ready =
		    now + emu_directory_inject_ps(w->directory, p, w->timing.address_inject_ps);
	if (direct) {
		p->route.source = node;
		p->route.sequence = w->node[node].sequence++;
		if (__builtin_expect(w->directory != NULL, 0) && emu_is_addressed(p))
			emu_directory_visit(w->directory, node, word_of(w, node), p, true, now);
	} else {
		if (w->due != NONE && w->due != node)
			step_due_router(w);
		rc = 0;
		if (__builtin_expect(w->has_cuts, 0) && is_counted(p) && w->cuts.cuts)
			rc = w->node[node].hold
				 ? -EAGAIN
				 : emu_cuts_apply(&w->cuts, node, &p->hdr.NetworkHeader.pt2pt);
		if (!rc)
			rc = emu_router_inject(router_of(w, node), w->pool, queue, packet);
		if (rc == -EAGAIN)
			w->node[node].refused |= 1u << queue;
		if (rc)
			return rc;
		if (__builtin_expect(w->has_cuts, 0))
			w->node[node].in_flight += is_counted(p);
		w->due = node;
	}
	w->packets++;
	hash_packet(w, now, INJECT, node, EMU_LINKS + 1 + queue, p);
	return direct ? inject_express(w, node, packet, now) : 0;
}

int emu_world_class_set(struct emu_world *w, uint32_t node, unsigned route, const ClassRoute_t *c,
			int pass)
{
	int rc = w->routers ? 0 : make_routers(w);

	return rc ? rc : emu_router_class_set(router_of(w, node), route, c, pass);
}

bool emu_world_class_is_busy(struct emu_world *w, uint32_t node, unsigned route)
{
	return w->routers && emu_router_class_is_busy(router_of(w, node), route);
}

unsigned emu_world_coll_flags(struct emu_world *w, uint32_t node, unsigned route)
{
	return w->routers ? emu_router_coll_flags(router_of(w, node), route, ~0u) : 0;
}

int emu_world_gi_set(struct emu_world *w, uint32_t node, unsigned route, const ClassRoute_t *c)
{
	int rc = w->routers ? 0 : make_routers(w);

	return rc ? rc : emu_router_gi_set(router_of(w, node), route, c);
}

void emu_world_gi_preset(struct emu_world *w, uint32_t node, unsigned route, unsigned bits)
{
	emu_router_gi_preset(router_of(w, node), route, bits);
}

int emu_world_gi_program(struct emu_world *w, uint32_t node, unsigned route, const ClassRoute_t *c,
			 uint64_t now)
{
	int rc = w->routers ? 0 : make_routers(w);

	return rc ? rc : emu_router_gi_program(router_of(w, node), route, c, now, &router_ops, w);
}

void emu_world_gi(struct emu_world *w, uint32_t node, unsigned route, unsigned mask, unsigned bits,
		  uint64_t now)
{
	if (w->routers)
		emu_router_gi(router_of(w, node), route, mask, bits, now, &router_ops, w);
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

struct emu_directory *emu_world_directory(struct emu_world *w)
{
	return w->directory;
}

const struct emu_timing *emu_world_timing(const struct emu_world *w)
{
	return &w->timing;
}

void emu_world_stat(const struct emu_world *w, struct emu_world_stat *s)
{
	*s = (struct emu_world_stat){.hash = w->hash,
				     .packets = w->packets,
				     .delivered = w->delivered,
				     .packet_hops = w->packet_hops,
				     .time_ps = w->now,
				     .events = w->sched.taken,
				     .in_flight = w->in_flight,
				     .signals = w->signals,
				     .dropped = w->dropped,
				     .error = w->error};
}

void emu_world_link_stat(const struct emu_world *w, uint32_t node, unsigned link,
			 struct emu_link_stat *stat)
{
	if (w->express || node >= w->nodes)
		memset(stat, 0, sizeof *stat);
	else
		emu_router_link_stat(router_of((struct emu_world *)w, node), link, stat);
}

void emu_world_link_sum(const struct emu_world *w, uint32_t node, unsigned link,
			struct emu_link_sum *sum)
{
	if (w->express || node >= w->nodes)
		memset(sum, 0, sizeof *sum);
	else
		*sum = *emu_router_link_sum(router_of((struct emu_world *)w, node), link);
}
