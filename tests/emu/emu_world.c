/* SPDX-License-Identifier: BSD-3-Clause */
/* A torus in virtual time: latency of a lone packet, bandwidth of a stream, all-to-all, hash. */
#include "emu/world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/t.h"

enum { USER = EMU_WORLD_KINDS };

struct run {
	struct emu_world *w;
	uint64_t last, bytes;
	uint32_t count, wrong_node, refused;
	uint32_t *todo; /* packets each node has still to send */
	uint32_t nodes;
	uint32_t (*pick)(uint32_t from, uint32_t i);
	uint32_t payload;
};

static uint32_t make_packet(struct run *r, uint32_t to, uint32_t bytes, const struct emu_shape *s)
{
	uint32_t p = emu_world_packet_get(r->w);
	struct emu_packet *k = &emu_world_pool(r->w)[p];
	struct emu_coord x;

	memset(&k->hdr, 0, sizeof k->hdr);
	emu_node_coord(s, to, &x);
	k->hdr.NetworkHeader.pt2pt.Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	k->hdr.NetworkHeader.pt2pt.Byte3.Byte3 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	k->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination = emu_coord_word(&x);
	k->hdr.NetworkHeader.pt2pt.Byte8.Size = (bytes + 31) / 32;
	k->bytes = bytes;
	k->task = to;
	return p;
}

static const struct emu_shape *shape;

static void feed_node(struct run *r, uint32_t node, uint64_t now)
{
	while (r->todo && r->todo[node]) {
		uint32_t p = make_packet(r, r->pick(node, r->todo[node]), r->payload, shape);

		if (emu_world_inject(r->w, node, p & 1, p, now)) {
			emu_world_packet_put(r->w, p);
			r->refused++;
			return;
		}
		r->todo[node]--;
	}
}

static void on_deliver(void *arg, uint32_t node, uint32_t p, uint64_t when)
{
	struct run *r = arg;

	r->wrong_node += emu_world_pool(r->w)[p].task != node;
	r->bytes += emu_world_pool(r->w)[p].bytes;
	r->count++;
	if (when > r->last)
		r->last = when;
	emu_world_packet_put(r->w, p);
}

static void on_room(void *arg, uint32_t node, unsigned queue, uint64_t now)
{
	feed_node(arg, node, now);
}

static const struct emu_world_ops ops = {on_deliver, on_room};

static void start_run(struct run *r, const char *text, int express)
{
	static struct emu_shape s;
	struct emu_world_conf c = {.express = express, .ops = &ops, .arg = r};
	char err[200];

	REQUIRE_EQ(emu_shape_parse(text, &s, err, sizeof err), 0);
	shape = &s;
	memset(r, 0, sizeof *r);
	c.shape = s;
	emu_timing_default(&c.timing);
	REQUIRE_EQ(emu_world_create(&c, &r->w), 0);
	r->nodes = emu_shape_nodes(&s);
}

/* Every node sends `each` packets; returns the statistics at the end. */
static struct emu_world_stat run_traffic(struct run *r, uint32_t each, uint32_t payload,
					 uint32_t (*pick)(uint32_t, uint32_t))
{
	struct emu_world_stat s;
	struct emu_event e;

	r->todo = calloc(r->nodes, sizeof *r->todo);
	r->pick = pick;
	r->payload = payload;
	for (uint32_t i = 0; i < r->nodes; i++) {
		r->todo[i] = each;
		emu_sched_push(emu_world_sched(r->w), 1000, i, 100, USER, 0, 0);
	}
	while (emu_world_next(r->w, &e))
		if (e.kind == USER)
			feed_node(r, emu_event_node(&e), e.time);
	emu_world_stat(r->w, &s);
	free(r->todo);
	r->todo = NULL;
	CHECK_EQ(s.error, 0);
	CHECK_EQ(s.in_flight, 0);
	CHECK_EQ(r->wrong_node, 0);
	return s;
}

static uint32_t lone_ps(int express, uint32_t to, uint32_t payload)
{
	struct emu_event e;
	struct run r;

	start_run(&r, "8x4x2x2x2", express);
	CHECK_EQ(emu_world_inject(r.w, 0, 0, make_packet(&r, to, payload, shape), 0), 0);
	while (emu_world_next(r.w, &e))
		;
	CHECK_EQ(r.count, 1);
	CHECK_EQ(r.wrong_node, 0);
	emu_world_destroy(r.w);
	return (uint32_t)r.last;
}

/* hops * hop + bytes once (cut-through), to every node, in both fabrics. */
static void latency_of_a_lone_packet(void)
{
	struct emu_timing t;

	emu_timing_default(&t);
	for (int express = 0; express < 2; express++)
		for (uint32_t to = 1; to < 256; to += 5)
			for (uint32_t n = 0; n <= 512; n += 256)
				CHECK_EQ(lone_ps(express, to, n),
					 emu_hops(shape, 0, to) * t.hop_ps +
					     (40 + n) * t.link_ps_per_byte);
	CHECK_EQ(lone_ps(0, 0, 512), 552 * t.local_ps_per_byte);
}

static uint32_t to_neighbour(uint32_t from, uint32_t i)
{
	return from ^ 1;
}

static void stream_between_neighbours(void)
{
	struct run r;
	struct emu_world_stat s;
	double rate;

	start_run(&r, "1x1x1x4x1", 0);
	s = run_traffic(&r, 2048, 512, to_neighbour);
	/* GB/s of payload, both ways at once. */
	rate = 2048 * 512.0 / (double)(r.last - 1000) * 1000;
	printf("stream: %.3f GB/s, refused %u times\n", rate, r.refused);
	CHECK_NEAR(rate, 1.8, 0.01);
	CHECK(r.refused > 0);
	CHECK_EQ(s.packet_hops, 4 * 2048);
	emu_world_destroy(r.w);
}

static uint32_t to_all(uint32_t from, uint32_t i)
{
	return (from + i) % emu_shape_nodes(shape);
}

static void everyone_to_everyone(void)
{
	struct emu_world_stat s[2];
	uint64_t packets = 0;
	struct run r;

	for (int express = 0; express < 2; express++) {
		start_run(&r, "3x2x1x4x2", express);
		s[express] = run_traffic(&r, 48 * 20, 100, to_all);
		CHECK_EQ(r.count, 48 * 48 * 20);
		for (uint32_t n = 0; n < r.nodes && !express; n++)
			for (unsigned l = 0; l < EMU_LINKS; l++) {
				struct emu_link_stat k;

				emu_world_link_stat(r.w, n, l, &k);
				packets += k.packets;
			}
		emu_world_destroy(r.w);
	}
	CHECK_EQ(s[0].packet_hops, s[1].packet_hops); /* every path was minimal */
	CHECK_EQ(s[0].packet_hops, packets);
}

static void same_run_same_hash(void)
{
	static const uint32_t payload[] = {64, 64, 65};
	struct emu_world_stat s[3];
	struct run r;

	for (int i = 0; i < 3; i++) {
		start_run(&r, "4x4x2x2x2", 0);
		s[i] = run_traffic(&r, 200, payload[i], to_all);
		emu_world_destroy(r.w);
	}
	CHECK_EQ(s[0].hash, s[1].hash);
	CHECK_EQ(s[0].events, s[1].events);
	CHECK((s[0].hash) != (s[2].hash));
}

static void a_bad_header_is_refused(void)
{
	for (int express = 0; express < 2; express++) {
		struct run r;
		uint32_t p;

		start_run(&r, "2x2x1x1x1", express);
		p = make_packet(&r, 0, 8, shape);
		emu_world_pool(r.w)[p].hdr.NetworkHeader.pt2pt.Destination.Destination.Destination =
		    9u << 24;
		CHECK_EQ(emu_world_inject(r.w, 0, 0, p, 0), -EINVAL);
		emu_world_destroy(r.w);
	}
}

T_MAIN(T(latency_of_a_lone_packet), T(stream_between_neighbours), T(everyone_to_everyone),
       T(same_run_same_hash), T(a_bad_header_is_refused))
