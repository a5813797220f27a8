/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directory in the network: packets to blocks that move all the time. Each packet must arrive
 * once, where its block is or will be, or at the software of its home; and with quiet blocks every
 * packet must find its block by the tables alone. Units carry out the packets that are puts, where
 * the lease lets them, and answer each once.
 */
#include "emu/directory.h"

#include <stdlib.h>
#include <string.h>

#include "emu/world.h"
#include "tests/harness/t.h"

enum { SEND = EMU_WORLD_KINDS, MOVE, LEAVE, LAND };
enum { BLOCKS = 6, MESSAGES = 3000, PORT_SEND = 20, PORT_MOVE = 40, CHANNEL = 3, SOFTWARE = 5 };

struct block {
	uint32_t owner, next;
	uint16_t version;
	bool moving;
};

struct run {
	struct emu_world *w;
	struct emu_shape shape;
	uint32_t nodes, sent, moves;
	struct block block[BLOCKS];
	uint8_t arrived[MESSAGES];
	uint32_t by_software, at_former, twice, by_unit, answered;
};

static uint32_t node_word(const struct run *r, uint32_t node)
{
	struct emu_coord x;

	emu_node_coord(&r->shape, node, &x);
	return emu_coord_word(&x);
}

static uint32_t home_of(const struct run *r, unsigned block)
{
	/* Each shape has a node. */
	/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
	return (block * 7 + 1) % r->nodes;
}

/* Tables are written, and messages sent, by packets. False: no room. */
static bool send_packet(struct run *r, uint32_t from, uint32_t to, struct emu_address a,
			uint32_t id, uint64_t now)
{
	uint32_t i = emu_world_packet_get(r->w);
	struct emu_packet *p = &emu_world_pool(r->w)[i];

	memset(&p->hdr, 0, sizeof(p->hdr));
	p->hdr.NetworkHeader.pt2pt.Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	p->hdr.NetworkHeader.pt2pt.Byte3.Byte3 =
	    MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC | MUHWI_PACKET_ADDRESSED;
	p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination = node_word(r, to);
	a.budget = EMU_ADDRESS_BUDGET;
	memset(p->payload, 0, 64);
	memcpy(p->payload, &a, sizeof(a));
	if (a.kind == EMU_ADDRESS_BIND)
		((struct emu_bind_lease *)(void *)p->payload)->lease = a.key;
	p->bytes = 64;
	p->task = id;
	if (!emu_world_inject(r->w, from, a.kind == EMU_ADDRESS_MESSAGE ? 0 : 1, i, now))
		return true;
	emu_world_packet_put(r->w, i);
	return false;
}

static void push_event(struct run *r, uint64_t at, uint32_t node, uint32_t port, unsigned kind,
		       uint32_t arg)
{
	REQUIRE_EQ(emu_sched_push(emu_world_sched(r->w), at, node, port, (uint8_t)kind, arg, 0), 0);
}

static void write_bind(struct run *r, uint32_t node, unsigned b, enum emu_bind state, uint64_t now)
{
	struct emu_address a = {.key = 4096 * (b + 1),
				.at = node_word(r, node),
				.version = r->block[b].version,
				.channel = CHANNEL,
				.kind = EMU_ADDRESS_BIND,
				.state = (uint8_t)state,
				.to = node_word(r, r->block[b].next)};

	send_packet(r, node, node, a, node, now);
}

/* The lease says that a block is open where it is and not about to leave. */
static enum emu_arrival carry_out(void *arg, uint32_t node, uint64_t lease, struct emu_packet *p)
{
	struct run *r = arg;
	unsigned b = (unsigned)(lease / 4096 - 1);

	CHECK_EQ(lease, emu_address_of(p)->key);
	if (r->block[b].moving && r->block[b].next == node)
		return EMU_ARRIVAL_WAIT;
	if (r->block[b].owner != node || r->block[b].moving)
		return EMU_ARRIVAL_DELIVER;
	r->twice += r->arrived[p->task]++;
	r->by_unit++;
	p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination =
	    node_word(r, p->task % r->nodes);
	return EMU_ARRIVAL_RESEND;
}

/* ---- the library: home, target and owner of a move act one after the other ---- */

static void move_begin(struct run *r, unsigned b, uint64_t now)
{
	struct block *k = &r->block[b];
	struct emu_address home = {.key = 4096 * (b + 1), .kind = EMU_ADDRESS_HOME};

	if (!r->moves)
		return;
	r->moves--;
	k->next = (uint32_t)drv_rng_below(t_rng(), r->nodes);
	if (k->next == k->owner) {
		push_event(r, now + 1000000, k->owner, PORT_MOVE + b, MOVE, b);
		return;
	}
	k->version++;
	k->moving = true;
	home.at = node_word(r, k->next);
	home.version = k->version;
	send_packet(r, home_of(r, b), home_of(r, b), home, 0, now);
	write_bind(r, k->next, b, EMU_BIND_HOLD, now);
	push_event(r, now + 800000, k->owner, PORT_MOVE + b, LEAVE, b);
}

static void move_end(struct run *r, unsigned b, uint64_t now)
{
	struct block *k = &r->block[b];
	struct emu_address update = {.key = 4096 * (b + 1),
				     .at = node_word(r, k->next),
				     .version = k->version,
				     .kind = EMU_ADDRESS_UPDATE};

	k->owner = k->next;
	k->moving = false;
	write_bind(r, k->owner, b, EMU_BIND_OWNED, now);
	send_packet(r, k->owner, home_of(r, b), update, 0, now);
	push_event(r, now + 2000000, k->owner, PORT_MOVE + b, MOVE, b);
}

static void message_send(struct run *r, uint32_t node, uint64_t now)
{
	unsigned b = (unsigned)drv_rng_below(t_rng(), BLOCKS);
	struct emu_address a = {.key = 4096 * (b + 1),
				.at = node_word(r, home_of(r, b)),
				.channel = SOFTWARE,
				.kind = EMU_ADDRESS_MESSAGE,
				.state = r->sent % 2 ? EMU_ACCESS_PUT : EMU_ACCESS_NONE};

	if (r->sent == MESSAGES)
		return;
	if (send_packet(r, node, home_of(r, b), a, r->sent, now))
		r->sent++;
	push_event(r, now + 100000 + drv_rng_below(t_rng(), 500000), node, PORT_SEND, SEND, 0);
}

static void on_deliver(void *arg, uint32_t node, uint32_t packet, uint64_t when)
{
	struct run *r = arg;
	struct emu_packet *p = &emu_world_pool(r->w)[packet];
	struct emu_address a = *emu_address_of(p);
	unsigned b = (unsigned)(a.key / 4096 - 1), fifo;
	struct emu_address answer = {.key = a.key,
				     .at = node_word(r, node),
				     .version = r->block[b].version,
				     .kind = EMU_ADDRESS_ANSWER};

	if (a.kind != EMU_ADDRESS_MESSAGE) {
		r->answered += (a.flags & EMU_ADDRESS_BY_UNIT) != 0;
		emu_world_packet_put(r->w, packet);
		return;
	}
	fifo = p->hdr.messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id;
	r->twice += r->arrived[p->task]++;
	if (fifo == SOFTWARE) {
		r->by_software++;
		CHECK_EQ(node, home_of(r, b));
	} else {
		CHECK_EQ(fifo, CHANNEL);
		/* A table may be a moment behind its block; software forwards such a packet. */
		r->at_former += node != r->block[b].owner && node != r->block[b].next;
		answer.flags = a.flags & EMU_ADDRESS_MISLED;
		if (!r->block[b].moving && node == r->block[b].owner)
			send_packet(r, node, p->route.source, answer, 0, when);
	}
	emu_world_packet_put(r->w, packet);
}

static void on_room(void *arg, uint32_t node, unsigned queue, uint64_t now) {}

static const struct emu_world_ops ops = {on_deliver, on_room};

static void start_run(struct run *r, const char *shape, enum emu_directory_mode mode,
		      unsigned entries, bool express)
{
	struct emu_world_conf c = {.express = express,
				   .ops = &ops,
				   .arg = r,
				   .directory = {.mode = mode,
						 .entries = entries,
						 .central_ps = 3000000,
						 .access = carry_out,
						 .arg = r}};
	char err[200];

	memset(r, 0, sizeof(*r));
	REQUIRE_EQ(emu_shape_parse(shape, &r->shape, err, sizeof(err)), 0);
	c.shape = r->shape;
	emu_timing_default(&c.timing);
	for (int v = 0; v < EMU_VCS; v++)
		c.slots.slots[v] = 2;
	REQUIRE_EQ(emu_world_create(&c, &r->w), 0);
	r->nodes = emu_shape_nodes(&r->shape);
	for (unsigned b = 0; b < BLOCKS; b++) {
		r->block[b].owner = r->block[b].next = home_of(r, b);
		write_bind(r, home_of(r, b), b, EMU_BIND_OWNED, 0);
		push_event(r, 1000000, home_of(r, b), PORT_MOVE + b, MOVE, b);
	}
}

static void run_events(struct run *r)
{
	struct emu_event e;

	while (emu_world_next(r->w, &e)) {
		if (e.kind == SEND)
			message_send(r, emu_event_node(&e), e.time);
		else if (e.kind == MOVE)
			move_begin(r, e.arg, e.time);
		else if (e.kind == LEAVE) {
			write_bind(r, r->block[e.arg].owner, e.arg, EMU_BIND_GONE, e.time);
			push_event(r, e.time + 700000, r->block[e.arg].next, PORT_MOVE + e.arg,
				   LAND, e.arg);
		} else if (e.kind == LAND)
			move_end(r, e.arg, e.time);
	}
}

static void send_all(struct run *r, uint32_t moves)
{
	struct emu_world_stat s;

	emu_world_stat(r->w, &s);
	r->sent = r->by_unit = r->answered = 0;
	r->moves = moves;
	memset(r->arrived, 0, sizeof(r->arrived));
	for (uint32_t n = 0; n < r->nodes; n++)
		push_event(r, s.time_ps + 500000 + n, n, PORT_SEND, SEND, 0);
	for (unsigned b = 0; b < BLOCKS && s.time_ps; b++)
		push_event(r, s.time_ps + 500000, r->block[b].owner, PORT_MOVE + b, MOVE, b);
	run_events(r);
	emu_world_stat(r->w, &s);
	CHECK_EQ(s.error, 0);
	CHECK_EQ(s.in_flight, 0);
	CHECK_EQ(r->sent, MESSAGES);
	CHECK_EQ(r->twice, 0);
	CHECK_EQ(r->answered, r->by_unit);
	CHECK(r->by_unit > 0);
	for (unsigned i = 0; i < MESSAGES; i++)
		CHECK_EQ(r->arrived[i], 1);
}

static void run_mode(const char *shape, enum emu_directory_mode mode, unsigned entries,
		     bool express)
{
	struct emu_directory_stat s;
	struct run r;

	start_run(&r, shape, mode, entries, express);
	send_all(&r, 400);
	s = emu_directory_stat(emu_world_directory(r.w));
	fprintf(
	    stderr,
	    "%s %s mode %d, %u entries: %llu injections, %llu turns, %llu bounces, %llu by home, "
	    "%llu by cached entries, %llu held, %u by software, %u at a former owner\n",
	    shape, express ? "express" : "torus", mode, entries, (unsigned long long)s.messages,
	    (unsigned long long)s.turns, (unsigned long long)s.bounces,
	    (unsigned long long)s.home_hits, (unsigned long long)s.cached_hits,
	    (unsigned long long)s.held, r.by_software, r.at_former);
	CHECK(mode == EMU_DIRECTORY_CENTRAL || r.by_software < MESSAGES / 20);
	CHECK(r.at_former < MESSAGES / 20);
	CHECK_EQ(s.lost_entries, 0);
	/* The blocks rest: every packet finds its block, and tables that are large enough lead all
	 * of them at once. */
	r.by_software = r.at_former = 0;
	send_all(&r, 0);
	if (mode != EMU_DIRECTORY_CENTRAL) {
		CHECK_EQ(r.by_unit, MESSAGES / 2);
		CHECK_EQ(r.by_software, 0);
		CHECK_EQ(r.at_former, 0);
	}
	if (mode == EMU_DIRECTORY_TORUS && entries >= 64 && !express) {
		uint64_t bounces;

		bounces = emu_directory_stat(emu_world_directory(r.w)).bounces;
		send_all(&r, 0);
		CHECK_EQ(emu_directory_stat(emu_world_directory(r.w)).bounces, bounces);
	}
	emu_world_destroy(r.w);
}

static void by_home(void)
{
	run_mode("3x3x1x1x1", EMU_DIRECTORY_HOME, 0, false);
	run_mode("4x2x1x1x1", EMU_DIRECTORY_HOME, 0, true);
}

static void by_routers(void)
{
	static const unsigned entries[] = {0, 1, 2, 64, 1024};

	for (unsigned i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		run_mode("3x3x1x1x1", EMU_DIRECTORY_TORUS, entries[i], false);
	run_mode("2x2x2x2x1", EMU_DIRECTORY_TORUS, 64, false);
	run_mode("4x2x1x1x1", EMU_DIRECTORY_TORUS, 64, true);
}

static void by_one_table(void)
{
	run_mode("3x3x1x1x1", EMU_DIRECTORY_CENTRAL, 0, false);
	run_mode("4x2x1x1x1", EMU_DIRECTORY_CENTRAL, 0, true);
}

/* A late update changes nothing, a newer one does, and versions wrap. */
static void late_updates_change_nothing(void)
{
	struct emu_directory_conf c = {.nodes = 2, .mode = EMU_DIRECTORY_TORUS, .entries = 8};
	struct emu_directory *d = emu_directory_create(&c);
	struct emu_address a = {.key = 64, .at = 7, .version = 65535, .kind = EMU_ADDRESS_ANSWER};
	struct emu_packet p = {.bytes = sizeof(a)};

	REQUIRE(d != NULL);
#define VISIT() (memcpy(p.payload, &a, sizeof(a)), emu_directory_visit(d, 1, 5, &p, false, 0))
	VISIT();
	CHECK_EQ(emu_directory_cached(d, 1, 64), 7);
	a.at = 8;
	a.version = 65534;
	a.kind = EMU_ADDRESS_UPDATE;
	VISIT();
	CHECK_EQ(emu_directory_cached(d, 1, 64), 7);
	a.version = 0;
	VISIT();
	CHECK_EQ(emu_directory_cached(d, 1, 64), 8);
	CHECK_EQ(emu_directory_cached(d, 0, 64), EMU_ADDRESS_NOBODY);
	a.key = 65; /* An update makes no entry. */
	VISIT();
	CHECK_EQ(emu_directory_cached(d, 1, 65), EMU_ADDRESS_NOBODY);
	a.key = 64;
	a.at = 5; /* The block is at this node: the unit's table knows that. */
	a.version = 1;
	VISIT();
	CHECK_EQ(emu_directory_cached(d, 1, 64), EMU_ADDRESS_NOBODY);
	emu_directory_destroy(d);
}

/* A unit carries out what a lease lets it, and leaves all else to software. */
static enum emu_arrival lease_says = EMU_ARRIVAL_DELIVER;

static enum emu_arrival carry_out_by_lease(void *arg, uint32_t task, uint64_t lease,
					   struct emu_packet *p)
{
	CHECK_EQ(task, 3);
	CHECK_EQ(lease, 4096);
	return lease_says;
}

static enum emu_arrival arrive(struct emu_directory *d, struct emu_packet *p)
{
	enum emu_arrival way = emu_directory_arrive(d, 1, 5, p, 0);

	return way == EMU_ARRIVAL_ACCESS ? emu_directory_access(d, 1, 5, p) : way;
}

/* A directory whose units access blocks as `lease_says`. */
static struct emu_directory *create_with_leases(void)
{
	struct emu_directory_conf c = {
	    .nodes = 2, .mode = EMU_DIRECTORY_HOME, .access = carry_out_by_lease};

	return emu_directory_create(&c);
}

/* What names the lease of the block with key 64 to the unit at 5. */
static struct emu_bind_lease make_lease(uint8_t state)
{
	return (struct emu_bind_lease){.a.key = 64,
				       .a.at = 5,
				       .a.version = 9,
				       .a.kind = EMU_ADDRESS_BIND,
				       .a.state = state,
				       .lease = 4096};
}

static void leases_decide(void)
{
	struct emu_directory *d = create_with_leases();
	struct emu_bind_lease b = make_lease(EMU_BIND_OWNED);
	struct emu_access x = {.a.key = 64,
			       .a.at = 5,
			       .a.kind = EMU_ADDRESS_MESSAGE,
			       .a.state = EMU_ACCESS_PUT,
			       .id = 77};
	struct emu_packet p = {.bytes = sizeof(b), .task = 3};

	REQUIRE(d != NULL);
	memcpy(p.payload, &b, sizeof(b));
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_TAKEN);
	p.bytes = sizeof(x);
	p.task = 4;
	memcpy(p.payload, &x, sizeof(x));
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_DELIVER); /* the lease is closed */
	lease_says = EMU_ARRIVAL_RESEND;
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_RESEND);
	memcpy(&x, p.payload, sizeof(x));
	CHECK_EQ(x.a.kind, EMU_ADDRESS_ANSWER);
	CHECK_EQ(x.a.version, 9);
	CHECK_EQ(x.a.flags, EMU_ADDRESS_BY_UNIT);
	CHECK_EQ(x.id, 77);
	x.a.kind = EMU_ADDRESS_MESSAGE;
	x.a.flags = 0;
	x.a.state = EMU_ACCESS_CAS;
	memcpy(p.payload, &x, sizeof(x));
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_RESEND);
	x.a.state = EMU_ACCESS_KINDS; /* not an access */
	memcpy(p.payload, &x, sizeof(x));
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_DELIVER);
	x.a.state = EMU_ACCESS_NONE; /* not an access */
	memcpy(p.payload, &x, sizeof(x));
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_DELIVER);
	x.a.state = EMU_ACCESS_GET;
	memcpy(p.payload, &x, sizeof(x));
	p.bytes = sizeof(x.a); /* too short to be one */
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_DELIVER);
	p.bytes = sizeof(b);
	p.task = 3;
	b.a.version++;
	b.lease = 0; /* no lease */
	memcpy(p.payload, &b, sizeof(b));
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_TAKEN);
	p.bytes = sizeof(x);
	memcpy(p.payload, &x, sizeof(x));
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_DELIVER);
	emu_directory_destroy(d);
}

/* The packet of an access of the block with key 64, whose home is at 7. */
static struct emu_packet make_put(void)
{
	struct emu_access x = {.a.key = 64,
			       .a.at = 7,
			       .a.kind = EMU_ADDRESS_MESSAGE,
			       .a.state = EMU_ACCESS_PUT,
			       .a.budget = EMU_ADDRESS_BUDGET};
	struct emu_packet p = {.bytes = sizeof(x), .task = 4};

	p.hdr.NetworkHeader.pt2pt.Destination.Destination.Destination = 5;
	memcpy(p.payload, &x, sizeof(x));
	return p;
}

/* What the lease and then the table say decides about an access that waits. */
static void accesses_wait(void)
{
	struct emu_directory *d = create_with_leases();
	struct emu_bind_lease b = make_lease(EMU_BIND_HOLD);
	struct emu_packet bind = {.bytes = sizeof(b), .task = 3}, p, more;

	REQUIRE(d != NULL);
	memcpy(bind.payload, &b, sizeof(b));
	CHECK_EQ(arrive(d, &bind), EMU_ARRIVAL_TAKEN);
	/* The block arrives, and then it is here. */
	lease_says = EMU_ARRIVAL_WAIT;
	p = make_put();
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_WAIT);
	CHECK_EQ(emu_directory_access(d, 1, 5, &p), EMU_ARRIVAL_WAIT);
	CHECK_EQ(emu_address_of(&p)->kind, EMU_ADDRESS_MESSAGE);
	lease_says = EMU_ARRIVAL_RESEND;
	CHECK_EQ(emu_directory_access(d, 1, 5, &p), EMU_ARRIVAL_RESEND);
	CHECK_EQ(emu_address_of(&p)->kind, EMU_ADDRESS_ANSWER);
	CHECK_EQ(emu_address_of(&p)->flags, EMU_ADDRESS_BY_UNIT);
	/* It never is: software takes the packet. */
	lease_says = EMU_ARRIVAL_WAIT;
	p = make_put();
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_WAIT);
	for (unsigned i = 1; i < EMU_ADDRESS_BUDGET; i++)
		CHECK_EQ(emu_directory_access(d, 1, 5, &p), EMU_ARRIVAL_WAIT);
	CHECK_EQ(emu_directory_access(d, 1, 5, &p), EMU_ARRIVAL_DELIVER);
	CHECK_EQ(emu_address_of(&p)->flags, 0);
	CHECK_EQ(emu_directory_stat(d).held_most, 1);
	/* As many as there is room for. */
	for (unsigned i = 0; i < EMU_ADDRESS_WAITING_MAX; i++) {
		p = make_put();
		CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_WAIT);
	}
	more = make_put();
	CHECK_EQ(arrive(d, &more), EMU_ARRIVAL_DELIVER);
	/* Software takes over, and there is room again. */
	lease_says = EMU_ARRIVAL_DELIVER;
	CHECK_EQ(emu_directory_access(d, 1, 5, &p), EMU_ARRIVAL_DELIVER);
	lease_says = EMU_ARRIVAL_WAIT;
	p = make_put();
	CHECK_EQ(arrive(d, &p), EMU_ARRIVAL_WAIT);
	CHECK_EQ(emu_directory_stat(d).held, EMU_ADDRESS_WAITING_MAX + 4);
	CHECK_EQ(emu_directory_stat(d).held_most, EMU_ADDRESS_WAITING_MAX);
	/* The table says that the block has left: the packet goes home. */
	b.a.version++;
	b.a.state = EMU_BIND_GONE;
	memcpy(bind.payload, &b, sizeof(b));
	CHECK_EQ(arrive(d, &bind), EMU_ARRIVAL_TAKEN);
	CHECK_EQ(emu_directory_access(d, 1, 5, &p), EMU_ARRIVAL_RESEND);
	CHECK_EQ(emu_address_of(&p)->kind, EMU_ADDRESS_MESSAGE);
	CHECK_EQ(p.hdr.NetworkHeader.pt2pt.Destination.Destination.Destination, 7);
	CHECK_EQ(emu_directory_stat(d).bounces, 1);
	emu_directory_destroy(d);
}

/* Entries come and go; what is left is found. */
static void entries_come_and_go(void)
{
	struct emu_directory_conf c = {.nodes = 3, .mode = EMU_DIRECTORY_HOME};
	struct emu_directory *d = emu_directory_create(&c);
	struct emu_packet p = {.bytes = sizeof(struct emu_address)};
	static uint32_t is[3][512];
	static uint16_t version[3][512];

	REQUIRE(d != NULL);
	memset(is, 0xff, sizeof(is));
	memset(version, 0, sizeof(version));
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t node = (uint32_t)drv_rng_below(t_rng(), 3);
		uint32_t key = (uint32_t)drv_rng_below(t_rng(), 512);
		bool gone = drv_rng_below(t_rng(), 2);
		struct emu_address a = {.key = key,
					.at = gone ? EMU_ADDRESS_NOBODY : i,
					.version = ++version[node][key],
					.kind = EMU_ADDRESS_HOME};

		memcpy(p.payload, &a, sizeof(a));
		CHECK_EQ(emu_directory_arrive(d, node, node, &p, 0), EMU_ARRIVAL_TAKEN);
		is[node][key] = a.at;
	}
	for (uint32_t node = 0; node < 3; node++)
		for (uint32_t key = 0; key < 512; key++)
			CHECK_EQ(emu_directory_home(d, node, key), is[node][key]);
	emu_directory_destroy(d);
}

T_MAIN(T(late_updates_change_nothing), T(leases_decide), T(accesses_wait), T(entries_come_and_go),
       T(by_home), T(by_routers), T(by_one_table))
