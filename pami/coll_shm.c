/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: collectives of a geometry whose members all lie on one node, through memory they share.
 * Guarded by bench/pami_coll.
 *
 * The area lies in the arena of the lowest rank, who tells the others where at the first use:
 *
 *   done[n]       a line each: operations this member has completed
 *   slot[n][4]    a line each: what this member says in operation k is in slot k % 4, complete
 *                 when its number is k + 1: up to 56 bytes of data, or the address of more
 *   bulk[n][4]    data of up to BULK bytes that belongs to the slot
 *
 * A member writes its slot and reads everybody's, so a barrier or a short allreduce is one transfer
 * of a cache line, and every member computes the same thing in the same order: rank order, the
 * same bits. Long data is fetched by RDMA read from where it lies; its owner waits until all are
 * done. Operations of one geometry take turns; a slot is written again when all have completed the
 * operation that used it before.
 */
#include <stdlib.h>

#include "pami/coll_algorithms.h"
#include "pami/coll_shm.h"

#define SLOTS  4u
#define INLINE 56u
#define BULK   8192u
#define PIECE  32768u /* of a long allreduce: stays in the cache */
#define SETUP  0x20000000u

struct slot {
	_Alignas(64) uint64_t number;
	unsigned char data[INLINE];
};

struct done {
	_Alignas(64) uint64_t count;
};

struct area {
	_Alignas(64) uint32_t stalled; /* somebody waits for a slot: wake all when done moves */
};

struct pami_shm {
	struct area *area;
	struct done *done;
	struct slot *slot;
	unsigned char *bulk;
	uint32_t members, me;
	uint8_t owner, failed, ready;
	uint64_t started;  /* turns given out */
	uint64_t finished; /* turns over, here */
	uint64_t all_done; /* turns known to be over everywhere */
	uint32_t task[];   /* by member */
};

static size_t area_bytes(uint32_t n)
{
	return sizeof(struct area) + n * (sizeof(struct done) + SLOTS * sizeof(struct slot) + SLOTS * BULK);
}

static void attach(struct pami_shm *s, void *at)
{
	s->area = at;
	s->done = (void *)((char *)at + sizeof *s->area);
	s->slot = (void *)(s->done + s->members);
	s->bulk = (void *)(s->slot + s->members * SLOTS);
}

void pami_shm_free(struct pami_shm *s, int keep_area)
{
	if (s && s->owner && !keep_area)
		mu_arena_free(s->area);
	free(s);
}

int pami_shm_usable(const struct pami_geometry *g)
{
	return g->one_node;
}

/* ---- Turns ---- */

/* Operations of several turns: a long allreduce speaks twice. */
static uint32_t turns(const struct pami_coll *c);
static int is_long(const struct pami_coll *c);

int pami_shm_begin(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;

	if (!c->geometry->one_node || (c->type == PAMI_XFER_REDUCE && c->bytes > BULK)) {
		c->info = &pami_algorithms[c->type].info[1];
		return c->info->begin ? c->info->begin(c) : 0;
	}
	if (PAMI_UNLIKELY(!s)) {
		s = c->member->shm = calloc(1, sizeof *s + c->size * sizeof s->task[0]);
		if (!s)
			return -ENOMEM;
		s->members = c->size;
		s->me = c->rank;
		for (uint32_t i = 0; i < c->size; i++)
			s->task[i] = pami_endpoint_task(pami_topology_endpoint(c->topology, i));
	}
	if (c->type == PAMI_XFER_ALLREDUCE && is_long(c)) {
		c->own = malloc(2 * PIECE);
		if (!c->own)
			return -ENOMEM;
		c->other = NULL;
	} else if (c->type == PAMI_XFER_ALLREDUCE || c->type == PAMI_XFER_REDUCE) {
		c->own = c->bytes <= sizeof c->fits ? c->fits : malloc(c->bytes);
		if (!c->own)
			return -ENOMEM;
	}
	c->at = s->started;
	s->started += turns(c);
	return 0;
}

/* The first operation of the geometry: agree where the area is. 0 is no address: no room. */
static int setup_ask(struct pami_coll *c, struct pami_shm *s)
{
	size_t bytes = area_bytes(s->members);
	char *at;
	int rc = 0;

	if (s->me)
		return pami_coll_recv(c, 0, SETUP, &c->number, sizeof c->number);
	at = mu_arena_alloc(bytes, 64);
	if (at) {
		memset(at, 0, bytes - s->members * (size_t)SLOTS * BULK);
		s->owner = 1;
		attach(s, at);
	}
	c->number = (uint64_t)(uintptr_t)at;
	for (uint32_t i = 1; i < s->members && !rc; i++)
		rc = pami_coll_send(c, i, SETUP, &c->number, sizeof c->number);
	return rc;
}

static int setup_answer(struct pami_coll *c, struct pami_shm *s)
{
	void *at = c->number ? mu_arena_local(s->task[0], c->number, area_bytes(s->members)) : NULL;

	if (c->number && !at)
		return -EIO;
	s->failed = !at;
	if (at)
		attach(s, at);
	s->ready = 1;
	return 0;
}

/*
 * Phases 0 and 1 of all. Returns 0 in phase 2 and later, when it is this operation's turn; else
 * what the step function shall return.
 */
#define GO 100
static int enter(struct pami_coll *c, struct pami_shm *s)
{
	int rc;

	if (PAMI_LIKELY(s->ready && c->phase < 2))
		c->phase = 2;
	if (PAMI_UNLIKELY(c->phase < 2)) {
		if (c->at) /* not the first */
			return PAMI_COLL_POLL;
		if (!c->phase)
			return setup_ask(c, s);
		rc = setup_answer(c, s);
		if (rc)
			return rc;
		c->phase = 2;
	}
	if (s->finished != c->at && c->phase == 2)
		return PAMI_COLL_POLL;
	if (PAMI_UNLIKELY(s->failed)) {
		s->finished += turns(c);
		if (c->own && c->own != c->fits)
			free(c->own);
		c->own = NULL;
		c->at = c->length = c->peer = 0;
		c->then = &pami_algorithms[c->type].info[1];
		rc = c->then->begin ? c->then->begin(c) : 0;
		return rc ? rc : PAMI_COLL_DONE;
	}
	return GO;
}

static struct slot *slot_of(struct pami_shm *s, uint32_t member, uint64_t k)
{
	return &s->slot[member * SLOTS + k % SLOTS];
}

static unsigned char *bulk_of(struct pami_shm *s, uint32_t member, uint64_t k)
{
	return s->bulk + (size_t)(member * SLOTS + k % SLOTS) * BULK;
}

static void wait_for(struct pami_coll *c, uint64_t *word, uint64_t value)
{
	mu_watch(c->context->channel, word, value);
}

static void wake_others(struct pami_shm *s)
{
	for (uint32_t i = 0; i < s->members; i++)
		if (i != s->me)
			mu_wake_task(s->task[i]);
}

/* Have all completed everything before turn k? */
static int all_before(struct pami_coll *c, struct pami_shm *s, uint64_t k)
{
	uint64_t least = UINT64_MAX;

	if (s->all_done >= k)
		return 1;
	for (uint32_t i = 0; i < s->members; i++) {
		uint64_t d = i == s->me ? UINT64_MAX : __atomic_load_n(&s->done[i].count, __ATOMIC_ACQUIRE);

		if (d < k) {
			__atomic_store_n(&s->area->stalled, 1, __ATOMIC_SEQ_CST);
			wait_for(c, &s->done[i].count, k);
			return __atomic_load_n(&s->done[i].count, __ATOMIC_ACQUIRE) >= k ?
				       all_before(c, s, k) :
				       0;
		}
		least = d < least ? d : least;
	}
	s->all_done = least == UINT64_MAX ? k : least;
	return 1;
}

/* May the slot of turn k be written? */
static int slot_free(struct pami_coll *c, struct pami_shm *s, uint64_t k)
{
	return k < SLOTS || all_before(c, s, k + 1 - SLOTS);
}

static void publish(struct pami_shm *s, uint64_t k)
{
	__atomic_store_n(&slot_of(s, s->me, k)->number, k + 1, __ATOMIC_RELEASE);
}

static int said(struct pami_coll *c, struct pami_shm *s, uint32_t member, uint64_t k)
{
	struct slot *slot = slot_of(s, member, k);

	if (__atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) == k + 1)
		return 1;
	wait_for(c, &slot->number, k + 1);
	return 0;
}

/* Data of up to BULK bytes with the slot. */
static void put(struct pami_shm *s, uint64_t k, const void *data, size_t bytes)
{
	if (bytes)
		memcpy(bytes <= INLINE ? slot_of(s, s->me, k)->data : bulk_of(s, s->me, k), data, bytes);
}

static const unsigned char *see(struct pami_shm *s, uint32_t member, uint64_t k, size_t bytes)
{
	return bytes <= INLINE ? slot_of(s, member, k)->data : bulk_of(s, member, k);
}

static void finished(struct pami_coll *c, struct pami_shm *s)
{
	s->finished = c->at + turns(c);
	__atomic_store_n(&s->done[s->me].count, s->finished, __ATOMIC_RELEASE);
	mu_watch(c->context->channel, NULL, 0);
	if (PAMI_UNLIKELY(__atomic_load_n(&s->area->stalled, __ATOMIC_RELAXED))) {
		__atomic_store_n(&s->area->stalled, 0, __ATOMIC_RELAXED);
		wake_others(s);
	}
}

/* It ended with an error: others may still use the geometry. */
void pami_shm_end(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;

	if (s && s->area)
		finished(c, s);
}

/* ---- Barrier ---- */

/* All members from c->peer on have spoken in turn k. */
static int all_said(struct pami_coll *c, struct pami_shm *s, uint64_t k)
{
	for (; c->peer < s->members; c->peer++)
		if (!said(c, s, c->peer, k))
			return 0;
	c->peer = 0;
	if (s->all_done < k) /* who speaks in a turn has completed those before */
		s->all_done = k;
	return 1;
}

int pami_shm_barrier(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc = enter(c, s);

	if (PAMI_UNLIKELY(rc != GO))
		return rc;
	if (c->phase == 2) {
		if (!slot_free(c, s, c->at))
			return PAMI_COLL_POLL;
		publish(s, c->at);
		wake_others(s);
		c->phase = 3;
	}
	if (!all_said(c, s, c->at))
		return PAMI_COLL_POLL;
	finished(c, s);
	return PAMI_COLL_DONE;
}

/* ---- Broadcast ---- */

static uint64_t address_in(const struct slot *slot, unsigned i)
{
	uint64_t a;

	memcpy(&a, slot->data + 8 * i, 8);
	return a;
}

static void address_out(struct pami_shm *s, uint64_t k, const void *a, const void *b)
{
	uint64_t both[2] = { (uint64_t)(uintptr_t)a, (uint64_t)(uintptr_t)b };

	memcpy(slot_of(s, s->me, k)->data, both, sizeof both);
}

static int broadcast_root(struct pami_coll *c, struct pami_shm *s)
{
	if (c->phase == 2) {
		if (!slot_free(c, s, c->at))
			return PAMI_COLL_POLL;
		if (c->bytes <= BULK)
			put(s, c->at, c->data, c->bytes);
		else
			address_out(s, c->at, c->data, NULL);
		publish(s, c->at);
		wake_others(s);
		c->phase = 3;
	}
	if (c->bytes > BULK && !all_before(c, s, c->at + 1))
		return PAMI_COLL_POLL;
	finished(c, s);
	return PAMI_COLL_DONE;
}

int pami_shm_broadcast(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc = enter(c, s);

	if (PAMI_UNLIKELY(rc != GO))
		return rc;
	if (c->rank == c->root)
		return broadcast_root(c, s);
	if (c->phase == 2) {
		if (!said(c, s, c->root, c->at))
			return PAMI_COLL_POLL;
		if (c->bytes > BULK)
			return pami_coll_get(c, c->root, c->data, address_in(slot_of(s, c->root, c->at), 0),
			                     c->bytes);
		if (c->bytes)
			memcpy(c->data, see(s, c->root, c->at, c->bytes), c->bytes);
	}
	finished(c, s);
	if (c->bytes > BULK)
		mu_wake_task(s->task[c->root]);
	return PAMI_COLL_DONE;
}

/* ---- Reductions ---- */

static int is_long(const struct pami_coll *c)
{
	return c->bytes > BULK || (c->bytes > 1024 && c->bytes * (c->size - 1) > 4 * BULK);
}

static uint32_t turns(const struct pami_coll *c)
{
	return c->type == PAMI_XFER_ALLREDUCE && is_long(c) ? 2 : 1;
}

/* own = everybody's data in rank order, as far as it is there. */
static int fold_in(struct pami_coll *c, struct pami_shm *s)
{
	for (; c->peer < s->members; c->peer++) {
		const unsigned char *from = c->peer == s->me ? c->data : see(s, c->peer, c->at, c->bytes);

		if (c->peer != s->me && !said(c, s, c->peer, c->at))
			return 0;
		if (c->peer)
			pami_coll_apply(c, c->own, from, c->bytes);
		else if (c->bytes)
			memcpy(c->own, from, c->bytes);
	}
	return 1;
}

int pami_shm_reduce(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc = enter(c, s);

	if (PAMI_UNLIKELY(rc != GO))
		return rc;
	if (c->rank != c->root) {
		if (!slot_free(c, s, c->at))
			return PAMI_COLL_POLL;
		put(s, c->at, c->data, c->bytes);
		publish(s, c->at);
		mu_wake_task(s->task[c->root]);
	} else {
		c->phase = 3;
		if (!fold_in(c, s))
			return PAMI_COLL_POLL;
		if (c->bytes)
			memcpy(c->target, c->own, c->bytes);
	}
	finished(c, s);
	return PAMI_COLL_DONE;
}

/*
 * Long data: each member combines its chunk of everybody's, a piece at a time, then fetches the
 * other chunks. own: the piece so far, then the piece that arrives. number: where the piece begins.
 */
enum { LONG_SPEAK = 2, LONG_HEAR, LONG_PIECE, LONG_FETCH = 1 << 28, LONG_END = 1 << 29 };

static size_t chunk(const struct pami_coll *c, uint32_t member)
{
	uint64_t elements = c->element_bytes ? c->bytes / c->element_bytes : 0;
	uint64_t each = elements / c->size, more = elements % c->size;

	return (size_t)(each * member + (member < more ? member : more)) * c->element_bytes;
}

/* Phase LONG_PIECE, again and again: member c->peer's piece is there. Returns > 0 when all is done. */
static int long_piece(struct pami_coll *c, struct pami_shm *s)
{
	size_t end = chunk(c, s->me + 1), piece = PIECE / c->element_bytes * c->element_bytes, n;
	int rc;

	while (c->number < end) {
		n = end - c->number < piece ? end - c->number : piece;
		for (; c->peer < s->members; c->peer++) {
			unsigned char *in = c->peer ? c->own + PIECE : c->own;

			if (c->peer == s->me) {
				if (c->peer)
					pami_coll_apply(c, c->own, c->data + c->number, n);
				else
					memcpy(c->own, c->data + c->number, n);
				continue;
			}
			if (!c->length) {
				c->length = 1; /* asked */
				rc = pami_coll_get(c, c->peer, in, address_in(slot_of(s, c->peer, c->at), 0) + c->number,
				                   n);
				if (rc || c->outstanding)
					return rc;
			}
			c->length = 0;
			if (c->peer)
				pami_coll_apply(c, c->own, in, n);
		}
		memcpy(c->target + c->number, c->own, n);
		c->number += n;
		c->peer = 0;
	}
	return 1;
}

static int allreduce_long(struct pami_coll *c, struct pami_shm *s)
{
	uint64_t k = c->at;
	int rc;

	if (c->phase == LONG_SPEAK) {
		if (!slot_free(c, s, k))
			return PAMI_COLL_POLL;
		address_out(s, k, c->data, c->target);
		publish(s, k);
		wake_others(s);
		c->phase = LONG_HEAR;
	}
	if (c->phase == LONG_HEAR) {
		if (!all_said(c, s, k))
			return PAMI_COLL_POLL;
		c->number = chunk(c, s->me);
		c->phase = LONG_PIECE;
	}
	if (c->phase < LONG_FETCH) {
		rc = long_piece(c, s);
		if (rc <= 0)
			return rc;
		publish(s, k + 1); /* my chunk is complete; all have completed turn k - 1 */
		wake_others(s);
		c->phase = LONG_FETCH;
		c->peer = 1; /* distance */
	}
	while (c->phase < LONG_END && c->peer < s->members) {
		uint32_t from = (s->me + c->peer) % s->members;
		size_t at = chunk(c, from);

		if (!said(c, s, from, k + 1))
			return PAMI_COLL_POLL;
		c->peer++;
		rc = pami_coll_get(c, from, c->target + at, address_in(slot_of(s, from, k), 1) + at,
		                   chunk(c, from + 1) - at);
		if (rc || c->outstanding)
			return rc;
	}
	if (c->phase < LONG_END) {
		__atomic_store_n(&s->done[s->me].count, k + 2, __ATOMIC_RELEASE);
		wake_others(s);
		c->phase = LONG_END;
	}
	if (!all_before(c, s, k + 2)) /* they read my chunk from my buffer */
		return PAMI_COLL_POLL;
	finished(c, s);
	return PAMI_COLL_DONE;
}

int pami_shm_allreduce(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc = enter(c, s);

	if (PAMI_UNLIKELY(rc != GO))
		return rc;
	if (PAMI_UNLIKELY(is_long(c)))
		return allreduce_long(c, s);
	if (c->phase == 2) {
		if (!slot_free(c, s, c->at))
			return PAMI_COLL_POLL;
		put(s, c->at, c->data, c->bytes);
		publish(s, c->at);
		wake_others(s);
		c->phase = 3;
	}
	if (!fold_in(c, s))
		return PAMI_COLL_POLL;
	if (s->all_done < c->at)
		s->all_done = c->at;
	if (c->bytes)
		memcpy(c->target, c->own, c->bytes);
	finished(c, s);
	return PAMI_COLL_DONE;
}

/* ---- Allgather: the own part lies in its place of the result already. ---- */

int pami_shm_allgather(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	size_t mine = pami_vector_bytes(&c->recv, c->rank);
	int rc = enter(c, s);

	if (PAMI_UNLIKELY(rc != GO))
		return rc;
	if (c->phase == 2) {
		if (!slot_free(c, s, c->at))
			return PAMI_COLL_POLL;
		if (mine <= BULK)
			put(s, c->at, pami_vector_at(&c->recv, c->rank), mine);
		else
			address_out(s, c->at, pami_vector_at(&c->recv, c->rank), NULL);
		publish(s, c->at);
		wake_others(s);
		c->phase = 3;
		c->peer = 1;
	}
	while (c->phase < LONG_END && c->peer < s->members) {
		uint32_t from = (s->me + c->peer) % s->members;
		size_t bytes = pami_vector_bytes(&c->recv, from);
		unsigned char *to = pami_vector_at(&c->recv, from);

		if (!said(c, s, from, c->at))
			return PAMI_COLL_POLL;
		c->peer++;
		if (bytes > BULK) {
			rc = pami_coll_get(c, from, to, address_in(slot_of(s, from, c->at), 0), bytes);
			if (rc || c->outstanding)
				return rc;
		} else if (bytes) {
			memcpy(to, see(s, from, c->at, bytes), bytes);
		}
	}
	if (c->phase < LONG_END) {
		if (s->all_done < c->at)
			s->all_done = c->at;
		if (mine > BULK) {
			__atomic_store_n(&s->done[s->me].count, c->at + 1, __ATOMIC_RELEASE);
			wake_others(s);
		}
		c->phase = LONG_END;
	}
	if (mine > BULK && !all_before(c, s, c->at + 1))
		return PAMI_COLL_POLL;
	finished(c, s);
	/* Long parts of others: they wait for us. */
	if (mine <= BULK)
		wake_others(s);
	return PAMI_COLL_DONE;
}
