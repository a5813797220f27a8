/* SPDX-License-Identifier: BSD-3-Clause */
/* emu/live.c: routers in shared memory; one and several hosts, threads, processes. */
#include "drivers/base/atomic.h"
#include "emu/live.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/route.h"
#include "tests/harness/t.h"

#define HOSTS_MAX 4

static struct emu_shape make_shape(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e)
{
	struct emu_shape s = {{(uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d, (uint8_t)e}, 1, 0};

	return s;
}

/* ---- hosts of one process, joined by callbacks that refuse now and then ---- */

struct host {
	struct world *w;
	struct emu_live *live;
	void *mem;
};

struct world {
	struct emu_shape shape;
	struct host host[HOSTS_MAX];
	uint8_t host_of[4096];
	struct drv_rng rng;
	unsigned refuse_percent;
	uint64_t delivered, wrong, crossed, rooms;
	int lost; /* what leaves a host goes nowhere */
};

static int is_refused(struct world *w)
{
	return w->refuse_percent && drv_rng_below(&w->rng, 100) < w->refuse_percent;
}

static int on_deliver(void *arg, uint32_t local, struct emu_packet *p)
{
	struct host *h = arg;
	struct world *w = h->w;
	uint32_t word[2], node = emu_live_node(h->live, local);

	if (is_refused(w))
		return -EAGAIN;
	memcpy(word, p->payload, 8);
	w->wrong += word[0] != p->route.source || word[1] != node || p->task != word[0] + 7 ||
		    p->route.hops != emu_hops(&w->shape, p->route.source, node);
	w->delivered++;
	return 0;
}

static int on_send_remote(void *arg, uint32_t local, unsigned link, unsigned vc,
			  const struct emu_packet *p)
{
	struct host *h = arg;
	struct world *w = h->w;
	uint32_t to = emu_node_neighbour(&w->shape, emu_live_node(h->live, local), link);
	struct host *other = &w->host[w->host_of[to]];
	struct emu_live_tag tag;

	if (is_refused(w))
		return -EAGAIN;
	emu_live_tag_of(p, vc, &tag);
	w->crossed++;
	if (w->lost)
		return 0;
	if (emu_live_arrive_remote(other->live, emu_live_local(other->live, to),
				   emu_link_opposite(link), &tag, &p->hdr, p->payload))
		w->wrong++;
	return 0;
}

static int on_credit_remote(void *arg, uint32_t local, unsigned link, uint64_t credits)
{
	struct host *h = arg;
	uint32_t to = emu_node_neighbour(&h->w->shape, emu_live_node(h->live, local), link);
	struct host *other = &h->w->host[h->w->host_of[to]];

	if (is_refused(h->w))
		return -EAGAIN;
	if (emu_live_credit_remote(other->live, emu_live_local(other->live, to),
				   emu_link_opposite(link), credits))
		h->w->wrong++;
	return 0;
}

static void on_room(void *arg, uint32_t local)
{
	((struct host *)arg)->w->rooms++;
}

static const struct emu_live_ops ops = {on_deliver, on_send_remote, on_credit_remote, on_room};

/* Node i belongs to host_of[i]. */
static struct world *world_create(const struct emu_shape *s, unsigned hosts,
				  const struct emu_router_conf *conf)
{
	struct world *w = calloc(1, sizeof(*w));
	uint32_t count = emu_shape_nodes(s), nodes[4096];

	w->shape = *s;
	drv_rng_seed(&w->rng, t_seed());
	for (uint32_t i = 0; i < count; i++)
		w->host_of[i] = (uint8_t)(hosts == 1 ? 0 : drv_rng_below(&w->rng, hosts));
	for (unsigned h = 0; h < hosts; h++) {
		uint32_t k = 0;

		for (uint32_t i = 0; i < count; i++)
			if (w->host_of[i] == h)
				nodes[k++] = i;
		size_t bytes = emu_live_bytes(s, k, conf);
		w->host[h].w = w;
		w->host[h].mem = t_shared(bytes);
		REQUIRE_EQ(emu_live_init(w->host[h].mem, bytes, s, nodes, k, conf), 0);
		w->host[h].live = emu_live_open(w->host[h].mem, &ops, &w->host[h]);
		REQUIRE(w->host[h].live);
	}
	return w;
}

static void world_destroy(struct world *w)
{
	for (int h = 0; h < HOSTS_MAX; h++)
		emu_live_close(w->host[h].live);
	free(w);
}

static int send_packet(struct emu_live *live, const struct emu_shape *s, uint32_t from, uint32_t to,
		       unsigned vc, unsigned queue)
{
	uint32_t packet, word[2] = {from, to}, local = emu_live_local(live, from);
	int rc = emu_live_alloc(live, local, queue, &packet);
	struct emu_packet *p;
	struct emu_coord x;

	if (rc)
		return rc;
	p = emu_live_packet(live, packet);
	emu_node_coord(s, to, &x);
	p->hdr.NetworkHeader.pt2pt.Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination = emu_coord_word(&x);
	p->hdr.NetworkHeader.pt2pt.Byte3.Byte3 = (uint8_t)(vc << 5);
	p->hdr.NetworkHeader.pt2pt.Byte2.Byte2 = vc ? 0 : MUHWI_PACKET_USE_DYNAMIC_ROUTING;
	p->task = from + 7;
	p->bytes = 8;
	memcpy(p->payload, word, 8);
	return emu_live_inject(live, local, queue, packet);
}

static void poll_all(struct world *w, unsigned hosts)
{
	int moved = 1;

	while (moved) {
		moved = 0;
		for (unsigned h = 0; h < hosts; h++) {
			struct emu_live *live = w->host[h].live;

			moved |= emu_live_poll(live, 1000000);
			for (uint32_t l = 0; w->refuse_percent && l < emu_live_local_nodes(live);
			     l++)
				emu_live_kick(live, l);
			moved |= w->refuse_percent && emu_live_poll(live, 1000000) &&
				 drv_rng_below(&w->rng, 2);
		}
	}
}

static void all_pairs(unsigned hosts, unsigned refuse_percent)
{
	struct emu_shape s = make_shape(3, 2, 1, 4, 2);
	struct world *w = world_create(&s, hosts, NULL);
	uint32_t count = emu_shape_nodes(&s), sent = 0;

	w->refuse_percent = refuse_percent;
	for (unsigned vc = 0; vc < EMU_VCS; vc++)
		for (uint32_t a = 0; a < count; a++)
			for (uint32_t b = 0; b < count; b++) {
				while (send_packet(w->host[w->host_of[a]].live, &s, a, b, vc,
						   b % EMU_INJECTIONS) == -EAGAIN)
					poll_all(w, hosts);
				sent++;
			}
	w->refuse_percent = 0;
	poll_all(w, hosts);
	for (unsigned h = 0; h < hosts; h++)
		for (uint32_t l = 0; l < emu_live_local_nodes(w->host[h].live); l++)
			emu_live_kick(w->host[h].live, l);
	poll_all(w, hosts);
	CHECK_EQ(w->delivered, sent);
	CHECK_EQ(w->wrong, 0);
	CHECK(hosts == 1 || w->crossed > 0);
	for (unsigned h = 0; h < hosts; h++) {
		CHECK_EQ(emu_live_refused(w->host[h].live), 0);
		CHECK(!emu_live_has_work(w->host[h].live));
	}
	world_destroy(w);
}

static void one_host_all_pairs(void)
{
	all_pairs(1, 0);
}
static void three_hosts_all_pairs(void)
{
	all_pairs(3, 0);
}
static void hosts_that_refuse(void)
{
	all_pairs(4, 30);
}

/* A full ring on two slots: routers wait for credits, and credits wake them. */
static void credits_wake_their_router(void)
{
	struct emu_router_conf conf = {.slots = {2, 2, 2, 2}};
	struct emu_shape s = make_shape(8, 1, 1, 1, 1);

	for (unsigned hosts = 1; hosts <= 4; hosts++) {
		struct world *w = world_create(&s, hosts, &conf);
		uint64_t sent = 0, stalls = 0;

		for (int round = 0; round < 20; round++) {
			for (uint32_t a = 0; a < (round < 10 ? 1 : 8);
			     a++) /* nothing else comes to node 0 at first */
				for (uint32_t k = 0; k < EMU_INJECTION_SLOTS; k++)
					sent += !send_packet(w->host[w->host_of[a]].live, &s, a,
							     (a + 3) % 8, 1, 0);
			poll_all(w, hosts);
			REQUIRE_EQ(w->delivered, sent);
		}
		for (uint32_t a = 0; a < 8; a++) {
			struct emu_live *live = w->host[w->host_of[a]].live;
			struct emu_link_stat stat;

			emu_live_link_stat(live, emu_live_local(live, a), emu_link(0, 1), &stat);
			stalls += stat.stalls;
		}
		CHECK(sent == 10 * 9 * EMU_INJECTION_SLOTS && stalls > 0);
		CHECK_EQ(w->wrong, 0);
		world_destroy(w);
	}
}

static void places_are_bounded_and_room_is_told(void)
{
	struct emu_shape s = make_shape(4, 1, 1, 1, 1);
	struct world *w = world_create(&s, 1, NULL);
	struct emu_live *live = w->host[0].live;
	uint32_t packet, first = 0;

	for (int i = 0; i < EMU_INJECTION_SLOTS; i++) {
		CHECK_EQ(emu_live_alloc(live, 0, 1, &packet), 0);
		first = i ? first : packet;
	}
	CHECK_EQ(emu_live_alloc(live, 0, 1, &packet), -EAGAIN);
	CHECK_EQ(send_packet(live, &s, 0, 2, 1, 0), 0); /* another queue */
	CHECK_EQ(w->rooms, 0);
	emu_live_cancel(live, 0, 1, first);
	CHECK_EQ(w->rooms, 1);
	CHECK_EQ(emu_live_alloc(live, 0, 1, &packet), 0);
	CHECK_EQ(packet, first);
	emu_live_packet(live, packet)->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination =
	    63;
	CHECK_EQ(emu_live_inject(live, 0, 1, packet), -EINVAL);
	CHECK_EQ(emu_live_alloc(live, 0, 1, &packet), 0); /* its place is free again */
	CHECK(emu_live_has_work(live));
	CHECK(emu_live_poll(live, 1000) > 0);
	CHECK_EQ(emu_live_poll(live, 1000), 0);
	CHECK_EQ(w->delivered, 1);
	world_destroy(w);
}

/* What a dead process had taken is free again; what it had handed over arrives; others' stays
 * theirs. */
static void places_of_the_dead_come_back(void)
{
	struct emu_shape s = make_shape(4, 1, 1, 1, 1);
	struct world *w = world_create(&s, 1, NULL);
	struct emu_live *live = w->host[0].live;
	uint32_t packet, others = 0;

	for (int round = 0; round < 3; round++) { /* more of them than places */
		emu_live_set_owner(live, 7);
		CHECK_EQ(send_packet(live, &s, 0, 2, 1, 1), 0);
		CHECK_EQ(send_packet(live, &s, 0, 1, 1, 1), 0);
		for (int i = 0; i < EMU_INJECTION_SLOTS - 3; i++)
			CHECK_EQ(emu_live_alloc(live, 0, 1, &packet), 0);
		emu_live_set_owner(live, 8);
		CHECK_EQ(emu_live_alloc(live, 0, 1, &others), 0);
		CHECK_EQ(emu_live_alloc(live, 0, 1, &packet), -EAGAIN);
		emu_live_reclaim(live, 0, 7);
		for (int i = 0; i < EMU_INJECTION_SLOTS - 1; i++)
			CHECK_EQ(send_packet(live, &s, 0, 3, 1, 1), 0);
		CHECK_EQ(emu_live_alloc(live, 0, 1, &packet), -EAGAIN);
		emu_live_cancel(live, 0, 1, others);
		emu_live_poll(live, 1000);
	}
	CHECK_EQ(w->delivered, 3 * (2 + EMU_INJECTION_SLOTS - 1));
	CHECK_EQ(w->wrong, 0);
	world_destroy(w);
}

/* Links to a lost host take everything, without end. */
static void lost_links_swallow(void)
{
	struct emu_shape s = make_shape(4, 2, 1, 1, 1);
	struct world *w = world_create(&s, 2, NULL);
	uint32_t sent = 0, tried = 0;

	w->lost = 1;
	for (uint32_t from = 0; from < 8; from++) /* chance says who is where */
		for (unsigned link = 0; link < 4; link++) {
			uint32_t to = emu_node_neighbour(&s, from, link);
			struct emu_live *live = w->host[w->host_of[from]].live;

			if (to == UINT32_MAX || w->host_of[to] == w->host_of[from])
				continue;
			emu_live_link_lost(live, emu_live_local(live, from), link);
		}
	for (uint32_t i = 0; i < 8000; i++) {
		struct emu_live *live = w->host[w->host_of[i % 8]].live;

		if (w->host_of[(i + i / 8) % 8] == w->host_of[i % 8])
			continue; /* its way may lead over both */
		tried++;
		sent += !send_packet(live, &s, i % 8, (i + i / 8) % 8, 1, 0);
		emu_live_poll(live, 1000);
	}
	CHECK_EQ(sent, tried);
	CHECK_EQ(w->delivered, 0);
	CHECK_EQ(w->crossed, tried);
	for (unsigned h = 0; h < 2; h++)
		CHECK(!emu_live_has_work(w->host[h].live));
	world_destroy(w);
}

static void refused_delivery_waits_for_a_kick(void)
{
	struct emu_shape s = make_shape(4, 1, 1, 1, 1);
	struct world *w = world_create(&s, 1, NULL);
	struct emu_live *live = w->host[0].live;

	w->refuse_percent = 100;
	send_packet(live, &s, 0, 2, 1, 0);
	emu_live_poll(live, 1000);
	CHECK_EQ(w->delivered, 0);
	CHECK(!emu_live_has_work(live)); /* no thread spins on it */
	w->refuse_percent = 0;
	CHECK_EQ(emu_live_poll(live, 1000), 0);
	emu_live_kick(live, emu_live_local(live, 2));
	emu_live_poll(live, 1000);
	CHECK_EQ(w->delivered, 1);
	world_destroy(w);
}

static void budget_is_kept(void)
{
	struct emu_shape s = make_shape(32, 1, 1, 1, 1);
	struct world *w = world_create(&s, 1, NULL);
	struct emu_live *live = w->host[0].live;

	for (uint32_t i = 0; i < 32; i++)
		send_packet(live, &s, i, (i + 16) % 32, 1, 0);
	CHECK(emu_live_poll(live, 10) <= 32 + 10);
	CHECK(emu_live_has_work(live));
	CHECK(w->delivered < 32);
	while (emu_live_poll(live, 10))
		;
	CHECK_EQ(w->delivered, 32);
	world_destroy(w);
}

static void counters_tell_the_traffic(void)
{
	struct emu_shape s = make_shape(4, 1, 1, 1, 1);
	struct world *w = world_create(&s, 1, NULL);
	struct emu_live *live = w->host[0].live;
	struct emu_link_stat stat;

	for (int i = 0; i < 5; i++)
		send_packet(live, &s, 0, 1, 1, 0);
	emu_live_poll(live, 1000);
	emu_live_link_stat(live, 0, emu_link(0, 1), &stat);
	CHECK(stat.packets == 5 && stat.bytes == 5 * (32 + 32 + 8));
	emu_live_link_stat(live, 0, emu_link(0, 0), &stat);
	CHECK(stat.packets == 0 && stat.bytes == 0);
	world_destroy(w);
}

/* What another host may send by mistake or malice is refused, counted, and harms nothing. */
static void wrong_packets_from_outside_are_refused(void)
{
	struct emu_shape s = make_shape(4, 1, 1, 1, 1);
	size_t bytes = emu_live_bytes(&s, 2, NULL);
	struct world w = {.shape = s};
	struct host h = {.w = &w, .mem = t_shared(bytes)};
	uint32_t nodes[2] = {0, 1};
	struct emu_live_tag tag = {.task = 10, .source = 3, .bytes = 8, .hops = 1, .vc = 1};
	MUHWI_PacketHeader_t hdr;
	uint32_t payload[128] = {3, 0};

	memset(&hdr, 0, sizeof(hdr));
	hdr.NetworkHeader.pt2pt.Byte3.Byte3 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	REQUIRE_EQ(emu_live_init(h.mem, bytes, &s, nodes, 2, NULL), 0);
	h.live = emu_live_open(h.mem, &ops, &h);
	CHECK_EQ(emu_live_local(h.live, 1), 1);
	CHECK_EQ(emu_live_local(h.live, 2), EMU_LIVE_NONE);
	CHECK_EQ(emu_live_local(h.live, 4), EMU_LIVE_NONE);
	/* The right one: node 3 is over A- of node 0. */
	CHECK_EQ(emu_live_arrive_remote(h.live, 0, 0, &tag, &hdr, payload), 0);
	/* The link is local. */
	CHECK_EQ(emu_live_arrive_remote(h.live, 0, 1, &tag, &hdr, payload), -EPROTO);
	CHECK_EQ(emu_live_arrive_remote(h.live, 2, 0, &tag, &hdr, payload), -EPROTO);
	CHECK_EQ(emu_live_arrive_remote(h.live, 0, 10, &tag, &hdr, payload), -EPROTO);
	tag.vc = 4;
	CHECK_EQ(emu_live_arrive_remote(h.live, 0, 0, &tag, &hdr, payload), -EPROTO);
	tag.vc = 1;
	tag.bytes = 513;
	CHECK_EQ(emu_live_arrive_remote(h.live, 0, 0, &tag, &hdr, payload), -EPROTO);
	tag.bytes = 8;
	hdr.NetworkHeader.pt2pt.Destination.Destination.Destination = 4u << 24;
	CHECK_EQ(emu_live_arrive_remote(h.live, 0, 0, &tag, &hdr, payload), -EPROTO);
	hdr.NetworkHeader.pt2pt.Destination.Destination.Destination = 0;
	hdr.NetworkHeader.pt2pt.Hints = 0xc0;
	CHECK_EQ(emu_live_arrive_remote(h.live, 0, 0, &tag, &hdr, payload), -EPROTO);
	CHECK_EQ(emu_live_credit_remote(h.live, 0, 1, 1), -EPROTO);
	CHECK_EQ(emu_live_credit_remote(h.live, 0, 0, 8), -EPROTO); /* more than there are slots */
	CHECK_EQ(emu_live_credit_remote(h.live, 0, 0, 1ull << 63), -EPROTO);
	CHECK_EQ(emu_live_refused(h.live), 10);
	hdr.NetworkHeader.pt2pt.Hints = 0;
	for (int i = 0; i < 10; i++) /* seven slots, one is taken: four too many */
		CHECK_EQ(emu_live_arrive_remote(h.live, 0, 0, &tag, &hdr, payload), 0);
	w.refuse_percent = 100; /* keeps them, and their credits, where they are */
	emu_live_poll(h.live, 1000);
	CHECK_EQ(emu_live_refused(h.live), 14);
	emu_live_close(h.live);
}

static void memory_is_checked(void)
{
	struct emu_shape s = make_shape(2, 2, 1, 1, 1);
	size_t bytes = emu_live_bytes(&s, 2, NULL);
	uint32_t outside[2] = {0, 4}, twice[2] = {1, 1}, right[2] = {1, 2};
	void *mem = t_shared(bytes);

	CHECK(!emu_live_open(mem, &ops, NULL));
	CHECK_EQ(emu_live_init(mem, bytes - 1, &s, right, 2, NULL), -EINVAL);
	CHECK_EQ(emu_live_init(mem, bytes, &s, outside, 2, NULL), -EINVAL);
	CHECK_EQ(emu_live_init(mem, bytes, &s, twice, 2, NULL), -EINVAL);
	CHECK(!emu_live_open(mem, &ops, NULL));
	CHECK_EQ(emu_live_init(mem, bytes, &s, right, 2, NULL), 0);
	emu_live_close(NULL);
}

/* ---- several pollers at once ---- */

#define WORKERS   4
#define CROWD_MAX 64 /* nodes */

/* Shared by all workers; host k's handle of worker i is its own. */
struct crowd {
	struct emu_shape shape;
	unsigned hosts, packets; /* of each worker */
	uint64_t seed, delivered, wrong;
	uint8_t host_of[CROWD_MAX];
	uint32_t last[WORKERS][CROWD_MAX][CROWD_MAX]; /* written under the lock of the last index */
	void *mem[HOSTS_MAX];
};

struct worker {
	struct crowd *c;
	unsigned index;
	struct worker_host {
		struct worker *w;
		struct emu_live *live;
	} host[HOSTS_MAX];
};

static int crowd_deliver(void *arg, uint32_t local, struct emu_packet *p)
{
	struct worker_host *h = arg;
	struct crowd *c = h->w->c;
	uint32_t word[4], node = emu_live_node(h->live, local);

	memcpy(word, p->payload, sizeof(word));
	if (word[0] != p->route.source || word[1] != node || word[2] >= WORKERS ||
	    p->route.hops != emu_hops(&c->shape, p->route.source, node))
		atomic_fetch_add_relaxed(&c->wrong, 1);
	else if (emu_vc_start(&p->hdr.NetworkHeader.pt2pt) == EMU_VC_BUBBLE) {
		uint32_t *last = &c->last[word[2]][word[0]][node];

		if (word[3] <= *last)
			atomic_fetch_add_relaxed(&c->wrong, 1);
		*last = word[3];
	}
	atomic_fetch_add_release(&c->delivered, 1);
	return 0;
}

static struct emu_live *crowd_other(struct worker_host *h, uint32_t local, unsigned link,
				    uint32_t *there)
{
	struct crowd *c = h->w->c;
	uint32_t to = emu_node_neighbour(&c->shape, emu_live_node(h->live, local), link);
	struct emu_live *live = h->w->host[c->host_of[to]].live;

	*there = emu_live_local(live, to);
	return live;
}

static int crowd_send_remote(void *arg, uint32_t local, unsigned link, unsigned vc,
			     const struct emu_packet *p)
{
	struct worker_host *h = arg;
	struct emu_live_tag tag;
	uint32_t there;
	struct emu_live *live = crowd_other(h, local, link, &there);

	emu_live_tag_of(p, vc, &tag);
	if (emu_live_arrive_remote(live, there, emu_link_opposite(link), &tag, &p->hdr, p->payload))
		atomic_fetch_add_relaxed(&h->w->c->wrong, 1);
	return 0;
}

static int crowd_credit_remote(void *arg, uint32_t local, unsigned link, uint64_t credits)
{
	struct worker_host *h = arg;
	uint32_t there;
	struct emu_live *live = crowd_other(h, local, link, &there);

	if (emu_live_credit_remote(live, there, emu_link_opposite(link), credits))
		atomic_fetch_add_relaxed(&h->w->c->wrong, 1);
	return 0;
}

static const struct emu_live_ops crowd_ops = {crowd_deliver, crowd_send_remote, crowd_credit_remote,
					      NULL};

static int crowd_inject(struct worker *w, struct drv_rng *rng, uint32_t number)
{
	struct crowd *c = w->c;
	uint32_t nodes = emu_shape_nodes(&c->shape), from = (uint32_t)drv_rng_below(rng, nodes);
	uint32_t to = (uint32_t)drv_rng_below(rng, nodes), packet,
		 word[4] = {from, to, w->index, number};
	unsigned vc = (unsigned)drv_rng_below(rng, EMU_VCS);
	struct emu_live *live = w->host[c->host_of[from]].live;
	uint32_t local = emu_live_local(live, from);
	struct emu_packet *p;
	struct emu_coord x;

	if (emu_live_alloc(live, local, vc, &packet))
		return -EAGAIN;
	p = emu_live_packet(live, packet);
	emu_node_coord(&c->shape, to, &x);
	p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination = emu_coord_word(&x);
	p->hdr.NetworkHeader.pt2pt.Byte3.Byte3 = (uint8_t)(vc << 5);
	p->hdr.NetworkHeader.pt2pt.Byte2.Byte2 = vc ? 0 : MUHWI_PACKET_USE_DYNAMIC_ROUTING;
	p->bytes = sizeof(word);
	memcpy(p->payload, word, sizeof(word));
	return emu_live_inject(live, local, vc, packet);
}

/* Inject all, then help until all packets have arrived: a lost wake-up would never end. */
static int crowd_work(void *arg)
{
	struct worker *w = arg;
	struct crowd *c = w->c;
	struct drv_rng rng;

	drv_rng_seed(&rng, c->seed + w->index);
	for (unsigned h = 0; h < c->hosts; h++) {
		w->host[h].w = w;
		w->host[h].live = emu_live_open(c->mem[h], &crowd_ops, &w->host[h]);
		if (!w->host[h].live)
			return 1;
	}
	for (uint32_t sent = 0;
	     atomic_load_acquire(&c->delivered) < (uint64_t)WORKERS * c->packets;) {
		int moved = 0;

		if (sent < c->packets && !crowd_inject(w, &rng, sent + 1)) {
			sent++;
			moved = 1;
		}
		for (unsigned h = 0; h < c->hosts; h++)
			moved |= emu_live_poll(w->host[h].live, 16);
		if (!moved)
			sched_yield();
	}
	for (unsigned h = 0; h < c->hosts; h++)
		emu_live_close(w->host[h].live);
	return 0;
}

static struct crowd *crowd_create(struct emu_shape s, unsigned hosts, unsigned slots,
				  unsigned packets)
{
	struct emu_router_conf conf = {
	    .slots = {(uint16_t)slots, (uint16_t)slots, (uint16_t)slots, (uint16_t)slots}};
	struct crowd *c = t_shared(sizeof(*c));

	c->shape = s;
	c->hosts = hosts;
	c->packets = packets;
	c->seed = t_seed();
	for (uint32_t i = 0; i < emu_shape_nodes(&s); i++)
		c->host_of[i] = (uint8_t)(i % hosts);
	for (unsigned h = 0; h < hosts; h++) {
		uint32_t nodes[CROWD_MAX], k = 0;

		for (uint32_t i = h; i < emu_shape_nodes(&s); i += hosts)
			nodes[k++] = i;
		size_t bytes = emu_live_bytes(&s, k, &conf);
		c->mem[h] = t_shared(bytes);
		REQUIRE_EQ(emu_live_init(c->mem[h], bytes, &s, nodes, k, &conf), 0);
	}
	return c;
}

static void crowd_check(struct crowd *c)
{
	CHECK_EQ(c->delivered, (uint64_t)WORKERS * c->packets);
	CHECK_EQ(c->wrong, 0);
	for (unsigned h = 0; h < c->hosts; h++) {
		struct emu_live *live = emu_live_open(c->mem[h], &crowd_ops, NULL);

		CHECK_EQ(emu_live_refused(live), 0);
		emu_live_close(live);
	}
}

static void *crowd_thread(void *arg)
{
	return crowd_work(arg) ? arg : NULL;
}

static void in_threads(struct emu_shape s, unsigned hosts, unsigned slots, unsigned packets)
{
	struct crowd *c = crowd_create(s, hosts, slots, t_sanitized() ? packets / 10 : packets);
	struct worker w[WORKERS];
	pthread_t thread[WORKERS];

	memset(w, 0, sizeof(w));
	for (unsigned i = 0; i < WORKERS; i++) {
		w[i].c = c;
		w[i].index = i;
		REQUIRE_EQ(pthread_create(&thread[i], NULL, crowd_thread, &w[i]), 0);
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		void *bad;

		pthread_join(thread[i], &bad);
		CHECK(!bad);
	}
	crowd_check(c);
}

static void in_processes(struct emu_shape s, unsigned hosts, unsigned slots, unsigned packets)
{
	struct crowd *c = crowd_create(s, hosts, slots, t_sanitized() ? packets / 10 : packets);
	struct worker w[WORKERS];
	pid_t child[WORKERS];

	memset(w, 0, sizeof(w));
	for (unsigned i = 0; i < WORKERS; i++) {
		w[i].c = c;
		w[i].index = i;
		child[i] = t_child(crowd_work, &w[i]);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		CHECK_EQ(t_wait(child[i], 60), 0);
	crowd_check(c);
}

static void threads_on_one_host(void)
{
	in_threads(make_shape(3, 2, 1, 4, 2), 1, 7, 20000);
	in_threads(make_shape(4, 4, 1, 1, 1), 1, 2, 20000);
	in_threads(make_shape(1, 1, 1, 1, 1), 1, 2, 5000);
	in_threads(make_shape(2, 1, 1, 1, 1), 1, 2, 5000);
}

static void threads_on_three_hosts(void)
{
	in_threads(make_shape(4, 3, 1, 1, 2), 3, 2, 20000);
}

static void processes_on_one_host(void)
{
	in_processes(make_shape(3, 2, 1, 4, 2), 1, 7, 20000);
	in_processes(make_shape(4, 1, 1, 1, 1), 1, 2, 20000);
}

static void processes_on_four_hosts(void)
{
	in_processes(make_shape(4, 4, 2, 1, 1), 4, 2, 20000);
}

/* ---- a process that dies with a router's lock held ---- */

static int die_deliver(void *arg, uint32_t local, struct emu_packet *p)
{
	_exit(7);
}

static int end_in_delivery(void *arg)
{
	static const struct emu_live_ops deadly = {die_deliver, NULL, NULL, NULL};
	struct emu_live *live = emu_live_open(((struct host *)arg)->mem, &deadly, arg);

	emu_live_poll(live, 1000);
	return 0;
}

static void the_dead_stop_their_router_only(void)
{
	struct emu_shape s = make_shape(4, 1, 1, 1, 1);
	struct world *w = world_create(&s, 1, NULL);
	struct emu_live *live = w->host[0].live;

	send_packet(live, &s, 1, 1, 1, 0);
	CHECK_EQ(t_wait(t_child(end_in_delivery, &w->host[0]), 10), 7);
	send_packet(live, &s, 0, 1, 1, 0); /* stays in node 1's inbox */
	send_packet(live, &s, 3, 3, 1, 0);
	send_packet(live, &s, 2, 3, 1, 0);
	for (int i = 0; i < 10; i++)
		emu_live_poll(live, 1000); /* must return */
	CHECK_EQ(w->delivered, 2);
	CHECK_EQ(w->wrong, 0);
	world_destroy(w);
}

/* Killed anywhere, a process takes at most the router it was at with it: polls still return. */
static void killed_at_any_moment(void)
{
	for (int round = 0; round < 50; round++) {
		struct crowd *c = crowd_create(make_shape(4, 4, 1, 1, 1), 1, 2, UINT32_MAX);
		struct worker w[2];
		struct drv_rng rng;
		pid_t child;
		uint64_t before;

		memset(w, 0, sizeof(w));
		w[0].c = w[1].c = c;
		w[1].index = 1;
		child = t_child(crowd_work, &w[1]);
		w[0].host[0].w = &w[0];
		w[0].host[0].live = emu_live_open(c->mem[0], &crowd_ops, &w[0].host[0]);
		drv_rng_seed(&rng, t_seed() + (unsigned)round);
		before = drv_rng_below(&rng, 3000) + 1;
		while (atomic_load_relaxed(&c->delivered) < before) {
			crowd_inject(&w[0], &rng, (uint32_t)drv_rng_next(&rng) >> 1);
			emu_live_poll(w[0].host[0].live, 16);
		}
		kill(child, SIGKILL);
		CHECK_EQ(t_wait(child, 10), 128 + SIGKILL);
		for (int i = 0; i < 3000; i++) {
			crowd_inject(&w[0], &rng, UINT32_MAX);
			emu_live_poll(w[0].host[0].live, 16);
		}
		emu_live_close(w[0].host[0].live);
	}
}

T_MAIN(T(one_host_all_pairs), T(three_hosts_all_pairs), T(hosts_that_refuse),
       T(credits_wake_their_router), T(places_are_bounded_and_room_is_told),
       T(places_of_the_dead_come_back), T(lost_links_swallow), T(refused_delivery_waits_for_a_kick),
       T(budget_is_kept), T(counters_tell_the_traffic), T(wrong_packets_from_outside_are_refused),
       T(memory_is_checked), T(threads_on_one_host), T(threads_on_three_hosts),
       T(processes_on_one_host), T(processes_on_four_hosts), T(the_dead_stop_their_router_only),
       T(killed_at_any_moment))
