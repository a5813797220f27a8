/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: barrier, broadcast, reduce, allreduce and allgather of a geometry that is one team, through
 * its memory (coll/shm/shm.h). Guarded by bench/micro/pami_coll.
 */
#include "pami/coll/shm/shm.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"

#define PIECE 131072u /* what a long allreduce combines at a time: it stays in the cache */
/* An allreduce in which each member combines everything reads at most so many bytes. */
#define READ_MOST 32768u

enum { SPEAK, HEAR, COMBINE, FETCH, END };

struct flat_state {
	unsigned char *sum, *in; /* in: long allreduce */
	size_t position;         /* long allreduce: of the next piece */
	uint32_t cursor;         /* member, or distance to it */
	uint8_t step;
	bool requested; /* long allreduce: the piece of the member at the cursor */
};

static struct flat_state *state_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct flat_state);
}

bool pami_shm_usable(const struct pami_geometry *g)
{
	return g->one_team;
}

/* The algorithm on messages that runs where there is no shared memory. */
static const struct pami_algorithm_info *on_messages(const struct pami_coll *c)
{
	return &pami_algorithms[c->type].info[1];
}

static int begin_flat(struct pami_coll *c, uint64_t turns)
{
	*state_of(c) = (struct flat_state){.step = SPEAK};
	return pami_shm_join(c, turns);
}

static int join_with_sum(struct pami_coll *c)
{
	unsigned char *sum = pami_coll_buffer(c, c->bytes);
	int rc = sum ? begin_flat(c, 1) : -ENOMEM;

	state_of(c)->sum = sum;
	return rc;
}

/* ---- Barrier ---- */

int pami_shm_barrier_begin(struct pami_coll *c)
{
	return begin_flat(c, 1);
}

int pami_shm_barrier(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	struct flat_state *f = state_of(c);
	int rc = pami_shm_enter(c, on_messages(c));

	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	if (f->step == SPEAK) {
		if (!pami_shm_speak(c, s, NULL, 0))
			return PAMI_COLL_POLL;
		pami_shm_wake_others(s);
		f->step = HEAR;
	}
	if (!pami_shm_await_all_published(c, s, c->turns.first, &f->cursor))
		return PAMI_COLL_POLL;
	pami_shm_end_turns(c, s);
	return PAMI_COLL_DONE;
}

/* ---- Broadcast ---- */

int pami_shm_broadcast_begin(struct pami_coll *c)
{
	c->turns.slices =
	    c->bytes > PAMI_SHM_BULK && pami_slices_fit(c) ? PAMI_SLICES_WANTED : PAMI_SLICES_NONE;
	return begin_flat(c, 1);
}

int pami_shm_broadcast(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	struct flat_state *f = state_of(c);
	int rc = pami_shm_enter(c, on_messages(c));

	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	if (c->turns.slices && s->slices)
		return pami_slices_broadcast(c, s);
	if (f->step != END && c->rank == c->root) {
		if (!pami_shm_speak(c, s, c->data, c->bytes))
			return PAMI_COLL_POLL;
		pami_shm_wake_others(s);
	} else if (f->step != END) {
		if (!pami_shm_await_published(c, s, c->root, c->turns.first))
			return PAMI_COLL_POLL;
		rc = pami_shm_take(c, s, c->root, c->bytes, 0, c->data, c->bytes);
		if (rc)
			return rc;
	}
	f->step = END;
	if (pami_coll_is_waiting(c))
		return PAMI_COLL_WAIT;
	return pami_shm_end_fetch(c, s, c->root, c->bytes > PAMI_SHM_BULK);
}

/* ---- Reduce ---- */

int pami_shm_reduce_begin(struct pami_coll *c)
{
	return c->bytes > PAMI_SHM_BULK ? pami_coll_replace(c, on_messages(c)) : join_with_sum(c);
}

int pami_shm_reduce(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	struct flat_state *f = state_of(c);
	int rc = pami_shm_enter(c, on_messages(c));

	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	if (c->rank != c->root) {
		if (!pami_shm_speak(c, s, c->data, c->bytes))
			return PAMI_COLL_POLL;
		mu_wake_task(s->task[c->root]);
	} else {
		if (!pami_shm_fold(c, s, f->sum, &f->cursor))
			return PAMI_COLL_POLL;
		if (c->bytes)
			memcpy(c->target, f->sum, c->bytes);
	}
	pami_shm_end_turns(c, s);
	return PAMI_COLL_DONE;
}

/* ---- Allreduce ---- */

static bool is_long(const struct pami_coll *c)
{
	return c->bytes > PAMI_SHM_BULK ||
	       (c->bytes > 1024 && c->bytes * (c->size - 1) > READ_MOST);
}

int pami_shm_allreduce_begin(struct pami_coll *c)
{
	if (!is_long(c))
		return join_with_sum(c);
	c->turns.slices = pami_slices_fit(c) ? PAMI_SLICES_WANTED : PAMI_SLICES_NONE;
	return begin_flat(c, 2);
}

static int allreduce_short(struct pami_coll *c, struct pami_shm *s)
{
	struct flat_state *f = state_of(c);

	if (f->step == SPEAK) {
		if (!pami_shm_speak(c, s, c->data, c->bytes))
			return PAMI_COLL_POLL;
		pami_shm_wake_others(s);
		f->step = HEAR;
	}
	if (!pami_shm_fold(c, s, f->sum, &f->cursor))
		return PAMI_COLL_POLL;
	pami_shm_note_done(s, c->turns.first);
	if (c->bytes)
		memcpy(c->target, f->sum, c->bytes);
	pami_shm_end_turns(c, s);
	return PAMI_COLL_DONE;
}

/*
 * A long allreduce without slice buffers: each member combines its part of the data of all, a
 * piece at a time, then fetches the other parts. It combines a piece in its place of the result,
 * or, where the contribution lies there and others still read it, in `sum`.
 */
static size_t piece_bytes(const struct pami_coll *c)
{
	return PIECE < c->element_bytes ? c->element_bytes
					: PIECE / c->element_bytes * c->element_bytes;
}

/* Bring the piece of the member at the cursor to `to`. Returns > 0 when it is there. */
static int fetch_piece(struct pami_coll *c, struct pami_shm *s, unsigned char *to, size_t bytes)
{
	struct flat_state *f = state_of(c);
	int rc;

	if (!f->requested) {
		f->requested = true;
		rc = pami_coll_get(
		    c, s->rank[f->cursor], to,
		    pami_shm_address_of(s, f->cursor, c->turns.first, 0) + f->position, bytes);
		if (rc || pami_coll_is_waiting(c))
			return rc;
	}
	f->requested = false;
	return 1;
}

/* Combine this member's part. Returns > 0 when it is complete. */
static int combine_part(struct pami_coll *c, struct pami_shm *s)
{
	struct flat_state *f = state_of(c);
	size_t end = pami_coll_part(c, c->bytes, s->me + 1), n;
	int rc;

	for (; f->position < end; f->position += n) {
		unsigned char *sum = c->data == c->target ? f->sum : c->target + f->position;

		n = end - f->position < piece_bytes(c) ? end - f->position : piece_bytes(c);
		for (; f->cursor < s->members; f->cursor++) {
			const unsigned char *from = c->data + f->position;

			if (f->cursor != s->me) {
				unsigned char *to = f->cursor ? f->in : sum;

				rc = fetch_piece(c, s, to, n);
				if (rc <= 0)
					return rc;
				from = to;
			}
			if (f->cursor)
				pami_coll_apply(c, sum, from, n);
			else if (from != sum)
				memcpy(sum, from, n);
		}
		if (sum == f->sum)
			memcpy(c->target + f->position, sum, n);
		f->cursor = 0;
	}
	return 1;
}

/* Fetch the parts of the others, nearest first. Returns > 0 when all are here. */
static int fetch_parts(struct pami_coll *c, struct pami_shm *s)
{
	struct flat_state *f = state_of(c);

	while (f->cursor < s->members) {
		uint32_t from = (s->me + f->cursor) % s->members;
		size_t at = pami_coll_part(c, c->bytes, from);
		int rc;

		if (!pami_shm_await_published(c, s, from, c->turns.first + 1))
			return PAMI_COLL_POLL;
		f->cursor++;
		rc = pami_coll_get(c, s->rank[from], c->target + at,
				   pami_shm_address_of(s, from, c->turns.first, 1) + at,
				   pami_coll_part(c, c->bytes, from + 1) - at);
		if (rc || pami_coll_is_waiting(c))
			return rc;
	}
	return PAMI_SHM_GO;
}

static int allreduce_long(struct pami_coll *c, struct pami_shm *s)
{
	struct flat_state *f = state_of(c);
	uint64_t turn = c->turns.first;
	int rc;

	if (!f->sum) {
		f->sum = pami_coll_buffer(c, 2 * (PIECE + c->element_bytes));
		if (!f->sum)
			return -ENOMEM;
		f->in = f->sum + piece_bytes(c);
	}
	if (f->step == SPEAK) {
		if (!pami_shm_speak_address(c, s, c->data, c->target))
			return PAMI_COLL_POLL;
		pami_shm_wake_others(s);
		f->step = HEAR;
	}
	if (f->step == HEAR) {
		if (!pami_shm_await_all_published(c, s, turn, &f->cursor))
			return PAMI_COLL_POLL;
		f->position = pami_coll_part(c, c->bytes, s->me);
		f->step = COMBINE;
	}
	if (f->step == COMBINE) {
		rc = combine_part(c, s);
		if (rc <= 0)
			return rc;
		/* The own part is complete. All members have completed the turn before the first.
		 */
		pami_shm_publish(s, turn + 1);
		pami_shm_wake_others(s);
		f->step = FETCH;
		f->cursor = 1;
	}
	if (f->step == FETCH) {
		rc = fetch_parts(c, s);
		if (rc != PAMI_SHM_GO)
			return rc;
		atomic_store_release(&s->done[s->me].count, turn + 2);
		pami_shm_wake_others(s);
		f->step = END;
	}
	if (!pami_shm_await_all_done(c, s, turn + 2)) /* others fetch this member's part */
		return PAMI_COLL_POLL;
	pami_shm_end_turns(c, s);
	return PAMI_COLL_DONE;
}

int pami_shm_allreduce(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc = pami_shm_enter(c, on_messages(c));

	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	if (!is_long(c))
		return allreduce_short(c, s);
	return c->turns.slices && s->slices ? pami_slices_allreduce(c, s) : allreduce_long(c, s);
}

/* ---- Allgather: coll/args.c has copied the own part to its place of the result. ---- */

int pami_shm_allgather_begin(struct pami_coll *c)
{
	return begin_flat(c, 1);
}

int pami_shm_allgather(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	struct flat_state *f = state_of(c);
	size_t mine = pami_vector_bytes(&c->recv, c->rank);
	int rc = pami_shm_enter(c, on_messages(c));

	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	if (f->step == SPEAK) {
		if (!pami_shm_speak(c, s, pami_vector_at(&c->recv, c->rank), mine))
			return PAMI_COLL_POLL;
		pami_shm_wake_others(s);
		f->step = HEAR;
		f->cursor = 1;
	}
	while (f->step == HEAR && f->cursor < s->members) {
		uint32_t from = (s->me + f->cursor) % s->members;
		size_t bytes = pami_vector_bytes(&c->recv, from);

		if (!pami_shm_await_published(c, s, from, c->turns.first))
			return PAMI_COLL_POLL;
		f->cursor++;
		rc = pami_shm_take(c, s, from, bytes, 0, pami_vector_at(&c->recv, from), bytes);
		if (rc || pami_coll_is_waiting(c))
			return rc;
	}
	if (f->step == HEAR) {
		pami_shm_note_done(s, c->turns.first);
		if (mine > PAMI_SHM_BULK) {
			atomic_store_release(&s->done[s->me].count, c->turns.first + 1);
			pami_shm_wake_others(s);
		}
		f->step = END;
	}
	if (mine > PAMI_SHM_BULK && !pami_shm_await_all_done(c, s, c->turns.first + 1))
		return PAMI_COLL_POLL;
	pami_shm_end_turns(c, s);
	/* Members with long parts wait for this one to complete the turn. */
	if (mine <= PAMI_SHM_BULK)
		pami_shm_wake_others(s);
	return PAMI_COLL_DONE;
}
