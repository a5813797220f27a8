/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot: one step runs for each arrival, credit and link that falls free. Everything that waits is a
 * bit in a word, so an idle router costs a few loads, and one packet about 50 ns:
 *
 *   new_heads  queues with a head that has not been routed yet
 *   unready    queues whose head becomes ready later
 *   local      queues whose head is for this node
 *   request[link][vc]  queues whose head may leave there; wanted: links with any request
 *
 * head_route() looks at a new head once and sets its requests. link_send_one() picks among them.
 */
#include "emu/router.h"

#include <assert.h>
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
	emu_route_init_as(&r->route, shape, conf ? &conf->routing : NULL);
	emu_node_coord(shape, node, &x);
	r->here = emu_coord_word(&x);
	r->node = node;
	r->ps_per_byte = ps_per_byte;
	r->no_bubble = conf ? conf->test_no_bubble : 0;
	r->link_errors = conf ? conf->link_errors : 0;
	r->link_error_ps = conf ? conf->link_error_ps : 0;
	r->seed = conf ? conf->seed : 0;
	r->sums = conf ? conf->link_sums : 0;
	r->share = conf && conf->has_share ? conf->share : SHARE;
	r->injection_slots =
	    conf && conf->injection_slots && conf->injection_slots < EMU_INJECTION_SLOTS
		? conf->injection_slots
		: EMU_INJECTION_SLOTS;
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

static void push_packet(struct emu_router *r, struct emu_packet *pool, unsigned q, uint32_t packet)
{
	struct queue *k = queue_of(r, q);

	pool[packet].route.next = EMU_NO_PACKET;
	++*count_of(r, q);
	if (r->occupied & queue_bit(q)) {
		pool[k->tail].route.next = packet;
		k->tail = packet;
		return;
	}
	k->head = k->tail = packet;
	r->occupied |= queue_bit(q);
	r->new_heads |= queue_bit(q);
}

static void pop_packet(struct emu_router *r, unsigned q, uint32_t next)
{
	assert(*count_of(r, q) > 0);
	queue_of(r, q)->head = next;
	if (--*count_of(r, q))
		r->new_heads |= queue_bit(q);
	else
		r->occupied &= ~queue_bit(q);
}

int emu_router_inject(struct emu_router *r, struct emu_packet *pool, unsigned queue,
		      uint32_t packet)
{
	struct emu_packet *p = &pool[packet];
	MUHWI_Pt2PtNetworkHeader_t *h = &p->hdr.NetworkHeader.pt2pt;
	unsigned hints, vc = emu_vc_start(h);
	int rc;

	if (h->Data_Packet_Type == MUHWI_COLLECTIVE_DATA_PACKET_TYPE)
		return emu_coll_inject(r, pool, packet);
	if (queue >= EMU_INJECTIONS || vc >= EMU_VCS || p->bytes > sizeof(p->payload))
		return -EINVAL;
	if (r->injections[queue] >= r->injection_slots)
		return -EAGAIN;
	rc = emu_route_hints(&r->route, r->here, h->Destination.Destination.Destination,
			     emu_hints_get(h), &hints);
	if (rc)
		return rc;
	/* A deposited packet travels along one line only: no rule says which nodes receive it at a
	 * corner. */
	if (h->Byte2.Byte2 & MUHWI_PACKET_DEPOSIT && (vc == EMU_VC_DYNAMIC || hints & (hints - 1)))
		return -EINVAL;
	emu_hints_set(h, hints);
	p->route.hops = 0;
	p->route.vc = (uint8_t)vc;
	p->route.in = (uint8_t)(EMU_LINKS + queue);
	p->route.source = r->node;
	p->route.sequence = r->sequence++;
	push_packet(r, pool, FROM_LINKS + queue, packet);
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
	if (__builtin_expect(r->sums, 0))
		emu_link_sum_add(&r->sum[link].received, &pool[packet]);
	push_packet(r, pool, link * EMU_VCS + vc, packet);
	if (++in->waiting > in->stat.queued_max)
		stat_count(&in->stat.queued_max);
	return 0;
}

int emu_router_credit(struct emu_router *r, unsigned link, unsigned vc)
{
	uint16_t *credits = &r->link[link].credits[vc < EMU_VCS ? vc : 0];

	if (vc >= EMU_VCS)
		return emu_coll_credit(r, link, vc - EMU_VCS);
	if (*credits < r->slots[vc]) /* a broken neighbour may return more than there are slots */
		++*credits;
	if (vc == EMU_VC_DYNAMIC)
		r->credit0 |= (uint16_t)(1u << link);
	return r->wanted >> link & 1;
}

/* ---- one step ---- */

static void link_request(struct emu_router *r, unsigned link, unsigned vc, unsigned q)
{
	r->link[link].request[vc] |= queue_bit(q);
	r->wanted |= (uint16_t)(1u << link);
}

/*
 * Look up the address of a packet. Returns true if that takes time, for which the head then waits.
 */
static bool head_address(struct step *s, unsigned q)
{
	uint32_t packet = queue_of(s->r, q)->head;
	uint64_t takes = s->ops->address(s->arg, s->r->node, packet, s->now);

	if (!takes)
		return false;
	s->pool[packet].route.ready = s->now + takes;
	s->r->unready |= queue_bit(q);
	return true;
}

/* Set the requests of a new head: the links it may take, or local delivery. */
static void head_route(struct step *s, unsigned q)
{
	struct emu_router *r = s->r;
	const struct emu_packet *p = &s->pool[queue_of(r, q)->head];
	const MUHWI_Pt2PtNetworkHeader_t *h = &p->hdr.NetworkHeader.pt2pt;
	unsigned undone, hints, next;

	if (p->route.ready > s->now) {
		r->unready |= queue_bit(q);
		return;
	}
	if (__builtin_expect(h->Byte3.Byte3 & MUHWI_PACKET_ADDRESSED, 0) && s->ops->address &&
	    head_address(s, q))
		return;
	undone = emu_route_undone(r->here, h->Destination.Destination.Destination);
	if (!undone || (h->Byte2.Byte2 & MUHWI_PACKET_DEPOSIT && q < FROM_LINKS &&
			!(r->deposited & queue_bit(q)))) {
		r->local |= queue_bit(q);
		return;
	}
	hints = emu_hints_get(h);
	next = emu_route_next(&r->route, undone, hints);
	if (!emu_vc_is_dynamic(h, p->route.vc)) {
		link_request(r, next, p->route.vc, q);
		return;
	}
	unsigned links = emu_route_candidates(&r->route, h->Byte3.Byte3 >> 3 & 3, undone, hints);
	r->want[q] = (uint16_t)(links | next << 12);
	r->dynamic |= queue_bit(q);
	for (; links; links &= links - 1)
		link_request(r, (unsigned)__builtin_ctz(links), EMU_VC_DYNAMIC, q);
	link_request(r, next, EMU_VC_BUBBLE, q);
}

static void link_retract(struct emu_router *r, unsigned link, unsigned vc, unsigned q)
{
	uint64_t *k = r->link[link].request;

	k[vc] &= ~queue_bit(q);
	if (!(k[0] | k[1] | k[2] | k[3]))
		r->wanted &= (uint16_t) ~(1u << link);
}

/* Return the slot of a head that left to the neighbour it came from. */
static void slot_return(struct step *s, unsigned q)
{
	if (q >= FROM_LINKS)
		return;
	s->r->link[q / EMU_VCS].waiting--;
	s->ops->credit(s->arg, s->r->node, q / EMU_VCS, q % EMU_VCS, s->now);
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x >> 30;
	*x *= 0xbf58476d1ce4e5b9ull;
	*x ^= *x >> 27;
	*x *= 0x94d049bb133111ebull;
	*x ^= *x >> 31;
	return *x >> 32;
}

static uint64_t count_packets(const struct link_counts *k)
{
	uint64_t packets = 0;

	for (unsigned on = 0; on < EMU_ON_COUNT; on++)
		packets += k->on[on];
	return packets;
}

/*
 * The far end of the link finds a wrong checksum, and the link sends the packet again after its
 * time-out (docs/hardware.md 7). A packet that comes twice, or before the one ahead of it, is
 * refused by its number in the same way. Returns the time that costs before the packet that passes;
 * adds to *after what follows it.
 */
static uint64_t link_errors(struct emu_router *r, unsigned link, uint64_t serial_ps,
			    uint64_t *after)
{
	struct link *out = &r->link[link];
	uint64_t x = ((uint64_t)r->seed << 32 ^ (uint64_t)r->node << 4 ^ link) +
		     (count_packets(&out->stat) + out->stat.errors + 1) * 0x9e3779b97f4a7c15ull;
	uint32_t errors = r->link_errors + r->fault[link].f.errors;
	uint64_t lost = 0;

	errors = errors > 950000 ? 950000 : errors;
	while (next_random(&x) % 1000000u < errors) {
		stat_count(&out->stat.errors);
		lost += r->link_error_ps + serial_ps;
	}
	if (r->fault[link].f.dups && next_random(&x) % 1000000u < r->fault[link].f.dups) {
		stat_count(&out->stat.errors);
		*after += serial_ps;
	}
	return lost;
}

uint64_t emu_link_put(struct emu_router *r, unsigned link, uint32_t bytes, uint64_t now, bool errs)
{
	uint32_t slow = r->fault[link].f.ps_per_byte;
	uint64_t serial_ps = (uint64_t)bytes * (slow > r->ps_per_byte ? slow : r->ps_per_byte);
	uint64_t after = serial_ps, lost = errs ? link_errors(r, link, serial_ps, &after) : 0, sent;

	r->link[link].free_at = now + lost + after;
	if (!r->faulty)
		return now + lost;
	/* A delay that ends lets no packet overtake those that it held. */
	sent = now + lost + r->fault[link].f.delay_ps;
	sent = sent > r->fault[link].sent_ps ? sent : r->fault[link].sent_ps;
	r->fault[link].sent_ps = sent;
	return sent;
}

void emu_router_link_fault(struct emu_router *r, unsigned link, const struct emu_link_fault *f)
{
	r->fault[link].f = *f;
	r->faulty = 1;
}

uint64_t emu_router_link_free_at(const struct emu_router *r, unsigned link)
{
	return r->link[link].free_at;
}

void emu_link_sum_add(struct emu_link_end *end, const struct emu_packet *p)
{
	uint64_t sum = p->bytes, word[4];

	memcpy(word, &p->hdr, sizeof word);
	for (unsigned i = 0; i < 4; i++)
		sum = (sum ^ word[i]) * 0x9e3779b97f4a7c15ull;
	for (uint32_t at = 0; at < p->bytes; at += sizeof word[0]) {
		uint32_t left = p->bytes - at;

		word[0] = 0;
		memcpy(word, p->payload + at, left < sizeof word[0] ? left : sizeof word[0]);
		sum = (sum << 29 | sum >> 35) ^ word[0];
		sum *= 0x9e3779b97f4a7c15ull;
	}
	stat_add(&end->sum, sum);
	stat_add(&end->packets, 1);
}

const struct emu_link_sum *emu_router_link_sum(const struct emu_router *r, unsigned link)
{
	return &r->sum[link];
}

/* Return what a packet that leaves on channel vc is counted by. */
static unsigned choose_count(const struct emu_packet *p, unsigned vc)
{
	bool is_redirected =
	    vc == EMU_VC_SYSTEM && p->hdr.NetworkHeader.pt2pt.Byte3.Byte3 & MUHWI_PACKET_ADDRESSED;

	return is_redirected ? EMU_ON_REDIRECT : vc;
}

static void send_packet(struct step *s, unsigned q, unsigned link, unsigned vc)
{
	struct emu_router *r = s->r;
	struct link *out = &r->link[link];
	uint32_t packet = queue_of(r, q)->head;
	struct emu_packet *p = &s->pool[packet];
	uint32_t bytes = emu_packet_wire_bytes(p);
	uint64_t leaves = s->now;

	if (r->dynamic & queue_bit(q)) {
		r->dynamic &= ~queue_bit(q);
		for (unsigned links = r->want[q] & 0xfff; links; links &= links - 1)
			link_retract(r, (unsigned)__builtin_ctz(links), EMU_VC_DYNAMIC, q);
		link_retract(r, r->want[q] >> 12, EMU_VC_BUBBLE, q);
	} else {
		link_retract(r, link, vc, q);
	}
	r->deposited &= ~queue_bit(q);
	assert(out->credits[vc] > 0);
	pop_packet(r, q, p->route.next);
	if (!--out->credits[vc] && vc == EMU_VC_DYNAMIC)
		r->credit0 &= (uint16_t) ~(1u << link);
	if (__builtin_expect(r->link_errors | r->faulty, 0))
		leaves = emu_link_put(r, link, bytes, s->now, true);
	else
		out->free_at = s->now + (uint64_t)bytes * r->ps_per_byte;
	r->coll.last &= (uint16_t) ~(1u << link);
	stat_add(&out->stat.on[choose_count(p, vc)], 1);
	stat_add(&out->stat.bytes, bytes);
	p->route.hops++;
	if (__builtin_expect(r->sums, 0))
		emu_link_sum_add(&r->sum[link].sent, p);
	s->ops->send(s->arg, r->node, link, vc, packet, leaves);
	slot_return(s, q);
}

/* Queues that may use the link's channel vc with its present credits, by the bubble rule. */
static uint64_t queues_allowed(const struct emu_router *r, unsigned link, unsigned vc)
{
	unsigned credits = r->link[link].credits[vc];

	if (credits == 0)
		return 0;
	if (credits > 1 || vc == EMU_VC_DYNAMIC || !(r->route.rings >> emu_link_dim(link) & 1) ||
	    r->no_bubble)
		return ~0ull;
	/* Only the queue of packets that go straight on may pass. */
	return queue_bit(emu_link_opposite(link) * EMU_VCS + vc);
}

/* Drop those dynamic heads from `queues` for which a VC 0 link has a credit: only the others may
 * escape to VC 1. */
static uint64_t queues_escaping(const struct emu_router *r, uint64_t queues)
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

/* Choose one of the queues: 15 from links for one from injection, if both wait. */
static unsigned queue_choose(struct emu_router *r, unsigned link, uint64_t queues)
{
	uint64_t through = queues & THROUGH, injection = queues & ~THROUGH;
	struct link *out = &r->link[link];

	if (through && (!injection || out->share < r->share)) {
		out->share = (uint8_t)(injection ? out->share + 1 : 0);
		return round_robin(through, &out->turn[0]);
	}
	out->share = 0;
	return round_robin(injection, &out->turn[1]);
}

/* Of the free links that the dynamic head may take, the one with most credits (docs/hardware.md
 * 6.3: assumed). */
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

/* Send one packet that requests the free link (a dynamic one perhaps over another link). Returns
 * false if none may go. */
static bool link_send_one(struct step *s, unsigned link)
{
	static const uint8_t first[] = {EMU_VC_HIGH, EMU_VC_SYSTEM};
	struct emu_router *r = s->r;
	uint64_t on0, on1;
	unsigned q;

	for (unsigned i = 0; i < sizeof(first); i++) {
		uint64_t queues = r->link[link].request[first[i]];

		if (queues && (queues &= queues_allowed(r, link, first[i]))) {
			send_packet(s, queue_choose(r, link, queues), link, first[i]);
			return true;
		}
	}
	on0 = r->link[link].request[EMU_VC_DYNAMIC] & queues_allowed(r, link, EMU_VC_DYNAMIC);
	on1 = queues_escaping(r, r->link[link].request[EMU_VC_BUBBLE] &
				     queues_allowed(r, link, EMU_VC_BUBBLE));
	if (!(on0 | on1))
		return false;
	q = queue_choose(r, link, on0 | on1);
	if (on0 & queue_bit(q))
		send_packet(s, q, least_loaded(s, q, link), EMU_VC_DYNAMIC);
	else
		send_packet(s, q, link, EMU_VC_BUBBLE);
	return true;
}

/* Deliver a copy of a packet that travels on along a line. */
static void head_deposit(struct step *s, unsigned q, uint32_t packet)
{
	struct emu_router *r = s->r;
	uint32_t copy = s->ops->copy(s->arg, r->node, packet);

	if (copy == EMU_NO_PACKET) {
		s->starved = 1;
	} else if (s->ops->deliver(s->arg, r->node, copy, s->now)) {
		s->ops->drop(s->arg, r->node, copy);
	} else {
		r->local &= ~queue_bit(q);
		r->deposited |= queue_bit(q);
		r->new_heads |= queue_bit(q);
	}
}

/* Deliver the heads for this node. A head that is refused blocks its own queue only. */
static void heads_deliver(struct step *s)
{
	struct emu_router *r = s->r;

	for (uint64_t todo = r->local; todo; todo &= todo - 1) {
		unsigned q = (unsigned)__builtin_ctzll(todo);
		uint32_t packet = queue_of(r, q)->head, next = s->pool[packet].route.next;

		if (emu_route_undone(
			r->here,
			s->pool[packet]
			    .hdr.NetworkHeader.pt2pt.Destination.Destination.Destination)) {
			head_deposit(s, q, packet);
			continue;
		}
		if (s->ops->deliver(s->arg, r->node, packet, s->now))
			continue;
		/* The packet is now the caller's, so read nothing of it from here on. */
		r->local &= ~queue_bit(q);
		pop_packet(r, q, next);
		slot_return(s, q);
	}
}

/* Let each free link send what it can. Returns true if a packet left. */
static bool links_serve(struct step *s)
{
	struct emu_router *r = s->r;
	bool sent = false;

	for (unsigned links = r->wanted; links; links &= links - 1) {
		unsigned l = (unsigned)__builtin_ctz(links);
		bool any = false;

		while (r->link[l].free_at <= s->now && r->wanted >> l & 1 && link_send_one(s, l))
			any = true;
		sent |= any;
	}
	return sent;
}

static uint64_t next_time(struct step *s)
{
	struct emu_router *r = s->r;
	uint64_t t = s->starved ? s->now + STARVED_PS : UINT64_MAX;

	for (uint64_t u = r->unready; u; u &= u - 1) {
		uint64_t ready =
		    s->pool[queue_of(r, (unsigned)__builtin_ctzll(u))->head].route.ready;

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

	r->new_heads |= r->unready;
	r->unready = 0;
	if (r->local)
		heads_deliver(&s); /* the MU refused these heads before */
	do {
		uint64_t before = r->local;

		for (; r->new_heads; r->new_heads &= r->new_heads - 1)
			head_route(&s, (unsigned)__builtin_ctzll(r->new_heads));
		if (r->local & ~before)
			heads_deliver(&s);
		if (r->coll.busy)
			emu_coll_step(&s, true);
	} while (links_serve(&s) || r->new_heads);
	if (!r->coll.busy)
		return next_time(&s);
	emu_coll_step(&s, false);
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

void emu_router_link_stat(const struct emu_router *r, unsigned link, struct emu_link_stat *stat)
{
	const struct link_counts *from = &r->link[link].stat;

	stat->packets = 0;
	for (unsigned on = 0; on < EMU_ON_COUNT; on++)
		stat->packets += stat->on[on] = atomic_load_relaxed(&from->on[on]);
	stat->bytes = atomic_load_relaxed(&from->bytes);
	stat->stalls = atomic_load_relaxed(&from->stalls);
	stat->errors = atomic_load_relaxed(&from->errors);
	stat->queued_max = atomic_load_relaxed(&from->queued_max);
}

const char *emu_on_name(unsigned on)
{
	static const char *const name[EMU_ON_COUNT] = {
	    "dynamic",  "deterministic",    "high_priority", "system",
	    "redirect", "collective_world", "collective_sub"};

	return on < EMU_ON_COUNT ? name[on] : "none";
}
