/* SPDX-License-Identifier: BSD-3-Clause */
#include "agas/access/network.h"

#include <string.h>

#include "agas/access/op.h"
#include "agas/access/serve.h"
#include "agas/move/move.h"
#include "pami/ext_address.h"

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
	uint64_t delay_ns;
} net;

void agas_network_open(void)
{
	pami_quintorus_address_mode_fn mode;
	pami_quintorus_address_delay_fn delay;

	if (PAMI_Extension_open(agas_world.client, PAMI_EXT_QUINTORUS_ADDRESS, &net.extension) !=
	    PAMI_SUCCESS)
		return;
	mode = (pami_quintorus_address_mode_fn)PAMI_Extension_symbol(net.extension, "mode");
	delay = (pami_quintorus_address_delay_fn)PAMI_Extension_symbol(net.extension, "delay");
	net.send = (pami_quintorus_address_send_fn)PAMI_Extension_symbol(net.extension, "send");
	net.arrived =
	    (pami_quintorus_address_arrived_fn)PAMI_Extension_symbol(net.extension, "arrived");
	net.mode = mode && net.send && net.arrived ? mode() : PAMI_QUINTORUS_ADDRESS_MODE_NONE;
	net.delay_ns = delay ? delay() : 0;
}

void agas_network_close(void)
{
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

static bool fits_packet(size_t header_bytes, size_t bytes)
{
	return ((header_bytes + 7) & ~(size_t)7) + bytes <= agas_world.immediate_max;
}

bool agas_network_fits(size_t bytes)
{
	return fits_packet(sizeof(struct address_request), bytes);
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

bool agas_network_request(const struct agas_request *r, const void *payload, size_t bytes)
{
	struct address_request h = {.a.key = agas_key_of(&agas_world.space, r->gva),
				    .a.kind = PAMI_QUINTORUS_ADDRESS_MESSAGE,
				    .r = *r};

	return send_to(agas_home_of(&agas_world.space, r->gva), &h, sizeof(h), payload, bytes);
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
static void write_table(struct pami_quintorus_address *a)
{
	if (!send_to(agas_world.me, a, sizeof(*a), NULL, 0))
		AGAS_COUNT(table_writes_lost);
	AGAS_COUNT(table_writes);
}

void agas_network_bind(uint64_t key, enum agas_state state, uint16_t version, uint32_t owner)
{
	static const uint8_t states[AGAS_STATES] = {
	    [AGAS_NONE] = PAMI_QUINTORUS_ADDRESS_FORGET,
	    [AGAS_REMOTE] = PAMI_QUINTORUS_ADDRESS_GONE,
	    [AGAS_INCOMING] = PAMI_QUINTORUS_ADDRESS_HOLD,
	    [AGAS_OWNED] = PAMI_QUINTORUS_ADDRESS_OWNED,
	    [AGAS_MOVING_OUT] = PAMI_QUINTORUS_ADDRESS_GONE,
	    [AGAS_DROPPING] = PAMI_QUINTORUS_ADDRESS_FORGET};
	struct pami_quintorus_address a = {.key = key,
					   .version = version,
					   .kind = PAMI_QUINTORUS_ADDRESS_BIND,
					   .state = states[state],
					   .to = owner};

	if (agas_network_leads())
		write_table(&a);
}

void agas_network_home(uint64_t key, uint32_t owner, uint16_t version)
{
	struct pami_quintorus_address a = {
	    .key = key, .at = owner, .version = version, .kind = PAMI_QUINTORUS_ADDRESS_HOME};

	if (agas_network_leads())
		write_table(&a);
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

void agas_network_receive(pami_context_t context, void *cookie, const void *header,
			  size_t header_bytes, const void *data, size_t bytes,
			  pami_endpoint_t origin, pami_recv_t *recv)
{
	const char *inner = (const char *)header + sizeof(struct pami_quintorus_address);
	size_t inner_bytes = header_bytes - sizeof(struct pami_quintorus_address);
	struct pami_quintorus_address a;

	memcpy(&a, header, sizeof(a));
	if (net.arrived && a.kind != PAMI_QUINTORUS_ADDRESS_MESSAGE)
		net.arrived(context, &a, origin);
	if (a.kind == PAMI_QUINTORUS_ADDRESS_ANSWER) {
		agas_op_receive_reply(context, cookie, inner, inner_bytes, data, bytes, origin,
				      recv);
	} else if (a.kind == PAMI_QUINTORUS_ADDRESS_UPDATE) {
		agas_move_receive(context, cookie, inner, inner_bytes, data, bytes, origin, recv);
	} else if (a.kind == PAMI_QUINTORUS_ADDRESS_MESSAGE) {
		AGAS_HANDLER;
		receive_request(header, data);
	}
}
