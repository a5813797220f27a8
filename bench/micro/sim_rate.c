/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time, hardware only: packet-hops per second of one core. It divides by CPU time, so that
 * other processes do not count, and prints the elapsed time too. Every node of the shape keeps
 * sending packets to random nodes, so every queue is full; there are no tasks. Larger tori exceed
 * the caches: 1,024 nodes (8x4x4x4x2) run at about half the rate.
 *
 *     sim_rate [--shape 2x2x2x2x2] [--packets 20000] [--bytes 512] [--seed 1] [--json]
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/clock.h"
#include "drivers/base/rng.h"
#include "emu/world.h"

enum { START = EMU_WORLD_KINDS };

struct bench {
	struct emu_world *w;
	struct emu_shape shape;
	uint32_t nodes, bytes;
	uint32_t *left;
	struct drv_rng rng;
	uint64_t payload;
};

static void feed_node(struct bench *b, uint32_t node, uint64_t now)
{
	struct emu_packet *pool = emu_world_pool(b->w);

	while (b->left[node]) {
		uint32_t i = emu_world_packet_get(b->w);
		struct emu_packet *p = &pool[i];
		struct emu_coord x;

		memset(&p->hdr, 0, sizeof p->hdr);
		p->hdr.NetworkHeader.pt2pt.Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
		p->hdr.NetworkHeader.pt2pt.Byte3.Byte3 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
		p->hdr.NetworkHeader.pt2pt.Byte8.Size = (b->bytes + 31) / 32;
		emu_node_coord(&b->shape, (uint32_t)drv_rng_below(&b->rng, b->nodes), &x);
		p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination = emu_coord_word(&x);
		p->bytes = b->bytes;
		if (emu_world_inject(b->w, node, 0, i, now)) {
			emu_world_packet_put(b->w, i);
			return;
		}
		b->left[node]--;
	}
}

static void on_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t when)
{
	struct bench *b = arg;

	b->payload += emu_world_pool(b->w)[packet].bytes;
	emu_world_packet_put(b->w, packet);
}

static void on_room(void *arg, uint32_t node, unsigned queue, uint64_t now)
{
	feed_node(arg, node, now);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int print_usage(void)
{
	fprintf(stderr, "usage: sim_rate [--shape AxBxCxDxE] [--packets N] [--bytes 0..512] "
			"[--seed N] [--json]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"shape", 1, 0, 's'}, {"packets", 1, 0, 'n'}, {"bytes", 1, 0, 'b'},
	    {"seed", 1, 0, 'r'},  {"json", 0, 0, 'j'},    {0},
	};
	static const struct emu_world_ops ops = {on_deliver, on_room};
	struct emu_world_conf conf = {.ops = &ops};
	const char *shape = "2x2x2x2x2";
	struct bench b = {.bytes = 512};
	struct emu_world_stat s;
	struct emu_event e;
	uint64_t seed = 1, each = 20000, t0, c0;
	double sec, cpu;
	char err[200];
	int c, json = 0;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			shape = optarg;
			break;
		case 'n':
			each = strtoull(optarg, NULL, 0);
			break;
		case 'b':
			b.bytes = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'r':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'j':
			json = 1;
			break;
		default:
			return print_usage();
		}
	}
	if (emu_shape_parse(shape, &b.shape, err, sizeof err) || b.bytes > 512 ||
	    each > UINT32_MAX) {
		fprintf(stderr, "sim_rate: %s\n", b.bytes > 512 ? "--bytes must be 0 to 512" : err);
		return print_usage();
	}
	conf.shape = b.shape;
	conf.arg = &b;
	emu_timing_default(&conf.timing);
	if (emu_world_create(&conf, &b.w)) {
		fprintf(stderr, "sim_rate: no memory for a torus of %s\n", shape);
		return 1;
	}
	b.nodes = emu_shape_nodes(&b.shape);
	b.left = malloc(b.nodes * sizeof *b.left);
	drv_rng_seed(&b.rng, seed);
	for (uint32_t i = 0; i < b.nodes; i++) {
		b.left[i] = (uint32_t)each;
		emu_sched_push(emu_world_sched(b.w), 0, i, 100, START, 0, 0);
	}
	c0 = cpu_ns();
	t0 = drv_clock_ns();
	while (emu_world_next(b.w, &e))
		if (e.kind == START)
			feed_node(&b, emu_event_node(&e), e.time);
	sec = (double)(drv_clock_ns() - t0) * 1e-9;
	cpu = (double)(cpu_ns() - c0) * 1e-9;
	emu_world_stat(b.w, &s);

	if (json)
		printf("{\"bench\": \"sim_rate\", \"clock\": \"virtual\", \"shape\": \"%s\", "
		       "\"bytes\": %u, "
		       "\"seed\": %" PRIu64 ", \"packet_hops\": %" PRIu64
		       ", \"seconds\": %.3f, \"cpu_seconds\": %.3f, "
		       "\"packet_hops_per_s\": %.0f, \"events\": %" PRIu64
		       ", \"virtual_us\": %.3f, "
		       "\"hash\": \"%016" PRIx64 "\"}\n",
		       shape, b.bytes, seed, s.packet_hops, sec, cpu, (double)s.packet_hops / cpu,
		       s.events, (double)s.time_ps * 1e-6, s.hash);
	else
		printf("shape %s, %u nodes, %u B to random nodes: %" PRIu64
		       " packet-hops in %.2f s (%.2f s of CPU): "
		       "%.2f M packet-hops/s (target 3), %.2f M events/s, %.2f events a hop, "
		       "virtual time %.1f us, hash %016" PRIx64 "\n",
		       shape, b.nodes, b.bytes, s.packet_hops, sec, cpu,
		       (double)s.packet_hops / cpu * 1e-6, (double)s.events / cpu * 1e-6,
		       (double)s.events / (double)s.packet_hops, (double)s.time_ps * 1e-6, s.hash);
	emu_world_destroy(b.w);
	free(b.left);
	return s.error || s.in_flight;
}
