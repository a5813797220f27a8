/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * emu/collective.c on small tori: sequences of collectives on several trees that share links, each
 * node injecting in an order of its own, with late and refused deliveries; every result against a
 * serial model, bits the same in every run. Then barriers over global interrupts.
 */
#include <errno.h>

#include "emu/class.h"
#include "emu/combine.h"
#include "tests/harness/emu_net.h"
#include "tests/harness/t.h"

#define NODES 64
#define TREES 16
#define CALLS 24

struct call {
	uint8_t type, op, word;
	uint32_t bytes, root; /* node: of a broadcast, of a reduction's result */
	unsigned char result[512];
	uint8_t seen[NODES];
};

struct tree {
	uint32_t node[NODES], count;
	struct call call[CALLS];
	uint32_t next[NODES]; /* by node number: calls injected */
};

struct world {
	struct net *n;
	struct tree tree[TREES];
	unsigned trees;
	unsigned wrong, delivered, expected;
	uint64_t bits; /* of all results at all nodes */
};

static const uint8_t ops[] = {0x00, 0x10, 0x20, 0x40, 0x50, 0x60,
			      0x80, 0x90, 0xa0, 0xc0, 0xd0, 0xe0};

static void make_contribution(const struct call *c, unsigned tree, unsigned call, uint32_t node,
			      unsigned char *data)
{
	struct drv_rng g;

	drv_rng_seed(&g, 1 + tree * 1000003ull + call * 10007ull + node);
	memset(data, 0, 512);
	for (uint32_t i = 0; i < c->bytes; i += 8) {
		uint64_t x = drv_rng_below(&g, UINT64_MAX);
		double d = (double)(int64_t)x / 3e10;

		memcpy(data + i, c->op >= 0xc0 ? (void *)&d : (void *)&x,
		       c->bytes - i < 8 ? c->bytes - i : 8);
	}
}

/* What all give, in the order of the tree: deepest first, ports in order. */
static void fold_contributions(struct world *w, unsigned t, unsigned k, uint32_t node,
			       unsigned char *sum)
{
	const struct call *c = &w->tree[t].call[k];
	ClassRoute_t r = emu_router_class(net_router(w->n, node), t);
	unsigned char part[512];

	make_contribution(c, t, k, node, sum);
	for (unsigned m = emu_class_links(r.input); m; m &= m - 1) {
		fold_contributions(
		    w, t, k, emu_node_neighbour(&w->n->shape, node, (unsigned)__builtin_ctz(m)),
		    part);
		emu_combine(c->op, c->word, sum, part, c->bytes);
	}
}

static uint32_t root_of(struct world *w, unsigned t)
{
	for (uint32_t i = 0; i < w->tree[t].count; i++)
		if (!emu_router_class(net_router(w->n, w->tree[t].node[i]), t).output)
			return w->tree[t].node[i];
	return 0;
}

static void on_coll(struct net *n, uint32_t node, struct emu_packet *p)
{
	struct world *w = n->arg;
	const MUHWI_CollectiveNetworkHeader_t *h = &p->hdr.NetworkHeader.collective;
	unsigned t = h->Byte2.Class_Route,
		 k = p->hdr.messageUnitHeader.Packet_Types.Memory_FIFO.Unused2[0];
	struct call *c = &w->tree[t].call[k];

	w->delivered++;
	if (t >= w->trees || k >= CALLS || c->seen[node]++ || p->bytes != c->bytes ||
	    memcmp(p->payload, c->result, c->bytes) ||
	    (c->type == MUHWI_COLLECTIVE_TYPE_REDUCE && node != c->root))
		w->wrong++;
	for (uint32_t i = 0; i < p->bytes; i++) /* order of nodes does not matter */
		w->bits +=
		    (uint64_t)(p->payload[i] + 1) * (node * 1000003u + t * 7919u + k * 104729u + i);
}

/* Inject what this node has to give next in the tree. */
static void on_user(struct net *n, uint32_t node, uint32_t t)
{
	struct world *w = n->arg;
	struct tree *tree = &w->tree[t];
	uint64_t later = n->now + 1 + drv_rng_below(&n->rng, 2000000);
	uint32_t k = tree->next[node], i;
	const struct call *c = &tree->call[k];
	MUHWI_CollectiveNetworkHeader_t *h;
	struct emu_coord x;
	int rc = 0;

	if (k == CALLS)
		return;
	if (c->type != MUHWI_COLLECTIVE_TYPE_BROADCAST || c->root == node) {
		i = net_packet(n);
		h = &n->pool[i].hdr.NetworkHeader.collective;
		h->Data_Packet_Type = MUHWI_COLLECTIVE_DATA_PACKET_TYPE;
		h->Byte1.Byte1 = c->op | c->word;
		h->Byte2.Byte2 = (uint8_t)(t << 4);
		h->Byte3.Byte3 = MUHWI_PACKET_VIRTUAL_CHANNEL_USER_SUB_COMM | c->type;
		emu_node_coord(&n->shape, c->root, &x);
		h->Destination.Destination.Destination = emu_coord_word(&x);
		n->pool[i].hdr.messageUnitHeader.Packet_Types.Memory_FIFO.Unused2[0] = (uint8_t)k;
		n->pool[i].bytes = c->bytes;
		make_contribution(c, t, k, node, n->pool[i].payload);
		n->pool[i].route.ready = n->now;
		rc = emu_router_inject(net_router(n, node), n->pool, 0, i);
		if (rc) {
			net_free(n, i);
			w->wrong += rc != -EAGAIN;
		}
		net_want_step(n, node, n->now);
	}
	if (!rc)
		tree->next[node]++;
	net_user(n, later, node, t);
}

static void make_calls(struct world *w, unsigned t, struct drv_rng *g)
{
	struct tree *tree = &w->tree[t];

	for (unsigned k = 0; k < CALLS; k++) {
		static const uint8_t types[] = {
		    MUHWI_COLLECTIVE_TYPE_ALLREDUCE, MUHWI_COLLECTIVE_TYPE_REDUCE,
		    MUHWI_COLLECTIVE_TYPE_ALLREDUCE, MUHWI_COLLECTIVE_TYPE_BROADCAST};
		struct call *c = &tree->call[k];

		memset(c, 0, sizeof *c);
		c->type = types[drv_rng_below(g, 4)];
		c->op = ops[drv_rng_below(g, 12)];
		c->word = c->op >= 0xc0 ? 1 : (uint8_t)drv_rng_below(g, 8);
		c->bytes =
		    (4u << c->word) * (1 + (uint32_t)drv_rng_below(g, 512u / (4u << c->word)));
		c->root = tree->node[drv_rng_below(g, tree->count)];
		if (c->type == MUHWI_COLLECTIVE_TYPE_BROADCAST)
			make_contribution(c, t, k, c->root, c->result);
		else
			fold_contributions(w, t, k, root_of(w, t), c->result);
		w->expected += c->type == MUHWI_COLLECTIVE_TYPE_REDUCE ? 1 : tree->count;
	}
}

/* Trees over boxes (half of them all nodes) and over walks by chance. */
static void make_tree(struct world *w, unsigned t, struct drv_rng *g)
{
	struct net *n = w->n;
	struct tree *tree = &w->tree[t];
	uint8_t in[NODES] = {0};
	uint32_t at = (uint32_t)drv_rng_below(g, n->nodes), to;
	int all = t % 2 == 0;

	for (unsigned steps = 0; steps < 20; steps++) {
		in[at] = 1;
		to = emu_node_neighbour(&n->shape, at, (unsigned)drv_rng_below(g, EMU_LINKS));
		at = to == UINT32_MAX ? at : to;
	}
	tree->count = 0;
	for (uint32_t i = 0; i < n->nodes; i++)
		if (in[i] || all)
			tree->node[tree->count++] = i;
	for (uint32_t i = 0; i < tree->count; i++) {
		struct emu_coord x, root;
		struct emu_box box;
		ClassRoute_t c;
		unsigned depth;
		int first;

		emu_node_coord(&n->shape, tree->node[i], &x);
		if (all && emu_class_is_box(&n->shape, tree->node, tree->count, &box)) {
			emu_class_root(&box, &root, &first);
			emu_class_build(&box, &root, &x, NULL, first, &c);
		} else {
			CHECK_EQ(emu_class_span(&n->shape, tree->node, tree->count, tree->node[i],
						&c, &depth),
				 0);
		}
		c.input |= BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_INPUT_VC_SUBCOMM;
		CHECK_EQ(emu_router_class_set(net_router(n, tree->node[i]), t, &c, 0), 0);
		tree->next[tree->node[i]] = 0;
	}
}

/* seed: of trees and calls; noise: of times. Returns the sum over all bits of all results. */
static uint64_t run_trees(struct world *w, const struct emu_shape *shape, unsigned trees,
			  unsigned slots, uint64_t seed, uint64_t noise, unsigned refuse,
			  uint64_t *hash)
{
	struct emu_router_conf conf = {.coll_slots = (uint8_t)slots};
	struct drv_rng g;
	uint32_t spare[1024];

	drv_rng_seed(&g, seed);
	w->n = net_create(shape, &conf, 500);
	w->n->arg = w;
	w->n->on_coll = on_coll;
	w->n->on_user = on_user;
	w->n->jitter_ps = 300000;
	w->n->refuse_percent = refuse;
	drv_rng_seed(&w->n->rng, noise);
	for (unsigned i = 0; i < 1024; i++) /* a pool that does not grow while routers step */
		spare[i] = net_packet(w->n);
	for (unsigned i = 0; i < 1024; i++)
		net_free(w->n, spare[i]);
	w->trees = trees;
	w->wrong = w->delivered = w->expected = 0;
	w->bits = 0;
	for (unsigned t = 0; t < trees; t++) {
		make_tree(w, t, &g);
		make_calls(w, t, &g);
		for (uint32_t i = 0; i < w->tree[t].count; i++)
			net_user(w->n, drv_rng_below(&w->n->rng, 5000000), w->tree[t].node[i], t);
	}
	net_run(w->n);
	CHECK_EQ(w->wrong, 0);
	CHECK_EQ(w->n->wrong, 0);
	CHECK_EQ(w->delivered, w->expected);
	CHECK_EQ(w->n->in_use, 0);
	for (uint32_t i = 0; i < w->n->nodes; i++) {
		CHECK(!emu_router_busy(net_router(w->n, i)));
		for (unsigned k = 0; k < EMU_CLASSES; k++)
			CHECK(!(emu_router_coll_flags(net_router(w->n, i), k, ~0u) &
				EMU_COMBINE_MISMATCH));
	}
	if (hash)
		*hash = w->n->hash;
	net_destroy(w->n);
	return w->bits;
}

static const struct emu_shape shapes[] = {
    {{4, 1, 1, 1, 1}, 1, 0}, {{2, 2, 1, 1, 1}, 1, 0}, {{3, 2, 2, 1, 2}, 1, 0},
    {{4, 4, 2, 1, 1}, 1, 1}, {{2, 2, 2, 2, 2}, 1, 0}, {{1, 1, 1, 1, 1}, 1, 0},
};

static void trees_share_links_in_any_order(void)
{
	static struct world w;
	uint64_t seed = t_seed();

	for (unsigned k = 0; k < sizeof shapes / sizeof *shapes; k++) {
		unsigned rounds = t_sanitized() ? 1 : t_long() ? 40 : 4;

		for (unsigned i = 0; i < rounds; i++) {
			uint64_t bits = run_trees(&w, &shapes[k], 1 + (i * 5 + k) % TREES,
						  1 + i % 7, seed + i, 11 + i, 0, NULL);

			CHECK_EQ(run_trees(&w, &shapes[k], 1 + (i * 5 + k) % TREES, 7, seed + i,
					   99 + i, 30, NULL),
				 bits);
		}
	}
}

static void same_run_same_events(void)
{
	static struct world w;
	uint64_t a, b, c;

	run_trees(&w, &shapes[2], 8, 3, 5, 6, 20, &a);
	run_trees(&w, &shapes[2], 8, 3, 5, 6, 20, &b);
	run_trees(&w, &shapes[2], 8, 3, 5, 7, 20, &c);
	CHECK_EQ(a, b);
	CHECK(a != c);
}

/* ---- Barriers over global interrupts: the three-state protocol of docs/hardware.md 8.6 ---- */

#define BARRIERS 50

struct gi_world {
	struct net *n;
	unsigned state[NODES], status[NODES], entered[NODES], left[NODES], ready[NODES], wrong;
	ClassRoute_t route[NODES];
	enum emu_gi_user user;
	uint64_t begin; /* all have written: the barrier by other means */
};
enum { ENTER, PROGRAM, WRITE, LOOK };

static unsigned rotate_state(unsigned state)
{
	return state == 1 ? 4 : state >> 1;
}

static void gi_write(struct gi_world *w, uint32_t node, unsigned bits)
{
	emu_router_gi(net_router(w->n, node), 3, emu_gi_pack(w->user, 7),
		      emu_gi_pack(w->user, bits), w->n->now, &net_ops, w->n);
}

static void gi_poll(struct gi_world *w, uint32_t node)
{
	uint64_t later = w->n->now + 1 + drv_rng_below(&w->n->rng, 3000000);

	if (!w->ready[node]) { /* initialisation: until 100 alone is seen */
		if (w->status[node] != 4 || w->n->now < w->begin)
			return;
		w->ready[node] = 1;
		net_user(w->n, later, node, 0);
	}
	if (w->entered[node] == w->left[node] || w->status[node] & w->state[node])
		return;
	w->state[node] = rotate_state(w->state[node]);
	w->left[node]++;
	for (uint32_t i = 0; i < w->n->nodes; i++)
		w->wrong += w->entered[i] < w->left[node]; /* left before all had come */
	net_user(w->n, later, node, 0);
}

static void on_gi(struct net *n, uint32_t node, unsigned route, unsigned bits)
{
	struct gi_world *w = n->arg;

	w->status[node] = emu_gi_unpack(w->user, bits);
	w->wrong += bits != emu_gi_pack(w->user, bits >> (EMU_GI_BITS * w->user));
	gi_poll(w, node);
}

static void gi_enter(struct net *n, uint32_t node, uint32_t what)
{
	struct gi_world *w = n->arg;

	if (what == PROGRAM)
		w->wrong += emu_router_gi_program(net_router(n, node), 3, &w->route[node], n->now,
						  &net_ops, n) != 0;
	if (what == WRITE)
		gi_write(w, node, 4);
	if (what == LOOK)
		gi_poll(w, node);
	if (what != ENTER || w->entered[node] == BARRIERS)
		return;
	w->entered[node]++;
	gi_write(w, node, rotate_state(w->state[node]));
	gi_poll(w, node);
}

/* A program's nodes are programmed, and write first, in any order; those of the system before. */
static void hold_all(enum emu_gi_user user, uint64_t apart_ps)
{
	for (unsigned k = 0; k < sizeof shapes / sizeof *shapes; k++) {
		static struct gi_world w;
		struct emu_coord x, root;
		struct emu_box box;
		int first;

		memset(&w, 0, sizeof w);
		w.user = user;
		w.begin = apart_ps ? apart_ps + 1 : 0;
		w.n = net_create(&shapes[k], NULL, 500);
		w.n->arg = &w;
		w.n->on_gi = on_gi;
		w.n->on_user = gi_enter;
		w.n->jitter_ps = 200000;
		emu_node_coord(&shapes[k], 0, &box.low);
		emu_node_coord(&shapes[k], w.n->nodes - 1, &box.high);
		emu_class_root(&box, &root, &first);
		for (uint32_t i = 0; i < w.n->nodes; i++) {
			emu_node_coord(&shapes[k], i, &x);
			emu_class_build(&box, &root, &x, NULL, first, &w.route[i]);
			w.route[i].input |= BGQ_CLASS_INPUT_LINK_LOCAL;
			w.state[i] = 4;
			if (!apart_ps)
				CHECK_EQ(emu_router_gi_set(net_router(w.n, i), 3, &w.route[i]), 0);
		}
		for (uint32_t i = 0; i < w.n->nodes; i++) {
			if (!apart_ps) {
				gi_write(&w, i, 4);
				continue;
			}
			net_user(w.n, 1 + drv_rng_below(&w.n->rng, apart_ps), i, PROGRAM);
			net_user(w.n, 1 + drv_rng_below(&w.n->rng, apart_ps), i, WRITE);
			net_user(w.n, w.begin, i, LOOK);
		}
		net_run(w.n);
		CHECK_EQ(w.wrong, 0);
		for (uint32_t i = 0; i < w.n->nodes; i++)
			CHECK_EQ(w.left[i], BARRIERS);
		net_destroy(w.n);
	}
}

static void barriers_hold_all(void)
{
	hold_all(EMU_GI_SYSTEM, 0);
}

static void barriers_of_programs_hold_all(void)
{
	hold_all(EMU_GI_PROGRAM, 1000000);
	hold_all(EMU_GI_PROGRAM, 30000000);
}

/* ---- What a router refuses ---- */

static void refuses_what_cannot_be(void)
{
	struct net *n = net_create(&shapes[1], NULL, 500);
	struct emu_router *r = net_router(n, 0);
	ClassRoute_t root = {BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_INPUT_VC_SUBCOMM, 0},
		     none = {0, 0};
	ClassRoute_t two = {BGQ_CLASS_INPUT_LINK_LOCAL, BGQ_CLASS_LINK_AM | BGQ_CLASS_LINK_BM};
	uint32_t i = net_packet(n), k[20];
	struct emu_packet *p = &n->pool[i];
	MUHWI_CollectiveNetworkHeader_t *h = &p->hdr.NetworkHeader.collective;

	CHECK_EQ(emu_router_class_set(r, 16, &root, 0), -EINVAL);
	CHECK_EQ(emu_router_class_set(r, 2, &two, 0), EMU_CLASS_OUTPUTS);
	CHECK_EQ(emu_router_class_set(r, 2, &root, 0), 0);
	h->Data_Packet_Type = MUHWI_COLLECTIVE_DATA_PACKET_TYPE;
	h->Byte2.Class_Route = 2;
	h->Byte3.Byte3 =
	    MUHWI_PACKET_VIRTUAL_CHANNEL_USER_SUB_COMM | MUHWI_COLLECTIVE_TYPE_ALLREDUCE;
	h->Byte1.Byte1 = MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD | 1;
	p->bytes = 16;
	h->Byte2.Class_Route = 3; /* not set up */
	CHECK_EQ(emu_router_inject(r, n->pool, 0, i), -EINVAL);
	h->Byte2.Class_Route = 2;
	h->Byte3.Byte3 =
	    MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD | MUHWI_COLLECTIVE_TYPE_ALLREDUCE;
	CHECK_EQ(emu_router_inject(r, n->pool, 0, i), -EINVAL); /* another class's channel */
	h->Byte3.Byte3 =
	    MUHWI_PACKET_VIRTUAL_CHANNEL_USER_SUB_COMM | MUHWI_COLLECTIVE_TYPE_ALLREDUCE;
	p->bytes = 12; /* not whole words */
	CHECK_EQ(emu_router_inject(r, n->pool, 0, i), -EINVAL);
	p->bytes = 16;
	CHECK_EQ(emu_router_arrive(r, n->pool, 0, EMU_VCS + 2, i), -EPROTO); /* no child there */
	CHECK_EQ(emu_router_arrive(r, n->pool, 0, EMU_CHANNELS, i), -EINVAL);
	CHECK_EQ(emu_router_inject(r, n->pool, 0, i), 0);
	CHECK_EQ(emu_router_class_set(r, 2, &none, 0), -EBUSY);
	for (unsigned j = 0; j < 16; j++) {
		k[j] = net_packet(n);
		n->pool[k[j]] = n->pool[i];
		CHECK_EQ(emu_router_inject(r, n->pool, 0, k[j]), j < 15 ? 0 : -EAGAIN);
	}
	net_destroy(n);
}

static void count_coll(struct net *n, uint32_t node, struct emu_packet *p) {}

/* Contribute a word to a sum over a class route. fifo: in what the headers of a route should agree.
 */
static void contribute(struct net *n, uint32_t node, unsigned route, unsigned fifo, uint64_t word)
{
	uint32_t i = net_packet(n);
	struct emu_packet *p = &n->pool[i];
	MUHWI_CollectiveNetworkHeader_t *h = &p->hdr.NetworkHeader.collective;

	h->Data_Packet_Type = MUHWI_COLLECTIVE_DATA_PACKET_TYPE;
	h->Byte2.Class_Route = route & 15;
	h->Byte3.Byte3 =
	    MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD | MUHWI_COLLECTIVE_TYPE_ALLREDUCE;
	h->Byte1.Byte1 = 0x40 | 1;
	p->hdr.messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id = fifo & 1;
	p->bytes = 8;
	memcpy(p->payload, &word, 8);
	CHECK_EQ(emu_router_inject(net_router(n, node), n->pool, 0, i), 0);
	net_want_step(n, node, 0);
}

static unsigned flags_of(struct net *n, unsigned route)
{
	return emu_router_coll_flags(net_router(n, 0), route, ~0u) |
	       emu_router_coll_flags(net_router(n, 1), route, ~0u);
}

/* Contributions that do not match are flagged, and so are overflows; each class route has its
 * flags. */
static void disagreement_is_flagged(void)
{
	for (unsigned what = 0; what < 3; what++) {
		struct net *n = net_create(&shapes[1], NULL, 500);
		ClassRoute_t c[2] = {{BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_LINK_BP, 0},
				     {BGQ_CLASS_INPUT_LINK_LOCAL, BGQ_CLASS_LINK_BM}};
		unsigned expected = what == 1   ? (unsigned)EMU_COMBINE_MISMATCH
				    : what == 2 ? (unsigned)EMU_COMBINE_OVERFLOW
						: 0u;

		n->on_coll = count_coll;
		for (uint32_t node = 0; node < 2; node++) {
			CHECK_EQ(emu_router_class_set(net_router(n, node), 2, &c[node], 0), 0);
			CHECK_EQ(emu_router_class_set(net_router(n, node), 5, &c[node], 0), 0);
			contribute(n, node, 2, what == 1 ? node : 0, what == 2 ? UINT64_MAX : 1);
			contribute(n, node, 5, 0, 1);
		}
		net_run(n);
		CHECK_EQ(flags_of(n, 5), 0);
		CHECK_EQ(flags_of(n, 2), expected);
		CHECK_EQ(flags_of(n, 2), 0);
		CHECK_EQ(n->in_use, 0);
		net_destroy(n);
	}
}

T_MAIN(T(trees_share_links_in_any_order), T(same_run_same_events), T(barriers_hold_all),
       T(barriers_of_programs_hold_all), T(refuses_what_cannot_be), T(disagreement_is_flagged))
