/* SPDX-License-Identifier: BSD-3-Clause */
/* emu/router.c: one router by hand (what it calls is recorded), then small tori. */
#include <errno.h>

#include "emu/class.h"
#include "tests/harness/emu_net.h"
#include "tests/harness/t.h"

static struct emu_shape make_shape(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e)
{
	struct emu_shape s = {{(uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d, (uint8_t)e}, 1, 0};

	return s;
}

/* ---- one router, node 0 of a torus, and a record of what it calls ---- */

#define PACKETS 1024

struct one {
	struct emu_router *r;
	struct emu_packet *pool;
	struct emu_shape shape;
	unsigned sends, delivers, credits, refuse;
	uint32_t packet[1024];        /* sent or delivered, in order */
	uint8_t link[1024], vc[1024]; /* of sends */
	uint8_t credit_link[1024], credit_vc[1024];
	uint32_t used;
};

static void rec_send(void *arg, uint32_t node, unsigned link, unsigned vc, uint32_t packet,
		     uint64_t now)
{
	struct one *o = arg;

	o->packet[o->sends] = packet;
	o->link[o->sends] = (uint8_t)link;
	o->vc[o->sends++] = (uint8_t)vc;
}

static int rec_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t now)
{
	struct one *o = arg;

	if (o->refuse)
		return -EAGAIN;
	o->pool[packet].route.next = 12345; /* the caller owns the packet now */
	o->delivers++;
	return 0;
}

static void rec_credit(void *arg, uint32_t node, unsigned link, unsigned vc, uint64_t now)
{
	struct one *o = arg;

	o->credit_link[o->credits] = (uint8_t)link;
	o->credit_vc[o->credits++] = (uint8_t)vc;
}

static const struct emu_router_ops rec_ops = {rec_send, rec_deliver, rec_credit};

static struct one *one_create(struct emu_shape s, const struct emu_router_conf *conf,
			      uint32_t ps_per_byte)
{
	struct one *o = calloc(1, sizeof(*o));

	o->shape = s;
	o->r = aligned_alloc(64, emu_router_bytes());
	o->pool = aligned_alloc(64, PACKETS * sizeof(*o->pool));
	memset(o->pool, 0, PACKETS * sizeof(*o->pool));
	emu_router_init(o->r, &s, 0, conf, ps_per_byte);
	return o;
}

static void one_destroy(struct one *o)
{
	free(o->pool);
	free(o->r);
	free(o);
}

static uint64_t step_router(struct one *o, uint64_t now)
{
	return emu_router_step(o->r, o->pool, now, &rec_ops, o);
}

static uint32_t make_packet(struct one *o, unsigned a, unsigned b, unsigned vc, unsigned hints)
{
	struct emu_coord x = {{(uint8_t)a, (uint8_t)b, 0, 0, 0}, 0};
	struct emu_packet *p = &o->pool[o->used % PACKETS];
	MUHWI_Pt2PtNetworkHeader_t *h = &p->hdr.NetworkHeader.pt2pt;

	memset(p, 0, 64);
	h->Destination.Destination.Destination = emu_coord_word(&x);
	h->Byte3.Byte3 = (uint8_t)(vc << 5 | MUHWI_PACKET_ZONE_ROUTING_1);
	h->Byte2.Byte2 = vc == EMU_VC_DYNAMIC ? MUHWI_PACKET_USE_DYNAMIC_ROUTING : 0;
	emu_hints_set(h, hints);
	p->bytes = 512;
	return o->used++ % PACKETS;
}

static int inject_packet(struct one *o, unsigned a, unsigned b, unsigned vc)
{
	return emu_router_inject(o->r, o->pool, 0, make_packet(o, a, b, vc, 0));
}

/* A packet that has come over `link` and wants to (a, b); hints as its source would have set them.
 */
static int arrive_packet(struct one *o, unsigned link, unsigned a, unsigned b, unsigned vc,
			 unsigned hints)
{
	return emu_router_arrive(o->r, o->pool, link, vc, make_packet(o, a, b, vc, hints));
}

#define AP emu_hint_of_link(1)
#define BP emu_hint_of_link(3)

static void injection_is_checked_and_bounded(void)
{
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), NULL, 500);
	uint32_t p;

	CHECK_EQ(inject_packet(o, 4, 0, EMU_VC_BUBBLE), -EINVAL);
	CHECK_EQ(inject_packet(o, 1, 0, 4), -EINVAL); /* a collective channel */
	CHECK_EQ(emu_router_inject(o->r, o->pool, 0, make_packet(o, 1, 0, 1, 0x300)), -EINVAL);
	CHECK_EQ(emu_router_inject(o->r, o->pool, EMU_INJECTIONS, make_packet(o, 1, 0, 1, 0)),
		 -EINVAL);
	p = make_packet(o, 1, 0, 1, 0);
	o->pool[p].bytes = 513;
	CHECK_EQ(emu_router_inject(o->r, o->pool, 0, p), -EINVAL);
	CHECK(!emu_router_busy(o->r));
	for (int i = 0; i < EMU_INJECTION_SLOTS; i++)
		CHECK_EQ(inject_packet(o, 1, 0, EMU_VC_BUBBLE), 0);
	CHECK_EQ(inject_packet(o, 1, 0, EMU_VC_BUBBLE), -EAGAIN);
	/* This packet takes another queue. */
	CHECK_EQ(emu_router_inject(o->r, o->pool, 1, make_packet(o, 1, 0, 1, 0)), 0);
	CHECK(emu_router_busy(o->r));
	one_destroy(o);
}

static struct emu_link_stat link_stat(const struct one *o, unsigned link)
{
	struct emu_link_stat stat;

	emu_router_link_stat(o->r, link, &stat);
	return stat;
}

static void input_is_bounded_by_credits(void)
{
	struct emu_router_conf conf = {.slots = {3, 2, 2, 2}};
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), &conf, 500);

	for (int i = 0; i < 3; i++)
		CHECK_EQ(arrive_packet(o, 0, 0, 0, EMU_VC_DYNAMIC, 0), 0);
	CHECK_EQ(arrive_packet(o, 0, 0, 0, EMU_VC_DYNAMIC, 0), -EPROTO);
	CHECK_EQ(arrive_packet(o, EMU_LINKS, 0, 0, 1, 0), -EINVAL);
	CHECK_EQ(link_stat(o, 0).queued_max, 3);
	step_router(o, 0);
	CHECK(o->delivers == 3 && o->credits == 3 && o->credit_link[0] == 0 &&
	      o->credit_vc[2] == 0);
	CHECK_EQ(arrive_packet(o, 0, 0, 0, EMU_VC_DYNAMIC, 0), 0);
	one_destroy(o);
}

static void wire_time_keeps_the_link_busy(void)
{
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), NULL, 500);
	struct emu_link_stat stat;

	inject_packet(o, 1, 0, EMU_VC_BUBBLE);
	inject_packet(o, 1, 0, EMU_VC_BUBBLE);
	o->pool[1].bytes = 33;
	CHECK_EQ(step_router(o, 1000), 1000 + 552 * 500);
	CHECK_EQ(o->sends, 1);
	CHECK(o->link[0] == 1 && o->vc[0] == EMU_VC_BUBBLE && o->pool[0].route.hops == 1);
	CHECK_EQ(step_router(o, 276999), 277000);
	CHECK_EQ(step_router(o, 277000), UINT64_MAX);
	CHECK_EQ(o->sends, 2);
	stat = link_stat(o, 1);
	CHECK(stat.packets == 2 && stat.bytes == 552 + 104 && stat.stalls == 0);
	CHECK_EQ(o->pool[1].route.sequence, 1);
	CHECK_EQ(o->credits, 0); /* injection gives none back */
	one_destroy(o);
}

static void not_ready_waits_in_order(void)
{
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), NULL, 500);
	uint32_t late = make_packet(o, 1, 0, EMU_VC_BUBBLE, 0);

	o->pool[late].route.ready = 5000;
	emu_router_inject(o->r, o->pool, 0, late);
	inject_packet(o, 0, 1, EMU_VC_BUBBLE);
	CHECK_EQ(step_router(o, 0), 5000);
	CHECK_EQ(o->sends, 0);
	step_router(o, 5000);
	/* The second goes over another link at once. */
	CHECK(o->sends == 2 && o->packet[0] == late);
	one_destroy(o);
}

/* A packet counts for the channel that it leaves on, and a turned one for no other. */
static void packets_count_by_channel(void)
{
	static const unsigned char on[] = {EMU_ON_DETERMINISTIC, EMU_ON_HIGH, EMU_ON_SYSTEM};
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), NULL, 0);
	ClassRoute_t c = {BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_INPUT_VC_USER, emu_class_bit(1)};
	struct emu_link_stat stat;
	uint32_t p;

	for (unsigned i = 0; i < sizeof on; i++)
		for (unsigned k = 0; k <= i; k++)
			inject_packet(o, 1, 0, EMU_VC_BUBBLE + i);
	p = make_packet(o, 1, 0, EMU_VC_SYSTEM, 0);
	o->pool[p].hdr.NetworkHeader.pt2pt.Byte3.Byte3 |= MUHWI_PACKET_ADDRESSED;
	CHECK_EQ(emu_router_inject(o->r, o->pool, 1, p), 0);
	p = make_packet(o, 1, 0, EMU_VC_DYNAMIC, 0);
	o->pool[p].hdr.NetworkHeader.pt2pt.Byte2.Byte2 |= MUHWI_PACKET_USE_DYNAMIC_ROUTING;
	CHECK_EQ(emu_router_inject(o->r, o->pool, 0, p), 0);
	for (unsigned i = 0; i < 2; i++) {
		MUHWI_CollectiveNetworkHeader_t *h;

		CHECK_EQ(emu_router_class_set(o->r, 2 + i, &c, 0), 0);
		p = make_packet(o, 1, 0, EMU_VC_BUBBLE, 0);
		h = &o->pool[p].hdr.NetworkHeader.collective;
		memset(h, 0, sizeof *h);
		h->Data_Packet_Type = MUHWI_COLLECTIVE_DATA_PACKET_TYPE;
		h->Byte1.Byte1 = MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD | 1;
		h->Byte2.Class_Route = (uint8_t)((2 + i) & 15);
		h->Byte3.Byte3 = (uint8_t)(MUHWI_COLLECTIVE_TYPE_ALLREDUCE |
					   (i ? MUHWI_PACKET_VIRTUAL_CHANNEL_USER_SUB_COMM
					      : MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD));
		CHECK_EQ(emu_router_inject(o->r, o->pool, 0, p), 0);
		c.input = BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_INPUT_VC_SUBCOMM;
	}
	for (uint64_t now = 0; now < 4; now++)
		step_router(o, now);
	stat = link_stat(o, 1);
	for (unsigned i = 0; i < sizeof on; i++)
		CHECK_EQ(stat.on[on[i]], i + 1);
	CHECK(stat.on[EMU_ON_REDIRECT] == 1 && stat.on[EMU_ON_DYNAMIC] == 1);
	CHECK(stat.on[EMU_ON_CLASS_WORLD] == 1 && stat.on[EMU_ON_CLASS_SUB] == 1);
	CHECK_EQ(stat.packets, 10);
	CHECK_EQ(link_stat(o, 3).packets, 0);
	for (unsigned i = 0; i < EMU_ON_COUNT; i++)
		for (unsigned k = 0; k < i; k++)
			CHECK(strcmp(emu_on_name(i), emu_on_name(k)));
	one_destroy(o);
}

static void bubble_rule(void)
{
	struct emu_router_conf conf = {.slots = {2, 2, 2, 2}};
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), &conf, 0);

	for (unsigned vc = EMU_VC_BUBBLE; vc < EMU_VCS; vc++) {
		o->sends = 0;
		inject_packet(o, 1, 0, vc); /* enters the ring: both slots are free */
		step_router(o, 0);
		CHECK_EQ(o->sends, 1);
		inject_packet(o, 1, 0, vc);             /* one slot left: must not enter */
		arrive_packet(o, 3, 1, 0, vc, AP | BP); /* nor may who turns from B into A */
		CHECK_EQ(step_router(o, 0), UINT64_MAX);
		CHECK_EQ(o->sends, 1);
		CHECK_EQ(emu_router_wanted(o->r), 2);
		arrive_packet(o, 0, 1, 0, vc, AP); /* came in over A-: goes straight on */
		step_router(o, 0);
		CHECK_EQ(o->sends, 2);
		CHECK(emu_router_credit(o->r, 1, vc));
		step_router(o, 0);
		CHECK_EQ(o->sends, 2); /* one slot again */
		CHECK(emu_router_credit(o->r, 1, vc));
		step_router(o, 0);
		CHECK_EQ(o->sends, 3);
		emu_router_credit(o->r, 1, vc);
		step_router(o, 0);
		CHECK_EQ(o->sends, 4);
		CHECK(!emu_router_busy(o->r));
		emu_router_credit(o->r, 1, vc);
		emu_router_credit(o->r, 1, vc);
	}
	CHECK_EQ(link_stat(o, 1).stalls, 12);
	one_destroy(o);
}

static void no_ring_no_bubble(void)
{
	struct emu_router_conf conf = {.slots = {2, 2, 2, 2}};

	for (int mesh = 0; mesh < 2; mesh++) {
		struct emu_shape s = make_shape(mesh ? 4 : 2, 1, 1, 1, 1);
		s.mesh = (uint8_t)mesh;
		struct one *o = one_create(s, &conf, 0);

		inject_packet(o, 1, 0, EMU_VC_BUBBLE);
		inject_packet(o, 1, 0, EMU_VC_BUBBLE);
		inject_packet(o, 1, 0, EMU_VC_BUBBLE);
		step_router(o, 0);
		CHECK_EQ(o->sends, 2);
		one_destroy(o);
	}
}

static void credits_beyond_the_slots_are_ignored(void)
{
	struct emu_router_conf conf = {.slots = {2, 2, 2, 2}};
	struct one *o = one_create(make_shape(2, 1, 1, 1, 1), &conf, 0);

	for (int i = 0; i < 100; i++)
		CHECK(!emu_router_credit(o->r, 1, EMU_VC_BUBBLE));
	for (int i = 0; i < 3; i++)
		inject_packet(o, 1, 0, EMU_VC_BUBBLE);
	step_router(o, 0);
	CHECK_EQ(o->sends, 2);
	one_destroy(o);
}

static void refused_delivery_blocks_its_queue_only(void)
{
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), NULL, 500);

	o->refuse = 1;
	arrive_packet(o, 0, 0, 0, EMU_VC_BUBBLE, AP);
	arrive_packet(o, 0, 1, 0, EMU_VC_BUBBLE, AP);  /* behind it */
	arrive_packet(o, 0, 1, 0, EMU_VC_DYNAMIC, AP); /* another channel of that link */
	arrive_packet(o, 2, 0, 1, EMU_VC_BUBBLE, BP);  /* another link */
	CHECK_EQ(step_router(o, 0), UINT64_MAX);
	CHECK_EQ(o->sends, 2);
	CHECK(emu_router_busy(o->r));
	o->refuse = 0;
	step_router(o, 1000000);
	CHECK(o->delivers == 1 && o->sends == 3 && o->credits == 4);
	CHECK(!emu_router_busy(o->r));
	one_destroy(o);
}

static void high_priority_goes_first(void)
{
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), NULL, 500);

	inject_packet(o, 1, 0, EMU_VC_BUBBLE);
	arrive_packet(o, 0, 1, 0, EMU_VC_BUBBLE, AP);
	arrive_packet(o, 0, 1, 0, EMU_VC_SYSTEM, AP);
	emu_router_inject(o->r, o->pool, 2, make_packet(o, 1, 0, EMU_VC_HIGH, 0));
	for (uint64_t t = 0; t != UINT64_MAX;)
		t = step_router(o, t);
	CHECK(o->sends == 4 && o->vc[0] == EMU_VC_HIGH && o->vc[1] == EMU_VC_SYSTEM);
	CHECK(o->packet[2] == 1 && o->packet[3] == 0); /* then through traffic, then injection */
	one_destroy(o);
}

/* Saturated through traffic from two inputs and injection: 15 to 1, and the inputs alike. */
static void through_and_injection_15_to_1(void)
{
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), NULL, 500);
	unsigned from[3] = {0, 0, 0};
	uint64_t t = 0;

	for (int i = 0; i < 160; i++) {
		while (inject_packet(o, 1, 0, EMU_VC_BUBBLE) == 0)
			;
		while (arrive_packet(o, 0, 1, 0, EMU_VC_BUBBLE, AP) == 0)
			;
		while (arrive_packet(o, 3, 1, 0, EMU_VC_BUBBLE, AP) == 0)
			;
		t = step_router(o, t);
		REQUIRE_EQ(o->sends, (unsigned)i + 1);
		unsigned in = o->pool[o->packet[i]].route.in;
		from[in >= EMU_LINKS ? 2 : in == 3]++;
		emu_router_credit(o->r, 1, EMU_VC_BUBBLE);
	}
	CHECK_EQ(from[0], 75);
	CHECK_EQ(from[1], 75);
	CHECK_EQ(from[2], 10);
	one_destroy(o);
}

static void dynamic_takes_the_emptier_link(void)
{
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), NULL, 500);

	inject_packet(o, 1, 1, EMU_VC_DYNAMIC);
	inject_packet(o, 1, 1, EMU_VC_DYNAMIC);
	inject_packet(o, 1, 1, EMU_VC_DYNAMIC);
	step_router(o, 0);
	CHECK(o->sends == 2 && o->link[0] == 1 && o->link[1] == 3);
	emu_router_credit(o->r, 3, EMU_VC_DYNAMIC); /* B+ has 7, A+ 6 */
	step_router(o, 1000000);
	CHECK(o->sends == 3 && o->link[2] == 3 && o->vc[2] == EMU_VC_DYNAMIC);
	one_destroy(o);
}

static void dynamic_escapes_when_it_must(void)
{
	struct emu_router_conf conf = {.slots = {2, 2, 2, 2}};
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), &conf, 0);

	for (int i = 0; i < 8; i++)
		inject_packet(o, 1, 1, EMU_VC_DYNAMIC);
	step_router(o, 0);
	/* Two each on VC 0 of A+ and B+, then one escape on A+ (first in order); a second needs a
	 * bubble. */
	CHECK_EQ(o->sends, 5);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(o->vc[i], EMU_VC_DYNAMIC);
	CHECK(o->vc[4] == EMU_VC_BUBBLE && o->link[4] == 1);
	emu_router_credit(o->r, 3, EMU_VC_DYNAMIC);
	step_router(o, 0);
	CHECK(o->sends == 6 && o->vc[5] == EMU_VC_DYNAMIC && o->link[5] == 3);
	CHECK_EQ(emu_router_wanted(o->r), 10);
	one_destroy(o);
}

static void back_from_the_bubble_unless_told_to_stay(void)
{
	for (int stay = 0; stay < 2; stay++) {
		struct one *o = one_create(make_shape(4, 4, 1, 1, 1), NULL, 500);
		uint32_t p = make_packet(o, 1, 0, EMU_VC_DYNAMIC, AP);

		o->pool[p].hdr.NetworkHeader.pt2pt.Byte3.Byte3 |=
		    stay ? MUHWI_PACKET_STAY_ON_BUBBLE : 0;
		emu_router_arrive(o->r, o->pool, 0, EMU_VC_BUBBLE, p); /* it had escaped */
		step_router(o, 0);
		CHECK(o->sends == 1 && o->vc[0] == (stay ? EMU_VC_BUBBLE : EMU_VC_DYNAMIC));
		one_destroy(o);
	}
}

/* Not dynamic but channel 0: has no escape there, so it goes on channel 1. */
static void deterministic_never_uses_channel_0(void)
{
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), NULL, 500);
	uint32_t p = make_packet(o, 1, 1, EMU_VC_DYNAMIC, 0);

	o->pool[p].hdr.NetworkHeader.pt2pt.Byte2.Byte2 = 0;
	emu_router_inject(o->r, o->pool, 0, p);
	step_router(o, 0);
	CHECK(o->sends == 1 && o->vc[0] == EMU_VC_BUBBLE && o->link[0] == 1);
	one_destroy(o);
}

/* ---- small tori ---- */

/* All pairs, `packets` each, all kinds; jitter shuffles what routers see. Returns the hash. */
static uint64_t run_traffic(struct emu_shape s, unsigned slots, uint32_t ps_per_byte,
			    unsigned refuse, uint64_t seed, unsigned packets, unsigned kinds)
{
	struct emu_router_conf conf = {
	    .slots = {(uint16_t)slots, (uint16_t)slots, (uint16_t)slots, (uint16_t)slots}};
	struct net *n = net_create(&s, &conf, ps_per_byte);
	uint64_t hash;

	drv_rng_seed(&n->rng, seed);
	n->jitter_ps = 400000;
	n->refuse_percent = refuse;
	for (unsigned k = 0; k < packets; k++)
		for (uint32_t a = 0; a < n->nodes; a++)
			for (uint32_t b = 0; b < n->nodes; b++) {
				unsigned vc = (unsigned)drv_rng_below(&n->rng, kinds);

				net_send(n, a, b, vc, (unsigned)drv_rng_below(&n->rng, EMU_ZONES),
					 0, vc, (uint32_t)drv_rng_below(&n->rng, 505) + 8);
			}
	net_run(n);
	CHECK_EQ(n->delivered, n->sent);
	CHECK_EQ(n->wrong, 0);
	CHECK_EQ(n->disordered, 0);
	CHECK(!refuse || n->refused);
	for (uint32_t i = 0; i < n->nodes; i++)
		CHECK(!(emu_router_busy(net_router(n, i))));
	hash = n->hash;
	net_destroy(n);
	return hash;
}

static void mixed_traffic_arrives_in_order(void)
{
	run_traffic(make_shape(3, 2, 1, 4, 2), 7, 500, 0, t_seed(), 4, 4);
	run_traffic(make_shape(3, 2, 1, 4, 2), 2, 500, 0, t_seed() + 1, 4, 4);
	run_traffic(make_shape(5, 4, 1, 1, 1), 2, 0, 0, t_seed() + 2, 8, 4);
	run_traffic(make_shape(1, 1, 1, 1, 1), 2, 500, 0, t_seed() + 3, 8, 4);
}

static void refused_deliveries_come_later(void)
{
	run_traffic(make_shape(4, 2, 2, 1, 1), 2, 500, 40, t_seed(), 4, 4);
}

static void meshes_work_too(void)
{
	struct emu_shape s = make_shape(4, 1, 3, 2, 1);

	s.mesh = 0x1f;
	run_traffic(s, 2, 500, 0, t_seed(), 4, 4);
	s.mesh = 4;
	run_traffic(s, 2, 500, 0, t_seed(), 4, 4);
}

static void same_input_same_events(void)
{
	uint64_t a = run_traffic(make_shape(4, 3, 2, 1, 1), 3, 500, 20, 42, 4, 4);

	CHECK_EQ(run_traffic(make_shape(4, 3, 2, 1, 1), 3, 500, 20, 42, 4, 4), a);
	CHECK((run_traffic(make_shape(4, 3, 2, 1, 1), 3, 500, 20, 43, 4, 4)) != a);
}

static void long_way_round_on_request(void)
{
	struct emu_shape s = make_shape(4, 1, 1, 1, 1);
	struct net *n = net_create(&s, NULL, 500);

	net_send(n, 0, 1, EMU_VC_BUBBLE, 0, emu_hint_of_link(0), 0, 512);
	net_send(n, 0, 1, EMU_VC_DYNAMIC, 0, emu_hint_of_link(0), 0, 512);
	net_run(n);
	CHECK_EQ(n->delivered, 2);
	CHECK_EQ(n->hops, 6);
	CHECK_EQ(n->wrong, 0);
	net_destroy(n);
}

/* ---- Deposit: received at each node of a line ---- */

static unsigned deposits[64];

static void on_deposit(struct net *n, uint32_t node, struct emu_packet *p)
{
	deposits[node] += p->payload[0] == 77;
}

static void send_line(struct net *n, uint32_t from, uint32_t to, unsigned hints, uint32_t *i)
{
	struct emu_coord x;
	MUHWI_Pt2PtNetworkHeader_t *h;

	*i = net_packet(n);
	h = &n->pool[*i].hdr.NetworkHeader.pt2pt;
	h->Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	h->Byte3.Byte3 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	h->Byte2.Byte2 = MUHWI_PACKET_DEPOSIT;
	emu_hints_set(h, hints);
	emu_node_coord(&n->shape, to, &x);
	h->Destination.Destination.Destination = emu_coord_word(&x);
	n->pool[*i].bytes = 512;
	n->pool[*i].payload[0] = 77;
}

static void deposit_along_a_line(void)
{
	struct emu_shape s = make_shape(5, 2, 1, 1, 1);
	struct net *n = net_create(&s, NULL, 500);
	uint32_t i, spare[64];

	n->on_coll = on_deposit;
	for (unsigned k = 0; k < 64; k++)
		spare[k] = net_packet(n);
	for (unsigned k = 0; k < 64; k++)
		net_free(n, spare[k]);
	n->refuse_percent = 30;
	for (unsigned k = 0; k < 20;
	     k++) { /* the long way round from (1,0): through 2, 3, 4 to 0 */
		send_line(n, 2, 0, emu_hint_of_link(1), &i);
		while (emu_router_inject(net_router(n, 2), n->pool, 0, i) == -EAGAIN)
			net_one(n);
		net_want_step(n, 2, n->now);
	}
	net_run(n);
	for (uint32_t k = 0; k < 10; k++)
		CHECK_EQ(deposits[k], k % 2 || k == 2 ? 0u : 20u);
	CHECK_EQ(n->in_use, 0);
	CHECK_EQ(n->wrong, 0);
	send_line(n, 0, 3, 0, &i); /* round a corner */
	CHECK_EQ(emu_router_inject(net_router(n, 0), n->pool, 0, i), -EINVAL);
	net_destroy(n);
}

/* Hand what `o` sent since `from` to the neighbour at (1, 0). */
static void pass_packets(struct one *o, struct emu_router *to, unsigned from)
{
	for (unsigned i = from; i < o->sends; i++)
		CHECK_EQ(emu_router_arrive(to, o->pool, emu_link_opposite(o->link[i]), o->vc[i],
					   o->packet[i]),
			 0);
}

static void both_ends_of_a_link_sum_up_what_crosses(void)
{
	struct emu_router_conf conf = {
	    .link_sums = 1, .link_errors = 900000, .link_error_ps = 1000, .seed = 5};
	struct one *o = one_create(make_shape(4, 4, 1, 1, 1), &conf, 500);
	struct emu_router *to = aligned_alloc(64, emu_router_bytes());
	struct emu_coord x = {{1, 0, 0, 0, 0}, 0};
	const struct emu_link_end *sent, *received;
	uint64_t now = 0;

	emu_router_init(to, &o->shape, emu_coord_node(&o->shape, &x), &conf, 500);
	sent = &emu_router_link_sum(o->r, 1)->sent;
	received = &emu_router_link_sum(to, 0)->received;
	for (unsigned i = 0; i < 4; i++) {
		uint32_t p = make_packet(o, 1, 0, EMU_VC_BUBBLE, 0);

		o->pool[p].payload[511] = (unsigned char)(i + 1);
		o->pool[p].bytes = 509 + i; /* the last word is not whole */
		CHECK_EQ(emu_router_inject(o->r, o->pool, 0, p), 0);
		while (o->sends == i)
			now = step_router(o, now);
		if (i == 3)
			break;
		pass_packets(o, to, i);
		CHECK(sent->packets == i + 1 && received->packets == i + 1);
		CHECK_EQ(sent->sum, received->sum);
	}
	/* The link repeated packets, and each counts once. */
	CHECK(link_stat(o, 1).errors > 0);
	o->pool[o->packet[3]].payload[500] ^= 1;
	pass_packets(o, to, 3);
	CHECK_EQ(sent->packets, received->packets);
	CHECK(sent->sum != received->sum);
	free(to);
	one_destroy(o);
}

T_MAIN(T(injection_is_checked_and_bounded), T(both_ends_of_a_link_sum_up_what_crosses),
       T(input_is_bounded_by_credits), T(wire_time_keeps_the_link_busy),
       T(not_ready_waits_in_order), T(packets_count_by_channel), T(bubble_rule),
       T(no_ring_no_bubble), T(credits_beyond_the_slots_are_ignored),
       T(refused_delivery_blocks_its_queue_only), T(high_priority_goes_first),
       T(through_and_injection_15_to_1), T(dynamic_takes_the_emptier_link),
       T(dynamic_escapes_when_it_must), T(back_from_the_bubble_unless_told_to_stay),
       T(deterministic_never_uses_channel_0), T(mixed_traffic_arrives_in_order),
       T(refused_deliveries_come_later), T(meshes_work_too), T(same_input_same_events),
       T(long_way_round_on_request), T(deposit_along_a_line))
