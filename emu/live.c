/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot: node_step(). Writers:
 *
 *   inbox    any thread pushes (P1), the lock holder takes all (T1)
 *   flags    any thread sets bits, the lock holder takes all; credit[] likewise
 *   credit_wanted  the lock holder; threads that return credits read it
 *   the rest of a node, and its router: the lock holder
 *
 * Why no wake-up is lost. A producer pushes, then sets the active bit. A poller locks, clears the
 * bit, then takes the inbox: either it sees the push, or the producer sets the bit after the
 * clearing. A poller that cannot get the lock leaves the bit set. Returned credits make a router
 * active only if it credit_wanted them. The router publishes credit_wanted, then checks for
 * credits; a neighbour adds credits, then reads credit_wanted. All four are in one total order
 * (SEQ_CST), so at least one side sees the other.
 */
#include "emu/live_state.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "emu/class.h"
#include "emu/combine.h"
#include "emu/route.h"

#define MAGIC             0x45564c51u /* "QLVE" */
#define VERSION           5u
#define PLACE_HELD(owner) ((owner) + 1)
#define PLACE_IN_ROUTER   UINT32_MAX
/* Packets that a dying process may leak: one for each of its threads that sends. */
#define LOST_EACH     16u
#define BLOCKED_TRIES 10000u /* of taking the lock of a router that others step */
#define ROUNDS        8      /* rounds of one router before the poll steps others */

struct live_step {
	struct emu_live *live;
	struct live_node *n;
	uint32_t local;
	uint64_t now_ps; /* 0 without faults that need it */
	bool waits;      /* a packet waits for a time */
};

/* ---- layout ---- */

static void layout_memory(struct live_mem *m, const struct emu_shape *shape, uint32_t local_nodes,
			  const struct emu_router_conf *conf)
{
	uint64_t at = round_to_line(sizeof(*m)), slots = 0;

	memset(m, 0, sizeof(*m));
	emu_route_init_as(&m->route, shape, conf ? &conf->routing : NULL);
	m->coll_slots = conf && conf->coll_slots ? conf->coll_slots : EMU_VC_SLOTS_DEFAULT;
	m->injection_slots =
	    conf && conf->injection_slots ? conf->injection_slots : EMU_INJECTION_SLOTS;
	m->nodes = emu_shape_nodes(shape);
	m->local_nodes = local_nodes;
	for (int v = 0; v < EMU_VCS; v++) {
		uint32_t n = conf && conf->slots[v] ? conf->slots[v] : EMU_VC_SLOTS_DEFAULT;

		m->slots[v] = n < EMU_VC_SLOTS_MIN ? EMU_VC_SLOTS_MIN : n;
		slots += m->slots[v];
	}
	/* A packet for each slot of an input, each slot of an output to another host, each
	 * injection place, and each descending collective packet. */
	slots += (uint64_t)EMU_CLASSES * m->coll_slots;
	m->pool_count = (uint32_t)(local_nodes * (2 * EMU_LINKS * slots + EMU_CLASSES * 2 +
						  EMU_INJECTIONS_ALL * EMU_INJECTION_SLOTS +
						  shape->t * LOST_EACH));
	m->active_words = (local_nodes + 63) / 64;
	m->node_bytes = round_to_line(sizeof(struct live_node)) + emu_router_bytes();
	m->active_at = at;
	at += round_to_line(m->active_words * 8);
	m->node_at = at;
	at += m->node_bytes * local_nodes;
	m->local_at = at;
	at += round_to_line((size_t)m->nodes * 4);
	m->next_at = at;
	at += round_to_line((size_t)m->pool_count * 4);
	m->pool_at = at;
	at += (uint64_t)m->pool_count * sizeof(struct emu_packet);
	m->bytes = at;
}

size_t emu_live_bytes(const struct emu_shape *shape, uint32_t local_nodes,
		      const struct emu_router_conf *conf)
{
	struct live_mem m;

	layout_memory(&m, shape, local_nodes, conf);
	return m.bytes;
}

static void node_init(struct live_mem *m, struct live_node *n, const uint32_t *local, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(&m->route.shape, node, &x);
	n->node = node;
	n->here = emu_coord_word(&x);
	atomic_store_relaxed(&n->inbox, NIL);
	for (unsigned l = 0; l < EMU_LINKS; l++) {
		uint32_t peer = emu_node_neighbour(&m->route.shape, node, l);

		n->out_head[l] = n->out_tail[l] = NIL;
		n->peer[l] = peer == UINT32_MAX ? NIL : local[peer];
		if (peer != UINT32_MAX && local[peer] == NIL)
			n->remote |= 1u << l;
	}
}

int emu_live_init(void *mem, size_t bytes, const struct emu_shape *shape, const uint32_t *nodes,
		  uint32_t local_nodes, const struct emu_router_conf *conf)
{
	struct live_mem *m = mem;
	uint32_t *local;

	if (bytes < emu_live_bytes(shape, local_nodes, conf)) {
		drv_error("torus memory: %zu bytes given, %zu needed", bytes,
			  emu_live_bytes(shape, local_nodes, conf));
		return -EINVAL;
	}
	layout_memory(m, shape, local_nodes, conf);
	local = (uint32_t *)((char *)mem + m->local_at);
	memset(local, 0xff, (size_t)m->nodes * 4);
	for (uint32_t i = 0; i < local_nodes; i++) {
		if (nodes[i] >= m->nodes || local[nodes[i]] != NIL) {
			drv_error("torus memory: node %u is %s", nodes[i],
				  nodes[i] >= m->nodes ? "outside the shape" : "given twice");
			return -EINVAL;
		}
		local[nodes[i]] = i;
	}
	for (uint32_t i = 0; i < local_nodes; i++) {
		struct live_node *n =
		    (struct live_node *)((char *)mem + m->node_at + m->node_bytes * i);

		memset(n, 0, sizeof(*n));
		node_init(m, n, local, nodes[i]);
		emu_router_init(router_of(n), shape, nodes[i], conf, 0);
	}
	atomic_store_relaxed(&m->free_head, NIL);
	m->version = VERSION;
	atomic_store_release(&m->magic, MAGIC);
	return 0;
}

struct emu_live *emu_live_open(void *mem, const struct emu_live_ops *ops, void *arg)
{
	struct live_mem *m = mem;
	struct emu_live *live;

	if (atomic_load_acquire(&m->magic) != MAGIC || m->version != VERSION) {
		drv_error("torus memory: not initialised, or by another version");
		return NULL;
	}
	live = calloc(1, sizeof(*live));
	if (!live) {
		drv_error("torus memory: no memory for a handle");
		return NULL;
	}
	live->mem = m;
	live->ops = *ops;
	live->arg = arg;
	live->node = (char *)mem + m->node_at;
	live->node_bytes = m->node_bytes;
	live->pool = (struct emu_packet *)((char *)mem + m->pool_at);
	live->next = (atomic_u32 *)((char *)mem + m->next_at);
	live->active = (atomic_u64 *)((char *)mem + m->active_at);
	live->local = (uint32_t *)((char *)mem + m->local_at);
	return live;
}

void emu_live_close(struct emu_live *live)
{
	if (live)
		live_faults_free(live);
	free(live);
}

uint32_t emu_live_local(const struct emu_live *live, uint32_t node)
{
	return node < live->mem->nodes ? live->local[node] : EMU_LIVE_NONE;
}

uint32_t emu_live_node(const struct emu_live *live, uint32_t local_node)
{
	return node_of(live, local_node)->node;
}

uint32_t emu_live_local_nodes(const struct emu_live *live)
{
	return live->mem->local_nodes;
}

const struct emu_shape *emu_live_shape(const struct emu_live *live)
{
	return &live->mem->route.shape;
}

struct emu_packet *emu_live_packet(struct emu_live *live, uint32_t packet)
{
	return &live->pool[packet];
}

/* ---- injection ---- */

static void place_release(struct emu_live *live, uint32_t local, unsigned queue, unsigned place)
{
	struct live_node *n = node_of(live, local);

	atomic_store_seq_cst(&n->place[queue][place % EMU_INJECTION_SLOTS], 0);
	if (atomic_load_seq_cst(&n->refused) && atomic_exchange_seq_cst(&n->refused, 0) &&
	    live->ops.room)
		live->ops.room(live->arg, local);
}

/* Take a place and record its owner in the same store, for emu_live_reclaim(). Returns -1 if none
 * is free. */
static int place_take(struct live_node *n, unsigned queue, uint32_t slots, uint32_t owner)
{
	for (uint32_t i = 0; i < slots; i++) {
		atomic_u32 *place = &n->place[queue][i];
		uint32_t nobody = 0;

		if (!atomic_load_seq_cst(place) &&
		    atomic_cas_seq_cst(place, &nobody, PLACE_HELD(owner)))
			return (int)i;
	}
	return -1;
}

int emu_live_alloc(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t *packet)
{
	struct live_node *n = node_of(live, local_node);
	bool flight = is_flight(live, queue);
	int place;

	if (flight && !live_flight_begin(live, local_node)) {
		atomic_store_seq_cst(&n->refused, 1);
		if (!live_flight_begin(live, local_node)) /* they may all have arrived since */
			return -EAGAIN;
	}
	place = place_take(n, queue, live->mem->injection_slots, live->owner);
	if (place < 0) {
		atomic_store_seq_cst(&n->refused, 1);
		/* A place may have been freed before its owner could see `refused`. */
		place = place_take(n, queue, live->mem->injection_slots, live->owner);
		if (place < 0) {
			if (flight)
				live_flight_end(live, local_node);
			return -EAGAIN;
		}
	}
	*packet = pool_get(live);
	if (*packet == NIL) { /* dead processes leaked more packets than LOST_EACH */
		place_release(live, local_node, queue, (unsigned)place);
		if (flight)
			live_flight_end(live, local_node);
		return -EAGAIN;
	}
	memset(&live->pool[*packet], 0, 64);
	live->pool[*packet].route.flags = (uint8_t)((unsigned)place | (flight ? FLIGHT : 0));
	return 0;
}

void emu_live_cancel(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t packet)
{
	unsigned place = live->pool[packet].route.flags;

	pool_put(live, packet);
	place_release(live, local_node, queue, place);
	if (place & FLIGHT)
		live_flight_end(live, local_node);
}

static bool is_bad_collective(const struct emu_packet *p)
{
	unsigned op = p->hdr.NetworkHeader.collective.Byte1.Byte1;

	return p->bytes > sizeof(p->payload) || !emu_combine_is_valid(op & 0xf0, op & 15, p->bytes);
}

int emu_live_inject(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t packet)
{
	struct emu_packet *p = &live->pool[packet];
	MUHWI_Pt2PtNetworkHeader_t *h = &p->hdr.NetworkHeader.pt2pt;
	unsigned vc, hints;

	if (h->Data_Packet_Type == MUHWI_COLLECTIVE_DATA_PACKET_TYPE) {
		if (is_bad_collective(p) || queue != EMU_INJECTIONS + route_of(&p->hdr)) {
			emu_live_cancel(live, local_node, queue, packet);
			return -EINVAL;
		}
		p->route.ready = 0;
		p->route.in = (uint8_t)(EMU_LINKS + queue);
		inbox_push(live, local_node, packet);
		return 0;
	}
	if (live->cuts && live_route_around(live, local_node, h)) {
		emu_live_cancel(live, local_node, queue, packet);
		return -EHOSTUNREACH;
	}
	vc = emu_vc_start(h);
	if (vc >= EMU_VCS || p->bytes > sizeof(p->payload) ||
	    emu_route_hints(&live->mem->route, node_of(live, local_node)->here,
			    h->Destination.Destination.Destination, emu_hints_get(h), &hints)) {
		emu_live_cancel(live, local_node, queue, packet);
		return -EINVAL;
	}
	emu_hints_set(h, hints);
	p->route.ready = 0;
	p->route.in = (uint8_t)(EMU_LINKS + queue);
	inbox_push(live, local_node, packet);
	return 0;
}

/* ---- one router's step, under its lock ---- */

/* Free the injection place of a packet that has left it. */
static void place_leave(struct live_step *s, unsigned in, unsigned place)
{
	if (in >= EMU_LINKS && in < EMU_LINKS + EMU_INJECTIONS_ALL)
		place_release(s->live, s->local, in - EMU_LINKS, place);
}

static void op_send(void *arg, uint32_t node, unsigned link, unsigned vc, uint32_t packet,
		    uint64_t now)
{
	struct live_step *s = arg;
	struct live_node *n = s->n;
	struct emu_packet *p = &s->live->pool[packet];
	unsigned in = p->route.in, place = p->route.flags;

	p->route.ready = now;
	if (n->remote >> link & 1) { /* flush_remote() sends these in order */
		p->route.next = NIL;
		p->route.vc = (uint8_t)vc;
		if (n->out_tail[link] == NIL)
			n->out_head[link] = packet;
		else
			s->live->pool[n->out_tail[link]].route.next = packet;
		n->out_tail[link] = packet;
	} else {
		p->route.vc = (uint8_t)vc;
		p->route.in = (uint8_t)emu_link_opposite(link);
		inbox_push(s->live, n->peer[link], packet);
	}
	place_leave(s, in, place);
}

static int op_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t now)
{
	struct live_step *s = arg;
	unsigned in = s->live->pool[packet].route.in, place = s->live->pool[packet].route.flags;
	int rc = s->live->ops.deliver(s->live->arg, s->local, &s->live->pool[packet]);

	if (rc == -EAGAIN)
		return rc;
	if (rc) /* the MU will never take this packet: drop it */
		atomic_fetch_add_relaxed(&s->live->mem->refused_count, 1);
	if (place & FLIGHT)
		live_flight_end(s->live, s->live->local[s->live->pool[packet].route.source]);
	pool_put(s->live, packet);
	place_leave(s, in, place);
	return 0;
}

static void op_credit(void *arg, uint32_t node, unsigned link, unsigned vc, uint64_t now)
{
	struct live_step *s = arg;
	bool coll = vc >= EMU_VCS;
	uint64_t one = credit_of(vc);

	if (!(s->n->remote >> link & 1))
		credit_add(s->live, s->n->peer[link], emu_link_opposite(link), one, coll);
	else if (coll)
		s->n->remote_coll_credit[link] += one;
	else
		s->n->remote_credit[link] += one;
}

static uint32_t op_copy(void *arg, uint32_t node, uint32_t packet)
{
	struct live_step *s = arg;
	struct emu_packet *pool = s->live->pool;
	uint32_t i = pool_get(s->live);

	if (i == NIL)
		return EMU_NO_PACKET;
	memcpy(&pool[i], &pool[packet], offsetof(struct emu_packet, payload) + pool[packet].bytes);
	pool[i].route.in = EMU_IN_NONE;
	return i;
}

static void op_drop(void *arg, uint32_t node, uint32_t packet)
{
	struct live_step *s = arg;
	unsigned in = s->live->pool[packet].route.in, place = s->live->pool[packet].route.flags;

	pool_put(s->live, packet);
	place_leave(s, in, place);
}

static void op_gi(void *arg, uint32_t node, unsigned link, unsigned route, unsigned bits,
		  uint64_t now)
{
	struct live_step *s = arg;

	if (s->n->remote >> link & 1) {
		s->n->remote_signal[link][route] = (uint8_t)(SIGNAL_NEW | bits);
		s->n->signals_to_send[link] |= (uint16_t)(1u << route);
	} else {
		signal_put(s->live, s->n->peer[link], emu_link_opposite(link), route, bits);
	}
}

static void op_gi_status(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now)
{
	struct live_step *s = arg;

	if (s->live->ops.gi_status)
		s->live->ops.gi_status(s->live->arg, s->local, route, bits);
}

static const struct emu_router_ops step_ops = {op_send, op_deliver, op_credit,   op_copy,
					       op_drop, op_gi,      op_gi_status};

static void flush_signals(struct live_step *s, unsigned link)
{
	struct live_node *n = s->n;

	for (unsigned m = n->signals_to_send[link]; m; m &= m - 1) {
		unsigned route = (unsigned)__builtin_ctz(m);

		if (s->live->ops.gi_remote(s->live->arg, s->local, link, route,
					   n->remote_signal[link][route] & EMU_GI_ALL))
			return;
		n->signals_to_send[link] &= (uint16_t) ~(1u << route);
	}
}

static void flush_remote(struct live_step *s)
{
	struct emu_live *live = s->live;
	struct live_node *n = s->n;

	for (uint32_t links = n->remote; links; links &= links - 1) {
		unsigned l = (unsigned)__builtin_ctz(links);

		while (n->out_head[l] != NIL) {
			uint32_t i = n->out_head[l];
			struct emu_packet *p = &live->pool[i];

			if (p->route.ready > s->now_ps) {
				s->waits = true;
				break;
			}
			if (live->ops.send_remote(live->arg, s->local, l, p->route.vc, p))
				break;
			n->out_head[l] = p->route.next;
			if (n->out_head[l] == NIL)
				n->out_tail[l] = NIL;
			if (n->lost >> l & 1)
				credit_add(live, s->local, l, credit_of(p->route.vc),
					   p->route.vc >= EMU_VCS);
			pool_put(live, i);
		}
		if (n->remote_credit[l] &&
		    !live->ops.credit_remote(live->arg, s->local, l, n->remote_credit[l]))
			n->remote_credit[l] = 0;
		if (n->remote_coll_credit[l] &&
		    !live->ops.coll_credit_remote(live->arg, s->local, l, n->remote_coll_credit[l]))
			n->remote_coll_credit[l] = 0;
		if (n->signals_to_send[l])
			flush_signals(s, l);
	}
}

static void take_signals(struct live_step *s)
{
	struct emu_router *r = router_of(s->n);

	for (unsigned from = 0; from < EMU_LINKS + EMU_GI_USERS; from++)
		for (unsigned route = 0; route < EMU_CLASSES; route++) {
			atomic_u8 *word = &s->n->signal[from][route];
			uint8_t v;

			if (!atomic_load_relaxed(word))
				continue;
			v = atomic_exchange_seq_cst(word, 0);
			if (from < EMU_LINKS)
				emu_router_gi_arrive(r, from, route, v & EMU_GI_ALL, 0, &step_ops,
						     s);
			else
				emu_router_gi(r, route, emu_gi_pack(from - EMU_LINKS, 7),
					      emu_gi_pack(from - EMU_LINKS, v), 0, &step_ops, s);
		}
}

static void take_credits(struct live_step *s)
{
	struct live_node *n = s->n;
	uint32_t flags = 0;

	if (atomic_load_relaxed(&n->flags))
		flags = atomic_exchange_seq_cst(&n->flags, 0) & ~KICK;
	if (flags & SIGNALS)
		take_signals(s);
	for (flags &= ~SIGNALS; flags; flags &= flags - 1) {
		unsigned l = (unsigned)__builtin_ctz(flags);
		uint64_t credits = atomic_exchange_seq_cst(&n->credit[l], 0);

		for (unsigned vc = 0; vc < EMU_VCS; vc++)
			for (unsigned k = credits >> (16 * vc) & 0xffff; k; k--)
				emu_router_credit(router_of(n), l, vc);
		if (atomic_load_relaxed(&n->coll_credit[l]))
			credits = atomic_exchange_seq_cst(&n->coll_credit[l], 0);
		else
			continue;
		for (unsigned route = 0; route < EMU_CLASSES && credits >> (4 * route); route++)
			for (unsigned k = credits >> (4 * route) & 15; k; k--)
				emu_router_credit(router_of(n), l, EMU_VCS + route);
	}
}

/* T1: take all packets pushed so far, the oldest first. */
static uint32_t inbox_take(struct emu_live *live, struct live_node *n)
{
	uint32_t i, oldest = NIL;

	if (atomic_load_relaxed(&n->inbox) == NIL)
		return NIL;
	i = atomic_exchange_seq_cst(&n->inbox, NIL);
	while (i != NIL) {
		uint32_t next = live->pool[i].route.next;

		live->pool[i].route.next = oldest;
		oldest = i;
		i = next;
	}
	return oldest;
}

static void take_inbox(struct live_step *s)
{
	struct emu_live *live = s->live;
	struct emu_router *r = router_of(s->n);

	assert(atomic_load_relaxed(&s->n->lock)); /* only the lock holder steps a router */
	for (uint32_t i = inbox_take(live, s->n), next; i != NIL; i = next) {
		struct emu_packet *p = &live->pool[i];
		int rc;

		next = p->route.next;
		if (p->route.in < EMU_LINKS) {
			rc = emu_router_arrive(r, live->pool, p->route.in, p->route.vc, i);
		} else {
			atomic_store_relaxed(&s->n->place[p->route.in - EMU_LINKS]
							 [p->route.flags % EMU_INJECTION_SLOTS],
					     PLACE_IN_ROUTER);
			rc = emu_router_inject(r, live->pool, p->route.in - EMU_LINKS, i);
		}
		if (rc) { /* a sender on another host had no credit, or a process overwrote shared
			     memory */
			atomic_fetch_add_relaxed(&live->mem->refused_count, 1);
			place_leave(s, p->route.in, p->route.flags);
			if (p->route.flags & FLIGHT)
				live_flight_end(live, p->route.in < EMU_LINKS
							  ? live->local[p->route.source]
							  : s->local);
			pool_put(live, i);
		}
	}
}

/* Step a router until it has no work, or for ROUNDS rounds. Returns 0 if another process holds its
 * lock. */
static int node_step(struct emu_live *live, uint32_t local)
{
	struct live_step s = {live, node_of(live, local), local, 0, false};
	struct live_node *n = s.n;
	uint64_t bit = 1ull << (local % 64);
	int rounds = 0;

	if (atomic_load_relaxed(&n->lock) || atomic_exchange_acquire(&n->lock, 1))
		return 0;
	atomic_fetch_and_seq_cst(&live->active[local / 64], ~bit);
	if (__builtin_expect(live->has_faults, 0))
		live_faults_apply(live, local);
	do {
		if (__builtin_expect(live->timed, 0))
			s.now_ps = live_now_ps(live);
		take_credits(&s);
		take_inbox(&s);
		s.waits = emu_router_step(router_of(n), live->pool, s.now_ps, &step_ops, &s) !=
			  UINT64_MAX;
		if (n->remote)
			flush_remote(&s);
		uint32_t credit_wanted = emu_router_wanted(router_of(n));
		if (credit_wanted != atomic_load_relaxed(&n->credit_wanted))
			atomic_store_seq_cst(&n->credit_wanted, credit_wanted);
	} while (has_work(n) && ++rounds < ROUNDS);
	atomic_store_seq_cst(&n->lock, 0);
	if (has_work(n) || (live->timed && s.waits))
		set_active(live, local);
	return 1;
}

int emu_live_poll(struct emu_live *live, int budget)
{
	uint32_t words = live->mem->active_words;
	int steps = 0, moved = 1;

	if (__builtin_expect(live->has_faults, 0))
		live_faults_tick(live);
	while (moved && steps < budget) {
		moved = 0;
		for (uint32_t k = 0; k < words; k++) {
			uint32_t w =
			    live->start + k < words ? live->start + k : live->start + k - words;
			uint64_t bits = atomic_load_acquire(&live->active[w]);

			for (; bits; bits &= bits - 1)
				moved += node_step(live, w * 64 + (uint32_t)__builtin_ctzll(bits));
		}
		steps += moved;
	}
	if (words > 1 && ++live->start == words)
		live->start = 0;
	return steps;
}

bool emu_live_has_work(const struct emu_live *live)
{
	for (uint32_t w = 0; w < live->mem->active_words; w++)
		if (atomic_load_seq_cst(&live->active[w]))
			return 1;
	return 0;
}

void emu_live_kick(struct emu_live *live, uint32_t local_node)
{
	set_flag(live, local_node, KICK);
}

void emu_live_set_owner(struct emu_live *live, uint32_t owner)
{
	live->owner = owner;
}

void emu_live_reclaim(struct emu_live *live, uint32_t local_node, uint32_t owner)
{
	struct live_node *n = node_of(live, local_node);

	emu_live_kick(live,
		      /* The process may have died after it pushed, and before it set the active
		       * bit. */
		      local_node);
	node_step(live, local_node); /* packets that it had handed over leave the inbox */
	for (unsigned q = 0; q < EMU_INJECTIONS_ALL; q++)
		for (unsigned i = 0; i < EMU_INJECTION_SLOTS; i++)
			if (atomic_load_seq_cst(&n->place[q][i]) == PLACE_HELD(owner)) {
				place_release(live, local_node, q, i);
				if (is_flight(live, q))
					live_flight_end(live, local_node);
			}
}

void emu_live_link_lost(struct emu_live *live, uint32_t local_node, unsigned link)
{
	struct live_node *n = node_of(live, local_node);
	uint64_t all = 0, coll = 0;

	n->lost |= 1u << link;
	/* Return the credits that the neighbour held. The router ignores those beyond its slots. */
	for (unsigned v = 0; v < EMU_VCS; v++)
		all |= (uint64_t)live->mem->slots[v] << (16 * v);
	for (unsigned r = 0; r < EMU_CLASSES; r++)
		coll |= (uint64_t)live->mem->coll_slots << (4 * r);
	atomic_store_seq_cst(&n->credit[link], all);
	atomic_store_seq_cst(&n->coll_credit[link], coll);
	set_flag(live, local_node, 1u << link | KICK);
}

/* ---- class routes ---- */

bool emu_live_blocked(struct emu_live *live, uint32_t local_node, unsigned queue,
		      struct emu_blocked *out)
{
	struct live_node *n = node_of(live, local_node);
	bool is_blocked;

	for (unsigned tries = 0; atomic_exchange_acquire(&n->lock, 1); tries++) {
		if (tries == BLOCKED_TRIES)
			return false;
		drv_cpu_relax();
	}
	is_blocked = emu_router_blocked(router_of(n), queue, out);
	atomic_store_seq_cst(&n->lock, 0);
	if (has_work(n))
		set_active(live, local_node);
	return is_blocked;
}

enum what { PACKETS, SIGNALS_CLEARED, SIGNALS_KEPT };

static int route_program(struct emu_live *live, uint32_t local_node, unsigned route,
			 const ClassRoute_t *c, int pass, enum what what)
{
	struct live_step s = {live, node_of(live, local_node), local_node, 0, false};
	struct live_node *n = s.n;
	struct emu_router *r = router_of(n);
	int rc;

	if (atomic_exchange_acquire(&n->lock, 1))
		return -EAGAIN;
	if (what == PACKETS)
		rc = emu_router_class_set(r, route, c, pass);
	else if (what == SIGNALS_CLEARED)
		rc = emu_router_gi_set(r, route, c);
	else
		rc = emu_router_gi_program(r, route, c, 0, &step_ops, &s);
	if (n->remote)
		flush_remote(&s);
	if (!rc && what == PACKETS && emu_router_class_is_busy(r, route))
		atomic_fetch_or_seq_cst(&n->flags, KICK); /* packets came before their route */
	atomic_store_seq_cst(&n->lock, 0);
	if (has_work(n))
		set_active(live, local_node);
	return rc;
}

int emu_live_class_set(struct emu_live *live, uint32_t local_node, unsigned route,
		       const ClassRoute_t *c, int pass)
{
	return route_program(live, local_node, route, c, pass, PACKETS);
}

int emu_live_gi_set(struct emu_live *live, uint32_t local_node, unsigned route,
		    const ClassRoute_t *c)
{
	return route_program(live, local_node, route, c, 0, SIGNALS_CLEARED);
}

int emu_live_gi_program(struct emu_live *live, uint32_t local_node, unsigned route,
			const ClassRoute_t *c)
{
	return route_program(live, local_node, route, c, 0, SIGNALS_KEPT);
}

unsigned emu_live_coll_flags(struct emu_live *live, uint32_t local_node, unsigned route,
			     unsigned clear)
{
	return emu_router_coll_flags(router_of(node_of(live, local_node)), route, clear);
}

int emu_live_class_preset(struct emu_live *live, uint32_t local_node, unsigned route,
			  const ClassRoute_t *c, unsigned bits)
{
	struct emu_router *r = router_of(node_of(live, local_node));
	int rc = emu_router_class_set(r, route, c, 0);

	rc = rc ? rc : emu_router_gi_set(r, route, c);
	if (!rc)
		emu_router_gi_preset(r, route, bits);
	return rc;
}

void emu_live_gi(struct emu_live *live, uint32_t local_node, unsigned route, enum emu_gi_user user,
		 unsigned bits)
{
	if (route < EMU_CLASSES && user < EMU_GI_USERS)
		signal_put(live, local_node, EMU_LINKS + user, route, bits & 7);
}

/* ---- counters ---- */

void emu_live_link_stat(const struct emu_live *live, uint32_t local_node, unsigned link,
			struct emu_link_stat *stat)
{
	emu_router_link_stat(router_of(node_of(live, local_node)), link, stat);
}

void emu_live_link_sum(const struct emu_live *live, uint32_t local_node, unsigned link,
		       struct emu_link_sum *sum)
{
	const struct emu_link_sum *from =
	    emu_router_link_sum(router_of(node_of(live, local_node)), link);

	sum->sent.packets = atomic_load_relaxed(&from->sent.packets);
	sum->sent.sum = atomic_load_relaxed(&from->sent.sum);
	sum->received.packets = atomic_load_relaxed(&from->received.packets);
	sum->received.sum = atomic_load_relaxed(&from->received.sum);
}

uint64_t emu_live_refused(const struct emu_live *live)
{
	return atomic_load_relaxed(&live->mem->refused_count);
}
