/* SPDX-License-Identifier: BSD-3-Clause */
/* The source's side of requests: which rank gets them, their answers, and what becomes of those
 * that no answer will end. */
#include <stdlib.h>
#include <string.h>

#include "agas/access/network.h"
#include "agas/access/op.h"
#include "agas/access/serve.h"
#include "agas/core/world.h"
#include "agas/move/move.h"
#include "drivers/base/assert.h"
#include "drivers/base/log.h"

/* A call that would exceed this number of operations in flight waits first. */
#define OUTSTANDING_MAX 4096u
/* A request that was refused for now backs off this long at first, and longer each time, up to the
 * second value. */
#define RETRY_S     20e-6
#define RETRY_MAX_S 5e-3
/* After a death: an operation whose fate no rank knows ends after this time. */
#define DEATH_WAIT_S         1.0
#define DEATH_WAIT_VIRTUAL_S 2e-3

static struct {
	struct agas_op **at; /* all that were ever made */
	uint32_t count, room;
	struct agas_op *free;
	uint32_t outstanding, waiting;
	bool limited; /* some operations have a time limit */
} ops;

/* ---- the table ---- */

uint64_t agas_op_id(const struct agas_op *op)
{
	return (uint32_t)agas_id_make(op->generation, op->index);
}

/* The token of a move has no upper half. */
struct agas_op *agas_op_find(uint64_t id)
{
	uint32_t index = agas_id_place(id);
	struct agas_op *op = index < ops.count ? ops.at[index] : NULL;

	return op && op->used && agas_op_id(op) == (uint32_t)id &&
		       (!agas_id_generation(id) || agas_id_generation(id) == op->generation)
		   ? op
		   : NULL;
}

static struct agas_op *op_make(void)
{
	uint32_t room = ops.room ? 2 * ops.room : 64;
	struct agas_op **more, *op;

	if (ops.count > AGAS_PLACE_MASK)
		return NULL;
	if (ops.count == ops.room) {
		more = realloc(ops.at, room * sizeof(struct agas_op *));
		if (!more)
			return NULL;
		ops.at = more;
		ops.room = room;
	}
	op = calloc(1, sizeof(*op));
	if (!op)
		return NULL;
	op->index = ops.count;
	ops.at[ops.count++] = op;
	return op;
}

struct agas_op *agas_op_create(enum agas_op_kind kind, struct agas_req *req)
{
	uint32_t index, generation;
	struct agas_op *op;

	while (!agas_is_in_handler() && ops.outstanding >= OUTSTANDING_MAX)
		agas_poll();
	op = ops.free;
	if (op)
		ops.free = op->next;
	else
		op = op_make();
	if (!op)
		return NULL;
	index = op->index;
	generation = op->generation;
	memset(op, 0, sizeof(*op));
	op->index = index;
	op->generation = generation;
	op->op_kind = (uint8_t)kind;
	op->used = true;
	op->req = req;
	if (req)
		req->pending++;
	ops.outstanding++;
	return op;
}

uint32_t agas_ops_count(void)
{
	return ops.outstanding;
}

void agas_ops_release(void)
{
	uint32_t i;

	for (i = 0; i < ops.count; i++) {
		free(ops.at[i]->copy);
		free(ops.at[i]);
	}
	free(ops.at);
	memset(&ops, 0, sizeof(ops));
}

/* ---- the end of an operation ---- */

static void log_failure(const struct agas_op *op)
{
	static const char *const kind[AGAS_REQUEST_KINDS] = {
	    [AGAS_REQUEST_PUT] = "put",
	    [AGAS_REQUEST_GET] = "get",
	    [AGAS_REQUEST_CALL] = "call",
	    [AGAS_REQUEST_ATOMIC] = "atomic operation",
	    [AGAS_REQUEST_PULL] = "put",
	    [AGAS_REQUEST_QUERY] = "question for the owner",
	    [AGAS_REQUEST_ATTRIBUTES] = "change of attributes"};

	if (op->op_kind == AGAS_OP_REQUEST)
		drv_warn("agas: %s of %u bytes at %#llx: %s", kind[op->r.kind], op->r.bytes,
			 (unsigned long long)op->r.gva, agas_why_text(op->error));
	else
		drv_warn("agas: %s of %#llx: %s",
			 op->op_kind == AGAS_OP_MOVE ? "move" : "mapping or freeing",
			 (unsigned long long)op->r.gva, agas_why_text(op->error));
}

/* As in a handler: what it starts must not wait for other operations. */
static void op_then(const struct agas_op *op)
{
	AGAS_HANDLER;

	op->then(op);
}

static void op_end(struct agas_op *op)
{
	int error = op->error ? agas_error_of(op->error) : 0;

	if (error)
		log_failure(op);
	if (op->req) {
		if (error && !op->req->error)
			op->req->error = error;
		op->req->pending--;
	} else if (error && !op->then && !agas_world.fence_error) {
		agas_world.fence_error = error;
	}
	if (op->then)
		op_then(op);
	free(op->copy);
	op->copy = NULL;
	op->used = false;
	op->generation++;
	op->next = ops.free;
	ops.free = op;
	ops.outstanding--;
}

void agas_op_complete(struct agas_op *op, uint8_t why)
{
	if (why && !op->error)
		op->error = why;
	if (op->waits)
		ops.waiting--;
	op->waits = false;
	op->answered = true;
	if (!op->sending)
		op_end(op);
}

int agas_req_wait(struct agas_req *req)
{
	while (req->pending)
		agas_poll();
	return req->error;
}

/* ---- the cache ---- */

void agas_cache_learn(uint64_t key, uint32_t owner, uint16_t version)
{
	int rc;

	if (agas_network_leads() || owner == agas_world.me ||
	    agas_home_of(&agas_world.space, key) == agas_world.me)
		return; /* the table of blocks or the home record has a newer owner */
	rc = agas_cache_store(agas_world.cache, key, (struct agas_cached){owner, version});
	if (rc)
		AGAS_COUNT(insertions);
	if (rc == 2)
		AGAS_COUNT(evictions);
	if (rc && agas_world.seen)
		agas_table_put(agas_world.seen, key, 1, NULL);
}

static bool cache_find(uint64_t key, struct agas_cached *c)
{
	uint64_t one;

	if (agas_cache_find(agas_world.cache, key, c)) {
		AGAS_COUNT(hits);
		return true;
	}
	AGAS_COUNT(misses);
	if (agas_world.seen && !agas_table_find(agas_world.seen, key, &one))
		AGAS_COUNT(compulsory);
	return false;
}

/* ---- sending ---- */

static void payload_sent(pami_context_t context, void *cookie, pami_result_t result)
{
	AGAS_HANDLER;
	struct agas_op *op = cookie;

	op->sending = false;
	if (result != PAMI_SUCCESS && !op->answered)
		agas_op_complete(op, AGAS_WHY_LOST);
	else if (op->answered)
		op_end(op);
}

/* Back off, then ask the home. */
static void op_retry(struct agas_op *op)
{
	double wait = RETRY_S * (1 << (op->tries < 8 ? op->tries : 8));

	AGAS_COUNT(retries);
	op->tries++;
	op->waits = true;
	op->retry_at = PAMI_Wtime(agas_world.client) + (wait < RETRY_MAX_S ? wait : RETRY_MAX_S);
	ops.waiting++;
}

void agas_op_complete_later(struct agas_op *op, double seconds)
{
	op->waits = true;
	op->retry_at = PAMI_Wtime(agas_world.client) + seconds;
	ops.waiting++;
}

static void op_refused(struct agas_op *op, uint8_t why)
{
	if (why == AGAS_WHY_RETRY)
		op_retry(op);
	else
		agas_op_complete(op, why);
}

static bool has_payload(const struct agas_request *r)
{
	return r->kind == AGAS_REQUEST_PUT || r->kind == AGAS_REQUEST_CALL;
}

static void op_send(struct agas_op *op, uint32_t to)
{
	struct agas_request *r = &op->r, query;
	size_t bytes = has_payload(r) && !op->asks_home ? r->bytes : 0;
	pami_send_t m;
	pami_result_t rc;

	if (agas_is_dead(to)) {
		agas_op_complete(op, to == agas_home_of(&agas_world.space, r->gva)
					 ? AGAS_WHY_HOME_DEAD
					 : AGAS_WHY_LOST);
		return;
	}
	op->sent_to = to;
	if (op->asks_home) {
		query = *r;
		query.kind = AGAS_REQUEST_QUERY;
		r = &query;
		AGAS_COUNT(queries);
	} else {
		AGAS_COUNT(requests);
	}
	memset(&m, 0, sizeof(m));
	m.send = (pami_send_immediate_t){.header = {(char *)r, sizeof(*r)},
					 .data = {bytes ? op->local : NULL, bytes},
					 .dispatch = AGAS_DISPATCH_REQUEST,
					 .dest = agas_world.endpoint[to]};
	if (sizeof(*r) + bytes <= agas_world.immediate_max) {
		rc = PAMI_Send_immediate(agas_world.context, &m.send);
	} else {
		op->sending = true;
		m.events = (pami_send_event_t){.cookie = op, .local_fn = payload_sent};
		rc = PAMI_Send(agas_world.context, &m);
		if (rc != PAMI_SUCCESS)
			op->sending = false;
	}
	if (rc != PAMI_SUCCESS)
		agas_op_complete(op, AGAS_WHY_LOST);
}

/* Carry out the request in the memory of the rank that is said to own the block, if that is on this
 * host and does own it. Else send it there. */
static void op_send_to_owner(struct agas_op *op, uint32_t owner)
{
	if (agas_network_access(&op->r, op->local, op->value_to, owner))
		agas_op_complete(op, 0);
	else
		op_send(op, owner);
}

/*
 * Let the network find the block. In virtual time the owner fetches the payload of a put that is
 * longer than a packet, and that of a call goes to the rank that the home names. In real time the
 * tables name a rank, and it gets the payload with the request.
 */
static void op_send_addressed(struct agas_op *op)
{
	uint32_t home = agas_home_of(&agas_world.space, op->r.gva);
	size_t bytes = has_payload(&op->r) ? op->r.bytes : 0;
	struct agas_request r = op->r;

	if (agas_network_access(&op->r, op->local, op->value_to, AGAS_NETWORK_ANY)) {
		agas_op_complete(op, 0);
		return;
	}
	if (!agas_world.is_virtual && bytes && !agas_network_fits(bytes)) {
		AGAS_COUNT(addressed);
		op_send(op, agas_network_lead(op->r.gva));
		return;
	}
	if (r.kind == AGAS_REQUEST_PUT && !agas_network_fits(bytes)) {
		r.kind = AGAS_REQUEST_PULL;
		r.operand = (uintptr_t)op->local;
		bytes = 0;
	}
	op->sent_to = home;
	if (agas_network_request(&r, op->local, bytes)) {
		AGAS_COUNT(requests);
		AGAS_COUNT(addressed);
		return;
	}
	op->asks_home = has_payload(&op->r) && home != agas_world.me;
	op_send(op, home);
}

/* Carry out a request of this rank itself, or send it to the rank that its own records name. */
static void op_start_here(struct agas_op *op, const struct agas_party *p)
{
	struct agas_hop hop = {0};

	switch (agas_route_choose(p, &hop)) {
	case AGAS_DELIVER:
	case AGAS_PARK:
		agas_serve(&op->r, op->local);
		break;
	case AGAS_FORWARD:
		op_send_to_owner(op, hop.to);
		break;
	case AGAS_REFUSE:
		op_refused(op, hop.error == AGAS_WHY_UNMAPPED ? agas_home_why_unmapped(p->key)
							      : hop.error);
		break;
	}
}

/* Returns true if the network is to find the block without a look at the records of this rank. */
static bool is_sent_out(const struct agas_op *op)
{
	return agas_world.goes_out && !op->tries && op->r.kind <= AGAS_REQUEST_ATOMIC &&
	       agas_network_leads();
}

void agas_op_start(struct agas_op *op)
{
	uint64_t key = agas_key_of(&agas_world.space, op->r.gva);
	struct agas_party p;
	enum agas_state s;
	struct agas_cached c;

	op->r.id = agas_id_make(op->generation, op->index);
	op->r.source = agas_world.me;
	op->r.hops = op->r.flags = 0;
	if (is_sent_out(op)) {
		op_send_addressed(op);
		return;
	}
	p = agas_party_of(key);
	s = p.block ? agas_block_state(p.block) : AGAS_NONE;
	AGAS_COUNT(lookups);
	if (op->r.kind == AGAS_REQUEST_QUERY && p.me == p.home_rank) {
		agas_serve(&op->r, NULL);
		return;
	}
	if (op->r.kind != AGAS_REQUEST_QUERY &&
	    (s == AGAS_OWNED || s == AGAS_INCOMING ||
	     (p.me == p.home_rank && (op->tries || !agas_network_leads())))) {
		op_start_here(op, &p);
		return;
	}
	if (op->tries || op->r.kind == AGAS_REQUEST_QUERY) {
		op_send(op, p.home_rank);
		return;
	}
	if (agas_network_leads()) {
		op_send_addressed(op);
		return;
	}
	if (cache_find(key, &c)) {
		if (s == AGAS_REMOTE && agas_version_is_newer(p.block->version, c.version))
			c.owner = p.block->owner;
		op_send_to_owner(op, agas_is_dead(c.owner) ? p.home_rank : c.owner);
		return;
	}
	if ((s == AGAS_REMOTE || s == AGAS_MOVING_OUT) && !agas_is_dead(p.block->owner)) {
		op_send_to_owner(op, p.block->owner);
		return;
	}
	op->asks_home = agas_world.miss == AGAS_MISS_QUERY;
	op_send(op, p.home_rank);
}

/* ---- answers ---- */

/* The home has named the owner, so send the request itself. */
static void op_start_at(struct agas_op *op, uint32_t owner)
{
	op->asks_home = false;
	if (owner == agas_world.me)
		agas_op_start(op);
	else
		op_send_to_owner(op, owner);
}

/* Handle everything of an answer except its data. */
static void answer_take(struct agas_op *op, const struct agas_reply *reply)
{
	uint64_t key = agas_key_of(&agas_world.space, op->r.gva);

	if (reply->error) {
		op_refused(op, reply->error);
		return;
	}
	if (op->op_kind == AGAS_OP_REQUEST && reply->owner != op->sent_to && !op->asks_home &&
	    op->sent_to != agas_home_of(&agas_world.space, key))
		AGAS_COUNT(stale);
	if (op->op_kind == AGAS_OP_REQUEST)
		agas_cache_learn(key, reply->owner, reply->version);
	if (op->asks_home) {
		op_start_at(op, reply->owner);
		return;
	}
	if (op->value_to)
		*op->value_to = reply->value;
	op->owner = reply->owner;
	agas_op_complete(op, 0);
}

void agas_op_answer(const struct agas_reply *reply, const void *data)
{
	struct agas_op *op = agas_op_find(reply->id);

	if (!op || op->answered)
		return; /* A death has ended the operation. */
	if (!reply->error && op->r.kind == AGAS_REQUEST_GET && !op->asks_home && data)
		memcpy(op->local, data, op->r.bytes);
	answer_take(op, reply);
}

static void data_arrived(pami_context_t context, void *cookie, pami_result_t result)
{
	AGAS_HANDLER;
	struct agas_op *op = cookie;

	op->sending = false;
	if (result != PAMI_SUCCESS && !op->error)
		op->error = AGAS_WHY_LOST;
	op_end(op);
}

void agas_op_receive_reply(pami_context_t context, void *cookie, const void *header,
			   size_t header_bytes, const void *data, size_t bytes,
			   pami_endpoint_t origin, pami_recv_t *recv)
{
	AGAS_HANDLER;
	struct agas_reply reply;
	struct agas_op *op;

	memcpy(&reply, header, sizeof(reply));
	if (reply.kind == AGAS_REPLY_UPDATE) {
		AGAS_COUNT(updates_taken);
		agas_cache_learn(reply.id, reply.owner, reply.version);
		return;
	}
	if (!recv) {
		agas_op_answer(&reply, data);
		return;
	}
	recv->addr = NULL;
	op = agas_op_find(reply.id);
	if (!op || op->answered)
		return;
	recv->addr = op->local;
	recv->cookie = op;
	recv->local_fn = data_arrived;
	op->sending = true; /* PAMI writes the destination until data_arrived(). */
	answer_take(op, &reply);
}

/* ---- time and deaths ---- */

bool agas_ops_wait_for_time(void)
{
	return ops.waiting || ops.limited;
}

void agas_ops_poll(void)
{
	double now;
	uint32_t i;

	if (!ops.waiting && !ops.limited)
		return;
	now = PAMI_Wtime(agas_world.client);
	ops.limited = false;
	for (i = 0; i < ops.count; i++) {
		struct agas_op *op = ops.at[i];

		if (!op->used || op->answered)
			continue;
		if (op->give_up_at > 0 && now >= op->give_up_at) {
			agas_op_complete(op, AGAS_WHY_LOST);
			continue;
		}
		ops.limited |= op->give_up_at > 0;
		if (!op->waits || op->sending || now < op->retry_at)
			continue;
		if (op->op_kind == AGAS_OP_MOVE) {
			agas_op_complete(op, 0);
			continue;
		}
		op->waits = false;
		ops.waiting--;
		agas_op_start(op);
	}
}

/*
 * End operations that were sent to the dead rank, unless the answer has arrived. Another rank may
 * have forwarded the remaining ones to it, which no living rank knows, so these get a time limit.
 */
void agas_ops_death(uint32_t dead)
{
	double end = PAMI_Wtime(agas_world.client) +
		     (agas_world.is_virtual ? DEATH_WAIT_VIRTUAL_S : DEATH_WAIT_S);
	uint32_t i;

	for (i = 0; i < ops.count; i++) {
		struct agas_op *op = ops.at[i];

		if (!op->used || op->answered)
			continue;
		if (op->op_kind == AGAS_OP_CONTROL) {
			agas_op_complete(op, AGAS_WHY_LOST);
			continue;
		}
		if (!op->waits && op->sent_to == dead && dead != agas_world.me) {
			agas_op_complete(op, op->op_kind == AGAS_OP_MOVE ? AGAS_WHY_TARGET_DEAD
									 : AGAS_WHY_LOST);
			continue;
		}
		if (op->op_kind == AGAS_OP_REQUEST && op->give_up_at <= 0) {
			op->give_up_at = end;
			ops.limited = true;
		}
	}
}
