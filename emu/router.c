/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot: one call of step for each arrival, credit and link that falls free. Everything that waits is
 * a bit in a word, so an idle router costs a few loads and one packet about 50 ns:
 *
 *   fresh      queues with a new head nobody has looked at
 *   unready    queues whose head is ready later
 *   local      queues whose head is for this node
 *   request[link][vc]  queues whose head may leave there; wanted: links with any
 *
 * A head is looked at once (look) and leaves its requests; links pick among them (pick).
 */
#include "emu/router.h"

#include <errno.h>
#include <string.h>

#include "emu/router_state.h"

size_t emu_router_bytes(void)
{
	return sizeof(struct emu_router);
}

void emu_router_init(struct emu_router *r, const struct emu_shape *shape, uint32_t node,
		     const struct emu_router_conf *conf, uint32_t ps_per_byte)
{
	struct emu_coord x;

	memset(r, 0, sizeof(*r));
	emu_route_init(&r->route, shape);
	emu_node_coord(shape, node, &x);
	r->here = emu_coord_word(&x);
	r->node = node;
	r->ps_per_byte = ps_per_byte;
	r->no_bubble = conf ? conf->test_no_bubble : 0;
	for (int v = 0; v < EMU_VCS; v++) {
		unsigned n = conf && conf->slots[v] ? conf->slots[v] : EMU_VC_SLOTS_DEFAULT;

		r->slots[v] = (uint16_t)(n < EMU_VC_SLOTS_MIN ? EMU_VC_SLOTS_MIN : n);
	}
	for (int l = 0; l < EMU_LINKS; l++)
		memcpy(r->link[l].credits, r->slots, sizeof(r->slots));
	r->credit0 = (1u << EMU_LINKS) - 1;
	emu_coll_init(r, conf);
}

/* ---- queues ---- */

static void push(struct emu_router *r, struct emu_packet *pool, unsigned q, uint32_t packet)
{
	struct queue *k = queue_of(r, q);

	pool[packet].route.next = EMU_NO_PACKET;
	++*count_of(r, q);
	if (r->occupied & bit(q)) {
		pool[k->tail].route.next = packet;
		k->tail = packet;
		return;
	}
	k->head = k->tail = packet;
	r->occupied |= bit(q);
	r->fresh |= bit(q);
}

static void pop(struct emu_router *r, unsigned q, uint32_t next)
{
	queue_of(r, q)->head = next;
	if (--*count_of(r, q))
		r->fresh |= bit(q);
	else
		r->occupied &= ~bit(q);
}

int emu_router_inject(struct emu_router *r, struct emu_packet *pool, unsigned queue, uint32_t packet)
{
	struct emu_packet *p = &pool[packet];
	MUHWI_Pt2PtNetworkHeader_t *h = &p->hdr.NetworkHeader.pt2pt;
	unsigned hints, vc = emu_vc_start(h);
	int rc;

	if (h->Data_Packet_Type == MUHWI_COLLECTIVE_DATA_PACKET_TYPE)
		return emu_coll_inject(r, pool, packet);
	if (queue >= EMU_INJECTIONS || vc >= EMU_VCS || p->bytes > sizeof(p->payload))
		return -EINVAL;
	if (r->injections[queue] >= EMU_INJECTION_SLOTS)
		return -EAGAIN;
	rc = emu_route_hints(&r->route, r->here, h->Destination.Destination.Destination,
			     emu_hints_get(h), &hints);
	if (rc)
		return rc;
	/* Along one line only: at a corner it would not be clear who receives it. */
	if (h->Byte2.Byte2 & MUHWI_PACKET_DEPOSIT && (vc == EMU_VC_DYNAMIC || hints & (hints - 1)))
		return -EINVAL;
	emu_hints_set(h, hints);
	p->route.hops = 0;
	p->route.vc = (uint8_t)vc;
	p->route.in = (uint8_t)(EMU_LINKS + queue);
	p->route.source = r->node;
	p->route.sequence = r->sequence++;
	push(r, pool, FROM_LINKS + queue, packet);
	return 0;
}

int emu_router_arrive(struct emu_router *r, struct emu_packet *pool, unsigned link, unsigned vc,
		      uint32_t packet)
{
	struct link *in = &r->link[link];

	if (link < EMU_LINKS && vc >= EMU_VCS && vc < EMU_CHANNELS)
		return emu_coll_arrive(r, pool, link, vc - EMU_VCS, packet);
	if (link >= EMU_LINKS || vc >= EMU_VCS)
		return -EINVAL;
	if (in->count[vc] >= r->slots[vc])
		return -EPROTO;
	pool[packet].route.vc = (uint8_t)vc;
	pool[packet].route.in = (uint8_t)link;
	push(r, pool, link * EMU_VCS + vc, packet);
	if (++in->waiting > in->stat.queued_max)
		stat_add(&in->stat.queued_max, 1);
	return 0;
}

int emu_router_credit(struct emu_router *r, unsigned link, unsigned vc)
{
	uint16_t *credits = &r->link[link].credits[vc < EMU_VCS ? vc : 0];

	if (vc >= EMU_VCS)
		return emu_coll_credit(r, link, vc - EMU_VCS);
	if (*credits < r->slots[vc]) /* more than there are slots: a broken neighbour */
		++*credits;
	if (vc == EMU_VC_DYNAMIC)
		r->credit0 |= (uint16_t)(1u << link);
	return r->wanted >> link & 1;
}

/* ---- one step ---- */

static void ask(struct emu_router *r, unsigned link, unsigned vc, unsigned q)
{
	r->link[link].request[vc] |= bit(q);
	r->wanted |= (uint16_t)(1u << link);
}

/* A new head: see where it wants to go. */
static void look(struct step *s, unsigned q)
{
	struct emu_router *r = s->r;
	const struct emu_packet *p = &s->pool[queue_of(r, q)->head];
	const MUHWI_Pt2PtNetworkHeader_t *h = &p->hdr.NetworkHeader.pt2pt;
	unsigned undone, hints, next;

	if (p->route.ready > s->now) {
		r->unready |= bit(q);
		return;
	}
	undone = emu_route_undone(r->here, h->Destination.Destination.Destination);
	if (!undone || (h->Byte2.Byte2 & MUHWI_PACKET_DEPOSIT && q < FROM_LINKS && !(r->deposited & bit(q)))) {
		r->local |= bit(q);
		return;
	}
	hints = emu_hints_get(h);
	next = emu_route_next(&r->route, undone, hints);
	if (!emu_vc_is_dynamic(h, p->route.vc)) {
		ask(r, next, p->route.vc, q);
		return;
	}
	unsigned links = emu_route_candidates(&r->route, h->Byte3.Byte3 >> 3 & 3, undone, hints);
	r->want[q] = (uint16_t)(links | next << 12);
	r->dynamic |= bit(q);
	for (; links; links &= links - 1)
		ask(r, (unsigned)__builtin_ctz(links), EMU_VC_DYNAMIC, q);
	ask(r, next, EMU_VC_BUBBLE, q);
}

static void retract(struct emu_router *r, unsigned link, unsigned vc, unsigned q)
{
	uint64_t *k = r->link[link].request;

	k[vc] &= ~bit(q);
	if (!(k[0] | k[1] | k[2] | k[3]))
		r->wanted &= (uint16_t)~(1u << link);
}

/* The queue's head leaves: give its slot back to the neighbour it came from. */
static void freed(struct step *s, unsigned q)
{
	if (q >= FROM_LINKS)
		return;
	s->r->link[q / EMU_VCS].waiting--;
	s->ops->credit(s->arg, s->r->node, q / EMU_VCS, q % EMU_VCS, s->now);
}

static void send(struct step *s, unsigned q, unsigned link, unsigned vc)
{
	struct emu_router *r = s->r;
	struct link *out = &r->link[link];
	uint32_t packet = queue_of(r, q)->head;
	struct emu_packet *p = &s->pool[packet];
	uint32_t bytes = emu_packet_wire_bytes(p);

	if (r->dynamic & bit(q)) {
		r->dynamic &= ~bit(q);
		for (unsigned links = r->want[q] & 0xfff; links; links &= links - 1)
			retract(r, (unsigned)__builtin_ctz(links), EMU_VC_DYNAMIC, q);
		retract(r, r->want[q] >> 12, EMU_VC_BUBBLE, q);
	} else {
		retract(r, link, vc, q);
	}
	r->deposited &= ~bit(q);
	pop(r, q, p->route.next);
	if (!--out->credits[vc] && vc == EMU_VC_DYNAMIC)
		r->credit0 &= (uint16_t)~(1u << link);
	out->free_at = s->now + (uint64_t)bytes * r->ps_per_byte;
	r->coll.last &= (uint16_t)~(1u << link);
	stat_add(&out->stat.packets, 1);
	stat_add(&out->stat.bytes, bytes);
	p->route.hops++;
	s->ops->send(s->arg, r->node, link, vc, packet, s->now);
	freed(s, q);
}

/* Those of the queues that may use the link's channel vc with its present credits: the bubble rule. */
static uint64_t allowed(const struct emu_router *r, unsigned link, unsigned vc)
{
	unsigned credits = r->link[link].credits[vc];

	if (credits == 0)
		return 0;
	if (credits > 1 || vc == EMU_VC_DYNAMIC || !(r->route.rings >> emu_link_dim(link) & 1) ||
	    r->no_bubble)
		return ~0ull;
	return bit(emu_link_opposite(link) * EMU_VCS + vc); /* straight on only */
}

/* Dynamic heads among `queues` escape only if no VC 0 link they may take has a credit. */
static uint64_t escaping(const struct emu_router *r, uint64_t queues)
{
	for (uint64_t e = queues & r->dynamic; e; e &= e - 1)
		if (r->want[__builtin_ctzll(e)] & r->credit0)
			queues &= ~(e & -e);
	return queues;
}

static unsigned round_robin(uint64_t queues, uint8_t *turn)
{
	uint64_t after = queues & (~1ull << *turn);

	*turn = (uint8_t)__builtin_ctzll(after ? after : queues);
	return *turn;
}

/* One of the queues: 15 from links to one from injection, if both wait. */
static unsigned choose(struct emu_router *r, unsigned link, uint64_t queues)
{
	uint64_t through = queues & THROUGH, injection = queues & ~THROUGH;
	struct link *out = &r->link[link];

	if (through && (!injection || out->share < SHARE)) {
		out->share = (uint8_t)(injection ? out->share + 1 : 0);
		return round_robin(through, &out->turn[0]);
	}
	out->share = 0;
	return round_robin(injection, &out->turn[1]);
}

/* The free link, among those the dynamic head may take, with most credits (spec/mu.md 6.3: assumed). */
static unsigned least_loaded(struct step *s, unsigned q, unsigned link)
{
	struct emu_router *r = s->r;

	for (unsigned links = r->want[q] & r->credit0; links; links &= links - 1) {
		unsigned l = (unsigned)__builtin_ctz(links);

		if (r->link[l].free_at <= s->now &&
		    r->link[l].credits[EMU_VC_DYNAMIC] > r->link[link].credits[EMU_VC_DYNAMIC])
			link = l;
	}
	return link;
}

/* Send one packet that wants the free link (a dynamic one perhaps over another); 0: none may go. */
static int pick(struct step *s, unsigned link)
{
	static const uint8_t first[] = {EMU_VC_HIGH, EMU_VC_SYSTEM};
	struct emu_router *r = s->r;
	uint64_t on0, on1;
	unsigned q;

	for (unsigned i = 0; i < sizeof(first); i++) {
		uint64_t queues = r->link[link].request[first[i]];

		if (queues && (queues &= allowed(r, link, first[i]))) {
			send(s, choose(r, link, queues), link, first[i]);
			return 1;
		}
	}
	on0 = r->link[link].request[EMU_VC_DYNAMIC] & allowed(r, link, EMU_VC_DYNAMIC);
	on1 = escaping(r, r->link[link].request[EMU_VC_BUBBLE] & allowed(r, link, EMU_VC_BUBBLE));
	if (!(on0 | on1))
		return 0;
	q = choose(r, link, on0 | on1);
	if (on0 & bit(q))
		send(s, q, least_loaded(s, q, link), EMU_VC_DYNAMIC);
	else
		send(s, q, link, EMU_VC_BUBBLE);
	return 1;
}

/* A packet on its way along a line is received here too, as a copy. */
static void deposit(struct step *s, unsigned q, uint32_t packet)
{
	struct emu_router *r = s->r;
	uint32_t copy = s->ops->copy(s->arg, r->node, packet);

	if (copy == EMU_NO_PACKET) {
		s->starved = 1;
	} else if (s->ops->deliver(s->arg, r->node, copy, s->now)) {
		s->ops->drop(s->arg, r->node, copy);
	} else {
		r->local &= ~bit(q);
		r->deposited |= bit(q);
		r->fresh |= bit(q);
	}
}

/* Hand the heads for this node over; one that is refused stays and blocks its own queue only. */
static void deliver(struct step *s)
{
	struct emu_router *r = s->r;

	for (uint64_t todo = r->local; todo; todo &= todo - 1) {
		unsigned q = (unsigned)__builtin_ctzll(todo);
		uint32_t packet = queue_of(r, q)->head, next = s->pool[packet].route.next;

		if (emu_route_undone(r->here,
				     s->pool[packet].hdr.NetworkHeader.pt2pt.Destination.Destination.Destination)) {
			deposit(s, q, packet);
			continue;
		}
		if (s->ops->deliver(s->arg, r->node, packet, s->now))
			continue;
		r->local &= ~bit(q); /* the packet is the caller's again: do not touch it */
		pop(r, q, next);
		freed(s, q);
	}
}

/* Let each free link take what it can. Returns true if a packet left. */
static int serve(struct step *s)
{
	struct emu_router *r = s->r;
	int sent = 0;

	for (unsigned links = r->wanted; links; links &= links - 1) {
		unsigned l = (unsigned)__builtin_ctz(links);
		int any = 0;

		while (r->link[l].free_at <= s->now && r->wanted >> l & 1 && pick(s, l))
			any = 1;
		sent |= any;
	}
	return sent;
}

static uint64_t next_time(struct step *s)
{
	struct emu_router *r = s->r;
	uint64_t t = s->starved ? s->now + STARVED_PS : UINT64_MAX;

	for (uint64_t u = r->unready; u; u &= u - 1) {
		uint64_t ready = s->pool[queue_of(r, (unsigned)__builtin_ctzll(u))->head].route.ready;

		t = ready < t ? ready : t;
	}
	for (unsigned links = r->wanted; links; links &= links - 1) {
		unsigned l = (unsigned)__builtin_ctz(links);

		struct link *out = &r->link[l];

		if (out->free_at > s->now)
			t = out->free_at < t ? out->free_at : t;
		else
			stat_add(&out->stat.stalls, 1);
	}
	return t;
}

uint64_t emu_router_step(struct emu_router *r, struct emu_packet *pool, uint64_t now,
			 const struct emu_router_ops *ops, void *arg)
{
	struct step s = {r, pool, now, ops, arg, 0};

	r->fresh |= r->unready;
	r->unready = 0;
	if (r->local)
		deliver(&s); /* refused before */
	do {
		uint64_t before = r->local;

		for (; r->fresh; r->fresh &= r->fresh - 1)
			look(&s, (unsigned)__builtin_ctzll(r->fresh));
		if (r->local & ~before)
			deliver(&s);
		if (r->coll.busy)
			emu_coll_step(&s, 1);
	} while (serve(&s) || r->fresh);
	if (!r->coll.busy)
		return next_time(&s);
	emu_coll_step(&s, 0);
	uint64_t next = next_time(&s);
	return next < r->coll.next ? next : r->coll.next;
}

void emu_router_prefetch(const struct emu_router *r, unsigned link)
{
	__builtin_prefetch(r, 1);
	__builtin_prefetch((const char *)r + 64, 1);
	if (link >= EMU_LINKS)
		return;
	__builtin_prefetch(&r->link[link], 1);
	__builtin_prefetch(r->link[link].queue, 1);
}

int emu_router_busy(const struct emu_router *r)
{
	return r->occupied || r->coll.busy;
}

unsigned emu_router_wanted(const struct emu_router *r)
{
	return r->wanted | r->coll.wanted;
}

const struct emu_link_stat *emu_router_link_stat(const struct emu_router *r, unsigned link)
{
	return &r->link[link].stat;
}
