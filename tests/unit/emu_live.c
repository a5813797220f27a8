/* SPDX-License-Identifier: BSD-3-Clause */
/* emu/live.c: routers in shared memory; one and several hosts, threads, processes. */
#include "emu/live.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/route.h"
#include "tests/t.h"

#define HOSTS_MAX 4

static struct emu_shape shape(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e)
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
};

static int refuses(struct world *w)
{
	return w->refuse_percent && drv_rng_below(&w->rng, 100) < w->refuse_percent;
}

static int on_deliver(void *arg, uint32_t local, struct emu_packet *p)
{
	struct host *h = arg;
	struct world *w = h->w;
	uint32_t word[2], node = emu_live_node(h->live, local);

	if (refuses(w))
		return -EAGAIN;
	memcpy(word, p->payload, 8);
	w->wrong += word[0] != p->route.source || word[1] != node || p->task != word[0] + 7 ||
	            p->route.hops != emu_hops(&w->shape, p->route.source, node);
	w->delivered++;
	return 0;
}

static int on_send_remote(void *arg, uint32_t local, unsigned link, unsigned vc, const struct emu_packet *p)
{
	struct host *h = arg;
	struct world *w = h->w;
	uint32_t to = emu_node_neighbour(&w->shape, emu_live_node(h->live, local), link);
	struct host *other = &w->host[w->host_of[to]];
	struct emu_live_tag tag;

	if (refuses(w))
		return -EAGAIN;
	emu_live_tag_of(p, vc, &tag);
	w->crossed++;
	if (emu_live_arrive_remote(other->live, emu_live_local(other->live, to), emu_link_opposite(link), &tag, &p->hdr,
	                           p->payload))
		w->wrong++;
	return 0;
}

static int on_credit_remote(void *arg, uint32_t local, unsigned link, uint64_t credits)
{
	struct host *h = arg;
	uint32_t to = emu_node_neighbour(&h->w->shape, emu_live_node(h->live, local), link);
	struct host *other = &h->w->host[h->w->host_of[to]];

	if (refuses(h->w))
		return -EAGAIN;
	if (emu_live_credit_remote(other->live, emu_live_local(other->live, to), emu_link_opposite(link), credits))
		h->w->wrong++;
	return 0;
}

static void on_room(void *arg, uint32_t local)
{
	((struct host *)arg)->w->rooms++;
}

static const struct emu_live_ops ops = {on_deliver, on_send_remote, on_credit_remote, on_room};

/* Node i belongs to host_of[i]. */
static struct world *world_create(const struct emu_shape *s, unsigned hosts, const struct emu_router_conf *conf)
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
		CU_ASSERT_EQUAL_FATAL(emu_live_init(w->host[h].mem, bytes, s, nodes, k, conf), 0);
		w->host[h].live = emu_live_open(w->host[h].mem, &ops, &w->host[h]);
		CU_ASSERT_PTR_NOT_NULL_FATAL(w->host[h].live);
	}
	return w;
}

static void world_destroy(struct world *w)
{
	for (int h = 0; h < HOSTS_MAX; h++)
		emu_live_close(w->host[h].live);
	free(w);
}

static int send(struct emu_live *live, const struct emu_shape *s, uint32_t from, uint32_t to, unsigned vc,
                unsigned queue)
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
			for (uint32_t l = 0; w->refuse_percent && l < emu_live_local_nodes(live); l++)
				emu_live_kick(live, l);
			moved |= w->refuse_percent && emu_live_poll(live, 1000000) && drv_rng_below(&w->rng, 2);
		}
	}
}

static void all_pairs(unsigned hosts, unsigned refuse_percent)
{
	struct emu_shape s = shape(3, 2, 1, 4, 2);
	struct world *w = world_create(&s, hosts, NULL);
	uint32_t count = emu_shape_nodes(&s), sent = 0;

	w->refuse_percent = refuse_percent;
	for (unsigned vc = 0; vc < EMU_VCS; vc++)
		for (uint32_t a = 0; a < count; a++)
			for (uint32_t b = 0; b < count; b++) {
				while (send(w->host[w->host_of[a]].live, &s, a, b, vc, b % EMU_INJECTIONS) == -EAGAIN)
					poll_all(w, hosts);
				sent++;
			}
	w->refuse_percent = 0;
	poll_all(w, hosts);
	for (unsigned h = 0; h < hosts; h++)
		for (uint32_t l = 0; l < emu_live_local_nodes(w->host[h].live); l++)
			emu_live_kick(w->host[h].live, l);
	poll_all(w, hosts);
	CU_ASSERT_EQUAL(w->delivered, sent);
	CU_ASSERT_EQUAL(w->wrong, 0);
	CU_ASSERT(hosts == 1 || w->crossed > 0);
	for (unsigned h = 0; h < hosts; h++) {
		CU_ASSERT_EQUAL(emu_live_bad(w->host[h].live), 0);
		CU_ASSERT_FALSE(emu_live_busy(w->host[h].live));
	}
	world_destroy(w);
}

static void one_host_all_pairs(void) { all_pairs(1, 0); }
static void three_hosts_all_pairs(void) { all_pairs(3, 0); }
static void hosts_that_refuse(void) { all_pairs(4, 30); }

T_MAIN(T(one_host_all_pairs), T(three_hosts_all_pairs), T(hosts_that_refuse))
