/* SPDX-License-Identifier: BSD-3-Clause */
#include "agas/access/network.h"

#include <stddef.h>
#include <string.h>

#include "agas/access/op.h"
#include "agas/access/serve.h"
#include "agas/memory/heap.h"
#include "agas/move/move.h"
#include "drivers/base/assert.h"
#include "pami/ext_address.h"

#define SAME(theirs, mine)                                                                         \
	_Static_assert(offsetof(struct pami_quintorus_lease, theirs) ==                            \
			   offsetof(struct agas_block, mine),                                      \
		       "a record begins with the lease of the block")
SAME(key, key);
SAME(word, word);
SAME(memory, memory);
SAME(bytes, bytes);
SAME(uses, accesses);
SAME(voter, voter);
SAME(votes, votes);
_Static_assert((int)PAMI_QUINTORUS_ADDRESS_OWNED == (int)AGAS_OWNED,
	       "the state that opens a lease");
_Static_assert((int)PAMI_QUINTORUS_ADDRESS_HOLD == (int)AGAS_INCOMING &&
		   (int)PAMI_QUINTORUS_ADDRESS_GONE == (int)AGAS_REMOTE,
	       "the states for which a unit waits");

struct address_request {
	struct pami_quintorus_address a;
	struct agas_request r;
};

struct address_reply {
	struct pami_quintorus_address a;
	struct agas_reply r;
};

struct address_move {
	struct pami_quintorus_address a;
	struct agas_move_wire w;
};

static struct {
	pami_extension_t extension;
	enum pami_quintorus_address_mode mode;
	pami_quintorus_address_send_fn send;
	pami_quintorus_address_arrived_fn arrived;
	pami_quintorus_address_lead_fn lead;
	uint64_t delay_ns;
	size_t piece;
	/* Accesses of blocks of this host, all or none. */
	pami_quintorus_address_near_fn near;
	pami_quintorus_address_claim_fn claim;
	pami_quintorus_address_unpin_fn unpin;
	pami_quintorus_address_death_fn death;
} net;

/*
 * The owner's software sends the data of a get of more pieces than these at once. A put of as many
 * goes in pieces if no operation is in flight, which is faster, else in one piece, as one long
 * put, for which the source has less work. In virtual time (gbench latency, gbench rate) pieces of
 * 512 bytes and 1 KiB take 2.39 and 2.82 us, long puts 2.92 and 3.21; with 64 in flight the source
 * sends 0.65 and 0.44 million puts a second in pieces and 1.3 million in one.
 */
#define PIECES_MAX 3u

static void open_near(void)
{
	pami_quintorus_address_claim_fn claim;

	net.unpin = (pami_quintorus_address_unpin_fn)PAMI_Extension_symbol(net.extension, "unpin");
	net.death = (pami_quintorus_address_death_fn)PAMI_Extension_symbol(net.extension, "death");
	claim = (pami_quintorus_address_claim_fn)PAMI_Extension_symbol(net.extension, "claim");
	net.near = (pami_quintorus_address_near_fn)PAMI_Extension_symbol(net.extension, "near");
	if (net.near && claim && net.unpin && net.death && agas_heap_open(agas_world.client))
		net.claim = claim;
	else
		net.near = NULL;
}

void agas_network_open(void)
{
	pami_quintorus_address_has_near_fn has_near;
	pami_quintorus_address_mode_fn mode;
	pami_quintorus_address_delay_fn delay;
	pami_quintorus_address_unit_fn unit;

	if (PAMI_Extension_open(agas_world.client, PAMI_EXT_QUINTORUS_ADDRESS, &net.extension) !=
	    PAMI_SUCCESS)
		return;
	mode = (pami_quintorus_address_mode_fn)PAMI_Extension_symbol(net.extension, "mode");
	delay = (pami_quintorus_address_delay_fn)PAMI_Extension_symbol(net.extension, "delay");
	net.send = (pami_quintorus_address_send_fn)PAMI_Extension_symbol(net.extension, "send");
	net.arrived =
	    (pami_quintorus_address_arrived_fn)PAMI_Extension_symbol(net.extension, "arrived");
	net.lead = (pami_quintorus_address_lead_fn)PAMI_Extension_symbol(net.extension, "lead");
	net.mode =
	    mode && net.send && net.arrived && net.lead ? mode() : PAMI_QUINTORUS_ADDRESS_MODE_NONE;
	net.delay_ns = delay ? delay() : 0;
	unit = (pami_quintorus_address_unit_fn)PAMI_Extension_symbol(net.extension, "unit");
	net.piece = unit ? unit() & ~(size_t)7 : 0; /* no piece ends within an aligned word */
	has_near =
	    (pami_quintorus_address_has_near_fn)PAMI_Extension_symbol(net.extension, "has_near");
	if (net.send && has_near && has_near())
		open_near();
}

void agas_network_close(void)
{
	agas_heap_close();
	if (net.extension)
		PAMI_Extension_close(net.extension);
	memset(&net, 0, sizeof(net));
}

bool agas_network_leads(void)
{
	return net.mode != PAMI_QUINTORUS_ADDRESS_MODE_NONE && !agas_world.deaths;
}

double agas_network_delay(void)
{
	return 1e-9 * (double)net.delay_ns;
}

size_t agas_network_piece(enum agas_request_kind kind, size_t bytes)
{
	/* In real time there are no pieces, and other threads change the count under the lock. */
	if (!net.piece || bytes > PIECES_MAX * net.piece || !agas_network_leads())
		return SIZE_MAX;
	return kind == AGAS_REQUEST_GET || (kind == AGAS_REQUEST_PUT && !agas_ops_count())
		   ? net.piece
		   : SIZE_MAX;
}

static bool fits_packet(size_t header_bytes, size_t bytes)
{
	return ((header_bytes + 7) & ~(size_t)7) + bytes <= agas_world.immediate_max;
}

bool agas_network_fits(size_t bytes)
{
	return fits_packet(sizeof(struct pami_quintorus_access), bytes);
}

static bool send_to(uint32_t rank, void *header, size_t header_bytes, const void *data,
		    size_t bytes)
{
	pami_send_immediate_t m = {.header = {header, header_bytes},
				   .data = {(char *)(uintptr_t)data, bytes},
				   .dispatch = AGAS_DISPATCH_NETWORK,
				   .dest = agas_world.endpoint[rank]};

	return fits_packet(header_bytes, bytes) && net.send(agas_world.context, &m) == PAMI_SUCCESS;
}

static bool is_access(const struct agas_request *r)
{
	if (r->kind == AGAS_REQUEST_PULL)
		return net.piece; /* any unit that carries out puts carries out long ones */
	return (r->kind == AGAS_REQUEST_PUT || r->kind == AGAS_REQUEST_GET ||
		r->kind == AGAS_REQUEST_ATOMIC) &&
	       agas_network_fits(r->bytes);
}

_Static_assert((int)PAMI_QUINTORUS_ADDRESS_XOR + (int)AGAS_ATOMIC_CAS ==
		       (int)PAMI_QUINTORUS_ADDRESS_CAS &&
		   (int)PAMI_QUINTORUS_ADDRESS_XOR + (int)AGAS_ATOMIC_ADD ==
		       (int)PAMI_QUINTORUS_ADDRESS_ADD &&
		   (int)AGAS_ATOMIC_XOR == 0,
	       "atomic operations in one order");

static uint8_t access_kind(const struct agas_request *r)
{
	switch ((enum agas_request_kind)r->kind) {
	case AGAS_REQUEST_PUT:
		return PAMI_QUINTORUS_ADDRESS_PUT;
	case AGAS_REQUEST_GET:
		return PAMI_QUINTORUS_ADDRESS_GET;
	case AGAS_REQUEST_PULL:
		return PAMI_QUINTORUS_ADDRESS_LONG_PUT;
	default:
		return (uint8_t)(PAMI_QUINTORUS_ADDRESS_XOR + r->atomic);
	}
}

/* An access in the form that a messaging unit understands. */
static struct pami_quintorus_access access_of(const struct agas_request *r)
{
	return (struct pami_quintorus_access){
	    .a.key = agas_key_of(&agas_world.space, r->gva),
	    .a.kind = PAMI_QUINTORUS_ADDRESS_MESSAGE,
	    .a.state = access_kind(r),
	    .a.to = (uint32_t)agas_offset_of(&agas_world.space, r->gva),
	    .id = r->id,
	    .bytes = r->bytes};
}

static bool send_access(const struct agas_request *r, const void *payload, size_t bytes)
{
	struct pami_quintorus_access h = access_of(r);
	struct pami_quintorus_operands o = {r->operand, r->expected};

	if (r->kind == AGAS_REQUEST_ATOMIC || r->kind == AGAS_REQUEST_PULL) {
		payload = &o;
		bytes = sizeof(o);
	}
	return send_to(agas_home_of(&agas_world.space, r->gva), &h, sizeof(h), payload, bytes);
}

bool agas_network_request(const struct agas_request *r, const void *payload, size_t bytes)
{
	if (is_access(r))
		return send_access(r, payload, bytes);

	struct address_request h = {.a.key = agas_key_of(&agas_world.space, r->gva),
				    .a.kind = PAMI_QUINTORUS_ADDRESS_MESSAGE,
				    .r = *r};

	return send_to(agas_home_of(&agas_world.space, r->gva), &h, sizeof(h), payload, bytes);
}

uint32_t agas_network_lead(uint64_t gva)
{
	return net.lead(agas_key_of(&agas_world.space, gva), agas_home_of(&agas_world.space, gva));
}

bool agas_network_answer(const struct agas_request *r, const struct agas_reply *reply,
			 const void *data, size_t bytes)
{
	struct address_reply h = {.a.key = agas_key_of(&agas_world.space, r->gva),
				  .a.version = reply->version,
				  .a.kind = PAMI_QUINTORUS_ADDRESS_ANSWER,
				  .r = *reply};

	if (!agas_network_leads())
		return false;
	/* In real time no router marks a packet that it has to send on; software did it. */
	if (r->flags & AGAS_HOP_NETWORK_MISLED || (r->hops && !agas_world.is_virtual))
		h.a.flags = PAMI_QUINTORUS_ADDRESS_MISLED;
	return send_to(r->source, &h, sizeof(h), data, bytes);
}

bool agas_network_update(const struct agas_move_msg *m)
{
	struct address_move h = {.a.key = m->key,
				 .a.version = m->version,
				 .a.kind = PAMI_QUINTORUS_ADDRESS_UPDATE,
				 .w.m = *m};

	return agas_network_leads() && send_to(m->peer, &h, sizeof(h), NULL, 0);
}

/* If the injection FIFO has no room now, the tables stay out of date, and software forwards the
 * packets that they mislead. */
static void write_table(void *header, size_t header_bytes)
{
	if (!send_to(agas_world.me, header, header_bytes, NULL, 0))
		AGAS_COUNT(table_writes_lost);
	AGAS_COUNT(table_writes);
}

void agas_network_bind(const struct agas_block *b, enum agas_state state)
{
	static const uint8_t states[AGAS_STATES] = {
	    [AGAS_NONE] = PAMI_QUINTORUS_ADDRESS_FORGET,
	    [AGAS_REMOTE] = PAMI_QUINTORUS_ADDRESS_GONE,
	    [AGAS_INCOMING] = PAMI_QUINTORUS_ADDRESS_HOLD,
	    [AGAS_OWNED] = PAMI_QUINTORUS_ADDRESS_OWNED,
	    [AGAS_MOVING_OUT] = PAMI_QUINTORUS_ADDRESS_GONE,
	    [AGAS_DROPPING] = PAMI_QUINTORUS_ADDRESS_FORGET};
	struct pami_quintorus_bind h = {.a.key = atomic_load_relaxed(&b->key),
					.a.version = b->version,
					.a.kind = PAMI_QUINTORUS_ADDRESS_BIND,
					.a.state = states[state],
					.a.to = b->owner,
					.lease = (uintptr_t)b};

	if (agas_network_leads() || (net.near && !agas_world.deaths))
		write_table(&h, sizeof(h));
}

void agas_network_home(uint64_t key, uint32_t owner, uint16_t version)
{
	struct pami_quintorus_address a = {
	    .key = key, .at = owner, .version = version, .kind = PAMI_QUINTORUS_ADDRESS_HOME};

	if (agas_network_leads())
		write_table(&a, sizeof(a));
}

/* ---- blocks of this host ---- */

bool agas_network_reaches(void)
{
	return net.near != NULL;
}

bool agas_network_finds(void)
{
	return net.near && agas_network_leads();
}

/* The owner has claimed the slot of an access that is over. If it has died, nobody asks. */
static void send_end(const struct pami_quintorus_access *x,
		     const struct pami_quintorus_near_end *end)
{
	AGAS_LOCK;
	struct pami_quintorus_access h = *x;

	/* The table that led here may be old, and the lease another block's by now. */
	h.a.key = end->key;
	h.a.state = PAMI_QUINTORUS_ADDRESS_END_NEAR;
	h.id = end->slot;
	agas_send(end->task, AGAS_DISPATCH_NETWORK, &h, sizeof(h), NULL, 0, NULL);
}

bool agas_network_access(const struct agas_request *r, void *local, uint64_t *value, uint32_t owner)
{
	struct pami_quintorus_access x;
	struct pami_quintorus_near_end end;
	struct pami_quintorus_operands o;
	bool is_atomic = r->kind == AGAS_REQUEST_ATOMIC, done;

	if (!net.near || agas_world.deaths ||
	    (!is_atomic && r->kind != AGAS_REQUEST_PUT && r->kind != AGAS_REQUEST_GET))
		return false;
	x = access_of(r);
	x.a.at = owner;
	o = (struct pami_quintorus_operands){r->operand, r->expected};
	done = net.near(&x, is_atomic ? &o : local, &end);
	if (end.task != UINT32_MAX)
		send_end(&x, &end);
	if (!done)
		return false;
	if (is_atomic && value)
		*value = o.operand;
	AGAS_COUNT(by_unit);
	return true;
}

static uint32_t claim_block(struct agas_block *b)
{
	uint32_t pins = net.claim((const struct pami_quintorus_lease *)(const void *)b);

	if (pins)
		agas_block_add_pins(b, pins);
	return pins;
}

uint32_t (*agas_network_claim(void))(struct agas_block *b)
{
	return net.near ? claim_block : NULL;
}

static void release_lease(void *lease)
{
	agas_block_release(lease);
}

void agas_network_death(uint32_t dead)
{
	if (net.near)
		net.death(dead, release_lease);
}

static void receive_end_near(const struct pami_quintorus_access *x, uint32_t source)
{
	struct agas_block *b = agas_block_find(x->a.key);

	if (b && net.near &&
	    net.unpin((const struct pami_quintorus_lease *)(const void *)b, source,
		      (uint32_t)x->id))
		agas_block_release(b);
}

/* ---- arrival ---- */

static void receive_request(const char *header, const void *data)
{
	struct address_request h;

	memcpy(&h, header, sizeof(h));
	if (h.a.flags & PAMI_QUINTORUS_ADDRESS_MISLED)
		h.r.flags |= AGAS_HOP_NETWORK_MISLED;
	agas_serve(&h.r, data);
}

static bool is_atomic(const struct pami_quintorus_access *x)
{
	return x->a.state >= PAMI_QUINTORUS_ADDRESS_XOR && x->a.state <= PAMI_QUINTORUS_ADDRESS_CAS;
}

/* The unit has left the pin of a long put to a block that leaves. */
static void receive_end(const struct pami_quintorus_access *x, const struct agas_request *r)
{
	struct agas_block *b = agas_block_find(x->a.key);

	DRV_ASSERT(b && agas_block_pins(b));
	if (b)
		agas_serve_end(r, b, x->a.state == PAMI_QUINTORUS_ADDRESS_END);
}

/* An access that no unit carried out, or not to its end. */
static void receive_access(const char *header, const void *data, uint32_t source)
{
	struct pami_quintorus_access x;
	struct agas_request r = {.source = source};

	memcpy(&x, header, sizeof(x));
	if (x.a.state == PAMI_QUINTORUS_ADDRESS_END_NEAR) {
		receive_end_near(&x, source);
		return;
	}
	if (is_atomic(&x) || x.a.state == PAMI_QUINTORUS_ADDRESS_LONG_PUT) {
		struct pami_quintorus_operands o;

		memcpy(&o, data, sizeof(o));
		r.kind = is_atomic(&x) ? AGAS_REQUEST_ATOMIC : AGAS_REQUEST_PULL;
		if (is_atomic(&x))
			r.atomic = (uint8_t)(x.a.state - PAMI_QUINTORUS_ADDRESS_XOR);
		r.operand = o.operand;
		r.expected = o.expected;
	} else {
		r.kind =
		    x.a.state == PAMI_QUINTORUS_ADDRESS_PUT ? AGAS_REQUEST_PUT : AGAS_REQUEST_GET;
	}
	r.flags = x.a.flags & PAMI_QUINTORUS_ADDRESS_MISLED ? AGAS_HOP_NETWORK_MISLED : 0;
	r.gva = x.a.key + x.a.to;
	r.id = x.id;
	r.bytes = x.bytes;
	if (x.a.state >= PAMI_QUINTORUS_ADDRESS_END)
		receive_end(&x, &r);
	else
		agas_serve(&r, data);
}

/* The answer of a unit. */
static void receive_done(const char *header, const void *data, uint32_t owner)
{
	struct pami_quintorus_access x;
	struct agas_reply reply = {.owner = owner};

	memcpy(&x, header, sizeof(x));
	reply.version = x.a.version;
	reply.id = x.id;
	if (is_atomic(&x))
		memcpy(&reply.value, data, sizeof(reply.value));
	AGAS_COUNT(by_unit);
	agas_op_answer(&reply, data);
}

void agas_network_receive(pami_context_t context, void *cookie, const void *header,
			  size_t header_bytes, const void *data, size_t bytes,
			  pami_endpoint_t origin, pami_recv_t *recv)
{
	const char *inner = (const char *)header + sizeof(struct pami_quintorus_address);
	size_t inner_bytes = header_bytes - sizeof(struct pami_quintorus_address);
	struct pami_quintorus_address a;
	pami_task_t from;
	size_t offset;

	memcpy(&a, header, sizeof(a));
	PAMI_Endpoint_query(origin, &from, &offset);
	if (net.arrived && a.kind != PAMI_QUINTORUS_ADDRESS_MESSAGE)
		net.arrived(context, &a, origin);
	if (a.kind == PAMI_QUINTORUS_ADDRESS_ANSWER && a.flags & PAMI_QUINTORUS_ADDRESS_BY_UNIT) {
		AGAS_HANDLER;
		receive_done(header, data, from);
	} else if (a.kind == PAMI_QUINTORUS_ADDRESS_ANSWER) {
		agas_op_receive_reply(context, cookie, inner, inner_bytes, data, bytes, origin,
				      recv);
	} else if (a.kind == PAMI_QUINTORUS_ADDRESS_UPDATE) {
		agas_move_receive(context, cookie, inner, inner_bytes, data, bytes, origin, recv);
	} else if (a.kind == PAMI_QUINTORUS_ADDRESS_MESSAGE &&
		   a.state != PAMI_QUINTORUS_ADDRESS_ACCESS_NONE) {
		AGAS_HANDLER;
		receive_access(header, data, from);
	} else if (a.kind == PAMI_QUINTORUS_ADDRESS_MESSAGE) {
		AGAS_HANDLER;
		receive_request(header, data);
	}
}
