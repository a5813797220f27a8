/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions and allgather through the memory of coll_shm.h. */
#include <stdlib.h>

#include "pami/coll_shm.h"

#define PIECE  131072u /* of a long allreduce: stays in the cache */
#define FEW    32768u /* bytes one member reads of all others at most, where each computes everything */

/* ---- Reduce ---- */

int pami_shm_reduce_begin(struct pami_coll *c)
{
	if (c->bytes > PAMI_SHM_BULK) {
		c->info = &pami_algorithms[c->type].info[1];
		return c->info->begin(c);
	}
	c->own = c->bytes <= sizeof c->fits ? c->fits : malloc(c->bytes);
	return c->own ? pami_shm_join(c, 1) : -ENOMEM;
}

/* own = everybody's data in rank order, as far as it is there. */
static int fold_in(struct pami_coll *c, struct pami_shm *s)
{
	for (; c->peer < s->members; c->peer++) {
		const unsigned char *from = c->peer == s->me ? c->data : pami_shm_see(s, c->peer, c->turn, c->bytes);

		if (c->peer != s->me && !pami_shm_said(c, s, c->peer, c->turn))
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
	int rc = pami_shm_enter(c, &pami_algorithms[c->type].info[1]);

	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	if (c->rank != c->root) {
		if (!pami_shm_slots_free(c, s, c->turn, 1))
			return PAMI_COLL_POLL;
		pami_shm_put(s, c->turn, c->data, c->bytes);
		pami_shm_publish(s, c->turn);
		mu_wake_task(s->task[c->root]);
	} else {
		c->phase = 3;
		if (!fold_in(c, s))
			return PAMI_COLL_POLL;
		if (c->bytes)
			memcpy(c->target, c->own, c->bytes);
	}
	pami_shm_finished(c, s);
	return PAMI_COLL_DONE;
}

/* ---- Allreduce ---- */

static int is_long(const struct pami_coll *c)
{
	return c->bytes > PAMI_SHM_BULK || (c->bytes > 1024 && c->bytes * (c->size - 1) > FEW);
}

int pami_shm_allreduce_begin(struct pami_coll *c)
{
	if (is_long(c)) {
		c->stage = pami_stage_usable(c) ? PAMI_STAGE_WANTED : PAMI_STAGE_NONE;
		return pami_shm_join(c, 2);
	}
	c->own = c->bytes <= sizeof c->fits ? c->fits : malloc(c->bytes);
	return c->own ? pami_shm_join(c, 1) : -ENOMEM;
}

size_t pami_shm_part(const struct pami_coll *c, size_t bytes, uint32_t i)
{
	uint64_t elements = bytes / c->element_bytes, each = elements / c->size, more = elements % c->size;

	return (size_t)(each * i + (i < more ? i : more)) * c->element_bytes;
}

static int allreduce_short(struct pami_coll *c, struct pami_shm *s)
{
	if (c->phase == 2) {
		if (!pami_shm_slots_free(c, s, c->turn, 1))
			return PAMI_COLL_POLL;
		pami_shm_put(s, c->turn, c->data, c->bytes);
		pami_shm_publish(s, c->turn);
		pami_shm_wake_others(s);
		c->phase = 3;
	}
	if (!fold_in(c, s))
		return PAMI_COLL_POLL;
	if (s->all_done < c->turn)
		s->all_done = c->turn;
	if (c->bytes)
		memcpy(c->target, c->own, c->bytes);
	pami_shm_finished(c, s);
	return PAMI_COLL_DONE;
}

/*
 * Long data: each member combines its part of everybody's, a piece at a time, then fetches the other parts.
 * A piece is made in its place of the result, or in place (the contribution is still needed there) in own;
 * what arrives goes behind it. number: where the piece begins.
 */
enum { LONG_SPEAK = 2, LONG_HEAR, LONG_PIECE, LONG_FETCH = 1 << 28, LONG_END = 1 << 29 };

static size_t piece_bytes(const struct pami_coll *c)
{
	return PIECE < c->element_bytes ? c->element_bytes : PIECE / c->element_bytes * c->element_bytes;
}

/* The bytes of member c->peer at c->number go to: the first's are what the others' are combined with. */
static unsigned char *piece_sum(struct pami_coll *c)
{
	return c->data == c->target ? c->own : c->target + c->number;
}

/* Phase LONG_PIECE, again and again: member c->peer's piece is there. Returns > 0 when all is done. */
static int long_piece(struct pami_coll *c, struct pami_shm *s)
{
	size_t end = pami_shm_part(c, c->bytes, s->me + 1), n;
	int rc;

	while (c->number < end) {
		unsigned char *sum = piece_sum(c), *in = c->own + piece_bytes(c);

		n = end - c->number < piece_bytes(c) ? end - c->number : piece_bytes(c);
		for (; c->peer < s->members; c->peer++) {
			if (c->peer == s->me) {
				if (c->peer)
					pami_coll_apply(c, sum, c->data + c->number, n);
				else
					memcpy(sum, c->data + c->number, n);
				continue;
			}
			if (!c->length) {
				c->length = 1; /* asked */
				rc = pami_coll_get(c, s->rank[c->peer], c->peer ? in : sum,
				                   pami_shm_address_in(pami_shm_slot_of(s, c->peer, c->turn), 0) +
				                           c->number, n);
				if (rc || c->outstanding)
					return rc;
			}
			c->length = 0;
			if (c->peer)
				pami_coll_apply(c, sum, in, n);
		}
		if (sum == c->own)
			memcpy(c->target + c->number, sum, n);
		c->number += n;
		c->peer = 0;
	}
	return 1;
}

static int allreduce_long(struct pami_coll *c, struct pami_shm *s)
{
	uint64_t k = c->turn;
	int rc;

	if (!c->own) {
		c->own = pami_coll_buffer(c, 2 * (PIECE + c->element_bytes));
		if (!c->own)
			return -ENOMEM;
	}
	if (c->phase == LONG_SPEAK) {
		if (!pami_shm_slots_free(c, s, k, 2))
			return PAMI_COLL_POLL;
		pami_shm_address_out(s, k, c->data, c->target);
		pami_shm_publish(s, k);
		pami_shm_wake_others(s);
		c->phase = LONG_HEAR;
	}
	if (c->phase == LONG_HEAR) {
		if (!pami_shm_all_said(c, s, k))
			return PAMI_COLL_POLL;
		c->number = pami_shm_part(c, c->bytes, s->me);
		c->phase = LONG_PIECE;
	}
	if (c->phase < LONG_FETCH) {
		rc = long_piece(c, s);
		if (rc <= 0)
			return rc;
		pami_shm_publish(s, k + 1); /* my part is complete; all have completed turn k - 1 */
		pami_shm_wake_others(s);
		c->phase = LONG_FETCH;
		c->peer = 1; /* distance */
	}
	while (c->phase < LONG_END && c->peer < s->members) {
		uint32_t from = (s->me + c->peer) % s->members;
		size_t at = pami_shm_part(c, c->bytes, from);

		if (!pami_shm_said(c, s, from, k + 1))
			return PAMI_COLL_POLL;
		c->peer++;
		rc = pami_coll_get(c, s->rank[from], c->target + at,
		                   pami_shm_address_in(pami_shm_slot_of(s, from, k), 1) + at,
		                   pami_shm_part(c, c->bytes, from + 1) - at);
		if (rc || c->outstanding)
			return rc;
	}
	if (c->phase < LONG_END) {
		__atomic_store_n(&s->done[s->me].count, k + 2, __ATOMIC_RELEASE);
		pami_shm_wake_others(s);
		c->phase = LONG_END;
	}
	if (!pami_shm_all_before(c, s, k + 2)) /* they read my part from my buffer */
		return PAMI_COLL_POLL;
	pami_shm_finished(c, s);
	return PAMI_COLL_DONE;
}

int pami_shm_allreduce(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc = pami_shm_enter(c, &pami_algorithms[c->type].info[1]);

	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	if (!is_long(c))
		return allreduce_short(c, s);
	return c->stage && s->stage ? pami_stage_allreduce(c, s) : allreduce_long(c, s);
}

/* ---- Allgather: the own part lies in its place of the result already. ---- */

int pami_shm_allgather_begin(struct pami_coll *c)
{
	return pami_shm_join(c, 1);
}

int pami_shm_allgather(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	size_t mine = pami_vector_bytes(&c->recv, c->rank);
	int rc = pami_shm_enter(c, &pami_algorithms[c->type].info[1]);

	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	if (c->phase == 2) {
		if (!pami_shm_slots_free(c, s, c->turn, 1))
			return PAMI_COLL_POLL;
		if (mine <= PAMI_SHM_BULK)
			pami_shm_put(s, c->turn, pami_vector_at(&c->recv, c->rank), mine);
		else
			pami_shm_address_out(s, c->turn, pami_vector_at(&c->recv, c->rank), NULL);
		pami_shm_publish(s, c->turn);
		pami_shm_wake_others(s);
		c->phase = 3;
		c->peer = 1;
	}
	while (c->phase < LONG_END && c->peer < s->members) {
		uint32_t from = (s->me + c->peer) % s->members;
		size_t bytes = pami_vector_bytes(&c->recv, from);
		unsigned char *to = pami_vector_at(&c->recv, from);

		if (!pami_shm_said(c, s, from, c->turn))
			return PAMI_COLL_POLL;
		c->peer++;
		if (bytes > PAMI_SHM_BULK) {
			rc = pami_coll_get(c, s->rank[from], to,
			                   pami_shm_address_in(pami_shm_slot_of(s, from, c->turn), 0), bytes);
			if (rc || c->outstanding)
				return rc;
		} else if (bytes) {
			memcpy(to, pami_shm_see(s, from, c->turn, bytes), bytes);
		}
	}
	if (c->phase < LONG_END) {
		if (s->all_done < c->turn)
			s->all_done = c->turn;
		if (mine > PAMI_SHM_BULK) {
			__atomic_store_n(&s->done[s->me].count, c->turn + 1, __ATOMIC_RELEASE);
			pami_shm_wake_others(s);
		}
		c->phase = LONG_END;
	}
	if (mine > PAMI_SHM_BULK && !pami_shm_all_before(c, s, c->turn + 1))
		return PAMI_COLL_POLL;
	pami_shm_finished(c, s);
	/* Long parts of others: they wait for us. */
	if (mine <= PAMI_SHM_BULK)
		pami_shm_wake_others(s);
	return PAMI_COLL_DONE;
}
