/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: long data of a team, in slices through buffers that all members see. Each slice costs one
 * memcpy in and one out, and it is still in the cache when the next member takes it. Copies by the
 * kernel between processes (coll/shm/flat.c) pin every page for each reader, so they are the way
 * only where there is no room for the buffers. Guarded by bench/micro/pami_coll.
 *
 * pace[n] counts the steps of each member over all operations. A member waits only for the steps
 * that its own next step needs:
 *
 *   broadcast   A step is a slice. The root fills a ring of slices. It overwrites a slice when all
 *               members have taken it.
 *   allreduce   A step is a round. In round r a member takes the results of slice r - 2 out,
 *               combines its part of slice r - 1, and puts its contribution to slice r in. A round
 *               begins when all members have ended the one before. So each member has three
 *               buffers.
 */
#include "pami/coll/shm/shm.h"

#define BUFFERS    3u
#define ALL_BYTES  (3u << 20) /* of the buffers of a team */
#define ROUND_MOST 131072u    /* bytes of a slice of an allreduce */
#define RING_MOST  65536u     /* bytes of a slice of a broadcast */
#define SLICE_MIN  16384u
#define PIECE      8192u /* what is combined at a time: it stays in the first-level cache */

struct slices_state {
	uint64_t first; /* the operation's first step */
	uint64_t step;  /* from the first */
	uint32_t cursor;
};

static struct slices_state *state_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct slices_state);
}

/* Bytes of one buffer of one of n members. */
static size_t buffer_bytes(uint32_t n)
{
	size_t bytes = ALL_BYTES / (BUFFERS * n) & ~(size_t)4095;

	return bytes > ROUND_MOST ? ROUND_MOST : bytes;
}

size_t pami_slices_bytes(uint32_t members)
{
	return BUFFERS * members * buffer_bytes(members);
}

bool pami_slices_fit(const struct pami_coll *c)
{
	size_t bytes = buffer_bytes(c->size);

	return bytes && (c->type == PAMI_XFER_BROADCAST || c->element_bytes <= bytes);
}

/*
 * Bytes of a slice. A few slices keep all processors at work. Where tasks share processors each
 * step costs a turn of all tasks, some 2 us a task, so slices are as long as they may be.
 */
static size_t slice_bytes(const struct pami_coll *c, const struct pami_shm *s, size_t most)
{
	size_t quarter = (c->bytes / 4 + 4095) & ~(size_t)4095;

	if (s->oversubscribed || quarter > most)
		return most;
	return quarter < SLICE_MIN && most > SLICE_MIN ? SLICE_MIN : quarter;
}

/* Take the steps of the operation when it has its turn. */
static void begin_steps(struct pami_coll *c, struct pami_shm *s, uint64_t steps)
{
	*state_of(c) = (struct slices_state){.first = s->steps};
	s->steps += steps;
	c->phase++; /* this is done once */
}

static bool has_begun(const struct pami_coll *c)
{
	return c->phase > 2;
}

/* This member has completed the steps before `step`. */
static void complete_steps(struct pami_shm *s, uint64_t step)
{
	atomic_store_release(&s->pace[s->me].count, step);
	mu_idle_reset();
	pami_shm_wake_others(s);
}

/* True if all other members have completed the steps before this one. */
static bool await_steps(struct pami_coll *c, struct pami_shm *s, uint64_t step)
{
	uint32_t *cursor = &state_of(c)->cursor;

	if (s->slowest >= step)
		return true;
	for (; *cursor < s->members; ++*cursor)
		if (*cursor != s->me && !pami_shm_await_word(c, s, &s->pace[*cursor].count, step))
			return false;
	*cursor = 0;
	s->slowest = step;
	return true;
}

static int end_steps(struct pami_coll *c, struct pami_shm *s, size_t ring_slice)
{
	s->slices_last = (uint32_t)ring_slice;
	pami_shm_end_turns(c, s);
	return PAMI_COLL_DONE;
}

/* ---- Broadcast ---- */

int pami_slices_broadcast(struct pami_coll *c, struct pami_shm *s)
{
	struct slices_state *l = state_of(c);
	size_t most = slice_bytes(c, s, RING_MOST);
	uint64_t ring = pami_slices_bytes(s->members) / most;
	uint32_t root;

	if (!has_begun(c))
		begin_steps(c, s, (c->bytes + most - 1) / most);
	for (root = 0; s->rank[root] != c->root;)
		root++;
	for (; l->step * most < c->bytes; l->step++) {
		uint64_t step = l->first + l->step, before = step < ring ? 0 : step - ring + 1;
		size_t at = l->step * most, bytes = c->bytes - at < most ? c->bytes - at : most;
		unsigned char *slice = s->slices + step % ring * most;

		if (root == s->me) {
			/* The operation before divided the memory differently: all of it must be
			 * over. */
			if (s->slices_last != most && before < l->first)
				before = l->first;
			if (!await_steps(c, s, before))
				return PAMI_COLL_POLL;
			memcpy(slice, c->data + at, bytes);
		} else {
			if (!pami_shm_await_word(c, s, &s->pace[root].count, step + 1))
				return PAMI_COLL_POLL;
			memcpy(c->data + at, slice, bytes);
		}
		complete_steps(s, step + 1);
	}
	return end_steps(c, s, most);
}

/* ---- Allreduce ---- */

struct slice {
	size_t at, bytes; /* in the data */
	uint64_t buffer;
};

/* Bytes of a slice: whole elements. */
static size_t round_bytes(const struct pami_coll *c, const struct pami_shm *s)
{
	size_t bytes = slice_bytes(c, s, buffer_bytes(s->members));

	bytes = bytes / c->element_bytes * c->element_bytes;
	return bytes ? bytes : c->element_bytes;
}

static struct slice slice_of(const struct pami_coll *c, const struct pami_shm *s, uint64_t i)
{
	size_t most = round_bytes(c, s);
	struct slice slice = {.at = i * most, .buffer = (state_of(c)->first + i) % BUFFERS};

	slice.bytes = c->bytes - slice.at < most ? c->bytes - slice.at : most;
	return slice;
}

static unsigned char *buffer_of(const struct pami_shm *s, const struct slice *slice,
				uint32_t member)
{
	return s->slices + (slice->buffer * s->members + member) * buffer_bytes(s->members);
}

/* Put the contribution in, all but this member's own part, which no other member reads. */
static void put_in(const struct pami_coll *c, const struct pami_shm *s, const struct slice *slice)
{
	unsigned char *to = buffer_of(s, slice, s->me);
	size_t mine = pami_coll_part(c, slice->bytes, s->me),
	       end = pami_coll_part(c, slice->bytes, s->me + 1);

	memcpy(to, c->data + slice->at, mine);
	memcpy(to + end, c->data + slice->at + end, slice->bytes - end);
}

/* Combine all contributions to this member's part, in rank order, in its buffer and the result. */
static void combine_slice(struct pami_coll *c, const struct pami_shm *s, const struct slice *slice)
{
	size_t at = pami_coll_part(c, slice->bytes, s->me),
	       end = pami_coll_part(c, slice->bytes, s->me + 1);
	size_t piece = PIECE < c->element_bytes ? c->element_bytes
						: PIECE / c->element_bytes * c->element_bytes;

	for (; at < end; at += piece) {
		size_t bytes = end - at < piece ? end - at : piece;
		unsigned char *sum = buffer_of(s, slice, s->me) + at,
			      *mine = c->data + slice->at + at;

		memcpy(sum, s->me ? buffer_of(s, slice, 0) + at : mine, bytes);
		for (uint32_t i = 1; i < s->members; i++)
			pami_coll_apply(c, sum, i == s->me ? mine : buffer_of(s, slice, i) + at,
					bytes);
		memcpy(c->target + slice->at + at, sum, bytes);
	}
}

/* Copy the parts that other members have combined to the result. */
static void take_out(const struct pami_coll *c, const struct pami_shm *s, const struct slice *slice)
{
	for (uint32_t i = 0; i < s->members; i++) {
		size_t at = pami_coll_part(c, slice->bytes, i),
		       end = pami_coll_part(c, slice->bytes, i + 1);

		if (i != s->me)
			memcpy(c->target + slice->at + at, buffer_of(s, slice, i) + at, end - at);
	}
}

int pami_slices_allreduce(struct pami_coll *c, struct pami_shm *s)
{
	struct slices_state *l = state_of(c);
	size_t most = round_bytes(c, s);
	uint64_t slices = (c->bytes + most - 1) / most;
	struct slice slice;

	if (!has_begun(c))
		begin_steps(c, s, slices + 2);
	for (; l->step < slices + 2; l->step++) {
		if (!await_steps(c, s, l->first + l->step))
			return PAMI_COLL_POLL;
		if (l->step >= 2) {
			slice = slice_of(c, s, l->step - 2);
			take_out(c, s, &slice);
		}
		if (l->step && l->step <= slices) {
			slice = slice_of(c, s, l->step - 1);
			combine_slice(c, s, &slice);
		}
		if (l->step < slices) {
			slice = slice_of(c, s, l->step);
			put_in(c, s, &slice);
		}
		complete_steps(s, l->first + l->step + 1);
	}
	return end_steps(c, s, 0);
}
