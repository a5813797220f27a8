/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot: step_node. Who writes what:
 *
 *   inbox    anybody pushes (P1), the lock's holder takes all (T1)
 *   flags    anybody sets bits, the holder takes all; credit[] likewise
 *   wants    the holder; read by those who return credits
 *   the rest of a node, and its router: the holder
 *
 * Why no wake-up is lost. A producer pushes, then sets the active bit; a poller locks, clears the bit,
 * then takes the inbox: it sees the push, or the bit is set after its clearing. A poller that cannot get
 * the lock leaves the bit. Returned credits make a router active only if it wants them: it publishes
 * wants, then looks for credits; they are added, then wants is read; both in one total order (SEQ_CST).
 */
#include "emu/live_state.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "emu/class.h"
#include "emu/combine.h"
#include "emu/route.h"

#define MAGIC   0x45564c51u /* "QLVE" */
#define VERSION 3u
#define HELD(owner) ((owner) + 1)
#define IN_ROUTER   UINT32_MAX
#define LOST_EACH   16u        /* packets that a process may take with it when it dies: one a thread that sends */
#define ROUNDS  8          /* of one router before others have their turn */

struct live_step {
	struct emu_live *live;
	struct live_node *n;
	uint32_t local;
};

/* ---- layout ---- */

static void layout(struct live_mem *m, const struct emu_shape *shape, uint32_t local_nodes,
		   const struct emu_router_conf *conf)
{
	uint64_t at = round64(sizeof(*m)), slots = 0;

	memset(m, 0, sizeof(*m));
	emu_route_init(&m->route, shape);
	m->nodes = emu_shape_nodes(shape);
	m->local_nodes = local_nodes;
	for (int v = 0; v < EMU_VCS; v++) {
		uint32_t n = conf && conf->slots[v] ? conf->slots[v] : EMU_VC_SLOTS_DEFAULT;

		m->slots[v] = n < EMU_VC_SLOTS_MIN ? EMU_VC_SLOTS_MIN : n;
		slots += m->slots[v];
	}
	/* Each slot of an input, of an output to another host, each place of injection, what is in hand. */
	slots += (uint64_t)EMU_CLASSES * COLL_SLOTS;
	m->pool_count = (uint32_t)(local_nodes * (2 * EMU_LINKS * slots + EMU_CLASSES * 2 +
						  EMU_INJECTIONS_ALL * EMU_INJECTION_SLOTS +
						  shape->t * LOST_EACH));
	m->active_words = (local_nodes + 63) / 64;
	m->node_bytes = round64(sizeof(struct live_node)) + emu_router_bytes();
	m->active_at = at;
	at += round64(m->active_words * 8);
	m->node_at = at;
	at += m->node_bytes * local_nodes;
	m->local_at = at;
	at += round64((size_t)m->nodes * 4);
	m->next_at = at;
	at += round64((size_t)m->pool_count * 4);
	m->pool_at = at;
	at += (uint64_t)m->pool_count * sizeof(struct emu_packet);
	m->bytes = at;
}

size_t emu_live_bytes(const struct emu_shape *shape, uint32_t local_nodes,
		      const struct emu_router_conf *conf)
{
	struct live_mem m;

	layout(&m, shape, local_nodes, conf);
	return m.bytes;
}

static void node_init(struct live_mem *m, struct live_node *n, const uint32_t *local, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(&m->route.shape, node, &x);
	n->node = node;
	n->here = emu_coord_word(&x);
	n->inbox = NIL;
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
	layout(m, shape, local_nodes, conf);
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
		struct live_node *n = (struct live_node *)((char *)mem + m->node_at + m->node_bytes * i);

		memset(n, 0, sizeof(*n));
		node_init(m, n, local, nodes[i]);
		emu_router_init(router_of(n), shape, nodes[i], conf, 0);
	}
	m->free_head = NIL;
	m->version = VERSION;
	__atomic_store_n(&m->magic, MAGIC, __ATOMIC_RELEASE);
	return 0;
}

struct emu_live *emu_live_open(void *mem, const struct emu_live_ops *ops, void *arg)
{
	struct live_mem *m = mem;
	struct emu_live *live;

	if (__atomic_load_n(&m->magic, __ATOMIC_ACQUIRE) != MAGIC || m->version != VERSION) {
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
	live->next = (uint32_t *)((char *)mem + m->next_at);
	live->active = (uint64_t *)((char *)mem + m->active_at);
	live->local = (uint32_t *)((char *)mem + m->local_at);
	return live;
}

void emu_live_close(struct emu_live *live)
{
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

	__atomic_store_n(&n->place[queue][place % EMU_INJECTION_SLOTS], 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&n->refused, __ATOMIC_SEQ_CST) &&
	    __atomic_exchange_n(&n->refused, 0, __ATOMIC_SEQ_CST) && live->ops.room)
		live->ops.room(live->arg, local);
}

/* Who took it is said with the taking: emu_live_reclaim(). -1: none is free. */
static int place_take(struct live_node *n, unsigned queue, uint32_t owner)
{
	for (int i = 0; i < EMU_INJECTION_SLOTS; i++) {
		uint32_t *place = &n->place[queue][i], nobody = 0;

		if (!__atomic_load_n(place, __ATOMIC_SEQ_CST) &&
		    __atomic_compare_exchange_n(place, &nobody, HELD(owner), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return i;
	}
	return -1;
}

int emu_live_alloc(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t *packet)
{
	struct live_node *n = node_of(live, local_node);
	int place = place_take(n, queue, live->owner);

	if (place < 0) {
		__atomic_store_n(&n->refused, 1, __ATOMIC_SEQ_CST);
		place = place_take(n, queue, live->owner); /* room came before `refused` was seen? */
		if (place < 0)
			return -EAGAIN;
	}
	*packet = pool_get(live);
	if (*packet == NIL) { /* more packets lost than a dead process can hold */
		place_release(live, local_node, queue, (unsigned)place);
		return -EAGAIN;
	}
	memset(&live->pool[*packet], 0, 64);
	live->pool[*packet].route.flags = (uint8_t)place;
	return 0;
}

void emu_live_cancel(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t packet)
{
	unsigned place = live->pool[packet].route.flags;

	pool_put(live, packet);
	place_release(live, local_node, queue, place);
}

static int coll_bad(const struct emu_packet *p)
{
	unsigned op = p->hdr.NetworkHeader.collective.Byte1.Byte1;

	return p->bytes > sizeof(p->payload) || !emu_combine_valid(op & 0xf0, op & 15, p->bytes);
}

int emu_live_inject(struct emu_live *live, uint32_t local_node, unsigned queue, uint32_t packet)
{
	struct emu_packet *p = &live->pool[packet];
	MUHWI_Pt2PtNetworkHeader_t *h = &p->hdr.NetworkHeader.pt2pt;
	unsigned vc = emu_vc_start(h), hints;

	if (h->Data_Packet_Type == MUHWI_COLLECTIVE_DATA_PACKET_TYPE) {
		if (coll_bad(p) || queue != EMU_INJECTIONS + route_of(&p->hdr)) {
			emu_live_cancel(live, local_node, queue, packet);
			return -EINVAL;
		}
		p->route.ready = 0;
		p->route.in = (uint8_t)(EMU_LINKS + queue);
		inbox_push(live, local_node, packet);
		return 0;
	}
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

/* A packet that came in from injection has left its place. */
static void place_left(struct live_step *s, unsigned in, unsigned place)
{
	if (in >= EMU_LINKS && in < EMU_LINKS + EMU_INJECTIONS_ALL)
		place_release(s->live, s->local, in - EMU_LINKS, place);
}

static void op_send(void *arg, uint32_t node, unsigned link, unsigned vc, uint32_t packet, uint64_t now)
{
	struct live_step *s = arg;
	struct live_node *n = s->n;
	struct emu_packet *p = &s->live->pool[packet];
	unsigned in = p->route.in, place = p->route.flags;

	if (n->remote >> link & 1) { /* flush_remote() takes it from here, in order */
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
	place_left(s, in, place);
}

static int op_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t now)
{
	struct live_step *s = arg;
	unsigned in = s->live->pool[packet].route.in, place = s->live->pool[packet].route.flags;
	int rc = s->live->ops.deliver(s->live->arg, s->local, &s->live->pool[packet]);

	if (rc == -EAGAIN)
		return rc;
	if (rc) /* it will never be taken: drop it */
		__atomic_fetch_add(&s->live->mem->bad, 1, __ATOMIC_RELAXED);
	pool_put(s->live, packet);
	place_left(s, in, place);
	return 0;
}

static void op_credit(void *arg, uint32_t node, unsigned link, unsigned vc, uint64_t now)
{
	struct live_step *s = arg;
	int coll = vc >= EMU_VCS;
	uint64_t one = credit_of(vc);

	if (!(s->n->remote >> link & 1))
		credit_add(s->live, s->n->peer[link], emu_link_opposite(link), one, coll);
	else if (coll)
		s->n->coll_owed[link] += one;
	else
		s->n->owed[link] += one;
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
	place_left(s, in, place);
}

static void op_gi(void *arg, uint32_t node, unsigned link, unsigned route, unsigned bits, uint64_t now)
{
	struct live_step *s = arg;

	if (s->n->remote >> link & 1) {
		s->n->told[link][route] = (uint8_t)(NEW | bits);
		s->n->to_tell[link] |= (uint16_t)(1u << route);
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

static void tell_signals(struct live_step *s, unsigned link)
{
	struct live_node *n = s->n;

	for (unsigned m = n->to_tell[link]; m; m &= m - 1) {
		unsigned route = (unsigned)__builtin_ctz(m);

		if (s->live->ops.gi_remote(s->live->arg, s->local, link, route, n->told[link][route] & 7))
			return;
		n->to_tell[link] &= (uint16_t)~(1u << route);
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

			if (live->ops.send_remote(live->arg, s->local, l, p->route.vc, p))
				break;
			n->out_head[l] = p->route.next;
			if (n->out_head[l] == NIL)
				n->out_tail[l] = NIL;
			if (n->lost >> l & 1)
				credit_add(live, s->local, l, credit_of(p->route.vc), p->route.vc >= EMU_VCS);
			pool_put(live, i);
		}
		if (n->owed[l] && !live->ops.credit_remote(live->arg, s->local, l, n->owed[l]))
			n->owed[l] = 0;
		if (n->coll_owed[l] && !live->ops.coll_credit_remote(live->arg, s->local, l, n->coll_owed[l]))
			n->coll_owed[l] = 0;
		if (n->to_tell[l])
			tell_signals(s, l);
	}
}

static void take_signals(struct live_step *s)
{
	struct emu_router *r = router_of(s->n);

	for (unsigned from = 0; from <= EMU_LINKS; from++)
		for (unsigned route = 0; route < EMU_CLASSES; route++) {
			uint8_t *word = &s->n->signal[from][route], v;

			if (!__atomic_load_n(word, __ATOMIC_RELAXED))
				continue;
			v = __atomic_exchange_n(word, 0, __ATOMIC_SEQ_CST);
			if (from < EMU_LINKS)
				emu_router_gi_arrive(r, from, route, v & 7, 0, &step_ops, s);
			else
				emu_router_gi(r, route, v & 7, 0, &step_ops, s);
		}
}

static void take_credits(struct live_step *s)
{
	struct live_node *n = s->n;
	uint32_t flags = 0;

	if (__atomic_load_n(&n->flags, __ATOMIC_RELAXED))
		flags = __atomic_exchange_n(&n->flags, 0, __ATOMIC_SEQ_CST) & ~KICK;
	if (flags & SIGNALS)
		take_signals(s);
	for (flags &= ~SIGNALS; flags; flags &= flags - 1) {
		unsigned l = (unsigned)__builtin_ctz(flags);
		uint64_t credits = __atomic_exchange_n(&n->credit[l], 0, __ATOMIC_SEQ_CST);

		for (unsigned vc = 0; vc < EMU_VCS; vc++)
			for (unsigned k = credits >> (16 * vc) & 0xffff; k; k--)
				emu_router_credit(router_of(n), l, vc);
		if (__atomic_load_n(&n->coll_credit[l], __ATOMIC_RELAXED))
			credits = __atomic_exchange_n(&n->coll_credit[l], 0, __ATOMIC_SEQ_CST);
		else
			continue;
		for (unsigned route = 0; route < EMU_CLASSES && credits >> (4 * route); route++)
			for (unsigned k = credits >> (4 * route) & 15; k; k--)
				emu_router_credit(router_of(n), l, EMU_VCS + route);
	}
}

/* T1: everything pushed so far, oldest first. */
static uint32_t inbox_take(struct emu_live *live, struct live_node *n)
{
	uint32_t i, oldest = NIL;

	if (__atomic_load_n(&n->inbox, __ATOMIC_RELAXED) == NIL)
		return NIL;
	i = __atomic_exchange_n(&n->inbox, NIL, __ATOMIC_SEQ_CST);
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

	for (uint32_t i = inbox_take(live, s->n), next; i != NIL; i = next) {
		struct emu_packet *p = &live->pool[i];
		int rc;

		next = p->route.next;
		if (p->route.in < EMU_LINKS) {
			rc = emu_router_arrive(r, live->pool, p->route.in, p->route.vc, i);
		} else {
			__atomic_store_n(&s->n->place[p->route.in - EMU_LINKS][p->route.flags % EMU_INJECTION_SLOTS],
					 IN_ROUTER, __ATOMIC_RELAXED);
			rc = emu_router_inject(r, live->pool, p->route.in - EMU_LINKS, i);
		}
		if (rc) { /* a sender on another host without a credit, or who wrote into our memory */
			__atomic_fetch_add(&live->mem->bad, 1, __ATOMIC_RELAXED);
			place_left(s, p->route.in, p->route.flags);
			pool_put(live, i);
		}
	}
}

/* Step a router until nothing new has come, within reason. Returns 0 if another process is at it. */
static int step_node(struct emu_live *live, uint32_t local)
{
	struct live_step s = {live, node_of(live, local), local};
	struct live_node *n = s.n;
	uint64_t bit = 1ull << (local % 64);
	int rounds = 0;

	if (__atomic_load_n(&n->lock, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&n->lock, 1, __ATOMIC_ACQUIRE))
		return 0;
	__atomic_fetch_and(&live->active[local / 64], ~bit, __ATOMIC_SEQ_CST);
	do {
		take_credits(&s);
		take_inbox(&s);
		emu_router_step(router_of(n), live->pool, 0, &step_ops, &s);
		if (n->remote)
			flush_remote(&s);
		uint32_t wants = emu_router_wanted(router_of(n));
		if (wants != __atomic_load_n(&n->wants, __ATOMIC_RELAXED))
			__atomic_store_n(&n->wants, wants, __ATOMIC_SEQ_CST);
	} while (pending(n) && ++rounds < ROUNDS);
	__atomic_store_n(&n->lock, 0, __ATOMIC_SEQ_CST);
	if (pending(n))
		activate(live, local);
	return 1;
}

int emu_live_poll(struct emu_live *live, int budget)
{
	uint32_t words = live->mem->active_words;
	int steps = 0, moved = 1;

	while (moved && steps < budget) {
		moved = 0;
		for (uint32_t k = 0; k < words; k++) {
			uint32_t w = live->start + k < words ? live->start + k : live->start + k - words;
			uint64_t bits = __atomic_load_n(&live->active[w], __ATOMIC_ACQUIRE);

			for (; bits; bits &= bits - 1)
				moved += step_node(live, w * 64 + (uint32_t)__builtin_ctzll(bits));
		}
		steps += moved;
	}
	if (words > 1 && ++live->start == words)
		live->start = 0;
	return steps;
}

int emu_live_busy(const struct emu_live *live)
{
	for (uint32_t w = 0; w < live->mem->active_words; w++)
		if (__atomic_load_n(&live->active[w], __ATOMIC_SEQ_CST))
			return 1;
	return 0;
}

void emu_live_kick(struct emu_live *live, uint32_t local_node)
{
	set_flag(live, local_node, KICK);
}

void emu_live_owner(struct emu_live *live, uint32_t owner)
{
	live->owner = owner;
}

void emu_live_reclaim(struct emu_live *live, uint32_t local_node, uint32_t owner)
{
	struct live_node *n = node_of(live, local_node);

	emu_live_kick(live, local_node); /* it may have died before it said that it put something there */
	step_node(live, local_node);     /* what it had handed over leaves the inbox */
	for (unsigned q = 0; q < EMU_INJECTIONS_ALL; q++)
		for (unsigned i = 0; i < EMU_INJECTION_SLOTS; i++)
			if (__atomic_load_n(&n->place[q][i], __ATOMIC_SEQ_CST) == HELD(owner))
				place_release(live, local_node, q, i);
}

void emu_live_link_lost(struct emu_live *live, uint32_t local_node, unsigned link)
{
	struct live_node *n = node_of(live, local_node);
	uint64_t all = 0, coll = 0;

	n->lost |= 1u << link;
	/* What the neighbour had: more than the slots there are does no harm. */
	for (unsigned v = 0; v < EMU_VCS; v++)
		all |= (uint64_t)live->mem->slots[v] << (16 * v);
	for (unsigned r = 0; r < EMU_CLASSES; r++)
		coll |= (uint64_t)COLL_SLOTS << (4 * r);
	__atomic_store_n(&n->credit[link], all, __ATOMIC_SEQ_CST);
	__atomic_store_n(&n->coll_credit[link], coll, __ATOMIC_SEQ_CST);
	set_flag(live, local_node, 1u << link | KICK);
}

/* ---- class routes ---- */

static int program(struct emu_live *live, uint32_t local_node, unsigned route, const ClassRoute_t *c, int pass, int gi)
{
	struct live_node *n = node_of(live, local_node);
	struct emu_router *r = router_of(n);
	int rc;

	if (__atomic_exchange_n(&n->lock, 1, __ATOMIC_ACQUIRE))
		return -EAGAIN;
	rc = gi ? emu_router_gi_set(r, route, c) : emu_router_class_set(r, route, c, pass);
	__atomic_store_n(&n->lock, 0, __ATOMIC_SEQ_CST);
	if (pending(n))
		activate(live, local_node);
	return rc;
}

int emu_live_class_set(struct emu_live *live, uint32_t local_node, unsigned route, const ClassRoute_t *c, int pass)
{
	return program(live, local_node, route, c, pass, 0);
}

int emu_live_gi_set(struct emu_live *live, uint32_t local_node, unsigned route, const ClassRoute_t *c)
{
	return program(live, local_node, route, c, 0, 1);
}

int emu_live_class_preset(struct emu_live *live, uint32_t local_node, unsigned route, const ClassRoute_t *c,
			  unsigned bits)
{
	struct emu_router *r = router_of(node_of(live, local_node));
	int rc = emu_router_class_set(r, route, c, 0);

	rc = rc ? rc : emu_router_gi_set(r, route, c);
	if (!rc)
		emu_router_gi_preset(r, route, bits);
	return rc;
}

void emu_live_gi(struct emu_live *live, uint32_t local_node, unsigned route, unsigned bits)
{
	if (route < EMU_CLASSES)
		signal_put(live, local_node, EMU_LINKS, route, bits & 7);
}

/* ---- counters ---- */

void emu_live_link_stat(const struct emu_live *live, uint32_t local_node, unsigned link,
			struct emu_link_stat *stat)
{
	const struct emu_link_stat *from =
	    emu_router_link_stat(router_of(node_of(live, local_node)), link);

	stat->packets = __atomic_load_n(&from->packets, __ATOMIC_RELAXED);
	stat->bytes = __atomic_load_n(&from->bytes, __ATOMIC_RELAXED);
	stat->stalls = __atomic_load_n(&from->stalls, __ATOMIC_RELAXED);
	stat->queued_max = __atomic_load_n(&from->queued_max, __ATOMIC_RELAXED);
}

uint64_t emu_live_bad(const struct emu_live *live)
{
	return __atomic_load_n(&live->mem->bad, __ATOMIC_RELAXED);
}
