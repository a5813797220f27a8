/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "agas/access/action.h"
#include "agas/access/network.h"
#include "agas/access/op.h"
#include "agas/access/serve.h"
#include "agas/core/world.h"
#include "agas/memory/heap.h"
#include "agas/move/move.h"
#include "drivers/base/assert.h"
#include "drivers/base/copy.h"
#include "drivers/base/log.h"

/* A request that waits for its block to arrive. */
struct agas_parked {
	struct agas_parked *next;
	struct agas_request r;
	char payload[] __attribute__((aligned(16)));
};

/* ---- sending ---- */

static void free_sent(pami_context_t context, void *cookie, pami_result_t result)
{
	agas_heap_free(cookie);
}

bool agas_send(uint32_t to, size_t dispatch, const void *header, size_t header_bytes,
	       const void *payload, size_t bytes, void *owned)
{
	pami_send_t m;
	pami_result_t rc;

	if (agas_is_dead(to)) {
		agas_heap_free(owned);
		return false;
	}
	memset(&m, 0, sizeof(m));
	m.send = (pami_send_immediate_t){.header = {(char *)(uintptr_t)header, header_bytes},
					 .data = {(char *)(uintptr_t)payload, bytes},
					 .dispatch = dispatch,
					 .dest = agas_world.endpoint[to]};
	if (header_bytes + bytes <= agas_world.immediate_max) {
		rc = PAMI_Send_immediate(agas_world.context, &m.send);
		agas_heap_free(owned);
		return rc == PAMI_SUCCESS;
	}
	if (!owned) {
		owned = malloc(bytes); /* agas_heap_free() takes it, too */
		if (!owned) {
			drv_error("agas: no memory for a message of %zu bytes", bytes);
			return false;
		}
		DRV_ASSERT(payload);
		memcpy(owned, payload, bytes);
		m.send.data.iov_base = owned;
	}
	m.events = (pami_send_event_t){.cookie = owned, .local_fn = free_sent};
	rc = PAMI_Send(agas_world.context, &m);
	if (rc != PAMI_SUCCESS)
		agas_heap_free(owned);
	return rc == PAMI_SUCCESS;
}

/* ---- answers ---- */

static void send_answer(const struct agas_request *r, const struct agas_reply *reply)
{
	if (r->source == agas_world.me) {
		agas_op_answer(reply, NULL);
		return;
	}
	AGAS_COUNT(answers);
	agas_send(r->source, AGAS_DISPATCH_REPLY, reply, sizeof(*reply), NULL, 0, NULL);
}

/* Send the answer so that the network learns the owner from it, if it can. */
static void send_answer_as_owner(const struct agas_request *r, const struct agas_reply *reply)
{
	if (r->source != agas_world.me && agas_network_answer(r, reply, NULL, 0))
		AGAS_COUNT(answers);
	else
		send_answer(r, reply);
}

static void answer_error(const struct agas_request *r, uint8_t why)
{
	uint64_t key = agas_key_of(&agas_world.space, r->gva);
	struct agas_reply reply = {.error = why, .owner = agas_world.me, .id = r->id};

	if (why == AGAS_WHY_UNMAPPED)
		reply.error = agas_home_why_unmapped(key);
	send_answer(r, &reply);
}

static struct agas_reply make_reply(const struct agas_request *r, const struct agas_block *b)
{
	return (struct agas_reply){.version = b->version, .owner = agas_world.me, .id = r->id};
}

static void data_sent(pami_context_t context, void *cookie, pami_result_t result)
{
	AGAS_HANDLER;

	agas_block_release(cookie);
}

/* Send data of a pinned block. The pin is released when PAMI has read the data. */
static void answer_data(const struct agas_request *r, struct agas_block *b, const char *at)
{
	struct agas_reply reply = make_reply(r, b);
	pami_send_t m;

	if (r->source == agas_world.me) {
		agas_op_answer(&reply, at);
		agas_block_release(b);
		return;
	}
	AGAS_COUNT(answers);
	if (agas_network_answer(r, &reply, at, r->bytes)) {
		agas_block_release(b);
		return;
	}
	if (sizeof(reply) + r->bytes <= agas_world.immediate_max) {
		agas_send(r->source, AGAS_DISPATCH_REPLY, &reply, sizeof(reply), at, r->bytes,
			  NULL);
		agas_block_release(b);
		return;
	}
	memset(&m, 0, sizeof(m));
	m.send = (pami_send_immediate_t){.header = {&reply, sizeof(reply)},
					 .data = {(char *)(uintptr_t)at, r->bytes},
					 .dispatch = AGAS_DISPATCH_REPLY,
					 .dest = agas_world.endpoint[r->source]};
	m.events = (pami_send_event_t){.cookie = b, .local_fn = data_sent};
	if (agas_is_dead(r->source) || PAMI_Send(agas_world.context, &m) != PAMI_SUCCESS)
		agas_block_release(b);
}

/* ---- carrying out ---- */

uint64_t agas_atomic_run(enum agas_atomic op, uint64_t *at, uint64_t operand, uint64_t expected)
{
	switch (op) {
	case AGAS_ATOMIC_ADD:
		return atomic_fetch_add_acq_rel(at, operand);
	case AGAS_ATOMIC_SWAP:
		return atomic_exchange_acq_rel(at, operand);
	case AGAS_ATOMIC_CAS:
		atomic_cas_acq_rel(at, &expected, operand);
		return expected;
	case AGAS_ATOMIC_XOR:
		break;
	}
	expected = atomic_load_relaxed(at);
	while (!atomic_cas_acq_rel(at, &expected, expected ^ operand))
		;
	return expected;
}

/* Majority vote: which rank uses the block most (balance/balance.c). */
static void count_use(struct agas_block *b, uint32_t source)
{
	b->accesses++;
	if (b->voter == source)
		b->votes++;
	else if (b->votes)
		b->votes--;
	else {
		b->voter = source;
		b->votes = 1;
	}
}

/* A put whose payload comes from the source's memory; the block is pinned meanwhile. */
struct pulling {
	struct agas_request r;
	struct agas_block *block;
};

void agas_serve_end(const struct agas_request *r, struct agas_block *b, bool ok)
{
	struct agas_reply reply = make_reply(r, b);

	agas_block_release(b);
	if (ok)
		send_answer_as_owner(r, &reply);
	else
		answer_error(r, AGAS_WHY_PAYLOAD); /* nobody asks if the source has died */
}

static void pull_done(pami_context_t context, void *cookie, pami_result_t result)
{
	AGAS_HANDLER;
	struct pulling *p = cookie;

	agas_serve_end(&p->r, p->block, result == PAMI_SUCCESS);
	free(p);
}

static void pull_start(const struct agas_request *r, struct agas_block *b, void *at)
{
	void *from = (void *)(uintptr_t)r->operand; /* at the source */
	struct pulling *p = r->source == agas_world.me ? NULL : malloc(sizeof(*p));
	pami_get_simple_t get = {.rma = {.dest = agas_world.endpoint[r->source],
					 .bytes = r->bytes,
					 .cookie = p,
					 .done_fn = pull_done},
				 .addr = {.local = at, .remote = from}};

	if (r->source == agas_world.me)
		drv_copy_words(at, from, r->bytes);
	if (!p) {
		agas_serve_end(r, b, r->source == agas_world.me);
		return;
	}
	*p = (struct pulling){*r, b};
	if (agas_is_dead(r->source) || PAMI_Get(agas_world.context, &get) != PAMI_SUCCESS) {
		agas_serve_end(r, b, false);
		free(p);
	}
}

static void count_forwards(unsigned hops)
{
	unsigned most = AGAS_COUNT_after_more - AGAS_COUNT_after_0;

	atomic_fetch_add_relaxed(&agas_counter[AGAS_COUNT_after_0 + (hops < most ? hops : most)],
				 1);
}

/* The block is OWNED, which nothing changes while the lock is held; so it can be pinned. */
static void carry_out(const struct agas_request *r, struct agas_block *b, const void *payload)
{
	char *at = (char *)b->memory + agas_offset_of(&agas_world.space, r->gva);
	struct agas_reply reply = make_reply(r, b);
	bool pinned = agas_block_pin(b);

	DRV_ASSERT(pinned);
	(void)pinned;
	AGAS_COUNT(translations);
	count_forwards(r->hops);
	count_use(b, r->source);
	switch ((enum agas_request_kind)r->kind) {
	case AGAS_REQUEST_PUT:
		drv_copy_words(at, payload, r->bytes);
		break;
	case AGAS_REQUEST_GET:
		answer_data(r, b, at);
		return;
	case AGAS_REQUEST_PULL:
		pull_start(r, b, at);
		return;
	case AGAS_REQUEST_ATOMIC:
		reply.value = agas_atomic_run((enum agas_atomic)r->atomic, (uint64_t *)(void *)at,
					      r->operand, r->expected);
		break;
	case AGAS_REQUEST_CALL:
		reply.error = agas_action_run(r, at, payload);
		break;
	case AGAS_REQUEST_ATTRIBUTES:
		b->attributes = (uint32_t)r->operand;
		break;
	case AGAS_REQUEST_QUERY:
	case AGAS_REQUEST_KINDS:
		break;
	}
	agas_block_release(b);
	send_answer_as_owner(r, &reply);
}

/* ---- the other ways of a request ---- */

static size_t payload_bytes(const struct agas_request *r)
{
	return r->kind == AGAS_REQUEST_PUT || r->kind == AGAS_REQUEST_CALL ? r->bytes : 0;
}

static void park_request(const struct agas_request *r, struct agas_block *b, const void *payload)
{
	size_t bytes = payload_bytes(r);
	struct agas_parked *p =
	    b->parked < agas_world.parked_max ? malloc(sizeof(*p) + bytes) : NULL;

	if (!p) {
		AGAS_COUNT(refused_full);
		answer_error(r, AGAS_WHY_RETRY);
		return;
	}
	AGAS_COUNT(parked);
	p->next = NULL;
	p->r = *r;
	if (bytes)
		memcpy(p->payload, payload, bytes);
	if (b->parked_last)
		b->parked_last->next = p;
	else
		b->parked_first = p;
	b->parked_last = p;
	b->parked++;
}

void agas_serve_parked(struct agas_block *b)
{
	struct agas_parked *p = b->parked_first, *next;

	b->parked_first = b->parked_last = NULL;
	b->parked = 0;
	for (; p; p = next) {
		next = p->next;
		agas_serve(&p->r, p->payload);
		free(p);
	}
}

void agas_serve_drop_parked(struct agas_block *b)
{
	struct agas_parked *p;

	while ((p = b->parked_first)) {
		b->parked_first = p->next;
		free(p);
	}
	b->parked_last = NULL;
	b->parked = 0;
}

static void send_update(const struct agas_request *r, const struct agas_block *b)
{
	struct agas_reply reply = {.kind = AGAS_REPLY_UPDATE,
				   .version = b->version,
				   .owner = b->owner,
				   .id = agas_key_of(&agas_world.space, r->gva)};

	if (r->source == agas_world.me)
		return;
	AGAS_COUNT(updates);
	agas_send(r->source, AGAS_DISPATCH_REPLY, &reply, sizeof(reply), NULL, 0, NULL);
}

/*
 * The rank to which this rank forwarded each request. A source may start a request after it has
 * learnt of a death, and this rank, on another host, may forward it to the dead rank because it has
 * not learnt of the death yet. Then only this rank can tell the source. The key is the place of the
 * source's operation, so a newer operation there replaces one that has ended, and none in flight is
 * forgotten. Answers to operations that have ended are dropped at the source.
 */
static struct agas_table *forwarded;

static bool note_forwarded(const struct agas_request *r, uint32_t to)
{
	uint64_t key = (uint64_t)(r->source + 1) << 32 | agas_id_place(r->id);

	return agas_table_put(forwarded, key, agas_id_generation(r->id) << 32 | to, NULL) >= 0;
}

static void end_forwarded(void *dead, uint64_t key, uint64_t value)
{
	struct agas_request r = {.id = agas_id_make(value >> 32, (uint32_t)key),
				 .source = (uint32_t)(key >> 32) - 1};

	if ((uint32_t)value != *(uint32_t *)dead)
		return;
	agas_table_remove(forwarded, key, NULL);
	answer_error(&r, AGAS_WHY_LOST);
}

void agas_serve_death(uint32_t dead)
{
	agas_table_walk(forwarded, end_forwarded, &dead);
}

bool agas_serve_open(void)
{
	forwarded = agas_table_create(64, AGAS_TABLE_ALONE, false);
	return forwarded != NULL;
}

void agas_serve_release(void)
{
	agas_table_destroy(forwarded);
	forwarded = NULL;
}

static void forward_request(const struct agas_request *r, const struct agas_hop *hop,
			    const struct agas_party *p, const void *payload)
{
	struct agas_request on = *r;

	on.hops = hop->hops;
	on.flags = hop->flags;
	AGAS_COUNT(forwards);
	AGAS_COUNT(lookups);
	if (p->me == p->home_rank)
		AGAS_COUNT(home_hops);
	if (hop->hops > atomic_load_relaxed(&agas_counter[AGAS_COUNT_most_hops]))
		atomic_store_relaxed(&agas_counter[AGAS_COUNT_most_hops], hop->hops);
	if (hop->stale)
		send_update(r, p->block);
	if (!note_forwarded(r, hop->to))
		answer_error(r, AGAS_WHY_MEMORY);
	else if (!agas_send(hop->to, AGAS_DISPATCH_REQUEST, &on, sizeof(on), payload,
			    payload_bytes(r), NULL))
		answer_error(r, AGAS_WHY_LOST);
}

static void answer_query(const struct agas_request *r)
{
	const struct agas_home *h = agas_home_find(agas_key_of(&agas_world.space, r->gva));
	struct agas_reply reply = {.id = r->id};

	AGAS_COUNT(lookups);
	if (!h || h->freeing) {
		reply.error = agas_home_why_unmapped(agas_key_of(&agas_world.space, r->gva));
	} else if (h->lost || (agas_is_dead(h->owner) && !h->moving)) {
		reply.error = AGAS_WHY_LOST;
	} else {
		reply.owner = h->owner;
		reply.version = h->version;
		reply.value = h->blocks << 32 | h->user_bytes;
	}
	send_answer(r, &reply);
}

static bool is_sound(const struct agas_request *r)
{
	uint64_t off = agas_offset_of(&agas_world.space, r->gva);

	return r->kind < AGAS_REQUEST_KINDS && r->source < agas_world.space.ranks &&
	       agas_home_of(&agas_world.space, r->gva) < agas_world.space.ranks &&
	       (r->kind == AGAS_REQUEST_CALL ||
		off + r->bytes <= agas_block_bytes(&agas_world.space, r->gva)) &&
	       (r->kind != AGAS_REQUEST_ATOMIC || !(off % 8));
}

void agas_serve(const struct agas_request *r, const void *payload)
{
	struct agas_party p;
	struct agas_hop hop = {.hops = r->hops, .flags = r->flags};

	if (!is_sound(r)) {
		drv_error("agas: rank %u received a request that no rank sends", agas_world.me);
		return;
	}
	if (r->kind == AGAS_REQUEST_QUERY) {
		answer_query(r);
		return;
	}
	p = agas_party_of(agas_key_of(&agas_world.space, r->gva));
	switch (agas_route_choose(&p, &hop)) {
	case AGAS_DELIVER:
		if (r->kind == AGAS_REQUEST_CALL && agas_action_defer(r, payload))
			break;
		carry_out(r, p.block, payload);
		break;
	case AGAS_PARK:
		park_request(r, p.block, payload);
		break;
	case AGAS_FORWARD:
		forward_request(r, &hop, &p, payload);
		break;
	case AGAS_REFUSE:
		answer_error(r, hop.error);
		break;
	}
}

/* ---- arrival ---- */

/* A long payload that PAMI is storing in the pinned block, or in a buffer. */
struct arriving {
	struct agas_request r;
	struct agas_block *block;
	char buffer[] __attribute__((aligned(16)));
};

static void payload_arrived(pami_context_t context, void *cookie, pami_result_t result)
{
	AGAS_HANDLER;
	struct arriving *a = cookie;
	struct agas_reply reply;

	if (a->block) {
		reply = make_reply(&a->r, a->block);
		agas_block_release(a->block);
		if (result == PAMI_SUCCESS)
			send_answer_as_owner(&a->r, &reply);
	} else if (result == PAMI_SUCCESS) {
		agas_serve(&a->r, a->buffer);
	}
	free(a);
}

static void receive_long(const struct agas_request *r, size_t bytes, pami_recv_t *recv)
{
	struct agas_block *b = NULL;
	struct arriving *a;

	recv->addr = NULL;
	if (!is_sound(r) || bytes != r->bytes)
		return;
	if (r->kind == AGAS_REQUEST_PUT)
		b = agas_block_acquire(agas_key_of(&agas_world.space, r->gva));
	a = malloc(sizeof(*a) + (b ? 0 : bytes));
	if (!a) {
		if (b)
			agas_block_release(b);
		answer_error(r, AGAS_WHY_MEMORY);
		return;
	}
	a->r = *r;
	a->block = b;
	if (b) {
		AGAS_COUNT(translations);
		count_use(b, r->source);
	}
	recv->addr = b ? (char *)b->memory + agas_offset_of(&agas_world.space, r->gva) : a->buffer;
	recv->cookie = a;
	recv->local_fn = payload_arrived;
}

void agas_serve_receive(pami_context_t context, void *cookie, const void *header,
			size_t header_bytes, const void *data, size_t bytes, pami_endpoint_t origin,
			pami_recv_t *recv)
{
	AGAS_HANDLER;
	struct agas_request r;

	memcpy(&r, header, sizeof(r));
	if (recv)
		receive_long(&r, bytes, recv);
	else
		agas_serve(&r, data);
}
