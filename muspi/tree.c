/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class routes and global interrupts, for programs that use them through the registers.
 *
 * Where nodes have routers (fabric torus, and virtual time) these combine, copy and carry signals
 * (mu_routers_combine()): contributions go to the router, and T 0 of each node tells it what was
 * stored to the control registers.
 *
 * On fabric express in real time the MUs of T 0 do in software what routers do. What goes over a
 * link is a raw packet to T 0 of the neighbour. Up: a node combines one packet of each child and
 * its own, port by port, and sends the result to its parent; the root turns it round. Down: copies
 * to all children and to its own reception side. A broadcast has one contribution, which goes up
 * from wherever it enters. Global interrupts are levels: a node ORs those of its children and its
 * own. docs/hardware.md 8.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/log.h"
#include "emu/class.h"
#include "emu/combine.h"
#include "mu/channel/class_route.h"
#include "mu/hw/packetize.h"
#include "muspi/unit.h"

#define PORTS      (EMU_LINKS + 1u) /* links, then the node itself */
#define LOCAL      EMU_LINKS
#define QUEUE_MOST 512u /* own contributions that may wait on a route */
#define ROUTES     BGQ_COLL_CLASS_MAX_CLASSROUTES

enum { UP, DOWN, GI_UP, GI_DOWN, KICK };

/* The header of a message between neighbours; the payload follows it. */
struct tree_head {
	uint8_t kind, port, route, bits;
	uint32_t bytes; /* of payload */
	MUHWI_PacketHeader_t header;
};
_Static_assert(sizeof(struct tree_head) == 40, "no holes");

/* A message of two packets that is not complete. */
struct part {
	struct part *next;
	uint32_t source, have;
	unsigned char data[sizeof(struct tree_head) + MU_PACKET_PAYLOAD];
};

static struct {
	struct unit_list port[ROUTES][PORTS]; /* contributions that wait */
	uint32_t waits[ROUTES];               /* of our own */
	uint32_t route[ROUTES], gi[ROUTES];   /* as last seen in the node's table */
	/* Global interrupts: what came up and down, also over links that no route has yet; what
	 * went. */
	uint8_t child[ROUTES][EMU_LINKS], down[ROUTES], sent_up[ROUTES], sent_down[ROUTES];
	struct part *parts;
	bool is_first; /* T 0 */
	bool is_kick_due;
	uint64_t control[ROUTES]; /* as last seen */
} tree;

static unsigned input_of(uint32_t route)
{
	return route >> 16;
}

static unsigned links_of(unsigned mask)
{
	return emu_class_links((uint16_t)mask);
}

static int send_to_task(uint32_t task, const struct tree_head *head, const void *payload)
{
	unsigned char data[sizeof *head + MU_PACKET_PAYLOAD];
	MUHWI_PacketHeader_t h;

	memset(&h, 0, sizeof h);
	memcpy(data, head, sizeof *head);
	if (head->bytes)
		memcpy(data + sizeof *head, payload, head->bytes);
	return unit_send_copy(task, UNIT_TREE, &h, data, (uint32_t)sizeof *head + head->bytes);
}

static int send_head(unsigned link, const struct tree_head *head, const void *payload)
{
	struct emu_coord x;
	uint32_t task, node = emu_node_neighbour(&unit.job->shape, unit.job->node, link);

	if (node == UINT32_MAX)
		return 0;
	emu_node_coord(&unit.job->shape, node, &x);
	x.t = 0;
	if (mu_coord_task(&x, &task)) {
		drv_warn("MU: class route %u leads to a node without a task: dropped", head->route);
		return 0;
	}
	return send_to_task(task, head, payload);
}

/* Send to the process of this node that runs the tree. */
static int send_first(const struct tree_head *head, const void *payload)
{
	struct emu_coord x = unit.job->coord;
	uint32_t task;

	x.t = 0;
	return mu_coord_task(&x, &task) ? 0 : send_to_task(task, head, payload);
}

/* A list of sends that must not be lost: try until the channel has room. The pump is ours. */
static void send_surely(unsigned link, const struct tree_head *head, const void *payload)
{
	while (send_head(link, head, payload) == -EAGAIN)
		mu_make_room(unit.ch);
}

/* ---- collective packets ---- */

static void deliver_packet(const MUHWI_PacketHeader_t *h, const unsigned char *data, uint32_t bytes)
{
	const MUHWI_CollectiveNetworkHeader_t *c = &h->NetworkHeader.collective;
	int rc;

	if ((c->Byte3.Byte3 & 0x18) == MUHWI_COLLECTIVE_TYPE_REDUCE &&
	    c->Destination.Destination.Destination != emu_coord_word(&unit.job->coord))
		return;
	/* A FIFO that is full keeps it. Without memory it has nowhere else to wait. */
	for (;;) {
		mu_lock_acquire(&unit.memory);
		rc = unit_receive(unit.job->task, h, data, bytes, false);
		mu_lock_release(&unit.memory);
		if (rc != -EAGAIN)
			return;
		mu_make_room(unit.ch);
	}
}

static void pass_down(unsigned r, const MUHWI_PacketHeader_t *h, const unsigned char *data,
		      uint32_t bytes)
{
	unsigned input = input_of(tree.route[r]);
	struct tree_head head = {DOWN, 0, (uint8_t)r, 0, bytes, *h};

	for (unsigned links = links_of(input); links; links &= links - 1) {
		unsigned link = (unsigned)__builtin_ctz(links);

		send_surely(link, &head, data);
	}
	if (input & BGQ_CLASS_INPUT_LINK_LOCAL)
		deliver_packet(h, data, bytes);
}

static void pass_up(unsigned r, const MUHWI_PacketHeader_t *h, const unsigned char *data,
		    uint32_t bytes)
{
	unsigned out = links_of(tree.route[r] & 0xffff), link;
	struct tree_head head = {UP, 0, (uint8_t)r, 0, bytes, *h};

	if (!out) {
		pass_down(r, h, data, bytes);
		return;
	}
	link = (unsigned)__builtin_ctz(out);
	head.port = (uint8_t)emu_link_opposite(link);
	send_surely(link, &head, data);
}

static bool is_broadcast(const MUHWI_PacketHeader_t *h)
{
	return (h->NetworkHeader.collective.Byte3.Byte3 & 0x18) == MUHWI_COLLECTIVE_TYPE_BROADCAST;
}

/* Combine as long as each port of the route has a packet. */
static int combine_route(unsigned r)
{
	unsigned input = input_of(tree.route[r]), links = links_of(input);
	unsigned ports = links | (input & BGQ_CLASS_INPUT_LINK_LOCAL ? 1u << LOCAL : 0);
	int n = 0;

	for (;; n++) {
		unsigned char sum[MU_PACKET_PAYLOAD];
		MUHWI_PacketHeader_t h;
		uint32_t bytes = 0;
		bool first = true;

		if (!ports)
			return n;
		for (unsigned m = ports; m; m &= m - 1)
			if (!tree.port[r][__builtin_ctz(m)].first)
				return n;
		/* The node's own comes first, then A- .. E+, as in the router. */
		for (unsigned i = 0; i < PORTS; i++) {
			unsigned port = (i + LOCAL) % PORTS;
			struct unit_packet *p;

			if (!(ports >> port & 1))
				continue;
			p = unit_list_take(&tree.port[r][port]);
			tree.waits[r] -= port == LOCAL;
			if (first) {
				memset(sum, 0, sizeof sum);
				memcpy(sum, p->payload, p->bytes);
				h = p->header;
				bytes = p->bytes;
				first = false;
			} else {
				if (memcmp(&h, &p->header, sizeof h))
					unit_refuse(RULE_class_mismatch, "Class_Route", r);
				emu_combine(h.NetworkHeader.collective.Byte1.Byte1 & 0xf0,
					    h.NetworkHeader.collective.Byte1.Word_Length, sum,
					    p->payload, bytes < p->bytes ? bytes : p->bytes);
			}
			free(p);
		}
		pass_up(r, &h, sum, bytes);
	}
}

/* 0, or -EAGAIN: there is no memory, and nothing was done. */
static int add_contribution(unsigned r, unsigned port, const MUHWI_PacketHeader_t *h,
			    const unsigned char *data, uint32_t bytes)
{
	if (is_broadcast(h)) {
		/* A contribution whose route is not programmed yet waits at its port, too. */
		if (tree.route[r]) {
			pass_up(r, h, data, bytes);
			return 0;
		}
	}
	if (unit_list_add(&tree.port[r][port], 0, h, data, bytes))
		return -EAGAIN;
	tree.waits[r] += port == LOCAL;
	combine_route(r);
	return 0;
}

static void look_at_routes(void);

int unit_tree_contribute(const MUHWI_PacketHeader_t *h, const unsigned char *payload,
			 uint32_t bytes)
{
	unsigned r = h->NetworkHeader.collective.Byte2.Class_Route;
	unsigned word = 4u << h->NetworkHeader.collective.Byte1.Word_Length;
	struct tree_head head = {UP, LOCAL, (uint8_t)r, 0, bytes, *h};

	/* Only whole words are combined; the caller padded with zeros. */
	bytes = (bytes + word - 1) / word * word;
	if (bytes > MU_PACKET_PAYLOAD)
		bytes = MU_PACKET_PAYLOAD;
	head.bytes = bytes;
	if (mu_routers_combine())
		return unit_send_contribution(h, payload, bytes);
	if (!tree.is_first)
		return send_first(&head, payload);
	if (tree.waits[r] >= QUEUE_MOST)
		return -EAGAIN;
	look_at_routes();
	return add_contribution(r, LOCAL, h, payload, bytes);
}

/* ---- global interrupts ---- */

static unsigned gi_up(unsigned r)
{
	unsigned input = input_of(tree.gi[r]), up = 0;

	for (unsigned links = links_of(input); links; links &= links - 1)
		up |= tree.child[r][__builtin_ctz(links)];
	if (input & BGQ_CLASS_INPUT_LINK_LOCAL)
		up |= (unsigned)atomic_load_acquire(&unit.table->gi_control[r]);
	return up & 7;
}

static void send_signal(unsigned kind, unsigned r, unsigned link, unsigned bits)
{
	struct tree_head head = {.kind = (uint8_t)kind,
				 .port = (uint8_t)emu_link_opposite(link),
				 .route = (uint8_t)r,
				 .bits = (uint8_t)bits};

	send_surely(link, &head, NULL);
}

static void gi_down(unsigned r, unsigned bits)
{
	if (bits != tree.sent_down[r]) {
		tree.sent_down[r] = (uint8_t)bits;
		for (unsigned links = links_of(input_of(tree.gi[r])); links; links &= links - 1)
			send_signal(GI_DOWN, r, (unsigned)__builtin_ctz(links), bits);
	}
	atomic_store_release((uint64_t *)&unit.table->gi_status[r], bits);
}

static int gi_run(unsigned r)
{
	unsigned up = gi_up(r), out = links_of(tree.gi[r] & 0xffff);

	if (up == tree.sent_up[r])
		return 0;
	tree.sent_up[r] = (uint8_t)up;
	if (!out)
		gi_down(r, up);
	else
		send_signal(GI_UP, r, (unsigned)__builtin_ctz(out), up);
	return 1;
}

/* A node's part of a route has changed: take back what went by the old one, and act on what came
 * before. */
static void gi_program(unsigned r, uint32_t route)
{
	unsigned out = links_of(tree.gi[r] & 0xffff);

	if (out && tree.sent_up[r])
		send_signal(GI_UP, r, (unsigned)__builtin_ctz(out), 0);
	tree.sent_up[r] = 0;
	gi_down(r, 0);
	tree.gi[r] = route;
	if (!route)
		return;
	if (links_of(route & 0xffff))
		gi_down(r, tree.down[r]);
	gi_run(r);
}

/* ---- the node's table ---- */

/* Take over what processes of this node have programmed since the last call. */
static void look_at_routes(void)
{
	for (unsigned r = 0; r < ROUTES; r++) {
		uint32_t now = atomic_load_acquire(&unit.table->coll[r]);

		if (now != tree.route[r]) {
			tree.route[r] = now;
			for (unsigned i = 0; now && i < PORTS; i++) {
				struct unit_packet *p;

				while ((p = tree.port[r][i].first) && is_broadcast(&p->header)) {
					unit_list_take(&tree.port[r][i]);
					tree.waits[r] -= i == LOCAL;
					pass_up(r, &p->header, p->payload, p->bytes);
					free(p);
				}
			}
			if (now)
				combine_route(r);
		}
		now = atomic_load_acquire(&unit.table->gi[r]);
		if (now != tree.gi[r])
			gi_program(r, now);
	}
}

/* Another process of the node runs the tree: tell it that a register has changed. */
static int kick_first(void)
{
	struct tree_head head = {.kind = KICK};

	for (unsigned r = 0; r < ROUTES; r++) {
		uint64_t now = atomic_load_acquire(&unit.table->gi_control[r]);

		tree.is_kick_due |= now != tree.control[r];
		tree.control[r] = now;
	}
	if (!tree.is_kick_due || send_first(&head, NULL))
		return 0;
	tree.is_kick_due = false;
	return 1;
}

/* Tell the node's router what processes of this node have stored to control registers. */
static int run_signals(void)
{
	int n = 0;

	for (unsigned r = 0; r < ROUTES; r++)
		n += mu_gi_write_for_program(
		    unit.ch, r, (unsigned)atomic_load_acquire(&unit.table->gi_control[r]) & 7);
	return n;
}

int unit_tree_run(void)
{
	int n = 0;

	if (!tree.is_first)
		return kick_first();
	if (mu_routers_combine())
		return run_signals();
	look_at_routes();
	for (unsigned r = 0; r < ROUTES; r++)
		if (tree.gi[r])
			n += gi_run(r);
	return n;
}

bool unit_tree_is_busy(void)
{
	return tree.is_kick_due;
}

/* ---- what arrives ---- */

/* 0, or -EAGAIN: later. */
static int handle_packet(const struct tree_head *head, const unsigned char *payload)
{
	unsigned r = head->route % ROUTES, port = head->port;

	if (port > LOCAL || head->bytes > MU_PACKET_PAYLOAD)
		return 0;
	if (mu_routers_combine())
		return 0; /* KICK: the caller looks */
	look_at_routes();
	switch (head->kind) {
	case UP:
		return add_contribution(r, port, &head->header, payload, head->bytes);
	case DOWN:
		pass_down(r, &head->header, payload, head->bytes);
		break;
	case GI_UP:
		if (port < LOCAL)
			tree.child[r][port] = head->bits & 7;
		if (tree.gi[r])
			gi_run(r);
		break;
	case GI_DOWN:
		tree.down[r] = head->bits & 7;
		if (tree.gi[r])
			gi_down(r, tree.down[r]);
		break;
	default:
		break; /* KICK: the caller looks */
	}
	return 0;
}

static struct part *find_part(uint32_t source)
{
	struct part *p = tree.parts;

	while (p && p->source != source)
		p = p->next;
	if (!p && (p = calloc(1, sizeof *p))) {
		p->source = source;
		p->next = tree.parts;
		tree.parts = p;
	}
	return p;
}

static int take_piece(const struct unit_packet *p)
{
	struct tree_head head;
	struct part *part;

	memcpy(&head, p->payload, p->bytes < sizeof head ? p->bytes : sizeof head);
	if (!mu_fifo_offset(&p->header) && p->bytes >= sizeof head &&
	    p->bytes == sizeof head + head.bytes)
		return handle_packet(&head, p->payload + sizeof head);
	part = find_part(p->source);
	if (!part)
		return -EAGAIN;
	if (!mu_fifo_offset(&p->header))
		part->have = 0;
	if (p->bytes > sizeof part->data - part->have) {
		drv_warn("MU: a message of task %u about a class route is too long: dropped",
			 p->source);
		part->have = 0;
		return 0;
	}
	memcpy(part->data + part->have, p->payload, p->bytes);
	part->have += p->bytes;
	memcpy(&head, part->data, sizeof head);
	if (part->have >= sizeof head && part->have == sizeof head + head.bytes) {
		if (handle_packet(&head, part->data + sizeof head)) {
			part->have -= p->bytes; /* The piece comes again. */
			return -EAGAIN;
		}
		part->have = 0;
	}
	return 0;
}

/* 1 + T of the process that has the resource which a packet names; 0: none has. */
static unsigned find_owner(const MUHWI_PacketHeader_t *h, unsigned kind)
{
	switch (mu_packet_type(h)) {
	case MUHWI_PACKET_TYPE_FIFO:
		return atomic_load_acquire(
		    &unit.table->rec[h->messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id %
				     MU_TABLE_REC]);
	case MUHWI_PACKET_TYPE_PUT:
		return atomic_load_acquire(
		    &unit.table
			 ->bat[(kind == UNIT_COUNT ? h->messageUnitHeader.Packet_Types.Direct_Put
							 .Rec_Counter_Base_Address_Id
						   : h->messageUnitHeader.Packet_Types.Direct_Put
							 .Rec_Payload_Base_Address_Id) %
			       MU_TABLE_BAT]);
	default:
		return atomic_load_acquire(
		    &unit.table->inj[h->messageUnitHeader.Packet_Types.Remote_Get.Rget_Inj_FIFO_Id %
				     MU_TABLE_INJ]);
	}
}

/* Hand a packet to that process. */
static int forward_packet(const struct unit_packet *p, unsigned kind)
{
	const MUHWI_PacketHeader_t *h = &p->header;
	struct emu_coord x = unit.job->coord;
	unsigned owner = find_owner(h, kind);
	uint32_t task;

	if (!owner)
		return 0;
	x.t = (uint8_t)(owner - 1);
	if (mu_coord_task(&x, &task) || task == unit.job->task)
		return 0;
	return unit_send_copy(task, kind, h, p->payload, p->bytes);
}

int unit_tree_work(const struct unit_packet *p)
{
	unsigned kind = p->header.NetworkHeader.pt2pt.Injection_Info.Reserved4;

	return kind == UNIT_TREE ? take_piece(p) : forward_packet(p, kind);
}

/* Route 0 of both kinds spans the job from the start. */
void unit_tree_start(void)
{
	ClassRoute_t c;

	atomic_store_release(&unit.table->is_used, 1);
	tree.is_first = unit.job->coord.t == 0;
	for (unsigned r = 0; r < ROUTES; r++)
		for (unsigned i = 0; i < PORTS; i++)
			tree.port[r][i].last = &tree.port[r][i].first;
	if (mu_job_class(&c)) {
		drv_warn("MU: links do not connect the nodes of this job: there is no class route "
			 "0");
		return;
	}
	atomic_store_release(&unit.table->coll[0], (uint32_t)c.input << 16 | c.output);
	atomic_store_release(&unit.table->gi[0], (uint32_t)c.input << 16 | c.output);
	tree.gi[0] = (uint32_t)c.input << 16 | c.output;
	memset(tree.child[0], 4, sizeof tree.child[0]);
	tree.down[0] = tree.sent_up[0] = tree.sent_down[0] = 4;
	for (unsigned r = 0; r < ROUTES; r++)
		tree.control[r] = atomic_load_acquire(&unit.table->gi_control[r]);
}
