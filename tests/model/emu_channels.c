/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of the virtual channels (emu/vc.h) as a model of a few lines, searched exhaustively.
 * A state is the content of every queue. From each reachable state the search makes every move
 * that some timing could make: each head that may leave does, and every node offers packets of
 * every kind. A state that holds packets, and none of them can move, is a deadlock.
 *
 * Packets travel in plus directions only, since the other directions use other queues. A move
 * brings a packet nearer to its target or to another channel, so a search that finds no deadlock
 * shows that each packet arrives, whatever the order of events.
 *
 *   deterministic   channel 1
 *   dynamic         channel 0, escapes to channel 1 and may return
 *   dynamic, stay   channel 0, escapes to channel 1 and stays there
 *   high, system    channel 2 or 3, by the rules of channel 1: `top` runs them there
 *   redirected      at its target it starts again towards another node, on a channel of its own
 *   turn ...        a packet to an address: a router's table sends it on towards
 *                   another node, once, on channel 3. What a router on the way does is the same as
 *                   at a target, since only the ways before and after the turn count. At its second
 *                   target it always leaves the network: for good, or into the memory of the
 *                   messaging unit, from where it starts again as a new packet while its block
 *                   moves on. That unit takes it without waiting for a place in the network.
 *   turn again      the same without that memory: the second table turns it on channel 3 as well
 *   request         at its target it becomes an answer on another channel (remote gets)
 *   collective      two class routes over one line of nodes, used in opposite orders by its ends
 *
 * The negative cases prove that the search can fail: without the bubble rule, with redirected
 * packets on the channel they came from or turned twice, with class routes that share slots.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emu/vc.h"
#include "tests/harness/t.h"

enum kind {
	DETERMINISTIC = 1,
	DYNAMIC,
	STAY,
	HIGH,
	SYSTEM,
	REDIRECTED,
	REQUEST,
	/* Turned towards a node that is far in the first dimension, in the second, in both. */
	TURN_FIRST,
	TURN_SECOND,
	TURN_BOTH,
	TURN_AGAIN, /* becomes a TURN_FIRST */
	KINDS
};

#define DIMS        2
#define NODES_MAX   9
#define SLOTS       2
#define STATE_BYTES 144
#define CELLS       (1u << 20)

struct net_case {
	const char *name;
	unsigned n[DIMS];     /* nodes in each dimension */
	unsigned way[DIMS];   /* the longest way in each, in hops */
	unsigned kinds;       /* bit per kind that nodes offer */
	unsigned packets;     /* in the network at once; 0: any number */
	unsigned redirect_vc; /* channel on which redirected packets go on, and answers leave */
	bool no_bubble;
	bool stuck; /* expected */
};

/* A packet: kind << 4 | hops left in the second dimension << 2 | hops left in the first; 0: none.
 */
struct state {
	uint8_t slot[STATE_BYTES]; /* [node][input: dimension][vc][SLOTS] */
};

struct search {
	const struct net_case *c;
	unsigned nodes, bytes;
	uint64_t states, room, limit;
	uint8_t *known; /* [room * bytes], in the order found */
	uint32_t *cell; /* hash table: number of the state + 1 */
	uint64_t cells;
	bool stuck;
};

static unsigned hops_left(uint8_t packet, unsigned d)
{
	return packet >> (2 * d) & 3;
}

static uint8_t *queue_at(struct state *s, unsigned node, unsigned d, unsigned vc)
{
	return &s->slot[((node * DIMS + d) * EMU_VCS + vc) * SLOTS];
}

static unsigned count_free(const uint8_t *queue)
{
	return (unsigned)!queue[0] + !queue[1];
}

static unsigned neighbour_of(const struct net_case *c, unsigned node, unsigned d)
{
	unsigned x = node % c->n[0], y = node / c->n[0];

	return d ? (y + 1) % c->n[1] * c->n[0] + x : y * c->n[0] + (x + 1) % c->n[0];
}

static bool is_ring(const struct net_case *c, unsigned d)
{
	return c->n[d] > 2 && !c->no_bubble;
}

static uint64_t hash_state(const struct search *k, const uint8_t *s)
{
	uint64_t h = 0x51544f52, word;
	unsigned i;

	for (i = 0; i + 8 <= k->bytes; i += 8) {
		memcpy(&word, s + i, 8);
		h = (h ^ word) * 0x100000001b3ull;
		h ^= h >> 32; /* the cell is chosen by the low bits */
	}
	for (; i < k->bytes; i++)
		h = (h ^ s[i]) * 0x100000001b3ull;
	return h ^ h >> 29;
}

static void table_grow(struct search *k)
{
	free(k->cell);
	k->cells = k->cells ? 4 * k->cells : CELLS;
	k->room = k->cells / 2;
	k->cell = calloc(k->cells, sizeof *k->cell);
	k->known = realloc(k->known, k->room * k->bytes);
	for (uint64_t i = 0; i < k->states; i++) {
		uint64_t at = hash_state(k, k->known + i * k->bytes);

		while (k->cell[at & (k->cells - 1)])
			at++;
		k->cell[at & (k->cells - 1)] = (uint32_t)i + 1;
	}
}

static void state_add(struct search *k, const struct state *s)
{
	uint64_t at = hash_state(k, s->slot);
	uint32_t found;

	for (; (found = k->cell[at & (k->cells - 1)]) != 0; at++)
		if (!memcmp(k->known + (found - 1ull) * k->bytes, s->slot, k->bytes))
			return;
	if (k->states == k->room) {
		table_grow(k);
		state_add(k, s);
		return;
	}
	memcpy(k->known + k->states * k->bytes, s->slot, k->bytes);
	k->cell[at & (k->cells - 1)] = (uint32_t)++k->states;
}

/* Where a packet of a kind starts. */
static unsigned start_vc(unsigned kind)
{
	static const uint8_t vc[KINDS] = {
	    [DETERMINISTIC] = EMU_VC_BUBBLE, [DYNAMIC] = EMU_VC_DYNAMIC,
	    [STAY] = EMU_VC_DYNAMIC,         [HIGH] = EMU_VC_HIGH,
	    [SYSTEM] = EMU_VC_SYSTEM,        [REDIRECTED] = EMU_VC_BUBBLE,
	    [REQUEST] = EMU_VC_HIGH,         [TURN_FIRST] = EMU_VC_BUBBLE,
	    [TURN_SECOND] = EMU_VC_BUBBLE,   [TURN_BOTH] = EMU_VC_BUBBLE,
	    [TURN_AGAIN] = EMU_VC_BUBBLE};

	return vc[kind];
}

struct mover {
	struct search *k;
	struct state *s;
	unsigned node, from_d, from_vc; /* from_d DIMS: the packet is not in a queue yet */
	unsigned moves;
};

/* Put the packet into the next queue in dimension d on channel vc, if the rule allows it. */
static bool move_to(struct mover *m, uint8_t packet, unsigned d, unsigned vc)
{
	const struct net_case *c = m->k->c;
	struct state next = *m->s;
	uint8_t *to = queue_at(&next, neighbour_of(c, m->node, d), d, vc), *from;
	bool straight = m->from_d == d && m->from_vc == vc;
	unsigned need = vc == EMU_VC_DYNAMIC || straight || !is_ring(c, d) ? 1 : 2;

	if (count_free(to) < need)
		return false;
	if (m->from_d < DIMS) {
		from = queue_at(&next, m->node, m->from_d, m->from_vc);
		from[0] = from[1];
		from[1] = 0;
	}
	to[!!to[0]] = (uint8_t)(packet - (1u << (2 * d)));
	state_add(m->k, &next);
	m->moves++;
	return true;
}

/* All ways on of a packet that is not at its target, on channel vc (its first, or where it waits).
 */
static void packet_route(struct mover *m, uint8_t packet, unsigned vc)
{
	unsigned kind = packet >> 4, first = hops_left(packet, 0) ? 0 : 1;
	bool is_dynamic = kind == DYNAMIC || (kind == STAY && vc == EMU_VC_DYNAMIC), any = false;

	if (!is_dynamic) {
		move_to(m, packet, first, vc);
		return;
	}
	for (unsigned d = 0; d < DIMS; d++)
		if (hops_left(packet, d))
			any |= move_to(m, packet, d, EMU_VC_DYNAMIC);
	if (!any)
		move_to(m, packet, first, EMU_VC_BUBBLE);
}

/* Start packets of a kind to every other node within reach. */
static void start_all(struct mover *m, unsigned kind, unsigned vc)
{
	const struct net_case *c = m->k->c;

	for (unsigned x = 0; x <= c->way[0]; x++)
		for (unsigned y = 0; y <= c->way[1]; y++)
			if (x | y)
				packet_route(m, (uint8_t)(kind << 4 | y << 2 | x), vc);
}

/*
 * The head, at its target, goes on as a packet of another kind with x and y hops left. It leaves
 * its queue when it has a place on the channel of redirects; the channel it came from counts as
 * another ring.
 */
static void turn_to(struct mover *m, unsigned kind, unsigned x, unsigned y)
{
	const struct net_case *c = m->k->c;
	unsigned d = x ? 0 : 1;
	struct state s = *m->s;
	uint8_t *to = queue_at(&s, neighbour_of(c, m->node, d), d, c->redirect_vc);
	uint8_t *from = queue_at(&s, m->node, m->from_d, m->from_vc);

	if (count_free(to) < (is_ring(c, d) ? 2u : 1u))
		return;
	from[0] = from[1];
	from[1] = 0;
	to[!!to[0]] = (uint8_t)((kind << 4 | y << 2 | x) - (1u << (2 * d)));
	state_add(m->k, &s);
	m->moves++;
}

static void head_move(struct mover *m)
{
	struct state next = *m->s;
	uint8_t *q = queue_at(&next, m->node, m->from_d, m->from_vc), packet = q[0];
	unsigned kind = packet >> 4;

	if (packet & 15) {
		packet_route(m, packet, m->from_vc);
		return;
	}
	if (kind == REDIRECTED || kind == REQUEST) {
		for (unsigned d = 0; d < DIMS; d++)
			if (m->k->c->way[d])
				turn_to(m, DETERMINISTIC, d ? 0 : m->k->c->way[0],
					d ? m->k->c->way[1] : 0);
		return;
	}
	if (kind >= TURN_FIRST) {
		turn_to(m, kind == TURN_AGAIN ? TURN_FIRST : DETERMINISTIC,
			kind == TURN_SECOND ? 0 : m->k->c->way[0],
			kind == TURN_FIRST || kind == TURN_AGAIN ? 0 : m->k->c->way[1]);
		return;
	}
	q[0] = q[1];
	q[1] = 0;
	state_add(m->k, &next);
	m->moves++;
}

static unsigned count_packets(const struct search *k, const struct state *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < k->bytes; i++)
		n += s->slot[i] != 0;
	return n;
}

static void expand_state(struct search *k, uint64_t number)
{
	struct state s = {{0}};
	struct mover m = {.k = k, .s = &s};
	unsigned packets;

	memcpy(s.slot, k->known + number * k->bytes, k->bytes);
	packets = count_packets(k, &s);
	for (m.node = 0; m.node < k->nodes; m.node++)
		for (m.from_d = 0; m.from_d < DIMS; m.from_d++)
			for (m.from_vc = 0; m.from_vc < EMU_VCS; m.from_vc++)
				if (*queue_at(&s, m.node, m.from_d, m.from_vc))
					head_move(&m);
	if (packets && !m.moves)
		k->stuck = true;
	if (k->c->packets && packets >= k->c->packets)
		return;
	for (m.node = 0; m.node < k->nodes; m.node++)
		for (unsigned kind = 1; kind < KINDS; kind++)
			if (k->c->kinds >> kind & 1) {
				m.from_d = DIMS;
				start_all(&m, kind, start_vc(kind));
			}
}

static void search_case(const struct net_case *c)
{
	struct search k = {.c = c, .nodes = c->n[0] * c->n[1], .limit = 1ull << 31};
	struct state empty = {{0}};

	k.bytes = k.nodes * DIMS * EMU_VCS * SLOTS;
	REQUIRE(k.nodes <= NODES_MAX);
	REQUIRE(k.bytes <= sizeof empty.slot);
	table_grow(&k);
	state_add(&k, &empty);
	for (uint64_t i = 0; i < k.states && !k.stuck; i++)
		expand_state(&k, i);
	fprintf(stderr, "%-34s %9llu states, %s\n", c->name, (unsigned long long)k.states,
		k.stuck ? "stuck" : "never stuck");
	CHECK_EQ(k.stuck, c->stuck);
	free(k.known);
	free(k.cell);
}

#define BIT(kind) (1u << (kind))

static void rings_are_free_of_deadlock(void)
{
	static const struct net_case cases[] = {
	    {"3: deterministic", {3, 1}, {2, 0}, BIT(DETERMINISTIC), 0, 0, 0, 0},
	    {"4: deterministic", {4, 1}, {2, 0}, BIT(DETERMINISTIC), 0, 0, 0, 0},
	    {"5: deterministic", {5, 1}, {2, 0}, BIT(DETERMINISTIC), 0, 0, 0, 0},
	    {"4: the long way", {4, 1}, {3, 0}, BIT(DETERMINISTIC), 0, 0, 0, 0},
	    {"3: dynamic that stays", {3, 1}, {2, 0}, BIT(STAY), 0, 0, 0, 0},
	    {"4: high priority", {4, 1}, {2, 0}, BIT(HIGH), 0, 0, 0, 0},
	    {"4: system", {4, 1}, {2, 0}, BIT(SYSTEM), 0, 0, 0, 0},
	    {"3: high and system", {3, 1}, {2, 0}, BIT(HIGH) | BIT(SYSTEM), 0, 0, 0, 0},
	    {"3: dynamic", {3, 1}, {2, 0}, BIT(DYNAMIC), 0, 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		search_case(&cases[i]);
}

/* Too many states for every test run; QT_MINUTE=1. */
static void larger_rings(void)
{
	static const struct net_case cases[] = {
	    {"3: dynamic and deterministic",
	     {3, 1},
	     {2, 0},
	     BIT(DETERMINISTIC) | BIT(DYNAMIC),
	     0,
	     0,
	     0,
	     0},
	    {"4: dynamic that stays", {4, 1}, {2, 0}, BIT(STAY), 0, 0, 0, 0},
	};

	for (size_t i = 0; t_minute() && i < sizeof cases / sizeof *cases; i++)
		search_case(&cases[i]);
}

/* Two dimensions: with a bound on the packets in the network. */
static void tori_are_free_of_deadlock(void)
{
	const unsigned all =
	    BIT(DETERMINISTIC) | BIT(DYNAMIC) | BIT(STAY) | BIT(HIGH) | BIT(SYSTEM);
	const struct net_case cases[] = {
	    {"2x2: every kind, 3 packets", {2, 2}, {1, 1}, all, 3, 0, 0, 0},
	    {"3x2: deterministic, 4 packets", {3, 2}, {2, 1}, BIT(DETERMINISTIC), 4, 0, 0, 0},
	    {"3x2: dynamic, 3 packets", {3, 2}, {1, 1}, BIT(DYNAMIC), t_minute() ? 4 : 3, 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		search_case(&cases[i]);
}

static void redirects_and_answers(void)
{
	static const struct net_case cases[] = {
	    {"3: redirects on channel 3",
	     {3, 1},
	     {2, 0},
	     BIT(DETERMINISTIC) | BIT(REDIRECTED),
	     0,
	     EMU_VC_SYSTEM,
	     0,
	     0},
	    {"3: gets on 2, answers on 1", {3, 1}, {2, 0}, BIT(REQUEST), 0, EMU_VC_BUBBLE, 0, 0},
	    {"3: redirects on channel 1", {3, 1}, {2, 0}, BIT(REDIRECTED), 0, EMU_VC_BUBBLE, 0, 1},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		search_case(&cases[i]);
}

/* Packets to addresses while blocks move, among others that use their channels. */
static void turns_are_free_of_deadlock(void)
{
	const unsigned all = BIT(TURN_FIRST) | BIT(TURN_SECOND) | BIT(TURN_BOTH);
	const struct net_case cases[] = {
	    {"3: turns", {3, 1}, {2, 0}, BIT(TURN_FIRST), 0, EMU_VC_SYSTEM, 0, 0},
	    {"4: turns, and system",
	     {4, 1},
	     {2, 0},
	     BIT(TURN_FIRST) | BIT(SYSTEM),
	     6,
	     EMU_VC_SYSTEM,
	     0,
	     0},
	    {"2x2: turns, and others",
	     {2, 2},
	     {1, 1},
	     all | BIT(DETERMINISTIC) | BIT(SYSTEM),
	     3,
	     EMU_VC_SYSTEM,
	     0,
	     0},
	    {"3x2: turns", {3, 2}, {2, 1}, all, t_minute() ? 4 : 3, EMU_VC_SYSTEM, 0, 0},
	    {"3: turns on channel 1", {3, 1}, {2, 0}, BIT(TURN_FIRST), 0, EMU_VC_BUBBLE, 0, 1},
	    {"3: turns twice on channel 3",
	     {3, 1},
	     {2, 0},
	     BIT(TURN_AGAIN),
	     0,
	     EMU_VC_SYSTEM,
	     0,
	     1},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		search_case(&cases[i]);
}

static void stuck_without_the_bubble_rule(void)
{
	static const struct net_case cases[] = {
	    {"3: no bubble", {3, 1}, {2, 0}, BIT(DETERMINISTIC), 0, 0, 1, 1},
	    {"3: dynamic, no bubble", {3, 1}, {2, 0}, BIT(DYNAMIC), 0, 0, 1, 1},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		search_case(&cases[i]);
}

/* ---- collectives ---- */

/*
 * Two reductions of LINE_PACKETS packets each from a leaf into its root. The leaf starts with route
 * 0 and the root with route 1. Both offer the other route when the first has a place for nothing
 * more. A packet leaves when both ends have one of its route at the front. `shared`: one queue of
 * two places for both routes at each end, as on the chip; else a queue for each route.
 */
struct line {
	uint8_t offered[2][2];  /* [end][route] */
	uint8_t queue[2][2][2]; /* [end][queue][place]: route + 1 */
	uint8_t combined;
};

#define LINE_PACKETS 2

static bool line_offer(const struct line *s, unsigned end, unsigned route, bool shared,
		       struct line *next)
{
	uint8_t *q;

	*next = *s;
	q = next->queue[end][shared ? 0 : route];
	if (s->offered[end][route] == LINE_PACKETS || q[1])
		return false;
	/* An end begins with its own first route. */
	if (route != end && !s->offered[end][end])
		return false;
	q[!!q[0]] = (uint8_t)(route + 1);
	next->offered[end][route]++;
	return true;
}

static bool line_combine(const struct line *s, unsigned route, bool shared, struct line *next)
{
	unsigned at = shared ? 0 : route;

	*next = *s;
	for (unsigned end = 0; end < 2; end++) {
		uint8_t *q = next->queue[end][at];

		if (q[0] != route + 1)
			return false;
		q[0] = q[1];
		q[1] = 0;
	}
	next->combined++;
	return true;
}

/* Depth first over all orders. Returns whether some order gets stuck. */
static bool line_is_stuck(const struct line *s, bool shared)
{
	bool any = s->combined == 2 * LINE_PACKETS;
	struct line next;

	for (unsigned route = 0; route < 2; route++) {
		for (unsigned end = 0; end < 2; end++)
			if (line_offer(s, end, route, shared, &next)) {
				any = true;
				if (line_is_stuck(&next, shared))
					return true;
			}
		if (line_combine(s, route, shared, &next)) {
			any = true;
			if (line_is_stuck(&next, shared))
				return true;
		}
	}
	return !any;
}

static void class_routes_in_opposite_orders(void)
{
	const struct line start = {0};

	CHECK(!line_is_stuck(&start, false));
	CHECK(line_is_stuck(&start, true));
}

T_MAIN(T(rings_are_free_of_deadlock), T(larger_rings), T(tori_are_free_of_deadlock),
       T(redirects_and_answers), T(turns_are_free_of_deadlock), T(stuck_without_the_bubble_rule),
       T(class_routes_in_opposite_orders))
