/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of this rank's blocks. This file turns the decisions of protocol.h into messages,
 * memory and requests.
 */
#include <stdlib.h>
#include <string.h>

#include "agas/access/network.h"
#include "agas/access/op.h"
#include "agas/access/serve.h"
#include "agas/memory/control.h"
#include "agas/memory/heap.h"
#include "agas/move/move.h"
#include "drivers/base/assert.h"
#include "drivers/base/log.h"

#define LOOP_MAX 16
#define LATE_MAX 8

/* Records that are not in use. They outlive agas_fini(), since in virtual time the messaging unit
 * may still know them (block.h). */
static struct agas_block *free_blocks;

/* One event of the protocol. The messages that this rank sends to itself are handled before the
 * event ends. */
struct event {
	struct agas_out out;
	struct agas_party p;
	struct agas_move_msg loop[LOOP_MAX];
	unsigned loops;
	/*
	 * Messages that tell other ranks that the block is here. They leave after the requests that
	 * wait for it have been served.
	 */
	struct agas_move_msg late[LATE_MAX];
	unsigned lates;
	/* The records before the event, as the network's tables have them if they have any. */
	enum agas_state state;
	uint16_t version, home_version;
};

/* ---- residency records ---- */

struct agas_block *agas_block_find(uint64_t key)
{
	uint64_t at;

	return agas_table_find(agas_world.blocks, key, &at) ? (struct agas_block *)(uintptr_t)at
							    : NULL;
}

struct agas_block *agas_block_acquire(uint64_t key)
{
	struct agas_block *b = agas_block_find(key);

	if (!b || !agas_block_pin(b))
		return NULL;
	if (atomic_load_acquire(&b->key) == key)
		return b;
	agas_block_release(b); /* The record belongs to another block by now. */
	return NULL;
}

static struct agas_block *make_record(void)
{
	struct agas_block *b = agas_heap_alloc(sizeof(*b), 64);

	if (b)
		memset(b, 0, sizeof(*b));
	return b;
}

struct agas_block *agas_block_make(uint64_t key)
{
	struct agas_block *b = agas_block_find(key);

	if (b)
		return b;
	b = free_blocks;
	if (b)
		free_blocks = b->next_free;
	else
		b = make_record();
	if (!b)
		return NULL;
	atomic_store_release(&b->key, key);
	b->bytes = agas_block_bytes(&agas_world.space, key);
	b->next_free = NULL;
	b->owner = agas_home_of(&agas_world.space, key);
	b->version = 0;
	b->attributes = b->accesses = b->voter = b->votes = 0;
	atomic_store_relaxed(&b->local_uses, 0);
	if (agas_table_put(agas_world.blocks, key, (uintptr_t)b, NULL) >= 0)
		return b;
	b->next_free = free_blocks;
	free_blocks = b;
	return NULL;
}

static void block_remove(struct agas_block *b)
{
	DRV_ASSERT(!b->memory && !b->landing && !b->parked && !b->waiters.count);
	agas_table_remove(agas_world.blocks, atomic_load_relaxed(&b->key), NULL);
	if (agas_block_state(b) == AGAS_REMOTE)
		agas_network_bind(b, AGAS_NONE);
	agas_block_set_state(b, AGAS_NONE);
	b->next_free = free_blocks;
	free_blocks = b;
}

static void *memory_get(uint64_t key)
{
	size_t bytes = agas_block_bytes(&agas_world.space, key), align = bytes;

	align = align < 16 ? 16 : align > 4096 ? 4096 : align;
	return agas_heap_alloc(bytes, align);
}

bool agas_block_install(uint64_t key, uint32_t attributes)
{
	struct agas_block *b = agas_block_make(key);
	enum agas_state s = b ? agas_block_state(b) : AGAS_OWNED;

	if (s != AGAS_NONE && s != AGAS_REMOTE)
		return false;
	b->memory = memory_get(key);
	if (!b->memory) {
		if (b->pull == AGAS_PULL_NONE && s == AGAS_NONE)
			block_remove(b);
		return false;
	}
	memset(b->memory, 0, agas_block_bytes(&agas_world.space, key));
	b->owner = agas_world.me;
	b->attributes = attributes;
	b->version = 0;
	agas_block_set_state(b, AGAS_OWNED);
	agas_network_bind(b, AGAS_OWNED);
	return true;
}

void agas_block_forget(uint64_t key)
{
	struct agas_block *b = agas_block_find(key);
	enum agas_state s = b ? agas_block_state(b) : AGAS_OWNED;

	if ((s == AGAS_NONE || s == AGAS_REMOTE) && b->pull == AGAS_PULL_NONE && !b->parked)
		block_remove(b);
}

struct search {
	uintptr_t lva;
	uint64_t gva;
};

static void look_at_block(void *arg, uint64_t key, uint64_t value)
{
	const struct agas_block *b = (const struct agas_block *)(uintptr_t)value;
	struct search *s = arg;
	uint64_t offset = s->lva - (uintptr_t)b->memory;

	if (b->memory && offset < b->bytes)
		s->gva = key + offset;
}

uint64_t agas_address_of(const void *lva)
{
	struct search s = {.lva = (uintptr_t)lva};

	agas_table_walk(agas_world.blocks, look_at_block, &s);
	return s.gva;
}

uint64_t agas_blocks_count(void)
{
	return agas_table_count(agas_world.blocks);
}

/* ---- home records ---- */

struct agas_home *agas_home_find(uint64_t key)
{
	uint64_t at;

	return agas_table_find(agas_world.homes, key, &at) ? (struct agas_home *)(uintptr_t)at
							   : NULL;
}

static uint64_t *highest_of(uint64_t key)
{
	return &agas_world.highest[agas_is_linear(key) ? 0 : agas_is_cyclic(key) ? 2 : 1];
}

/* Addresses are handed out from the lowest free one on. So all pages below the highest were mapped
 * once; in segments there are gaps, and blocks of other sizes. */
uint8_t agas_home_why_unmapped(uint64_t key)
{
	uint64_t highest = *highest_of(key), at = key & AGAS_OFFSET_MASK;

	if (at > (highest & AGAS_OFFSET_MASK) || !highest)
		return AGAS_WHY_NEVER;
	return agas_is_linear(key) ? AGAS_WHY_FREED : AGAS_WHY_UNMAPPED;
}

bool agas_home_install(uint64_t key, uint32_t owner, uint64_t blocks, uint32_t user_bytes)
{
	struct agas_home *h = agas_home_find(key) ? NULL : calloc(1, sizeof(*h));

	if (!h || agas_table_put(agas_world.homes, key, (uintptr_t)h, NULL) < 0) {
		free(h);
		return false;
	}
	if ((key & AGAS_OFFSET_MASK) > (*highest_of(key) & AGAS_OFFSET_MASK))
		*highest_of(key) = key;
	h->owner = owner;
	h->blocks = blocks;
	h->user_bytes = user_bytes;
	if (owner != agas_world.me)
		agas_network_home(key, owner, 0);
	return true;
}

static void home_remove(uint64_t key, struct agas_home *h)
{
	agas_table_remove(agas_world.homes, key, NULL);
	if (h->version || h->owner != agas_world.me)
		agas_network_home(key, UINT32_MAX, h->version);
	free(h->queue.at);
	free(h);
}

/* ---- events ---- */

static bool waiters_reserve(struct agas_waiters *w)
{
	uint32_t room = w->room ? 2 * w->room : 4;
	struct agas_waiter *more;

	if (w->count < w->room)
		return true;
	more = realloc(w->at, room * sizeof(*more));
	if (!more)
		return false;
	w->at = more;
	w->room = room;
	return true;
}

struct agas_party agas_party_of(uint64_t key)
{
	uint32_t home = agas_home_of(&agas_world.space, key);

	return (struct agas_party){.key = key,
				   .me = agas_world.me,
				   .home_rank = home,
				   .block = agas_block_find(key),
				   .home = home == agas_world.me ? agas_home_find(key) : NULL,
				   .is_dead = agas_is_dead,
				   .claim = agas_network_claim()};
}

static void op_end(uint32_t token, uint8_t why)
{
	struct agas_op *op = agas_op_find(token);

	if (!op || op->op_kind != AGAS_OP_MOVE)
		return;
	if (!why && agas_network_delay() > 0)
		agas_op_complete_later(op, agas_network_delay());
	else
		agas_op_complete(op, why);
}

static void data_send(struct agas_block *b, const struct agas_move_msg *m)
{
	struct agas_move_wire w = {.m = *m, .attributes = b->attributes, .accesses = b->accesses};
	void *memory = b->memory;

	b->memory = NULL;
	b->accesses = 0;
	AGAS_COUNT(moves_out);
	agas_send(m->peer, AGAS_DISPATCH_MOVE, &w, sizeof(w), memory,
		  agas_block_bytes(&agas_world.space, m->key), memory);
}

static void event_send(struct agas_out *out, const struct agas_move_msg *m)
{
	struct event *e = (struct event *)(void *)out;
	struct agas_move_wire w = {.m = *m};

	if (m->kind == AGAS_REBOUND && m->error == AGAS_WHY_UNMAPPED)
		w.m.error = agas_home_why_unmapped(m->key);
	if (m->peer == agas_world.me && m->kind == AGAS_DONE_MOVER) {
		op_end(m->token, m->error);
	} else if (m->peer == agas_world.me) {
		DRV_ASSERT(e->loops < LOOP_MAX);
		if (e->loops < LOOP_MAX)
			e->loop[e->loops++] = w.m;
	} else if (m->kind == AGAS_DATA) {
		data_send(e->p.block, m);
	} else if (e->state == AGAS_INCOMING && !m->error && e->lates < LATE_MAX &&
		   (m->kind == AGAS_DONE_HOME || m->kind == AGAS_DONE_MOVER)) {
		e->late[e->lates++] = *m;
	} else if (m->kind != AGAS_DONE_HOME || m->error || !agas_network_update(m)) {
		agas_send(m->peer, AGAS_DISPATCH_MOVE, &w, sizeof(w), NULL, 0, NULL);
	}
}

static struct event event_begin(uint64_t key)
{
	struct event e = {.out.send = event_send, .p = agas_party_of(key)};

	e.state = e.p.block ? agas_block_state(e.p.block) : AGAS_NONE;
	e.version = e.p.block ? e.p.block->version : 0;
	e.home_version = e.p.home ? e.p.home->version : 0;
	return e;
}

static void event_free_block(struct event *e)
{
	struct agas_block *b = e->p.block;

	agas_heap_free(b->memory);
	b->memory = NULL;
	agas_block_forget(e->p.key);
}

static void event_abort(struct event *e)
{
	struct agas_block *b = e->p.block;

	agas_heap_free(b->landing);
	b->landing = NULL;
	agas_serve_parked(b);
	if (agas_error_of(e->out.error) == AGAS_EUNMAPPED)
		agas_block_forget(e->p.key);
}

/* Reserve the memory that a message may need. Returns false if there is none. */
static bool reserve_messages(struct agas_party *p, const struct agas_move_msg *m)
{
	enum agas_state s;

	if (m->kind == AGAS_REBIND)
		return !p->home || waiters_reserve(&p->home->queue);
	if (m->kind != AGAS_MOVE)
		return true;
	p->block = agas_block_make(m->key);
	if (!p->block || !waiters_reserve(&p->block->waiters))
		return false;
	s = agas_block_state(p->block);
	if (s != AGAS_OWNED && !p->block->landing)
		p->block->landing = memory_get(m->key);
	return s == AGAS_OWNED || p->block->landing;
}

/* The messages of this rank to itself. */
static void event_loop(struct event *e)
{
	unsigned i;

	for (i = 0; i < e->loops; i++) {
		struct agas_move_msg m = e->loop[i];

		m.peer = agas_world.me;
		/* This rank is the home, so it sends the REBIND to itself. */
		if (!reserve_messages(&e->p, &m)) {
			m.kind = AGAS_REBOUND;
			m.error = AGAS_WHY_MEMORY;
		}
		agas_move_step(&e->p, &m, &e->out);
	}
}

static void event_kept(struct event *e)
{
	struct agas_block *b = e->p.block;

	if (b->pull == AGAS_PULL_NONE) { /* it was reserved for a move that is not needed */
		agas_heap_free(b->landing);
		b->landing = NULL;
	}
	agas_serve_parked(b);
}

/* The tables of this node, if it has any, follow the records. */
static void event_tell_network(const struct event *e)
{
	const struct agas_block *b = e->p.block;
	const struct agas_home *h = e->p.home;
	enum agas_state s = b ? agas_block_state(b) : AGAS_NONE;

	if (h && h->version != e->home_version)
		agas_network_home(e->p.key, h->owner, h->version);
	/* The first write of a move said where the lease is, or where the block went. */
	if (b && (s != e->state || b->version != e->version) &&
	    !(s == AGAS_REMOTE && e->state == AGAS_MOVING_OUT) &&
	    !(s == AGAS_OWNED && e->state == AGAS_INCOMING))
		agas_network_bind(b, s);
}

static void event_end(struct event *e)
{
	unsigned i;

	event_loop(e);
	/* Before what waits is served, so that what comes meanwhile need not wait behind it. */
	event_tell_network(e);
	if (e->out.effects & AGAS_RELEASED)
		event_free_block(e);
	if (e->out.effects & AGAS_FREED) {
		struct agas_freeing *note = e->p.home->note;

		home_remove(e->p.key, e->p.home);
		agas_freeing_count_down(note);
	}
	if (e->out.effects & AGAS_ARRIVED)
		AGAS_COUNT(moves_in);
	if (e->out.effects & AGAS_ABORTED)
		event_abort(e);
	else if (e->out.effects & (AGAS_ARRIVED | AGAS_KEPT))
		event_kept(e);
	e->state = AGAS_NONE;
	for (i = 0; i < e->lates; i++)
		event_send(&e->out, &e->late[i]);
}

void agas_block_release(struct agas_block *b)
{
	struct event e;

	if (!agas_block_unpin(b))
		return;
	AGAS_LOCK;
	e = event_begin(atomic_load_relaxed(&b->key));
	if (e.p.block == b)
		agas_move_drained(&e.p, &e.out);
	event_end(&e);
}

bool agas_home_free(uint64_t key, struct agas_freeing *note)
{
	struct event e = event_begin(key);

	if (!e.p.home || e.p.home->freeing)
		return false;
	e.p.home->note = note;
	agas_move_free(&e.p, &e.out);
	event_end(&e);
	return true;
}

/* ---- messages ---- */

static void refuse_move(const struct agas_move_msg *m)
{
	struct agas_move_wire w = {.m = *m};

	if (m->kind == AGAS_MOVE && m->peer == agas_world.me) {
		op_end(m->token, AGAS_WHY_MEMORY);
		return;
	}
	w.m.kind = m->kind == AGAS_MOVE ? AGAS_DONE_MOVER : AGAS_REBOUND;
	w.m.error = AGAS_WHY_MEMORY;
	agas_send(m->peer, AGAS_DISPATCH_MOVE, &w, sizeof(w), NULL, 0, NULL);
}

static void take_message(const struct agas_move_msg *m)
{
	struct event e = event_begin(m->key);

	if (!reserve_messages(&e.p, m)) {
		agas_block_forget(m->key);
		refuse_move(m);
		return;
	}
	agas_move_step(&e.p, m, &e.out);
	event_end(&e);
}

/* Return the block whose data this is, or NULL if no move waits for it any more. */
static struct agas_block *data_expected(const struct agas_move_msg *m)
{
	struct agas_block *b = agas_block_find(m->key);

	return b && agas_block_state(b) == AGAS_INCOMING && b->version == m->version && b->landing
		   ? b
		   : NULL;
}

static void data_arrived(pami_context_t context, void *cookie, pami_result_t result)
{
	AGAS_HANDLER;
	struct agas_move_wire *w = cookie;

	if (result == PAMI_SUCCESS)
		take_message(&w->m);
	free(w);
}

static void data_receive(const struct agas_move_wire *w, const void *data, size_t bytes,
			 pami_recv_t *recv)
{
	struct agas_block *b = data_expected(&w->m);
	struct agas_move_wire *copy;

	if (b) {
		b->attributes = w->attributes;
		b->accesses = w->accesses;
	}
	if (!recv) {
		if (b)
			memcpy(b->landing, data, bytes);
		take_message(&w->m);
		return;
	}
	recv->addr = NULL;
	copy = b ? malloc(sizeof(*copy)) : NULL;
	if (!copy) {
		if (b)
			drv_error("agas: no memory to receive block %#llx, which is lost",
				  (unsigned long long)w->m.key);
		return;
	}
	*copy = *w;
	recv->addr = b->landing;
	recv->cookie = copy;
	recv->local_fn = data_arrived;
}

void agas_move_receive(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *data, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	AGAS_HANDLER;
	struct agas_move_wire w;
	pami_task_t from;
	size_t offset;

	memcpy(&w, header, sizeof(w));
	PAMI_Endpoint_query(origin, &from, &offset);
	w.m.peer = from;
	if (w.m.kind == AGAS_DATA) {
		data_receive(&w, data, bytes, recv);
		return;
	}
	if (recv)
		recv->addr = NULL;
	if (w.m.kind == AGAS_DONE_MOVER)
		op_end(w.m.token, w.m.error);
	else
		take_message(&w.m);
}

void agas_move_start(struct agas_op *op, uint64_t key, uint32_t target)
{
	struct agas_move_msg m = {
	    .key = key, .peer = target, .token = (uint32_t)agas_op_id(op), .kind = AGAS_MOVE};
	struct agas_move_wire w = {.m = m};

	op->sent_to = target;
	if (target == agas_world.me)
		take_message(&m);
	else if (!agas_send(target, AGAS_DISPATCH_MOVE, &w, sizeof(w), NULL, 0, NULL))
		agas_op_complete(op, AGAS_WHY_TARGET_DEAD);
}

int agas_move_to(const char *call, uint64_t gva, int pe, struct agas_req *req)
{
	int rc = agas_check(call, gva, 1);
	struct agas_op *op;

	if (!rc)
		rc = agas_check_rank(call, pe);
	if (rc)
		return rc;
	AGAS_LOCK;
	op = agas_op_create(AGAS_OP_MOVE, req);
	if (!op)
		return agas_fail(call, AGAS_ENOMEM, "no memory for one more operation");
	op->r.gva = gva;
	agas_move_start(op, agas_key_of(&agas_world.space, gva), (uint32_t)pe);
	return 0;
}

/* ---- deaths and the end ---- */

struct death {
	uint32_t rank;
	bool homes;
};

static void death_of(void *arg, uint64_t key, uint64_t value)
{
	const struct death *d = arg;
	struct event e = event_begin(key);

	/* A block with both records is reported once, by its home record. */
	if (!d->homes && e.p.home)
		return;
	agas_move_death(&e.p, d->rank, &e.out);
	event_end(&e);
}

void agas_moves_death(uint32_t dead)
{
	struct death d = {.rank = dead, .homes = true};

	agas_table_walk(agas_world.homes, death_of, &d);
	d.homes = false;
	agas_table_walk(agas_world.blocks, death_of, &d);
}

static void release_block(void *arg, uint64_t key, uint64_t value)
{
	struct agas_block *b = (struct agas_block *)(uintptr_t)value;

	agas_block_set_state(b, AGAS_NONE);
	agas_heap_free(b->memory);
	agas_heap_free(b->landing);
	free(b->waiters.at);
	agas_serve_drop_parked(b);
	memset(b, 0, sizeof(*b));
	b->next_free = free_blocks;
	free_blocks = b;
}

static void release_home(void *arg, uint64_t key, uint64_t value)
{
	struct agas_home *h = (struct agas_home *)(uintptr_t)value;

	free(h->queue.at);
	free(h);
}

void agas_blocks_release(void)
{
	struct agas_block *b;

	for (b = free_blocks; b; b = b->next_free) {
		free(b->waiters.at);
		b->waiters = (struct agas_waiters){0};
	}
	if (agas_world.blocks)
		agas_table_walk(agas_world.blocks, release_block, NULL);
	if (agas_world.homes)
		agas_table_walk(agas_world.homes, release_home, NULL);
	agas_table_destroy(agas_world.blocks);
	agas_table_destroy(agas_world.homes);
	agas_world.blocks = agas_world.homes = NULL;
	while (agas_network_reaches() && free_blocks) { /* the arena is about to go */
		b = free_blocks;
		free_blocks = b->next_free;
		agas_heap_free(b);
	}
}

static void unbind_block(void *arg, uint64_t key, uint64_t value)
{
	agas_network_bind((const struct agas_block *)(uintptr_t)value, AGAS_NONE);
}

void agas_blocks_unbind(void)
{
	if (agas_network_reaches())
		agas_table_walk(agas_world.blocks, unbind_block, NULL);
}

bool agas_blocks_open(void)
{
	agas_world.blocks = agas_table_create(1024, AGAS_TABLE_CONCURRENT, false);
	agas_world.homes = agas_table_create(1024, AGAS_TABLE_CONCURRENT, false);
	return agas_world.blocks && agas_world.homes;
}
