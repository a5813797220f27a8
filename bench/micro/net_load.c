/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time, hardware only: what the network accepts of a traffic pattern, against what nodes
 * offer. Every node makes packets of 512 bytes at a steady rate with random phases, and gives each
 * to the injection queue that the messaging unit's software would choose. It counts payload that
 * arrives in a window after a warm-up.
 *
 *     net_load [--shape 8x4x4x4x2] [--pattern all-to-all] [--routing det|0|1|2|3] [--load 1.0]
 *              [--warm 60] [--window 60] [--hw name=value,...] [--seed 1]
 *
 * The load is a fraction of the peak of an all-to-all: half of its traffic crosses the narrowest
 * cut one way, so a node can send at most 8 / (longest extent) times the payload rate of a link on
 * a torus. Prints one line: pattern routing load offered accepted (GB/s a node) share of the peak,
 * mean latency in us.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/rng.h"
#include "emu/machine.h"
#include "emu/world.h"

enum { MAKE = EMU_WORLD_KINDS };

#define PORT_MAKE 4000
#define PINS      EMU_LINKS
#define WAITING   32u /* packets that wait for one injection queue of a node; a full one drops */
#define BYTES     512u

struct source {
	uint32_t to[WAITING];
	uint64_t made[WAITING];
	uint32_t first, count;
};

struct bench {
	struct emu_world *w;
	struct emu_route route;
	struct emu_shape shape;
	uint32_t nodes, bits;
	int zone; /* -1: deterministic */
	uint32_t (*pick)(struct bench *b, uint32_t node);
	uint32_t *list;  /* random permutation of the nodes */
	uint32_t *place; /* [nodes] place of each in the list */
	uint32_t *turn;  /* [nodes] packets made */
	struct source *source;
	struct drv_rng rng;
	uint64_t from_ps, until_ps, interval_ps;
	uint64_t accepted, latency_ps, packets, made;
};

/* ---- patterns: where a packet of `node` goes ---- */

static uint32_t pick_all(struct bench *b, uint32_t node)
{
	/* Every node walks through all others, each from another place of one random order. */
	uint32_t to = b->list[(b->turn[node]++ + (uint64_t)node * 7919u) % b->nodes];

	return to == node ? b->list[(b->turn[node]++ + (uint64_t)node * 7919u) % b->nodes] : to;
}

static uint32_t pick_permutation(struct bench *b, uint32_t node)
{
	return b->list[node];
}

/*
 * Random pairings: a message of 64 KiB to the partner of this round, which is a random rotation of
 * a random order; then the next round.
 */
static uint32_t pick_pairing(struct bench *b, uint32_t node)
{
	uint32_t round = b->turn[node]++ / (65536 / BYTES);
	uint64_t turn = (round + 1) * 0x9e3779b97f4a7c15ull;

	return b->list[(b->place[node] + 1 + (turn >> 20) % (b->nodes - 1)) % b->nodes];
}

/* The upper half of the node number's bits changes place with the lower half. */
static uint32_t pick_transpose(struct bench *b, uint32_t node)
{
	unsigned half = b->bits / 2, rest = b->bits - half;

	return (node >> half | node << rest) & (b->nodes - 1);
}

static uint32_t pick_neighbour(struct bench *b, uint32_t node)
{
	uint32_t to = node;

	while (to == node || to == UINT32_MAX)
		to = emu_node_neighbour(&b->shape, node, b->turn[node]++ % EMU_LINKS);
	return to;
}

static uint32_t pick_complement(struct bench *b, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(&b->shape, node, &x);
	for (int d = 0; d < EMU_DIMS; d++)
		x.c[d] = (uint8_t)(b->shape.n[d] - 1 - x.c[d]);
	return emu_coord_node(&b->shape, &x);
}

/* Half the longest way in every dimension in one direction: all traffic of a dimension on one side
 * of its rings. */
static uint32_t pick_tornado(struct bench *b, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(&b->shape, node, &x);
	for (int d = 0; d < EMU_DIMS; d++)
		if (b->shape.n[d] > 2)
			x.c[d] = (uint8_t)((x.c[d] + (b->shape.n[d] - 1u) / 2) % b->shape.n[d]);
	return emu_coord_node(&b->shape, &x);
}

/* One packet in ten goes to the middle node. */
static uint32_t pick_hot_spot(struct bench *b, uint32_t node)
{
	uint32_t hot = b->nodes / 2;

	return drv_rng_below(&b->rng, 10) || node == hot ? pick_all(b, node) : hot;
}

static const struct {
	const char *name;
	uint32_t (*pick)(struct bench *b, uint32_t node);
} patterns[] = {
    {"all-to-all", pick_all},      {"pairings", pick_pairing},    {"permutation", pick_permutation},
    {"transpose", pick_transpose}, {"neighbour", pick_neighbour}, {"complement", pick_complement},
    {"tornado", pick_tornado},     {"hot-spot", pick_hot_spot},
};

/* ---- injection ---- */

static uint32_t word_of(const struct bench *b, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(&b->shape, node, &x);
	return emu_coord_word(&x);
}

/* docs/hardware.md 13.3: a line to its direction, a diagonal by the sum of its differences. */
static unsigned pin_of(const struct bench *b, uint32_t from, uint32_t to)
{
	struct emu_coord x, y;
	unsigned hints = 0, sum = 0;

	emu_route_hints(&b->route, word_of(b, from), word_of(b, to), 0, &hints);
	if (!(hints & (hints - 1)))
		return 9u - (unsigned)__builtin_ctz(hints);
	emu_node_coord(&b->shape, from, &x);
	emu_node_coord(&b->shape, to, &y);
	for (int d = 0; d < EMU_DIMS; d++)
		sum += (unsigned)abs(x.c[d] - y.c[d]);
	return sum % PINS;
}

static bool inject_packet(struct bench *b, uint32_t node, unsigned pin, uint32_t to, uint64_t made,
			  uint64_t now)
{
	uint32_t i = emu_world_packet_get(b->w);
	struct emu_packet *p;
	MUHWI_Pt2PtNetworkHeader_t *h;

	if (i == UINT32_MAX)
		return false;
	p = &emu_world_pool(b->w)[i];
	h = &p->hdr.NetworkHeader.pt2pt;
	memset(&p->hdr, 0, sizeof p->hdr);
	h->Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	h->Byte3.Byte3 =
	    b->zone < 0 ? MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC
			: (uint8_t)(MUHWI_PACKET_VIRTUAL_CHANNEL_DYNAMIC | (unsigned)b->zone << 3);
	h->Byte2.Byte2 = b->zone < 0 ? 0 : MUHWI_PACKET_USE_DYNAMIC_ROUTING;
	h->Byte8.Size = BYTES / 32;
	h->Destination.Destination.Destination = word_of(b, to);
	p->bytes = BYTES;
	memcpy(p->payload, &made, sizeof made);
	if (!emu_world_inject(b->w, node, EMU_INJECTION_LINE + pin, i, now))
		return true;
	emu_world_packet_put(b->w, i);
	return false;
}

static void feed_pin(struct bench *b, uint32_t node, unsigned pin, uint64_t now)
{
	struct source *s = &b->source[node * PINS + pin];

	while (s->count && inject_packet(b, node, pin, s->to[s->first], s->made[s->first], now)) {
		s->first = (s->first + 1) % WAITING;
		s->count--;
	}
}

static void make_message(struct bench *b, uint32_t node, uint64_t now)
{
	uint32_t to = b->pick(b, node);
	struct source *s;
	unsigned pin;

	emu_sched_push(emu_world_sched(b->w), now + b->interval_ps, node, PORT_MAKE, MAKE, 0, 0);
	if (to == node)
		return;
	b->made += now >= b->from_ps;
	pin = pin_of(b, node, to);
	s = &b->source[node * PINS + pin];
	if (s->count == WAITING)
		return;
	s->to[(s->first + s->count) % WAITING] = to;
	s->made[(s->first + s->count++) % WAITING] = now;
	feed_pin(b, node, pin, now);
}

static void on_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t when)
{
	struct bench *b = arg;
	uint64_t made;

	if (when >= b->from_ps && when < b->until_ps) {
		memcpy(&made, emu_world_pool(b->w)[packet].payload, sizeof made);
		b->accepted += BYTES;
		b->latency_ps += when - made;
		b->packets++;
	}
	emu_world_packet_put(b->w, packet);
}

static void on_room(void *arg, uint32_t node, unsigned queue, uint64_t now)
{
	feed_pin(arg, node, queue - EMU_INJECTION_LINE, now);
}

/* ---- the run ---- */

static int print_usage(const char *why)
{
	fprintf(stderr, "net_load: %s\nusage: net_load [--shape AxBxCxDxE] [--pattern ", why);
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		fprintf(stderr, "%s%s", i ? "|" : "", patterns[i].name);
	fprintf(stderr, "] [--routing det|0|1|2|3] [--load FRACTION] [--warm US] [--window US] "
			"[--hw NAME=VALUE,...] [--seed N]\n");
	return 2;
}

static int prepare_bench(struct bench *b, const struct emu_machine *m, uint64_t seed)
{
	static const struct emu_world_ops ops = {on_deliver, on_room};
	struct emu_world_conf conf = {.ops = &ops, .arg = b};

	b->shape.mesh |= (uint8_t)emu_machine_mesh(m);
	conf.shape = b->shape;
	conf.timing = m->timing;
	emu_machine_router(m, &conf.slots);
	emu_route_init_as(&b->route, &b->shape, &conf.slots.routing);
	b->nodes = emu_shape_nodes(&b->shape);
	while (1u << b->bits < b->nodes)
		b->bits++;
	b->list = malloc(b->nodes * sizeof *b->list);
	b->place = malloc(b->nodes * sizeof *b->place);
	b->turn = calloc(b->nodes, sizeof *b->turn);
	b->source = calloc((size_t)b->nodes * PINS, sizeof *b->source);
	if (!b->list || !b->place || !b->turn || !b->source || emu_world_create(&conf, &b->w))
		return -1;
	drv_rng_seed(&b->rng, seed);
	for (uint32_t i = 0; i < b->nodes; i++)
		b->list[i] = i;
	for (uint32_t i = b->nodes - 1; i; i--) {
		uint32_t k = (uint32_t)drv_rng_below(&b->rng, i + 1), x = b->list[i];

		b->list[i] = b->list[k];
		b->list[k] = x;
	}
	for (uint32_t i = 0; i < b->nodes; i++)
		b->place[b->list[i]] = i;
	return 0;
}

/* The peak of an all-to-all, GB/s of payload a node. */
static double peak_of(const struct bench *b, const struct emu_machine *m)
{
	double link = BYTES * 1000.0 / ((BYTES + 40) * (double)m->timing.link_ps_per_byte);
	double least = 1e9;

	for (int d = 0; d < EMU_DIMS; d++) {
		/* Both links of a ring, also of two nodes, lead over each of its two cuts. */
		double cut = b->shape.mesh >> d & 1 ? 4.0 : 8.0;

		if (b->shape.n[d] > 1 && cut / b->shape.n[d] < least)
			least = cut / b->shape.n[d];
	}
	return least * link;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"shape", 1, 0, 's'}, {"pattern", 1, 0, 'p'}, {"routing", 1, 0, 'r'},
	    {"load", 1, 0, 'l'},  {"warm", 1, 0, 'w'},    {"window", 1, 0, 'm'},
	    {"hw", 1, 0, 'h'},    {"seed", 1, 0, 'e'},    {0},
	};
	const char *shape = "8x4x4x4x2", *pattern = "all-to-all", *routing = "det", *hw = NULL;
	double load = 1, warm = 60, window = 60, peak, offered, accepted;
	struct bench b = {.zone = -1};
	struct emu_machine m;
	struct emu_event e;
	uint64_t seed = 1;
	char err[256];
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 's':
			shape = optarg;
			break;
		case 'p':
			pattern = optarg;
			break;
		case 'r':
			routing = optarg;
			break;
		case 'l':
			load = strtod(optarg, NULL);
			break;
		case 'w':
			warm = strtod(optarg, NULL);
			break;
		case 'm':
			window = strtod(optarg, NULL);
			break;
		case 'h':
			hw = optarg;
			break;
		case 'e':
			seed = strtoull(optarg, NULL, 0);
			break;
		default:
			return print_usage("unknown option");
		}
	emu_machine_default(&m);
	if (emu_shape_parse(shape, &b.shape, err, sizeof err) ||
	    emu_machine_set(&m, hw, err, sizeof err))
		return print_usage(err);
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		if (!strcmp(patterns[i].name, pattern))
			b.pick = patterns[i].pick;
	if (strcmp(routing, "det"))
		b.zone =
		    routing[0] >= '0' && routing[0] <= '3' && !routing[1] ? routing[0] - '0' : 4;
	if (!b.pick || b.zone > 3 || !(load > 0 && load <= 20) || !(warm >= 0) || !(window > 0))
		return print_usage("a pattern, routing or number is wrong");
	if (prepare_bench(&b, &m, seed))
		return print_usage("no memory for that torus");
	if (b.nodes & (b.nodes - 1) && b.pick == pick_transpose)
		return print_usage("transpose needs a power of two nodes");
	peak = peak_of(&b, &m);
	b.from_ps = (uint64_t)(warm * 1e6);
	b.until_ps = b.from_ps + (uint64_t)(window * 1e6);
	b.interval_ps = (uint64_t)(BYTES * 1000.0 / (load * peak));
	for (uint32_t i = 0; i < b.nodes; i++)
		emu_sched_push(emu_world_sched(b.w), drv_rng_below(&b.rng, b.interval_ps), i,
			       PORT_MAKE, MAKE, 0, 0);
	while (emu_world_next(b.w, &e) && e.time < b.until_ps)
		if (e.kind == MAKE)
			make_message(&b, emu_event_node(&e), e.time);
	offered = (double)b.made * BYTES / (window * 1e3) / b.nodes;
	accepted = (double)b.accepted / (window * 1e3) / b.nodes;
	printf("%-12s %-3s %5.2f %8.3f %8.3f %7.3f %9.2f\n", pattern, routing, load, offered,
	       accepted, accepted / peak,
	       b.packets ? (double)b.latency_ps / 1e6 / (double)b.packets : 0);
	emu_world_destroy(b.w);
	free(b.list);
	free(b.place);
	free(b.turn);
	free(b.source);
	return 0;
}
